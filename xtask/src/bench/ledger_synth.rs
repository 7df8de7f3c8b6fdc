//! `ledger-synth` with 1,000, 10,000 and 100,000 events, against programs that read the same files, and towncrier.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::{Bench, Limit, Row, median};
use crate::run::find;

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// The number of runs of each command, in turn with the other program.
const RUNS: usize = 5;

/// Long enough for the times of new files to lie in the past.
const TICK: Duration = Duration::from_millis(300);

const EVENTS: &str = "thoughts/shared/handoffs/events";

/// The memory limit for the largest number of events, in MB.
const MEMORY: f64 = 200.0;

/// Runs a command, and prints its milliseconds, the milliseconds of all processors, and its peak memory in KB.
const MEASURE: &str = "import os, sys, time\n\
    start = time.monotonic()\n\
    pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, '/dev/null', os.O_WRONLY, 0)])\n\
    _, status, used = os.wait4(pid, 0)\n\
    print((time.monotonic() - start) * 1000, (used.ru_utime + used.ru_stime) * 1000, used.ru_maxrss, status)";

/// The cost of one run.
#[derive(Clone, Copy)]
struct Cost {
    wall: f64,
    cpu: f64,
    memory: f64,
}

impl Bench {
    pub(super) fn ledger_synth(&self) -> Result<Vec<Row>> {
        if find("python3").is_none() {
            eprintln!("xtask: python3 is not installed, so ledger-synth is left out: it tells what a process used");
            return Ok(Vec::new());
        }
        let towncrier = self.towncrier();
        let mut rows = Vec::new();
        for size in SIZES {
            rows.extend(self.events(size, towncrier.as_deref())?);
        }
        Ok(rows)
    }

    fn events(&self, size: usize, towncrier: Option<&Path>) -> Result<Vec<Row>> {
        let repo = self.dir.join(format!("ledger-{size}"));
        fs::create_dir_all(repo.join(EVENTS))?;
        self.must(&["git", "init", "-q"], &repo)?;
        for n in 0..size {
            fs::write(repo.join(EVENTS).join(format!("{n}.md")), event(n))?;
        }
        let cat = format!("find {EVENTS} -name '*.md' -print0 | xargs -0 cat");
        let stat = format!("find {EVENTS} -name '*.md' -printf '%s\\n'");
        let synth = ["ledger-synth", "--no-confirm"];
        let (mut cold, mut one, mut unchanged) = (Vec::new(), Vec::new(), Vec::new());
        let (mut cats, mut stats, mut starts) = (Vec::new(), Vec::new(), Vec::new());
        for n in 0..RUNS {
            cats.push(self.cost(&["sh", "-c", &cat], &repo)?);
            self.must(&["rm", "-rf", ".git/shopfloor", "thoughts/shared/handoffs/current.md"], &repo)?;
            sleep(TICK);
            cold.push(self.cost(&synth, &repo)?);
            sleep(TICK);
            // This run finds the page in order; after that a look at the directory is enough.
            self.must(&synth, &repo)?;
            unchanged.push(self.cost(&synth, &repo)?);
            stats.push(self.cost(&["sh", "-c", &stat], &repo)?);
            starts.push(self.cost(&["ledger-synth", "config"], &repo)?);
            fs::write(repo.join(EVENTS).join(format!("new-{n}.md")), event(size + n))?;
            one.push(self.cost(&synth, &repo)?);
        }
        let crier = towncrier.map(|program| self.draft(program, size)).transpose()?;
        let (cold, one, unchanged) = (middle(&cold), middle(&one), middle(&unchanged));
        let (cats, stats, starts) = (middle(&cats), middle(&stats), middle(&starts));
        let is_most = size == 100_000;
        let what = |text: &str| format!("{size} events, {text}");
        let cpu = |text: &str, cost: Cost| {
            // With few events the start of three programs counts more.
            let limit = if is_most { Limit::Times(1.2) } else { Limit::None };
            Row::ms(what(text), cost.cpu).against("`cat` of the same files, CPU", cats.cpu).within(limit)
        };
        let mut rows = vec![
            cpu("cold, CPU", cold),
            cpu("one new, CPU", one),
            Row::ms(what("unchanged (the command minus its start-up)"), unchanged.wall - starts.wall)
                .against("`find -printf %s`, which lists and stats", stats.wall)
                .within(Limit::Times(1.1)),
            Row::count(what("the most memory"), (cold.memory.max(one.memory) / 1024.0).round(), "MB")
                .within(Limit::AtMost(MEMORY)),
        ];
        if let Some(crier) = crier {
            let other = "`towncrier build --draft` of as many fragments";
            rows.push(Row::ms(what("cold"), cold.wall).against(other, crier.wall));
        }
        Ok(rows)
    }

