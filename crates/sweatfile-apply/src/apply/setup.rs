//! Runs the setup commands of a plan, once per list and worktree.

use std::path::PathBuf;
use std::time::Instant;

use shopfloor_core::child_env;
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git::LOCAL_VARS;
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc::{self, Cmd, Status};
use shopfloor_core::ui::Ui;

use crate::applied::{Record, StepRun};
use crate::apply::{background, made};
use crate::facts;
use crate::failure;
use crate::layer::MergedLayers;
use crate::layout;
use crate::plan::{PlannedStep, SetupPlan, SetupRun};
use crate::report::{ItemAction, Report};
use crate::setup_step::{REPO_ROOT, STEP, SetupStep, WORKTREE};
use crate::worktree::OpenWorktree;

/// Runs the setup commands, with output and progress on stderr. The worktree's lock is not held: a command may take
/// long, and may call this tool. `record` records the teardown.
pub fn setup(
    ui: &Ui,
    worktree: &OpenWorktree,
    (merged, plan): (&MergedLayers, &SetupPlan),
    record: impl FnOnce(&mut Vec<String>) -> Result<Option<Lock>>,
    report: &mut Report,
) -> Result<()> {
    if matches!(plan.run, SetupRun::Finished | SetupRun::LeftOut | SetupRun::Held) {
        return record(&mut report.warnings).map(drop);
    }
    // What does not run stays skipped.
    let due = report.setup.iter_mut().zip(&plan.steps).filter(|(_, step)| step.due.is_some());
    due.for_each(|(line, _)| line.action = ItemAction::Skipped);
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
    // Before the first command that may start something. Nothing is torn down until the last one has ended.
    let _teardown = record(&mut report.warnings)?;
    // A run that was killed may have left its output file.
    fs::sweep_temporaries(&layout::setup_output(&worktree.repo))?;
    // Another run may have done it while this one waited.
    let record = Record::load(worktree)?;
    let is_done = |step: &PlannedStep| match &step.state {
        _ if plan.run == SetupRun::Again => false,
        None => record.setup == Some(plan.digest),
        Some((key, inputs)) => record.steps.get(key).is_some_and(|run| run.status == Some(0) && run.inputs == *inputs),
    };
    let is_due = |step: &PlannedStep| step.due.is_some() && !is_done(step);
    let has_list = plan.steps.iter().any(|step| step.state.is_none() && is_due(step));
    let run = |report: &mut Report| {
        let ran = run_steps(ui, worktree, plan, (&record, &is_done), report);
        // Also what commands made that failed or were interrupted.
        let ended = plan.steps.iter().filter(|step| step.due.is_some() && !step.step.background);
        let setup = ended.map(|step| SetupStep { run: step.for_files.clone(), ..step.step.clone() }).collect();
        let merged = MergedLayers { setup, ..merged.clone() };
        let made = proc::tidy_up(|| made::record(worktree, &merged, &record));
        ran.and(made)
    };
    if !has_list {
        return run(report);
    }
    if record.is_begun && record.is_listed {
        background::end_orphans(worktree, None);
    }
    // From here on setup counts as unfinished, whatever ran before, so that a failed run starts again.
    record_setup(worktree, None, true)?;
    let ran = run(report);
    let recorded = record_setup(worktree, ran.is_ok().then_some(plan.digest), false);
    ran.and(recorded)
}

/// Runs those steps that have to run and are not done.
fn run_steps(
    ui: &Ui,
    worktree: &OpenWorktree,
    plan: &SetupPlan,
    (record, is_done): (&Record, &dyn Fn(&PlannedStep) -> bool),
    report: &mut Report,
) -> Result<()> {
    let (count, env) = (plan.steps.len(), inherited(worktree)?);
    for (index, step) in plan.steps.iter().enumerate().filter(|(_, step)| step.due.is_some()) {
        if is_done(step) {
            report.setup[index].action = ItemAction::Unchanged;
            continue;
        }
        let started = Instant::now();
        report.setup[index].action = ItemAction::Failed;
        let begins = begin_step(worktree, step, record)?;
        if begins && step.step.background {
            background::start(worktree, step, &plan.env, &env)?;
        }
        if !begins || step.step.background {
            report.setup[index].action = ItemAction::Running;
            continue;
        }
        let status = run_command(ui, &env, worktree, plan, index)?;
        if let Some(key) = step.key() {
            Record::end_step(worktree, key, status.code())?;
        }
        let seconds = (started.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
        let line = &mut report.setup[index];
        (line.status, line.seconds) = (Some(status.code()), Some(seconds));
        if !status.success() {
            return Err(failure::SETUP
                .failure(format!("setup command {} of {count} failed with {status}: {}", index + 1, step.command))
                .hint("the worktree and its files stay; fix the cause and run `sweatfile-apply` again"));
        }
        line.action = ItemAction::Created;
        ui.note(format!("[{}/{count}] done in {seconds:.2} s", index + 1));
    }
    Ok(())
}

/// What commands in this worktree inherit.
fn inherited(worktree: &OpenWorktree) -> Result<Env> {
    // A worker's clone has a source, whose main checkout is another one, too.
    let all = worktree.git.worktrees(&worktree.repo)?.into_iter().map(|(path, _)| path);
    let all: Vec<PathBuf> = all.chain([worktree.repo.home.checkout.clone()]).collect();
    Ok(child_env::for_worktree(&worktree.env, &worktree.path, &all))
}

/// Records the command list that ran to its end, or that none did, and whether one is about to run.
fn record_setup(worktree: &OpenWorktree, setup: Option<Digest>, is_begun: bool) -> Result<()> {
    Record::change(worktree, |record| (record.setup, record.is_begun) = (setup, is_begun))
}

/// Records that a step begins, with its inputs as they are by now: the set-up may have placed them. Returns false, and does
/// nothing, if it runs already.
fn begin_step(worktree: &OpenWorktree, step: &PlannedStep, record: &Record) -> Result<bool> {
    let Some(key) = step.key() else { return Ok(true) };
    if Lock::is_held(&layout::step_lock(&worktree.repo, key))? {
        return Ok(false);
    }
    if record.steps.get(key).is_some_and(|run| run.status.is_none()) {
        background::end_orphans(worktree, Some(key));
    }
    let inputs = facts::read_inputs(worktree, &step.step)?;
    let run = StepRun { name: step.step.name().to_owned(), inputs, status: None };
    Record::change(worktree, |record| drop(record.steps.insert(key.clone(), run)))?;
    Ok(true)
}

fn run_command(ui: &Ui, env: &Env, worktree: &OpenWorktree, plan: &SetupPlan, index: usize) -> Result<Status> {
    let step = &plan.steps[index];
    let label = format!("[{}/{}] {}", index + 1, plan.steps.len(), step.command);
    ui.note(&label);
    let spinner = ui.spinner(&label);
    let cmd = in_worktree(worktree, plan, proc::shell(env, &step.command)?);
    let cmd = step.step.timeout.into_iter().fold(cmd, Cmd::within);
    let cmd = step.key().into_iter().fold(cmd, |cmd, key| cmd.var(STEP, key));
    cmd.show_through(fs::scratch(&layout::setup_output(&worktree.repo))?, |output| {
        ui.pass_through(spinner.as_ref(), output)
    })
}

/// A command with what set-up commands see.
fn in_worktree(worktree: &OpenWorktree, plan: &SetupPlan, cmd: Cmd) -> Cmd {
    let cmd = cmd.dir(&worktree.path).without_vars(LOCAL_VARS).vars(&plan.env);
    cmd.var(WORKTREE, &worktree.path).var(REPO_ROOT, &worktree.repo.home.checkout)
}
