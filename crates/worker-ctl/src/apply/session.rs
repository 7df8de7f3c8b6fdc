//! Starts and ends a worker's session.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use shopfloor_core::agent_command::task_words;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::proc;
use shopfloor_core::text::printable;

use crate::apply::launch_spec::launch;
use crate::apply::startup::{STARTED, wait_ready};
use crate::apply::{jobs, runner, sandbox, transition};
use crate::context::Context;
use crate::facts::processes::{self, Process};
use crate::failure;
use crate::layout;
use crate::plan::machine::{Input, waits_in_queue};
use crate::poll;
use crate::program_config::{AgentTable, Delivery, End};
use crate::root::WorkerRoot;
use crate::tmux::{Pane, Tmux, is_begun, typing};
use crate::worker::{Activity, Program, Session, Work, Worker};
use crate::worker_notes::Fault;

/// How long programs have to end after Ctrl-C, and after TERM or KILL, all of them together.
const INTERRUPT_GRACE: Duration = Duration::from_secs(5);
const SIGNAL_GRACE: Duration = Duration::from_secs(2);

/// How long a program is watched that was started with a text and may end over its conversation.
const CONTINUED: Duration = Duration::from_secs(3);

/// How often a screen or a process is checked.
const POLL: Duration = Duration::from_millis(50);

/// Starts a worker's program, waits until it takes input, and records that the session is up. A program that runs
/// already stays as it is. If the program has ended, its pane is used again, so that a person's panes beside it stay.
///
/// A program that can continue the conversation that knows the task does so. If it ends over that, it is started anew.
pub fn start(ctx: &Context<'_>, worker: &Worker) -> Result<Pane> {
    let failure = match start_once(ctx, worker) {
        Ok(pane) => return Ok(pane),
        Err(failure) => failure,
    };
    let now = ctx.worker(&worker.name)?;
    // A shell exits with these codes when it cannot start a program, and then a new one cannot be started either. An end
    // of an earlier program says nothing about this one.
    let has_started = now.program.pane_pid != worker.program.pane_pid;
    let has_ended = has_started && matches!(now.program.session, Session::Code(code) if ![126, 127].contains(&code));
    if !has_ended || continuing(&now, &ctx.root.agent_of(&now)?).is_empty() {
        return Err(failure);
    }
    ctx.ui.note(format!("{} cannot continue its conversation, and is started anew", worker.name));
    let work = Work { conversation: None, ..now.work.clone() };
    let pane = start_once(ctx, &Worker { work, ..now })?;
    // Otherwise the conversation was not the reason, and stays known.
    transition::record(ctx, &worker.name, &Input::ConversationLost)?;
    Ok(pane)
}

/// The words that make a worker's program continue the conversation that knows its task; none if there is none.
fn continuing(worker: &Worker, agent: &AgentTable) -> Vec<String> {
    let Some(conversation) = &worker.work.conversation else { return Vec::new() };
    agent.resume_conversation.iter().map(|word| word.replace("{conversation}", conversation)).collect()
}

/// The words that make it continue that conversation, or else its last one.
pub fn resuming(worker: &Worker, agent: &AgentTable) -> Vec<String> {
    let words = continuing(worker, agent);
    if words.is_empty() { agent.resume.clone() } else { words }
}

