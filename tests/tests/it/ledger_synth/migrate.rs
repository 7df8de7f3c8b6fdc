//! `migrate`: handoff files become events.

use crate::support::ledger::{CURRENT, EVENTS, event, section};
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
    app.ledger(&["migrate", "old/note.md", "--ts", "2026-01-01T00:00:00Z", "--agent", "me"]).succeeds();
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!((text(&json, "/goal"), text(&json, "/now")), ("Move auth", "Test login"));
    assert_eq!(json["this_session"], serde_json::json!(["[x] Moved `login`"]));
    assert_eq!((text(&json, "/decisions/tokens"), text(&json, "/open_questions/0")), ("jwt", "Rotate keys?"));
    assert_eq!(text(&json, "/other/status/0"), "active");
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
    app.ledger(&["migrate", "old.md"]).succeeds();
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

/// Only its time and its agent are read.
#[test]
fn a_frontmatter_that_is_not_yaml_stays_word_for_word() {
    let w = World::new();
    let app = w.app();
    let front = "date: 2026-01-02T03:04:05Z\nagent: z\nnow: do it: now\nopen_questions:\n  - Why?";
    app.write("m.md", &format!("---\n{front}\n---\n# H\n\n## Done\n- x\n"));
    let out = app.ledger(&["migrate", "m.md", "--json"]).exit(0).json();
    assert_eq!((text(&out, "/agent"), text(&out, "/ts")), ("z", "2026-01-02T03:04:05Z"));
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!((&json["now"], &json["open_questions"]), (&serde_json::Value::Null, &serde_json::json!([])));
    assert_eq!(json["other"]["notes"], serde_json::json!([front]));
    assert_eq!(json["this_session"], serde_json::json!(["x"]));
    app.ledger(&["migrate", "--check", "m.md"]).exit(0);
}

/// A key may be all that somebody wrote.
#[test]
fn the_name_of_an_empty_key_is_kept() {
    let w = World::new();
    let app = w.app();
    app.write("front.md", "---\ndate: 2026-01-02\nagent: z\nsecurity review: []\nrollout: {}\nlater:\n---\n");
    app.write("map.yaml", "date: 2026-01-03\nagent: z\nblockers: []\nfiles:\n  renamed: []\n");
    app.ledger(&["migrate", "front.md", "map.yaml"]).succeeds();
    app.ledger(&["migrate", "--check", "front.md", "map.yaml"]).exit(0);
    let other = &app.ledger(&["--json"]).exit(0).any_err().json()["other"];
    assert_eq!(other["notes"], serde_json::json!(["blockers", "later", "rollout", "security review"]));
    assert_eq!(other["files"], serde_json::json!(["renamed: []"]));
}

/// The check does not know the time and the agent that `migrate` was given, and finds the event all the same.
#[test]
fn an_event_with_a_given_time_is_no_loss() {
    let w = World::new();
    let app = w.app();
    for (file, done) in [("1.md", "one"), ("2.md", "two")] {
        app.write(file, &format!("---\ndate: 2026-01-10\nagent: z\n---\n## Done\n- {done}\n"));
    }
    app.write("3.md", "just a line\n");
    app.ledger(&["migrate", "1.md"]).succeeds();
    let given = ["--ts", "2026-02-01T00:00:00Z", "--agent", "me"];
    app.ledger(&[&["migrate", "2.md", "3.md"][..], &given].concat()).succeeds();
    app.ledger(&["migrate", "--check", "2.md"]).exit(0);
    app.ledger(&["migrate", "--check", "1.md", "2.md", "3.md"]).exit(0);
    // What the file says instead is kept.
    let other = &app.ledger(&["--json"]).exit(0).any_err().json()["other"];
    assert_eq!((&other["date"], &other["agent"]), (&serde_json::json!(["2026-01-10"]), &serde_json::json!(["z"])));
}

