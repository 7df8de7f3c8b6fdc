//! `status`: all workers, without a lock and without writing anything.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::proc;
use shopfloor_core::ui::printable;

use super::{Site, up};
use crate::note::{Fault, Note};
use crate::store::{self, State};
use crate::worker::{Session, Task, Worker};

/// How often `--watch` looks.
const POLL: Duration = Duration::from_millis(500);

pub fn run(site: &Site<'_>) -> Result<Exit> {
    let state = store::load(&site.root.path)?;
    if site.ui.is_json() {
        site.ui.json(&document(site, &state)?);
    } else {
        table(&state).iter().for_each(|line| site.ui.line(line));
    }
    Ok(Exit::Done)
}

/// Goes on, until interrupted: on a terminal the table stays in its place, elsewhere it comes again when it changes.
pub fn watch(site: &Site<'_>) -> Result<Exit> {
    let is_screen = std::io::stdout().is_terminal() && !site.ui.is_json();
    let mut last = None;
    let mut waiting = Waiting::default();
    loop {
        let state = store::load(&site.root.path)?;
        let shown = match site.ui.is_json() {
            true => vec![document(site, &state)?.to_string()],
            false => table(&state),
        };
        if last.as_ref() != Some(&shown) {
            if is_screen {
                site.ui.answer(b"\x1b[H\x1b[2J");
            } else if last.is_some() && !site.ui.is_json() {
                site.ui.line("");
            }
            shown.iter().for_each(|line| site.ui.line(line));
            last = Some(shown);
        }
        waiting.look(site, &state);
        if !site.ui.is_taken(Duration::ZERO) {
            return Ok(Exit::Done);
        }
        proc::check_interrupt()?;
        thread::sleep(POLL);
    }
}

/// Who waits for review, so that the bell rings once for each that comes.
#[derive(Debug, Default)]
pub struct Waiting {
    known: Option<BTreeSet<String>>,
}

impl Waiting {
    /// Tells of those that have come since the last look, and rings on a terminal. The first look is silent.
    pub fn look(&mut self, site: &Site<'_>, state: &State) {
        let waiting = state.workers.values().filter(|worker| worker.task == Task::NeedsReview);
        let now: BTreeSet<String> = waiting.map(|worker| worker.name.clone()).collect();
        let known = self.known.replace(now.clone());
        for name in known.iter().flat_map(|known| now.difference(known)) {
            site.ui.note(format!("{name} needs review: `worker-ctl review {name}`"));
            if site.root.config.defaults.sound_on_review && std::io::stderr().is_terminal() {
                let _ = std::io::stderr().write_all(b"\x07");
            }
        }
    }
}

fn document(site: &Site<'_>, state: &State) -> Result<Value> {
    let workers: Vec<Value> = state.workers.values().map(|worker| record(site, worker)).collect();
    let daemon = if up::is_running(&site.root.path)? { "running" } else { "stopped" };
    Ok(json!({ "v": 1, "workers": workers, "daemon": daemon, "tmux_socket": state.tmux_socket }))
}

fn table(state: &State) -> Vec<String> {
    let width = state.workers.keys().map(String::len).max().unwrap_or(0);
    state.workers.values().map(|worker| line(worker, width)).collect()
}

fn line(worker: &Worker, width: usize) -> String {
    let mut about = vec![worker.status().to_owned()];
    if worker.status() != worker.task.word() {
        about.push(format!("task {}", worker.task.word()));
    }
    about.extend(worker.fault.as_ref().map(Fault::to_string));
    about.extend(worker.commit_sha.as_ref().map(|sha| sha.chars().take(12).collect::<String>()));
    if let Some(pending) = &worker.pending_send {
        about.push(format!("its {} is being typed, or was when something was killed", pending.what));
    }
    about.extend(worker.notes.iter().map(Note::to_string));
    let prompt = worker.prompt.as_deref().and_then(|prompt| prompt.lines().next()).unwrap_or_default();
    let prompt: String = prompt.chars().take(60).collect();
    let line = format!("{:width$}  {}  {}", worker.name, printable(&about.join(", ")), printable(&prompt));
    line.trim_end().to_owned()
}

fn record(site: &Site<'_>, worker: &Worker) -> Value {
    let agent = site.root.worker(&worker.name).agent.unwrap_or_else(|| worker.agent.clone());
    let (session, exit) = match worker.session {
        Session::Up => ("up", Value::Null),
        Session::Down => ("down", Value::Null),
        Session::Code(code) => ("exited", json!({ "code": code })),
        Session::Signal(signal) => ("exited", json!({ "signal": signal })),
    };
    json!({
        "v": 1, "name": worker.name, "status": worker.status(), "task": worker.task.word(), "session": session, "exit": exit,
        "fault": worker.fault.as_ref().map(Fault::to_string), "agent": agent, "branch": worker.branch, "worktree_path": worker.worktree_path,
        "prompt": worker.prompt, "commit_sha": worker.commit_sha, "reviewed_sha": worker.reviewed_sha,
        "created_at_unix": worker.created_at_unix, "last_activity_unix": worker.last_activity_unix,
        "session_id": worker.session_id, "pane_pid": worker.pane_pid, "crash_count": worker.crash_count,
        "host": worker.host, "notes": worker.notes.iter().map(Note::to_string).collect::<Vec<_>>(), "pending": worker.pending_send,
    })
}
