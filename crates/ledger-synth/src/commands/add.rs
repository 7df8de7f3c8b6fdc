//! `add`: writes an event.

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::output;
use super::section_flags::SectionFlags;
use crate::agent_hooks::{self, HookProgram, HookedSession};
use crate::apply::commit::{self, Committed};
use crate::apply::event::{WrittenEvent, write_event};
use crate::apply::synthesis::refresh;
use crate::body;
use crate::draft::{self, SessionDraft};
use crate::entry::Entry;
use crate::event::LedgerEvent;
use crate::event_file;
use crate::facts::Ledger;
use crate::facts::author::{next_time, speaker_name};
use crate::facts::gather::load_events;
use crate::failure;
use crate::front::Meta;
use crate::plan::{find_question, join, misspelt};
use crate::section::Section;
use crate::session_log;
use crate::settings::LedgerArgs;
use crate::tool::{AGENT_VARIABLE, SESSION_VARIABLE};
use crate::view::open_questions;

/// Write an event and print its path
///
/// Without a section, the body is read from stdin. Values may begin with a dash.
///
/// Exits with 1 if there is no such question, or with `--commit` while a merge or rebase is in progress.
#[derive(clap::Args, Clone, Debug)]
#[command(
    after_help = "Example:\n  ledger-synth add --now 'Review' --done 'Wrote the parser' \\\n    --done '- took dashes' --decision lexer='by hand' --checkpoint 5:validated\n  printf 'now: Review\\nthis_session:\\n- Wrote the parser\\n' |\n    ledger-synth add --agent toast --synth"
)]
pub struct Args {
    #[command(flatten)]
    sections: SectionFlags,
    /// The agent that writes the event [env: LEDGER_SYNTH_AGENT] [default: the session that an agent's program names, else the
    /// worktree's name]
    #[arg(long, allow_hyphen_values = true)]
    agent: Option<String>,
    /// The type of the event, such as session_end or checkpoint
    #[arg(long = "type", value_name = "TYPE", allow_hyphen_values = true)]
    kind: Option<String>,
    /// Why the event is written
    #[arg(long, allow_hyphen_values = true)]
    reason: Option<String>,
    /// What the event is about, in a few words
    #[arg(long, allow_hyphen_values = true)]
    title: Option<String>,
    /// Keep the sections for the end of the session, in the repository's git directory, instead of writing an event
    #[arg(long, conflicts_with_all = ["synth", "from_hook", "agent", "kind", "reason", "title"])]
    draft: bool,
    /// The session whose draft it is, by its id [env: LEDGER_SYNTH_SESSION] [default: CODEX_SESSION_ID or
    /// CLAUDE_CODE_SESSION_ID]
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    session: Option<String>,
    /// Synthesise afterwards
    #[arg(long)]
    synth: bool,
    /// With --synth: commit the ledger's files
    #[arg(long, requires = "synth")]
    commit: bool,
    /// Take agent, reason and directory from the JSON that this agent program gives its SessionEnd hook on stdin
    #[arg(long, value_name = "PROGRAM")]
    from_hook: Option<HookProgram>,
}

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    let mut env = env.clone();
    if let Some(session) = args.session.as_deref().map(draft::session_name) {
        env.vars.insert(SESSION_VARIABLE.into(), session.into());
    }
    let env = &env;
    match args.from_hook {
        // The session ends in any case, so problems are notices, as in every hook that an agent calls.
        Some(program) => {
            ui.or_problem(end_session(ui, env, ledger_args, args, program));
            Ok(Exit::Done)
        }
        None => add(ui, env, ledger_args, args),
    }
}

