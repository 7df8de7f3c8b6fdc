//! Who an agent is: written down once, in the private git directory of its worktree, where neither `git clean`
//! nor a switch of branches reaches it. Nothing of it is ever derived from today's branch.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;

use crate::TOOL;
use crate::slug::slug;

/// The session of the main checkout, whatever its branch.
pub const ROOT: &str = "root";

const VERSION: u64 = 1;

/// What an agent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The main checkout's, or that of a worktree nobody spawned.
    Root,
    /// In a worktree of its own.
    Subtree,
    /// Seated in its parent's worktree.
    Worker,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Kind::Root => "root",
            Kind::Subtree => "subtree",
            Kind::Worker => "worker",
        }
    }
}

/// An identity record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub v: u64,
    pub id: String,
    pub kind: Kind,
    pub birth_branch: Option<String>,
    pub slug: String,
    /// The name as it was asked for.
    pub requested: String,
    pub parent: Option<String>,
    /// From the root down to the parent.
    pub parents: Vec<String>,
    /// Root 1, its children 2.
    pub level: u64,
    pub role: Option<String>,
    /// Which program, by its name in the configuration.
    pub agent: Option<String>,
    pub base_sha: Option<String>,
    /// Told apart from an earlier life of the same name.
    pub incarnation: String,
    pub created: String,
}

impl Agent {
    /// The agent of a worktree that nobody spawned.
    pub fn root(id: &str, branch: Option<&str>, created: Timestamp) -> Agent {
        Agent {
            v: VERSION,
            id: id.to_owned(),
            kind: Kind::Root,
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
        }
    }

    /// A child of this one, for the one who spawns to fill in.
    pub fn child(&self, kind: Kind, id: String, slug: &str, requested: &str, now: Timestamp) -> Agent {
        let parents = self.parents.iter().chain([&self.id]).cloned().collect();
        Agent {
            v: VERSION,
            id,
            kind,
            birth_branch: self.birth_branch.clone(),
            slug: slug.to_owned(),
            requested: requested.to_owned(),
            parent: Some(self.id.clone()),
            parents,
            level: self.level + 1,
            role: None,
            agent: None,
            base_sha: None,
            incarnation: new_uid(),
            created: now.to_string(),
        }
    }

    /// Its slug and those above it, as far as they were spawned: `feature-a.parser`. Slugs have no dots, so the last
    /// ones of an id are they.
    pub fn dotted(&self) -> &str {
        let spawned = usize::try_from(self.level.saturating_sub(1)).unwrap_or(1);
        let dots: Vec<usize> = self.id.match_indices('.').map(|(at, _)| at).collect();
        let start = dots.len().checked_sub(spawned).and_then(|n| dots.get(n)).map_or(0, |at| at + 1);
        &self.id[start..]
    }

    /// Reads the bytes of a record.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Agent> {
        let bad = |why: String| {
            Failure::malformed(format!("{}: {why}", path.display()))
                .hint("move the file away and run `worktree-spawn list` again; the worktree itself is not touched")
        };
        let agent: Agent = serde_json::from_slice(bytes).map_err(|e| bad(e.to_string()))?;
        if agent.v > VERSION {
            let newer = format!("{}: version {} is newer than this program knows", path.display(), agent.v);
            return Err(Failure::malformed(newer).hint("use the version of worktree-spawn that wrote it"));
        }
        if agent.id.is_empty() || (agent.kind != Kind::Root && agent.parent.is_none()) {
            return Err(bad("the record names no agent".into()));
        }
        // It becomes part of paths.
        if agent.kind != Kind::Root && slug(&agent.slug).ok().as_ref() != Some(&agent.slug) {
            return Err(bad(format!("`{}` is no slug", agent.slug)));
        }
        Ok(agent)
    }

    /// Reads a record; none when there is none. Exit 2 when it cannot be understood.
    pub fn load(path: &Path) -> Result<Option<Agent>> {
        fs::read_no_follow(path)?.map(|bytes| Agent::parse(path, &bytes)).transpose()
    }

    /// Writes it.
    pub fn save(&self, path: &Path) -> Result<()> {
        if let Some(dir) = path.parent() {
            fs::create_private_dir(dir)?;
        }
        let text = serde_json::to_string(self).map_err(|e| Failure::failed("cannot write a record").because(e))?;
        fs::replace(path, format!("{text}\n").as_bytes(), Some(fs::PRIVATE))
    }
}

/// Where the record of a worktree's own agent lies.
pub fn record(git_dir: &Path) -> PathBuf {
    state(git_dir).join("identity.json")
}

/// Where those seated in a worktree are written down, a directory each.
pub fn seats(git_dir: &Path) -> PathBuf {
    state(git_dir).join("workers")
}

/// Where the record of one of them lies.
pub fn seat(git_dir: &Path, slug: &str) -> PathBuf {
    seats(git_dir).join(slug).join("identity.json")
}

/// This tool's state below a git directory.
pub fn state(git_dir: &Path) -> PathBuf {
    git_dir.join("shopfloor").join(TOOL)
}

/// An identity no other thing has.
pub fn new_uid() -> String {
    let mut text = Digest::random().to_string();
    text.truncate(32);
    text
}

/// An id as the name of a file or directory: everything but letters, digits, `_`, `-` and inner dots is
/// percent-encoded; what would be too long for a name ends in a hash of it.
pub fn encoded(id: &str) -> String {
    let mut name = String::new();
    for (i, b) in id.bytes().enumerate() {
        if b.is_ascii_alphanumeric() || b == b'_' || b == b'-' || (b == b'.' && i > 0) {
            name.push(char::from(b));
        } else {
            name.push_str(&format!("%{b:02X}"));
        }
    }
    if name.len() > 200 {
        name.truncate(160);
        name = format!("{name}%%{}", &Digest::of(id.as_bytes()).to_string()[..32]);
    }
    name
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ids_are_encoded_into_names() {
        assert_eq!(encoded("main.feature-a"), "main.feature-a");
        assert_eq!(encoded("feature/x.y"), "feature%2Fx.y");
        assert_eq!(encoded("..") + &encoded("%"), "%2E.%25");
        assert!(encoded(&"ü".repeat(200)).len() < 200);
    }

    proptest! {
        #[test]
        fn no_two_ids_share_a_name(a in "[a-zA-Z0-9./%ü]{1,80}", b in "[a-zA-Z0-9./%ü]{1,80}") {
            prop_assert_eq!(a == b, encoded(&a) == encoded(&b));
        }

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
