//! The state machine of a worker: one function that handles every input in every state. It returns effects as data.
//! `crate::apply` carries them out, and passes their results back as inputs.
//!
//! Each group of inputs has a file: `task` for the task itself, `rebase` for rebases, `delivery` for texts,
//! `liveness` for the state of the program, and `activity` for what the program's hooks tell. Inputs of the last two
//! never change the task.

mod activity;
mod delivery;
mod liveness;
mod rebase;
mod task;
#[cfg(test)]
mod tests;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::text::printable;
use shopfloor_core::time;

use crate::check_record::CheckRecord;
use crate::failure;
use crate::hook_report::{Report, Signal};
use crate::log::ACTIVITY;
use crate::session_file::UsageLimit;
use crate::task_queue::QueuedTask;
use crate::worker::{Activity, ReportedActivity, Session, Task, Worker};
use crate::worker_notes::{Fault, Note};

/// Something that happened to a worker, or that a person wants from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A person gives the worker a task, or the queue does. The work starts at the commit `base`, which is one of the branch
    /// that it lands on or, where `is_shared`, of a branch that others have too.
    Start { prompt: String, base: String, is_shared: bool, force: bool, queued: Option<QueuedTask> },
    /// The tool begins to type the pending text, so the text may have arrived from now on.
    Typing { force: bool },
    /// The tool is about to start the program anew with the pending text. The program before it has ended, and if its
    /// end made commits, the branch is at `head`.
    Restarting { head: Option<String>, job: Option<String> },
    /// The pending text was sent.
    Sent,
    /// Nothing of the pending text was typed, so the record `back` is restored.
    NotSent { back: Box<Worker> },
    /// The worker's branch is at this commit, which is ahead of the default branch and not the baseline. The work is based
    /// on the default branch's commit `onto`.
    Commit { sha: String, onto: Option<String> },
    /// The work was checked.
    Checked(CheckRecord),
    /// The work could not be checked, or the worktree changed meanwhile, so the result says nothing.
    CheckVoid,
    /// A person reviewed this commit. The worker's own commits begin at `from`.
    Reviewed { sha: String, from: Option<String>, patch: String },
    /// The work goes back to its worker, which is told what to change. Where it conflicts, nobody needs to have reviewed it.
    Reject { base: String, patch: String, text: String, is_conflict: bool, force: bool },
    /// The same work was rebased to another commit. It is based on the default branch's commit `onto`.
    Rebased { sha: String, patch: String, onto: Option<String> },
    /// Our rebase has made other work of it, as where the branch has a part of it already.
    WorkChanged { sha: String, onto: Option<String> },
    /// The work conflicts with the default branch in these files.
    Conflict { pre_sha: String, base: String, files: Vec<String>, force: bool },
    /// The work that waits for review conflicts with the default branch's commit `base` in these files, and the worker is
    /// not asked to resolve that yet.
    ConflictSeen { branch: String, base: String, files: Vec<String> },
    /// The rebase is over. If `sha` is the commit before the rebase, the worker gave up. `markers` are the files that
    /// still have conflict markers.
    RebaseDone { sha: String, markers: Vec<String> },
    /// The rebase is over, and the branch has none of the worker's commits.
    WorkGone,
    /// Work of another worker has landed on the worker's branch, which is at this commit now.
    ChildLanded { sha: String, patch: String },
    /// The default branch has all of the work.
    Accepted,
    /// A person wants the task to be sent again, or its program, which knows it, to be told to continue.
    Resume { is_continued: bool, force: bool },
    /// The task is taken away; with `requeue`, it goes back to the queue.
    Reset { requeue: bool },
    /// The program was started and does not take input yet. `is_continued` says whether it goes on with the conversation
    /// that knows the task.
    SessionBegun { pane: String, pid: i32, job: Option<String>, is_continued: bool },
    /// The program could not go on with its conversation.
    ConversationLost,
    /// The program's own hook has spoken.
    Reported(Report),
    /// The program's own file tells of this usage limit, or of none any more.
    Limit(Option<UsageLimit>),
    /// The program's usage limit is over, and it has not gone on by itself.
    LimitOver,
    /// The program takes input.
    SessionUp { pane: String, pid: i32 },
    /// The program's job waits in the queue of a cluster for this reason, or does not wait any more.
    Queued { reason: Option<String> },
    /// The program ended by itself, or its job did so.
    Exited { pane: String, end: Session, is_ok: bool, job: Option<&'static str> },
    /// The session ended because a command ended it, or because the tmux server is gone.
    SessionGone,
    /// Something is wrong with the worker.
    Fault { reason: Fault },
    /// The worktree is not on the worker's branch, or that was deleted, or the one that the work lands on. If `note` is
    /// `None`, the worktree is on its branch again and both are there.
    Strayed { note: Option<Note> },
    /// This fault is over.
    Mended { reason: Fault },
    /// A command was killed while it typed a text, so it is unknown whether the text arrived.
    Doubt,
    /// A person sends a message.
    Message { force: bool },
    /// A day has passed without a crash.
    DayWithoutCrash,
}

