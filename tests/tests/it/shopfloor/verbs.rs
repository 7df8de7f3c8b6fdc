//! The verbs of an agent's life, on every row of the table.

use serde_json::Value;

use crate::support::floor::Floor;
use crate::support::worker::{event, hook, prompts};
use crate::support::world::{Repo, World, built, text, wait_for, which, write};

/// A repository with a worktree of each origin: one of `new`, its child, one that a person made, one where Claude Code puts
/// its own, and one of `new --clone`.
fn origins(w: &World) -> (Floor<'_>, [&'static str; 5]) {
    which("tmux");
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nmax_depth = 3\n");
    let app = w.app();
    app.commit("README.md", "app\n");
    let x = w.at(app.shopfloor(&["new", "x"]).exit(0).any_err().stdout.trim_end());
    let y = x.shopfloor(&["new", "y"]).exit(0).any_err().stdout.trim_end().to_owned();
    assert!(y.ends_with("app.worktrees/x.y"), "{y}");
    app.git(&["worktree", "add", "-q", "-b", "feat", "../feat"]);
    app.git(&["worktree", "add", "-q", "-b", "worktree-fix", ".claude/worktrees/fix"]);
    app.run("worker-ctl", &["init"]).exit(0).any_out().any_err();
    let floor = Floor::of(app, w);
    let app = &floor.app;
    app.shopfloor(&["new", "adam", "--clone", "--agent", "scripted", "-n"]).exit(0).any_err().out_has("would create");
    let adam = app.shopfloor(&["new", "adam", "--clone", "--agent", "scripted"]).exit(0).any_err();
    assert!(adam.stdout.ends_with("/.worktrees/adam\n"), "{adam}");
    (floor, ["y", "x", "feat", "fix", "adam"])
}

/// What the table says of an agent.
fn row(app: &Repo<'_>, name: &str) -> Value {
    let rows = app.shopfloor(&["status", "--json"]).any_status().any_err().json()["worktrees"].clone();
    let is_its = |row: &&Value| row["name"] == name || text(row, "/worktree").ends_with(&format!("/{name}"));
    rows.as_array().unwrap().iter().find(is_its).cloned().unwrap_or_default()
}

#[test]
fn adopt_takes_the_usual_program_and_its_options_anywhere() {
    let w = World::new();
    let floor = Floor::new(&w);
    let app = &floor.app;
    for name in ["one", "two"] {
        app.git(&["worktree", "add", "-q", &format!("../{name}")]);
    }
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nagent = \"scripted\"\n");
    app.shopfloor(&["adopt", "../one"]).exit(0).any_out().any_err();
    app.shopfloor(&["adopt", "--agent", "codex", "two"]).exit(0).any_out().any_err();
    let agent = |name: &str| floor.status(name)["agent"].clone();
    assert_eq!((agent("one"), agent("two")), ("scripted".into(), "codex".into()));
    app.shopfloor(&["adopt", "--agent", "codex"]).exit(2).err_has("the worktree is missing");
    // No agent is called what the main checkout is called.
    app.git(&["worktree", "add", "-q", "-b", "other", "../wts/main"]);
    app.shopfloor(&["adopt", "../wts/main"]).exit(0).any_out().any_err();
    assert_eq!(text(&floor.status("main-2"), "/branch"), "other");
}

