//! The first look of a run at a workspace. It is taken at all workspaces on all processors, and the passes use what it
//! found until they write there.
//!
//! What it found may be old by then. Descriptions of files only choose what is looked at, and a change after the look is
//! the next run's news. A text counts only while the system describes its file as it did before it was read.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use shopfloor_core::error::Result;
use shopfloor_core::fs::{self, Root, Stat};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::proc;

use super::bars::read_at;
use super::late;
use crate::facts::rest::Looked;
use crate::ground::ReadFile;
use crate::manifest::Workspace;
use crate::quiet;

/// A larger text is not read ahead, and no more than this many bytes of a workspace are at a time.
const AHEAD: u64 = 64 << 10;

/// From this size on merging a file may take so long that others should not wait for it.
pub const SLOW: u64 = 1 << 20;

/// What was found in a workspace.
pub struct FirstLook {
    /// How the system describes each file of the manifest.
    pub stats: Vec<Option<Stat>>,
    /// The fingerprint of each of them; `None` where a side does not have the file.
    pub prints: Vec<Option<u64>>,
    /// Whether its directory for temporary files is there and empty.
    pub has_empty_staging: bool,
    /// Whether files that were displaced wait there.
    pub has_late: bool,
    /// How the system described the files that say whose directory this is, if they named this workspace.
    proof: Option<[Stat; 2]>,
    /// The files that may have changed since a pass last looked, when they have been computed.
    pub news: Option<Vec<RelPath>>,
    /// The files of at least [`SLOW`] bytes.
    pub large: Vec<RelPath>,
    /// Each with the description of its file from before it was read.
    texts: BTreeMap<RelPath, (Stat, ReadFile)>,
}

impl FirstLook {
    /// Looks at a workspace. `looked` is what was found there just now, if anything was.
    pub fn of(
        workspace: &Workspace,
        looked: Option<&Looked>,
        overlay: &HashMap<RelPath, Option<Stat>>,
        settings: u64,
    ) -> Result<FirstLook> {
        let root = Root::open(&workspace.root)?;
        let staging = workspace.staging();
        let displaced = late::displaced(&staging, &root, || Ok(late::known_dirs(workspace, &root)))?;
        let (has_late, has_empty_staging) = (!displaced.is_empty(), staging.is_dir() && fs::list(&staging)?.is_empty());
        let stats = match looked.and_then(|looked| looked.of(workspace)) {
            Some(stats) => stats,
            None => root.stats(workspace.files.keys())?,
        };
        let prints = quiet::prints(workspace, &stats, overlay, settings).collect();
        let proof = proof(workspace).filter(|_| workspace.is_present().unwrap_or(false));
        let is_large = |stat: &Option<Stat>| stat.is_some_and(|stat| stat.size() >= SLOW);
        let large = workspace.files.keys().zip(&stats).filter(|(_, stat)| is_large(stat));
        let large = large.map(|(path, _)| path.clone()).collect();
        Ok(FirstLook { stats, prints, has_empty_staging, has_late, proof, news: None, large, texts: BTreeMap::new() })
    }

    /// Whether the directory was this workspace's, and nothing has changed about that.
    pub fn proves(&self, workspace: &Workspace) -> bool {
        self.proof.is_some() && self.proof == proof(workspace)
    }

    /// The fingerprint of all files together, if both sides have the same files. `overlay` is how many the overlay has.
    pub fn whole(&self, overlay: usize) -> Option<u64> {
        let prints = self.prints.iter().copied().collect::<Option<Vec<u64>>>()?;
        (prints.len() == overlay && overlay > 0).then(|| quiet::whole(&prints))
    }