fn end_session(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args, program: HookProgram) -> Result<Exit> {
    // The drafts of the session are written even if the hook's input is wrong.
    let HookedSession { session, dir, reason } = agent_hooks::session(&ui.input()?).unwrap_or_else(|e| {
        ui.problem(
            &Failure::malformed(format!("stdin is not the JSON of a {} hook", program.title()))
                .because(e)
                .hint(format!("pipe the hook's input to `ledger-synth add --from-hook {}`", program.name())),
        );
        HookedSession::default()
    });
    let env = match &dir {
        Some(dir) if !env.cwd_named && dir.is_absolute() && dir.is_dir() => env.at(dir)?,
        _ => env.clone(),
    };
    let session = draft::session_name(&session);
    let mut args = args.clone();
    if args.agent.is_none() && env.var(AGENT_VARIABLE).is_none() && !session.is_empty() {
        args.agent = Some(draft::short_name(&session));
    }
    args.kind = args.kind.or(Some("session_end".into()));
    args.reason = args.reason.or(reason);
    let mut ledger = Ledger::find(ui, &env, ledger_args)?;
    // Nobody typed this, and the agent says where it was.
    ledger.git = ledger.git.unattended(&ledger.repo)?;
    let drafts = SessionDraft::open_all(&env, &ledger.drafts(), &session, ui.is_dry())?;
    let kept = drafts.iter().fold(Vec::new(), |kept, draft| newest_of_each(kept, body::parse(&draft.text)));
    let entries = newest_of_each(kept, args.sections.entries()?);
    if entries.is_empty() {
        drop(drafts);
        tell_once(ui, &ledger, &session)?;
        synthesise(ui, &env, &ledger, &args)?;
        commit_ledger(ui, &env, &ledger, &args)?;
        return Ok(Exit::Done);
    }
    let event = new_event(ui, &env, &ledger, &args, None, entries)?;
    let written = write_event(&env, &ledger, event, ui.is_dry())?;
    if !ui.is_dry() {
        // Removed before what follows, which may fail: the next session must not write the same again.
        drafts.iter().try_for_each(SessionDraft::remove)?;
        // Some programs say several times that a session ends.
        let named = Some(session.as_str()).filter(|session| !session.is_empty());
        let _ = session_log::write(&ledger.state(), named);
    }
    drop(drafts);
    finish(ui, &env, &ledger, &args, &written)
}

/// Says how to leave word if a session ends without any, once per session.
fn tell_once(ui: &Ui, ledger: &Ledger, session: &str) -> Result<()> {
    let state = ledger.state();
    if !session_log::has_written(&state, session)?
        && !session.is_empty()
        && (ui.is_dry() || session_log::tell(&state, session)?)
    {
        ui.note(format!("session {session} left no word for the next one; an agent does so with `ledger-synth add --done 'WHAT' --now 'WHERE IT STANDS'`"));
    }
    Ok(())
}

/// Both lists, without the earlier entries that a later one replaces: within one event nothing else tells which is
/// newer.
fn newest_of_each(mut earlier: Vec<Entry>, later: Vec<Entry>) -> Vec<Entry> {
    let replaces = |a: &Entry, b: &Entry| match (a, b) {
        (Entry::Text { section: a, .. }, Entry::Text { section: b, .. }) => a == b,
        (Entry::Pair { section: a, key: x, .. }, Entry::Pair { section: b, key: y, .. }) => a == b && x == y,
        // A question that is asked after it was resolved, or resolved after it was asked.
        (Entry::Item { section: a, text: x }, Entry::Item { section: b, text: y }) => {
            let is_pair = |a, b| a == Some(Section::OpenQuestions) && b == Some(Section::Resolved);
            x == y && (is_pair(a.section(), b.section()) || is_pair(b.section(), a.section()))
        }
        _ => false,
    };
    earlier.retain(|old| !later.iter().any(|new| replaces(old, new)));
    earlier.extend(later);
    earlier
}

