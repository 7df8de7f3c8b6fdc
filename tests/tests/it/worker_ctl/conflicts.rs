//! worker-ctl: conflicts with the default branch, and how a worker resolves them.

use std::fs::File;

use serde_json::Value;

use crate::support::floor::Floor;
use crate::support::worker::{assert_landed, by_hand, commit, floor, head, ref_with, staff, tip, tree, up, work};
use crate::support::world::{World, text, wait_for, which};

/// A worker's status without its last activity.
fn record(floor: &Floor<'_>, name: &str) -> Value {
    let mut worker = floor.status(name);
    worker["last_activity_unix"] = Value::Null;
    worker
}

#[test]
fn changes_in_the_way_stay_and_conflicts_are_sent_to_the_worker() {
    let w = World::new();
    let floor = Floor::new(&w);
    for name in ["adam", "eve"] {
        floor.ctl(&["add", name]).succeeds();
    }
    floor.up();
    floor.ctl(&["start", "--worker", "adam", "--prompt", "COMMIT README.md adams Change it"]).succeeds();
    floor.ctl(&["start", "--worker", "eve", "--prompt", "COMMIT README.md eves Change it too"]).succeeds();
    floor.until("adam", "needs_review");
    floor.until("eve", "needs_review");
    // Overlapping changes of a person are in the way; others are not touched.
    floor.app.write("README.md", "mine\n");
    let before = (floor.app.git(&["rev-parse", "main"]), floor.app.read("README.md"));
    floor.ctl(&["accept", "adam"]).exit(1).err_has("changes in the way");
    assert_eq!((floor.app.git(&["rev-parse", "main"]), floor.app.read("README.md")), before);
    assert_eq!(text(&floor.status("adam"), "/status"), "needs_review");
    floor.app.git(&["checkout", "-q", "README.md"]);
    floor.app.write("notes", "mine\n");
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_eq!(floor.app.read("README.md") + &floor.app.read("notes"), "adams\nmine\n");
    // Now the second worker conflicts.
    let answer = floor.ctl(&["accept", "eve", "--json"]).exit(1).err_has("eve was not reviewed").json();
    assert_eq!(text(&answer, "/outcome"), "rebasing");
    wait_for(|| floor.prompts().len() == 3);
    let prompt = floor.prompts()[2].clone();
    assert!(
        prompt.contains("README.md (content, in 1 place)")
            && prompt.contains("git show :3:FILE` and the text between ======= and >>>>>>> are yours"),
        "{prompt}"
    );
    assert!(prompt.contains("<<<<<<<") && prompt.contains("  eves\n"), "{prompt}");
    floor.ctl(&["message", "eve", "ABORT"]).succeeds();
    floor.until("eve", "needs_review");
    assert!(floor.status("eve")["notes"][0].as_str().unwrap().contains("gave up the rebase"));
    floor.ctl(&["accept", "eve"]).exit(1).any_err();
    floor.ctl(&["message", "eve", "RESOLVE README.md both"]).succeeds();
    floor.until("eve", "needs_review");
    // When the source is on another branch, its checkout is not touched.
    floor.app.git(&["switch", "-q", "-c", "elsewhere"]);
    floor.ctl(&["accept", "eve"]).succeeds();
    assert_eq!(floor.app.read("README.md"), "adams\n");
    assert_eq!(floor.app.git(&["show", "main:README.md"]), "both\n");
    // Work that the source has already is not merged again.
    floor.ctl(&["start", "--worker", "adam", "--prompt", "COMMIT b.txt b Write b"]).succeeds();
    floor.until("adam", "needs_review");
    let sha = text(&floor.status("adam"), "/commit_sha").to_owned();
    floor.app.git(&["switch", "-q", "main"]);
    floor.app.git(&["fetch", "-q", floor.root.path.to_str().unwrap(), &sha]);
    floor.app.git(&["cherry-pick", &sha]);
    let nothing = floor.ctl(&["accept", "adam", "--json"]).succeeds().json();
    assert_eq!(text(&nothing, "/outcome"), "nothing_to_merge");
    assert_eq!(text(&floor.status("adam"), "/status"), "idle");
}

