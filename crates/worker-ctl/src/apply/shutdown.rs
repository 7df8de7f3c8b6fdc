//! Ends all sessions, even if the state cannot be read.

use std::collections::BTreeSet;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::ui::printable;

use crate::apply::{session, transition};
use crate::plan::machine::Input;
use crate::site::Site;
use crate::store;
use crate::tmux::Tmux;
use crate::worker::Worker;

/// Ends every session, and then the server, even if ending a session fails.
pub fn end_all(site: &Site<'_>, is_forced: bool) -> Result<()> {
    let state = match site.state() {
        Ok(state) => state,
        Err(failure) => return end_unknown(site, is_forced, &failure),
    };
    let workers: Vec<Worker> = state.workers.values().cloned().collect();
    let tmux = site.tmux()?;
    let ended = match tmux.is_running() {
        true => {
            // Without this the ends would be recorded once more, which is only in the way.
            let _ = tmux.ignore_deaths();
            session::end(site, &workers, is_forced)
        }
        false => {
            workers.iter().try_for_each(|worker| transition::record(site, &worker.name, &Input::SessionGone).map(drop))
        }
    };
    ended.and(tmux.kill())
}

/// Ends all sessions of the root's tmux server when the state cannot be read.
pub fn end_unknown(site: &Site<'_>, is_forced: bool, why: &Failure) -> Result<()> {
    site.ui.warn(why);
    let tmux = Tmux::find(site.env, &store::last_tmux_socket(&site.root.path))?;
    let _ = tmux.ignore_deaths();
    let names: BTreeSet<String> = session::end_unknown(site, &tmux, is_forced)?;
    tmux.kill()?;
    if !names.is_empty() {
        site.ui.note(format!("down: {}", printable(&names.into_iter().collect::<Vec<_>>().join(", "))));
    }
    Ok(())
}
