//! worker-ctl: sessions of agents, how texts reach them, and how their programs end.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::floor::Floor;
use crate::support::worker::{
    agent, configure, kill_agent, marked, program, prompts, refused, send_message, staff, table, tmux, up,
};
use crate::support::world::{World, mode, needs_root, skip, text, wait_for, which, write};

/// The content of the file that a line names.
fn pointed(line: &str) -> String {
    let file = line.strip_prefix("Read ").and_then(|rest| rest.strip_suffix(" and do what it says.")).unwrap();
    std::fs::read_to_string(file).unwrap()
}

fn lengths(texts: &[String]) -> Vec<usize> {
    texts.iter().map(String::len).collect()
}

#[test]
fn a_text_reaches_only_the_named_worker_and_only_while_it_lives() {
    let w = World::new();
    let floor = Floor::new(&w);
    for name in ["adam", "eve"] {
        floor.ctl(&["add", name]).succeeds();
    }
    floor.up();
    floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).succeeds();
    wait_for(|| floor.prompts().len() == 1);
    tmux(&floor, &["copy-mode", "-t", "=worker-adam:"]);
    assert_eq!(tmux(&floor, &["display-message", "-p", "-t", "=worker-adam:", "#{pane_in_mode}"]), "1\n");
    floor.ctl(&["message", "adam", "in copy mode"]).succeeds();
    wait_for(|| floor.prompts().len() == 2);
    // A refused command types nothing, or it would show before the next text.
    assert_eq!(refused(&floor, &["message", "ad", "x"], 1), "not_found");
    assert_eq!(refused(&floor, &["start", "--worker", "ad", "--prompt", "x"], 1), "not_found");
    assert_eq!(refused(&floor, &["start", "--worker", "adam", "--prompt", "x"], 1), "wrong_state");
    assert_eq!(refused(&floor, &["message", "eve", "x"], 1), "wrong_state");
    floor.ctl(&["message", "adam", "next"]).succeeds();
    wait_for(|| floor.prompts().len() == 3);
    floor.ctl(&["message", "eve", "only this", "--force"]).succeeds();
    wait_for(|| floor.prompts().len() == 4);
    assert_eq!(floor.prompts()[1..], ["in copy mode", "next", "only this"]);
    // A dead worker: the command fails and the state is unchanged.
    let all = || {
        ["adam", "eve"].map(|name| {
            let mut worker = floor.status(name);
            worker["last_activity_unix"] = Value::Null;
            worker
        })
    };
    let before = all();
    kill_agent(&floor, "adam");
    kill_agent(&floor, "eve");
    assert_eq!(refused(&floor, &["message", "adam", "anybody?"], 4), "not_delivered");
    assert_eq!(refused(&floor, &["start", "--worker", "eve", "--prompt", "x"], 4), "not_delivered");
    assert_eq!(all(), before);
    // After a patrol has recorded the death, nothing is even tried.
    floor.ctl(&["patrol"]).succeeds().any_err();
    assert_eq!(refused(&floor, &["message", "adam", "anybody?"], 4), "not_delivered");
    assert_eq!(refused(&floor, &["start", "--worker", "eve", "--prompt", "x"], 1), "wrong_state");
    assert_eq!(floor.prompts().len(), 4);
}

#[test]
fn start_picks_the_longest_idle_worker_of_the_pool() {
    let w = World::new();
    let floor = Floor::new(&w);
    for name in ["adam", "eve", "noah"] {
        floor.ctl(&["add", name]).succeeds();
    }
    configure(&floor, "[workers.adam]\n", "[workers.adam]\nexcluded_from_pool = true\n");
    for (time, name) in
        [("2001-01-01T00:00:00Z", "adam"), ("2001-01-02T00:00:00Z", "noah"), ("2001-01-03T00:00:00Z", "eve")]
    {
        floor.root.run_with("worker-ctl", &["up", name], &[("SHOPFLOOR_NOW", time)]).succeeds();
    }
    for name in ["noah", "eve"] {
        assert_eq!(floor.ctl(&["start", "--prompt", "think"]).exit(0).stdout, format!("{name}\n"));
    }
    floor.ctl(&["start", "--prompt", "think"]).exit(1).err_has("no worker is idle");
    assert_eq!(text(&floor.status("adam"), "/status"), "idle");
    floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).succeeds();
}

