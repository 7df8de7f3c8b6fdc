//! worker-ctl: what agents' own hooks tell about them.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::floor::Floor;
use crate::support::worker::{
    Staying, agent, by_hand, commit, configure, event, hook, hook_of, kill_agent, kill_and_wait, refused, staff, table,
    tmux, tree,
};
use crate::support::world::{World, text, wait_for, which, write};

/// A question as claude tells it: without the id of the tool use.
fn permission(command: &str) -> Value {
    tool("PermissionRequest", command)
}

fn tool(event: &str, command: &str) -> Value {
    let input = json!({ "command": command, "description": "d" });
    json!({ "hook_event_name": event, "session_id": "s-1", "tool_name": "Bash", "tool_input": input })
}

#[test]
fn what_a_program_does_is_shown_and_logged_and_handed_to_on_event() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let line = "on_event = 'echo \"$WORKER_CTL_EVENT $WORKER_CTL_ACTIVITY $WORKER_CTL_DETAIL\" >> told'";
    configure(&floor, "[defaults]\n", &format!("[defaults]\n{line}\n"));
    let activity = || text(&floor.status("adam"), "/activity").to_owned();
    assert_eq!((activity(), floor.status("adam")["activity_at"].is_null()), ("unknown".into(), true));
    hook(&floor, "adam", &event("SessionStart"));
    assert_eq!(activity(), "rests");
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    assert_eq!(activity(), "unknown");
    hook(&floor, "adam", &event("UserPromptSubmit"));
    assert_eq!(activity(), "busy");
    let since = floor.status("adam")["activity_at"].clone();
    assert!(since.as_str().unwrap().ends_with('Z'), "{since}");
    hook(&floor, "adam", &event("PreToolUse"));
    assert_eq!(floor.status("adam")["activity_at"], since);
    hook(&floor, "adam", &permission("rm -rf x"));
    let row = floor.status("adam");
    assert_eq!((text(&row, "/activity"), text(&row, "/activity_text")), ("asks", "Bash: rm -rf x"));
    assert_eq!((text(&row, "/task"), text(&row, "/status"), text(&row, "/session")), ("working", "working", "up"));
    floor.ctl(&["status"]).exit(0).out_has("adam  working, asks: Bash: rm -rf x");
    floor.ctl(&["wait", "adam", "--for", "asks", "--timeout", "9s"]).exit(0).out_has("adam");
    hook(&floor, "adam", &event("Stop"));
    assert_eq!((activity(), floor.status("adam")["activity_text"].is_null()), ("rests".into(), true));
    let state: Value = serde_json::from_str(&floor.root.read("state.json")).unwrap();
    assert_eq!(text(&state, "/workers/adam/activity"), "rests");
    assert!(state["workers"]["adam"]["activity_at"].is_string());
    let events = floor.ctl(&["events", "--json"]).exit(0).json_lines();
    let told: Vec<_> = events.iter().filter(|event| event["event"] == "activity").collect();
    let words: Vec<_> = told.iter().map(|event| text(event, "/activity")).collect();
    assert_eq!(words, ["rests", "busy", "asks", "rests"]);
    assert_eq!((text(told[2], "/activity_text"), text(told[2], "/detail")), ("Bash: rm -rf x", "Bash: rm -rf x"));
    wait_for(|| floor.root.has("told") && floor.root.read("told").contains("activity asks Bash: rm -rf x\n"));
    // A commit is told by git, as before.
    commit(&tree(&floor, "adam"), "Write a", &["a.txt"], "a\n");
    floor.until("adam", "needs_review");
    // JavaScript writes half a character so.
    hook_of(&floor, "adam", "claude", &permission("HALF").to_string().replace("HALF", "\\ud83d"));
    assert_eq!(text(&floor.status("adam"), "/activity_text"), "Bash: \u{fffd}");
}

