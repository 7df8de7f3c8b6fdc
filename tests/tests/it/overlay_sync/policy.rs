//! What the settings say of single files and of conflicts.

use crate::support::overlay::{OVERLAY, SETTINGS, allow, configure, scene};
use crate::support::world::{Checked, World, text};

fn rules(out: &Checked) -> Vec<String> {
    out.json_lines().iter().map(|l| text(l, "/rule").to_owned()).collect()
}

#[test]
fn a_removal_that_grow_undoes_is_logged_and_is_not_a_conflict() {
    let w = World::new();
    let s = scene(&w);
    s.put(SETTINGS, &allow("\"Read\", \"Edit\""));
    s.attach();
    s.a.write(SETTINGS, &allow("\"Edit\""));
    let out = s.app.overlay(&["sync", "--json"]).exit(0);
    let line = &out.json_lines()[0];
    assert_eq!((text(line, "/rule"), line["kept"].as_u64()), ("merge", Some(1)));
    s.all_are(SETTINGS, &allow("\"Read\", \"Edit\""));
    assert_eq!(s.app.overlay(&["conflicts"]).exit(0).stdout, "");
    // With three-way the removal spreads, except from `deny`; with grow nothing is removed at all.
    configure(
        &w,
        "[overlay-sync.path.\".data/*\"]\npolicy = \"three-way\"\n[overlay-sync.path.\".env\"]\npolicy = \"grow\"\n",
    );
    let denied = "{\"permissions\": {\"allow\": [\"Edit\"], \"deny\": [\"Web\"]}}";
    s.put(SETTINGS, &denied.replace("[\"Edit\"", "[\"Read\", \"Edit\""));
    s.put(".env", "A=1\nB=1\n");
    s.sync(0).any_err();
    s.a.write(SETTINGS, "{\"permissions\": {\"allow\": [\"Edit\"], \"deny\": []}}");
    s.a.write(".env", "A=2\n");
    s.sync(0).any_err();
    s.all_are(SETTINGS, denied);
    assert!(s.b.read(".env").contains("A=2\n") && s.b.read(".env").contains("B=1\n"));
}

#[test]
fn a_record_that_is_edited_under_grow_stays_one() {
    let w = World::new();
    let s = scene(&w);
    configure(&w, "[overlay-sync.path.\".data/*\"]\npolicy = \"grow\"\n");
    // A text, and what of it is a second record.
    let files = [
        (".data/x.json", "{\"tasks\": [{\"id\": \"a\", \"c\": 1}, {\"id\": \"b\"}]}\n", ", {\"id\": \"b\"}"),
        (".data/x.jsonl", "{\"id\":\"a\",\"c\":1}\n{\"id\":\"b\"}\n", "{\"id\":\"b\"}\n"),
        (".data/x.yaml", "tasks:\n  - id: a\n    c: 1\n  - id: b\n", "  - id: b\n"),
        (".data/x.toml", "[[tasks]]\nid = \"a\"\nc = 1\n\n[[tasks]]\nid = \"b\"\n", "\n[[tasks]]\nid = \"b\"\n"),
    ];
    files.iter().for_each(|(path, text, _)| s.put(path, text));
    s.attach();
    // The last one has its first value again, which is no entry that comes back.
    for (at, value) in [(&s.a, "2"), (&s.b, "3"), (&s.a, "1")] {
        files.iter().for_each(|(path, text, _)| at.write(path, &text.replace('1', value)));
        s.sync(0).any_err();
        files.iter().for_each(|(path, text, _)| s.all_are(path, &text.replace('1', value)));
    }
    // A record that is removed is put back next to one that is edited.
    files.iter().for_each(|(path, text, second)| s.a.write(path, &text.replace(second, "").replace('1', "4")));
    s.sync(0).any_err();
    for (path, ..) in files {
        let now = s.text(path);
        assert!(now.contains('4') && now.matches("id").count() == 2, "{now}");
        s.all_are(path, &now);
    }
    assert_eq!(s.app.overlay(&["conflicts"]).exit(0).stdout, "");
    // What a record has instead was edited, and two lines of a log that have no id are two.
    let (server, log) = (".data/s.json", ".data/log.jsonl");
    s.put(server, "[{\"name\": \"x\", \"args\": [\"-y\", \"x@1\"]}]\n");
    s.put(log, "{\"event\":\"start\",\"ts\":1}\n");
    s.sync(0).any_err();
    s.a.write(server, &s.a.read(server).replace("x@1", "x@2"));
    s.a.write(log, "{\"event\":\"start\",\"ts\":2}\n");
    s.sync(0).any_err();
    s.all_are(server, "[{\"name\": \"x\", \"args\": [\"-y\", \"x@2\"]}]\n");
    s.all_are(log, "{\"event\":\"start\",\"ts\":1}\n{\"event\":\"start\",\"ts\":2}\n");
}

