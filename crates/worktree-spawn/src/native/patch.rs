//! What a commit changes, to be compared with what another one changes, as `git patch-id` does. Unlike there, white space
//! counts, and a change counts only if its place in the file is the only one that it fits.

use std::collections::BTreeMap;
use std::ops::Range;

use gix::ObjectId;
use gix::bstr::BString;
use gix::diff::blob::{Algorithm, Diff, InternedInput};
use gix::diff::tree::Recorder;
use gix::diff::tree::recorder::Change;
use gix::objs::tree::EntryMode;

use crate::native::{Attempt, Native};

/// The lines around a change that belong to it, as in `git diff`.
const CONTEXT: usize = 3;

/// The length of a file's beginning in which a NUL makes it binary, as in git's `xdiff-interface.c`.
const FIRST: usize = 8000;

/// A file in a commit.
type File = (EntryMode, ObjectId);

/// A file before and after.
type Pair = (Option<File>, Option<File>);

/// The files that differ between two commits.
#[derive(Default)]
pub(super) struct Patch(BTreeMap<BString, Pair>);

/// A changed region: the lines before it, those taken away, those added, and the lines after it.
type Hunk = [Vec<Vec<u8>>; 4];

impl Patch {
    /// The paths of the files that differ, in order.
    pub(super) fn paths(&self) -> Vec<BString> {
        self.0.keys().cloned().collect()
    }
}

impl Native {
    /// The patch between two commits, or between the empty tree and one.
    pub(super) fn patch(&self, from: Option<ObjectId>, to: ObjectId) -> Attempt<Patch> {
        let from = match from {
            Some(id) => self.repo.find_commit(id)?.tree()?,
            None => self.repo.empty_tree(),
        };
        let to = self.repo.find_commit(to)?.tree()?;
        let (mut recorder, objects) = (Recorder::default(), &self.repo.objects);
        let state = gix::diff::tree::State::default();
        gix::diff::tree(
            gix::objs::TreeRefIter::from_bytes(&from.data, self.repo.object_hash()),
            gix::objs::TreeRefIter::from_bytes(&to.data, self.repo.object_hash()),
            state,
            objects,
            &mut recorder,
        )?;
        let mut patch = Patch::default();
        for change in recorder.records {
            let (path, before, after) = match change {
                Change::Addition { entry_mode, oid, path, .. } => (path, None, Some((entry_mode, oid))),
                Change::Deletion { entry_mode, oid, path, .. } => (path, Some((entry_mode, oid)), None),
                Change::Modification { previous_entry_mode, previous_oid, entry_mode, oid, path } => {
                    (path, Some((previous_entry_mode, previous_oid)), Some((entry_mode, oid)))
                }
            };
            let [before, after] = [before, after].map(|file| file.filter(|(mode, _)| !mode.is_tree()));
            if before.is_some() || after.is_some() {
                // A path that was a directory has two records.
                let pair = patch.0.entry(path).or_default();
                *pair = (pair.0.or(before), pair.1.or(after));
            }
        }
        Ok(patch)
    }

    /// Whether two patches make the same change, perhaps in different versions of the files.
    pub(super) fn is_same_patch(&self, one: &Patch, other: &Patch) -> Attempt<bool> {
        if one.0.len() != other.0.len() {
            return Ok(false);
        }
        for ((path, pair), (other_path, other_pair)) in one.0.iter().zip(&other.0) {
            if path != other_path || (pair != other_pair && !self.is_same_change(*pair, *other_pair)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_same_change(&self, one: Pair, other: Pair) -> Attempt<bool> {
        let modes = |pair: Pair| (pair.0.map(|file| file.0), pair.1.map(|file| file.0));
        if modes(one) != modes(other) {
            return Ok(false);
        }
        let Some(hunks) = self.hunks(one)? else { return Ok(false) };
        Ok(self.hunks(other)?.is_some_and(|others| hunks == others))
    }

    /// The changed regions of a file. None if it is not text, or if a region occurs more than once in the text before:
    /// then the same change may have been made at another place.
    fn hunks(&self, pair: Pair) -> Attempt<Option<Vec<Hunk>>> {
        let (Some(before), Some(after)) = (self.text(pair.0)?, self.text(pair.1)?) else { return Ok(None) };
        let input = InternedInput::new(before.as_slice(), after.as_slice());
        let mut diff = Diff::compute(Algorithm::Myers, &input);
        diff.postprocess_lines(&input);
        let lines = |tokens: &[_], range: Range<usize>| {
            tokens[range].iter().map(|token| input.interner[*token].to_vec()).collect::<Vec<_>>()
        };
        let mut hunks = Vec::new();
        for hunk in diff.hunks() {
            let (from, to) = (hunk.before.start as usize, hunk.before.end as usize);
            let (begin, end) = (from.saturating_sub(CONTEXT), (to + CONTEXT).min(input.before.len()));
            let region = &input.before[begin..end];
            let is_repeated = |region: &[_]| input.before.windows(region.len()).filter(|at| *at == region).count() > 1;
            if !region.is_empty() && is_repeated(region) {
                return Ok(None);
            }
            hunks.push([
                lines(&input.before, begin..from),
                lines(&input.before, from..to),
                lines(&input.after, hunk.after.start as usize..hunk.after.end as usize),
                lines(&input.before, to..end),
            ]);
        }
        Ok(Some(hunks))
    }

    /// The content of a file, which is empty if there is none; none if it is not text.
    fn text(&self, file: Option<File>) -> Attempt<Option<Vec<u8>>> {
        let Some((mode, id)) = file else { return Ok(Some(Vec::new())) };
        if mode.is_commit() {
            return Ok(None);
        }
        let data = self.repo.find_object(id)?.detach().data;
        let is_text = !data.iter().take(FIRST).any(|byte| *byte == 0);
        Ok(is_text.then_some(data))
    }
}
