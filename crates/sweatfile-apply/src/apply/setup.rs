//! Runs the setup commands of a plan, once per list and worktree.

use std::time::Instant;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::LOCAL_VARS;
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc::{self, Status};
use shopfloor_core::ui::Ui;

use crate::TOOL;
use crate::facts::Place;
use crate::plan::{Run, SetupPlan};
use crate::record::Record;
use crate::report::{Action, Report};

/// Names the worktree to setup commands; also how a run inside its own setup knows itself.
const WORKTREE: &str = "SWEATFILE_WORKTREE";
const REPO_ROOT: &str = "SWEATFILE_REPO_ROOT";

/// Runs the setup commands, output and progress on stderr. The worktree's lock is not held: a
/// command may take its time, and may call us.
pub fn setup(ui: &Ui, env: &Env, place: &Place, plan: &SetupPlan, report: &mut Report) -> Option<Failure> {
    try_setup(ui, env, place, plan, report).unwrap_or_else(|failure| {
        let not_run = report.setup.iter_mut().filter(|line| line.status.is_none() && line.action == Action::Created);
        not_run.for_each(|line| line.action = Action::Skipped);
        Some(failure)
    })
}

fn try_setup(ui: &Ui, env: &Env, place: &Place, plan: &SetupPlan, report: &mut Report) -> Result<Option<Failure>> {
    if plan.commands.is_empty() || matches!(plan.run, Run::Finished | Run::LeftOut | Run::Held) {
        return Ok(None);
    }
    let lock_path = place.repo.worktree_state(TOOL).join("setup.lock");
    let inside = env.var(WORKTREE) == Some(place.worktree.as_os_str());
    let _lock = match Lock::try_take(&lock_path)? {
        Some(lock) => lock,
        None if inside => {
            ui.note("this runs inside the setup of this worktree, so setup is not started again");
            report.setup.iter_mut().for_each(|line| line.action = Action::Skipped);
            return Ok(None);
        }
        None => Lock::take(&lock_path)?,
    };
    if plan.run == Run::Now && Record::load(&place.repo)?.setup == Some(plan.digest) {
        report.setup.iter_mut().for_each(|line| line.action = Action::Unchanged);
        return Ok(None);
    }
    // From here on it has not finished, whatever it did before: a failed run starts again.
    mark(place, None)?;
    let count = plan.commands.len();
    for (index, command) in plan.commands.iter().enumerate() {
        let started = Instant::now();
        let status = run(ui, env, place, plan, index).inspect_err(|_| not_run_from(report, index))?;
        let seconds = (started.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
        let line = &mut report.setup[index];
        (line.status, line.seconds) = (Some(status.code()), Some(seconds));
        if status.success() {
            ui.note(format!("[{}/{count}] done in {seconds:.2} s", index + 1));
            continue;
        }
        not_run_from(report, index);
        let message = format!("setup command {} of {count} failed with {status}: {}", index + 1, command);
        return Ok(Some(
            Failure::new(Exit::Failed, "setup", message)
                .hint("the worktree and its files stay; mend the cause and run `sweatfile-apply` again"),
        ));
    }
    mark(place, Some(plan.digest)).map(|()| None)
}

/// The command that failed, and those that were not come to.
fn not_run_from(report: &mut Report, index: usize) {
    report.setup[index..].iter_mut().for_each(|line| line.action = Action::Skipped);
    report.setup[index].action = Action::Failed;
}

/// Remembers which list ran to its end, if one did.
fn mark(place: &Place, setup: Option<Digest>) -> Result<()> {
    if !place.repo.git_dir.is_dir() {
        // A record written now would bring a removed worktree's git directory back.
        return Err(Failure::failed(format!("the worktree {} was removed meanwhile", place.worktree.display())));
    }
    let _lock = Lock::take(&place.lock_path())?;
    let before = Record::load(&place.repo)?;
    Record { setup, ..before.clone() }.save(&place.repo, &before)
}

fn run(ui: &Ui, env: &Env, place: &Place, plan: &SetupPlan, index: usize) -> Result<Status> {
    let label = format!("[{}/{}] {}", index + 1, plan.commands.len(), plan.commands[index]);
    let mut cmd = proc::shell(env, &plan.commands[index])?.dir(&place.worktree).without_vars(LOCAL_VARS);
    for (key, value) in &plan.env {
        cmd = cmd.var(key, value);
    }
    cmd = cmd.var(WORKTREE, &place.worktree).var(REPO_ROOT, &place.repo.home.checkout);
    ui.note(&label);
    let spinner = ui.spinner(&label);
    cmd.show_through(fs::scratch(&place.repo.worktree_state(TOOL).join("output"))?, |output| {
        ui.pass_through(spinner.as_ref(), output)
    })
}
