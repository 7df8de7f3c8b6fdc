//! The desk on a real terminal: a day through its keys, and what it leaves behind.

use serde_json::json;

use crate::support::desk::Terminal;
use crate::support::floor::Floor;
use crate::support::worker::{Staying, adopted_floor, commit, event, hook, staff, tree, up};
use crate::support::world::{World, wait_for, write};

/// The desk, whose process id is in a file.
const DESK: &str = "sh -c 'echo $$ > ~/pid; exec shopfloor desk'";

/// Workers of these names in worktrees of the person's own repository, and an `up`.
fn busy<'w>(w: &'w World, names: &[&str]) -> (Floor<'w>, Staying) {
    let floor = Floor::adopted(w, names);
    up(&floor, names);
    let staying = Staying::new(&floor, &["up"]);
    wait_for(|| !floor.ctl(&["status", "--line"]).exit(0).stdout.contains("stopped"));
    (floor, staying)
}

/// Work that waits for a review: a file of three lines.
fn work(floor: &Floor<'_>, name: &str) {
    floor.ctl(&["start", name, "--task", "think"]).succeeds().any_err();
    commit(&tree(floor, name), &format!("Work of {name}"), &[&format!("{name}.txt")], "one\ntwo\nthree\n");
    floor.until(name, "needs_review");
}

#[test]
fn a_task_is_reviewed_commented_sent_back_and_landed_by_keys() {
    let w = World::new();
    let (floor, _up) = busy(&w, &["ada", "bob"]);
    work(&floor, "ada");
    let terminal = Terminal::open(&floor.app, (80, 24));
    terminal.run(&format!("stty -g > ~/before; {DESK}; stty -g > ~/after"));
    terminal.shows("● ada");
    terminal.shows("1 need you");
    // Keys that come at once, and end where they began.
    terminal.text("jk\t\t\t\t?");
    terminal.shows("take the deletion back");
    terminal.text("z");
    terminal.until("the page", |screen| screen.contains("─ ada · [terminal]") && !screen.contains("reading …"));
    terminal.text("r");
    terminal.shows("    1 +one");
    terminal.text("jc");
    terminal.shows(" ada.txt:2:");
    terminal.text("Say why; all of `it`.");
    terminal.key("Enter");
    terminal.shows("    2▌+two\n     │ Say why; all of `it`.");
    // Another terminal shows the same comments, and a killed desk loses none.
    floor.app.run("worker-ctl", &["comment", "ada"]).exit(0).out_has("ada.txt:2: Say why; all of `it`.");
    floor.app.sh("kill -9 $(cat ~/pid)").exit(0);
    wait_for(|| floor.app.sh("kill -0 $(cat ~/pid)").exits_with(1));
    // Enter is no line end there until the shell has the terminal back.
    terminal.text("stty \"$(cat ~/before)\"; printf '\\033[?1049l\\033[?1000l'; clear");
    terminal.key("C-j");
    terminal.until("a shell", |screen| screen == "$");
    terminal.run(&format!("{DESK}; stty -g > ~/after"));
    terminal.shows("● ada");
    terminal.text("r");
    terminal.shows("│ Say why");
    terminal.text("jd");
    terminal.until("no comment", |screen| !screen.contains('│'));
    terminal.text("u");
    terminal.shows("│ Say why");
    terminal.text("x");
    terminal.shows("ada goes on with what you said");
    let said = "ada.txt:2\n      1 +one\n      2 +two\n      3 +three\nSay why; all of `it`.\n\nAmend your commit.";
    wait_for(|| floor.prompts().last().is_some_and(|last| last.ends_with(said)));
    assert_eq!(floor.prompts().iter().filter(|prompt| prompt.contains("Say why")).count(), 1);
    // The next version lands in three keys.
    let at = tree(&floor, "ada");
    at.write("ada.txt", "one\ntwo, because\nthree\n");
    at.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    terminal.shows("● ada");
    terminal.text("r");
    terminal.shows("since your last look: +1 -1");
    terminal.text("a");
    terminal.shows(" y lands ada on main, other keys do not: “Work of ada”");
    terminal.text("y");
    terminal.shows("landed the work of ada");
    assert_eq!(floor.app.git(&["show", "main:ada.txt"]), "one\ntwo, because\nthree\n");
    // It stays in sight while it is selected.
    terminal.shows("· ada  idle");
    terminal.text("q");
    terminal.until("a shell", |screen| screen.ends_with('$'));
    wait_for(|| w.home("after").exists());
    let modes = ["before", "after"].map(|name| std::fs::read_to_string(w.home(name)).unwrap());
    assert_eq!(modes[0], modes[1]);
}

