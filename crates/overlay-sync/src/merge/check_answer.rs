//! Whether the merge command's answer can be taken: it may only choose among what the three texts contain, and must not
//! lose what one side alone added.

use std::collections::BTreeSet;

use super::file_type::FileType;
use super::texts::{MergeInput, Rule};
use super::three_way::by_rule;

/// An answer may be longer than twice the inputs by this much.
const SLACK: usize = 4 * 1024;

/// The longest answer that is taken for these inputs, in bytes.
pub fn limit(input: &MergeInput<'_>) -> usize {
    2 * (input.base.unwrap_or_default().len() + input.overlay.len() + input.workspace.len()) + SLACK
}

/// Why an answer is refused, in words that follow "an answer that"; `None` when it can be taken.
pub fn check(input: &MergeInput<'_>, output: &[u8]) -> Option<&'static str> {
    let kind = input.kind;
    let Ok(text) = std::str::from_utf8(output) else { return Some("is not UTF-8") };
    if output.len() > limit(input) {
        return Some("is too long");
    }
    if text.trim().is_empty() {
        return Some("is empty");
    }
    if text.contains('\0') {
        return Some("contains a NUL byte");
    }
    let marks = ["```", "<<<<<<<", "|||||||", ">>>>>>>"];
    let is_mark = |line: &str| marks.iter().any(|mark| line.trim_start().starts_with(mark)) || line == "=======";
    let inputs = [input.base.unwrap_or_default(), input.overlay, input.workspace];
    let had_marks = inputs.iter().any(|bytes| String::from_utf8_lossy(bytes).lines().any(is_mark));
    if !had_marks && text.lines().any(is_mark) {
        return Some("contains a fence or conflict markers");
    }
    if [input.overlay, input.workspace].iter().all(|bytes| kind.parses(bytes)) && !kind.parses(output) {
        return Some("does not parse");
    }
    let leaves = |bytes: &[u8]| -> BTreeSet<String> {
        let leaves = kind.leaves(bytes).unwrap_or_default().into_iter();
        leaves.filter(|leaf| !is_empty(kind, leaf)).collect()
    };
    let answered = leaves(output);
    let known: BTreeSet<String> = inputs.iter().flat_map(|bytes| leaves(bytes)).collect();
    if !answered.is_subset(&known) {
        return Some("adds something that is in none of the inputs");
    }
    // A value kept under either rule was added by one side only and conflicts with nothing.
    let decided = |rule| leaves(&by_rule(&MergeInput { rule, ..*input }).bytes);
    let sides = [decided(Rule::Workspace), decided(Rule::Overlay)];
    if !sides[0].intersection(&sides[1]).all(|leaf| answered.contains(leaf)) {
        return Some("leaves out what one side added or both kept");
    }
    if !answered.iter().all(|leaf| sides.iter().any(|side| side.contains(leaf))) {
        return Some("brings back what one side removed");
    }
    None
}

/// Whether a leaf is an empty container or line.
fn is_empty(kind: FileType, leaf: &str) -> bool {
    leaf.trim().is_empty() || kind.is_tree() && (leaf.ends_with("= []") || leaf.ends_with("= {}"))
}
