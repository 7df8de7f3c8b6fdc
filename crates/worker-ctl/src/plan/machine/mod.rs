//! The state machine: one total function over every input in every state. Effects are data that the room `apply`
//! carries out; their results come back as inputs.
//!
//! Each group of inputs has a file: the task itself (`task`), rebases (`rebase`), texts (`delivery`), and the state of
//! the program (`liveness`), which never changes the task.

mod delivery;
mod liveness;
mod rebase;
mod task;
#[cfg(test)]
mod tests;

use shopfloor_core::error::{Exit, Failure, Result};

use crate::note::{Fault, Note};
use crate::tmux::typing::NOT_DELIVERED;
use crate::worker::{Session, Task, Worker};

/// Something that happened to a worker, or that a person wants from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A person gives the worker a task.
    Start {
        prompt: String,
        /// The commit at which the work starts.
        base: String,
        force: bool,
    },
    /// From now on the pending text may be in the terminal.
    Typing,
    /// The pending text was sent.
    Sent,
    /// Nothing of the pending text was typed, so the record goes back to the earlier one.
    NotSent {
        back: Box<Worker>,
    },
    /// The worker's branch is at this commit, which is ahead of the default branch and not the baseline.
    Commit {
        sha: String,
        /// The default branch's commit that the work sits on.
        onto: Option<String>,
    },
    /// A person reviewed this commit.
    Reviewed {
        sha: String,
        patch: String,
    },
    /// A person wants changes.
    Reject {
        base: String,
        patch: String,
        force: bool,
    },
    /// The same work is on another commit.
    Rebased {
        sha: String,
        patch: String,
        /// The default branch's commit that the work sits on.
        onto: Option<String>,
    },
    /// The work conflicts with the default branch in these files.
    Conflict {
        pre_sha: String,
        base: String,
        files: Vec<String>,
        force: bool,
    },
    /// The rebase is over. If `sha` is the commit before the rebase, the worker gave up. `markers` are the files that
    /// still have conflict markers.
    RebaseDone {
        sha: String,
        markers: Vec<String>,
    },
    /// The rebase is over, and the branch has none of the worker's commits.
    WorkGone,
    /// The default branch has all of the work.
    Accepted,
    /// A person wants the task to be sent again.
    Resume {
        force: bool,
    },
    /// A person takes the task away.
    Reset,
    /// The program was started and does not take input yet.
    SessionBegun {
        pane: String,
        pid: i32,
    },
    /// The program takes input.
    SessionUp {
        pane: String,
        pid: i32,
    },
    /// The program ended by itself.
    Exited {
        pane: String,
        end: Session,
        is_ok: bool,
    },
    /// The session is gone: a command ended it, or the whole server is gone.
    SessionGone,
    Fault {
        reason: Fault,
    },
    /// The worktree is not on the worker's branch, or the branch is gone. Without a note everything is in order again.
    Strayed {
        note: Option<Note>,
    },
    /// This fault is over.
    Mended {
        reason: Fault,
    },
    /// A command was killed while it typed a text, so it is unknown whether the text arrived.
    Doubt,
    /// A person sends a message.
    Message {
        force: bool,
    },
    /// A day has passed without a crash.
    Quiet,
}

impl Input {
    /// Whether a person overrules the objections. An input that has no `force` meets no objections.
    pub fn is_forced(&self) -> bool {
        match self {
            Input::Start { force, .. }
            | Input::Reject { force, .. }
            | Input::Resume { force }
            | Input::Conflict { force, .. }
            | Input::Message { force } => *force,
            _ => true,
        }
    }

    /// The input's name and detail, as the event log has them.
    pub fn describe(&self) -> (&'static str, String) {
        match self {
            Input::Start { .. } => ("start", String::new()),
            Input::Typing => ("typing", String::new()),
            Input::Sent => ("sent", String::new()),
            Input::NotSent { .. } => ("not_sent", String::new()),
            Input::Commit { sha, .. } => ("commit", sha.clone()),
            Input::Reviewed { sha, .. } => ("reviewed", sha.clone()),
            Input::Reject { base, .. } => ("reject", base.clone()),
            Input::Rebased { sha, .. } => ("rebased", sha.clone()),
            Input::Conflict { files, .. } => ("conflict", files.join(", ")),
            Input::RebaseDone { sha, .. } => ("rebase_done", sha.clone()),
            Input::WorkGone => ("work_gone", String::new()),
            Input::Accepted => ("accepted", String::new()),
            Input::Resume { .. } => ("resume", String::new()),
            Input::Reset => ("reset", String::new()),
            Input::SessionBegun { pid, .. } => ("session_begun", format!("process {pid}")),
            Input::SessionUp { pid, .. } => ("session_up", format!("process {pid}")),
            Input::Exited { end: Session::Code(code), .. } => ("exited", format!("exit {code}")),
            Input::Exited { end: Session::Signal(signal), .. } => ("exited", format!("signal {signal}")),
            Input::Exited { .. } => ("exited", String::new()),
            Input::SessionGone => ("session_gone", String::new()),
            Input::Fault { reason } => ("fault", reason.to_string()),
            Input::Strayed { note: Some(note) } => ("strayed", note.to_string()),
            Input::Strayed { note: None } => ("strayed", "it is on its own branch again".into()),
            Input::Mended { reason } => ("mended", reason.to_string()),
            Input::Doubt => ("doubt", String::new()),
            Input::Message { .. } => ("message", String::new()),
            Input::Quiet => ("quiet", String::new()),
        }
    }
}

