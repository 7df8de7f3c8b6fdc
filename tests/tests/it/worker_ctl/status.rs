//! worker-ctl: what `status` shows and what `wait` waits for.

use std::fs::File;
use std::process::Stdio;

use serde_json::Value;

use crate::support::floor::Floor;
use crate::support::worker::{Staying, commit, is_at, refused, run_together, staff, tip, tmux, tree, up};
use crate::support::world::{World, text, wait_for};

#[test]
fn status_shows_that_a_restarted_program_does_not_know_its_task() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    assert_eq!(floor.status("adam")["notes"], serde_json::json!([]));
    floor.ctl(&["down"]).succeeds();
    floor.up();
    floor.ctl(&["status"]).exit(0).out_has("working").out_has("`worker-ctl resume adam`");
    floor.ctl(&["message", "adam", "hello"]).succeeds();
    floor.ctl(&["status"]).exit(0).out_has("worker-ctl resume adam");
    floor.ctl(&["start", "--resume", "adam"]).succeeds();
    assert_eq!(floor.status("adam")["notes"], serde_json::json!([]));
}

#[test]
fn wait_ends_at_once_when_the_state_cannot_be_reached() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    let wait = |args: &[&str]| floor.ctl(&[&["wait"], args, &["--timeout", "60s"]].concat());
    wait(&["adam", "--for", "needs_review"]).exit(1).err_has("adam is idle and has no task");
    floor.ctl(&["start", "--worker", "eve", "--prompt", "COMMIT README.md done Work"]).succeeds();
    // Without --any one worker that is stuck fails; with --any it does not.
    wait(&["adam", "eve", "--for", "needs_review"]).exit(1).err_has("adam");
    let any = wait(&["adam", "eve", "--for", "needs_review", "--any", "--json"]).exit(0).json();
    assert_eq!((any["workers"].as_array().unwrap().len(), text(&any, "/workers/0/name")), (1, "eve"));
    floor.ctl(&["start", "--worker", "adam", "--prompt", "EXIT 7"]).succeeds();
    wait(&["adam", "--for", "needs_review"]).exit(1).err_has("adam is in error: exit 7");
    floor.ctl(&["down"]).succeeds();
    wait(&["eve", "--for", "idle"]).exit(1).err_has("eve is offline");
    assert_eq!(wait(&["eve", "--for", "offline"]).exit(0).stdout, "eve\n");
    let all = wait(&["--all", "--for", "offline", "--any", "--json"]).exit(0).json();
    assert_eq!((all["workers"].as_array().unwrap().len(), text(&all, "/workers/0/name")), (1, "eve"));
    wait(&["--for", "offline"]).exit(2).err_has("name workers, or use `--all`");
}

#[test]
fn an_agent_on_another_branch_gets_a_note() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let adam = tree(&floor, "adam");
    let notes = || {
        floor.ctl(&["patrol"]).succeeds().any_err();
        floor.status("adam")["notes"].to_string()
    };
    adam.git(&["switch", "-q", "-c", "mine"]);
    assert!(notes().contains("on the branch mine instead of its own"), "{}", notes());
    floor.ctl(&["doctor"]).exit(1).out_has("mine");
    adam.git(&["switch", "-q", "worker/adam"]);
    assert_eq!(notes(), "[]");
    floor.ctl(&["doctor"]).succeeds();
    // A HEAD that git cannot read says nothing of the branch.
    let head = floor.root.path.join(".git/worktrees/adam/HEAD").display().to_string();
    floor.root.write(".git/worktrees/adam/HEAD", "garbage\n");
    assert!(notes().contains(&format!("its worktree was tampered with: git cannot read {head}")), "{}", notes());
    let back = format!("echo ref: refs/heads/worker/adam > '{head}'");
    floor.ctl(&["doctor"]).exit(1).out_has(&format!("`{back}`"));
    floor.root.sh(&back).exit(0);
    assert_eq!(notes(), "[]");
    adam.git(&["switch", "-q", "--detach"]);
    assert!(notes().contains("on no branch"), "{}", notes());
    adam.git(&["branch", "-q", "-D", "worker/adam"]);
    assert!(notes().contains("worker/adam was deleted"), "{}", notes());
    let back = format!("branch worker/adam {}`", tip(&floor));
    floor.ctl(&["doctor"]).exit(1).out_has("was deleted").out_has(&back).out_has("`worker-ctl reset adam --force`");
    let refused = floor.ctl(&["accept", "adam"]).exit(1).any_out();
    refused.err_has("branch worker/adam COMMIT`").err_has("`worker-ctl reset adam --force`");
    // Whatever puts it back takes the note back, also without a patrol.
    let noted = || floor.status("adam")["notes"].to_string();
    floor.ctl(&["reset", "adam"]).succeeds();
    assert_eq!(noted(), "[]");
    adam.git(&["switch", "-q", "mine"]);
    assert!(notes().contains("on the branch mine"), "{}", notes());
    adam.git(&["switch", "-q", "worker/adam"]);
    floor.ctl(&["doctor", "--repair", "--yes"]).succeeds();
    assert_eq!(noted(), "[]");
    adam.git(&["switch", "-q", "mine"]);
    assert!(notes().contains("on the branch mine"), "{}", notes());
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    assert_eq!(noted(), "[]");
}

