//! Rebuilds the state from the worktrees. Facts that git does not have come from the newest readable backup, or from
//! the event log if that is newer.

use std::path::PathBuf;

use shopfloor_core::error::Result;
use shopfloor_core::fs;

use crate::apply::repair;
use crate::context::Context;
use crate::failure;
use crate::layout::{self, RootLock};
use crate::log;
use crate::store::{self, State};
use crate::worker::Worker;

/// A rebuilt state that has not been written yet.
pub struct Rebuilt {
    pub state: State,
    /// The bytes of the file that this state replaces.
    replaces: Option<Vec<u8>>,
}

/// Reads the worktrees. A worker that cannot be read is left out with a warning.
pub fn read(ctx: &Context<'_>) -> Result<Rebuilt> {
    let root = &ctx.root.path;
    let replaces = fs::read_no_follow(&layout::state(root))?;
    if let Some(bytes) = &replaces {
        store::refuse_newer(&layout::state(root), bytes)?;
    }
    let earlier = store::newest_readable(root);
    let logged = log::last_of_each(root)?;
    let mut state = State::new(&store::last_tmux_socket(root));
    let newest = logged.values().filter_map(|record| record["revision"].as_u64()).max();
    let revision = earlier.as_ref().map(|earlier| earlier.revision);
    state.revision = revision.max(newest).map_or(0, |revision| revision + 1);
    state.last_reviewed = earlier.as_ref().and_then(|earlier| earlier.last_reviewed.clone());
    // Which worktrees of the person's own repository are workers' only an earlier state knows.
    let known: Vec<_> = earlier.iter().flat_map(|state| &state.workers).collect();
    let adopted = known.iter().filter(|(_, worker)| worker.adopted.is_some());
    let adopted = adopted.map(|(_, worker)| (worker.name.clone(), PathBuf::from(&worker.worktree_path)));
    for (name, path) in worktrees(ctx)?.into_iter().chain(adopted) {
        let before = earlier.as_ref().and_then(|state| state.workers.get(&name));
        // Use the log only if its record is of a later revision than the backup.
        let later = logged.get(&name).filter(|record| record["revision"].as_u64() > revision);
        match repair::derive(ctx, &name, &path, before, later) {
            Ok(worker) => drop(state.workers.insert(name, worker)),
            Err(failure) => ctx.ui.warn(format!("{name} is left out: {failure}")),
        }
    }
    let is_missing =
        |(name, worker): &(&String, &Worker)| worker.adopted.is_none() && !state.workers.contains_key(*name);
    for (name, _) in known.into_iter().filter(is_missing) {
        let tree = layout::worktree(root, name);
        ctx.ui.warn(format!(
            "{name} is left out, because git lists no worktree {}; if the root was moved, move it back first",
            tree.display()
        ));
    }
    Ok(Rebuilt { state, replaces })
}

/// The worktrees of workers, by name.
fn worktrees(ctx: &Context<'_>) -> Result<Vec<(String, PathBuf)>> {
    let all = layout::worktrees(&ctx.root.path);
    let own = ctx.clone.trees()?.into_keys().filter(|path| path.parent() == Some(&all) && path.is_dir());
    Ok(own.filter_map(|path| Some((path.file_name()?.to_string_lossy().into_owned(), path))).collect())
}

/// Writes the rebuilt state, unless the file has changed since. The replaced file is kept beside it.
pub fn write(ctx: &Context<'_>, rebuilt: &Rebuilt) -> Result<()> {
    let root = &ctx.root.path;
    let _lock = ctx.lock_root(RootLock::State)?;
    if fs::read_no_follow(&layout::state(root))? != rebuilt.replaces {
        return Err(failure::MOVED.failure("the state changed meanwhile").hint("run the same command again"));
    }
    if let Some(bytes) = fs::read_own(&layout::state(root))? {
        let time = ctx.env.later().now.strftime("%Y%m%dT%H%M%SZ").to_string();
        fs::replace(&root.join(format!("state.json.before-{time}")), &bytes, Some(fs::PRIVATE))?;
    }
    store::create(root, &rebuilt.state)
}
