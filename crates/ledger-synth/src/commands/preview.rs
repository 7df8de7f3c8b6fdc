//! The preview of a synthesis on a terminal.

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::ui::Ui;

use crate::apply::synthesis::SynthOptions;
use crate::counted::counted;
use crate::facts::gather::{load_events, load_page};
use crate::facts::{Current, Ledger};
use crate::plan::{errors, join};
use crate::view::{self, View};

/// How many events are shown.
const EVENTS_SHOWN: usize = 10;

/// Shows which events would be merged and what would change, and asks whether to go on.
pub fn confirm(ui: &Ui, env: &Env, ledger: &Ledger, options: &SynthOptions) -> Result<bool> {
    let events = load_events(ledger)?;
    let join = join(&events)?;
    let newest = join.newest_first();
    if newest.is_empty() {
        return Ok(true);
    }
    let mut lines = vec![format!("{}, the newest first:", counted(newest.len(), "event"))];
    lines.extend(newest.iter().take(EVENTS_SHOWN).map(|event| view::event_line(event)));
    if newest.len() > EVENTS_SHOWN {
        lines.push(format!("… {} more", newest.len() - EVENTS_SHOWN));
    }
    lines.extend(errors(env.now.into(), &events, &join).iter().map(|problem| format!("wrong: {problem}")));
    let view = View::new(&join, ledger.page.session_window);
    let page = view.render(events.skipped.len(), options.stamp.then_some(env.now));
    let is_same = ledger.current()?.is_some_and(|current| current.is(&page));
    match is_same {
        true => lines.push("current.md matches these events".to_owned()),
        false => lines.extend(Current::difference(load_page(ledger)?.as_ref(), &page)),
    }
    ui.show(&lines);
    Ok(is_same || ui.confirm("write current.md?"))
}
