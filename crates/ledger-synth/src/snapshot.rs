//! Snapshots: many events folded into one file that says the same. `archive` writes them; `docs/formats.md` describes
//! the format.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io::{self, BufRead, Read};

use serde::{Deserialize, Serialize};
use shopfloor_core::hash::{Digest, DigestBuilder};

use crate::entry::{Checkpoint, Entry};
use crate::event_file::{self, Malformed};
use crate::fold::{Fold, FoldBuilder};
use crate::instant;
use crate::join::Join;
use crate::source::{Source, cut};

/// The version that we write, and the newest that we read.
const VERSION: &str = "1";

/// The agent in the frontmatter of snapshots.
const AGENT: &str = "ledger-synth";

/// A parsed snapshot.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The hash of its body, which identifies it.
    pub content: Digest,
    pub events: Fold,
    /// The snapshots that were folded into it.
    pub folds: BTreeSet<Digest>,
}

/// A text in JSON, borrowed if it has no escapes.
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
    /// The event that said it, as an index of the lines of events.
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
    /// Missing with a key: the key is removed.
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

/// Whether a file is a snapshot, by a name that only `archive` gives, or by its beginning.
pub fn is_one(name: &[u8], head: &[u8]) -> bool {
    let hash = name.strip_prefix(b"snapshot_").and_then(|rest| rest.get(..16));
    if hash.is_some_and(|hash| hash.iter().all(u8::is_ascii_hexdigit)) {
        return true;
    }
    let end = head.len().min(4096);
    // No other file costs more than this search.
    if memchr::memmem::find(&head[..end], b"snapshot:").is_none() {
        return false;
    }
    let mut marks = 0;
    let mut front = head[..end].split(|byte| *byte == b'\n').take_while(|line| {
        marks += usize::from(line.trim_ascii_end() == b"---");
        marks < 2
    });
    if !front.any(|line| line.starts_with(b"snapshot:")) {
        return false;
    }
    let text = String::from_utf8_lossy(&head[..end]).replace("\r\n", "\n");
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
    read(bytes, bytes.len()).unwrap_or_else(|e| Err(Malformed::new(1, e.to_string())))
}

/// Reads and parses a snapshot line by line, because its whole text would need much memory. `size` is about how many
/// bytes there are.
pub fn read(file: impl BufRead, size: usize) -> io::Result<Result<Snapshot, Malformed>> {
    match read_lines(SnapshotLines { file, bytes: Vec::new(), number: 0 }, size) {
        Ok(snapshot) => Ok(Ok(snapshot)),
        Err(Unreadable::Malformed(problem)) => Ok(Err(problem)),
        Err(Unreadable::Io(e)) => Err(e),
    }
}

