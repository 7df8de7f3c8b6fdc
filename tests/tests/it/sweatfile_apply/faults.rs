//! Kills at every write, full disks, signals and other devices: every file is the old or the new one, never in between.

use crate::support::sweep::{sweep, sweep_tool};
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use crate::support::world::{Repo, World, needs, needs_mount, wait_for, which, write};

const AREA: &str = "git_excludes = [\"/.a\", \"/.d/\", \"/log\"]\nsetup = [\"echo ran >> log\"]\n[env]\nA = \"1\"\nB = \"two words\"\n\
                    [files.a]\ncontent = \"whole\\n\"\n[files.\"d/copy\"]\ncopy = \"original\"\n[files.\"d/link\"]\nsource = \"original\"\n";

/// Checks that every file is absent or whole, and that git sees nothing temporary.
fn assert_old_or_new(wt: &Repo<'_>, when: &str) {
    for (path, whole) in [
        (".a", "whole\n"),
        (".d/copy", "original\n"),
        (".d/link", "original\n"),
        (".sweatshop-env", "A=1\nB='two words'\n"),
    ] {
        if wt.has(path) {
            assert_eq!(wt.read(path), whole, "{path} {when}");
        }
    }
    let exclude = wt.excludes();
    assert!(
        exclude.iter().all(|l| [".sweatshop-env", "/.a", "/.d/", "/log"].contains(&l.as_str())),
        "{exclude:?} {when}"
    );
    let seen = wt.git(&["status", "--porcelain", "-uall"]);
    assert!(!seen.contains("shopfloor"), "{seen} {when}");
}

#[test]
fn killed_at_every_write_the_next_run_finishes() {
    let w = World::new();
    let app = w.app();
    w.area(AREA);
    write(&w.home("eng/original"), "original\n");
    sweep(
        |name| app.worktree(name),
        &[],
        |wt, when| {
            assert_old_or_new(wt, when);
            wt.apply(&[]).succeeds();
            assert_old_or_new(wt, when);
            wt.apply(&["check"]).exit(0);
            assert_eq!(wt.excludes().len(), 4);
            assert!(wt.read("log").starts_with("ran\n"));
            assert_no_leftovers(wt, when);
            wt.apply(&["remove"]).succeeds();
            assert!(!wt.has(".a") && !wt.has(".d"), "what was placed before the kill is taken back too, {when}");
            app.git(&["worktree", "remove", "--force", wt.path.to_str().unwrap()]);
        },
    );
}

/// Checks that a finished run leaves nothing temporary.
fn assert_no_leftovers(repo: &Repo<'_>, when: &str) {
    let found = repo
        .sh("cd; find . -name '.shopfloor-tmp-*' -o -path '*/shopfloor/*/tmp*/*' -o -path '*/.overlay-sync/tmp/*' -o -name 'displaced-*'")
        .exit(0)
        .stdout;
    assert_eq!(found, "", "{when}");
}

#[test]
fn killed_while_another_layer_takes_over_the_next_run_finishes() {
    let w = World::new();
    let app = w.app();
    let (before, after) = (
        "setup = [\"true\"]\n[env]\nA = \"1\"\nGONE = \"1\"\n[files.a]\ncontent = \"area\"\n[files.\"d/b\"]\ncontent = \"area\"\n",
        "[env]\nA = \"2\"\nGONE = \"\"\nNEW = \"1\"\n[files.a]\ncontent = \"repo\"\n[files.\"d/b\"]\nsource = \"\"\n",
    );
    let prepare = |name: &str| {
        w.area(before);
        let _ = std::fs::remove_file(app.path.join("sweatfile"));
        let wt = app.worktree(name);
        wt.apply(&[]).succeeds().any_err();
        app.approved(after);
        wt
    };
    sweep(prepare, &[], |wt, when| {
        let a = wt.read(".a");
        assert!(a == "area" || a == "repo", "{a} {when}");
        let env = wt.read(".sweatshop-env");
        assert!(env == "A=1\nGONE=1\n" || env == "A=2\nNEW=1\n", "{env} {when}");
        if when.contains("fsync") {
            // Whichever it is, it is ours to take back.
            wt.apply(&["remove"]).succeeds();
            assert!(!wt.has(".a") && !wt.has(".d"), "{when}");
        }
        wt.apply(&[]).succeeds().any_err();
        assert_eq!((wt.read(".a"), wt.has(".d")), ("repo".into(), false), "{when}");
        assert_eq!(wt.read(".sweatshop-env"), "A=2\nNEW=1\n", "{when}");
        wt.apply(&["check"]).exit(0);
        // A value written by a killed run is not taken for an edit by hand.
        app.approved(&after.replace("A = \"2\"", "A = \"3\""));
        wt.apply(&[]).succeeds();
        assert_eq!(wt.read(".sweatshop-env"), "A=3\nNEW=1\n", "{when}");
        wt.apply(&["remove"]).succeeds();
        assert!(!wt.has(".a") && !wt.has(".sweatshop-env"), "{when}");
        app.git(&["worktree", "remove", "--force", wt.path.to_str().unwrap()]);
    });
}

