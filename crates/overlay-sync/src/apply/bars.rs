//! Which files are left alone in a workspace because git shows or tracks them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs::{self, Root};
use shopfloor_core::path::RelPath;

use crate::facts::overlay::Overlay;
use crate::ground::Bar;
use crate::manifest::Workspace;
use crate::quiet;

/// What git was asked about in a workspace, and its answer.
pub struct GitAnswer {
    pub asked: BTreeSet<RelPath>,
    pub barred: BTreeMap<RelPath, Bar>,
    /// The fingerprints of the files that are not barred, as far as they are known.
    pub open: BTreeMap<RelPath, u64>,
}

/// git's answer about the overlay's files in a workspace that has none of them yet; `None` when git cannot be asked
/// now. Files below a link are left out.
pub fn first_answer(
    env: &Env,
    overlay: &Overlay,
    excludes: Option<&Path>,
    workspace: &Workspace,
    files: &BTreeSet<RelPath>,
) -> Option<GitAnswer> {
    let here = Root::open(&workspace.root).ok()?;
    let is_reached = |path: &&RelPath| !matches!(here.look(path), Ok(fs::Found::Blocked(_)) | Err(_));
    let asked = files.iter().filter(is_reached).cloned().collect();
    ask_git(env, overlay, excludes, workspace, asked).ok()
}

/// The fingerprints of what makes git ignore or track these paths, where they can be computed.
pub fn git_prints(
    env: &Env,
    excludes: Option<&Path>,
    workspace: &Workspace,
    paths: &BTreeSet<RelPath>,
) -> BTreeMap<RelPath, u64> {
    let Some(shared) = quiet::git(env, &workspace.git_dir, &workspace.common_dir(), excludes) else {
        return BTreeMap::new();
    };
    let print = |path: &RelPath| quiet::git_path(env, shared, &workspace.root, path);
    paths.iter().filter_map(|path| Some((path.clone(), print(path)?))).collect()
}

/// Asks git about these paths. Runs two processes at most, the second only when something is not ignored.
pub fn ask_git(
    env: &Env,
    overlay: &Overlay,
    excludes: Option<&Path>,
    workspace: &Workspace,
    asked: BTreeSet<RelPath>,
) -> Result<GitAnswer> {
    let before = git_prints(env, excludes, workspace, &asked);
    let list: Vec<PathBuf> = asked.iter().map(|path| path.as_path().to_path_buf()).collect();
    let ignored: BTreeSet<PathBuf> = overlay.git.ignored(&workspace.root, &list, None)?.into_iter().collect();
    let seen: Vec<&RelPath> = asked.iter().filter(|path| !ignored.contains(path.as_path())).collect();
    let mut barred = BTreeMap::new();
    if !seen.is_empty() {
        let literal = |path: &&RelPath| {
            let mut pathspec = std::ffi::OsString::from(":(literal)");
            pathspec.push(path.as_path());
            pathspec
        };
        let args: Vec<_> = std::iter::once("--".into()).chain(seen.iter().map(literal)).collect();
        let tracked: BTreeSet<PathBuf> = overlay.git.ls_files(&workspace.root, &args)?.into_iter().collect();
        let bar = |path: &RelPath| if tracked.contains(path.as_path()) { Bar::Tracked } else { Bar::NotIgnored };
        barred = seen.into_iter().map(|path| (path.clone(), bar(path))).collect();
    }
    // Computed again after git looked: a change in between must not count as known.
    let mut open = git_prints(env, excludes, workspace, &asked);
    open.retain(|path, print| before.get(path) == Some(print) && !barred.contains_key(path));
    Ok(GitAnswer { asked, barred, open })
}

/// Whether a link in `root` leads to the overlay's file of the same path.
pub fn points_to(root: &Path, path: &RelPath, target: &Path, overlay: &Path) -> bool {
    let link = root.join(path.as_path());
    let resolved = link.parent().unwrap_or(root).join(target).canonicalize();
    resolved.is_ok_and(|real| overlay.join(path.as_path()).canonicalize().is_ok_and(|own| own == real))
}
