//! `remove`: take an agent's worktree or seat away, where nothing is lost.

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::Git;
use shopfloor_core::ui::{Ui, printable};

use crate::apply::remove::{self, Removed};
use crate::apply::spawn;
use crate::cli::RemoveArgs;
use crate::facts::agents::{self, Known};
use crate::facts::place::Place;
use crate::facts::removal::{Look, condition};
use crate::identity::Kind;
use crate::plan::removal::{Removal, Wish, removal};
use crate::settings::{Flags, Settings};

pub fn run(ui: &Ui, env: &Env, args: &RemoveArgs) -> Result<Exit> {
    let place = Place::find(env)?;
    remove(ui, env, &place, args)
}

/// Checks all that would go, then takes it away, the deepest first.
pub fn remove(ui: &Ui, env: &Env, place: &Place, args: &RemoveArgs) -> Result<Exit> {
    let git = Git::find(env)?;
    let settings = Settings::load(env, place, Flags::default())?;
    let look = Look { env, place, git: &git, probe: settings.probe.as_ref() };
    let mut lock = spawn::lock(place)?;
    spawn::recover(place, &git, false)?.iter().for_each(|said| ui.note(said));
    let mut removals = planned(&look, args)?;
    if !args.dry_run.dry_run {
        // The other tools are asked without the lock, and then all is looked at again.
        drop(lock);
        for removal in &removals {
            remove::take_leave(env, place, removal, args.force)?.iter().for_each(|note| ui.note(note));
        }
        lock = spawn::lock(place)?;
        removals = planned(&look, args)?;
    }
    let is_one = removals.len() == 1;
    for planned_first in removals {
        let id = planned_first.condition.known.agent.id.clone();
        let (removal, done) = if args.dry_run.dry_run {
            let notes = planned_first.says.clone().into_iter().collect();
            (planned_first, Removed { notes, ..Removed::default() })
        } else if is_one {
            let done = remove::remove(env, place, &git, &planned_first, &lock)?;
            (planned_first, done)
        } else {
            // The others have taken their time: what came meanwhile is taken in too.
            drop(lock);
            remove::take_leave(env, place, &planned_first, args.force)?.iter().for_each(|note| ui.note(note));
            lock = spawn::lock(place)?;
            let known = agents::require(place, &id)?;
            let removal = removal(condition(&look, &known, &agents::all(place)?)?, wish(args))?;
            let done = remove::remove(env, place, &git, &removal, &lock)?;
            (removal, done)
        };
        let agent = &removal.condition.known.agent;
        if ui.is_json() {
            let branch = match args.dry_run.dry_run {
                true => removal.deletes.as_ref().map(|(name, _)| name.clone()),
                false => done.deleted_branch.clone(),
            };
            ui.json(&json!({
                "id": agent.id, "path": removal.condition.known.tree.path, "removed": !args.dry_run.dry_run,
                "deleted_branch": branch, "trash": done.trash, "notes": done.notes,
            }));
            continue;
        }
        if args.dry_run.dry_run {
            let path = removal.condition.known.tree.path.to_string_lossy().into_owned();
            ui.line(format!("would remove {} at {}", printable(&agent.id), printable(&path)));
            if removal.keeps_trash {
                ui.line(format!("would keep what it has under refs/shopfloor/trash/{}/", printable(&agent.id)));
            }
            if let Some((branch, _)) = &removal.deletes {
                ui.line(format!("would delete the branch {}", printable(branch)));
            }
        }
        tell(ui, &done);
    }
    Ok(Exit::Done)
}

/// The ref that keeps something is the answer; the rest is narration.
fn tell(ui: &Ui, done: &Removed) {
    if let Some(trash) = &done.trash {
        ui.line(printable(trash));
    }
    if let Some(branch) = &done.deleted_branch {
        ui.note(format!("deleted the branch {branch}, all of which is merged or kept"));
    }
    done.notes.iter().for_each(|note| ui.note(note));
}

fn wish(args: &RemoveArgs) -> Wish {
    Wish { force: args.force, delete_branch: args.delete_branch, keep_branch: args.keep_branch }
}

/// What goes, in order; or why nothing does.
fn planned(look: &Look<'_>, args: &RemoveArgs) -> Result<Vec<Removal>> {
    let place = look.place;
    let target = agents::require(place, &args.id)?;
    let all = agents::all(place)?;
    let mut going = vec![target.clone()];
    if target.agent.kind != Kind::Worker {
        let is_below = |other: &&Known| {
            other.agent.id != target.agent.id
                && other.agent.kind != Kind::Worker
                && (other.tree.path.starts_with(&target.tree.path) || other.agent.parents.contains(&target.agent.id))
        };
        let below: Vec<Known> = all.iter().filter(is_below).cloned().collect();
        let inside: Vec<String> = below
            .iter()
            .filter(|other| other.tree.path.starts_with(&target.tree.path))
            .map(|other| format!("  {} at {}", other.agent.id, other.tree.path.display()))
            .collect();
        if !args.recursive && !inside.is_empty() {
            return Err(Failure::new(
                Exit::No,
                "nested",
                format!("worktrees lie inside {}", target.tree.path.display()),
            )
            .details(inside)
            .hint("remove those first, or all of them with `--recursive`"));
        }
        if args.recursive {
            going.extend(below);
        }
    }
    going.sort_by_key(|known| std::cmp::Reverse(known.tree.path.components().count()));
    let mut removals = Vec::new();
    for known in &going {
        if known.tree.path == *place.here.as_ref().map_or(std::path::Path::new(""), |here| &here.path)
            && known.agent.kind == Kind::Subtree
        {
            return Err(Failure::new(Exit::No, "here", format!("this is {}", known.tree.path.display()))
                .hint("run the command from another worktree: this directory would be gone"));
        }
        removals.push(removal(condition(look, known, &all)?, wish(args))?);
    }
    Ok(removals)
}
