//! What a workspace can only add to. Agents rewrite their settings from stale memory, and a plain three-way merge would
//! spread that as deletions. So entries that a workspace removed are put back before its text is merged.

use std::collections::BTreeSet;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::entry::addresses;
use super::file_type::FileType;
use super::tree::{ItemSet, Tree, by_key, join};
use super::{env, lines};

/// Which entries of a file a workspace can only add to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grow {
    /// `permissions.deny`, in every file.
    Deny,
    /// The arrays of permissions: the default for JSON files.
    #[default]
    Permissions,
    /// Everything.
    All,
}

const PERMISSIONS: [&str; 3] = ["permissions.allow", "permissions.ask", "permissions.additionalDirectories"];

impl Grow {
    fn covers(self, path: &str) -> bool {
        match self {
            Grow::All => true,
            Grow::Permissions => path == "permissions.deny" || PERMISSIONS.contains(&path),
            Grow::Deny => path == "permissions.deny",
        }
    }

    /// Whether something covered may be below this path.
    fn reaches_below(self, path: &str) -> bool {
        self == Grow::All || path.is_empty() || path == "permissions"
    }

    /// Whether anything in files of this type is covered at all.
    fn applies(self, kind: FileType) -> bool {
        self == Grow::All || kind == FileType::Json
    }
}

/// What a workspace removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grown {
    /// Nothing that only grows.
    Same,
    /// The text with the entries put back, and their number.
    Back(Vec<u8>, usize),
    /// The text cannot be edited so that it has the entries again.
    Cannot,
}

/// Puts back what the workspace removed from `base`.
pub fn grown(kind: FileType, grow: Grow, base: &[u8], workspace: &[u8]) -> Grown {
    if !grow.applies(kind) {
        return Grown::Same;
    }
    if !kind.is_tree() {
        return grown_lines(kind, base, workspace).map_or(Grown::Same, |(text, count)| Grown::Back(text, count));
    }
    // A base without a tree has nothing to lose. A text that lost its tree is held by the gate.
    let (Some(before), Some(now)) = (kind.tree(base), kind.tree(workspace)) else { return Grown::Same };
    let wanted = regrow(grow, "", &before, &now);
    if wanted.same(&now) {
        return Grown::Same;
    }
    let left: BTreeSet<String> = now.leaves().into_iter().collect();
    let count = wanted.leaves().iter().filter(|leaf| !left.contains(*leaf)).count();
    // The workspace only removed entries, so the result is the base.
    if wanted.same(&before) {
        return Grown::Back(base.to_vec(), count);
    }
    kind.rewrite(workspace, &now, &wanted, base).map_or(Grown::Cannot, |text| Grown::Back(text, count))
}

fn regrow(grow: Grow, path: &str, before: &Tree, now: &Tree) -> Tree {
    match (before, now) {
        (Tree::Object(before), Tree::Object(entries)) => {
            let mut merged = Vec::new();
            let (was, is) = (by_key(before), by_key(entries));
            for (key, tree) in entries {
                let old = was.get(key.as_str());
                let tree = old.map_or_else(|| tree.clone(), |old| regrow(grow, &join(path, key), old, tree));
                merged.push((key.clone(), tree));
            }
            for (key, tree) in before.iter().filter(|(key, _)| !is.contains_key(key.as_str())) {
                merged.extend(kept(grow, &join(path, key), tree).map(|tree| (key.clone(), tree)));
            }
            Tree::Object(merged)
        }
        (Tree::Array(before), Tree::Array(items)) if grow.covers(path) => {
            let (was, is) = (ItemSet::of(before), ItemSet::of(items));
            if before.iter().all(|item| is.has(item)) {
                return now.clone();
            }
            let added = items.iter().filter(|item| !was.has(item));
            Tree::Array(before.iter().chain(added).cloned().collect())
        }
        // Replacing a value by one of another type does not remove it either.
        (Tree::Array(_) | Tree::Object(_), _) => kept(grow, path, before).unwrap_or_else(|| now.clone()),
        (Tree::Leaf(_), _) => now.clone(),
    }
}

/// The part of a removed value that must stay.
fn kept(grow: Grow, path: &str, before: &Tree) -> Option<Tree> {
    match before {
        _ if grow == Grow::All => Some(before.clone()),
        Tree::Array(_) => grow.covers(path).then(|| before.clone()),
        Tree::Object(entries) if grow.reaches_below(path) => {
            let entries =
                entries.iter().filter_map(|(key, tree)| Some((key.clone(), kept(grow, &join(path, key), tree)?)));
            let entries: Vec<_> = entries.collect();
            (!entries.is_empty()).then_some(Tree::Object(entries))
        }
        Tree::Object(_) | Tree::Leaf(_) => None,
    }
}

/// Puts removed lines back in their places. A variable that is set to another value is not put back.
fn grown_lines(kind: FileType, base: &[u8], workspace: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (before, now): (Vec<_>, Vec<_>) = (lines::split(base).collect(), lines::split(workspace).collect());
    let named: Vec<_> = now.iter().filter_map(|line| env::variable(line)).collect();
    let is_back = |line: &&[u8]| {
        let is_set_anew = kind == FileType::Env && env::variable(line).is_some_and(|name| named.contains(&name));
        !is_set_anew && !line.trim_ascii().is_empty() && !now.contains(line)
    };
    let (mut merged, mut count) = (Vec::new(), 0);
    for op in capture_diff_slices(Algorithm::Myers, &before, &now) {
        let mut back: Vec<&[u8]> = Vec::new();
        if !matches!(op, DiffOp::Equal { .. }) {
            back.extend(before[op.old_range()].iter().filter(|line| is_back(line)));
        }
        count += back.len();
        merged.extend(back);
        merged.extend_from_slice(&now[op.new_range()]);
    }
    if count == 0 {
        return None;
    }
    let end = lines::ending(workspace).or(lines::ending(base)).unwrap_or(b"\n");
    Some((merged.iter().flat_map(|line| [*line, end].concat()).collect(), count))
}

/// The entries of a text that only grow, each as a text by which it is recognized.
pub fn entries(kind: FileType, grow: Grow, bytes: &[u8]) -> Vec<String> {
    if !grow.applies(kind) {
        return Vec::new();
    }
    if !kind.is_tree() {
        let lines = lines::split(bytes).filter(|line| !line.trim_ascii().is_empty());
        // A variable is the same entry whatever its value.
        let name = |line| if kind == FileType::Env { env::variable(line).unwrap_or(line) } else { line };
        return lines.map(|line| String::from_utf8_lossy(name(line)).into_owned()).collect();
    }
    let kept = kind.tree(bytes).and_then(|tree| kept(grow, "", &tree));
    kept.map(|tree| addresses(&tree).iter().map(ToString::to_string).collect()).unwrap_or_default()
}
