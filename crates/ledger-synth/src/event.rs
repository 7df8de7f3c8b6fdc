//! Events: what an agent left, as it is read from a file, and the canonical form by which it is known.

use std::borrow::Cow;
use std::ops::{Deref, Range};
use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use shopfloor_core::hash::Digest;

use crate::{body, scalar};

/// No event is larger, in bytes; a snapshot may be.
pub const LIMIT: usize = 1 << 20;

/// A frontmatter is not longer than this, nor deeper nested: reading YAML costs the square of its nesting.
const FRONT_LIMIT: usize = 16 << 10;
const FRONT_DEPTH: usize = 64;

/// Who said something, when, and about what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta<'a> {
    pub ts: Timestamp,
    pub agent: Cow<'a, str>,
    pub branch: Option<Cow<'a, str>>,
    pub kind: Option<Cow<'a, str>>,
    pub reason: Option<Cow<'a, str>>,
    pub title: Option<Cow<'a, str>>,
}

/// One thing an event says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entry<'a> {
    /// A register: the newest counts.
    Text { section: Cow<'a, str>, text: Cow<'a, str> },
    /// A member of a set.
    Item { section: Cow<'a, str>, text: Cow<'a, str> },
    /// An entry of a map, the newest per key; without a value it says that there is none.
    Pair { section: Cow<'a, str>, key: Cow<'a, str>, value: Option<Cow<'a, str>> },
    /// A checkpoint: all are kept.
    Checkpoint(Checkpoint<'a>),
}

/// How far a phase of the work was at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Checkpoint<'a> {
    pub phase: Cow<'a, str>,
    pub status: Cow<'a, str>,
    /// RFC 3339 in UTC, or what was written; where nothing was, when the event was.
    pub updated: Cow<'a, str>,
    /// Its other fields, a line each.
    pub more: Cow<'a, str>,
}

/// A whole event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    pub meta: Meta<'a>,
    /// Sorted, each once.
    pub entries: Vec<Entry<'a>>,
}

/// Why a file is skipped as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Counted from 1.
    pub line: usize,
    pub why: String,
}

impl Malformed {
    pub fn new(line: usize, why: impl Into<String>) -> Malformed {
        Malformed { line, why: why.into() }
    }
}

/// The two parts of an event's file, line ends as LF.
pub struct Parts<'a> {
    pub front: &'a str,
    pub body: &'a str,
}

/// The text of a file: UTF-8 without NUL, byte order mark and carriage returns at line ends.
pub fn text(bytes: &[u8]) -> Result<Cow<'_, str>, Malformed> {
    let line_of = |at: usize| 1 + bytes[..at].iter().filter(|b| **b == b'\n').count();
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(e) => return Err(Malformed::new(line_of(e.valid_up_to()), "not UTF-8")),
    };
    if let Some(at) = bytes.iter().position(|b| *b == 0) {
        return Err(Malformed::new(line_of(at), "a NUL byte"));
    }
    Ok(if text.contains('\r') { text.replace("\r\n", "\n").into() } else { text.into() })
}

/// Finds the frontmatter: it ends at the first line that is `---` and nothing else.
pub fn parts(text: &str) -> Result<Parts<'_>, Malformed> {
    if text.trim().is_empty() {
        return Err(Malformed::new(1, "the file is empty"));
    }
    let blank = text.len() - text.trim_start_matches([' ', '\t', '\n']).len();
    let start = text[..blank].rfind('\n').map_or(0, |at| at + 1);
    let rest = &text[start..];
    let first = rest.split('\n').next().unwrap_or_default();
    if first.trim_end() != "---" {
        return Err(Malformed::new(1, "no frontmatter: the first line must be `---`"));
    }
    let front_at = (first.len() + 1).min(rest.len());
    let mut at = front_at;
    for line in rest[front_at..].split_inclusive('\n') {
        if line.starts_with("---") && line.trim_end() == "---" {
            return Ok(Parts { front: &rest[front_at..at], body: &rest[at + line.len()..] });
        }
        at += line.len();
    }
    Err(Malformed::new(1, "the frontmatter has no closing `---`"))
}

