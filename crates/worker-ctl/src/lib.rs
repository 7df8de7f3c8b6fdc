//! `worker-ctl` runs coding agents in tmux, one per git worktree, from task to reviewed commit.
//!
//! Rooms, top to bottom; each one uses only those below it:
//! - `cli`: the global flags and the list of commands
//! - `commands`: one file per subcommand
//! - `apply`: changes the state, sessions and worktrees, and lands work
//! - `plan`: the pure decisions, with the state machine
//! - `facts`: everything that is read
//! - nouns: all others, above all `context` (a root and what a command needs of it), `worker` (its record), `store`
//!   (`state.json`), `work_repo` (git where a worker works) and `tmux`

mod cli;
mod commands;

mod apply;
pub mod plan;

mod failure;

mod facts;

mod adopted;
mod attention;
mod check_record;
mod comments;
mod context;
mod hook_report;
mod hosts;
mod layout;
mod log;
mod menu;
mod names;
mod notify_person;
mod poll;
mod program_config;
mod requests;
mod root;
mod runner;
mod session_file;
mod settings;
mod slurm;
mod ssh;
mod store;
mod task_queue;
mod tmux;
mod untrusted_index;
mod up_lock;
mod verified_objects;
mod work_identity;
mod work_repo;
pub mod worker;
mod worker_notes;
mod worker_tree;

use std::ffi::OsString;

use clap::Parser;
pub use cli::{Cli, command};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::sandbox;
use shopfloor_core::ui::Ui;
pub use store::State;
pub use tmux::typing::cleaned;

use crate::cli::Command;
use crate::context::{Context, Flags};

/// Runs the program.
pub fn main() -> std::process::ExitCode {
    shopfloor_core::args::main(layout::TOOL, run)
}

/// The root of a hub: of `host add` what stands before `host` names it, and what stands behind it names the host's.
fn hub<'a>(ui: &'a Ui, env: &'a Env, cli: &Cli, args: &commands::host::Args) -> Result<Context<'a>> {
    let parse = |words: &[OsString]| Cli::try_parse_from(words.iter().cloned().chain(["config".into()])).ok();
    let places = (0..env.args.len()).filter(|at| env.args[*at] == "host");
    let root = match &args.what {
        commands::host::What::Add(_) => {
            places.into_iter().find_map(|at| parse(&env.args[..at])).and_then(|cli| cli.root)
        }
        _ => cli.root.clone(),
    };
    Context::find(ui, env, root.as_deref(), cli.settings.clone())
}

/// Whether a command may be for a host: it names one, or may mean the work that was reviewed last.
fn may_be_for_host(env: &Env, cli: &Cli) -> bool {
    let has_colon = |arg: &OsString| arg.as_encoded_bytes().contains(&b':');
    cli.host.is_some()
        || match &cli.command {
            Command::Reject(_) | Command::Accept(_) => true,
            Command::Add(args) if args.worktree.is_some() => false,
            Command::Status(args) if args.line => false,
            Command::Init(_)
            | Command::Deinit(_)
            | Command::Root(_)
            | Command::Hook(_)
            | Command::Host(_)
            | Command::Hosted(_)
            | Command::Landed(_)
            | Command::RunInSandbox(_)
            | Command::InsideSandbox(_)
            | Command::Config => false,
            _ => env.args.iter().skip(1).any(has_colon),
        }
}

/// Runs a command that is for a host's workers.
fn on_host(ctx: &Context<'_>, cli: &Cli) -> Result<Option<Exit>> {
    let Some(line) = commands::on_host::Line::read(ctx, command(), cli.host.as_deref())? else { return Ok(None) };
    match &cli.command {
        Command::Review(args) => commands::of_host::review(ctx, &line, args),
        Command::Accept(args) => commands::of_host::accept(ctx, &line, args),
        _ => line.run(ctx),
    }
    .map(Some)
}

/// Exit 2 inside of a sandbox, which has no root, for all but what a program's hook tells and the first program there.
fn require_outside(env: &Env, command: &Command) -> Result<()> {
    match command {
        Command::Hook(_) | Command::InsideSandbox(_) => Ok(()),
        _ if sandbox::is_inside(env) => Err(sandbox::not_inside()),
        _ => Ok(()),
    }
}

