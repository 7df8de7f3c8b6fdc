//! Everything that agents ever said, and whether it still counts.

use std::collections::{BTreeSet, HashSet};

use shopfloor_core::error;

use crate::entry::{CLOSED, Entry, RETRACT};
use crate::event_time::EventTime;
use crate::facts::Events;
use crate::joined_ledger::Join;
use crate::section::{Section, SectionName};
use crate::short_id::ShortId;
use crate::stored_event::EventRecord;
use crate::view;

/// One thing that an event said.
#[derive(Clone, Copy, Debug)]
pub struct Statement<'h> {
    pub entry: &'h Entry,
    pub by: &'h EventRecord,
    /// Whether something newer counts instead.
    pub beaten: bool,
}

impl<'h> Statement<'h> {
    pub fn section(&self) -> &'h SectionName {
        self.entry.section()
    }

    /// The key in a map, the text in a set, the phase of a checkpoint; none for a register.
    pub fn key(&self) -> Option<&'h str> {
        match self.entry {
            Entry::Text { .. } => None,
            Entry::Item { text, .. } => Some(text),
            Entry::Pair { key, .. } => Some(key),
            Entry::Checkpoint(checkpoint) => Some(&checkpoint.phase),
        }
    }

    /// None for the removal of a key, and for the items of sets.
    pub fn value(&self) -> Option<&'h str> {
        match self.entry {
            Entry::Text { text, .. } => Some(text),
            Entry::Item { .. } => None,
            Entry::Pair { value, .. } => value.as_deref(),
            Entry::Checkpoint(checkpoint) => Some(&checkpoint.status),
        }
    }

    /// Whether it is a member of a set, which nothing replaces.
    pub fn is_item(&self) -> bool {
        matches!(self.entry, Entry::Item { .. })
    }

    /// The id of what it is about: a question (also of its answer) or a key, otherwise the event that said it.
    pub fn id(&self) -> ShortId {
        match self.entry {
            Entry::Item { section, text }
                if matches!(section.section(), Some(Section::OpenQuestions | Section::Resolved)) =>
            {
                ShortId::of_question(text)
            }
            Entry::Pair { section, key, .. } => ShortId::of_key(section.as_str(), key),
            _ => ShortId::of_event(self.by.id),
        }
    }

    /// The section and the key: `decisions.lexer`.
    pub fn name(&self) -> String {
        let section = self.section();
        match self.key() {
            Some(key) if !self.is_item() => format!("{}.{key}", section.as_str()),
            _ => section.as_str().to_owned(),
        }
    }

    /// When it was said, by whom, and what: the greater one counts.
    fn rank(&self) -> (EventTime, &'h str, Option<&'h str>) {
        (self.by.ts(), self.by.agent(), self.value())
    }

    /// What it is about.
    fn topic(&self) -> (&'h SectionName, Option<&'h str>) {
        (self.section(), self.key())
    }
}

/// Everything that was said by the events that count.
pub struct History<'h> {
    join: &'h Join<'h>,
    /// Each thing once, sorted by section and key.
    statements: Vec<Statement<'h>>,
}

