//! `patrol`: looks at all workers once.

use std::time::Duration;

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::proc;

use crate::apply::patrol::{self, PatrolScope};
use crate::apply::recover;
use crate::commands;
use crate::context::Context;
use crate::layout::RootLock;
use crate::poll;
use crate::tmux;
use crate::worker::{Session, Worker};

/// How long the end of a program is tried to be recorded whose worker another command is busy with, and how often.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(100);

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Look only for programs that ended, as tmux does when one ends
    #[arg(long)]
    pub sessions: bool,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    let scope = if args.sessions { PatrolScope::Sessions } else { PatrolScope::All };
    // Wait for a patrol that is under way, however long it takes. The end of a program is recorded at once.
    let mut tick = None;
    while scope == PatrolScope::All && tick.is_none() {
        match ctx.lock_root(RootLock::Patrol) {
            Err(failure) if failure.exit == Exit::Busy => proc::check_interrupt()?,
            lock => tick = Some(lock?),
        }
    }
    let before = ctx.state()?;
    let all: Vec<String> = before.workers.keys().cloned().collect();
    if ctx.is_dry {
        let mut would = Vec::new();
        for (worker, input) in patrol::look(ctx, scope)? {
            let (name, detail) = input.describe();
            would.push(format!("record for {}: {name} {detail}", worker.name));
        }
        return Ok(ctx.ui.would(&commands::statuses(&before, &all), &would));
    }
    if scope == PatrolScope::All {
        recover::finish_all(ctx)?;
    }
    patrol::tick(ctx, scope)?;
    match scope {
        PatrolScope::All => patrol::refresh(ctx, false)?.iter().for_each(|waiting| ctx.ui.note(waiting)),
        // Whoever holds the lock of a worker may have looked just before its program ended.
        PatrolScope::Sessions => {
            let is_over = || are_ends_recorded(ctx).unwrap_or(true) || patrol::tick(ctx, scope).is_err();
            poll::holds(PATIENCE, POLL, is_over);
        }
    }
    let after = ctx.state()?;
    let change = |worker: &Worker| {
        let from = before.workers.get(&worker.name)?.status();
        (from != worker.status()).then(|| format!("{} {from} -> {}", worker.name, worker.status()))
    };
    let changes: Vec<String> = after.workers.values().filter_map(change).collect();
    commands::print_statuses(ctx, &all, &changes)
}

/// Whether the record of each worker whose program has ended says so.
fn are_ends_recorded(ctx: &Context<'_>) -> Result<bool> {
    let (state, panes) = (ctx.state()?, ctx.tmux()?.panes()?);
    let has_ended = |worker: &Worker| tmux::find(&panes, worker).is_some_and(|pane| pane.end.is_some());
    Ok(!state.workers.values().any(|worker| worker.program.session == Session::Up && has_ended(worker)))
}
