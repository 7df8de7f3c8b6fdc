//! Steps: what a set-up does for one purpose, in commands that a person could type.

use std::path::Path;

use shopfloor_core::text::shell_word;

/// The names of the steps.
pub const SWEATFILE: &str = "sweatfile";
pub const OVERLAY: &str = "overlay";
pub const LEDGER: &str = "ledger";
pub const SKILLS: &str = "skills";
pub const WORKERS: &str = "workers";

/// All of them, in their order.
pub const STEPS: [&str; 5] = [SWEATFILE, OVERLAY, LEDGER, SKILLS, WORKERS];

/// The tool whose git hooks a step may install.
pub fn hooked(step: &str) -> Option<&'static str> {
    match step {
        SWEATFILE => Some("sweatfile-apply"),
        OVERLAY => Some("overlay-sync"),
        LEDGER => Some("ledger-synth"),
        _ => None,
    }
}

/// The files of the ledger's step, but for its skill.
pub const LEDGER_FILES: [&str; 3] = [".gitattributes", ".gitignore", ".claude/settings.json"];

/// A command and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandWords(pub Vec<String>);

impl CommandWords {
    pub fn new(words: &[&str]) -> CommandWords {
        CommandWords(words.iter().map(|word| (*word).to_owned()).collect())
    }

    /// The same with more arguments.
    pub fn with(mut self, more: impl IntoIterator<Item = String>) -> CommandWords {
        self.0.extend(more);
        self
    }

    /// The line that a person types.
    pub fn line(&self) -> String {
        self.0.iter().map(|word| shell_word(Path::new(word))).collect::<Vec<_>>().join(" ")
    }
}

/// One purpose of a set-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its name in records.
    pub name: &'static str,
    /// What it is for.
    pub purpose: String,
    pub commands: Vec<CommandWords>,
    /// The tool whose git hooks the commands install.
    pub hooks: Option<&'static str>,
    /// The files of the main checkout that its tool may write or take back.
    pub files: Vec<String>,
}

impl Step {
    pub fn new(name: &'static str, purpose: String) -> Step {
        Step { name, purpose, commands: Vec::new(), hooks: None, files: Vec::new() }
    }
}
