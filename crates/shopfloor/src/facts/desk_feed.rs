//! What the desk shows, as it changes: each kind is read by a thread of its own, so that nothing holds up the screen.
//! Files tell when there is something to ask for; while nothing changes, no process runs.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use serde_json::Value;
use shopfloor_core::board::Need;
use shopfloor_core::diff::{self, DiffLine};
use shopfloor_core::env::{Env, FRONT};
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git::{Git, common_dir_of};
use shopfloor_core::known_dirs;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc::Cmd;
use shopfloor_core::text::printable;

use super::overview::{self, Overview};
use super::run_tool::{Answer, answer_of, ask, command};
use crate::ansi::{self, StyledLine};

/// How often files are looked at.
const LOOK: Duration = Duration::from_millis(100);

/// How often what several tools say is asked for at most, and how often it is looked whether an `up` runs.
const SELDOM: Duration = Duration::from_secs(2);

/// For how many seconds a program writes nothing that has come to rest, and after which one that goes on after a limit is
/// late.
const RESTS: i64 = 3;
const LATE: i64 = 122;

/// How many lines of a diff, and of anything else, are shown.
const MOST_DIFF: usize = 20_000;
const MOST_LINES: usize = 500;

/// How much of a log is read.
const MOST_BYTES: usize = 1 << 18;

/// Something new.
pub enum News {
    /// A signal asks for the end.
    Over(i32),
    /// What the tools say of a repository, and its last commit.
    Overview(usize, Box<Overview>, String),
    Page(Box<Page>),
    Ended(Box<Ended>),
}

/// A command of ours that has ended.
pub struct Ended {
    pub words: Vec<String>,
    /// The worktree of the agent that it was about.
    pub about: Option<String>,
    pub answer: Result<Answer>,
}

/// A repository on the desk.
#[derive(Clone, Debug)]
pub struct Site {
    pub env: Env,
    /// Its main checkout.
    pub dir: PathBuf,
}

/// The repositories of all roots on the user's list; those of roots or repositories that are gone are left out.
pub fn all_sites(env: &Env) -> Result<Vec<Site>> {
    let listed = known_dirs::roots(env)?.into_iter().filter(|(root, common)| root.is_dir() && common.is_dir());
    listed
        .filter_map(|(root, common)| {
            let dir = if common.ends_with(".git") { common.parent()?.to_path_buf() } else { common };
            Some(env.at(&dir).map(|mut env| {
                env.vars.insert("WORKER_CTL_ROOT".into(), root.into());
                Site { env, dir }
            }))
        })
        .collect()
}

/// The pages of the lower half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PageKind {
    #[default]
    Terminal,
    Diff,
    Task,
    Log,
}

/// The page that is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    pub site: usize,
    /// The agent's worktree.
    pub worktree: String,
    /// Its worker; without one there is nothing to show.
    pub worker: Option<String>,
    pub root: Option<PathBuf>,
    pub kind: PageKind,
    pub need: Option<Need>,
    /// Its commit, and how often its comments were changed here: with another one the diff is another.
    pub version: (Option<String>, u64),
    pub record: Value,
}

/// A page.
#[derive(Clone, Debug)]
pub struct Page {
    pub worktree: String,
    pub kind: PageKind,
    pub content: Content,
}

#[derive(Clone, Debug)]
pub enum Content {
    /// A text, whose lines are broken where the screen ends.
    Text(Vec<String>),
    /// A screen, and the menu on it.
    Screen(Vec<StyledLine>, Option<Menu>),
    Diff(Box<Review>),
}

/// The menu that is on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Menu {
    pub id: String,
    pub lines: Vec<String>,
}

/// Some work, and the comments on it.
#[derive(Clone, Debug, Default)]
pub struct Review {
    pub message: String,
    pub lines: Vec<DiffLine>,
    pub is_cut: bool,
    /// As `worker-ctl comment` has them.
    pub comments: Vec<Value>,
    /// How many lines were added and taken away since the last look.
    pub since: Option<(usize, usize)>,
}

