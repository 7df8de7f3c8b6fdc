//! The only room that writes into worktrees: executes a plan, and decides nothing again. The order survives a kill at any point: a file's
//! record stands before the file, the env file before its record, setup's record after its last
//! command; and the next run finishes what is missing.

mod setup;
mod sweatfile;

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::{self, Root, Staged, Staging};
use shopfloor_core::path::RelPath;

use crate::env_file;
use crate::excludes;
use crate::facts::Place;
use crate::plan::removal::Removal;
use crate::plan::{EnvWork, FileStep, Make, Plan, Work};
use crate::record::{self, Record};
use crate::report::{Action, Report};

pub use self::setup::setup;
pub use self::sweatfile::sweatfile;

/// Takes every step but setup, correcting the report where the world had moved on. Returns what
/// failed; whatever could be done was done.
pub fn place(place: &Place, plan: &Plan, before: &Record, report: &mut Report) -> Result<Option<Failure>> {
    place.repo.remember_main_checkout()?;
    let mut record = before.clone();
    record.excludes.extend(plan.excludes.iter().map(|e| e.pattern.clone()));
    for step in &plan.files {
        if matches!(step.work, Work::Create(_)) {
            record.dirs.extend(place.root.missing_parents(&step.path)?);
        }
        match (&step.work, &step.placed) {
            (Work::Take(_), _) => record.files.remove(&step.path),
            (_, Some(placed)) => record.files.insert(step.path.clone(), placed.clone()),
            (_, None) => None,
        };
    }
    record.save(&place.repo, before)?;
    let intent = record.clone();

    let missing: Vec<String> = plan.excludes.iter().filter(|e| e.add).map(|e| e.pattern.clone()).collect();
    if !missing.is_empty() {
        excludes::rewrite(&place.repo, |text| Ok(excludes::with(text, &missing)))?;
    }

    let busy = plan.files.iter().any(|s| s.work != Work::Nothing) || plan.env.work != EnvWork::Nothing;
    if busy || place.staging_dir().is_dir() {
        let staging = Staging::open(&place.staging_dir(), &place.root)?;
        for (step, line) in plan.files.iter().zip(&mut report.files) {
            match file(&place.root, &staging, step, &mut record) {
                Ok(true) => {}
                Ok(false) => {
                    (line.action, line.why) = (Action::Kept, "it appeared or changed meanwhile".into());
                    restore(&mut record, before, &step.path);
                }
                Err(failure) => {
                    (line.action, line.why) = (Action::Failed, failure.to_string());
                    restore(&mut record, before, &step.path);
                }
            }
        }
        if let Err(failure) = env_file(&place.root, &staging, &plan.env.work) {
            report.env.action = Action::Failed;
            report.env.why = Some(failure.to_string());
        }
    }
    if report.env.action != Action::Failed {
        record.env = plan.env.base.clone();
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

fn failure(report: &Report) -> Option<Failure> {
    let files = report.files.iter().filter(|f| f.action == Action::Failed).map(|f| format!("{}: {}", f.path, f.why));
    let env = (report.env.action == Action::Failed)
        .then(|| format!("{}: {}", env_file::FILE, report.env.why.clone().unwrap_or_default()));
    let failed: Vec<String> = files.chain(env).collect();
    if failed.is_empty() {
        return None;
    }
    let count = if failed.len() == 1 { "an entry".to_owned() } else { format!("{} entries", failed.len()) };
    let failure = Failure::failed(format!("{count} could not be placed; the others were, and setup was not run"));
    Some(failure.details(failed).hint("mend the cause and run `sweatfile-apply` again"))
}

/// One destination; `false` when the world had moved on and nothing was done.
fn file(root: &Root, staging: &Staging, step: &FileStep, record: &mut Record) -> Result<bool> {
    match &step.work {
        Work::Nothing => Ok(true),
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
    env_file(&place.root, &staging, work)
}

fn env_file(root: &Root, staging: &Staging, work: &EnvWork) -> Result<()> {
    let path = RelPath::parse(env_file::FILE).map_err(|e| Failure::failed(e.0))?;
    let here = root.content(&path)?;
    let done = match (work, &here) {
        (EnvWork::Nothing, _) | (EnvWork::Delete, None) => true,
        (EnvWork::Delete, Some(here)) => staging.remove(root, &path, here)?,
        (EnvWork::Write(bytes), None) => staging.file(root, &path, bytes, Some(fs::PRIVATE))?.place(root, &path)?,
        (EnvWork::Write(bytes), Some(here)) => {
            staging.file(root, &path, bytes, Some(fs::PRIVATE))?.swap(root, &path, here)?
        }
    };
    if done {
        return Ok(());
    }
    Err(Failure::new(Exit::Failed, "changed", format!("{} changed while it was written", env_file::FILE))
        .hint("run the same command again"))
}

/// What a removal came to.
#[derive(Debug, Default)]
pub struct Removed {
    pub removed: Vec<String>,
    /// What stays, and why.
    pub left: Vec<(String, String)>,
}

/// Takes back what a removal names, as far as it is still as planned.
pub fn remove(place: &Place, removal: &Removal, record: &Record) -> Result<Removed> {
    let (mut removed, mut left) = (Vec::new(), removal.left.clone());
    let staging = Staging::open(&place.staging_dir(), &place.root)?;
    for (path, content) in &removal.files {
        match staging.remove(&place.root, path, content) {
            Ok(true) => removed.push(path.to_string()),
            Ok(false) => left.push((path.to_string(), "changed meanwhile".into())),
            Err(failure) => left.push((path.to_string(), failure.to_string())),
        }
    }
    match &removal.env {
        Some(bytes) if bytes.is_empty() => {
            env_file(&place.root, &staging, &EnvWork::Delete)?;
            removed.push(env_file::FILE.into());
        }
        Some(bytes) => env_file(&place.root, &staging, &EnvWork::Write(bytes.clone()))?,
        None => {}
    }
    for dir in &removal.dirs {
        place.root.remove_empty_dir(dir)?;
    }
    excludes::rewrite(&place.repo, |text| {
        // Looked at again under the lock: a worktree may have come to rely on a line meanwhile.
        let used = record::excludes_used_elsewhere(&place.repo)?;
        let gone = removal.excludes.difference(&used).cloned().collect();
        Ok(excludes::without(text, &gone))
    })?;
    removed.extend(removal.excludes.iter().map(|pattern| format!("exclude {pattern}")));
    let kept: Vec<&String> = left.iter().map(|(what, _)| what).collect();
    let rest = Record {
        files: record
            .files
            .iter()
            .filter(|(p, _)| kept.contains(&&p.to_string()))
            .map(|(p, f)| (p.clone(), f.clone()))
            .collect(),
        ..Record::default()
    };
    if rest.files.is_empty() {
        Record::delete(&place.repo)?
    } else {
        rest.save(&place.repo, record)?
    }
    Ok(Removed { removed, left })
}
