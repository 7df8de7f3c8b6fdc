//! `migrate`: handoff files become events.

use crate::support::ledger::{CURRENT, section};
use crate::support::world::{World, text, write};

#[test]
fn migrate_turns_handoffs_into_events() {
    let w = World::new();
    let app = w.app();
    write(
        &app.path.join("old/2026-01-11_05-07_auth.md"),
        "---\nsession: auth-refactor\nstatus: active\n---\n\n# Handoff\n\n**Goal:** Move auth\n**Now:** Test login\n\n## Done this session\n- [x] Moved `login`\n\n## Decisions\n- **tokens:** jwt\n\n## Questions\n- Rotate keys?\n",
    );
    write(&app.path.join("old/note.md"), "just a line\n");
    let before = app.snapshot();
    app.ledger(&["migrate", "old/2026-01-11_05-07_auth.md", "old/note.md"])
        .exit(2)
        .err_has("note.md: its time is unknown");
    app.assert_untouched_since(&before);
    app.ledger(&["migrate", "old/2026-01-11_05-07_auth.md"]).exit(0).out_has("2026-01-11T05-07-00Z_auth-refactor.md");
    app.ledger(&["-v", "migrate", "old/2026-01-11_05-07_auth.md"]).exit(0).err_has("is an event already");
    app.ledger(&["migrate", "old/note.md", "--ts", "2026-01-01T00:00:00Z", "--agent", "me"]).exit(0);
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!((text(&json, "/goal"), text(&json, "/now")), ("Move auth", "Test login"));
    assert_eq!(json["this_session"], serde_json::json!(["[x] Moved `login`"]));
    assert_eq!((text(&json, "/decisions/tokens"), text(&json, "/open_questions/0")), ("jwt", "Rotate keys?"));
    assert_eq!(text(&json, "/other/status"), "active");
    assert_eq!(text(&json, "/other/notes/0"), "just a line");
}

/// The first implementation of the design wrote all its events in this shape, with sections inside the frontmatter.
#[test]
fn migrate_keeps_the_shape_of_sections_in_a_frontmatter() {
    let w = World::new();
    let app = w.app();
    app.write(
        "old.md",
        "---\nts: 2026-01-10T13:03:52.000Z\nagent: toast\nbranch: main\ntype: session_end\ngoal: Ship it\n\
         now: \"Create: the PR\"\nthis_session:\n- Forked it\n- \"Wrapped 25 hooks: all\"\n- two\n\
         decisions:\n  bash_c_wrapper: \"Use bash -c '...'\"\n  quotes: single\ncheckpoints:\n- phase: 5\n  status: validated\n  \
         updated: 2026-01-10T13:00:00Z\n- phase: 6\n  status: begun\nopen_questions:\n- Why?\nnext:\n- Write docs\n- Ship\n\
         files:\n  created: [a.rs, b.rs]\nempty: []\n---\n",
    );
    app.ledger(&["migrate", "old.md"]).exit(0);
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!((text(&json, "/goal"), text(&json, "/now")), ("Ship it", "Create: the PR"));
    assert_eq!(json["this_session"], serde_json::json!(["Forked it", "Wrapped 25 hooks: all", "two"]));
    assert_eq!(json["decisions"], serde_json::json!({ "bash_c_wrapper": "Use bash -c '...'", "quotes": "single" }));
    let checkpoints = json["checkpoints"].as_array().unwrap();
    let told: Vec<_> = checkpoints.iter().map(|c| (text(c, "/phase"), text(c, "/status"))).collect();
    assert_eq!(told, [("5", "validated"), ("6", "begun")]);
    assert_eq!(json["open_questions"], serde_json::json!(["Why?"]));
    let shown = app.read(CURRENT);
    assert_eq!(section(&shown, "next"), ["- Ship", "- Write docs"], "{shown}");
    assert!(shown.contains("a.rs") && shown.contains("b.rs"), "{shown}");
}

#[test]
fn migrate_reads_a_frontmatter_that_is_not_yaml_line_by_line() {
    let w = World::new();
    let app = w.app();
    app.write("m.md", "---\ndate: 2026-01-02T03:04:05Z\nagent: z\nnow: do it: now\nopen_questions:\n  - Why?\n---\n# H\n\n## Done\n- x\n");
    let out = app.ledger(&["migrate", "m.md", "--json"]).exit(0).json();
    assert_eq!((text(&out, "/agent"), text(&out, "/ts")), ("z", "2026-01-02T03:04:05Z"));
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!(text(&json, "/now"), "do it: now");
    assert_eq!(json["open_questions"], serde_json::json!(["Why?"]));
    assert_eq!(json["this_session"], serde_json::json!(["x"]));
}
