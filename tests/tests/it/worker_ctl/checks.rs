//! worker-ctl: checks of work before a person reviews it, and before it lands.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::floor::Floor;
use crate::support::sandbox::works;
use crate::support::worker::{
    Staying, adopted_floor, by_hand, commit, configure, event, floor, head, hook, program, refused, staff, table, tip,
    tree, work,
};
use crate::support::world::{World, text, wait_for, write};

/// Sets the check of a floor, on which workers' code may have the person's rights. Each run leaves a line in the log.
fn set(floor: &Floor<'_>, w: &World, check: &str, more: &str) {
    let line = format!("echo run >> '{}'; {check}", w.home("runs").display());
    configure(floor, "[repo]\n", &format!("[repo]\ncheck = {line:?}\ncheck_on_host = true\n{more}\n"));
}

fn runs(w: &World) -> usize {
    std::fs::read_to_string(w.home("runs")).unwrap_or_default().lines().count()
}

#[test]
fn up_checks_work_before_a_person_is_needed_and_a_red_check_goes_back_to_the_worker() {
    let w = World::new();
    let floor = floor(&w);
    let last = "for n in $(seq 99); do echo line-$n; done; grep good a.txt";
    set(&floor, &w, last, "");
    let _up = Staying::new(&floor, &["up"]);
    floor.ctl(&["start", "adam", "--task", "COMMIT a.txt bad Write a"]).succeeds();
    let check = || floor.status("adam")["check"].clone();
    wait_for(|| check()["ok"] == false && check()["told"] == true);
    // What was typed is read a little later.
    wait_for(|| floor.prompts().len() == 2);
    let told = floor.prompts().last().unwrap().clone();
    let log = floor.root.path.join("logs/adam.check.log").display().to_string();
    assert!(told.contains("line-99") && told.contains("line-41\n") && !told.contains("line-39\n"), "{told}");
    assert!(told.contains(&log) && floor.root.read("logs/adam.check.log").contains("line-1\n"), "{told}");
    let row = floor.status("adam");
    assert_eq!((text(&row, "/status"), &row["needs"]), ("needs_review", &Value::Null));
    floor.ctl(&["status"]).exit(0).out_has("check is red");
    // Whoever reviews it all the same has the pin fall with the next red one.
    let at = tree(&floor, "adam");
    commit(&at, "Mend a", &["a.txt"], "good\n");
    wait_for(|| check()["ok"] == true);
    assert_eq!((floor.status("adam")["needs"].clone(), runs(&w)), ("needs_review".into(), 2));
    let record = check();
    assert_eq!(record["tree"], at.git(&["rev-parse", "HEAD^{tree}"]).trim_end());
    assert_eq!((record["sha"].as_str(), record["at"].is_string()), (Some(head(&at).as_str()), true));
    floor.ctl(&["review", "adam"]).exit(0).out_has("Check:  green");
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_eq!((runs(&w), floor.app.read("a.txt")), (2, "good\n".into()), "a green tree was checked again");
    let events = floor.ctl(&["events", "--json"]).exit(0).json_lines();
    let results: Vec<_> =
        events.iter().filter(|event| event["event"] == "checked").map(|event| text(event, "/detail")).collect();
    assert_eq!(results, ["red", "green"]);
}

#[test]
fn a_worker_is_told_so_often_and_then_it_is_a_persons() {
    let w = World::new();
    let floor = floor(&w);
    set(&floor, &w, "false", "check_tries = 1");
    configure(&floor, "[agents.scripted]\n", "[agents.scripted]\nhooks = \"claude\"\n");
    let _up = Staying::new(&floor, &["up"]);
    floor.ctl(&["start", "adam", "--task", "COMMIT a.txt one Write a"]).succeeds();
    wait_for(|| floor.status("adam")["check"]["told"] == true);
    wait_for(|| floor.prompts().len() == 2);
    assert_eq!(floor.status("adam")["needs"], Value::Null);
    // It ends its turn without having mended it.
    hook(&floor, "adam", &event("Stop"));
    assert_eq!(floor.status("adam")["needs"], "needs_review");
    commit(&tree(&floor, "adam"), "Try again", &["a.txt"], "two\n");
    wait_for(|| runs(&w) == 2 && floor.status("adam")["needs"] == "needs_review");
    assert_eq!((floor.status("adam")["check"]["told"].clone(), floor.prompts().len()), (false.into(), 2));
    floor.ctl(&["wait", "adam", "--for", "you"]).succeeds();
}

