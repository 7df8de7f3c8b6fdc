//! `banner`: what a session needs to know at its start.

use std::path::Path;

use serde_json::{Value, json};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::synth;
use crate::cli::{BannerArgs, HookOf, Place};
use crate::draft;
use crate::facts::gather::everything;
use crate::facts::{CURRENT, EVENTS, Ledger};
use crate::plan::{Filter, Source};
use crate::view::{self, View};

const TOP: &str = "━━━ SESSION START ━━━";
const BOTTOM: &str = "━━━━━━━━━━━━━━━━━━━━━";

pub fn run(ui: &Ui, env: &Env, place: &Place, args: &BannerArgs) -> Result<Exit> {
    match args.for_hook {
        None => show(ui, env, place, args),
        // A session must start, whatever is wrong with its ledger.
        Some(HookOf::Claude) => {
            if let Err(failure) = answer(ui, env, place, args) {
                ui.problem(&failure);
            }
            Ok(Exit::Done)
        }
    }
}

/// What a SessionStart hook of Claude Code answers: the ledger is part of the session's context.
fn answer(ui: &Ui, env: &Env, place: &Place, args: &BannerArgs) -> Result<()> {
    if let Err(failure) = name_session(ui, env) {
        ui.problem(&failure);
    }
    let ledger = Ledger::find(ui, env, place)?;
    let mut context = String::new();
    told(ui, env, place, &ledger, args, |told| {
        context = match told {
            Told::Legacy(text) => text.to_owned(),
            Told::Nothing => String::new(),
            Told::Ledger { lines, text, .. } => format!("{}\n\n{text}", lines.join("\n")),
        };
        Ok(())
    })?;
    let context = cut(&context, args.max_bytes);
    let output = json!({ "hookEventName": "SessionStart", "additionalContext": context });
    if !context.is_empty() {
        ui.line(json!({ "hookSpecificOutput": output }));
    }
    Ok(())
}

/// Tells the session's later commands which session they are of: Claude Code reads the file before each of them
/// (<https://code.claude.com/docs/en/hooks>, "Persisting environment variables").
fn name_session(ui: &Ui, env: &Env) -> Result<()> {
    let Some(file) = env.var("CLAUDE_ENV_FILE").map(Path::new).filter(|file| file.is_absolute()) else { return Ok(()) };
    let input: Value = serde_json::from_slice(&ui.input()?).unwrap_or_default();
    let session = draft::session_of(input["session_id"].as_str().unwrap_or_default());
    if session.is_empty() {
        return Ok(());
    }
    let begin = if fs::ends_line(file)? { "" } else { "\n" };
    fs::append_line(file, &format!("{begin}export {}='{session}'", draft::SESSION))
}

/// What there is to tell.
enum Told<'t> {
    Nothing,
    /// A file from before there were events.
    Legacy(&'t str),
    Ledger {
        lines: Vec<String>,
        view: &'t View<'t>,
        sources: &'t [&'t Source<'t>],
        text: String,
    },
}

fn show(ui: &Ui, env: &Env, place: &Place, args: &BannerArgs) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, place)?;
    told(ui, env, place, &ledger, args, |told| {
        match told {
            Told::Nothing if ui.is_json() => {
                ui.json(&json!({ "event_count": 0, "events": [], "goal": null, "now": null }));
            }
            Told::Nothing => ui.note(format!("there are no events in {}", ledger.dir.join(EVENTS).display())),
            Told::Legacy(text) if ui.is_json() => {
                ui.json(&json!({ "event_count": 0, "events": [], "goal": null, "now": null, "text": text }));
            }
            Told::Legacy(text) => cut(text, args.max_bytes).lines().for_each(|line| ui.line(printable(line))),
            Told::Ledger { view, sources, .. } if ui.is_json() => {
                let event = |s: &&Source<'_>| json!({ "ts": s.ts.to_string(), "agent": s.agent, "title": s.about(), "branch": s.branch });
                let events: Vec<_> = sources.iter().map(event).collect();
                ui.json(
                    &json!({ "event_count": view.event_count, "events": events, "goal": view.goal, "now": view.now }),
                );
            }
            Told::Ledger { lines, .. } => lines.iter().for_each(|line| ui.line(line)),
        }
        Ok(Exit::Done)
    })
}

/// Synthesises, and gives `then` what there is to tell.
fn told<T>(
    ui: &Ui,
    env: &Env,
    place: &Place,
    ledger: &Ledger,
    args: &BannerArgs,
    then: impl FnOnce(Told<'_>) -> Result<T>,
) -> Result<T> {
    if ledger.open(EVENTS)?.is_none() {
        let current = ledger.current()?;
        return then(current.as_ref().and_then(|current| current.text()).map_or(Told::Nothing, Told::Legacy));
    }
    if !place.dry_run {
        // Whatever hinders writing, what is said is told all the same.
        if let Err(failure) = synth::silently(ui, env, ledger) {
            ui.problem(&Failure { message: format!("{CURRENT} was not written: {}", failure.message), ..failure });
        }
    }
    let events = everything(ledger)?;
    let snapshots = events.snapshots()?;
    let join = events.join(&snapshots, &Filter::default());
    let view = View::of(&join, ledger.settings.session_window);
    if view.event_count == 0 {
        let current = ledger.current()?;
        let page = current.as_ref().and_then(|current| current.text()).filter(|text| view::footer(text).is_none());
        return then(page.map_or(Told::Nothing, Told::Legacy));
    }
    let mut sources: Vec<&Source<'_>> = join.sources.iter().collect();
    sources.sort_unstable_by(|a, b| (b.ts, &b.agent, b.id).cmp(&(a.ts, &a.agent, a.id)));
    let lines = lines(&view, &sources, args.max_bytes);
    let text = view.render(events.skipped.len(), None);
    then(Told::Ledger { lines, view: &view, sources: &sources, text })
}

/// The banner: newest first, as many events as fit into the bytes it may have.
fn lines(view: &View<'_>, sources: &[&Source<'_>], max: usize) -> Vec<String> {
    let plural = if sources.len() == 1 { "" } else { "s" };
    let head = vec![TOP.to_owned(), format!("📋 Continuity synthesized from {} event{plural}:", sources.len())];
    let mut tail = vec![String::new()];
    for (name, text) in [("Goal", view.goal), ("Now", view.now)] {
        tail.extend(text.map(|text| format!("   {name}: {}", cut(&printable(&text.replace('\n', " ")), max / 4))));
    }
    tail.push(BOTTOM.to_owned());
    let size = |lines: &[String]| lines.iter().map(|line| line.len() + 1).sum::<usize>();
    let mut left = max.saturating_sub(size(&head) + size(&tail) + 32);
    let mut shown = Vec::new();
    for source in sources {
        let line = format!("   • {}", view::line(source));
        if line.len() + 1 > left {
            break;
        }
        left -= line.len() + 1;
        shown.push(line);
    }
    let more = sources.len() - shown.len();
    if more > 0 {
        shown.push(format!("   … {more} more"));
    }
    let lines = [head, shown, tail].concat();
    if size(&lines) <= max {
        return lines;
    }
    cut(&lines.join("\n"), max.saturating_sub(1)).lines().map(str::to_owned).collect()
}

/// At most this many bytes, whole lines where that is possible, and how much is left out.
fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    // Room for what is said of the rest.
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
