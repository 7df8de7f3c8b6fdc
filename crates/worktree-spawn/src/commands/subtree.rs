//! `subtree`: make a worktree on a branch of its own for an agent.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::Git;
use shopfloor_core::proc;
use shopfloor_core::sandbox;
use shopfloor_core::ui::Ui;
use shopfloor_core::written_files;

use super::run;
use super::shared_args::CallerArgs;
use super::spawned::{LaunchArgs, Spawned, TaskArgs};
use crate::agent_in_worktree::{KnownAgent, MCP_FILE, OWN_MCP_FILE};
use crate::apply::agent_config_files;
use crate::apply::launch;
use crate::apply::lock_and_excludes::{self, SpawnContext};
use crate::apply::recover;
use crate::apply::spawn::{self, SpawnOptions};
use crate::apply::undo::LostWorktrees;
use crate::facts::spawn as facts;
use crate::facts::{agents, repository};
use crate::failure;
use crate::journal;
use crate::plan::spawn::{Plan, SpawnDecision, SpawnFacts, SpawnRequest, branch_prefix, candidates, path_of, plan};
use crate::repository_view::{Place, Worktree};
use crate::settings::Settings;
use crate::slug::slug;

/// Make a worktree on a branch of its own for an agent, and print its path
///
/// The branch is called after the spawner's birth-branch and the slug of the name, joined by a dot, and starts at the
/// spawner's HEAD. git's post-checkout hooks run in the worktree. Nothing that exists is ever overwritten. Exits with 1 if the
/// name is taken.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(
    after_help = "Example:\n  worktree-spawn subtree 'Feature A' --task 'Write the parser' -- claude\n  jq -r '.[].name' plan.json | xargs -d '\\n' -P8 -n1 worktree-spawn subtree"
)]
pub struct Args {
    #[command(flatten)]
    pub task: TaskArgs,
    /// The agent program that will work there [env: WORKTREE_SPAWN_AGENT] [default: claude]
    #[arg(long, value_name = "PROGRAM")]
    pub agent: Option<String>,
    #[command(flatten)]
    pub request: SpawnRequest,
    /// Make the worktree below this directory [env: WORKTREE_SPAWN_WORKTREE_BASE] [default: .shopfloor/worktrees]
    #[arg(long, visible_alias = "worktree-base", value_name = "DIR")]
    pub base_dir: Option<PathBuf>,
    /// Refuse if this worktree has uncommitted changes, because the new one will not have them
    #[arg(long)]
    pub require_clean: bool,
    /// Also fetch and check out submodules
    #[arg(long)]
    pub submodules: bool,
    /// Do not run git's post-checkout hooks
    #[arg(long)]
    pub no_git_hooks: bool,
    /// How deep subtrees may be nested; the root is level 1 [env: WORKTREE_SPAWN_MAX_DEPTH] [default: 2]
    #[arg(long, value_name = "N")]
    pub max_depth: Option<String>,
    #[command(flatten)]
    pub launch: LaunchArgs,
    #[command(flatten)]
    pub caller: CallerArgs,
    /// Run the command in a sandbox, as `run --sandbox` does
    #[arg(long, requires = "command")]
    pub sandbox: bool,
    /// Whether the MCP server asks.
    #[arg(skip)]
    pub is_agents: bool,
    /// Run this command in the worktree, as `run` does; its output and exit code are the answer
    #[arg(last = true, value_name = "CMD", conflicts_with_all = ["launch", "launcher"])]
    pub command: Vec<OsString>,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    if ui.is_json() && !args.command.is_empty() {
        return Err(Failure::usage("with a command, the answer is the output of the command and not JSON")
            .hint("leave out `--json`, or run the command afterwards with `worktree-spawn run ID -- CMD`"));
    }
    run::require_program(env, &args.command)?;
    if args.sandbox {
        sandbox::require_available(env)?;
    }
    let place = repository::find(env)?;
    let spawned = spawn(ui, env, &place, args)?;
    if !args.command.is_empty() {
        let (id, path) = (&spawned.known.agent.id, spawned.known.worktree.path.display());
        if ui.is_dry() {
            ui.note(format!("would run the command as {id} in {path}"));
            return Ok(Exit::Done);
        }
        ui.note(format!("{id} works in {path}"));
        let (id, command) = (id.clone(), args.command.clone());
        return run::run(ui, env, &run::Args { id, here: false, sandbox: args.sandbox, command });
    }
    if ui.is_json() {
        ui.json(&spawned.answer());
    } else {
        ui.path(&spawned.known.worktree.path);
    }
    spawned.exit(ui)
}

