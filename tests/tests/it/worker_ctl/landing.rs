//! worker-ctl: how work lands on a source with an unusual history, directory or setting.

use crate::support::desk::Terminal;
use crate::support::floor::Floor;
use crate::support::worker::{
    adopted_floor, assert_landed, by_hand, commit, head, refused, staff, tip, tree, up, work,
};
use crate::support::world::{Repo, World, text};

#[test]
fn work_lands_on_a_source_with_a_separate_git_directory() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let elsewhere = w.home("elsewhere.git");
    floor.app.git(&["init", "-q", "--separate-git-dir", elsewhere.to_str().unwrap()]);
    work(&floor, "adam", "COMMIT a.txt one Write a");
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_eq!(floor.app.read("a.txt"), "one\n");
    assert_eq!(floor.app.git(&["status", "--porcelain"]), "");
}

#[test]
fn who_is_asked_about_work_that_somebody_else_lands_meanwhile_is_told_so() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    by_hand(&floor, "adam", &[("a", "1\n")]);
    let terminal = Terminal::open(&floor.app, (120, 24));
    terminal.run("shopfloor land adam");
    terminal.shows("Nobody has reviewed the work of adam");
    floor.ctl(&["accept", "adam"]).succeeds();
    terminal.run("y");
    let told = terminal.shows("it has nothing that has not landed");
    assert!(told.contains("adam is idle") && !told.contains("another commit"), "{told}");
}

#[test]
fn a_landing_that_a_person_takes_back_can_land_again() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let (app, adam) = (&floor.app, tree(&floor, "adam"));
    let add = |args: &[&str]| app.run("worker-ctl", &[&["add", "--worktree"], args].concat()).succeeds().any_err();
    let task = |name: &str| text(&floor.status(name), "/task").to_owned();
    commit(&adam, "Mine", &["f"], "x\n");
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    app.git(&["worktree", "add", "-q", "-b", "eve", "../eve"]);
    add(&["../eve"]);
    app.git(&["reset", "-q", "--hard", "HEAD~1"]);
    floor.ctl(&["patrol"]).succeeds().any_err();
    // For one that began there it is no work.
    assert_eq!((task("adam"), task("eve")), ("needs_review".into(), "idle".into()));
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    assert_eq!((app.read("f"), task("adam")), ("x\n".into(), "idle".into()));
    // Another branch lacks it.
    app.git(&["branch", "rel", "main~1"]);
    add(&["../adam", "--target", "rel"]);
    assert_eq!(task("adam"), "needs_review");
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    // The branch went on otherwise: that may be the same work in another form.
    app.sh("git branch -q -f rel $(git commit-tree -p main~1 -m other main~1^{tree})").exit(0);
    let refused = floor.ctl(&["accept", "adam"]).exit(1).any_out();
    refused.err_has("adam is idle").err_has("if rel lacks some of its work: `worker-ctl add --worktree /");
    add(&["../adam"]);
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    assert_eq!((app.git(&["show", "rel:f"]), task("adam")), ("x\n".into(), "idle".into()));
}

/// git moves the branch then, and leaves the checkout behind: its next commit would take back what has landed.
#[test]
fn nothing_lands_under_a_checkout_that_git_calls_bare() {
    for is_adopted in [false, true] {
        let w = World::new();
        let floor = if is_adopted { adopted_floor(&w) } else { staff(&w, &["adam"]) };
        by_hand(&floor, "adam", &[("a.txt", "one\n")]);
        let before = tip(&floor);
        for value in ["true", "yes"] {
            floor.app.git(&["config", "core.bare", value]);
            floor.ctl(&["accept", "adam"]).exit(2).err_has("core.bare is true").err_has("core.bare false");
            assert_eq!(tip(&floor), before);
        }
        floor.app.git(&["config", "core.bare", "true"]);
        floor.ctl(&["doctor"]).exit(1).any_err().out_has("core.bare is true in .git/config");
        let other = w.home("other");
        floor.app.run("worker-ctl", &["init", "--target", other.to_str().unwrap()]).exit(2).err_has("core.bare false");
        floor.app.git(&["config", "core.bare", "false"]);
        floor.ctl(&["accept", "adam"]).succeeds();
        assert_eq!(
            (floor.app.read("a.txt"), floor.app.git(&["status", "--porcelain"])),
            ("one\n".into(), String::new())
        );
    }
}

