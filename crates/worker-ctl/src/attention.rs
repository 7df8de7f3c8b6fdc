//! What a worker needs a person for.

use shopfloor_core::board::Need;
use shopfloor_core::fs;
use shopfloor_core::time::Unit;

use crate::context::Context;
use crate::layout;
use crate::note::Note;
use crate::worker::{Activity, Task, Worker};

/// What a worker needs a person for, by its record.
pub fn need(worker: &Worker) -> Option<Need> {
    match worker.reported.activity {
        Activity::Asks => Some(Need::Asks),
        _ if worker.program.fault.is_some() => Some(Need::Fault),
        // A review needs no session.
        _ if worker.task == Task::NeedsReview => Some(Need::Review),
        _ if !worker.has_open_task() || worker.status() == "offline" => None,
        Activity::Fresh => Some(Need::Fresh),
        _ if worker.notes.iter().any(|note| matches!(note, Note::Restarted(_))) => Some(Need::Resume),
        Activity::Rests => Some(Need::Rests),
        Activity::Busy | Activity::Unknown => None,
    }
}

/// The same, as it is now: a program that works shows a sign from time to time.
pub fn need_now(ctx: &Context<'_>, worker: &Worker) -> Option<Need> {
    need(worker).or_else(|| is_silent(ctx, worker).then_some(Need::Silent))
}

/// Whether a worker has a task, and its program has neither written to its terminal nor told anything for `silent_after`.
fn is_silent(ctx: &Context<'_>, worker: &Worker) -> bool {
    let is_at_work = worker.has_open_task() && worker.status() == worker.task.word() && worker.pending_send.is_none();
    if !is_at_work {
        return false;
    }
    let after = ctx.root.config.settings.duration("silent_after", Unit::Seconds).as_secs();
    // What the terminal shows is in the log.
    let wrote = fs::changed(&layout::worker_log(&ctx.root.path, &worker.name)).map_or(0, jiff::Timestamp::as_second);
    let last = wrote.max(worker.last_activity_unix).max(since(worker));
    after > 0 && ctx.now() - last >= i64::try_from(after).unwrap_or(i64::MAX)
}

/// When the worker came to be as it is, in seconds since 1970.
pub fn since(worker: &Worker) -> i64 {
    let Worker { program, reported, task_since_unix: since, .. } = worker;
    let counts = matches!(reported.activity, Activity::Asks | Activity::Rests | Activity::Fresh);
    let begun = reported.activity_at.as_ref().filter(|_| counts).and_then(|time| time.parse::<jiff::Timestamp>().ok());
    let crashed = program.last_crash_unix.filter(|_| program.fault.is_some());
    crashed.or(begun.map(jiff::Timestamp::as_second)).unwrap_or(*since).max(*since)
}
