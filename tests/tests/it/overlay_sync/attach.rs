//! Which worktrees take part: `attach`, `detach` and the hook.

use crate::support::overlay::{OVERLAY, edited, scene};
use crate::support::sweep::sweep_tool;
use crate::support::world::{Repo, World, mode, text, write};

/// Case 1 of the design.
#[test]
fn attach_copies_bytes_modes_and_hashes_under_any_umask() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.put("x.sh", "#!/bin/sh\n");
    s.app.sh(&format!("cd ~/{OVERLAY} && chmod 600 .env && chmod 755 x.sh")).exit(0);
    for (repo, umask) in [(&s.a, "022"), (&s.b, "077")] {
        repo.sh(&format!("umask {umask}; overlay-sync attach")).succeeds();
        assert_eq!((mode(&repo.path.join(".env")), mode(&repo.path.join("x.sh"))), (0o600, 0o755));
        assert_eq!((repo.read(".env"), repo.read("x.sh")), ("A=1\n".into(), "#!/bin/sh\n".into()));
        repo.sh("overlay-sync manifest | sha256sum --check --quiet").exit(0);
        let json = repo.overlay(&["manifest", "--json"]).exit(0).json();
        assert_eq!(json["files"].as_object().unwrap().len(), 2);
    }
    assert_eq!(mode(&s.overlay(".overlay-sync")), 0o700);
    s.app.sh(&format!("find ~/{OVERLAY}/.overlay-sync -type f ! -perm 600 | grep .")).exit(1);
}

/// Case 2 of the design.
#[test]
fn a_file_that_git_does_not_ignore_stays_untouched() {
    let w = World::new();
    let s = scene(&w);
    s.put("dir/seen", "x");
    s.put(".env", "A=1\n");
    s.a.commit(".env", "tracked\n");
    let out = s.a.overlay(&["attach"]).succeeds();
    out.err_has("dir/seen is not ignored");
    assert!(!s.a.has("dir"));
    assert_eq!((s.a.read(".env"), s.a.git(&["status", "--porcelain"])), ("tracked\n".into(), String::new()));
    let states: Vec<_> = s.a.overlay(&["status", "--json"]).exit(0).json_lines();
    let state =
        |path: &str| states.iter().find(|l| text(l, "/path") == path).map(|l| text(l, "/state").to_owned()).unwrap();
    assert_eq!((state(".env"), state("dir/seen")), ("tracked".into(), "not_ignored".into()));
}

/// Case 12 of the design.
#[test]
fn detach_syncs_the_last_edit_and_leaves_no_files_behind() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.a.write(".env", "A=2\n");
    s.a.overlay(&["detach", "."]).exit(0).out_has("detached");
    assert_eq!((s.text(".env"), s.a.read(".env")), ("A=2\n".into(), "A=2\n".into()));
    let left = s.app.sh("cd; find . -name '.shopfloor-tmp-*' -o -name id -path '*/a/*'").exit(0).stdout;
    assert_eq!(left, "");
    s.app.sh("rm -rf ../a").exit(0);
    s.sync(0).any_err();
    assert_eq!(s.b.read(".env"), "A=2\n");
    assert!(!s.app.path.parent().unwrap().join("a").exists());
    s.app.sh("rm -rf ../b; overlay-sync sync").exit(0).err_has("does not exist");
    assert_eq!(s.app.overlay(&["detach", "../b"]).exit(0).any_out().stderr, "");
}

