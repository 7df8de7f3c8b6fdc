//! `remove`: remove an agent's worktree or seat if nothing is lost.

use std::collections::BTreeSet;

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{Git, private_dir, require_writable_objects};
use shopfloor_core::proc::processes::{self, Process};
use shopfloor_core::text::{both, shell_word};
use shopfloor_core::ui::{Ui, printable};

use crate::agent_in_worktree::KnownAgent;
use crate::agent_run::Deaths;
use crate::apply::remove::{self, RemovalOutcome};
use crate::apply::undo::LostWorktrees;
use crate::apply::{lock_and_excludes, recover, runs, sandboxes};
use crate::facts::removal::{Inspection, condition};
use crate::facts::{agents, repository};
use crate::failure;
use crate::identity::AgentKind;
use crate::plan::removal::{AgentRemoval, RemovalRequest, in_order, plan, refuse_main, require_spawned};
use crate::repository_view::{Place, is_same};
use crate::settings::Settings;

/// Remove agents' worktrees or seats, and their branches if everything on them is merged
///
/// Exits with 1 if something would be lost.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(after_help = "Example:\n  worktree-spawn remove main.feature-a")]
pub struct Args {
    /// The agents: ids, or slugs that only one agent has
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<String>,
    /// Also remove the worktrees inside it, deepest first, after checking all of them
    #[arg(long)]
    pub recursive: bool,
    /// Also end what others have running in the worktree; what the agent or its set-up started is ended in any case
    #[arg(long)]
    pub reap: bool,
    /// Do not ask for confirmation
    #[arg(long, requires = "reap")]
    pub yes: bool,
    #[command(flatten)]
    pub request: RemovalRequest,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let place = repository::find(env)?;
    remove(ui, env, &place, args)
}

/// Checks all agents that would go, then removes them, the deepest first.
pub fn remove(ui: &Ui, env: &Env, place: &Place, args: &Args) -> Result<Exit> {
    let git = Git::find(env)?;
    let settings = Settings::load(env, &place.home, &[])?;
    let inspection = Inspection { env, place, git: &git, settings: &settings, deaths: Deaths::of(ui) };
    if ui.is_dry() {
        for removal in plan_whole(&inspection, args)? {
            let deleted_branch = removal.deletes.as_ref().map(|(name, _)| name.clone());
            let path = &removal.condition.known.worktree.path;
            let working = processes::named_in(env, path).into_iter().map(|what| format!("{what} works in it"));
            let asked = remove::run_pre_remove(env, place, &removal, (true, args.reap))?;
            let notes = removal.note.iter().cloned().chain(working).chain(asked).collect();
            print(ui, &removal, &RemovalOutcome { deleted_branch, trash: None, notes });
        }
        return Ok(Exit::Done);
    }
    let mut lock = lock_and_excludes::lock(place)?;
    recover::recover(place, &git, LostWorktrees::Leave)?.iter().for_each(|note| ui.note(note));
    let named: Vec<KnownAgent> = args.ids.iter().filter_map(|id| agents::require(place, id).ok()).collect();
    // An agent may have closed its worktree.
    let is_its = |known: &&KnownAgent| known.is_managed && known.agent.kind == AgentKind::Subtree;
    named.iter().filter(is_its).filter(|_| args.request.force).for_each(|known| fs::open_up(&known.worktree.path));
    sandboxes::take_in_all(ui, env, place, named.iter());
    let mut removals = plan_whole(&inspection, args)?;
    // The other tools are asked without the lock, and afterwards everything is checked again.
    drop(lock);
    let reaped = removals.iter().filter(|_| args.reap).map(|removal| &removal.condition.known.worktree.path);
    let agreed: BTreeSet<Process> = reaped.flat_map(|path| processes::working_in(env, path)).collect();
    let told = processes::named(env, &agreed).join(", ");
    let question = format!("End {told}, and remove their worktrees?");
    ui.require_yes(args.yes || agreed.is_empty(), &question, format!("nothing was removed: {told}"))?;
    for removal in &removals {
        remove::prepare(env, place, removal, &agreed)?.iter().for_each(|note| ui.note(note));
    }
    lock = lock_and_excludes::lock(place)?;
    removals = plan_whole(&inspection, args)?;
    let is_one = removals.len() == 1;
    for mut removal in removals {
        if !is_one {
            // Removing the others took some time, so changes made meanwhile are taken in, too.
            drop(lock);
            remove::prepare(env, place, &removal, &agreed)?.iter().for_each(|note| ui.note(note));
            lock = lock_and_excludes::lock(place)?;
            let known = agents::require(place, &removal.condition.known.agent.id)?;
            removal = plan_one(&inspection, args, &known, &agents::all(place)?)?;
        }
        let outcome = remove::remove(env, place, &git, &removal, &lock)?;
        print(ui, &removal, &outcome);
    }
    Ok(Exit::Done)
}