#[test]
fn a_mend_is_checked_at_once_though_its_worker_could_not_be_told() {
    let w = World::new();
    let floor = floor(&w);
    set(&floor, &w, "grep good a.txt", "");
    configure(&floor, "patrol_interval_secs = 60", "patrol_interval_secs = 3600");
    configure(&floor, "[agents.scripted]\n", "[agents.scripted]\nhooks = \"claude\"\n");
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds();
    let asks = json!({ "hook_event_name": "PermissionRequest", "session_id": "s-1", "tool_name": "Bash",
        "tool_input": { "command": "ls", "description": "d" } });
    hook(&floor, "adam", &asks);
    let _up = Staying::new(&floor, &["up"]);
    let at = tree(&floor, "adam");
    commit(&at, "Write a", &["a.txt"], "bad\n");
    let said = || std::fs::read_to_string(w.home("up.stderr")).unwrap_or_default();
    wait_for(|| said().contains("it asks a question"));
    commit(&at, "Mend a", &["a.txt"], "good\n");
    wait_for(|| floor.status("adam")["check"]["ok"] == true);
}

#[test]
fn accept_lands_only_what_is_green_or_what_a_person_overrules() {
    let w = World::new();
    let floor = floor(&w);
    set(&floor, &w, "grep -q good a.txt", "");
    work(&floor, "adam", "COMMIT a.txt bad Write a");
    let old = tip(&floor);
    floor.ctl(&["review", "adam"]).exit(0).out_has("+bad");
    assert_eq!(refused(&floor, &["accept", "adam"], 1), "check_failed");
    assert_eq!((tip(&floor), runs(&w)), (old, 1));
    assert_eq!(floor.status("adam")["reviewed_sha"], Value::Null, "the pin stays");
    assert_eq!(refused(&floor, &["check", "adam"], 1), "check_failed");
    let red = floor.ctl(&["check", "adam", "--json"]).exit(1).json();
    assert_eq!((red["ok"].clone(), red["worker"].clone(), red["log"].is_string()), (false.into(), "adam".into(), true));
    assert_eq!(runs(&w), 3, "a person who asks gets an answer");
    assert!(text(&red, "/error/hints/0").contains("`worker-ctl check adam` runs it again"), "{red}");
    let lands = "`worker-ctl review adam`, then `worker-ctl accept adam --no-check` lands";
    assert!(text(&red, "/error/hints/0").contains(lands), "{red}");
    let stays = floor.ctl(&["accept", "adam", "--no-check"]).exit(1);
    stays.err_has("so its review counts no more");
    assert!(!stays.stderr.contains("without its check"), "{stays}");
    floor.ctl(&["review", "adam"]).exit(0).out_has("Check:  red, see ");
    floor.ctl(&["accept", "--no-check"]).succeeds().err_has("lands without its check");
    work(&floor, "adam", "COMMIT a.txt good Mend a");
    floor.ctl(&["-n", "check", "adam"]).exit(0).out_has("would run `");
    floor.ctl(&["check", "adam"]).succeeds();
    floor.ctl(&["accept", "adam"]).succeeds().any_err();
    assert_eq!((runs(&w), floor.app.read("a.txt")), (4, "good\n".into()));
    for args in [&["check", "adam"][..], &["-n", "check", "adam"]] {
        floor.ctl(args).exit(1).err_has("adam has no work to check").err_has("it has nothing that has not landed");
    }
}

#[test]
fn what_lands_is_checked_as_it_lands() {
    let w = World::new();
    for (is_adopted, place) in [(false, "work"), (false, "merge"), (true, "merge")] {
        let dir = w.home(&format!("{is_adopted}-{place}"));
        let w = World::new();
        let floor = if is_adopted { adopted_floor(&w) } else { floor(&w) };
        // Good by itself, and bad with what lands meanwhile.
        set(&floor, &w, "pwd; [ ! -e other.txt ] || [ ! -e a.txt ]", &format!("check_in = \"{place}\""));
        work(&floor, "adam", "COMMIT a.txt one Write a");
        floor.ctl(&["check", "adam"]).succeeds();
        // Also where the merged tree is the worker's, files that git ignores there make nothing green.
        let is_kept_place = floor.root.read("logs/adam.check.log").contains("/.check");
        assert_eq!(is_kept_place, place == "merge");
        floor.app.commit("other.txt", "x\n");
        let old = tip(&floor);
        assert_eq!(refused(&floor, &["accept", "adam"], 1), "check_failed", "{dir:?}");
        assert_eq!((tip(&floor), runs(&w)), (old, 2));
        // The worktree for that is used again, and in nobody's way.
        floor.app.git(&["rm", "-q", "other.txt"]);
        floor.app.git(&["commit", "-q", "-m", "Away"]);
        floor.ctl(&["accept", "adam"]).succeeds().any_err();
        assert_eq!(floor.app.read("a.txt"), "one\n");
        floor.ctl(&["doctor"]).any_status().any_out().any_err();
        floor.ctl(&["nuke", "adam", "--yes"]).succeeds();
    }
}