/// What `worker-ctl review --json` says.
pub fn review(record: &Value) -> Review {
    let diff = record["diff"].as_str().unwrap_or_default();
    let end = diff.match_indices('\n').nth(MOST_DIFF).map(|(at, _)| at);
    let count = |sign: &str| {
        let lines = record["range_diff"].as_str().into_iter().flat_map(str::lines);
        lines.filter(|line| line.trim_start().starts_with(sign)).count()
    };
    Review {
        message: record["message"].as_str().unwrap_or_default().to_owned(),
        lines: diff::lines(&diff[..end.unwrap_or(diff.len())]),
        is_cut: end.is_some(),
        comments: record["comments"].as_array().cloned().unwrap_or_default(),
        since: record["range_diff"].is_string().then(|| (count("++"), count("-+"))),
    }
}

/// What changes when a file is written anew.
fn stamp(path: &Path) -> Option<(i64, i64, u64, u64)> {
    path.symlink_metadata().ok().map(|meta| (meta.mtime(), meta.mtime_nsec(), meta.len(), meta.ino()))
}

/// Tells what the tools say of a repository, at once and whenever its files have changed.
pub fn watch(site: usize, at: Site, news: &Sender<News>) {
    let (mut overview, mut head) = (Overview::default(), String::new());
    let (mut near, mut far, mut asked) = (None, None, None::<Instant>);
    let silent_after = silent_after(&at.env);
    loop {
        let is_due = asked.is_none_or(|asked| asked.elapsed() >= SELDOM);
        let far_now = if is_due { Some(all_of(&at.dir)) } else { far.clone() };
        let near_now = Some(of_root(&at.env, &overview, silent_after, if is_due { None } else { near.as_ref() }));
        let read = match () {
            () if far_now != far => overview::read(&at.env),
            () if near_now != near => overview::with_workers(&at.env, overview.clone()),
            () => {
                thread::sleep(LOOK);
                continue;
            }
        };
        asked = if is_due { Some(Instant::now()) } else { asked };
        if far_now != far {
            head = commit(&at);
        }
        let is_first = far.is_none();
        // What was seen before is what was asked about.
        (far, near) = (far_now, if is_first { None } else { near_now });
        overview = read.unwrap_or_else(|failure| Overview { problems: vec![failure.to_string()], ..overview });
        if news.send(News::Overview(site, Box::new(overview.clone()), head.clone())).is_err() {
            return;
        }
    }
}

/// The last commit of the main checkout, in short.
pub fn commit(site: &Site) -> String {
    let git =
        Git::find(&site.env).map(|git| git.cmd(&site.dir).args(["rev-parse", "--short=7", "--verify", "-q", "HEAD"]));
    git.and_then(Cmd::capture).map(|output| output.text()).unwrap_or_default()
}

/// After how many seconds a program counts as silent.
fn silent_after(env: &Env) -> Option<i64> {
    let settings = ask(env, &["worker-ctl", "config"]).ok()?.records;
    let value = settings.iter().find(|setting| setting["name"] == "silent_after")?["value"].as_str()?;
    let after = shopfloor_core::time::parse_duration(value, shopfloor_core::time::Unit::Seconds)?.as_secs();
    i64::try_from(after).ok().filter(|after| *after > 0)
}

/// What tells that something has changed in the root: its files, and whether programs have come to rest.
type Near = (Vec<Option<(i64, i64, u64, u64)>>, Vec<(bool, bool, bool)>, bool);

fn of_root(env: &Env, overview: &Overview, silent_after: Option<i64>, before: Option<&Near>) -> Near {
    let Some(floor) = &overview.floor else { return (Vec::new(), Vec::new(), false) };
    let files =
        ["state.json", "requests.json", "clashes.json", "config.toml"].map(|name| stamp(&floor.root.join(name)));
    let now = env.later().now.as_second();
    let working =
        overview.workers.iter().filter(|worker| !["idle", "needs_review"].map(Value::from).contains(&worker["task"]));
    let rests = working.map(|worker| {
        let log = floor.root.join(format!("logs/{}.log", worker["name"].as_str().unwrap_or_default()));
        let quiet = stamp(&log).map_or(0, |(wrote, ..)| now - wrote);
        let until = worker["limited_until_at"].as_str().and_then(|time| time.parse::<jiff::Timestamp>().ok());
        let is_late = until.is_some_and(|until| now > until.as_second() + LATE);
        (quiet > RESTS, silent_after.is_some_and(|after| quiet > after), is_late)
    });
    let is_up = before
        .map_or_else(|| Lock::is_held(&floor.root.join("locks/daemon.lock")).unwrap_or(false), |(_, _, is_up)| *is_up);
    (files.to_vec(), rests.collect(), is_up)
}

