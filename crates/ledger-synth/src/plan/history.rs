//! Everything that agents ever said, and whether it still counts.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use shopfloor_core::error::Result;

use super::{Filter, join};
use crate::entry::{CLOSED, Entry, RETRACT};
use crate::facts::Events;
use crate::instant::EventTime;
use crate::join::Join;
use crate::section::{Section, SectionName};
use crate::short_id::ShortId;
use crate::source::Source;
use crate::view::View;

/// One thing that a source said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub section: SectionName<'static>,
    /// The key in a map, the text in a set; none for a register.
    pub key: Option<String>,
    /// None for the removal of a key, and for the items of sets.
    pub value: Option<String>,
    pub source: Source<'static>,
    pub beaten: bool,
    /// Whether it is a member of a set, which nothing replaces.
    pub is_item: bool,
    /// Whether it gives a key a value.
    pub is_pair: bool,
}

impl Statement {
    /// The id of what it is about: a question or a key, otherwise the event that said it.
    pub fn id(&self) -> ShortId {
        match &self.key {
            Some(text) if self.section == Section::OpenQuestions => ShortId::of_question(text),
            Some(key) if self.is_pair => ShortId::of_key(self.section.as_str(), key),
            _ => ShortId::of_event(self.source.id),
        }
    }

    /// The section and the key: `decisions.lexer`.
    pub fn name(&self) -> String {
        match &self.key {
            Some(key) if !self.is_item => format!("{}.{key}", self.section.as_str()),
            _ => self.section.as_str().to_owned(),
        }
    }
}

/// What `explain` found.
pub enum Explained {
    /// Newest first.
    Statements(Vec<Statement>),
    /// The name is the beginning of this many ids.
    Several(usize),
}

/// Everything that was said about a section, a key or a text; otherwise about a question, a key or an event whose id
/// begins so.
pub fn explain(events: &Events, name: &str) -> Result<Explained> {
    let mut named = history(events, |statement| is_about(statement, name))?;
    if named.is_empty() {
        let ids = |statement: &Statement| {
            let ids = [statement.id(), ShortId::of_event(statement.source.id)];
            ids.into_iter().find(|id| id.begins_with(name))
        };
        named = history(events, |statement| ids(statement).is_some())?;
        let found: BTreeSet<ShortId> = named.iter().filter_map(ids).collect();
        if found.len() > 1 {
            return Ok(Explained::Several(found.len()));
        }
    }
    newest_first(&mut named);
    Ok(Explained::Statements(named))
}

/// Everything that agents disagree on, grouped by what it is about, newest first: keys to which two of them gave
/// different values, unless the conflict was closed afterwards.
pub fn conflicts(events: &Events) -> Result<Vec<Statement>> {
    let closed = closed(events)?;
    let mut groups: BTreeMap<String, Vec<Statement>> = BTreeMap::new();
    let is_shared = |statement: &Statement| {
        let is_alone = matches!(statement.section.section(), Some(Section::Now | Section::Goal | Section::Checkpoints));
        !statement.is_item && !is_alone
    };
    for statement in history(events, is_shared)? {
        groups.entry(statement.name()).or_default().push(statement);
    }
    let mut all = Vec::new();
    for (name, mut group) in groups {
        newest_first(&mut group);
        if is_disagreement(&group) && closed.get(&name).is_none_or(|closed| is_reopened(&group, closed)) {
            all.extend(group);
        }
    }
    Ok(all)
}

/// When each conflict was last closed, and by whom.
fn closed(events: &Events) -> Result<BTreeMap<String, (EventTime, String)>> {
    let snapshots = events.snapshots()?;
    let join = join(&events.records, &snapshots, &Filter::default());
    let section = join.sections.get(&SectionName::from(CLOSED));
    let items = section.iter().flat_map(|section| &section.items);
    Ok(items.map(|(name, of)| (name.to_string(), (join.source(*of).ts, join.source(*of).agent.to_string()))).collect())
}

/// Whether two agents gave different values: then two values and two agents are enough, because one of the agents gave
/// another value than some other agent.
fn is_disagreement(group: &[Statement]) -> bool {
    let values: BTreeSet<_> = group.iter().map(|statement| &statement.value).collect();
    let agents: BTreeSet<_> = group.iter().map(|statement| &statement.source.agent).collect();
    values.len() >= 2 && agents.len() >= 2
}

