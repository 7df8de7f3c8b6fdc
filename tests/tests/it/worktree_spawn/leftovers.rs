//! Leftovers of a removal: what has to be made deletable, and what could not be deleted.

use crate::support::spawn::{UID, app, assert_nothing_left, branch_named, state, subtree};
use crate::support::world::{World, needs_root, write};

#[test]
fn directories_that_their_owner_protected_are_removed() {
    let w = World::new();
    let app = app(&w);
    app.write(".gitignore", ".cache/\n");
    app.git(&["add", "-A"]);
    app.git(&["commit", "-q", "-m", "ignore"]);
    let protected = "mkdir -p .cache/m/n .cache/o && touch .cache/m/f .cache/m/n/f && chmod 0 .cache/m/n && \
        chmod 555 .cache/m .cache .";
    for args in [&["remove", "a"][..], &["gc"]] {
        let a = subtree(&app, &["a"]);
        app.spawn(&["run", "a", "--", "true"]).succeeds();
        a.sh(protected).exit(0);
        app.run_bound("worktree-spawn", args).exit(0).any_err().any_out();
        let left = app.sh("ls -A .shopfloor/worktrees 2>/dev/null; find .git/shopfloor -name f").exit(0);
        assert_eq!(left.stdout, "", "{args:?}");
    }
    app.spawn(&["doctor"]).succeeds();
}

#[test]
fn what_cannot_be_deleted_is_named_and_tried_again() {
    if !needs_root() {
        return;
    }
    let w = World::new();
    let app = app(&w);
    app.write(".gitignore", ".cache/\n");
    app.git(&["add", "-A"]);
    app.git(&["commit", "-q", "-m", "ignore"]);
    let a = subtree(&app, &["a"]);
    // Another user's directory.
    a.sh(
        "mkdir -p .cache/m .cache/z; head -c 2000000 /dev/zero > .cache/m/f; touch .cache/z/f; chown -R 12345 .cache/m",
    )
    .exit(0);
    app.run_bound("worktree-spawn", &["remove", "a"])
        .exit(0)
        .any_out()
        .err_has("(2 MB) stays")
        .err_has("Permission denied");
    assert_eq!(branch_named(&app, "main.a"), "");
    let left = app.sh("cd .shopfloor/worktrees; find . -type f | sort | cut -d/ -f3-").exit(0);
    assert_eq!(left.stdout, ".cache/m/f\n.git\n");
    let doctor = app.run_bound("worktree-spawn", &["doctor"]).exit(1).any_err();
    doctor.out_has("files of main.a are left in").out_has("(2 MB)");
    let waited = app.run_bound("worktree-spawn", &["wait", "--timeout", "0s"]).exit(124).any_err();
    assert!(!waited.stderr.contains("main.a"), "{}", waited.stderr);
    // An agent that gets the id keeps its branch.
    app.run_bound("worktree-spawn", &["subtree", "a"]).exit(0).any_out().err_has("could not delete all files");
    app.run_bound("worktree-spawn", &["doctor", "--repair", "--yes"]).exit(1).any_out().any_err();
    app.spawn(&["gc"]).exit(0).any_out().err_has("finished the removal of main.a");
    assert_eq!(branch_named(&app, "main.a"), "main.a\n");
    assert_eq!(app.sh("ls -A .shopfloor/worktrees").exit(0).stdout, "a\n");
    app.spawn(&["doctor"]).succeeds();
}