impl Input {
    /// Whether a person overrules objections. Inputs without a `force` field are never refused, so this is true for
    /// them.
    pub fn is_forced(&self) -> bool {
        match self {
            Input::Start { force, .. }
            | Input::Reject { force, .. }
            | Input::Resume { force, .. }
            | Input::Conflict { force, .. }
            | Input::Typing { force }
            | Input::Message { force } => *force,
            _ => true,
        }
    }

    /// The name and the detail of the input in the event log.
    pub fn describe(&self) -> (&'static str, String) {
        match self {
            Input::Start { queued, .. } => ("start", queued.as_ref().map(|task| task.id.clone()).unwrap_or_default()),
            Input::Typing { .. } => ("typing", String::new()),
            Input::Restarting { head, .. } => ("restarting", head.clone().unwrap_or_default()),
            Input::Sent => ("sent", String::new()),
            Input::NotSent { .. } => ("not_sent", String::new()),
            Input::Commit { sha, .. } => ("commit", sha.clone()),
            Input::Checked(check) => ("checked", if check.ok { "green".into() } else { "red".into() }),
            Input::CheckVoid => ("check_void", String::new()),
            Input::Reviewed { sha, .. } => ("reviewed", sha.clone()),
            Input::Reject { base, .. } => ("reject", base.clone()),
            Input::Rebased { sha, .. } | Input::WorkChanged { sha, .. } => ("rebased", sha.clone()),
            Input::Conflict { files, .. } => ("conflict", files.join(", ")),
            Input::ConflictSeen { files, .. } => ("conflict_seen", files.join(", ")),
            Input::RebaseDone { sha, .. } => ("rebase_done", sha.clone()),
            Input::WorkGone => ("work_gone", String::new()),
            Input::ChildLanded { sha, .. } => ("child_landed", sha.clone()),
            Input::Accepted => ("accepted", String::new()),
            Input::Resume { .. } => ("resume", String::new()),
            Input::Reset { .. } => ("reset", String::new()),
            Input::SessionBegun { pid, .. } => ("session_begun", format!("process {pid}")),
            Input::ConversationLost => ("conversation_lost", String::new()),
            Input::Reported(Report {
                signal: Signal::Asks { question, .. } | Signal::StillAsks { question }, ..
            }) => (ACTIVITY, question.clone()),
            Input::Reported(_) | Input::Limit(_) => (ACTIVITY, String::new()),
            Input::LimitOver => ("limit_over", String::new()),
            Input::SessionUp { pid, .. } => ("session_up", format!("process {pid}")),
            Input::Queued { reason } => ("queued", reason.clone().unwrap_or_else(|| "it waits no more".into())),
            Input::Exited { job: Some(end), .. } => ("exited", format!("job {end}")),
            Input::Exited { end: Session::Code(code), .. } => ("exited", format!("exit {code}")),
            Input::Exited { end: Session::Signal(signal), .. } => ("exited", format!("signal {signal}")),
            Input::Exited { .. } => ("exited", String::new()),
            Input::SessionGone => ("session_gone", String::new()),
            Input::Fault { reason } => ("fault", reason.to_string()),
            Input::Strayed { note: Some(note) } => ("strayed", note.to_string()),
            Input::Strayed { note: None } => ("strayed", "it is on its own branch, and can land".into()),
            Input::Mended { reason } => ("mended", reason.to_string()),
            Input::Doubt => ("doubt", String::new()),
            Input::Message { .. } => ("message", String::new()),
            Input::DayWithoutCrash => ("quiet", String::new()),
        }
    }
}

