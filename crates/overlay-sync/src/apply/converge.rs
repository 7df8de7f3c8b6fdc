//! Passes over workspaces until nothing is left to do.

use std::collections::{BTreeMap, BTreeSet};

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use super::contested::contested;
use super::heal::{heal, keep_read};
use super::late::{self, LateOutcome};
use super::outcome::{SyncOutcome, WorkspaceTodo};
use super::pass::{Pass, PassOutcome};
use super::planned::{PlannedFile, RunContext, is_emptied, plan_files};
use crate::facts::sides::Scope;
use crate::ground::{Ground, LateText, LeftAlone, Side};
use crate::manifest::Workspace;
use crate::rule::SyncRule;
use crate::settings::Settings;
use crate::store::{PlannedWrite, WriteIntent};

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
    let before: BTreeSet<PlannedWrite> = ground.announced()?;
    let mut left: Vec<PlannedWrite> = Vec::new();
    if !before.is_empty() {
        left = heal(ground, now)?;
        for workspace in workspaces.iter_mut() {
            let healed = ground.reload(workspace)?;
            healed.into_iter().for_each(|healed| *workspace = healed);
        }
    }
    let mut run = SyncRun::start(ground, settings, now)?;
    run.take_late_in_overlay(ground);
    run.take_contested(ground, workspaces);
    run.until_quiet(ground, workspaces)?;
    if !run.is_broken && ground.announced()? != left.iter().cloned().collect() {
        ground.is_done()?;
        if !left.is_empty() {
            ground.announce(&left)?;
        }
    }
    run.report(workspaces);
    Ok(run.outcome)
}

struct SyncRun<'a> {
    settings: &'a Settings,
    now: &'a str,
    overlay: BTreeMap<RelPath, Option<LeftAlone>>,
    context: RunContext,
    /// The overlay's files that this run has written.
    pushed: BTreeSet<RelPath>,
    /// Whether a pass failed before its end. Then the list of what it was about to do is kept for the next run.
    is_broken: bool,
    todos: BTreeMap<Digest, WorkspaceTodo>,
    outcome: SyncOutcome,
}

