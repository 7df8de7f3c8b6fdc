//! What cannot be read or written is reported, and the rest is synced.

use crate::support::overlay::{OVERLAY, SETTINGS, edited, scene};
use crate::support::world::{World, text, which};

/// Case 14 of the design.
#[test]
fn an_unwritable_workspace_does_not_stop_the_others() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.app.sh("chmod 555 ../b").exit(0);
    s.a.write(".env", "A=2\n");
    s.a.run_bound("overlay-sync", &["sync"]).exit(4).any_out().err_has("/b: .env: cannot");
    assert_eq!((s.text(".env"), s.b.read(".env")), ("A=2\n".into(), "A=1\n".into()));
    // It is not detached in a state that nobody chose either.
    s.a.run_bound("overlay-sync", &["detach", "../b"]).exit(4).err_has("stays attached");
    s.app.sh("chmod 755 ../b").exit(0);
    s.a.run_bound("overlay-sync", &["sync"]).succeeds();
    s.all_are(".env", "A=2\n");
}

#[test]
fn a_failed_write_is_reported_and_the_rest_is_synced() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.put(".data/x", "1\n");
    s.attach();
    s.app.sh(&format!("chmod 555 ~/{OVERLAY}/.data")).exit(0);
    s.a.write(".data/x", "2\n");
    s.b.write(".env", "A=2\n");
    let out = s.app.run_bound("overlay-sync", &["sync", "--json"]).exit(4);
    out.err_has("/a: .data/x: cannot");
    let last = out.json_lines().pop().unwrap();
    assert_eq!(text(&last, "/error/kind"), "failed");
    assert!(text(&last, "/error/message").contains("/a: .data/x: cannot"), "{last}");
    assert_eq!((s.a.read(".env"), s.b.read(".data/x")), ("A=2\n".into(), "1\n".into()));
}

#[test]
fn a_checkout_that_git_calls_bare_is_named_with_its_cure_and_the_rest_is_synced() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.app.overlay(&["attach"]).succeeds().any_err();
    s.app.git(&["config", "core.bare", "true"]);
    s.a.write(".env", "A=2\n");
    for words in [&["sync"][..], &["status"]] {
        let out = s.a.overlay(words).exit(4).any_out();
        out.err_has("core.bare is true in .git/config").err_has("core.bare false");
    }
    s.a.overlay(&["doctor"]).exit(1).any_err().out_has("/app: ").out_has("core.bare is true in .git/config");
    assert_eq!((s.b.read(".env"), s.app.read(".env")), ("A=2\n".into(), "A=1\n".into()));
    s.app.git(&["config", "core.bare", "false"]);
    s.sync(0).any_err();
    assert_eq!(s.app.read(".env"), "A=2\n");
}

#[test]
fn what_cannot_be_written_is_not_accepted_and_still_waits() {
    let w = World::new();
    let hooked = "{\"a\": 1, \"hooks\": {\"Stop\": [{\"command\": \"date\"}]}}\n";
    let s = edited(&w, SETTINGS, "{\"a\": 1}\n", hooked);
    s.sync(1).any_err();
    let waiting = s.held_ids();
    s.app.sh(&format!("chmod 555 ~/{OVERLAY}/.data")).exit(0);
    let out = s.app.run_bound("overlay-sync", &["accept", &waiting[0]]).exit(4);
    assert_eq!(out.err_has("/a: .data/shared.json: cannot").stdout, "");
    s.app.sh(&format!("chmod 755 ~/{OVERLAY}/.data")).exit(0);
    s.sync(1).err_has("adds to `hooks`");
    assert_eq!(s.held_ids(), waiting);
    s.app.overlay(&["accept", &waiting[0]]).succeeds();
    s.all_are(SETTINGS, hooked);
}

/// The verdict is given, and the workspace gets it when it is there again.
#[test]
fn what_is_accepted_of_a_workspace_that_is_away_is_said_to_be() {
    let w = World::new();
    let hooked = "{\"a\": 1, \"hooks\": {\"Stop\": [{\"command\": \"date\"}]}}\n";
    let s = edited(&w, SETTINGS, "{\"a\": 1}\n", hooked);
    s.sync(1).any_err();
    let id = s.held_ids().remove(0);
    s.app.sh("mv ../a ../aside").exit(0);
    assert_eq!(s.app.overlay(&["accept", &id]).exit(1).any_err().stdout, format!("accepted {SETTINGS}\n"));
    s.app.sh("mv ../aside ../a").exit(0);
    s.sync(0).any_err();
    s.all_are(SETTINGS, hooked);
}

