//! Whether an agent lives: `run` holds a lock for as long as its command does, and writes down how that ended. A
//! free lock without such a note is a death, which is told once.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc::Status as Ended;

use crate::event::{Draft, Status};
use crate::identity::{Agent, encoded, new_uid};
use crate::spool;

const VERSION: u64 = 1;

/// One life of an agent, from the start of its command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Life {
    pub v: u64,
    /// As it was when it started: its worktree may be gone when its death is told.
    pub agent: Agent,
    /// This life, told apart from earlier and later ones.
    pub incarnation: String,
    pub pid: u32,
    pub started: String,
    pub ended: Option<String>,
    /// `{"code":N}` or `{"signal":N}`; none while it runs, and when nobody saw the end.
    pub exit: Option<Value>,
    #[serde(default)]
    pub died: bool,
}

/// What is known of an agent's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its command runs.
    Live,
    /// It ended, and its end was seen.
    Exited,
    /// It is gone, and nobody saw how.
    Died,
    /// It was never run by us.
    Never,
    /// Nobody can tell.
    Unknown,
}

impl State {
    pub fn word(self) -> &'static str {
        match self {
            State::Live => "live",
            State::Exited => "exited",
            State::Died => "died",
            State::Never => "never",
            State::Unknown => "unknown",
        }
    }
}

/// Where lives are written down.
pub fn dir(shared: &Path) -> PathBuf {
    shared.join("runs")
}

fn path(shared: &Path, id: &str, end: &str) -> PathBuf {
    dir(shared).join(format!("{}.{end}", encoded(id)))
}

/// The life that has begun, held by its lock.
#[derive(Debug)]
pub struct Held {
    life: Life,
    path: PathBuf,
    _lock: Lock,
}

/// Begins a life: exit 75 when one is lived already.
pub fn begin(env: &Env, shared: &Path, agent: &Agent) -> Result<Held> {
    tell_death(env, shared, &agent.id)?;
    let Some(lock) = Lock::try_take(&path(shared, &agent.id, "lock"))? else {
        return Err(Failure::new(Exit::Busy, "busy", format!("{} runs already", agent.id))
            .hint("end the one that runs first; `worktree-spawn list --live` shows it"));
    };
    let life = Life {
        v: VERSION,
        agent: agent.clone(),
        incarnation: new_uid(),
        pid: std::process::id(),
        started: env.now.to_string(),
        ended: None,
        exit: None,
        died: false,
    };
    let held = Held { life, path: path(shared, &agent.id, "json"), _lock: lock };
    held.save()?;
    Ok(held)
}

impl Held {
    fn save(&self) -> Result<()> {
        save(&self.path, &self.life)
    }

    /// Writes down how it ended. To be called once its last event is published.
    pub fn end(mut self, env: &Env, status: Ended) -> Result<()> {
        self.life.ended = Some(env.later().now.to_string());
        self.life.exit = Some(exit(status));
        self.save()
    }

    pub fn incarnation(&self) -> &str {
        &self.life.incarnation
    }
}

/// How a command ended, as JSON.
pub fn exit(status: Ended) -> Value {
    match status {
        Ended::Exited(code) => json!({ "code": code }),
        Ended::Signalled(signal) => json!({ "signal": signal }),
    }
}

fn save(path: &Path, life: &Life) -> Result<()> {
    let text = serde_json::to_string(life).map_err(|e| Failure::failed("cannot write a record").because(e))?;
    fs::replace(path, format!("{text}\n").as_bytes(), Some(fs::PRIVATE))
}

/// The last life of an agent.
pub fn load(shared: &Path, id: &str) -> Result<Option<Life>> {
    load_at(&path(shared, id, "json"))
}

fn load_at(path: &Path) -> Result<Option<Life>> {
    let Some(bytes) = fs::read_no_follow(path)? else { return Ok(None) };
    // What cannot be understood says nothing; the lock does.
    Ok(serde_json::from_slice::<Life>(&bytes).ok().filter(|life| life.v <= VERSION))
}

/// Every agent that ever ran, in one listing.
pub fn all(shared: &Path) -> Result<Vec<Life>> {
    let dir = dir(shared);
    let names = fs::list(&dir)?;
    let records = names.iter().filter(|name| Path::new(name).extension().is_some_and(|e| e == "json"));
    records.map(|name| load_at(&dir.join(name))).filter_map(Result::transpose).collect()
}

/// What is known of a life, its death told if nobody did yet.
pub fn state(env: &Env, shared: &Path, life: Life) -> Result<(State, Option<Value>)> {
    let life = match life.ended {
        None => tell_death(env, shared, &life.agent.id)?.unwrap_or(life),
        Some(_) => life,
    };
    let state = match (&life.ended, life.died) {
        (None, _) => State::Live,
        (Some(_), true) => State::Died,
        (Some(_), false) => State::Exited,
    };
    Ok((state, life.exit))
}

/// Whether an agent's command runs now.
pub fn is_live(env: &Env, shared: &Path, id: &str) -> Result<bool> {
    Ok(match load(shared, id)? {
        Some(life) => state(env, shared, life)?.0 == State::Live,
        None => false,
    })
}

/// Publishes a death that nobody has told, exactly once: its key is the life's. Gives back the life as it is
/// then, when it is over.
pub fn tell_death(env: &Env, shared: &Path, id: &str) -> Result<Option<Life>> {
    let record = path(shared, id, "json");
    if load_at(&record)?.is_none_or(|life| life.ended.is_some()) {
        return load_at(&record);
    }
    let Some(_lock) = Lock::try_take(&path(shared, id, "lock"))? else { return Ok(None) };
    let Some(mut life) = load_at(&record)?.filter(|life| life.ended.is_none()) else { return load_at(&record) };
    if let Some(parent) = &life.agent.parent {
        let draft = Draft {
            kind: "worker_died".into(),
            status: Status::Failure,
            message: format!("{} is gone, and nobody saw how it ended", life.agent.id),
            branch: None,
            head: None,
            more: Vec::new(),
        };
        let above = life.agent.parents.split_last().map(|(_, above)| above).unwrap_or_default();
        let key = format!("died:{}", life.incarnation);
        spool::publish(shared, parent, above, draft.of(env, &life.agent), Some(&key))?;
    }
    life.died = true;
    life.ended = Some(env.later().now.to_string());
    save(&record, &life)?;
    Ok(Some(life))
}

/// Writes down that this life has told how it went: its end is no second completion.
pub fn completed(shared: &Path, id: &str) -> Result<()> {
    let Some(life) = load(shared, id)?.filter(|life| life.ended.is_none()) else { return Ok(()) };
    let _lock = Lock::take(&path(shared, id, "done.lock"))?;
    let text = format!("{}\n", json!({ "v": 1, "incarnation": life.incarnation }));
    fs::replace(&path(shared, id, "done"), text.as_bytes(), Some(fs::PRIVATE))
}

/// Whether this life told how it went.
pub fn is_completed(shared: &Path, held: &Held) -> Result<bool> {
    let bytes = fs::read_no_follow(&path(shared, &held.life.agent.id, "done"))?.unwrap_or_default();
    let done: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    Ok(done.get("incarnation").and_then(Value::as_str) == Some(held.incarnation()))
}

/// Forgets an agent's lives, after its death was told. A live one is not forgotten.
pub fn forget(shared: &Path, id: &str) -> Result<()> {
    let Some(_lock) = Lock::try_take(&path(shared, id, "lock"))? else { return Ok(()) };
    for end in ["json", "done", "done.lock", "lock"] {
        fs::remove(&path(shared, id, end))?;
    }
    Ok(())
}
