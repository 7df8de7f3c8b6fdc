//! Whether `current.md` matches its events.

use shopfloor_core::error::{Exit, Result};

use super::{doubts, errors, join, summary};
use crate::event_time::EventTime;
use crate::facts::{CURRENT, Current, EVENTS, Events};
use crate::problem::{Level, Problem};
use crate::settings::{PageSettings, Tracked};
use crate::view::{self, View};

/// The answer of a check.
#[derive(Debug)]
pub struct CheckVerdict {
    pub exit: Exit,
    /// What is judged: the page, or the events alone if the page is not in git.
    pub judged: &'static str,
    /// Why `current.md` is not fresh; empty when it is.
    pub why: &'static str,
    /// How the page differs from the one that its events ask for.
    pub diff: Vec<String>,
    /// The fix, if a synthesis does not fix it.
    pub fix: Option<&'static str>,
    /// What is wrong with events.
    pub problems: Vec<Problem>,
    pub skipped: Vec<Problem>,
    pub event_count: usize,
}

/// Compares `current.md` with its events. Events that are malformed or from the future are errors; if it is strict, so
/// are those that probably mean something else.
pub fn check(
    now: EventTime,
    events: Events,
    current: Option<&Current>,
    page: &PageSettings,
    is_strict: bool,
) -> Result<CheckVerdict> {
    let join = join(&events)?;
    let event_count = join.events.len();
    let doubts = if is_strict { doubts(&events) } else { Vec::new() };
    let problems = [errors(now, &events, &join), doubts].concat();
    let footer = current.and_then(Current::footer);
    let is_foreign = current.is_some_and(|current| !current.is_blank()) && footer.is_none();
    let (mut exit, mut why, mut diff) = (Exit::Done, "", Vec::new());
    if page.tracked == Tracked::Events {
        // The page is made where it is read.
    } else if event_count == 0 && footer.is_some() && problems.is_empty() {
        // The events are gone, and a synthesis would not bring them back.
        (exit, why) = (Exit::No, "its events are gone");
    } else if event_count > 0 {
        let due = View::new(&join, page.session_window).render(events.skipped.len(), None);
        if let Some(different) = difference(current, &due)? {
            (exit, why, diff) = (Exit::No, different, Current::difference(current, &due));
        }
    }
    if let Some(first) = problems.first() {
        let is_doubtful = first.level == Level::Doubtful;
        (exit, why) = (Exit::Bad, if is_doubtful { "events that say something doubtful" } else { summary(&problems) });
    }
    let adopt = "run `ledger-synth --adopt` to turn it into an event, or `ledger-synth --force` to replace it";
    let restore = "restore them, for example from git";
    Ok(CheckVerdict {
        exit,
        judged: if page.tracked == Tracked::Page { CURRENT } else { EVENTS },
        why,
        diff,
        fix: if is_foreign { Some(adopt) } else { (event_count == 0 && footer.is_some()).then_some(restore) },
        problems,
        skipped: events.skipped,
        event_count,
    })
}

/// Why a page is not the one that its events ask for. None: it is.
fn difference(current: Option<&Current>, due: &str) -> Result<Option<&'static str>> {
    let Some(current) = current else { return Ok(Some("it is missing")) };
    if current.is(due) {
        return Ok(None);
    }
    Ok(Some(match current.footer() {
        _ if current.has_conflict_markers() => "git's conflict markers are in it",
        None if current.is_blank() => "it is empty",
        None => "it was not written by ledger-synth",
        Some(footer) if footer.is_newer() => return Err(view::newer_format(CURRENT, &footer)),
        Some(footer) if footer.is_older() => "an older ledger-synth wrote it",
        Some(footer) if !footer.is_intact => "it was edited by hand",
        Some(_) => "it does not match its events",
    }))
}