#[test]
fn eight_workers_on_one_line_are_asked_seven_times() {
    let w = World::new();
    let names = ["adam", "bea", "carl", "dora", "emil", "fay", "gus", "hana"];
    // Tasks come as arguments, because typing is slow.
    let floor = floor(&w);
    for name in &names[1..] {
        floor.ctl(&["add", name]).succeeds();
    }
    // This one is in nobody's way.
    floor.ctl(&["add", "zoe"]).succeeds();
    up(&floor, &[&names[..], &["zoe"]].concat());
    for name in names {
        floor.ctl(&["start", name, "--task", &format!("COMMIT README.md {name} Change it")]).succeeds();
    }
    floor.ctl(&["start", "zoe", "--task", "COMMIT zoe.txt zoe Write it"]).succeeds();
    // Whom one look finds, it puts in line by their names.
    let has_committed = |name: &&str| tree(&floor, name).git(&["log", "-1", "--format=%s"]) == "Change it\n";
    wait_for(|| names.iter().all(has_committed));
    floor.ctl(&["wait", "--all", "--for", "needs_review"]).exit(0).any_out().any_err();
    let asked = || floor.prompts().iter().filter(|prompt| prompt.contains("Your work conflicts with main")).count();
    let status = |name: &str| text(&floor.status(name), "/status").to_owned();
    floor.ctl(&["accept", "adam"]).succeeds();
    let first = tip(&floor);
    for (at, name) in names.iter().enumerate().skip(1) {
        floor.until(name, "rebasing");
        let others = &names[at + 1..];
        for other in others {
            assert_eq!(status(other), "needs_review", "{other} while {name} is asked");
            let note = format!("conflicts with main since {} in README.md", &first[..7]);
            assert_eq!(floor.status(other)["notes"][0], note.as_str(), "{other}");
        }
        floor.ctl(&["message", name, &format!("RESOLVE README.md {name}")]).succeeds();
        floor.until(name, "needs_review");
        // It waits for its review again at the head of the line, and what comes after it would conflict with it.
        floor.ctl(&["patrol"]).succeeds();
        assert!(others.iter().all(|other| status(other) == "needs_review"), "{name}");
        floor.ctl(&["review"]).succeeds().out_has(&format!("+{name}"));
        floor.ctl(&["accept"]).succeeds();
    }
    assert_eq!(asked(), 7);
    assert_eq!(floor.app.git(&["rev-list", "--count", &format!("{first}..main")]).trim(), "7");
    // It was rebased without a word.
    assert_eq!(floor.status("zoe")["notes"], serde_json::json!([]));
    floor.ctl(&["accept", "zoe"]).succeeds().any_err();
}

#[test]
fn who_gave_up_is_not_next_until_the_branch_moves_on() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    for name in ["adam", "eve"] {
        work(&floor, name, &format!("COMMIT README.md {name} Change it"));
    }
    floor.app.commit("README.md", "theirs\n");
    // An `accept` that holds a worker may be asking it, and nobody after it is asked meanwhile.
    let lock = File::open(floor.root.path.join("locks/worker-adam.lock")).unwrap();
    lock.lock().unwrap();
    floor.ctl(&["patrol"]).succeeds();
    assert_eq!(text(&floor.status("eve"), "/status"), "needs_review");
    drop(lock);
    floor.until("adam", "rebasing");
    assert_eq!(text(&floor.status("eve"), "/status"), "needs_review");
    floor.ctl(&["message", "adam", "ABORT"]).succeeds();
    floor.until("eve", "rebasing");
    assert!(floor.status("adam")["notes"][0].as_str().unwrap().contains("gave up"));
    floor.ctl(&["message", "eve", "RESOLVE README.md both"]).succeeds();
    floor.until("eve", "needs_review");
    floor.ctl(&["patrol"]).succeeds();
    assert_eq!(text(&floor.status("adam"), "/status"), "needs_review");
    floor.ctl(&["accept", "eve"]).succeeds().any_err();
    floor.until("adam", "rebasing");
    // A worker that a person names is asked, whoever is next.
    floor.app.commit("README.md", "theirs again\n");
    floor.ctl(&["start", "--worker", "eve", "--prompt", "COMMIT README.md eves Change it"]).succeeds();
    floor.until("eve", "needs_review");
    floor.app.commit("README.md", "and again\n");
    floor.ctl(&["patrol"]).succeeds();
    assert!(floor.status("eve")["notes"][0].as_str().unwrap().contains("conflicts with main since"));
    floor.ctl(&["rebase", "eve"]).exit(1).any_err();
    assert_eq!(text(&floor.status("eve"), "/status"), "rebasing");
}

