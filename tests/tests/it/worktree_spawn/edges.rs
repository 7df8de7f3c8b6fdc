//! worktree-spawn where things are not as they should be: what people tried to break it with, and could not any more.

use std::io::Write;
use std::process::Stdio;

use serde_json::json;

use crate::support::spawn::{app, subtree};
use crate::support::world::{Repo, World, text, traced, wait_for, write};

fn start(at: &Repo<'_>, args: &[&str]) -> std::process::Child {
    let mut command = at.world.command(at.world.path("bin/worktree-spawn"));
    command.args(args).current_dir(&at.path).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn only_branch(app: &Repo<'_>, id: &str) -> String {
    app.git(&["for-each-ref", "--format=%(refname:short)", &format!("refs/heads/{id}")])
}

#[test]
fn a_copied_repository_leaves_the_original_alone() {
    let w = World::new();
    let app = app(&w);
    let original = subtree(&app, &["x"]);
    let copy = w.at(app.path.with_file_name("copy"));
    w.at(w.home("")).sh(&format!("cp -a {} {}", app.path.display(), copy.path.display())).exit(0);
    copy.spawn(&["repair"]).exit(0).out_has("copy/.shopfloor/worktrees/x");
    let copied = w.at(copy.path.join(".shopfloor/worktrees/x"));
    original.commit("in-original", "1");
    copied.commit("in-copy", "1");
    assert_eq!(original.git(&["rev-parse", "HEAD"]), app.git(&["rev-parse", "main.x"]));
    assert_eq!(copied.git(&["rev-parse", "HEAD"]), copy.git(&["rev-parse", "main.x"]));
    assert_eq!(
        (
            String::from(original.spawn(&["whoami"]).exit(0).stdout),
            String::from(copied.spawn(&["whoami"]).exit(0).stdout)
        ),
        ("main.x\n".to_owned(), "main.x\n".to_owned())
    );
}

#[test]
fn a_base_among_sources_hides_the_worktree_and_nothing_else() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["x", "--base-dir", "src"]);
    app.write("src/new.c", "mine");
    assert_eq!(app.git(&["status", "--porcelain", "-uall"]), "?? src/new.c\n");
    app.spawn(&["remove", "x"]).exit(0);
    assert_eq!(app.git(&["status", "--porcelain", "-uall"]), "?? src/new.c\n");
    assert!(app.excludes().iter().all(|line| !line.contains("src")), "{:?}", app.excludes());
}

#[test]
fn what_only_this_worktree_has_is_refused_or_kept() {
    let w = World::new();
    let app = app(&w);
    // A repository inside, which a commit would only name.
    let nest = subtree(&app, &["nest"]);
    nest.sh("git init -q inner && cd inner && git commit -q --allow-empty -m precious").exit(0);
    app.spawn(&["remove", "nest", "--force"]).exit(1).err_has("repository of its own");
    // Commits that only an operation under way knows of.
    let stash = subtree(&app, &["stash"]);
    stash.commit("README.md", "theirs\n");
    app.commit("README.md", "ours\n");
    stash.write("src/main.rs", "precious\n");
    let _ = stash.run("git", &["rebase", "-q", "--autostash", "main"]).exit(1).any_out().any_err();
    let kept = app.spawn(&["remove", "stash", "--force"]).exit(0).stdout;
    let parents = app.git(&["rev-list", "--parents", "-n1", kept.trim()]);
    let has = |sha: &str| app.git(&["show", &format!("{sha}:src/main.rs")]) == "precious\n";
    assert!(parents.split_whitespace().any(has), "{parents}");
    // A directory that is away, on a stick.
    let away = subtree(&app, &["away"]);
    away.git(&["switch", "-q", "--detach"]);
    away.commit("loose", "1\n");
    let loose = away.git(&["rev-parse", "HEAD"]);
    app.git(&["worktree", "lock", away.path.to_str().unwrap()]);
    let stick = app.path.with_file_name("stick");
    std::fs::rename(&away.path, &stick).unwrap();
    app.spawn(&["remove", "away", "--force"]).exit(1).err_has("is locked");
    app.git(&["worktree", "unlock", away.path.to_str().unwrap()]);
    app.spawn(&["remove", "away"]).exit(1).err_has("is not there");
    app.spawn(&["subtree", "away", "--if-exists", "return"]).exit(1).err_has("is not there");
    assert!(app.spawn(&["gc"]).exit(0).stdout.contains("kept main.away"));
    let kept = app.spawn(&["remove", "away", "--force"]).exit(0).stdout;
    assert_eq!(app.git(&["rev-parse", kept.trim()]), loose);
    // A branch that another worktree has as well.
    subtree(&app, &["two"]);
    app.git(&["worktree", "add", "-q", "--force", "../dup", "main.two"]);
    app.spawn(&["remove", "main.two", "--delete-branch"]).exit(1).err_has("as well");
    app.spawn(&["remove", "main.two"]).exit(0).err_has("checked out at");
    assert_eq!(only_branch(&app, "main.two"), "main.two\n");
}