#[test]
fn a_detach_that_was_killed_can_be_repeated() {
    let w = World::new();
    let prepare = |name: &str| {
        let app = w.repo(&format!("eng/repos/{name}"));
        app.commit(".gitignore", ".env*\n");
        write(&w.home(&format!(".local/share/shopfloor/overlays/{name}/.env")), "A=1\n");
        app.overlay(&["attach"]).succeeds();
        app.write(".env", "A=2\n");
        app
    };
    let finish = |app: &Repo<'_>, when: &str| {
        app.overlay(&["detach"]).exit(0).any_out().any_err();
        for name in ["id", "overlay"] {
            assert!(!app.has(&format!(".git/shopfloor/overlay-sync/{name}")), "{name} {when}");
        }
    };
    sweep_tool("overlay-sync", prepare, &["detach"], finish);
    let app = prepare("half");
    std::fs::remove_file(app.path.join(".git/shopfloor/overlay-sync/id")).unwrap();
    let what = "/half is half attached: its attach or detach was interrupted; finish that with `overlay-sync detach ";
    app.overlay(&["sync"]).exit(0).any_out().err_has(what);
    app.overlay(&["doctor"]).exit(1).any_err().out_has(what);
    finish(&app, "without an id");
}

#[test]
fn add_and_attach_lose_no_text_and_refuse_other_repositories() {
    let w = World::new();
    let s = scene(&w);
    s.a.write(".env", "A=1\n");
    s.a.overlay(&["add", ".gitignore"]).exit(1).err_has("git does not ignore");
    s.a.overlay(&["add", "../b/.env"]).exit(2).any_err();
    s.a.sh("mkfifo .env.pipe && overlay-sync add .env.pipe").exit(1).err_has(".env.pipe is no regular file");
    s.a.overlay(&["add", ".env"]).succeeds().out_has("added .env");
    // The workspace has a different file already: no text is lost, and the overlay wins conflicts.
    s.b.write(".env", "A=2\nB=2\n");
    s.b.overlay(&["attach"]).exit(1).any_out().any_err();
    assert_eq!(s.b.read(".env"), "A=1\nB=2\n");
    let id = text(&s.b.overlay(&["conflicts", "--json"]).exit(0).json_lines()[0], "/id").to_owned();
    assert_eq!(s.b.overlay(&["show", &id]).exit(0).stdout, "A=2\nB=2\n");
    // Paths from a pipeline.
    let piped = s.app.sh("git worktree list --porcelain -z | sed -zn 's/^worktree //p' | overlay-sync attach -z -");
    piped.exit(0).out_has("attached");
    let other = w.repo("eng/repos/other");
    other
        .overlay(&["--overlay", s.overlay("").to_str().unwrap(), "attach"])
        .exit(2)
        .err_has("belongs to")
        .err_has("--overlay");
    s.a.overlay(&["attach", other.path.to_str().unwrap()]).exit(2).err_has("another repository");
    s.a.overlay(&["config", "--json"]).succeeds();
    let dry = s.a.sh("echo C=1 >> .env; overlay-sync sync -n --json").exit(0);
    assert_eq!(text(&dry.json_lines()[0], "/rule"), "push");
    assert!(!s.text(".env").contains("C=1"));
}

/// git does not record where the main checkout of a separate git directory is, nor of one that `.git` is a link to.
#[test]
fn a_linked_worktree_of_a_separate_git_directory_has_the_overlay_of_the_main_checkout() {
    let w = World::new();
    let home = w.at(w.home(""));
    home.sh("git init -q -b main --separate-git-dir=store one && git init -q -b main two").exit(0);
    home.sh("mv two/.git real && ln -s ../real two/.git").exit(0);
    let repositories =
        [("one", "store", "overlay-sync add .env"), ("two", "real", "ledger-synth add --agent a --done x")];
    for (name, git_dir, writes) in repositories {
        let app = w.at(w.home(name));
        app.commit(".gitignore", ".env\n");
        app.write(".env", "A=1\n");
        let linked = app.worktree(&format!("{name}-linked"));
        linked.overlay(&["sync"]).exit(2).err_has("where the main checkout of").err_has("overlay-sync add FILE");
        linked.ledger(&["--root", "main", "add", "--done", "x"]).exit(2).any_err();
        assert!(!w.home(git_dir).join("thoughts").exists());
        app.sh(writes).succeeds();
        linked.overlay(&["config"]).succeeds();
        app.overlay(&["add", ".env"]).succeeds();
        app.overlay(&["attach", ".", linked.path.to_str().unwrap()]).succeeds();
        linked.write(".env", "A=1\nB=1\n");
        linked.overlay(&["sync"]).succeeds();
        assert_eq!(app.read(".env"), "A=1\nB=1\n");
    }
    // A bare repository has none, whatever tells git that it is one.
    for (name, line) in [("yes", "bare = yes"), ("noted", "bare = true # mirror"), ("silent", "")] {
        home.sh(&format!(
            "git clone -q --bare one {name}.git && sed -i 's/bare = true/{line}/' {name}.git/config && \
             git -C {name}.git worktree add -q ../{name}"
        ))
        .exit(0)
        .any_err();
        w.at(w.home(name)).overlay(&["config"]).succeeds();
    }
}

