//! Where we stand, without a git process where plain files tell it: `.git`, `commondir`, `worktrees/*/{gitdir,HEAD}`.
//! Everything out of the ordinary is asked of git.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{Git, Home, Repo};
use shopfloor_core::proc;

use crate::identity;

/// A worktree of the repository, as git has registered it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Its top.
    pub path: PathBuf,
    /// Its private git directory.
    pub git_dir: PathBuf,
    /// Its branch today; none when detached.
    pub branch: Option<String>,
    /// The main checkout, not made by `git worktree add`.
    pub is_main: bool,
    /// Nothing is at its path any more, or something else.
    pub is_lost: bool,
}

impl Tree {
    /// git for it, which works on what the repository has recorded of it: an agent may have written its `.git` file and
    /// its configuration anew (exit 4, kind `tampered`).
    pub fn git(&self, git: &Git, place: &Place) -> Result<Git> {
        if self.is_main { Ok(git.clone()) } else { git.guarded(&place.common_dir, &self.path) }
    }
}

/// Where a command was started.
#[derive(Clone, Debug)]
pub struct Place {
    pub env: Env,
    pub common_dir: PathBuf,
    /// The worktree we stand in; none in a bare repository.
    pub here: Option<Tree>,
    pub main_checkout: PathBuf,
    pub home: Home,
    /// Refs lie in files that are not git's classic ones: HEAD says nothing.
    pub has_ref_storage: bool,
}

impl Place {
    /// Finds the repository of the current directory; exit 2, kind `not_a_repository`, when there is none.
    pub fn find(env: &Env) -> Result<Place> {
        match Place::read(env)? {
            Some(place) => Ok(place),
            None => Place::ask(env),
        }
    }

    /// Where an agent speaks: here, or in the repository that its environment names, where it stands in another one or
    /// in none: its own directory may be gone.
    pub fn of_speaker(env: &Env) -> Result<Place> {
        let found = Place::find(env);
        let named = env.var("SHOPFLOOR_REPOSITORY").map(PathBuf::from).filter(|dir| dir.is_absolute());
        let is_own = found.as_ref().is_ok_and(|place| env.cwd_named || Some(&place.common_dir) == named.as_ref());
        match named.filter(|_| !is_own) {
            Some(named) => env.at(&named).and_then(|env| Place::find(&env)).or(found),
            None => found,
        }
    }

    /// The state all worktrees share.
    pub fn shared(&self) -> PathBuf {
        identity::state(&self.common_dir)
    }

    /// The same as the library has it, for what is written through it.
    pub fn repo(&self) -> Repo {
        let here = self.here.as_ref();
        Repo {
            worktree: here.map(|tree| tree.path.clone()),
            git_dir: here.map_or(&self.common_dir, |tree| &tree.git_dir).clone(),
            common_dir: self.common_dir.clone(),
            hooks_dir: self.common_dir.join("hooks"),
            main_checkout: self.main_checkout.clone(),
            branch: here.and_then(|tree| tree.branch.clone()),
            home: self.home.clone(),
        }
    }

    /// The worktree we stand in; exit 2 in a bare repository.
    pub fn require_here(&self) -> Result<&Tree> {
        self.here.as_ref().ok_or_else(|| {
            Failure::new(Exit::Bad, "no_worktree", format!("{} has no work tree", self.common_dir.display()))
                .hint("run the command inside a work tree; `git worktree list` shows them")
        })
    }

