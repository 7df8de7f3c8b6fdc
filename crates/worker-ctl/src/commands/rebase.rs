//! `rebase`: rebases a worker's work onto the default branch.

use clap::Args as ClapArgs;
use serde_json::json;
use shopfloor_core::error::{Exit, Result};

use crate::apply::rebase::{self, Rebased};
use crate::apply::{patrol, sandbox};
use crate::commands;
use crate::context::Context;
use crate::facts::worker_state::Standing;
use crate::plan::rebase::{Rebase, rebase, require_task};

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The worker
    pub worker: String,
    /// Ask the worker to resolve conflicts even if a text may be in its input line, somebody types in its
    /// terminal, or its program asks a question
    #[arg(long)]
    pub force: bool,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    let name = &args.worker;
    commands::recover(ctx)?;
    // A commit that was amended after a rejection is new work: it must be recorded before it moves.
    commands::look(ctx)?;
    let (mut worker, _lock) = commands::locked(ctx, name)?;
    require_task(&worker)?;
    if sandbox::join_outside(ctx, &worker)? {
        patrol::record_news(ctx, name)?;
        worker = ctx.worker(name)?;
        ctx.ui.note(format!("the commits of {name} are on those that were made outside now"));
    }
    let ctx = &ctx.of(&worker)?;
    let standing = Standing::read(ctx, &worker)?;
    let plan = rebase(&standing, &ctx.repo.branch)?;
    let answer = |outcome: &str| commands::about(name, json!({ "outcome": outcome }));
    if ctx.is_dry {
        let (outcome, would) = match plan {
            Rebase::UpToDate => ("up_to_date", Vec::new()),
            Rebase::Replay => ("rebased", vec![format!("rebase {name} onto {}", standing.base)]),
            Rebase::AskToResolve => {
                ("rebasing", vec![format!("ask {name} to resolve its conflicts with {}", standing.base)])
            }
        };
        return Ok(ctx.ui.would(&answer(outcome), &would));
    }
    let rebased = rebase::carry_out(ctx, &standing, plan, args.force)?;
    let word = rebased.word().replace('_', " ");
    match &rebased {
        _ if ctx.ui.is_json() => ctx.ui.json(&answer(rebased.word())),
        Rebased::Done => ctx.ui.done(format!("{word} {name}")),
        Rebased::UpToDate => ctx.ui.detail(format!("{name} is {word}")),
        Rebased::Conflicts(_) | Rebased::LeftAsItIs => ctx.ui.note(format!("{name}: {word}")),
    }
    Ok(match rebased {
        Rebased::UpToDate | Rebased::Done => Exit::Done,
        Rebased::Conflicts(_) | Rebased::LeftAsItIs => Exit::No,
    })
}
