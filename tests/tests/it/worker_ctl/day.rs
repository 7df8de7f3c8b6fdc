//! worker-ctl: from task to reviewed commit, with a real tmux and the scripted agent.

use std::path::Path;

use serde_json::Value;

use crate::support::floor::Floor;
use crate::support::world::{Repo, World, text, wait_for, write};

#[test]
fn case_1_init_only_reads_the_source() {
    let w = World::new();
    let app = w.app();
    app.commit("README.md", "app\n");
    app.git(&["switch", "-q", "-c", "feature"]);
    app.write("README.md", "changed\n");
    let image = |app: &Repo<'_>| {
        (
            app.git(&["rev-parse", "HEAD"]),
            app.git(&["status", "--porcelain"]),
            std::fs::read(app.path.join(".git/index")).unwrap(),
        )
    };
    let before = image(&app);
    let root = w.home("workers");
    app.run("worker-ctl", &["init"]).exit(0);
    assert_eq!(image(&app), before);
    let config = std::fs::read_to_string(root.join("config.toml")).unwrap();
    assert!(config.contains("branch = \"main\""), "{config}");
    app.run("worker-ctl", &["init"]).exit(1).err_has("is a root already");
    assert_eq!(std::fs::read_to_string(root.join("config.toml")).unwrap(), config);
    app.git(&["branch", "-q", "-m", "main", "trunk"]);
    let other = w.home("other");
    app.run("worker-ctl", &["init", "--target", other.to_str().unwrap()]).exit(2).err_has("--branch");
    assert!(!other.exists());
    app.run("worker-ctl", &["init", "--target", other.to_str().unwrap(), "--branch", "trunk"]).exit(0);
    // An agent cannot push.
    assert!(
        !w.at(&other).run("git", &["push", "-q", "origin", "refs/remotes/origin/trunk:refs/heads/x"]).exits_with(0)
    );
    assert_eq!(app.git(&["branch", "--list", "x"]), "");
}

#[test]
fn case_2_names_and_role_prompts() {
    let w = World::new();
    let floor = Floor::new(&w);
    for bad in ["../x", "-a", "a.b", "a:b", "", &"x".repeat(200), "HEAD"] {
        floor.ctl(&["add", bad]).exit(2).any_err();
    }
    assert_eq!(floor.ctl(&["status", "--json"]).exit(0).json()["workers"], serde_json::json!([]));
    let role = "say \"hi\"\n]]\\";
    floor.ctl(&["add", "adam", "--role-prompt", role]).exit(0);
    floor.ctl(&["add", "adam"]).exit(1).err_has("already");
    floor.ctl(&["up", "adam"]).exit(0);
    floor.ctl(&["start", "--prompt", "hello"]).exit(0);
    wait_for(|| !floor.prompts().is_empty());
    let prompt = &floor.prompts()[0];
    assert!(prompt.contains(role) && prompt.ends_with("\n\nhello"), "{prompt}");
    // A branch with work on it is nobody's to take.
    floor.root.git(&["branch", "worker/eve", "refs/remotes/origin/main"]);
    let eve = floor.root.git(&[
        "commit-tree",
        "refs/remotes/origin/main^{tree}",
        "-p",
        "refs/remotes/origin/main",
        "-m",
        "work",
    ]);
    floor.root.git(&["update-ref", "refs/heads/worker/eve", eve.trim()]);
    floor.ctl(&["add", "eve"]).exit(1).err_has("not merged");
}

