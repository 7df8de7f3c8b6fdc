//! Removals of several agents.

use crate::support::floor::Floor;
use crate::support::host::{hire, hub, needs_sshd, row, work};
use crate::support::world::{World, text, which, write};

/// The error is the last line, so nothing goes after it.
#[test]
fn a_removal_of_several_ends_with_the_one_that_cannot_go() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam", "eve"]);
    let app = &floor.app;
    app.git(&["worktree", "lock", "../adam"]);
    let lines = app.shopfloor(&["rm", "adam", "eve", "--json"]).exit(1).any_err().json_lines();
    assert!(lines.len() == 1 && text(&lines[0], "/error/kind") == "locked", "{lines:?}");
    app.shopfloor(&["rm", "adam", "eve"]).exit(1).any_out().err_has("is locked").err_has("eve was not removed");
    app.git(&["worktree", "unlock", "../adam"]);
    let done = app.shopfloor(&["rm", "adam", "eve"]).exit(0);
    done.out_has("removed adam").out_has("removed eve").err_has("deleted the branch feature/adam, all of which");
}

#[test]
fn a_forced_removal_names_what_it_keeps_and_whom_it_removes() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "cm"]).succeeds();
    w.at(floor.root.path.join(".worktrees/cm")).commit("a.txt", "a\n");
    let removed = floor.app.shopfloor(&["rm", "cm", "--force"]).exit(0).any_err().stdout.clone();
    assert!(removed.starts_with("refs/shopfloor/trash/cm/") && removed.ends_with("\nremoved cm\n"), "{removed}");
}

#[test]
fn a_forced_removal_names_whom_it_removes_on_a_host() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, mut machines) = hub(&w, &["big"]);
    hire(&floor, "big:eve");
    work(&floor, "big:eve", "COMMIT a.txt one Add a");
    assert_eq!(row(&floor, "big:eve")["task"], "needs_review");
    machines[0].vanish();
    let refused = floor.app.shopfloor(&["rm", "big:eve", "--json"]).exit(4).any_err().json();
    assert_eq!(text(&refused, "/error/kind"), "unreachable");
    machines[0].come_back();
    let removed = floor.app.shopfloor(&["rm", "big:eve", "--force"]).exit(0).any_err().stdout.clone();
    assert!(removed.starts_with("refs/") && removed.ends_with("\nremoved big:eve\n"), "{removed}");
}

#[test]
fn a_forced_removal_that_cannot_keep_a_file_forgets_nothing() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let app = &floor.app;
    let p = w.at(app.spawn(&["subtree", "p"]).exit(0).any_err().stdout.trim_end());
    app.shopfloor(&["adopt", "--agent", "scripted", "p"]).exit(0).any_out().any_err();
    app.shopfloor(&["resume", "p"]).exit(0).any_out().any_err();
    app.shopfloor(&["start", "p", "COMMIT a.txt one Write a"]).exit(0).any_out().any_err();
    app.shopfloor(&["wait", "p", "--for", "needs_review"]).exit(0).any_out().any_err();
    p.sh("echo x > closed; chmod 0 closed").exit(0);
    let refused = app.run_bound("shopfloor", &["rm", "p", "--force"]).exit(4).any_out();
    refused.err_has("open(\"closed\")").err_has("`shopfloor resume p` starts it again");
    assert_eq!(text(&floor.status("p"), "/task"), "needs_review");
    p.sh("chmod 600 closed").exit(0);
    let removed = app.shopfloor(&["rm", "p", "--force"]).exit(0).any_out().any_err();
    assert!(!p.path.exists() && !removed.stderr.contains("waits for a review"), "{removed}");
    floor.ctl(&["resume", "p"]).exit(1).any_out().err_has("there is no worker `p`");
}

#[test]
fn a_tool_that_is_killed_is_named() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    w.program("worker-ctl", "kill -KILL $$");
    for args in [&["send", "adam", "hi"][..], &["rm", "adam"]] {
        let killed = floor.app.shopfloor(args).exit(4);
        killed.err_has("error: worker-ctl ended with signal 9").err_has("hint: run the same command again");
    }
}

