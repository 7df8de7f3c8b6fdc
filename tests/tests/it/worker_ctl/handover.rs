//! worker-ctl: texts for a program that takes them at a socket.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::floor::Floor;
use crate::support::worker::{agent, commit, configure, prompts, refused, tree};
use crate::support::world::{World, text, wait_for};

/// A floor with a worker `adam`, whose program has the hooks of opencode. Returns the log of the program's arguments.
fn floor<'w>(w: &'w World) -> (Floor<'w>, PathBuf) {
    let floor = Floor::new(w);
    let more = "hooks = \"opencode\"\ndelivery = \"argv\"\nmodel = \"m-1\"\n";
    let log = agent(&floor, "taker", &["--model={model}"], more);
    floor.ctl(&["add", "adam", "--agent", "taker"]).succeeds();
    floor.up();
    (floor, log)
}

/// Listens in place of the plugin. Each connection gets the next answer; an empty one closes it.
fn listen(socket: &Path, answers: &[&'static str]) -> Receiver<Value> {
    let _ = std::fs::remove_file(socket);
    let listener = UnixListener::bind(socket).unwrap();
    let (sender, receiver) = channel();
    let answers = answers.to_vec();
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut line = String::new();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
            let _ = sender.send(serde_json::from_str(&line).unwrap());
            // Nobody may read on.
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    receiver
}

/// How long to wait for a request.
const PATIENCE: Duration = Duration::from_secs(10);

const ARRIVED: &str = "{\"result\":\"arrived\",\"conversation\":\"ses_1\"}\n";
const OTHER: &str = "{\"result\":\"other\"}\n";
const GONE: &str = "{\"result\":\"gone\"}\n";
const ASKS: &str = "{\"result\":\"asks\"}\n";

fn pid(floor: &Floor<'_>) -> Value {
    floor.status("adam")["pane_pid"].clone()
}

/// Reports the conversation of adam's task, as the program's hook does.
fn report(floor: &Floor<'_>, conversation: &str) {
    let payload = json!({ "hook_event_name": "chat.message", "session_id": conversation, "prompt": "p" }).to_string();
    let variables = [("WORKER_CTL_ROOT", floor.root.path.to_str().unwrap()), ("WORKER_CTL_WORKER", "adam")];
    floor.root.run_with("worker-ctl", &["hook", "opencode", &payload], &variables).exit(0);
}

#[test]
fn a_program_that_takes_texts_gets_its_tasks_and_feedback_without_a_new_start() {
    let w = World::new();
    let (floor, log) = floor(&w);
    let begun = pid(&floor);
    let socket = floor.root.path.join("hooks/adam.sock");
    let requests = listen(&socket, &[ARRIVED; 3]);
    let task = "Say \"hi\"\n\n\t`id` é\n";
    let answer = floor.ctl(&["start", "--worker", "adam", "--prompt", task, "--json"]).exit(0).json();
    assert_eq!(text(&answer, "/delivery"), "delivered");
    let request = requests.recv_timeout(PATIENCE).unwrap();
    assert!(text(&request, "/text").contains(task), "{request}");
    assert_eq!((&request["conversation"], &request["pid"]), (&Value::Null, &begun));
    // A rejection goes to the conversation that the program named.
    commit(&tree(&floor, "adam"), "Write a", &["a.txt"], "a\n");
    floor.until("adam", "needs_review");
    floor.ctl(&["review", "adam"]).succeeds();
    floor.ctl(&["reject", "not like this"]).succeeds();
    let request = requests.recv_timeout(PATIENCE).unwrap();
    assert!(text(&request, "/text").contains("not like this"), "{request}");
    assert_eq!(text(&request, "/conversation"), "ses_1");
    assert_eq!((pid(&floor), prompts(&log)), (begun, vec![]));
    assert_eq!(text(&floor.status("adam"), "/status"), "rejected");
    let answer = floor.ctl(&["message", "adam", "go on", "--json"]).exit(0).json();
    assert_eq!(text(&answer, "/delivery"), "delivered");
    assert_eq!(text(&requests.recv_timeout(PATIENCE).unwrap(), "/text"), "go on");
    floor.ctl(&["nuke", "adam", "--force", "--yes"]).succeeds().any_err();
    assert!(!socket.exists());
}

#[test]
fn a_program_that_does_not_take_a_task_is_started_anew_with_it() {
    let w = World::new();
    let (floor, log) = floor(&w);
    let socket = floor.root.path.join("hooks/adam.sock");
    // Nobody listens, the program says no, and it ends without an answer.
    for (nth, answer) in [None, Some(OTHER), Some("")].into_iter().enumerate() {
        let requests = answer.map(|answer| listen(&socket, &[answer]));
        let (begun, task) = (pid(&floor), format!("task {nth}"));
        floor.ctl(&["start", "--worker", "adam", "--prompt", &task]).succeeds();
        wait_for(|| prompts(&log).len() == nth + 1);
        assert!(prompts(&log)[nth].contains(&task), "{:?}", prompts(&log));
        assert_ne!(pid(&floor), begun);
        assert!(requests.is_none_or(|requests| requests.recv_timeout(PATIENCE).is_ok()));
        floor.ctl(&["reset", "adam", "--force"]).succeeds().any_err();
        floor.ctl(&["up", "adam"]).succeeds();
    }
    assert_eq!(text(&floor.status("adam"), "/status"), "idle");
}

/// It cannot continue its conversation with an argument. What is typed might meet another conversation.
#[test]
fn feedback_goes_to_the_conversation_of_the_task_or_nowhere() {
    let w = World::new();
    let (floor, log) = floor(&w);
    let socket = floor.root.path.join("hooks/adam.sock");
    floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).succeeds();
    wait_for(|| prompts(&log).len() == 1);
    report(&floor, "ses_1");
    let reject = |file: &str, answer: &'static str, feedback: &str| {
        commit(&tree(&floor, "adam"), file, &[file], "a\n");
        floor.until("adam", "needs_review");
        floor.ctl(&["review", "adam"]).succeeds();
        let requests = listen(&socket, &[answer]);
        let rejected = floor.ctl(&["reject", feedback]);
        assert!(requests.recv_timeout(PATIENCE).is_ok());
        rejected
    };
    let before = reject("a.txt", GONE, "no conversation").exit(4);
    before.err_has("does not have the conversation of the task any more");
    assert_eq!((text(&floor.status("adam"), "/status"), prompts(&log).len()), ("needs_review", 1));
    let asking = listen(&socket, &[ASKS]);
    assert_eq!(refused(&floor, &["reject", "over a question"], 1), "occupied");
    assert!(asking.recv_timeout(PATIENCE).is_ok());
    assert_eq!((text(&floor.status("adam"), "/status"), prompts(&log).len()), ("needs_review", 1));
    // A person looks, and types. Without a program that listens, the text is typed too.
    floor.ctl(&["message", "adam", "by hand", "--force"]).succeeds();
    floor.ctl(&["reject", "typed"]).succeeds();
    wait_for(|| prompts(&log).len() == 3);
    let unknown = reject("b.txt", "", "lost").exit(4);
    unknown.err_has("the program of adam did not answer").err_has("worker-ctl peek");
    assert_eq!((refused(&floor, &["message", "adam", "more"], 1), prompts(&log).len()), ("in_doubt".into(), 3));
}

