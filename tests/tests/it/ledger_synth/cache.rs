//! The cache of parsed events.

use crate::support::ledger::{CURRENT, EVENTS, event, synth};
use crate::support::world::World;

#[test]
fn a_damaged_cache_changes_nothing() {
    let w = World::new();
    let app = w.app();
    for n in 0..20 {
        event(
            &app,
            &format!("e{n}"),
            &format!("2026-01-{:02}T00:00:00Z", n + 1),
            "x",
            &format!("this_session:\n- item {n}\n"),
        );
    }
    let text = synth(&app);
    // Files are cached only when their times are old enough.
    let started = std::time::Instant::now();
    let cache = loop {
        app.ledger(&["--json"]).succeeds();
        let found = app.sh("ls -d $PWD/.git/shopfloor/ledger-synth/cache/*.events 2>/dev/null; true").exit(0).stdout;
        if !found.is_empty() {
            break found.trim().to_owned();
        }
        assert!(started.elapsed().as_secs() < 30, "nothing is remembered");
    };
    let whole = std::fs::read(&cache).unwrap();
    let damaged = |at: usize, len: usize| {
        let mut bytes = whole.clone();
        bytes.truncate(len);
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 0x40;
        }
        std::fs::write(&cache, bytes).unwrap();
        app.ledger(&["--json"]).succeeds();
        assert_eq!(app.read(CURRENT), text, "byte {at} of {len}");
    };
    for at in (0..whole.len()).step_by(whole.len() / 40) {
        damaged(at, whole.len());
    }
    for len in (0..whole.len()).step_by(whole.len() / 20) {
        damaged(usize::MAX, len);
    }
    std::fs::write(&cache, b"ledger-synth events 9\nwhatever").unwrap();
    std::fs::remove_file(app.path.join(CURRENT)).unwrap();
    assert_eq!(synth(&app), text);
}

/// A file is read again even if it was rewritten in the same instant, with the same size and times.
#[test]
fn the_cache_never_hides_an_edit() {
    let w = World::new();
    let app = w.app();
    for n in 0..30 {
        event(&app, "a", "2026-01-10T00:00:00Z", "x", &format!("now: n{:02}\n", n));
        app.sh(&format!("touch -d 2026-01-01T00:00:00Z {EVENTS}/a.md")).exit(0);
        assert!(synth(&app).contains(&format!("**Now:** n{n:02}\n")));
    }
}
