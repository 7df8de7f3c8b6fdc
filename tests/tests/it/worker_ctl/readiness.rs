//! worker-ctl: from the start of an agent's program until it takes input.

use crate::support::floor::Floor;
use crate::support::worker::{agent, configure, prompts, refused, table, tree};
use crate::support::world::{World, text, wait_for};

const MENU: &str = "dialogs = [{ when = \"Yes, I trust\", choose = \"Yes, I trust\" }]\n";

#[test]
fn a_menu_is_answered_with_the_wanted_line_even_if_a_key_is_lost() {
    let w = World::new();
    let floor = Floor::new(&w);
    let log = agent(&floor, "careful", &["--menu"], MENU);
    floor.ctl(&["add", "adam", "--agent", "careful"]).succeeds();
    floor.ctl(&["up", "adam"]).succeeds().out_has("up adam\n");
    floor.ctl(&["start", "--task", "hello"]).succeeds();
    wait_for(|| prompts(&log).len() == 1);
}

#[test]
fn a_program_that_is_not_ready_is_up_and_gets_nothing() {
    let w = World::new();
    let floor = Floor::new(&w);
    let script = "echo 'What is your favourite colour?'; exec sleep 600";
    table(&floor, "asking", &["sh", "-c", script], "ready = { pattern = \"^>\", timeout_secs = 1 }\n");
    floor.ctl(&["add", "adam", "--agent", "asking"]).succeeds();
    let up = floor.ctl(&["up", "adam"]).exit(1);
    up.err_has("does not take input yet").err_has("What is your favourite colour?").err_has("worker-ctl attach adam");
    let row = floor.status("adam");
    assert_eq!((text(&row, "/session"), text(&row, "/fault")), ("up", "not ready"));
    assert_eq!(refused(&floor, &["start", "--worker", "adam", "--task", "x"], 4), "not_delivered");
    assert_eq!(text(&floor.status("adam"), "/task"), "idle");
    let peeked = floor.ctl(&["peek", "adam"]).exit(0).stdout;
    assert_eq!(peeked.trim(), "What is your favourite colour?");
    floor.ctl(&["down", "adam"]).succeeds();
    assert_eq!(text(&floor.status("adam"), "/status"), "offline");
    // Once it takes input, `up` says so.
    let later =
        "echo 'What is your favourite colour?'; while ! test -e ../../go; do sleep 0.1; done; echo '>'; exec sleep 600";
    table(&floor, "later", &["sh", "-c", later], "ready = { pattern = \"^>\", timeout_secs = 1 }\n");
    floor.ctl(&["add", "eve", "--agent", "later"]).succeeds();
    floor.ctl(&["up", "eve"]).exit(1).err_has("does not take input yet");
    floor.root.write("go", "");
    wait_for(|| floor.ctl(&["up", "eve"]).exits_with(0));
    assert_eq!(text(&floor.status("eve"), "/status"), "idle");
}

#[test]
fn a_text_is_passed_where_the_table_says_and_a_rejection_continues_the_conversation() {
    let w = World::new();
    let floor = Floor::new(&w);
    let log = w.home("words");
    // A whole line at once: two programs write there, and the test reads meanwhile.
    let line = "line=$(printf '%s|' \"$@\"); printf '%s\\n' \"$line\"";
    let body = format!("{line} >> '{}'; printf '> '; exec sleep 600", log.display());
    w.program("wordy", &body);
    let more = "delivery = \"argv\"\ntask = [\"-i\", \"{task}\", \"it's last\"]\nresume = [\"--continue\"]\n\
                skip_permissions = [\"--yolo\", \"{git_dir}\"]\n";
    table(&floor, "words", &["wordy", "{skip_permissions}", "--model", "{model}"], more);
    floor.ctl(&["add", "adam", "--agent", "words"]).succeeds();
    floor.ctl(&["add", "eve", "--agent", "words", "--model", "big"]).succeeds();
    floor.up();
    floor.ctl(&["start", "--worker", "adam", "--task", "do it"]).succeeds();
    let words = || std::fs::read_to_string(&log).unwrap();
    wait_for(|| words().contains("do it"));
    let git_dir = floor.root.path.join(".git/worktrees/adam");
    assert!(words().contains(&format!("--yolo|{}|\n", git_dir.display())), "{}", words());
    assert!(words().contains("|--model|big|\n"), "{}", words());
    assert!(words().contains("|-i|You are working in "), "{}", words());
    let at = tree(&floor, "adam");
    at.commit("a.txt", "a");
    floor.until("adam", "needs_review");
    floor.ctl(&["review", "adam", "--json"]).succeeds();
    floor.ctl(&["reject", "not so"]).succeeds();
    wait_for(|| words().contains("not so"));
    let first = format!("--continue|--yolo|{}|-i|Your work was reviewed", git_dir.display());
    assert!(words().contains(&first), "{}", words());
    assert_eq!(words().matches("|it's last|\n").count(), 2, "{}", words());
    let config = floor.root.read("config.toml");
    floor.root.write("config.toml", &config.replace("\"{task}\"", "\"--task={task}\""));
    floor.ctl(&["status"]).exit(2).err_has("`{task}` must be a word of its own in `task`, not part of `--task={task}`");
    floor.root.write("config.toml", &config);
}

