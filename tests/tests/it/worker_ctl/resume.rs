//! worker-ctl: how workers go on after a restart, a crash or a reboot.

use serde_json::json;

use crate::support::floor::Floor;
use crate::support::worker::{
    adopted_floor, by_hand, event, hook, hook_of, program, prompts, staff, table, tmux, tree, up, work,
};
use crate::support::world::{World, text, wait_for, which};

/// Ends the tmux server and all programs at once, as a reboot does. Nothing records that.
fn reboot(floor: &Floor<'_>) {
    let pids = tmux(floor, &["list-panes", "-a", "-F", "#{pane_pid}"]).replace('\n', " ");
    let server = tmux(floor, &["display-message", "-p", "#{pid}"]);
    floor.root.sh(&format!("kill -9 {} {pids}", server.trim())).exit(0);
    let is_gone =
        |pid: &str| floor.root.sh(&format!("kill -0 {pid}")).any_status().any_out().any_err().status != Some(0);
    wait_for(|| server.split_whitespace().chain(pids.split_whitespace()).all(is_gone));
}

/// A floor with adam, whose program goes on with its conversation, and eve, whose program begins anew. Both have a task.
/// Returns the log of adam's program.
fn at_work(w: &World) -> (Floor<'_>, std::path::PathBuf) {
    let floor = Floor::new(w);
    let more = "hooks = \"claude\"\nresume_conversation = [\"--resume={conversation}\"]\n";
    let log = w.home("steady.jsonl");
    w.program("steady", &format!("SCRIPTED_LOG='{}' exec '{}' \"$@\"", log.display(), program()));
    table(&floor, "steady", &["steady"], more);
    floor.ctl(&["add", "adam", "--agent", "steady"]).succeeds();
    floor.ctl(&["add", "eve"]).succeeds();
    floor.up();
    for (name, task) in [("adam", "think"), ("eve", "ponder")] {
        floor.ctl(&["start", name, "--task", task]).succeeds();
    }
    // What is ended before it has read its task has never got it.
    wait_for(|| prompts(&log).len() == 1 && floor.prompts().len() == 1);
    hook(&floor, "adam", &event("UserPromptSubmit"));
    (floor, log)
}

