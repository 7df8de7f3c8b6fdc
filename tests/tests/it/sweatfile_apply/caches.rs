//! Caches: directories of the main checkout that a fresh worktree gets a copy of.

use std::os::unix::fs::MetadataExt;

use crate::support::sweep::sweep;
use crate::support::world::{Repo, World, mode, needs, needs_mount, text, which};

/// A repository that ignores its caches, with a sweatfile.
fn caching<'w>(w: &'w World, sweatfile: &str) -> Repo<'w> {
    let app = w.app();
    app.commit(".gitignore", "/target/\n/node_modules/\n/venv/\n/sweatfile\n");
    app.approved(sweatfile);
    app
}

#[test]
fn a_cache_has_its_links_modes_and_times_and_stays_the_worktrees_own() {
    let w = World::new();
    let app = caching(&w, "[caches.target]\n[caches.\"node_modules\"]\n[caches.none]\n");
    app.write("target/debug/app", "old");
    app.write("node_modules/a/a.js", "js");
    app.sh(
        "chmod 755 target/debug/app; touch -d 2020-02-02 target/debug/app; cd node_modules; mkdir .bin; ln -s ../a/a.js .bin/a; \
         ln -s /etc/hostname outside; ln -s ../../../secret up; git init -q nested; mkfifo pipe; echo \"#!$PWD/x\" > .bin/self",
    )
    .exit(0);
    let wt = app.worktree("wt");
    wt.apply(&["--dry-run"])
        .exit(0)
        .any_err()
        .out_has("would have created target (copied from the main checkout, 1 kB in 1 files)");
    assert!(!wt.has("target"));
    let out = wt.apply(&[]).exit(0);
    out.out_has("created target").out_has("created node_modules");
    out.err_has("node_modules/outside and 1 more links in node_modules are not copied");
    out.err_has("repositories of their own: node_modules/nested\n").err_has("node_modules/pipe is not copied");
    let app_file = wt.path.join("target/debug/app");
    assert_eq!(
        (mode(&app_file) & 0o777, app_file.metadata().unwrap().mtime()),
        (0o755, app.path.join("target/debug/app").metadata().unwrap().mtime())
    );
    assert_eq!((wt.read("node_modules/.bin/a"), wt.has("none")), ("js".into(), false));
    // It is no drift, and no run touches it again.
    wt.write("target/debug/app", "new");
    app.write("target/debug/more", "more");
    wt.apply(&["check"]).exit(0).err_has("node_modules/.bin/self names the main checkout");
    wt.apply(&[]).exit(0).any_out();
    assert_eq!(
        (wt.read("target/debug/app"), app.read("target/debug/app"), wt.has("target/debug/more")),
        ("new".into(), "old".into(), false)
    );
    let disk = wt.apply(&["check", "--json"]).exit(0).any_err().json();
    assert!(disk["disk"]["own"].as_u64().unwrap() > 0 && disk["disk"]["shared"] == 0, "{disk}");
    wt.apply(&["check"]).exit(0).err_has("takes ").err_has("of the disk, and shares 0 kB");
    let quiet = wt.apply(&["check", "--no-disk", "--json"]).exit(0).any_err().json();
    assert!(quiet["disk"].is_null(), "{quiet}");
    // What was changed stays; what was only left out is no change.
    wt.apply(&["remove"])
        .exit(0)
        .out_has("left target (a cache that is not as the main checkout's)")
        .out_has("removed node_modules");
    assert_eq!((wt.read("target/debug/app"), wt.has("node_modules")), ("new".into(), false));
    // The main checkout gets nothing of itself.
    app.apply(&[]).exit(0).any_out().any_err();
}

