//! `overlay-sync merge`, on its own and as git's merge driver.

use crate::support::world::{Repo, World, mode, text};

fn three<'w>(w: &'w World, base: &str, overlay: &str, workspace: &str) -> Repo<'w> {
    let dir = w.at(w.home(""));
    for (name, text) in [("base.json", base), ("overlay.json", overlay), ("workspace.json", workspace)] {
        dir.write(name, text);
    }
    dir
}

const FILES: [&str; 3] = ["base.json", "overlay.json", "workspace.json"];

#[test]
fn merge_prints_the_result_and_the_conflicts() {
    let w = World::new();
    let dir = three(&w, r#"{"a": 1}"#, r#"{"a": 1, "o": 1}"#, r#"{"a": 2}"#);
    let out = dir.overlay(&[&["merge"], &FILES[..]].concat()).exit(0);
    assert_eq!((out.stdout.as_str(), out.stderr.as_str()), (r#"{"a": 2, "o": 1}"#, ""));
    let dir = three(&w, r#"{"a": 1}"#, r#"{"a": 3}"#, r#"{"a": 2}"#);
    let out = dir.overlay(&[&["merge"], &FILES[..]].concat()).exit(1);
    assert_eq!(out.stdout, r#"{"a": 2}"#);
    out.err_has("both sides changed a");
    let out = dir.overlay(&[&["merge", "--on-conflict", "overlay"], &FILES[..]].concat()).exit(1).any_err();
    assert_eq!(out.stdout, r#"{"a": 3}"#);
    let out = dir.sh("overlay-sync merge base.json - workspace.json --path x.json < base.json").exit(0);
    assert_eq!(out.stdout, r#"{"a": 2}"#);
}

#[test]
fn write_replaces_the_overlays_file_and_keeps_its_mode() {
    let w = World::new();
    let dir = three(&w, "A=1\n", "A=1\nB=1\n", "A=2\n");
    dir.sh("chmod 640 overlay.json").exit(0);
    let json = dir.overlay(&[&["merge", "--write", "--json", "--path", ".env"], &FILES[..]].concat()).exit(0).json();
    assert_eq!((text(&json, "/path"), json["conflicts"].as_array().unwrap().len()), ("overlay.json", 0));
    assert_eq!((dir.read("overlay.json"), mode(&dir.path.join("overlay.json"))), ("A=2\nB=1\n".into(), 0o640));
}

#[test]
fn every_failure_exits_1() {
    let w = World::new();
    let dir = three(&w, "", "", "");
    dir.overlay(&["merge", "base.json", "gone", "workspace.json"]).exit(1).err_has("there is no file gone");
    dir.overlay(&["merge", "-", "-", "workspace.json"]).exit(1).any_err();
    dir.overlay(&["merge", "--write", "base.json", "-", "workspace.json"]).exit(1).err_has("OVERLAY is stdin");
    // A sparse file takes no space.
    std::fs::File::create(dir.path.join("base.json")).unwrap().set_len(65 << 20).unwrap();
    dir.overlay(&[&["merge"], &FILES[..]].concat()).exit(1).err_has("larger than 64 MiB");
}

#[test]
fn git_uses_it_as_a_merge_driver() {
    let w = World::new();
    let app = w.app();
    app.git(&["config", "merge.overlay-sync.driver", "overlay-sync merge --write %O %A %B --path %P"]);
    app.commit(".gitattributes", "*.json merge=overlay-sync\n");
    let files = ["settings.json", "./-y.json"];
    files.iter().for_each(|file| app.commit(file, "{\n  \"allow\": [\"ls\"]\n}\n"));
    for (branch, entry) in [("a", "git"), ("b", "npm")] {
        app.git(&["checkout", "-q", "-b", branch, "main"]);
        let text = format!("{{\n  \"allow\": [\"ls\", \"{entry}\"]\n}}\n");
        files.iter().for_each(|file| app.commit(file, &text));
    }
    app.git(&["merge", "-q", "a", "-m", "both"]);
    for file in files {
        assert_eq!(app.read(file), "{\n  \"allow\": [\"ls\", \"npm\", \"git\"]\n}\n");
    }
    assert_eq!(app.git(&["status", "--porcelain"]), "");
}

#[test]
fn an_object_on_one_line_stays_on_one_line() {
    let w = World::new();
    let app = w.app();
    let object = |more: &str| {
        let keys: Vec<String> = (0..20).map(|i| format!("\"key{i}\": {i}")).collect();
        format!("{{{}{more}}}\n", keys.join(", "))
    };
    app.write("base", &object(""));
    app.write("ours", &object(", \"a\": 1").replace("\"key10\": 10,", "\"key10\": true,"));
    app.write("theirs", &object(", \"b\": {\"c\": [1, 2]}").replace("\"key7\": 7, ", ""));
    let text = app.overlay(&["merge", "base", "ours", "theirs", "--path", "x.json"]).exit(0).stdout;
    let expected = object(", \"a\": 1, \"b\": {\"c\": [1, 2]}").replace("\"key10\": 10,", "\"key10\": true,");
    assert_eq!(text, expected.replace("\"key7\": 7, ", ""));
}

/// The result of a merge of these texts, and whether there was a conflict.
fn merged(w: &World, path: &str, texts: [&str; 3]) -> (String, bool) {
    let dir = w.at(w.home(""));
    ["b", "o", "w"].iter().zip(texts).for_each(|(name, text)| dir.write(name, text));
    let out = dir.overlay(&["merge", "b", "o", "w", "--path", path]).any_status().any_err();
    assert!(matches!(*out.status, Some(0 | 1)), "{out}");
    (out.stdout.clone(), *out.status == Some(1))
}

#[test]
fn one_thing_in_a_list_stays_one() {
    let w = World::new();
    let record = |keys: &str| format!("{{\"l\": [{{{keys}}}]}}");
    for key in ["_id", "key", "module", "event", "host", "image", "taskName", "uuid"] {
        let texts =
            ["\"a\": 1", "\"a\": 2", "\"a\": 1, \"b\": 3"].map(|rest| record(&format!("\"{key}\": \"x\", {rest}")));
        let expected = (record(&format!("\"{key}\": \"x\", \"a\": 2, \"b\": 3")), false);
        assert_eq!(merged(&w, "x.json", texts.each_ref().map(String::as_str)), expected, "{key}");
    }
    let list = |value: &str| format!("a:\n  environment:\n  - A={value}\n  - B=2\n");
    let texts = ["1", "3", "4"].map(list);
    assert_eq!(merged(&w, "compose.yml", texts.each_ref().map(String::as_str)), (list("4"), true));
    // An option that one side removed, and whose value the other changed.
    let args = |list: &str| format!("{{\"args\": [{list}]}}");
    let texts = [r#""-y", "--root", "/a", "-v""#, r#""-y", "--root", "/b", "-v""#, r#""-y", "-v""#].map(args);
    assert_eq!(merged(&w, "x.json", texts.each_ref().map(String::as_str)), (texts[2].clone(), true));
    // Of two kinds of one thing, one is taken whole.
    let kinds = [
        r#"{"l": [{"name": "x", "type": "node", "port": 1}]}"#,
        r#"{"l": [{"name": "x", "type": "node2", "port": 2, "program": "a.js"}]}"#,
        r#"{"l": [{"name": "x", "type": "python", "module": "m"}]}"#,
    ];
    assert_eq!(merged(&w, "launch.json", kinds), (kinds[2].to_owned(), true));
    // A blank in a matcher is none between a matcher and a command.
    let hook = |matcher: &str, command: &str, limit: u8| {
        format!("{{\"matcher\": \"{matcher}\", \"command\": \"{command}\", \"timeout\": {limit}}}")
    };
    let both = |one: u8, other: u8| {
        let same = hook("z", "z", 1);
        format!("{{\"l\": [{}, {}, {same}]}}", hook("x y", "z", one), hook("x", "y z", other))
    };
    let texts = [both(1, 1), both(2, 1), both(1, 3)];
    assert_eq!(merged(&w, "x.json", texts.each_ref().map(String::as_str)), (both(2, 3), false));
}