#[test]
fn gc_keeps_whom_it_says_it_keeps() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["x"]);
    child.spawn(&["worker", "w", "--task", "important"]).exit(0);
    app.spawn(&["run", "main.x", "--", "true"]).exit(0);
    let said = app.spawn(&["gc"]).exit(0).stdout;
    assert!(said.contains("kept main.x/w") && said.contains("kept main.x: others are seated in it"), "{said}");
    assert_eq!(child.read(".shopfloor/agents/w/task.md"), "important");
    // An earlier life of the name is not the new one's.
    child.spawn(&["remove", "main.x/w"]).exit(0);
    app.git(&["worktree", "remove", child.path.to_str().unwrap()]);
    app.git(&["branch", "-q", "-D", "main.x"]);
    subtree(&app, &["x", "--task", "new"]);
    assert_eq!(text(&app.spawn(&["list", "--json", "--kind", "subtree"]).exit(0).json(), "/state"), "never");
    app.spawn(&["gc"]).exit(0).out_has("kept main.x: it was never run");
}

#[test]
fn whoever_outlives_its_parent_is_heard_above() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["x"]);
    child.spawn(&["worker", "w"]).exit(0);
    // Its agent lives for as long as its input is open, however long the rest takes.
    let mut run = w.command(w.path("bin/worktree-spawn"));
    run.args(["run", "main.x/w", "--", "sh", "-c", "read line"]).current_dir(&child.path).stdin(Stdio::piped());
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // It never had an event of its own.
    wait_for(|| app.spawn(&["list", "--live", "--json"]).exit(0).stdout.contains("main.x/w"));
    app.spawn(&["remove", "x", "--force"]).exit(0);
    drop(run.stdin.take());
    run.wait().unwrap();
    let event = app.spawn(&["wait", "--timeout", "20s"]).exit(0).json();
    assert_eq!((text(&event, "/from/id"), text(&event, "/forwarded_from")), ("main.x/w", "main.x"));
    // A key of an earlier agent of the name is no key of the new one.
    let again = subtree(&app, &["x"]);
    again.spawn(&["notify", "info", "one", "--dedupe", "k"]).exit(0);
    app.spawn(&["remove", "x"]).exit(0);
    subtree(&app, &["x"]).spawn(&["notify", "info", "two", "--dedupe", "k"]).exit(0);
    let said = app.spawn(&["wait", "--count", "2", "--timeout", "9s"]).exit(0).json_lines();
    assert_eq!((text(&said[0], "/message"), text(&said[1], "/message")), ("one", "two"));
    // Left behind a tombstone by a kill, it is repair that sends it on.
    app.spawn(&["remove", "x"]).exit(0);
    let session = app.path.join(".git/shopfloor/worktree-spawn/session/main.x");
    let event = json!({ "v": 1, "id": 7, "uid": "u7", "ts": "t", "type": "left", "from": { "id": "main.x/w" } });
    write(&session.join("new/00000000000000000007.json"), &format!("{event}\n"));
    app.spawn(&["repair"]).exit(0).out_has("1 events for it go to root");
    assert_eq!(text(&app.spawn(&["wait", "--timeout", "9s"]).exit(0).json(), "/type"), "left");
}

