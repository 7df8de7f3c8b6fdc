//! Passes over workspaces until nothing is left to do. `pass.rs` has what a pass does with the files of one workspace.

use std::collections::{BTreeMap, BTreeSet};

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::shell_word;

use super::outcome::{SyncOutcome, WorkspaceTodo, add_once};
use super::recovery::{heal, keep_read};
use super::workspace_plan::{PlannedFile, RunContext, is_emptied, plan_files};
use crate::facts::file_view::Scope;
use crate::settings::Settings;
use crate::storage::{Ground, LeftAlone};
use crate::store::PlannedWrite;
use crate::sync_action::SyncRule;
use crate::workspace::Workspace;

/// The most rounds between two questions to the merge command. If more are needed, somebody writes all the time, and
/// the next sync continues.
const ROUNDS: usize = 4;

/// How often the merge command is asked about texts that change while it works.
const QUESTIONS: usize = 3;

/// Passes over the workspaces until a round writes nothing.
pub fn converge<G: Ground>(
    ground: &mut G,
    settings: &Settings,
    now: &str,
    workspaces: &mut Vec<Workspace>,
) -> Result<SyncOutcome> {
    let mut left: Vec<PlannedWrite> = Vec::new();
    if !ground.announced()?.is_empty() {
        left = heal(ground, now)?;
        reload(ground, workspaces)?;
    }
    let mut run = SyncRun {
        context: RunContext::read(ground)?,
        pushed: BTreeSet::new(),
        is_broken: false,
        todos: workspaces.iter().map(|workspace| (workspace.id, WorkspaceTodo::default())).collect(),
        outcome: SyncOutcome::default(),
        ground,
        settings,
        now,
    };
    run.take_late_in_overlay();
    run.take_contested(workspaces);
    run.until_in_step(workspaces)?;
    run.propagate(workspaces)?;
    if !run.is_broken && run.ground.announced()? != left.iter().cloned().collect() {
        run.ground.forget_announced()?;
        run.ground.announce(&left)?;
    }
    let SyncRun { todos, mut outcome, .. } = run;
    for workspace in &*workspaces {
        if let Some(todo) = todos.get(&workspace.id) {
            outcome.report_open(workspace, todo);
        }
    }
    Ok(outcome)
}

/// One run over the workspaces of an overlay.
pub struct SyncRun<'a, G> {
    pub(super) ground: &'a mut G,
    pub(super) settings: &'a Settings,
    pub(super) now: &'a str,
    pub(super) context: RunContext,
    /// The overlay's files that this run has written.
    pub(super) pushed: BTreeSet<RelPath>,
    /// Whether a pass failed before its end. Then the list of what it was about to do is kept for the next run.
    is_broken: bool,
    /// What is left to do in each workspace but the one that a pass is about.
    todos: BTreeMap<Digest, WorkspaceTodo>,
    pub(super) outcome: SyncOutcome,
}

