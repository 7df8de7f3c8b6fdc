//! Everything the decisions rest on, read once and changed by nobody in between: the worktree's lock
//! is held, and what is hashed, shown and executed are the same bytes.

mod include;
mod layers;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use shopfloor_core::config::expand_home;
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs::{self, Content, Found, Root, Staging};
use shopfloor_core::git::{Git, Repo};
use shopfloor_core::path::RelPath;

pub use self::layers::{Layers, SETTINGS, approvable, load as load_layers};
use crate::TOOL;
use crate::env_file::{self, EnvFile};
use crate::excludes;
use crate::layer::{Merged, Wish};
use crate::plan;
use crate::record::Record;
use crate::sweatfile::Body;
use crate::template;

/// A worktree we may look at and write to.
pub struct Place {
    pub git: Git,
    pub repo: Repo,
    pub worktree: PathBuf,
    pub root: Root,
}

impl Place {
    /// The work tree we stand in; exit 2 where there is none.
    pub fn find(env: &Env) -> Result<Place> {
        let git = Git::find(env)?;
        let repo = git.discover()?;
        Place::of(git, repo)
    }

    pub fn of(git: Git, repo: Repo) -> Result<Place> {
        let worktree = repo.require_worktree()?.to_path_buf();
        let root = Root::open(&worktree)?;
        Ok(Place { git, repo, worktree, root })
    }

    /// Where temporary files of this worktree lie.
    pub fn staging_dir(&self) -> PathBuf {
        self.repo.worktree_state(TOOL).join("tmp")
    }

    /// The lock every command takes that writes to this worktree.
    pub fn lock_path(&self) -> PathBuf {
        self.repo.worktree_state(TOOL).join("lock")
    }
}

/// What is there at a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Here {
    pub found: Found,
    /// Read only where it matters: something the record knows, a link or a file.
    pub content: Option<Content>,
}

/// The file a `source` or `copy` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Original {
    /// Its absolute path; its content, where a copy of it is about to be made or judged.
    There(PathBuf, Content),
    Missing(PathBuf),
    Unreadable(PathBuf, String),
}

/// `.sweatshop-env` as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EnvHere {
    #[default]
    Missing,
    /// What it says, and whether only its owner can read it.
    File(EnvFile, bool),
    /// A link, a directory, unreadable: why.
    Unusable(String),
}

/// What `plan` decides from.
#[derive(Debug, Default)]
pub struct Facts {
    pub record: Record,
    pub exclude: Vec<u8>,
    pub here: BTreeMap<RelPath, Here>,
    pub originals: BTreeMap<RelPath, Original>,
    pub env: EnvHere,
    /// Destinations git ignores, with the patterns about to be added counted in.
    pub ignored: BTreeSet<RelPath>,
    /// Patterns that match tracked files, each with one of them.
    pub tracked: Vec<(String, String)>,
    /// The text of `.envrc`, when it can be read without following a link.
    pub envrc: Option<String>,
    /// Absent files that `.worktreeinclude` asks for, each with its original.
    pub included: BTreeMap<RelPath, (PathBuf, Content)>,
    /// Whether temporary names have to be excluded.
    pub needs_reserved: bool,
    pub template: template::Facts,
    pub warnings: Vec<String>,
}

/// Reads everything. `reserve`: ports are handed out for good, as apply needs it. At most three git
/// processes for a worktree that is up to date, the one that found the repository included.
pub fn read(env: &Env, place: &Place, merged: &Merged, reserve: bool) -> Result<Facts> {
    let mut facts =
        Facts { record: Record::load(&place.repo)?, exclude: excludes::read(&place.repo)?, ..Facts::default() };
    facts.needs_reserved = Staging::is_beside(&place.staging_dir(), &place.root)?;
    facts.template = template_facts(place, merged, reserve)?;
    let cleared = merged.cleared.keys().filter(|path| facts.record.files.contains_key(*path));
    for path in merged.files.keys().chain(cleared) {
        facts.here.insert(path.clone(), look(place, path, &facts.record)?);
    }
    for (path, wish) in &merged.files {
        if let Some(original) =
            original(env, wish, facts.here[path].found == Found::Missing, facts.record.files.contains_key(path))
        {
            facts.originals.insert(path.clone(), original);
        }
    }
    facts.env = env_here(&place.root)?;
    if let Some(envrc) = RelPath::parse(".envrc").ok().filter(|_| !merged.env.is_empty()) {
        facts.envrc = envrc_text(place, &envrc, &facts);
    }
    include::read(place, merged, &mut facts)?;
    read_ignored(env, place, merged, &mut facts)?;
    read_tracked(place, merged, &mut facts)?;
    Ok(facts)
}

fn template_facts(place: &Place, merged: &Merged, reserve: bool) -> Result<template::Facts> {
    let name = place.repo.home.checkout.file_name().unwrap_or_default().to_string_lossy();
    Ok(template::Facts {
        worktree: place.worktree.to_string_lossy().into_owned(),
        branch: place.repo.branch.clone().unwrap_or_else(|| "HEAD".into()),
        repo: name.strip_suffix(".git").unwrap_or(&name).to_owned(),
        ports: template::ports(&place.repo, &template::ports_wanted(merged), reserve)?,
    })
}

/// What lies at a destination. A directory is read to its end only when the record knows it.
pub fn look(place: &Place, path: &RelPath, record: &Record) -> Result<Here> {
    let found = place.root.look(path)?;
    let content = match found {
        Found::Link(_) => place.root.content(path)?,
        Found::File(_) | Found::Dir if record.files.contains_key(path) => place.root.content(path)?,
        _ => None,
    };
    Ok(Here { found, content })
}

