//! The merge of trees: objects by key, arrays as sets when their elements are distinct, leaves as a whole. The formats
//! parse texts into trees, and write the merged tree as edits of a text.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::comments::Comments;
use super::lines::{self, Disputed};
use super::texts::{MergeConflict, MergeInput, MergedText, Rule, WHOLE};

/// A parsed document. Leaves have a canonical spelling.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Tree {
    Leaf(String),
    Array(Vec<Tree>),
    /// Keys in the order of the text; no key occurs twice.
    Object(Vec<(String, Tree)>),
}

impl Tree {
    pub fn key(&self, key: &str) -> Option<&Tree> {
        match self {
            Tree::Object(entries) => entries.iter().find(|(k, _)| k == key).map(|(_, tree)| tree),
            _ => None,
        }
    }

    /// Whether a program that reads both sees no difference: they are equal except for the order of keys.
    pub fn same(&self, other: &Tree) -> bool {
        match (self, other) {
            (Tree::Leaf(a), Tree::Leaf(b)) => a == b,
            (Tree::Array(a), Tree::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
            (Tree::Object(a), Tree::Object(b)) if a.len() != b.len() => false,
            // The keys are mostly in the same order. Otherwise they are looked up in a map, because an object may have
            // thousands.
            (Tree::Object(a), Tree::Object(b)) if a.iter().zip(b).all(|((x, _), (y, _))| x == y) => {
                a.iter().zip(b).all(|((_, a), (_, b))| a.same(b))
            }
            (Tree::Object(a), Tree::Object(b)) => {
                let known = by_key(b);
                a.iter().all(|(key, tree)| known.get(key.as_str()).is_some_and(|o| o.same(tree)))
            }
            _ => false,
        }
    }

    /// The same tree with its keys in the order of `other`, and further keys at the end.
    pub fn in_order_of(&self, other: &Tree) -> Tree {
        let (Tree::Object(entries), Tree::Object(order)) = (self, other) else { return self.clone() };
        let (own, wanted) = (by_key(entries), by_key(order));
        let known = order.iter().filter_map(|(key, old)| Some((key.clone(), own.get(key.as_str())?.in_order_of(old))));
        let new = entries.iter().filter(|(key, _)| !wanted.contains_key(key.as_str())).cloned();
        Tree::Object(known.chain(new).collect())
    }

    /// Every leaf as `path = value`. Elements of arrays have no position, because arrays are sets.
    pub fn leaves(&self) -> Vec<String> {
        let mut leaves = Vec::new();
        self.collect("", &mut leaves);
        leaves
    }

    /// How many leaves there are.
    pub fn count(&self) -> usize {
        match self {
            Tree::Array(items) => items.iter().map(Tree::count).sum::<usize>().max(1),
            Tree::Object(entries) => entries.iter().map(|(_, tree)| tree.count()).sum::<usize>().max(1),
            Tree::Leaf(_) => 1,
        }
    }

    /// How many of the [`leaves`](Self::leaves) another tree does not have. Only the leaves of arrays have to be
    /// converted to strings for this.
    pub fn count_gone(&self, other: Option<&Tree>) -> usize {
        match (self, other) {
            (_, Some(other)) if self.same(other) => 0,
            (Tree::Object(was), Some(Tree::Object(now))) if !was.is_empty() => {
                let now = by_key(now);
                was.iter().map(|(key, tree)| tree.count_gone(member(&now, key))).sum()
            }
            (Tree::Array(was), Some(other @ Tree::Array(_))) if !was.is_empty() => {
                let now: HashSet<String> = other.leaves().into_iter().collect();
                self.leaves().iter().filter(|leaf| !now.contains(*leaf)).count()
            }
            _ => self.count(),
        }
    }

    /// The whole tree in one line with sorted keys: equal trees are spelled the same.
    pub fn spelling(&self) -> String {
        match self {
            Tree::Leaf(value) => value.clone(),
            Tree::Array(items) => format!("[{}]", items.iter().map(Tree::spelling).collect::<Vec<_>>().join(",")),
            Tree::Object(entries) => {
                let mut members: Vec<String> = entries
                    .iter()
                    .map(|(key, tree)| format!("{}:{}", serde_json::Value::from(key.as_str()), tree.spelling()))
                    .collect();
                members.sort();
                format!("{{{}}}", members.join(","))
            }
        }
    }

    fn collect(&self, path: &str, leaves: &mut Vec<String>) {
        match self {
            Tree::Leaf(value) => leaves.push(format!("{path} = {value}")),
            Tree::Array(items) if items.is_empty() => leaves.push(format!("{path} = []")),
            Tree::Array(items) => items.iter().for_each(|item| item.collect(&format!("{path}[]"), leaves)),
            Tree::Object(entries) if entries.is_empty() => leaves.push(format!("{path} = {{}}")),
            Tree::Object(entries) => entries.iter().for_each(|(key, tree)| tree.collect(&join(path, key), leaves)),
        }
    }
}

/// The entries of an object by their keys. An object may have thousands.
pub type Members<'t> = HashMap<&'t str, &'t Tree>;

pub fn by_key(entries: &[(String, Tree)]) -> Members<'_> {
    entries.iter().map(|(key, tree)| (key.as_str(), tree)).collect()
}

