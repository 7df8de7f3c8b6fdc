//! `remove`: takes back what apply placed and nobody changed since.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::path::RelPath;
use shopfloor_core::proc::processes;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::applied::Record;
use crate::apply::{self, RemovedItems, background, teardown};
use crate::commands::sweep;
use crate::env_file;
use crate::excludes;
use crate::facts::{self, LoadOptions, SetupRequest};
use crate::flags::LayerFlags;
use crate::layer::MergedLayers;
use crate::plan::removal::{self, RemovePlan};
use crate::plan::{self, EnvOperation};
use crate::setup_step::STEP;
use crate::teardown_record::Step;
use crate::worktree::OpenWorktree;

/// Remove what apply placed and nobody changed since
///
/// First runs the teardown commands, 60 s each; one that fails is kept for the next removal or `sweep`. Then removes links, written files, copies whose original still exists, .sweatshop-env, and exclude
/// lines that no other worktree relies on. Lists what it leaves, with the reason.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  sweatfile-apply remove --dry-run")]
pub struct Args {
    /// Remove nothing if a teardown command fails, or is left
    #[arg(long)]
    strict: bool,
}

pub fn run(ui: &Ui, env: &Env, dirs: &LayerFlags, args: &Args) -> Result<Exit> {
    let worktree = OpenWorktree::find(env)?;
    if !ui.is_dry() {
        let is_step = |pid| processes::variable(pid, STEP).is_some();
        background::end_all(&worktree, is_step)?.iter().for_each(|what| ui.note(format!("ended {what}")));
    }
    // Before the files that the commands need go.
    let torn_down = teardown::of_worktree(ui, &worktree, dirs, &|lines| held(&worktree, dirs, lines), args.strict)?;
    if args.strict {
        torn_down.require_all()?;
    }
    let _lock = if ui.is_dry() { None } else { Some(worktree.lock()?) };
    let mut facts = facts::removal::read(&worktree)?;
    if !facts.record.is_listed && facts.record != Record::default() {
        let merged = facts::load_layers(env, &worktree.repo, dirs, LoadOptions::default())?.merged()?;
        let known = plan::known_record(&merged, &facts::read(&worktree, &merged, SetupRequest::Skip)?);
        facts.unknown = facts.record.files.into_keys().filter(|path| !known.files.contains_key(path)).collect();
        facts.record = known;
    }
    facts.unread.iter().for_each(|failure| ui.warn(failure));
    let mut plan = removal::plan(&facts);
    let needed = facts::removal::patterns_needed(&worktree, &facts.record, &plan.files)?;
    plan.plan_excludes(&facts, &needed);
    let mut items = match ui.is_dry() {
        true => preview(&worktree, plan)?,
        false => apply::remove(&worktree, &plan, &facts.record)?,
    };
    let failure = items.failure().or(torn_down.failure());
    (items.worktree, items.teardown) = (worktree.path.to_string_lossy().into_owned(), torn_down);
    Ok(ui.conclude(&items, || print(ui, &items), failure.as_ref()))
}

/// The files of a worktree that these commands would use as somebody has left them, and that nobody has approved.
pub fn held(worktree: &OpenWorktree, dirs: &LayerFlags, steps: &[Step]) -> Result<Vec<RelPath>> {
    let merged = facts::load_layers(&worktree.env, &worktree.repo, dirs, LoadOptions::default())?.merged()?;
    let merged = MergedLayers { setup: steps.iter().map(Step::as_setup).collect(), ..merged };
    let facts = facts::read(worktree, &merged, SetupRequest::Again)?;
    Ok(plan::held_files(&merged, &facts).into_iter().map(|(path, _)| path.clone()).collect())
}

/// The items that `plan` would remove.
fn preview(worktree: &OpenWorktree, plan: RemovePlan) -> Result<RemovedItems> {
    let files = plan.files.iter().map(|(path, _)| path.to_string());
    let env = matches!(plan.env, EnvOperation::Delete(_)).then(|| env_file::FILE.to_owned());
    let (_, excludes) = excludes::without(&worktree.repo.read_exclude()?, &plan.excludes);
    Ok(RemovedItems { files: files.chain(env).collect(), excludes, left: plan.left, ..RemovedItems::default() })
}

fn print(ui: &Ui, items: &RemovedItems) {
    sweep::print(ui, &items.teardown);
    let word = if ui.is_dry() { "would have removed" } else { "removed" };
    items.files.iter().for_each(|path| ui.line(format!("{word} {}", printable(path))));
    items.excludes.iter().for_each(|pattern| ui.line(format!("{word} exclude {}", printable(pattern))));
    if items.files.is_empty() && items.excludes.is_empty() && items.left.is_empty() {
        ui.nothing_to_do();
    }
    items.left.iter().for_each(|left| ui.line(format!("left {}", printable(&left.to_string()))));
}
