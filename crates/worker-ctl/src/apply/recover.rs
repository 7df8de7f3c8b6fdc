//! Finishes or undoes what a killed command left open, each under its worker's lock. A worker whose lock is held is
//! skipped, because the holder is still working on it.

use std::collections::{BTreeMap, BTreeSet};

use shopfloor_core::error::Result;

use crate::apply::{land, publish, rebase, transition};
use crate::plan::machine::Input;
use crate::site::Site;
use crate::worker::{Task, Worker};

/// The accepts that were finished: the commit that landed, by worker.
pub type FinishedAccepts = BTreeMap<String, String>;

/// Finishes or undoes whatever is open. Every command that writes begins with this.
pub fn finish_all(site: &Site<'_>) -> Result<FinishedAccepts> {
    let mut open: BTreeSet<String> = publish::list_journals(&site.root.path)?.into_iter().collect();
    let is_open =
        |worker: &&Worker| worker.pending_send.is_some() || has_pins(site, worker) || rebase::is_open(site, worker);
    open.extend(site.state()?.workers.values().filter(is_open).map(|worker| worker.name.clone()));
    let mut finished = FinishedAccepts::new();
    for name in open {
        site.warn_on_failure(&name, || {
            let Some(_lock) = site.try_lock(&name)? else { return Ok(()) };
            // First, because it ends a task.
            finished.extend(finish_accept(site, &name)?.map(|landed| (name.clone(), landed)));
            finish_rest(site, &name)
        });
    }
    Ok(finished)
}

/// Finishes an accept that has a journal. Returns the commit that landed.
fn finish_accept(site: &Site<'_>, name: &str) -> Result<Option<String>> {
    let Some((landed, new)) = publish::find_landed(&site.clone, &site.source(), name)? else { return Ok(None) };
    let is_known = site.state()?.workers.contains_key(name);
    if is_known {
        land::close_task(site, name, &landed, &new)?;
        site.ui.note(format!("finished an `accept` of {name} that had been killed"));
    }
    publish::drop_journal(&site.clone, name)?;
    Ok(is_known.then_some(new))
}

/// A text that was about to be typed, the refs of a task that is over, and a rebase of ours that its worker was never
/// asked to resolve.
fn finish_rest(site: &Site<'_>, name: &str) -> Result<()> {
    let Some(worker) = site.state()?.workers.remove(name) else { return Ok(()) };
    if worker.pending_send.is_some()
        && let Some(worker) = transition::observe(site, &worker, &Input::Doubt)?
    {
        worker.notes.iter().for_each(|note| site.ui.warn(format!("{name}: {note}")));
    }
    if has_pins(site, &worker) {
        transition::unpin(site, name)?;
    }
    if rebase::is_open(site, &worker) { rebase::finish_open(site, &worker) } else { Ok(()) }
}

/// Whether an idle worker still has the refs of a task.
fn has_pins(site: &Site<'_>, worker: &Worker) -> bool {
    let refs = site.root.path.join(".git/refs/shopfloor");
    worker.task == Task::Idle && ["review", "pre"].iter().any(|kind| refs.join(kind).join(&worker.name).exists())
}
