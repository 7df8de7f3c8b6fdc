//! Decides what one pass does about one file of one workspace. The functions are pure; `decide_tests` covers every
//! case.

use std::collections::HashSet;

use shopfloor_core::hash::Digest;

use super::decision::{Decision, FileView, Question, QuestionId, StaleText, Step, WaitingPart, WriteStep};
use super::shared_part::{INSEPARABLE, SharedView, SideText, runs_merged, side_text, why_new};
use crate::merge::{self, EntryPath, FileType, Freshness, Grown, MergeInput, MergedText, Rule, is_binary};
use crate::settings::Policy;
use crate::sync_action::SyncRule;

/// Decides what to do about a file.
pub fn decide(file: &FileView<'_>) -> Decision {
    let here = file.here.unwrap_or_default();
    let decision = match SharedView::cut(file, &[]) {
        Ok(view) => decide_view(file, view),
        Err(_) if file.accepted.contains(&Digest::of(here)) => decide_view(file, None),
        Err(why) => return held(file, why),
    };
    let Step::Dispute(places) = &decision.step else { return decision };
    let why = format!("both sides changed {}", places.join(", "));
    let Some(entries) = disputed_entries(file, places) else { return held(file, why) };
    // The entries in dispute wait as a part, and the rest of the file is decided without them.
    let mut part = WaitingPart::new(file.kind, here, &entries, why.clone());
    let view = SharedView::cut(file, &entries);
    if let Ok(Some(SharedView { part: Some(other), .. })) = &view {
        // If two parts of one file wait, a person sees and accepts them as one.
        part = part.and(other);
    }
    if file.accepted.contains(&part.digest) {
        let policy = Policy { rule: Rule::Person, holds: false, ..file.policy.clone() };
        let accepted = file.accepted.iter().chain(&part.parts).copied().collect();
        return decide(&FileView { policy: &policy, accepted: &accepted, ..*file });
    }
    match view.map(|view| decide_view(file, view)) {
        Ok(decision) if !matches!(decision.step, Step::Dispute(_)) => Decision { part: Some(part), ..decision },
        _ => held(file, why),
    }
}

fn held(file: &FileView<'_>, why: String) -> Decision {
    Decision { step: Step::Hold(why, Digest::of(file.here.unwrap_or_default())), part: None }
}

/// The entries at these places. `None` if one of them cannot be removed from the texts as a single entry.
fn disputed_entries(file: &FileView<'_>, places: &[String]) -> Option<Vec<EntryPath>> {
    let entries: Option<Vec<EntryPath>> = places.iter().map(|place| EntryPath::parse(file.kind, place)).collect();
    let is_one = |entry: &EntryPath| {
        let sides = [file.here.or(Some(&[])), file.overlay].into_iter().flatten();
        let counts: Vec<usize> = sides.map(|bytes| entry.count(file.kind, bytes)).collect();
        counts.iter().all(|count| *count <= 1) && counts.contains(&1)
    };
    entries.filter(|entries| entries.iter().all(is_one))
}

/// Decides about the shared part of a file, and then puts each side's own entries back.
fn decide_view(file: &FileView<'_>, view: Option<SharedView>) -> Decision {
    let Some(view) = view else { return Decision { step: decide_shared(file), part: None } };
    match view.restore(file, decide_shared(&view.shared(file))) {
        Some(step) => Decision { step, part: view.part },
        None => held(file, INSEPARABLE.into()),
    }
}

