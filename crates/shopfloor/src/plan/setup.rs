//! Which steps a repository needs.

use crate::facts::surroundings::Surroundings;
use crate::step::{CommandWords, Step};

/// The file of the skill that `ledger-synth install --claude` writes.
const SKILL: &str = ".claude/skills/synthesize-ledgers/SKILL.md";

/// The steps that are still to be done, in their order: hooks come before the root of the workers, which copies them.
pub fn steps(found: &Surroundings) -> Vec<Step> {
    [sweatfile(found), overlay(found), ledger(found), workers(found)].into_iter().flatten().collect()
}

/// What is missing for a step that would be useful otherwise.
pub fn notes(found: &Surroundings) -> Vec<String> {
    let mut notes = Vec::new();
    if found.agents.is_empty() {
        notes.push("no agent program is on the PATH; install claude, codex, gemini, aider or opencode".to_owned());
    }
    if !found.has_tmux {
        notes.push(
            "tmux is not on the PATH, so worker-ctl is not set up; install it, then run `shopfloor setup`".into(),
        );
    }
    for file in &found.visible_files {
        notes.push(format!("{file} is neither checked in nor ignored by git, so worktrees do not share it"));
    }
    notes
}

fn sweatfile(found: &Surroundings) -> Option<Step> {
    let mut step = Step {
        name: "sweatfile",
        purpose: "set up each new worktree from a sweatfile, with its files, variables and commands".to_owned(),
        commands: Vec::new(),
        undo: Vec::new(),
        files: Vec::new(),
        settings: &[],
    };
    if !found.has_sweatfile {
        step.commands.push(CommandWords::new(&["sweatfile-apply", "init"]));
        step.commands.push(CommandWords::new(&["sweatfile-apply", "approve", "--yes"]));
        step.files.push("sweatfile");
    }
    // What it wrote into `info/exclude` for worktrees that are gone.
    step.undo.push(CommandWords::new(&["sweatfile-apply", "doctor", "--repair", "--yes"]));
    add_hook(found, &mut step, "sweatfile-apply");
    (!step.commands.is_empty()).then_some(step)
}

fn overlay(found: &Surroundings) -> Option<Step> {
    let is_new = !found.is_attached && !found.local_files.is_empty();
    let mut step = Step {
        name: "overlay",
        purpose: format!("keep {} the same in all worktrees", found.local_files.join(", ")),
        commands: Vec::new(),
        undo: Vec::new(),
        files: Vec::new(),
        settings: &[],
    };
    if is_new {
        step.commands.push(CommandWords::new(&["overlay-sync", "add"]).with(found.local_files.iter().cloned()));
        let worktrees = found.worktrees.iter().map(|path| path.to_string_lossy().into_owned());
        step.commands.push(CommandWords::new(&["overlay-sync", "attach"]).with(worktrees));
        step.undo.push(CommandWords::new(&["overlay-sync", "detach"]));
    }
    if is_new || found.is_attached {
        add_hook(found, &mut step, "overlay-sync");
    }
    (!step.commands.is_empty()).then_some(step)
}

fn ledger(found: &Surroundings) -> Option<Step> {
    if found.has_merge_driver {
        return None;
    }
    let has_claude = found.agents.contains(&"claude");
    let install = CommandWords::new(&["ledger-synth", "install"]);
    let mut files = vec![".gitattributes"];
    files.extend([".claude/settings.json", SKILL].into_iter().filter(|_| has_claude));
    Some(Step {
        name: "ledger",
        purpose: "join what agents did and decided into one page that merges without conflicts".to_owned(),
        commands: vec![if has_claude { install.with(["--claude".to_owned()]) } else { install }],
        undo: vec![CommandWords::new(&["ledger-synth", "hook", "uninstall"])],
        files,
        settings: &["merge.ledger-synth.name", "merge.ledger-synth.driver"],
    })
}

fn workers(found: &Surroundings) -> Option<Step> {
    if found.has_root || !found.has_tmux || found.agents.is_empty() {
        return None;
    }
    Some(Step {
        name: "workers",
        purpose: "run agents in tmux, from a task to a reviewed commit".to_owned(),
        commands: vec![CommandWords::new(&["worker-ctl", "init"])],
        undo: vec![
            CommandWords::new(&["worker-ctl", "nuke", "--all", "--yes"]),
            CommandWords::new(&["worker-ctl", "deinit"]),
        ],
        files: Vec::new(),
        settings: &[],
    })
}

/// Adds a tool's hook to a step, if it is missing. Where another program manages the hooks, the command says what to add
/// to its configuration.
fn add_hook(found: &Surroundings, step: &mut Step, tool: &'static str) {
    if !found.hooked.contains(&tool) {
        step.commands.push(CommandWords::new(&[tool, "hook", "install"]));
        // The hook goes first: it would attach worktrees anew.
        step.undo.insert(0, CommandWords::new(&[tool, "hook", "uninstall"]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(found: &Surroundings) -> Vec<&'static str> {
        steps(found).iter().map(|step| step.name).collect()
    }

    #[test]
    fn only_what_is_missing_and_of_use_is_proposed() {
        let bare = Surroundings::default();
        assert_eq!(names(&bare), ["sweatfile", "ledger"]);
        let full = Surroundings {
            agents: vec!["claude"],
            has_tmux: true,
            local_files: vec![".env".into()],
            ..Surroundings::default()
        };
        assert_eq!(names(&full), ["sweatfile", "overlay", "ledger", "workers"]);
        let lines = |found: &Surroundings| -> Vec<String> {
            steps(found).iter().flat_map(|step| step.commands.iter().map(CommandWords::line)).collect()
        };
        assert!(lines(&full).contains(&"ledger-synth install --claude".to_owned()));
        let done = Surroundings {
            has_sweatfile: true,
            hooked: vec!["sweatfile-apply", "overlay-sync"],
            is_attached: true,
            has_merge_driver: true,
            has_root: true,
            ..full.clone()
        };
        assert!(names(&done).is_empty());
        let hooked = Surroundings { hooked: vec!["overlay-sync"], ..full };
        assert!(!lines(&hooked).contains(&"overlay-sync hook install".to_owned()));
    }
}
