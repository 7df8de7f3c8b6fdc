//! What a decision about one file rests on, and what it answers.

use std::collections::BTreeSet;

use shopfloor_core::hash::Digest;

use crate::merge::{Arrival, EntryPath, FileType, MergeConflict, MergeInput, Rule, StalePlace};
use crate::settings::Policy;
use crate::store::WriteIntent;
use crate::sync_action::SyncRule;

/// What a pass sees of one file.
#[derive(Clone, Copy, Debug)]
pub struct FileView<'a> {
    /// The content both sides held last, also when the file was deleted here since; with its bytes, unless the store
    /// has lost them.
    pub base: Option<(Digest, Option<&'a [u8]>)>,
    pub overlay: Option<&'a [u8]>,
    pub here: Option<&'a [u8]>,
    /// The texts, and parts of texts, that a person has accepted.
    pub accepted: &'a BTreeSet<Digest>,
    /// The overlay's content at the time when the file was deleted here.
    pub deleted: Option<Digest>,
    pub kind: FileType,
    pub policy: &'a Policy,
    /// What passes wrote here in place of another text: a program may still write from that one.
    pub arrivals: &'a [Arrival],
    /// Whether the texts are whole, and not only what is shared of them.
    pub is_whole: bool,
    /// Entries that were removed from the overlay: a workspace cannot bring them back without a person.
    pub removed: &'a BTreeSet<String>,
    /// Whether a workspace may bring this file into the overlay.
    pub is_declared: bool,
    /// Whether the base dates from before the overlay gave the file up.
    pub is_retired: bool,
    /// The questions that the merge command has answered in vain. `None` where there is no command, or it must not
    /// see this file.
    pub command: Option<&'a BTreeSet<QuestionId>>,
    /// What an earlier run set out to do and may not have finished, with the bytes of its result.
    pub intent: Option<(&'a WriteIntent, &'a [u8])>,
}

/// The digests of the three texts that a question is about.
pub type QuestionId = (Option<Digest>, Digest, Digest);

/// What a pass does about a file, and which part of it waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub step: Step,
    /// The part of the workspace's text that waits while the rest is synced.
    pub part: Option<WaitingPart>,
}

impl Decision {
    /// Leaves the file alone.
    pub fn nothing() -> Decision {
        Decision { step: Step::Nothing, part: None }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Nothing,
    /// Both sides hold this text: it becomes the base.
    Adopt(Vec<u8>),
    Write(Box<WriteStep>),
    /// The file was deleted here: remember that, and neither spread the deletion nor refill the file.
    Delete,
    /// The file is gone on both sides: stop managing it.
    Forget,
    /// The file was deleted in the overlay: stop managing it and leave the workspace's copy. Its base is remembered in
    /// case the overlay gets the file back.
    Retire,
    /// Like `Retire`, but delete the workspace's copy too.
    Remove,
    /// Write nothing until a person has looked: the reason, and the text it is about.
    Hold(String, Digest),
    /// Both sides changed these places and a person is to decide. They wait, the rest need not.
    Dispute(Vec<String>),
    /// Ask the merge command first.
    Ask(Question),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteStep {
    pub overlay: Option<Vec<u8>>,
    pub here: Option<Vec<u8>>,
    /// What both sides hold afterwards.
    pub base: Vec<u8>,
    /// The same if only the overlay is written: what was read in the workspace. What is there then is an edit of that.
    pub read: Vec<u8>,
    pub rule: SyncRule,
    pub conflicts: Vec<MergeConflict>,
    /// How many entries the workspace had removed and gets back.
    pub grown: usize,
    /// What the workspace's text shows of an old view.
    pub stale: Option<StaleText>,
    /// The workspace's text with what it was given back, if that is another text.
    pub own: Option<Vec<u8>>,
    /// What is remembered until it is done, so that a run after a kill decides the same.
    pub intent: Option<(QuestionId, Vec<u8>)>,
}

impl WriteStep {
    /// Writes these texts, and nothing is particular about it.
    pub fn plain(overlay: Option<Vec<u8>>, here: Option<Vec<u8>>, base: Vec<u8>, rule: SyncRule) -> WriteStep {
        let (read, conflicts, grown) = (base.clone(), Vec::new(), 0);
        WriteStep { overlay, here, base, read, rule, conflicts, grown, stale: None, own: None, intent: None }
    }
}

/// A text that was written from an old view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleText {
    pub here: Vec<u8>,
    /// The same with what its writer did not know.
    pub fresh: Vec<u8>,
    pub places: Vec<StalePlace>,
}

/// Three texts for the merge command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub base: Option<Vec<u8>>,
    pub overlay: Vec<u8>,
    pub here: Vec<u8>,
    pub kind: FileType,
}

impl Question {
    pub fn id(&self) -> QuestionId {
        (self.base.as_deref().map(Digest::of), Digest::of(&self.overlay), Digest::of(&self.here))
    }

    pub fn input(&self) -> MergeInput<'_> {
        let Question { base, overlay, here: workspace, kind } = self;
        MergeInput { base: base.as_deref(), overlay, workspace, kind: *kind, rule: Rule::Workspace }
    }
}

/// A part of a text that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingPart {
    pub why: String,
    /// The digest of the entries and their values, by which a person accepts them.
    pub digest: Digest,
    /// The digests of the parts that this one is made of.
    pub parts: Vec<Digest>,
}

impl WaitingPart {
    pub fn new(kind: FileType, here: &[u8], entries: &[EntryPath], why: String) -> WaitingPart {
        let values: Vec<String> =
            entries.iter().map(|entry| format!("{entry}={}", entry.value_in(kind, here))).collect();
        let digest = Digest::of(values.join("\n").as_bytes());
        WaitingPart { why, digest, parts: vec![digest] }
    }

    /// This part and another one as one.
    pub fn and(self, other: &WaitingPart) -> WaitingPart {
        let parts = [self.parts.as_slice(), &other.parts].concat();
        let all: Vec<String> = parts.iter().map(ToString::to_string).collect();
        let (why, digest) = (format!("{}; {}", self.why, other.why), Digest::of(all.join("\n").as_bytes()));
        WaitingPart { why, digest, parts }
    }
}
