//! `status`: prints all workers. It takes no lock, and writes only what hosts say.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args as ClapArgs;
use serde_json::{Value, json};
use shopfloor_core::board::{BoardRow, Need, Screen, Standing, age, lines};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::forge::Request;
use shopfloor_core::proc;
use shopfloor_core::time::local_clock;
use shopfloor_core::ui::{Ui, printable};

use crate::apply::check::{self, need_by_files, need_now};
use crate::apply::host_status::{self, time};
use crate::apply::sandbox;
use crate::attention::{needed_since, quiet_for};
use crate::check_record::MOST_VOID;
use crate::commands::joined;
use crate::context::Context;
use crate::facts::adoption;
use crate::facts::branch_changes::{changes, own_changes};
use crate::facts::clashes::{Clash, last};
use crate::facts::losses::stashes;
use crate::facts::request::{Own, is_landed};
use crate::facts::sandboxes::runner;
use crate::failure;
use crate::hosts::{Host, LastSaid};
use crate::notify_person::Bell;
use crate::plan::check::record;
use crate::plan::machine::until;
use crate::requests::Requests;
use crate::root::WorkerRoot;
use crate::runner::{NONE, SANDBOX};
use crate::store::{self, State};
use crate::tmux::Tmux;
use crate::up_lock;
use crate::worker::{Activity, Program, Session, Task, Worker};
use crate::worker_notes::{Fault, Note, few};

/// How often `--watch` reads the state.
const POLL: Duration = Duration::from_millis(500);

/// How often it asks the hosts.
const HOSTS_POLL: Duration = Duration::from_secs(2);

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Keep showing the workers until interrupted
    #[arg(long)]
    pub watch: bool,
    /// With --json, also count what the workers of the clone have changed, which is slower
    #[arg(long)]
    pub stat: bool,
    /// Ask the forge about requests, at most once a minute, by your own `gh` or `glab`; without this, what it said last is
    /// shown
    #[arg(long, conflicts_with = "watch")]
    pub requests: bool,
    /// Print one line for a status bar or a prompt: how many need you for what, as `2 review 1 asks`
    ///
    /// Reads files only. The line is empty if nobody needs you, ends in `up stopped` if nobody reacts to agents that have
    /// something to do, and is `?` if the state cannot be read.
    #[arg(long, conflicts_with_all = ["watch", "requests"])]
    pub line: bool,
    /// Ask it even if it was asked within the last minute
    #[arg(long, requires = "requests")]
    pub fresh: bool,
}

/// The state, in which a session whose tmux server does not answer is down: after a reboot nothing has recorded that yet.
struct SeenState {
    state: State,
    unseen: HashSet<String>,
    clashes: Vec<Clash>,
    requests: Requests,
    /// The rows of the hosts' workers.
    hosts: Vec<Value>,
}

impl SeenState {
    fn read(ctx: &Context<'_>, said: &[(Host, LastSaid)]) -> Result<SeenState> {
        let (clashes, mut requests) = (last(&ctx.root.path), Requests::last(&ctx.root.path));
        let (mut state, hosts) = (ctx.state()?, host_status::rows(said));
        let unseen = end_unseen(&mut state, || ctx.tmux());
        // git may have moved one since the last patrol.
        for worker in state.workers.values_mut() {
            adoption::moved(ctx, worker).into_iter().for_each(|path| worker.worktree_path = path);
        }
        for worker in state.workers.values().filter(|worker| worker.task != Task::Idle) {
            let is_over = worker.pushed.as_ref().is_some_and(|pushed| pushed.is_over);
            let is_former =
                |request: &Request| request.state == "merged" && (is_over || is_landed(worker, &request.oid));
            if requests.of(&worker.branch).is_some_and(is_former) {
                requests.forget(&worker.branch);
            }
        }
        Ok(SeenState { state, unseen, clashes, requests, hosts })
    }

    fn is_unseen(&self, worker: &Worker) -> bool {
        self.unseen.contains(&worker.name)
    }
}

