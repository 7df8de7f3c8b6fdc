//! How a step is taken back: by its own tool.

use crate::step::{CommandWords, LEDGER, OVERLAY, SKILLS, SWEATFILE, WORKERS, hooked};

/// The commands that take a step back; without those of its tool, if nothing of it is there.
pub fn commands(step: &str, has_hooks: bool, is_there: bool) -> Vec<CommandWords> {
    // The hook goes first: it would attach worktrees anew.
    let hook = hooked(step).filter(|_| has_hooks).map(|tool| CommandWords::new(&[tool, "hook", "uninstall"]));
    let own: &[&[&str]] = match step {
        _ if !is_there => &[],
        // The second takes what it wrote into `info/exclude` for worktrees that are gone.
        SWEATFILE => &[&["sweatfile-apply", "init", "--undo"], &["sweatfile-apply", "doctor", "--repair", "--yes"]],
        OVERLAY => &[&["overlay-sync", "detach"]],
        LEDGER => &[&["ledger-synth", "install", "--undo", "--claude"]],
        SKILLS => &[&["shopfloor", "skills", "--undo"]],
        WORKERS => &[&["worker-ctl", "deinit", "--yes"]],
        _ => &[],
    };
    hook.into_iter().chain(own.iter().map(|words| CommandWords::new(words))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_needs_no_command() {
        let lines = |step: &str, has_hooks: bool, is_there: bool| -> Vec<String> {
            commands(step, has_hooks, is_there).iter().map(CommandWords::line).collect()
        };
        assert!(lines(OVERLAY, false, false).is_empty() && lines(WORKERS, true, false).is_empty());
        assert_eq!(lines(OVERLAY, true, false), ["overlay-sync hook uninstall"]);
        assert_eq!(lines(OVERLAY, true, true), ["overlay-sync hook uninstall", "overlay-sync detach"]);
        assert_eq!(lines(WORKERS, false, true), ["worker-ctl deinit --yes"]);
        assert_eq!(lines(SKILLS, true, true), ["shopfloor skills --undo"]);
    }
}