#[test]
fn the_exit_status_decides_between_offline_and_error() {
    let w = World::new();
    let floor = Floor::new(&w);
    let names = ["zero", "interrupt", "nine", "seven"];
    for name in names {
        floor.ctl(&["add", name]).succeeds();
    }
    floor.up();
    for (name, prompt) in [("zero", "EXIT 0"), ("interrupt", "EXIT 130"), ("nine", "SIG 9"), ("seven", "think")] {
        floor.ctl(&["start", "--worker", name, "--prompt", prompt]).succeeds();
    }
    floor.ctl(&["message", "seven", "EXIT 7"]).succeeds();
    for (name, status) in [("zero", "offline"), ("interrupt", "offline"), ("nine", "error"), ("seven", "error")] {
        floor.until(name, status);
    }
    for _ in 0..10 {
        floor.ctl(&["patrol"]).succeeds().any_err();
    }
    let summary = |name: &str| {
        let worker = floor.status(name);
        json!([worker["status"], worker["task"], worker["crash_count"], worker["fault"]])
    };
    let ends = names.map(summary);
    assert_eq!(
        ends,
        [
            json!(["offline", "working", 0, null]),
            json!(["offline", "working", 0, null]),
            json!(["error", "working", 1, "signal 9"]),
            json!(["error", "working", 1, "exit 7"]),
        ]
    );
    floor.ctl(&["start", "--resume", "seven"]).exit(1).err_has("worker-ctl up seven");
    // After a restart the worker has its task, and gets it again only with --resume.
    let count = floor.prompts().len();
    floor.ctl(&["up", "seven"]).succeeds();
    assert_eq!(summary("seven"), json!(["working", "working", 1, null]));
    assert_eq!(text(&floor.status("seven"), "/prompt"), "think");
    floor.ctl(&["message", "seven", "before"]).succeeds();
    floor.ctl(&["start", "--resume", "seven"]).succeeds();
    wait_for(|| floor.prompts().len() == count + 2);
    let later = &floor.prompts()[count..];
    assert!(later[0] == "before" && later[1].ends_with("\n\nthink"), "{later:?}");
}

#[test]
fn a_program_that_ends_at_once_is_told_also_where_nothing_tells_when_it_is_ready() {
    let w = World::new();
    let floor = Floor::new(&w);
    for (name, code, status) in [("adam", "3", "error"), ("eve", "0", "offline")] {
        table(&floor, name, &["sh", "-c", &format!("echo bye; exit {code}")], "ready = { none = true }\n");
        floor.ctl(&["add", name, "--agent", name]).succeeds();
        // On a loaded machine tmux can lose the last words of a program that ends at once.
        let says_bye = |_| {
            let up = floor.ctl(&["up", name]).exit(4).any_out();
            up.err_has(&format!("ended before it was ready (exit {code})"))
                .err_has(&format!("`worker-ctl peek {name}`"));
            assert_eq!(text(&floor.status(name), "/status"), status);
            up.stderr.contains("bye")
        };
        assert!((0..5).any(says_bye), "{name}");
    }
}

/// A new pane's process begins as a copy of tmux, in the directory of tmux.
#[test]
fn a_pane_that_has_not_yet_changed_its_directory_is_waited_for() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    let tmux = which("tmux");
    let early = "
        if [ $(cat ~/asked 2> /dev/null | wc -l) -lt 2 ]; then echo >> ~/asked; echo /; else exec 'TMUX' \"$@\"; fi";
    let early = early.replace("TMUX", tmux.to_str().unwrap());
    w.program(
        "tmux",
        &format!("case \"$*\" in *pane_current_path*) {early} ;; *) exec '{}' \"$@\" ;; esac", tmux.display()),
    );
    floor.up();
    assert_eq!(text(&floor.status("adam"), "/status"), "idle");
    assert_eq!(w.at(w.home("")).read("asked"), "\n\n");
}

