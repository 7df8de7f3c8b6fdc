//! `overlay-sync`: what reviews found, each by what its user would have met.

use crate::support::overlay::{OVERLAY, Scene, scene};
use crate::support::world::{World, text, write};

const SETTINGS: &str = ".claude/settings.json";

fn configure(w: &World, text: &str) {
    write(&w.home(".config/shopfloor/config.toml"), text);
}

fn held(s: &Scene<'_>) -> Vec<serde_json::Value> {
    let lines = s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines();
    lines.into_iter().filter(|l| text(l, "/state") == "held").collect()
}

fn id(held: &serde_json::Value) -> &str {
    text(held, "/id")
}

#[test]
fn a_text_can_be_had_back_for_a_month_after_it_was_displaced_however_old_it_was() {
    let mut w = World::new();
    {
        let s = scene(&w);
        s.put(".env", "A=old\n");
        s.attach();
    }
    w.set("SHOPFLOOR_NOW", "2199-01-01T00:00:00Z");
    let (app, a) = (w.at(w.home("eng/repos/app")), w.at(w.home("eng/repos/a")));
    a.write(".env", "A=new\n");
    app.overlay(&["sync"]).exit(0);
    let old = app.sh("printf 'A=old\\n' | sha256sum | cut -c1-64").exit(0).stdout;
    assert_eq!(app.overlay(&["show", old.trim()]).exit(0).stdout, "A=old\n");
}

#[test]
fn values_over_several_lines_do_not_leak_their_tails() {
    let w = World::new();
    let s = scene(&w);
    configure(&w, "[overlay-sync.path.\".env\"]\nlocal = [\"KEY\"]\n");
    s.put(".env", "A=1\n");
    s.attach();
    s.a.write(".env", "A=2\nKEY=\"-----BEGIN\nsecretpart\nEND\"\n");
    s.sync(1).err_has("its own entries cannot be told from the others");
    assert_eq!((s.text(".env"), s.b.read(".env")), ("A=1\n".into(), "A=1\n".into()));
    s.a.overlay(&["add", ".env"]).exit(2).err_has("its local entries cannot be told from the others");
    // Such a variable is not torn by dropping it either.
    configure(&w, "");
    s.a.write(".env", "A=1\n");
    s.sync(0);
    s.put(".env", "A=1\nKEY=\"x\ny\"\n");
    s.sync(0);
    s.app.overlay(&["drop", ".env", "KEY"]).exit(4).err_has("cannot take `KEY` out");
    s.all_are(".env", "A=1\nKEY=\"x\ny\"\n");
}

#[test]
fn the_same_text_held_in_two_files_is_two_matters() {
    let w = World::new();
    let s = scene(&w);
    let full = "A=1\nB=1\nC=1\nD=1\nE=1\nF=1\nG=1\nH=1\n";
    s.put(".env", full);
    s.put(".env.other", "B=1\n");
    s.put(".env.third", "C=1\n");
    s.attach();
    s.a.write(".env", "");
    s.a.write(".env.other", "");
    s.sync(1).any_err();
    let all = held(&s);
    assert_ne!(id(&all[0]), id(&all[1]));
    let other = all.iter().find(|held| text(held, "/path") == ".env.other").unwrap();
    assert_ne!(text(other, "/overlay"), text(other, "/here"));
    s.app.overlay(&["accept", id(other)]).exit(0).any_err();
    assert_eq!((s.text(".env").as_str(), s.text(".env.other").as_str(), s.b.read(".env").as_str()), (full, "", full));
    // What is held by now is another text: nobody has spoken of that one.
    let waiting = held(&s);
    s.a.write(".env", "A=1\n");
    s.app.overlay(&["accept", id(&waiting[0])]).exit(1).err_has("is not what was held any more");
    assert_eq!(s.b.read(".env"), full);
}

#[test]
fn one_worktree_named_twice_is_one_workspace() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.a.sh("mkdir sub && overlay-sync attach . sub ../a").exit(0);
    s.a.overlay(&["attach"]).exit(0);
    s.a.write(".env", "A=2\n");
    s.sync(0);
    assert_eq!(s.text(".env"), "A=2\n");
    // A path in it means it, wherever one stands.
    s.a.sh("cd sub && overlay-sync status . && overlay-sync sync . && overlay-sync detach .")
        .exit(0)
        .out_has("clean .env");
}

