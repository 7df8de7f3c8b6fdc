//! `env review`: a person decides about each change since the snapshot.

use std::collections::BTreeMap;

use serde_json::json;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::lock::Lock;
use shopfloor_core::text::shell_word;
use shopfloor_core::ui::Ui;

use super::diff::{describe, note_removed, require_snapshot, require_usable};
use crate::apply;
use crate::env_file::{EnvFile, FILE};
use crate::env_variable;
use crate::facts::{self, LoadOptions};
use crate::failure;
use crate::flags::LayerFlags;
use crate::layout;
use crate::plan::review::{self as plan, Answer};
use crate::review::{Change, changes};
use crate::snapshot;
use crate::worktree::OpenWorktree;

/// Decide about each change: promote it into the repository's sweatfile, keep it here, or discard it
///
/// Asks on a terminal. Elsewhere a change without an answer leads to exit 3; the answers given are
/// carried out all the same.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  sweatfile-apply env review --promote API_URL --discard DEBUG")]
pub struct Args {
    /// Write this variable into the repository's sweatfile
    #[arg(long, value_name = "KEY")]
    pub promote: Vec<String>,
    /// Keep this variable in this worktree only
    #[arg(long, value_name = "KEY")]
    pub keep: Vec<String>,
    /// Restore the old value, or remove an added variable
    #[arg(long, value_name = "KEY")]
    pub discard: Vec<String>,
}

impl Args {
    /// The answers given on the command line; exit 2 when one variable has two.
    fn answers(&self) -> Result<BTreeMap<String, Answer>> {
        let given = [(&self.promote, Answer::Promote), (&self.keep, Answer::Keep), (&self.discard, Answer::Discard)];
        let mut answers = BTreeMap::new();
        for (keys, answer) in given {
            for key in keys {
                if answers.insert(key.clone(), answer).is_some_and(|other| other != answer) {
                    return Err(
                        Failure::usage(format!("`{key}` has two answers")).hint("give each variable one of them")
                    );
                }
            }
        }
        Ok(answers)
    }
}

pub fn run(ui: &Ui, worktree: &OpenWorktree, dirs: &LayerFlags, args: &Args) -> Result<Exit> {
    let given = args.answers()?;
    if given.is_empty() && snapshot::load(worktree)?.is_none() {
        ui.detail("there is no snapshot, so there is nothing to review");
        return Ok(Exit::Done);
    }
    let answers = collect_answers(ui, worktree, &given)?;
    let lock = if ui.is_dry() { None } else { Some(worktree.lock()?) };
    let (before, here) = (require_own_snapshot(worktree)?, require_usable(worktree)?);
    let plan = plan::plan(&before, &here, &answers);
    note_removed(ui, &before, &here.variables());
    // Promoting comes first because it can be refused. After a kill the rest is simply asked again.
    promote(ui, worktree, dirs, &plan.promoted())?;
    if lock.is_some() {
        apply::write_env_file(worktree, &plan.env)?;
        snapshot::save(worktree, plan.snapshot.as_ref())?;
    }
    for (change, answer) in &plan.decided {
        print_answer(ui, change, *answer);
    }
    if plan.open.is_empty() {
        return Ok(Exit::Done);
    }
    let open = plan.open.iter().map(|change| describe(change, false));
    Err(failure::UNDECIDED
        .failure("these variables wait for a decision; the snapshot stays")
        .details(open)
        .hint("answer each with `--promote KEY`, `--keep KEY` or `--discard KEY`, or run it on a terminal"))
}

