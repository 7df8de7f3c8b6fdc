//! `doctor`: what is missing or wrong in the setup of a ledger.

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::hook;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::facts::clone::{DRIVER, DRIVER_NAME, git_setting, merge_attribute};
use crate::facts::gather::{load_events, stranded};
use crate::facts::{CURRENT, Current, EVENTS, Ledger};
use crate::plan::{EventProblems, Filter, join};
use crate::settings::LedgerArgs;
use crate::tool::TOOL;
use crate::view::{self, View};

/// Show what is missing or wrong, and what fixes it: exit 0 if nothing is wrong, 1 if something is
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  ledger-synth doctor --json | jq -r 'select(.ok | not).fix'")]
pub struct Args {}

/// One thing that was looked at, and the command that fixes it.
struct LedgerFinding {
    check: &'static str,
    ok: bool,
    detail: String,
    fix: &'static str,
}

#[derive(Serialize)]
struct DoctorAnswer<'a> {
    check: &'a str,
    ok: bool,
    detail: &'a str,
    fix: Option<&'a str>,
    fixed: bool,
}

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, ledger_args)?;
    let mut findings = look_at_events(env, &ledger)?;
    findings.extend(look_at_clone(&ledger)?);
    for LedgerFinding { check, ok, detail, fix } in &findings {
        if ui.is_json() {
            ui.json(&DoctorAnswer { check, ok: *ok, detail, fix: (!ok).then_some(*fix), fixed: false });
        } else {
            let hint = if *ok { String::new() } else { format!("; run `{fix}`") };
            ui.line(format!("{} {check}: {}{hint}", if *ok { "ok" } else { "wrong" }, printable(detail)));
        }
    }
    Ok(if findings.iter().all(|finding| finding.ok) { Exit::Done } else { Exit::No })
}

/// The events, `current.md` and the archive.
fn look_at_events(env: &Env, ledger: &Ledger) -> Result<Vec<LedgerFinding>> {
    let events = load_events(ledger)?;
    let snapshots = events.snapshots()?;
    let join = join(&events.records, &snapshots, &Filter::default());
    let mut findings = vec![LedgerFinding {
        check: "events",
        ok: true,
        detail: format!("{} in {}", join.sources.len(), ledger.dir.join(EVENTS).display()),
        fix: "ledger-synth add --now TEXT",
    }];
    let problems = EventProblems::new(env.now, &events, &join);
    let first = problems.lines().next();
    findings.push(LedgerFinding {
        check: "events are well-formed",
        ok: problems.is_empty(),
        detail: first.cloned().unwrap_or_else(|| "none is malformed or from the future".into()),
        fix: "ledger-synth lint",
    });
    let view = View::new(&join, ledger.settings.session_window);
    let current = ledger.current()?;
    let text = view.render(events.skipped.len(), None);
    let is_fresh =
        view.event_count == 0 || current.as_ref().and_then(Current::text).is_some_and(|old| view::is_same(old, &text));
    findings.push(LedgerFinding {
        check: "current.md",
        ok: is_fresh,
        detail: if is_fresh { "matches the events" } else { "does not match the events" }.into(),
        fix: "ledger-synth --no-confirm",
    });
    let stranded = stranded(ledger)?;
    let detail = stranded.first().map_or("every archived event counts".to_owned(), |path| {
        format!("{} archived events count nowhere, such as {}", stranded.len(), path.display())
    });
    findings.push(LedgerFinding { check: "archive", ok: stranded.is_empty(), detail, fix: "mv FILE events/" });
    Ok(findings)
}

/// The merge driver, the attributes and the hooks.
fn look_at_clone(ledger: &Ledger) -> Result<Vec<LedgerFinding>> {
    let (setting, command) = DRIVER[1];
    let driver = git_setting(ledger, setting)?;
    let mut findings = vec![LedgerFinding {
        check: "merge driver",
        ok: driver.as_deref() == Some(command),
        detail: driver.unwrap_or_else(|| "is not configured in this clone".into()),
        fix: "ledger-synth install",
    }];
    let path = ledger.in_tree().map(|prefix| format!("{prefix}/{CURRENT}"));
    let set = path.as_ref().map(|path| merge_attribute(ledger, path)).transpose()?.unwrap_or_default();
    findings.push(LedgerFinding {
        check: "attributes",
        ok: set == DRIVER_NAME,
        detail: format!("merge={set} for {}", path.unwrap_or_default()),
        fix: "ledger-synth install",
    });
    for name in hook::of(TOOL) {
        let status = hook::status(&ledger.repo, name)?;
        let ok = status.tools.iter().any(|tool| tool == TOOL);
        let detail = if ok { format!("{}", status.path.display()) } else { "is not installed".into() };
        findings.push(LedgerFinding { check: name, ok, detail, fix: "ledger-synth hook install" });
    }
    Ok(findings)
}
