//! worker-ctl: what a command says and does when it is passed on to a host.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::support::host::{Machine, hire, hub, needs_sshd, row, work};
use crate::support::world::{World, mode, text, wait_for};

#[test]
fn an_answer_of_a_host_has_the_names_and_paths_that_they_have_here() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, machines) = hub(&w, &["big"]);
    let there = format!("big:{}", machines[0].root().path.join(".worktrees/eve").display());
    let added = floor.ctl(&["add", "eve", "--host", "big", "--json"]).exit(0).json();
    assert_eq!((text(&added, "/id"), text(&added, "/worktree"), text(&added, "/host")), ("big:eve", &*there, "big"));
    let up = floor.ctl(&["up", "--host", "big", "--json"]).any_status().any_err();
    assert_eq!(*up.status, Some(75), "{up}");
    up.out_has("\"host\":\"big\"");
    wait_for(|| row(&floor, "big:eve")["session"] == "up");
    // Nobody was named.
    floor.ctl(&["start", "--host", "big", "--task", "think"]).exit(0).any_err().out_has("big:eve\n");
    floor.ctl(&["status", "--host", "big"]).exit(0).out_has("big:eve  working");
    let all = floor.ctl(&["status", "--host", "big", "--json"]).exit(0).json();
    assert_eq!(text(&all, "/workers/0/worktree"), there);
    floor
        .ctl(&["start", "--queue", "--host", "big", "--worker", "eve", "--task", "later"])
        .exit(0)
        .any_err()
        .out_has("t1");
    w.at(w.home("")).write("more.jsonl", "{\"prompt\":\"COMMIT x.txt x 'x'\"}\n");
    let more = w.home("more.jsonl");
    floor.ctl(&["start", "--queue", "--host", "big", more.to_str().unwrap()]).exit(0).any_err().out_has("t2");
    let queue = floor.ctl(&["queue", "--host", "big", "--json"]).exit(0).any_err();
    let rows: Vec<Value> = queue.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((text(&rows[0], "/id"), text(&rows[0], "/worker"), rows.len()), ("t1", "big:eve", 2));
    floor.ctl(&["queue", "drop", "t1", "--host", "big"]).succeeds();
    w.at(w.home("")).write("bad.jsonl", "{}\n");
    let bad = w.home("bad.jsonl");
    let bad = bad.to_str().unwrap();
    floor.ctl(&["start", "--queue", "--host", "big", bad]).exit(2).err_has(&format!("error: {bad}:1:"));
    let text_file = w.home("task.md");
    w.at(w.home("")).write("task.md", "-- first line\nand 'more'\n");
    floor.ctl(&["queue", "drop", "t2", "--host", "big"]).succeeds();
    floor.ctl(&["reset", "big:eve"]).exit(0).any_err().out_has("reset big:eve\n");
    floor.ctl(&["start", "big:eve", "--task-file", text_file.to_str().unwrap()]).succeeds();
    assert_eq!(row(&floor, "big:eve")["prompt"], "-- first line\nand 'more'\n");
    floor.ctl(&["events", "--host", "big"]).exit(0).out_has("  big:eve  start  ");
    floor.ctl(&["-n", "add", "x", "--host", "big"]).exit(0).out_has("would create big:/");
    floor.ctl(&["wait", "--all", "--host", "big", "--for", "working"]).exit(0).out_has("big:eve\n");
    let events = floor.ctl(&["events", "--host", "big", "--json"]).exit(0);
    let last: Value = serde_json::from_str(events.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((text(&last, "/worker"), text(&last, "/host")), ("big:eve", "big"));
    floor.app.shopfloor(&["attach", "big:eve"]).exit(2).err_has("`shopfloor peek big:eve`");
    // A person is asked here.
    floor.ctl(&["nuke", "big:eve", "--force"]).exit(3).any_err().any_out();
    floor.root.on_terminal("worker-ctl nuke big:eve --force", "n\n").exit(3).out_has("Do that on big?");
    assert_eq!(row(&floor, "big:eve")["task"], "working");
    floor
        .root
        .on_terminal("worker-ctl nuke big:eve --force", "y\n")
        .exit(0)
        .out_has("would ")
        .out_has("Do that on big?");
    floor.ctl(&["peek", "big:eve"]).exit(1).err_has("there is no worker `big:eve`");
    // A runner is one of the host's own, whatever is here.
    let config = machines[0].root().read("config.toml") + "\n[runners.gentle]\ncommand = [\"nice\"]\n";
    machines[0].root().write("config.toml", &config);
    floor.ctl(&["add", "ada", "--host", "big", "--runner", "gentle"]).exit(0).any_out().any_err();
    assert_eq!(row(&floor, "big:ada")["runner"], "gentle");
    floor.ctl(&["up", "big:ada", "--runner", "gentl"]).exit(2).err_has("did you mean `gentle`?");
    // A name may be an ordinary word, and says only once where it is.
    hire(&floor, "big:a");
    let idle = floor.app.shopfloor(&["review", "--pin", "big:a"]).exit(1).any_out();
    idle.err_has("`shopfloor status` shows who has");
    let idle = floor.app.shopfloor(&["send", "big:a", "hello"]).exit(1).any_out();
    idle.err_has("give it a task: `shopfloor start big:a --task TASK`, or use `--force`");
    floor.ctl(&["start", "big:a", "--task", "think"]).succeeds();
    let asked = floor.ctl(&["nuke", "big:a", "--force"]).exit(3).any_out();
    assert!(asked.stderr.contains(": a person must decide"), "{asked}");
    floor.ctl(&["review", "big:a"]).exit(1).err_has("error: big:a is working");
    // What is not there any more is made from here.
    let (root, away) = (machines[0].root().path.join("config.toml"), machines[0].home.path.join("away"));
    std::fs::rename(&root, &away).unwrap();
    floor.ctl(&["queue", "--host", "big"]).exit(2).any_out().err_has("`worker-ctl host add big --ssh big`");
    std::fs::rename(&away, &root).unwrap();
    // A tool that does not run there is no answer.
    machines[0].program("claude", "exit 127");
    let refused = floor.ctl(&["host", "login", "big", "claude"]).exit(4).any_out();
    refused.err_has("claude is not on the PATH of big");
    machines[0].program("worker-ctl", "exit 127");
    let failed = floor.ctl(&["message", "big:eve", "x", "--json"]).exit(4).json();
    assert_eq!(text(&failed, "/error/kind"), "on_host");
    floor.ctl(&["host", "list", "--root", w.home("none").to_str().unwrap()]).exit(2).any_err();
    // What has a colon is no host's everywhere.
    floor.app.run("worker-ctl", &["init", "--source", ".", "--target", w.home("a:b").to_str().unwrap()]).succeeds();
}

