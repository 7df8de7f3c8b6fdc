//! Proves a migration: whether the ledger holds every text that is read from a file.

use std::collections::{BTreeSet, HashSet};

use shopfloor_core::hash::Digest;

use crate::entry::Entry;
use crate::event::LedgerEvent;
use crate::event_time;
use crate::front::Meta;
use crate::handoff::{self, Handoff};
use crate::stored_event::EventRecord;

/// A handoff of a file, and the event that it becomes now. None: nobody knows its time.
pub type SourceHandoff = (Handoff, Option<EventRecord>);

/// What some events say.
#[derive(Default)]
struct HeldTexts<'e> {
    texts: HashSet<&'e str>,
    metas: Vec<&'e Meta>,
}

impl<'e> HeldTexts<'e> {
    fn of(events: impl IntoIterator<Item = &'e EventRecord>) -> HeldTexts<'e> {
        let mut held = HeldTexts::default();
        for EventRecord { event: LedgerEvent { meta, entries }, .. } in events {
            held.texts.extend(entries.iter().flat_map(Entry::texts));
            held.metas.push(meta);
        }
        held
    }

    fn holds(&self, text: &str) -> bool {
        // Events have times in UTC.
        let is_time = || event_time::parse(text).is_some_and(|at| self.texts.contains(&*at.to_string()));
        self.texts.contains(text) || is_time() || self.metas.iter().any(|meta| handoff::says(meta, text))
    }
}

/// The texts of each handoff that no event holds. `folded` is what snapshots hold besides.
pub fn missing<'s>(
    sources: &'s [SourceHandoff],
    events: &[&EventRecord],
    folded: &[&EventRecord],
) -> Vec<BTreeSet<&'s str>> {
    let own: HashSet<Digest> = sources.iter().filter_map(|(_, event)| Some(event.as_ref()?.id)).collect();
    let there: HashSet<Digest> = events.iter().map(|record| record.id).collect();
    let mut anywhere = None;
    let missing = |(handoff, event): &'s SourceHandoff| {
        if event.as_ref().is_some_and(|event| there.contains(&event.id)) {
            return BTreeSet::new();
        }
        // The event may have been edited. If no event is like it, its texts may be anywhere.
        let like = event.as_ref().and_then(|event| {
            // An event that is another file's does not count.
            let is_like = |record: &&EventRecord| record.ts() == event.ts() && !own.contains(&record.id);
            let like: Vec<_> = events.iter().copied().filter(is_like).collect();
            let same_agent: Vec<_> = like.iter().copied().filter(|record| record.agent() == event.agent()).collect();
            (!like.is_empty()).then(|| HeldTexts::of(if same_agent.is_empty() { like } else { same_agent }))
        });
        let held = match &like {
            Some(like) => like,
            None => anywhere.get_or_insert_with(|| HeldTexts::of(events.iter().chain(folded).copied())),
        };
        let missing: BTreeSet<&str> = handoff.texts().filter(|text| !held.holds(text)).collect();
        // An event that holds everything is the one, whatever its time: `migrate --ts` gave it.
        let holds_all = |record: &&&EventRecord| {
            let held = HeldTexts::of([**record]);
            !own.contains(&record.id) && handoff.texts().all(|text| held.holds(text))
        };
        if missing.is_empty() || events.iter().find(holds_all).is_some() { BTreeSet::new() } else { missing }
    };
    sources.iter().map(missing).collect()
}
