//! worktree-spawn: taking agents away without losing anything.

use std::process::Stdio;

use crate::support::spawn::{app, subtree};
use crate::support::world::{Repo, World, text, write};

fn branches(app: &Repo<'_>) -> String {
    app.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"])
}

#[test]
fn case_13_a_branch_stays_until_all_of_it_is_elsewhere() {
    let w = World::new();
    let app = app(&w);
    for name in ["unmerged", "merged", "squashed", "picked"] {
        let child = subtree(&app, &[name]);
        child.commit(&format!("{name}-1"), "1\n");
        child.commit(&format!("{name}-2"), "2\n");
    }
    app.spawn(&["remove", "unmerged", "--delete-branch"]).exit(1).err_has("commits that main has not");
    assert!(app.has(".shopfloor/worktrees/unmerged"));
    app.spawn(&["remove", "unmerged"]).exit(0).err_has("main.unmerged stays");
    assert!(!app.has(".shopfloor/worktrees/unmerged"));
    app.git(&["merge", "-q", "--no-ff", "--no-edit", "main.merged"]);
    app.git(&["merge", "-q", "--squash", "main.squashed"]);
    app.git(&["commit", "-q", "-m", "squashed"]);
    app.git(&["cherry-pick", "main.picked~1", "main.picked"]);
    app.commit("later", "x");
    for name in ["merged", "squashed", "picked"] {
        let json = app.spawn(&["remove", name, "--json"]).exit(0).json();
        assert_eq!(text(&json, "/deleted_branch"), format!("main.{name}"));
    }
    assert_eq!(branches(&app), "main\nmain.unmerged\n");
    let kept = subtree(&app, &["kept"]);
    app.spawn(&["remove", "kept", "--keep-branch"]).exit(0);
    assert!(!kept.path.exists() && branches(&app).contains("main.kept"));
    app.spawn(&["remove", "kept"]).exit(1).err_has("no agent `kept`");
    app.spawn(&["remove", "root"]).exit(1).any_err();
}

#[test]
fn changes_are_refused_or_kept() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["x"]);
    child.commit("committed", "1\n");
    child.write("README.md", "staged\n");
    child.git(&["add", "README.md"]);
    child.write("README.md", "changed\n");
    child.write("sub dir/new", "untracked\n");
    let refused = app.spawn(&["remove", "x"]).exit(1);
    refused.err_has("uncommitted changes").err_has("README.md").err_has("sub dir/new");
    app.spawn(&["remove", "x", "-n", "--force"]).exit(0);
    assert!(child.has("sub dir/new"));
    let name = app.spawn(&["remove", "x", "--force", "--delete-branch"]).exit(0).stdout;
    assert!(name.starts_with("refs/shopfloor/trash/main.x/"), "{name}");
    let name = name.trim();
    let show = |what: &str| app.git(&["show", what]);
    assert_eq!(show(&format!("{name}:README.md")), "changed\n");
    assert_eq!(show(&format!("{name}:sub dir/new")), "untracked\n");
    assert_eq!(show(&format!("{name}:committed")), "1\n");
    assert_eq!(show(&format!("{name}^2:README.md")), "staged\n");
    assert_eq!(branches(&app), "main\n");
    // Commits on no branch, and one of its own making in the middle of a merge.
    let loose = subtree(&app, &["loose"]);
    loose.git(&["switch", "-q", "--detach"]);
    loose.commit("loose", "1\n");
    app.spawn(&["remove", "loose"]).exit(1).err_has("on no branch");
    app.spawn(&["remove", "loose", "--force"]).exit(0).out_has("refs/shopfloor/trash/main.loose/");
    let locked = subtree(&app, &["locked"]);
    app.git(&["worktree", "lock", "--reason", "on a stick", locked.path.to_str().unwrap()]);
    app.spawn(&["remove", "locked", "--force"]).exit(1).err_has("on a stick");
    locked.spawn(&["remove", "locked"]).exit(1).any_err();
}

#[test]
fn nested_worktrees_are_checked_first_and_go_deepest_first() {
    let w = World::new();
    let app = app(&w);
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nmax_depth = 4\n");
    let a = subtree(&app, &["a"]);
    let b = subtree(&a, &["b"]);
    let c = subtree(&b, &["c"]);
    c.write("work", "mine");
    app.spawn(&["remove", "a"]).exit(1).err_has("main.a.b at");
    app.spawn(&["remove", "a", "--recursive"]).exit(1).err_has("uncommitted changes");
    assert!(c.has("work") && b.has("README.md") && a.has("README.md"));
    let status = app.run("git", &["worktree", "list"]).exit(0).stdout.lines().count();
    assert_eq!(status, 4);
    std::fs::remove_file(c.path.join("work")).unwrap();
    let ids: Vec<String> = app
        .spawn(&["remove", "a", "--recursive", "--json"])
        .exit(0)
        .json_lines()
        .iter()
        .map(|row| text(row, "/id").to_owned())
        .collect();
    assert_eq!(ids, ["main.a.b.c", "main.a.b", "main.a"]);
    assert_eq!(branches(&app), "main\n");
    assert_eq!(app.spawn(&["list", "--json"]).exit(0).json_lines().len(), 1);
    let a = subtree(&app, &["a"]);
    a.spawn(&["remove", "a"]).exit(1).err_has("this is");
}