/// Nothing of a file is lost, and what is not there is listed.
#[test]
fn migrate_proves_that_the_ledger_holds_every_text() {
    let w = World::new();
    let app = w.app();
    app.write(
        "old/handoff.yaml.md",
        "---\nsession: auth-refactor\ndate: 2026-01-10\nstatus: complete\n---\n\ngoal: Move auth\nnow: Test login\ndone_this_session:\n  - task: \"Moved login\"\n    \
         files: [src/login.rs, src/auth.rs]\n  - task: Wrote tests\n    files: []\nblockers: [no staging]\nquestions: []\ndecisions:\n  - tokens: \"jwt: signed\"\n    \
         reason: no store\n  - name: expiry\n    value: 1h\nworked:\n  - \"pairing\"\nnext:\n  - task: Rotate keys\n    owner: waffle\nfiles:\n  created: [src/login.rs]\n  modified: []\n",
    );
    app.write(
        "old/page.md",
        "# Handoff: the parser\n\nUpdated: 2026-01-11T05:07:00Z\n\n## Goal\nParse it all\n\n## Decisions\nWe settled these today:\n- lexer: by hand\n- **db:** `postgres`\n\n# Second title\n\n\
         Some prose here.\n\n---\n_synthesized:\n  event_count: 5\n  latest_ts: 2026-01-11T08:00:00Z\n  generated_at: 2026-01-11T09:15:00Z\n---\n",
    );
    let files = ["old/handoff.yaml.md", "old/page.md"];
    let check = [&["migrate", "--check"][..], &files].concat();
    let missing = app.ledger(&check).exit(1).stdout;
    assert!(
        missing.contains("/old/handoff.yaml.md:10: Moved login\n") && missing.contains("/old/page.md:1: Handoff"),
        "{missing}"
    );
    assert!(!missing.contains("event_count"), "{missing}");
    app.ledger(&[&["migrate"][..], &files].concat()).exit(0).any_out();
    assert_eq!(app.ledger(&check).exit(0).stdout, "");
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!((text(&json, "/decisions/lexer"), text(&json, "/decisions/db")), ("by hand", "`postgres`"));
    let other = &json["other"];
    assert_eq!(
        (&other["Second title"][0], &other["notes"][0]),
        (&"Some prose here.".into(), &"We settled these today:".into())
    );
    assert_eq!(
        json["this_session"],
        serde_json::json!(["Moved login\nfiles: [src/login.rs, src/auth.rs]", "Wrote tests\nfiles: []"])
    );
    assert_eq!(text(&json, "/latest_ts"), "2026-01-11T05:07:00Z");
    // A text that goes is missed, also in the archive.
    app.ledger(&["archive"]).exit(0).any_out();
    assert_eq!(app.ledger(&check).exit(0).stdout, "");
    app.write("old/page.md", "Updated: 2026-01-11T05:07:00Z\n\n## Decisions\n- lexer: by machine\n");
    app.ledger(&["migrate", "--check", "old/page.md", "--json"]).exit(1).out_has("\"line\":4,\"text\":\"by machine\"");
}

/// A text is missed though another event has the same words.
#[test]
fn each_file_is_proved_by_its_own_event() {
    let w = World::new();
    let app = w.app();
    let handoff = |now: &str| format!("---\nagent: adam\ndate: 2026-01-10\n---\nnow: {now}\n\n## Done\n- Tests pass\n");
    for (name, now) in [("1.md", "Login"), ("2.md", "Logout"), ("3.md", "Keys")] {
        app.write(name, &handoff(now));
    }
    app.ledger(&["migrate", "1.md", "2.md", "3.md"]).succeeds();
    let check = ["migrate", "--check", "1.md", "2.md", "3.md"];
    assert_eq!(app.ledger(&check).exit(0).stdout, "");
    let event = app.sh(&format!("grep -l Logout {EVENTS}/*.md")).exit(0).stdout.trim().to_owned();
    app.write(&event, &app.read(&event).replace("Tests pass", "Tests fail"));
    let missing = app.ledger(&check).exit(1).stdout;
    assert!(missing.lines().count() == 1 && missing.contains("/2.md:8: Tests pass"), "{missing}");
    // If no event is like the file, its texts may be anywhere. Only its day is nowhere.
    app.write("4.md", &handoff("Login").replace("01-10", "01-11"));
    let missing = app.ledger(&["migrate", "--check", "4.md"]).exit(1).stdout;
    assert!(missing.lines().count() == 1 && missing.ends_with("/4.md:3: 2026-01-11\n"), "{missing}");
}

