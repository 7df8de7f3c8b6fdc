//! Deleted files, clean-ups, and a missing overlay.

use crate::support::overlay::{OVERLAY, edited, scene};
use crate::support::world::World;

/// Case 11 of the design.
#[test]
fn a_deletion_stays_local_and_a_clean_up_deletes_nothing_elsewhere() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.put(".env.local", "B=1\n");
    s.attach();
    s.a.sh("rm .env").exit(0);
    s.sync(0).any_err();
    assert!(!s.a.has(".env") && s.b.has(".env") && s.overlay(".env").exists());
    s.sync(0).any_err();
    assert!(!s.a.has(".env"), "not filled again");
    s.put(".env", "A=2\n");
    s.sync(0).any_err();
    s.all_are(".env", "A=2\n");
    s.b.git(&["clean", "-qfdX"]);
    s.sync(1).err_has("all files are gone from").err_has("--restore");
    assert!(!s.b.has(".env") && s.a.has(".env"));
    s.app.overlay(&["sync", "--restore", s.b.path.to_str().unwrap()]).succeeds();
    s.all_are(".env.local", "B=1\n");
    // A file deleted in the overlay stays in workspaces.
    std::fs::remove_file(s.overlay(".env")).unwrap();
    s.sync(0).any_err();
    assert!(s.a.has(".env") && !s.overlay(".env").exists());
    // When the overlay is emptied, nothing is touched.
    s.put(".env.x", "x\n");
    s.sync(0).any_err();
    s.app.sh(&format!("cd ~/{OVERLAY} && rm .env*")).exit(0);
    s.sync(1).err_has("was emptied");
    assert!(s.a.has(".env.local") && s.b.has(".env.x"));
}

#[test]
fn the_commands_that_a_sync_names_can_be_pasted() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.put(".env.local", "B=1\n");
    s.app.git(&["worktree", "add", "-q", "-b", "c", "../it's c"]);
    s.app.overlay(&["attach", "../it's c"]).succeeds();
    let quoted = format!("'{}/it'\\''s c'", s.app.path.parent().unwrap().display());
    s.app.sh("rm ../it*/.env*").exit(0);
    let restore = format!("overlay-sync sync --restore {quoted}");
    s.sync(1).err_has(&format!("`{restore}` refills it"));
    s.app.sh(&restore).succeeds();
    s.app.sh("rm -r ../it*").exit(0);
    s.sync(0).err_has(&format!("`overlay-sync detach {quoted}`"));
}

#[test]
fn sync_restore_fills_missing_files_and_keeps_edits() {
    let w = World::new();
    let s = edited(&w, ".env", "A=1\nB=1\n", "A=2\nB=1\n");
    s.put("x.sh", "date\n");
    s.b.write(".env", "A=1\nB=2\n");
    s.sync(0).any_err();
    s.a.write(".env", "A=3\nB=2\n");
    s.a.sh("rm x.sh").exit(0);
    let restore = ["sync", "--restore", s.a.path.to_str().unwrap()];
    s.app.overlay(&[&restore[..], &["-n"]].concat()).exit(0).out_has("would pull x.sh").out_has("would push .env");
    assert!(!s.a.has("x.sh"));
    s.app.overlay(&restore).succeeds();
    s.all_are(".env", "A=3\nB=2\n");
    s.all_are("x.sh", "date\n");
}

#[test]
fn a_missing_overlay_is_reported_in_every_worktree_and_not_recreated() {
    let w = World::new();
    let s = edited(&w, ".env", "A=1\n", "A=1\n");
    s.app.sh(&format!("mv ~/{OVERLAY} ~/elsewhere")).exit(0);
    for repo in [&s.app, &s.a] {
        repo.overlay(&["sync"]).exit(1).err_has("is not there; nothing was touched");
    }
    assert!(!w.home(OVERLAY).exists() && s.a.has(".env"));
    s.app.sh(&format!("mv ~/elsewhere ~/{OVERLAY}")).exit(0);
    s.sync(0).any_err();
}

