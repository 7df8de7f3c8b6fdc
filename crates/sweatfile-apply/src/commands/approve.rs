//! `approve`: makes the repository's files count.

use std::collections::BTreeSet;

use shopfloor_core::approval::ApprovalStatus;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::{Git, Repo};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::approvals;
use crate::approvable::{Approvable, path_of};
use crate::facts::{self, LoadOptions};
use crate::failure;
use crate::flags::LayerFlags;
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
    /// Only propose what this commit has too, as `origin/main`
    #[arg(long, value_name = "COMMIT")]
    pub from: Option<String>,
}

pub fn run(ui: &Ui, env: &Env, dirs: &LayerFlags, args: &Args) -> Result<Exit> {
    let (git, repo) = Git::here(env)?;
    let layers = facts::load_layers(env, &repo, dirs, LoadOptions::default())?;
    layers.warnings().iter().for_each(|warning| ui.warn(warning));
    layers.merged()?;
    let (mut declined, mut seen) = (None, BTreeSet::new());
    let call = dirs.call(env, None);
    // Which files hold setup back depends on which layers count after the first answers.
    for _ in 0..2 {
        let mut files = approvals::find_all(env, &git, &repo, dirs, &layers)?;
        files.retain(|file| file.bytes.is_some() && seen.insert(file.name.clone()));
        for file in files {
            if let Some(commit) = args
                .from
                .as_ref()
                .filter(|_| file.status(env, &repo).is_ok_and(|status| status != ApprovalStatus::Approved))
                && !has(&git, &repo, commit, &file)?
            {
                let path = file.path.display();
                ui.note(format!("{path} is not as {commit} has it; `{call} approve` asks about it"));
                declined = Some(file.path);
                continue;
            }
            if has_consent(ui, env, &repo, &file, args, &call)? {
                approve(ui, env, &repo, &file)?;
            } else {
                declined = Some(file.path);
            }
        }
    }
    if !ui.is_dry() && repo.worktree.is_some() {
        approvals::remember_used(&OpenWorktree::open(env, git, repo.clone())?, dirs)?;
    }
    if seen.is_empty() {
        ui.detail(format!("there is nothing to approve in {}", repo.home.checkout.display()));
    }
    match declined {
        Some(path) => Err(failure::UNAPPROVED.failure(format!("{} stays unapproved", path.display()))),
        None => Ok(Exit::Done),
    }
}

/// Whether a commit has the same bytes at the file's path.
fn has(git: &Git, repo: &Repo, commit: &str, file: &Approvable) -> Result<bool> {
    let at = &repo.home.checkout;
    // A branch or a tag of this name, which an agent can make, is another one.
    let mut id = String::new();
    for name in [format!("refs/remotes/{commit}^{{commit}}"), format!("{commit}^{{commit}}")] {
        if id.is_empty() {
            let verify = ["rev-parse", "--verify", "--quiet", "--end-of-options", &name];
            id = git.cmd(at).args(verify).capture()?.text();
        }
    }
    if id.is_empty() {
        return Err(Failure::usage(format!("there is no commit `{commit}` here")).hint("run `git fetch` first"));
    }
    let blob = git.cmd(at).args(["cat-file", "blob", &format!("{id}:{}", path_of(&file.name))]).capture()?;
    Ok(blob.status.success() && Some(&blob.stdout) == file.bytes.as_ref())
}

/// Shows the file unless it is approved, and asks about it unless the flags say what to do; exit 3 when nobody can be
/// asked.
fn has_consent(ui: &Ui, env: &Env, repo: &Repo, file: &Approvable, args: &Args, call: &str) -> Result<bool> {
    if file.status(env, repo)? == ApprovalStatus::Approved {
        ui.detail(format!("{} is approved already", file.path.display()));
    } else if ui.is_dry() {
        ui.show(&file.summary(env, repo)?);
    } else if args.yes {
        ui.summary(&file.summary(env, repo)?);
    } else if ui.can_ask() {
        return approvals::offer(ui, env, repo, file);
    } else {
        let message = format!("{} needs a person's approval, and there is no terminal to ask on", file.path.display());
        let hint = format!("run `{call} approve` on a terminal, or `{call} approve --yes` once you have read it");
        return Err(failure::UNAPPROVED.failure(message).details(file.summary(env, repo)?).hint(hint));
    }
    Ok(true)
}

fn approve(ui: &Ui, env: &Env, repo: &Repo, file: &Approvable) -> Result<()> {
    let (dry_run, is_new) = (ui.is_dry(), file.status(env, repo)? != ApprovalStatus::Approved);
    if !dry_run {
        repo.remember(env)?;
        file.approve(env, repo)?;
    }
    if ui.is_json() {
        let status = if dry_run && is_new { ApprovalStatus::Required } else { ApprovalStatus::Approved };
        ui.json(&approvals::answer(file, status));
    } else if !dry_run && is_new {
        ui.done(format!("approved {}", printable(&file.path.display().to_string())));
    }
    Ok(())
}
