//! The argument of commands that are about some of the workspaces.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::ui::Ui;

#[derive(clap::Args, Clone, Debug, Default)]
pub struct WorkspaceArgs {
    /// Workspaces; `-` reads paths from stdin
    #[arg(value_name = "WS")]
    pub paths: Vec<PathBuf>,
    /// Paths on stdin end with NUL
    #[arg(short = 'z')]
    pub nul: bool,
}

impl WorkspaceArgs {
    /// The paths as absolute ones, with those on stdin in the place of `-`.
    pub fn read(&self, ui: &Ui, env: &Env) -> Result<Vec<PathBuf>> {
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
}
