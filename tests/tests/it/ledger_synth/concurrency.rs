//! Several commands at work on one ledger at once.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::ledger::{CURRENT, EVENTS, ROOT, event, field, section, seed_event, synth, two_events};
use crate::support::sweep::rounds;
use crate::support::world::{World, wait_for};

#[test]
fn a_held_lock_is_waited_for_and_then_reported() {
    let w = World::new();
    let app = w.app();
    two_events(&app);
    synth(&app);
    event(&app, "c", "2026-01-12T00:00:00Z", "x", "now: three\n");
    let lock = app.sh("ls $PWD/.git/shopfloor/ledger-synth/*.synth.lock").exit(0).stdout.trim().to_owned();
    let held = std::fs::File::open(lock).unwrap();
    held.lock().unwrap();
    app.ledger(&["--check"]).exit(1).any_out().any_err();
    app.ledger(&["add", "--now", "x"]).succeeds();
    app.ledger(&["--no-confirm"]).exit(75).err_has("another process holds").err_has("hint: ");
    drop(held);
    app.ledger(&["--no-confirm"]).succeeds();
}

/// Case 14 of the design.
#[test]
fn synthesisers_and_writers_at_once_lose_nothing() {
    const WRITERS: usize = 8;
    let each = rounds(15, 200);
    let w = World::new();
    let app = w.app();
    seed_event(&app);
    synth(&app);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    // A look at a time: readers that spin would take a core from the writers.
                    while !done.load(Ordering::SeqCst) {
                        let mut looks = 0;
                        wait_for(|| {
                            let text = app.read(CURRENT);
                            assert!(text.starts_with("## Ledger\n") && text.ends_with("\n\n---\n"), "torn: {text}");
                            looks += 1;
                            looks == 50 || done.load(Ordering::SeqCst)
                        });
                    }
                })
            })
            .collect();
        let (app, stop) = (&app, &done);
        let synths: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(move || {
                    while !stop.load(Ordering::SeqCst) {
                        drop(app.ledger(&["--no-confirm"]).succeeds());
                    }
                })
            })
            .collect();
        let writers: Vec<_> = (0..WRITERS)
            .map(|n| {
                scope.spawn(move || {
                    let lines = format!(
                        "i=0; while [ $i -lt {each} ]; do ledger-synth add --agent w{n} --done \"w{n} did $i\" >/dev/null || exit 1; i=$((i+1)); done"
                    );
                    app.sh(&lines).exit(0);
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::SeqCst);
        synths.into_iter().chain(readers).for_each(|thread| thread.join().unwrap());
    });
    let text = synth(&app);
    assert_eq!(field(&text, "event_count"), (WRITERS * each + 1).to_string());
    assert_eq!(section(&text, "This Session").len(), WRITERS * each + 3);
    app.ledger(&["--check"]).succeeds();
    let left = app.sh("find . -name '.shopfloor-tmp-*' -o -name '*.tmp'").exit(0);
    assert_eq!(left.stdout, "");
}

/// A reader without the lock sees every event while events are folded and moved back.
#[test]
fn readers_see_every_event_while_others_archive() {
    let w = World::new();
    let app = w.app();
    for n in 0..150 {
        event(
            &app,
            &format!("e{n:03}"),
            "2026-01-10T00:00:00Z",
            &format!("w{n}"),
            &format!("this_session:\n- item {n}\n"),
        );
    }
    let whole = synth(&app);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (app, done, whole) = (&app, &done, &whole);
        let readers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(move || {
                    let mut seen = 0;
                    while !done.load(Ordering::SeqCst) {
                        assert_eq!(&app.ledger(&["--output", "-"]).exit(0).stdout, whole);
                        seen += 1;
                    }
                    seen
                })
            })
            .collect();
        for _ in 0..6 {
            app.ledger(&["archive"]).succeeds();
            app.sh(&format!("mv {ROOT}/archive/*/*.md {EVENTS}/ && rm {EVENTS}/snapshot_*")).exit(0);
        }
        done.store(true, Ordering::SeqCst);
        let seen: usize = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
        assert!(seen > 3, "{seen}");
    });
}
