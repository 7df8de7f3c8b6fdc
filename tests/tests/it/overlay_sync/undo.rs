//! What the log says, and how one change is taken back.

use serde_json::Value;

use crate::support::overlay::{Scene, edited, scene};
use crate::support::sweep::sweep_tool;
use crate::support::world::{World, text, write};

/// The records of the log for a file.
fn log(s: &Scene<'_>, path: &str) -> Vec<Value> {
    let records = s.app.overlay(&["log", "--json"]).exit(0).json_lines();
    records.into_iter().filter(|record| text(record, "/path") == path).collect()
}

/// The id of the last push of a file.
fn pushed(s: &Scene<'_>, path: &str) -> String {
    let all = log(s, path);
    let last = all.iter().rev().find(|record| text(record, "/rule") == "push").unwrap();
    text(last, "/id").to_owned()
}

#[test]
fn the_log_says_what_was_changed_and_no_content() {
    let w = World::new();
    let s = scene(&w);
    let path = ".data/x.json";
    s.put(path, r#"{"env": {"B": "secret-one"}, "model": "x", "list": ["a"]}"#);
    s.attach();
    s.a.write(path, r#"{"env": {"C": "secret-two"}, "model": "y", "list": ["a", "b"]}"#);
    s.sync(0).any_err();
    let out = s.app.overlay(&["log"]).exit(0);
    let id = pushed(&s, path);
    let line = out.stdout.lines().find(|line| line.contains(&id)).unwrap();
    assert!(line.ends_with("removes env.B; changes model; adds env.C, list[1]"), "{line}");
    assert!(!out.stdout.contains("secret"), "{out}");
    let record = log(&s, path).into_iter().find(|record| text(record, "/id") == id).unwrap();
    assert_eq!(record["adds"], serde_json::json!(["env.C", "list[1]"]));
    assert_eq!((text(&record, "/removes/0"), text(&record, "/changes/0")), ("env.B", "model"));
    let hashes = format!("{}..{}", &text(&record, "/from")[..12], &text(&record, "/to")[..12]);
    assert!(line.contains(&hashes), "{line}");
    // A log of an earlier version.
    let old =
        r#"{"v":1,"time":"2026-01-01T00:00:00Z","workspace":"/w","path":".env","rule":"push","from":null,"to":null}"#;
    s.app.sh(&format!("echo '{old}' >> {}", s.overlay(".overlay-sync/log.jsonl").display())).exit(0);
    assert_eq!(text(log(&s, ".env").last().unwrap(), "/rule"), "push");
}

#[test]
fn undo_takes_back_one_change_and_leaves_later_ones() {
    for (path, texts, left) in [
        (
            ".data/x.json",
            [r#"{"a": 1, "b": 1}"#, r#"{"a": 2, "new": true}"#, r#"{"a": 2, "new": true, "later": 1}"#],
            r#"{"a":1,"b":1,"later":1}"#,
        ),
        (".env", ["A=1\nB=1\n", "A=2\nNEW=1\n", "A=2\nNEW=1\nLATER=1\n"], "A=1\nB=1\nLATER=1\n"),
        (".data/x.md", ["one\ntwo\n", "two\n", "two\nthree\n"], "one\ntwo\nthree\n"),
        // The later changes are next to the lines of the change.
        (".data/x.md", ["one\n", "one\ntwo\n", "one\ntwo\nthree\n"], "one\nthree\n"),
        (".data/x.md", ["1\n2\n3\n", "1\ntwo\n3\n", "1\ntwo\nthree\n"], "1\n2\nthree\n"),
        (".data/x.md", ["a\nb\nc\nd\n", "A\nb\nC\nd\n", "A\nx\nb\nC\ny\nd\n"], "a\nx\nb\nc\ny\nd\n"),
    ] {
        let w = World::new();
        let s = scene(&w);
        s.put(path, texts[0]);
        s.attach();
        s.a.write(path, texts[1]);
        s.sync(0).any_err();
        let id = pushed(&s, path);
        s.a.write(path, texts[2]);
        s.sync(0).any_err();
        s.app.overlay(&["undo", "-n", &id]).exit(0).out_has(&format!("would undo {id} in {path}"));
        s.all_are(path, texts[2]);
        s.b.overlay(&["undo", &id[..8]]).exit(0).out_has(&format!("undid {id} in {path}"));
        for found in [s.text(path), s.a.read(path), s.b.read(path)] {
            let json = |text: &str| serde_json::from_str::<Value>(text).ok();
            let sorted = |text: &str| text.lines().map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
            let is_right = match path {
                ".env" => sorted(&found) == sorted(left),
                ".data/x.json" => json(&found).is_some() && json(&found) == json(left),
                _ => found == left,
            };
            assert!(is_right, "{path}: {found}");
        }
        s.app.overlay(&["undo", &id]).exit(1).err_has("is undone already");
        assert_eq!(s.sync(0).stdout, "");
    }
}

#[test]
fn undo_takes_out_no_line_that_may_be_anothers_and_brings_back_nothing_that_is_gone() {
    for (path, [before, after, now]) in [
        (".data/x.md", ["one\n", "one\ntwo\n", "one\ntwo\ntwo\n"]),
        (".data/x.md", ["[a]\nx=1\n[b]\n", "[a]\nx=2\n[b]\n", "[a]\nx=3\n[c]\nx=2\n[b]\n"]),
        (".data/x.md", ["a\nold\nb\n", "a\nnew\nb\n", "a\nb\n"]),
        (".env", ["A=1\nTOKEN=old\nB=1\n", "A=1\nTOKEN=new\nB=1\n", "A=1\nB=1\n"]),
        (".data/x.json", ["{\"a\": 1, \"t\": 1}\n", "{\"a\": 1, \"t\": {\"u\": 2}}\n", "{\"a\": 1}\n"]),
        (".data/x.toml", ["a = 1\nt = 1\n", "a = 1\nt = 2\n", "a = 1\n"]),
        (".data/x.yaml", ["t: {n: 1}\nb: 1\n", "t: {n: 2}\nb: 1\n", "b: 1\n"]),
        ("x.jsonl", ["{\"id\":1,\"s\":1}\n1\n", "{\"id\":1,\"s\":2}\n1\n", "1\n"]),
    ] {
        let w = World::new();
        let s = edited(&w, path, before, after);
        s.sync(0).any_err();
        let id = pushed(&s, path);
        s.a.write(path, now);
        s.sync(0).any_err();
        s.app.overlay(&["undo", &id]).exit(1).err_has("was changed since");
        s.all_are(path, now);
    }
}

/// `seq` counts all records there ever were, wherever a run dies that sets a long log aside.
#[test]
fn records_keep_their_numbers_when_a_long_log_is_set_aside() {
    let w = World::new();
    let (before, after) =
        ("{\"v\":1,\"time\":\"", "\",\"path\":\".env\",\"rule\":\"pull\",\"from\":null,\"to\":null}\n");
    let line = |time: &str| format!("{before}{time}\",\"workspace\":\"/{}{after}", "w".repeat(5_000));
    let (older, long) = (line("2020-01-01T00:00:00.000Z").repeat(7), line("2020-02-02T00:00:00.000Z").repeat(1_000));
    let prepare = |name: &str| {
        let app = w.repo(&format!("eng/repos/{name}"));
        app.commit(".gitignore", ".env*\n");
        let overlay = w.home(&format!(".local/share/shopfloor/overlays/{name}"));
        write(&overlay.join(".env"), "A=1\n");
        app.overlay(&["attach"]).succeeds();
        write(&overlay.join(".overlay-sync/log.1.jsonl"), &older);
        write(&overlay.join(".overlay-sync/log.jsonl"), &(long.clone() + &line("2020-03-03T00:00:00.000Z")));
        app.write(".env", "A=2\n");
        app
    };
    sweep_tool("overlay-sync", prepare, &["sync"], |app, when| {
        app.write(".env", "A=3\n");
        app.overlay(&["sync"]).any_status().any_out().any_err();
        let records = app.overlay(&["log", "--json", "--since", "all"]).exit(0).json_lines();
        let last = records.iter().find(|record| text(record, "/time").starts_with("2020-03")).unwrap();
        assert_eq!(last["seq"], 1_008, "{when}");
        let numbers: Vec<u64> = records.iter().map(|record| record["seq"].as_u64().unwrap()).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{when}");
        std::fs::remove_dir_all(&app.path).unwrap();
    });
}

#[test]
fn undo_knows_the_text_that_a_change_made_and_keeps_what_was_changed_since() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.a.write(".env", "A=2\nB=1\n");
    s.sync(0).any_err();
    let made = text(log(&s, ".env").iter().rev().find(|r| text(r, "/rule") == "push").unwrap(), "/to").to_owned();
    s.a.write(".env", "A=3\nB=1\n");
    s.sync(0).any_err();
    let json = s.app.overlay(&["undo", "--json", &made[..10]]).exit(0).json_lines();
    let answer = json.last().unwrap();
    assert_eq!((answer["undone"].as_bool(), text(answer, "/removes/0")), (Some(true), "B"));
    s.all_are(".env", "A=3\n");
    s.app.overlay(&["undo", "nothing"]).exit(1).err_has("no change has the id");
    let held = log(&s, ".env").into_iter().find(|record| record["from"].is_null());
    if let Some(first) = held {
        s.app.overlay(&["undo", text(&first, "/id")]).exit(1).err_has("cannot be taken back");
    }
}

#[test]
fn undo_puts_no_line_outside_of_its_quotes() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\nB=1\n");
    s.attach();
    s.a.write(".env", "A=\"\nB=1\n\"\n");
    s.sync(0).any_err();
    let id = pushed(&s, ".env");
    s.a.write(".env", "A=\"\nB=1\ntouch ran\n\"\n");
    s.sync(0).any_err();
    let before = s.text(".env");
    assert!(before.contains("touch ran"));
    s.app.overlay(&["undo", &id]).exit(1).err_has("would be outside of their quotes");
    s.all_are(".env", &before);
}

#[test]
fn restore_says_what_it_takes_away_and_needs_a_yes() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.a.write(".env", "A=2\nNEW=1\n");
    s.sync(0).any_err();
    let old = text(log(&s, ".env").iter().rev().find(|r| text(r, "/rule") == "push").unwrap(), "/from").to_owned();
    let refused = s.a.on_terminal(&format!("overlay-sync restore {old}"), "n\n").exit(3);
    assert!(refused.stdout.contains("removes NEW; changes A") && refused.stdout.contains("Put it back?"), "{refused}");
    assert!(!refused.stdout.contains("a person must decide"), "one has decided: {refused}");
    assert_eq!(s.a.read(".env"), "A=2\nNEW=1\n");
    s.a.on_terminal(&format!("overlay-sync restore {old}"), "y\n").succeeds();
    assert_eq!(s.a.read(".env"), "A=1\n");
    s.a.write(".env", "A=2\nNEW=1\n");
    s.sync(0).any_err();
    // Where nobody can be asked, nothing changes; so where the file is missing and the text would take its place.
    let before = s.a.snapshot();
    for args in [&["restore", old.as_str()][..], &["-q", "restore", old.as_str()]] {
        s.a.overlay(args).exit(3).err_has("removes NEW; changes A").err_has("--yes");
    }
    s.a.assert_untouched_since(&before);
    s.a.sh("rm .env").exit(0);
    s.a.overlay(&["restore", &old]).exit(3).err_has("removes NEW; changes A");
    assert!(!s.a.has(".env"));
    s.a.overlay(&["restore", &old, "--yes"]).succeeds().err_has("removes NEW; changes A");
    s.sync(0).any_err();
    s.all_are(".env", "A=1\n");
    // What takes nothing away needs no yes.
    s.a.write(".env", "A=1\nNEW=1\n");
    s.sync(0).any_err();
    let longer = text(log(&s, ".env").iter().rev().find(|r| text(r, "/rule") == "push").unwrap(), "/to").to_owned();
    s.put(".env", "A=1\n");
    s.sync(0).any_err();
    s.a.overlay(&["restore", &longer]).exit(0).out_has("restored");
}
