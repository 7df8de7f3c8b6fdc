//! `undo`: one change of the log is taken back, and nothing else.

use serde_json::json;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::preview::preview_change;
use crate::apply::overlay_change::{OverlayChange, change};
use crate::apply::user_edits;
use crate::execution_risk::{self, Starting};
use crate::facts::overlay::Overlay;
use crate::facts::versions::find_change;
use crate::failure;
use crate::merge::{FileType, changes, without_change};
use crate::storage::Ground;
use crate::store::LogRecord;

/// Take back what one change did, in the overlay and in all workspaces
///
/// What was changed since stays as it is: exits with 1 if nothing is left to take back, or if no change has this id.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  overlay-sync undo 3f2a9c01d7be")]
pub struct Args {
    /// The id of a change that `log` prints, or the hash of the text that it made, or the beginning of either
    id: String,
}

pub fn run(ui: &Ui, overlay: &Overlay, args: &Args) -> Result<Exit> {
    let mut id = String::new();
    let find = |ground: &dyn Ground| -> Result<OverlayChange> {
        let record = find_change(overlay, &args.id)?;
        let before = user_edits::require_in_overlay(ground, &record.path)?;
        let after = without(ground, &record, &before.bytes)?;
        id = record.id();
        Ok(OverlayChange { path: record.path, before, after })
    };
    let (change, exit) = if ui.is_dry() { preview_change(ui, overlay, find)? } else { change(ui, overlay, find)? };
    let OverlayChange { path, before, after } = &change;
    let what = changes(FileType::from_path(path.as_path()), &before.bytes, after);
    let line = format!("{id} in {} ({what})", printable(&path.to_string()));
    match (ui.is_json(), ui.is_dry()) {
        (true, is_dry) => ui.json_of_both(&json!({ "id": id, "path": path, "undone": !is_dry }), &what),
        (false, true) => ui.line(format!("would undo {line}")),
        (false, false) => ui.line(format!("undid {line}")),
    }
    Ok(exit)
}

/// The overlay's text with the version from before a change put back, and what was changed since. Exit 1 if there is
/// nothing to put back.
fn without(ground: &dyn Ground, record: &LogRecord, now: &[u8]) -> Result<Vec<u8>> {
    let (id, path) = (record.id(), &record.path);
    let nothing = |why: &str| failure::CHANGED.failure(format!("{id} cannot be taken back: {why}"));
    let (Some(from), Some(to)) = (record.from, record.to) else {
        return Err(nothing("it did not change a text into another one").hint("see `overlay-sync log`"));
    };
    let (Some(before), Some(after)) = (ground.content(&from)?, ground.content(&to)?) else {
        return Err(nothing("its texts are no longer in the store"));
    };
    let kind = FileType::from_path(path.as_path());
    let text = without_change(kind, &before, &after, now);
    if kind == FileType::Env && execution_risk::starting(&text, &[now, &before]) != Starting::default() {
        return Err(nothing("lines that came since would be outside of their quotes, and a shell would run them")
            .hint(format!("edit {path} yourself: `overlay-sync show {from}` prints the text from before")));
    }
    match text == now {
        false => Ok(text),
        true => Err(nothing("what it did was changed since, or is undone already")
            .hint(format!("`overlay-sync show {from}` prints the text from before"))),
    }
}
