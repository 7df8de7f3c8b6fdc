//! ledger-synth killed at every write: the ledger reads the same as without the kill.

use crate::support::ledger::{CURRENT, EVENTS, ROOT, event, field, synth};
use crate::support::sweep::{assert_often, sweep_tool};
use crate::support::world::{Repo, World};

fn fill(repo: &Repo<'_>, from: usize, to: usize) {
    for n in from..to {
        let body = format!(
            "now: n{n}\nthis_session:\n- item {n}\ndecisions:\n  k{}: v{n}\ncheckpoints:\n- phase: {n}\nopen_questions:\n- q{}\n{}",
            n % 2,
            n % 3,
            if n % 4 == 3 { "resolved:\n- q0\n" } else { "" }
        );
        event(repo, &format!("e{n}"), &format!("2026-01-{:02}T00:00:00Z", 1 + n % 3), ["a", "b"][n % 2], &body);
    }
}

/// Checks a ledger after a kill: nothing is lost, git sees no stray file, and the next command finishes the work.
fn assert_as_if_never_archived(repo: &Repo<'_>, want: &str, when: &str) {
    assert_eq!(repo.read(CURRENT), want, "before the next run, {when}");
    repo.ledger(&["--check"]).succeeds();
    assert_eq!(synth(repo), want, "{when}");
    let status = repo.git(&["status", "--porcelain", "-uall"]);
    assert!(!status.contains("shopfloor"), "{status} {when}");
    repo.ledger(&["archive"]).succeeds();
    assert_eq!(synth(repo), want, "{when}");
    let left = repo.sh(&format!("ls {EVENTS}")).exit(0).stdout;
    assert_eq!(left.lines().count(), 1, "{left} {when}");
    // Every original is in the archive, and prune finds all of them covered.
    let archived = repo.sh(&format!("find {ROOT}/archive -name 'e*.md'")).exit(0).stdout;
    assert_eq!(archived.lines().count().to_string(), field(want, "event_count"), "{when}");
    repo.ledger(&["prune", "--retention", "0"]).succeeds();
    assert_eq!(synth(repo), want, "{when}");
}

#[test]
fn killed_anywhere_in_archive_the_view_is_as_if_never_archived() {
    let w = World::new();
    let app = w.app();
    let prepare = |name: &str| {
        let wt = app.worktree(name);
        fill(&wt, 0, 16);
        synth(&wt);
        wt
    };
    let whole = prepare("whole");
    let want = whole.read(CURRENT);
    let kills = sweep_tool("ledger-synth", prepare, &["archive"], |wt, when| {
        assert_as_if_never_archived(wt, &want, when);
        app.git(&["worktree", "remove", "--force", wt.path.to_str().unwrap()]);
    });
    assert_often(kills, 25);
}

#[test]
fn killed_while_a_snapshot_is_folded_into_the_next_nothing_is_lost() {
    let w = World::new();
    let app = w.app();
    let prepare = |name: &str| {
        let wt = app.worktree(name);
        fill(&wt, 0, 3);
        wt.ledger(&["--archive", "--no-confirm"]).succeeds();
        fill(&wt, 3, 6);
        synth(&wt);
        wt
    };
    let plain = app.worktree("plain");
    fill(&plain, 0, 6);
    let want = synth(&plain);
    sweep_tool("ledger-synth", prepare, &["--archive", "--no-confirm"], |wt, when| {
        assert_as_if_never_archived(wt, &want, when);
        app.git(&["worktree", "remove", "--force", wt.path.to_str().unwrap()]);
    });
}

#[test]
fn killed_while_adding_an_event_is_there_whole_or_not_at_all() {
    let w = World::new();
    let app = w.app();
    let prepare = |name: &str| {
        let wt = app.worktree(name);
        fill(&wt, 0, 2);
        synth(&wt);
        wt
    };
    sweep_tool("ledger-synth", prepare, &["add", "--done", "a new thing", "--synth"], |wt, when| {
        let current = wt.read(CURRENT);
        assert!(current.starts_with("## Ledger\n") && current.ends_with("\n\n---\n"), "{current} {when}");
        let text = synth(wt);
        assert_eq!(field(&text, "skipped"), "0", "{when}");
        assert_eq!(text.contains("- a new thing\n"), field(&text, "event_count") == "3", "{text} {when}");
        wt.ledger(&["--check"]).succeeds();
        app.git(&["worktree", "remove", "--force", wt.path.to_str().unwrap()]);
    });
}
