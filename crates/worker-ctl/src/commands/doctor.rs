//! `doctor`: what is wrong, and what mends it. Looks only, unless told to repair; no check is stopped by another.

use std::collections::BTreeSet;
use std::path::Path;

use clap::Args as ClapArgs;
use serde::Serialize;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hook_command::DryRun;
use shopfloor_core::proc;
use shopfloor_core::ui::printable;

use crate::apply::rebuild;
use crate::apply::repair::{self, Mend};
use crate::clone::{PUSH_URL, is_rebasing};
use crate::commands;
use crate::layout;
use crate::note::Fault;
use crate::site::Site;
use crate::store::{self, State};
use crate::tmux::{self, Tmux, socket_of};
use crate::worker::{Session, Task};

/// What a check came to.
struct Finding {
    check: &'static str,
    ok: bool,
    detail: String,
    fix: Option<String>,
    mend: Option<Mend>,
}

fn good(check: &'static str, detail: impl Into<String>) -> Finding {
    Finding { check, ok: true, detail: detail.into(), fix: None, mend: None }
}

fn bad(check: &'static str, detail: impl Into<String>, fix: impl Into<String>, mend: Option<Mend>) -> Finding {
    Finding { check, ok: false, detail: detail.into(), fix: Some(fix.into()), mend }
}

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Mend what can be mended without losing anything
    #[arg(long)]
    pub repair: bool,
    /// Write the state anew from the worktrees
    #[arg(long, conflicts_with = "repair")]
    pub rebuild: bool,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub dry: DryRun,
}

/// A finding as scripts read it.
#[derive(Serialize)]
struct Answer {
    check: &'static str,
    ok: bool,
    detail: String,
    fix: Option<String>,
    fixed: bool,
}

pub fn run(site: &Site<'_>, args: &Args) -> Result<Exit> {
    if args.rebuild {
        return rebuild(site, args.yes);
    }
    if args.repair {
        commands::recover(site).map(drop).unwrap_or_else(|failure| site.ui.warn(failure));
    }
    let findings = look(site);
    let plan: Vec<&str> =
        findings.iter().filter(|finding| finding.mend.is_some()).filter_map(|finding| finding.fix.as_deref()).collect();
    let may = args.repair && !plan.is_empty();
    if may && site.is_dry {
        plan.iter().for_each(|fix| commands::show(site.ui, fix));
        return Ok(Exit::Done);
    }
    if may && !args.yes {
        plan.iter().for_each(|fix| site.ui.note(format!("would {fix}")));
        if !(site.ui.can_ask() && site.ui.confirm("Do that?")) {
            return Err(Failure::new(Exit::Decide, "undecided", "nothing was repaired")
                .hint("a person must decide: run it on a terminal, or with `--yes`"));
        }
    }
    let mut are_good = true;
    for finding in findings {
        let fixed = may
            && finding.mend.as_ref().is_some_and(|mend| match repair::mend(site, mend) {
                Ok(()) => true,
                Err(failure) => {
                    site.ui.problem(&failure);
                    false
                }
            });
        are_good &= finding.ok || fixed;
        if site.ui.is_json() {
            let Finding { check, ok, detail, fix, .. } = finding;
            site.ui.json(&Answer { check, ok, detail, fix, fixed });
            continue;
        }
        let word = if finding.ok {
            "ok"
        } else if fixed {
            "mended"
        } else {
            "wrong"
        };
        let fix = finding.fix.filter(|_| !fixed).map(|fix| format!("; {fix}")).unwrap_or_default();
        site.ui.line(format!("{word:6}  {:9}  {}{}", finding.check, printable(&finding.detail), printable(&fix)));
    }
    Ok(if are_good { Exit::Done } else { Exit::No })
}