/// Takes the sessions as gone whose tmux server does not answer, and returns whose they are.
fn end_unseen(state: &mut State, tmux: impl FnOnce() -> Result<Tmux>) -> HashSet<String> {
    let is_up = |worker: &&mut Worker| worker.program.session == Session::Up || worker.program.job_waits_for.is_some();
    let mut up = state.workers.values_mut().filter(is_up).peekable();
    if up.peek().is_none() || !tmux().is_ok_and(|tmux| !tmux.is_running()) {
        return HashSet::new();
    }
    let end = |worker: &mut Worker| {
        let Program { session, job_waits_for, pane_id, .. } = &mut worker.program;
        (*session, *job_waits_for, *pane_id) = (Session::Down, None, None);
        worker.name.clone()
    };
    up.map(end).collect()
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    if args.watch {
        return watch(ctx);
    }
    if args.requests && !ctx.is_dry {
        let (own, state) = (Own::of(ctx)?, ctx.state()?);
        let branches: Vec<String> = state.workers.values().map(|worker| worker.branch.clone()).collect();
        let branches = own.named(&branches)?;
        let root = &ctx.root.path;
        let asked = Requests::ask((root, ctx.now(), args.fresh), &own.forge(ctx)?, &branches)?;
        own.without_former(asked, state.workers.values())?.keep(root)?;
    }
    let seen = SeenState::read(ctx, &host_status::ask_and_tell(ctx))?;
    if ctx.ui.is_json() {
        ctx.ui.json(&answer(ctx, &seen, args.stat)?);
    } else {
        table(ctx, &seen).iter().for_each(|line| ctx.ui.line(line));
        if !seen.state.queue.waiting.is_empty() {
            ctx.ui.note(format!("tasks in the queue: {} (`worker-ctl queue`)", seen.state.queue.waiting.len()));
        }
    }
    Ok(Exit::Done)
}

/// One line: how many workers need a person for what, the most first, and whether nobody keeps them up.
pub fn line_for_bar(ui: &Ui, env: &Env, named: Option<&Path>) -> Result<Exit> {
    if ui.is_json() {
        let failure = Failure::usage("`--line` is for a status bar, and is no JSON");
        return Err(failure.hint("use one of them: `worker-ctl status --json` tells what each worker needs"));
    }
    let read = || -> Result<(WorkerRoot, State, bool)> {
        let root = WorkerRoot::find_listed(env, named)?;
        let (mut state, is_up) = (store::load(&root.path)?, up_lock::is_running(&root.path)?);
        let socket = state.tmux_socket.clone();
        end_unseen(&mut state, || Tmux::find(env, &socket));
        Ok((root, state, is_up))
    };
    let (root, state, is_up) = read().map_err(|failure| {
        if [failure::UNLISTED_ROOT, failure::NOT_INITIALISED].iter().any(|kind| kind.is_kind_of(&failure)) {
            return failure;
        }
        ui.line("?");
        Failure { exit: Exit::Failed, ..failure }
    })?;
    let now = env.later().now.as_second();
    let mut counts: Vec<(usize, Need)> = Vec::new();
    let own = state.workers.values().filter_map(|worker| need_by_files(&root, now, worker));
    for need in own.chain(host_status::last_needs(&root)) {
        match counts.iter_mut().find(|(_, counted)| *counted == need) {
            Some((count, _)) => *count += 1,
            None => counts.push((1, need)),
        }
    }
    counts.sort_by_key(|(count, need)| (Reverse(*count), *need));
    let word = |need: Need| if need == Need::Review { "review" } else { need.word() };
    let mut words: Vec<String> = counts.iter().map(|(count, need)| format!("{count} {}", word(*need))).collect();
    let is_at_work = state.workers.values().any(|worker| worker.task != Task::Idle);
    if is_at_work && !is_up {
        words.push("up stopped".into());
    }
    ui.line(words.join(" "));
    Ok(Exit::Done)
}

/// Runs until interrupted, and asks the hosts again and again.
fn watch(ctx: &Context<'_>) -> Result<Exit> {
    let is_over = AtomicBool::new(false);
    let ask = || {
        while !is_over.load(Ordering::SeqCst) {
            host_status::ask(ctx);
            let asked = Instant::now();
            while !is_over.load(Ordering::SeqCst) && asked.elapsed() < HOSTS_POLL {
                thread::sleep(POLL);
            }
        }
    };
    thread::scope(|scope| -> Result<Exit> {
        if !ctx.root.config.hosts.is_empty() {
            thread::Builder::new().spawn_scoped(scope, ask).map_err(proc::no_thread)?;
        }
        let watched = show_changes(ctx);
        is_over.store(true, Ordering::SeqCst);
        watched
    })
}

