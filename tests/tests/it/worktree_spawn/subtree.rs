//! worktree-spawn: subtrees, workers, identity, names, depth, `run` and the files an agent finds.

use crate::support::spawn::{app, subtree};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Stdio;

use crate::support::world::{Repo, World, mode, text, write};

#[test]
fn case_1_a_subtree_has_its_own_branch_and_dirties_nobody() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["Feature A"]);
    assert_eq!(child.path, app.path.join(".shopfloor/worktrees/feature-a"));
    assert_eq!(child.git(&["branch", "--show-current"]), "main.feature-a\n");
    assert_eq!(child.read("src/main.rs"), "fn main() {}\n");
    assert_eq!(app.git(&["status", "--porcelain"]) + &child.git(&["status", "--porcelain"]), "");
    app.git(&["add", "-A"]);
    app.run("git", &["diff", "--cached", "--quiet"]).exit(0);
    // The configuration can be checked in all the same.
    app.write(".shopfloor/config.toml", "[worktree-spawn]\nmax_depth = 2\n");
    assert_eq!(app.git(&["status", "--porcelain"]), "?? .shopfloor/\n");
    app.git(&["add", "-A"]);
    assert_eq!(app.git(&["diff", "--cached", "--name-only"]), ".shopfloor/config.toml\n");
}

#[test]
fn the_record_says_who_it_is_and_outlives_everything_but_the_worktree() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["Feature A", "--role", "lead"]);
    let who = |args: &[&str]| child.spawn(&[&["whoami", "--json"], args].concat()).exit(0).json();
    let before = who(&[]);
    assert_eq!(
        before,
        serde_json::json!({
            "v": 1, "id": "main.feature-a", "kind": "subtree", "session": "main.feature-a", "parent": "root",
            "birth_branch": "main.feature-a", "level": 2, "path": child.path,
        })
    );
    assert_eq!(child.read(".shopfloor/config.local.toml"), "role = \"lead\"\n");
    child.git(&["switch", "-q", "-c", "other"]);
    child.git(&["branch", "-m", "other", "renamed"]);
    child.git(&["clean", "-qffdx"]);
    assert_eq!(who(&[]), before);
    let row = app.spawn(&["list", "--json", "--kind", "subtree"]).exit(0).json();
    assert_eq!((text(&row, "/branch"), text(&row, "/birth_branch")), ("renamed", "main.feature-a"));
    assert_eq!(row["drift"], true);
    child.git(&["switch", "-q", "--detach"]);
    assert_eq!(who(&[]), before);
    app.git(&["worktree", "move", child.path.to_str().unwrap(), app.path.with_file_name("moved").to_str().unwrap()]);
    let moved = w.at(app.path.with_file_name("moved"));
    assert_eq!(text(&moved.spawn(&["whoami", "--json"]).exit(0).json(), "/id"), "main.feature-a");
    let record = app.path.join(".git/worktrees/feature-a/shopfloor/worktree-spawn/identity.json");
    assert_eq!(mode(&record), 0o600);
    let record: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(record).unwrap()).unwrap();
    assert_eq!((text(&record, "/requested"), text(&record, "/role")), ("Feature A", "lead"));
    assert_eq!(record["parents"], serde_json::json!(["root"]));
    assert_eq!(text(&record, "/base_sha"), app.git(&["rev-parse", "HEAD"]).trim());
}

#[test]
fn case_3_depth_is_capped_and_workers_are_not() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["x"]);
    let before = app.git(&["branch", "--list"]);
    child.spawn(&["subtree", "y"]).exit(1).err_has("max_depth");
    assert_eq!(app.git(&["branch", "--list"]), before);
    assert!(!child.has(".shopfloor/worktrees"));
    assert_eq!(child.spawn(&["worker", "y"]).exit(0).stdout, "main.x/y\n");
    let error = child.spawn(&["subtree", "y", "--json"]).exit(1).json();
    assert_eq!(text(&error, "/error/kind"), "depth");
    write(&app.path.join(".shopfloor/config.toml"), "[worktree-spawn]\nmax_depth = 3\n");
    let deeper = subtree(&child, &["y"]);
    assert_eq!(deeper.path, child.path.join(".shopfloor/worktrees/y"));
    let who = deeper.spawn(&["whoami", "--json"]).exit(0).json();
    assert_eq!((text(&who, "/id"), text(&who, "/parent"), who["level"].as_u64()), ("main.x.y", "main.x", Some(3)));
    deeper.spawn(&["subtree", "z"]).exit(1).err_has("level 3");
    assert_eq!(child.git(&["status", "--porcelain"]), "");
}

