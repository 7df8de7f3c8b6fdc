//! The tool's name.

/// The name of the binary, of its table in `config.toml` and of its directory of state.
pub const TOOL: &str = "overlay-sync";