#[test]
fn no_two_have_one_id() {
    let w = World::new();
    let app = app(&w);
    app.git(&["worktree", "add", "-q", "-b", "root", "../root"]);
    let stranger = w.at(app.path.with_file_name("root"));
    assert_eq!(stranger.spawn(&["whoami"]).exit(0).stdout, "root@root\n");
    let child = subtree(&app, &["x"]);
    child.git(&["switch", "-q", "-c", "elsewhere"]);
    app.git(&["worktree", "add", "-q", "../hand", "main.x"]);
    assert_eq!(w.at(app.path.with_file_name("hand")).spawn(&["whoami"]).exit(0).stdout, "main.x@hand\n");
    assert_eq!(app.spawn(&["path", "main.x"]).exit(0).stdout, format!("{}\n", child.path.display()));
    // Records that say they are above each other are drawn all the same.
    let record = app.path.join(".git/worktrees/x/shopfloor/worktree-spawn/identity.json");
    let text = std::fs::read_to_string(&record).unwrap().replace("\"parent\":\"root\"", "\"parent\":\"main.x\"");
    std::fs::write(&record, text).unwrap();
    app.spawn(&["list", "--tree"]).exit(0).out_has("main.x  ");
    let text = std::fs::read_to_string(&record).unwrap().replace("\"slug\":\"x\"", "\"slug\":\"../x\"");
    std::fs::write(&record, text).unwrap();
    app.spawn(&["list", "--json"]).exit(0).out_has("is no slug");
}

#[test]
fn an_agent_lives_as_long_as_its_command_whoever_is_killed() {
    let w = World::new();
    let app = app(&w);
    app.spawn(&["worker", "w"]).exit(0);
    app.sh("mkfifo fifo").exit(0);
    let mut run = start(&app, &["run", "root/w", "--", "sh", "-c", "read line < fifo"]);
    wait_for(|| app.spawn(&["list", "--live", "--json"]).exit(0).stdout.contains("root/w"));
    run.kill().unwrap();
    run.wait().unwrap();
    // Its command is still at work.
    assert!(app.spawn(&["list", "--live", "--json"]).exit(0).stdout.contains("root/w"));
    app.spawn(&["run", "root/w", "--", "true"]).exit(75).any_err();
    app.spawn(&["wait", "--timeout", "0s"]).exit(124).any_err();
    app.sh("echo go > fifo").exit(0);
    let event = app.spawn(&["wait", "--timeout", "30s"]).exit(0).json();
    assert_eq!(text(&event, "/type"), "worker_died");
    // What one left running in the background does not hinder the next.
    app.spawn(&["run", "root/w", "--", "sh", "-c", "sleep 600 > /dev/null 2>&1 & echo $! > pid"]).exit(0);
    app.spawn(&["run", "root/w", "--", "true"]).exit(0);
    app.sh("kill $(cat pid)").exit(0);
    let ends = app.spawn(&["wait", "--count", "2", "--timeout", "9s"]).exit(0).json_lines();
    assert!(ends.iter().all(|end| end["exit"] == 0), "{ends:?}");
}

#[test]
fn a_wait_on_a_full_pipe_can_be_ended_and_has_taken_nothing() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["x"]);
    write(&w.home("big"), &"x".repeat(400_000));
    child.sh("worktree-spawn notify info - < $HOME/big").exit(0);
    let mut wait = start(&app, &["wait"]);
    wait_for(|| {
        let state = std::fs::read_to_string(format!("/proc/{}/wchan", wait.id())).unwrap_or_default();
        state.contains("pipe")
            || std::fs::read_to_string(format!("/proc/{}/syscall", wait.id())).is_ok_and(|s| s.starts_with("1 0x1"))
    });
    app.sh(&format!("kill -TERM {}", wait.id())).exit(0);
    wait.wait().unwrap();
    let event = app.spawn(&["wait", "--timeout", "9s"]).exit(0).json();
    assert_eq!(text(&event, "/message").len(), 400_000);
}