#[test]
fn questions_are_answered_and_terminals_are_attached_and_left() {
    let w = World::new();
    let floor = staff(&w, &["ada", "bob"]);
    floor.ctl(&["start", "ada", "--task", "think"]).succeeds();
    floor.ctl(&["message", "ada", "ASK Yes|No, never"]).succeeds();
    wait_for(|| floor.ctl(&["peek", "ada"]).exit(0).stdout.contains("2. No, never"));
    let terminal = Terminal::open(&floor.app, (80, 24));
    terminal.run(&format!("stty -g > ~/before; {DESK}; stty -g > ~/after"));
    // Without an `up` the head says so, and a key starts one.
    terminal.shows("up stopped (U starts it)");
    terminal.text("U");
    terminal.shows(" · up · ");
    let asks = json!({ "hook_event_name": "PermissionRequest", "session_id": "s-1", "tool_name": "Bash", "tool_input": { "command": "rm -rf build" } });
    hook(&floor, "ada", &asks);
    terminal.shows("? ada  asks");
    terminal.shows("Bash: rm -rf build");
    floor.app.shopfloor(&["desk", "--print", "80x24", "--page", "task"]).exit(0).out_has("terminal diff [task] log");
    terminal.shows("2. No, never");
    terminal.shows("1-9 answer");
    terminal.text("7");
    terminal.shows("the menu has no line 7");
    terminal.text("2");
    wait_for(|| floor.prompts().last().is_some_and(|last| last == "chose No, never"));
    hook(&floor, "ada", &event("Stop"));
    terminal.shows("… ada  rests");
    // It has its task, so nothing is sent.
    terminal.text("R");
    terminal.shows("ada is up");
    terminal.text("sUse the helper; `x`");
    terminal.key("Enter");
    terminal.shows("sent to ada");
    wait_for(|| floor.prompts().last().is_some_and(|last| last == "Use the helper; `x`"));
    // Attached, and back with the desk as it was.
    terminal.key("Enter");
    terminal.shows("[worker-ad");
    terminal.key("C-b");
    terminal.key("d");
    terminal.shows("─ ada · [terminal]");
    for (width, height, marks) in [(40, 20, "▶ ada"), (20, 5, "▶ ada"), (5, 2, " app"), (120, 40, "▶ ada  working")]
    {
        terminal.resize(width, height);
        terminal.shows(marks);
    }
    terminal.text("?");
    terminal.shows("take the deletion back");
    terminal.resize(80, 24);
    terminal.text("z");
    // Stopped, and on again.
    terminal.key("C-z");
    terminal.shows("Stopped");
    terminal.run("stty -g > ~/stopped; fg");
    terminal.shows("─ ada · [terminal]");
    // A menu of which no hook tells is seen on the screen.
    floor.ctl(&["start", "bob", "--task", "think"]).succeeds();
    floor.ctl(&["message", "bob", "ASK A|B"]).succeeds();
    terminal.text("/bob");
    terminal.key("Enter");
    terminal.shows("1-9 answer");
    terminal.text("1");
    wait_for(|| floor.prompts().last().is_some_and(|last| last == "chose A"));
    terminal.text("/ada");
    terminal.key("Enter");
    terminal.shows("─ ada · ");
    // What was entered is done, whatever ends the desk.
    terminal.text("sgo on");
    terminal.shows(" message to ada: go on");
    terminal.key("Enter");
    terminal.until("the text taken", |screen| !screen.contains(" message to ada"));
    floor.app.sh("kill -TERM $(cat ~/pid)").exit(0);
    wait_for(|| floor.prompts().last().is_some_and(|last| last == "go on"));
    terminal.until("a shell", |screen| screen.ends_with('$') && !screen.contains("─ ada"));
    wait_for(|| w.home("after").exists());
    let modes = ["before", "stopped", "after"].map(|name| std::fs::read_to_string(w.home(name)).unwrap());
    assert!(modes[0] == modes[1] && modes[1] == modes[2], "{modes:?}");
    floor.ctl(&["down"]).succeeds();
}

