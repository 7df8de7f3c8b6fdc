//! `add`: the event writer.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::synth;
use crate::apply::{self, commit};
use crate::body;
use crate::cli::{AddArgs, HookOf, Place};
use crate::draft::{self, Draft};
use crate::event::{self, Checkpoint, Entry, Event, LIMIT, Meta, Record};
use crate::facts::gather::everything;
use crate::facts::{EVENTS, Ledger};
use crate::plan::{Filter, join};
use crate::scalar::safe;
use crate::view::View;

/// The clock of whoever wrote what was read may be ahead by this; more is a mistake nobody follows.
const AHEAD: SignedDuration = SignedDuration::from_hours(24);

/// The smallest step between two stamps.
const STEP: SignedDuration = SignedDuration::from_millis(1);

pub fn run(ui: &Ui, env: &Env, place: &Place, args: &AddArgs) -> Result<Exit> {
    match args.from_hook {
        // The session ends whatever we say: problems are notices, as in every hook that an agent calls.
        Some(HookOf::Claude) => {
            if let Err(failure) = from_claude(ui, env, place, args) {
                ui.problem(&failure);
            }
            Ok(Exit::Done)
        }
        None => add(ui, env, place, args),
    }
}

/// What Claude Code gives a SessionEnd hook on stdin, as far as it is of use here
/// (<https://code.claude.com/docs/en/hooks>).
#[derive(Default, Deserialize)]
struct Payload {
    #[serde(default)]
    session_id: Option<String>,
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    reason: Option<String>,
}

fn from_claude(ui: &Ui, env: &Env, place: &Place, args: &AddArgs) -> Result<Exit> {
    let bytes = ui.input()?;
    // What the session left is written down, whatever the hook was given.
    let payload: Payload = serde_json::from_slice(&bytes).unwrap_or_else(|e| {
        ui.problem(
            &Failure::malformed("stdin is not the JSON of a Claude Code hook")
                .because(e)
                .hint("pipe the hook's input to `ledger-synth add --from-hook claude`"),
        );
        Payload::default()
    });
    let env = match &payload.cwd {
        Some(dir) if !env.cwd_named && dir.is_absolute() && dir.is_dir() => env.at(dir)?,
        _ => env.clone(),
    };
    let session = draft::session_of(payload.session_id.as_deref().unwrap_or_default());
    let own = session.clone();
    let mut args = args.clone();
    if args.agent.is_none() && env.var("LEDGER_SYNTH_AGENT").is_none() && !session.is_empty() {
        args.agent = Some(session);
    }
    args.kind = args.kind.or(Some("session_end".into()));
    args.reason = args.reason.or(payload.reason);
    let ledger = Ledger::find(ui, &env, place)?;
    let drafts = Draft::all_of(&env, &ledger, &own)?;
    let kept = drafts.iter().fold(Vec::new(), |kept, draft| newest_said(kept, body::parse(&draft.text)));
    let entries = newest_said(kept, sections(&args)?);
    if entries.is_empty() {
        drop(drafts);
        ui.note("the session left nothing to write down");
        follow_up(ui, &env, place, &ledger, &args)?;
        return Ok(Exit::Done);
    }
    let written = write_down(ui, &env, place, &ledger, &args, None, entries)?;
    if !place.dry_run {
        // What follows may fail: what is written down once must not be said again at the next session's end.
        drafts.iter().try_for_each(Draft::remove)?;
    }
    drop(drafts);
    finish(ui, &env, place, &ledger, &args, &written)
}

/// Both, the later in place of the earlier where they speak of one thing: in one event nothing else tells which is newer.
fn newest_said<'a>(mut earlier: Vec<Entry<'a>>, later: Vec<Entry<'a>>) -> Vec<Entry<'a>> {
    let is_same = |a: &Entry<'_>, b: &Entry<'_>| match (a, b) {
        (Entry::Text { section: a, .. }, Entry::Text { section: b, .. }) => a == b,
        (Entry::Pair { section: a, key: x, .. }, Entry::Pair { section: b, key: y, .. }) => a == b && x == y,
        // Asked after it was resolved, or resolved after it was asked.
        (Entry::Item { section: a, text: x }, Entry::Item { section: b, text: y }) => {
            let pair = [&**a, &**b];
            x == y && (pair == ["open_questions", "resolved"] || pair == ["resolved", "open_questions"])
        }
        _ => false,
    };
    earlier.retain(|old| !later.iter().any(|new| is_same(old, new)));
    earlier.extend(later);
    earlier
}

