//! Worktrees that worktree-spawn makes.

use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::support::world::{Repo, World, wait_for, write};

/// A repository with a few files.
pub fn app(w: &World) -> Repo<'_> {
    let app = w.app();
    app.commit("src/main.rs", "fn main() {}\n");
    app.commit("README.md", "app\n");
    app
}

/// Spawns a subtree and returns its worktree.
#[track_caller]
pub fn subtree<'w>(from: &Repo<'w>, args: &[&str]) -> Repo<'w> {
    let out = from.spawn(&[&["subtree"], args].concat()).succeeds();
    let path = PathBuf::from(out.stdout.strip_suffix('\n').unwrap());
    assert!(path.is_dir(), "{path:?}");
    from.world.at(path)
}

/// Starts worktree-spawn and does not wait for it.
pub fn start(at: &Repo<'_>, args: &[&str]) -> Child {
    let mut command = at.world.command(at.world.path("bin/worktree-spawn"));
    command.args(args).current_dir(&at.path).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Sends a signal, such as `-TERM`, to a process.
pub fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args([name, &pid]).status().unwrap().success());
}

/// The JSON lines that a process prints until it ends.
pub fn json_lines_of(child: Child) -> Vec<Value> {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Commits a tree whose one file has a name that git itself never writes.
pub fn commit_odd_name(at: &Repo<'_>, name: &str) {
    let blob = "git rev-parse HEAD:README.md | sed 's/../\\\\x&/g'";
    let tree =
        format!("/usr/bin/printf '100644 {name}\\0%b' \"$({blob})\" | git hash-object --literally -t tree -w --stdin");
    at.sh(&format!("git update-ref HEAD $(git commit-tree -p HEAD -m odd $({tree}))")).exit(0);
}

/// The branch with this name, followed by a line end; empty if there is none.
pub fn branch_named(app: &Repo<'_>, id: &str) -> String {
    app.git(&["for-each-ref", "--format=%(refname:short)", &format!("refs/heads/{id}")])
}

/// Asserts that nothing of a spawn is left: no branch, no record, no directory, no journal.
#[track_caller]
pub fn assert_nothing_left(app: &Repo<'_>, name: &str, when: &str) {
    assert_eq!(app.git(&["branch", "--list", &format!("main.{name}")]), "", "{when}");
    assert!(!app.git(&["worktree", "list", "--porcelain"]).contains(&format!("worktrees/{name}\n")), "{when}");
    assert!(!app.has(&format!(".shopfloor/worktrees/{name}")), "{when}");
    assert_eq!(journals(app), 0, "{when}");
}

/// The number of files in the journal directory of spawns.
pub fn journals(app: &Repo<'_>) -> usize {
    std::fs::read_dir(app.path.join(".git/shopfloor/worktree-spawn/journal")).map_or(0, Iterator::count)
}

/// A spawn of `x` that was killed in its hook, after all files were written.
pub fn killed_in_its_hook<'w>(app: &Repo<'w>) -> Repo<'w> {
    let path = app.path.join(".shopfloor/worktrees/x");
    app.write(".git/hooks/post-checkout", "#!/bin/sh\necho $$ > $HOME/pid\nexec sleep 600\n");
    app.sh("chmod +x .git/hooks/post-checkout; rm -f $HOME/pid").exit(0);
    let mut spawn = start(app, &["subtree", "x"]);
    let pid = app.world.home("pid");
    wait_for(|| std::fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n')));
    spawn.kill().unwrap();
    spawn.wait().unwrap();
    app.sh("kill -9 $(cat $HOME/pid); rm .git/hooks/post-checkout").exit(0);
    Repo { world: app.world, path }
}

/// The name of a journal.
pub const UID: &str = "0123456789abcdef0123456789abcdef";

/// A directory of a person's with a file in it.
pub fn precious(w: &World) -> std::path::PathBuf {
    let dir = w.home("precious");
    write(&dir.join("thesis"), "years of work\n");
    dir
}

/// A file of worktree-spawn's shared state.
pub fn state(app: &Repo<'_>, below: &str) -> std::path::PathBuf {
    app.path.join(".git/shopfloor/worktree-spawn").join(below)
}

/// Everything that looks at journals, each with any result.
pub fn look_at_everything(app: &Repo<'_>) -> String {
    let mut said = String::new();
    for args in [
        &["list"][..],
        &["doctor"],
        &["subtree", "other", "--unique"],
        &["gc"],
        &["repair"],
        &["wait", "--timeout", "0s"],
    ] {
        let out = app.spawn(args).any_status().any_out().any_err();
        said += &format!("{}{}", *out.stdout, *out.stderr);
    }
    said
}

/// The record of an agent.
pub fn identity(app: &Repo<'_>, name: &str) -> Value {
    let file = app.path.join(format!(".git/worktrees/{name}/shopfloor/worktree-spawn/identity.json"));
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}
