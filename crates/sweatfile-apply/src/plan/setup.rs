//! Whether the setup commands run, and which tracked files hold them back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use shopfloor_core::approval::ApprovalStatus;
use shopfloor_core::config;
use shopfloor_core::error::Failure;
use shopfloor_core::fs::Content;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use super::files;
use crate::facts::{Facts, Layers, SetupRequest, TrackedFile};
use crate::failure;
use crate::layer::MergedLayers;
use crate::setup_step::SetupStep;
use crate::template;

#[derive(Debug, PartialEq, Eq)]
pub struct SetupPlan {
    pub steps: Vec<PlannedStep>,
    /// Identifies the list of commands that have no state of their own; recorded once they have run to their end.
    pub digest: Digest,
    pub run: SetupRun,
    /// Whether these are all steps: no layer is left out.
    pub is_whole: bool,
    /// The tracked files that hold the commands back: a branch brought them, and nobody approved them.
    pub held: Vec<RelPath>,
    /// Whether a sandbox does: an agent has worked here in one.
    pub is_contained: bool,
    /// The true `[env]` values, which the commands see.
    pub env: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedStep {
    pub step: SetupStep,
    /// The command with its placeholders filled in.
    pub command: String,
    /// The command as it is looked at for files.
    pub for_files: String,
    /// What its state is known by, and its inputs now; none for a command of the list.
    pub state: Option<(String, BTreeMap<String, String>)>,
    /// Why it has to run, in words behind its name.
    pub due: Option<String>,
    pub is_running: bool,
    /// The log of its last run, in the background.
    pub log: Option<PathBuf>,
}

impl PlannedStep {
    /// What its state is known by.
    pub fn key(&self) -> Option<&String> {
        self.state.as_ref().map(|(key, _)| key)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupRun {
    Now,
    /// `--setup-again`: even if they ran to their end before.
    Again,
    /// They ran to their end before.
    Finished,
    /// `--no-setup`.
    LeftOut,
    /// A person must read the held files first.
    Held,
}

pub fn plan(merged: &MergedLayers, facts: &Facts, request: SetupRequest, env: BTreeMap<String, String>) -> SetupPlan {
    let digest = merged.setup_digest();
    let held: Vec<RelPath> = held_files(merged, facts).into_iter().map(|(path, _)| path.clone()).collect();
    let steps: Vec<PlannedStep> = merged.setup.iter().map(|step| plan_step(merged, facts, request, step)).collect();
    let run = match request {
        SetupRequest::Skip => SetupRun::LeftOut,
        _ if steps.iter().all(|step| step.due.is_none()) => SetupRun::Finished,
        _ if !held.is_empty() || facts.is_contained => SetupRun::Held,
        SetupRequest::IfNeeded => SetupRun::Now,
        SetupRequest::Again => SetupRun::Again,
    };
    let is_contained = facts.is_contained;
    SetupPlan { steps, digest, run, is_whole: !merged.left_out, held, is_contained, env }
}

fn plan_step(merged: &MergedLayers, facts: &Facts, request: SetupRequest, step: &SetupStep) -> PlannedStep {
    let state_of = |step: &SetupStep| facts.steps.get(&step.key()?);
    let is_running = state_of(step).is_some_and(|state| state.is_running);
    let again = || (request == SetupRequest::Again && !is_running).then(|| "was asked for".to_owned());
    PlannedStep {
        command: template::command(&step.run, merged, &facts.placeholders),
        for_files: template::for_files(&step.run, merged, &facts.placeholders),
        due: facts.why_due(merged, step).or_else(again),
        state: step.key().zip(state_of(step).map(|state| state.inputs.clone())),
        log: state_of(step).and_then(|state| state.log.clone()),
        step: step.clone(),
        is_running,
    }
}

/// The files that nobody approved and that differ from what the layers place there. The commands are trusted, but
/// a branch's files are not: `direnv allow` would let an `.envrc` run that nobody has read, and so would `./setup.sh`.
pub fn held_files<'f>(merged: &MergedLayers, facts: &'f Facts) -> Vec<(&'f RelPath, &'f TrackedFile)> {
    let is_as_placed = |place: &RelPath, content: Option<&Content>| {
        let desired = merged.files.get(place).and_then(|entry| files::desired_content(place, entry, facts));
        desired.is_some() && desired.as_ref() == content
    };
    // What lies in a directory goes with it.
    let is_read_dir = |dir: &RelPath| match facts.tracked.get(dir) {
        Some(tracked) if tracked.is_approved || tracked.is_placed_unread => tracked.is_approved,
        _ => is_as_placed(dir, facts.current.get(dir).and_then(|current| current.content.as_ref())),
    };
    let is_placed = |path: &RelPath, tracked: &TrackedFile| {
        !tracked.is_placed_unread && is_as_placed(path, tracked.content.as_ref())
            || merged.files.keys().any(|dir| dir.is_parent_of(path) && is_read_dir(dir))
    };
    facts.tracked.iter().filter(|(path, tracked)| !tracked.is_approved && !is_placed(path, tracked)).collect()
}

/// The failure of a run in which something of the repository was left out, or held setup back, for want of approval.
/// `call` tells how to call this tool, in a directory.
pub fn unapproved(
    worktree: &Path,
    layers: &Layers,
    setup: &SetupPlan,
    call: impl Fn(Option<&Path>) -> String,
) -> Option<Failure> {
    let repo = layers.repo();
    let sweatfile = (repo.approval == ApprovalStatus::Required).then(|| repo.path.display().to_string());
    let settings = layers.config.unapproved.then(|| config::REPOSITORY_FILE.to_owned());
    let left_out = sweatfile.or(settings).map(|file| format!("{file} is not approved, so it was left out"));
    let is_held = setup.run == SetupRun::Held;
    if is_held && setup.is_contained {
        let why =
            format!("an agent has worked in {} in a sandbox, so setup does not run outside of it", worktree.display());
        let hint = "run the commands inside: `worktree-spawn run NAME --sandbox -- COMMAND`";
        return Some(failure::UNAPPROVED.failure(why).hint(hint));
    }
    let held = setup.held.iter().filter(|_| is_held);
    let held = held.map(|held| format!("nobody has approved {held}, so setup was held back"));
    let mut lines = left_out.into_iter().chain(held);
    let first = lines.next()?;
    let hint = format!("read it, then run `{} approve`", call(is_held.then_some(worktree)));
    Some(failure::UNAPPROVED.failure(first).details(lines).hint(hint))
}
