//! Synthesis: joins the events and writes `current.md`.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::Ui;

use super::adopt::adopt_page;
use super::files;
use crate::facts::fingerprint::Fingerprint;
use crate::facts::gather::{has_left_out, load_events, load_page};
use crate::facts::{CURRENT, Current, EVENTS, Events, Ledger};
use crate::failure;
use crate::plan::{errors, join, misnamed, summary};
use crate::problem::{Level, Problem};
use crate::view::{self, View};

/// How often `current.md` may change while we replace it before we give up.
const TRIES: usize = 10;

/// Options for writing `current.md`.
#[derive(Clone, Debug, Default)]
pub struct SynthOptions {
    /// Problems of events are errors.
    pub is_strict: bool,
    /// Write the current time into the footer.
    pub stamp: bool,
    /// Replace a file that a person wrote.
    pub force: bool,
    /// Turn a file that a person wrote into an event, and replace it.
    pub adopt: bool,
    /// Skip reading the events when nothing changed since the last run.
    pub may_skip: bool,
}

/// What happened to `current.md`.
#[derive(Debug)]
pub enum SynthOutcome {
    /// There is no event that counts, so nothing was changed.
    Nothing,
    Unchanged,
    Written,
    /// In a dry run: `current.md` would be written, with this difference.
    Due(Vec<String>),
}

/// The outcome of a synthesis.
pub struct Synthesis {
    pub outcome: SynthOutcome,
    pub event_count: usize,
    /// None: nothing changed since the page was in order, so nothing was read.
    pub events: Option<Events>,
}

/// Brings `current.md` up to date for a command that answers something else, and returns whether it was written.
pub fn refresh(ui: &Ui, env: &Env, ledger: &Ledger) -> Result<bool> {
    let _lock = ledger.lock()?;
    refresh_locked(ui, env, ledger)
}

/// Like [`refresh`], for a caller that holds the lock.
pub fn refresh_locked(ui: &Ui, env: &Env, ledger: &Ledger) -> Result<bool> {
    let options = SynthOptions { may_skip: true, ..SynthOptions::default() };
    Ok(matches!(synthesise(ui, env, ledger, &options)?.outcome, SynthOutcome::Written))
}

/// Joins the events and writes `current.md`. The caller holds the lock, except in a dry run.
pub fn synthesise(ui: &Ui, env: &Env, ledger: &Ledger, options: &SynthOptions) -> Result<Synthesis> {
    let adopted = if options.adopt { adopt_page(ui, env, ledger, ui.is_dry())? } else { None };
    let fingerprint = if ui.is_dry() { None } else { Fingerprint::of(ledger, options.stamp)? };
    if let Some(count) = fingerprint.as_ref().filter(|_| options.may_skip).and_then(Fingerprint::known_count) {
        return Ok(Synthesis { outcome: SynthOutcome::Unchanged, event_count: count, events: None });
    }
    let mut events = load_events(ledger)?;
    events.files.extend(adopted);
    let join = join(&events)?;
    let (errors, misnamed) = (errors(env.now.into(), &events, &join), misnamed(&events));
    let problems = [errors.clone(), misnamed.clone()].concat();
    if options.is_strict {
        refuse_problems(&problems)?;
    }
    warn_of_problems(ui, &errors);
    misnamed.iter().for_each(|problem| ui.warn(format!("{}: {}", problem.path, problem.why)));
    let view = View::new(&join, ledger.page.session_window);
    let outcome = write(ui, env, ledger, options, &view, events.skipped.len())?;
    if let Some(fingerprint) = fingerprint
        && matches!(outcome, SynthOutcome::Unchanged)
        && problems.is_empty()
        // Nothing tells when the index changes, of which a sparse checkout shows a part.
        && !has_left_out(ledger)?
        // What was read is what the fingerprint is of.
        && Fingerprint::of(ledger, options.stamp)?.as_ref() == Some(&fingerprint)
    {
        fingerprint.remember(view.event_count);
    }
    Ok(Synthesis { outcome, event_count: view.event_count, events: Some(events) })
}

