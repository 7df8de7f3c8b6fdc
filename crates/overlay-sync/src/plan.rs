//! The decision of one pass for one file of one workspace: three contents in, what to write where out.
//! Pure; the laws of syncing are tested here.

use shopfloor_core::hash::Digest;

use crate::merge::{Conflict, Input, Kind, Rule, is_binary, merge};
use crate::store::Did;

/// What a pass sees of one file.
#[derive(Clone, Debug)]
pub struct Look<'a> {
    /// The content both sides held last (also before a deletion here); its bytes, unless they were lost.
    pub base: Option<(Digest, Option<&'a [u8]>)>,
    pub overlay: Option<&'a [u8]>,
    pub here: Option<&'a [u8]>,
    /// A text a person let pass.
    pub accepted: Option<Digest>,
    /// The overlay's content when the file was deleted here.
    pub deleted: Option<Digest>,
    pub kind: Kind,
    pub rule: Rule,
}

/// What a pass does about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Nothing,
    /// Both hold the same: that is the base from now on.
    Adopt,
    Write(Write),
    /// Deleted here: remembered, neither spread nor refilled.
    Delete,
    /// Deleted in the overlay, or on both sides: no longer managed; what is here stays.
    Retire,
    /// Nothing is written until somebody looks: why, and at which text.
    Hold(String, Digest),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    pub overlay: Option<Vec<u8>>,
    pub here: Option<Vec<u8>>,
    pub did: Did,
    /// Whose side was taken where both had changed one thing.
    pub winner: Rule,
    pub conflicts: Vec<Conflict>,
}

/// The keys whose additions run code in every workspace.
const REVIEWED: [&str; 2] = ["hooks", "mcpServers"];

pub fn decide(look: &Look<'_>) -> Step {
    let base = look.base.map(|(digest, _)| digest);
    let is_base = |bytes: &[u8]| base == Some(Digest::of(bytes));
    let pull = |bytes: &[u8]| {
        Step::Write(Write {
            overlay: None,
            here: Some(bytes.to_vec()),
            did: Did::Pull,
            winner: look.rule,
            conflicts: Vec::new(),
        })
    };
    match (look.overlay, look.here) {
        (None, None) if base.is_some() || look.deleted.is_some() => Step::Retire,
        (None, None) => Step::Nothing,
        (Some(overlay), None) => match look.deleted {
            Some(then) if then == Digest::of(overlay) => Step::Nothing,
            None if is_base(overlay) => Step::Delete,
            _ => pull(overlay),
        },
        (None, Some(here)) => match base {
            None => Step::Nothing,
            Some(_) if is_base(here) => Step::Retire,
            // An edit is stronger than a deletion.
            Some(_) => match unsafe_to_spread(look, here, b"") {
                Some(why) => Step::Hold(why, Digest::of(here)),
                None => Step::Write(Write {
                    overlay: Some(here.to_vec()),
                    here: None,
                    did: Did::Push,
                    winner: look.rule,
                    conflicts: Vec::new(),
                }),
            },
        },
        (Some(overlay), Some(here)) if overlay == here => {
            if is_base(here) && look.deleted.is_none() {
                Step::Nothing
            } else {
                Step::Adopt
            }
        }
        (Some(overlay), Some(here)) if is_base(here) => match gate(look, overlay) {
            Some(why) => Step::Hold(format!("in the overlay: {why}"), Digest::of(overlay)),
            None => pull(overlay),
        },
        (Some(overlay), Some(here)) => both(look, overlay, here),
    }
}

/// The workspace's text differs from the base, and perhaps the overlay's does too.
fn both(look: &Look<'_>, overlay: &[u8], here: &[u8]) -> Step {
    if let Some(why) = unsafe_to_spread(look, here, overlay) {
        return Step::Hold(why, Digest::of(here));
    }
    if let Some(why) = gate(look, overlay) {
        return Step::Hold(format!("in the overlay: {why}"), Digest::of(overlay));
    }
    // A base whose bytes were lost is no base: that only makes more of both sides stay.
    let base = look.base.and_then(|(_, bytes)| bytes);
    let input = Input { base, overlay, workspace: here, kind: look.kind, rule: look.rule, grow: true };
    let merged = merge(&input);
    // Two reasonable edits can leave nothing together.
    if look.accepted != Some(Digest::of(here))
        && let Some(why) = gate(look, &merged.bytes)
    {
        return Step::Hold(format!("merged with the overlay, {why}"), Digest::of(here));
    }
    let did = match (merged.conflicts.is_empty(), merged.bytes == here) {
        (false, _) => Did::LastWrite,
        (true, true) if look.base.is_some_and(|(digest, _)| digest == Digest::of(overlay)) => Did::Push,
        _ => Did::Merge,
    };
    Step::Write(Write {
        overlay: (merged.bytes != overlay).then(|| merged.bytes.clone()),
        here: (merged.bytes != here).then_some(merged.bytes),
        did,
        winner: if base.is_some() { look.rule } else { Rule::Overlay },
        conflicts: merged.conflicts,
    })
}

/// Why a workspace's text waits, if no person let it pass.
fn unsafe_to_spread(look: &Look<'_>, here: &[u8], overlay: &[u8]) -> Option<String> {
    if look.accepted == Some(Digest::of(here)) {
        return None;
    }
    gate(look, here).or_else(|| review(look, here, overlay))
}

/// Why a text should not spread: half written, emptied or gutted, measured against the base.
fn gate(look: &Look<'_>, new: &[u8]) -> Option<String> {
    let (_, Some(base)) = look.base? else { return None };
    if new == base || base.is_empty() || look.accepted == Some(Digest::of(new)) {
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
    let gone = before.iter().filter(|leaf| !after.contains(leaf)).count();
    (before.len() >= 8 && gone * 2 > before.len())
        .then(|| format!("{gone} of {} entries vanished at once", before.len()))
}

/// Why a workspace's additions wait for a person: they would run code in every other workspace.
fn review(look: &Look<'_>, here: &[u8], overlay: &[u8]) -> Option<String> {
    if look.kind != Kind::Json {
        return None;
    }
    if !look.kind.parses(here) {
        return Some("it does not parse, so nobody can tell what it adds".into());
    }
    let leaves = |bytes: &[u8]| look.kind.leaves(bytes).unwrap_or_default();
    let base = look.base.and_then(|(_, bytes)| bytes).map(leaves).unwrap_or_default();
    let known = leaves(overlay);
    let reviewed = |leaf: &String| REVIEWED.iter().any(|key| leaf.split(['.', ' ', '[']).next() == Some(key));
    let adds = leaves(here).into_iter().any(|leaf| reviewed(&leaf) && !base.contains(&leaf) && !known.contains(&leaf));
    adds.then(|| "it adds to `hooks` or `mcpServers`, which run code in every workspace".to_owned())
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
