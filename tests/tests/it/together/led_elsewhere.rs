//! A work tree whose `.git`, or whose git directory, an agent has changed so that commands in it work on another
//! repository.

use crate::support::floor::Floor;
use crate::support::spawn;
use crate::support::worker::{tip, tree};
use crate::support::world::{Repo, World, which};

const TOOLS: [(&str, &[&str]); 4] = [
    ("worktree-spawn", &["list"]),
    ("sweatfile-apply", &["check"]),
    ("ledger-synth", &["check"]),
    ("overlay-sync", &["status"]),
];

/// Requires that each tool refuses to work in a directory.
#[track_caller]
fn refused(at: &Repo<'_>, why: &str) {
    for (tool, args) in TOOLS {
        at.run(tool, args).exit(4).any_out().err_has(why);
    }
}

#[test]
fn a_known_worktree_that_leads_to_another_repository_is_refused() {
    let w = World::new();
    let app = spawn::app(&w);
    let other = w.repo("other");
    other.git(&["worktree", "add", "-q", "../others"]);
    let theirs = other.path.join(".git/worktrees/others");
    // Beside the main checkout no repository further up records them.
    app.approved("[env]\nX = \"1\"\n");
    let (set_up, spawned) = (app.worktree("set-up"), app.spawn(&["subtree", "kid", "--base-dir", "../kids"]));
    set_up.apply(&[]).succeeds();
    let spawned = w.at(spawned.exit(0).any_err().stdout.trim_end());
    for at in [&set_up, &spawned] {
        let own = at.read(".git");
        at.spawn(&["list"]).exit(0).any_out();
        for to in [theirs.clone(), other.path.join(".git"), app.path.join(".git")] {
            at.write(".git", &format!("gitdir: {}\n", to.display()));
            refused(at, "leads");
        }
        at.sh("rm .git && git init -q .").exit(0);
        refused(at, "leads");
        at.sh("rm -rf .git").exit(0);
        at.write(".git", &own);
        at.spawn(&["list"]).exit(0).any_out();
    }
    // A person who put a repository there says so once.
    spawned.sh("rm .git && git init -q .").exit(0);
    refused(&spawned, "worktree-spawn trust");
    app.spawn(&["trust", spawned.path.to_str().unwrap(), "--yes"]).exit(0).any_out().any_err();
    spawned.spawn(&["list"]).exit(0).any_out();
}

#[test]
fn the_place_of_a_worktree_that_is_gone_can_be_another_repositorys() {
    let w = World::new();
    let (app, other) = (spawn::app(&w), w.repo("eng/repos/other"));
    app.approved("[env]\nX = \"1\"\n");
    let tree = app.worktree("tree");
    tree.apply(&[]).succeeds();
    let path = tree.path.to_str().unwrap();
    let trust = format!("worktree-spawn trust {path}");
    // One that is on record keeps its place.
    app.sh("rm -rf ../tree").exit(0);
    let spawned = other.spawn(&["subtree", "tree", "--base-dir", ".."]).exit(1);
    spawned.err_has("is the place of a worktree of").err_has(&trust);
    other.spawn(&["subtree", "tree", "--base-dir", "..", "--unique"]).succeeds().out_has("/tree-2\n");
    other.git(&["worktree", "add", "-q", path]);
    refused(&tree, "is listed as a worktree of");
    other.git(&["worktree", "remove", path]);
    app.git(&["worktree", "prune"]);
    // An agent, too, can take away a record, and make another repository there.
    other.git(&["worktree", "add", "-q", path]);
    refused(&tree, "has no record of it now");
    refused(&tree, &trust);
    app.spawn(&["trust", path]).exit(3).err_has("and leads to ");
    refused(&tree, &trust);
    app.spawn(&["trust", path, "--yes"]).exit(0).any_err().out_has("released");
    tree.spawn(&["list"]).exit(0).any_out();
    // A command of ours in the first repository sees that both are gone.
    for (name, tool, args) in [("a", "worktree-spawn", "gc"), ("b", "sweatfile-apply", "sweep")] {
        let gone = app.worktree(name);
        gone.apply(&[]).succeeds();
        app.git(&["worktree", "remove", "--force", gone.path.to_str().unwrap()]);
        app.run(tool, &[args]).exit(0).any_out().any_err();
        other.git(&["worktree", "add", "-q", gone.path.to_str().unwrap()]);
        gone.spawn(&["list"]).exit(0).any_out();
    }
}