/// Decides about the shared part of a file.
fn decide_shared(file: &FileView<'_>) -> Step {
    match (file.overlay, file.here) {
        (None, None) if file.base.is_some() || file.deleted.is_some() || file.is_retired => Step::Forget,
        (None, None) => Step::Nothing,
        (Some(overlay), None) => match file.deleted {
            Some(then) if then == Digest::of(overlay) => Step::Nothing,
            None if is_base(file, overlay) => Step::Delete,
            _ => copy(None, Some(overlay), SyncRule::Pull),
        },
        (None, Some(here)) => decide_without_overlay(file, here),
        (Some(overlay), Some(here)) if overlay == here => {
            if is_base(file, here) && file.deleted.is_none() && !file.is_retired {
                Step::Nothing
            } else {
                Step::Adopt(here.to_vec())
            }
        }
        (Some(overlay), Some(_)) if file.policy.is_down && is_base(file, overlay) && !file.is_retired => Step::Nothing,
        (Some(overlay), Some(here)) if is_base(file, here) => match gate(file, overlay) {
            Some(why) => Step::Hold(format!("in the overlay: {why}"), Digest::of(overlay)),
            None => copy(None, Some(overlay), SyncRule::Pull),
        },
        (Some(overlay), Some(here)) => merge_both(file, overlay, here),
    }
}

/// Decides about a file that only the workspace has.
fn decide_without_overlay(file: &FileView<'_>, here: &[u8]) -> Step {
    match file.base {
        None if file.is_declared && !file.policy.is_down => match unfit(file, here) {
            Some(why) => Step::Hold(why, Digest::of(here)),
            None => copy(Some(here), None, SyncRule::Adopt),
        },
        None => Step::Nothing,
        // The file was deleted in the overlay earlier, and the workspace kept its copy.
        Some(_) if file.is_retired => Step::Nothing,
        Some(_) if is_base(file, here) && file.policy.spreads_deletions => Step::Remove,
        Some(_) if is_base(file, here) || file.policy.is_down => Step::Retire,
        // An edit wins over a deletion.
        Some((_, base)) => match side_text(file, base, here) {
            Ok(side) => push(file, side, here),
            Err(why) => Step::Hold(why, Digest::of(here)),
        },
    }
}

/// Copies the workspace's text into the overlay, which has none, after entries that the text only lacks because of an
/// old view were put back.
fn push(file: &FileView<'_>, SideText { bytes, grown, stale }: SideText, here: &[u8]) -> Step {
    if let Some(why) = gate_side(file, here, stale.as_ref()).or_else(|| gate(file, &bytes)) {
        return Step::Hold(why, Digest::of(here));
    }
    let own = (bytes != here).then(|| bytes.clone());
    let plain = WriteStep::plain(Some(bytes.clone()), own.clone(), bytes, SyncRule::Push);
    Step::Write(Box::new(WriteStep { read: here.to_vec(), grown, stale, own, ..plain }))
}

fn is_base(file: &FileView<'_>, bytes: &[u8]) -> bool {
    file.base.is_some_and(|(digest, _)| digest == Digest::of(bytes))
}

/// Copies one side's text to the other.
fn copy(overlay: Option<&[u8]>, here: Option<&[u8]>, rule: SyncRule) -> Step {
    let (overlay, here) = (overlay.map(<[u8]>::to_vec), here.map(<[u8]>::to_vec));
    let base = here.clone().or_else(|| overlay.clone()).unwrap_or_default();
    Step::Write(Box::new(WriteStep::plain(overlay, here, base, rule)))
}

