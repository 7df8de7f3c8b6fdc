//! The only room that writes into worktrees: executes a plan, and decides nothing again. The order survives a kill at any point: a file's
//! record stands before the file, the env file before its record, setup's record after its last
//! command; and the next run finishes what is missing.

mod setup;
mod sweatfile;

use std::collections::BTreeMap;

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::{self, Root, Staged, Staging};
use shopfloor_core::path::RelPath;

use crate::env_file;
use crate::excludes;
use crate::facts::Place;
use crate::plan::removal::{Left, Removal};
use crate::plan::{EnvWork, FileStep, Make, Plan, Work};
use crate::record::{self, Placed, Record};
use crate::report::{Action, Report};
use crate::{snapshot, template};

pub use self::setup::setup;
pub use self::sweatfile::sweatfile;

/// Writes down the ports a plan hands out; `false` when another worktree was faster, and everything has
/// to be read and planned anew.
pub fn reserve(place: &Place, plan: &Plan) -> Result<bool> {
    plan.ports.as_ref().map_or(Ok(true), |reservation| template::reserve(&place.repo, reservation))
}

/// Takes every step but setup, correcting the report where the world had moved on. Returns what
/// failed; whatever could be done was done.
pub fn place(place: &Place, plan: &Plan, before: &Record, report: &mut Report) -> Option<Failure> {
    let mut reached = Reached::default();
    match try_place(place, plan, before, report, &mut reached) {
        Ok(failure) => failure,
        Err(failure) => {
            reached.mark_the_rest_skipped(report);
            Some(failure)
        }
    }
}

/// How far a run came that was stopped by an error.
#[derive(Default)]
struct Reached {
    excludes: bool,
    files: usize,
    env: bool,
}

impl Reached {
    fn mark_the_rest_skipped(&self, report: &mut Report) {
        let skip = |action: &mut Action| {
            if *action == Action::Created {
                *action = Action::Skipped;
            }
        };
        if !self.excludes {
            report.excludes.iter_mut().for_each(|line| skip(&mut line.action));
        }
        report.files.iter_mut().skip(self.files).for_each(|line| skip(&mut line.action));
        if !self.env {
            skip(&mut report.env.action);
        }
    }
}

fn try_place(
    place: &Place,
    plan: &Plan,
    before: &Record,
    report: &mut Report,
    reached: &mut Reached,
) -> Result<Option<Failure>> {
    place.repo.remember_main_checkout()?;
    // The intent: a kill may leave any of these, and all of them are ours.
    let mut record = before.clone();
    record.excludes.extend(plan.excludes.iter().map(|e| e.pattern.clone()));
    for step in &plan.files {
        let replaced = match &step.work {
            Work::Create(_) => None,
            Work::Swap(content, _) => Some(content.clone()),
            _ => continue,
        };
        if let Some(placed) = &step.placed {
            record.dirs.extend(place.root.missing_parents(&step.path)?);
            record.files.insert(step.path.clone(), Placed { replaces: replaced, ..placed.clone() });
        }
    }
    if plan.env.work != EnvWork::Nothing {
        record.env = plan.env.was.clone();
        record.env_pending = plan.env.base.clone();
    }
    record.save(&place.repo, before)?;
    let intent = record.clone();

    // Looked at again under the lock: another worktree may just have taken a line out.
    let patterns: Vec<String> = plan.excludes.iter().map(|e| e.pattern.clone()).collect();
    place.repo.rewrite_exclude(|text| Ok(excludes::with(text, &patterns)))?;
    reached.excludes = true;

    if plan.writes() || place.staging_dir().is_dir() {
        let staging = Staging::open(&place.staging_dir(), &place.root)?;
        sweep_beside(place, &staging, &record)?;
        for (step, line) in plan.files.iter().zip(&mut report.files) {
            let done = file(&place.root, &staging, step, &mut record);
            match (&done, &step.placed) {
                (Ok(true), Some(placed)) => drop(record.files.insert(step.path.clone(), placed.clone())),
                (Ok(true), None) => drop(record.files.remove(&step.path)),
                _ => restore(&mut record, before, &step.path),
            }
            reached.files += 1;
            match done {
                Ok(true) => {}
                Ok(false) => (line.action, line.why) = (Action::Kept, "it appeared or changed meanwhile".into()),
                Err(failure) => (line.action, line.why) = (Action::Failed, failure.to_string()),
            }
        }
        let written = env_file(place, &staging, &plan.env.work);
        if let Err(failure) = written.and_then(|()| snapshot::follow(&place.repo, &plan.env.before, &plan.env.after)) {
            report.env.action = Action::Failed;
            report.env.why = Some(failure.to_string());
        }
        reached.env = true;
    }
    if report.env.action != Action::Failed {
        record.env = plan.env.base.clone();
        record.env_pending.clear();
    }
    record.layers = plan.layers.clone();
    record.save(&place.repo, &intent)?;
    Ok(failure(report))
}

