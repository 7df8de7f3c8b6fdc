//! Programs that write from an old view: what arrived meanwhile stays, and a person decides about the difference.

use serde_json::Value;

use crate::support::overlay::{SETTINGS, Scene, configure, edited, id, scene};
use crate::support::world::{World, text, write};

/// A file in three workspaces' worth of history: its old text, what B made of it, what a program writes that knows the
/// old text only, and what everybody has then.
const CASES: [(&str, [&str; 4]); 10] = [
    (
        ".data/x.json",
        [
            r#"{"a": 1, "gone": true, "list": ["one"]}"#,
            r#"{"a": 2, "list": ["one", "two"], "env": {"B": "1"}}"#,
            r#"{"a": 1, "gone": true, "list": ["one"], "own": 1}"#,
            r#"{"a": 2, "list": ["one", "two"], "env": {"B": "1"}, "own": 1}"#,
        ],
    ),
    (".env", ["A=1\nGONE=1\n", "A=2\nB=1\n", "A=1\nGONE=1\nOWN=1\n", "A=2\nB=1\nOWN=1\n"]),
    (
        "x.jsonl",
        ["{\"n\":1}\n", "{\"n\":1}\n{\"n\":2}\n", "{\"n\":1}\n{\"own\":1}\n", "{\"n\":1}\n{\"n\":2}\n{\"own\":1}\n"],
    ),
    (".data/x.toml", ["a = 1\n", "a = 2\nb = 1\n", "a = 1\nown = 1\n", "a = 2\nb = 1\nown = 1\n"]),
    (".data/x.md", ["# One\n\n- a\n", "# One\n\n- a\n- b\n", "# One\n\n- a\n- own\n", "# One\n\n- a\n- b\n- own\n"]),
    // A record of which both have changed something stays one.
    (
        ".data/records.json",
        [
            r#"{"t": [{"id": 1, "s": "open"}, {"id": 2, "s": "open"}]}"#,
            r#"{"t": [{"id": 1, "s": "done"}, {"id": 2, "s": "open"}]}"#,
            r#"{"t": [{"id": 1, "s": "open", "own": 1}, {"id": 2, "s": "open"}]}"#,
            r#"{"t": [{"id": 1, "s": "done", "own": 1}, {"id": 2, "s": "open"}]}"#,
        ],
    ),
    (
        ".data/list.json",
        [
            r#"[{"label": "a", "s": "open"}, {"x": 1}]"#,
            r#"[{"label": "a", "s": "done"}, {"x": 1}]"#,
            r#"[{"label": "a", "s": "open", "own": 1}, {"x": 1}]"#,
            r#"[{"label": "a", "s": "done", "own": 1}, {"x": 1}]"#,
        ],
    ),
    (
        ".data/records.yaml",
        [
            "t:\n  - id: 1\n    s: open\n",
            "t:\n  - id: 1\n    s: done\n",
            "t:\n  - id: 1\n    s: open\n    own: 1\n",
            "t:\n  - id: 1\n    s: done\n    own: 1\n",
        ],
    ),
    (
        ".data/records.toml",
        [
            "[[t]]\nid = 1\ns = \"open\"\n",
            "[[t]]\nid = 1\ns = \"done\"\n",
            "[[t]]\nid = 1\ns = \"open\"\nown = 1\n",
            "[[t]]\nid = 1\ns = \"done\"\nown = 1\n",
        ],
    ),
    (
        "records.jsonl",
        [
            "{\"id\":\"b1\",\"s\":\"open\"}\n{\"n\":1}\n",
            "{\"id\":\"b1\",\"s\":\"done\"}\n{\"n\":1}\n{\"n\":2}\n",
            "{\"id\":\"b1\",\"s\":\"open\",\"own\":1}\n{\"n\":1}\n",
            "{\"id\":\"b1\",\"s\":\"done\",\"own\":1}\n{\"n\":1}\n{\"n\":2}\n",
        ],
    ),
];

