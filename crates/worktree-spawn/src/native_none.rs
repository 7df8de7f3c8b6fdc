//! The stand-in for a build without gix: git does everything.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use shopfloor_core::env::Env;

use crate::place::Worktree;

/// No value of this type exists.
pub enum Native {}

/// The relation that only gix finds.
#[expect(dead_code, reason = "nothing is found without gix")]
pub enum Containment {
    Merged,
    PatchEqual,
    Squashed,
    Missing,
}

impl Native {
    pub fn open(_env: &Env, _worktree: &Worktree) -> Option<Native> {
        None
    }

    pub fn open_at(_env: &Env, _dir: &Path) -> Option<Native> {
        None
    }

    pub fn has_unshared_commits(&self) -> Option<bool> {
        match *self {}
    }

    pub fn head(&self) -> Option<String> {
        match *self {}
    }

    pub fn is_changed(&self) -> Option<bool> {
        match *self {}
    }

    pub fn containment(&self, _tip: &str, _into: &str) -> Option<Containment> {
        match *self {}
    }

    pub fn loose_commits(&self) -> Option<usize> {
        match *self {}
    }

    pub fn hooks(&self) -> Option<PathBuf> {
        match *self {}
    }

    pub fn branches(&self, _prefix: &str) -> Result<Vec<(String, String)>, ()> {
        match *self {}
    }

    pub fn make_branch(&self, _name: &str, _sha: &str) -> bool {
        match *self {}
    }

    pub fn checkout(&self, _worktree: &Worktree, _sha: &str, _interrupted: &AtomicBool) -> Result<bool, ()> {
        match *self {}
    }
}
