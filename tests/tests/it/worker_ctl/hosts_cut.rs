//! worker-ctl: a line to a host that is cut at every step. The same command again ends in the same state as without a cut.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};

use crate::support::floor::Floor;
use crate::support::host::{hire, hub, last_row, needs_sshd, row, work};
use crate::support::sweep::{kill_at_each, sweep_git};
use crate::support::worker::{deadly_git, prompts, tip};
use crate::support::world::{World, text, wait_for, which};

/// An ssh that fails at the nth call: before anything has gone over the line, or when everything has.
fn cutting_ssh(w: &World) -> PathBuf {
    let (count, config) = (w.path("calls"), w.path("ssh_config"));
    let (shown, config) = (count.display(), config.display());
    w.program(
        "ssh",
        &format!(
            "n=$(cat '{shown}' 2>/dev/null); n=$((${{n:-0}} + 1)); echo $n > '{shown}'\n\
             [ \"$CUT\" = \"$n before\" ] && exit 255\n\
             [ \"$CUT\" = \"$n after\" ] || exec /usr/bin/ssh -F '{config}' \"$@\"\n\
             /usr/bin/ssh -F '{config}' \"$@\"; exit 255"
        ),
    );
    count
}

/// Cuts the line at calls of a command, each time in the state that `prepare` makes. Then the command runs once more, and
/// `check` looks.
fn sweep(floor: &Floor<'_>, calls: &Path, prepare: &dyn Fn(), args: &[&str], check: &dyn Fn(&str)) {
    let run = |cut: &str| {
        prepare();
        let _ = std::fs::remove_file(calls);
        floor.root.run_with("worker-ctl", args, &[("CUT", cut)]).any_status().any_out().any_err()
    };
    let made = || std::fs::read_to_string(calls).unwrap_or_default().trim().parse().unwrap_or(0);
    let whole = run("never");
    assert_eq!(*whole.status, Some(0), "{whole}");
    let calls = made();
    check(&format!("{args:?} without a cut"));
    let groups = ["before", "after"].map(|when| (1..=calls).map(|nth| (when, nth)).collect());
    kill_at_each(&groups, &format!("worker-ctl {} with the line cut", args.join(" ")), |when, nth| {
        let ended = run(&format!("{nth} {when}"));
        let at = format!("{args:?} cut {when} call {nth}");
        assert!(matches!(*ended.status, Some(0 | 1 | 4)), "{at}: {ended}");
        let is_cut = made() >= nth;
        // Whoever did all of it before the cut has nothing more to do, and says so.
        let again = floor.ctl(args).any_status().any_out().any_err();
        assert!(matches!(*again.status, Some(0 | 1)), "{at}: {again}");
        let is_once = *ended.status == Some(4) && ["start", "reject"].contains(&args[0]);
        assert!(!is_once || *again.status == Some(0), "{at}: {again}");
        check(&at);
        is_cut
    });
}

fn sent(w: &World, text: &str) -> usize {
    prompts(&w.home("prompts.jsonl")).iter().filter(|prompt| prompt.contains(text)).count()
}

/// Waits until a text has arrived, and requires that it did once.
fn arrived(w: &World, text: &str, at: &str) {
    wait_for(|| sent(w, text) > 0);
    assert_eq!(sent(w, text), 1, "{at}");
}

/// Takes the worker's task away.
fn free(w: &World, floor: &Floor<'_>) {
    floor.ctl(&["reset", "big:eve", "--force"]).exit(0).any_out().any_err();
    let _ = std::fs::remove_file(w.home("prompts.jsonl"));
}

#[test]
fn whatever_is_cut_a_text_arrives_once() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, _machines) = hub(&w, &["big"]);
    let calls = cutting_ssh(&w);
    hire(&floor, "big:eve");
    let idle = || free(&w, &floor);
    sweep(&floor, &calls, &idle, &["start", "big:eve", "--task", "SAY first"], &|at| arrived(&w, "SAY first", at));
    let at_work = || {
        idle();
        floor.ctl(&["start", "big:eve", "--task", "think"]).succeeds();
    };
    // A message changes no state, so whoever repeats it sends it again; it is never lost.
    sweep(&floor, &calls, &at_work, &["message", "big:eve", "SAY more"], &|at| {
        wait_for(|| sent(&w, "SAY more") > 0);
        assert!(sent(&w, "SAY more") <= 2, "{at}");
    });
    let reviewed = || {
        idle();
        work(&floor, "big:eve", "COMMIT a.txt one Add a");
        floor.ctl(&["review", "big:eve"]).succeeds();
    };
    sweep(&floor, &calls, &reviewed, &["reject", "big:eve", "SAY again"], &|at| {
        arrived(&w, "SAY again", at);
        assert_eq!(row(&floor, "big:eve")["task"], "rejected", "{at}");
    });
}

