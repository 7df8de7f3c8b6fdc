//! worker-ctl: usage limits that agents' programs hit, and what their sessions cost.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::floor::Floor;
use crate::support::worker::{commit, configure, event, hook, prompts, refused, tree};
use crate::support::world::{World, text, wait_for};

/// A floor with these workers, whose agent has the hooks of this program, and tasks.
fn working<'w>(w: &'w World, hooks: &str, names: &[&str]) -> Floor<'w> {
    let floor = Floor::new(w);
    configure(&floor, "[agents.scripted]\n", &format!("[agents.scripted]\nhooks = \"{hooks}\"\n"));
    for name in names {
        floor.ctl(&["add", name]).succeeds();
    }
    floor.up();
    for name in names {
        floor.ctl(&["start", name, "--task", "think"]).succeeds();
    }
    // Whoever is ended before it has read its task has never got it.
    wait_for(|| floor.prompts().iter().filter(|prompt| prompt.ends_with("think")).count() == names.len());
    floor
}

/// Seconds since 1970.
fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

/// What claude calls when its turn ends at a limit.
fn failed(transcript: &Path) -> Value {
    json!({ "hook_event_name": "StopFailure", "session_id": "s-1", "error": "rate_limit", "transcript_path": transcript })
}

/// A transcript whose last rows tell of a limit.
fn transcript(w: &World, name: &str, resets: &Value) -> PathBuf {
    let path = w.home(&format!("{name}.jsonl"));
    std::fs::write(&path, rows(resets)).unwrap();
    path
}

fn rows(resets: &Value) -> String {
    let quota = json!({ "type": "assistant", "error": "rate_limit",
        "quotaLimits": { "status": "rejected", "resetsAt": resets, "rateLimitType": "five_hour" } });
    format!("{}\n{quota}\n{}\n", json!({ "type": "user" }), json!({ "type": "last-prompt" }))
}

#[test]
fn a_limit_is_neither_rest_nor_error_and_nothing_is_typed_until_it_is_over() {
    let w = World::new();
    let floor = working(&w, "claude", &["adam"]);
    hook(&floor, "adam", &event("UserPromptSubmit"));
    // A question ends with the turn.
    hook(&floor, "adam", &event("PermissionRequest"));
    assert_eq!(text(&floor.status("adam"), "/activity"), "asks");
    // The row with the time comes after the hook was called.
    let (path, until) = (w.home("late.jsonl"), now() + 4_000);
    std::fs::write(&path, "{\"type\":\"user\"}\n").unwrap();
    let text_of = rows(&json!(until));
    let writer = std::thread::spawn({
        let path = path.clone();
        move || {
            let begun = std::time::Instant::now();
            while begun.elapsed() < std::time::Duration::from_millis(200) {
                std::thread::yield_now();
            }
            std::fs::write(path, text_of).unwrap();
        }
    });
    hook(&floor, "adam", &failed(&path));
    writer.join().unwrap();
    let row = floor.status("adam");
    assert_eq!(
        (text(&row, "/activity"), text(&row, "/limit"), text(&row, "/status")),
        ("limited", "five_hour", "working")
    );
    let told: String = text(&row, "/limited_until_at").to_owned();
    assert_eq!((&row["needs"], &row["fault"], &row["crash_count"]), (&Value::Null, &Value::Null, &json!(0)));
    let clock = w.at(w.home("")).sh(&format!("date -d '{told}' +%H:%M")).exit(0).stdout.trim().to_owned();
    floor.ctl(&["status"]).exit(0).out_has("adam  working, limited until ").out_has(&clock);
    floor.ctl(&["wait", "adam", "--for", "limited"]).succeeds();
    floor.ctl(&["wait", "adam", "--for", "you", "--timeout", "0s"]).exit(124).any_err();
    for args in [&["message", "adam", "hurry"][..], &["answer", "adam", "1"], &["start", "--resume", "adam"]] {
        assert_eq!(refused(&floor, args, 1), "occupied", "{args:?}");
    }
    floor.ctl(&["resume", "adam"]).succeeds().err_has("a running `up` lets it go on then");
    // That it waits at its prompt is no news, and its own end by a person neither ends the limit.
    let idle = json!({ "hook_event_name": "Notification", "notification_type": "idle_prompt", "session_id": "s-1" });
    hook(&floor, "adam", &idle);
    let hooks = "hooks = \"claude\"\n";
    configure(&floor, hooks, &format!("{hooks}resume_conversation = [\"CONVERSATION={{conversation}}\"]\n"));
    floor.ctl(&["down"]).succeeds();
    floor.ctl(&["up", "adam"]).succeeds();
    let row = floor.status("adam");
    assert_eq!((text(&row, "/activity"), &row["needs"], &row["notes"]), ("limited", &Value::Null, &json!([])));
    floor.app.shopfloor(&["status"]).any_status().any_err().out_has("working, limited until ").out_has(&clock);
    assert_eq!(floor.prompts().len(), 1, "a text was sent");
    floor.ctl(&["message", "adam", "all the same", "--force"]).succeeds();
    hook(&floor, "adam", &event("UserPromptSubmit"));
    assert_eq!(text(&floor.status("adam"), "/activity"), "busy");
    assert_eq!(floor.status("adam")["limited_until_at"], Value::Null);
    let events = floor.ctl(&["events", "--json"]).exit(0).json_lines();
    let limited: Vec<_> = events.iter().filter(|event| event["activity"] == "limited").collect();
    assert!(!limited.is_empty(), "no event tells of it");
}