/// Tells what was done, or in a dry run what would be.
fn print(ui: &Ui, removal: &AgentRemoval, outcome: &RemovalOutcome) {
    let known = &removal.condition.known;
    if ui.is_json() {
        ui.json_of_both(&both(known.keys(), json!({ "removed": !ui.is_dry() })), outcome);
        return;
    }
    let id = printable(&known.agent.id);
    if ui.is_dry() {
        ui.line(format!("would remove {id} at {}", printable(&known.worktree.path.to_string_lossy())));
        if removal.keeps_trash {
            ui.line(format!("would keep what it has under refs/shopfloor/trash/{id}/"));
        }
    } else {
        match &outcome.trash {
            Some(trash) => ui.line(printable(trash)),
            None => ui.done(format!("removed {id}")),
        }
    }
    match &outcome.deleted_branch {
        Some(branch) if ui.is_dry() => ui.line(format!("would delete the branch {}", printable(branch))),
        Some(branch) => ui.note(format!("deleted the branch {branch}, all of which is merged or kept")),
        None => {}
    }
    outcome.notes.iter().for_each(|note| ui.note(note));
}

/// Plans all removals. If one is refused, none of several begins, and the refusal says so.
fn plan_whole(inspection: &Inspection<'_>, args: &Args) -> Result<Vec<AgentRemoval>> {
    plan_all(inspection, args).map_err(|failure| match args.ids.len() > 1 || args.recursive {
        true => failure.hint("nothing was removed"),
        false => failure,
    })
}

/// Plans all removals in order, or refuses them all.
fn plan_all(inspection: &Inspection<'_>, args: &Args) -> Result<Vec<AgentRemoval>> {
    let place = inspection.place;
    let targets = args.ids.iter().map(|id| agents::require(place, id)).collect::<Result<Vec<_>>>()?;
    targets.iter().try_for_each(refuse_main)?;
    let required = |known: &KnownAgent| require_spawned(known).map_err(|refused| replaced(known).unwrap_or(refused));
    targets.iter().try_for_each(required)?;
    let all = agents::all(place)?;
    let is_named = |other: &KnownAgent| targets.iter().any(|target| target.agent.id == other.agent.id);
    let mut going = targets.clone();
    for target in targets.iter().filter(|target| target.agent.kind != AgentKind::Worker) {
        let is_inside = |other: &KnownAgent| other.worktree.path.starts_with(&target.worktree.path);
        let is_below = |other: &&KnownAgent| {
            other.agent.id != target.agent.id
                && other.agent.kind != AgentKind::Worker
                && (is_inside(other) || other.agent.parents.contains(&target.agent.id))
        };
        let below: Vec<KnownAgent> = all.iter().filter(is_below).cloned().collect();
        let inside = below.iter().filter(|other| is_inside(other) && !is_named(other));
        let inside: Vec<String> =
            inside.map(|other| format!("  {} at {}", other.agent.id, other.worktree.path.display())).collect();
        if !args.recursive && !inside.is_empty() {
            return Err(failure::NESTED
                .failure(format!("there are worktrees inside {}", target.worktree.path.display()))
                .details(inside)
                .hint("remove those first, or all of them with `worktree-spawn remove --recursive`"));
        }
        if args.recursive {
            going.extend(below);
        }
    }
    let mut going = in_order(going);
    going.dedup_by(|one, other| one.agent.id == other.agent.id);
    let mut removals = Vec::new();
    for known in &going {
        let is_here = place.here.as_ref().is_some_and(|here| here.path == known.worktree.path);
        if is_here && known.agent.kind == AgentKind::Subtree {
            return Err(failure::HERE
                .failure(format!("this command runs in {}", known.worktree.path.display()))
                .hint("run it from another worktree, because this directory would be deleted"));
        }
        removals.push(plan_one(inspection, args, known, &all)?);
    }
    Ok(removals)
}

/// The refusal of a directory in which another repository is now, or this one: it is that, and not a worktree of ours.
fn replaced(known: &KnownAgent) -> Option<Failure> {
    let (id, worktree) = (&known.agent.id, &known.worktree);
    let there = private_dir(&worktree.path).filter(|there| !worktree.is_lost && !is_same(there, &worktree.git_dir))?;
    if worktree.git_dir.ancestors().nth(2).is_some_and(|common_dir| is_same(&there, common_dir)) {
        let why = format!("git's record of {id} names the main checkout {}", worktree.path.display());
        // `git worktree repair` could write into the main checkout.
        let record = shell_word(&worktree.git_dir.join("gitdir"));
        let way = format!("write the place of its worktree into the record: `echo PLACE/.git > {record}`");
        return Some(failure::UNMANAGED.failure(why).hint(way));
    }
    let why = format!("another repository is in the place of {id}: {}", there.display());
    let path = shell_word(&worktree.path);
    let away = format!("it is not removed: move it away, then run the same command again: `mv {path} {path}.other`");
    Some(failure::UNMANAGED.failure(why).hint(away))
}

fn plan_one(inspection: &Inspection<'_>, args: &Args, known: &KnownAgent, all: &[KnownAgent]) -> Result<AgentRemoval> {
    let liveness = runs::worktree_liveness(inspection, known, all)?;
    let planned = plan(condition(inspection, known, all, liveness)?, args.request)?;
    let Inspection { env, place, .. } = *inspection;
    if planned.keeps_trash {
        require_writable_objects(&place.common_dir)?;
    }
    if let Some(sandbox) = sandboxes::of(env, place, known).filter(|_| !args.request.force) {
        sandboxes::require_empty(&sandbox, known)?;
    }
    Ok(planned)
}
