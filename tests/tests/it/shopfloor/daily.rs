//! shopfloor: a day's work.

use serde_json::Value;

use crate::support::floor::Floor;
use crate::support::sandbox::works;
use crate::support::worker::tree;
use crate::support::world::{Repo, TOOLS, World, needs, text, which, write};

fn app(w: &World) -> Repo<'_> {
    let app = w.repo("app");
    app.commit("README.md", "one\ntwo\n");
    app
}

fn row<'v>(status: &'v Value, name: &str) -> &'v Value {
    status["worktrees"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap()
}

#[test]
fn status_joins_what_five_tools_say_and_asks_each_once() {
    let w = World::new();
    let app = app(&w);
    app.approved("setup = [\"true\"]\n");
    app.commit(".gitignore", ".env\nsweatfile\n");
    app.write(".env", "A=1\n");
    let child = w.at(app.shopfloor(&["new", "feat"]).exit(0).any_err().stdout.trim_end());
    app.approved("setup = [\"true\", \"echo\"]\n");
    app.overlay(&["-q", "add", ".env"]).exit(0);
    app.overlay(&["-q", "attach", ".", child.path.to_str().unwrap()]).exit(0).any_out();
    child.commit("README.md", "one\n2\nthree\n");
    child.write("new", "");
    child.write(".env", "A=2\n");
    app.run("worker-ctl", &["init"]).exit(0).any_out();
    app.run("worker-ctl", &["add", "adam"]).exit(0).any_out();
    app.spawn(&["-C", child.path.to_str().unwrap(), "notify", "info", "half way"]).exit(0).any_out().any_err();
    app.ledger(&["add", "--agent", "ada", "--done", "began"]).exit(0).any_out();
    // Count the processes.
    for tool in &TOOLS[..5] {
        let real = w.path("bin").join(tool).read_link().unwrap();
        let count = w.path("count");
        let body = format!("echo $0 >> '{}'\nexec -a {tool} '{}' \"$@\"", count.display(), real.display());
        w.program(tool, &body.replace("exec -a", "exec bash -c 'exec -a \"$0\" \"$@\"'"));
    }
    let status = app.shopfloor(&["status", "--json"]).exit(0).json();
    assert_eq!(std::fs::read_to_string(w.path("count")).unwrap().lines().count(), 5);
    let feat = row(&status, "feat");
    assert_eq!(text(feat, "/branch"), "main.feat");
    assert_eq!(feat["stat"], serde_json::json!({ "files": 1, "insertions": 2, "deletions": 1 }));
    assert_eq!((&feat["dirty"], &feat["unsynced"]), (&true.into(), &1.into()));
    assert!(feat["drift"].as_u64() > Some(0), "{feat}");
    assert_eq!(row(&status, "root")["pending"], 1);
    assert_eq!((text(row(&status, "adam"), "/kind"), text(row(&status, "adam"), "/task")), ("pool", "idle"));
    assert_eq!(status["ledger"], serde_json::json!({ "fresh": false, "event_count": 1 }));
    assert_eq!(status["problems"], serde_json::json!([]));
    let out = app.shopfloor(&["status"]).exit(0);
    out.out_has("NAME").out_has("+2 -1, 1 ahead, uncommitted").out_has("1 unsynced").out_has("current.md is stale");
}

