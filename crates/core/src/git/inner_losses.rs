//! What would be lost with a worktree, and what `git status` says nothing of: repositories inside, and what nobody can read.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use super::guard::{AS_COMMITTED, Pinned, recorded_path};
use super::integrity::{require_plain, require_plain_common};
use super::sanitized_common_dir::{Owner, require_no_way_out};
use super::{Git, nul_fields, private_dir};
use crate::error::Result;
use crate::fs;
use crate::path::real;

impl Git {
    /// What would be lost with the repositories inside a worktree or in its record, if anything: changes, or commits that
    /// are nowhere else.
    pub fn inner_losses(&self, worktree: &Path, record: &Path) -> Result<Option<String>> {
        let above = self.owned_dirs(worktree);
        let mut places: Vec<PathBuf> = self.inner(worktree)?.into_iter().map(|path| worktree.join(path)).collect();
        let mut seen = BTreeSet::new();
        while let Some(place) = places.pop() {
            // Links may lead in circles.
            if !seen.insert(real(&place)) {
                continue;
            }
            let shown = place.strip_prefix(worktree).unwrap_or(&place).display().to_string();
            if let Some(why) = self.inner_loss(&place, &above)? {
                return Ok(Some(format!("the submodule {shown} {why}")));
            }
            places.extend(self.inner(&place)?.into_iter().map(|path| place.join(path)));
        }
        self.module_losses(&record.join("modules"), &above)
    }

    /// The same of clones of submodules in the worktree's own record, which stay there when the submodule leaves the
    /// worktree.
    fn module_losses(&self, modules: &Path, above: &[PathBuf]) -> Result<Option<String>> {
        // The name of a submodule may have slashes, and a submodule may have others.
        let mut dirs = vec![modules.to_path_buf()];
        while let Some(dir) = dirs.pop() {
            let shown = dir.strip_prefix(modules).unwrap_or(&dir).display().to_string();
            let is_clone = is_bare(&dir);
            if is_clone && let Some(why) = self.inner_loss(&dir, above)? {
                return Ok(Some(format!("the submodule {shown}, which was here, {why}")));
            }
            let below = if is_clone { vec!["modules".into()] } else { fs::list(&dir).unwrap_or_default() };
            let is_dir = |dir: &PathBuf| dir.symlink_metadata().is_ok_and(|meta| meta.is_dir());
            dirs.extend(below.into_iter().map(|name| dir.join(name)).filter(is_dir));
        }
        Ok(None)
    }

    /// The same of repositories in directories that git ignores, which `git status` never mentions. A linked worktree of
    /// this one is none of them if its record is whole: then whoever removes knows of it.
    pub fn ignored_losses(&self, common_dir: &Path, worktree: &Path) -> Result<Option<String>> {
        let above = self.owned_dirs(worktree);
        let how = ["--others", "--ignored", "--exclude-standard", "--directory"].map(Into::into);
        let dirs = self.ls_files(worktree, &how)?.into_iter().map(|path| worktree.join(path));
        for dir in dirs.filter(|dir| dir.symlink_metadata().is_ok_and(|meta| meta.is_dir())) {
            let mut entries = walkdir::WalkDir::new(dir).into_iter();
            while let Some(entry) = entries.next() {
                let Ok(entry) = entry else { continue };
                let place = entry.path();
                if entry.file_name() == ".git" && entry.file_type().is_dir() {
                    entries.skip_current_dir();
                    continue;
                }
                let has_git = place.join(".git").symlink_metadata().is_ok();
                if !entry.file_type().is_dir() || !has_git && !is_bare(place) {
                    continue;
                }
                let shown = place.strip_prefix(worktree).unwrap_or(place).display().to_string();
                if !(has_git && is_recorded(common_dir, place))
                    && let Some(why) = self.inner_loss(place, &above)?
                {
                    return Ok(Some(format!("the repository in {shown}, which git ignores, {why}")));
                }
            }
        }
        Ok(None)
    }

    /// A directory that cannot be read, and of which git therefore says nothing. Not one that git ignores, and none that lies
    /// too deep and has no file.
    pub fn unreadable(&self, worktree: &Path) -> Result<Option<String>> {
        let mut closed = self.closed_dirs(worktree)?.into_iter();
        let seen = closed.find(|(dir, is_deep)| !is_deep || !fs::has_only_dirs(worktree, dir));
        Ok(seen.map(|(dir, is_deep)| match is_deep {
            true => {
                let top: PathBuf = dir.iter().take(1).collect();
                format!("nobody can read what is so deep in {}/", top.display())
            }
            false => format!("nobody can read what is in {}", dir.display()),
        }))
    }

    /// The directories in a worktree that lie too deep for git. Not those that git ignores.
    pub fn too_deep(&self, worktree: &Path) -> Result<Vec<PathBuf>> {
        let closed = self.closed_dirs(worktree)?.into_iter();
        Ok(closed.filter(|(_, is_deep)| *is_deep).map(|(dir, _)| dir).collect())
    }

