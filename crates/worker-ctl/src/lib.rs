//! `worker-ctl` runs coding agents in tmux, one per git worktree, from task to reviewed commit.
//!
//! Rooms, in reading order: `cli`, `commands`, `facts` (what git says), `plan` (the state machine, pure), `apply` (sessions,
//! worktrees, publishing), then the nouns: `worker`, `store` (`state.json`), `root` (the configuration), `tmux`.

mod cli;
mod commands;

mod agent;
mod apply;
mod conflict;
mod facts;
pub mod plan;

mod log;
mod note;
mod root;
mod settings;
mod store;
mod tmux;
pub mod worker;

pub use cli::{Cli, command};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;
pub use store::State;
pub use tmux::deliver::cleaned;

use crate::cli::Command;
use crate::commands::Site;

/// The tool's name: its binary, its directory of state.
pub const TOOL: &str = "worker-ctl";

/// The whole program.
pub fn main() -> std::process::ExitCode {
    shopfloor_core::args::main(TOOL, run)
}

/// Which command it is.
fn run(ui: &Ui, env: &Env, cli: Cli) -> Result<Exit> {
    let site = || Site::find(ui, env, &cli);
    match &cli.command {
        Command::Init { target, dry } => {
            let target = target.as_deref().or(cli.root.as_deref());
            let (source, branch) = (cli.settings.source.as_deref(), cli.settings.branch.as_deref());
            commands::init::run(ui, env, &commands::init::Wanted { source, target, branch, is_dry: dry.dry_run })
        }
        Command::Add { name, role_prompt, .. } => {
            let wanted = commands::add::Wanted {
                agent: cli.settings.agent.as_deref(),
                model: cli.settings.model.as_deref(),
                role_prompt: role_prompt.as_deref(),
            };
            commands::add::run(&site()?, name, &wanted)
        }
        Command::Up(args) => commands::up::up(&site()?, args),
        Command::Down { force, .. } => commands::up::down(&site()?, *force),
        Command::Status { watch: false } => commands::status::run(&site()?),
        Command::Status { watch: true } => commands::status::watch(&site()?),
        Command::Start(args) => commands::start::run(&site()?, args),
        Command::Message { worker, message, force, .. } => commands::message::run(&site()?, worker, message, *force),
        Command::Attach { worker } => commands::peek::attach(&site()?, worker),
        Command::Peek { worker, n } => commands::peek::peek(&site()?, worker, *n),
        Command::Wait { workers, state, any, timeout } => commands::wait::run(&site()?, workers, state, *any, timeout),
        Command::Rebase { worker, force, .. } => commands::rebase::run(&site()?, worker, *force),
        Command::Doctor { repair, rebuild, yes, .. } => commands::doctor::run(&site()?, *repair, *rebuild, *yes),
        Command::Reset { worker, force, .. } => commands::nuke::reset(&site()?, worker, *force),
        Command::Nuke { worker, all, force, yes, .. } => {
            commands::nuke::nuke(&site()?, worker.as_deref(), *all, *force, *yes)
        }
        Command::Patrol { .. } => commands::patrol::run(&site()?),
        Command::Events { follow, since } => commands::events::run(&site()?, *follow, since.as_deref()),
        Command::Hook { of } => commands::hook::run(ui, env, *of),
        Command::Config => commands::config::run(&site()?),
        Command::Review { worker, interface, .. } => commands::review::review(&site()?, worker.as_deref(), *interface),
        Command::Reject { message, force, .. } => commands::review::reject(&site()?, message, *force),
        Command::Accept { worker, force, message, .. } => {
            commands::accept::run(&site()?, worker.as_deref(), *force, message.as_deref())
        }
    }
}
