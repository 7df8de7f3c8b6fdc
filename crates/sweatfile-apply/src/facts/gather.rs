//! Reads everything that a plan is made from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{self, Found, Staging};
use shopfloor_core::path::RelPath;

use super::caches::{self, Caches};
use super::files::{CurrentEnvFile, CurrentFile, Original, read_current, read_env_file, read_original};
use super::step_inputs;
use super::unapproved_inputs::{self, TrackedFile, default_branch};
use super::worktreeinclude::{self, IncludedFiles};
use crate::applied::Record;
use crate::cache::Cache;
use crate::env_file;
use crate::excludes;
use crate::layer::MergedLayers;
use crate::layout;
use crate::placeholder::NAMES;
use crate::ports;
use crate::setup_step::SetupStep;
use crate::sweatfile::Body;
use crate::template::{self, Placeholders};
use crate::worktree::OpenWorktree;

/// The command line's request about setup commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetupRequest {
    /// Run them unless an earlier run has finished them.
    #[default]
    IfNeeded,
    /// `--setup-again`: run them in any case.
    Again,
    /// `--no-setup`.
    Skip,
}

/// Everything that a plan is made from.
#[derive(Debug, Default)]
pub struct Facts {
    pub record: Record,
    /// The bytes of `info/exclude`.
    pub exclude: Vec<u8>,
    /// The current state of each destination.
    pub current: BTreeMap<RelPath, CurrentFile>,
    pub originals: BTreeMap<RelPath, Original>,
    pub env: CurrentEnvFile,
    /// The absent destinations that git ignores now, or will ignore when the planned patterns are added.
    pub ignored: BTreeSet<RelPath>,
    /// Whether git would show `.sweatshop-env` as untracked although it is used.
    pub is_env_exposed: bool,
    /// The patterns that match tracked files, each with one of these files.
    pub patterns_matching_tracked: Vec<(String, String)>,
    /// Tracked files that the setup commands would use. They are read only if these commands are about to run.
    pub tracked: BTreeMap<RelPath, TrackedFile>,
    /// Whether an agent has worked here in a sandbox.
    pub is_contained: bool,
    /// The steps of set-up that have a state of their own, by their keys.
    pub steps: BTreeMap<String, StepState>,
    /// The text of the `.envrc` that direnv will load, if it can be read.
    pub envrc: Option<String>,
    /// Absent files that `.worktreeinclude` asks for, each with its original.
    pub included: IncludedFiles,
    /// The caches that the worktree lacks and the main checkout has.
    pub lacking: BTreeMap<RelPath, Cache>,
    /// What is copied of them, as far as that was read.
    pub caches: Caches,
    /// Whether temporary names have to be excluded.
    pub needs_reserved: bool,
    pub placeholders: Placeholders,
    pub warnings: Vec<String>,
}

/// What is known of a step of set-up.
#[derive(Clone, Debug, Default)]
pub struct StepState {
    /// Its inputs now.
    pub inputs: BTreeMap<String, String>,
    pub is_running: bool,
    pub log: Option<PathBuf>,
}

impl Facts {
    /// Why a step has to run, if it has to: in words behind its name.
    pub fn why_due(&self, merged: &MergedLayers, step: &SetupStep) -> Option<String> {
        let Some(key) = step.key() else {
            // When a layer is left out, the list is incomplete: commands that ran before are not run again for it.
            let is_done = self.record.setup == Some(merged.setup_digest());
            let is_done = is_done || merged.left_out && self.record.setup.is_some();
            return (!is_done).then(|| "never finished with these commands".to_owned());
        };
        let state = self.steps.get(&key).filter(|state| !state.is_running)?;
        let Some(run) = self.record.steps.get(&key) else { return Some("has not run".to_owned()) };
        match (run.status, run.changed(&state.inputs)) {
            (None, _) => Some("was cut off".to_owned()),
            (Some(0), None) => None,
            (Some(0), Some(input)) => Some(format!("is stale: {input} changed")),
            (Some(status), _) => Some(format!("failed with status {status}")),
        }
    }
}