#[test]
fn a_task_from_start_to_acceptance() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).exit(0);
    floor.ctl(&["start", "--prompt", "x"]).exit(1).err_has("no worker is idle");
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
    // Sent back, amended, seen again.
    floor.ctl(&["reject", "AMEND a.txt two"]).exit(0);
    wait_for(|| floor.prompts().len() == 2);
    assert!(floor.prompts()[1].contains("+one"));
    floor.until("adam", "needs_review");
    let old = floor.app.git(&["rev-parse", "main"]);
    floor.ctl(&["accept"]).exit(1).err_has("was not reviewed");
    floor.ctl(&["accept", "adam"]).exit(0).err_has("was not reviewed");
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
fn case_4_a_prompt_arrives_byte_for_byte_and_once() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).exit(0);
    floor.up();
    let prompt = "-x; $(id) `id` %s #{pane_id} C-c Enter;";
    let both: Vec<_> = (0..2)
        .map(|_| {
            let mut command = w.command(w.path("bin/worker-ctl"));
            command.args(["start", "--worker", "adam", "--prompt", prompt]).current_dir(&floor.root.path);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    let mut codes: Vec<_> = both.into_iter().map(|mut child| child.wait().unwrap().code()).collect();
    codes.sort();
    assert_eq!(codes, [Some(0), Some(1)]);
    wait_for(|| !floor.prompts().is_empty());
    assert!(floor.prompts()[0].ends_with(&format!("\n\n{prompt}")), "{:?}", floor.prompts());
    let long = format!("first\u{1b}[201~\n\tsecond {}\nlast", "ü".repeat(20_000));
    write(&w.home("long"), &long);
    floor.root.sh("worker-ctl message adam - < ../long").exit(0);
    wait_for(|| floor.prompts().len() == 2);
    assert_eq!(floor.prompts()[1], long.replace("\u{1b}[201~", ""));
    // Not in the wrong ear, not into a dead one.
    floor.ctl(&["message", "ad", "x"]).exit(1).err_has("no worker `ad`");
    floor.ctl(&["message", "adam", ""]).exit(2).any_err();
    let socket = text(&floor.ctl(&["status", "--json"]).exit(0).json(), "/tmux_socket").to_owned();
    floor.root.run("tmux", &["-S", &socket, "copy-mode", "-t", "=worker-adam:"]).exit(0);
    floor.ctl(&["message", "adam", "in copy mode"]).exit(0);
    wait_for(|| floor.prompts().len() == 3);
    floor.ctl(&["message", "adam", "EXIT 7"]).exit(0);
    wait_for(|| floor.ctl(&["message", "adam", "anybody?"]).exits_with(4));
    assert_eq!(floor.prompts().len(), 4);
    for _ in 0..3 {
        floor.ctl(&["patrol"]).exit(0);
    }
    let adam = floor.status("adam");
    assert_eq!(
        (text(&adam, "/status"), text(&adam, "/task"), adam["crash_count"].as_u64()),
        ("error", "working", Some(1))
    );
    assert_eq!(text(&adam, "/fault"), "exit 7");
    // Up again it is at what it was at.
    floor.ctl(&["up", "adam"]).exit(0);
    assert_eq!(text(&floor.status("adam"), "/status"), "working");
    floor.ctl(&["message", "adam", "EXIT 0"]).exit(0);
    floor.until("adam", "offline");
    assert_eq!(floor.status("adam")["crash_count"], 1);
}

#[test]
fn case_9_and_10_what_is_in_the_way_stays_and_conflicts_are_told() {
    let w = World::new();
    let floor = Floor::new(&w);
    for name in ["adam", "eve"] {
        floor.ctl(&["add", name]).exit(0);
    }
    floor.up();
    floor.ctl(&["start", "--worker", "adam", "--prompt", "COMMIT README.md adams Change it"]).exit(0);
    floor.ctl(&["start", "--worker", "eve", "--prompt", "COMMIT README.md eves Change it too"]).exit(0);
    floor.until("adam", "needs_review");
    floor.until("eve", "needs_review");
    // A person's own changes: overlapping ones are in the way, others are not touched.
    floor.app.write("README.md", "mine\n");
    let before = (floor.app.git(&["rev-parse", "main"]), floor.app.read("README.md"));
    floor.ctl(&["accept", "adam"]).exit(1).err_has("changes in the way");
    assert_eq!((floor.app.git(&["rev-parse", "main"]), floor.app.read("README.md")), before);
    assert_eq!(text(&floor.status("adam"), "/status"), "needs_review");
    floor.app.git(&["checkout", "-q", "README.md"]);
    floor.app.write("notes", "mine\n");
    floor.ctl(&["accept", "adam"]).exit(0);
    assert_eq!(floor.app.read("README.md") + &floor.app.read("notes"), "adams\nmine\n");
    // The second one conflicts by now.
    let told = floor.ctl(&["accept", "eve", "--json"]).exit(1).json();
    assert_eq!(text(&told, "/outcome"), "rebasing");
    wait_for(|| floor.prompts().len() == 3);
    let prompt = floor.prompts()[2].clone();
    assert!(
        prompt.contains("README.md (content, in 1 place)") && prompt.contains("git show :3:FILE` is yours"),
        "{prompt}"
    );
    assert!(prompt.contains("<<<<<<<") && prompt.contains("  eves\n"), "{prompt}");
    floor.ctl(&["message", "eve", "ABORT"]).exit(0);
    floor.until("eve", "needs_review");
    assert!(floor.status("eve")["notes"][0].as_str().unwrap().contains("gave the rebase up"));
    floor.ctl(&["accept", "eve"]).exit(1).any_err();
    floor.ctl(&["message", "eve", "RESOLVE README.md both"]).exit(0);
    floor.until("eve", "needs_review");
    // Somewhere else, the source's checkout is not touched.
    floor.app.git(&["switch", "-q", "-c", "elsewhere"]);
    floor.ctl(&["accept", "eve"]).exit(0);
    assert_eq!(floor.app.read("README.md"), "adams\n");
    assert_eq!(floor.app.git(&["show", "main:README.md"]), "both\n");
    // What the source has already is nothing to merge.
    floor.ctl(&["start", "--worker", "adam", "--prompt", "COMMIT b.txt b Write b"]).exit(0);
    floor.until("adam", "needs_review");
    let sha = text(&floor.status("adam"), "/commit_sha").to_owned();
    floor.app.git(&["switch", "-q", "main"]);
    floor.app.git(&["fetch", "-q", floor.root.path.to_str().unwrap(), &sha]);
    floor.app.git(&["cherry-pick", &sha]);
    let nothing = floor.ctl(&["accept", "adam", "--json"]).exit(0).json();
    assert_eq!(text(&nothing, "/outcome"), "nothing_to_merge");
    assert_eq!(text(&floor.status("adam"), "/status"), "idle");
}

#[test]
fn a_restart_never_changes_a_task_and_down_leaves_nobody() {
    let w = World::new();
    let floor = Floor::new(&w);
    for name in ["idle", "working", "waiting"] {
        floor.ctl(&["add", name]).exit(0);
    }
    floor.up();
    floor.ctl(&["start", "--worker", "working", "--prompt", "think"]).exit(0);
    floor.ctl(&["start", "--worker", "waiting", "--prompt", "COMMIT w.txt w Write w"]).exit(0);
    floor.until("waiting", "needs_review");
    let tasks = || {
        ["idle", "working", "waiting"]
            .map(|name| (text(&floor.status(name), "/task").to_owned(), floor.status(name)["commit_sha"].clone()))
    };
    let before = tasks();
    let prompts = floor.prompts();
    floor.ctl(&["down"]).exit(0);
    assert_eq!(tasks(), before);
    assert_eq!(text(&floor.status("waiting"), "/status"), "offline");
    let socket = text(&floor.ctl(&["status", "--json"]).exit(0).json(), "/tmux_socket").to_owned();
    assert!(!Path::new(&socket).exists());
    floor.app.commit("advance", "1\n");
    floor.up();
    assert_eq!(tasks(), before);
    floor.ctl(&["patrol"]).exit(0);
    assert_eq!(tasks().map(|(task, _)| task), before.map(|(task, _)| task));
    assert_eq!(floor.prompts(), prompts, "a prompt was sent again");
    // A state that cannot be read is never an empty one.
    floor.ctl(&["down"]).exit(0);
    let good = floor.root.read("state.json");
    floor.root.write("state.json", "{");
    floor.ctl(&["status"]).exit(4).err_has("doctor --rebuild");
    floor.ctl(&["add", "new"]).exit(4).any_err();
    assert_eq!(floor.root.read("state.json"), "{");
    floor.root.write("state.json", &good);
}

#[test]
fn case_3_and_13_an_up_that_stays_adds_adopts_and_ends() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).exit(0);
    let start = || {
        let mut command = w.command(w.path("bin/worker-ctl"));
        command
            .arg("up")
            .current_dir(&floor.root.path)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        command.spawn().unwrap()
    };
    let is_at = |name: &str, status: &str| wait_for(|| text(&floor.status(name), "/status") == status);
    let mut up = start();
    is_at("adam", "idle");
    floor.ctl(&["up"]).exit(75).err_has("another `up` runs");
    assert_eq!(floor.ctl(&["status", "--json"]).exit(0).json()["daemon"], "running");
    floor.ctl(&["add", "eve"]).exit(0);
    is_at("eve", "idle");
    // A commit is seen without a patrol of ours.
    floor.ctl(&["start", "--worker", "eve", "--prompt", "COMMIT e.txt e Write e"]).exit(0);
    is_at("eve", "needs_review");
    let pids = ["adam", "eve"].map(|name| floor.status(name)["pane_pid"].clone());
    up.kill().unwrap();
    up.wait().unwrap();
    let mut up = start();
    wait_for(|| floor.ctl(&["status", "--json"]).exit(0).json()["daemon"] == "running");
    assert_eq!(["adam", "eve"].map(|name| floor.status(name)["pane_pid"].clone()), pids);
    floor.ctl(&["wait", "eve", "--for", "needs_review", "--timeout", "20s"]).exit(0);
    floor.ctl(&["wait", "adam", "--for", "working", "--timeout", "0s"]).exit(124).any_err();
    floor.ctl(&["down"]).exit(0);
    assert_eq!(up.wait().unwrap().code(), Some(143));
    assert_eq!(
        (text(&floor.status("eve"), "/status"), text(&floor.status("eve"), "/task")),
        ("offline", "needs_review")
    );
    floor.ctl(&["up", "--detach"]).exit(0);
    is_at("adam", "idle");
    floor.ctl(&["down"]).exit(0);
    assert_eq!(floor.ctl(&["status", "--json"]).exit(0).json()["daemon"], "stopped");
}

