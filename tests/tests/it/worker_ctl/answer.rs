//! worker-ctl: how a question in a menu is answered without attaching.

use serde_json::json;

use crate::support::worker::{event, hook, refused, staff, tmux};
use crate::support::world::{World, text, wait_for};

#[test]
fn a_question_is_answered_by_its_number_or_by_a_pattern() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--task", "think"]).succeeds();
    assert_eq!(refused(&floor, &["answer", "adam"], 1), "wrong_state");
    let permission = json!({ "hook_event_name": "PermissionRequest", "session_id": "s-1", "tool_name": "Bash", "tool_input": { "command": "ls" } });
    let ask = || {
        floor.ctl(&["message", "adam", "ASK Yes|Yes, always|No, never"]).succeeds();
        wait_for(|| floor.ctl(&["peek", "adam"]).exit(0).stdout.contains("3. No, never"));
        hook(&floor, "adam", &permission);
    };
    let last = || floor.prompts().last().unwrap().clone();
    ask();
    let lines = floor.ctl(&["answer", "adam"]).exit(0).stdout.clone();
    assert_eq!(lines, "1. Yes\n2. Yes, always\n3. No, never\n");
    floor.ctl(&["status"]).exit(0).out_has("asks: Bash: ls");
    // Nothing is chosen that was not meant.
    for (line, says) in
        [("yes", "several lines"), ("4", "no line"), ("maybe", "no line"), ("(", "nor a regular expression")]
    {
        floor.ctl(&["answer", "adam", line]).exit(2).err_has(says);
    }
    let would = floor.ctl(&["answer", "adam", "never", "--dry-run"]).exit(0).stdout.clone();
    assert!(would.contains("choose `3. No, never`"), "{would}");
    assert!(last().contains("ASK"), "{}", last());
    assert_eq!(floor.ctl(&["answer", "adam", "3"]).exit(0).stdout, "3. No, never\n");
    wait_for(|| last() == "chose No, never");
    // The program's hook says that it goes on.
    hook(&floor, "adam", &event("Stop"));
    assert_eq!(refused(&floor, &["answer", "adam", "1"], 1), "wrong_state");
    ask();
    // A dry run lists and remembers nothing; what it listed is named.
    let menu = floor.ctl(&["answer", "adam", "--json", "-n"]).exit(0).json();
    assert_eq!(floor.ctl(&["peek", "adam", "--json"]).exit(0).json()["menu"]["id"], menu["menu"]);
    floor.ctl(&["answer", "adam", "2", "--menu", "another"]).exit(1).err_has("asks another question");
    let named = ["answer", "adam", "ALWAYS", "--menu", text(&menu, "/menu"), "--json"];
    let answer = floor.ctl(&named).exit(0).json();
    assert_eq!((text(&answer, "/chosen"), text(&answer, "/question")), ("2. Yes, always", "Bash: ls"));
    wait_for(|| last() == "chose Yes, always");
    // It still counts as asking, but there is no menu any more.
    floor.ctl(&["answer", "adam", "1"]).exit(1).err_has("worker-ctl attach adam");
}

#[test]
fn a_number_means_a_line_of_the_question_that_was_listed() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--task", "think"]).succeeds();
    let ask = |command: &str| {
        floor.ctl(&["message", "adam", "ASK Yes|No"]).succeeds();
        wait_for(|| floor.ctl(&["peek", "adam"]).exit(0).stdout.contains("2. No"));
        let permission = json!({ "hook_event_name": "PermissionRequest", "session_id": "s-1", "tool_name": "Bash", "tool_input": { "command": command } });
        hook(&floor, "adam", &permission);
    };
    let last = || floor.prompts().last().unwrap().clone();
    ask("ls");
    floor.ctl(&["answer", "adam"]).exit(0).out_has("1. Yes");
    // Somebody answers it in the terminal, and another question with the same lines comes.
    tmux(&floor, &["send-keys", "-t", "=worker-adam:", "Enter"]);
    wait_for(|| last() == "chose Yes");
    hook(&floor, "adam", &event("Stop"));
    ask("rm -rf /");
    assert_eq!(refused(&floor, &["answer", "adam", "1"], 1), "changed");
    assert!(last().contains("ASK"), "{}", last());
    floor.ctl(&["answer", "adam"]).exit(0).out_has("1. Yes");
    floor.ctl(&["answer", "adam", "2"]).exit(0).out_has("2. No");
    wait_for(|| last() == "chose No");
    // What nobody listed, somebody may have seen elsewhere.
    hook(&floor, "adam", &event("Stop"));
    ask("ls -l");
    floor.ctl(&["answer", "adam", "1"]).exit(0).out_has("1. Yes");
}

