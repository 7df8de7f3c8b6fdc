//! worker-ctl: what went wrong once, with terminals, programs and what is typed to them; each stays mended.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use crate::support::floor::Floor;
use crate::support::worker::is_queued;
use crate::support::worker::{Staying, is_at};
use crate::support::worker::{agent, configure, kill_agent, marked, program, prompts, refused, table, tell, tmux};
use crate::support::worker::{commit, staff, tree, work};
use crate::support::world::{World, skip, text, wait_for, write};

/// What a person runs beside adam's agent, in a pane of its own; its process.
fn beside(floor: &Floor<'_>, command: &[&str]) -> String {
    let split = ["split-window", "-d", "-P", "-F", "#{pane_pid}", "-t", "=worker-adam:"];
    tmux(floor, &[&split[..], command].concat()).trim_end().to_owned()
}

/// Whether a process goes on; one that has ended, and that nobody has asked after, does not.
fn lives(floor: &Floor<'_>, pid: &str) -> bool {
    let line = format!("kill -0 {pid} 2> /dev/null && ! grep -qs '^State:.Z' /proc/{pid}/status");
    floor.root.sh(&line).status == Some(0)
}

#[test]
fn what_a_person_runs_beside_an_agent_outlives_it() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let pid = beside(&floor, &["sleep", "600"]);
    floor.ctl(&["message", "adam", "EXIT 0", "--force"]).exit(0);
    floor.until("adam", "offline");
    floor.ctl(&["up", "adam"]).exit(0);
    let adam = floor.status("adam");
    assert_eq!(text(&adam, "/status"), "idle");
    assert_ne!(adam["pane_pid"].to_string(), pid);
    assert!(lives(&floor, &pid));
    floor.ctl(&["start", "--prompt", "think"]).exit(0);
    wait_for(|| floor.prompts().len() == 2);
}

#[test]
fn a_shell_beside_an_agent_is_never_taken_for_it() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let pane = tmux(&floor, &["display-message", "-p", "-t", "=worker-adam:", "#{pane_id}"]);
    let shell = beside(&floor, &["sh"]);
    tmux(&floor, &["kill-pane", "-t", pane.trim_end()]);
    floor.ctl(&["up", "adam"]).exit(0);
    assert_ne!(floor.status("adam")["pane_pid"].to_string(), shell);
    let bait = w.home("bait");
    let prompt = format!("think\ntouch {}", bait.display());
    floor.ctl(&["start", "--prompt", &prompt]).exit(0);
    wait_for(|| floor.prompts().len() == 1);
    assert!(floor.prompts()[0].ends_with(&prompt), "{:?}", floor.prompts());
    assert!(!bait.exists());
}

#[test]
fn what_before_attach_leaves_running_is_no_process_of_the_worker() {
    let w = World::new();
    let floor = Floor::new(&w);
    let pid = w.home("pid");
    let line = format!("sleep 600 > /dev/null 2>&1 & echo $! > {}", pid.display());
    configure(&floor, "[defaults]\n", &format!("[defaults]\nbefore_attach = \"{line}\"\n"));
    floor.ctl(&["add", "adam"]).exit(0);
    floor.up();
    // Without a terminal it comes no further than that.
    floor.ctl(&["attach", "adam"]).exit(4).any_err();
    let pid = std::fs::read_to_string(&pid).unwrap();
    floor.ctl(&["down", "--force"]).exit(0);
    let lived = lives(&floor, pid.trim_end());
    floor.root.sh(&format!("kill {pid}")).any_status().any_out().any_err();
    assert!(lived);
}