#[test]
fn no_process_outlives_down() {
    if !Path::new("/proc/self/environ").exists() {
        skip("/proc");
        return;
    }
    let w = World::new();
    let floor = Floor::new(&w);
    let (program, detached) = (program(), w.home("detached"));
    let script = "trap '' INT HUP; (setsid sleep 600 & echo $! > \"$1\"); exec \"$0\"";
    table(&floor, "stubborn", &["sh", "-c", script, &program, detached.to_str().unwrap()], "");
    floor.ctl(&["add", "adam", "--agent", "stubborn"]).succeeds();
    for down in [&["down"][..], &["down", "--force"][..]] {
        floor.up();
        let (agent, child) =
            (floor.status("adam")["pane_pid"].to_string(), std::fs::read_to_string(&detached).unwrap());
        let before = marked(&floor);
        assert!(before.contains(&agent) && before.contains(&child.trim().to_owned()), "{before:?}");
        floor.ctl(down).succeeds();
        assert_eq!(marked(&floor), Vec::<String>::new());
        assert_eq!(text(&floor.status("adam"), "/status"), "offline");
    }
}

#[test]
fn down_ends_sessions_also_where_that_cannot_be_recorded() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let pid = floor.status("adam")["pane_pid"].to_string();
    // In the way of each write, as a full disk.
    let in_the_way = floor.root.path.join("state.json.next");
    std::fs::create_dir(&in_the_way).unwrap();
    let down = floor.ctl(&["down"]).exit(4);
    down.err_has("all sessions were ended, but that is not recorded").err_has("`worker-ctl down`");
    wait_for(|| floor.root.sh(&format!("kill -0 {pid}")).any_status().any_out().any_err().status != Some(0));
    std::fs::remove_dir(&in_the_way).unwrap();
    floor.ctl(&["down"]).succeeds();
    assert_eq!(text(&floor.status("adam"), "/status"), "offline");
}

#[test]
fn a_dialog_is_answered_and_does_not_swallow_the_task() {
    let w = World::new();
    let floor = Floor::new(&w);
    let dialogs = "dialogs = [{ pattern = \"Do you trust\", keys = [\"Enter\"] }]\n";
    let log = agent(&floor, "careful", &["--dialog"], dialogs);
    floor.ctl(&["add", "adam", "--agent", "careful"]).succeeds();
    let up = floor.ctl(&["up", "adam"]).succeeds();
    assert!(!up.stderr.contains("warning"), "{}", up.stderr);
    let prompt = "first\n\n\tsecond; $(id)\n";
    floor.ctl(&["start", "--prompt", prompt]).succeeds();
    wait_for(|| prompts(&log).len() == 1);
    let prompt_sent = &prompts(&log)[0];
    assert!(
        prompt_sent.starts_with("You are working in ") && prompt_sent.ends_with(&format!("\n\n{prompt}")),
        "{prompt_sent}"
    );
}

#[test]
fn an_argv_task_arrives_byte_for_byte_and_a_long_one_in_a_file() {
    let w = World::new();
    let floor = Floor::new(&w);
    let log = agent(&floor, "argv", &[], "delivery = \"argv\"\n");
    for name in ["adam", "eve"] {
        floor.ctl(&["add", name, "--agent", "argv"]).succeeds();
    }
    floor.up();
    let task = w.home("task");
    let start = |name: &str, prompt: &str| {
        write(&task, prompt);
        let args = ["start", "--worker", name, "--prompt-file", task.to_str().unwrap(), "--json"];
        let answer = floor.ctl(&args).exit(0).json();
        assert_eq!((text(&answer, "/delivery"), text(&answer, "/status")), ("delivered", "working"));
    };
    // 70 KB, with trailing line ends.
    let fits = "say \"hi\" to 'them'; $HOME $(id) `id` \\n %s #{pane_id} * ü\n\n\tend\n\n".repeat(1000);
    start("adam", &fits);
    wait_for(|| prompts(&log).len() == 1);
    let prompt_sent = &prompts(&log)[0];
    assert!(
        prompt_sent.starts_with("You are working in ") && prompt_sent.ends_with(&format!("\n\n{fits}")),
        "{}",
        prompt_sent.len()
    );
    let long = "more; $(id) ü\n".repeat(9000);
    start("eve", &long);
    wait_for(|| prompts(&log).len() == 2);
    assert!(pointed(&prompts(&log)[1]).ends_with(&format!("\n\n{long}")));
    // The session works like any other.
    floor.ctl(&["message", "adam", "COMMIT a.txt a Write a"]).succeeds();
    floor.until("adam", "needs_review");
    assert_eq!(prompts(&log).len(), 3);
}

