//! `.sweatshop-env` as it is in the worktree.

use shopfloor_core::error::Result;
use shopfloor_core::fs::{Content, Found, Root};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::env_file::{self, EnvFile};

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

pub fn read_env_file(root: &Root) -> Result<CurrentEnvFile> {
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
