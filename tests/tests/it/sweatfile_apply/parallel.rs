//! Many processes at once.

use std::collections::BTreeSet;

use crate::support::world::World;

/// Case 10 of the design.
#[test]
fn sixteen_worktrees_at_once_lose_no_exclude_line() {
    let w = World::new();
    let app = w.app();
    let patterns: Vec<String> = (0..20).map(|i| format!("/pattern-{i}-{}/", "x".repeat(40))).collect();
    w.area(&format!(
        "git_excludes = {patterns:?}\nsetup = [\"echo ran >> log\"]\n[env]\nA = \"1\"\n[files.x]\ncontent = \"x\"\n"
    ));
    let worktrees: Vec<_> = (0..16).map(|i| app.worktree(&format!("w{i}"))).collect();
    std::thread::scope(|scope| {
        for wt in &worktrees {
            scope.spawn(|| wt.apply(&[]).succeeds().any_err());
        }
    });
    let lines = app.excludes();
    let expected: BTreeSet<&str> = patterns.iter().map(String::as_str).chain([".sweatshop-env"]).collect();
    assert_eq!(lines.iter().map(String::as_str).collect::<BTreeSet<_>>(), expected);
    assert_eq!(lines.len(), expected.len());
    for wt in &worktrees {
        assert_eq!((wt.read("log"), wt.read(".x")), ("ran\n".into(), "x".into()));
        wt.apply(&["check"]).exit(0);
    }
}

#[test]
fn a_worktree_applied_in_parallel_is_set_up_once() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"echo ran >> log\"]\n[env]\nA = \"1\"\n[files.x]\ncontent = \"x\"\n");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| app.apply(&[]).succeeds().any_err());
        }
    });
    assert_eq!(app.read("log"), "ran\n");
    app.apply(&["check"]).exit(0);
}

#[test]
fn a_held_lock_ends_in_75() {
    let w = World::new();
    let app = w.app();
    let lock = app.path.join(".git/shopfloor/sweatfile-apply/lock");
    crate::support::world::write(&lock, "");
    let file = std::fs::File::open(&lock).unwrap();
    file.lock().unwrap();
    app.apply(&[]).exit(75).err_has("another process holds");
    drop(file);
    app.apply(&[]).succeeds();
}
