//! `add`: what it writes, when, and what it refuses.

use crate::support::ledger::{CURRENT, EVENTS, event, run_with_input, section};
use crate::support::world::{World, text};

#[test]
fn add_writes_every_section_and_prints_the_event() {
    let w = World::new();
    let app = w.app();
    let args = [
        "add",
        "--now",
        "- dashed: 'now'",
        "--goal",
        "ship # it",
        "--done",
        "-x",
        "--done",
        "two\nlines",
        "--decision",
        "k=v=w",
        "--decision",
        "gone=",
        "--question",
        "why?",
        "--question",
        "how?",
        "--resolve",
        "how?",
        "--checkpoint",
        "5a:in-progress: half",
        "--agent",
        "to/../ast é",
        "--type",
        "note",
        "--reason",
        "r",
        "--title",
        "t: t",
        "--json",
    ];
    let now = [("SHOPFLOOR_NOW", "2026-01-10T13:03:52.5Z")];
    let out = app.run_with("ledger-synth", &args, &now).exit(0).json();
    assert_eq!((text(&out, "/agent"), text(&out, "/ts")), ("to/../ast é", "2026-01-10T13:03:52.5Z"));
    assert_eq!(text(&out, "/id").len(), 64);
    let path = text(&out, "/path");
    assert!(path.ends_with(&format!("{EVENTS}/2026-01-10T13-03-52.5Z_to%2F..%2Fast%20%C3%A9.md")), "{path}");
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!((text(&json, "/now"), text(&json, "/goal")), ("- dashed: 'now'", "ship # it"));
    assert_eq!(json["this_session"], serde_json::json!(["-x", "two\nlines"]));
    assert_eq!(json["decisions"], serde_json::json!({ "k": "v=w" }));
    assert_eq!(json["open_questions"], serde_json::json!(["why?"]));
    assert_eq!(json["checkpoints"][0]["status"], "in-progress: half");
    let shown = app.read(CURRENT);
    assert_eq!(section(&shown, "This Session"), ["- -x", "- two", "  lines"]);
    assert_eq!(section(&shown, "Checkpoints"), ["- Phase 5a: in-progress: half (2026-01-10T13:03:52.5Z, to/../ast é)"]);
    // The same command again writes another event, with a newer time.
    let again = app.run_with("ledger-synth", &args, &now).exit(0).json();
    assert_ne!(text(&again, "/ts"), text(&out, "/ts"), "a stamp is newer than all its writer can have read");
}

#[test]
fn add_takes_a_body_on_stdin_and_refuses_an_empty_one() {
    let w = World::new();
    let app = w.app();
    run_with_input(&app, &["add", "--agent", "a"], "now: Review\nthis_session:\n- `x` done\n- Fixed: y\n").succeeds();
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!(json["this_session"], serde_json::json!(["Fixed: y", "`x` done"]));
    run_with_input(&app, &["add"], "---\nts: 2026-01-10T00:00:00Z\nagent: whole\n---\ngoal: g\n")
        .exit(0)
        .out_has("2026-01-10T00-00-00Z_whole.md");
    app.ledger(&["add"]).exit(2).err_has("nothing to write down").err_has("hint: ");
    run_with_input(&app, &["add"], "---\nagent: x\n---\nnow: y\n").exit(2).err_has("stdin:1: no `ts`");
    run_with_input(&app, &["add"], "now: a\0b\n").exit(2).err_has("stdin:1: a NUL byte");
    app.ledger(&["add", "--decision", "novalue"]).exit(2).err_has("must be KEY=VALUE");
    app.ledger(&["add", "--checkpoint", "x"]).exit(2).err_has("must be PHASE:STATUS");
    app.ledger(&["add", "--now", " "]).exit(2).err_has("is empty");
    let before = app.snapshot();
    app.ledger(&["add", "--now", "x", "-n"]).exit(0).out_has(EVENTS);
    app.assert_untouched_since(&before);
    // The agent comes from the environment, otherwise from the worktree's name.
    app.ledger(&["add", "--now", "x"]).exit(0).out_has("_app.md");
    app.run_with("ledger-synth", &["add", "--now", "x"], &[("LEDGER_SYNTH_AGENT", "env")]).exit(0).out_has("_env.md");
}

