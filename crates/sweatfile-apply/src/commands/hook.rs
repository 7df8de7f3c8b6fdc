//! `hook`: sets up a worktree that git has created, and keeps the variables of one that is about to be removed.

use std::path::PathBuf;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::{Git, Repo};
use shopfloor_core::hook_subcommand::{self, HookCommand};
use shopfloor_core::ui::Ui;

use super::apply::{ApplyOptions, set_up};
use super::remove::held;
use crate::applied::Record;
use crate::apply::{background, teardown};
use crate::env_file::{self, EnvFile, VarValue};
use crate::facts::{self, CurrentEnvFile, LoadOptions};
use crate::flags::LayerFlags;
use crate::layout::TOOL;
use crate::review;
use crate::snapshot;
use crate::worktree::OpenWorktree;

pub fn run(ui: &Ui, env: &Env, dirs: &LayerFlags, command: HookCommand) -> Result<Exit> {
    match hook_subcommand::run_before_removal(ui, env, command, |env, git, repo| {
        before_removal(ui, env, dirs, (git, repo))
    })? {
        Ok(done) => Ok(done),
        Err(command) => hook_subcommand::run(ui, env, TOOL, command, |called| {
            after_creation(ui, env, dirs, (called.git, called.repo))
        }),
    }
}

fn after_creation(ui: &Ui, env: &Env, dirs: &LayerFlags, (git, repo): (Git, Repo)) -> Result<Option<Failure>> {
    let worktree = OpenWorktree::open(env, git, repo)?;
    match teardown::waiting(&worktree) {
        0 => {}
        count => {
            ui.note(format!("worktrees that are gone and wait for their teardown: {count} (`sweatfile-apply sweep`)"))
        }
    }
    let how = env.var("SHOPFLOOR_SETUP");
    // `shopfloor new` sets worktrees up also where nobody has installed a hook, and there may be nothing to set up.
    if how.is_some_and(|word| word == "always" || word == "held") && is_nothing(&worktree, dirs)? {
        return Ok(None);
    }
    // worktree-spawn, where an agent's program asked it for a worktree.
    let no_setup = how.is_some_and(|word| word == "held");
    Ok(set_up(ui, &worktree, dirs, &ApplyOptions { no_setup, ..ApplyOptions::default() })?.conclude(ui).1)
}

/// Whether nobody has said anything about worktrees here.
fn is_nothing(worktree: &OpenWorktree, dirs: &LayerFlags) -> Result<bool> {
    let layers = facts::load_layers(&worktree.env, &worktree.repo, dirs, LoadOptions::default())?;
    let list = worktree.repo.home.checkout.join(facts::INCLUDE_FILE);
    Ok(layers.layers.iter().all(|layer| layer.text.is_none()) && list.symlink_metadata().is_err())
}

/// Runs the teardown, and keeps the variables. What fails is told, and waits for `sweep`, or for the next removal if the
/// worktree stays after all.
fn before_removal(ui: &Ui, env: &Env, dirs: &LayerFlags, (git, repo): (Git, Repo)) -> Result<Vec<String>> {
    let worktree = OpenWorktree::open(env, git, repo)?;
    // This may refuse the removal.
    let mut notes = keep_variables(ui, &worktree)?;
    // Else what set-up started would go on without its worktree, or write to it while it goes.
    if !ui.is_dry() {
        notes.extend(background::end_all(&worktree, |_| true)?.into_iter().map(|what| format!("ended {what}")));
    }
    let torn_down = teardown::of_worktree(ui, &worktree, dirs, &|lines| held(&worktree, dirs, lines), false)?;
    let word = if ui.is_dry() { "would tear down" } else { "torn down" };
    notes.extend(torn_down.ran.iter().map(|line| format!("{word}: {line}")));
    let waits = torn_down.failed.iter().chain(&torn_down.left);
    let later = |line| match torn_down.unswept.contains(line) {
        true => "not torn down",
        false => "not torn down; when the worktree is gone, `sweatfile-apply sweep` tries again",
    };
    notes.extend(waits.map(|line| format!("{}: {line}", later(line))));
    Ok(notes)
}

/// Keeps `.sweatshop-env` if it has variables that neither a sweatfile nor a review put there.
fn keep_variables(ui: &Ui, worktree: &OpenWorktree) -> Result<Vec<String>> {
    let now = match facts::read_env_file(&worktree.root)? {
        CurrentEnvFile::Unusable(why) => return without_env_file(worktree, &why),
        current => current.variables(),
    };
    let (record, snapshot) = (Record::load(worktree)?, snapshot::load_listed(worktree)?);
    let is_tracked = || worktree.git.ls_files(&worktree.path, &["--".into(), env_file::FILE.into()]);
    if record == Record::default() && snapshot.is_none() && (now.is_empty() || !is_tracked()?.is_empty()) {
        return Ok(Vec::new());
    }
    let applied = || {
        let mut file = EnvFile::default();
        // What an agent may have written hides no variable.
        let applied = record.env.iter().filter(|_| record.is_listed);
        applied.for_each(|(key, value)| file.set(key, &VarValue::Text(value.clone())));
        file
    };
    let changes = review::changes(&snapshot.unwrap_or_else(applied), &now);
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    let keys: Vec<&str> = changes.iter().map(|change| change.key.as_str()).collect();
    let what = format!("{} of {}", keys.join(", "), worktree.path.display());
    if ui.is_dry() {
        return Ok(vec![format!("would keep {what}")]);
    }
    let kept = snapshot::keep(worktree, &now)?;
    Ok(vec![format!("kept {what}, in {}", kept.display())])
}

/// The answer when `.sweatshop-env` cannot be used. A link loses nothing if its target stays; everything else is a
/// failure, because the removal would lose it.
fn without_env_file(worktree: &OpenWorktree, why: &str) -> Result<Vec<String>> {
    let path = worktree.path.join(env_file::FILE);
    let goes_too = |target: PathBuf| target.starts_with(worktree.path.canonicalize().unwrap_or_default());
    if path.is_symlink() && !path.canonicalize().is_ok_and(goes_too) {
        return Ok(Vec::new());
    }
    Err(Failure::failed(format!("cannot keep {}: {why}", env_file::FILE))
        .hint("move it out of the worktree, or remove it"))
}
