//! overlay-sync: an overlay of another machine is a workspace, over a real sshd.

use std::process::Stdio;

use crate::support::host::{Machine, hire, hub, needs_sshd, work};
use crate::support::overlay::{SETTINGS, Scene, allow, configure, id, scene};
use crate::support::world::{Repo, World, mode, text, wait_for};

const CLAUDE: &str = ".claude/settings.local.json";

/// The repository and a worktree of it on a machine.
fn there<'w>(s: &Scene<'w>, machine: &Machine<'w>) -> (Repo<'w>, Repo<'w>) {
    let line = format!("git clone -q '{}' app && git -C app worktree add -q -b x ../x", s.app.path.display());
    say(machine, &line);
    (s.w.at(machine.home.path.join("app")), s.w.at(machine.home.path.join("x")))
}

/// What a person calls the repository there.
fn place(machine: &Machine<'_>) -> String {
    format!("{}:{}/app", machine.name(), machine.home.path.display())
}

/// Runs a line there.
#[track_caller]
fn say(machine: &Machine<'_>, line: &str) -> String {
    let line = format!("cd '{}' && PATH=$PATH:~/.local/bin; {line}", machine.home.path.display());
    machine.home.run("ssh", &[machine.name(), &line]).exit(0).any_err().stdout.clone()
}

#[test]
fn files_reach_other_machines_and_come_back_merged() {
    let w = World::new();
    if !needs_sshd() {
        return;
    }
    let (s, big, small) = (scene(&w), Machine::new(&w, "big"), Machine::new(&w, "small"));
    let ((_, big_x), (small_app, _)) = (there(&s, &big), there(&s, &small));
    s.put(".env", "TOKEN=1\n");
    s.w.at(s.overlay("")).sh("chmod 600 .env").exit(0);
    s.put(CLAUDE, &allow("\"ls\""));
    s.attach();
    s.app.overlay(&["attach", "--ssh", &place(&big), "--yes"]).exit(0).any_out().any_err();
    s.app.overlay(&["attach", "--ssh", &place(&small)]).exit(0).any_out().err_has("stay here");
    // Private ones go where the person has agreed to that, with their modes.
    assert_eq!((big_x.read(".env"), mode(&big_x.path.join(".env"))), ("TOKEN=1\n".into(), 0o600));
    assert!(!small_app.has(".env") && small_app.has(CLAUDE));
    // Three machines change one file, and all get all of it.
    big_x.write(CLAUDE, &allow("\"ls\", \"big\""));
    small_app.write(CLAUDE, &allow("\"ls\", \"small\""));
    s.b.write(CLAUDE, &allow("\"ls\", \"here\""));
    s.app.overlay(&["sync"]).exit(0).any_out().any_err();
    for at in [&s.a, &s.b, &big_x, &small_app] {
        let all = at.read(CLAUDE);
        assert!(["ls", "big", "small", "here"].iter().all(|word| all.contains(word)), "{}: {all}", at.path.display());
    }
    // A worktree that is made there later has them from its beginning.
    say(&big, "git -C app worktree add -q -b y ../y");
    assert_eq!(w.at(big.home.path.join("y")).read(".env"), "TOKEN=1\n");
    // A second sync has nothing to do, and the same command attaches nothing twice.
    s.app.overlay(&["sync", "-v"]).exit(0).err_has("nothing to do");
    s.app.overlay(&["attach", "--ssh", &place(&big)]).exit(0).any_out();
    assert_eq!(s.app.overlay(&["status", "--json"]).exit(0).any_err().json_lines().len(), 2 * 3 + 1);
    s.app.overlay(&["check"]).exit(0).any_err();
    s.app.overlay(&["doctor"]).exit(0).any_err().out_has(&place(&big));
    // What another machine has not got yet is known here, and one can be named.
    s.put(CLAUDE, &allow("\"ls\", \"big\", \"small\", \"here\", \"more\""));
    s.app.overlay(&["check"]).exit(1).any_err().out_has("pulled").out_has(&place(&big));
    s.app.overlay(&["sync", &place(&big)]).exit(0).any_out().any_err();
    assert!(big_x.read(CLAUDE).contains("more") && !small_app.read(CLAUDE).contains("more"));
    s.app.overlay(&["sync"]).exit(0).any_out().any_err();
    // A preview asks nobody.
    s.app.overlay(&["-n", "drop", CLAUDE, "permissions.allow.more"]).exit(0).any_out().any_err();
    // Up to 4 MB travel, and what is larger stops nothing.
    s.put("two.jsonl", &format!("{{\"a\": \"{}\"}}\n", "x".repeat(2 << 20)));
    s.put("five.jsonl", &format!("{{\"a\": \"{}\"}}\n", "x".repeat(5 << 20)));
    // What only its owner can read is private, whatever its name.
    s.put(".data/token", "1\n");
    s.w.at(s.overlay("")).sh("chmod 644 *.jsonl; chmod 600 .data/token").exit(0);
    s.app.overlay(&["sync"]).exit(0).any_out().err_has("five.jsonl stays untouched");
    assert!(big_x.has("two.jsonl") && small_app.has("two.jsonl") && !big_x.has("five.jsonl"));
    assert!(big_x.has(".data/token") && !small_app.has(".data/token"));
    // Once it is detached, it is left alone.
    s.app.overlay(&["detach", &place(&big)]).exit(0).any_out().any_err();
    s.a.write(".env", "TOKEN=2\n");
    s.app.overlay(&["sync"]).exit(0).any_out().any_err();
    assert_eq!((s.b.read(".env"), big_x.read(".env")), ("TOKEN=2\n".into(), "TOKEN=1\n".into()));
}