#[test]
fn what_a_later_version_wrote_is_left_and_said() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["x"]);
    child.spawn(&["notify", "info", "known"]).exit(0);
    let new = app.path.join(".git/shopfloor/worktree-spawn/session/root/new");
    write(&new.join("00000000000000000002.json"), "{\"v\":2,\"id\":2}\n");
    child.spawn(&["notify", "info", "after"]).exit(0);
    let heard = app.spawn(&["wait", "--count", "2", "--timeout", "9s"]).exit(0);
    heard.err_has("newer than this program knows");
    assert_eq!(text(&heard.json_lines()[1], "/message"), "after");
    assert!(new.join("00000000000000000002.json").exists());
    let record = app.path.join(".git/worktrees/x/shopfloor/worktree-spawn/identity.json");
    let text = std::fs::read_to_string(&record).unwrap().replace("\"v\":1", "\"v\":2");
    std::fs::write(&record, text).unwrap();
    child.spawn(&["whoami"]).exit(2).err_has("use the version of worktree-spawn that wrote it");
}

#[test]
fn hooks_of_agents_never_fail() {
    let w = World::new();
    let app = app(&w);
    for line in [
        "worktree-spawn hook worker-exit --bogus",
        "worktree-spawn -C /nonexistent hook worker-exit",
        "SHOPFLOOR_NOW=soon worktree-spawn hook worker-exit",
        "mkdir gone && cd gone && rmdir ../gone && echo '{}' | worktree-spawn hook worker-exit",
        "echo '{}' | worktree-spawn --json hook worktree-remove",
        "echo '{\"hook_event_name\":\"PreToolUse\"}' | worktree-spawn hook worker-exit",
    ] {
        assert_eq!(app.sh(line).exit(0).any_err().stdout, "", "{line}");
    }
    app.spawn(&["hook", "nothing"]).exit(2).any_err();
    assert_eq!(app.spawn(&["events", "--all"]).exit(0).stdout, "");
}

#[test]
fn small_things_that_misled() {
    let w = World::new();
    let app = app(&w);
    app.spawn(&["subtree", "lock"]).exit(2).err_has("main.lock");
    app.spawn(&["subtree", "x", "--base-name", "a..b"]).exit(2).err_has("--base-name");
    app.spawn(&["subtree", "x", "--role", "a\nb"]).exit(2).err_has("--role");
    let x = subtree(&app, &["x", "--task", "t", "--agent", "gemini"]);
    assert!(x.read(".shopfloor/settings.json").contains("AfterAgent"));
    let y = subtree(&app, &["y"]);
    let told = "eval \"$(worktree-spawn env main.x)\"; eval \"$(worktree-spawn env main.y)\"; echo \"[$SHOPFLOOR_TASK_FILE$GEMINI_CLI_SYSTEM_SETTINGS_PATH]\"";
    assert_eq!(app.sh(told).exit(0).stdout, "[]\n");
    let warned = app.spawn(&["subtree", "z", "--launch", "-q", "--json"]).exit(0).any_err();
    assert!(text(&warned.json(), "/warnings/0").contains("no launcher is set"));
    app.spawn(&["subtree", "y", "--if-exists", "return", "--task", "late"]).exit(0).err_has("its task is as it was");
    // One bad journal hinders nobody.
    write(&app.path.join(".git/shopfloor/worktree-spawn/journal/abc.json"), "{");
    app.spawn(&["subtree", "v"]).exit(0).err_has("set aside");
    assert!(app.path.join(".git/shopfloor/worktree-spawn/journal/abc.bad").exists());
    // Cleaned away, the way to its tools is restored.
    y.git(&["clean", "-qffdx"]);
    app.spawn(&["repair"]).exit(0).out_has("restored the configuration of main.y");
    assert!(y.read(".mcp.json").contains("main.y"));
    // Linked worktrees of a repository with its git directory elsewhere know their root.
    w.at(w.home("")).git(&["clone", "-q", "--separate-git-dir", "sep.git", "eng/repos/app", "separate"]);
    let inside = subtree(&w.at(w.home("separate")), &["s"]);
    assert_eq!(inside.spawn(&["path", "root"]).exit(0).stdout, format!("{}\n", w.home("separate").display()));
    inside
        .run_with("worktree-spawn", &["whoami"], &[("SHOPFLOOR_AGENT_ID", "main.gone")])
        .exit(2)
        .err_has("may have been removed");
    for (args, what) in [(&["notify", "info", "x", "-n"][..], "would tell root as main.y\n"), (&["ack", "u", "-n"], "")]
    {
        assert_eq!(y.spawn(args).exit(0).stdout, what);
    }
    let gone = app.spawn(&["remove", "y", "-n"]).exit(0).stdout;
    assert!(gone.contains("would remove main.y at") && gone.contains("would delete the branch main.y"), "{gone}");
    assert_eq!(app.spawn(&["events", "--all"]).exit(0).stdout, "");
}