fn add(ui: &Ui, env: &Env, place: &Place, args: &AddArgs) -> Result<Exit> {
    let flags = sections(args)?;
    let text = if flags.is_empty() { input(ui)? } else { String::new() };
    let given = Given::of(&text)?;
    let mut entries = given.entries;
    entries.extend(flags);
    if entries.is_empty() {
        return Err(Failure::usage("there is nothing to write down")
            .hint("give a section, such as `--now TEXT` or `--done TEXT`, or a body on stdin"));
    }
    let ledger = Ledger::find(ui, env, place)?;
    if given.meta.is_none() {
        let kept = Draft::read(&Draft::path_of(env, &ledger))?;
        require_questions(&ledger, &entries, &body::parse(&kept))?;
    }
    if args.draft {
        let path = Draft::path_of(env, &ledger);
        if !place.dry_run {
            let draft = Draft::open(path.clone())?;
            let all = newest_said(body::parse(&draft.text), entries);
            // The time of a checkpoint is when it was said.
            draft.keep(&body::write(&Event::new(nobody(env.now), all).entries))?;
        }
        if ui.is_json() {
            ui.json(&json!({ "draft": path.to_string_lossy() }));
        }
        ui.note(if place.dry_run {
            "would be kept for the end of the session"
        } else {
            "kept for the end of the session"
        });
        return Ok(Exit::Done);
    }
    let written = write_down(ui, env, place, &ledger, args, given.meta, entries)?;
    finish(ui, env, place, &ledger, args, &written)
}

/// Exit 1, kind `no_question`, for a resolution that resolves nothing: no such question is open, nor asked in the same
/// breath.
fn require_questions(ledger: &Ledger, entries: &[Entry<'_>], kept: &[Entry<'_>]) -> Result<()> {
    let of = |wanted: &str, entries: &[Entry<'_>]| -> Vec<String> {
        let texts = entries.iter().filter_map(|entry| match entry {
            Entry::Item { section, text } if section == wanted => Some(text.to_string()),
            _ => None,
        });
        texts.collect()
    };
    let resolved = of("resolved", entries);
    if resolved.is_empty() {
        return Ok(());
    }
    let events = everything(ledger)?;
    let snapshots = events.snapshots()?;
    let joined = join(&events.records, &snapshots, &Filter::default());
    let mut open: Vec<String> = View::of(&joined, None).open_questions.iter().map(|&text| text.to_owned()).collect();
    open.extend([of("open_questions", entries), of("open_questions", kept)].concat());
    let Some(unknown) = resolved.iter().find(|text| !open.contains(text)) else { return Ok(()) };
    let nearest =
        open.iter().max_by(|a, b| strsim::jaro_winkler(a, unknown).total_cmp(&strsim::jaro_winkler(b, unknown)));
    let failure = Failure::new(Exit::No, "no_question", format!("no open question is `{}`", printable(unknown)));
    Err(match nearest {
        Some(nearest) => failure.hint(format!("the nearest is `{}`", printable(nearest))),
        None => failure.hint("no question is open here; one of another branch can be resolved once that is merged"),
    })
}

/// Writes an event of these entries; `read` is the frontmatter it came with.
fn write_down<'a>(
    ui: &Ui,
    env: &Env,
    place: &Place,
    ledger: &Ledger,
    args: &AddArgs,
    read: Option<Meta<'a>>,
    entries: Vec<Entry<'a>>,
) -> Result<Written> {
    let read = read.as_ref();
    let agent = match (&args.agent, read.map(|meta| &meta.agent)) {
        (None, Some(agent)) => agent.to_string(),
        (named, _) => agent(env, ledger, named.as_deref())?,
    };
    let own = |flag: &Option<String>, read: Option<&Cow<'_, str>>| {
        flag.clone().or_else(|| read.map(|text| text.to_string())).filter(|text| !text.is_empty()).map(Cow::Owned)
    };
    let branch = match read.and_then(|meta| meta.branch.clone()) {
        Some(branch) => Some(branch.into_owned()),
        None => ledger.git.branch(&ledger.repo)?,
    };
    let ts = match read {
        Some(meta) => meta.ts,
        None => stamp(ui, env, ledger)?,
    };
    let meta = Meta {
        ts,
        agent: agent.into(),
        branch: branch.map(Cow::Owned),
        kind: own(&args.kind, read.and_then(|meta| meta.kind.as_ref())),
        reason: own(&args.reason, read.and_then(|meta| meta.reason.as_ref())),
        title: own(&args.title, read.and_then(|meta| meta.title.as_ref())),
    };
    write(ledger, &Event::new(meta, entries), place.dry_run)
}