impl<'a> SyncRun<'a> {
    fn start(ground: &impl Ground, settings: &'a Settings, now: &'a str) -> Result<SyncRun<'a>> {
        Ok(SyncRun {
            settings,
            now,
            overlay: ground.overlay()?,
            context: RunContext::read(ground)?,
            pushed: BTreeSet::new(),
            is_broken: false,
            todos: BTreeMap::new(),
            outcome: SyncOutcome::default(),
        })
    }

    /// Makes rounds until nothing is left to do, and asks the merge command in between.
    fn until_quiet<G: Ground>(&mut self, ground: &mut G, workspaces: &mut Vec<Workspace>) -> Result<()> {
        let mut asked = 0;
        let mut rounds = 0;
        loop {
            self.round(ground, workspaces, rounds == 0);
            rounds += 1;
            let is_quiet = self.todos.values().all(|todo| todo.is_halted || todo.again.is_empty());
            if !is_quiet && rounds < ROUNDS * (asked + 1) {
                continue;
            }
            if asked == QUESTIONS || !self.ask(ground, workspaces)? {
                return Ok(());
            }
            asked += 1;
        }
    }

    /// Passes over the files that several workspaces edited, in the order of the edits, so that the last edit wins.
    fn take_contested(&mut self, ground: &impl Ground, workspaces: &mut [Workspace]) {
        for (path, order) in contested(ground, workspaces) {
            let only = BTreeSet::from([path]);
            for index in order {
                if !self.todos.entry(workspaces[index].id).or_default().is_halted {
                    self.pass(ground, workspaces, index, Scope::Only(&only));
                }
            }
        }
    }

    /// Passes over every workspace: in the first round over what may have changed, and later over what has to be looked
    /// at again.
    fn round(&mut self, ground: &impl Ground, workspaces: &mut [Workspace], is_first: bool) {
        for index in 0..workspaces.len() {
            let todo = self.todos.entry(workspaces[index].id).or_default();
            // In the first round this is among the news.
            let again = std::mem::take(&mut todo.again);
            let scope = if is_first { Scope::News } else { Scope::Only(&again) };
            if !todo.is_halted && (is_first || !again.is_empty()) {
                self.pass(ground, workspaces, index, scope);
            }
        }
    }

    /// Makes one pass over a workspace. The other workspaces have to look again at what it writes into the overlay.
    fn pass<G: Ground>(&mut self, ground: &G, workspaces: &mut [Workspace], index: usize, scope: Scope<'_>) {
        let workspace = &mut workspaces[index];
        let mut todo = self.todos.remove(&workspace.id).unwrap_or_default();
        let passed = self.pass_over(ground, workspace, scope, &mut todo);
        todo.follow_up(&passed);
        self.todos.insert(workspace.id, todo);
        for (_, other) in workspaces.iter().enumerate().filter(|(other, _)| *other != index) {
            self.todos.entry(other.id).or_default().again.extend(passed.pushed.iter().cloned());
        }
    }

    fn pass_over<G: Ground>(
        &mut self,
        ground: &G,
        workspace: &mut Workspace,
        scope: Scope<'_>,
        todo: &mut WorkspaceTodo,
    ) -> PassOutcome {
        let name = workspace.root.display().to_string();
        // Keep earlier findings, except those about the files of this pass.
        match scope {
            Scope::Only(again) => todo.failed.retain(|path, _| !again.contains(path)),
            Scope::News | Scope::All => {
                todo.failed.clear();
                todo.open.clear();
            }
        }
        let Some(files) = self.look(ground, workspace, scope, todo, &name) else { return PassOutcome::default() };
        for file in &files {
            if let Some(LeftAlone::Unreadable(why)) = &file.seen.left_alone {
                todo.failed.insert(file.seen.path.clone(), why.clone());
            }
        }
        if is_emptied(workspace, &files) {
            todo.is_halted = true;
            todo.open.push(format!(
                "all files are gone from {name}; it is left alone; `overlay-sync sync --restore {name}` refills it"
            ));
            return PassOutcome::default();
        }
        let mut pass = Pass { ground, now: self.now.to_owned(), context: &mut self.context, pushed: &self.pushed };
        let passed = pass.run(workspace, &files);
        let passed = passed.and_then(|passed| {
            SyncRun::forget_late(ground, workspace, todo)?;
            self.forget_intents(ground, workspace).map(|()| passed)
        });
        let passed = match passed {
            Ok(passed) => passed,
            Err(failure) => {
                self.is_broken = true;
                todo.open.push(format!("{name}: {failure}"));
                return PassOutcome::default();
            }
        };
        self.pushed.extend(passed.pushed.iter().cloned());
        self.overlay.extend(passed.pushed.iter().map(|path| (path.clone(), None)));
        self.outcome.conflicts += passed.conflicts;
        self.outcome.notes.extend(passed.notes.iter().cloned());
        self.outcome.events.extend(passed.events.iter().cloned());
        todo.failed.extend(passed.failed.iter().cloned());
        passed
    }

    /// Looks at a workspace. If it is missing or cannot be read, this is noted, and the other workspaces are still
    /// synced.
    fn look<G: Ground>(
        &mut self,
        ground: &G,
        workspace: &mut Workspace,
        scope: Scope<'_>,
        todo: &mut WorkspaceTodo,
        name: &str,
    ) -> Option<Vec<PlannedFile>> {
        let files = match ground.is_present(workspace) {
            Ok(true) => ground
                .sweep(workspace)
                .and_then(|()| self.take_late(ground, workspace, scope, todo))
                .and_then(|()| self.plan(ground, workspace, scope))
                .and_then(|files| keep_read(ground, &files).map(|()| files)),
            Ok(false) => {
                let note = format!(
                    "{name} does not exist; it is synced when it is back; `overlay-sync detach {name}` forgets it"
                );
                if !self.outcome.notes.contains(&note) {
                    self.outcome.notes.push(note);
                }
                todo.is_halted = true;
                return None;
            }
            Err(failure) => Err(failure),
        };
        match files {
            Ok(files) => {
                self.outcome.report_left_alone(name, &files);
                Some(files)
            }
            Err(failure) => {
                todo.open.push(format!("{name}: {failure}"));
                None
            }
        }
    }

    fn plan<G: Ground>(&self, ground: &G, workspace: &Workspace, scope: Scope<'_>) -> Result<Vec<PlannedFile>> {
        let plan = |scope| plan_files(ground, self.settings, &self.context, &self.overlay, workspace, scope);
        let files = plan(scope)?;
        // Only a look at all files tells whether they are all gone.
        let is_part = matches!(scope, Scope::Only(_));
        if is_part && files.iter().any(|file| file.is_gone() && workspace.files.contains_key(&file.seen.path)) {
            let all = plan(Scope::All)?;
            return Ok(if is_emptied(workspace, &all) { all } else { files });
        }
        Ok(files)
    }

    /// Brings back what programs wrote into files that were replaced meanwhile, as far as the pass looks at these files.
    /// It then finds that as an edit.
    fn take_late<G: Ground>(
        &mut self,
        ground: &G,
        workspace: &mut Workspace,
        scope: Scope<'_>,
        todo: &mut WorkspaceTodo,
    ) -> Result<()> {
        for text in ground.late(Side::Here(workspace))? {
            if text.path.as_ref().is_some_and(|path| !scope.covers(path)) {
                continue;
            }
            let taken = late::take(ground, self.settings, self.now, workspace, &text)?;
            let Some(LateOutcome { note, is_synced }) = taken else { continue };
            // If the overlay does not get it now (`direction = "down"`, or the file is held), the file counts as it is.
            if is_synced || self.stays_here(workspace, &text) {
                ground.is_taken(&text)?;
            } else {
                let base = text.path.as_ref().and_then(|path| workspace.files.get(path)).map(|base| base.sha256);
                todo.late.push((text, base));
            }
            self.outcome.notes.extend(note.filter(|note| !self.outcome.notes.contains(note)));
        }
        Ok(())
    }

    /// Does the same for the overlay's own files. The passes then find an edit of the overlay.
    fn take_late_in_overlay(&mut self, ground: &impl Ground) {
        let all = ground.late(Side::Overlay);
        if let Err(failure) = &all {
            self.outcome.fail(format!("{}: {failure}", ground.root(Side::Overlay).display()));
        }
        for text in all.into_iter().flatten() {
            let taken = late::take_in_overlay(ground, self.now, &text).and_then(|taken| match taken {
                Some(LateOutcome { note, .. }) => ground.is_taken(&text).map(|()| note),
                None => Ok(None),
            });
            match taken {
                Ok(note) => self.outcome.notes.extend(note),
                // The other files are still synced.
                Err(failure) => self.outcome.fail(format!("{}: {failure}", text.file.display())),
            }
        }
    }

    /// Whether the changes of a late text's file stay in the workspace.
    fn stays_here(&self, workspace: &Workspace, text: &LateText) -> bool {
        text.path.as_ref().is_some_and(|path| self.settings.policy(path).is_down || workspace.held.contains_key(path))
    }

    /// Forgets the late texts that the pass has synced. A text is synced if the file's base has changed.
    fn forget_late<G: Ground>(ground: &G, workspace: &Workspace, todo: &mut WorkspaceTodo) -> Result<()> {
        for (text, before) in std::mem::take(&mut todo.late) {
            let base = text.path.as_ref().and_then(|path| workspace.files.get(path)).map(|base| base.sha256);
            if base != before {
                ground.is_taken(&text)?;
            }
        }
        Ok(())
    }

    /// Forgets the intents about files that neither side manages any more.
    fn forget_intents(&mut self, ground: &impl Ground, workspace: &Workspace) -> Result<()> {
        let is_managed = |path: &RelPath| self.overlay.contains_key(path) || workspace.files.contains_key(path);
        let intents = self.context.intents.keys();
        let over: Vec<_> = intents.filter(|(id, path)| *id == workspace.id && !is_managed(path)).cloned().collect();
        self.context.intents.retain(|key, _| !over.contains(key));
        over.iter().try_for_each(|(_, path)| ground.fulfil(workspace, path))
    }

    /// Asks the merge command all open questions. Returns whether there were any, so that another round is needed.
    fn ask<G: Ground>(&mut self, ground: &mut G, workspaces: &mut Vec<Workspace>) -> Result<bool> {
        let mut has_asked = false;
        for workspace in workspaces.iter() {
            let Some(todo) = self.todos.get_mut(&workspace.id) else { continue };
            for (path, question) in std::mem::take(&mut todo.questions) {
                has_asked = true;
                todo.again.insert(path.clone());
                let (base, overlay, here) = question.id();
                match ground.ask(&path, &question.input())? {
                    Err(why) => {
                        self.outcome.warnings.push(format!("{path}: the merge command {why}; `on_conflict` decides"));
                        self.context.refused.insert((base, overlay, here));
                    }
                    Ok(bytes) => {
                        // Save the answer at once, so that the command is not asked again even after a kill.
                        let (result, rule) = (ground.keep(&bytes)?, SyncRule::Command);
                        let workspace = workspace.id;
                        let intent =
                            WriteIntent { v: 1, workspace, path: path.clone(), base, overlay, here, result, rule };
                        ground.intend(&intent)?;
                        self.context.intents.insert((workspace, path), (intent, bytes));
                    }
                }
            }
        }
        if has_asked {
            // The lock was released while the command ran, so read everything again.
            self.overlay = ground.overlay()?;
            self.context.removed = ground.removed()?;
            let mut now = Vec::new();
            for workspace in workspaces.iter() {
                now.extend(ground.reload(workspace)?);
            }
            *workspaces = now;
        }
        Ok(has_asked)
    }

    /// Adds the open problems of each workspace to the outcome.
    fn report(&mut self, workspaces: &[Workspace]) {
        for workspace in workspaces {
            if let Some(todo) = self.todos.remove(&workspace.id) {
                self.outcome.report_open(workspace, todo);
            }
        }
    }
}
