//! Steps: what a set-up does for one purpose, in commands that a person could type.

use std::path::Path;

use serde::{Deserialize, Serialize};
use shopfloor_core::text::shell_word;

/// A command and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
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
    /// What takes the commands back, as far as commands can.
    pub undo: Vec<CommandWords>,
    /// The files of the main checkout that the commands may write.
    pub files: Vec<&'static str>,
    /// The git settings of the clone that the commands make.
    pub settings: &'static [&'static str],
}