/// Synthesises and commits where that is asked for, and tells what was written: it was, whatever comes after.
fn finish(ui: &Ui, env: &Env, place: &Place, ledger: &Ledger, args: &AddArgs, written: &Written) -> Result<Exit> {
    // Nobody shall say the same again because what came after it failed.
    let followed = follow_up(ui, env, place, ledger, args).map_err(|failure| Failure {
        exit: if failure.exit == Exit::Bad { Exit::Failed } else { failure.exit },
        hints: vec![
            "the event is written; once this is mended, `ledger-synth --no-confirm` brings it into the ledger".into(),
        ],
        message: format!("the event is written, but not synthesised or committed: {}", failure.message),
        ..failure
    });
    let path = ledger.dir.join(&written.below).to_string_lossy().into_owned();
    if !ui.is_json() {
        ui.line(printable(&path));
        return followed.map(|()| Exit::Done);
    }
    let mut answer = json!({ "path": path, "id": written.id, "ts": written.ts.to_string(), "agent": written.agent });
    let exit = followed.err().map(|failure| {
        answer["error"] = failure.to_json();
        failure.exit
    });
    ui.json(&answer);
    Ok(exit.unwrap_or(Exit::Done))
}

/// Synthesises and commits, where that is asked for.
fn follow_up(ui: &Ui, env: &Env, place: &Place, ledger: &Ledger, args: &AddArgs) -> Result<()> {
    if args.synth && !place.dry_run {
        synth::silently(ui, env, ledger)?;
        if args.commit && commit::run(env, ledger, false)? == commit::Committed::TooSoon {
            ui.note("not committed: the last commit is too recent (--min-interval)");
        }
    }
    Ok(())
}

/// A whole event on stdin has a frontmatter of its own; a body alone has none.
struct Given<'a> {
    meta: Option<Meta<'a>>,
    entries: Vec<Entry<'a>>,
}

impl<'a> Given<'a> {
    fn of(text: &'a str) -> Result<Given<'a>> {
        if text.trim_start().lines().next().is_none_or(|line| line.trim_end() != "---") {
            event::refuse_conflict_markers(text).map_err(|problem| {
                Failure::malformed(format!("stdin:{}: {}", problem.line, problem.why))
                    .hint("resolve the conflict first")
            })?;
            return Ok(Given { meta: None, entries: body::parse(text) });
        }
        let event = Event::parse(text).map_err(|problem| {
            Failure::malformed(format!("stdin:{}: {}", problem.line, problem.why))
                .hint("leave the frontmatter out: `add` writes it")
        })?;
        Ok(Given { meta: Some(event.meta), entries: event.entries })
    }
}

fn input(ui: &Ui) -> Result<String> {
    if ui.can_ask() {
        return Ok(String::new());
    }
    let bytes = ui.input()?;
    let wrong = |problem: event::Malformed| Failure::malformed(format!("stdin:{}: {}", problem.line, problem.why));
    Ok(event::text(&bytes).map_err(wrong)?.into_owned())
}

/// The sections given as flags.
fn sections(args: &AddArgs) -> Result<Vec<Entry<'static>>> {
    let own = |text: &str| Cow::<'static, str>::Owned(text.to_owned());
    let mut entries = Vec::new();
    let registers = [("now", &args.now), ("goal", &args.goal)];
    for (section, text) in registers.iter().filter_map(|(name, text)| Some((*name, text.as_ref()?))) {
        entries.push(Entry::Text { section: section.into(), text: said(section, text)? });
    }
    let lists = [("this_session", &args.done), ("open_questions", &args.question), ("resolved", &args.resolve)];
    for (section, texts) in lists {
        for text in texts {
            entries.push(Entry::Item { section: section.into(), text: said(section, text)? });
        }
    }
    let mut decisions = BTreeMap::new();
    for decision in &args.decision {
        let (key, value) = decision.split_once('=').filter(|(key, _)| !key.trim().is_empty()).ok_or_else(|| {
            Failure::usage(format!("`--decision` must be KEY=VALUE, not `{decision}`"))
                .hint("for example `--decision lexer='by hand'`")
        })?;
        // Given twice, the last counts, as with any flag.
        decisions.insert(key.trim(), (!value.is_empty()).then(|| own(value)));
    }
    for (key, value) in decisions {
        entries.push(Entry::Pair { section: "decisions".into(), key: own(key), value });
    }
    for checkpoint in &args.checkpoint {
        let (phase, status) =
            checkpoint.split_once(':').filter(|(phase, _)| !phase.trim().is_empty()).ok_or_else(|| {
                Failure::usage(format!("`--checkpoint` must be PHASE:STATUS, not `{checkpoint}`"))
                    .hint("for example `--checkpoint 5:validated`")
            })?;
        let checkpoint = Checkpoint { phase: own(phase.trim()), status: own(status.trim()), ..Checkpoint::default() };
        entries.push(Entry::Checkpoint(checkpoint));
    }
    let texts = [&args.agent, &args.kind, &args.reason, &args.title];
    if texts.iter().any(|text| text.as_ref().is_some_and(|text| text.contains('\0'))) {
        return Err(Failure::usage("a value contains a NUL byte"));
    }
    Ok(entries)
}

