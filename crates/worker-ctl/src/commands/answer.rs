//! `answer`: answers a question that a worker's program asks in a menu.

use clap::Args as ClapArgs;
use serde_json::{Value, json};
use shopfloor_core::agents::{self, HookEvent};
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::ui::printable;

use crate::apply::deliver::unrecorded;
use crate::apply::startup;
use crate::commands;
use crate::context::Context;
use crate::failure;
use crate::menu::{Menu, Wanted};
use crate::plan::machine::{Input, refuse_while_limited};
use crate::program_config::regex;
use crate::tmux::typing;
use crate::worker::{Activity, ReportedActivity, Worker};
use crate::worker_notes::Fault;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The worker
    pub worker: String,
    /// The line to choose: its number, or a regular expression that matches no other line in any case
    /// [default: print the lines]
    pub line: Option<String>,
    /// Answer only if the menu is still this one, by the `menu` that the lines were printed with under --json
    #[arg(long, value_name = "ID", requires = "line")]
    pub menu: Option<String>,
    /// Answer even if somebody types in the worker's terminal, or its program has hit a usage limit
    #[arg(long)]
    pub force: bool,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    let name = &args.worker;
    let wanted = args.line.as_deref().map(parse).transpose()?;
    let (worker, _lock) = commands::locked(ctx, name)?;
    if worker.program.pane_id.is_none() {
        worker.require_tree(&ctx.source())?;
    }
    // A menu about the limit changes the model.
    refuse_while_limited(&worker, &Input::Message { force: args.force || wanted.is_none() }, ctx.now())?;
    if worker.reported.activity != Activity::Asks
        && worker.program.fault != Some(Fault::NotReady)
        && tells(ctx, &worker)
        && ctx.question_on_screen(&worker).is_none()
    {
        return Err(failure::WRONG_STATE.failure(format!("{name} asks nothing in a menu")).hint(format!(
            "look at its terminal with `worker-ctl peek {name}`, and reply with `worker-ctl message {name} TEXT`"
        )));
    }
    let pane = commands::pane(ctx, name)?;
    let tmux = ctx.tmux()?;
    let attach = format!("answer with `worker-ctl attach {name}`");
    // A program that has ended asks nothing more.
    let screen = if pane.end.is_some() { String::new() } else { tmux.capture(&pane.id, 0)? };
    let menu = Menu::read(&screen)
        .ok_or_else(|| failure::WRONG_STATE.failure(format!("the screen of {name} shows no menu")).hint(&attach))?;
    let asked = digest(&worker, &screen, &menu);
    let Some(wanted) = wanted else {
        if !ctx.is_dry {
            remember(ctx, &worker, Some(asked), false)?;
        }
        return Ok(print(ctx, &worker, (&screen, &menu), None));
    };
    let is_other = |listed: &String| !is_same(listed, &asked);
    // What was listed elsewhere meanwhile is not what this answer is about.
    if args.menu.as_ref().or(worker.program.listed_question.as_ref()).is_some_and(is_other) {
        return Err(failure::CHANGED
            .failure(format!("{name} asks another question than the one that was listed"))
            .hint(format!("list its lines with `worker-ctl answer {name}`")));
    }
    let chosen = match menu.find(&wanted)[..] {
        [one] => one,
        ref found => {
            let why = if found.is_empty() { "no line of the menu is" } else { "several lines of the menu are" };
            return Err(Failure::usage(format!("{why} `{}`", printable(args.line.as_deref().unwrap_or_default())))
                .details(menu.lines.iter().map(|line| format!("  {}", printable(line))))
                .hint("give the number of a line"));
        }
    };
    if ctx.is_dry {
        let would = format!("choose `{}` in the menu of {name}", menu.lines[chosen]);
        return Ok(ctx.ui.would(&answer(&worker, (&screen, &menu), Some(chosen)), &[would]));
    }
    if !args.force {
        typing::require_free(&tmux, name, &pane.id)?;
    }
    startup::choose(ctx, &worker, &pane, (&menu, chosen)).map_err(|failure| failure.hint(&attach))?;
    record(ctx, &worker, tmux.capture(&pane.id, 0))?;
    Ok(print(ctx, &worker, (&screen, &menu), Some(chosen)))
}

