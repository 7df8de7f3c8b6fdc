//! Sandboxes of workers' worktrees: `runner = "sandbox"`. What was committed and reported in one comes out here, and what is
//! ours to do in the worktree is done inside.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shopfloor_core::agents;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;
use shopfloor_core::proc;
use shopfloor_core::sandbox::{self, Imported, Sandbox};
use shopfloor_core::text::{printable, shell_word};

use crate::apply::worktree_spawn::{self, ParentReport};
use crate::apply::{transition, trash};
use crate::context::Context;
use crate::facts::losses::not_landed;
use crate::facts::sandboxes::find;
pub use crate::facts::sandboxes::{is_wanted, of};
use crate::facts::setup_steps;
use crate::failure;
use crate::hook_report::Payload;
use crate::layout;
use crate::plan::machine::Input;
use crate::program_config::Variables;
use crate::worker::Worker;
use crate::worker_notes::Note;

/// The hidden command that a pane runs.
pub const COMMAND: &str = "run-in-sandbox";

/// How much of the reason of a refusal is kept, in characters.
const MOST_OF_NOTE: usize = 500;

/// Where our programs lie inside.
pub const OURS: &str = "/run/shopfloor/bin";

/// What a program's hook has told inside.
#[derive(Serialize, Deserialize)]
pub struct HookReport {
    /// The program whose hook it is.
    pub hook: String,
    pub payload: Payload,
}

/// The sandbox of a worker's worktree, made if it was not there. Exit 2, kind `no_sandbox`, where none can be made.
pub fn require(ctx: &Context<'_>, worker: &Worker) -> Result<Sandbox> {
    sandbox::require_available(ctx.env)?;
    let (sandbox, repo) = (find(ctx, worker)?, ctx.of(worker)?.repo);
    // A set-up that still runs would run what the agent writes, outside.
    if !sandbox.is_made()
        && let Some(step) = setup_steps::running(ctx, worker)?
    {
        return Err(failure::BUSY
            .failure(format!("`{}` of the set-up of {} still runs", printable(&step), worker.name))
            .hint(format!("run `sweatfile-apply -C {} wait` first", shell_word(worker.tree()))));
    }
    let base = repo.require_base().ok().map(|commit| (repo.branch.clone(), commit));
    sandbox.make(base)?;
    Ok(sandbox)
}

/// Gives up the sandbox of a worker whose program is to run without one. Exit 1 if that has something of its own.
pub fn leave(ctx: &Context<'_>, worker: &Worker) -> Result<()> {
    let Some(sandbox) = of(ctx, worker)? else { return Ok(()) };
    take_in(ctx, worker)?;
    match sandbox.losses()? {
        None => remove(ctx, worker),
        Some(losses) => Err(failure::UNMERGED
            .failure(format!("the sandbox of {} has {losses}", worker.name))
            .hint("start it with `--runner sandbox`, or keep them with `worker-ctl reset --force`")),
    }
}

/// The argv that runs a worker's program in its sandbox, with these variables and files of ours.
pub fn wrapped(
    ctx: &Context<'_>,
    worker: &Worker,
    argv: Vec<String>,
    variables: &Variables,
    files: &[PathBuf],
) -> Result<Vec<String>> {
    require(ctx, worker)?;
    let program = argv.first().cloned().unwrap_or_default();
    if !program.contains('/') {
        proc::require(ctx.env, &program, "install it, or change the `command` of the agent in config.toml")?;
    }
    let own =
        proc::own_program(ctx.env, layout::TOOL).ok_or_else(|| Failure::failed("worker-ctl is not on the PATH"))?;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    // Its terminal is the program's.
    let mut words =
        vec![text(&own), "--quiet".into(), "--root".into(), text(&ctx.root.path), COMMAND.into(), worker.name.clone()];
    // worktree-spawn sets its own as it runs this.
    let spawns = ["AGENT_ID", "SESSION_ID", "PARENT", "ROLE", "RECORD", "REPOSITORY", "TASK_FILE", "MCP_CONFIG"];
    words.extend(variables.iter().map(|(name, _)| format!("--var={name}")));
    words.extend(spawns.map(|name| format!("--var=SHOPFLOOR_{name}")));
    words.extend(files.iter().map(|file| format!("--file={}", text(file))));
    words.push("--".into());
    words.extend(argv);
    Ok(words)
}

/// Takes in what a worker has committed and reported in its sandbox. What is refused becomes a note, and stays there.
/// Returns whether there was a commit.
pub fn take_in(ctx: &Context<'_>, worker: &Worker) -> Result<bool> {
    let Some(sandbox) = of(ctx, worker)?.filter(|_| !ctx.is_dry) else { return Ok(false) };
    take_reports(ctx, worker, &sandbox);
    take_commit(ctx, worker, &sandbox)
}

/// The same, for whoever looks at many workers: only if something has happened.
pub fn take_news(ctx: &Context<'_>, worker: &Worker) -> Result<bool> {
    // Whoever else looks at the worktree may have taken in what was refused.
    let is_refused = worker.notes.iter().any(|note| matches!(note, Note::ImportRefused(_)));
    match of(ctx, worker)? {
        Some(sandbox) if sandbox.has_moved() || is_refused && sandbox.is_taken_in() => take_in(ctx, worker),
        _ => Ok(false),
    }
}

