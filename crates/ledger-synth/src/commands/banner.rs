//! `banner`: what a session needs to know at its start.

use std::borrow::Cow;

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::Git;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::synthesis::{SynthOptions, Synthesis, synthesise};
use crate::facts::gather::{OldPage, has_events, load_events};
use crate::facts::{CURRENT, EVENTS, Ledger};
use crate::hook_program::HookProgram;
use crate::plan::{Filter, join};
use crate::section::Section;
use crate::settings::LedgerArgs;
use crate::source::Source;
use crate::tool::SESSION_VARIABLE;
use crate::view::{self, View};
use crate::{agent_hooks, draft, session_log};

const TOP: &str = "━━━ SESSION START ━━━";
const BOTTOM: &str = "━━━━━━━━━━━━━━━━━━━━━";

/// What every session is told: nobody else writes the ledger.
pub const LEAVE_WORD: &str = "Leave word at each milestone and before you end: `ledger-synth add --done WHAT --decision \
    KEY=WHY --question WHAT --now WHERE`";

/// What a session is told if the events cannot be read.
const UNREADABLE: &str = "The events of the ledger cannot be read; `ledger-synth doctor` says why.";
const LAST_PAGE: &str = "What follows is the last page.";

/// The most events that are listed.
const LISTED: usize = 10;

/// The most events in a JSON answer.
const ANSWERED: usize = 1000;

/// Synthesise, then print what a session needs to know at its start
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  ledger-synth banner --max-bytes 2000")]
pub struct Args {
    /// Print at most N bytes, and how many events are left out
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    max_bytes: usize,
    /// Answer a SessionStart hook of this agent program with the ledger as context
    #[arg(long, value_name = "PROGRAM")]
    for_hook: Option<HookProgram>,
}

/// The ledger in brief.
#[derive(Default, Serialize)]
struct BannerAnswer<'a> {
    event_count: usize,
    events: Vec<BannerEvent<'a>>,
    goal: Option<&'a str>,
    now: Option<&'a str>,
    /// A file from before there were events.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

#[derive(Serialize)]
struct BannerEvent<'a> {
    ts: String,
    time: String,
    agent: &'a str,
    title: Cow<'a, str>,
    branch: Option<&'a str>,
}

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    match args.for_hook {
        None => show(ui, env, ledger_args, args),
        // A session must start, whatever is wrong with its ledger.
        Some(HookProgram::Claude | HookProgram::Codex | HookProgram::Gemini) => {
            if let Err(failure) = start_session(ui, env, ledger_args, args) {
                ui.problem(&failure);
            }
            Ok(Exit::Done)
        }
    }
}

/// Answers a SessionStart hook: the ledger becomes part of the session's context. In a repository, how to leave word
/// always does. Fails outside of one.
fn start_session(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<()> {
    let session = ui.input().map(|input| draft::session_name(&agent_hooks::started_session(&input)));
    let named = session.and_then(|session| name_session(ui, env, &session).map(|()| session));
    let session = named.unwrap_or_else(|failure| {
        ui.problem(&failure);
        String::new()
    });
    let mut git = Git::find(env)?;
    let repo = git.discover()?;
    let ledger = Ledger::in_repo(ui, env, ledger_args, git, repo);
    let context =
        ledger.and_then(|ledger| session_context(ui, env, &ledger, args, &session)).unwrap_or_else(|failure| {
            ui.problem(&failure);
            LEAVE_WORD.to_owned()
        });
    ui.line(serde_json::to_string(&agent_hooks::session_start_answer(context.trim_end())).unwrap_or_default());
    Ok(())
}

/// What a session is told at its start. If the events cannot be read, that is the last page.
fn session_context(ui: &Ui, env: &Env, ledger: &Ledger, args: &Args, session: &str) -> Result<String> {
    if !session.is_empty() && !ui.is_dry() {
        // The ledger is shown even where nothing can be written.
        if let Err(failure) = session_log::begin(&ledger.state(), session, env.now.into()) {
            ui.problem(&failure);
        }
    }
    with_content(ui, env, ledger, |content| text(&content, args.max_bytes)).or_else(|failure| {
        ui.problem(&failure);
        let mut page = Vec::new();
        OldPage::find(ledger)?.read(&mut |piece| page.extend_from_slice(piece))?;
        let page = String::from_utf8_lossy(&page);
        let page = view::without_footer(&page);
        let (content, said) = match page.trim() {
            "" => (BannerContent::Nothing, UNREADABLE.to_owned()),
            page => (BannerContent::Legacy(page), format!("{UNREADABLE} {LAST_PAGE}")),
        };
        Ok(format!("{said}\n\n{}", text(&content, args.max_bytes.saturating_sub(said.len() + 2))))
    })
}

/// What a session is told, in at most `max` bytes unless how to leave word takes more.
fn text(content: &BannerContent<'_>, max: usize) -> String {
    let room = max.saturating_sub(LEAVE_WORD.len() + 2);
    let told = match content {
        BannerContent::Nothing => String::new(),
        BannerContent::Legacy(text) => cut(text, room),
        BannerContent::Ledger { view, sources } => {
            let mut lines = banner(view, sources, room);
            let size: usize = lines.iter().map(|line| line.len() + 1).sum();
            lines.extend(view::context(view, room.saturating_sub(size)));
            lines.join("\n")
        }
    };
    if told.is_empty() { LEAVE_WORD.to_owned() } else { format!("{}\n\n{LEAVE_WORD}", told.trim_end()) }
}

/// Tells the later commands of the session which session they belong to.
fn name_session(ui: &Ui, env: &Env, session: &str) -> Result<()> {
    let Some(file) = agent_hooks::environment_file(env).filter(|_| !ui.is_dry()) else { return Ok(()) };
    if session.is_empty() {
        return Ok(());
    }
    let begin = if fs::ends_line(file)? { "" } else { "\n" };
    fs::append_line(file, &format!("{begin}export {SESSION_VARIABLE}='{session}'"))
}

/// What a banner shows.
enum BannerContent<'t> {
    Nothing,
    /// A file from before there were events.
    Legacy(&'t str),
    Ledger {
        view: &'t View<'t>,
        sources: &'t [&'t Source<'t>],
    },
}

fn show(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, ledger_args)?;
    let shown = with_content(ui, env, &ledger, |content| match &content {
        BannerContent::Nothing if ui.is_json() => ui.render(&BannerAnswer::default()),
        BannerContent::Legacy(text) if ui.is_json() => {
            ui.render(&BannerAnswer { text: Some(text), ..BannerAnswer::default() })
        }
        BannerContent::Ledger { view, sources } if ui.is_json() => ui.render(&answer(view, sources)),
        content => {
            if let BannerContent::Nothing = content {
                ui.note(format!("there are no events in {}", ledger.dir.join(EVENTS).display()));
            }
            text(content, args.max_bytes).lines().map(printable).collect::<Vec<_>>().join("\n")
        }
    })?;
    ui.line(shown);
    Ok(Exit::Done)
}