#[test]
fn a_hook_that_leaves_a_daemon_is_not_waited_for() {
    let w = World::new();
    let app = app(&w);
    app.write(".git/hooks/post-checkout", "#!/bin/sh\n. git-sh-setup\nsleep 600 & echo $! > $HOME/pid\n");
    app.sh("chmod +x .git/hooks/post-checkout").exit(0);
    let out = app.spawn(&["subtree", "x"]).exit(0);
    assert_eq!(out.stderr, "");
    app.sh("kill $(cat $HOME/pid)").exit(0);
}

#[test]
fn mcp_keeps_the_order_and_ends_with_a_signal() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["x"]);
    let mut command = w.command(w.path("bin/worktree-spawn"));
    command.args(["mcp", "--as", "main.x"]).current_dir(&app.path).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut server = command.spawn().unwrap();
    let mut stdin = server.stdin.take().unwrap();
    let info =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "it", "version": "1" } });
    writeln!(stdin, "{}", json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": info })).unwrap();
    writeln!(stdin, "{}", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).unwrap();
    for n in 1..=20 {
        let args = json!({ "name": "notify_parent", "arguments": { "status": "info", "message": n.to_string() } });
        writeln!(stdin, "{}", json!({ "jsonrpc": "2.0", "id": n, "method": "tools/call", "params": args })).unwrap();
    }
    let said = app.spawn(&["wait", "--count", "20", "--timeout", "30s"]).exit(0).json_lines();
    let said: Vec<u64> = said.iter().map(|event| text(event, "/message").parse().unwrap()).collect();
    assert_eq!(said, (1..=20).collect::<Vec<_>>());
    drop(stdin);
    assert!(server.wait().unwrap().success());
}

/// A spawn of `x` that was killed in its hook, all files there.
fn killed_in_its_hook<'w>(app: &Repo<'w>) -> Repo<'w> {
    let path = app.path.join(".shopfloor/worktrees/x");
    app.write(".git/hooks/post-checkout", "#!/bin/sh\necho $$ > $HOME/pid\nexec sleep 600\n");
    app.sh("chmod +x .git/hooks/post-checkout; rm -f $HOME/pid").exit(0);
    let mut spawn = start(app, &["subtree", "x"]);
    let pid = app.world.home("pid");
    wait_for(|| std::fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n')));
    spawn.kill().unwrap();
    spawn.wait().unwrap();
    app.sh("kill -9 $(cat $HOME/pid); rm .git/hooks/post-checkout").exit(0);
    Repo { world: app.world, path }
}

