//! worker-ctl: nothing waits for ever, and nothing is silent.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::support::floor::Floor;
use crate::support::overlay::scene;
use crate::support::worker::{staff, tree};
use crate::support::world::{Repo, World, text, wait_for};

/// A program that goes on telling, and its lines as they come.
fn following(at: &Repo<'_>, tool: &str, args: &[&str]) -> (Child, std::sync::mpsc::Receiver<Value>) {
    let mut command = at.world.command(at.world.path("bin").join(tool));
    let mut child = command.args(args).current_dir(&at.path).stdout(Stdio::piped()).spawn().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let (send, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        stdout.lines().map_while(Result::ok).for_each(|line| drop(send.send(serde_json::from_str(&line).unwrap())));
    });
    (child, lines)
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn an_up_without_a_state_ends_at_once_and_one_that_loses_it_says_so_once() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let good = floor.root.read("state.json");
    floor.root.write("state.json", "{");
    floor.ctl(&["up"]).exit(4).err_has("--rebuild");
    floor.ctl(&["up", "--detach"]).exit(4).err_has("--rebuild");
    floor.root.write("state.json", &good);
    floor.ctl(&["up", "--detach", "--patrol-interval-secs", "1"]).exit(0);
    // In one step: half of it would be another thing to say.
    floor.root.sh("printf '{' > torn && mv torn state.json").exit(0);
    let log = || floor.root.read("logs/up.out");
    wait_for(|| log().contains("state.json"));
    let start = std::time::Instant::now();
    wait_for(|| start.elapsed() > std::time::Duration::from_millis(2500));
    assert_eq!(log().matches("state.json").count(), 1, "{}", log());
    // It can be ended, and so can all it had.
    floor.ctl(&["down"]).exit(0).err_has("state.json");
    assert!(!floor.root.has("tmux.sock"));
    floor.root.write("state.json", &good);
    assert_eq!(floor.ctl(&["status", "--json"]).exit(0).json()["daemon"], "stopped");
}

#[test]
fn down_ends_what_the_socket_lists_without_a_state() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let pid = floor.status("adam")["pane_pid"].as_i64().unwrap();
    floor.root.write("state.json", "{");
    floor.ctl(&["down"]).exit(0).err_has("down: adam");
    assert!(!floor.root.has("tmux.sock"));
    wait_for(|| floor.root.sh(&format!("kill -0 {pid} 2>/dev/null")).status != Some(0));
}

#[test]
fn a_new_program_that_knows_nothing_of_its_task_is_told_of_in_status() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--prompt", "think"]).exit(0);
    assert_eq!(floor.status("adam")["notes"], serde_json::json!([]));
    floor.ctl(&["down"]).exit(0);
    floor.up();
    floor.ctl(&["status"]).exit(0).out_has("working").out_has("`worker-ctl start --resume adam`");
    floor.ctl(&["message", "adam", "hello"]).exit(0);
    floor.ctl(&["status"]).exit(0).out_has("start --resume adam");
    floor.ctl(&["start", "--resume", "adam"]).exit(0);
    assert_eq!(floor.status("adam")["notes"], serde_json::json!([]));
}

#[test]
fn a_wait_for_what_cannot_come_ends_at_once() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    let wait = |args: &[&str]| floor.ctl(&[&["wait"], args, &["--timeout", "60s"]].concat());
    wait(&["adam", "--for", "needs_review"]).exit(1).err_has("adam is idle, and has no task");
    floor.ctl(&["start", "--worker", "eve", "--prompt", "COMMIT README.md done Work"]).exit(0);
    // One of them is enough, or it is not.
    wait(&["adam", "eve", "--for", "needs_review"]).exit(1).err_has("adam");
    let any = wait(&["adam", "eve", "--for", "needs_review", "--any", "--json"]).exit(0).json();
    assert_eq!((any["workers"].as_array().unwrap().len(), text(&any, "/workers/0/name")), (1, "eve"));
    floor.ctl(&["start", "--worker", "adam", "--prompt", "EXIT 7"]).exit(0);
    wait(&["adam", "--for", "needs_review"]).exit(1).err_has("adam is in error: exit 7");
    floor.ctl(&["down"]).exit(0);
    wait(&["eve", "--for", "idle"]).exit(1).err_has("eve is offline");
    wait(&["eve", "--for", "offline"]).exit(0);
}

