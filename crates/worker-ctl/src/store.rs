//! `state.json`. A file that cannot be read is refused, never treated as empty. It is written under a lock that is held
//! for milliseconds, and the last five versions are kept beside it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;

use crate::failure;
use crate::layout::{self, RootLock};
use crate::task_queue::TaskQueue;
use crate::worker::Worker;

/// The version of the format.
const VERSION: u64 = 4;

/// How many backups are kept.
const BACKUPS: usize = 5;

/// How many commands of a hub are known that have begun something.
const MOST_BEGUN: usize = 200;

/// The content of `state.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    pub version: u64,
    pub revision: u64,
    pub tmux_socket: PathBuf,
    /// The worker that `review` showed last.
    pub last_reviewed: Option<String>,
    /// The other worker whose work has landed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landed_since: Option<String>,
    pub workers: BTreeMap<String, Worker>,
    /// The tasks that wait for a worker.
    #[serde(default, skip_serializing_if = "TaskQueue::is_unused")]
    pub queue: TaskQueue,
    /// What a hub has begun here last: the id of its command, and the worker or the tasks of the queue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub begun: Vec<(String, Vec<String>)>,
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl State {
    pub fn new(tmux_socket: &Path) -> State {
        State { version: VERSION, tmux_socket: tmux_socket.to_owned(), ..State::default() }
    }

    /// What a command of a hub has begun.
    pub fn begun(&self, op: &str) -> Option<Vec<String>> {
        self.begun.iter().find(|(known, _)| known == op).map(|(_, what)| what.clone())
    }

    /// Notes what a command of a hub begins.
    pub fn note_begun(&mut self, op: &str, what: &[String]) {
        self.begun.push((op.to_owned(), what.to_owned()));
        let surplus = self.begun.len().saturating_sub(MOST_BEGUN);
        self.begun.drain(..surplus);
    }

    /// Parses the file's content, or returns why it cannot be parsed.
    pub fn parse(bytes: &[u8]) -> Result<State, String> {
        serde_json::from_slice(bytes).map_err(|e| e.to_string())
    }

    /// Renders the file's content.
    pub fn text(&self) -> Result<String> {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n").map_err(|e| Failure::failed("cannot write the state").because(e))
    }

    /// Inserts a worker's record. Returns the revision that the state has once it is written.
    pub fn put(&mut self, worker: Worker) -> u64 {
        let is_same = self.workers.get(&worker.name) == Some(&worker);
        self.workers.insert(worker.name.clone(), worker);
        self.revision + u64::from(!is_same)
    }

    /// The worker with this name. Exit 1 when there is none.
    pub fn require(&self, name: &str) -> Result<&Worker> {
        self.workers.get(name).ok_or_else(|| {
            Failure::not_found(format!("there is no worker `{name}`"))
                .hint("`worker-ctl status` lists all workers; `worker-ctl add NAME` creates one")
        })
    }

    /// Notes that the work of a worker has landed.
    pub fn note_landed(&mut self, name: &str) {
        self.last_reviewed.take_if(|last| last == name);
        self.landed_since = self.last_reviewed.is_some().then(|| name.to_owned());
    }

    /// The worker whose work is sent back by a text alone. Exit 2 if it is not sure that this one is meant.
    pub fn meant_by_text(&self) -> Result<&str> {
        let last = self.last_reviewed.as_deref().ok_or_else(|| {
            failure::WRONG_STATE.failure("nothing was reviewed").hint("review work first: `worker-ctl review NAME`")
        })?;
        match &self.landed_since {
            None => Ok(last),
            Some(other) => Err(Failure::usage(format!("{other} has landed since {last} was reviewed"))
                .hint(format!("name the one that you mean: `worker-ctl reject {last} TEXT`"))),
        }
    }

    /// Checks that the records are valid, or returns why they are not.
    pub fn check(&self) -> Result<(), String> {
        self.workers.iter().try_for_each(|(name, worker)| match *name == worker.name {
            true => worker.check(),
            false => Err(format!("the record {name} belongs to {}", worker.name)),
        })
    }
}

/// Loads the state. Exit 4 when the file is missing or invalid; it is never treated as empty.
pub fn load(root: &Path) -> Result<State> {
    let state = load_any(root)?;
    state
        .check()
        .map_err(|why| unusable(root, &why).hint("or run `worker-ctl doctor --repair`, which repairs that record"))?;
    Ok(state)
}

/// Loads the state even if its records are invalid, so that they can be repaired.
pub fn load_any(root: &Path) -> Result<State> {
    let path = layout::state(root);
    let bytes = fs::read_no_follow(&path)?.ok_or_else(|| unusable(root, "it is missing"))?;
    refuse_newer(&path, &bytes)?;
    State::parse(&bytes).map_err(|why| unusable(root, &why))
}

fn unusable(root: &Path, why: &str) -> Failure {
    failure::STATE
        .failure(format!("{}: {why}", layout::state(root).display()))
        .hint("run `worker-ctl doctor --rebuild`, which rebuilds the state from the worktrees")
}

/// Exit 4 for a version that is newer than ours. Only the version is read, because the rest may have changed.
pub fn refuse_newer(path: &Path, bytes: &[u8]) -> Result<()> {
    #[derive(Deserialize)]
    struct VersionOnly {
        version: u64,
    }
    match serde_json::from_slice::<VersionOnly>(bytes) {
        Ok(VersionOnly { version }) if version > VERSION => {
            let newer = format!("{}: version {version} is newer than this program supports", path.display());
            Err(failure::STATE.failure(newer).hint("use the version of worker-ctl that wrote it"))
        }
        _ => Ok(()),
    }
}

