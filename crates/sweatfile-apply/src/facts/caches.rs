//! What a fresh worktree can get of the caches of the main checkout.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use shopfloor_core::error::{At, Failure, Result};
use shopfloor_core::fs::{self, Content, Found, Parts, size_in_words};
use shopfloor_core::path::RelPath;
use shopfloor_core::proc::map_parallel;

use super::copyable::{ENVIRONMENT, environment, name_left, stays};
use crate::applied::Record;
use crate::cache::Cache;
use crate::worktree::OpenWorktree;

/// The caches that the worktree lacks and the main checkout has, each with what is copied.
pub type Caches = BTreeMap<RelPath, Arc<CacheSource>>;

/// What is copied for one.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CacheSource {
    pub from: PathBuf,
    pub parts: Parts,
    /// Whether the files are hard links to those in the main checkout.
    pub is_linked: bool,
    /// How it is made, in words.
    pub made_by: String,
}

/// Those caches that the worktree lacks and the main checkout has. Warns about those below a link.
pub fn lacking(
    worktree: &OpenWorktree,
    wanted: impl Iterator<Item = (RelPath, Cache)>,
    warnings: &mut Vec<String>,
) -> Result<BTreeMap<RelPath, Cache>> {
    let checkout = &worktree.repo.home.checkout;
    let mut lacking = BTreeMap::new();
    if *checkout == worktree.path || !checkout.join(".git").exists() {
        return Ok(lacking);
    }
    for (path, cache) in wanted.filter(|(path, _)| checkout.join(path.as_path()).exists()) {
        match worktree.root.look(&path)? {
            Found::Blocked(at) => warnings.push(format!("{path} is not copied: {at} is a link or not a directory")),
            // One with links would not be whole where git has files in it already, and is refused.
            found if cache.is_linked || found == Found::Missing => drop(lacking.insert(path, cache)),
            _ => {}
        }
    }
    Ok(lacking)
}

/// Reads what is copied of these, and warns about what is not.
pub fn read(worktree: &OpenWorktree, lacking: &BTreeMap<RelPath, Cache>, warnings: &mut Vec<String>) -> Result<Caches> {
    let mut sources = BTreeMap::new();
    for (path, cache) in lacking {
        let checkout = &worktree.repo.home.checkout;
        let tracks = |dir: &Path| {
            Ok::<_, Failure>(!worktree.git.ls_files(dir, &["--".into(), path.as_path().into()])?.is_empty())
        };
        if cache.is_linked && (tracks(&worktree.path)? || tracks(checkout)?) {
            let why = "git tracks files in it, and an edit of one would change the main checkout's";
            warnings.push(format!("{path} is not linked: {why}"));
        } else if worktree.root.look(path)? == Found::Missing {
            match source(worktree, path, cache, warnings) {
                Ok(source) => drop(sources.insert(path.clone(), source)),
                Err(why) => warnings.push(format!("{path} is not copied: {why}")),
            }
        }
    }
    // A link may lead from one to another, if that is copied.
    let paths: Vec<PathBuf> = sources.keys().map(|path| path.as_path().to_path_buf()).collect();
    for (path, source) in &mut sources {
        let others = paths.iter().filter(|other| *other != path.as_path()).cloned();
        keep_links(worktree, path, &mut source.parts, others.collect(), warnings);
    }
    Ok(sources.into_iter().map(|(path, source)| (path, Arc::new(source))).collect())
}

/// What the main checkout has of a cache, as far as it would be copied. Of links it counts those that the worktree has.
pub fn content(worktree: &OpenWorktree, path: &RelPath) -> Result<Content> {
    let from = worktree.repo.home.checkout.join(path.as_path());
    let mut source = CacheSource { from: from.clone(), ..CacheSource::default() };
    list(path, &mut source, &mut Vec::new()).at("read", &from)?;
    source.parts.links.retain(|(below, _)| worktree.root.join(path).join(below).is_symlink());
    source.parts.content(&from)
}

/// Keeps the links that lead to something in the worktree, too, and names the others.
fn keep_links(
    worktree: &OpenWorktree,
    path: &RelPath,
    parts: &mut Parts,
    mut copied: BTreeSet<PathBuf>,
    warnings: &mut Vec<String>,
) {
    let below = parts.files.iter().chain(parts.links.iter().map(|(link, _)| link));
    copied.extend(below.map(|below| path.as_path().join(below)));
    let mut left = Vec::new();
    parts.links.retain(|(below, target)| {
        let link = path.as_path().join(below);
        let stays = stays(&worktree.path, &link, target, &copied);
        left.extend((!stays).then_some(link));
        stays
    });
    name_left(left, warnings);
}

