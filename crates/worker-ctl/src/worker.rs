//! A worker's record: its task, and separately the state of its session.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use shopfloor_core::text::shell_word;

use crate::adopted::idle_hint;
pub use crate::adopted::{Adopted, LandAs, LandedTip, Pushed};
use crate::check_record::CheckRecord;
use crate::session_file::{Spent, UsageLimit};
use crate::task_queue::QueuedTask;
use crate::worker_notes::{Fault, Note};

/// The state of a worker's task. A restart never changes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// The worker has no task.
    #[default]
    Idle,
    /// The worker has a task and no commit yet.
    Working,
    /// The worker's commit waits for a person.
    NeedsReview,
    /// A person wants changes.
    Rejected,
    /// The worker resolves conflicts with the default branch; the state and the commit before that.
    Rebasing { from: TaskBeforeRebase, pre_sha: String },
}

/// The state of a task before a rebase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskBeforeRebase {
    Working,
    NeedsReview,
    Rejected,
}

impl TaskBeforeRebase {
    pub fn task(self) -> Task {
        match self {
            TaskBeforeRebase::Working => Task::Working,
            TaskBeforeRebase::NeedsReview => Task::NeedsReview,
            TaskBeforeRebase::Rejected => Task::Rejected,
        }
    }
}

impl Task {
    pub fn word(&self) -> &'static str {
        match self {
            Task::Idle => "idle",
            Task::Working => "working",
            Task::NeedsReview => "needs_review",
            Task::Rejected => "rejected",
            Task::Rebasing { .. } => "rebasing",
        }
    }
}

/// Whether the agent's program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Session {
    Up,
    #[default]
    Down,
    /// The program ended by itself, with this exit code.
    Code(i32),
    /// A signal ended the program.
    Signal(i32),
}

/// What an agent's program does, as far as the program's own hooks tell. It is beside task, session and fault, and only
/// a question has an effect: nothing is typed over it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// It got a prompt, or runs a tool.
    Busy,
    /// It shows a question and waits for a person.
    Asks,
    /// Its turn has ended.
    Rests,
    /// It was started anew, and does not know the worker's task.
    Fresh,
    /// It has hit a usage limit. No record has this: see [`Worker::activity`].
    Limited,
    /// No hook has spoken since the program was started or a text was sent.
    #[default]
    #[serde(other)]
    Unknown,
}

impl Activity {
    pub fn word(self) -> &'static str {
        match self {
            Activity::Busy => "busy",
            Activity::Asks => "asks",
            Activity::Rests => "rests",
            Activity::Fresh => "fresh",
            Activity::Limited => "limited",
            Activity::Unknown => "unknown",
        }
    }
}

/// A text that is about to be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingSend {
    /// `start`, `reject`, `message` or `conflict`.
    #[serde(rename = "what")]
    pub purpose: String,
    pub at_unix: i64,
    /// Whether its first byte may have been typed.
    #[serde(default)]
    pub is_typed: bool,
    /// Whether it is a task that the worker has just got.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_first: bool,
    /// Whether the program may have been started anew with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_passed: bool,
}

impl PendingSend {
    pub fn new(purpose: &str, now: i64) -> PendingSend {
        PendingSend { purpose: purpose.to_owned(), at_unix: now, is_typed: false, is_first: false, is_passed: false }
    }
}

