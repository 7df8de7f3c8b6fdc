//! Keeping what a forced removal destroys: a commit of all files that are not ignored, under a ref of its own.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{self, Git, OPERATION_HEADS, answer, commits_to_pick, named_commits, run_git};

use crate::agent_in_worktree::KnownAgent;
use crate::facts::merged_commits::commit_cmd;
use crate::facts::repository;
use crate::repository_view::Place;

/// Keeps a worktree's HEAD, index and changes, and returns the ref.
pub fn keep(env: &Env, git: &Git, place: &Place, known: &KnownAgent) -> Result<String> {
    let dir = &known.worktree.path;
    let git = &known.worktree.git(git, place)?;
    let head = answer("rev-parse", &git.cmd_alone(dir).args(["rev-parse", "HEAD"]).capture()?)?;
    let mut parents = vec![head.clone()];
    // The staged version may be another one. In a conflict there is no tree of it.
    let staged = git.cmd_alone(dir).arg("write-tree").capture()?;
    if staged.status.success() {
        parents.push(make_commit(git, dir, &[&staged.text(), "-p", &head, "-m", "index"])?);
    }
    let heads = [&OPERATION_HEADS[..], &["REBASE_HEAD", "ORIG_HEAD"]].concat();
    let own = git.own_refs(dir, &known.worktree.git_dir)?;
    let git_dir = &known.worktree.git_dir;
    for sha in named_commits(git_dir, &heads)?.into_iter().chain(own).chain(commits_to_pick(git_dir)?) {
        let found = repository::commit(git, dir, &format!("{sha}^{{commit}}"))?;
        parents.extend(found.filter(|sha| !parents.contains(sha)));
    }
    let tree = snapshot(git, known)?;
    let message = format!("what {} had when it was removed", known.agent.id);
    let mut args = vec![tree.as_str()];
    for parent in &parents {
        args.extend(["-p", parent.as_str()]);
    }
    args.extend(["-m", &message]);
    let commit = make_commit(git, dir, &args)?;
    keep_commit(env, git, place, known, &commit)
}

fn make_commit(git: &Git, dir: &Path, args: &[&str]) -> Result<String> {
    answer("commit-tree", &commit_cmd(git, dir, args).capture()?)
}

/// The tree of all files that are not ignored, written through an index of its own.
fn snapshot(git: &Git, known: &KnownAgent) -> Result<String> {
    let dir = &known.worktree.path;
    let index = git.own_index()?;
    let with_index = |args: &[&str], input: Vec<u8>| {
        let cmd = git.cmd_alone(dir).var("GIT_INDEX_FILE", index.path());
        answer(args[0], &cmd.args(args.iter().copied()).input(input).capture()?)
    };
    with_index(&["read-tree", "HEAD"], Vec::new())?;
    // git must not enter repositories inside, because an agent may have written their configuration.
    let inner = git.inner(dir)?;
    let not = inner.iter().map(|path| format!(":(top,exclude,literal){}", path.to_string_lossy()));
    // Also what sparse patterns leave out, if it is there.
    let add: Vec<String> = ["add", "-A", "--sparse", "--", ":/"].into_iter().map(str::to_owned).chain(not).collect();
    with_index(&add.iter().map(String::as_str).collect::<Vec<_>>(), Vec::new())?;
    // A file that is staged although git ignores it.
    let staged = git.ls_files(dir, &["--cached".into(), "--ignored".into(), "--exclude-standard".into()])?;
    let there = staged.iter().filter(|path| !inner.contains(path) && dir.join(path).symlink_metadata().is_ok());
    let there: Vec<u8> = there.flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
    if !there.is_empty() {
        let forced = ["--literal-pathspecs", "add", "--force", "--sparse"];
        with_index(&[&forced[..], &["--pathspec-from-file=-", "--pathspec-file-nul"]].concat(), there)?;
    }
    with_index(&["write-tree"], Vec::new())
}

/// Keeps the commit of a lost worktree whose HEAD is detached.
pub fn keep_head(env: &Env, git: &Git, place: &Place, known: &KnownAgent) -> Result<Option<String>> {
    let head = fs::read(&known.worktree.git_dir.join("HEAD"))?.unwrap_or_default();
    let head = String::from_utf8_lossy(&head).trim().to_owned();
    if head.len() < 40 || !head.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(None);
    }
    keep_commit(env, git, place, known, &head).map(Some)
}

/// Puts a commit under a new ref.
pub fn keep_commit(env: &Env, git: &Git, place: &Place, known: &KnownAgent, commit: &str) -> Result<String> {
    let time = env.later().now.strftime("%Y%m%dT%H%M%S.%3fZ").to_string();
    let name = format!("refs/shopfloor/trash/{}/{time}", known.agent.id);
    // The ref must be new, so that nothing kept earlier is replaced.
    let null = "0".repeat(commit.len());
    git::require_plain_ref(&place.common_dir, &name)?;
    let git = git.common(&place.common_dir)?;
    let kept = run_git("update-ref", git.cmd(&place.common_dir).args(["update-ref", &name, commit, &null]));
    kept.map_err(|failure| Failure { message: format!("cannot keep the changes: {}", failure.message), ..failure })?;
    Ok(name)
}
