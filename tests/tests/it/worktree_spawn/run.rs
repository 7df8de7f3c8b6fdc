//! `run`: how the end of a command is reported, and when an agent counts as alive.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::support::spawn::{app, json_lines_of, signal, start, subtree};
use crate::support::world::{World, text, wait_for};

#[test]
fn run_reports_how_the_command_ended() {
    let w = World::new();
    let app = app(&w);
    app.spawn(&["worker", "w"]).succeeds();
    let out = app.spawn(&["run", "root/w", "--", "sh", "-c", "echo out; echo err >&2; exit 3"]).exit(3);
    assert_eq!((out.stdout.as_str(), out.stderr.as_str()), ("out\n", "err\n"));
    let event = app.spawn(&["wait", "--timeout", "10s"]).exit(0).json();
    assert_eq!(
        (text(&event, "/type"), text(&event, "/status"), text(&event, "/message")),
        ("worker_complete", "failure", "exit 3")
    );
    assert_eq!((event["exit"].as_i64(), text(&event, "/head")), (Some(3), app.git(&["rev-parse", "HEAD"]).trim()));
    app.spawn(&["run", "root/w", "--", "sh", "-c", "kill -9 $$"]).exit(137);
    let event = app.spawn(&["wait", "--timeout", "10s"]).exit(0).json();
    assert_eq!((text(&event, "/message"), event["signal"].as_i64()), ("signal 9", Some(9)));
    let row = app.spawn(&["list", "--json", "--kind", "worker"]).exit(0).json();
    assert_eq!((text(&row, "/state"), row["exit"].to_string().as_str()), ("exited", "{\"signal\":9}"));
    // An agent that reported its result only exits afterwards.
    app.spawn(&["run", "root/w", "--", "worktree-spawn", "notify", "success", "all done"]).succeeds();
    let types = app.spawn(&["wait", "--count", "2", "--timeout", "10s"]).exit(0).json_lines();
    let types: Vec<_> = types.iter().map(|event| (text(event, "/type"), text(event, "/status"))).collect();
    assert_eq!(types, [("worker_complete", "success"), ("worker_exited", "success")]);
    app.spawn(&["run", "root/w", "--", "no-such-program"]).exit(4).err_has("not on the PATH");
    let event = app.spawn(&["wait", "--timeout", "10s"]).exit(0).json();
    assert_eq!((text(&event, "/type"), text(&event, "/message")), ("worker_complete", "exit 127"));
    app.spawn(&["run", "nobody", "--", "true"]).exit(1).any_err();
    app.spawn(&["run", "root/w", "--dry-run", "--", "rm", "-rf", "a b"])
        .exit(0)
        .out_has("would run rm -rf 'a b' as root/w");
    assert_eq!(app.spawn(&["events"]).exit(0).stdout, "");
}

#[test]
fn an_agent_lives_as_long_as_its_command() {
    let w = World::new();
    let app = app(&w);
    app.spawn(&["worker", "w"]).succeeds();
    app.sh("mkfifo fifo").exit(0);
    let mut run = start(&app, &["run", "root/w", "--", "sh", "-c", "touch begun; read line < fifo"]);
    wait_for(|| app.has("begun"));
    run.kill().unwrap();
    run.wait().unwrap();
    // The command goes on.
    assert!(app.spawn(&["list", "--live", "--json"]).exit(0).stdout.contains("root/w"));
    app.spawn(&["run", "root/w", "--", "true"]).exit(75).any_err();
    app.spawn(&["wait", "--timeout", "0s"]).exit(124).any_err();
    app.sh("echo go > fifo").exit(0);
    let event = app.spawn(&["wait", "--timeout", "30s"]).exit(0).json();
    assert_eq!(text(&event, "/type"), "worker_died");
    // A background process of one run does not prevent the next one.
    app.spawn(&["run", "root/w", "--", "sh", "-c", "sleep 600 > /dev/null 2>&1 & echo $! > pid"]).exit(0);
    app.spawn(&["run", "root/w", "--", "true"]).exit(0);
    app.sh("kill $(cat pid)").exit(0);
    let ends = app.spawn(&["wait", "--count", "2", "--timeout", "9s"]).exit(0).json_lines();
    assert!(ends.iter().all(|end| end["exit"] == 0), "{ends:?}");
}

