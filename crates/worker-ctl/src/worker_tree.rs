//! Whether a worker's worktree is there, and no later one at its place.

use std::path::Path;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::recorded_dir;
use shopfloor_core::text::shell_word;

use crate::work_repo::common_dir;
use crate::worker::Worker;

impl Worker {
    /// Whether another worktree of its repository, `source`, is at the place of its own, which was removed or moved: the
    /// repository has another record of it. What the worktree's `.git` says does not count, because its agent can write that.
    pub fn is_replaced(&self, source: &Path) -> bool {
        let Some(own) = self.adopted.as_ref().and_then(|adopted| adopted.record_id.as_ref()) else { return false };
        let is_there = self.tree().join(".git").symlink_metadata().is_ok();
        let record = || recorded_dir(&common_dir(source), self.tree()).ok().flatten();
        is_there && record().is_some_and(|record| fs::dir_id(&record).as_ref() != Some(own))
    }

    /// Whether its own worktree is there.
    pub fn has_tree(&self, source: &Path) -> bool {
        self.tree().is_dir() && !self.is_replaced(source)
    }

    /// Exit 4 where its worktree is missing, or another one is in its place.
    pub fn require_tree(&self, source: &Path) -> Result<()> {
        let Worker { name, worktree_path, branch, .. } = self;
        if self.is_replaced(source) {
            let why = format!("{worktree_path} is another worktree than that of {name}, which is gone");
            return Err(Failure::failed(why)
                .hint(format!("`worker-ctl nuke {name}` forgets the worker, and leaves that worktree as it is"))
                .hint(format!(
                    "if it is on {branch}, and {name} is to go on there: `worker-ctl add --worktree {}`",
                    shell_word(self.tree())
                )));
        }
        self.require_dir()
    }

    /// Exit 4 where nothing is in the place of its worktree.
    pub fn require_dir(&self) -> Result<()> {
        match self.tree().is_dir() {
            true => Ok(()),
            false => Err(Failure::failed(format!("{} is missing", self.worktree_path)).hint(self.missing_hint())),
        }
    }

    /// What to do where its worktree is missing.
    pub fn missing_hint(&self) -> String {
        match self.adopted {
            None => "`worker-ctl doctor --repair` restores the worktree from its branch".into(),
            Some(_) => format!(
                "bring it back; `worker-ctl patrol` finds one that git moved, and `worker-ctl nuke {}` forgets the worker",
                self.name
            ),
        }
    }
}