#[test]
fn case_4_names() {
    let w = World::new();
    let app = app(&w);
    app.git(&["switch", "-q", "-c", "feature/x"]);
    assert_eq!(subtree(&app, &["y"]).git(&["branch", "--show-current"]), "feature/x.y\n");
    app.git(&["switch", "-q", "--detach"]);
    app.spawn(&["subtree", "z"]).exit(2).err_has("--base-name");
    assert_eq!(subtree(&app, &["z", "--base-name", "v1"]).git(&["branch", "--show-current"]), "v1.z\n");
    app.git(&["switch", "-q", "main"]);
    for bad in ["!!!", "", "..", "日本"] {
        app.spawn(&["subtree", bad]).exit(2).err_has("no letter or digit");
    }
    assert_eq!(subtree(&app, &["../../etc"]).path, app.path.join(".shopfloor/worktrees/etc"));
    subtree(&app, &["feature/auth"]);
    app.spawn(&["subtree", "feature/auth"]).exit(1).err_has("--if-exists return");
    app.spawn(&["subtree", "feature-auth"]).exit(1).err_has("`feature-auth` and `feature/auth`");
    let second = subtree(&app, &["feature-auth", "--unique"]);
    assert_eq!(second.git(&["branch", "--show-current"]), "main.feature-auth-2\n");
    subtree(&app, &["café"]);
    app.spawn(&["subtree", "cafe\u{301}"]).exit(1).err_has("main.cafe");
    let long = format!("b{}", "/long".repeat(48));
    app.git(&["switch", "-q", "-c", &long]);
    app.spawn(&["subtree", "much-too-long"]).exit(2).err_has("255 bytes");
}

#[test]
fn an_unborn_branch_and_an_unknown_start_are_bad_input() {
    let w = World::new();
    std::fs::create_dir_all(w.home("new")).unwrap();
    let new = w.at(w.home("new"));
    new.git(&["init", "-q", "-b", "main"]);
    new.spawn(&["subtree", "x"]).exit(2).err_has("no commit yet");
    let app = app(&w);
    app.spawn(&["subtree", "x", "--from", "nowhere"]).exit(2).err_has("`nowhere`");
    app.spawn(&["subtree", "x", "--from=--all"]).exit(2).err_has("no commit is called");
    assert!(!app.has(".shopfloor/worktrees"));
    w.at(w.home("")).spawn(&["list"]).exit(2).err_has("no usable git repository");
}