#[test]
fn local_entries_neither_leave_nor_enter_a_workspace() {
    let w = World::new();
    let s = scene(&w);
    configure(
        &w,
        "[overlay-sync.path.\".data/*.json\"]\nlocal = [\"env.PORT\"]\n[overlay-sync.path.\".env\"]\nlocal = [\"PORT\"]\n",
    );
    let json = |port: &str, log: &str| {
        format!("{{\n  \"env\": {{\n    \"PORT\": \"{port}\",\n    \"LOG\": \"{log}\"\n  }}\n}}\n")
    };
    s.a.write(SETTINGS, &json("3001", "info"));
    s.b.write(SETTINGS, &json("3002", "info"));
    s.a.write(".env", "PORT=1\nA=1\n");
    s.b.write(".env", "A=1\nPORT=2\n");
    s.a.overlay(&["add", SETTINGS, ".env"]).succeeds();
    s.attach();
    assert!(!s.text(SETTINGS).contains("PORT") && s.text(".env") == "A=1\n", "it does not leave");
    assert_eq!((s.a.read(SETTINGS), s.b.read(SETTINGS)), (json("3001", "info"), json("3002", "info")));
    assert_eq!((s.a.read(".env"), s.b.read(".env")), ("PORT=1\nA=1\n".into(), "A=1\nPORT=2\n".into()));
    s.a.write(SETTINGS, &json("3009", "debug"));
    s.b.write(".env", "A=1\nPORT=7\nB=1\n");
    s.sync(0).any_err();
    assert_eq!((s.a.read(SETTINGS), s.b.read(SETTINGS)), (json("3009", "debug"), json("3002", "debug")));
    assert_eq!((s.a.read(".env"), s.text(".env")), ("PORT=1\nA=1\nB=1\n".into(), "A=1\nB=1\n".into()));
    assert_eq!(s.sync(0).stdout, "");
    // The overlay's own value does not enter either, and a new workspace starts without one.
    s.put(".env", "A=2\nB=1\nPORT=0\n");
    s.app.overlay(&["attach"]).succeeds();
    s.sync(0).any_err();
    assert_eq!((s.app.read(".env"), s.a.read(".env")), ("A=2\nB=1\n".into(), "PORT=1\nA=2\nB=1\n".into()));
    assert_eq!(s.text(".env"), "A=2\nB=1\nPORT=0\n");
    configure(&w, "[overlay-sync.path.\".env\"]\nlocal = [\"a..b\"]\n");
    s.app.overlay(&["sync"]).exit(2).err_has("config.toml:2").err_has("`local` cannot hold `a..b`");
}

/// Only what worktree-spawn writes there is one worktree's.
#[test]
fn a_server_that_has_the_name_of_an_agents_is_shared() {
    let w = World::new();
    let s = scene(&w);
    let own = r#"{"mcpServers":{"shopfloor":{"command":"my-own-server"}}}"#;
    s.app.sh("echo .mcp.json >> .git/info/exclude").exit(0);
    // Nothing need be taken out of a text that does not parse.
    s.a.write(".mcp.json", "{");
    s.a.overlay(&["add", ".mcp.json"]).succeeds();
    assert_eq!(s.text(".mcp.json"), "{");
    std::fs::remove_file(s.overlay(".mcp.json")).unwrap();
    s.a.write(".mcp.json", own);
    s.a.overlay(&["add", ".mcp.json"]).succeeds();
    s.attach();
    s.all_are(".mcp.json", own);
    s.b.write(".mcp.json", "{\"mcpServers\":");
    s.sync(1).err_has("it no longer parses");
    let agents = own.replace("\"my-own-server\"", "\"/opt/worktree-spawn\",\"args\":[\"mcp\",\"--as\",\"main.b\"]");
    s.b.write(".mcp.json", &agents);
    s.sync(0).any_err();
    s.all_but(&s.b, ".mcp.json", own);
    assert_eq!(s.b.read(".mcp.json"), agents);
}

