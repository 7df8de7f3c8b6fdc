//! Where each file, directory and lock of a root lies.

use std::path::{Path, PathBuf};

/// The tool's name: its binary, and its directory of state.
pub const TOOL: &str = "worker-ctl";

/// A lock of which a root has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootLock {
    /// Held while `state.json` is read, changed and written: milliseconds.
    State,
    /// Held while work is merged and put on the source.
    Publish,
    /// Held during one look at all workers.
    Patrol,
    /// Held while `config.toml` is edited.
    Config,
    /// Held while the source's branches are fetched.
    Fetch,
    /// Held while the tmux server is started.
    Tmux,
    /// Held by `up` for as long as it runs.
    Daemon,
}

impl RootLock {
    fn name(self) -> &'static str {
        match self {
            RootLock::State => "state",
            RootLock::Publish => "publish",
            RootLock::Patrol => "patrol",
            RootLock::Config => "config",
            RootLock::Fetch => "fetch",
            RootLock::Tmux => "tmux",
            RootLock::Daemon => "daemon",
        }
    }
}

/// A lock's file.
pub fn lock(root: &Path, lock: RootLock) -> PathBuf {
    root.join("locks").join(format!("{}.lock", lock.name()))
}

/// The lock that is held during long work on one worker.
pub fn worker_lock(root: &Path, worker: &str) -> PathBuf {
    root.join("locks").join(format!("worker-{worker}.lock"))
}

pub fn config(root: &Path) -> PathBuf {
    root.join("config.toml")
}

pub fn state(root: &Path) -> PathBuf {
    root.join("state.json")
}

/// The state that is about to replace the one in force.
pub fn next_state(root: &Path) -> PathBuf {
    root.join("state.json.next")
}

/// An earlier state; 0 is the latest of them.
pub fn backup(root: &Path, n: usize) -> PathBuf {
    root.join(if n == 0 { "state.json.bak".to_owned() } else { format!("state.json.bak.{n}") })
}

/// The directory of all worktrees.
pub fn worktrees(root: &Path) -> PathBuf {
    root.join(".worktrees")
}

pub fn worktree(root: &Path, worker: &str) -> PathBuf {
    worktrees(root).join(worker)
}

/// The directory of accepts that have begun and not ended.
pub fn journals(root: &Path) -> PathBuf {
    root.join("accept")
}

pub fn journal(root: &Path, worker: &str) -> PathBuf {
    journals(root).join(format!("{worker}.json"))
}

/// What a worker's own hook said last.
pub fn receipt(root: &Path, worker: &str) -> PathBuf {
    root.join("hooks").join(format!("{worker}.json"))
}

/// The directory of texts that are given to workers in files.
pub fn prompts(root: &Path) -> PathBuf {
    root.join("prompts")
}

/// Files of a worker that git cannot keep, as they were at one time.
pub fn trash(root: &Path, worker: &str, stamp: &str) -> PathBuf {
    root.join("trash").join(worker).join(stamp)
}

pub fn tmux_config(root: &Path) -> PathBuf {
    root.join("tmux.conf")
}

pub fn events(root: &Path) -> PathBuf {
    root.join("logs/events.jsonl")
}

/// What a worker's terminal shows.
pub fn worker_log(root: &Path, worker: &str) -> PathBuf {
    root.join("logs").join(format!("{worker}.log"))
}

/// What an `up` in the background prints; no worker's log has such a name.
pub fn up_log(root: &Path) -> PathBuf {
    root.join("logs/up.out")
}

/// What the command in `on_event` prints.
pub fn on_event_log(root: &Path) -> PathBuf {
    root.join("logs/on_event.out")
}

/// Our own directory in a git directory.
pub fn private(git_dir: &Path) -> PathBuf {
    git_dir.join("shopfloor").join(TOOL)
}
