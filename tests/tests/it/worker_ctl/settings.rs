//! What surrounds the workers of worker-ctl: settings, events, logs, copies, and what `status` tells of them.

use crate::support::worker::{Staying, is_at};
use std::fs::File;
use std::process::Stdio;

use serde_json::json;

use crate::support::floor::Floor;
use crate::support::worker::{agent, configure, prompts, table};
use crate::support::world::{World, text, wait_for};

/// Several commands at the same time, which all succeed.
fn together(floor: &Floor<'_>, commands: &[&[&str]]) {
    let world = floor.root.world;
    let mut children = Vec::new();
    for args in commands {
        let mut command = world.command(world.path("bin/worker-ctl"));
        command.args(*args).current_dir(&floor.root.path).stdout(Stdio::null());
        children.push(command.spawn().unwrap());
    }
    for (mut child, args) in children.into_iter().zip(commands) {
        assert_eq!(child.wait().unwrap().code(), Some(0), "{args:?}");
    }
}

/// Where a line of config.toml stands that begins so.
fn line_of(floor: &Floor<'_>, key: &str) -> usize {
    floor.root.read("config.toml").lines().position(|line| line.starts_with(key)).unwrap() + 1
}

#[test]
fn a_flag_goes_before_a_variable_before_the_file_before_the_default() {
    let w = World::new();
    let floor = Floor::new(&w);
    configure(&floor, "patrol_interval_secs = 60\n", "patrol_interval_secs = 600\n");
    let seen = |flags: &[&str], vars: &[(&str, &str)]| {
        let all = floor.root.run_with("worker-ctl", &[flags, &["config", "--json"][..]].concat(), vars).exit(0);
        let line = all.json_lines().into_iter().find(|line| line["name"] == "patrol_interval_secs").unwrap();
        assert_eq!(line["v"], 1);
        format!("{} from {}", text(&line, "/value"), text(&line, "/source"))
    };
    let variable = [("WORKER_CTL_PATROL_INTERVAL_SECS", "7")];
    assert_eq!(seen(&["--patrol-interval-secs", "3"], &variable), "3 from flag");
    assert_eq!(seen(&[], &variable), "7 from environment: WORKER_CTL_PATROL_INTERVAL_SECS");
    let file = format!("{}:{}", floor.root.path.join("config.toml").display(), line_of(&floor, "patrol_interval_secs"));
    assert_eq!(seen(&[], &[]), format!("600 from {file}"));
    floor.ctl(&["config"]).exit(0).out_has(&format!("patrol_interval_secs = 600 ({file})"));
    configure(&floor, "patrol_interval_secs = 600\n", "");
    assert_eq!(seen(&[], &[]), "60 from default");
    // They do what they say.
    let prefix = [("WORKER_CTL_BRANCH_PREFIX", "variable/")];
    floor.root.run_with("worker-ctl", &["add", "adam"], &prefix).exit(0);
    floor.root.run_with("worker-ctl", &["add", "eve", "--branch-prefix", "flag/"], &prefix).exit(0);
    let branches = ["adam", "eve"].map(|name| text(&floor.status(name), "/branch").to_owned());
    assert_eq!(branches, ["variable/adam", "flag/eve"]);
    let _up = Staying::new(&floor, &["up", "--patrol-interval-secs", "1"]);
    wait_for(|| is_at(&floor, "adam", "idle"));
    let start = std::time::Instant::now();
    floor.root.sh(&format!("kill -9 {}", floor.status("adam")["pane_pid"])).exit(0);
    wait_for(|| is_at(&floor, "adam", "error"));
    assert!(start.elapsed().as_secs() < 30);
}

#[test]
fn a_key_that_nobody_reads_is_told_and_a_value_of_the_wrong_type_refused() {
    let w = World::new();
    let floor = Floor::new(&w);
    configure(&floor, "patrol_interval_secs = 60\n", "patrol_interval_sec = 60\n");
    table(&floor, "other", &["x"], "past = \"lines\"\n");
    let near = |key: &str, what: &str| {
        let line = line_of(&floor, &format!("{key} ="));
        format!("config.toml:{line}: unknown setting `{key}`; did you mean `{what}`?")
    };
    let told = floor.ctl(&["status"]).exit(0);
    told.err_has(&near("patrol_interval_sec", "patrol_interval_secs")).err_has(&near("past", "paste"));
    let wrong = [
        ("patrol_interval_sec = 60", "patrol_interval_secs = \"often\"", 24),
        ("source = ", "source = 3 # ", 10),
        ("ready = { pattern", "ready = 3 # { pattern", 9),
        ("past = \"lines\"", "paste = \"loudly\"", 9),
    ];
    for (good, bad, column) in wrong {
        configure(&floor, good, bad);
        let place = format!("config.toml:{}:{column}: ", line_of(&floor, bad));
        floor.ctl(&["add", "adam"]).exit(2).err_has(&place);
        floor.ctl(&["status"]).exit(2).err_has(&place);
        configure(&floor, bad, good);
    }
    floor.ctl(&["add", "adam", "--patrol-interval-secs", "often"]).exit(2).err_has("(flag)");
    let variable = [("WORKER_CTL_SOUND_ON_REVIEW", "loud")];
    floor.root.run_with("worker-ctl", &["add", "adam"], &variable).exit(2).err_has("WORKER_CTL_SOUND_ON_REVIEW");
    assert!(!floor.root.has(".worktrees/adam"));
    assert_eq!(floor.ctl(&["status", "--json"]).exit(0).any_err().json()["workers"], json!([]));
}

