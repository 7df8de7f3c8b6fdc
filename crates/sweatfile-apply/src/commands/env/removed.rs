//! `env diff --removed` and `env review --removed`: the variables that removed worktrees had added.

use std::collections::BTreeMap;
use std::path::Path;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::change::{ChangeLine, RemovedFrom, Values, ask, describe, print_answer};
use super::promotion::promote;
use crate::facts::LayerDirs;
use crate::failure::FailureKind;
use crate::plan::review::Answer;
use crate::removed::{self, RemovedWorktree};
use crate::review::Change;
use crate::worktree::OpenWorktree;

/// The removed worktrees that `selected` names by path or time, or all of them; exit 1 when it names none.
fn select(env: &Env, worktree: &OpenWorktree, selected: Option<&Path>) -> Result<Vec<RemovedWorktree>> {
    let mut all = removed::load_all(&worktree.repo)?;
    if let Some(selected) = selected {
        let path = env.cwd.join(selected);
        // Two worktrees may have had the same path; their times tell them apart.
        all.retain(|removed| removed.about.worktree == path || selected == Path::new(&removed.about.time));
        if all.is_empty() {
            return Err(Failure::not_found(format!("no variables are kept of a worktree at {}", path.display()))
                .hint("`sweatfile-apply env diff --removed` lists what is kept"));
        }
    }
    Ok(all)
}

pub fn diff(ui: &Ui, env: &Env, worktree: &OpenWorktree, selected: Option<&Path>, values: Values) -> Result<Exit> {
    for removed in select(env, worktree, selected)? {
        let path = removed.about.worktree.to_string_lossy();
        let from = RemovedFrom { worktree: &path, time: &removed.about.time };
        for change in removed.changes() {
            if ui.is_json() {
                ui.json(&ChangeLine::new(&change, Some(from), values));
            } else {
                let (path, time) = (printable(from.worktree), printable(from.time));
                ui.line(format!("{} ({path}, {time})", describe(&change, values)));
            }
        }
    }
    Ok(Exit::Done)
}

/// A change with its answer, and the position of its worktree in the list of removed ones.
struct DecidedChange {
    at: usize,
    change: Change,
    answer: Answer,
}

struct Decisions {
    decided: Vec<DecidedChange>,
    /// A line for each change without an answer.
    open: Vec<String>,
}

pub fn review(
    ui: &Ui,
    env: &Env,
    worktree: &OpenWorktree,
    dirs: &LayerDirs,
    selected: Option<&Path>,
    given: &BTreeMap<String, Answer>,
) -> Result<Exit> {
    let _lock = if ui.is_dry() { None } else { Some(removed::lock(&worktree.repo)?) };
    let all = select(env, worktree, selected)?;
    let Decisions { decided, open } = collect_answers(ui, &all, given)?;
    let promoted = promoted(&decided)?;
    // Promoting comes first because it can be refused. After a kill the rest is simply asked again.
    promote(ui, env, worktree, dirs, &promoted)?;
    for (at, mut removed) in all.into_iter().enumerate() {
        let own = || decided.iter().filter(move |decided| decided.at == at);
        // A variable that is answered with `--keep` stays kept where it is.
        let settled: Vec<Change> =
            own().filter(|own| own.answer != Answer::Keep).map(|own| own.change.clone()).collect();
        if !ui.is_dry() && !settled.is_empty() {
            removed.settle(&settled)?;
        }
        for own in own() {
            print_answer(ui, &own.change, own.answer, Some(&removed.about.worktree));
        }
    }
    if open.is_empty() {
        return Ok(Exit::Done);
    }
    Err(FailureKind::Undecided
        .failure("these variables of removed worktrees wait for a decision")
        .details(open)
        .hint("answer each with `--promote KEY`, `--keep KEY` or `--discard KEY`, or run it on a terminal"))
}

/// The answer to each change, given on the command line or asked for on a terminal.
fn collect_answers(ui: &Ui, all: &[RemovedWorktree], given: &BTreeMap<String, Answer>) -> Result<Decisions> {
    let changes_at = |(at, removed): (usize, &RemovedWorktree)| -> Vec<(usize, Change)> {
        removed.changes().into_iter().map(|change| (at, change)).collect()
    };
    let changes: Vec<(usize, Change)> = all.iter().enumerate().flat_map(changes_at).collect();
    if let Some(unknown) = given.keys().find(|key| !changes.iter().any(|(_, change)| change.key == **key)) {
        return Err(Failure::not_found(format!("no removed worktree had changed `{unknown}`"))
            .hint("run `sweatfile-apply env diff --removed` to see what is kept"));
    }
    let mut decisions = Decisions { decided: Vec::new(), open: Vec::new() };
    for (at, change) in changes {
        let path = printable(&all[at].about.worktree.to_string_lossy());
        let answer = match given.get(&change.key) {
            Some(answer) => Some(*answer),
            None if ui.can_ask() && !ui.is_dry() => {
                ui.note(format!("of {path}:"));
                Some(ask(ui, &change)?)
            }
            None => None,
        };
        match answer {
            Some(answer) => decisions.decided.push(DecidedChange { at, change, answer }),
            None => decisions.open.push(format!("{} ({path})", describe(&change, Values::Hidden))),
        }
    }
    Ok(decisions)
}

/// The changes to promote; exit 2 when a variable has several values.
fn promoted(decided: &[DecidedChange]) -> Result<Vec<&Change>> {
    let promoted: Vec<&Change> =
        decided.iter().filter(|own| own.answer == Answer::Promote).map(|own| &own.change).collect();
    for (index, change) in promoted.iter().enumerate() {
        if promoted[..index].iter().any(|other| other.key == change.key && other.new != change.new) {
            return Err(Failure::usage(format!("{} has several values, and only one of them can be promoted", change.key))
                .hint(
                    "select the removed worktree with the right value by its path or time: `--removed=PATH`, `--removed=TIME`",
                )
                .hint("`sweatfile-apply env diff --removed --reveal` shows them"));
        }
    }
    Ok(promoted)
}
