//! Drafts: the sections that a session keeps for its end, in private files of the repository.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{self, Root};
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;
use shopfloor_core::path::RelPath;

use crate::event_file::LIMIT;
use crate::event_time::EventTime;
use crate::tool::{AGENT_VARIABLE, SESSION_VARIABLE};
use crate::yaml_scalar::{from_safe, safe};

/// The draft of a session, locked while it is open.
pub struct SessionDraft {
    file: PathBuf,
    pub text: String,
    _lock: Option<Lock>,
}

/// The directory of drafts below the git directory that all worktrees share.
pub const DRAFTS: &str = "shopfloor/ledger-synth/drafts";

/// The longest name of a session.
const NAME: usize = 64;

/// The name of a session, from its id. Names of different ids differ, and a name is its own.
pub fn session_name(id: &str) -> String {
    let name: String = id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(NAME).collect();
    if name == id {
        return name;
    }
    let hash = &Digest::of(id.as_bytes()).to_string()[..8];
    format!("{}-{hash}", &name[..name.len().min(NAME - 9)])
}

/// The name of a session as an agent, from its name: the part of a UUID that differs between sessions. One of version 7
/// begins with the time.
pub fn short_name(session: &str) -> String {
    let begins_with_time = session.len() == 36 && session.as_bytes()[14] == b'7';
    session.chars().skip(if begins_with_time { 28 } else { 0 }).take(8).collect()
}

/// The name of the session that the caller is part of: as it was told, otherwise as the agent's program says.
pub fn session(env: &Env) -> Option<String> {
    let names = [SESSION_VARIABLE, "CODEX_SESSION_ID", "CLAUDE_CODE_SESSION_ID"];
    names.iter().find_map(|name| variable(env, name)).map(|id| session_name(&id)).filter(|name| !name.is_empty())
}

/// The variables that name the agent, for commands outside a known session.
const AGENTS: [&str; 2] = [AGENT_VARIABLE, "SHOPFLOOR_AGENT_ID"];

fn variable(env: &Env, name: &str) -> Option<String> {
    env.var(name).map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.trim().is_empty())
}

fn file_name(kind: &str, who: &str) -> String {
    format!("{kind}-{}.md", safe(who))
}

fn lock_of(draft: &Path) -> PathBuf {
    draft.with_extension("lock")
}

/// The git directory that a draft is in, and its path below that. No link is followed from there, because whoever can
/// write there could lead us to a file of a person's.
fn anchored(draft: &Path) -> Result<(Root, RelPath)> {
    let drafts = draft.ancestors().find(|dir| dir.ends_with(DRAFTS));
    let git_dir = drafts.and_then(|dir| dir.ancestors().nth(3)).unwrap_or(draft);
    let below = RelPath::parse_os(draft.strip_prefix(git_dir).unwrap_or(draft).as_os_str());
    let below = below.map_err(|why| Failure::failed(format!("{}: {why}", draft.display())))?;
    Ok((Root::open(git_dir)?, below))
}

/// What the frontmatter of an event needs at most.
const ROOM: usize = 16 << 10;

/// The draft of sessions that have no name.
const NOBODYS: &str = "draft.md";

impl SessionDraft {
    /// The draft of the caller: by session, otherwise by agent.
    pub fn path(env: &Env, drafts: &DraftDirs) -> PathBuf {
        let by_agent = || AGENTS.iter().find_map(|agent| variable(env, agent)).map(|agent| file_name("agent", &agent));
        let by_session = session(env).map(|session| file_name("session", &session));
        drafts.own.join(by_session.or_else(by_agent).unwrap_or_else(|| NOBODYS.to_owned()))
    }

    /// Opens every draft that belongs in the event at the end of a session: its own, and the one without a name.
    pub fn open_all(env: &Env, drafts: &DraftDirs, session: &str, is_dry: bool) -> Result<Vec<SessionDraft>> {
        let told = variable(env, SESSION_VARIABLE).map(|id| session_name(&id));
        let sessions = [Some(session.to_owned()), told].into_iter().flatten();
        let sessions = sessions.filter(|session| !session.is_empty()).map(|session| file_name("session", &session));
        let agents = AGENTS.iter().filter_map(|agent| variable(env, agent)).map(|agent| file_name("agent", &agent));
        let names: BTreeSet<String> = sessions.chain(agents).chain([NOBODYS.to_owned()]).collect();
        let paths = names.into_iter().map(|name| drafts.own.join(name)).filter(|path| path.symlink_metadata().is_ok());
        paths.map(|path| SessionDraft::open(path, is_dry)).collect()
    }

    /// The bytes of a draft; none if there is no draft.
    pub fn bytes(path: &Path) -> Result<Vec<u8>> {
        let (git_dir, below) = anchored(path)?;
        Ok(git_dir.read(&below)?.unwrap_or_default())
    }