/// Makes a subtree of the calling agent.
pub fn spawn(ui: &Ui, env: &Env, place: &Place, args: &Args) -> Result<Spawned> {
    let flags = [("agent", &args.agent), ("launcher", &args.launch.launcher), ("max_depth", &args.max_depth)];
    let flags = flags.map(|(name, value)| (name, value.as_deref().map(Path::new)));
    let settings = Settings::load(env, &place.home, &flags)?;
    settings.warnings.iter().for_each(|warning| ui.warn(warning));
    let caller = agents::caller(place, args.caller.id.as_deref())?;
    // The new worktree starts from the caller's worktree, even if the command was started in another one.
    let place = &place.seen_from(&caller.worktree);
    if args.request.role.as_deref().is_some_and(|role| role.contains(char::is_control)) {
        return Err(Failure::usage("--role must be a single line"));
    }
    let request = SpawnRequest {
        agent: settings.agent.clone(),
        max_depth: settings.max_depth,
        base: facts::base_dir(place, &settings.worktree_base, args.base_dir.as_deref()),
        ..args.request.clone()
    };
    if args.launch.is_wanted() || args.agent.is_some() && args.command.is_empty() {
        settings.start_of(&settings.agent)?;
    }
    let task = args.task.read(ui, env)?;
    let is_agents = args.is_agents || args.caller.id.is_some();
    let is_listed = require_list(env, is_agents, args.launch.is_wanted() || !args.command.is_empty())?;
    let git = Git::find(env)?;
    if ui.is_dry() {
        let start = facts::start_point(&git, place, request.from.as_deref())?;
        return Ok(preview(ui, decide(place, &git, &request, &caller, &start)?, &caller));
    }
    if args.require_clean {
        require_clean(&git, place)?;
    }
    // Linked worktrees find the main checkout by this, if its git directory is elsewhere.
    place.repo().remember(env)?;
    let options =
        SpawnOptions { task, submodules: args.submodules, no_git_hooks: args.no_git_hooks, is_agents: args.is_agents };
    let (mut spawned, is_held) = {
        let _deferred = proc::defer_signals();
        let spinner = ui.spinner(&format!("making a worktree for {}", request.name));
        let context = SpawnContext { ui, spinner: spinner.as_ref(), env, place, git: &git };
        let spawned = make(&context, &request, &caller, &options)?;
        let sha = spawned.known.agent.base_sha.as_deref().unwrap_or_default();
        let path = &spawned.known.worktree.path;
        let is_held = args.is_agents && args.launch.is_wanted() && spawn::brings_starters(&context, path, sha)?;
        (spawned, is_held)
    };
    let unlisted = (spawned.created && !is_listed).then(|| unlisted(&spawned.known.agent.id));
    spawned.warnings.extend(unlisted);
    spawned.warnings.iter().for_each(|warning| ui.warn(warning));
    match () {
        () if is_held => {
            let line = launch::run_line(env, place, &settings, &spawned.known)?;
            spawned.warnings.push(format!(
                "its commit brings files of agent programs, such as .claude, that have not landed, so it is not started; \
                 a person who has read them starts it with `{line}`"
            ));
        }
        () if args.launch.is_wanted() => spawned.launch(ui, env, place, &settings),
        () => {}
    }
    Ok(spawned)
}

/// Whether a record can be listed as ours; fails where it cannot, and the agent would be one that nothing of ours runs or
/// removes. An agent that spawns may be in a sandbox: outside of that a person lists the record, unless it is needed now.
pub fn require_list(env: &Env, is_agents: bool, is_needed: bool) -> Result<bool> {
    let is_agents = is_agents || env.var("SHOPFLOOR_AGENT_ID").is_some();
    match written_files::require_list(env) {
        Err(failure) if is_needed || !is_agents => Err(failure),
        listable => Ok(listable.is_ok()),
    }
}

fn unlisted(id: &str) -> String {
    format!(
        "your own state cannot be written here, so nothing runs or removes {id} until a person says elsewhere: \
         `worktree-spawn trust {id}`"
    )
}

/// How long a spawn waits for another one of the same name, as for a lock.
const PATIENCE: Duration = Duration::from_secs(10);

