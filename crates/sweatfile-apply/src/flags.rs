//! The flags that every command takes: which directories the layers are in.

use std::path::PathBuf;

use shopfloor_core::env::Env;
use shopfloor_core::git::Repo;

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
}
