//! worker-ctl: worktrees of the person's own repository as workers.

use crate::support::floor::Floor;
use crate::support::worker::{by_hand, commit, event, head, hook, refused, tip, tree, up, work};
use crate::support::world::{Repo, World, text, wait_for, which};

/// A directory beside a repository.
fn beside<'w>(app: &Repo<'w>, name: &str) -> Repo<'w> {
    app.world.at(app.path.with_file_name(name))
}

#[test]
fn a_worktree_of_a_spawned_agent_lives_the_life_of_a_worker() {
    let w = World::new();
    which("tmux");
    let app = w.app();
    app.commit("README.md", "app\n");
    let before = app.git(&["worktree", "list"]);
    // The pipeline of both tools: paths go in, paths come out.
    let path = app.sh("worktree-spawn subtree x | worker-ctl add --worktree -").exit(0).any_err().stdout.clone();
    let floor = Floor::of(app.clone(), &w);
    let at = w.at(path.trim_end());
    assert!(at.has("README.md") && app.git(&["worktree", "list"]) != before);
    let worker = floor.status("x");
    let of = |key: &str| text(&worker, key).to_owned();
    assert_eq!((of("/repo"), of("/branch"), of("/target")), ("own".into(), "main.x".into(), "main".into()));
    assert!(!floor.root.has(".git") && floor.root.read("owner.json").contains(&*app.path.to_string_lossy()));
    // Every verb in turn.
    up(&floor, &["x"]);
    work(&floor, "x", "COMMIT f one First");
    floor.ctl(&["review", "x"]).exit(0).out_has("Worker: x (scripted)").out_has("+one");
    floor.ctl(&["reject", "no\nCOMMIT f two Second"]).succeeds();
    floor.until("x", "needs_review");
    floor.ctl(&["message", "x", "go on"]).succeeds();
    wait_for(|| floor.prompts().last().is_some_and(|last| last == "go on"));
    app.commit("other", "theirs\n");
    floor.ctl(&["rebase", "x"]).exit(0).any_out();
    assert_eq!(at.git(&["merge-base", "HEAD", "main"]).trim_end(), tip(&floor));
    let old = tip(&floor);
    floor.ctl(&["review", "x"]).exit(0).any_err().any_out();
    let landed = floor.ctl(&["accept", "x"]).exit(0).any_err().stdout.trim_end().to_owned();
    assert_eq!((tip(&floor), app.git(&["rev-parse", "main~1"]).trim_end().to_owned()), (landed.clone(), old));
    // The checkout of the target moved along, and the agent's worktree is on what landed.
    assert_eq!(
        (app.read("f"), app.git(&["status", "--porcelain"]), head(&at)),
        ("two\n".into(), String::new(), landed)
    );
    assert_eq!(at.git(&["rev-parse", "--abbrev-ref", "HEAD"]), "main.x\n");
    assert_eq!(text(&floor.status("x"), "/task"), "idle");
    // A second task begins there.
    work(&floor, "x", "COMMIT g three Third");
    floor.ctl(&["accept", "x"]).exit(0).any_err().any_out();
    assert_eq!(app.read("g"), "three\n");
    floor.ctl(&["down"]).succeeds().any_err();
    // A state that is lost comes back, and the worktree is not made anew.
    std::fs::remove_file(floor.root.path.join("state.json")).unwrap();
    floor.ctl(&["doctor", "--rebuild", "--yes"]).any_status().any_out().any_err();
    assert_eq!((text(&floor.status("x"), "/repo"), text(&floor.status("x"), "/task")), ("own", "idle"));
    // It is forgotten, and the person's worktree and branch stay.
    floor.ctl(&["nuke", "x"]).exit(3).err_has("--yes");
    floor.ctl(&["nuke", "x", "--yes"]).exit(0).any_out();
    assert!(at.has("g") && app.git(&["branch", "--list", "main.x"]).contains("main.x"));
    assert_eq!(floor.ctl(&["status", "--json"]).exit(0).json()["workers"], serde_json::json!([]));
    assert!(!floor.root.read("config.toml").contains("[workers.x]"));
    assert_eq!(app.git(&["for-each-ref", "refs/shopfloor/review", "refs/shopfloor/accept", "refs/shopfloor/pre"]), "");
    floor.ctl(&["deinit", "--yes"]).exit(0).any_out().any_err();
    assert!(!floor.root.path.exists() && at.has("g"));
    std::fs::create_dir(&floor.root.path).unwrap();
}

