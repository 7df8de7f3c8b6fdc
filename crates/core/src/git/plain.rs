//! Looks at files below a git directory before git does: an agent can write there.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use crate::error::{Exit, Failure, Result};
use crate::fs;

/// The files of a worktree's record that git reads before anything else, and the most bytes they have.
const READ_FIRST: ([&str; 6], u64) = (["HEAD", "gitdir", "commondir", "config.worktree", "logs", "refs"], 1 << 20);

/// Fails with the kind `tampered` unless everything in a worktree's private git directory is a plain file or directory.
/// git would wait for ever on a pipe, and follow a link.
pub(super) fn require_plain(git_dir: &Path) -> Result<()> {
    let odd = |path: &Path, why: &str| {
        Err(tampered(format!("{} {why}", path.display()))
            .hint(format!("look at it and move it away: `ls -l {}`", crate::text::shell_word(path))))
    };
    if !git_dir.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        return odd(git_dir, "is not a directory");
    }
    // Submodules have repositories of their own there, and the tools their state, which has a look of its own.
    let is_gits = |entry: &walkdir::DirEntry| {
        entry.depth() > 1
            || entry.file_name() != "shopfloor" && !(entry.file_name() == "modules" && entry.file_type().is_dir())
    };
    for entry in walkdir::WalkDir::new(git_dir).min_depth(1).into_iter().filter_entry(is_gits).filter_map(Result::ok) {
        let (kind, is_top) = (entry.file_type(), entry.depth() == 1);
        let is_read = is_top && READ_FIRST.0.iter().any(|name| entry.file_name() == *name);
        // git empties a directory of a rebase and writes an index through a link.
        let is_odd = kind.is_fifo()
            || kind.is_block_device()
            || kind.is_char_device()
            || (kind.is_symlink() && !is_others(git_dir, &entry));
        if is_odd || (is_read && !kind.is_file() && !kind.is_dir()) {
            return odd(entry.path(), "is not a file");
        }
        if is_read && kind.is_file() && entry.metadata().is_ok_and(|meta| meta.len() > READ_FIRST.1) {
            return odd(entry.path(), "is too large");
        }
    }
    Ok(())
}

/// Whether it is below what other programs link to and no command of ours opens: git-annex's directory, hooks, and what
/// Emacs puts beside a file that it edits.
fn is_others(git_dir: &Path, entry: &walkdir::DirEntry) -> bool {
    let within = |name: &str| entry.path().starts_with(git_dir.join(name));
    within("annex") || within("hooks") || entry.file_name().as_bytes().starts_with(b".#")
}

/// Fails with the kind `tampered` if a link is among the directories of our state below a git directory, where an agent
/// can write: state that is read, written or removed there would be somebody else's files.
pub fn refuse_linked_state(git_dir: &Path) -> Result<()> {
    // What is to be deleted there was somebody's worktree, which may have links.
    let is_ours = |entry: &walkdir::DirEntry| {
        entry.depth() < 3
            || !["gone", "undone"]
                .iter()
                .any(|name| entry.path().ancestors().nth(entry.depth() - 2).is_some_and(|dir| dir.ends_with(name)))
    };
    let state = walkdir::WalkDir::new(git_dir.join("shopfloor")).max_depth(4);
    // A link that a tool is about to place in a worktree is not followed.
    let is_staged = |entry: &walkdir::DirEntry| entry.file_name().as_bytes().starts_with(fs::RESERVED.as_bytes());
    match state
        .into_iter()
        .filter_entry(is_ours)
        .filter_map(Result::ok)
        .find(|entry| entry.path_is_symlink() && !is_staged(entry))
    {
        None => Ok(()),
        Some(link) => Err(tampered(format!("{} is a symbolic link, and our state has none", link.path().display()))
            .hint(format!("ask what made it, then remove it: `rm {}`", crate::text::shell_word(link.path())))),
    }
}

pub(super) fn tampered(why: String) -> Failure {
    Failure::new(Exit::Failed, "tampered", why)
}