#[test]
fn the_workers_of_a_host_have_what_git_ignores() {
    let w = World::new();
    if !needs_sshd() {
        return;
    }
    let (floor, machines) = hub(&w, &["big"]);
    floor.app.commit(".gitignore", ".env\n");
    floor.app.write(".env", "TOKEN=1\n");
    floor.app.overlay(&["add", ".env"]).exit(0).any_out().any_err();
    floor.app.overlay(&["attach"]).exit(0).any_out().any_err();
    let root = machines[0].root();
    hire(&floor, "big:adam");
    let place = format!("big:{}", root.path.display());
    floor.app.overlay(&["attach", "--ssh", &place, "--yes"]).exit(0).any_out().any_err();
    hire(&floor, "big:eve");
    let of = |name: &str| root.read(&format!(".worktrees/{name}/.env"));
    assert_eq!((of("adam"), of("eve")), ("TOKEN=1\n".into(), "TOKEN=1\n".into()));
    // What an agent there writes comes here by a watch, as what is written here goes there.
    let mut watch = w.command(w.path("bin/overlay-sync"));
    watch.args(["--debounce-ms", "50", "watch"]).current_dir(&floor.app.path);
    let mut watch = watch.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    work(&floor, "big:adam", "RUN echo PORT=7 >> .env\nCOMMIT a.txt one Add a");
    wait_for(|| floor.app.read(".env") == "TOKEN=1\nPORT=7\n");
    floor.app.write(".env", "TOKEN=2\nPORT=7\n");
    wait_for(|| of("eve") == "TOKEN=2\nPORT=7\n");
    let _ = watch.kill();
    let _ = watch.wait();
    floor.ctl(&["accept", "big:adam"]).exit(0).any_out().any_err();
}

