//! `cargo xtask bench`: ratios against other programs on the same work, in one run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::run::{build, isolated};

#[derive(clap::Args)]
pub struct Args {
    /// Where to work; tmpfs by default, where the disk adds no noise
    #[arg(long, value_name = "DIR", default_value = "/dev/shm")]
    dir: PathBuf,
    /// How often each command is run, in turn with what it is compared to
    #[arg(long, default_value_t = 40)]
    runs: usize,
}

/// One line of the table.
struct Row {
    what: String,
    ours: f64,
    theirs: Option<(String, f64)>,
    limit: String,
    holds: bool,
}

pub fn run(args: &Args) -> Result<()> {
    let bin = build(true)?;
    let dir = tempfile::tempdir_in(&args.dir).with_context(|| format!("cannot work in {}", args.dir.display()))?;
    let bench = Bench { dir: dir.path().to_path_buf(), bin, runs: args.runs };
    let rows = bench.sweatfile_apply()?;
    println!("Measured in {}, medians of {} runs in turn; {}.\n", args.dir.display(), args.runs, machine());
    println!("| what | ours | other | ratio | limit | holds |\n|---|---|---|---|---|---|");
    for row in &rows {
        let (other, ratio) = match &row.theirs {
            Some((name, ms)) => (format!("{name}: {ms:.2} ms"), format!("{:.2}", row.ours / ms)),
            None => ("".into(), "".into()),
        };
        let ours =
            if row.limit.contains("processes") { format!("{}", row.ours) } else { format!("{:.2} ms", row.ours) };
        println!(
            "| {} | {ours} | {other} | {ratio} | {} | {} |",
            row.what,
            row.limit,
            if row.holds { "yes" } else { "**no**" }
        );
    }
    if rows.iter().any(|row| !row.holds) {
        bail!("a limit does not hold");
    }
    Ok(())
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
        let status = self.command(line, dir).status()?;
        if !status.success() {
            bail!("{} failed with {status}", line.join(" "));
        }
        Ok(())
    }

    /// Milliseconds of one run.
    fn once(&self, line: &[&str], dir: &Path) -> Result<f64> {
        let start = Instant::now();
        self.must(line, dir)?;
        Ok(start.elapsed().as_secs_f64() * 1000.0)
    }

    /// A repository with 200 files and two branches that differ in one.
    fn repository(&self, name: &str) -> Result<PathBuf> {
        let repo = self.dir.join("area").join(name);
        fs::create_dir_all(repo.join("src"))?;
        for i in 0..200 {
            fs::write(repo.join(format!("src/{i}.txt")), format!("file {i}\n"))?;
        }
        for line in [
            &["git", "init", "-q", "-b", "one"][..],
            &["git", "add", "."],
            &["git", "commit", "-q", "-m", "one"],
            &["git", "checkout", "-q", "-b", "two"],
            &["git", "commit", "-q", "--allow-empty", "-m", "two"],
        ] {
            self.must(line, &repo)?;
        }
        Ok(repo)
    }

    fn sweatfile_apply(&self) -> Result<Vec<Row>> {
        let hooked = self.repository("hooked")?;
        let empty = self.repository("empty")?;
        self.must(&["sweatfile-apply", "hook", "install"], &hooked)?;
        let hook = empty.join(".git/hooks/post-checkout");
        fs::write(&hook, "#!/bin/sh\nexit 0\n")?;
        fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for i in 0..self.runs {
            let line = ["git", "checkout", "-q", if i % 2 == 0 { "one" } else { "two" }];
            with.push(self.once(&line, &hooked)?);
            without.push(self.once(&line, &empty)?);
        }

        fs::write(self.dir.join("area/linked"), "x")?;
        fs::write(
            self.dir.join("area/sweatfile"),
            "git_excludes = [\"/.a\", \"/.b\"]\nsetup = [\"true\"]\n[env]\nA = \"1\"\n[files.a]\ncontent = \"a\"\n[files.b]\nsource = \"linked\"\n",
        )?;
        self.must(&["git", "worktree", "add", "-q", "../wt", "one", "-f"], &hooked)?;
        let wt = self.dir.join("area/wt");
        self.must(&["sweatfile-apply"], &wt)?;
        let (mut apply, mut check, mut status) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.runs {
            apply.push(self.once(&["sweatfile-apply"], &wt)?);
            check.push(self.once(&["sweatfile-apply", "check"], &wt)?);
            status.push(self.once(&["git", "status"], &wt)?);
        }
        let processes = self.git_processes(&wt)?;
        let (with, without) = (median(with), median(without));
        let (apply, check, status) = (median(apply), median(check), median(status));
        let row = |what: &str, ours, theirs, limit: &str, holds| Row {
            what: what.into(),
            ours,
            theirs,
            limit: limit.into(),
            holds,
        };
        Ok(vec![
            row(
                "`git checkout` with our hook",
                with,
                Some(("with an empty hook".into(), without)),
                "1.1 ×",
                with <= 1.1 * without,
            ),
            row("`sweatfile-apply`, up to date", apply, Some(("`git status`".into(), status)), "15 ms", apply <= 15.0),
            row("`sweatfile-apply check`", check, Some(("`git status`".into(), status)), "15 ms", check <= 15.0),
            row("git processes of an apply, up to date", processes, None, "3 processes", processes <= 3.0),
        ])
    }

    /// How many git processes an apply starts, as git itself traces them.
    fn git_processes(&self, wt: &Path) -> Result<f64> {
        let trace = self.dir.join("trace");
        let mut command = self.command(&["sweatfile-apply"], wt);
        command.env("GIT_TRACE2_EVENT", &trace).status()?;
        let text = fs::read_to_string(&trace)?;
        Ok(text.lines().filter(|l| l.contains("\"event\":\"start\"")).count() as f64)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
