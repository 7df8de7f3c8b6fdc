//! `.worktreeinclude`: which git-ignored files of the main checkout a worktree should have copies of.

use std::collections::HashSet;
use std::path::PathBuf;

use shopfloor_core::error::Result;
use shopfloor_core::fs::{Found, Root};
use shopfloor_core::path::RelPath;

use super::{Facts, Place, content_of};
use crate::layer::Merged;

/// The file's name, at the top of the main checkout; gitignore syntax.
const FILE: &str = ".worktreeinclude";

/// Finds the files that match, are ignored in the main checkout, and are absent here.
pub fn read(place: &Place, merged: &Merged, facts: &mut Facts) -> Result<()> {
    let checkout = &place.repo.home.checkout;
    let list = checkout.join(FILE);
    let is_file = list.symlink_metadata().is_ok_and(|m| m.is_file());
    if !is_file || *checkout == place.worktree || !checkout.join(".git").exists() {
        return Ok(());
    }
    let mut exclude_from = std::ffi::OsString::from("--exclude-from=");
    exclude_from.push(&list);
    let matching = place.git.ls_files(checkout, &["-o".into(), "-i".into(), exclude_from])?;
    let main = Root::open(checkout)?;
    let mut absent = Vec::new();
    for path in matching {
        // A nested repository is listed as `dir/`, and a name git knows but we refuse is not copied.
        let Ok(rel) = RelPath::parse_os(path.as_os_str()) else { continue };
        let reserved = rel.to_string().starts_with(crate::env_file::FILE);
        let taken = merged.files.keys().any(|wish| wish == &rel || wish.is_parent_of(&rel) || rel.is_parent_of(wish));
        if reserved || taken || place.root.look(&rel)? != Found::Missing {
            continue;
        }
        match main.look(&rel)? {
            Found::File(_) if path.to_str().is_some() => absent.push(path),
            Found::File(_) => facts.warnings.push(format!("{rel} is not copied: its name is not UTF-8")),
            _ => facts.warnings.push(format!("{rel} is not copied: it is a link or no regular file")),
        }
    }
    let ignored: HashSet<PathBuf> = place.git.ignored(checkout, &absent, None)?.into_iter().collect();
    for path in absent.into_iter().filter(|p| ignored.contains(p)) {
        let Ok(rel) = RelPath::parse_os(path.as_os_str()) else { continue };
        let from = checkout.join(&path);
        match content_of(&from) {
            Ok(content) => {
                facts.included.insert(rel, (from, content));
            }
            Err(why) => facts.warnings.push(format!("{rel} is not copied: {why}")),
        }
    }
    Ok(())
}
