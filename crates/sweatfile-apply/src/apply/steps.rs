//! Executes every step of a plan but setup. A kill at any point does no harm: a file's record is saved before the file
//! is written, the env file is written before its record, and the next run finishes what is missing.

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{self, Root, Staged, Staging};
use shopfloor_core::lock::Lock;
use shopfloor_core::path::RelPath;

use crate::applied::{PlacedFile, Record};
use crate::env_file;
use crate::excludes;
use crate::failure;
use crate::layout;
use crate::plan::{EnvOperation, FileOperation, FileStep, FileToPlace, Plan};
use crate::report::{ItemAction, Report};
use crate::snapshot;
use crate::worktree::OpenWorktree;

/// Takes every step but setup, and corrects the report where the worktree has changed since it was read. Goes on after
/// a failure as far as possible, and returns that failure.
pub fn place(worktree: &OpenWorktree, plan: &Plan, before: &Record, report: &mut Report) -> Option<Failure> {
    // What an error leaves out stays skipped.
    report.skip();
    try_place(worktree, plan, before, report).unwrap_or_else(Some)
}

fn try_place(worktree: &OpenWorktree, plan: &Plan, before: &Record, report: &mut Report) -> Result<Option<Failure>> {
    worktree.repo.remember(&worktree.env)?;
    let intent = intent(worktree, plan, before)?;
    intent.save(worktree, before)?;
    let mut record = intent.clone();

    // The file is read again under its lock: another worktree may have just removed a line.
    let patterns: Vec<String> = plan.excludes.iter().map(|e| e.pattern.clone()).collect();
    worktree.repo.rewrite_exclude(|text| Ok(excludes::with(text, &patterns)))?;
    report.excludes.iter_mut().zip(&plan.excludes).for_each(|(line, step)| line.action = step.action);

    if plan.writes() || layout::staging(&worktree.repo).is_dir() {
        let staging = open_staging(worktree, &record)?;
        place_files(worktree, &staging, plan, before, (&mut record, report));
        let written = write_env(worktree, &staging, &plan.env.operation);
        let written = written.and_then(|()| snapshot::follow(worktree, &plan.env.before, &plan.env.after));
        report.env.action = plan.env.line.action;
        if let Err(failure) = written {
            report.env.action = ItemAction::Failed;
            report.env.why = Some(failure.to_string());
        }
    }
    if report.env.action != ItemAction::Failed {
        record.env = plan.env.base.clone();
        record.env_pending.clear();
    }
    if plan.setup.is_whole {
        // One that still runs is waited for, and ended with the worktree.
        let is_asked_for = |key: &String| plan.setup.steps.iter().any(|step| step.key() == Some(key));
        let runs = |key: &String| Lock::is_held(&layout::step_lock(&worktree.repo, key)).unwrap_or(true);
        record.steps.retain(|key, _| is_asked_for(key) || runs(key));
    }
    record.layers = plan.layers.clone();
    record.save(worktree, &intent)?;
    Ok(placing_failure(report))
}

/// The record with everything that is about to be placed: a kill may leave any of it, and all of it is ours.
fn intent(worktree: &OpenWorktree, plan: &Plan, before: &Record) -> Result<Record> {
    let mut record = Record { is_listed: true, ..before.clone() };
    record.excludes.extend(plan.excludes.iter().map(|e| e.pattern.clone()));
    for step in &plan.files {
        if let (FileOperation::Place(replaces, _), Some(placed)) = (&step.operation, &step.placed) {
            record.dirs.extend(worktree.root.missing_parents(&step.path)?);
            let placed = PlacedFile { replaces: replaces.clone(), ..placed.clone() };
            record.files.insert(step.path.clone(), placed);
        }
        if let FileOperation::Place(_, FileToPlace::Cache(_)) = &step.operation {
            record.caches.insert(step.path.clone());
        }
    }
    if plan.env.operation != EnvOperation::Nothing {
        record.env = plan.env.was.clone();
        record.env_pending = plan.env.base.clone();
    }
    Ok(record)
}