/// Where an ordinary user calls git in `/`, a merge driver has no place for its files.
#[test]
fn both_sides_of_a_page_are_merged_by_its_driver() {
    let w = World::new();
    let floor = adopted_floor(&w);
    let adam = tree(&floor, "adam");
    let add = |at: &Repo<'_>, what: &str| {
        at.ledger(&["-q", "add", "--agent", what, "--done", what, "--synth"]).succeeds();
        at.git(&["add", "-A"]);
        at.git(&["commit", "-q", "-m", what]);
    };
    floor.app.ledger(&["-q", "install"]).succeeds();
    add(&floor.app, "first");
    adam.git(&["merge", "-q", "main"]);
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds();
    add(&adam, "theirs");
    add(&floor.app, "mine");
    floor.ctl(&["patrol"]).succeeds();
    floor.ctl(&["accept", "adam"]).succeeds();
    let page = floor.app.read("thoughts/shared/handoffs/current.md");
    for done in ["first", "theirs", "mine"] {
        assert!(page.contains(done) && !page.contains("<<<<<<<"), "{page}");
    }
}

#[test]
fn squashed_commits_are_kept_under_a_ref() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).succeeds();
    let adam = tree(&floor, "adam");
    for name in ["one", "two"] {
        commit(&adam, &format!("Write {name}"), &[name], "x\n");
    }
    floor.until("adam", "needs_review");
    let work = adam.git(&["rev-parse", "HEAD"]);
    floor.ctl(&["accept", "adam"]).succeeds();
    assert!(floor.root.git(&["for-each-ref", "refs/shopfloor/accepted/adam", "--format=%(objectname)"]) == work);
    // A root that goes gives them to the source.
    floor.ctl(&["down"]).exit(0).any_out();
    floor
        .app
        .run("worker-ctl", &["--root", floor.root.path.to_str().unwrap(), "deinit", "--yes"])
        .succeeds()
        .err_has("keeps the original commits");
    assert!(floor.app.git(&["for-each-ref", "refs/shopfloor/accepted/adam", "--format=%(objectname)"]) == work);
    // The floor ends its sessions there.
    std::fs::create_dir(&floor.root.path).unwrap();
}

/// The landed commit differs from the worker's in nothing but when it was committed.
#[test]
fn a_single_commit_that_landed_does_not_keep_the_root() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).succeeds();
    commit(&tree(&floor, "adam"), "Write one", &["one"], "x\n");
    floor.until("adam", "needs_review");
    floor.ctl(&["accept", "adam"]).succeeds();
    assert!(!floor.root.git(&["for-each-ref", "refs/shopfloor/accepted/adam"]).is_empty());
    floor.ctl(&["down"]).exit(0).any_out();
    floor.app.run("worker-ctl", &["--root", floor.root.path.to_str().unwrap(), "deinit", "--yes"]).succeeds();
    assert!(!floor.root.path.exists());
    assert_eq!(floor.app.git(&["for-each-ref", "refs/shopfloor"]), "");
    std::fs::create_dir(&floor.root.path).unwrap();
}

