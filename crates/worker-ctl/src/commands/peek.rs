//! `peek` and `attach`: a worker's terminal.

use std::path::Path;

use serde_json::json;
use shopfloor_core::config::Line;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc::{self, Cmd};
use shopfloor_core::ui::printable;

use super::Site;
use crate::apply::session;
use crate::store;
use crate::tmux::Pane;
use crate::worker::Worker;

fn pane(site: &Site<'_>, name: &str) -> Result<Pane> {
    let worker = store::load(&site.root.path)?.require(name)?.clone();
    site.tmux()?.pane_of(&worker)?.ok_or_else(|| {
        Failure::new(Exit::No, "wrong_state", format!("{name} has no session"))
            .hint(format!("start it: `worker-ctl up {name}`"))
    })
}

pub fn peek(site: &Site<'_>, name: &str, lines: usize) -> Result<Exit> {
    let pane = pane(site, name)?;
    let text = site.tmux()?.text(&pane, lines)?;
    if site.ui.is_json() {
        site.ui.json(&json!({ "worker": name, "text": text.join("\n") }));
    } else {
        // A worker's terminal is wider than most.
        let width = site.ui.width().unwrap_or(usize::MAX);
        text.iter().for_each(|line| site.ui.line(printable(line).chars().take(width).collect::<String>()));
    }
    Ok(Exit::Done)
}

/// Also from inside another tmux. What is to run before and after runs in the worktree.
pub fn attach(site: &Site<'_>, name: &str) -> Result<Exit> {
    let pane = pane(site, name)?;
    let worker = store::load(&site.root.path)?.require(name)?.clone();
    let defaults = &site.root.config.defaults;
    aside(site, &worker, defaults.before_attach.as_ref())?;
    let (program, args) = site.tmux()?.attach_line(&pane.id);
    let cmd = Cmd::new(&program, site.env).args(args).without_vars(&["TMUX", "TMUX_PANE"]);
    let status = cmd.foreground()?;
    aside(site, &worker, defaults.after_attach.as_ref())?;
    match status.success() {
        true => Ok(Exit::Done),
        false => Err(Failure::failed(format!("tmux attach-session failed with {status}"))
            .hint("attach from a terminal; elsewhere `worker-ctl peek` shows what there is")),
    }
}

fn aside(site: &Site<'_>, worker: &Worker, line: Option<&Line>) -> Result<()> {
    let Some(line) = line else { return Ok(()) };
    let sh = proc::find(site.env, "sh").ok_or_else(|| Failure::failed("sh is not on the PATH"))?;
    let mut cmd = Cmd::new(&sh, site.env).dir(Path::new(&worker.worktree_path)).arg("-c").arg(line.shell());
    for (key, value) in session::variables(site, worker) {
        // With a worker's own variable it would count as its process, and end with it.
        cmd = cmd.var(if key == "WORKER_CTL_WORKER" { "WORKER_CTL_NAME" } else { key }, value);
    }
    let cmd = cmd.without_vars(&["WORKER_CTL_WORKER"]);
    let status = cmd.foreground()?;
    if !status.success() {
        site.ui.warn(format!("`{}` ended with {status}", printable(&line.shell())));
    }
    Ok(())
}
