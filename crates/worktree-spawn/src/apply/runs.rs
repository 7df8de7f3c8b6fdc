//! Starting and ending an agent's run, and reporting the death of one that nobody saw end.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use shopfloor_core::config::Line;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc::{Cmd, Status};

use super::send_event;
use crate::agent_in_worktree::KnownAgent;
use crate::agent_run::{self, AgentRun, Deaths, Liveness};
use crate::event::{EventDraft, EventStatus};
use crate::facts::removal::{Inspection, seated_in};
use crate::failure;
use crate::identity::{Agent, AgentKind, new_uid};
use crate::launcher;
use crate::repository_view::Place;

/// The run of this process, which lasts as long as its lock is held.
#[derive(Debug)]
pub struct ActiveRun {
    pub run: AgentRun,
    shared: PathBuf,
    alive: PathBuf,
    lock: Lock,
}

/// How long a quiet run waits for the one before it, which may be about to end, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(50);

/// Starts a run; exit 75 if the agent runs already. A quiet run reports nothing; it waits until an earlier run is over.
pub fn start(env: &Env, place: &Place, agent: &Agent, is_quiet: bool) -> Result<ActiveRun> {
    let begun = Instant::now();
    loop {
        match start_now(env, place, agent, is_quiet) {
            Err(failure) if is_quiet && failure::BUSY.is_kind_of(&failure) && begun.elapsed() < PATIENCE => {
                thread::sleep(POLL);
            }
            done => return done,
        }
    }
}

fn start_now(env: &Env, place: &Place, agent: &Agent, is_quiet: bool) -> Result<ActiveRun> {
    let shared = place.shared();
    report_death(env, place, &agent.id)?;
    let _mutex = agent_run::lock(&shared, &agent.id)?;
    if agent_run::load(&shared, &agent.id)?.is_some_and(|run| run.ended.is_none()) {
        return Err(failure::BUSY
            .with(Exit::Busy, format!("{} is already running", agent.id))
            .hint("end that run first; `worktree-spawn list --live` shows it"));
    }
    let incarnation = new_uid();
    let alive = agent_run::alive_file(&shared, &agent.id, &incarnation);
    let lock = Lock::take(&alive)?;
    lock.share_with_children()?;
    let run = AgentRun {
        v: agent_run::VERSION,
        agent: agent.clone(),
        incarnation,
        pid: std::process::id(),
        started: env.now.to_string(),
        ended: None,
        exit: None,
        died: false,
        has_reported: false,
        is_quiet,
    };
    agent_run::save(&shared, &run)?;
    Ok(ActiveRun { run, shared, alive, lock })
}

impl ActiveRun {
    /// Gives no child the lock, for a command that ends with this process and is to get nothing from outside.
    pub fn keep_to_itself(&self) -> Result<()> {
        self.lock.keep_from_children()
    }

    /// Records how the run ended. To be called after its last event is published.
    pub fn end(mut self, env: &Env, status: Status) -> Result<()> {
        self.run.ended = Some(env.later().now.to_string());
        self.run.exit = Some(status);
        let id = &self.run.agent.id;
        let _mutex = agent_run::lock(&self.shared, id)?;
        // The record of an agent that was removed meanwhile is not written again.
        if agent_run::load(&self.shared, id)?.is_some_and(|run| run.incarnation == self.run.incarnation) {
            agent_run::save(&self.shared, &self.run)?;
        }
        fs::remove(&self.alive)
    }
}

/// Reports the death of an agent's run if nobody did, exactly once: the event's key is the run's. Returns the run once
/// it is over.
pub fn report_death(env: &Env, place: &Place, id: &str) -> Result<Option<AgentRun>> {
    let shared = &place.shared();
    let run = agent_run::load(shared, id)?;
    if run.as_ref().is_none_or(|run| run.ended.is_some()) {
        return Ok(run);
    }
    let _mutex = agent_run::lock(shared, id)?;
    let mut run = match agent_run::load(shared, id)? {
        Some(run) if run.ended.is_none() => run,
        ended => return Ok(ended),
    };
    let alive = agent_run::alive_file(shared, id, &run.incarnation);
    let Some(_lock) = Lock::try_take(&alive)? else { return Ok(None) };
    // The run may have ended normally in between; then `try_take` has made the lock file again.
    if let Some(ended) = agent_run::load(shared, id)?.filter(|run| run.ended.is_some()) {
        fs::remove(&alive)?;
        return Ok(Some(ended));
    }
    if run.agent.parent.is_some() && !run.is_quiet {
        let draft = EventDraft {
            kind: "worker_died".into(),
            status: EventStatus::Failure,
            message: format!("{} is gone, and nobody saw how it ended", run.agent.id),
            more: Vec::new(),
        };
        send_event::send_as(env, place, &run.agent, draft, Some(&run.key()))?;
    }
    run.died = true;
    run.ended = Some(env.later().now.to_string());
    agent_run::save(shared, &run)?;
    fs::remove(&alive)?;
    Ok(Some(run))
}

/// A run, marked as died if nothing holds its lock. Nothing is written.
fn notice_death(place: &Place, run: AgentRun) -> Result<AgentRun> {
    let alive = agent_run::alive_file(&place.shared(), &run.agent.id, &run.incarnation);
    let has_died = !Lock::is_held(&alive)?;
    Ok(if has_died { AgentRun { died: true, ended: Some(String::new()), ..run } } else { run })
}

/// Whether an agent runs and how its last run ended, by its record, else by the probe. Reports its death if nobody did.
pub fn liveness(
    env: &Env,
    place: &Place,
    probe: Option<&Line>,
    known: &KnownAgent,
    last: Option<AgentRun>,
    deaths: Deaths,
) -> Result<(Liveness, Option<Status>)> {
    let last = match last.filter(|run| run.is_of(&known.agent)) {
        Some(run) if run.ended.is_none() && deaths == Deaths::Noticed => Some(notice_death(place, run)?),
        Some(run) if run.ended.is_none() => Some(report_death(env, place, &run.agent.id)?.unwrap_or(run)),
        last => last,
    };
    if let Some(run) = last {
        return Ok((run.liveness(), run.exit));
    }
    let Some(probe) = probe.filter(|_| known.agent.kind != AgentKind::Root) else {
        return Ok((Liveness::Never, None));
    };
    let liveness = match launcher::command(env, probe, known, "").and_then(Cmd::capture) {
        Ok(output) if output.status.code() == 0 => Liveness::Live,
        Ok(output) if output.status.code() == 1 => Liveness::Never,
        _ => Liveness::Unknown,
    };
    Ok((liveness, None))
}

/// Whether an agent or a seat in its worktree runs.
pub fn worktree_liveness(inspection: &Inspection<'_>, known: &KnownAgent, all: &[KnownAgent]) -> Result<Liveness> {
    let Inspection { env, place, settings, deaths, .. } = *inspection;
    let one = |known: &KnownAgent| -> Result<Liveness> {
        let last = agent_run::load(&place.shared(), &known.agent.id)?;
        Ok(liveness(env, place, settings.probe.as_ref(), known, last, deaths)?.0)
    };
    if known.agent.kind == AgentKind::Subtree && !known.worktree.is_lost {
        for seated in seated_in(known, all) {
            if one(seated)? == Liveness::Live {
                return Ok(Liveness::Live);
            }
        }
    }
    one(known)
}