#[test]
fn whatever_is_cut_or_killed_work_lands_once_and_the_host_knows_it() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, machines) = hub(&w, &["big"]);
    let calls = cutting_ssh(&w);
    hire(&floor, "big:eve");
    let done = || {
        free(&w, &floor);
        work(&floor, "big:eve", "COMMIT a.txt one Add a");
    };
    sweep(&floor, &calls, &done, &["review", "big:eve"], &|at| {
        let seen = row(&floor, "big:eve");
        assert_eq!(seen["reviewed_sha"], seen["commit"], "{at}");
    });
    let (n, old) = (Cell::new(0), RefCell::new(String::new()));
    let reviewed = || {
        free(&w, &floor);
        n.set(n.get() + 1);
        work(&floor, "big:eve", &format!("COMMIT a.txt {} Add {}", n.get(), n.get()));
        floor.ctl(&["review", "big:eve"]).succeeds();
        *old.borrow_mut() = tip(&floor);
    };
    let landed = |at: &str| {
        // What is still to be told, the next command tells.
        floor.ctl(&["up", "big:eve"]).exit(0).any_out().any_err();
        let log = floor.app.git(&["log", "--format=%P|%s", &format!("{}..main", old.borrow())]);
        assert_eq!(log, format!("{}|Add {}\n", old.borrow(), n.get()), "{at}");
        assert_eq!(machines[0].tip(), tip(&floor), "{at}");
        let seen = row(&floor, "big:eve");
        assert_eq!((text(&seen, "/task"), seen["commit"].is_null()), ("idle", true), "{at}");
        let there = machines[0].sh("git -C .worktrees/eve rev-parse HEAD").exit(0);
        assert_eq!(there.stdout.trim_end(), tip(&floor), "{at}");
        for below in ["refs/shopfloor/hosts", "refs/shopfloor/accept"] {
            assert_eq!(floor.root.git(&["for-each-ref", below]), "", "{at}");
        }
    };
    sweep(&floor, &calls, &reviewed, &["accept", "big:eve"], &landed);
    deadly_git(&w);
    sweep_git(&floor, reviewed, &["accept", "big:eve"], |at| {
        floor.ctl(&["accept", "big:eve"]).any_status().any_out().any_err();
        landed(at);
    });
}

