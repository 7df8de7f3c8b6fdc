//! Events: what an agent writes for the others.

use crate::body::Grammar;
use crate::entry::Entry;
use crate::event_file::{self, Malformed};
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
        event_file::refuse_conflict_markers(text)?;
        let parts = event_file::split(text)?;
        let meta = Meta::parse(parts.front)?;
        let mut entries = body::parse(parts.body, Grammar::Event);
        entries.extend(front_sections::of_event(parts.front));
        Ok(LedgerEvent::new(meta, entries))
    }

    /// The event as it was read at first, if that differs from how it is read now: the id of an event does not change.
    pub fn first_form(text: &'a str, present: &LedgerEvent<'a>) -> Option<LedgerEvent<'a>> {
        let parts = event_file::split(text).ok()?;
        let is_indented = parts.body.trim_start_matches(['\n', '\r']).starts_with([' ', '\t']);
        if !is_indented && !parts.body.lines().any(reads_otherwise) && front_sections::of_event(parts.front).is_empty()
        {
            return None;
        }
        let first = LedgerEvent::new(present.meta.clone(), body::parse(parts.body, Grammar::First));
        (first.entries != present.entries).then_some(first)
    }

    /// An event with these entries, in canonical order.
    pub fn new(meta: Meta<'a>, mut entries: Vec<Entry<'a>>) -> LedgerEvent<'a> {
        for entry in &mut entries {
            let Entry::Checkpoint(checkpoint) = entry else { continue };
            if checkpoint.updated.is_empty() {
                checkpoint.updated = meta.ts.to_string().into();
            } else if let Some(at) = instant::parse(&checkpoint.updated) {
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
    let line = line.trim_end();
    let bare = line.trim_start_matches([' ', '\t']);
    // A further line of a text may be folded into the line before it.
    let is_indented = bare.len() < line.len();
    let has_mark = bare.starts_with(|c: char| c.is_ascii_digit() || "`~|>".contains(c));
    if is_indented || has_mark {
        return has_mark || bare.starts_with(['-', '*']);
    }
    let is_word = |key: &str| key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    line.starts_with(['#', '"', '\''])
        || line.strip_suffix(':').is_some_and(|key| !is_word(key))
        || line.split_once(':').is_some_and(|(key, _)| key.split_whitespace().nth(2).is_some())
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod proofs;
