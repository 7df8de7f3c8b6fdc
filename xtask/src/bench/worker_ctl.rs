//! `worker-ctl` with many workers: the cost of a status and a patrol, the time until a commit is noticed, and whether
//! every text arrives.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

use super::{Bench, Limit, Row, median};
use crate::run::{cargo, find};

/// The number of workers of a small root, which also come up at once.
const SOME: usize = 50;

/// The number of workers of a large root, for which there are limits.
const MANY: usize = 200;

/// The number of runs of the slowest commands.
const FEW: usize = 3;

/// The number of commits that are timed until the status has them.
const COMMITS: usize = 10;

/// The number of texts, and of the workers that get them at the same time.
const TEXTS: usize = 1_000;
const AT_ONCE: usize = 10;

/// How the agents read, in turn: with bracketed paste, slowly, and guessing pastes by the time.
const READERS: [&str; 3] = ["", "--slow", "--guess"];

/// The last text. When it has arrived, so have all others.
const LAST: &str = "the last one";

/// The pieces of texts, separated by bars. A shell, tmux or a terminal might misread them. None is a word that the
/// scripted agent obeys.
const PIECES: &str = "a¦word ¦and so on ¦Enter¦C-c¦-x¦ ¦  ¦\n¦\n¦\n\n¦\t¦\"¦'¦`¦;¦; ¦\\¦$(id)¦${HOME}¦#{pane_id}¦#{}¦\
                      #(id)¦%s¦%1¦&&¦|¦>¦~¦!¦{¦}¦ü¦é¦日本¦🦀";

/// The deadline of every wait, and the time between looks.
const DEADLINE: Duration = Duration::from_secs(60);
const GLANCE: Duration = Duration::from_millis(5);

impl Bench {
    pub(super) fn worker_ctl(&self) -> Result<Vec<Row>> {
        if find("tmux").is_none() {
            eprintln!("xtask: tmux is not installed, so worker-ctl is left out (Debian: apt-get install tmux)");
            return Ok(Vec::new());
        }
        if find("strace").is_none() {
            eprintln!("xtask: strace is not installed, so it is left out (Debian: apt-get install strace)");
        }
        // It belongs to the tests, and does not ship.
        cargo(&["build", "--quiet", "--profile", "dist", "--package", "it", "--bin", "agent"])?;
        let many = Floor::new(self, "floor-many")?;
        (0..SOME).try_for_each(|n| many.add(n, "scripted"))?;
        let mut rows = many.looks(SOME)?;
        let starts = many.starts(SOME)?;
        (SOME..MANY).try_for_each(|n| many.add(n, "scripted"))?;
        rows.extend(many.looks(MANY)?);
        rows.push(starts);
        rows.push(many.resumes(SOME)?);
        // Its sessions must not slow down what follows.
        drop(many);
        rows.push(Floor::new(self, "commits")?.commits()?);
        rows.push(Floor::new(self, "texts")?.texts()?);
        Ok(rows)
    }
}

/// A root with the scripted agent. Dropping it ends the sessions.
struct Floor<'b> {
    bench: &'b Bench,
    root: PathBuf,
}

impl Drop for Floor<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.ctl(&["down", "--force"]) {
            eprintln!("xtask: sessions of {} may be left: {error}", self.root.display());
        }
    }
}

