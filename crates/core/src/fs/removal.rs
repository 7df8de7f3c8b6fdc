//! Removing a file only if it is what the caller expects. It is moved aside first.

use rustix::fs::renameat;

use super::displaced::DisplacedFile;
use super::root::{content_at, sync_dir};
use super::staging::Staged;
use super::{Content, Root, Staging};
use crate::error::{At, Result};
use crate::hash::Digest;
use crate::path::RelPath;

impl Staging {
    /// Removes `target` if its content is exactly `expected`. Otherwise returns `false` and changes nothing. The file
    /// is moved aside first and then compared again, so an edit made in between is not lost.
    pub fn remove(&self, root: &Root, target: &RelPath, expected: &Content) -> Result<bool> {
        self.remove_as(self.name(root, target)?, root, target, expected, false)
    }

    /// The same for a file that some program may hold open: what is removed stays as a [`DisplacedFile`] for as long as
    /// a program can write to it.
    pub fn remove_open(&self, root: &Root, target: &RelPath, expected: &Digest) -> Result<bool> {
        let mut aside = self.name(root, target)?;
        aside.name = DisplacedFile::name(target, expected, &Digest::of(&[])).into();
        self.remove_as(aside, root, target, &Content::File(*expected), true)
    }

    fn remove_as(
        &self,
        mut aside: Staged,
        root: &Root,
        target: &RelPath,
        expected: &Content,
        keeps_open: bool,
    ) -> Result<bool> {
        let dir = root.parent_dir(target)?;
        let path = root.join(target);
        if content_at(&dir, target.name(), &path)?.as_ref() != Some(expected) {
            return Ok(false);
        }
        renameat(&dir, target.name(), &aside.dir, &aside.name).at("remove", &path)?;
        let (is_open, is_expected) = aside.displaced(expected, keeps_open);
        if !is_expected {
            return match super::rename_new_at(&aside.dir, &aside.name, &dir, target.name()) {
                Ok(()) => Ok(false),
                Err(e) => Err(aside.keep(e, &path)),
            };
        }
        aside.stays = is_open;
        sync_dir(dir).at("sync the directory of", &path).map(|()| true)
    }
}
