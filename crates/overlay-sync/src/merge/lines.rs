//! Text by lines: a three-way merge in which the rule decides regions that both sides changed.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

use similar::{Algorithm, DiffOp, MergeResolution, TextMerge, capture_diff_slices};

use super::texts::{MergeConflict, MergeInput, MergedText, Rule};

/// The lines without their endings, `\n` or `\r\n`.
pub fn split(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|b| *b == b'\n').map(without_ending)
}

pub fn without_ending(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r\n").or(line.strip_suffix(b"\n")).unwrap_or(line)
}

/// The ending of the first line.
pub fn ending(bytes: &[u8]) -> Option<&'static [u8]> {
    let at = bytes.iter().position(|b| *b == b'\n')?;
    Some(if at > 0 && bytes[at - 1] == b'\r' { b"\r\n" } else { b"\n" })
}

/// Lines as a text, with the line ending of the first of these texts that has one. The last line has none where it has
/// none in either.
pub fn joined<'l>(lines: impl IntoIterator<Item = &'l [u8]>, like: [&[u8]; 2]) -> Vec<u8> {
    let end = like.into_iter().find_map(ending).unwrap_or(b"\n");
    let mut text: Vec<u8> = lines.into_iter().flat_map(|line| [line, end].concat()).collect();
    if !like.into_iter().any(|text| text.ends_with(b"\n")) {
        text.truncate(text.len().saturating_sub(end.len()));
    }
    text
}

/// How often each of these occurs.
pub fn counted<T: Eq + Hash>(items: impl IntoIterator<Item = T>) -> HashMap<T, usize> {
    let mut counts = HashMap::new();
    items.into_iter().for_each(|item| *counts.entry(item).or_default() += 1);
    counts
}

/// What becomes of a region that both sides changed differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disputed {
    /// The rule decides.
    Decided,
    /// Both sides' lines are kept, the overlay's first, and there is no conflict.
    Both,
    /// The same with the workspace's first.
    BothSwapped,
    /// The same where both sides only added lines; otherwise the rule decides.
    BothAdded,
    /// The same as `BothAdded`, but reported as a conflict.
    BothAddedTold,
}

pub fn merge(input: &MergeInput<'_>) -> MergedText {
    merge_with(input, Disputed::Decided)
}

/// Merges text that is nothing but lines. Without a base the lines that both sides have in common serve as one. Where
/// the sides have different line endings, these are merged separately.
pub fn merge_text(input: &MergeInput<'_>) -> MergedText {
    let is_dos = |bytes: &[u8]| bytes.split_inclusive(|b| *b == b'\n').all(|line| line.ends_with(b"\r\n"));
    let is_unix = |bytes: &[u8]| !bytes.contains(&b'\r');
    let sides = [input.base.unwrap_or(input.overlay), input.overlay, input.workspace];
    let clear = sides.iter().all(|bytes| !bytes.is_empty() && (is_dos(bytes) || is_unix(bytes)));
    if clear && sides.iter().any(|bytes| is_dos(bytes)) && sides.iter().any(|bytes| is_unix(bytes)) {
        let unix = |bytes: &[u8]| -> Vec<u8> { bytes.iter().copied().filter(|b| *b != b'\r').collect() };
        let (base, overlay, workspace) = (input.base.map(unix), unix(input.overlay), unix(input.workspace));
        let merged =
            merge_text(&MergeInput { base: base.as_deref(), overlay: &overlay, workspace: &workspace, ..*input });
        let [was, theirs, ours] = sides.map(is_dos);
        let becomes_dos = if theirs == was { ours } else { theirs };
        let dos = || merged.bytes.split(|b| *b == b'\n').collect::<Vec<_>>().join(b"\r\n".as_slice());
        return if becomes_dos { MergedText { bytes: dos(), ..merged } } else { merged };
    }
    if input.base.is_some() {
        // Lines that both sides added are kept whichever side wrote last, because neither removed the other's. Without
        // a base lines do not count as added.
        let is_kept = input.rule == Rule::Workspace;
        return merge_with(input, if is_kept { Disputed::BothAddedTold } else { Disputed::Decided });
    }
    let end = [input.overlay, input.workspace].into_iter().find_map(ending);
    let split = |bytes: &[u8]| -> Vec<Vec<u8>> {
        ended(bytes, end).split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect()
    };
    let (overlay, workspace) = (split(input.overlay), split(input.workspace));
    let common = capture_diff_slices(Algorithm::Myers, &overlay, &workspace).into_iter();
    let common = common.filter(|op| matches!(op, DiffOp::Equal { .. })).flat_map(|op| overlay[op.old_range()].concat());
    let mut base: Vec<u8> = common.collect();
    // Whether the last line has an ending is decided by the overlay, too. An empty line has nothing but its ending.
    let unended = without_ending(&base).len();
    if !input.workspace.ends_with(b"\n") && unended > 0 && !base[..unended].ends_with(b"\n") {
        base.truncate(unended);
    }
    merge(&MergeInput { base: Some(&base), ..*input })
}

/// A text whose last line has an ending, too. The library ends lines with a lone `\r`, too; that stays as it is within a
/// text, and where all do so.
fn ended(text: &[u8], end: Option<&[u8]>) -> Vec<u8> {
    let is_whole = is_whole(text, end);
    [text, if is_whole { b"" } else { end.unwrap_or(b"\n") }].concat()
}

