//! worker-ctl: what went wrong once, with work, refs and files; each stays mended.

use crate::support::worker::is_queued;
use std::collections::BTreeSet;
use std::fs::File;

use serde_json::Value;

use crate::support::floor::Floor;
use crate::support::worker::ref_with;
use crate::support::worker::{assert_landed, by_hand, commit, head, staff, tip, tree, work};
use crate::support::worker::{configure, kill_agent};
use crate::support::world::{World, text, wait_for};

/// What a worker has, but for when it did something last.
fn record(floor: &Floor<'_>, name: &str) -> Value {
    let mut worker = floor.status(name);
    worker["last_activity_unix"] = Value::Null;
    worker
}

/// Whether status tells of a worker.
fn is_known(floor: &Floor<'_>, name: &str) -> bool {
    let all = floor.ctl(&["status", "--json"]).exit(0).json();
    all["workers"].as_array().unwrap().iter().any(|worker| worker["name"] == name)
}

#[test]
fn work_that_was_landed_by_hand_and_taken_back_is_the_workers_again() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    work(&floor, "adam", "COMMIT a.txt one Write a");
    let (adam, old) = (tree(&floor, "adam"), tip(&floor));
    let sha = head(&adam);
    floor.app.git(&["fetch", "-q", floor.root.path.to_str().unwrap(), "worker/adam"]);
    floor.app.git(&["merge", "-q", "--ff-only", "FETCH_HEAD"]);
    floor.ctl(&["patrol"]).exit(0);
    floor.app.git(&["reset", "-q", "--hard", "HEAD~1"]);
    for _ in 0..2 {
        floor.ctl(&["patrol"]).exit(0);
        let worker = floor.status("adam");
        assert_eq!((head(&adam), text(&worker, "/commit_sha")), (sha.clone(), sha.as_str()));
        assert_eq!(text(&worker, "/status"), "needs_review");
    }
    floor.ctl(&["accept", "adam"]).exit(0);
    assert_landed(&floor, "adam", &old, "");
    assert_eq!(floor.app.read("a.txt"), "one\n");
}

#[test]
fn a_file_that_the_source_ignores_is_in_the_way_too() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.app.write(".git/info/exclude", "/Tabula.xlsm\n");
    floor.app.write("Tabula.xlsm", "mine\n");
    floor.ctl(&["start", "--prompt", "think"]).exit(0);
    tree(&floor, "adam").commit("Tabula.xlsm", "the agent's\n");
    floor.until("adam", "needs_review");
    let old = tip(&floor);
    floor.ctl(&["accept", "adam"]).exit(1).any_err();
    assert_eq!((floor.app.read("Tabula.xlsm"), tip(&floor)), ("mine\n".into(), old.clone()));
    assert_eq!(text(&floor.status("adam"), "/status"), "needs_review");
    std::fs::remove_file(floor.app.path.join("Tabula.xlsm")).unwrap();
    floor.ctl(&["accept", "adam"]).exit(0);
    assert_landed(&floor, "adam", &old, "");
}

#[test]
fn a_commit_that_a_rebase_dropped_is_not_lost_with_the_task() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--prompt", "think"]).exit(0);
    let adam = tree(&floor, "adam");
    commit(&adam, "Change it", &["README.md"], "mine\n");
    let sha = head(&adam);
    floor.app.commit("README.md", "theirs\n");
    // No patrol has seen the commit.
    floor.ctl(&["rebase", "adam"]).exit(1).any_err();
    assert_eq!(text(&floor.status("adam"), "/status"), "rebasing");
    adam.git(&["rebase", "--skip"]);
    floor.ctl(&["patrol"]).exit(0);
    assert_eq!(head(&adam), tip(&floor));
    floor.ctl(&["reset", "adam"]).exit(1).err_has(&sha[..7]);
    let said = floor.ctl(&["reset", "adam", "--force"]).exit(0).stdout;
    ref_with(&floor, &said, &sha);
    assert_eq!(text(&floor.status("adam"), "/status"), "idle");
}

#[test]
fn a_rebase_that_nobody_can_be_told_of_is_refused_and_changes_nothing() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    // All of it together merges, its first commit alone does not.
    let adam = by_hand(&floor, "adam", &[("README.md", "mine\n"), ("README.md", "app\n"), ("a.txt", "one\n")]);
    floor.app.commit("README.md", "theirs\n");
    let (old, before, sha) = (tip(&floor), record(&floor, "adam"), head(&adam));
    floor.ctl(&["rebase", "adam"]).exit(1).any_err();
    assert_eq!((record(&floor, "adam"), head(&adam)), (before, sha));
    assert_eq!(adam.git(&["status", "--porcelain"]), "");
    assert!(!floor.root.has(".git/worktrees/adam/rebase-merge"));
    floor.ctl(&["accept", "adam"]).exit(0);
    assert_landed(&floor, "adam", &old, "");
    assert_eq!(floor.app.read("README.md"), "theirs\n");
}