#[test]
fn a_branch_that_was_renamed_is_missed_before_any_patrol() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    floor.up();
    tree(&floor, "adam").git(&["branch", "-m", "renamed"]);
    let back = format!("branch feature/adam {}`", tip(&floor));
    floor.ctl(&["doctor"]).exit(1).any_err().out_has("feature/adam was deleted").out_has(&back);
    let refused = floor.ctl(&["start", "adam", "--task", "think"]).exit(1);
    refused.err_has("feature/adam of adam was deleted").err_has(&back).err_has(" switch feature/adam`");
}

/// An agent can give it a name that a shell would obey.
#[test]
fn a_branch_is_quoted_in_the_commands_that_bring_it_back() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let app = &floor.app;
    app.git(&["branch", "r|el"]);
    app.git(&["worktree", "add", "-q", "-b", "x;$y", "../eve"]);
    let add = ["add", "--worktree", "../eve", "--target", "r|el", "--agent", "scripted"];
    app.run("worker-ctl", &add).succeeds().any_err();
    w.at(w.home("eng/repos/eve")).git(&["switch", "-q", "--detach"]);
    app.git(&["branch", "-q", "-D", "x;$y", "r|el"]);
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    let doctor = floor.ctl(&["doctor"]).exit(1).any_err();
    doctor.out_has(&format!("branch 'x;$y' {}`", tip(&floor))).out_has("`git branch 'r|el' COMMIT`");
}

#[test]
fn a_target_that_is_gone_is_told_once_and_its_worker_needs_a_person() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let app = &floor.app;
    app.git(&["branch", "rel"]);
    app.git(&["worktree", "add", "-q", "-b", "eve", "../eve"]);
    let add = ["add", "--worktree", "../eve", "--target", "rel", "--agent", "scripted"];
    app.run("worker-ctl", &add).succeeds().any_err();
    up(&floor, &["eve"]);
    floor.ctl(&["start", "eve", "--task", "think"]).succeeds();
    commit(&tree(&floor, "eve"), "Mine", &["f"], "f\n");
    app.git(&["branch", "-q", "-D", "rel"]);
    let told = "the source has no branch rel; bring it back: `git branch rel COMMIT`";
    floor.ctl(&["patrol"]).exit(0).any_out().err_has(&format!("eve: {told}"));
    floor.ctl(&["patrol"]).succeeds();
    assert_eq!(floor.ctl(&["wait", "eve", "--timeout", "30s"]).succeeds().stdout, "eve error\n");
    floor.ctl(&["accept", "eve"]).exit(1).any_out().err_has("eve is working").err_has(told);
    // An older note is not what the person is needed for.
    let before = floor.root.read("state.json");
    let mut state: Value = serde_json::from_str(&before).unwrap();
    let notes = state["workers"]["eve"]["notes"].as_array_mut().unwrap();
    notes.insert(0, serde_json::json!({ "kind": "child_landed" }));
    floor.root.write("state.json", &state.to_string());
    let shown = app.shopfloor(&["status"]).exit(0).any_err();
    shown.out_has("eve: the source has no branch rel").out_has("`shopfloor adopt WORKTREE --target BRANCH`");
    floor.root.write("state.json", &before);
    floor.ctl(&["doctor"]).exit(1).any_err().out_has("the source has no branch rel");
    app.git(&["branch", "rel", "main"]);
    floor.until("eve", "needs_review");
    assert_eq!(floor.status("eve")["notes"].to_string(), "[]");
    app.git(&["branch", "-q", "-D", "rel"]);
    for command in [&["accept", "eve"][..], &["reject", "eve", "no"], &["reset", "eve", "--force", "--yes"]] {
        assert_eq!(refused(&floor, command, 4), "failed", "{command:?}");
    }
}

