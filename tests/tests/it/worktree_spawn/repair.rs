//! `repair` of moved and copied repositories.

use crate::support::spawn::{app, killed_in_its_hook, subtree};
use crate::support::world::{World, text, write};

#[test]
fn a_moved_repository_is_repaired() {
    let w = World::new();
    let app = app(&w);
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nmax_depth = 3\n");
    let a = subtree(&app, &["a"]);
    subtree(&a, &["b"]);
    a.spawn(&["worker", "w"]).succeeds();
    a.spawn(&["notify", "info", "before"]).succeeds();
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
    inside.spawn(&["notify", "info", "after"]).succeeds();
    assert_eq!(text(&moved.spawn(&["wait"]).exit(0).json(), "/message"), "after");
    // The exclude lines are restored.
    write(&moved.path.join(".git/info/exclude"), "");
    moved.spawn(&["repair"]).exit(0).out_has("restored the lines of info/exclude");
    assert!(moved.excludes().contains(&"/.shopfloor/*".to_owned()));
    // One repair mends two damages, and a dry run names both.
    std::fs::remove_file(inside.path.join(".mcp.json")).unwrap();
    write(&moved.path.join(".git/info/exclude"), "");
    let dry = moved.spawn(&["repair", "--dry-run"]).exit(0);
    dry.out_has("would restore the configuration of main.a").out_has("would restore the lines of info/exclude");
    moved.spawn(&["repair"]).exit(0).out_has("restored the configuration of main.a");
    moved.spawn(&["doctor"]).exit(0).any_out();
    assert_eq!(inside.git(&["status", "--porcelain"]), "");
    inside.git(&["clean", "-qffdx"]);
    assert_eq!(inside.spawn(&["whoami"]).exit(0).stdout, "main.a\n");
}

#[test]
fn a_worktree_outside_of_a_moved_repository_is_reconnected() {
    let w = World::new();
    let app = app(&w);
    let x = w.at(app.spawn(&["subtree", "x", "--base-dir", "../trees"]).succeeds().stdout.trim_end());
    let moved = w.at(app.path.with_file_name("moved"));
    std::fs::rename(&app.path, &moved.path).unwrap();
    moved.spawn(&["doctor"]).exit(1).out_has("trees/x does not lead to this repository, which was moved");
    moved.spawn(&["repair"]).exit(0).out_has("reconnected ").out_has("listed ");
    assert_eq!(x.spawn(&["whoami"]).exit(0).stdout, "main.x\n");
    moved.spawn(&["doctor"]).exit(0).any_out();
    // git reconnects it as well, and knows nothing of the user's list.
    let again = w.at(app.path.with_file_name("again"));
    std::fs::rename(&moved.path, &again.path).unwrap();
    again.git(&["worktree", "repair", x.path.to_str().unwrap()]);
    x.spawn(&["whoami"]).exit(4).err_has("worktree-spawn repair");
    again.spawn(&["doctor"]).exit(1).out_has("of a repository that is gone");
    again.spawn(&["repair", "-n"]).exit(0).out_has("would list ");
    again.spawn(&["repair"]).exit(0).out_has("listed ");
    assert_eq!(x.spawn(&["whoami"]).exit(0).stdout, "main.x\n");
    // A repository that is there keeps its worktrees.
    let other = w.repo("other");
    other.git(&["worktree", "add", "-q", "../others"]);
    let record = other.path.join(".git/worktrees/others");
    write(&record.join("gitdir"), &format!("{}/.git\n", x.path.display()));
    x.write(".git", &format!("gitdir: {}\n", record.display()));
    other.spawn(&["repair"]).any_status().any_out().any_err();
    x.spawn(&["whoami"]).exit(4).any_err();
}

#[test]
fn a_worktree_of_another_repository_that_is_away_is_left() {
    let w = World::new();
    let (app, other) = (app(&w), w.repo("other"));
    let x = w.at(other.spawn(&["subtree", "x", "--base-dir", "../trees"]).succeeds().stdout.trim_end());
    app.git(&["worktree", "add", "-q", "../x"]);
    let record = app.path.join(".git/worktrees/x/gitdir");
    write(&record, &format!("{}/.git\n", x.path.display()));
    let before = (x.read(".git"), std::fs::read(&record).unwrap());
    std::fs::rename(&other.path, w.home("away")).unwrap();
    for args in [&["repair", "-n"][..], &["repair"]] {
        app.spawn(args).exit(0).out_has("trees/x/.git does not lead to ");
        assert_eq!((x.read(".git"), std::fs::read(&record).unwrap()), before, "{args:?}");
    }
    std::fs::rename(w.home("away"), &other.path).unwrap();
    assert_eq!(x.spawn(&["whoami"]).exit(0).stdout, "main.x\n");
}

