//! `--check`: whether `current.md` matches its events.

use crate::support::ledger::{CURRENT, event, seed_event, synth, two_events};
use crate::support::world::World;

#[test]
fn check_works_in_a_read_only_checkout() {
    let w = World::new();
    let app = w.app();
    two_events(&app);
    synth(&app);
    app.sh("chmod -R a-w .").exit(0);
    app.run_bound("ledger-synth", &["--check"]).succeeds();
    app.run_bound("ledger-synth", &["--no-confirm"]).exit(4).any_err();
    app.sh("chmod -R u+w .").exit(0);
}

/// The name is a carrier only.
#[test]
fn an_event_may_have_any_name() {
    let w = World::new();
    let app = w.app();
    two_events(&app);
    synth(&app);
    app.ledger(&["check", "--strict"]).succeeds();
    assert_eq!(app.ledger(&["lint"]).exit(0).stdout, "");
}

/// Case 10 of the design.
#[test]
fn check_reports_what_is_stale_and_writes_nothing() {
    let w = World::new();
    let app = w.app();
    seed_event(&app);
    synth(&app);
    app.ledger(&["--check"]).succeeds();
    event(&app, "b", "2026-01-12T00:00:00Z", "b", "now: newer\n");
    let before = app.snapshot();
    let out = app.ledger(&["--check"]).exit(1);
    out.out_has("+**Now:** newer").err_has("run `ledger-synth --yes`");
    assert!(out.stdout.lines().count() <= 50);
    app.assert_untouched_since(&before);
    synth(&app);
    app.sh(&format!("sed -i 's/$/\\r/' {CURRENT}")).exit(0);
    app.ledger(&["--check"]).succeeds();
    app.ledger(&["-v", "--no-confirm"]).exit(0).err_has("is up to date");
    app.sh(&format!("sed -i 's/newer/edited/' {CURRENT}")).exit(0);
    app.ledger(&["--check"]).exit(1).any_out().err_has("it was edited by hand");
    app.sh(&format!("sed -i '1i <<<<<<< HEAD' {CURRENT}")).exit(0);
    app.ledger(&["--check"]).exit(1).any_out().err_has("git's conflict markers are in it");
    app.sh(&format!("rm {CURRENT}")).exit(0);
    app.ledger(&["--check"]).exit(1).any_out().err_has("it is missing");
}
