//! The lowest rows of the desk: the keys that matter now, what is asked, what is written, and what was said.

use ratatui_core::layout::Position;
use ratatui_core::style::Style;
use ratatui_core::text::Span;
use shopfloor_core::board::{Need, Standing, cut};
use shopfloor_core::text::{printable, shell_word};

use super::frame::{BOLD, DIM, Draw, YELLOW, broken};
use super::{Desk, Draft, Mode, What};
use crate::facts::desk_feed::Review;

/// How many rows a question takes at most.
const MOST_ASKED: usize = 3;

impl Draw<'_> {
    /// What was said, in as many of the last rows as it takes.
    fn said(&mut self, said: &str, y: u16) {
        let lines: Vec<String> = said.lines().flat_map(|line| broken(&printable(line), self.room())).collect();
        self.last_rows(&lines, y, YELLOW.into());
    }

    /// How many columns of a row there are for a text.
    pub(super) fn room(&self) -> usize {
        self.width.saturating_sub(2).max(2)
    }

    fn last_rows(&mut self, lines: &[String], y: u16, style: Style) {
        let count = u16::try_from(lines.len()).unwrap_or(y).min(y);
        let first = y + 1 - count;
        for (line, y) in lines.iter().zip(first..=y) {
            self.text(0, y, &" ".repeat(self.width), Style::new());
            self.text(1, y, line, style);
        }
    }

    /// The keys, or what is asked, or what was said.
    pub(super) fn foot(&mut self, desk: &Desk, y: u16) -> Option<Position> {
        if let Some(said) = &desk.said {
            // While a text is written, above it.
            let is_free = matches!(desk.mode, Mode::Browse | Mode::Help);
            self.said(said, if is_free { y } else { y.saturating_sub(1) });
            if is_free {
                return None;
            }
        }
        let Draft { what, to, text } = match &desk.mode {
            Mode::Write(draft) => draft,
            Mode::Land(to, message) => {
                let target = desk.row().and_then(|(_, row)| row.record["target"].as_str().map(printable));
                let target = target.unwrap_or_default();
                let unsent = match desk.review().map_or(0, Review::unsent) {
                    0 => String::new(),
                    count => format!(" without {}", comments(count)),
                };
                let ask = format!("y lands {} on {target}{unsent}, other keys do not: “{message}”", to.worker);
                let mut lines = broken(&ask, self.room());
                if lines.len() > MOST_ASKED {
                    lines.truncate(MOST_ASKED);
                    lines[MOST_ASKED - 1] = cut(&format!("{}…", lines[MOST_ASKED - 1]), self.room());
                }
                self.last_rows(&lines, y, BOLD);
                return None;
            }
            Mode::Browse | Mode::Help => {
                let end = self.text(1, y, &keys(desk), DIM);
                self.right(end + 1, y, &command(desk), DIM);
                return None;
            }
        };
        let title = match what {
            What::Filter => " /".to_owned(),
            What::Send => format!(" message to {}: ", to.worker),
            What::Task => format!(" task for {}: ", to.worker),
            What::Back => format!(" what {} is to change: ", to.worker),
            What::New => " name and task: ".to_owned(),
            What::Comment { place, .. } => format!(" {}: ", printable(place)),
        };
        let room = self.width.saturating_sub(Span::raw(title.as_str()).width() + 1);
        // Its end is what is being written.
        let text = tail(text, room);
        let x = self.text(0, y, &title, BOLD);
        let x = self.text(x, y, &text, Style::new());
        Some(Position { x: u16::try_from(x.min(self.width - 1)).unwrap_or(0), y })
    }
}

fn comments(count: usize) -> String {
    if count == 1 { "1 comment".to_owned() } else { format!("{count} comments") }
}

/// The keys that matter now.
fn keys(desk: &Desk) -> String {
    let standing = desk.row().map(|(_, row)| row.standing());
    let count = desk.review().map_or(0, Review::unsent);
    let back = if count > 0 { format!("x back with {}", comments(count)) } else { "x back".to_owned() };
    let keys = match standing {
        _ if desk.review().is_some() && desk.is_inside => {
            return format!("c comment  e in editor  ]f next file  {back}  a land  ? keys");
        }
        Some(Standing::Needs(Need::Review)) => return format!("r review  a land  {back}  ⏎ attach  ? keys"),
        Some(Standing::Needs(Need::Asks)) if desk.menu().is_some() => "1-9 answer  ⏎ attach  s send  ? keys",
        Some(Standing::Needs(Need::Fresh | Need::Resume | Need::Limited)) => "R resume  ⏎ attach  ? keys",
        Some(Standing::Idle) if desk.target().is_none() => "s give a task  n new  ? keys",
        Some(Standing::Idle) => "s give a task  ⏎ attach  n new  ? keys",
        Some(_) => "⏎ attach  s send  Tab page  n new  ? keys",
        None if desk.shows_idle => "n new  ⏎ hide idle  o oldest  ? keys  q quit",
        None => "n new  ⏎ show idle  o oldest  ? keys  q quit",
    };
    keys.to_owned()
}

/// The command that the key would be.
fn command(desk: &Desk) -> String {
    let Some((_, row)) = desk.row() else { return "shopfloor status".into() };
    let name = shell_word(row.name.as_ref());
    match row.waits_for {
        _ if row.worker.is_none() && row.is_own() => format!("shopfloor start {name} …"),
        _ if row.worker.is_none() => format!("shopfloor adopt {}", shell_word(row.worktree.as_ref())),
        Some("answer") if row.told.need == Some(Need::Asks) => format!("shopfloor answer {name} …"),
        Some("answer") => format!("shopfloor send {name} …"),
        Some("review") => match desk.review().map(|review| review.comments.len()) {
            Some(count) if count > 0 && desk.is_inside => format!("shopfloor back {name} --comments …"),
            _ => format!("shopfloor review {name}"),
        },
        Some("resume") => format!("shopfloor resume {name}"),
        _ => format!("shopfloor attach {name}"),
    }
}

/// The end of a text that takes at most so many columns, as it is shown. No more of a long one is looked at.
fn tail(text: &str, width: usize) -> String {
    let shown = printable(text.char_indices().rev().nth(4 * width).map_or(text, |(at, _)| &text[at..]));
    let starts = shown.char_indices().rev().map(|(at, _)| at);
    let from = starts.take_while(|at| Span::raw(&shown[*at..]).width() <= width).last();
    shown[from.unwrap_or(shown.len())..].to_owned()
}
