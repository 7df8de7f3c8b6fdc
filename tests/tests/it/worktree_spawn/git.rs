//! worktree-spawn among git: hooks that call us, layouts of every kind, and the fast checkout, which must come to
//! what git itself comes to.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::support::spawn::{app, subtree};
use crate::support::world::{Repo, World, mode, text, traced, write};

#[test]
fn case_6_hooks_run_as_git_runs_them_and_their_failure_is_a_warning() {
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
    assert_eq!(app.spawn(&["subtree", "quiet", "--no-git-hooks"]).exit(0).stderr, "");
    // Where hooks lie in each worktree.
    app.git(&["config", "core.hooksPath", "hooks"]);
    app.write("hooks/post-checkout", "#!/bin/sh\ntouch from-tree\n");
    app.sh("chmod +x hooks/post-checkout && git add hooks && git commit -q -m hooks").exit(0);
    assert!(subtree(&app, &["tree"]).has("from-tree"));
}

#[test]
fn sweatfile_apply_and_overlay_sync_join_in() {
    let w = World::new();
    let app = app(&w);
    app.approved("git_excludes = [\"/.claude/\"]\n\n[env]\nNAME = \"{branch}\"\n\n[files.\"claude/settings.local.json\"]\ncontent = \"{}\\n\"\n");
    app.git(&["add", "sweatfile"]);
    app.git(&["commit", "-q", "-m", "sweatfile"]);
    app.apply(&["hook", "install"]).exit(0);
    app.overlay(&["hook", "install"]).exit(0);
    app.write(".env.local", "SHARED=1\n");
    app.sh("echo .env.local >> .git/info/exclude").exit(0);
    app.overlay(&["add", ".env.local"]).exit(0);
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
fn layouts_of_every_kind() {
    let mut w = World::new();
    write(&w.home("gitconfig"), "[protocol \"file\"]\n\tallow = always\n");
    w.set("GIT_CONFIG_GLOBAL", w.home("gitconfig").to_str().unwrap().to_owned());
    let app = app(&w);
    // Bare, in a wrapper directory.
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
    child.spawn(&["notify", "info", "hello"]).exit(0);
    assert_eq!(text(&main.spawn(&["wait", "--timeout", "9s"]).exit(0).json(), "/to"), "main");
    let listed = w.at(&wrapper).spawn(&["list", "--json"]).exit(0).json_lines();
    assert_eq!(listed.iter().map(|row| text(row, "/id")).collect::<Vec<_>>(), ["main", "main.x"]);
    w.at(&wrapper).spawn(&["subtree", "y"]).exit(2).err_has("no work tree");
    // A separate git directory.
    let separate = w.at(w.home("separate"));
    w.at(w.home("")).git(&["clone", "-q", "--separate-git-dir", "sep.git", "eng/repos/app", "separate"]);
    let child = subtree(&separate, &["x"]);
    assert_eq!(child.spawn(&["whoami"]).exit(0).stdout, "main.x\n");
    assert_eq!(separate.git(&["status", "--porcelain"]), "");
    // A submodule, and a repository that has one.
    let outer = w.repo("outer");
    outer.git(&["submodule", "--quiet", "add", app.path.to_str().unwrap(), "sub"]);
    outer.git(&["commit", "-q", "-m", "sub"]);
    let inner = w.at(outer.path.join("sub"));
    let child = subtree(&inner, &["x"]);
    assert_eq!(child.git(&["status", "--porcelain"]) + &inner.git(&["status", "--porcelain"]), "");
    let plain = subtree(&outer, &["plain"]);
    assert!(!plain.has("sub/README.md"));
    assert_eq!(plain.git(&["status", "--porcelain"]), "");
    let full = subtree(&outer, &["full", "--submodules"]);
    assert!(full.has("sub/README.md"));
    let sub = w.at(full.path.join("sub"));
    sub.commit("only-here", "x");
    full.git(&["commit", "-q", "-am", "bump"]);
    outer.spawn(&["remove", "full"]).exit(1).err_has("submodule");
    sub.git(&["reset", "-q", "--hard", "HEAD~1"]);
    full.git(&["reset", "-q", "--hard", "HEAD~1"]);
    outer.spawn(&["remove", "full"]).exit(0);
    // Refs in another format.
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
    // Paths with spaces and more.
    let odd = w.repo("it's an ünusual $HOME/place");
    odd.commit("a b", "x");
    let child = subtree(&odd, &["x"]);
    assert_eq!(child.git(&["status", "--porcelain"]), "");
    assert_eq!(odd.spawn(&["list", "-z", "--kind", "subtree"]).exit(0).stdout, format!("{}\0", child.path.display()));
}

#[test]
fn checkouts_out_of_the_ordinary_are_git_s_own() {
    let w = World::new();
    let app = app(&w);
    app.commit("dir/in.txt", "in\n");
    app.commit("other/out.txt", "out\n");
    app.git(&["sparse-checkout", "set", "dir"]);
    let child = subtree(&app, &["sparse"]);
    assert!(child.has("dir/in.txt") && !child.has("other/out.txt"));
    assert_eq!(child.git(&["status", "--porcelain"]), "");
    app.git(&["sparse-checkout", "disable"]);
    app.commit(".gitattributes", "*.up filter=up\n");
    app.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
    app.git(&["config", "filter.up.clean", "tr A-Z a-z"]);
    app.commit("x.up", "shout\n");
    assert_eq!(subtree(&app, &["filtered"]).read("x.up"), "SHOUT\n");
    app.commit(".gitattributes", "*.id ident\n");
    app.commit("x.id", "$Id$\n");
    assert!(subtree(&app, &["ident"]).read("x.id").starts_with("$Id: "));
}

/// Every path below with kind, mode and content; and what git has in its index, stat data apart.
fn image(repo: &Repo<'_>) -> (BTreeMap<String, String>, String) {
    let mut files = BTreeMap::new();
    walk(&repo.path, &repo.path, &mut files);
    (files, repo.git(&["ls-files", "--stage", "-v", "-z"]))
}

fn walk(top: &Path, dir: &Path, files: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(top).unwrap().to_string_lossy().into_owned();
        if matches!(name.as_str(), ".git" | ".shopfloor" | ".mcp.json") {
            continue;
        }
        let meta = path.symlink_metadata().unwrap();
        let body = match () {
            () if meta.is_symlink() => format!("{:?}", path.read_link().unwrap()),
            () if meta.is_file() => format!("{:?}", String::from_utf8_lossy(&std::fs::read(&path).unwrap())),
            () => String::new(),
        };
        files.insert(name, format!("{:o} {body}", meta.mode()));
        if meta.is_dir() {
            walk(top, &path, files);
        }
    }
}