/// The first tool had all sections in the frontmatter. Such an event counts as it is; other shapes are named.
#[test]
fn events_of_the_first_tool_count_as_they_are() {
    let w = World::new();
    let app = w.app();
    app.write(
        &format!("{EVENTS}/2026-01-10_toast.md"),
        "---\nts: 2026-01-10T13:03:52.000Z\nagent: toast\nbranch: main\nnow: Create it\nthis_session:\n- Forked it\n- Wrapped all\nnext:\n- Ship\n---\n",
    );
    app.write(
        &format!("{EVENTS}/other.md"),
        "---\nts: 2026-01-11T13:03:52.000Z\nagent: toast\nhost: laptop\n---\nthis_session:\n- more\n",
    );
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!(
        (text(&json, "/now"), &json["this_session"]),
        ("Create it", &serde_json::json!(["Forked it", "Wrapped all", "more"]))
    );
    assert_eq!(json["other"], serde_json::json!({ "next": ["Ship"] }));
    app.write(&format!("{EVENTS}/handoff.md"), "## Done\n- x\n");
    app.ledger(&["--no-confirm"]).exit(0).any_out().err_has("skipped").err_has("`ledger-synth migrate FILE`");
    app.write(&format!("{EVENTS}/handoff.md"), "<<<<<<< HEAD\n---\nts: x\n");
    app.ledger(&["lint"]).exit(2).out_has("handoff.md:1: git's conflict markers");
}

/// A page for readers that lost its footer says what its events say, and nothing of what it added.
#[test]
fn a_page_for_readers_is_adopted_without_its_frame() {
    let w = World::new();
    let app = w.app();
    event(
        &app,
        "a",
        "2026-01-10T00:00:00Z",
        "toast",
        "this_session:\n- one\ndecisions:\n  k: v\nopen_questions:\n- why?\n",
    );
    event(&app, "b", "2026-01-11T00:00:00Z", "waffle", "this_session:\n- two\n");
    app.ledger(&["--no-confirm"]).exit(0).any_out();
    let page = app.read(CURRENT);
    let before = app.ledger(&["--json"]).exit(0).any_err().json();
    app.write(CURRENT, page.split("\n---\n").next().unwrap());
    app.ledger(&["--no-confirm", "--adopt"]).exit(0).any_out().any_err();
    let after = app.ledger(&["--json"]).exit(0).any_err().json();
    for key in ["this_session", "decisions", "open_questions", "other"] {
        assert_eq!(before[key], after[key], "{key}");
    }
    // Code is not changed, and a YAML file says who and when in its keys.
    app.write("c.md", "Updated: 2026-01-12T00:00:00Z\n# Title\n\n## Done\n- Ran\n```\n# run it\n```\n");
    app.write("d.md", "agent: rusk\nts: 2026-01-13T00:00:00Z\nnow: go\n");
    app.ledger(&["migrate", "c.md"]).exit(0).any_out();
    app.ledger(&["migrate", "d.md"]).exit(0).out_has("2026-01-13T00-00-00Z_rusk.md");
    assert!(app.sh(&format!("cat {EVENTS}/2026-01-12*")).exit(0).stdout.contains("# run it"));
}

/// A file that nests without end is read line by line, and costs no more than another.
#[test]
fn a_file_that_nests_without_end_is_migrated_at_once() {
    let w = World::new();
    let app = w.app();
    app.write("deep.md", &format!("Updated: 2026-01-10T00:00:00Z\nnow: {}\n", "[".repeat(400_000)));
    app.write("dashes.md", &format!("Updated: 2026-01-11T00:00:00Z\nnow: x\n{}y\n", "- ".repeat(100_000)));
    for file in ["deep.md", "dashes.md"] {
        app.ledger(&["migrate", file]).exit(0).any_out();
        app.ledger(&["migrate", "--check", file]).exit(0);
    }
}

