//! `doctor`: what is wrong with this tool's own records, and what mends it.

use shopfloor_core::approval::Approvals;
use shopfloor_core::doctor::{self, DoctorArgs, Finding};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::Ui;

use super::apply::{self, ApplyOptions};
use crate::facts::LayerDirs;
use crate::ports;
use crate::record::Record;
use crate::removed;
use crate::snapshot;
use crate::worktree::OpenWorktree;

/// Show what is wrong with the records of this worktree, and how to repair it: exit 0 if nothing is, 1 if something is
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  sweatfile-apply doctor --json | jq -r 'select(.ok | not).fix'")]
pub struct Args {
    #[command(flatten)]
    pub doctor: DoctorArgs,
}

/// The repair: `apply` finishes what a killed one began.
struct ApplyAgain;

pub fn run(ui: &Ui, env: &Env, dirs: &LayerDirs, args: &Args) -> Result<Exit> {
    let worktree = OpenWorktree::find(env)?;
    doctor::run(ui, &check(env, &worktree), args.doctor, |ApplyAgain| {
        let options = ApplyOptions { no_setup: true, ..ApplyOptions::default() };
        let applied = apply::set_up(ui, env, &worktree, dirs, &options)?;
        applied.failure.or(applied.unapproved).map_or(Ok(()), Err)
    })
}

fn check(env: &Env, worktree: &OpenWorktree) -> Vec<Finding<ApplyAgain>> {
    let repo = &worktree.repo;
    let mut findings = vec![match Record::load(repo) {
        Err(failure) => unreadable("record", &failure),
        Ok(record) if record.is_unfinished() => Finding::bad(
            "record",
            "an `apply` was killed in this worktree",
            "finish it with `sweatfile-apply apply --no-setup`",
            Some(ApplyAgain),
        ),
        Ok(record) => Finding::good("record", format!("{} files placed", record.files.len())),
    }];
    findings.push(match ports::count(repo) {
        Ok(count) => Finding::good("ports", format!("{count} assigned in this repository")),
        Err(failure) => unreadable("ports", &failure),
    });
    let approved = Approvals::load(env).and_then(|approvals| approvals.count(&repo.home.common_dir));
    findings.push(match approved {
        Ok(count) => Finding::good("approvals", format!("{count} of this clone")),
        Err(failure) => unreadable("approvals", &failure),
    });
    findings.push(match snapshot::load(repo) {
        Ok(Some(_)) => Finding::good("snapshot", "there is one; `sweatfile-apply env review` ends it"),
        Ok(None) => Finding::good("snapshot", "there is none"),
        Err(failure) => unreadable("snapshot", &failure),
    });
    findings.push(match removed::load_all(repo) {
        Ok(all) if all.is_empty() => Finding::good("removed", "no removed worktree waits for a review"),
        Ok(all) => Finding::good(
            "removed",
            format!("{} removed worktrees wait for `sweatfile-apply env review --removed`", all.len()),
        ),
        Err(failure) => unreadable("removed", &failure),
    });
    findings
}

fn unreadable(check: &'static str, failure: &Failure) -> Finding<ApplyAgain> {
    Finding::bad(check, failure.to_string(), failure.hints.join("; "), None)
}
