//! The command line: flags all tools share, and the way from `main` to the exit code.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, Parser, ValueEnum};

use crate::env::Env;
use crate::error::{Exit, Failure, Result};
use crate::ui::{Options, Ui};

/// The exit codes, for the end of every `--help`.
pub const EXIT_CODES: &str = "\
Exit codes:
  0    done, or nothing to do
  1    the answer is \"no\" (drift, not found, not in the state the command needs)
  2    bad usage, configuration or input; nothing was changed
  3    a person must decide first (approval, confirmation)
  4    git, a child command or the disk failed
  75   another process holds the lock; try again
  124  a --timeout ran out
  128+n  ended by signal n";

/// Flags every tool takes, before or after the subcommand.
#[derive(Args, Clone, Debug, Default)]
pub struct Common {
    /// Run as if started in DIR; a second one starts from the first
    #[arg(short = 'C', value_name = "DIR", global = true, help_heading = "Common options")]
    pub dirs: Vec<OsString>,
    /// Answer in JSON: one document, or JSON Lines for lists
    #[arg(long, global = true, help_heading = "Common options")]
    pub json: bool,
    /// Leave notices out; warnings and errors stay
    #[arg(short, long, global = true, help_heading = "Common options")]
    pub quiet: bool,
    /// Say more
    #[arg(short, long, global = true, help_heading = "Common options")]
    pub verbose: bool,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true, help_heading = "Common options")]
    pub color: Color,
}

/// When to use colours; `NO_COLOR` counts as `never` under `auto`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// A tool's command line.
pub trait CommandLine: Parser {
    /// The flags it shares with the other tools.
    fn common(&self) -> &Common;

    /// Whether this is called where nothing may fail: then every failure is a notice, and the exit code 0.
    fn must_not_fail(_args: &[OsString]) -> bool {
        false
    }

    /// Whether the command finds what it needs though the current directory is gone. Then it is run from `/`.
    fn needs_no_directory(&self) -> bool {
        false
    }
}

/// What every tool's `main` is: reads the process, parses, runs, reports, and returns the exit code.
pub fn main<C: CommandLine>(tool: &'static str, run: impl FnOnce(&Ui, &Env, C) -> Result<Exit>) -> ExitCode {
    let (env, problem) = Env::from_process();
    let early = Ui::new(tool, &env, Options { json: asks_for_json(&env), ..Options::default() });
    let is_quiet = C::must_not_fail(&env.args);
    let report = |ui: &Ui, failure: Failure| {
        if is_quiet {
            ui.problem(&failure);
            return Exit::Done;
        }
        ui.error(&failure);
        failure.exit
    };
    let exit = match parse::<C>(tool, &early, &env) {
        Err(failure) => failure.map_or(Exit::Done, |failure| report(&early, failure)),
        Ok(cli) => {
            let is_met = |failure: &Failure| failure.kind != "no_directory" || !cli.needs_no_directory();
            if let Some(failure) = problem.filter(is_met) {
                return ExitCode::from(report(&early, failure).code());
            }
            let common = cli.common().clone();
            let ui = Ui::new(tool, &env, options(&env, &common));
            let there = common.dirs.iter().try_fold(env, |env, dir| env.at(Path::new(dir)));
            let done = there.and_then(|env| run(&ui, &env, cli)).unwrap_or_else(|failure| report(&ui, failure));
            match ui.unwritten() {
                Some(failure) if done == Exit::Done => report(&ui, failure),
                _ => done,
            }
        }
    };
    ExitCode::from(exit.code())
}

fn asks_for_json(env: &Env) -> bool {
    env.args.iter().take_while(|a| *a != "--").any(|a| a == "--json")
}

fn options(env: &Env, common: &Common) -> Options {
    let color = match common.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => env.stderr_is_terminal && env.var("NO_COLOR").is_none(),
    };
    Options { json: common.json, quiet: common.quiet, verbose: common.verbose, color }
}

/// Parses the command line, or answers `--help` and `--version` (then there is no failure), or says what is wrong.
fn parse<C: CommandLine>(tool: &'static str, ui: &Ui, env: &Env) -> Result<C, Option<Failure>> {
    let error = match C::try_parse_from(&env.args) {
        Ok(cli) => return Ok(cli),
        Err(error) => error,
    };
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let styled = env.stdout_is_terminal && env.var("NO_COLOR").is_none();
        let text = error.render();
        ui.answer(if styled { text.ansi().to_string() } else { text.to_string() }.as_bytes());
        return Err(None);
    }
    let rendered = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "a subcommand is missing".to_owned(),
        _ => error.render().to_string(),
    };
    let mut lines =
        rendered.lines().map(str::trim_end).filter(|l| !l.is_empty() && !l.starts_with("For more information"));
    let message = lines.next().unwrap_or("bad usage").trim_start_matches("error: ").to_owned();
    let failure = Failure::usage(message)
        .details(lines.map(|l| l.trim_start().to_owned()))
        .hint(format!("run `{tool} --help` to see what it takes"));
    Err(Some(failure))
}
