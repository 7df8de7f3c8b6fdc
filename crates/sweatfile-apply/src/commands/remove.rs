//! `remove`: takes back what apply placed and nobody changed since.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::lock::Lock;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::{self, Removed};
use crate::facts::{self, Place};
use crate::plan::removal::{self, Removal, Scene};
use crate::record::{self, Record};

pub fn run(ui: &Ui, env: &Env, dry_run: bool) -> Result<Exit> {
    let place = Place::find(env)?;
    let _lock = if dry_run { None } else { Some(Lock::take(&place.lock_path())?) };
    let record = Record::load(&place.repo)?;
    let removal = decide(&place, &record)?;
    let Removed { removed, left } = if dry_run {
        let files = removal.files.iter().map(|(path, _)| path.to_string());
        let excludes = removal.excludes.iter().map(|pattern| format!("exclude {pattern}"));
        let env = removal.env.iter().filter(|b| b.is_empty()).map(|_| crate::env_file::FILE.to_owned());
        Removed { removed: files.chain(env).chain(excludes).collect(), left: removal.left }
    } else {
        apply::remove(&place, &removal, &record)?
    };
    if ui.is_json() {
        let left: Vec<_> = left.iter().map(|(what, why)| json!({ "path": what, "why": why })).collect();
        ui.json(&json!({ "worktree": place.worktree, "removed": removed, "left": left }));
    } else {
        removed.iter().for_each(|what| ui.line(format!("removed {}", printable(what))));
        left.iter().for_each(|(what, why)| ui.line(format!("left {} ({})", printable(what), printable(why))));
    }
    Ok(Exit::Done)
}

fn decide(place: &Place, record: &Record) -> Result<Removal> {
    let mut here = BTreeMap::new();
    let mut originals_alive = BTreeSet::new();
    for (path, placed) in &record.files {
        here.insert(path.clone(), facts::look(place, path, record)?);
        let alive = |from: &std::path::PathBuf| facts::content_of(from).as_ref() == Ok(&placed.content);
        if placed.copied_from.as_ref().is_some_and(alive) {
            originals_alive.insert(path.clone());
        }
    }
    Ok(removal::plan(&Scene {
        record,
        here: &here,
        originals_alive: &originals_alive,
        env: &facts::env_here(&place.root)?,
        used_elsewhere: &record::excludes_used_elsewhere(&place.repo)?,
    }))
}
