//! An agent together with its worktree, and the files in that worktree that belong to it.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::identity::{Agent, AgentKind};
use crate::repository_view::Worktree;

/// What `.shopfloor/` of a worktree holds, relative to the top of the worktree.
pub const IGNORE_FILE: &str = ".shopfloor/.gitignore";
pub const ROLE_FILE: &str = ".shopfloor/config.local.toml";
pub const TASK_FILE: &str = ".shopfloor/task.md";
pub const SETTINGS_FILE: &str = ".shopfloor/settings.json";

/// The MCP configuration that agent programs find by themselves, and ours for worktrees where that one is checked in.
pub const MCP_FILE: &str = ".mcp.json";
pub const OWN_MCP_FILE: &str = ".shopfloor/mcp.json";

/// The directory of a seat's files, relative to the top of the worktree.
pub fn seat_dir(slug: &str) -> String {
    format!(".shopfloor/agents/{slug}")
}

/// An agent and its worktree.
#[derive(Clone, Debug)]
pub struct KnownAgent {
    pub agent: Agent,
    pub worktree: Worktree,
    /// Whether the agent was spawned or is the root; otherwise its worktree was made by hand.
    pub is_managed: bool,
    /// Why its record cannot be read, if so.
    pub error: Option<String>,
    /// What mends that.
    pub cure: String,
}

impl KnownAgent {
    /// An agent that was spawned, with a record that can be read.
    pub fn spawned(agent: Agent, worktree: Worktree) -> KnownAgent {
        KnownAgent { agent, worktree, is_managed: true, error: None, cure: String::new() }
    }

    /// The keys that every answer about an agent has. They are a promise. What a damaged record does not tell is null.
    pub fn keys(&self) -> Value {
        let (agent, path, is_known) = (&self.agent, self.worktree.path.to_string_lossy(), self.error.is_none());
        json!({
            "id": agent.id,
            "kind": is_known.then_some(agent.kind),
            "name": is_known.then_some(&agent.slug),
            "parent": agent.parent,
            "birth_branch": agent.birth_branch.as_ref().filter(|_| is_known),
            "level": is_known.then_some(agent.level),
            "path": path,
            "worktree": path,
        })
    }

    /// Whether the agent was removed and only its identity is left.
    pub fn is_gone(&self) -> bool {
        self.worktree.is_lost && !self.is_managed && self.error.is_none()
    }

    /// The directory of a seat's files.
    pub fn seat_dir(&self) -> PathBuf {
        self.worktree.path.join(seat_dir(&self.agent.slug))
    }

    /// The file with the agent's settings, ours.
    pub fn config_file(&self) -> PathBuf {
        match self.agent.kind {
            AgentKind::Worker => self.seat_dir().join("settings.json"),
            AgentKind::Root | AgentKind::Subtree => self.worktree.path.join(ROLE_FILE),
        }
    }

    /// The file with the agent's task, whether it exists or not.
    pub fn task_file(&self) -> PathBuf {
        match self.agent.kind {
            AgentKind::Worker => self.seat_dir().join("task.md"),
            AgentKind::Root | AgentKind::Subtree => self.worktree.path.join(TASK_FILE),
        }
    }
}