/// What must be done after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SideEffect {
    /// Type a text into the session.
    Deliver,
    /// Keep the reviewed commit under a ref.
    Pin(String),
    /// Delete that ref.
    Unpin,
    /// Keep the commit from before a rebase under a ref, until the task is over.
    Keep(String),
}

/// Applies an input to a worker's record. `now` is in seconds since 1970. Fails with exit 1 or 4 if the input is
/// refused.
pub fn apply(worker: &Worker, input: &Input, now: i64) -> Result<(Worker, Vec<SideEffect>)> {
    refuse_in_doubt(worker, input)?;
    refuse_over_question(worker, input.is_forced())?;
    refuse_while_limited(worker, input, now)?;
    refuse_while_queued(worker, input)?;
    let mut next = worker.clone();
    next.clamp(now);
    let mut step = MachineStep { before: worker, next, effects: Vec::new(), now };
    let s = &mut step;
    match input {
        Input::Start { prompt, base, is_shared, queued, .. } => {
            task::start(s, prompt, (base, *is_shared), queued.as_ref())?
        }
        Input::Commit { sha, onto } => task::commit(s, sha, onto.as_ref(), Note::CommittedAgain),
        Input::WorkChanged { sha, onto } => task::commit(s, sha, onto.as_ref(), Note::WorkChanged),
        Input::Checked(check) => task::checked(s, check),
        Input::CheckVoid => s.next.work.checks_void = s.next.work.checks_void.saturating_add(1),
        Input::Reviewed { sha, from, patch } => task::reviewed(s, (sha, from.as_ref()), patch)?,
        Input::Reject { base, patch, text, is_conflict, .. } => task::reject(s, (base, patch), text, *is_conflict)?,
        Input::ChildLanded { sha, patch } => task::child_landed(s, sha, patch),
        Input::Accepted => task::accepted(s),
        Input::Reset { .. } => task::reset(s),
        Input::Rebased { sha, patch, onto } => rebase::moved(s, sha, patch, onto.as_ref()),
        Input::Conflict { pre_sha, base, files, .. } => rebase::conflict(s, pre_sha, base, files),
        Input::ConflictSeen { branch, base, files } => rebase::conflict_seen(s, branch, base, files),
        Input::RebaseDone { sha, markers } => rebase::done(s, sha, markers),
        Input::WorkGone => rebase::work_gone(s),
        Input::Typing { .. } => delivery::typing(s),
        Input::Restarting { head, job } => {
            s.next.program.job.clone_from(job);
            s.set_activity(Activity::Unknown, None);
            s.next.pending_send.iter_mut().for_each(|pending| pending.is_passed = true);
            s.next.program.begun_unix = Some(now);
            s.next.program.limit.iter_mut().for_each(|limit| limit.since_unix = limit.since_unix.min(now - 1));
            // What the hooks of an ending program commit, as a ledger's do, is no work on the pending text.
            if let (Some(head), Task::Working | Task::Rejected) = (head, &worker.task) {
                s.next.work.baseline_sha = Some(head.clone());
            }
        }
        Input::Sent => delivery::sent(s),
        Input::NotSent { back } => delivery::take_back(s, back),
        Input::Resume { is_continued, force } => delivery::resume(s, *is_continued, *force)?,
        Input::Message { force } => delivery::message(s, *force)?,
        Input::Doubt => delivery::doubt(s),
        Input::Reported(report) => activity::reported(s, report),
        Input::Limit(limit) => activity::limit(s, limit.as_ref()),
        Input::LimitOver => activity::limit_over(s),
        Input::SessionBegun { pane, pid, job, is_continued } => {
            liveness::session_begun(s, (pane, *pid), job.as_ref(), *is_continued)
        }
        Input::Queued { reason } => liveness::queued(s, reason.as_ref()),
        Input::SessionUp { pane, pid } => liveness::session_up(s, pane, *pid),
        Input::Exited { pane, end, is_ok, job } => liveness::exited(s, pane, (*end, *job), *is_ok),
        Input::SessionGone => liveness::session_gone(s),
        Input::ConversationLost => s.next.work.conversation = None,
        Input::Fault { reason } => s.next.program.fault = Some(reason.clone()),
        Input::Mended { reason } => drop(s.next.program.fault.take_if(|fault| fault == reason)),
        Input::Strayed { note } => liveness::strayed(s, note.as_ref()),
        Input::DayWithoutCrash => liveness::day_without_crash(s),
    }
    Ok(step.finish(input))
}

