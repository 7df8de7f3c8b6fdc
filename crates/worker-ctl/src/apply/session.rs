//! Starting and ending a worker's session.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::text::printable;

use crate::agent::{AgentTable, regex};
use crate::apply::transition;
use crate::facts::processes::{self, Process};
use crate::layout;
use crate::plan::machine::Input;
use crate::site::Site;
use crate::tmux::{self, Pane, Tmux, typing};
use crate::worker::{Session, Worker};

/// How long a program may take until it can be spoken to, when nobody says.
const READY: u64 = 30;

/// How long programs have to end by themselves when asked, and when told: all of them together.
const ASKED: Duration = Duration::from_secs(5);
const TOLD: Duration = Duration::from_secs(2);

/// How often a screen or a process is looked at.
const GLANCE: Duration = Duration::from_millis(50);

/// A screen that has not changed for so long waits for somebody.
const STILL: Duration = Duration::from_millis(500);

/// Starts it, waits until it takes input, and writes down that it is up. One whose program runs already stays as it is; a
/// pane in which it ended is used again, with whatever a person has beside it.
pub fn start(site: &Site<'_>, worker: &Worker) -> Result<Pane> {
    if let Some(host) = site.root.worker(&worker.name).host {
        return Err(Failure::malformed(format!(
            "{} is to run on {host}, and other hosts are not there yet",
            worker.name
        ))
        .hint(format!("take `host` out of `[workers.{}]` in config.toml", worker.name)));
    }
    let tmux = site.tmux()?;
    tmux.start(&site.root.path)?;
    let agent = site.root.agent_of(worker)?;
    let there = tmux.pane_of(worker)?;
    // Of a death that nobody has seen yet this is the last trace.
    if let Some(Pane { end: Some(end), id, .. }) = &there
        && worker.session == Session::Up
    {
        note_end(site, worker, &agent, id, *end)?;
    }
    let (pane, is_known) = match there {
        Some(pane) if pane.end.is_none() => {
            // One that was killed on the way left it asking something, perhaps.
            let has_begun = worker.session == Session::Down && worker.pane_id.as_ref() == Some(&pane.id);
            (pane, !has_begun)
        }
        ended => {
            let argv = site.root.command(worker, &agent);
            let log = layout::worker_log(&site.root.path, &worker.name);
            let pane = tmux.begin(worker, ended.as_ref(), &variables(site, worker), &argv, &log)?;
            transition::record(site, &worker.name, &Input::SessionBegun { pane: pane.id.clone(), pid: pane.pid })?;
            (pane, false)
        }
    };
    if !is_known {
        if let Err(failure) = wait_ready(site, &tmux, worker, &pane, &agent) {
            // How it ended is told as of any other.
            if let Some(end) = tmux.pane_of(worker)?.and_then(|pane| pane.end) {
                note_end(site, worker, &agent, &pane.id, end)?;
            }
            return Err(failure);
        }
        // A program that has just begun has nothing to forget; a person's line in it is theirs.
        if tmux.typist(&pane.id)?.is_none() {
            typing::clear(&tmux, &pane.id, &agent)?;
        }
    }
    transition::record(site, &worker.name, &Input::SessionUp { pane: pane.id.clone(), pid: pane.pid })?;
    Ok(pane)
}

fn note_end(site: &Site<'_>, worker: &Worker, agent: &AgentTable, pane: &str, end: Session) -> Result<()> {
    let is_ok = matches!(end, Session::Code(code) if agent.is_ok_exit(code));
    transition::record(site, &worker.name, &Input::Exited { pane: pane.to_owned(), end, is_ok }).map(drop)
}

