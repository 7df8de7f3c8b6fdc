//! Events: what an agent writes for the others.

use crate::entry::Entry;
use crate::event_file::{self, FileParts, Malformed};
use crate::front::Meta;
use crate::{body, event_time, front_sections, yaml_scalar};

/// A whole event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEvent {
    pub meta: Meta,
    /// Sorted, without duplicates.
    pub entries: Vec<Entry>,
}

impl LedgerEvent {
    /// Parses an event from the text of its file.
    pub fn parse(text: &str) -> Result<LedgerEvent, Malformed> {
        event_file::refuse_conflict_markers(text)?;
        let FileParts { front, body } = event_file::split(text)?;
        let meta = Meta::parse(front)?;
        let mut entries = body::parse(body);
        entries.extend(front_sections::of_event(front));
        Ok(LedgerEvent::new(meta, entries))
    }

    /// An event with these entries, in canonical order.
    pub fn new(meta: Meta, mut entries: Vec<Entry>) -> LedgerEvent {
        for entry in &mut entries {
            let Entry::Checkpoint(checkpoint) = entry else { continue };
            if checkpoint.updated.is_empty() {
                checkpoint.updated = meta.ts.to_string();
            } else if let Some(at) = event_time::parse(&checkpoint.updated) {
                checkpoint.updated = at.to_string();
            }
        }
        entries.sort_unstable();
        entries.dedup();
        LedgerEvent { meta, entries }
    }

    /// The name of its file, without the extension. Only people read it.
    pub fn file_stem(&self) -> String {
        format!("{}_{}", self.meta.ts.to_string().replace(':', "-"), yaml_scalar::safe(&self.meta.agent))
    }

    /// Renders the file of the event. It reads back as the same event, and any YAML reader reads the same.
    pub fn render(&self) -> String {
        let meta = &self.meta;
        let mut out = format!("---\nts: {}\nagent: {}\n", meta.ts, yaml_scalar::written(&meta.agent));
        let fields = [("branch", &meta.branch), ("type", &meta.kind), ("reason", &meta.reason), ("title", &meta.title)];
        for (key, value) in fields {
            if let Some(value) = value {
                out.push_str(&format!("{key}: {}\n", yaml_scalar::written(value)));
            }
        }
        out + "---\n" + &body::render(&self.entries)
    }
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod proofs;
