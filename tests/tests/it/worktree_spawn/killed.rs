//! Commands that are killed or interrupted: a spawn is there or is not, and nothing is lost.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Output, Stdio};

use crate::support::spawn::{
    UID, app, assert_nothing_left, branch_named, journals, killed_in_its_hook, start, state, subtree,
};
use crate::support::sweep::{assert_often, sweep_tool};
use crate::support::world::{Repo, World, text, wait_for, write};

#[test]
fn a_spawn_killed_at_any_write_is_undone_and_can_be_repeated() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["before"]);
    let kills = sweep_tool(
        "worktree-spawn",
        |_| app.clone(),
        &["-q", "subtree", "x", "--task", "t"],
        |app, when| {
            // Neither git nor the other agents notice.
            assert_eq!(app.git(&["status", "--porcelain"]), "", "{when}");
            app.spawn(&["list"]).succeeds();
            // Killed by itself it may have been whole already.
            let again = app.spawn(&["-q", "subtree", "x", "--task", "t", "--if-exists", "return"]).exit(0).any_err();
            let child = w.at(again.stdout.trim_end());
            assert_eq!(child.git(&["status", "--porcelain"]), "", "{when}");
            assert_eq!(child.read("README.md") + &child.read(".shopfloor/task.md"), "app\nt", "{when}");
            assert_eq!(child.spawn(&["whoami"]).exit(0).stdout, "main.x\n", "{when}");
            assert!(child.has(".mcp.json"), "{when}");
            app.spawn(&["-q", "remove", "x"]).exit(0);
            assert_nothing_left(app, "x", when);
        },
    );
    assert_often(kills, 30);
    app.git(&["fsck", "--strict"]);
}

#[test]
fn a_killed_notify_leaves_a_whole_event_or_none() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["x"]);
    sweep_tool(
        "worktree-spawn",
        |_| child.clone(),
        &["notify", "info", "hello", "--dedupe", "k"],
        |child, when| {
            // Said again with its key it is one event, and the first of these a reader sees is whole.
            child.spawn(&["notify", "info", "hello", "--dedupe", "k"]).succeeds();
            let events = app.spawn(&["wait", "--count", "9", "--timeout", "0s"]).exit(124).any_err().json_lines();
            assert_eq!(events.len(), 1, "{when}");
            assert_eq!(text(&events[0], "/message"), "hello", "{when}");
            let session = app.path.join(".git/shopfloor/worktree-spawn/session/root");
            let rest = std::fs::read_dir(session.join("new")).unwrap().count()
                + std::fs::read_dir(session.join("bad")).unwrap().count();
            assert_eq!(rest, 0, "{when}");
            std::fs::remove_dir_all(session).unwrap();
        },
    );
}

#[test]
fn a_killed_forced_removal_loses_nothing() {
    let w = World::new();
    let app = app(&w);
    let prepare = |_: &str| {
        let child = subtree(&app, &["x", "--unique"]);
        child.write("README.md", "changed\n");
        app.clone()
    };
    let kills = sweep_tool("worktree-spawn", prepare, &["remove", "main.x", "--force"], |app, when| {
        let child = app.path.join(".shopfloor/worktrees/x/README.md");
        let is_there = std::fs::read_to_string(child).is_ok_and(|text| text == "changed\n");
        let refs = app.git(&["for-each-ref", "--format=%(refname)", "refs/shopfloor/trash/main.x"]);
        let is_kept = refs.lines().any(|name| app.git(&["show", &format!("{name}:README.md")]) == "changed\n");
        assert!(is_there || is_kept, "{when}");
        app.spawn(&["repair"]).succeeds();
        if app.spawn(&["path", "main.x"]).exits_with(0) {
            app.spawn(&["remove", "main.x", "--force", "--delete-branch"]).succeeds();
        }
        app.sh("git branch -q -D main.x 2>/dev/null; git for-each-ref --format='delete %(refname)' refs/shopfloor | git update-ref --stdin")
            .exit(0);
        assert_nothing_left(app, "x", when);
    });
    assert_often(kills, 10);
}

