//! `drop`, and entries that were removed from the overlay.

use crate::support::overlay::{SETTINGS, allow, configure, scene};
use crate::support::world::World;

#[test]
fn a_dropped_entry_is_gone_everywhere_and_held_when_it_comes_back() {
    let w = World::new();
    let s = scene(&w);
    let (all, left) = (allow("\"Read\", \"Bash(rm:*)\""), allow("\"Read\""));
    s.put(SETTINGS, &all);
    s.put(".env", "A=1\nTOKEN=x\n");
    s.attach();
    s.app.overlay(&["drop", SETTINGS, "permissions.allow.\"Bash(ls:*)\""]).exit(1).err_has("is not in");
    s.app.overlay(&["drop", "nothing.json", "a"]).exit(1).err_has("no file nothing.json in the overlay");
    s.app.overlay(&["drop", "../x", "a"]).exit(2).any_err();
    s.app.overlay(&["drop", SETTINGS, "a..b"]).exit(2).err_has("is not an entry");
    s.app.overlay(&["drop", SETTINGS, "permissions.allow.\"Bash(rm:*)\""]).exit(0).out_has("dropped");
    s.all_are(SETTINGS, &left);
    s.app.overlay(&["drop", ".env", "TOKEN"]).succeeds().any_err();
    s.all_are(".env", "A=1\n");
    // An agent writes its settings from stale memory, with a new entry.
    s.a.write(SETTINGS, &allow("\"Read\", \"Bash(rm:*)\", \"Bash(git:*)\""));
    s.sync(1).err_has("brings back an entry that was removed");
    let now = allow("\"Read\", \"Bash(git:*)\"");
    assert_eq!((s.text(SETTINGS), s.b.read(SETTINGS)), (now.clone(), now.clone()));
    assert!(s.a.read(SETTINGS).contains("rm:*"), "its own text stays its own");
    let held = s.held_ids().remove(0);
    s.app.overlay(&["reject", &held]).succeeds().any_err();
    s.all_are(SETTINGS, &now);
    // The workspace's own text can still be had.
    s.app.overlay(&["show", &held]).exit(0).out_has("rm:*");
    s.b.write(SETTINGS, &all.replace("]", ", \"Bash(git:*)\"]"));
    s.sync(1).any_err();
    s.app.overlay(&["accept", &s.held_ids()[0]]).succeeds().any_err();
    assert!(s.text(SETTINGS).contains("rm:*") && s.a.read(SETTINGS).contains("rm:*"));
    assert_eq!(s.held_ids(), Vec::<String>::new());
    // Back in the overlay, it is an entry like any other.
    s.a.write(SETTINGS, &s.text(SETTINGS).replace("\"Read\", ", ""));
    s.sync(0).any_err();
    assert!(s.text(SETTINGS).contains("Read"));
}

#[test]
fn an_entry_removed_by_hand_in_the_overlay_is_held_when_it_comes_back() {
    let w = World::new();
    let s = scene(&w);
    s.put(SETTINGS, &allow("\"Read\", \"Bash(rm:*)\""));
    s.attach();
    s.put(SETTINGS, &allow("\"Read\""));
    s.sync(0).any_err();
    s.a.write(SETTINGS, &allow("\"Read\", \"Bash(rm:*)\""));
    s.sync(1).err_has("brings back");
    s.all_but(&s.a, SETTINGS, &allow("\"Read\""));
    s.put(".env", "X=1\nX=1\n");
    s.app.overlay(&["drop", ".env", "X"]).exit(1).any_out().err_has("2 times");
}

#[test]
fn drop_works_in_any_file_and_no_gate_holds_it() {
    let w = World::new();
    let s = scene(&w);
    let keys: Vec<String> = (0..9).map(|n| format!("\"k{n}\": 1")).collect();
    s.put(SETTINGS, &format!("{{\"all\": {{{}}}, \"m\": 1}}", keys.join(", ")));
    s.put(".env", "A=1\nTOKEN=x\n");
    s.put(".env.one", "ONLY=1\n");
    s.put(".data/todo.md", "- a\n--b\n- b\n");
    s.attach();
    s.app.overlay(&["drop", ".data/todo.md", "- b", "-n"]).exit(0).out_has("would drop \"- b\"");
    s.app.overlay(&["drop", ".data/todo.md", "- b"]).succeeds();
    s.app.overlay(&["drop", ".data/todo.md", "--", "--b"]).succeeds();
    s.all_are(".data/todo.md", "- a\n");
    s.app.overlay(&["drop", SETTINGS, "all", "-n"]).exit(0).out_has("would drop all");
    s.app.overlay(&["drop", SETTINGS, "all"]).succeeds();
    s.all_are(SETTINGS, &s.text(SETTINGS));
    assert!(!s.text(SETTINGS).contains("all"));
    s.app.overlay(&["drop", ".env.one", "ONLY"]).succeeds();
    s.all_are(".env.one", "");
    // Something held in another file does not matter. A dry run makes the sync before the change, too.
    s.b.write(SETTINGS, "{\"m\":");
    s.b.write(".env.one", "NEW=1\n");
    let foreseen = s.app.overlay(&["drop", ".env.one", "NEW", "-n"]).exit(0).any_err();
    foreseen.out_has("would push .env.one").out_has("would hold").out_has("would drop NEW");
    s.app.overlay(&["drop", ".env", "TOKEN"]).succeeds().any_err();
    // What is held already has an id.
    let foreseen = s.app.overlay(&["drop", ".env", "A", "-n"]).exit(0);
    foreseen.err_has("is held: it no longer parses; run `overlay-sync accept").out_has("would drop A");
    assert!(!foreseen.stdout.contains("would hold"), "{foreseen}");
    // The variable is held whatever its value.
    s.a.write(".env", "A=1\nTOKEN=y\nB=1\n");
    s.sync(1).err_has("brings back an entry that was removed");
    assert_eq!((s.text(".env"), s.b.read(".env")), ("A=1\nB=1\n".into(), "A=1\nB=1\n".into()));
}

