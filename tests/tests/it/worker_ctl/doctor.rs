//! worker-ctl: what `doctor` finds and mends, and what `init` brings along.

use serde_json::Value;

use crate::support::floor::Floor;
use crate::support::worker::{staff, tree};
use crate::support::world::{World, text};

/// Changes a worker's record in `state.json`, as a disk, a person or an older program may have.
fn tamper(floor: &Floor<'_>, name: &str, key: &str, value: Value) {
    let mut state: Value = serde_json::from_str(&floor.root.read("state.json")).unwrap();
    state["workers"][name][key] = value;
    floor.root.write("state.json", &state.to_string());
}

/// What the checks find wrong, with whether it was mended.
fn wrong(floor: &Floor<'_>, args: &[&str], status: i32) -> Vec<(String, bool)> {
    let checks = floor.ctl(&[&["doctor", "--json"][..], args].concat()).exit(status).json_lines();
    let wrong = checks.iter().filter(|check| check["ok"] == false);
    wrong.map(|check| (text(check, "/detail").to_owned(), check["fixed"] == true)).collect()
}

#[test]
fn an_error_is_taken_away_and_the_task_stays() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).exit(0);
    floor.up();
    floor.ctl(&["start", "--prompt", "EXIT 7"]).exit(0);
    floor.until("adam", "error");
    let before = floor.root.read("state.json");
    assert_eq!(wrong(&floor, &[], 1), [("adam is in error: exit 7".to_owned(), false)]);
    floor.ctl(&["doctor", "--repair", "-n"]).exit(0).out_has("would take the error from adam");
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
fn a_record_that_cannot_be_is_written_anew_from_its_worktree() {
    let w = World::new();
    let floor = Floor::new(&w);
    for name in ["adam", "eve"] {
        floor.ctl(&["add", name]).exit(0);
    }
    floor.up();
    floor.ctl(&["start", "--worker", "adam", "--prompt", "COMMIT a.txt a Write a"]).exit(0);
    floor.until("adam", "needs_review");
    let sha = floor.status("adam")["commit_sha"].clone();
    tamper(&floor, "adam", "commit_sha", Value::Null);
    tamper(&floor, "eve", "current_prompt", "left over".into());
    floor.ctl(&["status"]).exit(4).err_has("doctor --repair");
    assert_eq!(wrong(&floor, &[], 1).len(), 2);
    floor.ctl(&["doctor", "--repair", "--yes"]).exit(0).any_err();
    let adam = floor.status("adam");
    assert_eq!((text(&adam, "/task"), &adam["commit_sha"]), ("needs_review", &sha));
    assert!(text(&adam, "/prompt").starts_with("COMMIT"));
    assert_eq!(text(&floor.status("eve"), "/task"), "idle");
    floor.ctl(&["accept", "adam"]).exit(0);
    // A clock was set back.
    tamper(&floor, "eve", "last_activity_unix", 99_999_999_999_i64.into());
    assert_eq!(wrong(&floor, &["--repair", "--yes"], 0), [("eve has times to come".to_owned(), true)]);
    assert!(floor.status("eve")["last_activity_unix"].as_i64().unwrap() < 99_999_999_999);
}

#[test]
fn a_rebase_that_nobody_is_at_is_ended_and_kept() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).exit(0);
    let adam = w.at(floor.root.path.join(".worktrees/adam"));
    adam.commit("one", "1");
    let head = adam.git(&["rev-parse", "HEAD"]);
    let edit = [("GIT_SEQUENCE_EDITOR", "sed -i 's/^pick/edit/'")];
    adam.run_with("git", &["rebase", "-q", "-i", "HEAD~1"], &edit).exit(0);
    adam.write("resolved", "half of it\n");
    assert_eq!(wrong(&floor, &[], 1).len(), 1);
    let said = floor.ctl(&["doctor", "--repair", "--yes"]).exit(0).stderr;
    assert_eq!(adam.git(&["rev-parse", "worker/adam"]), head);
    assert!(!floor.root.path.join(".git/worktrees/adam/rebase-merge").exists());
    let kept = said.lines().find_map(|line| line.split_once("kept ")).unwrap_or_else(|| panic!("{said}")).1;
    assert_eq!(floor.root.git(&["show", &format!("{kept}:resolved")]), "half of it\n");
}

