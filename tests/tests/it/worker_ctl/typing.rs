//! worker-ctl: no text of ours gets into a line that a person types.

use std::io::Write;
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

use crate::support::floor::Floor;
use crate::support::worker::{Staying, staff, table, tmux, up, work};
use crate::support::world::{Output, World, text, wait_for, which};

/// A person at a terminal, attached to a worker's session.
struct Person {
    script: Child,
    keys: ChildStdin,
    session: String,
}

impl Person {
    fn attach(floor: &Floor<'_>, name: &str) -> Person {
        let socket = floor.ctl(&["status", "--json"]).exit(0).json()["tmux_socket"].as_str().unwrap().to_owned();
        let mut script = floor.root.world.command("script");
        script.args(["-qefc", &format!("tmux -S '{socket}' attach -t '=worker-{name}'"), "/dev/null"]);
        script.env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut script = script.spawn().expect("script (Debian: bsdutils) gives the tests a terminal");
        let keys = script.stdin.take().unwrap();
        wait_for(|| tmux(floor, &["list-clients"]).contains(&format!("worker-{name}")));
        Person { script, keys, session: format!("worker-{name}") }
    }

    /// Types, and waits until tmux has seen the keys. Returns the time just before.
    fn types(&mut self, floor: &Floor<'_>, keys: &str) -> Instant {
        let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let (before, start) = (now(), Instant::now());
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
        let format = ["list-clients", "-F", "#{client_activity} #{client_session}"];
        wait_for(|| {
            let clients = tmux(floor, &format);
            let of_ours = clients.lines().filter(|line| line.ends_with(&self.session));
            of_ours.filter_map(|line| line.split(' ').next()?.parse().ok()).any(|at: u64| at >= before)
        });
        start
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

#[test]
fn nothing_is_typed_into_a_persons_line() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).succeeds();
    wait_for(|| floor.prompts().len() == 1);
    let mut person = Person::attach(&floor, "adam");
    // Each refusal has its own key: a person counts as typing for five seconds.
    person.types(&floor, "half ");
    let before = floor.status("adam");
    let refused = floor.ctl(&["message", "adam", "hello"]).exit(1);
    refused.err_has("nothing was typed to adam: somebody at /dev/pts/").err_has("--force");
    person.types(&floor, "a ");
    let json = floor.ctl(&["message", "adam", "hello", "--json"]).exit(1).json();
    assert_eq!((text(&json, "/error/kind"), text(&json, "/delivery")), ("occupied", "not_delivered"));
    person.types(&floor, "li");
    floor.ctl(&["start", "--resume", "adam"]).exit(1).err_has("nothing was typed to adam");
    assert_eq!(floor.status("adam"), before);
    assert_eq!(floor.prompts().len(), 1);
    // Nobody types in the other worker's terminal.
    floor.ctl(&["message", "eve", "--force", "over there"]).succeeds();
    wait_for(|| floor.prompts().len() == 2);
    // The person's line is complete and first. Our text follows when they have stopped typing.
    let last = person.types(&floor, "ne\r");
    wait_for(|| floor.prompts().len() == 3);
    wait_for(|| floor.ctl(&["message", "adam", "hello"]).exits_with(0));
    assert!(last.elapsed() >= Duration::from_secs(4), "it was typed {:?} after a key", last.elapsed());
    wait_for(|| floor.prompts().len() == 4);
    assert_eq!(floor.prompts()[2..], ["half a line", "hello"]);
    // A person who knows the input line can overrule the refusal.
    person.types(&floor, "x");
    floor.ctl(&["message", "adam", "forced", "--force"]).succeeds();
    wait_for(|| floor.prompts().len() == 5);
    assert_eq!(floor.prompts()[4], "xforced");
}

#[test]
fn start_and_reject_are_refused_while_a_person_types() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    work(&floor, "adam", "COMMIT README.md mine Change it");
    floor.ctl(&["review", "adam"]).succeeds();
    let (mut at_adam, mut at_eve) = (Person::attach(&floor, "adam"), Person::attach(&floor, "eve"));
    let before = [floor.status("adam"), floor.status("eve")];
    at_adam.types(&floor, "a");
    floor.ctl(&["reject", "do it again"]).exit(1).err_has("nothing was typed to adam");
    at_eve.types(&floor, "e");
    floor.ctl(&["start", "--worker", "eve", "--prompt", "think"]).exit(1).err_has("nothing was typed to eve");
    // The work conflicts now, and the worker is asked only when nobody types there.
    floor.app.commit("README.md", "theirs\n");
    at_adam.types(&floor, "a");
    let mut accept = w.command(w.path("bin/worker-ctl"));
    accept.args(["accept", "adam"]).current_dir(&floor.root.path).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut accept = accept.spawn().unwrap();
    // They go on for as long as it takes.
    wait_for(|| {
        at_adam.types(&floor, "a");
        accept.try_wait().unwrap().is_some()
    });
    let accept = Output::from("accept adam".into(), accept.wait_with_output().unwrap());
    accept.exit(1).err_has("nothing was typed to adam");
    let kept = |status: &serde_json::Value| {
        ["task", "prompt", "commit_sha", "notes", "session"].map(|key| status[key].clone())
    };
    assert_eq!(kept(&floor.status("adam")), kept(&before[0]));
    assert_eq!(kept(&floor.status("eve")), kept(&before[1]));
    assert_eq!(floor.prompts().len(), 1);
    // A person who types in another window of the session is not in the way.
    drop(at_eve);
    tmux(&floor, &["new-window", "-t", "=worker-eve:", "cat"]);
    let mut beside = Person::attach(&floor, "eve");
    beside.types(&floor, "mine");
    floor.ctl(&["start", "--worker", "eve", "--prompt", "think"]).succeeds();
    wait_for(|| floor.prompts().len() == 2);
}

