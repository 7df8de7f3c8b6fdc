//! Copies of parts of a directory, with the times of their files: build tools compare those, and must not take what is old for
//! new.

use std::collections::HashSet;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::root::{Content, tree};
use super::staging::create;
use crate::error::{At, Result};
use crate::proc::map_parallel;

/// Parts of a directory, by their paths below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Directories, each before what is in it.
    pub dirs: Vec<PathBuf>,
    /// Regular files.
    pub files: Vec<PathBuf>,
    /// Links, with their targets.
    pub links: Vec<(PathBuf, PathBuf)>,
}

impl Parts {
    /// The content of a copy of them.
    pub fn content(&self, from: &Path) -> Result<Content> {
        let links = self.links.iter().map(|(link, _)| link);
        let all: HashSet<&Path> = self.dirs.iter().chain(&self.files).chain(links).map(PathBuf::as_path).collect();
        let is_in = |path: &Path| path.strip_prefix(from).is_ok_and(|below| all.contains(below));
        Ok(Content::Tree(tree(from, &is_in)?))
    }

    /// Copies them to a path where nothing is, or with `is_linked` makes hard links. The system shares blocks where it can.
    /// Fails if a file has gone meanwhile: half of a directory could be taken for all of it. Nothing is synced.
    pub fn copy(&self, from: &Path, to: &Path, is_linked: bool) -> Result<()> {
        for dir in [&PathBuf::new()].into_iter().chain(&self.dirs) {
            let mode = from.join(dir).metadata().map_or(0o700, |meta| meta.permissions().mode() & 0o777 | 0o700);
            DirBuilder::new().mode(mode).create(to.join(dir)).at("create", &to.join(dir))?;
        }
        let copied = map_parallel(&self.files, |file| {
            let (from, to) = (from.join(file), to.join(file));
            let done = if is_linked { std::fs::hard_link(&from, &to) } else { copy_file(&from, &to) };
            done.at("copy", &from)
        });
        copied.into_iter().collect::<Result<()>>()?;
        self.links.iter().try_for_each(|(link, target)| symlink(target, to.join(link)).at("create", &to.join(link)))
    }
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = File::open(from)?;
    let meta = source.metadata()?;
    #[cfg(target_os = "macos")]
    if rustix::fs::fclonefileat(&source, rustix::fs::CWD, to, rustix::fs::CloneFlags::NOFOLLOW).is_ok() {
        return Ok(());
    }
    let mut target = create(to, Some(meta.permissions().mode() & 0o777))?;
    // std uses `copy_file_range`.
    io::copy(&mut source, &mut target)?;
    target.set_modified(meta.modified()?)
}
