//! Which files several workspaces have edited, and in which order.

use std::collections::{BTreeMap, HashSet};

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::ground::Ground;
use crate::manifest::Workspace;

/// The files that several workspaces have edited, each with these workspaces in the order of their edits.
pub fn contested<G: Ground>(
    ground: &G,
    workspaces: &[Workspace],
    idle: &HashSet<Digest>,
) -> Result<Vec<(RelPath, Vec<usize>)>> {
    let mut changed: BTreeMap<&RelPath, Vec<usize>> = BTreeMap::new();
    for (index, workspace) in workspaces.iter().enumerate().filter(|(_, workspace)| !idle.contains(&workspace.id)) {
        // A workspace that cannot be read is reported when its own pass runs.
        if !ground.is_present(workspace).unwrap_or(false) {
            continue;
        }
        let Ok(quiet) = ground.quiet(workspace) else { continue };
        for path in workspace.files.keys().filter(|path| !quiet.contains(path)) {
            changed.entry(path).or_default().push(index);
        }
    }
    let mut contested = Vec::new();
    for (path, changed) in changed.into_iter().filter(|(_, changed)| changed.len() > 1) {
        let edited = changed.into_iter().filter_map(|index| {
            let workspace = &workspaces[index];
            Some((ground.edited(workspace, path, workspace.files.get(path)?.sha256)?, index))
        });
        let mut order: Vec<(i128, usize)> = edited.collect();
        if order.len() > 1 {
            order.sort_unstable();
            contested.push((path.clone(), order.into_iter().map(|(_, index)| index).collect()));
        }
    }
    Ok(contested)
}
