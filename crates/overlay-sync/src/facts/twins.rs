//! Workspaces in which git gives the same answers about ignored files: the same patterns hold there, and none of the
//! files is tracked.

use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use shopfloor_core::env::Env;
use shopfloor_core::fs;
use shopfloor_core::path::RelPath;

use crate::manifest::Workspace;

/// The fingerprint of what configures git for all worktrees. `None` when worktrees may be configured differently.
pub fn config(env: &Env, common_dir: &Path) -> Option<u64> {
    let home = env.home().map(Path::to_path_buf);
    let xdg = env.var("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| Some(home.as_ref()?.join(".config")));
    let named = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].iter().filter_map(|name| env.var(name)).map(PathBuf::from);
    let mut files = vec![PathBuf::from("/etc/gitconfig"), common_dir.join("config")];
    files.extend(home.map(|home| home.join(".gitconfig")));
    files.extend(xdg.map(|dir| dir.join("git/config")));
    files.extend(named);
    let mut hasher = DefaultHasher::new();
    for path in files.iter().filter(|path| path.is_file()) {
        let text = fs::read(path).ok()??.to_ascii_lowercase();
        // An include may depend on the worktree, and other object names have another length.
        let has = |word: &[u8]| text.windows(word.len()).any(|part| part == word);
        if has(b"[include") || has(b"worktreeconfig") || has(b"objectformat") {
            return None;
        }
        // A relative path is another file in each worktree.
        let is_relative = |line: &[u8]| {
            let value = line.split(|b| *b == b'=').nth(1).unwrap_or_default().trim_ascii();
            let value = value.strip_prefix(b"\"").unwrap_or(value);
            !value.starts_with(b"/") && !value.starts_with(b"~/")
        };
        let names_excludes = |line: &&[u8]| line.windows(12).any(|part| part == b"excludesfile");
        if text.split(|b| *b == b'\n').filter(names_excludes).any(is_relative) {
            return None;
        }
        text.hash(&mut hasher);
    }
    if env.vars.iter().any(|(name, _)| name.to_string_lossy().starts_with("GIT_CONFIG_"))
        && env.var("GIT_CONFIG_COUNT").is_some()
    {
        return None;
    }
    Some(hasher.finish())
}

/// The fingerprint of what decides about these files in a workspace. `None` when git has to be asked there.
pub fn print(config: u64, workspace: &Workspace, asked: &BTreeSet<RelPath>) -> Option<u64> {
    let dirs: BTreeSet<&Path> = asked.iter().flat_map(|path| path.as_path().ancestors().skip(1)).collect();
    let mut hasher = DefaultHasher::new();
    (config, workspace.common_dir(), asked).hash(&mut hasher);
    let mut named: HashSet<PathBuf> = asked.iter().map(|path| path.as_path().to_path_buf()).collect();
    named.extend(dirs.iter().map(|dir| dir.to_path_buf()));
    for dir in &dirs {
        let here = workspace.root.join(dir);
        let is_other = !dir.as_os_str().is_empty() && here.join(".git").symlink_metadata().is_ok();
        if is_other {
            return None;
        }
        // git follows no link here, and takes one that is missing from the index.
        let patterns = fs::read_no_follow(&here.join(".gitignore")).ok()?;
        named.extend(patterns.is_none().then(|| dir.join(".gitignore")));
        (dir, patterns).hash(&mut hasher);
    }
    let index = fs::read_no_follow(&workspace.git_dir.join("index")).ok()?.unwrap_or_default();
    let is_named = |path: &[u8]| named.contains(Path::new(std::ffi::OsStr::from_bytes(path)));
    (!has_entry(&index, is_named)?).then(|| hasher.finish())
}

/// Whether an index has an entry with such a path. `None` for an index that is not all there or is written in another
/// way (gitformat-index(5): versions 2 and 3 write whole paths; a split index and a sparse one leave some out).
fn has_entry(index: &[u8], is_named: impl Fn(&[u8]) -> bool) -> Option<bool> {
    if index.is_empty() {
        return Some(false);
    }
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    if index.get(..4)? != b"DIRC" || !matches!(number(4)?, 2 | 3) {
        return None;
    }
    let mut at = 12;
    for _ in 0..number(8)? {
        let flags = u16::from_be_bytes(index.get(at + 60..at + 62)?.try_into().ok()?);
        let head = if flags & 0x4000 == 0 { 62 } else { 64 };
        let rest = index.get(at + head..)?;
        let length = rest.iter().position(|b| *b == 0)?;
        if is_named(&rest[..length]) {
            return Some(true);
        }
        // Entries are padded with one to eight NULs to a multiple of eight.
        at += (head + length + 8) / 8 * 8;
    }
    while at + 8 + 20 <= index.len() {
        if matches!(index.get(at..at + 4)?, b"link" | b"sdir") {
            return None;
        }
        at += 8 + usize::try_from(number(at + 4)?).ok()?;
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(version: u8, paths: &[&str], extension: &[u8]) -> Vec<u8> {
        let count = u8::try_from(paths.len()).unwrap();
        let mut bytes = [b"DIRC".as_slice(), &[0, 0, 0, version, 0, 0, 0, count]].concat();
        for path in paths {
            let mut entry = vec![0; 60];
            entry.extend([0, u8::try_from(path.len()).unwrap()]);
            entry.extend(path.as_bytes());
            entry.resize((entry.len() + 8) / 8 * 8, 0);
            bytes.extend(entry);
        }
        if !extension.is_empty() {
            bytes.extend([extension, &[0, 0, 0, 0]].concat());
        }
        bytes.extend([0; 20]);
        bytes
    }

    #[test]
    fn an_index_is_read_as_git_writes_it() {
        let has = |index: &[u8], path: &str| has_entry(index, |entry| entry == path.as_bytes());
        let paths = ["a", "a/bcdefg", "d/e/f"];
        for (path, expected) in [("a", true), ("d/e/f", true), ("d/e", false), ("z", false)] {
            assert_eq!(has(&index(2, &paths, b"TREE"), path), Some(expected), "{path}");
        }
        assert_eq!(has(&index(4, &paths, b""), "z"), None);
        assert_eq!(has(&index(2, &paths, b"link"), "z"), None);
        assert_eq!(has(&index(2, &paths, b"")[..40], "z"), None);
        assert_eq!(has(b"", "z"), Some(false));
    }
}
