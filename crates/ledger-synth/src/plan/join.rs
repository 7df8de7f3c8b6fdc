//! Joins events and snapshots into one ledger. The join is pure, and it is a join of semilattices: the order,
//! repetition and grouping of its input do not change its result.
//!
//! A section has a register (the newest text counts), a set of texts, and a map (the newest value of each key counts; a
//! removal is a value too). Checkpoints are a set. The newest entry is the one with the greatest (instant, agent,
//! value), which is a total order.

use shopfloor_core::error::Result;

use crate::entry::Entry;
use crate::facts::Events;
use crate::joined_ledger::Join;
use crate::snapshot::Snapshot;
use crate::stored_event::EventRecord;

/// Which events count. By default all events count.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub branch: Option<String>,
    pub agent: Option<String>,
}

impl Filter {
    pub fn is_all(&self) -> bool {
        self.branch.is_none() && self.agent.is_none()
    }

    fn takes(&self, event: &EventRecord) -> bool {
        self.branch.as_deref().is_none_or(|wanted| event.branch() == Some(wanted))
            && self.agent.as_deref().is_none_or(|wanted| event.agent() == wanted)
    }
}

/// Joins everything that was read. Exit 2 if a snapshot is damaged.
pub fn join(events: &Events) -> Result<Join<'_>> {
    join_filtered(events, &Filter::default())
}

/// Joins the events that a filter takes.
pub fn join_filtered<'a>(events: &'a Events, filter: &Filter) -> Result<Join<'a>> {
    Ok(join_all(events.records(), &events.snapshots()?, filter))
}

/// Joins events and snapshots.
pub fn join_all<'a>(
    events: impl Iterator<Item = &'a EventRecord> + Clone,
    snapshots: &[&'a Snapshot],
    filter: &Filter,
) -> Join<'a> {
    let folded = snapshots.iter().flat_map(|snapshot| &snapshot.events);
    let all = folded.clone().chain(events);
    let entries = all.clone().flat_map(|event| &event.event.entries);
    let mut join = Join {
        // Also those by events that do not count themselves.
        retracted: entries.filter_map(Entry::retracted).collect(),
        folded: folded.map(|event| event.id).collect(),
        snapshots: snapshots
            .iter()
            .flat_map(|snapshot| snapshot.folds.iter().copied().chain([snapshot.content]))
            .collect(),
        ..Join::default()
    };
    for event in all {
        // A snapshot cannot be undone.
        let is_out = join.retracted.contains(&event.id) && !join.folded.contains(&event.id);
        if !is_out && filter.takes(event) {
            join.add(event);
        }
    }
    join
}

#[cfg(test)]
#[path = "join_tests.rs"]
mod tests;