pub fn take_commit(ctx: &Context<'_>, worker: &Worker, sandbox: &Sandbox) -> Result<bool> {
    let imported = sandbox.import();
    let refusal = match &imported {
        Err(failure) if sandbox::REFUSED.is_kind_of(failure) => {
            // What git says of an agent's objects can be long.
            Some(Note::ImportRefused(failure.to_string().chars().take(MOST_OF_NOTE).collect()))
        }
        Err(_) | Ok(_) => None,
    };
    let old = worker.notes.iter().find(|note| matches!(note, Note::ImportRefused(_)));
    if old != refusal.as_ref() && (refusal.is_some() || imported.is_ok()) {
        ctx.update_worker(&worker.name, |worker| {
            worker.notes.retain(|note| !matches!(note, Note::ImportRefused(_)));
            worker.notes.extend(refusal.clone());
        })?;
    }
    match imported {
        Ok(Imported::Commit(..)) => Ok(true),
        Ok(Imported::Nothing) => Ok(false),
        Err(_) if refusal.is_some() => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// Puts what a worker has committed in its sandbox onto what somebody has committed on its branch outside meanwhile, and takes
/// it in. Returns whether there was such a thing. Exit 1 where that is its agent's to do.
pub fn join_outside(ctx: &Context<'_>, worker: &Worker) -> Result<bool> {
    let Some(sandbox) = of(ctx, worker)?.filter(|_| !ctx.is_dry) else { return Ok(false) };
    match sandbox.rebase_onto_outside()? {
        None => Ok(false),
        Some(true) => take_commit(ctx, worker, &sandbox),
        Some(false) => {
            let (name, branch) = (&worker.name, &worker.branch);
            let why = format!("{name} has changes, or its commits conflict with what was committed on {branch}");
            let refusals = worker.notes.iter().filter(|note| matches!(note, Note::ImportRefused(_)));
            Err(failure::CONFLICT
                .failure(why)
                .details(refusals.map(|note| format!("  {note}")))
                .hint(format!("tell its agent to do that: {}", worker.message_hint("TEXT"))))
        }
    }
}

/// What an agent tells its parent, as worktree-spawn leaves it inside.
#[derive(Deserialize)]
struct ParentNotice {
    notify: String,
    message: String,
}

/// Records what the program's hooks have told inside, and passes on what is for the parent.
pub fn take_reports(ctx: &Context<'_>, worker: &Worker, sandbox: &Sandbox) {
    for ParentNotice { notify, message } in sandbox.take_reports::<ParentNotice>(sandbox::NOTIFY) {
        let status = ["success", "failure", "info"].into_iter().find(|status| *status == notify);
        let key = format!("sandbox:{}", Digest::random());
        if let Some(status) = status {
            worktree_spawn::tell_parent(ctx, worker, &ParentReport { status, kind: None, message, paths: &[], key });
        }
    }
    for HookReport { hook, payload } in sandbox.take_reports::<HookReport>(sandbox::HOOK) {
        let hooks = agents::find(&hook).and_then(|program| program.hooks.as_ref());
        let report = hooks.and_then(|hooks| payload.report(hooks));
        let Some(report) = report else { continue };
        ctx.warn_on_failure(&worker.name, || transition::record(ctx, &worker.name, &Input::Reported(report)).map(drop));
    }
}

/// Exit 1 if a worker's sandbox has commits that are nowhere else, unless they are to be kept. Then returns where.
pub fn keep_losses(ctx: &Context<'_>, worker: &Worker, is_forced: bool) -> Result<Option<String>> {
    let Some(sandbox) = of(ctx, worker)? else { return Ok(None) };
    if is_forced {
        sandbox.open_worktree()?;
    }
    let Some(losses) = sandbox.losses()? else { return Ok(None) };
    if !is_forced {
        return Err(failure::UNMERGED
            .failure(format!("the sandbox of {} has {losses}", worker.name))
            .hint("`--force` keeps them under refs/shopfloor/trash/"));
    }
    let below = format!("refs/shopfloor/trash/{}/sandbox", worker.name);
    match sandbox.keep(&below) {
        Ok(()) => Ok(Some(below)),
        // What nobody should take stays where it is.
        Err(failure) => {
            ctx.ui.warn(failure);
            Ok(Some(sandbox.put_aside()?.to_string_lossy().into_owned()))
        }
    }
}

/// Where a worker's program finds a file of ours: inside its sandbox, a copy.
pub fn shown(ctx: &Context<'_>, worker: &Worker, file: &Path) -> Result<PathBuf> {
    let Some(sandbox) = of(ctx, worker)? else { return Ok(file.to_path_buf()) };
    let text = fs::read_own(file)?.unwrap_or_default();
    sandbox.put_text(file.file_name().unwrap_or_default(), &text)
}

/// Removes a worker's sandbox; the next start makes a new one. Commits that the branch has left are kept.
pub fn remove(ctx: &Context<'_>, worker: &Worker) -> Result<()> {
    let Some(sandbox) = of(ctx, worker)? else { return Ok(()) };
    let ctx = &ctx.of(worker)?;
    match sandbox.dropped().and_then(|dropped| not_landed(&ctx.repo, dropped)) {
        Ok(dropped) => {
            trash::keep_tips(ctx, worker, &dropped)?;
            sandbox.remove()
        }
        // What nobody can take stays, and is in nobody's way.
        Err(failure) => {
            ctx.ui.warn(format!(
                "the sandbox of {} is kept in {}: {failure}",
                worker.name,
                sandbox.put_aside()?.display()
            ));
            Ok(())
        }
    }
}

/// The variables of ours that are named, for the program inside.
pub fn variables(ctx: &Context<'_>, names: &[String]) -> Vec<(OsString, OsString)> {
    let value = |name: &String| Some((OsString::from(name), ctx.env.var(name)?.to_os_string()));
    names.iter().filter_map(value).collect()
}
