//! Tests of the whole table, and of what holds for every sequence of inputs.

use proptest::prelude::*;

use super::*;
use crate::check_record::CheckRecord;
use crate::hook_report::{Report, Signal};
use crate::session_file::UsageLimit;
use crate::task_queue::QueuedTask;
use crate::worker::{Activity, PendingSend, Session, Task, TaskBeforeRebase, Worker};
use crate::worker_notes::{Fault, Note};

fn tasks() -> Vec<Task> {
    let rebasing = |from| Task::Rebasing { from, pre_sha: "pre".into() };
    let mut all = vec![Task::Idle, Task::Working, Task::NeedsReview, Task::Rejected];
    all.extend([TaskBeforeRebase::Working, TaskBeforeRebase::NeedsReview, TaskBeforeRebase::Rejected].map(rebasing));
    all
}

fn worker(task: &Task, session: Session, fault: bool, reviewed: bool) -> Worker {
    let mut worker = Worker::new("adam", "claude", "/w", "worker/adam", 0);
    worker.task = task.clone();
    worker.program.session = session;
    worker.program.fault = fault.then_some(Fault::Exit(7));
    if *task != Task::Idle {
        worker.work.prompt = Some("p".into());
        worker.work.baseline_sha = Some("base".into());
    }
    if *task == Task::NeedsReview {
        worker.work.commit_sha = Some("c1".into());
        worker.work.reviewed_sha = reviewed.then(|| "c1".to_owned());
    }
    worker
}

fn inputs() -> Vec<Input> {
    let back = Worker::new("adam", "claude", "/w", "worker/adam", 0);
    let text = |s: &str| s.to_owned();
    vec![
        Input::Start { prompt: text("p"), base: text("base"), is_shared: false, force: false, queued: None },
        Input::Sent,
        Input::Typing { force: false },
        Input::NotSent { back: Box::new(back) },
        Input::Commit { sha: text("c2"), onto: None },
        Input::Reviewed { sha: text("c1"), from: Some(text("b1")), patch: text("q") },
        reject(),
        Input::Rebased { sha: text("c3"), patch: text("q"), onto: Some(text("b3")) },
        Input::WorkChanged { sha: text("c6"), onto: None },
        Input::Conflict { pre_sha: text("c1"), base: text("b2"), files: vec![text("f")], force: false },
        Input::ConflictSeen { branch: text("main"), base: text("b2"), files: vec![text("f")] },
        Input::RebaseDone { sha: text("pre"), markers: vec![] },
        Input::RebaseDone { sha: text("c4"), markers: vec![text("f")] },
        Input::WorkGone,
        Input::ChildLanded { sha: text("c5"), patch: text("q") },
        Input::Accepted,
        Input::Reset { requeue: false },
        Input::SessionBegun { pane: text("%1"), pid: 7, job: None, is_continued: false },
        Input::SessionUp { pane: text("%1"), pid: 7 },
        Input::Exited { pane: text("%1"), end: Session::Code(7), is_ok: false, job: None },
        Input::Queued { reason: Some(text("Resources")) },
        Input::Exited { pane: text("%2"), end: Session::Code(0), is_ok: true, job: None },
        Input::SessionGone,
        Input::Fault { reason: Fault::WorktreeMissing },
        Input::Message { force: false },
        Input::Message { force: true },
        Input::DayWithoutCrash,
        Input::Resume { is_continued: false, force: false },
        Input::Resume { is_continued: true, force: false },
        Input::Mended { reason: Fault::WorktreeMissing },
        Input::Doubt,
        Input::Restarting { head: Some("h".into()), job: None },
        Input::ConversationLost,
        reported(Signal::Began { is_continued: false }),
        reported(Signal::Prompted),
        reported(Signal::Works { tool_use: None }),
        asks(Some("t1")),
        reported(Signal::Rests),
        reported(Signal::StillRests),
        reported(Signal::Limited),
        Input::Limit(Some(UsageLimit { since_unix: 1, until_unix: Some(9), kind: Some(text("weekly")) })),
        Input::Limit(None),
        Input::LimitOver,
        Input::Checked(CheckRecord { sha: text("c1"), ok: true, ..CheckRecord::default() }),
        Input::Checked(CheckRecord { sha: text("c1"), ok: false, ..CheckRecord::default() }),
        Input::CheckVoid,
    ]
}

fn reject() -> Input {
    Input::Reject { base: "c1".into(), patch: "q".into(), text: "m".into(), is_conflict: false, force: false }
}

