//! What a stranger met on the first day.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::support::door::app;
use crate::support::floor::Floor;
use crate::support::world::{World, built, text, wait_for, which, write};

#[test]
fn lines_in_the_files_of_a_hook_manager_are_named_until_a_person_deletes_them() {
    let w = World::new();
    let app = w.repo("app");
    app.write(".husky/_/post-checkout", "#!/bin/sh\n. \"${0%/*}/../post-checkout\"\n");
    app.sh("chmod +x .husky/_/post-checkout; git config core.hooksPath .husky/_").exit(0);
    app.shopfloor(&["setup", "--yes"]).exit(1).any_out().err_has("add to .husky/post-checkout:");
    app.write(".husky/post-checkout", "sweatfile-apply hook run post-checkout \"$@\"\n");
    app.run("sweatfile-apply", &["hook", "status"]).exit(0).any_out();
    let out = app.shopfloor(&["teardown"]).exit(1).any_out();
    out.err_has(
        ".husky/post-checkout still has the line of sweatfile-apply for post-checkout, which husky runs; delete it",
    );
    app.run("sweatfile-apply", &["hook", "uninstall"]).exit(1).err_has("delete it");
    std::fs::remove_file(app.path.join(".husky/post-checkout")).unwrap();
    app.shopfloor(&["teardown"]).succeeds().any_err();
    assert!(!app.has(".git/shopfloor/setup.json"));
}

#[test]
fn a_table_that_nobody_reads_is_named_by_status_and_doctor() {
    let w = World::new();
    let app = app(&w);
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn.runners.sandbox]\nnetwork = false\n");
    let told = "config.toml:1: unknown table `worktree-spawn.runners`; did you mean `worker-ctl.runners`?";
    app.shopfloor(&["status"]).exit(0).any_out().err_has(told);
    app.shopfloor(&["doctor"]).exit(1).any_err().out_has(told);
    let listed = app.spawn(&["list"]).exit(0).any_out();
    assert_eq!(listed.err_has(told).stderr.matches("unknown").count(), 1);
}

#[test]
fn what_git_does_not_bring_is_proposed_as_a_line_of_the_sweatfile() {
    let w = World::new();
    let app = app(&w);
    app.write("package-lock.json", "{}\n");
    app.write(".gitmodules", "");
    let line = "setup = [\"git submodule update --init\", \"npm ci\"]: to run that in each new worktree";
    app.shopfloor(&["setup", "-n"]).exit(0).any_out().err_has(line);
    app.shopfloor(&["setup", "--yes"]).exit(0).any_out().err_has(line);
    let again = app.shopfloor(&["setup", "--yes"]).exit(0).any_out();
    assert!(!again.stderr.contains("npm ci"), "{again}");
}

#[test]
fn an_overlay_goes_on_request_if_the_main_checkout_has_its_files() {
    let w = World::new();
    let app = app(&w);
    app.shopfloor(&["setup", "--yes"]).exit(0).any_out().any_err();
    let overlay = w.home(".local/share/shopfloor/overlays/app");
    app.shopfloor(&["teardown", "--overlay"]).exit(3).err_has("or with `--yes`");
    std::fs::write(overlay.join("only"), "precious\n").unwrap();
    let out = app.shopfloor(&["teardown", "--overlay", "--yes"]).exit(1);
    out.err_has("only is not in the main checkout, or differs there");
    assert!(app.has(".git/shopfloor/setup.json") && overlay.join("only").exists());
    std::fs::remove_file(overlay.join("only")).unwrap();
    let rm = format!("rm -r {}\n", overlay.display());
    app.shopfloor(&["teardown", "--overlay", "-n"]).exit(0).any_err().out_has(&format!("would run {rm}"));
    assert!(overlay.exists());
    app.shopfloor(&["teardown", "--overlay", "--yes"]).exit(0).any_err().out_has(&rm);
    assert!(!overlay.exists() && app.has(".env"));
    app.shopfloor(&["teardown", "--overlay"]).exit(0).any_out().err_has("`--overlay` deletes nothing");
}