#[test]
fn status_needs_no_lock_and_ends_with_its_reader() {
    let w = World::new();
    let floor = Floor::new(&w);
    for name in ["adam", "eve"] {
        floor.ctl(&["add", name]).succeeds();
    }
    floor.up();
    let before = floor.root.read("state.json");
    let lock = File::open(floor.root.path.join("locks/state.lock")).unwrap();
    lock.lock().unwrap();
    let start = std::time::Instant::now();
    floor.ctl(&["status"]).exit(0).out_has("adam  idle");
    assert!(is_at(&floor, "eve", "idle"));
    floor.ctl(&["peek", "adam"]).exit(0).out_has(">");
    floor.ctl(&["events"]).exit(0).out_has("session_up");
    assert!(start.elapsed().as_secs() < 10, "something waited for the lock");
    lock.unlock().unwrap();
    assert_eq!(floor.root.read("state.json"), before);
    for flags in ["", "--json", "--watch", "--watch --json"] {
        let line = format!("{{ timeout 30 worker-ctl status {flags}; echo $? >&2; }} | head -n 1");
        let gone = floor.root.sh(&line).exit(0);
        assert_eq!((gone.stdout.lines().count(), gone.stderr.as_str()), (1, "0\n"), "{flags}");
    }
}

#[test]
fn status_shows_every_state_and_watch_keeps_showing() {
    let w = World::new();
    let floor = Floor::new(&w);
    // Each worker reaches the state that it is named after.
    let names = ["error", "idle", "needs_review", "offline", "rebasing", "rejected", "working"];
    for name in names {
        floor.ctl(&["add", name]).succeeds();
    }
    floor.up();
    let watching = Staying::new(&floor, &["status", "--watch"]);
    let shows = |name: &str, part: &str| {
        watching.out().lines().any(|line| line.split_whitespace().next() == Some(name) && line.contains(part))
    };
    wait_for(|| names.iter().all(|name| shows(name, " idle")));
    run_together(
        &floor,
        &[
            &["start", "--worker", "error", "--prompt", "EXIT 7"],
            &["start", "--worker", "needs_review", "--prompt", "COMMIT a.txt a Write a"],
            &["start", "--worker", "offline", "--prompt", "EXIT 0"],
            &["start", "--worker", "rebasing", "--prompt", "COMMIT README.md mine Change it"],
            &["start", "--worker", "rejected", "--prompt", "COMMIT b.txt b Write b"],
            &["start", "--worker", "working", "--prompt", "think"],
        ],
    );
    for name in ["needs_review", "rebasing", "rejected"] {
        floor.until(name, "needs_review");
    }
    floor.until("error", "error");
    floor.until("offline", "offline");
    floor.ctl(&["review", "rejected"]).succeeds();
    floor.ctl(&["reject", "no"]).succeeds();
    floor.app.commit("README.md", "theirs\n");
    floor.ctl(&["accept", "rebasing"]).exit(1).any_err();
    // On a terminal, who needs a person comes first.
    let shown = w.home("board");
    let mut watch = w.command("script");
    watch.args(["-qefc", "worker-ctl --color always status --watch", "/dev/null"]).current_dir(&floor.root.path);
    watch.stdin(Stdio::piped()).stdout(File::create(&shown).unwrap()).stderr(Stdio::null());
    let mut watch = watch.spawn().unwrap();
    // A board is whole when what was below it is cleared.
    let board = || std::fs::read_to_string(&shown).unwrap_or_default();
    wait_for(|| board().contains("\u{1b}[J"));
    watch.kill().unwrap();
    watch.wait().unwrap();
    let board = board();
    assert!(board.contains(" 2 need you, 3 at work, 1 idle, 1 offline, no `up` runs\u{1b}[K"), "{board:?}");
    let order: Vec<_> = ["error  ", "needs_review  ", "working  ", "idle  ", "offline  "]
        .map(|name| board.find(&format!("m{name}")))
        .into();
    assert!(order[0].is_some() && order.is_sorted(), "{order:?} {board:?}");
    assert!(board.contains("review needs_review: COMMIT"), "{board:?}");
    let answer = floor.ctl(&["status", "--json"]).exit(0);
    assert_eq!(answer.stdout.lines().count(), 1);
    let document = answer.json();
    let words = |key: &str| {
        let all = document["workers"].as_array().unwrap().iter();
        all.map(|worker| worker[key].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!((document["v"].as_i64(), document["daemon"].as_str()), (Some(1), Some("stopped")));
    assert_eq!(words("status"), names);
    assert_eq!(words("name"), names);
    assert_eq!(floor.ctl(&["status"]).exit(0).stdout.lines().count(), names.len());
    wait_for(|| names.iter().all(|name| shows(name, &format!(" {name}"))));
    assert!(shows("error", "exit 7"));
}

#[test]
fn programs_of_a_server_that_is_gone_are_not_said_to_work() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["add", "eve"]).succeeds();
    floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).succeeds();
    assert_eq!(floor.status("adam")["seen"], true);
    // As after a reboot: nothing has recorded the end.
    let server = tmux(&floor, &["display-message", "-p", "#{pid}"]);
    floor.root.sh(&format!("kill -9 {server}")).exit(0);
    wait_for(|| floor.root.sh(&format!("kill -0 {server}")).any_status().any_out().any_err().status != Some(0));
    floor
        .ctl(&["status"])
        .exit(0)
        .out_has("adam  offline (not seen), task working")
        .out_has("eve   offline, task idle");
    let table = floor.app.shopfloor(&["status"]).any_status().any_err();
    table.out_has("offline (not seen), task working").out_has("you: resume");
    let adam = floor.status("adam");
    assert_eq!(["session", "status", "task"].map(|key| adam[key].as_str().unwrap()), ["down", "offline", "working"]);
    assert_eq!((&adam["seen"], &floor.status("eve")["seen"]), (&Value::Bool(false), &Value::Bool(true)));
    // All lists name who needs a person, before and after the end is recorded.
    assert_eq!(adam["needs"], "resume");
    for _ in ["not seen", "recorded"] {
        assert_eq!(floor.ctl(&["status", "--line"]).exit(0).stdout, "1 resume up stopped\n");
        assert_eq!(floor.app.shopfloor(&["jump", "--name"]).exit(0).stdout, "adam\n");
        floor.app.shopfloor(&["desk", "--print", "80x6"]).exit(0).out_has("1 need you");
        assert_eq!(floor.ctl(&["wait", "--all", "--for", "you"]).exit(0).stdout, "adam resume\n");
    }
    assert_eq!((&floor.status("adam")["needs"], &floor.status("adam")["seen"]), (&"resume".into(), &true.into()));
    floor.ctl(&["down"]).succeeds();
    assert_eq!(floor.status("adam")["needs"], Value::Null);
}