/// Whether a text has this content; the layout of JSON and the order of TOML's keys may differ.
fn is_like(path: &str, found: &str, wanted: &str) -> bool {
    let json = |text: &str| serde_json::from_str::<Value>(text).ok();
    let sorted = |text: &str| text.lines().map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("json") => json(found).is_some() && json(found) == json(wanted),
        Some("toml") => sorted(found) == sorted(wanted),
        _ => found == wanted,
    }
}

#[track_caller]
fn all_are_like(s: &Scene<'_>, path: &str, wanted: &str) {
    for found in [s.text(path), s.a.read(path), s.b.read(path)] {
        assert!(is_like(path, &found, wanted), "{path}: {found}\nwanted: {wanted}");
    }
}

/// A scene in which B's change has arrived in A.
fn arrived<'w>(w: &'w World, path: &str, old: &str, others: &str) -> Scene<'w> {
    let s = scene(w);
    s.put(path, old);
    s.attach();
    s.b.write(path, others);
    s.sync(0).any_err();
    s.all_are(path, others);
    s
}

#[test]
fn a_writer_with_an_old_view_takes_nothing_away_and_reverts_nothing() {
    for (path, [old, others, stale, all]) in CASES {
        let w = World::new();
        let s = arrived(&w, path, old, others);
        s.a.write(path, stale);
        let out = s.sync(0);
        out.err_has("was written from an old view").err_has("lets the difference through");
        all_are_like(&s, path, all);
        let held = s.held();
        assert_eq!((held.len(), text(&held[0], "/path")), (1, path));
        // A second pass has nothing to do, and the same difference again makes no second part.
        assert_eq!(s.sync(0).stdout, "");
        s.a.write(path, stale);
        let again = s.sync(0);
        assert!(!again.stderr.contains("old view"), "{again}");
        all_are_like(&s, path, all);
        assert_eq!(s.held_ids(), [id(&held[0])]);
        s.app.overlay(&["check"]).exit(0).any_out();
        // A later text that knows what arrived closes it.
        s.a.write(path, &s.a.read(path).replace("own", "mine").replace("OWN", "MINE"));
        s.sync(0).any_err();
        assert_eq!(s.held(), Vec::<Value>::new(), "{path}");
    }
}

#[test]
fn accept_lets_the_difference_through_and_reject_drops_it() {
    for (path, [old, others, stale, all]) in CASES {
        let w = World::new();
        let s = arrived(&w, path, old, others);
        s.a.write(path, stale);
        s.sync(0).any_err();
        let part = s.held_ids().remove(0);
        assert_eq!(s.app.overlay(&["show", &part]).exit(0).stdout, stale);
        let foreseen = s.app.overlay(&["accept", "-n", &part]).exit(0);
        foreseen.out_has("would accept").out_has(&format!("would pull {path}"));
        all_are_like(&s, path, all);
        s.app.overlay(&["reject", &part]).exit(0).out_has(&format!("rejected {path}"));
        assert_eq!(s.held(), Vec::<Value>::new());
        all_are_like(&s, path, all);
        s.a.write(path, stale);
        s.sync(0).err_has("old view");
        s.app.overlay(&["accept", &s.held_ids()[0]]).exit(0).out_has(&format!("accepted {path}"));
        all_are_like(&s, path, stale);
        assert_eq!(s.held(), Vec::<Value>::new());
        s.app.overlay(&["accept", &part]).exit(1).err_has("nothing is held");
    }
}