#[test]
fn every_row_takes_every_verb() {
    let w = World::new();
    let (floor, names) = origins(&w);
    let app = &floor.app;
    let does = |words: &[&str]| app.shopfloor(words).exit(0).any_err().stdout.clone();
    for name in names {
        if name != "adam" {
            // Before anybody started an agent there.
            let refused = app.shopfloor(&["send", name, "hi"]).exit(1);
            let (why, hint) = match name {
                "x" | "y" => ("no agent was started in", "shopfloor start"),
                _ => ("was not started here", "shopfloor adopt"),
            };
            refused.err_has(why).err_has(hint);
            if name != "x" {
                app.shopfloor(&["land", name]).exit(1).err_has("has nothing that has not landed");
            }
            app.shopfloor(&["-n", "send", name, "hi", "--yes"]).exit(0).any_err().out_has("would make an agent of");
            let path = text(&row(app, name), "/worktree").to_owned();
            does(&["adopt", &path, "--agent", "scripted"]);
        }
        assert_eq!(text(&row(app, name), "/worker"), name);
        // What its child has landed on its branch is there to land.
        if name == "x" {
            does(&["land", name]);
        }
        assert!(does(&["resume", name]).contains(name));
        does(&["start", name, "--task", &format!("COMMIT {name} one First")]);
        does(&["wait", name, "--for", "needs_review"]);
        assert_eq!(text(&row(app, name), "/waits_for"), "review");
        assert!(does(&["peek", name]).contains('>'));
        app.shopfloor(&["rm", name]).exit(1).err_has("has not landed").err_has(&format!("shopfloor land {name}"));
        assert!(does(&["review", name, "--pin"]).contains("+one"));
        app.shopfloor(&["back", name]).exit(2).err_has("to change?");
        does(&["back", name, &format!("COMMIT {name} two Second")]);
        does(&["wait", name, "--for", "needs_review"]);
        does(&["send", name, "well done"]);
        wait_for(|| floor.prompts().last().is_some_and(|last| last == "well done"));
        hook(&floor, name, &event("Notification"));
        app.shopfloor(&["answer", name]).any_status().any_out().any_err();
        hook(&floor, name, &event("Stop"));
        assert!(does(&["review", name, "--json", "--pin"]).contains("+two"));
        assert!(does(&["-n", "land", name]).contains("would put"));
        let before = row(app, name);
        for words in [
            &["go", name][..],
            &["peek", name],
            &["wait", name],
            &["review", name],
            &["send", name, "later"],
            &["back", name, "later"],
            &["land", name],
            &["stop", name, "--force"],
            &["resume", name],
            &["rm", name, "--force"],
        ] {
            for flags in [&["-n"][..], &["-n", "--json"]] {
                let out = app.shopfloor(&[flags, words].concat()).exit(0).any_out().any_err();
                assert!(!out.stderr.contains("shopfloor: shopfloor"), "{out}");
                let is_json = |line: &str| serde_json::from_str::<Value>(line).is_ok_and(|value| value.is_object());
                assert!(!flags.contains(&"--json") || out.stdout.lines().all(is_json), "{words:?}: {out}");
            }
        }
        assert_eq!(row(app, name), before);
        does(&["land", name]);
        does(&["stop", name]);
        assert_eq!((text(&row(app, name), "/alive"), text(&row(app, name), "/task")), ("down", "idle"));
        assert!(does(&["rm", name]).contains("removed"));
        assert!(row(app, name).is_null());
    }
    // What landed on the parent's branch landed with it.
    let landed: String = names.map(|name| app.read(name)).concat();
    assert_eq!(landed, "two\n".repeat(5));
}