/// Decides about a file whose text in the workspace differs from the base; the overlay's text may differ too.
fn merge_both(file: &FileView<'_>, overlay: &[u8], here: &[u8]) -> Step {
    // A base whose bytes are lost counts as no base. Then the merge keeps more of both sides.
    let base = file.base.and_then(|(_, bytes)| bytes);
    let SideText { bytes: side, grown, stale } = match side_text(file, base, here) {
        Ok(side) => side,
        Err(why) => return Step::Hold(why, Digest::of(here)),
    };
    if let Some(why) = gate_side(file, here, stale.as_ref()) {
        return Step::Hold(why, Digest::of(here));
    }
    if let Some(why) = gate(file, overlay) {
        return Step::Hold(format!("in the overlay: {why}"), Digest::of(overlay));
    }
    let is_accepted = file.accepted.contains(&Digest::of(here));
    let id: QuestionId = (base.map(Digest::of), Digest::of(overlay), Digest::of(&side));
    let merged = resume(file, &id).map_or_else(|| merge_sides(file, base, overlay, &side, &id), Ok);
    let (MergedText { bytes, conflicts }, rule) = match merged {
        Ok(merged) => merged,
        Err(step) => return *step,
    };
    // Two reasonable edits can leave nothing when they are merged.
    if let (false, Some(why)) = (is_accepted, gate(file, &bytes)) {
        return Step::Hold(format!("merged with the overlay, {why}"), Digest::of(here));
    }
    if !is_accepted && runs_merged(file, &bytes, &[overlay, &side]) {
        let why =
            "merged with the overlay, a line of it is outside of its quotes, and a shell would run it (a program)";
        return Step::Hold(why.into(), Digest::of(here));
    }
    let stale = stale.filter(|_| bytes != here);
    let is_push = rule == SyncRule::Merge && grown == 0 && bytes == here && base.is_some_and(|base| base == overlay);
    // If a kill leaves only one side written, a second merge could have another result. So this result is saved.
    let writes_both = bytes != overlay && bytes != here && !file.policy.is_down;
    let is_remembered = writes_both || matches!(rule, SyncRule::LastWrite | SyncRule::Command);
    Step::Write(Box::new(WriteStep {
        overlay: (bytes != overlay && !file.policy.is_down).then(|| bytes.clone()),
        here: (bytes != here).then(|| bytes.clone()),
        base: if file.policy.is_down { overlay.to_vec() } else { bytes.clone() },
        read: here.to_vec(),
        rule: if is_push { SyncRule::Push } else { rule },
        conflicts,
        grown,
        stale,
        own: (side != here).then_some(side),
        intent: is_remembered.then_some((id, bytes)),
    }))
}

/// A merged text, and how it was made.
type SideMerge = (MergedText, SyncRule);

/// The result that an earlier run saved for the same texts, if there is one.
fn resume(file: &FileView<'_>, (base, overlay, side): &QuestionId) -> Option<SideMerge> {
    let (intent, result) = file.intent.filter(|(intent, _)| intent.here == *side)?;
    // That run has already written the overlay, so only the workspace must still be written.
    let is_half_done = intent.result == *overlay;
    let is_answered = intent.rule == SyncRule::Command && (intent.base, intent.overlay) == (*base, *overlay);
    let rule = if is_half_done { intent.rule } else { SyncRule::Command };
    let resumed = MergedText { bytes: result.to_vec(), conflicts: Vec::new() };
    (is_half_done || is_answered).then_some((resumed, rule))
}

/// Merges the two sides; the error is the step to take when there is no result to write yet.
fn merge_sides(
    file: &FileView<'_>,
    base: Option<&[u8]>,
    overlay: &[u8],
    side: &[u8],
    id: &QuestionId,
) -> Result<SideMerge, Box<Step>> {
    let is_accepted = file.accepted.contains(&Digest::of(file.here.unwrap_or_default()));
    let rule = if is_accepted { Rule::Person } else { file.policy.rule };
    let input = MergeInput { base, overlay, workspace: side, kind: file.kind, rule };
    let merged = match file.policy.grow {
        merge::Grow::All => merge::merge_growing(&input),
        _ => merge::merge(&input),
    };
    // If the merge took one side as a whole, there are no single entries to ask about.
    let is_whole = merged.conflicts.iter().any(|conflict| conflict.place == merge::WHOLE);
    match file.command {
        _ if merged.conflicts.is_empty() => Ok((merged, SyncRule::Merge)),
        Some(refused) if !refused.contains(id) && !is_whole => Err(Box::new(Step::Ask(Question {
            base: base.map(<[u8]>::to_vec),
            overlay: overlay.to_vec(),
            here: side.to_vec(),
            kind: file.kind,
        }))),
        _ if file.policy.holds && !is_accepted => {
            let places = merged.conflicts.into_iter().map(|conflict| conflict.place).collect();
            Err(Box::new(Step::Dispute(places)))
        }
        _ => Ok((merged, SyncRule::LastWrite)),
    }
}

