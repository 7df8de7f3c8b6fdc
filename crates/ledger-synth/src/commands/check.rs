//! `--check`: whether `current.md` matches its events, here or in a commit. Writes nothing and takes no lock.

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::git::{Git, Repo};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::answer::{self, SkippedAnswer};
use crate::counted::counted;
use crate::facts::gather::{GatherMode, OldPage, gather};
use crate::facts::objects::Objects;
use crate::facts::{CURRENT, EVENTS, Events, Ledger, Skipped};
use crate::join::Join;
use crate::page_settings::PageSettings;
use crate::plan::check::{self as plan, CheckVerdict};
use crate::plan::{Filter, join, join_gathered};
use crate::settings::{Effect, LedgerArgs, Settings};
use crate::view::View;

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
    let (checked, name, fix) = match tree {
        Some(rev) => {
            let mut git = Git::find(env)?;
            let repo = git.discover()?;
            let settings = Settings::load(env, &repo, ledger_args)?;
            settings.warnings.iter().for_each(|warning| ui.warn(warning));
            let checked = check_commit(env, &git, &repo, &settings, rev)?;
            let name = format!("{} of {rev}", checked.judged());
            (checked, name, "run `ledger-synth --yes --commit` on that branch")
        }
        None => {
            let ledger = Ledger::find(ui, env, ledger_args)?;
            let mode = GatherMode { effect: Effect::DryRun, may_resume: true, ..GatherMode::default() };
            let found = gather(&ledger, mode)?;
            let old = OldPage::find(&ledger)?;
            let checked = CheckedPage::new(env, &found.events, &join_gathered(&found)?, &old, &ledger.page)?;
            let name = ledger.dir.join(checked.judged()).display().to_string();
            (checked, name, "run `ledger-synth --yes`")
        }
    };
    let CheckedPage { verdict, diff, skipped } = checked;
    if ui.is_json() {
        ui.json(&CheckAnswer {
            fresh: verdict.exit == Exit::Done,
            why: &verdict.why,
            diff: diff.join("\n"),
            skipped: answer::skipped(&skipped),
            event_count: verdict.event_count,
        });
        return Ok(verdict.exit);
    }
    verdict.problems.iter().for_each(|problem| ui.warn(problem));
    diff.iter().for_each(|line| ui.line(printable(line)));
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

/// What a check found.
pub struct CheckedPage {
    pub verdict: CheckVerdict,
    /// How the page differs from the one that its events ask for.
    pub diff: Vec<String>,
    skipped: Vec<Skipped>,
}

impl CheckedPage {
    /// What is judged: the page, or the events alone if the page is not in git.
    fn judged(&self) -> &'static str {
        if self.verdict.is_tracked { CURRENT } else { EVENTS }
    }

    fn new(env: &Env, events: &Events, join: &Join<'_>, old: &OldPage, page: &PageSettings) -> Result<CheckedPage> {
        let view = View::new(join, page.session_window);
        let verdict = plan::check(env.now.into(), events, (join, &view), old.summary()?.as_ref(), page)?;
        let difference = |format| view.difference(&|pass_on| old.read(pass_on), format, events.skipped.len(), None);
        let diff = verdict.due.map(difference).transpose()?.unwrap_or_default();
        Ok(CheckedPage { verdict, diff, skipped: events.skipped.clone() })
    }
}

/// Checks the ledger of a commit.
pub fn check_commit(env: &Env, git: &Git, repo: &Repo, settings: &Settings, rev: &str) -> Result<CheckedPage> {
    let objects = Objects::new(env, git, repo, settings)?;
    let commit = objects.commit(rev)?;
    let tree = objects.tree(&commit)?;
    let page = objects.page_settings(settings, objects.settings_blob(&commit)?.as_ref())?;
    let old = tree.current.map_or(OldPage::Missing, OldPage::Bytes);
    let snapshots = tree.events.snapshots()?;
    let join = join(&tree.events.records, &snapshots, &Filter::default());
    CheckedPage::new(env, &tree.events, &join, &old, &page)
}
