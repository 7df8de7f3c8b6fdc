//! Files that mean more than their types: what stands in a list, what names a record, which readers a file has.

use serde_json::Value;

use crate::support::overlay::{SETTINGS, configure, edited};
use crate::support::world::World;

/// Merges three texts as a file of this name.
#[track_caller]
fn merge(path: &str, cases: &[([&str; 3], &str)], status: i32) {
    let w = World::new();
    let dir = w.at(w.home(""));
    for ([base, overlay, workspace], expected) in cases {
        for (name, text) in [("b", base), ("o", overlay), ("w", workspace)] {
            dir.write(name, text);
        }
        let merged = dir.overlay(&["merge", "b", "o", "w", "--path", path]).exit(status).any_err();
        assert_eq!(merged.stdout, *expected);
    }
}

#[track_caller]
fn all_merge(path: &str, cases: &[([&str; 3], &str)]) {
    merge(path, cases, 0);
}

#[track_caller]
fn all_conflict(path: &str, cases: &[([&str; 3], &str)]) {
    merge(path, cases, 1);
}

#[test]
fn what_two_put_into_an_empty_file_is_kept() {
    all_merge("x.json", &[(["", "{\"a\": 1}\n", "{\"b\": 1}\n"], "{\"a\": 1, \"b\": 1}\n")]);
}