#[test]
fn a_cache_that_is_too_large_or_an_environment_is_named_and_left_out() {
    let w = World::new();
    let app = caching(
        &w,
        "[caches.target]\nmax = \"1kB\"\n[caches.venv]\n[caches.file]\n[caches.\"node_modules\"]\n[caches.\"real/z\"]\n",
    );
    app.sh("mkdir -p dir/z && ln -s dir real && git add real && git commit -qm real").exit(0);
    app.write("target/big", &"x".repeat(1001));
    app.write("venv/pyvenv.cfg", "");
    app.write("file", "");
    app.write("node_modules/tool/pyvenv.cfg", "");
    app.write("node_modules/a.js", "js");
    let wt = app.worktree("wt");
    let out = wt.apply(&[]).exit(0);
    out.err_has(
        "target is not copied: it has 2 kB, more than `max` (1 kB), and the file system cannot share its blocks",
    );
    out.err_has("venv is not copied: it is a virtual environment")
        .err_has("node_modules/tool is not copied: it is a virtual");
    out.err_has("file is not copied: it is no directory");
    out.err_has("real/z is not copied: real is a link or not a directory");
    assert!(!out.stdout.contains("target"), "{}", out.stdout);
    assert!(!wt.has("target") && !wt.has("venv") && wt.has("node_modules/a.js") && !wt.has("node_modules/tool"));
    for (table, why) in [
        ("[caches.\"../x\"]", "caches entry `../x`: the path has a `..` component"),
        ("[caches.x]\nmax = \"2 much\"", "write a number and a unit: 500MB, 2GiB"),
        ("[caches.x]\nfrom = \"/etc\"", "`from` must be \"main\""),
        ("[caches.x]\nlink = \"soft\"", "`link` must be \"hard\""),
        ("[caches.x]\nmaximum = \"1GiB\"", "unknown key `maximum`; did you mean `max`?"),
        ("caches = 1", "`caches` must be a table"),
    ] {
        w.area(table);
        app.apply(&[]).exit(2).any_out().err_has(why);
    }
    // An inner layer clears what an outer one asks for.
    w.area("[caches.target]\n");
    app.approved("[caches.target]\nfrom = \"\"\n");
    let two = app.worktree("two");
    two.apply(&[]).exit(0).any_out();
    assert!(!two.has("target"));
}

#[test]
fn hard_links_are_for_what_nothing_writes_and_never_where_git_tracks_files() {
    let w = World::new();
    let app = caching(&w, "[caches.target]\nlink = \"hard\"\nmax = \"1B\"\n[caches.src]\nlink = \"hard\"\n");
    // A cache is copied as its own entry says, whatever else names it.
    app.write(".worktreeinclude", "target/\n");
    app.git(&["branch", "without"]);
    app.commit("src/tracked", "x");
    app.write("target/a", "aa");
    // Also where only the main checkout tracks them.
    app.git(&["worktree", "add", "-q", "../other", "without"]);
    let other = w.at(app.path.with_file_name("other"));
    other.apply(&[]).exit(0).any_out().err_has("src is not linked: git tracks files in it");
    assert!(!other.has("src"));
    let wt = app.worktree("wt");
    let out = wt.apply(&[]).exit(0);
    out.out_has("created target (linked to the main checkout's files").err_has("src is not linked: git tracks");
    out.err_has("target has hard links to the main checkout's files");
    let inode = |at: &Repo<'_>| at.path.join("target/a").metadata().unwrap().ino();
    assert_eq!(inode(&wt), inode(&app));
    let disk = wt.apply(&["check", "--json"]).exit(0).json();
    assert!(disk["disk"]["shared"].as_u64().unwrap() > 0, "{disk}");
    wt.apply(&[]).exit(0).any_out().any_err();
}