#[test]
fn sessions_of_nobody_are_ended_and_lost_ones_noted() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).exit(0);
    floor.up();
    let socket = text(&floor.ctl(&["status", "--json"]).exit(0).json(), "/tmux_socket").to_owned();
    let tmux = |args: &[&str]| floor.root.run("tmux", &[&["-S", &socket][..], args].concat());
    tmux(&["new-session", "-d", "-s", "stranger", "sleep", "600"]).exit(0);
    tmux(&["kill-session", "-t", "=worker-adam:"]).exit(0);
    assert_eq!(wrong(&floor, &["--repair", "--yes"], 0).len(), 2);
    assert_eq!(text(&floor.status("adam"), "/status"), "offline");
    assert_eq!(tmux(&["list-sessions"]).any_status().any_err().stdout, "");
}

/// A state of a version to come is nobody's to mend.
#[test]
fn a_newer_state_is_left_alone() {
    let w = World::new();
    let floor = Floor::new(&w);
    let newer = "{\"version\":99,\"workers\":[]}";
    floor.root.write("state.json", newer);
    floor.ctl(&["status"]).exit(4).err_has("version 99 is newer");
    floor.ctl(&["doctor", "--rebuild", "--yes"]).exit(4).err_has("version 99 is newer");
    assert_eq!(floor.root.read("state.json"), newer);
}

#[test]
fn init_brings_hooks_and_merges_of_the_source_along_and_takes_nothing_that_is_somebodys() {
    let w = World::new();
    let app = w.app();
    app.commit("README.md", "app\n");
    app.run("sweatfile-apply", &["hook", "install"]).exit(0);
    app.run("ledger-synth", &["install"]).exit(0);
    app.write("sweatfile", "[env]\nWHO = \"agent\"\n");
    app.git(&["add", "-A"]);
    app.git(&["commit", "-q", "-m", "set up"]);
    app.run("sweatfile-apply", &["approve", "--yes"]).exit(0);
    // Somebody's own things.
    let root = w.home("root");
    let init = || app.run("worker-ctl", &["init", "--target", root.to_str().unwrap()]);
    w.repo("root").commit("mine", "x\n");
    init().exit(1).err_has("not empty");
    w.at(&root).sh("rm mine").exit(0);
    init().exit(1).err_has("another repository");
    // What a killed one left is taken over.
    w.at(&root).sh("rm -rf .git && git init -q --initial-branch worker-ctl-none . && mkdir locks").exit(0);
    init().exit(0);
    let root = w.at(&root);
    root.run("worker-ctl", &["add", "adam", "--agent", "aider"]).exit(0);
    root.read(".worktrees/adam/.sweatshop-env").lines().find(|line| *line == "WHO=agent").unwrap();
    assert!(root.git(&["config", "merge.ledger-synth.driver"]).starts_with("ledger-synth merge-driver"));
}

#[test]
fn a_rebuilt_state_remembers_what_git_cannot_tell() {
    let w = World::new();
    let floor = staff(&w, &["rejected", "working", "idle", "done"]);
    for name in ["rejected", "done"] {
        floor.ctl(&["start", "--worker", name, "--prompt", &format!("COMMIT README.md {name} Work")]).exit(0);
        floor.until(name, "needs_review");
    }
    floor.ctl(&["start", "--worker", "working", "--prompt", "think about it"]).exit(0);
    floor.ctl(&["review", "rejected"]).exit(0);
    floor.ctl(&["reject", "not like this"]).exit(0);
    let tasks = || ["rejected", "working", "idle", "done"].map(|name| text(&floor.status(name), "/task").to_owned());
    let before = tasks();
    assert_eq!(before, ["rejected", "working", "idle", "needs_review"]);
    // From the newest backup and the log, then from the log alone.
    for backups in ["keep", "remove"] {
        floor.root.write("state.json", "{");
        if backups == "remove" {
            floor.root.sh("rm state.json.bak*").exit(0);
        }
        floor.ctl(&["doctor", "--rebuild", "--yes"]).exit(0);
        assert_eq!(tasks(), before, "{backups}");
        floor.up();
        floor.ctl(&["patrol"]).exit(0);
        assert_eq!(tasks(), before, "{backups}");
        floor.ctl(&["accept", "rejected"]).exit(1).any_err();
        floor.ctl(&["start", "--worker", "working", "--prompt", "another"]).exit(1).err_has("working");
    }
    // A commit since the rejection is news as ever.
    tree(&floor, "rejected").commit("more", "x\n");
    floor.until("rejected", "needs_review");
}