#[test]
fn a_setup_in_which_a_person_wants_nothing_says_so() {
    let w = World::new();
    let app = app(&w);
    let out = app.on_terminal("shopfloor setup", "n\nn\nn\nn\nn\nn\n").any_status();
    assert!(out.stdout.contains("nothing was set up") && !out.stdout.contains("commit what"), "{out}");
}

#[test]
fn a_checkout_that_git_calls_bare_is_named_with_its_cure() {
    let w = World::new();
    let app = w.app();
    app.git(&["config", "core.bare", "true"]);
    for (tool, command) in [
        ("shopfloor", "status"),
        ("sweatfile-apply", "check"),
        ("ledger-synth", "check"),
        ("worktree-spawn", "subtree"),
    ] {
        let args = if command == "subtree" { vec![command, "x"] } else { vec![command] };
        let out = app.run(tool, &args).exit(2);
        out.err_has("has a checkout, but core.bare is true in .git/config").err_has("core.bare false");
    }
    let bare = w.at(w.home("bare.git"));
    std::fs::create_dir_all(&bare.path).unwrap();
    bare.git(&["init", "-q", "--bare"]);
    let out = bare.run("sweatfile-apply", &["check"]).exit(2);
    assert!(!out.stderr.contains("core.bare"), "{out}");
}

#[test]
fn a_bare_repository_with_worktrees_has_agents_like_any_other() {
    let w = World::new();
    let app = w.app();
    app.commit("README.md", "app\n");
    for (bare, main) in [("proj/.bare", "proj/main"), ("plain.git", "plain"), ("wrap/.bare", "wrap/main")] {
        let (bare, main) = (w.at(w.home(bare)), w.at(w.home(main)));
        app.git(&["clone", "-q", "--bare", ".", bare.path.to_str().unwrap()]);
        if bare.path.ends_with("proj/.bare") {
            write(&bare.path.with_file_name(".git"), "gitdir: ./.bare\n");
        }
        bare.git(&["worktree", "add", "-q", main.path.to_str().unwrap(), "main"]);
        let a = w.at(main.shopfloor(&["new", "a"]).exit(0).any_err().stdout.trim_end());
        a.commit("f", "1\n");
        for at in [&main, &a, &bare] {
            at.shopfloor(&["status"]).exit(0).any_err().out_has("main.a").out_has("1 ahead");
            assert_eq!(at.shopfloor(&["go"]).exit(0).stdout.trim_end(), main.path.to_str().unwrap());
        }
        main.shopfloor(&["setup", "--yes"]).exit(2).err_has("has no main checkout");
        // The worktree of its branch stands for the main checkout.
        a.shopfloor(&["rm", "main"]).exit(1).err_has("is the main checkout, which is never removed");
        for words in [&["land", "main"][..], &["start", "main", "task", "--yes"]] {
            main.shopfloor(words).exit(1).err_has("is the main checkout, where you work yourself");
        }
        let inside = a.shopfloor(&["rm", "a", "--force"]).exit(1);
        inside.err_has(&format!("`cd {}`", main.path.display()));
        main.shopfloor(&["rm", "a", "--force"]).exit(0).any_out().any_err();
        assert!(!a.path.exists());
        main.git(&["worktree", "add", "-q", "-b", "fix", "../fix"]);
        main.shopfloor(&["adopt", "../fix"]).exit(0).any_out().any_err();
        // From inside of a worker's clone it is the repository that the clone is of.
        let k = w.at(main.shopfloor(&["new", "k", "--clone"]).exit(0).any_err().stdout.trim_end());
        assert_eq!(k.shopfloor(&["go"]).exit(0).stdout.trim_end(), main.path.to_str().unwrap());
    }
}

#[test]
fn the_worktrees_of_a_submodule_lie_beside_its_superproject() {
    let w = World::new();
    let (big, lib) = (w.repo("big"), w.repo("lib"));
    let url = lib.path.to_str().unwrap();
    big.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "vendor/lib"]);
    big.git(&["commit", "-q", "-m", "lib"]);
    let inner = w.at(big.path.join("vendor/lib"));
    let x = w.at(inner.shopfloor(&["new", "x"]).exit(0).any_err().stdout.trim_end());
    assert_eq!((x.path, big.git(&["status", "--porcelain"])), (w.home("big.lib.worktrees/x"), String::new()));
}

