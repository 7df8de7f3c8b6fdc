//! `status`: all workers, without a lock and without writing anything.

use serde_json::{Value, json};
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::printable;

use super::{Site, up};
use crate::store;
use crate::worker::{Session, Worker};

pub fn run(site: &Site<'_>) -> Result<Exit> {
    let state = store::load(&site.root.path)?;
    if site.ui.is_json() {
        let workers: Vec<Value> = state.workers.values().map(record).collect();
        site.ui.json(&json!({ "workers": workers, "daemon": if up::is_running(&site.root.path)? { "running" } else { "stopped" }, "tmux_socket": state.tmux_socket }));
        return Ok(Exit::Done);
    }
    let width = state.workers.keys().map(String::len).max().unwrap_or(0);
    for worker in state.workers.values() {
        let mut about = vec![worker.status().to_owned()];
        if worker.status() != worker.task.word() {
            about.push(format!("task {}", worker.task.word()));
        }
        about.extend(worker.fault.clone());
        about.extend(worker.commit_sha.as_ref().map(|sha| sha.chars().take(12).collect::<String>()));
        if let Some(pending) = &worker.pending_send {
            about.push(format!("whether its {} was typed is not known", pending.what));
        }
        about.extend(worker.notes.iter().cloned());
        let prompt = worker.prompt.as_deref().and_then(|prompt| prompt.lines().next()).unwrap_or_default();
        let prompt: String = prompt.chars().take(60).collect();
        site.ui.line(
            format!("{:width$}  {}  {}", worker.name, printable(&about.join(", ")), printable(&prompt)).trim_end(),
        );
    }
    Ok(Exit::Done)
}

fn record(worker: &Worker) -> Value {
    let (session, exit) = match worker.session {
        Session::Up => ("up", Value::Null),
        Session::Down => ("down", Value::Null),
        Session::Code(code) => ("exited", json!({ "code": code })),
        Session::Signal(signal) => ("exited", json!({ "signal": signal })),
    };
    json!({
        "name": worker.name, "status": worker.status(), "task": worker.task.word(), "session": session, "exit": exit,
        "fault": worker.fault, "agent": worker.agent, "branch": worker.branch, "worktree_path": worker.worktree_path,
        "prompt": worker.prompt, "commit_sha": worker.commit_sha, "reviewed_sha": worker.reviewed_sha,
        "created_at_unix": worker.created_at_unix, "last_activity_unix": worker.last_activity_unix,
        "session_id": worker.session_id, "pane_pid": worker.pane_pid, "crash_count": worker.crash_count,
        "host": worker.host, "notes": worker.notes,
    })
}