#[test]
fn what_became_of_a_killed_spawn_decides_what_is_undone() {
    type Meanwhile = fn(&Repo<'_>, &Repo<'_>);
    let cases: [(&str, Meanwhile, &str, bool); 8] = [
        ("nothing", |_, _| {}, "undid the spawn of main.x", false),
        ("it was removed", |_, x| std::fs::remove_dir_all(&x.path).unwrap(), "undid the spawn of main.x", false),
        (
            "it had got as far as a directory",
            |app, x| {
                // As git leaves it when it is killed between a directory and the first file in it.
                std::fs::remove_file(app.path.join(".git/worktrees/x/index")).unwrap();
                std::fs::remove_file(x.path.join("deep/er/file")).unwrap();
                assert!(x.path.join("module").is_dir());
            },
            "undid the spawn of main.x",
            false,
        ),
        (
            "it was moved",
            |app, x| {
                let to = app.path.with_file_name("elsewhere");
                app.git(&["worktree", "move", x.path.to_str().unwrap(), to.to_str().unwrap()]);
            },
            "kept",
            true,
        ),
        (
            "another has its branch",
            |app, x| {
                app.git(&["worktree", "remove", "--force", x.path.to_str().unwrap()]);
                app.git(&["worktree", "add", "-q", "../other", "main.x"]);
            },
            "undid",
            true,
        ),
        (
            "a clone was put there",
            |app, x| {
                app.git(&["worktree", "remove", "--force", x.path.to_str().unwrap()]);
                app.git(&["clone", "-q", ".", x.path.to_str().unwrap()]);
            },
            "undid",
            false,
        ),
        (
            "another worktree was put there",
            |app, x| {
                app.git(&["worktree", "remove", "--force", x.path.to_str().unwrap()]);
                app.git(&["worktree", "add", "-q", "-b", "mine", x.path.to_str().unwrap(), "main"]);
            },
            "undid",
            false,
        ),
        (
            "somebody wrote an ignored file",
            |app, x| {
                app.sh("echo notes >> .git/info/exclude").exit(0);
                std::fs::write(x.path.join("notes"), "work").unwrap();
            },
            "its files are in",
            false,
        ),
    ];
    for (what, meanwhile, said, has_branch) in cases {
        let w = World::new();
        let app = app(&w);
        app.commit("deep/er/file", "x\n");
        app.git(&[
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("160000,{},module", app.git(&["rev-parse", "HEAD"]).trim()),
        ]);
        app.git(&["commit", "-q", "-m", "module"]);
        app.sh("mkdir module").exit(0);
        let x = killed_in_its_hook(&app);
        meanwhile(&app, &x);
        // Others are not hindered, whatever it is.
        let out = app.spawn(&["subtree", "y"]).exit(0).stderr + &app.spawn(&["repair"]).exit(0).stdout;
        assert!(out.contains(said), "{what}: {out}");
        let there = x.path.join("README.md").exists();
        let expected = matches!(what, "a clone was put there" | "another worktree was put there");
        assert_eq!(there, expected, "{what}: {out}");
        assert_eq!(only_branch(&app, "main.x").is_empty(), !has_branch, "{what}: {out}");
        for tree in app.spawn(&["list", "-z"]).exit(0).stdout.split('\0').filter(|path| !path.is_empty()) {
            assert_eq!(w.at(tree).git(&["status", "--porcelain"]), "", "{what}: {tree}");
            w.at(tree).git(&["rev-parse", "HEAD"]);
        }
        if what.starts_with("it had got") {
            assert!(!x.path.exists(), "an empty directory keeps the name from being spawned again");
            app.spawn(&["subtree", "x"]).exit(0);
        }
        if what == "somebody wrote an ignored file" {
            app.sh("cat .git/shopfloor/worktree-spawn/undone/*/notes").exit(0).out_has("work");
        }
        assert_eq!(app.spawn(&["repair"]).exit(0).stdout, "", "{what}");
    }
}

