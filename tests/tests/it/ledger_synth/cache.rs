//! The cache: parsed events, and what they said together.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::support::ledger::{CURRENT, EVENTS, ROOT, event, synth};
use crate::support::world::{Repo, World, wait_for};

const CACHE: &str = ".git/shopfloor/ledger-synth/cache";

/// The file of the cache that ends so, once it is written: files are remembered only when their times are old enough.
fn remembered(app: &Repo<'_>, ending: &str) -> PathBuf {
    let started = std::time::Instant::now();
    loop {
        app.ledger(&["--json"]).succeeds();
        let found = app.sh(&format!("ls -d $PWD/{CACHE}/*.{ending} 2>/dev/null; true")).exit(0).stdout;
        if !found.is_empty() {
            return found.trim().into();
        }
        assert!(started.elapsed().as_secs() < 30, "nothing is remembered");
    }
}

fn twenty_events(app: &Repo<'_>) {
    for n in 0..20 {
        let at = format!("2026-01-{:02}T00:00:00Z", n + 1);
        event(app, &format!("e{n}"), &at, "x", &format!("this_session:\n- item {n}\n"));
    }
}

#[test]
fn a_damaged_cache_changes_nothing() {
    let w = World::new();
    let app = w.app();
    twenty_events(&app);
    let text = synth(&app);
    let (events, join) = (remembered(&app, "events"), remembered(&app, "join"));
    for cache in [&events, &join] {
        let whole = std::fs::read(cache).unwrap();
        let damaged = |at: usize, len: usize| {
            let mut bytes = whole.clone();
            bytes.truncate(len);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 0x40;
            }
            if *cache == events {
                // With the join nobody asks for the events.
                std::fs::remove_file(&join).unwrap();
            }
            std::fs::write(cache, bytes).unwrap();
            std::fs::remove_file(app.path.join(CURRENT)).unwrap();
            app.ledger(&["--json"]).succeeds();
            assert_eq!(app.read(CURRENT), text, "byte {at} of {len} of {}", cache.display());
            remembered(&app, "join");
        };
        for at in (0..whole.len()).step_by(whole.len() / 40) {
            damaged(at, whole.len());
        }
        for len in (0..whole.len()).step_by(whole.len() / 20) {
            damaged(usize::MAX, len);
        }
    }
    std::fs::write(&events, b"ledger-synth events 9\nwhatever").unwrap();
    std::fs::write(&join, b"ledger-synth join 9\nwhatever").unwrap();
    std::fs::remove_file(app.path.join(CURRENT)).unwrap();
    assert_eq!(synth(&app), text);
}

/// New events are added to what the others said together, without reading those; anything else is read anew.
#[test]
fn what_is_remembered_is_only_added_to() {
    let w = World::new();
    let app = w.app();
    twenty_events(&app);
    synth(&app);
    let (events, join) = (remembered(&app, "events"), remembered(&app, "join"));
    let archived = format!("{ROOT}/archive/2026-01-05/e4.md");
    // What each step does, and whether everything is read again, after which the events are remembered anew.
    let steps: [(&str, bool); 9] = [
        ("printf -- '---\nts: 2026-02-01T00:00:00Z\nagent: y\n---\nnow: new\n' > EVENTS/new.md", false),
        ("cp EVENTS/new.md EVENTS/copy.md", false),
        ("printf -- '---\nts: 2026-02-02T00:00:00Z\nagent: y\n---\nresolved:\n- item 3\n' > EVENTS/r.md", false),
        ("sed -i 's/item 7/ITEM 7/' EVENTS/e7.md", true),
        ("rm EVENTS/e9.md", true),
        ("mv EVENTS/e8.md EVENTS/f8.md", true),
        ("ledger-synth retract EVENTS/e11.md", true),
        ("ledger-synth archive --older-than 1d", true),
        (&format!("cp {archived} EVENTS/back.md"), false),
    ];
    for (step, reads_all) in steps {
        // That of the last step may be out of date.
        std::fs::remove_file(&join).unwrap();
        remembered(&app, "join");
        std::fs::remove_file(&events).ok();
        app.sh(&format!("{{ {}; }} > /dev/null", step.replace("EVENTS", EVENTS))).exit(0);
        app.ledger(&["--yes"]).succeeds();
        let is_read = events.exists();
        assert!(reads_all || !is_read, "{step}");
        app.sh(&format!("mv {CACHE} {CACHE}.away")).exit(0);
        app.ledger(&["--check"]).succeeds();
        app.sh(&format!("rm -rf {CACHE}; mv {CACHE}.away {CACHE}")).exit(0);
    }
    let text = app.read(CURRENT);
    assert!(text.contains("ITEM 7") && !text.contains("item 9\n") && !text.contains("item 11\n"), "{text}");
    assert!(text.contains("item 8\n") && text.contains("**Now:** new"), "{text}");
}

