//! `status`: prints all workers. It takes no lock and writes nothing.

use std::collections::HashSet;
use std::io::IsTerminal;
use std::path::Path;
use std::thread;
use std::time::Duration;

use clap::Args as ClapArgs;
use serde::Serialize;
use serde_json::{Value, json};
use shopfloor_core::board::{Need, Screen, lines};
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::proc;
use shopfloor_core::time::local_clock;
use shopfloor_core::ui::printable;

use crate::attention::{need_now, since};
use crate::commands::board;
use crate::context::Context;
use crate::daemon;
use crate::facts::losses::stashes;
use crate::note::{Fault, Note};
use crate::notify_person::Bell;
use crate::store::State;
use crate::worker::{Activity, PendingSend, Session, Worker};

/// How often `--watch` reads the state.
const POLL: Duration = Duration::from_millis(500);

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Keep showing the workers until interrupted
    #[arg(long)]
    pub watch: bool,
    /// With --json, also count what the workers of the clone have changed, which is slower
    #[arg(long)]
    pub stat: bool,
}

/// The answer with `--json`.
#[derive(Serialize)]
struct StatusAnswer<'a> {
    v: u64,
    workers: Vec<WorkerRow<'a>>,
    daemon: &'static str,
    tmux_socket: &'a Path,
}

#[derive(Serialize)]
struct WorkerRow<'a> {
    v: u64,
    name: &'a str,
    id: &'a str,
    status: &'static str,
    alive: &'static str,
    task: &'static str,
    session: &'static str,
    seen: bool,
    exit: Option<Session>,
    fault: Option<String>,
    agent: String,
    repo: &'static str,
    branch: &'a str,
    target: String,
    worktree_path: &'a str,
    worktree: &'a str,
    prompt: Option<&'a str>,
    commit_sha: Option<&'a str>,
    commit: Option<&'a str>,
    reviewed_sha: Option<&'a str>,
    created_at_unix: i64,
    created_at: Option<String>,
    last_activity_unix: i64,
    last_activity_at: Option<String>,
    session_id: &'a str,
    pane_pid: Option<i32>,
    crash_count: u32,
    host: Option<String>,
    needs: Option<&'static str>,
    since_at: Option<String>,
    #[serde(flatten)]
    changes: Changes,
    activity: &'static str,
    activity_at: Option<&'a str>,
    activity_text: Option<&'a str>,
    notes: Vec<String>,
    pending: Option<&'a PendingSend>,
}

/// What the branch of a worker has that the one on which its work lands lacks, where that was asked for.
#[derive(Default, Serialize)]
struct Changes {
    #[serde(skip_serializing_if = "Option::is_none")]
    ahead: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    behind: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stat: Option<Value>,
}

/// The state, in which a session whose tmux server does not answer is down: after a reboot nothing has recorded that yet.
struct SeenState {
    state: State,
    unseen: HashSet<String>,
}

impl SeenState {
    fn read(ctx: &Context<'_>) -> Result<SeenState> {
        let mut seen = SeenState { state: ctx.state()?, unseen: HashSet::new() };
        let is_up = |worker: &&mut Worker| worker.program.session == Session::Up;
        let mut up = seen.state.workers.values_mut().filter(is_up).peekable();
        if up.peek().is_some() && ctx.tmux().is_ok_and(|tmux| !tmux.is_running()) {
            for worker in up {
                worker.program.session = Session::Down;
                seen.unseen.insert(worker.name.clone());
            }
        }
        Ok(seen)
    }

    fn is_unseen(&self, worker: &Worker) -> bool {
        self.unseen.contains(&worker.name)
    }
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    if args.watch {
        return watch(ctx);
    }
    let seen = SeenState::read(ctx)?;
    if ctx.ui.is_json() {
        let mut answer = answer(ctx, &seen)?;
        if args.stat {
            count_changes(ctx, &seen.state, &mut answer.workers)?;
        }
        ctx.ui.json(&answer);
    } else {
        table(ctx, &seen).iter().for_each(|line| ctx.ui.line(line));
    }
    Ok(Exit::Done)
}

