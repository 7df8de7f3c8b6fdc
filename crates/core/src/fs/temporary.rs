//! Files that are ours for a while: scratch files, questions to another program.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::{PRIVATE, create_private_dir, remove, rename_over, unique_name};
use crate::env::Env;
use crate::error::{At, Result};

/// An open file without a name, for a child to write to and us to read from: both ends.
pub fn scratch(dir: &Path) -> Result<(File, File)> {
    create_private_dir(dir)?;
    let path = dir.join(unique_name());
    let writer = OpenOptions::new().append(true).create_new(true).mode(PRIVATE).open(&path).at("create", &path)?;
    let reader = File::open(&path).at("open", &path);
    remove(&path)?;
    Ok((writer, reader?))
}

/// An open file in memory, for what a child complains of where no disk may have room. None where the system has no such
/// file.
#[cfg(target_os = "linux")]
pub fn in_memory() -> Option<File> {
    rustix::fs::memfd_create("said", rustix::fs::MemfdFlags::CLOEXEC).ok().map(File::from)
}

/// There is none.
#[cfg(not(target_os = "linux"))]
pub fn in_memory() -> Option<File> {
    None
}

/// A private log that begins anew, for a child to write to and us to read from. The `keep` ones before it are at the same path
/// with `.1`, `.2` behind it.
pub fn new_log(path: &Path, keep: usize) -> Result<(File, File)> {
    let older = |n: usize| match n {
        0 => path.to_path_buf(),
        n => path.with_file_name(format!("{}.{n}", path.file_name().unwrap_or_default().display())),
    };
    for n in (0..keep).rev().filter(|n| older(*n).exists()) {
        rename_over(&older(n), &older(n + 1))?;
    }
    remove(path)?;
    let writer = OpenOptions::new().append(true).create_new(true).mode(PRIVATE).open(path).at("create", path)?;
    Ok((writer, File::open(path).at("open", path)?))
}

/// A private file for the length of one question to another program; removed when dropped.
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// Writes it into `TMPDIR`.
    pub fn with(env: &Env, bytes: &[u8]) -> Result<Temporary> {
        let dir = env.temp_dir();
        let temporary = Temporary { path: dir.join(unique_name()) };
        let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&temporary.path);
        file.and_then(|mut f| f.write_all(bytes)).at("write", &temporary.path)?;
        Ok(temporary)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