#[test]
fn what_exists_is_never_overwritten() {
    let w = World::new();
    let app = app(&w);
    app.write(".shopfloor/worktrees/x/mine", "work");
    app.spawn(&["subtree", "x"]).exit(1).err_has("is there already");
    assert_eq!(app.read(".shopfloor/worktrees/x/mine"), "work");
    app.git(&["branch", "main.y"]);
    let error = app.spawn(&["subtree", "y", "--json"]).exit(1).json();
    assert_eq!(text(&error, "/error/kind"), "exists");
    assert_eq!(app.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
    app.commit("later", "1");
    let reused = app.spawn(&["subtree", "y", "--reuse-branch", "--json"]).exit(0).json();
    assert_eq!(text(&reused, "/base_sha"), app.git(&["rev-parse", "main~1"]).trim());
    assert!(!w.at(text(&reused, "/path")).has("later"));
    // An empty directory is as good as none.
    std::fs::create_dir_all(app.path.join(".shopfloor/worktrees/empty")).unwrap();
    subtree(&app, &["empty"]);
    // Given back as it is.
    let first = subtree(&app, &["again"]);
    first.write("mine", "work");
    let again = app.spawn(&["subtree", "again", "--if-exists", "return", "--json"]).exit(0).json();
    assert_eq!((text(&again, "/path"), again["created"].as_bool()), (first.path.to_str().unwrap(), Some(false)));
    assert_eq!(first.read("mine"), "work");
    app.spawn(&["subtree", "Again", "--if-exists", "return"]).exit(1).err_has("`Again` and `again`");
}

#[test]
fn a_dry_run_makes_nothing() {
    let w = World::new();
    let app = app(&w);
    let before = app.snapshot();
    let out = app.spawn(&["subtree", "x", "--dry-run"]).exit(0);
    assert_eq!(out.stdout, format!("{}\n", app.path.join(".shopfloor/worktrees/x").display()));
    app.spawn(&["worker", "x", "-n"]).exit(0).err_has("would seat root/x");
    app.assert_untouched_since(&before);
    app.spawn(&["subtree", "x", "--require-clean", "-q"]).exit(0);
    app.write("README.md", "changed\n");
    app.spawn(&["subtree", "y", "--require-clean"]).exit(1).err_has("uncommitted changes");
}

#[test]
fn a_base_may_lie_anywhere_and_changing_it_loses_nobody() {
    let w = World::new();
    let app = app(&w);
    let old = subtree(&app, &["old"]);
    let outside = w.home("wt");
    write(
        &w.home(".config/shopfloor/config.toml"),
        &format!("[worktree-spawn]\nworktree_base = {outside:?}\nmax_depth = 3\n"),
    );
    let child = subtree(&app, &["new"]);
    assert_eq!(child.path, outside.join("new"));
    assert_eq!(subtree(&child, &["deep"]).path, outside.join("new.deep"));
    let ids = app.spawn(&["list", "--json"]).exit(0).json_lines();
    let ids: BTreeSet<&str> = ids.iter().map(|row| text(row, "/id")).collect();
    assert_eq!(ids, ["root", "main.old", "main.new", "main.new.deep"].into());
    assert_eq!(app.spawn(&["path", "old"]).exit(0).stdout, format!("{}\n", old.path.display()));
    // One inside the worktree, beside ours, is hidden too.
    assert_eq!(subtree(&app, &["in", "--base-dir", "trees"]).path, app.path.join("trees/in"));
    assert_eq!(app.git(&["status", "--porcelain"]), "");
    // The repository's own file leads nobody out before it is approved.
    std::fs::remove_file(w.home(".config/shopfloor/config.toml")).unwrap();
    app.write(".shopfloor/config.toml", "[worktree-spawn]\nworktree_base = \"../escape\"\n");
    let out = app.spawn(&["subtree", "kept"]).exit(0);
    assert_eq!(out.err_has("approval").stdout, format!("{}\n", app.path.join(".shopfloor/worktrees/kept").display()));
    app.apply(&["approve", "--yes"]).exit(0);
    assert_eq!(subtree(&app, &["led"]).path, app.path.parent().unwrap().join("escape/led"));
    // A base that is a link, as a branch could have it, is not followed.
    app.git(&["switch", "-q", "-c", "evil"]);
    app.sh("ln -s /tmp trap").exit(0);
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nworktree_base = \"trap/wt\"\n");
    app.write(".shopfloor/config.toml", "");
    app.spawn(&["subtree", "x"]).exit(2).err_has("trap is no directory");
}

#[test]
fn case_7_a_task_is_in_a_file_and_on_no_command_line() {
    let w = World::new();
    let app = app(&w);
    let task = "it's \"$(touch /tmp/oops)\" `x` \\\n".repeat(1 << 15);
    write(&w.home("task.md"), &task);
    let json = app.spawn(&["subtree", "x", "--task-file", "../../../task.md", "--json"]).exit(0).json();
    let file = PathBuf::from(text(&json, "/task_file"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), task);
    let child = w.at(text(&json, "/path"));
    let args = app.spawn(&[
        "run",
        "main.x",
        "--",
        "sh",
        "-c",
        "cat /proc/$PPID/cmdline /proc/$$/cmdline; echo $SHOPFLOOR_TASK_FILE",
    ]);
    let args = args.exit(0).stdout;
    assert!(args.ends_with(&format!("{}\n", file.display())) && !args.contains("oops"), "{args}");
    assert_eq!(child.git(&["status", "--porcelain"]), "");
    let piped = app.sh("printf 'from stdin' | worktree-spawn subtree y --task-file -").exit(0).stdout;
    assert_eq!(w.at(piped.trim_end()).read(".shopfloor/task.md"), "from stdin");
    app.spawn(&["subtree", "z", "--task-file", "nowhere"]).exit(2).err_has("no task file");
    app.spawn(&["subtree", "z", "--task", "a", "--task-file", "b"]).exit(2).any_err();
}