/// opencode shows its empty screen until it has opened the conversation.
#[test]
fn a_text_is_not_typed_on_the_empty_screen_before_a_conversation_is_continued() {
    let w = World::new();
    let floor = Floor::new(&w);
    let body = "case \"$*\" in --version) exit ;; esac; echo 'Ask anything'
        case \"$*\" in *'--session s-1'*) sleep 1; touch ~/opened ;; esac
        echo '  ctrl+p commands    • OpenCode'; exec sleep 600";
    w.program("opencode", body);
    floor.ctl(&["add", "adam", "--agent", "opencode"]).succeeds();
    floor.up();
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds().any_err();
    hook_of(&floor, "adam", "opencode", r#"{"hook_event_name":"chat.message","session_id":"s-1","prompt":"think"}"#);
    floor.ctl(&["down", "--force"]).succeeds();
    floor.up();
    assert!(w.home("opened").exists());
}

#[test]
fn one_command_after_a_reboot_makes_all_go_on_and_sends_nothing_twice() {
    let w = World::new();
    let (floor, log) = at_work(&w);
    for name in ["idle", "done"] {
        floor.ctl(&["add", name]).succeeds();
        up(&floor, &[name]);
    }
    work(&floor, "done", "COMMIT a.txt a Write a");
    let before = floor.prompts().len();
    assert_eq!((before, prompts(&log).len()), (2, 1));
    reboot(&floor);
    let would = floor.ctl(&["resume", "--all", "--dry-run", "--json"]).exit(0).json();
    let steps = ["adam", "done", "eve", "idle"].map(|name| format!("start the session of {name}"));
    assert_eq!(would["would"], json!(steps));
    let done = floor.ctl(&["resume", "--all"]).exit(0).any_err().stdout.clone();
    assert_eq!(done, "continue adam\nstart eve\nup done\nup idle\n");
    wait_for(|| prompts(&log).len() == 2 && floor.prompts().len() == before + 1);
    assert_eq!(prompts(&log)[1], "Continue with your task.");
    assert!(floor.prompts()[before].ends_with("\n\nponder"), "{:?}", floor.prompts());
    for (name, status) in [("adam", "working"), ("eve", "working"), ("done", "needs_review"), ("idle", "idle")] {
        let worker = floor.status(name);
        assert_eq!((text(&worker, "/status"), &worker["notes"]), (status, &json!([])), "{name}");
    }
    // Who works already gets nothing, and there is nothing to say of it.
    assert_eq!(floor.ctl(&["resume", "--all"]).exit(0).any_err().stdout, "");
    let again = floor.ctl(&["resume", "--all", "--json"]).exit(0).any_err().json();
    assert_eq!(again["workers"].as_array().map(Vec::len), Some(4));
    floor.ctl(&["message", "adam", "last"]).succeeds();
    floor.ctl(&["message", "eve", "last"]).succeeds();
    wait_for(|| prompts(&log).len() == 3 && floor.prompts().len() == before + 2);
    assert!(prompts(&log)[2] == "last" && floor.prompts()[before + 1] == "last");
}

#[test]
fn up_resumes_at_once_if_it_is_told_to() {
    let w = World::new();
    let (floor, log) = at_work(&w);
    reboot(&floor);
    floor.ctl(&["up", "--detach", "--resume"]).exit(0).any_err();
    wait_for(|| prompts(&log).len() == 2 && floor.prompts().len() == 2);
    assert_eq!(prompts(&log)[1], "Continue with your task.");
    floor.ctl(&["down"]).succeeds();
    floor.ctl(&["up", "--resume", "adam", "eve"]).succeeds().any_err();
    wait_for(|| prompts(&log).len() == 3 && floor.prompts().len() == 3);
    // Without it nothing is sent, and the rows tell.
    floor.ctl(&["down"]).succeeds();
    floor.up();
    floor.ctl(&["status"]).exit(0).out_has("`worker-ctl resume adam`").out_has("`worker-ctl resume eve`");
    assert_eq!(floor.status("adam")["needs"], "resume");
    assert_eq!(floor.status("eve")["needs"], "fresh");
    floor.ctl(&["wait", "adam", "--for", "you"]).exit(0).out_has("adam resume");
    // A person who types there has let it go on.
    hook(&floor, "adam", &event("UserPromptSubmit"));
    assert_eq!((&floor.status("adam")["notes"], &floor.status("adam")["needs"]), (&json!([]), &json!(null)));
    assert_eq!((prompts(&log).len(), floor.prompts().len()), (3, 3));
}

#[test]
fn one_command_after_a_crash_makes_a_worker_go_on() {
    let w = World::new();
    let (floor, log) = at_work(&w);
    for name in ["adam", "eve"] {
        floor.ctl(&["message", name, "EXIT 7"]).succeeds();
        floor.until(name, "error");
    }
    floor.ctl(&["resume"]).exit(2).err_has("`--all`");
    floor.ctl(&["resume", "nobody"]).exit(1).err_has("nobody");
    let counts = || (prompts(&log).len(), floor.prompts().len());
    assert_eq!(counts(), (2, 2));
    floor.ctl(&["resume", "adam", "eve"]).exit(0).any_err().out_has("continue adam").out_has("start eve");
    wait_for(|| counts() == (3, 3));
    for name in ["adam", "eve"] {
        let worker = floor.status(name);
        assert_eq!((text(&worker, "/status"), &worker["fault"]), ("working", &json!(null)));
    }
    // Nothing is typed over a question.
    floor.ctl(&["down"]).succeeds();
    floor.up();
    hook(&floor, "eve", &json!({ "hook_event_name": "PermissionRequest", "session_id": "s-1", "tool_name": "Bash" }));
    floor.ctl(&["resume", "eve"]).exit(1).any_out().err_has("it asks a question");
    assert_eq!(counts(), (3, 3));
}

#[test]
fn a_program_whose_start_was_not_recorded_gets_its_task_and_one_that_has_it_does_not() {
    let w = World::new();
    let floor = staff(&w, &["eve"]);
    floor.ctl(&["start", "eve", "--task", "ponder"]).succeeds();
    wait_for(|| floor.prompts().len() == 1);
    // With FULL, something is in the way of each write of the state, as a full disk, from the start of a program on. With
    // KILL, a `down` is killed that has ended nothing yet.
    let in_the_way = floor.root.path.join("state.json.next");
    let body = format!(
        "case \"$FULL$KILL $*\" in 'full '*' new-session '*) mkdir '{}' ;; 'kill '*' C-c') kill -KILL $PPID; exit 1 ;; esac",
        in_the_way.display()
    );
    w.program("tmux", &format!("{body}\nexec '{}' \"$@\"", which("tmux").display()));
    let down = floor.root.run_with("worker-ctl", &["down", "eve"], &[("KILL", "kill")]);
    assert!(down.any_status().any_out().any_err().status.is_none());
    floor.up();
    let eve = floor.status("eve");
    assert_eq!((text(&eve, "/status"), &eve["notes"]), ("working", &json!([])));
    let start_unrecorded = |command: &str| {
        floor.ctl(&["down"]).succeeds();
        let failed = floor.root.run_with("worker-ctl", &[command, "eve"], &[("FULL", "full")]).exit(4).any_out();
        failed.err_has("cannot replace");
        std::fs::remove_dir(&in_the_way).unwrap();
    };
    start_unrecorded("resume");
    floor.ctl(&["resume", "eve"]).exit(0).any_err().out_has("start eve");
    wait_for(|| floor.prompts().len() == 2);
    assert!(floor.prompts()[1].ends_with("\n\nponder"), "{:?}", floor.prompts());
    start_unrecorded("up");
    floor.up();
    assert_eq!(floor.status("eve")["needs"], "fresh");
    // An `up` that stays finds it, too.
    start_unrecorded("up");
    floor.ctl(&["up", "--detach"]).succeeds();
    assert_eq!(floor.status("eve")["needs"], "fresh");
    assert_eq!(floor.prompts().len(), 2);
}

#[test]
fn a_program_that_was_started_anew_is_told_of_its_conflicts_as_well() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    by_hand(&floor, "adam", &[("README.md", "mine\n")]);
    floor.app.commit("README.md", "theirs\n");
    floor.ctl(&["accept", "adam"]).exit(1).any_err();
    wait_for(|| floor.prompts().len() == 2);
    let asked = floor.prompts()[1].clone();
    floor.ctl(&["message", "adam", "EXIT 9"]).succeeds();
    floor.until("adam", "error");
    for command in ["accept", "rebase", "review"] {
        floor.ctl(&[command, "adam"]).exit(1).err_has("`worker-ctl resume adam`");
    }
    floor.ctl(&["resume", "adam"]).exit(0).any_err().out_has("start adam");
    wait_for(|| floor.prompts().len() == 4);
    let whole = floor.prompts()[3].clone();
    assert!(whole.starts_with("You are working in") && whole.ends_with(&format!("\n\nthink\n\n{asked}")), "{whole}");
    floor.ctl(&["accept", "adam"]).exit(1).err_has("was asked to resolve the conflicts").err_has("README.md");
    floor.ctl(&["down"]).succeeds();
    floor.up();
    floor.ctl(&["rebase", "adam"]).exit(1).err_has("`worker-ctl resume adam`");
    floor.ctl(&["start", "--resume", "adam"]).succeeds();
    wait_for(|| floor.prompts().len() == 5);
    assert_eq!(floor.prompts()[4], whole);
    floor.ctl(&["rebase", "adam"]).exit(1).err_has("`worker-ctl wait adam`");
    floor.ctl(&["message", "adam", "RESOLVE README.md both"]).succeeds();
    floor.until("adam", "needs_review");
}

