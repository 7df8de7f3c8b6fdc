//! Finishes or undoes the intents that a killed command left open, each under its worker's lock. A worker whose lock is
//! held is skipped, because the holder is still working on it.

use std::collections::BTreeMap;

use shopfloor_core::error::Result;

use crate::apply::{land, publish, rebase, transition};
use crate::plan::machine::Input;
use crate::site::Site;
use crate::store;
use crate::worker::{Task, Worker};

/// Something that a command began and did not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenIntent {
    /// An accept that has a journal.
    Accept,
    /// A text that was about to be typed.
    Send,
    /// Refs of a task that is over.
    Pins,
    /// A rebase of ours that its worker was never asked to resolve.
    Rebase,
}

/// The accepts that were finished: the commit that landed, by worker.
pub type FinishedAccepts = BTreeMap<String, String>;

/// Finishes or undoes every open intent. Every command that writes begins with this.
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

/// The open intents, in the order in which they are finished. Accepts come first, because an accept ends a task.
fn open_intents(site: &Site<'_>) -> Result<Vec<(String, OpenIntent)>> {
    let mut open: Vec<(String, OpenIntent)> =
        publish::list_journals(&site.root.path)?.into_iter().map(|name| (name, OpenIntent::Accept)).collect();
    for worker in store::load(&site.root.path)?.workers.values() {
        let intents = [
            (OpenIntent::Send, worker.pending_send.is_some()),
            (OpenIntent::Pins, has_pins(site, worker)),
            (OpenIntent::Rebase, rebase::is_open(site, worker)),
        ];
        open.extend(
            intents.into_iter().filter(|(_, is_open)| *is_open).map(|(intent, _)| (worker.name.clone(), intent)),
        );
    }
    Ok(open)
}

/// Finishes or undoes one intent. For an accept, returns the commit that landed.
fn finish(site: &Site<'_>, name: &str, intent: OpenIntent) -> Result<Option<String>> {
    let state = store::load(&site.root.path)?;
    if intent == OpenIntent::Accept {
        return finish_accept(site, name, state.workers.get(name));
    }
    let Some(worker) = state.workers.get(name) else { return Ok(None) };
    match intent {
        OpenIntent::Accept => {}
        OpenIntent::Send => {
            if worker.pending_send.is_some()
                && let Some(worker) = transition::observe(site, worker, &Input::Doubt)?
            {
                worker.notes.iter().for_each(|note| site.ui.warn(format!("{name}: {note}")));
            }
        }
        OpenIntent::Pins if has_pins(site, worker) => transition::unpin(site, name)?,
        OpenIntent::Pins => {}
        OpenIntent::Rebase => rebase::finish_open(site, worker)?,
    }
    Ok(None)
}

fn finish_accept(site: &Site<'_>, name: &str, worker: Option<&Worker>) -> Result<Option<String>> {
    let Some((landed, new)) = publish::find_landed(&site.clone, &site.source(), name)? else { return Ok(None) };
    if let Some(worker) = worker {
        land::close_task(site, worker, &landed, &new)?;
        site.ui.note(format!("finished an `accept` of {name} that had been killed"));
    }
    publish::drop_journal(&site.clone, name)?;
    Ok(worker.map(|_| new))
}

/// Whether an idle worker still has the refs of a task.
fn has_pins(site: &Site<'_>, worker: &Worker) -> bool {
    let refs = site.root.path.join(".git/refs/shopfloor");
    worker.task == Task::Idle && ["review", "pre"].iter().any(|kind| refs.join(kind).join(&worker.name).exists())
}
