//! Starting and ending a worker's session.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use shopfloor_core::error::{Failure, Result};

use crate::commands::Site;
use crate::plan::machine::Event;
use crate::root::{AgentTable, regex};
use crate::tmux::{Pane, deliver};
use crate::worker::Worker;

/// How long a program may take until it can be spoken to, when nobody says.
const READY: u64 = 30;

/// How long programs have to end by themselves.
const GRACE: Duration = Duration::from_secs(5);

/// Starts it, waits until it takes input, and writes down that it is up. One whose program runs already stays as it is.
pub fn start(site: &Site<'_>, worker: &Worker) -> Result<Pane> {
    let tmux = site.tmux()?;
    tmux.start(&site.root.path)?;
    if let Some(pane) = tmux.pane(&worker.session_id)? {
        if pane.end.is_none() {
            site.record(&worker.name, &Event::SessionUp { pane: pane.id.clone(), pid: pane.pid })?;
            return Ok(pane);
        }
        tmux.must(&["kill-session", "-t", &format!("={}:", worker.session_id)])?;
    }
    let agent = site.root.agent(&worker.agent)?;
    let argv = site.root.command(&worker.name, &agent);
    let root = site.root.path.to_string_lossy().into_owned();
    let vars = [
        ("WORKER_CTL_WORKER", worker.name.as_str()),
        ("WORKER_CTL_ROOT", &root),
        ("WORKER_CTL_WORKTREE", &worker.worktree_path),
    ];
    let pane = tmux.session(&worker.session_id, Path::new(&worker.worktree_path), &vars, &argv)?;
    wait_ready(site, &pane, &agent)?;
    for key in &agent.startup_keys {
        tmux.must(&["send-keys", "-t", &pane.id, key])?;
    }
    if let Some(clear) = &agent.clear {
        tmux.must(&["send-keys", "-t", &pane.id, "-l", "--", clear])?;
        deliver::submit(&tmux, &pane.id, &agent)?;
    }
    site.record(&worker.name, &Event::SessionUp { pane: pane.id.clone(), pid: pane.pid })?;
    Ok(pane)
}

/// Once, at the start: afterwards nothing is ever read off a screen.
fn wait_ready(site: &Site<'_>, pane: &Pane, agent: &AgentTable) -> Result<()> {
    if let Some(millis) = agent.ready.delay_ms {
        thread::sleep(Duration::from_millis(millis));
    }
    let Some(pattern) = &agent.ready.pattern else { return Ok(()) };
    let pattern = regex(pattern)?;
    let limit = Duration::from_secs(agent.ready.timeout_secs.unwrap_or(READY));
    let start = Instant::now();
    while start.elapsed() < limit {
        if pattern.is_match(&site.tmux()?.capture(&pane.id, 0)?) {
            return Ok(());
        }
        let now = site.tmux()?.pane(&pane.session)?;
        if now.is_none_or(|pane| pane.end.is_some()) {
            return Err(Failure::failed(format!("the program of {} ended before it was ready", pane.session))
                .hint("look at it with `worker-ctl peek`, or try its command by hand"));
        }
        thread::sleep(Duration::from_millis(50));
    }
    site.ui.warn(format!("{} did not show that it is ready within {} s", pane.session, limit.as_secs()));
    Ok(())
}

/// Ends these sessions: asked, then told, then without asking.
pub fn end(site: &Site<'_>, workers: &[Worker], force: bool) -> Result<()> {
    let tmux = site.tmux()?;
    let sessions: Vec<&str> = workers.iter().map(|worker| worker.session_id.as_str()).collect();
    let living = || -> Result<Vec<Pane>> {
        let panes = tmux.panes()?;
        Ok(panes.into_iter().filter(|pane| pane.end.is_none() && sessions.contains(&pane.session.as_str())).collect())
    };
    if !force {
        for pane in living()? {
            tmux.run(&["send-keys", "-t", &pane.id, "C-c"])?;
        }
        let start = Instant::now();
        while start.elapsed() < GRACE && !living()?.is_empty() {
            thread::sleep(Duration::from_millis(50));
        }
    }
    for worker in workers {
        tmux.run(&["kill-session", "-t", &format!("={}:", worker.session_id)])?;
        site.record(&worker.name, &Event::SessionGone)?;
    }
    Ok(())
}
