//! `run --sandbox`: git works inside, nothing outside is reached, and only sound commits come out.

use crate::support::sandbox::{contained, inside, tip, works};
use crate::support::spawn::{app, start, subtree};
use crate::support::sweep::{assert_often, sweep_tool};
use crate::support::world::{Repo, World, text, wait_for, write};

#[test]
fn git_works_inside_and_commits_come_out() {
    let w = World::new();
    let Some((app, feat)) = contained(&w) else { return };
    inside(&app, "echo 1 > b; git add b; git commit -qm first").succeeds();
    assert_eq!((tip(&app), app.git(&["status", "--porcelain"])), ("first".into(), String::new()));
    assert_eq!(feat.git(&["status", "--porcelain"]), "");
    let line = "set -e; echo 2 > b; git commit -qam second; git commit -q --amend -m amended; echo x > a.txt; git stash -q; \
        git switch -q -c other; echo 3 > c; git add c; git commit -qm third; git switch -q -; git merge -q --no-edit other; \
        git rebase -q main; git bisect start HEAD HEAD~1; git bisect reset; git gc -q; git fsck --full; \
        git worktree add -q /tmp/more; git worktree remove /tmp/more; test -z \"$(git status --porcelain)\"";
    inside(&app, line).succeeds().any_out().any_err();
    assert_eq!(app.git(&["log", "--format=%s", "main..main.feat"]), "third\namended\nfirst\n");
    // A program of a virtual environment is that one inside, too.
    app.sh("python3 -m venv --without-pip ../venv").exit(0);
    let python = app.path.with_file_name("venv/bin/python").display().to_string();
    let out =
        app.spawn(&["run", "main.feat", "--sandbox", "--", &python, "-c", "import sys; print(sys.prefix)"]).exit(0);
    assert!(out.stdout.ends_with("/venv\n"), "{}", out.stdout);
    // What is the agent's own stays, and survives.
    inside(&app, "git stash list | grep -q WIP && git stash pop -q && git branch --list other | grep -q other")
        .succeeds();
    assert_eq!(feat.read("a.txt"), "x\n");
    // A conflict is the agent's.
    let line = "git checkout -q a.txt; git switch -q -c left HEAD~1; echo l > a.txt; git commit -qam left; git switch -q main.feat; \
        echo r > a.txt; git commit -qam right; git rebase left; echo lr > a.txt; git add a.txt; \
        GIT_EDITOR=true git rebase --continue";
    inside(&app, line).succeeds().any_out().any_err();
    assert_eq!((tip(&app), app.git(&["show", "main.feat:a.txt"])), ("right".into(), "lr\n".into()));
    inside(&app, "worktree-spawn subtree x").exit(2).err_has("does not work in a sandbox");
    let line = "for c in 'worktree-spawn list' 'shopfloor status' 'shopfloor send root hi' 'worker-ctl status'; do \
        $c 2>&1 | grep -q 'not work in a sandbox' || exit 9; done";
    inside(&app, line).succeeds();
    for line in ["whoami --json", "env main.feat --json"] {
        let outside = feat.spawn(&line.split(' ').collect::<Vec<_>>()).exit(0);
        assert_eq!(inside(&app, &format!("worktree-spawn {line}")).succeeds().stdout, outside.stdout);
    }
    inside(&app, "test -x \"$(dirname $(command -v worktree-spawn))/worker-ctl\"").succeeds();
    inside(&app, "git push origin HEAD").exit(128).any_out().err_has("a-sandboxed-agent-cannot-push-or-fetch");
    // HEAD elsewhere: its commit is taken, and that is said.
    inside(&app, "git switch -q -c else; git commit -q --allow-empty -m elsewhere")
        .exit(0)
        .err_has("was on the branch refs/heads/else");
    assert_eq!(tip(&app), "elsewhere");
}