fn start_once(ctx: &Context<'_>, worker: &Worker) -> Result<Pane> {
    if let Some(host) = ctx.root.worker(&worker.name).host {
        let name = &worker.name;
        return Err(Failure::malformed(format!("{name} is configured to run on {host}, and its worktree is here"))
            .hint(format!(
                "remove `host` from its table in config.toml; `worker-ctl add {name} --host {host}` makes one there"
            )));
    }
    let tmux = ctx.tmux()?;
    if !tmux.is_running() {
        ctx.tmux_for_programs()?.start(&ctx.root.path)?;
    }
    let agent = ctx.root.agent_of(worker)?;
    let existing = useful_pane(ctx, &tmux, worker)?;
    // This pane is the only record of an exit nobody has noticed yet.
    if let Some(Pane { end: Some(end), id, .. }) = &existing
        && worker.program.session == Session::Up
    {
        transition::record(ctx, &worker.name, &exited(ctx, worker, &agent, (id, *end)))?;
    }
    let (pane, job, is_ready) = match existing {
        Some(pane) if pane.end.is_none() => {
            let unrecorded = unrecorded_start(worker, &pane);
            if let Some(begun) = &unrecorded {
                transition::record(ctx, &worker.name, begun)?;
            }
            // A killed command may have left the program waiting for an answer.
            // Of a job it is not known, either, whether it waits.
            let is_known = worker.program.job.is_none() || worker.program.pane_id.as_ref() == Some(&pane.id);
            let is_begun = unrecorded.is_some() || is_begun(worker, &pane);
            let is_ready = !is_begun && worker.program.fault != Some(Fault::NotReady) && is_known;
            (pane, worker.program.job.clone(), is_ready)
        }
        ended => {
            let (pane, job) = begin(ctx, worker, &agent, &tmux, ended.as_ref())?;
            (pane, job, false)
        }
    };
    if !is_ready {
        if let Some(reason) = job.and_then(|name| jobs::wait_to_run(ctx, &tmux, worker, &name, jobs::PATIENCE)) {
            transition::record(ctx, &worker.name, &Input::Queued { reason: Some(reason.clone()) })?;
            return Err(waits_in_queue(&worker.name, &reason));
        }
        match wait_ready(ctx, &tmux, worker, &pane, &agent) {
            Ok(None) => {}
            Ok(Some(last)) => {
                transition::record(ctx, &worker.name, &Input::SessionUp { pane: pane.id.clone(), pid: pane.pid })?;
                transition::record(ctx, &worker.name, &Input::Fault { reason: Fault::NotReady })?;
                return Err(not_ready(ctx, worker, &last));
            }
            Err(failure) => {
                if let Some(end) = tmux.pane_of(worker)?.and_then(|pane| pane.end) {
                    transition::record(ctx, &worker.name, &exited(ctx, worker, &agent, (&pane.id, end)))?;
                }
                return Err(failure);
            }
        }
        // A program that is started anew with its task has nothing to forget. Do not clear the context while a person
        // types: the program has just started, and the line is theirs.
        if agent.delivery == Delivery::Paste && tmux.typist(&pane.id)?.is_none() {
            typing::clear(&tmux, &pane.id, &agent)?;
        }
    }
    transition::record(ctx, &worker.name, &Input::SessionUp { pane: pane.id.clone(), pid: pane.pid })?;
    Ok(pane)
}

/// A worker's pane. A program whose worktree was removed is ended: it does not see one that was made anew there.
fn useful_pane(ctx: &Context<'_>, tmux: &Tmux, worker: &Worker) -> Result<Option<Pane>> {
    let pane = tmux.pane_of(worker)?;
    if !pane.as_ref().is_some_and(|pane| pane.end.is_none() && processes::is_in_deleted(pane.pid, worker.tree())) {
        return Ok(pane);
    }
    ctx.ui.note(format!("{} is started anew: the directory of its program was removed", worker.name));
    end(ctx, std::slice::from_ref(worker), false).map(|()| None)
}

/// The input that records the start of a program that runs in a worker's pane, if a command was killed before it recorded
/// that, or could not. What the program knows is not known then, so that it counts as one that knows nothing of the task.
pub fn unrecorded_start(worker: &Worker, pane: &Pane) -> Option<Input> {
    let Program { session, pane_pid, job, .. } = &worker.program;
    let is_unrecorded = *session != Session::Up && *pane_pid != Some(pane.pid) && pane.end.is_none();
    let (id, job) = (pane.id.clone(), job.clone());
    is_unrecorded.then_some(Input::SessionBegun { pane: id, pid: pane.pid, job, is_continued: false })
}

/// Starts a worker's program, in the pane of one that has `ended` where that is still there. Returns the job that it is.
fn begin(
    ctx: &Context<'_>,
    worker: &Worker,
    agent: &AgentTable,
    tmux: &Tmux,
    ended: Option<&Pane>,
) -> Result<(Pane, Option<String>)> {
    refuse_others(worker, &ctx.root)?;
    let words = continuing(worker, agent);
    let is_continued = !words.is_empty();
    let (argv, variables) = launch(ctx, worker, agent, words)?;
    let (argv, job) = runner::wrapped(ctx, worker, require_program(ctx, agent, argv)?, &variables)?;
    if ended.is_none() {
        // A server that was lost may have left its program, and two would work in one worktree.
        end_panes(ctx, tmux, (&[], &|_| None), &[&worker.name], false)?;
    } else {
        jobs::end_all(ctx, &[&worker.name])?;
    }
    if job.is_some() {
        // A kill may come before the next record.
        ctx.update_worker(&worker.name, |worker| worker.program.job.clone_from(&job))?;
    }
    let log = layout::worker_log(&ctx.root.path, &worker.name);
    let pane = tmux.start_program(worker, ended, &with_path(ctx, variables), &argv, &log)?;
    let begun = Input::SessionBegun { pane: pane.id.clone(), pid: pane.pid, job: job.clone(), is_continued };
    transition::record(ctx, &worker.name, &begun)?;
    Ok((pane, job))
}