#[test]
fn a_command_whose_connection_dies_goes_on_on_the_host() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, machines) = hub(&w, &["big"]);
    let big = &machines[0];
    hire(&floor, "big:eve");
    let flag = big.home.path.join("cut");
    // Its own sshd dies as soon as the command that the file names has begun.
    let dying = |program: &str, real: &Path| {
        big.program(
            program,
            &format!(
                "case \" $* \" in *\" $(cat '{flag}' 2>/dev/null || echo none) \"*) rm -f '{flag}'\n\
                 p=$$; while p=$(ps -o ppid= -p $p | tr -d ' ') && [ -n \"$p\" ] && [ \"$p\" -gt 1 ]; do\n\
                 case $(ps -o args= -p $p) in *' -D '*) break;; sshd:*|sshd-session:*) kill -9 $p;; esac; done;; esac\n\
                 exec '{real}' \"$@\"",
                flag = flag.display(),
                real = real.display()
            ),
        );
    };
    dying("worker-ctl", &w.path("bin/worker-ctl"));
    let cut = |word: &str, args: &[&str]| {
        std::fs::write(&flag, word).unwrap();
        let ended = floor.ctl(args).any_status().any_out().any_err();
        assert!(!flag.exists(), "{args:?} did not run `{word}`: {ended}");
        ended
    };
    let refused = cut("start", &["start", "big:eve", "--task", "COMMIT a.txt one Add a", "--json"]);
    assert_eq!((*refused.status, text(&refused.json(), "/error/kind")), (Some(4), "unreachable"));
    wait_for(|| row(&floor, "big:eve")["task"] != "idle");
    // Who is not told asks again, and nothing begins twice.
    floor.ctl(&["start", "big:eve", "--task", "COMMIT a.txt one Add a", "--json"]).exit(0).any_err().out_has("big:eve");
    let later = ["start", "--queue", "--host", "big", "--worker", "eve", "--task", "later"];
    cut("start", &later);
    floor.ctl(&later).exit(0).any_err().out_has("t1\n");
    assert_eq!(floor.ctl(&["queue", "--host", "big"]).exit(0).any_err().stdout.lines().count(), 1);
    floor.ctl(&["queue", "drop", "t1", "--host", "big"]).exit(0).any_out().any_err();
    hire(&floor, "big:ada");
    let anyone = ["start", "--host", "big", "--task", "think"];
    cut("start", &anyone);
    wait_for(|| row(&floor, "big:ada")["task"] != "idle");
    floor.ctl(&anyone).exit(0).any_err().out_has("big:ada\n");
    wait_for(|| prompts(&w.home("prompts.jsonl")).len() == 2);
    floor.ctl(&["nuke", "big:ada", "--force", "--yes"]).exit(0).any_out().any_err();
    floor.ctl(&["wait", "big:eve", "--for", "needs_review", "--timeout", "50s"]).exit(0).any_out().any_err();
    cut("review", &["review", "big:eve"]);
    // The commits are not to blame.
    dying("git", &which("git"));
    let refused = cut("pack-objects", &["review", "big:eve", "--json"]);
    assert_eq!((*refused.status, text(&refused.json(), "/error/kind")), (Some(4), "unreachable"));
    floor.ctl(&["review", "big:eve"]).succeeds();
    // The source has it, and the host learns it with the next command.
    let landed = cut("landed eve", &["accept", "big:eve"]);
    assert_eq!(*landed.status, Some(0), "{landed}");
    landed.err_has("big:eve has landed, and big does not know it yet");
    let new = tip(&floor);
    floor.ctl(&["up", "big:eve"]).exit(0).any_out().any_err();
    assert_eq!((big.tip(), row(&floor, "big:eve")["task"].as_str()), (new.clone(), Some("idle")));
    assert_eq!(tip(&floor), new);
    assert_eq!(prompts(&w.home("prompts.jsonl")).len(), 2);
}

#[test]
fn whoever_finishes_a_landing_that_was_cut_off_lands_nothing_newer() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, machines) = hub(&w, &["big"]);
    let big = &machines[0];
    hire(&floor, "big:eve");
    work(&floor, "big:eve", "COMMIT a.txt one Add a");
    floor.ctl(&["review", "big:eve"]).succeeds();
    big.program("git-receive-pack", "exit 1");
    floor.ctl(&["accept", "big:eve"]).exit(0).any_out().err_has("big does not know it yet");
    let landed = tip(&floor);
    floor.ctl(&["message", "big:eve", "COMMIT b.txt two Add b"]).exit(0).any_out().any_err();
    let eve = w.at(big.root().path.join(".worktrees/eve"));
    wait_for(|| eve.git(&["log", "--format=%s", "-1"]) == "Add b\n");
    std::fs::remove_file(big.home.path.join("bin/git-receive-pack")).unwrap();
    let finished = floor.ctl(&["accept", "big:eve"]).exit(0);
    assert_eq!((&*finished.stdout, tip(&floor)), (&format!("{landed}\n"), landed.clone()));
    finished.err_has("big:eve has landed; what it has now waits for a review");
    // That was reviewed before, and has changed, as with a worker of this machine.
    let refused = floor.ctl(&["accept", "big:eve", "--json"]).exit(1).any_err().json();
    assert_eq!((text(&refused, "/error/kind"), tip(&floor)), ("changed", landed));
    floor.ctl(&["review", "big:eve"]).exit(0).any_out().any_err();
    floor.ctl(&["accept", "big:eve"]).exit(0).any_out().any_err();
    assert_eq!((floor.app.git(&["show", "main:b.txt"]), machines[0].tip()), ("two\n".into(), tip(&floor)));
}