#[test]
fn what_was_seen_of_a_task_ends_with_it() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, _machines) = hub(&w, &["big"]);
    hire(&floor, "big:eve");
    work(&floor, "big:eve", "COMMIT a.txt one Add a");
    floor.ctl(&["review", "big:eve"]).succeeds();
    floor.ctl(&["reset", "big:eve", "--force"]).exit(0).any_out().any_err();
    assert_eq!(floor.root.git(&["for-each-ref", "refs/shopfloor/hosts"]), "");
    floor.ctl(&["accept"]).exit(1).err_has("nothing was reviewed");
    work(&floor, "big:eve", "COMMIT a.txt zero Add a");
    floor.ctl(&["review", "big:eve"]).succeeds();
    floor.ctl(&["reject", "big:eve", "AMEND a.txt one"]).exit(0).any_out().any_err();
    floor.ctl(&["wait", "big:eve", "--for", "needs_review", "--timeout", "50s"]).exit(0).any_out().any_err();
    // What was sent back is not what was reviewed, whatever it is now. Who names it wants it all the same.
    floor.ctl(&["accept"]).exit(1).err_has("the current work of big:eve was not reviewed");
    floor
        .app
        .run("shopfloor", &["land", "big:eve"])
        .exit(1)
        .err_has("was sent back, and nobody has reviewed its work since");
    let landed = floor.ctl(&["accept", "big:eve"]).exit(0).any_out();
    landed.err_has("big:eve was not reviewed");
    work(&floor, "big:eve", "COMMIT a.txt two Add a");
    let landed = floor.ctl(&["accept", "big:eve"]).exit(0).any_out();
    landed.err_has("big:eve was not reviewed");
}

