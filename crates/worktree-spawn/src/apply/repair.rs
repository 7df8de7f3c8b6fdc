//! Repairs: reconnecting moved worktrees, restoring agents' configuration, and forwarding events of agents that were
//! removed by hand.

use std::os::unix::ffi::OsStrExt;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::Git;
use shopfloor_core::known_dirs::note_worktree;
use shopfloor_core::lock::Lock;

use super::agent_config_files;
use super::{runs, send_event};
use crate::agent_in_worktree::{KnownAgent, MCP_FILE, OWN_MCP_FILE};
use crate::agent_run;
use crate::facts::agents;
use crate::facts::moved::{MovedWorktree, listed_as_gone};
use crate::identity::{Agent, AgentKind, ROOT};
use crate::repository_view::Place;
use crate::spool;

/// Writes a worktree's new path into git's record, and the record's path into the worktree, if that still says what was
/// found there.
pub fn reconnect(place: &Place, moved: &MovedWorktree) -> Result<()> {
    let MovedWorktree { worktree, path, dir, says } = moved;
    place.record_path(&worktree.git_dir, path)?;
    let line = [b"gitdir: ", worktree.git_dir.as_os_str().as_bytes(), b"\n"].concat();
    match says.as_ref().map_or_else(|| dir.create_dot_git(&line), |says| dir.swap_dot_git(says, &line))? {
        true => Ok(()),
        false => {
            Err(Failure::failed(format!("{} changed meanwhile", path.join(".git").display()))
                .hint("run the command again"))
        }
    }
}

/// Lists the worktrees of a moved repository as its own again, and says which.
pub fn relist(env: &Env, place: &Place, tell: &dyn Fn(String)) -> Result<()> {
    for path in listed_as_gone(place)? {
        note_worktree(env, &path, &place.common_dir)?;
        tell(format!("listed {} as a worktree of this repository", path.display()));
    }
    Ok(())
}

/// Restores the configuration of agents whose files were deleted, and says for which. Tasks cannot be restored.
pub fn restore_files(env: &Env, place: &Place, tell: &dyn Fn(String)) -> Result<()> {
    let git = Git::find(env)?;
    for known in agents::all(place)?.iter().filter(|known| lacks_files(known)) {
        let id = &known.agent.id;
        // Nothing is written into a worktree that is not the one that the repository has recorded.
        if let Err(failure) = known.worktree.git(&git, place) {
            tell(format!("left {id} alone: {failure}"));
            continue;
        }
        let restored = match known.agent.kind {
            AgentKind::Worker => agent_config_files::seat(env, known, None).map(drop),
            _ => agent_config_files::connect(env, &known.worktree, &known.agent, MCP_FILE).map(drop),
        };
        match restored {
            Ok(()) => tell(format!("restored the configuration of {id}")),
            Err(failure) => tell(format!("cannot restore the configuration of {id}: {failure}")),
        }
    }
    Ok(())
}

/// Whether an agent that is at its place has lost its configuration.
pub fn lacks_files(known: &KnownAgent) -> bool {
    if !known.is_managed || known.worktree.is_lost {
        return false;
    }
    let is_there = |name: &str| fs::is_there(&known.worktree.path.join(name)).unwrap_or(true);
    match known.agent.kind {
        AgentKind::Subtree => !is_there(MCP_FILE) && !is_there(OWN_MCP_FILE),
        AgentKind::Worker => matches!(fs::is_there(&known.seat_dir().join("settings.json")), Ok(false)),
        AgentKind::Root => false,
    }
}

/// Forwards the events of agents that were removed by hand to their nearest ancestors, and says for which.
pub fn bury_orphans(env: &Env, place: &Place, _lock: &Lock, tell: &dyn Fn(String)) -> Result<()> {
    let all = agents::all(place)?;
    for spool in spool::all(&place.shared())? {
        if spool.session == ROOT || all.iter().any(|known| known.agent.id == spool.session) {
            continue;
        }
        let (parents, waiting) = (spool.parents()?, spool.pending()?);
        let heir = match spool.forwards_to()? {
            // A killed removal may have left events behind the tombstone.
            Some(heir) if waiting > 0 => heir,
            None if !parents.is_empty() => {
                send_event::heir(place, &Agent { parents, ..Agent::root(&spool.session, None, env.now) })?
            }
            _ => continue,
        };
        spool.bury(&place.shared(), &heir, None)?;
        tell(format!("{} is gone; {waiting} events for it go to {heir}", spool.session));
    }
    Ok(())
}

/// Reports the deaths that nobody has reported.
pub fn report_deaths(env: &Env, place: &Place) -> Result<()> {
    for run in agent_run::all(&place.shared())?.into_iter().filter(|run| run.ended.is_none()) {
        runs::report_death(env, place, &run.agent.id)?;
    }
    Ok(())
}