#[test]
fn a_forced_removal_that_was_killed_before_its_end_is_put_back_and_says_so() {
    let w = World::new();
    let app = app(&w);
    let x = subtree(&app, &["x"]);
    x.write("README.md", "changed\n");
    app.git(&["update-ref", "refs/shopfloor/trash/main.x/1", "HEAD"]);
    // As a kill leaves it between the move of the worktree and that of git's record. An agent may have written it, too.
    let journal = serde_json::json!({"v": 2, "id": "main.x", "record": "x", "name": "x", "deletes": null});
    write(&state(&app, &format!("removing/{UID}.json")), &journal.to_string());
    std::fs::rename(&x.path, x.path.with_file_name(format!(".shopfloor-tmp-{UID}"))).unwrap();
    let told = app.spawn(&["repair"]).exit(0).any_err();
    told.out_has("back in its place").out_has("has changes that would be lost").out_has("  README.md");
    told.out_has("what was kept of main.x last is refs/shopfloor/trash/main.x/1");
    assert_eq!(x.read("README.md"), "changed\n");
    assert_eq!(app.spawn(&["repair"]).exit(0).stdout, "");
}

fn start_in_group(at: &Repo<'_>, args: &[&str]) -> Child {
    let mut command = at.world.command(at.world.path("bin/worktree-spawn"));
    command.args(args).current_dir(&at.path).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).spawn().unwrap()
}

/// A repository with 20,000 files.
fn large<'w>(w: &'w World) -> Repo<'w> {
    let app = w.app();
    for dir in 0..200 {
        let path = app.path.join(format!("d{dir}"));
        std::fs::create_dir(&path).unwrap();
        for n in 0..100 {
            std::fs::write(path.join(format!("f{n}")), format!("{dir} {n}\n")).unwrap();
        }
    }
    app.git(&["add", "-A"]);
    app.git(&["commit", "-q", "-m", "large"]);
    app
}

