//! The MCP server over stdio, as a client sees it.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::mcp::Client;
use crate::support::spawn::{app, subtree};
use crate::support::world::{Repo, World, text, wait_for, write};

#[test]
fn one_session_uses_the_tools_that_need_no_worker() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["a"]);
    let mut client = Client::connect(&child, ".mcp.json");
    let tools = client.ask("tools/list", json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap().clone();
    let names: Vec<&str> = tools.iter().map(|tool| text(tool, "/name")).collect();
    assert_eq!(
        names,
        [
            "spawn_subtree",
            "spawn_workers",
            "notify_parent",
            "wait_for_event",
            "list_agents",
            "land_child",
            "send_agent"
        ]
    );
    assert!(tools.iter().all(|tool| tool["inputSchema"]["type"] == "object" && tool["description"].is_string()));

    let sent = client.call("notify_parent", json!({ "status": "success", "message": "through MCP" }));
    assert_eq!(text(&sent, "/to"), "root");
    let event = app.spawn(&["wait", "--timeout", "9s"]).exit(0).json();
    assert_eq!((text(&event, "/message"), text(&event, "/from/id")), ("through MCP", "main.a"));
    // JavaScript writes half a character so.
    client.tell(&r#"{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"notify_parent","arguments":{"status":"info","message":"cut \ud83d"}}}"#);
    assert_eq!(client.answer(77)["result"]["isError"], false);
    let event = app.spawn(&["wait", "--timeout", "9s"]).exit(0).json();
    assert_eq!(text(&event, "/message"), "cut \u{fffd}");
    assert!(
        client
            .refused("notify_parent", json!({ "status": "great", "message": "x" }))
            .contains("success, failure or info")
    );

    assert!(client.refused("spawn_subtree", json!({ "task": "t", "branch_name": "b" })).contains("max_depth"));
    assert!(client.refused("spawn_subtree", json!({ "task": "t" })).contains("`branch_name` is missing"));
    let asked = json!({ "task": "t", "branch_name": "b", "agent": "codex" });
    assert!(client.refused("spawn_subtree", asked).contains("`agent` is no argument of spawn_subtree"));
    for params in [json!({}), json!({ "name": "list_agents", "arguments": [1] })] {
        assert_eq!(client.ask("tools/call", params)["error"]["code"], -32602);
    }
    // No worker is made, and a tool has no options to be advised of.
    let none = client.refused("spawn_workers", json!({ "workers": [{ "name": "w", "prompt": "" }] }));
    assert!(none.contains("the task is empty") && !none.contains("--"), "{none}");
    let workers = json!([{ "name": "w one", "prompt": "do it" }, { "name": "!!!", "prompt": "x" }, { "name": "g", "prompt": "p", "agent": "gemini" }]);
    let made = client.call("spawn_workers", json!({ "workers": workers }));
    assert_eq!(text(&made, "/workers/0/id"), "main.a/w-one");
    assert_eq!(text(&made, "/workers/1/error/kind"), "usage");
    assert!(child.has(".shopfloor/agents/g/settings.json"));
    assert_eq!(child.read(".shopfloor/agents/w-one/task.md"), "do it");

    let listed = client.call("list_agents", json!({}));
    let ids: Vec<&str> = listed["agents"].as_array().unwrap().iter().map(|row| text(row, "/id")).collect();
    assert_eq!(ids, ["root", "main.a", "main.a/g", "main.a/w-one"]);
    assert_eq!(client.close(), Some(0));
    assert_eq!(child.git(&["status", "--porcelain"]), "");

    // The root's agent spawns a subtree.
    app.write(".mcp.json", &child.read(".mcp.json").replace("main.a", "root"));
    let mut root = Client::connect(&app, ".mcp.json");
    let made = root.call("spawn_subtree", json!({ "task": "the task", "branch_name": "Feature B" }));
    assert_eq!((text(&made, "/id"), made["created"].as_bool()), ("main.feature-b", Some(true)));
    assert_eq!(w.at(text(&made, "/path")).read(".shopfloor/task.md"), "the task");
    assert_eq!(root.close(), Some(0));
}

/// A client starts the server outside of the sandbox in which it runs its agent's commands. So nothing that the agent
/// wrote runs because the agent asks for a subtree.
#[test]
fn what_an_agent_asks_for_runs_no_hook_of_its_own_and_no_set_up_at_its_commit() {
    let w = World::new();
    let app = app(&w);
    app.commit("lib.sh", ":\n");
    app.commit("setup.sh", "sh ./lib.sh\n");
    app.approved("setup = [\"sh ./setup.sh\"]\n\n[files.env]\ncontent = \"A=1\\n\"\n");
    app.apply(&["hook", "install"]).succeeds();
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nmax_depth = 3\n");
    let agent = w.at(app.spawn(&["subtree", "a"]).exit(0).any_err().stdout.trim_end());
    let mark = w.path("mark");
    agent.commit("lib.sh", &format!("touch {}\n", mark.display()));
    let mut client = Client::connect(&agent, ".mcp.json");
    let made = client.call("spawn_subtree", json!({ "task": "t", "branch_name": "b" }));
    assert!(text(&made, "/warnings/0").contains("set-up commands wait for you"), "{made}");
    let child = w.at(text(&made, "/worktree"));
    assert!(child.has(".env") && !mark.exists());
    // Programs run hooks outside of the sandbox, too.
    let asked = json!({ "hook_event_name": "WorktreeCreate", "cwd": agent.path, "name": "h" });
    let made = agent.sh(&format!("echo '{asked}' | worktree-spawn hook worktree-create")).exit(0).any_out();
    made.err_has("set-up commands wait for you");
    assert!(!mark.exists());
    // A ref that the agent moves for a moment does not make its commit a person's.
    let main = app.git(&["rev-parse", "main"]);
    agent.git(&["update-ref", "refs/heads/main", "HEAD"]);
    let made = client.call("spawn_subtree", json!({ "task": "t", "branch_name": "moved" }));
    agent.git(&["update-ref", "refs/heads/main", main.trim()]);
    assert!(text(&made, "/warnings/0").contains("set-up commands wait for you") && !mark.exists(), "{made}");
    // Programs that manage hooks look for others in the worktree.
    agent.commit(".husky/post-checkout", &format!("#!/bin/sh\ntouch {}\n", mark.display()));
    agent.sh("chmod +x .husky/post-checkout").exit(0);
    app.sh(
        "cp .git/hooks/post-checkout kept && printf '#!/bin/sh\n. .husky/post-checkout\n' > .git/hooks/post-checkout",
    )
    .exit(0);
    let made = client.call("spawn_subtree", json!({ "task": "t", "branch_name": "hu" }));
    assert!(w.at(text(&made, "/worktree")).has(".env") && !mark.exists());
    app.sh("mv kept .git/hooks/post-checkout").exit(0);
    // A person decides.
    child.apply(&[]).any_status().any_out().any_err();
    assert!(mark.exists());
    std::fs::remove_file(&mark).unwrap();
    // The same agent with a hook of its own, where git takes hooks from the worktree.
    app.git(&["config", "core.hooksPath", ".hooks"]);
    agent.write(".hooks/post-checkout", &format!("#!/bin/sh\ntouch {}\n", mark.display()));
    agent.sh("chmod +x .hooks/post-checkout").exit(0);
    client.call("spawn_subtree", json!({ "task": "t", "branch_name": "c" }));
    assert!(!mark.exists());
}

#[test]
fn a_wait_over_mcp_hears_a_seat_and_a_cancelled_one_takes_nothing() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["a"]);
    let mut client = Client::connect(&child, ".mcp.json");
    let workers = json!([{ "name": "w one", "prompt": "do it" }, { "name": "g", "prompt": "p", "agent": "gemini" }]);
    client.call("spawn_workers", json!({ "workers": workers }));
    // A seat reports through its own server while this one waits.
    let waiting = client.send(
        "tools/call",
        json!({ "name": "wait_for_event", "arguments": { "types": ["worker_complete"], "timeout_secs": 60 } }),
    );
    let mut worker = Client::connect(&child, ".shopfloor/agents/w-one/mcp.json");
    worker.call("notify_parent", json!({ "status": "info", "message": "not this" }));
    worker.call("notify_parent", json!({ "status": "failure", "message": "could not" }));
    assert_eq!(worker.close(), Some(0));
    let heard = client.answer(waiting);
    assert_eq!(text(&heard, "/result/structuredContent/event/message"), "could not");
    // The delivered event is gone, and the one that does not match stays.
    client.call("wait_for_event", json!({ "timeout_secs": 0, "types": ["none"], "after_event_id": heard["result"]["structuredContent"]["event"]["id"] }));
    let left = child.spawn(&["events"]).exit(0).json_lines();
    assert_eq!(left.len(), 1, "{left:?}");
    let other = client.call("wait_for_event", json!({ "timeout_secs": 9 }));
    assert_eq!(text(&other, "/event/message"), "not this");
    assert_eq!(client.call("wait_for_event", json!({ "timeout_secs": 0 }))["timeout"], true);
    // A cancelled wait takes no event.
    let cancelled = client.send("tools/call", json!({ "name": "wait_for_event", "arguments": {} }));
    let cancel = json!({ "requestId": cancelled, "reason": "enough" });
    client.tell(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel }));
    client.call("list_agents", json!({}));
    child.spawn(&["notify", "info", "later", "--as", "main.a/g"]).succeeds();
    assert_eq!(text(&child.spawn(&["wait", "--timeout", "20s"]).exit(0).json(), "/message"), "later");
    let unknown = client.ask("tools/call", json!({ "name": "nothing", "arguments": {} }));
    assert!(text(&unknown, "/error/message").contains("no tool `nothing`"));
    assert_eq!(client.close(), Some(0));
    assert_eq!(child.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_client_that_disconnects_while_it_waits_takes_no_event() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["a"]);
    app.write(".mcp.json", &child.read(".mcp.json").replace("main.a", "root"));
    let mut client = Client::connect(&app, ".mcp.json");
    client.send("tools/call", json!({ "name": "wait_for_event", "arguments": {} }));
    assert_eq!(client.close(), Some(0));
    child.spawn(&["notify", "info", "still here"]).succeeds();
    assert_eq!(text(&app.spawn(&["wait", "--timeout", "9s"]).exit(0).json(), "/message"), "still here");
    // The server is killed while it waits.
    let mut client = Client::connect(&app, ".mcp.json");
    client.send("tools/call", json!({ "name": "wait_for_event", "arguments": {} }));
    client.child.kill().unwrap();
    client.child.wait().unwrap();
    child.spawn(&["notify", "info", "again"]).succeeds();
    assert_eq!(text(&app.spawn(&["wait", "--timeout", "9s"]).exit(0).json(), "/message"), "again");
    // Bad input does not crash the server.
    app.sh("worktree-spawn mcp --as root < /dev/null").exit(0);
    let why = "the client did not begin with the request `initialize`";
    let early = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    for said in ["rubbish".to_owned(), early.to_string()] {
        app.sh(&format!("echo '{said}' | worktree-spawn -q mcp --as root")).exit(2).err_has(why);
        let told = app.sh(&format!("echo '{said}' | worktree-spawn --json mcp --as root")).exit(2).json();
        assert_eq!((text(&told, "/error/kind"), text(&told, "/error/message")), ("malformed", why));
    }
    app.sh("worktree-spawn mcp --as nobody < /dev/null").exit(1).any_err();
}

