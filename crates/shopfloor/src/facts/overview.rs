//! What the five tools say about the worktrees. One process for each tool, however many worktrees there are.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;
use shopfloor_core::env::{Env, FRONT};
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::forge::FORGE;
use shopfloor_core::proc::{self, map_parallel};

use super::repository::require_own_root;
use super::run_tool::{Answer, answer_of, ask, command, program};

/// The answers.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    /// The main checkout, or the worktree that stands for it: that is where the tools were asked.
    pub main: PathBuf,
    pub agents: Vec<Value>,
    pub workers: Vec<Value>,
    /// What worker-ctl says of its root, if there is one.
    pub floor: Option<Floor>,
    pub overlay: Vec<Value>,
    pub sweatfiles: Vec<Value>,
    pub ledger: Option<LedgerState>,
    /// Why a tool has nothing to say, where it should.
    pub problems: Vec<String>,
    /// Whether that is so of more than some worktrees.
    pub has_failed: bool,
    /// What worker-ctl answered if there is a root, and it cannot say who works there, or why it could not be started.
    pub unread: Option<Answer>,
    /// What worktree-spawn answered if it cannot say which worktrees there are.
    pub unlisted: Option<Answer>,
}

impl Overview {
    /// Whether somebody reacts to what agents do, where there are any.
    pub fn is_up(&self) -> bool {
        self.floor.as_ref().is_none_or(|floor| floor.is_up)
    }
}

/// A root of worker-ctl.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Floor {
    pub root: PathBuf,
    /// Whether an `up` runs.
    pub is_up: bool,
    /// How many tasks wait for a worker.
    pub queue: u64,
}

/// The state of the ledger in the main checkout.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LedgerState {
    pub fresh: bool,
    pub event_count: u64,
}

/// Where agents and workers are, and nothing else. Fails if a tool that knows it cannot say so.
pub fn places(env: &Env) -> Result<Overview> {
    worktrees(env).and_then(require_workers)
}

/// The same, and how many commits each branch has that have not landed.
pub fn counted_places(env: &Env) -> Result<Overview> {
    placed(env, [&["worktree-spawn", "list", "--stat"], &["worker-ctl", "status", "--stat"]]).and_then(require_workers)
}

/// The same as [`places`], also if nobody can say who works there.
pub fn worktrees(env: &Env) -> Result<Overview> {
    placed(env, [&["worktree-spawn", "list"], &["worker-ctl", "status"]])
}

/// Without the workers an agent looks like one that nobody has started.
fn require_workers(found: Overview) -> Result<Overview> {
    let failure = found.unread.as_ref().map(|answer| not_told(answer, "state"));
    failure.map_or(Ok(found), Err)
}

/// The failure of a tool that cannot say what it knows. `other` is the kind of one that is neither ours nor a refusal.
fn not_told(answer: &Answer, other: &'static str) -> Failure {
    let (exit, kind) = match answer.status.code() {
        2 => (Exit::Bad, "malformed"),
        3 => (Exit::Decide, "undecided"),
        _ => {
            let not_started = ["missing_program", "failed"].into_iter().find(|kind| answer.has_kind(kind));
            (Exit::Failed, not_started.unwrap_or(other))
        }
    };
    let failure = answer.told_as(|why| Failure::new(exit, kind, why));
    if failure.hints.is_empty() { failure.hint("`shopfloor doctor` shows what is wrong") } else { failure }
}

fn placed(env: &Env, questions: [&[&str]; 2]) -> Result<Overview> {
    program(env, "worktree-spawn")?;
    let found = read_these(env, &questions);
    proc::check_interrupt()?;
    // A list has the main checkout at least. Without one an agent looks like a worker in a place of its own.
    let is_listed = found.agents.iter().any(|record| record.get("worktree").is_some());
    let failure = found.unlisted.as_ref().filter(|_| !is_listed).map(|answer| not_told(answer, "failed"));
    failure.map_or(Ok(found), Err)
}

/// What worker-ctl says of its workers now, in place of what it said before.
pub fn with_workers(env: &Env, before: Overview) -> Overview {
    let Overview { workers, floor, problems, unread, .. } = read_these(env, &[&["worker-ctl", "status", "--stat"]]);
    Overview { workers, floor, problems, unread, ..before }
}