/// A person made it, also where the branch is the same.
#[test]
fn a_worktree_at_the_place_of_one_that_is_gone_is_not_the_workers() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam", "eve", "noah"]);
    let app = &floor.app;
    for (name, away, add) in [
        ("adam", "remove --force ../adam", "-b mine ../adam"),
        ("eve", "move ../eve ../moved", "-b other ../eve"),
        ("noah", "remove --force ../noah", "../noah feature/noah"),
    ] {
        app.sh(&format!("git worktree {away} && git worktree add -q {add} && echo keep > ../{name}/own")).exit(0);
    }
    let all = ["adam", "eve", "noah"].map(|name| w.at(app.path.with_file_name(name)));
    let before = all.each_ref().map(|at| at.snapshot());
    for name in ["adam", "noah"] {
        let why = format!("{name} is another worktree than that of {name}, which is gone");
        for args in [&["rm", name][..], &["rm", name, "--force"]] {
            app.shopfloor(args).exit(4).any_out().err_has(&why);
        }
        for args in [
            &["reset", name, "--yes"][..],
            &["reset", name, "--yes", "--force"],
            &["nuke", name, "--worktree", "--yes", "--force"],
            &["up", name],
            &["start", name, "--task", "think"],
        ] {
            floor.ctl(args).exit(4).any_out().err_has(&why);
        }
        floor.ctl(&["doctor"]).exit(1).any_err().out_has(&why);
    }
    floor.ctl(&["reset", "eve", "--yes", "--force"]).exit(1).any_out().err_has("eve was moved to ");
    floor.ctl(&["resume", "adam"]).exit(1).any_out().err_has("adam is forgotten").err_has("there is no worker `adam`");
    assert!(text(&floor.status("eve"), "/worktree").ends_with("/moved"));
    assert_eq!(text(&floor.status("noah"), "/status"), "error");
    all.iter().zip(&before).for_each(|(at, before)| at.assert_untouched_since(before));
    assert_eq!(all[0].git(&["symbolic-ref", "HEAD"]), "refs/heads/mine\n");
    // Its branch is there, and a person says that it goes on there.
    app.run("worker-ctl", &["add", "--worktree", "../noah"]).succeeds().any_err();
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    assert_eq!(text(&floor.status("noah"), "/status"), "offline");
}

#[test]
fn a_worker_is_found_by_the_record_of_its_worktree() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam", "eve", "noah"]);
    let app = &floor.app;
    // Agents write another's path into their own records.
    app.git(&["worktree", "move", "../eve", "../zoe"]);
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    let records = ["adam", "noah"].map(|name| format!(".git/worktrees/{name}/gitdir"));
    let before = records.each_ref().map(|record| app.read(record));
    records.iter().for_each(|record| app.write(record, &app.read(".git/worktrees/eve/gitdir")));
    floor.ctl(&["reset", "eve", "--yes"]).exit(0).any_out();
    assert_eq!(text(&floor.status("eve"), "/status"), "offline");
    records.iter().zip(before).for_each(|(record, before)| app.write(record, &before));
    // The person moves one to the place of another.
    app.git(&["worktree", "remove", "--force", "../adam"]);
    app.git(&["worktree", "move", "../zoe", "../adam"]);
    app.run("worker-ctl", &["add", "--worktree", "../adam"]).succeeds().any_err();
    let eve = floor.status("eve");
    assert_eq!((text(&eve, "/branch"), text(&eve, "/status")), ("feature/eve", "offline"));
    assert!(text(&eve, "/worktree").ends_with("/adam"), "{eve}");
    assert_eq!(text(&floor.status("adam"), "/branch"), "feature/adam");
}

/// As the children of an agent do by default.
#[test]
fn what_lies_inside_of_another_worktree_goes_before_it() {
    let w = World::new();
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nmax_depth = 3\n");
    let floor = Floor::adopted(&w, &["adam"]);
    let app = &floor.app;
    for workers in [&["p", "c"][..], &["p"], &["c"]] {
        let p = w.at(app.spawn(&["subtree", "p"]).exit(0).any_err().stdout.trim_end());
        p.spawn(&["subtree", "c", "--base-dir", "inside"]).exit(0).any_out().any_err();
        for name in workers {
            app.shopfloor(&["adopt", "--agent", "scripted", name]).exit(0).any_out().any_err();
        }
        let would = app.shopfloor(&["rm", "-n", "p", "c"]).exit(0).any_err();
        would.out_has("would remove main.p at").out_has("would remove main.p.c at");
        app.shopfloor(&["rm", "p", "c"]).exit(0).any_out().any_err();
        assert!(!p.path.exists(), "{workers:?}");
    }
}

