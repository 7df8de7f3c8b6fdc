//! Which files several workspaces have edited, and in which order.

use std::collections::BTreeMap;

use shopfloor_core::path::RelPath;

use crate::ground::Ground;
use crate::manifest::Workspace;

/// The files that several workspaces have edited, each with these workspaces in the order of their edits.
pub fn contested(ground: &impl Ground, workspaces: &[Workspace]) -> Vec<(RelPath, Vec<usize>)> {
    let mut changed: BTreeMap<RelPath, Vec<usize>> = BTreeMap::new();
    for (index, workspace) in workspaces.iter().enumerate() {
        // A workspace that cannot be read, or is not at its path, is reported when its own pass runs.
        let Ok(news) = ground.news(workspace) else { continue };
        for path in news {
            changed.entry(path).or_default().push(index);
        }
    }
    let mut contested = Vec::new();
    for (path, changed) in changed.into_iter().filter(|(_, changed)| changed.len() > 1) {
        let edited = changed.into_iter().filter_map(|index| {
            let workspace = &workspaces[index];
            Some((ground.edited(workspace, &path, workspace.files.get(&path)?.sha256)?, index))
        });
        let mut order: Vec<(i128, usize)> = edited.collect();
        if order.len() > 1 {
            order.sort_unstable();
            contested.push((path, order.into_iter().map(|(_, index)| index).collect()));
        }
    }
    contested
}