#[test]
fn a_worker_that_goes_loses_nothing() {
    let w = World::new();
    let floor = Floor::new(&w);
    for name in ["adam", "eve", "noah"] {
        floor.ctl(&["add", name]).exit(0);
    }
    floor.up();
    for name in ["adam", "eve"] {
        floor
            .ctl(&["start", "--worker", name, "--prompt", &format!("COMMIT {name}.txt x Work\nDIRTY loose {name}")])
            .exit(0);
        floor.until(name, "needs_review");
    }
    floor.ctl(&["accept", "adam"]).exit(1).err_has("loose");
    floor.ctl(&["reset", "adam"]).exit(1).err_has("nowhere else");
    let kept = floor.ctl(&["reset", "adam", "--force"]).exit(0).stdout;
    assert_eq!(floor.root.git(&["show", &format!("{}:loose", kept.trim())]), "adam");
    assert_eq!(floor.root.git(&["show", &format!("{}:adam.txt", kept.trim())]), "x\n");
    assert_eq!(text(&floor.status("adam"), "/status"), "idle");
    floor.ctl(&["nuke", "noah"]).exit(3).err_has("--yes");
    floor.ctl(&["nuke", "noah", "--yes"]).exit(0);
    floor.ctl(&["nuke", "--all", "--yes"]).exit(1).err_has("eve has work");
    let kept = floor.ctl(&["nuke", "--all", "--yes", "--force"]).exit(0).stdout;
    assert_eq!(floor.root.git(&["show", &format!("{}:loose", kept.trim())]), "eve");
    assert_eq!(floor.ctl(&["status", "--json"]).exit(0).json()["workers"], serde_json::json!([]));
    assert!(!floor.root.read("config.toml").contains("[workers.eve]"));
    assert_eq!(floor.root.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn case_6_only_a_commit_of_its_own_counts() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).exit(0);
    floor.up();
    floor.ctl(&["start", "--prompt", "think"]).exit(0);
    let adam = w.at(floor.root.path.join(".worktrees/adam"));
    let stays = |what: &str| {
        floor.ctl(&["patrol"]).exit(0);
        assert_eq!(text(&floor.status("adam"), "/status"), "working", "{what}");
    };
    adam.write("README.md", "edited\n");
    stays("an edit");
    adam.git(&["tag", "v1"]);
    stays("a tag");
    adam.git(&["fetch", "-q"]);
    stays("a fetch");
    adam.git(&["stash", "-q"]);
    adam.git(&["switch", "-q", "-c", "aside"]);
    adam.commit("aside.txt", "x");
    stays("a commit on another branch");
    adam.git(&["switch", "-q", "worker/adam"]);
    // In the middle of a rebase of its own it is left alone.
    adam.commit("one", "1");
    adam.commit("two", "2");
    adam.run_with("git", &["rebase", "-q", "-i", "HEAD~1"], &[("GIT_SEQUENCE_EDITOR", "sed -i 's/^pick/edit/'")])
        .exit(0);
    stays("its own rebase");
    assert!(floor.root.path.join(".git/worktrees/adam/rebase-merge").exists());
    adam.git(&["rebase", "--continue"]);
    floor.until("adam", "needs_review");
    let sha = adam.git(&["rev-parse", "HEAD"]);
    assert_eq!(text(&floor.status("adam"), "/commit_sha"), sha.trim());
    // Twice is once.
    let revision = || serde_json::from_str::<Value>(&floor.root.read("state.json")).unwrap()["revision"].clone();
    let before = revision();
    floor.ctl(&["patrol"]).exit(0);
    assert_eq!(revision(), before);
    // Several commits land as one.
    floor.ctl(&["accept", "adam"]).exit(0);
    assert_eq!(floor.app.git(&["rev-list", "--count", "main"]), "3\n");
    assert!(floor.app.git(&["log", "-1", "--format=%B", "main"]).contains("- two"));
}

