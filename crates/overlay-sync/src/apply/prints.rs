//! The fingerprints by which a run knows files that need no look: those with which an earlier pass found nothing to do.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use shopfloor_core::env::Env;
use shopfloor_core::fs::{self, Stat};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::manifest::Workspace;
use crate::quiet::{self, QuietCache};

/// What earlier runs knew, and what this one learns.
pub struct Prints<'a> {
    env: &'a Env,
    /// The fingerprint of the settings in force.
    pub settings: u64,
    pub cache: RefCell<QuietCache>,
    /// The fingerprints of files that this run looks at. They count if it finds nothing to do.
    looked_at: RefCell<HashMap<(Digest, RelPath), u64>>,
}

impl<'a> Prints<'a> {
    pub fn new(env: &'a Env, settings: u64, cache: &Path) -> Prints<'a> {
        Prints { env, settings, cache: RefCell::new(QuietCache::load(cache)), looked_at: RefCell::default() }
    }

    /// The files of a workspace whose fingerprints are not known.
    pub fn news(
        &self,
        workspace: &Workspace,
        stats: &[Option<Stat>],
        prints: &[Option<u64>],
        overlay: &HashMap<RelPath, Option<Stat>>,
    ) -> Vec<RelPath> {
        let mut news = Vec::new();
        {
            let cache = self.cache.borrow();
            let known = cache.files(&workspace.id);
            for ((path, here), print) in workspace.files.keys().zip(stats).zip(prints) {
                if print.is_some_and(|print| known.is_some_and(|known| known.sides_are(path, print))) {
                    continue;
                }
                news.push(path.clone());
                let is_settled = |stat: &Option<Stat>| stat.is_some_and(|stat| stat.is_settled(self.env.now));
                if let Some(print) = *print
                    && is_settled(here)
                    && overlay.get(path).is_some_and(is_settled)
                {
                    self.looked_at.borrow_mut().insert((workspace.id, path.clone()), print);
                }
            }
        }
        if news.is_empty() {
            let prints: Vec<u64> = prints.iter().copied().flatten().collect();
            self.cache.borrow_mut().set_whole(&workspace.id, quiet::whole(&prints));
        }
        news
    }

    /// Records that there is nothing to do about a file.
    pub fn is_quiet_now(&self, workspace: &Workspace, path: &RelPath) {
        if let Some(print) = self.looked_at.borrow_mut().remove(&(workspace.id, path.clone())) {
            self.cache.borrow_mut().set_sides(&workspace.id, path, print);
        }
    }

    /// Forgets what was looked at: other runs may have changed everything since.
    pub fn forget(&self) {
        self.looked_at.borrow_mut().clear();
    }

    /// Saves what is known for the next run. `manifests` is the directory of the manifests.
    pub fn save(&self, manifests: &Path) {
        let attached = fs::list(manifests).unwrap_or_default();
        self.cache.borrow_mut().save(|id| attached.binary_search(&format!("{id}.json").into()).is_ok());
    }
}
