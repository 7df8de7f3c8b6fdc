//! The commits of a worktree compared with those of other branches.

use std::collections::BTreeSet;
use std::path::Path;

use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git::{Git, as_alternate, run_git};
use shopfloor_core::proc::Cmd;

use crate::repository_view::{Place, Worktree};

/// The number of commits of a worktree that no branch, tag or remote has: of a detached HEAD, and of refs that only this
/// worktree has. The `git` is the worktree's own.
pub fn loose_commits(git: &Git, worktree: &Worktree) -> Result<usize> {
    let mut tips = git.own_refs(&worktree.path, &worktree.git_dir)?;
    tips.extend(worktree.branch.is_none().then(|| "HEAD".to_owned()));
    if tips.is_empty() {
        return Ok(0);
    }
    let others = ["--not", "--branches", "--tags", "--remotes"];
    let loose = git.cmd_alone(&worktree.path).args(["rev-list", "--count"]).args(tips).args(others).capture()?;
    Ok(loose.text().parse().unwrap_or(1))
}

/// Whether the branch `into` contains everything on `tip`: as a merge, as one patch per commit, or as one patch.
pub fn is_contained(place: &Place, git: &Git, tip: &str, into: &str) -> Result<bool> {
    let (git, dir) = (&git.common(&place.common_dir)?, &place.common_dir);
    let into = &format!("refs/heads/{into}");
    let ask = |args: &[&str]| git.cmd(dir).args(args.iter().copied()).capture();
    match ask(&["merge-base", "--is-ancestor", tip, into])?.status.code() {
        0 => return Ok(true),
        1 => {}
        // There is no such branch.
        _ => return Ok(false),
    }
    let has_patches_of = |commit: &str| -> Result<bool> {
        let cherry = ask(&["cherry", into, commit])?;
        // A merge has no patch to compare.
        let merges = ask(&["rev-list", "--count", "--merges", &format!("{into}..{commit}")])?.text() != "0";
        let has_all = cherry.status.success() && !merges && cherry.text().lines().all(|line| line.starts_with("- "));
        Ok(has_all && has_verbatim(git, dir, ("log", format!("{into}..{commit}")), &format!("{commit}..{into}"))?)
    };
    if has_patches_of(tip)? {
        return Ok(true);
    }
    let base = ask(&["merge-base", tip, into])?.text();
    if base.is_empty() {
        return Ok(false);
    }
    // The branch squashed into one commit, among objects of our own: a dry run writes nothing into the repository.
    let (own, others) = (git.own_index()?, as_alternate(&dir.join("objects")));
    fs::create_private_dir(own.path())?;
    let aside = |cmd: Cmd| cmd.var("GIT_OBJECT_DIRECTORY", own.path()).var("GIT_ALTERNATE_OBJECT_DIRECTORIES", &others);
    let tree = format!("{tip}^{{tree}}");
    let squashed = aside(commit_cmd(git, dir, &[&tree, "-p", &base, "-m", "squashed"])).capture();
    let cherry = squashed.and_then(|made| aside(git.cmd(dir)).args(["cherry", into, &made.text()]).capture());
    fs::remove_tree(own.path())?;
    let cherry = cherry?;
    // That very commit may be there.
    let has_patch = cherry.status.success() && !cherry.text().starts_with('+');
    Ok(has_patch && has_verbatim(git, dir, ("diff", format!("{base}..{tip}")), &format!("{base}..{into}"))?)
}

/// Whether these others have all patches that this command of git shows of `own`, byte for byte, and there are any.
/// `git cherry` ignores white space, which may be the change.
fn has_verbatim(git: &Git, dir: &Path, (command, own): (&str, String), others: &str) -> Result<bool> {
    let shown = |command: &str, range: &str, paths: &[String]| -> Result<Vec<u8>> {
        let how = ["--literal-pathspecs", command, "-p", "--no-merges", "--no-color", "--no-ext-diff", "--no-textconv"];
        let cmd = git.cmd_alone(dir).args(how).args(["--submodule=short", "--ignore-submodules=none"]);
        let cmd = cmd.args(["--full-index", "--no-renames", "--format=commit %H", range, "--"]);
        run_git(command, cmd.args(paths))
    };
    let ids = |patches: Vec<u8>| -> Result<BTreeSet<String>> {
        let text = git.cmd_alone(dir).args(["patch-id", "--verbatim"]).input(patches).capture()?.text();
        Ok(text.lines().filter_map(|line| line.split(' ').next().map(str::to_owned)).collect())
    };
    let names = ["--no-merges", "--no-renames", "--ignore-submodules=none", "--name-only", "-z", "--format=", &own];
    let names = git.cmd_alone(dir).arg(command).args(names).capture()?;
    let paths: BTreeSet<String> = String::from_utf8_lossy(&names.stdout)
        .split('\0')
        .map(|name| name.trim_start_matches('\n').to_owned())
        .filter(|name| !name.is_empty())
        .collect();
    // Many paths are too long for a command line.
    let paths: Vec<String> = if paths.len() < 1000 { paths.into_iter().collect() } else { Vec::new() };
    let own = ids(shown(command, &own, &[])?)?;
    Ok(!own.is_empty() && own.is_subset(&ids(shown("log", others, &paths)?)?))
}

/// `git commit-tree`, which works even if the user has not told git a name.
pub fn commit_cmd(git: &Git, dir: &Path, args: &[&str]) -> Cmd {
    let who = ["user.name=shopfloor", "user.email=shopfloor@localhost", "commit.gpgSign=false"];
    let cmd = who.iter().fold(git.cmd_alone(dir), |cmd, setting| cmd.arg("-c").arg(*setting));
    cmd.arg("commit-tree").args(args.iter().copied())
}