impl<'a> Event<'a> {
    /// Reads an event from the text of its file.
    pub fn parse(text: &'a str) -> Result<Event<'a>, Malformed> {
        let parts = parts(text)?;
        refuse_conflict_markers(text)?;
        let meta = Meta::parse(parts.front)?;
        Ok(Event::new(meta, body::parse(parts.body)))
    }

    /// An event that says this.
    pub fn new(meta: Meta<'a>, mut entries: Vec<Entry<'a>>) -> Event<'a> {
        for entry in &mut entries {
            let Entry::Checkpoint(checkpoint) = entry else { continue };
            if checkpoint.updated.is_empty() {
                checkpoint.updated = meta.ts.to_string().into();
            } else if let Some(at) = instant(&checkpoint.updated) {
                checkpoint.updated = at.to_string().into();
            }
        }
        entries.sort_unstable();
        entries.dedup();
        Event { meta, entries }
    }
}

/// A file git left in conflict says nothing reliable.
pub fn refuse_conflict_markers(text: &str) -> Result<(), Malformed> {
    let is_marker = |line: &str| {
        ["<<<<<<<", ">>>>>>>"]
            .iter()
            .any(|mark| line.strip_prefix(mark).is_some_and(|r| r.is_empty() || r.starts_with(' ')))
    };
    // Almost no text has one: a search for the bytes costs less than looking at every line.
    if !text.contains("<<<<<<<") && !text.contains(">>>>>>>") {
        return Ok(());
    }
    match text.split('\n').position(is_marker) {
        Some(at) => Err(Malformed::new(at + 1, "a conflict marker of git's")),
        None => Ok(()),
    }
}

/// The frontmatter as YAML has it. What is not known here is somebody else's.
#[derive(Default, Deserialize)]
struct Front<'a> {
    #[serde(borrow, default)]
    ts: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    agent: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    branch: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    reason: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    title: Option<Cow<'a, str>>,
}

