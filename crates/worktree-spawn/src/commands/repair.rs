//! `repair`: finish what killed commands began, reconnect moved worktrees, restore exclude lines.

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::git::Git;
use shopfloor_core::ui::{Ui, printable};

use super::shared_args::DryRunArgs;
use crate::apply::undo::LostWorktrees;
use crate::apply::{records, recover, repair};
use crate::facts::moved::{MovedWorktree, moved};
use crate::facts::repository;
use crate::journal::{self, RemovalJournal, SpawnJournal};
use crate::place::{Place, Worktree};
use crate::settings::{Flags, Settings};

/// Finish what killed commands began, reconnect moved worktrees, restore exclude lines
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  mv project project2 && cd project2 && worktree-spawn repair")]
pub struct Args {
    #[command(flatten)]
    pub dry_run: DryRunArgs,
}

/// What a line of the answer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum RepairSubject {
    Moved,
    Removal,
    Spawn,
    Lost,
    Files,
    Session,
}

#[derive(Serialize)]
struct RepairAnswer<'a> {
    what: RepairSubject,
    detail: &'a str,
    done: bool,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let is_dry = args.dry_run.dry_run;
    let place = repository::find(env)?;
    let git = Git::find(env)?;
    let lock = records::lock(&place)?;
    let tell = |what: RepairSubject, text: String| match ui.is_json() {
        true => ui.json(&RepairAnswer { what, detail: &text, done: !is_dry }),
        false => ui.line(printable(&text)),
    };
    let settings = Settings::load(env, &place.home, Flags::default())?;
    let moved = moved(&place, &settings.worktree_base)?;
    if !moved.is_empty() && !is_dry {
        repair::reconnect(&place, &git, &moved)?;
    }
    let verb = if is_dry { "would reconnect" } else { "reconnected" };
    moved.iter().for_each(|moved| tell(RepairSubject::Moved, format!("{verb} {}", moved.path.display())));
    if is_dry {
        preview(&place, &tell)?;
        return tell_lost(&place, &moved, &tell);
    }
    let notes = recover::recover(&place, &git, LostWorktrees::Undo)?;
    notes.into_iter().for_each(|note| tell(RepairSubject::Spawn, note));
    tell_lost(&place, &moved, &tell)?;
    records::restore_excludes(&place)?;
    repair::restore_files(env, &place, &|text| tell(RepairSubject::Files, text))?;
    repair::bury_orphans(env, &place, &lock, &|text| tell(RepairSubject::Session, text))?;
    repair::report_deaths(env, &place)?;
    Ok(Exit::Done)
}

fn preview(place: &Place, tell: &dyn Fn(RepairSubject, String)) -> Result<()> {
    for id in journal::left_behind::<RemovalJournal>(&place.shared())? {
        tell(RepairSubject::Removal, format!("would finish the removal of {id}, which was killed"));
    }
    for id in journal::left_behind::<SpawnJournal>(&place.shared())? {
        tell(RepairSubject::Spawn, format!("would undo the spawn of {id}, which was killed"));
    }
    Ok(())
}

/// Names the worktrees that were not found.
fn tell_lost(place: &Place, moved: &[MovedWorktree], tell: &dyn Fn(RepairSubject, String)) -> Result<Exit> {
    let is_found = |worktree: &Worktree| moved.iter().any(|moved| moved.worktree.git_dir == worktree.git_dir);
    for worktree in repository::worktrees(place)?.iter().filter(|worktree| worktree.is_lost && !is_found(worktree)) {
        let path = worktree.path.display();
        let text = format!(
            "{path} is not there; move it back, or remove git's record of it with `worktree-spawn remove --force`"
        );
        tell(RepairSubject::Lost, text);
    }
    Ok(Exit::Done)
}