#[test]
fn work_on_an_unrelated_history_can_be_reviewed_but_not_accepted() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).succeeds();
    let adam = tree(&floor, "adam");
    adam.git(&["checkout", "-q", "--orphan", "other"]);
    adam.git(&["commit", "-q", "-m", "anew"]);
    adam.git(&["branch", "-M", "other", "worker/adam"]);
    adam.commit("new.txt", "x\n");
    floor.until("adam", "needs_review");
    floor.ctl(&["review", "adam", "--interface", "git"]).exit(0).any_err().out_has("+x");
    let old = tip(&floor);
    floor.ctl(&["accept", "adam"]).exit(1).err_has("no history in common").err_has("reset adam --force");
    assert_eq!(tip(&floor), old);
    floor.ctl(&["reset", "adam", "--force"]).exit(0).out_has("refs/shopfloor/trash/");
    // Nobody is told to discard sound work that git believes to begin where an agent has said so.
    work(&floor, "adam", "COMMIT a.txt one Write a");
    floor.root.write(".git/shallow", &adam.git(&["rev-parse", "HEAD"]));
    let said = floor.ctl(&["accept", "adam"]).exit(1).err_has(".git/shallow cuts history off at ").stderr.clone();
    assert!(!said.contains("reset adam"), "{said}");
    std::fs::remove_file(floor.root.path.join(".git/shallow")).unwrap();
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
}

#[test]
fn work_goes_along_where_the_branch_is_begun_anew() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam", "eve"]);
    let app = &floor.app;
    for name in ["adam", "eve"] {
        commit(&tree(&floor, name), "Mine", &[name], "x\n");
    }
    floor.ctl(&["patrol"]).succeeds();
    app.sh("git checkout -q --orphan anew && git commit -qm anew && git branch -M anew main").exit(0);
    assert_eq!(refused(&floor, &["accept", "adam"], 1), "moved_back");
    floor.ctl(&["rebase", "adam"]).succeeds();
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    floor.ctl(&["patrol"]).succeeds();
    floor.ctl(&["accept", "eve"]).exit(0).any_out().any_err();
    assert_eq!(app.read("adam") + &app.read("eve"), "x\nx\n");
    assert_eq!(app.git(&["rev-list", "--count", "main"]).trim(), "3");
}

/// The agent rebased onto the default branch by itself. Commits that the default branch drops later do not come back
/// with its work.
#[test]
fn work_that_an_agent_rebased_does_not_bring_back_dropped_commits() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    for name in ["adam", "eve"] {
        floor.ctl(&["start", "--worker", name, "--prompt", "think"]).succeeds();
    }
    for n in 0..3 {
        floor.app.commit("x", &format!("{n}\n"));
    }
    for name in ["adam", "eve"] {
        let at = tree(&floor, name);
        at.git(&["fetch", "-q"]);
        at.git(&["rebase", "-q", "refs/remotes/origin/main"]);
        commit(&at, "mine", &[name], "x\n");
        floor.until(name, "needs_review");
    }
    floor.app.git(&["reset", "-q", "--hard", "HEAD~1"]);
    floor.ctl(&["accept", "adam"]).exit(1).err_has("dropped");
    floor.ctl(&["rebase", "adam"]).succeeds();
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_eq!((floor.app.read("x"), floor.app.read("adam")), ("1\n".into(), "x\n".into()));
    floor.ctl(&["patrol"]).succeeds().any_err();
    floor.ctl(&["accept", "eve"]).succeeds();
    assert_eq!((floor.app.read("x"), floor.app.read("eve")), ("1\n".into(), "x\n".into()));
}

#[test]
fn work_landed_by_hand_and_dropped_again_can_be_accepted() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    work(&floor, "adam", "COMMIT a.txt one Write a");
    let (adam, old) = (tree(&floor, "adam"), tip(&floor));
    let sha = head(&adam);
    floor.app.git(&["fetch", "-q", floor.root.path.to_str().unwrap(), "worker/adam"]);
    floor.app.git(&["merge", "-q", "--ff-only", "FETCH_HEAD"]);
    floor.ctl(&["patrol"]).succeeds().any_err();
    floor.app.git(&["reset", "-q", "--hard", "HEAD~1"]);
    for _ in 0..2 {
        floor.ctl(&["patrol"]).succeeds().any_err();
        let worker = floor.status("adam");
        assert_eq!((head(&adam), text(&worker, "/commit_sha")), (sha.clone(), sha.as_str()));
        assert_eq!(text(&worker, "/status"), "needs_review");
    }
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_landed(&floor, "adam", &old, "");
    assert_eq!(floor.app.read("a.txt"), "one\n");
}