/// The entries of a tree by their keys; empty if the tree is not an object.
pub fn members(tree: Option<&Tree>) -> Members<'_> {
    if let Some(Tree::Object(entries)) = tree { by_key(entries) } else { Members::new() }
}

pub fn member<'t>(members: &Members<'t>, key: &str) -> Option<&'t Tree> {
    members.get(key).copied()
}

/// The elements of an array as a set. An array may have thousands.
pub struct ItemSet(HashSet<String>);

impl ItemSet {
    pub fn of(list: &[Tree]) -> ItemSet {
        ItemSet(list.iter().map(Tree::spelling).collect())
    }

    pub fn has(&self, item: &Tree) -> bool {
        self.0.contains(&item.spelling())
    }
}

/// A key path as users see it: `permissions.allow`.
pub fn join(path: &str, key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    let key = if bare { key.to_owned() } else { serde_json::Value::from(key).to_string() };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// Merges texts by the trees that `parse` finds in them; `None` when one of them cannot be parsed. The result is the
/// text of a line merge when that has the merged tree, and otherwise one side's text as `write` edits it. `write` takes
/// a text, its tree, the tree that it is to have, and the other text.
pub fn merge(
    input: &MergeInput<'_>,
    parse: impl Fn(&[u8]) -> Option<Rc<Tree>>,
    write: impl Fn(&[u8], &Tree, &Tree, &[u8]) -> Option<Vec<u8>>,
) -> Option<MergedText> {
    let (overlay, workspace) = (parse(input.overlay)?, parse(input.workspace)?);
    let base = match input.base {
        Some(bytes) => Some(parse(bytes)?),
        None => None,
    };
    let mut merger = Merger { rule: input.rule, conflicts: Vec::new() };
    let tree = merger.merge("", base.as_deref(), Some(&overlay), Some(&workspace))?;
    let mut conflicts = merger.conflicts;
    let is_result = |bytes: &[u8]| parse(bytes).is_some_and(|parsed| parsed.same(&tree));
    // A line merge keeps comments and layout of both sides, so it is taken when it has the merged tree.
    let compared = lines::compare(input);
    let by_lines = [Disputed::Decided, Disputed::Both, Disputed::BothSwapped].into_iter();
    let wanted = Comments::wanted(input);
    let serves = |merged: &MergedText| {
        merged.conflicts.is_empty() && is_result(&merged.bytes) && !wanted.is_exceeded_by(&merged.bytes)
    };
    if let Some(merged) = by_lines.map(|disputed| lines::resolve(input, &compared, disputed)).find(serves) {
        return Some(MergedText { bytes: merged.bytes, conflicts });
    }
    // Otherwise one side's text is edited: the one that loses the fewest comments that should be there.
    let edited = |text: &[u8], from: &Tree, other: &[u8]| {
        let is_whole = tree.same(from);
        let bytes = if is_whole { Some(text.to_vec()) } else { write(text, from, &tree, other) };
        bytes.filter(|bytes| is_result(bytes)).map(|bytes| (wanted.missing_in(&bytes), !is_whole, bytes))
    };
    let first = edited(input.overlay, &overlay, input.workspace);
    // The overlay's text is preferred, unless the workspace's has the merged tree already or keeps more comments.
    let is_good =
        first.as_ref().is_some_and(|(lost, is_edited, _)| *lost == 0 && !(*is_edited && tree.same(&workspace)));
    let second = if is_good { None } else { edited(input.workspace, &workspace, input.overlay) };
    // The comments that a side lacks are carried to it where they belong.
    let complete = |(lost, is_edited, bytes): (usize, bool, Vec<u8>)| {
        let carried = || wanted.carried(&wanted.carried(&bytes, input.overlay), input.workspace);
        let serves = |text: &Vec<u8>| is_result(text) && wanted.missing_in(text) < lost && !wanted.is_exceeded_by(text);
        match (lost > 0).then(carried).filter(serves) {
            Some(carried) => (wanted.missing_in(&carried), is_edited, carried),
            None => (lost, is_edited, bytes),
        }
    };
    let sides = [first, second].into_iter().flatten().map(complete);
    let (lost, _, bytes) = sides.min_by_key(|(lost, is_edited, _)| (*lost, *is_edited))?;
    if lost > 0 {
        conflicts.push(MergeConflict { place: "comments".into(), kept: Rule::Overlay });
    }
    Some(MergedText { bytes, conflicts })
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
        let same = |a: Option<&Tree>, b: Option<&Tree>| match (a, b) {
            (Some(a), Some(b)) => a.same(b),
            (None, None) => true,
            _ => false,
        };
        if same(overlay, workspace) || same(base, workspace) {
            return overlay.cloned();
        }
        if same(base, overlay) {
            return workspace.cloned();
        }
        match (overlay, workspace) {
            (Some(Tree::Object(o)), Some(Tree::Object(x))) => Some(self.objects(path, base, o, x)),
            (Some(Tree::Array(o)), Some(Tree::Array(x))) => self.arrays(path, base, o, x),
            (o, x) => {
                // In a conflict between a deletion and a change the change is kept.
                let kept = match (o, x) {
                    _ if self.rule == Rule::Person => Rule::Person,
                    (Some(_), None) => Rule::Overlay,
                    (None, Some(_)) => Rule::Workspace,
                    _ => self.rule,
                };
                self.conflict(path, kept);
                kept.pick(o, x).cloned()
            }
        }
    }

    fn objects(
        &mut self,
        path: &str,
        base: Option<&Tree>,
        overlay: &[(String, Tree)],
        workspace: &[(String, Tree)],
    ) -> Tree {
        let before = members(base);
        let (ours, theirs) = (by_key(overlay), by_key(workspace));
        let mut merged = Vec::new();
        let added = workspace.iter().filter(|(key, _)| !ours.contains_key(key.as_str()));
        for (key, _) in overlay.iter().chain(added) {
            let [base, ours, theirs] = [&before, &ours, &theirs].map(|side| member(side, key));
            if let Some(tree) = self.merge(&join(path, key), base, ours, theirs) {
                merged.push((key.clone(), tree));
            }
        }
        Tree::Object(merged)
    }

    /// Arrays with distinct elements are sets: elements that stay keep the overlay's order, and the workspace's
    /// additions follow. Any other array is a sequence, and two different ones are a conflict.
    fn arrays(&mut self, path: &str, base: Option<&Tree>, overlay: &[Tree], workspace: &[Tree]) -> Option<Tree> {
        let empty = Vec::new();
        let base = match base {
            Some(Tree::Array(items)) => items,
            _ => &empty,
        };
        let spellings = |list: &[Tree]| -> HashSet<String> { list.iter().map(Tree::spelling).collect() };
        let sets = [spellings(base), spellings(overlay), spellings(workspace)];
        let is_set = [base.len(), overlay.len(), workspace.len()] == [sets[0].len(), sets[1].len(), sets[2].len()];
        if !is_set {
            self.conflict(path, self.rule);
            return Some(Tree::Array(self.rule.pick(overlay, workspace).to_vec()));
        }
        let [in_base, in_overlay, in_workspace] = sets.map(|set| move |item: &Tree| set.contains(&item.spelling()));
        let stays = |item: &&Tree| in_workspace(item) || !in_base(item);
        let added = workspace.iter().filter(|item| !in_base(item) && !in_overlay(item));
        Some(Tree::Array(overlay.iter().filter(stays).chain(added).cloned().collect()))
    }

    fn conflict(&mut self, path: &str, kept: Rule) {
        let place = if path.is_empty() { WHOLE.to_owned() } else { path.to_owned() };
        self.conflicts.push(MergeConflict { place, kept });
    }
}