#[test]
fn a_wait_for_you_tells_who_needs_a_person_and_why_the_longest_wait_first() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve", "idle"]);
    let wait = |args: &[&str]| floor.ctl(&[&["wait", "--all"], args].concat());
    // An idle worker does not end it.
    wait(&["--for", "you", "--timeout", "0s"]).exit(124).err_has("no worker came to need you within 0s");
    for name in ["adam", "eve"] {
        floor.ctl(&["start", name, "--prompt", "think"]).succeeds();
    }
    hook(&floor, "adam", &permission("rm -rf x"));
    assert_eq!(wait(&["--for", "you"]).exit(0).stdout, "adam asks\n");
    commit(&tree(&floor, "eve"), "Write a", &["a.txt"], "a\n");
    floor.root.run_with("worker-ctl", &["patrol"], &[("SHOPFLOOR_NOW", "2001-01-01T00:00:00Z")]).succeeds().any_err();
    // Whatever its program does, it has waited since then.
    hook(&floor, "eve", &event("Stop"));
    assert_eq!(wait(&[]).exit(0).stdout, "eve needs_review\nadam asks\n");
    let rows = floor.app.shopfloor(&["status", "--json"]).exit(0).any_err().json();
    assert_eq!([&rows["worktrees"][1]["name"], &rows["worktrees"][2]["name"]], ["eve", "adam"]);
    hook(&floor, "adam", &event("Stop"));
    let needy = wait(&["--for", "you", "--json"]).exit(0).json();
    let row = |name: &str, status: &str, why: &str| json!({ "name": name, "id": name, "status": status, "why": why });
    assert_eq!(needy["workers"], json!([row("eve", "needs_review", "needs_review"), row("adam", "working", "rests")]));
    hook(&floor, "adam", &event("UserPromptSubmit"));
    let only = floor.ctl(&["wait", "adam", "idle", "--for", "you", "--timeout", "0s"]).exit(124);
    assert!(only.any_err().stdout.is_empty());
    // A review waits without a session too, and whoever is down needs nobody.
    floor.ctl(&["down"]).succeeds();
    assert_eq!(wait(&[]).exit(0).stdout, "eve needs_review\n");
    floor.ctl(&["wait", "adam", "idle"]).exit(1).err_has("adam is offline").err_has("idle is offline");
}

#[test]
fn a_wait_may_name_several_states() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    let wait = |args: &[&str]| floor.ctl(&[&["wait", "--timeout", "0s"], args].concat());
    floor.ctl(&["start", "adam", "--prompt", "think"]).succeeds();
    assert_eq!(wait(&["--all", "--for", "idle", "--for", "working"]).exit(0).stdout, "adam\neve\n");
    wait(&["--all", "--for", "idle", "--for", "error"]).exit(124).err_has("not all workers became idle or error");
    // One that cannot reach the one state may reach the other.
    wait(&["eve", "--for", "needs_review", "--for", "rests"]).exit(124).any_err();
    wait(&["eve", "--for", "needs_review", "--for", "rejected"]).exit(1).err_has("eve is idle and has no task");
    wait(&["eve", "--for", "idle", "--for", "done"]).exit(2).err_has("no worker is ever `done`");
}

