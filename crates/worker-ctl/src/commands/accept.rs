//! `accept`: a worker's work onto the source's default branch. What lands is what was reviewed.

use clap::Args as ClapArgs;
use serde::Serialize;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hook_command::DryRun;
use shopfloor_core::ui::printable;

use crate::apply::land::{self, Landed};
use crate::apply::patrol;
use crate::commands::{self, look};
use crate::plan::accept::{Described, Options};
use crate::site::Site;
use crate::store;
use crate::worker::{Task, Worker};

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The worker [default: the one reviewed last]
    pub worker: Option<String>,
    /// Also when it changed since it was reviewed, conflict markers are left in its files, or somebody types there
    #[arg(long)]
    pub force: bool,
    /// The commit's message [default: the work's own]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub message: Option<String>,
    #[command(flatten)]
    pub dry: DryRun,
}

/// The answer with `--json`.
#[derive(Serialize)]
struct Answer<'a> {
    worker: &'a str,
    outcome: &'static str,
    sha: &'a str,
    branch: &'a str,
}

pub fn run(site: &Site<'_>, args: &Args) -> Result<Exit> {
    let finished = commands::recover(site)?;
    look(site)?;
    let worker = choose(site, args.worker.as_deref())?;
    let name = worker.name.clone();
    let lock = site.lock(&name)?;
    let worker = store::load(&site.root.path)?.require(&name)?.clone();
    if let Task::Rebasing { pre_sha, .. } = &worker.task {
        // It was told when the default branch moved on.
        return Ok(answer(site, &worker, pre_sha, &Landed::Rebasing(worker.conflicted.clone())));
    }
    if let Some(new) = finished.get(&name).filter(|_| worker.task == Task::Idle) {
        return Ok(answer(site, &worker, new, &Landed::Accepted(new.clone())));
    }
    let options = Options { force: args.force };
    if site.is_dry {
        let (plan, source) = (land::plan(site, &worker, options)?, site.source());
        commands::show(site.ui, Described { plan: &plan, branch: &site.clone.branch, source: &source });
        return Ok(Exit::Done);
    }
    let landed = land::land(site, &worker, options, args.message.as_deref())?;
    drop(lock);
    if matches!(landed, Landed::Accepted(_)) {
        // The other reviews are behind now.
        site.warn_on_failure("the others", || patrol::refresh(site).map(drop));
    }
    Ok(answer(site, &worker, worker.commit_sha.as_deref().unwrap_or_default(), &landed))
}

/// The worker that is named; else the one that was reviewed last, as it was reviewed.
fn choose(site: &Site<'_>, name: Option<&str>) -> Result<Worker> {
    let state = store::load(&site.root.path)?;
    if let Some(name) = name {
        return state.require(name).cloned();
    }
    let refuse = |why: String, hint: String| Err(Failure::new(Exit::No, "wrong_state", why).hint(hint));
    let Some(worker) = state.last_reviewed.as_ref().and_then(|name| state.workers.get(name)) else {
        return refuse("nothing was reviewed".into(), "name the worker, or look first: `worker-ctl review`".into());
    };
    let name = &worker.name;
    if worker.task == Task::NeedsReview && worker.reviewed_sha != worker.commit_sha {
        return refuse(
            format!("{name} was not reviewed as it is now"),
            format!("look at it: `worker-ctl review {name}`; or name it: `worker-ctl accept {name}`"),
        );
    }
    Ok(worker.clone())
}

fn answer(site: &Site<'_>, worker: &Worker, sha: &str, landed: &Landed) -> Exit {
    let (name, branch) = (&worker.name, &site.clone.branch);
    let (outcome, sha, exit) = match landed {
        Landed::Accepted(new) => ("accepted", new.as_str(), Exit::Done),
        Landed::NothingToMerge(base) => ("nothing_to_merge", base.as_str(), Exit::Done),
        Landed::Rebasing(_) => ("rebasing", sha, Exit::No),
    };
    match landed {
        _ if site.ui.is_json() => site.ui.json(&Answer { worker: name, outcome, sha, branch }),
        Landed::Accepted(new) => site.ui.line(new),
        Landed::NothingToMerge(_) => {
            site.ui.note(format!("there is nothing to merge: {branch} has all of {name}'s work"));
        }
        Landed::Rebasing(files) => {
            site.ui.note(format!("{name} conflicts with {branch} and was told to resolve it"));
            files.iter().for_each(|file| site.ui.note(printable(file)));
        }
    }
    exit
}
