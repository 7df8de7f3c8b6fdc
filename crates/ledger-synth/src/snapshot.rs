//! Snapshots: many events folded into one file that says the same. Written by `archive`; format in
//! `docs/formats.md`.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use shopfloor_core::hash::Digest;

use crate::entry::{Checkpoint, Entry};
use crate::event_file::{self, Malformed};
use crate::instant;
use crate::join::Join;
use crate::source::{Source, cut};

/// The version we write, and the newest we read.
const VERSION: &str = "1";

/// The agent under whose name snapshots stand.
const AGENT: &str = "ledger-synth";

/// A snapshot as read.
#[derive(Debug)]
pub struct Snapshot<'a> {
    /// The hash of its body, by which it is known.
    pub content: Digest,
    pub sources: Vec<Source<'a>>,
    pub entries: Vec<(Entry<'a>, u32)>,
    /// The snapshots that were folded into it.
    pub folds: BTreeSet<Digest>,
}

/// A text in JSON, borrowed where it has no escapes.
#[derive(Deserialize, Serialize)]
struct JsonText<'a>(#[serde(borrow)] Cow<'a, str>);

/// A line of the body: an event that is covered, a snapshot that was folded in, or an entry.
#[derive(Default, Deserialize, Serialize)]
struct SnapshotLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<Digest>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    ts: Option<JsonText<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    agent: Option<JsonText<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    branch: Option<JsonText<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    topic: Option<JsonText<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<Digest>,
    /// The event that said it, by its place among the lines of events.
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<u32>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    section: Option<JsonText<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    text: Option<JsonText<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    item: Option<JsonText<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    key: Option<JsonText<'a>>,
    /// With a key and without a value: a tombstone.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    value: Option<JsonText<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    phase: Option<JsonText<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    status: Option<JsonText<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    updated: Option<JsonText<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    more: Option<JsonText<'a>>,
}

/// Whether a file is a snapshot: by the name `archive` gives it, which nobody else does, or by how it begins.
pub fn is_one(name: &[u8], head: &[u8]) -> bool {
    let hash = name.strip_prefix(b"snapshot_").and_then(|rest| rest.get(..16));
    if hash.is_some_and(|hash| hash.iter().all(u8::is_ascii_hexdigit)) {
        return true;
    }
    let end = head.len().min(4096);
    let text = String::from_utf8_lossy(&head[..end]).replace("\r\n", "\n");
    let Ok(parts) = event_file::split(text.strip_prefix('\u{feff}').unwrap_or(&text)) else { return false };
    let field = |name: &str| parts.front.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    field("type:") == Some("snapshot")
        && field("snapshot:").is_some_and(|version| version.parse::<u32>().is_ok())
        && field("content:").is_some_and(|content| Digest::parse(content).is_some())
}

/// The name a snapshot's file has, by its content.
pub fn name(content: &Digest) -> String {
    format!("snapshot_{}.md", &content.to_string()[..16])
}

/// Reads a snapshot. What is wrong with it is never passed over: it stands for events that may be gone.
pub fn parse(text: &str) -> Result<Snapshot<'_>, Malformed> {
    let parts = event_file::split(text)?;
    let field = |name: &str| {
        let find = |line: &'_ str| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim().to_owned());
        parts.front.lines().find_map(find)
    };
    let version = field("snapshot").unwrap_or_default();
    if version.is_empty() {
        return Err(Malformed::new(2, "a snapshot that was changed: its frontmatter has no version"));
    }
    if version != VERSION {
        let why = format!("a snapshot of version {version}, written by a newer ledger-synth: update shopfloor");
        return Err(Malformed::new(2, why));
    }
    let content = Digest::of(parts.body.as_bytes());
    if field("content").as_deref() != Some(&*content.to_string()) {
        return Err(Malformed::new(2, "a snapshot that was changed: its content has another hash"));
    }
    let before = text[..text.len() - parts.body.len()].matches('\n').count();
    let mut snapshot = Snapshot { content, sources: Vec::new(), entries: Vec::new(), folds: BTreeSet::new() };
    for (at, line) in parts.body.lines().enumerate() {
        let bad = |why: String| Malformed::new(before + at + 1, format!("a snapshot that cannot be read: {why}"));
        let line: SnapshotLine<'_> = serde_json::from_str(line).map_err(|e| bad(e.to_string()))?;
        snapshot.take(line).ok_or_else(|| bad("a line of no known kind".into()))?;
    }
    Ok(snapshot)
}