#[test]
fn a_review_follows_the_default_branch_and_stays_reviewed() {
    let w = World::new();
    let floor = Floor::new(&w);
    for name in ["adam", "eve"] {
        floor.ctl(&["add", name]).exit(0);
    }
    floor.up();
    for name in ["adam", "eve"] {
        floor.ctl(&["start", "--worker", name, "--prompt", &format!("COMMIT {name}.txt x Work of {name}")]).exit(0);
        floor.until(name, "needs_review");
    }
    floor.ctl(&["review", "eve"]).exit(0);
    floor.ctl(&["accept", "adam"]).exit(0);
    floor.ctl(&["patrol"]).exit(0);
    let eve = floor.status("eve");
    assert_eq!(eve["commit_sha"], eve["reviewed_sha"]);
    assert_eq!(
        floor.root.git(&["merge-base", "refs/heads/worker/eve", "refs/remotes/origin/main"]),
        floor.app.git(&["rev-parse", "main"])
    );
    // Still the same work: no word of a change.
    assert_eq!(floor.ctl(&["accept", "eve", "-q"]).exit(0).stderr, "");
    // Two at once: both land, one after the other.
    for name in ["adam", "eve"] {
        floor.ctl(&["start", "--worker", name, "--prompt", &format!("COMMIT {name}2.txt x More of {name}")]).exit(0);
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
fn case_14_the_doctor_looks_mends_and_rebuilds() {
    let w = World::new();
    let floor = Floor::new(&w);
    for name in ["idle", "done", "torn"] {
        floor.ctl(&["add", name]).exit(0);
    }
    floor.up();
    floor.ctl(&["start", "--worker", "done", "--prompt", "COMMIT README.md done Work"]).exit(0);
    floor.until("done", "needs_review");
    floor.ctl(&["start", "--worker", "torn", "--prompt", "COMMIT README.md torn Other work"]).exit(0);
    floor.until("torn", "needs_review");
    floor.app.commit("README.md", "moved on\n");
    floor.ctl(&["accept", "torn"]).exit(1).any_err();
    let sha = floor.status("done")["commit_sha"].clone();
    floor.ctl(&["doctor"]).exit(0);
    let good = floor.root.read("state.json");
    floor.root.write("state.json", "{");
    let checks = floor.ctl(&["doctor", "--json"]).exit(1).json_lines();
    let wrong: Vec<&str> =
        checks.iter().filter(|check| check["ok"] == false).map(|check| text(check, "/check")).collect();
    assert_eq!(wrong, ["state"]);
    assert!(checks.iter().any(|check| check["check"] == "git" && check["ok"] == true));
    assert_eq!(floor.root.read("state.json"), "{");
    floor.ctl(&["doctor", "--rebuild"]).exit(3).any_err();
    floor.ctl(&["doctor", "--rebuild", "--yes"]).exit(0);
    let tasks = ["idle", "done", "torn"].map(|name| text(&floor.status(name), "/task").to_owned());
    assert_eq!(tasks, ["idle", "needs_review", "rebasing"]);
    assert_eq!(floor.status("done")["commit_sha"], sha);
    assert!(text(&floor.status("done"), "/prompt").starts_with("COMMIT"));
    // A worktree that is gone comes back from its branch.
    floor.root.write("state.json", &good);
    std::fs::remove_dir_all(floor.root.path.join(".worktrees/done")).unwrap();
    floor.ctl(&["patrol"]).exit(0);
    assert_eq!(text(&floor.status("done"), "/fault"), "worktree missing");
    floor.ctl(&["doctor", "--repair"]).exit(3).any_err();
    floor.ctl(&["doctor", "--repair", "--yes"]).exit(0).out_has("mended");
    assert_eq!(w.at(floor.root.path.join(".worktrees/done")).read("README.md"), "done\n");
    assert_eq!(text(&floor.status("done"), "/task"), "needs_review");
}
