//! worker-ctl: workers on other machines, over a real sshd, from task to landed commit.

use std::path::Path;

use crate::support::host::{Machine, hire, hub, last_row, needs_sshd, row, work};
use crate::support::sandbox::works;
use crate::support::worker::{Staying, program, table, tip};
use crate::support::world::{Repo, World, needs_mount, text, wait_for};

#[test]
fn a_task_on_a_host_ends_as_one_commit_of_the_source() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, machines) = hub(&w, &["big", "small"]);
    assert_eq!(
        floor.ctl(&["add", "eve", "--host", "big"]).exit(0).stdout.trim_end(),
        format!("big:{}", machines[0].root().path.join(".worktrees/eve").display())
    );
    hire(&floor, "small:ada");
    floor.ctl(&["up", "big:eve"]).succeeds();
    // The same words, whatever is in the text.
    let task = "COMMIT a.txt one Add 'a' $(x) `y`\nCOMMIT b.txt two Add b";
    let given = floor.ctl(&["start", "big:eve", "--task", task, "--json"]).exit(0).json();
    assert_eq!((&given["worker"], &given["name"], &given["host"]), (&"big:eve".into(), &"eve".into(), &"big".into()));
    // Its first commit needs a review before the second one is there.
    let eve = w.at(machines[0].root().path.join(".worktrees/eve"));
    wait_for(|| {
        let seen = row(&floor, "big:eve")["commit"].as_str().unwrap_or_default().to_owned();
        eve.git(&["log", "--format=%s|%H", "-1"]) == format!("Add b|{seen}\n")
    });
    floor.ctl(&["wait", "big:eve", "--for", "needs_review", "--timeout", "50s"]).exit(0).any_err().out_has("big:eve\n");
    floor.ctl(&["wait", "big:eve"]).exit(0).out_has("big:eve needs_review\n");
    let seen = row(&floor, "big:eve");
    assert_eq!((text(&seen, "/host"), text(&seen, "/needs"), text(&seen, "/prompt")), ("big", "needs_review", task));
    assert!(text(&seen, "/worktree").starts_with("big:/") && seen["unreachable_since_at"].is_null(), "{seen}");
    let old = tip(&floor);
    let shown = floor.ctl(&["review", "big:eve", "--interface", "git"]).exit(0);
    shown.out_has("Worker: big:eve (scripted)\n").out_has("    Add 'a' $(x) `y`\n").out_has("+one\n").out_has("+two\n");
    let json = floor.ctl(&["review", "big:eve", "--json"]).exit(0).json();
    assert_eq!((text(&json, "/id"), text(&json, "/commit")), ("big:eve", text(&seen, "/commit")));
    // Without a name, it is the one reviewed last.
    let landed = floor.ctl(&["accept", "--json"]).exit(0).json();
    assert_eq!((text(&landed, "/outcome"), text(&landed, "/worker")), ("accepted", "big:eve"));
    assert_eq!(floor.app.git(&["log", "--format=%P|%s", "-1"]), format!("{old}|Add 'a' $(x) `y`\n"));
    assert_eq!((text(&landed, "/commit"), machines[0].tip()), (&*tip(&floor), tip(&floor)));
    let seen = row(&floor, "big:eve");
    assert_eq!((text(&seen, "/task"), seen["commit"].is_null()), ("idle", true));
    let there =
        machines[0].sh("git -C .worktrees/eve rev-parse HEAD && git -C .worktrees/eve status --porcelain").exit(0);
    assert_eq!(there.stdout.trim_end(), tip(&floor));
    // The other host gets the branch with its next task, and its work sits on it.
    work(&floor, "small:ada", "COMMIT c.txt three Add c");
    assert_eq!(machines[1].tip(), tip(&floor));
    floor.ctl(&["review", "small:ada"]).succeeds();
    floor.ctl(&["accept", "small:ada"]).succeeds();
    assert_eq!(floor.app.git(&["log", "--format=%s", &format!("{old}..main")]), "Add c\nAdd 'a' $(x) `y`\n");
    for path in ["refs/shopfloor/hosts", "refs/shopfloor/accept"] {
        assert_eq!(floor.root.git(&["for-each-ref", path]), "");
    }
}

