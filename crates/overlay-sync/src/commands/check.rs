//! `check`: whether every file in every workspace is in step, for CI.

use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

use super::status;
use super::workspace_args::WorkspaceArgs;
use crate::facts::overlay::Overlay;

pub fn run(ui: &Ui, overlay: &Overlay, args: &WorkspaceArgs) -> Result<Exit> {
    let mut is_in_step = true;
    let workspaces = status::chosen(ui, overlay, args)?;
    for workspace in &workspaces {
        if !workspace.is_gone() && matches!(workspace.is_present(), Ok(false)) && workspace.files.is_empty() {
            // `status` has no file of it to tell of.
            let (why, what_helps) = workspace.absence();
            ui.warn(format!("{} {why}; {what_helps}", workspace.root.display()));
            is_in_step = false;
        }
    }
    status::for_each_file(ui, overlay, &workspaces, &mut |answer| {
        if !answer.is_in_step() {
            is_in_step = false;
            status::print(ui, answer);
        }
    })?;
    Ok(if is_in_step { Exit::Done } else { Exit::No })
}
