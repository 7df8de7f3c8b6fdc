//! worker-ctl: settings, logs, `on_event` and copied files.

use serde_json::{Value, json};

use crate::support::floor::Floor;
use crate::support::worker::{Staying, agent, configure, is_at, table, tree, up};
use crate::support::world::{World, text, wait_for, which, write};

/// The number of the line of config.toml that starts with this key.
fn line_of(floor: &Floor<'_>, key: &str) -> usize {
    floor.root.read("config.toml").lines().position(|line| line.starts_with(key)).unwrap() + 1
}

#[test]
fn invalid_names_and_patterns_in_the_configuration_are_refused() {
    let w = World::new();
    let floor = Floor::new(&w);
    let good = floor.root.read("config.toml");
    for (table, message) in [
        ("[workers.\"../evil\"]\n", "cannot be a worker's name"),
        ("[hosts.\"../evil\"]\nssh = \"x\"\nroot = \"/x\"\nsource = \"/x.git\"\n", "cannot be a host's name"),
        ("[agents.mine]\ncommand = [\"x\"]\nstrip = [\"[\"]\n", "no regular expression"),
        ("[agents.mine]\nclear = \"x\"\n", "`command` is missing"),
    ] {
        let line = good.lines().count() + 2;
        floor.root.write("config.toml", &format!("{good}\n{table}"));
        floor.ctl(&["status"]).exit(2).err_has(message).err_has(&format!("config.toml:{line}:"));
    }
    configure(&floor, "[agents.mine]\nclear = \"x\"\n", "");
    floor.ctl(&["status"]).exit(0);
    floor.ctl(&["init", "--source", "/nonexistent"]).exit(2).err_has("/nonexistent is not a directory");
}

#[test]
fn a_copied_file_may_have_any_name() {
    let w = World::new();
    let floor = Floor::new(&w);
    let name = "a[1].cfg";
    configure(&floor, "[repo]\n", &format!("[repo]\ncopy = [{{ from = \"{name}\" }}]\n"));
    floor.app.write(".git/info/exclude", "*.cfg\n");
    floor.app.write(name, "v1\n");
    floor.ctl(&["add", "adam"]).succeeds();
    let adam = tree(&floor, "adam");
    assert_eq!(adam.read(name), "v1\n");
    // The name is not read as a pattern.
    adam.write("a1.cfg", "x\n");
    assert_eq!(adam.git(&["status", "--porcelain", "-uall"]), "?? a1.cfg\n");
    std::fs::remove_file(adam.path.join("a1.cfg")).unwrap();
    adam.git(&["add", "-A"]);
    assert_eq!(adam.git(&["status", "--porcelain", "-uall"]), "");
    floor.up();
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    assert_eq!(text(&floor.status("adam"), "/status"), "working");
}

#[test]
fn flags_win_over_variables_over_the_file_over_defaults() {
    let w = World::new();
    let floor = Floor::new(&w);
    configure(&floor, "patrol_interval_secs = 60\n", "patrol_interval_secs = 600\n");
    let seen = |flags: &[&str], vars: &[(&str, &str)]| {
        let all = floor.root.run_with("worker-ctl", &[flags, &["config", "--json"][..]].concat(), vars).exit(0);
        let line = all.json_lines().into_iter().find(|line| line["name"] == "patrol_interval_secs").unwrap();
        assert_eq!(line["v"], 1);
        format!("{} from {}", text(&line, "/value"), text(&line, "/source"))
    };
    let variable = [("WORKER_CTL_PATROL_INTERVAL_SECS", "7")];
    assert_eq!(seen(&["--patrol-interval-secs", "3"], &variable), "3 from flag");
    assert_eq!(seen(&[], &variable), "7 from environment: WORKER_CTL_PATROL_INTERVAL_SECS");
    let file = format!("{}:{}", floor.root.path.join("config.toml").display(), line_of(&floor, "patrol_interval_secs"));
    assert_eq!(seen(&[], &[]), format!("600 from {file}"));
    floor.ctl(&["config"]).exit(0).out_has(&format!("patrol_interval_secs = 600 ({file})"));
    configure(&floor, "patrol_interval_secs = 600\n", "");
    assert_eq!(seen(&[], &[]), "60 from default");
    // The settings take effect.
    let prefix = [("WORKER_CTL_BRANCH_PREFIX", "variable/")];
    floor.root.run_with("worker-ctl", &["add", "adam"], &prefix).succeeds();
    floor.root.run_with("worker-ctl", &["add", "eve", "--branch-prefix", "flag/"], &prefix).succeeds();
    let branches = ["adam", "eve"].map(|name| text(&floor.status(name), "/branch").to_owned());
    assert_eq!(branches, ["variable/adam", "flag/eve"]);
    let _up = Staying::new(&floor, &["up", "--patrol-interval-secs", "1"]);
    wait_for(|| is_at(&floor, "adam", "idle"));
    let start = std::time::Instant::now();
    floor.root.sh(&format!("kill -9 {}", floor.status("adam")["pane_pid"])).exit(0);
    wait_for(|| is_at(&floor, "adam", "error"));
    assert!(start.elapsed().as_secs() < 30);
}