fn answer<'a>(view: &View<'a>, sources: &'a [&Source<'_>]) -> BannerAnswer<'a> {
    let event = |source: &'a &Source<'_>| BannerEvent {
        ts: source.ts.to_string(),
        time: source.ts.render(),
        agent: source.agent,
        title: source.about(),
        branch: source.branch,
    };
    BannerAnswer {
        event_count: view.event_count,
        events: sources.iter().take(ANSWERED).map(event).collect(),
        goal: view.register(Section::Goal),
        now: view.register(Section::Now),
        text: None,
    }
}

/// Synthesises, and passes `then` what the banner shows. `then` prints nothing, because the ledger may be locked.
fn with_content<T>(ui: &Ui, env: &Env, ledger: &Ledger, then: impl Fn(BannerContent<'_>) -> T) -> Result<T> {
    if !has_events(ledger)? {
        let current = ledger.current()?;
        let page = current.as_ref().and_then(|current| current.text());
        return Ok(then(page.map_or(BannerContent::Nothing, BannerContent::Legacy)));
    }
    let window = ledger.settings.printed.session_window;
    let mut refused = None;
    if !ui.is_dry() {
        let options = SynthOptions { may_be_quiet: true, ..SynthOptions::default() };
        let shown = ledger.lock().and_then(|_lock| {
            synthesise(ui, env, ledger, &options, |synthesis| match synthesis {
                Synthesis::Done { join, view, .. } if view.event_count > 0 => {
                    let sources = join.newest_first();
                    Some(match window == ledger.page.session_window {
                        true => then(BannerContent::Ledger { view, sources: &sources }),
                        false => then(BannerContent::Ledger { view: &View::new(join, window), sources: &sources }),
                    })
                }
                _ => None,
            })
        });
        match shown {
            Ok(Some(shown)) => return Ok(shown),
            Ok(None) => {}
            Err(failure) => refused = Some(failure),
        }
    }
    let events = load_events(ledger)?;
    let snapshots = events.snapshots()?;
    // The banner is shown even if `current.md` cannot be written.
    if let Some(failure) = refused {
        ui.problem(&Failure { message: format!("{CURRENT} was not written: {}", failure.message), ..failure });
    }
    let join = join(&events.records, &snapshots, &Filter::default());
    if join.sources.is_empty() {
        let current = ledger.current()?;
        let page = current.as_ref().and_then(|current| current.text()).filter(|text| view::footer(text).is_none());
        return Ok(then(page.map_or(BannerContent::Nothing, BannerContent::Legacy)));
    }
    Ok(then(BannerContent::Ledger { view: &View::new(&join, window), sources: &join.newest_first() }))
}

/// Renders the banner itself: as many of the newest events as fit into `max` bytes.
fn banner(view: &View<'_>, sources: &[&Source<'_>], max: usize) -> Vec<String> {
    let plural = if sources.len() == 1 { "" } else { "s" };
    let head = vec![TOP.to_owned(), format!("📋 Continuity synthesized from {} event{plural}:", sources.len())];
    let mut tail = vec![String::new()];
    for section in [Section::Goal, Section::Now] {
        let (title, text) = (section.title(), view.register(section));
        tail.extend(text.map(|text| format!("   {title}: {}", cut(&printable(&text.replace('\n', " ")), max / 4))));
    }
    tail.push(BOTTOM.to_owned());
    let size = |lines: &[String]| lines.iter().map(|line| line.len() + 1).sum::<usize>();
    let mut left = max.saturating_sub(size(&head) + size(&tail) + 48);
    let mut shown = Vec::new();
    for source in sources.iter().take(LISTED) {
        let line = format!("   • {}", view::source_line(source));
        if line.len() + 1 > left {
            break;
        }
        left -= line.len() + 1;
        shown.push(line);
    }
    let more = sources.len() - shown.len();
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
    let mut end = max.saturating_sub(24);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let whole = text[..end].rfind('\n').filter(|at| *at > end / 2).unwrap_or(end);
    let more = text[whole..].lines().filter(|line| !line.is_empty()).count();
    let cut = match text[whole..].contains('\n') {
        true => format!("{}\n… {more} more", &text[..whole]),
        false => format!("{}…", &text[..whole]),
    };
    if cut.len() <= max { cut } else { String::new() }
}