#[test]
fn what_is_meant_by_other_words_and_what_is_refused() {
    let w = World::new();
    let (floor, _) = origins(&w);
    let app = &floor.app;
    // The tools' hints name the front door's verbs only.
    for (words, status, said) in [
        (&["rm", "main"][..], 1, "the main checkout, which is never removed"),
        (&["rm", "root"], 1, "never removed"),
        (&["send", "root", "x"], 1, "the main checkout"),
        (&["send", "nobody", "x"], 1, "no worktree called nobody"),
        (&["send"], 2, "the agent is missing"),
        (&["message", "adam", "hi"], 1, "adam is idle"),
        (&["start", "adam", "--task", "x"], 1, "shopfloor resume adam"),
        (&["accept", "adam"], 1, "shopfloor status"),
        (&["diff", "adam"], 1, "adam is"),
        (&["attach", "adam"], 1, "shopfloor resume adam"),
        (&["land", "--no-such"], 2, "shopfloor land --help"),
        (&["send", "adam", "--forec"], 2, "unexpected argument '--forec' found"),
        (&["send", "adam", "--forec"], 2, "tip: a similar argument exists: '--force'"),
        (&["land", "--jsno=x"], 2, "tip: a similar argument exists: '--json'"),
        (&["send", "adam", "-f"], 2, "unexpected argument '-f' found"),
        (&["send", "adam", "-n", "hi"], 1, "adam is idle"),
        (&["send", "adam", "- an item"], 1, "adam is idle"),
        (&["send", "adam", "--", "--forec"], 1, "adam is idle"),
        (&["back", "adam", "--edti"], 2, "unexpected argument '--edti' found"),
        (&["back", "adam", "--comments=/nowhere"], 2, "/nowhere does not exist"),
        (&["back", "adam", "--", "--edti"], 1, "adam is"),
        (&["adopt", "/nowhere"], 2, "there is no worktree"),
        (&["back", "a text"], 1, "nothing was reviewed"),
        (&["back", "adm"], 1, "did you mean `adam`"),
        (&["wait", "nobody"], 1, "no worktree called nobody"),
        (&["wait", "--for", "idle", "--timeout", "1s", "nobody"], 1, "no worktree called nobody"),
        (&["peek", "--lines", "3", "nobody"], 1, "no worktree called nobody"),
        (&["request", "--draft", "nobody"], 1, "no worktree called nobody"),
        (&["land", "--message", "text", "nobody"], 1, "no worktree called nobody"),
        (&["start", "--task", "x", "adam"], 1, "shopfloor resume adam"),
    ] {
        let out = app.shopfloor(words).exit(status);
        out.err_has(said);
        assert!(!out.stderr.contains("worker-ctl") && !out.stderr.contains("worktree-spawn"), "{out}");
        assert!(out.stderr.starts_with("shopfloor: "), "{out}");
    }
    // Of several none goes if one cannot.
    for other in ["root", "nobody"] {
        app.shopfloor(&["rm", "feat", other]).exit(1).err_has("hint: nothing was removed");
    }
    assert!(!row(app, "feat").is_null());
    // What a worktree's own configuration runs is not accepted on the way.
    app.git(&["config", "extensions.worktreeConfig", "true"]);
    let feat = w.at(app.path.with_file_name("feat"));
    feat.commit("new", "x\n");
    feat.git(&["config", "--worktree", "filter.x.clean", "touch ../ran; cat"]);
    for words in [&["land", "feat"][..], &["send", "feat", "hi", "--yes"], &["adopt", "../feat"]] {
        app.shopfloor(words).exit(3).err_has(if words[0] == "adopt" { "filter.x.clean" } else { "shopfloor adopt" });
    }
    feat.git(&["config", "--worktree", "--unset", "filter.x.clean"]);
    // An agent reaches its parent and its children.
    let y = w.at(app.shopfloor(&["go", "y"]).exit(0).stdout.trim_end());
    let as_y = |words: &[&str]| y.run_with("shopfloor", words, &[("SHOPFLOOR_AGENT_ID", "main.x.y")]);
    as_y(&["send", "adam", "hi"]).exit(1).err_has("neither your parent nor your child");
    for name in ["x", "y"] {
        let path = text(&row(app, name), "/worktree").to_owned();
        app.shopfloor(&["adopt", &path, "--agent", "scripted"]).exit(0).any_out().any_err();
    }
    app.shopfloor(&["resume", "x"]).exit(0).any_out().any_err();
    app.shopfloor(&["start", "x", "--task", "think"]).exit(0).any_out();
    as_y(&["send", "x", "hi"]).exit(0).any_out();
    wait_for(|| floor.prompts().last().is_some_and(|last| last == "[from main.x.y] hi"));
    as_y(&["send", "x", "--forec"]).exit(2).err_has("unexpected argument '--forec' found");
    as_y(&["send", "x", "--force", "--", "--hi"]).exit(0).any_out();
    wait_for(|| floor.prompts().last().is_some_and(|last| last == "[from main.x.y] --hi"));
    // From inside of a worker's worktree.
    let adam = w.at(w.home("workers/.worktrees/adam"));
    adam.shopfloor(&["status"]).exit(0).out_has("feat");
    assert_eq!(adam.shopfloor(&["go"]).exit(0).stdout.trim_end(), app.path.to_str().unwrap());
    // The options of all commands count behind a verb, too.
    for verb in
        ["attach", "start", "send", "answer", "peek", "wait", "review", "back", "land", "request", "stop", "resume"]
    {
        let asked = app.shopfloor(&[verb, "nobody", "text", "--json"]).any_status().any_err().json();
        assert!(asked["error"].is_object(), "{verb}: {asked}");
        app.shopfloor(&[verb, "adam", "--help"]).exit(0).out_has(&format!("Usage: shopfloor {verb}"));
    }
    app.shopfloor(&["review", "adam", "-n"]).exit(1).err_has("adam is");
    let twice = app.shopfloor(&["review", "adam", "adam"]).exit(2);
    assert!(twice.stderr.contains("`shopfloor review --help`") && !twice.stderr.contains("--pin"), "{twice}");
    // What only worker-ctl has is its own.
    std::fs::create_dir(app.path.join("host")).unwrap();
    for words in [&["queue"][..], &["cost", "--json"], &["clashes"], &["host", "list"], &["-C", "host", "queue"]] {
        let own = app.run("worker-ctl", words).any_status().any_err();
        let passed_on = app.shopfloor(words).any_status().any_err();
        assert_eq!((*passed_on.status, passed_on.stdout.clone()), (*own.status, own.stdout.clone()), "{words:?}");
    }
    app.shopfloor(&["check", "adam"]).any_status().any_out().err_has("shopfloor: ");
    for words in [&["queue"][..], &["deinit"], &["host", "list"]] {
        let helped = app.shopfloor(&[&["help"], words].concat()).exit(0).stdout;
        assert_eq!(helped, app.shopfloor(&[words, &["--help"]].concat()).exit(0).stdout);
    }
    // Without a command.
    app.shopfloor(&[]).exit(0).out_has("Commands:").out_has("  send");
    for name in ["main", "HEAD", "root", "main!", " Main ", "mäin", "ｍａｉｎ"] {
        app.shopfloor(&["new", name, "task"]).exit(2).err_has("choose another name");
    }
}