/// The program anew, with its task as its last argument: nothing is typed, so nothing can get in the way.
pub fn start_with(site: &Site<'_>, worker: &Worker, text: &str) -> Result<()> {
    let not = |why: String| Failure::new(Exit::Failed, typing::NOT, format!("{} got nothing: {why}", worker.name));
    let ready = || -> Result<_> {
        let tmux = site.tmux()?;
        let pane = tmux.pane_of(worker)?.ok_or_else(|| Failure::failed("its session is gone"))?;
        let file = typing::in_file(&site.root.path, &worker.name, text)?;
        Ok((tmux, pane, site.root.agent_of(worker)?, file))
    };
    let (tmux, pane, agent, file) = ready().map_err(|failure| typing::not_delivered(&worker.name, failure))?;
    let mut argv = site.root.command(worker, &agent);
    if text.len() > typing::LONGEST_ARGUMENT {
        argv.push(typing::pointer(&file));
    } else {
        // tmux passes 16 KB on at most, so a shell reads the file; the `x` keeps line ends at the end.
        let script = r#"file=$1; shift; text=$(cat "$file"; printf x); exec "$@" "${text%x}""#;
        let file = file.to_string_lossy().into_owned();
        argv.splice(0..0, ["sh".into(), "-c".into(), script.into(), "sh".into(), file]);
    }
    let path = tmux::plain(&worker.worktree_path);
    let mut args = vec!["respawn-pane", "-k", "-t", &pane.id, "-c", &path];
    let pairs: Vec<String> = variables(site, worker).iter().map(|(key, value)| format!("{key}={value}")).collect();
    for pair in &pairs {
        args.extend(["-e", pair]);
    }
    args.push("--");
    args.extend(tmux::direct(&argv));
    tmux.must(&args).map_err(|failure| not(failure.to_string()))?;
    keep_log(site, &tmux, &worker.name, &pane.id)?;
    let look = || -> Result<Pane> {
        let found = tmux.panes()?.into_iter().find(|now| now.id == pane.id);
        found.ok_or_else(|| not("its session is gone".into()))
    };
    let (begun, mut now) = (Instant::now(), look()?);
    while now.end.is_none() && begun.elapsed() < 4 * GLANCE {
        thread::sleep(GLANCE);
        now = look()?;
    }
    // What a shell says of a program it cannot start. Any other end is that of one that had its task.
    if matches!(now.end, Some(Session::Code(126 | 127))) {
        return Err(not("its program cannot be started; look with `worker-ctl peek`".into()));
    }
    transition::record(site, &worker.name, &Input::SessionUp { pane: now.id, pid: now.pid }).map(drop)
}