#[test]
fn killed_while_removing_the_next_run_finishes() {
    let w = World::new();
    let app = w.app();
    w.area(&AREA.replace("setup", "# setup"));
    write(&w.home("eng/original"), "original\n");
    let prepare = |name: &str| {
        let wt = app.worktree(name);
        wt.apply(&[]).succeeds();
        wt
    };
    sweep(prepare, &["remove"], |wt, when| {
        assert_old_or_new(wt, when);
        wt.apply(&["remove"]).succeeds();
        assert_eq!(std::fs::read_dir(&wt.path).unwrap().count(), 1, "{when}");
        assert_eq!(wt.excludes(), Vec::<String>::new(), "{when}");
        app.git(&["worktree", "remove", "--force", wt.path.to_str().unwrap()]);
    });
}

#[test]
fn killed_while_promoting_nothing_is_lost() {
    let w = World::new();
    let (old, new) = ("# ours\n[env]\nA = \"1\" # why\n", "# ours\n[env]\nA = \"1\" # why\nMINE = \"2\"\n");
    let prepare = |name: &str| {
        let app = w.repo(&format!("eng/repos/{name}"));
        app.approved(old);
        app.apply(&[]).succeeds();
        app.apply(&["env", "snapshot"]).succeeds();
        app.sh("echo MINE=2 >> .sweatshop-env; echo DROP=1 >> .sweatshop-env").exit(0);
        app
    };
    sweep(prepare, &["env", "review", "--promote", "MINE", "--discard", "DROP"], |app, when| {
        let now = app.read("sweatfile");
        assert!(now == old || now == new, "{now} {when}");
        assert!(app.git(&["status", "--porcelain", "-uall"]).lines().all(|l| l == "?? sweatfile"), "{when}");
        // Changes that are still open are asked about again.
        for line in app.apply(&["env", "diff", "--json"]).any_status().any_out().any_err().stdout.lines() {
            let flag = if line.contains("MINE") { ["--promote", "MINE"] } else { ["--discard", "DROP"] };
            app.apply(&[&["env", "review"], &flag[..]].concat()).any_status().any_out().any_err();
        }
        assert_eq!((app.read("sweatfile"), app.read(".sweatshop-env")), (new.into(), "A=1\nMINE=2\n".into()), "{when}");
        app.apply(&[]).exit(0);
    });
}

