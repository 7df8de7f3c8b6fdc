//! Placeholders: `{worktree}`, `{branch}`, `{repo}`, `{port}` and `{port:NAME}`, and the ports that
//! the worktrees of a repository share out among themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::Repo;
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;

use crate::TOOL;
use crate::layer::Merged;
use crate::record::parse_state;
use crate::sweatfile::Body;

/// What the placeholders stand for in one worktree.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The worktree's absolute path.
    pub worktree: String,
    /// The branch without `refs/heads/`; `HEAD` when detached.
    pub branch: String,
    /// The name of the main checkout's directory.
    pub repo: String,
    pub ports: BTreeMap<String, u16>,
}

/// No placeholder is longer.
const LONGEST: usize = 80;

/// The text with its placeholders filled in; other braces stay as they are.
pub fn expand(text: &str, facts: &Facts) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        // A placeholder is short; looking further for its end would be quadratic.
        let near = &rest.as_bytes()[..rest.len().min(LONGEST)];
        let inside = near.iter().position(|b| *b == b'}').map(|close| &rest[1..close]);
        let value = inside.and_then(|inside| match inside {
            "worktree" => Some(facts.worktree.clone()),
            "branch" => Some(facts.branch.clone()),
            "repo" => Some(facts.repo.clone()),
            _ => facts.ports.get(port_name(inside)?).map(u16::to_string),
        });
        match (inside, value) {
            (Some(inside), Some(value)) => {
                out.push_str(&value);
                rest = &rest[inside.len() + 2..];
            }
            _ => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

/// Whether the text has a placeholder that would be filled in.
pub fn has_placeholder(text: &str) -> bool {
    let names = ["{worktree}", "{branch}", "{repo}"];
    names.iter().any(|name| text.contains(name)) || !port_names(text).is_empty()
}

/// `port` is the port without a name, `port:NAME` one with; names are words.
fn port_name(inside: &str) -> Option<&str> {
    if inside == "port" {
        return Some("");
    }
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name = inside.strip_prefix("port:").filter(|name| !name.is_empty() && name.chars().all(word));
    name.filter(|name| name.len() < LONGEST - "{port:}".len())
}

fn port_names(text: &str) -> BTreeSet<String> {
    let insides = text.split('{').skip(1).filter_map(|part| part.split_once('}').map(|(inside, _)| inside));
    insides.filter_map(port_name).map(str::to_owned).collect()
}

/// Every text that is filled in.
fn templates(merged: &Merged) -> impl Iterator<Item = &str> {
    let env = merged.env.values().filter(|v| v.template).map(|v| v.text.as_str());
    let files = merged.files.values().filter_map(|wish| match &wish.body {
        Body::Content { text, template: true } => Some(text.as_str()),
        _ => None,
    });
    env.chain(files)
}

/// Whether any text has this placeholder.
pub fn wants(merged: &Merged, placeholder: &str) -> bool {
    templates(merged).any(|text| text.contains(placeholder))
}

/// The names of all ports the layers ask for.
pub fn ports_wanted(merged: &Merged) -> BTreeSet<String> {
    templates(merged).flat_map(port_names).collect()
}

/// Below Linux's ephemeral range (32768 and up), above the well-known servers.
const FIRST: u16 = 20_000;
const COUNT: u16 = 10_000;
const VERSION: u32 = 1;

/// Which ports the worktrees of a repository have, by the name of their private git directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ports {
    v: u32,
    worktrees: BTreeMap<String, BTreeMap<String, u16>>,
}

impl Ports {
    fn path(repo: &Repo) -> PathBuf {
        repo.shared_state(TOOL).join("ports.json")
    }

    fn load(repo: &Repo) -> Result<Ports> {
        let path = Ports::path(repo);
        let Some(bytes) = fs::read_no_follow(&path)? else {
            return Ok(Ports { v: VERSION, worktrees: BTreeMap::new() });
        };
        parse_state(&path, &bytes, VERSION, "ports are then given out anew")
    }