/// Who has seen what arrived edits it like anything else.
#[test]
fn an_edit_of_a_record_that_arrived_leaves_one_record() {
    for (path, [old, others, edited]) in [
        (
            ".data/x.json",
            [
                r#"[{"id": 1, "s": "open"}]"#,
                r#"[{"id": 1, "s": "done"}, {"id": 2, "s": "open"}]"#,
                r#"[{"id": 1, "s": "done", "by": "a"}, {"id": 2, "s": "closed"}]"#,
            ],
        ),
        (
            ".data/x.yaml",
            ["- id: 1\n  s: open\n", "- id: 1\n  s: done\n- id: 2\n", "- id: 1\n  s: late\n- id: 2\n  s: new\n"],
        ),
        (
            "x.jsonl",
            [
                "{\"id\":1,\"s\":\"open\"}\n",
                "{\"id\":1,\"s\":\"done\"}\n{\"id\":2,\"s\":\"open\"}\n",
                "{\"id\":1,\"s\":\"done\",\"by\":\"a\"}\n{\"id\":2,\"s\":\"closed\"}\n",
            ],
        ),
    ] {
        let w = World::new();
        let s = arrived(&w, path, old, others);
        s.a.write(path, edited);
        assert_eq!(s.sync(0).stderr, "", "{path}");
        s.all_are(path, edited);
    }
}

#[test]
fn a_line_that_came_with_a_moved_line_is_not_lost() {
    let w = World::new();
    let s = arrived(&w, ".data/x.md", "a\nb\n", "b\na\nX\n");
    s.a.write(".data/x.md", "a\nb\nc\n");
    s.sync(0).err_has("was written from an old view").err_has("lets the difference through");
    for text in [s.text(".data/x.md"), s.a.read(".data/x.md"), s.b.read(".data/x.md")] {
        assert!(text.contains("X\n") && text.contains("c\n"), "{text}");
    }
    assert_eq!(s.held().len(), 1);
}

/// The old text itself, with nothing of its own.
#[test]
fn a_text_that_was_there_before_is_no_edit() {
    let w = World::new();
    let s = arrived(&w, ".env", "A=1\n", "A=2\nB=1\n");
    s.a.write(".env", "A=1\n");
    s.sync(0).err_has("reverts A").err_has("lacks B");
    s.all_are(".env", "A=2\nB=1\n");
    s.app.overlay(&["accept", &s.held_ids()[0]]).succeeds();
    s.all_are(".env", "A=1\n");
}

