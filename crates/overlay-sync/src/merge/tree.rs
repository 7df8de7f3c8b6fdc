//! The merge of structures: objects per key, arrays as sets where their elements are distinct, leaves
//! whole. The formats turn text into trees, and the merged tree back into edits of the overlay's text.

use std::collections::HashSet;

use super::{Conflict, Input, Merged, Rule, WHOLE, lines};

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
            (Tree::Object(a), Tree::Object(b)) => {
                a.len() == b.len() && a.iter().all(|(key, tree)| other.key(key).is_some_and(|o| o.same(tree)))
            }
            _ => false,
        }
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
/// of a line merge or of one side when it says what was decided, and what `write` makes of the overlay's
/// tree and the merged one otherwise.
pub fn merge(
    input: &Input<'_>,
    parse: impl Fn(&[u8]) -> Option<Tree>,
    write: impl FnOnce(&Tree, &Tree) -> Option<Vec<u8>>,
) -> Option<Merged> {
    let (overlay, workspace) = (parse(input.overlay)?, parse(input.workspace)?);
    let base = match input.base {
        Some(bytes) => Some(parse(bytes)?),
        None => None,
    };
    let mut merger = Merger { rule: input.rule, conflicts: Vec::new() };
    let tree = merger.merge("", base.as_ref(), Some(&overlay), Some(&workspace))?;
    let conflicts = merger.conflicts;
    // Lines keep comments and layout of both sides, when they come to the same.
    let by_lines = lines::merge(input);
    if by_lines.conflicts.is_empty() && parse(&by_lines.bytes).is_some_and(|said| said.same(&tree)) {
        return Some(Merged { bytes: by_lines.bytes, conflicts });
    }
    let sides = [(input.workspace, &workspace), (input.overlay, &overlay)];
    if let Some((bytes, _)) = sides.into_iter().find(|(_, side)| tree.same(side)) {
        return Some(Merged { bytes: bytes.to_vec(), conflicts });
    }
    let bytes = write(&overlay, &tree)?;
    // The text must say exactly what was decided; anything else is no merge.
    parse(&bytes)?.same(&tree).then_some(Merged { bytes, conflicts })
}

/// How a merge decides, and what it had to decide.
struct Merger {
    rule: Rule,
    conflicts: Vec<Conflict>,
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
            (Some(kept), None) | (None, Some(kept)) => {
                // Delete against modify: the modification stays.
                self.conflict(path);
                Some(kept.clone())
            }
            (o, x) => {
                self.conflict(path);
                match self.rule {
                    Rule::Workspace => x.cloned(),
                    Rule::Overlay => o.cloned(),
                }
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
        let find =
            |side: &[(String, Tree)], key: &str| side.iter().find(|(k, _)| k == key).map(|(_, tree)| tree.clone());
        let mut merged = Vec::new();
        let added = workspace.iter().filter(|(key, _)| find(overlay, key).is_none());
        for (key, _) in overlay.iter().chain(added) {
            let base = base.and_then(|b| b.key(key));
            let (o, x) = (find(overlay, key), find(workspace, key));
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
            self.conflict(path);
            let side = if self.rule == Rule::Workspace { workspace } else { overlay };
            return Some(Tree::Array(side.to_vec()));
        }
        let [in_base, in_overlay, in_workspace] = sets.map(|set| move |item: &Tree| set.contains(&item.spelt()));
        let stays = |item: &&Tree| in_workspace(item) || !in_base(item);
        let added = workspace.iter().filter(|item| !in_base(item) && !in_overlay(item));
        Some(Tree::Array(overlay.iter().filter(stays).chain(added).cloned().collect()))
    }

    fn conflict(&mut self, path: &str) {
        let place = if path.is_empty() { WHOLE.to_owned() } else { path.to_owned() };
        self.conflicts.push(Conflict { place });
    }
}
