//! worker-ctl: what a trial of it found, where something was lost, doubled, stuck, or badly said.

use std::process::Stdio;

use crate::support::floor::Floor;
use crate::support::worker::{commit, staff, tip, tree, work};
use crate::support::worker::{configure, tmux};
use crate::support::world::{World, text, wait_for};

/// Begins a command, and kills it once this holds.
fn killed_when(floor: &Floor<'_>, args: &[&str], holds: impl FnMut() -> bool) {
    let world = floor.root.world;
    let mut command = world.command(world.path("bin/worker-ctl"));
    command.args(args).current_dir(&floor.root.path).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    wait_for(holds);
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
}

#[test]
fn nothing_is_glued_to_a_text_that_was_never_submitted() {
    let w = World::new();
    let floor = Floor::new(&w);
    let config = floor.root.read("config.toml");
    // One that shows what is typed to it, as an agent does.
    floor.root.write("config.toml", &config.replace("ready = {", "paste = \"lines\"\nready = {"));
    let table =
        "\n[agents.echo]\ncommand = [\"sh\", \"-c\", \"printf '> '; exec cat\"]\nready = { pattern = \"^>\" }\n";
    floor.root.write("config.toml", &(config + table));
    floor.ctl(&["add", "adam", "--agent", "echo"]).exit(0);
    floor.up();
    let is_shown = || floor.ctl(&["peek", "adam"]).exit(0).stdout.contains("the first text");
    killed_when(&floor, &["start", "--worker", "adam", "--prompt", "the first text"], is_shown);
    for args in [&["message", "adam", "another"][..], &["start", "--resume", "adam"]] {
        let refused = floor.ctl(args).exit(1);
        refused.err_has("may stand in the input line of adam").err_has("peek adam").err_has("--force");
    }
    assert!(!floor.ctl(&["peek", "adam"]).exit(0).stdout.contains("another"));
    assert_eq!(text(&floor.status("adam"), "/task"), "working");
    // A person has looked.
    floor.ctl(&["message", "adam", "another", "--force"]).exit(0);
    wait_for(|| floor.ctl(&["peek", "adam"]).exit(0).stdout.contains("another"));
    floor.ctl(&["message", "adam", "more"]).exit(0);
    assert_eq!(floor.status("adam")["notes"], serde_json::json!([]));
}

#[test]
fn up_in_the_background_is_there_when_it_says_so() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).exit(0);
    floor.ctl(&["up", "--detach"]).exit(0);
    floor.ctl(&["start", "--worker", "adam", "--prompt", "hello"]).exit(0);
    let waited = floor.ctl(&["wait", "adam", "--for", "working", "--json"]).exit(0).json();
    assert_eq!(waited["workers"], serde_json::json!([{ "name": "adam", "status": "working" }]));
    let late = floor.ctl(&["wait", "adam", "--for", "idle", "--timeout", "0s", "--json"]).exit(124).json();
    assert_eq!(text(&late, "/error/kind"), "timeout");
}

#[test]
fn a_source_whose_git_directory_is_elsewhere_gets_the_work_too() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let elsewhere = w.home("elsewhere.git");
    floor.app.git(&["init", "-q", "--separate-git-dir", elsewhere.to_str().unwrap()]);
    work(&floor, "adam", "COMMIT a.txt one Write a");
    floor.ctl(&["accept", "adam"]).exit(0);
    assert_eq!(floor.app.read("a.txt"), "one\n");
    assert_eq!(floor.app.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_commit_that_only_says_something_is_work_too() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    tree(&floor, "adam").git(&["commit", "-q", "--allow-empty", "-m", "what was tried"]);
    for args in [&["nuke", "adam", "--yes"][..], &["reset", "adam"]] {
        floor.ctl(args).exit(1).err_has("what was tried");
    }
    let kept = floor.ctl(&["reset", "adam", "--force"]).exit(0).stdout;
    assert!(floor.root.git(&["log", "--format=%s", kept.trim_end()]).contains("what was tried"));
}

#[test]
fn what_was_squashed_can_still_be_looked_at() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).exit(0);
    let adam = tree(&floor, "adam");
    for name in ["one", "two"] {
        commit(&adam, &format!("Write {name}"), &[name], "x\n");
    }
    floor.until("adam", "needs_review");
    let work = adam.git(&["rev-parse", "HEAD"]);
    floor.ctl(&["accept", "adam"]).exit(0);
    assert!(floor.root.git(&["for-each-ref", "refs/shopfloor/accepted/adam", "--format=%(objectname)"]) == work);
}

#[test]
fn a_hook_that_fails_hinders_nobody_and_is_told() {
    let w = World::new();
    let floor = Floor::new(&w);
    let hook = floor.root.path.join(".git/hooks/post-checkout");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    crate::support::world::write(&hook, "#!/bin/sh\nexit 7\n");
    floor.root.sh("chmod +x .git/hooks/post-checkout").exit(0);
    floor.ctl(&["add", "adam"]).exit(0).err_has("hook failed");
    assert_eq!(text(&floor.status("adam"), "/task"), "idle");
    assert!(tree(&floor, "adam").has("README.md"));
}

