//! Launchers, and the environment of launched agents.

use crate::support::spawn::{app, subtree};
use crate::support::world::{Repo, World, text, write};

#[test]
fn a_launched_agent_finds_its_environment() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["a b"]);
    child.spawn(&["worker", "g", "--agent", "gemini", "--task", "t"]).succeeds();
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
fn launchers_get_quoted_words_and_need_approval() {
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
    // Runs the command as zellij does.
    w.at(w.home("")).run("sh", &["-c", &format!("cd '{}' && {}", child.path.display(), argv[8])]).exit(0);
    assert!(child.read("main.it-s-home.args").contains("task.md: read it"), "{}", child.read("main.it-s-home.args"));
    let none = app.spawn(&["worker", "w", "--launch"]).succeeds();
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
    app.spawn(&["worker", "s1", "--launch"]).succeeds().err_has("approval");
    assert!(!w.home("s1").exists());
    app.spawn(&["worker", "s2", "--launch", "--agent", "mine"]).exit(2).any_err();
    app.apply(&["approve", "--yes"]).succeeds();
    app.spawn(&["worker", "s3", "--launch", "--agent", "mine"]).succeeds();
    assert!(w.home("s3").exists());
}

/// A stranger may have written the repository's file.
#[test]
fn no_repository_says_how_agents_of_worker_ctl_are_started() {
    let w = World::new();
    let app = app(&w);
    w.program("claude", "touch \"$HOME/claude\"");
    let touch = format!("touch {}", w.home("forged").display());
    let argv = format!("{:?}", touch.split(' ').collect::<Vec<_>>());
    for (n, command) in [argv, format!("{touch:?}")].into_iter().enumerate() {
        let tables = ["claude", "evil"].map(|name| format!("[worker-ctl.agents.{name}]\ncommand = {command}\n"));
        app.write(".shopfloor/config.toml", &tables.concat());
        // Approved or not.
        if n == 1 {
            app.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
        }
        let spawn = |args: &[&str]| app.spawn(&[args, &["--launcher", "sh -c {cmd}"][..]].concat());
        let refused =
            ["config.toml:2: ", "config.toml:4: "].map(|at| format!("{at}only the user's own config.toml may"));
        for kind in ["subtree", "worker"] {
            let made = spawn(&[kind, &format!("a{n}")]).exit(0).any_out();
            made.err_has(&refused[0]).err_has(&refused[1]);
            spawn(&[kind, &format!("b{n}"), "--agent", "evil"])
                .exit(2)
                .err_has("no command is set for the agent `evil`");
        }
    }
    assert!(w.home("claude").exists() && !w.home("forged").exists());
}

#[test]
fn agents_get_the_words_that_worker_ctl_would_start_them_with() {
    let w = World::new();
    let app = app(&w);
    for name in ["mine", "codex"] {
        w.program(name, "for word in \"$@\" \"NO_COLOR=$NO_COLOR\"; do echo \"$word\"; done > args");
    }
    let table = "[worker-ctl.agents.mine]\ncommand = [\"mine\", \"--model\", \"{model}\", \"--root={worktree}\", \
         \"{git_dir}\", \"{git_common_dir}\", \"{skip_permissions}\", \"{hooks}\", \"{allowed_tools}\", \"it's\"]\n\
         env = { NO_COLOR = \"1 2\" }\nask_permissions = [\"--ask\"]\ntask = [\"--prompt\", \"{task}\", \"end\"]\n\
         delivery = \"argv\"\nready = { pattern = \"^>\" }\n";
    let config = w.home(".config/shopfloor/config.toml");
    write(&config, table);
    let launch = |name: &str, more: &[&str]| {
        let child = subtree(&app, &[&[name, "--launcher", "sh -c {cmd}"], more].concat());
        let at = child.path.display().to_string();
        (child.read("args"), at)
    };
    let git = app.path.join(".git").display().to_string();
    let words =
        |name: &str, at: &str| format!("--root={at}\n{git}/worktrees/{name}\n{git}\n--ask\nRead,Glob,Grep\nit's\n");
    let (seen, at) = launch("a", &["--agent", "mine"]);
    assert_eq!(seen, format!("{}NO_COLOR=1 2\n", words("a", &at)));
    write(&config, &format!("{table}model = \"small\"\n"));
    let (seen, at) = launch("b", &["--agent", "mine", "--task", "it's"]);
    let task = format!("--prompt\nYour task is in the file {at}/.shopfloor/task.md: read it and carry it out.\nend\n");
    assert_eq!(seen, format!("--model\nsmall\n{}{task}NO_COLOR=1 2\n", words("b", &at)));
    // codex cannot commit where its sandbox does not open the git directory, and is to write no hook of the repository.
    let opened = |dirs: &[&str]| dirs.iter().map(|dir| format!("--add-dir\n{git}/{dir}\n")).collect::<String>();
    let dirs = opened(&["worktrees/c", "objects", "refs", "logs", "rr-cache"]);
    let (seen, _) = launch("c", &["--agent", "codex"]);
    assert!(seen.starts_with(&format!("--no-daemon\n{dirs}-c\n")), "{seen}");
    app.spawn(&["worker", "d", "--agent", "codex", "--launcher", "sh -c {cmd}"]).succeeds();
    assert!(app.read("args").starts_with("--no-daemon\n-c\n"), "{}", app.read("args"));
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
    // The end is reported whether `run` saw it or was killed too.
    let end = app.spawn(&["wait", "--timeout", "60s"]).exit(0).json();
    assert!(["worker_exited", "worker_died"].contains(&text(&end, "/type")), "{end}");
}

