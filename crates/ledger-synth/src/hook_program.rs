//! The agent programs whose hooks call us.

use clap::ValueEnum;

/// An agent program whose hooks are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HookProgram {
    /// Claude Code
    Claude,
    /// Codex, whose hooks say and expect the same
    Codex,
    /// Gemini CLI, whose hooks say and expect the same
    Gemini,
}
