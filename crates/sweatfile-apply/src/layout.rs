//! The tool's name, and where each of its lock and state files lies.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::git::Repo;
use shopfloor_core::text::shell_word;

/// The tool's name: its binary, its table in `config.toml`, its state directory.
pub const TOOL: &str = "sweatfile-apply";

/// The state directory of one worktree. It goes with the worktree and never makes it dirty.
pub fn worktree_dir(repo: &Repo) -> PathBuf {
    repo.worktree_state(TOOL)
}

/// The state directory of the worktree with this private git directory.
fn dir_below(git_dir: &Path) -> PathBuf {
    git_dir.join("shopfloor").join(TOOL)
}

/// The lock that every command takes before it writes to the worktree.
pub fn worktree_lock(repo: &Repo) -> PathBuf {
    worktree_dir(repo).join("lock")
}

/// Held while setup commands run.
pub fn setup_lock(repo: &Repo) -> PathBuf {
    worktree_dir(repo).join("setup.lock")
}

/// Held while the step with this key runs in the background.
pub fn step_lock(repo: &Repo, key: &str) -> PathBuf {
    worktree_dir(repo).join("steps").join(format!("{key}.lock"))
}

/// What its last run wrote.
pub fn step_log(repo: &Repo, key: &str) -> PathBuf {
    worktree_dir(repo).join("steps").join(format!("{key}.log"))
}

/// Where the output of setup commands passes through.
pub fn setup_output(repo: &Repo) -> PathBuf {
    worktree_dir(repo).join("output")
}

/// Where files are staged before they are placed into the worktree or the main checkout.
pub fn staging(repo: &Repo) -> PathBuf {
    worktree_dir(repo).join("tmp")
}

/// The snapshot of `.sweatshop-env` that a review compares with.
pub fn snapshot(repo: &Repo) -> PathBuf {
    worktree_dir(repo).join("snapshot.env")
}

/// The record of the worktree with this private git directory.
pub fn record(git_dir: &Path) -> PathBuf {
    dir_below(git_dir).join("record.json")
}

/// The ports of all worktrees of the repository.
pub fn ports(repo: &Repo) -> PathBuf {
    repo.shared_state(TOOL).join("ports.json")
}

/// Held while the table of ports is rewritten.
pub fn ports_lock(repo: &Repo) -> PathBuf {
    repo.shared_state(TOOL).join("ports.lock")
}

/// Held while variables are promoted into the repository's sweatfile.
pub fn promote_lock(repo: &Repo) -> PathBuf {
    dir_below(&repo.home.common_dir).join("promote.lock")
}

/// The `.sweatshop-env` of removed worktrees.
pub fn removed_dir(repo: &Repo) -> PathBuf {
    dir_below(&repo.home.common_dir).join("removed")
}

/// The version of a state file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version(u32);

/// The version of `ports.json`.
pub const OF_PORTS: Version = Version(2);

impl Default for Version {
    fn default() -> Version {
        Version(1)
    }
}

/// Parses a JSON state file. A newer version than ours is refused before anything else is read; for a damaged file the
/// hint says what follows when it is moved away.
pub fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8], newest: Version, moved_away: &str) -> Result<T> {
    #[derive(Deserialize)]
    struct VersionOnly {
        v: Version,
    }
    let damaged = |e: serde_json::Error| {
        Failure::malformed(format!("{}: {e}", path.display()))
            .hint(format!("move {} away; {moved_away}", shell_word(path)))
    };
    let version: VersionOnly = serde_json::from_slice(bytes).map_err(damaged)?;
    if version.v.0 > newest.0 {
        let what = format!("{} has version {}, newer than this program knows", path.display(), version.v.0);
        return Err(Failure::malformed(what).hint("install the newest shopfloor"));
    }
    serde_json::from_slice(bytes).map_err(damaged)
}