/// Looks at what a `source` or `copy` names. A copy's bytes are read only while they decide something.
fn original(env: &Env, wish: &Wish, absent: bool, recorded: bool) -> Option<Original> {
    let (text, is_copy) = match &wish.body {
        Body::Source(text) => (text, false),
        Body::Copy(text) => (text, true),
        _ => return None,
    };
    let path = source_path(env, &wish.file, text);
    Some(match path.metadata() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Original::Missing(path),
        Err(e) => Original::Unreadable(path, e.to_string()),
        Ok(_) if is_copy && (absent || recorded) => match content_of(&path) {
            Ok(content) => Original::There(path, content),
            Err(why) => Original::Unreadable(path, why),
        },
        Ok(_) => Original::There(path.clone(), Content::Link(path)),
    })
}

/// The content of a file or directory anywhere, a link to it followed.
pub fn content_of(path: &Path) -> Result<Content, String> {
    let real = path.canonicalize().map_err(|e| e.to_string())?;
    let (Some(dir), Some(name)) = (real.parent(), real.file_name()) else {
        return Err("it is the root directory".into());
    };
    let name = RelPath::parse_os(name).map_err(|e| e.to_string())?;
    let content = Root::open(dir).and_then(|root| root.content(&name)).map_err(|e| e.to_string())?;
    content.ok_or_else(|| "it is neither a file nor a directory".to_owned())
}

/// Where a `source` points: `~` expands, a relative path starts at its sweatfile.
pub fn source_path(env: &Env, sweatfile: &Path, text: &str) -> PathBuf {
    let base = sweatfile.parent().unwrap_or(Path::new("/"));
    let joined = base.join(expand_home(env, text));
    // Lexically tidied, so that the link says what a person would write.
    joined.components().fold(PathBuf::new(), |mut path, component| {
        if component == std::path::Component::ParentDir && path.canonicalize().is_ok_and(|real| real == path) {
            path.pop();
        } else {
            path.push(component);
        }
        path
    })
}

/// `.sweatshop-env` as it is.
pub fn env_here(root: &Root) -> Result<EnvHere> {
    let Ok(path) = RelPath::parse(env_file::FILE) else { return Ok(EnvHere::Missing) };
    Ok(match root.look(&path)? {
        Found::Missing => EnvHere::Missing,
        Found::File(mode) => match root.read(&path) {
            Ok(bytes) => EnvHere::File(EnvFile::parse(&bytes.unwrap_or_default()), mode & 0o077 == 0),
            Err(failure) => EnvHere::Unusable(failure.to_string()),
        },
        Found::Link(_) => EnvHere::Unusable("it is a symbolic link, which is not written through".into()),
        _ => EnvHere::Unusable("it is not a regular file".into()),
    })
}

/// The text of the `.envrc` direnv will load: the one there, or the one about to be linked.
fn envrc_text(place: &Place, envrc: &RelPath, facts: &Facts) -> Option<String> {
    let bytes = match (facts.originals.get(envrc), place.root.look(envrc).ok()?) {
        (Some(Original::There(path, _)), Found::Missing) => fs::read(path).ok()?,
        (Some(Original::There(path, _)), Found::Link(target)) if target == *path => fs::read(path).ok()?,
        (_, Found::File(_)) => place.root.read(envrc).ok()?,
        _ => None,
    };
    bytes.map(|b| String::from_utf8_lossy(&b).into_owned())
}

/// Asks which destinations git ignores. Patterns that are about to be added are given to a second
/// question, asked only when there are any and the first left something open.
fn read_ignored(env: &Env, place: &Place, merged: &Merged, facts: &mut Facts) -> Result<()> {
    let ours = |path: &&RelPath| match facts.here.get(*path).map(|h| &h.found) {
        Some(Found::Blocked(_)) => false,
        Some(Found::Missing) | None => true,
        Some(_) => facts.record.files.contains_key(*path),
    };
    let paths: Vec<PathBuf> =
        merged.files.keys().chain(facts.included.keys()).filter(ours).map(|p| p.as_path().to_path_buf()).collect();
    let mut ignored = place.git.ignored(&place.worktree, &paths, None)?;
    let pending = excludes::missing(&facts.exclude, &plan::patterns(merged, facts.needs_reserved));
    let open: Vec<PathBuf> = paths.into_iter().filter(|p| !ignored.contains(p)).collect();
    if open.is_empty() || pending.is_empty() {
        // Nothing is left open.
    } else if let Ok(file) = fs::Temporary::with(env, (pending.join("\n") + "\n").as_bytes()) {
        ignored.extend(place.git.ignored(&place.worktree, &open, Some(file.path()))?);
    }
    facts.ignored = ignored.iter().filter_map(|p| RelPath::parse_os(p.as_os_str()).ok()).collect();
    Ok(())
}

/// Which patterns match tracked files; asked only when a pattern is new to this worktree.
fn read_tracked(place: &Place, merged: &Merged, facts: &mut Facts) -> Result<()> {
    let patterns = plan::patterns(merged, facts.needs_reserved);
    let new: Vec<&String> = patterns.iter().filter(|p| !facts.record.excludes.contains(*p)).collect();
    let list = |patterns: &[&String]| {
        let options = ["-c".into(), "-i".into()].into_iter();
        let excludes = patterns.iter().flat_map(|p| ["-x".into(), p.as_str().into()]);
        place.git.ls_files(&place.worktree, &options.chain(excludes).collect::<Vec<_>>())
    };
    if new.is_empty() || list(&new)?.is_empty() {
        return Ok(());
    }
    for pattern in new {
        if let Some(example) = list(&[pattern])?.first() {
            facts.tracked.push((pattern.clone(), example.display().to_string()));
        }
    }
    Ok(())
}