#[test]
fn work_is_sent_back_and_conflicts_are_resolved_on_the_host() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, machines) = hub(&w, &["big"]);
    hire(&floor, "big:eve");
    work(&floor, "big:eve", "COMMIT a.txt one Add a");
    floor.ctl(&["review", "big:eve"]).succeeds();
    // Without a name it goes to the one reviewed last; the text goes over stdin.
    floor.ctl(&["reject", "AMEND a.txt two"]).exit(0).any_err().out_has("big:eve\n");
    floor.ctl(&["wait", "big:eve", "--for", "needs_review", "--timeout", "50s"]).exit(0).any_out().any_err();
    // What was sent back was not seen since.
    floor.ctl(&["message", "big:eve", "SAY it's \"ok\""]).succeeds();
    wait_for(|| floor.ctl(&["peek", "big:eve"]).exit(0).stdout.contains("it's \"ok\""));
    let shown = floor.ctl(&["review", "big:eve", "--json"]).exit(0).json();
    assert!(text(&shown, "/range_diff").contains("++two"), "{shown}");
    floor.app.commit("a.txt", "mine\n");
    let answer = floor.ctl(&["accept", "big:eve", "--json"]).exit(1).json();
    assert_eq!((text(&answer, "/outcome"), text(&answer, "/id")), ("rebasing", "big:eve"));
    assert_eq!(machines[0].tip(), tip(&floor));
    floor.ctl(&["accept", "big:eve"]).exit(1).err_has("conflicts with main");
    floor.ctl(&["message", "big:eve", "RESOLVE a.txt both"]).succeeds();
    floor.ctl(&["wait", "big:eve", "--for", "needs_review", "--timeout", "50s"]).exit(0).any_out().any_err();
    // Other work than was reviewed does not land.
    let refused = floor.ctl(&["accept", "big:eve", "--json"]).exit(1).json();
    assert_eq!(text(&refused, "/error/kind"), "changed");
    floor.ctl(&["review", "big:eve"]).succeeds();
    floor.ctl(&["accept", "big:eve"]).succeeds();
    assert_eq!(floor.app.git(&["show", "main:a.txt"]), "both\n");
}

#[test]
fn what_a_worker_of_a_host_has_not_committed_is_in_the_way_of_its_landing() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, machines) = hub(&w, &["big"]);
    hire(&floor, "big:eve");
    work(&floor, "big:eve", "COMMIT a.txt one Add a");
    floor.ctl(&["review", "big:eve"]).succeeds();
    let (old, eve) = (tip(&floor), w.at(machines[0].root().path.join(".worktrees/eve")));
    eve.sh("echo staged > README.md && git add README.md && echo later > README.md && touch new.txt").exit(0);
    for args in [&["accept", "big:eve"][..], &["accept", "big:eve", "--force"], &["accept", "big:eve", "-n"]] {
        let refused = floor.ctl(args).exit(1).any_out();
        refused.err_has("has uncommitted changes\n").err_has("  README.md\n").err_has("  new.txt\n");
        refused.err_has("`worker-ctl message big:eve ");
    }
    floor
        .app
        .shopfloor(&["land", "big:eve"])
        .exit(1)
        .any_out()
        .err_has("  new.txt\n")
        .err_has("`shopfloor send big:eve ");
    assert_eq!(eve.git(&["status", "--porcelain"]), "MM README.md\n?? new.txt\n");
    assert_eq!((eve.git(&["show", ":README.md"]), tip(&floor)), ("staged\n".into(), old));
    eve.sh("git reset -q --hard && rm new.txt").exit(0);
    floor.ctl(&["accept", "big:eve"]).succeeds();
    assert_eq!(
        (floor.app.git(&["show", "main:a.txt"]), row(&floor, "big:eve")["task"].as_str()),
        ("one\n".into(), Some("idle"))
    );
}

