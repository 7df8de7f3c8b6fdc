//! `env review`: a person decides about each change since the snapshot.

use std::collections::BTreeMap;
use std::path::PathBuf;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::Ui;

use super::change::{Values, ask, describe, print_answer, require_own_snapshot, require_snapshot, require_usable};
use super::{promotion, removed};
use crate::apply;
use crate::facts::LayerDirs;
use crate::failure::FailureKind;
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
    /// Decide about what removed worktrees had added; PATH or TIME selects one of them
    #[arg(long, value_name = "PATH|TIME", num_args = 0..=1, require_equals = true)]
    pub removed: Option<Option<PathBuf>>,
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

pub fn run(ui: &Ui, env: &Env, worktree: &OpenWorktree, dirs: &LayerDirs, args: &Args) -> Result<Exit> {
    let given = args.answers()?;
    if let Some(selected) = &args.removed {
        return removed::review(ui, env, worktree, dirs, selected.as_deref(), &given);
    }
    if given.is_empty() && snapshot::load(worktree)?.is_none() {
        ui.detail("there is no snapshot, so there is nothing to review");
        return Ok(Exit::Done);
    }
    let answers = collect_answers(ui, worktree, &given)?;
    let lock = if ui.is_dry() { None } else { Some(worktree.lock()?) };
    let plan = plan::plan(&require_own_snapshot(worktree)?, &require_usable(worktree)?, &answers);
    // Promoting comes first because it can be refused. After a kill the rest is simply asked again.
    if let Some(promotion) = promotion::promote(ui, env, worktree, dirs, &plan.promoted())? {
        apply::follow_promotion(worktree, &promotion, &plan.promoted())?;
    }
    if lock.is_some() {
        apply::write_env_file(worktree, &plan.env)?;
        snapshot::save(worktree, plan.snapshot.as_ref())?;
    }
    for (change, answer) in &plan.decided {
        print_answer(ui, change, *answer, None);
    }
    if plan.open.is_empty() {
        return Ok(Exit::Done);
    }
    let open = plan.open.iter().map(|change| describe(change, Values::Hidden));
    Err(FailureKind::Undecided
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
