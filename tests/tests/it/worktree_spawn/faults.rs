//! worktree-spawn killed, interrupted, short of room and of rights: a spawn is there or is not, and nothing is lost.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Stdio};

use crate::support::spawn::{app, subtree};
use crate::support::sweep::{assert_often, sweep_tool};
use crate::support::world::{Repo, World, needs_mount, text, wait_for, write};

/// Nothing of a spawn is left: no branch, no record, no directory, no journal.
#[track_caller]
fn assert_nothing_left(app: &Repo<'_>, name: &str, when: &str) {
    assert_eq!(app.git(&["branch", "--list", &format!("main.{name}")]), "", "{when}");
    assert!(!app.git(&["worktree", "list", "--porcelain"]).contains(&format!("worktrees/{name}\n")), "{when}");
    assert!(!app.has(&format!(".shopfloor/worktrees/{name}")), "{when}");
    assert_eq!(journals(app), 0, "{when}");
}

fn journals(app: &Repo<'_>) -> usize {
    std::fs::read_dir(app.path.join(".git/shopfloor/worktree-spawn/journal")).map_or(0, Iterator::count)
}

#[test]
fn killed_at_every_write_a_spawn_is_undone_and_can_be_made_again() {
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
            app.spawn(&["list"]).exit(0);
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
fn killed_anywhere_a_message_is_there_whole_or_not_at_all() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["x"]);
    sweep_tool(
        "worktree-spawn",
        |_| child.clone(),
        &["notify", "info", "hello", "--dedupe", "k"],
        |child, when| {
            // Said again with its key it is one event, and the first of these a reader sees is whole.
            child.spawn(&["notify", "info", "hello", "--dedupe", "k"]).exit(0);
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
fn killed_anywhere_a_removal_by_force_loses_nothing() {
    let w = World::new();
    let app = app(&w);
    let prepare = |_: &str| {
        let child = subtree(&app, &["x", "--unique"]);
        child.write("README.md", "changed\n");
        app.clone()
    };
    let mut n = 0;
    let n = std::cell::Cell::new(std::mem::take(&mut n));
    sweep_tool("worktree-spawn", prepare, &["remove", "main.x", "--force"], |app, when| {
        n.set(n.get() + 1);
        let child = app.path.join(".shopfloor/worktrees/x/README.md");
        let is_there = std::fs::read_to_string(child).is_ok_and(|text| text == "changed\n");
        let refs = app.git(&["for-each-ref", "--format=%(refname)", "refs/shopfloor/trash/main.x"]);
        let is_kept = refs.lines().any(|name| app.git(&["show", &format!("{name}:README.md")]) == "changed\n");
        assert!(is_there || is_kept, "{when}");
        app.spawn(&["repair"]).exit(0);
        if app.spawn(&["path", "main.x"]).exits_with(0) {
            app.spawn(&["remove", "main.x", "--force", "--delete-branch"]).exit(0);
        }
        app.sh("git branch -q -D main.x 2>/dev/null; git for-each-ref --format='delete %(refname)' refs/shopfloor | git update-ref --stdin")
            .exit(0);
        assert_nothing_left(app, "x", when);
    });
    assert!(n.get() > 5);
}

fn start(at: &Repo<'_>, args: &[&str]) -> Child {
    let mut command = at.world.command(at.world.path("bin/worktree-spawn"));
    command.args(args).current_dir(&at.path).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).spawn().unwrap()
}

/// 20,000 files.
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
fn killed_or_interrupted_among_20_000_files() {
    let w = World::new();
    let app = large(&w);
    let path = app.path.join(".shopfloor/worktrees/x");
    for signal in ["INT", "TERM", "KILL"] {
        let child = start(&app, &["subtree", "x"]);
        wait_for(|| path.join("d3/f50").exists());
        app.sh(&format!("kill -{signal} {}", child.id())).exit(0);
        let output = child.wait_with_output().unwrap();
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
fn interrupted_in_a_hook_nothing_is_left_and_what_somebody_did_after_a_kill_stays() {
    let w = World::new();
    let app = app(&w);
    app.write(".git/hooks/post-checkout", "#!/bin/sh\necho $$ > $HOME/pid\ntouch made-by-hook\nexec sleep 600\n");
    app.sh("chmod +x .git/hooks/post-checkout").exit(0);
    let path = app.path.join(".shopfloor/worktrees/x");
    let spawn = |signal: &str| {
        let child = start(&app, &["subtree", "x"]);
        wait_for(|| path.join("made-by-hook").exists());
        app.sh(&format!("kill -{signal} {}", child.id())).exit(0);
        let status = child.wait_with_output().unwrap().status;
        app.sh("kill -9 $(cat $HOME/pid) 2>/dev/null; rm $HOME/pid").exit(0);
        status
    };
    assert_eq!(spawn("INT").code(), Some(130));
    assert_nothing_left(&app, "x", "after INT");
    spawn("KILL");
    assert_eq!(journals(&app), 2);
    // Untracked files of the hook's, and nothing else: somebody could have made them.
    app.spawn(&["repair"]).exit(0).out_has("kept");
    assert!(path.join("made-by-hook").exists());
    w.at(&path).spawn(&["whoami"]).exit(0).out_has("main.x");
    std::fs::remove_file(path.join("made-by-hook")).unwrap();
    app.spawn(&["remove", "x"]).exit(0);
    // A commit made there since is somebody's.
    app.sh("echo made-by-hook >> .git/info/exclude").exit(0);
    spawn("KILL");
    let there = w.at(&path);
    there.sh("git commit -q --allow-empty -m work").exit(0);
    app.spawn(&["repair"]).exit(0).out_has("kept");
    there.git(&["reset", "-q", "--hard", "HEAD~1"]);
    app.spawn(&["remove", "x"]).exit(0);
    spawn("KILL");
    app.spawn(&["repair"]).exit(0).out_has("undid");
    assert_nothing_left(&app, "x", "after repair");
}

#[test]
fn files_that_came_into_a_half_made_worktree_are_not_removed_with_it() {
    let w = World::new();
    let app = app(&w);
    let path = app.path.join(".shopfloor/worktrees/x");
    // As a kill leaves it while files are written.
    app.git(&["worktree", "add", "-q", "--no-checkout", "-b", "main.x", path.to_str().unwrap()]);
    write(&path.join("README.md"), "ap");
    write(&path.join("src/main.rs"), "edited");
    write(&path.join("mine/notes"), "work");
    let journal = serde_json::json!({
        "v": 1, "id": "main.x", "path": path, "branch": "main.x", "makes_branch": true,
        "base_sha": app.git(&["rev-parse", "HEAD"]).trim(), "makes_dirs": [path],
    });
    write(&app.path.join(".git/shopfloor/worktree-spawn/journal/abc.json"), &journal.to_string());
    app.spawn(&["repair", "-n"]).exit(0).out_has("would undo");
    assert!(path.join("README.md").exists());
    app.spawn(&["repair"]).exit(0).out_has("files that are not its own");
    assert_eq!(std::fs::read_to_string(path.join("mine/notes")).unwrap(), "work");
    assert_eq!(std::fs::read_to_string(path.join("src/main.rs")).unwrap(), "edited");
    assert!(!path.join("README.md").exists() && !path.join(".git").exists());
    assert_eq!(app.git(&["branch", "--list", "main.x"]), "");
    app.spawn(&["subtree", "x"]).exit(1).err_has("is there already");
}

#[test]
fn case_5_a_base_that_cannot_be_written_leaves_nothing() {
    let w = World::new();
    let app = app(&w);
    let base = w.path("closed");
    std::fs::create_dir(&base).unwrap();
    app.sh(&format!("chmod 555 {}", base.display())).exit(0);
    let out = app.run_bound("worktree-spawn", &["subtree", "x", "--base-dir", base.to_str().unwrap()]).exit(4);
    out.err_has("Permission denied");
    assert_eq!(std::fs::read_dir(&base).unwrap().count(), 0);
    assert_eq!(app.git(&["branch", "--list", "main.x"]), "");
    assert_eq!(app.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(journals(&app), 0);
    let fine = app.run_bound("worktree-spawn", &["subtree", "x", "--task", "t"]).exit(0);
    assert!(Path::new(fine.stdout.trim_end()).join("README.md").exists());
}

#[test]
fn a_full_disk_leaves_nothing_half() {
    let w = World::new();
    let here = w.at(w.path(""));
    std::fs::create_dir(w.path("disk")).unwrap();
    if !needs_mount(&here, "mount -t tmpfs -o size=8m tmpfs disk") {
        return;
    }
    let app = w.at(w.path("disk/app"));
    here.sh("git init -q -b main disk/app && cd disk/app && head -c 3000000 /dev/urandom > big && git add big && git commit -q -m x").exit(0);
    let full = app.spawn(&["subtree", "x"]);
    let branches = app.git(&["branch", "--list", "main.*"]);
    let journals = journals(&app);
    let is_there = app.has(".shopfloor/worktrees/x");
    app.sh("git rm -q big && git commit -q -m small").exit(0);
    let small = app.spawn(&["subtree", "x"]);
    here.sh("umount -l disk").exit(0);
    full.exit(4).err_has("error: ");
    assert_eq!((branches.as_str(), journals, is_there), ("", 0, false));
    small.exit(0);
}