#[test]
fn changes_are_the_branch_s_own_and_not_those_of_the_branch_on_which_it_lands() {
    let w = World::new();
    let app = app(&w);
    let child = w.at(app.shopfloor(&["new", "feat"]).exit(0).any_err().stdout.trim_end());
    let status = || app.shopfloor(&["status"]).exit(0).any_err().stdout.clone();
    child.commit("feat", "a\n");
    app.commit("README.md", "one\ntwo\nthree\nfour\n");
    child.git(&["merge", "-q", "-m", "with main", "main"]);
    assert!(status().contains("+1 -0, 2 ahead"), "{}", status());
    child.git(&["rebase", "-q", "main"]);
    assert!(status().contains("+1 -0, 1 ahead"), "{}", status());
    app.git(&["merge", "-q", "--ff-only", "main.feat"]);
    assert!(status().contains("merged"), "{}", status());
    // What is not committed is all that is left.
    child.write("feat", "b\n");
    let left = status();
    assert!(left.contains("+1 -1, uncommitted") && !left.contains("merged"), "{left}");
    // A branch that has only followed the other one had nothing to merge.
    let idle = w.at(app.shopfloor(&["new", "idle"]).exit(0).any_err().stdout.trim_end());
    let later = |date| [("GIT_COMMITTER_DATE", date)];
    app.write("README.md", "later\n");
    app.run_with("git", &["commit", "-qam", "later"], &later("2026-02-02T00:00:00Z")).exit(0);
    idle.run_with("git", &["merge", "-q", "--ff-only", "main"], &later("2026-03-03T00:00:00Z")).exit(0);
    assert!(!status().contains("merged"), "{}", status());
    // Also within one second, whatever moved it, and to a commit that the other one was moved past.
    for (name, line) in [
        ("ff", "git merge -q --ff-only main"),
        ("re", "git rebase -q main"),
        ("back", "git reset -q --hard main && git reset -q --hard HEAD~1"),
    ] {
        let follows = w.at(app.shopfloor(&["new", name]).exit(0).any_err().stdout.trim_end());
        app.git(&["switch", "-q", "-c", name]);
        app.commit(name, "1\n");
        app.commit(name, "2\n");
        app.git(&["switch", "-q", "main"]);
        app.git(&["merge", "-q", "--ff-only", name]);
        follows.sh(line).exit(0).any_err();
        assert!(!status().contains("merged"), "{}", status());
    }
}

#[test]
fn what_a_person_has_merged_as_another_commit_has_landed_for_land_and_rm_alike() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let app = &floor.app;
    let b = w.at(app.shopfloor(&["new", "b"]).exit(0).any_err().stdout.trim_end());
    app.shopfloor(&["adopt", "b", "--agent", "scripted"]).exit(0).any_out().any_err();
    b.commit("own", "b\n");
    app.shopfloor(&["rm", "b"]).exit(1).any_out().err_has("the work of b has not landed");
    app.git(&["merge", "-q", "--squash", "main.b"]);
    app.git(&["commit", "-q", "-m", "squashed"]);
    app.shopfloor(&["land", "b"]).exit(1).any_out().any_err();
    app.shopfloor(&["rm", "b"]).exit(0).any_out().any_err();
    assert!(!b.path.exists());
}

#[test]
fn work_that_its_branch_has_lost_is_not_merged_and_land_says_how_it_comes_back() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let (app, adam) = (&floor.app, tree(&floor, "adam"));
    floor.up();
    adam.commit("f", "one\n");
    floor.until("adam", "needs_review");
    adam.git(&["reset", "-q", "--hard", "HEAD~1"]);
    floor.ctl(&["patrol"]).succeeds().any_err();
    let shown = app.shopfloor(&["status"]).exit(0).any_err();
    assert!(shown.stdout.contains("you: review") && !shown.stdout.contains("merged"), "{shown}");
    let refused = app.shopfloor(&["land", "adam"]).exit(1);
    refused.err_has("has lost that commit").err_has("`shopfloor reset adam --force`");
    let back = refused.stderr.split('`').find(|words| words.contains(" merge ")).unwrap();
    app.sh(back).exit(0).any_out().any_err();
    // The branch has it, but something else is checked out.
    adam.git(&["switch", "-q", "--detach"]);
    adam.commit("g", "two\n");
    let refused = app.shopfloor(&["land", "adam"]).exit(1);
    let back = refused.any_out().stderr.split('`').find(|words| words.contains(" switch ")).unwrap().to_owned();
    app.sh(&back).exit(0).any_out().any_err();
    app.shopfloor(&["land", "adam"]).exit(0).any_out().any_err();
    assert_eq!((app.read("f"), app.has("g")), ("one\n".into(), false));
}

#[test]
fn while_nobody_looks_at_commits_status_says_so() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    floor.up();
    floor.ctl(&["start", "--worker", "adam", "--prompt", "Wait"]).succeeds();
    tree(&floor, "adam").commit("f", "one\n");
    let status = || floor.app.shopfloor(&["status"]).exit(0).any_err().stdout.clone();
    let before = status();
    assert!(before.contains("adam: it has commits") && before.contains("`shopfloor patrol` looks once"), "{before}");
    // Where it has strayed, no look helps.
    let adam = tree(&floor, "adam");
    adam.git(&["switch", "-q", "-c", "mine"]);
    floor.ctl(&["patrol"]).succeeds().any_err();
    let strayed = status();
    let why = "adam: its worktree is on the branch mine instead of its own";
    assert!(strayed.contains(why) && !strayed.contains("nobody looks"), "{strayed}");
    adam.git(&["switch", "-q", "feature/adam"]);
    floor.until("adam", "needs_review");
    let after = status();
    assert!(after.contains("you: review") && !after.contains("has commits"), "{after}");
    // Whatever else there is to do.
    adam.git(&["switch", "-q", "mine"]);
    floor.ctl(&["patrol"]).succeeds().any_err();
    let both = status();
    let told = row(&floor.app.shopfloor(&["status", "--json"]).exit(0).any_err().json(), "adam")["notes"][0].clone();
    assert!(both.contains("you: review") && both.contains(why) && why.ends_with(text(&told, "")), "{both}");
}

