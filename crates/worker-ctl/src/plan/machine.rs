//! The state machine: one total function, readable as a table. Actions are data; what comes of them returns as an event.

use shopfloor_core::error::{Exit, Failure};

use crate::note::{Fault, Note};
use crate::worker::{Before, Pending, Session, Task, Worker};

/// Something that happened, or is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
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

impl Event {
    /// Whether a person overrules what speaks against it; what nobody is asked about nothing speaks against.
    pub fn is_forced(&self) -> bool {
        match self {
            Event::Start { force, .. }
            | Event::Reject { force, .. }
            | Event::Resume { force }
            | Event::Conflict { force, .. }
            | Event::Message { force } => *force,
            _ => true,
        }
    }

    /// Its name, and what there is to say of it.
    pub fn told(&self) -> (&'static str, String) {
        match self {
            Event::Start { .. } => ("start", String::new()),
            Event::Typing => ("typing", String::new()),
            Event::Sent => ("sent", String::new()),
            Event::NotSent { .. } => ("not_sent", String::new()),
            Event::Commit { sha, .. } => ("commit", sha.clone()),
            Event::Reviewed { sha, .. } => ("reviewed", sha.clone()),
            Event::Reject { base, .. } => ("reject", base.clone()),
            Event::Rebased { sha, .. } => ("rebased", sha.clone()),
            Event::Conflict { files, .. } => ("conflict", files.join(", ")),
            Event::RebaseDone { sha, .. } => ("rebase_done", sha.clone()),
            Event::WorkGone => ("work_gone", String::new()),
            Event::Accepted => ("accepted", String::new()),
            Event::Resume { .. } => ("resume", String::new()),
            Event::Reset => ("reset", String::new()),
            Event::SessionBegun { pid, .. } => ("session_begun", format!("process {pid}")),
            Event::SessionUp { pid, .. } => ("session_up", format!("process {pid}")),
            Event::Exited { end: Session::Code(code), .. } => ("exited", format!("exit {code}")),
            Event::Exited { end: Session::Signal(signal), .. } => ("exited", format!("signal {signal}")),
            Event::Exited { .. } => ("exited", String::new()),
            Event::SessionGone => ("session_gone", String::new()),
            Event::Fault { reason } => ("fault", reason.to_string()),
            Event::Strayed { note: Some(note) } => ("strayed", note.to_string()),
            Event::Strayed { note: None } => ("strayed", "it is on its own branch again".into()),
            Event::Mended { reason } => ("mended", reason.to_string()),
            Event::Doubt => ("doubt", String::new()),
            Event::Message { .. } => ("message", String::new()),
            Event::Quiet => ("quiet", String::new()),
        }
    }
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Type a text into its session.
    Deliver,
    /// Keep what was reviewed under a ref.
    Pin(String),
    /// Let go of that.
    Unpin,
    /// Keep what it had before a rebase, for as long as it has its task.
    Keep(String),
}

/// Why not.
pub type Refused = Failure;