#[test]
fn what_comes_in_the_way_of_a_worktree_on_a_host_while_its_work_lands_is_told() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, machines) = hub(&w, &["big"]);
    let big = &machines[0];
    hire(&floor, "big:eve");
    work(&floor, "big:eve", "COMMIT a.txt one Add a");
    floor.ctl(&["review", "big:eve"]).succeeds();
    let eve = w.at(big.root().path.join(".worktrees/eve"));
    let late = eve.path.join("a.txt");
    let receive = format!("echo >> '{}'; exec '{}' receive-pack \"$@\"", late.display(), which("git").display());
    big.program("git-receive-pack", &receive);
    floor.ctl(&["accept", "big:eve"]).exit(0).any_out().err_has("big:eve has landed, and its worktree is not moved on");
    std::fs::remove_file(big.home.path.join("bin/git-receive-pack")).unwrap();
    let landed = tip(&floor);
    assert_eq!(floor.app.git(&["log", "--format=%s", "-1"]), "Add a\n");
    // What it says to do leads on.
    floor.ctl(&["accept", "big:eve"]).exit(1).any_out().err_has("  a.txt\n");
    eve.git(&["checkout", "-q", "a.txt"]);
    floor.ctl(&["accept", "big:eve"]).exit(0).any_out().err_has("there is nothing to merge");
    assert_eq!((tip(&floor), row(&floor, "big:eve")["task"].as_str()), (landed, Some("idle")));
}

#[test]
fn a_command_that_is_killed_here_begins_nothing_twice() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, _machines) = hub(&w, &["big"]);
    hire(&floor, "big:eve");
    hire(&floor, "big:ada");
    let real = format!("/usr/bin/ssh -F '{}' \"$@\"", w.path("ssh_config").display());
    w.program(
        "ssh",
        &format!("case \"$KILL $*\" in 1*\"'start'\"*) {real}; kill -KILL $PPID; exit 1;; esac\nexec {real}"),
    );
    let killed = |args: &[&str]| {
        let killed = floor.root.run_with("worker-ctl", args, &[("KILL", "1")]).any_status().any_out().any_err();
        assert!(killed.status.is_none(), "{killed}");
    };
    let start = ["start", "--host", "big", "--task", "think"];
    killed(&start);
    let who = floor.ctl(&start).exit(0).any_err();
    let working = ["big:eve", "big:ada"].map(|id| row(&floor, id)["task"] == "working");
    assert_eq!(working, ["big:eve\n", "big:ada\n"].map(|id| who.stdout == id), "{who}");
    // Once it is answered, the same words are another task.
    floor.ctl(&start).exit(0).any_out().any_err();
    assert!(["big:eve", "big:ada"].iter().all(|id| row(&floor, id)["task"] == "working"));
    let later = ["start", "--queue", "--host", "big", "--task", "later"];
    killed(&later);
    floor.ctl(&later).exit(0).any_err().out_has("t1\n");
    floor.ctl(&later).exit(0).any_err().out_has("t2\n");
    assert_eq!(floor.ctl(&["queue", "--host", "big"]).exit(0).any_err().stdout.lines().count(), 2);
}

#[test]
fn new_goes_on_whichever_answer_of_the_host_was_lost() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, _machines) = hub(&w, &["big"]);
    let real = format!("/usr/bin/ssh -F '{}' \"$@\"", w.path("ssh_config").display());
    let ssh = |first: &str| w.program("ssh", &format!("{first}\nexec {real}"));
    let new = |task: &str| floor.app.shopfloor(&["new", "fin", task, "--host", "big"]);
    let task = "COMMIT a.txt one Add a";
    // It was made, and nobody sees it.
    ssh("case \"$*\" in *\"'status'\"*) exit 255 ;; esac");
    let refused = floor.app.shopfloor(&["new", "fin", task, "--host", "big", "--json"]).exit(4).any_err().json();
    assert_eq!(text(&refused, "/error/kind"), "unreachable");
    assert!(refused["error"]["hints"].to_string().contains("the same command goes on"), "{refused}");
    ssh("");
    assert_eq!(row(&floor, "big:fin")["task"], "idle");
    ssh(&format!("case \"$*\" in *\"'start'\"*) {real}; exit 255 ;; esac"));
    new(task).exit(4).any_out().err_has("the same command goes on");
    ssh("");
    floor.ctl(&["wait", "big:fin", "--for", "needs_review", "--timeout", "50s"]).exit(0).any_out().any_err();
    // It is done by now.
    assert_eq!(row(&floor, "big:fin")["task"], "needs_review");
    new(task).exit(0).any_err().out_has("/.worktrees/fin\n");
    assert_eq!(sent(&w, task), 1);
    new("Something else").exit(1).any_out().err_has("exists already");
    floor.ctl(&["review", "big:fin"]).succeeds();
    floor.ctl(&["accept", "big:fin"]).succeeds();
    assert_eq!(row(&floor, "big:fin")["task"], "idle");
    new(task).exit(1).any_out().err_has("exists already");
}