#[test]
fn what_starts_programs_waits_for_a_person_on_its_way_from_a_machine() {
    let w = World::new();
    if !needs_sshd() {
        return;
    }
    // Even where nothing waits here.
    configure(&w, "[overlay-sync]\nreview = []\n");
    let (s, mut big) = (scene(&w), Machine::new(&w, "big"));
    // A repository can keep a file here, unapproved too, and sends none away.
    let tables = "[overlay-sync.path.\"secret.jsonl\"]\nremote = false\n[overlay-sync.path.\".env\"]\nremote = true\n";
    s.app.commit(".shopfloor/config.toml", tables);
    s.put(".env", "TOKEN=1\n");
    let (_, x) = there(&s, &big);
    s.put(CLAUDE, &allow("\"ls\""));
    s.put("secret.jsonl", "{}\n");
    s.attach();
    s.app.overlay(&["attach", "--ssh", &place(&big)]).exit(0).any_out().any_err();
    assert!(x.has(CLAUDE) && !x.has("secret.jsonl") && !x.has(".env"));
    let hooked = "{\"permissions\": {\"allow\": [\"ls\", \"cat\"]}, \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"evil\"}]}]}}\n";
    x.write(CLAUDE, hooked);
    // The gate of that machine lets it pass there, since its person has said so.
    say(&big, "mkdir -p .config/shopfloor && printf '[overlay-sync]\\nreview = []\\n' > .config/shopfloor/config.toml");
    s.app.overlay(&["sync"]).exit(1).any_out().err_has("is held");
    assert!(s.a.read(CLAUDE).contains("cat") && !s.a.read(CLAUDE).contains("evil"));
    let waits = s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines();
    assert_eq!(text(waits.last().unwrap(), "/workspace"), place(&big));
    let foreseen = s.app.overlay(&["detach", "-n", &place(&big)]).any_status();
    foreseen.err_has("stays attached if its machine answers");
    assert!(!foreseen.stdout.contains("would detach"), "{foreseen}");
    s.app.overlay(&["detach", &place(&big)]).exit(1).any_out().err_has("stays attached");
    s.app.overlay(&["accept", id(waits.last().unwrap())]).exit(0).any_out().any_err();
    assert!(s.a.read(CLAUDE).contains("evil") && x.read(CLAUDE).contains("evil"));
    // One that does not answer is detached.
    x.write(CLAUDE, &hooked.replace("evil", "worse"));
    s.app.overlay(&["sync"]).exit(1).any_out().err_has("is held");
    big.vanish();
    s.app.overlay(&["detach", "-n", &place(&big)]).any_status().any_out().err_has("and is detached otherwise");
    s.app.overlay(&["detach", &place(&big)]).any_status().any_err().out_has("detached");
    big.come_back();
}

