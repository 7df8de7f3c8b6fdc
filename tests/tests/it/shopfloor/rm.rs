//! Removals of several agents.

use crate::support::floor::Floor;
use crate::support::world::{World, text, write};

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
