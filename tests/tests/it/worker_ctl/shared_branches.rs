//! worker-ctl: adopted worktrees on branches that others have too, which nobody here moves.

use crate::support::floor::Floor;
use crate::support::worker::{commit, head, tree, up, work};
use crate::support::world::{World, text, wait_for};

#[test]
fn a_branch_that_others_have_too_is_never_moved() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let (app, adam) = (&floor.app, tree(&floor, "adam"));
    app.sh(
        "git init -q --bare ../remote.git && git remote add origin ../remote.git && git push -q origin feature/adam",
    )
    .exit(0)
    .any_err();
    up(&floor, &["adam"]);
    work(&floor, "adam", "COMMIT f one First");
    let tip_of_adam = head(&adam);
    // It does not push, by habit.
    let pid = floor.status("adam")["pane_pid"].to_string();
    let push = format!("env $(tr '\\0' '\\n' < /proc/{pid}/environ | grep ^GIT_CONFIG_) git push origin HEAD");
    adam.sh(&push).exit(128).err_has("worker-ctl-agents-do-not-push");
    app.commit("f", "theirs\n");
    floor.ctl(&["rebase", "adam"]).exit(1).err_has("others' too");
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    assert_eq!(head(&adam), tip_of_adam);
    floor.ctl(&["review", "adam"]).exit(0).any_out().any_err();
    let asked = floor.ctl(&["accept", "adam"]).exit(1);
    asked.err_has("was asked to merge it").err_has("  f");
    assert_eq!(
        (head(&adam), text(&floor.status("adam"), "/task").to_owned()),
        (tip_of_adam.clone(), "rejected".into())
    );
    wait_for(|| floor.prompts().last().is_some_and(|last| last.contains("Run `git merge main`")));
    adam.sh("git merge -q main; echo both > f && git commit -qam merged").exit(0).any_out().any_err();
    let merged = head(&adam);
    floor.until("adam", "needs_review");
    floor.ctl(&["review", "adam"]).exit(0).any_out().any_err();
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    assert_eq!((app.read("f"), head(&adam)), ("both\n".into(), merged));
    for (name, share) in [
        // Nor is one that was pushed under another name.
        ("eve", "git push -q origin eve:other-name"),
        // Nor is one whose upstream has its name, which no ref tells in a clone of one branch.
        ("kim", "git config branch.kim.remote origin && git config branch.kim.merge refs/heads/kim"),
    ] {
        let path = format!("../{name}");
        app.git(&["worktree", "add", "-q", "-b", name, &path]);
        let at = w.at(app.path.with_file_name(name));
        commit(&at, "Theirs", &[name], "h\n");
        at.sh(share).exit(0).any_err();
        app.run("worker-ctl", &["add", "--worktree", &path, "--agent", "scripted"]).succeeds().any_err();
        app.commit("later", name);
        let before = head(&at);
        floor.ctl(&["patrol"]).exit(0).any_out().any_err();
        floor.ctl(&["rebase", name]).exit(1).err_has("others' too");
        floor.ctl(&["accept", name]).exit(0).any_out().any_err();
        assert_eq!((head(&at), app.read(name)), (before, "h\n".into()));
    }
    // What landed as another commit is merged, though its branch has its own one.
    app.shopfloor(&["status"]).any_status().any_err().out_has(" behind, merged");
    // Work that nobody has reviewed is asked to be merged, too.
    work(&floor, "adam", "COMMIT f two Again");
    app.commit("f", "mine\n");
    floor.ctl(&["accept", "adam"]).exit(1).err_has("was asked to merge it").err_has("  f");
    assert_eq!(text(&floor.status("adam"), "/task"), "rejected");
}

#[test]
fn on_a_branch_that_others_have_too_the_next_task_is_what_comes_on_top() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let (app, adam) = (&floor.app, tree(&floor, "adam"));
    let push =
        "git init -q --bare ../remote.git && git remote add origin ../remote.git && git push -q origin feature/adam";
    app.sh(push).exit(0).any_err();
    up(&floor, &["adam"]);
    let review = || -> String { floor.ctl(&["review", "adam"]).exit(0).any_err().stdout.into() };
    let land = |task: &str| {
        work(&floor, "adam", task);
        let (before, reviewed) = (head(&adam), review());
        floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
        assert_eq!(head(&adam), before);
        assert_eq!(text(&floor.status("adam"), "/task"), "idle");
        reviewed
    };
    land("COMMIT f one First");
    // The same line again, of which a merge from where the branches parted would make a conflict.
    let reviewed = land("COMMIT f two Second");
    assert!(reviewed.contains("-one\n+two\n") && !reviewed.contains("First"), "{reviewed}");
    assert_eq!(app.git(&["log", "--format=%B%an", "-1", "main"]), "Second\nAda\n");
    app.commit("g", "theirs\n");
    floor.ctl(&["start", "adam", "--task", "think"]).exit(0).any_out().any_err();
    adam.sh("git merge -q --no-edit main; echo three > f && git commit -qam Third").exit(0).any_out().any_err();
    floor.until("adam", "needs_review");
    let reviewed = review();
    assert!(reviewed.contains("-two\n+three\n") && !reviewed.contains("Second") && !reviewed.contains("theirs"));
    // Once what landed is dropped, it is work again.
    app.git(&["reset", "-q", "--hard", "HEAD~2"]);
    let reviewed = review();
    assert!(reviewed.contains("Second"), "{reviewed}");
}

#[test]
fn a_worktree_that_is_adopted_again_begins_on_top_of_what_landed() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let (app, adam) = (&floor.app, tree(&floor, "adam"));
    let push =
        "git init -q --bare ../remote.git && git remote add origin ../remote.git && git push -q origin feature/adam";
    app.sh(push).exit(0).any_err();
    up(&floor, &["adam"]);
    work(&floor, "adam", "COMMIT f one First");
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    floor.ctl(&["nuke", "adam", "--yes"]).exit(0).any_out().any_err();
    adam.commit("f", "two\n");
    app.run("worker-ctl", &["add", "adam", "--worktree", "../adam"]).exit(0).any_out().any_err();
    let reviewed = floor.ctl(&["review", "adam"]).exit(0).any_err().stdout.clone();
    assert!(reviewed.contains("-one\n+two\n") && !reviewed.contains("First"), "{reviewed}");
    floor.ctl(&["accept", "adam"]).exit(0).any_out();
    assert_eq!(app.read("f"), "two\n");
}