#[test]
fn a_worktree_of_another_repository_in_the_place_of_one_is_told_as_that() {
    let w = World::new();
    let (app, other) = (app(&w), w.repo("other"));
    let x = w.at(app.spawn(&["subtree", "x", "--base-dir", "../trees"]).succeeds().stdout.trim_end());
    std::fs::remove_dir_all(&x.path).unwrap();
    other.git(&["worktree", "add", "-q", x.path.to_str().unwrap()]);
    let says = format!("trees/x is another worktree by now, that of {}", other.path.join(".git/worktrees/x").display());
    let way = format!("`rm -r {}`", app.path.join(".git/worktrees/x").display());
    app.spawn(&["doctor"]).exit(1).out_has(&says).out_has(&way);
    app.spawn(&["repair"]).exit(0).out_has(&says).out_has(&way);
    app.sh(way.trim_matches('`')).exit(0);
    app.spawn(&["doctor"]).exit(0).any_out();
    assert_eq!(x.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_worktree_that_was_moved_from_where_another_one_is_now_keeps_its_record() {
    let w = World::new();
    let (app, other) = (app(&w), w.repo("other"));
    let x = w.at(app.spawn(&["subtree", "x", "--base-dir", "../trees"]).succeeds().stdout.trim_end());
    x.sh("git checkout -q --detach && git commit -q --allow-empty -m work && echo > staged && git add staged").exit(0);
    let moved = w.at(app.path.with_file_name("moved"));
    std::fs::rename(&x.path, &moved.path).unwrap();
    other.git(&["worktree", "add", "-q", x.path.to_str().unwrap()]);
    for told in [app.spawn(&["doctor"]).exit(1), app.spawn(&["repair"]).exit(0)] {
        told.out_has("trees/x is another worktree by now").out_has("run `echo PLACE/.git > ");
        assert!(!told.stdout.contains("rm -r"), "{told}");
    }
    app.spawn(&["remove", "x"]).exit(1).err_has("another one has its place, `worktree-spawn repair` ");
    let told = app.spawn(&["repair"]).exit(0).stdout;
    app.sh(&told.split('`').nth(1).unwrap().replace("PLACE", moved.path.to_str().unwrap())).exit(0);
    assert_eq!(moved.git(&["log", "-1", "--format=%s"]), "work\n");
    assert_eq!(moved.git(&["status", "--porcelain"]), "A  staged\n");
    // The other repository still has the worktree that is at the old place.
    assert_eq!(x.git(&["log", "-1", "--format=%s"]), "start\n");
    app.spawn(&["doctor"]).exit(0).any_out();
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
fn the_worktrees_beside_a_copied_checkout_are_connected_to_the_copy() {
    let w = World::new();
    let app = app(&w);
    let original = w.at(app.spawn(&["subtree", "x", "--base-dir", "../trees"]).succeeds().stdout.trim_end());
    let dot_git = original.read(".git");
    w.at(w.home("")).sh("cp -a eng eng2 && cp -a eng/repos/app alone").exit(0);
    let copy = w.at(w.home("eng2/repos/app"));
    let copied = w.at(copy.path.join("../trees").join(original.path.file_name().unwrap()));
    copy.spawn(&["repair", "--dry-run"]).exit(0).out_has("would reconnect ").out_has("eng2/repos/trees/");
    copy.spawn(&["repair"]).exit(0).out_has("reconnected ");
    copied.commit("in-copy", "1");
    assert_eq!(copied.git(&["rev-parse", "HEAD"]), copy.git(&["rev-parse", "main.x"]));
    assert_eq!(copied.spawn(&["whoami"]).exit(0).stdout, "main.x\n");
    // A copy of the checkout alone has none, and takes none.
    w.at(w.home("alone")).spawn(&["repair"]).exit(0).out_has("is another worktree by now");
    assert_eq!(original.read(".git"), dot_git);
    original.commit("in-original", "1");
    assert_eq!(original.git(&["rev-parse", "HEAD"]), app.git(&["rev-parse", "main.x"]));
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
    moved.spawn(&["subtree", "z"]).succeeds();
}

#[test]
fn a_worktree_that_has_lost_its_git_file_gets_it_again() {
    let w = World::new();
    let app = app(&w);
    let x = subtree(&app, &["x"]);
    x.write("work", "mine\n");
    let dot_git = x.read(".git");
    std::fs::remove_file(x.path.join(".git")).unwrap();
    for args in [&["remove", "x"][..], &["remove", "x", "--force"]] {
        app.spawn(args).exit(1).err_has("has no `.git` file").err_has("worktree-spawn repair");
    }
    app.spawn(&["doctor"]).exit(1).out_has("has lost its `.git` file");
    app.spawn(&["repair"]).exit(0).out_has("reconnected ");
    assert_eq!((x.read(".git"), x.git(&["status", "--porcelain"])), (dot_git, "?? work\n".into()));
    // A record that an agent has led to a directory of a person's gives that directory none.
    let yours = w.home("yours");
    write(&yours.join("file"), "yours\n");
    let record = app.path.join(".git/worktrees/x/gitdir");
    let gitdir = std::fs::read_to_string(&record).unwrap();
    write(&record, &format!("{}/.git\n", yours.display()));
    app.spawn(&["repair"]).exit(0).out_has("`git worktree prune` removes git's record of it");
    assert!(!yours.join(".git").exists());
    write(&record, &gitdir);
    // A repository in the place of the file is named, with a way out.
    x.sh("rm .git && git init -q .").exit(0);
    app.spawn(&["doctor"]).exit(1).out_has(".git does not lead to ").out_has("`mv ");
    let refused = app.spawn(&["remove", "x", "--force"]).exit(4).stderr;
    let way = refused.split('`').nth(1).unwrap().to_owned();
    app.sh(&way).exit(0);
    app.spawn(&["doctor"]).exit(0).any_out();
    app.spawn(&["remove", "x", "--force"]).exit(0).any_err().out_has("refs/shopfloor/trash/main.x/");
}

#[test]
fn the_configuration_of_an_agent_is_restored() {
    let w = World::new();
    let app = app(&w);
    let y = subtree(&app, &["y"]);
    y.git(&["clean", "-qffdx"]);
    app.spawn(&["repair"]).exit(0).out_has("restored the configuration of main.y");
    assert!(y.read(".mcp.json").contains("main.y"));
}

#[test]
fn nothing_is_lost_or_left_where_refs_are_no_files() {
    let w = World::new();
    let repo = w.at(w.home("tables"));
    std::fs::create_dir(&repo.path).unwrap();
    if *repo.run("git", &["init", "-q", "-b", "main", "--ref-format=reftable"]).any_status().any_out().any_err().status
        != Some(0)
    {
        return;
    }
    repo.git(&["commit", "-q", "--allow-empty", "-m", "start"]);
    for delete in ["", "rm -r .shopfloor/worktrees/a"] {
        repo.write(".git/hooks/post-checkout", "#!/bin/sh\nkill -9 $PPID\n");
        repo.sh("chmod +x .git/hooks/post-checkout").exit(0);
        repo.spawn(&["subtree", "a"]).any_status().any_out().any_err();
        repo.sh(&format!("rm .git/hooks/post-checkout; {delete}")).exit(0);
        repo.spawn(&["repair"]).exit(0).out_has("undid the spawn of main.a");
        assert_eq!(repo.git(&["branch", "--list", "main.a"]), "");
    }
    // What only a ref of its record has stays, and the record with it.
    repo.write(".git/hooks/post-checkout", "#!/bin/sh\nkill -9 $PPID\n");
    repo.sh("chmod +x .git/hooks/post-checkout").exit(0);
    repo.spawn(&["subtree", "own"]).any_status().any_out().any_err();
    repo.sh("rm .git/hooks/post-checkout && git -C .shopfloor/worktrees/own update-ref refs/worktree/x HEAD").exit(0);
    repo.sh("rm -r .shopfloor/worktrees/own").exit(0);
    repo.spawn(&["repair"]).exit(0).out_has("main.own was killed");
    assert!(repo.has(".git/worktrees/own/reftable"));
    // A commit that only the HEAD of a worktree has that is away, and one that only an operation has.
    let away = subtree(&repo, &["a"]);
    away.sh("git switch -q --detach && git commit -q --allow-empty -m loose").exit(0);
    let loose = away.git(&["rev-parse", "HEAD"]);
    std::fs::rename(&away.path, repo.path.with_file_name("stick")).unwrap();
    repo.spawn(&["remove", "a"]).exit(1).err_has("is not there");
    let kept = repo.spawn(&["remove", "a", "--force"]).exit(0).any_err().stdout.clone();
    assert_eq!(repo.git(&["rev-parse", kept.trim()]), loose);
    let pick = subtree(&repo, &["c"]);
    pick.sh(
        "echo 1 > f && git add f && git commit -q -m 1 && git switch -q -c side && echo 2 > f && git commit -q -a -m 2 && \
         git switch -q main.c && echo 3 > f && git commit -q -a -m 3 && ! git cherry-pick side && git branch -D side",
    )
    .exit(0)
    .any_out()
    .any_err();
    let picked = pick.git(&["rev-parse", "CHERRY_PICK_HEAD"]);
    pick.sh("git checkout -q --ours f && git add f").exit(0);
    repo.git(&["merge", "-q", "main.c"]);
    repo.spawn(&["remove", "c"]).exit(1).any_out().any_err();
    let kept = repo.spawn(&["remove", "c", "--force"]).exit(0).any_err().stdout.clone();
    assert!(repo.git(&["rev-list", kept.trim()]).contains(picked.trim()));
}