/// Exit 4 if the state can be read and is of a version that is newer than ours.
pub fn require_ours(root: &Path) -> Result<()> {
    let path = layout::state(root);
    refuse_newer(&path, &fs::read_no_follow(&path).ok().flatten().unwrap_or_default())
}

/// Writes a state without looking at the previous one.
pub fn create(root: &Path, state: &State) -> Result<()> {
    fs::replace(&layout::state(root), state.text()?.as_bytes(), Some(fs::PRIVATE))
}

/// Loads, changes and saves the state under the lock. Nothing is written when nothing changed or the change failed.
pub fn update<T>(root: &Path, change: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
    change_from(root, load, change)
}

/// Like [`update`], for a state with invalid records.
pub fn update_any(root: &Path, change: impl FnOnce(&mut State)) -> Result<()> {
    change_from(root, load_any, |state| {
        change(state);
        Ok(())
    })
}

fn change_from<T>(
    root: &Path,
    load: impl Fn(&Path) -> Result<State>,
    change: impl FnOnce(&mut State) -> Result<T>,
) -> Result<T> {
    let _lock = Lock::take(&layout::lock(root, RootLock::State))?;
    let before = load(root)?;
    let mut state = before.clone();
    let answer = change(&mut state)?;
    if state != before {
        state.revision = before.revision + 1;
        state.version = VERSION;
        // A state that was invalid before is repaired record by record, so it may still be invalid.
        if before.check().is_ok() {
            state.check().map_err(|why| Failure::failed(format!("refusing to write an invalid state: {why}")))?;
        }
        // Write the whole file before touching anything else, so that a full disk leaves everything as it was.
        let next = layout::next_state(root);
        fs::replace(&next, state.text()?.as_bytes(), Some(fs::PRIVATE))?;
        keep_backup(root)?;
        fs::rename_over(&next, &layout::state(root))?;
    }
    Ok(answer)
}

/// The newest state that can be read, out of the current one and its backups.
pub fn newest_readable(root: &Path) -> Option<State> {
    let paths = std::iter::once(layout::state(root)).chain((0..BACKUPS).map(|n| layout::backup(root, n)));
    let states = paths.filter_map(|path| State::parse(&fs::read_no_follow(&path).ok()??).ok());
    states.filter(|state| state.version <= VERSION).max_by_key(|state| state.revision)
}

/// The socket of the root's tmux server, as far as the state or a backup of it can be read.
pub fn last_tmux_socket(root: &Path) -> PathBuf {
    let known = newest_readable(root).map(|state| state.tmux_socket);
    known.filter(|socket| layout::is_tmux_socket(root, socket)).unwrap_or_else(|| layout::tmux_socket(root))
}

/// A place for that socket. Anybody can create a directory in `/tmp`, but not one whose name nobody knows beforehand.
pub fn new_tmux_socket(env: &Env, root: &Path) -> Result<PathBuf> {
    let inside = layout::tmux_socket(root);
    if layout::is_short(&inside) {
        return Ok(inside);
    }
    let name = format!("worker-ctl-{}/tmux.sock", &Digest::random().to_string()[..16]);
    let own = env.var("XDG_RUNTIME_DIR").map(Path::new).filter(|dir| dir.is_absolute() && fs::is_ours(dir));
    let own = own.map(|dir| dir.join(&name)).filter(|socket| layout::is_short(socket));
    let socket = own.unwrap_or_else(|| Path::new("/tmp").join(&name));
    fs::create_private_dir(socket.parent().unwrap_or(root))?;
    Ok(socket)
}

/// Removes the directory that a root's socket had outside of the root, if nothing else is in it.
pub fn remove_socket_dir(socket: &Path) {
    let is_made_here =
        |dir: &&Path| dir.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"worker-ctl-"));
    socket.parent().filter(is_made_here).filter(|dir| fs::is_ours(dir)).map(fs::remove_empty_dir);
}

fn keep_backup(root: &Path) -> Result<()> {
    for n in (0..BACKUPS - 1).rev() {
        if layout::backup(root, n).exists() {
            fs::rename_over(&layout::backup(root, n), &layout::backup(root, n + 1))?;
        }
    }
    // A hard link is enough, because the file is replaced and never written to. Not every file system has them.
    match (fs::link(&layout::state(root), &layout::backup(root, 0)), fs::read_no_follow(&layout::state(root))?) {
        (Err(_), Some(bytes)) => fs::replace(&layout::backup(root, 0), &bytes, Some(fs::PRIVATE)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_never_taken_for_empty_and_keeps_its_past() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        assert_eq!(load(root).unwrap_err().exit.code(), 4);
        create(root, &State::new(Path::new("/s"))).unwrap();
        for n in 0..8 {
            update(root, |state| {
                let name = format!("w{n}");
                state.workers.insert(name.clone(), Worker::new(&name, "claude", "/w", "worker/w", n));
                Ok(())
            })
            .unwrap();
        }
        assert_eq!(load(root).unwrap().revision, 8);
        assert!(layout::backup(root, 4).exists() && !layout::backup(root, 5).exists());
        // A change that fails or that makes the state invalid is not written.
        assert!(
            update(root, |state| {
                state.workers.clear();
                Err::<(), _>(Failure::failed("no"))
            })
            .is_err()
        );
        assert!(
            update(root, |state| {
                state.workers.get_mut("w1").unwrap().work.prompt = Some("idle with a prompt".into());
                Ok(())
            })
            .is_err()
        );
        assert_eq!(load(root).unwrap().workers.len(), 8);
        fs::replace(&layout::state(root), b"{", None).unwrap();
        let refused = load(root).unwrap_err();
        assert!(refused.exit.code() == 4 && refused.hints[0].contains("doctor --rebuild"));
    }
}