#[test]
fn case_8_workers_sit_in_their_parents_worktree() {
    let w = World::new();
    let app = app(&w);
    let (a, b) = (subtree(&app, &["a"]), subtree(&app, &["b"]));
    let json = a.spawn(&["worker", "rust-impl", "--agent", "gemini", "--task", "do it", "--json"]).exit(0).json();
    let settings = a.path.join(".shopfloor/agents/rust-impl/settings.json");
    assert_eq!((text(&json, "/config"), text(&json, "/path")), (settings.to_str().unwrap(), a.path.to_str().unwrap()));
    assert_eq!((text(&json, "/id"), text(&json, "/birth_branch")), ("main.a/rust-impl", "main.a"));
    let settings: serde_json::Value =
        serde_json::from_str(&a.read(".shopfloor/agents/rust-impl/settings.json")).unwrap();
    assert!(text(&settings, "/hooks/AfterAgent/0/hooks/0/command").ends_with("hook worker-exit --as main.a/rust-impl"));
    assert_eq!(settings["mcpServers"]["shopfloor"]["args"], serde_json::json!(["mcp", "--as", "main.a/rust-impl"]));
    for child in [&a, &b] {
        child.spawn(&["worker", "x"]).exit(0);
        child.spawn(&["worker", "x"]).exit(1).err_has("is there already");
    }
    // Two workers of one slug, each in its own place.
    app.spawn(&["path", "x"]).exit(1).err_has("main.a/x and main.b/x");
    for (child, id) in [(&a, "main.a/x"), (&b, "main.b/x")] {
        let run = ["run", id, "--", "worktree-spawn", "notify", "success", "done"];
        child.spawn(&run).exit(0);
        let event = child.spawn(&["wait", "--timeout", "10s"]).exit(0).json();
        assert_eq!((text(&event, "/from/id"), text(&event, "/type")), (id, "worker_complete"));
    }
    assert_eq!(a.git(&["status", "--porcelain"]), "");
    // Nobody runs as another worktree's agent by accident.
    let as_a = [("SHOPFLOOR_AGENT_ID", "main.a")];
    b.run_with("worktree-spawn", &["whoami"], &as_a).exit(2).err_has("main.b");
    b.run_with("worktree-spawn", &["whoami", "--as", "main.b/x"], &as_a).exit(0).out_has("main.b/x");
    assert_eq!(
        a.run_with("worktree-spawn", &["whoami"], &[("SHOPFLOOR_AGENT_ID", "main.a/x")]).exit(0).stdout,
        "main.a/x\n"
    );
    app.spawn(&["whoami", "--as", "nobody"]).exit(1).err_has("no agent `nobody`");
    // Whoever a worker asks for sits beside it.
    let beside = a.run_with("worktree-spawn", &["worker", "helper"], &[("SHOPFLOOR_AGENT_ID", "main.a/x")]).exit(0);
    assert_eq!(beside.stdout, "main.a/helper\n");
    a.run_with("worktree-spawn", &["subtree", "s"], &[("SHOPFLOOR_AGENT_ID", "main.a/x")]).exit(1).err_has("level 3");
}

#[test]
fn settings_that_are_there_are_kept() {
    let w = World::new();
    let app = app(&w);
    app.write(".shopfloor/agents/w/settings.json", "{\n  // mine\n  \"hooks\": { \"Stop\": [{ \"hooks\": [{ \"type\": \"command\", \"command\": \"date\" }] }] },\n  \"model\": \"m\"\n}\n");
    app.spawn(&["worker", "w"]).exit(0);
    let settings = app.read(".shopfloor/agents/w/settings.json");
    for kept in ["// mine", "\"date\"", "\"model\": \"m\"", "hook worker-exit --as root/w", "SubagentStop"] {
        assert!(settings.contains(kept), "{kept}: {settings}");
    }
    app.write(".shopfloor/agents/v/settings.json", "{ \"hooks\": 1 }");
    app.spawn(&["worker", "v"]).exit(2).err_has("settings.json");
    app.spawn(&["path", "root/v"]).exit(1).any_err();
}

