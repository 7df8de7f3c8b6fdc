//! Whether a worker's worktree is there, and no later one at its place.

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{private_dir, recorded_path};
use shopfloor_core::path::real;
use shopfloor_core::text::shell_word;

use crate::worker::Worker;

impl Worker {
    /// Whether another worktree is at the place of its own, which was removed or moved: git has another directory for it.
    /// Where that does not lead back, the worktree was led elsewhere, which our git refuses.
    pub fn is_replaced(&self) -> bool {
        let Some(own) = self.adopted.as_ref().and_then(|adopted| adopted.record_id.as_ref()) else { return false };
        let Some(record) = private_dir(self.tree()) else { return false };
        let leads_back =
            recorded_path(&record).is_ok_and(|path| path.is_some_and(|path| real(&path) == real(self.tree())));
        leads_back && fs::dir_id(&record).as_ref() != Some(own)
    }

    /// Whether its own worktree is there.
    pub fn has_tree(&self) -> bool {
        self.tree().is_dir() && !self.is_replaced()
    }

    /// Exit 4 where its worktree is missing, or another one is in its place.
    pub fn require_tree(&self) -> Result<()> {
        let Worker { name, worktree_path, branch, .. } = self;
        if self.is_replaced() {
            let why = format!("{worktree_path} is another worktree than that of {name}, which is gone");
            return Err(Failure::failed(why)
                .hint(format!("`worker-ctl nuke {name}` forgets the worker, and leaves that worktree as it is"))
                .hint(format!(
                    "if it is on {branch}, and {name} is to go on there: `worker-ctl add --worktree {}`",
                    shell_word(self.tree())
                )));
        }
        match self.tree().is_dir() {
            true => Ok(()),
            false => Err(Failure::failed(format!("{worktree_path} is missing")).hint(self.missing_hint())),
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
