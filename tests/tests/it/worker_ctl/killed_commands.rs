//! worker-ctl: killed at every write and around every git command, whatever it was at: the next command goes on from
//! there, and nothing is lost.

use std::cell::Cell;

use serde_json::{Value, json};

use crate::support::floor::Floor;
use crate::support::sweep::{assert_often, sweep_git, sweep_tool};
use crate::support::worker::{by_hand, head, staff, tip, tree};
use crate::support::worker::{deadly_git, floor};
use crate::support::world::{Repo, World, text, wait_for, which};

/// Kills a command at its writes, and then around its git commands. Returns at how many points it can be killed.
fn sweep(floor: &Floor<'_>, prepare: impl Fn(), args: &[&str], verify: impl Fn(&str)) -> usize {
    let here = |_: &str| {
        prepare();
        floor.root.clone()
    };
    let kills = sweep_tool("worker-ctl", here, args, |_, when| verify(when));
    deadly_git(floor.root.world);
    kills + sweep_git(floor, prepare, args, verify)
}

/// Whether it is said of a worker that a text may not have got to it.
fn is_noted(worker: &Value) -> bool {
    let notes = worker["notes"].to_string();
    notes.contains("may not have arrived") || notes.contains("may be in its input line")
}

/// Forgets what was kept of work before this, and earlier states: they would only be more writes.
fn forget_kept(floor: &Floor<'_>) {
    let list = "git for-each-ref --format='delete %(refname)' refs/shopfloor/trash refs/shopfloor/pre";
    floor.root.sh(&format!("rm -f state.json.bak*; {list} | git update-ref --stdin")).exit(0);
}

/// A commit and a file that git does not know, both with this in them; the commit.
fn leave(at: &Repo<'_>, n: usize) -> String {
    at.commit("work", &format!("{n}\n"));
    at.write("loose", &format!("{n}\n"));
    head(at)
}

/// Requires that a ref leads to the commit, and that the file is in the worktree still, or in what is kept.
#[track_caller]
fn assert_kept(floor: &Floor<'_>, sha: &str, n: usize, when: &str) {
    let refs = floor.root.run("git", &["for-each-ref", "--contains", sha]);
    assert!(refs.status == Some(0) && !refs.stdout.is_empty(), "{when}: {refs:?}");
    let (adam, wanted) = (tree(floor, "adam"), format!("{n}\n"));
    if adam.has("loose") && adam.read("loose") == wanted {
        return;
    }
    let kept = floor.root.git(&["for-each-ref", "--format=%(refname)", "refs/shopfloor/trash"]);
    let holds = |name: &str| {
        floor.root.run("git", &["show", &format!("{name}:loose")]).any_status().any_out().any_err().stdout == wanted
    };
    assert!(kept.lines().any(holds), "{when}: `loose` is lost, kept is {kept}");
}

/// Requires that a worktree is on its branch, at the default branch's commit, with nothing in it.
#[track_caller]
fn assert_clean(floor: &Floor<'_>, name: &str, when: &str) {
    let at = tree(floor, name);
    let branch = at.git(&["rev-parse", "--abbrev-ref", "HEAD"]);
    let found = (branch.trim_end(), head(&at), at.git(&["status", "--porcelain", "-uall"]));
    assert_eq!(found, (format!("worker/{name}").as_str(), tip(floor), String::new()), "{when}");
}

#[test]
fn a_killed_add_can_be_repeated_or_was_complete() {
    let w = World::new();
    let floor = Floor::new(&w);
    let add = ["add", "eve", "--role-prompt", "careful"];
    let kills = sweep(
        &floor,
        || {},
        &add,
        |when| {
            let again = floor.ctl(&add).any_status().any_out();
            let is_there = again.status == Some(1) && again.stderr.contains("already");
            assert!(again.status == Some(0) || is_there, "{when}: {again:?}");
            assert_clean(&floor, "eve", when);
            assert_eq!(text(&floor.status("eve"), "/task"), "idle", "{when}");
            let config = floor.root.read("config.toml");
            assert!(config.contains("[workers.eve]\nrole_prompt = \"careful\"\n"), "{when}: {config}");
            floor.ctl(&["nuke", "eve", "--yes"]).succeeds();
        },
    );
    assert_often(kills, 10);
}

