//! Which files are left alone in a workspace because git shows or tracks them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs::{self, Root};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::proc;

use crate::facts::overlay::Overlay;
use crate::facts::twins;
use crate::ground::{Bar, Lookup, ReadFile};
use crate::manifest::Workspace;
use crate::quiet;

/// What git was asked about in a workspace, and its answer.
pub struct GitAnswer {
    pub asked: BTreeSet<RelPath>,
    pub barred: BTreeMap<RelPath, Bar>,
    /// The fingerprints of the files that are not barred, as far as they are known.
    pub open: BTreeMap<RelPath, u64>,
}

/// A workspace, and the files about which git is to be asked there.
type Asked<'w> = (&'w Workspace, BTreeSet<RelPath>);

/// git's answers about the overlay's files in workspaces that have none of them yet, where git can be asked now. Files
/// below a link are left out. Workspaces in which the same patterns hold, and that track none of the files, get the
/// answer of the first of them.
pub fn first_answers(
    env: &Env,
    overlay: &Overlay,
    excludes: Option<&Path>,
    workspaces: &[&Workspace],
    files: &BTreeSet<RelPath>,
) -> HashMap<Digest, GitAnswer> {
    let config = twins::config(env, &overlay.repo.common_dir);
    let looked = proc::map_parallel(workspaces, |workspace| {
        let here = Root::open(&workspace.root).ok()?;
        let is_reached = |path: &&RelPath| !matches!(here.look(path), Ok(fs::Found::Blocked(_)) | Err(_));
        let asked: BTreeSet<RelPath> = files.iter().filter(is_reached).cloned().collect();
        let print = config.and_then(|config| twins::print(config, workspace, &asked));
        Some((*workspace, asked, print))
    });
    let mut groups: BTreeMap<(u64, Option<Digest>), Vec<Asked<'_>>> = BTreeMap::new();
    for (workspace, asked, print) in looked.into_iter().flatten() {
        let alone = print.is_none().then_some(workspace.id);
        groups.entry((print.unwrap_or_default(), alone)).or_default().push((workspace, asked));
    }
    let groups: Vec<_> = groups.into_values().collect();
    let answers = proc::map_parallel(&groups, |twins| {
        let ((first, asked), others) = twins.split_first()?;
        let answer = ask_git(env, overlay, excludes, first, asked.clone()).ok()?;
        let of_other = |(other, asked): &Asked<'_>| {
            let mut open = git_prints(env, overlay, excludes, other, asked);
            open.retain(|path, _| !answer.barred.contains_key(path));
            (other.id, GitAnswer { asked: asked.clone(), barred: answer.barred.clone(), open })
        };
        let others: Vec<_> = others.iter().map(of_other).collect();
        Some(others.into_iter().chain([(first.id, answer)]).collect::<Vec<_>>())
    });
    answers.into_iter().flatten().flatten().collect()
}

/// The fingerprints of what makes git ignore or track these paths, where they can be computed.
pub fn git_prints(
    env: &Env,
    overlay: &Overlay,
    excludes: Option<&Path>,
    workspace: &Workspace,
    paths: &BTreeSet<RelPath>,
) -> BTreeMap<RelPath, u64> {
    let common_dir = workspace.common_dir_like(&overlay.repo.common_dir);
    let Some(shared) = quiet::git(env, &workspace.git_dir, &common_dir, excludes) else {
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
    let before = git_prints(env, overlay, excludes, workspace, &asked);
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
    let mut open = git_prints(env, overlay, excludes, workspace, &asked);
    open.retain(|path, print| before.get(path) == Some(print) && !barred.contains_key(path));
    Ok(GitAnswer { asked, barred, open })
}

/// Reads a file below `root`, or says why it is left alone.
pub fn read_at(root: &Root, path: &RelPath, overlay: &Path) -> Result<Lookup> {
    use shopfloor_core::fs::Found as Is;
    let looked = match root.look(path) {
        Ok(looked) => looked,
        Err(failure) => return Ok(Err(Bar::Unreadable(failure.to_string()))),
    };
    Ok(match looked {
        Is::Missing => Ok(None),
        // It may be gone again, or have changed its type.
        Is::File(_) => match root.read_whole(path) {
            Ok(read) => Ok(read.map(|(bytes, mode)| ReadFile::new(bytes, mode))),
            Err(failure) => Err(Bar::Unreadable(failure.to_string())),
        },
        Is::Link(target) if points_to(root.path(), path, &target, overlay) => Err(Bar::Alias),
        Is::Link(_) => Err(Bar::Strange("it is a link, which is not followed".into())),
        Is::Blocked(at) => Err(Bar::Strange(format!("{at} is a link or not a directory"))),
        Is::Dir | Is::Special => Err(Bar::Strange("it is not a regular file".into())),
    })
}

/// Whether a link in `root` leads to the overlay's file of the same path.
fn points_to(root: &Path, path: &RelPath, target: &Path, overlay: &Path) -> bool {
    let link = root.join(path.as_path());
    let resolved = link.parent().unwrap_or(root).join(target).canonicalize();
    resolved.is_ok_and(|real| overlay.join(path.as_path()).canonicalize().is_ok_and(|own| own == real))
}