/// Kills a sync with a conflict: both workspaces edited one key differently and other keys alone, one file is new and one
/// was deleted. After any kill every file is a whole old or new one, and the next sync ends as an uninterrupted one could
/// have ended, with the losing text in the store.
#[test]
fn killed_while_syncing_nothing_is_lost_and_the_next_sync_finishes() {
    let w = World::new();
    let (base, a, b) =
        ("{\"k\": 0, \"a\": 0, \"b\": 0}", "{\"k\": 1, \"a\": 1, \"b\": 0}", "{\"k\": 2, \"a\": 0, \"b\": 1}");
    let after_a = a;
    let results = ["{\"k\": 2, \"a\": 1, \"b\": 1}", "{\"k\": 1, \"a\": 1, \"b\": 1}"];
    let prepare = |name: &str| {
        let app = w.repo(&format!("eng/repos/{name}"));
        app.commit(".gitignore", ".env*\n*.json\n");
        for (file, text) in [("s.json", base), (".env", "A=1\n"), (".env.gone", "G=1\n")] {
            write(&w.home(&format!(".local/share/shopfloor/overlays/{name}/{file}")), text);
        }
        let (one, two) = (app.worktree(&format!("{name}-a")), app.worktree(&format!("{name}-b")));
        app.overlay(&["attach", one.path.to_str().unwrap(), two.path.to_str().unwrap()]).succeeds();
        one.write("s.json", a);
        two.write("s.json", b);
        two.write(".env", "A=1\nNEW=1\n");
        one.sh("rm .env.gone").exit(0);
        app
    };
    sweep_tool("overlay-sync", prepare, &["sync"], |app, when| {
        let name = app.path.file_name().unwrap().to_str().unwrap();
        let overlay = w.at(w.home(&format!(".local/share/shopfloor/overlays/{name}")));
        let (one, two) = (w.at(format!("{}-a", app.path.display())), w.at(format!("{}-b", app.path.display())));
        for repo in [&overlay, &one, &two] {
            let text = repo.read("s.json");
            let whole = [base, a, b, after_a].contains(&text.as_str()) || results.contains(&text.as_str());
            assert!(whole, "{text} {when}");
        }
        app.overlay(&["sync"]).any_status().any_out().any_err();
        app.overlay(&["sync"]).any_status().any_out().any_err();
        assert_eq!(app.overlay(&["sync"]).exit(0).stdout, "", "a third writes nothing, {when}");
        let text = overlay.read("s.json");
        assert!(results.contains(&text.as_str()), "{text} {when}");
        assert_eq!([one.read("s.json"), two.read("s.json")], [text.clone(), text.clone()], "{when}");
        assert_eq!([one.read(".env"), overlay.read(".env")], ["A=1\nNEW=1\n", "A=1\nNEW=1\n"], "{when}");
        assert!(!one.has(".env.gone") && two.has(".env.gone"), "{when}");
        // Both edits can be restored in any case.
        let kept = app.sh(&format!("cat {}/.overlay-sync/objects/*", overlay.path.display())).exit(0).stdout;
        assert!(kept.contains(a) && kept.contains(b), "{when}");
        assert_no_leftovers(app, when);
        for path in [&one.path, &two.path, &app.path, &overlay.path] {
            std::fs::remove_dir_all(path).unwrap();
        }
    });
}

#[test]
fn killed_while_approving_and_installing_the_old_or_the_new_is_there() {
    let w = World::new();
    let foreign = "#!/bin/sh\necho foreign\n";
    let prepare = |name: &str| {
        let app = w.repo(&format!("eng/repos/{name}"));
        app.write("sweatfile", "[env]\nA = \"1\"\n");
        app.write(".git/hooks/post-checkout", foreign);
        app.sh("chmod +x .git/hooks/post-checkout").exit(0);
        app
    };
    sweep(prepare, &["approve", "--yes"], |app, when| {
        let status = app.apply(&["approvals"]).exit(0).stdout;
        assert!(status.starts_with("required") || status.starts_with("approved"), "{when}");
        app.apply(&["approve", "--yes"]).succeeds();
        app.apply(&[]).succeeds();
        std::fs::remove_dir_all(&app.path).unwrap();
    });
    sweep(prepare, &["hook", "install"], |app, when| {
        // The foreign hook runs at every moment, on its own or chained.
        app.run("git", &["checkout", "-q", "-b", "x"]).exit(0).err_has("foreign");
        app.apply(&["hook", "install"]).succeeds();
        app.run("git", &["checkout", "-q", "-b", "y"]).exit(0).err_has("foreign");
        app.apply(&["hook", "uninstall"]).succeeds();
        assert_eq!(app.read(".git/hooks/post-checkout"), foreign, "{when}");
        std::fs::remove_dir_all(&app.path).unwrap();
    });
    sweep(
        |name| {
            let app = prepare(name);
            app.apply(&["hook", "install"]).succeeds();
            app
        },
        &["hook", "uninstall"],
        |app, when| {
            app.run("git", &["checkout", "-q", "-b", "x"]).exit(0).err_has("foreign");
            app.apply(&["hook", "uninstall"]).succeeds();
            assert_eq!(app.read(".git/hooks/post-checkout"), foreign, "{when}");
            std::fs::remove_dir_all(&app.path).unwrap();
        },
    );
}