#[test]
fn at_rest_the_desk_starts_nothing_and_a_change_shows_soon() {
    let w = World::new();
    let (floor, up) = busy(&w, &["ada", "bob"]);
    work(&floor, "ada");
    // What it starts is on its PATH.
    let log = w.home("started");
    for tool in ["worker-ctl", "worktree-spawn", "overlay-sync", "sweatfile-apply", "ledger-synth", "git"] {
        let real = if tool == "git" { crate::support::world::which("git") } else { w.path("bin").join(tool) };
        let script = format!("#!/bin/sh\necho {tool} >> {}\nexec {} \"$@\"\n", log.display(), real.display());
        write(&w.home("seen").join(tool), &script);
    }
    floor.app.sh("chmod +x ~/seen/*").exit(0);
    let terminal = Terminal::open(&floor.app, (80, 24));
    terminal.run(&format!("PATH=~/seen:$PATH; {DESK}"));
    terminal.shows("● ada");
    terminal.text("p");
    terminal.until("no page", |screen| !screen.contains("[terminal]"));
    let started = || std::fs::read_to_string(&log).unwrap_or_default().lines().count();
    // Until what was under way is over.
    let mut before = 0;
    let mut since = std::time::Instant::now();
    wait_for(|| {
        if started() != before {
            (before, since) = (started(), std::time::Instant::now());
        }
        since.elapsed().as_secs() >= 3
    });
    let pid = std::fs::read_to_string(w.home("pid")).unwrap();
    let ticks = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap();
        stat.split(' ').skip(13).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum::<u64>()
    };
    let (from, used, begun) = (started(), ticks(), std::time::Instant::now());
    wait_for(|| begun.elapsed().as_secs() >= 5);
    assert_eq!(started(), from, "{}", std::fs::read_to_string(&log).unwrap());
    // A hundred ticks are a second.
    let used = ticks() - used;
    assert!(used <= 20, "{used} ticks in 5 s");
    // A change of the state, of a branch, and of who runs.
    floor.ctl(&["start", "bob", "--task", "Write it"]).succeeds().any_err();
    terminal.shows("▶ bob  working");
    floor.app.commit("more.txt", "more\n");
    let head = floor.app.git(&["rev-parse", "--short=7", "HEAD"]);
    terminal.shows(head.trim());
    drop(up);
    terminal.shows("up stopped");
}

#[test]
fn what_vanishes_or_is_damaged_is_said() {
    let w = World::new();
    let floor = staff(&w, &["ada", "bob"]);
    for name in ["ada", "bob"] {
        floor.ctl(&["start", name, "--task", "think"]).succeeds();
        commit(
            &tree(&floor, name),
            "Hide \u{1b}[2J\u{202e}",
            &[&format!("{name}.txt")],
            "\u{9b}2J\u{1b}]0;x\u{7}\u{202e}日本語\n",
        );
        floor.ctl(&["patrol"]).succeeds();
    }
    let terminal = Terminal::open(&floor.app, (80, 24));
    terminal.run(DESK);
    terminal.shows("● ada");
    terminal.text("r");
    terminal.shows("+\\u{9b}2J\\u{1b}]0;x\\u{7}\\u{202e}日本語");
    floor.ctl(&["nuke", "ada", "--force", "--yes"]).succeeds();
    terminal.until("bob alone", |screen| !screen.contains("● ada") && screen.contains("─ bob"));
    let state = floor.root.read("state.json");
    floor.root.write("state.json", "{");
    terminal.shows("worker-ctl: ");
    floor.app.shopfloor(&["jump", "--name"]).exit(4).err_has("state.json: ");
    floor.root.write("state.json", &state);
    terminal.shows("● bob");
    // A closed terminal ends it.
    drop(terminal);
    wait_for(|| floor.app.sh("kill -0 $(cat ~/pid)").exits_with(1));
}

