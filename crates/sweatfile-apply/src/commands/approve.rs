//! `approve`: makes the repository's files count.

use std::collections::BTreeSet;

use shopfloor_core::approval::ApprovalStatus;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::{Git, Repo};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::approval::{self, ApprovalLine};
use crate::approvable::Approvable;
use crate::facts::{self, LayerDirs, LoadOptions};
use crate::failure::FailureKind;
use crate::worktree::OpenWorktree;

/// Approve the repository's sweatfile as it is now, for all worktrees of this clone
///
/// Exits with 3 if a person declines, or nobody can be asked.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  sweatfile-apply approve")]
pub struct Args {
    /// Approve without asking, and print what is trusted
    #[arg(long)]
    pub yes: bool,
}

pub fn run(ui: &Ui, env: &Env, dirs: &LayerDirs, args: &Args) -> Result<Exit> {
    let mut git = Git::find(env)?;
    let repo = git.discover()?;
    let layers = facts::load_layers(env, &repo, dirs, LoadOptions::default())?;
    layers.warnings().iter().for_each(|warning| ui.warn(warning));
    layers.merged()?;
    let (mut declined, mut seen) = (None, BTreeSet::new());
    // Which files hold setup back depends on which layers count after the first answers.
    for _ in 0..2 {
        let mut files = approval::find_all(env, &git, &repo, dirs, &layers)?;
        files.retain(|file| file.bytes.is_some() && seen.insert(file.name.clone()));
        for file in files {
            match consent(ui, env, &repo, &file, args)? {
                Consent::Declined => declined = Some(file.path),
                Consent::Given => approve(ui, env, &repo, &file)?,
            }
        }
    }
    if !ui.is_dry() && repo.worktree.is_some() {
        approval::remember_used(env, &OpenWorktree::open(env, git, repo.clone())?, dirs)?;
    }
    if seen.is_empty() {
        ui.detail(format!("there is nothing to approve in {}", repo.home.checkout.display()));
    }
    match declined {
        Some(path) => Err(FailureKind::Unapproved.failure(format!("{} stays unapproved", path.display()))),
        None => Ok(Exit::Done),
    }
}

enum Consent {
    Given,
    Declined,
}

/// Shows the file unless it is approved, and asks about it unless the flags say what to do; exit 3 when nobody can be
/// asked.
fn consent(ui: &Ui, env: &Env, repo: &Repo, file: &Approvable, args: &Args) -> Result<Consent> {
    if file.status(env, repo)? == ApprovalStatus::Approved {
        ui.detail(format!("{} is approved already", file.path.display()));
    } else if ui.is_dry() {
        ui.show(&file.summary(env, repo)?);
    } else if args.yes {
        ui.summary(&file.summary(env, repo)?);
    } else if !ui.can_ask() {
        return Err(nobody_to_ask(env, repo, file)?);
    } else if !approval::offer(ui, env, repo, file)? {
        return Ok(Consent::Declined);
    }
    Ok(Consent::Given)
}

fn nobody_to_ask(env: &Env, repo: &Repo, file: &Approvable) -> Result<Failure> {
    let path = file.path.display();
    let message = format!("{path} needs a person's approval, and there is no terminal to ask on");
    Ok(FailureKind::Unapproved
        .failure(message)
        .details(file.summary(env, repo)?)
        .hint("run `sweatfile-apply approve` on a terminal, or `sweatfile-apply approve --yes` once you have read it"))
}

fn approve(ui: &Ui, env: &Env, repo: &Repo, file: &Approvable) -> Result<()> {
    let dry_run = ui.is_dry();
    if !dry_run {
        repo.remember_main_checkout(env)?;
        file.approve(env, repo)?;
    }
    if ui.is_json() {
        ui.json(&ApprovalLine::new(file, if dry_run { ApprovalStatus::Required } else { ApprovalStatus::Approved }));
    } else if !dry_run {
        ui.done(format!("approved {}", printable(&file.path.display().to_string())));
    }
    Ok(())
}
