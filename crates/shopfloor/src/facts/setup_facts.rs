//! What a repository and this machine have, before a set-up.

use std::path::{Path, PathBuf};

use serde_json::Value;
use shopfloor_core::agents::PROGRAMS;
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::hook_manager;
use shopfloor_core::proc;
use shopfloor_core::sandbox;

use super::repository::Repository;
use super::run_tool::{ask, program};
use crate::setup_log::Record;
use crate::skill::{self, DIR, SKILLS};
use crate::step::{LEDGER_FILES, SWEATFILE};
use crate::tool::TOOLS;

/// Files that a new worktree lacks, and that every agent needs.
/// Not `.mcp.json` and `.gemini/settings.json`: worktree-spawn gives each agent its own.
const LOCAL_FILES: [&str; 4] = [".env", ".env.local", ".envrc", ".claude/settings.local.json"];

/// What is there.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The known agent programs on the `PATH`.
    pub agents: Vec<&'static str>,
    pub has_tmux: bool,
    /// Why no sandbox can be made here, if so.
    pub sandbox: Option<String>,
    pub has_sweatfile: bool,
    /// Files of the repository that nobody has approved.
    pub unapproved: Vec<String>,
    /// Whether nothing else is unapproved but the sweatfile that an earlier set-up made. It is not among these files.
    pub has_own_starter: bool,
    /// The files among [`LOCAL_FILES`] that are there and that git ignores.
    pub local_files: Vec<String>,
    /// Those that are there and that git does not ignore, though nobody has added them.
    pub visible_files: Vec<String>,
    /// All worktrees, the main one first.
    pub worktrees: Vec<String>,
    /// Worktrees with local files of their own, each with the first of these files.
    pub differing: Vec<(String, String)>,
    /// The tools whose git hooks are installed.
    pub hooked: Vec<&'static str>,
    /// Whether nothing is to be written where others find it.
    pub is_private: bool,
    /// Whether git runs hooks from a directory of this repository.
    pub has_own_hooks: bool,
    /// Whether we would write them into the checkout, or ask a person to.
    pub has_hooks_in_checkout: bool,
    pub is_attached: bool,
    pub has_ledger: bool,
    /// Whether a link, or no directory, is on the way to where a ledger would be.
    pub is_ledger_blocked: bool,
    /// Whether the main checkout has every skill, in whatever version.
    pub has_skills: bool,
    /// The files that a step would write if they were not there already as it needs them.
    pub present: Vec<String>,
    pub has_root: bool,
    /// Whether there is a commit that worktrees can start from.
    pub has_commit: bool,
    /// The commands that bring what git does not: packages and submodules.
    pub installs: Vec<&'static str>,
    /// The program that manages hooks according to a file of the repository, but has not installed any in this clone.
    pub idle_manager: Option<&'static str>,
}

/// Files that name what a worktree needs and git does not bring, each with the command that brings it.
const INSTALLS: [(&str, &str); 8] = [
    (".gitmodules", "git submodule update --init"),
    ("package-lock.json", "npm ci"),
    ("pnpm-lock.yaml", "pnpm install --frozen-lockfile"),
    ("yarn.lock", "yarn install"),
    ("bun.lock", "bun install --frozen-lockfile"),
    ("uv.lock", "uv sync"),
    ("poetry.lock", "poetry install"),
    ("Gemfile.lock", "bundle install"),
];

/// Looks at everything. Exit 4 if one of the tools is missing.
pub fn read(env: &Env, repository: &Repository, is_private: bool) -> Result<Surroundings> {
    for tool in TOOLS {
        program(env, tool)?;
    }
    let env = &env.at(&repository.main)?;
    let is_there = |name: &&str| proc::find(env, name).is_some();
    let has = |path: &str| repository.main.join(path).symlink_metadata().is_ok();
    let mut found = Surroundings {
        agents: PROGRAMS.iter().map(|program| program.name).filter(is_there).collect(),
        has_tmux: is_there(&"tmux"),
        sandbox: sandbox::require_available(env).err().map(|failure| failure.message),
        has_sweatfile: has("sweatfile"),
        installs: INSTALLS.iter().filter(|(file, _)| has(file)).map(|(_, command)| *command).collect(),
        has_skills: SKILLS.iter().all(|(name, _)| has(&skill::file(DIR, name))),
        has_own_hooks: repository.repo.has_own_hooks(),
        is_private,
        ..Surroundings::default()
    };
    // One whose name is not UTF-8 cannot be named on a command line of ours.
    let worktrees = repository.git.worktrees(&repository.repo)?.into_iter();
    found.worktrees = worktrees.filter_map(|(path, _)| path.into_os_string().into_string().ok()).collect();
    read_local_files(repository, &mut found)?;
    leave_out_differing(repository, &mut found);
    for record in ask(env, &["sweatfile-apply", "approvals"])?.records {
        let path = record["path"].as_str().filter(|_| record["status"] == "required");
        found.unapproved.extend(path.map(str::to_owned));
    }
    if is_own_starter(env, repository, &found.unapproved)? {
        found.unapproved.clear();
        found.has_own_starter = true;
    }
    // Where another program manages the hooks, the line that a person is to add belongs in a file of that program.
    let place = |record: &Value| {
        let named = record["path"].as_str().or(record["entry"].as_str().and(record["file"].as_str()));
        named.map(|path| repository.main.join(path))
    };
    let would_be = ask(env, &["sweatfile-apply", "hook", "install", "--dry-run"])?.records;
    let in_checkout =
        |path: PathBuf| path.starts_with(&repository.main) && !path.starts_with(&repository.repo.common_dir);
    found.has_hooks_in_checkout = would_be.iter().filter_map(place).any(in_checkout);
    for tool in ["sweatfile-apply", "overlay-sync", "ledger-synth"] {
        if ask(env, &[tool, "hook", "status"])?.status.success() {
            found.hooked.push(tool);
        }
    }
    let attached = ask(env, &["overlay-sync", "status"])?;
    // A workspace that is not there may be another clone, which was at this place before.
    let is_here = |one: &Value| one.get("worktree").is_some() && one["state"] != "unreachable";
    found.is_attached = !attached.has_failed() && attached.records.iter().any(is_here);
    let head = repository.git.cmd(&repository.main).args(["rev-parse", "--verify", "--quiet", "HEAD"]).capture()?;
    found.has_commit = head.status.success();
    found.idle_manager = hook_manager::idle_manager(&repository.repo);
    let findings = ask(env, &["ledger-synth", "doctor"])?.records;
    let is_good = |check: &str| findings.iter().any(|finding| finding["check"] == check && finding["ok"] == true);
    let has_hooks = found.hooked.contains(&"ledger-synth") || !found.has_own_hooks;
    found.is_ledger_blocked = findings.iter().any(|finding| finding["check"] == "ledger");
    found.has_ledger = is_good("driver") && is_good("attribute") && has_hooks;
    found.present = present(env, repository, found.agents.contains(&"claude"))?;
    let root = ask(env, &["worker-ctl", "status"])?;
    // A root that the user's own list does not name yet is there all the same.
    let is_unlisted = |record: &Value| record.pointer("/error/kind") == Some(&"unlisted_root".into());
    found.has_root = root.status.success() || root.records.iter().any(is_unlisted);
    Ok(found)
}