/// What must be done after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Type a text into the session.
    Deliver,
    /// Keep the reviewed commit under a ref.
    Pin(String),
    /// Delete that ref.
    Unpin,
    /// Keep the commit from before a rebase under a ref, until the task is over.
    Keep(String),
}

/// Applies an input to a worker's record. `now` is in seconds since 1970. Exit 1 or 4 when the input is refused.
pub fn apply(worker: &Worker, input: &Input, now: i64) -> Result<(Worker, Vec<Effect>)> {
    refuse_in_doubt(worker, input)?;
    let mut step = Step { before: worker, next: worker.clone(), now };
    step.next.clamp(now);
    let effects = match input {
        Input::Start { .. }
        | Input::Commit { .. }
        | Input::Reviewed { .. }
        | Input::Reject { .. }
        | Input::Accepted
        | Input::Reset => task::apply(&mut step, input)?,
        Input::Rebased { .. } | Input::Conflict { .. } | Input::RebaseDone { .. } | Input::WorkGone => {
            rebase::apply(&mut step, input)
        }
        Input::Typing
        | Input::Sent
        | Input::NotSent { .. }
        | Input::Resume { .. }
        | Input::Message { .. }
        | Input::Doubt => delivery::apply(&mut step, input)?,
        Input::SessionBegun { .. }
        | Input::SessionUp { .. }
        | Input::Exited { .. }
        | Input::SessionGone
        | Input::Fault { .. }
        | Input::Strayed { .. }
        | Input::Mended { .. }
        | Input::Quiet => liveness::apply(&mut step, input),
    };
    Ok((step.finish(input), effects))
}

/// A worker's record between two states.
struct Step<'w> {
    before: &'w Worker,
    next: Worker,
    now: i64,
}

impl Step<'_> {
    /// Adds a note unless the record has it already.
    fn note(&mut self, note: Note) {
        if !self.next.notes.contains(&note) {
            self.next.notes.push(note);
        }
    }

    /// Exit 1: the worker's state does not allow it.
    fn refuse(&self, why: String, hint: String) -> Failure {
        Failure::new(Exit::No, "wrong_state", why).hint(hint)
    }

    /// Exit 4: no program runs that a text could be typed into.
    fn refuse_dead(&self) -> Failure {
        let name = &self.before.name;
        let why = format!("nothing was typed to {name}: it is {}", self.before.status());
        Failure::new(Exit::Failed, NOT_DELIVERED, why).hint(format!("start its session first: `worker-ctl up {name}`"))
    }

    /// Exit 1: the worker must be up first.
    fn refuse_down(&self) -> Failure {
        let name = &self.before.name;
        self.refuse(
            format!("{name} is {}", self.before.status()),
            format!("start its session first: `worker-ctl up {name}`"),
        )
    }

    /// Finishes a step: does what every step has in common.
    fn finish(self, input: &Input) -> Worker {
        let Step { before, mut next, now } = self;
        if next.task != before.task && matches!(next.task, Task::NeedsReview) {
            // The program evidently knew its task.
            next.notes.retain(|note| !matches!(note, Note::TaskUnknown(_)));
        }
        // A delivery that failed does not count as activity.
        if next != *before && !matches!(input, Input::Quiet | Input::NotSent { .. }) {
            next.last_activity_unix = now;
            if next.task != before.task {
                next.task_since_unix = now;
            }
        }
        next
    }
}

/// Exit 1 while a text may be in the worker's input line, unless a person overrules that.
fn refuse_in_doubt(worker: &Worker, input: &Input) -> Result<()> {
    let name = &worker.name;
    if !worker.is_in_doubt || input.is_forced() {
        return Ok(());
    }
    Err(Failure::new(Exit::No, "in_doubt", format!("a text may be in the input line of {name}"))
        .hint(format!(
            "look at the line with `worker-ctl peek {name}`, and submit or clear it with `worker-ctl attach {name}`"
        ))
        .hint("then run the same command with `--force`"))
}