#[test]
fn what_the_check_of_a_host_has_found_bad_lands_only_if_a_person_says_so() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, machines) = hub(&w, &["big"]);
    hire(&floor, "big:eve");
    work(&floor, "big:eve", "COMMIT a.txt one Add a");
    // The hub has no check.
    let there = machines[0].root();
    let checks = "[repo]\ncheck = \"false\"\ncheck_on_host = true\n";
    there.write("config.toml.new", &there.read("config.toml").replacen("[repo]\n", checks, 1));
    there.sh("mv config.toml.new config.toml").exit(0);
    // The `up` there may be at it.
    floor.ctl(&["check", "big:eve"]).exit(1).any_out().any_err();
    wait_for(|| row(&floor, "big:eve")["check"]["ok"] == false);
    let old = tip(&floor);
    let refused = floor.ctl(&["accept", "big:eve", "--json"]).exit(1).any_err().json();
    assert_eq!((text(&refused, "/error/kind"), tip(&floor)), ("check_failed", old));
    assert!(text(&refused, "/error/hints/0").contains("`worker-ctl accept big:eve --no-check` lands"), "{refused}");
    floor.ctl(&["accept", "big:eve", "--no-check"]).exit(0).any_out().err_has("big:eve lands without its check");
    assert_eq!(floor.app.git(&["show", "main:a.txt"]), "one\n");
}

#[test]
fn a_host_works_on_while_its_hub_sleeps_and_a_rebooted_one_is_brought_up() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, mut machines) = hub(&w, &["big"]);
    let big = &mut machines[0];
    hire(&floor, "big:eve");
    // It commits once nobody reaches it any more.
    big.home.sh("mkfifo gate").exit(0);
    let task = format!("RUN read -r go < '{}'\nCOMMIT a.txt one Add a", big.home.path.join("gate").display());
    floor.ctl(&["start", "big:eve", "--task", &task]).succeeds();
    // What the host said last is what is known of it later.
    assert_eq!(row(&floor, "big:eve")["task"], "working");
    // The lid is closed, and the source moves meanwhile.
    big.vanish();
    big.home.sh("echo > gate").exit(0);
    let commits = || big.home.world.at(big.root().path.join(".worktrees/eve")).git(&["log", "--format=%s", "-1"]);
    wait_for(|| commits() == "Add a\n");
    floor.app.commit("mine.txt", "mine\n");
    let seen = last_row(&floor, "big:eve");
    assert!(seen["unreachable_since_at"].is_string() && seen["task"] == "working", "{seen}");
    floor.ctl(&["status"]).exit(0).out_has("big:eve  unreachable since ");
    for args in [&["review", "big:eve"][..], &["host", "login", "big", "claude"]] {
        let refused = floor.ctl(&[args, &["--json"]].concat()).exit(4).any_err().json();
        assert_eq!(text(&refused, "/error/kind"), "unreachable");
    }
    floor.root.on_terminal("worker-ctl attach big:eve", "").exit(4).out_has("there is no answer from the host big");
    big.come_back();
    floor.ctl(&["wait", "big:eve", "--for", "needs_review", "--timeout", "50s"]).exit(0).any_out().any_err();
    floor.ctl(&["review", "big:eve"]).succeeds();
    floor.ctl(&["accept", "big:eve"]).succeeds();
    assert_eq!(floor.app.git(&["log", "--format=%s", "-2"]), "Add a\nmine.txt\n");
    // The host is rebooted in the middle of a task.
    floor.ctl(&["start", "big:eve", "--task", "SLEEP 60"]).succeeds();
    big.sh("tmux -S tmux.sock kill-server; kill -9 $(pgrep -f 'worker-ctl --root '$PWD)")
        .any_status()
        .any_out()
        .any_err();
    // What was killed holds its lock until it is gone.
    wait_for(|| big.sh("worker-ctl status --json").exit(0).any_err().json()["daemon"] == "stopped");
    floor.ctl(&["up", "--resume", "--host", "big"]).succeeds();
    wait_for(|| row(&floor, "big:eve")["session"] == "up");
    assert_eq!(row(&floor, "big:eve")["task"], "working");
}

