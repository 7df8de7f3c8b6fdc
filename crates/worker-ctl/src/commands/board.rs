//! The board: what `status --watch` shows on a terminal. Who needs a person comes first.

use anstyle::{AnsiColor, Effects, Style};
use shopfloor_core::ui::printable;

use crate::attention::{Need, since};
use crate::store::State;
use crate::worker::{Activity, Session, Worker};

/// The terminal that shows the board.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    pub width: usize,
    pub height: usize,
    pub has_colors: bool,
}

/// What a worker is up to, in the order of the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Needs(Need),
    /// A text may be in its input line, of which a note tells.
    InDoubt,
    Works,
    Idle,
    Offline,
}

impl Rank {
    fn of(worker: &Worker, need: Option<Need>) -> Rank {
        match (need, worker.status()) {
            (Some(need), _) => Rank::Needs(need),
            (None, "offline") => Rank::Offline,
            (None, "idle") => Rank::Idle,
            _ if worker.program.is_in_doubt => Rank::InDoubt,
            _ => Rank::Works,
        }
    }

    fn needs_person(self) -> bool {
        self <= Rank::InDoubt
    }

    fn style(self) -> Style {
        match self {
            Rank::Needs(Need::Asks) => AnsiColor::Magenta.on_default().bold(),
            Rank::Needs(Need::Fault) => AnsiColor::Red.on_default().bold(),
            Rank::Needs(_) | Rank::InDoubt => AnsiColor::Yellow.on_default().bold(),
            Rank::Works => AnsiColor::Green.on_default(),
            Rank::Idle | Rank::Offline => Style::new() | Effects::DIMMED,
        }
    }
}

/// The lines of the board. `now` is in seconds since 1970, `clock` is how it is shown.
pub fn lines(
    state: &State,
    need: &dyn Fn(&Worker) -> Option<Need>,
    is_kept_up: bool,
    now: i64,
    clock: &str,
    screen: Screen,
) -> Vec<String> {
    let mut workers: Vec<(Rank, &Worker)> =
        state.workers.values().map(|worker| (Rank::of(worker, need(worker)), worker)).collect();
    // Within a rank, who has waited longest.
    workers.sort_by_key(|(rank, worker)| (*rank, since(worker), &worker.name));
    let count = |is: &dyn Fn(Rank) -> bool| workers.iter().filter(|(rank, _)| is(*rank)).count();
    let (needy, works) = (count(&Rank::needs_person), count(&|rank| rank == Rank::Works));
    let (idle, offline) = (count(&|rank| rank == Rank::Idle), count(&|rank| rank == Rank::Offline));
    let not_up = if is_kept_up { "" } else { ", no `up` runs" };
    let head = format!("{clock}  {needy} need you, {works} at work, {idle} idle, {offline} offline{not_up}");
    let width = state.workers.keys().map(String::len).max().unwrap_or(0).max("WORKER".len());
    let mut lines = vec![cut(&head, screen.width), String::new()];
    let titles = row(width, "WORKER", "STATE", "DOES", "FOR", "WHAT");
    lines.push(paint(&cut(&titles, screen.width), Style::new() | Effects::DIMMED, screen));
    let room = screen.height.saturating_sub(lines.len());
    let room = if workers.len() > room { room.saturating_sub(1) } else { room };
    let hidden = workers.len().saturating_sub(room);
    for (rank, worker) in workers.iter().take(room) {
        let (status, does) = (worker.status(), does(worker));
        let line = row(width, &worker.name, status, does, &age(now - since(worker)), &what(*rank, worker));
        lines.push(paint(&cut(&line, screen.width), rank.style(), screen));
    }
    if hidden > 0 {
        lines.push(cut(&format!("and {hidden} more"), screen.width));
    }
    lines.truncate(screen.height.max(1));
    lines
}

fn row(width: usize, name: &str, state: &str, does: &str, age: &str, what: &str) -> String {
    format!("{name:width$}  {state:12}  {does:5}  {age:>4}  {what}").trim_end().to_owned()
}

fn does(worker: &Worker) -> &'static str {
    match worker.reported.activity {
        Activity::Unknown => "",
        activity => activity.word(),
    }
}

