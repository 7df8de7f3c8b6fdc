//! Synthesis: joins the events and writes `current.md`.

use std::io;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::ui::Ui;

use super::files;
use crate::facts::gather::{GatherMode, Gathered, OldPage, gather};
use crate::facts::{CURRENT, EVENTS, Events, Ledger, SeenCurrent};
use crate::failure::LedgerFailure;
use crate::join::Join;
use crate::plan::{EventProblems, join_gathered, join_without};
use crate::settings::Effect;
use crate::view::{self, PageSummary, View};

/// How often `current.md` may change while we replace it before we give up.
const TRIES: usize = 10;

/// Options for writing `current.md`.
#[derive(Clone, Debug, Default)]
pub struct SynthOptions {
    pub effect: Effect,
    /// Problems of events are errors.
    pub is_strict: bool,
    /// Write the current time into the footer.
    pub stamp: bool,
    /// Replace a file that a person wrote.
    pub force: bool,
    /// Replace a file that a person wrote and that has been turned into an event.
    pub adopt: bool,
    /// Skip reading the events when nothing changed since the last run.
    pub may_be_quiet: bool,
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
pub enum Synthesis<'s> {
    /// Nothing changed since the last run; there are this many events.
    Quiet(usize),
    Done {
        view: &'s View<'s>,
        join: &'s Join<'s>,
        events: &'s Events,
        outcome: SynthOutcome,
    },
}

/// Brings `current.md` up to date for a command that answers something else, and returns whether it was written.
pub fn refresh(ui: &Ui, env: &Env, ledger: &Ledger) -> Result<bool> {
    let _lock = ledger.lock()?;
    refresh_locked(ui, env, ledger)
}

/// Like [`refresh`], for a caller that holds the lock.
pub fn refresh_locked(ui: &Ui, env: &Env, ledger: &Ledger) -> Result<bool> {
    let options = SynthOptions { may_be_quiet: true, ..SynthOptions::default() };
    synthesise(ui, env, ledger, &options, |synthesis| {
        matches!(synthesis, Synthesis::Done { outcome: SynthOutcome::Written, .. })
    })
}

