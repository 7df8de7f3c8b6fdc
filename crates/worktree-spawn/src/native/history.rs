//! Whether a branch holds commits that another one lacks, computed in this process. Comparing patches is left to git.

use std::collections::{BTreeSet, HashSet};

use gix::ObjectId;
use gix::bstr::BString;
use gix::diff::tree::Recorder;
use gix::diff::tree::recorder::Change;
use gix::revision::walk::Info;

use crate::native::{Attempt, Native};

/// How the commits of one branch relate to another branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Containment {
    /// All of them are reachable from the other branch.
    Merged,
    /// No commit on the other branch touches the same paths, so none of them was applied there.
    Missing,
    /// Commits on the other branch touch the same paths, so git has to compare the patches.
    Ask,
}

/// The number of commits above which git compares them.
const MANY: usize = 1000;

impl Native {
    /// How the commits of `tip` relate to the branch `into`; none if only git can tell.
    pub fn containment(&self, tip: &str, into: &str) -> Option<Containment> {
        let into = self.repo.try_find_reference(&format!("refs/heads/{into}")).ok()?;
        let Some(mut into) = into else { return Some(Containment::Missing) };
        let into = into.peel_to_id().ok()?.detach();
        self.compare(ObjectId::from_hex(tip.as_bytes()).ok()?, into).ok()
    }

    /// The number of commits of HEAD that no branch, tag or remote has; none if only git can tell.
    pub fn loose_commits(&self) -> Option<usize> {
        let references = self.repo.references().ok()?;
        let mut kept = Vec::new();
        for prefix in ["refs/heads/", "refs/tags/", "refs/remotes/"] {
            for reference in references.prefixed(prefix).ok()? {
                let id = reference.ok()?.into_fully_peeled_id().ok()?;
                // A tag may point at a file.
                if id.header().ok()?.kind().is_commit() {
                    kept.push(id.detach());
                }
            }
        }
        let head = self.repo.head_id().ok()?.detach();
        Some(self.commits(head, kept).ok()?.len())
    }

    fn compare(&self, tip: ObjectId, into: ObjectId) -> Attempt<Containment> {
        let ours = self.commits(tip, [into])?;
        if ours.is_empty() {
            return Ok(Containment::Merged);
        }
        let theirs = self.commits(into, [tip])?;
        if theirs.is_empty() {
            return Ok(Containment::Missing);
        }
        if ours.len() > MANY || theirs.len() > MANY {
            return Ok(Containment::Ask);
        }
        let mut touched = HashSet::new();
        for commit in theirs.iter().filter(|commit| commit.parent_ids.len() < 2) {
            touched.insert(self.paths(commit.parent_ids.first().copied(), commit.id)?);
        }
        // Equal patches touch the same paths. A merge has no patch.
        let mut is_each_there = true;
        for commit in &ours {
            let parent = commit.parent_ids.first().copied();
            is_each_there &= commit.parent_ids.len() < 2 && touched.contains(&self.paths(parent, commit.id)?);
        }
        let own: HashSet<ObjectId> = ours.iter().map(|commit| commit.id).collect();
        let parents = ours.iter().flat_map(|commit| &commit.parent_ids);
        let bases: HashSet<ObjectId> = parents.filter(|id| !own.contains(*id)).copied().collect();
        // With several bases, only git knows which one counts; without one, there is nothing to compare.
        let is_squashed = match (bases.iter().next(), bases.len()) {
            (Some(base), 1) => touched.contains(&self.paths(Some(*base), tip)?),
            (_, 0) => false,
            _ => true,
        };
        Ok(if is_each_there || is_squashed { Containment::Ask } else { Containment::Missing })
    }

    /// The commits reachable from `tip` and from none of `without`.
    fn commits(&self, tip: ObjectId, without: impl IntoIterator<Item = ObjectId>) -> Attempt<Vec<Info<'_>>> {
        let walk = self.repo.rev_walk([tip]).with_hidden(without).all()?;
        Ok(walk.collect::<Result<Vec<_>, _>>()?)
    }

    /// The paths of the files that differ between two commits, or between the empty tree and one.
    fn paths(&self, from: Option<ObjectId>, to: ObjectId) -> Attempt<BTreeSet<BString>> {
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
        let changed = recorder.records.into_iter().map(|change| match change {
            Change::Addition { entry_mode, path, .. }
            | Change::Deletion { entry_mode, path, .. }
            | Change::Modification { entry_mode, path, .. } => (entry_mode, path),
        });
        Ok(changed.filter(|(mode, _)| !mode.is_tree()).map(|(_, path)| path).collect())
    }
}
