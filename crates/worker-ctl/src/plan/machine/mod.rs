//! The state machine: one total function over every input in every state. Effects are data, which `apply` carries out; what
//! comes of them returns as an input.
//!
//! Each group of inputs has a file: the task itself (`task`), rebases (`rebase`), texts (`delivery`), and whether the
//! program lives (`liveness`), which never alters the task.

mod delivery;
mod liveness;
mod rebase;
mod task;
#[cfg(test)]
mod tests;

use shopfloor_core::error::{Exit, Failure, Result};

use crate::note::{Fault, Note};
use crate::tmux::typing::NOT;
use crate::worker::{Session, Task, Worker};

/// Something that happened, or is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A person gives it a task. The baseline is where it stands.
    Start {
        prompt: String,
        base: String,
        force: bool,
    },
    /// From now on the text that is pending may be in its terminal.
    Typing,
    /// The text that was pending has gone out.
    Sent,
    /// It has not, and nothing was typed: what was begun with it is taken back.
    NotSent {
        back: Box<Worker>,
    },
    /// Its branch is at this commit, which is ahead of the default branch and not the baseline.
    Commit {
        sha: String,
        /// The default branch's commit it sits on.
        onto: Option<String>,
    },
    /// A person looked at this.
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
    /// Its commit sits on the default branch again, and is this work.
    Rebased {
        sha: String,
        patch: String,
        /// The default branch's commit it sits on.
        onto: Option<String>,
    },
    /// It has conflicts with the default branch, in these files.
    Conflict {
        pre_sha: String,
        base: String,
        files: Vec<String>,
        force: bool,
    },
    /// The rebase is over; at the commit it began with it was given up. In these files conflict markers are left.
    RebaseDone {
        sha: String,
        markers: Vec<String>,
    },
    /// The rebase is over, and nothing of its work is left on its branch.
    WorkGone,
    /// Its work is in the default branch, or had nothing that was not.
    Accepted,
    /// A person wants it to be told its task again.
    Resume {
        force: bool,
    },
    /// A person takes its task away.
    Reset,
    /// Its program was started, and does not take input yet.
    SessionBegun {
        pane: String,
        pid: i32,
    },
    SessionUp {
        pane: String,
        pid: i32,
    },
    /// Its program ended by itself.
    Exited {
        pane: String,
        end: Session,
        is_ok: bool,
    },
    /// Its session is gone: we ended it, or the whole server went.
    SessionGone,
    Fault {
        reason: Fault,
    },
    /// It is not on its own branch, or that is gone; or, without a note, all is as it should be again.
    Strayed {
        note: Option<Note>,
    },
    /// That fault is no more.
    Mended {
        reason: Fault,
    },
    /// It was killed while a text was typed to it: whether that arrived nobody knows.
    Doubt,
    /// A person wants to tell it something.
    Message {
        force: bool,
    },
    /// A day without a crash.
    Quiet,
}

impl Input {
    /// Whether a person overrules what speaks against it; what nobody is asked about nothing speaks against.
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

    /// Its name, and what there is to say of it.
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

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Type a text into its session.
    Deliver,
    /// Keep what was reviewed under a ref.
    Pin(String),
    /// Let go of that.
    Unpin,
    /// Keep what it had before a rebase, for as long as it has its task.
    Keep(String),
}

/// Applies an input to a worker's record. `now` is in seconds since 1970. Exit 1 or 4 where it cannot be.
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
    Ok((step.end(input), effects))
}

/// A worker's record on its way from one state to the next.
struct Step<'w> {
    before: &'w Worker,
    next: Worker,
    now: i64,
}

impl Step<'_> {
    /// Adds a note, once.
    fn note(&mut self, note: Note) {
        if !self.next.notes.contains(&note) {
            self.next.notes.push(note);
        }
    }

    /// Exit 1: the worker's state does not allow it.
    fn refuse(&self, why: String, hint: String) -> Failure {
        Failure::new(Exit::No, "wrong_state", why).hint(hint)
    }

    /// Exit 4: there is no program that a text could be typed to.
    fn refuse_dead(&self) -> Failure {
        let name = &self.before.name;
        let why = format!("nothing was typed to {name}: it is {}", self.before.status());
        Failure::new(Exit::Failed, NOT, why).hint(format!("bring it up first: `worker-ctl up {name}`"))
    }

    /// Exit 1: it has to be up first.
    fn refuse_down(&self) -> Failure {
        let name = &self.before.name;
        self.refuse(format!("{name} is {}", self.before.status()), format!("bring it up first: `worker-ctl up {name}`"))
    }

    /// What follows from any step.
    fn end(self, input: &Input) -> Worker {
        let Step { before, mut next, now } = self;
        if next.task != before.task && matches!(next.task, Task::NeedsReview) {
            // It knew enough of its task.
            next.notes.retain(|note| !matches!(note, Note::Untold(_)));
        }
        // A delivery that did not come about is no activity.
        if next != *before && !matches!(input, Input::Quiet | Input::NotSent { .. }) {
            next.last_activity_unix = now;
            if next.task != before.task {
                next.task_since_unix = now;
            }
        }
        next
    }
}

/// Exit 1 while a text may stand in the worker's input line, unless a person overrules that.
fn refuse_in_doubt(worker: &Worker, input: &Input) -> Result<()> {
    let name = &worker.name;
    if !worker.is_in_doubt || input.is_forced() {
        return Ok(());
    }
    Err(Failure::new(Exit::No, "in_doubt", format!("a text may stand in the input line of {name}"))
        .hint(format!("look: `worker-ctl peek {name}`; submit or clear it: `worker-ctl attach {name}`"))
        .hint("then run the same command with `--force`"))
}
