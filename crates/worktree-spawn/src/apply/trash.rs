//! Keeping what a forced removal destroys: a commit of everything that is not ignored, under a ref of its own.

use std::path::Path;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::Git;
use shopfloor_core::proc::{Cmd, Output};

use crate::facts::agents::Known;
use crate::facts::place::Place;
use crate::facts::spawn::git_failed;
use crate::identity;

/// `git commit-tree`, also where nobody told git who we are.
pub fn commit_cmd(git: &Git, dir: &Path, args: &[&str]) -> Cmd {
    let who = ["user.name=shopfloor", "user.email=shopfloor@localhost", "commit.gpgSign=false"];
    let cmd = who.iter().fold(git.cmd_alone(dir), |cmd, setting| cmd.arg("-c").arg(*setting));
    cmd.arg("commit-tree").args(args.iter().copied())
}

/// Keeps a worktree's HEAD, index and changes, and gives back the ref.
pub fn keep(env: &Env, git: &Git, place: &Place, known: &Known) -> Result<String> {
    let dir = &known.tree.path;
    let git = &known.tree.git(git, place)?;
    let said = |command: &'static str, output: Output| -> Result<String> {
        if !output.status.success() {
            return Err(git_failed(command, &output));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let head = said("rev-parse", git.cmd_alone(dir).args(["rev-parse", "HEAD"]).capture()?)?;
    let mut parents = vec![head.clone()];
    // What was staged may be another version; in a conflict there is no tree of it.
    let staged = git.cmd_alone(dir).arg("write-tree").capture()?;
    if staged.status.success() {
        let tree = said("write-tree", staged)?;
        parents.push(said("commit-tree", commit_cmd(git, dir, &[&tree, "-p", &head, "-m", "index"]).capture()?)?);
    }
    for sha in held_by_operations(&known.tree.git_dir)? {
        let commit = format!("{sha}^{{commit}}");
        let found = git.cmd_alone(dir).args(["rev-parse", "--verify", "--quiet", &commit]).capture()?;
        if found.status.success() && !parents.contains(&sha) {
            parents.push(sha);
        }
    }
    let private = identity::state(&known.tree.git_dir);
    fs::create_private_dir(&private)?;
    let index = private.join("trash-index");
    fs::remove(&index)?;
    let with_index =
        |args: &[&str]| git.cmd_alone(dir).var("GIT_INDEX_FILE", &index).args(args.iter().copied()).capture();
    let snapshot = || -> Result<String> {
        said("read-tree", with_index(&["read-tree", "HEAD"])?)?;
        // git is not to go into the repositories inside, whose configuration is an agent's.
        let inner = git.inner(dir)?;
        let not = inner.iter().map(|path| format!(":(top,exclude,literal){}", path.to_string_lossy()));
        let add: Vec<String> = ["add", "-A", "--", ":/"].into_iter().map(str::to_owned).chain(not).collect();
        said("add", with_index(&add.iter().map(String::as_str).collect::<Vec<_>>())?)?;
        said("write-tree", with_index(&["write-tree"])?)
    };
    let tree = snapshot();
    fs::remove(&index)?;
    let tree = tree?;
    let message = format!("what {} had when it was removed", known.agent.id);
    let mut args = vec![tree.as_str()];
    for parent in &parents {
        args.extend(["-p", parent.as_str()]);
    }
    args.extend(["-m", &message]);
    let commit = said("commit-tree", commit_cmd(git, dir, &args).capture()?)?;
    name_it(env, git, dir, known, &commit)
}

/// Keeps the commit a worktree that is not there was at, where no branch does.
pub fn keep_head(env: &Env, git: &Git, place: &Place, known: &Known) -> Result<Option<String>> {
    let head = fs::read(&known.tree.git_dir.join("HEAD"))?.unwrap_or_default();
    let head = String::from_utf8_lossy(&head).trim().to_owned();
    if head.len() < 40 || !head.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(None);
    }
    name_it(env, git, &place.common_dir, known, &head).map(Some)
}

fn name_it(env: &Env, git: &Git, dir: &Path, known: &Known, commit: &str) -> Result<String> {
    let time = env.later().now.strftime("%Y%m%dT%H%M%S.%3fZ").to_string();
    let name = format!("refs/shopfloor/trash/{}/{time}", known.agent.id);
    // It must be new: nothing kept earlier is replaced.
    let null = "0".repeat(commit.len());
    let output = git.cmd_alone(dir).args(["update-ref", &name, commit, &null]).capture()?;
    if !output.status.success() {
        let failure = git_failed("update-ref", &output);
        return Err(Failure { message: format!("cannot keep the changes: {}", failure.message), ..failure });
    }
    Ok(name)
}

/// Commits that only a merge, rebase or pick under way knows of.
fn held_by_operations(git_dir: &Path) -> Result<Vec<String>> {
    const HEADS: [&str; 10] = [
        "MERGE_HEAD",
        "MERGE_AUTOSTASH",
        "CHERRY_PICK_HEAD",
        "REVERT_HEAD",
        "REBASE_HEAD",
        "ORIG_HEAD",
        "rebase-merge/autostash",
        "rebase-merge/orig-head",
        "rebase-apply/autostash",
        "rebase-apply/orig-head",
    ];
    let mut found = Vec::new();
    for name in HEADS {
        let text = fs::read(&git_dir.join(name))?.unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let shas =
            text.lines().map(str::trim).filter(|line| line.len() >= 40 && line.bytes().all(|b| b.is_ascii_hexdigit()));
        found.extend(shas.map(str::to_owned));
    }
    Ok(found)
}
