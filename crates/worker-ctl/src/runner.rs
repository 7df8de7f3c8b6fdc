//! A runner of a person's own: an argv that is put around the agent's, `[runners.NAME]` of `config.toml`.

use serde::Deserialize;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::text::{nearest, printable};

use crate::slurm::SlurmTable;

/// What holds an agent's program without a runner, and with the built-in one.
pub const NONE: &str = "none";
pub const SANDBOX: &str = "sandbox";

/// Marks the place of the agent's own words.
const AGENT: &str = "{agent...}";

/// What else stands for something.
const FILLED: [&str; 8] = ["worktree", "root", "worker", "home", "tmp", "branch", "git_dir", "git_common_dir"];

/// Whether a word cannot be passed, or has a placeholder that stands for nothing. Other programs use braces too, so within a
/// word only what is nearly one of ours counts.
fn is_odd(word: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let mut names = word.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name);
    let is_nearly_ours = |name: &str| word.len() == name.len() + 2 || nearest(name, &FILLED).is_some();
    word.contains('\0')
        || word != AGENT && word.contains(AGENT)
        || names.any(|name| is_name(name) && !FILLED.contains(&name) && is_nearly_ours(name))
}

/// A runner, as `[runners.NAME]` says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct RunnerTable {
    #[serde(default)]
    pub command: Vec<String>,
    /// It is a job of Slurm instead, which asks for this.
    pub slurm: Option<SlurmTable>,
    /// The variables that pass, beside those of a terminal and ours; without it all do.
    pub env: Option<Vec<String>>,
}

impl RunnerTable {
    /// Exit 2 unless it names a command, the agent's place once at most, placeholders that we fill, and variables.
    pub fn check(&self, name: &str) -> Result<()> {
        let refuse = |why: &str, hint: &str| Err(Failure::malformed(format!("[runners.{name}] {why}")).hint(hint));
        let is_name = |name: &String| {
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let of_job = self.slurm.as_ref().map(|slurm| slurm.command("job"));
        if let Some(word) = of_job.as_ref().unwrap_or(&self.command).iter().find(|word| is_odd(word)) {
            let known = FILLED.map(|name| format!("{{{name}}}")).join(" ");
            return refuse(
                &format!("has the word `{}`, which cannot be filled or passed", printable(word)),
                &format!("placeholders are {known}, and `{AGENT}` as a word of its own"),
            );
        }
        match () {
            () if [NONE, SANDBOX].contains(&name) => refuse("is built in", "choose another name"),
            () if self.slurm.is_some() && !self.command.is_empty() => {
                refuse("has a `command` and `slurm`", "leave one of them")
            }
            () if self.slurm.as_ref().is_some_and(|slurm| slurm.hiding_word().is_some()) => {
                refuse("names its jobs in `extra`", "leave that out: by the names that we give, jobs are found again")
            }
            () if self.slurm.is_none() && self.command.first().is_none_or(|word| word.is_empty() || word == AGENT) => {
                refuse(
                    "has no `command`",
                    "write the words that stand before the agent's, `command = [\"podman\", ...]`, or what a job of Slurm asks for, `slurm = {}`",
                )
            }
            () if self.command.iter().filter(|word| *word == AGENT).count() > 1 => {
                refuse("has two places for the agent", "leave one `{agent...}`")
            }
            () if !self.env.iter().flatten().all(is_name) => {
                refuse("names a variable that is none", "write its name alone, without a value")
            }
            () => Ok(()),
        }
    }

    /// The words before the agent's and those behind, with these placeholders filled, for a job of this name where it is one.
    pub fn words(&self, job: Option<&str>, filled: &[(&str, String)]) -> (Vec<String>, Vec<String>) {
        let of_job = job.and_then(|name| Some(self.slurm.as_ref()?.command(name)));
        let command = of_job.as_ref().unwrap_or(&self.command);
        let fill = |word: &String| {
            filled.iter().fold(word.clone(), |word, (name, value)| word.replace(&format!("{{{name}}}"), value))
        };
        let at = command.iter().position(|word| word == AGENT).unwrap_or(command.len());
        let (before, after) = (&command[..at], command.get(at + 1..).unwrap_or_default());
        (before.iter().map(fill).collect(), after.iter().map(fill).collect())
    }
}
