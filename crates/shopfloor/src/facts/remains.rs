//! What is left of what a set-up made.

use std::path::Path;

use serde_json::Value;
use shopfloor_core::env::Env;
use shopfloor_core::fs;

use super::answers::ask;
use crate::deed::Deed;
use crate::step::SWEATFILE;

/// What is left of a deed.
#[derive(Clone, Debug, Default)]
pub struct Remains {
    /// Whether its overlay is there, or on a disk that is away.
    pub has_overlay: bool,
    /// Whether the overlay has files, or may have some on that disk.
    pub has_overlay_files: bool,
    /// Whether its root is there.
    pub has_root: bool,
    /// Whether only a part of the root was made.
    pub has_half_root: bool,
    /// The agents whose worktrees need lines in `info/exclude`.
    pub agents: Vec<String>,
}

/// Looks at what is left of a deed.
pub fn read(env: &Env, deed: &Deed) -> Remains {
    let overlay = deed.overlay.as_deref().map(Path::new);
    // An overlay that was deleted leaves the directories above it; a disk that is away takes them along.
    let is_away = overlay.is_some_and(|overlay| !overlay.ancestors().take(4).any(Path::exists));
    let files = overlay.map(|overlay| fs::list(overlay).unwrap_or_default()).unwrap_or_default();
    let root = deed.root.as_deref().map(Path::new);
    let has_root = root.is_some_and(|root| root.join("config.toml").exists());
    let agents = match deed.step == SWEATFILE {
        true => ask(env, &["worktree-spawn", "list"]).map(|answer| answer.records).unwrap_or_default(),
        false => Vec::new(),
    };
    let is_made = |agent: &&Value| agent["managed"] == true && agent["kind"] != "root";
    let ids = agents.iter().filter(is_made).filter_map(|agent| agent["id"].as_str().map(str::to_owned));
    Remains {
        has_overlay: is_away || overlay.is_some_and(Path::exists),
        has_overlay_files: is_away || files.iter().any(|name| name != ".overlay-sync"),
        has_root,
        has_half_root: !has_root && root.is_some_and(Path::exists),
        agents: ids.collect(),
    }
}
