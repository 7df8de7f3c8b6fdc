//! How a deed is taken back.

use shopfloor_core::text::printable;

use crate::deed::Deed;
use crate::facts::remains::Remains;
use crate::step::{CommandWords, LEDGER_SETTINGS, OVERLAY, SWEATFILE, WORKERS};

/// The tools that have git hooks.
const HOOKED: [&str; 3] = ["sweatfile-apply", "overlay-sync", "ledger-synth"];

/// The commands that take a deed back, as far as commands can. Those for what is gone are left out.
pub fn commands(deed: &Deed, remains: &Remains) -> Vec<CommandWords> {
    let mut all = Vec::new();
    // The hook goes first: it would attach worktrees anew.
    if let Some(tool) = HOOKED.iter().find(|tool| deed.hooks.as_deref() == Some(**tool)) {
        all.push(CommandWords::new(&[tool, "hook", "uninstall"]));
    }
    match (deed.step.as_str(), &deed.root) {
        // What it wrote into `info/exclude` for worktrees that are gone.
        (SWEATFILE, _) => all.push(CommandWords::new(&["sweatfile-apply", "doctor", "--repair", "--yes"])),
        (OVERLAY, _) if remains.has_overlay => all.push(CommandWords::new(&["overlay-sync", "detach"])),
        (WORKERS, Some(root)) if remains.has_root => {
            all.push(CommandWords::new(&["worker-ctl", "--root", root, "deinit", "--yes"]));
        }
        _ => {}
    }
    all
}

/// What keeps a deed although no command failed, a line each.
pub fn blocks(deed: &Deed, remains: &Remains) -> Vec<String> {
    let half = deed.root.iter().filter(|_| remains.has_half_root);
    let mut all: Vec<String> =
        half.map(|root| format!("{} was made only in part; remove it", printable(root))).collect();
    let agents = remains.agents.iter();
    all.extend(agents.map(|id| format!("there is an agent {}; `shopfloor done` removes it", printable(id))));
    let overlay = deed.overlay.iter().filter(|_| remains.has_overlay_files);
    all.extend(overlay.map(|overlay| {
        let hint = "they are copies of those in the worktrees; delete the directory if you do not need them";
        format!("the overlay {} has files; {hint}", printable(overlay))
    }));
    all
}

/// The git settings of a deed that are ours, with the values that we know.
pub fn settings(deed: &Deed) -> impl Iterator<Item = (&'static str, &'static str)> {
    LEDGER_SETTINGS.into_iter().filter(|(name, _)| deed.settings.iter().any(|own| own == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_needs_no_command_and_what_is_left_is_named() {
        let deed = |step: &str| Deed {
            step: step.to_owned(),
            commands: vec![CommandWords::new(&["touch", "x"])],
            hooks: Some("touch".to_owned()),
            files: Vec::new(),
            settings: vec!["core.pager".to_owned()],
            config: None,
            is_running: false,
            overlay: Some("/o".to_owned()),
            root: Some("/r".to_owned()),
        };
        let lines = |step: &str, remains: &Remains| -> Vec<String> {
            commands(&deed(step), remains).iter().map(CommandWords::line).collect()
        };
        let gone = Remains::default();
        let all = Remains { has_overlay: true, has_overlay_files: true, has_root: true, ..gone.clone() };
        assert!(lines(OVERLAY, &gone).is_empty() && lines(WORKERS, &gone).is_empty());
        assert_eq!(lines(OVERLAY, &all), ["overlay-sync detach"]);
        assert_eq!(lines(WORKERS, &all), ["worker-ctl --root /r deinit --yes"]);
        assert_eq!(settings(&deed(OVERLAY)).count(), 0);
        let half = Remains { has_half_root: true, agents: vec!["main.x".to_owned()], ..gone.clone() };
        assert!(blocks(&deed(WORKERS), &gone).is_empty());
        assert!(blocks(&deed(OVERLAY), &all)[0].starts_with("the overlay /o has files"));
        assert_eq!(blocks(&deed(WORKERS), &half).len(), 2);
    }
}
