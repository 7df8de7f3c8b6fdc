//! Comments on the lines of a diff: which one is meant, and what a key does with it.

use super::keys::Action;
use super::{Desk, DiffRow, Draft, Effect, Mode, Target, What, place};
use crate::facts::desk_feed::Review;

impl Desk {
    pub(super) fn comment(&mut self, action: Action, to: Target) -> Option<Effect> {
        if action == Action::Restore {
            let deleted = self.deleted.clone().filter(|deleted| deleted.to == to);
            self.said = deleted.is_none().then(|| "no comment of this agent was deleted here".into());
            return self.written(deleted?);
        }
        let is_line = |row: &DiffRow, review: &Review| match row {
            DiffRow::Line(line) => review.lines[*line].number().is_some(),
            DiffRow::Stale(_) => true,
            DiffRow::Comment(..) | DiffRow::Cut => false,
        };
        // What is said at the head of a file is about its first line.
        let next = self.diff().and_then(|(review, rows)| (self.at..rows.len()).find(|at| is_line(&rows[*at], review)));
        self.at = next.unwrap_or(self.at);
        let Some((draft, is_stale)) = self.comment_here(to) else {
            self.said = Some("comments belong to lines of a diff: `r` shows it".into());
            // What is typed as a comment all the same is no command.
            self.deaf = Some(self.now);
            return None;
        };
        match action {
            Action::Delete if matches!(draft.what, What::Comment { before: Some(_), .. }) => return self.delete(draft),
            Action::Delete => self.said = Some("no comment is on this line".into()),
            _ if is_stale => self.said = Some("its line is gone: `x` sends it as it is, `d` deletes it".into()),
            Action::Edit => return Some(Effect::Edit(draft)),
            _ => self.mode = Mode::Write(draft),
        }
        None
    }

    /// Deletes a comment, whose text can be taken back.
    pub(super) fn delete(&mut self, draft: Draft) -> Option<Effect> {
        let What::Comment { place, .. } = &draft.what else { return None };
        let (to, place) = (draft.to.clone(), place.clone());
        let words = ["worker-ctl", "comment", &to.worker, "--delete", "--", &place];
        Some(self.run(to.site, Some(to.key.clone()), &words, (None, Some(draft))))
    }

    /// The comment at the selected row of the diff, or a new one, and whether its line is gone.
    fn comment_here(&self, to: Target) -> Option<(Draft, bool)> {
        let (review, rows) = self.diff()?;
        let text = |at: usize| review.comments[at]["text"].as_str().unwrap_or_default().to_owned();
        let (place, text, gone) = match rows.get(self.at)? {
            DiffRow::Stale(at) => {
                let comment = &review.comments[*at];
                let old = if comment["side"] == "old" { "-" } else { "" };
                let path = comment["path"].as_str().unwrap_or_default();
                (format!("{path}:{old}{}", comment["line"]), Some(text(*at)), comment["stale"].as_str())
            }
            DiffRow::Line(line) => {
                let there = rows.get(self.at + 1).and_then(|row| match row {
                    DiffRow::Comment(at, _) => Some(text(*at)),
                    _ => None,
                });
                (place(&review.lines[*line])?, there, None)
            }
            DiffRow::Comment(..) | DiffRow::Cut => return None,
        };
        let commit = gone.unwrap_or(&review.commit).to_owned();
        let what = What::Comment { place, commit, before: text.clone() };
        Some((Draft { what, to, text: text.unwrap_or_default() }, gone.is_some()))
    }
}
