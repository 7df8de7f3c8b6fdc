//! This Session in a page for readers: grouped by day and agent, newest first. The days before the newest event's day
//! are folded, each with a count of everything that was done on it.

use std::collections::{BTreeMap, HashSet};

use jiff::civil::Date;

use super::escape::{LinePosition, TextStyle};
use super::group::Group;
use super::model::View;
use super::newest::newest;
use super::write::{bullet, heading, more};
use crate::counted::counted;
use crate::joined_ledger::Quote;
use crate::section::Section;

/// The size of what surrounds a day.
const DAY: usize = 120;

/// What was done.
pub struct SessionPart {
    days: Vec<SessionDay>,
    /// How many items there are of each day, and by how many agents.
    totals: BTreeMap<Date, (usize, usize)>,
}

struct SessionDay {
    day: Date,
    is_folded: bool,
    groups: Vec<SessionGroup>,
}

struct SessionGroup {
    /// The line above the entries; empty if everything is from one agent and one day.
    line: String,
    entries: Vec<String>,
}

impl SessionDay {
    fn shown(&self) -> usize {
        self.groups.iter().map(|group| group.entries.len()).sum()
    }
}

impl SessionPart {
    /// `room`: the most that a page can hold.
    pub fn new(view: &View<'_>, room: usize) -> SessionPart {
        let all = &view.this_session;
        let (items, _) = newest(all, |item| *item, room);
        let newest_day = view.latest.unwrap_or_default().day();
        let style = TextStyle::of_page(view.is_of_one);
        let entry = |quote: &Quote<'_>| bullet(quote.text, LinePosition::Inline, style, "");
        let mut days: Vec<SessionDay> = Vec::new();
        let mut add = |day: Date, group: SessionGroup| match days.last_mut().filter(|last| last.day == day) {
            Some(last) => last.groups.push(group),
            None => days.push(SessionDay { day, is_folded: day < newest_day, groups: vec![group] }),
        };
        if !view.is_of_one {
            for group in Group::all(&items) {
                add(group.day, SessionGroup { line: group.line(), entries: group.quotes.iter().map(entry).collect() });
            }
        } else if !items.is_empty() {
            add(newest_day, SessionGroup { line: String::new(), entries: items.iter().map(entry).collect() });
        }
        SessionPart { days, totals: totals(all) }
    }

    /// Whether nothing is left out.
    pub fn is_whole(&self) -> bool {
        self.days.iter().map(SessionDay::shown).sum::<usize>()
            == self.totals.values().map(|(items, _)| items).sum::<usize>()
    }

    pub fn size(&self) -> usize {
        let groups = self.days.iter().flat_map(|day| &day.groups);
        let of = |group: &SessionGroup| group.line.len() + group.entries.iter().map(String::len).sum::<usize>();
        self.days.len() * DAY + groups.map(of).sum::<usize>()
    }

    /// Keeps what fits, the newest first.
    pub fn fit(&mut self, mut room: usize) {
        for day in &mut self.days {
            let mut frame = DAY;
            for group in &mut day.groups {
                let line = group.line.len();
                frame += line;
                group.entries.retain(|entry| {
                    let fits = entry.len() + frame <= room;
                    if fits {
                        room -= entry.len() + frame;
                        frame = 0;
                    }
                    fits
                });
                frame = frame.saturating_sub(line);
            }
            day.groups.retain(|group| !group.entries.is_empty());
        }
        self.days.retain(|day| !day.groups.is_empty());
    }

    pub fn write(&self, out: &mut String) {
        if self.totals.is_empty() {
            return;
        }
        heading(out, Section::ThisSession.title());
        let mut rest = self.totals.clone();
        for day in &self.days {
            let (items, agents) = rest.remove(&day.day).unwrap_or_default();
            if day.is_folded {
                let count = format!("{}: {} by {}", day.day, counted(items, "item"), counted(agents, "agent"));
                out.push_str(&format!("\n<details>\n<summary>{count}</summary>\n"));
            } else if day.groups.iter().any(|group| !group.line.is_empty()) {
                out.push_str(&format!("\n#### {}\n", day.day));
            }
            for group in &day.groups {
                out.push_str(&group.line);
                group.entries.iter().for_each(|entry| out.push_str(entry));
            }
            more(out, items - day.shown(), &format!("notes --since {}", day.day));
            if day.is_folded {
                out.push_str("\n</details>\n");
            }
        }
        if let Some(oldest) = rest.keys().next() {
            more(out, rest.values().map(|(items, _)| items).sum(), &format!("notes --since {oldest}"));
        }
    }
}

fn totals(items: &[Quote<'_>]) -> BTreeMap<Date, (usize, usize)> {
    let mut agents = BTreeMap::<Date, (usize, HashSet<&str>)>::new();
    for quote in items {
        let (count, names) = agents.entry(quote.by.ts().day()).or_default();
        *count += 1;
        names.insert(quote.by.agent());
    }
    agents.into_iter().map(|(day, (count, names))| (day, (count, names.len()))).collect()
}