#[test]
fn what_cannot_be_adopted_is_refused_and_nothing_changes() {
    let w = World::new();
    which("tmux");
    let app = w.app();
    app.commit("README.md", "app\n");
    let args = [&["-b", "feat"][..], &["--detach"], &["-b", "busy"], &["-b", "far"]];
    for (name, args) in ["feat", "loose", "busy", "far"].into_iter().zip(args) {
        app.git(&[&["worktree", "add", "-q"], args, &[&format!("../{name}")]].concat());
    }
    let other = w.repo("eng/repos/other");
    other.commit("o", "o\n");
    other.git(&["worktree", "add", "-q", "-b", "o2", "../o2"]);
    let busy = beside(&app, "busy");
    busy.run_with("git", &["rebase", "-q", "-i", "--root"], &[("GIT_SEQUENCE_EDITOR", "sed -i 1ibreak")])
        .exit(0)
        .any_err();
    let add = |args: &[&str], status: i32, says: &str| {
        app.run("worker-ctl", &[&["add"], args].concat()).exit(status).err_has(says);
        assert!(!w.home("workers").exists(), "{args:?}");
    };
    add(&["--worktree", "."], 2, "not the top of a linked worktree");
    add(&["--worktree", "../nowhere"], 2, "there is no worktree");
    add(&["--worktree", "../loose"], 2, "is on no branch");
    add(&["--worktree", "../busy"], 1, "is being rebased");
    app.sh("mv ../far ../away").exit(0);
    let away = beside(&app, "away").path;
    add(&["--worktree", "../away"], 2, &format!("tell git so: `git worktree repair {}`", away.display()));
    add(&["--worktree", "../feat/.git"], 2, "not the top of a linked worktree");
    let list = app.sh("printf '../feat\\n../loose\\n' | worker-ctl add --worktree -").exit(2);
    list.err_has("is on no branch");
    app.sh("printf '../feat\\n../o2\\n' | worker-ctl add --worktree -").exit(2).err_has("two repositories");
    assert!(!w.home("workers").exists());
    app.run("worker-ctl", &["add", "--worktree", "../feat", "-n"]).exit(0).out_has("would make a root");
    add(&["--worktree", "../feat", "--target", "none"], 2, "there is no branch `none`");
    add(&["--worktree", "../feat", "--agent", "none"], 2, "no command is configured");
    // From here on there is a root.
    app.run("worker-ctl", &["add", "--worktree", "../feat"]).succeeds().any_err();
    let again = app.run("worker-ctl", &["add", "--worktree", "../feat"]).exit(1);
    again.err_has("is the worker feat already");
    app.sh("echo ../feat | worker-ctl add --worktree -").exit(0).out_has("/feat");
    app.git(&["worktree", "add", "-q", "-b", "feat2", "../feat2"]);
    for (args, status, says) in [
        (&["feat", "--worktree", "../feat2"][..], 1, "the worker feat exists already"),
        (&["a b", "--worktree", "../feat2"], 2, "cannot be a worker's name"),
        (&["--worktree", "../feat2", "--target", "none"], 2, "there is no branch `none`"),
        (&["--worktree", "../feat2", "--target", "feat2"], 2, "is the branch that its work would land on"),
        (&["--worktree", "../feat2", "--agent", "none"], 2, "no command is configured"),
        (&["--root", "../other", "--worktree", "../feat2"], 2, "is not the root of this repository"),
    ] {
        app.run("worker-ctl", &[&["add"], args].concat()).exit(status).err_has(says);
    }
    let status = app.run("worker-ctl", &["status", "--json"]).exit(0).json();
    assert_eq!(status["workers"].as_array().unwrap().len(), 1);
    // A root's clone has workers of its own.
    other.run("worker-ctl", &["init"]).succeeds();
    other.run("worker-ctl", &["add", "eve"]).succeeds();
    let root = w.home("workers/other/.worktrees/eve");
    let eve = root.to_str().unwrap();
    app.run("worker-ctl", &["add", "--worktree", eve]).exit(2).err_has("is a worktree of a root's clone");
    w.at(w.home("workers/other")).git(&["worktree", "add", "-q", "-b", "plain", "../../plain", "origin/main"]);
    let plain = app.run("worker-ctl", &["add", "--worktree", w.home("plain").to_str().unwrap()]).exit(2);
    plain.err_has("is a worktree of a root's clone").err_has("`worker-ctl add NAME` makes a worker in the clone");
    // A name in another script, or with blanks, becomes one that works everywhere.
    app.git(&["worktree", "add", "-q", "-b", "feat3", "../feat three"]);
    app.run("worker-ctl", &["add", "--worktree", "../feat three"]).succeeds().any_err();
    assert!(app.run("worker-ctl", &["status"]).exit(0).stdout.contains("feat-three"));
}