/// A client of the root's agent, and a child that reports to it.
fn root_and_child<'w>(w: &'w World) -> (Repo<'w>, Repo<'w>, Client) {
    let app = app(w);
    let child = subtree(&app, &["a"]);
    app.write(".mcp.json", &child.read(".mcp.json").replace("main.a", "root"));
    let client = Client::connect(&app, ".mcp.json");
    (app, child, client)
}

fn waits(client: &mut Client, args: Value) -> u64 {
    client.send("tools/call", json!({ "name": "wait_for_event", "arguments": args }))
}

/// Whether a wait of the client's server has begun, and is not over: it watches directories then.
fn has_wait(client: &Client) -> bool {
    let files = std::fs::read_dir(format!("/proc/{}/fd", client.child.id())).unwrap().flatten();
    files.filter_map(|file| file.path().read_link().ok()).any(|to| to.to_string_lossy().contains("inotify"))
}

/// An event that the client had to wait for longer than a second.
fn slow(client: &mut Client, child: &Repo<'_>, message: &str) -> Value {
    wait_for(|| !has_wait(client));
    let waiting = waits(client, json!({}));
    // The server counts from when its wait begins, which may be later than the request.
    wait_for(|| has_wait(client));
    let start = Instant::now();
    wait_for(|| start.elapsed() > Duration::from_millis(1200));
    child.spawn(&["notify", "info", message]).succeeds();
    client.answer(waiting)["result"]["structuredContent"].clone()
}

