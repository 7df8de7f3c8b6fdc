//! What works in a worktree that goes: what set-up or an agent started is ended, everything else is named.

use std::path::Path;
use std::process::{Child, Stdio};

use crate::support::floor::Floor;
use crate::support::worker::{Staying, up};
use crate::support::world::{Repo, World, wait_for};

/// A program that works there and ends with the test.
struct Works(Child);

impl Works {
    fn there(w: &World, dir: &Path) -> Works {
        Works::called(w, Path::new("sleep"), dir)
    }

    fn called(w: &World, program: &Path, dir: &Path) -> Works {
        let mut command = w.command(program);
        command.arg("707070").current_dir(dir).stdin(Stdio::null()).stdout(Stdio::null());
        Works(command.spawn().unwrap())
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    fn named(&self) -> String {
        format!("{} (sleep 707070)", self.0.id())
    }
}

impl Drop for Works {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether the process whose number is in a file lives, and is no zombie.
fn lives(w: &World, pid_file: &str) -> bool {
    let pid = w.at(w.home("")).read(pid_file);
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Whether that process is a `sleep` by now. At first its words are those of the shell that started it.
fn is_sleep(w: &World, pid_file: &str) -> bool {
    let pid = w.at(w.home("")).read(pid_file);
    let words = std::fs::read_to_string(format!("/proc/{}/cmdline", pid.trim())).unwrap();
    words.starts_with("sleep")
}

fn spawned<'w>(w: &'w World, app: &Repo<'w>, name: &str) -> Repo<'w> {
    w.at(app.spawn(&["subtree", name]).exit(0).any_err().stdout.trim_end())
}

#[test]
fn rm_ends_what_set_up_started_and_names_what_others_have_there() {
    let w = World::new();
    let app = w.app();
    app.approved("setup = [\"sleep 707071 & echo $! > ~/pid\"]\n");
    app.apply(&["hook", "install"]).exit(0).any_out().any_err();
    let wt = spawned(&w, &app, "feat");
    wait_for(|| is_sleep(&w, "pid"));
    let (mut other, mut outside) = (Works::there(&w, &wt.path), Works::there(&w, &app.path));
    // From another set-up, and elsewhere by now.
    let moved = app.run_with(
        "sh",
        &["-c", "sleep 707072 > /dev/null 2>&1 & echo $! > ~/moved"],
        &[("SWEATFILE_WORKTREE", wt.path.to_str().unwrap())],
    );
    moved.exit(0);
    assert!(lives(&w, "pid") && lives(&w, "moved"));
    let done = app.shopfloor(&["rm", "feat"]).exit(0).any_out();
    done.err_has("ended").err_has("(sleep 707071)").err_has(&format!("{} works in", other.named()));
    assert!(!lives(&w, "pid") && lives(&w, "moved") && other.lives() && outside.lives() && !wt.path.exists());
    // With --reap everything goes, after a question.
    let wt = spawned(&w, &app, "two");
    let mut other = Works::there(&w, &wt.path);
    app.shopfloor(&["rm", "two", "--reap"]).exit(3).any_out().err_has(&other.named());
    app.spawn(&["remove", "main.two", "--reap"]).exit(3).any_out().err_has(&other.named());
    assert!(lives(&w, "pid") && other.lives() && wt.path.exists());
    app.shopfloor(&["rm", "two", "--reap", "--yes"]).exit(0).any_out().err_has(&format!("ended {}", other.named()));
    assert!(!lives(&w, "pid") && !other.lives() && lives(&w, "moved") && outside.lives() && !wt.path.exists());
    app.sh("kill $(cat ~/moved)").exit(0);
}

#[test]
fn gc_ends_what_its_agent_left_and_waits_for_others() {
    let w = World::new();
    let app = w.app();
    app.commit("a", "a\n");
    let left = "setsid sleep 707073 > /dev/null 2>&1 & echo $! > ~/pid";
    app.spawn(&["subtree", "one", "--", "sh", "-c", left]).exit(0).any_out().any_err();
    wait_for(|| lives(&w, "pid"));
    app.spawn(&["gc"]).exit(0).any_err().out_has("removed main.one");
    assert!(!lives(&w, "pid"));
    app.spawn(&["subtree", "two", "--", "true"]).exit(0).any_out().any_err();
    let at = app.spawn(&["path", "main.two"]).exit(0).stdout.trim_end().to_owned();
    let mut other = Works::there(&w, Path::new(&at));
    app.spawn(&["gc"]).exit(0).any_out().err_has(&format!("a program works in it: {}", other.named()));
    app.spawn(&["gc", "--reap"]).exit(0).any_out().err_has("a program works in it");
    assert!(other.lives());
    app.spawn(&["gc", "--reap", "--yes"]).exit(0).any_err().out_has("removed main.two");
    assert!(!other.lives());
}

#[test]
fn a_worker_gets_no_task_while_its_set_up_runs_and_its_programs_go_with_it() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam", "eve"]);
    let tree = w.at(floor.app.path.with_file_name("adam"));
    floor.app.run("mkfifo", &[w.home("gate").to_str().unwrap()]).exit(0);
    floor.app.approved("setup = [{ run = \"read x < ~/gate\", name = \"deps\", background = true }]\n");
    floor.app.sh("echo /sweatfile >> .git/info/exclude").exit(0);
    tree.apply(&[]).exit(0).any_out().any_err();
    let mut staying = Staying::new(&floor, &["up"]);
    floor.until("adam", "idle");
    floor.until("eve", "idle");
    let refused = floor.ctl(&["start", "adam", "--task", "work"]).exit(1).any_out();
    refused.err_has("the set-up of adam still runs: `deps`").err_has("wait`, or use `--force`");
    // The queue goes on without it: its task would have come first.
    floor.ctl(&["start", "--queue", "--worker", "adam", "--task", "first"]).exit(0).any_out().any_err();
    floor.ctl(&["start", "--queue", "--worker", "eve", "--task", "second"]).exit(0).any_out().any_err();
    floor.until("eve", "working");
    assert_eq!(floor.status("adam")["task"], "idle");
    floor.app.sh("echo x > ~/gate").exit(0);
    floor.until("adam", "working");
    floor.ctl(&["down"]).exit(0).any_out().any_err();
    staying.ended();
    // What a person has there is named, or ended if that is asked for.
    let mut other = Works::there(&w, &tree.path);
    floor.ctl(&["nuke", "adam", "--worktree", "--force", "--reap"]).exit(3).any_out().err_has("nothing was removed");
    assert!(other.lives());
    let done = floor.ctl(&["nuke", "adam", "--worktree", "--force", "--reap", "--yes"]).exit(0).any_out();
    done.err_has(&format!("ended {}", other.named()));
    assert!(!other.lives() && !tree.path.exists());
    let eve = floor.app.path.with_file_name("eve");
    let mut other = Works::there(&w, &eve);
    let done = floor.ctl(&["nuke", "eve", "--worktree", "--force", "--yes"]).exit(0).any_out();
    done.err_has(&format!("{} works in", other.named()));
    assert!(other.lives() && !eve.exists());
}

#[test]
fn an_agent_program_that_was_not_started_here_keeps_its_worktree() {
    let w = World::new();
    let floor = Floor::new(&w);
    let app = &floor.app;
    w.program("codex", "read line < ~/never");
    let codex = w.path("bin/codex");
    app.sh("mkfifo ~/never").exit(0);
    floor.ctl(&["add", "adam"]).succeeds();
    let x = spawned(&w, app, "x").path.clone();
    app.git(&["worktree", "add", "-q", "../y"]);
    let y = app.path.with_file_name("y");
    for path in [&x, &y] {
        app.run("worker-ctl", &["add", "--worktree", path.to_str().unwrap()]).succeeds().any_err();
    }
    let adam = floor.root.path.join(".worktrees/adam");
    // Nothing is ended before that is known.
    up(&floor, &["adam"]);
    let other = Works::called(&w, &codex, &adam);
    for words in [&["reset", "adam"][..], &["nuke", "adam", "--yes"]] {
        floor.ctl(words).exit(1).err_has("codex runs in ");
        assert_eq!(floor.status("adam")["status"], "idle");
    }
    drop(other);
    floor.ctl(&["down"]).succeeds().any_err();
    for (name, path) in [("adam", &adam), ("x", &x), ("y", &y)] {
        let mut other = Works::called(&w, &codex, path);
        let before = ["hook", "run", "pre-remove", path.to_str().unwrap()];
        for words in [
            &["up", name][..],
            &["reset", name, "--force", "--yes"],
            &["nuke", name, "--worktree", "--yes"],
            &["nuke", name, "--worktree", "-n"],
            &before,
        ] {
            // Worktrees of the clone are removed by worker-ctl alone.
            if name != "adam" || words != before {
                floor.ctl(words).exit(1).err_has("codex runs in ").err_has("was not started here");
            }
        }
        app.shopfloor(&["rm", name]).exit(1).any_out().err_has("codex runs in ");
        assert!(other.lives() && path.exists(), "{name}");
        let done = app.shopfloor(&["rm", name, "--reap", "--yes"]).exit(0).any_out();
        done.err_has(&format!("ended {} (", other.0.id()));
        assert!(!other.lives() && !path.exists(), "{name}");
    }
}

#[test]
fn what_logs_the_terminal_of_another_works_in_no_worktree() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam", "eve"]);
    for name in ["adam", "eve"] {
        up(&floor, &[name]);
    }
    let done = floor.ctl(&["nuke", "adam", "--worktree", "--force", "--yes"]).exit(0).any_out();
    assert!(!done.stderr.contains("works in"), "{done}");
}