#[test]
fn a_spawn_killed_or_interrupted_among_20_000_files_is_undone() {
    let w = World::new();
    let app = large(&w);
    let path = app.path.join(".shopfloor/worktrees/x");
    for signal in ["INT", "TERM", "KILL"] {
        let interrupted = || {
            let child = start_in_group(&app, &["subtree", "x"]);
            wait_for(|| path.join("d3/f50").exists());
            app.sh(&format!("kill -{signal} {}", child.id())).any_status().any_err();
            child.wait_with_output().unwrap()
        };
        // On a loaded machine it may be over, but for its answer, before the signal comes.
        let is_over = |output: &Output| output.status.success() || (signal == "KILL" && journals(&app) == 0);
        let mut output = interrupted();
        while is_over(&output) {
            app.spawn(&["remove", "x"]).succeeds().any_err();
            output = interrupted();
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        match signal {
            "KILL" => assert_eq!(output.status.signal(), Some(9)),
            _ => {
                assert_eq!(output.status.code(), Some(if signal == "INT" { 130 } else { 143 }), "{said}");
                assert_nothing_left(&app, "x", signal);
            }
        }
        assert_eq!(output.stdout, b"");
    }
    assert_eq!(app.git(&["status", "--porcelain"]), "");
    let child = app.spawn(&["subtree", "x"]).exit(0);
    child.err_has("undid the spawn of main.x");
    let child = w.at(child.stdout.trim_end());
    assert_eq!(child.git(&["status", "--porcelain"]), "");
    assert_eq!(journals(&app), 0);
}

#[test]
fn a_spawn_interrupted_in_a_hook_is_undone_and_later_work_is_kept() {
    let w = World::new();
    let app = app(&w);
    app.write(".git/hooks/post-checkout", "#!/bin/sh\necho $$ > $HOME/pid\ntouch made-by-hook\nexec sleep 600\n");
    app.sh("chmod +x .git/hooks/post-checkout").exit(0);
    let path = app.path.join(".shopfloor/worktrees/x");
    let spawn = |signal: &str| {
        let child = start_in_group(&app, &["subtree", "x"]);
        wait_for(|| path.join("made-by-hook").exists());
        app.sh(&format!("kill -{signal} {}", child.id())).exit(0);
        let status = child.wait_with_output().unwrap().status;
        app.sh("kill -9 $(cat $HOME/pid) 2>/dev/null; rm $HOME/pid").exit(0);
        status
    };
    // The hook's file is not what a spawn writes.
    assert_eq!(spawn("INT").code(), Some(130));
    assert_eq!(journals(&app), 0);
    app.spawn(&["doctor"]).exit(1).out_has("main.x has lost its configuration");
    app.spawn(&["remove", "x"]).exit(1).err_has("made-by-hook");
    // What the spawn would have written is written for who asks for the subtree.
    let found = app.spawn(&["subtree", "x", "--if-exists", "return", "--json"]).exit(0).json();
    assert!(found["created"] == false && Path::new(text(&found, "/mcp_config")).is_file(), "{found}");
    app.spawn(&["doctor"]).exit(0).any_out();
    std::fs::remove_file(path.join("made-by-hook")).unwrap();
    app.spawn(&["remove", "x"]).succeeds();
    spawn("KILL");
    assert_eq!(journals(&app), 2);
    // The hook's untracked file could be somebody's work.
    app.spawn(&["repair"]).exit(0).out_has("kept").out_has("or says what would be lost");
    assert!(path.join("made-by-hook").exists());
    w.at(&path).spawn(&["whoami"]).exit(0).out_has("main.x");
    std::fs::remove_file(path.join("made-by-hook")).unwrap();
    app.spawn(&["remove", "x"]).succeeds();
    // A commit made since is somebody's work.
    app.sh("echo made-by-hook >> .git/info/exclude").exit(0);
    spawn("KILL");
    let there = w.at(&path);
    there.sh("git commit -q --allow-empty -m work").exit(0);
    app.spawn(&["repair"]).exit(0).out_has("kept");
    there.git(&["reset", "-q", "--hard", "HEAD~1"]);
    app.spawn(&["remove", "x"]).succeeds();
    spawn("KILL");
    // What git ignores is not what a spawn makes, either.
    app.spawn(&["repair"]).exit(0).out_has("kept");
    app.spawn(&["remove", "x"]).succeeds();
    assert_nothing_left(&app, "x", "after repair");
}

#[test]
fn a_spawn_interrupted_in_its_set_up_takes_that_back() {
    let w = World::new();
    let app = app(&w);
    // It takes longer than what runs when the signal comes is given to end.
    let teardown = "if test -e ~/slow; then sleep 6; fi; test ! -e ~/fails && touch ~/torn-down";
    app.approved(&format!(
        "setup = [\"echo > ~/begun; exec sleep 600\"]\nteardown = [\"{teardown}\"]\n[env]\nA = \"1\"\n\
         [files.placed]\ncontent = \"x\"\n",
    ));
    app.apply(&["hook", "install"]).succeeds();
    let interrupted = |mark: &str| {
        write(&w.home(mark), "");
        let child = start_in_group(&app, &["subtree", "x"]);
        wait_for(|| w.home("begun").exists());
        app.sh(&format!("kill -INT {}", child.id())).exit(0);
        let output = child.wait_with_output().unwrap();
        app.sh(&format!("rm ~/begun ~/{mark}")).exit(0);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(130), "{said}");
        said
    };
    let said = interrupted("slow");
    assert!(said.contains("nothing of the subtree was kept"), "{said}");
    assert_nothing_left(&app, "x", "INT in its set-up");
    assert!(w.home("torn-down").exists(), "{said}");
    app.sh("rm ~/torn-down").exit(0);
    // What could not be torn down keeps its worktree.
    let said = interrupted("fails");
    assert!(said.contains("its set-up could not be taken back") && !said.contains("nothing of the subtree"), "{said}");
    assert!(app.has(".shopfloor/worktrees/x") && journals(&app) == 0, "{said}");
    app.spawn(&["-q", "remove", "x"]).exit(0).any_out().any_err();
    assert!(w.home("torn-down").exists());
    assert_nothing_left(&app, "x", "a removal");
}

#[test]
fn a_spawn_that_fails_names_the_branch_that_it_cannot_delete() {
    let w = World::new();
    let app = app(&w);
    let hook = |line: &str| {
        app.write(".git/hooks/post-checkout", &format!("#!/bin/sh\n{line}\nkill -TERM $PPID\nexec sleep 600\n"));
        app.sh("chmod +x .git/hooks/post-checkout").exit(0);
        app.spawn(&["subtree", "x"]).exit(143)
    };
    hook(":").err_has("nothing of the subtree was kept");
    let locked = hook("touch $HOME/eng/repos/app/.git/packed-refs.lock");
    locked.err_has("the branch main.x stays").err_has("`git branch -D main.x`");
    assert!(!locked.stderr.contains("nothing of the subtree"));
    app.sh("rm .git/packed-refs.lock && git branch -q -D main.x").exit(0);
    assert_nothing_left(&app, "x", "by hand");
}

