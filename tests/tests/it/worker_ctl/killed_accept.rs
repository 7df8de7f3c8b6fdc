//! worker-ctl: an accept that is killed anywhere is finished or undone by the next command.

use std::cell::{Cell, RefCell};

use crate::support::floor::Floor;
use crate::support::sweep::{assert_often, sweep_tool};
use crate::support::worker::{assert_landed, commit, deadly_git, floor, tip, tree};
use crate::support::world::{World, text};

/// Makes work number `n` wait for review. Returns the source's tip before it lands.
fn waiting(floor: &Floor<'_>, n: usize) -> String {
    floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).exit(0);
    let file = format!("f{n}");
    commit(&tree(floor, "adam"), &file, &[file.as_str()], "x\n");
    floor.until("adam", "needs_review");
    tip(floor)
}

/// Runs the next command and requires that the work has landed once. For odd `n` that is a patrol, which may find that
/// nothing has landed yet; for even `n` it is another accept.
#[track_caller]
fn assert_finished(floor: &Floor<'_>, old: &str, n: usize, when: &str) {
    if n % 2 == 1 {
        let next = floor.ctl(&["patrol"]);
        assert_eq!(next.status, Some(0), "{when}: {next:?}");
        if text(&floor.status("adam"), "/task") == "needs_review" {
            assert_eq!(tip(floor), old, "{when}");
            floor.ctl(&["accept", "adam"]).exit(0);
        }
    } else {
        // If the killed accept had landed the work, the worker is idle and there is nothing to accept.
        let next = floor.ctl(&["accept", "adam"]);
        assert!(matches!(next.status, Some(0 | 1)), "{when}: {next:?}");
    }
    assert_landed(floor, "adam", old, when);
    assert_eq!(floor.app.read(&format!("f{n}")), "x\n", "{when}");
    assert_eq!(floor.app.git(&["status", "--porcelain"]), "", "{when}");
}

/// Kills an accept around each of its git commands. `prepare` and `verify` get the number of the work. Returns the
/// number of kills.
fn sweep_git(floor: &Floor<'_>, prepare: impl Fn(usize) -> String, verify: impl Fn(&str, usize, &str)) -> usize {
    let (mut n, mut kills) = (0, 0);
    for when in ["before", "after"] {
        for nth in 1.. {
            n += 1;
            let old = prepare(n);
            let _ = std::fs::remove_file(floor.root.world.path("count"));
            let nth = nth.to_string();
            let vars = [("KILL_AT", nth.as_str()), ("KILL_WHEN", when)];
            let killed = floor.root.run_with("worker-ctl", &["accept", "adam"], &vars).status.is_none();
            verify(&old, n, &format!("{when} git command {nth}"));
            if !killed {
                break;
            }
            kills += 1;
        }
    }
    kills
}

#[test]
fn an_accept_killed_at_any_write_lands_once() {
    let w = World::new();
    let floor = floor(&w);
    let (n, old) = (Cell::new(0), RefCell::new(String::new()));
    let prepare = |_: &str| {
        n.set(n.get() + 1);
        *old.borrow_mut() = waiting(&floor, n.get());
        floor.root.clone()
    };
    let kills = sweep_tool("worker-ctl", prepare, &["accept", "adam"], |_, when| {
        assert_finished(&floor, &old.borrow(), n.get(), when);
    });
    assert_often(kills, 15);
}

#[test]
fn an_accept_killed_around_any_git_command_lands_once() {
    let w = World::new();
    let floor = floor(&w);
    deadly_git(&w);
    let verify = |old: &str, n: usize, when: &str| assert_finished(&floor, old, n, when);
    let kills = sweep_git(&floor, |n| waiting(&floor, n), verify);
    assert!(kills >= 10, "only {kills} kills");
}

#[test]
fn an_accept_killed_with_nothing_to_merge_leaves_the_worker_idle() {
    let w = World::new();
    let floor = floor(&w);
    deadly_git(&w);
    let prepare = |n: usize| {
        waiting(&floor, n);
        floor.app.commit(&format!("f{n}"), "x\n");
        tip(&floor)
    };
    let verify = |old: &str, _: usize, when: &str| {
        let next = floor.ctl(&["accept", "adam"]);
        assert!(matches!(next.status, Some(0 | 1)), "{when}: {next:?}");
        let worker = floor.status("adam");
        assert_eq!((text(&worker, "/task"), tip(&floor).as_str()), ("idle", old), "{when}: {next:?}");
    };
    let kills = sweep_git(&floor, prepare, verify);
    assert!(kills >= 2, "only {kills} kills");
}