#[test]
fn another_repository_in_a_workspaces_place_gets_nothing() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.app.sh("rm -rf ../a && git init -q ../a && echo .env > ../a/.gitignore").exit(0);
    s.put(".env", "A=secret\n");
    s.app.overlay(&["sync"]).exit(0).err_has("/a is not there");
    assert!(!s.a.has(".env") && s.b.read(".env") == "A=secret\n");
}

#[test]
fn a_moved_worktree_stays_attached_when_another_takes_its_place() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "K=1\n");
    s.attach();
    s.app.git(&["worktree", "move", "../a", "../a2"]);
    s.app.git(&["worktree", "add", "-q", "../a", "-b", "new"]);
    s.a.overlay(&["attach"]).exit(0);
    let moved = w.at(w.home("eng/repos/a2"));
    moved.write(".env", "K=7\n");
    s.sync(0);
    s.all_are(".env", "K=7\n");
}

#[test]
fn deleted_in_the_overlay_and_edited_elsewhere_the_edit_stands_for_all() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "K=1\nL=2\n");
    s.put(".env.keep", "x\n");
    s.attach();
    std::fs::remove_file(s.overlay(".env")).unwrap();
    s.b.write(".env", "K=5\n");
    s.sync(0);
    s.sync(0);
    s.all_are(".env", "K=5\n");
    // Let go of and put back as it was: managed again.
    let text = s.text(".env");
    std::fs::remove_file(s.overlay(".env")).unwrap();
    s.sync(0);
    s.put(".env", &text);
    s.sync(0);
    s.a.overlay(&["manifest"]).exit(0).out_has(".env\n");
    s.a.write(".env", "K=5\nM=1\n");
    s.sync(0);
    s.all_are(".env", "K=5\nM=1\n");
    // Let go of and put back: no conflict where nobody changed anything, and status tells of it meanwhile.
    std::fs::remove_file(s.overlay(".env")).unwrap();
    s.sync(0);
    s.app.overlay(&["status"]).exit(0).out_has("not in the overlay any more");
    s.put(".env", "K=6\n");
    s.sync(0);
    s.all_are(".env", "K=6\n");
}

#[test]
fn what_runs_code_does_not_pass_in_a_form_we_cannot_read() {
    let w = World::new();
    let s = scene(&w);
    configure(&w, "[overlay-sync]\npaths = [\".claude/*\"]\n");
    s.put(".claude/x.yaml", "a: !tag 1\n");
    s.attach();
    s.a.write(".claude/x.yaml", "a: !tag 1\nhooks:\n  - curl\n");
    let wide: Vec<u8> = "{\"mcpServers\": {\"x\": {}}}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(s.a.path.join(".claude/mcp.json"), [b"\xff\xfe".as_slice(), &wide].concat()).unwrap();
    s.sync(1).err_has("nobody can tell what it adds").err_has("mcp.json is held: it does not parse");
    assert!(!s.b.has(".claude/mcp.json") && s.b.read(".claude/x.yaml") == "a: !tag 1\n");
    // What a person lets pass is the text, not its leaves in whatever order.
    s.put(SETTINGS, "{}");
    s.sync(1).any_err();
    s.a.write(SETTINGS, "{\"hooks\": {\"Stop\": [{\"m\": 1}, {\"c\": 2}]}}");
    s.sync(1).any_err();
    let waiting = held(&s).into_iter().find(|held| text(held, "/path") == SETTINGS).unwrap();
    s.a.write(SETTINGS, "{\"hooks\": {\"Stop\": [{\"m\": 1, \"c\": 2}]}}");
    s.app.overlay(&["accept", id(&waiting)]).exit(1).any_err();
    assert_eq!(s.b.read(SETTINGS), "{}");
}

