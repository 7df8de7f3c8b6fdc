//! worker-ctl: a text is delivered once and completely, or not at all.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Instant;

use crate::support::floor::Floor;
use crate::support::worker::{agent, commit, kill_agent, prompts, refused, send_message, staff, tmux, tree, work};
use crate::support::world::{World, text, wait_for, which, write};

/// An agent whose terminal shows what is typed. It prints nothing itself, because that would be mixed into what the
/// terminal shows.
const ECHO: &str = "
[agents.echo]
command = [\"sh\", \"-c\", \"printf '> '; exec cat >/dev/null\"]
ready = { pattern = \"^>\" }
";

/// Runs a command that types, and kills it just before it sends Enter.
fn killed_before_enter(floor: &Floor<'_>, args: &[&str]) {
    let world = floor.root.world;
    let tmux = which("tmux");
    let body = "case \"$KILL_BEFORE_ENTER $*\" in '1 '*' Enter') kill -KILL $PPID; exit 1 ;; esac";
    world.program("tmux", &format!("{body}\nexec '{}' \"$@\"", tmux.display()));
    let mut command = world.command(world.path("bin/worker-ctl"));
    command.args(args).env("KILL_BEFORE_ENTER", "1").current_dir(&floor.root.path);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    assert_eq!(status.signal(), Some(9));
}

#[test]
fn a_prompt_arrives_byte_for_byte_and_once() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    floor.up();
    let prompt = "-x; $(id) `id` %s #{pane_id} C-c Enter;";
    let both: Vec<_> = (0..2)
        .map(|_| {
            let mut command = w.command(w.path("bin/worker-ctl"));
            command.args(["start", "--worker", "adam", "--prompt", prompt]).current_dir(&floor.root.path);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    let mut codes: Vec<_> = both.into_iter().map(|mut child| child.wait().unwrap().code()).collect();
    codes.sort();
    assert_eq!(codes, [Some(0), Some(1)]);
    wait_for(|| !floor.prompts().is_empty());
    assert!(floor.prompts()[0].ends_with(&format!("\n\n{prompt}")), "{:?}", floor.prompts());
    let long = format!("first\u{1b}[201~\n\tsecond {}\nlast", "ü".repeat(20_000));
    write(&w.home("long"), &long);
    floor.root.sh("worker-ctl message adam - < ../long").succeeds();
    wait_for(|| floor.prompts().len() == 2);
    assert_eq!(floor.prompts()[1], long.replace("\u{1b}[201~", ""));
    // A text goes to no other worker, and to no dead one.
    floor.ctl(&["message", "ad", "x"]).exit(1).err_has("no worker `ad`");
    floor.ctl(&["message", "adam", ""]).exit(2).any_err();
    let socket = text(&floor.ctl(&["status", "--json"]).exit(0).json(), "/tmux_socket").to_owned();
    floor.root.run("tmux", &["-S", &socket, "copy-mode", "-t", "=worker-adam:"]).exit(0);
    floor.ctl(&["message", "adam", "in copy mode"]).succeeds();
    wait_for(|| floor.prompts().len() == 3);
    floor.ctl(&["message", "adam", "EXIT 7"]).succeeds();
    wait_for(|| floor.ctl(&["message", "adam", "anybody?"]).exits_with(4));
    assert_eq!(floor.prompts().len(), 4);
    for _ in 0..3 {
        floor.ctl(&["patrol"]).succeeds().any_err();
    }
    let adam = floor.status("adam");
    assert_eq!(
        (text(&adam, "/status"), text(&adam, "/task"), adam["crash_count"].as_u64()),
        ("error", "working", Some(1))
    );
    assert_eq!(text(&adam, "/fault"), "exit 7");
    // After a restart the task is the same.
    floor.ctl(&["up", "adam"]).succeeds();
    assert_eq!(text(&floor.status("adam"), "/status"), "working");
    floor.ctl(&["message", "adam", "EXIT 0"]).succeeds();
    floor.until("adam", "offline");
    assert_eq!(floor.status("adam")["crash_count"], 1);
}

#[test]
fn only_the_agents_own_hook_confirms_a_delivery() {
    let w = World::new();
    let floor = Floor::new(&w);
    let hooked = agent(&floor, "hooked", &["--hook", "worker-ctl hook claude"], "");
    floor.ctl(&["add", "adam", "--agent", "hooked"]).succeeds();
    floor.ctl(&["add", "eve"]).succeeds();
    floor.up();
    let send = |name: &str, message: &str| {
        let answer = floor.ctl(&["message", name, message, "--force", "--json"]).exit(0).json();
        text(&answer, "/delivery").to_owned()
    };
    // Before its first report, worker-ctl does not wait for the hook.
    assert_eq!(send("adam", "one"), "sent");
    wait_for(|| prompts(&hooked).len() == 1);
    let two = "two \"quoted\"\n\n\tü; $(id)\n";
    assert_eq!(send("adam", two), "delivered");
    assert_eq!(send("adam", "SLEEP 60"), "delivered");
    // The agent does not read now, so the text is typed and not confirmed.
    assert_eq!(send("adam", "three"), "sent");
    assert_eq!([send("eve", "one"), send("eve", "two")], ["sent", "sent"]);
    assert_eq!(prompts(&hooked), ["one", two, "SLEEP 60"]);
    // The hook exits 0 wherever it is called.
    assert_eq!(floor.root.sh("echo nonsense | worker-ctl hook claude").succeeds().stdout, "");
}

#[test]
fn no_text_is_appended_to_an_unsubmitted_one() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.root.write("config.toml", &(floor.root.read("config.toml") + ECHO));
    floor.ctl(&["add", "adam", "--agent", "echo"]).succeeds();
    floor.up();
    killed_before_enter(&floor, &["start", "--worker", "adam", "--prompt", "the first text"]);
    wait_for(|| floor.ctl(&["peek", "adam"]).exit(0).stdout.contains("the first text"));
    for args in [&["message", "adam", "another"][..], &["start", "--resume", "adam"]] {
        let refused = floor.ctl(args).exit(1);
        refused.err_has("may be in the input line of adam").err_has("peek adam").err_has("--force");
    }
    assert!(!floor.ctl(&["peek", "adam"]).exit(0).stdout.contains("another"));
    assert_eq!(text(&floor.status("adam"), "/task"), "working");
    // A person has looked at the input line.
    floor.ctl(&["message", "adam", "another", "--force"]).succeeds();
    wait_for(|| floor.ctl(&["peek", "adam"]).exit(0).stdout.contains("another"));
    floor.ctl(&["message", "adam", "more"]).succeeds();
    assert_eq!(floor.status("adam")["notes"], serde_json::json!([]));
}

#[test]
fn a_landing_ends_the_doubt_about_the_texts_of_its_task_and_not_about_a_message() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    killed_before_enter(&floor, &["start", "--worker", "adam", "--prompt", "COMMIT a.txt one Write a"]);
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    assert!(text(&floor.status("adam"), "/notes/0").contains("may be in its input line"));
    // A person submits it.
    tmux(&floor, &["send-keys", "-t", "=worker-adam:", "Enter"]);
    floor.until("adam", "needs_review");
    floor.ctl(&["accept", "adam"]).succeeds().any_err();
    let adam = floor.status("adam");
    assert_eq!((text(&adam, "/status"), &adam["notes"]), ("idle", &serde_json::json!([])));
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds();
    killed_before_enter(&floor, &["message", "adam", "hello"]);
    commit(&tree(&floor, "adam"), "Write b", &["b.txt"], "two\n");
    floor.until("adam", "needs_review");
    floor.ctl(&["accept", "adam"]).succeeds().any_err();
    let adam = floor.status("adam");
    assert_eq!((text(&adam, "/status"), text(&adam, "/needs")), ("idle", "in_doubt"));
    let refused = floor.ctl(&["start", "adam", "--task", "think"]).exit(1);
    refused.err_has("`worker-ctl peek adam`").err_has("the next text goes with `--force`");
    assert!(!refused.stderr.contains("--resume"), "{refused}");
    floor.ctl(&["start", "adam", "--task", "think", "--force"]).succeeds();
    assert_eq!(floor.status("adam")["notes"], serde_json::json!([]));
}

/// The client of tmux was killed when its server had pasted the text.
#[test]
fn a_text_whose_paste_was_killed_is_not_typed_again() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.root.write("config.toml", &(floor.root.read("config.toml") + ECHO));
    floor.ctl(&["add", "adam", "--agent", "echo"]).succeeds();
    floor.up();
    let tmux = which("tmux");
    let cut = "case \"$CUT $*\" in '1 '*' paste-buffer '*) \"$tmux\" \"$@\"; kill -KILL $$ ;; esac";
    w.program("tmux", &format!("tmux='{}'\n{cut}\nexec \"$tmux\" \"$@\"", tmux.display()));
    let start = ["start", "--worker", "adam", "--prompt", "the first text"];
    let killed = floor.root.run_with("worker-ctl", &start, &[("CUT", "1")]).exit(4);
    killed.err_has("tmux paste-buffer failed with signal 9").err_has("it is unknown whether anything was typed");
    wait_for(|| floor.ctl(&["peek", "adam"]).exit(0).stdout.contains("the first text"));
    floor.ctl(&start).exit(1).err_has("may be in the input line of adam");
    assert_eq!(text(&floor.status("adam"), "/task"), "working");
}