fn place_files(
    worktree: &OpenWorktree,
    staging: &Staging,
    plan: &Plan,
    before: &Record,
    (record, report): (&mut Record, &mut Report),
) {
    let mut warnings = Vec::new();
    for (step, line) in plan.files.iter().zip(&mut report.files) {
        let done = place_file(&worktree.root, staging, step, record);
        let entry = if matches!(done, Ok(true)) { step.placed.as_ref() } else { before.files.get(&step.path) };
        match entry {
            Some(placed) => drop(record.files.insert(step.path.clone(), placed.clone())),
            None => drop(record.files.remove(&step.path)),
        }
        let is_cache = matches!(step.operation, FileOperation::Place(_, FileToPlace::Cache(_)));
        if is_cache && !matches!(done, Ok(true)) {
            record.caches.remove(&step.path);
        }
        match done {
            Ok(true) => line.action = step.action,
            Ok(false) => (line.action, line.why) = (ItemAction::Kept, "it appeared or changed meanwhile".into()),
            // The worktree works without it.
            Err(failure) if is_cache => {
                (line.action, line.why) = (ItemAction::Skipped, failure.to_string());
                warnings.push(format!("{} is not copied: {failure}", step.path));
            }
            Err(failure) => (line.action, line.why) = (ItemAction::Failed, failure.to_string()),
        }
    }
    report.warnings.extend(warnings);
}

/// The failure for entries that could not be placed, or in a dry run could not be.
pub fn placing_failure(report: &Report) -> Option<Failure> {
    let is_failed = |action| action == ItemAction::Failed;
    let files = report.files.iter().filter(|f| is_failed(f.action)).map(|f| (f.path.clone(), f.why.clone()));
    let env =
        is_failed(report.env.action).then(|| (env_file::FILE.to_owned(), report.env.why.clone().unwrap_or_default()));
    let failed: Vec<(String, String)> = files.chain(env).collect();
    let what = match failed.as_slice() {
        [] => return None,
        [(path, _)] => path.clone(),
        more => format!("{} entries", more.len()),
    };
    let failure = Failure::failed(format!("cannot place {what}; everything else is in place, and setup was not run"));
    let details = failed.into_iter().map(|(path, why)| format!("{path}: {why}"));
    Some(failure.details(details).hint("fix the cause and run `sweatfile-apply` again"))
}

/// Executes the step of one destination. Returns `false` when the destination changed since and was left as it is.
fn place_file(root: &Root, staging: &Staging, step: &FileStep, record: &mut Record) -> Result<bool> {
    match &step.operation {
        FileOperation::Nothing => Ok(true),
        FileOperation::Forget => remove_empty_parents(root, &step.path, record).map(|()| true),
        FileOperation::Place(None, FileToPlace::Link(target)) => root.symlink(&step.path, target),
        FileOperation::Place(expected, file) => {
            stage(root, staging, &step.path, file)?.place_over(root, &step.path, expected.as_ref())
        }
        FileOperation::Take(expected) => {
            let taken = staging.remove(root, &step.path, expected)?;
            remove_empty_parents(root, &step.path, record)?;
            Ok(taken)
        }
    }
}

fn stage(root: &Root, staging: &Staging, path: &RelPath, file: &FileToPlace) -> Result<Staged> {
    match file {
        FileToPlace::Link(target) => staging.link(root, path, target),
        FileToPlace::Write(bytes) => staging.file(root, path, bytes, None),
        FileToPlace::Copy(from) => staging.copy(root, path, from),
        FileToPlace::Cache(source) => {
            staging.make(root, path, |at| source.parts.copy(&source.from, at, source.is_linked))
        }
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

/// Executes `operation`. The caller holds the worktree's lock, and read the file while it held it.
pub fn write_env_file(worktree: &OpenWorktree, operation: &EnvOperation) -> Result<()> {
    let staging = open_staging(worktree, &Record::default())?;
    write_env(worktree, &staging, operation)
}

/// Opens the staging directory, and sweeps away what a killed run staged beside its targets: the recorded files and
/// `.sweatshop-env`.
pub fn open_staging(worktree: &OpenWorktree, record: &Record) -> Result<Staging> {
    let staging = Staging::open(&layout::staging(&worktree.repo), &worktree.root)?;
    staging.sweep_beside(&worktree.root, record.files.keys().chain(&record.caches).chain([&path()?]))?;
    Ok(staging)
}

fn path() -> Result<RelPath> {
    RelPath::parse(env_file::FILE).map_err(|e| Failure::failed(e.0))
}

/// Executes `operation` on `.sweatshop-env`.
pub fn write_env(worktree: &OpenWorktree, staging: &Staging, operation: &EnvOperation) -> Result<()> {
    let path = path()?;
    let root = &worktree.root;
    let done = match operation {
        EnvOperation::Nothing => true,
        EnvOperation::Delete(expected) => staging.remove(root, &path, expected)?,
        EnvOperation::Write(bytes, expected) => {
            staging.file(root, &path, bytes, Some(fs::PRIVATE))?.place_over(root, &path, expected.as_ref())?
        }
    };
    if done {
        return Ok(());
    }
    Err(failure::CHANGED
        .failure(format!("{} was edited meanwhile and left as it is", env_file::FILE))
        .hint("run the same command again"))
}