#[test]
fn a_review_that_nobody_sees_looks_whether_there_is_work() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    floor.up();
    floor.ctl(&["start", "--worker", "adam", "--prompt", "Wait"]).succeeds();
    tree(&floor, "adam").commit("f", "one\n");
    floor.app.shopfloor(&["review", "adam"]).exit(0).out_has("+one").err_has("does not count as a review");
    let adam = floor.status("adam");
    assert_eq!((text(&adam, "/task"), adam["reviewed_sha"].is_null()), ("needs_review", true));
}

#[test]
fn what_is_wrong_with_an_agent_stands_in_its_row() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    floor.up();
    floor.ctl(&["start", "--worker", "adam", "--prompt", "EXIT 7"]).succeeds();
    floor.until("adam", "error");
    floor.app.shopfloor(&["status"]).exit(0).any_err().out_has("error (exit 7), task working").out_has("you: look");
    let told = floor.app.shopfloor(&["status", "--json"]).exit(0).any_err().json();
    assert!(told["worktrees"].as_array().unwrap().iter().any(|row| row["fault"] == "exit 7"), "{told}");
}

#[test]
fn what_a_tool_cannot_say_is_told_and_the_rest_is_shown() {
    let w = World::new();
    let app = app(&w);
    app.shopfloor(&["status"]).exit(0).out_has("main checkout");
    // Of a worktree that a tool cannot read, the reason.
    app.git(&["worktree", "add", "-q", "-b", "two", "../two\nlines"]);
    let out = app.shopfloor(&["status"]).exit(0);
    out.out_has("two").out_has("main checkout").err_has("two\\nlines contains a newline");
    // What a hint shows of it can be typed.
    app.shopfloor(&["review", "two"]).exit(1).err_has("`shopfloor adopt two`");
    app.git(&["worktree", "remove", "--force", "../two\nlines"]);
    w.program("overlay-sync", "exit 4");
    std::fs::remove_file(w.path("bin/ledger-synth")).unwrap();
    let out = app.shopfloor(&["status"]).exit(4);
    out.out_has("main checkout")
        .err_has("overlay-sync: it ended with exit status 4")
        .err_has("ledger-synth is not on the PATH");
    let told = app.shopfloor(&["status", "--json"]).exit(4).any_err().json();
    assert_eq!(told["problems"].as_array().unwrap().len(), 2);
    assert!(text(&told, "/error/message").contains("overlay-sync: it ended with exit status 4"), "{told}");
    // Nobody knows then which worktrees there are: a worker in one would be forgotten, and the worktree stay.
    let verbs: [&[&str]; 4] = [&["land"], &["rm"], &["rm", "--force"], &["go"]];
    w.program("worktree-spawn", "exit 4");
    for verb in verbs {
        let out = app.shopfloor(&[verb, &["two"]].concat()).exit(4);
        out.err_has("worktree-spawn ended with exit status 4").err_has("run the same command again");
    }
    std::fs::remove_file(w.path("bin/worktree-spawn")).unwrap();
    for verb in verbs {
        app.shopfloor(&[verb, &["two"]].concat()).exit(4).err_has("worktree-spawn is not on the PATH");
    }
}

#[test]
fn what_was_refused_of_a_sandbox_is_told_and_waits_for_a_person() {
    let w = World::new();
    if !works(&w) {
        return;
    }
    let app = app(&w);
    app.shopfloor(&["new", "feat"]).exit(0).any_out().any_err();
    let line = "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub && git commit -qm sub";
    let out = app.spawn(&["run", "main.feat", "--sandbox", "--", "sh", "-c", line]).any_status().any_out();
    out.err_has("import refused");
    assert_eq!(text(row(&app.shopfloor(&["status", "--json"]).exit(0).json(), "feat"), "/waits_for"), "look");
    app.shopfloor(&["status"]).exit(0).out_has("you: look").out_has("feat: import refused: ");
}

