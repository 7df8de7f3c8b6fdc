//! worker-ctl: what `accept` puts on the source, what it leaves alone, and what a review is worth.

use std::process::{Child, Stdio};

use crate::support::floor::Floor;
use crate::support::worker::{LATER, assert_landed, by_hand, head, staff, tip, tree, up, work};
use crate::support::world::{Repo, World, built, find, text, traced, wait_for, which};

/// Everything of a person's in a checkout: HEAD, the branch, changes, stashes, refs, and one file.
fn image(at: &Repo<'_>, file: &str) -> [String; 6] {
    [
        at.git(&["rev-parse", "HEAD"]),
        at.git(&["rev-parse", "--symbolic-full-name", "HEAD"]),
        at.git(&["status", "--porcelain"]),
        at.git(&["stash", "list"]),
        at.git(&["for-each-ref"]),
        at.read(file),
    ]
}

/// Requires that accept refuses the work because it changed since its review.
#[track_caller]
fn assert_changed(floor: &Floor<'_>, name: &str) {
    let old = tip(floor);
    let answer = floor.ctl(&["accept", name, "--json"]).exit(1).json();
    assert_eq!(text(&answer, "/error/kind"), "changed");
    floor.ctl(&["accept", name]).exit(1).err_has("changed since it was reviewed");
    floor.ctl(&["accept"]).exit(1).err_has("reviewed");
    assert_eq!((tip(floor), text(&floor.status(name), "/status")), (old, "needs_review"));
}

#[test]
fn a_branch_that_was_deleted_is_told_with_the_command_that_brings_it_back() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let at = by_hand(&floor, "adam", &[("a", "1\n")]);
    let sha = head(&at);
    at.git(&["update-ref", "-d", "refs/heads/worker/adam"]);
    for command in ["accept", "rebase"] {
        let refused = floor.ctl(&[command, "adam"]).exit(1).any_out();
        refused.err_has("the branch worker/adam of adam was deleted").err_has(&format!("branch worker/adam {sha}`"));
        assert!(!refused.stderr.contains("warning: "), "{refused}");
    }
    at.git(&["branch", "worker/adam", &sha]);
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_eq!(floor.app.read("a"), "1\n");
}

#[test]
fn a_worktree_that_is_gone_is_told_with_the_command_that_restores_it() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let at = by_hand(&floor, "adam", &[("a", "1\n")]);
    std::fs::rename(&at.path, w.home("gone")).unwrap();
    for command in ["accept", "rebase"] {
        let refused = floor.ctl(&[command, "adam"]).exit(4).any_out();
        refused.err_has(".worktrees/adam is missing").err_has("`worker-ctl doctor --repair`");
    }
    floor.ctl(&["doctor", "--repair", "--yes"]).exit(0).any_out().any_err();
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    assert_eq!(floor.app.read("a"), "1\n");
}

#[test]
fn who_is_down_where_the_worktree_is_gone_is_not_said_to_be_only_down() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["down", "adam"]).succeeds();
    std::fs::rename(&tree(&floor, "adam").path, w.home("gone")).unwrap();
    for args in [
        &["message", "adam", "x"][..],
        &["start", "adam", "--task", "x"],
        &["attach", "adam"],
        &["peek", "adam"],
        &["answer", "adam"],
    ] {
        let refused = floor.ctl(args).exit(4).any_out();
        refused.err_has(".worktrees/adam is missing").err_has("`worker-ctl doctor --repair`");
    }
}