#[test]
fn paste_lines_submits_each_line_and_paste_file_sends_a_file_name() {
    let w = World::new();
    let floor = Floor::new(&w);
    let by_line = agent(&floor, "lines", &["--plain"], "paste = \"lines\"\n");
    let by_file = agent(&floor, "file", &["--plain"], "paste = \"file\"\n");
    floor.ctl(&["add", "adam", "--agent", "lines"]).succeeds();
    floor.ctl(&["add", "eve", "--agent", "file"]).succeeds();
    floor.up();
    let message = "first; $(id)\n\n\tthird `id`";
    for name in ["adam", "eve"] {
        floor.ctl(&["message", name, message, "--force"]).succeeds();
    }
    floor.ctl(&["message", "eve", "second", "--force"]).succeeds();
    wait_for(|| prompts(&by_line).len() == 3 && prompts(&by_file).len() == 2);
    assert_eq!(prompts(&by_line), ["first; $(id)", "", "\tthird `id`"]);
    let read: Vec<String> = prompts(&by_file).iter().map(|line| pointed(line)).collect();
    assert_eq!(read, [message, "second"]);
}

#[test]
fn texts_of_any_size_reach_several_agents_complete_and_in_order() {
    let w = World::new();
    let floor = Floor::new(&w);
    let agents: [(&str, &[&str]); 3] = [("fast", &[]), ("slow", &["--slow"]), ("guess", &["--guess"])];
    let logs = agents.map(|(name, flags)| {
        let log = agent(&floor, name, flags, "");
        floor.ctl(&["add", name, "--agent", name]).succeeds();
        log
    });
    floor.up();
    let awkward = "-x; $(id) `id` %s #{pane_id} C-c Enter; \"q\" 'q' \\ ~ ü→🦀 ;";
    // From 5 B to 60 KB.
    let texts = |name: &str| {
        [
            format!("{name:.4};"),
            format!("\n\n{name}\t{awkward}\n\n\t{awkward}\n"),
            format!("{awkward} {name}\n\n").repeat(100),
            format!("{}\n{name}", awkward.repeat(900)),
        ]
    };
    std::thread::scope(|scope| {
        for (name, _) in agents {
            let (floor, texts) = (&floor, &texts);
            scope.spawn(move || texts(name).iter().for_each(|text| send_message(floor, name, text)));
        }
    });
    for ((name, _), log) in agents.iter().zip(&logs) {
        wait_for(|| prompts(log).len() >= 4);
        assert!(prompts(log) == texts(name), "{name} got {:?}", lengths(&prompts(log)));
    }
}

/// Also from inside another tmux, and with `before_attach` and `after_attach`.
#[test]
fn attach_shows_the_terminal_and_ends_on_detach() {
    let w = World::new();
    let floor = Floor::new(&w);
    let hooks = "before_attach = \"echo before $WORKER_CTL_NAME $(pwd)\"\nafter_attach = \"echo after\"\n";
    configure(&floor, "[defaults]\n", &format!("[defaults]\n{hooks}"));
    floor.ctl(&["add", "adam"]).succeeds();
    floor.up();
    floor.ctl(&["start", "--prompt", "SAY here I am"]).succeeds();
    wait_for(|| floor.ctl(&["peek", "adam"]).exit(0).stdout.contains("here I am"));
    let shown = std::thread::scope(|scope| {
        let line = "TMUX=/nowhere/tmux,1,0 TERM=xterm worker-ctl attach adam";
        let attached = scope.spawn(|| floor.root.on_terminal(line, ""));
        wait_for(|| !tmux(&floor, &["list-clients"]).is_empty());
        tmux(&floor, &["detach-client", "-s", "=worker-adam"]);
        attached.join().unwrap()
    });
    let place = floor.root.path.join(".worktrees/adam");
    shown.out_has("here I am").out_has(&format!("before adam {}", place.display())).out_has("after");
    assert_eq!(shown.status, Some(0), "{shown:?}");
    floor.ctl(&["attach", "nobody"]).exit(1).any_err();
    // Without a terminal nothing is run.
    floor.ctl(&["attach", "adam"]).exit(2).err_has("needs a terminal").err_has("`worker-ctl peek adam`");
}