fn restore(record: &mut Record, before: &Record, path: &RelPath) {
    match before.files.get(path) {
        Some(placed) => record.files.insert(path.clone(), placed.clone()),
        None => record.files.remove(path),
    };
}

/// What could not be placed, or in a dry run could not be.
pub fn failure(report: &Report) -> Option<Failure> {
    let files = report.files.iter().filter(|f| f.action == Action::Failed).map(|f| (f.path.clone(), f.why.clone()));
    let env = (report.env.action == Action::Failed)
        .then(|| (env_file::FILE.to_owned(), report.env.why.clone().unwrap_or_default()));
    let failed: Vec<(String, String)> = files.chain(env).collect();
    let what = match failed.as_slice() {
        [] => return None,
        [(path, _)] => path.clone(),
        more => format!("{} entries", more.len()),
    };
    let failure = Failure::failed(format!("cannot place {what}; everything else is in place, and setup was not run"));
    let details = failed.into_iter().map(|(path, why)| format!("{path}: {why}"));
    Some(failure.details(details).hint("mend the cause and run `sweatfile-apply` again"))
}

/// One destination; `false` when the world had moved on and nothing was done.
fn file(root: &Root, staging: &Staging, step: &FileStep, record: &mut Record) -> Result<bool> {
    match &step.work {
        Work::Nothing => Ok(true),
        Work::Forget => remove_empty_parents(root, &step.path, record).map(|()| true),
        Work::Create(Make::Link(target)) => root.symlink(&step.path, target),
        Work::Create(make) => stage(root, staging, &step.path, make)?.place(root, &step.path),
        Work::Swap(expected, make) => stage(root, staging, &step.path, make)?.swap(root, &step.path, expected),
        Work::Take(expected) => {
            let taken = staging.remove(root, &step.path, expected)?;
            remove_empty_parents(root, &step.path, record)?;
            Ok(taken)
        }
    }
}

fn stage(root: &Root, staging: &Staging, path: &RelPath, make: &Make) -> Result<Staged> {
    match make {
        Make::Link(target) => staging.link(root, path, target),
        Make::Write(bytes) => staging.file(root, path, bytes, None),
        Make::Copy(from) => staging.copy(root, path, from),
    }
}

fn remove_empty_parents(root: &Root, path: &RelPath, record: &mut Record) -> Result<()> {
    let mut above = path.parent();
    while let Some(dir) = above.filter(|dir| record.dirs.contains(dir)) {
        if !root.remove_empty_dir(&dir)? {
            break;
        }
        record.dirs.remove(&dir);
        above = dir.parent();
    }
    Ok(())
}

/// Writes or deletes `.sweatshop-env`. The caller holds the worktree's lock and read it under it.
pub fn env(place: &Place, work: &EnvWork) -> Result<()> {
    let staging = Staging::open(&place.staging_dir(), &place.root)?;
    sweep_beside(place, &staging, &Record::default())?;
    env_file(place, &staging, work)
}

