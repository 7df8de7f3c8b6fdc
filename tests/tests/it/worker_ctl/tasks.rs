//! worker-ctl: a task from its start to its end, and through restarts.

use std::path::Path;

use serde_json::Value;

use crate::support::floor::Floor;
use crate::support::worker::{agent, head, staff, table, tree, up, work};
use crate::support::world::{World, text, wait_for, which};

#[test]
fn a_task_for_nobody_in_particular_passes_over_a_worktree_with_changes() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    tree(&floor, "adam").write("README.md", "changed\n");
    floor.ctl(&["-n", "start", "--task", "x"]).exit(0).any_err().out_has("give the task to eve");
    floor.ctl(&["start", "--task", "COMMIT 1.txt 1 Work 1"]).exit(0).any_err().out_has("eve");
    floor.until("eve", "needs_review");
    floor.ctl(&["accept", "eve"]).succeeds().any_err();
    tree(&floor, "eve").write("README.md", "changed\n");
    let dirty = floor.ctl(&["start", "--task", "x"]).exit(1);
    dirty.err_has("adam has uncommitted changes").err_has(": `worker-ctl message adam 'Commit your changes' --force`");
}

#[test]
fn a_task_runs_from_start_to_acceptance() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    let offline = floor.ctl(&["start", "--prompt", "x"]).exit(1);
    offline.err_has("no worker is idle").err_has("start a session first: `worker-ctl up adam`");
    floor.app.shopfloor(&["status"]).exit(0).out_has("adam           offline, task idle");
    let refused = floor.app.shopfloor(&["send", "adam", "hi", "--force", "--json"]).exit(4).any_err().json();
    assert_eq!(refused["error"]["hints"][0], "start its session first: `shopfloor resume adam`");
    floor.up();
    let pid = floor.status("adam")["pane_pid"].clone();
    let started = floor.ctl(&[
        "start",
        "--prompt",
        "COMMIT a.txt one Write a\\n\\nCo-authored-by: scripted <s@x>\\nSigned-off-by: Ada <a@x>",
        "--json",
    ]);
    assert_eq!(text(&started.exit(0).json(), "/status"), "working");
    floor.ctl(&["start", "--worker", "adam", "--prompt", "x"]).exit(1).err_has("working");
    floor.until("adam", "needs_review");
    floor.ctl(&["reject", "no"]).exit(1).err_has("nothing was reviewed");
    floor.ctl(&["review", "adam"]).exit(0).out_has("+one");
    // Reject the work, let the worker amend it, and review it again.
    floor.ctl(&["reject", "AMEND a.txt two"]).succeeds();
    wait_for(|| floor.prompts().len() == 2);
    assert!(floor.prompts()[1].contains("+one"));
    floor.until("adam", "needs_review");
    let old = floor.app.git(&["rev-parse", "main"]);
    floor.ctl(&["accept"]).exit(1).err_has("was not reviewed");
    floor.ctl(&["accept", "adam"]).succeeds().err_has("was not reviewed");
    assert_eq!(floor.app.git(&["log", "--format=%s|%an|%P", "-1", "main"]), format!("Write a|Ada|{old}"));
    assert_eq!(floor.app.read("a.txt"), "two\n");
    let message = floor.app.git(&["log", "-1", "--format=%B", "main"]);
    assert!(message.contains("Signed-off-by: Ada") && !message.to_lowercase().contains("co-authored"), "{message}");
    let adam = floor.status("adam");
    assert_eq!((text(&adam, "/status"), &adam["pane_pid"], &adam["prompt"]), ("idle", &pid, &Value::Null));
    assert_eq!(floor.app.git(&["for-each-ref", "refs/shopfloor"]) + &floor.app.git(&["status", "--porcelain"]), "");
    assert_eq!(w.at(floor.root.path.join(".worktrees/adam")).git(&["status", "--porcelain"]), "");
}

