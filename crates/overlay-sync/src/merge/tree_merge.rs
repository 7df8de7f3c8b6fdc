//! The merge of trees: objects by key, lists as their elements ask for, leaves as a whole.

use super::comments::Comments;
use super::lines::{self, Disputed};
use super::list;
use super::texts::{MergeConflict, MergeInput, MergedText, Rule, WHOLE};
use super::tree::{Members, Tree, join};

/// Merges texts by their trees; `None` when one of them has none. The result is the text of a line merge when that has
/// the merged tree, and otherwise one side's text, edited until it has that tree.
pub fn merge(input: &MergeInput<'_>) -> Option<MergedText> {
    let kind = input.kind;
    let (overlay, workspace) = (kind.tree(input.overlay)?, kind.tree(input.workspace)?);
    let base = match input.base {
        Some(bytes) => Some(kind.tree(bytes)?),
        None => None,
    };
    let mut merger = Merger { rule: input.rule, conflicts: Vec::new() };
    let tree = merger.merge("", base.as_ref(), Some(&overlay), Some(&workspace))?;
    let mut conflicts = merger.conflicts;
    let has_tree = |bytes: &[u8]| kind.tree(bytes).is_some_and(|parsed| parsed == tree);
    // A line merge keeps comments and layout of both sides, so it is taken when it has the merged tree.
    let wanted = Comments::wanted(kind, input.base.unwrap_or_default(), input.overlay, input.workspace);
    let serves = |merged: &MergedText| {
        merged.conflicts.is_empty() && has_tree(&merged.bytes) && !wanted.is_exceeded_by(&merged.bytes)
    };
    let by_lines = [Disputed::Decided, Disputed::Both, Disputed::BothSwapped].into_iter();
    if let Some(merged) = by_lines.map(|disputed| lines::merge_with(input, disputed)).find(serves) {
        return Some(MergedText { bytes: merged.bytes, conflicts });
    }
    // Otherwise one side's text is edited, preferably the overlay's: the one that loses the fewest comments that should
    // be there, after those that it lacks were carried to it.
    let mut sides = [(input.overlay, &overlay, input.workspace), (input.workspace, &workspace, input.overlay)];
    sides.sort_by_key(|(_, from, _)| **from != tree);
    let mut edited = sides.into_iter().filter_map(|(text, from, other)| {
        let bytes = if *from == tree { text.to_vec() } else { kind.rewrite(text, from, &tree, other)? };
        let carried = wanted.carried(&wanted.carried(&bytes, input.overlay), input.workspace);
        let lost = wanted.missing_in(&bytes);
        let serves = wanted.missing_in(&carried) < lost && !wanted.is_exceeded_by(&carried) && has_tree(&carried);
        let bytes = if serves { carried } else { bytes };
        Some((wanted.missing_in(&bytes), bytes))
    });
    // The second is not made if nothing is lost in the first: an edit of a large text takes time.
    let (lost, bytes) = match edited.next() {
        Some((0, bytes)) => (0, bytes),
        first => first.into_iter().chain(edited).min_by_key(|(lost, _)| *lost)?,
    };
    if lost > 0 {
        conflicts.push(MergeConflict { place: "comments".into(), kept: Rule::Overlay });
    }
    Some(MergedText { bytes, conflicts })
}

/// Whether an MCP server is started as well as reached at an address, or reached at two.
fn has_two_transports(server: &Members) -> bool {
    let transports = [&["command", "cmd", "args"][..], &["url"], &["uri"], &["httpUrl"], &["serverUrl"]];
    transports.iter().filter(|keys| keys.iter().any(|key| server.contains_key(*key))).count() > 1
}

/// How a merge decides, and the conflicts it had to decide.
struct Merger {
    rule: Rule,
    conflicts: Vec<MergeConflict>,
}

