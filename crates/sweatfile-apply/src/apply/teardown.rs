//! Undoes what the set-up of a worktree started: runs the commands that were recorded then, each once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use shopfloor_core::approval::Approvals;
use shopfloor_core::child_env;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::LOCAL_VARS;
use shopfloor_core::proc;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::setup::{REPO_ROOT, WORKTREE, record_setup};
use crate::facts::Facts;
use crate::failure;
use crate::layer::{FILE, MergedLayers};
use crate::plan::{SetupPlan, SetupRun};
use crate::ports;
use crate::teardown_record::{Step, Stored, TeardownRecord, Teardowns};
use crate::template;
use crate::worktree::OpenWorktree;

/// How long a command may take.
const LIMIT: Duration = Duration::from_secs(60);

/// What came of the commands of some worktrees, one line each.
#[derive(Debug, Default, Serialize)]
pub struct TornDown {
    pub ran: Vec<String>,
    pub failed: Vec<String>,
    /// What waits, and for what.
    pub left: Vec<String>,
}

impl TornDown {
    pub fn failure(&self) -> Option<Failure> {
        (!self.failed.is_empty()).then(|| {
            failure::TEARDOWN
                .failure("not all teardown commands succeeded")
                .details(self.failed.iter().map(|line| format!("  {line}")))
                .hint("mend the cause; `sweatfile-apply sweep` runs them once more")
        })
    }
}

/// Records what is to be run when this worktree goes.
pub fn record(worktree: &OpenWorktree, merged: &MergedLayers, facts: &Facts, setup: &SetupPlan) -> Result<()> {
    let is_set_up = setup.commands.is_empty() || !matches!(setup.run, SetupRun::LeftOut | SetupRun::Held);
    if merged.teardown.is_empty() || !is_set_up {
        return Ok(());
    }
    let repo = &worktree.repo;
    let steps = merged.teardown.iter().enumerate().map(|(index, line)| Step {
        command: template::command(line, merged, &facts.placeholders),
        needs_approval: index >= merged.area_teardown,
        is_begun: false,
    });
    Teardowns::of(&worktree.env)?.keep(TeardownRecord {
        common_dir: repo.home.common_dir.clone(),
        git_dir: repo.git_dir.clone(),
        dir_id: fs::dir_id(&repo.git_dir).unwrap_or_default(),
        path: worktree.path.clone(),
        branch: worktree.git.branch(repo)?.unwrap_or_default(),
        env: setup.env.clone(),
        ports: facts.placeholders.ports.values().copied().collect(),
        steps: steps.collect(),
        ..TeardownRecord::default()
    })
}

/// Runs what is recorded for this worktree, in it. With `strict`, the first command that fails is the last.
pub fn of_worktree(ui: &Ui, worktree: &OpenWorktree, strict: bool) -> Result<TornDown> {
    let teardowns = Teardowns::of(&worktree.env)?;
    let is_it = |stored: &Stored| stored.record.git_dir == worktree.repo.git_dir && stored.record.is_living();
    let find =
        || -> Result<Option<Stored>> { Ok(teardowns.load(&worktree.repo.home.common_dir)?.into_iter().find(is_it)) };
    let mut done = TornDown::default();
    if find()?.is_none() {
        return Ok(done);
    }
    let _lock = if ui.is_dry() { None } else { Some(teardowns.lock()?) };
    if let Some(mut stored) = find()? {
        let dir = worktree.path.clone();
        run(ui, worktree, &mut stored, (&dir, None), (strict, false), &mut done)?;
    }
    // If the worktree stays after all, its set-up runs again.
    if !ui.is_dry() && !done.ran.is_empty() && worktree.path.is_dir() {
        record_setup(worktree, None)?;
    }
    Ok(done)
}

/// Runs what is recorded for worktrees of this repository that are gone, each in an empty directory of its own that has the
/// worktree's name. With `again` also what was begun.
pub fn sweep(ui: &Ui, worktree: &OpenWorktree, (strict, again): (bool, bool)) -> Result<TornDown> {
    let (teardowns, mut done) = (Teardowns::of(&worktree.env)?, TornDown::default());
    let all = || teardowns.load(&worktree.repo.home.common_dir);
    let gone =
        || -> Result<Vec<Stored>> { Ok(all()?.into_iter().filter(|stored| !stored.record.is_living()).collect()) };
    // It may have been moved, or be on a disk that is away.
    for Stored { record, .. } in
        all()?.iter().filter(|stored| stored.record.is_living() && !stored.record.path.is_dir())
    {
        let why = "git has a record of it; if it is gone for good, run `git worktree prune` first";
        done.left.push(format!("{} ({why})", record.path.display()));
    }
    if gone()?.is_empty() {
        return Ok(done);
    }
    let _lock = if ui.is_dry() { None } else { Some(teardowns.lock()?) };
    let mut living = Vec::new();
    for tree in worktree.git.list_worktrees(&worktree.repo.common_dir)? {
        living.push((tree.path, tree.branch.unwrap_or_default()));
    }
    let mut ports = ports::of_living(&worktree.repo)?;
    // Of workers in a clone only their records tell.
    for Stored { record, .. } in all()?.into_iter().filter(|stored| stored.record.is_living()) {
        living.push((record.path, record.branch));
        ports.extend(record.ports);
    }
    for mut stored in gone()? {
        // A disk that is away may bring it back.
        if !stored.record.git_dir.ancestors().skip(1).any(|dir| dir.join("HEAD").is_file()) {
            done.left.push(format!("{}: its repository is not there", stored.record.path.display()));
            continue;
        }
        let others = belongs_to_others(&stored.record, &living, &ports);
        let name = stored.record.path.file_name().unwrap_or_default().to_owned();
        let place = teardowns.dir.join("in").join(stored.record.dir_id.replace('@', "-"));
        let dir = place.join(name);
        if !ui.is_dry() {
            fs::create_private_dir(&dir)?;
        }
        let ran = run(ui, worktree, &mut stored, (&dir, others), (strict, again), &mut done);
        fs::remove_tree(&place)?;
        ran?;
        if strict && !done.failed.is_empty() {
            break;
        }
    }
    Ok(done)
}

