//! What the desk shows, as it changes: each kind is read by a thread of its own, so that nothing holds up the screen.
//! Files tell when there is something to ask for; while nothing changes, no process runs.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use serde_json::Value;
use shopfloor_core::diff::{self, DiffLine};
use shopfloor_core::env::{Env, FRONT};
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git::{Git, common_dir_of};
use shopfloor_core::known_dirs;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc::Cmd;
use shopfloor_core::text::printable;
use shopfloor_core::ui::in_front_words;

use super::overview::{self, Overview};
use super::repository::{self, checkout_of};
use super::run_tool::{Answer, answer_of, command};
use crate::ansi::{self, StyledLine};

/// How often files are looked at, and directories and hosts.
const LOOK: Duration = Duration::from_millis(100);
const SELDOM: Duration = Duration::from_secs(2);

/// How often the forge is asked, and what only time tells, of those at work.
const MINUTE: Duration = Duration::from_secs(60);

/// For how many seconds a program writes nothing that has come to rest, perhaps with a question. What worker-ctl does with it
/// takes its time, too.
const RESTS: [i64; 3] = [3, 6, 12];

/// How many lines of a diff, and of anything else, are shown.
pub const MOST_DIFF: usize = 20_000;
const MOST_LINES: usize = 500;

/// How much of a line is shown.
const MOST_COLUMNS: usize = 2_000;

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
    /// The key of the agent that it was about.
    pub about: Option<String>,
    pub answer: Result<Answer>,
}

/// The repositories of all roots on the user's list, each as the surroundings seen from its main checkout; those of roots
/// or repositories that are gone are left out.
pub fn all_sites(env: &Env) -> Result<Vec<Env>> {
    let listed = known_dirs::roots(env)?.into_iter().filter(|(root, common)| root.is_dir() && common.is_dir());
    let site = |(root, common): (PathBuf, PathBuf)| {
        let near = env.at(&checkout_of(common)).ok()?;
        // That of a separate git directory is elsewhere.
        let mut site = repository::find(&near).ok().and_then(|found| env.at(&found.main).ok()).unwrap_or(near);
        site.vars.insert("WORKER_CTL_ROOT".into(), root.into());
        Some(site)
    };
    Ok(listed.filter_map(site).collect())
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
    /// The agent, and the name of its worker; without one there is nothing to show.
    pub key: String,
    pub worker: Option<String>,
    pub root: Option<PathBuf>,
    pub kind: PageKind,
    /// With another one the diff is another.
    pub version: String,
    /// The worker's record, but for the diff.
    pub record: Value,
}

/// A page.
#[derive(Clone, Debug)]
pub struct Page {
    pub key: String,
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
    pub commit: String,
    pub lines: Vec<DiffLine>,
    /// Whether the diff has more lines than these.
    pub is_cut: bool,
    /// How many files the whole of it is about.
    pub files: usize,
    /// As `worker-ctl comment` has them.
    pub comments: Vec<Value>,
    /// How many lines were added and taken away since the last look.
    pub since: Option<(usize, usize)>,
}

impl Review {
    /// How many comments were not sent yet.
    pub fn unsent(&self) -> usize {
        self.comments.iter().filter(|comment| comment["sent"] != true).count()
    }
}

/// What `worker-ctl review --json` says.
pub fn review(record: &Value) -> Review {
    let diff = record["diff"].as_str().unwrap_or_default();
    let end = diff.match_indices('\n').nth(MOST_DIFF - 1).map_or(diff.len(), |(at, _)| at + 1);
    let count = |sign: &str| {
        let lines = record["range_diff"].as_str().into_iter().flat_map(str::lines);
        lines.filter(|line| line.trim_start().starts_with(sign)).count()
    };
    let mut lines = diff::lines(&diff[..end]);
    for line in &mut lines {
        let end = line.text.char_indices().nth(MOST_COLUMNS).map_or(line.text.len(), |(end, _)| end);
        line.text.truncate(end);
    }
    Review {
        commit: record["commit"].as_str().unwrap_or_default().to_owned(),
        lines,
        is_cut: end < diff.len(),
        files: diff.lines().filter(|line| line.starts_with("diff --git ")).count(),
        comments: record["comments"].as_array().cloned().unwrap_or_default(),
        since: record["range_diff"].is_string().then(|| (count("++"), count("-+"))),
    }
}

/// What changes when a file is written anew.
type Stamp = Option<(i64, i64, u64, u64)>;

fn stamp(path: &Path) -> Stamp {
    path.symlink_metadata().ok().map(|meta| (meta.mtime(), meta.mtime_nsec(), meta.len(), meta.ino()))
}

