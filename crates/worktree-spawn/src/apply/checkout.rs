//! Writing the files of a new worktree: by gix on all cores if its result is the same as git's, otherwise by git.

use shopfloor_core::error::Result;
use shopfloor_core::git;
use shopfloor_core::proc;

use super::records::SpawnContext;
use crate::place::Worktree;

/// Writes the files and the index of a worktree that was made with `--no-checkout`.
pub fn run(context: &SpawnContext<'_>, worktree: &Worktree, sha: &str) -> Result<()> {
    if let Some(native) = context.native {
        // If the repository is unusual or gix fails, git writes everything again.
        if matches!(native.checkout(worktree, sha, context.interrupted), Ok(true)) {
            return Ok(());
        }
        proc::check_interrupt()?;
    }
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let cmd = context.git.cmd(&worktree.path).arg("-c").arg(format!("checkout.workers={workers}"));
    let output = cmd.args(["reset", "--hard", "--quiet", "--no-recurse-submodules"]).capture()?;
    if !output.status.success() {
        return Err(git::failed("reset --hard", &output));
    }
    proc::check_interrupt()
}
