//! `watch` and `log --follow`: real edits, real events.

use std::cell::Cell;

use crate::support::overlay::{Scene, Watch, scene};
use crate::support::world::{World, skip, text, wait_for};

/// Case 9 of the design.
#[test]
fn edits_under_watch_arrive_even_while_one_side_never_rests() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "START=1\n");
    s.attach();
    let watch = Watch::start(&s, "100");
    s.a.sh("echo A=1 >> .env").exit(0);
    s.b.sh("echo B=1 >> .env").exit(0);
    let everywhere = |text: &str| [s.text(".env"), s.a.read(".env"), s.b.read(".env")].iter().all(|t| t.contains(text));
    wait_for(|| everywhere("A=1\n") && everywhere("B=1\n"));
    // A file that is written all the time does not have to become quiet.
    s.a.write(".env.n", "N=0\n");
    s.a.overlay(&["add", ".env.n"]).succeeds();
    wait_for(|| s.b.has(".env.n"));
    // Some hundred edits, which take seconds, later the sync that brought the first one has ended.
    let seen = || s.b.read(".env.n").trim_start_matches("N=").trim_end().parse::<u32>().unwrap();
    let n = Cell::new(0_u32);
    wait_for(|| {
        n.set(n.get() + 1);
        s.a.write(".env.tmp", &format!("N={n}\n", n = n.get()));
        std::fs::rename(s.a.path.join(".env.tmp"), s.a.path.join(".env.n")).unwrap();
        seen() > 300
    });
    let last = format!("N={}\n", n.get());
    wait_for(|| s.b.read(".env.n") == last && s.text(".env.n") == last);
    watch.end(&s);
    assert_eq!(s.sync(0).stdout, "");
}

/// Case 10 of the design.
#[test]
fn every_way_of_saving_and_recreated_directories_are_noticed() {
    let w = World::new();
    let s = scene(&w);
    s.put(".data/x", "0\n");
    s.attach();
    let watch = Watch::start(&s, "50");
    let saves = [
        "echo N > .data/t; mv .data/t .data/x",
        ": > .data/x; echo N > .data/x",
        "mv .data/x .data/x~; echo N > .data/x",
        "rm .data/x; echo N > .data/x",
    ];
    for (round, save) in saves.iter().cycle().take(12).enumerate() {
        s.a.sh(&save.replace('N', &round.to_string())).exit(0);
        wait_for(|| s.b.read(".data/x") == format!("{round}\n"));
    }
    s.a.sh("rm -r .data; mkdir .data; echo anew > .data/x").exit(0);
    wait_for(|| s.b.read(".data/x") == "anew\n");
    s.a.sh("echo again > .data/x").exit(0);
    wait_for(|| s.b.read(".data/x") == "again\n");
    s.put(".data/x", "from the overlay\n");
    wait_for(|| s.a.read(".data/x") == "from the overlay\n");
    watch.end(&s);
}

/// Case 12 of the design.
#[test]
fn a_watch_syncs_what_is_pending_when_it_ends_and_refuses_a_second_one() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    let watch = Watch::start(&s, "60000");
    let pid = watch.child.id().to_string();
    s.app.overlay(&["watch"]).exit(75).err_has(&format!("process {pid} watches"));
    s.a.write(".env", "A=2\n");
    watch.end(&s);
    assert_eq!((s.text(".env"), s.b.read(".env")), ("A=2\n".into(), "A=2\n".into()));
    s.app.run_with("overlay-sync", &["watch"], &[("OVERLAY_SYNC_ENABLED", "false")]).succeeds();
    s.app
        .run_with("overlay-sync", &["watch"], &[("OVERLAY_SYNC_DEBOUNCE_MS", "soon")])
        .exit(2)
        .err_has("debounce_ms must be a length of time");
}

#[test]
fn worktrees_that_come_and_go_do_not_end_a_watch() {
    let w = World::new();
    let s = scene(&w);
    s.put(".data/x", "0\n");
    s.attach();
    let watch = Watch::start(&s, "50");
    for round in 1..6 {
        s.app.git(&["worktree", "remove", "--force", "../b"]);
        s.a.write(".data/x", &format!("{round}\n"));
        s.app.git(&["worktree", "add", "-q", "../b", "b"]);
        s.b.overlay(&["attach"]).succeeds();
        wait_for(|| s.b.read(".data/x") == format!("{round}\n"));
        s.b.write(".data/x", &format!("from b {round}\n"));
        wait_for(|| s.a.read(".data/x") == format!("from b {round}\n"));
    }
    watch.end(&s);
}

#[test]
fn directories_that_cannot_be_watched_are_polled_and_status_says_so() {
    let w = World::new();
    let s = scene(&w);
    s.put(".data/x", "0\n");
    s.attach();
    let states = |s: &Scene<'_>| {
        let lines = s.app.overlay(&["status", "--json"]).exit(0).json_lines();
        lines.iter().map(|line| text(line, "/state").to_owned()).collect::<Vec<_>>()
    };
    // A user namespace of its own, in which only a few watches are allowed, or not even a watcher.
    for (saved, limit) in [
        ("1\n", "echo 3 > /proc/sys/user/max_inotify_watches"),
        ("2\n", "echo 0 > /proc/sys/user/max_inotify_instances"),
    ] {
        let line = format!("{limit} && exec overlay-sync watch -q --debounce-ms 50 --max-wait-ms 100");
        let mut command = s.w.command("unshare");
        command.args(["-Ur", "sh", "-c", &line]).current_dir(&s.app.path);
        let log = std::fs::File::create(s.w.path("watch.log")).unwrap();
        let child = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let mut watch = Watch { child };
        let told = || std::fs::read_to_string(s.w.path("watch.log")).unwrap_or_default();
        let ended = Cell::new(false);
        let watch_ended = std::cell::RefCell::new(&mut watch);
        wait_for(|| {
            ended.set(watch_ended.borrow_mut().child.try_wait().unwrap().is_some());
            ended.get() || told().contains("polling every 2 s instead")
        });
        if ended.get() {
            assert!(!told().contains("cannot watch"), "{}", told());
            skip("user namespaces");
            return;
        }
        wait_for(|| states(&s).iter().any(|state| state == "degraded"));
        s.b.write(".data/x", saved);
        wait_for(|| s.a.read(".data/x") == saved);
        watch.end(&s);
        assert!(states(&s).iter().all(|state| state == "clean"), "nobody polls any more");
    }
}

#[test]
fn log_follow_prints_new_records() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    let out = s.w.path("follow.log");
    let mut command = s.w.command(s.w.path("bin/overlay-sync"));
    command.args(["log", "--follow", "--json", "--since", "all"]).current_dir(&s.app.path);
    command.stdout(std::fs::File::create(&out).unwrap()).stderr(std::process::Stdio::null());
    let watch = Watch { child: command.spawn().unwrap() };
    let told = || std::fs::read_to_string(&out).unwrap();
    wait_for(|| told().lines().count() == 2);
    s.a.write(".env", "A=2\n");
    s.sync(0).any_err();
    wait_for(|| told().lines().count() == 4);
    assert!(told().lines().last().unwrap().contains("\"rule\":\"propagate\""), "{}", told());
    watch.end(&s);
    assert_eq!(told(), s.app.overlay(&["log", "--json"]).exit(0).stdout);
}
