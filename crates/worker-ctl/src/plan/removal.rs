//! Decides whether a worker or its task may be given up.

use shopfloor_core::error::Result;
use shopfloor_core::text::shell_word;
use shopfloor_core::ui::printable;

use crate::facts::losses::Losses;
use crate::failure;
use crate::plan::MAX_LISTED;
use crate::worker::{Task, Worker};

/// Exit 1 when work would be lost that exists nowhere else. With `--force` it is kept under a ref instead.
pub fn refuse_loss(worker: &Worker, losses: &Losses, is_forced: bool) -> Result<()> {
    if losses.is_empty() || is_forced {
        return Ok(());
    }
    // Only what is committed can be accepted.
    let first = if losses.files.is_empty() { "" } else { "commit the files, then " };
    // In the clone nothing waits for a review without a task.
    let land = match worker.task == Task::Idle && worker.adopted.is_none() {
        true => {
            format!("merge the work yourself (`git pull --no-rebase {} {}`)", shell_word(worker.tree()), worker.branch)
        }
        false => format!("land the work (`worker-ctl accept {}`)", worker.name),
    };
    Err(failure::UNMERGED
        .failure(format!("{} has work that is nowhere else", worker.name))
        .details(losses.lines().into_iter().take(MAX_LISTED).map(|line| printable(&line)))
        .hint(format!("{first}{land} or save it, or use `--force`, which keeps it under refs/shopfloor/trash/")))
}

/// Whether a worker's branch stays when its worktree goes: the person's own, with commits that its target lacks.
pub fn branch_stays(worker: &Worker, losses: &Losses) -> bool {
    worker.adopted.is_some() && losses.branch_tip.as_ref().is_some_and(|tip| losses.tips.contains(tip))
}

/// What a removal removes and keeps, for a person.
pub fn describe_nuke(worker: &Worker, losses: &Losses) -> String {
    let Worker { name, worktree_path, branch, .. } = worker;
    let kept = describe_kept(losses);
    match branch_stays(worker, losses) {
        true => format!("remove {name} with {worktree_path}{kept}; {branch} stays"),
        false => format!("remove {name} with {worktree_path} and {branch}{kept}"),
    }
}

/// The same for one of which only the record goes: `stay` are its worktree and branch, as far as they are there.
pub fn describe_forget(Worker { name, .. }: &Worker, stay: &[&str], losses: &Losses) -> String {
    let stay = match stay {
        [] => String::new(),
        [one] => format!("; {one} stays"),
        all => format!("; {} stay", all.join(" and ")),
    };
    format!("forget {name}{}{stay}", describe_kept(losses))
}

fn describe_kept(losses: &Losses) -> String {
    match losses.lines().len() {
        0 => String::new(),
        count => format!(", and keep {count} of its commits and files under a ref"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_exists_nowhere_else_is_refused_or_kept() {
        let worker = Worker::new("adam", "claude", "/w/adam", "worker/adam", 0);
        let losses = Losses { commits: vec!["abc add a".into()], tips: vec!["abc".into()], ..Losses::default() };
        assert!(refuse_loss(&worker, &Losses::default(), false).is_ok());
        let refused = refuse_loss(&worker, &losses, false).unwrap_err();
        assert_eq!((refused.kind, refused.details.len()), ("unmerged", 1));
        assert!(refuse_loss(&worker, &losses, true).is_ok());
        assert_eq!(describe_nuke(&worker, &Losses::default()), "remove adam with /w/adam and worker/adam");
        assert!(describe_nuke(&worker, &losses).ends_with("keep 1 of its commits and files under a ref"));
        let forget = |stay: &[&str]| describe_forget(&worker, stay, &Losses::default());
        assert_eq!((forget(&[]), forget(&["/w/adam"])), ("forget adam".into(), "forget adam; /w/adam stays".into()));
    }
}
