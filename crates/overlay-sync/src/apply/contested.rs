//! Which files several workspaces have edited, and in which order.

use std::collections::{BTreeMap, HashSet};

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::ground::Ground;
use crate::manifest::Workspace;

/// Those of the wanted files that several workspaces have edited, each with these workspaces in the order of their
/// edits.
pub fn contested<G: Ground>(
    ground: &G,
    workspaces: &[Workspace],
    idle: &HashSet<Digest>,
    is_wanted: impl Fn(&RelPath) -> bool,
) -> Result<Vec<(RelPath, Vec<usize>)>> {
    let mut changed: BTreeMap<RelPath, Vec<usize>> = BTreeMap::new();
    for (index, workspace) in workspaces.iter().enumerate().filter(|(_, workspace)| !idle.contains(&workspace.id)) {
        // A workspace that cannot be read, or is not at its path, is reported when its own pass runs.
        let Ok(news) = ground.news(workspace) else { continue };
        for path in news {
            changed.entry(path).or_default().push(index);
        }
    }
    changed.retain(|path, changed| changed.len() > 1 && is_wanted(path));
    let mut wanted: BTreeMap<usize, Vec<RelPath>> = BTreeMap::new();
    for (path, changed) in &changed {
        changed.iter().for_each(|index| wanted.entry(*index).or_default().push(path.clone()));
    }
    let wanted: Vec<_> = wanted.into_iter().map(|(index, paths)| (&workspaces[index], paths)).collect();
    ground.read_ahead(&wanted);
    let mut contested = Vec::new();
    for (path, changed) in changed {
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
    Ok(contested)
}