#[test]
fn an_ignored_file_of_the_source_is_never_overwritten() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.app.write(".git/info/exclude", "/Tabula.xlsm\n");
    floor.app.write("Tabula.xlsm", "mine\n");
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    tree(&floor, "adam").commit("Tabula.xlsm", "the agent's\n");
    floor.until("adam", "needs_review");
    let old = tip(&floor);
    floor.ctl(&["accept", "adam"]).exit(1).err_has("  Tabula.xlsm").err_has("move those files away");
    // Also where git does not ignore it.
    floor.app.write(".git/info/exclude", "");
    floor.ctl(&["accept", "adam"]).exit(1).err_has("  Tabula.xlsm").err_has("move those files away");
    assert_eq!((floor.app.read("Tabula.xlsm"), tip(&floor)), ("mine\n".into(), old.clone()));
    assert_eq!(text(&floor.status("adam"), "/status"), "needs_review");
    std::fs::remove_file(floor.app.path.join("Tabula.xlsm")).unwrap();
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_landed(&floor, "adam", &old, "");
}

#[test]
fn what_a_person_has_taken_away_does_not_come_back_and_a_link_in_its_place_stays() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let app = &floor.app;
    app.commit("d/a", "a\n");
    for (text, (file, dirt, clean)) in ["one\n", "two\n"].into_iter().zip([
        ("README.md", "rm README.md", "git checkout -q README.md"),
        ("d/a", "mv d ../real && ln -s ../real d", "rm d && mv ../real d"),
    ]) {
        by_hand(&floor, "adam", &[(file, text)]);
        app.sh(dirt).exit(0);
        let before = (tip(&floor), app.git(&["status", "--porcelain"]));
        floor.ctl(&["accept", "adam"]).exit(1).err_has("changes in the way").err_has(&format!("  {file}"));
        assert_eq!((tip(&floor), app.git(&["status", "--porcelain"])), before);
        app.sh(clean).exit(0);
        floor.ctl(&["accept", "adam"]).succeeds();
        assert_eq!(app.read(file), text);
    }
}

#[test]
fn git_settings_do_not_change_how_work_lands() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    work(&floor, "eve", "COMMIT README.md eves Change it");
    let settings = [
        ("merge.ff", "false"),
        ("merge.autoStash", "true"),
        ("commit.gpgSign", "true"),
        ("rebase.autoStash", "true"),
        ("rebase.updateRefs", "true"),
    ];
    let adam = by_hand(&floor, "adam", &[("a", "1\n"), ("b", "2\n")]);
    adam.git(&["branch", "-q", "-f", "keep", "HEAD~1"]);
    floor.app.commit("c", "3\n");
    floor.app.write("README.md", "mine\n");
    let (old, keep) = (tip(&floor), adam.git(&["rev-parse", "keep"]));
    // All together: each would spoil something of its own.
    for repo in [&floor.app, &floor.root] {
        repo.git(&["config", "gpg.program", "false"]);
        settings.iter().for_each(|(key, value)| drop(repo.git(&["config", key, value])));
    }
    // The patrol rebases the work onto main, and the accept lands it.
    floor.ctl(&["patrol"]).succeeds().any_err();
    assert_eq!(adam.git(&["merge-base", "HEAD", &old]).trim_end(), old);
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_landed(&floor, "adam", &old, "with these settings");
    assert_eq!(adam.git(&["rev-parse", "keep"]), keep);
    // Changes in the way are not stashed either.
    floor.ctl(&["accept", "eve"]).exit(1).any_err();
    assert_eq!(floor.app.read("README.md"), "mine\n");
    assert_eq!(floor.app.git(&["stash", "list"]) + &adam.git(&["stash", "list"]), "");
}

#[test]
fn accept_names_a_missing_source_and_changes_nothing() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    work(&floor, "adam", "COMMIT a.txt one Write a");
    let (old, before) = (tip(&floor), floor.status("adam"));
    let away = w.home("away");
    std::fs::rename(&floor.app.path, &away).unwrap();
    let refused = floor.ctl(&["accept", "adam"]);
    assert!(matches!(*refused.status, Some(1 | 4)), "{refused:?}");
    refused.err_has(floor.app.path.to_str().unwrap());
    assert_eq!(floor.status("adam"), before);
    std::fs::rename(&away, &floor.app.path).unwrap();
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_landed(&floor, "adam", &old, "");
}