#[test]
fn a_worker_that_is_added_while_up_runs_is_started_as_it_was_wanted() {
    let w = World::new();
    let floor = Floor::new(&w);
    table(&floor, "telling", &["sh", "-c", "echo \"<$1>\"; exec \"$0\"", &program(), "{model}"], "");
    floor.ctl(&["add", "adam"]).exit(0);
    let _up = Staying::new(&floor, &["up"]);
    wait_for(|| is_at(&floor, "adam", "idle"));
    floor.ctl(&["start", "--prompt", "think"]).exit(0);
    // It does not get at config.toml, and `up` looks at everything once more.
    let lock = File::open(floor.root.path.join("locks/config.lock")).unwrap();
    lock.lock().unwrap();
    let mut command = w.command(w.path("bin/worker-ctl"));
    command.args(["add", "eve", "--agent", "telling", "--model", "sonnet"]).current_dir(&floor.root.path);
    let mut add = command.stdout(Stdio::null()).spawn().unwrap();
    wait_for(|| is_queued(add.id()));
    commit(&tree(&floor, "adam"), "Write a", &["a.txt"], "one\n");
    wait_for(|| is_at(&floor, "adam", "needs_review"));
    lock.unlock().unwrap();
    assert_eq!(add.wait().unwrap().code(), Some(0));
    wait_for(|| is_at(&floor, "eve", "idle"));
    floor.ctl(&["peek", "eve"]).exit(0).out_has("<sonnet>");
}

#[test]
fn a_tilde_in_the_environment_stays_a_tilde() {
    let w = World::new();
    let floor = Floor::new(&w);
    table(&floor, "telling", &["sh", "-c", "echo \"<$X|$Y>\"; exec \"$0\"", &program()], "");
    // The server is there already when the second one comes up.
    for (name, user) in [("adam", "nosuchuser"), ("eve", "nobody-either")] {
        floor.ctl(&["add", name, "--agent", "telling"]).exit(0);
        let x = format!("~{user}/x");
        floor.root.run_with("worker-ctl", &["up", name], &[("X", x.as_str()), ("Y", "~/x")]).exit(0);
        floor.ctl(&["peek", name]).exit(0).out_has(&format!("<{x}|~/x>"));
    }
}

/// To tmux both begin something of its own.
#[test]
fn a_root_may_have_a_hash_and_a_percent_sign_in_its_path() {
    let top = tempfile::tempdir().unwrap();
    let below = top.path().join("100%done #home #{r}");
    std::fs::create_dir(&below).unwrap();
    let w = World::below(&below);
    let floor = staff(&w, &["adam"]);
    work(&floor, "adam", "SAY here I am\nCOMMIT a.txt one Write a");
    assert!(floor.prompts()[0].contains(&format!("{}/.worktrees/adam", floor.root.path.display())));
    assert_eq!(tree(&floor, "adam").read("a.txt"), "one\n");
    wait_for(|| floor.root.read("logs/adam.log").contains("here I am\r\n"));
    let path = tmux(&floor, &["display-message", "-p", "-t", "=worker-adam:", "#{pane_current_path}"]);
    assert_eq!(Path::new(path.trim_end()), tree(&floor, "adam").path);
    floor.ctl(&["down"]).exit(0);
    floor.up();
    assert_eq!(text(&floor.status("adam"), "/status"), "needs_review");
}

#[test]
fn down_with_force_waits_for_nobody_whether_up_runs_or_not() {
    if !Path::new("/proc/self/environ").exists() {
        skip("/proc");
        return;
    }
    let w = World::new();
    let floor = Floor::new(&w);
    let (program, detached) = (program(), w.home("detached"));
    let script = "trap '' INT TERM HUP; (setsid sleep 600 & echo $! > \"$1\"); exec \"$0\"";
    table(&floor, "stubborn", &["sh", "-c", script, &program, detached.to_str().unwrap()], "");
    floor.ctl(&["add", "adam", "--agent", "stubborn"]).exit(0);
    let _up = Staying::new(&floor, &["up"]);
    wait_for(|| is_at(&floor, "adam", "idle"));
    assert!(marked(&floor).contains(&std::fs::read_to_string(&detached).unwrap().trim().to_owned()));
    let start = Instant::now();
    floor.ctl(&["down", "--force"]).exit(0);
    // Asked and told first, it takes 7 s.
    assert!(start.elapsed().as_secs() < 6, "{:?}", start.elapsed());
    assert_eq!(marked(&floor), Vec::<String>::new());
    assert_eq!(text(&floor.status("adam"), "/status"), "offline");
}

