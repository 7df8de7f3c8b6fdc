//! worker-ctl: how workers are created and removed with their tables.

use std::fs::File;
use std::process::Stdio;

use crate::support::floor::Floor;
use crate::support::worker::{
    Staying, agent, commit, configure, exists, is_at, is_queued, program, prompts, table, tree,
};
use crate::support::world::{World, text, wait_for, which, write};

#[test]
fn a_bad_name_is_refused_and_a_role_prompt_arrives_verbatim() {
    let w = World::new();
    let floor = Floor::new(&w);
    for bad in ["../x", "-a", "a.b", "a:b", "", &"x".repeat(200), "HEAD"] {
        floor.ctl(&["add", bad]).exit(2).any_err();
    }
    assert_eq!(floor.ctl(&["status", "--json"]).exit(0).json()["workers"], serde_json::json!([]));
    let role = "say \"hi\"\n]]\\";
    floor.ctl(&["add", "adam", "--role-prompt", role]).succeeds();
    floor.ctl(&["add", "adam"]).exit(1).err_has("already");
    floor.ctl(&["up", "adam"]).succeeds();
    floor.ctl(&["start", "--prompt", "hello"]).succeeds();
    wait_for(|| !floor.prompts().is_empty());
    let prompt = &floor.prompts()[0];
    assert!(prompt.contains(role) && prompt.ends_with("\n\nhello"), "{prompt}");
    // A branch with unmerged commits is not reused.
    floor.root.git(&["branch", "worker/eve", "refs/remotes/origin/main"]);
    let eve = floor.root.git(&[
        "commit-tree",
        "refs/remotes/origin/main^{tree}",
        "-p",
        "refs/remotes/origin/main",
        "-m",
        "work",
    ]);
    floor.root.git(&["update-ref", "refs/heads/worker/eve", eve.trim()]);
    floor.ctl(&["add", "eve"]).exit(1).err_has("not merged");
}

#[test]
fn a_name_of_another_script_becomes_one_that_a_worker_can_have() {
    let w = World::new();
    let floor = Floor::new(&w);
    let added = |name: &str| {
        let out = floor.ctl(&["add", name]).succeeds();
        out.err_has(&format!("`{name}` is the worker ")).stdout.trim_end().rsplit('/').next().unwrap().to_owned()
    };
    assert_eq!(added("Zoë"), "zoe");
    let (one, other) = (added("привет"), added("日本語"));
    assert!(one.starts_with("worker-") && other.starts_with("worker-") && one != other, "{one} {other}");
    assert!(added("мир 2").starts_with("2-"));
    floor.ctl(&["add", "привет"]).exit(1).err_has("already");
    assert_eq!(text(&floor.status(&one), "/task"), "idle");
    // One that was mistyped is refused as before, with what it could be.
    floor.ctl(&["add", "Adam B"]).exit(2).err_has("such as `adam-b`");
    floor.ctl(&["add", "!!!"]).exit(2).err_has("lower-case");
}

#[test]
fn a_hook_in_the_clone_that_is_not_ours_is_left_out() {
    let w = World::new();
    let floor = Floor::new(&w);
    let hook = floor.root.path.join(".git/hooks/post-checkout");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    crate::support::world::write(&hook, "#!/bin/sh\ntouch \"$HOME/ran\"\n");
    floor.root.sh("chmod +x .git/hooks/post-checkout").exit(0);
    floor.ctl(&["add", "adam"]).succeeds().err_has("is not the hook that we installed");
    assert!(!w.home("ran").exists());
    assert_eq!(text(&floor.status("adam"), "/task"), "idle");
    assert!(tree(&floor, "adam").has("README.md"));
}

#[test]
fn nuke_removes_a_worker_from_an_inline_table() {
    let w = World::new();
    let floor = Floor::new(&w);
    let line = "workers = { bob = { role_prompt = \"x\" } }\n";
    configure(&floor, "[defaults]\n", &format!("{line}\n[defaults]\n"));
    floor.ctl(&["up", "bob"]).succeeds();
    assert!(exists(&floor, "bob"));
    floor.ctl(&["nuke", "bob", "--yes"]).succeeds();
    let config = floor.root.read("config.toml");
    assert!(!config.contains("bob") && config.contains("[agents.scripted]"), "{config}");
    // Otherwise `up` would create it again.
    floor.ctl(&["up", "bob"]).exit(1).err_has("no worker `bob`");
    assert!(!exists(&floor, "bob") && !floor.root.has(".worktrees/bob"));
}