    fn cost(&self, line: &[&str], dir: &Path) -> Result<Cost> {
        let command = [&["python3", "-c", MEASURE], line].concat();
        let output = self.command(&command, dir).stdout(Stdio::piped()).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let numbers: Vec<f64> = text.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        match numbers.as_slice() {
            [wall, cpu, memory, 0.0] => Ok(Cost { wall: *wall, cpu: *cpu, memory: *memory }),
            _ => bail!("{} failed: {text}{}", line.join(" "), String::from_utf8_lossy(&output.stderr)),
        }
    }

    /// A draft by towncrier, of as many fragments of the same size.
    fn draft(&self, program: &Path, size: usize) -> Result<Cost> {
        let dir = self.dir.join(format!("fragments-{size}"));
        fs::create_dir_all(dir.join("newsfragments"))?;
        let settings = "[tool.towncrier]\ndirectory = \"newsfragments\"\nfilename = \"NEWS.md\"\nname = \"x\"\n";
        fs::write(dir.join("pyproject.toml"), settings)?;
        fs::write(dir.join("NEWS.md"), "")?;
        self.must(&["git", "init", "-q"], &dir)?;
        for n in 0..size {
            fs::write(dir.join(format!("newsfragments/{n}.feature")), format!("Part {n}: {}\n", "word ".repeat(115)))?;
        }
        let program = program.to_str().context("towncrier's path")?;
        let line = [program, "build", "--draft", "--version", "1", "--date", "2026-01-01"];
        let costs: Result<Vec<Cost>> = (0..3).map(|_| self.cost(&line, &dir)).collect();
        Ok(middle(&costs?))
    }

    /// towncrier, as installed or from PyPI.
    fn towncrier(&self) -> Option<PathBuf> {
        let own = self.dir.join("venv/bin/towncrier");
        find("towncrier").or_else(|| {
            let install = "python3 -m venv venv && venv/bin/pip install -q towncrier";
            self.must(&["sh", "-c", install], &self.dir).ok();
            if !own.exists() {
                eprintln!("xtask: towncrier cannot be had from PyPI, so it is left out");
            }
            own.exists().then_some(own)
        })
    }
}

/// The median of each number.
fn middle(costs: &[Cost]) -> Cost {
    let of = |what: fn(&Cost) -> f64| median(costs.iter().map(what).collect());
    Cost { wall: of(|cost| cost.wall), cpu: of(|cost| cost.cpu), memory: of(|cost| cost.memory) }
}

/// An event of about 600 bytes, as an agent writes it.
fn event(n: usize) -> String {
    let (day, rest) = (1 + n / 86_400, n % 86_400);
    let ts = format!("2026-01-{day:02}T{:02}:{:02}:{:02}Z", rest / 3_600, rest / 60 % 60, rest % 60);
    format!(
        "---\nts: {ts}\nagent: agent{}\nbranch: feat/branch-{}\ntype: session_end\nreason: clear\n---\n\n\
         now: Work on part {n} of the migration of the storage layer\n\n\
         this_session:\n- Rewrote module {n} so that it reads the new format\n\
         - Added tests for case {} of the parser and its error messages\n- Fixed: issue #{} in `reader.rs`\n\n\
         decisions:\n  key_{}: \"Use variant {} because it is simpler and faster\"\n  other_{}: keep the old name for part {}\n\n\
         checkpoints:\n- phase: {}\n  status: validated\n  updated: {ts}\n\n\
         open_questions:\n- Should part {} be split in two before it grows any further?\n",
        n % 50,
        n % 200,
        n % 1_000,
        n % 5_000,
        n % 500,
        n % 7,
        n % 300,
        n % 11,
        n % 9,
        n % 700
    )
}
