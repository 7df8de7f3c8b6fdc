//! This Session in a page for readers: grouped by day and agent, newest first. The days before the newest event's day
//! are folded.

use jiff::civil::Date;

use super::contents::{Told, View};
use super::escape::LinePosition;
use super::group::Group;
use super::newest::newest;
use super::page_entry::{LeftOut, PageEntry};
use super::write::{TextStyle, bullet, heading};
use crate::counted::counted;
use crate::section::Section;

/// The size of what surrounds a day.
const DAY: usize = 80;

/// What was done.
pub struct SessionPart {
    days: Vec<SessionDay>,
    left: LeftOut,
}

struct SessionDay {
    day: Date,
    is_folded: bool,
    groups: Vec<SessionGroup>,
}

struct SessionGroup {
    /// The line above the entries; empty if everything is from one agent and one day.
    line: String,
    entries: Vec<PageEntry>,
}

impl SessionPart {
    /// `room`: the most that a page can hold.
    pub fn new(view: &View<'_>, room: usize) -> SessionPart {
        let (items, left) = newest(view.list(Section::ThisSession).to_vec(), |told| *told, room);
        let newest = view.latest.unwrap_or_default().day();
        let mut days: Vec<SessionDay> = Vec::new();
        let (place, style) = match view.is_of_one {
            true => (LinePosition::Inline, TextStyle::AsIs),
            false => (LinePosition::Told, TextStyle::Marked),
        };
        let entry = |told: &Told<'_>| {
            let mut text = String::new();
            bullet(&mut text, told.text, place, style, "");
            PageEntry { text, at: told.by.ts }
        };
        if view.is_of_one {
            let group = SessionGroup { line: String::new(), entries: items.iter().map(entry).collect() };
            if !items.is_empty() {
                days.push(SessionDay { day: newest, is_folded: false, groups: vec![group] });
            }
            return SessionPart { days, left };
        }
        for group in Group::all(&items) {
            let session = SessionGroup { line: group.line(), entries: group.told.iter().map(entry).collect() };
            match days.last_mut().filter(|day| day.day == group.day) {
                Some(day) => day.groups.push(session),
                None => {
                    let (day, is_folded) = (group.day, group.day < newest);
                    days.push(SessionDay { day, is_folded, groups: vec![session] });
                }
            }
        }
        SessionPart { days, left }
    }

    /// Whether nothing is left out.
    pub fn is_whole(&self) -> bool {
        self.left.is_none()
    }

    pub fn size(&self) -> usize {
        let groups = self.days.iter().flat_map(|day| &day.groups);
        let of =
            |group: &SessionGroup| group.line.len() + group.entries.iter().map(|entry| entry.text.len()).sum::<usize>();
        self.days.len() * DAY + groups.map(of).sum::<usize>()
    }

    /// Keeps what fits, the newest first.
    pub fn fit(&mut self, room: usize) {
        let (mut room, left) = (room, &mut self.left);
        for day in &mut self.days {
            let mut frame = DAY;
            for group in &mut day.groups {
                frame += group.line.len();
                group.entries.retain(|entry| {
                    let fits = entry.text.len() + frame <= room;
                    if fits {
                        room -= entry.text.len() + frame;
                        frame = 0;
                    } else {
                        left.add(entry.at);
                    }
                    fits
                });
            }
            day.groups.retain(|group| !group.entries.is_empty());
        }
        self.days.retain(|day| !day.groups.is_empty());
    }

    pub fn write(&self, out: &mut String) {
        if self.days.is_empty() && self.left.is_none() {
            return;
        }
        heading(out, Section::ThisSession.title());
        for day in &self.days {
            let items = day.groups.iter().map(|group| group.entries.len()).sum();
            let count = format!("{}: {} by {}", day.day, counted(items, "item"), counted(day.groups.len(), "agent"));
            match day {
                SessionDay { is_folded: true, .. } => {
                    out.push_str(&format!("\n<details>\n<summary>{count}</summary>\n"));
                }
                SessionDay { groups, .. } if groups.iter().all(|group| group.line.is_empty()) => {}
                SessionDay { .. } => out.push_str(&format!("\n#### {}\n", day.day)),
            }
            for group in &day.groups {
                out.push_str(&group.line);
                group.entries.iter().for_each(|entry| out.push_str(&entry.text));
            }
            if day.is_folded {
                out.push_str("\n</details>\n");
            }
        }
        self.left.write(out);
    }
}
