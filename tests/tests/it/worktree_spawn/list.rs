//! `list`: what it shows, and what that costs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::json;

use crate::support::spawn::{UID, app, identity, state, subtree};
use crate::support::world::{World, text, traced, write};

#[test]
fn an_unreadable_record_is_one_row_of_the_list() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["good"]);
    let bad = subtree(&app, &["bad"]);
    bad.spawn(&["worker", "w"]).succeeds();
    write(&app.path.join(".git/worktrees/bad/shopfloor/worktree-spawn/identity.json"), "{\"v\":1,");
    let rows = app.spawn(&["list", "--json"]).exit(0).json_lines();
    let errors: Vec<_> = rows.iter().filter(|row| !row["error"].is_null()).collect();
    assert_eq!((rows.len(), errors.len()), (4, 1));
    assert!(text(errors[0], "/error").contains("identity.json"));
    app.spawn(&["list", "--tree"]).exit(0).out_has("main.good");
    bad.spawn(&["whoami"]).exit(2).err_has("identity.json");
    // The filters, and `-z` for other tools.
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
    app.spawn(&["list", "--json", "--probe", "test {slug} = good", "--kind", "subtree"]).succeeds();
    let probed = app.spawn(&["list", "--json", "--probe", "test {id} = main.bad/w", "--kind", "worker"]).exit(0).json();
    assert_eq!(text(&probed, "/state"), "live");
}

/// It is reported once it can be.
#[test]
fn a_death_that_cannot_be_recorded_is_listed() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["a"]);
    let run = json!({"v": 1, "agent": identity(&app, "a"), "incarnation": UID, "pid": 1,
        "started": "2026-01-01T00:00:00Z", "ended": null, "exit": null});
    write(&state(&app, "runs/main.a.json"), &run.to_string());
    app.sh("chmod 500 .git/shopfloor/worktree-spawn/runs").exit(0);
    let out = app.run_bound("worktree-spawn", &["list", "--kind", "subtree", "--json"]).exit(0);
    out.err_has("warning: the end of the run of main.a is not recorded: cannot open ");
    assert_eq!(text(&out.json(), "/state"), "died");
    app.run_bound("shopfloor", &["status"]).exit(0).any_err().out_has("died");
    app.sh("chmod 700 .git/shopfloor/worktree-spawn/runs").exit(0);
    assert_eq!(text(&app.spawn(&["wait", "--timeout", "10s"]).exit(0).json(), "/type"), "worker_died");
}

/// git waits at a pipe: one look is enough, and what is in its way is named.
#[test]
fn what_holds_git_up_is_named_after_one_look() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["a"]).sh("echo more >> README.md && mkfifo .gitattributes").exit(0);
    let start = std::time::Instant::now();
    app.spawn(&["list", "--stat"]).exit(0).out_has("/a/.gitattributes, which is a pipe");
    assert!(start.elapsed() < std::time::Duration::from_secs(39), "{:?}", start.elapsed());
}

/// JSON is Unicode: the rest of a path is replaced, as in the answers of the other tools.
#[test]
fn an_answer_about_a_path_that_is_not_unicode_is_whole() {
    let w = World::new();
    let app = app(&w);
    app.sh("git worktree add -q -b odd \"$(printf '../odd\\377')\"").exit(0);
    let odd = w.at(app.path.with_file_name(OsStr::from_bytes(b"odd\xff")));
    let shown = odd.path.to_string_lossy();
    for args in [&["whoami"][..], &["path", "odd"], &["worker", "w"]] {
        let answer = odd.spawn(&[args, &["--json"]].concat()).exit(0).json();
        assert_eq!(text(&answer, "/worktree"), shown, "{args:?}");
    }
    let rows = app.spawn(&["list", "--json"]).exit(0).json_lines();
    let ids: Vec<_> = rows.iter().map(|row| text(row, "/id")).collect();
    assert_eq!(ids, ["root", "odd", "odd/w"]);
}

#[test]
fn list_status_agrees_with_git() {
    let changes = [
        "true",
        "echo x >> a.txt",
        "touch a.txt",
        "rm a.txt",
        "chmod +x a.txt",
        "echo new > new",
        "mkdir -p deep/er && echo new > deep/er/new",
        "mkdir empty",
        "echo x > ignored.log",
        "echo new > new && git add new",
        "git rm -q --cached a.txt",
        "echo x >> a.txt && git add a.txt && git checkout -q HEAD -- a.txt",
        "git mv a.txt b.txt",
        "ln -sf elsewhere a.txt",
        "rm -r dir && echo x > dir",
        "printf 'one\\ntwo\\n' > crlf.bat",
        "echo x >> dir/in.txt && git commit -q -am more",
        "git update-index --assume-unchanged a.txt && echo x >> a.txt",
        "git config core.autocrlf input && printf 'one\\r\\n' > a.txt",
        "git init -q inner && touch inner/x",
        "echo '*' > .gitignore && echo x > hidden",
        "git switch -q --detach && git merge -q --no-commit --no-ff other",
    ];
    let w = World::new();
    let app = app(&w);
    app.commit(".gitignore", "*.log\n");
    app.commit(".gitattributes", "*.bat text eol=crlf\n");
    for (path, content) in [("a.txt", "a\n"), ("dir/in.txt", "in\n"), ("crlf.bat", "one\ntwo\n")] {
        app.commit(path, content);
    }
    app.git(&["branch", "other"]);
    let mut children = Vec::new();
    for (n, change) in changes.iter().enumerate() {
        let child = subtree(&app, &[&format!("s{n}")]);
        // Each repository has its own configuration.
        child.sh(change).any_status().any_out().any_err();
        let row = app.spawn(&["list", "--status", "--json", "--under", &format!("main.s{n}")]).exit(0).json();
        assert_eq!(row["path"], child.path.to_str().unwrap());
        let by_git = !child.git(&["status", "--porcelain"]).is_empty();
        assert_eq!(row["dirty"].as_bool(), Some(by_git), "{change}");
        app.run("git", &["config", "--unset", "core.autocrlf"]).any_status().any_out().any_err();
        children.push((child, *change));
    }
    // One list looks at all of them, with one git for each.
    let list = ["list", "--status", "--json"];
    let Some((output, calls)) = traced(&app, "execve", "worktree-spawn", &list) else { return };
    let rows = output.json_lines();
    for (child, change) in &children {
        let row = rows.iter().find(|row| row["path"] == child.path.to_str().unwrap()).unwrap();
        let by_git = !child.git(&["status", "--porcelain"]).is_empty();
        assert_eq!(row["dirty"].as_bool(), Some(by_git), "{change}");
    }
    let started = calls.iter().filter(|line| line.ends_with("= 0")).count();
    assert!(started <= children.len() + 2, "{started} programs for {} worktrees", children.len());
}

#[test]
fn a_main_checkout_that_is_called_bare_is_named() {
    let w = World::new();
    let app = app(&w);
    let x = subtree(&app, &["x"]);
    app.git(&["config", "core.bare", "true"]);
    for at in [&app, &x] {
        at.spawn(&["list"]).exit(0).any_out().err_has("core.bare is true in .git/config").err_has("core.bare false");
        at.spawn(&["doctor"]).exit(1).out_has("core.bare is true in .git/config").out_has("core.bare false");
    }
}

#[test]
fn a_list_opens_a_few_files_per_worktree() {
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
    // With four times as many worktrees: the number of opened files grows linearly.
    assert!(opened[1] < opened[0] * 5, "{opened:?}");
}
