//! What git ignores, and which exclude patterns match files that git tracks.

use std::path::PathBuf;

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs;

use crate::applied::Record;
use crate::excludes;
use crate::worktree::OpenWorktree;

/// The paths among these that git ignores, now or when the patterns are added. The patterns that are not there yet go
/// into a second question, which is asked only when the first answer left a path open.
pub fn read(
    env: &Env,
    worktree: &OpenWorktree,
    paths: &[PathBuf],
    (exclude, patterns): (&[u8], &[String]),
) -> Result<Vec<PathBuf>> {
    let mut ignored = worktree.git.ignored(&worktree.path, paths, None)?;
    let pending = excludes::missing(exclude, patterns);
    let open: Vec<PathBuf> = paths.iter().filter(|p| !ignored.contains(p)).cloned().collect();
    if !open.is_empty()
        && !pending.is_empty()
        && let Ok(file) = fs::Temporary::with(env, (pending.join("\n") + "\n").as_bytes())
    {
        ignored.extend(worktree.git.ignored(&worktree.path, &open, Some(file.path()))?);
    }
    Ok(ignored)
}

/// The patterns that match tracked files, each with one such file. git is asked only about patterns that are new to
/// this worktree.
pub fn patterns_matching_tracked(
    worktree: &OpenWorktree,
    patterns: &[String],
    record: &Record,
) -> Result<Vec<(String, String)>> {
    let new: Vec<&String> = patterns.iter().filter(|p| !record.excludes.contains(*p)).collect();
    let list = |patterns: &[&String]| {
        let options = ["-c".into(), "-i".into()].into_iter();
        let excludes = patterns.iter().flat_map(|p| ["-x".into(), p.as_str().into()]);
        worktree.git.ls_files(&worktree.path, &options.chain(excludes).collect::<Vec<_>>())
    };
    let mut matching = Vec::new();
    if new.is_empty() || list(&new)?.is_empty() {
        return Ok(matching);
    }
    for pattern in new {
        if let Some(example) = list(&[pattern])?.first() {
            matching.push((pattern.clone(), example.display().to_string()));
        }
    }
    Ok(matching)
}
