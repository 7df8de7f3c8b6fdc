//! The types of files that a merge distinguishes.

use std::path::Path;

use shopfloor_core::text::is_like;

/// The names of files with variables, besides those that end in `.env`.
const ENVIRONMENTS: &str = ".env* .sweatshop-env* .dev.vars* .flaskenv .secrets .vars env.development env.local \
    env.production env.staging env.test";

/// How a file is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// JSON, with the comments and trailing commas that editors and agents write.
    Json,
    /// The same where its readers take them too.
    Jsonc,
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
            "jsonc" | "code-workspace" => FileType::Jsonc,
            "json" if takes_comments(path, &name) => FileType::Jsonc,
            "json" => FileType::Json,
            "jsonl" | "ndjson" => FileType::JsonLines,
            "toml" => FileType::Toml,
            "yaml" | "yml" => FileType::Yaml,
            "env" => FileType::Env,
            // `.envrc` is a script, not a list of variables.
            _ if name == ".envrc" => FileType::Text,
            _ if is_like(&name, ENVIRONMENTS) => FileType::Env,
            _ => FileType::Text,
        }
    }

    pub fn is_json(self) -> bool {
        matches!(self, FileType::Json | FileType::Jsonc)
    }

    /// Whether files of this type are parsed into trees.
    pub fn is_tree(self) -> bool {
        self.is_json() || matches!(self, FileType::Toml | FileType::Yaml)
    }
}

/// Whether the programs that read a JSON file of this name take comments.
fn takes_comments(path: &Path, name: &str) -> bool {
    let is_editors = path.parent().and_then(Path::file_name).is_some_and(|dir| dir == ".vscode" || dir == ".zed");
    is_editors || is_like(name, "tsconfig* jsconfig* devcontainer* .devcontainer* .eslintrc*")
}

/// Whether there is a NUL in the first 8 KiB.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(8192)].contains(&0)
}
