//! Git's hooks, repository layouts and configuration.

use std::os::unix::fs::PermissionsExt;

use crate::support::spawn::{app, subtree};
use crate::support::world::{Repo, World, git_version, mode, text, write};

#[test]
fn a_hook_that_was_changed_since_it_was_installed_is_left_out() {
    let w = World::new();
    let app = app(&w);
    let path = app.path.join(".git/hooks/post-checkout");
    let put = |path: &std::path::Path, body: &str| {
        write(path, &format!("#!/bin/sh\n{body}\n"));
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    put(&path, "touch theirs");
    app.apply(&["hook", "install"]).exit(0).any_out().any_err();
    assert!(subtree(&app, &["a"]).has("theirs"));
    // The person's own hook, which ours runs first, is another one now.
    let before = path.with_file_name("post-checkout.before-shopfloor");
    put(&before, "touch evil");
    let made = app.spawn(&["subtree", "b"]).exit(0);
    made.err_has("post-checkout.before-shopfloor has changed since `hook install` saw it").err_has("hook install");
    assert!(!w.at(made.stdout.trim_end()).has("evil"));
    // To install it again is to accept it.
    app.apply(&["hook", "install"]).exit(0).any_out().any_err();
    assert!(subtree(&app, &["c"]).has("evil"));
    // Our own is known by its text.
    let ours = std::fs::read_to_string(&path).unwrap();
    write(&path, &ours.replace("status=0", "status=0; touch worse"));
    let made = app.spawn(&["subtree", "d"]).exit(0);
    made.err_has("was edited since it was installed");
    assert!(!w.at(made.stdout.trim_end()).has("worse"));
}

#[test]
fn hooks_run_as_under_git_and_their_failure_is_a_warning() {
    let w = World::new();
    let app = app(&w);
    let hook = |body: &str| {
        let path = app.path.join(".git/hooks/post-checkout");
        write(&path, &format!("#!/bin/sh\n{body}\n"));
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    hook(
        "echo \"$@\" > hook-args; env | grep ^GIT_DIR= >> hook-args; pwd >> hook-args; git rev-parse HEAD >> hook-args; exit 0",
    );
    let ours = subtree(&app, &["x"]);
    let theirs = app.worktree("theirs");
    let told = |repo: &Repo<'_>| repo.read("hook-args").replace(repo.path.to_str().unwrap(), "HERE");
    assert_eq!(told(&ours), told(&theirs));
    assert!(told(&ours).starts_with(&"0".repeat(40)));
    hook("echo talk; echo trouble >&2; exit 3");
    let failed = app.spawn(&["subtree", "y"]).exit(0);
    assert_eq!(failed.stdout.lines().count(), 1);
    failed.err_has("trouble").err_has("exit status 3").err_has("usable");
    let json = app.spawn(&["subtree", "z", "--json"]).exit(0).any_err().json();
    assert!(text(&json, "/warnings/0").contains("exit status 3"));
    assert_eq!(app.spawn(&["subtree", "quiet", "--no-git-hooks"]).succeeds().stderr, "");
    // A relative directory is the main checkout's: husky's is ignored by git, so no new worktree has it.
    app.git(&["config", "core.hooksPath", ".hooks"]);
    app.write(".hooks/post-checkout", "#!/bin/sh\ntouch from-tree\n");
    app.sh("chmod +x .hooks/post-checkout && echo .hooks >> .git/info/exclude").exit(0);
    assert!(app.worktree("with-git").has("from-tree"));
    let tree = subtree(&app, &["tree"]);
    assert!(tree.has("from-tree"));
    assert!(!tree.worktree("other").has("from-tree"));
    app.sh("git commit -q --allow-empty -m more").exit(0);
    let from = app.spawn(&["subtree", "from", "--from", "HEAD~1"]).exit(0).stdout.clone();
    assert!(w.at(from.trim_end()).has("from-tree"));
}

#[test]
fn sweatfile_apply_and_overlay_sync_join_in() {
    let w = World::new();
    let app = app(&w);
    app.approved("git_excludes = [\"/.claude/\"]\n\n[env]\nNAME = \"{branch}\"\n\n[files.\"claude/settings.local.json\"]\ncontent = \"{}\\n\"\n");
    app.git(&["add", "sweatfile"]);
    app.git(&["commit", "-q", "-m", "sweatfile"]);
    app.apply(&["hook", "install"]).succeeds();
    app.overlay(&["hook", "install"]).succeeds();
    app.write(".env.local", "SHARED=1\n");
    app.sh("echo .env.local >> .git/info/exclude").exit(0);
    app.overlay(&["add", ".env.local"]).succeeds();
    let child = subtree(&app, &["x"]);
    assert_eq!(child.read(".env.local"), "SHARED=1\n");
    assert!(child.has(".sweatshop-env") && child.has(".claude/settings.local.json"));
    child.apply(&["check"]).exit(0);
    assert_eq!(child.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_spawn_inside_pre_commit_leaves_the_commit_alone() {
    let w = World::new();
    let app = app(&w);
    let linked = app.worktree("linked");
    let path = app.path.join(".git/hooks/pre-commit");
    write(
        &path,
        "#!/bin/sh\nworktree-spawn subtree \"from hook\" && worktree-spawn notify info x --as linked.from-hook\n",
    );
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    linked.write("staged", "work\n");
    linked.git(&["add", "staged"]);
    linked.git(&["commit", "-q", "-m", "with hook"]);
    assert_eq!(linked.git(&["show", "--name-only", "--format="]), "staged\n");
    assert_eq!(linked.git(&["status", "--porcelain"]), "");
    let child = w.at(linked.path.join(".shopfloor/worktrees/from-hook"));
    assert_eq!(child.git(&["status", "--porcelain"]), "");
    assert_eq!(child.read("README.md"), "app\n");
    assert!(!child.has("staged"));
    assert_eq!(text(&linked.spawn(&["wait", "--timeout", "9s"]).exit(0).json(), "/from/id"), "linked.from-hook");
    app.git(&["fsck", "--strict"]);
}

#[test]
fn a_bare_repository_in_a_wrapper_directory_works() {
    let mut w = World::new();
    only_explicit(&mut w);
    let app = app(&w);
    let wrapper = w.home("bare");
    std::fs::create_dir_all(&wrapper).unwrap();
    w.at(&wrapper).git(&["clone", "-q", "--bare", app.path.to_str().unwrap(), ".bare"]);
    write(&wrapper.join(".git"), "gitdir: ./.bare\n");
    w.at(&wrapper).git(&["worktree", "add", "-q", "main"]);
    let main = w.at(wrapper.join("main"));
    assert_eq!(main.spawn(&["whoami"]).exit(0).stdout, "main\n");
    let child = subtree(&main, &["x"]);
    assert_eq!(child.path, main.path.join(".shopfloor/worktrees/x"));
    assert_eq!(child.git(&["status", "--porcelain"]) + &main.git(&["status", "--porcelain"]), "");
    child.spawn(&["notify", "info", "hello"]).succeeds();
    assert_eq!(text(&main.spawn(&["wait", "--timeout", "9s"]).exit(0).json(), "/to"), "main");
    let listed = w.at(&wrapper).spawn(&["list", "--json"]).exit(0).json_lines();
    assert_eq!(listed.iter().map(|row| text(row, "/id")).collect::<Vec<_>>(), ["main", "main.x"]);
    w.at(&wrapper).spawn(&["subtree", "y"]).exit(2).err_has("no work tree");
    // What a person made there lands on the repository's branch.
    main.git(&["worktree", "add", "-q", "-b", "fix", "../fix"]);
    main.commit("two", "2\n");
    let counted = main.spawn(&["list", "--stat", "--json"]).exit(0).json_lines();
    let fix = counted.iter().find(|row| row["id"] == "fix").unwrap();
    assert_eq!((fix["ahead"].as_u64(), fix["behind"].as_u64()), (Some(0), Some(1)), "{fix}");
}

#[test]
fn a_repository_whose_path_has_a_line_end_is_refused_with_the_reason() {
    let w = World::new();
    let odd = w.repo("a\nb");
    for args in [&["subtree", "x"][..], &["worker", "w"], &["list"]] {
        odd.spawn(args).exit(2).err_has("contains a newline").err_has("move the repository");
    }
    let app = app(&w);
    app.git(&["worktree", "add", "-q", "-b", "two", "../two\nlines"]);
    let told = w.at(app.path.with_file_name("two\nlines")).apply(&["check"]).exit(2);
    told.err_has("the worktree's path at").err_has("move the worktree to a path without a newline");
}

/// Has git find no bare repository by itself, as some people do.
fn only_explicit(w: &mut World) {
    let config = w.home("only-explicit");
    write(&config, "[safe]\n\tbareRepository = explicit\n");
    w.set("GIT_CONFIG_GLOBAL", config.to_string_lossy());
}

#[test]
fn a_separate_git_directory_works() {
    let mut w = World::new();
    only_explicit(&mut w);
    app(&w);
    let separate = w.at(w.home("separate"));
    let home = w.at(w.home(""));
    let clone = ["clone", "-q", "--separate-git-dir", "sep.git", "eng/repos/app", "separate"];
    // Where refs are in tables, git is asked for the worktrees.
    let tables: &[&str] = if git_version(&home) >= (2, 45) { &["--ref-format=reftable"] } else { &[] };
    home.git(&[&clone[..], tables].concat());
    let child = subtree(&separate, &["x"]);
    assert_eq!(child.spawn(&["whoami"]).exit(0).stdout, "main.x\n");
    assert_eq!(separate.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_submodule_and_a_repository_with_one_work() {
    let mut w = World::new();
    write(&w.home("gitconfig"), "[protocol \"file\"]\n\tallow = always\n");
    w.set("GIT_CONFIG_GLOBAL", w.home("gitconfig").to_str().unwrap().to_owned());
    let app = app(&w);
    let outer = w.repo("outer");
    outer.git(&["submodule", "--quiet", "add", app.path.to_str().unwrap(), "sub"]);
    outer.git(&["commit", "-q", "-m", "sub"]);
    let inner = w.at(outer.path.join("sub"));
    let child = subtree(&inner, &["x"]);
    assert_eq!(child.git(&["status", "--porcelain"]) + &inner.git(&["status", "--porcelain"]), "");
    let plain = subtree(&outer, &["plain"]);
    assert!(!plain.has("sub/README.md"));
    assert_eq!(plain.git(&["status", "--porcelain"]), "");
    let new = outer.shopfloor(&["new", "new", "--submodules"]).exit(0).any_err();
    assert!(w.at(new.stdout.trim_end()).has("sub/README.md"));
    let full = subtree(&outer, &["full", "--submodules"]);
    assert!(full.has("sub/README.md"));
    let sub = w.at(full.path.join("sub"));
    sub.commit("only-here", "x");
    full.git(&["commit", "-q", "-am", "bump"]);
    outer.spawn(&["remove", "full"]).exit(1).err_has("submodule");
    // Its commits stay in the worktree's record when it leaves the worktree.
    full.sh("git submodule --quiet deinit -f sub").exit(0).any_err();
    assert!(!full.has("sub/.git"));
    outer.spawn(&["remove", "full"]).exit(1).err_has("the submodule sub, which was here, has commits");
    full.sh("git submodule --quiet update --init").exit(0).any_err();
    sub.git(&["reset", "-q", "--hard", "HEAD~1"]);
    full.git(&["reset", "-q", "--hard", "HEAD~1"]);
    outer.spawn(&["remove", "full"]).succeeds();
}

#[test]
fn refs_in_another_format_work() {
    let w = World::new();
    std::fs::create_dir_all(w.home("table")).unwrap();
    let table = w.at(w.home("table"));
    if table.run("git", &["init", "-q", "-b", "main", "--ref-format=reftable"]).status == Some(0) {
        table.commit("a", "a");
        let child = subtree(&table, &["x"]);
        assert_eq!(child.spawn(&["whoami"]).exit(0).stdout, "main.x\n");
        assert_eq!(child.git(&["status", "--porcelain"]), "");
        let rows = table.spawn(&["list", "--json"]).exit(0).json_lines();
        assert_eq!(rows.iter().map(|row| text(row, "/branch")).collect::<Vec<_>>(), ["main", "main.x"]);
    }
}

#[test]
fn unusual_characters_in_paths_work() {
    let w = World::new();
    let odd = w.repo("it's an ünusual $HOME/place");
    odd.commit("a b", "x");
    let child = subtree(&odd, &["x"]);
    assert_eq!(child.git(&["status", "--porcelain"]), "");
    assert_eq!(odd.spawn(&["list", "-z", "--kind", "subtree"]).exit(0).stdout, format!("{}\0", child.path.display()));
}

#[test]
fn conditional_configuration_is_that_of_the_new_worktree() {
    let w = World::new();
    let app = app(&w);
    app.commit("x.txt", "one\ntwo\n");
    write(&w.home("crlf"), "[core]\n\tautocrlf = true\n");
    let include = w.home("crlf");
    for (condition, name) in [("onbranch:main.branch", "branch"), ("gitdir:**/worktrees/dir", "dir")] {
        app.git(&["config", &format!("includeIf.{condition}.path"), include.to_str().unwrap()]);
        let child = subtree(&app, &[name]);
        assert_eq!(child.read("x.txt"), "one\r\ntwo\r\n", "{condition}");
        assert_eq!(child.git(&["status", "--porcelain"]), "", "{condition}");
    }
    // The new worktree does not get the spawner's configuration.
    app.git(&["config", "includeIf.onbranch:main.path", include.to_str().unwrap()]);
    assert_eq!(subtree(&app, &["other"]).read("x.txt"), "one\ntwo\n");
}

#[test]
fn a_shared_repository_keeps_its_modes() {
    let w = World::new();
    let app = app(&w);
    app.git(&["config", "core.sharedRepository", "group"]);
    app.run("sh", &["-c", "umask 077; worktree-spawn subtree x"]).succeeds();
    app.sh("umask 077; git branch other/y && git worktree add -q ../y other/y").exit(0);
    let modes = |name: &str| {
        let dirs = ["refs/heads", "logs/refs/heads", &format!("worktrees/{name}"), &format!("worktrees/{name}/logs")];
        dirs.map(|dir| mode(&app.path.join(".git").join(dir)))
    };
    assert_eq!(modes("x"), modes("y"));
    let branch = |name: &str| mode(&app.path.join(".git/refs/heads").join(name));
    assert_eq!(branch("main.x"), branch("other/y"));
    assert_eq!(
        mode(&app.path.join(".git/logs/refs/heads/main.x")),
        mode(&app.path.join(".git/logs/refs/heads/other/y"))
    );
}

#[test]
fn a_daemon_started_by_a_hook_is_not_waited_for() {
    let w = World::new();
    let app = app(&w);
    app.write(".git/hooks/post-checkout", "#!/bin/sh\n. git-sh-setup\nsleep 600 & echo $! > $HOME/pid\n");
    app.sh("chmod +x .git/hooks/post-checkout").exit(0);
    let out = app.spawn(&["subtree", "x"]).succeeds();
    assert_eq!(out.stderr, "");
    app.sh("kill $(cat $HOME/pid)").exit(0);
}

#[test]
fn a_worktree_of_a_separate_git_directory_knows_the_root() {
    let w = World::new();
    app(&w);
    w.at(w.home("")).git(&["clone", "-q", "--separate-git-dir", "sep.git", "eng/repos/app", "separate"]);
    let inside = subtree(&w.at(w.home("separate")), &["s"]);
    assert_eq!(inside.spawn(&["path", "root"]).exit(0).stdout, format!("{}\n", w.home("separate").display()));
}

#[test]
fn a_repository_that_is_shared_has_the_same_modes_as_under_git() {
    let w = World::new();
    let app = app(&w);
    for (n, shared) in ["umask", "group", "all", "0660"].into_iter().enumerate() {
        app.git(&["config", "core.sharedRepository", shared]);
        let by_git = app.path.with_file_name(format!("g{n}"));
        app.git(&["worktree", "add", "-q", by_git.to_str().unwrap()]);
        let ours = subtree(&app, &[&format!("s{n}")]);
        let elsewhere = subtree(&app, &[&format!("e{n}"), "--base-dir", w.home("elsewhere").to_str().unwrap()]);
        for below in ["", "src", "src/main.rs", ".git"] {
            let modes = [&by_git, &ours.path, &elsewhere.path].map(|at| mode(&at.join(below)));
            let shown = modes.map(|mode| format!("{mode:o}"));
            assert!(shown.iter().all(|mode| *mode == shown[0]), "{shared} {below}: {shown:?}");
        }
    }
}

#[test]
fn a_repository_of_another_user_works_where_git_works() {
    let mut w = World::new();
    let app = app(&w).path;
    w.set("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1");
    // With safe.directory as git's message says it, or in the environment.
    let of_the_message = format!("[safe]\n\tdirectory = {0}\n\tdirectory = {0}/*\n", app.display());
    write(&w.path("safe"), &of_the_message);
    let ways: [&[(&str, &str)]; 2] = [
        &[("GIT_CONFIG_GLOBAL", &w.path("safe").display().to_string())],
        &[("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "safe.directory"), ("GIT_CONFIG_VALUE_0", "*")],
    ];
    let app = w.at(app);
    for vars in ways {
        app.run_with("shopfloor", &["status"], vars).exit(0).any_out();
        let made = app.run_with("worktree-spawn", &["subtree", "a"], vars).exit(0);
        let child = w.at(made.stdout.trim_end());
        child.run_with("worktree-spawn", &["whoami"], vars).exit(0).out_has("main.a");
        app.run_with("worktree-spawn", &["remove", "a"], vars).exit(0).any_err().out_has("removed main.a");
    }
    // Without it, what git says is passed on.
    let refused = app.run_with("worktree-spawn", &["subtree", "b"], &[]).any_status().any_out();
    refused.err_has("dubious ownership").err_has("git config --global --add safe.directory");
    assert!(!app.has(".shopfloor/worktrees/b"));
}