#[test]
fn go_finds_a_worktree_by_any_of_its_names() {
    let w = World::new();
    let app = app(&w);
    let path = app.shopfloor(&["new", "feat"]).exit(0).any_err().stdout.clone();
    for name in ["feat", "main.feat", "../app.worktrees/feat"] {
        assert_eq!(app.shopfloor(&["go", name]).exit(0).stdout, path);
    }
    app.run("worker-ctl", &["init"]).exit(0).any_out();
    app.run("worker-ctl", &["add", "adam"]).exit(0).any_out();
    let adam = format!("{}\n", w.home("workers/.worktrees/adam").display());
    for name in ["adam", "worker/adam"] {
        assert_eq!(app.shopfloor(&["go", name]).exit(0).stdout, adam);
    }
    // The name that was given to `new`, too.
    let spaced = app.shopfloor(&["new", "With space"]).exit(0).any_err().stdout.clone();
    assert_eq!(app.shopfloor(&["go", "With space"]).exit(0).stdout, spaced);
    for name in ["Straße", "日本語", "🚀"] {
        let path = app.shopfloor(&["new", name]).exit(0).any_err().stdout;
        assert_eq!(app.shopfloor(&["go", name]).exit(0).stdout, path);
    }
    app.shopfloor(&["rm", "With space"]).exit(0).any_err().out_has("removed main.with-space");
    // From everywhere in the repository.
    let child = w.at(path.trim_end());
    assert_eq!(child.shopfloor(&["go"]).exit(0).stdout, format!("{}\n", app.path.display()));
    app.shopfloor(&["go", "nobody"]).exit(1).err_has("no worktree called nobody").err_has("shopfloor new NAME");
    app.shopfloor(&["new", "lost"]).exit(0).any_out().any_err();
    std::fs::remove_dir_all(app.path.with_file_name("app.worktrees").join("lost")).unwrap();
    app.shopfloor(&["go", "lost"]).exit(1).err_has("app.worktrees/lost is not there").err_has("`shopfloor doctor`");
    app.shopfloor(&["status"]).any_status().any_err().out_has("if you deleted it: `shopfloor rm main.lost`");
    app.shopfloor(&["doctor"]).any_status().any_err().out_has("with `shopfloor rm main.lost`");
    app.spawn(&["subtree", "adam"]).exit(0).any_out().any_err();
    app.shopfloor(&["go", "adam"]).exit(1).err_has("adam could be main.adam or worker/adam");
    assert_eq!(app.shopfloor(&["go", "worker/adam"]).exit(0).stdout, adam);
    // Each word names one alone, where a branch is called like an agent, too.
    app.git(&["worktree", "add", "-q", "-b", "dup", "../other"]);
    app.shopfloor(&["new", "dup"]).exit(0).any_out().any_err();
    let other = app.path.with_file_name("other").display().to_string();
    app.shopfloor(&["go", "dup"]).exit(1).err_has("main.dup").err_has(&other);
    assert_eq!(app.shopfloor(&["go", &other]).exit(0).stdout, other + "\n");
    app.shopfloor(&["rm", "worker/adam"]).exit(0).any_err().out_has("removed adam");
    app.shopfloor(&["go", "worker/adam"]).exit(1).any_err();
    // A terminal obeys no name.
    let odd = app.path.with_file_name("o\u{1b}[2J\u{202e}d");
    app.git(&["worktree", "add", "-q", "-b", "odd", odd.to_str().unwrap()]);
    assert_eq!(app.shopfloor(&["go", "odd"]).exit(0).any_err().stdout, format!("{}\n", odd.display()));
    let shown = app.on_terminal("shopfloor go odd", "").exit(0).any_err();
    shown.out_has("/o\\u{1b}[2J\\u{202e}d");
    assert!(!shown.stdout.contains("\u{1b}[2J") && !shown.stdout.contains('\u{202e}'), "{shown}");
}

