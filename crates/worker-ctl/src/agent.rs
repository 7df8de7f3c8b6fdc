//! An agent's table: how its program is started, spoken to, and known to be well.

use regex_lite::Regex;
use serde::Deserialize;
use shopfloor_core::agents::{self, ProgramDialog};
use shopfloor_core::error::{Failure, Result};

/// How a program is run and spoken to. What is missing is off.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AgentTable {
    pub command: Vec<String>,
    pub ready: Ready,
    /// Keys for what it shows first, whatever that is.
    pub startup_keys: Vec<String>,
    /// Keys for what it shows first, where that matches.
    pub dialogs: Vec<Dialog>,
    pub clear: Option<String>,
    pub submit_key: Option<String>,
    pub paste: Paste,
    pub delivery: Delivery,
    pub ok_exits: Option<Vec<i32>>,
    pub strip: Vec<String>,
}

/// When it takes input.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ready {
    pub pattern: Option<String>,
    pub timeout_secs: Option<u64>,
    pub delay_ms: Option<u64>,
    pub none: bool,
}

/// A question it may ask before it takes input.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dialog {
    pub pattern: String,
    pub keys: Vec<String>,
}

/// How a text gets into it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Paste {
    /// As one paste, whose line ends submit nothing.
    #[default]
    Bracketed,
    /// Each line is submitted.
    Lines,
    /// In a file, of which one line tells.
    File,
}

/// How it gets its task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Delivery {
    /// Typed into it.
    #[default]
    Paste,
    /// Started anew with it as the last argument.
    Argv,
}

impl AgentTable {
    /// The table of a program that is known.
    pub fn preset(name: &str) -> Option<AgentTable> {
        let program = agents::find(name)?;
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let dialog = |dialog: &ProgramDialog| Dialog { pattern: dialog.pattern.into(), keys: words(dialog.keys) };
        Some(AgentTable {
            command: words(program.worker_command),
            ready: Ready { pattern: Some(program.ready.into()), timeout_secs: Some(30), ..Ready::default() },
            dialogs: program.dialogs.iter().map(dialog).collect(),
            clear: program.clear.map(str::to_owned),
            strip: words(program.signatures),
            ..AgentTable::default()
        })
    }

    /// Whether this is how it ends when all is well.
    pub fn is_ok_exit(&self, code: i32) -> bool {
        self.ok_exits.as_deref().unwrap_or(&[0, 130]).contains(&code)
    }

    /// Its patterns, each a regular expression. Exit 2 where one is none.
    pub fn check(&self) -> Result<()> {
        let dialogs = self.dialogs.iter().map(|dialog| &dialog.pattern);
        self.strip.iter().chain(&self.ready.pattern).chain(dialogs).try_for_each(|pattern| regex(pattern).map(drop))
    }
}

/// A pattern of the configuration, one line at a time.
pub fn regex(pattern: &str) -> Result<Regex> {
    Regex::new(&format!("(?m){pattern}"))
        .map_err(|e| Failure::malformed(format!("`{pattern}` is no regular expression")).because(e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_hold_and_know_what_is_shown_first() {
        for program in agents::PROGRAMS {
            AgentTable::preset(program.name).unwrap().check().unwrap();
        }
        let claude = AgentTable::preset("claude").unwrap();
        let shows = |n: usize, screen: &str| regex(&claude.dialogs[n].pattern).unwrap().is_match(screen);
        let bypass = "WARNING: Claude Code running in Bypass Permissions mode\n\n❯ 1. No, exit\n  2. Yes, I accept\n";
        assert!(shows(1, bypass) && !shows(0, bypass));
        assert!(shows(0, "Do you trust the files in this folder?\n❯ 1. Yes, proceed\n  2. No, exit\n"));
        // The line that tells of the mode later on is no question.
        assert!(!shows(1, "> \n  bypass permissions on (shift+tab to cycle)\n"));
    }
}
