//! Reads the screen of a program that has just been started, and walks through its menus.

use std::thread;
use std::time::{Duration, Instant};

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::text::printable;

use crate::context::Context;
use crate::failure;
use crate::menu::{self, Menu};
use crate::poll;
use crate::program_config::{AgentTable, Dialog, regex};
use crate::tmux::{Pane, Tmux};
use crate::worker::{Session, Worker};

/// How often a screen is checked.
const POLL: Duration = Duration::from_millis(50);

/// How many seconds a program may take until it takes input, unless `timeout_secs` is set.
const READY_SECS: u64 = 30;

/// How long a program is watched that nothing tells of whether it takes input: it may end at once.
pub const STARTED: Duration = Duration::from_millis(200);

/// A menu that has not changed for this long takes keys.
const SETTLED: Duration = Duration::from_millis(200);

/// How long a menu may take to be walked through and to be gone.
const MENU_LIMIT: Duration = Duration::from_secs(10);

/// A screen that has not changed for this long waits for input.
const STILL: Duration = Duration::from_millis(500);

/// Waits until a program is ready for input, and answers the dialogs that it shows first. The screen is read only here,
/// once at start-up. A screen that shows a dialog is never ready. Returns its last lines if the time is up.
pub fn wait_ready(
    ctx: &Context<'_>,
    tmux: &Tmux,
    worker: &Worker,
    pane: &Pane,
    agent: &AgentTable,
) -> Result<Option<Vec<String>>> {
    if let Some(millis) = agent.ready.delay_ms {
        thread::sleep(Duration::from_millis(millis));
    }
    let is_continued = worker.work.conversation.is_some() && !agent.resume_conversation.is_empty();
    let pattern = agent.ready.continued.as_ref().filter(|_| is_continued).or(agent.ready.pattern.as_ref());
    let pattern = pattern.map(|pattern| regex(pattern)).transpose()?;
    let mut dialogs: Vec<&Dialog> = agent.dialogs.iter().collect();
    let mut keys = (!agent.startup_keys.is_empty()).then_some(&agent.startup_keys);
    let has_ended = || Ok::<_, Failure>(tmux.pane_of(worker)?.is_none_or(|pane| pane.end.is_some()));
    if pattern.is_none() && keys.is_none() && dialogs.is_empty() {
        return match poll::holds(STARTED, POLL, || has_ended().unwrap_or(false)) {
            true => Err(ended_early(tmux, worker, pane)),
            false => Ok(None),
        };
    }
    let limit = Duration::from_secs(agent.ready.timeout_secs.unwrap_or(READY_SECS));
    let (start, mut since, mut last) = (Instant::now(), Instant::now(), String::new());
    while start.elapsed() < limit {
        if has_ended()? {
            return Err(ended_early(tmux, worker, pane));
        }
        let screen = tmux.capture(&pane.id, 0)?;
        if screen != last {
            (since, last) = (Instant::now(), screen.clone());
        }
        let is_shown = pattern.as_ref().is_some_and(|pattern| pattern.is_match(&screen));
        let dialog = dialogs.iter().position(|dialog| dialog.is_shown(&screen));
        let wants_keys = is_shown || since.elapsed() >= STILL && !screen.trim().is_empty();
        if (dialog.is_some() || keys.is_some() && wants_keys) && tmux.typist(&pane.id)?.is_some() {
            // A person types there, and may answer.
        } else if let Some(at) = dialog {
            answer(tmux, pane, &mut dialogs, at, &screen, since.elapsed())?;
        } else if let Some(typed) = keys.filter(|_| wants_keys) {
            type_keys(tmux, pane, typed)?;
            keys = None;
            if pattern.is_none() {
                return Ok(None);
            }
        } else if is_shown || pattern.is_none() && keys.is_none() && since.elapsed() >= STILL {
            return Ok(None);
        }
        ctx.check_ending()?;
        thread::sleep(POLL);
    }
    Ok(Some(tmux.last_lines(&pane.id, 5).unwrap_or_default()))
}