#[test]
fn a_program_gets_the_environment_of_the_up_that_starts_it() {
    let w = World::new();
    let floor = Floor::new(&w);
    let seen = "$KEY|$GIT_DIR|$VIRTUAL_ENV|$GIT_CONFIG_PARAMETERS|$WORKER_CTL_WORKER|${PATH%%:*}";
    let script = format!("echo \"<{seen}>\"; exec \"$0\"");
    table(&floor, "telling", &["sh", "-c", &script, &program()], "");
    for name in ["adam", "eve"] {
        floor.ctl(&["add", name, "--agent", "telling"]).succeeds();
    }
    table(&floor, "own", &["sh", "-c", &script, &program()], "env = { PATH = \"/own:/usr/bin:/bin\" }\n");
    floor.ctl(&["add", "cain", "--agent", "own"]).succeeds();
    let (bin, path) = (w.path("bin").display().to_string(), floor.app.sh("printf %s \"$PATH\"").exit(0).stdout.clone());
    let up = |name: &str, key: &str| {
        // The virtual environment of another checkout, and what `git -c` sets for one command.
        let venv = format!("{}/.venv", floor.app.path.display());
        let long = format!("{venv}/bin:{path}");
        let mut vars = vec![("KEY", key), ("GIT_DIR", "/nowhere"), ("WORKER_CTL_WORKER", "other")];
        vars.extend([("VIRTUAL_ENV", &*venv), ("PATH", &*long), ("GIT_CONFIG_PARAMETERS", "'user.name'='me'")]);
        floor.root.run_with("worker-ctl", &["--root", ".", "up", name], &vars).succeeds();
        floor.ctl(&["peek", name]).exit(0).stdout
    };
    let key = "a \"b\" $HOME \\ 'c' ü;";
    assert!(up("adam", key).contains(&format!("<{key}||||adam|{bin}>")));
    // The server runs already, with another environment.
    assert!(up("eve", "two").contains(&format!("<two||||eve|{bin}>")));
    assert!(up("cain", "three").contains("<three||||cain|/own>"));
}

/// A floor with adam whose root's path is too long for sockets. Sessions have a runtime directory.
fn long<'w>(w: &'w mut World) -> Floor<'w> {
    let runtime = w.path("run");
    std::fs::create_dir(&runtime).unwrap();
    w.set("XDG_RUNTIME_DIR", runtime.to_str().unwrap());
    let w = &*w;
    let app = w.app();
    app.commit("README.md", "app\n");
    let root = w.at(w.home(&("long/".repeat(20) + "root")));
    app.run("worker-ctl", &["init", "--target", root.path.to_str().unwrap()]).succeeds();
    let floor = Floor { app, root };
    agent(&floor, "other", &[], "");
    floor.ctl(&["add", "adam", "--agent", "other"]).succeeds();
    floor
}

/// The directory of tmux's socket.
fn socket_dir(floor: &Floor<'_>) -> PathBuf {
    let status = floor.ctl(&["status", "--json"]).exit(0).json();
    Path::new(text(&status, "/tmux_socket")).parent().unwrap().to_path_buf()
}

#[test]
fn sockets_of_a_long_root_are_in_a_private_directory_that_is_made_anew_when_it_is_gone() {
    let mut w = World::new();
    let floor = long(&mut w);
    let first = socket_dir(&floor);
    assert_eq!((first.parent().unwrap(), mode(&first)), (floor.root.world.path("run").as_path(), 0o700));
    up(&floor, &["adam"]);
    assert_eq!(text(&floor.status("adam"), "/status"), "idle");
    floor.ctl(&["down"]).succeeds();
    // As after a reboot.
    std::fs::remove_dir_all(&first).unwrap();
    up(&floor, &["adam"]);
    let second = socket_dir(&floor);
    assert!(second != first && second.join("tmux.sock").exists());
}