impl<'a> Front<'a> {
    fn field(&mut self, key: &str) -> Option<&mut Option<Cow<'a, str>>> {
        Some(match key {
            "ts" => &mut self.ts,
            "agent" => &mut self.agent,
            "branch" => &mut self.branch,
            "type" => &mut self.kind,
            "reason" => &mut self.reason,
            "title" => &mut self.title,
            _ => return None,
        })
    }

    /// The frontmatter of lines that mean in YAML what they seem to: `key: plain words`. None for all others.
    fn plain(front: &'a str) -> Option<Front<'a>> {
        let mut read = Front::default();
        for line in front.lines() {
            let line = line.trim_end_matches(' ');
            let (key, value) = line.split_once(": ")?;
            let value = value.trim_start_matches(' ');
            let field = read.field(key)?;
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-+_./: @,()".contains(c);
            let begins_well = value.starts_with(|c: char| c.is_ascii_alphanumeric());
            let is_text = begins_well && value.chars().all(is_plain) && !value.contains(": ") && !value.ends_with(':');
            if field.is_some() || !is_text || value.eq_ignore_ascii_case("null") {
                return None;
            }
            *field = Some(value.into());
        }
        Some(read)
    }

    fn yaml(front: &'a str) -> Result<Front<'a>, Malformed> {
        let nests = front.bytes().filter(|b| matches!(b, b'[' | b'{')).count();
        if front.len() > FRONT_LIMIT {
            return Err(Malformed::new(1, "the frontmatter is larger than 16 KiB"));
        }
        if front.trim().is_empty() {
            return Ok(Front::default());
        }
        if nests > FRONT_DEPTH {
            return Front::flat(front).ok_or_else(|| Malformed::new(1, "the frontmatter is nested too deep"));
        }
        let read = serde_yaml::from_str::<Option<Front<'a>>>(front).map(Option::unwrap_or_default);
        // `title: Fix: the cache` is no YAML; what it says is plain all the same.
        read.or_else(|e| {
            Front::flat(front).ok_or_else(|| {
                let line = e.location().map_or(1, |at| at.line()) + 1;
                Malformed::new(line, format!("the frontmatter is no YAML map of texts: {e}"))
            })
        })
    }

    /// The known keys, one on each line, with whatever stands behind them; none when one is there twice, or ends
    /// nowhere.
    fn flat(front: &'a str) -> Option<Front<'a>> {
        let mut read = Front::default();
        for line in front.lines() {
            let Some((key, value)) = line.split_once(':') else { continue };
            let Some(field) = read.field(key.trim_end()) else { continue };
            let name = key.trim_end();
            let value = value.trim();
            let is_quoted = value.starts_with(['"', '\'']);
            // Behind what is one word a comment is one; a title is prose.
            let is_prose = matches!(name, "title" | "reason");
            let value =
                if is_quoted || is_prose { value } else { value.split(" #").next().unwrap_or_default().trim_end() };
            let text = scalar::text(value, &[]);
            let is_open = is_quoted && !is_prose && text.starts_with(['"', '\'']);
            if field.is_some() || is_open {
                return None;
            }
            if scalar::is_null(value, &[]) || value.is_empty() {
                continue;
            }
            *field = Some(text);
        }
        Some(read)
    }
}

impl<'a> Meta<'a> {
    fn parse(front: &'a str) -> Result<Meta<'a>, Malformed> {
        let read = match Front::plain(front) {
            Some(read) => read,
            None => Front::yaml(front)?,
        };
        let line_of = |key: &str| {
            let is_it = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'));
            front.lines().position(is_it).map_or(1, |at| at + 2)
        };
        let Some(ts) = read.ts else { return Err(Malformed::new(1, "no `ts` in the frontmatter")) };
        let Some(ts) = instant(&ts) else {
            let why = format!("`ts: {ts}` is no RFC 3339 time with an offset, such as 2026-01-10T13:03:52Z");
            return Err(Malformed::new(line_of("ts"), why));
        };
        match read.agent.filter(|agent| !agent.trim().is_empty()) {
            None => Err(Malformed::new(line_of("agent"), "no `agent` in the frontmatter")),
            Some(agent) => Ok(Meta {
                ts,
                agent,
                branch: read.branch.filter(|text| !text.is_empty()),
                kind: read.kind.filter(|text| !text.is_empty()),
                reason: read.reason.filter(|text| !text.is_empty()),
                title: read.title.filter(|text| !text.is_empty()),
            }),
        }
    }
}

/// An instant as RFC 3339 writes it: date, time and offset, with `T` in either case or a blank between.
pub fn instant(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let digits = |range: std::ops::Range<usize>| bytes.get(range).is_some_and(|b| b.iter().all(u8::is_ascii_digit));
    let is = |at: usize, marks: &[u8]| bytes.get(at).is_some_and(|b| marks.contains(b));
    let date = digits(0..4) && is(4, b"-") && digits(5..7) && is(7, b"-") && digits(8..10) && is(10, b"Tt ");
    let time = digits(11..13) && is(13, b":") && digits(14..16) && is(16, b":") && digits(17..19);
    if !date || !time || !text.is_ascii() {
        return None;
    }
    let fraction = match text[19..].strip_prefix('.') {
        Some(rest) => 1 + rest.bytes().take_while(u8::is_ascii_digit).count(),
        None => 0,
    };
    let offset = &text[19 + fraction..];
    let is_offset = matches!(offset, "Z" | "z")
        || matches!(offset.as_bytes(), [b'+' | b'-', a, b, b':', c, d] if [a, b, c, d].iter().all(|b| b.is_ascii_digit()));
    let is_far = |at: std::ops::Range<usize>, most: u8| {
        offset.get(at).and_then(|n| n.parse::<u8>().ok()).is_some_and(|n| n > most)
    };
    if fraction == 1 || fraction > 10 || !is_offset || is_far(1..3, 23) || is_far(4..6, 59) {
        return None;
    }
    // No other time zone is unknown in the same way: RFC 3339 has -00:00 for it.
    let offset = if offset == "-00:00" { "Z" } else { offset };
    let at: Timestamp = format!("{}T{}{offset}", &text[..10], &text[11..19 + fraction]).to_uppercase().parse().ok()?;
    // In UTC it may lie in a year that RFC 3339 has no digits for.
    (0..=9999).contains(&jiff::tz::TimeZone::UTC.to_datetime(at).year()).then_some(at)
}

/// An event in its canonical form, by which it is known wherever and however it is written.
#[derive(Clone, Debug)]
pub struct Record {
    pub id: Digest,
    pub bytes: Bytes,
}

/// The bytes of a record: its own, or a part of what many share.
#[derive(Clone, Debug)]
pub enum Bytes {
    Own(Box<[u8]>),
    Part(Arc<Vec<u8>>, Range<usize>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Own(bytes) => bytes,
            Bytes::Part(all, range) => all.get(range.clone()).unwrap_or_default(),
        }
    }
}

impl Record {
    pub fn of(event: &Event<'_>) -> Record {
        let bytes = encode(event);
        Record { id: Digest::of(&bytes), bytes: Bytes::Own(bytes.into()) }
    }

    /// The event; none for bytes that are none of ours.
    pub fn event(&self) -> Option<Event<'_>> {
        decode(&self.bytes)
    }
}

/// Every part with its length before it, so that no two events share a form.
fn encode(event: &Event<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    let text = |out: &mut Vec<u8>, text: &str| {
        // A text is at most as long as its file.
        out.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    };
    let maybe = |out: &mut Vec<u8>, value: Option<&str>| {
        out.push(u8::from(value.is_some()));
        if let Some(value) = value {
            text(out, value);
        }
    };
    let meta = &event.meta;
    out.extend_from_slice(&meta.ts.as_nanosecond().to_le_bytes());
    text(&mut out, &meta.agent);
    for value in [&meta.branch, &meta.kind, &meta.reason, &meta.title] {
        maybe(&mut out, value.as_deref());
    }
    for entry in &event.entries {
        match entry {
            Entry::Text { section, text: value } => {
                out.push(0);
                text(&mut out, section);
                text(&mut out, value);
            }
            Entry::Item { section, text: value } => {
                out.push(1);
                text(&mut out, section);
                text(&mut out, value);
            }
            Entry::Pair { section, key, value } => {
                out.push(2);
                text(&mut out, section);
                text(&mut out, key);
                maybe(&mut out, value.as_deref());
            }
            Entry::Checkpoint(checkpoint) => {
                out.push(3);
                for part in [&checkpoint.phase, &checkpoint.status, &checkpoint.updated, &checkpoint.more] {
                    text(&mut out, part);
                }
            }
        }
    }
    out
}

fn decode(bytes: &[u8]) -> Option<Event<'_>> {
    let mut from = Decoder { bytes };
    let ts = i128::from_le_bytes(*from.array()?);
    let meta = Meta {
        ts: Timestamp::from_nanosecond(ts).ok()?,
        agent: from.text()?,
        branch: from.maybe()?,
        kind: from.maybe()?,
        reason: from.maybe()?,
        title: from.maybe()?,
    };
    let mut entries = Vec::new();
    while !from.bytes.is_empty() {
        entries.push(match from.array()? {
            [0] => Entry::Text { section: from.text()?, text: from.text()? },
            [1] => Entry::Item { section: from.text()?, text: from.text()? },
            [2] => Entry::Pair { section: from.text()?, key: from.text()?, value: from.maybe()? },
            [3] => Entry::Checkpoint(Checkpoint {
                phase: from.text()?,
                status: from.text()?,
                updated: from.text()?,
                more: from.text()?,
            }),
            _ => return None,
        });
    }
    Some(Event { meta, entries })
}

