//! `worker-ctl` runs coding agents in tmux, one per git worktree, from task to reviewed commit.
//!
//! Rooms, from top to bottom: `cli`, `commands`, `apply` (the state, sessions, worktrees, landing), `plan` (pure
//! decisions and the state machine), `facts` (a worker's standing, what would be lost), then the nouns: `site` (a root
//! with the values to work on it), `bell`, `tmux`, `daemon`, `store` (`state.json`), `log`, `clone` (git in
//! the root) with `fresh_index` and `source_objects` (what of it is believed), `root`, `roots` (the user's list of
//! them), `settings`, `agent`, `hook_report` (what its hooks tell), `worker`, `need` (of a person), `note`, `failure`,
//! `layout` (the path of each file and lock).

mod cli;
mod commands;

mod apply;
pub mod plan;

mod failure;

mod facts;

mod agent;
mod bell;
mod clone;
mod daemon;
mod fresh_index;
mod hook_report;
mod layout;
mod log;
mod need;
mod note;
mod root;
mod roots;
mod settings;
mod site;
mod source_objects;
mod store;
mod tmux;
mod work_identity;
pub mod worker;

pub use cli::{Cli, command};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;
pub use store::State;
pub use tmux::typing::cleaned;

use crate::cli::Command;
use crate::site::Site;

/// Runs the program.
pub fn main() -> std::process::ExitCode {
    shopfloor_core::args::main(layout::TOOL, run)
}

/// Runs the command that the command line names.
fn run(ui: &Ui, env: &Env, cli: Cli) -> Result<Exit> {
    let flags = &cli.settings;
    let find = || Site::find(ui, env, cli.root.as_deref(), flags.clone());
    let site = || find().or_else(|failure| commands::root::offer(ui, env, failure).and_then(|()| find()));
    match &cli.command {
        Command::Init(args) => commands::init::run(ui, env, args, (cli.root.as_deref(), flags)),
        Command::Deinit(args) => commands::deinit::run(&site()?, args),
        Command::Add(args) => commands::add::run(&site()?, args, flags.text("agent"), flags.text("model")),
        Command::Up(args) => commands::up::run(&site()?, args),
        Command::Resume(args) => commands::resume::run(&site()?, args),
        Command::Down(args) => commands::down::run(&site()?, args),
        Command::Status(args) => commands::status::run(&site()?, args),
        Command::Start(args) => commands::start::run(&site()?, args),
        Command::Message(args) => commands::message::run(&site()?, args),
        Command::Answer(args) => commands::answer::run(&site()?, args),
        Command::Attach(args) => commands::attach::run(&site()?, args),
        Command::Peek(args) => commands::peek::run(&site()?, args),
        Command::Wait(args) => commands::wait::run(&site()?, args),
        Command::Review(args) => commands::review::run(&site()?, args),
        Command::Reject(args) => commands::reject::run(&site()?, args),
        Command::Accept(args) => commands::accept::run(&site()?, args),
        Command::Rebase(args) => commands::rebase::run(&site()?, args),
        Command::Doctor(args) => commands::doctor::run(&site()?, args),
        Command::Reset(args) => commands::reset::run(&site()?, args),
        Command::Nuke(args) => commands::nuke::run(&site()?, args),
        Command::Patrol(args) => commands::patrol::run(&site()?, args),
        Command::Events(args) => commands::events::run(&site()?, args),
        Command::Root(command) => commands::root::run(ui, env, command),
        Command::Hook(args) => commands::hook::run(ui, env, args),
        Command::Config => {
            ui.config(&site()?.root.config.settings);
            Ok(Exit::Done)
        }
    }
}