#[test]
fn a_worker_is_created_completely_or_not_at_all() {
    let w = World::new();
    let floor = Floor::new(&w);
    let [config, other] = ["config.toml", "other.toml"].map(|name| floor.root.path.join(name));
    std::fs::rename(&config, &other).unwrap();
    std::os::unix::fs::symlink("other.toml", &config).unwrap();
    let before = floor.root.read("other.toml");
    let refused = floor.ctl(&["add", "adam"]).any_status().any_err();
    assert!(matches!(*refused.status, Some(2 | 4)), "{refused:?}");
    std::fs::remove_file(&config).unwrap();
    std::fs::rename(&other, &config).unwrap();
    assert_eq!(floor.root.read("config.toml"), before);
    assert!(!exists(&floor, "adam") && !floor.root.has(".worktrees/adam"));
    assert_eq!(floor.root.git(&["branch", "--list", "worker/*"]), "");
    floor.ctl(&["add", "adam"]).succeeds();
}

#[test]
fn a_worker_of_another_host_is_not_started_here() {
    let w = World::new();
    let floor = Floor::new(&w);
    configure(&floor, "[agents.scripted]\n", "[workers.far]\nhost = \"big\"\n\n[agents.scripted]\n");
    let refused = floor.ctl(&["up", "far"]);
    assert!(refused.status.is_some_and(|status| status > 0), "{refused:?}");
    refused.err_has("host");
    let status = floor.ctl(&["status", "--json"]).exit(0).json();
    assert_eq!(
        floor
            .root
            .run("tmux", &["-S", text(&status, "/tmux_socket"), "list-sessions"])
            .any_status()
            .any_out()
            .any_err()
            .stdout,
        ""
    );
}

#[test]
fn a_worker_added_while_up_runs_starts_with_its_options() {
    let w = World::new();
    let floor = Floor::new(&w);
    table(&floor, "telling", &["sh", "-c", "echo \"<$1>\"; exec \"$0\"", &program(), "{model}"], "");
    floor.ctl(&["add", "adam"]).succeeds();
    let _up = Staying::new(&floor, &["up"]);
    wait_for(|| is_at(&floor, "adam", "idle"));
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    // `add` waits for config.toml while `up` does another round.
    let lock = File::open(floor.root.path.join("locks/config.lock")).unwrap();
    lock.lock().unwrap();
    let mut command = w.command(w.path("bin/worker-ctl"));
    command.args(["add", "eve", "--agent", "telling", "--model", "sonnet"]).current_dir(&floor.root.path);
    let mut add = command.stdout(Stdio::null()).spawn().unwrap();
    wait_for(|| is_queued(add.id()));
    commit(&tree(&floor, "adam"), "Write a", &["a.txt"], "one\n");
    wait_for(|| is_at(&floor, "adam", "needs_review"));
    lock.unlock().unwrap();
    assert_eq!(add.wait().unwrap().code(), Some(0));
    wait_for(|| is_at(&floor, "eve", "idle"));
    floor.ctl(&["peek", "eve"]).exit(0).out_has("<sonnet>");
}

/// As on a host, where a command whose line was cut goes on.
#[test]
fn of_two_that_remove_a_worker_at_once_both_say_where_its_work_is_kept() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    let adam = tree(&floor, "adam");
    commit(&adam, "Work", &["a.txt"], "one\n");
    // An earlier worker of this name left it.
    adam.git(&["update-ref", "refs/shopfloor/trash/adam/20200101T000000.000Z", "HEAD"]);
    let lock = File::create(floor.root.path.join("locks/worker-adam.lock")).unwrap();
    lock.lock().unwrap();
    let remove = || {
        let mut command = w.command(w.path("bin/worker-ctl"));
        command.args(["nuke", "adam", "--force", "--yes"]).current_dir(&floor.root.path);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        wait_for(|| is_queued(child.id()));
        child
    };
    let both = [remove(), remove()];
    lock.unlock().unwrap();
    for child in both {
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && told.starts_with("refs/shopfloor/trash/adam/"), "{told}");
        assert!(!told.contains("/2020"), "{told}");
    }
    floor.ctl(&["nuke", "adam", "--force", "--yes"]).exit(1).err_has("  kept refs/shopfloor/trash/adam/");
}