#[test]
fn reject_sends_the_message_with_the_diff() {
    let w = World::new();
    let floor = Floor::new(&w);
    let config = floor.root.read("config.toml");
    floor.root.write("config.toml", &(config + "clear = \"/clear\"\n"));
    floor.ctl(&["add", "adam"]).succeeds();
    up(&floor, &["adam"]);
    work(&floor, "adam", "COMMIT a.txt one Write a");
    let before = floor.prompts();
    assert!(before.contains(&"/clear".to_owned()), "{before:?}");
    floor.ctl(&["reject", "no"]).exit(1).err_has("review");
    assert_eq!(text(&floor.status("adam"), "/status"), "needs_review");
    floor.ctl(&["review", "adam"]).succeeds();
    floor.ctl(&["reject", "Mind the gap\nAMEND a.txt two"]).succeeds();
    wait_for(|| floor.prompts().len() > before.len());
    let prompts = floor.prompts();
    // Exactly one more text: no `/clear`, and nothing of the refused rejection.
    assert!(prompts.starts_with(&before) && prompts.len() == before.len() + 1, "{prompts:?}");
    for part in ["Mind the gap\nAMEND a.txt two", "diff --git a/a.txt b/a.txt", "+one"] {
        assert!(prompts[before.len()].contains(part), "{prompts:?}");
    }
    // Amended work is new: it can be accepted without a review only by name.
    floor.until("adam", "needs_review");
    let old = tip(&floor);
    floor.ctl(&["accept"]).exit(1).err_has("was not reviewed");
    assert_eq!(tip(&floor), old);
    floor.ctl(&["accept", "adam"]).succeeds().err_has("was not reviewed");
    assert_landed(&floor, "adam", &old, "unseen");
    assert_eq!(floor.app.read("a.txt"), "two\n");
}

#[test]
fn accept_lands_one_commit_with_the_author_and_the_merged_tree() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let pid = floor.status("adam")["pane_pid"].clone();
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    let adam = tree(&floor, "adam");
    adam.write("a.txt", "one\n");
    adam.git(&["add", "a.txt"]);
    let message = "Write a\n\nWhy.\n\nCo-authored-by: Scripted <s@x>\nSigned-off-by: Grace <g@x>\n";
    let grace = [
        ("GIT_AUTHOR_NAME", "Grace"),
        ("GIT_AUTHOR_EMAIL", "grace@example.org"),
        ("GIT_AUTHOR_DATE", "2025-05-05T05:05:05+02:00"),
    ];
    adam.run_with("git", &["commit", "-q", "-m", message], &grace).exit(0);
    floor.until("adam", "needs_review");
    // Meanwhile the default branch moves on.
    floor.app.commit("other", "x\n");
    let old = tip(&floor);
    floor.root.git(&["fetch", "-q", "origin"]);
    let merged = floor.root.git(&["merge-tree", "--write-tree", "refs/remotes/origin/main", "refs/heads/worker/adam"]);
    let answer = floor.ctl(&["accept", "adam", "--json"]).succeeds().json();
    assert_eq!((text(&answer, "/outcome"), text(&answer, "/sha")), ("accepted", tip(&floor).as_str()));
    assert_landed(&floor, "adam", &old, "");
    assert_eq!(
        floor.app.git(&["log", "-1", "--format=%T%n%an%n%ae%n%aI", "main"]),
        format!("{merged}Grace\ngrace@example.org\n2025-05-05T05:05:05+02:00\n")
    );
    let message = floor.app.git(&["log", "-1", "--format=%B", "main"]);
    assert_eq!(message.trim_end(), "Write a\n\nWhy.\n\nSigned-off-by: Grace <g@x>");
    let adam = floor.status("adam");
    assert_eq!((text(&adam, "/status"), &adam["pane_pid"]), ("idle", &pid));
}

#[test]
fn accept_squashes_several_commits_and_lands_nothing_for_no_change() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let message = || floor.app.git(&["log", "-1", "--format=%B", "main"]).trim_end().to_owned();
    let old = tip(&floor);
    by_hand(&floor, "adam", &[("a", "1\n"), ("b", "2\n"), ("c", "3\n")]);
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_landed(&floor, "adam", &old, "three");
    assert_eq!(message(), "a\n\n- b\n- c");
    let old = tip(&floor);
    by_hand(&floor, "adam", &[("d", "4\n"), ("e", "5\n")]);
    for empty in ["", "   "] {
        floor.ctl(&["accept", "adam", "--message", empty]).exit(2).err_has("the text is empty");
    }
    floor.ctl(&["accept", "adam", "--message", "Said by hand\n\nBecause."]).succeeds();
    assert_landed(&floor, "adam", &old, "two");
    assert_eq!(message(), "Said by hand\n\nBecause.");
    // A commit and its revert change nothing.
    let old = tip(&floor);
    by_hand(&floor, "adam", &[("f", "6\n")]).git(&["revert", "--no-edit", "HEAD"]);
    let answer = floor.ctl(&["accept", "adam", "--json"]).succeeds().json();
    assert_eq!((text(&answer, "/outcome"), tip(&floor)), ("nothing_to_merge", old));
    assert_eq!(text(&floor.status("adam"), "/status"), "idle");
}

