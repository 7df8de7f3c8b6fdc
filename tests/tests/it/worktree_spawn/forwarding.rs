//! Events of and for agents that were removed.

use std::process::Stdio;

use serde_json::json;

use crate::support::spawn::{app, subtree};
use crate::support::world::{World, text, wait_for, write};

#[test]
fn an_agent_that_outlives_its_parent_reports_to_the_next_ancestor() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["x"]);
    child.spawn(&["worker", "w"]).succeeds();
    // The agent lives until its input is closed.
    let mut run = w.command(w.path("bin/worktree-spawn"));
    run.args(["run", "main.x/w", "--", "sh", "-c", "read line"]).current_dir(&child.path).stdin(Stdio::piped());
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // The session main.x has never had an event.
    wait_for(|| app.spawn(&["list", "--live", "--json"]).exit(0).stdout.contains("main.x/w"));
    app.spawn(&["remove", "x", "--force"]).succeeds();
    drop(run.stdin.take());
    run.wait().unwrap();
    let event = app.spawn(&["wait", "--timeout", "20s"]).exit(0).json();
    assert_eq!((text(&event, "/from/id"), text(&event, "/forwarded_from")), ("main.x/w", "main.x"));
    // A new agent of the same name does not inherit the keys of the earlier one.
    let again = subtree(&app, &["x"]);
    again.spawn(&["notify", "info", "one", "--dedupe", "k"]).succeeds();
    app.spawn(&["remove", "x"]).succeeds();
    subtree(&app, &["x"]).spawn(&["notify", "info", "two", "--dedupe", "k"]).succeeds();
    let said = app.spawn(&["wait", "--count", "2", "--timeout", "9s"]).exit(0).json_lines();
    assert_eq!((text(&said[0], "/message"), text(&said[1], "/message")), ("one", "two"));
    // `repair` forwards an event that a kill left behind a tombstone.
    app.spawn(&["remove", "x"]).succeeds();
    let session = app.path.join(".git/shopfloor/worktree-spawn/session/main.x");
    let event = json!({ "v": 1, "id": 7, "uid": "u7", "ts": "t", "type": "left", "from": { "id": "main.x/w" } });
    write(&session.join("new/00000000000000000007.json"), &format!("{event}\n"));
    app.spawn(&["repair"]).exit(0).out_has("1 events for it go to root");
    assert_eq!(text(&app.spawn(&["wait", "--timeout", "9s"]).exit(0).json(), "/type"), "left");
}

#[test]
fn events_for_a_removed_agent_go_to_the_next_ancestor() {
    let w = World::new();
    let app = app(&w);
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nmax_depth = 3\n");
    let a = subtree(&app, &["a"]);
    let outside = w.home("b");
    let b = subtree(&a, &["b", "--base-dir", outside.to_str().unwrap()]);
    b.spawn(&["notify", "info", "before"]).succeeds();
    app.spawn(&["remove", "a"]).succeeds();
    b.spawn(&["notify", "success", "after"]).succeeds();
    let events = app.spawn(&["wait", "--count", "2", "--timeout", "10s"]).exit(0).json_lines();
    let said: Vec<_> =
        events.iter().map(|e| (text(e, "/message"), text(e, "/forwarded_from"), text(e, "/to"))).collect();
    assert_eq!(said, [("before", "main.a", "main.a"), ("after", "main.a", "main.a")]);
    assert!(app.spawn(&["wait", "--session", "main.a"]).exit(1).err_has("go to root").stdout.is_empty());
    // An agent that is spawned again gets its own events.
    let a = subtree(&app, &["a"]);
    b.spawn(&["notify", "info", "back"]).succeeds();
    assert_eq!(text(&a.spawn(&["wait", "--timeout", "10s"]).exit(0).json(), "/message"), "back");
    // After a removal by git alone, `repair` forwards the events.
    b.spawn(&["notify", "info", "waiting"]).succeeds();
    app.git(&["worktree", "remove", a.path.to_str().unwrap()]);
    app.spawn(&["repair"]).exit(0).out_has("1 events for it go to root");
    b.spawn(&["notify", "info", "later"]).succeeds();
    let events = app.spawn(&["wait", "--count", "2", "--timeout", "10s"]).exit(0).json_lines();
    assert_eq!((text(&events[0], "/message"), text(&events[1], "/message")), ("waiting", "later"));
}