#[test]
fn an_unknown_key_is_a_warning_and_a_wrong_type_is_refused() {
    let w = World::new();
    let floor = Floor::new(&w);
    configure(&floor, "patrol_interval_secs = 60\n", "patrol_interval_sec = 60\n");
    table(&floor, "other", &["x"], "past = \"lines\"\n");
    let near = |key: &str, nearest: &str| {
        let line = line_of(&floor, &format!("{key} ="));
        format!("config.toml:{line}: unknown setting `{key}`; did you mean `{nearest}`?")
    };
    let output = floor.ctl(&["status"]).exit(0);
    output.err_has(&near("patrol_interval_sec", "patrol_interval_secs")).err_has(&near("past", "paste"));
    table(&floor, "more", &["x"], "[worker-ctl.runners.sandbox]\n");
    let front = floor.root.run_with("worker-ctl", &["status"], &[("SHOPFLOOR_FRONT", "1")]).exit(0).any_out();
    front.err_has("unknown table `worker-ctl`; a root's own tables stand alone, as `[runners.sandbox]`");
    configure(&floor, "[worker-ctl.runners.sandbox]\n", "");
    let wrong = [
        ("patrol_interval_sec = 60", "patrol_interval_secs = \"often\"", 24),
        ("source = ", "source = 3 # ", 10),
        ("ready = { pattern", "ready = 3 # { pattern", 9),
        ("past = \"lines\"", "paste = \"loudly\"", 9),
    ];
    for (good, bad, column) in wrong {
        configure(&floor, good, bad);
        let place = format!("config.toml:{}:{column}: ", line_of(&floor, bad));
        floor.ctl(&["add", "adam"]).exit(2).err_has(&place);
        floor.ctl(&["status"]).exit(2).err_has(&place);
        configure(&floor, bad, good);
    }
    floor.ctl(&["add", "adam", "--patrol-interval-secs", "often"]).exit(2).err_has("(flag)");
    let variable = [("WORKER_CTL_SOUND_ON_REVIEW", "loud")];
    floor.root.run_with("worker-ctl", &["add", "adam"], &variable).exit(2).err_has("WORKER_CTL_SOUND_ON_REVIEW");
    assert!(!floor.root.has(".worktrees/adam"));
    assert_eq!(floor.ctl(&["status", "--json"]).exit(0).any_err().json()["workers"], json!([]));
}

#[test]
fn events_prints_past_events_and_follows_new_ones() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    floor.up();
    let following = Staying::new(&floor, &["events", "--follow", "--json", "--since", "all"]);
    wait_for(|| following.out().contains("\"session_up\""));
    floor.ctl(&["start", "--prompt", "COMMIT a.txt a Write a"]).succeeds();
    floor.until("adam", "needs_review");
    let sha = text(&floor.status("adam"), "/commit_sha").to_owned();
    let output = floor.ctl(&["events", "--json"]).exit(0);
    let events = output.json_lines();
    for event in &events {
        let keys: Vec<&String> = event.as_object().unwrap().keys().collect();
        let first = ["v", "seq", "time", "worker", "event", "from", "to", "detail", "task", "revision"];
        assert_eq!(keys, [&first[..], &["activity", "activity_text", "name", "id"]].concat());
        assert!(event["v"] == 1 && text(event, "/time").ends_with('Z'), "{event}");
    }
    let change = |name: &str| {
        let event = events.iter().find(|event| event["event"] == name).unwrap();
        json!([event["worker"], event["from"], event["to"]])
    };
    assert_eq!(change("session_up"), json!(["adam", "offline", "idle"]));
    assert_eq!(change("start"), json!(["adam", "idle", "working"]));
    assert_eq!(change("commit"), json!(["adam", "working", "needs_review"]));
    assert!(events.iter().any(|event| event["event"] == "commit" && event["detail"] == sha.as_str()));
    floor.ctl(&["events"]).exit(0).out_has("adam  start  idle -> working");
    wait_for(|| following.out() == output.stdout);
    // It ends with its reader.
    let line = "{ timeout 30 worker-ctl events --follow --since all; echo $? >&2; } | head -n 1";
    let gone = floor.root.sh(line).exit(0);
    assert_eq!((gone.stdout.lines().count(), gone.stderr.as_str()), (1, "0\n"));
}

