//! `env diff`: the changes to `.sweatshop-env` since the snapshot.

use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

use super::change::{ChangeLine, Values, describe, require_snapshot, require_usable};
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
}

pub fn run(ui: &Ui, worktree: &OpenWorktree, args: &Args) -> Result<Exit> {
    let values = if args.reveal { Values::Revealed } else { Values::Hidden };
    let (before, now) = (require_snapshot(worktree)?, require_usable(worktree)?.variables());
    for change in review::changes(&before, &now) {
        if ui.is_json() {
            ui.json(&ChangeLine::new(&change, values));
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
