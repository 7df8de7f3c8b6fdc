//! Reads everything that the removal of placed files is decided from.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::Content;
use shopfloor_core::path::RelPath;

use super::caches;
use super::files::{CurrentEnvFile, CurrentFile, content_of, read_current, read_env_file};
use crate::applied::{self, PlacedFile, Record};
use crate::env_file;
use crate::worktree::OpenWorktree;

#[derive(Debug, Default)]
pub struct RemovalFacts {
    pub record: Record,
    /// The paths of which only an unlisted record says that apply placed them.
    pub unknown: BTreeSet<RelPath>,
    /// Each recorded path as it is.
    pub current: BTreeMap<RelPath, CurrentFile>,
    /// The copies whose originals still have the same content.
    pub originals_alive: BTreeSet<RelPath>,
    pub env: CurrentEnvFile,
    /// The patterns that the records of other worktrees contain.
    pub patterns_elsewhere: BTreeSet<String>,
    /// The records of other worktrees that cannot be read.
    pub unread: Vec<Failure>,
}

pub fn read(worktree: &OpenWorktree) -> Result<RemovalFacts> {
    let mut record = Record::load(worktree)?;
    let mut current = BTreeMap::new();
    let mut originals_alive = BTreeSet::new();
    let placed_before = record.files.clone();
    // Of a cache only the name is recorded: it goes if the main checkout has the same, but for what is not copied.
    for path in record.caches.clone() {
        let original = worktree.repo.home.checkout.join(path.as_path());
        let content = caches::content(worktree, &path);
        originals_alive.extend(content.is_ok().then(|| path.clone()));
        if let Ok(content) = content.or_else(|_| content_of(&worktree.root.join(&path))) {
            let placed = PlacedFile { layer: None, content, copied_from: Some(original), replaces: None };
            record.files.insert(path.clone(), placed);
            current.insert(path.clone(), read_current(worktree, &path, &record));
        }
    }
    for (path, placed) in &placed_before {
        current.insert(path.clone(), read_current(worktree, path, &record));
        let is_alive = |from: &PathBuf| content_of(from).as_ref() == Ok(&placed.content);
        if placed.copied_from.as_ref().is_some_and(is_alive) {
            originals_alive.insert(path.clone());
        }
    }
    let env = read_env_file(&worktree.root)?;
    let (patterns_elsewhere, unread) = applied::excludes_used(&worktree.repo, Some(&worktree.repo.git_dir))?;
    Ok(RemovalFacts { record, current, originals_alive, env, patterns_elsewhere, unread, ..RemovalFacts::default() })
}

/// The patterns by which git ignores all but the files that go. Without them, what stays would block `git worktree
/// remove`.
pub fn patterns_needed(
    worktree: &OpenWorktree,
    record: &Record,
    going: &[(RelPath, Content)],
) -> Result<BTreeSet<String>> {
    let goes = |path: &PathBuf| {
        path.as_os_str() == env_file::FILE || going.iter().any(|(going, _)| path.starts_with(going.as_path()))
    };
    let staying: Vec<PathBuf> = ignored_paths(worktree, record)?.into_iter().filter(|path| !goes(path)).collect();
    Ok(worktree.git.ignoring_patterns(&worktree.path, &staying)?.into_iter().collect())
}

/// The ignored paths. A directory is named as a whole; only one that contains a recorded file is listed file by file.
fn ignored_paths(worktree: &OpenWorktree, record: &Record) -> Result<Vec<PathBuf>> {
    let list = |more: &[OsString]| {
        let options = ["--others", "--ignored", "--exclude-standard"].map(OsString::from);
        worktree.git.ls_files(&worktree.path, &[&options[..], more].concat())
    };
    let (mixed, mut ignored): (Vec<PathBuf>, Vec<PathBuf>) = list(&["--directory".into()])?
        .into_iter()
        .partition(|path| record.files.keys().any(|file| file.as_path().starts_with(path)));
    if !mixed.is_empty() {
        let inside = mixed.iter().map(|path| format!(":(top,literal){}", path.to_string_lossy()).into());
        ignored.extend(list(&["--".into()].into_iter().chain(inside).collect::<Vec<_>>())?);
    }
    Ok(ignored)
}