#[test]
fn a_directory_that_worktreeinclude_names_is_copied_as_a_cache() {
    let w = World::new();
    let app = caching(&w, "");
    app.write(".worktreeinclude", "node_modules/\n.env\nvenv/lib\n");
    app.sh("printf '.env\\n.worktreeinclude\\n' >> .git/info/exclude; mkdir -p node_modules/a venv/lib; touch venv/pyvenv.cfg venv/lib/x").exit(0);
    for n in 0..300 {
        app.write(&format!("node_modules/a/{n}.js"), "js");
    }
    app.write(".env", "A=1\n");
    let wt = app.worktree("wt");
    let done = wt.apply(&["--json"]).exit(0).any_err().json();
    let files: Vec<&str> = (0..2).map(|n| text(&done, &format!("/files/{n}/path"))).collect();
    assert_eq!(files, [".env", "node_modules"], "{done}");
    assert!(text(&done, "/warnings/0").contains("venv is not copied: it is a virtual environment"), "{done}");
    assert_eq!((wt.read("node_modules/a/299.js"), wt.has("venv")), ("js".into(), false));
    let record =
        wt.git(&["rev-parse", "--path-format=absolute", "--git-path", "shopfloor/sweatfile-apply/record.json"]);
    assert!(std::fs::read_to_string(record.trim_end()).unwrap().len() < 2000);
    wt.apply(&["remove"]).exit(0).out_has("removed node_modules");
    assert!(!wt.has("node_modules"));
}

#[test]
fn a_cache_within_another_comes_with_it_or_alone() {
    let w = World::new();
    let inner = "[caches.\"target/debug\"]\n";
    let app = caching(&w, &format!("[caches.target]\n{inner}"));
    app.write("target/debug/x", "x");
    app.write("target/y", "y");
    let wt = app.worktree("wt");
    let out = wt.apply(&[]).exit(0);
    out.out_has("created target (");
    assert!(!out.stdout.contains("target/debug") && wt.has("target/debug/x"), "{out}");
    wt.apply(&["remove"]).exit(0).out_has("removed target\n");
    app.approved(&format!("[caches.target]\nmax = \"1B\"\n{inner}"));
    wt.apply(&[]).exit(0).err_has("target is not copied: it has ").out_has("created target/debug (");
    assert!(wt.has("target/debug/x") && !wt.has("target/y"));
}

#[test]
fn a_cleared_cache_is_not_copied_for_worktreeinclude_either() {
    let w = World::new();
    let app = caching(&w, "[caches.target]\nfrom = \"\"\n");
    app.write(".worktreeinclude", "target/\nnode_modules/\n");
    app.write("target/x", "x");
    app.write("node_modules/a", "a");
    app.sh("echo .worktreeinclude >> .git/info/exclude; ln -s ../target/x node_modules/x").exit(0);
    let wt = app.worktree("wt");
    wt.apply(&[]).exit(0).out_has("created node_modules").err_has("node_modules/x is not copied");
    assert!(wt.has("node_modules/a") && !wt.has("target"));
    wt.apply(&["show"]).exit(0).out_has("[caches.target]\nfrom = \"\"\n");
}

#[test]
fn a_file_that_worktreeinclude_names_in_a_cache_is_copied_where_the_cache_is_not() {
    let w = World::new();
    let app = caching(&w, "[caches.target]\nmax = \"1B\"\n[caches.data]\n[caches.venv]\n");
    app.commit("data/tracked", "x");
    app.write(".worktreeinclude", "target/.env\n.local\nvenv/file\n");
    app.sh("printf 'data/.local\n.worktreeinclude\n' >> .git/info/exclude").exit(0);
    app.write("target/big", "big");
    app.write("venv/other", "x");
    for file in ["target/.env", "data/.local", "venv/file"] {
        app.write(file, "A=1\n");
    }
    let wt = app.worktree("wt");
    let out = wt.apply(&[]).exit(0);
    out.err_has("target is not copied: it has ");
    out.out_has("created target/.env").out_has("created data/.local").out_has("created venv (");
    assert_eq!(
        (wt.read("target/.env"), wt.read("data/.local"), wt.has("target/big")),
        ("A=1\n".into(), "A=1\n".into(), false)
    );
    assert_eq!((wt.read("venv/file"), wt.read("venv/other")), ("A=1\n".into(), "x".into()));
}

