//! `--check`: whether `current.md` matches its events, here or in a commit. Writes nothing and takes no lock.

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::git::{Git, Repo};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::answer::{SkippedAnswer, skipped};
use crate::counted::counted;
use crate::facts::gather::{GatherMode, gather, load_current};
use crate::facts::objects::Objects;
use crate::facts::{CURRENT, Current, Events, Ledger};
use crate::plan::check::{self as plan, CheckVerdict};
use crate::plan::join_gathered;
use crate::settings::{Effect, LedgerArgs, Settings};

#[derive(Serialize)]
struct CheckAnswer<'a> {
    fresh: bool,
    why: &'a str,
    diff: String,
    skipped: Vec<SkippedAnswer<'a>>,
    event_count: usize,
}

/// Check whether `current.md` matches its events, and write nothing: exit 0 yes, 1 no, 2 if events are malformed
///
/// `ledger-synth --check` is the same.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  ledger-synth check --tree HEAD")]
pub struct Args {
    /// Look at this commit, in git's objects
    #[arg(long, value_name = "REV")]
    tree: Option<String>,
}

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    check(ui, env, ledger_args, args.tree.as_deref())
}

/// Checks the ledger here, or in the commit `tree`.
pub fn check(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, tree: Option<&str>) -> Result<Exit> {
    let (verdict, events, name, fix) = match tree {
        Some(rev) => {
            let mut git = Git::find(env)?;
            let repo = git.discover()?;
            let settings = Settings::load(env, &repo, ledger_args)?;
            settings.warnings.iter().for_each(|warning| ui.warn(warning));
            let (verdict, events) = check_commit(env, &git, &repo, &settings, rev)?;
            (verdict, events, format!("{CURRENT} of {rev}"), "run `ledger-synth --yes --commit` on that branch")
        }
        None => {
            let ledger = Ledger::find(ui, env, ledger_args)?;
            let mode = GatherMode { effect: Effect::DryRun, may_resume: true, ..GatherMode::default() };
            let found = gather(&ledger, mode)?;
            let current = load_current(&ledger)?;
            let join = join_gathered(&found)?;
            let verdict = plan::check_join(env.now.into(), &found.events, &join, current.as_ref(), &ledger.page)?;
            drop(join);
            (verdict, found.events, ledger.dir.join(CURRENT).display().to_string(), "run `ledger-synth --yes`")
        }
    };
    if ui.is_json() {
        ui.json(&CheckAnswer {
            fresh: verdict.exit == Exit::Done,
            why: &verdict.why,
            diff: verdict.diff.join("\n"),
            skipped: skipped(&events),
            event_count: verdict.event_count,
        });
        return Ok(verdict.exit);
    }
    verdict.problems.iter().for_each(|problem| ui.warn(problem));
    verdict.diff.iter().for_each(|line| ui.line(printable(line)));
    match verdict.exit {
        Exit::Done => ui.line(format!("fresh {} ({})", printable(&name), counted(verdict.event_count, "event"))),
        Exit::Bad => ui.warn(format!(
            "{name}: {}; fix the files or move them away, or retract an event from the future with `ledger-synth retract FILE`",
            verdict.why
        )),
        _ => ui.warn(format!("{name} is stale: {}; {}", verdict.why, verdict.fix.unwrap_or(fix))),
    }
    Ok(verdict.exit)
}

/// Checks the ledger of a commit.
pub fn check_commit(
    env: &Env,
    git: &Git,
    repo: &Repo,
    settings: &Settings,
    rev: &str,
) -> Result<(CheckVerdict, Events)> {
    let objects = Objects::new(env, git, repo, settings)?;
    let commit = objects.commit(rev)?;
    let tree = objects.tree(&commit)?;
    let page = objects.page_settings(settings, objects.settings_blob(&commit)?.as_ref())?;
    let current = tree.current.map(|bytes| Current { bytes, stat: None });
    let verdict = plan::check(env.now.into(), &tree.events, current.as_ref(), &page)?;
    Ok((verdict, tree.events))
}
