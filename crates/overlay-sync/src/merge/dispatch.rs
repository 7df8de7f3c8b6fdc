//! What a merge can do with each type of file. Every match over all types is in this file.

use super::file_type::{FileType, is_binary};
use super::texts::{MergeInput, MergedText};
use super::tree::Tree;
use super::{env, json, jsonl, lines, toml, tree_merge, yaml};

impl FileType {
    /// Whether these bytes are valid for this type. Any text is a valid text, and one of variables closes its quotes.
    pub fn parses(self, bytes: &[u8]) -> bool {
        match self {
            FileType::Json | FileType::Jsonc | FileType::Toml => self.tree(bytes).is_some(),
            FileType::Yaml => self.tree(bytes).is_some() || yaml::is_read(bytes),
            FileType::JsonLines => jsonl::parses(bytes),
            FileType::Env => {
                let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
                !is_binary(bytes) && !env::is_unfinished(lines::split(text))
            }
            FileType::Text => !is_binary(bytes),
        }
    }

    /// Whether every reader of this type takes these bytes, and not only lenient ones.
    pub fn is_strict(self, bytes: &[u8]) -> bool {
        self != FileType::Json || serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
    }

    /// The tree of a text; `None` when the type has none, or when the text contains something that a merge would lose.
    pub fn tree(self, bytes: &[u8]) -> Option<Tree> {
        match self {
            FileType::Json | FileType::Jsonc => json::parse(bytes),
            FileType::Toml => toml::parse(bytes),
            FileType::Yaml => yaml::parse(bytes),
            FileType::JsonLines | FileType::Env | FileType::Text => None,
        }
    }

    /// Edits a text whose tree is `from` until its tree is `to`. The text of new entries comes from `donor`.
    pub fn rewrite(self, text: &[u8], from: &Tree, to: &Tree, donor: &[u8]) -> Option<Vec<u8>> {
        let written = match self {
            FileType::Json | FileType::Jsonc => json::rewrite(text, from, to, donor),
            FileType::Toml => toml::rewrite(text, to, donor),
            FileType::Yaml => yaml::rewrite(text, from, to, donor),
            FileType::JsonLines | FileType::Env | FileType::Text => None,
        };
        // The text must have exactly the tree that was decided.
        written.filter(|bytes| self.tree(bytes).is_some_and(|tree| tree == *to))
    }

    /// Merges as this type does; `None` when one of the texts cannot be parsed, or variables whose quotes are closed would
    /// leave one open.
    pub fn merge(self, input: &MergeInput<'_>) -> Option<MergedText> {
        match self {
            FileType::Json | FileType::Jsonc | FileType::Toml | FileType::Yaml => {
                // A text that had nothing has no tree of its own in every type.
                let base = input.base.filter(|base| !base.trim_ascii().is_empty());
                tree_merge::merge(&MergeInput { base, ..*input })
            }
            FileType::JsonLines => Some(jsonl::merge(input)),
            FileType::Env => {
                let merged = env::merge(input);
                let mut texts = [input.base.unwrap_or_default(), input.overlay, input.workspace].into_iter();
                (self.parses(&merged.bytes) || !texts.all(|text| self.parses(text))).then_some(merged)
            }
            FileType::Text => Some(lines::merge_text(input)),
        }
    }

    /// Whether two texts have the same content, layout aside.
    pub fn has_same_content(self, a: &[u8], b: &[u8]) -> bool {
        self.tree(a).is_some_and(|a| self.tree(b) == Some(a))
    }

    /// The leaves of a text with a tree, each as `path = value`, or the lines of any other. They tell whether something
    /// vanished or was invented.
    pub fn leaves(self, bytes: &[u8]) -> Option<Vec<String>> {
        if !self.is_tree() {
            return Some(lines::split(bytes).map(|l| String::from_utf8_lossy(l).into_owned()).collect());
        }
        Some(self.tree(bytes)?.leaves())
    }

    /// What names a leaf among those of a text, whatever its value.
    pub fn leaf_name(self, leaf: &str) -> &str {
        let named = match self {
            FileType::Env => env::variable(leaf.as_bytes()).and_then(|name| std::str::from_utf8(name).ok()),
            _ if self.is_tree() => leaf.split_once(" = ").map(|(path, _)| path).filter(|path| !path.ends_with("[]")),
            _ => None,
        };
        named.unwrap_or(leaf)
    }
}