#[test]
fn accept_lists_uncommitted_changes_and_lands_nothing() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    work(&floor, "adam", "DIRTY loose x\nDIRTY README.md y\nCOMMIT a.txt one Write a");
    let old = tip(&floor);
    floor.ctl(&["accept", "adam"]).exit(1).err_has("loose").err_has("README.md");
    let adam = tree(&floor, "adam");
    assert_eq!((tip(&floor), adam.read("loose"), adam.read("README.md")), (old, "x".into(), "y".into()));
    assert_eq!(text(&floor.status("adam"), "/status"), "needs_review");
}

#[test]
fn work_whose_worker_is_in_a_merge_waits_for_its_end() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let at = by_hand(&floor, "adam", &[("a", "1\n")]);
    floor.app.commit("later", "x\n");
    let (old, sha) = (tip(&floor), head(&at));
    // None of them leaves a change that git status shows.
    for (begin, command) in [
        ("git merge -q -s ours --no-commit $(git commit-tree HEAD~1^{tree} -p HEAD~1 -m other)", "merge"),
        ("! git cherry-pick HEAD", "cherry-pick"),
        ("git revert --no-commit HEAD && git checkout -q HEAD -- .", "revert"),
    ] {
        at.sh(begin).exit(0).any_out().any_err();
        floor.ctl(&["patrol"]).exit(0).any_out().any_err();
        for verb in ["accept", "rebase"] {
            let refused = floor.ctl(&[verb, "adam"]).exit(1).any_out();
            refused.err_has(&format!("adam is in a `git {command}` of its own")).err_has(&format!("{command} --abort"));
        }
        assert_eq!((tip(&floor), head(&at)), (old.clone(), sha.clone()), "{command}");
        at.git(&[command, "--abort"]);
    }
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_landed(&floor, "adam", &old, "");
}

#[test]
fn accept_keeps_a_persons_changes_in_the_source() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve", "noah"]);
    work(&floor, "adam", "COMMIT a.txt one Write a");
    work(&floor, "eve", "COMMIT README.md eves Change it");
    work(&floor, "noah", "COMMIT notes noahs Write notes");
    let app = &floor.app;
    app.write("README.md", "mine\n");
    app.write("staged", "mine\n");
    app.git(&["add", "staged"]);
    app.write("notes", "mine\n");
    let (old, dirt) = (tip(&floor), app.git(&["status", "--porcelain"]));
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_landed(&floor, "adam", &old, "");
    assert_eq!((app.git(&["status", "--porcelain"]), app.read("a.txt")), (dirt, "one\n".into()));
    // A changed file and an untracked file are in the way.
    for (name, file) in [("eve", "README.md"), ("noah", "notes")] {
        let before = image(app, file);
        floor.ctl(&["accept", name]).exit(1).err_has(app.path.to_str().unwrap());
        assert_eq!(image(app, file), before);
        assert_eq!((app.read(file).as_str(), text(&floor.status(name), "/status")), ("mine\n", "needs_review"));
    }
}

