//! What was decided and done, as Markdown for a release note: the sections of a page for readers, without its limits.

use super::contents::{ReachedCheckpoint, View};
use super::escape::{LinePosition, TextStyle};
use super::group::Group;
use super::grouped::{decision, question};
use super::write::{bullet, heading, reached};
use crate::join::Quote;
use crate::record::EventRecord;
use crate::section::Section;

/// What was said by the events that count.
pub struct Notes<'v> {
    pub decisions: Vec<(&'v str, Quote<'v>)>,
    pub done: Vec<Group<'v>>,
    pub checkpoints: Vec<ReachedCheckpoint<'v>>,
    pub questions: Vec<Quote<'v>>,
}

impl<'v> Notes<'v> {
    /// What the events said that count.
    pub fn new(view: &View<'v>, counts: impl Fn(&EventRecord) -> bool) -> Notes<'v> {
        let heard = |quotes: &[Quote<'v>]| -> Vec<Quote<'v>> {
            quotes.iter().filter(|quote| counts(quote.by)).copied().collect()
        };
        Notes {
            decisions: view.decisions.iter().filter(|(_, quote)| counts(quote.by)).copied().collect(),
            done: Group::all(&heard(&view.this_session)),
            checkpoints: view.checkpoints.iter().filter(|one| counts(one.by)).copied().collect(),
            questions: heard(&view.open_questions),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.decisions.is_empty() && self.done.is_empty() && self.checkpoints.is_empty() && self.questions.is_empty()
    }

    /// The notes under a title.
    pub fn render(&self, title: &str) -> String {
        let mut out = format!("## {title}\n");
        if !self.decisions.is_empty() {
            heading(&mut out, Section::Decisions.title());
        }
        self.decisions.iter().for_each(|(key, quote)| out.push_str(&decision(key, quote)));
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
            group
                .quotes
                .iter()
                .for_each(|quote| bullet(&mut out, quote.text, LinePosition::Inline, TextStyle::Marked, ""));
        }
        if !self.checkpoints.is_empty() {
            heading(&mut out, Section::Checkpoints.title());
        }
        self.checkpoints.iter().for_each(|one| reached(&mut out, one, TextStyle::Marked));
        if !self.questions.is_empty() {
            heading(&mut out, Section::OpenQuestions.title());
        }
        self.questions.iter().for_each(|quote| out.push_str(&question(quote)));
        out
    }
}