#[test]
fn the_last_words_of_a_program_that_died_at_once_can_be_read() {
    let w = World::new();
    let floor = Floor::new(&w);
    let wide = "x".repeat(300);
    let config = floor.root.read("config.toml");
    let table = format!(
        "\n[agents.dier]\ncommand = [\"sh\", \"-c\", \"echo last words; echo {wide}; exit 3\"]\nready = {{ pattern = \"^>\" }}\n[workers.adam]\nagent = \"dier\"\n"
    );
    floor.root.write("config.toml", &(config + &table));
    floor.ctl(&["add", "adam"]).exit(0);
    floor.ctl(&["up", "adam"]).exit(4).err_has("last words");
    assert_eq!(floor.ctl(&["peek", "adam"]).exit(0).stdout, format!("last words\n{wide}\n"));
    let shown = floor.root.on_terminal("stty cols 40; worker-ctl peek adam", "").exit(0).stdout;
    let longest = shown.lines().map(|line| line.trim_end().len()).max();
    assert_eq!(longest, Some(40), "{shown}");
}

#[test]
fn an_agent_on_a_branch_of_its_own_is_told_of() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let adam = tree(&floor, "adam");
    let notes = || {
        floor.ctl(&["patrol"]).exit(0);
        floor.status("adam")["notes"].to_string()
    };
    adam.git(&["switch", "-q", "-c", "mine"]);
    assert!(notes().contains("it is on the branch mine"), "{}", notes());
    floor.ctl(&["doctor"]).exit(1).out_has("mine");
    adam.git(&["switch", "-q", "worker/adam"]);
    assert_eq!(notes(), "[]");
    floor.ctl(&["doctor"]).exit(0);
    adam.git(&["switch", "-q", "--detach"]);
    assert!(notes().contains("on no branch"), "{}", notes());
    adam.git(&["branch", "-q", "-D", "worker/adam"]);
    assert!(notes().contains("worker/adam was deleted"), "{}", notes());
    floor.ctl(&["doctor"]).exit(1).out_has("was deleted");
    floor.ctl(&["reset", "adam"]).exit(0);
    assert_eq!(notes(), "[]");
}

#[test]
fn events_have_numbers_and_a_script_that_follows_them_begins_now() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let all = |args: &[&str]| floor.ctl(&[&["events", "--json"], args].concat()).exit(0).json_lines();
    let before = all(&[]);
    let seqs: Vec<u64> = before.iter().map(|record| record["seq"].as_u64().unwrap()).collect();
    assert!(!seqs.is_empty() && seqs.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{seqs:?}");
    let (last, last_time) = (seqs[seqs.len() - 1], text(&before[0], "/time").to_owned());
    let (child, lines) = following(&floor.root, "worker-ctl", &["events", "--follow", "--json"]);
    // It is there once it has the log open.
    wait_for(|| floor.root.sh(&format!("ls -l /proc/{}/fd | grep -q events.jsonl", child.id())).status == Some(0));
    floor.ctl(&["start", "--prompt", "think"]).exit(0);
    let first = lines.recv_timeout(std::time::Duration::from_secs(20)).unwrap();
    assert_eq!((text(&first, "/event"), first["seq"].as_u64()), ("start", Some(last + 1)));
    end(child);
    assert_eq!(all(&["--since", &last.to_string()])[0], first);
    assert_eq!(all(&["--since", "all"]).len(), all(&[]).len());
    assert_eq!(all(&["--since", &last_time]).len(), all(&[]).len());
    assert_eq!(all(&["--since", "2100-01-01T00:00:00Z"]).len(), 0);
    assert_eq!(all(&["--since", "1h"]).len(), all(&[]).len());
    floor.ctl(&["events", "--since", "soon"]).exit(2).err_has("--since");
    let (child, lines) = following(&floor.root, "worker-ctl", &["events", "--follow", "--json", "--since", "all"]);
    assert_eq!(lines.recv_timeout(std::time::Duration::from_secs(20)).unwrap(), before[0]);
    end(child);
}

#[test]
fn the_log_of_overlays_has_numbers_too() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    let all = |args: &[&str]| s.app.overlay(&[&["log", "--json"], args].concat()).exit(0).json_lines();
    let before = all(&[]);
    assert_eq!(before.iter().map(|line| line["seq"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(all(&["--since", "1"]), before[1..]);
    assert_eq!(all(&["--since", "2100-01-01T00:00:00Z"]), [] as [Value; 0]);
    let (child, lines) = following(&s.app, "overlay-sync", &["log", "--follow", "--json"]);
    let (all_of_it, everything) = following(&s.app, "overlay-sync", &["log", "--follow", "--json", "--since", "all"]);
    assert_eq!(everything.recv_timeout(std::time::Duration::from_secs(20)).unwrap(), before[0]);
    // A further one says when the first has begun: what is synced before that is history to it.
    let mut value = 1;
    let first = loop {
        value += 1;
        s.a.write(".env", &format!("A={value}\n"));
        s.sync(0);
        if let Ok(line) = lines.recv_timeout(std::time::Duration::from_millis(300)) {
            break line;
        }
    };
    assert!(first["seq"].as_u64() > Some(2), "{first}");
    end(child);
    end(all_of_it);
}