/// What is remembered of long texts is written and read in several pieces.
#[test]
fn long_texts_are_remembered_whole() {
    let w = World::new();
    let app = w.app();
    for n in 0..20 {
        let body = format!("now: now {n} {}\nthis_session:\n- item {n} {}\n", "n".repeat(9_000), "i".repeat(9_000));
        event(&app, &format!("e{n}"), &format!("2026-01-10T00:00:{n:02}Z"), "x", &body);
    }
    app.ledger(&["--no-confirm", "--format", "1"]).succeeds();
    let join = remembered(&app, "join");
    assert!(std::fs::metadata(&join).unwrap().len() > 3 << 16);
    event(&app, "new", "2026-01-10T00:01:00Z", "x", "now: new\n");
    app.ledger(&["--no-confirm", "--format", "1"]).succeeds();
    let text = app.read(CURRENT);
    assert!(text.contains(&format!("item 7 {}", "i".repeat(9_000))));
    app.sh(&format!("rm -r {CACHE} {CURRENT}")).exit(0);
    app.ledger(&["--no-confirm", "--format", "1"]).succeeds();
    assert_eq!(app.read(CURRENT), text);
}

/// A cache with many times more events than there are files takes longer to load than the files, so it is made anew.
#[test]
fn a_cache_of_events_that_are_gone_is_made_anew() {
    let w = World::new();
    let app = w.app();
    for n in 0..40 {
        let at = format!("2026-01-{:02}T00:00:{n:02}Z", n / 2 + 1);
        event(&app, &format!("e{n}"), &at, "x", &format!("this_session:\n- item {n} {}\n", "x".repeat(16 << 10)));
    }
    synth(&app);
    let events = remembered(&app, "events");
    let size = || std::fs::metadata(&events).unwrap().len();
    let remembers_all = || {
        app.ledger(&["--json"]).succeeds();
        size() > 40 << 14
    };
    // A file that was just written may change without a new time, so it is not remembered yet.
    wait_for(remembers_all);
    // Once they are, large events are not written again.
    let before = std::fs::metadata(&events).unwrap().ino();
    app.ledger(&["--json"]).succeeds();
    assert_eq!(std::fs::metadata(&events).unwrap().ino(), before);
    app.sh(&format!("rm {EVENTS}/e*")).exit(0);
    event(&app, "new", "2026-02-01T00:00:00Z", "y", "now: the only one\n");
    let text = synth(&app);
    wait_for(|| {
        app.ledger(&["--json"]).succeeds();
        size() < 1 << 10
    });
    std::fs::remove_file(app.path.join(CURRENT)).unwrap();
    assert_eq!(synth(&app), text);
    assert!(text.contains("the only one") && !text.contains("item"));
}

/// Two events that differ only where their ids do not tell are both heard, in any order, with and without a cache.
#[test]
fn events_of_one_id_are_all_heard() {
    let w = World::new();
    let app = w.app();
    let write = |name: &str, goal: &str| {
        app.write(
            &format!("{EVENTS}/{name}.md"),
            &format!("---\nts: 2026-01-10T00:00:00Z\nagent: a\ngoal: {goal}\n---\n"),
        );
    };
    write("b", "G2");
    synth(&app);
    remembered(&app, "join");
    write("a", "G1");
    let text = synth(&app);
    assert!(text.contains("**Goal:** G2"), "{text}");
    app.sh(&format!("rm -r {CACHE}")).exit(0);
    app.ledger(&["--check"]).succeeds();
    app.ledger(&["archive"]).succeeds();
    assert_eq!(app.read(CURRENT), text);
    app.sh(&format!("rm {ROOT}/archive/*/b.md")).exit(0);
    // What an archived file says beyond the snapshot is kept.
    app.sh(&format!("sed -i 's/G1/G9/' {ROOT}/archive/*/a.md")).exit(0);
    app.ledger(&["prune", "--retention", "0"]).exit(0).any_out().any_err();
    app.sh(&format!("grep -q G9 {ROOT}/archive/*/a.md")).exit(0);
    app.ledger(&["doctor"]).exit(1).out_has("not everything in the archive counts: 1 file").out_has("a.md");
    // One that says more comes back after the snapshot was written.
    write("c", "G3");
    let text = synth(&app);
    assert!(text.contains("**Goal:** G3"), "{text}");
    app.ledger(&["archive"]).succeeds();
    assert_eq!(app.read(CURRENT), text);
    assert_eq!(app.sh(&format!("ls {EVENTS} | wc -l")).exit(0).stdout.trim(), "1");
}

/// An event that was just written may be rewritten without a new time, so it is not part of what is remembered.
#[test]
fn what_is_remembered_leaves_out_what_may_still_change() {
    let w = World::new();
    let app = w.app();
    twenty_events(&app);
    synth(&app);
    remembered(&app, "events");
    let join = remembered(&app, "join");
    for word in ["FIRST", "SECOND", "THIRD"] {
        std::fs::remove_file(&join).unwrap();
        event(&app, "young", "2026-03-01T00:00:00Z", "x", &format!("this_session:\n- {word}\n"));
        // The others are in the cache, so their join is remembered in this run.
        let text = synth(&app);
        assert!(join.exists() && text.contains(word), "{text}");
    }
    std::fs::remove_file(app.path.join(format!("{EVENTS}/young.md"))).unwrap();
    let text = synth(&app);
    assert!(["FIRST", "SECOND", "THIRD"].iter().all(|word| !text.contains(word)), "{text}");
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