fn tree() -> impl Strategy<Value = BTreeMap<String, (u8, String)>> {
    let name = prop_oneof![
        "[a-c]{1,2}(\\.(txt|bat|bin|sh))?",
        Just("ü ö".to_owned()),
        Just("-x".to_owned()),
        Just(" y ".to_owned())
    ];
    let path = proptest::collection::vec(name, 1..4).prop_map(|parts| parts.join("/"));
    let content = prop_oneof![
        "[a-z]{0,20}",
        Just("one\ntwo\n".to_owned()),
        Just("one\r\ntwo\r\n".to_owned()),
        Just("mixed\r\nlines\n".to_owned()),
        Just("nul\0\n".to_owned()),
        Just("$Id$\n".to_owned()),
    ];
    proptest::collection::btree_map(path, (0..4u8, content), 1..20)
}

fn attributes() -> impl Strategy<Value = String> {
    let pattern = prop_oneof![Just("*"), Just("*.txt"), Just("*.bat"), Just("a/*"), Just("*.bin")];
    let value = prop_oneof![
        Just("text"),
        Just("-text"),
        Just("text=auto"),
        Just("eol=lf"),
        Just("eol=crlf"),
        Just("text eol=crlf"),
        Just("text=auto eol=crlf"),
        Just("binary"),
        Just("!text"),
        Just("ident"),
        Just("linguist-generated"),
    ];
    let lines = proptest::collection::vec((pattern, value), 0..4);
    lines.prop_map(|lines| lines.iter().map(|(p, v)| format!("{p} {v}\n")).collect())
}

