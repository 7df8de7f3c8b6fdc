//! Asks a tool, and reads its answer.

use std::path::PathBuf;

use serde_json::Value;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::LOCAL_VARS;
use shopfloor_core::proc::{self, Cmd, Status};

/// What a tool answered with `--json`.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: Status,
    /// The records on its stdout.
    pub records: Vec<Value>,
    /// Its message, if it failed.
    pub error: Option<String>,
}

impl Answer {
    /// Whether it failed. Exit 1 is an answer too: no.
    pub fn has_failed(&self) -> bool {
        !matches!(self.status, Status::Exited(0 | 1))
    }
}

/// Where a program lies. Exit 4 if it is not on the `PATH`.
pub fn program(env: &Env, name: &str) -> Result<PathBuf> {
    proc::find(env, name).ok_or_else(|| {
        Failure::new(Exit::Failed, "missing_program", format!("{name} is not on the PATH"))
            .hint("install all tools together, with `cargo xtask install`")
    })
}

/// A command that runs where we run.
pub fn command(env: &Env, words: &[String]) -> Result<Cmd> {
    let name = words.first().map(String::as_str).unwrap_or_default();
    let cmd = Cmd::new(&program(env, name)?, env).args(words.iter().skip(1));
    // `-C` means another repository than the variables of a hook.
    Ok(if env.cwd_named { cmd.without_vars(LOCAL_VARS) } else { cmd })
}

/// Asks a tool for JSON.
pub fn ask(env: &Env, words: &[&str]) -> Result<Answer> {
    let words: Vec<String> = words.iter().copied().chain(["--json"]).map(str::to_owned).collect();
    let output = command(env, &words)?.capture()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let records: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let message = records.iter().find_map(|record| record.pointer("/error/message")?.as_str());
    let error = message.map(str::to_owned);
    Ok(Answer { status: output.status, records, error })
}