/// Another program of the same user may listen there.
#[test]
fn what_answers_at_the_socket_is_not_trusted() {
    let w = World::new();
    let (floor, log) = floor(&w);
    let socket = floor.root.path.join("hooks/adam.sock");
    let flood: &'static str = Box::leak("x".repeat(64 << 20).into_boxed_str());
    let option = "{\"result\":\"arrived\",\"conversation\":\"--help\"}\n";
    for (nth, answer) in [flood, option, "null\n", "{\"result\":\"arrived\"", "\n"].into_iter().enumerate() {
        drop(listen(&socket, &[answer]));
        floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).succeeds();
        wait_for(|| prompts(&log).len() == nth + 1);
        assert!(!floor.root.read("state.json").contains("--help"));
        floor.ctl(&["reset", "adam", "--force"]).succeeds().any_err();
        floor.ctl(&["up", "adam"]).succeeds();
    }
}

#[test]
fn a_program_that_was_started_with_other_settings_can_tell() {
    let w = World::new();
    let (floor, _) = floor(&w);
    let socket = floor.root.path.join("hooks/adam.sock");
    let has_settings = |settings: &str| {
        let began_with = std::fs::read(format!("/proc/{}/environ", pid(&floor))).unwrap();
        let variable = format!("WORKER_CTL_SETTINGS={settings}");
        began_with.split(|byte| *byte == 0).any(|pair| pair == variable.as_bytes())
    };
    for is_same in [true, false] {
        if !is_same {
            configure(&floor, "model = \"m-1\"", "model = \"m-2\"");
        }
        let requests = listen(&socket, &[ARRIVED]);
        floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).succeeds();
        assert_eq!(has_settings(text(&requests.recv_timeout(PATIENCE).unwrap(), "/settings")), is_same);
        floor.ctl(&["reset", "adam", "--force"]).succeeds().any_err();
        floor.ctl(&["up", "adam"]).succeeds();
    }
}