/// A page without frontmatter says in its first lines when, who and where.
#[test]
fn the_first_lines_of_a_handoff_tell_when_and_who() {
    let w = World::new();
    let app = w.app();
    app.write("full.md", "# Handoff\n\n**Date:** 2026-01-10T13:05:00Z\n**Agent:** toast\n**Branch:** `feat/parse`\n\n## Done\n- Parsed\n- Branch: other\n");
    app.write("day.md", "# Handoff\nDate: 2026-01-11 (Sunday)\nAuthor: waffle\n\n## Done\n- Tested\n");
    app.ledger(&["migrate", "full.md", "day.md"]).exit(0).any_out();
    app.ledger(&["migrate", "--check", "full.md", "day.md"]).exit(0);
    let full = app.sh(&format!("cat {EVENTS}/*_toast.md")).exit(0).stdout;
    assert!(full.contains("ts: 2026-01-10T13:05:00Z\n") && full.contains("branch: feat/parse\n"), "{full}");
    app.sh(&format!("cat {EVENTS}/*_waffle.md")).exit(0).out_has("ts: 2026-01-11T00:00:00Z\n");
    // A line below a heading is what was done.
    app.write("late.md", "## Done\n- Took long\n\nDate: 2026-01-12\n");
    app.ledger(&["migrate", "late.md"]).exit(2).err_has("its time is unknown");
}

/// What YAML would spell in another way, or take for a comment, stays as it is written, and the check sees if not.
#[test]
fn words_that_yaml_reads_otherwise_stay_as_they_are() {
    let w = World::new();
    let app = w.app();
    let fields = "done:\n  - Fixed issue #12 in the lexer\n  - 'quoted #1' # and a remark\npython: 3.10\ncommit: 1e10\nmarks: [1.10, ✅]\nnote: |\n  text # as it is\n  3.10\n";
    app.write("map.yaml", &format!("timestamp: 2026-02-02 10:00\nagent: b\n{fields}"));
    app.write("front.md", &format!("---\ndate: 2026-02-03\nagent: b\n{fields}---\n# Title\n"));
    let check = |file: &str, status: i32| app.ledger(&["migrate", "--check", file]).exit(status).stdout;
    let before = check("map.yaml", 1);
    for text in ["#12 in the lexer", ":5: and a remark", ":6: 3.10", ":7: 1e10", ":8: 1.10", ":8: ✅"] {
        assert!(before.contains(text.trim_start_matches("#12 ")), "{text}: {before}");
    }
    app.ledger(&["migrate", "map.yaml", "front.md"]).succeeds();
    let written = app.sh(&format!("cat {EVENTS}/*.md")).exit(0).stdout;
    for text in ["Fixed issue #12 in the lexer", "3.10", "1e10", "1.10", "✅", "text # as it is"] {
        assert_eq!(written.matches(text).count() % 2, 0, "{text}: {written}");
        assert!(written.contains(text), "{text}: {written}");
    }
    assert!(written.contains("ts: 2026-02-02T10:00:00Z\n"), "{written}");
    assert_eq!(check("map.yaml", 0) + &check("front.md", 0), "");
    app.sh(&format!("sed -i 's/3\\.10/3.1/; s/✅/x/' {EVENTS}/*.md")).exit(0);
    let missed = check("map.yaml", 1);
    assert!(missed.contains(": 3.10\n") && missed.contains(": ✅\n"), "{missed}");
}

