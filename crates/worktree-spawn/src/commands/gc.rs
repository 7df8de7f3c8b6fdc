//! `gc`: remove agents that have ended and left nothing, and say why the others stay.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::Git;
use shopfloor_core::proc::processes::{self, Process};
use shopfloor_core::proc::{self, Cmd};
use shopfloor_core::ui::{Ui, printable};

use crate::agent_in_worktree::KnownAgent;
use crate::agent_run::Deaths;
use crate::apply::undo::LostWorktrees;
use crate::apply::{lock_and_excludes, recover, remove, runs, sandboxes};
use crate::facts::removal::{Inspection, condition};
use crate::facts::{agents, repository};
use crate::identity::AgentKind;
use crate::plan::removal::{AgentRemoval, RemovalRequest, has_ended, in_order, is_collectable, plan, require_spawned};
use crate::settings::Settings;

/// Remove agents that have ended and left nothing, and say why the others stay
///
/// An agent has left nothing if its worktree has no changes, no commits that its parent's branch lacks, no seats and no
/// worktrees in it, and if no events wait for it.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  worktree-spawn gc --dry-run")]
pub struct Args {
    /// Also those in which others have something running, which is ended
    #[arg(long)]
    pub reap: bool,
    /// Do not ask for confirmation
    #[arg(long, requires = "reap")]
    pub yes: bool,
}

/// How long sweatfile-apply may take to look.
const LIMIT: Duration = Duration::from_secs(10);

/// Why an agent stays.
type Reason = String;

fn reason(failure: Failure) -> Reason {
    failure.to_string()
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let is_dry = ui.is_dry();
    let place = repository::find(env)?;
    let git = Git::find(env)?;
    let settings = Settings::load(env, &place.home, &[])?;
    let inspection = Inspection { env, place: &place, git: &git, settings: &settings, deaths: Deaths::of(ui) };
    if !is_dry {
        let _lock = lock_and_excludes::lock(&place)?;
        recover::recover(&place, &git, LostWorktrees::Leave)?.iter().for_each(|note| ui.note(note));
    }
    let mut left = agents::all(&place)?;
    let mut order: Vec<KnownAgent> = left.clone();
    order.retain(|known| known.agent.kind != AgentKind::Root || known.error.is_some());
    let order = in_order(order);
    if order.is_empty() {
        ui.nothing_to_do();
    }
    sandboxes::take_in_all(ui, env, &place, order.iter().filter(|_| !is_dry));
    for known in &order {
        // The first look is taken without the lock, because other processes wait for that; an agent that is to go is
        // looked at again.
        let done = match verdict(&inspection, known, &left, args.reap) {
            Err(why) => Err(why),
            Ok(removal) if is_dry => {
                remove::run_pre_remove(env, &place, &removal, (true, false)).map(|_| "would_remove").map_err(reason)
            }
            Ok(removal) => collect(ui, &inspection, (known, &removal), args).map(|()| "removed"),
        };
        if done.is_ok() {
            left.retain(|other| other.agent.id != known.agent.id);
        }
        let action = *done.as_ref().unwrap_or(&"kept");
        let (id, why) = (&known.agent.id, done.err());
        if ui.is_json() {
            ui.json_of_both(&known.keys(), &json!({ "action": action, "why": why }));
        } else if let Some(why) = why {
            ui.note(format!("{action} {id}: {why}"));
        } else {
            ui.done(format!("{} {}", action.replace('_', " "), printable(id)));
        }
    }
    name_teardowns(ui, env);
    Ok(Exit::Done)
}

/// Says so if the teardown of worktrees waits that went without us, or that could not be torn down.
pub fn name_teardowns(ui: &Ui, env: &Env) {
    let Some(program) = proc::find(env, "sweatfile-apply") else { return };
    let sweep = Cmd::new(&program, env).args(["-n", "--json", "sweep"]).within(LIMIT).capture();
    let answer: Option<Value> = sweep.ok().and_then(|sweep| serde_json::from_slice(&sweep.stdout).ok());
    let has = |answer: &Value, key: &str| answer[key].as_array().is_some_and(|lines| !lines.is_empty());
    if answer.is_some_and(|answer| has(&answer, "ran") || has(&answer, "left")) {
        ui.note("worktrees that are gone wait for their teardown: `sweatfile-apply sweep`");
    }
}

/// The removal of an agent among `all`, or the reason why it stays.
fn verdict(
    inspection: &Inspection<'_>,
    known: &KnownAgent,
    all: &[KnownAgent],
    reaps: bool,
) -> std::result::Result<AgentRemoval, Reason> {
    if let Some(why) = &known.error {
        return Err(why.clone());
    }
    require_spawned(known).map_err(reason)?;
    let here = inspection.place.here.as_ref().is_some_and(|here| here.path == known.worktree.path);
    if here && known.agent.kind == AgentKind::Subtree {
        return Err("this command runs in it".into());
    }
    // Git is asked only about agents that may go.
    let liveness = runs::worktree_liveness(inspection, known, all).map_err(reason)?;
    if !known.worktree.is_lost {
        has_ended(liveness)?;
        // Its record is what agents can write.
        if let Some(process) = working_for_others(inspection.env, known).next().filter(|_| !reaps) {
            return Err(format!("a program works in it: {}", processes::describe(process)));
        }
        if known.agent.kind == AgentKind::Subtree && processes::called_from(inspection.env, &known.worktree.path) {
            return Err("this command was called from it".into());
        }
    }
    let condition = condition(inspection, known, all, liveness).map_err(reason)?;
    is_collectable(&condition)?;
    plan(condition, RemovalRequest::default()).map_err(reason)
}

/// What works in the worktree of an agent, and was started neither by that nor by its set-up.
fn working_for_others(env: &Env, known: &KnownAgent) -> impl Iterator<Item = Process> {
    let working = match known.agent.kind {
        AgentKind::Subtree => processes::working_in(env, &known.worktree.path),
        _ => BTreeSet::new(),
    };
    working.into_iter().filter(|process| !remove::is_of(known, process.pid))
}

/// Removes an agent, unless a second look under the lock finds a reason why it stays.
fn collect(
    ui: &Ui,
    inspection: &Inspection<'_>,
    (known, removal): (&KnownAgent, &AgentRemoval),
    args: &Args,
) -> std::result::Result<(), Reason> {
    let Inspection { env, place, git, .. } = *inspection;
    let agreed: BTreeSet<Process> = working_for_others(env, known).collect();
    let question = format!("End {}, and remove {}?", processes::named(env, &agreed).join(", "), known.agent.id);
    ui.require_yes(args.yes || agreed.is_empty(), &question, "a program works in it").map_err(reason)?;
    remove::prepare(env, place, removal, &agreed).map_err(reason)?.iter().for_each(|note| ui.note(note));
    let lock = lock_and_excludes::lock(place).map_err(reason)?;
    let removal = verdict(inspection, known, &agents::all(place).map_err(reason)?, false)?;
    remove::remove(env, place, git, &removal, &lock).map(drop).map_err(reason)
}
