//! Repairs: reconnecting moved worktrees, restoring agents' configuration, and forwarding events of agents that were
//! removed by hand.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::git::Git;
use shopfloor_core::lock::Lock;

use super::files;
use super::{post, runs};
use crate::agent_run;
use crate::facts::agents;
use crate::facts::moved::MovedWorktree;
use crate::identity::{Agent, AgentKind, ROOT};
use crate::known_agent::{KnownAgent, MCP_FILE, OWN_MCP_FILE};
use crate::place::Place;
use crate::spool::{self, Spool};

/// Writes a worktree's new path into git's record, and the record's path into the worktree, if that still says what was
/// found there.
pub fn reconnect(place: &Place, moved: &MovedWorktree) -> Result<()> {
    let MovedWorktree { worktree, path, dir, says } = moved;
    let text = |path: &Path| [path.as_os_str().as_bytes(), b"\n"].concat();
    place.replace_in_record(&worktree.git_dir, "gitdir", &text(&path.join(".git")))?;
    match dir.swap_dot_git(says, &[b"gitdir: ", &text(&worktree.git_dir)[..]].concat())? {
        true => Ok(()),
        false => {
            Err(Failure::failed(format!("{} changed meanwhile", path.join(".git").display()))
                .hint("run the command again"))
        }
    }
}

/// Restores the configuration of agents whose files were deleted, and says for which. Tasks cannot be restored.
pub fn restore_files(env: &Env, place: &Place, tell: &dyn Fn(String)) -> Result<()> {
    for known in agents::all(place)?.iter().filter(|known| known.is_managed && !known.worktree.is_lost) {
        let id = &known.agent.id;
        // Nothing is written into a worktree that is not the one that the repository has recorded.
        let git = Git::find(env)?;
        if let Err(failure) = known.worktree.git(&git, place) {
            tell(format!("left {id} alone: {failure}"));
            continue;
        }
        match restore(env, known) {
            Ok(true) => tell(format!("restored the configuration of {id}")),
            Ok(false) => {}
            Err(failure) => tell(format!("cannot restore the configuration of {id}: {failure}")),
        }
    }
    Ok(())
}

/// Whether an agent's configuration is missing.
pub fn lacks_files(known: &KnownAgent) -> bool {
    let is_there = |name: &str| known.worktree.path.join(name).exists();
    match known.agent.kind {
        AgentKind::Subtree => !is_there(MCP_FILE) && !is_there(OWN_MCP_FILE),
        AgentKind::Worker => !known.seat_dir().join("settings.json").exists(),
        AgentKind::Root => false,
    }
}

/// Restores one agent's configuration. `false` if nothing was missing.
fn restore(env: &Env, known: &KnownAgent) -> Result<bool> {
    if !lacks_files(known) {
        return Ok(false);
    }
    match known.agent.kind {
        AgentKind::Worker => files::seat(env, known, None).map(drop)?,
        _ => files::connect(env, &known.worktree, &known.agent, MCP_FILE).map(drop)?,
    }
    Ok(true)
}

/// Forwards the events of agents that were removed by hand to their nearest ancestors, and says for which.
pub fn bury_orphans(env: &Env, place: &Place, _lock: &Lock, tell: &dyn Fn(String)) -> Result<()> {
    let all = agents::all(place)?;
    for spool in spool::all(&place.shared())? {
        let gone = |heir: &str, waiting: usize| {
            tell(format!("{} is gone; {waiting} events for it go to {heir}", spool.session));
        };
        let is_there = spool.session == ROOT || all.iter().any(|known| known.agent.id == spool.session);
        let parents = spool.parents()?;
        // A killed removal may have left events behind the tombstone.
        if let Some(heir) = spool.forwards_to()? {
            let waiting = spool.pending()?;
            if waiting > 0 && !is_there {
                spool.bury(&place.shared(), &heir, None)?;
                gone(&heir, waiting);
            }
            continue;
        }
        if is_there || parents.is_empty() {
            continue;
        }
        let mut agent = Agent::root(&spool.session, None, env.now);
        agent.parents = parents;
        let heir = post::heir(place, &agent)?;
        let waiting = spool.pending()?;
        Spool::new(&place.shared(), &spool.session).bury(&place.shared(), &heir, None)?;
        gone(&heir, waiting);
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
