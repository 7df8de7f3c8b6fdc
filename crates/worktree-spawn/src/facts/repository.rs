//! The current repository and its worktrees, read from plain files where these say enough (`.git`, `commondir`,
//! `worktrees/*/{gitdir,HEAD}`). Git is asked about everything unusual.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git::{
    self, Git, Home, LOOK_LIMIT, ListedWorktree, Repo, private_dir, recorded_path, refuse_linked_state, run_git,
};
use shopfloor_core::proc;

use crate::failure;
use crate::repository_view::{Place, Worktree};

/// Finds the repository of the current directory; exit 2, kind `not_a_repository`, if there is none.
pub fn find(env: &Env) -> Result<Place> {
    match read(env)? {
        Some(place) => Ok(place),
        None => ask(env),
    }
}

/// Finds the repository of an agent that reports something: the one that its environment names if the agent is in
/// another repository or in none, because its own directory may be gone.
pub fn find_for_speaker(env: &Env) -> Result<Place> {
    let found = find(env);
    let named = env.var("SHOPFLOOR_REPOSITORY").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let is_own = found.as_ref().is_ok_and(|place| env.cwd_named || Some(&place.common_dir) == named.as_ref());
    match named.filter(|_| !is_own) {
        Some(named) => env.at(&named).and_then(|env| find(&env)).or(found),
        None => found,
    }
}

/// Reads the files; none if they do not say everything.
fn read(env: &Env) -> Result<Option<Place>> {
    let names_one = ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"].iter().any(|name| env.var(name).is_some());
    if (names_one && !env.cwd_named) || env.var("GIT_CEILING_DIRECTORIES").is_some() {
        return Ok(None);
    }
    let Ok(cwd) = env.cwd.canonicalize() else { return Ok(None) };
    let Some(top) = cwd.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok() || is_bare_dir(dir)) else {
        return Ok(None);
    };
    let Some(git_dir) = private_dir(top) else { return Ok(None) };
    git::require_sound(&git_dir)?;
    let Some(common_dir) = git::common_of(&git_dir) else { return Ok(None) };
    // Git prints such a path on two lines, and is asked to say so.
    if common_dir.as_os_str().as_bytes().contains(&b'\n') {
        return Ok(None);
    }
    [&common_dir, &git_dir].into_iter().try_for_each(|dir| refuse_linked_state(dir))?;
    git::refuse_led_elsewhere(env, top, &git_dir, &common_dir)?;
    let Some(config) = fs::read_text(&common_dir.join("config"))? else { return Ok(None) };
    let config = String::from_utf8_lossy(&config).to_ascii_lowercase();
    let is_linked = git_dir != common_dir;
    // These lines tell of another work tree, another home, a bare repository, or further files.
    let odd = ["[shopfloor", "[include", "worktree"];
    let is_odd = |line: &str| {
        odd.iter().any(|word| line.starts_with(word))
            || (line.starts_with("bare") && line.contains("true") && !is_linked)
    };
    let lines = || config.lines().map(str::trim_start);
    // A `config.worktree` may name another work tree, too.
    let names_one = |dir: &Path| {
        let text = fs::read_no_follow(&dir.join("config.worktree")).ok().flatten().unwrap_or_default();
        String::from_utf8_lossy(&text).to_ascii_lowercase().contains("worktree")
    };
    if lines().any(is_odd) || !git_dir.join("HEAD").exists() || names_one(&git_dir) || names_one(&common_dir) {
        return Ok(None);
    }
    let main_checkout = match (is_linked, common_dir.parent()) {
        (false, _) if top.join(".git").symlink_metadata().is_ok_and(|meta| meta.is_dir()) => top.to_path_buf(),
        (true, Some(parent)) if common_dir.ends_with(".git") || common_dir.ends_with(".bare") => parent.to_path_buf(),
        _ => return Ok(None),
    };
    let has_ref_storage = lines().any(|line| line.starts_with("refstorage"));
    let home = Home { checkout: main_checkout.clone(), common_dir: common_dir.clone() };
    let mut place = Place { env: env.clone(), common_dir, here: None, main_checkout, home, has_ref_storage };
    let Some(branch) = current_branch(&place, top, &git_dir)? else { return Ok(None) };
    place.here = Some(Worktree { path: top.to_path_buf(), git_dir, branch, is_main: !is_linked, is_lost: false });
    Ok(Some(place))
}

/// Asks git.
fn ask(env: &Env) -> Result<Place> {
    let mut git = Git::find(env)?;
    let repo = git.discover().map_err(|failure| match failure::NOT_A_REPOSITORY.is_kind_of(&failure) {
        true => failure
            .hint("if the repository was moved, `worktree-spawn repair` in its main checkout reconnects its worktrees"),
        false => failure,
    })?;
    let branch = git.branch(&repo)?;
    let git_dir = repo.git_dir.clone();
    let is_main = repo.git_dir == repo.common_dir;
    let here = repo.worktree.clone().map(|path| Worktree { path, git_dir, branch, is_main, is_lost: false });
    let has_ref_storage = has_config_line(&repo.common_dir, |line| line.starts_with("refstorage"))?;
    let Repo { common_dir, main_checkout, home, .. } = repo;
    Ok(Place { env: env.clone(), common_dir, here, main_checkout, home, has_ref_storage })
}