#[test]
fn files_added_to_a_half_made_worktree_are_kept() {
    let w = World::new();
    let app = app(&w);
    let path = app.path.join(".shopfloor/worktrees/x");
    // The state after a kill while files are written.
    app.git(&["worktree", "add", "-q", "--no-checkout", "-b", "main.x", path.to_str().unwrap()]);
    write(&path.join("README.md"), "ap");
    write(&path.join("src/main.rs"), "edited");
    write(&path.join("mine/notes"), "work");
    let sha = app.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let journal = serde_json::json!({"v": 2, "id": "main.x", "name": "x", "makes_branch": true, "base_sha": sha});
    let agent = serde_json::json!({
        "v": 1, "id": "main.x", "kind": "subtree", "birth_branch": "main.x", "slug": "x", "requested": "x",
        "parent": "root", "parents": ["root"], "level": 2, "role": "tl", "agent": "claude", "base_sha": sha,
        "incarnation": "0123456789abcdef0123456789abcdef", "created": "2026-01-01T00:00:00Z",
    });
    write(&app.path.join(".git/worktrees/x/shopfloor/worktree-spawn/identity.json"), &agent.to_string());
    write(&app.path.join(".git/shopfloor/worktree-spawn/journal/abc.json"), &journal.to_string());
    app.spawn(&["repair", "-n"]).exit(0).out_has("would keep ").out_has("because there is more than");
    app.spawn(&["doctor"]).exit(1).out_has("the spawn of main.x was killed; keep ");
    assert!(path.join("README.md").exists());
    app.spawn(&["repair"]).exit(0).out_has("kept").out_has("more than a spawn makes");
    assert_eq!(std::fs::read_to_string(path.join("mine/notes")).unwrap(), "work");
    assert_eq!(std::fs::read_to_string(path.join("src/main.rs")).unwrap(), "edited");
    app.spawn(&["subtree", "x"]).exit(1).err_has("already exists");
    std::fs::remove_dir_all(path.join("mine")).unwrap();
    app.git(&["-C", path.to_str().unwrap(), "reset", "-q", "--hard"]);
    // This test has written the record, as an agent may.
    app.spawn(&["remove", "x", "--force"]).exit(1).err_has("is not one that you have written");
}

/// What somebody does after the kill, with the app and the worktree.
type Meanwhile = fn(&Repo<'_>, &Repo<'_>);