#[test]
fn exit_codes_and_reports_come_out() {
    let w = World::new();
    let Some((app, _)) = contained(&w) else { return };
    inside(&app, "exit 7").exit(7);
    inside(&app, "kill -9 $$").exit(137);
    app.spawn(&["wait", "--count", "2", "--timeout", "10s"]).exit(0).any_out();
    let mut run = start(
        &app,
        &[
            "run",
            "main.feat",
            "--sandbox",
            "--",
            "sh",
            "-c",
            "worktree-spawn notify info half; mkfifo fifo; read line < fifo; exit 1",
        ],
    );
    // It arrives while the agent works.
    let event = app.spawn(&["wait", "--timeout", "20s"]).exit(0).json();
    assert_eq!((text(&event, "/message"), text(&event, "/from/id")), ("half", "main.feat"), "{event}");
    run.kill().unwrap();
    run.wait().unwrap();
    let event = app.spawn(&["wait", "--timeout", "20s"]).exit(0).json();
    assert_eq!(text(&event, "/type"), "worker_died");
    // What is no report is none, and is gone.
    inside(&app, "cd $SHOPFLOOR_SPOOL && ln -s /etc/passwd 00000000000000000000000000000000.json && mkfifo 00000000000000000000000000000001.json && \
        echo '{' > 00000000000000000000000000000002.json && mkdir 00000000000000000000000000000003.json").succeeds();
    assert_eq!(app.spawn(&["events", "--json"]).exit(0).json_lines().len(), 1);
}

#[test]
fn nothing_outside_is_reached() {
    let w = World::new();
    let Some((app, _)) = contained(&w) else { return };
    write(&w.home(".ssh/id"), "secret");
    let other = subtree(&app, &["other"]);
    other.write("theirs", "theirs\n");
    let socket = std::os::unix::net::UnixListener::bind_addr(&abstract_name(&w)).unwrap();
    let (home, app_dir) = (w.home("").display().to_string(), app.path.display().to_string());
    inside(&app, "true").succeeds();
    let before = (app.git(&["for-each-ref"]), app.read(".git/config"));
    let name = socket_name(&w);
    for attempt in [
        format!("cat {home}/.ssh/id"),
        format!("ls {}/theirs", other.path.display()),
        // What lies in memory has a place of its own inside.
        format!("touch {app_dir}/x; test -e {app_dir}/.git/refs/heads/main.other"),
        "touch /usr/x".into(),
        "touch /etc/x".into(),
        "touch /x".into(),
        "touch /run/shopfloor/objects/x".into(),
        "rm -f .git".into(),
        "mv .git git".into(),
        "echo > .git".into(),
        "mount -t tmpfs none /mnt".into(),
        "umount .git".into(),
        "unshare -Ur true".into(),
        "mknod /tmp/x b 8 0".into(),
        "echo x > /proc/sys/kernel/core_pattern".into(),
        "echo x > /proc/sysrq-trigger".into(),
        "ls /proc/1/root/home".into(),
        "grep -r bubblewrap /proc/*/root/etc/hostname".into(),
        "cat /etc/shadow | grep .".into(),
        "kill -0 $PPID && ls /proc | grep -qE '^[0-9]{4,}$'".into(),
        "env | grep -q SECRET".into(),
        format!("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"\\0{name}\")'"),
        "perl -e 'open(my $t, \"<\", \"/dev/tty\") or exit 1; my $c = \"x\"; ioctl($t, 0x5412, $c) or exit 1'".into(),
        "perl -e 'exit(syscall(250, 0, -3, 0) < 0)'".into(),
        "perl -e 'exit(syscall(425, 8, 0) < 0)'".into(),
        "perl -e 'exit(syscall(304, 0, 0, 0) < 0)'".into(),
        "touch setid && chmod u+s setid".into(),
        "perl -e 'exit(!sysopen(my $f, \"setid2\", 0101, 04755))'".into(),
        "perl -e 'exit(syscall(41, 40, 1, 0) < 0)'".into(),
        "ls -l /proc/self/fd | grep -q ' [3-9] -> /[^p]'".into(),
    ] {
        let out = app.run_with(
            "worktree-spawn",
            &["run", "main.feat", "--sandbox", "--", "bash", "-c", &attempt],
            &[("SECRET", "s")],
        );
        assert!(!out.exits_with(0), "{attempt}");
    }
    drop(socket);
    assert_eq!((app.git(&["for-each-ref"]), app.read(".git/config")), before);
    assert!(!app.has("x") && other.read("theirs") == "theirs\n");
}

