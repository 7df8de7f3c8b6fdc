//! Turns a text of a handoff file into an entry of its section.

use crate::body::{bold, shown_checkpoint};
use crate::entry::Entry;
use crate::section::{SectionName, Shape};

/// Fields that only mark a text as a decision; what it is about is their value.
const DECIDED: [&str; 3] = ["decision", "choice", "decided"];

/// The entry that a text makes in a section.
pub fn entry_from_text(section: &SectionName, text: String) -> Entry {
    let section = section.clone();
    match section.shape() {
        Some(Shape::Register) => Entry::Text { section, text },
        Some(Shape::Map) => decision(section, &text),
        Some(Shape::Checkpoints) => checkpoint(&text),
        // Of several texts under a name without rules only the newest would count.
        Some(Shape::List) | None => Entry::Item { section, text },
    }
}

/// The decision that a text says. One without a key is its own key.
fn decision(section: SectionName, text: &str) -> Entry {
    let (first, below) = text.split_once('\n').unwrap_or((text, ""));
    let (key, value) = match pair(first) {
        Some((key, value)) if DECIDED.contains(&&*key.to_lowercase()) && !value.is_empty() => (value, ""),
        Some((key, value)) => (key, value),
        None => (first, ""),
    };
    let value = [value, below].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    Entry::Pair { section, key: key.to_owned(), value: Some(value) }
}

/// `key: value` or `**key:** value`. Half a code span is no key.
fn pair(line: &str) -> Option<(&str, &str)> {
    let plain = || line.split_once(": ").or_else(|| Some((line.strip_suffix(':')?, "")));
    let (key, value) = bold(line).or_else(plain)?;
    let key = key.trim();
    (!key.is_empty() && key.matches('`').count() % 2 == 0).then(|| (key, value.trim()))
}

/// The checkpoint that a text says: its phase, a colon, and how far it is.
fn checkpoint(text: &str) -> Entry {
    let (first, below) = text.split_once('\n').unwrap_or((text, ""));
    let mut checkpoint = shown_checkpoint(&first.replace("**", ""));
    if !below.is_empty() {
        checkpoint.status = format!("{}\n{below}", checkpoint.status);
    }
    checkpoint.into()
}
