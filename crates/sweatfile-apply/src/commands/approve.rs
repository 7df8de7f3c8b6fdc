//! `approve`, `approvals`, `revoke`: which of the repository's files count.

use serde_json::json;
use shopfloor_core::approval::{self, Approvals, Status};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::{Git, Repo};
use shopfloor_core::hash::Digest;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::cli::Places;
use crate::facts::{self, Approvable, Place, Rerun, approvable};
use crate::trust;

/// Asks for, or with `--yes` records, what is not approved yet.
pub fn approve(ui: &Ui, env: &Env, places: &Places, yes: bool, dry_run: bool) -> Result<Exit> {
    let mut git = Git::find(env)?;
    let repo = git.discover()?;
    let layers = facts::load_layers(env, &repo, places, false, false)?;
    layers.warnings().iter().for_each(|warning| ui.warn(warning));
    let common_dir = &repo.home.common_dir;
    layers.merged()?;
    let mut declined = None;
    let mut files = approvable(&repo.home, &layers);
    files.extend(holding(env, &git, &repo, places)?);
    let is_nothing = files.iter().all(|file| file.bytes.is_none());
    for Approvable { file, path, bytes } in files {
        let Some(bytes) = bytes else { continue };
        let shown = path.display().to_string();
        if Approvals::load(env)?.status(common_dir, &file, &bytes)? == Status::Approved {
            ui.note(format!("{shown} is approved already"));
        } else if dry_run {
            ui.show(&trust::summary(env, &repo, &file, &path, &bytes)?);
        } else if yes {
            ui.told(&trust::summary(env, &repo, &file, &path, &bytes)?);
        } else if !ui.can_ask() {
            return Err(Failure::new(
                Exit::Decide,
                "unapproved",
                format!("{shown} needs a person's approval, and there is no terminal to ask on"),
            )
            .details(trust::summary(env, &repo, &file, &path, &bytes)?)
            .hint(
                "run `sweatfile-apply approve` on a terminal, or `sweatfile-apply approve --yes` once you have read it",
            ));
        } else if !trust::offer(ui, env, &repo, &file, &path, &bytes)? {
            declined = Some(shown);
            continue;
        }
        if !dry_run {
            repo.remember_main_checkout()?;
            approval::approve(env, common_dir, &file, &String::from_utf8_lossy(&bytes))?;
        }
        let status = if dry_run { Status::Required } else { Status::Approved };
        if ui.is_json() {
            ui.json(&json!({ "path": path.to_string_lossy(), "sha256": Digest::of(&bytes), "status": status }));
        } else if !dry_run {
            ui.done(format!("approved {}", printable(&path.display().to_string())));
        }
    }
    if is_nothing {
        ui.note(format!("there is nothing to approve in {}", repo.home.checkout.display()));
    }
    match declined {
        Some(path) => Err(Failure::new(Exit::Decide, "unapproved", format!("{path} stays unapproved"))),
        None => Ok(Exit::Done),
    }
}

/// What holds setup back in the worktree we stand in, if we stand in one.
fn holding(env: &Env, git: &Git, repo: &Repo, places: &Places) -> Result<Vec<Approvable>> {
    match repo.worktree.is_some() {
        true => trust::holding(env, &Place::of(git.clone(), repo.clone())?, places, Rerun::Again),
        false => Ok(Vec::new()),
    }
}

/// One line per file approval is about.
pub fn list(ui: &Ui, env: &Env, places: &Places) -> Result<Exit> {
    let mut git = Git::find(env)?;
    let repo = git.discover()?;
    let layers = facts::load_layers(env, &repo, places, false, false)?;
    let mut files = approvable(&repo.home, &layers);
    files.extend(holding(env, &git, &repo, places)?);
    for Approvable { file, path, bytes } in files {
        let status = match &bytes {
            Some(bytes) => Approvals::load(env)?.status(&repo.home.common_dir, &file, bytes)?,
            None => Status::None,
        };
        let sha256 = bytes.map(|b| Digest::of(&b));
        if ui.is_json() {
            ui.json(&json!({ "path": path.to_string_lossy(), "sha256": sha256, "status": status }));
        } else {
            let word = match status {
                Status::None => "none",
                Status::Required => "required",
                Status::Approved => "approved",
            };
            ui.line(format!("{word} {}", printable(&path.display().to_string())));
        }
    }
    Ok(Exit::Done)
}

/// Takes every approval of this clone back.
pub fn revoke(ui: &Ui, env: &Env, dry_run: bool) -> Result<Exit> {
    let repo = Git::find(env)?.discover()?;
    let revoked = if dry_run {
        Approvals::load(env)?.count(&repo.home.common_dir)?
    } else {
        approval::revoke(env, &repo.home.common_dir)?
    };
    if ui.is_json() {
        ui.json(&match dry_run {
            true => json!({ "revoked": 0, "would_revoke": revoked }),
            false => json!({ "revoked": revoked }),
        });
    } else {
        ui.line(format!("{} {revoked}", if dry_run { "would revoke" } else { "revoked" }));
    }
    Ok(Exit::Done)
}