#[test]
fn accept_lands_where_main_is_checked_out_in_a_linked_worktree() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    work(&floor, "adam", "COMMIT a.txt one Write a");
    work(&floor, "eve", "COMMIT README.md eves Change it");
    floor.app.git(&["switch", "-q", "-c", "elsewhere"]);
    let linked = w.at(w.home("linked"));
    floor.app.git(&["worktree", "add", "-q", linked.path.to_str().unwrap(), "main"]);
    linked.write("mine", "mine\n");
    let (old, here) = (tip(&floor), head(&floor.app));
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_landed(&floor, "adam", &old, "");
    assert_eq!(
        (linked.read("a.txt").as_str(), linked.git(&["status", "--porcelain"]).as_str()),
        ("one\n", "?? mine\n")
    );
    assert!(head(&floor.app) == here && !floor.app.has("a.txt"));
    linked.write("README.md", "mine\n");
    let before = image(&linked, "README.md");
    floor.ctl(&["accept", "eve"]).exit(1).err_has(linked.path.to_str().unwrap());
    assert_eq!(image(&linked, "README.md"), before);
    assert_eq!(floor.app.git(&["status", "--porcelain"]), "");
    // Nor where it is away, and git keeps its record.
    let before = tip(&floor);
    floor.app.git(&["worktree", "lock", linked.path.to_str().unwrap()]);
    std::fs::rename(&linked.path, w.home("away")).unwrap();
    floor.ctl(&["accept", "eve"]).exit(1).err_has("which cannot be reached").err_has("git worktree unlock");
    assert_eq!(tip(&floor), before);
    floor.app.git(&["worktree", "unlock", linked.path.to_str().unwrap()]);
    floor.ctl(&["accept", "eve"]).exit(0).any_out().any_err();
    assert_eq!(floor.app.git(&["show", "main:README.md"]), "eves\n");
}

#[test]
fn accept_leaves_main_in_an_unfinished_rebase_or_bisect_alone() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let app = &floor.app;
    for name in ["1", "2", "3"] {
        app.commit(name, "x\n");
    }
    work(&floor, "adam", "COMMIT a.txt one Write a");
    let old = tip(&floor);
    let refuses = |at: &Repo<'_>| {
        let before = image(at, "README.md");
        floor.ctl(&["accept", "adam"]).exit(1).err_has(at.path.to_str().unwrap());
        assert_eq!(image(at, "README.md"), before);
        assert_eq!((tip(&floor), text(&floor.status("adam"), "/status")), (old.clone(), "needs_review"));
    };
    app.run_with("git", &["rebase", "-q", "-i", "HEAD~2"], &[("GIT_SEQUENCE_EDITOR", "sed -i 's/^pick/edit/'")])
        .succeeds();
    refuses(app);
    app.git(&["rebase", "--abort"]);
    app.git(&["switch", "-q", "-c", "elsewhere"]);
    let linked = w.at(w.home("linked"));
    app.git(&["worktree", "add", "-q", linked.path.to_str().unwrap(), "main"]);
    linked.git(&["bisect", "start", "HEAD", "HEAD~3"]);
    refuses(&linked);
    linked.git(&["bisect", "reset"]);
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_landed(&floor, "adam", &old, "");
}

