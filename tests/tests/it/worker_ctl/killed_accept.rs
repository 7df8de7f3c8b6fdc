//! worker-ctl: an accept that is killed anywhere has happened or has not; the next command finishes it.

use crate::support::worker::{adopted_floor, deadly_git, floor};
use std::cell::{Cell, RefCell};

use crate::support::floor::Floor;
use crate::support::sweep::{assert_often, sweep_git, sweep_tool};
use crate::support::worker::{assert_landed, commit, tip, tree};
use crate::support::world::{World, text, which};

/// Work number `n` waits; what the source is at before it lands.
fn waiting(floor: &Floor<'_>, n: usize) -> String {
    floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).succeeds();
    let file = format!("f{n}");
    commit(&tree(floor, "adam"), &file, &[file.as_str()], "x\n");
    floor.until("adam", "needs_review");
    tip(floor)
}

/// Half of the time a patrol comes next, which may find that nothing had happened yet, and half of the time another accept.
#[track_caller]
fn assert_finished(floor: &Floor<'_>, old: &str, n: usize, when: &str) {
    if n % 2 == 1 {
        let next = floor.ctl(&["patrol"]).any_status().any_out().any_err();
        assert_eq!(next.status, Some(0), "{when}: {next:?}");
        if text(&floor.status("adam"), "/task") == "needs_review" {
            assert_eq!(tip(floor), old, "{when}");
            floor.ctl(&["accept", "adam"]).succeeds();
        }
    } else {
        // What was killed had landed already: then it is idle, and there is nothing to accept.
        let next = floor.ctl(&["accept", "adam"]).any_status().any_out().any_err();
        assert!(matches!(*next.status, Some(0 | 1)), "{when}: {next:?}");
    }
    assert_landed(floor, "adam", old, when);
    assert_eq!(floor.app.read(&format!("f{n}")), "x\n", "{when}");
    assert_eq!(floor.app.git(&["status", "--porcelain"]), "", "{when}");
}

#[test]
fn an_accept_killed_at_any_write_lands_once() {
    let w = World::new();
    kill_at_writes(&floor(&w));
}

#[test]
fn an_accept_in_the_own_repository_killed_at_any_write_lands_once() {
    let w = World::new();
    kill_at_writes(&adopted_floor(&w));
}

fn kill_at_writes(floor: &Floor<'_>) {
    let (n, old) = (Cell::new(0), RefCell::new(String::new()));
    let prepare = |_: &str| {
        n.set(n.get() + 1);
        *old.borrow_mut() = waiting(floor, n.get());
        floor.root.clone()
    };
    let kills = sweep_tool("worker-ctl", prepare, &["accept", "adam"], |_, when| {
        assert_finished(floor, &old.borrow(), n.get(), when);
    });
    assert_often(kills, 15);
}

#[test]
fn an_accept_killed_around_any_git_command_lands_once() {
    let w = World::new();
    let kills = kill_around_git(&floor(&w));
    assert!(kills >= 10, "only {kills} kills");
}

#[test]
fn an_accept_in_the_own_repository_killed_around_any_git_command_lands_once() {
    let w = World::new();
    let kills = kill_around_git(&adopted_floor(&w));
    assert!(kills >= 6, "only {kills} kills");
}

fn kill_around_git(floor: &Floor<'_>) -> usize {
    deadly_git(floor.root.world);
    let (n, old) = (Cell::new(0), RefCell::new(String::new()));
    let prepare = || {
        n.set(n.get() + 1);
        *old.borrow_mut() = waiting(floor, n.get());
    };
    let verify = |when: &str| assert_finished(floor, &old.borrow(), n.get(), when);
    sweep_git(floor, prepare, &["accept", "adam"], verify)
}

#[test]
fn an_accept_killed_with_nothing_to_merge_leaves_the_worker_idle() {
    let w = World::new();
    let floor = floor(&w);
    deadly_git(&w);
    let (n, old) = (Cell::new(0), RefCell::new(String::new()));
    let prepare = || {
        n.set(n.get() + 1);
        waiting(&floor, n.get());
        floor.app.commit(&format!("f{}", n.get()), "x\n");
        *old.borrow_mut() = tip(&floor);
    };
    let verify = |when: &str| {
        let next = floor.ctl(&["accept", "adam"]).any_status().any_out().any_err();
        assert!(matches!(*next.status, Some(0 | 1)), "{when}: {next:?}");
        let worker = floor.status("adam");
        assert_eq!((text(&worker, "/task"), tip(&floor)), ("idle", old.borrow().clone()), "{when}: {next:?}");
    };
    let kills = sweep_git(&floor, prepare, &["accept", "adam"], verify);
    assert!(kills >= 2, "only {kills} kills");
}

#[test]
fn an_accept_whose_own_git_was_killed_is_finished_by_the_next_one() {
    let w = World::new();
    let floor = floor(&w);
    let old = waiting(&floor, 1);
    // It has moved the worktree, and cannot tell.
    let script = "'{git}' \"$@\" || exit\ncase \"$KILL $* \" in 'it '*' reset '*) kill -KILL $$ ;; esac";
    w.program("git", &script.replace("{git}", which("git").to_str().unwrap()));
    let killed = floor.root.run_with("worker-ctl", &["accept", "adam"], &[("KILL", "it")]).exit(4);
    killed.out_has(&tip(&floor)).err_has("not all is done").err_has("signal 9");
    assert_eq!(text(&floor.status("adam"), "/task"), "needs_review");
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_landed(&floor, "adam", &old, "after a kill of git");
    // Nobody has seen what it commits before that, and nobody is asked about it.
    waiting(&floor, 2);
    floor.root.run_with("worker-ctl", &["accept", "adam"], &[("KILL", "it")]).exit(4).any_out().any_err();
    let landed = tip(&floor);
    commit(&tree(&floor, "adam"), "unseen", &["unseen"], "x\n");
    let finished = floor.ctl(&["accept", "adam"]).exit(0);
    assert_eq!((&*finished.stdout, tip(&floor)), (&format!("{landed}\n"), landed.clone()));
    finished.err_has("adam has landed; what it has now waits for a review");
    assert_eq!(text(&floor.status("adam"), "/task"), "needs_review");
}