#[test]
fn a_tracked_mcp_configuration_is_not_touched() {
    let w = World::new();
    let app = app(&w);
    let plain = app.spawn(&["subtree", "plain", "--json"]).exit(0).json();
    assert!(text(&plain, "/mcp_config").ends_with("plain/.mcp.json"));
    app.write(".gitignore", "");
    app.commit(".mcp.json", "{ \"mcpServers\": {} }\n");
    let json = app.spawn(&["subtree", "x", "--json"]).exit(0).json();
    let child = w.at(text(&json, "/path"));
    assert_eq!(text(&json, "/mcp_config"), child.path.join(".shopfloor/mcp.json").to_str().unwrap());
    assert_eq!(child.read(".mcp.json"), "{ \"mcpServers\": {} }\n");
    assert_eq!(child.git(&["status", "--porcelain"]), "");
    app.git(&["rm", "-q", "--cached", ".mcp.json"]);
    app.git(&["commit", "-q", "-m", "untracked"]);
    app.spawn(&["subtree", "y"]).exit(0).err_has(".mcp.json is not tracked");
    assert!(app.excludes().contains(&"/.mcp.json".to_owned()));
    for id in ["main.plain", "main.x", "main.y"] {
        app.spawn(&["remove", id]).exit(0);
    }
    assert!(!app.excludes().contains(&"/.mcp.json".to_owned()));
}

#[test]
fn case_9_run_tells_how_it_ended() {
    let w = World::new();
    let app = app(&w);
    app.spawn(&["worker", "w"]).exit(0);
    let out = app.spawn(&["run", "root/w", "--", "sh", "-c", "echo out; echo err >&2; exit 3"]).exit(3);
    assert_eq!((out.stdout.as_str(), out.stderr.as_str()), ("out\n", "err\n"));
    let event = app.spawn(&["wait", "--timeout", "10s"]).exit(0).json();
    assert_eq!(
        (text(&event, "/type"), text(&event, "/status"), text(&event, "/message")),
        ("worker_complete", "failure", "exit 3")
    );
    assert_eq!((event["exit"].as_i64(), text(&event, "/head")), (Some(3), app.git(&["rev-parse", "HEAD"]).trim()));
    app.spawn(&["run", "root/w", "--", "sh", "-c", "kill -9 $$"]).exit(137);
    let event = app.spawn(&["wait", "--timeout", "10s"]).exit(0).json();
    assert_eq!((text(&event, "/message"), event["signal"].as_i64()), ("signal 9", Some(9)));
    let row = app.spawn(&["list", "--json", "--kind", "worker"]).exit(0).json();
    assert_eq!((text(&row, "/state"), row["exit"].to_string().as_str()), ("exited", "{\"signal\":9}"));
    // Who told how it went has only exited afterwards.
    app.spawn(&["run", "root/w", "--", "worktree-spawn", "notify", "success", "all done"]).exit(0);
    let types = app.spawn(&["wait", "--count", "2", "--timeout", "10s"]).exit(0).json_lines();
    let types: Vec<_> = types.iter().map(|event| (text(event, "/type"), text(event, "/status"))).collect();
    assert_eq!(types, [("worker_complete", "success"), ("worker_exited", "success")]);
    app.spawn(&["run", "root/w", "--", "no-such-program"]).exit(4).err_has("not on the PATH");
    let event = app.spawn(&["wait", "--timeout", "10s"]).exit(0).json();
    assert_eq!((text(&event, "/type"), text(&event, "/message")), ("worker_complete", "exit 127"));
    app.spawn(&["run", "nobody", "--", "true"]).exit(1).any_err();
    app.spawn(&["run", "root/w", "--dry-run", "--", "rm", "-rf", "a b"])
        .exit(0)
        .out_has("would run rm -rf 'a b' as root/w");
    assert_eq!(app.spawn(&["events"]).exit(0).stdout, "");
}

