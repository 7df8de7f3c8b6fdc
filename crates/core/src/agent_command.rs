//! The words that a program is started with, as its table says.

use std::path::Path;

/// The tools of claude that change nothing, which it may use unasked where it asks.
pub const READING_TOOLS: &str = "Read,Glob,Grep";

/// What the fields of a `command` stand for.
#[derive(Clone, Copy, Debug)]
pub struct CommandFields<'a> {
    /// `{worktree}`.
    pub worktree: &'a Path,
    /// `{git_dir}`.
    pub git_dir: &'a Path,
    /// `{git_common_dir}`.
    pub git_common_dir: &'a Path,
    /// `{model}`, if there is one.
    pub model: Option<&'a str>,
    /// `{skip_permissions}`: the words for a program that skips permissions, or for one that asks.
    pub permissions: &'a [String],
    /// `{allowed_tools}`.
    pub allowed_tools: &'a str,
    /// `{hooks}`.
    pub hooks: &'a [String],
}

impl CommandFields<'_> {
    /// The argv that a `command` stands for. Without a model, a word `{model}` and the flag before it are left out.
    pub fn argv(&self, command: &[String]) -> Vec<String> {
        let mut argv = Vec::new();
        for word in command {
            match (word.as_str(), self.model) {
                ("{hooks}", _) => argv.extend_from_slice(self.hooks),
                ("{skip_permissions}", _) => argv.extend(self.permissions.iter().map(|word| self.with_dirs(word))),
                ("{allowed_tools}", _) => argv.push(self.allowed_tools.to_owned()),
                ("{model}", None) => drop(argv.pop()),
                (word, model) => argv.push(self.with_dirs(word).replace("{model}", model.unwrap_or_default())),
            }
        }
        argv
    }

    fn with_dirs(&self, word: &str) -> String {
        let dirs =
            [("{worktree}", self.worktree), ("{git_dir}", self.git_dir), ("{git_common_dir}", self.git_common_dir)];
        dirs.into_iter().fold(word.to_owned(), |word, (field, dir)| word.replace(field, &dir.to_string_lossy()))
    }
}

/// The words of a table's `task` before and after the text that they pass.
pub fn task_words(task: &[String]) -> (&[String], &[String]) {
    let at = task.iter().position(|word| word == "{task}").unwrap_or(task.len());
    (&task[..at], task.get(at + 1..).unwrap_or_default())
}
