//! Drafts: the sections that a session keeps for its end, in the private state of the worktree.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;

use crate::settings::Effect;

use crate::scalar::safe;
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
    pub fn path(env: &Env, state: &Path) -> PathBuf {
        let by_agent = || AGENTS.iter().find_map(|agent| variable(env, agent)).map(|agent| file_name("agent", &agent));
        let by_session = variable(env, SESSION_VARIABLE).map(|session| file_name("session", &session));
        state.join(by_session.or_else(by_agent).unwrap_or_else(|| NOBODYS.to_owned()))
    }

    /// Opens every draft that belongs in the event at the end of a session: its own, and the one without a name.
    pub fn open_all(env: &Env, state: &Path, session: &str, effect: Effect) -> Result<Vec<SessionDraft>> {
        let sessions = [Some(session.to_owned()), variable(env, SESSION_VARIABLE)].into_iter().flatten();
        let sessions = sessions.filter(|session| !session.is_empty()).map(|session| file_name("session", &session));
        let agents = AGENTS.iter().filter_map(|agent| variable(env, agent)).map(|agent| file_name("agent", &agent));
        let names: BTreeSet<String> = sessions.chain(agents).chain([NOBODYS.to_owned()]).collect();
        names.into_iter().map(|name| SessionDraft::open_for(state.join(name), effect)).collect()
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