impl<'h> History<'h> {
    /// The history of the ledger's events and their join. Archived events say what no longer counts, but decide nothing.
    pub fn new(events: &'h Events, archived: &'h Events, join: &'h Join<'h>) -> error::Result<History<'h>> {
        let records = events.records().chain(archived.records()).chain(events.folded()?).chain(archived.folded()?);
        let open: HashSet<&str> = view::open_questions(join).iter().map(|question| question.text).collect();
        let counted = records.filter(|record| join.events.contains_key(&record.id));
        let said = counted.flat_map(|by| by.event.entries.iter().map(move |entry| (entry, by)));
        let mut statements: Vec<_> = said
            .filter(|(entry, _)| {
                !matches!(entry, Entry::Item { section, .. } if matches!(section.as_str(), RETRACT | CLOSED))
            })
            .map(|(entry, by)| Statement { entry, by, beaten: is_beaten(entry, by, join, &open) })
            .collect();
        let key = |one: &Statement<'h>| (one.topic(), one.value(), one.by.id, one.is_item());
        statements.sort_by(|a, b| key(a).cmp(&key(b)));
        statements.dedup_by(|a, b| key(a) == key(b));
        Ok(History { join, statements })
    }

    /// Everything that was said about a section, a key, both with a dot between them, or a text; otherwise about a
    /// question, a key or an event whose id begins so. The newest first. Err: this many ids begin so.
    pub fn explain(&self, name: &str) -> Result<Vec<Statement<'h>>, usize> {
        let spelt = |name: &str| SectionName::from_spelling(name.to_owned());
        let (section, path) = (spelt(name), name.split_once('.').map(|(section, key)| (spelt(section), key)));
        let is_about = |statement: &&Statement<'_>| {
            let (own, key) = statement.topic();
            let is_path = |(section, named): &(SectionName, &str)| own == section && key == Some(*named);
            key == Some(name) || *own == section || path.as_ref().is_some_and(is_path)
        };
        let id = |statement: &Statement<'_>| {
            [statement.id(), ShortId::of_event(statement.by.id)].into_iter().find(|id| id.begins_with(name))
        };
        let mut found: Vec<_> = self.statements.iter().filter(is_about).copied().collect();
        if found.is_empty() {
            found = self.statements.iter().filter(|statement| id(statement).is_some()).copied().collect();
            let ids: BTreeSet<ShortId> = found.iter().filter_map(id).collect();
            if ids.len() > 1 {
                return Err(ids.len());
            }
        }
        newest_first(&mut found);
        Ok(found)
    }

    /// Everything that agents disagree on, grouped by what it is about, newest first: keys to which two of them gave
    /// different values, unless the conflict was closed afterwards.
    pub fn conflicts(&self) -> Vec<Statement<'h>> {
        let closed = self.join.sections.get(&SectionName::from(CLOSED));
        let mut conflicts = Vec::new();
        for group in self.statements.chunk_by(|a, b| a.topic() == b.topic()) {
            // What each agent says for itself is no conflict.
            let is_own =
                matches!(group[0].section().section(), Some(Section::Now | Section::Goal | Section::Checkpoints));
            let mut group: Vec<_> = group.iter().filter(|statement| !is_own && !statement.is_item()).copied().collect();
            newest_first(&mut group);
            let Some(first) = group.first().filter(|_| is_disagreement(&group)) else { continue };
            let closed = closed.and_then(|section| section.items.get(&*first.name()));
            if closed.is_none_or(|closed| is_reopened(&group, closed)) {
                conflicts.extend(group);
            }
        }
        conflicts
    }
}

fn is_beaten(entry: &Entry, by: &EventRecord, join: &Join<'_>, open: &HashSet<&str>) -> bool {
    let held = join.sections.get(entry.section());
    match entry {
        Entry::Text { text, .. } => {
            !held.and_then(|held| held.text).is_some_and(|held| held.text == text && held.by.id == by.id)
        }
        // A later `resolved` beats a question. Nothing beats another item.
        Entry::Item { section, text } => *section == Section::OpenQuestions && !open.contains(&**text),
        Entry::Pair { key, value, .. } => !held
            .and_then(|held| held.pairs.get(&**key))
            .is_some_and(|held| held.text == value.as_deref() && held.by.id == by.id),
        Entry::Checkpoint(_) => false,
    }
}

/// Whether two agents gave different values: then two values and two agents are enough, because one of the agents gave
/// another value than some other agent.
fn is_disagreement(group: &[Statement<'_>]) -> bool {
    let values: BTreeSet<_> = group.iter().map(Statement::value).collect();
    let agents: BTreeSet<_> = group.iter().map(|statement| statement.by.agent()).collect();
    values.len() >= 2 && agents.len() >= 2
}

/// Whether a value other than the one that counted when the conflict was closed came later.
fn is_reopened(group: &[Statement<'_>], closed: &EventRecord) -> bool {
    let is_later =
        |statement: &&Statement<'_>| (statement.by.ts(), statement.by.agent()) > (closed.ts(), closed.agent());
    let (later, earlier): (Vec<&Statement<'_>>, Vec<&Statement<'_>>) = group.iter().partition(is_later);
    let counted = earlier.iter().max_by_key(|statement| statement.rank());
    later.iter().any(|statement| counted.is_none_or(|counted| counted.value() != statement.value()))
}

/// What counts first, then the newest first.
fn newest_first(statements: &mut [Statement<'_>]) {
    statements.sort_by(|a, b| {
        (a.beaten.cmp(&b.beaten))
            .then_with(|| b.rank().cmp(&a.rank()))
            .then_with(|| a.key().cmp(&b.key()))
            .then_with(|| a.by.id.cmp(&b.by.id))
    });
}
