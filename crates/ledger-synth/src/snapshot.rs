//! Snapshots: many events folded into one file that says the same. `archive` writes them; `docs/formats.md` describes
//! the format.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Read};

use serde::{Deserialize, Serialize};
use shopfloor_core::hash::{Digest, DigestBuilder};

use crate::entry::Entry;
use crate::event::LedgerEvent;
use crate::event_file::{self, Malformed};
use crate::event_time;
use crate::front::Meta;
use crate::joined_ledger::{Join, Quote};
use crate::section::Section;
use crate::stored_event::{EventRecord, first_words};

/// The version that we write, and the newest that we read.
const VERSION: &str = "1";

/// What is wrong with a snapshot of a later version.
pub const NEWER: &str = "written by a newer ledger-synth: update shopfloor";

/// The agent in the frontmatter of snapshots.
const AGENT: &str = "ledger-synth";

/// A parsed snapshot.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The hash of its body, which identifies it.
    pub content: Digest,
    /// The events that it covers, each with what it says that nothing newer replaced.
    pub events: Vec<EventRecord>,
    /// The snapshots that were folded into it.
    pub folds: BTreeSet<Digest>,
}

/// A line of the body: an event that is covered, a snapshot that was folded in, or what an event says. `of` is the position
/// of that event among the events.
#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum SnapshotLine {
    Event {
        event: Digest,
        ts: String,
        agent: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        topic: Option<String>,
    },
    Folded {
        snapshot: Digest,
    },
    Said {
        of: usize,
        #[serde(flatten)]
        entry: Entry,
    },
}

/// Whether a file is a snapshot, by a name that only `archive` gives, or by its beginning.
pub fn is_one(name: &[u8], head: &[u8]) -> bool {
    let hash = name.strip_prefix(b"snapshot_").and_then(|rest| rest.get(..16));
    if hash.is_some_and(|hash| hash.iter().all(u8::is_ascii_hexdigit)) {
        return true;
    }
    let text = String::from_utf8_lossy(&head[..head.len().min(4096)]);
    let text = text.replace("\r\n", "\n");
    let Ok(parts) = event_file::split(text.strip_prefix('\u{feff}').unwrap_or(&text)) else { return false };
    let field = |name: &str| parts.front.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    field("type:") == Some("snapshot")
        && field("snapshot:").is_some_and(|version| version.parse::<u32>().is_ok())
        && field("content:").is_some_and(|content| Digest::parse(content).is_some())
}

/// The name of a snapshot's file.
pub fn name(content: &Digest) -> String {
    format!("snapshot_{}.md", &content.to_string()[..16])
}

/// The longest frontmatter, and the longest line, which holds a text of an event with every character escaped.
const FRONT_LIMIT: usize = 16 << 10;
const LINE_LIMIT: usize = 8 * event_file::LIMIT;

/// Parses a snapshot. Damage is never skipped, because its events may be gone.
pub fn parse(bytes: &[u8]) -> Result<Snapshot, Malformed> {
    // Memory can always be read.
    read(bytes).unwrap_or_else(|e| Err(Malformed::new(1, e.to_string())))
}

/// Reads and parses a snapshot line by line: a file of any size can stand in its place.
pub fn read(file: impl BufRead) -> io::Result<Result<Snapshot, Malformed>> {
    match read_lines(file) {
        Ok(snapshot) => Ok(Ok(snapshot)),
        Err(Unreadable::Malformed(problem)) => Ok(Err(problem)),
        Err(Unreadable::Io(e)) => Err(e),
    }
}

fn read_lines(mut file: impl BufRead) -> Result<Snapshot, Unreadable> {
    let (mut head, mut marks, mut number) = (String::new(), 0, 0);
    while marks < 2 && head.len() < FRONT_LIMIT {
        let Some(line) = next_line(&mut file, &mut number)? else { break };
        head.push_str(&line);
        marks += usize::from(line.trim_end() == "---");
    }
    if head.len() >= FRONT_LIMIT {
        return Err(Malformed::new(1, "the frontmatter is larger than 16 KiB").into());
    }
    let expected = expected_content(event_file::split(&head)?.front)?;
    let (mut content, mut first_problem) = (DigestBuilder::default(), None);
    let (mut events, mut folds) = (Vec::new(), BTreeSet::new());
    while let Some(line) = next_line(&mut file, &mut number)? {
        content.add(line.as_bytes());
        if first_problem.is_none() {
            let added = serde_json::from_str::<SnapshotLine>(&line)
                .map_err(|e| e.to_string())
                .and_then(|line| line.add_to(&mut events, &mut folds).ok_or("unknown kind of line".to_owned()));
            first_problem = added.err().map(|why| (number, why));
        }
    }
    let content = content.finish();
    if expected != content.to_string() {
        return Err(Malformed::new(2, "the snapshot was changed: its content has another hash").into());
    }
    match first_problem {
        Some((line, why)) => Err(Malformed::new(line, format!("the snapshot cannot be read: {why}")).into()),
        None => Ok(Snapshot { content, events, folds }),
    }
}