/// Exit 1 while an agent program runs in a worker's worktree that was not started for it: a person may have.
pub fn refuse_others(worker: &Worker, root: &WorkerRoot) -> Result<()> {
    let tree = worker.tree();
    match processes::others_in(tree, &root.path, &worker.name, &root.commands()).into_iter().next() {
        None => Ok(()),
        Some((_, program)) => Err(failure::OCCUPIED
            .failure(format!("{program} runs in {} and was not started here", tree.display()))
            .hint("end it, then run the same command again")),
    }
}

/// The argv; fails if its program is not installed. tmux would only show that it ended.
fn require_program(ctx: &Context<'_>, agent: &AgentTable, argv: Vec<String>) -> Result<Vec<String>> {
    let is_looked_for = |name: &&String| !name.contains('/') && !agent.env.contains_key("PATH");
    if let Some(program) = argv.first().filter(is_looked_for) {
        let hint = "install it, or change the `command` of the agent in config.toml";
        proc::require(ctx.env_for_programs(), program, hint)?;
    }
    Ok(argv)
}

/// The variables with the `PATH` of now, unless they name one. The server may have an older one.
fn with_path(ctx: &Context<'_>, mut variables: Vec<(String, String)>) -> Vec<(String, String)> {
    let path = ctx.env_for_programs().var("PATH").and_then(OsStr::to_str);
    let path = path.filter(|_| !variables.iter().any(|(name, _)| name == "PATH"));
    variables.extend(path.map(|path| ("PATH".to_owned(), path.to_owned())));
    variables
}

/// The failure of a program that runs, but does not take input.
fn not_ready(ctx: &Context<'_>, worker: &Worker, last: &[String]) -> Failure {
    let name = &worker.name;
    let failure = failure::NOT_READY
        .failure(format!("the program of {name} runs, but does not take input yet"))
        .details(last.iter().map(|line| format!("  {}", printable(line))))
        .hint(format!("answer what it asks with `worker-ctl attach {name}`, then run `worker-ctl up {name}`"));
    match ctx.root.preset_of(worker) {
        Some(_) => failure.hint("`worker-ctl doctor` tells whether its version was tried"),
        None => failure,
    }
}

/// The input that records how a worker's program ended.
pub fn exited(ctx: &Context<'_>, worker: &Worker, agent: &AgentTable, (pane, end): (&str, Session)) -> Input {
    // An `srun` that was killed tells nothing of its job.
    let job = if matches!(end, Session::Code(_)) { jobs::end(ctx, worker) } else { None };
    let end = runner::end(ctx, worker, end);
    let is_ok = job.is_none() && matches!(end, Session::Code(code) if agent.is_ok_exit(code));
    Input::Exited { pane: pane.to_owned(), end, is_ok, job }
}