#[test]
fn what_one_side_put_into_a_list_stays_in_its_place() {
    all_merge(
        "x.json",
        &[
            (
                [
                    r#"{"args": ["-y", "docs", "--port", "4000"]}"#,
                    r#"{"args": ["-y", "docs", "--port", "4000", "--verbose"]}"#,
                    r#"{"args": ["-y", "docs", "--port", "5000"]}"#,
                ],
                r#"{"args": ["-y", "docs", "--port", "5000", "--verbose"]}"#,
            ),
            (
                [r#"["-y", "d", "--port", "1"]"#, r#"["-y", "d", "--port", "2"]"#, r#"["-y", "d@2", "--port", "1"]"#],
                r#"["-y", "d@2", "--port", "2"]"#,
            ),
            // Options may occur twice.
            (
                [r#"["-e", "A", "-e", "B"]"#, r#"["-e", "A", "-e", "B", "-e", "C"]"#, r#"["-e", "Z", "-e", "B"]"#],
                r#"["-e", "Z", "-e", "B", "-e", "C"]"#,
            ),
            (
                [
                    r#"["lint", "build", "deploy"]"#,
                    r#"["lint", "build", "deploy", "tell"]"#,
                    r#"["lint", "build", "smoke", "deploy"]"#,
                ],
                r#"["lint", "build", "smoke", "deploy", "tell"]"#,
            ),
            // Of a set both additions are kept, and what one side removed is gone.
            ([r#"["a", "b"]"#, r#"["a", "b", "c"]"#, r#"["b", "d"]"#], r#"["b", "c", "d"]"#),
        ],
    );
    let steps = |steps: &str| format!("steps:\n{steps}last: 1\n");
    let texts = ["  - a # one\n  - b\n", "  - a # one\n  - b # two\n  - c\n", "  - a # one\n  - x\n  - b\n"].map(steps);
    let expected = steps("  - a # one\n  - x\n  - b # two\n  - c\n");
    all_merge("x.yaml", &[(texts.each_ref().map(String::as_str), &expected)]);
    all_merge(
        "x.toml",
        &[(
            ["s = [\"a\", \"b\"]\n", "s = [\"a\", \"b\", \"c\"]\n", "s = [\"a\", \"x\", \"b\"]\n"],
            "s = [\"a\", \"x\", \"b\", \"c\"]\n",
        )],
    );
    // Where both sides touch one place of a sequence, one is kept.
    all_conflict(
        "x.json",
        &[(
            [r#"{"args": ["-v"]}"#, r#"{"args": ["-v", "-o"]}"#, r#"{"args": ["-v", "-x"]}"#],
            r#"{"args": ["-v", "-x"]}"#,
        )],
    );
}

#[test]
fn what_both_sides_put_in_place_of_one_element_is_a_conflict() {
    all_conflict(
        "x.json",
        &[
            (["[1, 2, 3]", "[9, 2, 3]", "[8, 2, 3]"], "[8, 2, 3]"),
            // What one side alone did elsewhere stays.
            ([r#"["a", "b"]"#, r#"["x", "b", "o"]"#, r#"["y", "b", "w"]"#], r#"["y", "b", "o", "w"]"#),
            // Records that nothing tells apart are not doubled either.
            (
                [r#"[{"a": 1}, {"a": 2}]"#, r#"[{"a": 1, "o": 1}, {"a": 2}]"#, r#"[{"a": 3}, {"a": 2}]"#],
                r#"[{"a": 3}, {"a": 2}]"#,
            ),
            // What one side put there beyond that stays.
            ([r#"["a"]"#, r#"["b", "n1", "n2"]"#, r#"["c"]"#], r#"["n1", "n2", "c"]"#),
        ],
    );
    let notify = |program: &str| format!("notify = [\"{program}\", \"a.py\"]\n");
    let texts = ["python", "python3", "py"].map(notify);
    all_conflict("config.toml", &[(texts.each_ref().map(String::as_str), &texts[2])]);
    // Lines of a log may be two, also those that have a name which both sides brought.
    let both = "{\"n\":1}\n{\"t\":1,\"command\":\"x\"}\n";
    let added = ["{\"t\":2,\"command\":\"y\"}\n", "{\"t\":3,\"command\":\"y\"}\n"];
    let sides = added.map(|line| format!("{both}{line}"));
    all_merge(
        "x.jsonl",
        &[
            (["{\"a\":1}\n", "{\"a\":2}\n", "{\"a\":3}\n"], "{\"a\":2}\n{\"a\":3}\n"),
            ([both, &sides[0], &sides[1]], &format!("{both}{}", added.concat())),
        ],
    );
    // The same on both sides, or at other places, is none.
    all_merge(
        "x.json",
        &[
            ([r#"["a", "b"]"#, r#"["x", "b", "o"]"#, r#"["x", "b"]"#], r#"["x", "b", "o"]"#),
            ([r#"["a", "b", "c"]"#, r#"["x", "b", "c"]"#, r#"["a", "b", "z"]"#], r#"["x", "b", "z"]"#),
            // Those that have names are several.
            ([r#"[{"id": 1}]"#, r#"[{"id": 2}, {"id": 3}]"#, r#"[{"id": 9}]"#], r#"[{"id": 2}, {"id": 3}, {"id": 9}]"#),
        ],
    );
}

#[test]
fn a_record_that_both_sides_changed_stays_one() {
    all_merge(
        "x.json",
        &[
            (
                [
                    r#"{"tasks": [{"label": "build", "command": "make"}]}"#,
                    r#"{"tasks": [{"label": "build", "command": "make", "group": "build"}]}"#,
                    r#"{"tasks": [{"label": "build", "command": "just"}, {"label": "test"}]}"#,
                ],
                r#"{"tasks": [{"label": "build", "command": "just", "group": "build"}, {"label": "test"}]}"#,
            ),
            (
                [
                    r#"[{"matcher": "Bash", "hooks": [{"command": "g"}]}]"#,
                    r#"[{"matcher": "Bash|Edit", "hooks": [{"command": "g"}]}]"#,
                    r#"[{"matcher": "Bash", "hooks": [{"command": "g", "timeout": 5}]}]"#,
                ],
                r#"[{"matcher": "Bash|Edit", "hooks": [{"command": "g", "timeout": 5}]}]"#,
            ),
            // The same command may stand behind two matchers.
            (
                [
                    r#"[{"matcher": "A", "command": "g"}, {"matcher": "B", "command": "g"}]"#,
                    r#"[{"matcher": "A", "command": "g", "x": 1}, {"matcher": "B", "command": "g"}]"#,
                    r#"[{"matcher": "A", "command": "g"}, {"matcher": "B", "command": "g", "y": 1}]"#,
                ],
                r#"[{"matcher": "A", "command": "g", "x": 1}, {"matcher": "B", "command": "g", "y": 1}]"#,
            ),
        ],
    );
    let repos = |rev: &str, more: &str| {
        format!("repos:\n  - repo: https://a\n    rev: {rev}\n    hooks:\n      - id: x\n{more}")
    };
    let texts = [repos("v1", ""), repos("v2", ""), repos("v1", "      - id: y\n")];
    all_merge("x.yaml", &[(texts.each_ref().map(String::as_str), &repos("v2", "      - id: y\n"))]);
    let tables = |x: i32, more: &str| format!("[[t]]\nname = \"a\"\nx = {x}\n{more}");
    let texts = [tables(1, ""), tables(2, ""), tables(1, "y = 2\n\n[[t]]\nname = \"b\"\n")];
    all_merge("x.toml", &[(texts.each_ref().map(String::as_str), &tables(2, "y = 2\n\n[[t]]\nname = \"b\"\n"))]);
    all_merge(
        "x.jsonl",
        &[
            (
                ["{\"id\":\"b1\",\"a\":1}\n", "{\"id\":\"b1\",\"a\":2}\n", "{\"id\":\"b1\",\"a\":1,\"b\":3}\n"],
                "{\"id\":\"b1\",\"a\":2,\"b\":3}\n",
            ),
            (["", "{\"id\":\"b1\",\"a\":2}\n", "{\"a\":2,\"id\":\"b1\"}\n"], "{\"id\":\"b1\",\"a\":2}\n"),
            (
                ["{\"uuid\":7,\"a\":1}\n", "{\"uuid\":7,\"a\":2}\n", "{\"uuid\":7,\"a\":1,\"b\":3}\n"],
                "{\"uuid\":7,\"a\":2,\"b\":3}\n",
            ),
            (["", "{\"x\":1,\"y\":2}\n", "{\"y\":2,\"x\":1}\n"], "{\"x\":1,\"y\":2}\n"),
        ],
    );
    all_conflict(
        "x.json",
        &[
            ([r#"[{"id": 1, "x": 1}]"#, r#"[{"id": 1, "x": 2}]"#, r#"[{"id": 1, "x": 3}]"#], r#"[{"id": 1, "x": 3}]"#),
            // A change is kept against a deletion.
            (
                [r#"[{"id": 1, "x": 1}, {"id": 2}]"#, r#"[{"id": 2}]"#, r#"[{"id": 1, "x": 3}, {"id": 2}]"#],
                r#"[{"id": 1, "x": 3}, {"id": 2}]"#,
            ),
        ],
    );
    all_conflict(
        "x.jsonl",
        &[(["{\"id\":1,\"a\":1}\n", "{\"id\":1,\"a\":2}\n", "{\"id\":1,\"a\":3}\n"], "{\"id\":1,\"a\":3}\n")],
    );
}

#[test]
fn a_hook_to_which_a_command_comes_is_the_same_hook() {
    all_merge(
        "x.json",
        &[
            (
                [
                    r#"[{"matcher": "Bash", "hooks": [{"command": "g"}]}]"#,
                    r#"[{"matcher": "Bash|Edit", "hooks": [{"command": "g"}]}]"#,
                    r#"[{"matcher": "Bash", "hooks": [{"command": "g"}, {"command": "h"}]}]"#,
                ],
                r#"[{"matcher": "Bash|Edit", "hooks": [{"command": "g"}, {"command": "h"}]}]"#,
            ),
            (
                [
                    r#"[{"hooks": [{"command": "g"}]}]"#,
                    r#"[{"hooks": [{"command": "g"}, {"command": "h"}]}]"#,
                    r#"[{"hooks": [{"command": "g"}, {"command": "k"}]}]"#,
                ],
                r#"[{"hooks": [{"command": "g"}, {"command": "h"}, {"command": "k"}]}]"#,
            ),
            // Two that came new are two.
            (
                [
                    r#"[]"#,
                    r#"[{"matcher": "Edit", "hooks": [{"command": "log"}, {"command": "fmt"}]}]"#,
                    r#"[{"matcher": "Bash", "hooks": [{"command": "log"}, {"command": "audit"}]}]"#,
                ],
                r#"[{"matcher": "Edit", "hooks": [{"command": "log"}, {"command": "fmt"}]}, {"matcher": "Bash", "hooks": [{"command": "log"}, {"command": "audit"}]}]"#,
            ),
        ],
    );
}

#[test]
fn a_record_is_matched_by_its_key_whatever_the_others_have() {
    let tasks =
        |build: &str| format!(r#"{{"tasks": [{{"label": "build", {build}}}, {{"type": "npm", "script": "w"}}]}}"#);
    let hooks = |more: &str| {
        let guard = format!(r#"{{"hooks": [{{"type": "command", "command": "guard"{more}}}]}}"#);
        format!(r#"{{"Stop": [{guard}, {{"hooks": [{{"type": "prompt", "prompt": "p"}}]}}]}}"#)
    };
    let texts = [
        [r#""command": "make""#, r#""command": "make", "group": "b""#, r#""command": "just""#].map(tasks),
        ["", r#", "timeout": 5"#, r#", "async": true"#].map(hooks),
    ];
    let expected = [tasks(r#""command": "just", "group": "b""#), hooks(r#", "timeout": 5, "async": true"#)];
    for (texts, expected) in texts.iter().zip(&expected) {
        all_merge("x.json", &[(texts.each_ref().map(String::as_str), expected)]);
    }
    let lines = |one: &str| format!("{{\"id\":1,{one}}}\n{{\"note\":\"x\"}}\n");
    let texts = ["\"v\":1", "\"v\":2", "\"v\":1,\"z\":1"].map(lines);
    all_merge("x.jsonl", &[(texts.each_ref().map(String::as_str), &lines("\"v\":2,\"z\":1"))]);
    // Two have one key, so nobody knows which of them both sides changed.
    let repos = |rev: &str, hook: &str| {
        format!(
            "repos:\n  - repo: local\n{rev}    hooks:\n      - id: a\n{hook}  - repo: local\n    hooks:\n      - id: b\n"
        )
    };
    let texts = [repos("", ""), repos("    rev: 1\n", ""), repos("", "      - id: c\n")];
    all_conflict("x.yaml", &[(texts.each_ref().map(String::as_str), &texts[2])]);
}

#[test]
fn a_server_has_one_transport() {
    all_conflict(
        ".mcp.json",
        &[(
            [
                r#"{"mcpServers": {}}"#,
                r#"{"mcpServers": {"foo": {"command": "a", "args": ["1"]}}}"#,
                r#"{"mcpServers": {"foo": {"type": "http", "url": "https://x.invalid"}}}"#,
            ],
            r#"{"mcpServers": {"foo": {"type": "http", "url": "https://x.invalid"}}}"#,
        )],
    );
    // One side went to an address, while the other changed the arguments of the command; each chose another kind of address.
    all_conflict(
        ".mcp.json",
        &[(
            [
                r#"{"foo": {"command": "a", "args": ["1"]}}"#,
                r#"{"foo": {"url": "https://x.invalid"}}"#,
                r#"{"foo": {"command": "a", "args": ["1", "2"]}}"#,
            ],
            r#"{"foo": {"command": "a", "args": ["1", "2"]}}"#,
        )],
    );
    all_conflict(
        ".gemini/settings.json",
        &[(
            [
                r#"{"foo": {}}"#,
                r#"{"foo": {"url": "https://x.invalid"}}"#,
                r#"{"foo": {"httpUrl": "https://y.invalid"}}"#,
            ],
            r#"{"foo": {"httpUrl": "https://y.invalid"}}"#,
        )],
    );
}

#[test]
fn yaml_that_is_not_plain_is_merged() {
    for (head, more) in [
        ("a: !reset []", ""),
        ("80: a", ""),
        ("a: !Ref X", "b: !Sub y\n"),
        ("a: 1\na: 2", "z: 1\n"),
        ("? [a, b]\n: 1", "z: 1\n"),
        ("a: {{ j }}", "z: 1\n"),
        ("{% if x %}", "z: 1\n"),
        ("80: a\n\"80\": b", "z: 1\n"),
    ] {
        let text = |x: i32, y: i32| format!("{head}\nx: {x}\n{more}y: {y}\n");
        let texts = [text(1, 1), text(2, 1), text(1, 2)];
        all_merge("x.yml", &[(texts.each_ref().map(String::as_str), &text(2, 2))]);
    }
    let w = World::new();
    let s = edited(&w, ".data/x.yml", "web:\n  image: x\n", "web:\n  image: x\n  expose: !reset []\n");
    s.sync(0).any_err();
    s.all_are(".data/x.yml", "web:\n  image: x\n  expose: !reset []\n");
}

#[test]
fn variables_next_to_each_other_are_no_conflict_whatever_the_file_is_called() {
    for name in [".env.local", ".dev.vars", ".dev.vars.test", ".flaskenv", "env.local", "app.env"] {
        all_merge(name, &[(["A=1\nB=1\n", "A=2\nB=1\n", "A=1\nB=2\n"], "A=2\nB=2\n")]);
    }
}

#[test]
fn variables_with_blanks_around_the_sign_are_variables() {
    let w = World::new();
    let s = edited(&w, ".env", "PORT = 8080\nA = 1\n", "PORT = 3001\nA = 1\n");
    s.b.write(".env", "PORT = 3002\nA = 1\n");
    s.sync(1).any_err();
    s.app.overlay(&["conflicts"]).any_status().out_has("PORT");
    assert_eq!((s.text(".env").matches("PORT").count(), s.b.read(".env").matches("PORT").count()), (1, 1));
    s.a.write(".env", "PORT = 3001\nA = 2\n");
    s.app.overlay(&["drop", ".env", "PORT"]).exit(0).any_out().any_err();
    // One of a workspace's own stays there.
    let w = World::new();
    configure(&w, "[overlay-sync.path.\".env\"]\nlocal = [\"PORT\"]\n");
    let s = edited(&w, ".env", "A = 1\n", "PORT = 2\nA = 2\n");
    s.sync(0).any_err();
    assert_eq!((s.text(".env"), s.b.read(".env")), ("A = 2\n".into(), "A = 2\n".into()));
    assert_eq!(s.a.read(".env"), "PORT = 2\nA = 2\n");
}

#[test]
fn what_every_reader_took_stays_so() {
    let plain = "{\n  \"a\": 1,\n  \"b\": [2]\n}\n";
    for odd in ["{\n  \"a\": 1,\n  \"b\": [2],\n}\n", "{\n  // why\n  \"a\": 1,\n  \"b\": [2]\n}\n"] {
        let w = World::new();
        let s = edited(&w, SETTINGS, plain, odd);
        s.sync(1).err_has("no longer strict JSON");
        assert_eq!(s.b.read(SETTINGS), plain);
        let w = World::new();
        let s = edited(&w, ".data/tsconfig.json", plain, odd);
        s.sync(0).any_err();
        s.all_are(".data/tsconfig.json", odd);
    }
    let w = World::new();
    let s = edited(&w, SETTINGS, plain, &format!("\u{feff}{plain}"));
    s.sync(1).err_has("no longer strict JSON");
}

#[test]
fn growth_is_no_vanishing_and_a_small_file_is_guarded_too() {
    let allowed =
        |list: &[&str]| serde_json::json!({ "permissions": { "allow": list }, "servers": ["x", "y"] }).to_string();
    let all = ["1", "2", "3", "4", "5", "6", "7", "8"];
    let w = World::new();
    let s = edited(&w, SETTINGS, &allowed(&all), &allowed(&["9"]));
    s.sync(0).any_err();
    let merged: Value = serde_json::from_str(&s.b.read(SETTINGS)).unwrap();
    assert_eq!(merged["permissions"]["allow"].as_array().unwrap().len(), 9);
    // Written from memory, with nothing left of six entries, or seven.
    for more in ["", ", \"k\": 1"] {
        let small = format!(
            "{{\"model\": \"m\", \"theme\": \"t\", \"plugins\": [\"p\", \"q\"], \"permissions\": {{\"allow\": [\"r\"]}}, \"env\": {{\"A\": \"1\"}}{more}}}"
        );
        let w = World::new();
        let s = edited(&w, SETTINGS, &small, "{\"env\": {}}");
        s.sync(1).err_has("entries vanished at once");
        assert_eq!(s.b.read(SETTINGS), small);
    }
    // Other values are no vanishing.
    let w = World::new();
    let s =
        edited(&w, SETTINGS, "{\"a\": 1, \"b\": 1, \"c\": 1, \"d\": 1}", "{\"a\": 2, \"b\": 2, \"c\": 2, \"d\": 2}");
    s.sync(0).any_err();
}