#[test]
fn what_is_longer_than_the_desk_shows_is_neither_pinned_nor_landed() {
    let w = World::new();
    let (floor, _up) = busy(&w, &["ada"]);
    floor.ctl(&["start", "ada", "--task", "think"]).succeeds().any_err();
    commit(&tree(&floor, "ada"), "Add data", &["data.txt", "zz.sh"], &"x\n".repeat(12_000));
    floor.until("ada", "needs_review");
    let before = floor.app.git(&["rev-parse", "main"]);
    let terminal = Terminal::open(&floor.app, (80, 24));
    terminal.run(DESK);
    terminal.shows("● ada");
    for (key, file) in [("r", "data.txt 1/2"), ("a", "zz.sh 2/2")] {
        terminal.text(key);
        terminal.shows("the diff is longer than the desk shows");
        terminal.shows("`shopfloor review ada --pin`, then `shopfloor land");
        terminal.shows(file);
        // It would land what was asked about.
        terminal.text("yG");
        terminal.shows("\n the diff is longer: `shopfloor review ada` shows all\n");
    }
    // A low window shows nothing of it at all. tmux cuts the old screen before the desk knows.
    terminal.resize(40, 10);
    terminal.until("the list alone", |screen| screen.starts_with(" app · up ") && !screen.contains("[diff]"));
    terminal.text("r");
    terminal.shows("this window is too low to show the");
    assert!(floor.status("ada")["reviewed_sha"].is_null());
    assert_eq!(floor.app.git(&["rev-parse", "main"]), before);
}

#[test]
fn one_frame_is_printed_for_documents() {
    let w = World::new();
    let (floor, _up) = busy(&w, &["ada", "bob"]);
    work(&floor, "ada");
    let print = |args: &[&str]| floor.app.shopfloor(&[&["desk", "--print"], args].concat());
    let frame = print(&["60x14"]).exit(0).stdout.clone();
    let lines: Vec<&str> = frame.lines().collect();
    assert_eq!(lines.len(), 14);
    assert!(lines[0].starts_with(" app · main ") && lines[0].contains("up · 1 need you"), "{frame}");
    assert!(
        lines[1].starts_with(" ● ada  review ")
            && lines[1].contains("think  ")
            && lines[1].ends_with("+3 -0")
            && lines[2] == "   1 idle",
        "{frame}"
    );
    assert!(lines[3].starts_with("─ ada · [terminal] diff task log ──"), "{frame}");
    assert!(!frame.contains('\u{1b}'));
    print(&["80x24", "--page", "diff"]).exit(0).out_has("    2 +two");
    print(&["80x24", "--page", "task"]).exit(0).out_has("Lands on: main");
    print(&["--color", "always"]).exit(0).out_has("\u{1b}[");
    print(&[""]).exit(2).err_has("`` is no size");
    let asked = ["desk", "--print", "--color", "always"];
    let shown = floor.app.run_with("shopfloor", &asked, &[("NO_COLOR", "1")]).exit(0);
    assert!(shown.stdout.contains("\u{1b}[1m\u{1b}[7m\u{1b}[38;5;3m") && !shown.stdout.contains("\u{1b}[m"), "{shown}");
    for size in ["0x5", "1000x5", "80", "80x", "ax5", "80x24x3", "-1x5"] {
        floor.app.shopfloor(&["desk", &format!("--print={size}")]).exit(2).err_has("no size");
    }
    print(&["1x1"]).exit(0).any_out();
    floor.app.shopfloor(&["desk"]).exit(2).err_has("the desk needs a terminal");
    floor.app.shopfloor(&["desk", "--json"]).exit(2).any_out().any_err();
    // All repositories, wherever one is.
    let all = w.at(w.home("")).shopfloor(&["desk", "--print", "80x24", "--all-roots"]).exit(0).stdout.clone();
    assert!(all.contains(" ● ada  review "), "{all}");
    std::fs::rename(&floor.app.path, w.home("moved")).unwrap();
    w.at(w.home("")).shopfloor(&["desk", "--print", "80x24", "--all-roots"]).exit(2).err_has("no root is on your list");
    std::fs::rename(w.home("moved"), &floor.app.path).unwrap();
    // The checkout of a separate git directory is not beside it.
    let home = w.at(w.home(""));
    home.sh("git init -q -b main --separate-git-dir=store sep && git -C sep commit -q --allow-empty -m a").exit(0);
    let sep = w.at(w.home("sep"));
    sep.git(&["worktree", "add", "-q", "-b", "feat", "../feat"]);
    sep.run("worker-ctl", &["add", "--worktree", "../feat"]).succeeds().any_err();
    let all = home.shopfloor(&["desk", "--print", "80x24", "--all-roots"]).exit(0).stdout.clone();
    assert!(all.contains("\n sep  up stopped\n") && !all.contains("no work tree"), "{all}");
}