/// The name of a socket that is no file, and its address.
fn socket_name(w: &World) -> String {
    format!("shopfloor{}", w.home("").display())
}

fn abstract_name(w: &World) -> std::os::unix::net::SocketAddr {
    use std::os::linux::net::SocketAddrExt;
    std::os::unix::net::SocketAddr::from_abstract_name(socket_name(w)).unwrap()
}

#[test]
fn crafted_commits_are_refused() {
    let w = World::new();
    let Some((app, feat)) = contained(&w) else { return };
    inside(&app, "git commit -q --allow-empty -m sound").succeeds();
    let before = app.git(&["for-each-ref"]);
    // `raw ID` prints an id as bytes; `tree` makes a tree of what it reads, `on TREE` a commit of it at HEAD.
    let tools = "raw() { printf \"$(echo $1 | sed 's/../\\\\x&/g')\"; }; tree() { git hash-object -t tree --literally -w --stdin; }; \
        on() { git update-ref --no-deref HEAD $(git commit-tree -p HEAD -m bad $1); }; b=$(echo x | git hash-object -w --stdin); \
        entry() { printf \"$1 $2\\0\"; raw $3; }; ";
    for (what, line, why) in [
        ("a .git", "on $(entry 100644 .git $b | tree)", "fault"),
        ("a short name", "on $(entry 100644 'GIT~1' $b | tree)", "fault"),
        ("a way up", "on $(entry 100644 .. $b | tree)", "fault"),
        ("twice", "on $({ entry 100644 a $b; entry 100644 a $b; } | tree)", "fault"),
        ("a linked .gitmodules", "on $(entry 120000 .gitmodules $b | tree)", "fault"),
        (
            "an option as url",
            "m=$(printf '[submodule \"x\"]\\n path = x\\n url = -u./x\\n' | git hash-object -w --stdin); on $(entry 100644 .gitmodules $m | tree)",
            "fault",
        ),
        (
            "a missing blob",
            "on $(entry 100644 a 1234567890123456789012345678901234567890 | tree)",
            "missing or damaged",
        ),
        ("a submodule", "on $(entry 160000 sub $(git rev-parse HEAD) | tree)", "has the submodule sub"),
        (
            "many commits",
            "t=$(git rev-parse HEAD^{tree}); { for i in $(seq 2100); do printf 'commit refs/heads/many\\ncommitter a <a@x> 1 +0000\\ndata 1\\nx\\n'; done; } | git fast-import --quiet --force; git update-ref --no-deref HEAD many",
            "2100 new commits",
        ),
        (
            "a bomb",
            "t=$(entry 100644 a $b | tree); for i in 1 2 3 4 5 6 7 8 9 10 11 12; do t=$(for j in 0 1 2 3 4 5 6 7 8 9; do entry 40000 $j $t; done | tree); done; on $t",
            "more than 1000000 files",
        ),
        ("a pipe as HEAD", "d=$(git rev-parse --git-dir); mv $d/HEAD $d/H; mkfifo $d/HEAD", "HEAD cannot be read"),
        (
            "other objects",
            "d=$(git rev-parse --git-common-dir); git commit -q --allow-empty -m x; mv $d/objects $d/o; ln -s /etc $d/objects",
            "names no commit",
        ),
    ] {
        // Each begins at the sound commit, in a sandbox of its own.
        let out = inside(&app, &format!("{tools} {line}"));
        let said = out.any_status().any_out().stderr.clone();
        assert!(said.contains("import refused") && said.contains(why), "{what}: {said}");
        assert_eq!(app.git(&["for-each-ref"]), before, "{what}");
        let mend = "d=$(sed 's,gitdir: ,,; s,/worktrees/feat,,' .git); [ ! -L $d/objects ] || { rm $d/objects; mv $d/o $d/objects; }; \
            for w in $d/worktrees/*; do rm -f $w/HEAD; echo 'ref: refs/heads/main.feat' > $w/HEAD; done; rm -f $d/refs/heads/main.feat; git update-ref refs/heads/main.feat $1; git reset -q --hard";
        let sound = app.git(&["rev-parse", "main.feat"]);
        app.spawn(&["run", "main.feat", "--sandbox", "--", "bash", "-c", mend, "-", sound.trim()])
            .exit(0)
            .any_out()
            .any_err();
    }
    assert_eq!(feat.git(&["log", "--format=%s", "-1"]).trim(), "sound");
    assert_eq!(std::fs::read_dir(w.home(".local/state/shopfloor/boxes")).unwrap().count(), 1);
    // Hostile configuration and hooks run nothing outside.
    let bait = w.home("bait");
    inside(
        &app,
        &format!(
            "git config core.fsmonitor 'touch {0}'; mkdir h; git config core.hooksPath $PWD/h; git config core.pager 'touch {0}'; \
             printf '#!/bin/sh\\ntouch {0}; exit 0\\n' > h/reference-transaction; chmod +x h/reference-transaction; \
             git add .; git commit -qm hostile",
            bait.display()
        ),
    )
    .any_status()
    .any_err();
    feat.git(&["status", "--short"]);
    assert!(tip(&app) == "hostile" && !bait.exists());
}