/// What tells that something has changed in the repository: refs, worktrees, and what the tools keep there.
fn all_of(dir: &Path) -> BTreeMap<PathBuf, Option<(i64, i64, u64, u64)>> {
    const DEPTH: usize = 3;
    const MOST: usize = 2_000;
    let common = common_dir_of(dir).unwrap_or_else(|| dir.join(".git"));
    let mut all: BTreeMap<_, _> = ["HEAD", "packed-refs", "reftable/tables.list"]
        .map(|name| (common.join(name), stamp(&common.join(name))))
        .into();
    let mut next: Vec<(PathBuf, usize)> =
        ["refs/heads", "worktrees", "shopfloor"].map(|name| (common.join(name), 0)).to_vec();
    while let Some((dir, depth)) = next.pop() {
        let entries = std::fs::read_dir(&dir).into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        if depth < DEPTH && all.len() + next.len() < MOST {
            next.extend(below.map(|entry| (entry.path(), depth + 1)));
        }
        all.insert(dir.clone(), stamp(&dir));
    }
    all
}

/// Reads the pages that are asked for, the last one only, and again when the terminal that one shows has changed.
pub fn read_pages(sites: &[Site], wanted: &Receiver<Option<Wanted>>, news: &Sender<News>) {
    let (mut current, mut seen) = (None::<Wanted>, None);
    loop {
        let is_live = current.as_ref().is_some_and(|page| page.kind != PageKind::Diff);
        let asked =
            if is_live { wanted.recv_timeout(LOOK) } else { wanted.recv().map_err(|_| RecvTimeoutError::Disconnected) };
        match asked {
            Ok(page) => (current, seen) = (wanted.try_iter().last().unwrap_or(page), None),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let Some(page) = &current else { continue };
        let log =
            page.root.as_ref().zip(page.worker.as_ref()).map(|(root, name)| root.join(format!("logs/{name}.log")));
        let now = Some(log.and_then(|log| stamp(&log)));
        if now == seen {
            continue;
        }
        seen = now;
        let content = content(&sites[page.site].env, page);
        let Wanted { worktree, kind, .. } = page.clone();
        if news.send(News::Page(Box::new(Page { worktree, kind, content }))).is_err() {
            return;
        }
    }
}

/// Reads a page.
pub fn content(env: &Env, page: &Wanted) -> Content {
    let plain = |text: &str| Content::Text(text.lines().map(printable).collect());
    let Some(worker) = &page.worker else {
        return plain(&format!("No agent works here yet: `shopfloor adopt {}`", page.worktree));
    };
    let said = match page.kind {
        PageKind::Terminal => terminal(env, worker, page.need),
        PageKind::Diff => {
            let words = ["worker-ctl", "review", worker, "-n"].map(str::to_owned);
            run(env, &words, None).map(|answer| match answer.records.first() {
                Some(record) if answer.status.success() => Content::Diff(Box::new(review(record))),
                _ => plain(&refusal(&answer)),
            })
        }
        PageKind::Task => Ok(plain(&task(page))),
        PageKind::Log => log(env, worker, page),
    };
    said.unwrap_or_else(|failure| plain(&failure.to_string()))
}

/// Why a command refused, with what there is to do.
pub fn refusal(answer: &Answer) -> String {
    let hints = answer.records.iter().filter_map(|record| record.pointer("/error/hints")?.as_array());
    let hints = hints.flatten().filter_map(Value::as_str).map(|hint| format!("hint: {hint}"));
    let why = answer.error.clone().unwrap_or_else(|| format!("it ended with {}", answer.status));
    std::iter::once(why).chain(hints).collect::<Vec<_>>().join("\n")
}

/// What a terminal shows, with so many lines above; else why there is nothing.
fn screen(env: &Env, worker: &str, lines: usize) -> Result<std::result::Result<Vec<StyledLine>, Content>> {
    let lines = lines.to_string();
    let words = ["worker-ctl", "peek", worker, "--ansi", "--lines", &lines].map(str::to_owned);
    let answer = run(env, &words, None)?;
    let text = answer.records.first().and_then(|record| record["text"].as_str());
    Ok(text.map(ansi::lines).ok_or_else(|| Content::Text(refusal(&answer).lines().map(printable).collect())))
}

/// The screen of an agent's program, and the menu on it.
fn terminal(env: &Env, worker: &str, need: Option<Need>) -> Result<Content> {
    let lines = match screen(env, worker, 0)? {
        Ok(lines) => lines,
        Err(refusal) => return Ok(refusal),
    };
    let asked = (need == Some(Need::Asks)).then(|| ask(env, &["worker-ctl", "answer", worker, "-n"])).transpose()?;
    let menu = asked.and_then(|answer| {
        let record = answer.records.into_iter().next()?;
        let lines = record["lines"].as_array()?.iter().filter_map(|line| line.as_str().map(str::to_owned)).collect();
        Some(Menu { id: record["menu"].as_str()?.to_owned(), lines })
    });
    // It has to be the one that is drawn.
    let drawn: Vec<String> = lines.iter().map(|line| line.iter().map(|(text, _)| text.as_str()).collect()).collect();
    let has =
        |line: &String| drawn.iter().any(|drawn| drawn.contains(line.split_once(". ").map_or("", |(_, text)| text)));
    Ok(Content::Screen(lines, menu.filter(|menu| menu.lines.iter().all(has))))
}

/// The task, what is known of the work, and what happened.
fn task(page: &Wanted) -> String {
    let record = &page.record;
    let mut lines = Vec::new();
    for (key, title) in
        [("agent", "Agent"), ("branch", "Branch"), ("target", "Lands on"), ("commit", "Commit"), ("fault", "Fault")]
    {
        lines.extend(record[key].as_str().map(|text| format!("{title}: {}", printable(text))));
    }
    let check = record["check"].as_object().map(|check| if check["ok"] == true { "green" } else { "red, see the log" });
    lines.extend(check.map(|check| format!("Check: {check}")));
    lines.extend(
        record.pointer("/request/url").and_then(Value::as_str).map(|url| format!("Request: {}", printable(url))),
    );
    lines.extend(
        record["notes"].as_array().into_iter().flatten().filter_map(Value::as_str).map(|note| format!("Note: {note}")),
    );
    lines.push(String::new());
    lines.push(record["prompt"].as_str().unwrap_or("no task").to_owned());
    lines.push(String::new());
    let events = page.root.as_ref().map(|root| tail(&root.join("logs/events.jsonl"))).unwrap_or_default();
    let events = events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let own: Vec<Value> = events.filter(|event| event["worker"].as_str() == page.worker.as_deref()).collect();
    let text = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
    lines.extend(own.iter().rev().take(MOST_LINES).map(|event| {
        let time = text(event, "time").chars().take(16).collect::<String>().replace('T', " ");
        format!("{time}  {}  {}  {}", text(event, "event"), text(event, "to"), text(event, "detail"))
    }));
    lines.join("\n")
}

/// What a failed check said, else what the terminal showed.
fn log(env: &Env, worker: &str, page: &Wanted) -> Result<Content> {
    let check = page.root.as_ref().map(|root| root.join(format!("logs/{worker}.check.log")));
    if let Some(check) = check.filter(|_| page.record.pointer("/check/ok") == Some(&false.into())) {
        let text = tail(&check);
        let lines: Vec<&str> = text.lines().collect();
        let last = &lines[lines.len().saturating_sub(MOST_LINES)..];
        return Ok(Content::Text(last.iter().map(|line| printable(line)).collect()));
    }
    Ok(screen(env, worker, MOST_LINES)?.map_or_else(|refusal| refusal, |lines| Content::Screen(lines, None)))
}

/// The end of a file.
fn tail(path: &Path) -> String {
    let bytes = fs::read_own(path).ok().flatten().unwrap_or_default();
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(MOST_BYTES)..]).into_owned()
}

/// Runs one of our commands with `--json`, as the front door does.
pub fn run(env: &Env, words: &[String], input: Option<String>) -> Result<Answer> {
    let words = [words, &["--json".to_owned()]].concat();
    let cmd = command(env, &words)?.var(FRONT, "1");
    answer_of(match input {
        Some(text) => cmd.input(text.into_bytes()),
        None => cmd,
    })
}
