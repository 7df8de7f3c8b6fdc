//! The pages of format 2, for readers: what was done by day and agent, who decided what and when, ids to answer with,
//! and no more than a page can hold.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::contents::{OtherSection, ReachedCheckpoint, Told, View};
use super::escape::{LinePosition, escaped};
use super::looks::looks;
use super::newest::newest;
use super::page_entry::{LeftOut, PageEntry};
use super::session::SessionPart;
use super::write::{TextStyle, bullet, heading, pair, reached, strong, value};
use crate::page::IDS;
use crate::section::Section;
use crate::short_id::ShortId;
use crate::source::Source;
use hashbrown::HashMap;

/// The most bytes that all entries of a page may take. If they take more, each section may take at most its own number
/// of bytes, and This Session gets the rest.
const PAGE: usize = 52 << 10;
const DECISIONS: usize = 14 << 10;
const CHECKPOINTS: usize = 5 << 10;
const QUESTIONS: usize = 10 << 10;
const OTHERS: usize = 5 << 10;

/// The most agents whose `now` is shown below the latest, and the most bytes of these.
const NOWS: usize = 10;
const NOWS_SIZE: usize = 3 << 10;
/// The longest text of Goal and Now.
const REGISTER: usize = 4 << 10;

/// A section of bullets.
struct Part {
    title: String,
    entries: Vec<PageEntry>,
    left: LeftOut,
    /// Whether the entries of this section alone would not fit on a page.
    is_cut: bool,
    /// Whether all that is left out is older than what is shown.
    is_earlier: bool,
    /// What shows all of it, if `notes` does not.
    command: Option<String>,
}

/// Renders the sections.
pub fn sections(out: &mut String, view: &View<'_>) {
    for section in [Section::Goal, Section::Now] {
        if let Some(text) = view.register(section) {
            register(out, section, text, view.is_of_one);
        }
    }
    if !view.is_of_one {
        other_nows(out, &view.nows);
    }
    let mut session = SessionPart::new(view, PAGE);
    let mut parts = [decisions(view), checkpoints(view), questions(view)];
    let mut others: Vec<Part> = view.others.iter().map(|section| other(section, looks(view.is_of_one).1)).collect();
    let mut unnamed = LeftOut::default();
    let all = session.size() + parts.iter().chain(&others).map(Part::size).sum::<usize>();
    if all > PAGE || !session.is_whole() || parts.iter().chain(&others).any(|part| part.is_cut) {
        for (part, room) in parts.iter_mut().zip([DECISIONS, CHECKPOINTS, QUESTIONS]) {
            part.fit(room);
        }
        unnamed = share(&mut others, OTHERS);
        session.fit(PAGE - OTHERS - parts.iter().map(Part::size).sum::<usize>());
    }
    if !view.is_of_one {
        remark(out, view, [&parts[0], &parts[2]].iter().any(|part| !part.entries.is_empty()));
    }
    session.write(out);
    parts.iter().for_each(|part| part.write(out));
    others.iter().for_each(|part| part.write(out));
    unnamed.write_with(out, "--json");
}

/// Writes Goal or Now, or a line that counts it if it is too long.
fn register(out: &mut String, section: Section, text: &str, is_of_one: bool) {
    if text.len() > REGISTER {
        out.push_str(&format!("\n… 1 more: `ledger-synth explain {}`\n", section.word()));
        return;
    }
    let (place, style) = looks(is_of_one);
    out.push_str(&format!("\n**{}:** ", section.title()));
    value(out, text, place, style, "");
}