    /// The directories that git cannot look into and does not ignore, each with whether it lies too deep.
    fn closed_dirs(&self, worktree: &Path) -> Result<Vec<(PathBuf, bool)>> {
        let deepest = deepest();
        let all = walkdir::WalkDir::new(worktree).max_depth(deepest).into_iter();
        let closed = |entry: walkdir::Result<walkdir::DirEntry>| {
            let (path, is_deep) = match &entry {
                Ok(entry) if entry.depth() == deepest && entry.file_type().is_dir() => (entry.path(), true),
                Ok(_) => return None,
                Err(failed) => {
                    let error = failed.io_error().filter(|e| e.kind() != ErrorKind::NotFound)?.raw_os_error();
                    (failed.path()?, error == Some(Errno::NAMETOOLONG.raw_os_error()))
                }
            };
            Some((path.strip_prefix(worktree).ok()?.join(""), is_deep))
        };
        let mut found: Vec<_> = all.filter_entry(|entry| entry.file_name() != ".git").filter_map(closed).collect();
        let ignored = self.ignored(worktree, &found.iter().map(|(dir, _)| dir.clone()).collect::<Vec<_>>(), None)?;
        found.retain(|(dir, _)| !ignored.contains(dir));
        Ok(found)
    }

    /// Where the repositories inside a worktree are: below it, or in its record.
    fn owned_dirs(&self, worktree: &Path) -> Vec<PathBuf> {
        let record = self.pinned_at(worktree).map(|pinned| pinned.git_dir.clone()).or_else(|| private_dir(worktree));
        record.into_iter().chain([worktree.to_path_buf()]).filter_map(|dir| dir.canonicalize().ok()).collect()
    }

    /// `above` are the worktree and its record: an agent may have led a repository inside to one elsewhere.
    fn inner_loss(&self, place: &Path, above: &[PathBuf]) -> Result<Option<String>> {
        let bare = || place.canonicalize().ok().filter(|_| is_bare(place));
        let Some(git_dir) = private_dir(place).or_else(bare) else { return Ok(Some("cannot be looked at".into())) };
        let Some(common_dir) = super::common_of(&git_dir) else { return Ok(Some("cannot be looked at".into())) };
        let is_inside = |found: &Path| above.iter().any(|dir| found.starts_with(dir));
        if !is_inside(&git_dir) || !is_inside(&common_dir) {
            return Ok(Some(format!("has its repository elsewhere, in {}", common_dir.display())));
        }
        // Whoever put it there wrote its configuration, of which only what runs nothing counts.
        let dir = self.own_place(&common_dir)?.with_extension("inner");
        let owner = Owner::Agents { dir: dir.clone(), theirs: PathBuf::from("/") };
        let sound = require_plain(&git_dir).and_then(|()| require_no_way_out(&common_dir));
        let looked = sound.and_then(|()| require_plain_common(&common_dir)).and_then(|()| {
            let stand_in = self.stand_in(&common_dir, &owner)?;
            let pinned = Pinned { vars: AS_COMMITTED, ..Pinned::new(place, git_dir, Some(stand_in)) };
            Git { pinned: Some(pinned), ..self.clone() }.what_only_it_has(place)
        });
        fs::remove_tree(&dir)?;
        Ok(looked.unwrap_or_else(|failure| Some(format!("cannot be looked at: {failure}"))))
    }

    /// What only this repository has, if anything: changes, commits, a stash.
    fn what_only_it_has(&self, place: &Path) -> Result<Option<String>> {
        let ask = |args: &[&str]| self.cmd_alone(place).args(args.iter().copied()).capture();
        // A bare one has no files.
        if private_dir(place).is_some() {
            let how = ["status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=dirty"];
            let (status, listed) = (ask(&how)?, ask(&["ls-files", "-v", "-z"])?);
            let why = match () {
                () if !status.status.success() => format!("cannot be looked at: {}", super::git_said(&status)),
                () if !status.stdout.is_empty() => "has changes of its own".into(),
                () if !hidden_files(place, &listed.stdout).is_empty() => {
                    "has files that git was told not to look at".into()
                }
                () => String::new(),
            };
            if !why.is_empty() {
                return Ok(Some(why));
            }
        }
        let loose = ask(&["rev-list", "-n1", "--all", "--not", "--remotes"])?;
        let stashed = ask(&["rev-parse", "--quiet", "--verify", "refs/stash"])?;
        Ok(match () {
            () if !loose.status.success() || !loose.stdout.is_empty() => {
                Some("has commits that are nowhere else".into())
            }
            () if stashed.status.success() => Some("has a stash".into()),
            () => None,
        })
    }
}

/// How many levels git can look into: it holds the directory on each of them open.
fn deepest() -> usize {
    let open = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(open.saturating_sub(64)).unwrap_or(usize::MAX).max(1)
}

/// Whether a directory is a repository without files.
fn is_bare(place: &Path) -> bool {
    ["HEAD", "objects", "refs"].iter().all(|name| place.join(name).symlink_metadata().is_ok())
}

/// The files that are there although the index says not to look at them, from what `git ls-files -v -z` lists.
fn hidden_files<'l>(worktree: &Path, listed: &'l [u8]) -> Vec<&'l [u8]> {
    let is_hidden = |entry: &&[u8]| entry.first().is_some_and(|tag| *tag == b'S' || tag.is_ascii_lowercase());
    let paths = nul_fields(listed).filter(is_hidden).filter_map(|entry| entry.get(2..));
    paths.filter(|path| worktree.join(OsStr::from_bytes(path)).symlink_metadata().is_ok()).collect()
}

/// Whether a directory is a linked worktree of this repository, and its record says so, too.
fn is_recorded(common_dir: &Path, place: &Path) -> bool {
    let Some(record) = private_dir(place) else { return false };
    let says = recorded_path(&record).ok().flatten().and_then(|path| path.canonicalize().ok());
    super::common_dir_of(place) == common_dir.canonicalize().ok()
        && says == place.canonicalize().ok()
        && matches!(fs::read_no_follow(&record.join("HEAD")), Ok(Some(_)))
}
