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
    Snapshot(snapshot::Args),
    Diff(diff::Args),
    Review(review::Args),
}

pub fn run(ui: &Ui, env: &Env, dirs: &LayerFlags, command: &Command) -> Result<Exit> {
    let worktree = OpenWorktree::find(env)?;
    match command {
        Command::Snapshot(args) => snapshot::run(ui, &worktree, args),
        Command::Diff(args) => diff::run(ui, &worktree, args),
        Command::Review(args) => review::run(ui, &worktree, dirs, args),
    }
}