#[test]
fn work_that_is_there_waits_for_review_and_a_clone_comes_with_the_first_other_worker() {
    let w = World::new();
    which("tmux");
    let app = w.app();
    app.commit("README.md", "app\n");
    app.git(&["worktree", "add", "-q", "-b", "feat", "../feat"]);
    let at = beside(&app, "feat");
    commit(&at, "Mine", &["m"], "mine\n");
    at.write("loose", "x\n");
    app.run("worker-ctl", &["add", "--worktree", "../feat"]).succeeds().any_err();
    let floor = Floor::of(app.clone(), &w);
    assert_eq!(text(&floor.status("feat"), "/task"), "needs_review");
    let dirty = floor.ctl(&["accept", "feat"]).exit(1);
    dirty.err_has("uncommitted changes").err_has("`worker-ctl up feat`, then `worker-ctl message feat 'Commit your");
    std::fs::remove_file(at.path.join("loose")).unwrap();
    floor.ctl(&["add", "adam"]).succeeds();
    assert!(floor.root.has(".git") && !floor.root.has("owner.json"));
    up(&floor, &["adam"]);
    by_hand(&floor, "adam", &[("a", "1\n")]);
    for name in ["feat", "adam"] {
        floor.ctl(&["review", name]).exit(0).any_out().any_err();
        floor.ctl(&["accept", name]).exit(0).any_out().any_err();
    }
    assert_eq!((app.read("m"), app.read("a")), ("mine\n".into(), "1\n".into()));
    floor.ctl(&["doctor"]).exit(0).any_out();
    floor.ctl(&["nuke", "--all", "--yes"]).exit(0).any_out();
    assert!(at.has("m") && !floor.root.has(".worktrees/adam"));
}

#[test]
fn a_reset_of_an_adopted_worktree_asks_and_goes_back_to_where_the_task_began() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let adam = tree(&floor, "adam");
    let began = head(&adam);
    up(&floor, &["adam"]);
    work(&floor, "adam", "COMMIT f one First");
    floor.app.commit("other", "theirs\n");
    assert_eq!(refused(&floor, &["reset", "adam"], 1), "unmerged");
    floor.ctl(&["reset", "adam", "--force"]).exit(3).err_has("nothing was reset");
    let kept = floor.ctl(&["reset", "adam", "--force", "--yes"]).exit(0).any_err().stdout.clone();
    assert_eq!((head(&adam), floor.app.git(&["show", &format!("{}:f", kept.trim())])), (began, "one\n".into()));
    // What a remote has is not taken back. What came from the target is nothing of the worker's.
    floor
        .app
        .sh("git init -q --bare ../remote.git && git remote add origin ../remote.git && git push -q origin main")
        .exit(0)
        .any_err();
    work(&floor, "adam", "COMMIT g two Second");
    floor.ctl(&["rebase", "adam"]).exit(0).any_out();
    floor.ctl(&["reset", "adam", "--force", "--yes"]).exit(0).any_out();
    work(&floor, "adam", "COMMIT h three Third");
    floor.app.git(&["push", "-q", "origin", "feature/adam"]);
    assert_eq!(refused(&floor, &["reset", "adam", "--yes", "--force"], 1), "pushed");
    floor.app.git(&["push", "-q", "origin", ":feature/adam"]);
    floor.ctl(&["reset", "adam", "--force", "--yes"]).exit(0).any_out();
    // A task on changes of the person's own only if that is meant; also what is only staged stays.
    adam.sh("echo staged > README.md && git add README.md").exit(0);
    adam.write("README.md", "mine\n");
    floor.ctl(&["start", "adam", "--task", "x"]).exit(1).err_has("uncommitted changes");
    floor.ctl(&["start", "adam", "--task", "x", "--force"]).succeeds();
    assert_eq!((adam.read("README.md"), adam.git(&["show", ":README.md"])), ("mine\n".into(), "staged\n".into()));
}

