//! `.worktreeinclude`: the git-ignored files of the main checkout that a worktree gets copies of.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;

use shopfloor_core::error::Result;
use shopfloor_core::fs::{Content, Found, Root};
use shopfloor_core::git::{Git, Home};
use shopfloor_core::path::RelPath;
use shopfloor_core::text::shell_word;

use super::copyable::{ENVIRONMENT, environment, name_left, stays};
use crate::env_file;
use crate::layer::MergedLayers;
use crate::requests::runs_code;
use crate::worktree::OpenWorktree;

/// The file's name, at the top of the main checkout; it has gitignore syntax.
pub const FILE: &str = ".worktreeinclude";

/// The absent files that are asked for, each with its original. A link is made anew, with the same target.
pub type IncludedFiles = BTreeMap<RelPath, (PathBuf, Content)>;

/// What is asked for.
#[derive(Debug, Default)]
pub struct Included {
    pub files: IncludedFiles,
    /// Directories that match as a whole, which are copied as caches.
    pub dirs: Vec<RelPath>,
}

/// Finds the files that match, are ignored in the main checkout, and are absent from the worktree, each with its original,
/// and warns about those that are not copied.
pub fn read(worktree: &OpenWorktree, merged: &MergedLayers, warnings: &mut Vec<String>) -> Result<Included> {
    let mut included = Included::default();
    let checkout = &worktree.repo.home.checkout;
    if *checkout == worktree.path || !checkout.join(".git").exists() {
        return Ok(included);
    }
    let patterns = patterns(worktree, warnings)?;
    if patterns.is_empty() {
        return Ok(included);
    }
    let list = |more: &[&str]| {
        let options: Vec<OsString> = ["-o", "-i"].iter().chain(more).map(OsString::from).collect();
        worktree.git.ls_files(checkout, &[&options[..], &patterns].concat())
    };
    let (dirs, files): (Vec<PathBuf>, Vec<PathBuf>) =
        list(&["--directory"])?.into_iter().partition(|path| path.as_os_str().as_encoded_bytes().ends_with(b"/"));
    included.dirs = whole_dirs(worktree, merged, &dirs)?;
    // A cache that matches as a whole is for its own entry to copy, or to leave out; not so a file named in one.
    let is_whole = |cache: &&RelPath| dirs.iter().any(|dir| cache.as_path().starts_with(dir));
    let caches: Vec<&RelPath> = merged.caches.keys().filter(is_whole).collect();
    // What is in other directories is listed file by file.
    let all = if included.dirs.len() == dirs.len() { files } else { list(&[])? };
    let is_apart = |path: &PathBuf| !included.dirs.iter().any(|dir| path.starts_with(dir.as_path()));
    let matching: BTreeSet<PathBuf> = all.into_iter().filter(is_apart).collect();
    let own = merged.caches.iter().filter(|(_, cache)| !cache.is_cleared).map(|(path, _)| path);
    let dirs = included.dirs.iter().chain(own).map(|dir| dir.as_path().to_path_buf());
    let copied: BTreeSet<PathBuf> = matching.iter().cloned().chain(dirs).collect();
    let main = Root::open(checkout)?;
    let (mut absent, mut left, mut environments) = (Vec::new(), Vec::new(), BTreeSet::new());
    for path in &matching {
        // git lists a nested repository as `dir/`; names that git knows and we refuse are not copied.
        let Ok(rel) = RelPath::parse_os(path.as_os_str()) else { continue };
        let reserved = rel.to_string().starts_with(env_file::FILE);
        let taken =
            merged.files.keys().any(|entry| entry == &rel || entry.is_parent_of(&rel) || rel.is_parent_of(entry));
        let is_cached = caches.iter().any(|cache| cache.is_parent_of(&rel));
        if reserved || taken || is_cached || worktree.root.look(&rel)? != Found::Missing {
            continue;
        }
        if let Some(dir) = environment(checkout, path) {
            environments.insert(dir);
            continue;
        }
        match main.look(&rel)? {
            Found::Link(target) if !stays(&worktree.path, path, &target, &copied) => left.push(path.clone()),
            _ if path.to_str().is_none() => warnings.push(format!("{rel} is not copied: its name is not UTF-8")),
            Found::File(_) | Found::Link(_) => absent.push(path.clone()),
            _ => warnings.push(format!("{rel} is not copied: it is not a regular file")),
        }
    }
    name_left(left, warnings);
    let is_missing = |dir: &&&std::path::Path| worktree.path.join(dir).symlink_metadata().is_err();
    warnings.extend(
        environments.iter().filter(is_missing).map(|dir| format!("{} is not copied: {ENVIRONMENT}", dir.display())),
    );
    let ignored: HashSet<PathBuf> = worktree.git.ignored(checkout, &absent, None)?.into_iter().collect();
    for path in absent.into_iter().filter(|p| ignored.contains(p)) {
        let Ok(rel) = RelPath::parse_os(path.as_os_str()) else { continue };
        match main.content(&rel) {
            Ok(content) => included.files.extend(content.map(|content| (rel, (checkout.join(&path), content)))),
            Err(why) => warnings.push(format!("{rel} is not copied: {why}")),
        }
    }
    Ok(included)
}

