//! What git ignores, and which exclude patterns match files that git tracks.

use std::collections::BTreeSet;
use std::path::PathBuf;

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::path::RelPath;

use crate::env_file;
use crate::excludes;
use crate::record::Record;
use crate::worktree::OpenWorktree;

/// Whether `.sweatshop-env` is going to hold variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnvFileUse {
    Used,
    Unused,
}

/// The answers of `git check-ignore`.
#[derive(Debug, Default)]
pub struct IgnoredFiles {
    pub paths: BTreeSet<RelPath>,
    /// Whether git would show `.sweatshop-env` as untracked although it is used.
    pub is_env_exposed: bool,
}

/// Asks git which of the absent destinations it ignores. The patterns that are about to be added go into a second
/// question, which is asked only when there are such patterns and the first answer left a path open.
pub fn read(
    env: &Env,
    worktree: &OpenWorktree,
    absent: Vec<PathBuf>,
    env_file_use: EnvFileUse,
    (exclude, patterns): (&[u8], &[String]),
) -> Result<IgnoredFiles> {
    let mut paths = absent;
    let env_file = PathBuf::from(env_file::FILE);
    if env_file_use == EnvFileUse::Used {
        paths.push(env_file.clone());
    }
    let mut ignored = worktree.git.ignored(&worktree.path, &paths, None)?;
    let pending = excludes::missing(exclude, patterns);
    let open: Vec<PathBuf> = paths.into_iter().filter(|p| !ignored.contains(p)).collect();
    if !open.is_empty()
        && !pending.is_empty()
        && let Ok(file) = fs::Temporary::with(env, (pending.join("\n") + "\n").as_bytes())
    {
        ignored.extend(worktree.git.ignored(&worktree.path, &open, Some(file.path()))?);
    }
    Ok(IgnoredFiles {
        is_env_exposed: env_file_use == EnvFileUse::Used && !ignored.contains(&env_file),
        paths: ignored.iter().filter_map(|p| RelPath::parse_os(p.as_os_str()).ok()).collect(),
    })
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
