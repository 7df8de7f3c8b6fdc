//! Decides whether a worker's work may land, and how. If it was reviewed, only the reviewed work may land.

use std::path::Path;

use shopfloor_core::error::{Failure, Result};

use crate::facts::worker_state::{Standing, WorkFacts};
use crate::failure;
use crate::plan::check::record;
use crate::plan::{rebase, require_at, require_clean, require_finished, wrong_state};
use crate::work_repo::MergeResult;
use crate::worker::{LandAs, Task, Worker};

/// The plan of an accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accept {
    pub name: String,
    /// The commit that lands.
    pub sha: String,
    /// The default branch's commit that the work lands on.
    pub base: String,
    /// Whether a person has reviewed the work, or what it was before.
    pub is_reviewed: bool,
    /// The digest that the work must have as it lands; none by force or without a review.
    pub patch: Option<String>,
    pub landing: Landing,
}

/// What happens to the default branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Landing {
    /// The branch gets one commit with this tree.
    Commit { tree: String },
    /// The branch gets the work's own commits, which this tree is the last of.
    Commits { tree: String },
    /// The branch gets copies of the work's own commits, which together give this tree.
    Copies { tree: String },
    /// The work's own commits have to be put on the branch first.
    Behind,
    /// The branch stays as it is, because it already has all of the work.
    Nothing,
    /// The branch stays as it is, and the worker is asked to resolve the conflicts.
    Conflict,
}

impl Landing {
    /// The tree that the branch has then, if it moves at once.
    pub fn tree(&self) -> Option<&String> {
        match self {
            Landing::Commit { tree } | Landing::Commits { tree } | Landing::Copies { tree } => Some(tree),
            Landing::Behind | Landing::Nothing | Landing::Conflict => None,
        }
    }
}

/// Plans an accept. By force, work lands even if it changed since its review or has conflict markers. The refusals are
/// checked in the order that is most useful to a person.
pub fn accept(standing: &Standing, branch: &str, is_forced: bool) -> Result<Accept> {
    let worker = &standing.worker;
    let name = &worker.name;
    let sha = require_review(worker)?;
    require_settled(standing, sha)?;
    let work = standing.work.as_ref().ok_or_else(|| wrong_state(worker))?;
    if work.has_several_bases && !is_forced {
        return Err(several_bases(name, branch));
    }
    // What the branch has already is not landed again, reviewed or not.
    if work.merge != MergeResult::Nothing {
        refuse_changed(standing, work, is_forced)?;
    }
    if work.was_moved_back {
        let why = format!("{name}'s work sits on commits that {branch} of the source has dropped or never had");
        return Err(failure::MOVED_BACK
            .failure(why)
            .hint(format!("leave them out, and put the work on the branch as it is now: `worker-ctl rebase {name}`")));
    }
    let landing = match &work.merge {
        MergeResult::Nothing => Landing::Nothing,
        MergeResult::Tree(tree) => match worker.land() {
            LandAs::Squash => Landing::Commit { tree: tree.clone() },
            LandAs::Commits => commits(standing, work, tree)?,
        },
        MergeResult::Conflict => {
            rebase::require_session(worker, branch)?;
            Landing::Conflict
        }
    };
    let is_reviewed = worker.work.reviewed_patch.is_some();
    let patch = worker.work.reviewed_patch.clone().filter(|_| !is_forced);
    let (name, sha, base) = (name.clone(), work.sha.clone(), standing.base.clone());
    Ok(Accept { name, sha, base, is_reviewed, patch, landing })
}

/// How the work's own commits land. Exit 1 if they are not one line.
fn commits(standing: &Standing, work: &WorkFacts, tree: &str) -> Result<Landing> {
    let name = &standing.worker.name;
    if work.has_merges {
        return Err(failure::WRONG_STATE
            .failure(format!("the work of {name} has merges, and cannot land commit by commit"))
            .hint(format!(
                "ask for one line of commits, or land one commit: `worker-ctl accept {name} --land squash`"
            )));
    }
    match work.has_base {
        true => Ok(Landing::Commits { tree: tree.to_owned() }),
        // Nobody here rebases a branch that others have too.
        false if standing.worktree.is_shared => Ok(Landing::Copies { tree: tree.to_owned() }),
        false => Ok(Landing::Behind),
    }
}

/// Exit 1 for work that was sent back, and that nobody has reviewed since.
pub fn refuse_unseen(worker: &Worker) -> Result<()> {
    let is_open = worker.task == Task::NeedsReview && worker.work.changes.is_some();
    if !is_open || worker.work.reviewed_patch.is_some() {
        return Ok(());
    }
    Err(failure::CHANGED
        .failure(format!("{} was sent back, and nobody has reviewed its work since", worker.name))
        .hint(format!("review it first: `worker-ctl review {}`, or use `--force`", worker.name)))
}

/// The commit that waits for review. Exit 1 when none does.
pub fn require_review(worker: &Worker) -> Result<&str> {
    let sha = worker.work.commit_sha.as_deref().filter(|_| worker.task == Task::NeedsReview);
    sha.ok_or_else(|| wrong_state(worker).hint(worker.review_hint()))
}

/// The refusal of work of which a review shows less than a merge does.
pub fn several_bases(name: &str, branch: &str) -> Failure {
    failure::SEVERAL_BASES
        .failure(format!("{name}'s work merges several commits of {branch}, so a review would not show all"))
        .hint(format!(
            "put it on {branch} as one line: `worker-ctl rebase {name}`, which leaves out what its merges changed \
             themselves; refs/shopfloor/pre/{name} keeps the work as it is"
        ))
}

