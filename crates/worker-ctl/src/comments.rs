//! Comments at lines of a worker's work that a person has not sent yet: `comments/NAME.json` of the root.

use std::path::Path;

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;
use shopfloor_core::text::printable;

use crate::failure;
use crate::layout::{self, RootLock};

/// Which file a line is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    Old,
    #[default]
    New,
}

/// A comment. A person who writes one by hand gives `path`, `line` and `text`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    pub path: String,
    #[serde(default)]
    pub side: Side,
    pub line: usize,
    /// The first line of the hunk.
    #[serde(default)]
    pub hunk: String,
    /// The line itself.
    #[serde(default)]
    pub quote: String,
    pub text: String,
    /// When it was written.
    #[serde(default)]
    pub at: String,
    /// The commit on which it was written, if that line is not in the work any more.
    #[serde(default)]
    pub stale: Option<String>,
    /// Whether it was sent by a command that was killed before it could take it out.
    #[serde(default)]
    pub sent: bool,
}

/// The comments on some work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comments {
    #[serde(default)]
    pub v: u64,
    /// The commit whose lines are meant; empty: the one that is reviewed.
    #[serde(default)]
    pub commit: String,
    pub comments: Vec<Comment>,
}

/// Whether a text can be the name of a commit, or nothing: git would take anything else for an option or a search.
pub fn is_commit(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_hexdigit())
}

impl Comments {
    /// Those in a document: in this format, or a list of them.
    pub fn parse(bytes: &[u8]) -> Result<Comments, String> {
        let parsed = match bytes.trim_ascii_start().first() {
            Some(b'[') => serde_json::from_slice(bytes).map(|comments| Comments { comments, ..Comments::default() }),
            _ => serde_json::from_slice(bytes),
        };
        match parsed {
            Ok(Comments { v, .. }) if v > 1 => Err(format!("version {v} is newer than this program")),
            Ok(Comments { commit, .. }) if !is_commit(&commit) => Err(format!("`{commit}` is no commit")),
            parsed => parsed.map_err(|error| error.to_string()),
        }
    }

    /// Those that are kept for a worker. Exit 4 if they cannot be read; they are never treated as none.
    pub fn load(root: &Path, worker: &str) -> Result<Comments> {
        let path = layout::comments(root, worker);
        let Some(bytes) = fs::read_no_follow(&path)? else { return Ok(Comments::default()) };
        Comments::parse(&bytes).map_err(|why| {
            failure::STATE
                .failure(printable(&format!("{}: {why}", path.display())))
                .hint("mend that file, or move it away: it holds comments that were not sent")
        })
    }

    /// Changes those that are kept for a worker, under a lock.
    pub fn update(root: &Path, worker: &str, change: impl FnOnce(&mut Comments) -> Result<()>) -> Result<Comments> {
        let path = layout::comments(root, worker);
        fs::create_private_dir(path.parent().unwrap_or(root))?;
        let _lock = Lock::take(&layout::lock(root, RootLock::Comments))?;
        let mut kept = Comments::load(root, worker)?;
        let before = kept.clone();
        change(&mut kept)?;
        kept.v = 1;
        if kept.comments.is_empty() {
            fs::remove(&path)?;
        } else if kept != before {
            let text = serde_json::to_vec_pretty(&kept)
                .map_err(|error| Failure::failed(format!("cannot write {}", path.display())).because(error))?;
            fs::replace(&path, &text, Some(fs::PRIVATE))?;
        }
        Ok(kept)
    }
}
