//! `--check`: whether `current.md` is what the events come to, here or in a commit. Writes nothing, takes no lock.

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::{Git, Repo};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::synth;
use crate::cli::{Place, SynthArgs};
use crate::facts::gather::everything;
use crate::facts::tree::Objects;
use crate::facts::{CURRENT, Current, Events, Ledger};
use crate::plan::Filter;
use crate::settings::Settings;
use crate::view::{self, FORMAT, View};

/// What a check comes to.
#[derive(Debug)]
pub struct Verdict {
    pub exit: Exit,
    /// Why it is not fresh; empty when it is.
    pub why: String,
    pub diff: Vec<String>,
    /// What mends it, where that is not to synthesise.
    pub fix: Option<&'static str>,
    /// Malformed events, and such from the future.
    pub problems: Vec<String>,
    pub event_count: usize,
}

pub fn run(ui: &Ui, env: &Env, place: &Place, args: &SynthArgs) -> Result<Exit> {
    let (verdict, events, name, fix) = match &args.tree {
        Some(rev) => {
            let mut git = Git::find(env)?;
            let repo = git.discover()?;
            let settings = Settings::load(env, &repo, place)?;
            settings.warnings.iter().for_each(|warning| ui.warn(warning));
            let (verdict, events) = of_commit(env, &git, &repo, &settings, rev)?;
            (verdict, events, format!("{CURRENT} of {rev}"), "run `ledger-synth --no-confirm --commit` on that branch")
        }
        None => {
            let ledger = Ledger::find(ui, env, place)?;
            let events = everything(&ledger)?;
            let current = ledger.current()?;
            let verdict = judge(env, &events, current.as_ref(), ledger.settings.session_window)?;
            (verdict, events, ledger.dir.join(CURRENT).display().to_string(), "run `ledger-synth --no-confirm`")
        }
    };
    if ui.is_json() {
        ui.json(&json!({
            "fresh": verdict.exit == Exit::Done, "why": verdict.why, "diff": verdict.diff.join("\n"),
            "skipped": synth::skipped(&events), "event_count": verdict.event_count
        }));
        return Ok(verdict.exit);
    }
    verdict.problems.iter().for_each(|problem| ui.warn(problem));
    verdict.diff.iter().for_each(|line| ui.line(printable(line)));
    match verdict.exit {
        Exit::Done => ui.line(format!("fresh {} ({})", printable(&name), synth::counted(verdict.event_count, "event"))),
        Exit::Bad => {
            ui.warn(format!("{name}: {}; mend the files or move them away, or disown an event from the future with `ledger-synth retract FILE`",
            verdict.why))
        }
        _ => ui.warn(format!("{name} is stale: {}; {}", verdict.why, verdict.fix.unwrap_or(fix))),
    }
    Ok(verdict.exit)
}

/// The verdict on what a commit holds.
pub fn of_commit(env: &Env, git: &Git, repo: &Repo, settings: &Settings, rev: &str) -> Result<(Verdict, Events)> {
    let objects = Objects::of(env, git, repo, settings)?;
    let tree = objects.tree(&objects.commit(rev)?)?;
    let current = tree.current.map(|bytes| Current { bytes, stat: None });
    let verdict = judge(env, &tree.events, current.as_ref(), settings.session_window)?;
    Ok((verdict, tree.events))
}

fn judge(
    env: &Env,
    events: &Events,
    current: Option<&Current>,
    window: Option<jiff::SignedDuration>,
) -> Result<Verdict> {
    let snapshots = events.snapshots()?;
    let join = events.join(&snapshots, &Filter::default());
    let view = View::of(&join, window);
    let problems = synth::problems(env, events, &join);
    let event_count = view.event_count;
    let is_foreign = current.is_some_and(|current| {
        !current.bytes.trim_ascii().is_empty() && current.text().and_then(view::footer).is_none()
    });
    let fix = is_foreign
        .then_some("run `ledger-synth --adopt` to turn it into an event, or `ledger-synth --force` to replace it");
    let has_footer = current.and_then(Current::text).and_then(view::footer).is_some();
    let fix = fix.or((event_count == 0 && has_footer).then_some("restore them, for example from git"));
    let (exit, why, diff) = if event_count == 0 && has_footer && problems.is_empty() {
        // Whatever it was made of is gone: synthesising would not bring it back.
        (Exit::No, "there are no events any more".to_owned(), Vec::new())
    } else if event_count == 0 {
        (Exit::Done, String::new(), Vec::new())
    } else {
        compare(current, &view.render(events.skipped.len(), None))?
    };
    if problems.is_empty() {
        return Ok(Verdict { exit, why, diff, fix, problems, event_count });
    }
    let what = if events.skipped.is_empty() { "events from the future" } else { "malformed events" };
    Ok(Verdict { exit: Exit::Bad, why: what.to_owned(), diff, fix, problems, event_count })
}

fn compare(current: Option<&Current>, text: &str) -> Result<(Exit, String, Vec<String>)> {
    let old = current.and_then(Current::text);
    if old.is_some_and(|old| view::is_same(old, text)) {
        return Ok((Exit::Done, String::new(), Vec::new()));
    }
    let why = match old.map(view::footer) {
        None if current.is_none() => "it is missing",
        Some(None) if old.is_some_and(|old| old.trim().is_empty()) => "it is empty",
        None | Some(None) => "it was not written by ledger-synth",
        Some(Some(footer)) if footer.format > FORMAT => {
            return Err(Failure::malformed(format!(
                "{CURRENT} has format {}, written by a newer ledger-synth",
                footer.format
            ))
            .hint("update shopfloor: `cargo xtask install` in its checkout"));
        }
        Some(Some(footer)) if !footer.is_intact => "it was edited by hand",
        Some(Some(_)) => "it is not what the events come to",
    };
    Ok((Exit::No, why.to_owned(), synth::difference(current, text)))
}
