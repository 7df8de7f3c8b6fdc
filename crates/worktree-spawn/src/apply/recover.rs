//! Finishing the removals and undoing the spawns of killed commands.

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::git::Git;

use super::lock_and_excludes::lock;
use super::remove;
use super::undo::{self, LostWorktrees, UndoneSpawn};
use crate::journal::{self, RemovalJournal, SpawnJournal};
use crate::repository_view::Place;

/// Finishes killed removals if there are any, because their agents' events wait for that.
pub fn finish_removals(env: &Env, place: &Place) -> Result<Vec<String>> {
    // The events of an agent of which only files are left are forwarded.
    let left = journal::left_behind::<RemovalJournal>(&place.shared())?;
    if left.iter().all(|(_, uid, removal)| removal.is_tried && remove::leftover(place, uid).is_some()) {
        return Ok(Vec::new());
    }
    let _lock = lock(place)?;
    remove::recover(place, &Git::find(env)?)
}

/// Finishes killed removals and undoes killed spawns, and says what became of each. A failure does not stop the others
/// from being recovered. Places of worktrees that are gone can be another repository's from then on. The caller holds
/// the repository's lock.
pub fn recover(place: &Place, git: &Git, lost: LostWorktrees) -> Result<Vec<String>> {
    let mut notes = remove::recover(place, git)?;
    let (abandoned, unreadable) = journal::abandoned::<SpawnJournal>(&place.shared())?;
    notes.extend(unreadable);
    for open in abandoned {
        let id = open.id.clone();
        notes.push(match undo::undo(place, git, open, lost) {
            Ok(UndoneSpawn::Undone(left)) => format!("undid the spawn of {id}, which was killed{left}"),
            Ok(left) => format!("the spawn of {id} was killed; {}", left.describe(&id)),
            Err(failure) => format!("cannot undo the spawn of {id}, which was killed: {failure}"),
        });
    }
    notes.extend(remove::free_places(place));
    Ok(notes)
}
