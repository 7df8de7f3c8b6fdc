//! Skills: what tells an agent how to use a tool (<https://agentskills.io>). They are in `skills/` of the project.

/// The directory of skills in a repository. Claude Code and opencode read it.
pub const DIR: &str = ".claude/skills";

/// A file of [`DIR`], and its text.
pub struct Skill {
    pub name: &'static str,
    /// Below the top of the worktree, if it is in [`DIR`].
    pub file: &'static str,
    pub text: &'static str,
}

macro_rules! skill {
    ($name:literal) => {
        Skill {
            name: $name,
            file: concat!(".claude/skills/", $name, "/SKILL.md"),
            text: include_str!(concat!("../../../skills/", $name, "/SKILL.md")),
        }
    };
}

/// The skills. `ledger-synth install --claude` writes the ledger's too.
pub const SKILLS: [Skill; 6] = [
    skill!("shopfloor"),
    skill!("sweatfile-apply"),
    skill!("overlay-sync"),
    skill!("synthesize-ledgers"),
    skill!("worktree-spawn"),
    skill!("worker-ctl"),
];