/// Also the reports to a worktree that a person made by hand.
#[test]
fn reports_are_named_with_whom_they_wait_for_and_taken_by_who_removes_the_agent() {
    let w = World::new();
    let app = w.repo("app");
    app.commit("README.md", "app\n");
    let own = app.worktree("own");
    let child = w.at(own.shopfloor(&["new", "k"]).exit(0).any_err().stdout.trim_end());
    child.spawn(&["notify", "failure", "no compiler here"]).exit(0).any_out().any_err();
    for place in [&app, &own] {
        let status = place.shopfloor(&["status"]).exit(0).any_err();
        status.out_has("EVENTS: reports of agents that nobody has read: `worktree-spawn wait --session own`");
    }
    own.shopfloor(&["rm", "k"]).exit(0).any_out().err_has("k reported failure: no compiler here");
    app.spawn(&["wait", "--session", "own", "--timeout", "0s"]).exit(124).any_err();
}

#[test]
fn reports_that_cannot_be_shown_go_on_waiting() {
    let w = World::new();
    let app = w.repo("app");
    app.commit("README.md", "app\n");
    for (at, stderr) in ["2> /dev/full", "2> /dev/null", "2>&-", "2< README.md", "2>&1 | true"].iter().enumerate() {
        let name = format!("k{at}");
        let child = w.at(app.shopfloor(&["new", &name]).exit(0).any_err().stdout.trim_end());
        child.spawn(&["notify", "failure", "no compiler here"]).exit(0).any_out().any_err();
        app.sh(&format!("shopfloor rm {name} {stderr}")).exit(0).any_out();
        assert!(!child.path.exists(), "{stderr}");
        assert_eq!(app.spawn(&["events"]).exit(0).json_lines().len(), at + 1, "{stderr}");
    }
}

/// An agent can write it.
#[test]
fn a_record_that_names_the_main_checkout_is_told_as_that() {
    let w = World::new();
    let app = w.repo("app");
    app.commit("README.md", "app\n");
    let child = w.at(app.shopfloor(&["new", "k"]).exit(0).any_err().stdout.trim_end());
    app.write(".git/worktrees/k/gitdir", &format!("{}/.git\n", app.path.display()));
    for tool in ["shopfloor rm", "worktree-spawn remove"] {
        let refused = app.sh(&format!("{tool} k --force")).exit(1).any_out();
        refused.err_has("git's record of main.k names the main checkout").err_has("`echo PLACE/.git > ");
    }
    app.write(".git/worktrees/k/gitdir", &format!("{}/.git\n", child.path.display()));
    app.shopfloor(&["rm", "k"]).exit(0).any_out().any_err();
    assert!(!child.path.exists() && app.has("README.md"));
}

#[test]
fn work_whose_landing_a_person_took_back_has_not_landed() {
    let w = World::new();
    which("tmux");
    let app = w.app();
    app.commit("README.md", "app\n");
    let a = w.at(app.shopfloor(&["new", "a"]).exit(0).any_err().stdout.trim_end());
    a.commit("one", "x\n");
    app.shopfloor(&["land", "a"]).exit(0).any_out().any_err();
    // The branch goes back, and then on without it; and then its log forgets that.
    let forget = "git reflog expire --expire-unreachable=now --all";
    for step in ["git reset -q --hard HEAD~1", "git commit -q --allow-empty -m later", forget] {
        app.sh(step).exit(0);
        app.shopfloor(&["status"]).any_status().any_err().out_has("1 ahead");
        app.shopfloor(&["rm", "a"]).exit(1).err_has("the work of a has not landed");
    }
    assert!(a.has("one"));
    // A landing that has become another commit is there, also under later changes.
    let rebase = "git switch -q -c up HEAD~1; git commit -q --allow-empty -m up; git switch -q main; git rebase -q up";
    for (name, step) in [("b", "git commit -q --amend -m reworded"), ("c", rebase)] {
        let tree = w.at(app.shopfloor(&["new", name]).exit(0).any_err().stdout.trim_end());
        tree.commit(name, "x\n");
        app.shopfloor(&["land", name]).exit(0).any_out().any_err();
        app.sh(&format!("set -e; {step}")).exit(0).any_err();
        app.commit(name, "later\n");
        app.shopfloor(&["rm", name]).exit(0).any_out().any_err();
        assert!(!tree.path.exists(), "{name}");
    }
}
