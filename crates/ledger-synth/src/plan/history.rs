//! Everything that agents ever said, and whether it still counts.

use std::collections::{BTreeMap, BTreeSet};

use shopfloor_core::error::Result;

use super::{Filter, join};
use crate::entry::{Entry, RETRACT};
use crate::facts::Events;
use crate::join::Join;
use crate::section::{Section, SectionName};
use crate::source::Source;

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
}

/// Everything that was said about a section, a key or a text, newest first.
pub fn explain(events: &Events, key: &str) -> Result<Vec<Statement>> {
    let mut statements = history(events)?;
    statements.retain(|statement| is_about(statement, key));
    newest_first(&mut statements);
    Ok(statements)
}

/// Everything that agents disagreed on, grouped by what it is about, newest first.
pub fn conflicts(events: &Events) -> Result<Vec<Statement>> {
    let mut groups: BTreeMap<(SectionName<'_>, Option<String>), Vec<Statement>> = BTreeMap::new();
    for statement in history(events)? {
        if !statement.is_item && statement.section != Section::Checkpoints {
            groups.entry((statement.section.clone(), statement.key.clone())).or_default().push(statement);
        }
    }
    let mut all = Vec::new();
    for mut group in groups.into_values().filter(|group| is_disagreement(group)) {
        newest_first(&mut group);
        all.extend(group);
    }
    Ok(all)
}

fn is_disagreement(group: &[Statement]) -> bool {
    let values: BTreeSet<_> = group.iter().map(|statement| &statement.value).collect();
    let agents: BTreeSet<_> = group.iter().map(|statement| &statement.source.agent).collect();
    // One agent that changes the text of a register does not disagree with itself.
    let is_one = group[0].key.is_none() && agents.len() < 2;
    values.len() >= 2 && !is_one
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

/// Everything that was ever said, each statement once.
fn history(events: &Events) -> Result<Vec<Statement>> {
    let snapshots = events.snapshots()?;
    let join = join(&events.records, &snapshots, &Filter::default());
    let sources: BTreeMap<_, _> = join.sources.iter().map(|source| (source.id, source)).collect();
    let mut all = Vec::new();
    for record in &events.records {
        if let (Some(event), Some(source)) = (record.decode(), sources.get(&record.id)) {
            all.extend(event.entries.iter().filter_map(|entry| statement(&join, entry, source)));
        }
    }
    for snapshot in &snapshots {
        for (entry, of) in &snapshot.entries {
            let id = snapshot.sources[*of as usize].id;
            all.extend(sources.get(&id).and_then(|source| statement(&join, entry, source)));
        }
    }
    all.sort_by(|a, b| (&a.section, &a.key, &a.value, a.source.id).cmp(&(&b.section, &b.key, &b.value, b.source.id)));
    all.dedup();
    Ok(all)
}

fn statement(join: &Join<'_>, entry: &Entry<'_>, source: &Source<'_>) -> Option<Statement> {
    let (key, value) = match entry {
        Entry::Text { text, .. } => (None, Some(text)),
        Entry::Item { section, .. } if section.as_str() == RETRACT => return None,
        Entry::Item { text, .. } => (Some(text), None),
        Entry::Pair { key, value, .. } => (Some(key), value.as_ref()),
        Entry::Checkpoint(checkpoint) => (Some(&checkpoint.phase), Some(&checkpoint.status)),
    };
    Some(Statement {
        section: entry.section().into_owned(),
        key: key.map(ToString::to_string),
        value: value.map(ToString::to_string),
        source: source.to_owned_source(),
        beaten: is_beaten(join, entry, source),
        is_item: matches!(entry, Entry::Item { .. }),
    })
}

/// Whether something newer counts instead.
fn is_beaten(join: &Join<'_>, entry: &Entry<'_>, source: &Source<'_>) -> bool {
    let is_it = |of: u32| join.source(of).id == source.id;
    match entry {
        Entry::Text { section, text } => !join
            .sections
            .get(section)
            .and_then(|s| s.text.as_ref())
            .is_some_and(|(held, of)| held == text && is_it(*of)),
        Entry::Pair { section, key, value } => !join
            .sections
            .get(section)
            .is_some_and(|s| s.pairs.iter().any(|(k, (held, of))| k == key && held == value && is_it(*of))),
        // A later `resolved` beats a question. Nothing beats another item.
        Entry::Item { section, text } if *section == Section::OpenQuestions => {
            join.sections.get(&SectionName::from(Section::Resolved)).is_some_and(|resolved| {
                resolved.items.iter().any(|(t, of)| {
                    t == text && (join.source(*of).ts, &join.source(*of).agent) >= (source.ts, &source.agent)
                })
            })
        }
        Entry::Item { .. } | Entry::Checkpoint(_) => false,
    }
}
