//! `overlay-sync`: what of a file travels, which way, and what waits, as settings and people say.

use crate::support::overlay::{OVERLAY, Scene, scene};
use crate::support::world::{Checked, World, text, write};

const SETTINGS: &str = ".claude/settings.json";

fn configure(w: &World, text: &str) {
    write(&w.home(".config/shopfloor/config.toml"), text);
}

fn allow(list: &str) -> String {
    format!("{{\n  \"permissions\": {{\n    \"allow\": [{list}]\n  }}\n}}\n")
}

/// The ids of what is held.
fn held(s: &Scene<'_>) -> Vec<String> {
    let lines = s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines();
    lines.iter().filter(|l| text(l, "/state") == "held").map(|l| text(l, "/id").to_owned()).collect()
}

fn rules(out: &Checked) -> Vec<String> {
    out.json_lines().iter().map(|l| text(l, "/rule").to_owned()).collect()
}

#[test]
fn an_entry_that_is_dropped_is_gone_everywhere_and_does_not_come_back_by_itself() {
    let w = World::new();
    let s = scene(&w);
    let (all, left) = (allow("\"Read\", \"Bash(rm:*)\""), allow("\"Read\""));
    s.put(SETTINGS, &all);
    s.put(".env", "A=1\nTOKEN=x\n");
    s.attach();
    s.app.overlay(&["drop", SETTINGS, "permissions.allow.\"Bash(ls:*)\""]).exit(1).err_has("is not in");
    s.app.overlay(&["drop", "nothing.json", "a"]).exit(1).err_has("no file nothing.json in the overlay");
    s.app.overlay(&["drop", "../x", "a"]).exit(2).any_err();
    s.app.overlay(&["drop", SETTINGS, "a..b"]).exit(2).err_has("is no entry");
    s.app.overlay(&["drop", SETTINGS, "permissions.allow.\"Bash(rm:*)\""]).exit(0).out_has("dropped");
    s.all_are(SETTINGS, &left);
    s.app.overlay(&["drop", ".env", "TOKEN"]).exit(0);
    s.all_are(".env", "A=1\n");
    // An agent writes its settings from stale memory, with something new.
    s.a.write(SETTINGS, &allow("\"Read\", \"Bash(rm:*)\", \"Bash(git:*)\""));
    s.sync(1).err_has("brings back an entry that was removed");
    let now = allow("\"Read\", \"Bash(git:*)\"");
    assert_eq!((s.text(SETTINGS), s.b.read(SETTINGS)), (now.clone(), now.clone()));
    assert!(s.a.read(SETTINGS).contains("rm:*"), "its own text stays its own");
    s.app.overlay(&["reject", &held(&s)[0]]).exit(0).any_err();
    s.all_are(SETTINGS, &now);
    s.b.write(SETTINGS, &all.replace("]", ", \"Bash(git:*)\"]"));
    s.sync(1).any_err();
    s.app.overlay(&["accept", &held(&s)[0]]).exit(0).any_err();
    assert!(s.text(SETTINGS).contains("rm:*") && s.a.read(SETTINGS).contains("rm:*"));
    assert_eq!(held(&s), Vec::<String>::new());
    // Once it is in the overlay again it is an entry like any other.
    s.a.write(SETTINGS, &s.text(SETTINGS).replace("\"Read\", ", ""));
    s.sync(0);
    assert!(s.text(SETTINGS).contains("Read"));
}

#[test]
fn an_entry_removed_by_hand_in_the_overlay_is_remembered_too() {
    let w = World::new();
    let s = scene(&w);
    s.put(SETTINGS, &allow("\"Read\", \"Bash(rm:*)\""));
    s.attach();
    s.put(SETTINGS, &allow("\"Read\""));
    s.sync(0);
    s.a.write(SETTINGS, &allow("\"Read\", \"Bash(rm:*)\""));
    s.sync(1).err_has("brings back");
    s.all_but(&s.a, SETTINGS, &allow("\"Read\""));
    s.put(".env", "X=1\nX=1\n");
    s.app.overlay(&["drop", ".env", "X"]).exit(1).err_has("2 times");
}

