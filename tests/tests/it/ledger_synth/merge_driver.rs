//! What the merge driver makes of what is not simply a merge of two branches.

use crate::support::ledger::{CURRENT, commit_all, section};
use crate::support::world::{Repo, World, git_version};

/// A repository whose ledger is set up, and empty.
fn installed(w: &World) -> Repo<'_> {
    let app = w.app();
    app.ledger(&["install"]).succeeds();
    commit_all(&app);
    app
}

fn leave_word(app: &Repo<'_>, who: &str) {
    app.ledger(&["add", "--agent", who, "--done", who, "--synth", "--commit"]).succeeds();
}

/// What was done, in a commit whose page is fresh. An older git does not tell the driver for what it calls it, so the
/// ledger must be committed afterwards, as the guide says.
fn done(app: &Repo<'_>) -> Vec<String> {
    if git_version(app) < (2, 44) {
        app.ledger(&["--no-confirm", "--commit"]).exit(0).any_out().any_err();
    }
    app.ledger(&["--check", "--tree", "HEAD"]).succeeds();
    section(&app.read(CURRENT), "This Session")
}

/// git first merges the two merge bases with each other, and calls the driver for that as well.
#[test]
fn a_merge_of_branches_that_merged_each_other_is_fresh() {
    let w = World::new();
    let app = installed(&w);
    leave_word(&app, "a");
    app.git(&["switch", "-q", "-c", "b", "HEAD^"]);
    leave_word(&app, "b");
    app.git(&["merge", "-q", "--no-edit", "main"]);
    app.git(&["switch", "-q", "main"]);
    app.git(&["merge", "-q", "--no-edit", "b^"]);
    leave_word(&app, "c");
    for [ours, theirs] in [["main", "b"], ["b", "main"]] {
        app.git(&["switch", "-q", "--detach", ours]);
        app.git(&["merge", "-q", "--no-edit", theirs]);
        assert_eq!(done(&app), ["- a", "- b", "- c"], "{theirs} into {ours}");
    }
}

#[test]
fn a_revert_takes_its_event_from_the_page() {
    let w = World::new();
    let app = installed(&w);
    ["one", "two", "three"].iter().for_each(|who| leave_word(&app, who));
    app.git(&["revert", "--no-edit", "HEAD^"]);
    assert_eq!(done(&app), ["- one", "- three"]);
}

/// The driver cannot read the events of the other side. git fetches them when it writes the merge.
#[test]
fn a_merge_in_a_partial_clone_names_one_next_step() {
    let w = World::new();
    let app = installed(&w);
    leave_word(&app, "a");
    app.git(&["config", "uploadpack.allowFilter", "true"]);
    app.sh("git clone -q --filter=blob:none file://$PWD ../partial").exit(0).any_err();
    let partial = w.at(app.path.parent().unwrap().join("partial"));
    partial.ledger(&["install"]).succeeds();
    leave_word(&partial, "b");
    leave_word(&app, "c");
    let out = partial.run("git", &["pull", "-q", "--no-rebase", "--no-edit"]).exit(0).any_out();
    out.err_has("kept our side of the ledger for now; run `ledger-synth --yes --commit` once git is done");
    assert!(!out.stderr.contains("hint: "), "{out}");
    partial.ledger(&["--yes", "--commit"]).exit(0).any_out();
    assert_eq!(done(&partial), ["- a", "- b", "- c"]);
}
