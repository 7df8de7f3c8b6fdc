//! Everything the decisions rest on, read once. Apply holds the worktree's lock meanwhile; what is
//! hashed, shown and executed are the same bytes.

mod include;
mod layers;
mod tracked;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use shopfloor_core::config::expand_home;
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs::{self, Content, Found, Root, Staging};
use shopfloor_core::git::{Git, Repo};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

pub use self::layers::{Approvable, Layers, SETTINGS, approvable, load as load_layers};
pub use self::tracked::{Tracked, approval_name};
use crate::TOOL;
use crate::env_file::{self, EnvFile};
use crate::excludes;
use crate::layer::{Merged, Wish};
use crate::record::Record;
use crate::sweatfile::Body;
use crate::template::{self, Reservation};

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
        let mut git = Git::find(env)?;
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Here {
    pub found: Found,
    /// Read only where it matters: something the record knows, a link or a file.
    pub content: Option<Content>,
    /// Why it could not be read; that entry fails, the others go on.
    pub problem: Option<String>,
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
    File(EnvSeen),
    /// A link, a directory, unreadable: why.
    Unusable(String),
}

/// A readable `.sweatshop-env`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvSeen {
    pub file: EnvFile,
    /// Whether only its owner can read it.
    pub private: bool,
    /// The bytes that were seen: what a new file may take the place of.
    pub content: Content,
}

/// Whether setup commands that ran to their end before run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rerun {
    Never,
    /// `--setup-again`.
    Again,
}

/// What `plan` decides from.
#[derive(Debug, Default)]
pub struct Facts {
    pub record: Record,
    pub exclude: Vec<u8>,
    pub here: BTreeMap<RelPath, Here>,
    pub originals: BTreeMap<RelPath, Original>,
    pub env: EnvHere,
    /// Which of the absent destinations git ignores, with the patterns about to be added counted in.
    pub ignored: BTreeSet<RelPath>,
    /// Whether git would show `.sweatshop-env`, which is wanted, as untracked.
    pub env_exposed: bool,
    /// Patterns that match tracked files, each with one of them.
    pub tracked: Vec<(String, String)>,
    /// Tracked files that the area's setup commands would use; read only where those are about to run.
    pub tracked_here: BTreeMap<RelPath, Tracked>,
    /// The text of `.envrc`, when it can be read without following a link.
    pub envrc: Option<String>,
    /// Absent files that `.worktreeinclude` asks for, each with its original.
    pub included: BTreeMap<RelPath, (PathBuf, Content)>,
    /// Whether temporary names have to be excluded.
    pub needs_reserved: bool,
    pub template: template::Facts,
    /// The ports to hand out, if any are new.
    pub ports: Option<Reservation>,
    pub warnings: Vec<String>,
}

/// Reads everything. At most three git processes for a worktree that is up to date, the one that found
/// the repository included.
pub fn read(env: &Env, place: &Place, merged: &Merged, rerun: Rerun) -> Result<Facts> {
    let mut facts =
        Facts { record: Record::load(&place.repo)?, exclude: place.repo.read_exclude()?, ..Facts::default() };
    facts.needs_reserved = Staging::is_beside(&place.staging_dir(), &place.root)?;
    (facts.template, facts.ports) = template_facts(place, merged)?;
    let cleared = merged.cleared.keys().filter(|path| facts.record.files.contains_key(*path));
    for path in merged.files.keys().chain(cleared) {
        facts.here.insert(path.clone(), look(place, path, &facts.record));
    }
    let is_over = facts.record.setup == Some(merged.setup_digest()) && rerun == Rerun::Never;
    if merged.area_setup > 0 && !is_over {
        tracked::read(env, place, merged, &mut facts)?;
    }
    for (path, wish) in &merged.files {
        let is_read = facts.here[path].found == Found::Missing
            || facts.record.files.contains_key(path)
            || facts.tracked_here.contains_key(path);
        if let Some(original) = original(env, place, wish, is_read) {
            facts.originals.insert(path.clone(), original);
        }
    }
    facts.env = env_here(&place.root)?;
    if !merged.env.is_empty() {
        facts.envrc = envrc_text(place, merged, &facts);
    }
    include::read(place, merged, &mut facts)?;
    read_ignored(env, place, merged, &mut facts)?;
    read_tracked(place, merged, &mut facts)?;
    Ok(facts)
}

fn template_facts(place: &Place, merged: &Merged) -> Result<(template::Facts, Option<Reservation>)> {
    let name = place.repo.home.checkout.file_name().unwrap_or_default().to_string_lossy();
    let (ports, reservation) = template::ports(&place.repo, &template::ports_wanted(merged))?;
    let facts = template::Facts {
        worktree: place.worktree.to_string_lossy().into_owned(),
        branch: match template::wants(merged, "{branch}") {
            true => place.git.branch(&place.repo)?.unwrap_or_else(|| "HEAD".into()),
            false => String::new(),
        },
        repo: name.strip_suffix(".git").unwrap_or(&name).to_owned(),
        ports,
    };
    Ok((facts, reservation))
}

