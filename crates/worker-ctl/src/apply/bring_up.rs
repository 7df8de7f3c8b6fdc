//! Brings workers up: creates those that only `config.toml` lists, and starts several sessions at a time.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::proc;
use shopfloor_core::sandbox::NO_SANDBOX;

use crate::apply::new_worker::{self, WorkerOptions};
use crate::apply::{session, transition};
use crate::context::Context;
use crate::facts::version;
use crate::failure;
use crate::names::checked_name;
use crate::plan::machine::Input;
use crate::worker_notes::Fault;

/// How many programs are started at the same time.
const AT_ONCE: usize = 8;

/// How long a server of tmux takes to end.
const SERVER_END: Duration = Duration::from_millis(100);

/// How long a program may take to print its version, so that it delays nobody.
const VERSION_LIMIT: Duration = Duration::from_secs(5);

/// Starts these workers' sessions, several at a time. Returns the failures. `then` is called for each worker that is up,
/// and `when_done` for each whose start has succeeded or failed.
pub fn bring_up(
    ctx: &Context<'_>,
    names: &[String],
    then: &(dyn Fn(&str) -> Result<()> + Sync),
    when_done: &(dyn Fn(&str) + Sync),
) -> Vec<Failure> {
    if names.is_empty() {
        return Vec::new();
    }
    let ready = || {
        let tmux = ctx.tmux_for_programs()?;
        tmux.start(&ctx.root.path).and_then(|()| tmux.renew(&ctx.root.path, &ctx.event_variable()))
    };
    let again = |_| {
        thread::sleep(SERVER_END);
        ready()
    };
    // A server may be about to end, and then still answers.
    if let Err(failure) = ready().or_else(again).or_else(again) {
        return vec![failure];
    }
    let queue = Mutex::new(names.iter());
    let failures = Mutex::new(Vec::new());
    let next = || locked(&queue).next();
    thread::scope(|scope| {
        // While the programs start, which takes longer.
        drop(proc::begin(scope, || tell_untried(ctx, names)));
        for _ in 0..AT_ONCE.min(names.len()) {
            let work = || {
                while let Some(name) = next() {
                    let brought = bring_one_up(ctx, name).and_then(|is_there| {
                        if is_there {
                            ctx.ui.note(format!("{name} is up"));
                        }
                        if is_there { then(name) } else { Ok(()) }
                    });
                    match brought {
                        Ok(()) => {}
                        Err(failure) => {
                            let message = format!("{name}: {}", failure.message);
                            locked(&failures).push(Failure { message, ..failure });
                        }
                    }
                    when_done(name);
                }
            };
            drop(proc::begin(scope, work));
        }
    });
    failures.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Names the programs among the presets of these workers whose installed version was not tried.
fn tell_untried(ctx: &Context<'_>, names: &[String]) {
    let Ok(state) = ctx.state() else { return };
    let workers = names.iter().filter_map(|name| state.workers.get(name));
    let programs: BTreeMap<_, _> =
        workers.filter_map(|worker| ctx.root.preset_of(worker)).map(|program| (program.name, program)).collect();
    for (name, program) in programs {
        let tried = program.versions;
        if let Some(version) = version::installed(ctx, program, VERSION_LIMIT).filter(|v| !tried.contains(&v.as_str()))
        {
            ctx.ui.note(format!("{name} {version} was not tried; its preset is for {}", tried.join(" and ")));
        }
    }
}

/// Starts one worker's session under its lock. Returns `false` when the worker is gone.
fn bring_one_up(ctx: &Context<'_>, name: &str) -> Result<bool> {
    ctx.check_ending()?;
    let _lock = ctx.lock(name)?;
    // config.toml may have changed while we waited for the lock.
    let ctx = &ctx.reload()?;
    let Some(worker) = ctx.state()?.workers.get(name).cloned() else { return Ok(false) };
    if let Err(missing) = worker.require_tree(&ctx.source()) {
        transition::record(ctx, name, &Input::Fault { reason: Fault::WorktreeMissing })?;
        return Err(missing);
    }
    match session::start(ctx, &worker) {
        // It is no fault.
        Err(failure) if failure::QUEUED.is_kind_of(&failure) => {
            ctx.ui.note(failure.message);
            Ok(false)
        }
        Err(failure) if NO_SANDBOX.is_kind_of(&failure) => {
            transition::record(ctx, name, &Input::Fault { reason: Fault::NoSandbox })?;
            Err(failure)
        }
        started => started.map(|_| true),
    }
}

/// Creates the workers that `config.toml` lists but the state does not know, out of `names` or all. Returns the
/// failures.
pub fn make_missing(ctx: &Context<'_>, names: Option<&[String]>) -> Vec<String> {
    let existing = ctx.state().map(|state| state.workers).unwrap_or_default();
    let is_missing = |name: &&String| !existing.contains_key(*name) && names.is_none_or(|names| names.contains(name));
    let tables = ctx.root.config.workers.iter().filter(|(_, table)| !table.adopted);
    let missing = tables.map(|(name, _)| name).filter(is_missing);
    let failed = missing.filter_map(|name| Some(format!("{name}: {}", make_if_missing(ctx, name).err()?)));
    failed.collect()
}

fn make_if_missing(ctx: &Context<'_>, name: &str) -> Result<()> {
    checked_name(name)?;
    if ctx.clone.is_own {
        return Err(failure::NOT_INITIALISED
            .failure("its root has no clone yet")
            .hint(format!("`worker-ctl add {name}` makes it, and this worker")));
    }
    // What the source has by now is no work of this name.
    ctx.repo.fetched(&ctx.source())?;
    let _lock = ctx.lock(name)?;
    // Its table may have been removed, or another process may have created the worker.
    let now = ctx.reload()?;
    let exists = ctx.state()?.workers.contains_key(name);
    match now.root.config.workers.contains_key(name) && !exists {
        true => new_worker::make(&now, new_worker::check(&now, name, &WorkerOptions::default())?).map(drop),
        false => Ok(()),
    }
}

/// Locks a mutex, even if another thread panicked while it held the lock.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
