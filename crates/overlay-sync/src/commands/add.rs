//! `add`: files become managed by being copied into the overlay.

use std::path::PathBuf;

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::Root;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply;
use crate::apply::disk::Disk;
use crate::cli::OverlayFlags;
use crate::facts::Overlay;
use crate::manifest::{BaseFile, Workspace};
use crate::merge::{FileType, strip};
use crate::store::RESERVED;

pub fn run(ui: &Ui, env: &Env, place: &OverlayFlags, files: &[PathBuf]) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    let top = overlay.repo.require_worktree()?.to_path_buf();
    let worktree = Root::open(&top)?;
    let paths = files.iter().map(|file| below(env, &top, file)).collect::<Result<Vec<_>>>()?;
    let list: Vec<PathBuf> = paths.iter().map(|path| path.as_path().to_path_buf()).collect();
    let ignored = overlay.git.ignored(&top, &list, None)?;
    let mut contents = Vec::new();
    for path in paths {
        let read = worktree.read_whole(&path)?;
        let (bytes, mode) = read.ok_or_else(|| Failure::not_found(format!("there is no file {path} here")))?;
        if !ignored.contains(&path.as_path().to_path_buf()) {
            return Err(Failure::new(Exit::No, "not_ignored", format!("git does not ignore {path} here"))
                .hint("an overlay is for untracked files; add the path to .gitignore or info/exclude"));
        }
        contents.push((path, bytes, mode));
    }
    if place.dry_run {
        contents.iter().for_each(|(path, ..)| ui.line(format!("would add {}", printable(&path.to_string()))));
        return Ok(Exit::Done);
    }
    let lock = overlay.create()?;
    let disk = Disk::open(env, &overlay, Some(lock))?;
    let all = Workspace::load_all(&overlay.store.workspaces())?;
    let mut here = all.into_iter().find(|workspace| workspace.root == top);
    for (path, bytes, mode) in &contents {
        // What is the workspace's own stays there.
        let (kind, local) = (FileType::from_path(path.as_path()), overlay.settings.policy(path).local);
        let shared = if local.is_empty() { Some(bytes.clone()) } else { strip(kind, bytes, &local) };
        let shared = shared.ok_or_else(|| {
            Failure::malformed(format!("{path}: its local entries cannot be told from the others"))
                .hint("mend the file, or put the shared part into the overlay by hand")
        })?;
        let added = apply::add(&disk, path, &shared, *mode)?;
        if let (true, Some(workspace)) = (added, &mut here) {
            // Both sides hold it now; an edit from here on has a past to be merged with.
            apply::settle(workspace, path, BaseFile { sha256: Digest::of(&shared), mode: *mode });
            workspace.save(&overlay.store.workspaces())?;
        }
        if ui.is_json() {
            ui.json(&json!({ "path": path, "added": added }));
        } else if added {
            ui.done(format!("added {}", printable(&path.to_string())));
        } else {
            ui.note(format!("{path} is in the overlay already; `overlay-sync sync` merges"));
        }
    }
    if Workspace::load_all(&overlay.store.workspaces())?.is_empty() {
        ui.note("nothing is attached yet; `overlay-sync attach . ../OTHER` keeps workspaces in step");
    }
    Ok(Exit::Done)
}

/// A file's path below the worktree's top.
fn below(env: &Env, top: &std::path::Path, file: &std::path::Path) -> Result<RelPath> {
    let refuse = |why: String| Failure::usage(format!("cannot add {}: {why}", file.display()));
    let path = env.cwd.join(file);
    let dir = path.parent().unwrap_or(top).canonicalize().map_err(|e| refuse(e.to_string()))?;
    let path = dir.join(path.file_name().ok_or_else(|| refuse("it names no file".into()))?);
    let below = path.strip_prefix(top).map_err(|_| refuse(format!("it does not lie in {}", top.display())))?;
    if below.starts_with(RESERVED) {
        return Err(refuse("the name is reserved".into()));
    }
    if below.to_str().is_none() {
        return Err(refuse("its name is not UTF-8".into()));
    }
    RelPath::parse_os(below.as_os_str()).map_err(|e| refuse(e.to_string()))
}
