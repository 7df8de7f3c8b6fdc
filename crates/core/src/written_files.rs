//! The user's own list of the files that we wrote below git directories. An agent can write there, but not to the list,
//! so a file that decides what is deleted, overwritten or trusted counts in full only if its digest is listed.

use std::path::{Path, PathBuf};

use crate::env::Env;
use crate::error::Result;
use crate::fs;
use crate::hash::Digest;
use crate::lock::Lock;

/// How many earlier versions of a file stay listed, because a kill may leave one of them.
const EARLIER: usize = 3;

/// The list as it was read once.
#[derive(Debug)]
pub struct Listed(String);

impl Listed {
    /// Reads it. Where it cannot be read, nothing is listed.
    pub fn read(env: &Env) -> Listed {
        let text = list(env).and_then(|list| fs::read_no_follow(&list).ok().flatten()).unwrap_or_default();
        Listed(String::from_utf8_lossy(&text).into_owned())
    }

    /// Whether we wrote these bytes to `path`, which lies in the git directory of a worktree; also if its repository was
    /// moved since.
    pub fn has(&self, path: &Path, bytes: &[u8]) -> bool {
        let own = line(path, bytes);
        let end = |path: &str| path.rsplit('/').take(MOVED_PARTS).map(str::to_owned).collect::<Vec<_>>();
        let digest = own.split_once(' ').map_or("", |(digest, _)| digest);
        self.0.lines().any(|listed| {
            let real = || Path::new(file(listed)).canonicalize().ok();
            let is_moved =
                || end(file(listed)) == end(file(&own)) && real().is_none_or(|real| real == Path::new(file(&own)));
            listed == own || listed.starts_with(digest) && is_moved()
        })
    }
}

/// `worktrees/NAME/shopfloor/TOOL/FILE`.
const MOVED_PARTS: usize = 5;

/// Whether any version of `path` is listed.
pub fn is_known(env: &Env, path: &Path) -> bool {
    let wanted = line(path, b"");
    Listed::read(env).0.lines().any(|listed| file(listed) == file(&wanted))
}

/// Whether we wrote these bytes to `path`.
pub fn is_listed(env: &Env, path: &Path, bytes: &[u8]) -> bool {
    let line = line(path, bytes);
    Listed::read(env).0.lines().any(|listed| listed == line)
}

/// Replaces a file of our own state, 0600, and lists it before that. Where the user's state cannot be written, as in an
/// agent's sandbox, the file stays unlisted.
pub fn write(env: &Env, path: &Path, bytes: &[u8]) -> Result<()> {
    // Held until the file is there: the next one to list another would drop the line.
    let _lock = match list(env).map(|list| add(&list, &line(path, bytes))) {
        Some(Err(failure)) if !failure.is_write_refused() => return Err(failure),
        added => added,
    };
    fs::replace(path, bytes, Some(fs::PRIVATE))
}

/// Removes a file of our own state, and takes it off the list, if that can be written: what an agent has kept of it counts
/// no more.
pub fn remove(env: &Env, path: &Path) -> Result<()> {
    let own = line(path, b"");
    match list(env).filter(|list| list.exists()).map_or(Ok(()), |list| drop_lines(&list, file(&own))) {
        Err(failure) if !failure.is_write_refused() => Err(failure),
        _ => fs::remove(path),
    }
}

fn drop_lines(list: &Path, path: &str) -> Result<()> {
    let _lock = Lock::take(&list.with_extension("lock"))?;
    let text = fs::read_no_follow(list)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let kept = text.lines().filter(|line| file(line) != path).map(|line| format!("{line}\n"));
    fs::replace(list, kept.collect::<String>().as_bytes(), Some(fs::PRIVATE))
}

/// Lists a file as it is.
pub fn note(env: &Env, path: &Path, bytes: &[u8]) -> Result<()> {
    list(env).map_or(Ok(()), |list| add(&list, &line(path, bytes)).map(drop))
}

/// Fails where no file can be listed, because the user's state cannot be written. Exit 4, or 2 if it has no place.
pub fn require_list(env: &Env) -> Result<()> {
    let dir = env.state_home().ok_or_else(|| Env::no_state_home("your own state"))?;
    fs::require_writable(&dir)
        .map_err(|failure| failure.hint("set XDG_STATE_HOME to a directory of yours that can be written"))
}

fn list(env: &Env) -> Option<PathBuf> {
    Some(env.state_home()?.join("own-files"))
}

/// The digest of a file and its path, without links.
fn line(path: &Path, bytes: &[u8]) -> String {
    let dir = path.parent().and_then(|dir| dir.canonicalize().ok()).unwrap_or_default();
    format!("{} {}", Digest::of(bytes), dir.join(path.file_name().unwrap_or_default()).display())
}

fn file(line: &str) -> &str {
    line.split_once(' ').map_or("", |(_, file)| file)
}

/// Adds a line, and drops those of files that are gone from a repository that is there; one on a disk that is away may
/// come back.
fn add(list: &Path, line: &str) -> Result<Lock> {
    let is_gone =
        |file: &Path| matches!(fs::is_there(file), Ok(false)) && file.ancestors().any(|dir| dir.join("HEAD").exists());
    let lock = Lock::take(&list.with_extension("lock"))?;
    let text = fs::read_no_follow(list)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let others = text.lines().filter(|other| *other != line && !is_gone(Path::new(file(other))));
    let (earlier, mut lines): (Vec<&str>, Vec<&str>) = others.partition(|other| file(other) == file(line));
    lines.extend(&earlier[earlier.len().saturating_sub(EARLIER)..]);
    lines.push(line);
    fs::replace(list, format!("{}\n", lines.join("\n")).as_bytes(), Some(fs::PRIVATE))?;
    Ok(lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_with_its_file_but_not_with_a_disk_that_is_away() {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("own-files");
        std::fs::create_dir(dir.path().join("here")).unwrap();
        std::fs::write(dir.path().join("here/HEAD"), "").unwrap();
        for file in ["disk/repo/f", "here/worktrees/gone/f", "here/HEAD"] {
            drop(add(&list, &format!("1 {}", dir.path().join(file).display())).unwrap());
        }
        let text = std::fs::read_to_string(&list).unwrap();
        assert!(text.contains("disk/repo/f") && text.contains("here/HEAD") && !text.contains("gone"), "{text}");
    }
}
