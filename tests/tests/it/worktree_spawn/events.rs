//! Events arrive, once, in order, whatever dies in between.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::spawn::{app, json_lines_of, signal, start, subtree};
use crate::support::sweep::rounds;
use crate::support::world::{Repo, World, text, wait_for, write};

fn spool(app: &Repo<'_>, session: &str, below: &str) -> std::path::PathBuf {
    app.path.join(".git/shopfloor/worktree-spawn/session").join(session).join(below)
}

fn count(app: &Repo<'_>, session: &str, below: &str) -> usize {
    std::fs::read_dir(spool(app, session, below)).map_or(0, Iterator::count)
}

#[test]
fn an_event_waits_until_somebody_takes_it() {
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
        "from": { "id": "main.x", "kind": "subtree", "role": "tl", "birth_branch": "main.x", "name": "x" },
        "to": "root", "status": "success", "message": "all done", "branch": "main.x", "head": head.trim(),
        "seq": 1, "time": event["time"], "commit": head.trim(),
    });
    assert_eq!(event, expected);
    let end = app.spawn(&["wait", "--timeout", "0s"]).exit(124).any_err();
    assert_eq!(end.stdout, "");
    assert_eq!(app.spawn(&["events"]).exit(0).stdout, "");
    // The status is one of three words, and the message is not empty.
    child.spawn(&["notify", "done", "x"]).exit(2).any_err();
    child.spawn(&["notify", "info", "  "]).exit(2).err_has("empty");
    child.spawn(&["notify", "info"]).exit(2).err_has("empty");
    assert_eq!(child.sh("echo 'two\nlines' | worktree-spawn notify info - --json").exit(0).json()["id"], 2);
    let event = app.spawn(&["wait"]).exit(0).json();
    assert_eq!((text(&event, "/type"), text(&event, "/message")), ("agent_message", "two\nlines"));
    child.spawn(&["notify", "failure", "-5 degrees", "--type", "weather"]).succeeds();
    assert_eq!(text(&app.spawn(&["wait"]).exit(0).json(), "/type"), "weather");
    app.spawn(&["wait", "--timeout", "soon"]).exit(2).err_has("must be a length of time");
    app.spawn(&["wait", "--session", "nobody"]).exit(1).any_err();
}

#[test]
fn a_damaged_event_is_told_and_kept() {
    let w = World::new();
    let app = app(&w);
    let x = subtree(&app, &["x"]);
    x.spawn(&["notify", "info", "lost?"]).succeeds();
    let new = app.path.join(".git/shopfloor/worktree-spawn/session/root/new");
    let file = std::fs::read_dir(&new).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&file, "{\"v\":1,").unwrap();
    app.spawn(&["wait", "--timeout", "0s"]).exit(124).err_has("is damaged; it is kept in");
    app.spawn(&["doctor"]).exit(1).out_has("1 files for root are no events");
}

#[test]
fn a_task_comes_from_stdin_and_is_a_text() {
    let w = World::new();
    let app = app(&w);
    app.sh("echo 'Write it' | worktree-spawn subtree a --task -").succeeds();
    assert_eq!(app.read(".shopfloor/worktrees/a/.shopfloor/task.md"), "Write it\n");
    app.spawn(&["subtree", "b", "--task", " "]).exit(2).err_has("the task is empty");
    app.sh("printf 'a\\0b' | worktree-spawn subtree b --task-file -").exit(2).err_has("NUL");
    assert!(!app.has(".shopfloor/worktrees/b"));
}

#[test]
fn doctor_finds_what_repair_mends() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["x"]);
    app.spawn(&["doctor"]).exit(0).out_has("ok ");
    app.write(".git/info/exclude", "");
    app.spawn(&["doctor", "--repair", "-n"]).exit(0).out_has("would add the lines");
    assert_eq!(app.read(".git/info/exclude"), "");
    app.spawn(&["doctor", "--repair"]).exit(3).err_has("--yes");
    app.spawn(&["doctor", "--repair", "--yes"]).exit(0).any_err().out_has("fixed ");
    assert!(app.read(".git/info/exclude").contains("/.mcp.json"));
    app.spawn(&["remove", "x"]).succeeds().out_has("removed main.x\n");
}