#[test]
fn a_state_that_cannot_be_read_is_not_shown_as_empty() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "ada"]).succeeds();
    floor.root.write("state.json", "{");
    let frame = floor.app.shopfloor(&["desk", "--print", "60x12"]).exit(0).stdout.clone();
    assert!(frame.lines().skip(1).collect::<String>().contains("state.json") && !frame.contains("no agent"), "{frame}");
}

#[test]
fn jump_goes_to_whoever_has_waited_longest() {
    let w = World::new();
    let floor = adopted_floor(&w);
    let jump = |args: &[&str]| floor.app.shopfloor(&[&["jump"], args].concat());
    let nobody = jump(&["--name"]).exit(1).any_err();
    assert_eq!(nobody.stdout, "");
    floor.app.git(&["worktree", "add", "-q", "-b", "beth", "../beth"]);
    floor.app.run("worker-ctl", &["add", "beth", "--worktree", "../beth"]).succeeds().any_err();
    up(&floor, &["beth"]);
    for name in ["adam", "beth"] {
        work(&floor, name);
    }
    let since = |name: &str| floor.status(name)["since_at"].as_str().unwrap().to_owned();
    let (first, second) = if since("adam") <= since("beth") { ("adam", "beth") } else { ("beth", "adam") };
    let name = |args: &[&str]| jump(&[&["--name"], args].concat()).exit(0).stdout.trim_end().to_owned();
    assert_eq!([name(&[]), name(&["--next"]), name(&["--next"]), name(&["--next"])], [first, second, first, second]);
    assert_eq!(jump(&["--name", "--json"]).exit(0).json()["needs"], "needs_review");
    jump(&["--next"]).exit(2).err_has("jump needs a terminal").err_has("`shopfloor jump --name`");
    assert_eq!(w.at("/").shopfloor(&["jump", "--name"]).exit(0).stdout.trim_end(), first);
    // From inside of the root, which has no clone.
    assert_eq!(floor.root.shopfloor(&["jump", "--name"]).exit(0).stdout.trim_end(), first);
    assert_eq!(floor.root.shopfloor(&["go"]).exit(0).stdout.trim_end(), floor.app.path.to_str().unwrap());
    floor.root.shopfloor(&["status"]).any_status().any_err().out_has("beth");
    // The terminal is attached; one that is attached to that tmux already is switched.
    let terminal = Terminal::open(&floor.app, (80, 24));
    terminal.run("shopfloor jump");
    terminal.shows(&format!("[worker-{}", &first[..2]));
    terminal.key("C-b");
    terminal.key("c");
    terminal.shows("1:");
    // A login shell has a PATH of its own.
    terminal.run(&format!("PATH={}:$PATH shopfloor jump --next", w.path("bin").display()));
    terminal.shows(&format!("[worker-{}", &second[..2]));
    terminal.key("C-b");
    terminal.key("d");
    terminal.until("the shell", |screen| screen.ends_with('$'));
    // One that has failed and has no terminal is passed over.
    floor.app.spawn(&["worker", "seat"]).exit(0).any_out().any_err();
    floor.app.spawn(&["run", "root/seat", "--", "sh", "-c", "exit 3"]).exit(3).any_out().any_err();
    assert_eq!([name(&["--next"]), name(&["--next"]), name(&["--next"])][0], "seat");
    terminal.run("clear; shopfloor jump --next");
    terminal.until("an agent", |screen| screen.contains("[worker-"));
}

/// Who needs a person is one list, also of those that worker-ctl does not know.
#[test]
fn a_command_that_has_failed_needs_a_person_for_jump_and_wait_too() {
    let w = World::new();
    let app = w.app();
    app.shopfloor(&["new", "bad", "--", "sh", "-c", "exit 3"]).exit(3).any_out().any_err();
    app.shopfloor(&["desk", "--print", "80x8"]).exit(0).out_has("1 need you");
    assert_eq!(app.shopfloor(&["jump", "--name"]).exit(0).stdout, "bad\n");
    for words in [&["wait"][..], &["wait", "bad"], &["wait", "--for", "you", "--all"]] {
        assert_eq!(app.shopfloor(words).exit(0).stdout, "bad error\n", "{words:?}");
    }
    assert_eq!(app.shopfloor(&["wait", "--json"]).exit(0).json()["workers"][0]["why"], "error");
    app.shopfloor(&["wait", "--for", "idle"]).exit(2).err_has("there is no agent yet");
    // A seat that has failed is in the worktree of another agent.
    let bad = w.at(app.path.with_file_name("app.worktrees").join("bad"));
    bad.spawn(&["worker", "seat"]).succeeds();
    bad.spawn(&["run", "main.bad/seat", "--", "sh", "-c", "exit 3"]).exit(3).any_out().any_err();
    let next = |_| app.shopfloor(&["jump", "--next", "--name"]).exit(0).stdout.clone();
    let all = [0, 1, 2].map(next);
    assert!(all[0] != all[1] && all[0] == all[2], "{all:?}");
    app.on_terminal("shopfloor jump", "").exit(1).out_has("bad needs you, and has no terminal").out_has("`cd ");
}

