//! `env diff`: the changes to `.sweatshop-env` since the snapshot. `env review` reads and shows them alike.

use serde_json::{Value, json};
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::env_file::{self, EnvFile, VarValue};
use crate::facts::{self, CurrentEnvFile};
use crate::review::{self, Change};
use crate::snapshot;
use crate::worktree::OpenWorktree;

/// List what was added or changed since the snapshot
///
/// Exits with 1 if there is no snapshot.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  sweatfile-apply env diff --json | jq -r .key")]
pub struct Args {
    /// Print the values too
    #[arg(long)]
    pub reveal: bool,
}

pub fn run(ui: &Ui, worktree: &OpenWorktree, args: &Args) -> Result<Exit> {
    let (before, now) = (require_snapshot(worktree)?, require_usable(worktree)?.variables());
    for change in review::changes(&before, &now) {
        ui.json_or_line(&answer(&change, args.reveal), describe(&change, args.reveal));
    }
    note_removed(ui, &before, &now);
    Ok(Exit::Done)
}

/// Mentions the variables that were removed since the snapshot.
pub fn note_removed(ui: &Ui, before: &EnvFile, now: &EnvFile) {
    let gone = review::removed(before, now);
    if !gone.is_empty() {
        ui.note(format!("removed since: {}", gone.join(", ")));
    }
}

/// The answer about one change.
fn answer(change: &Change, reveal: bool) -> Value {
    let (key, kind, old) = (&change.key, change.kind(), change.old.as_ref().map(text));
    match reveal {
        true => json!({ "key": key, "change": kind, "old": old, "new": text(&change.new) }),
        false => json!({ "key": key, "change": kind }),
    }
}

/// A change in words, with its values or without them.
pub fn describe(change: &Change, reveal: bool) -> String {
    let values = match (&change.old, reveal) {
        (_, false) => String::new(),
        (None, true) => format!(": {}", printable(&text(&change.new))),
        (Some(old), true) => format!(": {} -> {}", printable(&text(old)), printable(&text(&change.new))),
    };
    format!("{} {}{values}", change.kind(), change.key)
}

fn text(value: &VarValue) -> String {
    match value {
        VarValue::Text(text) => text.clone(),
        VarValue::Opaque(raw) => String::from_utf8_lossy(raw).into_owned(),
    }
}

/// Reads `.sweatshop-env`; exit 4 when it is not a regular file that can be read.
pub fn require_usable(worktree: &OpenWorktree) -> Result<CurrentEnvFile> {
    match facts::read_env_file(&worktree.root)? {
        CurrentEnvFile::Unusable(why) => Err(Failure::failed(format!("cannot use {}: {why}", env_file::FILE))
            .hint(format!("move {} away", env_file::FILE))),
        current => Ok(current),
    }
}

/// Loads the snapshot; exit 1 when there is none.
pub fn require_snapshot(worktree: &OpenWorktree) -> Result<EnvFile> {
    snapshot::load(worktree)?.ok_or_else(|| {
        Failure::not_found("there is no snapshot to compare with")
            .hint("run `sweatfile-apply env snapshot` before work in the worktree begins")
    })
}
