//! Sparse checkouts: files that git leaves out of a work tree count all the same, as the index has them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use shopfloor_core::config::REPOSITORY_FILE;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{Found, Root};
use shopfloor_core::git::{Git, Repo, private_dir, run_git};
use shopfloor_core::path::RelPath;

use super::objects::{self, Blobs};
use crate::settings::{PageSettings, Settings};

/// Whether a work tree may leave files out.
pub fn is_sparse(worktree: &Path) -> bool {
    private_dir(worktree).is_some_and(|dir| dir.join("info/sparse-checkout").exists())
}

/// The files below `prefix` that git leaves out of a work tree, by their path below it.
pub fn left_out(git: &Git, worktree: &Root, prefix: &RelPath) -> Result<Blobs> {
    let mut blobs = Blobs::new();
    if !is_sparse(worktree.path()) {
        return Ok(blobs);
    }
    let cmd = git.cmd(worktree.path()).args(["--literal-pathspecs", "ls-files", "-z", "-t", "-s", "--"]);
    let listed = run_git("ls-files", cmd.arg(prefix.as_path().as_os_str()))?;
    for line in listed.split(|b| *b == 0).filter(|line| line.starts_with(b"S 100")) {
        let Some(tab) = line.iter().position(|b| *b == b'\t') else { continue };
        let head = String::from_utf8_lossy(&line[..tab]).into_owned();
        let path = Path::new(OsStr::from_bytes(&line[tab + 1..]));
        let (Some(sha), Ok(rel)) = (head.split(' ').nth(2), RelPath::parse_os(path.as_os_str())) else { continue };
        if matches!(worktree.look(&rel)?, Found::Missing) {
            let below = path.strip_prefix(prefix.as_path()).unwrap_or(path);
            blobs.insert(below.to_path_buf(), sha.to_owned());
        }
    }
    Ok(blobs)
}

/// The settings of the page in this tree: those of its own `.shopfloor/config.toml`.
pub fn page_settings(git: &Git, repo: &Repo, top: &Root, settings: &Settings) -> Result<PageSettings> {
    let rel = RelPath::parse(REPOSITORY_FILE).map_err(|why| Failure::failed(why.to_string()))?;
    let tree: PathBuf = match private_dir(top.path()) {
        Some(_) => top.path().to_path_buf(),
        // A ledger outside of every tree goes by the tree of the caller.
        None => repo.worktree.clone().unwrap_or_else(|| repo.main_checkout.clone()),
    };
    let tree = Root::open(&tree)?;
    let mut bytes = tree.read(&rel)?;
    if bytes.is_none()
        && let Some(sha) = left_out(git, &tree, &rel)?.values().next()
    {
        bytes = objects::read_blobs(git, tree.path(), &[sha])?.pop();
    }
    settings.of_tree(&tree.join(&rel), bytes)
}