/// Whether a value other than the one that counted at that time came later.
fn is_reopened(group: &[Statement], closed: &(EventTime, String)) -> bool {
    let stamp = |statement: &Statement| (statement.source.ts, statement.source.agent.to_string());
    let (later, earlier): (Vec<_>, Vec<_>) = group.iter().partition(|statement| stamp(statement) > *closed);
    let counted = earlier.iter().max_by_key(|statement| (stamp(statement), statement.value.clone()));
    later.iter().any(|statement| counted.is_none_or(|counted| counted.value != statement.value))
}

fn is_about(statement: &Statement, key: &str) -> bool {
    let is_section = |name: &str| SectionName::from_spelling(name.into()) == statement.section;
    let own = statement.key.as_deref();
    let is_path = || key.split_once('.').is_some_and(|(section, key)| is_section(section) && own == Some(key));
    own == Some(key) || is_path() || is_section(key)
}

fn newest_first(statements: &mut [Statement]) {
    statements.sort_by(|a, b| {
        let rank = |one: &Statement| (one.source.ts, one.source.agent.to_string(), one.value.clone());
        (a.beaten.cmp(&b.beaten)).then_with(|| rank(b).cmp(&rank(a))).then_with(|| a.key.cmp(&b.key))
    });
}

/// Everything wanted that was ever said, each statement once.
fn history(events: &Events, wanted: impl Fn(&Statement) -> bool) -> Result<Vec<Statement>> {
    let snapshots = events.snapshots()?;
    let join = join(&events.records, &snapshots, &Filter::default());
    let sources: BTreeMap<_, _> = join.sources.iter().map(|source| (source.id, source)).collect();
    let view = View::new(&join, None);
    let open: HashSet<&str> = view.list(Section::OpenQuestions).iter().map(|told| told.text).collect();
    let mut all = Vec::new();
    for record in &events.records {
        if let (Some(event), Some(source)) = (record.decode(), sources.get(&record.id)) {
            let said = event.entries.iter().filter_map(|entry| statement(&join, &open, entry, source));
            all.extend(said.filter(&wanted));
        }
    }
    for snapshot in &snapshots {
        for (entry, of) in &snapshot.entries {
            let id = snapshot.sources[*of as usize].id;
            let said = sources.get(&id).and_then(|source| statement(&join, &open, entry, source));
            all.extend(said.filter(&wanted));
        }
    }
    all.sort_by(|a, b| (&a.section, &a.key, &a.value, a.source.id).cmp(&(&b.section, &b.key, &b.value, b.source.id)));
    all.dedup();
    Ok(all)
}

fn statement(join: &Join<'_>, open: &HashSet<&str>, entry: &Entry<'_>, source: &Source<'_>) -> Option<Statement> {
    let (key, value) = match entry {
        Entry::Text { text, .. } => (None, Some(text)),
        Entry::Item { section, .. } if matches!(section.as_str(), RETRACT | CLOSED) => return None,
        Entry::Item { text, .. } => (Some(text), None),
        Entry::Pair { key, value, .. } => (Some(key), value.as_ref()),
        Entry::Checkpoint(checkpoint) => (Some(&checkpoint.phase), Some(&checkpoint.status)),
    };
    Some(Statement {
        section: entry.section().into_owned(),
        key: key.map(ToString::to_string),
        value: value.map(ToString::to_string),
        source: source.to_owned_source(),
        beaten: is_beaten(join, open, entry, source),
        is_item: matches!(entry, Entry::Item { .. }),
        is_pair: matches!(entry, Entry::Pair { .. }),
    })
}

/// Whether something newer counts instead.
fn is_beaten(join: &Join<'_>, open: &HashSet<&str>, entry: &Entry<'_>, source: &Source<'_>) -> bool {
    let is_it = |of: u32| join.source(of).id == source.id;
    match entry {
        Entry::Text { section, text } => !join
            .sections
            .get(section)
            .and_then(|s| s.text.as_ref())
            .is_some_and(|(held, of)| held == text && is_it(*of)),
        Entry::Pair { section, key, value } => {
            let section = join.sections.get(section);
            let at =
                section.and_then(|s| s.pairs.binary_search_by(|(own, _)| own.cmp(key)).ok().map(|at| &s.pairs[at]));
            !at.is_some_and(|(_, (held, of))| held == value && is_it(*of))
        }
        // A later `resolved` beats a question. Nothing beats another item.
        Entry::Item { section, text } => *section == Section::OpenQuestions && !open.contains(&**text),
        Entry::Checkpoint(_) => false,
    }
}