#[test]
fn what_surrounds_a_sandbox_is_out_of_its_reach() {
    let w = World::new();
    let Some((app, feat)) = contained(&w) else { return };
    // Files that it gets as its streams, and the group of processes that it is in.
    write(&app.path.join("in"), "question\n");
    let run = "worktree-spawn run main.feat --sandbox -- sh -c";
    let line = format!(
        "{run} 'cat; : > /proc/self/fd/0' < in > out; {run} 'echo more; : > /proc/self/fd/1' >> out; {run} 'kill -9 0'; echo $?"
    );
    let out = app.sh(&line).exit(0).any_err();
    assert_eq!(
        (app.read("in"), app.read("out"), out.stdout.as_str()),
        ("question\n".into(), "question\nmore\n".into(), "137\n")
    );
    std::fs::remove_file(app.path.join("in")).unwrap();
    std::fs::remove_file(app.path.join("out")).unwrap();
    // A script of its own that names a private file as its interpreter.
    write(&w.home(".ssh/id"), "secret");
    let line = format!(
        "printf '#!{}\\n' > t.sh; printf '#!{}/env ../../.ssh/id\\n' > u.sh; chmod +x t.sh u.sh",
        w.home(".ssh/id").display(),
        feat.path.display()
    );
    inside(&app, &line).succeeds();
    for script in ["./t.sh", "./u.sh"] {
        let read = ["run", "main.feat", "--sandbox", "--", script];
        let said = app.spawn(&read).any_status().any_err().stdout.clone();
        assert!(!said.contains("secret"), "{said}");
    }
    let see = format!("ls {}", w.home(".ssh").display());
    assert!(!app.spawn(&["run", "main.feat", "--sandbox", "--", "sh", "-c", &see]).exits_with(0));
    // Hooks that the person's own git would look for in the worktree.
    app.git(&["config", "core.hooksPath", ".githooks"]);
    inside(&app, "echo x > .githooks/post-index-change").exit(1).err_has("Read-only file system");
    inside(&app, "mv .githooks other || rm -r .githooks").exit(1).any_err();
    // As git reads its settings in that worktree; a directory before a `..` could become a link to elsewhere.
    feat.sh("git config extensions.worktreeConfig true && git config --worktree core.hooksPath own/hooks").exit(0);
    inside(&app, "echo x > own/pre-commit").exit(1).err_has("Read-only file system");
    feat.git(&["config", "--worktree", "core.hooksPath", "src/../gh"]);
    inside(&app, "true").exit(2).err_has("leads through the worktree");
    feat.sh("git config --worktree --unset core.hooksPath && git config --unset extensions.worktreeConfig").exit(0);
    // A submodule of the base, where git would look for a repository.
    app.git(&["config", "--unset", "core.hooksPath"]);
    app.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{},sub", app.git(&["rev-parse", "HEAD"]).trim()),
    ]);
    app.git(&["commit", "-q", "-m", "sub"]);
    subtree(&app, &["two"]);
    app.spawn(&["run", "main.two", "--sandbox", "--", "true"]).exit(2).err_has("has submodules");
}