fn pending(app: &Repo<'_>) -> usize {
    app.spawn(&["events", "--json"]).exit(0).json_lines().len()
}

#[test]
fn an_event_delivered_at_once_is_taken_with_the_next_call() {
    let w = World::new();
    let (app, child, mut client) = root_and_child(&w);
    child.spawn(&["notify", "info", "one"]).succeeds();
    let one = client.call("wait_for_event", json!({}));
    assert_eq!((text(&one, "/event/message"), one["redelivered"].as_bool()), ("one", None));
    // No other waiter gets the event meanwhile.
    assert_eq!(pending(&app), 1);
    app.spawn(&["wait", "--timeout", "0s"]).exit(124).any_err();
    client.call("list_agents", json!({}));
    assert_eq!(pending(&app), 0);
}

#[test]
fn an_event_delivered_late_comes_once_more_unless_acknowledged() {
    let w = World::new();
    let (app, child, mut client) = root_and_child(&w);
    let late = slow(&mut client, &child, "late");
    assert_eq!((text(&late, "/event/message"), &late["event"]["redelivered"]), ("late", &Value::Null));
    client.call("list_agents", json!({}));
    assert_eq!(pending(&app), 1);
    child.spawn(&["notify", "info", "second"]).succeeds();
    // A wait for another type skips the event.
    assert_eq!(client.call("wait_for_event", json!({ "timeout_secs": 0, "types": ["x"] }))["timeout"], true);
    let again = client.call("wait_for_event", json!({}));
    assert_eq!((&again["event"]["uid"], again["event"]["redelivered"].as_bool()), (&late["event"]["uid"], Some(true)));
    assert_eq!(text(&client.call("wait_for_event", json!({})), "/event/message"), "second");
    assert_eq!(client.call("wait_for_event", json!({ "timeout_secs": 0 }))["timeout"], true);
    assert_eq!(pending(&app), 0);

    let late = slow(&mut client, &child, "third");
    let next = json!({ "timeout_secs": 0, "after_event_id": late["event"]["id"] });
    assert_eq!(client.call("wait_for_event", next)["timeout"], true);
    assert_eq!(pending(&app), 0);
    assert!(client.refused("wait_for_event", json!({ "after_event_id": "x" })).contains("whole number"));
    // If the server ends, the event is delivered again after the lease.
    slow(&mut client, &child, "fourth");
    client.close();
    let later = [("SHOPFLOOR_NOW", "2100-01-01T00:00:00Z")];
    let fourth = app.run_with("worktree-spawn", &["wait", "--timeout", "9s"], &later).exit(0).json();
    assert_eq!(text(&fourth, "/message"), "fourth");
}

