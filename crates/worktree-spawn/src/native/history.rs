//! Whether a branch holds commits that another one lacks, computed in this process.

use std::collections::{HashMap, HashSet};

use gix::ObjectId;
use gix::revision::walk::Info;

use crate::native::patch::Patch;
use crate::native::{Attempt, Native};

/// How the commits of one branch relate to another branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Containment {
    /// All of them are reachable from the other branch.
    Merged,
    /// Each of them has a commit on the other branch that makes the same change.
    PatchEqual,
    /// One commit on the other branch makes the change that they make together.
    Squashed,
    /// The other branch lacks some of them.
    Missing,
}

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
        let kept = self.tips(&["refs/heads/", "refs/tags/", "refs/remotes/"]).ok()?;
        let head = self.repo.head_id().ok()?.detach();
        Some(self.commits([head], kept).ok()?.len())
    }

    /// Whether HEAD or any reference has commits that no remote has; none if only git can tell.
    pub fn has_unshared_commits(&self) -> Option<bool> {
        // The HEADs of its linked worktrees count too.
        if !self.repo.worktrees().ok()?.is_empty() {
            return None;
        }
        let shared = self.tips(&["refs/remotes/"]).ok()?;
        let mut own = self.tips(&["refs/"]).ok()?;
        own.push(self.repo.head_id().ok()?.detach());
        Some(!self.commits(own, shared).ok()?.is_empty())
    }

    /// The commits that the references with one of these prefixes point at.
    fn tips(&self, prefixes: &[&str]) -> Attempt<Vec<ObjectId>> {
        let references = self.repo.references()?;
        let mut tips = Vec::new();
        for prefix in prefixes {
            for reference in references.prefixed(*prefix)? {
                let id = reference?.into_fully_peeled_id()?;
                // A tag may point at a file.
                if id.header()?.kind().is_commit() {
                    tips.push(id.detach());
                }
            }
        }
        Ok(tips)
    }

    fn compare(&self, tip: ObjectId, into: ObjectId) -> Attempt<Containment> {
        let ours = self.commits([tip], [into])?;
        if ours.is_empty() {
            return Ok(Containment::Merged);
        }
        let theirs = self.commits([into], [tip])?;
        if theirs.is_empty() {
            return Ok(Containment::Missing);
        }
        let mut patches: HashMap<_, Vec<Patch>> = HashMap::new();
        for commit in theirs.iter().filter(|commit| commit.parent_ids.len() < 2) {
            let patch = self.patch(commit.parent_ids.first().copied(), commit.id)?;
            patches.entry(patch.paths()).or_default().push(patch);
        }
        let is_applied = |patch: &Patch| -> Attempt<bool> {
            for candidate in patches.get(&patch.paths()).into_iter().flatten() {
                if self.is_same_patch(patch, candidate)? {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        if self.is_each_applied(&ours, is_applied)? {
            return Ok(Containment::PatchEqual);
        }
        for base in self.bases(&ours)? {
            if is_applied(&self.patch(Some(base), tip)?)? {
                return Ok(Containment::Squashed);
            }
        }
        Ok(Containment::Missing)
    }

    /// Whether each of these commits is applied. A merge has no patch.
    fn is_each_applied(&self, commits: &[Info<'_>], is_applied: impl Fn(&Patch) -> Attempt<bool>) -> Attempt<bool> {
        for commit in commits {
            let parent = commit.parent_ids.first().copied();
            if commit.parent_ids.len() > 1 || !is_applied(&self.patch(parent, commit.id)?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The merge bases of a branch and another one, from the commits that only the branch has.
    fn bases(&self, ours: &[Info<'_>]) -> Attempt<Vec<ObjectId>> {
        let own: HashSet<ObjectId> = ours.iter().map(|commit| commit.id).collect();
        let parents = ours.iter().flat_map(|commit| &commit.parent_ids);
        let shared: HashSet<ObjectId> = parents.filter(|id| !own.contains(*id)).copied().collect();
        let mut bases = Vec::new();
        for base in &shared {
            let others = shared.iter().filter(|other| *other != base).copied();
            // One that another one contains is none.
            if !self.commits([*base], others)?.is_empty() {
                bases.push(*base);
            }
        }
        Ok(bases)
    }

    /// The commits reachable from `tips` and from none of `without`.
    fn commits(
        &self,
        tips: impl IntoIterator<Item = ObjectId>,
        without: impl IntoIterator<Item = ObjectId>,
    ) -> Attempt<Vec<Info<'_>>> {
        let walk = self.repo.rev_walk(tips).with_hidden(without).all()?;
        Ok(walk.collect::<Result<Vec<_>, _>>()?)
    }
}