#[test]
fn nothing_is_typed_over_a_question() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    by_hand(&floor, "adam", &[("a.txt", "a\n")]);
    floor.ctl(&["review", "adam"]).succeeds();
    floor.ctl(&["start", "--worker", "eve", "--prompt", "think"]).succeeds();
    wait_for(|| floor.prompts().len() == 2);
    for name in ["adam", "eve"] {
        hook(&floor, name, &permission("curl example.org"));
    }
    let before = floor.root.read("state.json");
    for args in [
        &["message", "eve", "go on"][..],
        &["start", "--resume", "eve"],
        &["reject", "no"],
        &["message", "eve", "go on", "--dry-run"],
    ] {
        assert_eq!(refused(&floor, args, 1), "occupied", "{args:?}");
        let said = floor.ctl(args).exit(1).stderr;
        let name = if args[0] == "reject" { "adam" } else { "eve" };
        assert!(said.contains(&format!("{name}: it asks a question: Bash: curl example.org")), "{said}");
        assert!(said.contains(&format!("worker-ctl attach {name}")) && said.contains("--force"), "{said}");
    }
    assert_eq!(floor.root.read("state.json"), before);
    assert_eq!(floor.prompts().len(), 2);
    // A tool that goes on beside it and a repeated notice change nothing; the answer does.
    hook(&floor, "eve", &tool("PostToolUse", "make"));
    hook(
        &floor,
        "eve",
        &json!({ "hook_event_name": "Notification", "notification_type": "permission_prompt", "message": "m" }),
    );
    assert_eq!(text(&floor.status("eve"), "/activity_text"), "Bash: curl example.org");
    // Another question takes its place.
    hook(&floor, "eve", &permission("rm -rf x"));
    assert_eq!(text(&floor.status("eve"), "/activity_text"), "Bash: rm -rf x");
    hook(&floor, "eve", &tool("PostToolUse", "rm -rf x"));
    assert_eq!(text(&floor.status("eve"), "/activity"), "busy");
    floor.ctl(&["message", "eve", "go on"]).succeeds();
    wait_for(|| floor.prompts().len() == 3);
    floor.ctl(&["reject", "no", "--force"]).succeeds();
    wait_for(|| floor.prompts().len() == 4);
    assert_eq!(text(&floor.status("adam"), "/task"), "rejected");
}

#[test]
fn a_running_up_keeps_its_text_until_the_question_is_answered() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    let _up = Staying::new(&floor, &["up"]);
    wait_for(|| text(&floor.status("adam"), "/status") == "idle");
    by_hand(&floor, "adam", &[("README.md", "adam\n")]);
    wait_for(|| floor.prompts().len() == 1);
    hook(&floor, "adam", &permission("ls"));
    floor.app.commit("README.md", "main\n");
    wait_for(|| floor.ctl(&["status"]).exit(0).stdout.contains("asks"));
    floor.ctl(&["patrol"]).succeeds().err_has("adam will be asked to resolve its conflicts when its terminal is free");
    assert_eq!((floor.prompts().len(), text(&floor.status("adam"), "/task")), (1, "needs_review"));
    hook(&floor, "adam", &event("Stop"));
    wait_for(|| text(&floor.status("adam"), "/task") == "rebasing");
    wait_for(|| floor.prompts().len() == 2);
}

#[test]
fn what_a_hook_says_is_the_text_of_an_agent() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    let state = || floor.root.read("state.json");
    let evil = format!("\u{1b}[31m\u{202e}rm\n\t-rf {}", "x".repeat(10 << 20));
    hook(&floor, "adam", &permission(&evil));
    assert!(state().len() < 20_000, "{}", state().len());
    let shown = floor.ctl(&["status"]).exit(0).stdout;
    assert!(shown.contains("asks: Bash: ") && shown.contains('…') && !shown.contains('\u{202e}'), "{shown}");
    assert!(!shown.contains('\u{1b}') && shown.lines().count() == 1, "{shown}");
    hook(&floor, "adam", &event("Stop"));
    let before = state();
    // Nothing of this is an event, a worker or a conversation.
    for payload in ["", "nonsense", "[]", "{}", "{\"hook_event_name\":7}", "{\"hook_event_name\":\"Other\"}"] {
        hook_of(&floor, "adam", "claude", payload);
    }
    for name in ["nobody", "../adam", "ADAM", "-x", ""] {
        hook(&floor, name, &event("UserPromptSubmit"));
    }
    assert_eq!(state(), before);
    for id in ["--dangerous", "a b", "$(id)", "", &"x".repeat(200)] {
        hook(&floor, "adam", &json!({ "hook_event_name": "UserPromptSubmit", "session_id": id }));
    }
    let state: Value = serde_json::from_str(&state()).unwrap();
    assert_eq!(text(&state, "/workers/adam/conversation"), "s-1");
    // A program that is gone does nothing, whatever its hook says.
    floor.ctl(&["down"]).succeeds();
    hook(&floor, "adam", &permission("ls"));
    assert_eq!(text(&floor.status("adam"), "/activity"), "unknown");
    // A directory that only claims to be a root runs nothing.
    let world = floor.root.world;
    world
        .at(world.home(""))
        .sh("mkdir fake && echo '[defaults]\non_event = \"touch ~/evil\"' > fake/config.toml")
        .exit(0);
    let mut command = world.command(world.path("bin/worker-ctl"));
    command.args(["hook", "claude", &event("Stop").to_string()]);
    command.env("WORKER_CTL_ROOT", world.home("fake")).env("WORKER_CTL_WORKER", "adam");
    let out = command.output().unwrap();
    assert_eq!(out.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&out.stderr).contains("is not a root"), "{out:?}");
    assert!(!world.home("evil").exists() && !world.home("fake/hooks").exists());
}