/// The whole machine. `now` is in seconds since 1970.
pub fn apply(worker: &Worker, event: &Event, now: i64) -> Result<(Worker, Vec<Action>), Refused> {
    let mut next = worker.clone();
    next.clamp(now);
    let name = &worker.name;
    let refuse = |why: String, hint: String| Err(Failure::new(Exit::No, "wrong_state", why).hint(hint));
    let alive = worker.session == Session::Up && worker.fault.is_none();
    let dead = || {
        let why = format!("nothing was typed to {name}: it is {}", worker.status());
        let hint = format!("bring it up first: `worker-ctl up {name}`");
        Err(Failure::new(Exit::Failed, NOT_DELIVERED, why).hint(hint))
    };
    if worker.is_in_doubt && !event.is_forced() {
        return Err(Failure::new(Exit::No, "in_doubt", format!("a text may stand in the input line of {name}"))
            .hint(format!("look: `worker-ctl peek {name}`; submit or clear it: `worker-ctl attach {name}`"))
            .hint("then run the same command with `--force`"));
    }
    let actions = match (&worker.task, event) {
        // --- tasks
        (Task::Idle, Event::Start { .. }) if !alive => {
            return refuse(
                format!("{name} is {}", worker.status()),
                format!("bring it up first: `worker-ctl up {name}`"),
            );
        }
        (Task::Idle, Event::Start { prompt, base, .. }) => {
            next.task = Task::Working;
            next.prompt = Some(prompt.clone());
            next.baseline_sha = Some(base.clone());
            next.baseline_patch = None;
            next.onto_sha = Some(base.clone());
            next.pending_send = Some(Pending::new("start", now));
            vec![Action::Deliver]
        }
        (task, Event::Start { .. }) => {
            return refuse(
                format!("{name} is {}", task.word()),
                "choose an idle worker: `worker-ctl status` shows them".into(),
            );
        }
        (_, Event::Typing) => {
            if let Some(pending) = &mut next.pending_send {
                pending.is_typed = true;
            }
            vec![]
        }
        (_, Event::Sent) => {
            if worker.pending_send.as_ref().is_some_and(|pending| pending.what != "message") {
                next.notes.retain(|note| !matches!(note, Note::Untold(_)));
            }
            next.pending_send = None;
            next.is_in_doubt = false;
            next.notes.retain(|note| !matches!(note, Note::Unsubmitted(_)));
            vec![]
        }
        (_, Event::NotSent { back }) => {
            // Liveness is what it is by now; only the task goes back.
            next = Worker {
                session: worker.session,
                fault: worker.fault.clone(),
                pane_id: worker.pane_id.clone(),
                pane_pid: worker.pane_pid,
                dead_pane: worker.dead_pane.clone(),
                crash_count: worker.crash_count,
                last_crash_unix: worker.last_crash_unix,
                ..(**back).clone()
            };
            next.reviewed_sha.clone().map(Action::Pin).into_iter().collect()
        }
        (Task::Working | Task::Rejected, Event::Commit { sha, .. }) if worker.baseline_sha.as_ref() == Some(sha) => {
            vec![]
        }
        (Task::Working | Task::Rejected, Event::Commit { sha, onto }) => {
            next.task = Task::NeedsReview;
            next.onto_sha = onto.clone().or(next.onto_sha);
            next.notes.retain(|note| !matches!(note, Note::MarkersLeft(_)));
            next.commit_sha = Some(sha.clone());
            next.reviewed_sha = None;
            vec![Action::Unpin]
        }
        (Task::NeedsReview, Event::Commit { sha, .. }) if worker.commit_sha.as_ref() == Some(sha) => vec![],
        (Task::NeedsReview, Event::Commit { sha, onto }) => {
            next.commit_sha = Some(sha.clone());
            next.onto_sha = onto.clone().or(next.onto_sha);
            // What was reviewed stays known, so that nothing else is accepted for it.
            next.reviewed_sha = None;
            next.notes.retain(|note| !matches!(note, Note::MarkersLeft(_)));
            note(&mut next, Note::CommittedAgain);
            vec![Action::Unpin]
        }
        (Task::Idle | Task::Rebasing { .. }, Event::Commit { .. }) => vec![],
        (Task::NeedsReview, Event::Reviewed { sha, patch }) => {
            next.reviewed_sha = Some(sha.clone());
            next.reviewed_patch = Some(patch.clone());
            vec![Action::Pin(sha.clone())]
        }
        (Task::NeedsReview, Event::Reject { .. }) if worker.reviewed_sha.is_none() => {
            return refuse(format!("{name} was not reviewed"), format!("look at it first: `worker-ctl review {name}`"));
        }
        (Task::NeedsReview, Event::Reject { .. }) if !alive => return dead(),
        (Task::NeedsReview, Event::Reject { base, patch, .. }) => {
            next.task = Task::Rejected;
            next.baseline_sha = Some(base.clone());
            next.baseline_patch = Some(patch.clone());
            next.reviewed_sha = None;
            next.reviewed_patch = None;
            next.pending_send = Some(Pending::new("reject", now));
            vec![Action::Deliver, Action::Unpin]
        }
        (task, Event::Reviewed { .. } | Event::Reject { .. }) => {
            return refuse(
                format!("{name} is {}, so there is nothing to review", task.word()),
                "`worker-ctl status` shows who needs review".into(),
            );
        }
        (Task::NeedsReview, Event::Rebased { sha, onto, .. }) => {
            // The patch is the same: what was reviewed still is.
            if worker.reviewed_sha.is_some() && worker.reviewed_sha == worker.commit_sha {
                next.reviewed_sha = Some(sha.clone());
            }
            next.commit_sha = Some(sha.clone());
            next.onto_sha = onto.clone().or(next.onto_sha);
            next.reviewed_sha.clone().map(Action::Pin).into_iter().collect()
        }
        (Task::Rejected, Event::Rebased { sha, patch, onto }) => {
            // What was rejected is no news at another place.
            next.baseline_sha = Some(sha.clone());
            next.baseline_patch = Some(patch.clone());
            next.onto_sha = onto.clone().or(next.onto_sha);
            vec![]
        }
        (Task::Working, Event::Rebased { onto, .. }) => {
            next.onto_sha = onto.clone().or(next.onto_sha);
            vec![]
        }
        (_, Event::Rebased { .. }) => vec![],
        (task @ (Task::Working | Task::NeedsReview | Task::Rejected), Event::Conflict { pre_sha, base, files, .. }) => {
            let from = match task {
                Task::NeedsReview => Before::NeedsReview,
                Task::Rejected => Before::Rejected,
                _ => Before::Working,
            };
            next.task = Task::Rebasing { from, pre_sha: pre_sha.clone() };
            next.base_sha = Some(base.clone());
            next.conflicted = files.clone();
            next.notes.retain(|note| *note != Note::GaveUp);
            next.pending_send = Some(Pending::new("conflict", now));
            vec![Action::Deliver, Action::Keep(pre_sha.clone())]
        }
        (_, Event::Conflict { .. }) => vec![],
        (Task::Rebasing { from, pre_sha }, Event::RebaseDone { sha, .. }) if sha == pre_sha => {
            next.task = from.task();
            if next.task == Task::NeedsReview {
                next.commit_sha = Some(sha.clone());
            }
            note(&mut next, Note::GaveUp);
            vec![]
        }
        (Task::Rebasing { from: Before::Working, .. }, Event::RebaseDone { .. }) => {
            next.task = Task::Working;
            next.onto_sha = next.base_sha.clone();
            vec![]
        }
        (Task::Rebasing { .. }, Event::RebaseDone { sha, markers }) => {
            next.task = Task::NeedsReview;
            next.onto_sha = next.base_sha.clone();
            next.notes.retain(|note| *note != Note::GaveUp);
            for file in markers {
                note(&mut next, Note::MarkersLeft(file.clone()));
            }
            next.commit_sha = Some(sha.clone());
            next.reviewed_sha = None;
            vec![Action::Unpin]
        }
        (Task::Rebasing { from, pre_sha }, Event::WorkGone) => {
            next.task = from.task();
            if next.task == Task::NeedsReview {
                next.commit_sha = Some(pre_sha.clone());
            }
            note(&mut next, Note::WorkGone);
            vec![]
        }
        (_, Event::RebaseDone { .. } | Event::WorkGone) => vec![],
        (Task::Idle, Event::Resume { .. }) => {
            return refuse(format!("{name} has no task"), "give it one with `worker-ctl start`".into());
        }
        (_, Event::Resume { .. }) if worker.session != Session::Up => {
            return refuse(
                format!("{name} is {}", worker.status()),
                format!("bring it up first: `worker-ctl up {name}`"),
            );
        }
        (_, Event::Resume { .. }) => {
            next.pending_send = Some(Pending::new("start", now));
            vec![Action::Deliver]
        }
        (Task::NeedsReview, Event::Accepted) => {
            clear_task(&mut next);
            next.crash_count = 0;
            vec![Action::Unpin]
        }
        (_, Event::Accepted) => vec![],
        (_, Event::Reset) => {
            clear_task(&mut next);
            next.fault = None;
            vec![Action::Unpin]
        }
        // --- liveness: never alters the task
        (_, Event::SessionBegun { pane, pid }) => {
            next.session = Session::Down;
            next.is_in_doubt = false;
            next.pane_id = Some(pane.clone());
            next.pane_pid = Some(*pid);
            next.dead_pane = None;
            if matches!(worker.task, Task::Working | Task::Rejected | Task::Rebasing { .. }) {
                note(&mut next, Note::Untold(name.clone()));
            }
            vec![]
        }
        (_, Event::SessionUp { pane, pid }) => {
            next.session = Session::Up;
            next.dead_pane = None;
            next.fault.take_if(|fault| *fault != Fault::WorktreeMissing);
            next.pane_id = Some(pane.clone());
            next.pane_pid = Some(*pid);
            vec![]
        }
        (_, Event::Exited { pane, end, is_ok }) => {
            next.session = *end;
            if !is_ok && worker.dead_pane.as_ref() != Some(pane) {
                next.dead_pane = Some(pane.clone());
                next.crash_count = worker.crash_count.saturating_add(1);
                next.last_crash_unix = Some(now);
                next.fault = Some(match end {
                    Session::Code(code) => Fault::Exit(*code),
                    Session::Signal(signal) => Fault::Signal(*signal),
                    Session::Up | Session::Down => Fault::Gone,
                });
            }
            vec![]
        }
        (_, Event::SessionGone) => {
            next.session = Session::Down;
            next.pane_id = None;
            next.pane_pid = None;
            vec![]
        }
        (_, Event::Fault { reason }) => {
            next.fault = Some(reason.clone());
            vec![]
        }
        (_, Event::Strayed { note: about }) => {
            next.notes.retain(|note| !note.is_of_branch());
            about.clone().into_iter().for_each(|about| note(&mut next, about));
            vec![]
        }
        (_, Event::Mended { reason }) => {
            next.fault.take_if(|fault| fault == reason);
            vec![]
        }
        (_, Event::Doubt) => {
            if let Some(pending) = next.pending_send.take() {
                next.is_in_doubt |= pending.is_typed;
                let what = pending.what;
                note(&mut next, if pending.is_typed { Note::Unsubmitted(what) } else { Note::NotTyped(what) });
            }
            vec![]
        }
        (Task::Idle, Event::Message { force: false }) => {
            return refuse(
                format!("{name} is idle"),
                "give it a task with `worker-ctl start`, or use `--force`".into(),
            );
        }
        (_, Event::Message { .. }) if worker.session != Session::Up => return dead(),
        (_, Event::Message { .. }) => {
            next.pending_send = Some(Pending::new("message", now));
            vec![Action::Deliver]
        }
        (_, Event::Quiet) => {
            next.crash_count = 0;
            next.last_crash_unix = None;
            vec![]
        }
    };
    if next.task != worker.task && matches!(next.task, Task::NeedsReview) {
        // It knew enough.
        next.notes.retain(|note| !matches!(note, Note::Untold(_)));
    }
    // What did not come about is no activity.
    if next != *worker && !matches!(event, Event::Quiet | Event::NotSent { .. }) {
        next.last_activity_unix = now;
        if next.task != worker.task {
            next.task_since_unix = now;
        }
    }
    Ok((next, actions))
}

/// The kind of failure of a delivery of which nothing was typed.
pub const NOT_DELIVERED: &str = "not_delivered";

fn clear_task(worker: &mut Worker) {
    worker.task = Task::Idle;
    worker.prompt = None;
    worker.commit_sha = None;
    worker.baseline_sha = None;
    worker.baseline_patch = None;
    worker.base_sha = None;
    worker.onto_sha = None;
    worker.pending_send = None;
    worker.notes.retain(Note::is_of_branch);
    worker.conflicted.clear();
    worker.reviewed_sha = None;
    worker.reviewed_patch = None;
}

/// Said once.
fn note(worker: &mut Worker, note: Note) {
    if !worker.notes.contains(&note) {
        worker.notes.push(note);
    }
}