#[test]
fn a_worktree_in_a_bare_repository_is_guarded_like_any_other() {
    let w = World::new();
    which("tmux");
    let app = w.app();
    app.commit("README.md", "app\n");
    let bare = app.world.at(app.path.with_file_name("proj"));
    app.sh("git clone -q --bare . ../proj && git -C ../proj worktree add -q -b feat x").exit(0).any_err();
    let x = w.at(bare.path.join("x"));
    x.run("worker-ctl", &["add", "--worktree", "."]).succeeds().any_err();
    // The agent leads git into another repository.
    let other = w.repo("eng/repos/other");
    other.commit("o", "o\n");
    let old = head(&other);
    x.write(".git", &format!("gitdir: {}\n", other.path.join(".git").display()));
    let ctl = |args: &[&str]| bare.run("worker-ctl", args);
    ctl(&["doctor"]).exit(1).out_has("does not lead to");
    ctl(&["reset", "x", "--yes", "--force"]).exit(4).err_has("does not lead to");
    assert_eq!((head(&other), other.git(&["branch", "--list", "feat"])), (old, String::new()));
}

#[test]
fn a_worktree_that_was_deleted_is_told_as_that() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let adam = tree(&floor, "adam");
    adam.commit("f", "1\n");
    floor.ctl(&["patrol"]).succeeds().any_err();
    std::fs::remove_dir_all(&adam.path).unwrap();
    let told = floor.ctl(&["accept", "adam"]).exit(4).any_out();
    told.err_has("adam is not there").err_has(" worktree repair PLACE`");
    told.err_has("`worker-ctl nuke adam` forgets the worker");
    assert!(!told.stderr.contains("NAME"), "{told}");
    let kept = floor.app.shopfloor(&["rm", "adam"]).exit(1).any_out();
    assert!(kept.stderr.contains("its worktree is gone") && !kept.stderr.contains("shopfloor land"), "{kept}");
}

#[test]
fn no_worker_is_forgotten_while_only_its_review_names_its_work() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam", "eve", "noah"]);
    let app = &floor.app;
    let shas = ["adam", "eve", "noah"].map(|name| {
        let at = tree(&floor, name);
        commit(&at, "Mine", &[name], "x\n");
        floor.ctl(&["patrol"]).succeeds().any_err();
        floor.ctl(&["review", name]).exit(0).any_out().any_err();
        head(&at)
    });
    app.git(&["worktree", "remove", "--force", "../adam"]);
    app.git(&["branch", "-q", "-D", "feature/adam"]);
    app.git(&["update-ref", "-d", "refs/heads/feature/eve"]);
    app.git(&["branch", "-m", "feature/noah", "other"]);
    for (name, sha) in ["adam", "eve"].into_iter().zip(&shas) {
        floor.ctl(&["nuke", name, "-n"]).exit(1).any_out().err_has("work that is nowhere else").err_has("Mine");
        assert_eq!(refused(&floor, &["nuke", name, "--yes"], 1), "unmerged");
        let would = floor.ctl(&["nuke", name, "-n", "--force"]).exit(0).any_err();
        would.out_has(&format!("would forget {name}, and keep 1 of its commits"));
        assert_eq!(would.stdout.contains("stay"), name == "eve", "{would}");
        let kept = floor.ctl(&["nuke", name, "--yes", "--force"]).exit(0).any_err().stdout.clone();
        app.git(&["merge-base", "--is-ancestor", sha, kept.trim()]);
        assert_eq!(app.git(&["show", &format!("{}:{name}", kept.trim())]), "x\n");
    }
    // A branch of another name has it.
    assert_eq!(floor.ctl(&["nuke", "noah", "--yes"]).exit(0).any_err().stdout, "removed noah\n");
    assert_eq!(app.git(&["for-each-ref", "refs/shopfloor/review"]), "");
}