/// Exit 1 unless the worktree is at this commit, with nothing beside it and nothing under way.
pub fn require_settled(standing: &Standing, sha: &str) -> Result<()> {
    let Standing { worker, worktree, .. } = standing;
    require_clean(worker, &worktree.dirty, &worktree.always_dirty)?;
    require_finished(worker, worktree.unfinished)?;
    require_at(standing.is_at(sha), worker.checkout(), sha)
}

/// Exit 1 for work that has conflict markers, or that differs from what was reviewed.
fn refuse_changed(standing: &Standing, work: &WorkFacts, is_forced: bool) -> Result<()> {
    let worker = &standing.worker;
    let name = &worker.name;
    if is_forced {
        return Ok(());
    }
    if !work.markers.is_empty() {
        return Err(failure::MARKERS
            .failure(format!("the files of {name} still have conflict markers"))
            .details(work.markers.iter().map(|path| format!("  {path}")))
            .hint(format!("ask the worker to resolve them: {}, or use `--force`", worker.message_hint("TEXT"))));
    }
    // Where the reviewed work was found again on another commit, that commit counts as reviewed.
    let is_reviewed = worker.work.reviewed_sha.as_ref() == Some(&work.sha);
    let is_red = worker.work.reviewed_sha.is_none() && record(worker).is_some_and(|check| !check.ok);
    if is_red && worker.work.reviewed_patch.is_some() {
        return Err(failure::CHECK_FAILED
            .failure(format!("the check of the work of {name} failed, so its review counts no more"))
            .hint(format!("review it again, and land it unchecked: `worker-ctl review {name}`, `worker-ctl accept {name} --no-check`")));
    }
    if worker.work.reviewed_patch.as_ref().is_some_and(|patch| *patch != work.patch || !is_reviewed) {
        return Err(failure::CHANGED
            .failure(format!("{name} changed since it was reviewed"))
            .hint(format!("review the work again: `worker-ctl review {name}`, or use `--force`")));
    }
    Ok(())
}

impl Accept {
    /// The outcome that it leads to, and what it would do, as `--dry-run` shows it.
    pub fn describe(&self, branch: &str, source: &Path) -> (&'static str, String) {
        let Accept { name, sha, landing, .. } = self;
        match landing {
            Landing::Commit { .. } => {
                ("accepted", format!("put {sha} of {name} on {branch} of {} as one commit", source.display()))
            }
            Landing::Copies { .. } => (
                "accepted",
                format!("put copies of the commits of {name} up to {sha} on {branch} of {}", source.display()),
            ),
            Landing::Commits { .. } | Landing::Behind => {
                ("accepted", format!("put the commits of {name} up to {sha} on {branch} of {}", source.display()))
            }
            Landing::Nothing => ("nothing_to_merge", format!("leave {branch} as it is, and make {name} idle")),
            Landing::Conflict => ("rebasing", format!("ask {name} to resolve its conflicts with {branch}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::start::tests::standing;
    use crate::worker::Session;
    use crate::worker_notes::Fault;

    fn work(standing: &mut Standing) -> &mut WorkFacts {
        standing.work.as_mut().unwrap()
    }

    #[test]
    fn each_refusal_has_its_kind_and_force_overrules_only_markers_and_later_changes() {
        type SpoilStanding = fn(&mut Standing);
        let spoils: [(&str, SpoilStanding, bool); 13] = [
            ("wrong_state", |s| s.worker.task = Task::Working, false),
            ("wrong_state", |s| s.work = None, false),
            ("dirty", |s| s.worktree.dirty.push("a".into()), false),
            ("wrong_state", |s| s.worktree.branch = Some("other".into()), false),
            ("wrong_state", |s| s.worktree.head = Some("later".into()), false),
            ("wrong_state", |s| s.worktree.is_rebasing = true, false),
            ("wrong_state", |s| s.worktree.unfinished = Some("merge"), false),
            ("markers", |s| work(s).markers.push("a".into()), true),
            ("changed", |s| work(s).patch = "another".into(), true),
            ("changed", |s| s.worker.work.reviewed_sha = None, true),
            ("several_bases", |s| work(s).has_several_bases = true, true),
            ("moved_back", |s| work(s).was_moved_back = true, false),
            (
                "conflict",
                |s| {
                    s.worker.program.session = Session::Down;
                    work(s).merge = MergeResult::Conflict;
                },
                false,
            ),
        ];
        for (kind, spoil, can_force) in spoils {
            let mut spoilt = standing(Task::NeedsReview);
            spoil(&mut spoilt);
            assert_eq!(accept(&spoilt, "main", false).unwrap_err().kind, kind);
            assert_eq!(accept(&spoilt, "main", true).is_ok(), can_force, "{kind}");
        }
    }

    #[test]
    fn the_merge_decides_how_the_work_lands() {
        let mut standing = standing(Task::NeedsReview);
        let landing = |standing: &Standing| accept(standing, "main", false).unwrap().landing;
        assert_eq!(landing(&standing), Landing::Commit { tree: "tree".into() });
        work(&mut standing).merge = MergeResult::Nothing;
        assert_eq!(landing(&standing), Landing::Nothing);
        work(&mut standing).merge = MergeResult::Conflict;
        assert_eq!(landing(&standing), Landing::Conflict);
        standing.worker.program.fault = Some(Fault::Gone);
        assert!(accept(&standing, "main", false).is_err());
    }
}
