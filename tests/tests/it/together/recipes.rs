//! The recipes of docs/recipes.md, each with the program that it is for.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::floor::Floor;
use crate::support::world::{Repo, World, find, needs, project, text, wait_for, write};

/// The file of a recipe, as the document shows it below the given heading.
fn recipe(heading: &str, file: &str) -> String {
    let page = std::fs::read_to_string(project().join("docs/recipes.md")).unwrap();
    let section = page.split("\n## ").find(|section| section.starts_with(&format!("{heading}\n")));
    let section = section.unwrap_or_else(|| panic!("there is no heading {heading}"));
    let told = format!("Copy this to `{file}`");
    let (_, after) = section.split_once(&told).unwrap_or_else(|| panic!("{heading} has no {file}"));
    let (_, block) = after.split_once("```").unwrap();
    let (block, _) = block.split_once("\n```").unwrap();
    format!("{}\n", block.split_once('\n').unwrap().1)
}

/// A program from a registry, as a command of this world.
fn has(w: &World, program: &str) -> bool {
    needs(program) && {
        let path = find(program).unwrap();
        w.program(program, &format!("exec '{}' \"$@\"", path.display()));
        true
    }
}

/// A repository with a sweatfile, an overlay and a ledger, none of which has a hook yet.
fn app(w: &World) -> Repo<'_> {
    let app = w.repo("app");
    app.commit(".gitignore", ".env\nnode_modules/\n");
    app.write(".env", "A=1\n");
    app.approved("[env]\nB = \"2\"\n");
    app.overlay(&["add", ".env"]).succeeds().any_err();
    app.overlay(&["attach", "."]).exit(0).any_out();
    app.ledger(&["add", "--agent", "a", "--done", "Started", "--synth"]).exit(0).any_out().any_err();
    app.git(&["init", "-q", "--bare", "../origin.git"]);
    app.git(&["remote", "add", "origin", "../origin.git"]);
    app.git(&["add", "-A"]);
    app.git(&["commit", "-q", "-m", "set up"]);
    app
}

/// A new worktree has everything, all tools know it, and a stale ledger is not pushed.
fn hooks_run(app: &Repo<'_>) {
    app.git(&["add", "-A"]);
    app.sh("git commit -q -m hooks --no-verify").exit(0).any_err();
    app.sh("git worktree add ../one").exit(0).any_out().any_err();
    let one = app.world.at(app.path.with_file_name("one"));
    assert_eq!((one.read(".env"), one.read(".sweatshop-env")), ("A=1\n".into(), "B=2\n".into()));
    for tool in ["sweatfile-apply", "overlay-sync", "ledger-synth"] {
        app.run(tool, &["hook", "status"]).exit(0).any_out();
    }
    app.sh("git push -q origin main").exit(0).any_out().any_err();
    app.ledger(&["add", "--agent", "b", "--done", "Went on"]).exit(0).any_out().any_err();
    app.git(&["add", "-A"]);
    app.sh("git commit -q -m event").exit(0).any_out().any_err();
    let refused = app.sh("git push origin main 2>&1").exit(1);
    refused.out_has("stale ledger");
    app.ledger(&["--yes", "--commit"]).exit(0).any_out().any_err();
    app.sh("git push -q origin main").exit(0).any_out().any_err();
}

#[test]
fn lefthook_runs_the_tools() {
    let w = World::new();
    if !has(&w, "lefthook") {
        return;
    }
    let app = app(&w);
    let file = recipe("lefthook", "lefthook.yml");
    app.write("lefthook.yml", &file);
    app.run("lefthook", &["validate"]).exit(0).any_out().any_err();
    assert_eq!(app.run("lefthook", &["dump"]).exit(0).any_err().stdout, file);
    app.run("lefthook", &["install"]).exit(0).any_out().any_err();
    hooks_run(&app);
}