/// Runs the command that the command line names.
fn run(ui: &Ui, env: &Env, cli: Cli) -> Result<Exit> {
    require_outside(env, &cli.command)?;
    let flags = &cli.settings;
    let find = |flags: &Flags| Context::find(ui, env, cli.root.as_deref(), flags.clone());
    let ctx = |flags: &Flags| find(flags).or_else(|e| commands::root::offer(ui, env, e).and_then(|()| find(flags)));
    let mut known = None;
    if may_be_for_host(env, &cli) {
        // The runners of a host are known there.
        let ctx = ctx(&flags.without("runner"))?;
        if let Some(exit) = on_host(&ctx, &cli)? {
            return Ok(exit);
        }
        known = Some(if flags.value("runner").is_some() { ctx.with_flags(flags.clone())? } else { ctx });
    }
    let ctx = || known.clone().map_or_else(|| ctx(flags), Ok);
    match &cli.command {
        Command::Host(args) => commands::host::run(&hub(ui, env, &cli, args)?, args),
        Command::Hosted(args) => commands::hosted::run(ui, env, args, cli.root.as_deref()),
        Command::Landed(args) => commands::hosted::landed(&ctx()?, args),
        Command::Init(args) => commands::init::run(ui, env, args, (cli.root.as_deref(), flags)),
        Command::Deinit(args) => commands::deinit::run(&ctx()?, args),
        Command::Add(args) if args.worktree.is_some() => {
            commands::adopt::run(ui, env, args, (cli.root.as_deref(), flags))
        }
        Command::Add(args) => commands::add::run(&ctx()?, args, flags),
        Command::Up(args) => commands::up::run(&ctx()?, args),
        Command::Resume(args) => commands::resume::run(&ctx()?, args),
        Command::Down(args) => commands::down::run(&ctx()?, args),
        Command::Status(args) if args.line => commands::status::line_for_bar(ui, env, cli.root.as_deref()),
        Command::Status(args) => commands::status::run(&ctx()?, args),
        Command::Start(args) => commands::start::run(&ctx()?, args),
        Command::Queue(args) => commands::queue::run(&ctx()?, args),
        Command::Request(args) => commands::request::run(&ctx()?, args),
        Command::Clashes(args) => commands::clashes::run(&ctx()?, args),
        Command::Comment(args) => commands::comment::run(&ctx()?, args),
        Command::Cost => commands::cost::run(&ctx()?),
        Command::Check(args) => commands::check::run(&ctx()?, args),
        Command::Login(args) => commands::login::run(&ctx()?, args),
        Command::Message(args) => commands::message::run(&ctx()?, args),
        Command::Answer(args) => commands::answer::run(&ctx()?, args),
        Command::Attach(args) => commands::attach::run(&ctx()?, args),
        Command::Peek(args) => commands::peek::run(&ctx()?, args),
        Command::Wait(args) => commands::wait::run(&ctx()?, args),
        Command::Review(args) => commands::review::run(&ctx()?, args),
        Command::Reject(args) => commands::reject::run(&ctx()?, args),
        Command::Accept(args) => commands::accept::run(&ctx()?, args),
        Command::Rebase(args) => commands::rebase::run(&ctx()?, args),
        Command::Doctor(args) => commands::doctor::run(&ctx()?, args),
        Command::Reset(args) => commands::reset::run(&ctx()?, args),
        Command::Nuke(args) => commands::nuke::run(&ctx()?, args),
        Command::Patrol(args) => commands::patrol::run(&ctx()?, args),
        Command::Events(args) => commands::events::run(&ctx()?, args),
        Command::Root(command) => commands::root::run(ui, env, command),
        Command::Hook(args) => commands::hook::run(ui, env, args),
        Command::RunInSandbox(args) => commands::run_in_sandbox::run(&ctx()?, args),
        Command::InsideSandbox(args) => Err(sandbox::enter(env, &args.command)),
        Command::Config => {
            ui.config(&ctx()?.root.config.settings);
            Ok(Exit::Done)
        }
    }
}