/// Two handoffs with the same keys are both there, also when the earlier events are gone.
#[test]
fn no_handoff_replaces_another() {
    let w = World::new();
    let app = w.app();
    for day in [1, 2] {
        app.write(
            &format!("{day}.md"),
            &format!("---\ndate: 2026-02-0{day}\nagent: a\nsummary: The whole story of day {day}\nenv:\n  python: 3.1{day}\ntitle: Fix: day {day}\n---\n**Status:** part {day} is done\n"),
        );
    }
    let check = ["migrate", "--check", "1.md", "2.md"];
    app.ledger(&["migrate", "1.md", "2.md"]).succeeds();
    assert_eq!(app.ledger(&check).exit(0).stdout, "");
    app.ledger(&["archive"]).succeeds();
    app.ledger(&["prune", "--retention", "0s"]).succeeds();
    assert_eq!(app.ledger(&check).exit(0).stdout, "");
}

/// Only lines between the title and the first text tell who, when and where.
#[test]
fn an_item_is_no_line_of_the_head() {
    let w = World::new();
    let app = w.app();
    let of = |name: &str, text: &str| {
        app.write(name, text);
        let json = app.ledger(&["migrate", "--ts", "2026-01-01T00:00:00Z", name, "--json"]).exit(0).json();
        let event = std::fs::read_to_string(crate::support::world::text(&json, "/path")).unwrap();
        let field = |key: &str| event.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().to_owned();
        (field("ts: "), field("agent: "), field("branch: "))
    };
    let given = "2026-01-01T00:00:00Z";
    let top = app.path.file_name().unwrap().to_str().unwrap();
    let list = of("list.md", "- date: 2026-02-01\n  agent: one\n- agent: two\n  branch: feat/two\n");
    assert_eq!((&*list.1, list.2.contains("feat")), (top, false));
    let below = of("below.md", "# Done\n- Agent: we replaced the agent loop\n- Branch: gone\n");
    assert_eq!((&*below.1, &*below.0, below.2.contains("gone")), (top, given, false));
    let fence = of("fence.md", "# Title\n```\nAgent: code\n```\n");
    assert_eq!(&*fence.1, top);
    let long = of("long.md", "# Title\nAgent: We fixed the long bug of the loop\nBranch: `feat/cache` → `main`\n");
    assert_eq!((&*long.1, &*long.2), (top, "feat/cache"));
    let clock = of("clock.md", "# T\nDate: 2026-01-10 18:00\nAgent: z\nDone it\n");
    assert_eq!((&*clock.0, &*clock.1), ("2026-01-10T18:00:00Z", "z"));
    let day = of("day.md", "# T\nDate: 2026-01-10\nDone it\n");
    assert_eq!(day.0, given, "a time that is given says more than a day");
    for name in ["list.md", "below.md", "fence.md", "long.md", "clock.md", "day.md"] {
        assert_eq!(app.ledger(&["migrate", "--check", name]).exit(0).stdout, "", "{name}");
    }
}

/// Each field stays as it is written, whatever is odd about the others.
#[test]
fn odd_fields_of_a_frontmatter_are_kept() {
    let w = World::new();
    let app = w.app();
    app.write(
        "odd.md",
        "---\n\u{a0}\nupdated: 2026-01-10T13:00:00Z\ncreated: 2025-12-01\nagent: a\nk: fix it #12\nmore: first line\n  goes on #3 here\né:\u{a0}\n---\n# T\n\n## art\n\n## Done\n- we start\n",
    );
    app.write("feed.md", "---\nts: 2026-01-10T13:00:00Z\n\u{c}\n---\n- x\n");
    app.ledger(&["migrate", "odd.md", "feed.md"]).succeeds();
    let written = app.sh(&format!("cat {EVENTS}/*_a.md")).exit(0).stdout;
    for text in ["fix it #12", "2025-12-01", "- art\n"] {
        assert!(written.contains(text), "{text}: {written}");
    }
    let missing = app.ledger(&["migrate", "--check", "odd.md"]).any_status().stdout.clone();
    // What cannot be kept is named.
    assert!(missing.lines().all(|line| line.contains("3 here") || line.ends_with(": é")), "{missing}");
}

