//! Takes back what a set-up did: each step by its own tool. What stays is named.

use std::path::Path;

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git;
use shopfloor_core::ui::{Ui, printable};

use super::setup::{run, show_dry};
use crate::facts::remains;
use crate::facts::repository::Repository;
use crate::facts::run_tool::program;
use crate::plan::teardown::commands;
use crate::setup_log::Record;
use crate::step::{CommandWords, LEDGER, OVERLAY};

/// Takes a step back, or in a dry run says how. `doomed` is the overlay, if a person agreed that it is deleted. Returns
/// what stays and why, a line each; nothing if the step is undone.
pub fn undo(
    ui: &Ui,
    env: &Env,
    repository: &Repository,
    step: &str,
    record: &Record,
    doomed: Option<&Path>,
) -> Result<Vec<String>> {
    let mut stays = Vec::new();
    let is_there = remains::read(env, step).is_there;
    if step == OVERLAY && !is_there {
        ui.note("the overlay is not there, so it counts as taken back; worktrees keep their files");
    }
    for words in commands(step, record, is_there) {
        if ui.is_dry() {
            show_dry(ui, step, &words);
            continue;
        }
        // Each line of these names a file or a setting that was taken back.
        let is_answer = words.0.iter().any(|word| word == "--undo");
        // One tool that is missing does not stop the others.
        match run(ui, env, step, &words, is_answer) {
            Ok(ended) if ended.success() => {}
            Ok(_) => stays.push(format!("`{}` failed", printable(&words.line()))),
            Err(failure) => stays.push(failure.to_string()),
        }
    }
    // Without its tool they are as that has set them.
    if step == LEDGER && !ui.is_dry() && program(env, "ledger-synth").is_ok() {
        stays.extend(changed_settings(repository)?);
    }
    // What failed may need it again.
    if let Some(dir) = doomed.filter(|_| step == OVERLAY && stays.is_empty()) {
        let words = CommandWords::new(&["rm", "-r", &dir.to_string_lossy()]);
        if ui.is_dry() {
            show_dry(ui, step, &words);
            return Ok(stays);
        }
        // Somebody may have written to it since the person was asked.
        if remains::only_in_overlay(dir, &repository.main)?.is_empty() {
            fs::remove_tree(dir)?;
            let line = words.line();
            ui.json_or_done(&json!({ "step": step, "command": line, "exit": 0 }), printable(&line));
        }
    }
    // Its commands may have changed what is left.
    stays.extend(remains::read(env, step).blocks);
    Ok(stays)
}

/// The settings of the ledger's merge driver that are still there, and so are a person's. Without one its section goes,
/// which git leaves if there is a comment above it.
fn changed_settings(repository: &Repository) -> Result<Vec<String>> {
    let git_config = |args: &[&str]| {
        let cmd = repository.git.cmd(&repository.main).args(["config", "--local"]);
        cmd.args(args.iter().copied()).capture()
    };
    let found = git_config(&["--name-only", "--get-regexp", "^merge\\.ledger-synth\\."])?;
    let names: Vec<String> = String::from_utf8_lossy(&found.stdout).lines().map(str::to_owned).collect();
    if names.is_empty() {
        git::require_own_config(&repository.repo.common_dir)?;
        git_config(&["--remove-section", "merge.ledger-synth"])?;
    }
    Ok(names.iter().map(|name| format!("the git setting {name} was changed")).collect())
}
