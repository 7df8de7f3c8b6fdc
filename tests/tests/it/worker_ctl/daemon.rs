//! worker-ctl: the `up` that stays, and how `down` ends it.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use crate::support::floor::Floor;
use crate::support::worker::{
    Staying, commit, configure, is_at, is_queued, kill_agent, marked, program, staff, table, tmux, tree, up, work,
};
use crate::support::world::{World, skip, text, wait_for, which, write};

#[test]
fn up_starts_new_workers_adopts_sessions_and_ends_with_down() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    let start = || {
        let mut command = w.command(w.path("bin/worker-ctl"));
        command
            .arg("up")
            .current_dir(&floor.root.path)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        command.spawn().unwrap()
    };
    let is_at = |name: &str, status: &str| wait_for(|| text(&floor.status(name), "/status") == status);
    let mut up = start();
    is_at("adam", "idle");
    floor.ctl(&["up"]).exit(75).err_has("another `up` runs");
    assert_eq!(floor.ctl(&["status", "--json"]).exit(0).json()["daemon"], "running");
    floor.ctl(&["add", "eve"]).succeeds();
    is_at("eve", "idle");
    // `up` sees a commit without `patrol`.
    floor.ctl(&["start", "--worker", "eve", "--prompt", "COMMIT e.txt e Write e"]).succeeds();
    is_at("eve", "needs_review");
    let pids = ["adam", "eve"].map(|name| floor.status(name)["pane_pid"].clone());
    up.kill().unwrap();
    up.wait().unwrap();
    let mut up = start();
    wait_for(|| floor.ctl(&["status", "--json"]).exit(0).json()["daemon"] == "running");
    assert_eq!(["adam", "eve"].map(|name| floor.status(name)["pane_pid"].clone()), pids);
    floor.ctl(&["wait", "eve", "--for", "needs_review", "--timeout", "20s"]).succeeds();
    floor.ctl(&["wait", "adam", "--for", "working", "--timeout", "0s"]).exit(124).any_err();
    floor.ctl(&["down"]).succeeds();
    assert_eq!(up.wait().unwrap().code(), Some(143));
    assert_eq!(
        (text(&floor.status("eve"), "/status"), text(&floor.status("eve"), "/task")),
        ("offline", "needs_review")
    );
    floor.ctl(&["up", "--detach"]).succeeds();
    is_at("adam", "idle");
    floor.ctl(&["down"]).succeeds();
    assert_eq!(floor.ctl(&["status", "--json"]).exit(0).json()["daemon"], "stopped");
}

#[test]
fn up_ends_once_a_newer_version_has_written_the_state_and_the_sessions_go_on() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let mut up = Staying::new(&floor, &["up"]);
    let daemon = || floor.ctl(&["status", "--json"]).exit(0).json()["daemon"].clone();
    wait_for(|| daemon() == "running");
    let pid = floor.status("adam")["pane_pid"].clone();
    let ours = floor.root.read("state.json");
    let newer = ours.replacen("\"version\": 4", "\"version\": 99", 1);
    assert_ne!(newer, ours);
    let put = |text: &str| {
        floor.root.write("state.new", text);
        std::fs::rename(floor.root.path.join("state.new"), floor.root.path.join("state.json")).unwrap();
    };
    put(&newer);
    assert_eq!(up.ended(), Some(4));
    let said = up.errors();
    assert!(said.contains("version 99 is newer than this program supports"), "{said}");
    assert!(said.contains("start `up` of the newer version"), "{said}");
    put(&ours);
    assert_eq!(daemon(), "stopped");
    let _up = Staying::new(&floor, &["up"]);
    wait_for(|| daemon() == "running");
    floor.ctl(&["wait", "adam", "--for", "idle", "--timeout", "20s"]).succeeds();
    assert_eq!(floor.status("adam")["pane_pid"], pid);
}

#[test]
fn a_wait_for_what_a_running_up_leaves_down_ends() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    floor.ctl(&["down", "eve"]).succeeds();
    let _up = Staying::new(&floor, &["up"]);
    // The first round starts everybody who is down, so it must be over.
    wait_for(|| is_at(&floor, "eve", "idle"));
    floor.ctl(&["start", "adam", "--task", "EXIT 0"]).succeeds();
    wait_for(|| is_at(&floor, "adam", "offline"));
    floor.ctl(&["reset", "adam"]).succeeds();
    floor.ctl(&["down", "eve"]).succeeds();
    for name in ["adam", "eve"] {
        floor
            .ctl(&["wait", name, "--for", "idle"])
            .exit(1)
            .err_has(&format!("`worker-ctl up {name}` starts its session"));
    }
}

#[test]
fn up_detach_returns_when_the_workers_are_up() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    let up = floor.ctl(&["up", "--detach", "--json"]).exit(0).any_err().json();
    assert_eq!(up["workers"], serde_json::json!([{ "name": "adam", "id": "adam", "status": "idle" }]));
    floor.ctl(&["start", "--worker", "adam", "--prompt", "hello"]).succeeds();
    let waited = floor.ctl(&["wait", "adam", "--for", "working", "--json"]).exit(0).json();
    assert_eq!(waited["workers"], serde_json::json!([{ "name": "adam", "id": "adam", "status": "working" }]));
    let late = floor.ctl(&["wait", "adam", "--for", "idle", "--timeout", "0s", "--json"]).exit(124).json();
    assert_eq!(text(&late, "/error/kind"), "timeout");
}