/// Restarts the program with a text as argument. Nothing is typed, so nothing can get in the way. `resume` are the words
/// that make it continue a conversation.
pub fn restart_with(ctx: &Context<'_>, worker: &Worker, text: &str, resume: Vec<String>) -> Result<()> {
    let not_delivered =
        |why: String| failure::NOT_DELIVERED.failure(format!("{} did not get its task: {why}", worker.name));
    let nothing_typed = |failure: Failure| typing::not_delivered(&worker.name, failure);
    let is_continued = !resume.is_empty();
    let ready = || -> Result<_> {
        let (tmux, agent) = (ctx.tmux()?, ctx.root.agent_of(worker)?);
        let pane = tmux.pane_of(worker)?.ok_or_else(|| Failure::failed("its session is gone"))?;
        let file = typing::write_text_file(&ctx.root.path, &worker.name, text)?;
        let (argv, variables) = launch(ctx, worker, &agent, resume)?;
        let shown = sandbox::shown(ctx, worker, &file)?;
        let argv = with_text(argv, &agent, text, (&file, &shown));
        Ok((tmux, pane, runner::wrapped(ctx, worker, argv, &variables)?, variables))
    };
    let (tmux, pane, (argv, job), variables) = ready().map_err(nothing_typed)?;
    let log = layout::worker_log(&ctx.root.path, &worker.name);
    let head = end_program(ctx, worker, &pane).map_err(nothing_typed)?;
    jobs::end_all(ctx, &[&worker.name]).map_err(nothing_typed)?;
    let restarting = Input::Restarting { head, job: job.clone() };
    transition::record(ctx, &worker.name, &restarting).map_err(nothing_typed)?;
    let mut now = tmux
        .start_program(worker, Some(&pane), &with_path(ctx, variables), &argv, &log)
        .map_err(|failure| not_delivered(failure.to_string()))?;
    transition::record(ctx, &worker.name, &Input::SessionUp { pane: now.id.clone(), pid: now.pid })?;
    let is_quiet = || Ok::<_, Failure>(ctx.worker(&worker.name)?.reported.activity == Activity::Unknown);
    let read_pane = || -> Result<Pane> {
        let pane = tmux.panes()?.into_iter().find(|now| now.id == pane.id);
        pane.ok_or_else(|| not_delivered("its session is gone".into()))
    };
    let start = Instant::now();
    let limit = if is_continued { CONTINUED } else { STARTED };
    while now.end.is_none() && start.elapsed() < limit && is_quiet()? {
        thread::sleep(POLL);
        now = read_pane()?;
    }
    // A shell exits with these codes when it cannot start a program. Any other exit is that of a program with its task.
    if matches!(now.end, Some(Session::Code(126 | 127))) {
        let why = format!("its program cannot be started; look with `worker-ctl peek {}`", worker.name);
        return Err(not_delivered(why));
    }
    // The conversation is gone. The text must not be lost with it.
    if is_continued && matches!(now.end, Some(Session::Code(1..))) {
        ctx.ui.note(format!("{} cannot continue its conversation, and is started anew", worker.name));
        let (worker, _) = transition::record(ctx, &worker.name, &Input::ConversationLost)?;
        return restart_with(ctx, &worker, text, Vec::new());
    }
    if let Some(reason) = job.and_then(|name| jobs::wait_to_run(ctx, &tmux, worker, &name, STARTED)) {
        transition::record(ctx, &worker.name, &Input::Queued { reason: Some(reason) })?;
    }
    Ok(())
}

/// Ends the program in a pane, and waits until the hooks that it runs at its end are over. Returns the commit of the
/// worktree if that is another one now.
fn end_program(ctx: &Context<'_>, worker: &Worker, pane: &Pane) -> Result<Option<String>> {
    let Some(program) = Pid::from_raw(pane.pid).filter(|_| pane.end.is_none()) else { return Ok(None) };
    let ctx = &ctx.of(worker)?;
    let head = || Ok::<_, Failure>(ctx.repo.head(worker.tree())?.1);
    let find = || processes::find(ctx.env, &ctx.root.path, &[&worker.name], &[pane.pid], Some(pane.server));
    let (before, running) = (head()?, find());
    // A kill may come before the program is started anew, and this end is no crash.
    ctx.update_worker(&worker.name, |worker| worker.program.dead_pane = Some(pane.id.clone()))?;
    let _ = kill_process(program, Signal::HUP);
    let is_over = || !processes::is_alive(pane.pid) && find().iter().all(|process| running.contains(process));
    poll::holds(INTERRUPT_GRACE, POLL, is_over);
    Ok(head()?.filter(|now| before.as_ref() != Some(now)))
}

/// The argv that passes a text to a program, which is in `file` as well, for the program at `shown`.
fn with_text(mut argv: Vec<String>, agent: &AgentTable, text: &str, (file, shown): (&Path, &Path)) -> Vec<String> {
    let (before, after) = task_words(&agent.task);
    argv.extend_from_slice(before);
    let own = argv.len().to_string();
    if text.len() > typing::MAX_ARGUMENT {
        argv.push(typing::file_prompt(shown));
        argv.extend_from_slice(after);
    } else {
        // tmux passes on at most 16 KB, so a shell reads the text from the file. The `x` preserves trailing line ends. The
        // text goes behind so many words; those that follow may be a runner's. All words are moved to the end one by one.
        let script = r#"file=$1 own=$2; shift 2; left=$(($# - own)); text=$(cat "$file"; printf x)
            while [ "$own" -gt 0 ]; do set -- "$@" "$1"; shift; own=$((own - 1)); done; set -- "$@" "${text%x}"
            while [ "$left" -gt 0 ]; do set -- "$@" "$1"; shift; left=$((left - 1)); done; exec "$@""#;
        argv.extend_from_slice(after);
        let shell = ["sh".into(), "-c".into(), script.into(), "sh".into(), file.to_string_lossy().into_owned(), own];
        argv.splice(0..0, shell);
    }
    argv
}