/// On a terminal the table is redrawn in place; elsewhere it is printed again when it changes.
fn show_changes(ctx: &Context<'_>) -> Result<Exit> {
    let is_screen = std::io::stdout().is_terminal() && !ctx.ui.is_json();
    let mut last = None;
    // A board says itself who needs a person.
    let mut bell = if is_screen { Bell::silent() } else { Bell::default() };
    loop {
        let seen = SeenState::read(ctx, &host_status::last(ctx))?;
        let shown = match ctx.ui.is_json() {
            true => vec![ctx.ui.render(answer(ctx, &seen, false)?)],
            false if is_screen => board(ctx, &seen)?,
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
        bell.look(ctx, &seen.state, &|worker| check::is_for_nobody_yet(ctx, worker));
        if !ctx.ui.is_taken(Duration::ZERO) {
            return Ok(Exit::Done);
        }
        proc::check_interrupt()?;
        thread::sleep(POLL);
    }
}

fn board(ctx: &Context<'_>, SeenState { state, hosts, .. }: &SeenState) -> Result<Vec<String>> {
    let (width, height) = ctx.ui.size().unwrap_or((80, 24));
    let screen = Screen { width, height, has_colors: ctx.ui.has_colors() };
    let now = ctx.env.later().now;
    let rows = state.workers.values().map(|worker| board_row(ctx, worker));
    let rows = rows.chain(hosts.iter().map(host_status::board_row)).collect();
    Ok(lines(rows, up_lock::is_running(&ctx.root.path)?, (now.as_second(), &local_clock(now)), screen))
}

/// The row of a worker on the board that `--watch` shows on a terminal.
fn board_row(ctx: &Context<'_>, worker: &Worker) -> BoardRow {
    let need = need_now(ctx, worker);
    let standing = match (need, worker.status()) {
        (Some(need), _) => Standing::Needs(need),
        (None, "offline" | "queued") => Standing::Offline,
        (None, "idle") => Standing::Idle,
        _ => Standing::Works,
    };
    let does = Some(worker.activity()).filter(|activity| *activity != Activity::Unknown);
    BoardRow {
        name: worker.name.clone(),
        state: worker.status().to_owned(),
        does: does.map_or(String::new(), |activity| activity.word().to_owned()),
        since: Some(needed_since(&ctx.root, worker, need)),
        what: what(standing, worker, ctx.now()),
        standing,
    }
}

/// What a person should know first: what there is to do, else the task.
fn what(standing: Standing, worker: &Worker, now: i64) -> String {
    let (name, note) = (&worker.name, worker.open_notes(now).min_by_key(|note| note.rank()));
    let prompt = worker.work.prompt.as_deref().and_then(|prompt| prompt.lines().next()).unwrap_or_default();
    match standing {
        Standing::Needs(Need::Asks) => {
            format!("answer {name}: {}", worker.reported.activity_text.as_deref().unwrap_or("a question"))
        }
        Standing::Needs(Need::Fault) => {
            let fault = worker.program.fault.as_ref().map(ToString::to_string);
            let fault = fault.or_else(|| note.map(ToString::to_string)).unwrap_or_default();
            let hint = if worker.program.session == Session::Up { "attach" } else { "peek" };
            format!("{hint} {name}: {fault}")
        }
        Standing::Needs(Need::Review) => format!("review {name}: {prompt}"),
        Standing::Needs(Need::Fresh | Need::Resume | Need::Limited) => format!("resume {name}: {prompt}"),
        _ => match note {
            Some(note) => note.to_string(),
            None => prompt.to_owned(),
        },
    }
}

/// The answer with `--json`, if `counts`, with what the workers of the clone have changed.
fn answer(ctx: &Context<'_>, seen: &SeenState, counts: bool) -> Result<Value> {
    let state = &seen.state;
    let has_clone = state.workers.values().any(|worker| worker.adopted.is_none());
    let distances =
        (counts && has_clone).then(|| ctx.clone.git.ahead_behind(&ctx.clone.common, &ctx.clone.base())).transpose()?;
    let row = |worker: &Worker| -> Result<Value> {
        let changes = match &worker.adopted {
            None => distances.as_ref().map(|all| changes(&ctx.clone, worker, all.get(&worker.branch))),
            Some(adopted) => counts.then(|| own_changes(&ctx.of(worker)?.repo, worker, adopted)),
        };
        let changes = changes.transpose()?.unwrap_or(json!({}));
        Ok(row(ctx, seen, worker, changes))
    };
    let mut workers = state.workers.values().map(row).collect::<Result<Vec<_>>>()?;
    workers.extend(seen.hosts.iter().cloned());
    let daemon = if up_lock::is_running(&ctx.root.path)? { "running" } else { "stopped" };
    Ok(json!({ "v": 1, "workers": workers, "daemon": daemon, "root": ctx.root.path.to_string_lossy(),
        "tmux_socket": state.tmux_socket, "queue": state.queue.waiting.len() }))
}

fn table(ctx: &Context<'_>, seen: &SeenState) -> Vec<String> {
    let ids = seen.hosts.iter().filter_map(|row| row["id"].as_str());
    let width = seen.state.workers.keys().map(String::as_str).chain(ids).map(str::len).max().unwrap_or(0);
    let own = seen.state.workers.values().map(|worker| line(ctx, seen, worker, width));
    own.chain(seen.hosts.iter().map(|row| host_status::line(row, width, ctx.now()))).collect()
}

fn line(ctx: &Context<'_>, seen: &SeenState, worker: &Worker, width: usize) -> String {
    let is_seen = if seen.is_unseen(worker) { " (not seen)" } else { "" };
    let mut parts = vec![format!("{}{is_seen}", worker.status())];
    if worker.status() != worker.task.word() {
        parts.push(format!("task {}", worker.task.word()));
    }
    parts.extend(worker.program.fault.as_ref().map(Fault::to_string));
    parts.extend(worker.program.job_waits_for.clone());
    let is_silent = need_by_files(&ctx.root, ctx.now(), worker) == Some(Need::Silent);
    let silent = is_silent.then(|| format!("silent for {}", age(quiet_for(&ctx.root, ctx.now(), worker))));
    parts.extend(silent.or_else(|| activity(worker, ctx.now())));
    parts.extend(checked(ctx, worker));
    parts.extend(worker.work.commit_sha.as_ref().map(|sha| sha.chars().take(12).collect::<String>()));
    if let Some(pending) = &worker.pending_send {
        parts.push(format!("a {} text is being typed, or a command was killed while typing it", pending.purpose));
    }
    parts.extend(notes(ctx, worker));
    let others = clashing(&seen.clashes, worker).filter(|(other, _)| seen.state.workers.contains_key(*other));
    let others: Vec<String> = others.map(|(other, paths)| format!("{other} in {}", few(paths))).collect();
    parts.extend((!others.is_empty()).then(|| format!("clashes with {}", few(&others))));
    parts.extend(seen.requests.of(&worker.branch).map(|request| {
        let Request { number, state, ci, review, .. } = request;
        let said = [("checks ", ci), ("review ", review)].into_iter().filter(|(_, word)| *word != "none");
        let said: String = said.map(|(what, word)| format!(", {what}{}", word.replace('_', " "))).collect();
        format!("request {number} {state}{said}")
    }));
    let prompt = worker.work.prompt.as_deref().and_then(|prompt| prompt.lines().next()).unwrap_or_default();
    let prompt: String = prompt.chars().take(60).collect();
    let line = format!("{:width$}  {}  {}", worker.name, printable(&parts.join(", ")), printable(&prompt));
    line.trim_end().to_owned()
}

/// The notes of a worker, what makes it need a person first, and one about its stashes.
fn notes(ctx: &Context<'_>, worker: &Worker) -> Vec<String> {
    let count = ctx.of(worker).map_or(0, |ctx| stashes(&ctx.repo, worker).len());
    let stashed = (count > 0).then(|| format!("it has {count} in `git stash list`, which all workers share"));
    let mut notes: Vec<&Note> = worker.open_notes(ctx.now()).collect();
    notes.sort_by_key(|note| note.rank());
    notes.into_iter().map(Note::to_string).chain(stashed).collect()
}

/// What the program does. A note tells of a program that does not know its task.
fn activity(worker: &Worker, now: i64) -> Option<String> {
    match (worker.activity(), &worker.reported.activity_text) {
        (Activity::Unknown | Activity::Fresh, _) => None,
        (Activity::Asks, Some(question)) => Some(format!("asks: {question}")),
        (Activity::Limited, _) => {
            Some(format!("limited{}", worker.program.limit.as_ref().map_or(String::new(), |limit| until(limit, now))))
        }
        (activity, _) => Some(activity.word().to_owned()),
    }
}

/// With whom a worker's work clashed when that was looked at last, and where.
fn clashing<'c>(all: &'c [Clash], worker: &'c Worker) -> impl Iterator<Item = (&'c str, &'c [String])> {
    let has_work = worker.has_open_task() || worker.task == Task::NeedsReview;
    all.iter().filter(move |_| has_work).filter_map(|clash| Some((clash.other(&worker.name)?, &clash.paths[..])))
}

