//! `drop`: an entry is removed from the overlay and from every workspace.

use std::path::PathBuf;

use serde_json::json;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::preview::preview_change;
use crate::apply::overlay_change::{OverlayChange, change};
use crate::apply::user_edits;
use crate::facts::overlay::Overlay;
use crate::failure;
use crate::merge::{EntryPath, FileType, Grow, entries, without};
use crate::storage::Ground;

/// Remove an entry of a file everywhere: a key path, a variable, an item of a list, a whole line
///
/// Exits 1 when the entry is missing or occurs more than once. An entry that a workspace brings back
/// later is held.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Example:\n  overlay-sync drop .claude/settings.local.json 'permissions.allow.\"Bash(rm:*)\"'\n  overlay-sync drop .env TOKEN"
)]
pub struct Args {
    /// The file, relative to the overlay
    path: PathBuf,
    /// A key path separated by dots (a part may be quoted as in JSON; an element of a list is written as JSON, or a record by its name), a variable, or a line (after `--` if it looks like an option)
    #[arg(allow_hyphen_values = true)]
    entry: String,
}

pub fn run(ui: &Ui, overlay: &Overlay, args: &Args) -> Result<Exit> {
    let path = RelPath::parse_os(args.path.as_os_str()).map_err(|why| {
        Failure::usage(format!("{}: {why}", args.path.display()))
            .hint("write the path as `overlay-sync status` prints it")
    })?;
    let entry = EntryPath::parse(FileType::from_path(path.as_path()), &args.entry).ok_or_else(|| {
        Failure::usage(format!("`{}` is not an entry", args.entry))
            .hint("write a key path such as permissions.allow.\"Bash(rm:*)\"")
    })?;
    let find = |ground: &dyn Ground| -> Result<OverlayChange> {
        let change = without_entry(ground, &path, &entry)?;
        remember(ground, &change)?;
        Ok(change)
    };
    let (_, exit) = if ui.is_dry() { preview_change(ui, overlay, find)? } else { change(ui, overlay, find)? };
    let line = format!("{} from {}", printable(&entry.to_string()), printable(&path.to_string()));
    match (ui.is_json(), ui.is_dry()) {
        (true, is_dry) => ui.json(&json!({ "path": path, "entry": entry.to_string(), "dropped": !is_dry })),
        (false, true) => ui.line(format!("would drop {line}")),
        (false, false) => ui.line(format!("dropped {line}")),
    }
    Ok(exit)
}

/// The overlay's file without the entry, which must occur in it once.
fn without_entry(ground: &dyn Ground, path: &RelPath, entry: &EntryPath) -> Result<OverlayChange> {
    let kind = FileType::from_path(path.as_path());
    let before = user_edits::require_in_overlay(ground, path)?;
    let named = entry.of_name(kind, &before.bytes).filter(|_| entry.count(kind, &before.bytes) == 0);
    let entry = named.as_ref().unwrap_or(entry);
    match entry.count(kind, &before.bytes) {
        1 => {}
        0 => {
            let missing = Failure::not_found(format!("`{entry}` is not in {path}"));
            return Err(missing.hint(match kind.is_tree() {
                true => "write a key path, and an element of a list as JSON (`list.{\"id\": 1}`) or by its name",
                false => "write the name of a variable, or a whole line as it is in the file",
            }));
        }
        n => {
            let several = failure::AMBIGUOUS.failure(format!("`{entry}` is in {path} {n} times"));
            return Err(several.hint("edit the overlay's file by hand"));
        }
    }
    let cannot =
        || Failure::failed(format!("cannot take `{entry}` out of {path}")).hint("edit the overlay's file by hand");
    let after = without(kind, &before.bytes, entry).ok_or_else(cannot)?;
    Ok(OverlayChange { path: path.clone(), before, after })
}

/// Remembers which entries a change removes. This comes first: after a kill the entries wait for a person instead of
/// coming back.
fn remember(ground: &dyn Ground, change: &OverlayChange) -> Result<()> {
    let all = |bytes: &[u8]| entries(FileType::from_path(change.path.as_path()), Grow::All, bytes);
    let (left, mut removed) = (all(&change.after), ground.removed()?);
    let gone = all(&change.before.bytes).into_iter().filter(|entry| !left.contains(entry));
    removed.entries.entry(change.path.clone()).or_default().extend(gone);
    removed.entries.retain(|_, entries| !entries.is_empty());
    ground.save_removed(&removed)
}
