//! `status`: one table over all worktrees.

use std::io::IsTerminal;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use shopfloor_core::board::{self, Screen};
use shopfloor_core::config;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc;
use shopfloor_core::text::printable;
use shopfloor_core::time::local_clock;
use shopfloor_core::ui::Ui;

use crate::facts::overview::{self, LedgerState, Overview};
use crate::facts::repository;
use crate::plan::rows::{Row, legend, rows, table};

/// How often `--watch` asks the tools.
const POLL: Duration = Duration::from_secs(2);

/// Show all worktrees in one table: who works there, who waits for you, and what is not in step
///
/// Asks each of the five tools once. What a tool cannot say is left out, and the exit code is then 4; of a worktree that it
/// cannot read it is a warning.
#[derive(clap::Args, Debug, Default)]
#[command(
    after_help = "Example:\n  shopfloor status\n  shopfloor status --json | jq -r '.worktrees[] | select(.waits_for).name'"
)]
pub struct Args {
    /// Keep showing the table until interrupted
    #[arg(long)]
    pub watch: bool,
    /// Ask the forge about requests first, by your own `gh` or `glab`
    #[arg(long)]
    pub requests: bool,
}

/// All that is to be shown, and what the forge did not answer.
fn read(env: &Env, unasked: Option<&str>) -> Result<Overview> {
    let mut overview = overview::read(env);
    // A signal that ends us has ended the tools.
    proc::check_interrupt()?;
    overview.has_failed |= unasked.is_some();
    overview.problems.extend(unasked.map(str::to_owned));
    // One that cannot be read is named by the tools.
    overview.problems.extend(config::users_unknown_tables(env).unwrap_or_default());
    Ok(overview)
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let env = repository::near(env)?;
    let here = env.cwd.to_string_lossy();
    let asked = if args.requests { overview::ask_forge(&env, false) } else { Ok(()) };
    // The table is there without the forge, too.
    let unasked = asked.err().map(|failure| overview::in_one_line(failure.to_string(), failure.hints));
    let read = || read(&env, unasked.as_deref());
    if !args.watch {
        let overview = read()?;
        overview.problems.iter().for_each(|problem| ui.warn(problem));
        let failure = overview.problems.split_first().filter(|_| overview.has_failed);
        let failure = failure.map(|(first, more)| Failure::failed(first).details(more.to_vec()));
        if ui.is_json() {
            let error = failure.as_ref().map_or(Value::Null, |failure| ui.error_key(failure));
            ui.json_of_both(&answer(&overview, &rows(&overview)), &error);
        } else {
            lines(ui, &overview, (&here, env.later().now)).iter().for_each(|line| ui.line(line));
        }
        return Ok(failure.map_or(Exit::Done, |failure| failure.exit));
    }
    let is_screen = std::io::stdout().is_terminal() && !ui.is_json();
    let screen = || {
        let (width, height) = ui.size().unwrap_or((80, 24));
        Screen { width, height, has_colors: ui.has_colors() }
    };
    let mut last = Vec::new();
    loop {
        let overview = match read() {
            Ok(overview) => overview,
            Err(interrupted) => return Ok(interrupted.exit),
        };
        let problems = overview.problems.iter().map(|problem| format!("warning: {}", printable(problem)));
        let shown = match ui.is_json() {
            true => vec![ui.render(answer(&overview, &rows(&overview)))],
            false if is_screen => {
                let rows = rows(&overview).iter().filter(|row| row.is_on_board()).map(Row::on_board).collect();
                let now = env.later().now;
                let problems = problems.map(|problem| board::cut(&problem, screen().width));
                let board = board::lines(rows, overview.is_up(), (now.as_second(), &local_clock(now)), screen());
                board.into_iter().chain(problems).take(screen().height).collect()
            }
            false => lines(ui, &overview, (&here, env.later().now)).into_iter().chain(problems).collect(),
        };
        if shown != last {
            if is_screen {
                ui.redraw(&shown, last.is_empty());
            } else {
                shown.iter().for_each(|line| ui.line(line));
            }
            last = shown;
        }
        if ui.is_unheard() || !ui.is_taken(Duration::from_millis(1)) {
            return Ok(Exit::Done);
        }
        thread::sleep(POLL);
    }
}

fn answer(overview: &Overview, rows: &[Row]) -> Value {
    json!({ "worktrees": rows, "ledger": overview.ledger, "problems": overview.problems })
}

/// The table in columns, and a line about the ledger.
fn lines(ui: &Ui, overview: &Overview, (here, now): (&str, jiff::Timestamp)) -> Vec<String> {
    let rows = rows(overview);
    let table = table(&rows, here, now);
    let columns = table.first().map_or(0, Vec::len);
    let width = |column: usize| table.iter().map(|row| printable(&row[column]).chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    // A column that says nothing is left out.
    let is_empty = |column: usize| table.iter().skip(1).all(|row| row[column].is_empty());
    let shown: Vec<usize> = (0..columns).filter(|column| !is_empty(*column)).collect();
    let line = |row: &Vec<String>| {
        let cells = shown.iter().map(|column| format!("{:width$}", printable(&row[*column]), width = widths[*column]));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let has_colors = ui.has_colors() && std::io::stdout().is_terminal();
    let painted = table.iter().skip(1).zip(&rows).map(|(cells, row)| match row.waits_for {
        Some(_) => board::painted(&line(cells), row.standing(), has_colors),
        None => line(cells),
    });
    let more = legend(&rows).into_iter().chain(overview.ledger.and_then(ledger_line));
    table.first().map(line).into_iter().chain(painted).chain(more).collect()
}

/// What to know about the ledger; nothing where it has no events.
fn ledger_line(ledger: LedgerState) -> Option<String> {
    let state = if ledger.fresh { "current.md is fresh" } else { "current.md is stale: run `ledger-synth`" };
    (ledger.event_count > 0).then(|| format!("ledger: {} events, {state}", ledger.event_count))
}