#[test]
fn an_edit_wins_over_a_deletion_in_the_overlay() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "K=1\nL=2\n");
    s.put(".env.keep", "x\n");
    s.attach();
    std::fs::remove_file(s.overlay(".env")).unwrap();
    s.b.write(".env", "K=5\n");
    s.sync(0).any_err();
    s.sync(0).any_err();
    s.all_are(".env", "K=5\n");
    // Given up and put back unchanged, the file is managed again.
    let text = s.text(".env");
    std::fs::remove_file(s.overlay(".env")).unwrap();
    s.sync(0).any_err();
    s.put(".env", &text);
    s.sync(0).any_err();
    s.a.overlay(&["manifest"]).exit(0).out_has(".env\n");
    s.a.write(".env", "K=5\nM=1\n");
    s.sync(0).any_err();
    s.all_are(".env", "K=5\nM=1\n");
    // Given up and put back, it is no conflict where nobody changed it, and status lists it meanwhile.
    std::fs::remove_file(s.overlay(".env")).unwrap();
    s.sync(0).any_err();
    s.app.overlay(&["status"]).exit(0).out_has("not in the overlay any more");
    s.put(".env", "K=6\n");
    s.sync(0).any_err();
    s.all_are(".env", "K=6\n");
}

#[test]
fn no_command_recreates_a_lost_overlay() {
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
    // An empty directory in its place (an unmounted disk, say) is not the overlay either.
    std::fs::create_dir(s.overlay("")).unwrap();
    for args in [&["sync"][..], &["attach"], &["watch"], &["add", ".env"], &["hook", "run", "post-checkout"]] {
        let status = if args[0] == "hook" { 0 } else { 1 };
        let _ = s.app.overlay(args).exit(status).any_err();
        assert!(!s.overlay(".overlay-sync").exists(), "{args:?}");
    }
    s.app.overlay(&["sync"]).exit(1).err_has("has lost its state");
    s.app.sh(&format!("rmdir ~/{OVERLAY} && mv ~/gone ~/{OVERLAY}")).exit(0);
    s.a.write(".env", "A=2\n");
    s.sync(0).any_err();
    s.all_are(".env", "A=2\n");
    // Every command reports an emptied overlay.
    s.put(".env.two", "x\n");
    s.sync(0).any_err();
    s.app.sh(&format!("rm ~/{OVERLAY}/.env*")).exit(0);
    s.sync(1).err_has("was emptied");
    s.app.overlay(&["status"]).exit(1).err_has("was emptied");
    s.app.overlay(&["sync", "-n"]).exit(1).err_has("was emptied");
    // The state is not read through a link.
    s.app
        .sh(&format!("mv ~/{OVERLAY}/.overlay-sync ~/elsewhere && ln -s ~/elsewhere ~/{OVERLAY}/.overlay-sync"))
        .exit(0);
    s.app.overlay(&["sync"]).exit(4).err_has("is a symbolic link");
}

#[test]
fn doctor_and_the_hook_name_an_overlay_that_is_lost() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.put(".env.two", "2\n");
    s.attach();
    s.app.overlay(&["hook", "install"]).succeeds();
    s.app.sh(&format!("mv ~/{OVERLAY} ~/gone")).exit(0);
    s.app.run("git", &["worktree", "add", "-q", "../c"]).exit(0).err_has("is not there; nothing was touched");
    s.app.overlay(&["doctor"]).exit(1).any_err().out_has("is not there");
    assert!(!s.overlay("").exists());
    s.app.sh(&format!("mv ~/gone ~/{OVERLAY} && rm ~/{OVERLAY}/.env*")).exit(0);
    s.app.overlay(&["doctor"]).exit(1).any_err().out_has("was emptied");
}

#[test]
fn sync_restore_works_while_another_workspace_is_named() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.put(".env.two", "2\n");
    s.attach();
    s.a.git(&["clean", "-qfdX"]);
    s.sync(1).any_err();
    s.app.overlay(&["sync", "../b", "--restore", "../a"]).succeeds();
    s.all_are(".env", "A=1\n");
}