/// Reads everything. If the worktree is up to date, this starts at most three git processes, including the one that
/// found the repository; and one each for the default branch, for `.worktreeinclude` and for a pattern of inputs.
pub fn read(worktree: &OpenWorktree, merged: &MergedLayers, setup: SetupRequest) -> Result<Facts> {
    let mut facts =
        Facts { record: Record::load(worktree)?, exclude: worktree.repo.read_exclude()?, ..Facts::default() };
    facts.needs_reserved = Staging::is_beside(&layout::staging(&worktree.repo), &worktree.root)?;
    facts.placeholders = read_placeholders(worktree, merged)?;
    let cleared = merged.cleared.keys().filter(|path| facts.record.files.contains_key(*path));
    for path in merged.files.keys().chain(cleared) {
        facts.current.insert(path.clone(), read_current(worktree, path, &facts.record));
    }
    for step in &merged.setup {
        if let Some(key) = step.key() {
            let is_running = facts.record.is_running(&worktree.repo, &key)?;
            let log = Some(layout::step_log(&worktree.repo, &key)).filter(|log| step.background && log.exists());
            facts.steps.insert(key, StepState { inputs: step_inputs::read(worktree, step)?, is_running, log });
        }
    }
    let is_due = |step: &&SetupStep| setup == SetupRequest::Again || facts.why_due(merged, step).is_some();
    let due: Vec<SetupStep> = merged.setup.iter().filter(is_due).cloned().collect();
    if !due.is_empty() {
        facts.is_contained = worktree.is_contained()?;
        let run = |step: &SetupStep| template::for_files(&step.run, merged, &facts.placeholders);
        let setup = due.into_iter().map(|step| SetupStep { run: run(&step), ..step }).collect();
        let due = MergedLayers { setup, ..merged.clone() };
        facts.tracked = unapproved_inputs::read(worktree, &due, &facts.current, &facts.record.made)?;
    }
    read_originals(worktree, merged, &mut facts);
    facts.env = read_env_file(&worktree.root)?;
    if !merged.env.is_empty() {
        facts.envrc = read_envrc(worktree, merged, &facts);
    }
    let included = worktreeinclude::read(worktree, merged, &mut facts.warnings)?;
    facts.included = included.files;
    let usual = |path: RelPath| (path, Cache::usual());
    let own = merged.caches.clone().into_iter().filter(|(_, cache)| !cache.is_cleared);
    let wanted = own.chain(included.dirs.into_iter().map(usual));
    facts.lacking = caches::lacking(worktree, wanted, &mut facts.warnings)?;
    read_what_git_says(worktree, merged, &mut facts)?;
    Ok(facts)
}

fn read_placeholders(worktree: &OpenWorktree, merged: &MergedLayers) -> Result<Placeholders> {
    let name = worktree.repo.home.checkout.file_name().unwrap_or_default().to_string_lossy();
    let uses = |name: &str| template::templates(merged).any(|text| template::names(text, name));
    let is_parent_used = uses("parent_branch");
    let default = match is_parent_used || uses("default_branch") {
        true => known_default_branch(worktree)?,
        false => String::new(),
    };
    Ok(Placeholders {
        parent_branch: is_parent_used.then(|| parent_branch(worktree)).flatten().unwrap_or_else(|| default.clone()),
        worktree: worktree.path.to_string_lossy().into_owned(),
        branch: match uses("branch") {
            true => worktree.git.branch(&worktree.repo)?.unwrap_or_else(|| "HEAD".into()),
            false => String::new(),
        },
        default_branch: default,
        repo: name.strip_suffix(".git").unwrap_or(&name).to_owned(),
        ports: ports::assigned(&worktree.repo, &template::port_names_used(merged), false)?,
    })
}

fn known_default_branch(worktree: &OpenWorktree) -> Result<String> {
    if let Some(known) = worktree.default_branch.get() {
        return Ok(known.clone());
    }
    let found = default_branch(worktree, &worktree.path)?.unwrap_or_else(|| "main".into());
    Ok(worktree.default_branch.get_or_init(|| found).clone())
}

/// Refuses a path or a branch that is not UTF-8 where a placeholder needs it: what is filled in would name another one.
pub fn require_names(worktree: &OpenWorktree, merged: &MergedLayers) -> Result<()> {
    let values = read_placeholders(worktree, merged)?;
    let is_used = |name: &str| template::templates(merged).any(|text| template::names(text, name));
    let value = |name: &str| template::expand(&format!("{{{name}}}"), &values);
    let is_odd = |name: &str| is_used(name) && value(name).contains(char::REPLACEMENT_CHARACTER);
    NAMES.into_iter().find(|&name| is_odd(name)).map_or(Ok(()), |name| {
        let what = format!("`{{{name}}}` cannot be filled in: {} is not UTF-8; nothing was changed", value(name));
        let hint = "rename it (`git worktree move`, `git branch -m`), or take the placeholder out of the sweatfile";
        Err(Failure::malformed(what).hint(hint))
    })
}

/// The branch on which the work of the worktree's agent lands, as worktree-spawn has written it down.
fn parent_branch(worktree: &OpenWorktree) -> Option<String> {
    let identity = worktree.repo.worktree_state("worktree-spawn").join("identity.json");
    let identity: Value = serde_json::from_slice(&fs::read_no_follow(&identity).ok()??).ok()?;
    identity["target"].as_str().filter(|target| !target.contains(['\0', '\r', '\n'])).map(str::to_owned)
}

