//! Carries out the steps of a set-up, and records them so that they can be taken back.

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::proc::Status;
use shopfloor_core::ui::{Ui, printable};

use crate::facts::repository::Repository;
use crate::facts::run_tool::command;
use crate::setup_log::Record;
use crate::step::{CommandWords, Step};

/// Variables that name another root than that of this repository.
const WORKER_VARIABLES: [&str; 3] = ["WORKER_CTL_ROOT", "WORKER_CTL_WORKER", "WORKER_CTL_WORKTREE"];

/// Carries out a step, where these files are there already. Returns `false` if one of its commands failed; those after it
/// are not run.
///
/// The record is written before the first command, so that a killed set-up can be taken back. If that one has changed
/// nothing, there is nothing to take back.
pub fn carry_out(ui: &Ui, env: &Env, repository: &Repository, step: &Step, present: &[String]) -> Result<bool> {
    let common_dir = &repository.repo.common_dir;
    let before = Record::load(common_dir)?;
    let mut record = before.clone();
    record.add(step, present);
    record.save(common_dir)?;
    for (n, words) in step.commands.iter().enumerate() {
        let ended = run(ui, env, step.name, words, false)?;
        // What a tool refuses with 2, or leaves to a person with 3, it has not begun.
        if n == 0 && matches!(ended.code(), 2 | 3) {
            before.save(common_dir)?;
        }
        if !ended.success() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Says which command a dry run leaves out.
pub fn show_dry(ui: &Ui, step: &str, words: &CommandWords) {
    let line = words.line();
    ui.json_or_line(&json!({ "step": step, "command": line, "exit": null }), format!("would run {}", printable(&line)));
}

/// Prints a command, runs it, and passes on what it prints: as our own answer if it is one and we answer in lines, else
/// beside it. Returns how it ended.
pub fn run(ui: &Ui, env: &Env, step: &str, words: &CommandWords, is_answer: bool) -> Result<Status> {
    if !ui.is_json() {
        ui.done(printable(&words.line()));
    }
    let output = command(env, &words.0)?.without_vars(&WORKER_VARIABLES).capture()?;
    // Nobody asked what else a doctor finds.
    let is_doctor = words.0.iter().any(|word| word == "doctor");
    for line in String::from_utf8_lossy(&output.stdout).lines().filter(|_| !is_doctor) {
        match is_answer && !ui.is_json() {
            true => ui.done(printable(line)),
            false => ui.relay(&format!("{}: {line}", words.0[0])),
        }
    }
    if ui.is_json() {
        ui.json(&json!({ "step": step, "command": words.line(), "exit": output.status.code() }));
    }
    ui.pass_through(None, &output.stderr);
    if !output.status.success() {
        ui.warn(format!("`{}` ended with {}", printable(&words.line()), output.status));
    }
    Ok(output.status)
}