#[test]
fn a_commit_skipped_in_a_rebase_is_kept_by_reset() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    let adam = tree(&floor, "adam");
    commit(&adam, "Change it", &["README.md"], "mine\n");
    let sha = head(&adam);
    floor.app.commit("README.md", "theirs\n");
    // No patrol has seen the commit yet.
    floor.ctl(&["rebase", "adam"]).exit(1).any_err();
    assert_eq!(text(&floor.status("adam"), "/status"), "rebasing");
    adam.git(&["rebase", "--skip"]);
    floor.ctl(&["patrol"]).succeeds().any_err();
    assert_eq!(head(&adam), tip(&floor));
    floor.ctl(&["reset", "adam"]).exit(1).err_has(&sha[..7]);
    let output = floor.ctl(&["reset", "adam", "--force"]).exit(0).stdout;
    ref_with(&floor, &output, &sha);
    assert_eq!(text(&floor.status("adam"), "/status"), "idle");
}

#[test]
fn a_rebase_that_conflicts_only_commit_by_commit_changes_nothing() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    // The whole work merges, but its first commit alone does not.
    let adam = by_hand(&floor, "adam", &[("README.md", "mine\n"), ("README.md", "app\n"), ("a.txt", "one\n")]);
    floor.app.commit("README.md", "theirs\n");
    let (old, before, sha) = (tip(&floor), record(&floor, "adam"), head(&adam));
    floor.ctl(&["rebase", "adam"]).exit(1).any_err();
    assert_eq!((record(&floor, "adam"), head(&adam)), (before, sha));
    assert_eq!(adam.git(&["status", "--porcelain"]), "");
    assert!(!floor.root.has(".git/worktrees/adam/rebase-merge"));
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_landed(&floor, "adam", &old, "");
    assert_eq!(floor.app.read("README.md"), "theirs\n");
}

#[test]
fn a_rebase_is_undone_where_it_cannot_be_recorded_that_the_worker_is_asked() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let adam = by_hand(&floor, "adam", &[("README.md", "mine\n")]);
    let sha = head(&adam);
    floor.app.commit("README.md", "theirs\n");
    // In the way of each write of the state, as a full disk, from the rebase on.
    let in_the_way = floor.root.path.join("state.json.next");
    let body = format!("case \"$FULL $* \" in '1 '*' --onto '*) mkdir '{}' ;; esac", in_the_way.display());
    w.program("git", &format!("{body}\nexec '{}' \"$@\"", which("git").display()));
    for (command, code) in [(&["patrol"][..], 0), (&["accept", "adam"][..], 4), (&["rebase", "adam"][..], 4)] {
        floor.root.run_with("worker-ctl", command, &[("FULL", "1")]).exit(code).any_out().err_has("cannot replace");
        std::fs::remove_dir(&in_the_way).unwrap();
        assert!(!floor.root.has(".git/worktrees/adam/rebase-merge"), "{command:?}");
        assert_eq!((head(&adam), adam.git(&["status", "--porcelain"])), (sha.clone(), String::new()), "{command:?}");
        assert_eq!(text(&floor.status("adam"), "/status"), "needs_review", "{command:?}");
    }
    wait_for(|| floor.prompts().len() == 1);
    floor.ctl(&["accept", "adam"]).exit(1).any_err();
    assert_eq!(text(&floor.status("adam"), "/status"), "rebasing");
    wait_for(|| floor.prompts().len() == 2);
}

#[test]
fn the_note_about_markers_goes_when_the_markers_go() {
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
    floor.ctl(&["patrol"]).succeeds().any_err();
    assert_eq!(text(&floor.status("adam"), "/commit_sha"), head(&adam));
    assert!(!notes().contains("markers"), "{}", notes());
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_eq!(floor.app.read("README.md"), "both\n");
}

