//! The flags of `add` that give sections.

use std::collections::BTreeMap;

use shopfloor_core::error::{Failure, Result};

use crate::entry::{Checkpoint, Entry};
use crate::section::Section;

#[derive(clap::Args, Clone, Debug)]
pub struct SectionFlags {
    /// What is being done now
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, help_heading = "Sections")]
    pub now: Option<String>,
    /// What the work is for
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, help_heading = "Sections")]
    pub goal: Option<String>,
    /// Something that was done
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, help_heading = "Sections")]
    pub done: Vec<String>,
    /// Something that was decided; `K=` removes the decision
    #[arg(long, value_name = "K=V", allow_hyphen_values = true, help_heading = "Sections")]
    pub decision: Vec<String>,
    /// A question that is open
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, help_heading = "Sections")]
    pub question: Vec<String>,
    /// A question that is answered, in the words in which it was asked
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, help_heading = "Sections")]
    pub resolve: Vec<String>,
    /// The status of a phase
    #[arg(long, value_name = "PHASE:STATUS", allow_hyphen_values = true, help_heading = "Sections")]
    pub checkpoint: Vec<String>,
}

impl SectionFlags {
    /// What the flags say.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for (section, text) in [(Section::Now, &self.now), (Section::Goal, &self.goal)] {
            if let Some(text) = text {
                entries.push(Entry::Text { section: section.into(), text: not_empty(section, text)?.to_owned() });
            }
        }
        let lists = [
            (Section::ThisSession, &self.done),
            (Section::OpenQuestions, &self.question),
            (Section::Resolved, &self.resolve),
        ];
        for (section, texts) in lists {
            for text in texts {
                entries.push(Entry::Item { section: section.into(), text: not_empty(section, text)?.to_owned() });
            }
        }
        let mut decisions = BTreeMap::new();
        for decision in &self.decision {
            let (key, value) = parts(decision, '=', "`--decision` must be KEY=VALUE", "--decision lexer='by hand'")?;
            // The last value of a key counts, as with any flag.
            decisions.insert(key.trim(), (!value.is_empty()).then(|| value.to_owned()));
        }
        for (key, value) in decisions {
            entries.push(Entry::Pair { section: Section::Decisions.into(), key: key.to_owned(), value });
        }
        for checkpoint in &self.checkpoint {
            let rule = "`--checkpoint` must be PHASE:STATUS";
            let (phase, status) = parts(checkpoint, ':', rule, "--checkpoint 5:validated")?;
            let (phase, status) = (phase.trim().to_owned(), status.trim().to_owned());
            entries.push(Checkpoint { phase, status, ..Checkpoint::default() }.into());
        }
        Ok(entries)
    }
}

/// The two parts of a flag's text. Exit 2 if the first one is empty.
fn parts<'t>(text: &'t str, mark: char, rule: &str, example: &str) -> Result<(&'t str, &'t str)> {
    let parts = text.split_once(mark).filter(|(first, _)| !first.trim().is_empty());
    parts.ok_or_else(|| Failure::usage(format!("{rule}, not `{text}`")).hint(format!("for example `{example}`")))
}

/// Refuses an empty text, which would say nothing.
fn not_empty(section: Section, text: &str) -> Result<&str> {
    if text.trim().is_empty() {
        return Err(Failure::usage(format!("a text for `{}` is empty", section.word()))
            .hint("leave the flag out, or say something"));
    }
    Ok(text)
}
