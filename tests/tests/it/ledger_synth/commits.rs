//! What a commit of the ledger takes, when none is made, and what the hooks leave alone.

use crate::support::ledger::{CURRENT, commit_all, event, synth};
use crate::support::world::{World, write};

/// What a hook wrote in the middle would stop the rebase. git calls it again at the end.
#[test]
fn a_hook_writes_nothing_in_the_middle_of_a_rebase() {
    let w = World::new();
    let app = w.app();
    app.ledger(&["install"]).succeeds();
    commit_all(&app);
    app.ledger(&["add", "--agent", "a", "--now", "n", "--synth", "--commit"]).succeeds();
    app.commit("f1", "1\n");
    app.commit("f2", "2\n");
    app.ledger(&["add", "--agent", "b", "--now", "said later"]).succeeds();
    let rebase = ["rebase", "-q", "--exec", "git commit -q --amend --no-edit", "HEAD~2"];
    app.run("git", &rebase).exit(0).any_out().err_has("is newer than the last commit");
    assert!(app.read(CURRENT).contains("**Now:** said later"));
    // A replay that waits for a person is left alone, too.
    app.ledger(&["add", "--agent", "c", "--now", "said last"]).succeeds();
    app.sh("mkdir .git/sequencer").exit(0);
    app.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert!(!app.read(CURRENT).contains("said last"));
    app.sh("rmdir .git/sequencer").exit(0);
    app.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert!(app.read(CURRENT).contains("said last"));
}

/// A page of git's that changed would stop the rebase: git takes it for a conflict that nobody has resolved.
#[test]
fn an_event_of_the_middle_of_a_rebase_does_not_stop_it() {
    let w = World::new();
    let app = w.app();
    app.ledger(&["install"]).succeeds();
    app.ledger(&["add", "--agent", "z", "--now", "n", "--synth"]).exit(0).any_out();
    commit_all(&app);
    let page = app.read(CURRENT);
    app.commit("f", "main\n");
    app.git(&["switch", "-q", "-c", "b", "HEAD~1"]);
    app.commit("f", "b\n");
    app.run("git", &["rebase", "-q", "main"]).exit(1).any_out().any_err();
    let out = app.ledger(&["add", "--agent", "a", "--now", "said in it", "--synth"]).exit(0).any_out();
    out.err_has("current.md stays as it is while git replays commits");
    let out = app.ledger(&["add", "--agent", "a", "--done", "d", "--synth", "--commit"]).exit(1).any_out();
    out.err_has("is written, but not synthesised or committed: a rebase is in progress");
    // A session that begins shows the events all the same.
    app.ledger(&["banner"]).exit(0).out_has("said in it");
    assert_eq!(app.read(CURRENT), page);
    app.write("f", "both\n");
    app.git(&["add", "f"]);
    app.sh("GIT_EDITOR=true git rebase --continue").exit(0).any_out().err_has("is newer than the last commit");
    assert!(app.read(CURRENT).contains("**Now:** said in it"));
    app.ledger(&["--yes", "--commit"]).exit(0).any_out();
}

/// git passes over such files without a word.
#[test]
fn a_ledger_in_another_repository_is_not_committed() {
    let w = World::new();
    let app = w.app();
    app.sh("mkdir thoughts && git init -q thoughts").exit(0);
    let inner = app.path.join("thoughts");
    let words = format!("is in another repository, {}", inner.display());
    app.ledger(&["add", "--now", "x", "--synth", "--commit"]).exit(4).any_out().err_has(&words);
    let before = app.snapshot();
    app.ledger(&["--yes", "--commit"]).exit(2).err_has(&words).err_has("git -C");
    app.assert_untouched_since(&before);
}

/// Our commands fetch nothing, so the error says how to.
#[test]
fn a_partial_clone_is_told_what_to_fetch() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-01T00:00:00Z", "x", "now: a\n");
    synth(&app);
    commit_all(&app);
    app.git(&["config", "uploadpack.allowFilter", "true"]);
    for filter in ["blob:none", "tree:0", "tree:1"] {
        app.sh(&format!("git clone -q --no-checkout --filter={filter} file://$PWD ../{filter}")).exit(0).any_err();
        let partial = w.at(app.path.parent().unwrap().join(filter));
        let fetch = "git fetch --refetch --filter=blob:limit=1g";
        partial.ledger(&["check", "--tree", "HEAD"]).exit(4).err_has("a partial clone").err_has(fetch);
        partial.sh(fetch).exit(0).any_out().any_err();
        partial.ledger(&["check", "--tree", "HEAD"]).exit(0).any_out();
    }
}

#[test]
fn a_signal_during_a_commit_leaves_the_index_as_it_was() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-01T00:00:00Z", "x", "now: a\n");
    synth(&app);
    app.write("other", "x");
    app.git(&["add", "other"]);
    // The hook of git, which ledger-synth started, signals that and waits for its end.
    let hook = "#!/bin/sh\nkill -TERM $(cut -d ' ' -f 4 /proc/$PPID/stat)\nexec tail -f /dev/null\n";
    write(&app.path.join(".git/hooks/pre-commit"), hook);
    app.sh("chmod +x .git/hooks/pre-commit").exit(0);
    let before = app.git(&["status", "--porcelain", "-uall"]);
    app.ledger(&["--yes", "--commit"]).exit(143).any_out().any_err();
    assert_eq!(app.git(&["status", "--porcelain", "-uall"]), before);
}