#[test]
fn the_fast_checkout_comes_to_what_git_comes_to() {
    let config =
        [("", ""), ("core.autocrlf", "true"), ("core.eol", "crlf"), ("core.symlinks", "false"), ("index.version", "4")];
    let mut runner = TestRunner::new(Config { cases: 24, failure_persistence: None, ..Config::default() });
    let strategy = (tree(), attributes(), 0..config.len() * 3, prop_oneof![Just("022"), Just("002"), Just("077")]);
    let run = runner.run(&strategy, |(tree, attributes, n, umask)| {
        let w = World::new();
        let repo = w.repo("app");
        for (path, (kind, content)) in &tree {
            let full = repo.path.join(path);
            // A name may be a directory to another one.
            if full.exists() || full.ancestors().skip(1).any(|dir| dir.symlink_metadata().is_ok_and(|m| !m.is_dir())) {
                continue;
            }
            std::fs::create_dir_all(full.parent().unwrap()).unwrap();
            match kind {
                0 | 1 => std::fs::write(&full, content).unwrap(),
                2 => {
                    std::fs::write(&full, content).unwrap();
                    std::fs::set_permissions(&full, std::fs::Permissions::from_mode(0o755)).unwrap();
                }
                _ => {
                    std::os::unix::fs::symlink(format!("x{}", content.replace(['\0', '\n', '\r'], "")), &full).unwrap()
                }
            }
        }
        repo.git(&["add", "-A"]);
        write(&repo.path.join(".gitattributes"), &attributes);
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-q", "-m", "all"]);
        if let Some((key, value)) = config.get(n).filter(|(key, _)| !key.is_empty()) {
            repo.git(&["config", key, value]);
        }
        let plain = repo.path.with_file_name("plain");
        repo.sh(&format!(
            "umask {umask}; git worktree add -q {} HEAD && worktree-spawn -q subtree fast",
            plain.display()
        ))
        .exit(0);
        let (plain, fast) = (w.at(plain), w.at(repo.path.join(".shopfloor/worktrees/fast")));
        prop_assert_eq!(image(&fast), image(&plain));
        prop_assert_eq!(extension(&fast, b"TREE"), extension(&plain, b"TREE"));
        // No refresh is needed to see that it is clean: the index knows the files.
        let status = |at: &Repo<'_>| {
            at.run_with("git", &["diff-files", "--name-only"], &[("GIT_OPTIONAL_LOCKS", "0")]).exit(0).stdout
        };
        prop_assert_eq!(status(&fast), status(&plain));
        prop_assert_eq!(fast.git(&["status", "--porcelain"]), plain.git(&["status", "--porcelain"]));
        Ok(())
    });
    run.unwrap();
}

/// What git keeps in an index under this signature; nothing where it has no such extension.
fn extension(repo: &Repo<'_>, signature: &[u8; 4]) -> Vec<u8> {
    let path = repo.git(&["rev-parse", "--path-format=absolute", "--git-path", "index"]);
    let bytes = std::fs::read(path.trim_end()).unwrap();
    let Some(at) = bytes.windows(4).rposition(|window| window == signature) else { return Vec::new() };
    let length = u32::from_be_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
    bytes[at + 8..at + 8 + length].to_vec()
}

#[test]
fn an_index_knows_the_trees_it_came_from_as_git_s_own_does() {
    let w = World::new();
    let app = app(&w);
    for path in ["a/b/c.txt", "a/bb/d.txt", "zz/x", "y/x", "a-b/x"] {
        app.commit(path, "x\n");
    }
    let child = subtree(&app, &["x"]);
    let by_git = app.worktree("by-git");
    let trees = extension(&child, b"TREE");
    assert!(!trees.is_empty());
    assert_eq!(trees, extension(&by_git, b"TREE"));
    assert_eq!(child.git(&["write-tree"]), app.git(&["rev-parse", "HEAD^{tree}"]));
    child.git(&["fsck", "--strict"]);
    // What is staged later counts.
    child.write("a/b/c.txt", "changed\n");
    child.git(&["commit", "-q", "-a", "-m", "changed"]);
    assert_eq!(child.git(&["status", "--porcelain"]) + &child.git(&["show", "HEAD:a/b/c.txt"]), "changed\n");
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
    // The spawner's own is not theirs.
    app.git(&["config", "includeIf.onbranch:main.path", include.to_str().unwrap()]);
    assert_eq!(subtree(&app, &["other"]).read("x.txt"), "one\ntwo\n");
}

#[test]
fn a_shared_repository_stays_one() {
    let w = World::new();
    let app = app(&w);
    app.git(&["config", "core.sharedRepository", "group"]);
    app.run("sh", &["-c", "umask 077; worktree-spawn subtree x"]).exit(0);
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
fn a_listing_says_changed_where_git_does() {
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
        // Each has a configuration of its own at most for its own look.
        child.sh(change).any_status().any_out().any_err();
        let rows = app.spawn(&["list", "--status", "--json"]).exit(0).json_lines();
        let row = rows.iter().find(|row| row["path"] == child.path.to_str().unwrap()).unwrap();
        let by_git = !child.git(&["status", "--porcelain"]).is_empty();
        assert_eq!(row["dirty"].as_bool(), Some(by_git), "{change}");
        app.run("git", &["config", "--unset", "core.autocrlf"]).any_status().any_out().any_err();
        children.push((child, *change));
    }
    // All of them at once, and without a process for each.
    let list = ["list", "--status", "--json"];
    let Some((output, calls)) = traced(&app, "execve", "worktree-spawn", &list) else { return };
    let rows = output.json_lines();
    for (child, change) in &children {
        let row = rows.iter().find(|row| row["path"] == child.path.to_str().unwrap()).unwrap();
        let by_git = !child.git(&["status", "--porcelain"]).is_empty();
        assert_eq!(row["dirty"].as_bool(), Some(by_git), "{change}");
    }
    let started = calls.iter().filter(|line| line.ends_with("= 0")).count();
    assert!(started <= 2, "{started} programs for {} worktrees", children.len());
}