#[test]
fn the_shell_function_changes_the_directory() {
    let w = World::new();
    let app = app(&w);
    // On a terminal it changes the directory; what reads its answer gets the path.
    let script = "eval \"$(shopfloor shell-init SHELL)\"; set -u
        shopfloor -q go feat; basename \"$PWD\" >> ~/SHELL; shopfloor -q go; shopfloor -q open feat
        basename \"$PWD\" >> ~/SHELL; basename \"$(shopfloor go feat)\" >> ~/SHELL
        shopfloor rm feat; basename \"$PWD\" >> ~/SHELL; shopfloor go nobody; echo $? >> ~/SHELL; shopfloor\n";
    let fish = "shopfloor shell-init fish | source
        shopfloor -q go feat; basename \"$PWD\" >> ~/fish; shopfloor -q go; shopfloor -q open feat
        basename \"$PWD\" >> ~/fish; basename (shopfloor go feat) >> ~/fish
        shopfloor rm feat; basename \"$PWD\" >> ~/fish; shopfloor go nobody; echo $status >> ~/fish\n";
    for (shell, script) in [("bash", script), ("zsh", script), ("fish", fish)] {
        if shell != "bash" && !needs(shell) {
            continue;
        }
        app.shopfloor(&["new", "feat"]).exit(0).any_out().any_err();
        write(&w.home("script"), &script.replace("SHELL", shell));
        let out = app.on_terminal(&format!("{shell} ~/script"), "").any_status();
        let lines = w.at(w.home("")).read(shell);
        assert_eq!(lines.lines().collect::<Vec<_>>(), ["feat", "feat", "feat", "app", "1"], "{shell}: {out}");
        assert!(out.stdout.contains("removed main.feat"), "{shell}: {out}");
    }
}

#[test]
fn new_and_done_answer_as_worktree_spawn_does() {
    let w = World::new();
    let app = app(&w);
    let out =
        app.shopfloor(&["new", "feat", "--task", "t", "--", "sh", "-c", "cat $SHOPFLOOR_TASK_FILE; exit 7"]).exit(7);
    assert_eq!(out.any_err().stdout, "t");
    app.shopfloor(&["new", "feat"]).exit(1).any_err();
    app.shopfloor(&["-n", "new", "other"]).exit(0).any_out().any_err();
    assert!(!app.path.with_file_name("app.worktrees").join("other").exists());
    let json = app.shopfloor(&["new", "other", "--json"]).exit(0).any_err().json();
    let other = w.at(text(&json, "/worktree"));
    other.write("work", "work");
    app.shopfloor(&["rm", "other", "feat"]).exit(1).any_out().err_has("--force");
    assert!(other.has("work"));
    other.git(&["add", "-A"]);
    other.git(&["commit", "-q", "-m", "work"]);
    app.git(&["merge", "-q", "main.other"]);
    app.shopfloor(&["rm", "other", "feat"])
        .exit(0)
        .any_err()
        .out_has("removed main.other")
        .out_has("removed main.feat");
}

#[test]
fn new_starts_the_agent_in_the_terminal_there_is() {
    let w = World::new();
    let app = app(&w);
    app.shopfloor(&["new", "feat", "--launch"]).exit(2).err_has("no tmux or zellij").err_has("after `--`");
    assert!(!app.path.with_file_name("app.worktrees").exists());
    w.program("tmux", "echo tmux \"$@\" >> ~/launched");
    let vars = [("TMUX", "/nowhere,1,0")];
    app.run_with("shopfloor", &["new", "feat", "--task", "t", "--launch"], &vars).exit(0).any_out().any_err();
    assert!(w.at(w.home("")).read("launched").contains("feat"));
    // A launcher that a person has configured comes first.
    app.run("worktree-spawn", &["remove", "feat", "--force"]).any_status().any_out().any_err();
    let vars = [("WORKTREE_SPAWN_LAUNCHER", "sh -c 'echo mine >> ~/mine' {path}")];
    app.run_with("shopfloor", &["new", "other", "--launch"], &vars).exit(0).any_out().any_err();
    crate::support::world::wait_for(|| w.at(w.home("")).has("mine"));
}

