//! The fingerprint of a ledger that is in order, with which a run has nothing to do.

use std::path::PathBuf;

use crate::support::ledger::{CURRENT, EVENTS, ROOT, event, synth};
use crate::support::world::{Repo, World, needs};

const CACHE: &str = ".git/shopfloor/ledger-synth/cache";

/// The file of the fingerprint, once it is written: files are remembered only when their times are old enough.
fn remembered(app: &Repo<'_>) -> PathBuf {
    let started = std::time::Instant::now();
    loop {
        app.ledger(&["--yes"]).succeeds();
        let found = app.sh(&format!("ls -d $PWD/{CACHE}/*.in-order 2>/dev/null; true")).exit(0).stdout;
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
fn a_damaged_fingerprint_changes_nothing() {
    let w = World::new();
    let app = w.app();
    twenty_events(&app);
    let text = synth(&app);
    let file = remembered(&app);
    let whole = std::fs::read(&file).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x40;
        for bytes in [&damaged[..], &whole[..at]] {
            std::fs::write(&file, bytes).unwrap();
            app.ledger(&["--yes"]).succeeds();
            assert_eq!(app.read(CURRENT), text, "byte {at}");
        }
    }
}

/// Whatever changes is seen, and what does not change is not read.
#[test]
fn what_changed_is_read_and_nothing_else() {
    let w = World::new();
    let app = w.app();
    twenty_events(&app);
    synth(&app);
    let archived = format!("{ROOT}/archive/2026-01-05/e4.md");
    let steps = [
        "printf -- '---\nts: 2026-02-01T00:00:00Z\nagent: y\n---\nnow: new\n' > EVENTS/new.md",
        "cp EVENTS/new.md EVENTS/copy.md",
        "printf -- '---\nts: 2026-02-02T00:00:00Z\nagent: y\n---\nresolved:\n- item 3\n' > EVENTS/r.md",
        "sed -i 's/item 7/ITEM 7/' EVENTS/e7.md",
        "rm EVENTS/e9.md",
        "mv EVENTS/e8.md EVENTS/f8.md",
        "ledger-synth retract EVENTS/e11.md",
        "ledger-synth archive --older-than 1d",
        &format!("cp {archived} EVENTS/back.md"),
        &format!("sed -i 's/ITEM 7/item 7/' {CURRENT}"),
    ];
    for step in steps {
        let file = remembered(&app);
        app.sh(&format!("{{ {}; }} > /dev/null", step.replace("EVENTS", EVENTS))).exit(0);
        app.ledger(&["--yes"]).exit(0).any_out().any_err();
        std::fs::remove_file(file).unwrap();
        app.ledger(&["--check"]).succeeds();
    }
    let text = app.read(CURRENT);
    assert!(text.contains("ITEM 7") && !text.contains("item 9\n") && !text.contains("item 11\n"), "{text}");
    assert!(text.contains("item 8\n") && text.contains("**Now:** new"), "{text}");
    remembered(&app);
    if needs("strace") {
        let line = "strace -f -qq -o trace -e trace=openat ledger-synth --yes && ! grep -q 'back.md' trace";
        app.sh(line).exit(0);
    }
}

/// Two events that differ only in a section of their frontmatter are both heard, in any order, live and archived.
#[test]
fn events_that_differ_in_their_frontmatter_are_all_heard() {
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
    write("a", "G1");
    let text = synth(&app);
    assert!(text.contains("**Goal:** G2"), "{text}");
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