#[test]
fn a_check_that_changes_the_work_says_nothing() {
    let w = World::new();
    let floor = floor(&w);
    set(&floor, &w, "echo built > built.txt", "");
    let up = Staying::new(&floor, &["up"]);
    floor.ctl(&["start", "adam", "--task", "COMMIT a.txt one Write a"]).succeeds();
    let at = tree(&floor, "adam");
    // A second later its next check finds the file still in the way, so no command is asked.
    wait_for(|| floor.root.read("state.json").contains("\"checks_void\": 1"));
    std::fs::remove_file(at.path.join("built.txt")).unwrap();
    // Once more when it has come to rest, and then a person decides.
    wait_for(|| runs(&w) == 2);
    wait_for(|| floor.status("adam")["needs"] == "needs_review");
    floor.ctl(&["status"]).exit(0).out_has("its worktree changed while it was checked");
    assert_eq!(floor.status("adam")["check"], Value::Null);
    drop(up);
    std::fs::remove_file(at.path.join("built.txt")).unwrap();
    assert_eq!(refused(&floor, &["check", "adam"], 1), "dirty");
    assert_eq!(refused(&floor, &["check", "adam"], 1), "dirty", "what it left is in the way");
}

#[test]
fn a_check_that_hangs_kills_writes_or_asks_is_red_and_harms_nobody() {
    let w = World::new();
    let floor = floor(&w);
    configure(&floor, "[repo]\n", "[repo]\ncheck_on_host = true\n");
    for (n, check) in [
        "sleep 60",
        "kill -9 $PPID; sleep 60",
        "head -c 100000000 /dev/zero",
        "read answer < /dev/tty && sleep 60",
        "read answer && sleep 60",
    ]
    .iter()
    .enumerate()
    {
        work(&floor, "adam", &format!("COMMIT a{n}.txt one Write a{n}"));
        let begun = Instant::now();
        let args = ["check", "adam", "--check", check, "--check-timeout", "2s"];
        assert_eq!(refused(&floor, &args, 1), "check_failed", "{check}");
        assert!(begun.elapsed() < Duration::from_secs(30), "{check}");
        assert_eq!(floor.status("adam")["check"]["ok"], false, "{check}");
        floor.ctl(&["accept", "adam", "--no-check"]).succeeds().any_err();
    }
    assert!(floor.root.read("logs/adam.check.log").len() < 1_000);
}

#[test]
fn while_it_is_checked_others_are_told_and_nobody_waits() {
    let w = World::new();
    let floor = floor(&w);
    let gate = w.home("gate");
    set(&floor, &w, &format!("while [ ! -e '{}' ]; do sleep 0.05; done", gate.display()), "");
    let _up = Staying::new(&floor, &["up"]);
    by_hand(&floor, "adam", &[("a.txt", "one\n")]);
    wait_for(|| floor.status("adam")["activity"] == "checking");
    floor.ctl(&["status"]).exit(0).out_has("checking");
    for args in [&["accept", "adam"][..], &["check", "adam"]] {
        assert_eq!(refused(&floor, args, 1), "checking", "{args:?}");
    }
    floor.ctl(&["review", "adam"]).exit(0).out_has("+one");
    floor.ctl(&["message", "adam", "hello"]).succeeds();
    std::fs::write(gate, "").unwrap();
    wait_for(|| floor.status("adam")["check"]["ok"] == true);
    floor.ctl(&["accept"]).succeeds();
    assert_eq!(runs(&w), 1);
}

#[test]
fn while_an_accept_checks_others_reach_the_worker_and_only_what_was_checked_lands() {
    let w = World::new();
    let floor = floor(&w);
    let gate = w.home("gate");
    set(&floor, &w, &format!("while [ ! -e '{}' ]; do sleep 0.05; done", gate.display()), "");
    work(&floor, "adam", "COMMIT a.txt one Write a");
    let old = tip(&floor);
    let mut accept = Staying::new(&floor, &["accept", "adam"]);
    wait_for(|| floor.status("adam")["activity"] == "checking");
    floor.ctl(&["message", "adam", "COMMIT b.txt two Write b"]).succeeds();
    let has_second = || tree(&floor, "adam").git(&["log", "-1", "--format=%s"]) == "Write b\n";
    wait_for(has_second);
    std::fs::write(gate, "").unwrap();
    accept.ended();
    assert_eq!((tip(&floor), accept.out()), (old, String::new()), "what nobody has checked landed");
    floor.until("adam", "needs_review");
    floor.ctl(&["accept", "adam"]).succeeds().any_err();
    assert_eq!(floor.app.read("b.txt"), "two\n");
}