#[test]
fn a_branch_that_was_moved_outside_is_left_alone() {
    let w = World::new();
    let Some((app, feat)) = contained(&w) else { return };
    inside(&app, "git commit -q --allow-empty -m first").succeeds();
    feat.git(&["commit", "-q", "--allow-empty", "-m", "a person's"]);
    // As long as the agent has not gone on, it has that too.
    app.spawn(&["list", "--status"]).exit(0).any_out();
    inside(&app, "git log --format=%s -1 | grep -q person && test -z \"$(git status --porcelain)\"").succeeds();
    feat.commit("theirs", "x\n");
    inside(&app, "git log --format=%s -1 | grep -q theirs && test -z \"$(git status --porcelain)\"").succeeds();
    let mut run = start(
        &app,
        &[
            "run",
            "main.feat",
            "--sandbox",
            "--",
            "sh",
            "-c",
            "git commit -q --allow-empty -m second; mkfifo fifo; read x < fifo",
        ],
    );
    wait_for(|| feat.has("fifo"));
    feat.git(&["commit", "-q", "--allow-empty", "-m", "another"]);
    app.sh("echo > .shopfloor/worktrees/feat/fifo").exit(0);
    run.wait().unwrap();
    std::fs::remove_file(feat.path.join("fifo")).unwrap();
    assert_eq!(tip(&app), "another");
    let way =
        app.spawn(&["list", "--status"]).exit(0).any_out().err_has("was moved outside of the sandbox").stderr.clone();
    let way = way.split('`').nth(1).unwrap().to_owned();
    assert!(way.starts_with("git rebase --onto "), "{way}");
    inside(&app, &format!("{way} -q")).exit(0).any_out().any_err();
    assert_eq!(app.git(&["log", "--format=%s", "-2", "main.feat"]), "second\nanother\n");
}

#[test]
fn a_removal_loses_nothing_of_a_sandbox() {
    let w = World::new();
    let Some((app, _)) = contained(&w) else { return };
    inside(&app, "echo x > a.txt; git stash -q").succeeds();
    app.spawn(&["remove", "main.feat"]).exit(1).err_has("the sandbox of main.feat has 2 commits");
    app.spawn(&["remove", "main.feat", "--force"])
        .exit(0)
        .any_out()
        .err_has("is below refs/shopfloor/trash/main.feat/sandbox");
    let kept = app.git(&["log", "--no-walk", "--format=%s", "--glob=refs/shopfloor/trash/main.feat/sandbox"]);
    assert!(kept.contains("WIP on main.feat"), "{kept}");
    let two = subtree(&app, &["two"]);
    app.spawn(&[
        "run",
        "main.two",
        "--sandbox",
        "--",
        "sh",
        "-c",
        "mkdir -p d/e; chmod 0 d; git commit -q --allow-empty -m x; git branch y",
    ])
    .succeeds();
    app.sh("chmod 700 .shopfloor/worktrees/two/d; rm -r .shopfloor/worktrees/two/d").exit(0);
    app.git(&["merge", "-q", "--ff-only", "main.two"]);
    app.spawn(&["remove", "main.two"]).exit(0).any_out().any_err();
    assert!(!two.has("") && !app.git(&["for-each-ref"]).contains("refs/shopfloor/in/two"));
    assert_eq!(std::fs::read_dir(w.home(".local/state/shopfloor/boxes")).unwrap().count(), 0);
    // What git cannot read stays where it is.
    subtree(&app, &["three"]);
    let line = "git commit -q --allow-empty -m x; ln -sf nowhere $(git rev-parse --git-dir)/HEAD";
    let run = app.spawn(&["run", "main.three", "--sandbox", "--", "sh", "-c", line]);
    run.any_status().any_out().err_has("its HEAD names no commit that git can read");
    let removed = app.spawn(&["remove", "main.three", "--force"]).exit(0).any_out();
    removed.err_has("its sandbox stays in").err_has("import refused: git cannot read what it has made");
    assert_eq!(std::fs::read_dir(w.home(".local/state/shopfloor/boxes")).unwrap().count(), 1);
}

