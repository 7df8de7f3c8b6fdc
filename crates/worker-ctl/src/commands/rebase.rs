//! `rebase`: rebases a worker's work onto the default branch.

use clap::Args as ClapArgs;
use serde::Serialize;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::hook_command::DryRun;

use crate::apply::rebase::{self, Rebased};
use crate::commands;
use crate::facts::standing::Standing;
use crate::plan::rebase::{rebase, require_task};
use crate::site::Site;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The worker
    pub worker: String,
    /// Ask the worker to resolve conflicts even if a text may be in its input line, or somebody types in its terminal
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub dry: DryRun,
}

/// The answer with `--json`.
#[derive(Serialize)]
struct RebaseAnswer<'a> {
    worker: &'a str,
    outcome: &'static str,
}

pub fn run(site: &Site<'_>, args: &Args) -> Result<Exit> {
    let name = &args.worker;
    commands::recover(site)?;
    // A commit that was amended after a rejection is new work: it must be recorded before it moves.
    commands::look(site)?;
    let (worker, _lock) = commands::locked(site, name)?;
    require_task(&worker)?;
    let standing = Standing::read(site, &worker)?;
    let plan = rebase(&standing, &site.clone.branch)?;
    if site.is_dry {
        commands::show(site.ui, format!("rebase {name} onto {}", standing.base));
        return Ok(Exit::Done);
    }
    let rebased = rebase::carry_out(site, &standing, plan, args.force)?;
    if site.ui.is_json() {
        site.ui.json(&RebaseAnswer { worker: name, outcome: rebased.word() });
    } else {
        site.ui.note(format!("{name}: {}", rebased.word().replace('_', " ")));
    }
    Ok(match rebased {
        Rebased::UpToDate | Rebased::Done => Exit::Done,
        Rebased::Conflicts(_) | Rebased::LeftAsItIs => Exit::No,
    })
}