#[test]
fn a_task_for_an_agent_goes_to_a_worker_that_runs_it() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    agent(&floor, "two", &[], "");
    let start = |more: &[&str]| floor.ctl(&[&["start", "--task", "think", "--agent"], more].concat());
    start(&["nobody"]).exit(2).err_has("no command is configured for the agent `nobody`");
    start(&["two"])
        .exit(1)
        .err_has("no worker of two is idle")
        .err_has("create one: `worker-ctl add NAME --agent two`");
    start(&["two", "adam"]).exit(2).err_has("adam runs scripted, and not two");
    floor.ctl(&["add", "eve", "--agent", "two"]).succeeds();
    start(&["two"]).exit(1).err_has("start a session first: `worker-ctl up eve`");
    up(&floor, &["eve"]);
    start(&["two"]).succeeds();
    let at = |name: &str| text(&floor.status(name), "/status").to_owned();
    assert_eq!((at("adam"), at("eve")), ("idle".into(), "working".into()));
}

#[test]
fn down_ends_all_sessions_and_a_restart_keeps_every_task() {
    let w = World::new();
    let floor = Floor::new(&w);
    for name in ["idle", "working", "waiting"] {
        floor.ctl(&["add", name]).succeeds();
    }
    floor.up();
    floor.ctl(&["start", "--worker", "working", "--prompt", "think"]).succeeds();
    floor.ctl(&["start", "--worker", "waiting", "--prompt", "COMMIT w.txt w Write w"]).succeeds();
    floor.until("waiting", "needs_review");
    let tasks = || {
        ["idle", "working", "waiting"]
            .map(|name| (text(&floor.status(name), "/task").to_owned(), floor.status(name)["commit_sha"].clone()))
    };
    let before = tasks();
    wait_for(|| floor.prompts().len() == 2);
    let prompts = floor.prompts();
    floor.ctl(&["down"]).succeeds();
    assert_eq!(tasks(), before);
    assert_eq!(text(&floor.status("waiting"), "/status"), "offline");
    let socket = text(&floor.ctl(&["status", "--json"]).exit(0).json(), "/tmux_socket").to_owned();
    assert!(!Path::new(&socket).exists());
    floor.app.commit("advance", "1\n");
    floor.up();
    assert_eq!(tasks(), before);
    floor.ctl(&["patrol"]).succeeds().any_err();
    assert_eq!(tasks().map(|(task, _)| task), before.map(|(task, _)| task));
    assert_eq!(floor.prompts(), prompts, "a prompt was sent again");
    // A state that cannot be read is never treated as empty.
    floor.ctl(&["down"]).succeeds();
    let good = floor.root.read("state.json");
    floor.root.write("state.json", "{");
    floor.ctl(&["status"]).exit(4).err_has("doctor --rebuild");
    floor.ctl(&["add", "new"]).exit(4).any_err();
    assert_eq!(floor.root.read("state.json"), "{");
    floor.root.write("state.json", &good);
}

#[test]
fn only_a_new_commit_on_the_workers_branch_leads_to_review() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    floor.up();
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    let adam = w.at(floor.root.path.join(".worktrees/adam"));
    let stays = |event: &str| {
        floor.ctl(&["patrol"]).succeeds().any_err();
        assert_eq!(text(&floor.status("adam"), "/status"), "working", "{event}");
    };
    adam.write("README.md", "edited\n");
    stays("an edit");
    adam.git(&["tag", "v1"]);
    stays("a tag");
    adam.git(&["fetch", "-q"]);
    stays("a fetch");
    adam.git(&["-c", "core.hooksPath=/dev/null", "stash", "-q"]);
    adam.git(&["switch", "-q", "-c", "aside"]);
    adam.commit("aside.txt", "x");
    stays("a commit on another branch");
    adam.git(&["switch", "-q", "worker/adam"]);
    // During a rebase of its own the worker is left alone.
    adam.commit("one", "1");
    adam.commit("two", "2");
    adam.run_with("git", &["rebase", "-q", "-i", "HEAD~1"], &[("GIT_SEQUENCE_EDITOR", "sed -i 's/^pick/edit/'")])
        .succeeds();
    stays("its own rebase");
    assert!(floor.root.path.join(".git/worktrees/adam/rebase-merge").exists());
    adam.git(&["rebase", "--continue"]);
    floor.until("adam", "needs_review");
    let sha = adam.git(&["rev-parse", "HEAD"]);
    assert_eq!(text(&floor.status("adam"), "/commit_sha"), sha.trim());
    // A second patrol changes nothing.
    let revision = || serde_json::from_str::<Value>(&floor.root.read("state.json")).unwrap()["revision"].clone();
    let before = revision();
    floor.ctl(&["patrol"]).succeeds().any_err();
    assert_eq!(revision(), before);
    // Several commits land as one.
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_eq!(floor.app.git(&["rev-list", "--count", "main"]), "3\n");
    assert!(floor.app.git(&["log", "-1", "--format=%B", "main"]).contains("- two"));
}

