//! What an agent is told of the ledger at the start of its session: each part as far as there is room for it, with
//! what was left out and the command that shows it.

use shopfloor_core::text::printable;

use super::contents::{Told, View};
use super::grouped::{latest, said};
use super::newest::newest;
use crate::section::Section;
use crate::short_id::ShortId;

/// The most characters of one entry.
const ENTRY: usize = 300;

/// The room for the line about what was left out.
const LEFT_OUT: usize = 72;

/// A part of the context.
struct ContextPart {
    title: &'static str,
    /// The newest, as many as there could be room for.
    lines: Vec<String>,
    /// How many there are.
    total: usize,
    /// The command that shows all of it.
    command: &'static str,
    /// Its share of the room, in hundredths; what it does not need goes to the others.
    share: usize,
}

impl ContextPart {
    fn size(&self) -> usize {
        let lines: usize = self.lines.iter().map(|line| line.len() + 1).sum();
        if self.lines.is_empty() { 0 } else { lines + self.title.len() + 2 }
    }

    /// Its lines, as many as fit.
    fn shown(&self, room: usize) -> Vec<String> {
        if self.lines.is_empty() {
            return Vec::new();
        }
        let is_whole = self.size() <= room && self.lines.len() == self.total;
        let mut left = room.saturating_sub(self.title.len() + 2 + if is_whole { 0 } else { LEFT_OUT });
        let fits = |line: &&String| {
            let fits = line.len() < left;
            left = left.saturating_sub(line.len() + 1);
            fits
        };
        let kept: Vec<String> = self.lines.iter().take_while(fits).cloned().collect();
        let more = self.total - kept.len();
        let note = (more > 0).then(|| format!("- … {more} more: `{}`", self.command));
        let mut shown = vec![String::new(), self.title.to_owned()];
        shown.extend(kept.into_iter().chain(note));
        let is_short = shown.iter().map(|line| line.len() + 1).sum::<usize>() <= room + 1;
        let brief = format!("… {} more: `{}`", self.total, self.command);
        match is_short {
            true => shown,
            false if brief.len() < room => vec![brief],
            false => Vec::new(),
        }
    }
}

/// The lines of the context, which take at most `room` bytes.
pub fn context(view: &View<'_>, room: usize) -> Vec<String> {
    let parts =
        [nows(view), questions(view, room), decisions(view, room), checkpoints(view), done(view, room), others(view)];
    let rooms = rooms(&parts, room);
    parts.iter().zip(rooms).flat_map(|(part, room)| part.shown(room)).collect()
}

/// Gives each part its share, and what is left to those that need more, the first ones first.
fn rooms(parts: &[ContextPart], room: usize) -> Vec<usize> {
    let mut rooms: Vec<usize> = parts.iter().map(|part| part.size().min(room * part.share / 100)).collect();
    let mut left = room.saturating_sub(rooms.iter().sum());
    // Questions and decisions are what a session needs most: they are filled up in turn.
    let needs: Vec<usize> = parts.iter().zip(&rooms).map(|(part, room)| part.size() - room).collect();
    let open = needs.iter().filter(|need| **need > 0).count();
    for (at, need) in needs.iter().enumerate() {
        let more = (*need).min(left / open.max(1));
        rooms[at] += more;
    }
    left = room.saturating_sub(rooms.iter().sum());
    for (own, part) in rooms.iter_mut().zip(parts) {
        let more = (part.size() - *own).min(left);
        *own += more;
        left -= more;
    }
    rooms
}

fn line(text: &str) -> String {
    let text = printable(&text.replace('\n', " "));
    match text.char_indices().nth(ENTRY) {
        None => text,
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

/// The newest texts that there may be room for, the newest first.
fn newest_first<'j, T: Copy>(all: &[T], told: impl Fn(&T) -> Told<'j>, room: usize) -> Vec<T> {
    // A long text is cut, so it must not keep the others away.
    let cut = |item: &T| {
        let told = told(item);
        let end = told.text.char_indices().nth(ENTRY).map_or(told.text.len(), |(at, _)| at);
        Told { text: &told.text[..end], by: told.by }
    };
    let (mut newest, _) = newest(all, cut, room.max(8 * ENTRY));
    newest.sort_by(|a, b| {
        let (a, b) = (told(a), told(b));
        (b.by.ts, &b.by.agent, b.text).cmp(&(a.by.ts, &a.by.agent, a.text))
    });
    newest
}

/// What each agent does; the banner has it if there is only one.
fn nows(view: &View<'_>) -> ContextPart {
    let lines = match view.nows.as_slice() {
        [] | [_] => Vec::new(),
        nows => nows.iter().map(|now| format!("- {}{}", line(now.text), said(now.by, None))).collect(),
    };
    ContextPart { title: "Now, by agent:", total: lines.len(), lines, command: "ledger-synth explain now", share: 8 }
}

fn questions(view: &View<'_>, room: usize) -> ContextPart {
    let all = view.list(Section::OpenQuestions);
    let entry =
        |told: &Told<'_>| format!("- {}{}", line(told.text), said(told.by, Some(ShortId::of_question(told.text))));
    ContextPart {
        title: "Open questions (`ledger-synth add --resolve ID` closes one):",
        lines: newest_first(all, |told| *told, room).iter().map(entry).collect(),
        total: all.len(),
        command: "ledger-synth explain open_questions",
        share: 34,
    }
}

fn decisions(view: &View<'_>, room: usize) -> ContextPart {
    let all = view.map(Section::Decisions);
    let entry = |(key, told): &(&str, Told<'_>)| {
        let text = if told.text.is_empty() { (*key).to_owned() } else { format!("{key}: {}", told.text) };
        format!("- {}{}", line(&text), said(told.by, None))
    };
    let lines = newest_first(all, |(_, told)| *told, room).iter().map(entry).collect();
    ContextPart { title: "Decisions:", total: all.len(), lines, command: "ledger-synth explain decisions", share: 38 }
}

/// The latest checkpoint of each agent and phase.
fn checkpoints(view: &View<'_>) -> ContextPart {
    let all = view.checkpoints();
    let entry = |at: usize| {
        let one = &all[at];
        format!(
            "- Phase {}{}",
            line(&format!("{}: {}", one.checkpoint.phase, one.checkpoint.status)),
            said(one.by, None)
        )
    };
    let lines: Vec<String> = latest(all).into_iter().rev().map(entry).collect();
    ContextPart {
        title: "Checkpoints:",
        total: lines.len(),
        lines,
        command: "ledger-synth explain checkpoints",
        share: 6,
    }
}

fn done(view: &View<'_>, room: usize) -> ContextPart {
    let all = view.list(Section::ThisSession);
    let entry = |told: &Told<'_>| format!("- {}{}", line(told.text), said(told.by, None));
    let lines = newest_first(all, |told| *told, room).iter().map(entry).collect();
    ContextPart { title: "Done, the newest first:", total: all.len(), lines, command: "ledger-synth notes", share: 12 }
}

/// The names of the other sections.
fn others(view: &View<'_>) -> ContextPart {
    let name = |key: &str| format!("- {}", line(key));
    ContextPart {
        title: "Other sections (`ledger-synth explain NAME` shows one):",
        total: view.others.len(),
        lines: view.others.iter().map(|other| name(other.key)).collect(),
        command: "ledger-synth --output -",
        share: 2,
    }
}
