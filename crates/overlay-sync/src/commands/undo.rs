//! `undo`: one change of the log is taken back, and nothing else.

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::disk::Disk;
use crate::apply::edits;
use crate::apply::report::{exit_for, print};
use crate::apply::sync::sync;
use crate::facts::overlay::Overlay;
use crate::flags::OverlayFlags;
use crate::ground::{Ground, Side};
use crate::merge::{Changes, FileType, MergeInput, Rule, by_rule, changes};
use crate::refusal::Refusal;
use crate::rule::SyncRule;
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

#[derive(Serialize)]
struct UndoAnswer<'a> {
    id: String,
    path: String,
    undone: bool,
    #[serde(flatten)]
    what: &'a Changes,
}

pub fn run(ui: &Ui, env: &Env, flags: &OverlayFlags, args: &Args) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, flags)?;
    overlay.require()?;
    let lock = if ui.is_dry() { None } else { Some(overlay.lock()?) };
    let mut disk = Disk::open(env, &overlay, lock)?;
    let mut workspaces = overlay.workspaces(&[])?;
    if !ui.is_dry() {
        // Workspaces are synced first, so that the overlay has what they have.
        print(ui, &sync(env, &overlay, &mut disk, &mut workspaces)?);
    }
    let record = find(&overlay, &args.id)?;
    let path = &record.path;
    let Ok(Some(file)) = disk.read(Side::Overlay, path)? else {
        let missing = Failure::not_found(format!("there is no file {path} in the overlay"));
        return Err(missing.hint("see `overlay-sync status`"));
    };
    let bytes = without(&disk, &record, &file.bytes)?;
    let what = changes(FileType::from_path(path.as_path()), &file.bytes, &bytes);
    let answer = UndoAnswer { id: record.id(), path: path.to_string(), undone: !ui.is_dry(), what: &what };
    let line = format!("{} ({what})", printable(&answer.path));
    if ui.is_dry() {
        match ui.is_json() {
            true => ui.json(&answer),
            false => ui.line(format!("would undo {} in {line}", answer.id)),
        }
        return Ok(Exit::Done);
    }
    edits::edit(&disk, path, &file, &bytes)?;
    edits::accept_in_all(&disk, &mut workspaces, path, &bytes)?;
    let outcome = sync(env, &overlay, &mut disk, &mut workspaces)?;
    edits::forget_accepted(&disk, path)?;
    print(ui, &outcome);
    match ui.is_json() {
        true => ui.json(&answer),
        false => ui.line(format!("undid {} in {line}", answer.id)),
    }
    Ok(exit_for(&outcome, path))
}

/// The change that an id names, or the last one that made a text.
fn find(overlay: &Overlay, id: &str) -> Result<LogRecord> {
    let records: Vec<LogRecord> = overlay.store.events(0)?.into_iter().filter_map(|(_, record)| record).collect();
    let is_named = |full: String| !id.is_empty() && full.starts_with(id);
    let named: Vec<&LogRecord> = records.iter().filter(|record| is_named(record.id())).collect();
    // Others got the text by pulls, which may bring several changes at once.
    let made = || {
        let made = records.iter().rev().filter(|record| record.to.is_some_and(|to| is_named(to.to_string())));
        let made: Vec<&LogRecord> = made.collect();
        let is_own = |record: &&&LogRecord| !matches!(record.rule, SyncRule::Pull | SyncRule::Propagate);
        made.iter().find(is_own).or(made.first()).copied()
    };
    match named.as_slice() {
        [record] => Ok((*record).clone()),
        [] => made()
            .cloned()
            .ok_or_else(|| Failure::not_found(format!("no change has the id `{id}`")).hint("see `overlay-sync log`")),
        _ => Err(Failure::usage(format!("`{id}` is the beginning of several ids")).hint("type more of the id")),
    }
}

/// The overlay's text without a change. Exit 1 if there is nothing to take back.
fn without(disk: &Disk<'_>, record: &LogRecord, now: &[u8]) -> Result<Vec<u8>> {
    let (id, path) = (record.id(), &record.path);
    let nothing = |why: &str| Refusal::Changed.failure(format!("{id} cannot be taken back: {why}"));
    let (Some(from), Some(to)) = (record.from, record.to) else {
        return Err(nothing("it did not change a text into another one").hint("see `overlay-sync log`"));
    };
    let (Some(before), Some(after)) = (disk.content(&from)?, disk.content(&to)?) else {
        return Err(nothing("its texts are no longer in the store"));
    };
    let kind = FileType::from_path(path.as_path());
    // What was changed since at the same place stays.
    let input = MergeInput { base: Some(&after), overlay: now, workspace: &before, kind, rule: Rule::Overlay };
    let merged = by_rule(&input);
    match merged.bytes == now {
        false => Ok(merged.bytes),
        true => Err(nothing("what it did was changed since, or is undone already")
            .hint(format!("`overlay-sync show {from}` prints the text from before"))),
    }
}