#[test]
fn a_person_who_agrees_makes_an_agent_of_a_worktree_on_the_way() {
    let w = World::new();
    let (floor, _) = origins(&w);
    let app = &floor.app;
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nmax_depth = 3\nagent = \"scripted\"\n");
    app.shopfloor(&["start", "feat", "COMMIT a.txt a A", "--yes"]).exit(0).any_out().any_err();
    app.shopfloor(&["wait", "feat"]).exit(0).out_has("feat needs_review");
    // On no branch it can be none, as `adopt` says.
    app.git(&["worktree", "add", "-q", "--detach", "../loose"]);
    for words in [&["start", "loose", "task", "--yes"][..], &["adopt", "../loose"]] {
        app.shopfloor(words).exit(2).any_err();
    }
    app.shopfloor(&["review", "loose"]).exit(1).err_has("switch -c NAME` gives it a branch, then `shopfloor adopt ");
    // With an agent's worktree its branch goes, and this one is the person's.
    for words in [&["rm", "fix"][..], &["rm", "fix", "--yes"]] {
        let refused = app.shopfloor(words).exit(1);
        refused.err_has("was not started here").err_has("`shopfloor adopt ");
        assert!(!refused.stderr.contains("--yes"), "{refused}");
    }
    let fix = row(app, "fix");
    assert!(fix["worker"].is_null() && !app.git(&["branch", "--list", text(&fix, "/branch")]).is_empty());
}