/// Makes the subtree, or finds it and waits until it is whole.
fn make(
    context: &SpawnContext<'_>,
    request: &SpawnRequest,
    caller: &KnownAgent,
    options: &SpawnOptions,
) -> Result<Spawned> {
    let SpawnContext { ui, place, git, .. } = *context;
    let start = facts::start_point(git, place, request.from.as_deref())?;
    let (mut since, mut told) = (Instant::now(), BTreeSet::new());
    loop {
        let lock = lock_and_excludes::lock(place)?;
        // All other spawns are recovered now, as far as that can be.
        let being_made = journal::being_made(&place.shared())?;
        let notes = recover::recover(place, git, LostWorktrees::Leave)?;
        notes.into_iter().filter(|note| told.insert(note.clone())).for_each(|note| ui.note(note));
        match decide(place, git, request, caller, &start) {
            Ok(SpawnDecision::Make(plan)) => {
                let begun = spawn::begin(context, &plan)?;
                drop(lock);
                let mut made = spawn::finish(context, &start, begun, options)?;
                made.warnings.extend(plan.warning);
                return Ok(spawned(made.known, true, made.mcp_config, made.warnings));
            }
            Ok(SpawnDecision::Return(known)) => {
                if !being_made.contains(&known.agent.id) {
                    return found(context, *known, options);
                }
                if since.elapsed().as_secs() > 60 {
                    ui.note(format!("waiting for {}, which another process is making", known.agent.id));
                    since = Instant::now();
                }
            }
            // A git that a killed spawn left is still at work; once it has ended, the spawn is undone.
            Err(failure) if failure::EXISTS.is_kind_of(&failure) && since.elapsed() < PATIENCE => {
                let id = format!("{}.{}", branch_prefix(caller, request)?, slug(&request.name)?);
                if !being_made.contains(&id) {
                    return Err(failure);
                }
            }
            Err(failure) => return Err(failure),
        }
        drop(lock);
        proc::check_interrupt()?;
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A subtree that existed. What a killed spawn has not written in one that was kept is written now.
fn found(context: &SpawnContext<'_>, known: KnownAgent, options: &SpawnOptions) -> Result<Spawned> {
    let (worktree, agent) = (&known.worktree, &known.agent);
    let git = worktree.git(context.git, context.place)?;
    let is_tracked = !git.ls_files(&worktree.path, &[MCP_FILE.into()])?.is_empty();
    let file = if is_tracked || worktree.path.join(OWN_MCP_FILE).exists() { OWN_MCP_FILE } else { MCP_FILE };
    let mut mcp = worktree.path.join(file);
    let unchanged = |_| format!("{} existed already: the file of its task is unchanged", agent.id);
    let mut warnings: Vec<String> = options.task.iter().map(unchanged).collect();
    if !mcp.exists() {
        agent_config_files::furnish(context.env, worktree, agent, None)?;
        // An agent may have left anything there.
        mcp = agent_config_files::connect_somehow(context.env, worktree, agent, file, &mut warnings)?;
        lock_and_excludes::restore_excludes(context.place)?;
    }
    Ok(spawned(known, false, mcp, warnings))
}

fn spawned(known: KnownAgent, created: bool, mcp_config: PathBuf, warnings: Vec<String>) -> Spawned {
    Spawned { known, created, mcp_config, warnings, failure: None }
}

/// Reads what the plan needs, and plans.
fn decide(
    place: &Place,
    git: &Git,
    request: &SpawnRequest,
    caller: &KnownAgent,
    start: &facts::StartPoint,
) -> Result<SpawnDecision> {
    let all = agents::all(place)?;
    let prefix = branch_prefix(caller, request)?;
    let slugs = candidates(request)?;
    let first = slugs.first().cloned().unwrap_or_default();
    // A slug that gets a number may be cut to make room for it.
    let stem: String = if request.unique { first.chars().take(40).collect() } else { first };
    let named = request.branch.as_deref();
    let branches = facts::branches(git, place, &format!("{prefix}.{stem}"), named)?;
    facts::refuse_git_dir(place, &caller.worktree.path, &request.base)?;
    facts::refuse_blocked(&caller.worktree.path, &request.base)?;
    let paths: Vec<PathBuf> = slugs.iter().map(|slug| path_of(caller, request, slug)).collect();
    let occupied = facts::occupied(&paths);
    let is_new = |name: &&str| request.from.is_none() && branches.iter().all(|(local, _)| local != name);
    let remote = named.filter(is_new).map(|name| facts::remote_branch(git, place, name)).transpose()?;
    let base_sha = remote.flatten().unwrap_or_else(|| start.sha.clone());
    let mut known = SpawnFacts { caller, all: &all, base_sha, branches, occupied, now: place.env.now };
    loop {
        let decision = plan(&known, request)?;
        let SpawnDecision::Make(made) = &decision else { return Ok(decision) };
        match facts::refuse_others_place(place, &made.path) {
            // The next number may be free.
            Err(failure) if failure::EXISTS.is_kind_of(&failure) && request.unique => {
                known.occupied.insert(made.path.clone());
            }
            allowed => return allowed.map(|()| decision),
        }
    }
}

fn preview(ui: &Ui, decision: SpawnDecision, caller: &KnownAgent) -> Spawned {
    let known = match decision {
        SpawnDecision::Return(known) => *known,
        SpawnDecision::Make(plan) => {
            let Plan { agent, branch, path, base_sha, makes_branch, .. } = *plan;
            let verb = if makes_branch { "make" } else { "check out" };
            ui.note(format!("would {verb} the branch {branch} at {base_sha} in {}", path.display()));
            KnownAgent::spawned(agent, Worktree { path, branch: Some(branch), ..caller.worktree.clone() })
        }
    };
    spawned(known, false, PathBuf::new(), Vec::new())
}

fn require_clean(git: &Git, place: &Place) -> Result<()> {
    let here = place.require_here()?;
    if !repository::is_dirty(&here.git(git, place)?, here)? {
        return Ok(());
    }
    Err(failure::DIRTY
        .failure(format!("{} has uncommitted changes", here.path.display()))
        .hint("commit them first, or leave `--require-clean` out: the new worktree starts at HEAD without them"))
}