#[test]
fn a_rejection_that_may_not_have_arrived_lets_nothing_unseen_land() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, machines) = hub(&w, &["big"]);
    let real = format!("/usr/bin/ssh -F '{}' \"$@\"", w.path("ssh_config").display());
    let ssh = |first: &str| w.program("ssh", &format!("{first}\nexec {real}"));
    let reject = || floor.ctl(&["reject", "big:eve", "No"]).exit(4);
    hire(&floor, "big:eve");
    work(&floor, "big:eve", "COMMIT a.txt one Add a");
    floor.ctl(&["review", "big:eve"]).succeeds();
    // What has not reached the host has changed nothing.
    ssh("exit 255");
    let refused = reject();
    refused.err_has("there is no answer from the host big");
    assert!(!refused.stderr.contains("may have been done"), "{refused}");
    ssh("");
    floor.ctl(&["message", "big:eve", "COMMIT b.txt two Unseen"]).exit(0).any_out().any_err();
    let eve = w.at(machines[0].root().path.join(".worktrees/eve"));
    wait_for(|| eve.git(&["log", "--format=%s", "-1"]) == "Unseen\n");
    for accept in [&["accept", "big:eve"][..], &["accept", "big:eve", "-n"]] {
        floor.ctl(accept).exit(1).err_has("big:eve changed since it was reviewed");
    }
    floor.ctl(&["review", "big:eve"]).succeeds();
    ssh("case \"$*\" in *\"'reject'\"*) exit 255 ;; esac");
    reject().err_has("there is no answer from the host big");
    ssh("");
    for accept in [&["accept", "big:eve"][..], &["accept", "big:eve", "-n"]] {
        floor.ctl(accept).exit(1).err_has("was sent back, and nobody has reviewed its work since");
    }
    floor.ctl(&["review", "big:eve"]).succeeds();
    // Who is not told that it has arrived asks again.
    ssh(&format!("case \"$*\" in *\"'reject'\"*) {real}; exit 255 ;; esac"));
    reject().err_has("within an hour the same command says so");
    ssh("");
    floor.ctl(&["reject", "big:eve", "No"]).exit(0).any_err().out_has("big:eve\n");
}

#[test]
fn a_line_that_hangs_delays_no_table_and_nothing_is_lost() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, machines) = hub(&w, &["big", "small"]);
    hire(&floor, "big:eve");
    hire(&floor, "small:ada");
    floor.ctl(&["status"]).succeeds();
    work(&floor, "big:eve", "COMMIT a.txt one Add a");
    floor.ctl(&["review", "big:eve"]).succeeds();
    machines[0].freeze("STOP");
    let began = std::time::Instant::now();
    let seen = last_row(&floor, "big:eve");
    assert!(seen["unreachable_since_at"].is_string() && began.elapsed().as_secs() < 20, "{seen} {began:?}");
    assert_eq!(row(&floor, "small:ada")["task"], "idle");
    let refused = floor.ctl(&["accept", "big:eve", "--json"]).exit(4).json();
    assert_eq!(text(&refused, "/error/kind"), "unreachable");
    machines[0].freeze("CONT");
    wait_for(|| floor.ctl(&["accept", "big:eve"]).exits_with(0));
    assert_eq!(floor.app.git(&["log", "--format=%s", "-1"]), "Add a\n");
    assert_eq!(row(&floor, "big:eve")["task"], "idle");
}

#[test]
fn a_removal_that_failed_half_way_is_finished_by_the_same_command() {
    let w = World::new();
    let floor = Floor::new(&w);
    w.program("ssh", "exit 255");
    let entry = "\n[hosts.big]\nssh = \"box\"\nroot = \"/nowhere\"\nsource = \"/nowhere.git\"\n";
    floor.root.write("config.toml", &(floor.root.read("config.toml") + entry));
    // In the way of the removal of what is kept of it.
    floor.root.write("hosts/big.json/full", "");
    let remove = ["host", "remove", "big", "--force"];
    floor.ctl(&remove).exit(4).any_out().err_has("cannot remove");
    floor.root.sh("rm -r hosts/big.json").exit(0);
    floor.ctl(&remove).exit(0).any_out().err_has("there is no answer from the host big");
    assert!(!floor.root.read("config.toml").contains("[hosts.big]"));
    assert_eq!(floor.root.sh("ls hosts | grep big").exit(1).stdout, "");
}
