//! `approvals`: the files that need approval, and whether they have it. Also what `approve` and `apply` share with it:
//! finding these files, showing them, and asking about them.

use serde_json::{Value, json};
use shopfloor_core::approval::{self, ApprovalStatus};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::git::{Git, Repo};
use shopfloor_core::hash::Digest;
use shopfloor_core::text::{printable, word};
use shopfloor_core::ui::Ui;

use crate::apply::teardown;
use crate::approvable::{self, Approvable};
use crate::facts::{self, Facts, Layers, LoadOptions, SetupRequest};
use crate::flags::LayerFlags;
use crate::layer::MergedLayers;
use crate::plan;
use crate::teardown_record::Step;
use crate::worktree::OpenWorktree;

pub fn run(ui: &Ui, env: &Env, dirs: &LayerFlags) -> Result<Exit> {
    let (git, repo) = Git::here(env)?;
    let layers = facts::load_layers(env, &repo, dirs, LoadOptions::default())?;
    for file in find_all(env, &git, &repo, dirs, &layers)? {
        let status = file.status(env, &repo)?;
        let line = format!("{} {}", word(&status), printable(&file.path.display().to_string()));
        ui.json_or_line(&answer(&file, status), line);
    }
    Ok(Exit::Done)
}

/// The answer about one file.
pub fn answer(file: &Approvable, status: ApprovalStatus) -> Value {
    json!({ "path": file.path.to_string_lossy(), "sha256": file.bytes.as_deref().map(Digest::of), "status": status })
}

/// Every file that needs approval: the repository's, and those that hold set-up or teardown back in the current worktree.
pub fn find_all(env: &Env, git: &Git, repo: &Repo, dirs: &LayerFlags, layers: &Layers) -> Result<Vec<Approvable>> {
    let mut files = layers.approvable(git, &repo.home)?;
    if repo.worktree.is_some() {
        let worktree = OpenWorktree::open(env, git.clone(), repo.clone())?;
        files.extend(holding(&worktree, dirs, SetupRequest::Again, &teardown::recorded(&worktree)?)?);
    }
    Ok(files)
}

/// The tracked files that hold back set-up in this worktree, or these commands of its teardown.
fn holding(
    worktree: &OpenWorktree,
    dirs: &LayerFlags,
    request: SetupRequest,
    teardown: &[Step],
) -> Result<Vec<Approvable>> {
    let (merged, facts) = read(worktree, dirs, request, teardown)?;
    let held = plan::held_files(&merged, &facts).into_iter().map(|(path, held)| Approvable {
        name: approvable::tracked_name(path),
        path: worktree.root.join(path),
        bytes: Some(held.shown.clone().into_bytes()),
        more: Vec::new(),
    });
    Ok(held.collect())
}

/// Records what setup uses of the main checkout as it is now, so that an unchanged file does not wait on another branch.
pub fn remember_used(worktree: &OpenWorktree, dirs: &LayerFlags) -> Result<()> {
    let home = &worktree.repo.home;
    if home.checkout != worktree.path {
        return Ok(());
    }
    let (_, facts) = read(worktree, dirs, SetupRequest::Again, &[])?;
    facts.tracked.iter().filter(|(_, used)| used.is_approved).try_for_each(|(path, used)| {
        approval::approve(&worktree.env, &home.common_dir, &approvable::tracked_name(path), &used.shown)
    })
}

fn read(
    worktree: &OpenWorktree,
    dirs: &LayerFlags,
    request: SetupRequest,
    teardown: &[Step],
) -> Result<(MergedLayers, Facts)> {
    let (_, mut merged) =
        facts::load_layers(&worktree.env, &worktree.repo, dirs, LoadOptions::default())?.counting()?;
    merged.setup.extend(teardown.iter().map(Step::as_setup));
    let facts = match merged.setup.is_empty() {
        true => Facts::default(),
        false => facts::read(worktree, &merged, request)?,
    };
    Ok((merged, facts))
}

/// Asks on a terminal about every file that is not approved, and records each yes. The caller reads the layers again
/// afterwards, so that only approved bytes count even if someone wrote to a file meanwhile.
pub fn ask_about_all(ui: &Ui, worktree: &OpenWorktree, dirs: &LayerFlags, request: SetupRequest) -> Result<()> {
    if !ui.can_ask() {
        return Ok(());
    }
    let (env, repo) = (&worktree.env, &worktree.repo);
    let layers = facts::load_layers(env, repo, dirs, LoadOptions::default())?;
    let ask_about = |files: Vec<Approvable>| -> Result<()> {
        for file in files {
            let is_open = file.bytes.is_some() && file.status(env, repo)? != ApprovalStatus::Approved;
            if is_open && offer(ui, env, repo, &file)? {
                file.approve(env, repo)?;
            }
        }
        Ok(())
    };
    ask_about(layers.approvable(&worktree.git, &repo.home)?)?;
    if layers.repo().approval == ApprovalStatus::Required {
        remember_used(worktree, dirs)?;
    }
    // Which files hold setup back depends on which layers count after these answers.
    ask_about(holding(worktree, dirs, request, &[])?)
}

/// Shows what a file asks for, and asks whether to trust it.
pub fn offer(ui: &Ui, env: &Env, repo: &Repo, file: &Approvable) -> Result<bool> {
    ui.show(&file.summary(env, repo)?);
    Ok(ui.confirm(&format!("trust this for every worktree of {}?", printable(&repo.home.checkout.to_string_lossy()))))
}
