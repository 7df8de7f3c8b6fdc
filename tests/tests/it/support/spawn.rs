//! Worktrees that worktree-spawn makes.

use std::path::PathBuf;

use crate::support::world::{Repo, World};

/// A repository with a few files.
pub fn app(w: &World) -> Repo<'_> {
    let app = w.app();
    app.commit("src/main.rs", "fn main() {}\n");
    app.commit("README.md", "app\n");
    app
}

/// Spawns a subtree. Returns its worktree.
#[track_caller]
pub fn subtree<'w>(from: &Repo<'w>, args: &[&str]) -> Repo<'w> {
    let out = from.spawn(&[&["subtree"], args].concat()).exit(0);
    let path = PathBuf::from(out.stdout.strip_suffix('\n').unwrap());
    assert!(path.is_dir(), "{path:?}");
    from.world.at(path)
}
