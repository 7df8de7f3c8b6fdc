//! The sections of a page, for readers: what was done by day and agent, who decided what and when, ids to answer with,
//! and no more than a page can hold.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use super::escape::{LinePosition, TextStyle, escaped};
use super::model::{OtherSection, ReachedCheckpoint, View};
use super::newest::{LeftOut, PageEntry, newest};
use super::session::SessionPart;
use super::write::{bullet, heading, more, pair, reached, strong, value};
use crate::foreign_page::IDS;
use crate::joined_ledger::Quote;
use crate::section::Section;
use crate::short_id::ShortId;
use crate::stored_event::EventRecord;

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
struct PageSection {
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
    let style = TextStyle::of_page(view.is_of_one);
    for (section, quote) in [(Section::Goal, view.goal), (Section::Now, view.now())] {
        if let Some(quote) = quote {
            register(out, section, quote.text, style);
        }
    }
    if !view.is_of_one {
        other_nows(out, &view.nows);
    }
    let mut session = SessionPart::new(view, PAGE);
    let mut parts = [decisions(view), checkpoints(view), questions(view)];
    let mut others: Vec<PageSection> = view.others.iter().map(|section| other(section, style)).collect();
    let mut unnamed = LeftOut::default();
    let all = session.size() + parts.iter().chain(&others).map(PageSection::size).sum::<usize>();
    if all > PAGE || !session.is_whole() || parts.iter().chain(&others).any(|part| part.is_cut) {
        for (part, room) in parts.iter_mut().zip([DECISIONS, CHECKPOINTS, QUESTIONS]) {
            part.fit(room);
        }
        unnamed = share(&mut others, OTHERS);
        session.fit(PAGE - OTHERS - parts.iter().map(PageSection::size).sum::<usize>());
    }
    if !view.is_of_one {
        remark(out, view, [&parts[0], &parts[2]].iter().any(|part| !part.entries.is_empty()));
    }
    session.write(out);
    parts.iter().for_each(|part| part.write(out));
    others.iter().for_each(|part| part.write(out));
    unnamed.write(out, Some("--json"));
}

/// Writes Goal or Now, or a line that counts it if it is too long.
fn register(out: &mut String, section: Section, text: &str, style: TextStyle) {
    if text.len() > REGISTER {
        return more(out, 1, &format!("explain {}", section.word()));
    }
    let text = value(text, LinePosition::Inline, style, "");
    out.push_str(&format!("\n**{}:** {text}", section.title()));
}

/// The `now` of every agent except the one that spoke last.
fn other_nows(out: &mut String, nows: &[Quote<'_>]) {
    let others = nows.get(1..).unwrap_or_default();
    let (mut room, mut left, mut shown) = (NOWS_SIZE, 0, String::new());
    for (at, Quote { text, by }) in others.iter().enumerate() {
        if at >= NOWS || text.len() > room {
            left += 1;
            continue;
        }
        room -= text.len();
        let text = value(text, LinePosition::Inline, TextStyle::Marked, "");
        shown.push_str(&format!("- {} ({}): {text}", strong(by.agent()), by.ts().day()));
    }
    if !shown.is_empty() {
        out.push_str(&format!("\n{shown}"));
    }
    more(out, left, "explain now");
}

/// Writes whose Now it is, and what the ids are for if there are any.
fn remark(out: &mut String, view: &View<'_>, has_ids: bool) {
    let who = view.now().map(|now| format!("Now is by {}, {}", escaped(now.by.agent(), "<`"), now.by.ts().day()));
    match (who, has_ids) {
        (Some(who), true) => out.push_str(&format!("\n… {who}; {IDS}\n")),
        (Some(who), false) => out.push_str(&format!("\n… {who}: `ledger-synth explain now`\n")),
        (None, true) => out.push_str(&format!("\n… {IDS}\n")),
        (None, false) => {}
    }
}

/// When something was said and by whom, and its id: ` (2026-01-10, toast, k3jd82ab)`.
pub fn attribution(by: &EventRecord, id: Option<ShortId>) -> String {
    let id = id.map(|id| format!(", {id}")).unwrap_or_default();
    format!(" ({}, {}{id})", by.ts().day(), escaped(by.agent(), "(,<`"))
}

/// Renders a decision, with who made it unless all of the page is from one agent.
pub fn decision(key: &str, quote: &Quote<'_>, style: TextStyle) -> String {
    let id = ShortId::of_key(Section::Decisions.word(), key);
    pair(key, quote.text, style, &end(quote, id, style))
}

/// Renders a question, with who asked it unless all of the page is from one agent.
pub fn question(quote: &Quote<'_>, style: TextStyle) -> String {
    let end = end(quote, ShortId::of_question(quote.text), style);
    bullet(quote.text, LinePosition::Inline, style, &end)
}

fn end(quote: &Quote<'_>, id: ShortId, style: TextStyle) -> String {
    match style {
        TextStyle::AsIs => String::new(),
        TextStyle::Marked => attribution(quote.by, Some(id)),
    }
}

fn decisions(view: &View<'_>) -> PageSection {
    let style = TextStyle::of_page(view.is_of_one);
    let entry = |(key, quote): &(&str, Quote<'_>)| PageEntry { text: decision(key, quote, style), at: quote.by.ts() };
    let (mut shown, left) = newest(&view.decisions, |(_, quote)| *quote, PAGE);
    if !view.is_of_one {
        // What is new is seen first, and everything else is found by its key.
        let newest_day = shown.iter().map(|(_, quote)| quote.by.ts().day()).max().unwrap_or_default();
        shown.sort_by_key(|(_, quote)| quote.by.ts().day() < newest_day);
    }
    PageSection::new(Section::Decisions.title(), shown.iter().map(entry).collect(), left)
}

fn questions(view: &View<'_>) -> PageSection {
    let style = TextStyle::of_page(view.is_of_one);
    let entry = |quote: &Quote<'_>| PageEntry { text: question(quote, style), at: quote.by.ts() };
    let (mut shown, left) = newest(&view.open_questions, |quote| *quote, PAGE);
    if !view.is_of_one {
        shown.sort_by_key(|quote| Reverse(quote.by.ts().day()));
    }
    PageSection::new(Section::OpenQuestions.title(), shown.iter().map(entry).collect(), left)
}

/// The latest checkpoint of each agent and phase; all checkpoints if the page is of one agent and one day.
fn checkpoints(view: &View<'_>) -> PageSection {
    let all = &view.checkpoints;
    let mut earlier = LeftOut::default();
    let mut shown = Vec::new();
    if !view.is_of_one {
        let latest = latest(all);
        for (at, one) in all.iter().enumerate() {
            match latest.contains(&at) {
                true => shown.push(*one),
                false => earlier.add(one.by.ts()),
            }
        }
    }
    let (shown, left) = newest(if view.is_of_one { all } else { &shown }, status, PAGE);
    let style = TextStyle::of_page(view.is_of_one);
    let entry = |one: &ReachedCheckpoint<'_>| PageEntry { text: reached(one, style), at: one.by.ts() };
    let part = PageSection::new(Section::Checkpoints.title(), shown.iter().map(entry).collect(), left);
    PageSection { left: earlier.and(left), is_earlier: left.is_none(), ..part }
}

fn status<'j>(one: &ReachedCheckpoint<'j>) -> Quote<'j> {
    Quote { text: &one.checkpoint.status, by: one.by }
}

