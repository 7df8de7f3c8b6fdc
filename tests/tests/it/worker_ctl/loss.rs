//! worker-ctl: what could be lost is refused or kept, by nuke, reset, start, a restart and a dry run; and accept where the
//! source, its settings or its history are not as usual.

use crate::support::floor::Floor;
use crate::support::worker::ref_with;
use crate::support::worker::{assert_landed, by_hand, commit, head, staff, tip, tree, up, work};
use crate::support::world::{Repo, World, text, wait_for};

/// Requires that neither nuke nor reset goes ahead, that both name what would be lost, and that the worktree stays.
#[track_caller]
fn assert_refused(floor: &Floor<'_>, name: &str, what: &[&str]) {
    for args in [&["nuke", name, "--yes"][..], &["reset", name]] {
        let refused = floor.ctl(args).exit(1);
        assert!(what.iter().any(|what| refused.stderr.contains(what)), "no {what:?} in {refused:?}");
    }
    assert_eq!(text(&floor.status(name), "/name"), name);
    assert!(tree(floor, name).has(".git"));
}

/// Forces it; what was printed.
fn forced(floor: &Floor<'_>, command: &str, name: &str) -> String {
    let args: &[&str] =
        if command == "nuke" { &["nuke", name, "--yes", "--force"] } else { &["reset", name, "--force"] };
    let said = floor.ctl(args).exit(0).stdout.into();
    let at = tree(floor, name);
    match command {
        "nuke" => assert!(!at.path.exists()),
        _ => assert_eq!(at.git(&["rev-parse", "--abbrev-ref", "HEAD"]), format!("worker/{name}\n")),
    }
    said
}

/// A commit that no branch has.
fn detached(at: &Repo<'_>) -> String {
    at.git(&["switch", "-q", "--detach"]);
    at.commit("lone", "x\n");
    head(at)
}

/// A commit that only a rebase under way knows of: it has not come to it yet.
fn rebasing(at: &Repo<'_>) -> String {
    at.git(&["switch", "-q", "--detach"]);
    at.commit("first", "x\n");
    at.commit("lone", "x\n");
    let sha = head(at);
    let onto = "refs/remotes/origin/main";
    at.run_with("git", &["rebase", "-q", "-i", onto], &[("GIT_SEQUENCE_EDITOR", "sed -i 1ibreak")]).exit(0);
    assert_eq!(head(at), at.git(&["rev-parse", onto]).trim_end());
    sha
}

#[test]
fn commits_that_no_branch_has_are_not_lost() {
    let w = World::new();
    let floor = Floor::new(&w);
    for loss in ["detached", "rebasing"] {
        for command in ["nuke", "reset"] {
            let name = format!("{loss}-{command}");
            floor.ctl(&["add", &name]).exit(0);
            let at = tree(&floor, &name);
            let sha = if loss == "detached" { detached(&at) } else { rebasing(&at) };
            assert_refused(&floor, &name, &["lone", &sha[..7]]);
            let said = forced(&floor, command, &name);
            let kept = ref_with(&floor, &said, &sha);
            assert_eq!(floor.root.git(&["show", &format!("{sha}:lone")]), "x\n", "{kept}");
        }
    }
}

#[test]
fn files_and_repositories_that_git_does_not_know_of_are_not_lost() {
    let w = World::new();
    let floor = Floor::new(&w);
    for command in ["nuke", "reset"] {
        floor.ctl(&["add", "adam"]).exit(0);
        let adam = tree(&floor, "adam");
        adam.write("some where/loose", "x\n");
        assert_refused(&floor, "adam", &["loose"]);
        let kept = ref_with(&floor, &forced(&floor, command, "adam"), &tip(&floor));
        assert_eq!(floor.root.git(&["show", &format!("{kept}:some where/loose")]), "x\n");
        // A repository of its own comes whole, with what it has committed.
        let eve = format!("eve-{command}");
        floor.ctl(&["add", &eve]).exit(0);
        let nested = w.at(tree(&floor, &eve).path.join("nested"));
        tree(&floor, &eve).git(&["init", "-q", "nested"]);
        nested.commit("n", "n\n");
        let sha = head(&nested);
        assert_refused(&floor, &eve, &["nested"]);
        let said = forced(&floor, command, &eve);
        assert!(!nested.path.exists());
        let dir = said.lines().map(|line| floor.root.path.join(line)).find(|path| path.is_dir());
        let dir = dir.unwrap_or_else(|| panic!("no directory is named: {said}"));
        assert!(dir.starts_with(floor.root.path.join("trash")), "{said}");
        let found = w.at(&dir).sh("find . -name .git -prune -printf '%h\\n'").exit(0).stdout;
        let holds = |at: &str| {
            let kept = w.at(dir.join(at));
            kept.has("n")
                && kept.run("git", &["rev-parse", "HEAD"]).any_status().any_out().any_err().stdout.trim_end() == sha
        };
        assert!(found.lines().any(holds), "{found}");
    }
    // Where nothing would be lost nothing is kept.
    floor.ctl(&["add", "noah"]).exit(0);
    assert_eq!(floor.ctl(&["nuke", "noah", "--yes", "--force"]).exit(0).stdout, "");
}

