//! The repository that we are in.

use std::path::{Path, PathBuf};

use shopfloor_core::config::expand_home;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::{Git, Repo, common_dir_of, failed, private_dir};
use shopfloor_core::known_dirs;
use shopfloor_core::path::real;

/// A repository with a checkout.
#[derive(Debug)]
pub struct Repository {
    pub git: Git,
    pub repo: Repo,
    /// The main checkout; of a bare repository, the worktree that stands for it.
    pub main: PathBuf,
}

/// The surroundings, seen from the repository that a root or a worker's clone belongs to, if we are in one.
pub fn home(env: &Env) -> Result<Env> {
    if let Some(common) = of_root(env)? {
        return env.at(&checkout_of(common));
    }
    let repo = Git::find(env)?.discover()?;
    if repo.home.common_dir == repo.common_dir { Ok(env.clone()) } else { env.at(repo.home.found_at()) }
}

/// The common directory that the user's own list names for the root that we are in, if that has no clone. Any repository
/// below a root is nearer.
fn of_root(env: &Env) -> Result<Option<PathBuf>> {
    let (mut listed, cwd) = (known_dirs::roots(env)?, real(&env.cwd));
    let has_git = |dir: &Path| dir.join(".git").symlink_metadata().is_ok();
    let near = cwd.ancestors().find(|dir| has_git(dir) || listed.contains_key(*dir));
    let root = near.filter(|dir| !has_git(dir));
    Ok(root.and_then(|root| listed.remove(root)).filter(|common| common.is_dir()))
}

/// Whether there is no repository that git could have refused, and no root.
pub fn is_outside(env: &Env) -> Result<bool> {
    let is_bare = |dir: &Path| dir.join("objects").is_dir() && dir.join("refs").is_dir();
    let is_there = |dir: &Path| dir.join(".git").symlink_metadata().is_ok() || is_bare(dir);
    let is_named = !env.cwd_named && env.var("GIT_DIR").is_some();
    Ok(!is_named && !env.cwd.ancestors().any(is_there) && of_root(env)?.is_none())
}

/// Exit 2 if `WORKER_CTL_ROOT` names no root of the repository that we are in, though the user's list has one of it.
pub fn require_own_root(env: &Env) -> Result<()> {
    let (Some(named), Some(common)) = (env.var("WORKER_CTL_ROOT"), common_dir_of(&env.cwd)) else { return Ok(()) };
    let (named, common) = (real(&env.cwd.join(expand_home(env, named))), real(&common));
    let own = known_dirs::roots(env)?.into_iter().filter(|(_, of)| real(of) == common);
    let mut own = own.map(|(root, _)| root).peekable();
    if own.peek().is_none() || own.any(|root| root == named) {
        return Ok(());
    }
    let why = format!("WORKER_CTL_ROOT names {}, which is no root of this repository", named.display());
    Err(Failure::malformed(why).hint("leave it out: `unset WORKER_CTL_ROOT`"))
}

/// The main checkout of the repository with this common directory; that directory itself where it is bare.
pub fn checkout_of(common: PathBuf) -> PathBuf {
    let checkout = common.parent().filter(|_| common.ends_with(".git")).map(Path::to_path_buf);
    checkout.unwrap_or(common)
}

/// The same as [`find`], but from inside of a root or a worker's clone the repository that it belongs to.
pub fn find_near(env: &Env) -> Result<Repository> {
    find(&home(env)?)
}

/// The surroundings, seen from the main checkout of that one.
pub fn near(env: &Env) -> Result<Env> {
    env.at(&find_near(env)?.main)
}

/// The same as [`find`] for what only a main checkout has. Exit 2 in a bare repository, too.
pub fn find_main(env: &Env) -> Result<Repository> {
    let found = find(env)?;
    match found.main == found.repo.main_checkout {
        true => Ok(found),
        false => Err(no_main_checkout(&found.repo, "run the command in a clone that has one")),
    }
}

/// Finds the repository. Exit 2 where there is none, in a worker's clone, and in a bare one without a worktree.
pub fn find(env: &Env) -> Result<Repository> {
    let (git, repo) = Git::here(env)?;
    let mut main = repo.main_checkout.clone();
    if repo.home.common_dir != repo.common_dir {
        let why = format!("{} belongs to the workers of {}", main.display(), repo.home.checkout.display());
        return Err(Failure::new(Exit::Bad, "worker_clone", why).hint("run the command in that repository"));
    }
    // A directory around a bare repository may have a `.git` too. `GIT_WORK_TREE` may name a work tree without one.
    let at = if repo.worktree.as_ref() == Some(&main) { main.as_path() } else { repo.home.found_at() };
    let inside = git.cmd(at).args(["rev-parse", "--is-inside-work-tree"]).capture()?;
    if inside.stdout.trim_ascii() != b"true" {
        if let Some(failure) = shopfloor_core::git::bare_by_mistake(&repo.common_dir) {
            return Err(failure);
        }
        // git may refuse the checkout itself: it belongs to somebody else.
        if !inside.status.success() {
            return Err(failed("rev-parse", &inside));
        }
        // The worktree of its branch stands for the main checkout, else the one that we are in.
        let head = git.cmd(&repo.common_dir).args(["symbolic-ref", "--quiet", "--short", "HEAD"]).capture()?.text();
        let mut trees = git.list_worktrees(&repo.common_dir)?.into_iter();
        let own = trees.find(|tree| tree.branch.as_ref() == Some(&head) && tree.path.is_dir()).map(|tree| tree.path);
        main = own
            .or_else(|| repo.worktree.clone())
            .ok_or_else(|| no_main_checkout(&repo, "run the command in a worktree: `git worktree add` makes one"))?;
    }
    Ok(Repository { git, repo, main })
}

fn no_main_checkout(repo: &Repo, hint: &str) -> Failure {
    let why = format!("the repository {} has no main checkout", repo.common_dir.display());
    Failure::new(Exit::Bad, "no_worktree", why).hint(hint)
}

/// Where `new` makes worktrees, unless a person has said so: beside the main checkout; of a submodule, whose superproject
/// would take them in there, beside that one's checkout.
pub fn worktree_base(main: &Path) -> Option<PathBuf> {
    let is_submodule = |dir: &Path| {
        let own = private_dir(dir).unwrap_or_default();
        own.components().skip_while(|part| part.as_os_str() != ".git").any(|part| part.as_os_str() == "modules")
    };
    let above = main.ancestors().skip(1).find(|dir| dir.join(".git").exists() && !is_submodule(dir));
    let name = main.file_name()?.to_str()?;
    match above.filter(|_| is_submodule(main)) {
        Some(top) => Some(top.parent()?.join(format!("{}.{name}.worktrees", top.file_name()?.to_str()?))),
        None => Some(main.parent()?.join(format!("{name}.worktrees"))),
    }
}