#[test]
fn hints_name_what_the_front_door_has() {
    let w = World::new();
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nmax_depth = 3\n");
    let app = w.app();
    app.shopfloor(&["wait"]).exit(2).err_has("`WORKER_CTL_ROOT=DIR`");
    let a = w.at(app.shopfloor(&["new", "a"]).exit(0).any_err().stdout.trim_end());
    a.spawn(&["subtree", "b", "--base-dir", "inside"]).exit(0).any_out().any_err();
    app.shopfloor(&["rm", "a"]).exit(1).err_has("`shopfloor rm NAME...`");
    app.git(&["checkout", "-q", "--detach"]);
    app.shopfloor(&["new", "c"]).exit(2).err_has("switch to a branch first, as with `git switch main`");
    // A branch that is named needs no prefix.
    app.shopfloor(&["new", "c", "--branch", "brandnew", "--from", "main"]).exit(0).any_err().out_has("/c\n");
}

#[test]
fn an_agent_is_started_later_where_new_made_only_a_worktree() {
    let w = World::new();
    let (floor, _) = origins(&w);
    let app = &floor.app;
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nmax_depth = 3\nagent = \"scripted\"\n");
    app.shopfloor(&["new", "cmd", "read it", "--", "true"]).exit(0).err_has("SHOPFLOOR_TASK_FILE");
    // A task may be a list.
    for words in [&["--task", "- fix it"][..], &["- fix it"], &["--task", "--as it was"]] {
        let out = app.shopfloor(&[&["new", "z"], words, &["-n"]].concat()).exit(0).any_err();
        out.out_has("would start an agent there with its task");
    }
    app.shopfloor(&["new", "z", "--task", "--sandbox", "-n"])
        .exit(2)
        .err_has("a task is expected before the next option");
    app.shopfloor(&["new", "z", "--bogus", "-n"]).exit(2).err_has("unexpected argument '--bogus' found");
    app.shopfloor(&["new", "late"]).exit(0).any_out().err_has("`shopfloor start late TASK`");
    app.shopfloor(&["start", "nobody", "task"]).exit(1).err_has("no worktree called nobody");
    app.shopfloor(&["start", "feat", "task"]).exit(1).err_has("shopfloor adopt");
    app.shopfloor(&["-n", "start", "x", "task"]).exit(0).out_has("would make an agent of");
    app.shopfloor(&["start", "x", "task", "-n"]).exit(0).out_has("would make an agent of").out_has("with the task");
    let dry = app.shopfloor(&["start", "x", "task", "-n", "--json"]).exit(0).json();
    assert_eq!((text(&dry, "/name"), text(&dry, "/would/1")), ("x", "start it with the task"), "{dry}");
    app.shopfloor(&["start", "late"]).exit(2).err_has("`shopfloor start late TASK`");
    assert!(row(app, "x")["worker"].is_null() && row(app, "late")["worker"].is_null());
    // What cannot be is refused before anything is started.
    for words in [&["start", "late", "two", "words"][..], &["start", "late", "x", "--bogus"]] {
        app.shopfloor(words).exit(2).err_has("unexpected argument");
    }
    app.shopfloor(&["start", "late", "x", "-vn"]).exit(0).any_err().out_has("would make an agent of");
    assert!(row(app, "late")["worker"].is_null());
    let started = app.shopfloor(&["--json", "start", "late", "--force", "COMMIT a.txt a A"]).exit(0).any_err();
    assert_eq!(started.json()["name"], "late");
    app.shopfloor(&["wait", "late"]).exit(0).out_has("late needs_review");
    app.shopfloor(&["land", "-n", "--yes", "late"]).exit(0).any_out().any_err();
    // A person is asked before work lands that nobody has reviewed.
    let asked = app.on_terminal("shopfloor land late", "n\n");
    asked.any_status().any_err().out_has("Nobody has reviewed the work of late. Land it on main all the same?");
    // Nor does an agent land what only agents have seen.
    for agent in ["WORKER_CTL_WORKER", "SHOPFLOOR_AGENT_ID"] {
        let seen = app.run_with("shopfloor", &["review", "late", "--pin"], &[(agent, "late")]).exit(0);
        seen.any_out().err_has("does not count as reviewed");
        let refused = app.run_with("shopfloor", &["land", "late"], &[(agent, "late")]).exit(3);
        refused.err_has("the agent late wants to land").err_has("`shopfloor review late`, then `shopfloor land late`");
    }
    assert!(!app.has("a.txt"));
    // Another program than the root's, as it was made for.
    assert_eq!(floor.status("late")["agent"], "scripted");
    app.on_terminal("shopfloor back late no", "").exit(1).any_err().out_has("`shopfloor review late`");
    app.shopfloor(&["back", "late", "no"]).exit(1).err_has("`shopfloor review --pin late`");
    app.shopfloor(&["review", "--pin", "late"]).exit(0).any_out();
    app.shopfloor(&["back", "late", "COMMIT a.txt b B"]).exit(0).any_out();
    app.shopfloor(&["wait", "--any", "late"]).exit(0).out_has("late needs_review");
    // What came after it was sent back, nobody has seen.
    app.shopfloor(&["land", "late"]).exit(1).err_has("nobody has reviewed its work since").err_has("shopfloor review");
    app.shopfloor(&["land", "-n", "--force", "late"]).exit(0).any_err().out_has("would put");
    app.shopfloor(&["review", "late", "--pin"]).exit(0).any_out();
    app.shopfloor(&["land", "late"]).exit(0).any_out().any_err();
    assert_eq!(row(app, "late")["ahead"], 0);
    app.shopfloor(&["status"]).any_status().any_err().out_has("merged");
    app.shopfloor(&["-n", "rm", "late"])
        .exit(0)
        .out_has("would end the session of late")
        .out_has("would remove main.late");
    // From inside nothing is done by halves.
    let late = w.at(app.path.with_file_name("app.worktrees").join("late"));
    late.shopfloor(&["rm", "late"]).exit(1).err_has("this command runs in").err_has("`cd ");
    assert_eq!(row(app, "late")["alive"], "up");
    app.shopfloor(&["start", "late", "think"]).exit(0).any_out();
    late.sh("git init -q sub && git -C sub commit -q --allow-empty -m s").exit(0);
    app.shopfloor(&["rm", "--force", "late"]).exit(1).err_has("sub/ is a repository of its own");
    let refused = app.shopfloor(&["rm", "--force", "late", "--json"]).exit(1).any_err().json();
    assert_eq!((text(&refused, "/error/kind"), refused.get("dry_run")), ("dirty", None));
    assert_eq!((text(&row(app, "late"), "/alive"), text(&row(app, "late"), "/task")), ("up", "working"));
    late.sh("rm -rf sub").exit(0);
    app.shopfloor(&["stop", "late"]).exit(0).any_out().any_err();
    let gone = app.shopfloor(&["rm", "--force", "late", "--json"]).exit(0).any_err().json_lines();
    assert!(gone.len() == 1 && gone[0]["removed"] == true, "{gone:?}");
    // A worktree is adopted by the name that the table has, too.
    app.shopfloor(&["adopt"]).exit(2).err_has("the worktree is missing");
    app.shopfloor(&["adopt", "feat", "--agent", "scripted"]).exit(0).any_err().out_has("/feat");
    app.shopfloor(&["resume", "feat"]).exit(0).any_err().out_has("up feat");
    app.shopfloor(&["wait", "feat", "--timeout", "0s"]).exit(124).err_has("feat has no task");
    // A task that fits in no argument.
    let long = "word ".repeat(30_000);
    app.write("../long", &long);
    app.shopfloor(&["new", "long", "--task-file", "../long"]).exit(0).any_out().any_err();
    assert_eq!(text(&floor.status("long"), "/prompt").trim(), long.trim());
}

