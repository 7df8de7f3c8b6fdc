//! Views of some of the events, or of more than the ledger.

use crate::support::ledger::{CURRENT, EVENTS, event, field, synth, two_events};
use crate::support::world::{World, text};

#[test]
fn a_partial_view_is_printed_and_replaces_nothing() {
    let w = World::new();
    let app = w.app();
    two_events(&app);
    let whole = synth(&app);
    let out = app.ledger(&["--agent", "toast"]).exit(0).stdout;
    assert!(out.contains("**Now:** one") && !out.contains("waffle"), "{out}");
    let out = app.ledger(&["--branch", "feat/x", "--json"]).exit(0).json();
    assert_eq!((text(&out, "/now"), out["event_count"].as_u64(), text(&out, "/path")), ("two", Some(1), "-"));
    // Patterns start in the current directory, otherwise in the ledger.
    for pattern in
        [format!("{EVENTS}/a*"), "events/a.md".into(), app.path.join(EVENTS).join("[a].md").display().to_string()]
    {
        let out = app.ledger(&["--input", &pattern]).exit(0).stdout;
        assert!(out.contains("**Now:** one") && !out.contains("waffle"), "{pattern}: {out}");
    }
    let both = app.ledger(&["--input", "events/a.md", "--input", "events/*.md", "--output", "-"]).exit(0).stdout;
    assert_eq!(both, whole);
    app.ledger(&["--input", "events/none*.md"]).exit(2).err_has("no file matches").err_has("hint: ");
    app.ledger(&["--agent", "toast", "--output", "part.md"]).exit(0).out_has("wrote ");
    app.ledger(&["-v", "--agent", "toast", "--output", "part.md"]).exit(0).err_has("is up to date");
    assert!(app.read("part.md").contains("**Now:** one"));
    app.write("mine.md", "mine\n");
    app.ledger(&["--output", "mine.md"]).exit(2).err_has("was not written by ledger-synth");
    assert_eq!(app.read(CURRENT), whole);
    // Folded events are shown as long as the archive has them.
    app.ledger(&["archive"]).succeeds();
    assert!(app.ledger(&["--agent", "toast"]).exit(0).stdout.contains("**Now:** one"));
    for args in [
        &["--agent", "x", "--commit"][..],
        &["--check", "--archive"],
        &["--tree", "HEAD"],
        &["--input", "x", "--force"],
    ] {
        app.ledger(args).exit(2).any_err();
    }
    app.ledger(&["--check", "add", "--now", "x"]).exit(2).err_has("--check belongs to plain");
}

#[test]
fn all_worktrees_shows_the_events_of_every_worktree() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-10T00:00:00Z", "toast", "now: here\n");
    let wt = app.worktree("wt");
    event(&wt, "a", "2026-01-10T00:00:00Z", "toast", "now: here\n");
    event(&wt, "b", "2026-01-11T00:00:00Z", "waffle", "now: there\n");
    let out = app.ledger(&["--all-worktrees"]).exit(0).stdout;
    assert!(out.contains("**Now:** there"));
    assert_eq!(field(&out, "event_count"), "2");
    assert!(!app.has(CURRENT));
    // The same when one of them has folded its events, and when both have the same snapshot.
    wt.ledger(&["archive"]).succeeds();
    assert_eq!(app.ledger(&["--all-worktrees"]).exit(0).stdout, out);
    app.sh(&format!("cp ../wt/{EVENTS}/snapshot_* {EVENTS}/")).exit(0);
    assert_eq!(app.ledger(&["--all-worktrees"]).exit(0).stdout, out);
    // What cannot be read of one is named, and the others are shown.
    app.worktree("odd").sh("mkdir -p thoughts/shared/handoffs; ln -s / thoughts/shared/handoffs/events").exit(0);
    let out = app.ledger(&["--all-worktrees"]).exit(0);
    out.err_has(&format!("odd/{EVENTS}:1: cannot reach"));
    assert_eq!((field(&out.stdout, "event_count"), field(&out.stdout, "skipped")), ("2".into(), "1".into()));
    app.ledger(&["--all-worktrees", "--strict"]).exit(2).err_has("cannot reach");
}
