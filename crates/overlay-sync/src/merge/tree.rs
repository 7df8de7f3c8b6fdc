//! The merge of trees: objects by key, arrays as sets when their elements are distinct, leaves as a whole. The formats
//! parse texts into trees, and write the merged tree as edits of a text.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use indexmap::IndexMap;

use super::comments::Comments;
use super::lines::{self, Disputed};
use super::texts::{MergeConflict, MergeInput, MergedText, Rule, WHOLE};

/// The entries of an object, in the order of the text. An object may have thousands.
pub type Members = IndexMap<String, Tree>;

/// A parsed document. Leaves have a canonical spelling. Two trees are equal if a program that reads both sees no
/// difference: the order of keys does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    Leaf(String),
    Array(Vec<Tree>),
    Object(Members),
}

impl Hash for Tree {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.spelling().hash(state);
    }
}

impl Tree {
    pub fn members(&self) -> Option<&Members> {
        if let Tree::Object(members) = self { Some(members) } else { None }
    }

    pub fn items(&self) -> Option<&Vec<Tree>> {
        if let Tree::Array(items) = self { Some(items) } else { None }
    }

    pub fn key(&self, key: &str) -> Option<&Tree> {
        self.members()?.get(key)
    }

    /// What is at the paths that `is_in` covers, if there is something, and what is not. The last part of a path may be
    /// an element of an array, by its name.
    pub fn parted(&self, is_in: &dyn Fn(&[String]) -> bool) -> (Option<Tree>, Option<Tree>) {
        self.parted_below(&mut Vec::new(), is_in)
    }

    fn parted_below(&self, path: &mut Vec<String>, is_in: &dyn Fn(&[String]) -> bool) -> (Option<Tree>, Option<Tree>) {
        if is_in(path) {
            return (Some(self.clone()), None);
        }
        match self {
            Tree::Leaf(_) => (None, Some(self.clone())),
            Tree::Array(items) => {
                let is_item_in = |item: &Tree| is_in(&[path.as_slice(), &[item.name()]].concat());
                let (inside, outside): (Vec<Tree>, Vec<Tree>) = items.iter().cloned().partition(is_item_in);
                (Some(inside).filter(|items| !items.is_empty()).map(Tree::Array), Some(Tree::Array(outside)))
            }
            Tree::Object(members) => {
                let (mut inside, mut outside) = (Members::new(), Members::new());
                for (key, tree) in members {
                    path.push(key.clone());
                    let (one, other) = tree.parted_below(path, is_in);
                    path.pop();
                    inside.extend(one.map(|tree| (key.clone(), tree)));
                    outside.extend(other.map(|tree| (key.clone(), tree)));
                }
                (Some(inside).filter(|all| !all.is_empty()).map(Tree::Object), Some(Tree::Object(outside)))
            }
        }
    }

    /// This tree with what it lacks of another one. Its own values stay, but a leaf does not take the place of an object
    /// or array, and arrays begin with the elements of the other tree.
    pub fn with(&self, other: &Tree) -> Tree {
        match (self, other) {
            (Tree::Object(own), Tree::Object(more)) => {
                let mut members = own.clone();
                for (key, tree) in more {
                    let with = own.get(key).map_or_else(|| tree.clone(), |own| own.with(tree));
                    members.insert(key.clone(), with);
                }
                Tree::Object(members)
            }
            (Tree::Array(own), Tree::Array(more)) => {
                let [in_own, in_more] = [own, more].map(|items| items.iter().collect::<HashSet<_>>());
                if in_more.is_subset(&in_own) {
                    return self.clone();
                }
                let added = own.iter().filter(|item| !in_more.contains(item));
                Tree::Array(more.iter().chain(added).cloned().collect())
            }
            (_, Tree::Leaf(_)) => self.clone(),
            _ => other.clone(),
        }
    }

    /// The name of an array's element: the text of a string, the canonical spelling of anything else.
    pub fn name(&self) -> String {
        match self {
            Tree::Leaf(leaf) => serde_json::from_str(leaf).unwrap_or_else(|_| leaf.clone()),
            _ => self.spelling(),
        }
    }

