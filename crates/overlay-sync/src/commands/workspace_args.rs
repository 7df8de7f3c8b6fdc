//! The argument of commands that are about some of the workspaces.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::facts::overlay::Overlay;
use crate::workspace::Workspace;

/// Says that a workspace was attached or detached, or would be.
pub fn print_membership(ui: &Ui, workspace: &Workspace, is_attached: bool) {
    let (root, word) = (workspace.root.to_string_lossy(), if is_attached { "attach" } else { "detach" });
    if ui.is_json() {
        let done = !ui.is_dry();
        return ui.json(&json!({ "workspace": root, "worktree": root, (format!("{word}ed")): done }));
    }
    let root = printable(&root);
    ui.done(if ui.is_dry() { format!("would {word} {root}") } else { format!("{word}ed {root}") });
}

#[derive(clap::Args, Clone, Debug, Default)]
pub struct WorkspaceArgs {
    /// Workspaces; `-` reads paths from stdin
    // Not the id of the setting `paths`.
    #[arg(id = "workspaces", value_name = "WS")]
    pub paths: Vec<PathBuf>,
    /// With `-`: the paths on stdin end with NUL
    #[arg(short = 'z')]
    pub nul: bool,
}

impl WorkspaceArgs {
    /// The paths as absolute ones, with those on stdin in the place of `-`.
    pub fn read(&self, ui: &Ui, env: &Env) -> Result<Vec<PathBuf>> {
        if self.nul && self.paths.iter().all(|path| path.as_os_str() != "-") {
            return Err(Failure::usage("`-z` needs `-`: it says how the paths on stdin end")
                .hint("give `-` to read them; `--json` writes an answer that programs can split"));
        }
        let mut paths = Vec::new();
        for path in &self.paths {
            if path.as_os_str() != "-" {
                paths.push(env.cwd.join(path));
                continue;
            }
            let end = if self.nul { 0 } else { b'\n' };
            let input = ui.input()?;
            let listed = input.split(|b| *b == end).filter(|p| !p.is_empty());
            paths.extend(listed.map(|p| env.cwd.join(OsString::from_vec(p.to_vec()))));
        }
        Ok(paths)
    }

    /// The attached workspaces that are meant: all of them if no path was given, but none where stdin lists none.
    pub fn workspaces(&self, ui: &Ui, overlay: &Overlay) -> Result<Vec<Workspace>> {
        let paths = self.read(ui, &overlay.env)?;
        if paths.is_empty() && !self.paths.is_empty() { Ok(Vec::new()) } else { overlay.workspaces(&paths) }
    }
}
