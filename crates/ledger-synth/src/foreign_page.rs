//! Pages that a person or another program wrote: a `current.md` without our footer, and handoff files.

use std::borrow::Cow;

use crate::event_time::{self, EventTime};
use crate::short_id::ShortId;

/// What the ids of a page are for.
pub const IDS: &str =
    "`ledger-synth explain ID` tells what an entry replaced, and `ledger-synth add --resolve ID` closes a question";

/// A page that ledger-synth wrote, without what it added: its title, days, folds, agents, counts, and who said what.
pub fn without_frame(page: &str) -> Cow<'_, str> {
    let Some(page) = page.trim_start_matches('\n').strip_prefix("## Ledger\n") else { return page.into() };
    let is_day = |text: &str| text.len() == 10 && event_time::parse(&format!("{text}T00:00:00Z")).is_some();
    let is_id = |id: &str| id == "…" || id.len() == 8 && ShortId::may_begin_with(id);
    let is_agent = |line: &str| {
        let ids = line.strip_suffix("):").and_then(|rest| rest.rsplit_once(" ("));
        line.starts_with("**") && ids.is_some_and(|(_, ids)| ids.split(", ").all(is_id))
    };
    let is_summary = |line: &str| {
        let summary = line.strip_prefix("<summary>").and_then(|rest| rest.strip_suffix("</summary>")?.split_once(": "));
        summary.is_some_and(|(day, count)| is_day(day) && count.contains(" item") && count.contains(" by "))
    };
    let is_remark = |line: &str| {
        let rest = line.strip_prefix("… ").unwrap_or_default();
        let count = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_count =
            [" more: `ledger-synth ", " more, earlier ones: `ledger-synth "].map(|words| count.starts_with(words));
        let is_now =
            rest.starts_with("Now is by ") && (rest.ends_with(IDS) || rest.ends_with("`ledger-synth explain now`"));
        count.len() < rest.len() && is_count.contains(&true) || is_now || rest == IDS
    };
    let is_frame = |line: &str| {
        matches!(line, "<details>" | "</details>")
            || line.strip_prefix("#### ").is_some_and(is_day)
            || is_agent(line)
            || is_summary(line)
            || is_remark(line)
    };
    // Who said a decision or a question, and when.
    let bare = |line: &str| {
        let said = line.rsplit_once(" (").filter(|(_, said)| {
            let id = said.strip_suffix(')').and_then(|said| said.rsplit_once(", "));
            said.get(..10).is_some_and(is_day) && said.get(10..12) == Some(", ") && id.is_some_and(|(_, id)| is_id(id))
        });
        said.map_or(line, |(bare, _)| bare).to_owned()
    };
    let shown = |line| if is_frame(line) { "\n".to_owned() } else { bare(line) + "\n" };
    // A blank line stands in the place of the title too.
    std::iter::once("\n".to_owned()).chain(page.lines().map(shown)).collect::<String>().into()
}

/// Parses the time of a page, from a line such as `Updated: 2026-01-10T13:00:00Z`.
pub fn updated(text: &str) -> Option<EventTime> {
    updated_values(text).find_map(event_time::parse_note)
}

/// The beginning of the day that such a line tells.
pub fn updated_day(text: &str) -> Option<EventTime> {
    updated_values(text).find_map(event_time::parse_day)
}

fn updated_values(text: &str) -> impl Iterator<Item = &str> {
    let is_it = |key: &str| matches!(key, "updated" | "last updated" | "last_updated");
    // An indented line is about a part of the page.
    let lines = text.lines().take(40).filter(|line| !line.starts_with([' ', '\t']));
    lines.filter_map(field).filter(move |(key, _)| is_it(key)).map(|(_, value)| value)
}

/// The key, in lower case, and the value of a line such as `**Branch:** main`.
pub fn field(line: &str) -> Option<(String, &str)> {
    // There may be a sign before it, as in `📅 **Date:** today`.
    let line = line.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '[' && c != '`');
    let line = line.trim_end_matches(['*', '_', ' ', '\t']);
    let is_updated = |rest: &&str| rest.starts_with(|c: char| c.is_ascii_digit());
    if let Some(value) = line.strip_prefix("Updated ").or(line.strip_prefix("Last updated ")).filter(is_updated) {
        return Some(("updated".to_owned(), value.trim_end()));
    }
    let (key, value) = line.split_once(':')?;
    let key = key.trim_matches(['*', '_', ' ']).to_lowercase();
    Some((key, value.trim_matches(['*', '_', '`', '"', ' ', '\t'])))
}
