//! `env diff`: the changes to `.sweatshop-env` since the snapshot.

use std::path::PathBuf;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

use super::change::{ChangeLine, Values, describe, require_snapshot, require_usable};
use super::removed;
use crate::review;
use crate::worktree::OpenWorktree;

/// List what was added or changed since the snapshot
///
/// Exits with 1 if there is no snapshot.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  sweatfile-apply env diff --json | jq -r .key")]
pub struct Args {
    /// Print the values too
    #[arg(long)]
    pub reveal: bool,
    /// List what removed worktrees had added instead; PATH or TIME selects one of them
    #[arg(long, value_name = "PATH|TIME", num_args = 0..=1, require_equals = true)]
    pub removed: Option<Option<PathBuf>>,
}

pub fn run(ui: &Ui, env: &Env, worktree: &OpenWorktree, args: &Args) -> Result<Exit> {
    let values = if args.reveal { Values::Revealed } else { Values::Hidden };
    if let Some(selected) = &args.removed {
        return removed::diff(ui, env, worktree, selected.as_deref(), values);
    }
    let (before, now) = (require_snapshot(worktree)?, require_usable(worktree)?.variables());
    for change in review::changes(&before, &now) {
        if ui.is_json() {
            ui.json(&ChangeLine::new(&change, None, values));
        } else {
            ui.line(describe(&change, values));
        }
    }
    let gone = review::removed(&before, &now);
    if !gone.is_empty() {
        ui.note(format!("removed since: {}", gone.join(", ")));
    }
    Ok(Exit::Done)
}