#[test]
fn own_commits_land_as_they_are() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let (app, adam) = (&floor.app, tree(&floor, "adam"));
    floor.ctl(&["nuke", "adam", "--yes"]).exit(0).any_out();
    app.run("worker-ctl", &["add", "adam", "--worktree", "../adam", "--land", "commits", "--agent", "scripted"])
        .succeeds()
        .any_err();
    up(&floor, &["adam"]);
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds();
    for name in ["one", "two"] {
        commit(&adam, name, &[name], "x\n");
    }
    floor.until("adam", "needs_review");
    floor.ctl(&["review", "adam"]).exit(0).out_has("Lands:  on main, as its own commits");
    floor.ctl(&["accept", "adam", "--message", "m"]).exit(2).err_has("keep their messages");
    // The branch has moved on: they are put on it first.
    app.commit("other", "theirs\n");
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    assert_eq!(app.git(&["log", "-3", "--format=%s"]), "two\none\nother\n");
    assert_eq!((head(&adam), text(&floor.status("adam"), "/task").to_owned()), (tip(&floor), "idle".into()));
    // Nobody has reviewed the next one, which is said once.
    commit(&adam, "three", &["three"], "x\n");
    app.commit("more", "theirs\n");
    let landed = floor.ctl(&["accept", "adam"]).exit(0).any_out();
    assert_eq!(landed.stderr.matches("was not reviewed").count(), 1, "{landed}");
    // A merge is no line of commits.
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds();
    adam.sh("git checkout -q -b side && git commit -q --allow-empty -m side && git checkout -q - && echo z > z && git add z && git commit -q -m z && git merge -q side").exit(0).any_out().any_err();
    floor.until("adam", "needs_review");
    floor.ctl(&["accept", "adam"]).exit(1).any_out().err_has("has merges").err_has("--land squash");
    floor.ctl(&["accept", "adam", "--land", "squash"]).exit(0).any_out().any_err();
    assert_eq!(app.read("z"), "z\n");
}

#[test]
fn a_root_whose_clone_was_not_finished_goes_on() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    // As `add NAME` leaves it if it is killed.
    floor.root.git(&["init", "-q", "."]);
    assert_eq!(text(&floor.status("adam"), "/repo"), "own");
    floor.ctl(&["add", "eve", "-n"]).exit(0).out_has("would make the clone");
    floor.ctl(&["add", "eve"]).succeeds();
    floor.ctl(&["status"]).exit(0).out_has("eve");
    // A worktree that git moves takes its worker along, also where nobody has patrolled since.
    floor.app.git(&["worktree", "move", "../adam", "../moved"]);
    for name in ["adam", "../moved"] {
        floor.app.shopfloor(&["go", name]).exit(0).out_has("/moved");
        floor.app.shopfloor(&["stop", name]).exit(0).any_out().any_err();
        floor.app.shopfloor(&["rm", name]).exit(1).err_has("was moved to").err_has("`shopfloor patrol`");
    }
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    assert!(floor.root.read("state.json").contains("/moved\""));
    // Also one that is on another branch than its worker's, or on none.
    for (from, to, how) in [("moved", "side", "-bside"), ("side", "none", "--detach")] {
        beside(&floor.app, from).git(&["checkout", "-q", how]);
        floor.app.git(&["worktree", "move", &format!("../{from}"), &format!("../{to}")]);
        floor.ctl(&["patrol"]).exit(0).any_out().any_err();
        assert!(floor.root.read("state.json").contains(&format!("/{to}\"")), "{how}");
    }
    // A target that is gone stops nobody else.
    floor.app.git(&["branch", "gone"]);
    floor.app.git(&["worktree", "add", "-q", "-b", "noah", "../noah"]);
    commit(&beside(&floor.app, "noah"), "Mine", &["n"], "n\n");
    let noah = ["add", "--worktree", "../noah", "--target", "gone", "--agent", "scripted"];
    floor.app.run("worker-ctl", &noah).succeeds().any_err();
    floor.app.git(&["branch", "-q", "-D", "gone"]);
    floor.ctl(&["patrol"]).exit(0).any_out().err_has("noah: ").err_has("no branch gone");
}