#[test]
fn a_running_up_waits_with_its_text_until_nobody_types() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    work(&floor, "adam", "COMMIT README.md mine Change it");
    let mut person = Person::attach(&floor, "adam");
    person.types(&floor, "a");
    let up = Staying::new(&floor, &["up", "--patrol-interval-secs", "1"]);
    floor.app.commit("README.md", "theirs\n");
    let start = Instant::now();
    let mut typed = 1;
    while start.elapsed() < Duration::from_secs(8) {
        let typing = person.types(&floor, "a");
        typed += 1;
        assert_eq!(text(&floor.status("adam"), "/status"), "needs_review");
        wait_for(|| typing.elapsed() > Duration::from_millis(200));
        assert_eq!(floor.prompts().len(), 1);
    }
    person.types(&floor, "\r");
    wait_for(|| text(&floor.status("adam"), "/status") == "rebasing");
    wait_for(|| floor.prompts().len() == 3);
    assert_eq!(floor.prompts()[1], "a".repeat(typed));
    assert!(floor.prompts()[2].starts_with("Your work conflicts"), "{:?}", floor.prompts());
    drop(up);
}

#[test]
fn keys_typed_after_our_text_are_not_submitted_with_it() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).succeeds();
    wait_for(|| floor.prompts().len() == 1);
    let mut person = Person::attach(&floor, "adam");
    // Nobody has typed for a while.
    wait_for(|| floor.ctl(&["message", "adam", "first"]).exits_with(0));
    wait_for(|| floor.prompts().len() == 2);
    // The program has our text, and Enter comes after the person's keys.
    floor.root.sh("mkfifo ~/gate").exit(0);
    let real = which("tmux").display().to_string();
    let hold = format!("'{real}' \"$@\"; code=$?; touch ~/pasted; read -r go < ~/gate; exit $code");
    w.program("tmux", &format!("case \" $* \" in *' paste-buffer '*) {hold} ;; esac\nexec '{real}' \"$@\""));
    let mut command = floor.root.world.command(floor.root.world.path("bin/worker-ctl"));
    command.args(["message", "adam", "second"]).current_dir(&floor.root.path);
    let mut message = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(|| w.home("pasted").exists());
    person.types(&floor, "mine");
    floor.root.sh("echo > ~/gate").exit(0);
    assert_eq!(message.wait().unwrap().code(), Some(1));
    assert_eq!(floor.prompts().len(), 2, "nobody pressed the key");
    floor.ctl(&["patrol"]).succeeds().any_err();
    let notes = floor.status("adam")["notes"].to_string();
    assert!(notes.contains("may be in its input line"), "{notes}");
}

#[test]
fn several_lines_wait_until_the_program_takes_them_as_a_whole() {
    let w = World::new();
    let floor = Floor::new(&w);
    let script = "printf '\\033[?2004h> '; while read -r line; do printf '%s\\n' \"$line\" >> \"$HOME/read\"; \
                  case $line in *WORK*) printf '\\033[?2004l'; sleep 1; printf '\\033[?2004h> ' ;; esac; done";
    table(&floor, "busy", &["sh", "-c", script], "");
    floor.ctl(&["add", "adam", "--agent", "busy"]).succeeds();
    up(&floor, &["adam"]);
    floor.ctl(&["start", "--worker", "adam", "--prompt", "WORK"]).succeeds();
    let log = || std::fs::read(floor.root.path.join("logs/adam.log")).unwrap();
    wait_for(|| log().windows(8).any(|at| at == b"\x1b[?2004l"));
    floor.ctl(&["message", "adam", "one\ntwo"]).succeeds();
    let read = || std::fs::read_to_string(w.home("read")).unwrap_or_default();
    wait_for(|| read().contains("two"));
    assert!(read().contains("\u{1b}[200~one"), "{:?}", read());
}
