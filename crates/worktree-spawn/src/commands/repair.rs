//! `repair`: finish what killed commands began, reconnect moved worktrees, restore exclude lines.

use std::cell::Cell;

use serde::Serialize;
use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::git::{Git, private_dir};
use shopfloor_core::text::shell_word;
use shopfloor_core::ui::{Ui, printable};

use super::gc::name_teardowns;
use crate::apply::undo::{self, LostWorktrees};
use crate::apply::{lock_and_excludes, recover, repair};
use crate::facts::moved::{MovedWorktree, listed_as_gone, moved};
use crate::facts::removal::spare_tip;
use crate::facts::{agents, repository};
use crate::identity::{Agent, AgentKind};
use crate::journal::{self, RemovalJournal, SpawnJournal};
use crate::layout;
use crate::repository_view::{Place, Worktree};
use crate::settings::Settings;

/// Finish what killed commands began, reconnect moved worktrees, restore exclude lines
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  mv project project2 && cd project2 && worktree-spawn repair")]
pub struct Args {}

/// What a line of the answer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RepairSubject {
    Moved,
    Removal,
    Spawn,
    Lost,
    Files,
    Session,
}

/// What is wrong with a worktree that was not found, and how to mend it.
fn lost_and_fix(place: &Place, git: &Git, worktree: &Worktree) -> (String, String) {
    let path = worktree.path.display();
    if worktree.is_cut_off() {
        // No command of yours has made it, so an agent may have written the record, about any directory.
        let fix = "if the directory never was a worktree, `git worktree prune` removes git's record of it; if it was, \
                   `git worktree repair` connects it";
        return (format!("{path} has no `.git` file"), fix.to_owned());
    }
    if let Some(other) = private_dir(&worktree.path) {
        let record = shell_word(&worktree.git_dir);
        // Without its record a worktree that was moved is no worktree any more, and what only the record has is lost.
        let rest = match spare_tip(place, git, worktree) {
            Ok(Some(_)) => format!("if it is gone for good, remove git's record of it: `rm -r {record}`"),
            _ => "git's record of it may have work that is nowhere else".to_owned(),
        };
        // `git worktree repair PLACE` would also connect the other one, which is at the recorded path, to this record.
        let connect = format!("echo PLACE/.git > {record}/gitdir && echo gitdir: {record} > PLACE/.git");
        let fix = format!("if the one that was there was moved, run `{connect}`, with its full path as PLACE; {rest}");
        return (format!("{path} is another worktree by now, that of {}", other.display()), fix);
    }
    let command = match Agent::load(&layout::identity_file(&worktree.git_dir)) {
        Ok(Some(agent)) if agent.kind == AgentKind::Subtree => format!("worktree-spawn remove {}", agent.id),
        _ => format!("git worktree remove {}", shell_word(&worktree.path)),
    };
    let fix = format!(
        "move it back, or run `git worktree repair PLACE`, with its new place, or remove git's record of it with `{command}`"
    );
    (format!("{path} is not there"), fix)
}

/// Tells what was done, or would be done.
type Tell<'t> = &'t dyn Fn(RepairSubject, String);

pub fn run(ui: &Ui, env: &Env, _args: &Args) -> Result<Exit> {
    let place = repository::find(env)?;
    let told = Cell::new(false);
    let tell = |what: RepairSubject, text: String| {
        told.set(true);
        ui.json_or_done(&json!({ "what": what, "detail": text, "done": !ui.is_dry() }), printable(&text));
    };
    match ui.is_dry() {
        true => preview(env, &place, &tell)?,
        false => repair_all(env, &place, &tell)?,
    }
    match told.get() {
        // An undone spawn may have begun its set-up.
        true => name_teardowns(ui, env),
        false => ui.nothing_to_do(),
    }
    Ok(Exit::Done)
}

/// Repairs everything that can be repaired without losing anything.
pub fn repair_all(env: &Env, place: &Place, tell: Tell<'_>) -> Result<()> {
    let git = Git::find(env)?;
    let lock = lock_and_excludes::lock(place)?;
    let settings = Settings::load(env, &place.home, &[])?;
    let moved = moved(place, &settings.worktree_base)?;
    for moved in &moved {
        repair::reconnect(place, moved)?;
        tell(RepairSubject::Moved, format!("reconnected {}", moved.path.display()));
    }
    repair::relist(env, place, &|text| tell(RepairSubject::Moved, text))?;
    let notes = recover::recover(place, &git, LostWorktrees::Undo)?;
    notes.into_iter().for_each(|note| tell(RepairSubject::Spawn, note));
    tell_lost(place, &git, &moved, tell)?;
    // The lines that are needed depend on the files.
    repair::restore_files(env, place, &|text| tell(RepairSubject::Files, text))?;
    if lock_and_excludes::lacks_excludes(place)? {
        lock_and_excludes::restore_excludes(place)?;
        tell(RepairSubject::Files, "restored the lines of info/exclude".to_owned());
    }
    repair::bury_orphans(env, place, &lock, &|text| tell(RepairSubject::Session, text))?;
    repair::report_deaths(env, place)
}

fn preview(env: &Env, place: &Place, tell: Tell<'_>) -> Result<()> {
    let settings = Settings::load(env, &place.home, &[])?;
    let moved = moved(place, &settings.worktree_base)?;
    moved.iter().for_each(|moved| tell(RepairSubject::Moved, format!("would reconnect {}", moved.path.display())));
    for path in listed_as_gone(place)? {
        tell(RepairSubject::Moved, format!("would list {} as a worktree of this repository", path.display()));
    }
    for (id, ..) in journal::left_behind::<RemovalJournal>(&place.shared())? {
        tell(RepairSubject::Removal, format!("would finish the removal of {id}"));
    }
    let git = Git::find(env)?;
    for (id, _, spawn) in journal::left_behind::<SpawnJournal>(&place.shared())? {
        tell(RepairSubject::Spawn, format!("would {}", undo::foresee(place, &git, &id, &spawn)));
    }
    tell_lost(place, &git, &moved, tell)?;
    for known in agents::all(place)?.iter().filter(|known| repair::lacks_files(known)) {
        tell(RepairSubject::Files, format!("would restore the configuration of {}", known.agent.id));
    }
    if lock_and_excludes::lacks_excludes(place)? {
        tell(RepairSubject::Files, "would restore the lines of info/exclude".to_owned());
    }
    Ok(())
}

/// Names the worktrees that were not found.
fn tell_lost(place: &Place, git: &Git, moved: &[MovedWorktree], tell: Tell<'_>) -> Result<()> {
    for (detail, fix) in lost(place, git, moved)? {
        tell(RepairSubject::Lost, format!("{detail}; {fix}"));
    }
    Ok(())
}

/// What is wrong with the worktrees that are not where git's record says, or that lead elsewhere, and how to mend it; but for
/// those that were found.
pub fn lost(place: &Place, git: &Git, moved: &[MovedWorktree]) -> Result<Vec<(String, String)>> {
    let is_found = |worktree: &Worktree| moved.iter().any(|moved| moved.worktree.git_dir == worktree.git_dir);
    let all = repository::worktrees(place)?;
    let wrong = all.iter().filter(|worktree| !is_found(worktree)).filter_map(|worktree| match worktree.is_lost {
        true => Some(lost_and_fix(place, git, worktree)),
        // An agent, or another repository, has put something in the place of its `.git`.
        false => worktree.git(git, place).err().map(|failure| (failure.message, failure.hints.join("; "))),
    });
    Ok(wrong.collect())
}
