//! `check`: whether `current.md` matches its events, here or in a commit, and what is wrong with events. Writes
//! nothing and takes no lock. `--check` and `lint` are other ways to ask.

use std::path::PathBuf;

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::{Git, Repo};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::counted::counted;
use crate::facts::gather::{load_events, load_page};
use crate::facts::git_setup::is_set_up;
use crate::facts::objects::{CommitTree, Objects};
use crate::facts::{CURRENT, Events, Ledger, event_dir};
use crate::failure;
use crate::plan::check::{self as plan, CheckVerdict};
use crate::plan::{doubts, errors, join};
use crate::settings::{DEFAULT_ROOT, LedgerArgs, PageSettings, Settings, Tracked};

/// Check whether `current.md` matches its events, and write nothing: exit 0 yes, 1 no, 2 if events are malformed
///
/// `ledger-synth --check` is the same.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  ledger-synth check --tree HEAD")]
pub struct Args {
    /// Look at this commit, in git's objects
    #[arg(long, value_name = "REV")]
    pub tree: Option<String>,
    /// Exit 2 also for what `lint` warns of, such as a section with a misspelt name
    #[arg(long)]
    pub strict: bool,
}

/// Check event files: exit 0 if all are well-formed, 2 if not
///
/// `ledger-synth check` looks at the events of the ledger too, and at its page.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  ledger-synth lint thoughts/shared/handoffs/events/*.md")]
pub struct LintArgs {
    /// Event files; by default all those of the ledger
    files: Vec<PathBuf>,
}

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    let (verdict, place, fix) = match &args.tree {
        Some(rev) => {
            let (git, repo) = Git::here(env)?;
            let settings = Settings::load(env, &repo, ledger_args)?;
            settings.warnings.iter().for_each(|warning| ui.warn(warning));
            let verdict = check_commit(env, &git, &repo, &settings, rev, args.strict)?;
            let place = format!("{} of {rev}", verdict.judged);
            (verdict, place, "run `ledger-synth --yes --commit` on that branch")
        }
        None => match Ledger::find(ui, env, ledger_args) {
            // The link is somebody's own, for other notes.
            Err(failure) if failure::SYMLINK.is_kind_of(&failure) && !is_set_up(env)? => {
                ui.note(format!("no ledger is set up in this repository; {failure}"));
                let page = PageSettings { session_window: None, tracked: Tracked::Page };
                let verdict = plan::check(env.now.into(), Events::default(), None, &page, args.strict)?;
                (verdict, DEFAULT_ROOT.to_owned(), "")
            }
            found => {
                let ledger = found?;
                let (events, current) = (load_events(&ledger)?, load_page(&ledger)?);
                let verdict = plan::check(env.now.into(), events, current.as_ref(), &ledger.page, args.strict)?;
                let place = ledger.dir.join(verdict.judged).display().to_string();
                (verdict, place, "run `ledger-synth --yes`")
            }
        },
    };
    let CheckVerdict { exit, why, ref diff, event_count, .. } = verdict;
    if ui.is_json() {
        ui.json(&json!({
            "fresh": exit == Exit::Done,
            "why": why,
            "diff": diff.join("\n"),
            "skipped": verdict.skipped,
            "event_count": event_count,
        }));
        return Ok(exit);
    }
    verdict.problems.iter().for_each(|problem| ui.warn(problem));
    diff.iter().for_each(|line| ui.line(printable(line)));
    match exit {
        Exit::Done => ui.line(format!("fresh {} ({})", printable(&place), counted(event_count, "event"))),
        Exit::Bad => ui.warn(format!(
            "{place}: {why}; fix the files or move them away, or retract an event from the future with `ledger-synth retract FILE`"
        )),
        _ => ui.warn(format!("{place} is stale: {why}; {}", verdict.fix.unwrap_or(fix))),
    }
    Ok(exit)
}

/// Checks the ledger of a commit.
pub fn check_commit(
    env: &Env,
    git: &Git,
    repo: &Repo,
    settings: &Settings,
    rev: &str,
    is_strict: bool,
) -> Result<CheckVerdict> {
    let objects = Objects::new(env, git, repo, settings)?;
    let commit = objects.commit(rev)?;
    let CommitTree { events, current } = objects.read(&objects.blobs(&commit)?)?;
    let page = objects.page_settings(Some(&commit))?;
    plan::check(env.now.into(), events, current.as_ref(), &page, is_strict)
}

/// `lint`: checks the events of the ledger, or these files, and no page.
pub fn lint(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &LintArgs) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, ledger_args)?;
    let events = if args.files.is_empty() { load_events(&ledger)? } else { named(env, &args.files)? };
    let errors = errors(env.now.into(), &events, &join(&events)?);
    for problem in errors.iter().chain(&doubts(&events)) {
        ui.json_or_line(problem, printable(&problem.to_string()));
    }
    Ok(if errors.is_empty() { Exit::Done } else { Exit::Bad })
}

fn named(env: &Env, files: &[PathBuf]) -> Result<Events> {
    let mut paths = Vec::new();
    for file in files {
        let path = env.cwd.join(file);
        if path.symlink_metadata().is_err() {
            return Err(Failure::not_found(format!("there is no file {}", path.display()))
                .hint("run `ledger-synth lint` without a file to check all events"));
        }
        // A glob over the whole ledger matches `current.md` too, but means its events.
        if path.file_name().is_some_and(|name| name != CURRENT) {
            paths.push(path);
        }
    }
    event_dir::files(&paths)
}