/// What a worker's programs find in their environment.
pub fn variables<'w>(site: &'w Site<'_>, worker: &'w Worker) -> [(&'static str, String); 3] {
    [
        ("WORKER_CTL_WORKER", worker.name.clone()),
        ("WORKER_CTL_ROOT", site.root.path.to_string_lossy().into_owned()),
        ("WORKER_CTL_WORKTREE", worker.worktree_path.clone()),
    ]
}

/// What its terminal shows goes to its log.
pub fn keep_log(site: &Site<'_>, tmux: &Tmux, name: &str, pane: &str) -> Result<()> {
    let line = tmux::log_line(&layout::worker_log(&site.root.path, name));
    let piped = tmux.run(&["pipe-pane", "-t", pane, &line])?;
    if !piped.status.success() {
        site.ui.detail(format!("what {name} shows is not logged: its program has ended"));
    }
    Ok(())
}

/// Once, at the start: afterwards nothing is ever read off a screen. Questions it asks first are answered.
fn wait_ready(site: &Site<'_>, tmux: &Tmux, worker: &Worker, pane: &Pane, agent: &AgentTable) -> Result<()> {
    if let Some(millis) = agent.ready.delay_ms {
        thread::sleep(Duration::from_millis(millis));
    }
    let pattern = agent.ready.pattern.as_deref().map(regex).transpose()?;
    let mut dialogs = Vec::new();
    for dialog in &agent.dialogs {
        dialogs.push((regex(&dialog.pattern)?, &dialog.keys));
    }
    let mut keys = (!agent.startup_keys.is_empty()).then_some(&agent.startup_keys);
    if pattern.is_none() && keys.is_none() && dialogs.is_empty() {
        return Ok(());
    }
    let limit = Duration::from_secs(agent.ready.timeout_secs.unwrap_or(READY));
    let (start, mut since, mut last) = (Instant::now(), Instant::now(), String::new());
    while start.elapsed() < limit {
        let screen = tmux.capture(&pane.id, 0)?;
        if screen != last {
            (since, last) = (Instant::now(), screen.clone());
        }
        let is_shown = pattern.as_ref().is_some_and(|pattern| pattern.is_match(&screen));
        let asks = dialogs.iter().position(|(pattern, _)| pattern.is_match(&screen));
        let wants_keys = is_shown || since.elapsed() >= STILL && !screen.trim().is_empty();
        if (asks.is_some() || keys.is_some() && wants_keys) && tmux.typist(&pane.id)?.is_some() {
            // A person is at it, who may answer.
        } else if let Some(at) = asks {
            type_keys(tmux, pane, dialogs.remove(at).1)?;
        } else if let Some(typed) = keys.filter(|_| wants_keys) {
            type_keys(tmux, pane, typed)?;
            keys = None;
            if pattern.is_none() {
                return Ok(());
            }
        } else if is_shown || pattern.is_none() && keys.is_none() && since.elapsed() >= STILL {
            return Ok(());
        }
        if tmux.pane_of(worker)?.is_none_or(|pane| pane.end.is_some()) {
            let shown = tmux.last_words(&pane.id, 5).unwrap_or_default();
            return Err(Failure::failed(format!("the program of {} ended before it was ready", worker.name))
                .details(shown.iter().map(|line| format!("  {}", printable(line))))
                .hint("look at it with `worker-ctl peek`, or try its command by hand"));
        }
        site.check_ending()?;
        thread::sleep(GLANCE);
    }
    site.ui.warn(format!("{} did not show that it is ready within {} s", worker.name, limit.as_secs()));
    Ok(())
}

fn type_keys(tmux: &Tmux, pane: &Pane, keys: &[String]) -> Result<()> {
    for key in keys {
        tmux.must(&["send-keys", "-t", &pane.id, key])?;
        thread::sleep(2 * GLANCE);
    }
    thread::sleep(2 * GLANCE);
    Ok(())
}

/// Ends these sessions and everything they started: asked, then told, then without asking. With `force` at once.
pub fn end(site: &Site<'_>, workers: &[Worker], force: bool) -> Result<()> {
    let tmux = site.tmux()?;
    let panes: Vec<Pane> = tmux.panes()?.into_iter().filter(|pane| is_of(pane, workers)).collect();
    let names: Vec<&str> = workers.iter().map(|worker| worker.name.as_str()).collect();
    // Noted first: a death that we cause is no crash.
    for worker in workers {
        transition::record(site, &worker.name, &Input::SessionGone)?;
    }
    end_panes(site, &tmux, &panes, &names, force)
}

/// The same of all that a server lists, where no state can be read; gives back whose they were.
pub fn end_unknown(site: &Site<'_>, tmux: &Tmux, force: bool) -> Result<BTreeSet<String>> {
    let panes = tmux.panes()?;
    let names: BTreeSet<String> =
        panes.iter().map(|pane| pane.worker.clone()).filter(|name| !name.is_empty()).collect();
    end_panes(site, tmux, &panes, &names.iter().map(String::as_str).collect::<Vec<_>>(), force)?;
    Ok(names)
}

fn end_panes(site: &Site<'_>, tmux: &Tmux, panes: &[Pane], names: &[&str], force: bool) -> Result<()> {
    let server = panes.first().map(|pane| pane.server);
    let pids: Vec<i32> = panes.iter().filter(|pane| pane.end.is_none()).map(|pane| pane.pid).collect();
    let find = || processes::of(site.env, &site.root.path, names, &pids, server);
    let mut ours = find();
    if !force {
        for pane in panes.iter().filter(|pane| pane.end.is_none()) {
            tmux.run(&["send-keys", "-t", &pane.id, "C-c"])?;
        }
        let agents = |processes: &BTreeSet<Process>| processes.iter().any(|process| pids.contains(&process.pid));
        ours = wait_while(site, ours, ASKED, agents);
        ours.extend(find());
        signal(&ours, Signal::TERM);
        ours = wait_while(site, ours, TOLD, |processes| !processes.is_empty());
    }
    ours.extend(find());
    signal(&ours, Signal::KILL);
    // What a person has beside it stays.
    for pane in panes {
        tmux.run(&["kill-pane", "-t", &pane.id])?;
    }
    wait_while(site, ours, TOLD, |processes| !processes.is_empty());
    Ok(())
}

fn is_of(pane: &Pane, workers: &[Worker]) -> bool {
    workers.iter().any(|worker| worker.name == pane.worker)
}

fn signal(processes: &BTreeSet<Process>, signal: Signal) {
    for pid in processes.iter().filter_map(|process| Pid::from_raw(process.pid)) {
        let _ = kill_process(pid, signal);
    }
}

/// Those that still live once the time is over, or nothing of it goes on any more.
fn wait_while(
    site: &Site<'_>,
    mut processes: BTreeSet<Process>,
    limit: Duration,
    goes_on: impl Fn(&BTreeSet<Process>) -> bool,
) -> BTreeSet<Process> {
    let start = Instant::now();
    loop {
        processes = processes::living(site.env, &processes);
        if !goes_on(&processes) || start.elapsed() >= limit {
            return processes;
        }
        thread::sleep(GLANCE);
    }
}
