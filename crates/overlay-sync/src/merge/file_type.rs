//! The types of files that a merge distinguishes.

use std::path::Path;

/// How a file is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// JSON, with the comments and trailing commas that editors and agents write.
    Json,
    JsonLines,
    Toml,
    Yaml,
    /// `KEY=value` lines.
    Env,
    Text,
}

impl FileType {
    /// The type that a file's name stands for.
    pub fn from_path(path: &Path) -> FileType {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        match extension {
            "json" | "jsonc" => FileType::Json,
            "jsonl" | "ndjson" => FileType::JsonLines,
            "toml" => FileType::Toml,
            "yaml" | "yml" => FileType::Yaml,
            "env" => FileType::Env,
            // `.envrc` is a script, not a list of variables.
            _ if name == ".envrc" => FileType::Text,
            _ if name.starts_with(".env") || name.starts_with(".sweatshop-env") => FileType::Env,
            _ => FileType::Text,
        }
    }

    /// Whether files of this type are parsed into trees.
    pub fn is_tree(self) -> bool {
        matches!(self, FileType::Json | FileType::Toml | FileType::Yaml)
    }
}

/// Whether there is a NUL in the first 8 KiB.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(8192)].contains(&0)
}