#[test]
fn a_removal_that_does_not_spread_is_logged_and_no_conflict() {
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
    // With plain three-way it spreads, but what is denied stays denied; with grow nothing goes at all.
    configure(
        &w,
        "[overlay-sync.path.\".claude/*\"]\npolicy = \"three-way\"\n[overlay-sync.path.\".env\"]\npolicy = \"grow\"\n",
    );
    let denied = "{\"permissions\": {\"allow\": [\"Edit\"], \"deny\": [\"Web\"]}}";
    s.put(SETTINGS, &denied.replace("[\"Edit\"", "[\"Read\", \"Edit\""));
    s.put(".env", "A=1\nB=1\n");
    s.sync(0);
    s.a.write(SETTINGS, "{\"permissions\": {\"allow\": [\"Edit\"], \"deny\": []}}");
    s.a.write(".env", "A=2\n");
    s.sync(0);
    s.all_are(SETTINGS, denied);
    assert!(s.b.read(".env").contains("A=2\n") && s.b.read(".env").contains("B=1\n"));
}

#[test]
fn what_adds_code_waits_and_the_rest_of_the_edit_travels() {
    let w = World::new();
    let s = scene(&w);
    s.put(SETTINGS, &allow("\"Read\""));
    s.attach();
    let hooked = allow("\"Read\", \"Edit\"")
        .replace("{\n  \"p", "{\n  \"hooks\": {\"Stop\": [{\"command\": \"curl x\"}]},\n  \"p");
    s.a.write(SETTINGS, &hooked);
    let foretold = s.app.overlay(&["sync", "-n"]).exit(1);
    foretold.out_has("would push .claude/settings.json").out_has("would hold a part of (it adds to `hooks`");
    s.sync(1).err_has("a part of").err_has("adds to `hooks`");
    s.all_but(&s.a, SETTINGS, &allow("\"Read\", \"Edit\""));
    assert_eq!(s.a.read(SETTINGS), hooked);
    // Held, and nothing more to do; others go on meanwhile, also into the one that waits.
    assert_eq!(s.sync(1).any_err().stdout, "");
    s.b.write(SETTINGS, &allow("\"Read\", \"Edit\", \"Web\""));
    s.sync(1).any_err();
    assert!(s.a.read(SETTINGS).contains("Web") && s.a.read(SETTINGS).contains("curl x"));
    assert!(!s.b.read(SETTINGS).contains("curl"));
    let states = s.a.overlay(&["status", ".", "--json"]).exit(0).json_lines();
    assert_eq!(text(&states[0], "/state"), "held");
    s.app.overlay(&["accept", &held(&s)[0]]).exit(0).any_err();
    assert!([s.text(SETTINGS), s.b.read(SETTINGS)].iter().all(|t| t.contains("curl x") && t.contains("Web")));
    assert_eq!(s.sync(0).stdout, "");
    // The word was for that time: taken away by a person and brought back, it waits once more.
    let with = s.text(SETTINGS);
    let without = with.replace("\"hooks\": {\"Stop\": [{\"command\": \"curl x\"}]},", "");
    assert_ne!(with, without);
    s.put(SETTINGS, &without);
    s.sync(0);
    s.a.write(SETTINGS, &with);
    s.sync(1).err_has("adds to `hooks`");
    s.a.write(SETTINGS, &without);
    s.sync(0);
    s.put(SETTINGS, &with);
    s.sync(0);
    // Whoever wishes otherwise says so; the repository's word for that needs approval.
    s.b.write(SETTINGS, &s.text(SETTINGS).replace("curl x", "curl y"));
    s.app.overlay(&["sync"]).exit(1).any_err();
    s.app.write(".shopfloor/config.toml", "[overlay-sync]\nreview = []\n");
    s.app.overlay(&["sync"]).exit(1).err_has("needs approval");
    s.app.run("sweatfile-apply", &["approve", "--yes"]).exit(0);
    s.app.overlay(&["sync"]).exit(0);
    assert!(s.a.read(SETTINGS).contains("curl y"));
    s.a.write(SETTINGS, &s.text(SETTINGS).replace("curl y", "curl z"));
    s.app.overlay(&["sync", "--review", "hooks"]).exit(1).any_err();
    s.app.overlay(&["sync", "--review", ""]).exit(0);
}

