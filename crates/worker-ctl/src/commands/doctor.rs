//! `doctor`: checks for problems, and repairs them with `--repair`. A check that fails does not stop the others.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use clap::Args as ClapArgs;
use shopfloor_core::agents::AgentProgram;
use shopfloor_core::doctor::{self, DoctorArgs, Finding};
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc;

use crate::apply::rebuild;
use crate::apply::repair::{self, Repair};
use crate::clone::{PUSH_URL, is_rebasing};
use crate::commands;
use crate::facts::version;
use crate::layout;
use crate::note::Fault;
use crate::site::Site;
use crate::store::{self, State};
use crate::tmux::{self, Tmux};
use crate::worker::{Session, Task, Worker};

#[derive(Debug, ClapArgs)]
pub struct Args {
    #[command(flatten)]
    pub doctor: DoctorArgs,
    /// Rebuild the state from the worktrees, the backups and the event log
    #[arg(long, conflicts_with = "repair")]
    pub rebuild: bool,
}

pub fn run(site: &Site<'_>, args: &Args) -> Result<Exit> {
    if args.rebuild {
        return rebuild(site, args.doctor.yes);
    }
    if args.doctor.repair {
        commands::recover(site).map(drop).unwrap_or_else(|failure| site.ui.warn(failure));
    }
    doctor::run(site.ui, &check_all(site), args.doctor, |repair| repair::carry_out(site, repair))
}

fn check_all(site: &Site<'_>) -> Vec<Finding<Repair>> {
    let loaded = store::load_any(&site.root.path);
    let loading = match &loaded {
        Ok(state) => Finding::good("state", format!("{} workers, revision {}", state.workers.len(), state.revision)),
        Err(failure) => Finding::bad("state", failure.to_string(), failure.hints.join("; "), None),
    };
    let is_loaded = loaded.is_ok();
    // Without a readable state the other checks still run, but they must not report each session and branch as one that
    // belongs to no worker.
    let state = loaded.unwrap_or_else(|_| State::new(&store::last_tmux_socket(&site.root.path)));
    let or_failure = |check: &'static str, findings: Result<Vec<Finding<Repair>>>, fix: &str| {
        findings.unwrap_or_else(|failure| vec![Finding::bad(check, failure.to_string(), fix, None)])
    };
    let mut all = check_programs(site, &state);
    all.push(loading);
    all.extend(check_records(site, &state));
    all.extend(or_failure("sessions", check_sessions(site, &state, is_loaded), "look at tmux"));
    all.extend(or_failure("worktrees", check_worktrees(site, &state), "look at git"));
    all.extend(or_failure("branches", check_branches(site, &state, is_loaded), "look at git"));
    all.extend(or_failure("git", check_settings(site), "look at the clone"));
    all
}

fn check_programs(site: &Site<'_>, state: &State) -> Vec<Finding<Repair>> {
    let mut names: BTreeSet<String> = ["git", "tmux"].map(str::to_owned).into();
    for worker in state.workers.values() {
        names.extend(site.root.agent_of(worker).ok().and_then(|agent| agent.command.first().cloned()));
    }
    let is_there =
        |name: &str| if name.contains('/') { Path::new(name).is_file() } else { proc::find(site.env, name).is_some() };
    let presets: Vec<_> = state.workers.values().filter_map(|worker| site.root.preset_of(worker)).collect();
    names
        .into_iter()
        .map(|name| match (is_there(&name), presets.iter().find(|program| program.worker_command[0] == name)) {
            (true, Some(program)) => Finding::good("programs", describe_version(site, program)),
            (true, None) => Finding::good("programs", name),
            (false, _) => Finding::bad("programs", format!("{name} is not installed"), format!("install {name}"), None),
        })
        .collect()
}

/// How long a program may take to print its version.
const VERSION_LIMIT: Duration = Duration::from_secs(20);

/// A program with its version. Another version than those that were tried is no problem in itself.
fn describe_version(site: &Site<'_>, program: &AgentProgram) -> String {
    let AgentProgram { name, versions, .. } = program;
    match version::installed(site, program, VERSION_LIMIT) {
        Some(version) if versions.contains(&version.as_str()) => format!("{name} {version}"),
        Some(version) => format!("{name} {version}; its preset was tried with {}", versions.join(" and ")),
        None => format!("{name} of an unknown version; its preset was tried with {}", versions.join(" and ")),
    }
}