#[test]
fn the_code_of_a_worker_never_runs_with_a_persons_rights_unasked() {
    let w = World::new();
    let floor = floor(&w);
    let secret = w.home("secret");
    std::fs::write(&secret, "s\n").unwrap();
    configure(&floor, "[repo]\n", &format!("[repo]\ncheck = \"test -e a.txt && ! cat '{}'\"\n", secret.display()));
    work(&floor, "adam", "COMMIT a.txt one Write a");
    for args in [&["check", "adam"][..], &["accept", "adam"]] {
        floor.ctl(args).exit(2).err_has("with your rights").err_has("check_on_host = true");
    }
    floor.ctl(&["check", "adam", "--check-on-host", "true"]).exit(1).err_has("failed");
    // In a sandbox the same check runs without a word, and cannot read what is a person's.
    if !works(&w) {
        return;
    }
    let more = "env = { SCRIPTED_LOG = \"/home/agent/prompts.jsonl\" }\n";
    table(&floor, "boxed", &[&program()], more);
    floor.ctl(&["add", "eve", "--runner", "sandbox", "--agent", "boxed"]).succeeds();
    floor.ctl(&["up", "eve"]).succeeds();
    work(&floor, "eve", "COMMIT a.txt one Write a");
    floor.ctl(&["check", "eve"]).succeeds();
    let log = floor.root.read("logs/eve.check.log");
    assert!(log.contains("No such file"), "{log}");
    floor.ctl(&["accept", "eve"]).succeeds().any_err();
    work(&floor, "eve", "COMMIT b.txt one Write b");
    floor
        .ctl(&["check", "eve", "--check", "rm -rf ../* .git; test -e b.txt && sleep 60", "--check-timeout", "2s"])
        .exit(1)
        .any_err();
    assert!(tree(&floor, "adam").has("a.txt") && tree(&floor, "eve").has("b.txt"));
    floor.ctl(&["check", "eve", "--check", "test -e b.txt && git log -1 && ! git push"]).succeeds();
    // Neither the person's hooks nor their set-up run outside on what a contained worker wrote.
    let (hooks, escaped) = (w.home("hooks"), w.home("escaped"));
    write(&hooks.join("post-checkout"), &format!("#!/bin/sh\n[ -e b.txt ] && touch '{}'; exit 0\n", escaped.display()));
    floor.root.sh(&format!("chmod +x '{}/post-checkout'; rm -rf .worktrees/.check-contained", hooks.display())).exit(0);
    let own = w.home("gitconfig");
    write(&own, &format!("[core]\n\thooksPath = {}\n", hooks.display()));
    let check = ["check", "eve", "--check", "test -e b.txt"];
    let own = [("GIT_CONFIG_GLOBAL", own.to_str().unwrap())];
    floor.root.run_with("worker-ctl", &check, &own).exit(0).any_out().any_err();
    assert!(!escaped.exists(), "a hook ran outside");
    // What contained code left is run by nobody, and least of all outside.
    let builds = "echo '*' > .gitignore; [ ! -e built ] && echo built > built";
    for _ in 0..2 {
        floor.ctl(&["check", "eve", "--check", &format!("true; {builds}")]).succeeds();
        floor.ctl(&["check", "eve", "--check", builds]).succeeds();
    }
    assert!(!floor.root.has(".worktrees/.check/built") && floor.root.has(".worktrees/.check-contained"));
}

#[test]
fn work_that_cannot_be_checked_is_a_persons() {
    let w = World::new();
    let floor = floor(&w);
    set(&floor, &w, "true", "");
    let mut up = Staying::new(&floor, &["up"]);
    floor.ctl(&["start", "adam", "--task", "DIRTY left.txt x\nCOMMIT a.txt one Write a"]).succeeds();
    wait_for(|| floor.status("adam")["needs"] == "needs_review");
    assert_eq!(runs(&w), 0);
    std::fs::remove_file(tree(&floor, "adam").path.join("left.txt")).unwrap();
    floor.ctl(&["down"]).succeeds();
    up.ended();
    // Nobody checks it here.
    up = Staying::new(&floor, &["up", "--no-patrol"]);
    commit(&tree(&floor, "adam"), "More", &["b.txt"], "two\n");
    floor.ctl(&["patrol"]).succeeds();
    assert_eq!((floor.status("adam")["needs"].clone(), runs(&w)), ("needs_review".into(), 0));
    drop(up);
}