struct Decoder<'a> {
    bytes: &'a [u8],
}

impl<'a> Decoder<'a> {
    fn array<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (array, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(array)
    }

    fn text(&mut self) -> Option<Cow<'a, str>> {
        let length = u32::from_le_bytes(*self.array()?);
        let (text, rest) = self.bytes.split_at_checked(usize::try_from(length).ok()?)?;
        self.bytes = rest;
        std::str::from_utf8(text).ok().map(Cow::Borrowed)
    }

    fn maybe(&mut self) -> Option<Option<Cow<'a, str>>> {
        match self.array()? {
            [0] => Some(None),
            [1] => self.text().map(Some),
            _ => None,
        }
    }
}

/// The frontmatter and body of a file that reads back as this event, by any YAML reader as well.
pub fn write(event: &Event<'_>) -> String {
    let meta = &event.meta;
    let mut out = format!("---\nts: {}\nagent: {}\n", meta.ts, scalar::written(&meta.agent));
    let fields = [("branch", &meta.branch), ("type", &meta.kind), ("reason", &meta.reason), ("title", &meta.title)];
    for (key, value) in fields {
        if let Some(value) = value {
            out.push_str(&format!("{key}: {}\n", scalar::written(value)));
        }
    }
    out.push_str("---\n");
    out.push_str(&body::write(&event.entries));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_rfc_3339_and_nothing_else() {
        let utc = |text: &str| instant(text).map(|at| at.to_string());
        let same = "2026-01-10T13:00:00Z";
        for spelt in [
            same,
            "2026-01-10t13:00:00z",
            "2026-01-10 13:00:00Z",
            "2026-01-10T18:30:00+05:30",
            "2026-01-10T13:00:00.000Z",
            "2026-01-10T13:00:00-00:00",
        ] {
            assert_eq!(utc(spelt).as_deref(), Some(same), "{spelt}");
        }
        assert_eq!(utc("2026-01-10T13:00:00.500Z").as_deref(), Some("2026-01-10T13:00:00.5Z"));
        for bad in [
            "",
            "yesterday",
            "2026-01-10",
            "2026-01-10T13:00:00",
            "1768050000",
            "2026-02-30T13:00:00Z",
            "2026-01-10T25:00:00Z",
            "2026-01-10T13:00Z",
            "2026-01-10T13:00:00.Z",
            "2026-01-10T13:00:00Z[UTC]",
            "2026-01-10T13:00:00+0530",
            " 2026-01-10T13:00:00Z",
            "2026-01-10T13:00:00é",
            "2026-01-10T13:00:00+24:00",
        ] {
            assert_eq!(instant(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_fast_frontmatter_reads_what_yaml_reads() {
        for front in [
            "ts: 2026-01-10T13:00:00Z\nagent: a\n",
            "agent: a b\nbranch: feat/x\n",
            "agent: 12\n",
            "agent: true\n",
            "agent: a:b\n",
            "title: 1e3\n",
            "title: a - b\n",
            "reason: 0x1f\n",
            "branch: a  b \n",
            "title: 2026-01-01\n",
        ] {
            let (fast, slow) = (
                Front::plain(front).expect(front),
                Front::yaml(front).unwrap_or_else(|e| panic!("{front}: {}", e.why)),
            );
            for (fast, slow) in [
                (fast.agent, slow.agent),
                (fast.branch, slow.branch),
                (fast.title, slow.title),
                (fast.ts, slow.ts),
                (fast.reason, slow.reason),
            ] {
                assert_eq!(fast, slow, "{front}");
            }
        }
        for front in [
            "agent: ~\n",
            "agent: 'x'\n",
            "agent: a: b\n",
            "agent: a # c\n",
            "agent:\n",
            "x: 1\n",
            "agent: a\nagent: b\n",
            "agent: null\n",
        ] {
            assert!(Front::plain(front).is_none(), "{front}");
        }
    }
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod proofs;
