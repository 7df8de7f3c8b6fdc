//! The command without a name: read the events, join them, write `current.md`.

use serde_json::Value;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::synth_args::Args;
use super::{archive, check, filtered_view, output};
use crate::apply::adopt::adopt_page;
use crate::apply::commit::{self, Committed};
use crate::apply::synthesis::{SynthOptions, SynthOutcome, Synthesis, synthesise};
use crate::counted::counted;
use crate::facts::gather::{load_events, load_page};
use crate::facts::{CURRENT, Current, EVENTS, Ledger};
use crate::failure;
use crate::plan::{errors, join};
use crate::settings::LedgerArgs;
use crate::view::{self, View};

/// How many events a preview shows.
const PREVIEWED: usize = 10;

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    if args.tree.is_some() && !args.check {
        return Err(Failure::usage("--tree needs --check").hint("`ledger-synth check --tree REV` is the same"));
    }
    if args.check {
        return check::run(ui, env, ledger_args, &check::Args { tree: args.tree.clone(), strict: args.strict });
    }
    let ledger = Ledger::find(ui, env, ledger_args)?;
    let is_dry = ui.is_dry();
    if args.is_partial() {
        return filtered_view::run(ui, env, &ledger, args);
    }
    if args.archive && !args.yes && !is_dry && !ui.can_ask() {
        return Err(failure::CONFIRM
            .with(Exit::Decide, "archiving needs confirmation, and there is no terminal")
            .hint("run `ledger-synth --archive --yes`, or `ledger-synth archive`"));
    }
    if args.commit {
        commit::refuse_hopeless(&ledger, args.archive)?;
    }
    let asks = ui.can_ask() && !args.yes && !ui.is_json() && !is_dry;
    let Args { strict, stamp, force, adopt, .. } = *args;
    let options = SynthOptions { is_strict: strict, stamp, force, adopt, may_skip: !ui.is_json() };
    if asks && !confirm(ui, env, &ledger, &options)? {
        ui.note("nothing was written");
        return Ok(Exit::Decide);
    }
    let (printed, changes) = {
        let _lock = if is_dry { None } else { Some(ledger.lock()?) };
        let printed = print(ui, env, &ledger, &options)?;
        let is_archiving = args.archive || (asks && printed.has_events && ui.confirm("archive the events now?"));
        let mut changes: Vec<_> = printed.is_due.then(|| (CURRENT.to_owned(), true)).into_iter().collect();
        if is_archiving && printed.has_events {
            let archived = archive::archive(ui, env, &ledger, None)?;
            archive::print(ui, &archived);
            changes.extend(archived.changes);
        }
        (printed, changes)
    };
    let is_committing = printed.has_events && (args.commit || (asks && ui.confirm("commit the ledger?")));
    let committed = if is_committing { commit(ui, env, &ledger, &changes) } else { Ok(()) };
    let Some(answer) = printed.answer else { return committed.map(|()| Exit::Done) };
    Ok(output::print(ui, answer, committed))
}

/// Shows which events would be merged and what would change, and asks whether to go on.
fn confirm(ui: &Ui, env: &Env, ledger: &Ledger, options: &SynthOptions) -> Result<bool> {
    let mut events = load_events(ledger)?;
    events.files.extend(if options.adopt { adopt_page(ui, env, ledger, true)? } else { None });
    let join = join(&events)?;
    let newest = join.newest_first();
    if newest.is_empty() {
        return Ok(true);
    }
    let mut lines = vec![format!("{}, the newest first:", counted(newest.len(), "event"))];
    lines.extend(newest.iter().take(PREVIEWED).map(|event| view::event_line(event)));
    if newest.len() > PREVIEWED {
        lines.push(format!("… {} more", newest.len() - PREVIEWED));
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

/// Commits the ledger's files and prints the commit. A dry run has made none of these changes.
fn commit(ui: &Ui, env: &Env, ledger: &Ledger, changes: &[(String, bool)]) -> Result<()> {
    let files = |count: usize| counted(count, "file");
    let say = |line: String| if ui.is_json() { ui.note(line) } else { ui.line(line) };
    match commit::commit(env, ledger, ui.is_dry().then_some(changes))? {
        Committed::Nothing => ui.detail("everything is committed already"),
        Committed::TooSoon => ui.note(commit::TOO_SOON),
        Committed::Files(count, None) => say(format!("would commit {}", files(count))),
        Committed::Files(count, Some(sha)) => say(format!("committed {sha} ({})", files(count))),
    }
    Ok(())
}

/// What a synthesis printed, or with `--json` the answer, to which what follows may add an error.
struct Printed {
    has_events: bool,
    /// In a dry run: `current.md` would be written.
    is_due: bool,
    answer: Option<Value>,
}

/// Synthesises and prints the outcome. The caller holds the lock, except in a dry run.
fn print(ui: &Ui, env: &Env, ledger: &Ledger, options: &SynthOptions) -> Result<Printed> {
    let Synthesis { outcome, event_count, events } = synthesise(ui, env, ledger, options)?;
    let (has_events, is_due) = (event_count > 0, matches!(outcome, SynthOutcome::Due(_)));
    let path = ledger.dir.join(CURRENT).to_string_lossy().into_owned();
    if let Some(events) = events.filter(|_| ui.is_json()) {
        let join = join(&events)?;
        let view = View::new(&join, ledger.page.session_window);
        let is_written = matches!(outcome, SynthOutcome::Written);
        return Ok(Printed { has_events, is_due, answer: Some(output::ledger(&view, &events, &path, is_written)) });
    }
    let shown = |word: &str| ui.line(format!("{word} {} ({})", printable(&path), counted(event_count, "event")));
    match outcome {
        SynthOutcome::Nothing => {
            ui.detail(format!("there are no events in {}; nothing was touched", ledger.dir.join(EVENTS).display()));
        }
        SynthOutcome::Unchanged => ui.detail(format!("{path} is up to date ({})", counted(event_count, "event"))),
        SynthOutcome::Due(difference) => {
            shown("would write");
            difference.iter().for_each(|line| ui.line(printable(line)));
        }
        SynthOutcome::Written => shown("wrote"),
    }
    Ok(Printed { has_events, is_due, answer: None })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct SynthLine {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn every_flag_is_named() {
        let command = <Args as clap::Args>::augment_args(clap::Command::new("x"));
        for arg in command.get_arguments() {
            let flag = format!("--{}", arg.get_long().expect("a flag"));
            let value = if arg.get_action().takes_values() { Some("x") } else { None };
            let line = SynthLine::parse_from(["x", &flag].into_iter().chain(value));
            assert_eq!(line.args.first_flag(), Some(flag.as_str()));
        }
    }
}