    /// Those of these files that are small enough to be read ahead, and are not yet.
    fn small(&self, workspace: &Workspace, paths: &[RelPath]) -> Vec<RelPath> {
        if self.stats.len() != workspace.files.len() {
            return Vec::new();
        }
        let held: u64 = self.texts.values().map(|(stat, _)| stat.size()).sum();
        let mut left = AHEAD.saturating_sub(held);
        let sizes: HashMap<&RelPath, u64> = workspace
            .files
            .keys()
            .zip(&self.stats)
            .filter_map(|(path, stat)| Some((path, stat.as_ref()?.size())))
            .collect();
        let mut is_small = |path: &&RelPath| {
            let size = sizes.get(*path).filter(|size| **size <= left && !self.texts.contains_key(*path));
            left -= size.unwrap_or(&0);
            size.is_some()
        };
        paths.iter().filter(&mut is_small).cloned().collect()
    }

    /// A text that was read ahead, unless its file has changed since. `root` is the workspace.
    pub fn text(&self, root: &Root, path: &RelPath) -> Option<&ReadFile> {
        let (before, text) = self.texts.get(path)?;
        let now = root.stats([path].into_iter()).ok()?.pop()?;
        (now == Some(*before)).then_some(text)
    }

    /// The same, for a pass. The next pass reads the file again.
    pub fn take(&mut self, root: &Root, path: &RelPath) -> Option<ReadFile> {
        let text = self.text(root, path).cloned();
        self.texts.remove(path);
        text
    }
}

/// How the system describes the files that say whose directory this is.
fn proof(workspace: &Workspace) -> Option<[Stat; 2]> {
    Some([Stat::at(&workspace.root.join(".git"))?, Stat::at(&Workspace::mark_in(&workspace.git_dir))?])
}

/// Reads files of many workspaces on all processors. `overlay` is the overlay's directory.
pub fn read_ahead(looks: &mut HashMap<Digest, FirstLook>, wanted: &[(&Workspace, Vec<RelPath>)], overlay: &Path) {
    let small = |(workspace, paths): &(&Workspace, Vec<RelPath>)| {
        looks.get(&workspace.id).map(|look| look.small(workspace, paths)).unwrap_or_default()
    };
    let small: Vec<_> = wanted.iter().map(|wanted| (wanted.0, small(wanted))).collect();
    let small: Vec<_> = small.into_iter().filter(|(_, paths)| !paths.is_empty()).collect();
    let read = |(workspace, paths): &(&Workspace, Vec<RelPath>)| {
        let root = Root::open(&workspace.root).ok()?;
        let stats = root.stats(paths.iter()).ok()?;
        let read = |(path, stat): (&RelPath, Option<Stat>)| {
            Some((path.clone(), (stat?, read_at(&root, path, overlay).ok()?.ok()??)))
        };
        Some(paths.iter().zip(stats).filter_map(read).collect::<Vec<_>>())
    };
    for ((workspace, _), texts) in small.iter().zip(proc::map_parallel(&small, read)) {
        if let Some(look) = looks.get_mut(&workspace.id) {
            look.texts.extend(texts.into_iter().flatten());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A text that was read ahead has the mode that its file had then, and a pass writes with it.
    #[test]
    fn a_text_counts_only_while_its_file_is_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let (root, path) = (Root::open(dir.path()).unwrap(), RelPath::parse(".env").unwrap());
        fs::replace(&dir.path().join(".env"), b"A=1\n", None).unwrap();
        let before = root.stats([&path].into_iter()).unwrap()[0].unwrap();
        let ahead = || BTreeMap::from([(path.clone(), (before, ReadFile::new(b"A=1\n".to_vec(), 0o644)))]);
        let mut look = FirstLook {
            stats: Vec::new(),
            prints: Vec::new(),
            has_empty_staging: true,
            has_late: false,
            proof: None,
            news: None,
            large: Vec::new(),
            texts: ahead(),
        };
        assert!(look.text(&root, &path).is_some() && look.take(&root, &path).is_some());
        assert!(look.take(&root, &path).is_none(), "the next pass reads it again");
        look.texts = ahead();
        std::fs::set_permissions(dir.path().join(".env"), std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(look.text(&root, &path).is_none() && look.take(&root, &path).is_none());
    }
}
