//! Who an agent is. The record is written once, in the private git directory of the agent's worktree, where neither
//! `git clean` nor a switch of branches reaches it. Nothing in it is ever derived from the branch checked out now.

use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;
use shopfloor_core::text::shell_word;
use shopfloor_core::written_files::{self, Listed};

use crate::slug::slug;

/// The session of the main checkout, on whatever branch it is.
pub const ROOT: &str = "root";

const VERSION: u64 = 1;

/// No id is longer: it ends in the name of a branch, and seats add a slug.
const LONGEST_ID: usize = 1000;

/// The kind of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum AgentKind {
    // The agent of the main checkout, or of a worktree that was not spawned.
    Root,
    // An agent in a worktree of its own.
    Subtree,
    // An agent seated in its parent's worktree.
    Worker,
}

/// An identity record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub v: u64,
    pub id: String,
    pub kind: AgentKind,
    pub birth_branch: Option<String>,
    pub slug: String,
    /// The name as the spawner gave it.
    pub requested: String,
    pub parent: Option<String>,
    /// From the root down to the parent.
    pub parents: Vec<String>,
    /// 1 for a root, 2 for its children.
    pub level: u64,
    pub role: Option<String>,
    /// The name of the agent program.
    pub agent: Option<String>,
    pub base_sha: Option<String>,
    /// Tells this agent from an earlier one with the same id.
    pub incarnation: String,
    pub created: String,
    /// The branch that its parent worked on, on which its work lands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Which directory the worktree is: a later one at its path, or one with its record, is not this agent's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The digest of the task that a seat was made with: another text in its file is somebody else's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

impl Agent {
    /// The agent of a worktree that was not spawned.
    pub fn root(id: &str, branch: Option<&str>, created: Timestamp) -> Agent {
        Agent {
            v: VERSION,
            id: id.to_owned(),
            kind: AgentKind::Root,
            birth_branch: branch.map(str::to_owned),
            slug: id.to_owned(),
            requested: id.to_owned(),
            parent: None,
            parents: Vec::new(),
            level: 1,
            role: None,
            agent: None,
            base_sha: None,
            incarnation: new_uid(),
            created: created.to_string(),
            target: None,
            directory: None,
            task: None,
        }
    }

    /// A child of this agent; the caller fills in the rest.
    pub fn child(&self, kind: AgentKind, id: &str, slug: &str, requested: &str, now: Timestamp) -> Agent {
        Agent {
            kind,
            birth_branch: self.birth_branch.clone(),
            slug: slug.to_owned(),
            requested: requested.to_owned(),
            parent: Some(self.id.clone()),
            parents: self.parents.iter().chain([&self.id]).cloned().collect(),
            level: self.level + 1,
            ..Agent::root(id, None, now)
        }
    }

    /// The slugs of this agent and of its spawned ancestors, such as `feature-a.parser`. Slugs contain no dots, so they
    /// are the last parts of the id.
    pub fn dotted(&self) -> &str {
        let spawned = usize::try_from(self.level.saturating_sub(1)).unwrap_or(1);
        let dots: Vec<usize> = self.id.match_indices('.').map(|(at, _)| at).collect();
        let start = dots.len().checked_sub(spawned).and_then(|n| dots.get(n)).map_or(0, |at| at + 1);
        &self.id[start..]
    }

    /// Reads the bytes of a record.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Agent> {
        let bad = |why: String| Failure::malformed(format!("{}: {why}", path.display())).hint(way_out(path));
        let agent: Agent = serde_json::from_slice(bytes).map_err(|e| bad(e.to_string()))?;
        if agent.v > VERSION {
            let newer = format!("{}: version {} is newer than this program knows", path.display(), agent.v);
            return Err(Failure::malformed(newer).hint("use the version of worktree-spawn that wrote it"));
        }
        agent.check().map_err(bad)?;
        Ok(agent)
    }

    /// Whether this tool can have written the record: an agent can, too. The slug becomes part of paths, the id of refs
    /// and arguments.
    pub fn check(&self) -> std::result::Result<(), String> {
        let is_root = self.kind == AgentKind::Root;
        let is_odd = self.id.is_empty()
            || self.id.len() > LONGEST_ID
            || self.id.starts_with('-')
            || self.id.contains(char::is_control)
            || (!is_root && self.parents.is_empty());
        match () {
            () if is_odd || (!is_root && self.parent.is_none()) => Err("the record names no agent".into()),
            () if !is_root && slug(&self.slug).ok().as_ref() != Some(&self.slug) => {
                Err(format!("`{}` is not a slug", self.slug))
            }
            () if self.level != self.parents.len() as u64 + 1 => Err("the level is not that of its parents".into()),
            () => Ok(()),
        }
    }

    /// Whether this record, which is `bytes` at `file`, is ours and about the directory at `worktree`: an agent can write
    /// the record of any worktree, and put the listed one of an earlier worktree back. Where nothing is, nothing is
    /// taken for it.
    pub fn is_ours(&self, (file, bytes): (&Path, &[u8]), worktree: &Path, listed: &Listed) -> bool {
        let is_there = worktree.symlink_metadata().is_ok();
        let is_its = self.directory.is_some() && self.directory == fs::dir_id(worktree);
        (!is_there || is_its) && listed.has(file, bytes)
    }

    /// Loads a record, if there is one. Exit 2 when it cannot be understood.
    pub fn load(path: &Path) -> Result<Option<Agent>> {
        fs::read_no_follow(path)?.map(|bytes| Agent::parse(path, &bytes)).transpose()
    }

    /// Saves the record, which an agent can write as well: the user's own list says that it is ours.
    pub fn save(&self, env: &Env, path: &Path) -> Result<()> {
        if let Some(dir) = path.parent() {
            fs::create_private_dir(dir)?;
        }
        let text = serde_json::to_string(self).map_err(|e| Failure::failed("cannot write a record").because(e))?;
        written_files::write(env, path, format!("{text}\n").as_bytes())
    }
}

/// What to do about a record that nobody can understand. The worktree itself is not touched.
pub fn way_out(record: &Path) -> String {
    let record = shell_word(record);
    format!(
        "look at the worktree, then move the record away: `mv {record} {record}.damaged`; the worktree then counts as made \
         by hand, so `git worktree remove` removes it"
    )
}

/// A new unique id.
pub fn new_uid() -> String {
    let mut text = Digest::random().to_string();
    text.truncate(32);
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_record_of_any_bytes_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Agent::parse(Path::new("x"), &bytes);
        }
    }

    #[test]
    fn a_newer_record_is_refused() {
        let mut agent = Agent::root("root", Some("main"), Timestamp::UNIX_EPOCH);
        agent.v = 2;
        let bytes = serde_json::to_vec(&agent).unwrap();
        assert!(Agent::parse(Path::new("x"), &bytes).unwrap_err().message.contains("newer"));
    }
}