/// The hash of the content that a frontmatter names.
fn expected_content(front: &str) -> Result<&str, Malformed> {
    let field = |name: &str| front.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim()));
    let version = field("snapshot").unwrap_or_default();
    if version.is_empty() {
        return Err(Malformed::new(2, "the snapshot was changed: its frontmatter has no version"));
    }
    if version != VERSION {
        let why = format!("the snapshot has version {version}, {NEWER}");
        return Err(Malformed::new(2, why));
    }
    Ok(field("content").unwrap_or_default())
}

/// Why there is no snapshot.
enum Unreadable {
    Malformed(Malformed),
    Io(io::Error),
}

impl From<Malformed> for Unreadable {
    fn from(problem: Malformed) -> Unreadable {
        Unreadable::Malformed(problem)
    }
}

/// The next line of a file as texts have it: without a byte order mark and carriage returns. `number` counts the lines.
fn next_line(file: &mut impl BufRead, number: &mut usize) -> Result<Option<String>, Unreadable> {
    *number += 1;
    let mut bytes = Vec::new();
    let length = file.take(LINE_LIMIT as u64).read_until(b'\n', &mut bytes).map_err(Unreadable::Io)?;
    if length == LINE_LIMIT {
        return Err(Malformed::new(*number, "the snapshot cannot be read: a line of it is too long").into());
    }
    let line = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
    let line = line.strip_prefix('\u{feff}').filter(|_| *number == 1).unwrap_or(&line).to_owned();
    Ok((length > 0).then_some(line))
}

impl SnapshotLine {
    /// None: it is about an event that no line before it names.
    fn add_to(self, events: &mut Vec<EventRecord>, folds: &mut BTreeSet<Digest>) -> Option<()> {
        match self {
            SnapshotLine::Event { event: id, ts, agent, branch, topic } => {
                let ts = event_time::parse(&ts)?;
                let meta = Meta { ts, agent, branch, kind: None, reason: None, title: topic };
                events.push(EventRecord { id, event: LedgerEvent { meta, entries: Vec::new() } });
            }
            SnapshotLine::Folded { snapshot } => drop(folds.insert(snapshot)),
            SnapshotLine::Said { of, entry } => events.get_mut(of)?.event.entries.push(entry),
        }
        Some(())
    }
}

/// The hash of the body of a join's snapshot, which identifies it, and the text of its file. The same join gives the same
/// text.
pub fn render(join: &Join<'_>) -> (Digest, String) {
    let folded = join.snapshots.iter().map(|snapshot| SnapshotLine::Folded { snapshot: *snapshot });
    let body = lines(join, folded);
    let (content, latest) = (Digest::of(body.as_bytes()), join.latest().unwrap_or_default());
    let front =
        format!("---\nts: {latest}\nagent: {AGENT}\ntype: snapshot\nsnapshot: {VERSION}\ncontent: {content}\n---\n");
    (content, front + &body)
}

/// Everything that a join says, however it was folded.
pub fn statements(join: &Join<'_>) -> String {
    lines(join, std::iter::empty())
}

fn lines(join: &Join<'_>, folded: impl Iterator<Item = SnapshotLine>) -> String {
    let positions: BTreeMap<Digest, usize> = join.events.keys().copied().zip(0..).collect();
    let events = join.events.values().map(|event| SnapshotLine::Event {
        event: event.id,
        ts: event.ts().to_string(),
        agent: event.agent().into(),
        branch: event.branch().map(str::to_owned),
        topic: event.topic().map(|topic| first_words(topic).into_owned()),
    });
    let mut said: Vec<(Entry, &EventRecord)> = Vec::new();
    for (section, joined) in &join.sections {
        let section = || (*section).clone();
        let text = |quote: Quote<'_>| Entry::Text { section: section(), text: quote.text.into() };
        let item = |text: &str| Entry::Item { section: section(), text: text.into() };
        let pair = |key: &str, value: Option<&str>| {
            let value = value.map(str::to_owned);
            Entry::Pair { section: section(), key: key.into(), value }
        };
        said.extend(joined.text.map(|quote| (text(quote), quote.by)));
        said.extend(joined.items.iter().map(|(text, by)| (item(text), *by)));
        said.extend(joined.pairs.iter().map(|(key, quote)| (pair(key, quote.text), quote.by)));
    }
    // The newest of these is the text of its section.
    let now = |quote: &Quote<'_>| Entry::Text { section: Section::Now.into(), text: quote.text.into() };
    said.extend(join.newest_nows().iter().skip(1).map(|quote| (now(quote), quote.by)));
    said.extend(join.checkpoints.iter().map(|((checkpoint, _), by)| (Entry::from((*checkpoint).clone()), *by)));
    said.sort_unstable_by(|(a, by), (b, other)| (a, by.id).cmp(&(b, other.id)));
    let said = said.into_iter().map(|(entry, by)| {
        let of = positions.get(&by.id).copied().unwrap_or_default();
        SnapshotLine::Said { of, entry }
    });
    // Cannot fail: a line holds only texts and numbers.
    let written = |line: SnapshotLine| serde_json::to_string(&line).unwrap_or_default() + "\n";
    events.chain(folded).chain(said).map(written).collect()
}