impl<G: Ground> SyncRun<'_, G> {
    /// Makes rounds until nothing is left to do, and asks the merge command in between.
    fn until_in_step(&mut self, workspaces: &mut Vec<Workspace>) -> Result<()> {
        let mut asked = 0;
        let mut rounds = 0;
        loop {
            self.round(workspaces, rounds == 0);
            rounds += 1;
            let is_settled = self.todos.values().all(|todo| todo.is_halted || todo.again.is_empty());
            if !is_settled && rounds < ROUNDS * (asked + 1) {
                continue;
            }
            if asked == QUESTIONS || !self.ask(workspaces)? {
                return Ok(());
            }
            asked += 1;
        }
    }

    /// Gives what this run has written into the overlay to the workspaces that it is not about. A file that was edited
    /// there waits for a run over that workspace.
    fn propagate(&mut self, workspaces: &[Workspace]) -> Result<()> {
        let pushed = self.pushed.clone();
        if pushed.is_empty() {
            return Ok(());
        }
        let mut others = self.ground.workspaces()?;
        others.retain(|other| other.far.is_none() && workspaces.iter().all(|known| known.id != other.id));
        for mut other in others {
            // The next run over one that is away or cannot be entered says so.
            if !self.ground.is_present(&other).unwrap_or(false) {
                continue;
            }
            let files = match self.plan(&other, Scope::All) {
                Ok(files) => files,
                Err(failure) => {
                    self.outcome.fail(format!("{}: {failure}", other.root.display()));
                    continue;
                }
            };
            keep_read(self.ground, &files)?;
            // One that was emptied waits for a person, who is told by the next run over it.
            if is_emptied(&other, &files) {
                continue;
            }
            let is_clean = |file: &PlannedFile| file.is_pull() && pushed.contains(&file.seen.path);
            let clean: BTreeSet<RelPath> = files.into_iter().filter(is_clean).map(|file| file.seen.path).collect();
            if clean.is_empty() {
                continue;
            }
            self.pass(&mut other, Scope::Only(&clean));
            if let Some(todo) = self.todos.get(&other.id).filter(|todo| todo.is_open()) {
                self.outcome.report_open(&other, todo);
            }
        }
        Ok(())
    }

    /// Passes over the files that several workspaces edited, in the order of the edits, so that the last edit wins.
    fn take_contested(&mut self, workspaces: &mut [Workspace]) {
        for (path, order) in contested(self.ground, workspaces) {
            let only = BTreeSet::from([path]);
            for index in order {
                self.pass(&mut workspaces[index], Scope::Only(&only));
            }
        }
    }

    /// Passes over every workspace: in the first round over what may have changed, and later over what has to be looked
    /// at again.
    fn round(&mut self, workspaces: &mut [Workspace], is_first: bool) {
        for workspace in workspaces {
            let again = self.todos.get(&workspace.id).map(|todo| todo.again.clone()).unwrap_or_default();
            if is_first {
                self.pass(workspace, Scope::Changed);
            } else if !again.is_empty() {
                self.pass(workspace, Scope::Only(&again));
            }
        }
    }

    /// Makes one pass over a workspace. If the workspace is missing or cannot be read, this is noted, and the other
    /// workspaces are still synced.
    fn pass(&mut self, workspace: &mut Workspace, scope: Scope<'_>) {
        let mut todo = self.todos.remove(&workspace.id).unwrap_or_default();
        if !todo.is_halted {
            todo.begin_pass(scope);
            if let Err(failure) = self.pass_over(workspace, scope, &mut todo) {
                add_once(&mut todo.open, format!("{}: {failure}", workspace.root.display()));
            }
        }
        self.todos.insert(workspace.id, todo);
    }

    fn pass_over(&mut self, workspace: &mut Workspace, scope: Scope<'_>, todo: &mut WorkspaceTodo) -> Result<()> {
        let name = workspace.root.display().to_string();
        if !self.ground.is_present(workspace)? {
            todo.is_halted = true;
            let (why, what_helps) = workspace.absence();
            let line = format!("{name} {why}; {what_helps}");
            if workspace.has_other_id() {
                add_once(&mut self.outcome.open, line);
            } else if workspace.far.is_none() {
                // Other machines are asked now and then only.
                self.outcome.notes.push(line);
            }
            return Ok(());
        }
        self.ground.sweep(workspace)?;
        self.take_late(workspace, scope, todo)?;
        let files = self.plan(workspace, scope)?;
        keep_read(self.ground, &files)?;
        self.outcome.report_left_alone(&name, &files);
        for file in &files {
            if let Some(LeftAlone::Unreadable(why)) = &file.seen.left_alone {
                todo.failed.insert(file.seen.path.clone(), why.clone());
            }
        }
        if is_emptied(workspace, &files) {
            todo.is_halted = true;
            let shown = shell_word(&workspace.root);
            todo.open.push(format!(
                "all files are gone from {name}; it is left alone; `overlay-sync sync --restore {shown}` refills it"
            ));
            return Ok(());
        }
        let done = self.apply(workspace, &files, todo);
        let done = done.and_then(|()| self.forget_late(workspace, todo)).and_then(|()| self.forget_intents(workspace));
        self.is_broken |= done.is_err();
        done
    }

    /// Notes that this run has written a file of the overlay: the workspaces that a pass is not about look at it again.
    pub(super) fn note_pushed(&mut self, path: &RelPath) {
        self.pushed.insert(path.clone());
        self.context.overlay.insert(path.clone(), None);
        for other in self.todos.values_mut() {
            other.again.insert(path.clone());
        }
    }

    fn plan(&self, workspace: &Workspace, scope: Scope<'_>) -> Result<Vec<PlannedFile>> {
        let plan = |scope| plan_files(self.ground, self.settings, &self.context, workspace, scope);
        let files = plan(scope)?;
        // Only a look at all files tells whether they are all gone.
        let is_part = matches!(scope, Scope::Only(_));
        if is_part && files.iter().any(|file| file.is_gone() && workspace.files.contains_key(&file.seen.path)) {
            let all = plan(Scope::All)?;
            return Ok(if is_emptied(workspace, &all) { all } else { files });
        }
        Ok(files)
    }

    /// Forgets the intents about files that neither side manages any more.
    fn forget_intents(&mut self, workspace: &Workspace) -> Result<()> {
        let is_managed = |path: &RelPath| self.context.overlay.contains_key(path) || workspace.files.contains_key(path);
        let intents = self.context.intents.keys();
        let over: Vec<_> = intents.filter(|(id, path)| *id == workspace.id && !is_managed(path)).cloned().collect();
        self.context.intents.retain(|key, _| !over.contains(key));
        over.iter().try_for_each(|(_, path)| self.ground.forget_intent(workspace, path))
    }

    /// Asks the merge command all open questions. Returns whether there were any, so that another round is needed.
    fn ask(&mut self, workspaces: &mut Vec<Workspace>) -> Result<bool> {
        let mut has_asked = false;
        for workspace in workspaces.iter() {
            let Some(todo) = self.todos.get_mut(&workspace.id) else { continue };
            let questions = std::mem::take(&mut todo.questions);
            todo.again.extend(questions.keys().cloned());
            for (path, question) in questions {
                has_asked = true;
                match self.ground.ask(&path, &question.input())? {
                    Err(why) => {
                        self.outcome.warnings.push(format!("{path}: the merge command {why}; `on_conflict` decides"));
                        self.context.refused.insert(question.id());
                    }
                    // Save the answer at once, so that the command is not asked again even after a kill.
                    Ok(bytes) => self.save_intent((workspace.id, path), question.id(), &bytes, SyncRule::Command)?,
                }
            }
        }
        if has_asked {
            // The lock was released while the command ran, so read everything again.
            self.context.overlay = self.ground.overlay()?;
            self.context.removed = self.ground.removed()?;
            reload(self.ground, workspaces)?;
        }
        Ok(has_asked)
    }
}

