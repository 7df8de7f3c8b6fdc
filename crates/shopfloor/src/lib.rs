//! `shopfloor` is the front door to the five tools. It knows nothing itself: it runs them by name, and shows what they
//! say.
//!
//! Rooms, top to bottom; each one uses only those below it:
//! - `cli`: the global flags and the list of commands
//! - `commands`: one file per subcommand
//! - `apply`: runs the steps of a set-up, and takes them back
//! - `plan`: which steps a repository needs, and what the rows of `status` say
//! - `facts`: what is there, and what the tools answer
//! - nouns: `ansi`, `screen` (the terminal of the desk), `setup_log`, `step`, `skill`, `tool`

mod cli;
mod commands;

mod apply;
mod facts;
mod plan;

mod ansi;
mod screen;
mod setup_log;
mod skill;
mod step;
mod tool;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::sandbox;
use shopfloor_core::ui::Ui;

use crate::cli::Command;
pub use crate::cli::{Cli, command};
use crate::commands::worker_commands::{self, Adopts, Verb, Whom, Words};

/// The whole program.
pub fn main() -> std::process::ExitCode {
    shopfloor_core::args::main(tool::TOOL, run)
}

/// Runs the command that the command line names.
fn run(ui: &Ui, env: &Env, cli: Cli) -> Result<Exit> {
    let common = &cli.common;
    let passed = |name, command, whom, adopts, args: &Words| {
        worker_commands::run(ui, env, common, Verb { name, command, whom, adopts }, &args.words)
    };
    let command = match cli.command {
        Some(command) => command,
        None if commands::shows_table(ui, env)? => Command::Status(commands::status::Args::default()),
        None => {
            ui.answer(command().render_help().to_string().as_bytes());
            return Ok(Exit::Done);
        }
    };
    // All others work on what the agents share, which a sandbox has not.
    if sandbox::is_inside(env) && !matches!(command, Command::Skills(_) | Command::ShellInit(_)) {
        return Err(sandbox::not_inside());
    }
    match command {
        Command::Adopt(args) => worker_commands::adopt(ui, env, common, args.words),
        Command::Attach(args) => passed("attach", "attach", Whom::One, Adopts::None, &args),
        Command::Send(args) => worker_commands::send(ui, env, common, &args.words),
        Command::Answer(args) => passed("answer", "answer", Whom::One, Adopts::None, &args),
        Command::Peek(args) => passed("peek", "peek", Whom::One, Adopts::None, &args),
        Command::Wait(args) => passed("wait", "wait", Whom::Several, Adopts::None, &args),
        Command::Review(args) => worker_commands::review(ui, env, common, args.words),
        Command::Back(args) => worker_commands::back(ui, env, common, &args.words),
        Command::Land(args) => passed("land", "accept", Whom::Perhaps, Adopts::AsMade, &args),
        Command::Request(args) => passed("request", "request", Whom::One, Adopts::Own, &args),
        Command::Stop(args) => passed("stop", "down", Whom::Several, Adopts::None, &args),
        Command::Resume(args) => passed("resume", "resume", Whom::Several, Adopts::Own, &args),
        Command::Start(args) => worker_commands::start(ui, env, common, &args.words),
        Command::PassedOn(Words { words }) => {
            let all = [&[commands::as_typed(env).to_owned()], &words[..]].concat();
            commands::pass_on(ui, env, common, "worker-ctl", all)
        }
        Command::Setup(args) => commands::setup::run(ui, env, &args),
        Command::Teardown(args) => commands::teardown::run(ui, env, &args),
        Command::Desk(args) => commands::desk::run(ui, env, common, &args),
        Command::Jump(args) => commands::jump::run(ui, env, common, &args),
        Command::Status(args) => commands::status::run(ui, env, &args),
        Command::Doctor(args) => commands::doctor::run(ui, env, args),
        Command::New(args) => commands::new::run(ui, env, common, &args),
        Command::Go(args) => commands::go::run(ui, env, &args),
        Command::Rm(args) => commands::rm::run(ui, env, common, &args),
        Command::Skills(args) => commands::skills::run(ui, env, &args),
        Command::ShellInit(args) => commands::shell_init::run(ui, env, &args),
    }
}