#[test]
fn a_worktree_that_is_attached_to_an_overlay_of_another_name_says_so() {
    let w = World::new();
    let s = scene(&w);
    s.a.write(".env", "A=1\n");
    let older = w.home(".local/share/shopfloor/overlays/older");
    let named = ["--overlay", older.to_str().unwrap()];
    for args in [&["add", ".env"][..], &["attach"]] {
        s.a.overlay(&[&named[..], args].concat()).succeeds();
    }
    for args in [&["sync"][..], &["sync", "-n"]] {
        let refused = s.a.overlay(args).exit(1);
        refused.err_has("is attached to ").err_has("overlays/older, and the overlay here is ").err_has(" detach ");
    }
    s.a.overlay(&[&named[..], &["sync"]].concat()).succeeds();
    s.app.overlay(&["sync"]).exit(0).err_has("there is no overlay yet");
    let detach = s.a.overlay(&["sync"]).exit(1).any_out();
    let way = detach.stderr.split('`').find(|part| part.contains(" detach ")).unwrap().to_owned();
    s.a.sh(&way).exit(0).any_out().any_err();
    s.a.overlay(&["sync"]).succeeds();
    assert_eq!(s.a.read(".env"), "A=1\n");
}

#[test]
fn a_directory_around_a_worktree_is_no_overlay() {
    let w = World::new();
    let s = scene(&w);
    [&s.app, &s.a].into_iter().for_each(|repo| repo.write(".env", "A=1\n"));
    for dir in ["..", ".", "../a", "../../.."] {
        for args in [&["add", ".env"][..], &["add", "-n", ".env"], &["attach", "."], &["sync"]] {
            s.app.overlay(&[&["--overlay", dir], args].concat()).exit(2).err_has("would be shared");
        }
        assert!(!s.app.has(&format!("{dir}/.overlay-sync")), "{dir}");
    }
}

/// No manifest can name the one, and no command runs in the other, so nothing is attached, whatever else is named.
#[test]
fn a_worktree_of_an_odd_path_is_refused_before_anything_is_attached() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    for (path, why) in [("w\\377", "is not UTF-8"), ("w\\nx", "contains a newline")] {
        s.app.sh(&format!("git worktree add -q --detach \"$(printf '../{path}')\"")).exit(0);
        for dry in ["-n", "-q"] {
            let line = format!("overlay-sync {dry} attach . \"$(printf '../{path}')\"");
            s.app.sh(&line).exit(2).err_has(&format!("cannot be attached: its path {why}"));
        }
    }
    assert!(!s.app.has(".env"));
    s.attach();
}

