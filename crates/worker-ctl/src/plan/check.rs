//! Decides about checks of work that waits for a review.

use crate::check_record::{CheckRecord, MOST_VOID};
use crate::worker::{Activity, Session, Task, Worker};

/// What is to be done about the check of a worker's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckStep {
    /// It is to be checked.
    Run,
    /// The worker is to be told that it failed.
    Tell,
}

/// The record of the commit that waits for a review.
pub fn record(worker: &Worker) -> Option<&CheckRecord> {
    worker.work.check.as_ref().filter(|check| worker.work.commit_sha.as_ref() == Some(&check.sha))
}

/// The next step without a person, if there is one. A worker is told of `tries` failures in a task.
pub fn next(worker: &Worker, tries: u64) -> Option<CheckStep> {
    match record(worker) {
        _ if worker.task != Task::NeedsReview || worker.pending_send.is_some() => None,
        None => (worker.work.checks_void < MOST_VOID).then_some(CheckStep::Run),
        Some(CheckRecord { ok: false, told: false, .. }) if is_told(worker, tries) => Some(CheckStep::Tell),
        Some(_) => None,
    }
}

/// Whether work that waits for a review is none for a person yet: it is to be checked, or its worker mends what failed. That
/// can only a program that is up, and that shows a sign from time to time.
pub fn keeps_person_away(worker: &Worker, tries: u64, is_silent: bool) -> bool {
    let is_up = worker.program.session == Session::Up && worker.program.fault.is_none() && !worker.program.is_in_doubt;
    let is_red = record(worker).is_some_and(|check| !check.ok) && is_told(worker, tries);
    let rests = matches!(worker.activity(), Activity::Rests | Activity::Limited) || is_silent;
    next(worker, tries) == Some(CheckStep::Run) || is_red && is_up && !rests
}

fn is_told(worker: &Worker, tries: u64) -> bool {
    u64::from(worker.work.checks_red) <= tries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_spared_until_the_check_is_green_or_mending_failed() {
        let mut worker = Worker::new("adam", "claude", "/w", "b", 0);
        worker.program.session = Session::Up;
        assert_eq!((next(&worker, 2), keeps_person_away(&worker, 2, false)), (None, false));
        worker.task = Task::NeedsReview;
        worker.work.commit_sha = Some("c1".into());
        assert_eq!((next(&worker, 2), keeps_person_away(&worker, 2, false)), (Some(CheckStep::Run), true));
        worker.work.check = Some(CheckRecord { sha: "c1".into(), ..CheckRecord::default() });
        worker.work.checks_red = 2;
        assert_eq!((next(&worker, 2), keeps_person_away(&worker, 2, false)), (Some(CheckStep::Tell), true));
        worker.work.check.as_mut().unwrap().told = true;
        assert_eq!((next(&worker, 2), keeps_person_away(&worker, 2, false)), (None, true));
        assert!(!keeps_person_away(&worker, 2, true), "nobody hears of it");
        let down = Worker { program: Default::default(), ..worker.clone() };
        assert!(!keeps_person_away(&down, 2, false), "nobody mends it");
        worker.reported.activity = Activity::Rests;
        assert!(!keeps_person_away(&worker, 2, false), "it rests and has not mended it");
        assert_eq!((next(&worker, 1), keeps_person_away(&worker, 1, false)), (None, false));
        worker.work.commit_sha = Some("c2".into());
        assert_eq!(next(&worker, 2), Some(CheckStep::Run));
        worker.work.checks_void = MOST_VOID;
        assert_eq!((next(&worker, 2), keeps_person_away(&worker, 2, false)), (None, false));
    }
}
