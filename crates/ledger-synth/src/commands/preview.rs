//! The preview of a synthesis on a terminal.

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::ui::Ui;

use crate::apply::synthesis::SynthOptions;
use crate::difference::difference;
use crate::facts::gather::load_events;
use crate::facts::{Current, Ledger};
use crate::plan::{EventProblems, Filter, join};
use crate::view::{self, View};

/// How many events are shown.
const EVENTS_SHOWN: usize = 10;

/// Shows which events would be merged and what would change, and asks whether to go on.
pub fn confirm(ui: &Ui, env: &Env, ledger: &Ledger, options: &SynthOptions) -> Result<bool> {
    let Some((mut lines, text)) = described(env, ledger, options)? else { return Ok(true) };
    let current = ledger.current()?;
    let is_same = current.as_ref().and_then(Current::text).is_some_and(|old| view::is_same(old, &text));
    if is_same {
        lines.push("current.md matches these events".into());
    } else {
        lines.extend(difference(current.as_ref().map(|current| current.bytes.as_slice()), &text));
    }
    ui.show(&lines);
    Ok(is_same || ui.confirm("write current.md?"))
}

/// The events in lines, and the page that would be written. None: there is nothing to write.
fn described(env: &Env, ledger: &Ledger, options: &SynthOptions) -> Result<Option<(Vec<String>, String)>> {
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
    let text = view.render(ledger.page.format, events.skipped.len(), options.stamp.then_some(env.now));
    Ok(Some((lines, text)))
}
