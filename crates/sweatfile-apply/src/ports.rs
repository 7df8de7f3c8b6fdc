//! The ports that the worktrees of a repository share out among themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::path::Path;

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::Repo;
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;

use crate::applied;
use crate::layout;

/// Ports lie below Linux's ephemeral range (32768 and up) and above those of well-known servers.
const FIRST: u16 = 20_000;
const COUNT: u16 = 10_000;

/// The ports of each worktree of a repository, by the name of its private git directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortTable {
    v: layout::Version,
    worktrees: BTreeMap<String, BTreeMap<String, u16>>,
    /// What tells that directory from a later one of its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    dirs: BTreeMap<String, String>,
}

impl PortTable {
    fn load(repo: &Repo) -> Result<PortTable> {
        let path = layout::ports(repo);
        let mut table = match fs::read_no_follow(&path)? {
            None => PortTable::default(),
            Some(bytes) => layout::parse(&path, &bytes, layout::OF_PORTS, "new ports are then assigned")?,
        };
        table.v = layout::OF_PORTS;
        // No port that was not assigned here counts: an agent can write the file.
        table.worktrees.values_mut().for_each(|own| own.retain(|_, port| (FIRST..FIRST + COUNT).contains(&*port)));
        Ok(table)
    }

    /// Forgets worktrees that are gone, and what an agent may have written: a port of two stays with the one that was given it
    /// last. Returns those ports.
    fn keep_living(&mut self, repo: &Repo) -> Result<BTreeSet<u16>> {
        let living: BTreeSet<String> = repo.all_git_dirs()?.iter().map(|dir| id(repo, dir)).collect();
        self.worktrees.retain(|worktree, _| living.contains(worktree));
        self.dirs.retain(|worktree, _| living.contains(worktree));
        let mut seen = BTreeSet::new();
        let all = self.worktrees.values().flat_map(|own| own.values().copied());
        let shared: BTreeSet<u16> = all.filter(|port| !seen.insert(*port)).collect();
        for port in &shared {
            let owners = self.worktrees.iter().filter(|(_, own)| own.values().any(|its| its == port));
            let owners: Vec<String> = owners.map(|(id, _)| id.clone()).collect();
            let was_given = |id: &&String| {
                let env = applied::env_of(&repo.common_dir.join(id));
                env.values().any(|value| value.contains(&port.to_string()))
            };
            let keeps = owners.iter().find(was_given).or(owners.first());
            for (id, own) in &mut self.worktrees {
                let mut is_kept = keeps == Some(id);
                own.retain(|_, its| *its != *port || std::mem::take(&mut is_kept));
            }
        }
        Ok(shared)
    }

    fn save(&self, repo: &Repo) -> Result<()> {
        let text = serde_json::to_string(self).map_err(|e| Failure::failed("cannot save the ports").because(e))?;
        fs::replace(&layout::ports(repo), text.as_bytes(), Some(fs::PRIVATE))
    }

    /// Gives `worktree` a port for each name that has none yet. The search starts at a number computed from both
    /// names and takes the next free port, so that most ports stay the same when the table is lost. What `is_bound` now is
    /// another program's.
    fn assign(
        &mut self,
        worktree: &str,
        names: &BTreeSet<String>,
        is_bound: &dyn Fn(u16) -> bool,
    ) -> Option<BTreeMap<String, u16>> {
        for name in names {
            let taken: BTreeSet<u16> = self.worktrees.values().flat_map(|w| w.values().copied()).collect();
            let own = self.worktrees.entry(worktree.to_owned()).or_default();
            if own.contains_key(name) {
                continue;
            }
            let start = Digest::of(format!("{worktree}\0{name}").as_bytes()).short() % u64::from(COUNT);
            let start = u16::try_from(start).unwrap_or(0);
            let mut ports = (0..COUNT).map(|i| FIRST + (start + i) % COUNT);
            let port = ports.find(|port| !taken.contains(port) && !is_bound(*port))?;
            own.insert(name.clone(), port);
        }
        Some(self.worktrees.get(worktree).cloned().unwrap_or_default())
    }
}