#[test]
fn a_launched_agent_finds_itself() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["a b"]);
    child.spawn(&["worker", "g", "--agent", "gemini", "--task", "t"]).exit(0);
    let show = "env | grep -E '^(SHOPFLOOR|GEMINI|GIT_DIR)' | grep -v ^SHOPFLOOR_RECORD= | sort; pwd";
    let vars = [("GIT_DIR", "/nowhere"), ("SHOPFLOOR_TASK_FILE", "/other")];
    let shown = child.run_with("worktree-spawn", &["-C", ".", "run", "main.a-b/g", "--", "sh", "-c", show], &vars);
    let dir = child.path.join(".shopfloor/agents/g");
    let git = app.path.join(".git");
    let (dir, path, git) = (dir.display(), child.path.display(), git.display());
    assert_eq!(
        shown.exit(0).stdout,
        format!(
            "GEMINI_CLI_SYSTEM_SETTINGS_PATH={dir}/settings.json\nSHOPFLOOR_AGENT_ID=main.a-b/g\nSHOPFLOOR_PARENT=main.a-b\n\
             SHOPFLOOR_REPOSITORY={git}\nSHOPFLOOR_ROLE=worker\nSHOPFLOOR_SESSION_ID=main.a-b/g\nSHOPFLOOR_TASK_FILE={dir}/task.md\n{path}\n"
        )
    );
    let by_eval = child.sh(&format!("eval \"$(worktree-spawn env g)\"; {show}")).exit(0);
    assert_eq!(by_eval.stdout, shown_again(&child, show));
    let json = app.spawn(&["env", "main.a-b", "--json"]).exit(0).json();
    assert_eq!((text(&json, "/env/SHOPFLOOR_PARENT"), text(&json, "/env/SHOPFLOOR_ROLE")), ("root", "tl"));
}

fn shown_again(child: &Repo<'_>, show: &str) -> String {
    child.spawn(&["run", "main.a-b/g", "--", "sh", "-c", show]).exit(0).stdout.into()
}

#[test]
fn launchers_get_words_and_the_repository_s_own_needs_approval() {
    let w = World::new();
    let app = app(&w);
    w.program("claude", "echo \"$@\" > \"$SHOPFLOOR_AGENT_ID.args\"; pwd >> \"$SHOPFLOOR_AGENT_ID.args\"");
    w.program("zellij", "for a in \"$@\"; do echo \"$a\"; done > \"$HOME/argv\"");
    let child = subtree(&app, &["It's $HOME", "--task", "t", "--launcher", "zellij"]);
    let argv = std::fs::read_to_string(w.home("argv")).unwrap();
    let argv: Vec<&str> = argv.lines().collect();
    assert_eq!(argv[..5], ["run", "--name", "it-s-home", "--cwd", child.path.to_str().unwrap()]);
    assert_eq!(argv[5..8], ["--", "sh", "-c"]);
    assert!(argv[8].contains("worktree-spawn run main.it-s-home -- sh -c '"), "{argv:?}");
    // What zellij would do with it.
    w.at(w.home("")).run("sh", &["-c", &format!("cd '{}' && {}", child.path.display(), argv[8])]).exit(0);
    assert!(child.read("main.it-s-home.args").contains("task.md: read it"), "{}", child.read("main.it-s-home.args"));
    let none = app.spawn(&["worker", "w", "--launch"]).exit(0);
    none.err_has("worktree-spawn run root/w -- ");
    app.spawn(&["worker", "v", "--launcher", "exit 7"]).exit(4).any_out().err_has("exit status 7");
    let json = app.spawn(&["worker", "u", "--launcher", "exit 7", "--json"]).exit(4).json();
    assert_eq!((text(&json, "/id"), text(&json, "/error/kind")), ("root/u", "failed"));
    app.spawn(&["worker", "t", "--agent", "nobody", "--launch"]).exit(2).err_has("worktree-spawn.agents.nobody");
    app.spawn(&["path", "root/t"]).exit(1).any_err();

    app.write(
        ".shopfloor/config.toml",
        "[worktree-spawn]\nlauncher = \"touch $HOME/{slug}\"\n[worktree-spawn.agents.mine]\ncommand = [\"true\"]\n",
    );
    app.spawn(&["worker", "s1", "--launch"]).exit(0).err_has("approval");
    assert!(!w.home("s1").exists());
    app.spawn(&["worker", "s2", "--launch", "--agent", "mine"]).exit(2).any_err();
    app.apply(&["approve", "--yes"]).exit(0);
    app.spawn(&["worker", "s3", "--launch", "--agent", "mine"]).exit(0);
    assert!(w.home("s3").exists());
}

