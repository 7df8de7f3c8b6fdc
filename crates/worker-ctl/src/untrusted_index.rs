//! Reads a worktree's index, which an agent can write, and refuses paths that lead out of it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use shopfloor_core::error::Result;
use shopfloor_core::git::{Git, IndexEntries, LOOK_LIMIT, filled_links, run_git};
use shopfloor_core::path::RelPath;
use shopfloor_core::text::{printable, shell_word};

use crate::failure;
use crate::work_repo::WorkRepo;

impl WorkRepo {
    /// A path that git lists in a worktree, without its last `/`. It may come from an index that an agent wrote: exit 4,
    /// kind `tampered`, if it leads out of the worktree.
    pub fn path_in(&self, worktree: &Path, path: &[u8]) -> Result<RelPath> {
        RelPath::parse_os(OsStr::from_bytes(path.strip_suffix(b"/").unwrap_or(path))).map_err(|e| {
            let shown = printable(&String::from_utf8_lossy(path));
            let why = format!("git lists {shown} in {}, and {}", worktree.display(), e.0);
            let index = self.git_dir(worktree).map(|dir| shell_word(&dir.join("index"))).unwrap_or_default();
            failure::TAMPERED
                .failure(why)
                .hint(format!("if there is no such file, move the index away: `mv {index} {index}.bad`"))
        })
    }

    /// git in a worktree, and the entries of its index, which lead nowhere else.
    pub fn index_entries(&self, worktree: &Path) -> Result<(Git, IndexEntries)> {
        let git = self.git_for(worktree)?;
        let entries = git.index_entries(worktree, LOOK_LIMIT)?;
        entries.each().try_for_each(|(_, path)| self.path_in(worktree, path).map(drop))?;
        Ok((git, entries))
    }

    /// Has git look again at files that are there and that it was told not to look at: a checkout or a reset would leave them
    /// as they are.
    pub fn unhide(&self, worktree: &Path) -> Result<()> {
        let (git, entries) = self.index_entries(worktree)?;
        let is_there = |path: &&[u8]| worktree.join(OsStr::from_bytes(path)).symlink_metadata().is_ok();
        let hidden: Vec<u8> = entries.left_out().filter(is_there).flat_map(|path| [path, b"\0"].concat()).collect();
        if hidden.is_empty() {
            return Ok(());
        }
        let cmd = git.cmd_alone(worktree).args(["update-index", "--no-skip-worktree", "-z", "--stdin"]);
        run_git("update-index", cmd.input(hidden).within(LOOK_LIMIT)).map(drop)
    }

    /// The directories in a worktree that a removal keeps as a whole, each with a `/` behind: repositories that git does not
    /// know, and directories of submodules that have files and no repository.
    pub fn nested(&self, worktree: &Path, dirty: &[String]) -> Result<Vec<String>> {
        let filled = filled_links(worktree, &self.index_entries(worktree)?.1)?;
        let filled = filled.iter().map(|link| format!("{}/", link.display()));
        Ok(dirty.iter().filter(|path| path.ends_with('/')).cloned().chain(filled).collect())
    }
}
