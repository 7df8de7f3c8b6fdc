//! shopfloor: what an agent calls itself, or its worktree, is nobody else's name.

use serde_json::Value;

use crate::support::floor::Floor;
use crate::support::world::{World, text, which, write};

/// A root is made with the first agent, so nobody is told to make one.
#[test]
fn where_no_agent_is_yet_the_verbs_say_how_to_make_one() {
    let w = World::new();
    let app = w.app();
    app.commit("README.md", "app\n");
    for verb in [&["review"][..], &["stop"], &["resume"], &["wait"], &["land"], &["start", "--task", "do it"]] {
        let told = app.shopfloor(verb).exit(2);
        told.err_has("there is no agent yet in the repository").err_has("`shopfloor new NAME TASK`");
        let told = app.shopfloor(&[verb, &["--json"]].concat()).exit(2).json();
        assert!(text(&told, "/error/hints/0").contains("`shopfloor adopt PATH`"), "{told}");
    }
    app.shopfloor(&["new", "HEAD"]).exit(2).err_has("`HEAD` means the main checkout or its commit");
    for words in [&["new", "y", "--host", "big", "a task"][..], &["new", "big:y", "-n"]] {
        let told = app.shopfloor(words).exit(2);
        told.err_has("no host is called `big`").err_has("`shopfloor host add big --ssh DEST`");
    }
    // What the hint says makes a root, which has no host yet.
    app.shopfloor(&["init"]).exit(0).any_out().any_err();
    app.shopfloor(&["new", "big:y", "a task"]).exit(2).err_has("no host is called `big`");
}

/// An agent can write its record and those of others, so what it calls itself there names nobody.
#[test]
fn no_name_that_an_agent_takes_is_anothers() {
    let w = World::new();
    which("tmux");
    let app = w.app();
    app.write(".gitignore", ".env\n");
    app.git(&["add", "."]);
    app.git(&["commit", "-qm", "ignore"]);
    let spawned = |name: &str| {
        let path = app.spawn(&["subtree", name, "--base-dir", "../wts"]).exit(0).any_err().stdout.trim_end().to_owned();
        let at = w.at(path);
        at.commit(name, &format!("work of {name}\n"));
        at.write(".env", "mine\n");
        app.run("worker-ctl", &["add", "--worktree", at.path.to_str().unwrap()]).succeeds().any_err();
        at
    };
    let (adam, eve) = (spawned("adam"), spawned("eve"));
    let floor = Floor::of(app, &w);
    let app = &floor.app;
    let pers = app.worktree("pers");
    pers.commit("unfinished", "unfinished\n");
    let state = |name: &str| app.path.join(format!(".git/worktrees/{name}/shopfloor/worktree-spawn/identity.json"));
    let record = std::fs::read_to_string(state("eve")).unwrap();
    let called = |id: &str| record.replace("\"id\":\"main.eve\"", &format!("\"id\":\"{id}\""));
    // Eve is called adam; the name still means adam.
    write(&state("eve"), &called("adam"));
    app.shopfloor(&["review", "adam"]).exit(0).any_err().out_has("work of adam");
    app.shopfloor(&["land", "adam"]).exit(0).any_out().any_err();
    assert!(app.has("adam") && !app.has("eve"));
    // A record of eve's leads to adam's worktree, and to the person's own.
    write(&state("eve"), &called("main.zoe"));
    for victim in [&adam, &pers] {
        app.sh("rm -rf .git/worktrees/aaa && cp -r .git/worktrees/eve .git/worktrees/aaa").exit(0);
        write(&app.path.join(".git/worktrees/aaa/gitdir"), &format!("{}/.git\n", victim.path.display()));
        write(&state("aaa"), &called("eve"));
        write(&state("pers"), &called("eve"));
        app.shopfloor(&["review", "eve"]).any_status().any_out().any_err();
        for verb in [&["land", "eve"][..], &["rm", "eve"], &["rm", "--force", "main.zoe"], &["resume", "zoe", "--yes"]]
        {
            app.shopfloor(verb).any_status().any_out().any_err();
        }
        assert!(!app.has("unfinished") && pers.has("unfinished") && adam.read(".env") == "mine\n");
    }
    let workers = floor.ctl(&["status", "--json"]).exit(0).json();
    assert!(!workers.to_string().contains(pers.path.to_str().unwrap()));
    drop(eve);
}