/// Tells what the tools say of a repository, at once and whenever its files have changed.
pub fn watch(site: usize, env: &Env, news: &Sender<News>) {
    let (mut told, mut head) = (Overview::default(), String::new());
    let (mut near, mut far, mut is_up) = (Vec::new(), Vec::new(), false);
    let (mut looked, mut asked) = (None::<Instant>, Instant::now());
    loop {
        let is_due = looked.is_none_or(|looked| looked.elapsed() >= SELDOM);
        let (mut far_now, mut up_now) = (far.clone(), is_up);
        if is_due {
            let lock = told.floor.as_ref().map(|floor| floor.root.join("locks/daemon.lock"));
            (far_now, looked) = (of_repository(&env.cwd), Some(Instant::now()));
            up_now = lock.is_some_and(|lock| Lock::is_held(&lock).unwrap_or(false));
        }
        let near_now = of_root(env, &told);
        let is_busy = told.workers.iter().any(is_at_work);
        let waited = if told.problems.is_empty() { MINUTE } else { SELDOM };
        let is_late = (is_busy || !told.problems.is_empty()) && asked.elapsed() >= waited;
        let mut now = match () {
            () if far_now != far => overview::read(env),
            () if near_now != near || up_now != is_up || is_late => overview::with_workers(env, told.clone()),
            () => {
                thread::sleep(LOOK);
                continue;
            }
        };
        if far_now != far {
            head = commit(env);
        }
        // What was seen before it was asked about is what the answer is about.
        (near, far, is_up, asked) = (near_now, far_now, up_now, Instant::now());
        if now.floor.is_none() && !now.problems.is_empty() {
            // What cannot be read now is as it was.
            now.unread = now.unread.filter(|_| told.floor.is_none());
            (now.floor, now.workers) = (told.floor, told.workers);
            now.agents = if now.agents.is_empty() { told.agents } else { now.agents };
        }
        told = now;
        if news.send(News::Overview(site, Box::new(told.clone()), head.clone())).is_err() {
            return;
        }
    }
}

/// Whether its program works on a task.
fn is_at_work(worker: &Value) -> bool {
    worker["task"] != "idle" && worker["task"] != "needs_review"
}

/// What tells that something has changed in the root: its files, and whether programs have come to rest.
fn of_root(env: &Env, told: &Overview) -> Vec<(Stamp, usize)> {
    let Some(floor) = &told.floor else { return Vec::new() };
    let file = |name: &str| (stamp(&floor.root.join(name)), 0);
    let now = env.later().now.as_second();
    // No file here tells what happens on a host.
    let has_hosts = told.workers.iter().any(|worker| worker["host"].is_string());
    let hosts = has_hosts.then(|| (None, usize::try_from(now.unsigned_abs() / SELDOM.as_secs()).unwrap_or(0)));
    let own = told.workers.iter().filter(|worker| worker["host"].is_null());
    let rests = own.filter(|worker| is_at_work(worker)).map(|worker| {
        let log = floor.root.join(format!("logs/{}.log", worker["name"].as_str().unwrap_or_default()));
        let quiet = stamp(&log).map_or(0, |(wrote, ..)| now - wrote);
        (None, RESTS.iter().filter(|rests| quiet > **rests).count())
    });
    ["state.json", "requests.json", "clashes.json", "config.toml", "comments"]
        .map(file)
        .into_iter()
        .chain(rests)
        .chain(hosts)
        .collect()
}

/// What tells that something has changed in the repository: refs, worktrees, and what the tools keep there.
fn of_repository(dir: &Path) -> Vec<(PathBuf, Stamp)> {
    const DEPTH: usize = 3;
    const MOST: usize = 2_000;
    let common = common_dir_of(dir).unwrap_or_else(|| dir.join(".git"));
    let start = ["HEAD", "packed-refs", "reftable/tables.list", "refs/heads", "worktrees", "shopfloor"];
    let mut all: Vec<(PathBuf, usize)> = start.map(|name| (common.join(name), 0)).into();
    let mut at = 0;
    while let Some((dir, depth)) = all.get(at).filter(|_| all.len() < MOST).cloned() {
        let entries = std::fs::read_dir(&dir).into_iter().flatten().flatten();
        let below = entries.filter(|entry| depth < DEPTH && entry.file_type().is_ok_and(|kind| kind.is_dir()));
        all.extend(below.take(MOST).map(|entry| (entry.path(), depth + 1)));
        at += 1;
    }
    all.into_iter().map(|(path, _)| (path.clone(), stamp(&path))).collect()
}

/// The last commit of the main checkout, in short.
pub fn commit(env: &Env) -> String {
    let git = Git::find(env).map(|git| git.cmd(&env.cwd).args(["rev-parse", "--short=7", "--verify", "-q", "HEAD"]));
    git.and_then(Cmd::capture).map(|output| output.text()).unwrap_or_default()
}

/// Lets worker-ctl ask the forge about requests, once a minute.
pub fn ask_forge(sites: &[Env]) {
    loop {
        // What fails is tried again; what was told last is shown with its age.
        sites.iter().for_each(|site| drop(overview::ask_forge(site, false)));
        thread::sleep(MINUTE);
    }
}