/// As people keep the files of their home in git.
#[test]
fn a_work_tree_of_the_environment_alone_is_none_for_an_overlay() {
    let w = World::new();
    w.at(w.home("")).sh("git init -q --bare dots && mkdir files && echo .env > dots/info/exclude").exit(0);
    let files = w.at(w.home("files"));
    files.write(".env", "A=1\n");
    let (dots, top) = (w.home("dots"), w.home("files"));
    let vars = [("GIT_DIR", dots.to_str().unwrap()), ("GIT_WORK_TREE", top.to_str().unwrap())];
    files.run_with("overlay-sync", &["add", ".env"], &vars).exit(2).err_has("only because GIT_DIR says so");
    files.run_with("overlay-sync", &["attach"], &vars).exit(2).any_err();
    assert!(!w.home(".local/share/shopfloor/overlays").exists());
}

#[test]
fn a_worktree_made_anew_at_the_same_path_is_a_new_workspace() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.put(".env.local", "B=1\n");
    s.attach();
    s.app.git(&["worktree", "remove", "--force", "../b"]);
    s.app.git(&["worktree", "add", "-q", "../b", "b"]);
    // Its missing files do not count as deleted: it is not attached yet, and gets everything when it is.
    s.sync(0).err_has("is no workspace of this repository any more");
    s.b.overlay(&["attach"]).succeeds();
    s.all_are(".env", "A=1\n");
    assert_eq!(s.app.overlay(&["status"]).exit(0).stdout.matches("clean").count(), 4);
}

#[test]
fn one_hook_stub_runs_both_tools_in_their_order() {
    let w = World::new();
    let s = scene(&w);
    w.area("[files.\"claude/x\"]\ncontent = \"x\"\n");
    s.put(".env", "A=1\n");
    s.app.overlay(&["hook", "install"]).succeeds();
    s.app.apply(&["hook", "install"]).succeeds();
    let stub = s.app.read(".git/hooks/post-checkout");
    assert!(stub.contains("# shopfloor hook v1: sweatfile-apply overlay-sync\n"), "{stub}");
    let wt = s.app.worktree("new");
    assert_eq!((wt.read(".claude/x"), wt.read(".env")), ("x".into(), "A=1\n".into()));
    s.a.overlay(&["attach"]).succeeds();
    wt.write(".env", "A=2\n");
    s.sync(0).any_err();
    assert_eq!(s.a.read(".env"), "A=2\n");
    s.app.apply(&["hook", "uninstall"]).succeeds();
    assert_eq!(
        (
            *s.app.apply(&["hook", "status"]).exit(1).any_out().status,
            *s.app.overlay(&["hook", "status"]).succeeds().status
        ),
        (Some(1), Some(0))
    );
    s.app.overlay(&["hook", "uninstall"]).succeeds();
    assert!(!s.app.has(".git/hooks/post-checkout"));
    // In a repository without an overlay the hook leaves no trace.
    let other = w.repo("eng/repos/other");
    other.overlay(&["hook", "install"]).succeeds();
    other.worktree("other-wt");
    assert!(!w.home(".local/share/shopfloor/overlays/other").exists());
}

#[test]
fn a_moved_worktree_keeps_its_base() {
    let w = World::new();
    let s = edited(&w, ".env", "A=1\nB=1\n", "A=1\nB=2\n");
    s.app.git(&["worktree", "move", "../a", "../c"]);
    s.put(".env", "A=2\nB=1\n");
    // Also when another one is at its old place.
    for another in ["true", "git worktree add -q -b new ../a"] {
        s.app.sh(another).exit(0).any_err();
        s.sync(0).err_has("/a was moved to ").err_has("/c; run `overlay-sync attach ");
        s.app.overlay(&["status"]).exit(0).out_has("was moved to");
        s.app.overlay(&["doctor"]).exit(1).any_err().out_has("was moved to");
    }
    s.app.sh("cd ../c && overlay-sync attach").succeeds();
    assert_eq!(s.app.read("../c/.env"), "A=2\nB=2\n");
    assert_eq!(s.app.overlay(&["conflicts"]).exit(0).stdout, "");
}