#[test]
fn doctor_tells_the_version_of_a_preset_and_whether_it_was_tried() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam", "--agent", "codex"]).succeeds();
    let doctor = || floor.ctl(&["doctor"]);
    let adds = |body: &str| w.program("codex", body);
    adds("echo codex-cli 0.169.0");
    doctor().exit(0).out_has("ok      programs   codex 0.169.0\n");
    adds("echo codex-cli 9.9.9-beta");
    doctor().exit(0).out_has("codex 9.9.9; its preset was tried with 0.169.0\n");
    adds("echo no number; exit 1");
    doctor().exit(0).out_has("codex of an unknown version; its preset was tried with 0.169.0\n");
    // A program that prints without end is stopped.
    adds("exec yes");
    doctor().exit(0).out_has("codex of an unknown version");
    // `up` tells it too, and is not held up by it.
    adds("[ \"$1\" = --version ] && echo codex-cli 9.9.9 && exit; exit 3");
    let up = || floor.ctl(&["up", "adam"]).exit(4);
    up().err_has("codex 9.9.9 was not tried; its preset is for 0.169.0\n").err_has("ended before it was ready");
    // A table of one's own is not compared.
    table(&floor, "codex", &["codex"], "");
    doctor().exit(1).out_has("ok      programs   codex\n");
    assert!(!up().any_err().stderr.contains("tried"));
}

#[test]
fn a_program_that_asks_after_a_restart_gets_no_text_unless_forced() {
    let w = World::new();
    let floor = Floor::new(&w);
    // The first start shows a prompt, the next ones a question.
    let script = "if test -e ../../asks; then echo 'Delete all?'; else touch ../../asks; echo '>'; fi; exec cat";
    table(&floor, "fickle", &["sh", "-c", script], "ready = { pattern = \"^>\", timeout_secs = 20 }\n");
    floor.ctl(&["add", "adam", "--agent", "fickle"]).succeeds();
    floor.ctl(&["up", "adam"]).succeeds();
    configure(&floor, "timeout_secs = 20", "timeout_secs = 1");
    floor.ctl(&["start", "--worker", "adam", "--task", "the task"]).succeeds();
    floor.ctl(&["down"]).succeeds();
    floor.ctl(&["up", "adam"]).exit(1).err_has("Delete all?");
    assert_eq!(refused(&floor, &["start", "--resume", "adam"], 4), "not_delivered");
    assert_eq!(refused(&floor, &["message", "adam", "typed"], 4), "not_delivered");
    assert_eq!(floor.ctl(&["peek", "adam"]).exit(0).stdout.trim(), "Delete all?");
    floor.ctl(&["message", "adam", "--force", "typed"]).succeeds();
    wait_for(|| floor.ctl(&["peek", "adam"]).exit(0).stdout.contains("typed"));
}

/// Without tmux there is nothing to wait for, with or without a terminal.
#[test]
fn an_up_without_tmux_fails_at_once() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    let bin = w.path("bare");
    std::fs::create_dir(&bin).unwrap();
    for name in ["git", "sh"] {
        std::os::unix::fs::symlink(crate::support::world::which(name), bin.join(name)).unwrap();
    }
    let root = floor.root.path.display().to_string();
    let tool = w.path("bin/worker-ctl").display().to_string();
    for more in ["", " --detach"] {
        let line = format!("PATH='{}' '{tool}' --root '{root}' up{more}", bin.display());
        floor.app.sh(&line).exit(4).err_has("tmux is not on the PATH").err_has("install tmux");
    }
}

/// `up` starts no program that has ended in an error, and says so.
#[test]
fn an_up_names_the_workers_that_it_leaves_alone() {
    let w = World::new();
    let floor = Floor::new(&w);
    table(&floor, "broken", &["sh", "-c", "exit 3"], "ready = { pattern = \"^>\", timeout_secs = 1 }\n");
    floor.ctl(&["add", "adam", "--agent", "broken"]).succeeds();
    floor.ctl(&["up", "adam"]).any_status().any_out().any_err();
    wait_for(|| text(&floor.status("adam"), "/status") == "error");
    floor.ctl(&["down"]).exit(0).any_out().any_err();
    let up = floor.ctl(&["up", "--detach"]).exit(0).any_out();
    up.err_has("adam is not started").err_has("`worker-ctl up adam` starts it again");
    floor.ctl(&["down"]).exit(0).any_out().any_err();
}

#[test]
fn a_program_that_is_not_installed_is_named_before_anything_is_started() {
    let w = World::new();
    let floor = Floor::new(&w);
    table(&floor, "absent", &["no-such-program-here", "--flag"], "");
    floor.ctl(&["add", "adam", "--agent", "absent"]).succeeds();
    floor.ctl(&["up", "adam"]).exit(4).err_has("adam: no-such-program-here is not on the PATH").err_has("install it");
    let adam = floor.status("adam");
    assert_eq!((text(&adam, "/status"), adam["crash_count"].as_u64()), ("offline", Some(0)));
}