#[test]
fn where_the_main_checkout_is_gone_nobody_is_told_to_make_another_one() {
    let w = World::new();
    let app = w.app();
    let linked = app.worktree("linked");
    std::fs::rename(&app.path, w.home("moved")).unwrap();
    for tool in ["shopfloor", "worktree-spawn"] {
        let out = linked.run(tool, &[if tool == "shopfloor" { "status" } else { "list" }]).exit(2);
        out.err_has("is a worktree of a repository that is gone").err_has("git worktree repair");
        assert!(!out.stderr.contains("git init"), "{out}");
    }
}

#[test]
fn a_private_setup_writes_nothing_that_others_find() {
    let w = World::new();
    let app = app(&w);
    let tracked = || app.git(&["status", "--porcelain"]);
    assert_eq!(tracked(), "");
    app.shopfloor(&["setup", "--private", "-n"]).exit(0).any_out().err_has("no sweatfile, no ledger and no skills");
    app.shopfloor(&["setup", "--private", "--yes"]).exit(0).any_out().any_err();
    assert_eq!(tracked(), "");
    app.shopfloor(&["setup", "--private", "--yes"]).exit(0).err_has("everything is set up");
    let x = w.at(app.shopfloor(&["new", "x"]).exit(0).any_err().stdout.trim_end());
    assert_eq!((x.read(".env"), x.git(&["status", "--porcelain"])), ("A=1\n".into(), String::new()));
    app.shopfloor(&["rm", "x"]).exit(0).any_out().any_err();
    app.shopfloor(&["teardown", "--overlay", "--yes"]).exit(0).any_out().any_err();
    assert_eq!(tracked(), "");
    // Where the repository tracks its hooks, none is added.
    app.write(".githooks/pre-commit", "#!/bin/sh\n");
    app.sh("git config core.hooksPath .githooks && git add . && git commit -qm hooks").exit(0).any_err();
    app.shopfloor(&["setup", "--private", "--yes"]).exit(0).any_out().err_has("from a directory of the checkout");
    assert_eq!(tracked(), "");
    // Where a program manages them, nobody is told to change its file.
    app.write(".husky/_/.gitignore", "*\n");
    app.write(".husky/_/post-checkout", "#!/bin/sh\n");
    app.git(&["config", "core.hooksPath", ".husky/_"]);
    let out = app.shopfloor(&["setup", "--private", "--yes"]).exit(0).any_out();
    out.err_has("so none is installed");
    assert!(!out.stderr.contains("add what is above"), "{out}");
}

/// A root that was deleted by hand has no workers, so it holds no worktree; and a person is told of it.
#[test]
fn a_root_that_is_gone_refuses_no_removal_and_is_named() {
    let w = World::new();
    let app = w.app();
    app.commit("README.md", "app\n");
    let root = w.home("gone");
    app.run("worker-ctl", &["init", "--target", root.to_str().unwrap()]).succeeds();
    app.shopfloor(&["new", "x"]).exit(0).any_out().any_err();
    std::fs::remove_file(root.join("state.json")).unwrap();
    app.shopfloor(&["rm", "x"]).exit(4).any_out().err_has("run `worker-ctl doctor --rebuild`");
    std::fs::remove_dir_all(&root).unwrap();
    app.shopfloor(&["rm", "x"]).exit(0).any_err().out_has("removed main.x");
    let doctor = app.shopfloor(&["doctor"]).exit(1).any_err();
    doctor.out_has("wrong  worker-ctl       state: ").out_has("the directory does not exist; restore it");
    let made = app.run("worker-ctl", &["init"]).exit(0).any_out();
    made.err_has("the repository now records").err_has(&format!("`--root {}`", root.display()));
}