#[test]
fn a_signal_ends_the_setup_command_and_everything_it_started() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"echo $$ > pid; sleep 600 & echo $! > child; wait\", \"touch never\"]\n");
    // A shell lets what it starts in the background ignore SIGINT.
    for (signal, number) in [("TERM", 15), ("INT", 2)] {
        app.sh("rm -f child").exit(0);
        let mut command = w.command(w.path("bin/sweatfile-apply"));
        command.current_dir(&app.path).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().unwrap();
        wait_for(|| app.has("child") && !app.read("child").is_empty());
        app.sh(&format!("kill -{signal} {}", child.id())).exit(0);
        assert_eq!(child.wait().unwrap().code(), Some(128 + number));
        wait_for(|| app.sh("kill -0 $(cat child) 2>/dev/null").status != Some(0));
    }
    assert!(!app.has("never"));
    app.apply(&["check"]).exit(1).out_has("setup never finished");
}

#[test]
fn a_worktree_on_another_device_is_set_up_and_temporaries_are_excluded() {
    let w = World::new();
    let Some(far) = w.other_disk() else { return };
    let app = w.app();
    w.area(AREA);
    write(&w.home("eng/original"), "original\n");
    let path = far.path().join("wt");
    app.git(&["worktree", "add", "-q", path.to_str().unwrap()]);
    let wt = w.at(&path);
    wt.write(".d/.shopfloor-tmp-left", "by a killed run");
    wt.write(".shopfloor-tmp-left", "A=secret");
    wt.apply(&[]).succeeds();
    assert!(wt.excludes().contains(&".shopfloor-tmp-*".to_owned()));
    assert_eq!((wt.read(".a"), wt.read(".d/copy")), ("whole\n".into(), "original\n".into()));
    assert!(!wt.has(".d/.shopfloor-tmp-left") && !wt.has(".shopfloor-tmp-left"));
    wt.apply(&["check"]).exit(0);
    wt.apply(&["remove"]).succeeds();
    assert!(!wt.has(".a") && !wt.has(".d/copy"));
}

#[test]
fn a_full_disk_leaves_nothing_half_written() {
    let w = World::new();
    let disk = w.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let here = w.at(w.path(""));
    if !needs_mount(&here, "mount -t tmpfs -o size=2m tmpfs disk") {
        return;
    }
    let app = w.at(disk.join("app"));
    here.sh("git init -q disk/app && git -C disk/app commit -q --allow-empty -m x").exit(0);
    let area = w.path("area");
    write(
        &area.join("sweatfile"),
        &format!(
            "[files.big]\ncontent = \"{}\"\n[files.small]\ncontent = \"s\"\n[env]\nA = \"1\"\n",
            "x".repeat(300_000)
        ),
    );
    let args = ["--area", area.to_str().unwrap()];
    let room = "$(($(df --output=avail -k .. | tail -n 1) - 200))";
    let fill = app.sh(&format!("dd if=/dev/zero of=../fill bs=1k count={room} 2>/dev/null")).any_status().status;
    let out = app.apply(&args);
    let big_whole = !app.has(".big") || app.read(".big").len() == 300_000;
    app.sh("rm ../fill").exit(0);
    let again = app.apply(&args);
    let whole = app.has(".big") && app.read(".big").len() == 300_000;
    here.sh("umount disk").exit(0);
    assert_eq!(fill, Some(0));
    let out = out.exit(4).any_out();
    out.err_has("No space left on device");
    assert!(big_whole);
    again.succeeds().any_err();
    assert!(whole);
}