#[test]
fn local_entries_stay_where_they_are() {
    let w = World::new();
    let s = scene(&w);
    configure(
        &w,
        "[overlay-sync.path.\".claude/*.json\"]\nlocal = [\"env.PORT\"]\n[overlay-sync.path.\".env\"]\nlocal = [\"PORT\"]\n",
    );
    let json = |port: &str, log: &str| {
        format!("{{\n  \"env\": {{\n    \"PORT\": \"{port}\",\n    \"LOG\": \"{log}\"\n  }}\n}}\n")
    };
    s.a.write(SETTINGS, &json("3001", "info"));
    s.b.write(SETTINGS, &json("3002", "info"));
    s.a.write(".env", "PORT=1\nA=1\n");
    s.b.write(".env", "A=1\nPORT=2\n");
    s.a.overlay(&["add", SETTINGS, ".env"]).exit(0);
    s.attach();
    assert!(!s.text(SETTINGS).contains("PORT") && s.text(".env") == "A=1\n", "it does not leave");
    assert_eq!((s.a.read(SETTINGS), s.b.read(SETTINGS)), (json("3001", "info"), json("3002", "info")));
    assert_eq!((s.a.read(".env"), s.b.read(".env")), ("PORT=1\nA=1\n".into(), "A=1\nPORT=2\n".into()));
    s.a.write(SETTINGS, &json("3009", "debug"));
    s.b.write(".env", "A=1\nPORT=7\nB=1\n");
    s.sync(0);
    assert_eq!((s.a.read(SETTINGS), s.b.read(SETTINGS)), (json("3009", "debug"), json("3002", "debug")));
    assert_eq!((s.a.read(".env"), s.text(".env")), ("PORT=1\nA=1\nB=1\n".into(), "A=1\nB=1\n".into()));
    assert_eq!(s.sync(0).stdout, "");
    // Nor does the overlay's own enter, and a new workspace starts without.
    s.put(".env", "A=2\nB=1\nPORT=0\n");
    s.app.overlay(&["attach"]).exit(0);
    s.sync(0);
    assert_eq!((s.app.read(".env"), s.a.read(".env")), ("A=2\nB=1\n".into(), "PORT=1\nA=2\nB=1\n".into()));
    assert_eq!(s.text(".env"), "A=2\nB=1\nPORT=0\n");
    configure(&w, "[overlay-sync.path.\".env\"]\nlocal = [\"a..b\"]\n");
    s.app.overlay(&["sync"]).exit(2).err_has("config.toml:2").err_has("`local` cannot hold `a..b`");
}

#[test]
fn one_way_files_and_deletions_that_spread() {
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
    s.sync(0);
    assert_eq!((s.text(".env"), s.b.read(".env")), ("A=1\nB=1\nC=1\nD=1\n".into(), "A=1\nB=1\nC=1\nD=1\n".into()));
    assert_eq!(text(&s.a.overlay(&["status", ".", "--json"]).exit(0).json_lines()[0], "/state"), "changed");
    s.put(".env", "A=1\nB=1\nC=1\nD=2\n");
    s.sync(0);
    assert_eq!((s.a.read(".env"), s.b.read(".env")), ("A=mine\nB=1\nC=1\nD=2\n".into(), "A=1\nB=1\nC=1\nD=2\n".into()));
    // Deleted in the overlay: gone where nobody changed it; an edit is stronger.
    s.b.write(".env.two", "2b\n");
    s.app.sh(&format!("cd ~/{OVERLAY} && rm .env.one .env.two")).exit(0);
    s.app.overlay(&["sync", "-n"]).exit(0).out_has("would remove .env.one");
    s.sync(0);
    assert!(!s.a.has(".env.one") && !s.b.has(".env.one"));
    s.all_are(".env.two", "2b\n");
    let gone = s.app.overlay(&["log", "--json"]).exit(0).json_lines();
    let removed = gone.iter().find(|l| text(l, "/path") == ".env.one" && l["to"].is_null()).unwrap();
    assert_eq!(s.app.overlay(&["show", text(removed, "/from")]).exit(0).stdout, "1\n");
}