/// Whether all that is unapproved is a sweatfile of a set-up that ended before it approved it. An agent can write the record
/// too, so the file has to be as `init` writes it, which changes nothing.
fn is_own_starter(env: &Env, repository: &Repository, unapproved: &[String]) -> Result<bool> {
    if !matches!(unapproved, [only] if Path::new(only) == repository.main.join("sweatfile")) {
        return Ok(false);
    }
    let record = Record::load(&repository.repo.common_dir)?;
    let is_made = record.has(SWEATFILE) && record.kept(SWEATFILE).is_empty();
    Ok(is_made && ask(env, &["sweatfile-apply", "init", "--undo", "--dry-run"])?.status.success())
}

/// The files that are there as their steps need them.
fn present(env: &Env, repository: &Repository, has_claude: bool) -> Result<Vec<String>> {
    let claude = has_claude.then_some("--claude");
    let planned = ask(env, &[&["ledger-synth", "--dry-run", "install"][..], claude.as_slice()].concat())?;
    // What cannot be told is not called there.
    let is_known = planned.status.success();
    let skills = SKILLS.iter().map(|(name, _)| skill::file(DIR, name));
    let all = std::iter::once("sweatfile").chain(LEDGER_FILES).map(str::to_owned).chain(skills);
    let is_present = |file: &String| {
        repository.main.join(file).symlink_metadata().is_ok()
            && (is_known || !LEDGER_FILES.contains(&file.as_str()))
            && planned.records.iter().all(|one| one["wrote"] != **file)
    };
    Ok(all.filter(is_present).collect())
}

/// Leaves out worktrees whose local files differ from those of the main checkout: attaching them would replace theirs.
fn leave_out_differing(repository: &Repository, found: &mut Surroundings) {
    // What is no file there counts as another one.
    let read = |top: &Path, file: &String| match fs::read_no_follow(&top.join(file)) {
        Ok(text) => text,
        Err(_) => Some(Vec::new()),
    };
    let own = |worktree: &String| {
        let differs = |file: &&String| {
            let theirs = read(Path::new(worktree), file);
            theirs.is_some() && theirs != read(&repository.main, file)
        };
        found.local_files.iter().find(differs).cloned()
    };
    let differing: Vec<_> =
        found.worktrees.iter().filter_map(|worktree| Some((worktree.clone(), own(worktree)?))).collect();
    found.worktrees.retain(|worktree| differing.iter().all(|(other, _)| other != worktree));
    found.differing = differing;
}

/// Sorts the local files by whether git ignores them.
fn read_local_files(repository: &Repository, found: &mut Surroundings) -> Result<()> {
    let is_plain = |path: &Path| path.symlink_metadata().is_ok_and(|meta| !meta.is_symlink());
    // git does not look behind links.
    let is_file = |path: &PathBuf| {
        let above = path.ancestors().filter(|dir| !dir.as_os_str().is_empty());
        let at = repository.main.join(path);
        at.symlink_metadata().is_ok_and(|meta| meta.is_file())
            && above.map(|dir| repository.main.join(dir)).all(|dir| is_plain(&dir))
    };
    let files: Vec<PathBuf> = LOCAL_FILES.iter().map(PathBuf::from).filter(is_file).collect();
    let ignored = repository.git.ignored(&repository.main, &files, None)?;
    let paths: Vec<_> = files.iter().map(|path| path.clone().into_os_string()).collect();
    let tracked = match paths.is_empty() {
        true => Vec::new(),
        false => repository.git.ls_files(&repository.main, &[&["--".into()], &paths[..]].concat())?,
    };
    for path in files {
        let name = path.to_string_lossy().into_owned();
        match ignored.contains(&path) {
            true => found.local_files.push(name),
            false if !tracked.contains(&path) => found.visible_files.push(name),
            false => {}
        }
    }
    Ok(())
}