#[test]
fn a_killed_spawn_where_an_agent_runs_is_kept_and_a_copy_of_one_touches_nothing() {
    let w = World::new();
    let app = app(&w);
    let x = killed_in_its_hook(&app);
    let copy = w.at(app.path.with_file_name("copy"));
    w.at(w.home("")).sh(&format!("cp -a {} {}", app.path.display(), copy.path.display())).exit(0);
    let mut run = start(&app, &["run", "main.x", "--", "sh", "-c", "read line < /dev/zero || sleep 600"]);
    wait_for(|| app.spawn(&["list", "--live", "--json"]).exit(0).stdout.contains("main.x"));
    copy.spawn(&["repair"]).exit(0);
    assert!(x.path.join("README.md").exists(), "the copy's repair touched the original");
    app.spawn(&["subtree", "y"]).exit(0).err_has("kept");
    assert!(x.path.join("README.md").exists());
    app.sh(&format!("pkill -P {}", run.id())).exit(0);
    run.wait().unwrap();
    assert_eq!(app.git(&["worktree", "list"]).lines().count(), 3);
}

#[test]
fn a_moved_repository_with_a_killed_spawn_is_repaired() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["kept"]);
    killed_in_its_hook(&app);
    let moved = w.at(app.path.with_file_name("moved"));
    std::fs::rename(&app.path, &moved.path).unwrap();
    moved.spawn(&["repair"]).exit(0).out_has("worktrees/kept");
    assert_eq!(moved.spawn(&["repair"]).exit(0).stdout, "");
    assert_eq!(
        moved.spawn(&["path", "kept"]).exit(0).stdout,
        format!("{}\n", moved.path.join(".shopfloor/worktrees/kept").display())
    );
    moved.spawn(&["subtree", "z"]).exit(0);
}

#[test]
fn a_root_under_run_is_live_and_a_death_after_run_s_is_heard() {
    let w = World::new();
    let app = app(&w);
    app.sh("mkfifo fifo").exit(0);
    let mut run = start(&app, &["run", "root", "--", "sh", "-c", "read line < fifo"]);
    wait_for(|| app.spawn(&["list", "--live", "--json"]).exit(0).stdout.contains("\"root\""));
    app.sh("echo go > fifo").exit(0);
    run.wait().unwrap();
    app.spawn(&["worker", "w"]).exit(0);
    let mut run = start(&app, &["run", "root/w", "--", "sh", "-c", "read line < fifo"]);
    wait_for(|| app.spawn(&["list", "--live", "--json"]).exit(0).stdout.contains("root/w"));
    let wait = start(&app, &["wait", "--timeout", "60s"]);
    run.kill().unwrap();
    run.wait().unwrap();
    let since = std::time::Instant::now();
    app.sh("echo go > fifo").exit(0);
    let heard: serde_json::Value = serde_json::from_slice(&wait.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(text(&heard, "/type"), "worker_died");
    assert!(since.elapsed().as_secs() < 30);
    // Words of a hook's name in a command are no hook.
    app.spawn(&["run", "nobody", "--", "x", "hook", "worker-exit"]).exit(1).any_err();
    app.spawn(&["hook", "--json", "worker-exit", "BAD"]).exit(0);
}

#[test]
fn a_list_opens_no_more_files_than_there_are_worktrees_to_look_at() {
    let w = World::new();
    let app = app(&w);
    let (mut n, mut opened) = (0, Vec::new());
    for many in [10, 40] {
        while n < many {
            app.git(&["worktree", "add", "-q", &format!("../hand{n}"), "-b", &format!("hand{n}")]);
            n += 1;
        }
        let Some((_, calls)) = traced(&app, "openat", "worktree-spawn", &["list"]) else { return };
        opened.push(calls.len());
    }
    // Four times as many worktrees: some is the same for all, and nothing is looked at by each for each other.
    assert!(opened[1] < opened[0] * 5, "{opened:?}");
}