#[test]
fn sessions_start_without_the_source() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    std::fs::rename(&floor.app.path, w.home("away")).unwrap();
    floor.ctl(&["up", "--detach"]).succeeds();
    assert_eq!(text(&floor.status("adam"), "/status"), "idle");
    std::fs::rename(w.home("away"), &floor.app.path).unwrap();
}

/// How often tmux has been asked for its panes from now on.
fn count_looks(w: &World) -> impl Fn() -> usize {
    let asked = w.home("asked");
    let real = which("tmux");
    let counted = format!("case \"$*\" in *list-panes*) echo >> ~/asked ;; esac; exec '{}' \"$@\"", real.display());
    w.program("tmux", &counted);
    move || std::fs::read(&asked).unwrap_or_default().len()
}

/// As by tmux's hook, while another command holds the worker.
#[test]
fn the_end_of_a_program_is_recorded_once_its_worker_is_free() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    kill_agent(&floor, "adam");
    let asked = count_looks(&w);
    let lock = File::open(floor.root.path.join("locks/worker-adam.lock")).unwrap();
    lock.lock().unwrap();
    let mut command = w.command(w.path("bin/worker-ctl"));
    command.args(["patrol", "--sessions"]).current_dir(&floor.root.path).stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    wait_for(|| asked() > 3 || child.try_wait().unwrap().is_some());
    lock.unlock().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(text(&floor.status("adam"), "/fault"), "signal 9");
}

/// A command that is killed holds the worker, and ends without a look at what has happened and without a change to a file.
#[test]
fn a_running_up_sees_a_commit_soon_after_the_command_that_held_its_worker_has_ended() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    configure(&floor, "patrol_interval_secs = 60", "patrol_interval_secs = 3600");
    for name in ["adam", "eve"] {
        floor.ctl(&["start", name, "--task", "think"]).succeeds();
    }
    let asked = count_looks(&w);
    let _up = Staying::new(&floor, &["up"]);
    let reviews = || floor.root.read("state.json").matches("\"needs_review\"").count();
    let lock = File::open(floor.root.path.join("locks/worker-adam.lock")).unwrap();
    lock.lock().unwrap();
    commit(&tree(&floor, "adam"), "Write a", &["a.txt"], "one\n");
    commit(&tree(&floor, "eve"), "Write b", &["b.txt"], "one\n");
    wait_for(|| reviews() == 1);
    // It has looked at adam once more since then.
    let before = asked();
    wait_for(|| asked() > before + 4);
    lock.unlock().unwrap();
    wait_for(|| reviews() == 2);
}

#[test]
fn a_patrol_waits_for_one_that_is_under_way() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["patrol"]).succeeds().any_err();
    let lock = File::open(floor.root.path.join("locks/patrol.lock")).unwrap();
    lock.lock().unwrap();
    let mut command = w.command(w.path("bin/worker-ctl"));
    let mut child = command.arg("patrol").current_dir(&floor.root.path).spawn().unwrap();
    wait_for(|| is_queued(child.id()) || child.try_wait().unwrap().is_some());
    assert_eq!(child.try_wait().unwrap(), None, "it did not wait");
    lock.unlock().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn down_force_ends_stubborn_programs_at_once() {
    if !Path::new("/proc/self/environ").exists() {
        skip("/proc");
        return;
    }
    let w = World::new();
    let floor = Floor::new(&w);
    let (program, detached) = (program(), w.home("detached"));
    let script = "trap '' INT TERM HUP; (setsid sleep 600 & echo $! > \"$1\"); exec \"$0\"";
    table(&floor, "stubborn", &["sh", "-c", script, &program, detached.to_str().unwrap()], "");
    floor.ctl(&["add", "adam", "--agent", "stubborn"]).succeeds();
    let _up = Staying::new(&floor, &["up"]);
    wait_for(|| is_at(&floor, "adam", "idle"));
    assert!(marked(&floor).contains(&std::fs::read_to_string(&detached).unwrap().trim().to_owned()));
    let start = Instant::now();
    floor.ctl(&["down", "--force"]).succeeds();
    // Without --force, the graces add up to 7 s.
    assert!(start.elapsed().as_secs() < 7, "{:?}", start.elapsed());
    assert_eq!(marked(&floor), Vec::<String>::new());
    assert_eq!(text(&floor.status("adam"), "/status"), "offline");
}

