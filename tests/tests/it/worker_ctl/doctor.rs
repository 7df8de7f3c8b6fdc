//! worker-ctl: `doctor` finds problems, repairs them, and rebuilds the state.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::floor::Floor;
use crate::support::worker::{kill_agent, staff, tmux, tree};
use crate::support::world::{World, text, which};

/// Changes a worker's record in `state.json`.
fn tamper(floor: &Floor<'_>, name: &str, key: &str, value: Value) {
    let mut state: Value = serde_json::from_str(&floor.root.read("state.json")).unwrap();
    state["workers"][name][key] = value;
    floor.root.write("state.json", &state.to_string());
}

/// The problems that the checks find, and whether each was fixed.
fn wrong(floor: &Floor<'_>, args: &[&str], status: i32) -> Vec<(String, bool)> {
    let checks = floor.ctl(&[&["doctor", "--json"][..], args].concat()).exit(status).json_lines();
    let wrong = checks.iter().filter(|check| check["ok"] == false);
    wrong.map(|check| (text(check, "/detail").to_owned(), check["fixed"] == true)).collect()
}

#[test]
fn doctor_checks_repairs_and_rebuilds() {
    let w = World::new();
    let floor = Floor::new(&w);
    for name in ["idle", "done", "torn"] {
        floor.ctl(&["add", name]).succeeds();
    }
    floor.up();
    floor.ctl(&["start", "--worker", "done", "--prompt", "COMMIT README.md done Work"]).succeeds();
    floor.until("done", "needs_review");
    floor.ctl(&["start", "--worker", "torn", "--prompt", "COMMIT README.md torn Other work"]).succeeds();
    floor.until("torn", "needs_review");
    floor.app.commit("README.md", "moved on\n");
    floor.ctl(&["accept", "torn"]).exit(1).any_err();
    let sha = floor.status("done")["commit_sha"].clone();
    floor.ctl(&["doctor"]).succeeds();
    let good = floor.root.read("state.json");
    floor.root.write("state.json", "{");
    let checks = floor.ctl(&["doctor", "--json"]).exit(1).json_lines();
    let wrong: Vec<&str> =
        checks.iter().filter(|check| check["ok"] == false).map(|check| text(check, "/check")).collect();
    assert_eq!(wrong, ["state"]);
    assert!(checks.iter().any(|check| check["check"] == "git" && check["ok"] == true));
    assert_eq!(floor.root.read("state.json"), "{");
    floor.ctl(&["doctor", "--rebuild"]).exit(3).any_err();
    floor.ctl(&["doctor", "--rebuild", "--yes"]).succeeds();
    let tasks = ["idle", "done", "torn"].map(|name| text(&floor.status(name), "/task").to_owned());
    assert_eq!(tasks, ["idle", "needs_review", "rebasing"]);
    assert_eq!(floor.status("done")["commit_sha"], sha);
    assert!(text(&floor.status("done"), "/prompt").starts_with("COMMIT"));
    // A missing worktree is restored from its branch.
    floor.root.write("state.json", &good);
    std::fs::remove_dir_all(floor.root.path.join(".worktrees/done")).unwrap();
    floor.ctl(&["patrol"]).succeeds().any_err();
    assert_eq!(text(&floor.status("done"), "/fault"), "worktree missing");
    floor.ctl(&["doctor", "--repair"]).exit(3).any_err();
    floor.ctl(&["doctor", "--repair", "--yes"]).succeeds().out_has("fixed");
    assert_eq!(w.at(floor.root.path.join(".worktrees/done")).read("README.md"), "done\n");
    assert_eq!(text(&floor.status("done"), "/task"), "needs_review");
}