fn read_originals(worktree: &OpenWorktree, merged: &MergedLayers, facts: &mut Facts) {
    for (path, entry) in &merged.files {
        let decides = facts.current[path].found == Found::Missing
            || facts.record.files.contains_key(path)
            || facts.tracked.contains_key(path);
        let original = read_original(worktree, entry, decides);
        facts.originals.extend(original.map(|original| (path.clone(), original)));
    }
}

/// The text of the `.envrc` that direnv will load: the existing file, or the file that apply is about to link or write.
fn read_envrc(worktree: &OpenWorktree, merged: &MergedLayers, facts: &Facts) -> Option<String> {
    let envrc = RelPath::parse(".envrc").ok()?;
    let original = facts.originals.get(&envrc).and_then(|original| original.as_ref().ok()).map(|(path, _)| path);
    let bytes = match (worktree.root.look(&envrc).ok()?, merged.files.get(&envrc).map(|w| &w.body), original) {
        (Found::Missing, Some(Body::Content { text, .. }), _) => return Some(text.clone()),
        (Found::Missing, _, Some(path)) => fs::read(path).ok()?,
        (Found::Link(target), _, Some(path)) if target == *path => fs::read(path).ok()?,
        (Found::File(_), ..) => worktree.root.read(&envrc).ok()?,
        _ => None,
    };
    bytes.map(|b| String::from_utf8_lossy(&b).into_owned())
}

fn read_what_git_says(worktree: &OpenWorktree, merged: &MergedLayers, facts: &mut Facts) -> Result<()> {
    let is_absent = |path: &&RelPath| facts.current.get(*path).is_none_or(|current| current.found == Found::Missing);
    let absent = merged.files.keys().chain(facts.included.keys()).filter(is_absent);
    let mut paths: Vec<PathBuf> = absent.map(|p| p.as_path().to_path_buf()).collect();
    // Git knows from the slash that it would be a directory.
    paths.extend(facts.lacking.keys().map(|path| format!("{path}/").into()));
    let env_file = PathBuf::from(env_file::FILE);
    paths.extend((!merged.env.is_empty()).then(|| env_file.clone()));
    let patterns = excludes::wanted(merged, facts.needs_reserved);
    let ignored = read_ignored(worktree, &paths, &facts.exclude, &patterns)?;
    facts.is_env_exposed = !merged.env.is_empty() && !ignored.contains(&env_file);
    let path = |p: &PathBuf| RelPath::parse_os(p.components().as_path().as_os_str()).ok();
    facts.ignored = ignored.iter().filter_map(path).collect();
    facts.patterns_matching_tracked = patterns_matching_tracked(worktree, &patterns, &facts.record)?;
    Ok(())
}

/// The paths among these that git ignores, now or when the patterns are added. The patterns that are not there yet go
/// into a second question, which is asked only when the first answer left a path open.
fn read_ignored(
    worktree: &OpenWorktree,
    paths: &[PathBuf],
    exclude: &[u8],
    patterns: &[String],
) -> Result<Vec<PathBuf>> {
    let mut ignored = worktree.git.ignored(&worktree.path, paths, None)?;
    let pending = excludes::missing(exclude, patterns);
    let open: Vec<PathBuf> = paths.iter().filter(|p| !ignored.contains(p)).cloned().collect();
    if !open.is_empty()
        && !pending.is_empty()
        && let Ok(file) = fs::Temporary::with(&worktree.env, (pending.join("\n") + "\n").as_bytes())
    {
        ignored.extend(worktree.git.ignored(&worktree.path, &open, Some(file.path()))?);
    }
    Ok(ignored)
}

/// The patterns that match tracked files, each with one such file. git is asked only about patterns that are new to
/// this worktree.
fn patterns_matching_tracked(
    worktree: &OpenWorktree,
    patterns: &[String],
    record: &Record,
) -> Result<Vec<(String, String)>> {
    let new: Vec<&String> = patterns.iter().filter(|p| !record.excludes.contains(*p)).collect();
    let list = |patterns: &[&String]| {
        let options = ["-c".into(), "-i".into()].into_iter();
        let excludes = patterns.iter().flat_map(|p| ["-x".into(), p.as_str().into()]);
        worktree.git.ls_files(&worktree.path, &options.chain(excludes).collect::<Vec<_>>())
    };
    let mut matching = Vec::new();
    if new.is_empty() || list(&new)?.is_empty() {
        return Ok(matching);
    }
    for pattern in new {
        if let Some(example) = list(&[pattern])?.first() {
            matching.push((pattern.clone(), example.display().to_string()));
        }
    }
    Ok(matching)
}
