//! Takes back what a set-up did: what is as it left it goes, and the rest is named and stays.

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs::{self, Content, Root, Staging};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::ui::{Ui, printable};

use super::setup::{StepAnswer, config_file, rel, run, setting};
use crate::facts::remains;
use crate::facts::repository::Repository;
use crate::plan::teardown::{blocks, commands, config_before, files};
use crate::record::Record;
use crate::step::{LEDGER, LEDGER_SETTINGS};
use crate::tool::staging_dir;

/// What was done without a command, with `--json`.
#[derive(Serialize)]
struct DidAnswer<'a> {
    step: &'a str,
    did: String,
}

/// Takes a step back, or in a dry run says how. Returns what stays and why, a line each; nothing if the step is undone.
pub fn undo(ui: &Ui, env: &Env, repository: &Repository, record: &Record, step: &str) -> Result<Vec<String>> {
    let mut stays = Vec::new();
    if step == LEDGER && restore_config(ui, repository, record)? {
        LEDGER_SETTINGS.iter().for_each(|(name, _)| tell(ui, step, ["unset", "unset"], name));
    }
    for words in commands(step, record.has_hooks_of(step), &remains::read(env, step)) {
        if ui.is_dry() {
            match ui.is_json() {
                true => ui.json(&StepAnswer { step, command: words.line(), exit: None }),
                false => ui.line(format!("would run {}", printable(&words.line()))),
            }
            continue;
        }
        let answer = |text: &[u8]| match step {
            // Each line names a file or a setting that was taken back.
            LEDGER => String::from_utf8_lossy(text).lines().for_each(|line| ui.done(line)),
            _ => ui.pass_through(None, text),
        };
        // One tool that is missing does not stop the others.
        match run(ui, env, step, &words, answer) {
            Ok(true) => {}
            Ok(false) => stays.push(format!("`{}` failed", printable(&words.line()))),
            Err(failure) => stays.push(failure.to_string()),
        }
    }
    for (name, value) in LEDGER_SETTINGS.iter().filter(|_| step == LEDGER) {
        if setting(repository, name)?.is_some_and(|own| !ui.is_dry() || own != *value) {
            stays.push(format!("the git setting {name} was changed"));
        }
    }
    let root = Root::open(&repository.main)?;
    for (path, text) in files(step) {
        stays.extend(remove(ui, repository, &root, step, path, text)?);
    }
    // Its commands may have changed what is left.
    stays.extend(blocks(&remains::read(env, step)));
    Ok(stays)
}

/// Gives the file of git's settings its text from before, if only our settings have come since. Returns whether it did.
fn restore_config(ui: &Ui, repository: &Repository, record: &Record) -> Result<bool> {
    let path = config_file(repository);
    let now = fs::read(&path)?.and_then(|text| String::from_utf8(text).ok());
    let before = record.config.and_then(|before| config_before(&now?, &before));
    if let Some(text) = before.as_ref().filter(|_| !ui.is_dry()) {
        fs::replace(&path, text.as_bytes(), None)?;
    }
    Ok(before.is_some())
}

/// Says what was done without a command, or in a dry run what would be.
fn tell(ui: &Ui, step: &str, [past, verb]: [&str; 2], what: &str) {
    let did = if ui.is_dry() { format!("would {verb} {what}") } else { format!("{past} {what}") };
    match ui.is_json() {
        true => ui.json(&DidAnswer { step, did }),
        false if ui.is_dry() => ui.line(printable(&did)),
        false => ui.done(printable(&did)),
    }
}

/// Removes a file that still has the text that the set-up gave it.
fn remove(ui: &Ui, repository: &Repository, root: &Root, step: &str, path: &str, text: &str) -> Result<Option<String>> {
    let (file, ours) = (rel(path)?, Content::File(Digest::of(text.as_bytes())));
    let is_ours = match root.content(&file) {
        Ok(None) => return Ok(None),
        found => found.is_ok_and(|found| found.as_ref() == Some(&ours)),
    };
    let take = || Staging::open(&staging_dir(&repository.repo.common_dir), root)?.remove(root, &file, &ours);
    if !is_ours || !ui.is_dry() && !take()? {
        return Ok(Some(format!("{} is not as `setup` left it", printable(path))));
    }
    if !ui.is_dry() {
        remove_empty_parents(root, &file);
    }
    tell(ui, step, ["removed", "remove"], path);
    Ok(None)
}

fn remove_empty_parents(root: &Root, path: &RelPath) {
    let mut dir = path.parent();
    while let Some(empty) = dir.filter(|dir| root.remove_empty_dir(dir).unwrap_or(false)) {
        dir = empty.parent();
    }
}