    /// Gives `worktree` a port for every name it lacks one for. Starts at a place that follows from
    /// both names and takes the next free one, so that most ports survive the loss of the table.
    fn assign(&mut self, worktree: &str, names: &BTreeSet<String>) -> Option<BTreeMap<String, u16>> {
        for name in names {
            let taken: BTreeSet<u16> = self.worktrees.values().flat_map(|w| w.values().copied()).collect();
            let own = self.worktrees.entry(worktree.to_owned()).or_default();
            if own.contains_key(name) {
                continue;
            }
            let start = Digest::of(format!("{worktree}\0{name}").as_bytes()).short() % u64::from(COUNT);
            let start = u16::try_from(start).unwrap_or(0);
            let port = (0..COUNT).map(|i| FIRST + (start + i) % COUNT).find(|port| !taken.contains(port))?;
            own.insert(name.clone(), port);
        }
        Some(self.worktrees.get(worktree).cloned().unwrap_or_default())
    }
}

/// Ports to hand out: the table they were chosen from, and with them in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    before: Ports,
    after: Ports,
}

/// The ports of this worktree under these names, and what has to be written down before they are used.
pub fn ports(repo: &Repo, names: &BTreeSet<String>) -> Result<(BTreeMap<String, u16>, Option<Reservation>)> {
    if names.is_empty() {
        return Ok((BTreeMap::new(), None));
    }
    let before = Ports::load(repo)?;
    let mut after = before.clone();
    let id = |git_dir: &Path| git_dir.strip_prefix(&repo.common_dir).unwrap_or(git_dir).to_string_lossy().into_owned();
    let living: BTreeSet<String> = repo.all_git_dirs()?.iter().map(|dir| id(dir)).collect();
    after.worktrees.retain(|worktree, _| living.contains(worktree));
    let own = after
        .assign(&id(&repo.git_dir), names)
        .ok_or_else(|| Failure::failed("no port is free").hint("remove worktrees that are no longer needed"))?;
    let reservation = (after != before).then_some(Reservation { before, after });
    Ok((own, reservation))
}

/// Writes a reservation down; `false` when the table is another by now, and ports must be chosen anew.
pub fn reserve(repo: &Repo, reservation: &Reservation) -> Result<bool> {
    let _lock = Lock::take(&repo.shared_state(TOOL).join("ports.lock"))?;
    if Ports::load(repo)? != reservation.before {
        return Ok(false);
    }
    let text = serde_json::to_string(&reservation.after);
    let text = text.map_err(|e| Failure::failed("cannot write the ports down").because(e))?;
    fs::replace(&Ports::path(repo), text.as_bytes(), Some(fs::PRIVATE))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fills_in_what_it_knows_and_leaves_other_braces() {
        let facts = Facts {
            worktree: "/w".into(),
            branch: "b".into(),
            repo: "r".into(),
            ports: BTreeMap::from([(String::new(), 20_001), ("web".into(), 20_002)]),
        };
        assert_eq!(
            expand("{worktree} {branch} {repo} {port} {port:web} {x} {{branch}} { {port:} {port:other} }", &facts),
            "/w b r 20001 20002 {x} {b} { {port:} {port:other} }"
        );
    }

    #[test]
    fn names_of_ports_are_found_once() {
        assert_eq!(port_names("{port} {port:a} {port:a} {porta}"), BTreeSet::from([String::new(), "a".into()]));
        assert!(has_placeholder("x{port:a}") && !has_placeholder("{ports}"));
    }

    proptest! {
        #[test]
        fn ports_are_stable_and_never_shared(worktrees in proptest::collection::vec("[a-c]{1,2}", 1..12), names in proptest::collection::btree_set("[a-c]?", 1..4)) {
            let mut table = Ports { v: VERSION, worktrees: BTreeMap::new() };
            for worktree in &worktrees {
                let first = table.assign(worktree, &names).unwrap();
                prop_assert_eq!(table.assign(worktree, &names).unwrap(), first);
            }
            let all: Vec<u16> = table.worktrees.values().flat_map(|w| w.values().copied()).collect();
            let distinct: BTreeSet<u16> = all.iter().copied().collect();
            prop_assert_eq!(all.len(), distinct.len());
        }
    }
}
