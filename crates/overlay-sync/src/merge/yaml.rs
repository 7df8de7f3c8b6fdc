//! YAML. The merged tree decides, and a line merge is taken as the text when it has that tree, so comments and layout
//! survive where the two sides did not touch the same lines. Otherwise one side's text is edited entry by entry.

use super::file_type::FileType;
use super::lines;
use super::parsed;
use super::texts::{MergeInput, MergedText, Rule};
use super::tree::{self, Tree};
use super::yaml_block;
pub use super::yaml_text::parse;
use super::yaml_text::written;

pub fn merge(input: &MergeInput<'_>) -> Option<MergedText> {
    tree::merge(input, |bytes| parsed::tree(input.kind, bytes, parse), rewrite)
}

/// Edits a text whose tree is `from` until its tree is `to`. In block style only the entries that differ are written;
/// those that `donor` has are copied from there. Otherwise the difference of the two trees, each written plainly, is
/// merged into the text by lines. As a last resort the text is written anew, if that loses no comment or mark.
pub fn rewrite(text: &[u8], from: &Tree, to: &Tree, donor: &[u8]) -> Option<Vec<u8>> {
    let is_result = |bytes: &[u8]| parse(bytes).is_some_and(|tree| tree.same(to));
    let (plain, theirs) = (std::str::from_utf8(text).ok()?, std::str::from_utf8(donor).ok()?);
    let edited = yaml_block::edit(plain, from, to, theirs).map(String::into_bytes);
    if let Some(edited) = edited.filter(|bytes| is_result(bytes)) {
        return Some(edited);
    }
    if yaml_block::has_markers(plain) {
        // A stream of several documents, or one with markers, is not written anew.
        return None;
    }
    let model = format!("{plain}\n{theirs}");
    let (from, wanted) = (written(from, &model)?, written(&to.in_order_of(from), &model)?);
    let input =
        MergeInput { base: Some(&from), overlay: text, workspace: &wanted, kind: FileType::Yaml, rule: Rule::Overlay };
    let edited = lines::merge(&input);
    let is_bare = !text.iter().any(|b| b"#&*!|>".contains(b));
    if edited.conflicts.is_empty() && is_result(&edited.bytes) { Some(edited.bytes) } else { is_bare.then_some(wanted) }
}
