//! The types of files that a merge tells apart, by their names.

use std::path::Path;

/// How a file is looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// JSON, with comments and trailing commas as editors and agents write them.
    Json,
    JsonLines,
    Toml,
    Yaml,
    /// `KEY=value` lines.
    Env,
    Text,
}

impl FileType {
    /// By the file's name.
    pub fn from_path(path: &Path) -> FileType {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        match extension {
            "json" | "jsonc" => FileType::Json,
            "jsonl" | "ndjson" => FileType::JsonLines,
            "toml" => FileType::Toml,
            "yaml" | "yml" => FileType::Yaml,
            "env" => FileType::Env,
            // A script, not a list of variables.
            _ if name == ".envrc" => FileType::Text,
            _ if name.starts_with(".env") || name.starts_with(".sweatshop-env") => FileType::Env,
            _ => FileType::Text,
        }
    }

    /// Whether files of this kind are trees.
    pub fn is_tree(self) -> bool {
        matches!(self, FileType::Json | FileType::Toml | FileType::Yaml)
    }

    /// How this type marks a comment; none where it has none that a merge keeps.
    pub fn comment_mark(self) -> CommentMark {
        match self {
            FileType::Json => CommentMark::Slashes,
            FileType::Toml => CommentMark::Hash,
            FileType::Yaml | FileType::Env | FileType::JsonLines | FileType::Text => CommentMark::HashAfterBlank,
        }
    }
}

/// How a comment begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentMark {
    /// With `//` to the end of the line, or `/*` to `*/`.
    Slashes,
    /// With `#`, wherever it stands outside of quotes.
    Hash,
    /// With `#` at the beginning of a line or after a blank.
    HashAfterBlank,
}

/// A NUL in the first 8 KiB.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(8192)].contains(&0)
}