#[test]
fn a_text_that_was_typed_and_cannot_be_recorded_is_not_to_be_given_again() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    // In the way of each write, as a full disk, from just before Enter.
    let in_the_way = floor.root.path.join("state.json.next");
    let body = format!("case \"$FULL $*\" in '1 '*' Enter') mkdir '{}' ;; esac", in_the_way.display());
    w.program("tmux", &format!("{body}\nexec '{}' \"$@\"", which("tmux").display()));
    let give = |args: &[&str]| {
        let given = floor.root.run_with("worker-ctl", args, &[("FULL", "1")]).exit(4);
        given.err_has("the text was sent to adam, but this could not be recorded").err_has("`worker-ctl peek adam`");
        assert!(!given.stderr.contains("same command"), "{given}");
        std::fs::remove_dir(&in_the_way).unwrap();
        let again = floor.ctl(args).exit(1);
        again.err_has("a text may be in the input line").err_has("do not give a text again that has arrived");
        assert!(!again.stderr.contains("same command"), "{again}");
    };
    give(&["start", "--worker", "adam", "--prompt", "think"]);
    wait_for(|| floor.prompts().len() == 1);
    // The next text ends the doubt.
    floor.ctl(&["message", "adam", "and write", "--force"]).succeeds().any_err();
    give(&["message", "adam", "hello"]);
    wait_for(|| floor.prompts().len() == 3);
    assert_eq!(floor.prompts()[1..], ["and write", "hello"]);
}

