//! `add`: files are copied into the overlay and managed from then on.

use std::path::{Path, PathBuf};

use serde_json::json;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::{Found, Root};
use shopfloor_core::git::private_dir;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::{printable, shell_word};
use shopfloor_core::ui::Ui;

use crate::apply::disk_storage::Disk;
use crate::facts::overlay::Overlay;
use crate::failure;
use crate::merge::{FileType, strip};
use crate::storage::{Ground, ReadFile, Side};
use crate::store::RESERVED;
use crate::workspace::{BaseFile, Workspace};

/// Copy files into the overlay and manage them from now on
///
/// Exits with 1 if there is no such file, or if git does not ignore it.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  overlay-sync add .env.local")]
pub struct Args {
    /// Files below the workspace
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

pub fn run(ui: &Ui, overlay: &Overlay, args: &Args) -> Result<Exit> {
    let top = overlay.repo.require_worktree()?.to_path_buf();
    // No sync would find the repository again, so nothing could be attached.
    if private_dir(&top) != overlay.repo.git_dir.canonicalize().ok() {
        let why = format!("{} is a work tree only because GIT_DIR says so", top.display());
        return Err(Failure::usage(why).hint("use a checkout with a `.git` of its own, and unset GIT_DIR"));
    }
    let files = read(overlay, &top, &args.files)?;
    if ui.is_dry() {
        for (path, _) in &files {
            match ui.is_json() {
                true => ui.json(&json!({ "path": path, "added": false })),
                false => ui.line(format!("would add {}", printable(&path.to_string()))),
            }
        }
        return Ok(Exit::Done);
    }
    let disk = Disk::open(overlay, Some(overlay.create()?))?;
    let all = Workspace::load_all(&overlay.store.workspaces())?;
    let mut here = all.into_iter().find(|workspace| workspace.root == top);
    for (path, ReadFile { bytes, mode, .. }) in files {
        // The workspace's own entries do not enter the overlay.
        let (kind, mut policy) = (FileType::from_path(path.as_path()), overlay.settings.policy(&path, false));
        policy.keep_agents_server(&path, [&*bytes]);
        let local = policy.local;
        let shared = if local.is_empty() { Some(bytes.to_vec()) } else { strip(kind, &bytes, &local) };
        let shared = shared.ok_or_else(|| {
            Failure::malformed(format!("{path}: its local entries cannot be told from the others"))
                .hint("fix the file, or put the shared part into the overlay by hand")
        })?;
        disk.keep(&shared)?;
        let added = disk.put(Side::Overlay, &path, None, &shared, mode)?;
        if let (true, Some(workspace)) = (added, &mut here) {
            // Both sides hold the file now, so later edits are merged with it as their base.
            workspace.set_base(&path, BaseFile { sha256: Digest::of(&shared), mode });
            workspace.save(&overlay.store.workspaces())?;
        }
        if ui.is_json() {
            ui.json(&json!({ "path": path, "added": added }));
        } else if added {
            ui.done(format!("added {}", printable(&path.to_string())));
        } else {
            ui.detail(format!("{path} is in the overlay already; `overlay-sync sync` merges both"));
        }
    }
    if Workspace::load_all(&overlay.store.workspaces())?.is_empty() {
        ui.note("nothing is attached yet; `overlay-sync attach . ../OTHER` keeps workspaces in step");
    }
    Ok(Exit::Done)
}

/// Reads the files, all of which git must ignore.
fn read(overlay: &Overlay, top: &Path, files: &[PathBuf]) -> Result<Vec<(RelPath, ReadFile)>> {
    let worktree = Root::open(top)?;
    let paths = files.iter().map(|file| path_below(overlay, top, file)).collect::<Result<Vec<_>>>()?;
    let list: Vec<PathBuf> = paths.iter().map(|path| path.as_path().to_path_buf()).collect();
    let ignored = overlay.git.ignored(top, &list, None)?;
    let mut read = Vec::new();
    for path in paths {
        let (bytes, mode) = worktree.read_whole(&path)?.ok_or_else(|| no_file(&worktree, &path))?;
        let own = [path.as_path().to_path_buf()];
        if !ignored.contains(&own[0]) {
            let patterns = overlay.git.ignoring_patterns(top, &own)?;
            let (what, hint) = match patterns.iter().any(|pattern| !pattern.starts_with('!')) {
                // git ignores no file that it tracks.
                true => {
                    ("git tracks", format!("`git rm --cached {}` leaves the file to the overlay", shell_word(&own[0])))
                }
                false => ("git does not ignore", "add the path to .gitignore or info/exclude".to_owned()),
            };
            let refused = failure::NOT_IGNORED.failure(format!("{what} {path} here"));
            return Err(refused.hint(format!("an overlay is for untracked files; {hint}")));
        }
        read.push((path, ReadFile::new(bytes, mode)));
    }
    Ok(read)
}

/// What is at a path instead of a file.
fn no_file(worktree: &Root, path: &RelPath) -> Failure {
    match worktree.look(path) {
        Ok(Found::Dir) => Failure::not_found(format!("{path} is a directory")).hint("name the files in it"),
        Ok(Found::Link(_)) => Failure::not_found(format!("{path} is a link, which is not followed"))
            .hint("name the file that it leads to"),
        Ok(Found::Special) => Failure::not_found(format!("{path} is no regular file"))
            .hint("an overlay holds texts, and no pipes, sockets or devices"),
        _ => Failure::not_found(format!("there is no file {path} here")),
    }
}

/// A file's path below the worktree's top.
fn path_below(overlay: &Overlay, top: &Path, file: &Path) -> Result<RelPath> {
    let refuse = |why: String| Failure::usage(format!("cannot add {}: {why}", file.display()));
    let path = overlay.env.cwd.join(file);
    let dir = path.parent().unwrap_or(top).canonicalize().map_err(|e| refuse(e.to_string()))?;
    let path = dir.join(path.file_name().ok_or_else(|| refuse("it does not name a file".into()))?);
    let below = path.strip_prefix(top).map_err(|_| refuse(format!("it is not in {}", top.display())))?;
    if below.starts_with(RESERVED) {
        return Err(refuse("the name is reserved".into()));
    }
    if below.to_str().is_none() {
        return Err(refuse("its name is not UTF-8".into()));
    }
    RelPath::parse_os(below.as_os_str()).map_err(|e| refuse(e.to_string()))
}
