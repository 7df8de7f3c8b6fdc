//! The preview of a synthesis on a terminal.

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::ui::Ui;

use crate::apply::synthesis::SynthOptions;
use crate::facts::Ledger;
use crate::facts::gather::{OldPage, load_events};
use crate::plan::{EventProblems, Filter, join};
use crate::view::{self, View};

/// How many events are shown.
const EVENTS_SHOWN: usize = 10;

/// What is shown before the question.
struct Preview {
    /// The events, and what is wrong with them.
    events: Vec<String>,
    /// What would change on the page. None: nothing.
    difference: Option<Vec<String>>,
}

/// Shows which events would be merged and what would change, and asks whether to go on.
pub fn confirm(ui: &Ui, env: &Env, ledger: &Ledger, options: &SynthOptions) -> Result<bool> {
    let Some(Preview { mut events, difference }) = preview(env, ledger, options)? else { return Ok(true) };
    let is_same = difference.is_none();
    events.extend(difference.unwrap_or_else(|| vec!["current.md matches these events".into()]));
    ui.show(&events);
    Ok(is_same || ui.confirm("write current.md?"))
}

/// None: there is nothing to write.
fn preview(env: &Env, ledger: &Ledger, options: &SynthOptions) -> Result<Option<Preview>> {
    let events = load_events(ledger)?;
    let snapshots = events.snapshots()?;
    let join = join(&events.records, &snapshots, &Filter::default());
    let view = View::new(&join, ledger.page.session_window);
    if view.event_count == 0 {
        return Ok(None);
    }
    let sources = join.newest_first();
    let mut lines = vec![format!("{} events, the newest first:", sources.len())];
    lines.extend(sources.iter().take(EVENTS_SHOWN).map(|source| view::source_line(source)));
    if sources.len() > EVENTS_SHOWN {
        lines.push(format!("… {} more", sources.len() - EVENTS_SHOWN));
    }
    let problems = EventProblems::new(env.now.into(), &events, &join);
    lines.extend(problems.lines().map(|problem| format!("wrong: {problem}")));
    let (format, skipped) = (ledger.page.format, events.skipped.len());
    let current = ledger.seen_current()?;
    let is_same = current.is_some_and(|current| current.summary.is(view.mark(format, skipped)));
    let change = || {
        let (old, stamp) = (OldPage::find(ledger)?, options.stamp.then_some(env.now));
        view.difference(&|pass_on| old.read(pass_on), format, skipped, stamp)
    };
    let difference = (!is_same).then(change).transpose()?;
    Ok(Some(Preview { events: lines, difference }))
}