fn source(
    worktree: &OpenWorktree,
    path: &RelPath,
    cache: &Cache,
    warnings: &mut Vec<String>,
) -> std::result::Result<CacheSource, String> {
    let from = worktree.repo.home.checkout.join(path.as_path());
    if let Some(dir) = environment(&worktree.repo.home.checkout, &path.as_path().join("x")) {
        return Err(if dir == path.as_path() {
            ENVIRONMENT.into()
        } else {
            format!("{} is not copied: {ENVIRONMENT}", dir.display())
        });
    }
    let mut source = CacheSource { from: from.clone(), ..CacheSource::default() };
    if !from.is_dir() {
        return Err("it is no directory; name a file in .worktreeinclude".into());
    }
    let bytes = list(path, &mut source, warnings).map_err(|e| format!("it cannot be read: {e}"))?;
    let first = source.parts.files.first().map(|file| from.join(file));
    let shares = first.is_some_and(|file| fs::shares_blocks(&file, &worktree.path));
    if bytes > cache.max && !shares && !cache.is_linked {
        let (size, most) = (size_in_words(bytes), size_in_words(cache.max));
        return Err(format!("it has {size}, more than `max` ({most}), and the file system cannot share its blocks"));
    }
    if cache.is_linked {
        warnings
            .push(format!("{path} has hard links to the main checkout's files: what writes one in place changes both"));
    } else {
        // A dry run tells this, too.
        let unread = map_parallel(&source.parts.files, |file| {
            File::open(from.join(file)).err().map(|e| format!("{} in it cannot be read: {e}", file.display()))
        });
        if let Some(why) = unread.into_iter().flatten().next() {
            return Err(why);
        }
    }
    let how = match (cache.is_linked, shares) {
        (true, _) => "linked to the main checkout's files",
        (false, true) => "shares its blocks with the main checkout",
        (false, false) => "copied from the main checkout",
    };
    source.made_by = format!("{how}, {} in {} files", size_in_words(bytes), source.parts.files.len());
    source.is_linked = cache.is_linked;
    Ok(source)
}

/// The programs of copied caches that name the main checkout, in words: they would work on that one.
pub fn naming_main(worktree: &OpenWorktree, record: &Record) -> Vec<String> {
    let [main, own] = [&worktree.repo.home.checkout, &worktree.path].map(|path| path.as_os_str().as_encoded_bytes());
    let is_main = |part: &[u8]| {
        let rest = part.strip_prefix(main).filter(|_| !part.starts_with(own));
        rest.is_some_and(|rest| rest.first().is_none_or(|byte| *byte == b'/' || byte.is_ascii_whitespace()))
    };
    let mut named = Vec::new();
    for dir in record.caches.iter().flat_map(|path| ["bin", ".bin"].map(|bin| path.as_path().join(bin))) {
        let Ok(dir) = RelPath::parse_os(dir.as_os_str()) else { continue };
        let Ok(Some(there)) = worktree.root.below(&dir) else { continue };
        for name in there.names(|_| true).unwrap_or_default() {
            let path = worktree.root.join(&dir).join(name);
            let is_file = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
            let head = if is_file { fs::read_head(&path).ok().flatten() } else { None };
            if head.is_some_and(|head| (0..head.len()).any(|at| is_main(&head[at..]))) {
                named.push(format!("{} names the main checkout, and would work on that one", path.display()));
            }
        }
    }
    named
}

/// Lists what a cache has, and returns how large its files are. What cannot be copied is named.
fn list(path: &RelPath, source: &mut CacheSource, warnings: &mut Vec<String>) -> std::io::Result<u64> {
    let (mut bytes, mut dirs, mut repositories) = (0, vec![PathBuf::new()], BTreeSet::new());
    while let Some(dir) = dirs.pop() {
        for entry in source.from.join(&dir).read_dir()? {
            let entry = entry?;
            let (below, whole, meta) = (dir.join(entry.file_name()), entry.path(), entry.metadata()?);
            if meta.is_symlink() {
                source.parts.links.push((below, whole.read_link()?));
            } else if meta.is_dir() && whole.join("pyvenv.cfg").exists() {
                warnings.push(format!("{path}/{} is not copied: {ENVIRONMENT}", below.display()));
            } else if meta.is_dir() && whole.join(".git").symlink_metadata().is_ok() {
                // Another agent may work there, and git looks into none of them either.
                repositories.insert(format!("{path}/{}", below.display()));
            } else if entry.file_name().eq_ignore_ascii_case(".git") || !meta.is_dir() && !meta.is_file() {
                warnings.push(format!("{path}/{} is not copied", below.display()));
            } else if meta.is_dir() {
                source.parts.dirs.push(below.clone());
                dirs.push(below);
            } else {
                bytes += meta.len();
                source.parts.files.push(below);
            }
        }
    }
    if !repositories.is_empty() {
        let names = repositories.into_iter().collect::<Vec<_>>().join(", ");
        warnings.push(format!("not copied, because they are worktrees or repositories of their own: {names}"));
    }
    Ok(bytes)
}
