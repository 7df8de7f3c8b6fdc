//! What `setup` made that is still there, as the tools tell it.

use std::path::{Path, PathBuf};

use serde_json::Value;
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git::private_dir;
use shopfloor_core::text::{printable, shell_word};

use super::run_tool::ask;
use crate::step::{OVERLAY, SWEATFILE, WORKERS};

/// Where an overlay has its history.
const OWN_DIR: &str = ".overlay-sync";

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

/// The agents and other worktrees that need lines in `info/exclude`.
fn agents(env: &Env) -> Vec<String> {
    let all = ask(env, &["worktree-spawn", "list"]).map(|answer| answer.records).unwrap_or_default();
    let made = all.iter().filter(|agent| agent["managed"] == true && agent["kind"] != "root");
    let names: Vec<String> = made.filter_map(|agent| agent["id"].as_str()).map(printable).collect();
    let agents = match &names[..] {
        [] => None,
        [name] => Some(format!("its lines in info/exclude are for the agent {name}; `shopfloor rm` removes it")),
        several => Some(format!(
            "its lines in info/exclude are for the agents {}; `shopfloor rm` removes them",
            several.join(" ")
        )),
    };
    // Those that a person made, and the main checkout, may be set up, too.
    let others = all.iter().filter(|other| other["kind"] == "root");
    let set_up = others
        .filter_map(|other| other["worktree"].as_str().map(Path::new))
        .filter(|path| private_dir(path).is_some_and(|own| own.join("shopfloor/sweatfile-apply/record.json").exists()));
    let others = set_up.map(|path| {
        let (shown, undo) = (printable(&path.to_string_lossy()), shell_word(path));
        format!("its lines in info/exclude are for {shown}, too; `sweatfile-apply -C {undo} remove` takes them back")
    });
    agents.into_iter().chain(others).collect()
}

fn overlay(env: &Env) -> Remains {
    let Some(dir) = overlay_dir(env) else {
        // Worktrees may name one that a person has deleted.
        let is_gone = ask(env, &["overlay-sync", "status"]).is_ok_and(|answer| answer.has_kind("overlay_gone"));
        return Remains { is_there: !is_gone, blocks: Vec::new() };
    };
    let has_files = |dir: &PathBuf| fs::list(dir).is_ok_and(|all| all.iter().any(|name| name != OWN_DIR));
    let block = dir.as_ref().filter(|dir| has_files(dir)).map(|dir| {
        let hint = "they are copies of those in the worktrees; `shopfloor teardown --overlay` deletes them";
        format!("the overlay {} has files; {hint}", printable(&dir.to_string_lossy()))
    });
    Remains { is_there: dir.is_some(), blocks: block.into_iter().collect() }
}

/// The directory of the overlay, if it is there; `None` outside if its tool cannot tell.
pub fn overlay_dir(env: &Env) -> Option<Option<PathBuf>> {
    let findings = ask(env, &["overlay-sync", "doctor"]).map(|answer| answer.records).unwrap_or_default();
    let is_good = |finding: &&Value| finding["check"] == "overlay" && finding["ok"] == true;
    // Its detail is the directory, or says that there is none.
    let detail = findings.iter().find(is_good)?["detail"].as_str().map(PathBuf::from);
    Some(detail.filter(|dir| dir.is_dir()))
}

/// The files of an overlay, each as a path in it, that the main checkout does not have with the same bytes.
pub fn only_in_overlay(overlay: &Path, main: &Path) -> Result<Vec<PathBuf>> {
    let (mut only, mut dirs) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(dir) = dirs.pop() {
        for name in
            fs::list(&overlay.join(&dir))?.into_iter().filter(|name| !dir.as_os_str().is_empty() || name != OWN_DIR)
        {
            let path = dir.join(name);
            // What cannot be read is not the same.
            let is_same = || match (fs::read_no_follow(&overlay.join(&path)), fs::read_no_follow(&main.join(&path))) {
                (Ok(Some(copy)), Ok(Some(own))) => copy == own,
                _ => false,
            };
            if overlay.join(&path).symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                dirs.push(path);
            } else if !is_same() {
                only.push(path);
            }
        }
    }
    Ok(only)
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

/// Whether this repository has a root for agents.
pub fn has_agents_root(env: &Env) -> bool {
    ask(env, &["worker-ctl", "status"]).is_ok_and(|answer| answer.records.iter().any(|one| one["workers"].is_array()))
}
