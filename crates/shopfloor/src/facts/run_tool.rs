//! Asks a tool, and reads its answer.

use std::path::PathBuf;

use serde_json::{Value, json};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::LOCAL_VARS;
use shopfloor_core::proc::{self, Cmd, Status};
use shopfloor_core::ui::in_front_words;

/// What a tool answered with `--json`.
#[derive(Clone, Debug)]
pub struct Answer {
    pub tool: String,
    pub status: Status,
    /// The records on its stdout.
    pub records: Vec<Value>,
    /// Its message, if it failed.
    pub error: Option<String>,
    /// All of its stdout.
    pub text: String,
    /// What it said meanwhile.
    pub said: String,
}

impl Answer {
    /// What there is instead of an answer where the tool could not be started.
    pub fn not_started(failure: &Failure) -> Answer {
        let error = failure.to_json();
        Answer {
            // Its error names it.
            tool: String::new(),
            status: Status::Exited(failure.exit.code().into()),
            error: error["message"].as_str().map(str::to_owned),
            records: vec![json!({ "error": error })],
            text: String::new(),
            said: String::new(),
        }
    }

    /// Whether it failed. Exit 1 is an answer too: no.
    pub fn has_failed(&self) -> bool {
        !matches!(self.status, Status::Exited(0 | 1))
    }

    /// Whether it failed for some of several worktrees only, whose records say why.
    pub fn has_failed_for_some(&self) -> bool {
        let (wrong, well): (Vec<&Value>, Vec<&Value>) =
            self.records.iter().partition(|record| !record["error"].is_null());
        let is_about_one = |record: &&Value| record["worktree"].is_string();
        self.status == Status::Exited(4) && !well.is_empty() && !wrong.is_empty() && wrong.iter().all(is_about_one)
    }

    /// Whether the tool is not set up in this repository, or what it had is not there.
    pub fn is_unused(&self) -> bool {
        self.has_kind("not_initialised") || self.has_lost_root()
    }

    /// Whether the repository records a root of worker-ctl that is not there.
    pub fn has_lost_root(&self) -> bool {
        self.has_kind("not_a_root")
    }

    /// Whether it failed with an error of this kind.
    pub fn has_kind(&self, kind: &str) -> bool {
        self.records.iter().any(|record| record.pointer("/error/kind") == Some(&kind.into()))
    }

    /// How it ended, for a tool that has no message, as one that was killed.
    pub fn end(&self) -> String {
        format!("{} ended with {}", self.tool, self.status)
    }

    /// Its failure, told as ours: a line of its message each, and its hints.
    pub fn told_as(&self, begin: impl FnOnce(String) -> Failure) -> Failure {
        let Some(why) = &self.error else { return begin(self.end()).hint("run the same command again") };
        let mut lines = why.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty());
        let failure = begin(lines.next().unwrap_or_default()).details(lines);
        let hints =
            self.records.iter().find_map(|record| record.pointer("/error/hints")?.as_array()).into_iter().flatten();
        hints.filter_map(Value::as_str).fold(failure, |failure, hint| failure.hint(in_front_words(hint)))
    }

    /// Why it failed, if it did. A tool that died has no message.
    pub fn failure(&self) -> Option<String> {
        self.has_failed().then(|| self.error.clone().unwrap_or_else(|| format!("it ended with {}", self.status)))
    }
}

/// Where a program lies. Exit 4 if it is not on the `PATH`.
pub fn program(env: &Env, name: &str) -> Result<PathBuf> {
    proc::find(env, name).ok_or_else(|| {
        Failure::new(Exit::Failed, "missing_program", format!("{name} is not on the PATH"))
            .hint("install all tools together")
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
    answer_of(&words[0], command(env, &words)?)
}

/// What a command of a tool answers in JSON.
pub fn answer_of(tool: &str, cmd: Cmd) -> Result<Answer> {
    let output = cmd.capture()?;
    let lines = output.stdout.split(|byte| *byte == b'\n');
    let records: Vec<Value> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    // A tool that looked at several worktrees says what is wrong with one in the record of that.
    let message = |record: &Value| {
        let error = record.get("error")?;
        error.get("message").unwrap_or(error).as_str().map(str::to_owned)
    };
    let error = records.iter().find_map(message);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(Answer { tool: tool.to_owned(), status: output.status, records, error, text, said })
}

/// Whether the repository has no root yet.
pub fn lacks_root(env: &Env) -> Result<bool> {
    Ok(ask(env, &["worker-ctl", "status"])?.has_kind("not_initialised"))
}

/// Exit 1 or 2 where the first agent could not make a root.
pub fn require_root(env: &Env) -> Result<()> {
    if proc::find(env, "worker-ctl").is_none() {
        return Ok(());
    }
    let would = ask(env, &["worker-ctl", "-n", "init"])?;
    match would.status.code() {
        1 => Err(would.told_as(|why| Failure::new(Exit::No, "exists", why))),
        2 => Err(would.told_as(Failure::usage)),
        _ => Ok(()),
    }
}

/// The program that a person's settings name for agents.
pub fn usual_agent(env: &Env) -> Result<Option<String>> {
    Ok(set_by_person(env, "agent")?.and_then(|setting| setting["value"].as_str().map(str::to_owned)))
}

/// The program of an agent for which nobody names one: that one, else the root's.
pub fn agent_if_none_is_named(env: &Env) -> Result<Option<String>> {
    if let Some(usual) = usual_agent(env)? {
        return Ok(Some(usual));
    }
    let settings = ask(env, &["worker-ctl", "config"])?.records;
    let own = settings.iter().find(|setting| setting["name"] == "agent");
    Ok(own.and_then(|setting| setting["value"].as_str().map(str::to_owned)))
}

/// A setting of worktree-spawn, if a person has set it.
pub fn set_by_person(env: &Env, name: &str) -> Result<Option<Value>> {
    let settings = ask(env, &["worktree-spawn", "config"])?.records;
    Ok(settings.into_iter().find(|setting| setting["name"] == name && setting["source"] != "default"))
}
