//! What was decided and done, as Markdown for a release note: the sections of a page for readers, without its limits.

use super::escape::{LinePosition, TextStyle};
use super::group::Group;
use super::grouped::{decision, question};
use super::model::{ReachedCheckpoint, View};
use super::write::{bullet, heading, reached};
use crate::joined_ledger::Quote;
use crate::section::Section;
use crate::stored_event::EventRecord;

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
        let style = TextStyle::Marked;
        let mut out = format!("## {title}\n");
        let mut section = |title: &str, entries: Vec<String>| {
            if !entries.is_empty() {
                heading(&mut out, title);
                out.extend(entries);
            }
        };
        let decisions = self.decisions.iter().map(|(key, quote)| decision(key, quote, style));
        section(Section::Decisions.title(), decisions.collect());
        let mut day = None;
        let done = self.done.iter().map(|group| {
            let is_same_day = day.replace(group.day) == Some(group.day);
            let day = if is_same_day { String::new() } else { format!("\n#### {}\n", group.day) };
            let items = group.quotes.iter().map(|quote| bullet(quote.text, LinePosition::Inline, style, ""));
            day + &group.line() + &items.collect::<String>()
        });
        section("Done", done.collect());
        section(Section::Checkpoints.title(), self.checkpoints.iter().map(|one| reached(one, style)).collect());
        section(Section::OpenQuestions.title(), self.questions.iter().map(|quote| question(quote, style)).collect());
        out
    }
}
