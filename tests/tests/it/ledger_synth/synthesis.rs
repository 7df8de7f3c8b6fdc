//! How events are merged and shown.

use std::os::unix::fs::MetadataExt;

use crate::support::ledger::{CURRENT, EVENTS, event, field, section, seed_event, synth};
use crate::support::world::World;

/// Case 1 of the design.
#[test]
fn the_event_of_the_seed_is_shown_whole() {
    let w = World::new();
    let app = w.app();
    seed_event(&app);
    let text = synth(&app);
    assert!(text.contains("**Now:** Create PR from carmandale:fix/hooks-path-spaces to parcadei:main\n"), "{text}");
    let items = [
        "- Compiled TypeScript hooks",
        "- Forked parcadei/Continuous-Claude-v3",
        "- Wrapped 25 hooks in bash -c for spaced path support",
    ];
    assert_eq!(section(&text, "This Session"), items);
    assert_eq!(
        section(&text, "Decisions"),
        [
            "- **bash_c_wrapper:** Use bash -c '...' for shell quoting",
            "- **single_quotes_outer:** Single quotes outside, double inside"
        ]
    );
    assert_eq!(section(&text, "Checkpoints"), ["- Phase 5: validated (2026-01-10T13:00:00Z, toast)"]);
    assert_eq!((field(&text, "event_count"), field(&text, "latest_ts")), ("1".into(), "2026-01-10T13:03:52Z".into()));
    assert!(text.ends_with("\n\n---\n"), "{text}");
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!((json["event_count"].as_u64(), json["written"].as_bool()), (Some(1), Some(false)));
    assert_eq!(json["checkpoints"][0]["phase"], "5");
    assert_eq!(json["decisions"]["bash_c_wrapper"], "Use bash -c '...' for shell quoting");
}

/// Case 2 of the design.
#[test]
fn the_later_now_wins_whatever_files_are_called() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-10T10:00:00Z", "x", "now: early\n");
    event(&app, "b", "2026-01-10T11:00:00Z", "y", "now: late\n");
    let text = synth(&app);
    assert!(text.contains("**Now:** late"));
    app.sh(&format!("cd {EVENTS} && mv a.md t && mv b.md a.md && mv t b.md")).exit(0);
    assert_eq!(synth(&app), text);

    event(&app, "a", "2026-01-10T11:00:00Z", "alpha", "now: the greater text\n");
    event(&app, "b", "2026-01-10T11:00:00Z", "zeta", "now: a text of zeta\n");
    assert!(synth(&app).contains("**Now:** a text of zeta"));
}

/// Case 3 of the design.
#[test]
fn instants_are_compared_and_texts_are_merged_whole() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-10T00:00:00Z", "z", "now: whole\nthis_session:\n- same\n- a\n");
    event(&app, "b", "2026-01-10T00:00:00.500Z", "a", "now: half\nthis_session:\n- same\n- A\n");
    event(&app, "c", "2026-01-09T23:00:00+05:00", "a", "now: offset\nthis_session:\n- same\n");
    let text = synth(&app);
    assert!(text.contains("**Now:** half"));
    assert_eq!(section(&text, "This Session"), ["- A", "- a", "- same"]);
}

/// Case 6 of the design.
#[test]
fn checkpoints_are_all_kept_in_order() {
    let w = World::new();
    let app = w.app();
    event(
        &app,
        "a",
        "2026-01-10T20:00:00Z",
        "x",
        "checkpoints:\n- phase: 1\n  status: validated\n  updated: 2026-01-10T14:00:00Z\n- status: x\n  phase: 7\n",
    );
    event(
        &app,
        "b",
        "2026-01-10T09:00:00Z",
        "x",
        "checkpoints:\n- phase: 1\n  status: in_progress\n- {phase: 2, status: in-progress}\n",
    );
    assert_eq!(
        section(&synth(&app), "Checkpoints"),
        [
            "- Phase 1: in_progress (2026-01-10T09:00:00Z, x)",
            "- Phase 2: in-progress (2026-01-10T09:00:00Z, x)",
            "- Phase 1: validated (2026-01-10T14:00:00Z, x)",
            "- Phase 7: x (2026-01-10T20:00:00Z, x)",
        ]
    );
}