#[test]
fn nothing_is_archived_that_git_would_ignore() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-01T00:00:00Z", "x", "now: a\n");
    synth(&app);
    for pattern in ["archive/", "snapshot_*"] {
        app.write(".gitignore", &format!("{pattern}\n"));
        let before = app.snapshot();
        app.ledger(&["--archive", "--yes", "--commit"]).exit(2).err_has("git ignores").err_has("git check-ignore -v");
        app.assert_untouched_since(&before);
    }
    app.write(".gitignore", "");
    app.ledger(&["--archive", "--yes", "--commit"]).exit(0).any_out().any_err();
}

/// git takes such a file for unchanged, and the commit would have a stale page.
#[test]
fn a_page_that_git_is_told_not_to_look_at_is_named() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-01T00:00:00Z", "x", "now: a\n");
    synth(&app);
    commit_all(&app);
    for flag in ["skip-worktree", "assume-unchanged"] {
        app.git(&["update-index", &format!("--{flag}"), CURRENT]);
        event(&app, flag, "2026-01-02T00:00:00Z", "x", &format!("now: {flag}\n"));
        let before = app.snapshot();
        let undo = format!("update-index --no-{flag} {CURRENT}");
        app.ledger(&["--yes", "--commit"]).exit(2).err_has(&undo);
        app.assert_untouched_since(&before);
        app.sh(&format!("rm {CURRENT}")).exit(0);
        app.ledger(&["--yes", "--commit"]).exit(2).err_has(&undo);
        assert!(!app.has(CURRENT));
        // An event is written all the same, and once.
        let out = app.ledger(&["add", "--now", flag, "--synth", "--commit"]).exit(4).any_out();
        out.err_has(&undo).err_has("and `ledger-synth --yes --commit`");
        assert!(!out.stderr.contains("same command"), "{out}");
        app.sh(&format!("git {undo}")).exit(0);
        app.ledger(&["--yes", "--commit"]).exit(0).any_out();
        app.ledger(&["check", "--tree", "HEAD"]).exit(0).any_out();
    }
}

/// Nobody has to write an event again, or to look for what is left to do.
#[test]
fn an_event_that_is_not_committed_says_how_far_it_is() {
    let w = World::new();
    let app = w.app();
    write(&app.path.join(".git/hooks/pre-commit"), "#!/bin/sh\nexit 1\n");
    app.sh("chmod +x .git/hooks/pre-commit").exit(0);
    let out = app.ledger(&["add", "--now", "x", "--synth", "--commit"]).exit(4).any_out();
    out.err_has("is written and synthesised, but not committed").err_has("`ledger-synth --yes --commit`");
    app.ledger(&["check"]).exit(0).any_out();
    app.sh("rm .git/hooks/pre-commit").exit(0);
    app.ledger(&["--yes", "--commit"]).exit(0).any_out();
    assert_eq!(app.git(&["status", "--porcelain"]), "");
    app.write(CURRENT, "# Mine\n");
    let out = app.ledger(&["add", "--now", "y", "--synth"]).exit(4).any_out();
    out.err_has("is written, but not synthesised or committed").err_has("`ledger-synth --yes`");
}

#[test]
fn a_dry_run_counts_what_the_commit_takes() {
    let w = World::new();
    let app = w.app();
    let files = |args: &[&str]| {
        let out = app.ledger(args).exit(0).any_err().stdout;
        let line = out.lines().find(|line| line.starts_with("would commit ") || line.starts_with("committed "));
        line.unwrap().rsplit(' ').nth(1).unwrap().trim_start_matches('(').to_owned()
    };
    for (day, flag, expected) in [(1, "--archive", "3"), (2, "-v", "2"), (3, "--archive", "7")] {
        event(&app, &format!("e{day}"), &format!("2026-01-0{day}T00:00:00Z"), "x", &format!("now: n{day}\n"));
        let args = ["--yes", "--commit", flag];
        let before = app.snapshot();
        let dry = files(&[&args[..], &["-n"]].concat());
        app.assert_untouched_since(&before);
        assert_eq!((&*dry, &*files(&args)), (expected, expected), "{day}");
    }
    event(&app, "e4", "2026-01-04T00:00:00Z", "x", "now: n4\n");
    let out = app.ledger(&["-n", "--json", "--archive", "--yes", "--commit"]).exit(0).any_out();
    out.err_has("would have archived 2 files into").err_has("would commit");
}

/// git would write through it.
#[test]
fn a_configuration_that_is_a_link_is_not_written() {
    let w = World::new();
    let app = w.app();
    app.sh("mv .git/config ~/dot && ln -s ~/dot .git/config").exit(0);
    let before = std::fs::read(w.home("dot")).unwrap();
    app.ledger(&["install"]).exit(4).any_out().err_has(".git/config is a symbolic link");
    assert_eq!(std::fs::read(w.home("dot")).unwrap(), before);
}