/// Nobody can say then whether an agent was started, and what it does.
#[test]
fn where_the_state_cannot_be_read_each_verb_says_why() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["ada"]);
    let app = &floor.app;
    let run = |words: &str| app.shopfloor(&words.split(' ').collect::<Vec<_>>());
    // Nor can a root of another repository, or what is none.
    let other = w.home("b-root").to_str().unwrap().to_owned();
    w.repo("b").run("worker-ctl", &["init", "--target", &other]).succeeds();
    for root in ["/nonexist", app.path.to_str().unwrap(), other.as_str()] {
        let run = |words: &[&str]| app.run_with("shopfloor", words, &[("WORKER_CTL_ROOT", root)]);
        let told = run(&["status", "--json"]).exit(4).any_err().json();
        assert!(text(&told, "/problems/0").contains("which is no root of this repository"), "{told}");
        run(&["review", "ada"]).exit(2).err_has("no root of this repository").err_has("`unset WORKER_CTL_ROOT`");
        run(&["doctor"]).exit(1).any_err().out_has("no root of this repository; leave it out: ");
    }
    // A configuration that is wrong is bad usage, as the tools say.
    let config = w.home(".config/shopfloor/config.toml");
    write(&config, "[overlay-sync\n");
    for words in ["review ada", "land ada", "go ada", "peek ada", "rm ada", "send ada hi", "stop ada", "jump --name"] {
        let refused = run(&format!("{words} --json")).exit(2).json();
        assert_eq!(text(&refused, "/error/kind"), "malformed", "{words}");
    }
    app.apply(&["doctor"]).exit(1).any_err().out_has("wrong   settings ").out_has("config.toml:1:14");
    assert!(app.overlay(&["doctor", "--json"]).exit(1).json()["fix"].is_null());
    std::fs::remove_file(config).unwrap();
    floor.root.write("state.json", "{");
    for words in [
        "review ada",
        "back ada x",
        "peek ada",
        "send ada hi",
        "attach ada",
        "answer ada",
        "start ada x",
        "land ada",
        "rm ada",
        "rm --force ada",
        "review",
        "jump --name",
    ] {
        let refused = run(words).exit(4);
        refused.err_has("state.json: EOF").err_has("\n  hint: run `worker-ctl doctor --rebuild`");
        assert_eq!(refused.stdout, "", "{words}");
    }
    // Where a directory is, and the programs of all, depend on none of it.
    assert_eq!(run("go ada").exit(0).any_err().stdout.trim_end(), app.path.with_file_name("ada").to_str().unwrap());
    run("stop").exit(0).any_out().err_has("state.json: EOF");
    // What lists a root is told with it, in the words of the front door.
    write(&w.home(".local/state/shopfloor/roots"), "");
    run("status").exit(4).any_out().err_has("not on your list of roots").err_has("list it: `shopfloor root trust ");
    // What the system says is told with what it was about.
    let error = r#"{"v":1,"error":{"kind":"failed","message":"cannot read it\ncaused by: no luck","hints":["try"]}}"#;
    w.program("worker-ctl", &format!("printf '%s\\n' '{error}'; exit 4"));
    run("status").exit(4).any_out().err_has("worker-ctl: cannot read it: no luck; try\n");
    run("review ada").exit(4).err_has("cannot read it\n  caused by: no luck\n  hint: try\n");
    // Nor can anybody say so where worker-ctl cannot be started.
    write(&w.path("bin/worker-ctl"), "\u{7f}ELFxx");
    for words in ["send ada hi", "wait ada", "stop ada", "resume ada", "land ada", "rm ada", "rm --force ada"] {
        let refused = run(words).exit(4);
        refused
            .err_has("error: cannot run ")
            .err_has("bin/worker-ctl\n  caused by: ")
            .err_has("hint: `shopfloor doctor`");
    }
    w.program("worker-ctl", "exit 0");
}

#[test]
fn a_signal_while_the_tools_are_asked_is_no_problem_of_theirs() {
    let w = World::new();
    let app = w.app();
    w.program("worktree-spawn", "kill -INT $PPID; exec sleep 600");
    let watched = app.shopfloor(&["status", "--watch"]).exit(130);
    assert_eq!((watched.stdout.as_str(), watched.stderr.as_str()), ("", ""));
    for words in [&["status"][..], &["send", "x", "hi"]] {
        assert_eq!(app.shopfloor(words).exit(130).stderr, "shopfloor: error: ended by signal 2\n", "{words:?}");
    }
}