#[test]
fn a_worktree_that_leads_to_the_record_of_another_is_refused() {
    let w = World::new();
    let app = spawn::app(&w);
    let (evil, victim) = (app.worktree("evil"), app.worktree("victim"));
    evil.write(".git", &victim.read(".git"));
    for (tool, args) in TOOLS {
        evil.run(tool, args).exit(2).any_out().err_has("is a copy of");
    }
    victim.spawn(&["list"]).exit(0).any_out();
    // One that was moved by hand still leads to its own record.
    std::fs::rename(&victim.path, victim.path.with_file_name("moved")).unwrap();
    std::fs::remove_dir_all(&evil.path).unwrap();
    w.at(victim.path.with_file_name("moved")).spawn(&["list"]).exit(0).any_out();
}

#[test]
fn a_worktree_of_a_repository_inside_of_itself_is_refused() {
    let w = World::new();
    let evil = spawn::app(&w).worktree("evil");
    let prepare = "git init -q .own && git -C .own commit -q --allow-empty -m x && git -C .own worktree add -q ../tmp-tree \
                   && echo \"gitdir: $PWD/.own/.git/worktrees/tmp-tree\" > .git \
                   && echo \"$PWD/.git\" > .own/.git/worktrees/tmp-tree/gitdir";
    evil.sh(prepare).exit(0);
    refused(&evil, "of a repository inside of itself");
}

#[test]
fn a_git_directory_that_names_another_work_tree_is_refused() {
    let w = World::new();
    let app = spawn::app(&w);
    let evil = app.worktree("evil");
    let victim = w.home("victim");
    std::fs::create_dir(&victim).unwrap();
    app.git(&["config", "extensions.worktreeConfig", "true"]);
    for record in [".git/worktrees/evil", ".git"] {
        let file = app.path.join(record).join("config.worktree");
        std::fs::write(&file, format!("[core]\n\tworktree = {}\n", victim.display())).unwrap();
        refused(&evil, "says that the work tree is not");
        if record == ".git" {
            refused(&app, "says that the work tree is not");
        }
        std::fs::remove_file(&file).unwrap();
    }
    assert_eq!(std::fs::read_dir(&victim).unwrap().count(), 0);
}

#[test]
fn a_separate_git_directory_has_one_main_checkout() {
    let w = World::new();
    let app = w.at(w.home("app"));
    w.at(w.home("")).sh("git init -q -b main --separate-git-dir=store app").exit(0).any_out();
    app.commit("a", "a\n");
    app.approved("[env]\nX = \"1\"\n");
    app.apply(&[]).succeeds();
    let evil = app.worktree("evil");
    evil.write(".git", &format!("gitdir: {}\n", w.home("store").display()));
    evil.apply(&[]).exit(4).err_has("leads to the git directory of");
    app.apply(&["check"]).exit(0).any_out();
}

#[test]
fn a_worktree_of_another_repository_is_not_adopted_by_chance() {
    let w = World::new();
    which("tmux");
    let (app, other) = (w.app(), w.repo("other"));
    let evil = app.worktree("evil");
    other.git(&["worktree", "add", "-q", "../others"]);
    let path = evil.path.to_str().unwrap();
    evil.sh("rm .git && git init -q -b own .own && git -C .own commit -q --allow-empty -m x").exit(0);
    evil.sh("git -C .own worktree add -q ../../away && cp ../away/.git .git").exit(0);
    app.run("worker-ctl", &["add", "--worktree", path]).exit(4).any_err();
    let others = w.home("others");
    let line = ["add", "--worktree", others.to_str().unwrap()];
    app.run("worker-ctl", &line).exit(2).err_has("is a worktree of another repository");
    assert!(!w.home("workers").exists());
    other.run("worker-ctl", &line).exit(0).any_out().any_err();
    drop(Floor::of(other, &w));
}

