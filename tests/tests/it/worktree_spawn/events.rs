//! worktree-spawn: events that arrive, once they were taken, in their order, whoever dies in between.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::spawn::{app, subtree};
use crate::support::world::{Repo, World, text, wait_for};

fn start(at: &Repo<'_>, args: &[&str]) -> Child {
    let mut command = at.world.command(at.world.path("bin/worktree-spawn"));
    command.args(args).current_dir(&at.path).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn lines(child: Child) -> Vec<Value> {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args([name, &pid]).status().unwrap().success());
}

fn spool(app: &Repo<'_>, session: &str, below: &str) -> std::path::PathBuf {
    app.path.join(".git/shopfloor/worktree-spawn/session").join(session).join(below)
}

fn count(app: &Repo<'_>, session: &str, below: &str) -> usize {
    std::fs::read_dir(spool(app, session, below)).map_or(0, Iterator::count)
}

#[test]
fn an_event_waits_for_whoever_was_not_listening() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["x"]);
    let sent = child.spawn(&["notify", "success", "all done", "--json"]).exit(0).json();
    assert_eq!((text(&sent, "/to"), sent["id"].as_u64()), ("root", Some(1)));
    assert_eq!(app.spawn(&["events"]).exit(0).json_lines().len(), 1);
    let event = app.spawn(&["wait"]).exit(0).json();
    let head = app.git(&["rev-parse", "HEAD"]);
    let expected = serde_json::json!({
        "v": 1, "id": 1, "uid": sent["uid"], "ts": event["ts"], "type": "subtree_complete",
        "from": { "id": "main.x", "kind": "subtree", "role": "tl", "birth_branch": "main.x" }, "to": "root",
        "status": "success", "message": "all done", "branch": "main.x", "head": head.trim(),
    });
    assert_eq!(event, expected);
    let end = app.spawn(&["wait", "--timeout", "0s"]).exit(124).any_err();
    assert_eq!(end.stdout, "");
    assert_eq!(app.spawn(&["events"]).exit(0).stdout, "");
    // What is said is said in one of three words, and not in none.
    child.spawn(&["notify", "done", "x"]).exit(2).any_err();
    child.spawn(&["notify", "info", "  "]).exit(2).err_has("empty");
    child.spawn(&["notify", "info"]).exit(2).err_has("empty");
    assert_eq!(child.sh("echo 'two\nlines' | worktree-spawn notify info - --json").exit(0).json()["id"], 2);
    let event = app.spawn(&["wait"]).exit(0).json();
    assert_eq!((text(&event, "/type"), text(&event, "/message")), ("agent_message", "two\nlines"));
    child.spawn(&["notify", "failure", "-5 degrees", "--type", "weather"]).exit(0);
    assert_eq!(text(&app.spawn(&["wait"]).exit(0).json(), "/type"), "weather");
    app.spawn(&["wait", "--timeout", "soon"]).exit(2).err_has("must be a time");
    app.spawn(&["wait", "--session", "nobody"]).exit(1).any_err();
}

#[test]
fn what_is_not_wanted_stays() {
    let w = World::new();
    let app = app(&w);
    let (x, y) = (subtree(&app, &["x"]), subtree(&app, &["y"]));
    for (from, kind, message) in [(&x, "a", "1"), (&y, "a", "2"), (&x, "b", "3"), (&y, "c", "4")] {
        from.spawn(&["notify", "info", message, "--type", kind]).exit(0);
    }
    let wait = |args: &[&str]| -> Vec<String> {
        let events =
            app.spawn(&[&["wait", "--timeout", "0s", "--count", "9"], args].concat()).exit(124).any_err().json_lines();
        events.iter().map(|event| text(event, "/message").to_owned()).collect()
    };
    assert_eq!(wait(&["--type", "b", "--type", "c", "--from", "main.x"]), ["3"]);
    assert_eq!(wait(&["--after", "2", "--from", "y"]), ["4"]);
    app.spawn(&["wait", "--from", "nobody"]).exit(1).err_has("no agent `nobody`");
    app.spawn(&["wait", "--type", ""]).exit(2).any_err();
    assert_eq!(wait(&[]), ["1", "2"]);
    assert_eq!(wait(&[]), [""; 0]);
}