/// Ends these sessions and everything that they started: as the table of each program says, then with TERM, then with
/// KILL; with `force` at once.
pub fn end(ctx: &Context<'_>, workers: &[Worker], force: bool) -> Result<()> {
    let tmux = ctx.tmux()?;
    let names: Vec<&str> = workers.iter().map(|worker| worker.name.as_str()).collect();
    let panes: Vec<Pane> = tmux.panes()?.into_iter().filter(|pane| names.contains(&pane.worker.as_str())).collect();
    // Record the end first, so that it does not count as a crash.
    for worker in workers {
        transition::record(ctx, &worker.name, &Input::SessionGone)?;
    }
    let table = |name: &str| {
        let worker = workers.iter().find(|worker| worker.name == name)?;
        ctx.root.agent_of(worker).ok().map(|agent| agent.end)
    };
    end_panes(ctx, &tmux, (&panes, &table), &names, force)
}

/// Ends the session of one worker, if the server runs.
pub fn end_one(ctx: &Context<'_>, worker: &Worker, force: bool) -> Result<()> {
    match ctx.tmux()?.is_running() {
        true => end(ctx, std::slice::from_ref(worker), force),
        false => jobs::end_or_warn(ctx, &[&worker.name], force),
    }
}

/// Ends all programs of workers that the server lists, for when the state cannot be read. Returns their workers.
pub fn end_unknown(ctx: &Context<'_>, tmux: &Tmux, force: bool) -> Result<BTreeSet<String>> {
    let mut panes = tmux.panes()?;
    panes.retain(|pane| !pane.worker.is_empty());
    let names: BTreeSet<String> = panes.iter().map(|pane| pane.worker.clone()).collect();
    if !panes.is_empty() {
        end_panes(ctx, tmux, (&panes, &|_| None), &names.iter().map(String::as_str).collect::<Vec<_>>(), force)?;
    }
    Ok(names)
}

/// What ends the program of a worker with this name.
type Ends<'a> = dyn Fn(&str) -> Option<End> + 'a;

fn end_panes(
    ctx: &Context<'_>,
    tmux: &Tmux,
    (panes, ends): (&[Pane], &Ends<'_>),
    names: &[&str],
    force: bool,
) -> Result<()> {
    let server = panes.first().map(|pane| pane.server);
    let pids: Vec<i32> = panes.iter().filter(|pane| pane.end.is_none()).map(|pane| pane.pid).collect();
    let find = || processes::find(ctx.env, &ctx.root.path, names, &pids, server);
    let (mut ours, mut asked) = (find(), Ok(()));
    let is_any = !ours.is_empty();
    if !force {
        for pane in panes.iter().filter(|pane| pane.end.is_none()) {
            let by = match ends(&pane.worker).unwrap_or_default() {
                End::Interrupt => None,
                End::Hangup => Some(Signal::HUP),
                End::Terminate => Some(Signal::TERM),
            };
            match (by, Pid::from_raw(pane.pid)) {
                (Some(by), Some(pid)) => drop(kill_process(pid, by)),
                _ => tmux.run(&["send-keys", "-t", &pane.id, "C-c"]).map(drop)?,
            }
        }
        let agents = |processes: &BTreeSet<Process>| processes.iter().any(|process| pids.contains(&process.pid));
        // To find them is to look at every process, and nothing starts more where nothing runs.
        let more = || if is_any { find() } else { BTreeSet::new() };
        ours = wait_while(ctx, ours, INTERRUPT_GRACE, agents);
        ours.extend(more());
        signal(&ours, Signal::TERM);
        asked = jobs::cancel(ctx, names, false);
        ours = wait_while(ctx, ours, SIGNAL_GRACE, |processes| !processes.is_empty());
        ours.extend(more());
    }
    signal(&ours, Signal::KILL);
    // Only the agents' panes are killed. A person's panes beside them stay.
    for pane in panes {
        tmux.run(&["kill-pane", "-t", &pane.id])?;
    }
    wait_while(ctx, ours, SIGNAL_GRACE, |processes| !processes.is_empty());
    asked?;
    jobs::end_or_warn(ctx, names, force)
}

fn signal(processes: &BTreeSet<Process>, signal: Signal) {
    for pid in processes.iter().filter_map(|process| Pid::from_raw(process.pid)) {
        let _ = kill_process(pid, signal);
    }
}

/// Waits until the condition no longer holds, or the time is up. Returns the processes that are still alive.
fn wait_while(
    ctx: &Context<'_>,
    mut processes: BTreeSet<Process>,
    limit: Duration,
    condition: impl Fn(&BTreeSet<Process>) -> bool,
) -> BTreeSet<Process> {
    poll::holds(limit, POLL, || {
        processes = processes::retain_living(ctx.env, &processes);
        !condition(&processes)
    });
    processes
}