#[test]
fn a_killed_nuke_can_be_repeated_and_loses_nothing() {
    let w = World::new();
    let floor = Floor::new(&w);
    let (n, sha) = (Cell::new(0), Cell::new(String::new()));
    let nuke = ["nuke", "adam", "--yes", "--force"];
    let prepare = || {
        forget_kept(&floor);
        floor.ctl(&["add", "adam"]).succeeds();
        n.set(n.get() + 1);
        sha.set(leave(&tree(&floor, "adam"), n.get()));
    };
    let kills = sweep(&floor, prepare, &nuke, |when| {
        let sha = sha.take();
        assert_kept(&floor, &sha, n.get(), when);
        let again = floor.ctl(&nuke).any_status().any_out();
        let is_gone = again.status == Some(1) && again.stderr.contains("no worker `adam`");
        assert!(again.status == Some(0) || is_gone, "{when}: {again:?}");
        assert_kept(&floor, &sha, n.get(), when);
        assert_eq!(floor.ctl(&["status", "--json"]).exit(0).json()["workers"], json!([]), "{when}");
        assert_eq!(floor.root.git(&["branch", "--list"]), "", "{when}");
        assert_eq!(floor.root.git(&["worktree", "list"]).lines().count(), 1, "{when}");
        let config = floor.root.read("config.toml");
        assert!(!config.contains("[workers.adam]"), "{when}: {config}");
        // Neither the worktree nor a part of it.
        assert_eq!(floor.root.sh("ls -A .worktrees").exit(0).stdout, "", "{when}");
    });
    assert!(kills >= 22, "only {kills} kills");
}

#[test]
fn a_killed_reset_can_be_repeated_and_loses_nothing() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    floor.ctl(&["down", "--force"]).succeeds();
    let working = floor.root.read("state.json");
    let (n, sha) = (Cell::new(0), Cell::new(String::new()));
    let reset = ["reset", "adam", "--force"];
    let prepare = || {
        forget_kept(&floor);
        floor.root.write("state.json", &working);
        n.set(n.get() + 1);
        sha.set(leave(&tree(&floor, "adam"), n.get()));
    };
    deadly_git(&w);
    let kills = sweep_git(&floor, prepare, &reset, |when| {
        let sha = sha.take();
        assert_kept(&floor, &sha, n.get(), when);
        floor.ctl(&reset).succeeds();
        assert_kept(&floor, &sha, n.get(), when);
        assert_clean(&floor, "adam", when);
        let adam = floor.status("adam");
        assert_eq!((text(&adam, "/task"), &adam["prompt"]), ("idle", &Value::Null), "{when}");
    });
    assert!(kills >= 8, "only {kills} kills");
}

#[test]
fn a_reset_that_was_killed_once_the_program_had_ended_starts_it_when_it_is_repeated() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    leave(&tree(&floor, "adam"), 1);
    deadly_git(&w);
    let (reset, kill) = (["reset", "adam", "--force"], [("KILL_AT", "1"), ("KILL_WHEN", "before")]);
    let killed = floor.root.run_with("worker-ctl", &reset, &kill).any_status().any_out().any_err();
    assert!(killed.status.is_none() && text(&floor.status("adam"), "/status") == "offline", "{killed}");
    floor.ctl(&reset).succeeds();
    assert_eq!(text(&floor.status("adam"), "/status"), "idle");
    // Of a kill before it had ended nothing is left once the program is up.
    let (state, field) = (floor.root.read("state.json"), "\"is_to_restart\"");
    floor.root.write("state.json", &state.replace("\"pane_pid\"", &format!("{field}: true, \"pane_pid\"")));
    floor.ctl(&["up", "adam"]).exit(0).any_out().any_err();
    assert!(!floor.root.read("state.json").contains(field));
}