#[test]
fn reviewed_work_follows_the_default_branch_and_stays_reviewed() {
    let w = World::new();
    let floor = Floor::new(&w);
    for name in ["adam", "eve"] {
        floor.ctl(&["add", name]).succeeds();
    }
    floor.up();
    for name in ["adam", "eve"] {
        floor.ctl(&["start", "--worker", name, "--prompt", &format!("COMMIT {name}.txt x Work of {name}")]).succeeds();
        floor.until(name, "needs_review");
    }
    floor.ctl(&["review", "eve"]).succeeds();
    floor.ctl(&["accept", "adam"]).succeeds();
    floor.ctl(&["patrol"]).succeeds().any_err();
    let eve = floor.status("eve");
    assert_eq!(eve["commit_sha"], eve["reviewed_sha"]);
    assert_eq!(
        floor.root.git(&["merge-base", "refs/heads/worker/eve", "refs/remotes/origin/main"]),
        floor.app.git(&["rev-parse", "main"])
    );
    // The work is the same, so accept has nothing to report.
    assert_eq!(floor.ctl(&["accept", "eve", "-q"]).succeeds().stderr, "");
    // Two accepts at once both land, one after the other.
    for name in ["adam", "eve"] {
        floor.ctl(&["start", "--worker", name, "--prompt", &format!("COMMIT {name}2.txt x More of {name}")]).succeeds();
        floor.until(name, "needs_review");
    }
    let both: Vec<_> = ["adam", "eve"]
        .map(|name| {
            let mut command = w.command(w.path("bin/worker-ctl"));
            command.args(["accept", name]).current_dir(&floor.root.path);
            command.stdout(std::process::Stdio::null()).spawn().unwrap()
        })
        .into();
    for mut child in both {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    assert_eq!(floor.app.git(&["rev-list", "--count", "--merges", "main"]), "0\n");
    assert_eq!(floor.app.git(&["rev-list", "--count", "main"]), "6\n");
}

#[test]
fn a_message_does_not_change_who_has_been_idle_longest() {
    let w = World::new();
    let floor = Floor::new(&w);
    for (time, name) in [("2001-01-01T00:00:00Z", "zoe"), ("2001-01-02T00:00:00Z", "adam")] {
        for command in ["add", "up"] {
            floor.root.run_with("worker-ctl", &[command, name], &[("SHOPFLOOR_NOW", time)]).succeeds();
        }
    }
    floor.ctl(&["message", "zoe", "hello", "--force"]).succeeds();
    for name in ["zoe", "adam"] {
        assert_eq!(floor.ctl(&["start", "--prompt", "think"]).exit(0).stdout, format!("{name}\n"));
    }
}

#[test]
fn start_puts_a_clean_worktree_back_on_its_branch() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let adam = tree(&floor, "adam");
    let branch = || adam.git(&["rev-parse", "--abbrev-ref", "HEAD"]);
    let refuses = || {
        let before = (branch(), adam.git(&["for-each-ref"]));
        floor.ctl(&["start", "--worker", "adam", "--prompt", "never"]).exit(1).any_err();
        assert_eq!((branch(), adam.git(&["for-each-ref"])), before);
        let worker = floor.status("adam");
        assert!(text(&worker, "/status") == "idle" && worker["prompt"].is_null(), "{worker}");
    };
    // Unmerged commits on another branch, on no branch, and on its own branch while it is elsewhere.
    adam.git(&["switch", "-q", "-c", "aside"]);
    adam.commit("aside", "x\n");
    refuses();
    adam.git(&["switch", "-q", "--detach"]);
    adam.commit("lone", "x\n");
    refuses();
    adam.git(&["switch", "-q", "worker/adam"]);
    adam.commit("own", "x\n");
    adam.git(&["switch", "-q", "--no-track", "-c", "clean", "refs/remotes/origin/main"]);
    refuses();
    // Without unmerged commits the worktree goes back to its branch.
    adam.git(&["branch", "-q", "-f", "worker/adam", "refs/remotes/origin/main"]);
    work(&floor, "adam", "COMMIT a.txt one Write a");
    assert_eq!(branch(), "worker/adam\n");
    floor.ctl(&["accept", "adam"]).succeeds();
    adam.git(&["switch", "-q", "--detach"]);
    work(&floor, "adam", "COMMIT b.txt two Write b");
    assert_eq!(branch(), "worker/adam\n");
    let prompts = floor.prompts();
    assert!(prompts.len() == 2 && prompts.iter().all(|prompt| !prompt.ends_with("never")), "{prompts:?}");
}

