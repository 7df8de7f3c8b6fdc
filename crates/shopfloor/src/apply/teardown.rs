//! Takes back what a set-up did: what nobody has changed since goes, and the rest is named and stays.

use std::path::{Path, PathBuf};

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs::{self, Content, Root, Staging};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::ui::{Ui, printable};

use super::setup::{rel, run, setting};
use crate::deed::{Deed, FileDeed};
use crate::facts::repository::Repository;
use crate::step::CommandWords;

/// What was done without a command, with `--json`.
#[derive(Serialize)]
struct DidAnswer<'a> {
    step: &'a str,
    did: String,
}

/// Takes a deed back. Returns what stays and why, a line each; nothing if the deed is undone.
pub fn undo(ui: &Ui, env: &Env, repository: &Repository, deed: &Deed) -> Result<Vec<String>> {
    let mut stays = Vec::new();
    // To an overlay that is gone nothing is attached.
    let is_moot = |words: &&CommandWords| {
        words.0.starts_with(&["overlay-sync".to_owned(), "detach".to_owned()])
            && deed.overlay.as_ref().is_some_and(|overlay| !Path::new(overlay).exists())
    };
    for words in deed.undo.iter().filter(|words| !is_moot(words)) {
        if !run(ui, env, &deed.step, words)? {
            stays.push(format!("`{}` has to be run again", words.line()));
            break;
        }
    }
    for wanted in deed.settings.iter().rev() {
        match setting(repository, &wanted.name)? {
            Some(value) if value == wanted.value => {
                let unset = ["config", "--local", "--unset", &wanted.name];
                let output = repository.git.cmd(&repository.main).args(unset).capture()?;
                match output.status.success() {
                    true => tell(ui, deed, format!("unset {}", wanted.name)),
                    false => stays.push(format!("the git setting {} stays", wanted.name)),
                }
            }
            Some(_) => stays.push(format!("the git setting {} was changed", wanted.name)),
            None => {}
        }
    }
    let root = Root::open(&repository.main)?;
    for file in deed.files.iter().rev() {
        stays.extend(put_back(ui, repository, &root, deed, file)?);
    }
    if let Some(overlay) = deed.overlay.as_deref().filter(|overlay| has_content(Path::new(overlay))) {
        stays.push(format!("the overlay {} has files", printable(overlay)));
    }
    Ok(stays)
}

/// Says what was done without a command.
fn tell(ui: &Ui, deed: &Deed, did: String) {
    if ui.is_json() {
        ui.json(&DidAnswer { step: &deed.step, did });
    } else {
        ui.done(printable(&did));
    }
}

/// Gives a file its text from before, if it is still as the set-up left it.
fn put_back(ui: &Ui, repository: &Repository, root: &Root, deed: &Deed, file: &FileDeed) -> Result<Option<String>> {
    let path = rel(&file.path)?;
    let now = root.read(&path)?.as_deref().map(Digest::of);
    let before = file.before.as_deref().map(|text| Digest::of(text.as_bytes()));
    if now == before {
        return Ok(None);
    }
    let changed = || Ok(Some(format!("{} was changed since", printable(&file.path))));
    let Some(left) = now.filter(|_| now == file.after).map(Content::File) else { return changed() };
    let staging = Staging::open(&repository.repo.common_dir.join("shopfloor"), root)?;
    let is_done = match &file.before {
        Some(text) => staging.file(root, &path, text.as_bytes(), None)?.swap(root, &path, &left)?,
        None => staging.remove(root, &path, &left)?,
    };
    if !is_done {
        return changed();
    }
    remove_empty_parents(root, &path);
    tell(ui, deed, format!("{} {}", if file.before.is_some() { "restored" } else { "removed" }, file.path));
    Ok(None)
}

fn remove_empty_parents(root: &Root, path: &RelPath) {
    let mut dir = path.parent();
    while let Some(empty) = dir.filter(|dir| root.remove_empty_dir(dir).unwrap_or(false)) {
        dir = empty.parent();
    }
}

/// Whether an overlay holds files that a person may want.
fn has_content(overlay: &Path) -> bool {
    let names = fs::list(&PathBuf::from(overlay)).unwrap_or_default();
    names.iter().any(|name| name != ".overlay-sync")
}