#[test]
fn a_real_tmux_shows_the_agent() {
    let mut w = World::new();
    crate::support::world::which("tmux");
    let socket = w.path("tmp").join("tmux.sock");
    w.set("TMUX", format!("{},1,0", socket.display()));
    w.program("claude", "worktree-spawn notify success \"hello from $(pwd)\"; exec sleep 600");
    let app = app(&w);
    let tmux = |args: &[&str]| {
        let args = [&["-S", socket.to_str().unwrap(), "-f", "/dev/null"], args].concat();
        app.run("tmux", &args)
    };
    tmux(&["new-session", "-d", "-s", "s", "sleep", "600"]).exit(0);
    let child = subtree(&app, &["Feature A", "--task", "t", "--launcher", "tmux"]);
    let event = app.spawn(&["wait", "--timeout", "60s"]).exit(0).json();
    assert_eq!(text(&event, "/message"), format!("hello from {}", child.path.display()));
    tmux(&["list-windows", "-F", "#{window_name}"]).exit(0).out_has("feature-a");
    assert_eq!(text(&app.spawn(&["list", "--live", "--json"]).exit(0).json(), "/id"), "main.feature-a");
    tmux(&["kill-server"]).exit(0);
    // Whatever tmux did to it: its end, seen or not, is told.
    let end = app.spawn(&["wait", "--timeout", "60s"]).exit(0).json();
    assert!(["worker_exited", "worker_died"].contains(&text(&end, "/type")), "{end}");
}

#[test]
fn worktrees_made_by_hand_are_roots_of_their_own() {
    let w = World::new();
    let app = app(&w);
    app.git(&["worktree", "add", "-q", ".shopfloor/worktrees/by-hand", "-b", "topic"]);
    let hand = w.at(app.path.join(".shopfloor/worktrees/by-hand"));
    let row = app.spawn(&["list", "--json"]).exit(0).json_lines().remove(1);
    assert_eq!((text(&row, "/kind"), text(&row, "/id"), row["managed"].as_bool()), ("root", "topic", Some(false)));
    let who = hand.spawn(&["whoami", "--json"]).exit(0).json();
    assert_eq!((text(&who, "/id"), text(&who, "/session"), who["level"].as_u64()), ("topic", "topic", Some(1)));
    hand.git(&["switch", "-q", "-c", "elsewhere"]);
    assert_eq!(hand.spawn(&["whoami"]).exit(0).stdout, "topic\n");
    let child = subtree(&hand, &["x"]);
    assert_eq!(child.git(&["branch", "--show-current"]), "topic.x\n");
    child.spawn(&["notify", "info", "hello"]).exit(0);
    assert_eq!(text(&hand.spawn(&["wait", "--timeout", "10s"]).exit(0).json(), "/to"), "topic");
    hand.spawn(&["notify", "info", "hello"]).exit(1).err_has("no parent");
    // What is inside is said before a hint that would destroy it.
    app.spawn(&["remove", "topic"]).exit(1).err_has("topic.x at");
    app.spawn(&["remove", "topic.x"]).exit(0);
    app.spawn(&["remove", "topic"]).exit(1).err_has("git worktree remove");
}