#[test]
fn a_note_of_markers_goes_with_the_markers() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    work(&floor, "adam", "COMMIT README.md mine Change it");
    floor.app.commit("README.md", "theirs\n");
    floor.ctl(&["accept", "adam"]).exit(1).any_err();
    let adam = tree(&floor, "adam");
    let notes = || floor.status("adam")["notes"].to_string();
    adam.write("README.md", "<<<<<<< theirs\na\n=======\nb\n>>>>>>> mine\n");
    adam.git(&["add", "README.md"]);
    adam.git(&["-c", "core.editor=true", "rebase", "--continue"]);
    floor.until("adam", "needs_review");
    assert!(notes().contains("conflict markers are left in README.md"), "{}", notes());
    floor.ctl(&["accept", "adam"]).exit(1).err_has("markers");
    adam.write("README.md", "both\n");
    adam.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    floor.ctl(&["patrol"]).exit(0);
    assert_eq!(text(&floor.status("adam"), "/commit_sha"), head(&adam));
    assert!(!notes().contains("markers"), "{}", notes());
    floor.ctl(&["accept", "adam"]).exit(0);
    assert_eq!(floor.app.read("README.md"), "both\n");
}

#[test]
fn a_worker_from_a_table_on_one_line_goes_with_its_table() {
    let w = World::new();
    let floor = Floor::new(&w);
    let line = "workers = { bob = { role_prompt = \"x\" } }\n";
    configure(&floor, "[defaults]\n", &format!("{line}\n[defaults]\n"));
    floor.ctl(&["up", "bob"]).exit(0);
    assert!(is_known(&floor, "bob"));
    floor.ctl(&["nuke", "bob", "--yes"]).exit(0);
    let config = floor.root.read("config.toml");
    assert!(!config.contains("bob") && config.contains("[agents.scripted]"), "{config}");
    // Else it would be made anew.
    floor.ctl(&["up", "bob"]).exit(1).err_has("no worker `bob`");
    assert!(!is_known(&floor, "bob") && !floor.root.has(".worktrees/bob"));
}

#[test]
fn a_worktree_that_somebody_locked_is_not_removed_and_nothing_is_kept_of_it() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).exit(0);
    let adam = tree(&floor, "adam");
    adam.commit("a.txt", "x\n");
    let sha = head(&adam);
    floor.root.git(&["worktree", "lock", ".worktrees/adam"]);
    floor.ctl(&["nuke", "adam", "--yes", "--force"]).exit(1).err_has("locked");
    assert_eq!(floor.root.git(&["for-each-ref", "refs/shopfloor"]), "");
    assert_eq!((head(&adam), text(&floor.status("adam"), "/task")), (sha.clone(), "idle"));
    floor.root.git(&["worktree", "unlock", ".worktrees/adam"]);
    let said = floor.ctl(&["nuke", "adam", "--yes", "--force"]).exit(0).stdout;
    ref_with(&floor, &said, &sha);
    assert!(!floor.root.has(".worktrees/adam"));
}

#[test]
fn a_repository_without_commits_is_kept_too() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).exit(0);
    let adam = tree(&floor, "adam");
    adam.git(&["init", "-q", "nested"]);
    adam.write("nested/n", "n\n");
    adam.write("loose", "x\n");
    let said = floor.ctl(&["nuke", "adam", "--yes", "--force"]).exit(0).stdout;
    assert!(!floor.root.has(".worktrees/adam"));
    let found = floor.root.sh("find trash -path '*/nested/n' -o -path '*/nested/.git'").exit(0).stdout;
    assert_eq!(found.lines().count(), 2, "{found}");
    let kept = ref_with(&floor, &said, &tip(&floor));
    assert_eq!(floor.root.git(&["show", &format!("{kept}:loose")]), "x\n");
}

#[test]
fn a_worker_is_made_whole_or_not_at_all() {
    let w = World::new();
    let floor = Floor::new(&w);
    let [config, other] = ["config.toml", "other.toml"].map(|name| floor.root.path.join(name));
    std::fs::rename(&config, &other).unwrap();
    std::os::unix::fs::symlink("other.toml", &config).unwrap();
    let before = floor.root.read("other.toml");
    let refused = floor.ctl(&["add", "adam"]).any_status().any_err();
    assert!(matches!(*refused.status, Some(2 | 4)), "{refused:?}");
    std::fs::remove_file(&config).unwrap();
    std::fs::rename(&other, &config).unwrap();
    assert_eq!(floor.root.read("config.toml"), before);
    assert!(!is_known(&floor, "adam") && !floor.root.has(".worktrees/adam"));
    assert_eq!(floor.root.git(&["branch", "--list", "worker/*"]), "");
    floor.ctl(&["add", "adam"]).exit(0);
}