#[test]
fn a_machine_that_is_away_or_lies_stops_nobody() {
    let w = World::new();
    if !needs_sshd() {
        return;
    }
    let (s, mut big) = (scene(&w), Machine::new(&w, "big"));
    let (app, x) = there(&s, &big);
    s.put(SETTINGS, "{\"a\": 1}\n");
    for bad in ["big", ":app", "big:", "-oProxyCommand=x:app"] {
        s.app.overlay(&["attach", &format!("--ssh={bad}")]).exit(2).any_err();
    }
    s.app.overlay(&["attach", "--ssh", "nobody:app"]).exit(4).any_err();
    s.app.overlay(&["attach", "--ssh", "big:nothing"]).exit(4).err_has("nothing");
    assert_eq!(s.app.overlay(&["status", "--json"]).exit(0).any_err().stdout, "");
    s.attach();
    // An attach that was cut off after it had made the overlay there is made good by the next one.
    say(&big, "mkdir -p .local/share/shopfloor/overlays/app");
    s.app.overlay(&["attach", "--ssh", &place(&big)]).exit(0).any_out().any_err();
    assert_eq!(x.read(SETTINGS), "{\"a\": 1}\n");
    big.vanish();
    s.a.write(SETTINGS, "{\"a\": 2}\n");
    s.app.overlay(&["sync"]).exit(1).any_out().err_has("no answer from");
    assert_eq!(s.b.read(SETTINGS), "{\"a\": 2}\n");
    big.come_back();
    s.app.overlay(&["sync"]).exit(0).any_out().any_err();
    assert_eq!(x.read(SETTINGS), "{\"a\": 2}\n");
    // So it is where the line is cut within a pass.
    let real = big.home.path.join(".local/bin/overlay-sync");
    big.program(
        "overlay-sync",
        &format!(
            "said=$(cat); case $said in *replace*) exit 255;; esac; printf '%s' \"$said\" | '{}' \"$@\"",
            real.display()
        ),
    );
    s.a.write(SETTINGS, "{\"a\": 3}\n");
    s.app.overlay(&["sync"]).exit(1).any_out().err_has("no answer from");
    std::fs::remove_file(big.home.path.join("bin/overlay-sync")).unwrap();
    s.app.overlay(&["sync"]).exit(0).any_out().any_err();
    assert_eq!(x.read(SETTINGS), "{\"a\": 3}\n");
    // It says anything.
    let before = s.text(SETTINGS);
    let hello = r#"{"serve":1,"done":true}"#;
    let zeros = "0".repeat(64);
    let listed = |path: &str, size: u64| {
        format!(r#"{{"done":true,"files":[{{"path":"{path}","sha256":"{zeros}","mode":511,"size":{size}}}]}}"#)
    };
    let lies = [
        ("echo '{\"serve\":7}'; cat > /dev/null".to_owned(), "is of another version"),
        ("echo hello; cat > /dev/null".to_owned(), "is of another version"),
        (format!("echo '{hello}'"), "was cut"),
        ("cat > /dev/null; exit 3".to_owned(), "ended with 3"),
        (format!("echo '{hello}'; echo '{}'; cat > /dev/null", listed("../../outside", 1)), "no name for us"),
        (
            format!("echo '{hello}'; echo '{}'; cat > /dev/null", listed(".git/hooks/post-checkout", 1)),
            "no name for us",
        ),
        (format!("echo '{hello}'; echo '{}'; cat > /dev/null", listed("a\\u001b[2Jb", 1)), "no name for us"),
        (format!("echo '{hello}'; echo '{}'; cat > /dev/null", listed(SETTINGS, 10 << 30)), "does not travel"),
        (format!("echo '{hello}'; cat /dev/zero"), "more than 16 MB"),
    ];
    for (body, said) in lies {
        big.program("overlay-sync", &body);
        let status = if said == "does not travel" { 0 } else { 1 };
        s.app.overlay(&["sync"]).exit(status).any_out().err_has(said);
        assert_eq!(
            (s.text(SETTINGS), s.a.read(SETTINGS), s.b.read(SETTINGS)),
            (before.clone(), before.clone(), before.clone()),
            "{body}"
        );
    }
    assert!(!s.app.has("outside") && !s.a.has(".git/hooks"));
    std::fs::remove_file(big.home.path.join("bin/overlay-sync")).unwrap();
    // A link there is no file, and is not followed.
    app.write("outside", "a stranger's secret\n");
    let overlay = ".local/share/shopfloor/overlays/app/.data/shared.json";
    say(&big, &format!("ln -sf ~/app/outside {overlay}"));
    s.app.overlay(&["sync"]).any_status().any_out().any_err();
    assert_eq!((s.text(SETTINGS), s.a.read(SETTINGS)), (before.clone(), before));
}

#[test]
fn a_machine_made_anew_is_filled_again_and_replaces_nothing_of_this_one() {
    let w = World::new();
    if !needs_sshd() {
        return;
    }
    configure(&w, "[overlay-sync]\npaths = [\"*\"]\n");
    let (s, big) = (scene(&w), Machine::new(&w, "big"));
    let (_, x) = there(&s, &big);
    s.put(SETTINGS, "{\"a\": 1}\n");
    s.put(CLAUDE, &allow("\"ls\""));
    s.attach();
    s.app.overlay(&["attach", "--ssh", &place(&big)]).exit(0).any_out().any_err();
    // A file that is too large for the overlay is here, and a small one of its name there; and others that nobody has here.
    let large = format!("{{\"a\": \"{}\"}}\n", "x".repeat(2 << 20));
    s.a.write("data.jsonl", &large);
    let overlay = "cd .local/share/shopfloor/overlays/app";
    say(
        &big,
        &format!(
            "{overlay} && echo '{{}}' > data.jsonl && echo x > .gitignore && echo x > shown.txt && echo 7 > .data/new"
        ),
    );
    s.app.overlay(&["sync"]).exit(0).any_out().any_err();
    assert_eq!(s.a.read("data.jsonl"), large);
    assert!(!s.overlay("data.jsonl").exists() && !s.overlay(".gitignore").exists() && !s.overlay("shown.txt").exists());
    assert_eq!(s.b.read(".data/new"), "7\n");
    // Everything there is gone: nobody takes that for a decision about each file, and a person has it filled.
    say(&big, &format!("({overlay} && rm -r .data .claude) && rm -r x/.data x/.claude"));
    s.app.overlay(&["sync"]).exit(1).any_out().err_has("sync --restore");
    assert_eq!(s.a.read(SETTINGS), "{\"a\": 1}\n");
    s.app.overlay(&["sync", "--restore", &place(&big)]).exit(0).any_out().any_err();
    s.app.overlay(&["sync"]).exit(0).any_out().any_err();
    say(&big, &format!("{overlay} && test -e {SETTINGS} && test -e {CLAUDE}"));
    assert!(x.path.is_dir());
    // What is held there is let through there, and not here.
    let hook = "{\"hooks\": [{\"type\": \"command\", \"command\": \"evil\"}]}";
    x.write(CLAUDE, &format!("{{\"hooks\": {{\"Stop\": [{hook}]}}, \"permissions\": {{\"allow\": [\"ls\"]}}}}\n"));
    let held = s.app.overlay(&["sync"]).exit(1).any_out();
    held.err_has(&format!("; that is run on big, in {}/app", big.home.path.display()));
    // It keeps nobody from leaving it.
    x.write(CLAUDE, "{\"hooks\": {\"Stop\": []}, \"permissions\": {\"allow\": [\"ls\"]}}\n");
    s.app.overlay(&["detach", &place(&big)]).any_status().any_err().out_has("detached");
    s.app.overlay(&["sync"]).exit(0).any_out().any_err();
}

#[test]
fn five_writers_on_three_machines_lose_nothing_while_lines_are_cut() {
    let w = World::new();
    if !needs_sshd() {
        return;
    }
    let (s, big, small) = (scene(&w), Machine::new(&w, "big"), Machine::new(&w, "small"));
    let ((big_app, big_x), (small_app, _)) = (there(&s, &big), there(&s, &small));
    s.put("log.jsonl", "");
    s.attach();
    for name in [place(&big), place(&small)] {
        s.app.overlay(&["attach", "--ssh", &name]).exit(0).any_out().any_err();
    }
    let writers = [&s.a, &s.b, &big_app, &big_x, &small_app];
    let script = "i=0; while [ $i -lt 20 ]; do echo \"{\\\"by\\\": \\\"$0\\\", \\\"n\\\": $i}\" >> log.jsonl; i=$((i + 1)); done";
    for round in 0..3 {
        let children: Vec<_> = writers
            .iter()
            .enumerate()
            .map(|(number, at)| {
                let mut command = w.command("sh");
                command.args(["-c", script, &format!("{round}.{number}")]).current_dir(&at.path);
                command.stdout(Stdio::null()).spawn().unwrap()
            })
            .collect();
        let mut sync = w.command(w.path("bin/overlay-sync"));
        let mut sync =
            sync.arg("sync").current_dir(&s.app.path).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Each time at another place of its way.
        wait_for(|| {
            big.signal_sessions("KILL");
            small.signal_sessions("KILL");
            sync.try_wait().unwrap().is_some()
        });
        children.into_iter().for_each(|mut child| assert!(child.wait().unwrap().success()));
    }
    wait_for(|| s.app.overlay(&["sync"]).exits_with(0) && s.app.overlay(&["sync"]).exits_with(0));
    for at in writers {
        let all = at.read("log.jsonl");
        let lines: std::collections::BTreeSet<&str> = all.lines().collect();
        assert_eq!((lines.len(), all.lines().count()), (300, 300), "{}", at.path.display());
    }
}