#[test]
fn a_program_gets_our_hooks_for_its_session_alone_and_goes_on_with_its_conversation() {
    let w = World::new();
    let floor = Floor::new(&w);
    let log = w.home("words");
    let body = format!(
        "{{ printf '%s|' \"$@\"; echo; }} >> '{}'; [ \"$1\" = --resume ] && [ -e ~/forgotten ] && exit 3; printf '> '; exec sleep 600",
        log.display()
    );
    w.program("hooked", &body);
    let more = "hooks = \"claude\"\nresume_conversation = [\"--resume\", \"{conversation}\"]\n";
    table(&floor, "hooked", &["hooked", "{hooks}", "last"], more);
    floor.ctl(&["add", "adam", "--agent", "hooked"]).succeeds();
    floor.up();
    let words = || std::fs::read_to_string(&log).unwrap();
    let settings = floor.root.path.join("agents/claude.json");
    assert_eq!(words(), format!("--settings|{}|last|\n", settings.display()));
    let settings: Value = serde_json::from_str(&std::fs::read_to_string(&settings).unwrap()).unwrap();
    let command = text(&settings, "/hooks/PermissionRequest/0/hooks/0/command");
    assert!(command.ends_with("worker-ctl hook claude"), "{command}");
    assert_eq!(floor.root.sh(command).exit(0).any_err().stdout, "");
    // It was never told its task, so it begins anew.
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    floor.ctl(&["down", "--force"]).succeeds();
    floor.up();
    assert_eq!(text(&floor.status("adam"), "/activity"), "fresh");
    floor.ctl(&["status"]).exit(0).out_has("worker-ctl resume adam");
    // What a person types there is not the task.
    hook(&floor, "adam", &event("UserPromptSubmit"));
    floor.ctl(&["down", "--force"]).succeeds();
    floor.up();
    assert!(words().lines().last().unwrap().starts_with("--settings|"), "{}", words());
    // Once a conversation knows the task, it is continued.
    floor.ctl(&["start", "--resume", "adam"]).succeeds();
    hook(&floor, "adam", &event("UserPromptSubmit"));
    floor.ctl(&["down", "--force"]).succeeds();
    floor.up();
    assert!(words().lines().last().unwrap().starts_with("--resume|s-1|--settings|"), "{}", words());
    assert_eq!(
        (text(&floor.status("adam"), "/activity"), floor.status("adam")["notes"].clone()),
        ("unknown", json!(["its program was restarted and waits; let it go on with `worker-ctl resume adam`"]))
    );
    hook(&floor, "adam", &json!({ "hook_event_name": "SessionStart", "source": "resume", "session_id": "s-1" }));
    assert_eq!(text(&floor.status("adam"), "/activity"), "rests");
    // A conversation that is gone is not the end of the worker.
    floor.root.sh("touch ~/forgotten").exit(0);
    floor.ctl(&["down", "--force"]).succeeds();
    floor.ctl(&["up", "adam"]).succeeds().err_has("adam cannot continue its conversation, and is started anew");
    assert!(words().lines().last().unwrap().starts_with("--settings|"), "{}", words());
    let row = floor.status("adam");
    assert_eq!((text(&row, "/activity"), text(&row, "/status")), ("fresh", "working"));
    floor.ctl(&["up", "adam"]).succeeds();
    let config = floor.root.read("config.toml");
    floor.root.write("config.toml", &config.replace("hooks = \"claude\"", "hooks = \"aider\""));
    floor.ctl(&["up", "adam"]).exit(2).err_has("`hooks` names `aider`, whose hooks are not known");
    floor.root.write("config.toml", &config);
}

