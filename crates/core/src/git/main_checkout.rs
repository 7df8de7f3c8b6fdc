//! Which checkout is the main one of a repository, and which repository a clone of worker-ctl's is one of.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::integrity::tampered;
use super::{Git, Home, Repo, common_dir_of, private_dir};
use crate::env::Env;
use crate::error::{Exit, Failure, Result};
use crate::fs;
use crate::known_dirs;
use crate::lock::Lock;
use crate::path::real;
use crate::sandbox;
use crate::text::shell_word;
use crate::written_files;

/// The file in which we record the main checkout of a repository with a separate git directory, because git does not
/// record it.
pub(super) const MEMORY: &str = "shopfloor/main-checkout";

impl Git {
    pub(super) fn main_checkout(&self, git_dir: &Path, common_dir: &Path, worktree: Option<&Path>) -> Result<PathBuf> {
        let parent = common_dir.parent().unwrap_or(common_dir);
        // An agent may be able to write that file, so it counts as we wrote it, if the checkout still leads here.
        let memory = common_dir.join(MEMORY);
        let remembered = fs::read(&memory)?.filter(|text| written_files::is_listed(&self.env, &memory, text));
        let remembered = remembered.map(|text| PathBuf::from(OsString::from_vec(text)));
        let own = common_dir.canonicalize().ok();
        let leads_here = |dir: &PathBuf| own.is_some() && private_dir(dir) == own;
        let remembered = remembered.filter(leads_here);
        if let (true, Some(worktree)) = (git_dir == common_dir, worktree) {
            // Any agent can lead its worktree, or a directory in it, to the main checkout's git directory.
            // A separate git directory called `.git` has nothing beside it.
            let has_files = || fs::list(parent).is_ok_and(|names| names.len() > 1);
            let is_led = worktree.join(".git").symlink_metadata().is_ok_and(|meta| !meta.is_dir());
            let is_beside = common_dir.ends_with(".git") && is_led && has_files();
            let real = |dir: &Path| dir.canonicalize().ok();
            let checkout = match remembered.filter(|checkout| real(checkout) != real(worktree)) {
                Some(checkout) => checkout,
                None if is_beside => parent.to_path_buf(),
                None => return Ok(worktree.to_path_buf()),
            };
            let what = format!("{}/.git leads to the git directory of {}", worktree.display(), checkout.display());
            return Err(tampered(what).hint(format!(
                "run the command in {}; if the directory is a checkout of its own, rename its git directory",
                checkout.display()
            )));
        }
        if let Some(checkout) = remembered {
            return Ok(checkout);
        }
        if common_dir.ends_with(".git") || common_dir.ends_with(".bare") {
            return Ok(parent.to_path_buf());
        }
        // The git directory of a submodule names its work tree. Other separate git directories do not, so
        // `remember_main_checkout` records it.
        let settings = self.settings(&common_dir.join("config"))?;
        let configured =
            settings.into_iter().rev().find(|(key, _)| key == "core.worktree").and_then(|(_, value)| value);
        let checkout = configured.map(|c| common_dir.join(c)).and_then(|c| c.canonicalize().ok()).filter(leads_here);
        let checkout = checkout.or_else(|| self.env.main_checkout.clone().filter(leads_here));
        // A linked worktree would be one of another overlay, with other settings. In a sandbox no main checkout is there.
        let is_unknown = checkout.is_none() && git_dir != common_dir && calls_bare(common_dir).is_none();
        match is_unknown && !sandbox::is_inside(&self.env) && !self.takes_for_bare(common_dir)? {
            true => Err(unknown(common_dir)),
            false => Ok(checkout.unwrap_or_else(|| common_dir.to_path_buf())),
        }
    }

    /// Whether git takes the directory for a bare repository, as a short value of `core.bare`, an included file, or no
    /// value at all may tell it.
    fn takes_for_bare(&self, common_dir: &Path) -> Result<bool> {
        Ok(self.cmd(common_dir).args(["rev-parse", "--is-bare-repository"]).capture()?.text() == "true")
    }

    /// The source, if the repository is the clone of a root that the user's list names for that source.
    pub(super) fn source(&self, repo: &Repo) -> Result<Option<PathBuf>> {
        let Some(source) = self.recorded_source(&repo.common_dir)?.filter(|s| s.is_absolute() && s.is_dir()) else {
            return Ok(None);
        };
        let root = repo.main_checkout.canonicalize().unwrap_or_default();
        let listed = known_dirs::roots(&self.env)?.remove(&root);
        // The source may be a bare repository.
        let is_its = |common: PathBuf, source: &Path| source == common || common_dir_of(source) == Some(common);
        Ok(Some(source).filter(|source| listed.is_some_and(|common| is_its(common, source))))
    }