impl Merger {
    /// Merges what is at `path`. `None` means absent, for a key as well as for a result.
    fn merge(
        &mut self,
        path: &str,
        base: Option<&Tree>,
        overlay: Option<&Tree>,
        workspace: Option<&Tree>,
    ) -> Option<Tree> {
        if overlay == workspace || base == workspace {
            return overlay.cloned();
        }
        if base == overlay {
            return workspace.cloned();
        }
        match (overlay, workspace) {
            (Some(Tree::Object(o)), Some(Tree::Object(x))) => Some(self.objects(path, base, o, x)),
            (Some(Tree::Array(o)), Some(Tree::Array(x))) => Some(self.arrays(path, base, o, x)),
            (o, x) => {
                let kept = self.rule.of(o, x);
                self.conflict(path, kept);
                kept.pick(o, x).cloned()
            }
        }
    }

    fn objects(&mut self, path: &str, base: Option<&Tree>, overlay: &Members, workspace: &Members) -> Tree {
        let before = self.conflicts.len();
        let merged = self.members(path, base, overlay, workspace);
        let has_both = has_two_transports(&merged) && ![overlay, workspace].into_iter().any(has_two_transports);
        // The other members belong to what it says, so one side's are taken whole.
        let is_of_two_kinds = ["type", "provider"].into_iter().any(|key| {
            let [theirs, ours] =
                [overlay, workspace].map(|side| side.get(key).filter(|kind| matches!(kind, Tree::Leaf(_))));
            theirs.is_some()
                && ours.is_some()
                && theirs != ours
                && ![theirs, ours].contains(&base.and_then(|b| b.key(key)))
        });
        if has_both || is_of_two_kinds {
            self.conflicts.truncate(before);
            self.conflict(path, self.rule);
            return Tree::Object(self.rule.pick(overlay, workspace).clone());
        }
        Tree::Object(merged)
    }

    fn members(&mut self, path: &str, base: Option<&Tree>, overlay: &Members, workspace: &Members) -> Members {
        let added = workspace.keys().filter(|key| !overlay.contains_key(*key));
        let merged = overlay.keys().chain(added).filter_map(|key| {
            let base = base.and_then(|base| base.key(key));
            let tree = self.merge(&join(path, key), base, overlay.get(key), workspace.get(key))?;
            Some((key.clone(), tree))
        });
        merged.collect()
    }

    /// Records are matched by what identifies them, and each is merged. Other lists are sets or sequences.
    fn arrays(&mut self, path: &str, base: Option<&Tree>, overlay: &[Tree], workspace: &[Tree]) -> Tree {
        let lists = [base.and_then(Tree::items).map_or(&[][..], Vec::as_slice), overlay, workspace];
        let ids = list::identities(lists);
        let is_set = ids.is_some() || !list::is_sequence(path, &lists) && lists.iter().all(|l| list::are_distinct(l));
        let by_each = || if is_set { list::single_identities(lists) } else { lists.map(list::spelled) };
        // Records that have names of their own are no versions of one.
        let is_open = is_set && ids.is_none();
        let keys = ids.unwrap_or_else(by_each);
        let [base, o, x] =
            [0, 1, 2].map(|at| Members::from_iter(keys[at].iter().cloned().zip(lists[at].iter().cloned())));
        let mut left = self.members(path, Some(&Tree::Object(base)), &o, &x);
        if is_open {
            let [theirs, ours] = list::disputed(&keys);
            if !theirs.is_empty() {
                self.conflict(path, self.rule);
            }
            let lost = self.rule.pick(ours, theirs);
            left.retain(|key, _| !lost.contains(key));
        }
        match list::merged(is_set.then_some(&left), &keys) {
            Some(order) => Tree::Array(
                order.iter().filter_map(|key| left.get(key).or(o.get(key)).or(x.get(key)).cloned()).collect(),
            ),
            None => {
                self.conflict(path, self.rule);
                Tree::Array(self.rule.pick(overlay, workspace).to_vec())
            }
        }
    }

    fn conflict(&mut self, path: &str, kept: Rule) {
        let place = if path.is_empty() { WHOLE.to_owned() } else { path.to_owned() };
        self.conflicts.push(MergeConflict { place, kept });
    }
}
