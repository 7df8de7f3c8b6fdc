//! `banner`: what a session needs to know at its start.

use serde_json::{Value, json};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::Git;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::agent_hooks::{self, HookProgram};
use crate::apply::commit::is_replaying;
use crate::apply::synthesis::refresh;
use crate::counted::counted;
use crate::facts::gather::{has_events, load_events, load_page};
use crate::facts::{CURRENT, Current, EVENTS, Events, Ledger};
use crate::plan::join;
use crate::section::Section;
use crate::settings::LedgerArgs;
use crate::stored_event::EventRecord;
use crate::tool::SESSION_VARIABLE;
use crate::view::{self, View};
use crate::{draft, session_log};

const TOP: &str = "━━━ SESSION START ━━━";
const BOTTOM: &str = "━━━━━━━━━━━━━━━━━━━━━";

/// What every session is told: nobody else writes the ledger.
pub const LEAVE_WORD: &str = "Leave word at each milestone and before you end: `ledger-synth add --done WHAT --decision \
    KEY=WHY --question WHAT --now WHERE`";

/// What a session is told if the events cannot be read.
const UNREADABLE: &str = "The events of the ledger cannot be read; `ledger-synth check` says why.";
const LAST_PAGE: &str = "What follows is the last page.";

/// The most events that are listed.
const LISTED: usize = 10;

/// The most events in a JSON answer.
const ANSWERED: usize = 1000;

/// Synthesise, then print what a session needs to know at its start
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  ledger-synth banner --max-bytes 2000")]
pub struct Args {
    /// Print at most N bytes, and how many events are left out; how to leave word is printed in any case
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    max_bytes: usize,
    /// Answer a SessionStart hook of this agent program with the ledger as context
    #[arg(long, value_name = "PROGRAM")]
    for_hook: Option<HookProgram>,
}

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    match args.for_hook {
        None => show(ui, env, ledger_args, args),
        // A session must start, whatever is wrong with its ledger.
        Some(_) => {
            ui.or_problem(start_session(ui, env, ledger_args, args));
            Ok(Exit::Done)
        }
    }
}

/// Answers a SessionStart hook: the ledger becomes part of the session's context. In a repository, how to leave word
/// always does. Fails outside of one.
fn start_session(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<()> {
    let session =
        ui.input().map(|input| draft::session_name(&agent_hooks::session(&input).unwrap_or_default().session));
    let named = session.and_then(|session| name_session(ui, env, &session).map(|()| session));
    let session = ui.or_problem(named).unwrap_or_default();
    let (git, repo) = Git::here(env)?;
    let ledger = Ledger::in_repo(ui, env, ledger_args, git, repo);
    let context = ledger.and_then(|ledger| session_context(ui, env, &ledger, args, &session));
    let context = ui.or_problem(context).unwrap_or_else(|| LEAVE_WORD.to_owned());
    let output = json!({ "hookEventName": "SessionStart", "additionalContext": context.trim_end() });
    ui.line(json!({ "hookSpecificOutput": output }).to_string());
    Ok(())
}

/// What a session is told at its start. If the events cannot be read, that is the last page.
fn session_context(ui: &Ui, env: &Env, ledger: &Ledger, args: &Args, session: &str) -> Result<String> {
    if !session.is_empty() && !ui.is_dry() {
        // The ledger is shown even where nothing can be written.
        ui.or_problem(session_log::begin(&ledger.state(), session, env.now.into()));
    }
    content(ui, env, ledger).and_then(|content| text(ledger, &content, args.max_bytes)).or_else(|failure| {
        ui.problem(&failure);
        let page = load_page(ledger)?.map(|page| page.bytes).unwrap_or_default();
        let page = String::from_utf8_lossy(&page);
        let page = view::without_footer(&page);
        let content = BannerContent::Legacy(page.trim().to_owned());
        let said = if page.trim().is_empty() { UNREADABLE.to_owned() } else { format!("{UNREADABLE} {LAST_PAGE}") };
        Ok(format!("{said}\n\n{}", text(ledger, &content, args.max_bytes.saturating_sub(said.len() + 2))?))
    })
}

/// What a session is told, in at most `max` bytes unless how to leave word takes more.
fn text(ledger: &Ledger, content: &BannerContent, max: usize) -> Result<String> {
    let room = max.saturating_sub(LEAVE_WORD.len() + 2);
    let told = match content {
        BannerContent::Legacy(text) => cut(text, room),
        BannerContent::Ledger(events) => {
            let join = join(events)?;
            let view = View::new(&join, ledger.settings.printed.session_window);
            let mut lines = banner(&view, &join.newest_first(), room);
            let size: usize = lines.iter().map(|line| line.len() + 1).sum();
            lines.extend(view::context(&view, room.saturating_sub(size)));
            lines.join("\n")
        }
    };
    Ok(if told.is_empty() { LEAVE_WORD.to_owned() } else { format!("{}\n\n{LEAVE_WORD}", told.trim_end()) })
}

/// Tells the later commands of the session which session they belong to.
fn name_session(ui: &Ui, env: &Env, session: &str) -> Result<()> {
    let file = agent_hooks::environment_file(env).filter(|_| !ui.is_dry() && !session.is_empty());
    let Some(file) = file else { return Ok(()) };
    let begin = if fs::ends_line(file)? { "" } else { "\n" };
    fs::append_line(file, &format!("{begin}export {SESSION_VARIABLE}='{session}'"))
}

/// What a banner shows.
enum BannerContent {
    /// A file from before there were events; empty if there is none.
    Legacy(String),
    Ledger(Events),
}

fn show(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, ledger_args)?;
    let content = content(ui, env, &ledger)?;
    if ui.is_json() {
        match &content {
            BannerContent::Ledger(events) => {
                let join = join(events)?;
                ui.json(&answer(&View::new(&join, None), &join.newest_first()));
            }
            BannerContent::Legacy(text) => {
                let mut answer = json!({ "event_count": 0, "events": [], "goal": null, "now": null });
                if !text.is_empty() {
                    answer["text"] = json!(text);
                }
                ui.json(&answer);
            }
        }
        return Ok(Exit::Done);
    }
    if matches!(&content, BannerContent::Legacy(text) if text.is_empty()) {
        ui.note(format!("there are no events in {}", ledger.dir.join(EVENTS).display()));
    }
    let text = text(&ledger, &content, args.max_bytes)?;
    ui.line(text.lines().map(printable).collect::<Vec<_>>().join("\n"));
    Ok(Exit::Done)
}

