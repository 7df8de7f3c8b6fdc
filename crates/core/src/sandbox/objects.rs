//! Where the objects of a repository lie, outside and inside.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::fs;

/// How many repositories may take their objects from each other.
const MOST_ALTERNATES: usize = 8;

/// The directories that a repository's objects lie in, its own first.
fn object_dirs(common_dir: &Path) -> Vec<PathBuf> {
    let mut dirs = vec![common_dir.join("objects")];
    let mut at = 0;
    while at < dirs.len() && dirs.len() < MOST_ALTERNATES {
        let named = fs::read_no_follow(&dirs[at].join("info/alternates")).ok().flatten().unwrap_or_default();
        let named = named.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#"));
        let more: Vec<PathBuf> =
            named.map(|line| dirs[at].join(OsStr::from_bytes(line))).filter(|dir| dir.is_dir()).collect();
        dirs.extend(more);
        at += 1;
    }
    dirs
}

/// The same, each with its path inside, where the first is at `at`.
pub(super) fn inside(common_dir: &Path, at: &str) -> Vec<(PathBuf, String)> {
    let place = |n: usize| if n == 0 { at.to_owned() } else { format!("{at}.{n}") };
    object_dirs(common_dir).into_iter().enumerate().map(|(n, dir)| (dir, place(n))).collect()
}
