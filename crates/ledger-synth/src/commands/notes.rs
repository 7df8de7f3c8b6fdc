//! `notes`: what was decided and done, for a release note.

use std::collections::HashSet;

use serde_json::{Value, json};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::text::printable;
use shopfloor_core::time::{Unit, parse_duration};
use shopfloor_core::ui::Ui;

use crate::event_time::{self, EventTime};
use crate::facts::Ledger;
use crate::facts::gather::{events_of_commit, load_events};
use crate::plan::{Filter, join_filtered};
use crate::section::Section;
use crate::settings::LedgerArgs;
use crate::short_id::ShortId;
use crate::stored_event::EventRecord;
use crate::view::{Notes, View};

/// Print what was decided and done, grouped, as Markdown for a release note
///
/// Decisions come first, then what was done by day and agent, checkpoints, and the questions that are open.
#[derive(clap::Args, Clone, Debug)]
#[command(
    after_help = "Example:\n  ledger-synth notes --since v1.2 > notes.md\n  ledger-synth notes --since 7d --json"
)]
pub struct Args {
    /// Only what a tag or another commit does not have, or what was said since a day (2026-01-10), a time, or for a
    /// length of time (7d)
    #[arg(long, value_name = "TAG|DAY")]
    since: Option<String>,
    /// Only what was said on this branch
    #[arg(long, value_name = "BRANCH")]
    branch: Option<String>,
    /// Only what this agent said
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
}

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, ledger_args)?;
    let since = args.since.as_deref().map_or(Ok(Since::ALL), |name| since(env, &ledger, name))?;
    let events = load_events(&ledger)?;
    let filter = Filter { branch: args.branch.clone(), agent: args.agent.clone() };
    let join = join_filtered(&events, &filter)?;
    let view = View::new(&join, None);
    let notes = Notes::new(&view, |event| since.counts(event));
    if ui.is_json() {
        ui.json_lines(answers(&notes));
    } else if notes.is_empty() {
        ui.note("nothing was said in that time");
    } else {
        let title = args.since.as_ref().map_or("Notes".to_owned(), |name| format!("Notes since {}", printable(name)));
        ui.answer(notes.render(&title).as_bytes());
    }
    Ok(Exit::Done)
}

/// Since when something counts.
enum Since {
    Time(EventTime),
    /// The events that a commit has, which do not count: a branch that is merged later may bring older ones.
    Commit(HashSet<Digest>),
}

impl Since {
    const ALL: Since = Since::Time(EventTime::MIN);

    fn counts(&self, event: &EventRecord) -> bool {
        match self {
            Since::Time(since) => event.ts() >= *since,
            Since::Commit(known) => !known.contains(&event.id),
        }
    }
}

/// What a person names: a tag first, then a day, a time, a length of time with its unit, or any other commit.
fn since(env: &Env, ledger: &Ledger, name: &str) -> Result<Since> {
    if name == "all" {
        return Ok(Since::ALL);
    }
    if let Some(known) = events_of_commit(ledger, &format!("refs/tags/{name}"))? {
        return Ok(Since::Commit(known));
    }
    let named = event_time::parse(name).or_else(|| event_time::parse(&format!("{name}T00:00:00Z")));
    let has_unit = name.ends_with(|c: char| c.is_ascii_alphabetic());
    let ago = || Some(env.now.checked_sub(parse_duration(name, Unit::Seconds).filter(|_| has_unit)?).ok()?.into());
    if let Some(at) = named.or_else(ago) {
        return Ok(Since::Time(at));
    }
    let known = events_of_commit(ledger, name)?.ok_or_else(|| {
        Failure::usage(format!("`{name}` is not a tag, a commit, a day or a time"))
            .hint("for example `--since v1.2`, `--since 2026-01-10`, `--since 7d` or `--since all`")
    })?;
    Ok(Since::Commit(known))
}

/// One answer for each thing that was said.
fn answers(notes: &Notes<'_>) -> Vec<Value> {
    let answer = |section: Section, key: Option<&str>, text: &str, by: &EventRecord, id: ShortId| {
        json!({
            "section": section.word(),
            "key": key,
            "text": text,
            "time": by.ts().render(),
            "agent": by.agent(),
            "branch": by.branch(),
            "id": id,
            "event": by.id,
        })
    };
    let decisions = notes.decisions.iter().map(|(key, quote)| {
        let id = ShortId::of_key(Section::Decisions.word(), key);
        answer(Section::Decisions, Some(key), quote.text, quote.by, id)
    });
    let done = notes.done.iter().flat_map(|group| &group.quotes);
    let done = done.map(|one| answer(Section::ThisSession, None, one.text, one.by, ShortId::of_event(one.by.id)));
    let checkpoints = notes.checkpoints.iter().map(|one| {
        let id = ShortId::of_event(one.by.id);
        answer(Section::Checkpoints, Some(&one.checkpoint.phase), &one.checkpoint.status, one.by, id)
    });
    let questions = notes
        .questions
        .iter()
        .map(|one| answer(Section::OpenQuestions, None, one.text, one.by, ShortId::of_question(one.text)));
    decisions.chain(done).chain(checkpoints).chain(questions).collect()
}
