//! Carries out the steps of a set-up, and records them so that they can be taken back.

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs::Root;
use shopfloor_core::git::Git;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::ui::Ui;

use crate::deed::{Deed, FileDeed, Record, SettingDeed};
use crate::facts::answers::{ask, command};
use crate::facts::repository::Repository;
use crate::step::{CommandWords, Step};
use crate::tool::record_file;

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
    let mut record = Record::load(&file)?;
    let mut deed = Deed {
        step: step.name.to_owned(),
        commands: step.commands.clone(),
        undo: step.undo.clone(),
        files: Vec::new(),
        settings: Vec::new(),
        overlay: None,
    };
    for path in &step.files {
        let rel = rel(path)?;
        let before = root.read(&rel)?;
        let after = before.as_deref().map(Digest::of);
        // A text that is not UTF-8 is no text that a tool edits.
        let Ok(before) = before.map(String::from_utf8).transpose() else { continue };
        deed.files.push(FileDeed { path: (*path).to_owned(), before, after });
    }
    let was_set: Vec<bool> =
        step.settings.iter().map(|name| Ok(setting(repository, name)?.is_some())).collect::<Result<_>>()?;
    record.deeds.push(deed.clone());
    record.save(&file)?;
    let mut is_done = true;
    for words in &step.commands {
        is_done = run(ui, env, step.name, words)?;
        if !is_done {
            break;
        }
    }
    for file in &mut deed.files {
        file.after = root.read(&rel(&file.path)?)?.as_deref().map(Digest::of);
    }
    for (name, _) in step.settings.iter().zip(was_set).filter(|(_, was_set)| !was_set) {
        let value = setting(repository, name)?;
        deed.settings.extend(value.map(|value| SettingDeed { name: (*name).to_owned(), value }));
    }
    if step.name == "overlay" {
        let findings = ask(env, &["overlay-sync", "doctor"])?.records;
        let overlay = findings.iter().find(|finding| finding["check"] == "overlay");
        deed.overlay = overlay.and_then(|finding| finding["detail"].as_str().map(str::to_owned));
    }
    record.deeds.pop();
    record.deeds.push(deed);
    record.save(&file)?;
    Ok(is_done)
}

/// Prints a command, runs it, and passes on what it prints. Returns whether it succeeded.
pub fn run(ui: &Ui, env: &Env, step: &str, words: &CommandWords) -> Result<bool> {
    if !ui.is_json() {
        ui.done(words.line());
    }
    let output = command(env, &words.0)?.capture()?;
    // Stdout is for our own answer.
    [&output.stdout, &output.stderr].into_iter().for_each(|text| ui.pass_through(None, text));
    if ui.is_json() {
        ui.json(&StepAnswer { step, command: words.line(), exit: Some(output.status.code()) });
    }
    if !output.status.success() {
        ui.warn(format!("`{}` ended with {}", words.line(), output.status));
    }
    Ok(output.status.success())
}

/// The value of a git setting of the clone.
pub fn setting(repository: &Repository, name: &str) -> Result<Option<String>> {
    let git: &Git = &repository.git;
    let output = git.cmd(&repository.main).args(["config", "--local", "--get", name]).capture()?;
    let value = String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned();
    Ok(Some(value).filter(|_| output.status.success()))
}

/// A path of ours below the main checkout.
pub fn rel(path: &str) -> Result<RelPath> {
    RelPath::parse(path).map_err(|e| shopfloor_core::error::Failure::malformed(format!("{path}: {e}")))
}