#[test]
fn a_restart_keeps_every_task_and_types_nothing() {
    let w = World::new();
    let names = ["idle", "working", "waiting", "rejected", "rebasing"];
    let floor = staff(&w, &names);
    floor.ctl(&["start", "--worker", "working", "--prompt", "think"]).succeeds();
    work(&floor, "rebasing", "COMMIT README.md mine Change it");
    work(&floor, "waiting", "COMMIT w.txt x Write w");
    work(&floor, "rejected", "COMMIT r.txt x Write r");
    floor.ctl(&["review", "waiting"]).succeeds();
    floor.ctl(&["review", "rejected"]).succeeds();
    floor.ctl(&["reject", "not so"]).succeeds();
    floor.app.commit("README.md", "moved on\n");
    floor.ctl(&["accept", "rebasing"]).exit(1).any_err();
    wait_for(|| floor.prompts().len() == 6);
    let prompts = floor.prompts();
    let tasks = || {
        names.map(|name| {
            let worker = floor.status(name);
            let keys = ["task", "prompt", "commit_sha", "reviewed_sha"];
            (keys.map(|key| worker[key].clone()), head(&tree(&floor, name)))
        })
    };
    let before = tasks();
    assert_eq!(before.clone().map(|([task, ..], _)| task), ["idle", "working", "needs_review", "rejected", "rebasing"]);
    floor.ctl(&["down"]).succeeds();
    assert_eq!(tasks(), before);
    floor.app.commit("advance", "x\n");
    up(&floor, &names);
    assert_eq!(tasks(), before);
    // The next text that each agent gets is this one.
    for name in &names[1..] {
        assert_eq!(text(&floor.status(name), "/status"), text(&floor.status(name), "/task"));
        floor.ctl(&["message", name, "still at it?"]).succeeds();
    }
    wait_for(|| floor.prompts().len() >= prompts.len() + 4);
    assert_eq!(floor.prompts()[prompts.len()..], ["still at it?"; 4]);
}

