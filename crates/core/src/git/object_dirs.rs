//! Where a repository takes its objects from: git follows links, and the lists of other directories, wherever they lead.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::guard::recorded_path;
use super::integrity::{clean, odd, tampered};
use crate::error::Result;
use crate::fs;
use crate::path::real;
use crate::text::shell_word;

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