fn reported(signal: Signal) -> Input {
    Input::Reported(Report { signal, conversation: Some("c1".into()), text: None, session_file: None })
}

fn asks(tool_use: Option<&str>) -> Input {
    reported(Signal::Asks { question: "Bash: ls".into(), tool_use: tool_use.map(str::to_owned) })
}

fn is_liveness(input: &Input) -> bool {
    matches!(
        input,
        Input::SessionBegun { .. }
            | Input::SessionUp { .. }
            | Input::Queued { .. }
            | Input::Exited { .. }
            | Input::SessionGone
            | Input::Fault { .. }
            | Input::Mended { .. }
            | Input::Doubt
            | Input::Restarting { .. }
            | Input::ConversationLost
            | Input::Reported(_)
            | Input::Limit(_)
            | Input::LimitOver
            | Input::DayWithoutCrash
    )
}

/// The result of every input in every state: `refused`, `-` when the task stays the same, or the new state of the task,
/// followed by the effects.
fn table() -> Vec<String> {
    let cell = |task: &Task, input: &Input| {
        let before = worker(task, Session::Up, false, *task == Task::NeedsReview);
        match apply(&before, input, 5) {
            Err(_) => "refused".to_owned(),
            Ok((after, actions)) => {
                let mut words = vec![if after.task == *task { "-" } else { after.task.word() }];
                words.extend(actions.iter().map(|action| match action {
                    SideEffect::Deliver => "deliver",
                    SideEffect::Pin(_) => "pin",
                    SideEffect::Unpin => "unpin",
                    SideEffect::Keep(_) => "keep",
                }));
                words.join("+")
            }
        }
    };
    let rebasing = |from| Task::Rebasing { from, pre_sha: "pre".into() };
    let tasks = [
        Task::Idle,
        Task::Working,
        Task::NeedsReview,
        Task::Rejected,
        rebasing(TaskBeforeRebase::Working),
        rebasing(TaskBeforeRebase::NeedsReview),
        rebasing(TaskBeforeRebase::Rejected),
    ];
    let row = |input: &Input| {
        let cells: Vec<String> = tasks.iter().map(|task| cell(task, input)).collect();
        format!("{:14} {}", input.describe().0, cells.join(" "))
    };
    inputs().iter().map(row).collect()
}

/// The columns are idle, working, needs_review, rejected, and rebasing from each of the last three.
const TABLE: [&str; 46] = [
    "start          working+deliver refused refused refused refused refused refused",
    "sent           - - - - - - -",
    "typing         - - - - - - -",
    "not_sent       - idle idle idle idle idle idle",
    "commit         - needs_review+unpin -+unpin needs_review+unpin - - -",
    "reviewed       refused refused -+pin refused refused refused refused",
    "reject         refused refused rejected+deliver+unpin refused refused refused refused",
    "rebased        - - -+pin - - - -",
    "rebased        - needs_review+unpin -+unpin needs_review+unpin - - -",
    "conflict       - rebasing+deliver+keep rebasing+deliver+keep rebasing+deliver+keep - - -",
    "conflict_seen  - - - - - - -",
    "rebase_done    - - - - working needs_review rejected",
    "rebase_done    - - - - working needs_review+unpin needs_review+unpin",
    "work_gone      - - - - working needs_review rejected",
    "child_landed   needs_review+unpin - -+unpin - - - -",
    "accepted       - - idle+unpin - - - -",
    "reset          -+unpin idle+unpin idle+unpin idle+unpin idle+unpin idle+unpin idle+unpin",
    "session_begun  - - - - - - -",
    "session_up     - - - - - - -",
    "exited         - - - - - - -",
    "queued         - - - - - - -",
    "exited         - - - - - - -",
    "session_gone   - - - - - - -",
    "fault          - - - - - - -",
    "message        refused -+deliver -+deliver -+deliver -+deliver -+deliver -+deliver",
    "message        -+deliver -+deliver -+deliver -+deliver -+deliver -+deliver -+deliver",
    "quiet          - - - - - - -",
    "resume         refused -+deliver -+deliver -+deliver -+deliver -+deliver -+deliver",
    "resume         refused -+deliver -+deliver -+deliver -+deliver -+deliver -+deliver",
    "mended         - - - - - - -",
    "doubt          - - - - - - -",
    "restarting     - - - - - - -",
    "conversation_lost - - - - - - -",
    "activity       - - - - - - -",
    "activity       - - - - - - -",
    "activity       - - - - - - -",
    "activity       - - - - - - -",
    "activity       - - - - - - -",
    "activity       - - - - - - -",
    "activity       - - - - - - -",
    "activity       - - - - - - -",
    "activity       - - - - - - -",
    "limit_over     - - - - - - -",
    "checked        - - - - - - -",
    "checked        - - -+unpin - - - -",
    "check_void     - - - - - - -",
];