fn is_whole(text: &[u8], end: Option<&[u8]>) -> bool {
    text.is_empty() || text.ends_with(b"\n") || end.is_none() && text.ends_with(b"\r")
}

/// Merges by lines. Whether the last line has an ending is no part of that line: it is as whoever wrote the last line has it.
pub fn merge_with(input: &MergeInput<'_>, disputed: Disputed) -> MergedText {
    let texts = [input.overlay, input.workspace, input.base.unwrap_or_default()];
    let end = texts.into_iter().find_map(ending);
    let [ours, theirs, base] = texts.map(|text| ended(text, end));
    let [overlay_whole, workspace_whole, base_whole] = texts.map(|text| is_whole(text, end));
    // What nobody wrote ends as the side has it that changed that; without a base the overlay decides.
    let is_workspaces = input.base.is_some() && overlay_whole == base_whole;
    let unwritten_whole = if is_workspaces { workspace_whole } else { overlay_whole };
    let mut ends_whole = unwritten_whole;
    let merge = TextMerge::from_lines(base.as_slice(), ours.as_slice(), theirs.as_slice());
    let (mut bytes, mut conflicts) = (Vec::new(), Vec::new());
    for region in merge.regions() {
        let overlay: Vec<&[u8]> = region.ours_range().filter_map(|i| merge.ours_line(i)).collect();
        let workspace: Vec<&[u8]> = region.theirs_range().filter_map(|i| merge.theirs_line(i)).collect();
        let is_added = region.base_range().is_empty();
        let (lines, is_whole) = match (region.resolution(), disputed) {
            (MergeResolution::Both, _) => (overlay, overlay_whole || workspace_whole),
            (MergeResolution::Ours, _) => (overlay, overlay_whole || unwritten_whole && !is_added),
            (MergeResolution::Theirs, _) => (workspace, workspace_whole || unwritten_whole && !is_added),
            (MergeResolution::Conflict, Disputed::Both) => (both(&overlay, &workspace), workspace_whole),
            (MergeResolution::Conflict, Disputed::BothSwapped) => (both(&workspace, &overlay), overlay_whole),
            (MergeResolution::Conflict, Disputed::BothAdded) if is_added => {
                (both(&overlay, &workspace), workspace_whole)
            }
            (MergeResolution::Conflict, _) => {
                let place = format!("line {}", region.ours_range().start + 1);
                conflicts.push(MergeConflict { place, kept: input.rule });
                match disputed {
                    Disputed::BothAddedTold if is_added => (both(&overlay, &workspace), workspace_whole),
                    _ => input.rule.pick((overlay, overlay_whole), (workspace, workspace_whole)),
                }
            }
            _ => (overlay, unwritten_whole),
        };
        bytes.extend(lines.concat());
        if region.base_range().end == merge.base_len() {
            ends_whole = is_whole;
        }
    }
    let end = end.unwrap_or(b"\n");
    if !ends_whole && bytes.ends_with(end) {
        bytes.truncate(bytes.len() - end.len());
    }
    MergedText { bytes, conflicts }
}

/// `now` with each group of lines that a change made as it was before the change. A group stays as it is that does not
/// stand there as one after the same line, or stands there twice.
pub fn without_change(before: &[u8], after: &[u8], now: &[u8]) -> Vec<u8> {
    let [was, made, lines] = [before, after, now].map(|text| split(text).collect::<Vec<_>>());
    // Lines that end in different ways cannot be joined again.
    if joined(lines.iter().copied(), [now; 2]) != now {
        return now.to_vec();
    }
    let stays = capture_diff_slices(Algorithm::Myers, &made, &lines);
    let place = |new: &Range<usize>| {
        let of_one = |op: &&DiffOp| matches!(op, DiffOp::Equal { .. }) && op.old_range().start <= new.start;
        let op = stays.iter().filter(of_one).find(|op| new.end <= op.old_range().end)?;
        let is_once = lines.windows(new.len()).filter(|part| *part == &made[new.clone()]).count() == 1;
        let at = op.new_range().start + new.start - op.old_range().start;
        (is_once && (op.old_range().start < new.start || new.start == 0 && at == 0)).then_some(at)
    };
    let mut kept = lines.clone();
    let ops = capture_diff_slices(Algorithm::Myers, &was, &made);
    let groups = ops.iter().rev().filter(|op| !matches!(op, DiffOp::Equal { .. }) && !op.new_range().is_empty());
    // From the last one on, so that the places before it stay.
    for op in groups {
        if let Some(at) = place(&op.new_range()) {
            kept.splice(at..at + op.new_range().len(), was[op.old_range()].iter().copied());
        }
    }
    joined(kept, [now; 2])
}

/// The lines of both sides; what they begin and end with in common occurs once.
fn both<'l>(overlay: &[&'l [u8]], workspace: &[&'l [u8]]) -> Vec<&'l [u8]> {
    let shared = |pairs: &mut dyn Iterator<Item = (&&'l [u8], &&'l [u8])>| pairs.take_while(|(a, b)| a == b).count();
    let head = shared(&mut overlay.iter().zip(workspace));
    let (overlay_left, workspace_left) = (&overlay[head..], &workspace[head..]);
    let tail = shared(&mut overlay_left.iter().rev().zip(workspace_left.iter().rev()));
    let middle = &workspace_left[..workspace_left.len() - tail];
    let (before, after) = overlay.split_at(overlay.len() - tail);
    [before, middle, after].concat()
}
