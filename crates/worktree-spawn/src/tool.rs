//! The tool's name, and how other programs start it.

use std::path::Path;

use shopfloor_core::env::Env;

/// The name of the binary, of its table in `config.toml` and of its state directory.
pub const TOOL: &str = "worktree-spawn";

/// The word by which other programs start this one: its name if it was started by name, otherwise its path.
pub fn program(env: &Env) -> String {
    let name = env.args.first().cloned().unwrap_or_default();
    let path = Path::new(&name);
    if path.components().count() < 2 {
        return TOOL.to_owned();
    }
    env.cwd.join(path).to_string_lossy().into_owned()
}
