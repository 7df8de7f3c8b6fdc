//! An agent's table: how its program is started, spoken to, and known to be well.

use std::collections::BTreeMap;

use regex_lite::Regex;
use serde::Deserialize;
use shopfloor_core::agents::{self, ProgramDialog, TaskDelivery};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::text::printable;

/// Variables, each with its value.
pub type Variables = Vec<(String, String)>;

/// How a program is run and spoken to. What is missing is off.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AgentTable {
    pub command: Vec<String>,
    /// The variables that the program is started with.
    pub env: BTreeMap<String, String>,
    /// The words that `{skip_permissions}` stands for if permissions are skipped.
    pub skip_permissions: Option<Vec<String>>,
    /// The words that it stands for if they are not.
    pub ask_permissions: Vec<String>,
    /// The model that it runs if none is set.
    pub model: Option<String>,
    /// The words that pass a task to it when it is started with one; `{task}` stands for the text.
    pub task: Vec<String>,
    /// The words after the program's name that make it continue its last conversation.
    pub resume: Vec<String>,
    /// The words that make it continue a certain conversation; `{conversation}` stands for its name.
    pub resume_conversation: Vec<String>,
    /// The known program whose hooks it has.
    pub hooks: Option<String>,
    pub ready: Ready,
    /// Keys for what it shows first, whatever that is.
    pub startup_keys: Vec<String>,
    /// The questions that it may ask first.
    pub dialogs: Vec<Dialog>,
    pub clear: Option<String>,
    pub submit_key: Option<String>,
    pub paste: Paste,
    pub delivery: Delivery,
    pub end: End,
    pub ok_exits: Option<Vec<i32>>,
    pub strip: Vec<String>,
}

/// When it takes input.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ready {
    pub pattern: Option<String>,
    /// The pattern where it continues a conversation, if that is another one.
    #[serde(skip)]
    pub continued: Option<String>,
    pub timeout_secs: Option<u64>,
    pub delay_ms: Option<u64>,
    pub none: bool,
}

/// A question it may ask before it takes input.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Dialog {
    /// A menu that `when` matches, in which the line that `choose` matches is selected and confirmed.
    Menu { when: String, choose: String },
    /// A screen that matches, and the keys for it, which are typed once.
    Keys { pattern: String, keys: Vec<String> },
}

impl Dialog {
    pub fn is_shown(&self, screen: &str) -> bool {
        let (Dialog::Menu { when: pattern, .. } | Dialog::Keys { pattern, .. }) = self;
        regex(pattern).is_ok_and(|pattern| pattern.is_match(screen))
    }
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

/// What ends it, in order: it saves its conversation, and its own hooks run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum End {
    /// The key Ctrl-C. Several programs ignore it while they wait for input.
    #[default]
    #[serde(rename = "C-c")]
    Interrupt,
    /// The signal of a terminal that is closed.
    #[serde(rename = "HUP")]
    Hangup,
    #[serde(rename = "TERM")]
    Terminate,
}

impl AgentTable {
    /// The table of a program that is known.
    pub fn preset(name: &str) -> Option<AgentTable> {
        let program = agents::find(name)?;
        let words = |words: &str| words.split_whitespace().map(str::to_owned).collect();
        let all = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let dialog = |dialog: &ProgramDialog| Dialog::Menu { when: dialog.when.into(), choose: dialog.choose.into() };
        let (delivery, task) = match program.task {
            TaskDelivery::Argv(task) => (Delivery::Argv, all(task)),
            TaskDelivery::Paste => (Delivery::Paste, Vec::new()),
        };
        let timeout_secs = Some(program.ready_secs);
        let [pattern, continued] = program.ready.map(|pattern| Some(pattern.to_owned()));
        Some(AgentTable {
            command: words(program.worker_command),
            env: program.variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            skip_permissions: Some(words(program.skip_permissions)),
            ask_permissions: words(program.ask_permissions),
            model: program.model.map(str::to_owned),
            task,
            resume: words(program.resume),
            resume_conversation: words(program.resume_conversation),
            hooks: program.hooks.map(|_| program.name.to_owned()),
            delivery,
            ready: Ready { pattern, continued, timeout_secs, ..Ready::default() },
            dialogs: program.dialogs.iter().map(dialog).collect(),
            end: End::Hangup,
            clear: program.clear.map(str::to_owned),
            strip: all(program.signatures),
            ..AgentTable::default()
        })
    }

    /// Whether this is how it ends when all is well.
    pub fn is_ok_exit(&self, code: i32) -> bool {
        self.ok_exits.as_deref().unwrap_or(&[0, 130]).contains(&code)
    }

    /// Its patterns, each a regular expression. Exit 2 where one is none.
    pub fn check(&self) -> Result<()> {
        let dialogs = self.dialogs.iter().flat_map(|dialog| match dialog {
            Dialog::Menu { when, choose } => vec![when, choose],
            Dialog::Keys { pattern, .. } => vec![pattern],
        });
        if let Some(word) = self.task.iter().find(|word| word.contains("{task}") && *word != "{task}") {
            return Err(Failure::malformed(format!(
                "`{{task}}` must be a word of its own in `task`, not part of `{word}`"
            )));
        }
        if let Some(name) = self.env.keys().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
            return Err(Failure::malformed(format!("`env` names `{}`, which cannot be a variable", printable(name))));
        }
        if let Some(hooks) = self.hooks.as_deref().filter(|name| agents::find(name).is_none_or(|p| p.hooks.is_none())) {
            let known: Vec<_> = agents::PROGRAMS.iter().filter(|p| p.hooks.is_some()).map(|p| p.name).collect();
            return Err(Failure::malformed(format!("`hooks` names `{hooks}`, whose hooks are not known"))
                .hint(format!("name one of {}", known.join(", "))));
        }
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
        let claude = agents::find("claude").unwrap();
        let shows = |n: usize, screen: &str| regex(claude.dialogs[n].when).unwrap().is_match(screen);
        let bypass = "WARNING: Claude Code running in Bypass Permissions mode\n\n❯ No, exit\n  Yes, I accept\n";
        assert!(shows(2, bypass) && !shows(0, bypass));
        assert!(shows(0, "❯ No, exit\n  Yes, I trust this folder\n"));
        // The line that tells of the mode later on is no question, and a menu is no input line.
        let input = "❯\u{a0}\n  bypass permissions on (shift+tab to cycle)\n";
        assert!((0..3).all(|n| !shows(n, input)));
        let ready = regex(claude.ready[0]).unwrap();
        assert!(ready.is_match(input) && !ready.is_match(bypass));
    }
}