/// Why a declared file must not enter the overlay yet: it may be half written, or it runs code.
fn unfit(file: &FileView<'_>, here: &[u8]) -> Option<String> {
    if file.accepted.contains(&Digest::of(here)) {
        return None;
    }
    if here.is_empty() {
        return Some("it is empty".into());
    }
    let has_structure = file.kind.is_tree() || file.kind == FileType::JsonLines;
    // Not every reader of variables knows quotes, and nothing says yet that this one's does.
    if (has_structure || !is_binary(here) && file.kind != FileType::Env) && !file.kind.parses(here) {
        return Some("it does not parse".into());
    }
    why_new(file, here)
}

/// Why the workspace's text must not spread yet. In a text that was written from an old view, only the entries that its
/// writer knew count: entries that were put back do not show whether the rest is complete.
fn gate_side(file: &FileView<'_>, here: &[u8], stale: Option<&StaleText>) -> Option<String> {
    let Some((_, Some(base))) = file.base else { return gate(file, here) };
    if file.accepted.contains(&Digest::of(here)) {
        return None;
    }
    if here.trim_ascii().is_empty() {
        return gate(file, here);
    }
    // What a list only grows by has not vanished from it.
    let here = &match merge::grown(file.kind, file.policy.grow, base, here) {
        Grown::Back(text, _) => text,
        Grown::Same | Grown::Cannot => here.to_vec(),
    };
    let fresh = match stale {
        Some(stale) => stale.fresh.clone(),
        // In lists that only grow, what arrived was put back before anything was compared with the old view.
        None => {
            let why = gate(file, here)?;
            let is_sound = file.kind.parses(here) && !file.policy.is_down;
            match merge::freshness(file.kind, base, here, file.arrivals, true) {
                Freshness::Stale(fresh, _) if is_sound => fresh,
                _ => return Some(why),
            }
        }
    };
    let leaves = |bytes: &[u8]| file.kind.leaves(bytes).map(HashSet::<String>::from_iter);
    let (before, after, fresh) = (file.kind.leaves(base)?, leaves(here)?, leaves(&fresh)?);
    let is_known = |leaf: &&String| after.contains(*leaf) || !fresh.contains(*leaf);
    vanished(file.kind, &before.iter().filter(is_known).collect::<Vec<_>>(), &after)
}

/// Why a text that has lost most of its entries is held. In a small one, an entry with another value is there still.
fn vanished(kind: FileType, before: &[&String], after: &HashSet<String>) -> Option<String> {
    let names: HashSet<&str> = after.iter().map(|leaf| kind.leaf_name(leaf)).collect();
    let (of, has_names) = (before.len(), kind.is_tree() || kind == FileType::Env);
    let is_gone = |leaf: &&&String| match of {
        8.. => !after.contains(**leaf),
        _ => has_names && of >= 4 && !names.contains(kind.leaf_name(leaf)),
    };
    let gone = before.iter().filter(is_gone).count();
    (gone * 2 > of).then(|| format!("{gone} of {of} entries vanished at once"))
}

/// Why a text must not spread yet: compared with the base, it looks half written, is empty or blank, or has lost most of
/// its entries.
fn gate(file: &FileView<'_>, new: &[u8]) -> Option<String> {
    let (_, Some(base)) = file.base? else { return None };
    if new == base || base.is_empty() || file.accepted.contains(&Digest::of(new)) {
        return None;
    }
    if new.trim_ascii().is_empty() && !base.trim_ascii().is_empty() {
        return Some("it is empty".into());
    }
    if file.kind.parses(base) && !file.kind.parses(new) {
        return Some("it no longer parses".into());
    }
    let has_mark = |text: &[u8]| text.starts_with("\u{feff}".as_bytes());
    if matches!(file.kind, FileType::Env | FileType::Toml | FileType::JsonLines) && has_mark(new) && !has_mark(base) {
        return Some("it begins with a byte order mark now, which most of its readers do not take".into());
    }
    if file.kind.is_strict(base) && !file.kind.is_strict(new) {
        return Some("it is no longer strict JSON (a comment, a trailing comma or a byte order mark)".into());
    }
    if is_binary(base) {
        return None;
    }
    let (before, after) = (file.kind.leaves(base)?, file.kind.leaves(new)?);
    vanished(file.kind, &before.iter().collect::<Vec<_>>(), &after.into_iter().collect())
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