#[test]
fn the_checkout_of_the_target_moves_only_where_nothing_is_in_the_way() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let app = &floor.app;
    up(&floor, &["adam"]);
    let unrelated: (&str, &str) =
        ("echo x > loose && echo y >> other && git add other", "rm loose; git checkout -q HEAD -- other");
    app.commit("other", "o\n");
    for (n, (dirt, clean, status, says)) in [
        ("true", "true", 0, ""),
        (unrelated.0, unrelated.1, 0, ""),
        ("echo mine > README.md", "git checkout -q README.md", 1, "changes in the way"),
        ("echo mine > README.md && git add README.md", "git reset -q --hard", 1, "changes in the way"),
        ("touch .git/index.lock", "rm .git/index.lock", 75, "another git works in"),
        ("GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i HEAD~1", "git rebase --abort", 1, "is being rebased"),
    ]
    .into_iter()
    .enumerate()
    {
        work(&floor, "adam", &format!("COMMIT README.md {n} Work"));
        app.sh(dirt).exit(0).any_out().any_err();
        let old = tip(&floor);
        floor.ctl(&["accept", "adam"]).exit(status).any_out().err_has(says);
        if status != 0 {
            assert_eq!(tip(&floor), old, "{dirt}");
            app.sh(clean).exit(0).any_out().any_err();
            floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
        }
        assert_eq!(app.read("README.md"), format!("{n}\n"), "{dirt}");
        if status == 0 {
            app.sh(clean).exit(0).any_out().any_err();
        }
    }
}

#[test]
fn a_program_that_already_runs_there_is_left_alone() {
    let w = World::new();
    which("tmux");
    let app = w.app();
    app.commit("README.md", "app\n");
    app.git(&["worktree", "add", "-q", "-b", "feat", "../feat"]);
    let at = beside(&app, "feat");
    // A program called claude, which waits.
    app.run("cp", &[which("sleep").to_str().unwrap(), w.home("claude").to_str().unwrap()]).exit(0);
    let mut running = w.command(w.home("claude")).arg("600").current_dir(&at.path).spawn().unwrap();
    app.run("worker-ctl", &["add", "--worktree", "../feat"]).exit(0).any_out().err_has("claude runs in");
    let floor = Floor::of(app.clone(), &w);
    floor.ctl(&["up", "feat"]).exit(1).err_has("was not started here");
    running.kill().unwrap();
    running.wait().unwrap();
    floor.ctl(&["up", "feat"]).succeeds().any_err();
}

#[test]
fn a_worktree_is_removed_once_nobody_works_there_and_its_worker_is_forgotten() {
    let w = World::new();
    which("tmux");
    let app = w.app();
    app.commit("README.md", "app\n");
    app.sh("worktree-spawn subtree x | worker-ctl add --worktree -").exit(0).any_out().any_err();
    let floor = Floor::of(app.clone(), &w);
    up(&floor, &["x"]);
    app.spawn(&["remove", "x"]).exit(1).err_has("main.x is running").err_has("worker-ctl down");
    work(&floor, "x", "COMMIT f one First");
    floor.ctl(&["down"]).succeeds().any_err();
    app.spawn(&["remove", "x"]).exit(1).err_has("its work waits for a review");
    floor.ctl(&["hook", "run", "pre-remove", app.path.to_str().unwrap()]).succeeds();
    floor.ctl(&["hook", "run"]).exit(2).err_has("`hook run` is for `pre-remove`");
    floor.ctl(&["accept", "x"]).exit(0).any_out().any_err();
    // Who sees it while it is being removed tells of no fault.
    let (path, aside) = (".shopfloor/worktrees/x", ".shopfloor/worktrees/.shopfloor-tmp-x");
    app.git(&["worktree", "move", path, aside]);
    floor.ctl(&["patrol"]).succeeds();
    assert!(floor.status("x")["fault"].is_null() && text(&floor.status("x"), "/worktree").ends_with(path));
    app.git(&["worktree", "move", aside, path]);
    app.spawn(&["remove", "x"]).succeeds().any_err();
    floor.ctl(&["patrol", "--sessions"]).succeeds();
    assert!(floor.status("x")["fault"].is_null());
    floor.ctl(&["patrol"]).exit(0).any_out().err_has("x is forgotten");
    assert_eq!(floor.ctl(&["status", "--json"]).exit(0).json()["workers"], serde_json::json!([]));
}

