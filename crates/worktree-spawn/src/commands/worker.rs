//! `worker`: make a seat in the caller's worktree.

use std::path::Path;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::git::Git;
use shopfloor_core::hash::Digest;
use shopfloor_core::proc;
use shopfloor_core::ui::{Ui, printable};

use super::shared_args::CallerArgs;
use super::spawned::{LaunchArgs, Spawned, TaskArgs};
use super::subtree::require_list;
use crate::agent_in_worktree::KnownAgent;
use crate::apply::lock_and_excludes::{self, SpawnContext};
use crate::apply::spawn;
use crate::facts::{agents, repository};
use crate::failure;
use crate::identity::AgentKind;
use crate::repository_view::Place;
use crate::settings::Settings;
use crate::slug::slug;

/// Give an agent a seat in this worktree, and print its id
///
/// Exits with 1 if an agent in this worktree has the same slug.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(after_help = "Example:\n  worktree-spawn worker rust-impl --agent gemini --task-file task.md")]
pub struct Args {
    /// The name of the agent; its slug names the directory of its settings
    pub name: String,
    #[command(flatten)]
    pub task: TaskArgs,
    /// The agent program that will work there [env: WORKTREE_SPAWN_AGENT] [default: claude]
    #[arg(long, value_name = "PROGRAM")]
    pub agent: Option<String>,
    #[command(flatten)]
    pub launch: LaunchArgs,
    #[command(flatten)]
    pub caller: CallerArgs,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let place = repository::find(env)?;
    let spawned = spawn(ui, env, &place, args)?;
    ui.json_or_line(&spawned.answer(), printable(&spawned.known.agent.id));
    spawned.exit(ui)
}

/// Makes a seat in the calling agent's worktree.
pub fn spawn(ui: &Ui, env: &Env, place: &Place, args: &Args) -> Result<Spawned> {
    let flags = [("agent", &args.agent), ("launcher", &args.launch.launcher)];
    let flags = flags.map(|(name, value)| (name, value.as_deref().map(Path::new)));
    let settings = Settings::load(env, &place.home, &flags)?;
    settings.warnings.iter().for_each(|warning| ui.warn(warning));
    let caller = agents::caller(place, args.caller.id.as_deref())?;
    let place = &place.seen_from(&caller.worktree);
    if args.launch.is_wanted() || args.agent.is_some() {
        settings.start_of(&settings.agent)?;
    }
    let slug = slug(&args.name)?;
    let task = args.task.read(ui, env)?;
    require_list(env, args.caller.id.is_some(), args.launch.is_wanted())?;
    // A seat reports to the worktree's own agent, and so do the seats that it asks for.
    let parent = agents::here(place)?;
    let git = Git::find(env)?;
    let deferred = proc::defer_signals();
    let context = SpawnContext { ui, spinner: None, env, place, git: &git };
    let id = format!("{}/{slug}", parent.agent.id);
    let mut agent = parent.agent.child(AgentKind::Worker, &id, &slug, &args.name, env.now);
    agent.role = Some("worker".into());
    agent.agent = Some(settings.agent.clone());
    agent.task = task.as_deref().map(|task| Digest::of(task).to_string());
    let seated = KnownAgent::spawned(agent, parent.worktree);
    if ui.is_dry() {
        refuse_existing(place, &seated)?;
        ui.note(format!("would seat {} in {}", seated.agent.id, seated.worktree.path.display()));
        let mcp_config = seated.seat_dir().join("mcp.json");
        return Ok(Spawned { known: seated, created: false, mcp_config, warnings: Vec::new(), failure: None });
    }
    let lock = lock_and_excludes::lock(place)?;
    refuse_existing(place, &seated)?;
    let mcp_config = spawn::seat(&context, &seated, task.as_deref())?;
    drop(lock);
    drop(deferred);
    let mut spawned = Spawned { known: seated, created: true, mcp_config, warnings: Vec::new(), failure: None };
    if args.launch.is_wanted() {
        spawned.launch(ui, env, place, &settings);
    }
    Ok(spawned)
}

fn refuse_existing(place: &Place, seated: &KnownAgent) -> Result<()> {
    let all = agents::all(place)?;
    let Some(known) = all.iter().find(|known| known.agent.id == seated.agent.id) else { return Ok(()) };
    let (requested, there) = (&seated.agent.requested, &known.agent.requested);
    let message = if requested == there || known.error.is_some() {
        format!("{} already exists", seated.agent.id)
    } else {
        format!("`{requested}` and `{there}` both get the id {}", seated.agent.id)
    };
    Err(failure::EXISTS.failure(message).hint(format!(
        "start the existing one with `worktree-spawn run {0} -- CMD`, or remove it with `worktree-spawn remove {0}`",
        seated.agent.id
    )))
}
