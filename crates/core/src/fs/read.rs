//! Reading files: at most what is meant to be read, and never a pipe or a device.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::buffer::spare_capacity;
use rustix::fs::OFlags;
use rustix::io::retry_on_intr;

use super::{PARSE_LIMIT, STATE_LIMIT, is_loop, link_refused, own_flags};
use crate::error::{At, Failure, Result};

/// Reads a regular file of at most [`PARSE_LIMIT`] bytes; `None` when there is none. Links are
/// followed. A FIFO or device is refused, not waited for.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    read_with(path, 0, PARSE_LIMIT)
}

/// As [`read`], up to [`STATE_LIMIT`]: for texts that are merged and not parsed as a format of ours.
pub fn read_text(path: &Path) -> Result<Option<Vec<u8>>> {
    read_with(path, 0, STATE_LIMIT)
}

/// The first 64 KiB of a file, whatever its size; `None` when there is none. For telling what a
/// program is, not for reading a format.
pub fn read_head(path: &Path) -> Result<Option<Vec<u8>>> {
    let nonblock = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = match OpenOptions::new().read(true).custom_flags(nonblock).open(path) {
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(None),
        opened => opened.at("read", path)?,
    };
    let mut bytes = Vec::new();
    if file.metadata().at("read", path)?.is_file() {
        file.take(1 << 16).read_to_end(&mut bytes).at("read", path)?;
    }
    Ok(Some(bytes))
}

/// As [`read`], for our own state: up to [`STATE_LIMIT`], and a link in the file's place is refused.
pub fn read_no_follow(path: &Path) -> Result<Option<Vec<u8>>> {
    read_with(path, own_flags(), STATE_LIMIT)
}

/// The same for what may have any size: contents that are kept, logs.
pub fn read_own(path: &Path) -> Result<Option<Vec<u8>>> {
    read_with(path, own_flags(), u64::MAX - 1)
}

/// Opens a regular file: no link, which leads to anybody's file, and no pipe, which would be waited for.
pub fn open_plain(path: &Path) -> Option<File> {
    let file = OpenOptions::new().read(true).custom_flags(own_flags()).open(path).ok()?;
    file.metadata().is_ok_and(|meta| meta.is_file()).then_some(file)
}

fn read_with(path: &Path, flags: i32, limit: u64) -> Result<Option<Vec<u8>>> {
    let nonblock = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = match OpenOptions::new().read(true).custom_flags(flags | nonblock).open(path) {
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(None),
        Err(e) if is_loop(&e) => return Err(link_refused(path)),
        opened => opened.at("read", path)?,
    };
    read_regular(file, path, limit).map(Some)
}

/// Reads an opened file to its end, if it is a regular one of a size we parse.
pub(crate) fn read_regular(file: File, path: &Path, limit: u64) -> Result<Vec<u8>> {
    let meta = file.metadata().at("read", path)?;
    if !meta.is_file() {
        return Err(Failure::malformed(format!("{} is not a regular file", path.display()))
            .hint(format!("run `ls -ld {}`", crate::text::shell_word(path))));
    }
    let too_large = || Failure::malformed(format!("{} is larger than {} MiB", path.display(), limit >> 20));
    if meta.len() > limit {
        return Err(too_large());
    }
    let bytes = read_to_end(&file, meta.len(), limit + 1).at("read", path)?;
    if bytes.len() as u64 > limit {
        return Err(too_large());
    }
    Ok(bytes)
}

/// Reads an opened file of `size` bytes to its end, or to `limit` bytes. A sparse file may be larger than memory; that is
/// an error.
pub(super) fn read_to_end(mut file: &File, size: u64, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Files of `/proc` have no size.
    let room = usize::try_from(size.max(8 << 10).min(limit)).unwrap_or(usize::MAX).saturating_add(1);
    bytes.try_reserve_exact(room).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    let first = retry_on_intr(|| rustix::io::read(file, spare_capacity(&mut bytes)))?;
    // There was room for more than that.
    if first as u64 == size && size > 0 && size < limit {
        return Ok(bytes);
    }
    file.by_ref().take(limit.saturating_sub(first as u64)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether a file of our own is empty, or not there, or ends with a line end.
pub fn ends_line(path: &Path) -> Result<bool> {
    let Some(mut file) = open_plain(path) else { return Ok(true) };
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(-1)).is_ok() {
        file.read_exact(&mut last).at("read", path)?;
    }
    Ok(last == [b'\n'])
}

/// The last whole line of a log of our own that is no longer than 64 KiB, without its end; none where there is none.
pub fn last_line(path: &Path) -> Result<Option<Vec<u8>>> {
    let Some(file) = open_plain(path) else { return Ok(None) };
    let tail = read_tail(&file, 1 << 16).at("read", path)?;
    let whole = tail.iter().rposition(|byte| *byte == b'\n').map(|end| &tail[..end]);
    Ok(whole.and_then(|whole| whole.split(|byte| *byte == b'\n').next_back()).map(<[u8]>::to_vec))
}

/// The end of an opened file, at most so many bytes of it.
pub fn read_tail(mut file: &File, most: u64) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut tail = Vec::new();
    file.take(most).read_to_end(&mut tail)?;
    Ok(tail)
}