#[test]
fn what_a_transcript_lies_about_is_not_believed_and_harms_nobody() {
    let w = World::new();
    let floor = working(&w, "claude", &["adam"]);
    let month = 36 * 24 * 60 * 60;
    let mut files: Vec<PathBuf> = [json!(now() - 5), json!(now() + month)]
        .iter()
        .enumerate()
        .map(|(n, resets)| transcript(&w, &format!("odd{n}"), resets))
        .collect();
    let good = transcript(&w, "good", &json!(now() + 4_000));
    let (link, pipe) = (w.home("link.jsonl"), w.home("pipe.jsonl"));
    std::os::unix::fs::symlink(&good, &link).unwrap();
    w.at(w.home("")).sh(&format!("mkfifo '{}'", pipe.display())).exit(0);
    files.extend([link, pipe, w.home("")]);
    let needed = |year: &str| {
        let at = [("SHOPFLOOR_NOW", format!("{year}-01-01T00:00:00Z"))];
        let at: Vec<(&str, &str)> = at.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let all = floor.root.run_with("worker-ctl", &["status", "--json"], &at).exit(0).json();
        all["workers"][0]["needs"].clone()
    };
    for file in files {
        hook(&floor, "adam", &failed(&file));
        let row = floor.status("adam");
        assert_eq!((text(&row, "/activity"), &row["limited_until_at"]), ("limited", &Value::Null), "{file:?}");
        // Its end may still be told. After that nobody but a person knows when to go on.
        assert_eq!((needed("2000"), needed("2100")), (Value::Null, json!("limited")), "{file:?}");
        // A row whose time cannot be true tells at least which limit it is.
        floor.ctl(&["patrol"]).succeeds();
        let kind =
            file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("odd")).then_some("five_hour");
        assert_eq!(floor.status("adam")["limit"], json!(kind), "{file:?}");
        hook(&floor, "adam", &event("PreToolUse"));
        assert_eq!(text(&floor.status("adam"), "/activity"), "busy", "{file:?}");
    }
    // Another error is no limit.
    let overloaded = json!({ "hook_event_name": "StopFailure", "session_id": "s-1", "error": "server_error" });
    hook(&floor, "adam", &overloaded);
    assert_eq!(text(&floor.status("adam"), "/activity"), "rests");
    // A row that comes later is found by the next look.
    let late = w.home("later.jsonl");
    hook(&floor, "adam", &failed(&late));
    std::fs::write(&late, rows(&json!(now() + 4_000)).replace("five_hour", "no.word")).unwrap();
    floor.ctl(&["patrol"]).succeeds();
    let row = floor.status("adam");
    assert!(row["limited_until_at"].is_string() && row["limit"].is_null(), "{row}");
    floor.app.shopfloor(&["desk", "--print", "100x20"]).exit(0).out_has("goes on ");
}

/// Starts an `up` whose clock shows this time.
fn up_at(floor: &Floor<'_>, unix: i64) {
    let clock = floor.root.sh(&format!("date -u -d @{unix} +%Y-%m-%dT%H:%M:%SZ")).exit(0).stdout.trim().to_owned();
    floor.root.run_with("worker-ctl", &["up", "--detach"], &[("SHOPFLOOR_NOW", &clock)]).succeeds();
}