#[test]
fn a_worktree_that_a_person_has_moved_is_told_with_the_next_command() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "eve"]).succeeds();
    floor.app.git(&["worktree", "add", "-q", "-b", "feat", "../feat"]);
    floor.app.run("worker-ctl", &["add", "adam", "--worktree", "../feat"]).succeeds().any_err();
    let (eve, away) = (tree(&floor, "eve").path, w.home("away"));
    let (adam, moved) = (floor.app.path.with_file_name("feat"), floor.app.path.with_file_name("moved"));
    for (from, to) in [(&eve, &away), (&adam, &moved)] {
        std::fs::rename(from, to).unwrap();
    }
    let told = floor.ctl(&["doctor"]).exit(1).any_err();
    told.out_has(
        "feat, is missing; if you moved it: `git worktree repair PLACE` in its repository, then `worker-ctl patrol`",
    );
    for (at, to) in [(&floor.root, &away), (&floor.app, &moved)] {
        at.git(&["worktree", "repair", to.to_str().unwrap()]);
    }
    let told = floor.ctl(&["doctor"]).exit(1).any_err();
    told.out_has("/moved; have it go on there: `worker-ctl patrol`");
    let way = told.stdout.split("/away; move it back: `").nth(1).unwrap().split('`').next().unwrap();
    floor.app.sh(way).exit(0);
    floor.ctl(&["patrol"]).succeeds().any_err();
    let told = floor.ctl(&["doctor"]).any_status().any_err();
    told.out_has("ok      worktrees  adam\n").out_has("ok      worktrees  eve\n");
    assert!(eve.is_dir());
    assert_eq!(text(&floor.status("adam"), "/worktree"), moved.to_str().unwrap());
}

#[test]
fn rebuild_skips_a_worktree_that_cannot_be_read() {
    let w = World::new();
    let floor = Floor::new(&w);
    for name in ["adam", "eve", "zoe"] {
        floor.ctl(&["add", name]).succeeds();
    }
    tree(&floor, "eve").commit("e.txt", "x\n");
    floor.root.git(&["update-ref", "-d", "refs/heads/worker/adam"]);
    floor.root.write("state.json", "{");
    let rebuilt = floor.ctl(&["doctor", "--rebuild", "--yes"]);
    assert!(matches!(*rebuilt.status, Some(0 | 1)), "{rebuilt:?}");
    rebuilt.err_has("adam").out_has("fixed");
    assert_eq!(["eve", "zoe"].map(|name| floor.status(name)["task"].clone()), ["needs_review", "idle"]);
}

/// A file size limit stands in for a full disk.
#[test]
fn a_full_disk_leaves_the_backups_as_they_are() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    floor.ctl(&["message", "adam", "more"]).succeeds();
    kill_agent(&floor, "adam");
    let names = ["", ".1", ".2", ".3", ".4"].map(|end| format!("state.json.bak{end}"));
    let differ = || names.iter().filter(|name| floor.root.has(name)).map(|name| floor.root.read(name)).collect();
    let before: BTreeSet<String> = differ();
    assert_eq!(before.len(), names.len());
    for _ in 0..names.len() {
        floor.root.sh("trap '' XFSZ; ulimit -f 0; worker-ctl patrol").any_status().any_out().any_err();
        assert_eq!(text(&floor.status("adam"), "/status"), "working");
    }
    assert!(differ() == before);
    floor.ctl(&["patrol"]).succeeds().any_err();
    assert_eq!(text(&floor.status("adam"), "/fault"), "signal 9");
}

#[test]
fn repair_clears_an_error_and_keeps_the_task() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    floor.up();
    floor.ctl(&["start", "--prompt", "EXIT 7"]).succeeds();
    floor.until("adam", "error");
    let before = floor.root.read("state.json");
    assert_eq!(wrong(&floor, &[], 1), [("adam is in error: exit 7".to_owned(), false)]);
    floor.ctl(&["doctor", "--repair", "-n"]).exit(0).out_has("would clear the error of adam");
    assert_eq!(floor.root.read("state.json"), before);
    assert_eq!(wrong(&floor, &["--repair", "--yes"], 0), [("adam is in error: exit 7".to_owned(), true)]);
    let adam = floor.status("adam");
    assert_eq!(
        (text(&adam, "/status"), text(&adam, "/task"), text(&adam, "/prompt")),
        ("offline", "working", "EXIT 7")
    );
    assert_eq!(wrong(&floor, &[], 0), []);
}

