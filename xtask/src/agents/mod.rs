//! `cargo xtask agents`: tries the agent programs themselves, in homes of their own, against a model on loopback.

mod lab;
mod model;
mod programs;
mod rounds;
mod speech;
/// The programs that the tools know. Only this file of the tools is compiled here: `xtask` links none of them.
#[expect(dead_code, reason = "the tools use the rest")]
#[path = "../../../crates/core/src/agents.rs"]
mod table;

use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::Path;
use std::sync::Mutex;

use anyhow::{Result, bail};

use self::lab::Lab;
use self::model::Model;
use self::programs::Trial;
use self::rounds::{ROUNDS, Round};
use crate::run::{Build, build};
use crate::stage::{is_root, ordinary_user};
use crate::test::require_programs;

#[derive(clap::Args)]
pub struct Args {
    /// The programs to try [default: all]
    pub programs: Vec<String>,
    /// Try the latest versions instead of those that were tried last
    #[arg(long)]
    pub latest: bool,
    /// Try only what every change is tried with
    #[arg(long)]
    pub short: bool,
    /// How many tasks to deliver
    #[arg(long, value_name = "N")]
    pub tasks: Option<usize>,
    /// Only rounds whose names contain this text, after the program is ready
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
}

impl Args {
    fn rounds(&self) -> impl Iterator<Item = &'static Round> {
        let is_named = |name: &str| self.only.as_ref().is_none_or(|only| name.contains(only));
        let is_wanted =
            move |(at, round): &(usize, &Round)| *at == 0 || (round.is_short || !self.short) && is_named(round.name);
        ROUNDS.iter().enumerate().filter(is_wanted).map(|(_, round)| round)
    }
}

/// What a program showed, a cell per round.
struct Column {
    head: String,
    cells: Vec<String>,
    has_failed: bool,
}

pub fn run(args: &Args) -> Result<()> {
    require_programs()?;
    let trials = programs::trials();
    if let Some(unknown) = args.programs.iter().find(|name| trials.iter().all(|trial| trial.name() != *name)) {
        bail!("there is no program {unknown}; name one of {}", names(&trials).join(", "));
    }
    let tools = build(Build::Debug)?;
    // claude refuses to skip permissions as root.
    let user = if is_root() { Some(ordinary_user()?) } else { None };
    let is_wanted = |trial: &&Trial| args.programs.is_empty() || args.programs.iter().any(|name| name == trial.name());
    let wanted: Vec<&Trial> = trials.iter().filter(is_wanted).collect();
    // A program mostly waits: as many at once as there are processors. The slowest are the last in the table.
    let left = Mutex::new((0..wanted.len()).collect::<Vec<_>>());
    let next = || left.lock().ok().and_then(|mut left| left.pop());
    let columns = Mutex::new(BTreeMap::new());
    let work = || {
        while let Some(at) = next() {
            let column = column(wanted[at], &tools, user, args);
            columns.lock().expect("no thread panics with it").insert(at, column);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(work);
        }
    });
    let columns = columns.into_inner()?.into_values().collect::<Result<Vec<_>>>()?;
    let columns: Vec<Column> = columns.into_iter().flatten().collect();
    print(&columns, args);
    match columns.iter().filter(|column| column.has_failed).count() {
        0 => Ok(()),
        _ => bail!("not every program did what its preset promises"),
    }
}

/// Installs a program and tries it; nothing where it cannot be installed here.
fn column(trial: &Trial, tools: &Path, user: Option<(u32, u32)>, args: &Args) -> Result<Option<Column>> {
    let Some(bin) = trial.install(args.latest, args.short)? else {
        eprintln!("xtask: skipped: {} is not tried, because it cannot be installed here", trial.name());
        return Ok(None);
    };
    let column = try_out(trial, tools, &bin, user, args)?;
    if column.has_failed && args.short {
        // A program can have a bad day: what fails twice counts.
        eprintln!("xtask: {} is tried again", column.head);
        return Ok(Some(try_out(trial, tools, &bin, user, args)?));
    }
    Ok(Some(column))
}

fn names(trials: &[Trial]) -> Vec<&'static str> {
    trials.iter().map(Trial::name).collect()
}

/// Carries out the rounds with one program.
fn try_out(trial: &Trial, tools: &Path, bin: &Path, user: Option<(u32, u32)>, args: &Args) -> Result<Column> {
    let model = Model::start()?;
    let mut lab = Lab::new(trial, &model, tools, bin, user)?;
    let mut column =
        Column { head: format!("{} {}", trial.name(), trial.version(bin)?), cells: Vec::new(), has_failed: false };
    eprintln!("xtask: {}", column.head);
    let tasks = args.tasks.unwrap_or(if args.short { 4 } else { 20 });
    for round in args.rounds() {
        let cell = match column.has_failed {
            true => "not tried".to_owned(),
            false => (round.run)(&mut lab, tasks).unwrap_or_else(|failure| {
                column.has_failed = true;
                eprintln!("xtask: {}, {}: {failure:#}", column.head, round.name);
                "failed".to_owned()
            }),
        };
        eprintln!("xtask: {}: {}: {cell}", trial.name(), round.name);
        column.cells.push(cell);
    }
    Ok(column)
}

/// Prints the table that `docs/agents.md` has.
fn print(columns: &[Column], args: &Args) {
    let heads: Vec<&str> = columns.iter().map(|column| column.head.as_str()).collect();
    println!("| | {} |\n|---{}|", heads.join(" | "), "|---".repeat(heads.len()));
    for (row, round) in args.rounds().enumerate() {
        let cells: Vec<&str> = columns.iter().map(|column| column.cells[row].as_str()).collect();
        println!("| {} | {} |", round.name, cells.join(" | "));
    }
}