fn add(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    let flags = args.sections.entries()?;
    let text = match flags.is_empty() && !ui.can_ask() {
        true => event_file::decode(&ui.input()?).map_err(|problem| problem.in_file("stdin"))?,
        false => String::new(),
    };
    let (meta, mut entries) = given(&text)?;
    entries.extend(flags);
    misspelt(&entries).iter().for_each(|why| ui.warn(printable(why)));
    if entries.is_empty() {
        return Err(Failure::usage("there is nothing to write down")
            .hint("give a section, such as `--now TEXT` or `--done TEXT`, or a body on stdin"));
    }
    let ledger = Ledger::find(ui, env, ledger_args)?;
    if meta.is_none() {
        let kept = SessionDraft::read(&SessionDraft::path(env, &ledger.drafts()))?;
        name_questions(&ledger, &mut entries, &body::parse(&kept))?;
    }
    if args.draft {
        return keep_draft(ui, env, &ledger, entries);
    }
    let event = new_event(ui, env, &ledger, args, meta, entries)?;
    let written = write_event(env, &ledger, event, ui.is_dry())?;
    if !ui.is_dry() {
        // Only a hint for the end of the session.
        let _ = session_log::write(&ledger.state(), draft::session(env).as_deref());
    }
    finish(ui, env, &ledger, args, &written)
}

/// Adds the entries to the draft of the session.
fn keep_draft(ui: &Ui, env: &Env, ledger: &Ledger, entries: Vec<Entry>) -> Result<Exit> {
    let path = SessionDraft::path(env, &ledger.drafts());
    if !ui.is_dry() {
        let draft = SessionDraft::open(path.clone(), false).map_err(|failure| match failure.is_write_refused() {
            true => failure.hint("write an event instead: the same command without `--draft`"),
            false => failure,
        })?;
        let all = newest_of_each(body::parse(&draft.text), entries);
        // An event, so that each checkpoint has the time of its draft.
        let meta = Meta { ts: env.now.into(), ..Meta::default() };
        draft.keep(&body::render(&LedgerEvent::new(meta, all).entries))?;
    }
    if ui.is_json() {
        ui.json(&json!({ "draft": path.to_string_lossy() }));
    }
    let would = if ui.is_dry() { "would be " } else { "" };
    ui.note(format!("{would}kept for the end of the session"));
    Ok(Exit::Done)
}

/// Gives each `resolved` the words of the open question that it names, which may also be in the same event or draft.
/// Exit 1, kind `no_question`, if there is none.
fn name_questions(ledger: &Ledger, entries: &mut [Entry], kept: &[Entry]) -> Result<()> {
    if entries.iter().all(|entry| entry.item_of(Section::Resolved).is_none()) {
        return Ok(());
    }
    let events = load_events(ledger)?;
    let joined = join(&events)?;
    let asked = entries.iter().chain(kept).filter_map(|entry| entry.item_of(Section::OpenQuestions));
    let asked: Vec<String> = asked.map(str::to_owned).collect();
    let open = open_questions(&joined).into_iter().map(|question| question.text);
    let open: Vec<&str> = open.chain(asked.iter().map(String::as_str)).collect();
    for entry in entries {
        let Entry::Item { section, text } = entry else { continue };
        if *section == Section::Resolved {
            *text = required_question(&open, text)?.to_owned();
        }
    }
    Ok(())
}

fn required_question<'q>(open: &[&'q str], name: &str) -> Result<&'q str> {
    let failure = |what: String| failure::NO_QUESTION.with(Exit::No, what);
    match find_question::named(open, name) {
        Ok(text) => Ok(text),
        Err(count @ 2..) => Err(failure(format!("`{}` fits {count} open questions", printable(name)))
            .hint("nothing was written; give the whole text, or more of the id")),
        Err(_) => {
            let nearness = |text: &&str| strsim::jaro_winkler(text, name);
            let nearest = open.iter().max_by(|a, b| nearness(a).total_cmp(&nearness(b)));
            let failure = failure(format!("there is no open question `{}`", printable(name)));
            Err(match nearest {
                Some(nearest) => failure
                    .hint(format!("nothing was written; the nearest open question is `{}`", printable(nearest))),
                None => failure
                    .hint("nothing was written, and no question is open here; to resolve a question of another branch, merge that branch first"),
            })
        }
    }
}

