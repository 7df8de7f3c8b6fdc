//! Killed at every write, a full disk, signals, other devices: old or new, never in between.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::Stdio;

use crate::world::{Repo, World, find, write};

const AREA: &str = "git_excludes = [\"/.a\", \"/.d/\", \"/log\"]\nsetup = [\"echo ran >> log\"]\n[env]\nA = \"1\"\nB = \"two words\"\n\
                    [files.a]\ncontent = \"whole\\n\"\n[files.\"d/copy\"]\ncopy = \"original\"\n[files.\"d/link\"]\nsource = \"original\"\n";

/// Every file is absent or whole; nothing temporary can be seen by git.
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
    let strace = find("strace").filter(|s| {
        std::process::Command::new(s).args(["-qq", "-o", "/dev/null", "true"]).status().is_ok_and(|s| s.success())
    });
    let w = World::new();
    let app = w.app();
    w.area(AREA);
    write(&w.home("eng/original"), "original\n");
    let calls = ["rename,renameat,renameat2", "fsync", "write", "linkat,symlinkat,mkdirat,unlinkat,unlink,mkdir"];
    let mut kills = 0;
    for call in calls {
        for nth in 1.. {
            let wt = app.worktree(&format!("{}-{nth}", call.split(',').next().unwrap()));
            let killed = match &strace {
                Some(strace) => killed_by_strace(&wt, strace, call, nth),
                // Without strace: killed after a while instead, a little later each time.
                None => nth <= 10 && killed_after(&wt, nth * 300),
            };
            assert_old_or_new(&wt, &format!("after a kill at {call} {nth}"));
            wt.apply(&[]).exit(0);
            assert_old_or_new(&wt, "after the next run");
            wt.apply(&["check"]).exit(0);
            assert_eq!(wt.excludes().len(), 4);
            assert!(wt.read("log").starts_with("ran\n"));
            wt.apply(&["remove"]).exit(0);
            assert!(!wt.has(".a") && !wt.has(".d"), "what was placed before the kill is taken back too");
            app.git(&["worktree", "remove", "--force", wt.path.to_str().unwrap()]);
            if !killed {
                break;
            }
            kills += 1;
        }
    }
    assert!(kills >= 10, "only {kills} kills");
}

fn killed_by_strace(wt: &Repo<'_>, strace: &Path, call: &str, nth: u32) -> bool {
    let mut command = wt.world.command(strace);
    command.args(["-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e"]);
    command.arg(format!("inject={call}:signal=KILL:when={nth}"));
    command.arg(wt.world.path("bin/sweatfile-apply")).current_dir(&wt.path);
    command.output().unwrap().status.signal() == Some(9)
}

fn killed_after(wt: &Repo<'_>, micros: u32) -> bool {
    let mut command = wt.world.command(wt.world.path("bin/sweatfile-apply"));
    let mut child = command.current_dir(&wt.path).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::park_timeout(std::time::Duration::from_micros(micros.into()));
    child.kill().unwrap();
    child.wait().unwrap();
    true
}

#[test]
fn a_signal_ends_the_setup_command_and_everything_it_started() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"echo $$ > pid; sleep 600 & echo $! > child; wait\", \"touch never\"]\n");
    let mut command = w.command(w.path("bin/sweatfile-apply"));
    command.current_dir(&app.path).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().unwrap();
    wait_for(|| app.has("child") && !app.read("child").is_empty());
    app.sh(&format!("kill -TERM {}", child.id())).exit(0);
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
    wait_for(|| app.sh("kill -0 $(cat child) 2>/dev/null").status != Some(0));
    assert!(!app.has("never"));
    app.apply(&["check"]).exit(1).out_has("setup never finished");
}

/// Polls until it holds; a deadline against hanging, not a time limit.
fn wait_for(holds: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !holds() {
        assert!(start.elapsed().as_secs() < 60, "waited for a minute");
        std::thread::yield_now();
    }
}

#[test]
fn a_worktree_on_another_device_is_set_up_and_temporaries_are_excluded() {
    let shm = Path::new("/dev/shm");
    let w = World::new();
    if !shm.is_dir() || device(shm) == device(&w.home("")) {
        return eprintln!("no second file system here");
    }
    let far = tempfile::tempdir_in(shm).unwrap();
    let app = w.app();
    w.area(AREA);
    write(&w.home("eng/original"), "original\n");
    let path = far.path().join("wt");
    app.git(&["worktree", "add", "-q", path.to_str().unwrap()]);
    let wt = w.at(&path);
    wt.write(".d/.shopfloor-tmp-left", "by a killed run");
    wt.apply(&[]).exit(0);
    assert!(wt.excludes().contains(&".shopfloor-tmp-*".to_owned()));
    assert_eq!((wt.read(".a"), wt.read(".d/copy")), ("whole\n".into(), "original\n".into()));
    assert!(!wt.has(".d/.shopfloor-tmp-left"));
    wt.apply(&["check"]).exit(0);
    wt.apply(&["remove"]).exit(0);
    assert!(!wt.has(".a") && !wt.has(".d/copy"));
}

fn device(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::dev(&path.metadata().unwrap())
}

#[test]
fn a_full_disk_changes_nothing_half() {
    let w = World::new();
    let disk = w.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let here = w.at(w.path(""));
    if here.sh("mount -t tmpfs -o size=2m tmpfs disk").status != Some(0) {
        return eprintln!("cannot mount a small tmpfs here");
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
    let fill = app.sh(&format!("dd if=/dev/zero of=../fill bs=1k count={room} 2>/dev/null")).status;
    let out = app.apply(&args);
    let big_whole = !app.has(".big") || app.read(".big").len() == 300_000;
    app.sh("rm ../fill").exit(0);
    let again = app.apply(&args);
    let whole = app.has(".big") && app.read(".big").len() == 300_000;
    here.sh("umount disk").exit(0);
    assert_eq!(fill, Some(0));
    let out = out.exit(4);
    out.err_has("No space left on device");
    assert!(big_whole);
    again.exit(0);
    assert!(whole);
}
