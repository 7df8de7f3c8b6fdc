//! Whether `current.md` matches its events.

use shopfloor_core::error::{Exit, Result};

use super::EventProblems;
use crate::facts::{CURRENT, Events};
use crate::instant::EventTime;
use crate::join::Join;
use crate::page_settings::{PageFormat, PageSettings, Tracked};
use crate::view::{self, PageSummary, View};

/// The answer of a check.
#[derive(Debug)]
pub struct CheckVerdict {
    pub exit: Exit,
    /// Whether the page matches the events that count.
    pub is_fresh: bool,
    /// Whether there is a page in git to compare with its events.
    pub is_tracked: bool,
    /// Why `current.md` is not fresh; empty when it is.
    pub why: String,
    /// The format in which the page is to be written, if it is not what the events ask for.
    pub due: Option<PageFormat>,
    /// The fix, if a synthesis does not fix it.
    pub fix: Option<&'static str>,
    /// Malformed events, and events from the future.
    pub problems: Vec<String>,
    pub event_count: usize,
}

/// Compares `current.md` with the view of a join of its events.
pub fn check(
    now: EventTime,
    events: &Events,
    (join, view): (&Join<'_>, &View<'_>),
    current: Option<&PageSummary>,
    page: &PageSettings,
) -> Result<CheckVerdict> {
    let problems = EventProblems::new(now, events, join);
    let event_count = view.event_count;
    let is_foreign = current.is_some_and(|current| !current.is_blank && current.footer.is_none());
    let fix = is_foreign
        .then_some("run `ledger-synth --adopt` to turn it into an event, or `ledger-synth --force` to replace it");
    let has_footer = current.is_some_and(|current| current.footer.is_some());
    let fix = fix.or((event_count == 0 && has_footer).then_some("restore them, for example from git"));
    let (exit, why, due) = if page.tracked == Tracked::Events {
        // The page is made where it is read.
        (Exit::Done, "", None)
    } else if event_count == 0 && has_footer && problems.is_empty() {
        // The events are gone, and a synthesis would not bring them back.
        (Exit::No, "its events are gone", None)
    } else if event_count == 0 {
        (Exit::Done, "", None)
    } else {
        compare(current, view, page, events.skipped.len())?
    };
    let is_fresh = exit == Exit::Done;
    let (exit, why) = if problems.is_empty() { (exit, why) } else { (Exit::Bad, problems.summary()) };
    let problems = problems.lines().cloned().collect();
    Ok(CheckVerdict {
        exit,
        is_fresh,
        is_tracked: page.tracked == Tracked::Page,
        why: why.to_owned(),
        due,
        fix,
        problems,
        event_count,
    })
}

/// Compares a page with what its events say, in the page's own format unless somebody chose one.
fn compare(
    current: Option<&PageSummary>,
    view: &View<'_>,
    page: &PageSettings,
    skipped: usize,
) -> Result<(Exit, &'static str, Option<PageFormat>)> {
    let footer = current.and_then(|current| current.footer.as_ref());
    let own = footer.and_then(|footer| footer.format).filter(|_| !page.is_format_chosen);
    let format = own.unwrap_or(page.format);
    if current.is_some_and(|current| current.is(view.mark(format, skipped))) {
        return Ok((Exit::Done, "", None));
    }
    let why = match (current, footer) {
        (None, _) => "it is missing",
        (Some(current), None) if current.is_blank => "it is empty",
        (Some(_), None) => "it was not written by ledger-synth",
        (Some(_), Some(footer)) if footer.format.is_none() => return Err(view::newer_format(CURRENT, footer)),
        (Some(_), Some(footer)) if !footer.is_intact => "it was edited by hand",
        (Some(_), Some(_)) => "it does not match its events",
    };
    Ok((Exit::No, why, Some(format)))
}
