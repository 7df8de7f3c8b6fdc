//! `env`: the snapshot of `.sweatshop-env`, the changes since, and a person's decision about each change.

mod diff;
mod review;
mod snapshot;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

use crate::flags::LayerFlags;
use crate::worktree::OpenWorktree;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Take a snapshot of .sweatshop-env, unless an earlier one is not yet reviewed
    #[command(after_help = "Example:\n  sweatfile-apply env snapshot && tmux new-session -A -s work")]
    Snapshot,
    Diff(diff::Args),
    Review(review::Args),
}

pub fn run(ui: &Ui, env: &Env, dirs: &LayerFlags, command: &Command) -> Result<Exit> {
    let worktree = OpenWorktree::find(env)?;
    match command {
        Command::Snapshot => snapshot::run(ui, &worktree),
        Command::Diff(args) => diff::run(ui, &worktree, args),
        Command::Review(args) => review::run(ui, &worktree, dirs, args),
    }
}
