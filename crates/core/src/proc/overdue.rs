//! What may have held up a git that was ended because it took too long.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A file from this size on takes git a while to read.
const LARGE: u64 = 1 << 30;

/// How long we look for one.
const LIMIT: Duration = Duration::from_secs(2);

/// A pipe below a directory in the place of a file that git reads, else the largest file, if that is large; and what it is, in
/// words. Nothing of a git directory.
pub(super) fn in_the_way(dir: &Path) -> Option<(PathBuf, String)> {
    // There a command has no directory of its own.
    dir.parent()?;
    let begin = Instant::now();
    let all = walkdir::WalkDir::new(dir).into_iter().filter_entry(|entry| entry.file_name() != ".git");
    let found = all.take_while(|_| begin.elapsed() < LIMIT).filter_map(|entry| {
        let entry = entry.ok()?;
        let meta = entry.metadata().ok()?;
        let is_pipe = meta.file_type().is_fifo() && entry.file_name().as_bytes().starts_with(b".git");
        let is_large = meta.is_file() && meta.len() >= LARGE;
        (is_pipe || is_large).then(|| (is_pipe, meta.len(), entry.into_path()))
    });
    let (is_pipe, size, path) = found.max()?;
    Some((path, if is_pipe { "which is a pipe".into() } else { format!("which has {} GiB", size >> 30) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_that_git_reads_comes_before_a_large_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        assert_eq!(in_the_way(dir.path()), None);
        std::fs::File::create(path("big")).unwrap().set_len(3 << 30).unwrap();
        assert_eq!(in_the_way(dir.path()), Some((path("big"), "which has 3 GiB".to_owned())));
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
        rustix::fs::mknodat(rustix::fs::CWD, path(".gitignore"), kind, mode, 0).unwrap();
        assert_eq!(in_the_way(dir.path()), Some((path(".gitignore"), "which is a pipe".to_owned())));
    }
}