impl<'b> Floor<'b> {
    fn new(bench: &'b Bench, name: &str) -> Result<Floor<'b>> {
        let source = bench.dir.join(format!("{name}-source"));
        let root = bench.dir.join(name);
        let target = root.to_str().context("the root's path")?;
        fs::create_dir(&source)?;
        fs::write(source.join("README.md"), "app\n")?;
        for line in [
            &["git", "init", "-q", "-b", "main"][..],
            &["git", "add", "."],
            &["git", "commit", "-q", "-m", "one"],
            &["worker-ctl", "init", "--source", ".", "--target", target],
        ] {
            bench.must(line, &source)?;
        }
        let floor = Floor { bench, root };
        floor.agent("scripted", &["env"], "")?;
        Ok(floor)
    }

    fn ctl(&self, args: &[&str]) -> Result<()> {
        self.bench.must(&[&["worker-ctl"][..], args].concat(), &self.root)
    }

    /// Adds the scripted agent to config.toml under this name: words before the program, and how it reads.
    fn agent(&self, name: &str, before: &[&str], reader: &str) -> Result<()> {
        let program = self.bench.bin.join("agent");
        let program = program.to_str().context("the agent's path")?;
        let words: Vec<&str> = [before, &[program, reader]].concat().into_iter().filter(|w| !w.is_empty()).collect();
        let path = self.root.join("config.toml");
        let config = fs::read_to_string(&path)?;
        let table = format!("\n[agents.{name}]\ncommand = {words:?}\nready = {{ pattern = \"^>\" }}\n");
        fs::write(path, config + &table)?;
        Ok(())
    }

    fn add(&self, n: usize, agent: &str) -> Result<()> {
        self.ctl(&["add", &worker(n), "--agent", agent])
    }

    /// The output of `status --json`.
    fn status(&self) -> Result<String> {
        let mut command = self.bench.command(&["worker-ctl", "status", "--json"], &self.root);
        let output = command.stdout(Stdio::piped()).output()?;
        if !output.status.success() {
            bail!("worker-ctl status --json failed with {}", output.status);
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Waits until a worker has this status.
    fn until(&self, name: &str, wanted: &str) -> Result<()> {
        if !holds(|| Ok(status_of(&self.status()?, name) == Some(wanted)))? {
            bail!("{name} is not {wanted} within {} s", DEADLINE.as_secs());
        }
        Ok(())
    }

    /// The cost of looking at this many workers when nothing has changed. One session runs, so tmux is asked too.
    fn looks(&self, count: usize) -> Result<Vec<Row>> {
        self.ctl(&["up", &worker(0)])?;
        // The first patrol notices the new session.
        self.ctl(&["patrol"])?;
        let state = self.root.join("state.json");
        let before = fs::read(&state)?;
        let (mut status, mut patrol) = (Vec::new(), Vec::new());
        for _ in 0..self.bench.runs {
            status.push(self.bench.once(&["worker-ctl", "status", "--json"], &self.root)?);
            patrol.push(self.bench.once(&["worker-ctl", "patrol"], &self.root)?);
        }
        if fs::read(&state)? != before {
            bail!("a patrol with nothing to see changed the state");
        }
        let row = |what: &str, times: Vec<f64>, most: f64| {
            // The limit is for the largest number of workers.
            let limit = if count == MANY { Limit::AtMost(most) } else { Limit::None };
            Row::ms(format!("{what}, {count} workers"), median(times)).within(limit)
        };
        let mut rows = vec![
            row("`worker-ctl status --json`", status, 50.0),
            row("`worker-ctl patrol` without change", patrol, 300.0),
        ];
        if find("strace").is_some() {
            let children = self.children(&["worker-ctl", "patrol"])?;
            let what = format!("child processes of a patrol, {count} workers");
            rows.push(Row::count(what, children, "processes").within(Limit::AtMost(4.0)));
        }
        Ok(rows)
    }

    /// The number of processes that a command starts itself, by strace. Those that its children start do not count.
    fn children(&self, line: &[&str]) -> Result<f64> {
        let trace = self.bench.dir.join("worker-trace");
        let path = trace.to_str().context("the trace's path")?;
        let strace = ["strace", "-f", "-qq", "-e", "trace=clone,clone3,fork,vfork", "-e", "signal=none", "-o", path];
        self.bench.must(&[&strace[..], line].concat(), &self.root)?;
        Ok(started(&fs::read_to_string(&trace)?) as f64)
    }

    /// The start of all workers at once, against the start of one. Nothing runs before, not even tmux.
    fn starts(&self, count: usize) -> Result<Row> {
        let names: Vec<String> = (0..count).map(worker).collect();
        let line: Vec<&str> = ["worker-ctl", "up"].into_iter().chain(names.iter().map(String::as_str)).collect();
        let (mut all, mut one) = (Vec::new(), Vec::new());
        for _ in 0..self.bench.runs.min(FEW) {
            self.ctl(&["down", "--force"])?;
            one.push(self.bench.once(&line[..3], &self.root)?);
            self.ctl(&["down", "--force"])?;
            all.push(self.bench.once(&line, &self.root)?);
            let status = self.status()?;
            if let Some(name) = names.iter().find(|name| status_of(&status, name) != Some("idle")) {
                bail!("{name} is not up");
            }
        }
        self.ctl(&["down", "--force"])?;
        let what = format!("`worker-ctl up` of {count} workers, until all take input");
        Ok(Row::ms(what, median(all)).against("`worker-ctl up` of one", median(one)))
    }

    /// All workers go on with their tasks after a reboot, in which neither a program nor their tmux server survived.
    fn resumes(&self, count: usize) -> Result<Row> {
        let names: Vec<String> = (0..count).map(worker).collect();
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        self.ctl(&[&["up"], &all[..]].concat())?;
        all.iter().try_for_each(|name| self.ctl(&["start", "--worker", name, "--prompt", "think"]))?;
        let socket = self.root.join("tmux.sock");
        self.bench.must(&["tmux", "-S", socket.to_str().context("the socket's path")?, "kill-server"], &self.root)?;
        let ms = self.bench.once(&[&["worker-ctl", "resume"], &all[..]].concat(), &self.root)?;
        let status = self.status()?;
        if let Some(name) = names.iter().find(|name| status_of(&status, name) != Some("working")) {
            bail!("{name} does not work again");
        }
        let what = format!("`worker-ctl resume` of {count} workers after a reboot, until all have their tasks");
        Ok(Row::ms(what, ms).within(Limit::AtMost(15_000.0)))
    }

    /// The time from the start of `git commit` in a worktree until the status has it, with a running `up`.
    fn commits(&self) -> Result<Row> {
        let names: Vec<String> = (0..self.bench.runs.min(COMMITS)).map(worker).collect();
        (0..names.len()).try_for_each(|n| self.add(n, "scripted"))?;
        self.ctl(&["up", "--detach"])?;
        for name in &names {
            self.until(name, "idle")?;
            self.ctl(&["start", "--worker", name, "--prompt", "think"])?;
        }
        let mut times = Vec::new();
        for name in &names {
            let tree = self.root.join(".worktrees").join(name);
            fs::write(tree.join("work.txt"), name)?;
            self.bench.must(&["git", "add", "work.txt"], &tree)?;
            let start = Instant::now();
            self.bench.must(&["git", "commit", "-q", "-m", "work"], &tree)?;
            self.until(name, "needs_review")?;
            times.push(start.elapsed().as_secs_f64() * 1000.0);
        }
        let ms = median(times);
        let what = "from a commit until `status` says needs_review, `up` running";
        Ok(Row::ms(what, ms).within(Limit::AtMost(1500.0)))
    }

    /// Texts for several workers at once. Each worker's log must have exactly its own texts, in order.
    fn texts(&self) -> Result<Row> {
        let count = TEXTS.min(self.bench.runs * 25);
        let mut sent: Vec<Vec<String>> = vec![Vec::new(); AT_ONCE];
        for n in 0..count {
            sent[n % AT_ONCE].push(text(n));
        }
        for (n, texts) in sent.iter_mut().enumerate() {
            texts.push(LAST.to_owned());
            let log = format!("SCRIPTED_LOG={}", self.log(n).display());
            self.agent(&worker(n), &["env", &log], READERS[n % READERS.len()])?;
            self.add(n, &worker(n))?;
            self.ctl(&["up", &worker(n)])?;
        }
        let start = Instant::now();
        let done: Result<()> = thread::scope(|scope| {
            let each = sent.iter().enumerate();
            let senders: Vec<_> = each
                .map(|(n, texts)| scope.spawn(move || texts.iter().try_for_each(|text| self.send(&worker(n), text))))
                .collect();
            senders.into_iter().try_for_each(|sender| sender.join().map_err(|_| anyhow!("a sender panicked"))?)
        });
        done?;
        let last = format!("\"{LAST}\"\n");
        let has_last = |n: usize| fs::read_to_string(self.log(n)).is_ok_and(|log| log.ends_with(&last));
        // If it never arrives, the logs below tell what went wrong.
        holds(|| Ok((0..AT_ONCE).all(has_last)))?;
        let seconds = start.elapsed().as_secs_f64();
        let (mut exact, mut is_all) = (0, true);
        for (n, texts) in sent.iter().enumerate() {
            let log = fs::read_to_string(self.log(n)).unwrap_or_default();
            let got: Vec<String> = log.lines().map(|line| unquoted(line).unwrap_or_else(|| line.to_owned())).collect();
            exact += texts[..texts.len() - 1].iter().zip(&got).filter(|(sent, got)| sent == got).count();
            if let Some(i) = (0..texts.len().max(got.len())).find(|i| texts.get(*i) != got.get(*i)) {
                is_all = false;
                let reader = READERS[n % READERS.len()];
                let counts = format!("{} were sent to it, {} are in its log", texts.len(), got.len());
                let difference = difference(texts.get(i), got.get(i));
                eprintln!("xtask: {} (agent {reader:?}): text {i} is another: {difference}; {counts}", worker(n));
            }
        }
        if !is_all || exact != count {
            bail!("{exact} of {count} texts arrived byte-exact");
        }
        let what = format!(
            "{count} sends, all byte-exact: 5 B to 100 KB, {AT_ONCE} at once, to bracketed, slow and paste-guessing \
             readers"
        );
        Ok(Row::count(what, (seconds * 10.0).round() / 10.0, "s"))
    }

    /// The log of a worker's agent.
    fn log(&self, n: usize) -> PathBuf {
        self.bench.dir.join(format!("{}.jsonl", worker(n)))
    }

    fn send(&self, name: &str, text: &str) -> Result<()> {
        let mut command = self.bench.command(&["worker-ctl", "message", name, "-", "--force"], &self.root);
        let mut message = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        message.stdin.take().context("no stdin")?.write_all(text.as_bytes())?;
        let output = message.wait_with_output()?;
        if !output.status.success() {
            bail!("a text was not sent to {name}: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(())
    }
}

fn worker(n: usize) -> String {
    format!("w{n:03}")
}

/// Whether the condition becomes true before the deadline.
fn holds(mut look: impl FnMut() -> Result<bool>) -> Result<bool> {
    let start = Instant::now();
    while start.elapsed() < DEADLINE {
        if look()? {
            return Ok(true);
        }
        sleep(GLANCE);
    }
    Ok(false)
}

/// A worker's status in the output of `status --json`.
fn status_of<'j>(json: &'j str, name: &str) -> Option<&'j str> {
    let (_, record) = json.split_once(&format!("\"name\":\"{name}\""))?;
    let (_, status) = record.split_once("\"status\":\"")?;
    status.split('"').next()
}

/// The number of processes that the first process in a trace started, from any of its threads.
fn started(trace: &str) -> usize {
    let calls: Vec<(&str, &str)> = trace.lines().filter_map(|line| line.split_once(' ')).collect();
    let mut own: Vec<&str> = calls.first().map(|(task, _)| *task).into_iter().collect();
    // Processes whose call to create a thread has its result on a later line.
    let mut waiting = Vec::new();
    for (task, call) in calls.iter().filter(|(_, call)| call.contains("CLONE_THREAD") || call.contains("resumed>")) {
        match call.rsplit_once(" = ") {
            None => waiting.push(*task),
            Some((_, thread)) if call.contains("CLONE_THREAD") || waiting.contains(task) => {
                waiting.retain(|other| other != task);
                if own.contains(task) {
                    own.push(thread);
                }
            }
            Some(_) => {}
        }
    }
    let begins = |call: &str| ["clone", "fork", "vfork"].iter().any(|name| call.trim_start().starts_with(name));
    let of_own = calls.iter().filter(|(task, call)| own.contains(task) && begins(call));
    of_own.filter(|(_, call)| !call.contains("CLONE_THREAD")).count()
}

/// The n-th text: always the same, and different from all others. Most are short; every twentieth has 100 KB.
fn text(n: usize) -> String {
    let mut seed = n as u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let size = match (n / AT_ONCE + n % AT_ONCE) % 20 {
        0 => 5,
        1 => 100 << 10,
        2 => 30_000,
        3 => 4_000,
        _ => 5 + random(1_000),
    };
    let pieces: Vec<&str> = PIECES.split('¦').collect();
    let mut text = format!("{n:03}");
    while text.len() < size {
        let piece = pieces[random(pieces.len())];
        text.push_str(if text.len() + piece.len() <= size { piece } else { "." });
    }
    text
}

/// The text of a line in the agent's log, which is a JSON string.
fn unquoted(line: &str) -> Option<String> {
    let mut chars = line.strip_prefix('"')?.strip_suffix('"')?.chars();
    let mut text = String::new();
    while let Some(c) = chars.next() {
        text.push(match c {
            '\\' => match chars.next()? {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'u' => {
                    let digits: String = chars.by_ref().take(4).collect();
                    char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?
                }
                other => other,
            },
            other => other,
        });
    }
    Some(text)
}

/// Describes for a person where two texts begin to differ.
fn difference(sent: Option<&String>, got: Option<&String>) -> String {
    let (Some(sent), Some(got)) = (sent, got) else {
        return if sent.is_some() { "it is missing".into() } else { "it is one too many".into() };
    };
    let at = sent.bytes().zip(got.bytes()).take_while(|(sent, got)| sent == got).count();
    let from = |text: &str| String::from_utf8_lossy(text.as_bytes().get(at..).unwrap_or_default()).into_owned();
    let shown = |text: &str| from(text).chars().take(40).collect::<String>();
    let sizes = format!("{} bytes sent, {} logged", sent.len(), got.len());
    format!("{sizes}, from byte {at} on {:?} became {:?}", shown(sent), shown(got))
}
