//! `cargo xtask`: every chore of the project.

mod agents;
mod architecture;
mod bench;
mod ci;
mod cluster;
mod demo;
mod dist;
mod faults;
mod generate;
mod habits;
mod install;
mod kills;
mod nightly;
mod races;
mod registry;
mod rooms;
mod run;
mod site;
mod stage;
mod test;
mod tidy;
mod weight;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's chores
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Show the tools at work in a temporary directory, each step with the command a user would type
    Demo(demo::Args),
    /// Run the whole test suite
    Test {
        /// Passed on to the test runner
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Run the whole test suite, and kill at every point of each kill sweep instead of at a sample
    Faults {
        /// Passed on to the test runner
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Run workers as jobs of a real Slurm of one node, whose packages are installed where root can do that
    Cluster,
    /// Write what is generated: command reference, man pages, completions, the README's picture
    Gen {
        /// Write nothing; fail if something is not up to date
        #[arg(long)]
        check: bool,
    },
    /// Build the tools, and install binaries, man pages and completions
    Install {
        /// Install to PREFIX/bin and PREFIX/share
        #[arg(long, value_name = "PREFIX", default_value = "~/.local")]
        prefix: String,
    },
    /// Delete what `install` installed
    Uninstall {
        /// The same PREFIX as for `install`
        #[arg(long, value_name = "PREFIX", default_value = "~/.local")]
        prefix: String,
    },
    /// Build the site: the same Markdown, as pages below target/site
    Docs(site::Args),
    /// Build a tarball and a Debian package
    Dist(dist::Args),
    /// Measure the tools against other programs, and print a Markdown table
    Bench(bench::Args),
    /// Try the agent programs themselves, against a model on loopback
    Agents(agents::Args),
    /// Check the rules that no compiler checks
    Tidy,
    /// Print what the tools weigh: shipped lines and packages
    Weight(weight::Args),
    /// Run every gate that a change must pass: format, tidy, lints, dependencies, generated files, tests
    Ci,
    /// Run the rounds that are too long for every change, and print when each last ran
    Nightly(nightly::Args),
}

fn main() -> ExitCode {
    let done = match Cli::parse().chore {
        Chore::Demo(args) => demo::run(&args),
        Chore::Test { args } => test::run(&args),
        Chore::Faults { args } => faults::run(&args),
        Chore::Cluster => cluster::run(),
        Chore::Gen { check } => generate::run(check),
        Chore::Install { prefix } => install::run(&prefix),
        Chore::Uninstall { prefix } => install::undo(&prefix),
        Chore::Docs(args) => site::run(&args),
        Chore::Dist(args) => dist::run(&args),
        Chore::Bench(args) => bench::run(&args),
        Chore::Agents(args) => agents::run(&args),
        Chore::Tidy => tidy::run(),
        Chore::Weight(args) => weight::run(&args),
        Chore::Ci => ci::run(),
        Chore::Nightly(args) => nightly::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: error: {error:#}");
            ExitCode::from(if error.is::<run::Missing>() { 2 } else { 1 })
        }
    }
}