/// Fails with exit 2 if there are problems, for `--strict`.
pub fn refuse_problems(problems: &[Problem]) -> Result<()> {
    if problems.is_empty() {
        return Ok(());
    }
    Err(Failure::malformed(format!("there are {}; nothing was written", summary(problems)))
        .details(problems.iter().map(ToString::to_string))
        .hint("fix the files or move them away; retract an event from the future with `ledger-synth retract FILE`"))
}

/// Warns of malformed events and of events from the future.
pub fn warn_of_problems(ui: &Ui, problems: &[Problem]) {
    let (malformed, future): (Vec<_>, Vec<_>) = problems.iter().partition(|problem| problem.level == Level::Malformed);
    malformed.iter().for_each(|problem| ui.warn(format!("skipped {problem}")));
    if !malformed.is_empty() {
        ui.note("`ledger-synth migrate FILE` turns a file of another shape into an event");
    }
    future.iter().for_each(|problem| ui.warn(problem));
    if !future.is_empty() {
        ui.note("if a clock was wrong, retract the event with `ledger-synth retract FILE`");
    }
}

/// Writes `current.md` if its content changes.
fn write(
    ui: &Ui,
    env: &Env,
    ledger: &Ledger,
    options: &SynthOptions,
    view: &View<'_>,
    skipped: usize,
) -> Result<SynthOutcome> {
    if view.event_count == 0 {
        return Ok(SynthOutcome::Nothing);
    }
    if ledger.open(EVENTS)?.is_none() && !(options.adopt && ledger.current()?.is_some()) {
        // A sparse checkout leaves the whole ledger out. A page that becomes the first event is here.
        return Ok(SynthOutcome::Unchanged);
    }
    let page = view.render(skipped, options.stamp.then_some(env.now));
    for _ in 0..TRIES {
        let current = ledger.current()?;
        if current.as_ref().is_some_and(|current| current.is(&page)) {
            return Ok(SynthOutcome::Unchanged);
        }
        let unique = current.as_ref().map(|current| holds_more(ledger, current, options)).transpose()?;
        if ui.is_dry() {
            return Ok(SynthOutcome::Due(Current::difference(load_page(ledger)?.as_ref(), &page)));
        }
        if let Some(current) = current.as_ref().filter(|_| unique == Some(true)) {
            keep(ui, ledger, options, current)?;
        }
        if files::write_current(ledger, current.as_ref(), &page)? {
            return Ok(SynthOutcome::Written);
        }
    }
    Err(Failure::failed(format!("{} keeps changing while it is replaced", ledger.dir.join(CURRENT).display()))
        .hint("run the same command again"))
}

/// Keeps the content of a file that is about to be replaced.
fn keep(ui: &Ui, ledger: &Ledger, options: &SynthOptions, current: &Current) -> Result<()> {
    let (path, kept) = (ledger.dir.join(CURRENT), files::keep_edited(&ledger.repo, &current.bytes)?);
    // Nobody can say whether a page of the first tool was edited.
    let is_older = current.footer().is_some_and(|footer| footer.is_older());
    if options.adopt || options.force || is_older {
        ui.note(format!("the old content of {CURRENT} is kept in {}", kept.display()));
    } else {
        let why =
            if current.has_conflict_markers() { "had git's conflict markers in it" } else { "was edited by hand" };
        ui.warn(format!("{} {why}; its content is kept in {}", path.display(), kept.display()));
    }
    Ok(())
}

/// Whether the file that would be replaced contains text that exists nowhere else. Fails if the file must not be
/// replaced.
fn holds_more(ledger: &Ledger, current: &Current, options: &SynthOptions) -> Result<bool> {
    let path = ledger.dir.join(CURRENT);
    match current.footer() {
        Some(footer) if footer.is_newer() => Err(view::newer_format(&path.display().to_string(), &footer)),
        Some(footer) => Ok(!footer.is_intact),
        None if options.force || options.adopt || current.is_blank() => Ok(!current.is_blank()),
        None => Err(failure::EXISTS
            .with(Exit::Bad, format!("{} was not written by ledger-synth", path.display()))
            .hint("run `ledger-synth --adopt` to turn it into an event, or `ledger-synth --force` to replace it")),
    }
}
