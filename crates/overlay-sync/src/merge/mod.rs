//! The merge of three texts: the base both sides started from, the overlay's and the workspace's.
//!
//! Pure and deterministic, by type of file: structure where the type has one, lines elsewhere. What
//! conflicts is decided by a rule leaf by leaf, and every one-sided change of either side stays.

mod answer;
mod entry;
mod env;
mod grow;
mod json;
mod jsonl;
mod lines;
mod toml;
mod tree;
mod yaml;

use std::path::Path;

pub use self::answer::{check, limit};
pub use self::entry::{EntryPath, additions, donate, strip};
pub use self::grow::{Grow, Grown, entries, grown};
use self::tree::Tree;

/// What decides a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The workspace's side: last write wins.
    Workspace,
    /// The same by a person's word, so that what it deleted goes too.
    Person,
    /// The overlay's side.
    Overlay,
}

/// Three texts and how to merge them.
#[derive(Clone, Copy, Debug)]
pub struct MergeInput<'a> {
    /// None: the two sides have no common past.
    pub base: Option<&'a [u8]>,
    pub overlay: &'a [u8],
    pub workspace: &'a [u8],
    pub kind: FileType,
    /// Decides what conflicts; without a base the overlay wins, unless a person said otherwise.
    pub rule: Rule,
}

/// A merged text, and what had to be decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedText {
    pub bytes: Vec<u8>,
    pub conflicts: Vec<MergeConflict>,
}

/// A place both sides changed differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeConflict {
    /// A key path (`env.PORT`), a variable, a line (`line 3`), or `whole file`.
    pub place: String,
    /// Whose side was kept.
    pub kept: Rule,
}

impl Rule {
    /// The workspace's side or the overlay's, as this decides.
    fn pick<T>(self, overlay: T, workspace: T) -> T {
        if self == Rule::Overlay { overlay } else { workspace }
    }
}

/// The place of a conflict that is about all of a file.
pub const WHOLE: &str = "whole file";

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

    /// Whether these bytes are what a file of this kind should hold; every text is a text.
    pub fn parses(self, bytes: &[u8]) -> bool {
        match self {
            FileType::Json => json::parse(bytes).is_some(),
            FileType::JsonLines => jsonl::parses(bytes),
            FileType::Toml => toml::parse(bytes).is_some(),
            FileType::Yaml => yaml::parse(bytes).is_some(),
            FileType::Env | FileType::Text => !is_binary(bytes),
        }
    }

    /// The structure of a text of this kind, if it has one and says nothing that a merge would lose.
    fn tree(self, bytes: &[u8]) -> Option<Tree> {
        match self {
            FileType::Json => json::parse(bytes),
            FileType::Toml => toml::parse(bytes),
            FileType::Yaml => yaml::parse(bytes),
            FileType::JsonLines | FileType::Env | FileType::Text => None,
        }
    }

    /// Whether two texts say the same, their layout aside.
    pub fn says_same(self, a: &[u8], b: &[u8]) -> bool {
        self.tree(a).is_some_and(|a| self.tree(b).is_some_and(|b| a.same(&b)))
    }

    /// Whether files of this kind are trees.
    pub fn is_tree(self) -> bool {
        matches!(self, FileType::Json | FileType::Toml | FileType::Yaml)
    }

    /// Edits a text that says `from` until it says `to`; what is new in it stands in `donor`.
    fn rewrite(self, text: &[u8], from: &Tree, to: &Tree, donor: &[u8]) -> Option<Vec<u8>> {
        let written = match self {
            FileType::Json => json::rewrite(text, from, to),
            FileType::Toml => toml::rewrite(text, to, donor),
            FileType::Yaml => yaml::rewrite(text, from, to, donor),
            FileType::JsonLines | FileType::Env | FileType::Text => None,
        };
        // The text must say exactly what was decided.
        written.filter(|bytes| self.tree(bytes).is_some_and(|said| said.same(to)))
    }

    /// The leaves of a structured file, each as `path = value`; the lines of any other. What a text
    /// says, for judging whether something vanished or was invented.
    pub fn leaves(self, bytes: &[u8]) -> Option<Vec<String>> {
        if !self.is_tree() {
            return Some(lines::split(bytes).map(|l| String::from_utf8_lossy(l).into_owned()).collect());
        }
        Some(self.tree(bytes)?.leaves())
    }
}