#[test]
fn husky_runs_the_tools() {
    let w = World::new();
    if !has(&w, "husky") {
        return;
    }
    let app = app(&w);
    // `npm ci` runs husky, as its `prepare` script says.
    w.program("npm", "exec husky");
    for hook in ["post-checkout", "post-merge", "post-rewrite", "pre-push"] {
        app.write(&format!(".husky/{hook}"), &recipe("husky", &format!(".husky/{hook}")));
    }
    app.run("husky", &[]).exit(0).any_out().any_err();
    app.approved(&format!("{}\n[env]\nB = \"2\"\n", recipe("husky", "sweatfile")));
    hooks_run(&app);
    // Hooks run in a linked worktree too.
    let one = w.at(app.path.with_file_name("one"));
    one.sh("git worktree add ../two").exit(0).any_out().any_err();
    assert_eq!(w.at(app.path.with_file_name("two")).read(".env"), "A=1\n");
    let spawned = app.spawn(&["subtree", "three"]).exit(0).any_err().stdout.clone();
    assert_eq!(w.at(spawned.trim_end()).read(".env"), "A=1\n");
}

#[test]
fn pre_commit_runs_the_tools() {
    let w = World::new();
    if !has(&w, "pre-commit") {
        return;
    }
    let app = app(&w);
    app.write(".pre-commit-config.yaml", &recipe("pre-commit", ".pre-commit-config.yaml"));
    app.run("pre-commit", &["validate-config"]).exit(0).any_out().any_err();
    app.run("pre-commit", &["install", "--allow-missing-config"]).exit(0).any_out().any_err();
    hooks_run(&app);
    app.write("thoughts/shared/handoffs/events/bad.md", "x\n");
    app.git(&["add", "-A"]);
    app.sh("git commit -q -m bad 2>&1").exit(1).out_has("no frontmatter");
}

#[test]
fn the_justfile_is_formatted_and_its_recipes_run() {
    let w = World::new();
    if !has(&w, "just") {
        return;
    }
    let floor = Floor::new(&w);
    let app = &floor.app;
    app.write("justfile", &recipe("just", "justfile"));
    app.run("just", &["--fmt", "--check", "--unstable"]).exit(0).any_out().any_err();
    let just = |args: &[&str]| app.run("just", args).exit(0).any_out().any_err();
    app.commit(".gitignore", ".env\n");
    app.write(".env", "A=1\n");
    app.approved("[env]\nB = \"2\"\n");
    app.overlay(&["add", ".env"]).succeeds().any_err();
    app.overlay(&["attach", "."]).exit(0).any_out();
    app.apply(&["hook", "install"]).exit(0).any_out();
    app.overlay(&["hook", "install"]).exit(0).any_out();
    app.git(&["add", "-A"]);
    app.git(&["commit", "-q", "-m", "set up"]);
    just(&["agent", "feat", "sh", "-c", "'echo C=3 >> .env'"]);
    just(&["close", "feat"]);
    // The agent's last edit has outlived its worktree.
    assert!(!app.path.with_file_name("feat").exists() && app.read(".env").contains("C=3"));
    let quoted = "It's \"$HOME\" and `date`";
    just(&["handoff", quoted]);
    app.ledger(&["explain", "now"]).exit(0).out_has(quoted);
    just(&["tidy-ledger"]);
    just(&["spawn", "Helper", "Say it's done", "true"]);
    let rows = app.spawn(&["list", "--json"]).exit(0).json_lines();
    assert!(rows.iter().any(|row| text(row, "/id") == "main.helper"));
    just(&["merged"]);
    floor.ctl(&["add", "adam"]).exit(0).any_out();
    floor.up();
    app.write("it's.md", "COMMIT a.txt hello Say hello\n");
    just(&["task", "it's.md"]);
    floor.until("adam", "needs_review");
    just(&["next"]);
    just(&["accept", "adam"]);
    assert_eq!(app.git(&["log", "-2", "--format=%s"]).lines().nth(1), Some("Say hello"));
    app.ledger(&["explain", "this_session"]).any_status().any_err().out_has("Say hello");
    just(&["evening"]);
}

