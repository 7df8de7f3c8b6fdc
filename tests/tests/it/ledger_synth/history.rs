//! `retract`, `explain` and `conflicts`: who said what.

use crate::support::ledger::{event, synth};
use crate::support::world::{Checked, World, text};

#[test]
fn retract_removes_an_event_that_is_not_folded_yet() {
    let w = World::new();
    let app = w.app();
    event(&app, "good", "2026-01-10T00:00:00Z", "x", "now: good\n");
    event(&app, "bad", "2026-01-11T00:00:00Z", "x", "now: bad\nthis_session:\n- bad\n");
    let id = app.ledger(&["explain", "now", "--json"]).exit(0).json_lines();
    let bad = text(&id[0], "/event").to_owned();
    assert_eq!((text(&id[0], "/value"), &id[0]["beaten"]), ("bad", &serde_json::json!(false)));
    let retraction = app.ledger(&["retract", &bad[..10], "--json"]).exit(0).json();
    let own = text(&retraction, "/short_id");
    app.ledger(&["explain", own]).exit(1).err_has(&format!("event {own} says only that event "));
    let shown = synth(&app);
    assert!(shown.contains("**Now:** good") && !shown.contains("- bad"), "{shown}");
    app.ledger(&["retract", &bad]).exit(0).err_has("already retracted");
    // Both events can be asked about, although neither says anything that counts.
    let ids = app.ledger(&["retract", &bad]).exit(0).any_err().stderr;
    let id = ids.split_whitespace().find(|word| word.len() == 8 && !word.contains(':')).unwrap();
    app.ledger(&["explain", id]).exit(1).err_has(&format!("event {id} was retracted"));
    app.ledger(&["archive"]).succeeds();
    assert_eq!(synth(&app), shown);
    app.ledger(&["--check"]).succeeds();
    let good = app.ledger(&["explain", "now", "--json"]).exit(0).json_lines();
    app.ledger(&["retract", text(&good[0], "/event")]).exit(1).err_has("folded into a snapshot");
    app.ledger(&["retract", "ffffffff"]).exit(1).err_has("there is no event");
    // A decision has an id of its own, which leads to the event.
    app.ledger(&["add", "--decision", "lexer=by hand"]).succeeds();
    let said = app.ledger(&["explain", "lexer", "--json"]).exit(0).json_lines();
    let told = app.ledger(&["retract", text(&said[0], "/id")]).exit(1);
    told.err_has("its id, which `ledger-synth explain KEY` prints last; KEY may be an id of the page");
    let line = app.ledger(&["explain", text(&said[0], "/id")]).exit(0).stdout;
    let event = line.trim_end().trim_end_matches(')').rsplit(' ').next().unwrap();
    app.ledger(&["retract", event]).succeeds();
}

#[test]
fn explain_tells_the_answer_of_a_question_by_its_id() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-10T00:00:00Z", "toast", "open_questions:\n- Ship?\n- Rest?\n");
    let answer = "resolved:\n- Ship?\n";
    event(&app, "b", "2026-01-11T00:00:00Z", "waffle", answer);
    let lines = app.ledger(&["explain", "Ship?", "--json"]).exit(0).json_lines();
    let ids: Vec<_> = lines.iter().map(|line| text(line, "/id").to_owned()).collect();
    assert_eq!((ids.len(), &ids[0]), (2, &ids[1]));
    let by_id = app.ledger(&["explain", &ids[0]]).exit(0);
    let lines: Vec<_> = by_id.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("resolved: Ship? (2026-01-11T00:00:00Z, waffle, "), "{lines:?}");
    assert!(lines[1].starts_with("open_questions: Ship? ") && lines[1].ends_with(" [resolved]"), "{lines:?}");
}

#[test]
fn explain_and_conflicts_name_who_said_what() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-10T00:00:00Z", "toast", "now: one\ndecisions:\n  auth: jwt\n  same: x\n");
    event(&app, "b", "2026-01-11T00:00:00Z", "waffle", "now: two\ndecisions:\n  auth: sessions\n  same: x\n");
    let lines = app.ledger(&["explain", "auth", "--json"]).exit(0).json_lines();
    let said: Vec<_> =
        lines.iter().map(|l| (text(l, "/value"), text(l, "/agent"), l["beaten"].as_bool().unwrap())).collect();
    assert_eq!(said, [("sessions", "waffle", false), ("jwt", "toast", true)]);
    assert_eq!((text(&lines[0], "/section"), text(&lines[0], "/key")), ("decisions", "auth"));
    app.ledger(&["explain", "decisions.auth"])
        .exit(0)
        .out_has("jwt (2026-01-10T00:00:00Z, toast, ")
        .out_has("[replaced]");
    app.ledger(&["explain", "nobody"]).exit(1).err_has("nobody said anything about `nobody`");
    let keys = |out: Checked| {
        out.json_lines().iter().map(|l| l["key"].as_str().unwrap_or("now").to_owned()).collect::<Vec<_>>()
    };
    // Agents that do different things do not disagree.
    assert_eq!(keys(app.ledger(&["conflicts", "--json"]).exit(0)), ["auth", "auth"]);
    // The archive has what a snapshot does not.
    app.ledger(&["archive"]).succeeds();
    assert_eq!(keys(app.ledger(&["conflicts", "--json"]).exit(0)), ["auth", "auth"]);
    assert_eq!(app.ledger(&["explain", "auth", "--json"]).exit(0).json_lines().len(), 2);
    app.ledger(&["--branch", "none"]).exit(0).err_has("no event matches");
    let out = app.ledger(&["--agent", "toast"]).exit(0);
    assert!(out.stdout.contains("jwt") && !out.stdout.contains("sessions"), "{}", out.stdout);
}