#[test]
fn repair_rebuilds_an_invalid_record_from_its_worktree() {
    let w = World::new();
    let floor = Floor::new(&w);
    for name in ["adam", "eve"] {
        floor.ctl(&["add", name]).succeeds();
    }
    floor.up();
    floor.ctl(&["start", "--worker", "adam", "--prompt", "COMMIT a.txt a Write a"]).succeeds();
    floor.until("adam", "needs_review");
    let sha = floor.status("adam")["commit_sha"].clone();
    tamper(&floor, "adam", "commit_sha", Value::Null);
    tamper(&floor, "eve", "current_prompt", "left over".into());
    floor.ctl(&["status"]).exit(4).err_has("doctor --repair");
    assert_eq!(wrong(&floor, &[], 1).len(), 2);
    floor.ctl(&["doctor", "--repair", "--yes"]).succeeds().any_err();
    let adam = floor.status("adam");
    assert_eq!((text(&adam, "/task"), &adam["commit_sha"]), ("needs_review", &sha));
    assert!(text(&adam, "/prompt").starts_with("COMMIT"));
    assert_eq!(text(&floor.status("eve"), "/task"), "idle");
    floor.ctl(&["accept", "adam"]).succeeds();
    // The clock was set back.
    tamper(&floor, "eve", "last_activity_unix", 99_999_999_999_i64.into());
    assert_eq!(wrong(&floor, &["--repair", "--yes"], 0), [("eve: timestamps are in the future".to_owned(), true)]);
    assert!(floor.status("eve")["last_activity_unix"].as_i64().unwrap() < 99_999_999_999);
}

#[test]
fn repair_aborts_an_abandoned_rebase_and_keeps_its_work() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    let adam = w.at(floor.root.path.join(".worktrees/adam"));
    adam.commit("one", "1");
    let head = adam.git(&["rev-parse", "HEAD"]);
    let edit = [("GIT_SEQUENCE_EDITOR", "sed -i 's/^pick/edit/'")];
    adam.run_with("git", &["rebase", "-q", "-i", "HEAD~1"], &edit).succeeds();
    adam.write("resolved", "half of it\n");
    assert_eq!(wrong(&floor, &[], 1).len(), 1);
    let output = floor.ctl(&["doctor", "--repair", "--yes"]).succeeds().stderr;
    assert_eq!(adam.git(&["rev-parse", "worker/adam"]), head);
    assert!(!floor.root.path.join(".git/worktrees/adam/rebase-merge").exists());
    let kept = output.lines().find_map(|line| line.split_once("kept ")).unwrap_or_else(|| panic!("{output}")).1;
    assert_eq!(floor.root.git(&["show", &format!("{kept}:resolved")]), "half of it\n");
}

#[test]
fn repair_ends_unknown_sessions_and_records_missing_ones() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    floor.up();
    let socket = text(&floor.ctl(&["status", "--json"]).exit(0).json(), "/tmux_socket").to_owned();
    let tmux = |args: &[&str]| floor.root.run("tmux", &[&["-S", &socket][..], args].concat());
    tmux(&["new-session", "-d", "-s", "stranger", "sleep", "600"]).exit(0);
    tmux(&["set-option", "-p", "-t", "=stranger:", "@worker_ctl", "stranger"]).exit(0);
    tmux(&["kill-session", "-t", "=worker-adam:"]).exit(0);
    assert_eq!(wrong(&floor, &["--repair", "--yes"], 0).len(), 2);
    assert_eq!(text(&floor.status("adam"), "/status"), "offline");
    assert_eq!(tmux(&["list-sessions"]).any_status().any_err().stdout, "");
    // In a person's own session no worker's program was started.
    tmux(&["new-session", "-d", "-s", "mine", "sleep", "600"]).exit(0);
    let way = "tmux.sock' kill-session -t =mine`";
    floor.ctl(&["doctor", "--repair", "--yes"]).exit(1).any_err().out_has(way);
    let root = floor.root.path.to_str().unwrap();
    let refused = floor.app.run("worker-ctl", &["--root", root, "deinit", "--yes"]).exit(1).any_out();
    refused.err_has("its tmux has sessions: mine").err_has(way);
    assert_eq!(tmux(&["list-sessions", "-F", "#{session_name}"]).exit(0).stdout, "mine\n");
    tmux(&["kill-session", "-t", "=mine:"]).exit(0);
}