#[test]
fn doctor_shows_what_all_doctors_find() {
    let w = World::new();
    let app = app(&w);
    app.ledger(&["install"]).exit(0).any_out().any_err();
    app.shopfloor(&["doctor"]).exit(0).out_has("worktree-spawn").out_has("not set up in this repository");
    // Nor is the help of a bare call JSON.
    assert_eq!(text(&app.shopfloor(&["--json"]).exit(0).json(), "/worktrees/0/name"), "root");
    app.shopfloor(&["doctor", "--repair"]).exit(0).out_has("not set up in this repository");
    let json = app.shopfloor(&["doctor", "--json"]).exit(0);
    let records: Vec<Value> = json.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(TOOLS[..5].iter().all(|tool| records.iter().any(|record| record["tool"] == *tool)), "{json}");
    app.git(&["config", "--unset", "merge.ledger-synth.driver"]);
    app.shopfloor(&["doctor"]).exit(1).out_has("wrong  ledger-synth     driver");
    app.shopfloor(&["doctor", "--repair"]).exit(3).err_has("nothing was repaired");
    app.shopfloor(&["doctor", "--repair", "--yes"]).exit(0).any_out().any_err();
    // A worktree that was removed is nothing to worry about.
    app.commit(".gitignore", ".env\n");
    app.write(".env", "A=1\n");
    let child = app.shopfloor(&["new", "feat"]).exit(0).any_err().stdout.trim_end().to_owned();
    app.overlay(&["-q", "add", ".env"]).exit(0);
    app.overlay(&["-q", "attach", ".", &child]).exit(0).any_out();
    app.shopfloor(&["rm", "feat"]).exit(0).any_out().any_err();
    app.shopfloor(&["doctor"]).exit(0).out_has("was removed; the next sync forgets it");
    app.overlay(&["sync"]).exit(0);
    // Somebody who wants no ledger has nothing to mend, and no repair sets it up.
    let (other, unused) = (w.repo("other"), "ok     ledger-synth     state: not set up in this repository");
    let repaired = other.shopfloor(&["doctor", "--repair", "--yes"]).exit(0);
    repaired.out_has(unused);
    assert!(!repaired.stderr.contains("no root") && !other.has(".gitattributes") && !other.has(".git/hooks/pre-push"));
    // A hook that `setup` installed has to be there, and a doctor that dies has not found that all is well.
    app.shopfloor(&["setup", "--yes"]).exit(0).any_out().any_err();
    app.shopfloor(&["doctor"]).exit(0).out_has("sweatfile-apply  hooks: installed");
    app.apply(&["hook", "uninstall"]).exit(0).any_out();
    app.shopfloor(&["doctor"])
        .exit(1)
        .out_has("wrong  sweatfile-apply  hooks: not installed; sweatfile-apply hook install");
    app.apply(&["hook", "install"]).exit(0).any_out();
    let twice = r#"{"check":"hooks","ok":false,"detail":"called twice","fix":"delete a line"}"#;
    let installed = r#"{"check":"hooks","ok":true,"detail":"installed","fix":null}"#;
    w.program("overlay-sync", &format!("printf '%s\\n' '{installed}' '{twice}'; exit 1"));
    app.shopfloor(&["doctor"]).exit(1).out_has("hooks: installed\n").out_has("hooks: called twice; delete a line");
    w.program("overlay-sync", "exit 101");
    app.shopfloor(&["doctor"]).exit(1).out_has("wrong  overlay-sync     state: it ended with exit status 101");
    w.program("worker-ctl", "echo worker-ctl 9.9.9");
    app.shopfloor(&["doctor"]).exit(1).out_has("wrong  worker-ctl       version: worker-ctl 9.9.9; install all");
    std::fs::remove_file(w.path("bin/worker-ctl")).unwrap();
    app.shopfloor(&["doctor"]).exit(1).out_has("installed: worker-ctl is not on the PATH");
    other.shopfloor(&["doctor"]).exit(1).out_has(unused);
}

/// The branch of an agent that is gone says how it is merged or given up, and a new agent can go on with it.
#[test]
fn a_branch_that_stays_can_be_taken_up_again() {
    let w = World::new();
    let app = app(&w);
    let child = w.at(app.shopfloor(&["new", "feat"]).exit(0).any_err().stdout.trim_end());
    child.commit("more", "1\n");
    let base = child.path.parent().unwrap().to_path_buf();
    assert!(base.ends_with("app.worktrees"));
    app.shopfloor(&["rm", "feat"]).exit(1).err_has("the work of feat has not landed").err_has("`shopfloor land feat`");
    child.spawn(&["notify", "failure", "no compiler here"]).exit(0).any_out().any_err();
    let out = app.shopfloor(&["rm", "feat", "--force"]).exit(0).any_out();
    assert!(!base.exists());
    // Nobody has read it before.
    out.err_has("feat reported failure: no compiler here");
    app.spawn(&["wait", "--timeout", "0s"]).exit(124).any_err();
    out.err_has("`git merge main.feat` takes them over").err_has("`git branch -D main.feat` gives them up");
    app.shopfloor(&["new", "feat"]).exit(1).err_has("--reuse-branch");
    let again = w.at(app.shopfloor(&["new", "feat", "--reuse-branch"]).exit(0).any_err().stdout.trim_end());
    assert_eq!(again.read("more"), "1\n");
}