#[test]
fn who_cannot_be_told_holds_nobody_up() {
    let w = World::new();
    let floor = staff(&w, &["adam", "bob"]);
    let gone = w.home("gone");
    let check = format!("while [ ! -e '{}' ]; do sleep 0.05; done; grep -q good *.txt", gone.display());
    set(&floor, &w, &check, "");
    let _up = Staying::new(&floor, &["up"]);
    // Its program is gone when the check is red.
    floor.ctl(&["start", "adam", "--task", "COMMIT a.txt bad Write a\nEXIT 3"]).any_status().any_out().any_err();
    wait_for(|| floor.status("adam")["session"] != "up");
    write(&gone, "");
    wait_for(|| floor.status("adam")["check"]["ok"] == false);
    assert_eq!(
        (floor.status("adam")["needs"].clone(), floor.status("adam")["check"]["told"].clone()),
        ("error".into(), false.into())
    );
    floor.ctl(&["start", "bob", "--task", "COMMIT b.txt good Write b"]).succeeds();
    wait_for(|| floor.status("bob")["check"]["ok"] == true);
    assert_eq!(floor.status("bob")["needs"], "needs_review");
}

#[test]
fn a_check_ends_with_its_up_and_another_command_is_another_check() {
    let w = World::new();
    let floor = floor(&w);
    let alive = w.home("alive");
    set(&floor, &w, &format!("while :; do touch '{}'; sleep 0.05; done", alive.display()), "");
    let mut up = Staying::new(&floor, &["up"]);
    floor.ctl(&["start", "adam", "--task", "COMMIT a.txt one Write a"]).succeeds();
    wait_for(|| alive.exists());
    let begun = Instant::now();
    floor.ctl(&["down"]).succeeds();
    up.ended();
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    std::fs::remove_file(&alive).unwrap();
    assert_eq!(floor.status("adam")["check"], Value::Null, "it says nothing");
    floor.ctl(&["check", "adam", "--check", "true"]).succeeds();
    floor.ctl(&["review", "adam"]).exit(0).any_out();
    assert_eq!(refused(&floor, &["accept", "--check", "false"], 1), "check_failed");
    floor.ctl(&["review", "adam"]).exit(0).any_out();
    floor.ctl(&["accept", "--check", "true"]).succeeds();
    assert!(!alive.exists(), "it runs still");
}

#[test]
fn a_worker_is_told_little_of_an_endless_line_and_a_root_with_places_for_checks_goes() {
    let w = World::new();
    let floor = adopted_floor(&w);
    set(&floor, &w, "head -c 3000000 /dev/zero | tr '\\0' x; false", "");
    let up = Staying::new(&floor, &["up"]);
    floor.ctl(&["start", "adam", "--task", "COMMIT a.txt one Write a"]).succeeds();
    wait_for(|| floor.status("adam")["check"]["told"] == true);
    wait_for(|| floor.prompts().len() == 2);
    assert!(floor.prompts().last().unwrap().len() < 2_000);
    drop(up);
    floor.ctl(&["check", "adam", "--check", "true", "--check-in", "merge"]).succeeds();
    floor.app.commit("other.txt", "x\n");
    floor.ctl(&["accept", "adam", "--check", "test -e other.txt && test -e a.txt"]).succeeds().any_err();
    assert!(floor.root.has(".worktrees/.check-own"));
    // That one is nobody's.
    let listed = floor.app.spawn(&["list"]).exit(0).any_err();
    assert!(listed.stdout.contains("feature/adam") && !listed.stdout.contains(".check"), "{listed}");
    let rows = floor.app.shopfloor(&["status"]).any_status().any_err();
    assert!(rows.stdout.contains("adam") && !rows.stdout.contains(".check"), "{rows}");
    // What a check has made of that place is in nobody's way.
    for spoil in
        ["touch $(git rev-parse --git-dir)/index.lock", "mkdir -p ro; touch ro/x; chmod 500 ro", "rm .git; mkdir .git"]
    {
        floor.ctl(&["start", "adam", "--task", &format!("COMMIT {}.txt one {spoil}", spoil.len())]).succeeds();
        floor.until("adam", "needs_review");
        floor.app.commit("other.txt", spoil);
        floor.ctl(&["accept", "adam", "--check", &format!("{spoil}; true")]).succeeds().any_err();
    }
    floor.ctl(&["deinit", "--yes"]).exit(0).any_out().any_err();
    std::fs::create_dir(&floor.root.path).unwrap();
    assert!(!floor.app.git(&["worktree", "list"]).contains(".check") && !floor.app.git(&["branch"]).contains("check"));
}