#[test]
fn a_session_that_a_person_has_renamed_is_still_its_workers() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let pid = floor.status("adam")["pane_pid"].clone();
    tmux(&floor, &["rename-session", "-t", "=worker-adam:", "mine"]);
    assert!(wrong(&floor, &["--repair", "--yes"], 0).is_empty());
    floor.ctl(&["patrol"]).succeeds();
    let adam = floor.status("adam");
    assert_eq!((text(&adam, "/status"), &adam["pane_pid"]), ("idle", &pid));
    assert_eq!(tmux(&floor, &["list-sessions", "-F", "#{session_name}"]), "mine\n");
    floor.ctl(&["down"]).succeeds();
    assert!(!floor.root.has("tmux.sock"));
}

#[test]
fn a_state_of_a_newer_version_is_left_alone() {
    let w = World::new();
    let floor = Floor::new(&w);
    let newer = "{\"version\":99,\"workers\":[]}";
    floor.root.write("state.json", newer);
    floor.ctl(&["status"]).exit(4).err_has("version 99 is newer");
    floor.ctl(&["doctor", "--rebuild", "--yes"]).exit(4).err_has("version 99 is newer");
    assert_eq!(floor.root.read("state.json"), newer);
}

#[test]
fn rebuild_reads_backups_and_the_log_for_what_git_does_not_have() {
    let w = World::new();
    let floor = staff(&w, &["rejected", "working", "idle", "done"]);
    for name in ["rejected", "done"] {
        floor.ctl(&["start", "--worker", name, "--prompt", &format!("COMMIT README.md {name} Work")]).succeeds();
        floor.until(name, "needs_review");
    }
    floor.ctl(&["start", "--worker", "working", "--prompt", "think about it"]).succeeds();
    floor.ctl(&["review", "rejected"]).succeeds();
    floor.ctl(&["reject", "not like this"]).succeeds();
    let tasks = || ["rejected", "working", "idle", "done"].map(|name| text(&floor.status(name), "/task").to_owned());
    let before = tasks();
    assert_eq!(before, ["rejected", "working", "idle", "needs_review"]);
    let pid = floor.status("idle")["pane_pid"].clone();
    // First from the newest backup and the log, then from the log alone.
    for backups in ["keep", "remove"] {
        floor.root.write("state.json", "{");
        if backups == "remove" {
            floor.root.sh("rm state.json.bak*").exit(0);
        }
        floor.ctl(&["doctor", "--rebuild", "--yes"]).succeeds();
        assert_eq!(tasks(), before, "{backups}");
        // The programs run on.
        let idle = floor.status("idle");
        assert_eq!((text(&idle, "/status"), &idle["pane_pid"]), ("idle", &pid), "{backups}");
        floor.up();
        floor.ctl(&["patrol"]).succeeds().any_err();
        assert_eq!(tasks(), before, "{backups}");
        floor.ctl(&["accept", "rejected"]).exit(1).any_err();
        floor.ctl(&["start", "--worker", "working", "--prompt", "another"]).exit(1).err_has("working");
    }
    // A commit after the rejection is still seen as new.
    tree(&floor, "rejected").commit("more", "x\n");
    floor.until("rejected", "needs_review");
}