#[test]
fn without_a_sandbox_nothing_runs() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["feat"]);
    w.program("bwrap", "echo 'bwrap: Creating new namespace failed' >&2; exit 1");
    inside(&app, "touch ran").exit(2).err_has("no sandbox can be made").err_has("Creating new namespace failed");
    app.spawn(&["subtree", "more", "--sandbox", "--", "true"]).exit(2).any_err();
    assert!(!app.has(".shopfloor/worktrees/more") && !app.has(".shopfloor/worktrees/feat/ran"));
    w.program("bwrap", "exit 1");
    let out = inside(&app, "true").exit(2);
    out.err_has("no sandbox can be made");
    assert!(!out.stderr.contains("caused by"), "{out}");
}

#[test]
fn what_a_sandbox_cannot_take_over_is_refused() {
    let w = World::new();
    let Some((app, feat)) = contained(&w) else { return };
    app.spawn(&["worker", "w"]).succeeds();
    app.spawn(&["run", "root/w", "--sandbox", "--", "true"]).exit(2).err_has("no linked worktree");
    feat.git(&["switch", "-q", "--detach"]);
    inside(&app, "true").exit(2).err_has("is on no branch");
    feat.git(&["switch", "-q", "main.feat"]);
    feat.write(".gitmodules", "");
    inside(&app, "true").exit(2).err_has("has submodules").err_has("in [worker-ctl.runners.sandbox]");
    std::fs::remove_file(feat.path.join(".gitmodules")).unwrap();
    let config = w.home(".config/shopfloor");
    let set = |line: &str| write(&config.join("config.toml"), &format!("[worker-ctl.runners.sandbox]\n{line}\n"));
    set(&format!("read = [{:?}]", w.home("")));
    inside(&app, "true").exit(2).err_has("which holds");
    // Who reaches the socket of a root of worker-ctl commands tmux outside.
    let root = w.workers_clone(&app, "workers");
    for (path, how) in [(w.home("workers"), "which holds"), (root.path.join(".git"), "which lies in")] {
        set(&format!("read = [{path:?}]"));
        inside(&app, "true").exit(2).err_has(how);
    }
    for device in ["/dev/../etc", "/etc/passwd"] {
        set(&format!("devices = [{device:?}]"));
        inside(&app, "true").exit(2).err_has("which is not below /dev");
    }
    set("tmp = \"much\"");
    inside(&app, "true").exit(2).err_has("is no size");
    set("network = false\nenv = [\"MINE\"]");
    let vars = [("MINE", "yes")];
    let line = "test \"$MINE\" = yes && test \"$(ls /sys/class/net 2>/dev/null; cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d ' ')\" = lo";
    app.run_with("worktree-spawn", &["run", "main.feat", "--sandbox", "--", "bash", "-c", line], &vars).succeeds();
    // A table of another name closes nothing, and that is said.
    for (table, unknown) in [
        ("worker-ctl.runner.sandbox", "`worker-ctl.runner`; did you mean `runners`?"),
        ("worker-ctl.runners.sandbx", "`worker-ctl.runners.sandbx`; did you mean `sandbox`?"),
        ("worker_ctl.runners.sandbox", "`worker_ctl`; did you mean `worker-ctl`?"),
        ("worktree-spawn.runners.sandbox", "`worktree-spawn.runners`; did you mean `worker-ctl.runners`?"),
        ("runners.sandbox", "`runners`; did you mean `worker-ctl.runners`?"),
        ("nosuchtool", "`nosuchtool`"),
    ] {
        write(&config.join("config.toml"), &format!("\n[{table}]\nnetwork = false\n"));
        inside(&app, "true").exit(0).err_has(&format!("config.toml:2: unknown table {unknown}"));
    }
}

