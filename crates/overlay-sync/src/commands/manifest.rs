//! `manifest`: what a workspace and the overlay held in common last.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::workspace_args::WorkspaceArgs;
use crate::facts::overlay::Overlay;

/// Print the hashes of what a workspace and the overlay last had in common
///
/// Exits with 1 if the workspace is not attached.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  overlay-sync manifest | sha256sum --check")]
pub struct Args {
    /// The workspace; the current one by default
    workspace: Option<PathBuf>,
}

pub fn run(ui: &Ui, overlay: &Overlay, args: &Args) -> Result<Exit> {
    let own = || overlay.repo.require_worktree().map(Path::to_path_buf);
    let path = args.workspace.clone().map_or_else(own, Ok)?;
    let paths = WorkspaceArgs { paths: vec![path], nul: false }.read(ui, &overlay.env)?;
    let found = overlay.workspaces(&paths)?;
    let workspace = found.first().ok_or_else(|| Failure::not_found("the workspace is not attached"))?;
    let files: BTreeMap<String, Digest> = workspace.files.iter().map(|(p, b)| (p.to_string(), b.sha256)).collect();
    if ui.is_json() {
        let root = workspace.root.to_string_lossy();
        ui.json(&json!({ "workspace": root, "worktree": root, "files": files }));
    } else {
        // In the format of sha256sum, so that `sha256sum --check` takes it.
        files.iter().for_each(|(path, digest)| ui.line(format!("{digest}  {}", printable(path))));
    }
    Ok(Exit::Done)
}
