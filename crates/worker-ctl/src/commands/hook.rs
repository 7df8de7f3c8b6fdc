//! `hook`: called by an agent's own hooks, records what they tell. Also asked before a worktree is removed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args as ClapArgs;
use clap::builder::PossibleValuesParser;
use shopfloor_core::agents::{self, AgentProgram};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::common_dir_of;
use shopfloor_core::known_dirs;
use shopfloor_core::path::real;
use shopfloor_core::pre_remove;
use shopfloor_core::sandbox;
use shopfloor_core::text::mend_half_characters;
use shopfloor_core::ui::Ui;

use crate::apply::sandbox::HookReport;
use crate::apply::{session, transition};
use crate::context::{Context, Flags};
use crate::facts::session_files;
use crate::failure;
use crate::hook_report::{Payload, Signal};
use crate::names::checked_name;
use crate::plan::machine::Input;
use crate::poll;
use crate::root::{WorkerRoot, read_record};
use crate::session_file::UsageLimit;
use crate::store;
use crate::worker::{Session, Task, Worker};

/// How many bytes a payload may have. A hook about a tool gets the tool's whole input and output.
const LONGEST: u64 = 64 << 20;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The agent whose hook calls this
    #[arg(value_name = "AGENT", value_parser = PossibleValuesParser::new(supported().map(|program| program.name).chain(["run"])))]
    pub program: String,
    /// What the hook tells, as JSON [default: stdin]; behind `run` the event `pre-remove`
    pub payload: Option<String>,
    /// The worktree that is about to be removed
    #[arg(hide_short_help = true)]
    pub worktree: Option<PathBuf>,
}

/// The programs that have hooks.
fn supported() -> impl Iterator<Item = &'static AgentProgram> {
    agents::PROGRAMS.iter().filter(|program| program.hooks.is_some())
}

/// Records what the hook tells. Outside of a worker's session this does nothing.
pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    if args.program == "run" {
        return match (args.payload.as_deref(), &args.worktree) {
            (Some(pre_remove::PRE_REMOVE), Some(path)) => before_removal(env, &env.cwd.join(path)),
            _ => Err(Failure::usage("`hook run` is for `pre-remove`")
                .hint("name the worktree: `worker-ctl hook run pre-remove PATH`")),
        };
    }
    let mut bytes = match &args.payload {
        Some(payload) => payload.clone().into_bytes(),
        None => ui.input_up_to(LONGEST)?,
    };
    mend_half_characters(&mut bytes);
    let payload = Payload::parse(&bytes)?;
    if sandbox::is_inside(env) {
        // The sandbox's spool keeps it for worker-ctl outside.
        let report = HookReport { hook: args.program.clone(), payload };
        if !ui.is_dry() {
            sandbox::report(env, &serde_json::to_vec(&report).unwrap_or_default())?;
        }
        return Ok(Exit::Done);
    }
    let hooks = agents::find(&args.program).and_then(|program| program.hooks.as_ref());
    let (Some(root), Some(worker), Some(hooks)) = (env.var("WORKER_CTL_ROOT"), env.var("WORKER_CTL_WORKER"), hooks)
    else {
        return Ok(Exit::Done);
    };
    let worker = worker.to_string_lossy();
    let (root, name) = (Path::new(root), checked_name(&worker)?);
    if ui.is_dry() {
        return Ok(Exit::Done);
    }
    // The root is proven first: its configuration may run a command.
    let ctx = Context::find(ui, env, Some(root), Flags::default())?;
    let Some(report) = payload.report(hooks) else { return Ok(Exit::Done) };
    let is_limit = report.signal == Signal::Limited;
    let (worker, _) = transition::record(&ctx, name, &Input::Reported(report))?;
    if is_limit {
        find_end_of_limit(&ctx, worker)?;
    }
    Ok(Exit::Done)
}

/// How long to wait for the row with the end of a usage limit, which comes after the hook was called, and how often to look.
/// The program does not wait for this hook.
const PATIENCE: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(50);

fn find_end_of_limit(ctx: &Context<'_>, worker: Worker) -> Result<()> {
    let is_told = |limit: &UsageLimit| limit.until_unix.is_some();
    let look = || Ok::<_, Failure>(session_files::limit(ctx, None, &worker).filter(is_told));
    if let Some(limit) = poll::answer(PATIENCE, POLL, look)? {
        transition::observe(ctx, &worker, &Input::Limit(Some(limit)))?;
    }
    Ok(())
}

/// Exit 1 if a worker works in the worktree, or an agent program that was not started here. Changes nothing.
fn before_removal(env: &Env, path: &Path) -> Result<Exit> {
    let path = real(path);
    let Some(common) = common_dir_of(&path) else { return Ok(Exit::Done) };
    let root = read_record(&common)?.map(|root| real(&root));
    let Some(root) = root.filter(|root| known_dirs::roots(env).is_ok_and(|all| all.get(root) == Some(&common))) else {
        return Ok(Exit::Done);
    };
    // Of a root that was deleted, or whose disk is away, no worker runs.
    if !fs::is_there(&root)? {
        return Ok(Exit::Done);
    }
    let workers = store::load(&root)?.workers;
    let Some(worker) = workers.values().find(|worker| worker.tree() == path) else {
        return Ok(Exit::Done);
    };
    let why = match worker.task {
        Task::NeedsReview => "its work waits for a review",
        _ if worker.has_open_task() => "it has a task",
        _ if worker.program.session == Session::Up => "its session is up",
        _ => {
            let root = WorkerRoot::find_listed(env, Some(&root))?;
            let reaps = env.var(pre_remove::REAPS).is_some();
            return if reaps { Ok(Exit::Done) } else { session::refuse_others(worker, &root).map(|()| Exit::Done) };
        }
    };
    let name = &worker.name;
    Err(failure::WRONG_STATE
        .failure(format!("the worker {name} works in {}: {why}", path.display()))
        .hint(format!("`worker-ctl nuke {name}` ends its session and forgets it")))
}
