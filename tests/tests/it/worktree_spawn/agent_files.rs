//! An agent's files: its task, its settings, its MCP configuration.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::support::spawn::{app, subtree};
use crate::support::world::{World, text, write};

#[test]
fn a_task_is_in_a_file_and_on_no_command_line() {
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
fn existing_settings_are_kept() {
    let w = World::new();
    let app = app(&w);
    app.write(".shopfloor/agents/w/settings.json", "{\n  // mine\n  \"hooks\": { \"Stop\": [{ \"hooks\": [{ \"type\": \"command\", \"command\": \"date\" }] }] },\n  \"model\": \"m\"\n}\n");
    app.spawn(&["worker", "w"]).succeeds();
    let settings = app.read(".shopfloor/agents/w/settings.json");
    for kept in ["// mine", "\"date\"", "\"model\": \"m\"", "hook worker-exit --as root/w", "SubagentStop"] {
        assert!(settings.contains(kept), "{kept}: {settings}");
    }
    app.write(".shopfloor/agents/v/settings.json", "{ \"hooks\": 1 }");
    app.spawn(&["worker", "v"]).exit(2).err_has("settings.json");
    app.spawn(&["path", "root/v"]).exit(1).any_err();
}

#[test]
fn what_was_there_before_a_seat_stays_after_it() {
    let w = World::new();
    let app = app(&w);
    let file = |name: &str| format!(".shopfloor/agents/v/{name}");
    let mine = "{\n  // mine\n  \"model\": \"m\"\n}\n";
    app.write(&file("settings.json"), mine);
    app.write(&file("task.md"), "notes\n");
    let make = || app.spawn(&["worker", "v", "--task", "new"]);
    make().exit(1).err_has("agents/v/task.md is there already").err_has("move it away");
    app.sh("cd .shopfloor/agents/v && rm task.md && ln -s /dev/null task.md").exit(0);
    make().exit(1).err_has("agents/v/task.md is there already");
    assert!(app.read(&file("settings.json")) == mine && !app.has(&file("mcp.json")));
    std::fs::remove_file(app.path.join(file("task.md"))).unwrap();
    make().succeeds();
    assert!(app.read(&file("settings.json")).contains("worker-exit") && app.has(&file("mcp.json")));
    app.spawn(&["remove", "root/v"]).succeeds();
    let left = app.read(&file("settings.json"));
    assert!(left.contains("// mine") && left.contains("\"m\"") && !left.contains("hook"), "{left}");
    assert!(!app.has(&file("mcp.json")) && !app.has(&file("task.md")));
    // A task that was written since is not ours, and nothing else is left.
    app.spawn(&["worker", "u", "--agent", "gemini", "--task", "t"]).succeeds();
    app.write(".shopfloor/agents/u/task.md", "mine\n");
    app.spawn(&["remove", "root/u"]).succeeds().err_has("agents/u stays");
    assert_eq!(app.sh("cat .shopfloor/agents/u/*").exit(0).stdout, "mine\n");
    make().succeeds();
    app.spawn(&["remove", "root/v"]).succeeds();
}

#[test]
fn nothing_of_the_last_seat_stays() {
    let w = World::new();
    let app = app(&w);
    for seat in ["v", "u"] {
        app.spawn(&["worker", seat, "--task", "t"]).succeeds();
    }
    app.spawn(&["remove", "root/v"]).succeeds();
    assert!(app.excludes().contains(&"/.shopfloor/*".to_owned()) && app.has(".shopfloor/agents/u/task.md"));
    app.spawn(&["remove", "root/u"]).succeeds();
    assert!(app.excludes().is_empty() && !app.has(".shopfloor/agents"), "{:?}", app.excludes());
    assert_eq!(app.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_tracked_mcp_configuration_is_not_changed() {
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
    app.spawn(&["subtree", "y"]).succeeds().err_has(".mcp.json is not tracked");
    assert!(app.excludes().contains(&"/.mcp.json".to_owned()));
    for id in ["main.plain", "main.x", "main.y"] {
        app.spawn(&["remove", id]).succeeds();
    }
    assert!(!app.excludes().contains(&"/.mcp.json".to_owned()));
}

/// The entry that names our server is one agent's.
#[test]
fn an_mcp_configuration_that_worktrees_share_names_each_agent_in_its_own_worktree() {
    let w = World::new();
    let app = app(&w);
    app.commit(".gitignore", ".mcp.json\n");
    app.write(".mcp.json", "{\"mcpServers\":{\"mine\":{\"command\":\"x\"}}}\n");
    app.overlay(&["add", ".mcp.json"]).succeeds();
    app.overlay(&["attach", "."]).succeeds();
    app.overlay(&["hook", "install"]).succeeds();
    let [a, b] = ["a", "b"].map(|name| subtree(&app, &[name]));
    let assert_own = |server: &str| {
        for (at, id) in [(&a, "\"main.a\""), (&b, "\"main.b\"")] {
            let text = at.read(".mcp.json");
            assert!(text.contains(server) && text.contains(id), "{text}");
        }
        let main = app.read(".mcp.json");
        assert!(main.contains(server) && !main.contains("shopfloor"), "{main}");
    };
    app.overlay(&["sync"]).succeeds();
    assert_own("\"mine\"");
    // What a person accepts takes no identity along.
    a.write(".mcp.json", &a.read(".mcp.json").replace("\"mine\"", "\"theirs\":{\"command\":\"y\"},\"mine\""));
    app.overlay(&["sync"]).exit(1).any_out().err_has("a part of .mcp.json is held");
    let waiting = app.overlay(&["conflicts", "--json"]).exit(0).json();
    app.overlay(&["accept", text(&waiting, "/id")]).succeeds();
    assert_own("\"theirs\"");
}

/// gemini takes settings from a worktree only in a folder that a person trusts, and then from no file that a variable names.
#[test]
fn gemini_finds_its_settings_in_a_trusted_folder() {
    let w = World::new();
    let app = app(&w);
    let trusted = serde_json::json!({ app.path.to_str().unwrap(): "TRUST_FOLDER" });
    write(&w.home(".gemini/trustedFolders.json"), &trusted.to_string());
    let x = subtree(&app, &["x", "--task", "t", "--agent", "gemini"]);
    let settings: serde_json::Value = serde_json::from_str(&x.read(".gemini/settings.json")).unwrap();
    assert!(text(&settings, "/hooks/AfterAgent/0/hooks/0/command").contains("hook worker-exit --as main.x"));
    assert_eq!(settings["mcpServers"]["shopfloor"]["args"], serde_json::json!(["mcp", "--as", "main.x"]));
    assert_eq!(settings["mcpServers"]["shopfloor"]["trust"], true);
    assert_eq!(x.git(&["status", "--porcelain"]), "");
    let show = "eval \"$(worktree-spawn env main.x)\"; echo \"[$GEMINI_CLI_SYSTEM_SETTINGS_PATH]\"";
    assert_eq!(app.sh(show).exit(0).stdout, "[]\n");
    // One that is checked in is the project's.
    app.write(".gemini/settings.json", "{}\n");
    app.git(&["add", ".gemini"]);
    app.git(&["commit", "-q", "-m", "settings"]);
    let made = app.spawn(&["subtree", "y", "--agent", "gemini"]).exit(0);
    let y = w.at(made.stdout.trim_end());
    let is_root = y.path.join(".shopfloor/settings.json").metadata().unwrap().uid() == 0;
    assert_eq!(made.stderr.contains("`git rm --cached .gemini/settings.json`"), !is_root, "{made}");
    assert_eq!((y.read(".gemini/settings.json"), y.git(&["status", "--porcelain"])), ("{}\n".into(), String::new()));
    assert!(y.read(".shopfloor/settings.json").contains("main.y"));
    for id in ["main.x", "main.y"] {
        app.spawn(&["remove", id]).succeeds();
    }
}

/// aider writes its history into the directory in which it works.
#[test]
fn what_a_program_leaves_in_its_worktree_is_no_change() {
    let w = World::new();
    let app = app(&w);
    let a = subtree(&app, &["a", "--agent", "aider"]);
    subtree(&app, &["b", "--agent", "aider"]);
    app.spawn(&["worker", "w", "--agent", "aider"]).succeeds();
    app.sh("rm .git/info/exclude").exit(0);
    app.spawn(&["repair"]).exit(0).any_out().any_err();
    assert_eq!(app.excludes().iter().filter(|line| *line == ".aider*").count(), 1);
    for at in [&app, &a] {
        at.write(".aider.chat.history.md", "");
        assert_eq!(at.git(&["status", "--porcelain"]), "");
    }
    for id in ["main.a", "main.b", "root/w"] {
        app.spawn(&["remove", id]).succeeds();
    }
    // A seat's file is still there.
    assert_eq!(app.git(&["status", "--porcelain"]), "");
}

#[test]
fn an_agent_does_not_inherit_the_files_of_another() {
    let w = World::new();
    let app = app(&w);
    let x = subtree(&app, &["x", "--task", "t", "--agent", "gemini"]);
    assert!(x.read(".shopfloor/settings.json").contains("AfterAgent"));
    subtree(&app, &["y"]);
    let show = "eval \"$(worktree-spawn env main.x)\"; eval \"$(worktree-spawn env main.y)\"; echo \"[$SHOPFLOOR_TASK_FILE$GEMINI_CLI_SYSTEM_SETTINGS_PATH]\"";
    assert_eq!(app.sh(show).exit(0).stdout, "[]\n");
}