/// gemini takes hooks from a worktree only in a folder that a person trusts.
#[test]
fn gemini_gets_our_hooks_in_a_trusted_folder_and_nothing_elsewhere() {
    let w = World::new();
    let floor = Floor::new(&w);
    let more = "hooks = \"gemini\"\nenv = { TOLD = \"twice\" }\n";
    table(&floor, "g", &["sh", "-c", "echo $TOLD; printf '> '; exec sleep 600"], more);
    for name in ["adam", "eve", "kim"] {
        floor.ctl(&["add", name, "--agent", "g"]).succeeds();
    }
    let file = ".gemini/settings.json";
    let (adam, eve, kim) = (tree(&floor, "adam"), tree(&floor, "eve"), tree(&floor, "kim"));
    floor.ctl(&["up", "adam"]).succeeds();
    floor.ctl(&["peek", "adam"]).exit(0).out_has("twice");
    assert!(!adam.path.join(file).exists());
    let trusted =
        json!({ floor.root.path.to_str().unwrap(): "TRUST_FOLDER", eve.path.to_str().unwrap(): "DO_NOT_TRUST" });
    write(&w.home(".gemini/trustedFolders.json"), &trusted.to_string());
    // A file of the worker's own stays, and git goes on seeing it.
    kim.write(file, "{}");
    floor.ctl(&["down"]).succeeds();
    floor.ctl(&["up", "adam", "eve", "kim"]).succeeds();
    assert!(!eve.path.join(file).exists());
    assert_eq!((kim.read(file), adam.git(&["status", "--porcelain"])), ("{}".to_owned(), String::new()));
    assert_eq!(kim.git(&["status", "--porcelain", "--untracked-files=all"]), "?? .gemini/settings.json\n");
    let wired: Value = serde_json::from_str(&adam.read(file)).unwrap();
    let hook = &wired["hooks"]["BeforeAgent"][0]["hooks"][0];
    assert_eq!(hook["timeout"], 10_000);
    let command = text(hook, "/command");
    assert!(command.ends_with("worker-ctl hook gemini"), "{command}");
    let asks = json!({ "hook_event_name": "Notification", "notification_type": "ToolPermission", "session_id": "g-1",
        "message": "Tool requires confirmation", "details": { "type": "exec", "command": "touch one" } });
    hook_of(&floor, "adam", "gemini", &asks.to_string());
    let row = floor.status("adam");
    assert_eq!((text(&row, "/activity"), text(&row, "/activity_text")), ("asks", "touch one"));
    // One that was changed since is no longer ours.
    adam.write(file, "{\"mine\": 1}");
    floor.ctl(&["down", "--force"]).succeeds();
    floor.ctl(&["up", "adam"]).succeeds();
    assert_eq!(adam.read(file), "{\"mine\": 1}");
    let config = floor.root.read("config.toml");
    floor.root.write("config.toml", &config.replace("TOLD =", "\"TO=LD\" ="));
    floor.ctl(&["up", "adam"]).exit(2).err_has("`env` names `TO=LD`");
    floor.root.write("config.toml", &config);
}

#[test]
fn a_death_is_recorded_at_once() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).succeeds();
    kill_and_wait(&floor, "adam");
    let row = floor.status("adam");
    assert_eq!(
        (text(&row, "/task"), text(&row, "/status"), row["crash_count"].clone()),
        ("working", "error", json!(1))
    );
    assert_eq!(text(&floor.status("eve"), "/status"), "idle");
    // A person sees nothing of it.
    assert_eq!(tmux(&floor, &["display-message", "-p", "-t", "=worker-eve:", "#{pane_in_mode}"]), "0\n");
    let events = floor.ctl(&["events", "--json"]).exit(0).json_lines();
    assert_eq!(events.iter().filter(|event| event["event"] == "exited").count(), 1);
}

