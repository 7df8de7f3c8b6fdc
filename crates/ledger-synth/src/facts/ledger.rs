//! Where a ledger is, and its `current.md`.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{Found, Root};
use shopfloor_core::git::{Git, Repo, private_dir};
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;
use shopfloor_core::path::{RelPath, real};
use shopfloor_core::text::shell_word;
use shopfloor_core::ui::Ui;

use super::below::below;
use super::objects;
use crate::draft::{DRAFTS, DraftDirs};
use crate::event_file::refuse_conflict_markers;
use crate::failure;
use crate::settings::{DEFAULT_ROOT, LedgerArgs, LedgerRoot, PageSettings, Settings};
use crate::tool::TOOL;
use crate::view::{self, Footer};

/// The name of the generated file.
pub const CURRENT: &str = "current.md";
/// The directory of events.
pub const EVENTS: &str = "events";
/// The directory of events that are folded into a snapshot.
pub const ARCHIVE: &str = "archive";

/// A ledger and the repository it is in.
#[derive(Debug)]
pub struct Ledger {
    pub git: Git,
    pub repo: Repo,
    pub settings: Settings,
    /// The absolute path of the ledger's directory, which may not exist.
    pub dir: PathBuf,
    /// What decides how its `current.md` looks, besides the events.
    pub page: PageSettings,
    /// A directory that exists: the work tree, or the ledger's own directory if it is outside of every work tree.
    pub top: Root,
    /// The ledger's directory below `top`.
    prefix: Option<RelPath>,
}

impl Ledger {
    /// Finds the ledger of the current repository. Exit 4, kind `symlink`, where a link below the work tree leads to it,
    /// behind which git records nothing.
    pub fn find(ui: &Ui, env: &Env, args: &LedgerArgs) -> Result<Ledger> {
        let (git, repo) = Git::here(env)?;
        let ledger = Ledger::in_repo(ui, env, args, git, repo)?;
        let events = ledger.rel(EVENTS)?;
        let at = match ledger.top.look(&events) {
            Ok(Found::Blocked(at)) => at,
            Ok(Found::Link(_)) => events.clone(),
            _ => return Ok(ledger),
        };
        let link = ledger.top.join(&at);
        let hint = match ledger.dir.strip_prefix(&link) {
            Ok(rest) if link.is_dir() => {
                let there = real(&link).join(rest);
                format!("name the real directory: `--root {}`, or the setting `root`", shell_word(&there))
            }
            _ => format!("put a directory in the place of {at}"),
        };
        let why = format!("cannot reach {}: {at} is a link or no directory", ledger.top.join(&events).display());
        Err(failure::SYMLINK.failure(why).hint(hint))
    }

    pub fn in_repo(ui: &Ui, env: &Env, args: &LedgerArgs, git: Git, repo: Repo) -> Result<Ledger> {
        let settings = Settings::load(env, &repo, args)?;
        settings.warnings.iter().for_each(|warning| ui.warn(warning));
        // The path below `top` is empty if the ledger is all of it.
        let (top, rel) = match &settings.root {
            LedgerRoot::Worktree => (repo.require_worktree()?.to_path_buf(), PathBuf::from(DEFAULT_ROOT)),
            LedgerRoot::Main => (repo.main_checkout.clone(), PathBuf::from(DEFAULT_ROOT)),
            LedgerRoot::At(path) => match repo.worktree.as_ref().and_then(|tree| Some((tree, below(tree, path)?))) {
                Some((worktree, rel)) => (worktree.clone(), rel),
                None => (path.clone(), PathBuf::new()),
            },
        };
        let prefix = (!rel.as_os_str().is_empty()).then(|| objects::tree_path(&rel)).transpose()?;
        if prefix.is_none() && !top.is_dir() {
            return Err(Failure::usage(format!("there is no directory {}", top.display()))
                .hint(format!("create it: `mkdir -p {}`", shell_word(&top))));
        }
        let dir = prefix.as_ref().map_or(top.clone(), |rel| top.join(rel.as_path()));
        let top = Root::open(&top)?;
        let page = objects::page_settings(&git, &repo, &top)?;
        Ok(Ledger { top, git, repo, settings, page, dir, prefix })
    }

