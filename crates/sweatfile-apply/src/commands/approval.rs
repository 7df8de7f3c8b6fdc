//! What the commands about approval share: finding the files, showing them, and asking about them.

use serde::Serialize;
use shopfloor_core::approval::ApprovalStatus;
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::git::{Git, Repo};
use shopfloor_core::hash::Digest;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::approvable::{self, Approvable};
use crate::facts::{self, LayerDirs, Layers, LoadOptions, SetupRequest};
use crate::plan;
use crate::worktree::OpenWorktree;

/// The answer about one file.
#[derive(Debug, Serialize)]
pub struct ApprovalLine {
    path: String,
    sha256: Option<Digest>,
    status: ApprovalStatus,
}

impl ApprovalLine {
    pub fn new(file: &Approvable, status: ApprovalStatus) -> ApprovalLine {
        let sha256 = file.bytes.as_deref().map(Digest::of);
        ApprovalLine { path: file.path.to_string_lossy().into_owned(), sha256, status }
    }
}

/// Every file that needs approval: the repository's, and those that hold setup back in the current worktree.
pub fn find_all(env: &Env, git: &Git, repo: &Repo, dirs: &LayerDirs, layers: &Layers) -> Result<Vec<Approvable>> {
    let mut files = layers.approvable(&repo.home);
    if repo.worktree.is_some() {
        let worktree = OpenWorktree::open(env, git.clone(), repo.clone())?;
        files.extend(holding_setup(env, &worktree, dirs, SetupRequest::Again)?);
    }
    Ok(files)
}

/// The tracked files that hold back setup in this worktree.
fn holding_setup(
    env: &Env,
    worktree: &OpenWorktree,
    dirs: &LayerDirs,
    request: SetupRequest,
) -> Result<Vec<Approvable>> {
    let layers = facts::load_layers(env, &worktree.repo, dirs, LoadOptions::default())?;
    let (_, merged) = layers.counting()?;
    if merged.setup.is_empty() {
        return Ok(Vec::new());
    }
    let facts = facts::read(env, worktree, &merged, request)?;
    let held = plan::held_files(&merged, &facts).into_iter().map(|held| Approvable {
        name: approvable::tracked_name(&held.path),
        path: worktree.root.join(&held.path),
        bytes: Some(held.shown.into_bytes()),
    });
    Ok(held.collect())
}

/// Asks on a terminal about every file that is not approved, and records each yes. The caller reads the layers again
/// afterwards, so that only approved bytes count even if someone wrote to a file meanwhile.
pub fn ask_about_all(
    ui: &Ui,
    env: &Env,
    worktree: &OpenWorktree,
    dirs: &LayerDirs,
    request: SetupRequest,
) -> Result<()> {
    if !ui.can_ask() {
        return Ok(());
    }
    let repo = &worktree.repo;
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
    ask_about(layers.approvable(&repo.home))?;
    // Which files hold setup back depends on which layers count after these answers.
    ask_about(holding_setup(env, worktree, dirs, request)?)
}

/// Shows what a file asks for, and asks whether to trust it.
pub fn offer(ui: &Ui, env: &Env, repo: &Repo, file: &Approvable) -> Result<bool> {
    ui.show(&file.summary(env, repo)?);
    Ok(ui.confirm(&format!("trust this for every worktree of {}?", printable(&repo.home.checkout.to_string_lossy()))))
}
