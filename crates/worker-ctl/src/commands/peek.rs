//! `peek` and `attach`: a worker's terminal.

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc::Cmd;
use shopfloor_core::ui::printable;

use super::Site;
use crate::store;
use crate::tmux::Pane;

fn pane(site: &Site<'_>, name: &str) -> Result<Pane> {
    let worker = store::load(&site.root.path)?.require(name)?.clone();
    site.tmux()?.pane(&worker.session_id)?.ok_or_else(|| {
        Failure::new(Exit::No, "wrong_state", format!("{name} has no session"))
            .hint(format!("start it: `worker-ctl up {name}`"))
    })
}

pub fn peek(site: &Site<'_>, name: &str, lines: usize) -> Result<Exit> {
    let pane = pane(site, name)?;
    for line in site.tmux()?.capture(&pane.id, lines)?.lines() {
        site.ui.line(printable(line));
    }
    Ok(Exit::Done)
}

/// Also from inside another tmux.
pub fn attach(site: &Site<'_>, name: &str) -> Result<Exit> {
    let pane = pane(site, name)?;
    let (program, args) = site.tmux()?.attach_line(&pane.session);
    let cmd = Cmd::new(&program, site.env).args(args).without_vars(&["TMUX", "TMUX_PANE"]);
    let status = cmd.foreground()?;
    Ok(if status.success() { Exit::Done } else { Exit::Failed })
}