/// The name of its runner.
fn shown_runner(ctx: &Context<'_>, worker: &Worker) -> String {
    match sandbox::is_wanted(ctx, worker) {
        true => SANDBOX.to_owned(),
        false => runner(ctx, worker).unwrap_or_else(|| NONE.to_owned()),
    }
}

/// The word for what its program does, or for what is done with its work.
fn does(ctx: &Context<'_>, worker: &Worker) -> &'static str {
    if worker.activity() != Activity::Asks && check::is_running(ctx, worker) {
        return "checking";
    }
    worker.activity().word()
}

/// What the check of its work has shown.
fn checked(ctx: &Context<'_>, worker: &Worker) -> Option<String> {
    if check::is_running(ctx, worker) {
        return Some("checking".into());
    }
    let is_void = worker.work.checks_void >= MOST_VOID;
    match record(worker) {
        None if is_void => Some("its worktree changed while it was checked".into()),
        None => None,
        Some(check) => Some(if check.ok { "check is green" } else { "check is red" }.into()),
    }
}

/// The word for a session, and how it has ended.
fn ended(program: &Program) -> (&'static str, Option<Value>) {
    let (session, exit) = match program.session {
        Session::Up | Session::Down if program.job_waits_for.is_some() => ("queued", None),
        Session::Up => ("up", None),
        Session::Down => ("down", None),
        end @ (Session::Code(_) | Session::Signal(_)) => ("exited", Some(end)),
    };
    let reason = if let Some(Fault::Job(end)) = &program.fault { json!({ "reason": end }) } else { json!({}) };
    let exit = exit.map(|end| joined(json!(end), reason));
    (session, exit)
}

/// A worker in the answer with `--json`, with what `changes` tells of its branch.
fn row(ctx: &Context<'_>, seen: &SeenState, worker: &Worker, changes: Value) -> Value {
    let Worker { name, branch, worktree_path, work, program, reported, .. } = worker;
    let ((session, exit), need) = (ended(program), need_now(ctx, worker));
    let first = json!({
        "v": 1,
        "name": name,
        "id": name,
        "status": worker.status(),
        "alive": session,
        "task": worker.task.word(),
        "session": session,
        "seen": !seen.is_unseen(worker),
        "exit": exit,
        "job": program.job,
        "job_waits_for": program.job_waits_for,
        "fault": program.fault.as_ref().map(Fault::to_string),
        "agent": ctx.root.agent_name(worker),
        "repo": if worker.adopted.is_some() { "own" } else { "clone" },
        "branch": branch,
        "target": worker.target().unwrap_or(&ctx.clone.branch),
        "worktree_path": worktree_path,
        "worktree": worktree_path,
        "prompt": work.prompt,
        "landed_prompt": worker.landed_prompt,
        "queued": worker.queued_id(),
        "commit_sha": work.commit_sha,
        "commit": work.commit_sha,
        "reviewed_sha": work.reviewed_sha,
        "onto": work.onto_sha,
        "conflicted": work.conflicted,
        "created_at_unix": worker.created_at_unix,
        "created_at": time(worker.created_at_unix),
        "last_activity_unix": worker.last_activity_unix,
        "last_activity_at": time(worker.last_activity_unix),
        "session_id": worker.session_id,
        "pane_pid": program.pane_pid,
        "crash_count": program.crash_count,
        "host": Value::Null,
        "runner": shown_runner(ctx, worker),
        "needs": need.map(Need::word),
        "since_at": time(needed_since(&ctx.root, worker, need)),
    });
    let last = json!({
        "activity": does(ctx, worker),
        "check": work.check,
        "limit": program.limit.as_ref().and_then(|limit| limit.kind.as_ref()),
        "limited_until_at": program.limit.as_ref().and_then(|limit| limit.until_unix).and_then(time),
        "activity_at": reported.activity_at,
        "activity_text": reported.activity_text,
        "notes": notes(ctx, worker),
        "pending": worker.pending_send,
        "request": seen.requests.row(branch),
        "landed": worker.adopted.as_ref().and_then(|adopted| adopted.landed.as_ref()).map(|landed| &landed.tip),
        "clashes": clashing(&seen.clashes, worker).map(|(with, paths)| json!({ "with": with, "paths": paths })).collect::<Vec<_>>(),
    });
    joined(joined(first, changes), last)
}
