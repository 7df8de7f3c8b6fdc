//! `review` and `reject`: a person looks, and sends back.

use std::io::IsTerminal;
use std::sync::atomic::Ordering;

use serde_json::json;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::LOCAL_VARS;
use shopfloor_core::proc::{self, Cmd};

use super::{Site, patrol, rebase};
use crate::cli::Interface;
use crate::plan::machine::Event;
use crate::store;
use crate::worker::{Task, Worker};

/// How much of a diff goes back to the worker with what should change.
const CONTEXT: usize = 20_000;

pub fn review(site: &Site<'_>, name: Option<&str>, interface: Option<Interface>) -> Result<Exit> {
    site.finish_left()?;
    patrol::tick(site)?;
    let state = store::load(&site.root.path)?;
    let name = match name {
        Some(name) => state.require(name)?.name.clone(),
        None => {
            let waiting = state.workers.values().filter(|worker| worker.task == Task::NeedsReview);
            let longest = waiting.min_by_key(|worker| (worker.task_since_unix, worker.name.clone()));
            longest.map(|worker| worker.name.clone()).ok_or_else(|| {
                Failure::new(Exit::No, "wrong_state", "nobody needs review")
                    .hint("`worker-ctl status` shows what they are at")
            })?
        }
    };
    let (worker, sha) = {
        let _lock = site.lock(&name)?;
        if !site.is_dry {
            // Without the source it is shown as it is.
            site.go_on(&name, || {
                let base = site.clone.fetched(&site.source())?;
                rebase::stale(site, store::load(&site.root.path)?.require(&name)?, &base)
            });
        }
        let worker = store::load(&site.root.path)?.require(&name)?.clone();
        let Some(sha) = worker.commit_sha.clone().filter(|_| worker.task == Task::NeedsReview) else {
            return Err(Failure::new(Exit::No, "wrong_state", format!("{name} is {}", worker.task.word()))
                .hint("`worker-ctl status` shows who needs review"));
        };
        let patch = site.clone.work_of(&sha)?;
        if !site.is_dry {
            site.record(&name, &Event::Reviewed { sha: sha.clone(), patch })?;
            store::update(&site.root.path, |state| {
                state.last_reviewed = Some(name.clone());
                Ok(())
            })?;
        }
        (worker, sha)
    };
    // No lock of its worker is held while a person reads; meanwhile the others are brought along.
    std::thread::scope(|scope| {
        if !site.is_dry {
            scope.spawn(|| site.go_on("the others", || patrol::refresh(site).map(drop)));
        }
        let told = told(site, &worker, &sha, interface);
        // Nobody waits for more than the one that is being told of something.
        site.ending.store(true, Ordering::SeqCst);
        told
    })
}

fn told(site: &Site<'_>, worker: &Worker, sha: &str, interface: Option<Interface>) -> Result<Exit> {
    if site.ui.is_json() {
        let diff = diff(site, sha)?;
        site.ui.json(&json!({ "worker": worker.name, "sha": sha, "diff": diff }));
        return Ok(Exit::Done);
    }
    show(site, sha, interface)
}

/// Through git, which pages on a terminal, and calls whatever else is to show it.
fn show(site: &Site<'_>, sha: &str, interface: Option<Interface>) -> Result<Exit> {
    let has = |program: &str| proc::find(site.env, program).is_some();
    let interface = interface.unwrap_or(if has("difft") { Interface::Difftastic } else { Interface::Git });
    let from = from(site, sha)?;
    let missing = |program: &str| {
        Failure::failed(format!("{program} is not on the PATH")).hint("install it, or use `--interface git`")
    };
    let args: Vec<&str> = match interface {
        Interface::Git => vec!["diff", "--no-ext-diff", "--no-textconv", &from, sha],
        Interface::Difftastic if !has("difft") => return Err(missing("difft")),
        Interface::Difftastic => vec!["-c", "diff.external=difft", "diff", "--ext-diff", &from, sha],
        Interface::Vscode if !has("code") => return Err(missing("code")),
        Interface::Vscode => vec!["difftool", "--no-prompt", "--extcmd=code --wait --diff", &from, sha],
    };
    let program = proc::find(site.env, "git").ok_or_else(|| missing("git"))?;
    // In the clone, not in the worktree, whose attributes and configuration are its agent's.
    let cmd = Cmd::new(&program, site.env).without_vars(LOCAL_VARS).dir(&site.root.path);
    let is_paged = std::io::stdout().is_terminal();
    let cmd = if is_paged { cmd } else { cmd.args(["--no-pager", "-c", "color.ui=false", "-c", "color.diff=false"]) };
    let status = cmd.args(args).foreground()?;
    match status.success() || is_paged || status.code() == 141 {
        true => Ok(Exit::Done),
        false => Err(Failure::failed(format!("showing it failed with {status}")).hint("try `--interface git`")),
    }
}

/// Where the work branched off.
fn from(site: &Site<'_>, sha: &str) -> Result<String> {
    let base = site.clone.require_base()?;
    Ok(site.clone.merge_base(&base, sha)?.unwrap_or(base))
}

/// What the work comes to against where it branched off.
fn diff(site: &Site<'_>, sha: &str) -> Result<String> {
    let diff = site
        .clone
        .ask(&site.root.path, &["diff", "--no-ext-diff", "--no-textconv", "--no-color", &from(site, sha)?, sha])?;
    Ok(if diff.is_empty() { diff } else { format!("{diff}\n") })
}

pub fn reject(site: &Site<'_>, message: &str, force: bool) -> Result<Exit> {
    let text = site.text(Some(message), None)?;
    site.finish_left()?;
    patrol::tick(site)?;
    let state = store::load(&site.root.path)?;
    let name = state.last_reviewed.clone().ok_or_else(|| {
        Failure::new(Exit::No, "wrong_state", "nothing was reviewed").hint("look first: `worker-ctl review NAME`")
    })?;
    let _lock = site.lock(&name)?;
    let worker = store::load(&site.root.path)?.require(&name)?.clone();
    let sha = worker.commit_sha.clone().unwrap_or_default();
    let event = Event::Reject {
        base: sha.clone(),
        patch: if sha.is_empty() { sha.clone() } else { site.clone.work_of(&sha)? },
        force,
    };
    // Refused before anything else.
    if let Err(failure) = crate::plan::machine::apply(&worker, &event, 0) {
        return site.told(&name, Err(failure));
    }
    if site.would(format!("send {name} back to work")) {
        return Ok(Exit::Done);
    }
    let shown: String = diff(site, &sha)?.chars().take(CONTEXT).collect();
    let text = format!(
        "Your work was reviewed and needs changes:\n\n{text}\n\nAmend your commit. This is what was reviewed:\n\n{shown}"
    );
    site.told(&worker.name, site.deliver(&worker, &event, &text))
}
