//! What is left of what a set-up made, as the tools tell it.

use std::path::Path;

use serde_json::Value;
use shopfloor_core::env::Env;
use shopfloor_core::fs;
use shopfloor_core::text::printable;

use super::answers::ask;
use crate::step::{OVERLAY, SWEATFILE, WORKERS};

/// What is left of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remains {
    /// Whether its tool may have something to take back.
    pub is_there: bool,
    /// What keeps the step although no command failed, a line each.
    pub blocks: Vec<String>,
}

/// Looks at what is left of a step. If a tool cannot be asked, something may be left.
pub fn read(env: &Env, step: &str) -> Remains {
    match step {
        SWEATFILE => Remains { is_there: true, blocks: agents(env) },
        OVERLAY => overlay(env),
        WORKERS => root(env),
        _ => Remains { is_there: true, blocks: Vec::new() },
    }
}

/// The agents whose worktrees need lines in `info/exclude`.
fn agents(env: &Env) -> Vec<String> {
    let all = ask(env, &["worktree-spawn", "list"]).map(|answer| answer.records).unwrap_or_default();
    let made = all.iter().filter(|agent| agent["managed"] == true && agent["kind"] != "root");
    let ids = made.filter_map(|agent| agent["id"].as_str());
    ids.map(|id| format!("there is an agent {}; `shopfloor done` removes it", printable(id))).collect()
}

fn overlay(env: &Env) -> Remains {
    let findings = ask(env, &["overlay-sync", "doctor"]).map(|answer| answer.records).unwrap_or_default();
    let is_good = |finding: &&Value| finding["check"] == "overlay" && finding["ok"] == true;
    let Some(finding) = findings.iter().find(is_good) else { return Remains { is_there: true, blocks: Vec::new() } };
    // Its detail is the directory, or says that there is none.
    let dir = finding["detail"].as_str().filter(|dir| Path::new(dir).is_dir());
    let has_files =
        |dir: &&str| fs::list(Path::new(dir)).is_ok_and(|all| all.iter().any(|name| name != ".overlay-sync"));
    let block = dir.filter(has_files).map(|dir| {
        let hint = "they are copies of those in the worktrees; delete the directory if you do not need them";
        format!("the overlay {} has files; {hint}", printable(dir))
    });
    Remains { is_there: dir.is_some(), blocks: block.into_iter().collect() }
}

fn root(env: &Env) -> Remains {
    if !ask(env, &["worker-ctl", "status"]).is_ok_and(|answer| answer.is_unused()) {
        return Remains { is_there: true, blocks: Vec::new() };
    }
    let planned = ask(env, &["worker-ctl", "init", "-n"]).map(|answer| answer.records).unwrap_or_default();
    let half = planned.iter().find_map(|answer| answer["root"].as_str()).filter(|root| Path::new(root).exists());
    let block = half.map(|root| format!("{} was made only in part; remove it", printable(root)));
    Remains { is_there: false, blocks: block.into_iter().collect() }
}