    /// Reads a draft without locking it.
    pub fn read(path: &Path) -> Result<String> {
        let bytes = SessionDraft::bytes(path)?;
        // Only damage makes it something other than text, and the rest is still worth keeping.
        Ok(String::from_utf8_lossy(&bytes).replace('\0', "\u{fffd}"))
    }

    /// Opens a draft. A dry run takes no lock, because that would make a file.
    pub fn open(path: PathBuf, is_dry: bool) -> Result<SessionDraft> {
        let lock = if is_dry { None } else { Some(Lock::take(&lock_of(&path))?) };
        let text = SessionDraft::read(&path)?;
        Ok(SessionDraft { file: path, text, _lock: lock })
    }

    /// Replaces its text. A draft is written as an event one day, so it must not be larger than one.
    pub fn keep(&self, text: &str) -> Result<()> {
        if text.len() > LIMIT - ROOM {
            return Err(Failure::usage("the draft would be larger than an event may be (1 MiB)")
                .hint("write an event first: `ledger-synth add`, without `--draft`"));
        }
        fs::replace(&self.file, text.as_bytes(), Some(fs::PRIVATE))
    }

    /// Removes it, and its lock.
    pub fn remove(&self) -> Result<()> {
        let (git_dir, below) = anchored(&self.file)?;
        git_dir.unlink(&below)?;
        fs::remove(&lock_of(&self.file))
    }
}

/// Where drafts are. Each worktree has a directory, named after it and the time at which it was added: another worktree
/// may get its name when it is removed.
pub struct DraftDirs {
    all: PathBuf,
    own: PathBuf,
    /// git's directory of worktrees.
    worktrees: PathBuf,
}

/// The directory in [`DraftDirs::all`] of the worktrees besides the main checkout.
const LINKED: &str = "worktrees";

/// How long a session may leave its draft as it is before it is taken for one that ended without a word, as a killed
/// program does.
const UNTOUCHED: Duration = Duration::from_secs(24 * 60 * 60);

impl DraftDirs {
    pub fn new(all: &Path, common_dir: &Path, git_dir: &Path) -> DraftDirs {
        let own = if git_dir == common_dir { all.to_path_buf() } else { all.join(LINKED).join(key(git_dir)) };
        DraftDirs { all: all.to_path_buf(), own, worktrees: common_dir.join("worktrees") }
    }

    /// The drafts that no session will write: those of removed worktrees, and those of this one that nobody changed for
    /// a day.
    pub fn left(&self, env: &Env) -> Result<Vec<LeftDraft>> {
        let mut left = LeftDraft::find(&self.own, None)?;
        left.retain(|draft| fs::age(&draft.path, env.now).is_some_and(|age| age > UNTOUCHED));
        // Listed first, so that a worktree that is added now does not count as removed.
        let dirs = fs::list(&self.all.join(LINKED))?;
        let there = fs::list(&self.worktrees)?;
        let there: BTreeSet<String> = there.iter().map(|name| key(&self.worktrees.join(name))).collect();
        for name in dirs {
            let name = name.to_string_lossy().into_owned();
            if !there.contains(&name) {
                let worktree = name.rsplit_once('-').map_or(&*name, |(worktree, _)| worktree);
                left.extend(LeftDraft::find(&self.all.join(LINKED).join(&name), Some(worktree))?);
            }
        }
        Ok(left)
    }
}

/// The name of a worktree in git, and when it was added: git writes the file `commondir` only then.
fn key(git_dir: &Path) -> String {
    let name = git_dir.file_name().unwrap_or_default().to_string_lossy();
    let added = fs::changed(&git_dir.join("commondir")).unwrap_or_default();
    format!("{name}-{}", added.as_millisecond())
}

/// A draft that no session will write.
pub struct LeftDraft {
    pub path: PathBuf,
    /// Whose words they are, if the draft tells.
    pub agent: Option<String>,
    /// The worktree that it is of, which is removed. None: nobody changed it for a day.
    pub removed: Option<String>,
}

impl LeftDraft {
    /// When it was kept.
    pub fn ts(&self) -> EventTime {
        let changed = fs::changed(&self.path).unwrap_or_default();
        // Milliseconds are enough, and keep file names short.
        Timestamp::from_millisecond(changed.as_millisecond()).unwrap_or(changed).into()
    }

    /// The drafts in a directory, which may be that of a removed worktree.
    fn find(dir: &Path, removed: Option<&str>) -> Result<Vec<LeftDraft>> {
        let names = fs::list(dir)?.into_iter().filter_map(|name| name.into_string().ok());
        let left = names.filter_map(|name| {
            let stem = name.strip_suffix(".md")?;
            let by_session = stem.strip_prefix("session-").map(|session| short_name(&from_safe(session)));
            let by_name = || stem.strip_prefix("agent-").map(from_safe);
            let removed = removed.map(str::to_owned);
            let agent = by_session.or_else(by_name).or_else(|| removed.clone());
            Some(LeftDraft { path: dir.join(&name), agent, removed })
        });
        Ok(left.collect())
    }
}