#[test]
fn a_dry_run_changes_nothing() {
    let w = World::new();
    let floor = staff(&w, &["adam", "busy", "noah"]);
    work(&floor, "adam", "COMMIT a.txt one Write a");
    floor.ctl(&["start", "--worker", "busy", "--prompt", "think"]).succeeds();
    wait_for(|| floor.prompts().len() == 2);
    let image = || {
        let mut all = vec![floor.root.read("state.json"), floor.root.read("config.toml")];
        for repo in [&floor.root, &floor.app] {
            all.push(repo.git(&["for-each-ref"]));
            all.push(repo.git(&["worktree", "list", "--porcelain"]));
        }
        all.push(floor.app.git(&["status", "--porcelain"]));
        all.extend(["adam", "busy", "noah"].map(|name| tree(&floor, name).git(&["status", "--porcelain"])));
        all.extend(floor.prompts());
        all
    };
    let before = image();
    for (line, name) in [
        ("accept adam -n", "adam"),
        ("nuke adam -n --force", "adam"),
        ("reset busy -n", "busy"),
        ("start -n --prompt x", "noah"),
        ("add eve -n", "eve"),
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        floor.ctl(&args).succeeds().out_has(name);
        let answer = floor.ctl(&[&args[..], &["--json"]].concat()).succeeds().json();
        assert_eq!(answer["dry_run"], true, "{line}: {answer}");
        assert_eq!(image(), before, "{line}");
    }
    assert!(!floor.root.has(".worktrees/eve"));
    // The dry run sent nothing to the worker.
    work(&floor, "noah", "COMMIT n.txt one Write n");
    assert_eq!(floor.prompts().len(), 3);
}

#[test]
fn a_commit_made_while_start_looks_is_not_given_up() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let at = tree(&floor, "adam");
    at.write("thought", "half\n");
    let (git, dir) = (which("git"), at.path.display());
    // The first `git status` finds that somebody has just committed what was there.
    w.program(
        "git",
        &format!(
            "case \"$*\" in *status*) if [ ! -e ~/once ]; then : > ~/once; \
             (cd '{dir}' && {0} add -A && {0} commit -q -m sneaked); fi;; esac\nexec {0} \"$@\"",
            git.display()
        ),
    );
    floor.ctl(&["start", "--worker", "adam", "--prompt", "x"]).exit(1).err_has("commits that are not merged");
    assert_eq!(at.git(&["log", "-1", "--format=%s"]), "sneaked\n");
    // Without a task it lands in no other way. That commit was made with the index of the `git status`.
    at.git(&["reset", "-q"]);
    let refused = floor.ctl(&["nuke", "adam", "--yes"]).exit(1);
    let pull = refused.stderr.split('`').nth(1).unwrap();
    assert!(pull.starts_with("git pull "), "{refused}");
    floor.app.commit("later", "x\n");
    floor.app.sh(pull).exit(0).any_out().any_err();
    floor.ctl(&["nuke", "adam", "--yes"]).succeeds();
}

#[test]
fn start_takes_its_worker_as_an_argument_or_an_option() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    floor.ctl(&["start", "eve", "--task", "think"]).succeeds();
    floor.ctl(&["start", "--task", "think", "--worker", "adam"]).succeeds();
    assert_eq!(["adam", "eve"].map(|name| floor.status(name)["task"].clone()), ["working", "working"]);
    floor
        .ctl(&["start", "eve", "--worker", "adam", "--task", "x"])
        .exit(2)
        .err_has("two workers are named: eve and adam");
}

#[test]
fn what_the_last_program_commits_at_its_end_is_no_work_on_the_next_task() {
    let w = World::new();
    let floor = Floor::new(&w);
    let script = "trap 'sleep 0.3; git commit -q --allow-empty -m ledger; exit 0' HUP; \
                  case $1 in '') ;; *) touch \"$HOME/started\" ;; esac; while :; do sleep 0.1; done";
    table(&floor, "notes", &["sh", "-c", script, "sh"], "delivery = \"argv\"\nready = { none = true }\n");
    floor.ctl(&["add", "adam", "--agent", "notes"]).succeeds();
    up(&floor, &["adam"]);
    let adam = tree(&floor, "adam");
    floor.ctl(&["start", "--worker", "adam", "--prompt", "one"]).succeeds();
    wait_for(|| w.home("started").exists());
    assert_eq!(adam.git(&["log", "-1", "--format=%s"]), "ledger\n");
    floor.ctl(&["patrol"]).succeeds();
    assert_eq!(floor.status("adam")["status"], "working");
    // It lands with the work.
    adam.commit("a", "1");
    floor.until("adam", "needs_review");
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    assert_eq!(floor.app.git(&["show", "main:a"]), "1");
}