#[test]
fn an_answer_that_cannot_be_recorded_is_not_to_be_given_again() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--task", "think"]).succeeds();
    floor.ctl(&["message", "adam", "ASK Yes|No"]).succeeds();
    wait_for(|| floor.ctl(&["answer", "adam"]).any_status().any_err().stdout.contains("2. No"));
    // In the way of each write, as a full disk.
    let in_the_way = floor.root.path.join("state.json.next");
    std::fs::create_dir(&in_the_way).unwrap();
    let given = floor.ctl(&["answer", "adam", "2"]).exit(4);
    given.err_has("the question of adam was answered, but this could not be recorded");
    given.err_has("another question: `worker-ctl peek adam`");
    wait_for(|| floor.prompts().last().unwrap() == "chose No");
    std::fs::remove_dir(&in_the_way).unwrap();
}

/// Some questions no hook tells of. A text that was typed there would be lost, or choose a line.
#[test]
fn a_menu_that_no_hook_tells_of_is_seen() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--task", "think"]).succeeds();
    hook(&floor, "adam", &event("UserPromptSubmit"));
    floor.ctl(&["message", "adam", "ASK Enable|Not now"]).succeeds();
    wait_for(|| floor.ctl(&["peek", "adam"]).exit(0).stdout.contains("2. Not now"));
    assert_eq!(refused(&floor, &["message", "adam", "1 more"], 1), "occupied");
    let refusal = floor.ctl(&["message", "adam", "1 more"]).exit(1);
    refusal.err_has("nothing was typed to adam: it shows a menu: 1. Enable").err_has("worker-ctl answer adam");
    // It has the task that it was given, and needs a person.
    assert_eq!(floor.status("adam")["task"], "working");
    wait_for(|| floor.status("adam")["needs"] == "asks");
    floor.ctl(&["wait", "adam", "--for", "you", "--timeout", "5s"]).exit(0).any_out().any_err();
    assert_eq!(floor.ctl(&["answer", "adam", "not"]).exit(0).stdout, "2. Not now\n");
    wait_for(|| floor.prompts().last().unwrap() == "chose Not now");
    floor.ctl(&["message", "adam", "SAY more"]).succeeds();
    assert!(floor.status("adam")["needs"].is_null());
}

#[test]
fn a_menu_that_was_listed_before_the_hook_told_of_it_is_still_that_menu() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--task", "think"]).succeeds();
    hook(&floor, "adam", &event("UserPromptSubmit"));
    let permission = json!({ "hook_event_name": "PermissionRequest", "session_id": "s-1", "tool_name": "Bash", "tool_input": { "command": "ls" } });
    let ask = |lines: &str, last: &str| {
        floor.ctl(&["message", "adam", &format!("ASK {lines}")]).succeeds();
        wait_for(|| floor.ctl(&["peek", "adam"]).exit(0).stdout.contains(last));
    };
    let last = || floor.prompts().last().unwrap().clone();
    ask("Enable|Not now", "2. Not now");
    wait_for(|| floor.ctl(&["answer", "adam"]).any_status().any_err().stdout.contains("2. Not now"));
    hook(&floor, "adam", &permission);
    floor.ctl(&["answer", "adam", "2"]).exit(0).out_has("2. Not now");
    wait_for(|| last() == "chose Not now");
    hook(&floor, "adam", &event("Stop"));
    // Another one is not.
    ask("Enable|Not now", "2. Not now");
    wait_for(|| floor.ctl(&["answer", "adam"]).any_status().any_err().stdout.contains("2. Not now"));
    tmux(&floor, &["send-keys", "-t", "=worker-adam:", "Enter"]);
    wait_for(|| last() == "chose Enable");
    ask("Delete|Keep", "2. Keep");
    hook(&floor, "adam", &permission);
    assert_eq!(refused(&floor, &["answer", "adam", "1"], 1), "changed");
}