/// Wherever we may have staged something beside its target: the recorded files, and the env file.
fn sweep_beside(place: &Place, staging: &Staging, record: &Record) -> Result<()> {
    let env_file = RelPath::parse(env_file::FILE).map_err(|e| Failure::failed(e.0))?;
    staging.sweep_beside(&place.root, record.files.keys().chain([&env_file]))
}

fn env_file(place: &Place, staging: &Staging, work: &EnvWork) -> Result<()> {
    let path = RelPath::parse(env_file::FILE).map_err(|e| Failure::failed(e.0))?;
    let root = &place.root;
    let done = match work {
        EnvWork::Nothing => true,
        EnvWork::Delete(seen) => staging.remove(root, &path, seen)?,
        EnvWork::Write(bytes, None) => staging.file(root, &path, bytes, Some(fs::PRIVATE))?.place(root, &path)?,
        EnvWork::Write(bytes, Some(seen)) => {
            staging.file(root, &path, bytes, Some(fs::PRIVATE))?.swap(root, &path, seen)?
        }
    };
    if done {
        return Ok(());
    }
    Err(Failure::new(Exit::Failed, "changed", format!("{} was edited meanwhile and left as it is", env_file::FILE))
        .hint("run the same command again"))
}

/// What a removal came to.
#[derive(Debug, Default)]
pub struct Removed {
    pub files: Vec<String>,
    pub excludes: Vec<String>,
    /// What stays, and why.
    pub left: Vec<Left>,
    /// What should have gone and could not.
    pub failed: Vec<String>,
}

/// Takes back what a removal names, as far as it is still as planned.
pub fn remove(place: &Place, removal: &Removal, record: &Record) -> Result<Removed> {
    let mut done = Removed { left: removal.left.clone(), ..Removed::default() };
    let staging = Staging::open(&place.staging_dir(), &place.root)?;
    sweep_beside(place, &staging, record)?;
    let mut rest = record.clone();
    for (path, content) in &removal.files {
        match staging.remove(&place.root, path, content) {
            Ok(true) => {
                rest.files.remove(path);
                done.files.push(path.to_string());
            }
            Ok(false) => done.left.push(Left::path(path.to_string(), "changed meanwhile")),
            Err(failure) => done.failed.push(format!("{path}: {failure}")),
        }
    }
    match env_file(place, &staging, &removal.env) {
        Ok(()) => {
            rest.env.clear();
            rest.env_pending.clear();
            if matches!(removal.env, EnvWork::Delete(_)) {
                done.files.push(env_file::FILE.into());
            }
        }
        Err(failure) => done.failed.push(format!("{}: {failure}", env_file::FILE)),
    }
    for dir in &removal.dirs {
        if let Err(failure) = place.root.remove_empty_dir(dir) {
            done.failed.push(format!("{dir}: {failure}"));
        }
    }
    if done.failed.is_empty() {
        let rewritten = place.repo.rewrite_exclude(|text| {
            // Looked at again under the lock: a worktree may have come to rely on a line meanwhile.
            let used = record::excludes_used_elsewhere(&place.repo)?;
            let (text, removed) = excludes::without(text, &removal.excludes.difference(&used).cloned().collect());
            done.excludes = removed;
            Ok(text)
        });
        if let Err(failure) = rewritten {
            done.failed.push(format!("info/exclude: {failure}"));
        }
    }
    if done.failed.is_empty() {
        rest.excludes.retain(|pattern| !removal.excludes.contains(pattern));
        // What stays is known as ours for the next time; everything else starts anew.
        rest.files.retain(|path, _| done.left.iter().any(|left| left.is(path)));
    }
    (rest.setup, rest.layers) = (None, BTreeMap::new());
    if rest.files.is_empty() && done.failed.is_empty() {
        Record::delete(&place.repo)?;
    } else {
        rest.save(&place.repo, record)?;
    }
    Ok(done)
}