#[test]
fn a_lost_overlay_is_made_anew_by_nothing() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.app.sh(&format!("mv ~/{OVERLAY} ~/gone")).exit(0);
    s.app.write(".env", "A=1\n");
    for args in [
        &["sync"][..],
        &["add", ".env"],
        &["attach"],
        &["attach", "../a"],
        &["detach"],
        &["drop", ".env", "A"],
        &["accept", "x"],
        &["watch"],
        &["status"],
        &["conflicts"],
        &["log"],
        &["sync", "-n"],
    ] {
        s.app.overlay(args).exit(1).err_has("is not there; nothing was touched");
        assert!(!s.overlay("").exists(), "{args:?}");
    }
    // An empty directory in its place (nothing is mounted there) is not it either.
    std::fs::create_dir(s.overlay("")).unwrap();
    for args in [&["sync"][..], &["attach"], &["watch"], &["add", ".env"], &["hook", "run", "post-checkout"]] {
        let status = if args[0] == "hook" { 0 } else { 1 };
        let _ = s.app.overlay(args).exit(status).any_err();
        assert!(!s.overlay(".overlay-sync").exists(), "{args:?}");
    }
    s.app.overlay(&["sync"]).exit(1).err_has("has lost its state");
    s.app.sh(&format!("rmdir ~/{OVERLAY} && mv ~/gone ~/{OVERLAY}")).exit(0);
    s.a.write(".env", "A=2\n");
    s.sync(0);
    s.all_are(".env", "A=2\n");
    // Emptied: told by whoever is asked.
    s.put(".env.two", "x\n");
    s.sync(0);
    s.app.sh(&format!("rm ~/{OVERLAY}/.env*")).exit(0);
    s.sync(1).err_has("was emptied");
    s.app.overlay(&["status"]).exit(1).err_has("was emptied");
    s.app.overlay(&["sync", "-n"]).exit(1).err_has("was emptied");
    // Its state is reached through no link.
    s.app
        .sh(&format!("mv ~/{OVERLAY}/.overlay-sync ~/elsewhere && ln -s ~/elsewhere ~/{OVERLAY}/.overlay-sync"))
        .exit(0);
    s.app.overlay(&["sync"]).exit(4).err_has("is a symbolic link");
}

#[test]
fn a_failure_is_told_whatever_comes_after_it() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.put(".claude/x", "1\n");
    s.attach();
    s.app.sh(&format!("chmod 555 ~/{OVERLAY}/.claude")).exit(0);
    s.a.write(".claude/x", "2\n");
    s.b.write(".env", "A=2\n");
    let out = s.app.run_bound("overlay-sync", &["sync", "--json"]).exit(4);
    out.err_has("/a: .claude/x: cannot");
    let last = out.json_lines().pop().unwrap();
    assert_eq!(text(&last, "/error/kind"), "failed");
    assert!(text(&last, "/error/message").contains("/a: .claude/x: cannot"), "{last}");
    assert_eq!((s.a.read(".env"), s.b.read(".claude/x")), ("A=2\n".into(), "1\n".into()));
}

#[test]
fn a_merge_command_that_is_not_there_leaves_the_rule() {
    let w = World::new();
    let s = scene(&w);
    configure(&w, "[overlay-sync]\nmerge_command = [\"no-such-program\"]\n");
    s.put(SETTINGS, "{\"m\": 1}");
    s.attach();
    s.a.write(SETTINGS, "{\"m\": 2}");
    s.b.write(SETTINGS, "{\"m\": 3}");
    s.sync(1).err_has("the merge command no-such-program is not on the PATH; the rule decides");
    s.all_are(SETTINGS, "{\"m\": 3}");
}

#[test]
fn what_is_held_beside_local_entries_can_be_settled() {
    let w = World::new();
    let s = scene(&w);
    configure(&w, "[overlay-sync.path.\".env*\"]\nlocal = [\"PORT\"]\ndelete = \"propagate\"\n");
    let full = "A=1\nB=1\nC=1\nD=1\nE=1\nF=1\nG=1\nH=1\n";
    s.put(".env", full);
    s.put(".env.x", "X=1\n");
    s.put(".env.y", "Y=1\n");
    s.attach();
    s.a.write(".env", "PORT=7\nA=1\n");
    s.sync(1).err_has("7 of 8 entries vanished");
    assert_eq!(s.app.overlay(&["show", id(&held(&s)[0])]).exit(0).stdout, "PORT=7\nA=1\n");
    s.app.overlay(&["reject", id(&held(&s)[0])]).exit(0).any_err();
    assert_eq!((s.a.read(".env"), s.b.read(".env")), (format!("PORT=7\n{full}"), full.into()));
    // One that has nothing of its own goes with the overlay's, one that has stays.
    s.a.write(".env.x", "X=1\nPORT=3\n");
    s.sync(0);
    s.app.sh(&format!("rm ~/{OVERLAY}/.env.x ~/{OVERLAY}/.env.y")).exit(0);
    s.sync(0);
    assert!(s.a.has(".env.x") && !s.b.has(".env.x") && !s.a.has(".env.y"));
}

