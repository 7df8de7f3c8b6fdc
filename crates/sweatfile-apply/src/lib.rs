//! `sweatfile-apply` sets up a git worktree from layered sweatfiles.
//!
//! Rooms, in reading order: `cli` (what can be asked), `commands` (one file per subcommand),
//! `facts` (everything read), `plan` (the pure decision), `apply` (the only room that writes), then
//! the nouns: `sweatfile`, `layer`, `env_file`, `excludes`, `template`, `record`, `review`, `trust`, `report`.

mod cli;
mod commands;

mod apply;
mod facts;
mod plan;

pub mod env_file;
pub mod excludes;
mod layer;
mod record;
mod report;
pub mod review;
pub mod sweatfile;
mod template;
mod trust;

pub use cli::{Cli, command};

/// The tool's name: its binary, its table in `config.toml`, its directory of state.
pub const TOOL: &str = "sweatfile-apply";

/// The whole program.
pub fn main() -> std::process::ExitCode {
    shopfloor_core::args::main(TOOL, commands::run)
}