/// The failure of a program that has ended already, with the last lines that it showed.
fn ended_early(tmux: &Tmux, worker: &Worker, pane: &Pane) -> Failure {
    // On a loaded machine tmux may not have read all of them yet.
    let look = |_| {
        let lines = tmux.last_lines(&pane.id, 5).unwrap_or_default();
        if lines.is_empty() {
            thread::sleep(POLL);
        }
        Some(lines).filter(|lines| !lines.is_empty())
    };
    let shown = (0..40).find_map(look).unwrap_or_default();
    let how = match tmux.pane_of(worker).ok().flatten().and_then(|pane| pane.end) {
        Some(Session::Code(code)) => format!(" (exit {code})"),
        Some(Session::Signal(signal)) => format!(" (signal {signal})"),
        Some(Session::Up | Session::Down) | None => String::new(),
    };
    Failure::failed(format!("the program of {} ended before it was ready{how}", worker.name))
        .details(shown.iter().map(|line| format!("  {}", printable(line))))
        .hint(format!("look at its terminal with `worker-ctl peek {}`, or run its command by hand", worker.name))
}

/// Takes one step towards the answer of a dialog. A menu gets one key, and then its screen is looked at again.
fn answer(
    tmux: &Tmux,
    pane: &Pane,
    dialogs: &mut Vec<&Dialog>,
    at: usize,
    screen: &str,
    unchanged_for: Duration,
) -> Result<()> {
    match dialogs[at] {
        Dialog::Menu { choose, .. } => {
            // A program may lose a key that comes right after it has drawn a menu.
            if unchanged_for < SETTLED {
                return Ok(());
            }
            let Some(key) = menu::next_key(screen, &regex(choose)?) else { return Ok(()) };
            type_keys(tmux, pane, &[key.to_owned()])
        }
        Dialog::Keys { keys, .. } => {
            type_keys(tmux, pane, keys)?;
            dialogs.remove(at);
            Ok(())
        }
    }
}

/// Chooses a line of a worker's menu, one key at a time, and sees the menu gone. Fails if another menu or question comes
/// in between.
pub fn choose(ctx: &Context<'_>, worker: &Worker, pane: &Pane, (menu, chosen): (&Menu, usize)) -> Result<()> {
    let tmux = ctx.tmux()?;
    let failed = |why: &str| failure::NOT_DELIVERED.failure(format!("the question was not answered: {why}"));
    let (start, mut since, mut last, mut is_confirmed) = (Instant::now(), Instant::now(), String::new(), false);
    let mut confirmed = String::new();
    while start.elapsed() < MENU_LIMIT {
        let screen = tmux.capture(&pane.id, 0)?;
        if screen != last {
            (since, last) = (Instant::now(), screen.clone());
        }
        let now = Menu::read(&screen).filter(|now| now.lines == menu.lines);
        match now {
            None if is_confirmed => return Ok(()),
            // Another question with the same lines.
            Some(_) if is_confirmed && screen != confirmed => return Ok(()),
            None => return Err(failed("the menu is not there any more")),
            // A program may lose a key that comes right after it has drawn a menu.
            Some(now) if since.elapsed() >= SETTLED && !is_confirmed => {
                let key = menu::key(now.selected, chosen);
                is_confirmed = key == "Enter";
                if is_confirmed && ctx.worker(&worker.name)?.reported != worker.reported {
                    return Err(failed("another question has come"));
                }
                confirmed.clone_from(&screen);
                type_keys(&tmux, pane, &[key.to_owned()])?;
            }
            Some(_) => thread::sleep(POLL),
        }
        ctx.check_ending()?;
    }
    Err(failed("the menu is still there"))
}

fn type_keys(tmux: &Tmux, pane: &Pane, keys: &[String]) -> Result<()> {
    for key in keys {
        tmux.must(&["send-keys", "-t", &pane.id, key])?;
        thread::sleep(2 * POLL);
    }
    thread::sleep(2 * POLL);
    Ok(())
}
