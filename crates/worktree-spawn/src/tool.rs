//! The tool's name, and how other programs start it.

use shopfloor_core::env::Env;

/// The name of the binary, of its table in `config.toml` and of its state directory.
pub const TOOL: &str = "worktree-spawn";

/// The word by which other programs start this one: its name if it was started by name, otherwise its path.
pub fn program(env: &Env) -> String {
    env.called_path().map_or(TOOL.to_owned(), |path| path.to_string_lossy().into_owned())
}
