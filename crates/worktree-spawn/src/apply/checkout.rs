//! Writing the files of a new worktree: by gix, on all cores, where that comes to the same as git; else by git.

use shopfloor_core::error::Result;
use shopfloor_core::proc;

use super::spawn::Site;
use crate::facts::place::Tree;
use crate::facts::spawn::git_failed;

/// Writes the files and the index of a worktree made with `--no-checkout`.
pub fn run(site: &Site<'_>, tree: &Tree, sha: &str) -> Result<()> {
    if let Some(native) = site.native {
        // Out of the ordinary, or something gix stumbled over: git writes everything anew.
        if matches!(native.checkout(tree, sha, site.interrupted), Ok(true)) {
            return Ok(());
        }
        proc::check_interrupt()?;
    }
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let cmd = site.git.cmd(&tree.path).arg("-c").arg(format!("checkout.workers={workers}"));
    let output = cmd.args(["reset", "--hard", "--quiet", "--no-recurse-submodules"]).capture()?;
    if !output.status.success() {
        return Err(git_failed("reset --hard", &output));
    }
    proc::check_interrupt()
}
