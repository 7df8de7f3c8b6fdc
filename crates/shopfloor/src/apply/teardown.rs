//! Takes back what a set-up did: what nobody has changed since goes, and the rest is named and stays.

use std::os::unix::fs::PermissionsExt;

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs::{self, Content, Root, Staging};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::ui::{Ui, printable};

use super::setup::{StepAnswer, rel, run, setting};
use crate::deed::{Deed, FileDeed};
use crate::facts::remains;
use crate::facts::repository::Repository;
use crate::plan::teardown::{blocks, commands, settings};
use crate::tool::staging_dir;

/// What was done without a command, with `--json`.
#[derive(Serialize)]
struct DidAnswer<'a> {
    step: &'a str,
    did: String,
}

/// Takes a deed back, or in a dry run says how. Returns what stays and why, a line each; nothing if the deed is undone.
pub fn undo(ui: &Ui, env: &Env, repository: &Repository, deed: &Deed) -> Result<Vec<String>> {
    let mut stays = Vec::new();
    for words in commands(deed, &remains::read(env, deed)) {
        if ui.is_dry() {
            match ui.is_json() {
                true => ui.json(&StepAnswer { step: &deed.step, command: words.line(), exit: None }),
                false => ui.line(format!("would run {}", printable(&words.line()))),
            }
            continue;
        }
        // One tool that is missing does not stop the others.
        match run(ui, env, &deed.step, &words) {
            Ok(true) => {}
            Ok(false) => stays.push(format!("`{}` failed", printable(&words.line()))),
            Err(failure) => stays.push(failure.to_string()),
        }
    }
    // git leaves traces of its own in the file when a setting comes and goes.
    if !ui.is_dry() && restore_config(repository, deed)? {
        settings(deed).for_each(|(name, _)| tell(ui, deed, ["unset", "unset"], name));
    }
    // The order in which git wrote them, backwards.
    for (name, value) in settings(deed).collect::<Vec<_>>().into_iter().rev() {
        match setting(repository, name)? {
            Some(own) if own == value => {
                if !ui.is_dry() {
                    let unset = ["config", "--local", "--unset", name];
                    let output = repository.git.cmd(&repository.main).args(unset).capture()?;
                    if !output.status.success() {
                        stays.push(format!("the git setting {name} cannot be unset"));
                        continue;
                    }
                }
                tell(ui, deed, ["unset", "unset"], name);
            }
            Some(_) => stays.push(format!("the git setting {name} was changed")),
            None => {}
        }
    }
    let root = Root::open(&repository.main)?;
    for file in deed.files.iter().rev() {
        stays.extend(put_back(ui, repository, &root, deed, file)?);
    }
    // Its commands may have changed what is left.
    stays.extend(blocks(deed, &remains::read(env, deed)));
    Ok(stays)
}

/// Gives the file of git's settings its text from before, if nobody has changed it since. Returns whether it did.
fn restore_config(repository: &Repository, deed: &Deed) -> Result<bool> {
    let Some(FileDeed { before: Some(before), after, .. }) = &deed.config else { return Ok(false) };
    let path = repository.repo.common_dir.join("config");
    let now = fs::read(&path)?.as_deref().map(Digest::of);
    if now.is_none() || now != *after || now == Some(Digest::of(before.as_bytes())) || deed.settings.is_empty() {
        return Ok(false);
    }
    let mode = std::fs::metadata(&path).map(|meta| meta.permissions().mode() & 0o777).ok();
    fs::replace(&path, before.as_bytes(), mode)?;
    Ok(true)
}

/// Says what was done without a command, or in a dry run what would be.
fn tell(ui: &Ui, deed: &Deed, [past, verb]: [&str; 2], what: &str) {
    let did = if ui.is_dry() { format!("would {verb} {what}") } else { format!("{past} {what}") };
    match ui.is_json() {
        true => ui.json(&DidAnswer { step: &deed.step, did }),
        false if ui.is_dry() => ui.line(printable(&did)),
        false => ui.done(printable(&did)),
    }
}

/// Gives a file its text from before, if it is still as the set-up left it.
fn put_back(ui: &Ui, repository: &Repository, root: &Root, deed: &Deed, file: &FileDeed) -> Result<Option<String>> {
    let path = rel(&file.path)?;
    let why = match deed.is_running {
        true => "was written by a set-up that was killed; remove it if you do not need it",
        false => "is not as `setup` left it",
    };
    let changed = || Ok(Some(format!("{} {why}", printable(&file.path))));
    let Ok(found) = root.read_whole(&path) else { return changed() };
    let now = found.as_ref().map(|(bytes, _)| Digest::of(bytes));
    let before = file.before.as_deref().map(|text| Digest::of(text.as_bytes()));
    // Either it is put back already, or this step never changed it.
    if now == before || before == file.after && !deed.is_running {
        return Ok(None);
    }
    let (Some((_, mode)), Some(left)) = (found, now.filter(|_| now == file.after).map(Content::File)) else {
        return changed();
    };
    if !ui.is_dry() {
        let staging = Staging::open(&staging_dir(&repository.repo.common_dir), root)?;
        let is_done = match &file.before {
            Some(text) => staging.file(root, &path, text.as_bytes(), Some(mode))?.swap(root, &path, &left)?,
            None => staging.remove(root, &path, &left)?,
        };
        if !is_done {
            return changed();
        }
        remove_empty_parents(root, &path);
    }
    tell(ui, deed, if file.before.is_some() { ["restored", "restore"] } else { ["removed", "remove"] }, &file.path);
    Ok(None)
}

fn remove_empty_parents(root: &Root, path: &RelPath) {
    let mut dir = path.parent();
    while let Some(empty) = dir.filter(|dir| root.remove_empty_dir(dir).unwrap_or(false)) {
        dir = empty.parent();
    }
}