#[test]
fn the_table_is_as_designed() {
    assert_eq!(table(), TABLE);
}

#[test]
fn every_input_in_every_state_keeps_the_record_valid_and_liveness_keeps_the_task() {
    let sessions = [Session::Up, Session::Down, Session::Code(7), Session::Signal(9)];
    let mut walked = 0;
    for task in tasks() {
        for session in sessions {
            for (fault, reviewed, special) in cases() {
                let before = special_worker(worker(&task, session, fault, reviewed), special);
                before.check().unwrap();
                for input in inputs() {
                    walked += 1;
                    let Ok((after, actions)) = apply(&before, &input, 5) else { continue };
                    assert_eq!(after.check(), Ok(()), "{before:?} {input:?}");
                    let delivers = actions.iter().filter(|action| **action == SideEffect::Deliver).count();
                    assert!(delivers <= 1, "{input:?}");
                    // A task of the queue that no program has seen goes back.
                    let is_unseen = special == "queued" && task != Task::Idle && input == Input::Doubt;
                    if is_liveness(&input) && !is_unseen {
                        assert_eq!(after.task, before.task, "{input:?}");
                        assert_eq!(after.work.prompt, before.work.prompt);
                    }
                    let became_idle = after.task == Task::Idle && before.task != Task::Idle;
                    let may = matches!(input, Input::Accepted | Input::Reset { .. } | Input::NotSent { .. });
                    assert!(!became_idle || may || is_unseen, "{before:?} {input:?}");
                }
            }
        }
    }
    assert_eq!(walked, 7 * 4 * 4 * 3 * 46);
}

/// With and without a fault and a review, and each with a usage limit or with a task of the queue that is on its way.
fn cases() -> impl Iterator<Item = (bool, bool, &'static str)> {
    let plain = [(false, false), (false, true), (true, false), (true, true)];
    plain.into_iter().flat_map(|(fault, reviewed)| ["", "limited", "queued"].map(|special| (fault, reviewed, special)))
}

fn special_worker(mut worker: Worker, special: &str) -> Worker {
    match special {
        "limited" => worker.program.limit = Some(UsageLimit { since_unix: 1, until_unix: Some(9), kind: None }),
        "queued" if worker.task != Task::Idle => {
            worker.work.queued = Some(QueuedTask { id: "t1".into(), tries: 1, ..QueuedTask::default() });
            worker.pending_send = Some(PendingSend { is_first: true, ..PendingSend::new("start", 1) });
        }
        _ => {}
    }
    worker
}

#[test]
fn nothing_is_typed_to_a_program_whose_job_waits_and_its_end_ends_that() {
    let mut before = worker(&Task::NeedsReview, Session::Up, true, false);
    before = apply(&before, &Input::Queued { reason: Some("Resources".into()) }, 5).unwrap().0;
    assert_eq!((before.status(), &before.program.fault), ("queued", &None));
    for input in inputs().iter().filter(|input| !input.is_forced()) {
        assert_eq!(apply(&before, input, 5).unwrap_err().kind, "queued", "{input:?}");
    }
    assert_eq!(apply(&before, &Input::Message { force: true }, 5).unwrap_err().kind, "queued");
    let exited = Input::Exited { pane: "%1".into(), end: Session::Code(1), is_ok: false, job: Some("cancelled") };
    let after = apply(&before, &exited, 5).unwrap().0;
    assert_eq!((after.status(), after.program.fault), ("error", Some(Fault::Job("cancelled".into()))));
}

#[test]
fn a_red_check_unpins_the_work_that_was_checked_and_no_later_one() {
    let reviewed = worker(&Task::NeedsReview, Session::Up, false, true);
    let checked = |sha: &str| Input::Checked(CheckRecord { sha: sha.into(), ok: false, ..CheckRecord::default() });
    let (old, effects) = apply(&reviewed, &checked("c0"), 5).unwrap();
    assert_eq!(
        (old.work.reviewed_sha, old.work.checks_red, old.work.check, effects),
        (Some("c1".into()), 0, None, vec![])
    );
    let (red, effects) = apply(&reviewed, &checked("c1"), 5).unwrap();
    assert_eq!((red.work.reviewed_sha, red.work.checks_red, effects), (None, 1, vec![SideEffect::Unpin]));
}

