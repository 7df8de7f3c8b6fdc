//! What a worker needs a person for.

use shopfloor_core::agents::SessionFile;
use shopfloor_core::board::Need;
use shopfloor_core::fs;
use shopfloor_core::time::Unit;

use crate::context::Context;
use crate::layout;
use crate::root::WorkerRoot;
use crate::session_file::UsageLimit;
use crate::up_lock;
use crate::worker::{Activity, Program, Session, Task, Worker};
use crate::worker_notes::Note;

/// What a worker needs a person for, by its record.
pub fn need(worker: &Worker) -> Option<Need> {
    match worker.activity() {
        // A question goes with its program.
        Activity::Asks if worker.program.pane_id.is_some() => Some(Need::Asks),
        _ if worker.program.fault.is_some() => Some(Need::Fault),
        _ if worker.notes.iter().any(|note| matches!(note, Note::ImportRefused(_))) => Some(Need::Fault),
        // A review needs no session.
        _ if worker.task == Task::NeedsReview => Some(Need::Review),
        _ if worker.notes.iter().any(Note::is_doubt) => Some(Need::InDoubt),
        _ if worker.has_open_task() && worker.notes.iter().any(Note::is_of_lost_branch) => Some(Need::Fault),
        _ if !worker.has_open_task() || ["offline", "queued"].contains(&worker.status()) => None,
        Activity::Fresh => Some(Need::Fresh),
        // A running `up` lets it go on then.
        _ if worker.program.limit.as_ref().is_some_and(|limit| limit.until_unix.is_some()) => None,
        _ if is_free_again(worker) => None,
        _ if worker.notes.iter().any(|note| matches!(note, Note::Restarted(_))) => Some(Need::Resume),
        Activity::Rests => Some(Need::Rests),
        Activity::Asks | Activity::Busy | Activity::Unknown | Activity::Limited => None,
    }
}

/// The same, as it is now: a program that works shows a sign from time to time, and some questions only its screen tells.
pub fn need_now(ctx: &Context<'_>, worker: &Worker) -> Option<Need> {
    let told = need_by_files(&ctx.root, ctx.now(), worker);
    let may_ask = matches!(told, None | Some(Need::Silent)) && worker.program.limit.is_none();
    let is_still = may_ask && silent_for(&ctx.root, ctx.now(), worker).is_some_and(|silent| silent >= MENU_AFTER);
    if is_still && ctx.question_on_screen(worker).is_some() { Some(Need::Asks) } else { told }
}

/// The same without a look at the screen, `now` in seconds since 1970.
pub fn need_by_files(root: &WorkerRoot, now: i64, worker: &Worker) -> Option<Need> {
    if let Some(need) = need(worker) {
        return Some(need);
    }
    // After a reboot nothing goes on by itself, and after a limit only where a running `up` says so.
    let has_up = || up_lock::is_running(&root.path).unwrap_or(false);
    let is_late = || now - worker.last_activity_unix > LATE;
    if is_cut_off(worker) && !has_up() || is_free_again(worker) && (is_late() || !has_up()) {
        return Some(Need::Resume);
    }
    if let Some(limit) = &worker.program.limit {
        // A while later than anybody goes on by himself, or than its end is still found.
        let late = ends(root, worker, limit).map_or(limit.since_unix + SOON, |end| end + LATE);
        return (now > late && worker.has_open_task()).then_some(Need::Limited);
    }
    let after = silent_after(root);
    let is_long = |silent: i64| after > 0 && silent >= after;
    silent_for(root, now, worker).is_some_and(is_long).then_some(Need::Silent)
}

/// After how many seconds without a sign a program needs a person; 0: never.
fn silent_after(root: &WorkerRoot) -> i64 {
    i64::try_from(root.config.settings.duration("silent_after", Unit::Seconds).as_secs()).unwrap_or(i64::MAX)
}

/// Whether a worker has a task, and its session is gone, though no person has ended it and nobody starts it now.
fn is_cut_off(worker: &Worker) -> bool {
    let Program { session, pane_id, is_stopped, .. } = &worker.program;
    let is_gone = worker.status() == "offline" && *session == Session::Down && pane_id.is_none();
    is_gone && !is_stopped && worker.has_open_task() && worker.pending_send.is_none()
}

/// Whether a program has a task, and has not been told yet that its usage limit is over.
fn is_free_again(worker: &Worker) -> bool {
    let is_over = worker.notes.iter().any(|note| matches!(note, Note::LimitOver(_)));
    is_over && worker.has_open_task() && !["offline", "queued"].contains(&worker.status())
}

/// For how many seconds after a usage limit was hit its end may still be told.
pub const SOON: i64 = 10;

/// How many seconds after its time a limited program counts as one that nobody lets go on.
const LATE: i64 = 120;

/// When a limited program is to be told to go on, if it does not go on by itself; none if nobody knows.
pub fn ends(root: &WorkerRoot, worker: &Worker, limit: &UsageLimit) -> Option<i64> {
    let is_same_session = worker.program.begun_unix.is_none_or(|begun| begun <= limit.since_unix);
    let goes_on_by_itself = is_same_session && root.session_file_of(worker) == SessionFile::Transcript;
    let retry = root.config.settings.duration("limit_retry", Unit::Seconds).as_secs();
    let retry = i64::try_from(retry).ok().filter(|retry| *retry > 0);
    limit.ends_for(&worker.name, goes_on_by_itself, retry)
}

/// A program that has written nothing for so many seconds is no more drawing what its menu is.
const MENU_AFTER: i64 = 2;

/// For how many seconds the program of a worker that has a task has neither written to its terminal nor told anything.
fn silent_for(root: &WorkerRoot, now: i64, worker: &Worker) -> Option<i64> {
    let is_at_work = worker.has_open_task() && worker.status() == worker.task.word() && worker.pending_send.is_none();
    is_at_work.then(|| quiet_for(root, now, worker))
}

/// For how many seconds the program of a worker has neither written to its terminal nor told anything.
pub fn quiet_for(root: &WorkerRoot, now: i64, worker: &Worker) -> i64 {
    now - last_sign(root, worker)
}

/// When it did so last, in seconds since 1970.
fn last_sign(root: &WorkerRoot, worker: &Worker) -> i64 {
    // What the terminal shows is in the log.
    let wrote = fs::changed(&layout::worker_log(&root.path, &worker.name)).map_or(0, jiff::Timestamp::as_second);
    wrote.max(worker.last_activity_unix).max(since(worker))
}

/// When the worker came to need a person for this, or to be as it is, in seconds since 1970.
pub fn needed_since(root: &WorkerRoot, worker: &Worker, need: Option<Need>) -> i64 {
    match need {
        Some(Need::Silent) => last_sign(root, worker).saturating_add(silent_after(root)),
        // Of a question that only its screen tells, it has written nothing more.
        Some(Need::Asks) if worker.activity() != Activity::Asks => last_sign(root, worker),
        // Whatever its program does meanwhile.
        Some(Need::Review) => worker.place_in_line().0,
        _ => since(worker),
    }
}

/// When the worker came to be as it is.
fn since(worker: &Worker) -> i64 {
    let Worker { program, reported, task_since_unix: since, .. } = worker;
    let counts = matches!(reported.activity, Activity::Asks | Activity::Rests | Activity::Fresh);
    let begun = reported.activity_at.as_ref().filter(|_| counts).and_then(|time| time.parse::<jiff::Timestamp>().ok());
    let crashed = program.last_crash_unix.filter(|_| program.fault.is_some());
    crashed.or(begun.map(jiff::Timestamp::as_second)).unwrap_or(*since).max(*since)
}