/// Runs until interrupted. On a terminal the table is redrawn in place; elsewhere it is printed again when it changes.
fn watch(ctx: &Context<'_>) -> Result<Exit> {
    let is_screen = std::io::stdout().is_terminal() && !ctx.ui.is_json();
    let mut last = None;
    // A board says itself who needs a person.
    let mut bell = if is_screen { Bell::silent() } else { Bell::default() };
    loop {
        let seen = SeenState::read(ctx)?;
        let shown = match ctx.ui.is_json() {
            true => vec![ctx.ui.render(&answer(ctx, &seen)?)],
            false if is_screen => board(ctx, &seen.state)?,
            false => table(ctx, &seen),
        };
        if last.as_ref() != Some(&shown) {
            if is_screen {
                ctx.ui.redraw(&shown, last.is_none());
            } else {
                if last.is_some() && !ctx.ui.is_json() {
                    ctx.ui.line("");
                }
                shown.iter().for_each(|line| ctx.ui.line(line));
            }
            last = Some(shown);
        }
        bell.look(ctx, &seen.state);
        if !ctx.ui.is_taken(Duration::ZERO) {
            return Ok(Exit::Done);
        }
        proc::check_interrupt()?;
        thread::sleep(POLL);
    }
}

fn board(ctx: &Context<'_>, state: &State) -> Result<Vec<String>> {
    let (width, height) = ctx.ui.size().unwrap_or((80, 24));
    let screen = Screen { width, height, has_colors: ctx.ui.has_colors() };
    let now = ctx.env.later().now;
    let rows = state.workers.values().map(|worker| board::row(worker, need_now(ctx, worker))).collect();
    Ok(lines(rows, daemon::is_running(&ctx.root.path)?, (now.as_second(), &local_clock(now)), screen))
}

fn answer<'a>(ctx: &Context<'_>, seen: &'a SeenState) -> Result<StatusAnswer<'a>> {
    let state = &seen.state;
    let workers = state.workers.values().map(|worker| row(ctx, seen, worker)).collect();
    let daemon = if daemon::is_running(&ctx.root.path)? { "running" } else { "stopped" };
    Ok(StatusAnswer { v: 1, workers, daemon, tmux_socket: &state.tmux_socket })
}

/// Counts the changes of the workers of the clone. Of worktrees of the person's own repository worktree-spawn tells them.
fn count_changes(ctx: &Context<'_>, state: &State, rows: &mut [WorkerRow<'_>]) -> Result<()> {
    if state.workers.values().all(|worker| worker.adopted.is_some()) {
        return Ok(());
    }
    let (repo, base) = (&ctx.clone, ctx.clone.base());
    let distances = repo.git.ahead_behind(&repo.common, &base)?;
    for row in rows.iter_mut().filter(|row| row.repo == "clone") {
        let distance = distances.get(row.branch);
        row.changes.ahead = distance.map(|(ahead, _)| *ahead);
        row.changes.behind = distance.map(|(_, behind)| *behind);
        let Some(sha) = row.commit_sha else { continue };
        let how = ["diff", "--numstat", "--no-ext-diff", "--no-textconv", "--no-renames", &format!("{base}...{sha}")];
        let counted = repo.run(&repo.top, &how)?;
        if counted.status.success() {
            let lines: Vec<Vec<u64>> = (counted.text().lines())
                .map(|line| line.split('\t').take(2).map(|count| count.parse().unwrap_or(0)).collect())
                .collect();
            let sum = |column: usize| lines.iter().filter_map(|line| line.get(column)).sum::<u64>();
            row.changes.stat = Some(json!({ "files": lines.len(), "insertions": sum(0), "deletions": sum(1) }));
        }
    }
    Ok(())
}

fn table(ctx: &Context<'_>, seen: &SeenState) -> Vec<String> {
    let width = seen.state.workers.keys().map(String::len).max().unwrap_or(0);
    seen.state.workers.values().map(|worker| line(ctx, seen, worker, width)).collect()
}