/// tmux expands formats in the directory and the name of a window, and may run a command for that.
#[test]
fn tmux_runs_nothing_that_the_name_of_a_directory_says() {
    let mut w = World::new();
    crate::support::world::which("tmux");
    let socket = w.path("tmp").join("tmux.sock");
    w.set("TMUX", format!("{},1,0", socket.display()));
    w.program("claude", "worktree-spawn notify success \"hello from $(pwd)\"; exec sleep 600");
    let app = w.repo("a #(touch PWNED) #{pane_id} ##b #[c]");
    let tmux = |args: &[&str]| {
        let args = [&["-S", socket.to_str().unwrap(), "-f", "/dev/null"], args].concat();
        app.run("tmux", &args)
    };
    tmux(&["new-session", "-d", "-s", "s", "sleep", "600"]).exit(0);
    for (name, launcher) in [("one", "tmux"), ("two", "[ -n \"$TMUX\" ] && tmux new-window -d -n {id} -c {path} {cmd}")]
    {
        let child = subtree(&app, &[name, "--task", "t", "--launcher", launcher]);
        let event = app.spawn(&["wait", "--timeout", "60s"]).exit(0).json();
        assert_eq!(text(&event, "/message"), format!("hello from {}", child.path.display()));
    }
    tmux(&["kill-server"]).exit(0);
    let ends = app.spawn(&["wait", "--count", "2", "--timeout", "60s"]).exit(0).json_lines();
    assert_eq!(ends.len(), 2, "{ends:?}");
    assert_eq!(w.at(w.home("")).sh("find . -name PWNED").exit(0).stdout, "");
}

#[test]
fn without_a_launcher_the_answer_holds_a_warning() {
    let w = World::new();
    let app = app(&w);
    let warned = app.spawn(&["subtree", "z", "--launch", "-q", "--json"]).exit(0).any_err();
    assert!(text(&warned.json(), "/warnings/0").contains("no launcher is set"));
}

#[test]
fn a_command_inherits_nothing_that_leads_into_another_worktree() {
    let w = World::new();
    let app = app(&w);
    let (other, here) = (subtree(&app, &["other"]), subtree(&app, &["here"]));
    app.write(".git/hooks/post-checkout", "#!/bin/sh\nenv > \"$HOME/hook\"\n");
    app.sh("chmod +x .git/hooks/post-checkout").exit(0);
    let path = app.sh("printf %s \"$PATH\"").exit(0).stdout.clone();
    let launcher = format!("env > {}; true", w.home("launched").display());
    for (n, from) in [&app, &other].into_iter().enumerate() {
        let from = from.path.display().to_string();
        let (venv, own) = (format!("{from}/.venv"), format!("{}/lib", here.path.display()));
        let (long, python) = (format!("{from}/.venv/bin:{path}"), format!("{from}/src:{own}"));
        let vars = [("VIRTUAL_ENV", &*venv), ("VIRTUAL_ENV_PROMPT", "a"), ("PATH", &*long), ("PYTHONPATH", &*python)];
        let spawn = |args: &[&str]| app.run_with("worktree-spawn", args, &vars);
        let made = |option: &str| format!("{option}-{n}");
        let evaluated = app.run_with("sh", &["-c", "eval \"$(worktree-spawn env here)\"; env"], &vars).exit(0);
        let with_command = spawn(&["subtree", &made("dashes"), "--", "env"]).exit(0).any_err();
        spawn(&["subtree", &made("launched"), "--launcher", &launcher]).exit(0).any_out().any_err();
        let files = ["hook", "launched"].map(|name| std::fs::read_to_string(w.home(name)).unwrap());
        let run = spawn(&["run", "here", "--", "env"]).exit(0);
        for seen in [&*run.stdout, &*evaluated.stdout, &*with_command.stdout, &*files[0], &*files[1]] {
            let leads = seen.lines().find(|line| line.starts_with("VIRTUAL_ENV") || line.contains(&*venv));
            assert_eq!(leads, None, "{seen}");
        }
        for seen in [&*run.stdout, &*evaluated.stdout] {
            assert!(seen.contains(&format!("\nPYTHONPATH={own}\n")), "{seen}");
        }
    }
    // What is its own stays.
    let venv = format!("{}/.venv", here.path.display());
    let kept = app.run_with("worktree-spawn", &["run", "here", "--", "env"], &[("VIRTUAL_ENV", &*venv)]).exit(0);
    assert!(kept.stdout.contains(&format!("\nVIRTUAL_ENV={venv}\n")), "{kept}");
}

#[test]
fn an_agent_program_that_no_place_names_is_refused_also_without_a_launch() {
    let w = World::new();
    let app = app(&w);
    for args in [&["subtree", "x", "--agent", "claud"][..], &["worker", "x", "--agent", "claud"]] {
        app.spawn(args).exit(2).err_has("no command is set for the agent `claud`");
    }
    assert_eq!(app.spawn(&["list", "--json"]).exit(0).json_lines().len(), 1);
}