#[test]
fn nothing_is_typed_to_a_limited_program_unless_a_person_says_so() {
    let limited = special_worker(worker(&Task::Working, Session::Up, false, false), "limited");
    let at = |input: &Input, now| apply(&limited, input, now).map_err(|failure| failure.kind);
    for input in [
        Input::Message { force: false },
        Input::Typing { force: false },
        Input::Resume { is_continued: true, force: false },
    ] {
        assert_eq!(at(&input, 5).unwrap_err(), "occupied");
        assert!(at(&input, 9).is_ok(), "it is over");
    }
    assert!(at(&Input::Message { force: true }, 5).is_ok());
    let told = |signal| apply(&limited, &reported(signal), 5).unwrap().0.activity();
    // A report counts only of a program that was started here.
    assert_eq!(told(Signal::Prompted), Activity::Limited);
    let mut begun = limited.clone();
    begun.program.pane_id = Some("%1".into());
    let told = |signal| apply(&begun, &reported(signal), 5).unwrap().0.activity();
    assert_eq!((told(Signal::Prompted), told(Signal::StillRests)), (Activity::Busy, Activity::Limited));
    let (over, _) = apply(&begun, &Input::LimitOver, 5).unwrap();
    assert_eq!((over.activity(), &over.notes[..]), (Activity::Unknown, &[Note::LimitOver("adam".into())][..]));
}

#[test]
fn a_task_runs_from_start_to_acceptance() {
    let idle = worker(&Task::Idle, Session::Up, false, false);
    let step = |worker: &Worker, input: Input| apply(worker, &input, 9).unwrap();
    let (working, actions) = step(
        &idle,
        Input::Start { prompt: "p".into(), base: "b".into(), is_shared: false, force: false, queued: None },
    );
    assert_eq!((working.status(), actions), ("working", vec![SideEffect::Deliver]));
    let (working, _) = step(&working, Input::Sent);
    let (done, actions) = step(&working, Input::Commit { sha: "c1".into(), onto: None });
    assert_eq!((done.status(), actions.last()), ("needs_review", Some(&SideEffect::Unpin)));
    assert_eq!(apply(&done, &reject(), 9).unwrap_err().exit.code(), 1);
    let (seen, actions) = step(&done, Input::Reviewed { sha: "c1".into(), from: None, patch: "q".into() });
    assert_eq!(actions, [SideEffect::Pin("c1".into())]);
    let (rejected, _) = step(&seen, reject());
    assert_eq!(rejected.status(), "rejected");
    let (again, _) = step(&rejected, Input::Commit { sha: "c2".into(), onto: None });
    assert_eq!((again.status(), again.work.reviewed_sha.clone()), ("needs_review", None));
    assert_eq!(again.work.reviewed_patch, None);
    // A commit after a review is not reviewed.
    let (seen, _) = step(&again, Input::Reviewed { sha: "c2".into(), from: None, patch: "r".into() });
    let (later, actions) = step(&seen, Input::Commit { sha: "c3".into(), onto: None });
    assert_eq!((later.work.reviewed_sha, later.work.reviewed_patch), (None, Some("r".into())));
    assert_eq!(actions, [SideEffect::Unpin]);
    let (idle, _) = step(&again, Input::Accepted);
    assert_eq!((idle.status(), idle.work.prompt), ("idle", None));
    // That a task has landed says nothing about what was typed after it.
    let noted = |purpose: &str| Worker { notes: vec![Note::Unsubmitted(purpose.into())], ..again.clone() };
    let left = |purpose: &str| step(&noted(purpose), Input::Accepted).0.notes.len();
    assert_eq!((left("start"), left("reject"), left("message")), (0, 1, 1));
}

