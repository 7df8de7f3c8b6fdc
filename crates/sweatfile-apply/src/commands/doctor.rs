//! `doctor`: what is wrong with this tool's own records, and what mends it.

use std::collections::BTreeSet;
use std::ffi::OsString;

use shopfloor_core::approval::Approvals;
use shopfloor_core::doctor::{self, DoctorArgs, Finding};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{Git, Repo};
use shopfloor_core::ui::Ui;

use super::apply::{self, ApplyOptions};
use crate::applied::{self, Record};
use crate::apply::{release_excludes, teardown};
use crate::excludes;
use crate::facts::{self, LoadOptions};
use crate::flags::LayerFlags;
use crate::layout::{self, TOOL};
use crate::ports;
use crate::snapshot;
use crate::worktree::OpenWorktree;

/// Show what is wrong with the records of this worktree, and how to repair it: exit 0 if nothing is, 1 if something is
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  sweatfile-apply doctor --json | jq -r 'select(.ok | not).fix'")]
pub struct Args {
    #[command(flatten)]
    pub doctor: DoctorArgs,
}

/// What this tool can repair.
enum Repair {
    /// `apply` finishes what a killed one began.
    ApplyAgain(ApplyOptions),
    /// Deletes exclude lines that no worktree uses any more.
    ReleaseExcludes(BTreeSet<String>),
    InstallHook,
}

pub fn run(ui: &Ui, env: &Env, dirs: &LayerFlags, args: &Args) -> Result<Exit> {
    let worktree = OpenWorktree::find_or_bare(env)?;
    let mut findings = check(&worktree);
    let settings = facts::load_settings(env, &worktree.repo, dirs, LoadOptions::default());
    findings.extend(settings.err().map(|failure| unreadable("settings", &failure)));
    findings.push(doctor::check_hook(&worktree.git, &worktree.repo, TOOL, Repair::InstallHook));
    doctor::run(ui, &findings, args.doctor, |repair| match repair {
        Repair::ApplyAgain(options) => {
            // A bare repository has nothing to set up, whatever lies in the place of its record.
            worktree.repo.require_worktree()?;
            let applied = apply::set_up(ui, &worktree, dirs, options)?;
            applied.failure.or(applied.unapproved).map_or(Ok(()), Err)
        }
        Repair::ReleaseExcludes(patterns) => release_excludes(&worktree.repo, patterns, None).map(drop),
        Repair::InstallHook => doctor::install_hook(&worktree.git, &worktree.repo, TOOL),
    })
}

fn check(worktree: &OpenWorktree) -> Vec<Finding<Repair>> {
    let repo = &worktree.repo;
    let record = Record::load(worktree).and_then(|record| Ok((record.is_cut_off(repo)?, record)));
    let mut findings = vec![match record {
        Err(failure) => unreadable("record", &failure),
        Ok((true, _)) => Finding::bad(
            "record",
            "a set-up was killed in this worktree",
            "finish it with `sweatfile-apply apply`",
            Some(Repair::ApplyAgain(ApplyOptions::default())),
        ),
        Ok((false, record)) if record.is_unfinished() => Finding::bad(
            "record",
            "an `apply` was killed in this worktree",
            "finish it with `sweatfile-apply apply --no-setup`",
            Some(Repair::ApplyAgain(ApplyOptions { no_setup: true, ..ApplyOptions::default() })),
        ),
        Ok((false, record)) => Finding::good("record", format!("{} files placed", record.files.len())),
    }];
    findings.push(check_ports(repo));
    let mut look = |check, found: Result<String>| {
        findings.push(found.map_or_else(|failure| unreadable(check, &failure), |found| Finding::good(check, found)));
    };
    let approved = Approvals::load(&worktree.env).and_then(|approvals| approvals.count(&repo.home.common_dir));
    look("approvals", approved.map(|count| format!("{count} of this clone")));
    let snapshot = |taken| if taken { "there is one; `sweatfile-apply env review` ends it" } else { "there is none" };
    look("snapshot", snapshot::load(worktree).map(|taken| snapshot(taken.is_some()).to_owned()));
    let removed = layout::removed_dir(repo);
    let kept = fs::list(&removed).map(|all| all.len());
    look("removed", kept.map(|count| format!("variables of {count} removed worktrees are in {}", removed.display())));
    let damaged = teardown::unreadable(worktree);
    findings.extend(damaged.iter().map(|failure| unreadable("teardown", failure)));
    let cut_off = teardown::cut_off(worktree);
    findings.extend(cut_off.iter().map(|line| {
        let fix = "when the worktree is gone, `sweatfile-apply sweep --again` runs it";
        Finding::bad("teardown", format!("begun and not ended: {line}"), fix, None)
    }));
    match teardown::waiting(worktree) {
        0 if !damaged.is_empty() || !cut_off.is_empty() => {}
        0 => findings.push(Finding::good("teardown", "nothing waits for one")),
        count => {
            let what = format!("worktrees that are gone and wait for it: {count}");
            // Only that runs what was cut off once more.
            let again = if cut_off.is_empty() { "" } else { " --again" };
            findings.push(Finding::bad("teardown", what, format!("run `sweatfile-apply sweep{again}`"), None));
        }
    }
    findings.push(match unused_excludes(&worktree.env, repo) {
        Ok(patterns) if patterns.is_empty() => Finding::good("excludes", "every line is used"),
        Ok(patterns) => Finding {
            fix: Some("`--repair` deletes them".to_owned()),
            detail: format!("unused lines of info/exclude: {}", patterns.len()),
            repair: Some(Repair::ReleaseExcludes(patterns)),
            ..Finding::good("excludes", "")
        },
        Err(failure) => unreadable("excludes", &failure),
    });
    findings
}

fn check_ports(repo: &Repo) -> Finding<Repair> {
    match ports::count(repo).map(|(count, shared)| (count, shared.first().copied())) {
        Err(failure) => unreadable("ports", &failure),
        Ok((count, None)) => Finding::good("ports", format!("{count} assigned in this repository")),
        Ok((_, Some(port))) => {
            let fix = "run `sweatfile-apply` in each worktree: all but one of them get another one";
            Finding::bad("ports", format!("several worktrees have the port {port}"), fix, None)
        }
    }
}

/// Our exclude lines that no worktree's record names, and that hide nothing.
pub fn unused_excludes(env: &Env, repo: &Repo) -> Result<BTreeSet<String>> {
    let (used, _) = applied::excludes_used(repo, None)?;
    let unused: BTreeSet<String> =
        excludes::own(&repo.read_exclude()?).into_iter().filter(|own| !used.contains(own)).collect();
    if unused.is_empty() {
        return Ok(unused);
    }
    let patterns = unused.iter().map(|pattern| OsString::from(format!("--exclude={pattern}")));
    let args: Vec<OsString> = ["--others", "--ignored"].map(OsString::from).into_iter().chain(patterns).collect();
    let git = Git::find(env)?;
    for (worktree, _) in git.worktrees(repo)? {
        if !git.ls_files(&worktree, &args)?.is_empty() {
            return Ok(BTreeSet::new());
        }
    }
    Ok(unused)
}

fn unreadable(check: &'static str, failure: &Failure) -> Finding<Repair> {
    Finding::bad(check, failure.to_string(), failure.hints.join("; "), None)
}
