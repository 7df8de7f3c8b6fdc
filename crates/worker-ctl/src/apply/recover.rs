//! Intents that a killed command left open, each finished or undone under its worker's lock. What another process holds the
//! lock of is its own business.

use std::collections::BTreeMap;

use shopfloor_core::error::Result;

use crate::apply::{land, publish, rebase, transition};
use crate::plan::machine::Input;
use crate::site::Site;
use crate::store;
use crate::worker::{Task, Worker};

/// Something that was begun and not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Intent {
    /// An accept, whose journal is there.
    Accept,
    /// A text that was about to be typed.
    Send,
    /// Refs of a task that is over.
    Pins,
    /// A rebase of ours that its worker was never told of.
    Rebase,
}

/// The accepts that were found half done and finished: the commit that landed, by worker.
pub type FinishedAccepts = BTreeMap<String, String>;

/// Finishes or undoes every open intent; every command that writes begins with it.
pub fn finish_all(site: &Site<'_>) -> Result<FinishedAccepts> {
    let mut finished = FinishedAccepts::new();
    for (name, intent) in open_intents(site)? {
        site.warn_on_failure(&name, || {
            let Some(_lock) = site.try_lock(&name)? else { return Ok(()) };
            if let Some(landed) = finish(site, &name, intent)? {
                finished.insert(name.clone(), landed);
            }
            Ok(())
        });
    }
    Ok(finished)
}

/// What is open, in the order in which it is finished: an accept ends its worker's task, and so comes first.
fn open_intents(site: &Site<'_>) -> Result<Vec<(String, Intent)>> {
    let mut open: Vec<(String, Intent)> =
        publish::journals(&site.root.path)?.into_iter().map(|name| (name, Intent::Accept)).collect();
    for worker in store::load(&site.root.path)?.workers.values() {
        let found = [
            (Intent::Send, worker.pending_send.is_some()),
            (Intent::Pins, has_pins(site, worker)),
            (Intent::Rebase, rebase::is_open(worker)),
        ];
        open.extend(found.into_iter().filter(|(_, is_open)| *is_open).map(|(intent, _)| (worker.name.clone(), intent)));
    }
    Ok(open)
}

/// Finishes one as it is now; gives back what an accept landed as.
fn finish(site: &Site<'_>, name: &str, intent: Intent) -> Result<Option<String>> {
    let state = store::load(&site.root.path)?;
    if intent == Intent::Accept {
        return finish_accept(site, name, state.workers.get(name));
    }
    let Some(worker) = state.workers.get(name) else { return Ok(None) };
    match intent {
        Intent::Accept => {}
        Intent::Send => {
            if worker.pending_send.is_some()
                && let Some(worker) = transition::observe(site, worker, &Input::Doubt)?
            {
                worker.notes.iter().for_each(|note| site.ui.warn(format!("{name}: {note}")));
            }
        }
        Intent::Pins if has_pins(site, worker) => transition::unpin(site, name)?,
        Intent::Pins => {}
        Intent::Rebase => rebase::finish_open(site, worker)?,
    }
    Ok(None)
}

fn finish_accept(site: &Site<'_>, name: &str, worker: Option<&Worker>) -> Result<Option<String>> {
    let Some((landed, new)) = publish::find_landed(&site.clone, &site.source(), name)? else { return Ok(None) };
    if let Some(worker) = worker {
        land::settle(site, worker, &landed, &new)?;
        site.ui.note(format!("finished the acceptance of {name}, which was killed"));
    }
    publish::drop_journal(&site.clone, name)?;
    Ok(worker.map(|_| new))
}

/// Whether an idle worker still has refs of a task.
fn has_pins(site: &Site<'_>, worker: &Worker) -> bool {
    let refs = site.root.path.join(".git/refs/shopfloor");
    worker.task == Task::Idle && ["review", "pre"].iter().any(|kind| refs.join(kind).join(&worker.name).exists())
}
