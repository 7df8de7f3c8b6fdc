//! Renders entries as the body of an event file.

use std::collections::BTreeMap;

use super::read::LONG_KEY;
use crate::entry::Entry;
use crate::section::{Section, SectionName};
use crate::yaml_scalar;

/// Renders a body that reads back as these entries, known sections first.
pub fn render(entries: &[Entry]) -> String {
    let mut sections: BTreeMap<(usize, &SectionName), Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        let name = entry.section();
        let position = Section::ALL.iter().position(|section| *name == *section).unwrap_or(Section::ALL.len());
        sections.entry((position, name)).or_default().push(entry);
    }
    let mut out = String::new();
    for ((_, name), mut entries) in sections {
        let name = name.as_str();
        // An unquoted long key would be read as a sentence.
        let key =
            if name.chars().count() > LONG_KEY { yaml_scalar::in_quotes(name) } else { yaml_scalar::written(name) };
        out.push('\n');
        // The map comes first, because indented lines belong to the line above them. A text comes last, because it
        // opens the section again.
        entries.sort_by_key(|entry| match entry {
            Entry::Pair { .. } => 0,
            Entry::Item { .. } | Entry::Checkpoint(_) => 1,
            Entry::Text { .. } => 2,
        });
        if !matches!(entries[0], Entry::Text { .. }) {
            out.push_str(&format!("{key}:\n"));
        }
        for entry in entries {
            match entry {
                Entry::Text { text, .. } => out.push_str(&format!("{key}: {}\n", yaml_scalar::written(text))),
                Entry::Item { text, .. } => out.push_str(&format!("- {}\n", yaml_scalar::written(text))),
                Entry::Pair { key, value, .. } => {
                    let value = value.as_ref().map_or("null".to_owned(), |value| yaml_scalar::written(value));
                    out.push_str(&format!("  {}: {value}\n", yaml_scalar::written(key)));
                }
                Entry::Checkpoint(c) => {
                    let fields = [("- phase", &c.phase), ("  status", &c.status), ("  updated", &c.updated)];
                    for (key, value) in fields {
                        out.push_str(&format!("{key}: {}\n", yaml_scalar::written(value)));
                    }
                    c.more.lines().for_each(|line| out.push_str(&format!("  {line}\n")));
                }
            }
        }
    }
    out
}
