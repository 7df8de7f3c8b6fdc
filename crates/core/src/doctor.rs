//! `doctor`, which every tool has: what is wrong with the tool's own state, and what mends it.

use std::path::PathBuf;

use clap::Args;

use crate::error::{Exit, Result};
use crate::git::{Git, Repo};
use crate::git_hook;
use crate::hook_manager;
use crate::proc::is_executable;
use crate::text::printable;
use crate::ui::Ui;
use serde_json::json;

/// The hook that sets up a new worktree.
const POST_CHECKOUT: &str = "post-checkout";

/// What `doctor` is asked to do.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct DoctorArgs {
    /// Repair everything that can be repaired without losing anything; asks first, and exits with 3 if nobody can be
    /// asked
    #[arg(long)]
    pub repair: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
}

/// The result of one check. `R` is what carries out a repair.
#[derive(Clone, Debug)]
pub struct Finding<R> {
    /// What was looked at, in a word.
    pub check: &'static str,
    /// Whether it is as it should be.
    pub ok: bool,
    /// What was found.
    pub detail: String,
    /// What a person, or the repair, has to do.
    pub fix: Option<String>,
    /// The repair, if the tool can do it without losing anything.
    pub repair: Option<R>,
}

impl<R> Finding<R> {
    /// Something that is as it should be.
    pub fn good(check: &'static str, detail: impl Into<String>) -> Finding<R> {
        Finding { check, ok: true, detail: detail.into(), fix: None, repair: None }
    }

    /// Something that is wrong, and what mends it, if anybody can say.
    pub fn bad(
        check: &'static str,
        detail: impl Into<String>,
        fix: impl Into<String>,
        repair: Option<R>,
    ) -> Finding<R> {
        let fix: String = fix.into();
        Finding { check, ok: false, detail: detail.into(), fix: Some(fix).filter(|fix| !fix.is_empty()), repair }
    }
}

/// Whether git runs a tool's post-checkout hook. One that a person has installed has to be there.
pub fn check_hook<R>(git: &Git, repo: &Repo, tool: &str, repair: R) -> Finding<R> {
    let look = || -> Result<(bool, bool, Option<PathBuf>)> {
        let is_missing = git_hook::missing(git, repo, POST_CHECKOUT, false)?.contains(&tool);
        let is_run = !is_missing && git_hook::runs(git, repo, POST_CHECKOUT, tool)?.is_some();
        let chained = git_hook::status(repo, POST_CHECKOUT)?.chained.filter(|hook| is_executable(hook));
        Ok((is_missing, is_run, chained))
    };
    match look() {
        Err(failure) => Finding::bad("hooks", failure.to_string(), failure.hints.join("; "), None),
        Ok((true, ..)) => match hook_fix(git, repo, POST_CHECKOUT, tool, repair) {
            Ok((fix, repair)) => Finding::bad("hooks", "not installed", fix, repair),
            Err(failure) => Finding::bad("hooks", failure.to_string(), failure.hints.join("; "), None),
        },
        Ok((_, true, Some(other))) => Finding::good("hooks", format!("installed; {} runs too", other.display())),
        Ok((_, is_run, _)) => Finding::good("hooks", if is_run { "installed" } else { "not installed" }),
    }
}

/// What brings a hook that is not installed: the repair, but where another program owns the hooks or git runs them from
/// a directory that is not this repository's own. An agent may have named that.
pub fn hook_fix<R>(git: &Git, repo: &Repo, hook: &str, tool: &str, repair: R) -> Result<(String, Option<R>)> {
    Ok(match hook_manager::activation(git, repo, hook, tool)? {
        Some(command) => (format!("run `{command}`"), None),
        None if repo.has_own_hooks() => (format!("{tool} hook install"), Some(repair)),
        None => (format!("{}; if it is to run there: `{tool} hook install`", git.foreign_hooks(repo)?), None),
    })
}

/// The repair: installs it.
pub fn install_hook(git: &Git, repo: &Repo, tool: &'static str) -> Result<()> {
    git_hook::install(git, repo, POST_CHECKOUT, tool, false)?.require(POST_CHECKOUT, tool)
}

/// Prints the findings, and repairs what can be repaired if a person agreed. Exit 1 if something stays wrong, exit 3 if
/// a person must decide first. A dry run only says which repairs it would make.
pub fn run<R>(
    ui: &Ui,
    findings: &[Finding<R>],
    args: DoctorArgs,
    mut carry_out: impl FnMut(&R) -> Result<()>,
) -> Result<Exit> {
    let repairs = || findings.iter().filter(|finding| finding.repair.is_some());
    let must_repair = args.repair && !ui.is_dry() && repairs().next().is_some();
    if must_repair && !args.yes {
        repairs().filter_map(|finding| shown_fix(ui, finding)).for_each(|fix| ui.note(format!("would {fix}")));
        ui.require_yes(false, "Make these repairs?", "nothing was repaired")?;
    }
    let mut are_good = true;
    for finding in findings {
        let fixed = must_repair
            && finding.repair.as_ref().is_some_and(|repair| match carry_out(repair) {
                Ok(()) => true,
                Err(failure) => {
                    ui.problem(&failure);
                    false
                }
            });
        are_good &= finding.ok || fixed;
        print(ui, finding, fixed, args.repair);
    }
    // A dry run of a repair answers as the repair would.
    let would_be_good = findings.iter().all(|finding| finding.ok || finding.repair.is_some());
    Ok(if are_good || ui.is_dry() && args.repair && would_be_good { Exit::Done } else { Exit::No })
}

/// What mends a finding, as a phrase. A command of the tool is one to run.
fn shown_fix<R>(ui: &Ui, finding: &Finding<R>) -> Option<String> {
    let fix = finding.fix.as_deref()?;
    Some(if fix.starts_with(ui.tool()) { format!("run `{fix}`") } else { fix.to_owned() })
}

fn print<R>(ui: &Ui, finding: &Finding<R>, fixed: bool, wants_repair: bool) {
    let Finding { check, ok, detail, fix, repair } = finding;
    let fix = fix.as_deref();
    if ui.is_json() {
        return ui.json(&json!({ "check": check, "ok": ok, "detail": detail, "fix": fix, "fixed": fixed }));
    }
    let word = match (ok, fixed) {
        (true, _) => "ok",
        (false, true) => "fixed",
        (false, false) => "wrong",
    };
    let would = if ui.is_dry() && wants_repair && repair.is_some() { "would " } else { "" };
    let fix = shown_fix(ui, finding).filter(|_| !fixed).map(|fix| format!("; {would}{fix}")).unwrap_or_default();
    ui.line(format!("{word:6}  {check:9}  {}{}", printable(detail), printable(&fix)));
}