/// Both have looked before one of them is the first.
#[test]
fn of_two_that_adopt_a_worktree_at_once_one_changes_nothing() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let app = &floor.app;
    app.git(&["branch", "other"]);
    app.git(&["worktree", "add", "-q", "-b", "eve", "../eve"]);
    let lock = File::create(floor.root.path.join("locks/worker-eve.lock")).unwrap();
    lock.lock().unwrap();
    let add = |more: &[&str]| {
        let mut command = w.command(w.path("bin/worker-ctl"));
        command.args(["add", "--worktree", "../eve"]).args(more).current_dir(&app.path);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for(|| is_queued(child.id()));
        child
    };
    let both = [
        add(&["--role-prompt", "You are one."]),
        add(&["--role-prompt", "You are two.", "--target", "other", "--land", "commits"]),
    ];
    lock.unlock().unwrap();
    let both = both.map(|child| child.wait_with_output().unwrap());
    let codes = both.each_ref().map(|output| output.status.code());
    // The same command once more is refused, too.
    let told = both.map(|output| String::from_utf8_lossy(&output.stderr).into_owned()).concat();
    assert!(told.contains("the same command with `--target` or `--land` changes where"), "{told}");
    let (target, role, is_whole) = match codes {
        [Some(0), Some(1)] => ("main", "one", true),
        [Some(1), Some(0)] => ("other", "two", true),
        _ => ("", "", false),
    };
    assert!(is_whole, "{codes:?}");
    let config = floor.root.read("config.toml");
    assert!(config.contains(role) && config.matches("You are").count() == 1, "{config}");
    assert_eq!(text(&floor.status("eve"), "/target"), target);
    assert_eq!(floor.root.read("state.json").contains("\"commits\""), role == "two");
}

#[test]
fn a_table_in_the_configuration_creates_a_worker_even_while_up_runs() {
    let w = World::new();
    let floor = Floor::new(&w);
    configure(&floor, "[agents.scripted]\n", "[workers.zoe]\n\n[workers.ida]\n\n[agents.scripted]\n");
    floor.ctl(&["up", "ida"]).succeeds();
    assert!(is_at(&floor, "ida", "idle") && !floor.root.has(".worktrees/zoe"));
    let _up = Staying::new(&floor, &["up"]);
    wait_for(|| is_at(&floor, "zoe", "idle"));
    assert_eq!(text(&floor.status("zoe"), "/branch"), "worker/zoe");
    // A table written meanwhile counts, with all its settings.
    let worker = "\n[workers.noah]\nagent = \"other\"\nrole_prompt = \"You are noah.\"\n";
    let log = agent(&floor, "other", &[], worker);
    wait_for(|| is_at(&floor, "noah", "idle"));
    assert_eq!(text(&floor.status("noah"), "/agent"), "other");
    floor.ctl(&["start", "--worker", "noah", "--prompt", "hello"]).succeeds();
    wait_for(|| prompts(&log).len() == 1);
    assert!(prompts(&log)[0].ends_with("You are noah.\n\nhello"), "{:?}", prompts(&log));
    assert!(floor.root.has(".worktrees/zoe") && floor.root.has(".worktrees/noah"));
}

/// Each program takes servers in another way, and claude from `.mcp.json` only where that is not the project's.
#[test]
fn every_program_in_a_subtree_is_told_of_our_server() {
    let w = World::new();
    which("tmux");
    let app = w.app();
    app.commit(".mcp.json", "{}\n");
    let log = w.home("words");
    let words = "printf '%s|' \"$@\" \"$OPENCODE_CONFIG_CONTENT\"; echo";
    w.program("told", &format!("{{ {words}; }} >> '{}'; printf '> '; exec sleep 600", log.display()));
    let table = |hooks: &str| {
        format!(
            "[worker-ctl.agents.my-{hooks}]\ncommand = [\"told\", \"{{hooks}}\"]\nhooks = \"{hooks}\"\n\
             ready = {{ pattern = \"^>\" }}\n"
        )
    };
    write(&w.home(".config/shopfloor/config.toml"), &["claude", "codex", "opencode"].map(table).concat());
    let told = |program: &str| {
        let path = app.spawn(&["subtree", program]).exit(0).any_err().stdout.trim_end().to_owned();
        let add = ["add", "--worktree", &path, "--agent", &format!("my-{program}")];
        app.run("worker-ctl", &add).exit(0).any_out().any_err();
        app.run("worker-ctl", &["up", program]).exit(0).any_out().any_err();
        std::fs::read_to_string(&log).unwrap().lines().last().unwrap().to_owned()
    };
    let (claude, codex, opencode) = (told("claude"), told("codex"), told("opencode"));
    app.run("worker-ctl", &["down", "--force"]).exit(0).any_out().any_err();
    let server = r#"{"mcpServers":{"shopfloor":{"command":"worktree-spawn","args":["mcp","--as","main.claude"]}}}"#;
    assert!(claude.starts_with(&format!("--mcp-config|{server}|--settings|")), "{claude}");
    for setting in ["command=worktree-spawn", r#"args=["mcp","--as","main.codex"]"#] {
        assert!(codex.contains(&format!("|-c|mcp_servers.shopfloor.{setting}|")), "{codex}");
    }
    let server = r#""mcp":{"shopfloor":{"type":"local","command":["worktree-spawn","mcp","--as","main.opencode"]}}"#;
    assert!(opencode.contains(server), "{opencode}");
}