#[test]
fn an_agent_without_a_program_is_started_with_a_task() {
    let w = World::new();
    let (floor, _up) = busy(&w, &["ada"]);
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nagent = \"scripted\"\n");
    floor.app.shopfloor(&["new", "cid"]).exit(0).any_out().any_err();
    let terminal = Terminal::open(&floor.app, (80, 24));
    terminal.run(DESK);
    terminal.shows("2 idle");
    terminal.text("/cid");
    terminal.key("Enter");
    terminal.shows("─ cid ·");
    terminal.text("s");
    terminal.shows(" task for main.cid:");
    terminal.text("COMMIT c.txt c Work of cid");
    terminal.key("Enter");
    terminal.shows("● cid");
    // What makes another one is no place for options.
    terminal.text("n-h q");
    terminal.key("Enter");
    terminal.shows("a name comes first, and none begins with a dash");
}

/// The keys that are there once a review is noted as seen.
const REVIEWED: &str = " c comment  e in editor";

#[test]
fn eight_agents_are_led_through_a_day_by_keys_alone() {
    let w = World::new();
    let names = ["abe", "bea", "cal", "dee", "eli", "fay", "gil", "hal"];
    let (floor, _up) = busy(&w, &names);
    let terminal = Terminal::open(&floor.app, (100, 30));
    terminal.run(DESK);
    terminal.shows("8 idle");
    let select = |name: &str| {
        terminal.text(&format!("/{name}"));
        terminal.key("Enter");
        terminal.shows(&format!("─ {name} ·"));
    };
    // Each gets a task, and the filter goes.
    for name in names {
        select(name);
        terminal.text("s");
        terminal.shows(&format!(" task for {name}:"));
        terminal.text(&format!("COMMIT {name}.txt {name} Work of {name}"));
        terminal.key("Enter");
        terminal.until("the end of its start", |screen| screen.contains(&format!("{name} has the task")));
    }
    terminal.shows(" 8 need you");
    // The second half is sent back, the first lands; who has waited longest comes first.
    for name in &names[4..] {
        select(name);
        terminal.text("r");
        // Its diff may have been there already.
        terminal.shows(REVIEWED);
        // What is sent back is on the screen.
        terminal.text("xCOMMIT more.txt x");
        terminal.shows(&format!(" what {name} is to change:"));
        terminal.text(&format!("{name} More of {name}"));
        terminal.key("Enter");
        terminal.shows(&format!("{name} goes on with what you said"));
    }
    terminal.shows(" 8 need you");
    let mut name = names[7].to_owned();
    for _ in 0..4 {
        terminal.text("o");
        let is_named = |line: &str| Some(line.strip_prefix("─ ")?.split_once(" · ")?.0.to_owned());
        let screen =
            terminal.until("the next one", |screen| screen.lines().find_map(is_named).is_some_and(|now| now != name));
        name = screen.lines().find_map(is_named).unwrap();
        terminal.text("r");
        // Its diff may have been there already.
        terminal.shows(REVIEWED);
        terminal.text("a");
        terminal.shows(&format!(" y lands {name} on main, other keys do not: “Work of {name}”"));
        terminal.text("y");
        terminal.shows(&format!("landed the work of {name}"));
    }
    terminal.shows(" 4 need you");
    terminal.text("q");
    terminal.until("a shell", |screen| screen.ends_with('$'));
    let landed = floor.app.git(&["log", "--format=%s", "main"]);
    assert_eq!(landed.lines().filter(|line| line.starts_with("Work of ")).count(), 4, "{landed}");
}
