//! Executes what was decided for one workspace: the only room that writes into overlays and workspaces.
//!
//! Contents go into the store before anything is displaced, then the overlay is written, then the
//! workspace, then the manifest; each replacement is compare-and-swap. Killed anywhere, the next pass
//! sees texts that both sides held or still hold, and decides the same again.

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs::{Content, Root, Staging};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::TOOL;
use crate::facts::{Overlay, Seen};
use crate::manifest::{Base, Held, Workspace};
use crate::merge::Rule;
use crate::plan::{Step, Write};
use crate::store::{Conflict, Did, Event};

/// What a pass over one workspace came to.
#[derive(Debug, Default)]
pub struct Passed {
    pub events: Vec<Event>,
    /// How many were decided by rule.
    pub conflicts: usize,
    /// What could not be written, and why; the next pass tries again.
    pub failed: Vec<(RelPath, String)>,
}

/// Both sides, opened for writing.
pub struct Sides<'a> {
    pub overlay: &'a Root,
    pub overlay_staging: Staging,
    pub here: Root,
    pub here_staging: Staging,
}

impl<'a> Sides<'a> {
    pub fn open(overlay: &Overlay, root: &'a Root, workspace: &Workspace) -> Result<Sides<'a>> {
        let here = Root::open(&workspace.root)?;
        let private = workspace.git_dir.join("shopfloor").join(TOOL).join("tmp");
        let here_staging = Staging::open(&private, &here)?;
        here_staging.sweep_beside(&here, workspace.files.keys())?;
        overlay.store.sweep()?;
        let overlay_staging = Staging::open(&overlay.store.staging(), root)?;
        Ok(Sides { overlay: root, overlay_staging, here, here_staging })
    }
}

/// Takes every step and saves the manifest. One file that fails does not stop the others.
pub fn pass(
    env: &Env,
    overlay: &Overlay,
    sides: &Sides<'_>,
    workspace: &mut Workspace,
    seen: &[Seen],
) -> Result<Passed> {
    let before = workspace.clone();
    let mut passed = Passed::default();
    for file in seen {
        if let Err(failure) = step(env, overlay, sides, workspace, file, &mut passed) {
            passed.failed.push((file.path.clone(), failure.to_string()));
        }
    }
    if *workspace != before {
        workspace.save(&overlay.store.workspaces())?;
    }
    Ok(passed)
}

fn step(
    env: &Env,
    overlay: &Overlay,
    sides: &Sides<'_>,
    workspace: &mut Workspace,
    file: &Seen,
    passed: &mut Passed,
) -> Result<()> {
    let path = &file.path;
    if file.barred.is_some() {
        workspace.held.remove(path);
        return Ok(());
    }
    if !matches!(file.step, Step::Hold(..)) {
        workspace.held.remove(path);
    }
    // A person's word is for one text; once both sides are in step it has done its work.
    if matches!(file.step, Step::Nothing | Step::Adopt) {
        workspace.accepted.remove(path);
    }
    match &file.step {
        Step::Nothing => {}
        Step::Adopt => {
            if let Some((bytes, mode)) = &file.here {
                let sha256 = overlay.store.keep(bytes)?;
                workspace.files.insert(path.clone(), Base { sha256, mode: *mode });
                workspace.deleted.remove(path);
            }
        }
        Step::Delete => {
            if let Some(base) = workspace.files.remove(path) {
                workspace.deleted.insert(path.clone(), base.sha256);
            }
        }
        Step::Retire => {
            workspace.files.remove(path);
            workspace.deleted.remove(path);
        }
        Step::Hold(why, text) => {
            for (bytes, _) in [&file.here, &file.overlay].into_iter().flatten() {
                overlay.store.keep(bytes)?;
            }
            if workspace.held.get(path).is_none_or(|held| held.text != *text) {
                let held = Held { why: why.clone(), text: *text, since: env.now.to_string() };
                workspace.held.insert(path.clone(), held);
                passed.events.push(overlay.store.log(env, &workspace.root, path, Did::Hold, Some(*text), None)?);
            }
        }
        Step::Write(write) => self::write(env, overlay, sides, workspace, file, write, passed)?,
    }
    Ok(())
}

fn write(
    env: &Env,
    overlay: &Overlay,
    sides: &Sides<'_>,
    workspace: &mut Workspace,
    file: &Seen,
    write: &Write,
    passed: &mut Passed,
) -> Result<()> {
    let (path, store) = (&file.path, &overlay.store);
    let keep = |side: &Option<(Vec<u8>, u32)>| side.as_ref().map(|(bytes, _)| store.keep(bytes)).transpose();
    let (theirs, ours) = (keep(&file.overlay)?, keep(&file.here)?);
    let overlay_mode = file.overlay.as_ref().map(|(_, mode)| *mode);
    let here_mode = file.here.as_ref().map(|(_, mode)| *mode);
    let merged = write.here.as_ref().or(file.here.as_ref().map(|(bytes, _)| bytes));
    let result = merged.map(|bytes| store.keep(bytes)).transpose()?;
    if let (false, Some(theirs), Some(ours), Some(result)) = (write.conflicts.is_empty(), theirs, ours, result) {
        // Before anything is displaced. Its id follows from the contents: decided again after a kill, it
        // is the same conflict.
        let base = file.base.map(|base| base.to_string()).unwrap_or_default();
        let id = Digest::of(format!("{}\0{path}\0{base}\0{theirs}\0{ours}", workspace.id).as_bytes()).to_string();
        let conflict = Conflict {
            v: 1,
            id: id[..12].to_owned(),
            time: env.now.to_string(),
            path: path.clone(),
            workspace: workspace.root.to_string_lossy().into_owned(),
            base: file.base,
            overlay: theirs,
            here: ours,
            result,
            rule: write.did.to_string(),
            winner: match write.winner {
                Rule::Workspace => "workspace".into(),
                Rule::Overlay => "overlay".into(),
            },
            state: "recorded".into(),
            places: write.conflicts.iter().map(|c| c.place.clone()).collect(),
        };
        store.record(&conflict)?;
        passed.conflicts += 1;
    }
    if let Some(bytes) = &write.overlay {
        store.keep(bytes)?;
        let mode = narrowed(overlay_mode, here_mode);
        let staged = sides.overlay_staging.file(sides.overlay, path, bytes, Some(mode))?;
        // Somebody else was faster: what is there now is for the next pass.
        if !put(staged, sides.overlay, path, theirs)? {
            return Ok(());
        }
    }
    let mut mode = here_mode.or(overlay_mode).unwrap_or(0o600);
    if let Some(bytes) = &write.here {
        mode = narrowed(here_mode, overlay_mode);
        let staged = sides.here_staging.file(&sides.here, path, bytes, Some(mode))?;
        if !put(staged, &sides.here, path, ours)? {
            return Ok(());
        }
    }
    if let Some(sha256) = result {
        workspace.files.insert(path.clone(), Base { sha256, mode });
        workspace.deleted.remove(path);
    }
    let from = if write.did == Did::Pull { ours } else { theirs };
    passed.events.push(store.log(env, &workspace.root, path, write.did, from, result)?);
    Ok(())
}

fn put(staged: shopfloor_core::fs::Staged, root: &Root, path: &RelPath, expected: Option<Digest>) -> Result<bool> {
    match expected {
        Some(digest) => staged.swap(root, path, &Content::File(digest)),
        None => staged.place(root, path),
    }
}

/// A new file gets the source's bits; one that is there keeps its own, less what others could do with it
/// that they cannot with the source. Never setuid, never wider.
fn narrowed(own: Option<u32>, source: Option<u32>) -> u32 {
    let source = source.unwrap_or(0o600) & 0o777;
    own.map_or(source, |own| own & 0o777 & (source | 0o700))
}

/// Gives a workspace the overlay's text, its own being kept; `false` when it changed meanwhile.
pub fn reject(overlay: &Overlay, sides: &Sides<'_>, workspace: &mut Workspace, path: &RelPath) -> Result<bool> {
    let Some((theirs, theirs_mode)) = sides.overlay.read_whole(path)? else { return Ok(false) };
    let Some((ours, ours_mode)) = sides.here.read_whole(path)? else { return Ok(false) };
    let (sha256, displaced) = (overlay.store.keep(&theirs)?, overlay.store.keep(&ours)?);
    let mode = narrowed(Some(ours_mode), Some(theirs_mode));
    let staged = sides.here_staging.file(&sides.here, path, &theirs, Some(mode))?;
    if !staged.swap(&sides.here, path, &Content::File(displaced))? {
        return Ok(false);
    }
    workspace.files.insert(path.clone(), Base { sha256, mode });
    workspace.held.remove(path);
    Ok(true)
}

/// Copies a file into the overlay, where nothing is yet; `false` when something is.
pub fn add(overlay: &Overlay, root: &Root, path: &RelPath, bytes: &[u8], mode: u32) -> Result<bool> {
    overlay.store.keep(bytes)?;
    let staging = Staging::open(&overlay.store.staging(), root)?;
    staging.file(root, path, bytes, Some(mode))?.place(root, path)
}

/// Writes a kept content to a file that is not there yet; `false` when something is.
pub fn restore(overlay: &Overlay, root: &Root, path: &RelPath, bytes: &[u8]) -> Result<bool> {
    let staging = Staging::open(&overlay.repo.worktree_state(TOOL).join("tmp-restore"), root)?;
    staging.file(root, path, bytes, Some(0o600))?.place(root, path)
}