/// The positions of the latest checkpoint of each agent and phase, in order. A checkpoint whose time cannot be parsed
/// has the time of its event.
pub fn latest(all: &[ReachedCheckpoint<'_>]) -> BTreeSet<usize> {
    let rank = |one: &ReachedCheckpoint<'_>| (one.at.unwrap_or(one.by.ts()), one.by.ts());
    let mut latest: HashMap<(&str, &str), usize> = HashMap::new();
    for (at, one) in all.iter().enumerate() {
        let held = latest.entry((one.by.agent(), &*one.checkpoint.phase)).or_insert(at);
        if rank(one) >= rank(&all[*held]) {
            *held = at;
        }
    }
    latest.into_values().collect()
}

/// A section without rules of its own.
fn other(section: &OtherSection<'_>, style: TextStyle) -> PageSection {
    let entry = |quote: &Quote<'_>, text: String| PageEntry { text, at: quote.by.ts() };
    let item = |quote: &Quote<'_>| entry(quote, bullet(quote.text, LinePosition::Mixed, style, ""));
    let named = |(key, quote): &(&str, Quote<'_>)| entry(quote, pair(key, quote.text, style, ""));
    let text = section.text.map(|quote| entry(&quote, value(quote.text, LinePosition::Margin, style, "")));
    let (items, items_left) = newest(&section.items, |quote| *quote, PAGE);
    let (pairs, pairs_left) = newest(&section.pairs, |(_, quote)| *quote, PAGE);
    let is_plain = section.key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    let title = escaped(section.key, if style == TextStyle::Marked { "<`" } else { "" });
    let entries = text.into_iter().chain(items.iter().map(item)).chain(pairs.iter().map(named)).collect();
    let command = if is_plain { format!("explain {}", section.key) } else { "--json".to_owned() };
    PageSection { command: Some(command), ..PageSection::new(&title, entries, items_left.and(pairs_left)) }
}

/// Gives each of these sections the same room, and what a small one does not need to the greater ones. A section for
/// which there is not even room for its name and a count is left out.
fn share(parts: &mut Vec<PageSection>, mut room: usize) -> LeftOut {
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

impl PageSection {
    fn new(title: &str, entries: Vec<PageEntry>, left: LeftOut) -> PageSection {
        let is_cut = !left.is_none();
        PageSection { title: title.to_owned(), entries, left, is_cut, is_earlier: false, command: None }
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
        match self.is_earlier {
            true => self.left.write_earlier(out),
            false => self.left.write(out, self.command.as_deref()),
        }
    }
}
