//! Runs of agents: one record per agent, and one lock per run, which `worktree-spawn run` and its command hold. A run
//! whose lock is free but whose record has no end has died. Each run has its own lock, so that a process left behind by
//! an earlier run holds only that one's.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc::Status;
use shopfloor_core::ui::Ui;

use crate::identity::{Agent, AgentKind};
use crate::json_file;
use crate::layout::{encoded, runs_dir};

pub const VERSION: u64 = 1;

/// One run of an agent, from the start of its command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AgentRun {
    pub v: u64,
    /// The agent at the start of the run: its worktree may be gone when its death is reported.
    pub agent: Agent,
    /// Tells this run from earlier and later ones.
    pub incarnation: String,
    pub pid: u32,
    pub started: String,
    pub ended: Option<String>,
    /// How the command ended; none while it runs, and when nobody saw the end.
    pub exit: Option<Status>,
    #[serde(default)]
    pub died: bool,
    /// Whether the agent itself has reported its result, so that its exit does not report it again.
    #[serde(default)]
    pub has_reported: bool,
    /// Whether somebody else tells the parent how it ends.
    #[serde(default)]
    pub is_quiet: bool,
}

/// Whether an agent runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// Its command runs.
    Live,
    /// Its command ended, and `run` saw how.
    Exited,
    /// It died, and nobody saw how.
    Died,
    /// It was never started by `run`.
    Never,
    /// Nobody can tell.
    Unknown,
}

/// What becomes of a death that nobody has reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deaths {
    Reported,
    /// It is only noticed, because nothing may change.
    Noticed,
}

impl Deaths {
    pub fn of(ui: &Ui) -> Deaths {
        if ui.is_dry() { Deaths::Noticed } else { Deaths::Reported }
    }
}

impl Liveness {
    /// The word that all tools use.
    pub fn alive(self) -> &'static str {
        if self == Liveness::Live { "up" } else { self.word() }
    }

    pub fn word(self) -> &'static str {
        match self {
            Liveness::Live => "live",
            Liveness::Exited => "exited",
            Liveness::Died => "died",
            Liveness::Never => "never",
            Liveness::Unknown => "unknown",
        }
    }
}

impl AgentRun {
    /// The deduplication key of the event that reports the end of this run, whoever reports it.
    pub fn key(&self) -> String {
        format!("end:{}", self.incarnation)
    }

    /// Whether this is a run of `agent`, and not of an earlier agent with the same id.
    pub fn is_of(&self, agent: &Agent) -> bool {
        // A root has no record, so its incarnation is a new one each time.
        agent.kind == AgentKind::Root || self.agent.incarnation == agent.incarnation
    }

    /// Whether this tool can have written it: the incarnation becomes part of a file's name.
    fn is_sound(&self) -> bool {
        self.agent.check().is_ok()
            && self.incarnation.len() == 32
            && self.incarnation.bytes().all(|b| b.is_ascii_hexdigit())
    }

    /// What the record says.
    pub fn liveness(&self) -> Liveness {
        match (&self.ended, self.died) {
            (None, _) => Liveness::Live,
            (Some(_), true) => Liveness::Died,
            (Some(_), false) => Liveness::Exited,
        }
    }
}

fn file(shared: &Path, id: &str, end: &str) -> PathBuf {
    runs_dir(shared).join(format!("{}.{end}", encoded(id)))
}

/// The record of an agent's last run.
pub fn record_file(shared: &Path, id: &str) -> PathBuf {
    file(shared, id, "json")
}

/// The lock of one run.
pub fn alive_file(shared: &Path, id: &str, incarnation: &str) -> PathBuf {
    file(shared, id, &format!("{incarnation}.alive"))
}

/// Takes the lock under which the record of an agent's runs is changed.
pub fn lock(shared: &Path, id: &str) -> Result<Lock> {
    Lock::take(&file(shared, id, "lock"))
}

/// Saves the record of a run.
pub fn save(shared: &Path, run: &AgentRun) -> Result<()> {
    json_file::save(&record_file(shared, &run.agent.id), run)
}

/// The last run of an agent.
pub fn load(shared: &Path, id: &str) -> Result<Option<AgentRun>> {
    load_file(&record_file(shared, id))
}

fn load_file(path: &Path) -> Result<Option<AgentRun>> {
    // A record that cannot be read or understood says nothing; the lock does. It stops nobody else.
    let Some(bytes) = fs::read_no_follow(path).ok().flatten() else { return Ok(None) };
    let run = serde_json::from_slice::<AgentRun>(&bytes).ok().filter(|run| run.v <= VERSION);
    Ok(run.filter(|run| run.is_sound() && path.ends_with(format!("{}.json", encoded(&run.agent.id)))))
}

/// The last run of every agent that ever ran, from one listing.
pub fn all(shared: &Path) -> Result<Vec<AgentRun>> {
    let dir = runs_dir(shared);
    let names = fs::list(&dir)?;
    let records = names.iter().filter(|name| Path::new(name).extension().is_some_and(|e| e == "json"));
    records.map(|name| load_file(&dir.join(name))).filter_map(Result::transpose).collect()
}

/// Records that the agent's run has reported its result.
pub fn mark_reported(shared: &Path, id: &str) -> Result<()> {
    if load(shared, id)?.is_none_or(|run| run.ended.is_some()) {
        return Ok(());
    }
    let _mutex = lock(shared, id)?;
    match load(shared, id)?.filter(|run| run.ended.is_none()) {
        Some(run) => save(shared, &AgentRun { has_reported: true, ..run }),
        None => Ok(()),
    }
}

/// Whether this run has reported its result.
pub fn has_reported(shared: &Path, run: &AgentRun) -> Result<bool> {
    Ok(load(shared, &run.agent.id)?.is_some_and(|now| now.has_reported && now.incarnation == run.incarnation))
}

/// Deletes the records of an agent's runs, after its removal.
pub fn forget(shared: &Path, id: &str) -> Result<()> {
    let _mutex = lock(shared, id)?;
    let prefix = format!("{}.", encoded(id));
    for name in fs::list(&runs_dir(shared))? {
        let text = name.to_string_lossy();
        let incarnation = text.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(".alive"));
        // The runs of a child, whose id begins alike, go on.
        if incarnation.is_some_and(|incarnation| !incarnation.contains('.')) {
            fs::remove(&runs_dir(shared).join(&name))?;
        }
    }
    fs::remove(&record_file(shared, id))?;
    fs::remove(&file(shared, id, "lock"))
}
