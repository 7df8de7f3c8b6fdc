//! Where keys and the wheel move: in the list, and in the page of the selected agent.

use shopfloor_core::diff::LineKind;

use super::frame::{broken, places};
use super::keys::Action;
use super::list::{ListLine, lines};
use super::{Desk, DiffRow};
use crate::facts::desk_feed::{Content, PageKind};

/// How far a page key moves.
const HALF: usize = 10;

impl Desk {
    /// The last place to which the page can be turned.
    pub(super) fn last(&self) -> usize {
        let (from, to) = places(self, self.size.1).page;
        let height = usize::from(to.saturating_sub(from));
        let width = usize::from(self.size.0);
        match self.shown().map(|page| &page.content) {
            Some(Content::Diff(_)) => self.diff().map_or(0, |(_, rows)| rows.len().saturating_sub(1)),
            Some(Content::Screen(lines, _)) => lines.len().saturating_sub(height),
            Some(Content::Text(lines)) => {
                lines.iter().map(|line| broken(line, width).len()).sum::<usize>().saturating_sub(height)
            }
            None => 0,
        }
    }

    /// Moves in the list, or in the page. A screen and a log are turned back from their end.
    pub(super) fn go(&mut self, action: Action) {
        let is_up = matches!(action, Action::Up | Action::PageUp | Action::First);
        let by = match action {
            Action::Up | Action::Down => 1,
            Action::PageUp | Action::PageDown => HALF,
            _ => usize::MAX,
        };
        let step = |at: usize, is_less: bool, last: usize| match is_less {
            true => at.saturating_sub(by),
            false => at.saturating_add(by).min(last),
        };
        if self.is_inside {
            let is_screen = matches!(self.shown().map(|page| &page.content), Some(Content::Screen(..)));
            let is_from_end = is_screen || self.kind == PageKind::Log;
            self.at = step(self.at, is_up != is_from_end, self.last());
            self.leave_comments(!is_up);
            return;
        }
        let keys: Vec<_> = lines(self).iter().filter_map(ListLine::key).collect();
        let at = keys.iter().position(|key| Some(key) == self.selected.as_ref()).unwrap_or(0);
        self.turn_to(keys.get(step(at, is_up, keys.len().saturating_sub(1))).cloned());
    }

    /// Comments are no lines to stand on.
    pub(super) fn leave_comments(&mut self, is_down: bool) {
        let Some((_, rows)) = self.diff() else { return };
        let is_line = |at: &usize| !matches!(rows[*at], DiffRow::Comment(..));
        let after = (self.at..rows.len()).find(is_line);
        let before = (0..(self.at + 1).min(rows.len())).rev().find(is_line);
        self.at = if is_down { after.or(before) } else { before.or(after) }.unwrap_or(0);
    }

    /// The first row of a change, where a diff begins to matter.
    pub(super) fn first_change(&self) -> Option<usize> {
        let (review, rows) = self.diff()?;
        rows.iter().position(|row| match row {
            DiffRow::Line(line) => matches!(review.lines[*line].kind, LineKind::Added | LineKind::Removed),
            DiffRow::Stale(_) => true,
            DiffRow::Comment(..) | DiffRow::Cut => false,
        })
    }

    /// To the next or last change or file of a diff.
    pub(super) fn jump(&mut self, action: Action) {
        let Some((review, rows)) = self.diff() else { return };
        let line = |at: usize| match rows[at] {
            DiffRow::Line(line) => Some(&review.lines[line]),
            _ => None,
        };
        let is_change =
            |at: usize| line(at).is_some_and(|line| matches!(line.kind, LineKind::Added | LineKind::Removed));
        let above = |at: usize| rows[..at].iter().rposition(|row| !matches!(row, DiffRow::Comment(..)));
        let begins = |at: &usize| match action {
            Action::NextChange | Action::LastChange => is_change(*at) && !above(*at).is_some_and(is_change),
            // The first change of a file.
            _ => {
                is_change(*at)
                    && !(0..*at).rev().take_while(|at| line(*at).is_none_or(|line| !line.is_file())).any(is_change)
            }
        };
        let to = match action {
            Action::NextChange | Action::NextFile => (self.at + 1..rows.len()).find(begins),
            _ => (0..self.at).rev().find(begins),
        };
        (self.at, self.is_inside) = (to.unwrap_or(self.at), true);
    }

    /// A turn of the wheel over the page.
    pub fn wheel(&mut self, is_up: bool) {
        let inside = std::mem::replace(&mut self.is_inside, true);
        for _ in 0..3 {
            self.go(if is_up { Action::Up } else { Action::Down });
        }
        self.is_inside = inside;
    }
}
