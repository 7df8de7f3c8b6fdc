//! The decision of one pass for one file of one workspace: three contents in, what to write where out.
//! Pure; the laws of syncing are tested here.

use std::collections::{BTreeSet, HashSet};

use shopfloor_core::hash::Digest;

use crate::merge::{self, EntryPath, FileType, Grown, MergeConflict, MergeInput, Rule, is_binary};
use crate::settings::{OnConflict, Policy};
use crate::store::{Intent, SyncRule};
use crate::view::{Part, SharedView};

/// What a pass sees of one file.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// The content both sides held last (also before a deletion here); its bytes, unless they were lost.
    pub base: Option<(Digest, Option<&'a [u8]>)>,
    pub overlay: Option<&'a [u8]>,
    pub here: Option<&'a [u8]>,
    /// Texts, and parts of texts, that a person let pass.
    pub accepted: &'a BTreeSet<Digest>,
    /// The overlay's content when the file was deleted here.
    pub deleted: Option<Digest>,
    pub kind: FileType,
    pub policy: &'a Policy,
    /// Entries that were taken away in the overlay: a workspace does not bring them back by itself.
    pub removed: &'a BTreeSet<String>,
    /// Whether a workspace may bring this file into the overlay.
    pub is_declared: bool,
    /// Whether the base is from before the overlay let go of the file.
    pub is_retired: bool,
    /// The questions to which the merge command gave no answer that can be taken; none where there is no
    /// command, or it must not see this file.
    pub command: Option<&'a BTreeSet<QuestionId>>,
    /// What an earlier run set out to do and may not have finished, with the result's bytes.
    pub intent: Option<(&'a Intent, &'a [u8])>,
}

/// The three texts a question is about.
pub type QuestionId = (Option<Digest>, Digest, Digest);

/// What a pass does about a file, and what of it waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub step: Step,
    /// A part of the workspace's text that waits while the rest goes on.
    pub part: Option<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Nothing,
    /// Both hold the same: this is the base from now on.
    Adopt(Vec<u8>),
    Write(WriteStep),
    /// Deleted here: remembered, neither spread nor refilled.
    Delete,
    /// Gone on both sides: no longer managed.
    Forget,
    /// Deleted in the overlay: no longer managed; what is here stays, and is known again should the overlay
    /// have the file once more.
    Retire,
    /// The same, and what is here goes too.
    Remove,
    /// Nothing is written until somebody looks: why, and at which text.
    Hold(String, Digest),
    /// These places conflict, and a person is to decide; they wait, the rest need not.
    Dispute(Vec<String>),
    /// An outside program is asked first.
    Ask(Question),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteStep {
    pub overlay: Option<Vec<u8>>,
    pub here: Option<Vec<u8>>,
    /// What both sides hold then.
    pub base: Vec<u8>,
    pub did: SyncRule,
    /// Whose side was taken where both had changed one thing.
    pub winner: Rule,
    pub conflicts: Vec<MergeConflict>,
    /// How many entries the workspace had taken away and has again.
    pub grown: usize,
    /// What is remembered until it is done, so that a run after a kill goes the same way.
    pub intent: Option<(QuestionId, Vec<u8>)>,
}

/// Three texts for an outside program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub base: Option<Vec<u8>>,
    pub overlay: Vec<u8>,
    pub here: Vec<u8>,
    pub kind: FileType,
}

impl Question {
    pub fn asked(&self) -> QuestionId {
        (self.base.as_deref().map(Digest::of), Digest::of(&self.overlay), Digest::of(&self.here))
    }

    pub fn input(&self) -> MergeInput<'_> {
        MergeInput {
            base: self.base.as_deref(),
            overlay: &self.overlay,
            workspace: &self.here,
            kind: self.kind,
            rule: Rule::Workspace,
        }
    }
}

pub fn decide(look: &Look<'_>) -> Decision {
    let here = look.here.unwrap_or_default();
    let held = |why: String| Decision { step: Step::Hold(why, Digest::of(here)), part: None };
    let decision = match SharedView::of(look, &[]) {
        Ok(view) => through(look, view),
        // A person said that it may go as it is.
        Err(_) if look.accepted.contains(&Digest::of(here)) => through(look, None),
        Err(why) => return held(why),
    };
    let Step::Dispute(places) = &decision.step else { return decision };
    let why = format!("both sides changed {}", places.join(", "));
    // What is in dispute waits as other parts do, where it can be taken out.
    let entries: Option<Vec<EntryPath>> = places.iter().map(|place| EntryPath::parse(look.kind, place)).collect();
    let is_one = |entry: &EntryPath| {
        let sides = [Some(here), look.overlay].into_iter().flatten();
        let counts: Vec<usize> = sides.map(|bytes| entry.count(look.kind, bytes)).collect();
        counts.iter().all(|count| *count <= 1) && counts.contains(&1)
    };
    let Some(entries) = entries.filter(|entries| entries.iter().all(is_one)) else { return held(why) };
    let mut part = Part::of(look.kind, here, &entries, why.clone());
    let view = SharedView::of(look, &entries);
    if let Ok(Some(SharedView { part: Some(other), .. })) = &view {
        // Two things wait in one file: a person is told of both, and speaks of both.
        part = part.and(other);
    }
    if look.accepted.contains(&part.digest) {
        let policy = Policy { on_conflict: OnConflict::Person, ..look.policy.clone() };
        let accepted = look.accepted.iter().copied().chain(part.of.iter().copied()).collect();
        return decide(&Look { policy: &policy, accepted: &accepted, ..*look });
    }
    match view {
        Ok(view) => {
            let decision = through(look, view);
            if matches!(decision.step, Step::Dispute(_)) {
                held(why)
            } else {
                Decision { part: Some(part), ..decision }
            }
        }
        Err(_) => held(why),
    }
}