    /// Opens the same directory in another worktree, if the ledger is in a worktree.
    pub fn elsewhere(&self, worktree: &Path, below: &str) -> Result<Option<Root>> {
        match &self.prefix {
            Some(_) => Root::open(worktree)?.below(&self.rel(below)?),
            None => Ok(None),
        }
    }

    /// The path below `top` of a path in the ledger.
    pub fn rel(&self, below: &str) -> Result<RelPath> {
        let path = match &self.prefix {
            Some(prefix) => prefix.as_path().join(below),
            None => PathBuf::from(below),
        };
        RelPath::parse_os(path.as_os_str()).map_err(|why| Failure::failed(format!("`{}`: {why}", path.display())))
    }

    /// Opens a directory of the ledger. None: it does not exist.
    pub fn open(&self, below: &str) -> Result<Option<Root>> {
        self.top.below(&self.rel(below)?)
    }

    /// The path of the ledger's directory in the work tree `top`. None: `top` is not a work tree.
    pub fn in_tree(&self) -> Option<&RelPath> {
        self.prefix.as_ref().filter(|_| private_dir(self.top.path()).is_some())
    }

    /// The state directory of this worktree.
    pub fn state(&self) -> PathBuf {
        self.repo.worktree_state(TOOL)
    }

    /// Where the drafts of this worktree are, and those of the others. It is not the worktree's own state directory,
    /// because git removes that together with the worktree.
    pub fn drafts(&self) -> DraftDirs {
        DraftDirs::new(&self.repo.common_dir.join(DRAFTS), &self.repo.common_dir, &self.repo.git_dir)
    }

    /// A short hash of the directory, for the names of files about it.
    pub fn word(&self) -> String {
        Digest::of(real(&self.dir).as_os_str().as_bytes()).to_string()[..12].to_owned()
    }

    /// Takes the lock that keeps two runs from writing one ledger at a time. Writers of events take no lock.
    pub fn lock(&self) -> Result<Lock> {
        Lock::take(&self.repo.shared_state(TOOL).join(format!("{}.synth.lock", self.word())))
    }

    /// Reads `current.md`. None: it does not exist.
    pub fn current(&self) -> Result<Option<Current>> {
        let rel = self.rel(CURRENT)?;
        match self.top.look(&rel)? {
            Found::Missing => Ok(None),
            Found::File(_) => Ok(self.top.read_whole(&rel)?.map(|(bytes, mode)| Current { bytes, mode })),
            _ => {
                let path = self.top.join(&rel);
                let why = format!("{} is not a regular file, or is reached through a link", path.display());
                Err(Failure::failed(why).hint("move it away and run the command again"))
            }
        }
    }
}

/// A `current.md` as it was read.
#[derive(Clone, Debug)]
pub struct Current {
    pub bytes: Vec<u8>,
    pub mode: u32,
}

impl Current {
    /// Its text. None: it is not UTF-8, so we did not write it.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok()
    }

    /// Its footer. None: a person wrote it.
    pub fn footer(&self) -> Option<Footer> {
        view::footer(self.text()?)
    }

    /// Whether git left a conflict in it that nobody has resolved.
    pub fn has_conflict_markers(&self) -> bool {
        self.text().is_some_and(|text| refuse_conflict_markers(text).is_err())
    }

    /// Whether it has no text but blanks.
    pub fn is_blank(&self) -> bool {
        self.bytes.trim_ascii().is_empty()
    }

    /// Whether it is this page, but for line ends and the time of writing.
    pub fn is(&self, page: &str) -> bool {
        self.text().is_some_and(|text| view::is_same(text, page))
    }

    /// What would change in it if it became this page.
    pub fn difference(current: Option<&Current>, page: &str) -> Vec<String> {
        view::difference(&String::from_utf8_lossy(current.map_or(&[], |current| &current.bytes)), page)
    }
}