#[test]
fn add_follows_a_clock_slightly_ahead_and_ignores_one_far_ahead() {
    let w = World::new();
    let app = w.app();
    event(&app, "ahead", "2026-01-10T20:00:00Z", "x", "now: ahead\n");
    event(&app, "mad", "2026-03-01T00:00:00Z", "x", "goal: mad\n");
    let now = [("SHOPFLOOR_NOW", "2026-01-10T13:00:00Z")];
    let out = app.run_with("ledger-synth", &["add", "--now", "after", "--json"], &now).exit(0).json();
    assert_eq!(text(&out, "/ts"), "2026-01-10T20:00:00.001Z");
    // Another clone's event of this time has another name, so that git merges both.
    let name = format!("2026-01-10T20-00-00.001Z_app-{}.md", text(&out, "/short_id"));
    assert!(text(&out, "/path").ends_with(&name), "{out}");
    let out = app.run_with("ledger-synth", &["--no-confirm"], &now).succeeds();
    out.err_has("mad.md:1: its time is in the future");
    assert!(app.read(CURRENT).contains("**Now:** after"));
    app.run_with("ledger-synth", &["--check"], &now).exit(2).err_has("events from the future");
    app.run_with("ledger-synth", &["--no-confirm", "--strict"], &now).exit(2).any_err();
    app.run_with("ledger-synth", &["archive"], &now).exit(0).any_err().out_has("archived 2 files");
    app.run_with("ledger-synth", &["retract", "mad.md"], &now).succeeds();
    app.run_with("ledger-synth", &["--no-confirm", "--strict"], &now).succeeds();
    assert!(!app.read(CURRENT).contains("mad\n"));
    app.run_with("ledger-synth", &["--check"], &now).succeeds();
}

#[test]
fn add_works_whatever_is_wrong_with_other_events() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-10T00:00:00Z", "x", "now: a\n");
    app.ledger(&["archive"]).succeeds();
    app.sh(&format!("sed -i 's/\"now\"/\"then\"/' {EVENTS}/snapshot_*.md")).exit(0);
    app.ledger(&["add", "--now", "still here"]).exit(0).err_has("the event gets the clock's time").out_has(EVENTS);
    for body in [
        "env:\n  node: 20\n- extra\n",
        "risks: text\nrisks:\n  a: b\n",
        "checkpoints:\n- phase: 5\n  notes: |\n    a\n    b\n",
    ] {
        run_with_input(&app, &["add"], body).succeeds().any_err();
    }
    let long = format!("## {}\n- x\n", "long ".repeat(30));
    run_with_input(&app, &["add", "--title", &"[".repeat(70)], &long).succeeds().any_err();
    let json = run_with_input(&app, &["add", "--json", "--now", "x", "--synth"], "").exit(4).any_err().json();
    assert!(text(&json, "/path").contains(EVENTS) && text(&json, "/error/message").contains("snapshot"), "{json}");
}

#[test]
fn add_refuses_to_resolve_a_question_that_is_not_open_and_names_the_nearest() {
    let w = World::new();
    let app = w.app();
    app.ledger(&["add", "--question", "Which lexer?", "--question", "Who reviews?"]).succeeds();
    let refused = app.ledger(&["add", "--resolve", "Which lexer", "--done", "x"]).exit(1);
    refused.err_has("there is no open question `Which lexer`").err_has("the nearest open question is `Which lexer?`");
    app.ledger(&["add", "--draft", "--resolve", "Who reviews"]).exit(1).err_has("`Who reviews?`");
    app.ledger(&["--no-confirm"]).succeeds();
    assert!(!app.read(CURRENT).contains("- x"));
    app.ledger(&["add", "--resolve", "Which lexer?"]).succeeds();
    // The question is not open any more.
    app.ledger(&["add", "--resolve", "Which lexer?"]).exit(1).err_has("Who reviews?");
    app.ledger(&["add", "--question", "New?", "--resolve", "New?"]).succeeds();
    app.ledger(&["add", "--draft", "--question", "Kept?"]).succeeds();
    app.ledger(&["add", "--draft", "--resolve", "Kept?"]).succeeds();
    app.ledger(&["add", "--resolve", "Who reviews?"]).succeeds();
}