#[test]
fn a_program_that_takes_its_time_to_get_ready_keeps_nobody_else_waiting() {
    let w = World::new();
    let floor = Floor::new(&w);
    let ready = w.home("ready");
    let script = "until [ -e \"$1\" ]; do sleep 0.1; done; exec \"$0\"";
    table(&floor, "slow", &["sh", "-c", script, &program(), ready.to_str().unwrap()], "");
    floor.ctl(&["add", "adam"]).exit(0);
    let _up = Staying::new(&floor, &["up"]);
    wait_for(|| is_at(&floor, "adam", "idle"));
    floor.ctl(&["start", "--prompt", "think"]).exit(0);
    floor.ctl(&["add", "eve", "--agent", "slow"]).exit(0);
    wait_for(|| tmux(&floor, &["list-sessions", "-F", "#{session_name}"]).contains("worker-eve\n"));
    commit(&tree(&floor, "adam"), "Write a", &["a.txt"], "one\n");
    wait_for(|| is_at(&floor, "adam", "needs_review"));
    assert_eq!(text(&floor.status("eve"), "/status"), "offline");
    write(&ready, "");
    wait_for(|| is_at(&floor, "eve", "idle"));
}

#[test]
fn what_is_not_delivered_is_told_in_one_document() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--prompt", "think"]).exit(0);
    kill_agent(&floor, "adam");
    let told = floor.ctl(&["message", "adam", "anybody?", "--json"]).exit(4).json();
    assert_eq!(
        ["/worker", "/delivery", "/status", "/error/kind"].map(|key| text(&told, key)),
        ["adam", "not_delivered", "working", "not_delivered"]
    );
}

#[test]
fn peek_answers_in_one_document_when_asked_for_json() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["message", "adam", "SAY here I am\nSAY and here", "--force"]).exit(0);
    wait_for(|| floor.ctl(&["peek", "adam"]).exit(0).stdout.contains("and here"));
    let shown = floor.ctl(&["peek", "adam", "--json"]).exit(0).json();
    assert_eq!(text(&shown, "/worker"), "adam");
    assert!(text(&shown, "/text").contains("here I am\nand here\n"), "{shown}");
}

#[test]
fn another_agent_in_the_table_is_the_one_that_comes_up_next() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let log = agent(&floor, "other", &[], "");
    configure(&floor, "[workers.adam]\n", "[workers.adam]\nagent = \"other\"\n");
    floor.ctl(&["down"]).exit(0);
    floor.ctl(&["up", "adam"]).exit(0);
    floor.ctl(&["start", "--prompt", "think"]).exit(0);
    wait_for(|| prompts(&log).len() == 1);
    assert_eq!(floor.prompts(), Vec::<String>::new());
}

#[test]
fn a_log_that_cannot_be_written_hinders_no_task() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let log = floor.root.path.join("logs/adam.log");
    std::fs::remove_file(&log).unwrap();
    std::fs::create_dir(&log).unwrap();
    floor.ctl(&["start", "--prompt", "think"]).exit(0).err_has("warning");
    wait_for(|| floor.prompts().len() == 1);
    assert_eq!(text(&floor.status("adam"), "/status"), "working");
}

#[test]
fn a_text_that_cannot_be_put_down_for_an_agent_is_not_delivered() {
    let w = World::new();
    let floor = Floor::new(&w);
    let log = agent(&floor, "file", &[], "paste = \"file\"\n");
    floor.ctl(&["add", "adam", "--agent", "file"]).exit(0);
    floor.up();
    let task = || {
        let mut adam = floor.status("adam");
        adam["last_activity_unix"].take();
        adam
    };
    let before = task();
    floor.root.write("prompts", "somebody's\n");
    assert_eq!(refused(&floor, &["start", "--worker", "adam", "--prompt", "x"], 4), "not_delivered");
    assert_eq!((task(), text(&before, "/status")), (before.clone(), "idle"));
    std::fs::remove_file(floor.root.path.join("prompts")).unwrap();
    floor.ctl(&["start", "--prompt", "think"]).exit(0);
    wait_for(|| prompts(&log).len() == 1);
}

#[test]
fn a_text_of_nothing_but_ends_of_pastes_is_read_once() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let start = Instant::now();
    tell(&floor, "adam", &("\u{1b}[201~".repeat(150_000) + "x"));
    // Each looked for from the beginning, it takes minutes.
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    wait_for(|| !floor.prompts().is_empty());
    assert_eq!(floor.prompts(), ["x"]);
}
