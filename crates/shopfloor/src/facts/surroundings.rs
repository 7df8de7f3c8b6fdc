//! What a repository and this machine have, before a set-up.

use std::path::PathBuf;

use serde_json::Value;
use shopfloor_core::agents::PROGRAMS;
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::proc;

use super::answers::{ask, program};
use super::repository::Repository;
use crate::tool::TOOLS;

/// Files that a new worktree lacks, and that every agent needs.
const LOCAL_FILES: [&str; 6] =
    [".env", ".env.local", ".envrc", ".claude/settings.local.json", ".gemini/settings.json", ".mcp.json"];

/// What is there.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The known agent programs on the `PATH`.
    pub agents: Vec<&'static str>,
    pub has_tmux: bool,
    pub has_sweatfile: bool,
    /// The files among [`LOCAL_FILES`] that are there and that git ignores.
    pub local_files: Vec<String>,
    /// Those that are there and that git does not ignore, though nobody has added them.
    pub visible_files: Vec<String>,
    /// All worktrees, the main one first.
    pub worktrees: Vec<PathBuf>,
    /// The tools whose git hooks are installed.
    pub hooked: Vec<&'static str>,
    pub is_attached: bool,
    pub has_merge_driver: bool,
    pub has_root: bool,
}

/// Looks at everything. Exit 4 if one of the tools is missing.
pub fn read(env: &Env, repository: &Repository) -> Result<Surroundings> {
    for tool in TOOLS {
        program(env, tool)?;
    }
    let env = &env.at(&repository.main)?;
    let is_there = |name: &&str| proc::find(env, name).is_some();
    let mut found = Surroundings {
        agents: PROGRAMS.iter().map(|program| program.name).filter(is_there).collect(),
        has_tmux: is_there(&"tmux"),
        has_sweatfile: repository.main.join("sweatfile").symlink_metadata().is_ok(),
        worktrees: repository.git.worktrees(&repository.repo)?.into_iter().map(|(path, _)| path).collect(),
        ..Surroundings::default()
    };
    let files: Vec<PathBuf> = LOCAL_FILES.iter().map(PathBuf::from).collect();
    // git does not look behind links.
    let is_file = |path: &PathBuf| {
        let is_plain = |path: PathBuf| path.symlink_metadata().is_ok_and(|meta| !meta.is_symlink());
        path.ancestors().filter(|dir| !dir.as_os_str().is_empty()).all(|dir| is_plain(repository.main.join(dir)))
    };
    let files: Vec<PathBuf> = files.into_iter().filter(is_file).collect();
    let ignored = repository.git.ignored(&repository.main, &files, None)?;
    let paths: Vec<_> = files.iter().map(|path| path.clone().into_os_string()).collect();
    let tracked = if paths.is_empty() {
        Vec::new()
    } else {
        repository.git.ls_files(&repository.main, &[&["--".into()], &paths[..]].concat())?
    };
    for path in files {
        let name = path.to_string_lossy().into_owned();
        match ignored.contains(&path) {
            true => found.local_files.push(name),
            false if !tracked.contains(&path) => found.visible_files.push(name),
            false => {}
        }
    }
    for tool in ["sweatfile-apply", "overlay-sync"] {
        if ask(env, &[tool, "hook", "status"])?.status.success() {
            found.hooked.push(tool);
        }
    }
    found.is_attached = !ask(env, &["overlay-sync", "status"])?.records.is_empty();
    let is_driver = |record: &Value| record["check"] == "driver" && record["ok"] == true;
    found.has_merge_driver = ask(env, &["ledger-synth", "doctor"])?.records.iter().any(is_driver);
    found.has_root = ask(env, &["worker-ctl", "status"])?.status.success();
    Ok(found)
}