/// `new` has no option for the place of worktrees; the setting is a person's.
#[test]
fn where_no_worktree_can_be_made_the_setting_of_their_place_is_named() {
    let w = World::new();
    let app = w.app();
    app.write("../app.worktrees", "mine\n");
    let refused = app.shopfloor(&["new", "x"]).exit(2);
    refused.err_has("app.worktrees is not a directory").err_has("with `worktree_base` in `[worktree-spawn]`");
    assert!(!refused.stderr.contains("--base-dir"), "{refused}");
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nworktree_base = \"../trees\"\n");
    app.shopfloor(&["new", "x"]).exit(0).any_err().out_has("trees/x");
}

/// git does not record where the main checkout of a separate git directory is, but who asks there knows it.
#[test]
fn in_the_main_checkout_of_a_separate_git_directory_all_worktrees_are_shown() {
    let w = World::new();
    which("tmux");
    let home = w.at(w.home(""));
    home.sh("git init -q -b main --separate-git-dir=store main && git -C main commit -q --allow-empty -m a").exit(0);
    w.at(w.home("main")).git(&["worktree", "add", "-q", "../linked"]);
    w.at(w.home("main")).shopfloor(&["status"]).succeeds().out_has("linked");
    home.sh("mv main moved").exit(0);
    w.at(w.home("moved")).shopfloor(&["status"]).succeeds().out_has("linked");
    // Nobody has written it down.
    let linked = w.at(w.home("linked"));
    linked.apply(&["check"]).exit(2).err_has("nothing says where the main checkout of");
    // The first adoption does.
    let moved = w.at(w.home("moved"));
    moved.git(&["worktree", "add", "-q", "../other"]);
    linked.commit("f", "mine\n");
    moved.shopfloor(&["land", "linked", "-n"]).exit(0).any_out().any_err();
    linked.apply(&["check"]).exit(2).any_err();
    moved.shopfloor(&["land", "linked"]).exit(0).any_out().any_err();
    moved.shopfloor(&["adopt", "../other"]).exit(0).any_out().any_err();
    assert_eq!(moved.read("f"), "mine\n");
    assert_eq!(linked.shopfloor(&["go"]).exit(0).stdout, format!("{}\n", moved.path.display()));
}

/// A repository without a root, and an agent program, which is called `mine`.
fn without_root(w: &World) -> Floor<'_> {
    which("tmux");
    let app = w.app();
    app.commit("README.md", "app\n");
    let table = format!("[worker-ctl.agents.mine]\ncommand = [{:?}]\nready = {{ pattern = \"^>\" }}\n", built("agent"));
    write(&w.home(".config/shopfloor/config.toml"), &table);
    // It ends the sessions of the root that comes.
    Floor { app, root: w.at(w.home("workers")) }
}

#[test]
fn the_first_agent_may_be_one_in_the_clone() {
    let w = World::new();
    let floor = without_root(&w);
    let new = ["new", "cl", "COMMIT f one First", "--clone", "--agent", "mine"];
    floor.app.shopfloor(&[&new[..], &["-n"]].concat()).exit(0).any_err().out_has("would create");
    assert!(!floor.root.path.exists());
    floor.app.shopfloor(&new).exit(0).any_err().out_has("/cl\n");
    floor.app.shopfloor(&["wait", "cl"]).exit(0).any_out().any_err();
    assert_eq!(text(&floor.status("cl"), "/repo"), "clone");
}

#[test]
fn where_no_branch_is_the_default_one_the_command_that_names_it_is_told() {
    let w = World::new();
    let floor = without_root(&w);
    floor.app.git(&["branch", "-m", "trunk"]);
    let new = ["new", "x", "COMMIT f one First", "--agent", "mine"];
    floor.app.shopfloor(&new).exit(2).err_has("cannot tell which branch").err_has("`shopfloor init --branch NAME`");
    floor.app.shopfloor(&["init", "--branch", "trunk"]).exit(0).any_out();
    floor.app.shopfloor(&new).exit(0).any_err().any_out();
    floor.app.shopfloor(&["wait", "x"]).exit(0).any_out().any_err();
    assert_eq!(text(&floor.status("x"), "/target"), "trunk");
}