fn line(ctx: &Context<'_>, seen: &SeenState, worker: &Worker, width: usize) -> String {
    let is_seen = if seen.is_unseen(worker) { " (not seen)" } else { "" };
    let mut parts = vec![format!("{}{is_seen}", worker.status())];
    if worker.status() != worker.task.word() {
        parts.push(format!("task {}", worker.task.word()));
    }
    parts.extend(worker.program.fault.as_ref().map(Fault::to_string));
    parts.extend(activity(worker));
    parts.extend(worker.work.commit_sha.as_ref().map(|sha| sha.chars().take(12).collect::<String>()));
    if let Some(pending) = &worker.pending_send {
        parts.push(format!("a {} text is being typed, or a command was killed while typing it", pending.purpose));
    }
    parts.extend(notes(ctx, worker));
    let prompt = worker.work.prompt.as_deref().and_then(|prompt| prompt.lines().next()).unwrap_or_default();
    let prompt: String = prompt.chars().take(60).collect();
    let line = format!("{:width$}  {}  {}", worker.name, printable(&parts.join(", ")), printable(&prompt));
    line.trim_end().to_owned()
}

/// The notes of a worker, and one about its stashes.
fn notes(ctx: &Context<'_>, worker: &Worker) -> Vec<String> {
    let count = ctx.of(worker).map_or(0, |ctx| stashes(&ctx.repo, worker).len());
    let stashed = (count > 0).then(|| format!("it has {count} in `git stash list`, which all workers share"));
    worker.notes.iter().map(Note::to_string).chain(stashed).collect()
}

/// What the program does. A note tells of a program that does not know its task.
fn activity(worker: &Worker) -> Option<String> {
    match (worker.reported.activity, &worker.reported.activity_text) {
        (Activity::Unknown | Activity::Fresh, _) => None,
        (Activity::Asks, Some(question)) => Some(format!("asks: {question}")),
        (activity, _) => Some(activity.word().to_owned()),
    }
}

/// A time in seconds since 1970 as all tools write times.
fn time(unix: i64) -> Option<String> {
    let time = jiff::Timestamp::from_second(unix).ok()?;
    Some(shopfloor_core::time::render(time))
}

fn row<'a>(ctx: &Context<'_>, seen: &SeenState, worker: &'a Worker) -> WorkerRow<'a> {
    let (session, exit) = match worker.program.session {
        Session::Up => ("up", None),
        Session::Down => ("down", None),
        end @ (Session::Code(_) | Session::Signal(_)) => ("exited", Some(end)),
    };
    WorkerRow {
        v: 1,
        name: &worker.name,
        id: &worker.name,
        status: worker.status(),
        alive: session,
        task: worker.task.word(),
        session,
        seen: !seen.is_unseen(worker),
        exit,
        fault: worker.program.fault.as_ref().map(Fault::to_string),
        agent: ctx.root.agent_name(worker),
        repo: if worker.adopted.is_some() { "own" } else { "clone" },
        branch: &worker.branch,
        target: worker.target().unwrap_or(&ctx.clone.branch).to_owned(),
        worktree_path: &worker.worktree_path,
        worktree: &worker.worktree_path,
        prompt: worker.work.prompt.as_deref(),
        commit_sha: worker.work.commit_sha.as_deref(),
        commit: worker.work.commit_sha.as_deref(),
        reviewed_sha: worker.work.reviewed_sha.as_deref(),
        created_at_unix: worker.created_at_unix,
        created_at: time(worker.created_at_unix),
        last_activity_unix: worker.last_activity_unix,
        last_activity_at: time(worker.last_activity_unix),
        session_id: &worker.session_id,
        pane_pid: worker.program.pane_pid,
        crash_count: worker.program.crash_count,
        host: ctx.root.worker(&worker.name).host,
        needs: need_now(ctx, worker).map(Need::word),
        since_at: time(since(worker)),
        changes: Changes::default(),
        activity: worker.reported.activity.word(),
        activity_at: worker.reported.activity_at.as_deref(),
        activity_text: worker.reported.activity_text.as_deref(),
        notes: notes(ctx, worker),
        pending: worker.pending_send.as_ref(),
    }
}