#[test]
fn work_on_a_history_of_its_own_is_shown_and_refused_in_words() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).exit(0);
    let adam = tree(&floor, "adam");
    adam.git(&["checkout", "-q", "--orphan", "other"]);
    adam.git(&["commit", "-q", "-m", "anew"]);
    adam.git(&["branch", "-M", "other", "worker/adam"]);
    adam.commit("new.txt", "x\n");
    floor.until("adam", "needs_review");
    floor.ctl(&["review", "adam", "--interface", "git"]).exit(0).any_err().out_has("+x");
    let old = tip(&floor);
    floor.ctl(&["accept", "adam"]).exit(1).err_has("no history in common").err_has("reset adam --force");
    assert_eq!(tip(&floor), old);
    floor.ctl(&["reset", "adam", "--force"]).exit(0).out_has("refs/shopfloor/trash/");
}

#[test]
fn names_and_patterns_in_the_configuration_are_looked_at_first() {
    let w = World::new();
    let floor = Floor::new(&w);
    let good = floor.root.read("config.toml");
    for (table, said) in [
        ("[workers.\"../evil\"]\n", "cannot be a worker's name"),
        ("[agents.mine]\ncommand = [\"x\"]\nstrip = [\"[\"]\n", "no regular expression"),
        ("[agents.mine]\nclear = \"x\"\n", "`command` is missing"),
    ] {
        let line = good.lines().count() + 2;
        floor.root.write("config.toml", &format!("{good}\n{table}"));
        floor.ctl(&["status"]).exit(2).err_has(said).err_has(&format!("config.toml:{line}:"));
    }
    configure(&floor, "[agents.mine]\nclear = \"x\"\n", "");
    floor.ctl(&["status"]).exit(0);
    floor.ctl(&["init", "--source", "/nonexistent"]).exit(2).err_has("/nonexistent is no directory");
}

/// Also where the agent put its work there by itself: what came from the default branch is not its own, and does not come
/// back once that has dropped it.
#[test]
fn an_agent_that_rebased_by_itself_brings_nothing_of_others_along() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    for name in ["adam", "eve"] {
        floor.ctl(&["start", "--worker", name, "--prompt", "think"]).exit(0);
    }
    for n in 0..3 {
        floor.app.commit("x", &format!("{n}\n"));
    }
    for name in ["adam", "eve"] {
        let at = tree(&floor, name);
        at.git(&["fetch", "-q"]);
        at.git(&["rebase", "-q", "refs/remotes/origin/main"]);
        commit(&at, "mine", &[name], "x\n");
        floor.until(name, "needs_review");
    }
    floor.app.git(&["reset", "-q", "--hard", "HEAD~1"]);
    floor.ctl(&["accept", "adam"]).exit(1).err_has("dropped");
    floor.ctl(&["rebase", "adam"]).exit(0);
    floor.ctl(&["accept", "adam"]).exit(0);
    assert_eq!((floor.app.read("x"), floor.app.read("adam")), ("1\n".into(), "x\n".into()));
    floor.ctl(&["patrol"]).exit(0);
    floor.ctl(&["accept", "eve"]).exit(0);
    assert_eq!((floor.app.read("x"), floor.app.read("eve")), ("1\n".into(), "x\n".into()));
}

#[test]
fn sessions_come_up_though_the_source_is_away() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).exit(0);
    std::fs::rename(&floor.app.path, w.home("away")).unwrap();
    floor.ctl(&["up", "--detach"]).exit(0);
    assert_eq!(text(&floor.status("adam"), "/status"), "idle");
    std::fs::rename(w.home("away"), &floor.app.path).unwrap();
}

/// A person's window beside an agent is not the agent's.
#[test]
fn what_a_person_has_beside_an_agent_outlives_it() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let pane = tmux(&floor, &["split-window", "-d", "-P", "-F", "#{pane_id}", "-t", "=worker-adam:", "sleep", "600"]);
    floor.ctl(&["reset", "adam", "--force"]).exit(0);
    let dead = tmux(&floor, &["display-message", "-p", "-t", pane.trim_end(), "#{pane_dead}"]);
    assert_eq!(dead, "0\n");
    assert_eq!(text(&floor.status("adam"), "/status"), "idle");
}

/// A fresh start is typed as well: killed within, the task is not glued to it.
#[test]
fn nothing_is_glued_to_a_fresh_start() {
    let w = World::new();
    let floor = Floor::new(&w);
    let table = "\n[agents.echo]\ncommand = [\"sh\", \"-c\", \"printf '> '; exec cat\"]\nready = { pattern = \"^>\" }\n\
                 clear = \"/clear\"\n";
    let config = floor.root.read("config.toml");
    floor.root.write("config.toml", &(config + table));
    floor.ctl(&["add", "adam", "--agent", "echo"]).exit(0);
    floor.up();
    let clears = || floor.ctl(&["peek", "adam"]).exit(0).stdout.matches("/clear").count();
    // Once typed, and once by `cat`.
    wait_for(|| clears() == 2);
    killed_when(&floor, &["start", "--worker", "adam", "--prompt", "the task"], || clears() == 3);
    floor.ctl(&["start", "--resume", "adam"]).exit(1).err_has("may stand in the input line");
}
