//! Who needs a person, and the board of agents that `status --watch` draws, those first.

use anstyle::{AnsiColor, Effects, Style};

use crate::text::printable;

/// Why an agent needs a person, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Its program asks a question.
    Asks,
    /// It cannot work.
    Fault,
    /// Its work waits for a review.
    Review,
    /// A text may be in its input line, or may not have arrived.
    InDoubt,
    /// Its program was started anew, and does not know the task.
    Fresh,
    /// Its program was restarted, knows the task, and waits.
    Resume,
    /// It has hit a usage limit, and nobody goes on with its task by himself.
    Limited,
    /// Its turn ended without a commit, perhaps with a question in its text.
    Rests,
    /// It has a task, and its program has shown no sign for a long time.
    Silent,
}

impl Need {
    const ALL: [Need; 9] = [
        Need::Asks,
        Need::Fault,
        Need::Review,
        Need::InDoubt,
        Need::Fresh,
        Need::Resume,
        Need::Limited,
        Need::Rests,
        Need::Silent,
    ];

    /// The word for it in answers.
    pub fn word(self) -> &'static str {
        match self {
            Need::Asks => "asks",
            Need::Fault => "error",
            Need::InDoubt => "in_doubt",
            Need::Review => "needs_review",
            Need::Fresh => "fresh",
            Need::Resume => "resume",
            Need::Limited => "limited",
            Need::Rests => "rests",
            Need::Silent => "silent",
        }
    }

    /// The need that this word stands for.
    pub fn of_word(word: &str) -> Option<Need> {
        Need::ALL.into_iter().find(|need| need.word() == word)
    }

    /// What a person does about it: `answer`, `look`, `review` or `resume`.
    pub fn verb(self) -> &'static str {
        match self {
            Need::Asks | Need::Rests => "answer",
            Need::Fault | Need::InDoubt | Need::Silent => "look",
            Need::Review => "review",
            Need::Fresh | Need::Resume | Need::Limited => "resume",
        }
    }
}

/// What an agent is up to, in the order of the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It needs a person.
    Needs(Need),
    /// It has a task and goes on with it.
    Works,
    /// It has no task.
    Idle,
    /// Its program does not run.
    Offline,
}

impl Standing {
    fn needs_person(self) -> bool {
        self < Standing::Works
    }

    fn style(self) -> Style {
        match self {
            Standing::Needs(Need::Asks) => AnsiColor::Magenta.on_default().bold(),
            Standing::Needs(Need::Fault) => AnsiColor::Red.on_default().bold(),
            Standing::Needs(_) => AnsiColor::Yellow.on_default().bold(),
            Standing::Works => AnsiColor::Green.on_default(),
            Standing::Idle | Standing::Offline => Style::new() | Effects::DIMMED,
        }
    }
}

/// A row of the board: one agent.
#[derive(Clone, Debug)]
pub struct BoardRow {
    /// Its name.
    pub name: String,
    /// The word for its state.
    pub state: String,
    /// What its program does; empty if nobody knows.
    pub does: String,
    /// When it came to be as it is, in seconds since 1970.
    pub since: Option<i64>,
    /// What a person should know first: what there is to do, else the task.
    pub what: String,
    /// What it is up to.
    pub standing: Standing,
}

/// The terminal that shows the board.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    /// Its columns.
    pub width: usize,
    /// Its rows.
    pub height: usize,
    /// Whether colours are shown.
    pub has_colors: bool,
}