/// A worker's record while an input is applied.
struct MachineStep<'w> {
    before: &'w Worker,
    next: Worker,
    effects: Vec<SideEffect>,
    now: i64,
}

impl MachineStep<'_> {
    /// Whether a program runs that works.
    fn is_alive(&self) -> bool {
        self.before.program.session == Session::Up && self.before.program.fault.is_none()
    }

    /// Adds a note unless the record has it already.
    fn note(&mut self, note: Note) {
        if !self.next.notes.contains(&note) {
            self.next.notes.push(note);
        }
    }

    /// Sets the activity. Its time stays while it is the same.
    fn set_activity(&mut self, activity: Activity, question: Option<&str>) {
        let reported = &mut self.next.reported;
        reported.question_id = None;
        if reported.activity != activity || reported.activity_text.as_deref() != question {
            let activity_at = jiff::Timestamp::from_second(self.now).ok().map(time::render);
            let activity_text = question.map(str::to_owned);
            *reported = ReportedActivity { activity, activity_at, activity_text, question_id: None };
        }
    }

    /// Exit 4: no program is running that could get a text.
    fn refuse_dead(&self) -> Failure {
        let name = &self.before.name;
        let why = format!("nothing was typed to {name}: it is {}", self.before.status());
        failure::NOT_DELIVERED.failure(why).hint(format!("start its session first: `worker-ctl up {name}`"))
    }

    /// Exit 4: the program runs, but shows something other than its input line.
    fn refuse_unready(&self) -> Failure {
        let name = &self.before.name;
        let why = format!("nothing was given to {name}: its program does not take input yet");
        failure::NOT_DELIVERED
            .failure(why)
            .hint(format!("answer what it asks with `worker-ctl attach {name}`, then run `worker-ctl up {name}`"))
    }

    /// Exit 1: the worker must be up first.
    fn refuse_down(&self) -> Failure {
        let name = &self.before.name;
        failure::WRONG_STATE
            .failure(format!("{name} is {}", self.before.status()))
            .hint(format!("start its session first: `worker-ctl up {name}`"))
    }

    /// Does what every step must do at its end.
    fn finish(mut self, input: &Input) -> (Worker, Vec<SideEffect>) {
        if self.next.task != self.before.task && matches!(self.next.task, Task::NeedsReview) {
            // A commit for review shows that the program knew its task.
            self.next.notes.retain(|note| !note.is_of_restart());
        }
        let has_same_work = self.next.work.commit_sha == self.before.work.commit_sha;
        if self.next.task != Task::NeedsReview || !has_same_work {
            self.next.notes.retain(|note| !matches!(note, Note::Conflicts { .. }));
        }
        match self.next.task {
            Task::NeedsReview => drop(self.next.work.review_since_unix.get_or_insert(self.now)),
            Task::Rebasing { .. } => {}
            Task::Idle | Task::Working | Task::Rejected => self.next.work.review_since_unix = None,
        }
        let is_untold = self.next.notes.iter().any(|note| matches!(note, Note::TaskUnknown(_)));
        if self.next.reported.activity == Activity::Fresh && !is_untold {
            self.set_activity(Activity::Unknown, None);
        }
        let MachineStep { before, mut next, effects, now } = self;
        // A delivery that failed does not count as activity.
        if next != *before && !matches!(input, Input::DayWithoutCrash | Input::NotSent { .. }) {
            next.last_activity_unix = now;
            if next.task != before.task {
                next.task_since_unix = now;
            }
        }
        (next, effects)
    }
}