/// Runs the shell lines of a CI job, which are everything below a key of its steps.
fn ci_runs(w: &World, app: &Repo<'_>, lines: &[&str]) -> Vec<(i32, String)> {
    let (summary, temporary) = (w.home("summary"), w.path("tmp"));
    let vars = [("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()), ("RUNNER_TEMP", temporary.to_str().unwrap())];
    let run = |line: &&str| {
        let out = app.run_with("bash", &["-e", "-o", "pipefail", "-c", line], &vars).any_status().any_err();
        (out.status.unwrap(), out.stdout.clone())
    };
    lines.iter().map(run).collect()
}

#[test]
fn the_ci_jobs_are_valid_and_their_lines_run() {
    let w = World::new();
    let app = app(&w);
    let (github, gitlab) =
        (recipe("GitHub Actions", ".github/workflows/agents.yml"), recipe("GitLab CI", ".gitlab-ci.yml"));
    for wanted in
        ["sweatfile-apply -q show --repo-root . 2>&1", "ledger-synth check", "ledger-synth -q --output - | sed"]
    {
        assert!(github.contains(wanted) && gitlab.contains(wanted), "{wanted}");
    }
    let show = "sweatfile-apply -q show --repo-root . 2>&1 > /dev/null | tee \"$RUNNER_TEMP/problems\"\ntest ! -s \"$RUNNER_TEMP/problems\"";
    let lines =
        [show, "ledger-synth check", "ledger-synth -q --output - | sed '/^---$/,$d' >> \"$GITHUB_STEP_SUMMARY\""];
    for line in lines.iter().flat_map(|line| line.lines()) {
        assert!(github.contains(line), "{line}");
    }
    let codes = |app: &Repo<'_>| -> Vec<i32> { ci_runs(&w, app, &lines).into_iter().map(|(code, _)| code).collect() };
    assert_eq!(codes(&app), [0, 0, 0]);
    assert!(std::fs::read_to_string(w.home("summary")).unwrap().contains("- Started"));
    app.write("sweatfile", "setpu = [\"x\"]\n");
    assert_eq!(codes(&app)[0], 1);
    app.ledger(&["add", "--agent", "b", "--done", "More"]).exit(0).any_out();
    assert_eq!(codes(&app)[1], 1);
    app.write("thoughts/shared/handoffs/events/bad.md", "x\n");
    assert_eq!(codes(&app)[1], 2);
    if has(&w, "check-jsonschema") {
        for (schema, file, text) in [("github-workflows", "github.yml", github), ("gitlab-ci", "gitlab.yml", gitlab)] {
            app.write(file, &text);
            app.run("check-jsonschema", &["--builtin-schema", &format!("vendor.{schema}"), file])
                .exit(0)
                .any_out()
                .any_err();
        }
    }
}

/// The commands that a settings file gives a program's hooks, by event.
fn hook_commands(settings: &Value) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (event, entries) in settings["hooks"].as_object().unwrap() {
        for hook in entries.as_array().unwrap().iter().flat_map(|entry| entry["hooks"].as_array().unwrap()) {
            all.push((event.clone(), text(hook, "/command").to_owned()));
        }
    }
    all
}

#[test]
fn the_hooks_of_agent_programs_answer() {
    let w = World::new();
    let app = app(&w);
    app.commit(".gitignore", ".env\n.claude/\n");
    for (heading, file) in [
        ("Claude Code", ".claude/settings.json"),
        ("Gemini CLI", "~/.gemini/settings.json"),
        ("Codex", ".codex/hooks.json"),
    ] {
        let settings: Value = serde_json::from_str(&recipe(heading, file)).unwrap();
        let commands = hook_commands(&settings);
        assert!(commands.len() >= 4, "{heading}");
        for (event, command) in commands {
            let payload = format!(
                "{{\"hook_event_name\":\"{event}\",\"session_id\":\"s\",\"cwd\":{:?},\"name\":\"oak-{heading}\",\"worktree_path\":\"/nowhere\"}}",
                app.path
            );
            write(&w.home("payload.json"), &payload);
            app.sh(&format!("{{ {command}\n}} < ~/payload.json")).exit(0).any_out().any_err();
        }
    }
    // What install writes is all there already.
    write(&app.path.join(".claude/settings.json"), &recipe("Claude Code", ".claude/settings.json"));
    app.ledger(&["install", "--claude"]).exit(0).any_out().any_err();
    assert_eq!(app.read(".claude/settings.json"), recipe("Claude Code", ".claude/settings.json"));
}

#[test]
fn an_agent_for_each_part_of_a_plan() {
    let w = World::new();
    if !has(&w, "jq") {
        return;
    }
    let app = app(&w);
    w.program("claude", "task=$(cat); test \"$1\" = -p && case $task in *fail*) exit 7 ;; esac");
    app.write("fan-out.sh", &recipe("An agent for each part of a plan", "fan-out.sh"));
    app.write(
        "plan.json",
        r#"[{ "name": "Good", "task": "It's \"$HOME\"\nand `date`" }, { "name": "Bad one", "task": "fail" }]"#,
    );
    let out = app.sh("sh fan-out.sh").exit(0).any_err();
    assert_eq!(out.stdout.lines().last(), Some("main.bad-one"), "{out}");
    let task: PathBuf = app.path.join(".shopfloor/worktrees/good/.shopfloor/task.md");
    assert_eq!(std::fs::read_to_string(task).unwrap(), "It's \"$HOME\"\nand `date`");
    app.sh("worktree-spawn list -z --kind subtree | overlay-sync attach -z -").exit(0).any_out().any_err();
}

#[test]
fn workers_in_a_queue_tell_what_happens() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.app.write("tasks/1.md", "COMMIT a.txt hello Say hello\n");
    w.program("notify-send", "echo \"$1\" >> $HOME/told");
    let config = floor.root.read("config.toml");
    let told = recipe("Notifications", "config.toml").replace("[defaults]\n", "");
    floor.root.write("config.toml", &config.replace("[defaults]\n", &format!("[defaults]\n{told}")));
    floor.ctl(&["add", "adam"]).exit(0).any_out();
    floor.up();
    floor.app.write("queue.sh", &recipe("A queue of tasks for workers", "queue.sh"));
    floor.app.sh("sh queue.sh").exit(0).any_out().any_err();
    assert!(floor.app.has("a.txt"));
    wait_for(|| std::fs::read_to_string(w.home("told")).is_ok_and(|text| text == "adam needs review\n"));
    let line = recipe("cron", "crontab -e");
    let (_, command) = line.split_once("* * * * ").unwrap();
    let bin = w.path("bin");
    let command = command.replace("~/workers", &format!("'{}'", floor.root.path.display()));
    floor.app.sh(&command.replace("$HOME/.local/bin", bin.to_str().unwrap())).exit(0).any_err();
    if has(&w, "jq") {
        let states = "worker-ctl status --json | jq -e 'all(.workers[]; .status != \"error\")'";
        floor.root.sh(states).exit(0).any_out();
    }
}

#[test]
fn direnv_loads_the_variables_of_a_new_worktree() {
    let w = World::new();
    if !has(&w, "direnv") {
        return;
    }
    let app = w.app();
    app.approved(&recipe("direnv", "sweatfile"));
    app.git(&["add", "-A"]);
    app.git(&["commit", "-q", "-m", "sweatfile"]);
    app.apply(&["hook", "install"]).exit(0).any_out();
    app.sh("git worktree add ../one").exit(0).any_out().any_err();
    let one = w.at(app.path.with_file_name("one"));
    assert_eq!(one.sh("direnv exec . sh -c 'echo $PORT'").exit(0).any_err().stdout, "8080\n");
    assert_eq!(one.git(&["status", "--porcelain"]), "");
}
