//! `explain` and `conflicts`: who said what, when, and what came of it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::body::section_name;
use crate::cli::Place;
use crate::event::Entry;
use crate::facts::gather::ever;
use crate::facts::{Events, Ledger};
use crate::plan::{Filter, Join, RETRACT, Source, join};
use crate::snapshot::Snapshot;

/// One thing that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said<'a> {
    section: String,
    /// Of a map its key, of a set the item; none for a register.
    key: Option<String>,
    /// None for a tombstone, and for the items of sets.
    value: Option<String>,
    source: &'a Source<'a>,
    beaten: bool,
    /// Whether it is a member of a set: nothing replaces it.
    is_item: bool,
}

pub fn explain(ui: &Ui, env: &Env, place: &Place, key: &str) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, place)?;
    let events = ever(&ledger)?;
    let snapshots = events.snapshots()?;
    let join = join(&events.records, &snapshots, &Filter::default());
    let mut said: Vec<Said<'_>> = history(&events, &snapshots, &join);
    said.retain(|said| is_about(said, key));
    if said.is_empty() {
        return Err(Failure::not_found(format!("nobody said anything of `{key}`"))
            .hint("name a section (`now`), a key (`decisions.lexer`) or the whole text of an item; `ledger-synth --json` shows all"));
    }
    newest_first(&mut said);
    said.iter().for_each(|said| line(ui, said));
    Ok(Exit::Done)
}

pub fn conflicts(ui: &Ui, env: &Env, place: &Place) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, place)?;
    let events = ever(&ledger)?;
    let snapshots = events.snapshots()?;
    let join = join(&events.records, &snapshots, &Filter::default());
    let mut groups: BTreeMap<(String, Option<String>), Vec<Said<'_>>> = BTreeMap::new();
    for said in history(&events, &snapshots, &join) {
        if !is_set(&said) && said.section != "checkpoints" {
            groups.entry((said.section.clone(), said.key.clone())).or_default().push(said);
        }
    }
    let mut any = false;
    for (_, mut group) in groups {
        let values: BTreeSet<_> = group.iter().map(|said| &said.value).collect();
        let agents: BTreeSet<_> = group.iter().map(|said| &said.source.agent).collect();
        // One agent changing its mind about what goes on now is no disagreement.
        let is_one = group[0].key.is_none() && agents.len() < 2;
        if values.len() < 2 || is_one {
            continue;
        }
        any = true;
        newest_first(&mut group);
        group.iter().for_each(|said| line(ui, said));
    }
    if !any {
        ui.note("nobody disagrees");
    }
    Ok(Exit::Done)
}

fn is_about(said: &Said<'_>, key: &str) -> bool {
    let section = section_name(key);
    let named = said.key.as_deref() == Some(key);
    let whole = said
        .key
        .as_deref()
        .is_some_and(|own| key.split_once('.').is_some_and(|(s, k)| section_name(s) == *said.section && k == own));
    named || whole || said.section == *section
}

fn newest_first(said: &mut [Said<'_>]) {
    said.sort_by(|a, b| {
        let stamp = |said: &'_ Said<'_>| (said.source.ts, said.source.agent.to_string(), said.value.clone());
        (a.beaten.cmp(&b.beaten)).then_with(|| stamp(b).cmp(&stamp(a))).then_with(|| a.key.cmp(&b.key))
    });
}

/// Everything that was ever said, each once, and whether it counts.
fn history<'a>(events: &Events, snapshots: &[Snapshot<'_>], join: &'a Join<'a>) -> Vec<Said<'a>> {
    let places: BTreeMap<_, _> = join.sources.iter().map(|source| (source.id, source)).collect();
    let mut all = Vec::new();
    let mut push = |entry: &Entry<'_>, source: &'a Source<'a>| {
        let (section, key, value) = match entry {
            Entry::Text { section, text } => (section.to_string(), None, Some(text.to_string())),
            Entry::Item { section, .. } if section == RETRACT => return,
            Entry::Item { section, text } => (section.to_string(), Some(text.to_string()), None),
            Entry::Pair { section, key, value } => {
                (section.to_string(), Some(key.to_string()), value.as_deref().map(str::to_owned))
            }
            Entry::Checkpoint(c) => ("checkpoints".to_owned(), Some(c.phase.to_string()), Some(c.status.to_string())),
        };
        let beaten = is_beaten(join, entry, source);
        let is_item = matches!(entry, Entry::Item { .. });
        all.push(Said { section, key, value, source, beaten, is_item });
    };
    for record in &events.records {
        if let (Some(event), Some(source)) = (record.event(), places.get(&record.id)) {
            event.entries.iter().for_each(|entry| push(entry, source));
        }
    }
    for snapshot in snapshots {
        for (entry, of) in &snapshot.entries {
            let id = snapshot.sources[*of as usize].id;
            if let Some(source) = places.get(&id) {
                push(entry, source);
            }
        }
    }
    all.sort_by(|a, b| (&a.section, &a.key, &a.value, a.source.id).cmp(&(&b.section, &b.key, &b.value, b.source.id)));
    all.dedup();
    all
}

/// Whether something else counts in its place.
fn is_beaten(join: &Join<'_>, entry: &Entry<'_>, source: &Source<'_>) -> bool {
    let is_it = |of: u32| join.source(of).id == source.id;
    let section = |name: &str| join.sections.get(name);
    match entry {
        Entry::Text { section: name, text } => {
            !section(name).and_then(|s| s.text.as_ref()).is_some_and(|(held, of)| held == text && is_it(*of))
        }
        Entry::Pair { section: name, key, value } => !section(name)
            .is_some_and(|s| s.pairs.iter().any(|(k, (held, of))| k == key && held == value && is_it(*of))),
        // A question that was resolved since counts no more; nothing beats another item.
        Entry::Item { section: name, text } if name == "open_questions" => section("resolved").is_some_and(|s| {
            s.items.iter().any(|(t, of)| {
                t == text && (join.source(*of).ts, &join.source(*of).agent) >= (source.ts, &source.agent)
            })
        }),
        Entry::Item { .. } | Entry::Checkpoint(_) => false,
    }
}

fn line(ui: &Ui, said: &Said<'_>) {
    let Said { section, key, value, source, beaten, .. } = said;
    if ui.is_json() {
        let value = if is_set(said) { key } else { value };
        ui.json(&json!({
            "section": section, "key": key, "value": value, "ts": source.ts.to_string(), "agent": source.agent,
            "event": source.id, "beaten": beaten
        }));
        return;
    }
    let name = match key {
        Some(key) if !is_set(said) => format!("{section}.{key}"),
        _ => section.clone(),
    };
    let shown = match (value, key) {
        (Some(value), _) => value.as_str(),
        (None, Some(key)) if is_set(said) => key,
        (None, _) => "(removed)",
    };
    let word = if *beaten { " [replaced]" } else { "" };
    let id = &source.id.to_string()[..12];
    ui.line(format!(
        "{}: {} ({}, {}, {id}){word}",
        printable(&name),
        printable(shown),
        source.ts,
        printable(&source.agent)
    ));
}

fn is_set(said: &Said<'_>) -> bool {
    said.is_item
}