/// The lines of the board. `now` is in seconds since 1970, `clock` is how it is shown; without `up` nobody reacts to what
/// agents do.
pub fn lines(mut rows: Vec<BoardRow>, is_kept_up: bool, (now, clock): (i64, &str), screen: Screen) -> Vec<String> {
    // Within a standing, who has waited longest.
    rows.sort_by(|a, b| (a.standing, a.since, &a.name).cmp(&(b.standing, b.since, &b.name)));
    let count = |is: &dyn Fn(Standing) -> bool| rows.iter().filter(|row| is(row.standing)).count();
    let (needy, works) = (count(&Standing::needs_person), count(&|standing| standing == Standing::Works));
    let (idle, offline) =
        (count(&|standing| standing == Standing::Idle), count(&|standing| standing == Standing::Offline));
    let not_up = if is_kept_up { "" } else { ", no `up` runs" };
    let head = format!("{clock}  {needy} need you, {works} at work, {idle} idle, {offline} offline{not_up}");
    let width = rows.iter().map(|row| printable(&row.name).chars().count()).max().unwrap_or(0).max("NAME".len());
    let width = width.min(screen.width / 3);
    let mut lines = vec![cut(&head, screen.width), String::new()];
    let titles = row(width, "NAME", ("STATE", "DOES", "FOR"), "WHAT");
    lines.push(paint(&cut(&titles, screen.width), Style::new() | Effects::DIMMED, screen));
    let room = screen.height.saturating_sub(lines.len());
    let room = if rows.len() > room { room.saturating_sub(1) } else { room };
    let hidden = rows.len().saturating_sub(room);
    for one in rows.iter().take(room) {
        let (name, age) =
            (cut(&printable(&one.name), width), one.since.map_or(String::new(), |since| age(now - since)));
        let line = row(width, &name, (&one.state, &one.does, &age), printable(&one.what).trim());
        lines.push(paint(&cut(&line, screen.width), one.standing.style(), screen));
    }
    if hidden > 0 {
        lines.push(cut(&format!("and {hidden} more"), screen.width));
    }
    lines.truncate(screen.height.max(1));
    lines
}

fn row(width: usize, name: &str, (state, does, age): (&str, &str, &str), what: &str) -> String {
    format!("{name:width$}  {state:12}  {does:5}  {age:>4}  {what}").trim_end().to_owned()
}

/// A line of a table in the colour of what it tells.
pub fn painted(line: &str, standing: Standing, has_colors: bool) -> String {
    paint(line, standing.style(), Screen { width: 0, height: 0, has_colors })
}

/// How long ago something was, in one word.
pub fn age(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3_600 => format!("{}m", seconds / 60),
        seconds @ 3_600..86_400 => format!("{}h", seconds / 3_600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

/// Cuts a line, so that it takes one row of a terminal with `width` columns.
pub fn cut(line: &str, width: usize) -> String {
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
    use super::*;

    #[test]
    fn who_needs_a_person_comes_first_and_each_agent_takes_one_row() {
        let row = |name: &str, standing: Standing, since: i64, what: &str| BoardRow {
            name: name.into(),
            state: "working".into(),
            does: String::new(),
            since: Some(since),
            what: what.into(),
            standing,
        };
        let rows = vec![
            row("idle", Standing::Idle, 0, ""),
            row("off", Standing::Offline, 0, ""),
            row("works", Standing::Works, 130, "Write the parser"),
            row("done", Standing::Needs(Need::Review), 100, &"x".repeat(300)),
            row("crashed", Standing::Needs(Need::Fault), 100, "exit 7"),
            row("asks", Standing::Needs(Need::Asks), 90, "answer asks: \u{1b}[2J rm -rf x"),
        ];
        let screen = Screen { width: 60, height: 24, has_colors: false };
        let shown = lines(rows.clone(), false, (190, "12:00:00"), screen);
        assert_eq!(shown[0], "12:00:00  3 need you, 1 at work, 1 idle, 1 offline, no `up`…");
        let names: Vec<_> = shown[3..].iter().map(|line| line.split_whitespace().next().unwrap()).collect();
        assert_eq!(names, ["asks", "crashed", "done", "works", "idle", "off"]);
        assert_eq!(shown[6], "works    working                1m  Write the parser");
        assert!(shown.iter().all(|line| line.chars().count() <= 60 && !line.contains('\u{1b}')), "{shown:#?}");
        let small = lines(rows.clone(), true, (190, "12:00:00"), Screen { height: 6, ..screen });
        assert_eq!((small.len(), small.last().unwrap().as_str()), (6, "and 4 more"));
        for height in 1..12 {
            assert!(lines(rows.clone(), true, (190, ""), Screen { height, ..screen }).len() <= height, "{height}");
        }
        for width in 1..90 {
            let shown = lines(rows.clone(), true, (190, ""), Screen { width, ..screen });
            assert!(shown.iter().all(|line| line.chars().count() <= width), "{width}: {shown:#?}");
        }
        assert_eq!((cut("日本語だ", 8), cut("日本語だ!", 8)), ("日本語だ".to_owned(), "日本語…".to_owned()));
        let painted = lines(rows, true, (190, "12:00:00"), Screen { has_colors: true, ..screen });
        assert!(painted[3].starts_with("\u{1b}[") && painted[3].ends_with("\u{1b}[0m"), "{painted:?}");
    }
}