/// How many worktrees that are gone wait for their teardown.
pub fn waiting(worktree: &OpenWorktree) -> Result<usize> {
    let all = Teardowns::of(&worktree.env)?.load(&worktree.repo.home.common_dir)?;
    Ok(all.iter().filter(|stored| !stored.record.is_living()).count())
}

/// Which worktree has by now what a worktree that is gone had: then the commands would take that away.
fn belongs_to_others(record: &TeardownRecord, living: &[(PathBuf, String)], ports: &BTreeSet<u16>) -> Option<String> {
    // The last part of its path is what programs such as docker compose go by.
    let name = record.path.file_name();
    let same = |(path, branch): &&(PathBuf, String)| {
        path.file_name() == name || !branch.is_empty() && *branch == record.branch
    };
    match living.iter().find(same) {
        Some((path, _)) => Some(format!("{} has its name or its branch now", path.display())),
        None if record.ports.iter().any(|port| ports.contains(port)) => {
            Some("another worktree has its port now".into())
        }
        None => None,
    }
}

fn run(
    ui: &Ui,
    worktree: &OpenWorktree,
    stored: &mut Stored,
    (dir, others): (&Path, Option<String>),
    (strict, again): (bool, bool),
    done: &mut TornDown,
) -> Result<()> {
    let approvals = Approvals::load(&worktree.env)?;
    let is_approved = approvals.has_any(&worktree.repo.home.common_dir, FILE)?;
    let all: Vec<PathBuf> = worktree.git.worktrees(&worktree.repo)?.into_iter().map(|(path, _)| path).collect();
    let env = child_env::for_worktree(&worktree.env, dir, &all);
    let name = stored.record.path.display().to_string();
    let mut at = 0;
    while at < stored.record.steps.len() {
        let step = stored.record.steps[at].clone();
        let line = format!("{}: {}", printable(&name), printable(&step.command));
        let waits_for = match (&others, step.is_begun && !again) {
            (Some(others), _) => Some(others.clone()),
            (None, true) => Some("it was begun and cut off; `sweatfile-apply sweep --again` runs it once more".into()),
            (None, false) if step.needs_approval && !is_approved => {
                Some("its sweatfile is not approved any more".into())
            }
            (None, false) => None,
        };
        if let Some(why) = waits_for {
            done.left.push(format!("{line} ({why})"));
            at += 1;
            continue;
        }
        if ui.is_dry() {
            done.ran.push(line);
            at += 1;
            continue;
        }
        stored.record.steps[at].is_begun = true;
        stored.save()?;
        ui.note(&line);
        let failed = run_step(&env, worktree, &stored.record, (&step.command, dir))?;
        match failed {
            None => {
                stored.record.steps.remove(at);
                done.ran.push(line);
            }
            Some(failed) => {
                stored.record.steps[at].is_begun = false;
                done.failed.push(format!("{line} ({failed})"));
                at += 1;
            }
        }
        stored.save()?;
        if strict && !done.failed.is_empty() {
            break;
        }
    }
    Ok(())
}

/// Runs a command, and returns in words how it failed, if it did.
fn run_step(
    env: &Env,
    worktree: &OpenWorktree,
    record: &TeardownRecord,
    (command, dir): (&str, &Path),
) -> Result<Option<String>> {
    let mut cmd = proc::shell(env, command)?.dir(dir).without_vars(LOCAL_VARS).within(LIMIT);
    for (key, value) in &record.env {
        cmd = cmd.var(key, value);
    }
    let cmd = cmd.var(WORKTREE, &record.path).var(REPO_ROOT, &worktree.repo.home.checkout);
    Ok(match cmd.capture() {
        Ok(ended) if ended.status.success() => None,
        Ok(ended) => {
            let said = String::from_utf8_lossy(&ended.stderr).lines().last().map(printable).unwrap_or_default();
            Some(format!("{} {said}", ended.status).trim_end().to_owned())
        }
        Err(failure) => Some(failure.to_string()),
    })
}
