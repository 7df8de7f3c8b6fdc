//! Puts a runner of a person's own around a worker's program.

use std::path::{Path, PathBuf};
use std::time::Duration;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::recorded_dir;
use shopfloor_core::proc::{self, Cmd};
use shopfloor_core::sandbox::TERMINAL;
use shopfloor_core::text::printable;

use crate::apply::{jobs, worktree_spawn};
use crate::context::Context;
use crate::facts::sandboxes::runner;
use crate::layout;
use crate::program_config::Variables;
use crate::runner::RunnerTable;
use crate::slurm;
use crate::worker::{Session, Worker};

/// Keeps the variables that it is told, and runs what stands behind `--`. No value stands in a command line.
const ONLY: &str = r#"keep=; while [ "$1" != -- ]; do keep="$keep $1"; shift; done; shift
for name in $(env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p'); do
case "$keep " in *" $name "*) ;; *) unset "$name" ;; esac; done; exec "$@""#;

/// The variables without which nothing finds its programs and files.
const PLACES: [&str; 5] = ["PATH", "HOME", "SHELL", "TMPDIR", "LC_ALL"];

/// How long a look into a runner may take.
const LOOK: Duration = Duration::from_secs(10);

/// The table of a worker's runner, if that is a person's own.
pub fn table<'c>(ctx: &'c Context<'_>, worker: &Worker) -> Option<&'c RunnerTable> {
    ctx.root.config.runners.get(&runner(ctx, worker)?)
}

/// A worker's program with its runner around it, under worktree-spawn where that has to know of it, and the name of the job
/// that it will be.
pub fn wrapped(
    ctx: &Context<'_>,
    worker: &Worker,
    argv: Vec<String>,
    variables: &Variables,
) -> Result<(Vec<String>, Option<String>)> {
    let Around { before, after, job } = around(ctx, worker, variables, false)?;
    Ok((worktree_spawn::wrapped(ctx, worker, [before, argv, after].concat(), variables), job))
}

/// The words around a worker's program: those before, and those behind; and the name of the job that they make.
#[derive(Default)]
struct Around {
    before: Vec<String>,
    after: Vec<String>,
    job: Option<String>,
}

/// What is put around a worker's program. A program that is not there is exit 4, as is a Slurm that does not answer.
fn around(ctx: &Context<'_>, worker: &Worker, variables: &Variables, is_look: bool) -> Result<Around> {
    let Some(table) = table(ctx, worker) else { return Ok(Around::default()) };
    let (common, text) = (ctx.of(worker)?.repo.common, |path: &Path| path.to_string_lossy().into_owned());
    let tmp = layout::runner_tmp(&ctx.root.path, &worker.name);
    fs::create_private_dir(&tmp)?;
    let filled = [
        ("worktree", worker.worktree_path.clone()),
        ("root", text(&ctx.root.path)),
        ("worker", worker.name.clone()),
        ("home", ctx.env.home().map(text).unwrap_or_default()),
        ("tmp", text(&tmp)),
        ("branch", worker.branch.clone()),
        ("git_dir", recorded_dir(&common, worker.tree())?.map(|dir| text(&dir)).unwrap_or_default()),
        ("git_common_dir", text(&common)),
    ];
    let job = match &table.slurm {
        Some(_) if is_look => Some(slurm::look_name(&ctx.root.path, &worker.name)),
        Some(_) => Some(slurm::next_name(&slurm::jobs(ctx.env)?, &ctx.root.path, &worker.name)),
        None => None,
    };
    let (mut before, after) = table.words(job.as_deref(), &filled);
    let program = job.as_ref().map_or(before.first().cloned().unwrap_or_default(), |_| "srun".to_owned());
    let is_there =
        if program.contains('/') { Path::new(&program).is_file() } else { proc::find(ctx.env, &program).is_some() };
    if !is_there {
        let name = runner(ctx, worker).unwrap_or_default();
        return Err(Failure::failed(format!("the runner {name}: {} is not there", printable(&program)))
            .hint(format!("install it, or change [runners.{name}]")));
    }
    if let Some(named) = &table.env {
        let kept = TERMINAL.into_iter().chain(PLACES).map(str::to_owned);
        // Without it its commands find no cluster.
        let kept = kept.chain(job.iter().map(|_| "SLURM_CONF".to_owned()));
        let kept = kept.chain(named.iter().cloned()).chain(variables.iter().map(|(name, _)| name.clone()));
        let shell = ["sh", "-c", ONLY, "sh"].map(str::to_owned).into_iter().chain(kept).chain(["--".to_owned()]);
        before.splice(0..0, shell);
    }
    Ok(Around { before, after, job })
}

/// How a program in a runner has ended: of what was ended by signal n, it tells 128 + n.
pub fn end(ctx: &Context<'_>, worker: &Worker, end: Session) -> Session {
    match end {
        Session::Code(code @ 129..=192) if table(ctx, worker).is_some() => Session::Signal(code - 128),
        end => end,
    }
}

/// Removes what a worker's runner has in `{tmp}`.
pub fn empty(ctx: &Context<'_>, worker: &Worker) -> Result<()> {
    fs::remove_tree(&layout::runner_tmp(&ctx.root.path, &worker.name))
}

/// Whether `true` runs in a worker's runner, in words; `queued` if it has not ended soon. None without one.
pub fn look(ctx: &Context<'_>, worker: &Worker) -> Option<std::result::Result<String, String>> {
    table(ctx, worker)?;
    let name = runner(ctx, worker)?;
    let run = || -> Result<std::result::Result<String, String>> {
        let Around { before, after, job } = around(ctx, worker, &Variables::new(), true)?;
        let words: Vec<String> = before.into_iter().chain(["true".to_owned()]).chain(after).collect();
        let program = proc::find(ctx.env, &words[0]).unwrap_or_else(|| PathBuf::from(&words[0]));
        let cmd = Cmd::new(&program, ctx.env).args(words[1..].iter().cloned()).dir(worker.tree());
        let ended = cmd.within(LOOK).capture();
        job.iter().for_each(|name| jobs::drop_look(ctx, name));
        Ok(match ended {
            Ok(ended) if ended.status.success() => Ok(format!("{name} runs programs for {}", worker.name)),
            Ok(ended) => {
                let said = String::from_utf8_lossy(&ended.stderr).lines().last().map(printable).unwrap_or_default();
                Err(format!("{name} ended with {} for {}: {said}", ended.status, worker.name))
            }
            Err(failure) if failure.kind == "deadline" => Ok(format!("{name} is queued for {}", worker.name)),
            Err(failure) => return Err(failure),
        })
    };
    Some(run().unwrap_or_else(|failure| Err(failure.to_string())))
}
