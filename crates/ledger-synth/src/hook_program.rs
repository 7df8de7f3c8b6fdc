//! The agent programs whose hooks call us.

use clap::ValueEnum;
use shopfloor_core::agents::{self, ProjectFiles};

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

impl HookProgram {
    /// Its name in the table of agent programs.
    pub fn name(self) -> &'static str {
        match self {
            HookProgram::Claude => "claude",
            HookProgram::Codex => "codex",
            HookProgram::Gemini => "gemini",
        }
    }

    /// Its files in a repository.
    pub fn files(self) -> Option<ProjectFiles> {
        agents::find(self.name())?.project
    }
}