fn look(site: &Site<'_>) -> Vec<Finding> {
    let loaded = store::load_any(&site.root.path);
    let about = match &loaded {
        Ok(state) => good("state", format!("{} workers, revision {}", state.workers.len(), state.revision)),
        Err(failure) => bad("state", failure.to_string(), failure.hints.join("; "), None),
    };
    let found = loaded.is_ok().then_some(());
    // Without a state the rest is looked at all the same; only that everything is nobody's is no finding then.
    let state = loaded.unwrap_or_else(|_| State::new(&socket_of(&site.root.path)));
    let or = |check: &'static str, found: Result<Vec<Finding>>, fix: &str| {
        found.unwrap_or_else(|failure| vec![bad(check, failure.to_string(), fix, None)])
    };
    let mut all = programs(site, &state);
    all.push(about);
    all.extend(records(site, &state));
    all.extend(or("sessions", sessions(site, &state, found.is_some()), "look at tmux"));
    all.extend(or("worktrees", worktrees(site, &state), "look at git"));
    all.extend(or("branches", branches(site, &state, found.is_some()), "look at git"));
    all.extend(or("git", settings(site), "look at the clone"));
    all
}

fn programs(site: &Site<'_>, state: &State) -> Vec<Finding> {
    let mut names: BTreeSet<String> = ["git", "tmux"].map(str::to_owned).into();
    for worker in state.workers.values() {
        names.extend(site.root.agent_of(worker).ok().and_then(|agent| agent.command.first().cloned()));
    }
    let is_there =
        |name: &str| if name.contains('/') { Path::new(name).is_file() } else { proc::find(site.env, name).is_some() };
    names
        .into_iter()
        .map(|name| match is_there(&name) {
            true => good("programs", name),
            false => bad("programs", format!("{name} is not there"), format!("install {name}"), None),
        })
        .collect()
}

/// What cannot be, what is to come, and what a person has not seen to yet.
fn records(site: &Site<'_>, state: &State) -> Vec<Finding> {
    let mut found = Vec::new();
    for worker in state.workers.values() {
        let name = worker.name.clone();
        let mut clamped = worker.clone();
        clamped.clamp(site.now());
        if let Err(why) = worker.check() {
            let fix = format!("write {name} anew from its worktree");
            found.push(bad("state", why, fix, Some(Mend::Record(name))));
        } else if clamped != *worker {
            let fix = "take them for now".to_owned();
            found.push(bad("state", format!("{name} has times to come"), fix, Some(Mend::Times(name))));
        } else if let Some(note) = worker.notes.iter().find(|note| note.is_of_branch()) {
            let fix = format!("put {} on {} again, or `worker-ctl reset {name}`", worker.worktree_path, worker.branch);
            found.push(bad("branches", format!("{name}: {note}"), fix, None));
        } else if let Some(fault) = worker.fault.clone().filter(|fault| *fault != Fault::WorktreeMissing) {
            let about = format!("{name} is in error: {fault}");
            let fix = format!("take the error from {name}, which keeps its task");
            found.push(bad("workers", about, fix, Some(Mend::Fault(name, fault))));
        }
    }
    found
}

fn sessions(site: &Site<'_>, state: &State, is_known: bool) -> Result<Vec<Finding>> {
    let panes = Tmux::find(site.env, &state.tmux_socket)?.panes()?;
    let mut found = Vec::new();
    for pane in panes.iter().filter(|_| is_known) {
        if !state.workers.values().any(|worker| worker.session_id == pane.session) {
            let fix = format!("end the session {}", pane.session);
            found.push(bad(
                "sessions",
                format!("{} is no worker's", pane.session),
                fix,
                Some(Mend::KillSession(pane.session.clone())),
            ));
        }
    }
    for worker in state.workers.values().filter(|worker| worker.status() != "offline" && worker.status() != "error") {
        if tmux::find(&panes, worker).is_none() {
            let fix = format!("note that {} is offline", worker.name);
            found.push(bad(
                "sessions",
                format!("{} has no session", worker.name),
                fix,
                Some(Mend::Gone(worker.name.clone())),
            ));
        }
    }
    if found.is_empty() {
        found.push(good("sessions", format!("{} there", panes.len())));
    }
    Ok(found)
}