#[test]
fn every_workspace_is_warned_about_files_git_does_not_ignore() {
    let w = World::new();
    let s = edited(&w, ".env", "A=1\n", "A=2\n");
    s.put("seen.txt", "x\n");
    let out = s.sync(0);
    out.err_has("/a: seen.txt is not ignored").err_has("/b: seen.txt is not ignored");
    assert_eq!(out.stderr.matches("is not ignored").count(), 2);
    assert!(!s.a.has("seen.txt") && !s.b.has("seen.txt"));
}

#[test]
fn a_worktree_named_twice_is_attached_once() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.a.sh("mkdir sub && overlay-sync attach . sub ../a").succeeds();
    s.a.overlay(&["attach"]).exit(0);
    s.a.write(".env", "A=2\n");
    s.sync(0).any_err();
    assert_eq!(s.text(".env"), "A=2\n");
    // A path inside a workspace names the workspace.
    s.a.sh("cd sub && overlay-sync status . && overlay-sync sync . && overlay-sync detach .")
        .exit(0)
        .out_has("clean .env");
}

#[test]
fn another_repository_at_a_workspaces_path_gets_no_files() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.app.sh("rm -rf ../a && git init -q ../a && echo .env > ../a/.gitignore").exit(0);
    s.put(".env", "A=secret\n");
    s.app.overlay(&["sync"]).succeeds().err_has("/a is no workspace of this repository any more");
    assert!(!s.a.has(".env") && s.b.read(".env") == "A=secret\n");
    s.app
        .overlay(&["doctor"])
        .exit(1)
        .any_err()
        .out_has("/a is no workspace of this repository any more; bring it back");
}

#[test]
fn a_moved_worktree_stays_attached_when_another_takes_its_place() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "K=1\n");
    s.attach();
    s.app.git(&["worktree", "move", "../a", "../a2"]);
    s.app.git(&["worktree", "add", "-q", "../a", "-b", "new"]);
    s.a.overlay(&["attach"]).succeeds();
    let moved = w.at(w.home("eng/repos/a2"));
    moved.write(".env", "K=7\n");
    s.sync(0).any_err();
    s.all_are(".env", "K=7\n");
}

#[test]
fn a_removed_worktree_can_be_named_and_a_copied_one_is_refused() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.app.overlay(&["attach"]).succeeds();
    s.app.git(&["worktree", "remove", "--force", "../a"]);
    s.app.overlay(&["attach", "../nothere"]).exit(1).err_has("there is no directory");
    s.app.sh("mkdir ../plain").exit(0);
    let plain = s.app.overlay(&["attach", "../plain"]).exit(2);
    plain.err_has("no usable git repository at ").err_has("`git worktree list`");
    s.app.overlay(&["detach", "../nothere"]).exit(1).err_has("is not attached");
    s.app.overlay(&["detach", "../a"]).exit(0).out_has("/a");
    let states = s.app.overlay(&["status", "--json"]).exit(0).json_lines();
    assert_eq!(states.len(), 2, "the main checkout and b stay: {states:?}");
    s.app.sh("cp -r ../b ../copy").exit(0);
    s.app.overlay(&["attach", "../copy"]).exit(2).err_has("is a copy of");
    s.b.write(".env", "A=2\n");
    s.sync(0).any_err();
    assert_eq!((s.text(".env"), s.app.read(".env")), ("A=2\n".into(), "A=2\n".into()));
}

#[test]
fn a_workspace_with_the_id_of_another_one_is_named_with_what_helps() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.b.write(".env", "A=1\nB=1\n");
    s.app.sh("cd .git/worktrees && cp a/shopfloor/overlay-sync/id b/shopfloor/overlay-sync/id").exit(0);
    let what = "/b has the id of another workspace; run `overlay-sync attach ";
    for words in [&["sync", "../b"][..], &["sync"], &["sync", "-n"]] {
        s.app.overlay(words).exit(1).any_out().err_has(what);
    }
    s.app.overlay(&["doctor"]).exit(1).any_err().out_has(what);
    s.app.overlay(&["check"]).exit(1).any_err().out_has("has the id of another workspace");
    s.app.overlay(&["hook", "run", "pre-remove", "../b"]).exit(1).err_has("attach it again");
    assert_eq!(s.text(".env"), "A=1\n");
    s.app.overlay(&["attach", "-n", "../b"]).exit(0).any_err().out_has("would attach");
    s.app.overlay(&["attach", "../b"]).succeeds().any_err();
    s.sync(0).any_err();
    s.all_are(".env", "A=1\nB=1\n");
}