#[test]
fn start_puts_a_worktree_back_on_its_branch_or_types_nothing() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let adam = tree(&floor, "adam");
    let branch = || adam.git(&["rev-parse", "--abbrev-ref", "HEAD"]);
    let refuses = || {
        let before = (branch(), adam.git(&["for-each-ref"]));
        floor.ctl(&["start", "--worker", "adam", "--prompt", "never"]).exit(1).any_err();
        assert_eq!((branch(), adam.git(&["for-each-ref"])), before);
        let worker = floor.status("adam");
        assert!(text(&worker, "/status") == "idle" && worker["prompt"].is_null(), "{worker}");
    };
    // Commits on the branch it went to, on none, and on its own while it is elsewhere.
    adam.git(&["switch", "-q", "-c", "aside"]);
    adam.commit("aside", "x\n");
    refuses();
    adam.git(&["switch", "-q", "--detach"]);
    adam.commit("lone", "x\n");
    refuses();
    adam.git(&["switch", "-q", "worker/adam"]);
    adam.commit("own", "x\n");
    adam.git(&["switch", "-q", "--no-track", "-c", "clean", "refs/remotes/origin/main"]);
    refuses();
    // Nothing that is not merged: back it goes.
    adam.git(&["branch", "-q", "-f", "worker/adam", "refs/remotes/origin/main"]);
    work(&floor, "adam", "COMMIT a.txt one Write a");
    assert_eq!(branch(), "worker/adam\n");
    floor.ctl(&["accept", "adam"]).exit(0);
    adam.git(&["switch", "-q", "--detach"]);
    work(&floor, "adam", "COMMIT b.txt two Write b");
    assert_eq!(branch(), "worker/adam\n");
    let prompts = floor.prompts();
    assert!(prompts.len() == 2 && prompts.iter().all(|prompt| !prompt.ends_with("never")), "{prompts:?}");
}

#[test]
fn a_restart_changes_no_task_of_any_kind_and_types_nothing() {
    let w = World::new();
    let names = ["idle", "working", "waiting", "rejected", "rebasing"];
    let floor = staff(&w, &names);
    floor.ctl(&["start", "--worker", "working", "--prompt", "think"]).exit(0);
    work(&floor, "rebasing", "COMMIT README.md mine Change it");
    work(&floor, "waiting", "COMMIT w.txt x Write w");
    work(&floor, "rejected", "COMMIT r.txt x Write r");
    floor.ctl(&["review", "waiting"]).exit(0);
    floor.ctl(&["review", "rejected"]).exit(0);
    floor.ctl(&["reject", "not so"]).exit(0);
    floor.app.commit("README.md", "moved on\n");
    floor.ctl(&["accept", "rebasing"]).exit(1).any_err();
    wait_for(|| floor.prompts().len() == 6);
    let prompts = floor.prompts();
    let tasks = || {
        names.map(|name| {
            let worker = floor.status(name);
            let keys = ["task", "prompt", "commit_sha", "reviewed_sha"];
            (keys.map(|key| worker[key].clone()), head(&tree(&floor, name)))
        })
    };
    let before = tasks();
    assert_eq!(before.clone().map(|([task, ..], _)| task), ["idle", "working", "needs_review", "rejected", "rebasing"]);
    floor.ctl(&["down"]).exit(0);
    assert_eq!(tasks(), before);
    floor.app.commit("advance", "x\n");
    up(&floor, &names);
    assert_eq!(tasks(), before);
    // What they hear next is what they are told now.
    for name in &names[1..] {
        assert_eq!(text(&floor.status(name), "/status"), text(&floor.status(name), "/task"));
        floor.ctl(&["message", name, "still at it?"]).exit(0);
    }
    wait_for(|| floor.prompts().len() >= prompts.len() + 4);
    assert_eq!(floor.prompts()[prompts.len()..], ["still at it?"; 4]);
}

