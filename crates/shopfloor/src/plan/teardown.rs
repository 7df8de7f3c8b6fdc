//! How a deed is taken back.

use std::path::Path;

use crate::deed::Deed;
use crate::step::{CommandWords, LEDGER_SETTINGS, OVERLAY, SWEATFILE, WORKERS};

/// The tools that have git hooks.
const HOOKED: [&str; 3] = ["sweatfile-apply", "overlay-sync", "ledger-synth"];

/// The commands that take a deed back, as far as commands can. Those for what is gone are left out.
pub fn commands(deed: &Deed) -> Vec<CommandWords> {
    let mut all = Vec::new();
    // The hook goes first: it would attach worktrees anew.
    if let Some(tool) = HOOKED.iter().find(|tool| deed.hooks.as_deref() == Some(**tool)) {
        all.push(CommandWords::new(&[tool, "hook", "uninstall"]));
    }
    match deed.step.as_str() {
        // What it wrote into `info/exclude` for worktrees that are gone.
        SWEATFILE => all.push(CommandWords::new(&["sweatfile-apply", "doctor", "--repair", "--yes"])),
        OVERLAY
            if deed.overlay.as_deref().map(Path::new).is_some_and(|overlay| overlay.exists() || is_away(overlay)) =>
        {
            all.push(CommandWords::new(&["overlay-sync", "detach"]));
        }
        WORKERS => {
            let root = deed.root.iter().filter(|root| Path::new(root).join("config.toml").exists());
            all.extend(root.map(|root| CommandWords::new(&["worker-ctl", "--root", root, "deinit", "--yes"])));
        }
        _ => {}
    }
    all
}

/// Whether an overlay is on a disk that is away, and not deleted: the directories far above it are missing too.
pub fn is_away(overlay: &Path) -> bool {
    !overlay.ancestors().take(4).any(Path::exists)
}

/// The git settings of a deed that are ours, with the values that we know.
pub fn settings(deed: &Deed) -> impl Iterator<Item = (&'static str, &'static str)> {
    LEDGER_SETTINGS.into_iter().filter(|(name, _)| deed.settings.iter().any(|own| own == name))
}
