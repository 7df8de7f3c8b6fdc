//! Pages that a person or another program wrote: a `current.md` without our footer, and handoff files.

use crate::body::{self, TaskItems, bold};
use crate::entry::Entry;
use crate::instant::{self, EventTime};
use crate::scalar;

/// Parses everything that a page says.
pub fn adopted(page: &str, items: TaskItems) -> Vec<Entry<'static>> {
    let key = |line: &str| bold(line).map(|(key, rest)| format!("{}: {rest}", scalar::written(key)));
    // Any bold words with a colon are a key.
    let lines = page.lines().map(|line| match (key(line), line.strip_prefix("- ").and_then(key)) {
        (Some(pair), _) => pair,
        (None, Some(pair)) if !pair.ends_with(": ") => format!("- {pair}"),
        _ => line.to_owned(),
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    body::parse(&text, items).into_iter().map(Entry::into_owned).collect()
}

/// Parses the time of a page, from a line such as `Updated: 2026-01-10T13:00:00Z`.
pub fn updated(text: &str) -> Option<EventTime> {
    text.lines().take(40).find_map(|line| {
        let line = line.trim_matches(['*', '_', '>', '-', '#', ' ', '\t']);
        let (key, value) = line.split_once(':')?;
        let is_it =
            matches!(&*key.trim_matches(['*', '_', ' ']).to_lowercase(), "updated" | "last updated" | "last_updated");
        instant::parse(value.trim_matches(['*', '_', '`', '"', ' ', '\t'])).filter(|_| is_it)
    })
}