#[test]
fn what_was_for_a_removed_one_goes_to_the_next_above() {
    let w = World::new();
    let app = app(&w);
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nmax_depth = 3\n");
    let a = subtree(&app, &["a"]);
    let outside = w.home("b");
    let b = subtree(&a, &["b", "--base-dir", outside.to_str().unwrap()]);
    b.spawn(&["notify", "info", "before"]).exit(0);
    app.spawn(&["remove", "a"]).exit(0);
    b.spawn(&["notify", "success", "after"]).exit(0);
    let events = app.spawn(&["wait", "--count", "2", "--timeout", "10s"]).exit(0).json_lines();
    let said: Vec<_> =
        events.iter().map(|e| (text(e, "/message"), text(e, "/forwarded_from"), text(e, "/to"))).collect();
    assert_eq!(said, [("before", "main.a", "main.a"), ("after", "main.a", "main.a")]);
    assert!(app.spawn(&["wait", "--session", "main.a"]).exit(1).err_has("go to root").stdout.is_empty());
    // Spawned anew it has its own mail again.
    let a = subtree(&app, &["a"]);
    b.spawn(&["notify", "info", "back"]).exit(0);
    assert_eq!(text(&a.spawn(&["wait", "--timeout", "10s"]).exit(0).json(), "/message"), "back");
    // Taken away with git alone, it is repair that notices what waited for it.
    b.spawn(&["notify", "info", "waiting"]).exit(0);
    app.git(&["worktree", "remove", a.path.to_str().unwrap()]);
    app.spawn(&["repair"]).exit(0).out_has("1 events for it go to root");
    b.spawn(&["notify", "info", "later"]).exit(0);
    let events = app.spawn(&["wait", "--count", "2", "--timeout", "10s"]).exit(0).json_lines();
    assert_eq!((text(&events[0], "/message"), text(&events[1], "/message")), ("waiting", "later"));
}

#[test]
fn gc_removes_what_nobody_would_miss() {
    let w = World::new();
    let app = app(&w);
    let spawned = |name: &str| {
        let child = subtree(&app, &[name]);
        app.spawn(&["run", &format!("main.{name}"), "--", "true"]).exit(0);
        child
    };
    spawned("done");
    spawned("dirty").write("work", "x");
    spawned("unmerged").commit("work", "x");
    subtree(&app, &["fresh"]);
    app.spawn(&["worker", "ended"]).exit(0);
    app.spawn(&["run", "root/ended", "--", "false"]).exit(1);
    let rows = |args: &[&str]| -> Vec<(String, String)> {
        let rows = app.spawn(&[&["gc", "--json"], args].concat()).exit(0).json_lines();
        let mut rows: Vec<_> =
            rows.iter().map(|row| (text(row, "/id").to_owned(), text(row, "/action").to_owned())).collect();
        rows.sort();
        rows
    };
    let expected = |removed: &str| {
        [
            ("main.dirty", "kept"),
            ("main.done", removed),
            ("main.fresh", "kept"),
            ("main.unmerged", "kept"),
            ("root/ended", removed),
        ]
        .map(|(id, action)| (id.to_owned(), action.to_owned()))
    };
    assert_eq!(rows(&["--dry-run"]), expected("would_remove"));
    assert_eq!(rows(&[]), expected("removed"));
    let said = app.spawn(&["gc"]).exit(0).stdout;
    for why in [
        "main.dirty: it has uncommitted changes",
        "main.fresh: it was never run",
        "main.unmerged has commits that main has not",
    ] {
        assert!(said.contains(why), "{said}");
    }
    assert_eq!(app.spawn(&["list", "--json"]).exit(0).json_lines().len(), 4);
}