/// How often an agent was told to go on.
fn told_to_go_on(floor: &Floor<'_>) -> usize {
    floor.prompts().iter().filter(|prompt| *prompt == "Continue with your task.").count()
}

#[test]
fn up_lets_a_program_go_on_that_does_not_do_so_by_itself() {
    let w = World::new();
    let floor = working(&w, "claude", &["adam", "eve"]);
    let until = now() + 1_000;
    for name in ["adam", "eve"] {
        hook(&floor, name, &failed(&transcript(&w, name, &json!(until))));
    }
    // One that was hit in the second in which the program came up is its own.
    let mut state: Value = serde_json::from_str(&floor.root.read("state.json")).unwrap();
    let adam = &mut state["workers"]["adam"];
    adam["begun_unix"] = adam["limit"]["since_unix"].clone();
    floor.root.write("state.json", &state.to_string());
    // A program that was started since the limit was hit knows nothing of it.
    floor.ctl(&["down", "eve"]).succeeds();
    floor.ctl(&["resume", "eve"]).succeeds().err_has("a running `up` lets it go on then");
    let told = || floor.prompts().iter().filter(|prompt| prompt.ends_with("think")).count();
    assert_eq!((told(), told_to_go_on(&floor)), (2, 0));
    up_at(&floor, until + 80);
    wait_for(|| told() == 3);
    assert_eq!(text(&floor.status("eve"), "/activity"), "unknown");
    // The other has three minutes to go on by itself, and then is told.
    assert_eq!((told_to_go_on(&floor), text(&floor.status("adam"), "/activity")), (0, "limited"));
    floor.root.sh("kill -9 $(cat locks/daemon.lock)").exit(0);
    wait_for(|| floor.ctl(&["status", "--json"]).exit(0).json()["daemon"] == "stopped");
    up_at(&floor, until + 180);
    wait_for(|| told_to_go_on(&floor) == 1);
    hook(&floor, "adam", &event("UserPromptSubmit"));
    assert_eq!((text(&floor.status("adam"), "/activity"), told()), ("busy", 3));
    floor.ctl(&["down"]).succeeds();
}

#[test]
fn a_limit_without_a_time_is_tried_again_if_that_is_set() {
    let w = World::new();
    let floor = working(&w, "claude", &["adam"]);
    hook(&floor, "adam", &failed(&w.home("none.jsonl")));
    floor.ctl(&["up", "--detach", "--limit-retry", "1s"]).succeeds();
    wait_for(|| told_to_go_on(&floor) == 1);
    hook(&floor, "adam", &event("UserPromptSubmit"));
    wait_for(|| floor.status("adam")["activity"] == "busy");
    floor.ctl(&["down"]).succeeds();
    assert_eq!(told_to_go_on(&floor), 1);
}

#[test]
fn a_limited_agent_gets_no_task_without_a_name_and_one_bell_rings_for_all() {
    let w = World::new();
    let floor = working(&w, "claude", &["adam", "eve"]);
    floor.ctl(&["add", "idle"]).succeeds();
    floor.ctl(&["up", "--detach"]).succeeds();
    for name in ["adam", "eve"] {
        hook(&floor, name, &failed(&transcript(&w, name, &json!(now() + 4_000))));
    }
    floor.ctl(&["start", "--task", "x"]).exit(1).err_has("scripted has hit a usage limit");
    // The front door's verb has no such option.
    floor.app.shopfloor(&["start", "--task", "x"]).exit(1).err_has("let the task wait: `worker-ctl start --queue`");
    floor.ctl(&["start", "--queue", "--task", "Later"]).succeeds();
    floor.ctl(&["start", "idle", "--task", "By name"]).succeeds();
    floor.ctl(&["reset", "idle"]).succeeds();
    wait_for(|| floor.root.read("logs/up.out").contains("a usage limit is hit"));
    assert_eq!(floor.ctl(&["status", "--json"]).exit(0).json()["queue"], 1);
    // It is the account's, and holds whatever becomes of a task.
    hook(&floor, "eve", &event("UserPromptSubmit"));
    commit(&tree(&floor, "adam"), "Write a", &["a.txt"], "a\n");
    wait_for(|| floor.status("adam")["status"] == "needs_review");
    floor.ctl(&["start", "--task", "x"]).exit(1).err_has("scripted has hit a usage limit");
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    let row = floor.status("adam");
    assert_eq!((text(&row, "/status"), text(&row, "/activity")), ("idle", "limited"));
    floor.ctl(&["start", "--task", "x"]).exit(1).err_has("scripted has hit a usage limit");
    assert_eq!(floor.ctl(&["status", "--json"]).exit(0).json()["queue"], 1);
    hook(&floor, "adam", &event("UserPromptSubmit"));
    wait_for(|| floor.prompts().iter().any(|prompt| prompt.ends_with("Later")));
    assert_eq!(floor.root.read("logs/up.out").matches("a usage limit is hit").count(), 1);
    floor.ctl(&["down"]).succeeds();
}

