//! `wait`: until no step of set-up runs in the background. And the hidden command that such a step runs under.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use shopfloor_core::args::flag_duration;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::lock::Lock;
use shopfloor_core::proc;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::applied::{Record, StepRun};
use crate::apply::background::{self, Task};
use crate::facts::{self, LoadOptions};
use crate::failure;
use crate::flags::LayerFlags;
use crate::layout;
use crate::setup_step::{STEP, WORKTREE};
use crate::worktree::OpenWorktree;

/// How often it looks.
const TICK: Duration = Duration::from_millis(50);

/// Wait until no set-up runs, nor a step of it in the background
///
/// Exits with 0 if none runs and none failed, with 1 if one in the background ran for inputs that have changed since, with 4 if
/// one failed or was cut off, and with 124 if one still runs at the time-out.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  sweatfile-apply wait --timeout 10m && npm test")]
pub struct Args {
    /// Wait at most this long; 0 only looks
    #[arg(long, value_name = "T")]
    timeout: Option<String>,
}

/// The keys of the steps that run.
fn running(worktree: &OpenWorktree, record: &Record) -> Result<Vec<String>> {
    let mut running = Vec::new();
    for key in record.steps.keys() {
        if record.is_running(&worktree.repo, key)? {
            running.push(key.clone());
        }
    }
    Ok(running)
}

/// Fails if steps in the background have run for other inputs than there are now.
fn require_fresh(worktree: &OpenWorktree, dirs: &LayerFlags, steps: &BTreeMap<String, StepRun>) -> Result<()> {
    let mut stale = Vec::new();
    if steps.is_empty() {
        return Ok(());
    }
    let merged = facts::load_layers(&worktree.env, &worktree.repo, dirs, LoadOptions::default())?.merged()?;
    for step in merged.setup.iter().filter(|step| step.background) {
        let Some(run) = step.key().and_then(|key| steps.get(&key)) else { continue };
        let input = run.changed(&facts::read_inputs(worktree, step)?);
        stale.extend(input.map(|input| format!("`{}` is stale: {input} changed", printable(step.name()))));
    }
    if stale.is_empty() {
        return Ok(());
    }
    let failure = failure::SETUP.with(Exit::No, "not all steps of set-up ran for what is there now").details(stale);
    Err(failure.hint("run `sweatfile-apply`, which runs them again"))
}

pub fn run(ui: &Ui, env: &Env, dirs: &LayerFlags, args: &Args) -> Result<Exit> {
    let limit = args.timeout.as_deref().map(|text| flag_duration("--timeout", text)).transpose()?;
    let (worktree, begin, mut is_told) = (OpenWorktree::find(env)?, Instant::now(), false);
    let load = || -> Result<Record> {
        let mut record = Record::load(&worktree)?;
        // A step that waits does not wait for itself.
        record.steps.retain(|key, _| env.var(STEP).is_none_or(|own| own != key.as_str()));
        Ok(record)
    };
    // What the set-up itself runs does not wait for it.
    let is_inside = env.var(WORKTREE) == Some(worktree.path.as_os_str());
    let set_up = || Ok::<_, Failure>(!is_inside && Lock::is_held(&layout::setup_lock(&worktree.repo))?);
    let (steps, running, is_set_up) = loop {
        // In this order: a step that ends meanwhile is seen as ended.
        let known = load()?;
        let running = running(&worktree, &known)?;
        let is_set_up = set_up()?;
        if running.is_empty() && !is_set_up || limit.is_some_and(|limit| begin.elapsed() >= limit) {
            break (load()?.steps, running, is_set_up);
        }
        if !is_told {
            is_told = true;
            let names = running.iter().filter_map(|key| Some(format!(": {}", known.steps.get(key)?.name)));
            ui.note(format!("waiting for the set-up{}", names.collect::<String>()));
        }
        proc::check_interrupt()?;
        thread::sleep(TICK);
    };
    let state = |key: &String, run: &StepRun| match run.status {
        _ if running.contains(key) => "running",
        Some(0) => "done",
        Some(_) => "failed",
        None => "cut_off",
    };
    let mut failed = Vec::new();
    for (key, run) in &steps {
        let (state, log) = (state(key, run), layout::step_log(&worktree.repo, key));
        let log = log.exists().then(|| log.display().to_string());
        let at = log.iter().map(|log| format!("; its log is {log}")).collect::<String>();
        match state {
            "failed" => {
                failed.push(format!("`{}` failed with status {}{at}", printable(&run.name), run.status.unwrap_or(0)));
            }
            "cut_off" => failed.push(format!("`{}` was cut off{at}", printable(&run.name))),
            _ => {}
        }
        if ui.is_json() {
            ui.json(&json!({ "name": run.name, "state": state, "status": run.status, "log": log }));
        } else if state == "running" {
            ui.line(format!("running {}", printable(&run.name)));
        }
    }
    if !running.is_empty() || is_set_up {
        let timeout = args.timeout.as_deref().unwrap_or_default();
        return Err(failure::TIMEOUT.failure(format!("a step of set-up still runs after {timeout}")));
    }
    if !failed.is_empty() {
        let failure = failure::SETUP.failure("not all steps of set-up succeeded").details(failed);
        return Err(failure.hint("fix the cause and run `sweatfile-apply` again"));
    }
    // Inside of a set-up, steps that come later have not begun yet.
    if !is_inside {
        require_fresh(&worktree, dirs, &steps)?;
    }
    Ok(Exit::Done)
}

/// The step, as `apply` passes it on in a variable.
#[derive(clap::Args, Debug)]
pub struct StepArgs {
    /// Its name, for who lists processes
    name: String,
}

pub fn run_step(env: &Env, args: &StepArgs) -> Result<Exit> {
    let json = env.var(background::TASK).unwrap_or_default().as_encoded_bytes();
    let task: Task = serde_json::from_slice(json).map_err(|e| {
        let what = format!("nothing says what the step `{}` is", printable(&args.name));
        Failure::usage(what).because(e).hint("run `sweatfile-apply`")
    })?;
    background::run(&OpenWorktree::find(env)?, &task).map(|()| Exit::Done)
}
