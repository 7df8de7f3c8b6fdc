//! `restore`: a displaced text goes back to where it was, or into a new file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::json;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::{Found, Root};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::disk_storage::Disk;
use crate::apply::user_edits;
use crate::facts::overlay::Overlay;
use crate::facts::versions::find_text;
use crate::failure;
use crate::merge::{Changes, FileType, changes};
use crate::storage::{Ground, Side};
use crate::tool::TOOL;
use crate::workspace::Workspace;

/// Put a displaced text back, or write it to another file
///
/// Exits with 1 if nothing has this hash or id, or if the file of --to exists already.
///
/// Without --to it replaces the file in the current workspace, as an edit like any other. The text
/// that is there is kept. Newer entries that it takes away are named, and you are asked first: without a
/// terminal and without --yes nothing is restored, and the exit code is 3.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  overlay-sync restore 3f2a9c --to settings.old.json")]
pub struct Args {
    /// A hash, the id of a conflict or of a change, or the beginning of one
    id: String,
    /// Write it to this new file instead; an existing file is not overwritten
    #[arg(long, value_name = "PATH")]
    to: Option<PathBuf>,
    /// Do not ask before newer entries are taken away
    #[arg(long)]
    yes: bool,
}

pub fn run(ui: &Ui, overlay: &Overlay, args: &Args) -> Result<Exit> {
    let (bytes, paths) = find_text(overlay, &args.id)?;
    let path = match &args.to {
        Some(to) => restore_to(ui, overlay, &overlay.env.cwd.join(to), &bytes)?,
        None => put_back(ui, overlay, args, &bytes, &paths)?,
    };
    let path = path.to_string_lossy();
    if ui.is_json() {
        ui.json(&json!({ "path": path, "sha256": Digest::of(&bytes) }));
    } else if ui.is_dry() {
        ui.line(format!("would restore {} bytes to {}", bytes.len(), printable(&path)));
    } else {
        ui.line(format!("restored {}", printable(&path)));
    }
    Ok(Exit::Done)
}

fn restore_to(ui: &Ui, overlay: &Overlay, path: &Path, bytes: &[u8]) -> Result<PathBuf> {
    let refuse = || Failure::usage(format!("cannot restore to {}", path.display()));
    let root = Root::open(path.parent().ok_or_else(refuse)?)?;
    let name =
        RelPath::parse_os(path.file_name().ok_or_else(refuse)?).map_err(|e| refuse().details([e.to_string()]))?;
    let staging = overlay.repo.worktree_state(TOOL).join("tmp-restore");
    let is_done = match ui.is_dry() {
        true => root.look(&name)? == Found::Missing,
        false => user_edits::restore_to(&staging, &root, &name, bytes)?,
    };
    if !is_done {
        return Err(failure::EXISTS
            .failure(format!("{} exists already", path.display()))
            .hint("name a new file with `--to`"));
    }
    Ok(path.to_path_buf())
}

/// Puts a text back into the workspace of the current directory, at the one path that it is known to have had.
fn put_back(ui: &Ui, overlay: &Overlay, args: &Args, bytes: &[u8], paths: &BTreeSet<RelPath>) -> Result<PathBuf> {
    let top = overlay.repo.require_worktree()?;
    let unknown = |what: &str| Failure::not_found(what.to_owned()).hint("name a file with `--to`");
    let [path] = paths.iter().collect::<Vec<_>>()[..] else {
        return Err(unknown("the text is known under no path, or under several"));
    };
    let find = || {
        let attached = Workspace::load_all(&overlay.store.workspaces())?.into_iter().find(|w| w.root == *top);
        attached.ok_or_else(|| unknown("this workspace is not attached"))
    };
    // Nobody else has to wait for the answer.
    let (disk, workspace) = (Disk::open(overlay, None)?, find()?);
    require_ignored(&disk, &workspace, path)?;
    confirm(ui, &disk, &workspace, path, args, bytes)?;
    let target = workspace.root.join(path.as_path());
    if ui.is_dry() {
        return Ok(target);
    }
    let disk = Disk::open(overlay, Some(overlay.lock()?))?;
    let mut workspace = find()?;
    disk.sweep(&workspace)?;
    require_ignored(&disk, &workspace, path)?;
    if !user_edits::put_back(&disk, &workspace, path, bytes)? {
        return Err(failure::CHANGED
            .failure(format!("{path} is not a file, or has just changed"))
            .hint("name a file with `--to`"));
    }
    // A person wants this text, however old it is.
    workspace.accepted.entry(path.clone()).or_default().insert(Digest::of(bytes));
    disk.save(&workspace)?;
    Ok(target)
}

fn require_ignored(disk: &Disk<'_>, workspace: &Workspace, path: &RelPath) -> Result<()> {
    match disk.left_alone(workspace, &BTreeSet::from([path.clone()]))?.contains_key(path) {
        false => Ok(()),
        true => Err(failure::NOT_IGNORED
            .failure(format!("git does not ignore {path} here"))
            .hint("name a file with `--to`")),
    }
}

/// Says which newer entries the text takes away. A person must agree to that, or it is exit 3.
fn confirm(ui: &Ui, disk: &Disk<'_>, workspace: &Workspace, path: &RelPath, args: &Args, bytes: &[u8]) -> Result<()> {
    let here = disk.read(Side::Here(workspace), path)?.ok().flatten();
    // In place of a file that is missing here, the text is an edit of the one that all others have.
    let Some(now) = here.or(disk.read(Side::Overlay, path)?.ok().flatten()) else { return Ok(()) };
    let lost = Changes { adds: Vec::new(), ..changes(FileType::from_path(path.as_path()), &now.bytes, bytes) };
    if lost == Changes::default() {
        return Ok(());
    }
    let what = format!("this text of {path} {lost}");
    if args.yes || ui.is_dry() {
        ui.note(what);
        return Ok(());
    }
    let question = format!("{}. Put it back?", printable(&what));
    ui.require_yes(false, &question, format!("nothing was restored: {what}"))
}
