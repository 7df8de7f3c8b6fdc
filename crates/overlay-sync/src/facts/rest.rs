//! Whether everything is as the last sync left it. The system's descriptions of the files tell that without a look into
//! any manifest.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use shopfloor_core::env::Env;
use shopfloor_core::fs::{self, DisplacedFile, Root, Staging, Stat};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::proc;

use super::overlay::Overlay;
use crate::manifest::Workspace;
use crate::quiet;
use crate::store::RESERVED;
use crate::tool::TOOL;

const VERSION: u32 = 3;

/// Where a workspace is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    id: Digest,
    root: PathBuf,
    git_dir: PathBuf,
}

/// All workspaces, and the fingerprint of everything that a sync looks at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rest {
    v: u32,
    places: Vec<Place>,
    print: u64,
    /// Whether a change after this was found would show in the fingerprint.
    #[serde(skip)]
    is_settled: bool,
}

/// What was found in the workspaces on the way.
#[derive(Debug)]
pub struct Looked {
    files: Vec<RelPath>,
    stats: HashMap<Digest, Vec<Stat>>,
}

impl Looked {
    /// How the system described the files of a workspace, if it has these files.
    pub fn of(&self, workspace: &Workspace) -> Option<Vec<Option<Stat>>> {
        let stats = self.stats.get(&workspace.id)?;
        let is_same = self.files.iter().eq(workspace.files.keys());
        is_same.then(|| stats.iter().copied().map(Some).collect())
    }
}

impl Rest {
    /// What is there now, in the workspaces that the last record names, and whether that is the same. `None` if there is
    /// no record, or something has to be looked at in any case.
    pub fn now(env: &Env, overlay: &Overlay) -> Option<(Rest, bool, Looked)> {
        let bytes = fs::read_no_follow(&path(overlay)).ok()??;
        let saved: Rest = serde_json::from_slice(&bytes).ok().filter(|rest: &Rest| rest.v == VERSION)?;
        let (print, is_settled, looked) = print(env, overlay, &saved.places)?;
        let is_same = print == saved.print && is_settled;
        Some((Rest { print, is_settled, ..saved }, is_same, looked))
    }

    /// What is there now in these workspaces.
    pub fn of(env: &Env, overlay: &Overlay, workspaces: &[Workspace]) -> Option<Rest> {
        let place = |workspace: &Workspace| {
            let Workspace { id, root, git_dir, .. } = workspace.clone();
            Place { id, root, git_dir }
        };
        let mut places: Vec<Place> = workspaces.iter().map(place).collect();
        places.sort_by_key(|place| place.id);
        let (print, is_settled, _) = print(env, overlay, &places)?;
        Some(Rest { v: VERSION, places, print, is_settled })
    }

    /// Records that a sync which began with this found nothing to do. Best effort.
    pub fn save(&self, overlay: &Overlay) {
        let path = path(overlay);
        if !self.is_settled || !self.places.iter().all(is_clear) {
            return;
        }
        if let (Some(dir), Ok(text)) = (path.parent(), serde_json::to_vec(self)) {
            let _ = fs::create_private_dir(dir).and_then(|()| fs::replace(&path, &text, Some(fs::PRIVATE)));
        }
    }
}

fn path(overlay: &Overlay) -> PathBuf {
    overlay.repo.home.common_dir.join("shopfloor").join(TOOL).join("rest.json")
}

/// The fingerprint, and whether a further change would show in it. `None` where something waits to be done.
fn print(env: &Env, overlay: &Overlay, places: &[Place]) -> Option<(u64, bool, Looked)> {
    let store = &overlay.store;
    if !store.announced().ok()?.is_empty() || !store.intents().ok()?.is_empty() || store.is_collection_due(env) {
        return None;
    }
    if !overlay.declared().ok()?.is_empty() {
        return None;
    }
    if !DisplacedFile::list(&store.staging()).ok()?.is_empty() {
        return None;
    }
    let listing = overlay.root().ok()??.files(&[RESERVED]).ok()?;
    let files: Vec<RelPath> = listing.files;
    if !listing.odd.is_empty() || files.is_empty() {
        return None;
    }
    let names: Vec<String> = places.iter().map(|place| format!("{}.json", place.id)).collect();
    let found = fs::list(&store.workspaces()).ok()?;
    let is_known = found.len() == names.len() && found.iter().zip(&names).all(|(found, name)| found == name.as_str());
    if !is_known {
        return None;
    }
    let mut keys = Keys::new(env);
    keys.hasher.write_u64(quiet::settings(&overlay.settings));
    keys.add_files(&overlay.root().ok()??, &files)?;
    for name in &names {
        keys.add(Stat::at(&store.workspaces().join(name))?)?;
    }
    for path in &files {
        keys.hasher.write(path.to_string().as_bytes());
        keys.hasher.write_u8(0);
    }
    let mut stats = HashMap::new();
    for (place, looked) in places.iter().zip(proc::map_parallel(places, |place| look(env, place, &files))) {
        let (of_place, of_files) = looked?;
        keys.hasher.write_u64(of_place.hasher.finish());
        keys.is_settled &= of_place.is_settled;
        stats.insert(place.id, of_files);
    }
    Some((keys.hasher.finish(), keys.is_settled, Looked { files, stats }))
}

/// Whether no displaced file waits in a workspace. As long as the directory for temporary files is described in the same
/// way, that stays so.
fn is_clear(place: &Place) -> bool {
    let staging = Workspace::staging_in(&place.git_dir);
    let is_beside = Root::open(&place.root).and_then(|root| Staging::is_beside(&staging, &root));
    is_beside.is_ok_and(|beside| !beside) && DisplacedFile::list(&staging).is_ok_and(|displaced| displaced.is_empty())
}

/// What the system says of a workspace and of its files.
fn look<'e>(env: &'e Env, place: &Place, files: &[RelPath]) -> Option<(Keys<'e>, Vec<Stat>)> {
    let root = Root::open(&place.root).ok()?;
    let mut keys = Keys::new(env);
    keys.add(Stat::at(&Workspace::mark_in(&place.git_dir))?)?;
    keys.add(Stat::at(&place.root.join(".git"))?)?;
    // A workspace without changes may never have had one.
    match Stat::at(&Workspace::staging_in(&place.git_dir)) {
        Some(staging) => keys.add(staging)?,
        None => keys.hasher.write_u8(0),
    }
    let stats = keys.add_files(&root, files)?;
    Some((keys, stats))
}

/// The fingerprint of descriptions of files, one after the other.
struct Keys<'a> {
    env: &'a Env,
    hasher: DefaultHasher,
    is_settled: bool,
}

impl<'a> Keys<'a> {
    fn new(env: &'a Env) -> Keys<'a> {
        Keys { env, hasher: DefaultHasher::new(), is_settled: true }
    }

    fn add(&mut self, stat: Stat) -> Option<()> {
        self.hasher.write(&stat.key());
        self.is_settled &= stat.is_settled(self.env.now);
        Some(())
    }

    fn add_files(&mut self, root: &Root, files: &[RelPath]) -> Option<Vec<Stat>> {
        let stats = root.stats(files.iter()).ok()?.into_iter().collect::<Option<Vec<Stat>>>()?;
        stats.iter().try_for_each(|stat| self.add(*stat))?;
        Some(stats)
    }
}