/// Two installations on the PATH are named; the scripts and programs of one from npm are one.
#[test]
fn doctor_names_two_installations_on_the_path() {
    let w = World::new();
    let app = app(&w);
    app.shopfloor(&["doctor"]).exit(0).any_out();
    let npm = "cd; mkdir -p npm/node_modules/shopfloor/bin npm/node_modules/@shopfloor-tools/bin npm/bin
        printf '#!/bin/sh\\nexit 9\\n' > npm/node_modules/shopfloor/bin/worker-ctl.js
        chmod +x npm/node_modules/shopfloor/bin/worker-ctl.js
        ln -s ../node_modules/shopfloor/bin/worker-ctl.js npm/bin/worker-ctl
        cp $(command -v worker-ctl) npm/node_modules/@shopfloor-tools/bin";
    app.sh(npm).exit(0);
    let path = "PATH=~/npm/node_modules/@shopfloor-tools/bin:$PATH:~/npm/bin shopfloor doctor";
    // One line, however many tools there are.
    let out = app.sh(path).exit(1);
    out.out_has("npm's below ").out_has(" and ").out_has("; keep one of these installations");
    assert_eq!(out.stdout.matches("copies").count(), 1, "{out}");
    // Without the other one, no copy is left over.
    let tools = "for tool in $(ls $(dirname $(command -v shopfloor))); do cp $(command -v $tool) ~/npm/node_modules/@shopfloor-tools/bin; done";
    app.sh(tools).exit(0);
    let alone = "PATH=~/npm/node_modules/@shopfloor-tools/bin:/usr/local/bin:/usr/bin:/bin:~/npm/bin shopfloor doctor";
    let out = app.sh(alone).any_status();
    assert!(!out.stdout.contains("copies"), "{out}");
}

#[test]
fn new_sets_up_its_worktrees_whoever_runs_gits_hooks() {
    let w = World::new();
    let app = app(&w);
    app.approved("[env]\nA = \"1\"\n");
    app.run("worker-ctl", &["init"]).exit(0).any_out();
    // No hook at all, then hooks from a directory that other repositories share.
    for (name, before) in [("x", "true"), ("y", "mkdir ~/hooks && git config core.hooksPath ~/hooks")] {
        app.sh(before).exit(0);
        let made = w.at(app.shopfloor(&["new", name]).exit(0).any_err().stdout.trim_end());
        assert_eq!(made.read(".sweatshop-env"), "A=1\n", "{before}");
        let cloned = app.shopfloor(&["new", &format!("{name}-cloned"), "--clone"]).exit(0).any_err();
        assert_eq!(w.at(cloned.stdout.trim_end()).read(".sweatshop-env"), "A=1\n", "{before}");
    }
    // worktree-spawn makes what git would.
    let made = w.at(app.spawn(&["subtree", "z"]).exit(0).any_err().stdout.trim_end());
    assert!(!made.has(".sweatshop-env"));
}

#[test]
fn what_an_agent_commits_after_its_landing_has_not_landed() {
    let w = World::new();
    which("tmux");
    let app = w.app();
    app.commit("README.md", "app\n");
    let a = w.at(app.shopfloor(&["new", "a"]).exit(0).any_err().stdout.trim_end());
    let status = || app.shopfloor(&["status"]).any_status().any_err().stdout.clone();
    for file in ["one", "two"] {
        a.commit(file, "x\n");
        let before = status();
        assert!(before.contains("1 ahead") && !before.contains("merged"), "{before}");
        let refused = app.shopfloor(&["rm", "a"]).exit(1);
        refused.err_has("the work of a has not landed").err_has("`shopfloor land a`");
        app.shopfloor(&["land", "a"]).exit(0).any_out().any_err();
        assert!(app.has(file) && status().contains("merged"));
    }
    app.shopfloor(&["rm", "a"]).exit(0).any_out().any_err();
}
