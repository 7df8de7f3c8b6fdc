//! Skills: what tells an agent how to use a tool (<https://agentskills.io>). They are in `skills/` of the project.

/// The directory of skills in a repository. Claude Code and opencode read it.
pub const DIR: &str = ".claude/skills";

/// The skills: the name of each and its text. `ledger-synth install --claude` writes the ledger's too.
pub const SKILLS: [(&str, &str); 6] = [
    ("shopfloor", include_str!("../../../skills/shopfloor/SKILL.md")),
    ("sweatfile-apply", include_str!("../../../skills/sweatfile-apply/SKILL.md")),
    ("overlay-sync", include_str!("../../../skills/overlay-sync/SKILL.md")),
    ("synthesize-ledgers", include_str!("../../../skills/synthesize-ledgers/SKILL.md")),
    ("worktree-spawn", include_str!("../../../skills/worktree-spawn/SKILL.md")),
    ("worker-ctl", include_str!("../../../skills/worker-ctl/SKILL.md")),
];

/// The file of a skill, in a directory of skills.
pub fn file(dir: &str, name: &str) -> String {
    format!("{}/{name}/SKILL.md", dir.trim_end_matches('/'))
}