#[test]
fn worktrees_and_repositories_in_a_copied_directory_are_left_out_and_named_once() {
    let w = World::new();
    let app = caching(&w, "");
    app.write(".worktreeinclude", ".claude/\n");
    app.sh("printf '.claude/\\n.worktreeinclude\\n' >> .git/info/exclude").exit(0);
    app.write(".claude/settings.json", "{}");
    app.write(".claude/clone/file", "x");
    app.git(&["init", "-q", ".claude/clone"]);
    let add = |name: &str| {
        let below = format!(".claude/worktrees/{name}");
        app.git(&["worktree", "add", "-q", &below]);
        w.at(app.path.join(below))
    };
    add("one");
    let two = add("two");
    let out = two.apply(&[]).exit(0).any_out();
    out.err_has("repositories of their own: .claude/clone, .claude/worktrees/one, .claude/worktrees/two\n");
    assert!(two.has(".claude/settings.json") && !two.has(".claude/clone") && !two.has(".claude/worktrees/one"));
    two.apply(&["remove"]).exit(0).out_has("removed .claude\n");
    assert!(!two.has(".claude") && app.has(".claude/clone/file"));
}

#[test]
fn no_link_leads_to_a_cache_that_is_left_out_and_a_dry_run_finds_what_cannot_be_read() {
    let w = World::new();
    let app = caching(&w, "[caches.target]\nmax = \"1B\"\n[caches.node_modules]\n[caches.venv]\n");
    app.write("target/big", "big");
    app.write("node_modules/a", "a");
    app.write("venv/secret", "x");
    app.sh("ln -s ../target/big node_modules/big; chmod 000 venv/secret").exit(0);
    let wt = app.worktree("wt");
    for args in [&["--dry-run"][..], &[]] {
        let out = wt.run_bound("sweatfile-apply", args).exit(0);
        out.err_has("target is not copied: it has ").err_has("node_modules/big is not copied");
        out.err_has("venv is not copied: secret in it cannot be read").out_has("created node_modules (");
        assert!(!out.stdout.contains("venv"), "{out}");
    }
    wt.apply(&["remove"]).exit(0).out_has("removed node_modules\n");
}

#[test]
fn killed_while_it_is_copied_a_cache_is_whole_or_not_there() {
    let w = World::new();
    let app = caching(&w, "[caches.target]\n");
    for n in 0..20 {
        app.write(&format!("target/{n}/file"), "whole");
    }
    sweep(
        |name| app.worktree(name),
        &[],
        |wt, when| {
            let is_whole = |wt: &Repo<'_>| (0..20).all(|n| wt.has(&format!("target/{n}/file")));
            assert!(is_whole(wt) || !wt.has("target"), "{when}");
            wt.apply(&[]).succeeds();
            assert!(is_whole(wt), "{when}");
            assert_eq!(wt.git(&["status", "--porcelain", "-uall"]), "", "{when}");
            let staged =
                wt.git(&["rev-parse", "--path-format=absolute", "--git-path", "shopfloor/sweatfile-apply/tmp"]);
            let left = std::fs::read_dir(staged.trim_end()).map_or(0, Iterator::count);
            assert_eq!(left, 0, "{when}");
            app.git(&["worktree", "remove", "--force", wt.path.to_str().unwrap()]);
        },
    );
}