#[test]
fn a_host_gets_a_place_that_nobody_has() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, _) = hub(&w, &[]);
    let [big, small] = ["big", "small"].map(|name| Machine::new(&w, name));
    // The table of its runner is of this machine.
    let config = floor.root.read("config.toml").replace("[defaults]\n", "[defaults]\nrunner = \"mybox\"\n");
    floor.root.write("config.toml", &(config + "\n[runners.mybox]\ncommand = [\"nice\"]\n"));
    let add = |more: &[&str]| floor.ctl(&[&["host", "add", "big", "--json"][..], more].concat());
    let refused = |more: &[&str], words: &str| {
        let answer = add(more).exit(1).any_err().json();
        assert!(text(&answer, "/error/message").contains(words), "{answer}");
    };
    // A person's own repository, directory and root.
    let own = big.home.path.join("pub/app.git");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::set_permissions(big.home.path.join("pub"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let bare = w.at(own.clone());
    bare.git(&["clone", "-q", "--bare", floor.app.path.to_str().unwrap(), "."]);
    refused(&["--ssh", "big", "--root", "~/pub/app"], "is a repository of its own");
    big.home.write("full.git/mine", "");
    refused(&["--ssh", "big", "--root", "~/full"], "is not empty");
    big.home.write("busy/mine", "");
    refused(&["--ssh", "big", "--root", "~/busy/"], "busy is not empty");
    for root in ["../up", ".", "~/up/../busy"] {
        add(&["--ssh", "big", "--root", root]).exit(2).any_err().out_has("is `.` or `..`");
    }
    assert!(!big.home.has("busy.git") && !big.home.has("busy/.git"));
    assert_eq!(mode(&big.home.path.join("pub")), 0o755);
    assert!(!big.home.has("pub/.hosted.lock") && bare.run("git", &["config", "--get", "shopfloor.hub"]).exits_with(1));
    // After a try that failed another machine gets all it needs.
    big.program(
        "worker-ctl",
        &format!(
            "case \" $* \" in *' init '*) exit 4;; *) exec '{}' \"$@\";; esac",
            w.path("bin/worker-ctl").display()
        ),
    );
    add(&["--ssh", "big"]).exit(4).any_err().out_has("the same command again does what is left");
    // So does one that was cut before its root was configured, or when the host was on record.
    let ctl = w.path("bin/worker-ctl");
    for (cut, says) in [("--config", "gave no answer"), ("up", "is a host now")] {
        let body = format!("case \" $* \" in *' {cut} '*) exit 9;; *) exec '{}' \"$@\";; esac", ctl.display());
        small.program("worker-ctl", &body);
        add(&["--ssh", "small"]).exit(4).any_err().out_has(says);
    }
    small.program("worker-ctl", &format!("exec '{}' \"$@\"", ctl.display()));
    refused(&["--ssh", "big"], "is a host already");
    refused(&["--ssh", "small", "--root", "/elsewhere"], "is a host already");
    add(&["--ssh", "small"]).exit(0).any_out().err_has("`skip_permissions = false` instead of the runner mybox");
    assert_eq!(small.tip(), crate::support::worker::tip(&floor));
    // One root has one name here.
    let answer = floor.ctl(&["host", "add", "again", "--ssh", "small", "--json"]).exit(1).any_err().json();
    assert!(text(&answer, "/error/message").contains("is your host big already"), "{answer}");
    assert!(answer["error"].to_string().contains("`worker-ctl host remove big`"), "{answer}");
    // A worker's table of before stays when the host comes again.
    floor.ctl(&["add", "eve", "--host", "big", "--role-prompt", "You test."]).succeeds();
    floor.ctl(&["host", "remove", "big"]).succeeds();
    add(&["--ssh", "small"]).exit(0).any_err().any_out();
    // Nothing holds its agents, so they ask.
    let config = small.root().read("config.toml");
    assert!(config.contains("You test.") && !config.contains("mybox"), "{config}");
    let asks = "skip_permissions = false\nallowed_tools = [\"Read\", \"Glob\", \"Grep\"]\n";
    assert!(config.contains(asks), "{config}");
    assert_eq!(row(&floor, "big:eve")["task"], "idle");
}

#[test]
fn hosts_that_hang_or_shout_cost_two_seconds_together() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, machines) = hub(&w, &["big", "small"]);
    hire(&floor, "big:eve");
    floor.ctl(&["status"]).succeeds();
    for machine in &machines {
        machine.program("worker-ctl", "exec sleep 30");
    }
    let began = std::time::Instant::now();
    floor.ctl(&["status"]).exit(0).out_has("unreachable since");
    assert!(began.elapsed().as_secs() < 15, "{:?}", began.elapsed());
    for args in [&["events", "--host", "big"][..], &["queue", "--host", "big"], &["status", "--host", "big"]] {
        let began = std::time::Instant::now();
        let late = floor.ctl(&[args, &["--json"]].concat()).exit(4).any_err().json();
        assert_eq!(text(&late, "/error/kind"), "unreachable");
        assert!(began.elapsed().as_secs() < 30, "{args:?}: {:?}", began.elapsed());
    }
    let began = std::time::Instant::now();
    let late = floor.ctl(&["wait", "--all", "--host", "big", "--for", "busy", "--timeout", "1s"]).exit(124);
    late.err_has("not all workers became busy within 1s");
    assert!(began.elapsed().as_secs() < 15, "{:?}", began.elapsed());
    // What may take long there does not begin.
    let began = std::time::Instant::now();
    let late = floor.ctl(&["message", "big:eve", "x", "--json"]).exit(4).any_err().json();
    assert_eq!(text(&late, "/error/kind"), "unreachable");
    assert!(began.elapsed().as_secs() < 28, "{:?}", began.elapsed());
    machines[0].program("worker-ctl", "yes >&2");
    let failed = floor.ctl(&["message", "big:eve", "x", "--json"]).exit(4).json();
    assert!(text(&failed, "/error/message").contains("more than 16 MB"), "{failed}");
    // Whoever waits is told at once that waiting does not help.
    let known = std::fs::read_to_string(w.path("known_hosts")).unwrap();
    std::fs::write(w.path("known_hosts"), known.replace("ssh-ed25519 AAAA", "ssh-ed25519 AAAB")).unwrap();
    machines[0].signal_sessions("KILL");
    let other = std::fs::read_to_string(w.path("id.pub")).unwrap();
    let wrong: String = known.lines().map(|line| format!("{} {other}", line.split(' ').next().unwrap())).collect();
    std::fs::write(w.path("known_hosts"), wrong).unwrap();
    let refused = floor.ctl(&["wait", "big:eve", "--json"]).exit(4).json();
    assert_eq!(text(&refused, "/error/kind"), "ssh_refused");
    // A handshake may take longer than the two seconds of one question.
    wait_for(|| floor.ctl(&["status"]).exit(0).any_out().stderr.contains("HOST IDENTIFICATION HAS CHANGED"));
}
