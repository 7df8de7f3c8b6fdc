//! Set-up and teardown of worktrees in which an agent has worked in a sandbox.

use crate::support::sandbox::works;
use crate::support::spawn;
use crate::support::world::World;

/// Set-up and teardown are the person's, and would run what the agent wrote.
#[test]
fn what_an_agent_wrote_in_its_sandbox_runs_in_no_set_up_and_no_teardown() {
    let w = World::new();
    if !works(&w) {
        return;
    }
    let app = spawn::app(&w);
    let inside = |line: &str| app.spawn(&["run", "main.feat", "--sandbox", "--", "bash", "-c", line]);
    app.commit("lib.sh", "true\n");
    app.commit("do.sh", ". ./lib.sh\n");
    let teardown = "['sh ./do.sh', 'true', 'echo down >> ~/down']";
    app.commit("sweatfile", &format!("template = true\nsetup = ['sh ./do.sh']\nteardown = {teardown}\n[env]\nPATH = '{{worktree}}:/usr/bin:/bin'\n"));
    app.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
    let feat = spawn::subtree(&app, &["feat"]);
    feat.apply(&[]).exit(0).any_out().any_err();
    inside("echo 'touch ~/escaped' > lib.sh; git commit -qam lib").succeeds();
    feat.apply(&["--setup-again"]).exit(3).any_out().err_has("has worked in").err_has("does not run outside");
    // What it wrote would be found by any command, so these wait until it is gone.
    inside("printf '#!/bin/sh\\ntouch ~/escaped\\n' > true; chmod +x true; git add true; git commit -qm true")
        .succeeds();
    app.spawn(&["remove", "feat", "--force"]).exit(0).any_out().err_has("not torn down").err_has("worked in a sandbox");
    app.apply(&["sweep"]).any_status().any_err().out_has("echo down");
    assert!(!w.home("escaped").exists());
    assert_eq!(std::fs::read_to_string(w.home("down")).unwrap(), "down\n");
}

#[test]
fn a_repository_that_moved_remembers_who_worked_in_a_sandbox() {
    let w = World::new();
    if !works(&w) {
        return;
    }
    let app = spawn::app(&w);
    app.commit("sweatfile", "setup = ['true']\n");
    app.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
    let feat = spawn::subtree(&app, &["feat"]);
    app.spawn(&["run", "main.feat", "--sandbox", "--", "sh", "-c", "echo mine > ~/kept"]).succeeds();
    let moved = app.path.with_file_name("elsewhere");
    std::fs::rename(&app.path, &moved).unwrap();
    let (app, feat) = (w.at(&moved), w.at(moved.join(feat.path.strip_prefix(&app.path).unwrap())));
    app.spawn(&["repair"]).exit(0).any_out().any_err();
    app.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
    feat.apply(&["--setup-again"]).exit(3).any_out().err_has("has worked in");
    let kept = app.spawn(&["run", "main.feat", "--sandbox", "--", "sh", "-c", "cat ~/kept"]).exit(0).any_err();
    assert_eq!(kept.stdout, "mine\n");
}