#[test]
fn what_happened_is_told_afterwards_and_while_it_happens() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).exit(0);
    floor.up();
    let following = Staying::new(&floor, &["events", "--follow", "--json", "--since", "all"]);
    wait_for(|| following.out().contains("\"session_up\""));
    floor.ctl(&["start", "--prompt", "COMMIT a.txt a Write a"]).exit(0);
    floor.until("adam", "needs_review");
    let sha = text(&floor.status("adam"), "/commit_sha").to_owned();
    let told = floor.ctl(&["events", "--json"]).exit(0);
    let events = told.json_lines();
    for event in &events {
        let keys: Vec<&String> = event.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["v", "seq", "time", "worker", "event", "from", "to", "detail", "task", "revision"]);
        assert!(event["v"] == 1 && text(event, "/time").ends_with('Z'), "{event}");
    }
    let change = |name: &str| {
        let event = events.iter().find(|event| event["event"] == name).unwrap();
        json!([event["worker"], event["from"], event["to"]])
    };
    assert_eq!(change("session_up"), json!(["adam", "offline", "idle"]));
    assert_eq!(change("start"), json!(["adam", "idle", "working"]));
    assert_eq!(change("commit"), json!(["adam", "working", "needs_review"]));
    assert!(events.iter().any(|event| event["event"] == "commit" && event["detail"] == sha.as_str()));
    floor.ctl(&["events"]).exit(0).out_has("adam  start  idle -> working");
    wait_for(|| following.out() == told.stdout);
    // When its reader goes, it goes.
    let line = "{ timeout 30 worker-ctl events --follow --since all; echo $? >&2; } | head -n 1";
    let gone = floor.root.sh(line).exit(0);
    assert_eq!((gone.stdout.lines().count(), gone.stderr.as_str()), (1, "0\n"));
}