impl<'a> Snapshot<'a> {
    fn take(&mut self, line: SnapshotLine<'a>) -> Option<()> {
        let text = |text: Option<JsonText<'a>>| text.map(|text| text.0);
        if let Some(id) = line.event {
            let (branch, topic) = (text(line.branch), text(line.topic));
            let ts = instant::parse(&line.ts?.0)?;
            self.sources.push(Source { id, ts, agent: line.agent?.0, branch, topic });
        } else if let Some(folded) = line.snapshot {
            self.folds.insert(folded);
        } else {
            let of = line.of.filter(|of| (*of as usize) < self.sources.len())?;
            let entry = match (text(line.section), text(line.text), text(line.item), text(line.key)) {
                (Some(section), Some(text), None, None) => Entry::Text { section: section.into(), text },
                (Some(section), None, Some(text), None) => Entry::Item { section: section.into(), text },
                (Some(section), None, None, Some(key)) => {
                    Entry::Pair { section: section.into(), key, value: text(line.value) }
                }
                (None, None, None, None) => Entry::Checkpoint(Checkpoint {
                    phase: line.phase?.0,
                    status: line.status?.0,
                    updated: line.updated?.0,
                    more: text(line.more).unwrap_or_default(),
                }),
                _ => return None,
            };
            self.entries.push((entry, of));
        }
        Some(())
    }
}

/// The file of a snapshot that says what this join says, and its name. The same join gives the same bytes.
pub fn render(join: &Join<'_>) -> (String, String) {
    let mut order: Vec<u32> = (0..).take(join.sources.len()).collect();
    order.sort_unstable_by_key(|of| join.source(*of).id);
    let mut body = String::new();
    let mut push = |line: SnapshotLine<'_>| {
        // A struct of texts is always JSON.
        body.push_str(&serde_json::to_string(&line).unwrap_or_default());
        body.push('\n');
    };
    let some = |text: &'_ str| Some(JsonText(Cow::Owned(text.to_owned())));
    let mut places = HashMap::with_capacity(order.len());
    for (place, of) in (0..).zip(&order) {
        places.insert(*of, place);
        let source = join.source(*of);
        let topic = source.topic.as_deref().map(cut);
        push(SnapshotLine {
            event: Some(source.id),
            ts: some(&source.ts.to_string()),
            agent: some(&source.agent),
            branch: source.branch.as_deref().and_then(some),
            topic: topic.as_deref().and_then(some),
            ..SnapshotLine::default()
        });
    }
    for folded in &join.snapshots {
        push(SnapshotLine { snapshot: Some(*folded), ..SnapshotLine::default() });
    }
    let mut entries: Vec<(Entry<'_>, u32)> = join.entries();
    entries.iter_mut().for_each(|(_, of)| *of = places.get(of).copied().unwrap_or_default());
    entries.sort_unstable();
    for (entry, of) in &entries {
        let line = SnapshotLine { of: Some(*of), ..SnapshotLine::default() };
        push(match entry {
            Entry::Text { section, text } => SnapshotLine { section: some(section.as_str()), text: some(text), ..line },
            Entry::Item { section, text } => SnapshotLine { section: some(section.as_str()), item: some(text), ..line },
            Entry::Pair { section, key, value } => {
                let value = value.as_deref().and_then(some);
                SnapshotLine { section: some(section.as_str()), key: some(key), value, ..line }
            }
            Entry::Checkpoint(c) => SnapshotLine {
                phase: some(&c.phase),
                status: some(&c.status),
                updated: some(&c.updated),
                more: Some(&c.more).filter(|more| !more.is_empty()).and_then(|more| some(more)),
                ..line
            },
        });
    }
    let content = Digest::of(body.as_bytes());
    let latest = join.latest().unwrap_or_default();
    let front =
        format!("---\nts: {latest}\nagent: {AGENT}\ntype: snapshot\nsnapshot: {VERSION}\ncontent: {content}\n---\n");
    (name(&content), front + &body)
}