/// What a person should know of it before approving: what is copied besides, and what of that runs code.
pub fn told(git: &Git, home: &Home) -> Result<Vec<String>> {
    let list = home.checkout.join(FILE);
    if !list.is_file() || File::open(&list).is_err() {
        return Ok(Vec::new());
    }
    let options = ["-o".into(), "-i".into(), "--directory".into(), "--exclude-from".into(), list.into_os_string()];
    let listed = git.ls_files(&home.checkout, &options)?;
    let copied = git.ignored(&home.checkout, &listed, None)?;
    let paths = copied.iter().map(|path| path.to_string_lossy().into_owned());
    let lines = paths.map(|path| {
        let named = RelPath::parse(path.trim_end_matches('/'));
        let runs = named.is_ok_and(|path| runs_code(&path, "install\""));
        let note = if runs { "   (programs run what it says)" } else { "" };
        format!("  copy     {path} as {FILE} asks{note}")
    });
    Ok(lines.collect())
}

/// The ignored directories of the main checkout that match as a whole, and that no entry places anything in.
fn whole_dirs(worktree: &OpenWorktree, merged: &MergedLayers, dirs: &[PathBuf]) -> Result<Vec<RelPath>> {
    let checkout = &worktree.repo.home.checkout;
    let dirs = dirs.iter().filter_map(|path| path.to_str()?.strip_suffix('/'));
    let dirs: Vec<PathBuf> = dirs.filter(|dir| !checkout.join(dir).join(".git").exists()).map(PathBuf::from).collect();
    let ignored: HashSet<PathBuf> = worktree.git.ignored(checkout, &dirs, None)?.into_iter().collect();
    let dirs =
        dirs.iter().filter(|dir| ignored.contains(*dir)).filter_map(|dir| RelPath::parse_os(dir.as_os_str()).ok());
    let is_apart = |dir: &RelPath| {
        let touches = |other: &RelPath| other == dir || other.is_parent_of(dir) || dir.is_parent_of(other);
        !merged.files.keys().chain(merged.caches.keys()).any(touches)
    };
    Ok(dirs.filter(is_apart).collect())
}

/// The list as arguments of `git ls-files`. Only patterns are read from it, so it may be a link to anywhere.
fn patterns(worktree: &OpenWorktree, warnings: &mut Vec<String>) -> Result<Vec<OsString>> {
    let list = worktree.repo.home.checkout.join(FILE);
    let why = match (list.metadata(), list.symlink_metadata()) {
        (Ok(meta), _) if meta.is_file() => match File::open(&list) {
            Ok(_) => return Ok(vec!["--exclude-from".into(), list.into_os_string()]),
            Err(e) => e.to_string(),
        },
        (Err(_), Err(_)) => {
            // An agent can write the commit that the main checkout is at, so its own file counts alone.
            if worktree.git.sparse_file(&worktree.repo.home, FILE)?.is_some() {
                let checkout = shell_word(&worktree.repo.home.checkout);
                warnings.push(format!(
                    "{FILE} is not read: the main checkout is sparse and leaves it out; `git -C {checkout} sparse-checkout \
                     add /{FILE}` brings it"
                ));
            }
            return Ok(Vec::new());
        }
        (Err(e), _) => e.to_string(),
        (Ok(_), _) => "it is not a file".to_owned(),
    };
    warnings.push(format!("{} is not read: {why}", list.display()));
    Ok(Vec::new())
}
