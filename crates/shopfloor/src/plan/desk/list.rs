//! The upper half: which agents are shown, in which order, and what is said of each.

use serde_json::Value;
use shopfloor_core::board::{Need, Standing};
use shopfloor_core::text::printable;

use super::{Desk, key};
use crate::plan::rows::Row;

/// A line of the upper half.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ListLine<'d> {
    /// The name of a repository.
    Group(usize),
    /// An agent, and how deep below its parent.
    Agent(usize, &'d Row, usize),
    /// How many agents of a repository are not shown, because nobody waits for them.
    Idle(usize, usize),
}

impl ListLine<'_> {
    /// What is selected with it.
    pub fn key(&self) -> Option<(usize, String)> {
        match self {
            ListLine::Group(_) => None,
            ListLine::Agent(site, row, _) => Some((*site, key(row))),
            ListLine::Idle(site, _) => Some((*site, String::new())),
        }
    }

    /// The agent in it.
    pub fn row(&self) -> Option<&Row> {
        let ListLine::Agent(_, row, _) = self else { return None };
        Some(*row)
    }
}

/// The lines: who needs a person, who has waited longest first, then each repository.
pub fn lines(desk: &Desk) -> Vec<ListLine<'_>> {
    let needle = desk.filter.to_lowercase();
    // A key is never to hit another agent because the selected one went out of sight.
    let is_selected = |row: &Row| desk.selected.as_ref().is_some_and(|(_, selected)| *selected == key(row));
    let says = |row: &Row| {
        let (word, branch) = (state(row).1.to_owned(), row.branch.clone().unwrap_or_default());
        let said = [row.name.clone(), word, what(row, desk.now), side(row), branch];
        said.iter().any(|said| said.to_lowercase().contains(&needle))
    };
    let has = |row: &&Row| needle.is_empty() || is_selected(row) || says(row);
    let agents = |site: usize| desk.sites[site].rows.iter().filter(|row| row.is_on_board()).filter(has);
    let needs = |row: &Row| matches!(row.standing(), Standing::Needs(_));
    let mut needy: Vec<(usize, &Row)> = (0..desk.sites.len())
        .flat_map(|site| agents(site).filter(|row| needs(row)).map(move |row| (site, row)))
        .collect();
    needy.sort_by_key(|(site, row)| (row.told.since.unwrap_or(i64::MAX), *site, &row.name));
    let mut all: Vec<ListLine<'_>> = needy.iter().map(|(site, row)| ListLine::Agent(*site, row, 0)).collect();
    for site in 0..desk.sites.len() {
        // One whose program does not run may have a task.
        let is_idle = |row: &Row| {
            row.standing() == Standing::Idle
                || row.standing() == Standing::Offline && row.task.as_deref() == Some("idle")
        };
        let shows_idle = desk.shows_idle || !needle.is_empty();
        let mut rest: Vec<&Row> = agents(site).filter(|row| !needs(row)).collect();
        rest.sort_by_key(|row| is_idle(row));
        let (hidden, shown): (Vec<&Row>, Vec<&Row>) =
            rest.into_iter().partition(|row| is_idle(row) && !shows_idle && !is_selected(row));
        if desk.sites.len() > 1 && !(hidden.is_empty() && shown.is_empty()) {
            all.push(ListLine::Group(site));
        }
        let parent = |row: &Row| row.parent.as_ref().and_then(|id| shown.iter().find(|other| other.id == *id).copied());
        let roots: Vec<&Row> = shown.iter().copied().filter(|row| parent(row).is_none()).collect();
        for root in roots {
            push_family(&mut all, site, root, &shown, 0);
        }
        // Records can name each other as parents, and nobody is to be missing.
        for row in shown.iter().copied() {
            if !all.iter().filter_map(ListLine::row).any(|other| std::ptr::eq(other, row)) {
                all.push(ListLine::Agent(site, row, 0));
            }
        }
        let queue = desk.sites[site].floor.as_ref().map_or(0, |floor| floor.queue);
        if !hidden.is_empty() || queue > 0 || desk.shows_idle {
            all.push(ListLine::Idle(site, hidden.len()));
        }
    }
    all
}

/// An agent, and below it its children.
fn push_family<'d>(all: &mut Vec<ListLine<'d>>, site: usize, row: &'d Row, shown: &[&'d Row], depth: usize) {
    const DEEPEST: usize = 8;
    if depth > DEEPEST {
        return;
    }
    all.push(ListLine::Agent(site, row, depth));
    let children = shown.iter().filter(|child| child.parent.as_ref() == Some(&row.id) && child.id != row.id);
    children.for_each(|child| push_family(all, site, child, shown, depth + 1));
}

/// A mark by which a state is read without colours, and the word for it.
pub fn state(row: &Row) -> (&'static str, &'static str) {
    match row.standing() {
        Standing::Needs(Need::Asks) => ("?", "asks"),
        Standing::Needs(Need::Fault) if row.worker.is_some() && row.told.need.is_some() => ("✗", "error"),
        Standing::Needs(Need::Fault) => ("!", "look"),
        Standing::Needs(Need::Review) => ("●", "review"),
        Standing::Needs(Need::InDoubt) => ("!", "doubt"),
        Standing::Needs(Need::Fresh) => ("↻", "fresh"),
        Standing::Needs(Need::Resume) => ("↻", "resume"),
        Standing::Needs(Need::Limited) => ("◷", "limited"),
        Standing::Needs(Need::Rests) => ("…", "rests"),
        Standing::Needs(Need::Silent) => ("~", "silent"),
        Standing::Works => match row.activity.as_deref() {
            Some("limited") => ("◷", "limited"),
            Some("checking") => ("▷", "checking"),
            _ if row.task.as_deref() == Some("rebasing") => ("▶", "rebasing"),
            _ => ("▶", "working"),
        },
        Standing::Idle => ("·", "idle"),
        Standing::Offline => ("○", "offline"),
    }
}

/// What a person should know of an agent first.
pub fn what(row: &Row, now: jiff::Timestamp) -> String {
    let text = printable(&row.told.text);
    let until = row.limited_until(now).map(|at| format!("goes on {at}"));
    let limit: Vec<String> = row.record["limit"].as_str().map(printable).into_iter().chain(until).collect();
    match row.activity.as_deref() {
        Some("limited") if !limit.is_empty() => limit.join(", "),
        _ if text.is_empty() && row.held > 0 => format!("{} files are held until you decide", row.held),
        _ => text,
    }
}

/// What stands at the right: the check, the size of the change, and who it clashes with.
pub fn side(row: &Row) -> String {
    let count = |key: &str| row.stat.as_ref().and_then(|stat| stat[key].as_u64());
    let check = row.record.pointer("/check/ok").map(|ok| if *ok == true { "✓ check" } else { "✗ check" });
    let size = match (count("insertions"), count("deletions")) {
        (Some(added), Some(removed)) if added + removed > 0 => Some(format!("+{added} -{removed}")),
        _ => None,
    };
    let clashes = row.record["clashes"].as_array().into_iter().flatten();
    let with: Vec<String> = clashes.filter_map(|clash| clash["with"].as_str()).map(printable).collect();
    let clash = (!with.is_empty()).then(|| format!("clash {}", with.join(" ")));
    let request = row.request.as_ref().map(|request| format!("#{}", request["number"]));
    let parts = [check.map(str::to_owned), request, size, clash];
    parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
}

/// The address of an agent's request.
pub fn address(row: &Row) -> Option<&str> {
    row.request.as_ref()?.get("url").and_then(Value::as_str)
}