/// What happened after the kill, what is said then, and whether the branch stays.
fn after_the_kill() -> [(&'static str, Meanwhile, &'static str, bool); 8] {
    [
        ("nothing", |_, _| {}, "undid the spawn of main.x", false),
        ("it was removed", |_, x| std::fs::remove_dir_all(&x.path).unwrap(), "undid the spawn of main.x", false),
        (
            "git was killed among the files",
            |app, x| {
                // As git leaves it when it is killed in a file, and between a directory and the first file in it.
                std::fs::remove_file(app.path.join(".git/worktrees/x/index")).unwrap();
                std::fs::write(x.path.join("README.md"), "ap").unwrap();
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
            "more than a spawn makes",
            true,
        ),
    ]
}

#[test]
fn what_happened_after_a_kill_decides_what_is_undone() {
    for (what, meanwhile, said, has_branch) in after_the_kill() {
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
        let foreseen = app.spawn(&["repair", "-n"]).exit(0).any_err().stdout;
        // Another spawn succeeds in every case.
        let out = app.spawn(&["subtree", "y"]).succeeds().stderr + &app.spawn(&["repair"]).exit(0).stdout;
        assert!(out.contains(said), "{what}: {out}");
        assert_eq!(foreseen.contains("would undo"), said.starts_with("undid"), "{what}: {foreseen}");
        let there = x.path.join("README.md").exists();
        let expected = ["a clone was put there", "another worktree was put there", "somebody wrote an ignored file"]
            .contains(&what);
        assert_eq!(there, expected, "{what}: {out}");
        assert_eq!(branch_named(&app, "main.x").is_empty(), !has_branch, "{what}: {out}");
        for tree in app.spawn(&["list", "-z"]).exit(0).stdout.split('\0').filter(|path| !path.is_empty()) {
            assert_eq!(w.at(tree).git(&["status", "--porcelain"]), "", "{what}: {tree}");
            w.at(tree).git(&["rev-parse", "HEAD"]);
        }
        if what.starts_with("git was killed") {
            assert!(!x.path.exists(), "an empty directory prevents the name from being spawned again");
            app.spawn(&["subtree", "x"]).succeeds();
        }
        if what == "somebody wrote an ignored file" {
            assert_eq!(x.read("notes"), "work");
        }
        assert_eq!(app.spawn(&["repair"]).exit(0).stdout, "", "{what}");
    }
}

#[test]
fn an_undo_that_was_killed_is_finished() {
    let w = World::new();
    let app = app(&w);
    let x = killed_in_its_hook(&app);
    // The worktree and our part of git's record were removed.
    std::fs::remove_dir_all(&x.path).unwrap();
    std::fs::remove_dir_all(app.path.join(".git/worktrees/x/shopfloor")).unwrap();
    app.spawn(&["repair", "-n"]).exit(0).out_has("would undo the spawn of main.x");
    app.spawn(&["repair"]).exit(0).out_has("undid the spawn of main.x");
    assert_nothing_left(&app, "x", "after repair");
    // So is one that failed between the worktree and git's record.
    let x = killed_in_its_hook(&app);
    std::fs::remove_dir_all(state(&app, "gone")).unwrap();
    write(&state(&app, "gone"), "");
    app.spawn(&["subtree", "y"]).exit(0).any_out().err_has("cannot undo the spawn of main.x, which was killed");
    assert!(!x.path.exists() && app.has(".git/worktrees/x"));
    std::fs::remove_file(state(&app, "gone")).unwrap();
    app.spawn(&["subtree", "x"]).exit(0).any_out().err_has("undid the spawn of main.x, which was killed");
    app.spawn(&["-q", "remove", "x"]).exit(0).any_out();
    // A branch with work on it stays, and so does its worktree's record.
    let x = killed_in_its_hook(&app);
    x.git(&["commit", "-q", "--allow-empty", "-m", "work"]);
    std::fs::remove_dir_all(&x.path).unwrap();
    std::fs::remove_dir_all(app.path.join(".git/worktrees/x/shopfloor")).unwrap();
    app.spawn(&["repair"]).exit(0).any_out();
    assert_eq!(branch_named(&app, "main.x"), "main.x\n");
    assert!(app.has(".git/worktrees/x/HEAD"));
}

#[test]
fn a_killed_spawn_that_was_deleted_by_hand_is_named_once_and_not_waited_for() {
    let w = World::new();
    let app = app(&w);
    std::fs::remove_dir_all(killed_in_its_hook(&app).path).unwrap();
    for args in [&["subtree", "x"][..], &["subtree", "x", "--if-exists", "return"]] {
        let refused = app.spawn(args).exit(1);
        assert_eq!(refused.stderr.matches("the spawn of main.x was killed").count(), 1, "{refused}");
        refused.err_has("but is not there").err_has("`worktree-spawn repair` finds it");
    }
    app.spawn(&["repair"]).exit(0).out_has("undid the spawn of main.x");
    subtree(&app, &["x"]);
}

#[test]
fn a_killed_spawn_with_a_running_agent_is_kept_and_a_copy_touches_nothing() {
    let w = World::new();
    let app = app(&w);
    let x = killed_in_its_hook(&app);
    let copy = w.at(app.path.with_file_name("copy"));
    w.at(w.home("")).sh(&format!("cp -a {} {}", app.path.display(), copy.path.display())).exit(0);
    let mut run = start(&app, &["run", "main.x", "--", "sh", "-c", "read line < /dev/zero || sleep 600"]);
    wait_for(|| app.spawn(&["list", "--live", "--json"]).exit(0).stdout.contains("main.x"));
    copy.spawn(&["repair"]).succeeds();
    assert!(x.path.join("README.md").exists(), "the copy's repair touched the original");
    app.spawn(&["subtree", "y"]).succeeds().err_has("kept");
    assert!(x.path.join("README.md").exists());
    app.sh(&format!("pkill -P {}", run.id())).exit(0);
    run.wait().unwrap();
    assert_eq!(app.git(&["worktree", "list"]).lines().count(), 3);
}

#[test]
fn a_bad_journal_is_set_aside_and_others_go_on() {
    let w = World::new();
    let app = app(&w);
    write(&app.path.join(".git/shopfloor/worktree-spawn/journal/abc.json"), "{");
    app.spawn(&["subtree", "v"]).succeeds().err_has("set aside");
    assert!(app.path.join(".git/shopfloor/worktree-spawn/journal/abc.bad").exists());
}

/// What a set-up has started goes with its teardown, which an undo leaves to `sweep`.
#[test]
fn the_teardown_of_a_spawn_that_was_undone_is_named() {
    let w = World::new();
    let app = app(&w);
    w.area("setup = [\"true\"]\nteardown = [\"true\"]\n");
    killed_in_its_hook(&app).apply(&[]).succeeds().any_err();
    let repaired = app.spawn(&["repair"]).exit(0);
    repaired.out_has("undid the spawn of main.x").err_has("wait for their teardown: `sweatfile-apply sweep`");
    app.apply(&["sweep"]).exit(0).any_err().out_has("ran ");
}