#[test]
fn a_program_that_was_started_anew_is_told_what_to_change_as_well() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    floor.up();
    // The task is sent again below: it must be one after which the program changes nothing.
    by_hand(&floor, "adam", &[("a.txt", "a\n")]);
    floor.ctl(&["review", "adam"]).succeeds();
    floor.ctl(&["reject", "adam", "Name it\nb.txt."]).succeeds();
    for command in ["review", "accept"] {
        floor.ctl(&[command, "adam"]).exit(1).err_has("adam is rejected").err_has("`worker-ctl message adam TEXT`");
    }
    wait_for(|| floor.prompts().len() == 2);
    floor.ctl(&["down"]).succeeds();
    floor.ctl(&["resume", "adam"]).exit(0).any_err().out_has("start adam");
    wait_for(|| floor.prompts().len() == 3);
    let last = floor.prompts().pop().unwrap();
    let end = "\n\nYour work was reviewed and needs changes:\n\nName it\nb.txt.\n\nAmend your commit.";
    assert!(last.starts_with("You are working in") && last.contains("\n\nthink\n") && last.ends_with(end), "{last}");
    // Once there is a new commit, nothing of it is left to tell.
    tree(&floor, "adam").commit("b.txt", "b\n");
    floor.until("adam", "needs_review");
    floor.ctl(&["accept", "adam"]).succeeds().any_err();
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds();
    wait_for(|| floor.prompts().len() == 4);
    floor.ctl(&["down"]).succeeds();
    floor.ctl(&["resume", "adam"]).exit(0).any_err().out_has("start adam");
    wait_for(|| floor.prompts().len() == 5);
    assert!(!floor.prompts()[4].contains("needs changes"));
}

#[test]
fn a_worktree_that_was_removed_and_made_anew_is_its_workers_and_their_programs_again() {
    let w = World::new();
    let floor = adopted_floor(&w);
    let (app, adam) = (&floor.app, tree(&floor, "adam"));
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds();
    app.git(&["worktree", "remove", "--force", "../adam"]);
    app.git(&["worktree", "add", "-q", "../adam", "feature/adam"]);
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    assert_eq!(text(&floor.status("adam"), "/fault"), "worktree missing");
    app.run("worker-ctl", &["add", "--worktree", "../adam"]).exit(0).any_out().any_err();
    assert!(floor.status("adam")["fault"].is_null());
    floor.ctl(&["resume", "adam"]).exit(0).any_out().err_has("adam is started anew");
    let cwd = std::fs::read_link(format!("/proc/{}/cwd", floor.status("adam")["pane_pid"])).unwrap();
    assert_eq!(cwd, adam.path.canonicalize().unwrap());
}
