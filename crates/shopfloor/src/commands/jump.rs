//! `jump`: to the agent that has waited longest.

use serde_json::json;
use shopfloor_core::args::Common;
use shopfloor_core::board::Need;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::commands::{pass_on, word_of};
use crate::facts::{desk_feed, overview, repository};
use crate::plan::rows::{Row, rows};

/// Attach to the agent that has waited for you longest
///
/// Outside of any repository it looks in all of yours. Exits with 1 if nobody waits, or the agent has no terminal.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  shopfloor jump --next")]
pub struct Args {
    /// Go to the one after the agent that you jumped to last
    #[arg(long)]
    pub next: bool,
    /// Print the name, and attach to nothing
    #[arg(long)]
    pub name: bool,
}

pub fn run(ui: &Ui, env: &Env, common: &Common, args: &Args) -> Result<Exit> {
    let sites = match repository::near(env) {
        Ok(site) => vec![site],
        // From anywhere else, whoever waits in any of the person's repositories.
        Err(failure) if failure.kind == "not_a_repository" => desk_feed::all_sites(env)?,
        Err(failure) => return Err(failure),
    };
    let mut all: Vec<(&Env, Row)> = Vec::new();
    for site in &sites {
        let found = overview::places(site).and_then(|found| match found.problems.first() {
            Some(why) => Err(Failure::failed(printable(why)).hint("`shopfloor doctor` shows what is wrong")),
            None => Ok(found),
        });
        match found {
            Ok(found) => all.extend(rows(&found).into_iter().map(|row| (site, row))),
            Err(failure) if sites.len() == 1 => return Err(failure),
            Err(failure) => ui.warn(failure),
        }
    }
    let mut waiting: Vec<&(&Env, Row)> = all.iter().filter(|(_, row)| row.waits_for.is_some()).collect();
    // Who has no terminal is told where nobody else waits.
    if !args.name && waiting.iter().any(|(_, row)| row.worker.is_some()) {
        waiting.retain(|(_, row)| row.worker.is_some());
    }
    waiting.sort_by_key(|found| (found.1.told.since.unwrap_or(i64::MAX), &found.1.name));
    let file = env.state_home().map(|home| home.join("jump"));
    let last = file.as_ref().map_or(Ok(None), |file| fs::read_own(file))?.unwrap_or_default();
    // Seats are in the worktree of another agent.
    let key = |row: &Row| format!("{}\0{}", row.worktree, row.id).into_bytes();
    let at = waiting.iter().position(|(_, row)| args.next && key(row) == last);
    let next = at.map_or(0, |at| (at + 1) % waiting.len());
    let Some((site, row)) = waiting.get(next) else {
        return Err(Failure::not_found("nobody waits for you").hint("`shopfloor status` shows all agents"));
    };
    // Inside tmux it may be this terminal's server, which needs no other.
    if !args.name && !ui.is_dry() && env.var("TMUX").is_none() && !env.stdin_is_terminal {
        return Err(Failure::usage("jump needs a terminal").hint("print who it is: `shopfloor jump --name`"));
    }
    if let Some(file) = file.filter(|_| !ui.is_dry()) {
        fs::replace(&file, &key(row), Some(fs::PRIVATE))?;
    }
    let name = row.worker.clone().unwrap_or_else(|| row.name.clone());
    if args.name {
        let needs = row.told.need.unwrap_or(Need::Fault).word();
        ui.json_or_line(&json!({ "name": name, "id": row.id, "needs": needs }), printable(&name));
        return Ok(Exit::Done);
    }
    if row.worker.is_none() {
        let why = format!("{} needs you, and has no terminal of its own", printable(&name));
        let hint = format!("look at what it left: `cd {}`", word_of(row));
        return Err(Failure::new(Exit::No, "no_worker", why).hint(hint));
    }
    pass_on(ui, site, common, "worker-ctl", ["attach".to_owned(), name].into())
}