#[test]
fn who_could_not_be_told_is_tried_again_and_a_limit_of_nobodys_task_holds_nobody() {
    let w = World::new();
    let floor = working(&w, "claude", &["adam"]);
    let until = now() + 1_000;
    hook(&floor, "adam", &failed(&transcript(&w, "adam", &json!(until))));
    // claude says so itself when it goes on.
    let resumed = json!({ "hook_event_name": "Notification", "notification_type": "quota_auto_resume_fired" });
    hook(&floor, "adam", &resumed);
    assert_eq!(text(&floor.status("adam"), "/activity"), "busy");
    hook(&floor, "adam", &failed(&transcript(&w, "adam", &json!(until))));
    let lock = std::fs::File::open(floor.root.path.join("locks/worker-adam.lock")).unwrap();
    lock.lock().unwrap();
    let at = |args: &[&str], seconds: i64| {
        let date = format!("date -u -d @{} +%Y-%m-%dT%H:%M:%SZ", until + seconds);
        let clock = floor.root.sh(&date).exit(0).stdout.trim().to_owned();
        floor.root.run_with("worker-ctl", args, &[("SHOPFLOOR_NOW", &clock)])
    };
    at(&["up", "--detach", "--patrol-interval-secs", "1"], 200).succeeds().any_out();
    wait_for(|| floor.root.read("logs/events.jsonl").contains("\"limit_over\""));
    // Nobody is called while the running `up` may still do it.
    let needs = |seconds| at(&["status", "--json"], seconds).exit(0).json()["workers"][0]["needs"].clone();
    assert_eq!((needs(240), needs(330)), (json!(null), json!("resume")));
    assert_eq!(told_to_go_on(&floor), 0);
    lock.unlock().unwrap();
    wait_for(|| told_to_go_on(&floor) == 1);
    floor.ctl(&["down"]).succeeds();
    // The next task shows whether a limit holds still, whatever it said of its end.
    floor.ctl(&["up", "adam"]).succeeds();
    hook(&floor, "adam", &failed(&transcript(&w, "far", &json!(now() + 3_000_000))));
    floor.ctl(&["reset", "adam"]).succeeds();
    floor.ctl(&["start", "--task", "think"]).succeeds();
    floor.ctl(&["up", "adam"]).succeeds();
    hook(&floor, "adam", &failed(&w.home("none.jsonl")));
    floor.ctl(&["reset", "adam"]).succeeds();
    assert_eq!(text(&floor.status("adam"), "/activity"), "unknown");
    floor.ctl(&["start", "--task", "next"]).succeeds();
}