#[test]
fn status_answers_whoever_holds_the_lock_and_stops_with_its_reader() {
    let w = World::new();
    let floor = Floor::new(&w);
    for name in ["adam", "eve"] {
        floor.ctl(&["add", name]).exit(0);
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
    assert!(start.elapsed().as_secs() < 5, "something waited for the lock");
    lock.unlock().unwrap();
    assert_eq!(floor.root.read("state.json"), before);
    for flags in ["", "--json", "--watch", "--watch --json"] {
        let line = format!("{{ timeout 30 worker-ctl status {flags}; echo $? >&2; }} | head -n 1");
        let gone = floor.root.sh(&line).exit(0);
        assert_eq!((gone.stdout.lines().count(), gone.stderr.as_str()), (1, "0\n"), "{flags}");
    }
}

#[test]
fn status_tells_of_every_state_and_goes_on_telling() {
    let w = World::new();
    let floor = Floor::new(&w);
    // Each is to come to what it is called.
    let names = ["error", "idle", "needs_review", "offline", "rebasing", "rejected", "working"];
    for name in names {
        floor.ctl(&["add", name]).exit(0);
    }
    floor.up();
    let watching = Staying::new(&floor, &["status", "--watch"]);
    let shows = |name: &str, what: &str| {
        watching.out().lines().any(|line| line.split_whitespace().next() == Some(name) && line.contains(what))
    };
    wait_for(|| names.iter().all(|name| shows(name, " idle")));
    together(
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
    floor.ctl(&["review", "rejected"]).exit(0);
    floor.ctl(&["reject", "no"]).exit(0);
    floor.app.commit("README.md", "theirs\n");
    floor.ctl(&["accept", "rebasing"]).exit(1).any_err();
    let told = floor.ctl(&["status", "--json"]).exit(0);
    assert_eq!(told.stdout.lines().count(), 1);
    let document = told.json();
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
fn a_log_holds_what_the_terminal_showed_and_what_happened() {
    let w = World::new();
    let floor = Floor::new(&w);
    agent(&floor, "argv", &[], "delivery = \"argv\"\n");
    floor.ctl(&["add", "adam"]).exit(0);
    floor.ctl(&["add", "eve", "--agent", "argv"]).exit(0);
    floor.up();
    for name in ["adam", "eve"] {
        floor.ctl(&["start", "--worker", name, "--prompt", &format!("SAY the word of {name}")]).exit(0);
        let log = || floor.root.read(&format!("logs/{name}.log"));
        wait_for(|| log().contains(&format!("the word of {name}\r\n")));
        assert!(log().contains("start  idle -> working"), "{}", log());
    }
}

#[test]
fn a_command_runs_at_every_event_and_is_not_ended_with_the_worker() {
    let w = World::new();
    let floor = Floor::new(&w);
    let line = "echo \"$WORKER_CTL_NAME $WORKER_CTL_EVENT $WORKER_CTL_FROM $WORKER_CTL_TO $WORKER_CTL_DETAIL\" \
                >> \"$WORKER_CTL_ROOT/told\"";
    configure(&floor, "[defaults]\n", &format!("[defaults]\non_event = '{line}'\n"));
    floor.ctl(&["add", "adam"]).exit(0);
    floor.up();
    floor.ctl(&["start", "--prompt", "COMMIT a.txt a Write a"]).exit(0);
    floor.until("adam", "needs_review");
    let sha = text(&floor.status("adam"), "/commit_sha").to_owned();
    let is_told = |what: &str| {
        floor.root.has("told") && floor.root.read("told").lines().any(|line| line.trim_end().starts_with(what))
    };
    wait_for(|| is_told("adam session_up offline idle process "));
    wait_for(|| is_told("adam start idle working"));
    wait_for(|| is_told(&format!("adam commit working needs_review {sha}")));
    // It takes its time, and tells of the end all the same.
    configure(&floor, "on_event = '", "on_event = 'sleep 1; ");
    floor.ctl(&["down", "--force"]).exit(0);
    wait_for(|| is_told("adam session_gone needs_review offline"));
}

#[test]
fn files_that_git_does_not_know_come_along_and_what_was_changed_stays() {
    let w = World::new();
    let floor = Floor::new(&w);
    let copy = "copy = [{ from = \"local.cfg\" }, { from = \"local.cfg\", to = \"etc/other.cfg\" }]\n";
    configure(&floor, "[repo]\n", &format!("[repo]\n{copy}"));
    floor.app.write(".git/info/exclude", "/local.cfg\n");
    floor.app.write("local.cfg", "v1\n");
    floor.ctl(&["add", "adam"]).exit(0);
    let adam = w.at(floor.root.path.join(".worktrees/adam"));
    let both = || [adam.read("local.cfg"), adam.read("etc/other.cfg")];
    assert_eq!(both(), ["v1\n", "v1\n"]);
    adam.git(&["add", "-A"]);
    assert_eq!(adam.git(&["status", "--porcelain", "-uall"]), "");
    // What nobody changed is brought up to date at the next task.
    floor.up();
    floor.app.write("local.cfg", "v2\n");
    floor.ctl(&["start", "--prompt", "think"]).exit(0);
    assert_eq!(both(), ["v2\n", "v2\n"]);
    floor.ctl(&["reset", "adam"]).exit(0);
    adam.write("local.cfg", "mine\n");
    floor.app.write("local.cfg", "v3\n");
    floor.ctl(&["start", "--prompt", "think"]).exit(0).err_has("local.cfg was changed in");
    assert_eq!(both(), ["mine\n", "v3\n"]);
    // Nothing from outside the source.
    w.at(w.home("eng/repos")).write("secret", "s\n");
    configure(&floor, copy, "copy = [{ from = \"../secret\" }]\n");
    floor.ctl(&["add", "eve"]).exit(2).err_has("`copy`");
    assert!(!floor.root.has(".worktrees/eve"));
    assert_eq!(floor.root.git(&["branch", "--list", "worker/eve"]), "");
}

#[test]
fn a_table_for_a_worker_makes_it_also_while_up_runs() {
    let w = World::new();
    let floor = Floor::new(&w);
    configure(&floor, "[agents.scripted]\n", "[workers.zoe]\n\n[workers.ida]\n\n[agents.scripted]\n");
    floor.ctl(&["up", "ida"]).exit(0);
    assert!(is_at(&floor, "ida", "idle") && !floor.root.has(".worktrees/zoe"));
    let _up = Staying::new(&floor, &["up"]);
    wait_for(|| is_at(&floor, "zoe", "idle"));
    assert_eq!(text(&floor.status("zoe"), "/branch"), "worker/zoe");
    // What is written there meanwhile counts, with all it says.
    let worker = "\n[workers.noah]\nagent = \"other\"\nrole_prompt = \"You are noah.\"\n";
    let log = agent(&floor, "other", &[], worker);
    wait_for(|| is_at(&floor, "noah", "idle"));
    assert_eq!(text(&floor.status("noah"), "/agent"), "other");
    floor.ctl(&["start", "--worker", "noah", "--prompt", "hello"]).exit(0);
    wait_for(|| prompts(&log).len() == 1);
    assert!(prompts(&log)[0].ends_with("You are noah.\n\nhello"), "{:?}", prompts(&log));
    assert!(floor.root.has(".worktrees/zoe") && floor.root.has(".worktrees/noah"));
}