/// The decision about what is shared, each side's own put back.
fn through(look: &Look<'_>, view: Option<SharedView>) -> Decision {
    let Some(view) = view else { return Decision { step: shared(look), part: None } };
    let cannot = || {
        let here = Digest::of(look.here.unwrap_or_default());
        Step::Hold("its own entries cannot be told from the others".into(), here)
    };
    let step = view.restore(look, shared(&view.look(look)));
    let part = if step.is_some() { view.part } else { None };
    Decision { step: step.unwrap_or_else(cannot), part }
}

/// The decision about what a workspace shares.
fn shared(look: &Look<'_>) -> Step {
    let base = look.base.map(|(digest, _)| digest);
    let is_base = |bytes: &[u8]| base == Some(Digest::of(bytes));
    let write = |overlay: Option<&[u8]>, here: Option<&[u8]>, did| {
        let bytes = here.or(overlay).unwrap_or_default().to_vec();
        Step::Write(WriteStep {
            overlay: overlay.map(<[u8]>::to_vec),
            here: here.map(<[u8]>::to_vec),
            base: bytes,
            did,
            winner: Rule::Overlay,
            conflicts: Vec::new(),
            grown: 0,
            intent: None,
        })
    };
    match (look.overlay, look.here) {
        (None, None) if base.is_some() || look.deleted.is_some() || look.is_retired => Step::Forget,
        (None, None) => Step::Nothing,
        (Some(overlay), None) => match look.deleted {
            Some(then) if then == Digest::of(overlay) => Step::Nothing,
            None if is_base(overlay) => Step::Delete,
            _ => write(None, Some(overlay), SyncRule::Pull),
        },
        (None, Some(here)) => match base {
            None if look.is_declared && !look.policy.is_down => match unfit(look, here) {
                Some(why) => Step::Hold(why, Digest::of(here)),
                None => write(Some(here), None, SyncRule::Adopt),
            },
            None => Step::Nothing,
            // The overlay let go of it before, and the workspace kept its own.
            Some(_) if look.is_retired => Step::Nothing,
            Some(_) if is_base(here) && look.policy.spreads_deletions => Step::Remove,
            Some(_) if is_base(here) || look.policy.is_down => Step::Retire,
            // An edit is stronger than a deletion.
            Some(_) => match gate(look, here) {
                Some(why) => Step::Hold(why, Digest::of(here)),
                None => write(Some(here), None, SyncRule::Push),
            },
        },
        (Some(overlay), Some(here)) if overlay == here => {
            if is_base(here) && look.deleted.is_none() && !look.is_retired {
                Step::Nothing
            } else {
                Step::Adopt(here.to_vec())
            }
        }
        (Some(overlay), Some(_)) if look.policy.is_down && is_base(overlay) => Step::Nothing,
        (Some(overlay), Some(here)) if is_base(here) => match gate(look, overlay) {
            Some(why) => Step::Hold(format!("in the overlay: {why}"), Digest::of(overlay)),
            None => write(None, Some(overlay), SyncRule::Pull),
        },
        (Some(overlay), Some(here)) => both(look, overlay, here),
    }
}

