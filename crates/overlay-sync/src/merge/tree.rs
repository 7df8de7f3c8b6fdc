//! The tree of a text with structure. The formats parse texts into trees, and write a tree as edits of a text.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use indexmap::IndexMap;

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

    /// This record with the keys that it lacks of another one. What it has instead of the other's was edited.
    fn with_keys_of(&self, other: &Tree) -> Tree {
        let (Tree::Object(own), Tree::Object(more)) = (self, other) else { return self.clone() };
        let mut members = own.clone();
        for (key, tree) in more {
            let with = own.get(key).map_or_else(|| tree.clone(), |own| own.with_keys_of(tree));
            members.insert(key.clone(), with);
        }
        Tree::Object(members)
    }

    /// This tree with what it lacks of another one. Its own values stay, but a leaf does not take the place of an object
    /// or array, and arrays begin with the elements of the other tree. `find` gives the number in this tree's array of
    /// each element of the other's, if it is there.
    pub fn with(&self, other: &Tree, find: fn(&[Tree], &[Tree]) -> Vec<Option<usize>>) -> Tree {
        match (self, other) {
            (Tree::Object(own), Tree::Object(more)) => {
                let mut members = own.clone();
                for (key, tree) in more {
                    let with = own.get(key).map_or_else(|| tree.clone(), |own| own.with(tree, find));
                    members.insert(key.clone(), with);
                }
                Tree::Object(members)
            }
            (Tree::Array(own), Tree::Array(more)) => {
                let (mut own, found) = (own.clone(), find(own, more));
                for (at, item) in found.iter().zip(more) {
                    if let Some(at) = at.filter(|at| own[*at] != *item) {
                        own[at] = own[at].with_keys_of(item);
                    }
                }
                if found.iter().all(Option::is_some) {
                    return Tree::Array(own);
                }
                let all: Vec<&Tree> = found.iter().zip(more).map(|(at, item)| at.map_or(item, |at| &own[at])).collect();
                let known: HashSet<&Tree> = all.iter().copied().collect();
                let added = own.iter().filter(|item| !known.contains(item));
                Tree::Array(all.iter().copied().chain(added).cloned().collect())
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