#[test]
fn another_user_who_has_the_directory_of_the_sockets_does_not_stop_up() {
    if !needs_root() {
        return;
    }
    let mut w = World::new();
    let floor = long(&mut w);
    let first = socket_dir(&floor);
    std::os::unix::fs::chown(&first, Some(65534), None).unwrap();
    up(&floor, &["adam"]);
    assert_ne!(socket_dir(&floor), first);
    assert_eq!(text(&floor.status("adam"), "/status"), "idle");
    assert_eq!(std::fs::read_dir(&first).unwrap().count(), 0);
}

#[test]
fn no_second_program_starts_where_the_first_one_runs() {
    let w = World::new();
    let floor = Floor::new(&w);
    table(&floor, "stubborn", &["sh", "-c", "trap '' HUP; while :; do sleep 1; done"], "ready = { none = true }\n");
    floor.ctl(&["add", "adam", "--agent", "stubborn"]).succeeds();
    up(&floor, &["adam"]);
    let state: Value = serde_json::from_str(&floor.root.read("state.json")).unwrap();
    let socket = floor.root.path.join(text(&state, "/tmux_socket"));
    let pid = || floor.status("adam")["pane_pid"].as_i64().unwrap();
    let is_alive = |pid: i64| floor.root.sh(&format!("ps -o stat= -p {pid} | grep -qv Z")).exits_with(0);
    let first = pid();
    // A cleaner of old files takes the socket away.
    std::fs::remove_file(&socket).unwrap();
    floor.ctl(&["patrol"]).succeeds();
    up(&floor, &["adam"]);
    assert_eq!((socket.exists(), pid()), (true, first));
    // The server itself is gone, and its program goes on.
    let asked =
        format!("pid=$(tmux -S '{}' display-message -p '#{{pid}}') && kill -9 $pid && echo $pid", socket.display());
    let server: i64 = floor.root.sh(&asked).exit(0).stdout.trim().parse().unwrap();
    wait_for(|| !is_alive(server));
    up(&floor, &["adam"]);
    assert_ne!(pid(), first);
    assert!(!is_alive(first));
    std::fs::remove_file(&socket).unwrap();
    let second = pid();
    floor.ctl(&["down", "--force"]).succeeds();
    assert!(!is_alive(second));
}

#[test]
fn a_server_with_sessions_of_others_is_never_ended() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    // What is in the place of the root's socket leads to another server.
    let (own, other) = (floor.root.path.join("tmux.sock"), w.home("other.sock").display().to_string());
    let of_other = |args: &[&str]| floor.root.run("tmux", &[&["-S", &*other][..], args].concat()).exit(0);
    of_other(&["new-session", "-d", "-s", "precious", "sleep", "600"]);
    for line in ["ln -s", "ln"] {
        floor.root.sh(&format!("{line} '{other}' tmux.sock")).exit(0);
        for args in [&["up", "adam"][..], &["up", "--detach"], &["down"], &["nuke", "adam", "--yes"]] {
            floor.ctl(args).exit(4).any_out().err_has("is not the socket of").err_has("move it away");
        }
        std::fs::remove_file(&own).unwrap();
    }
    std::fs::create_dir(&own).unwrap();
    floor.ctl(&["doctor"]).exit(1).any_err().out_has("is not the socket of");
    std::fs::remove_dir(&own).unwrap();
    assert_eq!(of_other(&["list-sessions", "-F", "#{session_name}"]).stdout, "precious\n");
    of_other(&["kill-server"]);
    // A person has a session of their own in the root's.
    up(&floor, &["adam"]);
    tmux(&floor, &["new-session", "-d", "-s", "mine", "sleep", "600"]);
    floor.ctl(&["down"]).exit(0).any_out().err_has("no worker: mine");
    assert_eq!(tmux(&floor, &["list-sessions", "-F", "#{session_name}"]), "mine\n");
    assert_eq!(text(&floor.status("adam"), "/status"), "offline");
    tmux(&floor, &["kill-session", "-t", "=mine:"]);
}