#[test]
fn events_that_do_not_match_stay() {
    let w = World::new();
    let app = app(&w);
    let (x, y) = (subtree(&app, &["x"]), subtree(&app, &["y"]));
    for (from, kind, message) in [(&x, "a", "1"), (&y, "a", "2"), (&x, "b", "3"), (&y, "c", "4")] {
        from.spawn(&["notify", "info", message, "--type", kind]).succeeds();
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
fn a_key_is_used_once() {
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
    // Two agents can use the same key.
    subtree(&app, &["y"]).spawn(&["notify", "info", "mine", "--dedupe", "k/1"]).succeeds();
    assert_eq!(text(&app.spawn(&["wait"]).exit(0).json(), "/message"), "mine");
}

#[test]
fn eight_writers_and_four_waiters_lose_and_repeat_nothing() {
    let w = World::new();
    let app = app(&w);
    for n in 0..8 {
        app.spawn(&["worker", &format!("w{n}")]).succeeds();
    }
    // How many events each of the eight writes; each of the four takes twice as many.
    let each = rounds(25, 200);
    let taken = (2 * each).to_string();
    let waiters: Vec<Child> = (0..4).map(|_| start(&app, &["wait", "--count", &taken, "--timeout", "300s"])).collect();
    let writers: Vec<Child> = (0..8)
        .map(|n| {
            let line =
                format!("for i in $(seq {each}); do worktree-spawn notify info \"$i\" --as root/w{n} || exit 1; done");
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
        let events = json_lines_of(waiter);
        assert_eq!(events.len(), 2 * each);
        let mut last: BTreeMap<String, u64> = BTreeMap::new();
        for event in &events {
            assert!(uids.insert(text(event, "/uid").to_owned()), "twice: {event}");
            ids.insert(event["id"].as_u64().unwrap());
            let n: u64 = text(event, "/message").parse().unwrap();
            let before = last.insert(text(event, "/from/id").to_owned(), n);
            assert!(before.is_none_or(|before| before < n), "out of order: {event}");
        }
    }
    assert_eq!((uids.len(), ids.len(), ids.last().copied()), (8 * each, 8 * each, Some(8 * each as u64)));
    assert_eq!(count(&app, "root", "new") + count(&app, "root", "cur") + count(&app, "root", "tmp"), 0);
}

#[test]
fn no_event_is_dropped_and_a_bad_file_is_set_aside() {
    let w = World::new();
    let app = app(&w);
    let x = subtree(&app, &["x"]);
    x.sh("for i in $(seq 30); do worktree-spawn notify info $i || exit 1; done").succeeds();
    std::fs::write(spool(&app, "root", "new/00000000000000000031.json"), "{\"v\":1,\"id\":31,").unwrap();
    std::fs::write(spool(&app, "root", "new/00000000000000000032.json"), "").unwrap();
    x.spawn(&["notify", "info", "after"]).succeeds();
    let events = app.spawn(&["wait", "--count", "31"]).exit(0).any_err().json_lines();
    assert_eq!(text(&events[30], "/message"), "after");
    assert_eq!((events[30]["id"].as_u64(), count(&app, "root", "bad")), (Some(33), 2));
    // No number is given twice if the file `seq` is lost or damaged.
    std::fs::remove_file(spool(&app, "root", "seq")).unwrap();
    assert_eq!(x.spawn(&["notify", "info", "x", "--json"]).exit(0).json()["id"], 34);
    std::fs::write(spool(&app, "root", "seq"), "\0\0").unwrap();
    assert_eq!(x.spawn(&["notify", "info", "x", "--json"]).exit(0).json()["id"], 35);
}

#[test]
fn what_is_no_file_that_can_be_read_is_set_aside_and_events_go_on() {
    let w = World::new();
    let app = app(&w);
    let x = subtree(&app, &["x"]);
    x.spawn(&["notify", "info", "1"]).succeeds();
    let new = spool(&app, "root", "new");
    let odd = "mkfifo 00000000000000000500.json; ln -s ../seq 00000000000000000501.json; \
               ln -s none 00000000000000000502.json; mkdir 00000000000000000503.json; \
               echo > 00000000000000000504.json; chmod 0 00000000000000000504.json";
    w.at(&new).sh(odd).exit(0);
    app.spawn(&["doctor"]).exit(1).out_has("00000000000000000500.json is no event");
    for message in ["2", "3"] {
        x.run_bound("worktree-spawn", &["notify", "info", message]).exit(0).any_out();
    }
    let events = app.run_bound("worktree-spawn", &["events"]).exit(0).json_lines();
    assert_eq!(events.iter().map(|event| event["id"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 505, 506]);
    assert_eq!(count(&app, "root", "bad"), 5);
    app.spawn(&["doctor"]).exit(1).out_has("5 files for root are no events");
    assert_eq!(app.spawn(&["wait", "--count", "3"]).exit(0).json_lines().len(), 3);
    // A number that no event can have is damage.
    write(&spool(&app, "root", "seq"), "18446744073709551615\n");
    for id in [507, 508] {
        assert_eq!(x.spawn(&["notify", "info", "x", "--json"]).exit(0).json()["id"], id);
    }
}

#[test]
fn a_reader_that_goes_away_has_not_taken_the_event() {
    let w = World::new();
    let app = app(&w);
    let x = subtree(&app, &["x"]);
    x.spawn(&["notify", "info", "hello"]).succeeds();
    for _ in 0..5 {
        app.sh("worktree-spawn wait --timeout 20s | head -c0").exit(0);
        assert_eq!(app.spawn(&["events"]).exit(0).json_lines().len(), 1);
    }
    // What is open for reading only takes nothing.
    for stdout in ["> /dev/full", "1< /dev/null"] {
        app.sh(&format!("worktree-spawn wait --timeout 20s {stdout}")).exit(4).err_has("cannot write the answer");
    }
    assert_eq!(text(&app.spawn(&["wait"]).exit(0).json(), "/message"), "hello");
}

#[test]
fn an_event_is_delivered_again_when_its_lease_ends() {
    let w = World::new();
    let app = app(&w);
    let x = subtree(&app, &["x"]);
    x.spawn(&["notify", "info", "hello"]).succeeds();
    // For these two the time stands still, so the lease ends after the second one, however long that takes.
    let now = jiff::Timestamp::now().to_string();
    let still = [("SHOPFLOOR_NOW", now.as_str())];
    let first = app.run_with("worktree-spawn", &["wait", "--lease", "2s"], &still).exit(0).json();
    app.run_with("worktree-spawn", &["wait", "--timeout", "0s"], &still).exit(124).any_err();
    let waited = Instant::now();
    let second = app.spawn(&["wait", "--lease", "1h"]).exit(0).json();
    assert_eq!(first, second);
    assert!(waited.elapsed() < Duration::from_secs(30));
    let uid = text(&first, "/uid");
    assert_eq!(app.spawn(&["events"]).exit(0).json_lines().len(), 1);
    app.spawn(&["ack", uid]).succeeds();
    app.spawn(&["ack", uid]).exit(1).err_has("no event here");
    assert_eq!(app.spawn(&["events", "--all"]).exit(0).stdout, "");
    // A waiter is killed before it acknowledges the event.
    x.spawn(&["notify", "info", "again"]).succeeds();
    let mut waiter = start(&app, &["wait", "--count", "2", "--lease", "1s"]);
    let mut line = String::new();
    BufReader::new(waiter.stdout.take().unwrap()).read_line(&mut line).unwrap();
    signal(&waiter, "-KILL");
    waiter.wait().unwrap();
    assert_eq!(app.spawn(&["wait", "--timeout", "60s"]).exit(0).stdout, line);
}

/// Whether the main thread of a process waits for something.
fn sleeps(child: &Child) -> bool {
    std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap().contains("State:\tS")
}

#[test]
fn ctrl_c_ends_a_wait_and_leaves_the_event() {
    let w = World::new();
    let app = app(&w);
    let x = subtree(&app, &["x"]);
    let waiter = start(&app, &["wait", "--type", "other"]);
    wait_for(|| spool(&app, "root", "new").is_dir());
    x.spawn(&["notify", "info", "hello"]).succeeds();
    signal(&waiter, "-INT");
    let status = waiter.wait_with_output().unwrap().status;
    // Before `wait` handles signals, the signal kills it.
    assert!(status.code() == Some(130) || status.signal() == Some(2), "{status}");
    assert_eq!(count(&app, "root", "new"), 1);
    let mut follower = start(&app, &["events", "--follow", "--since", "all"]);
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("hello"));
    x.spawn(&["notify", "info", "more"]).succeeds();
    assert!(lines.next().unwrap().unwrap().contains("more"));
    // As long as it writes, the signal itself ends it.
    wait_for(|| sleeps(&follower));
    signal(&follower, "-INT");
    assert_eq!(follower.wait().unwrap().code(), Some(130));
    assert_eq!(count(&app, "root", "new"), 2);
}

#[test]
fn publishing_while_a_wait_begins_never_hangs_it() {
    let w = World::new();
    let app = app(&w);
    app.spawn(&["worker", "w"]).succeeds();
    for n in 0..rounds(50, 500) {
        let waiter = start(&app, &["wait", "--timeout", "60s"]);
        app.spawn(&["notify", "info", &n.to_string(), "--as", "root/w"]).succeeds();
        let output = waiter.wait_with_output().unwrap();
        assert!(output.status.success(), "try {n}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_sleeping_wait_does_not_wake_up() {
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
    // The process sleeps once the number of context switches stays the same for two seconds.
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
fn a_wait_on_a_full_pipe_can_be_ended_and_takes_nothing() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["x"]);
    write(&w.home("big"), &"x".repeat(400_000));
    child.sh("worktree-spawn notify info - < $HOME/big").succeeds();
    let mut wait = start(&app, &["wait"]);
    wait_for(|| {
        let state = std::fs::read_to_string(format!("/proc/{}/wchan", wait.id())).unwrap_or_default();
        state.contains("pipe")
            || std::fs::read_to_string(format!("/proc/{}/syscall", wait.id())).is_ok_and(|s| s.starts_with("1 0x1"))
    });
    app.sh(&format!("kill -TERM {}", wait.id())).exit(0);
    wait.wait().unwrap();
    let event = app.spawn(&["wait", "--timeout", "9s"]).exit(0).json();
    assert_eq!(text(&event, "/message").len(), 400_000);
}