/// An empty text would say nothing.
fn said(section: &str, text: &str) -> Result<Cow<'static, str>> {
    if text.trim().is_empty() {
        return Err(
            Failure::usage(format!("a text for `{section}` is empty")).hint("leave the flag out, or say something")
        );
    }
    Ok(text.to_owned().into())
}

fn nobody(ts: Timestamp) -> Meta<'static> {
    Meta { ts, agent: "".into(), branch: None, kind: None, reason: None, title: None }
}

/// Who speaks: as named, as the environment has it, else by the worktree's name.
pub fn agent(env: &Env, ledger: &Ledger, named: Option<&str>) -> Result<String> {
    let by_env = || env.var("LEDGER_SYNTH_AGENT").map(|agent| agent.to_string_lossy().into_owned());
    let by_place = || {
        let top = ledger.repo.worktree.as_deref().unwrap_or(&ledger.dir);
        top.file_name().map(|name| name.to_string_lossy().into_owned())
    };
    let agent = named.map(str::to_owned).or_else(by_env).or_else(by_place).unwrap_or_default();
    if agent.trim().is_empty() {
        return Err(Failure::usage("the agent has no name").hint("name it with `--agent NAME`"));
    }
    Ok(agent)
}

/// A stamp that is newer than everything its writer can have read, so that a clock that lags loses nothing.
pub fn stamp(ui: &Ui, env: &Env, ledger: &Ledger) -> Result<Timestamp> {
    let limit = env.now.checked_add(AHEAD).unwrap_or(Timestamp::MAX);
    // Milliseconds are enough, and names stay short.
    let now = Timestamp::from_millisecond(env.now.as_millisecond()).unwrap_or(env.now);
    // What an agent has to say is written down, whatever is wrong with what others said.
    let newest = newest(ledger, limit).unwrap_or_else(|failure| {
        ui.warn(format!("the event has the clock's time, for the others cannot be read: {failure}"));
        None
    });
    let Some(newest) = newest else { return Ok(now) };
    Ok(newest.checked_add(STEP).map_or(now, |next| next.max(now)))
}

/// The newest stamp that is not further ahead than `limit`.
fn newest(ledger: &Ledger, limit: Timestamp) -> Result<Option<Timestamp>> {
    let events = everything(ledger)?;
    let own = events.records.iter().filter_map(|record| record.event()).map(|event| event.meta.ts);
    let snapshots = events.snapshots()?;
    let folded = snapshots.iter().flat_map(|snapshot| snapshot.sources.iter().map(|source| source.ts));
    Ok(own.chain(folded).filter(|ts| *ts <= limit).max())
}

/// A written event.
pub struct Written {
    /// Its path below the ledger.
    pub below: String,
    pub id: shopfloor_core::hash::Digest,
    pub ts: Timestamp,
    pub agent: String,
}

/// The text of an event's file, having read back that it says what it should.
pub fn proven(event: &Event<'_>) -> Result<String> {
    let text = event::write(event);
    if text.len() > LIMIT {
        return Err(
            Failure::malformed("the event is larger than 1 MiB").hint("say it in fewer words, or in several events")
        );
    }
    match Event::parse(&text) {
        Ok(read) if Record::of(&read).id == Record::of(event).id => Ok(text),
        Ok(_) => Err(Failure::malformed("the event would not read back as it is, so it was not written")
            .hint("say it in other words, or as a file of your own in `events/`")),
        Err(problem) => Err(Failure::malformed(format!("the event would be skipped: {}", problem.why))
            .hint("change the text, or indent the line that is meant")),
    }
}

/// Writes an event.
pub fn write(ledger: &Ledger, event: &Event<'_>, is_dry: bool) -> Result<Written> {
    let text = proven(event)?;
    let stem = format!("{}_{}", event.meta.ts.to_string().replace(':', "-"), safe(&event.meta.agent));
    let below = match is_dry {
        true => format!("{EVENTS}/{stem}.md"),
        false => apply::create_event(ledger, &stem, text.as_bytes())?,
    };
    Ok(Written { below, id: Record::of(event).id, ts: event.meta.ts, agent: event.meta.agent.to_string() })
}