/// A worker's record in `state.json`. Who owns a value decides how long it lives: `work` goes with the task, `program`
/// and `reported` go with the session. In the file all are keys of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worker {
    pub name: String,
    pub agent: String,
    pub worktree_path: String,
    pub branch: String,
    pub created_at_unix: i64,
    pub last_activity_unix: i64,
    pub session_id: String,
    pub task: Task,
    /// When the state of the task last changed. It decides who has waited longest.
    #[serde(default)]
    pub task_since_unix: i64,
    #[serde(flatten)]
    pub work: Work,
    #[serde(flatten)]
    pub program: Program,
    #[serde(flatten)]
    pub reported: ReportedActivity,
    pub pending_send: Option<PendingSend>,
    #[serde(default)]
    pub notes: Vec<Note>,
    /// What its sessions cost, as far as their files tell.
    #[serde(default, skip_serializing_if = "Spent::is_empty")]
    pub spent: Spent,
    /// The last task that has landed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landed_prompt: Option<String>,
    /// None for a worker in the root's clone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopted: Option<Adopted>,
    /// What others have of its branch, as that of a request. Nobody here moves it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pushed: Option<Pushed>,
    /// Keys that a later version added.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// What belongs to a task, from its start to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    #[serde(rename = "current_prompt")]
    pub prompt: Option<String>,
    /// The commit that waits for review.
    pub commit_sha: Option<String>,
    /// Since when the task, or its rejection, waits for a review. A conflict does not cost the work its place in the line.
    pub review_since_unix: Option<i64>,
    /// The commit at which the worker got its task or its rejection. Only another commit counts as new.
    pub baseline_sha: Option<String>,
    pub baseline_patch: Option<String>,
    /// The commit that `review` showed.
    pub reviewed_sha: Option<String>,
    pub reviewed_patch: Option<String>,
    /// The commit that `review` showed last, also after a rejection or a later commit, to show what has changed since.
    pub shown_sha: Option<String>,
    /// Where the worker's own commits below it began then. Its parent's may have landed as others since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_from: Option<String>,
    /// The default branch's commit that the last rebase aimed at. It is tried again only when the branch has moved on.
    pub base_sha: Option<String>,
    /// The default branch's commit that the work sits on. Commits below it are not the worker's own.
    pub onto_sha: Option<String>,
    /// What it was told to change when its work was sent back last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<String>,
    /// The files that had conflicts when the last rebase stopped.
    #[serde(default)]
    pub conflicted: Vec<String>,
    /// The conversation that knows the task, as the program's hook names it.
    pub conversation: Option<String>,
    /// The last check of the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckRecord>,
    /// How many checks of this task's work have failed, and how many of the last commit were void.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub checks_red: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub checks_void: u32,
    /// The task as it waited in the queue, if it is from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<QueuedTask>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What is known of the program in the worker's pane, and of its ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    pub session: Session,
    pub fault: Option<Fault>,
    pub pane_id: Option<String>,
    /// Its process. It stays known when the session is gone, which tells a program that still runs from a later one.
    pub pane_pid: Option<i32>,
    /// The pane whose end does not count: its crash was counted, or its program was ended to be started anew.
    pub dead_pane: Option<String>,
    pub crash_count: u32,
    pub last_crash_unix: Option<i64>,
    /// The hash of the text that its hook reported last, to confirm that ours has arrived. Empty before it is typed; none
    /// as long as no hook has spoken.
    pub heard: Option<String>,
    /// Whether a text may be in its input line, not submitted. Another text would be appended to it.
    #[serde(default)]
    pub is_in_doubt: bool,
    /// Whether a person has ended its session, so that an `up` that keeps running leaves it down.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_stopped: bool,
    /// Whether a reset that did not end has ended its session, and is to start it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_to_restart: bool,
    /// When it was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_unix: Option<i64>,
    /// The job that it is or was last, where Slurm runs it, and what that waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_waits_for: Option<String>,
    /// Its own file about its session, as its hooks name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_file: Option<String>,
    /// The usage limit that it has hit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<UsageLimit>,
    /// A digest of the question that `answer` listed last. A number that a person gives then means a line of that one.
    pub listed_question: Option<String>,
}

/// What the program does, as its hooks tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedActivity {
    #[serde(default)]
    pub activity: Activity,
    /// When the activity began, and the question that the program asks.
    pub activity_at: Option<String>,
    pub activity_text: Option<String>,
    /// The tool use that the question is about, as the program's hook names it.
    pub question_id: Option<String>,
}

/// Where a worker works: its worktree, on its branch.
#[derive(Clone, Copy, Debug)]
pub struct Checkout<'w> {
    pub worker: &'w str,
    pub branch: &'w str,
    pub tree: &'w Path,
}

impl Worker {
    /// Its worktree.
    pub fn tree(&self) -> &Path {
        Path::new(&self.worktree_path)
    }

