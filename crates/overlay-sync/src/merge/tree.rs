//! The merge of structures: objects per key, arrays as sets where their elements are distinct, leaves
//! whole. The formats turn text into trees, and the merged tree back into edits of a text.

use std::collections::{HashMap, HashSet};

use super::comments::Comments;
use super::lines::{self, Disputed};
use super::texts::{MergeConflict, MergeInput, MergedText, Rule, WHOLE};

/// A parsed document, its leaves in a canonical spelling.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    Leaf(String),
    Array(Vec<Tree>),
    /// Keys in the order of the text; no key twice.
    Object(Vec<(String, Tree)>),
}

impl Tree {
    pub fn key(&self, key: &str) -> Option<&Tree> {
        match self {
            Tree::Object(entries) => entries.iter().find(|(k, _)| k == key).map(|(_, tree)| tree),
            _ => None,
        }
    }

    /// Equal but for the order of keys: what a program that reads it sees.
    pub fn same(&self, other: &Tree) -> bool {
        match (self, other) {
            (Tree::Leaf(a), Tree::Leaf(b)) => a == b,
            (Tree::Array(a), Tree::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
            (Tree::Object(a), Tree::Object(b)) if a.len() != b.len() => false,
            // Most often they are in one order; else they are looked up, of which an object may have thousands.
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

    /// The same with the keys of objects in the order in which `other` has them, others behind.
    pub fn in_order_of(&self, other: &Tree) -> Tree {
        let (Tree::Object(entries), Tree::Object(order)) = (self, other) else { return self.clone() };
        let (own, wanted) = (by_key(entries), by_key(order));
        let known = order.iter().filter_map(|(key, old)| Some((key.clone(), own.get(key.as_str())?.in_order_of(old))));
        let new = entries.iter().filter(|(key, _)| !wanted.contains_key(key.as_str())).cloned();
        Tree::Object(known.chain(new).collect())
    }

    /// `path = value` of every leaf; elements of arrays carry no position, for they are sets.
    pub fn leaves(&self) -> Vec<String> {
        let mut leaves = Vec::new();
        self.collect("", &mut leaves);
        leaves
    }

    /// All of it in one line, each object's keys in order: equal for what a program reads alike.
    pub fn spelt(&self) -> String {
        match self {
            Tree::Leaf(value) => value.clone(),
            Tree::Array(items) => format!("[{}]", items.iter().map(Tree::spelt).collect::<Vec<_>>().join(",")),
            Tree::Object(entries) => {
                let mut members: Vec<String> = entries
                    .iter()
                    .map(|(key, tree)| format!("{}:{}", serde_json::Value::from(key.as_str()), tree.spelt()))
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

/// The entries of an object, to be looked up.
pub fn by_key(entries: &[(String, Tree)]) -> HashMap<&str, &Tree> {
    entries.iter().map(|(key, tree)| (key.as_str(), tree)).collect()
}

/// Whether an array holds this element.
pub fn has(list: &[Tree], item: &Tree) -> bool {
    list.iter().any(|other| other.same(item))
}

/// A key path as it is told: `permissions.allow`.
pub fn join(path: &str, key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    let key = if bare { key.to_owned() } else { serde_json::Value::from(key).to_string() };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// Merges texts by the trees that `parse` finds in them; none when one of them has none. The text is that
/// of a line merge when it says what was decided, else one of the sides as `write` edits it: a text that
/// says the first tree, so that it says the second, what is new standing in the other text.
pub fn merge(
    input: &MergeInput<'_>,
    parse: impl Fn(&[u8]) -> Option<Tree>,
    write: impl Fn(&[u8], &Tree, &Tree, &[u8]) -> Option<Vec<u8>>,
) -> Option<MergedText> {
    let (overlay, workspace) = (parse(input.overlay)?, parse(input.workspace)?);
    let base = match input.base {
        Some(bytes) => Some(parse(bytes)?),
        None => None,
    };
    let mut merger = Merger { rule: input.rule, conflicts: Vec::new() };
    let tree = merger.merge("", base.as_ref(), Some(&overlay), Some(&workspace))?;
    let mut conflicts = merger.conflicts;
    let says = |bytes: &[u8]| parse(bytes).is_some_and(|said| said.same(&tree));
    // Lines keep comments and layout of both sides, when they come to the same.
    let swapped = MergeInput { overlay: input.workspace, workspace: input.overlay, ..*input };
    let by_lines =
        [lines::merge(input), lines::merge_with(input, Disputed::Both), lines::merge_with(&swapped, Disputed::Both)];
    let wanted = Comments::wanted(input);
    let serves = |merged: &MergedText| {
        merged.conflicts.is_empty() && says(&merged.bytes) && !wanted.is_exceeded_by(&merged.bytes)
    };
    if let Some(merged) = by_lines.into_iter().find(serves) {
        return Some(MergedText { bytes: merged.bytes, conflicts });
    }
    // Else one side's text is edited: the one that loses the fewest comments that should be there.
    let edited = |text: &[u8], from: &Tree, other: &[u8]| {
        let is_whole = tree.same(from);
        let bytes = if is_whole { Some(text.to_vec()) } else { write(text, from, &tree, other) };
        bytes.filter(|bytes| says(bytes)).map(|bytes| (wanted.missing_in(&bytes), !is_whole, bytes))
    };
    let first = edited(input.overlay, &overlay, input.workspace);
    // Only a text that says it all already, or one that keeps more comments, is better than the overlay's.
    let is_good =
        first.as_ref().is_some_and(|(lost, is_edited, _)| *lost == 0 && !(*is_edited && tree.same(&workspace)));
    let second = if is_good { None } else { edited(input.workspace, &workspace, input.overlay) };
    let sides = [first, second].into_iter().flatten();
    let (lost, _, bytes) = sides.min_by_key(|(lost, is_edited, _)| (*lost, *is_edited))?;
    if lost > 0 {
        conflicts.push(MergeConflict { place: "comments".into(), kept: Rule::Overlay });
    }
    Some(MergedText { bytes, conflicts })
}

/// How a merge decides, and what it had to decide.
struct Merger {
    rule: Rule,
    conflicts: Vec<MergeConflict>,
}

impl Merger {
    /// Merges what stands at `path`; `None` is absence, of a key as well as of a result.
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
                // Delete against modify: the modification stays.
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
        let before = match base {
            Some(Tree::Object(entries)) => by_key(entries),
            _ => HashMap::new(),
        };
        let (ours, theirs) = (by_key(overlay), by_key(workspace));
        let mut merged = Vec::new();
        let added = workspace.iter().filter(|(key, _)| !ours.contains_key(key.as_str()));
        for (key, _) in overlay.iter().chain(added) {
            let of = |side: &HashMap<&str, &'_ Tree>| side.get(key.as_str()).copied().cloned();
            let (base, o, x) = (before.get(key.as_str()).copied(), of(&ours), of(&theirs));
            if let Some(tree) = self.merge(&join(path, key), base, o.as_ref(), x.as_ref()) {
                merged.push((key.clone(), tree));
            }
        }
        Tree::Object(merged)
    }

    /// Distinct elements are a set: what stays is in the overlay's order, what the workspace adds
    /// follows. Others are a sequence, and two different ones a conflict.
    fn arrays(&mut self, path: &str, base: Option<&Tree>, overlay: &[Tree], workspace: &[Tree]) -> Option<Tree> {
        let empty = Vec::new();
        let base = match base {
            Some(Tree::Array(items)) => items,
            _ => &empty,
        };
        let spelt = |list: &[Tree]| -> HashSet<String> { list.iter().map(Tree::spelt).collect() };
        let sets = [spelt(base), spelt(overlay), spelt(workspace)];
        let is_set = [base.len(), overlay.len(), workspace.len()] == [sets[0].len(), sets[1].len(), sets[2].len()];
        if !is_set {
            self.conflict(path, self.rule);
            return Some(Tree::Array(self.rule.pick(overlay, workspace).to_vec()));
        }
        let [in_base, in_overlay, in_workspace] = sets.map(|set| move |item: &Tree| set.contains(&item.spelt()));
        let stays = |item: &&Tree| in_workspace(item) || !in_base(item);
        let added = workspace.iter().filter(|item| !in_base(item) && !in_overlay(item));
        Some(Tree::Array(overlay.iter().filter(stays).chain(added).cloned().collect()))
    }

    fn conflict(&mut self, path: &str, kept: Rule) {
        let place = if path.is_empty() { WHOLE.to_owned() } else { path.to_owned() };
        self.conflicts.push(MergeConflict { place, kept });
    }
}