#[test]
fn an_agent_goes_from_a_task_to_a_landed_change_in_three_commands() {
    let w = World::new();
    which("tmux");
    let app = w.app();
    app.commit("README.md", "app\n");
    // It ends the sessions of the root that comes.
    let _floor = Floor { app: app.clone(), root: w.at(w.home("workers")) };
    let (agent, log) = (built("agent"), w.home("prompts.jsonl"));
    let table = |program: &str| {
        format!(
            "[worker-ctl.agents.mine]\ncommand = [\"env\", \"SCRIPTED_LOG={}\", {program:?}]\nready = {{ pattern = \"^>\" }}\n",
            log.display()
        )
    };
    let config = w.home(".config/shopfloor/config.toml");
    // A program that never takes input is one of the ways in which a call stops half way.
    write(&config, &table("/nowhere"));
    let new = |name: &str, more: &[&str]| {
        app.shopfloor(&[&["new", name, "COMMIT f one First", "--agent", "mine"], more].concat())
    };
    new("x", &["-n"]).exit(0).any_err().out_has("would start an agent there");
    new("x", &[]).exit(4).any_out().err_has("the same command goes on");
    write(&config, &table(&agent.to_string_lossy()));
    let path = new("x", &[]).exit(0).any_err().stdout.clone();
    // The same command again gives nothing twice, and another task is another agent's.
    assert_eq!(new("x", &[]).exit(0).any_err().stdout, path);
    app.shopfloor(&["new", "x", "Something else"]).exit(1).err_has("already exists");
    app.shopfloor(&["wait", "x"]).exit(0).any_out();
    assert_eq!(prompts(&log).len(), 1);
    // What a program reads nobody has seen.
    app.shopfloor(&["review", "x"]).exit(0).out_has("+one").err_has("with `--pin` it does");
    let seen = app.shopfloor(&["review", "x", "--json"]).exit(0).any_err().json();
    assert_eq!((text(&seen, "/name"), seen.get("dry_run")), ("x", None), "nobody asked for a dry run");
    app.shopfloor(&["land", "x", "-n"]).exit(0).any_out().err_has("was not reviewed");
    app.shopfloor(&["review", "x", "--pin"]).exit(0).any_err().out_has("+one");
    let seen = app.shopfloor(&["land", "x", "-n"]).exit(0).any_out().any_err();
    assert!(!seen.stderr.contains("not reviewed"), "{seen}");
    app.shopfloor(&["land", "x"]).exit(0).any_out();
    assert_eq!(app.read("f"), "one\n");
    // The same command again does not do what has landed a second time.
    new("x", &[]).exit(1).any_out().err_has("already exists");
    assert_eq!(prompts(&log).len(), 1);
    // It asks, unless that is taken back.
    assert!(w.at(w.home("workers")).read("config.toml").contains("skip_permissions = false"));
    new("y", &["--yolo", "--json"]).exit(0).any_err().out_has("\"id\":\"main.y\"");
    assert!(
        w.at(w.home("workers"))
            .read("config.toml")
            .contains("[workers.y]\nagent = \"mine\"\nskip_permissions = true\n")
    );
    // Without the program the worktree is there.
    app.shopfloor(&["new", "z", "task"]).exit(0).any_out().err_has("claude is not on the PATH");
    for name in ["x", "y", "z"] {
        app.shopfloor(&["rm", name, "--force"]).exit(0).any_out().any_err();
    }
    // What they reported goes with them.
    assert_eq!(row(&app, "app")["pending"], 0);
}