/// The ledger in brief.
fn answer(view: &View<'_>, events: &[&EventRecord]) -> Value {
    let answer = |event: &&EventRecord| {
        json!({
            "ts": event.ts().to_string(),
            "time": event.ts().render(),
            "agent": event.agent(),
            "title": event.about(),
            "branch": event.branch(),
        })
    };
    json!({
        "event_count": view.event_count,
        "events": events.iter().take(ANSWERED).map(answer).collect::<Vec<_>>(),
        "goal": view.goal.map(|goal| goal.text),
        "now": view.now().map(|now| now.text),
    })
}

/// Synthesises, and loads what the banner shows.
fn content(ui: &Ui, env: &Env, ledger: &Ledger) -> Result<BannerContent> {
    let legacy = |current: Option<Current>| {
        BannerContent::Legacy(current.as_ref().and_then(Current::text).unwrap_or_default().to_owned())
    };
    if !has_events(ledger)? {
        return Ok(legacy(ledger.current()?));
    }
    // The banner is shown even if `current.md` cannot be written, or must not change in the middle of a rebase.
    let refreshed = if ui.is_dry() || is_replaying(ledger) { Ok(false) } else { refresh(ui, env, ledger) };
    let events = load_events(ledger)?;
    let count = join(&events)?.events.len();
    if let Err(failure) = refreshed {
        ui.problem(&Failure { message: format!("{CURRENT} was not written: {}", failure.message), ..failure });
    }
    match count {
        0 => Ok(legacy(ledger.current()?.filter(|current| current.footer().is_none()))),
        _ => Ok(BannerContent::Ledger(events)),
    }
}

/// Renders the banner itself: as many of the newest events as fit into `max` bytes.
fn banner(view: &View<'_>, events: &[&EventRecord], max: usize) -> Vec<String> {
    let head = vec![TOP.to_owned(), format!("📋 Continuity synthesized from {}:", counted(events.len(), "event"))];
    let mut tail = vec![String::new()];
    for (section, quote) in [(Section::Goal, view.goal), (Section::Now, view.now())] {
        let line =
            |text: &str| format!("   {}: {}", section.title(), cut(&printable(&text.replace('\n', " ")), max / 4));
        tail.extend(quote.map(|quote| line(quote.text)));
    }
    tail.push(BOTTOM.to_owned());
    let size = |lines: &[String]| lines.iter().map(|line| line.len() + 1).sum::<usize>();
    let mut left = max.saturating_sub(size(&head) + size(&tail) + 48);
    let mut shown = Vec::new();
    for event in events.iter().take(LISTED) {
        let line = format!("   • {}", view::event_line(event));
        if line.len() + 1 > left {
            break;
        }
        left -= line.len() + 1;
        shown.push(line);
    }
    let more = events.len() - shown.len();
    if more > 0 {
        shown.push(format!("   … {more} more: `ledger-synth notes`"));
    }
    let lines = [head, shown, tail].concat();
    if size(&lines) <= max {
        return lines;
    }
    cut(&lines.join("\n"), max.saturating_sub(1)).lines().map(str::to_owned).collect()
}

/// Cuts a text to `max` bytes, at the end of a line if possible, and says how much is left out.
fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    // Leave room for the count of the rest.
    let end = (0..=max.saturating_sub(24)).rfind(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let whole = text[..end].rfind('\n').filter(|at| *at > end / 2).unwrap_or(end);
    let more = text[whole..].lines().filter(|line| !line.is_empty()).count();
    let cut = match text[whole..].contains('\n') {
        true => format!("{}\n… {more} more", &text[..whole]),
        false => format!("{}…", &text[..whole]),
    };
    if cut.len() <= max { cut } else { String::new() }
}