#[test]
fn what_a_killed_reset_or_nuke_has_kept_is_named() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    // Each is killed when most is gone already.
    let kills = "case \"$KILL $* \" in 'it '*' clean '*|'it '*' -d refs/heads/'*) kill -KILL $PPID; exit ;; esac";
    w.program("git", &format!("{kills}\nexec '{}' \"$@\"", which("git").display()));
    for (n, command) in [&["reset", "adam", "--force"][..], &["nuke", "adam", "--force", "--yes"]].iter().enumerate() {
        let sha = leave(&tree(&floor, "adam"), n);
        tree(&floor, "adam").git(&["init", "-q", "nested"]);
        let killed = floor.root.run_with("worker-ctl", command, &[("KILL", "it")]).any_status().any_out().any_err();
        assert!(killed.status.is_none(), "{killed}");
        assert_kept(&floor, &sha, n, "after the kill");
        let adam = floor.status("adam");
        let note = |at: &str| text(&adam, at).strip_prefix("a removal or reset did not end; it kept ").unwrap();
        let (kept, aside) = (note("/notes/0"), note("/notes/1"));
        assert_eq!(floor.root.git(&["show", &format!("{kept}:loose")]), format!("{n}\n"));
        assert!(w.at(aside).sh("test -d nested || test -d worktree/nested").exits_with(0), "{aside}");
        floor.ctl(command).exit(0).any_err().out_has(kept).out_has(aside);
    }
}

#[test]
fn what_a_reset_has_kept_is_noted_until_somebody_was_told() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    leave(&tree(&floor, "adam"), 1);
    let reset = floor.root.sh("worker-ctl reset adam --force > /dev/full").exit(4);
    reset.err_has("cannot write the answer").err_has("only that is lost: what there was to do is done");
    let note = floor.status("adam")["notes"][0].as_str().unwrap().to_owned();
    let kept = note.strip_prefix("a removal or reset did not end; it kept ").unwrap();
    assert_eq!(floor.root.git(&["show", &format!("{kept}:loose")]), "1\n");
    floor.ctl(&["reset", "adam"]).exit(0).any_err().out_has(kept);
    assert_eq!(floor.status("adam")["notes"], json!([]));
}

#[test]
fn a_killed_start_sends_its_task_at_most_once() {
    let w = World::new();
    let floor = floor(&w);
    let idle = floor.root.read("state.json");
    let n = Cell::new(0);
    let task = || format!("\n\nthink of {}.", n.get());
    let start = ["start", "--worker", "adam", "--prompt-file", "task"];
    let told = || floor.prompts().iter().filter(|prompt| prompt.ends_with(&task())).count();
    let prepare = || {
        forget_kept(&floor);
        floor.root.write("state.json", &idle);
        floor.ctl(&["up", "adam"]).succeeds();
        n.set(n.get() + 1);
        floor.root.write("task", task().trim_start());
    };
    let here = |_: &str| {
        prepare();
        floor.root.clone()
    };
    let verify = |when: &str| {
        floor.ctl(&["patrol"]).succeeds().any_err();
        let adam = floor.status("adam");
        match text(&adam, "/task") {
            "idle" => {
                assert_eq!(told(), 0, "{when}");
                floor.ctl(&start).succeeds();
                wait_for(|| told() == 1);
            }
            // Whoever looks is told of it.
            "working" if is_noted(&adam) => assert!(told() <= 1, "{when}"),
            // A text that has just been typed may still arrive.
            "working" => wait_for(|| {
                floor.ctl(&["patrol"]).succeeds().any_err();
                told() == 1 || is_noted(&floor.status("adam"))
            }),
            other => panic!("{when}: it is {other}"),
        }
    };
    let kills = sweep_tool("worker-ctl", here, &start, |_, when| verify(when));
    deadly_git(&w);
    let behind = || {
        prepare();
        floor.app.commit("advance", &format!("{}\n", n.get()));
    };
    let more = sweep_git(&floor, behind, &start, verify);
    assert!(more >= 2, "only {more} kills");
    assert_often(kills, 10);
    for n in 1..=n.get() {
        let end = format!("think of {n}.");
        assert!(floor.prompts().iter().filter(|prompt| prompt.ends_with(&end)).count() <= 1, "{end}");
    }
}

