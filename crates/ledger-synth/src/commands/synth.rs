//! The command without a name: read the events, join them, write `current.md`.

use std::path::PathBuf;

use serde_json::Value;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::answer::{Destination, LedgerAnswer, WithError};
use super::partial::{self, PartialView};
use super::{archive, check, preview};
use crate::apply::adopt::adopt_page;
use crate::apply::commit::{self, Committed};
use crate::apply::synthesis::{SynthOptions, SynthOutcome, Synthesis, synthesise};
use crate::counted::counted;
use crate::facts::{CURRENT, EVENTS, Ledger};
use crate::failure::LedgerFailure;
use crate::plan::Filter;
use crate::settings::{Effect, LedgerArgs};

/// What to synthesise, and what to do with it.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Do not ask for confirmation
    #[arg(long, visible_alias = "no-confirm")]
    pub yes: bool,
    /// Read these files instead of `events/`, and print the result unless --output is given
    #[arg(long, value_name = "GLOB")]
    pub input: Vec<String>,
    /// Fold all events into one snapshot and move them to `archive/`; `current.md` stays as it is
    #[arg(long)]
    pub archive: bool,
    /// Commit the ledger's files, and nothing else
    #[arg(long)]
    pub commit: bool,
    /// Check whether `current.md` matches its events, and write nothing: 0 if it does, 1 if not, 2 if events are
    /// malformed
    #[arg(long)]
    pub check: bool,
    /// With --check: look at this commit, in git's objects
    #[arg(long, value_name = "REV")]
    pub tree: Option<String>,
    /// Fail (exit 2) on malformed events and events from the future, instead of warning of them
    #[arg(long)]
    pub strict: bool,
    /// Write the current time into `generated_at`
    #[arg(long)]
    pub stamp: bool,
    /// Write to this file instead of `current.md`; `-` prints
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Print the ledger of this branch's events only
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
    /// Print the ledger of this agent's events only
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// Print the ledger of the events of all worktrees together
    #[arg(long)]
    pub all_worktrees: bool,
    /// Replace a `current.md` that a person wrote
    #[arg(long, conflicts_with = "adopt")]
    pub force: bool,
    /// Turn a `current.md` that a person wrote into an event first
    #[arg(long)]
    pub adopt: bool,
}

impl Args {
    /// The first flag that is given.
    pub fn first_flag(&self) -> Option<&'static str> {
        let Args { input, tree, output, branch, agent, .. } = self;
        let Args { yes, archive, commit, check, strict, stamp, all_worktrees, force, adopt, .. } = *self;
        let flags = [
            ("--yes", yes),
            ("--input", !input.is_empty()),
            ("--archive", archive),
            ("--commit", commit),
            ("--check", check),
            ("--tree", tree.is_some()),
            ("--strict", strict),
            ("--stamp", stamp),
            ("--output", output.is_some()),
            ("--branch", branch.is_some()),
            ("--agent", agent.is_some()),
            ("--all-worktrees", all_worktrees),
            ("--force", force),
            ("--adopt", adopt),
        ];
        flags.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
    }

    fn partial(&self) -> PartialView<'_> {
        PartialView {
            input: &self.input,
            all_worktrees: self.all_worktrees,
            filter: Filter { branch: self.branch.clone(), agent: self.agent.clone() },
            output: self.output.as_deref(),
            is_strict: self.strict,
            stamp: self.stamp,
        }
    }
}

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    refuse_contradictions(args)?;
    if args.check {
        return check::check(ui, env, ledger_args, args.tree.as_deref());
    }
    let ledger = Ledger::find(ui, env, ledger_args)?;
    let effect = Effect::of(ui);
    let partial = args.partial();
    if !partial.is_whole() {
        return partial::run(ui, env, &ledger, &partial, effect);
    }
    if args.archive && !args.yes && !ui.can_ask() {
        return Err(LedgerFailure::Confirm
            .with(Exit::Decide, "archiving needs confirmation, and there is no terminal")
            .hint("run `ledger-synth --archive --yes`, or `ledger-synth archive`"));
    }
    if args.commit && !effect.is_dry() {
        commit::refuse_hopeless(&ledger)?;
    }
    let asks = ui.can_ask() && !args.yes && !ui.is_json() && !effect.is_dry();
    let Args { strict, stamp, force, adopt, .. } = *args;
    let options = SynthOptions { effect, is_strict: strict, stamp, force, adopt, may_be_quiet: !ui.is_json() };
    if asks && !preview::confirm(ui, env, &ledger, &options)? {
        ui.note("nothing was written");
        return Ok(Exit::Decide);
    }
    let printed = {
        let _lock = if effect.is_dry() { None } else { Some(ledger.lock()?) };
        let when = if args.archive || args.commit { AnswerTime::Later } else { AnswerTime::Now };
        let printed = print(ui, env, &ledger, &options, when)?;
        let is_archiving = args.archive || (asks && printed.has_events && ui.confirm("archive the events now?"));
        if is_archiving && printed.has_events {
            let archived = archive::archive(ui, env, &ledger, None, effect)?;
            if !ui.is_json() {
                archive::print(ui, &archived, effect);
            }
        }
        printed
    };
    let is_committing = printed.has_events && (args.commit || (asks && ui.confirm("commit the ledger?")));
    let committed = if is_committing { commit(ui, env, &ledger, effect) } else { Ok(()) };
    let Some(answer) = printed.answer else { return committed.map(|()| Exit::Done) };
    let failure = committed.err();
    ui.json(&WithError { answer, error: failure.as_ref().map(Failure::to_json) });
    Ok(failure.map_or(Exit::Done, |failure| failure.exit))
}