#[test]
fn a_worktree_deleted_by_hand_is_cleaned_up_unless_something_would_be_lost() {
    let w = World::new();
    let app = app(&w);
    let deleted = |name: &str, before: &str| {
        subtree(&app, &[name]).sh(&format!("{before} rm -rf \"$PWD\"")).exit(0);
    };
    let records = || app.sh("ls .git/worktrees 2>/dev/null | xargs").any_status().stdout.clone();
    deleted("a", "");
    // It may be on a disk that is away.
    app.spawn(&["gc"])
        .exit(0)
        .err_has("kept main.a: it is not there; if you deleted it: `worktree-spawn remove main.a`");
    app.spawn(&["remove", "a"]).exit(0).any_out().any_err();
    assert_eq!((records().trim(), &*branch_named(&app, "main.a")), ("", ""));
    // An unmerged branch stays, as with any removal.
    deleted("own", "git commit -q --allow-empty -m own;");
    app.spawn(&["remove", "own"]).succeeds().err_has("the branch main.own stays");
    // Something would be lost.
    let blob = app.git(&["rev-parse", "HEAD:README.md"]);
    write(&w.home("conflict"), &format!("100644 {0} 1\tREADME.md\n100644 {0} 2\tREADME.md\n", blob.trim()));
    for (name, before) in [
        ("conflict", "git update-index --index-info < ~/conflict;"),
        ("staged", "echo 1 > README.md; git add README.md;"),
        ("merging", "git rev-parse HEAD > $(git rev-parse --git-path MERGE_HEAD);"),
        ("loose", "git switch -q --detach; git commit -q --allow-empty -m loose;"),
        ("submodule", "mkdir -p $(git rev-parse --git-path modules/lib);"),
        ("moved", "cp -r \"$PWD\" ../../..;"),
    ] {
        deleted(name, before);
        let refused = app.spawn(&["remove", name]).exit(1);
        refused.err_has("is not there").err_has(&format!("`worktree-spawn remove --force main.{name}`"));
        app.spawn(&["gc"]).exit(0).err_has(&format!("kept main.{name}: it is not there"));
        let doctor = app.spawn(&["doctor"]).exit(1).any_err();
        let fix = if name == "moved" { "was moved to".into() } else { format!("`worktree-spawn remove main.{name}`") };
        doctor.out_has(&fix);
        let removed = app.spawn(&["remove", "--force", &format!("main.{name}")]).exit(0).any_out().any_err();
        if name == "staged" {
            assert_eq!(app.git(&["show", &format!("{}:README.md", removed.stdout.trim())]), "1\n");
        }
        assert_eq!(records().trim(), "", "{name}");
    }
}

#[test]
fn a_removal_is_done_also_where_its_place_cannot_be_given_free() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["x"]);
    let lock = "~/.local/state/shopfloor/worktrees.lock";
    app.sh(&format!("rm -f {lock} && mkdir {lock}")).exit(0);
    let removed = app.spawn(&["remove", "x"]).exit(0).any_out();
    removed.err_has("are not free for other repositories").err_has("worktrees.lock").err_has("`worktree-spawn repair`");
    assert_nothing_left(&app, "x", "a removal");
    app.spawn(&["repair"]).exit(0).out_has("are not free for other repositories");
    app.sh(&format!("rmdir {lock}")).exit(0);
    assert_eq!(app.spawn(&["repair"]).exit(0).stdout, "");
}

#[test]
fn a_worktree_whose_removal_ended_while_it_was_put_back_is_there() {
    let w = World::new();
    let app = app(&w);
    let x = subtree(&app, &["x"]);
    x.write("README.md", "changed\n");
    let journal = serde_json::json!({"v": 2, "id": "main.x", "record": "x", "name": "x", "deletes": null});
    write(&state(&app, &format!("removing/{UID}.json")), &journal.to_string());
    let record = app.path.join(".git/worktrees/x/gitdir");
    let before = std::fs::read_to_string(&record).unwrap();
    let aside = x.path.with_file_name(format!(".shopfloor-tmp-{UID}"));
    write(&record, &format!("{}/.git\n", aside.display()));
    app.spawn(&["repair"]).exit(0).any_err().out_has("the removal of main.x was killed").out_has("is unchanged");
    assert_eq!(std::fs::read_to_string(&record).unwrap(), before);
    app.spawn(&["doctor"]).exit(0).any_out();
    app.spawn(&["remove", "x"]).exit(1).err_has("README.md");
    assert_eq!(x.read("README.md"), "changed\n");
}

#[test]
fn a_removal_that_failed_at_the_exclude_lines_is_finished() {
    let w = World::new();
    let app = app(&w);
    let before = app.excludes();
    subtree(&app, &["x"]);
    app.sh("chmod 555 .git/info").exit(0);
    let failed = app.run_bound("worktree-spawn", &["remove", "x"]).exit(4).any_out();
    failed.err_has("info/exclude").err_has("`worktree-spawn repair` finishes the removal");
    app.sh("chmod 755 .git/info").exit(0);
    app.spawn(&["repair"]).exit(0).any_err().out_has("finished the removal of main.x");
    assert_eq!(app.excludes(), before);
    assert_nothing_left(&app, "x", "a repair");
    app.spawn(&["doctor"]).exit(0).any_out();
}