#[test]
fn a_copied_file_may_have_any_name() {
    let w = World::new();
    let floor = Floor::new(&w);
    let name = "a[1].cfg";
    configure(&floor, "[repo]\n", &format!("[repo]\ncopy = [{{ from = \"{name}\" }}]\n"));
    floor.app.write(".git/info/exclude", "*.cfg\n");
    floor.app.write(name, "v1\n");
    floor.ctl(&["add", "adam"]).exit(0);
    let adam = tree(&floor, "adam");
    assert_eq!(adam.read(name), "v1\n");
    // What the pattern would mean is no business of ours.
    adam.write("a1.cfg", "x\n");
    assert_eq!(adam.git(&["status", "--porcelain", "-uall"]), "?? a1.cfg\n");
    std::fs::remove_file(adam.path.join("a1.cfg")).unwrap();
    adam.git(&["add", "-A"]);
    assert_eq!(adam.git(&["status", "--porcelain", "-uall"]), "");
    floor.up();
    floor.ctl(&["start", "--prompt", "think"]).exit(0);
    assert_eq!(text(&floor.status("adam"), "/status"), "working");
}

#[test]
fn one_worktree_that_cannot_be_read_keeps_no_other_from_being_rebuilt() {
    let w = World::new();
    let floor = Floor::new(&w);
    for name in ["adam", "eve", "zoe"] {
        floor.ctl(&["add", name]).exit(0);
    }
    tree(&floor, "eve").commit("e.txt", "x\n");
    floor.root.git(&["update-ref", "-d", "refs/heads/worker/adam"]);
    floor.root.write("state.json", "{");
    let rebuilt = floor.ctl(&["doctor", "--rebuild", "--yes"]);
    assert!(matches!(*rebuilt.status, Some(0 | 1)), "{rebuilt:?}");
    rebuilt.err_has("adam");
    assert_eq!(["eve", "zoe"].map(|name| floor.status(name)["task"].clone()), ["needs_review", "idle"]);
}

/// A limit on the size of files stands for a full disk: nothing more can be written.
#[test]
fn writes_that_fail_leave_the_earlier_states_as_they_are() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--prompt", "think"]).exit(0);
    floor.ctl(&["message", "adam", "more"]).exit(0);
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
    floor.ctl(&["patrol"]).exit(0);
    assert_eq!(text(&floor.status("adam"), "/fault"), "signal 9");
}

#[test]
fn who_has_been_idle_longest_stays_so_when_it_is_told_something() {
    let w = World::new();
    let floor = Floor::new(&w);
    for (time, name) in [("2001-01-01T00:00:00Z", "zoe"), ("2001-01-02T00:00:00Z", "adam")] {
        for command in ["add", "up"] {
            floor.root.run_with("worker-ctl", &[command, name], &[("SHOPFLOOR_NOW", time)]).exit(0);
        }
    }
    floor.ctl(&["message", "zoe", "hello", "--force"]).exit(0);
    for name in ["zoe", "adam"] {
        assert_eq!(floor.ctl(&["start", "--prompt", "think"]).exit(0).stdout, format!("{name}\n"));
    }
}

#[test]
fn a_worker_of_another_host_is_not_started_here() {
    let w = World::new();
    let floor = Floor::new(&w);
    configure(&floor, "[agents.scripted]\n", "[workers.far]\nhost = \"big\"\n\n[agents.scripted]\n");
    let refused = floor.ctl(&["up", "far"]);
    assert!(refused.status.is_some_and(|status| status > 0), "{refused:?}");
    refused.err_has("host");
    let status = floor.ctl(&["status", "--json"]).exit(0).json();
    assert_eq!(
        floor
            .root
            .run("tmux", &["-S", text(&status, "/tmux_socket"), "list-sessions"])
            .any_status()
            .any_out()
            .any_err()
            .stdout,
        ""
    );
}

#[test]
fn init_listens_to_the_variables_and_to_flags_before_them() {
    let w = World::new();
    let app = w.app();
    app.commit("README.md", "app\n");
    app.git(&["branch", "trunk"]);
    let [root, other] = ["root", "other"].map(|name| w.home(name).to_str().unwrap().to_owned());
    let source = app.path.to_str().unwrap();
    let vars = [("WORKER_CTL_ROOT", root.as_str()), ("WORKER_CTL_SOURCE", source), ("WORKER_CTL_BRANCH", "trunk")];
    let config = |root: &str| w.at(root).read("config.toml");
    let home = w.at(w.home(""));
    home.run_with("worker-ctl", &["init"], &vars).exit(0);
    assert!(config(&root).contains("branch = \"trunk\"") && config(&root).contains(source), "{}", config(&root));
    home.run_with("worker-ctl", &["init", "--target", &other, "--branch", "main"], &vars).exit(0);
    assert!(config(&other).contains("branch = \"main\""), "{}", config(&other));
}

#[test]
fn a_patrol_waits_for_one_that_is_under_way() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["patrol"]).exit(0);
    let lock = File::open(floor.root.path.join("locks/patrol.lock")).unwrap();
    lock.lock().unwrap();
    let mut command = w.command(w.path("bin/worker-ctl"));
    let mut child = command.arg("patrol").current_dir(&floor.root.path).spawn().unwrap();
    wait_for(|| is_queued(child.id()) || child.try_wait().unwrap().is_some());
    assert_eq!(child.try_wait().unwrap(), None, "it did not wait");
    lock.unlock().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
