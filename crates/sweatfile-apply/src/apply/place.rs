//! Executes every step of a plan but setup. A kill at any point does no harm: a file's record is saved before the file
//! is written, the env file is written before its record, and the next run finishes what is missing.

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{Root, Staged, Staging};
use shopfloor_core::path::RelPath;

use super::env_file::{execute, open_staging};
use crate::env_file;
use crate::excludes;
use crate::plan::{EnvOperation, FileOperation, FileStep, FileToPlace, Plan};
use crate::ports;
use crate::record::{PlacedFile, Record};
use crate::report::{ItemAction, Report};
use crate::snapshot;
use crate::state;
use crate::worktree::OpenWorktree;

/// Reserves the new ports of a plan. Returns `false` when another worktree took ports since; the caller then has to
/// read and plan again.
pub fn reserve_ports(worktree: &OpenWorktree, plan: &Plan) -> Result<bool> {
    plan.ports.as_ref().map_or(Ok(true), |reservation| ports::reserve(&worktree.repo, reservation))
}

/// Takes every step but setup, and corrects the report where the worktree has changed since it was read. Goes on after
/// a failure as far as possible, and returns that failure.
pub fn place(worktree: &OpenWorktree, plan: &Plan, before: &Record, report: &mut Report) -> Option<Failure> {
    let mut progress = PlacingProgress::default();
    match try_place(worktree, plan, before, report, &mut progress) {
        Ok(failure) => failure,
        Err(failure) => {
            progress.mark_the_rest_skipped(report);
            Some(failure)
        }
    }
}

/// The steps taken before an error stopped the run.
#[derive(Default)]
struct PlacingProgress {
    excludes: bool,
    files: usize,
    env: bool,
}

impl PlacingProgress {
    fn mark_the_rest_skipped(&self, report: &mut Report) {
        let skip = |action: &mut ItemAction| {
            if *action == ItemAction::Created {
                *action = ItemAction::Skipped;
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
    worktree: &OpenWorktree,
    plan: &Plan,
    before: &Record,
    report: &mut Report,
    progress: &mut PlacingProgress,
) -> Result<Option<Failure>> {
    worktree.repo.remember_main_checkout(&worktree.env)?;
    let intent = intent(worktree, plan, before)?;
    intent.save(worktree, before)?;
    let mut record = intent.clone();

    // The file is read again under its lock: another worktree may have just removed a line.
    let patterns: Vec<String> = plan.excludes.iter().map(|e| e.pattern.clone()).collect();
    worktree.repo.rewrite_exclude(|text| Ok(excludes::with(text, &patterns)))?;
    progress.excludes = true;

    if plan.writes() || state::staging(&worktree.repo).is_dir() {
        let staging = open_staging(worktree, &record)?;
        place_files(worktree, &staging, plan, before, (&mut record, report, progress));
        let written = execute(worktree, &staging, &plan.env.operation);
        let written = written.and_then(|()| snapshot::follow(worktree, &plan.env.before, &plan.env.after));
        if let Err(failure) = written {
            report.env.action = ItemAction::Failed;
            report.env.why = Some(failure.to_string());
        }
        progress.env = true;
    }
    if report.env.action != ItemAction::Failed {
        record.env = plan.env.base.clone();
        record.env_pending.clear();
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
        let replaces = match &step.operation {
            FileOperation::Create(_) => None,
            FileOperation::Swap(content, _) => Some(content.clone()),
            _ => continue,
        };
        if let Some(placed) = &step.placed {
            record.dirs.extend(worktree.root.missing_parents(&step.path)?);
            record.files.insert(step.path.clone(), PlacedFile { replaces, ..placed.clone() });
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
    (record, report, progress): (&mut Record, &mut Report, &mut PlacingProgress),
) {
    for (step, line) in plan.files.iter().zip(&mut report.files) {
        let done = place_file(&worktree.root, staging, step, record);
        match (&done, &step.placed) {
            (Ok(true), Some(placed)) => drop(record.files.insert(step.path.clone(), placed.clone())),
            (Ok(true), None) => drop(record.files.remove(&step.path)),
            _ => restore(record, before, &step.path),
        }
        progress.files += 1;
        match done {
            Ok(true) => {}
            Ok(false) => (line.action, line.why) = (ItemAction::Kept, "it appeared or changed meanwhile".into()),
            Err(failure) => (line.action, line.why) = (ItemAction::Failed, failure.to_string()),
        }
    }
}

fn restore(record: &mut Record, before: &Record, path: &RelPath) {
    match before.files.get(path) {
        Some(placed) => record.files.insert(path.clone(), placed.clone()),
        None => record.files.remove(path),
    };
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
        FileOperation::Create(FileToPlace::Link(target)) => root.symlink(&step.path, target),
        FileOperation::Create(file) => stage(root, staging, &step.path, file)?.place(root, &step.path),
        FileOperation::Swap(expected, file) => stage(root, staging, &step.path, file)?.swap(root, &step.path, expected),
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