    /// The `shopfloor.source` that `worker-ctl init` wrote into the configuration of this git directory. Included files
    /// and other levels of configuration do not count. The file is looked at first, because asking git costs a process,
    /// which every command of every tool would pay.
    pub fn recorded_source(&self, git_dir: &Path) -> Result<Option<PathBuf>> {
        let file = git_dir.join("config");
        let text = fs::read(&file)?.unwrap_or_default();
        if !text.split(|b| *b == b'\n').any(|line| line.trim_ascii().to_ascii_lowercase().starts_with(SECTION)) {
            return Ok(None);
        }
        let cmd = self.cmd(Path::new("/")).args(["config", "--file"]).arg(&file);
        let output = cmd.args(["--no-includes", "-z", "--get", "shopfloor.source"]).capture()?;
        let value = output.stdout.strip_suffix(b"\0").map(|v| PathBuf::from(OsString::from_vec(v.to_vec())));
        Ok(value.filter(|value| output.status.success() && !value.as_os_str().is_empty()))
    }
}

/// The failure in a linked worktree of a repository whose main checkout nobody has recorded.
fn unknown(common_dir: &Path) -> Failure {
    let why = format!("nothing says where the main checkout of {} is", common_dir.display());
    let config = shell_word(&common_dir.join("config"));
    Failure::new(Exit::Bad, "no_worktree", why)
        .hint("run a command that writes something in the main checkout, such as `overlay-sync add FILE`, which records it")
        .hint(format!("if there is no main checkout: `git config --file {config} core.bare true`"))
}

/// What to do where git finds no repository. Somebody in a directory that has a `.git` wants no other one.
pub(super) fn way_out(cwd: &Path) -> String {
    // As text, `r/..` is below `r`.
    let cwd = real(cwd);
    let Some(top) = cwd.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok()) else {
        return "run the command inside a git work tree, name one with `-C DIR`, or make one with `git init`".into();
    };
    let text = fs::read_no_follow(&top.join(".git")).ok().flatten().unwrap_or_default();
    let named = text.trim_ascii_end().strip_prefix(b"gitdir: ").map(|dir| top.join(OsStr::from_bytes(dir)));
    match named.filter(|dir| dir.symlink_metadata().is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound)) {
        Some(dir) => format!(
            "{} is a worktree of a repository that is gone: there is no {}; bring that back, or run `git worktree repair {}` \
             in the place it was moved to",
            top.display(),
            dir.display(),
            shell_word(top)
        ),
        None => format!("git refuses {}; do what it says, then run the same command again", top.display()),
    }
}

/// The section of a configuration that names the source.
const SECTION: &[u8] = b"[shopfloor]";

/// The file of a repository's configuration that calls it bare.
fn calls_bare(common_dir: &Path) -> Option<&'static str> {
    let is_bare = |file: &&str| {
        let text = fs::read_text(&common_dir.join(file)).ok().flatten().unwrap_or_default();
        text.split(|b| *b == b'\n').any(|line| {
            let line: Vec<u8> = line.to_ascii_lowercase().into_iter().filter(|b| !b.is_ascii_whitespace()).collect();
            line == b"bare=true" || line == b"bare"
        })
    };
    ["config", "config.worktree"].into_iter().find(is_bare)
}

/// Whether a repository has no checkout of its own, whatever lies in the directory around it.
pub(super) fn is_bare(common_dir: &Path) -> bool {
    calls_bare(common_dir).is_some() && !common_dir.join("index").exists()
}

/// The failure for a repository with a checkout that its configuration calls bare, as some programs leave it behind.
pub fn bare_by_mistake(common_dir: &Path) -> Option<Failure> {
    let checkout = common_dir.parent().filter(|_| common_dir.ends_with(".git"))?;
    let file = calls_bare(common_dir).filter(|_| common_dir.join("index").exists())?;
    let why = format!("{} has a checkout, but core.bare is true in .git/{file}", checkout.display());
    let (dir, file) = (shell_word(checkout), shell_word(&common_dir.join(file)));
    let hint = format!("if that is a mistake: `git config --file {file} core.bare false`; then `git -C {dir} status`");
    Some(Failure::new(Exit::Bad, "no_worktree", why).hint(hint))
}

impl Home {
    /// Where git finds it: a directory around a bare repository may have no `.git`.
    pub fn found_at(&self) -> &Path {
        if self.checkout.join(".git").symlink_metadata().is_ok() { &self.checkout } else { &self.common_dir }
    }
}

impl Repo {
    /// Whether this is a bare repository itself, and none of its worktrees.
    pub fn is_bare(&self) -> bool {
        self.worktree.is_none() && !self.is_linked() && is_bare(&self.common_dir)
    }

    /// Records the main checkout of a repository with a separate git directory, so that its linked worktrees find it.
    /// Only commands that write may call this. Where the git directory cannot be written, nothing happens.
    pub fn remember_main_checkout(&self, env: &Env) -> Result<()> {
        let derived = |worktree: &Path| self.common_dir == worktree.join(".git");
        let Some(worktree) = self.worktree.as_ref().filter(|w| !derived(w) && !self.is_linked()) else { return Ok(()) };
        let path = self.common_dir.join(MEMORY);
        let bytes = worktree.as_os_str().as_bytes();
        if fs::read(&path)?.as_deref() == Some(bytes) && written_files::is_listed(env, &path, bytes) {
            return Ok(());
        }
        let noted = Lock::take(&path.with_extension("lock")).and_then(|_lock| written_files::write(env, &path, bytes));
        noted.or_else(|failure| if failure.is_write_refused() { Ok(()) } else { Err(failure) })
    }
}