#[test]
fn a_text_that_was_not_typed_is_given_again_before_any_other() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let kill = "case \"$KILL $*\" in '1 '*' load-buffer '*) kill -KILL $PPID; exit 1 ;; esac";
    w.program("tmux", &format!("{kill}\nexec '{}' \"$@\"", which("tmux").display()));
    let given_again = |args: &[&str], n: usize, part: &str| {
        let killed = floor.root.run_with("worker-ctl", args, &[("KILL", "1")]).any_status().any_out().any_err();
        assert!(killed.status.is_none(), "{killed}");
        for args in [args, &["message", "adam", "hello"]] {
            let refused = floor.ctl(args).exit(1);
            refused.err_has("text may not have arrived").err_has("`worker-ctl start --resume adam`");
        }
        floor.ctl(&["start", "--resume", "adam"]).succeeds();
        wait_for(|| floor.prompts().len() == n);
        assert!(floor.prompts()[n - 1].contains(part), "{:?}", floor.prompts());
        assert_eq!(floor.status("adam")["notes"], serde_json::json!([]));
    };
    given_again(&["start", "adam", "--task", "think twice"], 1, "think twice");
    tree(&floor, "adam").commit("README.md", "mine\n");
    floor.until("adam", "needs_review");
    floor.ctl(&["review", "adam"]).succeeds();
    given_again(&["reject", "adam", "Say why."], 2, "Say why.");
    floor.app.commit("README.md", "theirs\n");
    given_again(&["rebase", "adam"], 3, "conflict");
}