#[test]
fn no_agent_has_the_name_of_the_main_checkout() {
    let w = World::new();
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nmax_depth = 3\n");
    let app = w.app();
    let p = w.at(app.shopfloor(&["new", "p"]).exit(0).any_err().stdout.trim_end());
    for kind in ["subtree", "worker"] {
        p.spawn(&[kind, "main"]).exit(0).any_out().any_err();
    }
    // Nor one that calls itself so, and is on a branch that is called so.
    let record = app.path.join(".git/worktrees/p/shopfloor/worktree-spawn/identity.json");
    let written = std::fs::read_to_string(&record).unwrap();
    write(&record, &written.replace("\"id\":\"main.p\"", "\"id\":\"root\""));
    p.git(&["switch", "-qc", "root"]);
    for name in ["main", "root"] {
        assert_eq!(app.shopfloor(&["go", name]).exit(0).stdout, format!("{}\n", app.path.display()));
        app.shopfloor(&["rm", name, "--force"]).exit(1).err_has("is the main checkout, which is never removed");
    }
    app.shopfloor(&["go", "main.p.main"]).exit(0).out_has("/p/.shopfloor/worktrees/main");
}

#[test]
fn a_worktree_on_the_branch_main_is_not_taken_for_the_main_checkout() {
    let w = World::new();
    let app = w.app();
    app.git(&["switch", "-qc", "dev"]);
    app.git(&["worktree", "add", "-q", "../app-main", "main"]);
    let other = app.path.with_file_name("app-main");
    for words in [&["go", "main"][..], &["rm", "main", "--force"]] {
        let told = app.shopfloor(words).exit(1).any_out();
        told.err_has("main could be dev or ").err_has(&other.to_string_lossy());
    }
    for (name, path) in [("root", &app.path), ("dev", &app.path), ("app-main", &other)] {
        assert_eq!(app.shopfloor(&["go", name]).exit(0).stdout, format!("{}\n", path.display()));
    }
}

/// Also if an agent's name is the same without the sign.
#[test]
fn a_worktree_that_has_only_gits_name_answers_to_it() {
    let w = World::new();
    let app = w.app();
    app.git(&["worktree", "add", "-q", "--detach", "../loose"]);
    app.git(&["worktree", "add", "-q", "-b", "root", "../odd"]);
    app.shopfloor(&["new", "loose"]).exit(0).any_out().any_err();
    app.shopfloor(&["status"]).exit(0).out_has("@loose").out_has("root@odd");
    for (name, dir) in [("@loose", "loose"), ("root@odd", "odd")] {
        let path = app.path.with_file_name(dir);
        assert_eq!(app.shopfloor(&["go", name]).exit(0).stdout, format!("{}\n", path.display()));
        for words in [&["review", name][..], &["start", name, "task"], &["send", name, "hi"], &["rm", name, "--force"]]
        {
            app.shopfloor(words).exit(1).err_has("was not started here").err_has("`shopfloor adopt ");
        }
    }
}

#[test]
fn a_workers_name_comes_before_the_branch_of_another_worktree() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let app = &floor.app;
    app.git(&["worktree", "add", "-q", "-b", "adam", "../other"]);
    for (name, place) in [("adam", "/adam\n"), ("feature/adam", "/adam\n"), ("other", "/other\n")] {
        let went = app.shopfloor(&["go", name]).exit(0);
        assert!(went.stdout.ends_with(place), "{went}");
    }
    app.git(&["worktree", "add", "-q", "--force", "../twice", "adam"]);
    app.shopfloor(&["go", "adam"]).exit(0).out_has("/repos/adam\n");
    // Nor does `new` give it to a second one.
    for words in [&["new", "adam"][..], &["new", "Adam", "a task"], &["new", "adam", "-n"]] {
        app.shopfloor(words).exit(1).err_has("adam already exists, as a worker in ").err_has("`shopfloor start adam");
    }
}

#[test]
fn a_worktree_that_was_moved_and_then_deleted_is_one_row_with_its_worker() {
    let w = World::new();
    which("tmux");
    let app = w.app();
    app.commit("README.md", "app\n");
    let x = w.at(app.shopfloor(&["new", "x"]).exit(0).any_err().stdout.trim_end());
    let moved = x.path.with_file_name("moved");
    let [from, to] = [&x.path, &moved].map(|path| path.to_str().unwrap());
    app.run("worker-ctl", &["add", "--worktree", from]).succeeds().any_err();
    app.git(&["worktree", "move", from, to]);
    std::fs::remove_dir_all(&moved).unwrap();
    let rows = || app.shopfloor(&["status", "--json"]).any_status().any_err().json()["worktrees"].clone();
    let named = |rows: Value| rows.as_array().unwrap().iter().filter(|row| row["name"] == "x").count();
    assert_eq!(named(rows()), 1);
    app.shopfloor(&["rm", "x", "--force"]).exit(0).any_out().any_err();
    assert_eq!(named(rows()), 0);
}

