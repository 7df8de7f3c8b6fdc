//! What `env diff` and `env review` share: reading the two files, and showing a change.

use serde::Serialize;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::text::printable;

use crate::env_file::{self, EnvFile, VarValue};
use crate::facts::{self, CurrentEnvFile};
use crate::review::{Change, ChangeKind};
use crate::snapshot;
use crate::worktree::OpenWorktree;

/// Whether values are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    Hidden,
    Revealed,
}

/// The answer about one change.
#[derive(Serialize)]
pub struct ChangeLine<'a> {
    key: &'a str,
    change: ChangeKind,
    #[serde(flatten)]
    values: Option<RevealedValues>,
}

#[derive(Serialize)]
struct RevealedValues {
    old: Option<String>,
    new: String,
}

impl<'a> ChangeLine<'a> {
    pub fn new(change: &'a Change, values: Values) -> ChangeLine<'a> {
        let values = (values == Values::Revealed)
            .then(|| RevealedValues { old: change.old.as_ref().map(text), new: text(&change.new) });
        ChangeLine { key: &change.key, change: change.kind, values }
    }
}

/// A change in words.
pub fn describe(change: &Change, values: Values) -> String {
    let word = if change.kind == ChangeKind::Added { "added" } else { "changed" };
    let values = match (&change.old, values) {
        (_, Values::Hidden) => String::new(),
        (None, Values::Revealed) => format!(": {}", printable(&text(&change.new))),
        (Some(old), Values::Revealed) => format!(": {} -> {}", printable(&text(old)), printable(&text(&change.new))),
    };
    format!("{word} {}{values}", change.key)
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
