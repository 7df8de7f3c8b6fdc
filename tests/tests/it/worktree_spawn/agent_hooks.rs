//! The commands that agent programs call from their hooks.

use std::process::Stdio;

use serde_json::Value;

use crate::support::spawn::{app, subtree};
use crate::support::world::{Repo, World, text};

#[test]
fn agent_hooks_never_fail() {
    let w = World::new();
    let app = app(&w);
    for line in [
        "worktree-spawn hook worker-exit --bogus",
        "worktree-spawn -C /nonexistent hook worker-exit",
        "SHOPFLOOR_NOW=soon worktree-spawn hook worker-exit",
        "mkdir gone && cd gone && rmdir ../gone && echo '{}' | worktree-spawn hook worker-exit",
        "echo '{}' | worktree-spawn --json hook worktree-remove",
        "echo '{\"hook_event_name\":\"PreToolUse\"}' | worktree-spawn hook worker-exit",
    ] {
        assert_eq!(app.sh(line).exit(0).any_err().stdout, "", "{line}");
    }
    app.spawn(&["hook", "nothing"]).exit(2).any_err();
    assert_eq!(app.spawn(&["events", "--all"]).exit(0).stdout, "");
}

#[test]
fn the_end_of_a_turn_is_reported() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["x"]);
    child.spawn(&["worker", "g", "--agent", "gemini"]).succeeds();
    let hook = |at: &Repo<'_>, args: &str, json: Value| {
        at.write("../../tmp.json", &json.to_string());
        let out = at.sh(&format!("worktree-spawn hook worker-exit {args} < ../../tmp.json")).succeeds();
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
    // JavaScript writes half a character so.
    let cut = r#"{"hook_event_name":"Stop","last_assistant_message":"cut \ud83d"}"#;
    child.sh(&format!("printf %s '{cut}' | worktree-spawn hook worker-exit")).exit(0);
    assert_eq!(text(&app.spawn(&["wait"]).exit(0).json(), "/message"), "cut \u{fffd}");
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
    // Bad input exits 0 as well and prints nothing on stdout.
    for bad in [Value::Null, serde_json::json!([1]), serde_json::json!({ "cwd": "/nowhere" })] {
        hook(&app, "", bad);
    }
    assert!(hook(&app, "--as nobody", serde_json::json!({})).contains("notice"));
    let nowhere = w.at(w.home(""));
    nowhere.sh("echo '{}' | worktree-spawn hook worker-exit").exit(0).any_err();
    assert_eq!(app.spawn(&["events", "--all"]).exit(0).stdout, "");
}

#[test]
fn claude_worktree_hooks_make_and_remove_subtrees() {
    let w = World::new();
    let app = app(&w);
    let hook = |what: &str, json: serde_json::Value| {
        let mut command = w.command(w.path("bin/worktree-spawn"));
        command.args(["hook", what]).current_dir(&app.path).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), json.to_string().as_bytes()).unwrap();
        crate::support::world::Output::from(what.to_owned(), child.wait_with_output().unwrap())
    };
    let cwd = app.path.to_str().unwrap();
    let create = |name: &str| {
        hook(
            "worktree-create",
            serde_json::json!({ "session_id": "s", "transcript_path": "/t", "cwd": cwd, "hook_event_name": "WorktreeCreate", "name": name }),
        )
    };
    let path = create("bold-oak").exit(0).stdout;
    let child = w.at(path.trim_end());
    assert_eq!(child.spawn(&["whoami"]).exit(0).stdout, "main.bold-oak\n");
    assert_eq!(create("bold-oak").exit(0).stdout, path);
    let bad = create("!!!").exit(1);
    assert_eq!(bad.stdout, "");
    bad.err_has("no letter or digit");
    assert_eq!(hook("worktree-create", serde_json::json!({ "cwd": cwd })).exit(1).err_has("no `name`").stdout, "");
    let remove = |path: &str| {
        hook(
            "worktree-remove",
            serde_json::json!({ "cwd": cwd, "hook_event_name": "WorktreeRemove", "worktree_path": path }),
        )
    };
    child.write("work", "mine");
    let kept = remove(path.trim_end()).exit(0);
    assert_eq!(kept.stdout, "");
    kept.err_has("uncommitted changes");
    assert!(child.has("work"));
    std::fs::remove_file(child.path.join("work")).unwrap();
    assert_eq!(remove(path.trim_end()).exit(0).stdout, "");
    assert!(!child.path.exists());
    let main = remove(cwd).exit(0);
    main.err_has("was not spawned by worktree-spawn");
    assert!(!main.stderr.contains("hint"), "{main}");
    let other = app.worktree("other");
    remove(other.path.to_str().unwrap()).exit(0).err_has("remove it with `git worktree remove`");
}