/// Whether a program tells by its hooks when it asks. Of others only the screen shows it.
fn tells(ctx: &Context<'_>, worker: &Worker) -> bool {
    let hooks = ctx.root.agent_of(worker).ok().and_then(|agent| agents::find(agent.hooks.as_deref()?)?.hooks);
    hooks.is_some_and(|hooks| hooks.events.iter().any(|(_, event)| *event == HookEvent::Asks))
}

/// How many lines above a menu tell its question.
const ABOVE: usize = 3;

/// What makes a question this one: another may have the same lines. Blanks at the ends of lines are not part of it, because
/// not everybody who shows a screen has them.
pub fn digest(worker: &Worker, screen: &str, menu: &Menu) -> String {
    let ReportedActivity { activity_at, activity_text, question_id, .. } = &worker.reported;
    let above = screen.lines().take(menu.first).map(str::trim_end).filter(|line| !line.is_empty());
    let above: Vec<&str> = above.collect::<Vec<_>>().into_iter().rev().take(ABOVE).collect();
    let screen = Digest::of(format!("{above:?} {:?}", menu.lines).as_bytes());
    let report = match worker.reported.activity {
        Activity::Asks => {
            Digest::of(format!("{activity_at:?} {activity_text:?} {question_id:?}").as_bytes()).to_string()
        }
        _ => String::new(),
    };
    format!("{screen}.{report}")
}

/// Whether a question is the one that was listed. A menu can be on the screen before the program's hook tells of it.
fn is_same(listed: &str, asked: &str) -> bool {
    listed == asked || listed.ends_with('.') && asked.starts_with(listed)
}

fn remember(
    ctx: &Context<'_>,
    Worker { name, reported: asked, .. }: &Worker,
    listed: Option<String>,
    is_over: bool,
) -> Result<()> {
    ctx.update_worker(name, |worker| {
        // What is answered is asked no more; no hook of a program tells so after a "no".
        if is_over && worker.reported == *asked {
            worker.reported = ReportedActivity::default();
        }
        worker.program.listed_question = listed;
    })
}

/// Records that the question was answered. Another one may have come at once.
fn record(ctx: &Context<'_>, worker: &Worker, screen: Result<String>) -> Result<()> {
    let recorded = screen.and_then(|screen| remember(ctx, worker, None, Menu::read(&screen).is_none()));
    recorded.map_err(|cause| {
        let hint = format!("what it asks now is another question: `worker-ctl peek {}` shows it", worker.name);
        unrecorded(cause, &format!("the question of {} was answered", worker.name), hint)
    })
}

/// Exit 2 when it is neither a number nor a regular expression.
fn parse(line: &str) -> Result<Wanted> {
    match line.parse() {
        Ok(number) => Ok(Wanted::Number(number)),
        Err(_) => regex(&format!("(?i){line}")).map(Wanted::Pattern).map_err(|_| {
            Failure::malformed(format!("`{}` is neither a number nor a regular expression", printable(line)))
                .hint("give the number of a line; without one, the lines are printed")
        }),
    }
}

/// The answer with `--json`.
fn answer(worker: &Worker, (screen, menu): (&str, &Menu), chosen: Option<usize>) -> Value {
    let (question, chosen) = (&worker.reported.activity_text, chosen.map(|chosen| &menu.lines[chosen]));
    let keys =
        json!({ "question": question, "lines": menu.lines, "menu": digest(worker, screen, menu), "chosen": chosen });
    commands::about(&worker.name, keys)
}

/// Prints the chosen line, or else all of them.
fn print(ctx: &Context<'_>, worker: &Worker, (screen, menu): (&str, &Menu), chosen: Option<usize>) -> Exit {
    match chosen {
        _ if ctx.ui.is_json() => ctx.ui.json(&answer(worker, (screen, menu), chosen)),
        Some(chosen) => ctx.ui.line(printable(&menu.lines[chosen])),
        None => menu.lines.iter().for_each(|line| ctx.ui.line(printable(line))),
    }
    Exit::Done
}