/// Whether a worktree has neither a commit that has not landed nor a change.
pub fn has_nothing(env: &Env, worktree: &str) -> Result<bool> {
    let listed = ask(env, &["worktree-spawn", "list", "--status", "--stat"])?.records;
    Ok(listed.iter().any(|record| record["worktree"] == worktree && record["ahead"] == 0 && record["dirty"] == false))
}

/// Lets worker-ctl ask the forge about requests, at once or at most once a minute.
pub fn ask_forge(env: &Env, is_fresh: bool) -> Result<()> {
    let fresh = is_fresh.then_some("--fresh");
    let words = [&["worker-ctl", "status", "--requests", "--json"][..], fresh.as_slice()].concat();
    let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    // Its hints are to name our own commands.
    let asked = answer_of(&words[0], command(env, &words)?.var(FRONT, "1"))?;
    if asked.status.code() == 0 || asked.is_unused() {
        return Ok(());
    }
    Err(asked.told_as(|why| FORGE.failure(why)))
}

/// Asks all tools at once.
pub fn read(env: &Env) -> Overview {
    let questions: [&[&str]; 5] = [
        &["worktree-spawn", "list", "--status", "--stat"],
        &["worker-ctl", "status", "--stat"],
        &["overlay-sync", "status"],
        &["sweatfile-apply", "check", "--all", "--no-disk"],
        &["ledger-synth", "check"],
    ];
    read_these(env, &questions)
}

/// What is wrong, and what to run next.
pub fn in_one_line(why: String, hints: Vec<String>) -> String {
    [vec![why], hints].concat().join("; ")
}

fn read_these(env: &Env, questions: &[&[&str]]) -> Overview {
    let answers = map_parallel(questions, |words| match words[0] {
        // Another root knows nothing of who works here.
        "worker-ctl" => require_own_root(env).and_then(|()| ask(env, words)),
        _ => ask(env, words),
    });
    let (mut problems, mut has_failed) = (Vec::new(), false);
    let (mut records, mut failed) = (BTreeMap::new(), BTreeMap::new());
    for (words, answer) in questions.iter().zip(answers) {
        let told = match answer {
            // A repository without workers has no root.
            Ok(answer) if answer.is_unused() => Vec::new(),
            Ok(answer) => {
                has_failed |= answer.has_failed() && !answer.has_failed_for_some();
                let why = answer.failure().map(|why| why.replace("\ncaused by: ", ": "));
                let hints = answer.told_as(Failure::failed).hints;
                problems.extend(why.map(|why| in_one_line(format!("{}: {why}", words[0]), hints)));
                let records = answer.records.clone();
                failed.extend(answer.has_failed().then_some((words[0], answer)));
                records
            }
            Err(failure) => {
                has_failed = true;
                failed.insert(words[0], Answer::not_started(&failure));
                problems.push(in_one_line(failure.to_string(), failure.hints));
                Vec::new()
            }
        };
        records.insert(words[0], told);
    }
    let mut take = |tool: &str| records.remove(tool).unwrap_or_default();
    let (agents, workers, overlay) = (take("worktree-spawn"), take("worker-ctl"), take("overlay-sync"));
    let (sweatfiles, ledger) = (take("sweatfile-apply"), take("ledger-synth"));
    let floor = workers.iter().find_map(|record| {
        let (root, queue) = (PathBuf::from(record["root"].as_str()?), record["queue"].as_u64().unwrap_or(0));
        Some(Floor { root, is_up: record["daemon"] == "running", queue })
    });
    let workers = workers.into_iter().filter_map(|record| record.get("workers")?.as_array().cloned()).flatten();
    let ledger = ledger.iter().find(|record| record.get("fresh").is_some()).map(|record| LedgerState {
        fresh: record["fresh"] == true,
        event_count: record["event_count"].as_u64().unwrap_or(0),
    });
    let workers: Vec<Value> = workers.collect();
    let main = env.cwd.clone();
    let (unread, unlisted) = (failed.remove("worker-ctl"), failed.remove("worktree-spawn"));
    Overview { main, agents, workers, floor, overlay, sweatfiles, ledger, problems, has_failed, unread, unlisted }
}