/// Invalid records, timestamps in the future, workers off their branch, and faults.
fn check_records(site: &Site<'_>, state: &State) -> Vec<Finding<Repair>> {
    let mut findings = Vec::new();
    for worker in state.workers.values() {
        let name = worker.name.clone();
        let mut clamped = worker.clone();
        clamped.clamp(site.now());
        if let Err(why) = worker.check() {
            let fix = format!("rebuild the record of {name} from its worktree");
            findings.push(Finding::bad("state", why, fix, Some(Repair::RebuildRecord(name))));
        } else if clamped != *worker {
            let detail = format!("{name}: timestamps are in the future");
            findings.push(Finding::bad("state", detail, "set them to now", Some(Repair::ClampTimes(name))));
        } else if let Some(note) = worker.notes.iter().find(|note| note.is_of_branch()) {
            let (path, branch) = (&worker.worktree_path, &worker.branch);
            let fix = format!("check out {branch} in {path}, or run `worker-ctl reset {name}`");
            findings.push(Finding::bad("branches", format!("{name}: {note}"), fix, None));
        } else if let Some(fault) = worker.fault.clone().filter(|fault| *fault != Fault::WorktreeMissing) {
            let detail = format!("{name} is in error: {fault}");
            let fix = format!("clear the error of {name}, which keeps its task");
            findings.push(Finding::bad("workers", detail, fix, Some(Repair::ClearFault(name, fault))));
        }
    }
    findings
}

fn check_sessions(site: &Site<'_>, state: &State, is_loaded: bool) -> Result<Vec<Finding<Repair>>> {
    let panes = Tmux::find(site.env, &state.tmux_socket)?.panes()?;
    let mut findings = Vec::new();
    for pane in panes.iter().filter(|_| is_loaded) {
        if !state.workers.values().any(|worker| worker.session_id == pane.session) {
            let detail = format!("the session {} belongs to no worker", pane.session);
            let fix = format!("end the session {}", pane.session);
            findings.push(Finding::bad("sessions", detail, fix, Some(Repair::KillSession(pane.session.clone()))));
        }
    }
    for worker in state.workers.values().filter(|worker| worker.status() != "offline" && worker.status() != "error") {
        if tmux::find(&panes, worker).is_none() {
            let detail = format!("{} has no session", worker.name);
            let fix = format!("record that {} is offline", worker.name);
            findings.push(Finding::bad("sessions", detail, fix, Some(Repair::RecordGone(worker.name.clone()))));
        }
    }
    if findings.is_empty() {
        findings.push(Finding::good("sessions", format!("{} panes", panes.len())));
    }
    Ok(findings)
}

fn check_worktrees(site: &Site<'_>, state: &State) -> Result<Vec<Finding<Repair>>> {
    let mut findings = Vec::new();
    for worker in state.workers.values() {
        let path = Path::new(&worker.worktree_path);
        if !path.is_dir() && path.parent() != Some(&layout::worktrees(&site.root.path)) {
            let root = site.root.path.display();
            let detail = format!("the worktree of {} is {}, but the root is {root} now", worker.name, path.display());
            findings.push(Finding::bad("worktrees", detail, layout::back(&site.root.path, path), None));
            continue;
        }
        if !path.is_dir() {
            let detail = format!("the worktree of {} is missing", worker.name);
            let fix = format!("restore {} from {}", worker.worktree_path, worker.branch);
            findings.push(Finding::bad("worktrees", detail, fix, Some(Repair::RestoreWorktree(worker.name.clone()))));
            continue;
        }
        findings.push(check_worktree(site, worker, path));
    }
    if findings.is_empty() {
        findings
            .push(Finding::good("worktrees", format!("{} registered", site.clone.trees()?.len().saturating_sub(1))));
    }
    Ok(findings)
}