#[test]
fn one_key_is_one_event() {
    let w = World::new();
    let app = app(&w);
    let x = subtree(&app, &["x"]);
    let send = |message: &str| x.spawn(&["notify", "info", message, "--dedupe", "k/1", "--json"]).exit(0).json();
    let first = send("first");
    let second = send("second");
    assert_eq!(
        (&second["uid"], &second["id"], second["repeated"].as_bool()),
        (&first["uid"], &first["id"], Some(true))
    );
    assert_eq!(text(&app.spawn(&["wait"]).exit(0).json(), "/message"), "first");
    assert_eq!(send("third"), second);
    assert_eq!(count(&app, "root", "new"), 0);
    // Another agent's key is another key.
    subtree(&app, &["y"]).spawn(&["notify", "info", "mine", "--dedupe", "k/1"]).exit(0);
    assert_eq!(text(&app.spawn(&["wait"]).exit(0).json(), "/message"), "mine");
}

#[test]
fn case_10_eight_write_and_four_take() {
    let w = World::new();
    let app = app(&w);
    for n in 0..8 {
        app.spawn(&["worker", &format!("w{n}")]).exit(0);
    }
    let waiters: Vec<Child> = (0..4).map(|_| start(&app, &["wait", "--count", "400", "--timeout", "300s"])).collect();
    let writers: Vec<Child> = (0..8)
        .map(|n| {
            let line =
                format!("for i in $(seq 200); do worktree-spawn notify info \"$i\" --as root/w{n} || exit 1; done");
            let mut command = w.command("sh");
            command.args(["-c", &line]).current_dir(&app.path).stdout(Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let mut uids = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for waiter in waiters {
        let events = lines(waiter);
        assert_eq!(events.len(), 400);
        let mut last: BTreeMap<String, u64> = BTreeMap::new();
        for event in &events {
            assert!(uids.insert(text(event, "/uid").to_owned()), "twice: {event}");
            ids.insert(event["id"].as_u64().unwrap());
            let n: u64 = text(event, "/message").parse().unwrap();
            let before = last.insert(text(event, "/from/id").to_owned(), n);
            assert!(before.is_none_or(|before| before < n), "out of order: {event}");
        }
    }
    assert_eq!((uids.len(), ids.len(), ids.last().copied()), (1600, 1600, Some(1600)));
    assert_eq!(count(&app, "root", "new") + count(&app, "root", "cur") + count(&app, "root", "tmp"), 0);
}

#[test]
fn nothing_is_dropped_and_a_bad_file_is_set_aside() {
    let w = World::new();
    let app = app(&w);
    let x = subtree(&app, &["x"]);
    x.sh("for i in $(seq 300); do worktree-spawn notify info $i || exit 1; done").exit(0);
    std::fs::write(spool(&app, "root", "new/00000000000000000301.json"), "{\"v\":1,\"id\":301,").unwrap();
    std::fs::write(spool(&app, "root", "new/00000000000000000302.json"), "").unwrap();
    x.spawn(&["notify", "info", "after"]).exit(0);
    let events = app.spawn(&["wait", "--count", "301"]).exit(0).json_lines();
    assert_eq!(text(&events[300], "/message"), "after");
    assert_eq!((events[300]["id"].as_u64(), count(&app, "root", "bad")), (Some(303), 2));
    // A lost or torn sequence file gives no number twice.
    std::fs::remove_file(spool(&app, "root", "seq")).unwrap();
    assert_eq!(x.spawn(&["notify", "info", "x", "--json"]).exit(0).json()["id"], 304);
    std::fs::write(spool(&app, "root", "seq"), "\0\0").unwrap();
    assert_eq!(x.spawn(&["notify", "info", "x", "--json"]).exit(0).json()["id"], 305);
}

#[test]
fn a_reader_that_goes_away_has_not_taken_it() {
    let w = World::new();
    let app = app(&w);
    let x = subtree(&app, &["x"]);
    x.spawn(&["notify", "info", "hello"]).exit(0);
    for _ in 0..5 {
        app.sh("worktree-spawn wait --timeout 20s | head -c0").exit(0);
        assert_eq!(app.spawn(&["events"]).exit(0).json_lines().len(), 1);
    }
    app.sh("worktree-spawn wait --timeout 20s > /dev/full").exit(4).any_err();
    assert_eq!(text(&app.spawn(&["wait"]).exit(0).json(), "/message"), "hello");
}

#[test]
fn case_11_a_lease_that_runs_out_is_delivered_again() {
    let w = World::new();
    let app = app(&w);
    let x = subtree(&app, &["x"]);
    x.spawn(&["notify", "info", "hello"]).exit(0);
    let first = app.spawn(&["wait", "--lease", "2s"]).exit(0).json();
    app.spawn(&["wait", "--timeout", "0s"]).exit(124).any_err();
    let waited = Instant::now();
    let second = app.spawn(&["wait", "--lease", "1h"]).exit(0).json();
    assert_eq!(first, second);
    assert!(waited.elapsed() < Duration::from_secs(30));
    let uid = text(&first, "/uid");
    assert_eq!(app.spawn(&["events"]).exit(0).json_lines().len(), 1);
    app.spawn(&["ack", uid]).exit(0);
    app.spawn(&["ack", uid]).exit(1).err_has("no event here");
    assert_eq!(app.spawn(&["events", "--all"]).exit(0).stdout, "");
    // A waiter that is killed before it acknowledged.
    x.spawn(&["notify", "info", "again"]).exit(0);
    let mut waiter = start(&app, &["wait", "--count", "2", "--lease", "1s"]);
    let mut line = String::new();
    BufReader::new(waiter.stdout.take().unwrap()).read_line(&mut line).unwrap();
    signal(&waiter, "-KILL");
    waiter.wait().unwrap();
    assert_eq!(app.spawn(&["wait", "--timeout", "60s"]).exit(0).stdout, line);
}

#[test]
fn ctrl_c_ends_a_wait_and_leaves_the_event() {
    let w = World::new();
    let app = app(&w);
    let x = subtree(&app, &["x"]);
    let waiter = start(&app, &["wait", "--type", "other"]);
    wait_for(|| spool(&app, "root", "new").is_dir());
    x.spawn(&["notify", "info", "hello"]).exit(0);
    signal(&waiter, "-INT");
    let status = waiter.wait_with_output().unwrap().status;
    // Before it has begun to listen the signal ends it as it ends any program.
    use std::os::unix::process::ExitStatusExt;
    assert!(status.code() == Some(130) || status.signal() == Some(2), "{status}");
    assert_eq!(count(&app, "root", "new"), 1);
    let mut follower = start(&app, &["events", "--follow"]);
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("hello"));
    x.spawn(&["notify", "info", "more"]).exit(0);
    assert!(lines.next().unwrap().unwrap().contains("more"));
    signal(&follower, "-INT");
    assert_eq!(follower.wait().unwrap().code(), Some(130));
    assert_eq!(count(&app, "root", "new"), 2);
}

#[test]
fn publishing_while_a_wait_begins_never_hangs_it() {
    let w = World::new();
    let app = app(&w);
    app.spawn(&["worker", "w"]).exit(0);
    for n in 0..150 {
        let waiter = start(&app, &["wait", "--timeout", "60s"]);
        app.spawn(&["notify", "info", &n.to_string(), "--as", "root/w"]).exit(0);
        let output = waiter.wait_with_output().unwrap();
        assert!(output.status.success(), "try {n}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_death_is_told_once() {
    let w = World::new();
    let app = app(&w);
    app.spawn(&["worker", "w"]).exit(0);
    let mut run = w.command("setsid");
    run.arg(w.path("bin/worktree-spawn")).args(["run", "root/w", "--", "sh", "-c", "echo begun; exec sleep 600"]);
    let mut run = run.current_dir(&app.path).stdout(Stdio::piped()).spawn().unwrap();
    let mut begun = String::new();
    BufReader::new(run.stdout.take().unwrap()).read_line(&mut begun).unwrap();
    let live = app.spawn(&["list", "--live", "--json"]).exit(0).json();
    assert_eq!((text(&live, "/id"), text(&live, "/state")), ("root/w", "live"));
    app.spawn(&["run", "root/w", "--", "true"]).exit(75).err_has("runs already");
    app.spawn(&["remove", "root/w"]).exit(1).err_has("runs");
    // Four wait, and one kills the whole group: one of them hears of it.
    let waiters: Vec<Child> = (0..4).map(|_| start(&app, &["wait", "--timeout", "10s"])).collect();
    wait_for(|| {
        waiters.iter().all(|child| {
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
            status.contains("State:\tS") && status.lines().any(|l| l.starts_with("Threads:\t") && l != "Threads:\t1")
        })
    });
    let group = format!("-{}", run.id());
    assert!(std::process::Command::new("kill").args(["-9", "--", &group]).status().unwrap().success());
    run.wait().unwrap();
    let heard: Vec<Value> = waiters.into_iter().flat_map(lines).collect();
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!((text(&heard[0], "/type"), text(&heard[0], "/from/id")), ("worker_died", "root/w"));
    assert_eq!(text(&app.spawn(&["list", "--dead", "--json"]).exit(0).json(), "/state"), "died");
    assert_eq!(app.spawn(&["events", "--all"]).exit(0).stdout, "");
    // It lives again, and ends as one should.
    app.spawn(&["run", "root/w", "--", "true"]).exit(0);
    assert_eq!(text(&app.spawn(&["wait"]).exit(0).json(), "/type"), "worker_complete");
}

#[test]
fn a_sleeping_wait_sleeps() {
    let w = World::new();
    let app = app(&w);
    let mut waiter = start(&app, &["wait", "--timeout", "1h"]);
    let switches = |pid: u32| -> u64 {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let status = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).unwrap_or_default());
        let lines: Vec<String> = status.flat_map(|s| s.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
        let counts = lines.iter().filter_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        counts.map(|n| n.trim().parse::<u64>().unwrap()).sum()
    };
    // Until it has come to rest: the same count for a while.
    let mut since = (Instant::now(), switches(waiter.id()));
    wait_for(|| {
        let now = switches(waiter.id());
        if now != since.1 || !spool(&app, "root", "new").is_dir() {
            since = (Instant::now(), now);
        }
        since.0.elapsed() > Duration::from_secs(2)
    });
    signal(&waiter, "-TERM");
    assert_eq!(waiter.wait().unwrap().code(), Some(143));
    let mut said = String::new();
    waiter.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "");
}

#[test]
fn agents_hooks_tell_when_a_turn_ends() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["x"]);
    child.spawn(&["worker", "g", "--agent", "gemini"]).exit(0);
    let hook = |at: &Repo<'_>, args: &str, json: Value| {
        at.write("../../tmp.json", &json.to_string());
        let out = at.sh(&format!("worktree-spawn hook worker-exit {args} < ../../tmp.json")).exit(0);
        assert_eq!(out.stdout, "");
        out.stderr
    };
    let cwd = child.path.to_str().unwrap();
    let claude = serde_json::json!({
        "session_id": "abc", "transcript_path": "/x/y.jsonl", "cwd": cwd, "permission_mode": "default",
        "hook_event_name": "Stop", "stop_hook_active": false, "last_assistant_message": "All tests pass.",
    });
    assert_eq!(hook(&child, "", claude), "");
    let event = app.spawn(&["wait"]).exit(0).json();
    assert_eq!((text(&event, "/type"), text(&event, "/message")), ("worker_idle", "All tests pass."));
    let gemini = serde_json::json!({
        "session_id": "abc", "transcript_path": "/x", "cwd": cwd, "hook_event_name": "AfterAgent",
        "timestamp": "2026-01-01T00:00:00Z", "prompt": "p", "prompt_response": "Wrote it.", "stop_hook_active": false,
    });
    assert_eq!(hook(&child, "--as main.x/g", gemini), "");
    let event = child.spawn(&["wait"]).exit(0).json();
    assert_eq!(
        (text(&event, "/from/id"), text(&event, "/message"), text(&event, "/status")),
        ("main.x/g", "Wrote it.", "info")
    );
    // Whatever happens: 0, and nothing on stdout.
    for bad in [Value::Null, serde_json::json!([1]), serde_json::json!({ "cwd": "/nowhere" })] {
        hook(&app, "", bad);
    }
    assert!(hook(&app, "--as nobody", serde_json::json!({})).contains("notice"));
    let nowhere = w.at(w.home(""));
    nowhere.sh("echo '{}' | worktree-spawn hook worker-exit").exit(0).any_err();
    assert_eq!(app.spawn(&["events", "--all"]).exit(0).stdout, "");
}
