//! The pages of format 2, for readers: what was done by day and agent, who decided what and when, ids to answer with,
//! and no more than a page can hold.

use std::collections::HashMap;

use super::contents::{OtherSection, ReachedCheckpoint, Told, View};
use super::escape::{LinePosition, escaped};
use super::flat;
use super::newest::newest;
use super::page_entry::{LeftOut, PageEntry};
use super::session::SessionPart;
use super::write::{TextStyle, bullet, heading, pair, reached, value};
use crate::section::Section;
use crate::short_id::ShortId;
use crate::source::Source;

/// The most bytes that all entries may take, and the most that the entries of a section may take if there are more.
/// What this leaves belongs to This Session.
const PAGE: usize = 52 << 10;
const DECISIONS: usize = 14 << 10;
const CHECKPOINTS: usize = 5 << 10;
const QUESTIONS: usize = 10 << 10;
const OTHERS: usize = 5 << 10;

/// The most agents whose `now` is shown below the latest.
const NOWS: usize = 10;

/// A section of bullets.
struct Part {
    title: String,
    entries: Vec<PageEntry>,
    left: LeftOut,
    /// Whether not even a page could hold all of them.
    is_cut: bool,
}

/// Renders the sections.
pub fn sections(out: &mut String, view: &View<'_>) {
    for section in [Section::Goal, Section::Now] {
        if let Some(text) = view.register(section) {
            flat::register(out, section.title(), text);
        }
    }
    if !view.is_of_one {
        other_nows(out, &view.nows);
    }
    let mut session = SessionPart::new(view, PAGE);
    let mut parts = [decisions(view), checkpoints(view), questions(view)];
    let others: usize = view.others.iter().map(other_size).sum();
    let all = session.size() + parts.iter().map(Part::size).sum::<usize>() + others;
    let mut room = usize::MAX;
    if all > PAGE || !session.is_whole() || parts.iter().any(|part| part.is_cut) {
        for (part, share) in parts.iter_mut().zip([DECISIONS, CHECKPOINTS, QUESTIONS]) {
            part.fit(share);
        }
        room = OTHERS;
        session.fit(PAGE - OTHERS - parts.iter().map(Part::size).sum::<usize>());
    }
    session.write(out);
    parts.iter().for_each(|part| part.write(out));
    for section in &view.others {
        write_other(out, section, &mut room);
    }
}

/// What the agents do that did not speak last.
fn other_nows(out: &mut String, nows: &[Told<'_>]) {
    let others = nows.get(1..).unwrap_or_default();
    if !others.is_empty() {
        out.push('\n');
    }
    for Told { text, by } in others.iter().take(NOWS) {
        out.push_str(&format!("- **{}** ({}): ", escaped(&by.agent, "*"), by.ts.day()));
        value(out, text, LinePosition::Told, TextStyle::Marked, "");
    }
    if others.len() > NOWS {
        out.push_str(&format!("\n… {} more: `ledger-synth explain now`\n", others.len() - NOWS));
    }
}

/// When something was said and by whom, and its id: ` (2026-01-10, toast, k3jd82ab)`.
pub fn said(by: &Source<'_>, id: Option<ShortId>) -> String {
    let id = id.map(|id| format!(", {id}")).unwrap_or_default();
    format!(" ({}, {}{id})", by.ts.day(), escaped(&by.agent, "(,"))
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
    let (shown, left) = newest(view.map(Section::Decisions).to_vec(), |(_, told)| *told, PAGE);
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
    let (shown, left) = newest(view.list(Section::OpenQuestions).to_vec(), |told| *told, PAGE);
    Part::new(Section::OpenQuestions, shown.iter().map(entry).collect(), left)
}

/// The latest checkpoint of each agent and phase; those of one agent and day are all shown.
fn checkpoints(view: &View<'_>) -> Part {
    let all = view.checkpoints();
    let (mut shown, mut earlier) = (all.to_vec(), LeftOut::default());
    if !view.is_of_one {
        let latest = latest(all);
        shown.clear();
        for (at, one) in all.iter().enumerate() {
            match latest[&key(one)] == at {
                true => shown.push(*one),
                false => earlier.add(one.by.ts),
            }
        }
    }
    let (shown, left) = newest(shown, status, PAGE);
    let entry = |one: &ReachedCheckpoint<'_>| {
        let mut text = String::new();
        reached(&mut text, one);
        PageEntry { text, at: one.by.ts }
    };
    let part = Part::new(Section::Checkpoints, shown.iter().map(entry).collect(), left);
    Part { left: earlier.and(left), ..part }
}

fn status<'j>(one: &ReachedCheckpoint<'j>) -> Told<'j> {
    Told { text: &one.checkpoint.status, by: one.by }
}

fn key<'j>(one: &ReachedCheckpoint<'j>) -> (&'j str, &'j str) {
    (&one.by.agent, &one.checkpoint.phase)
}

/// The position of the latest checkpoint of each agent and phase, of checkpoints that are ordered by time.
pub fn latest<'j>(all: &[ReachedCheckpoint<'j>]) -> HashMap<(&'j str, &'j str), usize> {
    all.iter().enumerate().map(|(at, one)| (key(one), at)).collect()
}

/// The size of the texts of such a section.
fn other_size(section: &OtherSection<'_>) -> usize {
    let texts = section.text.iter().chain(&section.items).map(|text| text.len());
    texts.sum::<usize>() + section.pairs.iter().map(|(key, text)| key.len() + text.len()).sum::<usize>()
}

/// The entries of a section without rules of its own.
fn other(section: &OtherSection<'_>) -> Vec<String> {
    let mut entries = Vec::new();
    if let Some(text) = section.text {
        let mut entry = String::new();
        value(&mut entry, text, LinePosition::Remarked, TextStyle::AsIs, "");
        entries.push(entry);
    }
    for item in &section.items {
        let mut entry = String::new();
        bullet(&mut entry, item, LinePosition::Mixed, TextStyle::AsIs, "");
        entries.push(entry);
    }
    for (key, text) in &section.pairs {
        let mut entry = String::new();
        pair(&mut entry, key, text, TextStyle::AsIs, "");
        entries.push(entry);
    }
    entries
}

/// Writes such a section, as far as there is room.
fn write_other(out: &mut String, section: &OtherSection<'_>, room: &mut usize) {
    heading(out, &escaped(section.key, ""));
    let mut left = 0;
    for entry in other(section) {
        if entry.len() <= *room {
            *room -= entry.len();
            out.push_str(&entry);
        } else {
            left += 1;
        }
    }
    if left > 0 {
        let is_plain = section.key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        let command = if is_plain { format!("explain {}", section.key) } else { "--json".to_owned() };
        out.push_str(&format!("\n… {left} more: `ledger-synth {command}`\n"));
    }
}

impl Part {
    fn new(section: Section, entries: Vec<PageEntry>, left: LeftOut) -> Part {
        Part { title: section.title().to_owned(), entries, left, is_cut: !left.is_none() }
    }

    fn size(&self) -> usize {
        self.entries.iter().map(|entry| entry.text.len()).sum()
    }

    /// Keeps the newest entries that fit, in their order.
    fn fit(&mut self, room: usize) {
        let mut newest: Vec<usize> = (0..self.entries.len()).collect();
        newest.sort_by_key(|at| std::cmp::Reverse(self.entries[*at].at));
        let (mut room, mut keeps) = (room, vec![false; self.entries.len()]);
        for at in newest {
            let size = self.entries[at].text.len();
            keeps[at] = size <= room;
            if keeps[at] {
                room -= size;
            } else {
                self.left.add(self.entries[at].at);
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
        self.left.write(out);
    }
}
