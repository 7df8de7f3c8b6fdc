//! The worktrees of a repository, as git lists them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{Git, Repo, failed, private_dir};
use crate::error::Result;

/// A worktree as `git worktree list` has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedWorktree {
    /// Where it is.
    pub path: PathBuf,
    /// The commit it is at; empty in a bare repository, zeros on an unborn branch.
    pub head: String,
    /// The checked-out branch without `refs/heads/`; none when detached.
    pub branch: Option<String>,
}

impl Git {
    /// All worktrees of the repository that `dir` belongs to, the main one first. One process.
    pub fn list_worktrees(&self, dir: &Path) -> Result<Vec<ListedWorktree>> {
        let output = self.cmd_alone(dir).args(["worktree", "list", "--porcelain", "-z"]).capture()?;
        match output.status.success() {
            true => Ok(parse(&output.stdout)),
            false => Err(failed("worktree list", &output)),
        }
    }

    /// The worktrees of a repository that are there, each with its private git directory. One process, and one small
    /// file read for each.
    pub fn worktrees(&self, repo: &Repo) -> Result<Vec<(PathBuf, PathBuf)>> {
        let listed = self.list_worktrees(&repo.common_dir)?.into_iter();
        Ok(listed
            .filter_map(|listed| Some((private_dir(&listed.path)?, listed.path)))
            .map(|(dir, root)| (root, dir))
            .collect())
    }
}

fn parse(porcelain: &[u8]) -> Vec<ListedWorktree> {
    let mut found: Vec<ListedWorktree> = Vec::new();
    for field in porcelain.split(|b| *b == 0) {
        if let Some(path) = field.strip_prefix(b"worktree ") {
            let path = PathBuf::from(OsStr::from_bytes(path));
            found.push(ListedWorktree { path, ..ListedWorktree::default() });
        } else if let Some(last) = found.last_mut() {
            let text =
                |prefix: &[u8]| field.strip_prefix(prefix).map(|text| String::from_utf8_lossy(text).into_owned());
            last.head = text(b"HEAD ").unwrap_or(std::mem::take(&mut last.head));
            last.branch = text(b"branch refs/heads/").or(last.branch.take());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_worktree_has_its_own_head_and_branch() {
        let listed = parse(b"worktree /a b\0HEAD 1111\0branch refs/heads/x/y\0\0worktree /bare\0bare\0\0worktree /c\0HEAD 2222\0detached\0\0");
        let of = |path: &str, head: &str, branch: Option<&str>| ListedWorktree {
            path: path.into(),
            head: head.into(),
            branch: branch.map(str::to_owned),
        };
        assert_eq!(listed, [of("/a b", "1111", Some("x/y")), of("/bare", "", None), of("/c", "2222", None)]);
        assert_eq!(parse(b""), []);
    }
}
