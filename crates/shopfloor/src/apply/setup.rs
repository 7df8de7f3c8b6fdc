//! Carries out the steps of a set-up, and records them so that they can be taken back.

use std::path::Path;

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs::{self, Root};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::ui::{Ui, printable};

use crate::deed::{Deed, FileDeed, Record};
use crate::facts::answers::{ask, command};
use crate::facts::repository::Repository;
use crate::step::{CommandWords, OVERLAY, Step, WORKERS};
use crate::tool::record_file;

/// Variables that name another root than that of this repository.
const WORKER_VARIABLES: [&str; 3] = ["WORKER_CTL_ROOT", "WORKER_CTL_WORKER", "WORKER_CTL_WORKTREE"];

/// A command that was run, with `--json`.
#[derive(Serialize)]
pub struct StepAnswer<'a> {
    pub step: &'a str,
    pub command: String,
    /// What it exited with; none in a dry run.
    pub exit: Option<i32>,
}

/// Carries out a step. Returns `false` if one of its commands failed; those after it are not run.
///
/// The record is written before the first command and after the last one, so that a killed set-up can be taken back.
pub fn carry_out(ui: &Ui, env: &Env, repository: &Repository, step: &Step) -> Result<bool> {
    let file = record_file(&repository.repo.common_dir);
    let root = Root::open(&repository.main)?;
    let record = Record::load(&file)?;
    let config = repository.repo.common_dir.join("config");
    let mut deed = begun(env, repository, &root, step)?;
    record.with(deed.clone()).save(&file)?;
    let mut done = Ok(true);
    for words in &step.commands {
        done = run(ui, env, step.name, words);
        // Look after each command, because the next one may be killed.
        for file in &mut deed.files {
            file.after = root.read(&rel(&file.path)?)?.as_deref().map(Digest::of);
        }
        if let Some(file) = &mut deed.config {
            file.after = fs::read(&config)?.as_deref().map(Digest::of);
        }
        if step.name == OVERLAY && deed.overlay.is_none() {
            deed.overlay = overlay(env)?;
        }
        record.with(deed.clone()).save(&file)?;
        if !matches!(done, Ok(true)) {
            break;
        }
    }
    if deed.root.as_deref().is_some_and(|root| !Path::new(root).exists()) {
        deed.root = None;
    }
    let mut is_there = |name: &String| setting(repository, name).is_ok_and(|value| value.is_some());
    deed.settings.retain(&mut is_there);
    if let Some(tool) = step.hooks
        && !ask(env, &[tool, "hook", "status"])?.status.success()
    {
        deed.hooks = None;
    }
    deed.is_running = false;
    record.with(deed).save(&file)?;
    done
}

/// What a step is about to do, and what was there before.
fn begun(env: &Env, repository: &Repository, root: &Root, step: &Step) -> Result<Deed> {
    let mut deed = Deed {
        step: step.name.to_owned(),
        commands: step.commands.clone(),
        hooks: step.hooks.map(str::to_owned),
        files: Vec::new(),
        settings: Vec::new(),
        config: None,
        is_running: true,
        overlay: None,
        root: None,
    };
    for path in &step.files {
        // What cannot be read, or is no text, no tool edits.
        let Ok(before) = root.read(&rel(path)?) else { continue };
        let after = before.as_deref().map(Digest::of);
        let Ok(before) = before.map(String::from_utf8).transpose() else { continue };
        deed.files.push(FileDeed { path: (*path).to_owned(), before, after });
    }
    if !step.settings.is_empty()
        && let Some(text) = fs::read(&repository.repo.common_dir.join("config"))?
    {
        let after = Some(Digest::of(&text));
        let before = String::from_utf8(text).ok();
        deed.config = before.map(|text| FileDeed { path: "config".to_owned(), before: Some(text), after });
    }
    for (name, _) in step.settings {
        if setting(repository, name)?.is_none() {
            deed.settings.push((*name).to_owned());
        }
    }
    if step.name == WORKERS {
        let planned = ask(env, &["worker-ctl", "init", "-n"])?.records;
        deed.root = planned.iter().find_map(|answer| answer["root"].as_str().map(str::to_owned));
    }
    Ok(deed)
}

/// The overlay of the repository, if there is one.
fn overlay(env: &Env) -> Result<Option<String>> {
    let findings = ask(env, &["overlay-sync", "doctor"])?.records;
    let overlay = findings.iter().find(|finding| finding["check"] == "overlay" && finding["ok"] == true);
    let path = overlay.and_then(|finding| finding["detail"].as_str()).filter(|path| Path::new(path).is_dir());
    Ok(path.map(str::to_owned))
}

/// Prints a command, runs it, and passes on what it prints. Returns whether it succeeded.
pub fn run(ui: &Ui, env: &Env, step: &str, words: &CommandWords) -> Result<bool> {
    if !ui.is_json() {
        ui.done(printable(&words.line()));
    }
    let output = command(env, &words.0)?.without_vars(&WORKER_VARIABLES).capture()?;
    // Stdout is for our own answer.
    [&output.stdout, &output.stderr].into_iter().for_each(|text| ui.pass_through(None, text));
    if ui.is_json() {
        ui.json(&StepAnswer { step, command: words.line(), exit: Some(output.status.code()) });
    }
    if !output.status.success() {
        ui.warn(format!("`{}` ended with {}", printable(&words.line()), output.status));
    }
    Ok(output.status.success())
}

/// The value of a git setting of the clone.
pub fn setting(repository: &Repository, name: &str) -> Result<Option<String>> {
    let output = repository.git.cmd(&repository.main).args(["config", "--local", "--get", name]).capture()?;
    let value = String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned();
    Ok(Some(value).filter(|_| output.status.success()))
}

/// A path of ours below the main checkout.
pub fn rel(path: &str) -> Result<RelPath> {
    RelPath::parse(path).map_err(|e| shopfloor_core::error::Failure::malformed(format!("{path}: {e}")))
}