#[test]
fn what_another_file_stumbles_over_is_no_failure_of_a_deed() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\nB=1\n");
    s.put(".data/x", "1\n");
    s.attach();
    s.app.sh("chmod 000 ../b/.data/x").exit(0);
    let out = s.a.run_bound("overlay-sync", &["drop", ".env", "B"]).exit(0);
    out.out_has("dropped").err_has(".data/x");
    s.all_are(".env", "A=1\n");
    s.app.sh("chmod 644 ../b/.data/x").exit(0);
}

#[test]
fn what_could_not_be_rejected_is_listed_once() {
    let w = World::new();
    let s = edited(&w, ".env", "A=1\n", "");
    s.sync(1).any_err();
    let id = s.held_ids().remove(0);
    let listed = || {
        let lines = s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines();
        lines.iter().map(|line| (text(line, "/id").to_owned(), text(line, "/state").to_owned())).collect::<Vec<_>>()
    };
    s.app.sh("chmod 555 ../a").exit(0);
    s.app.run_bound("overlay-sync", &["reject", &id]).exit(4).any_out().err_has("cannot");
    assert_eq!(listed(), [(id.clone(), "held".to_owned())]);
    s.app.sh("chmod 755 ../a").exit(0);
    s.app.overlay(&["reject", &id]).succeeds().any_err();
    assert_eq!(listed(), [(id, "recorded".to_owned())]);
}

#[test]
fn a_change_that_a_workspace_does_not_get_has_failed() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\nB=1\nC=1\n");
    s.attach();
    s.app.sh("chmod 555 ../b").exit(0);
    // What the sync before the change finds counts as well.
    for entry in ["B", "C"] {
        let out = s.a.run_bound("overlay-sync", &["drop", ".env", entry]).exit(4);
        out.out_has("dropped").err_has("/b: .env: cannot");
    }
    assert_eq!((s.a.read(".env"), s.b.read(".env")), ("A=1\n".into(), "A=1\nB=1\nC=1\n".into()));
    s.app.sh("chmod 755 ../b").exit(0);
    s.sync(0).any_err();
    s.all_are(".env", "A=1\n");
}

#[test]
fn an_unreadable_directory_is_reported_and_does_not_stop_the_rest() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.put(".data/x", "1\n");
    s.attach();
    s.app.sh("chmod 000 ../a/.data").exit(0);
    s.b.write(".env", "A=2\n");
    s.b.write(".data/x", "2\n");
    s.b.run_bound("overlay-sync", &["sync"]).exit(4).any_out().err_has("/a: .data/x: cannot");
    s.app.sh("chmod 755 ../a/.data").exit(0);
    s.all_are(".env", "A=2\n");
    assert_eq!(s.text(".data/x"), "2\n");
}

#[test]
fn a_worktree_that_cannot_be_entered_is_there_all_the_same() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.a.write(".env", "A=2\n");
    s.put(".env", "A=1\nB=1\n");
    s.app.sh("chmod 000 ../a").exit(0);
    for words in [["sync", "--json"], ["status", "--json"], ["check", "--json"]] {
        s.app.run_bound("overlay-sync", &words).exit(4).any_out().err_has("/a: cannot read");
    }
    assert_eq!(s.b.read(".env"), "A=1\nB=1\n");
    s.app.run_bound("overlay-sync", &["doctor"]).exit(1).any_err().out_has("cannot read");
    s.app.run_bound("overlay-sync", &["detach", "../a"]).exit(4).any_out().err_has("stays attached");
    s.app.sh("chmod 755 ../a").exit(0);
    s.sync(0).any_err();
    s.all_are(".env", "A=2\nB=1\n");
}

#[test]
fn a_git_that_was_killed_refuses_nothing() {
    let w = World::new();
    let s = scene(&w);
    w.program("git", "kill -KILL $$");
    let out = s.app.overlay(&["status"]).exit(4);
    out.err_has("git rev-parse failed with signal 9").err_has("run the same command again");
    assert!(!out.stderr.contains("git refuses"), "{out}");
}

