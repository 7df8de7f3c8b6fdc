//! What every change to worktrees shares: the surroundings of a spawn, the repository's lock, and the exclude lines.

use std::collections::BTreeSet;
use std::path::Path;

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::git::Git;
use shopfloor_core::lock::Lock;
use shopfloor_core::ui::{Spinner, Ui};

use crate::agent_in_worktree::{KnownAgent, MCP_FILE, OWN_MCP_FILE};
use crate::excludes;
use crate::facts::agents;
use crate::identity::{Agent, AgentKind};
use crate::plan::spawn::exclude;
use crate::repository_view::Place;

/// What all steps of a spawn need.
#[derive(Clone, Copy)]
pub struct SpawnContext<'a> {
    /// Shows what hooks print, unchanged.
    pub ui: &'a Ui,
    pub spinner: Option<&'a Spinner>,
    pub env: &'a Env,
    pub place: &'a Place,
    pub git: &'a Git,
}

/// Takes the lock under which git's records of worktrees and ours are made and removed.
pub fn lock(place: &Place) -> Result<Lock> {
    Lock::take(&place.shared().join("lock"))
}

/// The lines that keep children and our files out of every `git status`.
pub fn state_lines() -> impl Iterator<Item = String> {
    excludes::STATE.iter().map(|line| (*line).to_owned())
}

/// The lines for what an agent's program leaves where it works. They stay after the agent, as the files may.
pub fn leftover_lines(agent: &Agent) -> impl Iterator<Item = String> {
    let program = agent.agent.as_deref().and_then(shopfloor_core::agents::find);
    program.into_iter().flat_map(|program| program.leaves).map(|line| (*line).to_owned())
}

/// Edits `info/exclude` if that changes something.
fn edit_excludes(place: &Place, edit: impl Fn(&[u8]) -> Vec<u8>) -> Result<()> {
    let repo = place.repo();
    let before = repo.read_exclude()?;
    if edit(&before) == before { Ok(()) } else { repo.rewrite_exclude(|text| Ok(edit(text))) }
}

/// Adds lines to `info/exclude` that are not there yet.
pub fn add_excludes(place: &Place, patterns: &[String]) -> Result<()> {
    edit_excludes(place, |text| excludes::with(text, patterns))
}

/// Restores the lines that keep children and their files out of their parents' status.
pub fn restore_excludes(place: &Place) -> Result<()> {
    add_excludes(place, &needed_excludes(place)?)
}

/// Whether such a line is missing.
pub fn lacks_excludes(place: &Place) -> Result<bool> {
    let before = place.repo().read_exclude()?;
    Ok(excludes::with(&before, &needed_excludes(place)?) != before)
}

/// The lines for all agents and their programs, and the one for `.mcp.json` while there is a subtree that has this file of
/// ours.
fn needed_excludes(place: &Place) -> Result<Vec<String>> {
    let all = agents::all(place)?;
    let is_ours = |known: &KnownAgent| {
        known.agent.kind == AgentKind::Subtree
            && known.worktree.path.join(MCP_FILE).exists()
            && !known.worktree.path.join(OWN_MCP_FILE).exists()
    };
    let mcp = all.iter().any(is_ours).then(|| excludes::MCP.to_owned());
    let state = state_lines().filter(|_| all.iter().any(is_made));
    let leftovers: BTreeSet<String> = all.iter().flat_map(|known| leftover_lines(&known.agent)).collect();
    Ok(state.chain(mcp).chain(leftovers).collect())
}

/// Whether an agent was made by us, or may have been.
fn is_made(known: &KnownAgent) -> bool {
    known.error.is_some() || known.is_managed && known.agent.kind != AgentKind::Root
}

/// Deletes the lines that hid a worktree that is gone: its own, that for `.mcp.json` with the last subtree, and those for
/// all agents with the last of them. What is left of `.shopfloor/` ignores itself.
pub fn release_excludes(place: &Place, path: &Path) -> Result<()> {
    let all = agents::all(place)?;
    // A later worktree at the same place needs its line.
    let own = exclude(&all, path).filter(|_| all.iter().all(|known| known.worktree.path != path));
    let is_last = !all.iter().any(|known| known.agent.kind == AgentKind::Subtree || known.error.is_some());
    let mcp = is_last.then(|| excludes::MCP.to_owned());
    let state = state_lines().filter(|_| !all.iter().any(is_made));
    let lines: Vec<String> = own.into_iter().chain(mcp).chain(state).collect();
    edit_excludes(place, |text| lines.iter().fold(text.to_vec(), |text, line| excludes::without(&text, line)))
}
