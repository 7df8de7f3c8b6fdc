//! Whether an agent lives: `run` and its command hold a lock, and `run` writes down how that ended. A free lock without
//! such a note is a death, which is told once. Each life has a lock of its own: what an earlier one left running holds
//! only that.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc::Status as Ended;

use crate::event::{Draft, Status};
use crate::facts::place::Place;
use crate::identity::{Agent, Kind, encoded, new_uid};
use crate::post;

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

impl Life {
    fn key(&self) -> String {
        format!("end:{}", self.incarnation)
    }
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

/// The lock of one life.
fn alive(shared: &Path, id: &str, incarnation: &str) -> PathBuf {
    path(shared, id, &format!("{incarnation}.alive"))
}

/// The life that has begun, held by its lock.
#[derive(Debug)]
pub struct Held {
    life: Life,
    path: PathBuf,
    alive: PathBuf,
    _lock: Lock,
}

/// Begins a life: exit 75 when one is lived already.
pub fn begin(env: &Env, place: &Place, agent: &Agent) -> Result<Held> {
    let shared = &place.shared();
    tell_death(env, place, &agent.id)?;
    let _mutex = Lock::take(&path(shared, &agent.id, "lock"))?;
    if load(shared, &agent.id)?.is_some_and(|life| life.ended.is_none()) {
        return Err(Failure::new(Exit::Busy, "busy", format!("{} runs already", agent.id))
            .hint("end the one that runs first; `worktree-spawn list --live` shows it"));
    }
    let incarnation = new_uid();
    let alive = alive(shared, &agent.id, &incarnation);
    let lock = Lock::try_take(&alive)?.ok_or_else(|| Failure::failed("a new lock is held before it is there"))?;
    lock.share_with_children()?;
    let life = Life {
        v: VERSION,
        agent: agent.clone(),
        incarnation,
        pid: std::process::id(),
        started: env.now.to_string(),
        ended: None,
        exit: None,
        died: false,
    };
    let held = Held { life, path: path(shared, &agent.id, "json"), alive, _lock: lock };
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
        let _mutex = Lock::take(&self.path.with_extension("lock"))?;
        // An agent that was removed meanwhile is forgotten.
        if load_at(&self.path)?.is_some_and(|life| life.incarnation == self.life.incarnation) {
            self.save()?;
        }
        fs::remove(&self.alive)
    }

    /// By which its end is told once, whoever tells it.
    pub fn key(&self) -> String {
        self.life.key()
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

/// What is known of the life an agent had, if it had one: not that of an earlier agent of the same name. Its death is
/// told if nobody did yet.
pub fn state(env: &Env, place: &Place, agent: &Agent, life: Option<Life>) -> Result<(State, Option<Value>)> {
    // A root is the same for ever, and written down nowhere.
    let is_its = |life: &Life| agent.kind == Kind::Root || life.agent.incarnation == agent.incarnation;
    let Some(life) = life.filter(is_its) else {
        return Ok((State::Never, None));
    };
    let life = match life.ended {
        None => tell_death(env, place, &life.agent.id)?.unwrap_or(life),
        Some(_) => life,
    };
    let state = match (&life.ended, life.died) {
        (None, _) => State::Live,
        (Some(_), true) => State::Died,
        (Some(_), false) => State::Exited,
    };
    Ok((state, life.exit))
}

/// Publishes a death that nobody has told, exactly once: its key is the life's. Gives back the life as it is
/// then, when it is over.
pub fn tell_death(env: &Env, place: &Place, id: &str) -> Result<Option<Life>> {
    let shared = &place.shared();
    let record = path(shared, id, "json");
    if load_at(&record)?.is_none_or(|life| life.ended.is_some()) {
        return load_at(&record);
    }
    let _mutex = Lock::take(&path(shared, id, "lock"))?;
    let Some(mut life) = load_at(&record)?.filter(|life| life.ended.is_none()) else { return load_at(&record) };
    let alive = alive(shared, id, &life.incarnation);
    let Some(_lock) = Lock::try_take(&alive)? else { return Ok(None) };
    // It may have ended well in between, and the lock have been made anew by us.
    if let Some(ended) = load_at(&record)?.filter(|life| life.ended.is_some()) {
        fs::remove(&alive)?;
        return Ok(Some(ended));
    }
    if life.agent.parent.is_some() {
        let draft = Draft {
            kind: "worker_died".into(),
            status: Status::Failure,
            message: format!("{} is gone, and nobody saw how it ended", life.agent.id),
            branch: None,
            head: None,
            more: Vec::new(),
        };
        post::send_as(env, place, &life.agent, draft, Some(&life.key()))?;
    }
    life.died = true;
    life.ended = Some(env.later().now.to_string());
    save(&record, &life)?;
    fs::remove(&alive)?;
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
    Ok(done.get("incarnation").and_then(Value::as_str) == Some(held.life.incarnation.as_str()))
}

/// Forgets an agent's lives, after its removal.
pub fn forget(shared: &Path, id: &str) -> Result<()> {
    let _mutex = Lock::take(&path(shared, id, "lock"))?;
    let prefix = format!("{}.", encoded(id));
    for name in fs::list(&dir(shared))? {
        let text = name.to_string_lossy();
        if text.starts_with(&prefix) && text.ends_with(".alive") {
            fs::remove(&dir(shared).join(&name))?;
        }
    }
    for end in ["json", "done", "done.lock", "lock"] {
        fs::remove(&path(shared, id, end))?;
    }
    Ok(())
}
