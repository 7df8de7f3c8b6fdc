//! The path of each file, directory and lock of a root.

use std::path::{Path, PathBuf};

use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::text::shell_word;

/// The tool's name: its binary, and its state directory.
pub const TOOL: &str = "worker-ctl";
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
    /// Held while a file of comments is changed.
    Comments,
    /// Held while a worktree for checks is used.
    Check,
    /// Held by an `up` that patrols for as long as it runs.
    Patrolling,
    /// Held while the source's branches are fetched.
    Fetch,
    /// Held while the tmux server is started.
    Tmux,
    /// Held by `up` for as long as it runs.
    Daemon,
}

/// A lock's file.
pub fn lock(root: &Path, lock: RootLock) -> PathBuf {
    root.join("locks").join(format!("{lock:?}.lock").to_lowercase())
}

/// The lock that is held during long work on one worker.
pub fn worker_lock(root: &Path, worker: &str) -> PathBuf {
    root.join("locks").join(format!("worker-{worker}.lock"))
}

/// The lock that is held while a worker's work is checked.
pub fn check_lock(root: &Path, worker: &str) -> PathBuf {
    root.join("locks").join(format!("check-{worker}.lock"))
}

/// The output of the last check of a worker's work. The extension differs from that of a worker's log.
pub fn check_log(root: &Path, worker: &str) -> PathBuf {
    root.join("logs").join(format!("{worker}.check.log"))
}

/// The worktree in which trees are checked that no worker has: of the clone or of the person's own repository, and another
/// one in sandboxes, because what runs there is not to be run outside. No worker can have its name.
pub fn check_worktree(root: &Path, is_own: bool, is_contained: bool) -> PathBuf {
    let kind = if is_own { "-own" } else { "" };
    worktree(root, &format!(".check{kind}{}", if is_contained { "-contained" } else { "" }))
}

/// What git gets in place of the clone's directory, with a configuration that no agent writes.
pub fn host_git(root: &Path) -> PathBuf {
    root.join("git")
}

pub fn config(root: &Path) -> PathBuf {
    root.join("config.toml")
}

/// The record of the repository that a root is for, in a root without a clone.
pub fn owner(root: &Path) -> PathBuf {
    root.join("owner.json")
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

/// What brings a root back to the place at which it had this worktree. `git worktree repair` would write a file wherever
/// an agent has recorded a worktree.
pub fn back(root: &Path, worktree: &Path) -> String {
    let before = worktree.ancestors().nth(2).unwrap_or(worktree);
    format!("move the root back: `mv {} {}`", shell_word(root), shell_word(before))
}

/// The directory of journals, one for each accept that has begun and not ended.
pub fn journals(root: &Path) -> PathBuf {
    root.join("accept")
}

pub fn journal(root: &Path, worker: &str) -> PathBuf {
    journals(root).join(format!("{worker}.json"))
}

/// The longest path for a socket, with room for what programs append.
const LONGEST_SOCKET: usize = 96;

/// The socket of the root's tmux server, unless its path is too long.
pub fn tmux_socket(root: &Path) -> PathBuf {
    root.join("tmux.sock")
}

pub fn is_short(socket: &Path) -> bool {
    socket.as_os_str().len() <= LONGEST_SOCKET
}

/// Whether the root's tmux server can have its socket here: in the root, or, if that path is too long, in a directory of
/// ours.
pub fn is_tmux_socket(root: &Path, socket: &Path) -> bool {
    let inside = tmux_socket(root);
    if is_short(&inside) { socket == inside } else { socket.parent().is_some_and(fs::is_ours) }
}

/// The settings or the plugin with hooks that the workers' sessions of a program get.
pub fn agent_file(root: &Path, program: &str, extension: &str) -> PathBuf {
    root.join("agents").join(format!("{program}.{extension}"))
}

/// The directory of texts that workers read from files.
pub fn prompts(root: &Path) -> PathBuf {
    root.join("prompts")
}

/// What a worker's runner has for itself, until `reset`.
pub fn runner_tmp(root: &Path, worker: &str) -> PathBuf {
    root.join("tmp").join(worker)
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

/// Which work clashes with which.
pub fn clashes(root: &Path) -> PathBuf {
    root.join("clashes.json")
}

/// What the forge said last.
pub fn requests(root: &Path) -> PathBuf {
    root.join("requests.json")
}

/// The comments on a worker's work that were not sent yet.
pub fn comments(root: &Path, worker: &str) -> PathBuf {
    root.join("comments").join(format!("{worker}.json"))
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

/// Our own directory in a git directory. Agents may be able to write there, so a link on the way is refused.
pub fn private(git_dir: &Path) -> Result<PathBuf> {
    let shared = git_dir.join("shopfloor");
    let own = shared.join(TOOL);
    [&shared, &own].into_iter().try_for_each(|dir| fs::refuse_link(dir))?;
    Ok(own)
}
