//! What git and the file system say before a subtree is spawned.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::{Found, Root};
use shopfloor_core::git::{Git, clean, run_git};
use shopfloor_core::known_dirs::owner_of;
use shopfloor_core::path::{self, RelPath};
use shopfloor_core::text::shell_word;

use crate::failure;
use crate::repository_view::{Place, Worktree};

/// The commit that a new worktree starts at, and the hook that git runs there.
#[derive(Clone, Debug)]
pub struct StartPoint {
    pub sha: String,
    /// `hooks/post-checkout`. A relative `core.hooksPath` counts from the main checkout: git takes that of the worktree
    /// that spawns, whose files are an agent's.
    pub hook: PathBuf,
}

/// Finds the start point. Exit 2 on an unborn branch or an unknown revision.
pub fn start_point(git: &Git, place: &Place, from: Option<&str>) -> Result<StartPoint> {
    let worktree = place.require_here()?;
    let revision = from.unwrap_or("HEAD");
    let unknown = || failure::NOT_FOUND.with(Exit::Bad, format!("there is no commit `{revision}`"));
    if revision.starts_with('-') {
        return Err(unknown().hint("name a branch, a tag or a commit"));
    }
    // Of what an agent may have configured for a worktree, no hook counts.
    let git = worktree.git(git, place)?;
    let asked = git.cmd(&worktree.path).args(["rev-parse", "--git-common-dir", "--git-path", "hooks/post-checkout"]);
    let asked = asked.arg(format!("{revision}^{{commit}}")).capture()?;
    let text = asked.text();
    let lines: Vec<&str> = text.lines().collect();
    let ([common, hook, sha], true) = (lines.as_slice(), asked.status.success()) else {
        return Err(match from {
            None => return Err(without_start(&git, worktree, &String::from_utf8_lossy(&asked.stderr))),
            Some(_) => unknown()
                .because(std::io::Error::other(String::from_utf8_lossy(&asked.stderr).trim().to_owned()))
                .hint("`git branch --all` and `git tag` list names"),
        });
    };
    // git prints the default path relative to its own directory, and a configured one unchanged.
    let is_usual = Path::new(hook) == Path::new(common).join("hooks/post-checkout");
    let hook = if is_usual { place.common_dir.join("hooks/post-checkout") } else { place.main_checkout.join(hook) };
    Ok(StartPoint { sha: (*sha).to_owned(), hook })
}

/// The failure where HEAD is no commit: its branch has none yet, or git cannot read the repository, and says why.
fn without_start(git: &Git, worktree: &Worktree, git_said: &str) -> Failure {
    let ask = |args: &[&str]| {
        let asked = git.cmd(&worktree.path).args(args.iter().copied()).capture();
        asked.is_ok_and(|asked| asked.status.success())
    };
    if !ask(&["symbolic-ref", "--quiet", "HEAD"]) || ask(&["rev-parse", "--verify", "--quiet", "HEAD"]) {
        return Failure::failed(format!("git cannot read HEAD of {}", worktree.path.display()))
            .because(std::io::Error::other(git_said.trim().to_owned()))
            .hint("`git fsck` there says what is damaged");
    }
    let failure = failure::UNBORN.with(Exit::Bad, "there is no commit yet to start from");
    let listed = git.cmd(&worktree.path).args(["for-each-ref", "--count=1", "refs/heads"]).capture();
    match listed.is_ok_and(|listed| !listed.stdout.is_empty()) {
        true => failure.hint("make the first commit on this branch, or name another start: `--from BRANCH`"),
        false => failure.hint("make the first commit"),
    }
}

/// The local branches with this prefix, those that are, or are below, `named`, and those that git cannot keep beside them,
/// as `a` beside `a/b`; with the commits they point at.
pub fn branches(git: &Git, place: &Place, prefix: &str, named: Option<&str>) -> Result<Vec<(String, String)>> {
    let names = [prefix].into_iter().chain(named);
    let above = names.flat_map(|name| name.match_indices('/').map(move |(at, _)| &name[..at]));
    let below = format!("{prefix}/");
    let wanted = above.chain([below.as_str()]).chain(named).map(|name| format!("refs/heads/{name}"));
    let patterns = wanted.chain([format!("refs/heads/{prefix}*")]);
    let found = refs(git, place, patterns)?.into_iter();
    Ok(found.filter_map(|(name, sha)| Some((name.strip_prefix("refs/heads/")?.to_owned(), sha))).collect())
}

/// The commit of a branch that a remote has. Exit 1 if remotes have different ones.
pub fn remote_branch(git: &Git, place: &Place, branch: &str) -> Result<Option<String>> {
    if let Some((remote, rest)) = branch.split_once('/')
        && !refs(git, place, [format!("refs/remotes/{remote}/")])?.is_empty()
    {
        return Err(failure::EXISTS
            .with(Exit::Bad, format!("{branch} is the name of a branch of the remote {remote}"))
            .hint(format!("name the branch as it is called there: `--branch {rest}`")));
    }
    let found = refs(git, place, [format!("refs/remotes/*/{branch}")])?;
    let Some((name, sha)) = found.first() else { return Ok(None) };
    match found.iter().find(|(_, other)| other != sha) {
        None => Ok(Some(sha.clone())),
        Some((other, _)) => Err(failure::AMBIGUOUS
            .failure(format!("{name} and {other} are different commits"))
            .hint(format!("say where it starts: `--from {}`", name.trim_start_matches("refs/remotes/")))),
    }
}