#[test]
fn a_workers_log_has_its_terminal_output_and_events() {
    let w = World::new();
    let floor = Floor::new(&w);
    agent(&floor, "argv", &[], "delivery = \"argv\"\n");
    floor.ctl(&["add", "adam"]).succeeds();
    floor.ctl(&["add", "eve", "--agent", "argv"]).succeeds();
    floor.up();
    for name in ["adam", "eve"] {
        floor.ctl(&["start", "--worker", name, "--prompt", &format!("SAY the word of {name}")]).succeeds();
        let log = || floor.root.read(&format!("logs/{name}.log"));
        wait_for(|| log().contains(&format!("the word of {name}\r\n")));
        assert!(log().contains("start  idle -> working"), "{}", log());
    }
}

#[test]
fn on_event_runs_at_every_event_and_outlives_the_worker() {
    let w = World::new();
    let floor = Floor::new(&w);
    let line = "echo \"$WORKER_CTL_NAME $WORKER_CTL_EVENT $WORKER_CTL_FROM $WORKER_CTL_TO $WORKER_CTL_DETAIL\" \
                >> \"$WORKER_CTL_ROOT/told\"";
    configure(&floor, "[defaults]\n", &format!("[defaults]\non_event = '{line}'\n"));
    floor.ctl(&["add", "adam"]).succeeds();
    floor.up();
    floor.ctl(&["start", "--prompt", "COMMIT a.txt a Write a"]).succeeds();
    floor.until("adam", "needs_review");
    let sha = text(&floor.status("adam"), "/commit_sha").to_owned();
    let has_line = |start: &str| {
        floor.root.has("told") && floor.root.read("told").lines().any(|line| line.trim_end().starts_with(start))
    };
    wait_for(|| has_line("adam session_up offline idle process "));
    wait_for(|| has_line("adam start idle working"));
    wait_for(|| has_line(&format!("adam commit working needs_review {sha}")));
    // The command is slow, and still reports the end.
    configure(&floor, "on_event = '", "on_event = 'sleep 1; ");
    floor.ctl(&["down", "--force"]).succeeds();
    wait_for(|| has_line("adam session_gone needs_review offline"));
}

#[test]
fn copy_brings_untracked_files_and_keeps_changed_ones() {
    let w = World::new();
    let floor = Floor::new(&w);
    let copy = "copy = [{ from = \"local.cfg\" }, { from = \"local.cfg\", to = \"etc/other.cfg\" }]\n";
    configure(&floor, "[repo]\n", &format!("[repo]\n{copy}"));
    floor.app.write(".git/info/exclude", "/local.cfg\n");
    floor.app.write("local.cfg", "v1\n");
    floor.ctl(&["add", "adam"]).succeeds();
    let adam = w.at(floor.root.path.join(".worktrees/adam"));
    let both = || [adam.read("local.cfg"), adam.read("etc/other.cfg")];
    assert_eq!(both(), ["v1\n", "v1\n"]);
    adam.git(&["add", "-A"]);
    assert_eq!(adam.git(&["status", "--porcelain", "-uall"]), "");
    // An unchanged copy is updated at the next task.
    floor.up();
    floor.app.write("local.cfg", "v2\n");
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    assert_eq!(both(), ["v2\n", "v2\n"]);
    floor.ctl(&["reset", "adam"]).succeeds();
    adam.write("local.cfg", "mine\n");
    floor.app.write("local.cfg", "v3\n");
    floor.ctl(&["start", "--prompt", "think"]).succeeds().err_has("local.cfg was changed in");
    assert_eq!(both(), ["mine\n", "v3\n"]);
    // No file from outside the source is copied.
    w.at(w.home("eng/repos")).write("secret", "s\n");
    configure(&floor, copy, "copy = [{ from = \"../secret\" }]\n");
    floor.ctl(&["add", "eve"]).exit(2).err_has("`copy`");
    assert!(!floor.root.has(".worktrees/eve"));
    assert_eq!(floor.root.git(&["branch", "--list", "worker/eve"]), "");
}