#[test]
fn a_persons_own_commits_and_branches_are_theirs() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let (app, adam) = (&floor.app, tree(&floor, "adam"));
    up(&floor, &["adam"]);
    // What they commit while nobody has a task there waits for a review once it is adopted again.
    commit(&adam, "Mine", &["m"], "m\n");
    floor.ctl(&["start", "adam", "--task", "x"]).exit(1).err_has("have not landed").err_has("add adam --worktree");
    // What has landed as another commit is kept.
    let own = head(&adam);
    app.git(&["merge", "-q", "--squash", "feature/adam"]);
    app.git(&["commit", "-q", "-m", "Squashed"]);
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds();
    assert_eq!(app.git(&["for-each-ref", "--format=%(objectname)", "refs/shopfloor/accepted/"]).trim_end(), own);
    floor.ctl(&["reset", "adam", "--yes"]).exit(0).any_out();
    // A branch that they rename is not made again.
    adam.git(&["branch", "-m", "renamed"]);
    floor.ctl(&["start", "adam", "--task", "think"]).exit(1).err_has("the branch feature/adam of adam was deleted");
    assert_eq!(app.git(&["branch", "--list", "feature/adam"]), "");
    adam.git(&["branch", "-m", "feature/adam"]);
    // One worktree has one worker, whichever root it is of.
    let second = w.home("second");
    app.run("worker-ctl", &["init", "--target", second.to_str().unwrap()]).succeeds().any_err();
    let again = app.run("worker-ctl", &["add", "--worktree", "../adam"]).exit(1);
    again.err_has("is the worker adam of another root");
    // What is merged by hand needs no other review.
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds();
    commit(&adam, "Work", &["n"], "n\n");
    floor.until("adam", "needs_review");
    floor.ctl(&["review", "adam"]).exit(0).any_out();
    app.git(&["merge", "-q", "feature/adam"]);
    floor.ctl(&["accept"]).exit(0).err_has("there is nothing to merge");
}

#[test]
fn what_a_child_lands_on_its_parents_branch_is_not_the_parents_work() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let (app, adam) = (&floor.app, tree(&floor, "adam"));
    for child in ["eve", "noah"] {
        let path = format!("../{child}");
        app.git(&["worktree", "add", "-q", "-b", child, &path, "feature/adam"]);
        let add = ["add", "--worktree", path.as_str(), "--target", "feature/adam", "--agent", "scripted"];
        app.run("worker-ctl", &add).succeeds().any_err();
    }
    up(&floor, &["adam", "eve", "noah"]);
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds();
    work(&floor, "eve", "COMMIT e one Hers");
    work(&floor, "noah", "COMMIT n two His");
    // Nothing is put under the hands of a parent that is at work.
    hook(&floor, "adam", &event("UserPromptSubmit"));
    assert_eq!(refused(&floor, &["accept", "eve"], 1), "busy");
    hook(&floor, "adam", &event("Stop"));
    floor.ctl(&["accept", "eve"]).exit(0).any_out().any_err();
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    assert_eq!((adam.read("e"), text(&floor.status("adam"), "/task").to_owned()), ("one\n".into(), "working".into()));
    hook(&floor, "adam", &event("UserPromptSubmit"));
    let shown = app.shopfloor(&["status"]).any_status().any_err();
    assert!(shown.stdout.contains("working, busy") && !shown.stdout.contains("nobody looks"), "{shown}");
    hook(&floor, "adam", &event("Stop"));
    // Its own commit is its work.
    commit(&adam, "Mine", &["a"], "a\n");
    floor.until("adam", "needs_review");
    floor.ctl(&["review", "adam"]).exit(0).any_out();
    // What lands then is not what was reviewed.
    floor.ctl(&["accept", "noah"]).exit(0).any_out().any_err();
    assert_eq!(refused(&floor, &["accept", "adam"], 1), "changed");
    floor.ctl(&["review", "adam"]).exit(0).out_has("waits with it");
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    assert_eq!((app.read("e"), app.read("n"), app.read("a")), ("one\n".into(), "two\n".into(), "a\n".into()));
}
