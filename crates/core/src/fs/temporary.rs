//! Files that are ours for a while: caches being written, scratch files, questions to another program.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::{PRIVATE, RESERVED, create_private_dir, discard, nofollow, remove, sweep, unique_name, unique_name_for};
use crate::env::Env;
use crate::error::{At, Result};

/// A cache being written: in one go and never synced, since losing it costs time only. It takes its name,
/// or is added to what is there, when it is whole; dropped before that it is gone.
#[derive(Debug)]
pub struct CacheFile {
    file: io::BufWriter<File>,
    temporary: Option<PathBuf>,
    path: PathBuf,
}

impl CacheFile {
    /// A new one that will replace what is at `path`.
    pub fn create(path: &Path) -> Result<CacheFile> {
        let dir = path.parent().unwrap_or(Path::new("."));
        create_private_dir(dir)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        sweep(dir, &format!("{RESERVED}{name}-"))?;
        let temporary = dir.join(unique_name_for(&name));
        let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&temporary);
        let file = io::BufWriter::with_capacity(1 << 18, file.at("create", &temporary)?);
        Ok(CacheFile { file, temporary: Some(temporary), path: path.to_path_buf() })
    }

    /// Adds to the one at `path`, which is there, after its first `length` bytes.
    pub fn append(path: &Path, length: u64) -> Result<CacheFile> {
        let open = OpenOptions::new().write(true).custom_flags(nofollow()).open(path);
        let mut file = open.at("write to", path)?;
        file.set_len(length).and_then(|()| io::Seek::seek(&mut file, io::SeekFrom::End(0))).at("write to", path)?;
        Ok(CacheFile { file: io::BufWriter::with_capacity(1 << 18, file), temporary: None, path: path.to_path_buf() })
    }

    /// Writes a piece.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).at("write", &self.path)
    }

    /// It is whole.
    pub fn finish(mut self) -> Result<()> {
        self.file.flush().at("write", &self.path)?;
        match self.temporary.take() {
            Some(temporary) => std::fs::rename(&temporary, &self.path).at("replace", &self.path),
            None => Ok(()),
        }
    }
}

impl Drop for CacheFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            discard(temporary);
        }
    }
}

/// An open file without a name, for a child to write to and us to read from: both ends.
pub fn scratch(dir: &Path) -> Result<(File, File)> {
    create_private_dir(dir)?;
    let path = dir.join(unique_name());
    let writer = OpenOptions::new().append(true).create_new(true).mode(PRIVATE).open(&path).at("create", &path)?;
    let reader = File::open(&path).at("open", &path);
    remove(&path)?;
    Ok((writer, reader?))
}

/// A private file for the length of one question to another program; removed when dropped.
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// Writes it into `TMPDIR`.
    pub fn with(env: &Env, bytes: &[u8]) -> Result<Temporary> {
        let dir = env.var("TMPDIR").map_or(PathBuf::from("/tmp"), PathBuf::from);
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