#[test]
fn a_program_is_ended_as_its_table_says() {
    let w = World::new();
    let floor = Floor::new(&w);
    let ended = w.home("ended");
    // It ignores Ctrl-C, as claude does while it waits for input.
    for end in ["HUP", "TERM"] {
        let script = "trap '' INT; trap 'echo $0 >> \"$1\"; exit 0' $0; printf '> '; while :; do read -r line; done";
        table(
            &floor,
            &end.to_lowercase(),
            &["bash", "-c", script, end, ended.to_str().unwrap()],
            &format!("end = {end:?}\n"),
        );
    }
    floor.ctl(&["add", "adam", "--agent", "hup"]).succeeds();
    floor.ctl(&["add", "eve", "--agent", "term"]).succeeds();
    floor.up();
    let start = Instant::now();
    floor.ctl(&["down"]).succeeds();
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    let mut signals: Vec<String> = std::fs::read_to_string(&ended).unwrap().lines().map(str::to_owned).collect();
    signals.sort();
    assert_eq!(signals, ["HUP", "TERM"]);
    let config = floor.root.read("config.toml");
    floor.root.write("config.toml", &config.replace("end = \"HUP\"", "end = \"INT\""));
    floor.ctl(&["status"]).exit(2).err_has("config.toml");
}

#[test]
fn a_slow_program_does_not_delay_the_patrol() {
    let w = World::new();
    let floor = Floor::new(&w);
    let ready = w.home("ready");
    let script = "until [ -e \"$1\" ]; do sleep 0.1; done; exec \"$0\"";
    table(&floor, "slow", &["sh", "-c", script, &program(), ready.to_str().unwrap()], "");
    floor.ctl(&["add", "adam"]).succeeds();
    let _up = Staying::new(&floor, &["up"]);
    wait_for(|| is_at(&floor, "adam", "idle"));
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    floor.ctl(&["add", "eve", "--agent", "slow"]).succeeds();
    wait_for(|| tmux(&floor, &["list-sessions", "-F", "#{session_name}"]).contains("worker-eve\n"));
    commit(&tree(&floor, "adam"), "Write a", &["a.txt"], "one\n");
    wait_for(|| is_at(&floor, "adam", "needs_review"));
    assert_eq!(text(&floor.status("eve"), "/status"), "offline");
    write(&ready, "");
    wait_for(|| is_at(&floor, "eve", "idle"));
}

#[test]
fn up_without_a_state_ends_and_a_running_up_warns_once_about_a_lost_state() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let good = floor.root.read("state.json");
    floor.root.write("state.json", "{");
    floor.ctl(&["up"]).exit(4).err_has("--rebuild");
    floor.ctl(&["up", "--detach"]).exit(4).err_has("--rebuild");
    floor.root.write("state.json", &good);
    floor.ctl(&["up", "--detach", "--patrol-interval-secs", "1"]).succeeds();
    // Replace it in one step: a half-written file would give another warning.
    floor.root.sh("printf '{' > torn && mv torn state.json").exit(0);
    let log = || floor.root.read("logs/up.out");
    wait_for(|| log().contains("state.json"));
    let start = std::time::Instant::now();
    wait_for(|| start.elapsed() > std::time::Duration::from_millis(2500));
    assert_eq!(log().matches("state.json").count(), 1, "{}", log());
    // `down` still ends it and its sessions.
    floor.ctl(&["down"]).exit(0).err_has("state.json");
    assert!(!floor.root.has("tmux.sock"));
    floor.root.write("state.json", &good);
    assert_eq!(floor.ctl(&["status", "--json"]).exit(0).json()["daemon"], "stopped");
}

#[test]
fn down_ends_all_sessions_without_a_state_and_with_one_that_has_lost_the_worker() {
    let w = World::new();
    let floor = Floor::new(&w);
    let without = floor.root.read("state.json");
    floor.ctl(&["add", "adam"]).succeeds();
    let good = floor.root.read("state.json");
    for state in ["{", &without] {
        floor.root.write("state.json", &good);
        up(&floor, &["adam"]);
        let pid = floor.status("adam")["pane_pid"].as_i64().unwrap();
        floor.root.write("state.json", state);
        floor.ctl(&["down"]).exit(0).any_out().err_has("down: adam");
        assert!(!floor.root.has("tmux.sock"));
        wait_for(|| floor.root.sh(&format!("kill -0 {pid} 2>/dev/null")).status != Some(0));
    }
}

#[test]
fn a_session_that_a_person_ends_stays_down_beside_an_up() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    floor.ctl(&["down", "adam"]).succeeds();
    let _up = Staying::new(&floor, &["up"]);
    // The first round starts everybody who is down, so it must be over.
    wait_for(|| is_at(&floor, "adam", "idle") && is_at(&floor, "eve", "idle"));
    floor.ctl(&["down", "adam", "-n"]).exit(0).out_has("would end the session of adam");
    floor.ctl(&["down", "nobody"]).exit(1).any_err();
    floor.ctl(&["down", "adam"]).exit(0).out_has("down adam");
    // Now there is no session to end.
    for args in [&["down", "adam"][..], &["down", "adam", "-n"]] {
        floor.ctl(args).exit(0);
    }
    // Rounds of that `up` go by.
    for n in 0..3 {
        work(&floor, "eve", &format!("COMMIT {n} one Work"));
        floor.ctl(&["accept", "eve"]).exit(0).any_out().any_err();
    }
    assert!(is_at(&floor, "adam", "offline"));
    floor.ctl(&["up", "adam"]).exit(0).any_out().any_err();
    assert!(is_at(&floor, "adam", "idle"));
}
