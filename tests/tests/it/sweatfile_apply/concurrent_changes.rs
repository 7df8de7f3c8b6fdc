//! Changes made while a command runs, by a git that runs another command first at a known moment.

use crate::support::world::{Repo, World, text, which};

/// Makes the next `git check-ignore` run this line of shell before it answers.
fn meanwhile(w: &World, line: &str) {
    let once = w.path("once");
    crate::support::world::write(&once, "");
    let git = which("git");
    w.program(
        "git",
        &format!(
            "case \"$*\" in *check-ignore*) if rm {} 2>/dev/null; then ( {line} ) >&2; fi ;; esac\nexec {} \"$@\"",
            once.display(),
            git.display()
        ),
    );
}

fn path<'r>(repo: &'r Repo<'_>) -> &'r str {
    repo.path.to_str().unwrap()
}

#[test]
fn a_variable_added_while_apply_runs_is_not_lost() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\n");
    app.apply(&[]).succeeds();
    w.area("[env]\nA = \"2\"\n");
    meanwhile(&w, &format!("echo MINE=1 >> {}/.sweatshop-env", path(&app)));
    app.apply(&[]).exit(4).any_out().err_has("was edited meanwhile");
    assert_eq!(app.read(".sweatshop-env"), "A=1\nMINE=1\n");
    app.apply(&[]).succeeds();
    assert_eq!(app.read(".sweatshop-env"), "A=2\nMINE=1\n");
}

#[test]
fn a_file_that_appears_while_apply_runs_is_kept() {
    let w = World::new();
    let app = w.app();
    w.area("[files.x]\ncontent = \"ours\"\n");
    meanwhile(&w, &format!("echo theirs > {}/.x", path(&app)));
    let out = app.apply(&["--json"]).exit(0).any_err().json();
    assert_eq!(text(&out, "/files/0/action"), "kept");
    assert_eq!(app.read(".x"), "theirs\n");
    app.apply(&["remove"]).succeeds();
    assert!(app.has(".x"));
}

#[test]
fn removing_one_worktree_keeps_the_exclude_lines_of_another() {
    let w = World::new();
    let app = w.app();
    w.area("git_excludes = [\"/.x\"]\n[files.x]\ncontent = \"x\"\n[env]\nA = \"1\"\n");
    let (one, two) = (app.worktree("one"), app.worktree("two"));
    one.apply(&[]).succeeds();
    meanwhile(&w, &format!("sweatfile-apply -C {} remove", path(&one)));
    two.apply(&[]).succeeds().any_err();
    assert_eq!(two.git(&["status", "--porcelain"]), "");
    two.apply(&["check"]).exit(0);
}

#[test]
fn sweatfiles_are_read_again_after_waiting_for_the_lock() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"old\"\n");
    let lock = app.path.join(".git/shopfloor/sweatfile-apply/lock");
    crate::support::world::write(&lock, "");
    let held = std::fs::File::open(&lock).unwrap();
    held.lock().unwrap();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| app.apply(&[]).succeeds());
        w.area("[env]\nA = \"new\"\n");
        drop(held);
        run.join().unwrap();
    });
    app.apply(&[]).exit(0);
    assert_eq!(app.read(".sweatshop-env"), "A=new\n");
}

#[test]
fn ports_taken_meanwhile_are_chosen_again() {
    let w = World::new();
    let app = w.app();
    w.area("template = true\n[env]\nP = \"{port}\"\n");
    let (one, two) = (app.worktree("one"), app.worktree("two"));
    meanwhile(&w, &format!("sweatfile-apply -C {}", path(&two)));
    one.apply(&[]).succeeds();
    assert_ne!(one.read(".sweatshop-env"), two.read(".sweatshop-env"));
    one.apply(&["check"]).exit(0);
    two.apply(&["check"]).exit(0);
}

#[test]
fn a_hanging_git_ends_with_us_and_changes_nothing() {
    let w = World::new();
    let app = w.app();
    w.area("[files.x]\ncontent = \"x\"\n");
    let git = which("git");
    let started = w.path("started");
    let body = format!(
        "case \"$*\" in *check-ignore*) echo $$ > {}; exec sleep 600 ;; esac\nexec {} \"$@\"",
        started.display(),
        git.display()
    );
    w.program("git", &body);
    let mut command = w.command(w.path("bin/sweatfile-apply"));
    let mut child = command.current_dir(&app.path).stderr(std::process::Stdio::null()).spawn().unwrap();
    crate::support::world::wait_for(|| std::fs::read_to_string(&started).is_ok_and(|pid| pid.ends_with('\n')));
    app.sh(&format!("kill -INT {}", child.id())).exit(0);
    assert_eq!(child.wait().unwrap().code(), Some(128 + 2));
    let pid = std::fs::read_to_string(&started).unwrap();
    let pid = pid.trim_end();
    crate::support::world::wait_for(|| app.sh(&format!("kill -0 {pid} 2>/dev/null")).status != Some(0));
    assert!(!app.has(".x") && app.excludes().is_empty());
}

#[test]
fn steps_prevented_by_a_held_lock_are_not_reported_as_done() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"true\"]\n[env]\nA = \"1\"\n[files.x]\ncontent = \"x\"\n");
    for (lock, there) in [("exclude.lock", false), ("sweatfile-apply/setup.lock", true)] {
        let path = app.path.join(".git/shopfloor").join(lock);
        crate::support::world::write(&path, "");
        let held = std::fs::File::open(&path).unwrap();
        held.lock().unwrap();
        let json = app.apply(&["--json"]).exit(75).any_err().json();
        drop(held);
        assert_eq!(text(&json, "/error/kind"), "busy");
        let expected = if there { "created" } else { "skipped" };
        assert_eq!((text(&json, "/files/0/action"), text(&json, "/env/action")), (expected, expected), "{lock}");
        assert_eq!(text(&json, "/setup/0/action"), "skipped");
        assert_eq!((app.has(".x"), app.has(".sweatshop-env")), (there, there));
    }
    app.apply(&[]).succeeds();
}

#[test]
fn a_worktree_removed_by_its_own_setup_stays_removed() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"cd .. && git -C app worktree remove --force ../wt\"]\n");
    let wt = app.worktree("wt");
    wt.apply(&[]).exit(4).any_out().err_has("was removed meanwhile");
    assert!(!app.has(".git/worktrees/wt"));
}
