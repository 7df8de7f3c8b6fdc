//! Before a worktree is removed, what it added to `.sweatshop-env` is kept; `env diff --removed` and
//! `env review --removed` are about that.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::{Git, Repo};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::env::{ask, bound, describe, promote, shown, told};
use crate::cli::Places;
use crate::env_file::{self, EnvFile, Value};
use crate::facts::{self, EnvHere, Place};
use crate::plan::review::{Answer, check_bound};
use crate::record::Record;
use crate::removed::{self, Removed};
use crate::review::Change;
use crate::snapshot;

/// Keeps what the worktree has that neither a sweatfile nor a review put there.
pub fn before_removal(env: &Env, git: Git, repo: Repo) -> Result<Vec<String>> {
    let place = Place::of(git, repo)?;
    let now = match facts::env_here(&place.root)? {
        EnvHere::File(seen) => seen.file,
        EnvHere::Missing => EnvFile::default(),
        EnvHere::Unusable(why) => {
            let path = place.worktree.join(env_file::FILE);
            let real = path.canonicalize().ok();
            return match real.filter(|_| path.is_symlink()) {
                // What a link leads to stays, unless it goes with the worktree.
                Some(real) if !real.starts_with(place.worktree.canonicalize().unwrap_or_default()) => Ok(Vec::new()),
                None if path.is_symlink() => Ok(Vec::new()),
                _ => Err(Failure::failed(format!("cannot keep {}: {why}", env_file::FILE))
                    .hint("move it out of the worktree, or remove it")),
            };
        }
    };
    let (record, snapshot) = (Record::load(&place.repo)?, snapshot::load(&place.repo)?);
    let is_tracked = || place.git.ls_files(&place.worktree, &["--".into(), env_file::FILE.into()]);
    if record == Record::default() && snapshot.is_none() && (now.is_empty() || !is_tracked()?.is_empty()) {
        return Ok(Vec::new());
    }
    let applied = || {
        let mut file = EnvFile::default();
        record.env.iter().for_each(|(key, value)| file.set(key, &Value::Text(value.clone())));
        file
    };
    let before = snapshot.unwrap_or_else(applied);
    let kept = removed::keep(&place.repo, &place.worktree, &before, &now, &env.now.to_string())?;
    if kept.is_empty() {
        return Ok(Vec::new());
    }
    let keys: Vec<&str> = kept.iter().map(|change| change.key.as_str()).collect();
    Ok(vec![format!(
        "{} of {} are kept; `sweatfile-apply env review --removed` decides about them",
        keys.join(", "),
        place.worktree.display()
    )])
}

/// What is kept of the worktrees that were at `named`, or of all.
fn kept(env: &Env, place: &Place, named: Option<&Path>) -> Result<Vec<Removed>> {
    let mut all = removed::load_all(&place.repo)?;
    if let Some(named) = named {
        let path = env.cwd.join(named);
        // A name may be used twice: then its time tells them apart.
        all.retain(|removed| removed.about.worktree == path || named == Path::new(&removed.about.time));
        if all.is_empty() {
            return Err(Failure::not_found(format!("nothing is kept of a worktree at {}", path.display()))
                .hint("`sweatfile-apply env diff --removed` lists what is kept"));
        }
    }
    Ok(all)
}

pub fn diff(ui: &Ui, env: &Env, place: &Place, named: Option<&Path>, reveal: bool) -> Result<Exit> {
    for removed in kept(env, place, named)? {
        let worktree = removed.about.worktree.to_string_lossy().into_owned();
        for change in removed.changes() {
            if ui.is_json() {
                let mut line = json!({
                    "key": change.key, "change": change.kind, "worktree": worktree, "time": removed.about.time
                });
                if reveal {
                    line["old"] = json!(change.old.as_ref().map(shown));
                    line["new"] = json!(shown(&change.new));
                }
                ui.json(&line);
            } else {
                ui.line(format!("{} ({}, {})", describe(&change, reveal), printable(&worktree), removed.about.time));
            }
        }
    }
    Ok(Exit::Done)
}

pub fn review(
    ui: &Ui,
    env: &Env,
    place: &Place,
    places: &Places,
    named: Option<&Path>,
    given: &BTreeMap<String, Answer>,
    dry_run: bool,
) -> Result<Exit> {
    let _lock = if dry_run { None } else { Some(removed::lock(&place.repo)?) };
    let all = kept(env, place, named)?;
    let mut changes: Vec<(usize, Change)> = Vec::new();
    for (at, removed) in all.iter().enumerate() {
        changes.extend(removed.changes().into_iter().map(|change| (at, change)));
    }
    if let Some(unknown) = given.keys().find(|key| !changes.iter().any(|(_, change)| change.key == **key)) {
        return Err(Failure::not_found(format!("no removed worktree had changed `{unknown}`"))
            .hint("run `sweatfile-apply env diff --removed` to see what is kept"));
    }
    let (mut decided, mut open) = (Vec::new(), Vec::new());
    for (at, change) in changes {
        let about = printable(&all[at].about.worktree.to_string_lossy());
        let answer = match given.get(&change.key) {
            Some(answer) => Some(*answer),
            None if ui.can_ask() && !dry_run => {
                ui.note(format!("of {about}:"));
                Some(ask(ui, &change)?)
            }
            None => None,
        };
        match answer {
            Some(answer) => decided.push((at, change, answer)),
            None => open.push(format!("{} ({about})", describe(&change, false))),
        }
    }
    for (at, removed) in all.iter().enumerate() {
        let of =
            |key: &str| decided.iter().find(|(other, change, _)| *other == at && change.key == key).map(|(_, _, a)| *a);
        let keys = decided.iter().filter(|(other, ..)| *other == at).map(|(_, change, _)| change.key.as_str());
        bound(check_bound(removed.now(), of, keys))?;
    }
    let promoted: Vec<&Change> =
        decided.iter().filter(|(_, _, answer)| *answer == Answer::Promote).map(|(_, change, _)| change).collect();
    for (index, change) in promoted.iter().enumerate() {
        if promoted[..index].iter().any(|other| other.key == change.key && other.new != change.new) {
            return Err(Failure::usage(format!("{} has several values, of which one can be promoted", change.key))
                .hint(
                    "name the one that has the right one, by its place or its time: `--removed=PATH`, `--removed=TIME`",
                )
                .hint("`sweatfile-apply env diff --removed --reveal` shows them"));
        }
    }
    // Promoting can be refused, so it comes first; killed later, the rest is simply asked again.
    promote(ui, env, place, places, &promoted, dry_run)?;
    for (at, mut removed) in all.into_iter().enumerate() {
        // What is kept stays where it is.
        let is_settled = |(of, _, answer): &&(usize, Change, Answer)| *of == at && *answer != Answer::Keep;
        let settled: Vec<Change> = decided.iter().filter(is_settled).map(|(_, change, _)| change.clone()).collect();
        if !dry_run && !settled.is_empty() {
            removed.settle(&settled)?;
        }
        for (_, change, answer) in decided.iter().filter(|(of, ..)| *of == at) {
            told(ui, change, *answer, Some(&removed.about.worktree), dry_run);
        }
    }
    if open.is_empty() {
        return Ok(Exit::Done);
    }
    Err(Failure::new(Exit::Decide, "undecided", "these variables of removed worktrees wait for a decision")
        .details(open)
        .hint("answer each with `--promote KEY`, `--keep KEY` or `--discard KEY`, or run it on a terminal"))
}