#[test]
fn case_12_a_list_shows_what_it_can() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["good"]);
    let bad = subtree(&app, &["bad"]);
    bad.spawn(&["worker", "w"]).exit(0);
    write(&app.path.join(".git/worktrees/bad/shopfloor/worktree-spawn/identity.json"), "{\"v\":1,");
    let rows = app.spawn(&["list", "--json"]).exit(0).json_lines();
    let errors: Vec<_> = rows.iter().filter(|row| !row["error"].is_null()).collect();
    assert_eq!((rows.len(), errors.len()), (4, 1));
    assert!(text(errors[0], "/error").contains("identity.json"));
    app.spawn(&["list", "--tree"]).exit(0).out_has("main.good");
    bad.spawn(&["whoami"]).exit(2).err_has("identity.json");
    // Filters, and paths for other tools.
    let ids = |args: &[&str]| -> Vec<String> {
        let rows = app.spawn(&[&["list", "--json"], args].concat()).exit(0).json_lines();
        rows.iter().map(|row| text(row, "/id").to_owned()).collect()
    };
    assert_eq!(ids(&["--kind", "worker"]), ["main.bad/w"]);
    assert_eq!(ids(&["--under", "good"]), ["main.good"]);
    assert_eq!(ids(&["--live"]), [""; 0]);
    app.spawn(&["run", "main.good", "--", "true"]).exit(0);
    assert_eq!(ids(&["--dead"]), ["main.good"]);
    app.write(".shopfloor/worktrees/good/new", "x");
    let rows = app.spawn(&["list", "--status", "--under", "good", "--json"]).exit(0).json();
    assert_eq!(rows["dirty"], true);
    let paths = app.spawn(&["list", "-z", "--kind", "subtree"]).exit(0).stdout;
    assert_eq!(paths, format!("{}/.shopfloor/worktrees/good\0", app.path.display()));
    app.spawn(&["list", "--json", "--probe", "test {slug} = good", "--kind", "subtree"]).exit(0);
    let probed = app.spawn(&["list", "--json", "--probe", "test {id} = main.bad/w", "--kind", "worker"]).exit(0).json();
    assert_eq!(text(&probed, "/state"), "live");
}

#[test]
fn twenty_ask_for_one_name_and_forty_for_their_own() {
    let w = World::new();
    let app = app(&w);
    app.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    app.git(&["remote", "add", "origin", "/nowhere"]);
    let config = app.read(".git/config");
    let start = |args: &[&str]| {
        let mut command = w.command(w.path("bin/worktree-spawn"));
        command.args(args).current_dir(&app.path).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let same: Vec<_> = (0..20).map(|_| start(&["subtree", "same"])).collect();
    let codes: Vec<_> = same.into_iter().map(|child| child.wait_with_output().unwrap().status.code()).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
    assert!(codes.iter().all(|code| matches!(code, Some(0 | 1))), "{codes:?}");
    let mine: Vec<_> = (0..40).map(|n| start(&["subtree", &format!("n{n}"), "--from", "origin/main"])).collect();
    for child in mine {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(app.read(".git/config"), config);
    assert_eq!(app.spawn(&["list", "--json"]).exit(0).json_lines().len(), 42);
    assert_eq!(app.git(&["status", "--porcelain"]), "");
    for n in 0..40 {
        let child = w.at(app.path.join(format!(".shopfloor/worktrees/n{n}")));
        assert_eq!(child.git(&["status", "--porcelain"]) + &child.read("README.md"), "app\n");
    }
    // Returned only once the winner is whole.
    let both: Vec<_> = (0..8).map(|_| start(&["subtree", "one", "--if-exists", "return", "--json"])).collect();
    let answers: Vec<serde_json::Value> = both
        .into_iter()
        .map(|child| serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap())
        .collect();
    assert_eq!(answers.iter().filter(|answer| answer["created"] == true).count(), 1);
    assert!(answers.iter().all(|answer| text(answer, "/path") == text(&answers[0], "/path")));
}

#[test]
fn a_command_runs_in_the_subtree_or_not_at_all() {
    let w = World::new();
    let app = app(&w);
    let ran = app
        .spawn(&["subtree", "x", "--task", "t", "--", "sh", "-c", "pwd; echo $SHOPFLOOR_AGENT_ID; exit 3"])
        .exit(3)
        .any_err();
    let path = app.path.join(".shopfloor/worktrees/x");
    assert_eq!(ran.stdout, format!("{}\nmain.x\n", path.display()));
    // Its end is an event, as under `run`.
    assert_eq!(text(&app.spawn(&["wait", "--timeout", "9s"]).exit(0).json(), "/message"), "exit 3");
    // Where the spawn fails nothing runs, here least of all.
    app.spawn(&["subtree", "x", "--", "touch", "ran"]).exit(1).any_err();
    assert!(!app.has("ran") && !path.join("ran").exists());
    app.spawn(&["subtree", "x", "--if-exists", "return", "--", "touch", "ran"]).exit(0);
    assert!(path.join("ran").exists() && !app.has("ran"));
    app.spawn(&["subtree", "y", "-n", "--", "touch", "ran"]).exit(0).err_has("would run");
    assert!(!app.has(".shopfloor/worktrees/y"));
    app.spawn(&["subtree", "y", "--launch", "--", "true"]).exit(2).any_err();
}