/// What the table calls the worktree with this private git directory.
fn id(repo: &Repo, git_dir: &Path) -> String {
    git_dir.strip_prefix(&repo.common_dir).unwrap_or(git_dir).to_string_lossy().into_owned()
}

/// Whether a program of this machine has the port now.
fn is_bound(port: u16) -> bool {
    let is_taken = |host: IpAddr| TcpListener::bind((host, port)).is_err_and(|e| e.kind() == ErrorKind::AddrInUse);
    is_taken(Ipv4Addr::LOCALHOST.into()) || is_taken(Ipv6Addr::LOCALHOST.into())
}

/// The ports that the living worktrees of a repository have.
pub fn of_living(repo: &Repo) -> Result<BTreeSet<u16>> {
    let mut table = PortTable::load(repo)?;
    table.keep_living(repo)?;
    Ok(table.worktrees.values().flat_map(|own| own.values().copied()).collect())
}

/// Frees the ports of worktrees that are gone. Returns how many; a dry run only counts them.
pub fn free_gone(repo: &Repo, is_dry: bool) -> Result<usize> {
    if PortTable::load(repo)?.worktrees.is_empty() {
        return Ok(0);
    }
    let _lock = if is_dry { None } else { Some(Lock::take(&layout::ports_lock(repo))?) };
    let mut table = PortTable::load(repo)?;
    let count = |table: &PortTable| table.worktrees.values().map(BTreeMap::len).sum::<usize>();
    let before = count(&table);
    table.keep_living(repo)?;
    if count(&table) < before && !is_dry {
        table.save(repo)?;
    }
    Ok(before - count(&table))
}

/// The number of ports that the worktrees of a repository have, and which of them several have.
pub fn count(repo: &Repo) -> Result<(usize, BTreeSet<u16>)> {
    let mut table = PortTable::load(repo)?;
    let count: usize = table.worktrees.values().map(BTreeMap::len).sum();
    Ok((count, table.keep_living(repo)?))
}

/// The port of each name in this worktree. Unless they are reserved, another worktree may have them a moment later.
pub fn assigned(repo: &Repo, names: &BTreeSet<String>, reserves: bool) -> Result<BTreeMap<String, u16>> {
    if names.is_empty() {
        return Ok(BTreeMap::new());
    }
    let _lock = if reserves { Some(Lock::take(&layout::ports_lock(repo))?) } else { None };
    let mut table = PortTable::load(repo)?;
    let before = table.clone();
    table.keep_living(repo)?;
    let own = id(repo, &repo.git_dir);
    let known = fs::dir_id(&repo.git_dir).and_then(|dir| table.dirs.insert(own.clone(), dir));
    if known.is_some_and(|known| Some(&known) != table.dirs.get(&own)) {
        // The ports were those of a worktree that is gone.
        table.worktrees.remove(&own);
    }
    let ports = table
        .assign(&own, names, &is_bound)
        .ok_or_else(|| Failure::failed("no port is free").hint("remove worktrees that are no longer needed"))?;
    if reserves && table != before {
        table.save(repo)?;
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ports_are_stable_and_never_shared(worktrees in proptest::collection::vec("[a-c]{1,2}", 1..12), names in proptest::collection::btree_set("[a-c]?", 1..4)) {
            let mut table = PortTable::default();
            for worktree in &worktrees {
                let first = table.assign(worktree, &names, &|port| port % 2 == 0).unwrap();
                prop_assert!(first.values().all(|port| port % 2 == 1));
                // Its own program has it from then on.
                prop_assert_eq!(table.assign(worktree, &names, &|_| true).unwrap(), first);
            }
            let all: Vec<u16> = table.worktrees.values().flat_map(|w| w.values().copied()).collect();
            let distinct: BTreeSet<u16> = all.iter().copied().collect();
            prop_assert_eq!(all.len(), distinct.len());
        }
    }
}
