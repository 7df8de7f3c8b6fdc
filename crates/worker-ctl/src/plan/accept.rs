//! Whether a worker's work may land, and what landing it comes to. What lands is what was reviewed.

use std::fmt;

use shopfloor_core::error::{Exit, Failure, Result};

use crate::clone::MergeResult;
use crate::facts::standing::{Standing, WorkFacts};
use crate::plan::{rebase, require_at, require_clean, wrong_state};
use crate::worker::Task;

/// What will be done with a worker's work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accept {
    pub name: String,
    /// The commit that lands.
    pub sha: String,
    /// The default branch's commit it lands on.
    pub base: String,
    pub landing: Landing,
    /// Whether nobody has looked at it.
    pub is_unreviewed: bool,
}

/// What becomes of the default branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Landing {
    /// It gets one commit with this tree.
    Commit { tree: String },
    /// It stays as it is: it has all of the work.
    Nothing,
    /// It stays as it is, and the worker is told to resolve the conflicts.
    Conflict,
}

/// What a person overrules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Land it though it changed since it was reviewed, or conflict markers are left in it.
    pub force: bool,
}

/// Decides; the refusals come in the order in which a person would want to know of them.
pub fn accept(standing: &Standing, branch: &str, options: Options) -> Result<Accept> {
    let worker = &standing.worker;
    let name = &worker.name;
    let Some(work) = standing.work.as_ref().filter(|_| worker.task == Task::NeedsReview) else {
        return Err(wrong_state(worker).hint("`worker-ctl status` shows who needs review"));
    };
    require_clean(standing)?;
    require_at(standing, &work.sha)?;
    refuse_unread(standing, work, options)?;
    if work.was_moved_back {
        let why = format!("{branch} of the source has dropped commits that {name}'s work sits on");
        return Err(Failure::new(Exit::No, "moved_back", why)
            .hint(format!("put the work on what there is now: `worker-ctl rebase {name}`")));
    }
    let landing = match &work.merge {
        MergeResult::Nothing => Landing::Nothing,
        MergeResult::Tree(tree) => Landing::Commit { tree: tree.clone() },
        MergeResult::Conflict => {
            rebase::require_session(worker, branch)?;
            Landing::Conflict
        }
    };
    let is_unreviewed = worker.reviewed_patch.is_none();
    Ok(Accept { name: name.clone(), sha: work.sha.clone(), base: standing.base.clone(), landing, is_unreviewed })
}

/// Exit 1 for what nobody has read as it is now.
fn refuse_unread(standing: &Standing, work: &WorkFacts, options: Options) -> Result<()> {
    let worker = &standing.worker;
    let name = &worker.name;
    if options.force {
        return Ok(());
    }
    if !work.markers.is_empty() {
        return Err(Failure::new(Exit::No, "markers", "conflict markers are left in its files")
            .details(work.markers.iter().map(|path| format!("  {path}")))
            .hint(format!("ask for them to be resolved: `worker-ctl message {name} TEXT`, or use `--force`")));
    }
    if worker.reviewed_patch.as_ref().is_some_and(|patch| *patch != work.patch) {
        return Err(Failure::new(Exit::No, "changed", format!("{name} changed since it was reviewed"))
            .hint(format!("look again: `worker-ctl review {name}`, or use `--force`")));
    }
    Ok(())
}

/// A plan as `--dry-run` shows it.
pub struct Described<'a> {
    pub plan: &'a Accept,
    pub branch: &'a str,
    pub source: &'a std::path::Path,
}

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Described { plan: Accept { name, sha, landing, .. }, branch, source } = self;
        match landing {
            Landing::Commit { .. } => {
                write!(f, "put {sha} of {name} on {branch} of {} as one commit", source.display())
            }
            Landing::Nothing => write!(f, "leave {branch} as it is, and make {name} idle"),
            Landing::Conflict => write!(f, "tell {name} to resolve its conflicts with {branch}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::note::Fault;
    use crate::plan::start::tests::standing;
    use crate::worker::{Session, Worker};

    fn work(standing: &mut Standing) -> &mut WorkFacts {
        standing.work.as_mut().unwrap()
    }

    #[test]
    fn each_refusal_has_its_kind_and_force_overrules_only_what_a_person_can_know() {
        type Spoil = fn(&mut Standing);
        let spoils: [(&str, Spoil, bool); 10] = [
            ("wrong_state", |s| s.worker.task = Task::Working, false),
            ("wrong_state", |s| s.work = None, false),
            ("dirty", |s| s.worktree.dirty.push("a".into()), false),
            ("wrong_state", |s| s.worktree.branch = Some("other".into()), false),
            ("wrong_state", |s| s.worktree.head = Some("later".into()), false),
            ("wrong_state", |s| s.worktree.is_rebasing = true, false),
            ("markers", |s| work(s).markers.push("a".into()), true),
            ("changed", |s| work(s).patch = "another".into(), true),
            ("moved_back", |s| work(s).was_moved_back = true, false),
            (
                "conflict",
                |s| {
                    s.worker.session = Session::Down;
                    work(s).merge = MergeResult::Conflict;
                },
                false,
            ),
        ];
        for (kind, spoil, can_force) in spoils {
            let mut spoilt = standing(Task::NeedsReview);
            spoil(&mut spoilt);
            assert_eq!(accept(&spoilt, "main", Options::default()).unwrap_err().kind, kind);
            assert_eq!(accept(&spoilt, "main", Options { force: true }).is_ok(), can_force, "{kind}");
        }
    }

    #[test]
    fn a_merge_says_what_becomes_of_the_branch() {
        let mut standing = standing(Task::NeedsReview);
        let landing = |standing: &Standing| accept(standing, "main", Options::default()).unwrap().landing;
        assert_eq!(landing(&standing), Landing::Commit { tree: "tree".into() });
        work(&mut standing).merge = MergeResult::Nothing;
        assert_eq!(landing(&standing), Landing::Nothing);
        work(&mut standing).merge = MergeResult::Conflict;
        assert_eq!(landing(&standing), Landing::Conflict);
        standing.worker.fault = Some(Fault::Gone);
        assert!(accept(&standing, "main", Options::default()).is_err());
        standing.worker = Worker { reviewed_patch: None, fault: None, ..standing.worker };
        assert!(accept(&standing, "main", Options::default()).unwrap().is_unreviewed);
    }
}
