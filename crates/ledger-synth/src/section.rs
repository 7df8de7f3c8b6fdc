//! The sections that have rules of their own. This file alone knows their words, titles, shapes and order.

use std::cmp::Ordering;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A section that is merged and shown by its name. All other sections are merged by the shape of their text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Section {
    Now,
    Goal,
    ThisSession,
    Decisions,
    Checkpoints,
    OpenQuestions,
    /// Never shown: it closes open questions.
    Resolved,
}

/// How a section is written and merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One text; the newest counts.
    Register,
    /// A set of texts.
    List,
    /// A text for each key; the newest per key counts.
    Map,
    /// Every checkpoint is kept.
    Checkpoints,
}

impl Section {
    /// Every section, in the order of an event file.
    pub const ALL: [Section; 7] = [
        Section::Now,
        Section::Goal,
        Section::ThisSession,
        Section::Decisions,
        Section::Checkpoints,
        Section::OpenQuestions,
        Section::Resolved,
    ];

    /// The word in event files, the title in `current.md`, and the shape.
    const fn rule(self) -> (&'static str, &'static str, Shape) {
        match self {
            Section::Now => ("now", "Now", Shape::Register),
            Section::Goal => ("goal", "Goal", Shape::Register),
            Section::ThisSession => ("this_session", "This Session", Shape::List),
            Section::Decisions => ("decisions", "Decisions", Shape::Map),
            Section::Checkpoints => ("checkpoints", "Checkpoints", Shape::Checkpoints),
            Section::OpenQuestions => ("open_questions", "Open Questions", Shape::List),
            Section::Resolved => ("resolved", "Resolved", Shape::List),
        }
    }

    /// The word in event files.
    pub const fn word(self) -> &'static str {
        self.rule().0
    }

    /// The title in `current.md`.
    pub const fn title(self) -> &'static str {
        self.rule().1
    }

    pub const fn shape(self) -> Shape {
        self.rule().2
    }

    /// Other names under which handoff files have the section.
    pub const fn aliases(self) -> &'static [&'static str] {
        match self {
            Section::Now => &["current", "current_focus", "current_task", "in_progress", "working_on"],
            Section::Goal => &["goals", "objective", "objectives", "current_goal"],
            Section::ThisSession => &[
                "done_this_session",
                "done",
                "completed",
                "completed_this_session",
                "completed_tasks",
                "completed_work",
                "accomplished",
                "accomplishments",
                "what_was_done",
                "what_i_did",
                "work_completed",
                "work_done",
            ],
            Section::Decisions => &[
                "decision",
                "key_decisions",
                "decisions_made",
                "key_decisions_made",
                "important_decisions",
                "technical_decisions",
                "design_decisions",
                "architecture_decisions",
                "architectural_decisions",
                "decisions_and_rationale",
            ],
            Section::Checkpoints => &["checkpoint", "phases", "phase_status"],
            Section::OpenQuestions => &["questions", "open_question", "unresolved_questions", "outstanding_questions"],
            Section::Resolved => &["resolved_questions"],
        }
    }

    /// The section with exactly this word.
    fn from_word(word: &str) -> Option<Section> {
        Section::ALL.into_iter().find(|section| section.word() == word)
    }

    /// The section that this spelling means: `Open Questions`, `open-questions`, `open_questions`.
    pub fn from_spelling(key: &str) -> Option<Section> {
        Section::from_word(key).or_else(|| Section::from_word(&key.to_lowercase().replace([' ', '-'], "_")))
    }

    /// The section that a name means in handoff files: `Key Decisions`, `✅ Done (recent)`, `3. Goal:`.
    pub fn meant(name: &str) -> Option<Section> {
        let is_mark = |c: char| !c.is_alphanumeric();
        let bare = name.trim_start_matches(is_mark);
        let number = bare.bytes().take_while(u8::is_ascii_digit).count();
        let bare = bare[number..].strip_prefix(['.', ')']).filter(|_| number > 0).unwrap_or(bare);
        let bare = bare.split(['(', '/']).next().unwrap_or_default().trim_matches(is_mark);
        let plain = bare.to_lowercase().replace('&', "and").replace([' ', '-'], "_");
        let is_it = |section: &Section| section.word() == plain || section.aliases().contains(&&*plain);
        Section::ALL.into_iter().find(is_it)
    }
}