/// Checks a worktree that exists.
fn check_worktree(site: &Site<'_>, worker: &Worker, path: &Path) -> Finding<Repair> {
    let name = &worker.name;
    let dirty = match site.clone.dirty(path) {
        Ok(dirty) => dirty.len(),
        Err(failure) => {
            let fix = failure.hints.first().cloned().unwrap_or_else(|| "look at the worktree with git".into());
            return Finding::bad("worktrees", format!("{name}: {failure}"), fix, None);
        }
    };
    let is_own_rebase = is_rebasing(path) && !matches!(worker.task, Task::Rebasing { .. });
    match (dirty, is_own_rebase) {
        (_, true) if worker.session != Session::Up => Finding::bad(
            "worktrees",
            format!("{name} has a rebase under way, but no session"),
            format!("abort the rebase of {name}, and keep its commits"),
            Some(Repair::AbortRebase(name.clone())),
        ),
        (_, true) => Finding::bad(
            "worktrees",
            format!("{name} is in a rebase of its own"),
            format!("let the agent finish the rebase, or look with `worker-ctl attach {name}`"),
            None,
        ),
        (0, false) => Finding::good("worktrees", name.clone()),
        (n, false) => Finding::good("worktrees", format!("{name}, {n} uncommitted")),
    }
}

fn check_branches(site: &Site<'_>, state: &State, is_loaded: bool) -> Result<Vec<Finding<Repair>>> {
    let prefix = &site.root.config.defaults.branch_prefix;
    let listed = site
        .clone
        .ask(&site.root.path, &["for-each-ref", "--format=%(refname:short)", &format!("refs/heads/{prefix}")])?;
    let orphans =
        listed.lines().filter(|name| is_loaded && !state.workers.values().any(|worker| worker.branch == *name));
    let fix = "look at the branch, then delete it with git";
    let findings: Vec<Finding<Repair>> =
        orphans.map(|name| Finding::bad("branches", format!("{name} belongs to no worker"), fix, None)).collect();
    let total = || format!("{} branches", listed.lines().count());
    Ok(if findings.is_empty() { vec![Finding::good("branches", total())] } else { findings })
}

fn check_settings(site: &Site<'_>) -> Result<Vec<Finding<Repair>>> {
    let expected = [("rerere.enabled", "true".to_owned()), ("remote.origin.pushurl", PUSH_URL.to_owned())];
    let mut findings = Vec::new();
    for (key, value) in expected {
        let current = site.clone.run(&site.root.path, &["config", "--file", ".git/config", "--get", key])?;
        if String::from_utf8_lossy(&current.stdout).trim() != value {
            let detail = format!("{key} is not {value}");
            findings.push(Finding::bad("git", detail, format!("set {key}"), Some(Repair::Setting(key, value))));
        }
    }
    let source = site.source();
    if !source.exists() {
        let detail = format!("the source {} is missing", source.display());
        findings.push(Finding::bad("git", detail, "set `source` in `[repo]` of config.toml", None));
    }
    Ok(if findings.is_empty() { vec![Finding::good("git", "the clone is configured")] } else { findings })
}

/// Rebuilds the state from the worktrees, the backups and the event log, if a person agrees.
fn rebuild(site: &Site<'_>, is_agreed: bool) -> Result<Exit> {
    let rebuilt = rebuild::read(site)?;
    let lines: Vec<String> =
        rebuilt.state.workers.values().map(|worker| format!("{}: {}", worker.name, worker.task.word())).collect();
    if site.is_dry {
        let would: Vec<String> = lines.iter().map(|line| format!("write {line}")).collect();
        let all: Vec<String> = rebuilt.state.workers.keys().cloned().collect();
        commands::show(site.ui, commands::statuses(&rebuilt.state, &all), &would);
        return Ok(Exit::Done);
    }
    lines.iter().for_each(|line| site.ui.note(line));
    if !(is_agreed || site.ui.can_ask() && site.ui.confirm("Write this state?")) {
        return Err(Failure::new(Exit::Decide, "undecided", "nothing was written")
            .hint("a person must decide: run the command on a terminal, or with `--yes`"));
    }
    rebuild::write(site, &rebuilt)?;
    Ok(Exit::Done)
}