#[test]
fn a_displaced_text_is_put_back_where_it_was() {
    let w = World::new();
    let s = scene(&w);
    s.put(SETTINGS, "{\"m\": 1}");
    s.attach();
    s.a.write(SETTINGS, "{\"m\": 2}");
    s.b.write(SETTINGS, "{\"m\": 3}");
    s.sync(1).any_err();
    let conflicts = s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines();
    let id = id(&conflicts[0]);
    s.a.overlay(&["restore", id, "-n"]).exit(0).out_has("would restore 8 bytes");
    assert_eq!(s.a.read(SETTINGS), "{\"m\": 3}");
    s.a.overlay(&["restore", id]).exit(0).out_has("/a/.claude/settings.json");
    assert_eq!(s.a.read(SETTINGS), "{\"m\": 2}");
    s.sync(0);
    s.all_are(SETTINGS, "{\"m\": 2}");
    s.app.overlay(&["restore", id]).exit(1).err_has("this workspace is not attached");
}

#[test]
fn restoring_one_workspace_while_another_is_named() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.put(".env.two", "2\n");
    s.attach();
    s.a.git(&["clean", "-qfdX"]);
    s.sync(1).any_err();
    s.app.overlay(&["sync", "../b", "--restore", "../a"]).exit(0);
    s.all_are(".env", "A=1\n");
}

#[test]
fn what_is_dropped_stays_dropped_in_any_file_and_no_gate_is_in_its_way() {
    let w = World::new();
    let s = scene(&w);
    let keys: Vec<String> = (0..9).map(|n| format!("\"k{n}\": 1")).collect();
    s.put(SETTINGS, &format!("{{\"all\": {{{}}}, \"m\": 1}}", keys.join(", ")));
    s.put(".env", "A=1\nTOKEN=x\n");
    s.put(".env.one", "ONLY=1\n");
    s.attach();
    s.app.overlay(&["drop", SETTINGS, "all", "-n"]).exit(0).out_has("would drop all");
    s.app.overlay(&["drop", SETTINGS, "all"]).exit(0);
    s.all_are(SETTINGS, &s.text(SETTINGS));
    assert!(!s.text(SETTINGS).contains("all"));
    s.app.overlay(&["drop", ".env.one", "ONLY"]).exit(0);
    s.all_are(".env.one", "");
    // What waits elsewhere is another matter.
    s.b.write(SETTINGS, "{\"m\":");
    s.app.overlay(&["drop", ".env", "TOKEN"]).exit(0).any_err();
    // With whatever value.
    s.a.write(".env", "A=1\nTOKEN=y\nB=1\n");
    s.sync(1).err_has("brings back an entry that was removed");
    assert_eq!((s.text(".env"), s.b.read(".env")), ("A=1\nB=1\n".into(), "A=1\nB=1\n".into()));
}

#[test]
fn nested_worktrees_and_the_overlay_itself_are_never_declared() {
    let w = World::new();
    let s = scene(&w);
    s.app.commit("src/m.c", "m\n");
    s.app.write(".claude/settings.json", "{}");
    s.app.git(&["worktree", "add", "-q", ".claude/worktrees/x"]);
    configure(&w, "[overlay-sync]\npaths = [\".claude/**\"]\n");
    s.app.overlay(&["add", ".claude/settings.json"]).exit(0);
    s.app.overlay(&["attach", ".", ".claude/worktrees/x"]).exit(0);
    s.sync(0);
    assert_eq!(s.sync(0).stdout, "");
    let there = s.app.sh(&format!("cd ~/{OVERLAY} && find . -type f -not -path './.overlay-sync/*'")).exit(0).stdout;
    assert_eq!(there, "./.claude/settings.json\n");
    // An overlay that lies in the checkout.
    let o = ["--overlay", ".claude/overlay"];
    s.app.overlay(&[&["add", ".claude/settings.json"], o.as_slice()].concat()).exit(0);
    s.app.overlay(&[&["attach", "."], o.as_slice()].concat()).exit(0);
    s.app.overlay(&[&["sync"], o.as_slice()].concat()).exit(0);
    assert_eq!(s.app.overlay(&[&["sync"], o.as_slice()].concat()).exit(0).stdout, "");
}