#[test]
fn a_lease_runs_out_after_five_minutes_and_can_still_be_acknowledged() {
    let w = World::new();
    let (app, child, mut client) = root_and_child(&w);
    let late = slow(&mut client, &child, "late");
    let wait_in = |minutes: i64, args: &[&str]| {
        let now = (jiff::Timestamp::now() + jiff::SignedDuration::from_mins(minutes)).to_string();
        app.run_with("worktree-spawn", &[&["wait", "--timeout", "0s"], args].concat(), &[("SHOPFLOOR_NOW", &now)])
    };
    wait_in(4, &[]).exit(124).any_err();
    let again = wait_in(6, &["--lease", "1h"]).exit(0).json();
    assert_eq!(again["uid"], late["event"]["uid"]);
    assert_eq!(pending(&app), 1);
    let next = json!({ "timeout_secs": 0, "after_event_id": late["event"]["id"] });
    assert_eq!(client.call("wait_for_event", next)["timeout"], true);
    assert_eq!(pending(&app), 0);
}

#[test]
fn a_new_wait_ends_the_one_before() {
    let w = World::new();
    let (_app, child, mut client) = root_and_child(&w);
    let older = waits(&mut client, json!({}));
    let newer = waits(&mut client, json!({}));
    let ended = client.answer(older);
    assert_eq!(ended["result"]["structuredContent"]["cancelled"], true, "{ended}");
    child.spawn(&["notify", "info", "hello"]).succeeds();
    assert_eq!(text(&client.answer(newer), "/result/structuredContent/event/message"), "hello");
}