/// The branch checked out in a worktree, which is none when HEAD is detached; none at all if there is no HEAD.
pub fn current_branch(place: &Place, path: &Path, git_dir: &Path) -> Result<Option<Option<String>>> {
    if place.has_ref_storage {
        let git = Git::find(&place.env)?;
        let asked = git.cmd(path).args(["symbolic-ref", "--quiet", "--short", "HEAD"]).capture()?;
        return Ok(Some(Some(asked.text()).filter(|name| !name.is_empty())));
    }
    Ok(fs::read(&git_dir.join("HEAD"))?.map(|head| branch_in(&head)))
}

/// Every worktree that git has registered, the main checkout first, including those that are no longer at their paths.
pub fn worktrees(place: &Place) -> Result<Vec<Worktree>> {
    let mut trees = Vec::new();
    if let Some(main) = main_worktree(place)? {
        trees.push(main);
    }
    let admin = place.common_dir.join("worktrees");
    let listed = match place.has_ref_storage {
        true => Some(Git::find(&place.env)?.list_worktrees(&place.common_dir)?),
        false => None,
    };
    let names = fs::list(&admin)?;
    let linked = proc::map_parallel(&names, |name| linked(&admin.join(name), listed.as_deref()));
    trees.extend(linked.into_iter().flatten());
    Ok(trees)
}

/// The main checkout, if there is one.
pub fn main_worktree(place: &Place) -> Result<Option<Worktree>> {
    if let Some(here) = place.here.as_ref().filter(|here| here.is_main) {
        return Ok(Some(here.clone()));
    }
    // In a bare layout the directory around the repository is not a worktree.
    let path = &place.main_checkout;
    let is_bare = || has_config_line(&place.common_dir, |line| line.starts_with("bare") && line.contains("true"));
    if private_dir(path).as_deref() != Some(place.common_dir.as_path()) || is_bare()? {
        return Ok(None);
    }
    let branch = current_branch(place, path, &place.common_dir)?;
    let (path, git_dir) = (path.clone(), place.common_dir.clone());
    Ok(branch.map(|branch| Worktree { path, git_dir, branch, is_main: true, is_lost: false }))
}

/// Whether any line of a repository's configuration, in lower case and without indentation, is like this.
fn has_config_line(common_dir: &Path, is_like: impl Fn(&str) -> bool) -> Result<bool> {
    let text = fs::read_text(&common_dir.join("config"))?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).to_ascii_lowercase();
    Ok(text.lines().map(str::trim_start).any(is_like))
}

/// Reads git's record of a linked worktree; none if the record disappears meanwhile or git has only half made it.
fn linked(git_dir: &Path, listed: Option<&[ListedWorktree]>) -> Option<Worktree> {
    let (path, head) = (recorded_path(git_dir).ok()??, fs::read_no_follow(&git_dir.join("HEAD")).ok()??);
    let branch = match listed {
        Some(listed) => listed.iter().find(|listed| listed.path == path).and_then(|listed| listed.branch.clone()),
        None => branch_in(&head),
    };
    // Any record can name the directory of another worktree.
    let is_others = || {
        let other = private_dir(&path).filter(|other| other != git_dir);
        other.is_some_and(|other| recorded_path(&other).ok().flatten().as_ref() == Some(&path))
    };
    let is_lost = matches!(fs::is_there(&path.join(".git")), Ok(false)) || is_others();
    Some(Worktree { path, git_dir: git_dir.to_path_buf(), branch, is_main: false, is_lost })
}

/// The branch in a HEAD file; none when it is detached.
fn branch_in(head: &[u8]) -> Option<String> {
    let name = head.strip_prefix(b"ref: ")?.trim_ascii().strip_prefix(b"refs/heads/")?;
    Some(String::from_utf8_lossy(name).into_owned())
}

fn is_bare_dir(dir: &Path) -> bool {
    dir.join("HEAD").is_file() && dir.join("objects").is_dir() && dir.join("refs").is_dir()
}

/// The commit a worktree is at; none if there is none yet.
pub fn head(git: &Git, worktree: &Worktree) -> Result<Option<String>> {
    commit(git, &worktree.path, "HEAD")
}

/// The commit of this name; none if there is none.
pub fn commit(git: &Git, dir: &Path, name: &str) -> Result<Option<String>> {
    let asked = git.cmd_alone(dir).args(["rev-parse", "--verify", "--quiet", "--end-of-options", name]).capture()?;
    Ok(Some(asked.text()).filter(|sha| !sha.is_empty()))
}

/// Whether a worktree has uncommitted changes, by git. The `git` is the worktree's own.
pub fn is_dirty(git: &Git, worktree: &Worktree) -> Result<bool> {
    let how = ["status", "--porcelain", "-z", "--ignore-submodules=dirty"];
    Ok(!run_git("status", git.cmd_alone(&worktree.path).args(how).within(LOOK_LIMIT))?.is_empty())
}