/// The files that several workspaces have edited, each with these workspaces in the order of their edits.
fn contested(ground: &impl Ground, workspaces: &[Workspace]) -> Vec<(RelPath, Vec<usize>)> {
    let mut changed: BTreeMap<RelPath, Vec<usize>> = BTreeMap::new();
    for (index, workspace) in workspaces.iter().enumerate() {
        // A workspace that cannot be read, or is not at its path, is reported when its own pass runs.
        let Ok(files) = ground.changed_files(workspace) else { continue };
        for path in files {
            changed.entry(path).or_default().push(index);
        }
    }
    let mut contested = Vec::new();
    for (path, changed) in changed.into_iter().filter(|(_, changed)| changed.len() > 1) {
        let edited = changed.into_iter().filter_map(|index| {
            let workspace = &workspaces[index];
            Some((ground.edited(workspace, &path, workspace.files.get(&path)?.sha256)?, index))
        });
        let mut order: Vec<(i128, usize)> = edited.collect();
        if order.len() > 1 {
            order.sort_unstable();
            contested.push((path, order.into_iter().map(|(_, index)| index).collect()));
        }
    }
    contested
}

/// Reads the manifests of these workspaces again. Those that were detached are gone.
fn reload(ground: &impl Ground, workspaces: &mut Vec<Workspace>) -> Result<()> {
    let all = ground.workspaces()?;
    let now = workspaces.iter().filter_map(|known| all.iter().find(|now| now.id == known.id));
    *workspaces = now.cloned().collect();
    Ok(())
}