/// Until an agent has a task, the program that was named last is its.
#[test]
fn another_program_takes_the_place_of_one_that_did_not_start() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let table = |name: &str, program: &str| {
        format!("[worker-ctl.agents.{name}]\ncommand = [{program:?}]\nready = {{ pattern = \"^>\" }}\n")
    };
    let agent = built("agent").display().to_string();
    write(&w.home(".config/shopfloor/config.toml"), &(table("broken", "/nowhere") + &table("mine", &agent)));
    let new = |agent: &str| floor.app.shopfloor(&["new", "z", "Wait for it", "--agent", agent]);
    new("broken").exit(4).any_out().err_has("the same command goes on");
    // As JSON, what was made has the error, and where nothing was made, that is the answer. tmux may lose what it printed.
    let json = |words: &[&str]| floor.app.shopfloor(&[words, &["--json"]].concat()).exit(4).any_err().json();
    let made = json(&["new", "z", "Wait for it", "--agent", "broken"]);
    let cloned = json(&["new", "c", "Wait for it", "--agent", "broken", "--clone"]);
    let refused = json(&["start", "z", "Wait for it"]);
    for told in [&made, &cloned, &refused] {
        assert!(text(told, "/error/message").contains("(exit 127)"), "{told}");
    }
    assert!(text(&made, "/worktree").ends_with("/z") && text(&cloned, "/worktree").ends_with("/c"), "{cloned}");
    new("mine").exit(0).any_out().any_err();
    assert_eq!(floor.status("z")["agent"], "mine");
    new("broken").exit(1).any_out().err_has("an agent of mine").err_has("`shopfloor nuke z` forgets it");
}