#[test]
fn an_overlay_on_a_full_disk_keeps_its_files_and_a_later_sync_succeeds() {
    let w = World::new();
    let s = crate::support::overlay::scene(&w);
    let here = w.at(w.path(""));
    std::fs::create_dir(w.path("disk")).unwrap();
    if !needs_mount(&here, "mount -t tmpfs -o size=2m tmpfs disk") {
        return;
    }
    let overlay = w.path("disk/overlay");
    write(&overlay.join(".env"), "A=1\n");
    let o = ["--overlay", overlay.to_str().unwrap()];
    let attached = s.app.overlay(&[&["attach", "../a", "../b"], o.as_slice()].concat());
    let large = format!("A=1\nB={}\n", "x".repeat(100_000));
    s.a.write(".env", &large);
    s.b.write(".env", "A=1\nC=1\n");
    let fill = here.sh("dd if=/dev/zero of=disk/fill bs=1k 2>/dev/null; true").any_status().status;
    let full = s.app.overlay(&[&["sync"], o.as_slice()].concat());
    let meanwhile = std::fs::read_to_string(overlay.join(".env")).unwrap();
    let edits = (s.a.read(".env"), s.b.read(".env"));
    std::fs::remove_file(w.path("disk/fill")).unwrap();
    let again = s.app.overlay(&[&["sync"], o.as_slice()].concat());
    let after = std::fs::read_to_string(overlay.join(".env")).unwrap();
    let left = here.sh("find disk -name '.shopfloor-tmp-*'").exit(0).stdout;
    here.sh("umount disk").exit(0);
    attached.succeeds();
    assert_eq!(fill, Some(0));
    full.exit(4).err_has("No space left on device");
    assert_eq!((meanwhile.as_str(), edits), ("A=1\n", (large.clone(), "A=1\nC=1\n".into())));
    again.succeeds();
    assert_eq!((after, left.as_str()), (format!("{large}C=1\n"), ""));
    assert_eq!(s.a.read(".env"), s.b.read(".env"));
}

#[test]
fn a_workspace_on_another_device_is_synced_and_temporaries_are_excluded() {
    let w = World::new();
    let s = crate::support::overlay::scene(&w);
    s.put(".claude/x", "1\n");
    if !needs_mount(&s.app, "mount --bind ../b ../b") {
        return;
    }
    let attached = w.at(&s.b.path).overlay(&["attach"]);
    write(&s.b.path.join(".claude/.shopfloor-tmp-left"), "secret");
    let status = w.at(&s.b.path).sh("git status --short");
    s.put(".claude/x", "2\n");
    let synced = s.app.overlay(&["sync"]);
    let text = s.b.read(".claude/x");
    let is_left = s.b.has(".claude/.shopfloor-tmp-left");
    s.app.sh("umount ../b").exit(0);
    attached.succeeds();
    assert_eq!(status.exit(0).stdout, "");
    synced.succeeds();
    assert_eq!((text.as_str(), is_left), ("2\n", false));
    assert!(s.app.excludes().iter().any(|line| line == ".shopfloor-tmp-*"), "{:?}", s.app.excludes());
}

#[test]
fn a_large_file_shares_its_blocks_with_the_overlays_where_the_file_system_can() {
    let w = World::new();
    let app = w.app();
    if !needs("mkfs.btrfs") {
        return;
    }
    let [mkfs, btrfs] = ["mkfs.btrfs", "btrfs"].map(|name| which(name).display().to_string());
    app.sh(&format!("truncate -s 200M ../image && {mkfs} -q ../image && mkdir ../disk")).succeeds();
    if !needs_mount(&app, "mount -o loop ../image ../disk") {
        return;
    }
    let here = w.at(app.path.parent().unwrap().join("disk"));
    let run = |line: &str| here.sh(line);
    let made = run(
        "git init -q -b main app && cd app && echo big > .gitignore && git add . && git commit -qm one && git worktree add -q ../a",
    );
    let overlay = here.path.join("overlay");
    std::fs::create_dir_all(&overlay).unwrap();
    std::fs::write(overlay.join("big"), [b"0123456789abcdef\n".repeat(20_000), b"end\n".to_vec()].concat()).unwrap();
    let attached = w.at(here.path.join("a")).overlay(&["attach", "--overlay", overlay.to_str().unwrap()]);
    let shared = run(&format!("sync -f .; cmp overlay/big a/big && {btrfs} filesystem du --raw -s a"));
    let edited = w.at(here.path.join("a")).sh("echo more >> big; cd ../overlay && tail -n 1 big");
    app.sh("umount ../disk").exit(0);
    made.exit(0).any_out();
    attached.succeeds();
    // In all, exclusive, shared.
    let shared = shared.succeeds();
    let numbers: Vec<u64> = shared.stdout.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert!(numbers[0] > 340_000 && numbers[1] == 0, "{shared}");
    assert_eq!(edited.exit(0).stdout, "end\n");
}