#[test]
fn a_root_can_run_and_a_death_after_that_of_run_is_reported() {
    let w = World::new();
    let app = app(&w);
    app.sh("mkfifo fifo").exit(0);
    let mut run = start(&app, &["run", "root", "--", "sh", "-c", "read line < fifo"]);
    wait_for(|| app.spawn(&["list", "--live", "--json"]).exit(0).stdout.contains("\"root\""));
    app.sh("echo go > fifo").exit(0);
    run.wait().unwrap();
    app.spawn(&["worker", "w"]).succeeds();
    let mut run = start(&app, &["run", "root/w", "--", "sh", "-c", "touch begun; read line < fifo"]);
    wait_for(|| app.has("begun"));
    let wait = start(&app, &["wait", "--timeout", "60s"]);
    run.kill().unwrap();
    run.wait().unwrap();
    let since = std::time::Instant::now();
    app.sh("echo go > fifo").exit(0);
    let heard: serde_json::Value = serde_json::from_slice(&wait.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(text(&heard, "/type"), "worker_died");
    assert!(since.elapsed().as_secs() < 30);
    // The words `hook worker-exit` in a command do not make it a hook.
    app.spawn(&["run", "nobody", "--", "x", "hook", "worker-exit"]).exit(1).any_err();
    app.spawn(&["hook", "--json", "worker-exit", "BAD"]).succeeds();
}

#[test]
fn a_death_is_reported_once() {
    let w = World::new();
    let app = app(&w);
    app.spawn(&["worker", "w"]).succeeds();
    let mut run = w.command("setsid");
    run.arg(w.path("bin/worktree-spawn")).args(["run", "root/w", "--", "sh", "-c", "echo begun; exec sleep 600"]);
    let mut run = run.current_dir(&app.path).stdout(Stdio::piped()).spawn().unwrap();
    let mut begun = String::new();
    BufReader::new(run.stdout.take().unwrap()).read_line(&mut begun).unwrap();
    let live = app.spawn(&["list", "--live", "--json"]).exit(0).json();
    assert_eq!((text(&live, "/id"), text(&live, "/state")), ("root/w", "live"));
    app.spawn(&["run", "root/w", "--", "true"]).exit(75).err_has("already running");
    app.spawn(&["remove", "root/w"]).exit(1).err_has("is running");
    // The whole process group is killed, and exactly one of four waiters gets the event.
    let mut waiters: Vec<Child> = (0..4).map(|_| start(&app, &["wait", "--timeout", "60s"])).collect();
    wait_for(|| {
        waiters.iter().all(|child| {
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
            status.contains("State:\tS") && status.lines().any(|l| l.starts_with("Threads:\t") && l != "Threads:\t1")
        })
    });
    let group = format!("-{}", run.id());
    assert!(std::process::Command::new("kill").args(["-9", "--", &group]).status().unwrap().success());
    run.wait().unwrap();
    wait_for(|| waiters.iter_mut().any(|child| child.try_wait().unwrap().is_some()));
    // From here on nobody can report the death again.
    assert_eq!(text(&app.spawn(&["list", "--dead", "--json"]).exit(0).json(), "/state"), "died");
    for child in &mut waiters {
        if child.try_wait().unwrap().is_none() {
            signal(child, "-TERM");
        }
    }
    let heard: Vec<Value> = waiters.into_iter().flat_map(json_lines_of).collect();
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!((text(&heard[0], "/type"), text(&heard[0], "/from/id")), ("worker_died", "root/w"));
    assert_eq!(app.spawn(&["events", "--all"]).exit(0).stdout, "");
    // The next run ends normally.
    app.spawn(&["run", "root/w", "--", "true"]).exit(0);
    assert_eq!(text(&app.spawn(&["wait"]).exit(0).json(), "/type"), "worker_complete");
}

#[test]
fn nothing_runs_for_an_agent_whose_worktree_is_not_there() {
    let w = World::new();
    let app = app(&w);
    let x = subtree(&app, &["x"]);
    x.spawn(&["worker", "w"]).succeeds();
    for gone in ["rm .git", "rm -rf \"$PWD\""] {
        x.sh(gone).exit(0);
        for id in ["main.x", "main.x/w"] {
            let refused = app.spawn(&["run", id, "--", "pwd"]).exit(1);
            refused.err_has(&format!("is not at {}", x.path.display())).err_has("worktree-spawn repair");
        }
    }
    assert_eq!(app.spawn(&["events", "--all"]).exit(0).stdout, "");
}

#[test]
fn a_run_goes_on_when_the_agents_parent_is_removed() {
    let w = World::new();
    let app = app(&w);
    let outside = w.home("trees");
    let a = subtree(&app, &["a"]);
    subtree(&a, &["b", "--max-depth", "3", "--base-dir", outside.to_str().unwrap()]);
    let mut run = w.command(w.path("bin/worktree-spawn"));
    run.args(["run", "main.a.b", "--", "sh", "-c", "echo begun; exec cat"]).current_dir(&app.path);
    let mut run = run.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    BufReader::new(run.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    app.spawn(&["remove", "main.a"]).succeeds();
    assert_eq!(text(&app.spawn(&["list", "--live", "--json"]).exit(0).json(), "/id"), "main.a.b");
    drop(run.stdin.take());
    assert!(run.wait().unwrap().success());
}