fn refs(git: &Git, place: &Place, patterns: impl IntoIterator<Item = String>) -> Result<Vec<(String, String)>> {
    let cmd = git.common(&place.common_dir)?.cmd(&place.common_dir);
    let cmd = cmd.args(["for-each-ref", "--format=%(refname) %(objectname)"]).args(patterns);
    let text = String::from_utf8_lossy(&run_git("for-each-ref", cmd)?).into_owned();
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    Ok(pairs.map(|(name, sha)| (name.to_owned(), sha.to_owned())).collect())
}

/// The paths among these that are taken. An empty directory is free.
pub fn occupied(paths: &[PathBuf]) -> BTreeSet<PathBuf> {
    let is_taken = |path: &&PathBuf| match path.symlink_metadata() {
        Err(_) => false,
        Ok(meta) if meta.is_dir() => std::fs::read_dir(path).map_or(true, |mut entries| entries.next().is_some()),
        Ok(_) => true,
    };
    paths.iter().filter(is_taken).cloned().collect()
}

/// The base directory for a plan: absolute, or relative to the spawner's worktree and inside it.
pub fn base_dir(place: &Place, configured: &Path, flag: Option<&Path>) -> PathBuf {
    match flag {
        Some(flag) => clean(&place.env.cwd.join(flag)),
        None if configured.is_absolute() => clean(configured),
        None => {
            let whole = clean(&place.main_checkout.join(configured));
            let inside = whole.strip_prefix(&place.main_checkout).ok().filter(|inside| !inside.as_os_str().is_empty());
            inside.map_or(whole.clone(), Path::to_path_buf)
        }
    }
}

/// What git and we have in a common directory.
const GITS_OWN: [&str; 11] =
    ["refs", "reftable", "objects", "logs", "worktrees", "modules", "hooks", "info", "branches", "lfs", "shopfloor"];

/// Refuses a base in a git directory (exit 2), where git would take a worktree's files for refs and objects. In a bare
/// repository worktrees may lie beside what is git's.
pub fn refuse_git_dir(place: &Place, worktree: &Path, base: &Path) -> Result<()> {
    let whole = worktree.join(base);
    let below = whole.strip_prefix(worktree).unwrap_or(&whole);
    let real = real_as_far_as_there(&whole);
    let common = path::real(&place.common_dir);
    let in_common = real.strip_prefix(&common).ok().map(|inside| inside.iter().next().unwrap_or_default());
    let is_gits = in_common.is_some_and(|first| common.ends_with(".git") || GITS_OWN.iter().any(|own| first == *own));
    if is_gits || below.iter().any(|part| part.eq_ignore_ascii_case(".git")) {
        return Err(Failure::usage(format!("worktrees cannot go below {}, in a git directory", whole.display()))
            .hint("name another place with `--base-dir`"));
    }
    Ok(())
}

/// The path without links, of which the end may not be there yet.
fn real_as_far_as_there(whole: &Path) -> PathBuf {
    let there = whole.ancestors().find(|dir| dir.exists()).unwrap_or(whole);
    path::real(there).join(whole.strip_prefix(there).unwrap_or(whole))
}

/// Refuses a path at which another repository has a worktree that may come back, by the user's list: commands in the new
/// one would be refused.
pub fn refuse_others_place(place: &Place, worktree: &Path) -> Result<()> {
    let at = real_as_far_as_there(worktree);
    let own = path::real(&place.common_dir);
    let Some(other) = owner_of(&place.env, &at)?.filter(|other| *other != own) else { return Ok(()) };
    let message = format!("{} is the place of a worktree of {}", worktree.display(), other.display());
    Err(failure::EXISTS.failure(message).hint(format!(
        "choose another name, or another place with `--base-dir`; if that one is gone for good: `worktree-spawn trust {}`",
        shell_word(&at)
    )))
}

/// Refuses a base that leads through something else than a directory, and inside a worktree also through a link, because a
/// checked-in link could lead anywhere.
pub fn refuse_blocked(worktree: &Path, base: &Path) -> Result<()> {
    let whole = worktree.join(base);
    let blocked = match RelPath::parse_os(base.as_os_str()) {
        Ok(rel) => match Root::open(worktree)?.look(&rel)? {
            Found::Blocked(at) => Some(worktree.join(at.as_path())),
            Found::Link(_) | Found::File(_) | Found::Special => Some(whole.clone()),
            Found::Missing | Found::Dir => None,
        },
        Err(_) => {
            let there = whole.ancestors().find(|path| path.symlink_metadata().is_ok());
            there.filter(|path| !path.is_dir()).map(Path::to_path_buf)
        }
    };
    let Some(at) = blocked else { return Ok(()) };
    let message = format!("worktrees go below {}, and {} is not a directory", whole.display(), at.display());
    Err(failure::BLOCKED.with(Exit::Bad, message).hint("move it away, or name another place with `--base-dir`"))
}