    /// Every leaf as `path = value`. Elements of arrays have no position, because arrays are sets.
    pub fn leaves(&self) -> Vec<String> {
        let mut leaves = Vec::new();
        self.collect("", &mut leaves);
        leaves
    }

    fn collect(&self, path: &str, leaves: &mut Vec<String>) {
        match self {
            Tree::Leaf(value) => leaves.push(format!("{path} = {value}")),
            Tree::Array(items) if items.is_empty() => leaves.push(format!("{path} = []")),
            Tree::Array(items) => items.iter().for_each(|item| item.collect(&format!("{path}[]"), leaves)),
            Tree::Object(members) if members.is_empty() => leaves.push(format!("{path} = {{}}")),
            Tree::Object(members) => members.iter().for_each(|(key, tree)| tree.collect(&join(path, key), leaves)),
        }
    }

    /// The whole tree in one line with sorted keys: equal trees are spelled the same.
    pub fn spelling(&self) -> String {
        match self {
            Tree::Leaf(value) => value.clone(),
            Tree::Array(items) => format!("[{}]", items.iter().map(Tree::spelling).collect::<Vec<_>>().join(",")),
            Tree::Object(members) => {
                let spelled = members.iter().map(|(key, tree)| format!("{}:{}", quoted(key), tree.spelling()));
                let mut spelled: Vec<String> = spelled.collect();
                spelled.sort();
                format!("{{{}}}", spelled.join(","))
            }
        }
    }
}

/// A string as JSON spells it.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A key path as users see it: `permissions.allow`.
pub fn join(path: &str, key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    let key = if bare { key.to_owned() } else { quoted(key) };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

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
    let sides = [(input.overlay, &overlay, input.workspace), (input.workspace, &workspace, input.overlay)];
    let edited = sides.into_iter().filter_map(|(text, from, other)| {
        let bytes = if *from == tree { text.to_vec() } else { kind.rewrite(text, from, &tree, other)? };
        let carried = wanted.carried(&wanted.carried(&bytes, input.overlay), input.workspace);
        let lost = wanted.missing_in(&bytes);
        let serves = wanted.missing_in(&carried) < lost && !wanted.is_exceeded_by(&carried) && has_tree(&carried);
        let bytes = if serves { carried } else { bytes };
        Some((wanted.missing_in(&bytes), *from != tree, bytes))
    });
    let (lost, _, bytes) = edited.min_by_key(|(lost, is_edited, _)| (*lost, *is_edited))?;
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
        let added = workspace.keys().filter(|key| !overlay.contains_key(*key));
        let merged = overlay.keys().chain(added).filter_map(|key| {
            let base = base.and_then(|base| base.key(key));
            let tree = self.merge(&join(path, key), base, overlay.get(key), workspace.get(key))?;
            Some((key.clone(), tree))
        });
        Tree::Object(merged.collect())
    }

    /// Arrays with distinct elements are sets: elements that stay keep the overlay's order, and the workspace's
    /// additions follow. Any other array is a sequence, and two different ones are a conflict.
    fn arrays(&mut self, path: &str, base: Option<&Tree>, overlay: &[Tree], workspace: &[Tree]) -> Tree {
        let base = base.and_then(Tree::items).map_or(&[][..], Vec::as_slice);
        let lists = [base, overlay, workspace];
        let sets = lists.map(|items| items.iter().collect::<HashSet<_>>());
        if lists.iter().zip(&sets).any(|(items, set)| items.len() != set.len()) {
            self.conflict(path, self.rule);
            return Tree::Array(self.rule.pick(overlay, workspace).to_vec());
        }
        let [in_base, in_overlay, in_workspace] = sets;
        let stays = overlay.iter().filter(|item| in_workspace.contains(item) || !in_base.contains(item));
        let added = workspace.iter().filter(|item| !in_base.contains(item) && !in_overlay.contains(item));
        Tree::Array(stays.chain(added).cloned().collect())
    }

    fn conflict(&mut self, path: &str, kept: Rule) {
        let place = if path.is_empty() { WHOLE.to_owned() } else { path.to_owned() };
        self.conflicts.push(MergeConflict { place, kept });
    }
}
