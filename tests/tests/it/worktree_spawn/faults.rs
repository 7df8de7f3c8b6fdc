//! A directory without write permission, a full disk, and a git that is killed.

use std::path::Path;

use crate::support::spawn::{app, assert_nothing_left, journals, state};
use crate::support::world::{World, needs_mount, text, which, write};

#[test]
fn an_unwritable_base_leaves_nothing() {
    let w = World::new();
    let app = app(&w);
    let base = w.path("closed");
    std::fs::create_dir(&base).unwrap();
    app.sh(&format!("chmod 555 {}", base.display())).exit(0);
    let out = app.run_bound("worktree-spawn", &["subtree", "x", "--base-dir", base.to_str().unwrap()]).exit(4);
    out.err_has("Permission denied");
    assert_eq!(std::fs::read_dir(&base).unwrap().count(), 0);
    assert_eq!(app.git(&["branch", "--list", "main.x"]), "");
    assert_eq!(app.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(journals(&app), 0);
    let fine = app.run_bound("worktree-spawn", &["subtree", "x", "--task", "t"]).exit(0);
    assert!(Path::new(fine.stdout.trim_end()).join("README.md").exists());
}

#[test]
fn a_base_that_is_a_file_is_told_before_anything_is_made() {
    let w = World::new();
    let app = app(&w);
    app.sh("ln -s nowhere ../broken").exit(0);
    for base in ["README.md", "src/main.rs/below", "../broken"] {
        for args in [&["--json"][..], &["--json", "-n"]] {
            let refused = app.spawn(&[&["subtree", "x", "--base-dir", base], args].concat()).exit(2).json();
            assert_eq!(text(&refused, "/error/kind"), "blocked", "{refused}");
        }
    }
    assert_eq!(app.git(&["branch", "--list", "main.x"]), "");
}

#[test]
fn a_full_disk_leaves_nothing() {
    let w = World::new();
    let here = w.at(w.path(""));
    std::fs::create_dir(w.path("disk")).unwrap();
    if !needs_mount(&here, "mount -t tmpfs -o size=8m tmpfs disk") {
        return;
    }
    let app = w.at(w.path("disk/app"));
    here.sh("git init -q -b main disk/app && cd disk/app && head -c 3000000 /dev/urandom > big && git add big && git commit -q -m x").exit(0);
    let full = app.spawn(&["subtree", "x"]);
    let branches = app.git(&["branch", "--list", "main.*"]);
    let journals = journals(&app);
    let is_there = app.has(".shopfloor/worktrees/x");
    app.sh("git rm -q big && git commit -q -m small").exit(0);
    let small = app.spawn(&["subtree", "x"]);
    here.sh("umount -l disk").exit(0);
    full.exit(4).err_has("error: ");
    assert_eq!((branches.as_str(), journals, is_there), ("", 0, false));
    small.succeeds();
}

#[test]
fn a_subtree_is_made_also_where_its_journal_cannot_be_deleted() {
    let w = World::new();
    let app = app(&w);
    let dir = state(&app, "journal");
    let spawn = |name: &str, line: &str| {
        let hook = format!("#!/bin/sh\ncd '{}' && {line} && chmod 500 .\n", dir.display());
        app.write(".git/hooks/post-checkout", &hook);
        app.sh("chmod +x .git/hooks/post-checkout").exit(0);
        let made = app.run_bound("worktree-spawn", &["subtree", name]).exit(0);
        app.sh(&format!("chmod 700 '{}'", dir.display())).exit(0);
        assert!(Path::new(made.stdout.trim_end()).join("README.md").exists());
        made
    };
    // Only its lock is left.
    spawn("x", "rm *.json");
    assert_eq!(journals(&app), 1);
    assert_eq!((app.spawn(&["repair"]).exit(0).stdout.as_str(), journals(&app)), ("", 0));
    let made = spawn("y", "true");
    made.err_has("cannot remove ").err_has("delete it, or the next command").err_has("undoes what nobody has used yet");
    write(&Path::new(made.stdout.trim_end()).join("work"), "mine\n");
    app.spawn(&["repair"]).exit(0).any_err().out_has("the spawn of main.y was killed; kept ");
    assert_eq!(journals(&app), 0);
    app.spawn(&["doctor"]).exit(0).any_out();
}

#[test]
fn a_record_that_a_killed_git_has_half_made_is_taken_back() {
    let w = World::new();
    let app = app(&w);
    // The lock is written first, the head last, and then the lock goes.
    let lock = "printf initializing > locked";
    let begun = format!("rm -r * '{}' && {lock}", app.path.join(".shopfloor/worktrees/x").display());
    let half = format!("case $WHEN in begun) {begun} ;; locked) {lock} ;; *) rm HEAD && : > commondir ;; esac");
    let whom = "[ $WHEN = alone ] || kill -KILL $PPID; kill -KILL $$";
    let at = app.path.join(".git/worktrees/x");
    let end = format!("case $WHEN:$* in ?*:*' worktree add '*) cd '{}' && {half}; {whom} ;; esac", at.display());
    w.program("git", &format!("'{}' \"$@\"; code=$?; {end}; exit $code", which("git").display()));
    let spawn = |when| app.run_with("worktree-spawn", &["subtree", "x"], &[("WHEN", when)]);
    spawn("alone").exit(4).err_has("nothing of the subtree was kept");
    assert_nothing_left(&app, "x", "git was killed");
    for when in ["begun", "headless", "locked"] {
        assert!(spawn(when).any_status().any_out().any_err().status.is_none(), "{when}");
        app.spawn(&["subtree", "x"]).exit(0).any_out().err_has("undid the spawn of main.x, which was killed");
        assert_eq!(app.git(&["worktree", "list"]).lines().count(), 2, "{when}");
        assert!(at.join("HEAD").exists(), "{when}");
        app.spawn(&["-q", "remove", "x"]).exit(0).any_out();
    }
}