/// Commits the ledger's files and prints the commit.
fn commit(ui: &Ui, env: &Env, ledger: &Ledger, effect: Effect) -> Result<()> {
    let files = |count: usize| counted(count, "file");
    let say = |line: String| if ui.is_json() { ui.note(line) } else { ui.line(line) };
    match commit::commit(env, ledger, effect)? {
        Committed::Nothing => ui.detail("everything is committed already"),
        Committed::TooSoon => ui.note(commit::TOO_SOON),
        Committed::Files(count, None) => say(format!("would commit {}", files(count))),
        Committed::Files(count, Some(sha)) => say(format!("committed {sha} ({})", files(count))),
    }
    Ok(())
}

fn refuse_contradictions(args: &Args) -> Result<()> {
    let is_printed = !args.partial().is_whole();
    let writes = args.archive || args.commit || args.force || args.adopt;
    let wrong = [
        (
            args.check && writes,
            "--check writes nothing, so it cannot be combined with --archive, --commit, --force or --adopt",
        ),
        (
            args.check && is_printed,
            "--check looks at the whole `current.md`, so it takes no filters, --input or --output",
        ),
        (args.tree.is_some() && !args.check, "--tree needs --check"),
        (
            is_printed && writes,
            "filters, --input and --output do not write `current.md`, so they cannot be combined with --archive, --commit, --force or --adopt",
        ),
        (
            args.all_worktrees && !args.input.is_empty(),
            "--all-worktrees cannot be combined with --input, which names the files",
        ),
    ];
    match wrong.iter().find(|(is_so, _)| *is_so) {
        Some((_, why)) => Err(Failure::usage(*why).hint("run `ledger-synth --help` to see which flags go together")),
        None => Ok(()),
    }
}

/// What a synthesis printed, or with `--json` the answer that is printed later.
#[derive(Default)]
struct Printed {
    has_events: bool,
    answer: Option<Value>,
}

/// When the answer of `--json` is printed.
enum AnswerTime {
    Now,
    /// What follows may add an error to it.
    Later,
}

/// Synthesises and prints the outcome. The caller holds the lock, except in a dry run.
fn print(ui: &Ui, env: &Env, ledger: &Ledger, options: &SynthOptions, when: AnswerTime) -> Result<Printed> {
    let adopted = if options.adopt { ledger.current()? } else { None };
    if let Some(current) = adopted {
        adopt_page(ui, env, ledger, &current, options.effect)?;
    }
    let path = ledger.dir.join(CURRENT).to_string_lossy().into_owned();
    let shown = |word: &str, count: usize| {
        ui.line(format!("{word} {} ({})", printable(&path), counted(count, "event")));
    };
    let unchanged = |count: usize| ui.detail(format!("{path} is up to date ({})", counted(count, "event")));
    synthesise(ui, env, ledger, options, |synthesis| {
        let (view, events, outcome) = match synthesis {
            Synthesis::Quiet(count) => {
                unchanged(count);
                return Printed { has_events: true, ..Printed::default() };
            }
            Synthesis::Done { view, events, outcome, .. } => (view, events, outcome),
        };
        let has_events = view.event_count > 0;
        if ui.is_json() {
            let to = Destination { path: path.clone(), is_written: matches!(outcome, SynthOutcome::Written) };
            let answer = LedgerAnswer::new(view, events, to);
            return match when {
                AnswerTime::Now => {
                    ui.json_stream(&answer);
                    Printed { has_events, ..Printed::default() }
                }
                AnswerTime::Later => Printed { has_events, answer: serde_json::to_value(answer).ok() },
            };
        }
        match outcome {
            SynthOutcome::Nothing => {
                ui.detail(format!("there are no events in {}; nothing was touched", ledger.dir.join(EVENTS).display()))
            }
            SynthOutcome::Unchanged => unchanged(view.event_count),
            SynthOutcome::Due(difference) => {
                shown("would write", view.event_count);
                difference.iter().for_each(|line| ui.line(printable(line)));
            }
            SynthOutcome::Written => shown("wrote", view.event_count),
        }
        Printed { has_events, ..Printed::default() }
    })
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