#[test]
fn an_agent_of_the_users_own_configuration_holds_for_all_roots() {
    let w = World::new();
    which("tmux");
    let app = w.app();
    app.commit("README.md", "app\n");
    app.git(&["worktree", "add", "-q", "-b", "feat", "../feat"]);
    let config = w.home(".config/shopfloor/config.toml");
    write(&config, "[worker-ctl.agents.mine]\nenv = { A = \"1\" }\n");
    let add = |status: i32| app.run("worker-ctl", &["add", "--worktree", "../feat", "--agent", "mine"]).exit(status);
    add(2).err_has("[worker-ctl.agents.mine]: `command` is missing");
    write(&config, "[worker-ctl.agents.claude]\nmodel = \"x\"\n");
    add(2).err_has("[worker-ctl.agents.claude]: `command` is missing");
    let slips = "submitkey = \"x\"\n[worker-ctl]\nfoo = 1\n[worker-ctl.agnets.q]\n";
    write(&config, &format!("[worker-ctl.agents.mine]\ncommand = [\"sleep\", \"1000\"]\n{slips}"));
    add(0)
        .any_out()
        .err_has("config.toml:3: unknown setting `submitkey`; did you mean `submit_key`?")
        .err_has("config.toml:5: unknown setting `worker-ctl.foo`")
        .err_has("config.toml:6: unknown table `worker-ctl.agnets`; did you mean `agents`?");
    write(&config, "[worker-ctl.agents.mine]\ncommand = [\"sleep\", \"1000\"]\n");
    let floor = Floor::of(app, &w);
    // The root's own table goes before.
    floor.root.sh("sed -i '/agent = \"scripted\"/d' config.toml").exit(0);
    up(&floor, &["feat"]);
    let words = |pid: &Value| floor.root.sh(&format!("tr '\\0' ' ' < /proc/{pid}/cmdline")).exit(0).stdout.clone();
    // Nothing tells when it is ready, and a process begins as a copy of tmux.
    wait_for(|| words(&floor.status("feat")["pane_pid"]) == "sleep 1000 ");
    floor.ctl(&["down", "--force"]).succeeds().any_err();
    floor.root.sh("printf '[agents.mine]\\ncommand = [\"sleep\", \"2000\"]\\n' >> config.toml").exit(0);
    up(&floor, &["feat"]);
    wait_for(|| words(&floor.status("feat")["pane_pid"]) == "sleep 2000 ");
}

#[test]
fn what_a_worktrees_own_configuration_runs_is_obeyed_as_a_person_has_accepted_it() {
    let w = World::new();
    which("tmux");
    let app = w.app();
    app.commit("README.md", "app\n");
    app.commit(".gitattributes", "*.up filter=up\n");
    app.git(&["worktree", "add", "-q", "-b", "feat", "../feat"]);
    app.git(&["config", "extensions.worktreeConfig", "true"]);
    let feat = w.at(app.path.with_file_name("feat"));
    feat.git(&["config", "--worktree", "core.sparseCheckout", "false"]);
    feat.git(&["config", "--worktree", "filter.up.clean", "tr a-z A-Z"]);
    let add = |more: &[&str]| app.run("worker-ctl", &[&["add", "--worktree", "../feat"], more].concat());
    add(&["-n"]).exit(0).any_out().err_has("filter.up.clean=tr a-z A-Z").err_has("Let git obey that there");
    add(&[]).exit(3).err_has("filter.up.clean=tr a-z A-Z").err_has("nothing was adopted");
    assert!(!w.home("workers").exists());
    add(&["--yes"]).exit(0).any_out().err_has("filter.up.clean");
    let floor = Floor::of(app.clone(), &w);
    let is_clean = || !floor.ctl(&["doctor"]).any_status().any_err().stdout.contains("uncommitted");
    // The filter makes the file what was committed, and counts as it was accepted.
    feat.write("a.up", "text\n");
    feat.sh("git add a.up && git commit -q -m up").exit(0);
    app.git(&["merge", "-q", "feat"]);
    assert_eq!(app.git(&["show", "main:a.up"]), "TEXT\n");
    feat.sh("touch -d 2001-01-01 a.up").exit(0);
    assert!(is_clean());
    feat.git(&["config", "--worktree", "filter.up.clean", "touch ../ran; cat"]);
    assert!(is_clean());
    assert!(!app.path.with_file_name("ran").exists());
    let is_told = || floor.ctl(&["doctor"]).any_status().any_err().stdout.contains("filter.up.clean of its worktree");
    assert!(is_told());
    // The same command again accepts it anew.
    add(&[]).exit(3).err_has("touch ../ran; cat");
    add(&["--yes"])
        .exit(0)
        .any_out()
        .err_has("no longer obeys filter.up.clean=tr a-z A-Z")
        .err_has("obeys filter.up.clean=touch");
    assert!(!is_told() && !is_clean() && app.path.with_file_name("ran").exists());
    feat.git(&["config", "--worktree", "--unset", "filter.up.clean"]);
    add(&[]).exit(0).any_out().err_has("no longer obeys");
    add(&[]).exit(1).err_has("already");
}

#[test]
fn what_a_program_leaves_in_a_worktree_is_no_change() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let app = &floor.app;
    app.git(&["worktree", "add", "-q", "-b", "feat", "../feat"]);
    app.run("worker-ctl", &["add", "--worktree", "../feat", "--agent", "aider"]).succeeds().any_err();
    let feat = w.at(app.path.with_file_name("feat"));
    feat.write(".aider.chat.history.md", "x\n");
    assert_eq!(feat.git(&["status", "--porcelain"]), "");
    assert!(!floor.ctl(&["doctor"]).any_status().any_err().stdout.contains("uncommitted"));
}