#[test]
fn what_cannot_be_done_over_ssh_says_so_before_anything_has_changed() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, machines) = hub(&w, &["big", "small"]);
    hire(&floor, "big:eve");
    let kind = |args: &[&str], status: i32| {
        let answer = floor.ctl(&[args, &["--json"][..]].concat()).exit(status).any_err().json();
        text(&answer, "/error/kind").to_owned()
    };
    let bad: [&[&str]; 13] = [
        &["events", "--follow", "--host", "big"],
        &["status", "--watch", "--host", "big"],
        &["reject", "big:eve", "--edit"],
        &["request", "big:eve"],
        &["add", "x", "--worktree", ".", "--host", "big"],
        &["peek", "big:../eve"],
        &["peek", "big:Eve"],
        &["peek", "gone:eve"],
        &["wait", "big:eve", "small:ada"],
        &["wait", "big:eve", "adam"],
        &["init", "--host", "big"],
        &["accept", "big:eve", "--push"],
        &["start", "big:eve", "--task-file", "gone.md"],
    ];
    for args in bad {
        assert!(["usage", "malformed"].contains(&&*kind(args, 2)), "{args:?}");
    }
    assert_eq!(kind(&["accept", "big:eve"], 1), "wrong_state");
    // The failures of the host's own worker-ctl, with the names that they have here.
    floor.ctl(&["message", "big:eve", "x"]).exit(1).err_has("worker-ctl: error: big:eve is idle");
    floor.ctl(&["peek", "big:gone"]).exit(1).err_has("there is no worker `big:gone`");
    // A host lands nothing itself.
    let there = machines[0].sh("worker-ctl accept eve").exit(1).any_out();
    there.err_has("is landed by its hub, ");
    // Its root has one hub.
    let other = w.repo("other/app");
    other.run("worker-ctl", &["init", "--target", w.home("second").to_str().unwrap()]).succeeds();
    let answer = other.run("worker-ctl", &["host", "add", "big", "--ssh", "big", "--json"]).exit(1).any_err().json();
    assert!(text(&answer, "/error/message").contains(" belongs to the hub "), "{answer}");
    // A host with tasks is not forgotten, and the root not removed.
    floor.ctl(&["start", "big:eve", "--task", "think"]).succeeds();
    assert_eq!(kind(&["host", "remove", "big"], 1), "in_use");
    assert_eq!(kind(&["host", "remove", "big", "-n"], 1), "in_use");
    assert_eq!(kind(&["deinit", "--yes"], 1), "in_use");
    floor.ctl(&["reset", "big:eve"]).succeeds();
    for name in ["big", "small"] {
        floor.ctl(&["host", "remove", name]).succeeds();
    }
    assert_eq!(floor.ctl(&["host", "list"]).exit(0).stdout.as_str(), "");
    assert!(!machines[0].root().read("config.toml").contains("[hub]"));
    // Another hub may have it now.
    other.run("worker-ctl", &["host", "add", "big", "--ssh", "big", "--root", "~/other", "--json"]).succeeds();
    other.run("worker-ctl", &["host", "remove", "big"]).succeeds();
}

#[test]
fn what_was_fetched_of_a_host_that_is_gone_is_kept() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, mut machines) = hub(&w, &["big"]);
    hire(&floor, "big:eve");
    work(&floor, "big:eve", "COMMIT a.txt one Add a");
    floor.ctl(&["review", "big:eve"]).succeeds();
    machines[0].vanish();
    let removed = floor.ctl(&["host", "remove", "big", "--force"]).exit(0).any_out();
    machines[0].come_back();
    removed.err_has("kept refs/shopfloor/trash/big/eve/reviewed/");
    let kept = floor.root.git(&["for-each-ref", "--format=%(refname)", "refs/shopfloor/trash/big/eve/reviewed/"]);
    assert_eq!(floor.root.git(&["show", &format!("{}:a.txt", kept.trim())]), "one\n");
    assert_eq!(floor.root.git(&["for-each-ref", "refs/shopfloor/hosts/"]), "");
    // So is what was fetched of a worker that a host does not list any more.
    floor.ctl(&["host", "add", "big", "--ssh", "big"]).succeeds();
    floor.ctl(&["review", "big:eve"]).succeeds();
    machines[0].sh("worker-ctl nuke eve --force --yes").exit(0).any_out().any_err();
    let removed = floor.ctl(&["host", "remove", "big"]).exit(0).any_out();
    removed.err_has("kept refs/shopfloor/trash/big/eve/reviewed/");
}