fn read_lines(mut lines: SnapshotLines<impl BufRead>, size: usize) -> Result<Snapshot, Unreadable> {
    let (mut head, mut marks) = (String::new(), 0);
    while marks < 2 && head.len() < FRONT_LIMIT {
        let Some(line) = lines.next()? else { break };
        head.push_str(&line);
        marks += usize::from(line.trim_end() == "---");
    }
    if head.len() >= FRONT_LIMIT {
        return Err(Malformed::new(1, "the frontmatter is larger than 16 KiB").into());
    }
    let expected = expected_content(event_file::split(&head)?.front)?;
    let (mut content, mut first_problem) = (DigestBuilder::default(), None);
    let (mut events, mut folds) = (FoldBuilder::with_room(size), BTreeSet::new());
    while let Some(line) = lines.next()? {
        content.add(line.as_bytes());
        if first_problem.is_some() {
            continue;
        }
        let added = serde_json::from_str::<SnapshotLine<'_>>(line.trim_end_matches('\n'))
            .map_err(|e| e.to_string())
            .and_then(|line| line.add_to(&mut events, &mut folds).ok_or("unknown kind of line".to_owned()));
        first_problem = added.err().map(|why| (lines.number, why));
    }
    let content = content.finish();
    if expected != content.to_string() {
        return Err(Malformed::new(2, "the snapshot was changed: its content has another hash").into());
    }
    match first_problem {
        Some((line, why)) => Err(Malformed::new(line, format!("the snapshot cannot be read: {why}")).into()),
        None => Ok(Snapshot { content, events: events.finish(), folds }),
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
        let why = format!("the snapshot has version {version}, written by a newer ledger-synth: update shopfloor");
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

/// The lines of a file as texts have them: without a byte order mark and carriage returns.
struct SnapshotLines<R> {
    file: R,
    bytes: Vec<u8>,
    /// How many lines were read.
    number: usize,
}

impl<R: BufRead> SnapshotLines<R> {
    fn next(&mut self) -> Result<Option<Cow<'_, str>>, Unreadable> {
        let SnapshotLines { file, bytes, number } = self;
        bytes.clear();
        *number += 1;
        let length = file.by_ref().take(LINE_LIMIT as u64).read_until(b'\n', bytes).map_err(Unreadable::Io)?;
        if length == LINE_LIMIT {
            return Err(Malformed::new(*number, "the snapshot cannot be read: a line of it is too long").into());
        }
        if bytes.ends_with(b"\r\n") {
            bytes.truncate(length - 2);
            bytes.push(b'\n');
        }
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").filter(|_| *number == 1).unwrap_or(bytes);
        Ok((length > 0).then(|| String::from_utf8_lossy(bytes)))
    }
}

impl<'a> SnapshotLine<'a> {
    fn add_to(self, events: &mut FoldBuilder, folds: &mut BTreeSet<Digest>) -> Option<()> {
        let text = |text: Option<JsonText<'a>>| text.map(|text| text.0);
        if let Some(id) = self.event {
            let (agent, branch, topic) = (text(self.agent)?, text(self.branch), text(self.topic));
            let ts = instant::parse(&self.ts?.0)?;
            events.source(&Source { id, ts, agent: &agent, branch: branch.as_deref(), topic: topic.as_deref() });
        } else if let Some(folded) = self.snapshot {
            folds.insert(folded);
        } else {
            let of = self.of.filter(|of| *of < events.sources())?;
            let entry = match (text(self.section), text(self.text), text(self.item), text(self.key)) {
                (Some(section), Some(text), None, None) => Entry::Text { section: section.into(), text },
                (Some(section), None, Some(text), None) => Entry::Item { section: section.into(), text },
                (Some(section), None, None, Some(key)) => {
                    Entry::Pair { section: section.into(), key, value: text(self.value) }
                }
                (None, None, None, None) => Entry::Checkpoint(Checkpoint {
                    phase: self.phase?.0,
                    status: self.status?.0,
                    updated: self.updated?.0,
                    more: text(self.more).unwrap_or_default(),
                }),
                _ => return None,
            };
            events.entry(&entry, of);
        }
        Some(())
    }
}

/// The hash of the body of a join's snapshot, which identifies it.
pub fn content(join: &Join<'_>) -> Digest {
    let mut digest = DigestBuilder::default();
    let Ok(()) = body::<Infallible>(join, |piece| {
        digest.add(piece);
        Ok(())
    });
    digest.finish()
}

/// Passes the file of a join's snapshot on, in pieces. The same join gives the same bytes.
pub fn write<E>(join: &Join<'_>, content: &Digest, mut pass_on: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    let latest = join.latest().unwrap_or_default();
    let front =
        format!("---\nts: {latest}\nagent: {AGENT}\ntype: snapshot\nsnapshot: {VERSION}\ncontent: {content}\n---\n");
    pass_on(front.as_bytes())?;
    body(join, pass_on)
}

/// How long a piece of a snapshot is, in bytes.
const PIECE: usize = 1 << 16;

fn body<E>(join: &Join<'_>, mut pass_on: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    let mut order: Vec<u32> = (0..).take(join.sources.len()).collect();
    order.sort_unstable_by_key(|of| join.source(*of).id);
    let mut piece = Vec::new();
    let mut push = |line: SnapshotLine<'_>| {
        // Cannot fail: the struct holds only texts and numbers.
        serde_json::to_writer(&mut piece, &line).unwrap_or_default();
        piece.push(b'\n');
        if piece.len() < PIECE {
            return Ok(());
        }
        pass_on(&piece)?;
        piece.clear();
        Ok(())
    };
    let some = |text: &'_ str| Some(JsonText(Cow::Owned(text.to_owned())));
    let mut places = vec![0; order.len()];
    for (place, of) in (0..).zip(&order) {
        places[*of as usize] = place;
        let source = join.source(*of);
        let topic = source.topic.map(cut);
        push(SnapshotLine {
            event: Some(source.id),
            ts: some(&source.ts.to_string()),
            agent: some(source.agent),
            branch: source.branch.and_then(some),
            topic: topic.as_deref().and_then(some),
            ..SnapshotLine::default()
        })?;
    }
    for folded in &join.snapshots {
        push(SnapshotLine { snapshot: Some(*folded), ..SnapshotLine::default() })?;
    }
    for (entry, of) in join.entries_in_order() {
        let line = SnapshotLine { of: places.get(of as usize).copied(), ..SnapshotLine::default() };
        push(match &entry {
            Entry::Text { section, text } => SnapshotLine { section: some(section.as_str()), text: some(text), ..line },
            Entry::Item { section, text } => SnapshotLine { section: some(section.as_str()), item: some(text), ..line },
            Entry::Pair { section, key, value } => {
                let value = value.and_then(some);
                SnapshotLine { section: some(section.as_str()), key: some(key), value, ..line }
            }
            Entry::Checkpoint(c) => SnapshotLine {
                phase: some(c.phase),
                status: some(c.status),
                updated: some(c.updated),
                more: Some(c.more).filter(|more| !more.is_empty()).and_then(&some),
                ..line
            },
        })?;
    }
    pass_on(&piece)
}