#[test]
fn a_moved_repository_is_found_again() {
    let w = World::new();
    let app = app(&w);
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nmax_depth = 3\n");
    let a = subtree(&app, &["a"]);
    subtree(&a, &["b"]);
    a.spawn(&["worker", "w"]).exit(0);
    a.spawn(&["notify", "info", "before"]).exit(0);
    let moved = w.at(app.path.with_file_name("moved"));
    std::fs::rename(&app.path, &moved.path).unwrap();
    moved.spawn(&["list"]).exit(0).out_has("repair");
    let inside = w.at(moved.path.join(".shopfloor/worktrees/a"));
    inside.spawn(&["whoami"]).exit(2).err_has("worktree-spawn repair");
    moved.spawn(&["repair", "--dry-run"]).exit(0).out_has("would reconnect");
    moved.spawn(&["repair"]).exit(0).out_has("worktrees/a/.shopfloor/worktrees/b");
    assert_eq!(moved.spawn(&["repair"]).exit(0).stdout, "");
    let deep = w.at(inside.path.join(".shopfloor/worktrees/b"));
    for (at, id) in [(&inside, "main.a\n"), (&deep, "main.a.b\n")] {
        assert_eq!(at.spawn(&["whoami"]).exit(0).stdout, id);
        assert_eq!(at.git(&["status", "--porcelain"]), "");
    }
    let rows = moved.spawn(&["list", "--json"]).exit(0).json_lines();
    assert!(rows.len() == 4 && rows.iter().all(|row| row["error"].is_null()), "{rows:?}");
    assert_eq!(text(&moved.spawn(&["wait"]).exit(0).json(), "/message"), "before");
    inside.spawn(&["notify", "info", "after"]).exit(0);
    assert_eq!(text(&moved.spawn(&["wait"]).exit(0).json(), "/message"), "after");
    // The lines that hide children come back.
    write(&moved.path.join(".git/info/exclude"), "");
    moved.spawn(&["repair"]).exit(0);
    assert!(moved.excludes().contains(&"/.shopfloor/*".to_owned()));
    inside.git(&["clean", "-qffdx"]);
    assert_eq!(inside.spawn(&["whoami"]).exit(0).stdout, "main.a\n");
}

#[test]
fn claude_s_worktree_hooks() {
    let w = World::new();
    let app = app(&w);
    let hook = |what: &str, json: serde_json::Value| {
        let mut command = w.command(w.path("bin/worktree-spawn"));
        command.args(["hook", what]).current_dir(&app.path).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), json.to_string().as_bytes()).unwrap();
        crate::support::world::Output::from(what.to_owned(), child.wait_with_output().unwrap())
    };
    let cwd = app.path.to_str().unwrap();
    let create = |name: &str| {
        hook(
            "worktree-create",
            serde_json::json!({ "session_id": "s", "transcript_path": "/t", "cwd": cwd, "hook_event_name": "WorktreeCreate", "name": name }),
        )
    };
    let path = create("bold-oak").exit(0).stdout;
    let child = w.at(path.trim_end());
    assert_eq!(child.spawn(&["whoami"]).exit(0).stdout, "main.bold-oak\n");
    assert_eq!(create("bold-oak").exit(0).stdout, path);
    let bad = create("!!!").exit(1);
    assert_eq!(bad.stdout, "");
    bad.err_has("no letter or digit");
    assert_eq!(hook("worktree-create", serde_json::json!({ "cwd": cwd })).exit(1).err_has("no `name`").stdout, "");
    let remove = |path: &str| {
        hook(
            "worktree-remove",
            serde_json::json!({ "cwd": cwd, "hook_event_name": "WorktreeRemove", "worktree_path": path }),
        )
    };
    child.write("work", "mine");
    let kept = remove(path.trim_end()).exit(0);
    assert_eq!(kept.stdout, "");
    kept.err_has("uncommitted changes");
    assert!(child.has("work"));
    std::fs::remove_file(child.path.join("work")).unwrap();
    assert_eq!(remove(path.trim_end()).exit(0).stdout, "");
    assert!(!child.path.exists());
    remove(cwd).exit(0).err_has("was not spawned by us");
}

#[test]
fn a_repository_that_git_ignores_is_not_removed_with_what_only_it_has() {
    let w = World::new();
    let app = app(&w);
    app.commit(".gitignore", "vendor/\n");
    let child = subtree(&app, &["x"]);
    child.sh("mkdir -p vendor/deep && git init -q vendor/deep/lib && cd vendor/deep/lib && git commit -q --allow-empty -m mine").exit(0);
    let refused = app.spawn(&["remove", "x"]).exit(1);
    refused.err_has("the repository in vendor/deep/lib, which git ignores, has commits that are nowhere else");
    app.spawn(&["remove", "x", "--force"]).exit(1).any_err();
    assert!(child.has("vendor/deep/lib/.git"));
    // What is elsewhere too is no loss.
    child.sh("git clone -q --bare vendor/deep/lib ../lib.git && cd vendor/deep/lib && git remote add o ../../../../lib.git && git fetch -q o").exit(0);
    child.write("vendor/deep/lib/new", "work\n");
    app.spawn(&["remove", "x"]).exit(1).err_has("has changes of its own");
    child.sh("rm vendor/deep/lib/new").exit(0);
    // One inside it, which it ignores itself.
    child.sh("cd vendor/deep/lib && echo in > .git/info/exclude && git init -q in && touch in/mine").exit(0);
    app.spawn(&["remove", "x"]).exit(1).err_has("vendor/deep/lib/in, which git ignores, has changes of its own");
    child.sh("rm vendor/deep/lib/in/mine").exit(0);
    app.spawn(&["remove", "x"]).exit(0);
}
