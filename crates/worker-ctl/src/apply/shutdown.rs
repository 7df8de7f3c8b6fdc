//! Ends all sessions, even if the state cannot be read.

use std::collections::BTreeSet;

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::printable;

use crate::apply::{jobs, session, transition};
use crate::context::Context;
use crate::plan::machine::Input;
use crate::store;
use crate::tmux::Tmux;
use crate::worker::{Session, Worker};

/// Ends every session, and then the server unless others have sessions there, even if ending a session fails.
pub fn end_all(ctx: &Context<'_>, is_forced: bool) -> Result<()> {
    let state = match ctx.state() {
        Ok(state) => state,
        Err(failure) => return end_unknown(ctx, is_forced, &failure),
    };
    let workers: Vec<Worker> = state.workers.values().cloned().collect();
    let tmux = ctx.tmux()?;
    let ended = match tmux.is_running() {
        true => {
            // Without this the ends would be recorded once more, which is only in the way.
            let _ = tmux.ignore_deaths();
            let is_up = |worker: &Worker| worker.program.session == Session::Up;
            let is_recorded = || ctx.state().is_ok_and(|state| !state.workers.values().any(is_up));
            match session::end(ctx, &workers, is_forced) {
                // As on a full disk: they are ended all the same.
                Err(why) if why.exit != Exit::Busy && !is_recorded() => {
                    session::end_unknown(ctx, &tmux, is_forced).and(Err(not_recorded(why)))
                }
                ended => ended,
            }
        }
        false => {
            let gone = |worker: &Worker| transition::record(ctx, &worker.name, &Input::SessionGone).map(drop);
            let names: Vec<&str> = workers.iter().map(|worker| worker.name.as_str()).collect();
            workers.iter().try_for_each(gone).and_then(|()| jobs::end_or_warn(ctx, &names, is_forced))
        }
    };
    ended.and(kill(ctx, &tmux, workers.into_iter().map(|worker| worker.session_id).collect()))
}

/// Ends what is left in these sessions, and the server unless it has others, which are a person's.
fn kill(ctx: &Context<'_>, tmux: &Tmux, sessions: Vec<String>) -> Result<()> {
    let others = tmux.kill(&sessions)?;
    if !others.is_empty() {
        let others = printable(&others.join(", "));
        ctx.ui.note(format!("its tmux server stays, because it has sessions of no worker: {others}"));
    }
    Ok(())
}

/// Tells what was done, and what was not.
fn not_recorded(why: Failure) -> Failure {
    let message = format!("all sessions were ended, but that is not recorded: {}", why.message);
    Failure { message, ..why }.hint("mend what it says, then run `worker-ctl down` again, which records it")
}

/// Ends all sessions of the root's tmux server when the state cannot be read.
pub fn end_unknown(ctx: &Context<'_>, is_forced: bool, why: &Failure) -> Result<()> {
    ctx.ui.warn(why);
    let tmux = Tmux::find(ctx.env, &store::last_tmux_socket(&ctx.root.path))?;
    let _ = tmux.ignore_deaths();
    let names: BTreeSet<String> = session::end_unknown(ctx, &tmux, is_forced)?;
    kill(ctx, &tmux, names.iter().map(|name| format!("worker-{name}")).collect())?;
    if !names.is_empty() {
        ctx.ui.note(format!("down: {}", printable(&names.into_iter().collect::<Vec<_>>().join(", "))));
    }
    Ok(())
}
