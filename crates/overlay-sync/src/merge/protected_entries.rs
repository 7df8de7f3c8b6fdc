//! Puts back entries that a workspace can only add to and has removed, before its text is merged. Agents rewrite their
//! settings from stale memory, and a three-way merge would spread that as deletions.

use std::collections::BTreeSet;

use super::entry::addresses;
use super::file_type::FileType;
use super::old_view::Freshness;
use super::tree::Tree;
use super::{env, jsonl, lines, list, outdated_lines};

/// Which entries of a file a workspace can only add to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grow {
    /// What restricts an agent, in every file: rules that deny or ask, and MCP servers that a person refused.
    Deny,
    /// These and the other arrays of permissions: the default for JSON files.
    #[default]
    Permissions,
    /// Everything.
    All,
}

impl Grow {
    fn covers(self, path: &[String]) -> bool {
        match (self, path) {
            (Grow::All, _) => true,
            (_, [top, list]) if top == "permissions" => match list.as_str() {
                "deny" | "ask" => true,
                "allow" | "additionalDirectories" => self == Grow::Permissions,
                _ => false,
            },
            (_, [top, list]) if top == "tools" && list == "allowed" => self == Grow::Permissions,
            (_, [list]) => list == "disabledMcpjsonServers",
            _ => false,
        }
    }

    /// Whether anything in files of this type is covered at all.
    fn applies(self, kind: FileType) -> bool {
        self == Grow::All || kind.is_json()
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

/// Puts back what the workspace removed from `base`. A record that has other values was edited, and only gets back the
/// keys that it lacks.
pub fn grown(kind: FileType, grow: Grow, base: &[u8], workspace: &[u8]) -> Grown {
    if !grow.applies(kind) {
        return Grown::Same;
    }
    let has_records = kind == FileType::JsonLines;
    if !kind.is_tree() && !has_records {
        // All of the base counts as something that arrived just now.
        return match outdated_lines::freshness(kind, base, workspace, &[(Vec::new(), base.to_vec())]) {
            Freshness::Stale(text, places) => Grown::Back(text, places.len()),
            Freshness::Fresh | Freshness::Cannot => Grown::Same,
        };
    }
    // A base without a tree has nothing to lose. A text that lost its tree is held by the gate.
    let tree = |bytes: &[u8]| if has_records { Some(jsonl::tree(bytes)) } else { kind.tree(bytes) };
    let (Some(before), Some(now)) = (tree(base), tree(workspace)) else { return Grown::Same };
    let (Some(stays), _) = before.parted(&|path| grow.covers(path)) else { return Grown::Same };
    let wanted = now.with(&stays, if has_records { list::same_ids } else { list::same });
    if wanted == now {
        return Grown::Same;
    }
    let left: BTreeSet<String> = now.leaves().into_iter().collect();
    let count = wanted.leaves().iter().filter(|leaf| !left.contains(*leaf)).count();
    // The workspace only removed entries, so the result is the base.
    if wanted == before {
        return Grown::Back(base.to_vec(), count);
    }
    let text = match (&wanted, has_records) {
        (Tree::Array(records), true) => jsonl::rewrite(workspace, records, base),
        _ => kind.rewrite(workspace, &now, &wanted, base),
    };
    text.map_or(Grown::Cannot, |text| Grown::Back(text, count))
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
    let stays = kind.tree(bytes).and_then(|tree| tree.parted(&|path| grow.covers(path)).0);
    stays.map(|tree| addresses(&tree, &[]).iter().map(ToString::to_string).collect()).unwrap_or_default()
}