#[test]
fn a_git_that_fails_for_another_workspace_is_reported() {
    let w = World::new();
    let s = edited(&w, ".env", "A=1\n", "A=2\n");
    let git = which("git");
    let fails = "case \"$PWD $*\" in */repos/b*check-ignore*) exit 70;; esac";
    w.program("git", &format!("{fails}\nexec {} \"$@\"", git.display()));
    s.app.overlay(&["detach", "../a"]).exit(4).any_out().err_has("/b: git check-ignore failed");
    assert_eq!((s.text(".env"), s.b.read(".env")), ("A=2\n".into(), "A=1\n".into()));
    std::fs::remove_file(w.path("bin/git")).unwrap();
    s.sync(0).any_err();
    s.all_are(".env", "A=2\n");
}

/// It is about paths on stdin, and says nothing of the answer, unlike `worktree-spawn list -z`.
#[test]
fn z_without_paths_on_stdin_is_refused() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    for command in ["status", "check", "sync"] {
        let out = s.app.overlay(&[command, "-z"]).exit(2);
        assert_eq!(out.err_has("`-z` needs `-`").err_has("--json").stdout, "", "{command}");
    }
    s.app.sh("printf '../a\\0../b\\0' | overlay-sync check -z -").exit(0).any_out();
}

/// The nearest workspace above a path that was mistyped is the main checkout.
#[test]
fn a_mistyped_workspace_is_not_the_one_above_it() {
    let w = World::new();
    let app = w.repo("app");
    app.commit(".gitignore", ".env\n");
    app.write(".env", "A=1\n");
    app.overlay(&["add", ".env"]).succeeds();
    let child = app.worktree("child");
    app.overlay(&["attach", ".", child.path.to_str().unwrap()]).succeeds();
    for command in ["detach", "sync", "status"] {
        app.overlay(&[command, "docs/chidl"]).exit(1).err_has("docs/chidl is not attached");
    }
    let attached = app.overlay(&["status", "--json"]).exit(0).any_err().stdout.clone();
    assert!(attached.contains(&format!("{}\"", app.path.display())), "{attached}");
    // One that is gone is still named by where it was.
    std::fs::remove_dir_all(&child.path).unwrap();
    app.overlay(&["detach", child.path.to_str().unwrap()]).any_status().any_err().out_has("detached");
}

/// As after a detach of several that was killed.
#[test]
fn of_several_workspaces_those_that_are_attached_are_detached() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.app.overlay(&["detach", "../a"]).succeeds();
    for (words, has_b) in [(&["detach", "-n"][..], true), (&["detach"][..], true), (&["detach"][..], false)] {
        let out = s.app.overlay(&[words, &["../a", "../b"]].concat()).exit(1);
        out.out_has(if has_b { "/b" } else { "" }).err_has("/a is not attached");
        assert!(!out.stderr.contains("overlay-sync attach"), "{out}");
        assert_eq!(out.stderr.contains("/b is not attached"), !has_b, "{out}");
    }
}

#[test]
fn messages_name_what_helps() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.a.sh("echo x > .env.t && git add -f .env.t && mkdir .env.d && ln -s .env .env.l").exit(0);
    s.a.overlay(&["add", ".env.t"]).exit(1).err_has("git tracks .env.t here").err_has("git rm --cached .env.t");
    s.a.overlay(&["add", ".env.d"]).exit(1).err_has(".env.d is a directory");
    s.a.overlay(&["add", ".env.l"]).exit(1).err_has(".env.l is a link");
    s.app.overlay(&["detach", "../b"]).exit(0).any_out().any_err();
    s.app.overlay(&["sync", "../b"]).exit(1).err_has(&format!("`overlay-sync attach {}`", s.b.path.display()));
    let out = s.app.overlay(&["sync", "../nosuch"]).exit(1);
    assert!(out.stderr.contains("nosuch is not attached") && !out.stderr.contains("overlay-sync attach"), "{out}");
    s.a.write(".env", "");
    s.sync(1).any_err();
    let out = s.app.overlay(&["reject", &s.held_ids()[0]]).exit(0).any_out();
    assert!(!out.stderr.contains("overlay-sync accept"), "{out}");
    s.a.write("o.json", "{\"a\": 1}");
    s.a.write("w.json", "{\"b\": 1}");
    let out = s.a.overlay(&["merge", "/dev/null", "o.json", "w.json"]).exit(0);
    assert_eq!(out.stdout, "{\"a\": 1, \"b\": 1}");
}
