//! A directory without write permission, and a full disk.

use std::path::Path;

use crate::support::spawn::{app, journals};
use crate::support::world::{World, needs_mount, text};

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