#[test]
fn a_rebase_that_its_worker_has_left_is_over() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let adam = by_hand(&floor, "adam", &[("README.md", "mine\n")]);
    floor.app.commit("README.md", "theirs\n");
    for leave in ["git add -A; git rebase --quit; git commit -qm left", "git rebase --abort; git switch -q -c side"] {
        floor.ctl(&["accept", "adam"]).exit(1).any_out().any_err();
        assert_eq!(text(&floor.status("adam"), "/status"), "rebasing", "{leave}");
        adam.sh(leave).exit(0).any_out().any_err();
        floor.ctl(&["patrol"]).succeeds();
        let worker = floor.status("adam");
        assert_eq!(text(&worker, "/status"), "needs_review", "{leave}");
        assert!(worker["notes"].to_string().contains("gave up the rebase"), "{worker}");
        floor.ctl(&["accept", "adam"]).exit(1).any_out().err_has("switch worker/adam");
        adam.git(&["switch", "-q", "worker/adam"]);
    }
}

#[test]
fn a_conflict_is_one_json_document() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    for name in ["adam", "eve"] {
        work(&floor, name, &format!("COMMIT README.md {name}s Change it"));
    }
    floor.app.commit("README.md", "moved on\n");
    let old = tip(&floor);
    for (command, name) in [("accept", "adam"), ("rebase", "eve")] {
        let answer = floor.ctl(&[command, name, "--json"]).exit(1).any_err().json();
        assert_eq!((text(&answer, "/outcome"), text(&answer, "/worker")), ("rebasing", name), "{command}");
        assert_eq!(text(&floor.status(name), "/status"), "rebasing");
    }
    assert_eq!(tip(&floor), old);
}

#[test]
fn conflicts_are_found_without_advice_and_in_german() {
    let mut w = World::new();
    w.set("LANG", "de_DE.UTF-8");
    w.set("LC_ALL", "de_DE.UTF-8");
    let floor = Floor::new(&w);
    floor.root.git(&["config", "advice.mergeConflict", "false"]);
    floor.app.commit("gone", "a\n");
    floor.ctl(&["add", "adam"]).succeeds();
    up(&floor, &["adam"]);
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    let adam = tree(&floor, "adam");
    commit(&adam, "Change all", &["README.md", "gone", "both"], "mine\n");
    floor.until("adam", "needs_review");
    let sha = head(&adam);
    floor.app.write("README.md", "theirs\n");
    floor.app.git(&["rm", "-q", "gone"]);
    floor.app.commit("both", "theirs\n");
    floor.app.commit("README.md", "theirs\n");
    let old = tip(&floor);
    let conflicts = |prompts: usize| {
        floor.ctl(&["accept", "adam"]).exit(1).any_err();
        assert_eq!(text(&floor.status("adam"), "/status"), "rebasing");
        wait_for(|| floor.prompts().len() == prompts);
        let prompt = floor.prompts()[prompts - 1].clone();
        for part in [
            "README.md (content",
            "gone (modify/delete",
            "both (add/add",
            ":2:",
            ":3:FILE` and the text between ======= and >>>>>>> are yours",
        ] {
            assert!(prompt.contains(part), "no `{part}` in {prompt}");
        }
    };
    conflicts(2);
    floor.ctl(&["message", "adam", "ABORT"]).succeeds();
    floor.until("adam", "needs_review");
    let worker = floor.status("adam");
    assert_eq!((text(&worker, "/commit_sha"), head(&adam)), (sha.as_str(), sha.clone()));
    assert!(worker["notes"][0].as_str().unwrap().contains("gave up the rebase"), "{worker}");
    conflicts(4);
    floor.ctl(&["message", "adam", "RESOLVE gone kept\nRESOLVE both ours\nRESOLVE README.md merged"]).succeeds();
    floor.until("adam", "needs_review");
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_landed(&floor, "adam", &old, "");
    assert_eq!(["README.md", "gone", "both"].map(|name| floor.app.read(name)), ["merged\n", "kept\n", "ours\n"]);
}

#[test]
fn a_rebase_of_a_rejected_worker_keeps_its_amended_commit_as_new_work() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let at = by_hand(&floor, "adam", &[("a", "1\n")]);
    floor.ctl(&["review", "adam"]).succeeds();
    floor.ctl(&["reject", "again"]).succeeds();
    at.write("a", "2\n");
    at.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    floor.app.commit("elsewhere", "x\n");
    // Nobody has patrolled since.
    floor.ctl(&["rebase", "adam"]).succeeds().any_err();
    assert_eq!(text(&floor.status("adam"), "/status"), "needs_review");
}