/// Joins the events, writes `current.md` and passes the outcome to `then`. The caller holds the lock, except in a dry
/// run.
pub fn synthesise<T>(
    ui: &Ui,
    env: &Env,
    ledger: &Ledger,
    options: &SynthOptions,
    then: impl FnOnce(Synthesis<'_>) -> T,
) -> Result<T> {
    let SynthOptions { effect, stamp, may_be_quiet, .. } = *options;
    let found = gather(ledger, GatherMode { effect, stamp, may_be_quiet, may_resume: true })?;
    if let Some(count) = found.quiet {
        return Ok(then(Synthesis::Quiet(count)));
    }
    // Before the join, which needs much memory, as does a large page.
    let seen = ledger.seen_current()?;
    let join = join_gathered(&found)?;
    let Gathered { events, memory, .. } = &found;
    let problems = EventProblems::new(env.now.into(), events, &join);
    if problems.future.is_empty() {
        remember(&found, &join)?;
    }
    if options.is_strict {
        refuse_problems(&problems)?;
    }
    warn_of_problems(ui, &problems);
    let view = View::new(&join, ledger.page.session_window);
    let outcome = write(ui, env, ledger, options, &view, events.skipped.len(), seen)?;
    if matches!(outcome, SynthOutcome::Unchanged) && problems.is_empty() {
        memory.remember_quiet(view.event_count);
    }
    Ok(then(Synthesis::Done { view: &view, join: &join, events, outcome }))
}

/// Remembers the join for the next run, if that is due.
fn remember(found: &Gathered, join: &Join<'_>) -> Result<()> {
    match found.memory.late() {
        None => {}
        Some([]) => found.memory.remember_join(join),
        Some(late) => found.memory.remember_join(&join_without(found, late)?),
    }
    Ok(())
}

/// Fails with exit 2 if there are problems, for `--strict`.
pub fn refuse_problems(problems: &EventProblems) -> Result<()> {
    if problems.is_empty() {
        return Ok(());
    }
    Err(Failure::malformed(format!("there are {}; nothing was written", problems.summary()))
        .details(problems.lines().cloned())
        .hint("fix the files or move them away; retract an event from the future with `ledger-synth retract FILE`"))
}

/// Warns of malformed events and of events from the future.
pub fn warn_of_problems(ui: &Ui, problems: &EventProblems) {
    problems.malformed.iter().for_each(|problem| ui.warn(format!("skipped {problem}")));
    if !problems.malformed.is_empty() {
        ui.note("`ledger-synth migrate FILE` turns a file of another shape into an event");
    }
    problems.future.iter().for_each(|problem| ui.warn(problem));
    if !problems.future.is_empty() {
        ui.note("if a clock was wrong, retract the event with `ledger-synth retract FILE`");
    }
}

/// Writes `current.md` if its content changes. `seen` is what was there before the join.
fn write(
    ui: &Ui,
    env: &Env,
    ledger: &Ledger,
    options: &SynthOptions,
    view: &View<'_>,
    skipped: usize,
    mut seen: Option<SeenCurrent>,
) -> Result<SynthOutcome> {
    if view.event_count == 0 {
        return Ok(SynthOutcome::Nothing);
    }
    if ledger.open(EVENTS)?.is_none() {
        // A sparse checkout leaves the whole ledger out.
        return Ok(SynthOutcome::Unchanged);
    }
    let (format, stamp) = (ledger.page.format, options.stamp.then_some(env.now));
    let mark = view.mark(format, skipped);
    for _ in 0..TRIES {
        if seen.as_ref().is_some_and(|seen| is_fresh(ledger, &seen.summary, mark, view, skipped)) {
            return Ok(SynthOutcome::Unchanged);
        }
        let is_unique = seen.as_ref().map(|seen| holds_more(ledger, &seen.summary, options)).transpose()?;
        if options.effect.is_dry() {
            let old = OldPage::find(ledger)?;
            let difference = view.difference(&|pass_on| old.read(pass_on), format, skipped, stamp)?;
            return Ok(SynthOutcome::Due(difference));
        }
        let is_kept = match &seen {
            Some(seen) if is_unique == Some(true) => keep(ui, ledger, options, seen)?,
            _ => true,
        };
        let write = |out: &mut dyn io::Write| {
            let mut written = Ok(());
            view.render_to(format, skipped, stamp, &mut |piece| {
                if written.is_ok() {
                    written = out.write_all(piece.as_bytes());
                }
            });
            written
        };
        if is_kept && files::write_current(ledger, seen.as_ref(), write)? {
            return Ok(SynthOutcome::Written);
        }
        seen = ledger.seen_current()?;
    }
    Err(Failure::failed(format!("{} keeps changing while it is replaced", ledger.dir.join(CURRENT).display()))
        .hint("run the same command again"))
}

/// Keeps the content of a file that is about to be replaced. False: it has changed since it was seen.
fn keep(ui: &Ui, ledger: &Ledger, options: &SynthOptions, seen: &SeenCurrent) -> Result<bool> {
    let Some(current) = ledger.current()?.filter(|current| Digest::of(&current.bytes) == seen.digest) else {
        return Ok(false);
    };
    let kept = files::keep_edited(ledger, &current.bytes)?;
    if options.adopt || options.force {
        ui.note(format!("the old content of {CURRENT} is kept in {}", kept.display()));
    } else {
        ui.warn(format!(
            "{} was edited by hand; its content is kept in {}",
            ledger.dir.join(CURRENT).display(),
            kept.display()
        ));
    }
    Ok(true)
}

/// Whether a page need not be written: it is the same as the one with this mark, or a page of an older format that says
/// the same while nobody chose a format.
fn is_fresh(ledger: &Ledger, page: &PageSummary, mark: Digest, view: &View<'_>, skipped: usize) -> bool {
    let older = || {
        let format = page.footer.as_ref()?.format.filter(|format| *format < ledger.page.format)?;
        Some(!ledger.page.is_format_chosen && page.is(view.mark(format, skipped)))
    };
    page.is(mark) || older().unwrap_or(false)
}

/// Whether the file that would be replaced contains text that exists nowhere else. Fails if the file must not be
/// replaced.
fn holds_more(ledger: &Ledger, page: &PageSummary, options: &SynthOptions) -> Result<bool> {
    let path = ledger.dir.join(CURRENT);
    match &page.footer {
        Some(footer) if footer.format.is_none() => Err(view::newer_format(&path.display().to_string(), footer)),
        Some(footer) => Ok(!footer.is_intact),
        None if options.force || options.adopt || page.is_blank => Ok(!page.is_blank),
        None => Err(LedgerFailure::Exists
            .with(Exit::Bad, format!("{} was not written by ledger-synth", path.display()))
            .hint("run `ledger-synth --adopt` to turn it into an event, or `ledger-synth --force` to replace it")),
    }
}