fn age(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3_600 => format!("{}m", seconds / 60),
        seconds @ 3_600..86_400 => format!("{}h", seconds / 3_600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

/// What a person should know first: what there is to do, else the task.
fn what(rank: Rank, worker: &Worker) -> String {
    let name = &worker.name;
    let prompt = worker.work.prompt.as_deref().and_then(|prompt| prompt.lines().next()).unwrap_or_default();
    let text = match rank {
        Rank::Needs(Need::Asks) => {
            format!("answer {name}: {}", worker.reported.activity_text.as_deref().unwrap_or("a question"))
        }
        Rank::Needs(Need::Fault) => {
            let fault = worker.program.fault.as_ref().map(ToString::to_string).unwrap_or_default();
            let hint = if worker.program.session == Session::Up { "attach" } else { "peek" };
            format!("{hint} {name}: {fault}")
        }
        Rank::Needs(Need::Review) => format!("review {name}: {prompt}"),
        Rank::Needs(Need::Fresh | Need::Resume) => format!("resume {name}: {prompt}"),
        _ => match worker.notes.first() {
            Some(note) => note.to_string(),
            None => prompt.to_owned(),
        },
    };
    printable(&text).trim().to_owned()
}

/// Cuts a line, so that it takes one row of the terminal.
fn cut(line: &str, width: usize) -> String {
    if line.chars().map(columns).sum::<usize>() <= width {
        return line.to_owned();
    }
    let (mut kept, mut used) = (String::new(), 1);
    for c in line.chars() {
        used += columns(c);
        if used > width {
            break;
        }
        kept.push(c);
    }
    kept + "…"
}

/// How many columns a character may take. Too many is no harm: the line is only cut earlier.
fn columns(c: char) -> usize {
    if matches!(c, '\u{1100}'..='\u{115f}' | '\u{2329}'..='\u{232a}' | '\u{2600}'..='\u{27bf}' | '\u{2e80}'..='\u{fffd}' | '\u{10000}'..)
    {
        2
    } else {
        1
    }
}

fn paint(line: &str, style: Style, screen: Screen) -> String {
    if screen.has_colors { format!("{style}{line}{style:#}") } else { line.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::note::Fault;
    use crate::worker::Task;

    #[test]
    fn who_needs_a_person_comes_first_and_each_worker_takes_one_row() {
        let mut state = State::new(Path::new("/s"));
        let mut add = |name: &str, change: &dyn Fn(&mut Worker)| {
            let mut worker = Worker::new(name, "claude", "/w", "b", 100);
            worker.program.session = Session::Up;
            change(&mut worker);
            state.put(worker);
        };
        add("idle", &|_| ());
        add("off", &|w| w.program.session = Session::Down);
        add("works", &|w| (w.task, w.work.prompt) = (Task::Working, Some("Write the parser\nand more".into())));
        add("crashed", &|w| w.program.fault = Some(Fault::Exit(7)));
        add("done", &|w| (w.task, w.work.prompt) = (Task::NeedsReview, Some("x".repeat(300))));
        add("asks", &|w| {
            (w.task, w.reported.activity, w.reported.activity_text) =
                (Task::Working, Activity::Asks, Some("Bash: rm -rf x".into()));
            w.reported.activity_at = Some("1970-01-01T00:01:30.000Z".into());
        });
        let screen = Screen { width: 60, height: 24, has_colors: false };
        let shown = lines(&state, &Need::of, false, 190, "12:00:00", screen);
        assert_eq!(shown[0], "12:00:00  3 need you, 1 at work, 1 idle, 1 offline, no `up`…");
        let names: Vec<_> = shown[3..].iter().map(|line| line.split_whitespace().next().unwrap()).collect();
        assert_eq!(names, ["asks", "crashed", "done", "works", "idle", "off"]);
        assert_eq!(shown[3], "asks     working       asks     1m  answer asks: Bash: rm -…");
        assert_eq!(shown[6], "works    working                1m  Write the parser");
        assert!(shown.iter().all(|line| line.chars().count() <= 60), "{shown:#?}");
        let small = lines(&state, &Need::of, true, 190, "12:00:00", Screen { height: 6, ..screen });
        assert_eq!((small.len(), small.last().unwrap().as_str()), (6, "and 4 more"));
        for height in 1..12 {
            assert!(
                lines(&state, &Need::of, true, 190, "12:00:00", Screen { height, ..screen }).len() <= height,
                "{height}"
            );
        }
        assert_eq!((cut("日本語だ", 8), cut("日本語だ!", 8)), ("日本語だ".to_owned(), "日本語…".to_owned()));
        let painted = lines(&state, &Need::of, true, 190, "12:00:00", Screen { has_colors: true, ..screen });
        assert!(painted[3].starts_with("\u{1b}[") && painted[3].ends_with("\u{1b}[0m"), "{painted:?}");
    }
}