/// What lies at a destination. A directory is read to its end only when the record knows it.
pub fn look(place: &Place, path: &RelPath, record: &Record) -> Here {
    let found = match place.root.look(path) {
        Ok(found) => found,
        Err(failure) => return Here { problem: Some(failure.to_string()), found: Found::Special, content: None },
    };
    let content = match found {
        Found::Link(_) => place.root.content(path),
        Found::File(_) | Found::Dir if record.files.contains_key(path) => place.root.content(path),
        _ => Ok(None),
    };
    match content {
        Ok(content) => Here { found, content, problem: None },
        Err(failure) => Here { found, content: None, problem: Some(failure.to_string()) },
    }
}

/// Looks at what a `source` or `copy` names. A copy's bytes are read only while they decide something.
fn original(env: &Env, place: &Place, wish: &Wish, is_read: bool) -> Option<Original> {
    let (text, is_copy) = match &wish.body {
        Body::Source(text) => (text, false),
        Body::Copy(text) => (text, true),
        _ => return None,
    };
    let path = source_path(env, &wish.file, text);
    Some(match path.metadata() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Original::Missing(path),
        Err(e) => Original::Unreadable(path, e.to_string()),
        Ok(_) if is_copy && contains(&path, [&place.worktree, &place.repo.git_dir]) => {
            Original::Unreadable(path, "the worktree itself lies in it".into())
        }
        Ok(_) if is_copy && wish.counts && is_read => match content_of(&path) {
            Ok(content) => Original::There(path, content),
            Err(why) => Original::Unreadable(path, why),
        },
        Ok(_) => Original::There(path.clone(), Content::Link(path)),
    })
}

/// Whether a copy of `source` would be a copy of one of these directories too.
fn contains(source: &Path, dirs: [&PathBuf; 2]) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    dirs.into_iter().any(|dir| real(dir).starts_with(real(source)))
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
            Ok(bytes) => {
                let bytes = bytes.unwrap_or_default();
                let content = Content::File(Digest::of(&bytes));
                EnvHere::File(EnvSeen { file: EnvFile::parse(&bytes), private: mode & 0o077 == 0, content })
            }
            Err(failure) => EnvHere::Unusable(failure.to_string()),
        },
        Found::Link(_) => EnvHere::Unusable("it is a symbolic link, which is not written through".into()),
        _ => EnvHere::Unusable("it is not a regular file".into()),
    })
}

/// The text of the `.envrc` direnv will load: the one there, the one about to be linked, or written.
fn envrc_text(place: &Place, merged: &Merged, facts: &Facts) -> Option<String> {
    let envrc = RelPath::parse(".envrc").ok()?;
    let original = match facts.originals.get(&envrc) {
        Some(Original::There(path, _)) => Some(path),
        _ => None,
    };
    let bytes = match (place.root.look(&envrc).ok()?, merged.files.get(&envrc).map(|w| &w.body), original) {
        (Found::Missing, Some(Body::Content { text, .. }), _) => return Some(text.clone()),
        (Found::Missing, _, Some(path)) => fs::read(path).ok()?,
        (Found::Link(target), _, Some(path)) if target == *path => fs::read(path).ok()?,
        (Found::File(_), ..) => place.root.read(&envrc).ok()?,
        _ => None,
    };
    bytes.map(|b| String::from_utf8_lossy(&b).into_owned())
}

/// Asks which of the files about to be placed git ignores. Patterns that are about to be added are given to a second
/// question, asked only when there are any and the first left something open.
fn read_ignored(env: &Env, place: &Place, merged: &Merged, facts: &mut Facts) -> Result<()> {
    let absent = |path: &&RelPath| facts.here.get(*path).is_none_or(|here| here.found == Found::Missing);
    let wanted = merged.files.keys().chain(facts.included.keys()).filter(absent);
    let mut paths: Vec<PathBuf> = wanted.map(|p| p.as_path().to_path_buf()).collect();
    let env_file = PathBuf::from(env_file::FILE);
    if !merged.env.is_empty() {
        paths.push(env_file.clone());
    }
    let mut ignored = place.git.ignored(&place.worktree, &paths, None)?;
    let pending = excludes::missing(&facts.exclude, &excludes::wanted(merged, facts.needs_reserved));
    let open: Vec<PathBuf> = paths.into_iter().filter(|p| !ignored.contains(p)).collect();
    if open.is_empty() || pending.is_empty() {
        // Nothing is left open.
    } else if let Ok(file) = fs::Temporary::with(env, (pending.join("\n") + "\n").as_bytes()) {
        ignored.extend(place.git.ignored(&place.worktree, &open, Some(file.path()))?);
    }
    facts.env_exposed = !merged.env.is_empty() && !ignored.contains(&env_file);
    facts.ignored = ignored.iter().filter_map(|p| RelPath::parse_os(p.as_os_str()).ok()).collect();
    Ok(())
}

/// Which patterns match tracked files; asked only when a pattern is new to this worktree.
fn read_tracked(place: &Place, merged: &Merged, facts: &mut Facts) -> Result<()> {
    let patterns = excludes::wanted(merged, facts.needs_reserved);
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
