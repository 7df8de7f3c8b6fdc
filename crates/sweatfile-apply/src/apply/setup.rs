//! Runs the setup commands of a plan, once per list and worktree.

use std::path::PathBuf;
use std::time::Instant;

use shopfloor_core::child_env;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::LOCAL_VARS;
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc::{self, Status};
use shopfloor_core::ui::Ui;

use crate::applied::Record;
use crate::failure;
use crate::layout;
use crate::plan::{SetupPlan, SetupRun};
use crate::report::{ItemAction, Report};
use crate::worktree::OpenWorktree;

/// Tells setup commands the worktree. A run inside its own setup recognises itself by it.
pub const WORKTREE: &str = "SWEATFILE_WORKTREE";
pub const REPO_ROOT: &str = "SWEATFILE_REPO_ROOT";

/// Runs the setup commands, with output and progress on stderr. The worktree's lock is not held: a command may take
/// long, and may call this tool.
pub fn setup(ui: &Ui, worktree: &OpenWorktree, plan: &SetupPlan, report: &mut Report) -> Result<()> {
    if plan.commands.is_empty() || matches!(plan.run, SetupRun::Finished | SetupRun::LeftOut | SetupRun::Held) {
        return Ok(());
    }
    // What does not run stays skipped.
    report.setup.iter_mut().for_each(|line| line.action = ItemAction::Skipped);
    let lock_path = layout::setup_lock(&worktree.repo);
    let inside = worktree.env.var(WORKTREE) == Some(worktree.path.as_os_str());
    let _lock = match Lock::try_take(&lock_path)? {
        Some(lock) => lock,
        None if inside => {
            ui.note("this runs inside the setup of this worktree, so setup is not started again");
            return Ok(());
        }
        None => Lock::take(&lock_path)?,
    };
    // A run that was killed may have left its output file.
    fs::sweep_temporaries(&layout::setup_output(&worktree.repo))?;
    if plan.run == SetupRun::Now && Record::load(worktree)?.setup == Some(plan.digest) {
        report.setup.iter_mut().for_each(|line| line.action = ItemAction::Unchanged);
        return Ok(());
    }
    // From here on setup counts as unfinished, whatever ran before, so that a failed run starts again.
    record_setup(worktree, None)?;
    // A worker's clone has a source, whose main checkout is another one, too.
    let all = worktree.git.worktrees(&worktree.repo)?.into_iter().map(|(path, _)| path);
    let all: Vec<PathBuf> = all.chain([worktree.repo.home.checkout.clone()]).collect();
    let (count, env) = (plan.commands.len(), child_env::for_worktree(&worktree.env, &worktree.path, &all));
    for (index, command) in plan.commands.iter().enumerate() {
        let started = Instant::now();
        report.setup[index].action = ItemAction::Failed;
        let status = run_command(ui, &env, worktree, plan, index)?;
        let seconds = (started.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
        let line = &mut report.setup[index];
        (line.status, line.seconds) = (Some(status.code()), Some(seconds));
        if !status.success() {
            return Err(failure::SETUP
                .failure(format!("setup command {} of {count} failed with {status}: {command}", index + 1))
                .hint("the worktree and its files stay; fix the cause and run `sweatfile-apply` again"));
        }
        line.action = ItemAction::Created;
        ui.note(format!("[{}/{count}] done in {seconds:.2} s", index + 1));
    }
    record_setup(worktree, Some(plan.digest))
}

/// Records the command list that ran to its end, or that none did.
pub fn record_setup(worktree: &OpenWorktree, setup: Option<Digest>) -> Result<()> {
    if !worktree.repo.git_dir.is_dir() {
        // Saving a record would create the git directory of the removed worktree again.
        return Err(Failure::failed(format!("the worktree {} was removed meanwhile", worktree.path.display())));
    }
    let _lock = worktree.lock()?;
    let before = Record::load(worktree)?;
    Record { setup, ..before.clone() }.save(worktree, &before)
}

fn run_command(ui: &Ui, env: &Env, worktree: &OpenWorktree, plan: &SetupPlan, index: usize) -> Result<Status> {
    let label = format!("[{}/{}] {}", index + 1, plan.commands.len(), plan.commands[index]);
    let mut cmd = proc::shell(env, &plan.commands[index])?.dir(&worktree.path).without_vars(LOCAL_VARS);
    for (key, value) in &plan.env {
        cmd = cmd.var(key, value);
    }
    cmd = cmd.var(WORKTREE, &worktree.path).var(REPO_ROOT, &worktree.repo.home.checkout);
    ui.note(&label);
    let spinner = ui.spinner(&label);
    cmd.show_through(fs::scratch(&layout::setup_output(&worktree.repo))?, |output| {
        ui.pass_through(spinner.as_ref(), output)
    })
}