#[test]
fn concurrent_accepts_and_patrols_land_one_after_the_other() {
    let w = World::new();
    let names = ["adam", "eve", "noah"];
    let floor = staff(&w, &names);
    for name in names {
        work(&floor, name, &format!("COMMIT {name}.txt x Work of {name}"));
    }
    let old = tip(&floor);
    let spawn = |args: &[&str]| -> Child {
        let mut command = w.command(w.path("bin/worker-ctl"));
        command.args(args).current_dir(&floor.root.path).stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let all = names.map(|name| vec!["accept", name]).into_iter().chain((0..4).map(|_| vec!["patrol"]));
    let all: Vec<_> = all.map(|args| (spawn(&args), args)).collect();
    for (child, args) in all {
        let mut out = child.wait_with_output().unwrap();
        // A command waits ten seconds for a lock, and on a busy machine the others may hold it for longer.
        while out.status.code() == Some(75) && String::from_utf8_lossy(&out.stderr).contains("another process holds ") {
            out = spawn(&args).wait_with_output().unwrap();
        }
        assert_eq!(out.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    }
    let range = format!("{old}..main");
    let parents = floor.app.git(&["log", "--format=%P", &range]);
    assert!(parents.lines().count() == 3 && parents.lines().all(|line| !line.contains(' ')), "{parents}");
    for name in names {
        assert_eq!(floor.app.read(&format!("{name}.txt")), "x\n");
        assert_eq!(text(&floor.status(name), "/status"), "idle");
    }
    assert_eq!(floor.app.git(&["for-each-ref", "refs/shopfloor"]) + &floor.app.git(&["status", "--porcelain"]), "");
    assert_eq!(floor.root.git(&["for-each-ref", "refs/shopfloor/accept"]), "");
}

#[test]
fn work_cherry_picked_by_hand_does_not_land_again() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    let root = floor.root.path.to_str().unwrap();
    by_hand(&floor, "adam", &[("a", "1\n"), ("b", "2\n")]);
    by_hand(&floor, "eve", &[("c", "3\n"), ("d", "4\n")]);
    floor.app.commit("between", "x\n");
    floor.app.git(&["fetch", "-q", root, "worker/adam:adams", "worker/eve:eves"]);
    floor.app.git(&["cherry-pick", "adams~1", "eves~1", "eves"]);
    floor.app.git(&["branch", "-q", "-D", "adams", "eves"]);
    // All of the work was picked.
    let old = tip(&floor);
    let answer = floor.ctl(&["accept", "eve", "--json"]).succeeds().json();
    assert_eq!((text(&answer, "/outcome"), tip(&floor)), ("nothing_to_merge", old.clone()));
    assert_eq!((text(&floor.status("eve"), "/status"), head(&tree(&floor, "eve"))), ("idle", old.clone()));
    // Only the first commit was picked.
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_landed(&floor, "adam", &old, "");
    assert_eq!(floor.app.git(&["diff", "--name-status", &old, "main"]), "A\tb\n");
}

#[test]
fn the_whole_cycle_works_in_paths_with_special_characters() {
    let w = World::new();
    which("tmux");
    let app = w.repo("so urce; $(x) 'é");
    app.commit("README.md", "app\n");
    let root = w.at(w.home("my \"work\"; ers ü"));
    let place = root.path.to_str().unwrap().to_owned();
    app.run("worker-ctl", &["init", "--source", ".", "--target", &place]).succeeds();
    let agent = built("agent");
    let log = w.home("prompts.jsonl");
    let table = format!(
        "\n[agents.scripted]\ncommand = [\"env\", \"SCRIPTED_LOG={}\", {agent:?}]\nready = {{ pattern = \"^>\" }}\n",
        log.display()
    );
    let config = root.read("config.toml").replace("agent = \"claude\"", "agent = \"scripted\"");
    root.write("config.toml", &(config + &table));
    let floor = Floor { app, root };
    floor.ctl(&["add", "adam"]).succeeds();
    floor.root.run_with("worker-ctl", &["up", "--detach"], &LATER).succeeds();
    wait_for(|| text(&floor.status("adam"), "/status") == "idle");
    let is_done = || drop(floor.ctl(&["wait", "adam", "--for", "needs_review", "--timeout", "60s"]).succeeds());
    floor.ctl(&["start", "--prompt", "COMMIT a.txt one Write a"]).succeeds();
    is_done();
    assert!(floor.prompts()[0].contains(&format!("{place}/.worktrees/adam")), "{:?}", floor.prompts());
    floor.ctl(&["review", "adam"]).exit(0).out_has("+one");
    floor.ctl(&["reject", "AMEND a.txt two"]).succeeds();
    is_done();
    let old = tip(&floor);
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_landed(&floor, "adam", &old, "");
    assert_eq!(floor.app.read("a.txt"), "two\n");
    floor.ctl(&["down"]).succeeds();
    floor.ctl(&["up", "adam"]).succeeds();
    assert_eq!(text(&floor.status("adam"), "/status"), "idle");
    floor.ctl(&["nuke", "adam", "--yes"]).succeeds();
    assert!(!floor.root.has(".worktrees/adam"));
    assert_eq!(floor.root.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn accept_refuses_commits_after_the_review_without_force() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let adam = by_hand(&floor, "adam", &[("a", "1\n")]);
    floor.ctl(&["review", "adam"]).succeeds();
    adam.commit("b", "2\n");
    floor.ctl(&["patrol"]).succeeds().any_err();
    assert_changed(&floor, "adam");
    let old = tip(&floor);
    floor.ctl(&["accept", "adam", "--force"]).succeeds();
    assert_landed(&floor, "adam", &old, "forced");
    assert_eq!(floor.app.read("a") + &floor.app.read("b"), "1\n2\n");
}

#[test]
fn changes_of_white_space_and_of_binaries_undo_a_review() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    for (name, [one, two, three]) in [
        ("adam", ["if x:\n\ty\n", "if x:\n  y\n", "if x:\n    y\n"]),
        ("eve", ["\0\u{1}one\n", "\0\u{1}two\n", "\0\u{1}three\n"]),
    ] {
        let at = by_hand(&floor, name, &[(name, one)]);
        let amend = |text: &str| {
            at.write(name, text);
            at.git(&["add", name]);
            at.git(&["commit", "-q", "--amend", "--no-edit"]);
        };
        floor.ctl(&["review", name]).succeeds();
        floor.ctl(&["reject", "not so"]).succeeds();
        amend(two);
        // A dry run judges by what is there, too.
        floor.ctl(&["accept", name, "-n"]).exit(0).any_err().out_has("would put");
        floor.until(name, "needs_review");
        floor.ctl(&["review", name]).succeeds();
        amend(three);
        floor.ctl(&["accept", name, "-n"]).exit(1).err_has("changed since it was reviewed");
        floor.ctl(&["patrol"]).succeeds().any_err();
        assert_changed(&floor, name);
        floor.ctl(&["review", name]).succeeds();
        let old = tip(&floor);
        floor.ctl(&["accept"]).succeeds();
        assert_landed(&floor, name, &old, name);
        assert_eq!(floor.app.read(name), three);
    }
}

#[test]
fn review_shows_the_diff_with_git_difftastic_or_vscode() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    work(&floor, "adam", "COMMIT README.md mine Change it");
    let review = |args: &[&str]| floor.ctl(&[&["review", "adam"][..], args].concat());
    if find("difft").is_none() {
        review(&[]).exit(0).out_has("+mine");
        review(&["--interface", "difftastic"]).exit(4).err_has("difft");
    }
    if find("code").is_none() {
        review(&["--interface", "vscode"]).exit(4).err_has("code");
    }
    let [difft, code] = ["difft.argv", "code.argv"].map(|name| w.home(name));
    w.program("difft", &format!("printf '%s\\n' \"$@\" >> '{}'\necho shown by difft", difft.display()));
    w.program("code", &format!("{{ printf '%s\\n' \"$1\" \"$2\"; cat \"$3\" \"$4\"; }} > '{}'", code.display()));
    review(&[]).exit(0).out_has("shown by difft");
    review(&["--interface", "difftastic"]).exit(0).out_has("shown by difft");
    let by_git = review(&["--interface", "git"]).exit(0);
    assert!(by_git.stdout.contains("+mine") && !by_git.stdout.contains("shown by difft"), "{by_git:?}");
    let argv = std::fs::read_to_string(difft).unwrap();
    assert_eq!(argv.lines().filter(|line| *line == "README.md").count(), 2, "{argv}");
    review(&["--interface", "vscode"]).exit(0).out_has("Commit: ");
    assert_eq!(std::fs::read_to_string(code).unwrap(), "--wait\n--diff\napp\nmine\n");
    // It says why git cannot show it.
    let git = which("git");
    let fails = "case \" $* \" in *' --diff-algorithm=myers '*) echo 'fatal: no room' >&2; exit 128;; esac";
    w.program("git", &format!("{fails}\nexec '{}' \"$@\"", git.display()));
    review(&[]).exit(4).err_has("fatal: no room");
}

/// git's own clean-up follows links that agents can put among the records of worktrees.
#[test]
fn accept_starts_no_clean_up_of_git() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    work(&floor, "adam", "COMMIT a.txt one Write a");
    floor.ctl(&["review", "adam"]).succeeds();
    let Some((_, started)) = traced(&floor.root, "execve", "worker-ctl", &["accept", "adam"]) else { return };
    assert!(started.iter().any(|line| line.contains("\"fetch\"")), "{started:?}");
    let cleaning: Vec<&String> =
        started.iter().filter(|l| l.contains("\"maintenance\"") || l.contains("\"gc\"")).collect();
    assert!(cleaning.is_empty(), "{cleaning:?}");
}
