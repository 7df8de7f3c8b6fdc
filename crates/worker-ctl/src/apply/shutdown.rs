//! Ends all sessions, even if the state cannot be read.

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
    let mut sessions: Vec<String> = workers.iter().map(|worker| worker.session_id.clone()).collect();
    let ended = match tmux.is_running() {
        true => {
            // Without this the ends would be recorded once more, which is only in the way.
            let _ = tmux.ignore_deaths();
            let is_up = |worker: &Worker| worker.program.session == Session::Up;
            let is_recorded = || ctx.state().is_ok_and(|state| !state.workers.values().any(is_up));
            let ended = session::end(ctx, &workers, is_forced);
            // The state may have lost workers, and on a full disk those that it has are ended here.
            match (ended, end_marked(ctx, &tmux, is_forced)) {
                (Err(why), Ok(_)) if why.exit != Exit::Busy && !is_recorded() => Err(not_recorded(why)),
                (ended, others) => ended.and(others.map(|others| sessions.extend(others))),
            }
        }
        false => {
            let gone = |worker: &Worker| transition::record(ctx, &worker.name, &Input::SessionGone).map(drop);
            let names: Vec<&str> = workers.iter().map(|worker| worker.name.as_str()).collect();
            workers.iter().try_for_each(gone).and_then(|()| jobs::end_or_warn(ctx, &names, is_forced))
        }
    };
    ended.and(kill(ctx, &tmux, sessions))
}

/// Ends all programs of workers that the server lists, and names the workers. Returns their sessions.
fn end_marked(ctx: &Context<'_>, tmux: &Tmux, is_forced: bool) -> Result<Vec<String>> {
    let names: Vec<String> = session::end_unknown(ctx, tmux, is_forced)?.into_iter().collect();
    if !names.is_empty() {
        ctx.ui.note(format!("down: {}", printable(&names.join(", "))));
    }
    Ok(names.iter().map(|name| format!("worker-{name}")).collect())
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
    kill(ctx, &tmux, end_marked(ctx, &tmux, is_forced)?)
}