#[test]
fn doctor_names_hooks_and_settings_that_came_after_an_adoption() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let app = &floor.app;
    app.write(".git/hooks/pre-push", "#!/bin/sh\n");
    floor.ctl(&["nuke", "adam", "--yes"]).exit(0).any_out();
    app.run("worker-ctl", &["add", "adam", "--worktree", "../adam"]).succeeds().any_err();
    let doctor = || floor.ctl(&["doctor"]).any_status().any_err().stdout.clone();
    // What was there, and what git and our tools write, is no finding.
    app.git(&["config", "branch.feature/adam.description", "x"]);
    app.run("sweatfile-apply", &["hook", "install"]).succeeds().any_err();
    assert!(!doctor().contains("has got"));
    app.write(".git/hooks/pre-push", "#!/bin/sh\nexec evil\n");
    app.write(".git/hooks/post-merge", "#!/bin/sh\nexec evil\n");
    app.git(&["config", "core.pager", "evil"]);
    let found = doctor();
    assert!(found.contains("since adam was adopted, the repository has got the hook post-merge, the hook pre-push, the setting core.pager"), "{found}");
    // An agent makes none of them known.
    let own = app.run_with("worker-ctl", &["add", "--worktree", "../adam"], &[("WORKER_CTL_WORKER", "adam")]);
    own.exit(3).err_has("nothing was adopted: an agent asks for it");
    assert_eq!(doctor(), found);
    // Added again, it knows them. The hooks of another directory count, and what the main checkout's own file says.
    let again = app.run("worker-ctl", &["add", "--worktree", "../adam"]).exit(0).any_out();
    again.err_has("the hook post-merge is known from now on");
    assert!(!doctor().contains("has got"));
    app.sh("mkdir hooks && echo evil > hooks/pre-commit && git config core.hooksPath hooks").exit(0);
    app.write(".git/config.worktree", "[diff]\n\texternal = evil\n");
    let found = doctor();
    for new in ["the hook pre-commit", "the setting core.hookspath", "the setting diff.external"] {
        assert!(found.contains(new), "{new}: {found}");
    }
}

#[test]
fn a_rebuilt_state_knows_what_landed_of_a_branch_that_others_have_too() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let (app, adam) = (&floor.app, tree(&floor, "adam"));
    floor.ctl(&["nuke", "adam", "--yes"]).exit(0).any_out();
    adam.commit("f", "f\n");
    app.sh(
        "git init -q --bare ../remote.git && git remote add origin ../remote.git && git push -q origin feature/adam",
    )
    .exit(0)
    .any_err();
    app.run("worker-ctl", &["add", "adam", "--worktree", "../adam"]).succeeds().any_err();
    let before = floor.root.read("state.json");
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    // The state and its backups are lost, but for one from before.
    floor.root.sh("rm state.json*").exit(0);
    floor.root.write("state.json.bak", &before);
    floor.ctl(&["doctor", "--rebuild", "--yes"]).any_status().any_out().any_err();
    assert_eq!(text(&floor.status("adam"), "/task"), "idle");
    floor.ctl(&["patrol"]).exit(0).any_out();
    assert_eq!(text(&floor.status("adam"), "/task"), "idle");
}

#[test]
fn a_git_that_keeps_push_addresses_is_named() {
    let w = World::new();
    let git = which("git");
    let floor = Floor::adopted(&w, &["adam"]);
    let (app, warning) = (&floor.app, "git version 2.39.5 pushes to remote.up.pushurl from adopted worktrees, too");
    w.program(
        "git",
        &format!(
            "case \" $* \" in *' version '*) echo git version 2.39.5; exit;; esac; exec '{}' \"$@\"",
            git.display()
        ),
    );
    assert!(!floor.ctl(&["doctor"]).any_status().any_err().stdout.contains("2.39.5"));
    app.git(&["config", "remote.up.pushurl", "/nowhere"]);
    assert!(floor.ctl(&["doctor"]).any_status().any_err().stdout.contains(warning));
    app.git(&["worktree", "add", "-q", "-b", "eve", "../eve"]);
    app.run("worker-ctl", &["add", "--worktree", "../eve"]).succeeds().err_has(warning);
}
