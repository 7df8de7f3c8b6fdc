//! What an agent is told of the ledger at the start of its session: each part as far as there is room for it, with
//! what was left out and the command that shows it.

use shopfloor_core::text::printable;

use super::grouped::{attribution, latest};
use super::model::{ReachedCheckpoint, View};
use crate::joined_ledger::Quote;
use crate::short_id::ShortId;

/// The most characters of one entry.
const ENTRY: usize = 300;

/// The room for the line about what was left out.
const LEFT_OUT: usize = 72;

/// A part of the context.
struct ContextPart {
    title: &'static str,
    /// The command that shows all of it.
    command: &'static str,
    /// Its share of the room, in hundredths; what it does not need goes to the others.
    share: usize,
    lines: Vec<String>,
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
        let note = if self.size() <= room { 0 } else { LEFT_OUT };
        let mut left = room.saturating_sub(self.title.len() + 2 + note);
        let fits = |line: &&String| {
            let fits = line.len() < left;
            left = left.saturating_sub(line.len() + 1);
            fits
        };
        let kept: Vec<String> = self.lines.iter().take_while(fits).cloned().collect();
        let more = self.lines.len() - kept.len();
        let note = (more > 0).then(|| format!("- … {more} more: `{}`", self.command));
        let mut shown = vec![String::new(), self.title.to_owned()];
        shown.extend(kept.into_iter().chain(note));
        let is_short = shown.iter().map(|line| line.len() + 1).sum::<usize>() <= room + 1;
        let brief = format!("… {} more: `{}`", self.lines.len(), self.command);
        match is_short {
            true => shown,
            false if brief.len() < room => vec![brief],
            false => Vec::new(),
        }
    }
}

/// The lines of the context, which take at most `room` bytes.
pub fn context<'j>(view: &View<'j>, room: usize) -> Vec<String> {
    let said = |quote: Quote<'j>| (quote, quote.text.to_owned(), None);
    let asked = |quote: Quote<'j>| (quote, quote.text.to_owned(), Some(ShortId::of_question(quote.text)));
    let decided = |(key, quote): (&'j str, Quote<'j>)| match quote.text {
        "" => (quote, key.to_owned(), None),
        text => (quote, format!("{key}: {text}"), None),
    };
    let reached = |one: &ReachedCheckpoint<'_>| {
        let phase = line(&format!("{}: {}", one.checkpoint.phase, one.checkpoint.status));
        format!("- Phase {phase}{}", attribution(one.by, None))
    };
    // The banner has it if there is only one.
    let nows = if view.nows.len() > 1 { &view.nows[..] } else { &[] };
    let part = |title, command, share, lines| ContextPart { title, command, share, lines };
    let parts = [
        part("Now, by agent:", "ledger-synth explain now", 8, newest_first(nows.iter().copied().map(said))),
        part(
            "Open questions (`ledger-synth add --resolve ID` closes one):",
            "ledger-synth explain open_questions",
            34,
            newest_first(view.open_questions.iter().copied().map(asked)),
        ),
        part(
            "Decisions:",
            "ledger-synth explain decisions",
            38,
            newest_first(view.decisions.iter().copied().map(decided)),
        ),
        part(
            "Checkpoints:",
            "ledger-synth explain checkpoints",
            6,
            latest(&view.checkpoints).into_iter().rev().map(|at| reached(&view.checkpoints[at])).collect(),
        ),
        part(
            "Done, the newest first:",
            "ledger-synth notes",
            12,
            newest_first(view.this_session.iter().copied().map(said)),
        ),
        part(
            "Other sections (`ledger-synth explain NAME` shows one):",
            "ledger-synth --output -",
            2,
            view.others.iter().map(|other| format!("- {}", line(other.key))).collect(),
        ),
    ];
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
        rooms[at] += (*need).min(left / open.max(1));
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

/// The lines of quotes, each with what it says and the id of that, the newest first.
fn newest_first<'j>(quotes: impl Iterator<Item = (Quote<'j>, String, Option<ShortId>)>) -> Vec<String> {
    let mut quotes: Vec<_> = quotes.collect();
    quotes.sort_by(|(a, ..), (b, ..)| (b.by.ts(), b.by.agent(), b.text).cmp(&(a.by.ts(), a.by.agent(), a.text)));
    quotes.iter().map(|(quote, text, id)| format!("- {}{}", line(text), attribution(quote.by, *id))).collect()
}
