//! Notes and faults of a worker. They are stored as values, so that their sentences can be reworded.

use std::fmt;

use serde::{Deserialize, Serialize};
use shopfloor_core::text::shell_word;

/// Something that a person should know about a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "of", rename_all = "snake_case")]
pub enum Note {
    /// The worker committed again while its work waited for review.
    CommittedAgain,
    /// Our rebase has made other work of it.
    WorkChanged,
    /// Another worker's work has landed on its branch.
    ChildLanded,
    /// Conflict markers are left in this file.
    MarkersLeft(String),
    /// Since this commit of the default branch the work conflicts with it in these files. Somebody else is asked first.
    Conflicts { branch: String, since: String, files: Vec<String> },
    /// The worker aborted the rebase.
    GaveUp,
    /// After the rebase the branch has none of the worker's commits.
    WorkGone,
    /// A command was killed after it had typed a text with this purpose, perhaps before the key that submits it.
    Unsubmitted(String),
    /// A command was killed before it typed a text with this purpose.
    NotTyped(String),
    /// A command was killed while it started the program anew with a text with this purpose.
    Passed(String),
    /// The program of the worker with this name was restarted and does not know its task.
    #[serde(rename = "untold")]
    TaskUnknown(String),
    /// The program of the worker with this name went on with its conversation after a restart, and waits.
    Restarted(String),
    /// The usage limit of the program of the worker with this name is over, and it waits.
    LimitOver(String),
    /// The worktree is on another branch than the worker's own, or on none.
    OnBranch(Option<String>),
    /// The worker's branch, which has this name, was deleted.
    BranchGone(String),
    /// git cannot read this file, the HEAD of its worktree.
    HeadUnreadable(String),
    /// The branch that its work lands on, which has this name, is gone.
    TargetGone(String),
    /// What it has committed in its sandbox is not taken, for this reason.
    ImportRefused(String),
    /// A removal or reset that did not end has kept work here.
    Kept(String),
}

impl Note {
    /// Which of several notes a person should read first: those that make a worker need one, in the order in which
    /// `attention.rs` asks for them.
    pub fn rank(&self) -> u8 {
        match self {
            Note::ImportRefused(_) => 0,
            note if note.is_doubt() => 1,
            Note::BranchGone(_) | Note::HeadUnreadable(_) | Note::TargetGone(_) => 2,
            Note::TaskUnknown(_) | Note::Restarted(_) | Note::LimitOver(_) => 3,
            _ => 4,
        }
    }

    /// Whether a text may not have got to the worker.
    pub fn is_doubt(&self) -> bool {
        matches!(self, Note::Unsubmitted(_) | Note::NotTyped(_) | Note::Passed(_))
    }

    /// The same of a text about its task.
    pub fn is_doubt_of_task(&self) -> bool {
        let (Note::Unsubmitted(purpose) | Note::NotTyped(purpose) | Note::Passed(purpose)) = self else { return false };
        !["message", "continue"].contains(&purpose.as_str())
    }

    /// Whether the note says that a program waits to be told something: it was restarted, or its usage limit is over.
    pub fn is_of_restart(&self) -> bool {
        matches!(self, Note::TaskUnknown(_) | Note::Restarted(_) | Note::LimitOver(_))
    }

    /// Whether the note is about the branches. Such a note does not depend on the task.
    pub fn is_of_branch(&self) -> bool {
        self.is_of_own_branch() || self.is_of_lost_branch()
    }

    /// Whether the worktree is not on the worker's branch.
    pub fn is_of_own_branch(&self) -> bool {
        matches!(self, Note::OnBranch(_) | Note::BranchGone(_) | Note::HeadUnreadable(_))
    }

    /// Whether a branch is gone, or not known, without which nobody can tell what the work is.
    pub fn is_of_lost_branch(&self) -> bool {
        matches!(self, Note::BranchGone(_) | Note::HeadUnreadable(_) | Note::TargetGone(_))
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::CommittedAgain => f.write_str("it committed again after it was done"),
            Note::WorkChanged => f.write_str("its work changed when it was rebased"),
            Note::ChildLanded => f.write_str("other workers' work has landed on its branch and waits with it"),
            Note::MarkersLeft(file) => write!(f, "conflict markers are left in {file}"),
            Note::Conflicts { branch, since, files } => {
                let since = since.get(..7).unwrap_or(since);
                write!(f, "conflicts with {branch} since {since} in {}", few(files))
            }
            Note::GaveUp => f.write_str("it gave up the rebase"),
            Note::WorkGone => f.write_str("none of its commits are left on its branch after the rebase"),
            Note::Unsubmitted(purpose) => write!(f, "the {purpose} text may be in its input line, not submitted"),
            Note::NotTyped(purpose) | Note::Passed(purpose) => write!(f, "the {purpose} text may not have arrived"),
            Note::TaskUnknown(name) => {
                write!(
                    f,
                    "its program was restarted and does not know its task; send it with `worker-ctl resume {name}`"
                )
            }
            Note::Restarted(name) => {
                write!(f, "its program was restarted and waits; let it go on with `worker-ctl resume {name}`")
            }
            Note::LimitOver(name) => {
                write!(f, "its usage limit is over, and it waits; let it go on with `worker-ctl resume {name}`")
            }
            Note::OnBranch(Some(branch)) => write!(f, "its worktree is on the branch {branch} instead of its own"),
            Note::OnBranch(None) => f.write_str("its worktree is on no branch"),
            Note::ImportRefused(why) => f.write_str(why),
            Note::Kept(place) => write!(f, "a removal or reset did not end; it kept {place}"),
            Note::BranchGone(branch) => write!(f, "its branch {branch} was deleted"),
            Note::HeadUnreadable(head) => write!(f, "its worktree was tampered with: git cannot read {head}"),
            Note::TargetGone(branch) => write!(f, "the source has no branch {branch}; {}", target_hint(branch)),
        }
    }
}

/// What to do where the branch of the person's own repository is gone that work lands on.
pub fn target_hint(branch: &str) -> String {
    let branch = shell_word(branch.as_ref());
    format!(
        "bring it back: `git branch {branch} COMMIT`; or name another: `worker-ctl add --worktree WORKTREE --target BRANCH`"
    )
}

/// The first few of these files, and how many more there are.
pub fn few(files: &[String]) -> String {
    match files.get(FEW..) {
        None | Some([]) => files.join(", "),
        Some(more) => format!("{} and {} more", files[..FEW].join(", "), more.len()),
    }
}

/// How many files a note names.
const FEW: usize = 3;

/// Why a worker cannot work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "of", rename_all = "snake_case")]
pub enum Fault {
    /// Its worktree is gone.
    WorktreeMissing,
    /// Its program ended with this code.
    Exit(i32),
    /// A signal ended its program.
    Signal(i32),
    /// The job of its program ended so: a word like `timeout`.
    Job(String),
    /// Its program is gone, and how it ended is unknown.
    Gone,
    /// Its program runs, but has not shown that it takes input.
    NotReady,
    /// Its program is to run in a sandbox, and none can be made.
    NoSandbox,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::WorktreeMissing => f.write_str("worktree missing"),
            Fault::Exit(code) => write!(f, "exit {code}"),
            Fault::Signal(signal) => write!(f, "signal {signal}"),
            Fault::Job(end) => write!(f, "job {end}"),
            Fault::Gone => f.write_str("gone"),
            Fault::NotReady => f.write_str("not ready"),
            Fault::NoSandbox => f.write_str("no sandbox"),
        }
    }
}
