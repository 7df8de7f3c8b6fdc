//! `current.md`: when it is written, and what a person wrote in it.

use crate::support::ledger::{CURRENT, EVENTS, field, synth, two_events};
use crate::support::world::{World, text};

#[test]
fn a_page_without_events_is_shown_and_left_alone() {
    let w = World::new();
    let app = w.app();
    app.write(CURRENT, "# Handoff\n\nNow: the old way\n");
    let thoughts = w.at(app.path.join("thoughts"));
    let before = thoughts.snapshot();
    app.ledger(&["banner"]).exit(0).out_has("Now: the old way");
    app.ledger(&["-v", "--no-confirm"]).exit(0).err_has("there are no events");
    app.ledger(&["--check"]).succeeds();
    thoughts.assert_untouched_since(&before);
}

#[test]
fn a_page_that_a_person_wrote_is_replaced_only_on_demand() {
    let w = World::new();
    let app = w.app();
    two_events(&app);
    let page = "# Ledger\n\nUpdated: 2026-01-12T00:00:00Z\n\n## Now\nBy hand\n\n## Decisions\n- **db:** postgres\n\n## Open Questions\n- Which?\n";
    app.write(CURRENT, page);
    let before = w.at(app.path.join("thoughts"));
    let snapshot = before.snapshot();
    app.ledger(&["--no-confirm"]).exit(2).err_has("was not written by ledger-synth").err_has("--adopt");
    app.ledger(&["--check"]).exit(1).any_out().err_has("was not written by ledger-synth");
    // A person who is asked sees the same as in a dry run.
    let asked = app.on_terminal("ledger-synth --adopt", "n\n").exit(3);
    asked.out_has("3 events, the newest first").out_has("+**Now:** By hand");
    let dry = app.ledger(&["--no-confirm", "--adopt", "-n"]).succeeds();
    dry.out_has("(3 events)").out_has("+**Now:** By hand");
    before.assert_untouched_since(&snapshot);
    app.ledger(&["--no-confirm", "--adopt"]).succeeds().err_has("adopted current.md as");
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!((text(&json, "/now"), text(&json, "/decisions/db")), ("By hand", "postgres"));
    assert_eq!((text(&json, "/open_questions/0"), json["event_count"].as_u64()), ("Which?", Some(3)));
    app.ledger(&["--check"]).succeeds();
    app.write(CURRENT, page);
    app.ledger(&["--no-confirm", "--adopt"]).succeeds();
    assert_eq!(field(&app.read(CURRENT), "event_count"), "3", "it is taken over once");
    app.write(CURRENT, "mine\n");
    app.ledger(&["--check"]).exit(1).any_out().err_has("run `ledger-synth --adopt`");
    app.ledger(&["--no-confirm", "--force"]).succeeds().err_has("is kept in");
    app.ledger(&["--check"]).succeeds();
    let kept = app.sh("grep -rl '^mine' .git/shopfloor/ledger-synth/edited").exit(0).stdout;
    assert_eq!(kept.lines().count(), 1);
    // A dry run counts the page also if it would become the first event.
    app.sh(&format!("rm -r {EVENTS}")).exit(0);
    app.write(CURRENT, page);
    app.ledger(&["--no-confirm", "--adopt", "-n"]).succeeds().out_has("(1 event)");
    app.ledger(&["--no-confirm", "--adopt"]).succeeds().out_has("(1 event)");
}

#[test]
fn an_edit_by_hand_is_kept_aside() {
    let w = World::new();
    let app = w.app();
    two_events(&app);
    let text = synth(&app);
    app.write(CURRENT, &text.replace("- of toast", "- of toast, and more"));
    let out = app.ledger(&["--no-confirm"]).succeeds();
    out.err_has("was edited by hand; its content is kept in");
    assert_eq!(app.read(CURRENT), text);
    app.sh("grep -r 'and more' .git/shopfloor/ledger-synth/edited").succeeds();
    app.write(CURRENT, &format!("{text}\n## Mine\n- do not lose this\n"));
    app.ledger(&["--check"]).exit(1).any_out().err_has("it was edited by hand");
    app.ledger(&["--no-confirm"]).succeeds().err_has("was edited by hand");
    app.sh("grep -r 'do not lose this' .git/shopfloor/ledger-synth/edited").succeeds();
    // `check` and what replaces the page give the same reason.
    app.write(CURRENT, &format!("{text}<<<<<<< HEAD\n"));
    app.ledger(&["--check"]).exit(1).any_out().err_has("git's conflict markers are in it");
    app.ledger(&["--no-confirm"]).exit(0).any_out().err_has("had git's conflict markers in it; its content is kept in");
    app.write(CURRENT, &text.replace("format: 2", "format: 3"));
    app.ledger(&["--no-confirm"]).exit(2).err_has("written by a newer ledger-synth");
    app.ledger(&["--check"]).exit(2).err_has("written by a newer ledger-synth");
}

#[test]
fn a_person_sees_what_would_change_and_is_asked() {
    let w = World::new();
    let app = w.app();
    two_events(&app);
    let out = app.on_terminal("ledger-synth", "n\n").exit(3);
    assert!(out.stdout.contains("waffle (2026-01-11T00:00)") && out.stdout.contains("+**Now:** two"), "{}", out.stdout);
    assert!(!app.has(CURRENT));
    let out = app.on_terminal("ledger-synth", "y\nn\nn\n").exit(0);
    assert!(
        out.stdout.contains("archive the events now?") && out.stdout.contains("commit the ledger?"),
        "{}",
        out.stdout
    );
    assert!(app.has(CURRENT) && app.has(&format!("{EVENTS}/a.md")));
    app.on_terminal("ledger-synth", "y\ny\n").succeeds();
    assert!(!app.has(&format!("{EVENTS}/a.md")));
    assert_eq!(app.git(&["status", "--porcelain"]), "");
    app.ledger(&["--check"]).succeeds();
}

#[test]
fn a_new_stamp_alone_rewrites_nothing() {
    let w = World::new();
    let app = w.app();
    // With --json every command prints a document, even if there is nothing to do.
    for args in [
        &["prune", "--json"][..],
        &["prune", "--json", "--retention", "never"],
        &["archive", "--json"],
        &["--json"],
        &["--check", "--json"],
    ] {
        app.ledger(args).exit(0).json();
    }
    assert!(
        text(&app.ledger(&["add", "--draft", "--now", "x", "--json"]).succeeds().json(), "/draft")
            .ends_with("draft.md")
    );
    two_events(&app);
    let at = |time: &'static str| [("SHOPFLOOR_NOW", time)];
    app.run_with("ledger-synth", &["--no-confirm", "--stamp"], &at("2026-02-01T00:00:00Z")).exit(0).out_has("wrote");
    assert_eq!(field(&app.read(CURRENT), "generated_at"), "2026-02-01T00:00:00Z");
    app.run_with("ledger-synth", &["-v", "--no-confirm", "--stamp"], &at("2026-02-02T00:00:00Z"))
        .exit(0)
        .err_has("is up to date");
    app.ledger(&["--check"]).succeeds();
    assert_eq!(field(&app.read(CURRENT), "generated_at"), "2026-02-01T00:00:00Z");
}