/// The record of worktree-spawn only says a name, so a worker's session runs nowhere but in its worktree.
#[test]
fn a_session_runs_in_the_worktree_of_its_worker_alone() {
    let w = World::new();
    which("tmux");
    let app = spawn::app(&w);
    let spawned = |name: &str| w.at(app.spawn(&["subtree", name]).exit(0).any_err().stdout.trim_end());
    let (adam, eve) = (spawned("adam"), spawned("eve"));
    for at in [&adam, &eve] {
        app.run("worker-ctl", &["add", "--worktree", at.path.to_str().unwrap()]).exit(0).any_out().any_err();
    }
    let floor = Floor::of(app, &w);
    let record =
        |name: &str| floor.app.path.join(format!(".git/worktrees/{name}/shopfloor/worktree-spawn/identity.json"));
    let text = std::fs::read_to_string(record("adam")).unwrap();
    // Eve says that she is adam, and adam that he is somebody else.
    std::fs::write(record("eve"), &text).unwrap();
    std::fs::write(record("adam"), text.replace("adam", "zoe")).unwrap();
    floor.ctl(&["up", "adam", "eve"]).any_status().any_out().any_err();
    for name in ["adam", "eve"] {
        let pid = floor.status(name)["pane_pid"].as_u64();
        let Some(pid) = pid else { continue };
        let cwd = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap();
        assert_eq!(cwd, tree(&floor, name).path.canonicalize().unwrap(), "{name}");
    }
    floor.app.spawn(&["run", "--here", "main.adam", "--", "true"]).exit(4).any_out().err_has("does not live in");
}

/// Nor is a branch that somebody else works on ours to move or delete.
#[test]
fn a_branch_that_is_checked_out_twice_stays_the_persons() {
    let w = World::new();
    which("tmux");
    let app = w.app();
    app.commit("a", "a\n");
    let (adam, eve) = (app.worktree("adam"), app.worktree("eve"));
    let head = |name: &str| app.path.join(format!(".git/worktrees/{name}/HEAD"));
    std::fs::write(head("eve"), "ref: refs/heads/adam\n").unwrap();
    let path = eve.path.to_str().unwrap();
    app.run("worker-ctl", &["add", "--worktree", path]).exit(1).err_has("adam is checked out in").err_has("switch -c");
    std::fs::write(head("eve"), "ref: refs/heads/eve\n").unwrap();
    app.run("worker-ctl", &["add", "--worktree", path]).exit(0).any_out().err_has("eve");
    let floor = Floor::of(app.clone(), &w);
    // Another worktree takes the worker's branch later.
    std::fs::write(head("adam"), "ref: refs/heads/eve\n").unwrap();
    floor.ctl(&["nuke", "eve", "--worktree", "--yes"]).any_status().any_out().any_err();
    app.git(&["rev-parse", "--verify", "refs/heads/eve"]);
    assert!(adam.has("a") && !tip(&floor).is_empty());
}

/// A relative directory on the PATH is one of the worktree in which git runs.
#[test]
fn no_program_is_found_by_a_relative_path() {
    let mut w = World::new();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", w.path("bin").display());
    for (name, relative) in [("a", "./bin:"), ("b", ":"), ("c", "bin:")] {
        w.set("PATH", format!("{relative}{path}"));
        let app = w.repo(name);
        app.git(&["config", "filter.lfs.clean", "git-lfs clean -- %f"]);
        app.commit("x.bin", "1\n");
        app.commit(".gitattributes", "*.bin filter=lfs\n");
        let child = w.at(app.run("worktree-spawn", &["subtree", "x"]).exit(0).any_err().stdout.trim_end());
        for dir in ["bin", "."] {
            child.write(&format!("{dir}/git-lfs"), &format!("#!/bin/sh\ntouch {}\n", w.path("ran").display()));
            child.sh(&format!("chmod +x {dir}/git-lfs")).exit(0);
        }
        child.write("x.bin", "2\n");
        app.sh("worktree-spawn list --status --stat; shopfloor status; worktree-spawn remove x")
            .any_status()
            .any_out()
            .any_err();
        assert!(!w.path("ran").exists(), "{relative}");
    }
}