#[test]
fn a_program_that_was_ended_to_get_its_task_has_not_crashed() {
    let w = World::new();
    let floor = floor(&w);
    let kill = "case \"$KILL $*\" in '1 '*' respawn-pane '*) kill -KILL $PPID; exit 1 ;; esac";
    w.program("tmux", &format!("{kill}\nexec '{}' \"$@\"", which("tmux").display()));
    let start = ["start", "adam", "--task", "think"];
    let killed = floor.root.run_with("worker-ctl", &start, &[("KILL", "1")]).any_status().any_out().any_err();
    assert!(killed.status.is_none(), "{killed}");
    floor.until("adam", "offline");
    let adam = floor.status("adam");
    assert_eq!((text(&adam, "/task"), &adam["fault"], &adam["crash_count"]), ("working", &Value::Null, &json!(0)));
    // While tmux records the end, the patrol has not told of the doubt.
    floor.ctl(&["up", "adam"]).succeeds().any_err();
    floor.ctl(&["start", "--resume", "adam"]).succeeds();
    wait_for(|| floor.prompts().len() == 1);
}

#[test]
fn a_killed_rebase_is_sent_to_the_worker_or_undone() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let adam = by_hand(&floor, "adam", &[("README.md", "mine\n")]);
    let sha = head(&adam);
    floor.app.commit("README.md", "theirs\n");
    // As one that has given it up once: no patrol begins with it again.
    let mut waiting: Value = serde_json::from_str(&floor.root.read("state.json")).unwrap();
    waiting["workers"]["adam"]["base_sha"] = tip(&floor).into();
    let is_rebasing = || floor.root.has(".git/worktrees/adam/rebase-merge");
    let (n, before) = (Cell::new(0), Cell::new(0));
    let prepare = || {
        if is_rebasing() {
            adam.git(&["rebase", "--abort"]);
        }
        assert_eq!(head(&adam), sha);
        forget_kept(&floor);
        floor.root.write("state.json", &waiting.to_string());
        n.set(n.get() + 1);
        before.set(floor.prompts().len());
    };
    let kills = sweep(&floor, prepare, &["rebase", "adam"], |when| {
        // A git that was left behind holds the worker for an instant longer.
        wait_for(|| {
            let next =
                floor.ctl(if n.get() % 4 == 0 { &["rebase", "adam"] } else { &["patrol"] }).any_status().any_err();
            assert!(matches!(*next.status, Some(0 | 1)), "{when}: {next:?}");
            is_rebasing() == (text(&floor.status("adam"), "/task") == "rebasing")
        });
        let worker = floor.status("adam");
        match text(&worker, "/task") {
            "rebasing" => {
                // It was told, or whoever looks is told that it may not have been.
                wait_for(|| is_noted(&worker) || floor.prompts().len() > before.get());
            }
            "needs_review" => assert_eq!(head(&adam), sha, "{when}: {worker}"),
            other => panic!("{when}: it is {other}"),
        }
        assert_ne!(floor.root.git(&["for-each-ref", "--contains", &sha]), "", "{when}");
    });
    assert_often(kills, 10);
}