    pub fn checkout(&self) -> Checkout<'_> {
        Checkout { worker: &self.name, branch: &self.branch, tree: self.tree() }
    }

    pub fn new(name: &str, agent: &str, worktree: &str, branch: &str, now: i64) -> Worker {
        Worker {
            name: name.to_owned(),
            agent: agent.to_owned(),
            worktree_path: worktree.to_owned(),
            branch: branch.to_owned(),
            created_at_unix: now,
            last_activity_unix: now,
            session_id: format!("worker-{name}"),
            task_since_unix: now,
            ..Worker::default()
        }
    }

    /// The word that `status` shows: a fault goes before a session that is not up, and that goes before the task.
    pub fn status(&self) -> &'static str {
        match (&self.program.fault, self.program.session) {
            (Some(_), _) => "error",
            _ if self.program.job_waits_for.is_some() => "queued",
            (None, Session::Up) => self.task.word(),
            (None, _) => "offline",
        }
    }

    /// Whether its branch has commits that were there before its first task, and nobody has given it one yet.
    pub fn is_before_first_task(&self) -> bool {
        let has_earlier = self.adopted.as_ref().is_some_and(|adopted| adopted.earlier.is_some());
        self.work.prompt.is_none() && (has_earlier || self.has_request())
    }

    /// Whether others have its branch as that of a request.
    pub fn has_request(&self) -> bool {
        self.pushed.as_ref().is_some_and(|pushed| !pushed.is_over)
    }

    /// Whether others have this commit by a request.
    pub fn is_pushed(&self, sha: Option<&str>) -> bool {
        self.pushed.as_ref().is_some_and(|pushed| sha.is_some_and(|sha| pushed.has(sha)))
    }

    /// The id of its task, if that is from the queue.
    pub fn queued_id(&self) -> Option<&str> {
        self.work.queued.as_ref().map(|task| task.id.as_str())
    }

    /// What its program does: a usage limit goes before everything but a question.
    pub fn activity(&self) -> Activity {
        match self.reported.activity {
            Activity::Asks => Activity::Asks,
            _ if self.program.limit.is_some() => Activity::Limited,
            told => told,
        }
    }

    /// The branch that the work of an adopted worktree lands on.
    pub fn target(&self) -> Option<&str> {
        self.adopted.as_ref().map(|adopted| adopted.target.as_str())
    }

    /// Lets its work land on another branch. What was reviewed is reviewed again there.
    pub fn set_target(&mut self, branch: &str) {
        if let Some(adopted) = &mut self.adopted {
            (adopted.target, adopted.after_target) = (branch.to_owned(), None);
        }
        self.work.reviewed_sha = None;
        self.notes.retain(|note| !matches!(note, Note::TargetGone(_)));
    }

    /// What to do where its branch was deleted. `base` is the commit from which one without a task would begin.
    pub fn branch_hint(&self, base: Option<String>) -> String {
        let began = self.adopted.as_ref().map(|adopted| adopted.began.clone()).or(base);
        let sha = self.work.commit_sha.clone().or(began.filter(|_| self.task == Task::Idle));
        let (tree, branch) = (shell_word(self.tree()), shell_word(self.branch.as_ref()));
        format!("bring it back: `git -C {tree} branch {branch} {}`", sha.as_deref().unwrap_or("COMMIT"))
    }

    /// What to do where git cannot read this file, the HEAD of its worktree.
    pub fn head_hint(&self, head: &str) -> String {
        let branch = shell_word(self.branch.as_ref());
        let way = if Path::new(head).with_file_name("reftable").exists() {
            format!("git -C {} symbolic-ref HEAD refs/heads/{branch}", shell_word(self.tree()))
        } else {
            format!("echo ref: refs/heads/{branch} > {}", shell_word(head.as_ref()))
        };
        format!("if it was on its branch: `{way}`")
    }

    /// What sends it this text: a program that does not run is started first, and one without a task is told by force.
    pub fn message_hint(&self, text: &str) -> String {
        let (name, is_up) = (&self.name, self.program.session == Session::Up);
        let up = if is_up { String::new() } else { format!("`worker-ctl up {name}`, then ") };
        let force = if self.task == Task::Idle { " --force" } else { "" };
        format!("{up}`worker-ctl message {name} {text}{force}`")
    }

    /// What to do where it has nothing to review.
    pub fn review_hint(&self) -> String {
        let name = &self.name;
        if let Some(note) = self.notes.iter().find(|note| note.is_of_lost_branch()) {
            return match note {
                Note::BranchGone(_) => {
                    format!("{note}; {}, or run `worker-ctl reset {name} --force`", self.branch_hint(None))
                }
                Note::HeadUnreadable(head) => format!("{note}; {}", self.head_hint(head)),
                _ => note.to_string(),
            };
        }
        if let Some((why, hint)) = self.untold() {
            return format!("{why}; {hint}");
        }
        match self.task {
            Task::Rejected => format!("it was sent back; tell it more: {}", self.message_hint("TEXT")),
            Task::Rebasing { .. } if !self.goes_on() => format!("let it go on: `worker-ctl resume {name}`"),
            Task::Rebasing { .. } => format!("it resolves conflicts; `worker-ctl wait {name}` waits for it"),
            Task::Idle => idle_hint(self.adopted.as_ref(), self.tree()),
            _ => "`worker-ctl status` shows who needs review".to_owned(),
        }
    }

    /// Why a text about its open task may not have reached it, and what to do then.
    pub fn untold(&self) -> Option<(String, String)> {
        let is_it = |note: &&Note| note.is_doubt_of_task() && !matches!(note, Note::Unsubmitted(_));
        let note = self.notes.iter().find(is_it).filter(|_| self.has_open_task())?;
        let ways = "look with `worker-ctl peek NAME`; if it is not there: `worker-ctl start --resume NAME`";
        Some((note.to_string(), ways.replace("NAME", &self.name)))
    }

    /// Its notes, but for what is done without a person when its usage limit ends.
    pub fn open_notes(&self, now: i64) -> impl Iterator<Item = &Note> {
        let limit = self.program.limit.as_ref();
        let is_held = limit.is_some_and(|limit| limit.until_unix.is_some() && limit.holds(now));
        self.notes.iter().filter(move |note| !is_held || !note.is_of_restart())
    }

    /// How its work lands.
    pub fn land(&self) -> LandAs {
        self.adopted.as_ref().map(|adopted| adopted.land).unwrap_or_default()
    }

    /// Its place in the line of those who wait for a review, the first that has waited longest.
    pub fn place_in_line(&self) -> (i64, &str) {
        (self.work.review_since_unix.unwrap_or(self.task_since_unix), &self.name)
    }

    /// Whether its work is known to conflict with the default branch.
    pub fn has_known_conflict(&self) -> bool {
        self.notes.iter().any(|note| matches!(note, Note::Conflicts { .. }))
    }

    /// Whether the worker has a task that it has not finished.
    pub fn has_open_task(&self) -> bool {
        matches!(self.task, Task::Working | Task::Rejected | Task::Rebasing { .. })
    }

    /// Whether its program is up, and does not wait to be told to go on.
    pub fn goes_on(&self) -> bool {
        let is_up = self.program.session == Session::Up && self.program.fault.is_none();
        is_up && !self.notes.iter().any(Note::is_of_restart)
    }

    /// Sets timestamps in the future to now. They occur when the clock was set back.
    pub fn clamp(&mut self, now: i64) {
        for time in [&mut self.created_at_unix, &mut self.last_activity_unix, &mut self.task_since_unix]
            .into_iter()
            .chain(&mut self.program.last_crash_unix)
            .chain(&mut self.work.review_since_unix)
        {
            *time = now.min(*time);
        }
    }

    /// Checks that the record is valid, or returns why it is not.
    pub fn check(&self) -> Result<(), String> {
        let name = &self.name;
        let Work { prompt, commit_sha, reviewed_sha, .. } = &self.work;
        let empty = prompt.is_none() && commit_sha.is_none() && reviewed_sha.is_none();
        match &self.task {
            Task::Idle if !empty => Err(format!("{name} is idle and has a prompt, a commit or a review")),
            Task::NeedsReview if commit_sha.is_none() => Err(format!("{name} needs review and has no commit")),
            Task::Rebasing { pre_sha, .. } if pre_sha.is_empty() => {
                Err(format!("{name} is rebasing and has no commit from before"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_keeps_unknown_keys() {
        let mut worker = Worker::new("adam", "claude", "/w", "worker/adam", 7);
        worker.task = Task::Rebasing { from: TaskBeforeRebase::Working, pre_sha: "abc".into() };
        worker.more.insert("later".into(), 1.into());
        let text = serde_json::to_string(&worker).unwrap();
        assert_eq!(serde_json::from_str::<Worker>(&text).unwrap(), worker);
    }
}