/// The `now` of every agent except the one that spoke last.
fn other_nows(out: &mut String, nows: &[Told<'_>]) {
    let others = nows.get(1..).unwrap_or_default();
    let (mut room, mut left, mut shown) = (NOWS_SIZE, 0, String::new());
    for (at, Told { text, by }) in others.iter().enumerate() {
        if at >= NOWS || text.len() > room {
            left += 1;
            continue;
        }
        room -= text.len();
        shown.push_str(&format!("- {} ({}): ", strong(by.agent), by.ts.day()));
        value(&mut shown, text, LinePosition::Told, TextStyle::Marked, "");
    }
    if !shown.is_empty() {
        out.push_str(&format!("\n{shown}"));
    }
    if left > 0 {
        out.push_str(&format!("\n… {left} more: `ledger-synth explain now`\n"));
    }
}

/// Writes whose Now it is, and what the ids are for if there are any.
fn remark(out: &mut String, view: &View<'_>, has_ids: bool) {
    let who = view.nows.first().map(|now| format!("Now is by {}, {}", escaped(now.by.agent, "<`"), now.by.ts.day()));
    match (who, has_ids) {
        (Some(who), true) => out.push_str(&format!("\n… {who}; {IDS}\n")),
        (Some(who), false) => out.push_str(&format!("\n… {who}: `ledger-synth explain now`\n")),
        (None, true) => out.push_str(&format!("\n… {IDS}\n")),
        (None, false) => {}
    }
}

/// When something was said and by whom, and its id: ` (2026-01-10, toast, k3jd82ab)`.
pub fn said(by: &Source<'_>, id: Option<ShortId>) -> String {
    let id = id.map(|id| format!(", {id}")).unwrap_or_default();
    format!(" ({}, {}{id})", by.ts.day(), escaped(by.agent, "(,<`"))
}

/// Renders a decision with who made it.
pub fn decision(key: &str, told: &Told<'_>) -> String {
    let mut out = String::new();
    let id = ShortId::of_key(Section::Decisions.word(), key);
    pair(&mut out, key, told.text, TextStyle::Marked, &said(told.by, Some(id)));
    out
}

/// Renders a question with who asked it.
pub fn question(told: &Told<'_>) -> String {
    let mut out = String::new();
    let end = said(told.by, Some(ShortId::of_question(told.text)));
    bullet(&mut out, told.text, LinePosition::Told, TextStyle::Marked, &end);
    out
}

fn decisions(view: &View<'_>) -> Part {
    let entry = |(key, told): &(&str, Told<'_>)| {
        let mut text = String::new();
        match view.is_of_one {
            true => pair(&mut text, key, told.text, TextStyle::AsIs, ""),
            false => text = decision(key, told),
        }
        PageEntry { text, at: told.by.ts }
    };
    let (mut shown, left) = newest(view.map(Section::Decisions), |(_, told)| *told, PAGE);
    if !view.is_of_one {
        // What is new is seen first, and everything else is found by its key.
        let newest_day = shown.iter().map(|(_, told)| told.by.ts.day()).max().unwrap_or_default();
        shown.sort_by_key(|(_, told)| told.by.ts.day() < newest_day);
    }
    Part::new(Section::Decisions, shown.iter().map(entry).collect(), left)
}

fn questions(view: &View<'_>) -> Part {
    let entry = |told: &Told<'_>| {
        let mut text = String::new();
        match view.is_of_one {
            true => bullet(&mut text, told.text, LinePosition::Inline, TextStyle::AsIs, ""),
            false => text = question(told),
        }
        PageEntry { text, at: told.by.ts }
    };
    let (mut shown, left) = newest(view.list(Section::OpenQuestions), |told| *told, PAGE);
    if !view.is_of_one {
        shown.sort_by_key(|told| Reverse(told.by.ts.day()));
    }
    Part::new(Section::OpenQuestions, shown.iter().map(entry).collect(), left)
}

/// The latest checkpoint of each agent and phase; all checkpoints if the page is of one agent and one day.
fn checkpoints(view: &View<'_>) -> Part {
    let all = view.checkpoints();
    let mut earlier = LeftOut::default();
    let mut shown = Vec::new();
    if !view.is_of_one {
        let latest = latest(all);
        for (at, one) in all.iter().enumerate() {
            match latest.contains(&at) {
                true => shown.push(*one),
                false => earlier.add(one.by.ts),
            }
        }
    }
    let (shown, left) = newest(if view.is_of_one { all } else { &shown }, status, PAGE);
    let entry = |one: &ReachedCheckpoint<'_>| {
        let mut text = String::new();
        reached(&mut text, one, looks(view.is_of_one).1);
        PageEntry { text, at: one.by.ts }
    };
    let part = Part::new(Section::Checkpoints, shown.iter().map(entry).collect(), left);
    Part { left: earlier.and(left), is_earlier: left.is_none(), ..part }
}

fn status<'j>(one: &ReachedCheckpoint<'j>) -> Told<'j> {
    Told { text: one.checkpoint.status, by: one.by }
}