#[test]
fn a_host_is_added_only_if_ssh_knows_it_and_has_the_programs() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, _) = hub(&w, &[]);
    let big = Machine::new(&w, "big");
    let add = |more: &[&str]| floor.ctl(&[&["host", "add", "big", "--ssh", "big", "--json"][..], more].concat());
    let refused = |status: i32, words: &str| {
        let answer = add(&[]).exit(status).any_err().json();
        let error = &answer["error"];
        let whole = format!("{} {} {}", error["message"], error["hints"], error["details"]);
        assert!(whole.contains(words), "{words}: {answer}");
    };
    big.program("worker-ctl", "echo worker-ctl 0.0.1");
    refused(1, "worker-ctl is 0.0.1 there");
    big.program("worker-ctl", "echo worker-ctl 9.0.0");
    refused(1, "install the newer tools here");
    big.program("worker-ctl", "exit 127");
    refused(1, "install.sh");
    big.program("worker-ctl", "[ \"$1\" = --version ] && echo worker-ctl 0.1.0 || yes");
    refused(4, "more than 16 MB");
    for said in ["{}", "{\"root\":\"\\u001b[2J\"}", "nonsense", "\\033]0;x\\007"] {
        big.program(
            "worker-ctl",
            &format!("[ \"$1\" = --version ] && echo worker-ctl 0.1.0 || printf '%b\\n' '{said}'"),
        );
        let failed = add(&[]).exit(4).any_err();
        assert!(!failed.stdout.contains('\u{1b}') && !failed.stdout.contains('\u{7}'), "{failed}");
    }
    // Another key than the one that ssh knows.
    let known = std::fs::read_to_string(w.path("known_hosts")).unwrap();
    let (place, _) = known.split_once(' ').unwrap();
    let other = std::fs::read_to_string(w.path("id.pub")).unwrap();
    std::fs::write(w.path("known_hosts"), format!("{place} {other}")).unwrap();
    big.signal_sessions("KILL");
    refused(4, "HOST IDENTIFICATION HAS CHANGED");
    std::fs::write(w.path("known_hosts"), known).unwrap();
    for dest in ["-oProxyCommand=touch x", "", "a b"] {
        let dest = format!("--ssh={dest}");
        floor.ctl(&["host", "add", "big", &dest]).exit(2).any_err();
    }
    floor.ctl(&["host", "add", "../big", "--ssh", "big"]).exit(2).err_has("cannot be a host's name");
    // A shell there that says something first, which git cannot read.
    std::fs::remove_file(big.home.path.join("bin/worker-ctl")).unwrap();
    ["true", "git-receive-pack"].iter().for_each(|program| big.program(program, "echo Welcome"));
    refused(4, "if a start-up file of the shell there prints something");
    assert!(!floor.root.read("config.toml").contains("hosts"));
}

#[test]
fn up_takes_the_branch_to_the_hosts_also_back() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, machines) = hub(&w, &["big", "small"]);
    hire(&floor, "big:eve");
    floor.ctl(&["start", "big:eve", "--task", "think"]).succeeds();
    let _up = Staying::new(&floor, &["up", "--patrol-interval-secs", "100ms"]);
    let all_at_tip = || machines.iter().all(|machine| machine.tip() == tip(&floor));
    let before = tip(&floor);
    floor.app.commit("mine.txt", "mine\n");
    wait_for(all_at_tip);
    floor.ctl(&["status", "--line"]).exit(0).any_out();
    // The source drops a commit. On the host nothing but that is taken back.
    floor.app.git(&["reset", "-q", "--hard", &before]);
    wait_for(all_at_tip);
    floor.app.commit("other.txt", "other\n");
    wait_for(all_at_tip);
    let bare = w.at(machines[1].home.path.join("workers/app.git"));
    let theirs = bare.git(&["commit-tree", "-p", "main", "-m", "theirs", "main^{tree}"]);
    bare.git(&["update-ref", "refs/heads/main", theirs.trim_end()]);
    floor.app.commit("more.txt", "more\n");
    wait_for(|| machines[0].tip() == tip(&floor));
    let refused = floor.ctl(&["add", "ada", "--host", "small", "--json"]).exit(4).json();
    assert!(text(&refused, "/error/message").contains("cannot be pushed to small"), "{refused}");
    assert_eq!(machines[1].tip(), theirs.trim_end());
    // It says what is in the way, and how that is kept.
    assert!(text(&refused, "/error/message").contains(theirs.trim_end()), "{refused}");
    let keep = text(&refused, "/error/hints/0").split('`').nth(1).unwrap();
    bare.sh(keep).exit(0);
    floor.ctl(&["add", "ada", "--host", "small"]).exit(0).any_out().any_err();
    assert_eq!(machines[1].tip(), tip(&floor));
    assert_eq!(bare.git(&["rev-parse", &format!("kept-{}", &theirs[..8])]), theirs);
}

