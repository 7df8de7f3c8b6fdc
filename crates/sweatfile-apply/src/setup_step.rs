//! A step of set-up: a command, and what tells whether it has to run again.

use std::time::Duration;

use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::did_you_mean;
use shopfloor_core::time::{DURATIONS, Unit, parse_duration};
use toml::{Table, Value};
use toml_edit::{Item, TableLike};

/// Tells commands the worktree. A run inside its own set-up recognises itself by it.
pub const WORKTREE: &str = "SWEATFILE_WORKTREE";
pub const REPO_ROOT: &str = "SWEATFILE_REPO_ROOT";
/// Tells commands the key of their step, by which they are found if they outlive it.
pub const STEP: &str = "SWEATFILE_STEP";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetupStep {
    /// A line for `sh -c`.
    pub run: String,
    pub name: Option<String>,
    /// Paths below the worktree, and patterns with `*`, `?` and `[`. When their content changes, the step is stale.
    pub inputs: Vec<String>,
    pub timeout: Option<Duration>,
    /// Nobody waits for it.
    pub background: bool,
    /// Whether it is the area's.
    pub is_area: bool,
}

const KEYS: [&str; 5] = ["run", "inputs", "name", "timeout", "background"];

impl SetupStep {
    pub fn plain(run: &str) -> SetupStep {
        SetupStep { run: run.to_owned(), ..SetupStep::default() }
    }

    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.run)
    }

    /// What a person should know of it before approving, behind the command.
    pub fn note(&self) -> String {
        let inputs = (!self.inputs.is_empty()).then(|| format!("again when {} changes", self.inputs.join(", ")));
        let notes: Vec<String> =
            inputs.into_iter().chain(self.background.then(|| "in the background".into())).collect();
        if notes.is_empty() { String::new() } else { format!("   ({})", notes.join("; ")) }
    }

    /// What its state is known by; none for a step of the list that runs as a whole. The text belongs to it.
    pub fn key(&self) -> Option<String> {
        let text = [std::slice::from_ref(&self.run), &self.inputs].concat().join("\0");
        (self.background || !self.inputs.is_empty()).then(|| Digest::of(text.as_bytes()).to_string()[..16].to_owned())
    }

    /// Reads one that is a table. An error names what is wrong.
    pub fn parse(table: &dyn TableLike) -> Result<SetupStep, String> {
        let mut step = SetupStep::default();
        for (key, item) in table.iter() {
            let wrong = |what: &str| format!("`{key}` of a step must be {what}, not {}", item.type_name());
            let text = || item.as_str().map(str::to_owned);
            match key {
                "run" => step.run = text().ok_or_else(|| wrong("a string"))?,
                "name" => step.name = Some(text().filter(|name| is_name(name)).ok_or_else(|| wrong(NAME))?),
                "background" => step.background = item.as_bool().ok_or_else(|| wrong("true or false"))?,
                "inputs" => step.inputs = inputs(item).ok_or("`inputs` of a step must be an array of strings")?,
                "timeout" => {
                    let limit = text().and_then(|text| parse_duration(&text, Unit::Seconds));
                    let limit = limit.filter(|limit| !limit.is_zero());
                    step.timeout = Some(limit.ok_or_else(|| format!("`timeout` of a step: {DURATIONS}, more than 0"))?);
                }
                _ => return Err(format!("unknown key `{key}` of a step{}", did_you_mean(key, &KEYS))),
            }
        }
        if step.run.trim().is_empty() {
            return Err("a step needs `run`, the command".into());
        }
        match step.inputs.iter().find(|input| RelPath::parse(input.trim_end_matches('/')).is_err()) {
            Some(input) => Err(format!("the input `{input}` of a step must be a path below the worktree")),
            None => Ok(step),
        }
    }

    pub fn to_toml(&self) -> Value {
        let mut table = Table::new();
        table.insert("run".into(), self.run.clone().into());
        table.extend(self.name.iter().map(|name| ("name".into(), name.clone().into())));
        if !self.inputs.is_empty() {
            table.insert("inputs".into(), self.inputs.clone().into());
        }
        table.extend(self.timeout.map(|limit| ("timeout".into(), format!("{}s", limit.as_secs_f64()).into())));
        table.extend(self.background.then(|| ("background".into(), true.into())));
        match table.len() {
            1 => self.run.clone().into(),
            _ => Value::Table(table),
        }
    }
}

const NAME: &str = "1 to 40 letters, digits, `-`, `_` and `.`";

fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    (1..=40).contains(&name.len()) && !name.starts_with('.') && name.chars().all(is_plain)
}

fn inputs(item: &Item) -> Option<Vec<String>> {
    let path = |text: &str| text.strip_prefix("./").unwrap_or(text).to_owned();
    item.as_array()?.iter().map(|input| Some(path(input.as_str()?))).collect()
}
