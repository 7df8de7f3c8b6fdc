//! `remove`: takes back what apply placed and nobody changed since.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::Found;
use shopfloor_core::lock::Lock;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::{self, Removed};
use crate::env_file;
use crate::excludes;
use crate::facts::{self, Place};
use crate::plan::EnvWork;
use crate::plan::removal::{self, Removal, Scene, reason_to_stay};
use crate::record::{self, Record};

pub fn run(ui: &Ui, env: &Env, dry_run: bool) -> Result<Exit> {
    let place = Place::find(env)?;
    let _lock = if dry_run { None } else { Some(Lock::take(&place.lock_path())?) };
    let record = Record::load(&place.repo)?;
    let removal = decide(&place, &record)?;
    let removed = if dry_run {
        let files = removal.files.iter().map(|(path, _)| path.to_string());
        let env = matches!(removal.env, EnvWork::Delete(_)).then(|| env_file::FILE.to_owned());
        let (_, excludes) = excludes::without(&place.repo.read_exclude()?, &removal.excludes);
        Removed { files: files.chain(env).collect(), excludes, left: removal.left, failed: Vec::new() }
    } else {
        apply::remove(&place, &removal, &record)?
    };
    let failure = (!removed.failed.is_empty()).then(|| {
        Failure::failed("not everything could be taken back; exclude lines stay too")
            .details(removed.failed.clone())
            .hint("mend the cause and run `sweatfile-apply remove` again")
    });
    if ui.is_json() {
        let mut answer = json!({
            "worktree": place.worktree.to_string_lossy(),
            "removed": removed.files,
            "excludes": removed.excludes,
            "left": removed.left,
        });
        if let Some(failure) = &failure {
            answer["error"] = failure.to_json();
        }
        ui.json(&answer);
    } else {
        let word = if dry_run { "would have removed" } else { "removed" };
        removed.files.iter().for_each(|path| ui.line(format!("{word} {}", printable(path))));
        removed.excludes.iter().for_each(|pattern| ui.line(format!("{word} exclude {}", printable(pattern))));
        removed.left.iter().for_each(|left| ui.line(format!("left {}", printable(&left.to_string()))));
        if let Some(failure) = &failure {
            ui.error(failure);
        }
    }
    Ok(failure.map_or(Exit::Done, |f| f.exit))
}

fn decide(place: &Place, record: &Record) -> Result<Removal> {
    let mut here = BTreeMap::new();
    let mut originals_alive = BTreeSet::new();
    for (path, placed) in &record.files {
        here.insert(path.clone(), facts::look(place, path, record));
        let alive = |from: &std::path::PathBuf| facts::content_of(from).as_ref() == Ok(&placed.content);
        if placed.copied_from.as_ref().is_some_and(alive) {
            originals_alive.insert(path.clone());
        }
    }
    let env = facts::env_here(&place.root)?;
    let used_elsewhere = record::excludes_used_elsewhere(&place.repo)?;
    let nothing = BTreeSet::new();
    let (here, originals_alive) = (&here, &originals_alive);
    let scene = Scene { record, here, originals_alive, env: &env, needed: &nothing, used_elsewhere: &used_elsewhere };
    let staying = record.files.iter().filter(|(path, placed)| {
        here.get(*path).is_some_and(|h| h.found != Found::Missing) && reason_to_stay(&scene, path, placed).is_some()
    });
    let staying = staying.map(|(path, _)| path.as_path().to_path_buf());
    // What setup made, or a person, stays too: without its line `git worktree remove` would find it in the way.
    let list = |more: &[OsString]| {
        let how = ["--others", "--ignored", "--exclude-standard"].map(OsString::from);
        place.git.ls_files(&place.worktree, &[&how[..], more].concat())
    };
    // A directory is named as a whole, and looked into only where something of ours lies in it.
    let mut ignored = list(&["--directory".into()])?;
    let (mixed, whole): (Vec<_>, Vec<_>) =
        ignored.drain(..).partition(|path| record.files.keys().any(|file| file.as_path().starts_with(path)));
    ignored = whole;
    if !mixed.is_empty() {
        let inside = mixed.iter().map(|path| format!(":(top,literal){}", path.to_string_lossy()).into());
        ignored.extend(list(&["--".into()].into_iter().chain(inside).collect::<Vec<_>>())?);
    }
    let is_placed =
        |path: &PathBuf| RelPath::parse_os(path.as_os_str()).is_ok_and(|path| record.files.contains_key(&path));
    let is_ours = |path: &PathBuf| is_placed(path) || path.as_os_str() == env_file::FILE;
    let staying: Vec<PathBuf> = staying.chain(ignored.into_iter().filter(|path| !is_ours(path))).collect();
    let needed = place.git.ignoring_patterns(&place.worktree, &staying)?.into_iter().collect();
    Ok(removal::plan(&Scene { needed: &needed, ..scene }))
}