#[test]
fn a_killed_init_can_be_repeated_and_only_reads_the_source() {
    let w = World::new();
    let app = w.app();
    app.commit("README.md", "app\n");
    app.write("README.md", "changed\n");
    app.write("loose", "x\n");
    let image = || {
        let asked = [&["rev-parse", "HEAD"][..], &["for-each-ref"], &["status", "--porcelain"], &["diff"]];
        (asked.map(|args| app.git(args)), app.read("loose"), std::fs::read(app.path.join(".git/index")).unwrap())
    };
    let before = image();
    let init = ["init", "--source", app.path.to_str().unwrap(), "--target", "root"];
    let prepare = |name: &str| {
        std::fs::create_dir(w.home(name)).unwrap();
        w.at(w.home(name))
    };
    let kills = sweep_tool("worker-ctl", prepare, &init, |at, when| {
        assert_eq!(image(), before, "{when}");
        let again = at.run("worker-ctl", &init).any_status().any_out().any_err();
        let is_there = again.status == Some(1) && again.stderr.contains("is a root already");
        assert!(again.status == Some(0) || is_there, "{when}: {again:?}");
        let root = w.at(at.path.join("root"));
        root.run("worker-ctl", &["add", "adam", "--agent", "aider"]).succeeds();
        assert_eq!(w.at(root.path.join(".worktrees/adam")).read("README.md"), "app\n", "{when}");
        assert_eq!(image(), before, "{when}");
    });
    assert_often(kills, 10);
}

#[test]
fn a_clone_whose_git_was_killed_is_made_anew() {
    let w = World::new();
    let (app, other) = (w.app(), w.repo("other"));
    // A git that is killed in one command, with its caller, and leaves what no other one can go on with.
    w.program(
        "git",
        &format!(
            "case \"$KILL_IN  $* \" in 'init '*' init '*|'fetch '*' fetch '*) ;; *) exec '{git}' \"$@\" ;; esac\n\
             '{git}' \"$@\"\n\
             touch .git/config.lock .git/refs/remotes/origin/main.lock; [ $KILL_IN = fetch ] || rm .git/HEAD\n\
             kill -KILL $PPID",
            git = which("git").display(),
        ),
    );
    let kill_and_repeat = |at: &Repo<'_>, args: &[&str], root: &str| {
        for kill in ["init", "fetch"] {
            let killed = at.run_with("worker-ctl", args, &[("KILL_IN", kill)]).any_status().any_out().any_err();
            assert!(killed.status.is_none(), "{killed}");
        }
        at.run("worker-ctl", args).succeeds();
        w.at(w.home(root)).sh("! ls -A | grep shopfloor-tmp").exit(0);
    };
    kill_and_repeat(&app, &["init"], "workers");
    // The clone of a root that had none.
    other.git(&["worktree", "add", "-q", "../x"]);
    other.run("worker-ctl", &["add", "--worktree", "../x"]).succeeds().any_err();
    kill_and_repeat(&other, &["add", "eve", "--agent", "aider"], "workers/other");
}

#[test]
fn an_add_that_was_killed_before_the_task_was_recorded_can_be_repeated() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    tree(&floor, "adam").commit("m", "mine\n");
    let add = || {
        floor.app.run("worker-ctl", &["add", "--worktree", "../adam"]).succeeds().any_err();
        assert_eq!(text(&floor.status("adam"), "/task"), "needs_review");
    };
    add();
    // What is known of the worktree is written first.
    let mut state: Value = serde_json::from_str(&floor.root.read("state.json")).unwrap();
    state["workers"]["adam"]["task"] = "idle".into();
    state["workers"]["adam"]["commit_sha"] = Value::Null;
    floor.root.write("state.json", &state.to_string());
    add();
}

#[test]
fn a_killed_first_add_of_a_worktree_can_be_repeated() {
    let w = World::new();
    let add = ["add", "x", "--worktree", "../x"];
    let prepare = |name: &str| {
        let app = w.repo(&format!("{name}/{name}"));
        app.git(&["worktree", "add", "-q", "../x"]);
        app
    };
    let kills = sweep_tool("worker-ctl", prepare, &add, |at, when| {
        let again = at.run("worker-ctl", &add).any_status().any_out().any_err();
        let is_there = again.status == Some(1) && again.stderr.contains("is the worker x already");
        assert!(again.status == Some(0) || is_there, "{when}: {again:?}");
        let all = at.run("worker-ctl", &["status", "--json"]).exit(0).json();
        assert_eq!(all["workers"][0]["name"], "x", "{when}");
    });
    assert_often(kills, 10);
}