#[test]
fn down_files_are_not_pushed_and_propagated_deletions_spare_edits() {
    let w = World::new();
    let s = scene(&w);
    configure(
        &w,
        "[overlay-sync.path.\".env\"]\ndirection = \"down\"\n[overlay-sync.path.\".env.*\"]\ndelete = \"propagate\"\n",
    );
    s.put(".env", "A=1\nB=1\nC=1\nD=1\n");
    s.put(".env.one", "1\n");
    s.put(".env.two", "2\n");
    s.attach();
    s.a.write(".env", "A=mine\nB=1\nC=1\nD=1\n");
    s.sync(0).any_err();
    assert_eq!((s.text(".env"), s.b.read(".env")), ("A=1\nB=1\nC=1\nD=1\n".into(), "A=1\nB=1\nC=1\nD=1\n".into()));
    assert_eq!(text(&s.a.overlay(&["status", ".", "--json"]).exit(0).json_lines()[0], "/state"), "changed");
    s.put(".env", "A=1\nB=1\nC=1\nD=2\n");
    s.sync(0).any_err();
    assert_eq!((s.a.read(".env"), s.b.read(".env")), ("A=mine\nB=1\nC=1\nD=2\n".into(), "A=1\nB=1\nC=1\nD=2\n".into()));
    // Deleted in the overlay, it is deleted where nobody changed it; an edit wins.
    s.b.write(".env.two", "TWO=2\n");
    s.app.sh(&format!("cd ~/{OVERLAY} && rm .env.one .env.two")).exit(0);
    s.app.overlay(&["sync", "-n"]).exit(0).out_has("would remove .env.one");
    s.sync(0).any_err();
    assert!(!s.a.has(".env.one") && !s.b.has(".env.one"));
    s.all_are(".env.two", "TWO=2\n");
    let gone = s.app.overlay(&["log", "--json"]).exit(0).json_lines();
    let removed = gone.iter().find(|l| text(l, "/path") == ".env.one" && l["to"].is_null()).unwrap();
    assert_eq!(s.app.overlay(&["show", text(removed, "/from")]).exit(0).stdout, "1\n");
}

#[test]
fn declared_files_enter_the_overlay_from_any_workspace() {
    let w = World::new();
    let s = scene(&w);
    configure(&w, "[overlay-sync]\npaths = [\".data/**/*.json\", \"./.env.local\"]\n");
    s.put(".env", "A=1\n");
    s.attach();
    s.a.write(".data/deep/x.json", "{\"x\": 1}");
    s.a.write(".data/notes.md", "not declared");
    s.a.write(".env.local", "L=1\n");
    s.a.write("sub/.env.local", "L=2\n");
    s.a.write(".data/half.json", "{\"x\":");
    s.a.write(".data/empty.json", "");
    s.a.write(".data/mcp.json", "{\"mcpServers\": {\"x\": {\"command\": \"x\"}}}");
    let out = s.app.overlay(&["sync", "--json"]).exit(1);
    assert_eq!(rules(&out).iter().filter(|rule| *rule == "adopt").count(), 2);
    s.all_are(".data/deep/x.json", "{\"x\": 1}");
    s.all_are(".env.local", "L=1\n");
    for path in [".data/notes.md", "sub/.env.local", ".data/half.json", ".data/empty.json", ".data/mcp.json"] {
        assert!(!s.overlay(path).exists() && !s.b.has(path), "{path}");
    }
    out.err_has("half.json is held: it does not parse")
        .err_has("empty.json is held: it is empty")
        .err_has("mcp.json is held: it is new and adds");
    // A file removed from the overlay does not enter again, though workspaces keep theirs.
    std::fs::remove_file(s.overlay(".env.local")).unwrap();
    s.sync(1).any_err();
    s.sync(1).any_err();
    assert!(!s.overlay(".env.local").exists() && s.a.has(".env.local"));
    // A file that git would show does not enter, even when declared.
    s.a.sh("rm .data/half.json .data/empty.json .data/mcp.json").exit(0);
    s.app.write(".worktreeinclude", "# what agents need\nseen/*.txt\n*.jsonl\n!x.jsonl\n.env.dir/\n");
    s.b.write("seen/a.txt", "x");
    s.b.write("log.jsonl", "{}\n");
    s.b.write("x.jsonl", "{}\n");
    s.b.write(".env.dir/inside", "x\n");
    s.app.overlay(&["sync"]).succeeds().err_has("seen/a.txt is not ignored");
    s.all_are("log.jsonl", "{}\n");
    s.all_are(".env.dir/inside", "x\n");
    assert!(!s.overlay("x.jsonl").exists() && !s.overlay("seen").exists());
    configure(&w, "[overlay-sync]\npaths = [\"../x\"]\n");
    s.app.overlay(&["sync"]).exit(2).err_has("config.toml:2").err_has("`paths` cannot be `../x`");
    configure(&w, "[overlay-sync.path.\"/etc/x\"]\npolicy = \"grow\"\n");
    s.app.overlay(&["sync"]).exit(2).err_has("`path` cannot be `/etc/x`");
    configure(&w, "");
    s.app.overlay(&["sync", "--paths", "/etc/x"]).exit(2).any_err();
}