#[test]
fn a_worker_in_a_sandbox_on_a_host_lands_its_work_and_a_wrong_clock_changes_nothing() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let contained: &[&str] = if works(&w) { &["--runner", "sandbox", "--agent", "boxed"] } else { &[] };
    let (floor, _) = hub(&w, &[]);
    table(&floor, "boxed", &[&program()], "env = { SCRIPTED_LOG = \"/home/agent/prompts.jsonl\" }\n");
    let machines = [Machine::new(&w, "big")];
    floor.ctl(&["host", "add", "big", "--ssh", "big"]).succeeds();
    floor.ctl(&[&["add", "eve", "--host", "big"][..], contained].concat()).succeeds();
    floor.ctl(&["up", "big:eve"]).succeeds();
    assert_eq!(row(&floor, "big:eve")["runner"], if contained.is_empty() { "none" } else { "sandbox" });
    floor.ctl(&["start", "big:eve", "--task", "RUN touch ../../../escaped\nCOMMIT a.txt one Add a"]).succeeds();
    floor.ctl(&["wait", "big:eve", "--for", "needs_review", "--timeout", "50s"]).exit(0).any_out().any_err();
    assert_eq!(machines[0].root().path.parent().unwrap().join("escaped").exists(), contained.is_empty());
    for now in ["2020-01-01T00:00:00Z", "2040-01-01T00:00:00Z"] {
        let vars = [("SHOPFLOOR_NOW", now)];
        let shown = || floor.root.run_with("worker-ctl", &["status"], &vars).exit(0).any_err();
        wait_for(|| shown().stdout.contains("big:eve  needs_review"));
        floor.root.run_with("worker-ctl", &["review", "big:eve"], &vars).succeeds();
    }
    floor.root.run_with("worker-ctl", &["accept", "big:eve"], &[("SHOPFLOOR_NOW", "2020-01-01T00:00:00Z")]).succeeds();
    assert_eq!(floor.app.git(&["show", "main:a.txt"]), "one\n");
    assert_eq!(row(&floor, "big:eve")["task"], "idle");
}

#[test]
fn a_full_disk_on_a_host_costs_nothing_that_was_there() {
    let w = World::new();
    let disk = w.path("big/workers");
    std::fs::create_dir_all(&disk).unwrap();
    let here = w.at(w.path(""));
    if !needs_sshd() || !needs_mount(&here, &format!("mount -t tmpfs -o size=12m,mode=700 none '{}'", disk.display())) {
        return;
    }
    let unmount = Unmount(&here, &disk);
    {
        let (floor, machines) = hub(&w, &["big"]);
        hire(&floor, "big:eve");
        work(&floor, "big:eve", "COMMIT a.txt one Add a");
        floor.ctl(&["review", "big:eve"]).succeeds();
        machines[0].sh("head -c 20000000 /dev/zero > ../full").any_status().any_out().any_err();
        floor.app.commit("mine.txt", "mine\n");
        // Work lands all the same, and the host learns it when it can.
        let landed = floor.ctl(&["accept", "big:eve"]).any_status().any_out().any_err();
        assert!(matches!(*landed.status, Some(0 | 1 | 4)), "{landed}");
        machines[0].sh("rm ../full").exit(0);
        wait_for(|| {
            floor.ctl(&["accept", "big:eve"]).any_status().any_out().any_err().status.is_some_and(|code| code < 2)
        });
        floor.ctl(&["up", "big:eve"]).exit(0).any_out().any_err();
        assert_eq!(floor.app.git(&["log", "--format=%s", "-2", "main"]), "Add a\nmine.txt\n");
        let seen = row(&floor, "big:eve");
        assert_eq!((seen["task"].as_str(), machines[0].tip()), (Some("idle"), tip(&floor)), "{seen}");
    }
    drop(unmount);
}

/// Takes the small disk away, also when the test fails.
struct Unmount<'a>(&'a Repo<'a>, &'a Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        let _ = self.0.sh(&format!("umount -l '{}'", self.1.display())).any_status().any_out().any_err();
    }
}
