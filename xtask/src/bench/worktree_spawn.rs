//! `worktree-spawn` against bare git, and against worktrunk's `wt` if it is installed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::overlay_sync::switches;
use super::{Bench, Limit, Row, median};
use crate::run::find;

/// The number of files in a worktree, and the limit of a spawn compared with bare git.
const SPAWNS: [(usize, f64); 3] = [(60, 1.3), (2_000, 1.0), (20_000, 1.0)];

/// The number of listed worktrees, and of workers.
const LISTS: [usize; 3] = [10, 100, 500];

/// How long a wait at rest is measured.
const IDLE: Duration = Duration::from_secs(5);

impl Bench {
    pub(super) fn worktree_spawn(&self) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for (files, limit) in SPAWNS {
            rows.extend(self.spawns(files, limit)?);
        }
        for count in LISTS {
            rows.extend(self.lists(count)?);
        }
        rows.extend(self.messages()?);
        Ok(rows)
    }

    /// A repository with this many files, all packed.
    fn packed(&self, name: &str, files: usize) -> Result<PathBuf> {
        let repo = self.dir.join(name);
        fs::create_dir(&repo)?;
        self.must(&["git", "init", "-q", "-b", "main"], &repo)?;
        self.must(&["git", "config", "gc.auto", "0"], &repo)?;
        for n in 0..files {
            let dir = repo.join(format!("d{}", n / 50));
            fs::create_dir_all(&dir)?;
            fs::write(dir.join(format!("f{n}.txt")), format!("line {n}\n").repeat(40))?;
        }
        self.must(&["git", "add", "-A"], &repo)?;
        self.must(&["git", "commit", "-q", "-m", "all", "--allow-empty"], &repo)?;
        self.must(&["git", "gc", "-q", "--no-detach"], &repo)?;
        Ok(repo)
    }

    fn spawns(&self, files: usize, limit: f64) -> Result<Vec<Row>> {
        let repo = self.packed(&format!("spawn{files}"), files)?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for n in 0..self.runs {
            ours.push(self.once(&["worktree-spawn", "subtree", &format!("s{n}")], &repo)?);
            let (path, branch) = (format!("../g{n}"), format!("b{n}"));
            theirs.push(self.once(&["git", "worktree", "add", "-q", "-b", &branch, &path], &repo)?);
            // Both begin with the same number of worktrees.
            self.must(&["git", "worktree", "remove", "--force", &path], &repo)?;
            self.must(&["worktree-spawn", "remove", &format!("main.s{n}")], &repo)?;
        }
        let (ours, theirs) = (median(ours), median(theirs));
        let mut rows = vec![
            Row::ms(format!("`worktree-spawn subtree`, {files} files"), ours)
                .against("`git worktree add`", theirs)
                .within(Limit::Times(limit)),
        ];
        if files == SPAWNS[0].0 {
            let ours = self.processes(&["worktree-spawn", "subtree", "counted"], &repo)?;
            let theirs = self.processes(&["git", "worktree", "add", "-q", "-b", "counted", "../counted"], &repo)?;
            let limit = Limit::AtMost(theirs + 2.0);
            rows.push(Row::count("git processes of a spawn: two more than bare git", ours, "processes").within(limit));
        }
        Ok(rows)
    }

    /// The number of git processes that a command starts, by the trace of git.
    fn processes(&self, line: &[&str], dir: &Path) -> Result<f64> {
        let trace = self.dir.join("spawn-trace");
        let _ = fs::remove_file(&trace);
        self.command(line, dir).env("GIT_TRACE2_EVENT", &trace).status()?;
        let text = fs::read_to_string(&trace)?;
        Ok(text.lines().filter(|line| line.contains("\"event\":\"start\"")).count() as f64)
    }

    fn lists(&self, count: usize) -> Result<Vec<Row>> {
        let repo = self.packed(&format!("list{count}"), 1)?;
        for n in 0..count {
            self.must(&["worktree-spawn", "-q", "subtree", &format!("s{n}")], &repo)?;
            self.must(&["worktree-spawn", "-q", "worker", &format!("w{n}"), "--as", &format!("main.s{n}")], &repo)?;
        }
        let (mut ours, mut theirs, mut wt) = (Vec::new(), Vec::new(), Vec::new());
        for n in 0..self.runs {
            ours.push(self.once(&["worktree-spawn", "list", "--json"], &repo)?);
            theirs.push(self.once(&["git", "worktree", "list", "--porcelain"], &repo)?);
            if n < 3 && find("wt").is_some() {
                wt.push(self.once(&["wt", "list"], &repo)?);
            }
        }
        let (ours, theirs) = (median(ours), median(theirs));
        let what = format!("`worktree-spawn list`, {count} worktrees and {count} workers");
        // The limit is for many worktrees; with few the program's start dominates.
        let limit = |times| if count >= 500 { Limit::Times(times) } else { Limit::None };
        let other = "`git worktree list --porcelain`";
        let mut rows = vec![Row::ms(what, ours).against(other, theirs).within(limit(1.0))];
        if !wt.is_empty() {
            rows.push(Row::ms("the same", ours).against("`wt list`", median(wt)).within(limit(0.05)));
        }
        if count == LISTS[1] {
            let inside = repo.join(".shopfloor/worktrees/s7");
            for line in [
                &["worktree-spawn", "whoami"][..],
                &["worktree-spawn", "path", "main.s7"],
                &["worktree-spawn", "env", "main.s7"],
            ] {
                let mut times = Vec::new();
                for _ in 0..self.runs {
                    times.push(self.once(line, &inside)?);
                }
                rows.push(Row::ms(format!("`{}`", line.join(" ")), median(times)).within(Limit::AtMost(5.0)));
            }
        }
        Ok(rows)
    }

    /// The time from the start of `notify` until a waiting `wait` has printed, and the cost of a `wait` that gets no
    /// event.
    fn messages(&self) -> Result<Vec<Row>> {
        let repo = self.packed("messages", 1)?;
        self.must(&["worktree-spawn", "-q", "worker", "w"], &repo)?;
        let mut times = Vec::new();
        for _ in 0..self.runs {
            let (mut wait, mut lines) = self.waiting(&repo)?;
            let start = Instant::now();
            let notify = self.command(&["worktree-spawn", "notify", "info", "hello", "--as", "root/w"], &repo).spawn();
            let line = lines.next().context("the wait ended without a word")??;
            times.push(start.elapsed().as_secs_f64() * 1000.0);
            if !line.contains("hello") || !notify?.wait()?.success() || !wait.wait()?.success() {
                bail!("the message did not arrive: {line}");
            }
        }
        let ms = median(times);
        let (mut wait, _lines) = self.waiting(&repo)?;
        let before = switches(&tasks(&wait));
        sleep(IDLE);
        let wakes = switches(&tasks(&wait)).context("no /proc here")? - before.context("no /proc here")?;
        wait.kill()?;
        wait.wait()?;
        let idle = format!("a sleeping `wait`: wake-ups in {} s", IDLE.as_secs());
        Ok(vec![
            Row::ms("from the start of `notify` until `wait` has printed", ms).within(Limit::AtMost(5.0)),
            Row::count(idle, wakes, "").within(Limit::AtMost(0.0)),
        ])
    }

    /// A `wait` at rest.
    fn waiting(&self, repo: &Path) -> Result<(Child, std::io::Lines<BufReader<std::process::ChildStdout>>)> {
        let mut wait = self.command(&["worktree-spawn", "wait"], repo);
        let mut wait = wait.stdout(Stdio::piped()).spawn()?;
        let lines = BufReader::new(wait.stdout.take().context("no stdout")?).lines();
        let mut last = None;
        for _ in 0..1000 {
            sleep(Duration::from_millis(30));
            let now = switches(&tasks(&wait));
            if now.is_some_and(|n| n > 0.0) && now == last {
                break;
            }
            last = now;
        }
        Ok((wait, lines))
    }
}

fn tasks(process: &Child) -> PathBuf {
    PathBuf::from(format!("/proc/{}/task", process.id()))
}
