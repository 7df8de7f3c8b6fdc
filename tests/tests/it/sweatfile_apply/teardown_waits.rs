//! Teardown beside a set-up that still runs, without a record of it, and with files that nobody has approved.

use std::process::{Child, Stdio};

use crate::support::spawn;
use crate::support::world::{Repo, World, text, wait_for};

#[test]
fn nothing_is_torn_down_while_its_set_up_runs() {
    let w = World::new();
    w.area("setup = [\"touch ~/begun; read x < ~/gate; touch ~/up\"]\nteardown = [\"rm -f ~/up; touch ~/down\"]\n");
    let (app, home) = (w.app(), w.at(w.home("")));
    app.run("mkfifo", &[w.home("gate").to_str().unwrap()]).exit(0);
    let start = |at: &Repo<'_>, args: &[&str]| -> Child {
        let mut command = w.command(w.path("bin/sweatfile-apply"));
        command.args(args).current_dir(&at.path).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let begin = |at: &Repo<'_>| {
        let child = start(at, &[]);
        wait_for(|| home.has("begun"));
        std::fs::remove_file(w.home("begun")).unwrap();
        child
    };
    let open = || drop(home.sh("echo > gate").exit(0));
    let one = app.worktree("one");
    let (mut set_up, mut remove) = (begin(&one), start(&one, &["remove"]));
    open();
    assert!(set_up.wait().unwrap().success() && remove.wait().unwrap().success());
    assert!(home.has("down") && !home.has("up"));
    // Also if the worktree goes meanwhile.
    let two = app.worktree("two");
    let mut set_up = begin(&two);
    std::fs::remove_dir_all(&two.path).unwrap();
    app.git(&["worktree", "prune"]);
    app.apply(&["sweep"]).exit(1).out_has("its set-up still runs");
    open();
    set_up.wait().unwrap();
    assert!(home.has("up"));
    app.apply(&["sweep"]).exit(0).any_err().out_has("ran");
    assert!(!home.has("up"));
    // The hook ends it first.
    let three = app.worktree("three");
    let mut set_up = begin(&three);
    three.apply(&["hook", "run", "pre-remove", "."]).exit(0).any_out().err_has("ended");
    assert!(!set_up.wait().unwrap().success() && !home.has("up"));
}

#[test]
fn nothing_is_torn_down_while_a_step_of_its_set_up_runs_in_the_background() {
    let w = World::new();
    let step = "{ run = \"touch ~/begun; read x < ~/gate; touch ~/up\", background = true }";
    w.area(&format!("setup = [{step}]\nteardown = [\"rm -f ~/up; touch ~/down\"]\n"));
    let (app, home) = (w.app(), w.at(w.home("")));
    app.run("mkfifo", &[w.home("gate").to_str().unwrap()]).exit(0);
    app.worktree("wt").apply(&[]).succeeds().any_err();
    // Where the worktree goes before the step has begun, the step does not begin.
    wait_for(|| home.has("begun"));
    app.git(&["worktree", "remove", "--force", "../wt"]);
    app.apply(&["sweep"]).exit(1).out_has("its set-up still runs");
    home.sh("echo > gate").exit(0);
    wait_for(|| home.has("up"));
    wait_for(|| app.apply(&["sweep"]).exits_with(0));
    assert!(home.has("down") && !home.has("up"));
}

#[test]
fn without_a_record_of_the_teardown_no_command_runs_or_counts_as_run() {
    let w = World::new();
    w.area("setup = [\"touch ran\"]\nteardown = [\"true\"]\n");
    let app = w.app();
    w.at(w.home("")).write(".local/state/shopfloor/sweatfile-apply/teardown", "");
    let done = app.apply(&["--json"]).exit(4).any_err().json();
    assert_eq!(text(&done, "/setup/0/action"), "skipped", "{done}");
    app.apply(&[]).exit(4).any_err().out_has("skipped setup touch ran");
    assert!(!app.has("ran"));
}

#[test]
fn a_teardown_that_cannot_run_without_its_worktree_can_be_forgotten() {
    let w = World::new();
    let app = spawn::app(&w);
    app.approved(
        "git_excludes = [\"/out/\"]\nsetup = [\"mkdir -p out; echo true > out/stop.sh\"]\nteardown = [\"sh ./out/stop.sh\"]\n",
    );
    app.apply(&["hook", "install"]).exit(0).any_out().any_err();
    spawn::subtree(&app, &["one"]).write("out/stop.sh", "false\n");
    app.spawn(&["remove", "one"]).exit(0).any_out().err_has("nobody has approved out");
    app.apply(&["sweep"]).exit(4).any_out().err_has("`sweep --forget` gives up what fails then");
    let forgot = app.apply(&["sweep", "--forget"]).exit(0).any_err();
    forgot.out_has("forgot ").out_has("sh ./out/stop.sh (exit status ");
    app.apply(&["sweep", "-v"]).exit(0).any_out().err_has("nothing to do");
}

#[test]
fn a_teardown_that_cannot_be_recorded_as_begun_is_not_run_and_a_dry_run_says_so() {
    let w = World::new();
    w.area("teardown = [\"touch ~/down\"]\n");
    let wt = w.app().worktree("wt");
    wt.apply(&[]).succeeds();
    w.at(w.home(".local/state/shopfloor/sweatfile-apply/teardown")).sh("chmod 500 .").exit(0);
    for words in [&["hook"][..], &["-n", "hook"]] {
        let refused = wt.run_bound("sweatfile-apply", &[words, &["run", "pre-remove", "."]].concat()).exit(1);
        refused.any_out().err_has("sweatfile-apply/teardown").err_has("Permission denied");
    }
    assert!(!w.home("down").exists());
}