/// A NUL in the first 8 KiB.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(8192)].contains(&0)
}

/// Merges. Never fails: what has no structure is merged by lines, what has no lines as a whole.
pub fn merge(input: &MergeInput<'_>) -> MergedText {
    let is_ruled = input.base.is_some() || input.rule == Rule::Person;
    by_rule(&MergeInput { rule: if is_ruled { input.rule } else { Rule::Overlay }, ..*input })
}

/// The same for a text whose lines only grow: what both sides added is no conflict.
pub fn merge_growing(input: &MergeInput<'_>) -> MergedText {
    let has_past = input.base.is_some_and(|base| !base.is_empty());
    let is_plain = [Some(input.overlay), Some(input.workspace), input.base];
    let is_text = input.kind == FileType::Text && !is_plain.into_iter().flatten().any(is_binary);
    if !has_past || !is_text || input.rule == Rule::Person {
        return merge(input);
    }
    lines::merge_with(input, lines::Disputed::BothAdded)
}

/// The same, the rule deciding also where there is no base.
fn by_rule(input: &MergeInput<'_>) -> MergedText {
    let MergeInput { base, overlay, workspace, kind, .. } = *input;
    let clean = |bytes: &[u8]| MergedText { bytes: bytes.to_vec(), conflicts: Vec::new() };
    if overlay == workspace || base == Some(workspace) {
        return clean(overlay);
    }
    if base == Some(overlay) {
        return clean(workspace);
    }
    if let Some(merged) = by_rule_unmarked(input) {
        return merged;
    }
    if [base.unwrap_or_default(), overlay, workspace].iter().any(|bytes| is_binary(bytes)) {
        return whole(input);
    }
    let structured = match kind {
        FileType::Json => json::merge(input),
        FileType::JsonLines => Some(jsonl::merge(input)),
        FileType::Toml => toml::merge(input),
        FileType::Yaml => yaml::merge(input),
        FileType::Env => Some(env::merge(input)),
        FileType::Text => Some(lines::merge_text(input)),
    };
    structured.unwrap_or_else(|| {
        let merged = lines::merge(input);
        // Lines of something that should have a structure must come to one.
        let sides = [base.unwrap_or(overlay), overlay, workspace];
        let is_sound = !kind.is_tree() || kind != FileType::Json && sides.iter().all(|bytes| kind.parses(bytes));
        if is_sound && (!kind.is_tree() || kind.parses(&merged.bytes)) { merged } else { whole(input) }
    })
}

/// A byte order mark is the file's, not its first line's: it is merged for itself.
fn by_rule_unmarked(input: &MergeInput<'_>) -> Option<MergedText> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let has = |bytes: &[u8]| bytes.starts_with(MARK);
    let bare = |bytes: &[u8]| bytes.strip_prefix(MARK).unwrap_or(bytes).to_vec();
    if !(has(input.overlay) || has(input.workspace)) {
        return None;
    }
    let (base, overlay, workspace) = (input.base.map(bare), bare(input.overlay), bare(input.workspace));
    let merged = by_rule(&MergeInput { base: base.as_deref(), overlay: &overlay, workspace: &workspace, ..*input });
    let was = input.base.map_or(has(input.workspace), has);
    let is_marked = if has(input.overlay) == was { has(input.workspace) } else { has(input.overlay) };
    Some(if is_marked { MergedText { bytes: [MARK, &merged.bytes].concat(), ..merged } } else { merged })
}

/// One side as it is.
fn whole(input: &MergeInput<'_>) -> MergedText {
    let side = input.rule.pick(input.overlay, input.workspace);
    MergedText { bytes: side.to_vec(), conflicts: vec![MergeConflict { place: WHOLE.into(), kept: input.rule }] }
}

#[cfg(test)]
mod tests;
