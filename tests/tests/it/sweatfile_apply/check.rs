//! `check` finds no difference after apply, and names each one otherwise.

use crate::support::world::{World, text, write};

/// Case 1 of the design.
#[test]
fn without_sweatfiles_only_the_env_file_is_excluded() {
    let w = World::new();
    let app = w.app();
    let before = app.git(&["status", "--porcelain"]);
    app.apply(&[]).succeeds();
    app.apply(&[]).exit(0);
    assert_eq!(app.excludes(), [".sweatshop-env"]);
    assert_eq!(app.git(&["status", "--porcelain"]), before);
    assert_eq!(std::fs::read_dir(&app.path).unwrap().count(), 1, "nothing but .git");
}

/// Case 7 of the design.
#[test]
fn applying_again_changes_no_byte_and_no_time() {
    let w = World::new();
    let app = w.app();
    write(&w.home("s"), "s");
    w.area("git_excludes = [\".x\", \".link\"]\nsetup = [\"echo ran >> log\"]\n[env]\nA = \"a b\"\n[files.x]\ncontent = \"c\"\n[files.link]\nsource = \"~/s\"\n");
    app.apply(&[]).succeeds();
    let before = app.snapshot();
    let out = app.apply(&[]).exit(0);
    assert_eq!((out.stdout.as_str(), out.stderr.as_str()), ("", ""));
    app.assert_untouched_since(&before);
    assert_eq!(app.read("log"), "ran\n");
}

#[test]
fn check_names_each_difference() {
    let w = World::new();
    let app = w.app();
    write(&w.home("s"), "s");
    w.area("git_excludes = [\"a\"]\n[env]\nA = \"1\"\n[files.l]\nsource = \"~/s\"\n");
    let out = app.apply(&["check"]).exit(1).any_err();
    out.out_has("has not been applied here").out_has("missing exclude: .sweatshop-env").out_has("missing exclude: a");
    out.out_has("missing file: .l").out_has("A is missing");
    app.apply(&[]).succeeds().any_err();
    let out = app.apply(&["check"]).exit(0);
    assert_eq!(out.stdout, "");
    app.sh("rm .l; cp ~/s .l").exit(0);
    app.apply(&["check"]).exit(1).out_has(".l: changed content");
}

#[test]
fn a_worktree_that_cannot_be_checked_has_its_error_in_the_list() {
    let w = World::new();
    let app = w.app();
    let wt = app.worktree("wt");
    app.apply(&[]).succeeds();
    let git_dir = wt.git(&["rev-parse", "--absolute-git-dir"]);
    write(&std::path::Path::new(git_dir.trim_end()).join("shopfloor/sweatfile-apply/record.json"), "not json");
    let lines = app.apply(&["check", "--all", "--json"]).exit(4).json_lines();
    assert_eq!(text(&lines[1], "/worktree"), wt.path.to_str().unwrap());
    assert_eq!(text(&lines[1], "/error/kind"), "malformed");
    assert!(text(&lines[1], "/error/message").contains("record.json"), "{}", lines[1]);
    assert!(text(&lines[1], "/error/hints/0").starts_with("move "), "{}", lines[1]);
}

/// Such a file takes no space on the disk, and hours to read.
#[test]
fn a_placed_file_that_became_all_holes_holds_nothing_up() {
    let w = World::new();
    let app = w.app();
    w.at(w.home("eng/model")).write("a", "1\n");
    app.approved(
        "git_excludes = [\"/.text\", \"/.model\"]\n[files.text]\ncontent = \"x\"\n\
                  [files.model]\ncopy = \"../../model\"\n",
    );
    app.apply(&[]).succeeds();
    app.sh("truncate -s 1T .text .model/a").exit(0);
    let checked = app.sh("timeout 20 sweatfile-apply check").exit(1).any_err();
    checked.out_has("text is not read: it has holes of 1023 GiB").out_has("model/a is not read");
    app.sh("timeout 20 shopfloor status").exit(0).any_out().any_err();
}
