//! Writing the files of a new worktree: by gix, on all cores, where that comes to the same as git; else by git.

#[cfg(feature = "fast-checkout")]
mod fast;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::git::Git;

use crate::facts::spawn::git_failed;

/// Writes the files and the index of a worktree made with `--no-checkout`. `true` when gix did.
pub fn run(env: &Env, git: &Git, tree: &Path, interrupted: &AtomicBool) -> Result<bool> {
    #[cfg(feature = "fast-checkout")]
    match fast::checkout(env, tree, interrupted) {
        Ok(true) => return Ok(true),
        // Out of the ordinary, or something gix stumbled over: git writes everything anew.
        Ok(false) | Err(_) => shopfloor_core::proc::check_interrupt()?,
    }
    #[cfg(not(feature = "fast-checkout"))]
    let _ = (env, interrupted);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let cmd = git.cmd(tree).arg("-c").arg(format!("checkout.workers={workers}"));
    let output = cmd.args(["reset", "--hard", "--quiet", "--no-recurse-submodules"]).capture()?;
    if !output.status.success() {
        return Err(git_failed("reset --hard", &output));
    }
    Ok(false)
}