/// The name of a section in an event: a section with rules of its own, or any other word.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SectionName {
    Known(Section),
    /// Never the word of a [`Section`].
    Other(Box<str>),
}

/// The section of checkpoints.
pub static CHECKPOINTS: SectionName = SectionName::Known(Section::Checkpoints);

impl SectionName {
    /// The name that a person's spelling means. A name without rules stays as it is written.
    pub fn from_spelling(key: String) -> SectionName {
        Section::from_spelling(&key).map_or_else(|| SectionName::Other(key.into()), SectionName::Known)
    }

    /// The name that a name means in handoff files, see [`Section::meant`].
    pub fn meant(name: &str) -> SectionName {
        Section::meant(name).map_or_else(|| SectionName::Other(name.into()), SectionName::Known)
    }

    /// The section, if it has rules of its own.
    pub fn section(&self) -> Option<Section> {
        match self {
            SectionName::Known(section) => Some(*section),
            SectionName::Other(_) => None,
        }
    }

    pub fn shape(&self) -> Option<Shape> {
        self.section().map(Section::shape)
    }

    /// The word that a name was probably meant to be, if it is none but nearly one.
    pub fn near(&self) -> Option<&'static str> {
        let SectionName::Other(name) = self else { return None };
        let plain = name.to_lowercase().replace([' ', '-'], "_");
        let near = |word: &&str| plain.len() > 3 && strsim::damerau_levenshtein(&plain, word) <= 1 + word.len() / 8;
        let alias = Section::ALL.into_iter().find(|section| section.aliases().contains(&&*plain)).map(Section::word);
        alias.or_else(|| Section::ALL.map(Section::word).into_iter().find(near))
    }

    pub fn as_str(&self) -> &str {
        match self {
            SectionName::Known(section) => section.word(),
            SectionName::Other(word) => word,
        }
    }
}

impl From<Section> for SectionName {
    fn from(section: Section) -> Self {
        SectionName::Known(section)
    }
}

impl From<&str> for SectionName {
    fn from(word: &str) -> Self {
        Section::from_word(word).map_or_else(|| SectionName::Other(word.into()), SectionName::Known)
    }
}

impl PartialEq<Section> for SectionName {
    fn eq(&self, other: &Section) -> bool {
        self.section() == Some(*other)
    }
}

/// In bytewise order of the words: the identity of an event depends on it.
impl Ord for SectionName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl PartialOrd for SectionName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Serialize for SectionName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for SectionName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|word| SectionName::from(&*word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_has_a_word_of_its_own_and_is_found_by_any_spelling() {
        for section in Section::ALL {
            assert_eq!(Section::from_spelling(section.word()), Some(section));
            assert_eq!(Section::from_spelling(section.title()), Some(section));
            assert_eq!(SectionName::from(section.word()), SectionName::from(section));
        }
        assert_eq!(SectionName::from_spelling("Next-Steps".into()).as_str(), "Next-Steps");
        let near = |name: &'static str| SectionName::from_spelling(name.into()).near();
        for (name, word) in [
            ("decission", "decisions"),
            ("Decision", "decisions"),
            ("this sesion", "this_session"),
            ("checkpoint", "checkpoints"),
            ("goals", "goal"),
            ("open_question", "open_questions"),
        ] {
            assert_eq!(near(name), Some(word), "{name}");
        }
        assert_eq!((near("done"), near("Questions")), (Some("this_session"), Some("open_questions")));
        for name in ["now", "new", "next", "blockers", "risks", "notes", "good"] {
            assert_eq!(near(name), None, "{name}");
        }
        assert_eq!(SectionName::from("Now").section(), None);
    }
}
