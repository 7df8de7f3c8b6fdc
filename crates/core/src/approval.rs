//! Approvals: which bytes of a repository's own files a person has agreed to. One mechanism for
//! everything a checked-in file could make a tool run or touch.
//!
//! An approval is a clone (its canonical common directory), a file of it and the SHA-256 of the
//! bytes: it holds for all worktrees of that clone and for no other, also for none that is made anew
//! at its path. No environment variable grants one, since agents inherit the environment.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::env::Env;
use crate::error::{At, Failure, Result};
use crate::fs;
use crate::hash::Digest;
use crate::lock::Lock;
use crate::text::{Position, shell_word};

/// Whether a file may take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalStatus {
    /// There is nothing to approve.
    None,
    /// It takes effect only once it is approved.
    Required,
    /// A person approved these very bytes.
    Approved,
}

/// The user's approvals, as read from `$XDG_STATE_HOME/shopfloor/approvals.toml`.
#[derive(Debug)]
pub struct Approvals {
    path: PathBuf,
    store: Store,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Store {
    version: u32,
    #[serde(default, rename = "approval")]
    approvals: Vec<Approval>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Approval {
    common_dir: String,
    file: String,
    sha256: Digest,
    /// The random id that the common directory had then; earlier versions gave it none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// RFC 3339.
    approved: String,
    /// The text, kept for the latest approval of a file only: the base of the next diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

const VERSION: u32 = 1;

/// The longest text that is kept for a diff.
const KEPT: usize = 1 << 16;

impl Approvals {
    /// Reads the store; an absent one is empty. A newer or damaged one is refused (exit 2).
    pub fn load(env: &Env) -> Result<Approvals> {
        let path = store_path(env)?;
        let store = match fs::read_no_follow(&path)? {
            None => Store { version: VERSION, approvals: Vec::new() },
            Some(bytes) => parse(&path, &bytes)?,
        };
        Ok(Approvals { path, store })
    }

    /// Whether `bytes` of `file` are approved for the clone with this common directory.
    pub fn status(&self, common_dir: &Path, file: &str, bytes: &[u8]) -> Result<ApprovalStatus> {
        let digest = Digest::of(bytes);
        let approved = self.has(common_dir, file, &digest)?;
        Ok(if approved { ApprovalStatus::Approved } else { ApprovalStatus::Required })
    }

    /// The text approved last, to show what changed since.
    pub fn last_text(&self, common_dir: &Path, file: &str) -> Result<Option<String>> {
        Ok(self.of(common_dir, file)?.filter_map(|a| a.text.clone()).next_back())
    }

    /// Whether the bytes with this digest are approved for the clone with this common directory.
    pub fn has(&self, common_dir: &Path, file: &str, digest: &Digest) -> Result<bool> {
        Ok(self.of(common_dir, file)?.any(|a| a.sha256 == *digest))
    }

    /// How many approvals this clone has.
    pub fn count(&self, common_dir: &Path) -> Result<usize> {
        let clone = clone_id(common_dir)?;
        Ok(self.store.approvals.iter().filter(|a| a.common_dir == clone).count())
    }

    /// The approvals of a file of the clone that is at this path now.
    fn of<'a>(&'a self, common_dir: &Path, file: &'a str) -> Result<impl DoubleEndedIterator<Item = &'a Approval>> {
        let (clone, id) = (clone_id(common_dir)?, random_id(common_dir)?);
        let is_its = move |a: &&Approval| a.common_dir == clone && (a.id.is_none() || a.id == id);
        Ok(self.store.approvals.iter().filter(move |a| a.file == file).filter(is_its))
    }

    fn save(&self) -> Result<()> {
        let text =
            toml::to_string(&self.store).map_err(|e| Failure::failed("cannot write the approvals down").because(e))?;
        fs::replace(&self.path, text.as_bytes(), Some(fs::PRIVATE))
    }
}

/// Records, under the store's lock, that a person approved these bytes. All other approvals stay.
pub fn approve(env: &Env, common_dir: &Path, file: &str, text: &str) -> Result<()> {
    let clone = clone_id(common_dir)?;
    let (_lock, mut approvals) = lock(env)?;
    let id = match random_id(common_dir)? {
        Some(id) => id,
        None => {
            let id = Digest::random().to_string();
            fs::create_private_dir(&common_dir.join("shopfloor"))?;
            fs::replace(&id_file(common_dir), id.as_bytes(), Some(fs::PRIVATE))?;
            id
        }
    };
    let digest = Digest::of(text.as_bytes());
    approvals.store.approvals.retain(|a| !(a.common_dir == clone && a.file == file && a.sha256 == digest));
    for older in approvals.store.approvals.iter_mut().filter(|a| a.common_dir == clone && a.file == file) {
        older.text = None;
    }
    approvals.store.approvals.push(Approval {
        common_dir: clone,
        file: file.to_owned(),
        sha256: digest,
        id: Some(id),
        approved: env.now.to_string(),
        text: (text.len() <= KEPT).then(|| text.to_owned()),
    });
    approvals.save()
}

/// Takes back every approval of this clone and returns how many there were.
pub fn revoke(env: &Env, common_dir: &Path) -> Result<usize> {
    let clone = clone_id(common_dir)?;
    let (_lock, mut approvals) = lock(env)?;
    let before = approvals.store.approvals.len();
    approvals.store.approvals.retain(|a| a.common_dir != clone);
    let revoked = before - approvals.store.approvals.len();
    if revoked > 0 {
        approvals.save()?;
    }
    Ok(revoked)
}

fn lock(env: &Env) -> Result<(Lock, Approvals)> {
    let lock = Lock::take(&store_path(env)?.with_extension("lock"))?;
    Ok((lock, Approvals::load(env)?))
}

fn store_path(env: &Env) -> Result<PathBuf> {
    Ok(env.state_home().ok_or_else(|| Env::no_state_home("approvals"))?.join("approvals.toml"))
}

/// The canonical common directory; one that is not UTF-8 with its other bytes escaped.
fn clone_id(common_dir: &Path) -> Result<String> {
    let canonical = common_dir.canonicalize().at("resolve", common_dir)?.into_os_string();
    Ok(canonical.into_string().unwrap_or_else(|path| format!("escaped:{}", path.as_encoded_bytes().escape_ascii())))
}

fn id_file(common_dir: &Path) -> PathBuf {
    common_dir.join("shopfloor").join("approval-id")
}

/// What tells a clone from a later one at its path, if anything of it was ever approved. Nobody gains by writing another.
fn random_id(common_dir: &Path) -> Result<Option<String>> {
    let bytes = fs::read_no_follow(&id_file(common_dir))?;
    // What is no id of ours tells nothing apart.
    Ok(bytes.and_then(|bytes| Some(Digest::parse(std::str::from_utf8(&bytes).ok()?)?.to_string())))
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Store> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let malformed = |what: String| {
        Failure::malformed(format!("{}{what}", path.display()))
            .hint(format!("move {} away and approve again", shell_word(path)))
    };
    let text = std::str::from_utf8(bytes).map_err(|_| malformed(": not UTF-8".into()))?;
    let wrong = |e: toml::de::Error| {
        let at = Position::of(text, e.span().map_or(0, |span| span.start));
        malformed(format!(":{at}: {}", e.message()))
    };
    let versioned: Versioned = toml::from_str(text).map_err(wrong)?;
    if versioned.version > VERSION {
        return Err(Failure::malformed(format!(
            "{} has version {}, newer than this program knows",
            path.display(),
            versioned.version
        ))
        .hint("install the newest shopfloor"));
    }
    toml::from_str(text).map_err(wrong)
}