#[test]
fn on_conflict_hold_holds_only_the_disputed_key() {
    let w = World::new();
    let s = scene(&w);
    configure(&w, "[overlay-sync]\non_conflict = \"hold\"\n");
    s.put(SETTINGS, "{\"model\": \"x\"}");
    s.attach();
    s.a.write(SETTINGS, "{\"model\": \"a\"}");
    s.b.write(SETTINGS, "{\"model\": \"b\", \"k\": 1}");
    s.sync(1).err_has("both sides changed model");
    // Only the key in dispute waits.
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(value(&s.text(SETTINGS)), serde_json::json!({"model": "a", "k": 1}));
    assert_eq!(value(&s.a.read(SETTINGS)), serde_json::json!({"model": "a", "k": 1}));
    assert_eq!(s.b.read(SETTINGS), "{\"model\": \"b\", \"k\": 1}");
    s.app.overlay(&["accept", &s.held_ids()[0]]).exit(1).any_out().err_has("a conflict was decided");
    s.all_are(SETTINGS, &s.text(SETTINGS));
    assert_eq!(value(&s.text(SETTINGS)), serde_json::json!({"model": "b", "k": 1}));
    s.sync(0).any_err();
    configure(&w, "[overlay-sync]\non_conflict = \"nobody\"\n");
    s.app.overlay(&["sync"]).exit(2).err_has("must be one of workspace, overlay, hold, not `nobody`");
}

#[test]
fn a_local_value_over_several_lines_does_not_leak_its_tail() {
    let w = World::new();
    let s = scene(&w);
    configure(&w, "[overlay-sync.path.\".env\"]\nlocal = [\"KEY\"]\n");
    s.put(".env", "A=1\n");
    s.attach();
    s.a.write(".env", "A=2\nKEY=\"-----BEGIN\nsecretpart\nEND\"\n");
    s.sync(1).err_has("its own entries cannot be told from the others");
    assert_eq!((s.text(".env"), s.b.read(".env")), ("A=1\n".into(), "A=1\n".into()));
    s.a.overlay(&["add", ".env"]).exit(2).err_has("its local entries cannot be told from the others");
    // `drop` does not tear such a variable apart either.
    configure(&w, "");
    s.a.write(".env", "A=1\n");
    s.sync(0).any_err();
    s.put(".env", "A=1\nKEY=\"x\ny\"\n");
    s.sync(0).any_err();
    s.app.overlay(&["drop", ".env", "KEY"]).exit(4).err_has("cannot take `KEY` out");
    s.all_are(".env", "A=1\nKEY=\"x\ny\"\n");
}

#[test]
fn nested_worktrees_and_the_overlay_are_never_declared() {
    let w = World::new();
    let s = scene(&w);
    s.app.commit("src/m.c", "m\n");
    s.app.write(".claude/settings.json", "{}");
    s.app.git(&["worktree", "add", "-q", ".claude/worktrees/x"]);
    configure(&w, "[overlay-sync]\npaths = [\".claude/**\"]\n");
    s.app.overlay(&["add", ".claude/settings.json"]).succeeds();
    s.app.overlay(&["attach", ".", ".claude/worktrees/x"]).succeeds();
    s.sync(0).any_err();
    assert_eq!(s.sync(0).stdout, "");
    let there = s.app.sh(&format!("cd ~/{OVERLAY} && find . -type f -not -path './.overlay-sync/*'")).exit(0).stdout;
    assert_eq!(there, "./.claude/settings.json\n");
    // The overlay may lie in the checkout.
    let o = ["--overlay", ".claude/overlay"];
    s.app.overlay(&[&["add", ".claude/settings.json"], o.as_slice()].concat()).succeeds();
    s.app.overlay(&[&["attach", "."], o.as_slice()].concat()).succeeds();
    s.app.overlay(&[&["sync"], o.as_slice()].concat()).exit(0);
    assert_eq!(s.app.overlay(&[&["sync"], o.as_slice()].concat()).exit(0).stdout, "");
}
