//! What was decided and done, as Markdown for a release note: the sections of a page for readers, without its limits.

use std::io;

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

    /// Writes the notes under a title, one after the other, because there may be a hundred thousand.
    pub fn write(&self, to: &mut dyn io::Write, title: &str) -> io::Result<()> {
        writeln!(to, "## {title}")?;
        title_of(to, Section::Decisions.title(), self.decisions.is_empty())?;
        for (key, told) in &self.decisions {
            to.write_all(decision(key, told).as_bytes())?;
        }
        title_of(to, "Done", self.done.is_empty())?;
        let mut day = None;
        for group in &self.done {
            if day != Some(group.day) {
                write!(to, "\n#### {}\n", group.day)?;
                day = Some(group.day);
            }
            to.write_all(group.line().as_bytes())?;
            for told in &group.told {
                let mut text = String::new();
                bullet(&mut text, told.text, LinePosition::Told, TextStyle::Marked, "");
                to.write_all(text.as_bytes())?;
            }
        }
        title_of(to, Section::Checkpoints.title(), self.checkpoints.is_empty())?;
        for one in &self.checkpoints {
            let mut text = String::new();
            reached(&mut text, one, TextStyle::Marked);
            to.write_all(text.as_bytes())?;
        }
        title_of(to, Section::OpenQuestions.title(), self.questions.is_empty())?;
        for told in &self.questions {
            to.write_all(question(told).as_bytes())?;
        }
        Ok(())
    }
}

/// Writes the title of a section, unless the section is empty.
fn title_of(to: &mut dyn io::Write, title: &str, is_empty: bool) -> io::Result<()> {
    if is_empty {
        return Ok(());
    }
    let mut text = String::new();
    heading(&mut text, title);
    to.write_all(text.as_bytes())
}
