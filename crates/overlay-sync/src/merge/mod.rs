//! The merge of three texts: the base both sides started from, the overlay's and the workspace's.
//!
//! Pure and deterministic, by type of file: structure where the type has one, lines elsewhere. What
//! conflicts is decided by a rule leaf by leaf, and every one-sided change of either side stays.

mod env;
mod json;
mod jsonl;
mod lines;
mod toml;
mod tree;
mod yaml;

use std::path::Path;

/// What decides a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The workspace's side: last write wins.
    Workspace,
    /// The overlay's side.
    Overlay,
}

/// Three texts and how to merge them.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// None: the two sides have no common past.
    pub base: Option<&'a [u8]>,
    pub overlay: &'a [u8],
    pub workspace: &'a [u8],
    pub kind: Kind,
    /// Decides what conflicts; without a base the overlay always wins.
    pub rule: Rule,
    /// Whether a workspace can only add to the arrays of permissions, never take away.
    pub grow: bool,
}

/// A merged text, and what had to be decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    pub bytes: Vec<u8>,
    pub conflicts: Vec<Conflict>,
}

/// A place both sides changed differently.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conflict {
    /// A key path (`env.PORT`), a variable, a line (`line 3`), or `whole file`.
    pub place: String,
}

/// How a file is looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// JSON, with comments and trailing commas as editors and agents write them.
    Json,
    JsonLines,
    Toml,
    Yaml,
    /// `KEY=value` lines.
    Env,
    Text,
}

impl Kind {
    /// By the file's name.
    pub fn of(path: &Path) -> Kind {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        match extension {
            "json" | "jsonc" => Kind::Json,
            "jsonl" | "ndjson" => Kind::JsonLines,
            "toml" => Kind::Toml,
            "yaml" | "yml" => Kind::Yaml,
            "env" => Kind::Env,
            // A script, not a list of variables.
            _ if name == ".envrc" => Kind::Text,
            _ if name.starts_with(".env") || name.starts_with(".sweatshop-env") => Kind::Env,
            _ => Kind::Text,
        }
    }

    /// Whether these bytes are what a file of this kind should hold; every text is a text.
    pub fn parses(self, bytes: &[u8]) -> bool {
        match self {
            Kind::Json => json::parse_loosely(bytes).is_some(),
            Kind::JsonLines => jsonl::parses(bytes),
            Kind::Toml => toml::parse(bytes).is_some(),
            Kind::Yaml => yaml::parse(bytes).is_some(),
            Kind::Env | Kind::Text => !is_binary(bytes),
        }
    }

    /// The leaves of a structured file, each as `path = value`; the lines of any other. What a text
    /// says, for judging whether something vanished or was invented.
    pub fn leaves(self, bytes: &[u8]) -> Option<Vec<String>> {
        let tree = match self {
            Kind::Json => json::parse_loosely(bytes)?,
            Kind::Toml => toml::parse(bytes)?,
            Kind::Yaml => yaml::parse(bytes)?,
            _ => return Some(lines::of(bytes).map(|l| String::from_utf8_lossy(l).into_owned()).collect()),
        };
        Some(tree.leaves())
    }
}

/// A NUL in the first 8 KiB.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(8192)].contains(&0)
}

/// Merges. Never fails: what has no structure is merged by lines, what has no lines as a whole.
pub fn merge(input: &Input<'_>) -> Merged {
    let Input { base, overlay, workspace, kind, .. } = *input;
    let clean = |bytes: &[u8]| Merged { bytes: bytes.to_vec(), conflicts: Vec::new() };
    if overlay == workspace || base == Some(workspace) {
        return clean(overlay);
    }
    // A workspace may not take away what only grows, so its side is looked into even when it is alone.
    if base == Some(overlay) && !(input.grow && kind == Kind::Json) {
        return clean(workspace);
    }
    let input = &Input { rule: if base.is_some() { input.rule } else { Rule::Overlay }, ..*input };
    if [base.unwrap_or_default(), overlay, workspace].iter().any(|bytes| is_binary(bytes)) {
        return whole(input);
    }
    let structured = match kind {
        Kind::Json => json::merge(input),
        Kind::JsonLines => Some(jsonl::merge(input)),
        Kind::Toml => toml::merge(input),
        Kind::Yaml => yaml::merge(input),
        Kind::Env => Some(env::merge(input)),
        Kind::Text => None,
    };
    structured.unwrap_or_else(|| match kind {
        // Lines of something that should have a structure and has none would be glued at random.
        Kind::Json | Kind::Toml | Kind::Yaml if base != Some(overlay) => whole(input),
        _ if base == Some(overlay) => clean(workspace),
        _ => lines::merge(input),
    })
}

/// One side as it is.
fn whole(input: &Input<'_>) -> Merged {
    let side = match input.rule {
        Rule::Workspace => input.workspace,
        Rule::Overlay => input.overlay,
    };
    Merged { bytes: side.to_vec(), conflicts: vec![Conflict { place: "whole file".into() }] }
}

#[cfg(test)]
mod tests;
