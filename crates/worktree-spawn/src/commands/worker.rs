//! `worker`: a seat in the caller's worktree.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::Git;
use shopfloor_core::proc;
use shopfloor_core::ui::{Ui, printable};

use super::subtree::{Answer, launch, read_task, seen_from};
use crate::apply::spawn::{self, Site};
use crate::cli::WorkerArgs;
use crate::facts::agents::{self, Known, settings_dir};
use crate::facts::place::Place;
use crate::identity::Kind;
use crate::settings::{Flags, Settings};
use crate::slug::slug;

pub fn run(ui: &Ui, env: &Env, args: &WorkerArgs) -> Result<Exit> {
    let place = Place::find(env)?;
    let answer = spawn(ui, env, &place, args)?;
    if ui.is_json() {
        ui.json(&answer.json());
    } else {
        ui.line(printable(&answer.known.agent.id));
    }
    match answer.failure {
        Some(failure) if ui.is_json() => Ok(failure.exit),
        Some(failure) => Err(failure),
        None => Ok(Exit::Done),
    }
}

/// Seats someone in the caller's worktree.
pub fn spawn(ui: &Ui, env: &Env, place: &Place, args: &WorkerArgs) -> Result<Answer> {
    let flags = Flags { agent: args.agent.as_deref(), launcher: args.launch.launcher.as_deref(), ..Flags::default() };
    let settings = Settings::load(env, place, flags)?;
    settings.warnings.iter().for_each(|warning| ui.warn(warning));
    let caller = agents::caller(place, args.identity.id.as_deref())?;
    let place = &seen_from(place, &caller);
    let is_launched = args.launch.launch || args.launch.launcher.is_some();
    if is_launched {
        settings.command_of(&settings.agent)?;
    }
    let slug = slug(&args.name)?;
    let task = read_task(ui, env, &args.task)?;
    // Whoever is seated in a worktree reports to its own agent, and so do those it asks for.
    let parent = agents::here(place)?;
    let git = Git::find(env)?;
    let repo = place.repo();
    let deferred = proc::defer_signals();
    let site =
        Site { ui, spinner: None, env, place, git: &git, repo: &repo, native: None, interrupted: deferred.interrupted };
    let seat = || {
        let id = format!("{}/{slug}", parent.agent.id);
        let mut agent = parent.agent.child(Kind::Worker, id, &slug, &args.name, env.now);
        agent.role = Some("worker".into());
        agent.agent = Some(settings.agent.clone());
        Known { agent, tree: parent.tree.clone(), is_managed: true, error: None }
    };
    let seated = seat();
    let answer = |(config, mcp_config)| Answer {
        known: seated.clone(),
        created: true,
        config,
        mcp_config,
        warnings: Vec::new(),
        failure: None,
    };
    if args.dry_run.dry_run {
        refuse_existing(&site, &seated)?;
        ui.note(format!("would seat {} in {}", seated.agent.id, seated.tree.path.display()));
        let dir = settings_dir(&seated);
        return Ok(Answer { created: false, ..answer((dir.join("settings.json"), dir.join("mcp.json"))) });
    }
    let lock = spawn::lock(place)?;
    refuse_existing(&site, &seated)?;
    let paths = spawn::seat(&site, &seated, task.as_deref())?;
    drop(lock);
    drop(deferred);
    let mut answer = answer(paths);
    if is_launched {
        launch(ui, env, &settings, &mut answer);
    }
    Ok(answer)
}

fn refuse_existing(site: &Site<'_>, seated: &Known) -> Result<()> {
    let all = agents::all(site.place)?;
    let Some(known) = all.iter().find(|known| known.agent.id == seated.agent.id) else { return Ok(()) };
    let (asked, there) = (&seated.agent.requested, &known.agent.requested);
    let message = if asked == there || known.error.is_some() {
        format!("{} is there already", seated.agent.id)
    } else {
        format!("`{asked}` and `{there}` both come to {}", seated.agent.id)
    };
    Err(Failure::new(Exit::No, "exists", message).hint(format!(
        "start that one again with `worktree-spawn run {0} -- CMD`, or take it away with `worktree-spawn remove {0}`",
        seated.agent.id
    )))
}