/// Refuses with exit 1 while a text may be in the worker's input line, unless a person overrules this. While one may not
/// have arrived, this refuses all that do not give it again, because none would tell of it any more.
fn refuse_in_doubt(worker: &Worker, input: &Input) -> Result<()> {
    let name = &worker.name;
    if input.is_forced() || matches!(input, Input::Typing { .. }) {
        return Ok(());
    }
    if !worker.program.is_in_doubt {
        let untold = worker.untold().filter(|_| !matches!(input, Input::Resume { is_continued: false, .. }));
        let Some((why, hint)) = untold else { return Ok(()) };
        let refused = failure::IN_DOUBT.failure(format!("{name}: {why}"));
        return Err(refused.hint(hint).hint("if it is there, the next text goes with `--force`"));
    }
    Err(failure::IN_DOUBT
        .failure(format!("a text may be in the input line of {name}"))
        .hint(format!(
            "look at the line with `worker-ctl peek {name}`, and submit or clear it with `worker-ctl attach {name}`"
        ))
        .hint(match worker.task {
            Task::Idle => "then the next text goes with `--force`".to_owned(),
            _ => format!(
                "do not give a text again that has arrived; give another one with `--force`, and a task that is not there \
                 with `worker-ctl start --resume {name} --force`"
            ),
        }))
}

/// Refuses with exit 1 while the program shows a question, unless a person overrules this: the text would answer it.
pub fn refuse_over_question(worker: &Worker, is_forced: bool) -> Result<()> {
    if worker.reported.activity != Activity::Asks || is_forced {
        return Ok(());
    }
    let question =
        worker.reported.activity_text.as_deref().map(|text| format!(": {}", printable(text))).unwrap_or_default();
    Err(over_question(&worker.name, &format!("it asks a question{question}")))
}

/// Refuses with exit 1 what would be typed to a program that has hit a usage limit, unless a person overrules this: it would
/// be lost, or answer a menu about the limit. A limit of which nobody knows when it ends stops no `resume`.
pub fn refuse_while_limited(worker: &Worker, input: &Input, now: i64) -> Result<()> {
    let Some(limit) = worker.program.limit.as_ref().filter(|limit| limit.holds(now) && !input.is_forced()) else {
        return Ok(());
    };
    if limit.until_unix.is_none() && matches!(input, Input::Resume { .. } | Input::Typing { .. }) {
        return Ok(());
    }
    let name = &worker.name;
    let refused = failure::OCCUPIED
        .failure(format!("nothing was typed to {name}: it has hit a usage limit{}", until(limit, now)));
    Err(match limit.until_unix {
        Some(_) => refused.hint("a running `up` lets it go on then; type all the same with `--force`"),
        None => {
            refused.hint(format!("`worker-ctl resume {name}` tries whether it holds still; or type with `--force`"))
        }
    })
}

/// Refuses with exit 1 what would be typed to a program whose job waits, also if a person insists: the terminal would keep it,
/// and lose it.
fn refuse_while_queued(worker: &Worker, input: &Input) -> Result<()> {
    let is_text = matches!(
        input,
        Input::Start { .. }
            | Input::Reject { .. }
            | Input::Resume { .. }
            | Input::Conflict { .. }
            | Input::Typing { .. }
            | Input::Message { .. }
    );
    match worker.program.job_waits_for.as_ref().filter(|_| is_text) {
        Some(reason) => Err(waits_in_queue(&worker.name, reason)),
        None => Ok(()),
    }
}

/// The failure of a command for a program whose job waits.
pub fn waits_in_queue(name: &str, reason: &str) -> Failure {
    failure::QUEUED
        .failure(format!("the job of {name} waits: {reason}"))
        .hint("a running `up` goes on when it runs; `worker-ctl start --queue` keeps a task until then")
}

/// When a usage limit ends, as a person reads it.
pub fn until(limit: &UsageLimit, now: i64) -> String {
    let times = limit.until_unix.and_then(|until| Some((jiff::Timestamp::from_second(until).ok()?, now)));
    let [until, now] = match times.and_then(|(until, now)| Some([until, jiff::Timestamp::from_second(now).ok()?])) {
        Some(times) => times,
        None => return String::new(),
    };
    format!(" until {}", time::local_minute(until, now))
}

/// What somebody is told whose text was not typed, because the program waits for an answer.
pub fn over_question(name: &str, why: &str) -> Failure {
    failure::OCCUPIED.failure(format!("nothing was typed to {name}: {why}")).hint(format!(
        "answer with `worker-ctl answer {name}` or `worker-ctl attach {name}`, or type anyway with `--force`"
    ))
}