/// An event of these entries; `read` is the frontmatter they came with.
fn new_event(
    ui: &Ui,
    env: &Env,
    ledger: &Ledger,
    args: &Args,
    read: Option<Meta>,
    entries: Vec<Entry>,
) -> Result<LedgerEvent> {
    let (ts, read_agent, branch, [kind, reason, title]) = match read {
        Some(Meta { ts, agent, branch, kind, reason, title }) => (ts, Some(agent), branch, [kind, reason, title]),
        None => (next_time(ui, env, ledger)?, None, None, [None, None, None]),
    };
    let agent = match (&args.agent, read_agent) {
        (None, Some(agent)) => agent,
        (named, _) => speaker_name(env, ledger, named.as_deref())?,
    };
    let own = |flag: &Option<String>, read: Option<String>| flag.clone().or(read).filter(|text| !text.is_empty());
    let meta = Meta {
        ts,
        agent,
        branch: branch.map_or_else(|| ledger.git.branch(&ledger.repo), |branch| Ok(Some(branch)))?,
        kind: own(&args.kind, kind),
        reason: own(&args.reason, reason),
        title: own(&args.title, title),
    };
    Ok(LedgerEvent::new(meta, entries))
}

/// Synthesises and commits if asked to, and prints the event, which is written whatever fails afterwards.
fn finish(ui: &Ui, env: &Env, ledger: &Ledger, args: &Args, written: &WrittenEvent) -> Result<Exit> {
    // The message says so, so that nobody writes the same event again.
    let rest = format!("`ledger-synth --yes{}`", if args.commit { " --commit" } else { "" });
    let hints = |failure: &Failure| -> Vec<String> {
        let own = failure.hints.iter().map(|hint| hint.replace("the same command again", &rest));
        own.chain([format!("fix the problem and run {rest}, which does the rest")]).collect()
    };
    let told = |failure: Failure, so_far: &str| Failure {
        exit: if failure.exit == Exit::Bad { Exit::Failed } else { failure.exit },
        hints: hints(&failure),
        message: format!("the event is written{so_far}: {}", failure.message),
        ..failure
    };
    let synthesised = synthesise(ui, env, ledger, args);
    let so_far = match synthesised {
        Ok(true) => " and synthesised, but not committed",
        _ => ", but not synthesised or committed",
    };
    let followed = synthesised.and_then(|_| commit_ledger(ui, env, ledger, args)).map_err(|e| told(e, so_far));
    if !ui.is_json() {
        output::print_event(ui, written, None);
        return followed.map(|()| Exit::Done);
    }
    Ok(output::print(ui, output::event(written), followed))
}

/// Synthesises if asked to, and returns whether it did. A page that changes would stop git while it replays commits.
fn synthesise(ui: &Ui, env: &Env, ledger: &Ledger, args: &Args) -> Result<bool> {
    match args.synth && !ui.is_dry() {
        true if commit::is_replaying(ledger) => {
            ui.note("current.md stays as it is while git replays commits; run `ledger-synth --yes` afterwards");
        }
        true => return refresh(ui, env, ledger).map(|_| true),
        false => {}
    }
    Ok(false)
}

/// Commits if asked to.
fn commit_ledger(ui: &Ui, env: &Env, ledger: &Ledger, args: &Args) -> Result<()> {
    if args.commit && !ui.is_dry() && commit::commit(env, ledger, None)? == Committed::TooSoon {
        ui.note(commit::TOO_SOON);
    }
    Ok(())
}

/// What stdin holds: a whole event with its frontmatter, or only a body.
fn given(text: &str) -> Result<(Option<Meta>, Vec<Entry>)> {
    if text.trim_start().lines().next().is_none_or(|line| line.trim_end() != "---") {
        event_file::refuse_conflict_markers(text)
            .map_err(|problem| problem.in_file("stdin").hint("resolve the conflict first"))?;
        return Ok((None, body::parse(text)));
    }
    let event = LedgerEvent::parse(text)
        .map_err(|problem| problem.in_file("stdin").hint("leave the frontmatter out: `add` writes it"))?;
    Ok((Some(event.meta), event.entries))
}
