//! `cargo xtask bench`: compares the tools with other programs that do the same work.

mod ledger_synth;
mod overlay_sync;
mod sweatfile_apply;
mod worker_ctl;
mod worktree_spawn;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::run::{Build, build, isolated};

#[derive(clap::Args)]
pub struct Args {
    /// Work in this directory; the default is on tmpfs, where no disk adds noise
    #[arg(long, value_name = "DIR", default_value = "/dev/shm")]
    dir: PathBuf,
    /// Run each command this many times, in turn with the other program
    #[arg(long, default_value_t = 40)]
    runs: usize,
    /// Measure only this tool
    #[arg(long, value_name = "TOOL")]
    tool: Option<String>,
}

/// One line of the table.
struct Row {
    what: String,
    ours: f64,
    unit: &'static str,
    theirs: Option<(String, f64)>,
    limit: Limit,
}

/// How much a measure may be.
enum Limit {
    None,
    /// So many times what the other program needs.
    Times(f64),
    /// So much, in the unit of the row.
    AtMost(f64),
}

impl Row {
    /// A time in milliseconds.
    fn ms(what: impl Into<String>, ours: f64) -> Row {
        Row { what: what.into(), ours, unit: "ms", theirs: None, limit: Limit::None }
    }

    /// A number of something.
    fn count(what: impl Into<String>, ours: f64, unit: &'static str) -> Row {
        Row { unit, ..Row::ms(what, ours) }
    }

    /// Compares with another program that takes so many milliseconds.
    fn against(self, program: impl Into<String>, theirs: f64) -> Row {
        Row { theirs: Some((program.into(), theirs)), ..self }
    }

    fn within(self, limit: Limit) -> Row {
        Row { limit, ..self }
    }

    fn holds(&self) -> bool {
        match (&self.limit, &self.theirs) {
            (Limit::None, _) => true,
            (Limit::Times(times), theirs) => theirs.as_ref().is_some_and(|(_, theirs)| self.ours <= times * theirs),
            (Limit::AtMost(most), _) => self.ours <= *most,
        }
    }
}

/// The function that measures a tool.
type Measure = fn(&Bench) -> Result<Vec<Row>>;

pub fn run(args: &Args) -> Result<()> {
    let bin = build(Build::Dist)?;
    let dir = tempfile::tempdir_in(&args.dir).with_context(|| format!("cannot work in {}", args.dir.display()))?;
    let bench = Bench { dir: dir.path().to_path_buf(), bin, runs: args.runs };
    let benches: [(&str, Measure); 5] = [
        ("sweatfile-apply", Bench::sweatfile_apply),
        ("overlay-sync", Bench::overlay_sync),
        ("ledger-synth", Bench::ledger_synth),
        ("worktree-spawn", Bench::worktree_spawn),
        ("worker-ctl", Bench::worker_ctl),
    ];
    println!("Measured in {}, medians of {} runs in turn; {}.\n", args.dir.display(), args.runs, machine());
    println!("| what | ours | other | ratio | limit | holds |\n|---|---|---|---|---|---|");
    let mut all_hold = true;
    for (_, measure) in benches.iter().filter(|(tool, _)| args.tool.as_deref().is_none_or(|only| only == *tool)) {
        for row in measure(&bench)? {
            println!("{row}");
            all_hold &= row.holds();
        }
    }
    if !all_hold {
        bail!("a limit does not hold");
    }
    Ok(())
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (other, ratio) = match &self.theirs {
            Some((name, ms)) => (format!("{name}: {ms:.2} ms"), format!("{:.2}", self.ours / ms)),
            None => ("".into(), "".into()),
        };
        let ours =
            if self.unit == "ms" { format!("{:.2} ms", self.ours) } else { format!("{} {}", self.ours, self.unit) };
        let limit = match self.limit {
            Limit::None => String::new(),
            Limit::Times(times) => format!("{times} ×"),
            Limit::AtMost(most) => format!("{most} {}", self.unit),
        };
        let holds = if self.holds() { "yes" } else { "**no**" };
        write!(f, "| {} | {ours} | {other} | {ratio} | {limit} | {holds} |", self.what)
    }
}

fn machine() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|l| l.strip_prefix("model name")).map(|l| l.trim_start_matches([' ', '\t', ':']));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{cores} cores, {}", model.unwrap_or("unknown processor"))
}

struct Bench {
    dir: PathBuf,
    bin: PathBuf,
    runs: usize,
}

impl Bench {
    fn command(&self, line: &[&str], dir: &Path) -> Command {
        let mut command = isolated(line[0], &self.dir, &self.bin);
        command.args(&line[1..]).current_dir(dir).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn must(&self, line: &[&str], dir: &Path) -> Result<()> {
        let output = self.command(line, dir).stderr(Stdio::piped()).output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("{} failed with {}: {}", line.join(" "), output.status, said.trim());
        }
        Ok(())
    }

    /// Milliseconds of one run.
    fn once(&self, line: &[&str], dir: &Path) -> Result<f64> {
        let start = Instant::now();
        self.must(line, dir)?;
        Ok(start.elapsed().as_secs_f64() * 1000.0)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