#[test]
fn an_intent_that_nothing_could_follow_is_taken_back() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    work(&floor, "adam", "COMMIT a.txt a Say a");
    floor.ctl(&["review", "adam"]).succeeds();
    let record = || ["task", "reviewed_sha", "pending", "notes"].map(|key| floor.status("adam")[key].clone());
    let before = record();
    // After the last look before the intent is written, there is no git any more.
    let gone = "case \"$GONE $*\" in '1 '*core.quotePath=false*) rm -f \"$0\" ;; esac";
    w.program("git", &format!("{gone}\nexec '{}' \"$@\"", which("git").display()));
    let reject = ["reject", "adam", "Say b."];
    let failed = floor.root.run_with("worker-ctl", &reject, &[("GONE", "1")]).exit(4);
    failed.err_has("nothing was typed to adam: cannot run").err_has("run the same command again");
    assert_eq!((record(), floor.prompts().len()), (before, 1));
    floor.ctl(&reject).succeeds();
    wait_for(|| floor.prompts().len() == 2);
}

/// The command that clears the context is typed too. After a kill, the task is not appended to it.
#[test]
fn no_text_is_appended_to_an_unsubmitted_clear_command() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.root.write("config.toml", &(floor.root.read("config.toml") + ECHO + "clear = \"/clear\"\n"));
    floor.ctl(&["add", "adam", "--agent", "echo"]).succeeds();
    floor.up();
    let clears = || floor.ctl(&["peek", "adam"]).exit(0).stdout.matches("/clear").count();
    wait_for(|| clears() == 1);
    killed_before_enter(&floor, &["start", "--worker", "adam", "--prompt", "the task"]);
    wait_for(|| clears() == 2);
    floor.ctl(&["start", "--resume", "adam"]).exit(1).err_has("may be in the input line");
}

#[test]
fn a_failed_delivery_is_one_json_document() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    kill_agent(&floor, "adam");
    let answer = floor.ctl(&["message", "adam", "anybody?", "--json"]).exit(4).json();
    assert_eq!(
        ["/worker", "/delivery", "/status", "/error/kind"].map(|key| text(&answer, key)),
        ["adam", "not_delivered", "working", "not_delivered"]
    );
}

#[test]
fn a_log_that_cannot_be_written_is_only_a_warning() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let log = floor.root.path.join("logs/adam.log");
    std::fs::remove_file(&log).unwrap();
    std::fs::create_dir(&log).unwrap();
    floor.ctl(&["start", "--prompt", "think"]).succeeds().err_has("warning");
    wait_for(|| floor.prompts().len() == 1);
    assert_eq!(text(&floor.status("adam"), "/status"), "working");
}

#[test]
fn a_text_that_cannot_be_written_to_its_file_is_not_delivered() {
    let w = World::new();
    let floor = Floor::new(&w);
    let log = agent(&floor, "file", &[], "paste = \"file\"\n");
    floor.ctl(&["add", "adam", "--agent", "file"]).succeeds();
    floor.up();
    let task = || {
        let mut adam = floor.status("adam");
        adam["last_activity_unix"].take();
        adam
    };
    let before = task();
    floor.root.write("prompts", "somebody's\n");
    assert_eq!(refused(&floor, &["start", "--worker", "adam", "--prompt", "x"], 4), "not_delivered");
    assert_eq!((task(), text(&before, "/status")), (before.clone(), "idle"));
    std::fs::remove_file(floor.root.path.join("prompts")).unwrap();
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    wait_for(|| prompts(&log).len() == 1);
}

#[test]
fn paste_marks_are_removed_in_linear_time() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let start = Instant::now();
    send_message(&floor, "adam", &("\u{1b}[201~".repeat(150_000) + "x"));
    // A search from the start for each mark would take minutes.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    wait_for(|| !floor.prompts().is_empty());
    assert_eq!(floor.prompts(), ["x"]);
}
