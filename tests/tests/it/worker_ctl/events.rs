//! worker-ctl: events are numbered and can be followed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::support::overlay::scene;
use crate::support::worker::staff;
use crate::support::world::{Repo, World, text, wait_for};

/// Starts a program that follows a log. Returns it with a channel of its lines.
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
fn events_are_numbered_and_follow_starts_with_new_ones() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let all = |args: &[&str]| floor.ctl(&[&["events", "--json"], args].concat()).exit(0).json_lines();
    let before = all(&[]);
    let seqs: Vec<u64> = before.iter().map(|record| record["seq"].as_u64().unwrap()).collect();
    assert!(!seqs.is_empty() && seqs.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{seqs:?}");
    let (last, last_time) = (seqs[seqs.len() - 1], text(&before[0], "/time").to_owned());
    let (child, lines) = following(&floor.root, "worker-ctl", &["events", "--follow", "--json"]);
    // It follows as soon as it has the log open.
    wait_for(|| {
        floor.root.sh(&format!("ls -l /proc/{}/fd 2>/dev/null | grep -q events.jsonl", child.id())).status == Some(0)
    });
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
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
fn the_overlay_log_is_numbered_and_follow_starts_with_new_lines() {
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
    // Lines written before the first program has started are history to it, so sync until it prints one.
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
