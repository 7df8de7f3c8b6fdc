//! What a directory takes of the disk, by itself and together with others.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use walkdir::WalkDir;

use super::own_flags;
use crate::sys;

/// What a directory takes of the disk, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct DiskUse {
    /// What is free when it goes.
    pub own: u64,
    /// What others have, too: by hard links, or where the file system shares blocks.
    pub shared: u64,
}

/// What a directory takes of the disk. What cannot be looked at does not count.
pub fn disk_use(dir: &Path) -> DiskUse {
    let mut used = DiskUse::default();
    for entry in WalkDir::new(dir).min_depth(1).into_iter().flatten() {
        let Ok(meta) = entry.metadata() else { continue };
        let taken = meta.blocks() * 512;
        let shared = match meta.is_file() {
            true if meta.nlink() > 1 => taken,
            true => open(entry.path()).map_or(0, |file| sys::shared_bytes(&file)).min(taken),
            false => 0,
        };
        used.shared += shared;
        used.own += taken - shared;
    }
    used
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(own_flags()).open(path)
}