#[test]
fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    let w = World::new();
    let floor = staff(&w, &["adam", "busy", "noah"]);
    work(&floor, "adam", "COMMIT a.txt one Write a");
    floor.ctl(&["start", "--worker", "busy", "--prompt", "think"]).exit(0);
    wait_for(|| floor.prompts().len() == 2);
    let image = || {
        let mut all = vec![floor.root.read("state.json"), floor.root.read("config.toml")];
        for repo in [&floor.root, &floor.app] {
            all.push(repo.git(&["for-each-ref"]));
            all.push(repo.git(&["worktree", "list", "--porcelain"]));
        }
        all.push(floor.app.git(&["status", "--porcelain"]));
        all.extend(["adam", "busy", "noah"].map(|name| tree(&floor, name).git(&["status", "--porcelain"])));
        all.extend(floor.prompts());
        all
    };
    let before = image();
    for (line, name) in [
        ("accept adam -n", "adam"),
        ("nuke adam -n --force", "adam"),
        ("reset busy -n", "busy"),
        ("start -n --prompt x", "noah"),
        ("add eve -n", "eve"),
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        floor.ctl(&args).exit(0).out_has(name);
        let told = floor.ctl(&[&args[..], &["--json"]].concat()).exit(0).json();
        assert_eq!(told["dry_run"], true, "{line}: {told}");
        assert_eq!(image(), before, "{line}");
    }
    assert!(!floor.root.has(".worktrees/eve"));
    // The worker that would have been asked has heard nothing.
    work(&floor, "noah", "COMMIT n.txt one Write n");
    assert_eq!(floor.prompts().len(), 3);
}

#[test]
fn settings_of_the_source_and_the_clone_change_nothing() {
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
    for (key, value) in settings {
        let files = ["a", "b", "c"].map(|name| format!("{name}-{key}"));
        let adam = by_hand(&floor, "adam", &[(files[0].as_str(), "1\n"), (files[1].as_str(), "2\n")]);
        adam.git(&["branch", "-q", "-f", "keep", "HEAD~1"]);
        floor.app.commit(&files[2], "3\n");
        floor.app.write("README.md", "mine\n");
        let (old, keep) = (tip(&floor), adam.git(&["rev-parse", "keep"]));
        for repo in [&floor.app, &floor.root] {
            repo.git(&["config", "gpg.program", "false"]);
            repo.git(&["config", key, value]);
        }
        // The first of these brings it onto what main is by now, the second lands it.
        floor.ctl(&["patrol"]).exit(0);
        assert_eq!(adam.git(&["merge-base", "HEAD", &old]).trim_end(), old, "{key}");
        floor.ctl(&["accept", "adam"]).exit(0);
        assert_landed(&floor, "adam", &old, key);
        assert_eq!(adam.git(&["rev-parse", "keep"]), keep, "{key}");
        // What is in the way is not stashed away either.
        floor.ctl(&["accept", "eve"]).exit(1).any_err();
        assert_eq!(floor.app.read("README.md"), "mine\n", "{key}");
        assert_eq!(floor.app.git(&["stash", "list"]) + &adam.git(&["stash", "list"]), "", "{key}");
        for repo in [&floor.app, &floor.root] {
            repo.git(&["config", "--unset", key]);
        }
    }
}

#[test]
fn a_conflict_is_told_in_one_document() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    for name in ["adam", "eve"] {
        work(&floor, name, &format!("COMMIT README.md {name}s Change it"));
    }
    floor.app.commit("README.md", "moved on\n");
    let old = tip(&floor);
    for (command, name) in [("accept", "adam"), ("rebase", "eve")] {
        let told = floor.ctl(&[command, name, "--json"]).exit(1).any_err().json();
        assert_eq!((text(&told, "/outcome"), text(&told, "/worker")), ("rebasing", name), "{command}");
        assert_eq!(text(&floor.status(name), "/status"), "rebasing");
    }
    assert_eq!(tip(&floor), old);
}