/// Case 8 of the design.
#[test]
fn unknown_sections_are_shown_after_the_known_ones() {
    let w = World::new();
    let app = w.app();
    let body = "this_session:\n- one\nblockers:\n- a wall\nNext-Steps:\n- climb\nopen_questions: [why, how]\n";
    event(&app, "a", "2026-01-10T00:00:00Z", "x", body);
    let text = synth(&app);
    assert_eq!(section(&text, "This Session"), ["- one"]);
    assert_eq!(section(&text, "blockers"), ["- a wall"]);
    assert_eq!(section(&text, "Next-Steps"), ["- climb"]);
    assert_eq!(section(&text, "Open Questions"), ["- how", "- why"]);
    let at = |title: &str| text.find(&format!("### {title}")).unwrap();
    assert!(at("This Session") < at("Open Questions") && at("Open Questions") < at("Next-Steps"));
    assert!(at("Next-Steps") < at("blockers"));
    assert_eq!(app.ledger(&["--json"]).exit(0).json()["other"]["blockers"][0], "a wall");
}

/// Case 9 of the design.
#[test]
fn the_bytes_depend_on_the_events_alone() {
    let w = World::new();
    let app = w.app();
    seed_event(&app);
    event(&app, "b", "2026-01-11T00:00:00+02:00", "ï", "this_session:\n- Iıİi\n- ÄäZz\n");
    let text = synth(&app);
    let mtime = || app.path.join(CURRENT).metadata().unwrap().mtime_nsec();
    let first = mtime();
    app.ledger(&["-v", "--no-confirm"]).exit(0).err_has("is up to date");
    assert_eq!(mtime(), first);
    app.run_with("ledger-synth", &["--no-confirm"], &[("TZ", "Asia/Tokyo"), ("LC_ALL", "tr_TR.UTF-8")]).exit(0);
    w.at(app.path.join(EVENTS)).ledger(&["--no-confirm"]).exit(0);
    app.sh("rm -rf .git/shopfloor").exit(0);
    app.ledger(&["--no-confirm"]).exit(0);
    assert_eq!((app.read(CURRENT), mtime()), (text.clone(), first));
    app.sh(&format!("rm {CURRENT}")).exit(0);
    app.run_with("ledger-synth", &["--no-confirm"], &[("TZ", "Asia/Tokyo"), ("LC_ALL", "tr_TR.UTF-8")]).succeeds();
    assert_eq!(app.read(CURRENT), text);
    app.run_with("ledger-synth", &["--check"], &[("SHOPFLOOR_NOW", "2031-01-01T00:00:00Z")]).succeeds();
    app.git(&["add", "."]);
    app.git(&["commit", "-q", "-m", "ledger"]);
    app.git(&["clone", "-q", ".", "../clone"]);
    let clone = w.at(app.path.parent().unwrap().join("clone"));
    let out = clone.ledger(&["--check", "--json"]).exit(0).json();
    assert_eq!(out["fresh"], true);
}

/// Case 12 of the design.
#[test]
fn a_question_is_resolved_until_it_is_asked_again() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-10T10:00:00Z", "x", "open_questions:\n- why?\n");
    assert_eq!(section(&synth(&app), "Open Questions"), ["- why?"]);
    event(&app, "b", "2026-01-10T11:00:00Z", "y", "resolved:\n- why?\n");
    assert_eq!(section(&synth(&app), "Open Questions"), Vec::<String>::new());
    app.ledger(&["archive"]).succeeds();
    assert_eq!(section(&synth(&app), "Open Questions"), Vec::<String>::new());
    event(&app, "c", "2026-01-10T12:00:00Z", "x", "open_questions:\n- why?\n");
    assert_eq!(section(&synth(&app), "Open Questions"), ["- why?"]);
    app.ledger(&["archive"]).succeeds();
    assert_eq!(section(&synth(&app), "Open Questions"), ["- why?"]);
}