#[test]
fn what_did_not_arrive_may_go_and_values_of_ones_own_are_edits() {
    let w = World::new();
    let s = arrived(&w, ".env", "A=1\nKEPT=1\n", "A=2\nKEPT=1\nB=1\n");
    s.a.write(".env", "A=3\nB=1\n");
    assert_eq!(s.sync(0).stderr, "");
    s.all_are(".env", "A=3\nB=1\n");
    // Who added an entry may remove it, as it did not arrive there.
    s.b.write(".env", "A=3\n");
    assert_eq!(s.sync(0).stderr, "");
    s.all_are(".env", "A=3\n");
    // A file that arrives as a whole was not there for an old view.
    s.put(".data/new.json", r#"{"a": 1, "b": 2}"#);
    s.sync(0).any_err();
    s.a.write(".data/new.json", r#"{"a": 1}"#);
    assert_eq!(s.sync(0).stderr, "");
    s.all_are(".data/new.json", r#"{"a": 1}"#);
}

#[test]
fn drop_restore_and_edits_in_the_overlay_act_at_once() {
    let w = World::new();
    let s = arrived(&w, ".env", "A=1\n", "A=1\nB=1\nC=1\n");
    s.app.overlay(&["drop", ".env", "B"]).succeeds();
    s.all_are(".env", "A=1\nC=1\n");
    s.put(".env", "A=1\n");
    s.sync(0).any_err();
    s.all_are(".env", "A=1\n");
    let events = s.app.overlay(&["log", "--json"]).exit(0).json_lines();
    let full = events
        .iter()
        .rev()
        .filter_map(|e| e["from"].as_str())
        .find(|hash| s.app.overlay(&["show", hash]).any_status().any_err().stdout == "A=1\nB=1\nC=1\n");
    s.a.overlay(&["restore", full.unwrap()]).succeeds();
    assert!(!s.sync(1).stderr.contains("old view"));
}

#[test]
fn such_a_part_stops_neither_detach_nor_removal() {
    let w = World::new();
    let s = arrived(&w, ".env", "A=1\n", "A=1\nB=1\n");
    s.a.write(".env", "A=1\nOWN=1\n");
    s.app.overlay(&["hook", "run", "pre-remove", "../a"]).exit(0).any_err();
    assert_eq!(s.text(".env"), "A=1\nB=1\nOWN=1\n");
    assert_eq!(s.held().len(), 1);
    s.a.overlay(&["detach"]).succeeds().any_err();
    s.app.git(&["worktree", "remove", "--force", "../a"]);
    s.sync(0).any_err();
    assert_eq!(s.text(".env"), "A=1\nB=1\nOWN=1\n");
}

/// Lists that only grow come first: what they get back is no part.
#[test]
fn lists_that_only_grow_have_no_part() {
    let w = World::new();
    let list = |items: &str| format!("{{\"permissions\": {{\"allow\": [{items}]}}}}");
    let s = arrived(&w, SETTINGS, &list("\"Read\""), &list("\"Read\", \"Edit\""));
    s.a.write(SETTINGS, &list("\"Read\", \"Write\""));
    assert!(!s.sync(0).stderr.contains("old view"));
    s.all_are(SETTINGS, &list("\"Read\", \"Edit\", \"Write\""));
    assert_eq!(s.held(), Vec::<Value>::new());
}

/// A gate looks at the text with what arrived: many entries that came at once are not many that vanished.
#[test]
fn many_entries_that_arrived_at_once_do_not_look_like_a_half_written_file() {
    let w = World::new();
    let many: String = (0..20).map(|n| format!("V{n}=1\n")).collect();
    let s = arrived(&w, ".env", "A=1\n", &format!("A=1\n{many}"));
    s.a.write(".env", "A=1\nOWN=1\n");
    s.sync(0).err_has("old view");
    s.all_are(".env", &format!("A=1\n{many}OWN=1\n"));
    // In a list that only grows they are put back before anything is compared with the old view.
    let allow = |entries: &[String]| serde_json::json!({ "permissions": { "allow": entries } }).to_string();
    let names = |of: &str| (0..9).map(|n| format!("Bash({of} {n})")).collect::<Vec<_>>();
    let (theirs, own) = (names("b"), names("a"));
    let w = World::new();
    let s = arrived(&w, SETTINGS, &allow(&own[..1]), &allow(&[&own[..1], &theirs].concat()));
    s.a.write(SETTINGS, &allow(&own[..2]));
    s.sync(0).any_err();
    let all: Value = serde_json::from_str(&s.text(SETTINGS)).unwrap();
    assert_eq!(all["permissions"]["allow"].as_array().unwrap().len(), 11, "{all}");
    // What it only grows by has not vanished from it.
    s.a.write(SETTINGS, &allow(&own));
    s.sync(0).any_err();
    s.a.write(SETTINGS, "{\"permissions\": {}}");
    s.sync(0).any_err();
    let all: Value = serde_json::from_str(&s.text(SETTINGS)).unwrap();
    assert_eq!(all["permissions"]["allow"].as_array().unwrap().len(), 18, "{all}");
}

/// A program that keeps writing what it once read, while others go on.
#[test]
fn a_writer_that_loops_loses_nothing_of_others() {
    let w = World::new();
    let s = scene(&w);
    s.put(SETTINGS, "{\"env\": {}}");
    s.attach();
    let mut wanted = serde_json::json!({ "env": {} });
    for n in 0..40 {
        s.a.write(SETTINGS, &format!("{{\"env\": {{}}, \"turn\": {n}}}"));
        let mut theirs: Value = serde_json::from_str(&s.b.read(SETTINGS)).unwrap();
        theirs["env"][format!("B{n}")] = Value::from(n);
        s.b.write(SETTINGS, &theirs.to_string());
        wanted["env"][format!("B{n}")] = Value::from(n);
        s.sync(0).any_err();
        wanted["turn"] = Value::from(n);
        let now: Value = serde_json::from_str(&s.text(SETTINGS)).unwrap();
        assert_eq!(now, wanted, "turn {n}");
    }
    assert_eq!(s.held().len(), 1);
}

/// What is remembered of a day counts, however many times something arrived since; what is older only while it is among
/// the last sixteen.
#[test]
fn an_old_view_counts_for_a_day_or_sixteen_arrivals() {
    for (time, is_old) in [("2026-01-01T23:00:00Z", true), ("2026-01-03T00:00:00Z", false)] {
        let w = World::new();
        let s = scene(&w);
        let at = |time: &str| {
            s.app.run_with("overlay-sync", &["sync"], &[("SHOPFLOOR_NOW", time)]).succeeds().any_err();
        };
        s.put(".env", "A=1\n");
        s.attach();
        s.b.write(".env", "A=1\nB=1\n");
        at("2026-01-01T00:00:00Z");
        for n in 0..20 {
            s.b.write(".env", &format!("A=1\nB=1\nN={n}\n"));
            at(time);
        }
        s.a.write(".env", "A=1\nN=19\n");
        at(time);
        assert_eq!(s.text(".env").contains("B=1"), is_old, "{time}");
    }
}

#[test]
fn a_killed_run_forgets_no_arrival_and_no_part() {
    let w = World::new();
    let s = edited(&w, ".env", "A=1\n", "A=1\n");
    s.b.write(".env", "A=1\nB=1\n");
    // The manifest of A is not saved: the run dies after A was written.
    let manifest = std::fs::read_dir(s.overlay(".overlay-sync/workspaces")).unwrap().map(|e| e.unwrap().path());
    let before: Vec<_> = manifest.map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect();
    s.sync(0).any_err();
    let doing = s.overlay(".overlay-sync/doing.jsonl");
    assert!(!doing.exists());
    for (path, bytes) in &before {
        std::fs::write(path, bytes).unwrap();
    }
    let id = |name: &str| {
        let marks = if name == "a" { s.app.path.join(".git/worktrees/a") } else { s.app.path.join(".git/worktrees/b") };
        std::fs::read_to_string(marks.join("shopfloor/overlay-sync/id")).unwrap()
    };
    let hash =
        |text: &str| s.app.sh(&format!("printf '{text}' | sha256sum | cut -c1-64")).exit(0).stdout.trim().to_owned();
    let (old, new) = (hash("A=1\\n"), hash("A=1\\nB=1\\n"));
    let planned = |workspace: Value, writes: bool| {
        format!(
            "{}\n",
            serde_json::json!({ "v": 1, "workspace": workspace, "path": ".env", "overlay": new, "here": new, "base": new, "writes_here": writes })
        )
    };
    write(&doing, &(planned(Value::from(id("b")), false) + &planned(Value::Null, true)));
    assert_ne!(old, new);
    s.a.write(".env", "A=1\nB=1\n");
    s.sync(0).any_err();
    s.a.write(".env", "A=1\nOWN=1\n");
    s.sync(0).err_has("old view");
    s.all_are(".env", "A=1\nB=1\nOWN=1\n");
}

/// Where a workspace's changes stay in it, an old view is its own affair.
#[test]
fn what_goes_down_only_is_not_looked_at() {
    let w = World::new();
    configure(&w, "[overlay-sync.path.\".env\"]\ndirection = \"down\"\n");
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.put(".env", "A=1\nB=1\n");
    s.sync(0).any_err();
    s.a.write(".env", "A=1\n");
    assert_eq!(s.sync(0).stderr, "");
    assert_eq!((s.a.read(".env"), s.text(".env")), ("A=1\n".into(), "A=1\nB=1\n".into()));
}

/// An old value is old however it is spelled, and a comment can arrive too.
#[test]
fn an_old_view_in_the_writers_own_spelling_reverts_nothing() {
    for (path, old, others, stale, all) in [
        (".env", "A=1\n", "A=2\n", "export A=\"1\"\nOWN=1\n", "A=2\nOWN=1\n"),
        (
            ".data/x.yaml",
            "a: 1\n",
            "# why\na: 2\nb: 1\n",
            "a: 1 # mine\nown: 1\n",
            "# why\na: 2 # mine\nown: 1\nb: 1\n",
        ),
        (".data/x.toml", "a = 1\n", "# why\na = 2\n", "a = 1\nown = 1\n", "# why\na = 2\nown = 1\n"),
        (
            ".data/x.jsonc",
            "{\n  \"a\": 1\n}\n",
            "{\n  // why\n  \"a\": 1\n}\n",
            "{\n  \"a\": 1,\n  \"own\": 1\n}\n",
            "{\n  // why\n  \"a\": 1,\n  \"own\": 1\n}\n",
        ),
    ] {
        let w = World::new();
        let s = arrived(&w, path, old, others);
        s.a.write(path, stale);
        s.sync(0).err_has("was written from an old view");
        s.all_are(path, all);
        assert_eq!(s.held().len(), 1, "{path}");
    }
}

/// A program removes its file, a pass fills it again, and the program writes what it knew and something new, part of
/// which the overlay has already.
#[test]
fn a_file_that_was_filled_again_is_no_text_that_its_program_knew() {
    for (path, [old, other, filled, written, all]) in [
        (".env", ["A=1\n", "A=1\nOWN=1\n", "A=1\nOWN=1\nB=1\n", "A=1\nOWN=1\nNEW=1\n", "A=1\nOWN=1\nB=1\nNEW=1\n"]),
        ("x.jsonl", ["1\n", "1\n2\n", "1\n2\n3\n", "1\n2\n4\n", "1\n2\n3\n4\n"]),
    ] {
        let w = World::new();
        let s = scene(&w);
        s.put(path, old);
        s.attach();
        s.a.write(path, other);
        s.sync(0).any_err();
        std::fs::remove_file(s.a.path.join(path)).unwrap();
        s.b.write(path, filled);
        s.sync(0).any_err();
        assert_eq!(s.a.read(path), filled);
        s.a.write(path, written);
        s.sync(0).any_err();
        all_are_like(&s, path, all);
        // The same where the program brings something that only the new text has.
        std::fs::remove_file(s.a.path.join(path)).unwrap();
        let more = filled.replace("B=1", "B=1\nC=1").replace("3\n", "3\n5\n6\n");
        s.b.write(path, &more.replace("A=1\nOWN=1\n", "A=1\nOWN=1\nNEW=1\n").replace("2\n3", "2\n4\n3"));
        s.sync(0).any_err();
        s.a.write(path, &written.replace("NEW=1\n", "NEW=1\nB=1\n").replace("4\n", "4\n3\n5\n"));
        s.sync(0).any_err();
        assert!(s.text(path).contains(if path == ".env" { "C=1" } else { "6" }), "{}", s.text(path));
    }
}

/// A text that is only half written has an old view too, but what its writer knew is not removed by that.
#[test]
fn a_half_written_text_is_held_whatever_has_arrived() {
    let lines = |name: &str, n: usize| (0..n).map(|i| format!("{name}_{i}\n")).collect::<String>();
    for cut in [String::new(), lines("own", 2)] {
        let w = World::new();
        let s = scene(&w);
        s.put(".data/x.md", "# start\n");
        s.attach();
        s.a.write(".data/x.md", &format!("# start\n{}", lines("own", 12)));
        s.sync(0).any_err();
        s.b.write(".data/x.md", &format!("{}{}", s.b.read(".data/x.md"), lines("theirs", 60)));
        s.sync(0).any_err();
        s.a.write(".data/x.md", &cut);
        s.sync(1).err_has("is held");
        assert!(s.text(".data/x.md").contains("own_11\n"), "{cut:?}");
        // The rest of it comes.
        s.a.write(".data/x.md", &format!("# start\n{}more\n", lines("own", 12)));
        s.sync(0).any_err();
        for line in ["own_11\n", "theirs_59\n", "more\n"] {
            assert!(s.b.read(".data/x.md").contains(line), "{line}");
        }
    }
}
