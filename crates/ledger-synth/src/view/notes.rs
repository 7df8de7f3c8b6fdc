//! What was decided and done, as Markdown for a release note: the sections of a page for readers, without its limits.

use super::contents::{ReachedCheckpoint, Told, View};
use super::escape::LinePosition;
use super::group::Group;
use super::grouped::{decision, question};
use super::write::{TextStyle, bullet, heading, reached};
use crate::section::Section;
use crate::source::Source;

/// What was said by the events that count.
pub struct Notes<'v> {
    pub decisions: Vec<(&'v str, Told<'v>)>,
    pub done: Vec<Group<'v>>,
    pub checkpoints: Vec<ReachedCheckpoint<'v>>,
    pub questions: Vec<Told<'v>>,
}

impl<'v> Notes<'v> {
    /// What the events said that count.
    pub fn new(view: &View<'v>, counts: impl Fn(&Source<'_>) -> bool) -> Notes<'v> {
        let list = |section| view.list(section).iter().filter(|told| counts(told.by)).copied();
        Notes {
            decisions: view.map(Section::Decisions).iter().filter(|(_, told)| counts(told.by)).copied().collect(),
            done: Group::all(&list(Section::ThisSession).collect::<Vec<_>>()),
            checkpoints: view.checkpoints().iter().filter(|one| counts(one.by)).copied().collect(),
            questions: list(Section::OpenQuestions).collect(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.decisions.is_empty() && self.done.is_empty() && self.checkpoints.is_empty() && self.questions.is_empty()
    }

    /// Renders the notes under a title.
    pub fn render(&self, title: &str) -> String {
        let mut out = format!("## {title}\n");
        if !self.decisions.is_empty() {
            heading(&mut out, Section::Decisions.title());
            self.decisions.iter().for_each(|(key, told)| out.push_str(&decision(key, told)));
        }
        if !self.done.is_empty() {
            heading(&mut out, "Done");
        }
        let mut day = None;
        for group in &self.done {
            if day != Some(group.day) {
                out.push_str(&format!("\n#### {}\n", group.day));
                day = Some(group.day);
            }
            out.push_str(&group.line());
            group.told.iter().for_each(|told| bullet(&mut out, told.text, LinePosition::Told, TextStyle::Marked, ""));
        }
        if !self.checkpoints.is_empty() {
            heading(&mut out, Section::Checkpoints.title());
            self.checkpoints.iter().for_each(|one| reached(&mut out, one, TextStyle::Marked));
        }
        if !self.questions.is_empty() {
            heading(&mut out, Section::OpenQuestions.title());
            self.questions.iter().for_each(|told| out.push_str(&question(told)));
        }
        out
    }
}