#[test]
fn a_dry_run_of_anything_changes_nothing() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\nB=1\n");
    s.attach();
    s.a.write(".env", "");
    s.b.write(".env.new", "N=1\n");
    s.sync(1).any_err();
    let held = held(&s);
    let before = (w.at(s.overlay("")).snapshot(), s.a.snapshot(), s.b.snapshot());
    for (args, status, told) in [
        (&["sync"][..], 1, "would hold (it is empty)"),
        (&["add", ".env.new"], 0, "would add .env.new"),
        (&["detach"], 1, "would hold"),
        (&["accept", id(&held[0])], 0, "would accept .env"),
        (&["reject", id(&held[0])], 0, "would reject .env"),
        (&["drop", ".env", "A"], 0, "would drop A from .env"),
        (&["watch"], 1, "would hold"),
    ] {
        s.b.overlay(&[args, &["-n"]].concat()).exit(status).any_err().out_has(told);
    }
    s.app.overlay(&["attach", "-n"]).exit(0).out_has("would pull .env");
    s.app.overlay(&["hook", "install", "-n"]).exit(0).out_has("would install");
    assert!(!s.app.has(".git/hooks/post-checkout") && !s.app.has(".env"));
    w.at(s.overlay("")).assert_untouched_since(&before.0);
    s.a.assert_untouched_since(&before.1);
    s.b.assert_untouched_since(&before.2);
    let config = s.app.overlay(&["config"]).exit(0);
    config.out_has("debounce_ms = 2000 (default)").out_has("review = hooks,mcpServers (default)");
}

#[test]
fn whatever_is_held_can_be_let_go() {
    let w = World::new();
    let s = scene(&w);
    configure(&w, "[overlay-sync]\npaths = [\".claude/*\"]\n");
    let nine = |n: u32| (0..9).map(|i| format!("K{i}={n}\n")).collect::<String>();
    s.put(SETTINGS, "{\"m\": 1}");
    s.put(".env", &nine(1));
    s.attach();
    // The overlay's own text is held: it is not given to anybody.
    s.put(SETTINGS, "{\"m\": 2, \"k\"");
    s.sync(1).err_has("in the overlay: it does not parse");
    let waiting = held(&s);
    s.app.overlay(&["reject", id(&waiting[0])]).exit(1).err_has("it is the overlay's text");
    assert_eq!(s.a.read(SETTINGS), "{\"m\": 1}");
    s.put(SETTINGS, "{\"m\": 2}");
    s.sync(0);
    // A file that is not to enter.
    s.a.write(".claude/mcp.json", "{\"mcpServers\": {\"x\": {}}}");
    s.sync(1).any_err();
    s.app.overlay(&["reject", id(&held(&s)[0])]).exit(0).any_err();
    s.sync(0);
    assert!(s.a.has(".claude/mcp.json") && !s.overlay(".claude/mcp.json").exists());
    // Both sides gutted: a word for each.
    s.a.write(".env", "K0=a\n");
    s.put(".env", "K0=o\n");
    s.sync(1).any_err();
    for _ in 0..3 {
        if let Some(waiting) = held(&s).first() {
            let _ = s.app.overlay(&["accept", id(waiting)]).any_status().any_out().any_err();
        }
    }
    assert_eq!(held(&s).len(), 0);
    s.sync(0);
    s.all_are(".env", &s.text(".env"));
}

#[test]
fn a_word_for_one_thing_lets_nothing_else_pass() {
    let w = World::new();
    let s = scene(&w);
    configure(&w, "[overlay-sync]\non_conflict = \"hold\"\n");
    s.put(SETTINGS, "{\"a\": 1, \"b\": 1}");
    s.attach();
    s.put(SETTINGS, "{\"a\": 2, \"b\": 1}");
    s.a.write(SETTINGS, "{\"b\": 2, \"hooks\": {\"P\": [\"evil\"]}}");
    s.sync(1).err_has("both sides changed a; it adds to `hooks`");
    // What is neither travels.
    assert!(s.b.read(SETTINGS).contains("\"b\": 2"));
    let waiting = held(&s);
    s.app.overlay(&["accept", id(&waiting[0])]).exit(1).any_err();
    assert!(
        s.b.read(SETTINGS).contains("evil") && !s.b.read(SETTINGS).contains("\"a\""),
        "both were told, and what was deleted goes"
    );
    // A gutted text with hooks in it: the word for the one is none for the other.
    let keys: String = (0..9).map(|n| format!("\"k{n}\": 1, ")).collect();
    s.put(".claude/other.json", &format!("{{{keys}\"z\": 1}}"));
    s.sync(0);
    s.a.write(".claude/other.json", "{\"z\": 1, \"hooks\": {\"P\": [\"evil\"]}}");
    s.sync(1).err_has("entries vanished");
    let waiting = held(&s);
    s.app.overlay(&["accept", id(&waiting[0])]).exit(1).err_has("it adds to `hooks`");
    assert!(!s.b.read(".claude/other.json").contains("k3") && !s.b.read(".claude/other.json").contains("evil"));
}