#[test]
fn declared_files_enter_from_whichever_workspace_has_them() {
    let w = World::new();
    let s = scene(&w);
    configure(&w, "[overlay-sync]\npaths = [\".claude/**/*.json\", \"./.env.local\"]\n");
    s.put(".env", "A=1\n");
    s.attach();
    s.a.write(".claude/deep/x.json", "{\"x\": 1}");
    s.a.write(".claude/notes.md", "not declared");
    s.a.write(".env.local", "L=1\n");
    s.a.write("sub/.env.local", "L=2\n");
    s.a.write(".claude/half.json", "{\"x\":");
    s.a.write(".claude/empty.json", "");
    s.a.write(".claude/mcp.json", "{\"mcpServers\": {\"x\": {\"command\": \"x\"}}}");
    let out = s.app.overlay(&["sync", "--json"]).exit(1);
    assert_eq!(rules(&out).iter().filter(|rule| *rule == "adopt").count(), 2);
    s.all_are(".claude/deep/x.json", "{\"x\": 1}");
    s.all_are(".env.local", "L=1\n");
    for path in [".claude/notes.md", "sub/.env.local", ".claude/half.json", ".claude/empty.json", ".claude/mcp.json"] {
        assert!(!s.overlay(path).exists() && !s.b.has(path), "{path}");
    }
    out.err_has("half.json is held: it does not parse")
        .err_has("empty.json is held: it is empty")
        .err_has("mcp.json is held: it is new and adds");
    // What was taken out of the overlay stays out, though workspaces keep theirs.
    std::fs::remove_file(s.overlay(".env.local")).unwrap();
    s.sync(1).any_err();
    s.sync(1).any_err();
    assert!(!s.overlay(".env.local").exists() && s.a.has(".env.local"));
    // A file that git would show is not taken, whatever is declared.
    s.a.sh("rm .claude/half.json .claude/empty.json .claude/mcp.json").exit(0);
    s.app.write(".worktreeinclude", "# what agents need\nseen/*.txt\n*.jsonl\n!x.jsonl\n.env.dir/\n");
    s.b.write("seen/a.txt", "x");
    s.b.write("log.jsonl", "{}\n");
    s.b.write("x.jsonl", "{}\n");
    s.b.write(".env.dir/inside", "x\n");
    s.app.overlay(&["sync"]).exit(0).err_has("seen/a.txt is not ignored");
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
fn a_conflict_waits_for_a_person_where_that_is_wished() {
    let w = World::new();
    let s = scene(&w);
    configure(&w, "[overlay-sync]\non_conflict = \"hold\"\n");
    s.put(SETTINGS, "{\"model\": \"x\"}");
    s.attach();
    s.a.write(SETTINGS, "{\"model\": \"a\"}");
    s.b.write(SETTINGS, "{\"model\": \"b\", \"k\": 1}");
    s.sync(1).err_has("both sides changed model");
    // Only what is in dispute waits.
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(value(&s.text(SETTINGS)), serde_json::json!({"model": "a", "k": 1}));
    assert_eq!(value(&s.a.read(SETTINGS)), serde_json::json!({"model": "a", "k": 1}));
    assert_eq!(s.b.read(SETTINGS), "{\"model\": \"b\", \"k\": 1}");
    s.app.overlay(&["accept", &held(&s)[0]]).exit(1).err_has("a conflict was decided");
    s.all_are(SETTINGS, &s.text(SETTINGS));
    assert_eq!(value(&s.text(SETTINGS)), serde_json::json!({"model": "b", "k": 1}));
    s.sync(0);
    configure(&w, "[overlay-sync]\non_conflict = \"nobody\"\n");
    s.app.overlay(&["sync"]).exit(2).err_has("must be one of workspace, overlay, hold, not `nobody`");
}

#[test]
fn old_contents_go_after_a_month_and_not_while_something_speaks_of_them() {
    let mut w = World::new();
    {
        let s = scene(&w);
        s.put(".env", "A=1\n");
        s.attach();
        for n in 2..5 {
            s.a.write(".env", &format!("A={n}\n"));
            s.sync(0);
        }
        s.a.write(".env", "A=x\n");
        s.b.write(".env", "A=y\n");
        s.sync(1).any_err();
    }
    let sha = |text: &str| {
        let out = w.at(w.path("")).sh(&format!("printf '{text}\\n' | sha256sum | cut -c1-64")).exit(0);
        out.stdout.trim().to_owned()
    };
    let (old, lost) = (sha("A=2"), sha("A=x"));
    let app = w.at(w.home("eng/repos/app"));
    app.overlay(&["show", &old]).exit(0);
    w.set("SHOPFLOOR_NOW", "2199-01-01T00:00:00Z");
    let app = w.at(w.home("eng/repos/app"));
    app.overlay(&["sync"]).exit(0);
    app.overlay(&["show", &old]).exit(1).err_has("nothing is kept");
    assert_eq!(app.overlay(&["show", &lost]).exit(0).stdout, "A=x\n", "a conflict still speaks of it");
    app.overlay(&["sync"]).exit(0);
}
