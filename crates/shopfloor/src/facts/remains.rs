//! What is left of what a set-up made, as the tools tell it.

use std::path::Path;

use serde_json::Value;
use shopfloor_core::env::Env;
use shopfloor_core::fs;

use super::answers::ask;
use crate::step::{OVERLAY, SWEATFILE, WORKERS};

/// What is left of a step. If a tool cannot be asked, something may be left.
#[derive(Clone, Debug, Default)]
pub struct Remains {
    /// Whether the overlay is there, or something is wrong with it.
    pub has_overlay: bool,
    /// The overlay, if it has files.
    pub overlay_with_files: Option<String>,
    /// Whether there is a root, or something is wrong with it.
    pub has_root: bool,
    /// The root of which only a part was made.
    pub half_root: Option<String>,
    /// The agents whose worktrees need lines in `info/exclude`.
    pub agents: Vec<String>,
}

/// Looks at what is left of a step.
pub fn read(env: &Env, step: &str) -> Remains {
    match step {
        SWEATFILE => Remains { agents: agents(env), ..Remains::default() },
        OVERLAY => overlay(env),
        WORKERS => root(env),
        _ => Remains::default(),
    }
}

fn agents(env: &Env) -> Vec<String> {
    let all = ask(env, &["worktree-spawn", "list"]).map(|answer| answer.records).unwrap_or_default();
    let is_made = |agent: &&Value| agent["managed"] == true && agent["kind"] != "root";
    all.iter().filter(is_made).filter_map(|agent| agent["id"].as_str().map(str::to_owned)).collect()
}

fn overlay(env: &Env) -> Remains {
    let findings = ask(env, &["overlay-sync", "doctor"]).map(|answer| answer.records).unwrap_or_default();
    let finding = findings.iter().find(|finding| finding["check"] == "overlay" && finding["ok"] == true);
    // Its detail is the directory, or says that there is none.
    let dir = finding.and_then(|finding| finding["detail"].as_str()).filter(|dir| Path::new(dir).is_dir());
    let has_files =
        |dir: &&str| fs::list(Path::new(dir)).is_ok_and(|all| all.iter().any(|name| name != ".overlay-sync"));
    Remains {
        has_overlay: finding.is_none() || dir.is_some(),
        overlay_with_files: dir.filter(has_files).map(str::to_owned),
        ..Remains::default()
    }
}

fn root(env: &Env) -> Remains {
    let is_none = |record: &Value| record.pointer("/error/kind").is_some_and(|kind| kind == "not_initialised");
    let status = ask(env, &["worker-ctl", "status"]);
    if !status.is_ok_and(|answer| answer.records.iter().any(is_none)) {
        return Remains { has_root: true, ..Remains::default() };
    }
    let planned = ask(env, &["worker-ctl", "init", "-n"]).map(|answer| answer.records).unwrap_or_default();
    let half = planned.iter().find_map(|answer| answer["root"].as_str()).filter(|root| Path::new(root).exists());
    Remains { half_root: half.map(str::to_owned), ..Remains::default() }
}
