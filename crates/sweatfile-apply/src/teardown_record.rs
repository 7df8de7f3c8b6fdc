//! What is to be run when a worktree goes, as it was when that was set up. It lies in the user's own state, where no agent in
//! a sandbox can write.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;

use crate::layout;

/// The teardown of one worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TeardownRecord {
    pub v: layout::Version,
    /// The repository, by its common directory. A worker's clone has that of its source.
    pub common_dir: PathBuf,
    /// The worktree's private git directory, and what tells it from a later one there.
    pub git_dir: PathBuf,
    pub dir_id: String,
    pub path: PathBuf,
    pub branch: String,
    /// The variables that the set-up had.
    pub env: BTreeMap<String, String>,
    /// Its ports.
    pub ports: BTreeSet<u16>,
    pub steps: Vec<Step>,
}

/// A command that has not been run to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub command: String,
    /// Whether the repository's sweatfile asks for it, so that it needs approval.
    pub needs_approval: bool,
    /// It was begun, and nobody knows how it ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_begun: bool,
}

/// A record with its file.
#[derive(Clone, Debug)]
pub struct Stored {
    file: PathBuf,
    pub record: TeardownRecord,
}

impl TeardownRecord {
    /// Whether its worktree is there.
    pub fn is_living(&self) -> bool {
        fs::dir_id(&self.git_dir).is_some_and(|id| id == self.dir_id)
    }
}

impl Stored {
    /// Writes it, or removes its file if nothing is left to do.
    pub fn save(&self) -> Result<()> {
        if self.record.steps.is_empty() {
            return fs::remove(&self.file);
        }
        let text = serde_json::to_vec_pretty(&self.record)
            .map_err(|e| Failure::failed(format!("cannot write {}", self.file.display())).because(e))?;
        fs::replace(&self.file, &text, Some(fs::PRIVATE))
    }
}

/// The records of all repositories of this user.
#[derive(Clone, Debug)]
pub struct Teardowns {
    pub dir: PathBuf,
}

impl Teardowns {
    pub fn of(env: &Env) -> Result<Teardowns> {
        let dir = env.state_home().ok_or_else(|| {
            Failure::usage("there is no place for what a teardown needs: neither XDG_STATE_HOME nor HOME is set")
                .hint("set HOME and run the command again")
        })?;
        Ok(Teardowns { dir: dir.join(layout::TOOL).join("teardown") })
    }

    /// The lock that is held while records change and while their commands run.
    pub fn lock(&self) -> Result<Lock> {
        fs::create_private_dir(&self.dir)?;
        Lock::take(&self.dir.join("lock"))
    }

    /// Those of a repository.
    pub fn load(&self, common_dir: &Path) -> Result<Vec<Stored>> {
        let mut all = Vec::new();
        for name in fs::list(&self.dir)?.iter().filter(|name| name.to_string_lossy().ends_with(".json")) {
            let file = self.dir.join(name);
            let Some(bytes) = fs::read_no_follow(&file)? else { continue };
            let record: TeardownRecord = layout::parse(&file, &bytes, "what it names is then not torn down")?;
            if record.common_dir == common_dir {
                all.push(Stored { file, record });
            }
        }
        Ok(all)
    }

    /// Keeps the record of a living worktree in the place of the one that it had.
    pub fn keep(&self, record: TeardownRecord) -> Result<()> {
        let _lock = self.lock()?;
        let same = |known: &Stored| (&known.record.git_dir, &known.record.dir_id) == (&record.git_dir, &record.dir_id);
        match self.load(&record.common_dir)?.into_iter().find(same) {
            Some(known) if known.record == record => Ok(()),
            Some(known) => Stored { record, ..known }.save(),
            None => {
                Stored { file: self.dir.join(format!("{}.json", &Digest::random().to_string()[..16])), record }.save()
            }
        }
    }
}
