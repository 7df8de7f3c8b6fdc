//! The path of each file, directory and lock of a root.

use std::path::{Path, PathBuf};

use shopfloor_core::env::Env;
use shopfloor_core::hash::Digest;
use shopfloor_core::proc;

/// The tool's name: its binary, and its state directory.
pub const TOOL: &str = "worker-ctl";

/// The path of this program: as it was called, else from the PATH.
pub fn own_program(env: &Env) -> Option<PathBuf> {
    env.called_path().map(Path::to_path_buf).filter(|path| path.is_file()).or_else(|| proc::find(env, TOOL))
}

/// A lock that a root has once, as opposed to one per worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootLock {
    /// Held for milliseconds, while `state.json` is read, changed and written.
    State,
    /// Held while work is merged and published to the source.
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

/// The new state before it replaces the current one.
pub fn next_state(root: &Path) -> PathBuf {
    root.join("state.json.next")
}

/// A backup of the state; 0 is the most recent one.
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

/// The directory of journals, one for each accept that has begun and not ended.
pub fn journals(root: &Path) -> PathBuf {
    root.join("accept")
}

pub fn journal(root: &Path, worker: &str) -> PathBuf {
    journals(root).join(format!("{worker}.json"))
}

/// The last report of a worker's own hook.
pub fn receipt(root: &Path, worker: &str) -> PathBuf {
    root.join("hooks").join(format!("{worker}.json"))
}

/// The longest path for a socket, with room for what programs append.
const LONGEST_SOCKET: usize = 96;

/// The path of a socket: below the root, or below `/tmp` if that is too long.
fn socket(root: &Path, below: &str, name: &str) -> PathBuf {
    let inside = root.join(below);
    if inside.as_os_str().len() <= LONGEST_SOCKET {
        return inside;
    }
    let digest = Digest::of(root.as_os_str().as_encoded_bytes()).to_string();
    PathBuf::from(format!("/tmp/worker-ctl-{}", &digest[..16])).join(name)
}

/// The socket of the root's tmux server.
pub fn tmux_socket(root: &Path) -> PathBuf {
    socket(root, "tmux.sock", "tmux.sock")
}

/// The socket at which a worker's program takes texts.
pub fn text_socket(root: &Path, worker: &str) -> PathBuf {
    let name = format!("{worker}.sock");
    socket(root, &format!("hooks/{name}"), &format!("worker-{name}"))
}

/// The settings or the plugin with hooks that the workers' sessions of a program get.
pub fn agent_file(root: &Path, program: &str, extension: &str) -> PathBuf {
    root.join("agents").join(format!("{program}.{extension}"))
}

/// The directory of texts that workers read from files.
pub fn prompts(root: &Path) -> PathBuf {
    root.join("prompts")
}

/// Files of a removed worker that git cannot keep.
pub fn trash(root: &Path, worker: &str, stamp: &str) -> PathBuf {
    all_trash(root).join(worker).join(stamp)
}

pub fn all_trash(root: &Path) -> PathBuf {
    root.join("trash")
}

pub fn tmux_config(root: &Path) -> PathBuf {
    root.join("tmux.conf")
}

pub fn events(root: &Path) -> PathBuf {
    root.join("logs/events.jsonl")
}

/// The log of what a worker's terminal shows.
pub fn worker_log(root: &Path, worker: &str) -> PathBuf {
    root.join("logs").join(format!("{worker}.log"))
}

/// The output of `up --detach`. The extension differs from that of a worker's log, so the names cannot clash.
pub fn up_log(root: &Path) -> PathBuf {
    root.join("logs/up.out")
}

/// The output of the `on_event` command.
pub fn on_event_log(root: &Path) -> PathBuf {
    root.join("logs/on_event.out")
}

/// Our own directory in a git directory.
pub fn private(git_dir: &Path) -> PathBuf {
    git_dir.join("shopfloor").join(TOOL)
}