#[test]
fn an_address_that_is_no_requests_is_no_name() {
    let w = World::new();
    let app = w.app();
    let addresses = ["https://example.com/x", "https://github.com/o/r", "https://github.com/o/r/pulls/12"];
    for name in addresses.into_iter().chain(["github.com/o/r/pull/12", "git@github.com:o/r.git", "PR:x"]) {
        for args in [&["new", name][..], &["new", "-n", name]] {
            app.shopfloor(args).exit(2).err_has("names no request and no issue").err_has("feature-a");
        }
    }
    assert!(!w.home("eng/repos/app.worktrees").exists());
    // A slash and a dot alone make no address.
    app.shopfloor(&["new", "-n", "fix/v1.2"]).exit(0).any_out().any_err();
}

/// An agent chooses what is checked out in its worktree: a name for the worktree says nothing of that branch.
#[test]
fn what_lands_on_the_way_is_the_branch_that_the_worktree_was_made_with() {
    let w = World::new();
    which("tmux");
    let app = w.app();
    app.commit("f", "1\n");
    app.git(&["branch", "release"]);
    app.sh("git switch -qc wip && echo half > half && git add . && git commit -qm half && git switch -q main").exit(0);
    let a = w.at(app.shopfloor(&["new", "a"]).exit(0).any_err().stdout.trim_end());
    let pers = app.worktree("pers");
    let tips =
        || app.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/main", "refs/heads/release"]);
    let before = tips();
    // A branch whose name ends in the agent's, and one that a person has not finished.
    for (at, name, line) in [
        (&a, "a", "git switch -qc release.a && echo 2 > f && git commit -qam fix"),
        (&a, "a", "git symbolic-ref HEAD refs/heads/wip && git reset -q --hard"),
        (&pers, "pers", "git symbolic-ref HEAD refs/heads/wip && git reset -q --hard"),
        (
            &pers,
            "pers",
            "git branch -q team/pers wip; git symbolic-ref HEAD refs/heads/team/pers && git reset -q --hard",
        ),
    ] {
        at.sh(line).exit(0);
        app.shopfloor(&["land", name]).exit(1).err_has("was not started here").err_has("shopfloor adopt");
        assert_eq!(tips(), before, "{line}");
        a.git(&["symbolic-ref", "HEAD", "refs/heads/main.a"]);
    }
    a.git(&["reset", "-q", "--hard"]);
    // Nor does adoption guess a parent from a name.
    a.git(&["switch", "-q", "release.a"]);
    let asked = app.shopfloor(&["adopt", a.path.to_str().unwrap()]).exit(2);
    asked.err_has("is called after release, where no worker works").err_has("--target release");
    a.git(&["switch", "-q", "main.a"]);
    a.commit("g", "1\n");
    app.shopfloor(&["land", "a"]).exit(0).any_out().err_has("its work on main.a lands on main");
    assert!(app.has("g"));
}

#[test]
fn what_can_have_no_agents_is_told_before_anything_is_made_there() {
    let w = World::new();
    let app = w.app();
    for text in ["1\n", "2\n"] {
        app.commit("f", text);
    }
    app.git(&["config", "uploadpack.allowFilter", "true"]);
    app.sh("git clone -q --filter=blob:none file://$PWD ../partial").exit(0).any_err();
    let partial = w.at(app.path.with_file_name("partial"));
    partial.git(&["worktree", "add", "-q", "-b", "man", "../man"]);
    for words in [&["adopt", "../man"][..], &["new", "q", "task"]] {
        for flags in [&["-n"][..], &[]] {
            partial.shopfloor(&[flags, words].concat()).exit(2).err_has("is a partial clone, which lacks objects");
        }
    }
    assert_eq!(partial.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]), "main\nman\n");
}

/// Overlays are called after directories.
#[test]
fn a_repository_without_an_overlay_is_not_concerned_with_that_of_another_of_its_name() {
    let w = World::new();
    let (one, other) = (w.repo("p/app"), w.repo("q/app"));
    one.commit(".gitignore", ".env\n");
    other.commit(".gitignore", ".env\n");
    one.write(".env", "A=1\n");
    one.overlay(&["add", ".env"]).succeeds();
    one.overlay(&["attach"]).succeeds();
    other.shopfloor(&["status"]).exit(0).out_has("main checkout");
    let status = other.overlay(&["status"]).exit(0);
    status.err_has("has no overlay").err_has("overlays/app").err_has("--overlay DIR");
    other.overlay(&["attach"]).exit(2).err_has("belongs to");
    // One that a setting names is a wrong setting, wherever it is.
    let named = w.home(".local/share/shopfloor/overlays/app");
    write(&w.home(".config/shopfloor/config.toml"), &format!("[overlay-sync]\noverlay = \"{}\"\n", named.display()));
    other.overlay(&["status"]).exit(2).err_has("belongs to");
}