#[test]
fn a_worktree_that_is_gone_is_meant_by_its_path_and_a_copy_is_none() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.app.overlay(&["attach"]).exit(0);
    s.app.git(&["worktree", "remove", "--force", "../a"]);
    s.app.overlay(&["attach", "../nothere"]).exit(1).err_has("there is no directory");
    s.app.overlay(&["detach", "../nothere"]).exit(1).err_has("is not attached");
    s.app.overlay(&["detach", "../a"]).exit(0).out_has("/a");
    let states = s.app.overlay(&["status", "--json"]).exit(0).json_lines();
    assert_eq!(states.len(), 2, "the main checkout and b stay: {states:?}");
    s.app.sh("cp -r ../b ../copy").exit(0);
    s.app.overlay(&["attach", "../copy"]).exit(2).err_has("is a copy of");
    s.b.write(".env", "A=2\n");
    s.sync(0);
    assert_eq!((s.text(".env"), s.app.read(".env")), ("A=2\n".into(), "A=2\n".into()));
}

#[test]
fn one_unreadable_directory_is_told_and_keeps_nothing_else_back() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.put(".claude/x", "1\n");
    s.attach();
    s.app.sh("chmod 000 ../a/.claude").exit(0);
    s.b.write(".env", "A=2\n");
    s.b.write(".claude/x", "2\n");
    s.b.run_bound("overlay-sync", &["sync"]).exit(4).any_out().err_has("/a: .claude/x: cannot");
    s.app.sh("chmod 755 ../a/.claude").exit(0);
    s.all_are(".env", "A=2\n");
    assert_eq!(s.text(".claude/x"), "2\n");
}

#[test]
fn bytes_that_are_no_text_travel_as_they_are_and_names_that_are_none_are_told() {
    use std::os::unix::ffi::OsStrExt;
    let w = World::new();
    let s = scene(&w);
    s.put(".claude/x.bin", "");
    s.put(".env", "");
    std::fs::write(s.overlay(".env"), b"A=\xff\xfe\nB=1\n").unwrap();
    let name = std::ffi::OsStr::from_bytes(b".env\xff");
    std::fs::write(s.overlay("").join(name), "x").unwrap();
    s.attach();
    s.a.overlay(&["sync"]).exit(0).err_has("its name is not UTF-8");
    assert!(!s.a.path.join(name).exists());
    let read = |repo: &crate::support::world::Repo<'_>, file: &str| std::fs::read(repo.path.join(file)).unwrap();
    std::fs::write(s.a.path.join(".env"), b"A=\xff\xfe\nB=2\n").unwrap();
    std::fs::write(s.b.path.join(".env"), b"A=\xff\xfe\nB=1\nC=\xfd\n").unwrap();
    std::fs::write(s.a.path.join(".claude/x.bin"), b"\0\x01\xff").unwrap();
    s.sync(0).any_err();
    assert_eq!((read(&s.a, ".env"), read(&s.b, ".env")), (b"A=\xff\xfe\nB=2\nC=\xfd\n".to_vec(), read(&s.a, ".env")));
    assert_eq!(read(&s.b, ".claude/x.bin"), b"\0\x01\xff");
    // Binaries both changed are taken whole, and the loser can be had back.
    std::fs::write(s.a.path.join(".claude/x.bin"), b"\0a").unwrap();
    std::fs::write(s.b.path.join(".claude/x.bin"), b"\0b").unwrap();
    s.sync(1).any_err();
    assert_eq!((read(&s.a, ".claude/x.bin"), read(&s.b, ".claude/x.bin")), (b"\0b".to_vec(), b"\0b".to_vec()));
    let conflicts = s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines();
    assert_eq!(s.app.overlay(&["show", id(&conflicts[0])]).exit(0).stdout, "\0a");
}
