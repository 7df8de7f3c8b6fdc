//! The flags that every command takes: which directories the layers are in.

use std::path::{Path, PathBuf};

use shopfloor_core::env::Env;
use shopfloor_core::git::Repo;
use shopfloor_core::text::shell_word;

use crate::layout::TOOL;

/// The directories that the command line names.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct LayerFlags {
    /// Read the area layer from DIR/sweatfile [env: SWEATFILE_AREA]
    #[arg(long, value_name = "DIR", global = true, help_heading = "Layers")]
    pub area: Option<PathBuf>,
    /// Read the repository layer from DIR/sweatfile instead of the main checkout's
    #[arg(long, value_name = "DIR", global = true, help_heading = "Layers")]
    pub repo_root: Option<PathBuf>,
}

impl LayerFlags {
    /// The directory of the repository's sweatfile.
    pub fn repo_root(&self, env: &Env, repo: &Repo) -> PathBuf {
        match &self.repo_root {
            Some(dir) => env.cwd.join(dir),
            None => repo.home.checkout.clone(),
        }
    }

    /// How hints call this tool: in `dir`, else in the directory that `-C` named, with the same layer of the repository.
    pub fn call(&self, env: &Env, dir: Option<&Path>) -> String {
        let dir = dir.or(env.cwd_named.then_some(env.cwd.as_path())).map(|dir| format!(" -C {}", shell_word(dir)));
        let root = self.repo_root.as_ref().map(|root| format!(" --repo-root {}", shell_word(&env.cwd.join(root))));
        format!("{TOOL}{}{}", dir.unwrap_or_default(), root.unwrap_or_default())
    }
}