#[test]
fn codex_tells_of_its_limit_in_its_own_file_alone() {
    let w = World::new();
    let floor = working(&w, "codex", &["adam"]);
    let day = floor.root.sh("date +%Y/%m/%d").exit(0).stdout.trim().to_owned();
    let dir = w.home(".codex/sessions").join(&day);
    std::fs::create_dir_all(&dir).unwrap();
    let stamp = floor.root.sh("date -u -d '+5 sec' +%Y-%m-%dT%H:%M:%S.000Z").exit(0).stdout.trim().to_owned();
    let meta = |cwd: &Path| json!({ "timestamp": stamp, "type": "session_meta", "payload": { "cwd": cwd } });
    let row = |payload: Value| json!({ "timestamp": stamp, "type": "event_msg", "payload": payload });
    let window = json!({ "used_percent": 100.0, "window_minutes": 10080, "resets_at": now() + 9_000 });
    let full = row(json!({ "type": "token_count", "rate_limits": { "primary": window, "secondary": null },
        "info": { "total_token_usage": { "input_tokens": 70, "cached_input_tokens": 20, "output_tokens": 5 } } }));
    let hit = row(json!({ "type": "task_complete", "error": { "codex_error_info": "usage_limit_exceeded" } }));
    let other = format!("{}\n{full}\n{hit}\n", meta(&w.home("")));
    std::fs::write(dir.join("rollout-9-other.jsonl"), &other).unwrap();
    floor.ctl(&["patrol"]).succeeds();
    assert_eq!(text(&floor.status("adam"), "/activity"), "unknown");
    let own = dir.join("rollout-5-own.jsonl");
    let rows = format!("{}\n{full}\n{hit}\n", meta(&tree(&floor, "adam").path));
    std::fs::write(&own, &rows).unwrap();
    floor.ctl(&["patrol"]).succeeds();
    let row = floor.status("adam");
    assert_eq!((text(&row, "/activity"), text(&row, "/limit")), ("limited", "weekly"));
    assert_eq!(refused(&floor, &["message", "adam", "x"], 1), "occupied");
    // Another turn has begun since.
    let turn = json!({ "timestamp": stamp, "type": "turn_context" });
    std::fs::write(&own, format!("{rows}{turn}\n")).unwrap();
    floor.ctl(&["patrol"]).succeeds();
    assert_eq!(text(&floor.status("adam"), "/activity"), "unknown");
    let cost = floor.ctl(&["cost", "--json"]).exit(0).json_lines();
    assert_eq!(
        cost[0],
        json!({ "v": 1, "name": "adam", "task": "working", "in": 70, "out": 5, "cached": 20, "dollars": null })
    );
    // The conversation that its hook names goes before the newest file.
    let named = dir.join("rollout-1-c-7.jsonl");
    std::fs::write(&named, format!("{}\n", meta(&w.home("")))).unwrap();
    std::fs::remove_file(&own).unwrap();
    std::os::unix::fs::symlink(dir.join("rollout-9-other.jsonl"), &own).unwrap();
    floor.ctl(&["patrol"]).succeeds();
    assert_eq!(text(&floor.status("adam"), "/activity"), "unknown", "a link was followed");
    // Its program may have a home of its own.
    let elsewhere = w.home("codex home");
    let hooks = "hooks = \"codex\"\n";
    configure(&floor, hooks, &format!("{hooks}env = {{ CODEX_HOME = {elsewhere:?} }}\n"));
    std::fs::create_dir_all(elsewhere.join("sessions").join(&day)).unwrap();
    std::fs::write(elsewhere.join("sessions").join(&day).join("rollout-5-own.jsonl"), &rows).unwrap();
    floor.ctl(&["patrol"]).succeeds();
    assert_eq!(text(&floor.status("adam"), "/activity"), "limited");
}

#[test]
fn what_sessions_cost_is_summed_and_outlives_them() {
    let w = World::new();
    let floor = working(&w, "claude", &["adam", "eve"]);
    let message = |id: &str| {
        let usage = json!({ "input_tokens": 10, "cache_read_input_tokens": 4, "output_tokens": 2 });
        json!({ "type": "assistant", "message": { "id": id, "usage": usage } }).to_string() + "\n"
    };
    let spent = |name: &str, ids: &[&str], dollars: f64| {
        let path = w.home(&format!("{name}.jsonl"));
        let rows: String = ids.iter().map(|id| message(id)).collect();
        std::fs::write(&path, format!("{rows}{}\n", json!({ "type": "cost-state", "totalCostUSD": dollars }))).unwrap();
        let told = json!({ "hook_event_name": "UserPromptSubmit", "session_id": "s-1", "transcript_path": path });
        hook(&floor, name, &told);
        path
    };
    let first = spent("adam", &["a", "a", "b"], 0.25);
    spent("eve", &["c"], 0.5);
    let cost = || floor.ctl(&["cost", "--json"]).exit(0).json_lines();
    assert_eq!(
        cost()[0],
        json!({ "v": 1, "name": "adam", "task": "working", "in": 28, "out": 4, "cached": 8, "dollars": 0.25 })
    );
    floor.ctl(&["reset", "adam"]).succeeds();
    std::fs::remove_file(first).unwrap();
    let total = json!({ "v": 1, "name": "total", "task": null, "in": 42, "out": 6, "cached": 12, "dollars": 0.75 });
    assert_eq!(cost().last(), Some(&total));
    floor.ctl(&["cost"]).exit(0).out_has("adam             28             8             4        0.25");
    assert_eq!(prompts(&w.home("prompts.jsonl")).len(), 2);
}