#[test]
fn a_program_that_shows_no_sign_needs_a_person() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    up(&floor, &["adam", "eve"]);
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds();
    let later = [("SHOPFLOOR_NOW", "2100-01-01T00:00:00Z")];
    let needs = |more: &[&str], vars: &[(&str, &str)]| {
        let all = floor.root.run_with("worker-ctl", &[&["status", "--json"], more].concat(), vars).exit(0).json();
        [0, 1].map(|n| all["workers"][n]["needs"].clone())
    };
    assert_eq!(needs(&[], &[]), [Value::Null, Value::Null]);
    assert_eq!(needs(&[], &later), [Value::from("silent"), Value::Null]);
    assert_eq!(needs(&["--silent-after", "0"], &later), [Value::Null, Value::Null]);
    // Its age counts from then, and not from the beginning of its task.
    let since = |vars: &[(&str, &str)]| {
        let all = floor.root.run_with("worker-ctl", &["status", "--json"], vars).exit(0).json();
        text(&all, "/workers/0/since_at").to_owned()
    };
    assert!(since(&later) > since(&[]));
    floor.root.run_with("worker-ctl", &["status"], &later).exit(0).out_has("working, silent for ");
    floor.root.run_with("worker-ctl", &["wait", "adam"], &later).exit(0).out_has("adam silent");
    let row = floor.app.run_with("shopfloor", &["status"], &later).any_status().any_err();
    row.out_has("you: look");
}
