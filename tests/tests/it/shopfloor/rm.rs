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