#[test]
fn what_set_up_has_placed_is_in_the_way_of_no_task_and_no_landing() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let app = &floor.app;
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nagent = \"scripted\"\n");
    app.approved("[files.\"notes.md\"]\ncontent = \"read me\"\n");
    let z = app.shopfloor(&["new", "z", "COMMIT f one First"]).exit(0).any_err();
    let z = w.at(z.stdout.trim_end());
    assert_eq!(z.git(&["status", "--porcelain", ".notes.md"]), "?? .notes.md\n");
    app.shopfloor(&["wait", "z"]).exit(0).out_has("z needs_review");
    app.shopfloor(&["review", "z", "--pin"]).exit(0).any_out().any_err();
    app.shopfloor(&["land", "z"]).exit(0).any_out().any_err();
    assert_eq!((app.read("f").as_str(), z.read(".notes.md").as_str()), ("one\n", "read me"));
    // What somebody has changed since, a commit would lack.
    z.write(".notes.md", "mine\n");
    let refused = app.shopfloor(&["start", "z", "think"]).exit(1);
    refused.err_has("  .notes.md").err_has("`shopfloor start z --task TASK --force`");
}

#[test]
fn what_set_up_has_placed_is_in_the_way_where_the_branch_has_a_file_by_now() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let app = &floor.app;
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nagent = \"scripted\"\n");
    app.approved("[files.\"notes.md\"]\ncontent = \"read me\"\n");
    let z = app.shopfloor(&["new", "z", "COMMIT f one First"]).exit(0).any_err();
    let z = w.at(z.stdout.trim_end());
    app.shopfloor(&["wait", "z"]).exit(0).out_has("z needs_review");
    app.commit(".notes.md", "theirs\n");
    let old = app.git(&["rev-parse", "main"]);
    for command in ["land", "rebase"] {
        let refused = app.shopfloor(&[command, "z"]).exit(1).any_out();
        refused.err_has("z/.notes.md would be lost").err_has("z-.notes.md.kept`");
    }
    assert_eq!((app.git(&["rev-parse", "main"]), text(&floor.status("z"), "/status")), (old, "needs_review"));
    // It is no work, and only what is not set-up's goes.
    z.write("left", "x");
    floor.ctl(&["reset", "z", "--force", "--yes"]).exit(0).any_out().any_err();
    floor.ctl(&["reset", "z", "--yes"]).exit(0).any_out().any_err();
    assert_eq!((z.read(".notes.md").as_str(), z.has("left")), ("read me", false));
    app.shopfloor(&["start", "z", "think"]).exit(1).any_out().err_has("z/.notes.md would be lost");
    z.sh("mv .notes.md ../z-.notes.md.kept").exit(0);
    app.shopfloor(&["start", "z", "think"]).exit(0).any_out().any_err();
    assert_eq!(z.read(".notes.md"), "theirs\n");
}