/// Such sections are found with their names in quotes or in brackets, and texts in maps stay as they are.
#[test]
fn texts_of_a_frontmatter_stay_as_they_are() {
    let w = World::new();
    let app = w.app();
    let front = "\"this_session\":\n- fix: \"🎉 it → \\\"all\\\"\"\nfindings:\n- cache: C:\\temp\\new\n\"open_questions\":\n- why?\n";
    app.write(
        &format!("{EVENTS}/a.md"),
        &format!("---\nts: 2026-01-10T00:00:00Z\nagent: a\ngoal: Merge PR #45 today\n{front}decisions:\n- auth: 'a → b'\n---\n"),
    );
    let flow = r#"{"ts": "2026-01-11T00:00:00Z", "agent": "b", "now": "all in one", "this_session": ["one"]}"#;
    app.write(&format!("{EVENTS}/b.md"), &format!("---\n{flow}\n---\n"));
    let answer = app.ledger(&["--json"]).succeeds().json();
    assert_eq!((&answer["now"], &answer["goal"]), (&"all in one".into(), &"Merge PR #45 today".into()));
    assert_eq!(answer["this_session"], serde_json::json!(["fix: 🎉 it → \"all\"", "one"]));
    assert_eq!(answer["other"]["findings"], serde_json::json!(["cache: C:\\temp\\new"]));
    assert_eq!(answer["open_questions"], serde_json::json!(["why?"]));
    assert_eq!(answer["decisions"]["auth"], "a → b");
}

/// What a person wrote below the footer of a generated page is no part of the footer.
#[test]
fn what_stands_below_a_footer_is_kept() {
    let w = World::new();
    let app = w.app();
    let footer = "_synthesized:\n  event_count: 5\n  latest_ts: 2026-01-11T08:00:00Z\n---\n";
    let page = format!(
        "# H\n\nUpdated: 2026-01-10T13:00:00Z\n\n## Done\n- one thing\n\n---\n{footer}\n## Later\n- another thing\n"
    );
    app.write("h.md", &page);
    app.ledger(&["migrate", "--check", "h.md"]).exit(1).out_has("h.md:15: another thing");
    app.ledger(&["migrate", "h.md"]).succeeds();
    app.ledger(&["migrate", "--check", "h.md"]).exit(0).any_out();
    app.ledger(&["--json"]).succeeds().out_has("another thing").out_has("one thing");
    // Within it too, and if nobody closed it.
    for (name, more) in [
        ("open", "  event_count: 5\n\n## Later\n- this too\n"),
        ("inside", "  event_count: 5\n## Later\n- this too\n---\n"),
    ] {
        let page = format!("# H\n\nUpdated: 2026-01-11T13:00:00Z\n\n## Done\n- {name}\n\n---\n_synthesized:\n{more}");
        app.write(&format!("{name}.md"), &page);
        app.ledger(&["migrate", &format!("{name}.md")]).exit(0).any_out();
        app.ledger(&["migrate", "--check", &format!("{name}.md")]).exit(0);
    }
    let later = &app.ledger(&["--json"]).exit(0).any_err().json()["other"]["Later"];
    assert_eq!(later, &serde_json::json!(["another thing", "this too"]));
}

#[test]
fn the_footer_of_the_first_tool_is_no_text() {
    let w = World::new();
    let app = w.app();
    let footer =
        "\n---\n\n_Synthesized from:_\n\n- Events: 9\n- Latest: 2026-01-01\n- Branches: a, b\n- Generated: x\n";
    app.write("old.md", &format!("# Current\n\n## Open Questions\n\n- why?\n{footer}"));
    app.ledger(&["migrate", "old.md", "--ts", "2026-01-02T00:00:00Z", "--agent", "ada"]).exit(0).any_out().any_err();
    let text: String = app.sh(&format!("cat {EVENTS}/*.md")).exit(0).stdout.into();
    assert!(text.contains("why?") && !text.contains("Synthesized") && !text.contains("Branches"), "{text}");
    app.ledger(&["migrate", "--check", "old.md"]).exit(0).any_out().any_err();
    // Nor if something follows, which counts.
    for more in ["- Latest: of mine\n", "\n## Open Questions\n- and then?\n"] {
        app.write("old.md", &format!("# Current\n\n## Open Questions\n\n- why?\n{footer}{more}"));
        app.sh(&format!("rm -r {EVENTS}")).exit(0);
        app.ledger(&["migrate", "old.md", "--ts", "2026-01-02T00:00:00Z", "--agent", "ada"])
            .exit(0)
            .any_out()
            .any_err();
        let text: String = app.sh(&format!("cat {EVENTS}/*.md")).exit(0).stdout.into();
        let said = more.lines().last().unwrap().trim_start_matches("- ");
        assert!(text.contains(said) && text.contains("why?") && !text.contains("Branches"), "{text}");
    }
}

