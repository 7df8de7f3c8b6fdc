//! Refuses a work tree whose `.git` leads to a repository that it does not belong to: an agent can write the `.git` of
//! its worktree, and below the git directory what git believes of it.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::guard::reads_own_settings;
use super::integrity::{clean, odd, tampered};
use super::{Git, Repo, common_dir_of, leads_back, private_dir, recorded_dir, recorded_path};
use crate::env::Env;
use crate::error::{Exit, Failure, Result};
use crate::fs;
use crate::known_dirs;
use crate::path::real;
use crate::text::shell_word;

/// Refuses the work tree at `top` unless it is the one that its git directory is for, as far as can be known. Exit 4,
/// kind `tampered`; exit 2, kind `copy`, for one that leads to the record of another worktree, as a copied one does.
pub fn refuse_led_elsewhere(env: &Env, top: &Path, git_dir: &Path, common_dir: &Path) -> Result<()> {
    let (top, git_dir, common_dir) = (real(top), real(git_dir), real(common_dir));
    let is_linked = git_dir != common_dir;
    // One that we have worked in belongs to its repository from then on.
    if let Some(own) = known_dirs::owner_of(env, &top)?.filter(|own| !is_linked || *own != common_dir) {
        let is_gone = !own.exists();
        let now = match recorded_dir(&own, &top)? {
            Some(_) => "",
            None if is_gone => ", which is gone",
            // An agent can take away a record, too.
            None => ", which has no record of it now",
        };
        let (place, from) = (top.display(), own.display());
        let mut failure = tampered(format!("{place} is listed as a worktree of {from}{now}, but leads elsewhere"));
        if is_gone {
            failure = failure.hint(
                "if you moved that repository: `worktree-spawn repair` in its main checkout reconnects its worktrees",
            );
        }
        return Err(failure.hint(format!(
            "look at {}; if you put another repository there yourself: `worktree-spawn trust {}`",
            shell_word(&top.join(".git")),
            shell_word(&top)
        )));
    }
    for above in top.ancestors().skip(1).filter(|dir| private_dir(dir).is_some()) {
        let Some(outer) = common_dir_of(above).filter(|outer| *outer != common_dir) else { continue };
        if let Some(record) = recorded_dir(&outer, &top)? {
            let why = format!("{} is a worktree of {}, but leads elsewhere", top.display(), above.display());
            return Err(tampered(why).hint(format!(
                "if you put another repository there, remove the record: `rm -r {}`",
                shell_word(&record)
            )));
        }
    }
    if !is_linked {
        return Ok(());
    }
    if common_dir.starts_with(&top) {
        let why = format!("{} is a worktree of a repository inside of itself, {}", top.display(), common_dir.display());
        return Err(tampered(why).hint(format!("look at {}", shell_word(&top.join(".git")))));
    }
    // A worktree that was moved by hand leads to its record alone.
    match recorded_path(&git_dir)?.filter(|path| real(path) != top && leads_back(path, &git_dir)) {
        Some(path) => {
            let why = format!("{} is a copy of {}: git takes them for one worktree", top.display(), path.display());
            Err(Failure::new(Exit::Bad, "copy", why).hint("make a separate worktree with `git worktree add`"))
        }
        None => Ok(()),
    }
}

impl Git {
    /// The same of a repository. `top` is the directory of the `.git` that leads to it, if there is one; without, it can
    /// say that a directory above it is its work tree.
    pub(super) fn refuse_led_away(&self, found: &Repo, top: Option<&Path>) -> Result<()> {
        if let Some(worktree) = top.or(found.worktree.as_deref()) {
            refuse_led_elsewhere(&self.env, worktree, &found.git_dir, &found.common_dir)?;
        }
        top.map_or(Ok(()), |top| self.refuse_other_work_tree(found, top))
    }