#[test]
fn work_lands_as_one_commit_on_a_rewritten_history() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    let app = &floor.app;
    app.commit("extra", "x\n");
    work(&floor, "adam", "COMMIT a.txt one Write a");
    work(&floor, "eve", "COMMIT e.txt two Write e");
    // The source goes back to an older commit.
    app.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let old = tip(&floor);
    // Dropped commits do not come back with the work.
    floor.ctl(&["accept", "adam"]).exit(1).err_has("dropped");
    assert_eq!(tip(&floor), old);
    floor.ctl(&["rebase", "adam"]).succeeds();
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_landed(&floor, "adam", &old, "older");
    assert_eq!(app.read("a.txt"), "one\n");
    assert!(!app.has("extra"));
    // The source switches to another commit.
    let other = app.git(&["commit-tree", "main^{tree}", "-p", "main~1", "-m", "other"]);
    app.git(&["switch", "-q", "-c", "elsewhere"]);
    app.git(&["branch", "-q", "-f", "main", other.trim_end()]);
    let old = tip(&floor);
    floor.ctl(&["patrol"]).succeeds().any_err();
    floor.ctl(&["accept", "eve"]).succeeds();
    assert_landed(&floor, "eve", &old, "another");
    assert_eq!(app.git(&["show", "main:a.txt", "main:e.txt"]), "one\ntwo\n");
}

#[test]
fn commits_of_a_branch_that_others_have_too_land_as_copies() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let (app, adam) = (&floor.app, tree(&floor, "adam"));
    floor.ctl(&["nuke", "adam", "--yes"]).exit(0).any_out();
    for name in ["one", "two"] {
        adam.sh(&format!(
            "echo x > {name} && git add . && git commit -q -m {name} -m 'with a body' --author 'Bea <b@x>'"
        ))
        .exit(0);
    }
    app.sh(
        "git init -q --bare ../remote.git && git remote add origin ../remote.git && git push -q origin feature/adam",
    )
    .exit(0)
    .any_err();
    app.run("worker-ctl", &["add", "adam", "--worktree", "../adam", "--land", "commits"]).succeeds().any_err();
    app.commit("other", "theirs\n");
    let before = head(&adam);
    floor.ctl(&["review", "adam"]).exit(0).any_err().out_has("with a body");
    floor.ctl(&["accept", "adam", "-n"]).exit(0).out_has("put copies of the commits of adam");
    let landed = floor.ctl(&["accept", "adam"]).exit(0).any_err().stdout.clone();
    assert_eq!(landed.trim_end(), tip(&floor));
    assert_eq!(
        app.git(&["log", "-3", "--format=%s %an %b"]),
        "two Bea with a body\n\none Bea with a body\n\nother Ada \n"
    );
    assert_eq!(
        (head(&adam), app.read("two"), app.git(&["status", "--porcelain"])),
        (before, "x\n".into(), String::new())
    );
    // What comes on top is the next work.
    up(&floor, &["adam"]);
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds();
    commit(&adam, "three", &["one"], "y\n");
    floor.until("adam", "needs_review");
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    assert_eq!(app.git(&["log", "-2", "--format=%s"]), "three\ntwo\n");
    // A commit that does not fit by itself.
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds();
    commit(&adam, "four", &["two"], "z\n");
    commit(&adam, "five", &["two"], "x\n");
    adam.sh("echo n > n && git add n && git commit -q -m six").exit(0);
    floor.until("adam", "needs_review");
    app.commit("two", "mine\n");
    app.commit("two", "x\n");
    app.sh("git reset -q --soft HEAD~2 && echo w > two && git add two && git commit -q -m w").exit(0);
    floor.ctl(&["accept", "adam"]).exit(1).err_has("of adam conflicts with main").err_has("--land squash");
}