#[test]
fn a_heading_ends_the_list_of_a_key() {
    let w = World::new();
    let app = w.app();
    app.write("a.md", "# H\n\nNow: w\n\nDecisions:\n\n- use X\n\n## Pointers\n\n- p\n");
    app.ledger(&["migrate", "a.md", "--ts", "2026-01-02T00:00:00Z", "--agent", "ada"]).exit(0).any_out().any_err();
    let text: String = app.sh(&format!("cat {EVENTS}/*.md")).exit(0).stdout.into();
    assert!(text.contains("Pointers:\n- p\n") && text.contains("use X"), "{text}");
}

/// What is decided or asked below such a heading is nothing, and the heading itself is a word of the page.
#[test]
fn a_heading_below_which_only_none_stands_is_kept() {
    let w = World::new();
    let app = w.app();
    app.write(
        "2026-01-01.md",
        "## Decisions\n\n### Cache\n\nNone.\n\n### Db\n\n- pg\n\n## Open Questions\n\n### Blocking\n\n- none\n",
    );
    app.ledger(&["migrate", "2026-01-01.md"]).succeeds();
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!(json["decisions"], serde_json::json!({ "Db": "pg" }));
    assert_eq!(json["open_questions"], serde_json::json!([]));
    assert_eq!(json["other"]["notes"], serde_json::json!(["Blocking: none", "Cache: None."]));
    app.ledger(&["migrate", "--check", "2026-01-01.md"]).exit(0);
}

/// People write `**Decisions:**` alone on its line where others write a heading.
#[test]
fn a_bold_label_alone_on_its_line_is_a_heading() {
    let w = World::new();
    let app = w.app();
    let page = "# H\n\n**Goal:** ship\n**Completed:**\n- wrote it\n**Decisions:**\n- lexer: by hand\n\n**Open Questions:**\n\n- why?\n\n**Pointers:**\n- see x\n\n**Now:** review\n\n## Decisions\n### Auth\n**Decision:**\n\n- use tokens\n";
    app.write("a.md", page);
    app.ledger(&["migrate", "a.md", "--ts", "2026-01-02T00:00:00Z", "--agent", "ada"]).exit(0).any_out().any_err();
    app.ledger(&["migrate", "--check", "a.md"]).exit(0).any_out().any_err();
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!((&json["goal"], &json["now"]), (&"ship".into(), &"review".into()), "{json}");
    assert_eq!(json["this_session"], serde_json::json!(["wrote it"]));
    assert_eq!(json["open_questions"], serde_json::json!(["why?"]));
    assert_eq!(json["decisions"]["lexer"], "by hand");
    assert!(json["decisions"]["Auth"].as_str().is_some_and(|text| text.contains("use tokens")), "{json}");
    assert_eq!(json["other"]["Pointers"], serde_json::json!(["see x"]));
    // So does the page that `--adopt` replaces.
    app.sh(&format!("rm -r {EVENTS}")).exit(0);
    app.write(CURRENT, "**Decisions:**\n\n- parser: by hand\n");
    app.ledger(&["--adopt", "--yes"]).exit(0).any_out().any_err();
    assert_eq!(app.ledger(&["--json"]).exit(0).any_err().json()["decisions"]["parser"], "by hand");
}