/// Worktrees share git's answer only where git would give the same one.
#[test]
fn a_pattern_file_of_each_worktree_counts_there() {
    let w = World::new();
    let s = scene(&w);
    s.put("own.cfg", "1\n");
    s.app.git(&["config", "core.excludesFile", ".mine"]);
    s.a.write(".mine", "own.cfg\n.mine\n");
    s.b.write(".mine", ".mine\n");
    s.a.overlay(&["attach", ".", "../b"]).succeeds().err_has("own.cfg is not ignored by git there");
    assert!(s.a.has("own.cfg") && !s.b.has("own.cfg"));
}

#[test]
fn an_empty_list_of_workspaces_is_none_and_not_all() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    for repo in [&s.a, &s.b] {
        repo.overlay(&["attach"]).succeeds();
    }
    s.a.write(".env", "A=2\n");
    for words in ["attach -", "detach -", "-q detach -n -", "sync -", "status -", "status --json -", "check -"] {
        s.app.sh(&format!("overlay-sync {words} < /dev/null")).exit(0);
    }
    assert_eq!(s.b.read(".env"), "A=1\n");
    // A list is read once: `check` tells of these workspaces only.
    s.app.sh("echo ../b | overlay-sync check -").exit(0);
    s.app.sh("echo ../a | overlay-sync check -").exit(1).out_has(".env");
    s.app.overlay(&["sync"]).succeeds();
    assert_eq!(s.b.read(".env"), "A=2\n");
    // An empty list refills none.
    std::fs::remove_file(s.b.path.join(".env")).unwrap();
    s.app.sh("overlay-sync sync && overlay-sync sync --restore - < /dev/null").exit(0);
    assert!(!s.b.has(".env"));
    // `detach` looks at its workspaces again once it has the lock.
    s.a.write(".env", "A=3\n");
    s.app.sh("echo ../a | overlay-sync detach -").exit(0).out_has("detached");
    assert_eq!(s.text(".env"), "A=3\n");
}

#[test]
fn a_renamed_repository_gets_no_second_overlay() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    let rename = |from: &str, to: &str| {
        let line = format!("cd .. && mv {from} {to} && cd {to} && git worktree repair ../a ../b");
        s.a.sh(&line).exit(0).any_out().any_err();
    };
    rename("app", "app2");
    let renamed = w.at(w.home("eng/repos/app2"));
    for words in [&["sync"][..], &["check"], &["status"], &["attach", "../a"]] {
        renamed.overlay(words).exit(1).any_out().err_has("was this repository renamed?").err_has("overlay-sync detach");
    }
    renamed.overlay(&["doctor"]).exit(1).any_err().out_has("was this repository renamed?");
    assert!(!w.home(".local/share/shopfloor/overlays/app2").exists());
    // Under its old name it has its overlay again.
    rename("app2", "app");
    s.a.write(".env", "A=2\n");
    s.sync(0).any_err();
    s.all_are(".env", "A=2\n");
}

#[test]
fn a_dry_run_of_detach_decides_as_the_real_one() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.a.write(".env", "");
    for words in [&["detach", "-n"][..], &["detach"]] {
        let out = s.app.overlay(words).exit(1);
        out.out_has("/b").err_has("/a stays attached");
        assert!(!out.stdout.lines().any(|line| line.contains("detach") && line.contains("/a")), "{out}");
    }
}
