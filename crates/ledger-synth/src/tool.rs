//! The tool's name, and the environment variables that are not settings.

/// The name of the binary, of its table in `config.toml` and of its state directory.
pub const TOOL: &str = "ledger-synth";

/// Names the agent that writes.
pub const AGENT_VARIABLE: &str = "LEDGER_SYNTH_AGENT";

/// Names the session that runs the command. `banner` sets it for the session that it starts.
pub const SESSION_VARIABLE: &str = "LEDGER_SYNTH_SESSION";
