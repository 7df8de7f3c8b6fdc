//! Drafts: the sections that a session keeps for its end, in private files of the repository.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;

use crate::scalar::{from_safe, safe};
use crate::settings::Effect;
use crate::tool::{AGENT_VARIABLE, SESSION_VARIABLE};

/// The draft of a session, locked while it is open.
pub struct SessionDraft {
    file: PathBuf,
    pub text: String,
    _lock: Option<Lock>,
}

/// The name of a session, from its id.
pub fn session_name(id: &str) -> String {
    id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(64).collect()
}

/// The name of a session as an agent, from its name.
pub fn short_name(session: &str) -> String {
    session.chars().take(8).collect()
}

/// The variables that name the agent, for commands outside a known session.
const AGENTS: [&str; 2] = [AGENT_VARIABLE, "SHOPFLOOR_AGENT_ID"];

fn variable(env: &Env, name: &str) -> Option<String> {
    env.var(name).map(|value| value.to_string_lossy().into_owned())
}

fn file_name(kind: &str, who: &str) -> String {
    format!("{kind}-{}.md", safe(who))
}

/// The draft of sessions that have no name.
const NOBODYS: &str = "draft.md";

impl SessionDraft {
    /// The draft of the caller: by session, otherwise by agent.
    pub fn path(env: &Env, drafts: &Path) -> PathBuf {
        let by_agent = || AGENTS.iter().find_map(|agent| variable(env, agent)).map(|agent| file_name("agent", &agent));
        let by_session = variable(env, SESSION_VARIABLE).map(|session| file_name("session", &session));
        drafts.join(by_session.or_else(by_agent).unwrap_or_else(|| NOBODYS.to_owned()))
    }

    /// Opens every draft that belongs in the event at the end of a session: its own, and the one without a name.
    pub fn open_all(env: &Env, drafts: &Path, session: &str, effect: Effect) -> Result<Vec<SessionDraft>> {
        let sessions = [Some(session.to_owned()), variable(env, SESSION_VARIABLE)].into_iter().flatten();
        let sessions = sessions.filter(|session| !session.is_empty()).map(|session| file_name("session", &session));
        let agents = AGENTS.iter().filter_map(|agent| variable(env, agent)).map(|agent| file_name("agent", &agent));
        let names: BTreeSet<String> = sessions.chain(agents).chain([NOBODYS.to_owned()]).collect();
        names.into_iter().map(|name| SessionDraft::open_for(drafts.join(name), effect)).collect()
    }

    /// Reads a draft without locking it.
    pub fn read(path: &Path) -> Result<String> {
        let bytes = fs::read_no_follow(path)?.unwrap_or_default();
        // Only damage makes it something other than text, and the rest is still worth keeping.
        Ok(String::from_utf8_lossy(&bytes).replace('\0', "\u{fffd}"))
    }

    pub fn open(path: PathBuf) -> Result<SessionDraft> {
        SessionDraft::open_for(path, Effect::Write)
    }

    /// The same; a dry run takes no lock, because that would make a file.
    fn open_for(path: PathBuf, effect: Effect) -> Result<SessionDraft> {
        let lock = if effect.is_dry() { None } else { Some(Lock::take(&path.with_extension("lock"))?) };
        let text = SessionDraft::read(&path)?;
        Ok(SessionDraft { file: path, text, _lock: lock })
    }

    /// Replaces its text.
    pub fn keep(&self, text: &str) -> Result<()> {
        fs::replace(&self.file, text.as_bytes(), Some(fs::PRIVATE))
    }

    pub fn remove(&self) -> Result<()> {
        fs::remove(&self.file)
    }
}

/// How long a session may leave its draft as it is before it is taken for one that ended without a word, as a killed
/// program does.
const QUIET: Duration = Duration::from_secs(24 * 60 * 60);

/// A draft that no session will write.
pub struct LeftDraft {
    pub path: PathBuf,
    /// Whose words they are, if the draft's name tells.
    pub agent: Option<String>,
    /// Why no session will write it.
    pub why: String,
}

impl LeftDraft {
    /// The drafts of removed worktrees, and those that nobody changed for a day. `drafts` has those of all worktrees of
    /// the repository at `common_dir`.
    pub fn find(env: &Env, drafts: &Path, common_dir: &Path) -> Result<Vec<LeftDraft>> {
        let mut left = LeftDraft::find_in(env, drafts, None)?;
        let linked = Path::new("worktrees");
        for name in fs::list(&drafts.join(linked))? {
            let is_there = common_dir.join(linked).join(&name).is_dir();
            let removed = (!is_there).then(|| name.to_string_lossy());
            left.extend(LeftDraft::find_in(env, &drafts.join(linked).join(&name), removed.as_deref())?);
        }
        Ok(left)
    }

    /// The same in one worktree's directory. `removed` is the worktree's name if it is removed.
    fn find_in(env: &Env, dir: &Path, removed: Option<&str>) -> Result<Vec<LeftDraft>> {
        let names = fs::list(dir)?.into_iter().filter_map(|name| name.into_string().ok());
        let left = names.filter_map(|name| {
            let path = dir.join(&name);
            let stem = name.strip_suffix(".md")?;
            let is_quiet = fs::age(&path, env.now).is_some_and(|age| age > QUIET);
            let why = match removed {
                Some(worktree) => format!("the worktree {worktree} is removed"),
                None if is_quiet => "nobody changed it for a day".to_owned(),
                None => return None,
            };
            let session = stem.strip_prefix("session-").map(|session| short_name(&from_safe(session)));
            let agent = session.or_else(|| stem.strip_prefix("agent-").map(from_safe));
            Some(LeftDraft { path, agent: agent.or_else(|| removed.map(str::to_owned)), why })
        });
        Ok(left.collect())
    }
}
