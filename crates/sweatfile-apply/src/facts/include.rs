//! `.worktreeinclude`: the git-ignored files of the main checkout that a worktree gets copies of.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use shopfloor_core::error::Result;
use shopfloor_core::fs::{Content, Found, Root};
use shopfloor_core::path::RelPath;

use super::files::content_of;
use crate::env_file;
use crate::layer::MergedLayers;
use crate::worktree::OpenWorktree;

/// The file's name, at the top of the main checkout; it has gitignore syntax.
const FILE: &str = ".worktreeinclude";

/// The absent files that are asked for, each with its original.
pub type IncludedFiles = BTreeMap<RelPath, (PathBuf, Content)>;

/// Finds the files that match, are ignored in the main checkout, and are absent from the worktree, each with its original,
/// and warns about those that are not copied.
pub fn read(worktree: &OpenWorktree, merged: &MergedLayers, warnings: &mut Vec<String>) -> Result<IncludedFiles> {
    let mut included = IncludedFiles::new();
    let checkout = &worktree.repo.home.checkout;
    let list = checkout.join(FILE);
    let is_file = list.symlink_metadata().is_ok_and(|m| m.is_file());
    if !is_file || *checkout == worktree.path || !checkout.join(".git").exists() {
        return Ok(included);
    }
    let mut exclude_from = std::ffi::OsString::from("--exclude-from=");
    exclude_from.push(&list);
    let matching = worktree.git.ls_files(checkout, &["-o".into(), "-i".into(), exclude_from])?;
    let main = Root::open(checkout)?;
    let mut absent = Vec::new();
    for path in matching {
        // git lists a nested repository as `dir/`; names that git knows and we refuse are not copied.
        let Ok(rel) = RelPath::parse_os(path.as_os_str()) else { continue };
        let reserved = rel.to_string().starts_with(env_file::FILE);
        let taken =
            merged.files.keys().any(|entry| entry == &rel || entry.is_parent_of(&rel) || rel.is_parent_of(entry));
        if reserved || taken || worktree.root.look(&rel)? != Found::Missing {
            continue;
        }
        match main.look(&rel)? {
            Found::File(_) if path.to_str().is_some() => absent.push(path),
            Found::File(_) => warnings.push(format!("{rel} is not copied: its name is not UTF-8")),
            _ => warnings.push(format!("{rel} is not copied: it is a link or not a regular file")),
        }
    }
    let ignored: HashSet<PathBuf> = worktree.git.ignored(checkout, &absent, None)?.into_iter().collect();
    for path in absent.into_iter().filter(|p| ignored.contains(p)) {
        let Ok(rel) = RelPath::parse_os(path.as_os_str()) else { continue };
        let from = checkout.join(&path);
        match content_of(&from) {
            Ok(content) => drop(included.insert(rel, (from, content))),
            Err(why) => warnings.push(format!("{rel} is not copied: {why}")),
        }
    }
    Ok(included)
}