#[test]
fn an_overlay_whose_state_is_on_another_device_syncs_no_temporaries_and_what_came_late() {
    let w = World::new();
    let s = crate::support::overlay::scene(&w);
    s.put("x.jsonl", "1\n");
    s.attach();
    let state = s.overlay(".overlay-sync");
    let state = state.to_str().unwrap();
    if !needs_mount(&s.app, &format!("mount --bind {state} {state}")) {
        return;
    }
    let mut open = std::fs::OpenOptions::new().append(true).open(s.overlay("x.jsonl")).unwrap();
    let synced = ["2", "3"].map(|line| {
        s.a.sh(&format!("echo {line} >> x.jsonl")).exit(0);
        s.app.overlay(&["sync"])
    });
    std::io::Write::write_all(&mut open, b"4\n").unwrap();
    crate::support::overlay::close(open);
    // What a killed run left.
    write(&s.overlay(".shopfloor-tmp--1-2"), "secret");
    let last = s.app.overlay(&["sync"]);
    // A file that is gone when the late text comes.
    s.put("sub/y.jsonl", "1\n");
    let gone = s.app.overlay(&["sync"]);
    let open = std::fs::OpenOptions::new().append(true).open(s.overlay("sub/y.jsonl"));
    s.a.sh("echo 2 >> sub/y.jsonl").exit(0);
    let replaced = s.app.overlay(&["sync"]);
    std::io::Write::write_all(&mut open.unwrap(), b"late\n").unwrap();
    std::fs::remove_file(s.overlay("sub/y.jsonl")).unwrap();
    let waiting = s.app.overlay(&["sync"]);
    let later = s.app.run_with("overlay-sync", &["sync"], &[("SHOPFLOOR_NOW", "2099-01-01T00:00:00Z")]);
    let conflicts = s.app.overlay(&["conflicts"]);
    let left = s.app.sh(&format!("find {} ../a ../b -name '*shopfloor-tmp*'", s.overlay("").display()));
    s.app.sh(&format!("umount {state}")).exit(0);
    // No warning names a temporary file.
    synced.into_iter().for_each(|out| drop(out.succeeds()));
    last.succeeds();
    [gone, replaced, waiting].into_iter().for_each(|out| drop(out.succeeds()));
    later.any_status().any_out().any_err();
    assert!(conflicts.exit(0).out_has("sub/y.jsonl").stdout.contains("recorded"));
    assert_eq!((left.exit(0).stdout.as_str(), s.b.read("x.jsonl").as_str()), ("", "1\n2\n3\n4\n"));
}

#[test]
fn a_bind_mount_below_the_worktree_is_another_device() {
    let w = World::new();
    let app = w.app();
    w.area("[files.\"d/x\"]\ncontent = \"x\"\n[env]\nA = \"1\"\n");
    let wt = app.worktree("wt");
    if !needs_mount(&app, "mount --bind ../wt ../wt") {
        return;
    }
    let out = w.at(&wt.path).apply(&[]);
    app.sh("umount ../wt").exit(0);
    out.succeeds().any_err();
    assert_eq!((wt.read(".d/x"), wt.read(".sweatshop-env")), ("x".into(), "A=1\n".into()));
}