#[test]
fn a_task_of_which_nothing_was_typed_is_sent_by_the_same_command_and_by_resume() {
    let w = World::new();
    let floor = without_root(&w);
    let log = format!("SCRIPTED_LOG={}", w.home("prompts.jsonl").display());
    let command = ["env".to_owned(), log, built("agent").display().to_string()];
    let table = format!("[worker-ctl.agents.mine]\ncommand = {command:?}\nready = {{ pattern = \"^>\" }}\n");
    write(&w.home(".config/shopfloor/config.toml"), &table);
    let kill = "case \"$KILL $*\" in '1 '*' load-buffer '*) kill -KILL $PPID; exit 1 ;; esac";
    w.program("tmux", &format!("{kill}\nexec '{}' \"$@\"", which("tmux").display()));
    for name in ["q", "r"] {
        let task = format!("do {name}");
        let (new, resume) = (["new", name, task.as_str(), "--agent", "mine"], ["resume", name]);
        floor.app.run_with("shopfloor", &new, &[("KILL", "1")]).exit(137).any_out().any_err();
        let again = if name == "q" { &new[..] } else { &resume[..] };
        floor.app.shopfloor(again).exit(0).any_out().any_err();
        wait_for(|| floor.prompts().last().is_some_and(|last| last.ends_with(&task)));
        // Once it has it, nothing is sent again.
        floor.app.shopfloor(again).exit(0).any_out().any_err();
    }
    assert_eq!(floor.prompts().len(), 2);
}

#[test]
fn without_a_command_the_help_is_shown_where_there_is_no_repository() {
    let w = World::new();
    let nowhere = w.at(w.home("nowhere"));
    std::fs::create_dir(&nowhere.path).unwrap();
    nowhere.shopfloor(&[]).exit(0).out_has("Commands:");
    for words in [&["--json"][..], &["rebase", "x", "--json"], &["host", "list", "--json"]] {
        nowhere.shopfloor(words).exit(2).any_err().out_has("not_a_repository");
    }
    // One that is there and cannot be used.
    nowhere.write(".git", "gitdir: gone\n");
    nowhere.shopfloor(&[]).exit(2).err_has("is a worktree of a repository that is gone");
}

#[test]
fn that_a_worktree_cannot_lie_beside_the_checkout_is_said() {
    let w = World::new();
    let app = w.repo("app");
    app.commit("README.md", "app\n");
    let odd = w.at(app.path.with_file_name(OsStr::from_bytes(b"odd\xff")));
    std::fs::rename(&app.path, &odd.path).unwrap();
    // The place that the path names if it is taken for text.
    let other = w.at(app.path.with_file_name("odd\u{fffd}"));
    for (at, whose) in [(&odd, "own"), (&other, "other")] {
        at.write(".git/hooks/post-checkout", &format!("#!/bin/sh\necho {whose} hook >&2\n"));
        at.sh("chmod +x .git/hooks/post-checkout").exit(0);
    }
    let made = odd.shopfloor(&["new", "feat"]).exit(0);
    made.out_has("/.shopfloor/worktrees/feat\n")
        .err_has("inside of the checkout, because the path beside it is not UTF-8")
        .err_has("own hook");
    let is_there = "test -f \"$SHOPFLOOR_REPOSITORY/HEAD\"";
    odd.spawn(&["run", "feat", "--", "sh", "-c", is_there]).exit(0);
    odd.sh(&format!("eval \"$(worktree-spawn env feat)\" && {is_there}")).exit(0);
}

