//! What the five tools say about the worktrees. One process for each tool, however many worktrees there are.

use serde_json::Value;
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::proc::map_parallel;

use super::answers::{Answer, ask};

/// The answers, in the order of [`QUESTIONS`].
#[derive(Debug)]
pub struct Overview {
    pub agents: Vec<Value>,
    pub workers: Vec<Value>,
    pub overlay: Vec<Value>,
    pub sweatfiles: Vec<Value>,
    pub ledger: Option<Value>,
    /// Why a tool has nothing to say, where it should.
    pub problems: Vec<String>,
}

const QUESTIONS: [&[&str]; 5] = [
    &["worktree-spawn", "list", "--status", "--stat"],
    &["worker-ctl", "status"],
    &["overlay-sync", "status"],
    &["sweatfile-apply", "check", "--all"],
    &["ledger-synth", "check"],
];

/// Where agents and workers are, and nothing else.
pub fn places(env: &Env) -> Result<Overview> {
    read_these(env, &[&["worktree-spawn", "list"], &["worker-ctl", "status"]])
}

/// Asks all tools at once.
pub fn read(env: &Env) -> Result<Overview> {
    read_these(env, &QUESTIONS)
}

fn read_these(env: &Env, questions: &[&[&str]]) -> Result<Overview> {
    let answers = map_parallel(questions, |words| ask(env, words));
    let mut problems = Vec::new();
    let mut records = Vec::new();
    for (words, answer) in questions.iter().zip(answers) {
        let answer: Answer = match answer {
            Ok(answer) => answer,
            Err(failure) => {
                problems.push(failure.to_string());
                records.push(Vec::new());
                continue;
            }
        };
        // A repository without workers has no root.
        let is_unused =
            answer.records.iter().any(|record| record.pointer("/error/kind") == Some(&"not_initialised".into()));
        if answer.has_failed() && !is_unused {
            let why = answer.error.clone().unwrap_or_else(|| format!("it ended with {}", answer.status));
            problems.push(format!("{}: {why}", words[0]));
        }
        records.push(if is_unused { Vec::new() } else { answer.records });
    }
    let mut next = records.into_iter();
    let mut take = || next.next().unwrap_or_default();
    let (agents, workers, overlay, sweatfiles, ledger) = (take(), take(), take(), take(), take());
    let workers = workers.into_iter().filter_map(|record| record.get("workers")?.as_array().cloned()).flatten();
    let ledger = ledger.into_iter().find(|record| record.get("fresh").is_some());
    Ok(Overview { agents, workers: workers.collect(), overlay, sweatfiles, ledger, problems })
}
