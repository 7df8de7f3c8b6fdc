//! Destinations in the worktree and `.sweatshop-env` as they are, and the originals that `source` and `copy` name.

use std::path::{Component, Path, PathBuf};

use shopfloor_core::config::expand_home;
use shopfloor_core::env::Env;
use shopfloor_core::error;
use shopfloor_core::fs::{Content, Found, Root};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::{RelPath, real};

use crate::applied::Record;
use crate::env_file::{self, EnvFile};
use crate::layer::MergedFile;
use crate::sweatfile::Body;
use crate::worktree::OpenWorktree;

/// A destination as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CurrentFile {
    pub found: Found,
    /// Read only for a link, and for a path that the record knows.
    pub content: Option<Content>,
    /// Why it could not be read. Its entry fails and the others go on.
    pub problem: Option<String>,
}

/// The file that a `source` or `copy` names: its absolute path, and its content if a copy of it is about to be made or
/// compared. Err: what is wrong with it.
pub type Original = Result<(PathBuf, Content), String>;

/// Reads a destination. A file or directory is read to its end only when the record knows it.
pub fn read_current(worktree: &OpenWorktree, path: &RelPath, record: &Record) -> CurrentFile {
    let found = worktree.root.look(path);
    let content = match found {
        Ok(Found::Link(_)) => worktree.root.content(path),
        Ok(Found::File(_) | Found::Dir) if record.files.contains_key(path) => worktree.root.content(path),
        _ => Ok(None),
    };
    let problem = found.as_ref().err().or(content.as_ref().err()).map(ToString::to_string);
    CurrentFile { found: found.unwrap_or(Found::Special), content: content.unwrap_or_default(), problem }
}

/// Looks at the file that a `source` or `copy` names; none for an entry without one. The bytes of a copy's original are
/// read only if they decide something.
pub fn read_original(worktree: &OpenWorktree, wanted: &MergedFile, decides: bool) -> Option<Original> {
    let (text, is_copy) = match &wanted.body {
        Body::Source(text) => (text, false),
        Body::Copy(text) => (text, true),
        _ => return None,
    };
    let path = source_path(&worktree.env, &wanted.file, text);
    let unreadable = |why: String| format!("cannot read the source {}: {why}", path.display());
    Some(match path.metadata() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            Err(format!("the source {} does not exist", path.display()))
        }
        Err(e) => Err(unreadable(e.to_string())),
        Ok(_) if is_copy && contains(&path, [&worktree.path, &worktree.repo.git_dir]) => {
            Err(unreadable("the worktree itself lies in it".into()))
        }
        Ok(_) if is_copy && wanted.counts && decides => {
            content_of(&path).map(|content| (path.clone(), content)).map_err(unreadable)
        }
        Ok(_) => Ok((path.clone(), Content::Link(path))),
    })
}

/// Whether a copy of `source` would include one of these directories.
fn contains(source: &Path, dirs: [&PathBuf; 2]) -> bool {
    dirs.into_iter().any(|dir| real(dir).starts_with(real(source)))
}

/// The content of a file or directory anywhere; links are followed.
pub fn content_of(path: &Path) -> Result<Content, String> {
    let real = path.canonicalize().map_err(|e| e.to_string())?;
    let (Some(dir), Some(name)) = (real.parent(), real.file_name()) else {
        return Err("it is the root directory".into());
    };
    let name = RelPath::parse_os(name).map_err(|e| e.to_string())?;
    let content = Root::open(dir).and_then(|root| root.content(&name)).map_err(|e| e.to_string())?;
    content.ok_or_else(|| "it is neither a file nor a directory".to_owned())
}

/// The path that a `source` or `copy` names: `~` is expanded, and a relative path starts at its sweatfile.
pub fn source_path(env: &Env, sweatfile: &Path, text: &str) -> PathBuf {
    let base = sweatfile.parent().unwrap_or(Path::new("/"));
    let joined = base.join(expand_home(env, text));
    // `..` is resolved lexically, so that the link's target reads as a person would write it.
    joined.components().fold(PathBuf::new(), |mut path, component| {
        if component == Component::ParentDir && path.canonicalize().is_ok_and(|real| real == path) {
            path.pop();
        } else {
            path.push(component);
        }
        path
    })
}

/// `.sweatshop-env` as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CurrentEnvFile {
    #[default]
    Missing,
    File(ReadEnvFile),
    /// A link, a directory or unreadable, with the reason.
    Unusable(String),
}

/// A readable `.sweatshop-env`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadEnvFile {
    pub file: EnvFile,
    /// Whether only its owner can read it.
    pub private: bool,
    /// The bytes that were read; only a file with these bytes may be replaced.
    pub content: Content,
}

impl CurrentEnvFile {
    /// The variables in the file; none unless it is readable.
    pub fn variables(&self) -> EnvFile {
        match self {
            CurrentEnvFile::File(read) => read.file.clone(),
            _ => EnvFile::default(),
        }
    }
}

pub fn read_env_file(root: &Root) -> error::Result<CurrentEnvFile> {
    let Ok(path) = RelPath::parse(env_file::FILE) else { return Ok(CurrentEnvFile::Missing) };
    Ok(match root.look(&path)? {
        Found::Missing => CurrentEnvFile::Missing,
        Found::File(mode) => match root.read(&path) {
            Ok(bytes) => {
                let bytes = bytes.unwrap_or_default();
                let content = Content::File(Digest::of(&bytes));
                CurrentEnvFile::File(ReadEnvFile { file: EnvFile::parse(&bytes), private: mode & 0o077 == 0, content })
            }
            Err(failure) => CurrentEnvFile::Unusable(failure.to_string()),
        },
        Found::Link(_) => CurrentEnvFile::Unusable("it is a symbolic link, which is not written through".into()),
        _ => CurrentEnvFile::Unusable("it is not a regular file".into()),
    })
}
