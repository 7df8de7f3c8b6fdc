//! The texts that are written at the desk, and what is done with them.

use shopfloor_core::text::printable;

use super::keys::Action;
use super::list::{ListLine, lines};
use super::{Desk, Draft, Effect, Mode, Target, What, key};
use crate::plan::rows::Row;

impl Desk {
    pub(super) fn writing(&mut self, mut draft: Draft, action: Action) -> Option<Effect> {
        match action {
            Action::Type(c) => draft.text.push(c),
            Action::Erase => drop(draft.text.pop()),
            Action::Enter => return self.written(draft),
            _ => draft.text.clear(),
        }
        if draft.what == What::Filter {
            self.filter.clone_from(&draft.text);
            // The selected row is shown even without the word, so none is until the first that has it, in its name above all.
            let before = self.selected.take();
            let all = lines(self);
            let named = all.iter().find(|line| line.row().is_some_and(|row| row.name.contains(&self.filter)));
            let first = named.and_then(ListLine::key).or_else(|| all.iter().find_map(ListLine::key));
            self.selected = before;
            self.turn_to(first);
        }
        if matches!(action, Action::Type(_) | Action::Erase) {
            self.mode = Mode::Write(draft);
        }
        None
    }

    /// What is done with a text. It is kept until the command has taken it.
    pub fn written(&mut self, draft: Draft) -> Option<Effect> {
        let (to, text, is_empty) = (draft.to.clone(), draft.text.clone(), draft.text.trim().is_empty());
        let more: Vec<String> = match &draft.what {
            What::New => {
                let Some((name, task)) = text.trim().split_once(char::is_whitespace) else {
                    self.said = (!is_empty).then(|| "a name and a task, as `fix Mend the parser`".into());
                    self.mode = if is_empty { Mode::Browse } else { Mode::Write(draft) };
                    return None;
                };
                if let Some(row) = self.sites[to.site].rows.iter().find(|row| row.name == name) {
                    if row.worker.is_none() && row.is_own() {
                        let to = beginner(to.site, row);
                        return self.written(Draft { what: What::Task, to, text: task.trim().to_owned() });
                    }
                    self.said =
                        Some(format!("there is a {} already: select it, and `s` gives it a task", printable(name)));
                    self.mode = Mode::Write(draft);
                    return None;
                }
                if name.starts_with('-') {
                    self.said = Some("a name comes first, and none begins with a dash".into());
                    self.mode = Mode::Write(draft);
                    return None;
                }
                // Whatever the task begins with, it is no option.
                let (words, task) = (["shopfloor", "new", name, "--task", "-"], task.trim().to_owned());
                return Some(self.run(to.site, None, &words, (Some(task), Some(draft))));
            }
            What::Comment { before: Some(before), .. } if is_empty => {
                return self.delete(Draft { text: before.clone(), ..draft });
            }
            What::Filter => return None,
            _ if is_empty => return None,
            What::Comment { place, commit, .. } => {
                ["comment", &to.worker, "--commit", commit, "--", place, "-"].map(str::to_owned).into()
            }
            What::Back => ["reject", &to.worker, "-"].map(str::to_owned).into(),
            What::Send => ["message", &to.worker, "-"].map(str::to_owned).into(),
            What::Task => {
                // It starts a program that does not run.
                let words = ["shopfloor", "start", &to.worker, "-"];
                return Some(self.run(to.site, Some(to.key.clone()), &words, (Some(text), Some(draft))));
            }
        };
        let words: Vec<&str> = std::iter::once("worker-ctl").chain(more.iter().map(String::as_str)).collect();
        Some(self.run(to.site, Some(to.key.clone()), &words, (Some(text), Some(draft))))
    }
}

/// Whom the first task in a worktree is for. The id of an agent is nobody else's.
pub(super) fn beginner(site: usize, row: &Row) -> Target {
    let whom = if row.is_own() { &row.id } else { &row.name };
    Target { site, key: key(row), worker: whom.clone() }
}
