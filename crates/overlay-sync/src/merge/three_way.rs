//! The three-way merge: where only one side changed, that side is taken; the rest is merged by the type of the file.

use super::file_type::{FileType, is_binary};
use super::lines;
use super::texts::{MergeConflict, MergeInput, MergedText, Rule, WHOLE};

/// Merges, and never fails: text without structure is merged by lines, and a binary as a whole.
pub fn merge(input: &MergeInput<'_>) -> MergedText {
    let is_ruled = input.base.is_some() || input.rule == Rule::Person;
    by_rule(&MergeInput { rule: if is_ruled { input.rule } else { Rule::Overlay }, ..*input })
}

/// The same for a text whose lines only grow: lines that both sides added are no conflict.
pub fn merge_growing(input: &MergeInput<'_>) -> MergedText {
    let base = input.base.unwrap_or_default();
    let is_text = input.kind == FileType::Text && ![base, input.overlay, input.workspace].into_iter().any(is_binary);
    if input.base.is_none() || !is_text || input.rule == Rule::Person {
        return merge(input);
    }
    lines::merge_with(input, lines::Disputed::BothAdded)
}

/// `now` without what a change made. What was changed since at the same place stays.
pub fn without_change(kind: FileType, before: &[u8], after: &[u8], now: &[u8]) -> Vec<u8> {
    let input = MergeInput { base: Some(after), overlay: now, workspace: before, kind, rule: Rule::Undo };
    let merged = by_rule(&input);
    let is_text = kind == FileType::Text && ![before, after, now].into_iter().any(is_binary);
    if merged.conflicts.is_empty() || !is_text {
        return merged.bytes;
    }
    // For a merge, lines and those that were added next to them are one place.
    by_rule(&MergeInput { overlay: &lines::without_change(before, after, now), ..input }).bytes
}

/// Merges with this rule, even where there is no base.
pub fn by_rule(input: &MergeInput<'_>) -> MergedText {
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
    kind.merge(input).unwrap_or_else(|| {
        // Texts of which only the lines can be merged: the result must still parse. A template of YAML never does.
        let merged = lines::merge_text(input);
        let mut texts = [base.unwrap_or(overlay), overlay, workspace].into_iter();
        let is_template = kind == FileType::Yaml && !texts.clone().any(|bytes| kind.parses(bytes));
        let parse = texts.all(|bytes| kind.parses(bytes)) && kind.parses(&merged.bytes);
        if parse || is_template { merged } else { whole(input) }
    })
}

/// A byte order mark belongs to the file and not to its first line, so it is merged separately.
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

/// Takes one side as it is.
fn whole(input: &MergeInput<'_>) -> MergedText {
    let side = input.rule.pick(input.overlay, input.workspace);
    MergedText { bytes: side.to_vec(), conflicts: vec![MergeConflict { place: WHOLE.into(), kept: input.rule }] }
}