/// In TOML a table may be there only in the names of those below it.
#[test]
fn the_last_table_below_a_parent_leaves_the_parent_empty() {
    let w = World::new();
    let s = scene(&w);
    s.put(".data/x.toml", "a = 1\n\n[t.foo]\nb = 1\n");
    s.put(".data/y.toml", "t.foo = 1\na = 1\n");
    s.attach();
    for file in [".data/x.toml", ".data/y.toml"] {
        s.app.overlay(&["drop", file, "t.foo"]).succeeds();
        s.all_are(file, "a = 1\n\n[t]\n");
    }
    configure(&w, "[overlay-sync.path.\".data/*\"]\nlocal = [\"t.foo\"]\n");
    s.app.write(".data/z.toml", "a = 1\n\n[t.foo]\nb = 1\n");
    s.app.overlay(&["add", ".data/z.toml"]).succeeds();
    assert_eq!(s.text(".data/z.toml"), "a = 1\n\n[t]\n");
    for (name, text) in
        [("base", "[t.foo]\nb = 1\n[t.bar]\nc = 1\n"), ("one", "[t.foo]\nb = 1\n"), ("other", "[t.bar]\nc = 1\n")]
    {
        s.app.write(name, text);
    }
    let merged = s.app.overlay(&["merge", "base", "one", "other", "--path", "x.toml"]).exit(0);
    assert_eq!(merged.stdout, "[t]\n");
}

#[test]
fn a_workspaces_own_entry_is_not_held_after_a_drop() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "PORT=1\nA=1\n");
    s.put(SETTINGS, "{\"env\": {\"PORT\": 1, \"LOG\": 1}}");
    s.attach();
    s.app.overlay(&["drop", ".env", "PORT"]).succeeds();
    s.app.overlay(&["drop", SETTINGS, "env.PORT"]).succeeds();
    configure(
        &w,
        "[overlay-sync.path.\".env\"]\nlocal = [\"PORT\"]\n[overlay-sync.path.\".data/*\"]\nlocal = [\"env.PORT\"]\n",
    );
    s.a.write(".env", "A=1\nPORT=5\nB=1\n");
    s.a.write(SETTINGS, "{\"env\": {\"PORT\": 5, \"LOG\": 2}}");
    s.sync(0).any_err();
    s.all_but(&s.a, ".env", "A=1\nB=1\n");
    assert!(s.b.read(SETTINGS).contains("\"LOG\": 2") && !s.text(SETTINGS).contains("PORT"), "{}", s.text(SETTINGS));
    assert!(s.a.read(".env").contains("PORT=5") && s.a.read(SETTINGS).contains("\"PORT\": 5"));
}

#[test]
fn a_variable_is_dropped_whatever_the_others_are() {
    let w = World::new();
    let s = scene(&w);
    let text = |a: &str| format!("K='-----BEGIN\nx=1\n-----END'\n{a}C=3\nC=4\n");
    s.put(".env", &text("A=1\n"));
    s.attach();
    s.app.overlay(&["drop", ".env", "A"]).succeeds();
    s.all_are(".env", &text(""));
    // A line of another's value is no variable.
    s.app.overlay(&["drop", ".env", "x"]).exit(4).err_has("cannot take `x` out");
    s.all_are(".env", &text(""));
}

#[test]
fn a_record_of_a_list_is_dropped_by_its_value_or_its_name() {
    for entry in ["t.{\"id\": \"b.x\", \"c\": 2.50}", "t.{\"c\":2.50,\"id\":\"b.x\"}", "t.\"b.x\""] {
        let w = World::new();
        let s = scene(&w);
        s.put(SETTINGS, "{\"t\": [{\"id\": \"b.x\", \"c\": 2.50}, {\"id\": \"k\"}]}\n");
        s.attach();
        s.app.overlay(&["drop", SETTINGS, "t[0]"]).exit(1).err_has("an element of a list as JSON");
        s.app.overlay(&["drop", SETTINGS, entry]).succeeds();
        s.all_are(SETTINGS, "{\"t\": [{\"id\": \"k\"}]}\n");
    }
}