#[test]
fn a_question_lasts_until_the_program_goes_on_and_nothing_is_typed_over_it() {
    let step = |worker: &Worker, input: &Input| apply(worker, input, 9).unwrap().0;
    let up = |worker: &Worker, is_continued| {
        let worker = step(worker, &Input::SessionBegun { pane: "%1".into(), pid: 7, job: None, is_continued });
        step(&worker, &Input::SessionUp { pane: "%1".into(), pid: 7 })
    };
    let works = |id: &str| reported(Signal::Works { tool_use: Some(id.to_owned()) });
    let worker = worker(&Task::Working, Session::Down, false, false);
    // No session, so a late hook tells of a program that is gone.
    assert_eq!(step(&worker, &asks(None)), worker);
    let fresh = up(&worker, false);
    assert_eq!((fresh.reported.activity, fresh.reported.activity_at.is_some()), (Activity::Fresh, true));
    assert_eq!(step(&fresh, &reported(Signal::Began { is_continued: false })).reported.activity, Activity::Fresh);
    assert_eq!(step(&fresh, &reported(Signal::Began { is_continued: true })).reported.activity, Activity::Rests);
    // Of a program that continues or was started with its text, its hooks tell.
    let known = up(&worker, true);
    assert_eq!(
        (known.reported.activity, known.notes.clone()),
        (Activity::Unknown, vec![Note::Restarted("adam".into())])
    );
    assert_eq!(step(&known, &reported(Signal::Began { is_continued: false })).reported.activity, Activity::Unknown);
    let asking = step(&known, &asks(Some("t1")));
    assert_eq!(
        (asking.reported.activity, asking.reported.activity_text.as_deref()),
        (Activity::Asks, Some("Bash: ls"))
    );
    assert_eq!(asking.work.conversation.as_deref(), Some("c1"));
    let refused = apply(&asking, &Input::Message { force: false }, 9).unwrap_err();
    assert_eq!((refused.exit.code(), refused.kind), (1, failure::OCCUPIED.word));
    assert!(apply(&asking, &Input::Message { force: true }, 9).is_ok());
    assert_eq!(apply(&asking, &Input::Typing { force: false }, 9).unwrap_err().kind, failure::OCCUPIED.word);
    // Another question takes the place of the first one.
    let next = reported(Signal::Asks { question: "Bash: rm".into(), tool_use: None });
    assert_eq!(step(&asking, &next).reported.activity_text.as_deref(), Some("Bash: rm"));
    // A person who clears the context takes the task from it; our own command before a text does not.
    let cleared = step(&step(&known, &reported(Signal::Rests)), &reported(Signal::Cleared));
    assert_eq!((cleared.reported.activity, cleared.work.conversation, cleared.notes.len()), (Activity::Fresh, None, 1));
    assert_eq!(step(&known, &reported(Signal::Cleared)), known);
    // A program that has ended asks nothing.
    let ended = step(&known, &Input::Exited { pane: "%1".into(), end: Session::Signal(9), is_ok: false, job: None });
    assert_eq!(step(&ended, &asks(None)), ended);
    // Another tool goes on, the program repeats itself.
    let still = Signal::StillAsks { question: "Bash".into() };
    for input in [works("t2"), reported(still)] {
        assert_eq!(step(&asking, &input), asking, "{input:?}");
    }
    for (input, activity) in [
        (works("t1"), Activity::Busy),
        (reported(Signal::Works { tool_use: None }), Activity::Busy),
        (reported(Signal::Prompted), Activity::Busy),
        (reported(Signal::Rests), Activity::Rests),
        (reported(Signal::Limited), Activity::Busy),
        (Input::SessionGone, Activity::Unknown),
        (Input::Exited { pane: "%1".into(), end: Session::Code(0), is_ok: true, job: None }, Activity::Unknown),
    ] {
        let after = step(&asking, &input);
        assert_eq!((after.reported.activity, after.reported.activity_text), (activity, None), "{input:?}");
    }
    // A text that did not arrive changes nothing that a hook told meanwhile.
    let sending = step(&known, &Input::Message { force: false });
    let told = step(&sending, &asks(None));
    assert_eq!(step(&told, &Input::NotSent { back: Box::new(known) }).reported.activity, Activity::Asks);
    // A commit for review shows that it knew its task.
    let done = step(&fresh, &Input::Commit { sha: "c9".into(), onto: None });
    assert_eq!((done.reported.activity, done.notes), (Activity::Unknown, vec![]));
    assert!(!fresh.notes.is_empty() && matches!(fresh.notes[0], Note::TaskUnknown(_)));
}

proptest! {
    /// Any sequence keeps the record valid and counts each crash once.
    #[test]
    fn no_sequence_breaks_a_record(picks in proptest::collection::vec(0..33usize, 0..60)) {
        let all = inputs();
        let mut now = worker(&Task::Idle, Session::Up, false, false);
        for pick in picks {
            if let Ok((next, _)) = apply(&now, &all[pick], 5) {
                prop_assert_eq!(next.check(), Ok(()));
                prop_assert!(next.program.crash_count <= now.program.crash_count + 1);
                if matches!(all[pick], Input::Exited { .. }) {
                    let twice = apply(&next, &all[pick], 5).unwrap().0;
                    prop_assert_eq!(twice.program.crash_count, next.program.crash_count);
                }
                now = next;
            }
        }
    }
}