#[test]
fn a_file_system_that_shares_blocks_shares_them() {
    if !needs("mkfs.btrfs") {
        return;
    }
    let w = World::new();
    let here = w.at(w.home(""));
    let mkfs = which("mkfs.btrfs").display().to_string();
    here.sh(&format!("truncate -s 200M disk && {mkfs} -q disk && mkdir mnt")).succeeds();
    if !needs_mount(&here, "mount -o loop disk mnt") {
        return;
    }
    let app = w.repo("mnt/app");
    app.commit(".gitignore", "/target/\n");
    app.approved("[caches.target]\nmax = \"1B\"\n");
    app.sh("mkdir target && head -c 20000000 /dev/urandom > target/big && sync").exit(0);
    let wt = app.worktree("wt");
    wt.apply(&[])
        .exit(0)
        .any_err()
        .out_has("created target (shares its blocks with the main checkout, 20 MB in 1 files)");
    wt.sh("sync").exit(0);
    let disk = wt.apply(&["check", "--json"]).any_status().any_err().json();
    let (own, shared) = (disk["disk"]["own"].as_u64().unwrap(), disk["disk"]["shared"].as_u64().unwrap());
    assert!(own < 1_000_000 && shared >= 20_000_000, "{disk}");
    here.sh("umount mnt").exit(0);
}

#[test]
fn npm_works_with_the_copied_tree() {
    if !needs("npm") {
        return;
    }
    let w = World::new();
    let app = caching(&w, "[caches.\"node_modules\"]\n");
    app.commit("packages/tool/package.json", r#"{"name": "tool", "version": "1.0.0", "bin": "tool.js"}"#);
    app.commit("packages/tool/tool.js", "#!/usr/bin/env node\nconsole.log('tool in ' + process.cwd())\n");
    app.commit(
        "package.json",
        r#"{"name": "app", "version": "1.0.0", "workspaces": ["packages/*"], "scripts": {"say": "tool"}}"#,
    );
    app.sh("npm install --offline --no-audit --no-fund --ignore-scripts").exit(0).any_out().any_err();
    app.sh("git add -A && git commit -qm lock").exit(0);
    let wt = app.worktree("wt");
    wt.apply(&[]).exit(0).any_out();
    let said = wt.sh("npm run --silent say").exit(0).any_err();
    said.out_has(&format!("tool in {}", wt.path.display()));
    // The link in its tree leads to its own package.
    let own = wt.path.join("node_modules/.bin/tool").canonicalize().unwrap();
    assert_eq!(own, wt.path.join("packages/tool/tool.js").canonicalize().unwrap());
}

#[test]
fn links_between_caches_are_kept_and_one_that_cannot_be_copied_stops_nothing() {
    let w = World::new();
    let app = caching(&w, "setup = [\"touch ~/ran\"]\n[caches.\"node_modules\"]\n[caches.target]\n[caches.venv]\n");
    app.write(".worktreeinclude", "linked\n");
    app.sh("echo linked >> .git/info/exclude; echo .worktreeinclude >> .git/info/exclude; ln -s node_modules/a linked")
        .exit(0);
    app.sh("mkdir -p node_modules/a target venv; echo a > node_modules/a/x; ln -s ../node_modules/a target/a; chmod 700 target; ln -s ../target/a venv/a")
        .exit(0);
    let wt = app.worktree("wt");
    wt.apply(&[]).exit(0).any_out().any_err();
    assert_eq!(
        (wt.read("target/a/x"), wt.read("venv/a/x"), wt.read("linked/x")),
        ("a\n".into(), "a\n".into(), "a\n".into())
    );
    assert_eq!(mode(&wt.path.join("target")) & 0o777, 0o700);
    std::fs::remove_file(w.home("ran")).unwrap();
    // A hard link to another file system cannot be made.
    if !needs_mount(&app, "mount -t tmpfs none target") {
        return;
    }
    app.write("target/file", "x");
    app.write("sweatfile", "setup = [\"touch ~/ran\"]\n[caches.target]\nlink = \"hard\"\n");
    app.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
    let two = app.worktree("two");
    let done = two.apply(&[]);
    app.sh("umount target").exit(0);
    done.exit(0).out_has("skipped target (cannot copy").err_has("target is not copied: cannot copy");
    assert!(!two.has("target") && w.at(w.home("")).has("ran"));
}
