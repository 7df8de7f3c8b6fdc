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
use crate::setup_step::SetupStep;

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
    /// What was filled in for placeholders in the variables and the commands, but for what all worktrees have in common.
    pub filled: BTreeSet<String>,
    pub steps: Vec<Step>,
}

/// A command that has not been run to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub command: String,
    /// It as it is looked at for the files that it uses, if that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_files: Option<String>,
    /// The digest of the repository's sweatfile, if that asks for it: it has to be approved still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweatfile: Option<Digest>,
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

impl Step {
    /// It as a command whose files are looked for.
    pub fn as_setup(&self) -> SetupStep {
        let run = self.for_files.as_ref().unwrap_or(&self.command);
        SetupStep { is_area: self.sweatfile.is_none(), ..SetupStep::plain(run) }
    }
}

impl TeardownRecord {
    /// Whether its worktree is there.
    pub fn is_living(&self) -> bool {
        fs::dir_id(&self.git_dir).is_some_and(|id| id == self.dir_id)
    }
}

impl Stored {
    /// Held while the set-up of its worktree runs, also if that goes meanwhile.
    pub fn setup_lock(&self) -> PathBuf {
        self.file.with_extension("setup")
    }

    /// Writes it, or removes its file if nothing is left to do.
    pub fn save(&self) -> Result<()> {
        if self.record.steps.is_empty() {
            fs::remove(&self.setup_lock())?;
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
    /// None without a place for state.
    pub fn of(env: &Env) -> Option<Teardowns> {
        Some(Teardowns { dir: env.state_home()?.join(layout::TOOL).join("teardown") })
    }

    /// The lock that is held while records of a repository change and while their commands run.
    pub fn lock(&self, common_dir: &Path) -> Result<Lock> {
        fs::create_private_dir(&self.dir)?;
        Lock::take(&self.lock_file(common_dir))
    }

    /// Whether commands of this repository run just now.
    pub fn is_locked(&self, common_dir: &Path) -> bool {
        Lock::is_held(&self.lock_file(common_dir)).unwrap_or(false)
    }

    fn lock_file(&self, common_dir: &Path) -> PathBuf {
        let name = Digest::of(common_dir.as_os_str().as_encoded_bytes()).to_string();
        self.dir.join(format!("{}.lock", &name[..16]))
    }

    /// The records of all repositories, and why others cannot be read: they stop nobody else.
    pub fn load_all(&self) -> Result<(Vec<Stored>, Vec<Failure>)> {
        let (mut all, mut damaged) = (Vec::new(), Vec::new());
        for name in fs::list(&self.dir)?.iter().filter(|name| name.to_string_lossy().ends_with(".json")) {
            let file = self.dir.join(name);
            let read = fs::read_no_follow(&file).and_then(|bytes| {
                let moved_away = "what it names is then not torn down";
                bytes.map(|bytes| layout::parse(&file, &bytes, layout::Version::default(), moved_away)).transpose()
            });
            match read {
                Ok(None) => {}
                Ok(Some(record)) => all.push(Stored { file, record }),
                Err(failure) => damaged.push(failure),
            }
        }
        Ok((all, damaged))
    }

    /// Those of a repository.
    pub fn load(&self, common_dir: &Path) -> Result<Vec<Stored>> {
        let (mut all, _) = self.load_all()?;
        all.retain(|stored| stored.record.common_dir == common_dir);
        Ok(all)
    }

    /// Keeps the record of a living worktree. Nothing that was to be run before is forgotten; where a set-up that has run
    /// does not run again (`runs` is false), the values of a known record stay as they are, and where it runs, what was begun
    /// is owed again. If the sweatfile `is_approved`, it is the one by which what it asks for goes from now on. Returns the
    /// lock of its set-up, unless another one runs.
    pub fn keep(&self, record: TeardownRecord, runs: Option<bool>, is_approved: bool) -> Result<Option<Lock>> {
        let _lock = self.lock(&record.common_dir)?;
        let same = |known: &Stored| (&known.record.git_dir, &known.record.dir_id) == (&record.git_dir, &record.dir_id);
        let stored = match self.load(&record.common_dir)?.into_iter().find(same) {
            Some(mut known) => {
                let before = known.record.clone();
                for old in &mut known.record.steps {
                    let Some(new) = record.steps.iter().find(|step| step.command == old.command) else { continue };
                    // What was begun and cut off did not take down what the set-up now starts again.
                    old.is_begun &= runs != Some(true);
                    if is_approved {
                        old.sweatfile = new.sweatfile;
                    }
                }
                if runs != Some(false) {
                    let is_known = |step: &Step| before.steps.iter().any(|old| old.command == step.command);
                    known.record.steps.extend(record.steps.into_iter().filter(|step| !is_known(step)));
                    known.record.filled.extend(record.filled);
                    known.record.ports.extend(record.ports);
                    known.record.env.extend(record.env);
                    (known.record.path, known.record.branch) = (record.path, record.branch);
                }
                if known.record != before {
                    known.save()?;
                }
                known
            }
            None => {
                let file = self.dir.join(format!("{}.json", &Digest::random().to_string()[..16]));
                let stored = Stored { file, record };
                stored.save()?;
                stored
            }
        };
        Lock::try_take(&stored.setup_lock())
    }
}
