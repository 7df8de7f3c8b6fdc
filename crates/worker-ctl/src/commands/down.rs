//! `down`: ends all sessions and keeps their tasks.

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Result};

use crate::apply::{session, shutdown};
use crate::commands;
use crate::context::Context;
use crate::store;
use crate::up_lock;
use crate::worker::{Program, Session, Worker};

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// End the sessions of these workers only [default: of all]
    pub workers: Vec<String>,
    /// Kill programs at once, without waiting for them to end
    #[arg(long)]
    pub force: bool,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    let (root, are_all) = (&ctx.root.path, args.workers.is_empty());
    let state = match store::load(root) {
        Err(failure) if are_all && !ctx.is_dry => {
            up_lock::end(root, args.force)?;
            return shutdown::end_unknown(ctx, args.force, &failure).map(|()| Exit::Done);
        }
        state => state?,
    };
    let is_up = |worker: &&Worker| worker.program.session == Session::Up;
    let chosen = match are_all {
        true => state.workers.values().filter(is_up).cloned().collect(),
        false => commands::choose(&state, &args.workers, false)?,
    };
    let names: Vec<String> = chosen.iter().map(|worker| worker.name.clone()).collect();
    // Where there is no session, there is nothing to tell.
    let has_session = |Program { session, pane_id, job_waits_for, .. }: &Program| {
        *session != Session::Down || pane_id.is_some() || job_waits_for.is_some()
    };
    let ending = chosen.iter().filter(|worker| has_session(&worker.program)).map(|worker| &worker.name);
    if ctx.is_dry {
        let would: Vec<String> = ending.map(|name| format!("end the session of {name}")).collect();
        return Ok(ctx.ui.would(&commands::statuses(&state, &names), &would));
    }
    if are_all {
        up_lock::end(root, args.force)?;
        commands::recover(ctx)?;
        // What cannot be noted keeps nothing from its end.
        let noted = note_stopped(ctx, None);
        shutdown::end_all(ctx, args.force)?;
        noted?;
    } else {
        commands::recover(ctx)?;
        end_these(ctx, &chosen, &names, args.force)?;
    }
    let done: Vec<String> = ending.map(|name| format!("down {name}")).collect();
    commands::print_statuses(ctx, &names, &done)
}

/// Ends the sessions of these workers. An `up` that keeps running leaves them down until somebody starts them.
fn end_these(ctx: &Context<'_>, chosen: &[Worker], names: &[String], is_forced: bool) -> Result<()> {
    let _locks = names.iter().map(|name| ctx.lock(name)).collect::<Result<Vec<_>>>()?;
    note_stopped(ctx, Some(names))?;
    session::end(ctx, chosen, is_forced)
}

/// Notes that a person has ended the sessions of these workers, or of all: then they wait for nobody.
fn note_stopped(ctx: &Context<'_>, names: Option<&[String]>) -> Result<()> {
    ctx.update(|state| {
        let is_chosen = |worker: &&mut Worker| names.is_none_or(|names| names.contains(&worker.name));
        state.workers.values_mut().filter(is_chosen).for_each(|worker| worker.program.is_stopped = true);
        Ok(())
    })
}
