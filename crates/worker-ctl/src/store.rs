//! `state.json`: read whole or refused, never taken for empty; written under a lock held for milliseconds, with the last
//! five versions beside it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;

use crate::layout::{self, RootLock};
use crate::worker::Worker;

/// 2: notes and faults are values. Version 1, in which they were sentences, is read for ever.
const VERSION: u64 = 2;

/// How many earlier versions are kept.
const BACKUPS: usize = 5;

/// Everything that is remembered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    pub version: u64,
    pub revision: u64,
    pub tmux_socket: PathBuf,
    /// Whom a person looked at last.
    pub last_reviewed: Option<String>,
    pub workers: BTreeMap<String, Worker>,
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl State {
    pub fn new(tmux_socket: &Path) -> State {
        State {
            version: VERSION,
            revision: 0,
            tmux_socket: tmux_socket.to_owned(),
            last_reviewed: None,
            workers: BTreeMap::new(),
            more: Map::new(),
        }
    }

    /// As it stands in the file; why not, where it does not.
    pub fn parse(bytes: &[u8]) -> Result<State, String> {
        serde_json::from_slice(bytes).map_err(|e| e.to_string())
    }

    /// As it is written.
    pub fn text(&self) -> Result<String> {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n").map_err(|e| Failure::failed("cannot write the state").because(e))
    }

    /// Puts a worker's record in; gives back of which revision it is once it is written.
    pub fn put(&mut self, worker: Worker) -> u64 {
        let is_same = self.workers.get(&worker.name) == Some(&worker);
        self.workers.insert(worker.name.clone(), worker);
        self.revision + u64::from(!is_same)
    }

    /// Exit 1 when there is none.
    pub fn require(&self, name: &str) -> Result<&Worker> {
        self.workers.get(name).ok_or_else(|| {
            Failure::not_found(format!("there is no worker `{name}`"))
                .hint("`worker-ctl status` lists them; `worker-ctl add NAME` makes one")
        })
    }

    /// What must hold of it, or why it does not.
    pub fn check(&self) -> Result<(), String> {
        self.workers.iter().try_for_each(|(name, worker)| match *name == worker.name {
            true => worker.check(),
            false => Err(format!("the record of {name} is that of {}", worker.name)),
        })
    }
}

/// Reads it. Exit 4 when it is missing or cannot be understood: that is never an empty one.
pub fn load(root: &Path) -> Result<State> {
    let state = load_any(root)?;
    state
        .check()
        .map_err(|why| unusable(root, &why).hint("or `worker-ctl doctor --repair`, which mends that record"))?;
    Ok(state)
}

/// The same with records that cannot be, for who mends them.
pub fn load_any(root: &Path) -> Result<State> {
    let path = layout::state(root);
    let bytes = fs::read_no_follow(&path)?.ok_or_else(|| unusable(root, "it is missing"))?;
    refuse_newer(&path, &bytes)?;
    State::parse(&bytes).map_err(|why| unusable(root, &why))
}

fn unusable(root: &Path, why: &str) -> Failure {
    Failure::new(Exit::Failed, "state", format!("{}: {why}", layout::state(root).display()))
        .hint("run `worker-ctl doctor --rebuild`, which reads the worktrees")
}

/// The version alone: what else a newer one holds nobody here knows. Exit 4.
pub fn refuse_newer(path: &Path, bytes: &[u8]) -> Result<()> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u64,
    }
    match serde_json::from_slice::<Versioned>(bytes) {
        Ok(Versioned { version }) if version > VERSION => {
            let newer = format!("{}: version {version} is newer than this program knows", path.display());
            Err(Failure::new(Exit::Failed, "state", newer).hint("use the version of worker-ctl that wrote it"))
        }
        _ => Ok(()),
    }
}

/// Writes the first one.
pub fn create(root: &Path, state: &State) -> Result<()> {
    write(root, state)
}

/// Reads, changes and writes it under the lock; nothing is written when nothing changed, or the change fails.
pub fn update<T>(root: &Path, change: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
    change_from(root, load, change)
}

/// The same of a state with records that cannot be.
pub fn mend(root: &Path, change: impl FnOnce(&mut State)) -> Result<()> {
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
        // What did not hold before is mended record by record.
        if before.check().is_ok() {
            state.check().map_err(|why| Failure::failed(format!("refusing to write what does not hold: {why}")))?;
        }
        // Whole on the disk before anything else is touched: a full one leaves all as it was.
        let next = layout::next_state(root);
        fs::replace(&next, state.text()?.as_bytes(), Some(fs::PRIVATE))?;
        keep_backup(root)?;
        fs::rename_over(&next, &layout::state(root))?;
    }
    Ok(answer)
}

fn write(root: &Path, state: &State) -> Result<()> {
    fs::replace(&layout::state(root), state.text()?.as_bytes(), Some(fs::PRIVATE))
}

/// The newest state that can be read: the one in force, else the newest kept.
pub fn newest_readable(root: &Path) -> Option<State> {
    let paths = std::iter::once(layout::state(root)).chain((0..BACKUPS).map(|n| layout::backup(root, n)));
    let states = paths.filter_map(|path| State::parse(&fs::read_no_follow(&path).ok()??).ok());
    states.filter(|state| state.version <= VERSION).max_by_key(|state| state.revision)
}

fn keep_backup(root: &Path) -> Result<()> {
    for n in (0..BACKUPS - 1).rev() {
        if layout::backup(root, n).exists() {
            fs::rename_over(&layout::backup(root, n), &layout::backup(root, n + 1))?;
        }
    }
    // A second name is enough: what is there is replaced, never written to. Not every file system has that.
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
        // A change that fails, or that would not hold, is not written.
        assert!(
            update(root, |state| {
                state.workers.clear();
                Err::<(), _>(Failure::failed("no"))
            })
            .is_err()
        );
        assert!(
            update(root, |state| {
                state.workers.get_mut("w1").unwrap().prompt = Some("idle with a prompt".into());
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