#[test]
fn case_10_conflicts_are_known_without_advice_and_in_german() {
    let mut w = World::new();
    w.set("LANG", "de_DE.UTF-8");
    w.set("LC_ALL", "de_DE.UTF-8");
    let floor = Floor::new(&w);
    floor.root.git(&["config", "advice.mergeConflict", "false"]);
    floor.app.commit("gone", "a\n");
    floor.ctl(&["add", "adam"]).exit(0);
    up(&floor, &["adam"]);
    floor.ctl(&["start", "--prompt", "think"]).exit(0);
    let adam = tree(&floor, "adam");
    commit(&adam, "Change all", &["README.md", "gone", "both"], "mine\n");
    floor.until("adam", "needs_review");
    let sha = head(&adam);
    floor.app.write("README.md", "theirs\n");
    floor.app.git(&["rm", "-q", "gone"]);
    floor.app.commit("both", "theirs\n");
    floor.app.commit("README.md", "theirs\n");
    let old = tip(&floor);
    let conflicts = |prompts: usize| {
        floor.ctl(&["accept", "adam"]).exit(1).any_err();
        assert_eq!(text(&floor.status("adam"), "/status"), "rebasing");
        wait_for(|| floor.prompts().len() == prompts);
        let told = floor.prompts()[prompts - 1].clone();
        for part in ["README.md (content", "gone (modify/delete", "both (add/add", ":2:", ":3:FILE` is yours"] {
            assert!(told.contains(part), "no `{part}` in {told}");
        }
    };
    conflicts(2);
    floor.ctl(&["message", "adam", "ABORT"]).exit(0);
    floor.until("adam", "needs_review");
    let worker = floor.status("adam");
    assert_eq!((text(&worker, "/commit_sha"), head(&adam)), (sha.as_str(), sha.clone()));
    assert!(worker["notes"][0].as_str().unwrap().contains("gave the rebase up"), "{worker}");
    conflicts(4);
    floor.ctl(&["message", "adam", "RESOLVE gone kept\nRESOLVE both ours\nRESOLVE README.md merged"]).exit(0);
    floor.until("adam", "needs_review");
    floor.ctl(&["accept", "adam"]).exit(0);
    assert_landed(&floor, "adam", &old, "");
    assert_eq!(["README.md", "gone", "both"].map(|name| floor.app.read(name)), ["merged\n", "kept\n", "ours\n"]);
}

#[test]
fn a_source_that_is_gone_is_named_and_nothing_changes() {
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
    floor.ctl(&["accept", "adam"]).exit(0);
    assert_landed(&floor, "adam", &old, "");
}

#[test]
fn a_source_whose_history_was_rewritten_gets_one_commit_on_its_new_tip() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    let app = &floor.app;
    app.commit("extra", "x\n");
    work(&floor, "adam", "COMMIT a.txt one Write a");
    work(&floor, "eve", "COMMIT e.txt two Write e");
    // Back to an older commit.
    app.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let old = tip(&floor);
    // What was dropped there does not come back with the work.
    floor.ctl(&["accept", "adam"]).exit(1).err_has("dropped");
    assert_eq!(tip(&floor), old);
    floor.ctl(&["rebase", "adam"]).exit(0);
    floor.ctl(&["accept", "adam"]).exit(0);
    assert_landed(&floor, "adam", &old, "older");
    assert_eq!(app.read("a.txt"), "one\n");
    assert!(!app.has("extra"));
    // Over to another one.
    let other = app.git(&["commit-tree", "main^{tree}", "-p", "main~1", "-m", "other"]);
    app.git(&["switch", "-q", "-c", "elsewhere"]);
    app.git(&["branch", "-q", "-f", "main", other.trim_end()]);
    let old = tip(&floor);
    floor.ctl(&["patrol"]).exit(0);
    floor.ctl(&["accept", "eve"]).exit(0);
    assert_landed(&floor, "eve", &old, "another");
    assert_eq!(app.git(&["show", "main:a.txt", "main:e.txt"]), "one\ntwo\n");
}