#[test]
fn a_client_that_asks_for_progress_gets_it() {
    let w = World::new();
    let (_app, child, mut client) = root_and_child(&w);
    let start = Instant::now();
    let params = json!({ "name": "wait_for_event", "arguments": {}, "_meta": { "progressToken": "p" } });
    let waiting = client.send("tools/call", params);
    let told: Value = serde_json::from_str(&client.lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(
        (text(&told, "/method"), text(&told, "/params/progressToken")),
        ("notifications/progress", "p"),
        "{told}"
    );
    assert!(start.elapsed() >= Duration::from_secs(9), "{:?}", start.elapsed());
    child.spawn(&["notify", "info", "hello"]).succeeds();
    assert_eq!(text(&client.answer(waiting), "/result/structuredContent/event/message"), "hello");
}

#[test]
fn a_removed_agent_can_still_notify_through_its_server() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["a"]);
    let mut client = Client::connect(&child, ".mcp.json");
    app.spawn(&["remove", "a"]).succeeds();
    let sent = client.call("notify_parent", json!({ "status": "success", "message": "done after all" }));
    assert_eq!(text(&sent, "/to"), "root");
    let event = app.spawn(&["wait", "--timeout", "9s"]).exit(0).json();
    assert_eq!((text(&event, "/message"), text(&event, "/from/id")), ("done after all", "main.a"));
    assert_eq!(text(&event, "/forwarded_from"), "main.a");
    assert!(client.refused("spawn_subtree", json!({ "task": "t", "branch_name": "b" })).contains("main.a"));
}

#[test]
fn mcp_keeps_the_order_of_reports_and_ends_with_its_input() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["x"]);
    let mut command = w.command(w.path("bin/worktree-spawn"));
    command.args(["mcp", "--as", "main.x"]).current_dir(&app.path).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut server = command.spawn().unwrap();
    let mut stdin = server.stdin.take().unwrap();
    let info =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "it", "version": "1" } });
    writeln!(stdin, "{}", json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": info })).unwrap();
    writeln!(stdin, "{}", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).unwrap();
    for n in 1..=20 {
        let args = json!({ "name": "notify_parent", "arguments": { "status": "info", "message": n.to_string() } });
        writeln!(stdin, "{}", json!({ "jsonrpc": "2.0", "id": n, "method": "tools/call", "params": args })).unwrap();
    }
    let said = app.spawn(&["wait", "--count", "20", "--timeout", "30s"]).exit(0).json_lines();
    let said: Vec<u64> = said.iter().map(|event| text(event, "/message").parse().unwrap()).collect();
    assert_eq!(said, (1..=20).collect::<Vec<_>>());
    drop(stdin);
    assert!(server.wait().unwrap().success());
}

/// An agent that is contained cannot write these files in its worktree, but can commit them.
#[test]
fn an_agent_is_not_started_where_a_commit_brings_what_its_program_would_run() {
    let w = World::new();
    let app = app(&w);
    write(
        &w.home(".config/shopfloor/config.toml"),
        "[worktree-spawn]\nmax_depth = 3\nlauncher = \"touch $HOME/{slug}\"\n",
    );
    w.program("claude", "true");
    let agent = w.at(app.spawn(&["subtree", "a"]).exit(0).any_err().stdout.trim_end());
    let mut client = Client::connect(&agent, ".mcp.json");
    agent.commit("work", "1\n");
    client.call("spawn_subtree", json!({ "task": "t", "branch_name": "b" }));
    assert!(w.home("b").exists());
    for (n, file) in [".claude/settings.json", ".mcp.json", ".codex/config.toml"].into_iter().enumerate() {
        agent
            .sh(&format!("mkdir -p $(dirname {file}) && echo '{{}}' > {file} && git add -f {file} && git commit -qm x"))
            .exit(0);
        let name = format!("c{n}");
        let made = client.call("spawn_subtree", json!({ "task": "t", "branch_name": name }));
        assert!(made["warnings"].to_string().contains("is not started"), "{made}");
        assert!(!w.home(&name).exists(), "{file}");
        // A ref that an agent moves for a moment does not make it a person's.
        let main = app.git(&["rev-parse", "main"]);
        agent.git(&["update-ref", "refs/heads/main", "HEAD"]);
        let made = client.call("spawn_subtree", json!({ "task": "t", "branch_name": format!("{name}-landed") }));
        agent.git(&["update-ref", "refs/heads/main", main.trim()]);
        assert!(made["warnings"].to_string().contains("is not started"), "{made}");
        agent.git(&["reset", "-q", "--hard", "HEAD~"]);
    }
}
