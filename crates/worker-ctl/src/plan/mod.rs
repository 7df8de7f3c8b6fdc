//! Pure decisions: from facts to a plan or a refusal. `--dry-run` prints the plan that a real run carries out.

pub mod accept;
pub mod check;
pub mod comments;
pub mod machine;
pub mod prompt;
pub mod queue;
pub mod rebase;
pub mod removal;
pub mod request;
pub mod resume;
pub mod start;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::text::shell_word;

use crate::failure;
use crate::worker::{Checkout, Worker};

/// How many changed files, or lost commits and files, are listed.
const MAX_LISTED: usize = 20;

/// Exit 1: the worker's task is in another state.
fn wrong_state(worker: &Worker) -> Failure {
    failure::WRONG_STATE.failure(format!("{} is {}", worker.name, worker.task.word()))
}

/// Exit 1 when a worktree has uncommitted changes. `always` are those that every checkout of the commit has.
pub fn require_clean(worker: &Worker, dirty: &[String], always: &[String]) -> Result<()> {
    if dirty.is_empty() {
        return Ok(());
    }
    let more = dirty.len().saturating_sub(MAX_LISTED).checked_sub(1).map(|n| format!("  and {} more", n + 1));
    let failure = failure::DIRTY
        .failure(format!("{} has uncommitted changes", worker.worktree_path))
        .details(dirty.iter().take(MAX_LISTED).map(|path| format!("  {path}")).chain(more));
    Err(match always.first() {
        Some(path) => failure.hint(format!(
            "a fresh checkout has {path} changed too, because its attributes ask for other contents than were \
             committed: run `git add --renormalize . && git commit` in the source"
        )),
        None => failure.hint(format!("ask for a commit: {}", worker.message_hint("'Commit your changes'"))),
    })
}

/// Exit 1 while git is in the middle of this command in the worktree: what follows a landing or a rebase would end it.
pub fn require_finished(worker: &Worker, unfinished: Option<&str>) -> Result<()> {
    let Some(command) = unfinished else { return Ok(()) };
    Err(failure::WRONG_STATE
        .failure(format!("{} is in a `git {command}` of its own", worker.name))
        .hint(format!("ask for its end: {}", worker.message_hint(&format!("'Finish your {command}'"))))
        .hint(format!("or give it up: `git -C {} {command} --abort`", shell_word(worker.tree()))))
}

/// Exit 1 unless the worktree is on the worker's branch, at this commit, with no rebase under way.
pub fn require_at(is_at: bool, Checkout { worker: name, branch, tree }: Checkout<'_>, sha: &str) -> Result<()> {
    if is_at {
        return Ok(());
    }
    let (short, at): (String, String) = (sha.chars().take(12).collect(), shell_word(tree));
    Err(failure::WRONG_STATE
        .failure(format!("{name} is not on {branch} at {short}"))
        .hint(format!("see what {name} is doing: `git -C {at} status`"))
        .hint(format!(
            "if it is on another branch, or on none, go back: `git -C {at} switch {}`; what was committed \
             elsewhere can be merged then",
            shell_word(branch.as_ref())
        ))
        .hint(format!(
            "if {branch} has lost that commit, get it back: `git -C {at} merge {short}`, or give it up: \
             `worker-ctl reset {name} --force`, which keeps it under a ref"
        )))
}
