//! What `env diff` and `env review` share: reading the two files, and showing, asking about and answering a change.

use std::path::Path;

use serde::Serialize;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::text::{printable, shell_word};
use shopfloor_core::ui::Ui;

use crate::env_file::{self, EnvFile, VarValue};
use crate::facts::{self, CurrentEnvFile};
use crate::failure::FailureKind;
use crate::plan::review::Answer;
use crate::review::{Change, ChangeKind};
use crate::snapshot;
use crate::state;
use crate::variable;
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
    removed: Option<RemovedFrom<'a>>,
    #[serde(flatten)]
    values: Option<RevealedValues>,
}

/// The removed worktree that a change was in.
#[derive(Clone, Copy, Serialize)]
pub struct RemovedFrom<'a> {
    pub worktree: &'a str,
    pub time: &'a str,
}

#[derive(Serialize)]
struct RevealedValues {
    old: Option<String>,
    new: String,
}

impl<'a> ChangeLine<'a> {
    pub fn new(change: &'a Change, removed: Option<RemovedFrom<'a>>, values: Values) -> ChangeLine<'a> {
        let values = (values == Values::Revealed)
            .then(|| RevealedValues { old: change.old.as_ref().map(text), new: text(&change.new) });
        ChangeLine { key: &change.key, change: change.kind, removed, values }
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

/// Loads the snapshot that old values are restored from; exit 4 when an agent may have written it.
pub fn require_own_snapshot(worktree: &OpenWorktree) -> Result<EnvFile> {
    let path = state::snapshot(&worktree.repo);
    snapshot::load_listed(worktree)?.ok_or_else(|| {
        Failure::failed(format!("{} is not as it was taken", path.display()))
            .hint(format!("`rm {}`, then take another with `sweatfile-apply env snapshot`", shell_word(&path)))
    })
}

/// Asks what becomes of a change. Exit 3 when the person quits, which changes nothing.
pub fn ask(ui: &Ui, change: &Change) -> Result<Answer> {
    let note = variable::danger_note(&change.key).map(|note| format!(" {note}")).unwrap_or_default();
    let shown = describe(change, Values::Revealed);
    let question = format!("{shown}{note}: [p]romote, [k]eep here, [d]iscard, [q]uit?");
    loop {
        match ui.ask(&question).map(|answer| answer.to_lowercase()).as_deref() {
            Some("p" | "promote") => return Ok(Answer::Promote),
            Some("k" | "keep") => return Ok(Answer::Keep),
            Some("d" | "discard") => return Ok(Answer::Discard),
            Some("q" | "quit" | "\u{1b}") | None => {
                let message = "you left the review; nothing was changed, and the snapshot stays";
                return Err(FailureKind::Undecided.failure(message));
            }
            Some(_) => ui.note("answer p, k, d or q"),
        }
    }
}

#[derive(Serialize)]
struct AnswerLine<'a> {
    key: &'a str,
    change: ChangeKind,
    answer: Answer,
    #[serde(skip_serializing_if = "Option::is_none")]
    worktree: Option<String>,
}

/// Prints the answer that a change got; `removed` is the removed worktree that it was in.
pub fn print_answer(ui: &Ui, change: &Change, answer: Answer, removed: Option<&Path>) {
    if ui.is_json() {
        let worktree = removed.map(|path| path.to_string_lossy().into_owned());
        return ui.json(&AnswerLine { key: &change.key, change: change.kind, answer, worktree });
    }
    let word = match answer {
        Answer::Promote => "promoted",
        Answer::Keep => "kept",
        Answer::Discard => "discarded",
    };
    ui.line(format!("{}{word} {}", if ui.is_dry() { "would have " } else { "" }, change.key));
}