    /// The same of the repository that was found at `top`, the directory of the `.git` that leads to it: a
    /// `config.worktree` can name another work tree.
    fn refuse_other_work_tree(&self, repo: &Repo, top: &Path) -> Result<()> {
        if !reads_own_settings(&repo.common_dir)? {
            return Ok(());
        }
        for (git_dir, top) in [(&repo.git_dir, top), (&repo.common_dir, &*repo.main_checkout)] {
            let file = git_dir.join("config.worktree");
            let named = self.settings(&file)?.into_iter().filter(|(key, _)| key == "core.worktree");
            // git writes one for a submodule.
            let leads_elsewhere = |value: Option<&OsStr>| {
                let path = git_dir.join(value.unwrap_or_default());
                path.canonicalize().ok() != top.canonicalize().ok()
            };
            if named.into_iter().any(|(_, value)| leads_elsewhere(value.as_deref())) {
                let why = format!("{} says that the work tree is not {}", file.display(), top.display());
                return Err(tampered(why).hint(format!(
                    "take it out, if you did not set it: `git config --file {} --unset-all core.worktree`",
                    shell_word(&file)
                )));
            }
        }
        Ok(())
    }
}

impl Repo {
    /// Records where this work tree belongs, so that it is refused when it leads elsewhere one day. Only commands that
    /// write may call this.
    pub fn remember(&self, env: &Env) -> Result<()> {
        match &self.worktree {
            Some(worktree) if self.is_linked() => known_dirs::note_worktree(env, worktree, &self.common_dir),
            _ => self.remember_main_checkout(env),
        }
    }
}

/// Fails if git cannot write all objects, as after one that another user ran here. Exit 4.
pub fn require_writable_objects(common_dir: &Path) -> Result<()> {
    let objects = common_dir.join("objects");
    let is_used = |name: &OsString| name.len() == 2 && name.as_encoded_bytes().iter().all(u8::is_ascii_hexdigit);
    let inside = fs::list(&objects)?.into_iter().filter(is_used).map(|name| objects.join(name));
    inside.chain([objects.clone()]).try_for_each(|dir| fs::require_writable(&dir))
}

/// Fails with the kind `tampered` where git takes objects of a repository from one of its linked worktrees, or from its
/// common directory outside of `objects`: they go with a worktree, whatever branch has them by then.
pub fn require_lasting_objects(common_dir: &Path) -> Result<()> {
    let common = real(common_dir);
    let (own, records) = (common.join("objects"), common.join("worktrees"));
    let tree = |name: &OsString| recorded_path(&records.join(name)).ok()?.map(|tree| real(&tree));
    let trees: Vec<PathBuf> = fs::list(&records)?.iter().filter_map(tree).collect();
    let goes = |at: &Path| at.starts_with(&common) || trees.iter().any(|tree| at.starts_with(tree));
    let all = walkdir::WalkDir::new(&own).into_iter().filter_map(Result::ok);
    let links = all.filter(walkdir::DirEntry::path_is_symlink).map(walkdir::DirEntry::into_path);
    // What names a directory, and that directory.
    let mut named: Vec<(PathBuf, PathBuf)> = links.chain([own.clone()]).map(|dir| (dir.clone(), dir)).collect();
    let mut seen = BTreeSet::new();
    while let Some((by, dir)) = named.pop() {
        let at = real(&clean(&dir));
        if goes(&at) && !at.starts_with(&own) {
            let (shown, git_dir) = (shell_word(&by), shell_word(&common));
            let why = format!("{} leads to objects in {}, which a removal deletes", by.display(), at.display());
            return Err(tampered(why).hint(match by.is_symlink() {
                true => format!("copy them: `cp -rL {shown} {shown}.copy && rm {shown} && mv {shown}.copy {shown}`"),
                false => format!("copy them: `git -C {git_dir} repack -A -d`, then take that line out of {shown}"),
            }));
        }
        if !seen.insert(at.clone()) {
            continue;
        }
        let list = at.join("info/alternates");
        for line in fs::read(&list)?.unwrap_or_default().split(|byte| *byte == b'\n') {
            match line.first() {
                None | Some(b'#') => {}
                // git itself writes none, and would read another path behind it.
                Some(b'"') => return odd(&list, "has a path in quotes"),
                Some(_) => named.push((list.clone(), at.join(OsStr::from_bytes(line)))),
            }
        }
    }
    Ok(())
}