/// The workspace's text differs from the base, and perhaps the overlay's does too.
fn both(look: &Look<'_>, overlay: &[u8], here: &[u8]) -> Step {
    if let Some(why) = gate(look, here) {
        return Step::Hold(why, Digest::of(here));
    }
    if let Some(why) = gate(look, overlay) {
        return Step::Hold(format!("in the overlay: {why}"), Digest::of(overlay));
    }
    // A base whose bytes were lost is no base: that only makes more of both sides stay.
    let base = look.base.and_then(|(_, bytes)| bytes);
    let accepted = look.accepted.contains(&Digest::of(here));
    let grown = match base {
        Some(base) if !accepted => merge::grown(look.kind, look.policy.grow, base, here),
        _ => Grown::Same,
    };
    let (side, grown) = match grown {
        Grown::Same => (here.to_vec(), 0),
        Grown::Back(text, count) => (text, count),
        Grown::Cannot => {
            return Step::Hold("it takes away what only grows, and cannot be edited".into(), Digest::of(here));
        }
    };
    let asked: QuestionId = (base.map(Digest::of), Digest::of(overlay), Digest::of(&side));
    let begun = look.intent.filter(|(intent, _)| intent.here == asked.2);
    let (bytes, did, winner, conflicts) = match begun {
        // An earlier run got as far as the overlay: what remains is this side.
        Some((intent, result)) if intent.result == asked.1 => (result.to_vec(), intent.rule, Rule::Overlay, Vec::new()),
        Some((intent, result))
            if intent.rule == SyncRule::Command && (intent.base, intent.overlay) == (asked.0, asked.1) =>
        {
            (result.to_vec(), SyncRule::Command, Rule::Overlay, Vec::new())
        }
        _ => {
            let rule = match look.policy.on_conflict {
                _ if accepted => Rule::Person,
                OnConflict::Person => Rule::Person,
                OnConflict::Overlay => Rule::Overlay,
                OnConflict::Workspace | OnConflict::Hold => Rule::Workspace,
            };
            let input = MergeInput { base, overlay, workspace: &side, kind: look.kind, rule };
            let merged = match look.policy.grow {
                merge::Grow::All => merge::merge_growing(&input),
                _ => merge::merge(&input),
            };
            match look.command {
                _ if merged.conflicts.is_empty() => (merged.bytes, SyncRule::Merge, rule, Vec::new()),
                Some(refused) if !refused.contains(&asked) && !is_whole(&merged.conflicts) => {
                    return Step::Ask(Question {
                        base: base.map(<[u8]>::to_vec),
                        overlay: overlay.to_vec(),
                        here: side,
                        kind: look.kind,
                    });
                }
                _ if look.policy.on_conflict == OnConflict::Hold && !accepted => {
                    return Step::Dispute(merged.conflicts.into_iter().map(|conflict| conflict.place).collect());
                }
                _ => {
                    let is_overlays = merged.conflicts.iter().all(|conflict| conflict.kept == Rule::Overlay);
                    let winner = if is_overlays { Rule::Overlay } else { Rule::Workspace };
                    (merged.bytes, SyncRule::LastWrite, winner, merged.conflicts)
                }
            }
        }
    };
    // Two reasonable edits can leave nothing together.
    if let (false, Some(why)) = (accepted, gate(look, &bytes)) {
        return Step::Hold(format!("merged with the overlay, {why}"), Digest::of(here));
    }
    let is_push = did == SyncRule::Merge && grown == 0 && bytes == here && base.is_some_and(|base| base == overlay);
    // Decided again with one side written, a merge need not come to the same.
    let writes_both = bytes != overlay && bytes != here && !look.policy.is_down;
    let is_remembered = writes_both || matches!(did, SyncRule::LastWrite | SyncRule::Command);
    let kept = if look.policy.is_down { overlay.to_vec() } else { bytes.clone() };
    Step::Write(WriteStep {
        overlay: (bytes != overlay && !look.policy.is_down).then(|| bytes.clone()),
        here: (bytes != here).then(|| bytes.clone()),
        base: kept,
        did: if is_push { SyncRule::Push } else { did },
        winner,
        conflicts,
        grown,
        intent: is_remembered.then_some((asked, bytes)),
    })
}

/// Whether a merge took one side whole: then there is nothing to ask about in parts.
fn is_whole(conflicts: &[MergeConflict]) -> bool {
    conflicts.iter().any(|conflict| conflict.place == merge::WHOLE)
}

/// Why a file that a workspace brings by itself must not enter the overlay: it is just being written, or
/// it runs code.
fn unfit(look: &Look<'_>, here: &[u8]) -> Option<String> {
    if look.accepted.contains(&Digest::of(here)) {
        return None;
    }
    if here.is_empty() {
        return Some("it is empty".into());
    }
    let has_structure = look.kind.is_tree() || look.kind == FileType::JsonLines;
    if (has_structure || !is_binary(here)) && !look.kind.parses(here) {
        return Some("it does not parse".into());
    }
    let adds = !merge::additions(look.kind, here, &look.policy.review, &[]).is_empty();
    adds.then(|| "it is new and adds what runs code in every workspace".into())
}

/// Why a text should not spread: half written, emptied or gutted, measured against the base.
fn gate(look: &Look<'_>, new: &[u8]) -> Option<String> {
    let (_, Some(base)) = look.base? else { return None };
    if new == base || base.is_empty() || look.accepted.contains(&Digest::of(new)) {
        return None;
    }
    if new.is_empty() {
        return Some("it is empty".into());
    }
    if look.kind.parses(base) && !look.kind.parses(new) {
        return Some("it does not parse any more".into());
    }
    if is_binary(base) {
        return None;
    }
    let (before, after) = (look.kind.leaves(base)?, look.kind.leaves(new)?);
    let after: HashSet<String> = after.into_iter().collect();
    let gone = before.iter().filter(|leaf| !after.contains(*leaf)).count();
    (before.len() >= 8 && gone * 2 > before.len())
        .then(|| format!("{gone} of {} entries vanished at once", before.len()))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