#[test]
fn a_running_up_sees_a_death_that_tmux_did_not_tell() {
    let w = World::new();
    let floor = Floor::new(&w);
    configure(&floor, "patrol_interval_secs = 60", "patrol_interval_secs = 3600");
    floor.ctl(&["add", "adam"]).succeeds();
    let _up = Staying::new(&floor, &["up"]);
    wait_for(|| text(&floor.status("adam"), "/status") == "idle");
    // The rounds that the start has caused are over after a second.
    let since = std::time::Instant::now();
    wait_for(|| since.elapsed().as_secs() >= 1);
    kill_agent(&floor, "adam");
    wait_for(|| floor.status("adam")["fault"] == "signal 9");
}

#[test]
fn a_question_that_comes_while_a_text_is_typed_does_not_get_our_enter() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    wait_for(|| floor.prompts().len() == 1);
    // The text is typed, and its Enter waits until the question is there.
    let held = "case \"$*\" in *paste-buffer*) \"$real\" \"$@\"; code=$?; touch ~/typed; \
                until [ -e ~/asked ]; do sleep 0.05; done; exit $code ;; esac";
    w.program("tmux", &format!("real='{}'\n{held}\nexec \"$real\" \"$@\"", which("tmux").display()));
    let mut sending = w.command(w.path("bin/worker-ctl"));
    sending.args(["message", "adam", "go on"]).current_dir(&floor.root.path).stderr(Stdio::piped());
    let sending = sending.spawn().unwrap();
    wait_for(|| w.home("typed").exists());
    assert!(floor.root.read("state.json").contains("\"is_typed\": true"));
    hook(&floor, "adam", &permission("rm -rf x"));
    write(&w.home("asked"), "");
    let out = sending.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(said.contains("not submitted: its program asks a question") && said.contains("attach adam"), "{said}");
    assert_eq!(floor.prompts().len(), 1);
}

#[test]
fn a_rejection_is_not_lost_with_its_conversation() {
    let w = World::new();
    let floor = Floor::new(&w);
    let log = w.home("words");
    let body = format!(
        "{{ printf '%s|' \"$@\"; echo; }} >> '{}'; [ \"$1\" = --resume ] && exit 1; printf '> '; exec sleep 600",
        log.display()
    );
    w.program("forgetful", &body);
    let more = "delivery = \"argv\"\nhooks = \"claude\"\nresume = [\"--continue\"]\n\
                resume_conversation = [\"--resume\", \"{conversation}\"]\n";
    table(&floor, "forgetful", &["forgetful", "{hooks}"], more);
    floor.ctl(&["add", "adam", "--agent", "forgetful"]).succeeds();
    floor.up();
    floor.ctl(&["start", "--task", "do it"]).succeeds();
    hook(&floor, "adam", &event("UserPromptSubmit"));
    commit(&tree(&floor, "adam"), "Write a", &["a.txt"], "a\n");
    floor.until("adam", "needs_review");
    floor.ctl(&["review", "adam"]).succeeds();
    floor.ctl(&["reject", "not so"]).succeeds().err_has("adam cannot continue its conversation, and is started anew");
    let words = || std::fs::read_to_string(&log).unwrap();
    wait_for(|| words().matches("not so").count() == 2);
    let last = words().split("--settings|").last().unwrap().to_owned();
    assert!(last.contains("not so"), "{}", words());
    let row = floor.status("adam");
    assert_eq!((text(&row, "/task"), text(&row, "/session")), ("rejected", "up"));
}

#[test]
fn the_hooks_of_tmux_and_of_agents_run_the_on_event_of_a_flag() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    let line = "echo \"$WORKER_CTL_EVENT $WORKER_CTL_ACTIVITY\" >> told";
    floor.ctl(&["up", "adam", "--on-event", line]).succeeds();
    // Programs that start later have it in their environment.
    assert_eq!(
        tmux(&floor, &["show-environment", "-g", "WORKER_CTL_ON_EVENT"]),
        format!("WORKER_CTL_ON_EVENT={line}\n")
    );
    kill_and_wait(&floor, "adam");
    wait_for(|| floor.root.has("told") && floor.root.read("told").contains("exited unknown\n"));
}