#[test]
fn the_first_task_goes_on_from_the_commits_that_a_branch_has() {
    let w = World::new();
    which("tmux");
    let app = w.app();
    app.commit("README.md", "app\n");
    // It ends the sessions of the root that comes.
    let floor = Floor { app: app.clone(), root: w.at(w.home("workers")) };
    let table = format!("[worker-ctl.agents.mine]\ncommand = [{:?}]\nready = {{ pattern = \"^>\" }}\n", built("agent"));
    write(&w.home(".config/shopfloor/config.toml"), &table);
    for branch in ["here", "far"] {
        app.git(&["checkout", "-q", "-b", branch, "main"]);
        app.commit(branch, "begun\n");
    }
    app.git(&["checkout", "-q", "main"]);
    app.git(&["update-ref", "refs/remotes/origin/far", "far"]);
    app.git(&["branch", "-q", "-D", "far"]);
    for branch in ["here", "far"] {
        let (name, task) = (format!("on-{branch}"), format!("COMMIT {branch} done Finish {branch}"));
        let new = || app.shopfloor(&["new", &name, &task, "--branch", branch, "--agent", "mine"]);
        let tree = w.at(new().exit(0).any_err().stdout.trim_end());
        app.shopfloor(&["wait", &name]).exit(0).any_out().any_err();
        assert_eq!((tree.read(branch), tree.git(&["rev-list", "--count", "main.."])), ("done\n".into(), "2\n".into()));
        // Work on a task of ours waits for its review.
        app.shopfloor(&["start", &name, "more"]).exit(1).any_out().err_has("is needs_review");
        new().exit(1).any_out().err_has("already exists").err_has("`shopfloor send NAME TEXT`");
        let other = ["new", name.as_str(), "more", "--branch", branch, "--agent", "mine", "--if-exists", "return"];
        let refused = app.shopfloor(&other).exit(1).any_out();
        refused.err_has("is needs_review").err_has(&format!("`shopfloor review --pin {name}`"));
        assert!(!refused.stderr.contains("the same command goes on"), "{refused}");
    }
    // What the branch had is no loss, because it stays there.
    app.git(&["branch", "-q", "idle", "here~1"]);
    app.shopfloor(&["new", "idle-one", "Look around", "--branch", "idle", "--agent", "mine"])
        .exit(0)
        .any_out()
        .any_err();
    app.shopfloor(&["reset", "idle-one", "--yes"]).exit(0).any_out().any_err();
    assert_eq!(text(&floor.status("idle-one"), "/task"), "needs_review");
    assert_eq!(app.git(&["for-each-ref", "refs/shopfloor/trash/"]), "");
    // A task that is taken away leaves the branch as it was before: that waits for its review, and another task begins there.
    app.shopfloor(&["reset", "on-here", "--yes", "--force"]).exit(0).any_out().any_err();
    assert_eq!(text(&floor.status("on-here"), "/task"), "needs_review");
    app.shopfloor(&["review", "on-here", "--no-pin"]).exit(0).any_err().out_has("+begun");
    // What has come since is looked at first.
    w.at(text(&floor.status("on-here"), "/worktree")).commit("since", "since\n");
    app.shopfloor(&["start", "on-here", "more"]).exit(1).any_out().err_has("is no longer at the commit");
    app.shopfloor(&["patrol"]).exit(0).any_out().any_err();
    app.shopfloor(&["stop", "on-here"]).exit(0).any_out().any_err();
    app.shopfloor(&["start", "on-here", "COMMIT more more Finish otherwise"]).exit(0).any_out().any_err();
    app.shopfloor(&["wait", "on-here"]).exit(0).any_out().any_err();
    assert_eq!(text(&floor.status("on-here"), "/task"), "needs_review");
    app.shopfloor(&["review", "on-here", "--pin"]).exit(0).any_err().out_has("+begun").out_has("+more");
    app.shopfloor(&["land", "on-here"]).exit(0).any_out().any_err();
    let read = |file| app.read(file);
    assert_eq!(["here", "since", "more"].map(read), ["begun\n", "since\n", "more\n"]);
    // Now nothing is left to wait for a review.
    app.shopfloor(&["reset", "on-here", "--yes"]).exit(0).any_out().any_err();
    assert_eq!(text(&floor.status("on-here"), "/task"), "idle");
}