fn worktrees(site: &Site<'_>, state: &State) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for worker in state.workers.values() {
        let path = Path::new(&worker.worktree_path);
        if !path.is_dir() && path.parent() != Some(&layout::worktrees(&site.root.path)) {
            let root = site.root.path.display();
            let about = format!("{}'s was made at {}, and the root is here now", worker.name, path.display());
            let fix =
                format!("move the root back; or `git -C {root} worktree repair {root}/.worktrees/*`, then --rebuild");
            found.push(bad("worktrees", about, fix, None));
            continue;
        }
        if !path.is_dir() {
            let fix = format!("make {} again from {}", worker.worktree_path, worker.branch);
            found.push(bad(
                "worktrees",
                format!("{}'s is missing", worker.name),
                fix,
                Some(Mend::Worktree(worker.name.clone())),
            ));
            continue;
        }
        let dirty = match site.clone.dirty(path) {
            Ok(dirty) => dirty.len(),
            Err(failure) => {
                let about = format!("{}: {failure}", worker.name);
                let fix = failure.hints.first().cloned().unwrap_or_else(|| "look at it with git".into());
                found.push(bad("worktrees", about, fix, None));
                continue;
            }
        };
        let is_odd = is_rebasing(path) && !matches!(worker.task, Task::Rebasing { .. });
        found.push(match (dirty, is_odd) {
            (_, true) if worker.session != Session::Up => bad(
                "worktrees",
                format!("{} has a rebase under way that nobody is at", worker.name),
                format!("keep and end the rebase of {}", worker.name),
                Some(Mend::Rebase(worker.name.clone())),
            ),
            (_, true) => bad(
                "worktrees",
                format!("{} is in a rebase of its own", worker.name),
                "let the agent finish it, or look with `worker-ctl attach`",
                None,
            ),
            (0, false) => good("worktrees", worker.name.clone()),
            (n, false) => good("worktrees", format!("{}, {n} uncommitted", worker.name)),
        });
    }
    if found.is_empty() {
        found.push(good("worktrees", format!("{} registered", site.clone.trees()?.len().saturating_sub(1))));
    }
    Ok(found)
}

fn branches(site: &Site<'_>, state: &State, is_known: bool) -> Result<Vec<Finding>> {
    let prefix = &site.root.config.defaults.branch_prefix;
    let listed = site
        .clone
        .ask(&site.root.path, &["for-each-ref", "--format=%(refname:short)", &format!("refs/heads/{prefix}")])?;
    let orphans =
        listed.lines().filter(|name| is_known && !state.workers.values().any(|worker| worker.branch == *name));
    let found: Vec<Finding> = orphans
        .map(|name| bad("branches", format!("{name} is no worker's"), "look at it, then delete it with git", None))
        .collect();
    Ok(if found.is_empty() { vec![good("branches", format!("{} there", listed.lines().count()))] } else { found })
}

fn settings(site: &Site<'_>) -> Result<Vec<Finding>> {
    let wanted = [("rerere.enabled", "true".to_owned()), ("remote.origin.pushurl", PUSH_URL.to_owned())];
    let mut found = Vec::new();
    for (key, value) in wanted {
        let asked = site.clone.run(&site.root.path, &["config", "--get", key])?;
        if String::from_utf8_lossy(&asked.stdout).trim() != value {
            found.push(bad(
                "git",
                format!("{key} is not {value}"),
                format!("set {key}"),
                Some(Mend::Setting(key, value)),
            ));
        }
    }
    let source = site.source();
    if !source.exists() {
        found.push(bad(
            "git",
            format!("the source {} is not there", source.display()),
            "set `source` in `[repo]` of config.toml",
            None,
        ));
    }
    Ok(if found.is_empty() { vec![good("git", "the clone is set up")] } else { found })
}

/// Writes the state anew from the worktrees, once a person agrees.
fn rebuild(site: &Site<'_>, is_agreed: bool) -> Result<Exit> {
    let rebuilt = rebuild::read(site)?;
    let lines: Vec<String> =
        rebuilt.state.workers.values().map(|worker| format!("{}: {}", worker.name, worker.task.word())).collect();
    if site.is_dry {
        lines.iter().for_each(|line| commands::show(site.ui, format!("write {line}")));
        return Ok(Exit::Done);
    }
    lines.iter().for_each(|line| site.ui.note(line));
    if !(is_agreed || site.ui.can_ask() && site.ui.confirm("Write that as the state?")) {
        return Err(Failure::new(Exit::Decide, "undecided", "nothing was written")
            .hint("a person must decide: run it on a terminal, or with `--yes`"));
    }
    rebuild::write(site, &rebuilt)?;
    Ok(Exit::Done)
}