/// Lets the agent of `app` commit inside, and kills `run` before it takes the commit in.
fn commits_and_dies(app: &Repo<'_>, feat: &Repo<'_>) {
    let line = "echo x > b; git add b; git commit -qm late; mkfifo fifo; read line < fifo";
    let mut run = start(app, &["run", "main.feat", "--sandbox", "--", "sh", "-c", line]);
    wait_for(|| feat.has("fifo"));
    run.kill().unwrap();
    run.wait().unwrap();
    std::fs::remove_file(feat.path.join("fifo")).unwrap();
    assert_ne!(tip(app), "late");
}

#[test]
fn a_killed_import_is_made_up_for() {
    let w = World::new();
    if !works(&w) {
        return;
    }
    let prepare = |point: &str| {
        // git has lists of directories with colons between them.
        let app = w.repo(&format!("{point}:"));
        app.commit("a.txt", "one\n");
        let feat = subtree(&app, &["feat"]);
        commits_and_dies(&app, &feat);
        app
    };
    let points = sweep_tool("worktree-spawn", prepare, &["list", "--status"], |app, when| {
        let list = app.spawn(&["list", "--status"]).exit(0).any_err();
        assert!(list.stdout.contains("main.feat"), "{when}");
        assert_eq!(
            (tip(app), app.git(&["rev-parse", "refs/shopfloor/in/feat"])),
            ("late".into(), app.git(&["rev-parse", "main.feat"])),
            "{when}"
        );
        let feat = app.world.at(app.path.join(".shopfloor/worktrees/feat"));
        assert_eq!(feat.git(&["status", "--porcelain"]), "", "{when}");
        app.git(&["fsck", "--connectivity-only"]);
        inside(app, "test -z \"$(git status --porcelain)\" && git commit -q --allow-empty -m on").succeeds();
        assert_eq!(tip(app), "on", "{when}");
    });
    assert_often(points, 20);
}

#[test]
fn a_move_that_was_killed_is_finished_before_the_next_import() {
    let w = World::new();
    let Some((app, feat)) = contained(&w) else { return };
    inside(&app, "echo x > b; git add b; git commit -qm work").succeeds();
    let work = app.git(&["rev-parse", "main.feat"]).trim().to_owned();
    app.git(&["merge", "-q", "--squash", "main.feat"]);
    app.git(&["commit", "-q", "-m", "landed"]);
    let landed = app.git(&["rev-parse", "main"]).trim().to_owned();
    let boxed = std::fs::read_dir(w.home(".local/state/shopfloor/boxes")).unwrap().next().unwrap().unwrap().path();
    let journal = format!(
        "{{\"what\":\"worktree\",\"branch\":\"refs/heads/main.feat\",\"from\":\"{work}\",\"to\":\"{landed}\",\"base\":\"main\"}}"
    );
    write(&boxed.join("move"), &journal);
    app.spawn(&["list", "--status"]).exit(0).any_out();
    assert_eq!(
        (tip(&app), feat.git(&["status", "--porcelain"]), boxed.join("move").exists()),
        ("landed".into(), String::new(), false)
    );
    inside(&app, &format!("test $(git rev-parse HEAD) = {landed} && test $(git rev-parse origin/main) = {landed}"))
        .succeeds();
    // An agent that has gone on keeps what it has.
    inside(&app, "git commit -q --allow-empty -m on").succeeds();
    write(&boxed.join("move"), &journal);
    app.spawn(&["list", "--status"]).exit(0).any_out();
    assert_eq!((tip(&app), boxed.join("move").exists()), ("on".into(), false));
}

/// Through a directory the agent would reach all that the person does.
#[test]
fn a_directory_as_a_stream_does_not_get_inside() {
    let w = World::new();
    let Some((app, _)) = contained(&w) else { return };
    write(&w.home("precious/id"), "key\n");
    let read = "cat /proc/self/fd/0/id; echo x > /proc/self/fd/0/new";
    let line = format!("worktree-spawn run main.feat --sandbox -- sh -c '{read}' < ~/precious");
    let told = app.sh(&line).any_status().any_err();
    assert!(!told.stdout.contains("key") && !w.home("precious/new").exists(), "{told}");
}