/// Reads the pages that are asked for, the last one only, and again when the terminal that one shows has changed.
pub fn read_pages(sites: &[Env], wanted: &Receiver<Option<Wanted>>, news: &Sender<News>) {
    let (mut current, mut seen) = (None::<Wanted>, None);
    loop {
        let is_live = |page: &Wanted| [PageKind::Terminal, PageKind::Log].contains(&page.kind);
        let is_live = current.as_ref().is_some_and(is_live);
        let is_far = current.as_ref().and_then(|page| page.worker.as_ref()).is_some_and(|worker| worker.contains(':'));
        let pause = if is_far { SELDOM } else { LOOK };
        let asked = match is_live {
            true => wanted.recv_timeout(pause),
            false => wanted.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match asked {
            Ok(page) => (current, seen) = (wanted.try_iter().last().unwrap_or(page), None),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let Some(page) = &current else { continue };
        let log =
            page.root.as_ref().zip(page.worker.as_ref()).map(|(root, name)| root.join(format!("logs/{name}.log")));
        let now = Some(log.and_then(|log| stamp(&log)));
        if now == seen && !is_far {
            continue;
        }
        seen = now;
        let content = content(&sites[page.site], page);
        let (key, kind) = (page.key.clone(), page.kind);
        if news.send(News::Page(Box::new(Page { key, kind, content }))).is_err() {
            return;
        }
    }
}

/// Reads a page.
pub fn content(env: &Env, page: &Wanted) -> Content {
    let plain = |text: &str| Content::Text(text.lines().map(printable).collect());
    let Some(worker) = &page.worker else {
        return plain("No agent was started here yet.");
    };
    let said = match page.kind {
        PageKind::Terminal => screen(env, worker, 0),
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
    let why = answer.error.clone().unwrap_or_else(|| answer.end());
    std::iter::once(why).chain(hints).collect::<Vec<_>>().join("\n")
}

/// What a terminal shows, with so many lines above, and the menu on it; else why there is nothing.
fn screen(env: &Env, worker: &str, lines: usize) -> Result<Content> {
    let words = ["worker-ctl", "peek", worker, "--ansi", "--lines", &lines.to_string()].map(str::to_owned);
    let answer = run(env, &words, None)?;
    let shown = answer.records.first().and_then(|record| {
        let lines = record["menu"]["lines"].as_array().into_iter().flatten();
        let lines = lines.filter_map(|line| line.as_str().map(str::to_owned)).collect();
        let menu = record["menu"]["id"].as_str().map(|id| Menu { id: id.to_owned(), lines });
        Some(Content::Screen(ansi::lines(record["text"].as_str()?), menu))
    });
    Ok(shown.unwrap_or_else(|| Content::Text(refusal(&answer).lines().map(printable).collect())))
}

/// The task, what is known of the work, and what happened, the last first.
fn task(page: &Wanted) -> String {
    let known = [
        ("/agent", "Agent"),
        ("/branch", "Branch"),
        ("/target", "Lands on"),
        ("/commit", "Commit"),
        ("/fault", "Fault"),
        ("/request/url", "Request"),
    ];
    let text = |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let known = known.iter().filter_map(|(key, title)| Some(format!("{title}: {}", text(&page.record, key)?)));
    let check =
        page.record.pointer("/check/ok").map(|ok| if *ok == true { "Check: green" } else { "Check: red, see the log" });
    let notes = page.record["notes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let notes = notes.map(|note| format!("Note: {}", in_front_words(note)));
    let task = ["".into(), text(&page.record, "/prompt").unwrap_or_else(|| "no task".into()), "".into()];
    let events = page.root.as_ref().map(|root| tail(&root.join("logs/events.jsonl"))).unwrap_or_default();
    let own = events.lines().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let own = own.filter(|event| event["worker"].as_str() == page.worker.as_deref()).take(MOST_LINES).map(|event| {
        let said = ["/event", "/to", "/detail"].map(|key| text(&event, key).unwrap_or_default()).join("  ");
        format!("{}  {said}", text(&event, "/time").unwrap_or_default())
    });
    let all = known.chain(check.map(str::to_owned)).chain(notes).chain(task).chain(own);
    all.collect::<Vec<_>>().join("\n")
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
    screen(env, worker, MOST_LINES)
}

/// The end of a file.
fn tail(path: &Path) -> String {
    let bytes = fs::read_own(path).ok().flatten().unwrap_or_default();
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(MOST_BYTES)..]).into_owned()
}

/// Runs one of our commands with `--json`, as the front door does.
pub fn run(env: &Env, words: &[String], input: Option<String>) -> Result<Answer> {
    let words = [&words[..1], &["--json".to_owned()], &words[1..]].concat();
    let cmd = command(env, &words)?.var(FRONT, "1");
    let cmd = match input {
        Some(text) => cmd.input(text.into_bytes()),
        None => cmd,
    };
    answer_of(&words[0], cmd)
}