#[test]
fn an_earlier_crash_is_not_taken_for_a_lost_conversation() {
    let w = World::new();
    let floor = Floor::new(&w);
    let more = "hooks = \"claude\"\nresume_conversation = [\"--resume\", \"{conversation}\"]\n";
    agent(&floor, "steady", &[], more);
    floor.ctl(&["add", "adam", "--agent", "steady"]).succeeds();
    floor.up();
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    hook(&floor, "adam", &event("UserPromptSubmit"));
    floor.ctl(&["message", "adam", "EXIT 7"]).succeeds();
    floor.until("adam", "error");
    // Nothing can be started, so nothing is known of the conversation.
    configure(&floor, "[workers.adam]\n", "[workers.adam]\nhost = \"elsewhere\"\n");
    let said = floor.ctl(&["up", "adam"]).exit(4).stderr;
    assert!(said.contains("its worktree is here") && !said.contains("conversation"), "{said}");
    let state: Value = serde_json::from_str(&floor.root.read("state.json")).unwrap();
    assert_eq!(text(&state, "/workers/adam/conversation"), "s-1");
}

/// An agent that asks may do unasked what changes nothing; of servers it starts ours unasked, as we have named it.
#[test]
fn an_agent_that_asks_may_read_and_starts_our_server_alone() {
    let w = World::new();
    which("tmux");
    let log = w.home("words");
    let body = format!("{{ printf '%s|' \"$@\"; echo; }} >> '{}'; printf '> '; exec sleep 600", log.display());
    w.program("hooked", &body);
    write(
        &w.home(".config/shopfloor/config.toml"),
        "[worker-ctl.agents.hooked]\ncommand = [\"hooked\", \"{hooks}\", \"{allowed_tools}\"]\nhooks = \"claude\"\n\
         ready = { pattern = \"^>\" }\n",
    );
    let app = w.app();
    app.commit("README.md", "app\n");
    let x = w.at(app.sh("worktree-spawn subtree x").exit(0).any_err().stdout.trim_end());
    let y = app.sh("worktree-spawn subtree y").exit(0).any_err().stdout.trim_end().to_owned();
    let add = |path: &str, more: &[&str]| {
        let args = [&["add", "--worktree", path, "--agent", "hooked"], more].concat();
        app.run("worker-ctl", &args).exit(0).any_out().any_err();
    };
    add(x.path.to_str().unwrap(), &[]);
    add(&y, &["--yolo"]);
    let started = |name: &str| {
        app.run("worker-ctl", &["up", name]).exit(0).any_out().any_err();
        let words = std::fs::read_to_string(&log).unwrap();
        let last: Vec<String> = words.lines().last().unwrap().split('|').map(str::to_owned).collect();
        app.run("worker-ctl", &["down", name, "--force"]).exit(0).any_out().any_err();
        let at = last.iter().position(|word| word == "--settings").unwrap();
        let settings: Value = serde_json::from_str(&std::fs::read_to_string(&last[at + 1]).unwrap()).unwrap();
        (last[at + 2].clone(), settings["enabledMcpjsonServers"].clone(), settings["hooks"]["Stop"].is_array())
    };
    let ours = json!(["shopfloor"]);
    assert_eq!(started("x"), ("Read,Glob,Grep".into(), ours.clone(), true));
    assert_eq!(started("y"), ("Bash,Edit,Read,Write,Glob,Grep".into(), ours, true));
    let server = x.read(".mcp.json");
    for named in [server.replace("worktree-spawn\"", "evil\""), server.replace("main.x", "main.y"), "{}".into()] {
        x.write(".mcp.json", &named);
        assert_eq!(started("x").1, Value::Null, "{named}");
    }
    app.run("worker-ctl", &["down", "--force"]).exit(0).any_out().any_err();
}