/// The answer to each change, given on the command line or asked for on a terminal.
fn collect_answers(
    ui: &Ui,
    worktree: &OpenWorktree,
    given: &BTreeMap<String, Answer>,
) -> Result<BTreeMap<String, (Answer, Change)>> {
    let changes = changes(&require_snapshot(worktree)?, &require_usable(worktree)?.variables());
    if let Some(unknown) = given.keys().find(|key| !changes.iter().any(|c| c.key == **key)) {
        return Err(Failure::not_found(format!("`{unknown}` did not change since the snapshot"))
            .hint("run `sweatfile-apply env diff` to see the changes"));
    }
    let mut answers: BTreeMap<String, (Answer, Change)> = BTreeMap::new();
    for change in changes {
        let answer = match given.get(&change.key) {
            Some(answer) => Some(*answer),
            None if ui.can_ask() && !ui.is_dry() => Some(ask(ui, &change)?),
            None => None,
        };
        answers.extend(answer.map(|answer| (change.key.clone(), (answer, change))));
    }
    Ok(answers)
}

/// Asks what becomes of a change. Exit 3 when the person quits, which changes nothing.
fn ask(ui: &Ui, change: &Change) -> Result<Answer> {
    let note = env_variable::danger_note(&change.key).map(|note| format!(" {note}")).unwrap_or_default();
    let shown = describe(change, true);
    let question = format!("{shown}{note}: [p]romote, [k]eep here, [d]iscard, [q]uit?");
    loop {
        match ui.ask(&question).map(|answer| answer.to_lowercase()).as_deref() {
            Some("p" | "promote") => return Ok(Answer::Promote),
            Some("k" | "keep") => return Ok(Answer::Keep),
            Some("d" | "discard") => return Ok(Answer::Discard),
            Some("q" | "quit" | "\u{1b}") | None => {
                let message = "you left the review; nothing was changed, and the snapshot stays";
                return Err(failure::UNDECIDED.failure(message));
            }
            Some(_) => ui.note("answer p, k, d or q"),
        }
    }
}

/// Loads the snapshot that old values are restored from; exit 4 when an agent may have written it. With another one no
/// variable that is there then is asked about any more, which the hint has to say.
fn require_own_snapshot(worktree: &OpenWorktree) -> Result<EnvFile> {
    let path = layout::snapshot(&worktree.repo);
    snapshot::load_listed(worktree)?.ok_or_else(|| {
        Failure::failed(format!("{} is not as it was taken", path.display()))
            .hint(format!(
                "an earlier version or an agent wrote it, and with another one no review asks about what {FILE} has \
                 now: look at that file and at `sweatfile-apply env diff --reveal`, take out what should not stay, then \
                 `rm {}` and `sweatfile-apply env snapshot`",
                shell_word(&path)
            ))
    })
}

/// Writes variables into the repository's sweatfile, under a lock.
fn promote(ui: &Ui, worktree: &OpenWorktree, dirs: &LayerFlags, changes: &[&Change]) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let (env, repo) = (&worktree.env, &worktree.repo);
    let _lock = if ui.is_dry() { None } else { Some(Lock::take(&layout::promote_lock(repo))?) };
    let layers = facts::load_layers(env, repo, dirs, LoadOptions::default())?;
    let plan = plan::promotion(layers.repo(), changes)?;
    plan.notes.iter().for_each(|note| ui.note(note));
    if ui.is_dry() || plan.before.as_deref().unwrap_or_default() == plan.after.as_bytes() {
        return Ok(());
    }
    let is_approved = apply::promote(worktree, &dirs.repo_root(env, repo), &plan)?;
    let word = if plan.before.is_some() { "edited" } else { "created" };
    ui.note(format!("{} was {word} and is not committed", layers.repo().path.display()));
    if !is_approved {
        ui.note(format!("the sweatfile is not approved; run `{} approve`", dirs.call(env, None)));
    }
    Ok(())
}

fn print_answer(ui: &Ui, change: &Change, answer: Answer) {
    if ui.is_json() {
        return ui.json(&json!({ "key": change.key, "change": change.kind(), "answer": answer }));
    }
    let word = match answer {
        Answer::Promote => "promoted",
        Answer::Keep => "kept",
        Answer::Discard => "discarded",
    };
    ui.line(format!("{}{word} {}", if ui.is_dry() { "would have " } else { "" }, change.key));
}
