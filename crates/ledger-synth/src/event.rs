//! Events: what an agent writes for the others.

use crate::body::Grammar;
use crate::entry::Entry;
use crate::event_file::{self, FileParts, Malformed};
use crate::front::Meta;
use crate::{body, front_sections, instant, scalar};

/// A whole event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEvent<'a> {
    pub meta: Meta<'a>,
    /// Sorted, without duplicates.
    pub entries: Vec<Entry<'a>>,
}

impl<'a> LedgerEvent<'a> {
    /// Parses an event from the text of its file.
    pub fn parse(text: &'a str) -> Result<LedgerEvent<'a>, Malformed> {
        LedgerEvent::parse_forms(text).map(|(event, _)| event)
    }

    /// The same, and the event as it was read at first, if that differs from how it is read now: the id of an event does
    /// not change.
    pub fn parse_forms(text: &'a str) -> Result<(LedgerEvent<'a>, Option<LedgerEvent<'a>>), Malformed> {
        event_file::refuse_conflict_markers(text)?;
        let FileParts { front, body } = event_file::split(text)?;
        let meta = Meta::parse(front)?;
        let lines = body::lines(body);
        let mut entries = body::parse_lines(&lines, Grammar::Event);
        let in_front = front_sections::of_event(front);
        let is_indented = || body.trim_start_matches(['\n', '\r']).starts_with([' ', '\t']);
        let may_differ = !in_front.is_empty() || is_indented() || lines.iter().any(|line| reads_otherwise(line));
        entries.extend(in_front);
        let event = LedgerEvent::new(meta, entries);
        if !may_differ {
            return Ok((event, None));
        }
        let first = LedgerEvent::new(event.meta.clone(), body::parse_lines(&lines, Grammar::First));
        let first = Some(first).filter(|first| first.entries != event.entries);
        Ok((event, first))
    }

    /// An event with these entries, in canonical order.
    pub fn new(meta: Meta<'a>, mut entries: Vec<Entry<'a>>) -> LedgerEvent<'a> {
        for entry in &mut entries {
            let Entry::Checkpoint(checkpoint) = entry else { continue };
            if checkpoint.updated.is_empty() {
                checkpoint.updated = meta.ts.to_string().into();
            } else if let Some(at) = instant::parse(&checkpoint.updated)
                && at.written().as_str() != checkpoint.updated
            {
                checkpoint.updated = at.to_string().into();
            }
        }
        entries.sort_unstable();
        entries.dedup();
        LedgerEvent { meta, entries }
    }

    /// The name of its file, without the extension. Only people read it.
    pub fn file_stem(&self) -> String {
        format!("{}_{}", self.meta.ts.to_string().replace(':', "-"), scalar::safe(&self.meta.agent))
    }

    /// Renders the file of the event. It reads back as the same event, and any YAML reader reads the same.
    pub fn render(&self) -> String {
        let meta = &self.meta;
        let mut out = format!("---\nts: {}\nagent: {}\n", meta.ts, scalar::written(&meta.agent));
        let fields = [("branch", &meta.branch), ("type", &meta.kind), ("reason", &meta.reason), ("title", &meta.title)];
        for (key, value) in fields {
            if let Some(value) = value {
                out.push_str(&format!("{key}: {}\n", scalar::written(value)));
            }
        }
        out.push_str("---\n");
        out.push_str(&body::render(&self.entries));
        out
    }
}

/// Whether a line of a body may be read otherwise than at first. Reading a body twice costs, so most lines are not.
fn reads_otherwise(line: &str) -> bool {
    // The time of a checkpoint, also if it is folded or has escapes.
    if line.contains("(20") || line.contains('\\') {
        return true;
    }
    let bare = &line[scalar::indent(line)..];
    let Some(first) = bare.as_bytes().first() else { return false };
    // A further line of a text may be folded into the line before it.
    let is_indented = bare.len() < line.len();
    let has_mark = matches!(first, b'0'..=b'9' | b'`' | b'~' | b'|' | b'>');
    if is_indented || has_mark {
        return has_mark || matches!(first, b'-' | b'*') || bare.ends_with(':');
    }
    if scalar::bullet(line).is_some() {
        return false;
    }
    let is_word = |key: &str| key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    matches!(first, b'#' | b'"' | b'\'')
        || line.strip_suffix(':').is_some_and(|key| !is_word(key))
        || event_file::split_at_byte(line, b':').is_some_and(|(key, after)| {
            let is_later = !after.is_empty() && !after.starts_with([' ', '\t']) && after.contains(':');
            is_later || key.is_empty() || matches!(key, "-" | "*") || key.split_whitespace().nth(2).is_some()
        })
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod proofs;