    /// Reads the files; none where they do not tell the whole story.
    fn read(env: &Env) -> Result<Option<Place>> {
        let names_one = ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"].iter().any(|name| env.var(name).is_some());
        if (names_one && !env.cwd_named) || env.var("GIT_CEILING_DIRECTORIES").is_some() {
            return Ok(None);
        }
        let Ok(cwd) = env.cwd.canonicalize() else { return Ok(None) };
        let Some(top) = cwd.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok() || is_bare(dir)) else {
            return Ok(None);
        };
        let Some(git_dir) = shopfloor_core::git::private_dir(top) else { return Ok(None) };
        let common_dir = match fs::read(&git_dir.join("commondir"))? {
            Some(text) => match git_dir.join(OsStr::from_bytes(text.trim_ascii())).canonicalize() {
                Ok(common_dir) => common_dir,
                Err(_) => return Ok(None),
            },
            None => git_dir.clone(),
        };
        let Some(config) = fs::read_text(&common_dir.join("config"))? else { return Ok(None) };
        let config = String::from_utf8_lossy(&config).to_ascii_lowercase();
        let is_linked = git_dir != common_dir;
        // Of another work tree, another home, a bare repository, or of more than this file.
        let odd = ["[shopfloor", "[include", "worktree"];
        let is_odd = |line: &str| {
            odd.iter().any(|word| line.starts_with(word))
                || (line.starts_with("bare") && line.contains("true") && !is_linked)
        };
        let lines = || config.lines().map(str::trim_start);
        if lines().any(is_odd) || !git_dir.join("HEAD").exists() {
            return Ok(None);
        }
        let main_checkout = match (is_linked, common_dir.parent()) {
            (false, _) => top.to_path_buf(),
            (true, Some(parent)) if common_dir.ends_with(".git") || common_dir.ends_with(".bare") => {
                parent.to_path_buf()
            }
            _ => return Ok(None),
        };
        let has_ref_storage = lines().any(|line| line.starts_with("refstorage"));
        let home = Home { checkout: main_checkout.clone(), common_dir: common_dir.clone() };
        let mut place = Place { env: env.clone(), common_dir, here: None, main_checkout, home, has_ref_storage };
        place.here = place.tree_at(top, &git_dir, !is_linked)?;
        Ok(place.here.is_some().then_some(place))
    }

    fn ask(env: &Env) -> Result<Place> {
        let mut git = Git::find(env)?;
        let repo = git.discover().map_err(|failure| match failure.kind {
            "not_a_repository" => failure.hint(
                "where a repository was moved, `worktree-spawn repair` in its main checkout finds its worktrees again",
            ),
            _ => failure,
        })?;
        let branch = git.branch(&repo)?;
        let git_dir = repo.git_dir.clone();
        let is_main = repo.git_dir == repo.common_dir;
        let here = repo.worktree.clone().map(|path| Tree { path, git_dir, branch, is_main, is_lost: false });
        let text = fs::read_text(&repo.common_dir.join("config"))?.unwrap_or_default();
        let text = String::from_utf8_lossy(&text).to_ascii_lowercase();
        let has_ref_storage = text.lines().any(|line| line.trim_start().starts_with("refstorage"));
        let (common_dir, main_checkout) = (repo.common_dir.clone(), repo.main_checkout.clone());
        Ok(Place { env: env.clone(), common_dir, here, main_checkout, home: repo.home, has_ref_storage })
    }

    fn tree_at(&self, path: &Path, git_dir: &Path, is_main: bool) -> Result<Option<Tree>> {
        let branch = if self.has_ref_storage {
            let git = Git::find(&self.env)?;
            let asked = git.cmd(path).args(["symbolic-ref", "--quiet", "--short", "HEAD"]).capture()?;
            let name = String::from_utf8_lossy(&asked.stdout).trim_end().to_owned();
            (!name.is_empty()).then_some(name)
        } else {
            match fs::read(&git_dir.join("HEAD"))? {
                Some(head) => branch_of(&head),
                None => return Ok(None),
            }
        };
        Ok(Some(Tree { path: path.to_path_buf(), git_dir: git_dir.to_path_buf(), branch, is_main, is_lost: false }))
    }

    /// Every worktree git has registered, the main checkout first; those too that are not where they were.
    pub fn trees(&self) -> Result<Vec<Tree>> {
        let mut trees = Vec::new();
        if let Some(main) = self.main_tree()? {
            trees.push(main);
        }
        let admin = self.common_dir.join("worktrees");
        let branches = if self.has_ref_storage { Some(self.listed_branches()?) } else { None };
        let names = fs::list(&admin)?;
        let linked = proc::map_parallel(&names, |name| linked(&admin.join(name), branches.as_deref()));
        trees.extend(linked.into_iter().flatten());
        Ok(trees)
    }

    /// The main checkout, if there is one.
    pub fn trees_of_main(&self) -> Option<Tree> {
        self.main_tree().ok().flatten()
    }

    fn main_tree(&self) -> Result<Option<Tree>> {
        if let Some(here) = self.here.as_ref().filter(|here| here.is_main) {
            return Ok(Some(here.clone()));
        }
        // In a bare layout the wrapper directory is no work tree.
        let is_there = shopfloor_core::git::private_dir(&self.main_checkout);
        if is_there.as_deref() != Some(self.common_dir.as_path()) || self.is_bare()? {
            return Ok(None);
        }
        self.tree_at(&self.main_checkout, &self.common_dir, true)
    }

    fn is_bare(&self) -> Result<bool> {
        let text = fs::read_text(&self.common_dir.join("config"))?.unwrap_or_default();
        let text = String::from_utf8_lossy(&text).to_ascii_lowercase();
        Ok(text.lines().map(str::trim_start).any(|line| line.starts_with("bare") && line.contains("true")))
    }

    fn listed_branches(&self) -> Result<Vec<(PathBuf, Option<String>)>> {
        let git = Git::find(&self.env)?;
        let listed = git.cmd(&self.common_dir).args(["worktree", "list", "--porcelain", "-z"]).capture()?;
        let text = listed.stdout;
        let mut found: Vec<(PathBuf, Option<String>)> = Vec::new();
        for field in text.split(|b| *b == 0) {
            if let Some(path) = field.strip_prefix(b"worktree ") {
                found.push((PathBuf::from(OsStr::from_bytes(path)), None));
            } else if let (Some(branch), Some(last)) = (field.strip_prefix(b"branch refs/heads/"), found.last_mut()) {
                last.1 = Some(String::from_utf8_lossy(branch).into_owned());
            }
        }
        Ok(found)
    }
}

/// A linked worktree by its record; none when that is taken away meanwhile, or half made by git.
fn linked(git_dir: &Path, branches: Option<&[(PathBuf, Option<String>)]>) -> Option<Tree> {
    let (gitdir, head) = (fs::read(&git_dir.join("gitdir")).ok()??, fs::read(&git_dir.join("HEAD")).ok()??);
    let dot_git = git_dir.join(OsStr::from_bytes(gitdir.trim_ascii_end()));
    let path = dot_git.parent()?.to_path_buf();
    let branch = match branches {
        Some(branches) => branches.iter().find(|(p, _)| *p == path).and_then(|(_, branch)| branch.clone()),
        None => branch_of(&head),
    };
    let is_lost = !dot_git.exists();
    Some(Tree { path, git_dir: git_dir.to_path_buf(), branch, is_main: false, is_lost })
}

/// What a HEAD file says; none when it is detached.
fn branch_of(head: &[u8]) -> Option<String> {
    let name = head.strip_prefix(b"ref: ")?.trim_ascii().strip_prefix(b"refs/heads/")?;
    Some(String::from_utf8_lossy(name).into_owned())
}

fn is_bare(dir: &Path) -> bool {
    dir.join("HEAD").is_file() && dir.join("objects").is_dir() && dir.join("refs").is_dir()
}
