//! `approvals`: the files that need approval, and whether they have it.

use shopfloor_core::approval::ApprovalStatus;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::git::Git;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::approval::{self, ApprovalLine};
use crate::facts::{self, LayerDirs, LoadOptions};

/// List the repository's files that need approval, and whether they have it
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  sweatfile-apply approvals --json | jq -e 'select(.status == \"required\") | not'")]
pub struct Args {}

pub fn run(ui: &Ui, env: &Env, dirs: &LayerDirs, _args: &Args) -> Result<Exit> {
    let mut git = Git::find(env)?;
    let repo = git.discover()?;
    let layers = facts::load_layers(env, &repo, dirs, LoadOptions::default())?;
    for file in approval::find_all(env, &git, &repo, dirs, &layers)? {
        let status = file.status(env, &repo)?;
        if ui.is_json() {
            ui.json(&ApprovalLine::new(&file, status));
        } else {
            let word = match status {
                ApprovalStatus::None => "none",
                ApprovalStatus::Required => "required",
                ApprovalStatus::Approved => "approved",
            };
            ui.line(format!("{word} {}", printable(&file.path.display().to_string())));
        }
    }
    Ok(Exit::Done)
}