/// The positions of the latest checkpoint of each agent and phase, in order. A checkpoint whose time cannot be parsed
/// has the time of its event.
pub fn latest(all: &[ReachedCheckpoint<'_>]) -> BTreeSet<usize> {
    let rank = |one: &ReachedCheckpoint<'_>| (one.at.unwrap_or(one.by.ts), one.by.ts);
    let mut latest: HashMap<(&str, &str), usize> = HashMap::new();
    for (at, one) in all.iter().enumerate() {
        let held = latest.entry((one.by.agent, one.checkpoint.phase)).or_insert(at);
        if rank(one) >= rank(&all[*held]) {
            *held = at;
        }
    }
    latest.into_values().collect()
}

/// A section without rules of its own.
fn other(section: &OtherSection<'_>, style: TextStyle) -> Part {
    let entry = |told: &Told<'_>, write: &dyn Fn(&mut String)| {
        let mut text = String::new();
        write(&mut text);
        PageEntry { text, at: told.by.ts }
    };
    let item = |told: &Told<'_>| entry(told, &|out| bullet(out, told.text, LinePosition::Mixed, style, ""));
    let named = |(key, told): &(&str, Told<'_>)| entry(told, &|out| pair(out, key, told.text, style, ""));
    let text = section.text.map(|told| entry(&told, &|out| value(out, told.text, LinePosition::Remarked, style, "")));
    let (items, items_left) = newest(&section.items, |told| *told, PAGE);
    let (pairs, pairs_left) = newest(&section.pairs, |(_, told)| *told, PAGE);
    let is_plain = section.key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    let left = items_left.and(pairs_left);
    Part {
        title: escaped(section.key, if style == TextStyle::Marked { "<`" } else { "" }).into_owned(),
        entries: text.into_iter().chain(items.iter().map(item)).chain(pairs.iter().map(named)).collect(),
        left,
        is_cut: !left.is_none(),
        is_earlier: false,
        command: Some(if is_plain { format!("explain {}", section.key) } else { "--json".to_owned() }),
    }
}

/// Gives each of these sections the same room, and what a small one does not need to the greater ones. A section for
/// which there is not even room for its name and a count is left out.
fn share(parts: &mut Vec<Part>, mut room: usize) -> LeftOut {
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|at| parts[*at].size());
    let (mut keeps, mut left) = (vec![true; parts.len()], LeftOut::default());
    for (rank, at) in order.into_iter().enumerate() {
        let part = &mut parts[at];
        let frame = part.title.len() + FRAME;
        if frame > room {
            keeps[at] = false;
            part.fit(0);
            left = left.and(part.left);
            continue;
        }
        part.fit((room / (keeps.len() - rank)).saturating_sub(frame));
        room -= (part.size() + frame).min(room);
    }
    let mut keeps = keeps.into_iter();
    parts.retain(|_| keeps.next().unwrap_or(false));
    left
}

/// The room for the heading of a section, and for a line that says what is left out of it.
const FRAME: usize = 90;

impl Part {
    fn new(section: Section, entries: Vec<PageEntry>, left: LeftOut) -> Part {
        Part {
            title: section.title().to_owned(),
            entries,
            left,
            is_cut: !left.is_none(),
            is_earlier: false,
            command: None,
        }
    }

    fn size(&self) -> usize {
        self.entries.iter().map(|entry| entry.text.len()).sum()
    }

    /// Keeps the newest entries that fit, in their order.
    fn fit(&mut self, room: usize) {
        let mut newest: Vec<usize> = (0..self.entries.len()).collect();
        newest.sort_by_key(|at| Reverse(self.entries[*at].at));
        let (mut room, mut keeps) = (room, vec![false; self.entries.len()]);
        for at in newest {
            let size = self.entries[at].text.len();
            keeps[at] = size <= room;
            if keeps[at] {
                room -= size;
            } else {
                self.left.add(self.entries[at].at);
                self.is_earlier = false;
            }
        }
        let mut keeps = keeps.into_iter();
        self.entries.retain(|_| keeps.next().unwrap_or(false));
    }

    fn write(&self, out: &mut String) {
        if self.entries.is_empty() && self.left.is_none() {
            return;
        }
        heading(out, &self.title);
        self.entries.iter().for_each(|entry| out.push_str(&entry.text));
        match &self.command {
            Some(command) => self.left.write_with(out, command),
            None if self.is_earlier => self.left.write_earlier(out),
            None => self.left.write(out),
        }
    }
}
