//! Passes over workspaces until nothing more is to be done.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::apply::ground::{Bar, Ground};
use crate::apply::{Pass, PassOutcome, heal, keep_read};
use crate::look::{RunContext, Scope, SeenFile, is_emptied, look};
use crate::manifest::Workspace;
use crate::plan::Question;
use crate::settings::Settings;
use crate::store::{Intent, LogRecord, PlannedWrite, SyncRule};

/// More rounds than this would mean that somebody writes all the time; the next sync goes on.
const ROUNDS: usize = 4;

/// How often the merge command is asked about texts that change while it thinks.
const QUESTIONS: usize = 3;

/// What passes until quiet came to.
#[derive(Debug, Default)]
pub struct SyncOutcome {
    pub events: Vec<LogRecord>,
    /// Conflicts decided in this run.
    pub conflicts: usize,
    /// Files that wait, workspaces that were left alone, writes that failed: each in words.
    pub open: Vec<String>,
    /// Those of them that are failures of the disk or of git.
    pub failures: Vec<String>,
    /// The files these are about.
    pub open_paths: BTreeSet<RelPath>,
    /// The workspaces these are in.
    pub troubled: Vec<Digest>,
    /// Those of them that have something no pass has taken in.
    pub unread: Vec<Digest>,
    pub warnings: Vec<String>,
    pub notes: Vec<String>,
    /// Things worth knowing only when asked for.
    pub details: Vec<String>,
    /// The overlay has nothing in it any more, though workspaces know files of it.
    pub is_emptied: bool,
}

/// What a run knows of one workspace.
#[derive(Debug, Default)]
struct Turn {
    /// Files to be looked at once more.
    again: BTreeSet<RelPath>,
    /// What is the matter with the workspace, and with single files of it.
    open: Vec<String>,
    failed: BTreeMap<RelPath, String>,
    questions: Vec<(RelPath, Question)>,
    /// Nothing is done about it in this run.
    is_halted: bool,
}

impl Turn {
    /// One question for each file: the last one is about the texts as they are.
    fn asks(&mut self, questions: Vec<(RelPath, Question)>) {
        self.questions.retain(|(path, _)| questions.iter().all(|(other, _)| other != path));
        self.questions.extend(questions);
    }
}

/// Passes over the workspaces until a round writes nothing.
pub fn converge<G: Ground>(
    ground: &mut G,
    settings: &Settings,
    now: &str,
    workspaces: &mut Vec<Workspace>,
) -> Result<SyncOutcome> {
    let mut outcome = SyncOutcome::default();
    let before: BTreeSet<PlannedWrite> = ground.announced()?;
    let mut left: Vec<PlannedWrite> = Vec::new();
    if !before.is_empty() {
        left = heal(ground)?;
        for workspace in workspaces.iter_mut() {
            let healed = ground.reload(workspace)?;
            healed.into_iter().for_each(|healed| *workspace = healed);
        }
    }
    let known_files = workspaces.iter().map(|w| w.files.len()).max().unwrap_or(0);
    let mut run = SyncRun {
        settings,
        now,
        overlay: ground.overlay()?,
        known: RunContext::read(ground)?,
        pushed: BTreeSet::new(),
        is_broken: false,
    };
    if known_files >= 2 && run.overlay.is_empty() {
        outcome.is_emptied = true;
        return Ok(outcome);
    }
    let idle = ground.prepare(workspaces);
    // A killed run may have left something half written anywhere.
    let idle = if before.is_empty() { idle } else { HashSet::new() };
    let mut turns: BTreeMap<Digest, Turn> = BTreeMap::new();
    // Who wrote last wins, whatever the order in which workspaces are looked at.
    for (path, order) in contested(ground, workspaces, &idle)? {
        let only = BTreeSet::from([path]);
        for index in order {
            let workspace = &mut workspaces[index];
            let turn = turns.entry(workspace.id).or_default();
            if !turn.is_halted {
                let passed = run.one(ground, workspace, Scope::Only(&only), turn, &mut outcome)?;
                turn.again.extend(passed.lost);
                turn.asks(passed.questions);
            }
        }
    }
    let mut asked = 0;
    let mut round = 0;
    loop {
        for index in 0..workspaces.len() {
            let workspace = &mut workspaces[index];
            let turn = turns.entry(workspace.id).or_default();
            if round == 0 && idle.contains(&workspace.id) && run.pushed.is_empty() {
                continue;
            }
            let again = std::mem::take(&mut turn.again);
            let scope = if round == 0 { Scope::News } else { Scope::Only(&again) };
            if turn.is_halted || round > 0 && again.is_empty() {
                continue;
            }
            let passed = run.one(ground, workspace, scope, turn, &mut outcome)?;
            turn.again.extend(passed.lost);
            turn.asks(passed.questions);
            // Those that had their turn before it have not seen what it pushed.
            for (other, earlier) in workspaces.iter().enumerate().filter(|(other, _)| *other != index) {
                if other < index || round > 0 {
                    turns.entry(earlier.id).or_default().again.extend(passed.pushed.iter().cloned());
                }
            }
        }
        round += 1;
        let is_quiet = turns.values().all(|turn| turn.is_halted || turn.again.is_empty());
        if !is_quiet && round < ROUNDS * (asked + 1) {
            continue;
        }
        if asked == QUESTIONS || !run.ask(ground, workspaces, &mut turns, &mut outcome)? {
            break;
        }
        asked += 1;
    }
    if !run.is_broken && ground.announced()? != left.iter().cloned().collect() {
        ground.is_done()?;
        if !left.is_empty() {
            ground.announce(&left)?;
        }
    }
    report(workspaces, turns, &mut outcome);
    Ok(outcome)
}

/// The files that several workspaces have edited, each with these workspaces in the order of their edits.
fn contested<G: Ground>(
    ground: &G,
    workspaces: &[Workspace],
    idle: &HashSet<Digest>,
) -> Result<Vec<(RelPath, Vec<usize>)>> {
    let mut changed: BTreeMap<&RelPath, Vec<usize>> = BTreeMap::new();
    for (index, workspace) in workspaces.iter().enumerate().filter(|(_, workspace)| !idle.contains(&workspace.id)) {
        // One that cannot be looked at is told of in its turn.
        if !ground.is_present(workspace).unwrap_or(false) {
            continue;
        }
        let Ok(quiet) = ground.quiet(workspace) else { continue };
        for path in workspace.files.keys().filter(|path| !quiet.contains(path)) {
            changed.entry(path).or_default().push(index);
        }
    }
    let mut contested = Vec::new();
    for (path, changed) in changed.into_iter().filter(|(_, changed)| changed.len() > 1) {
        let edited = changed.into_iter().filter_map(|index| {
            let workspace = &workspaces[index];
            Some((ground.edited(workspace, path, workspace.files.get(path)?.sha256)?, index))
        });
        let mut order: Vec<(i128, usize)> = edited.collect();
        if order.len() > 1 {
            order.sort_unstable();
            contested.push((path.clone(), order.into_iter().map(|(_, index)| index).collect()));
        }
    }
    Ok(contested)
}

/// Tells what is open in each workspace.
fn report(workspaces: &[Workspace], mut turns: BTreeMap<Digest, Turn>, outcome: &mut SyncOutcome) {
    for workspace in workspaces {
        let name = workspace.root.display();
        let Some(turn) = turns.remove(&workspace.id) else { continue };
        let late = turn.questions.iter().map(|(path, _)| {
            format!("{name}: {path} changed while the merge command was at work; the next sync asks again")
        });
        let paths = turn.failed.keys().chain(workspace.held.keys()).chain(&turn.again);
        outcome.open_paths.extend(paths.cloned());
        let is_halted = turn.is_halted;
        let failed = turn.failed.iter().map(|(path, why)| format!("{name}: {path}: {why}"));
        let held = workspace.held.iter().filter(|_| !turn.is_halted).map(|(path, held)| {
            let what = if held.part { "a part of " } else { "" };
            let id = held.id(path);
            format!("{name}: {what}{path} is held: {}; `overlay-sync accept {id}` or `reject {id}`", held.why)
        });
        let moving = turn
            .again
            .iter()
            .filter(|_| !turn.is_halted)
            .map(|path| format!("{name}: {path} changes all the time; the next sync goes on with it"));
        let mut seen = BTreeSet::new();
        let general: Vec<String> = turn.open.into_iter().filter(|open| seen.insert(open.clone())).collect();
        let failed: Vec<String> = failed.collect();
        outcome.failures.extend(general.iter().filter(|_| !is_halted).chain(&failed).cloned());
        let (moving, late): (Vec<String>, Vec<String>) = (moving.collect(), late.collect());
        let has_failed = !is_halted && !general.is_empty() || !failed.is_empty();
        if has_failed || !moving.is_empty() || !late.is_empty() {
            outcome.unread.push(workspace.id);
        }
        let open: Vec<String> = general.into_iter().chain(failed).chain(held).chain(moving).chain(late).collect();
        if !open.is_empty() {
            outcome.troubled.push(workspace.id);
            outcome.open.extend(open);
        }
    }
}

struct SyncRun<'a> {
    settings: &'a Settings,
    now: &'a str,
    overlay: BTreeMap<RelPath, Option<Bar>>,
    known: RunContext,
    /// What this run has written into the overlay.
    pushed: BTreeSet<RelPath>,
    /// A pass came to no end, so what it was about to do is still told.
    is_broken: bool,
}

impl SyncRun<'_> {
    fn one<G: Ground>(
        &mut self,
        ground: &G,
        workspace: &mut Workspace,
        scope: Scope<'_>,
        turn: &mut Turn,
        outcome: &mut SyncOutcome,
    ) -> Result<PassOutcome> {
        let name = workspace.root.display().to_string();
        // What was the matter is so still, but for the files that are looked at now.
        match scope {
            Scope::Only(again) => turn.failed.retain(|path, _| !again.contains(path)),
            Scope::News | Scope::All => {
                turn.failed.clear();
                turn.open.clear();
            }
        }
        // One workspace that cannot be read or written must not keep the others out of step.
        let seen = match ground.is_present(workspace) {
            Ok(true) => ground
                .sweep(workspace)
                .and_then(|()| look(ground, self.settings, &self.known, &self.overlay, workspace, scope))
                .and_then(|seen| keep_read(ground, &seen).map(|()| seen)),
            Ok(false) => {
                let note = format!(
                    "{name} is not there; it is caught up when it comes back, `overlay-sync detach` forgets it"
                );
                if !outcome.notes.contains(&note) {
                    outcome.notes.push(note);
                }
                turn.is_halted = true;
                return Ok(PassOutcome::default());
            }
            Err(failure) => Err(failure),
        };
        let seen = match seen {
            Ok(seen) => seen,
            Err(failure) => {
                turn.open.push(format!("{name}: {}", failure));
                return Ok(PassOutcome::default());
            }
        };
        if matches!(scope, Scope::News) {
            tell_barred(&name, &seen, outcome);
        }
        for file in &seen {
            if let Some(Bar::Unreadable(why)) = &file.barred {
                turn.failed.insert(file.path.clone(), why.clone());
            }
        }
        if is_emptied(workspace, &seen) {
            turn.is_halted = true;
            turn.open.push(format!(
                "all files are gone from {name}; it is left alone, `overlay-sync sync --restore {name}` fills it again"
            ));
            return Ok(PassOutcome::default());
        }
        let mut pass = Pass { ground, now: self.now.to_owned(), known: &mut self.known, pushed: &self.pushed };
        let passed = match pass.run(workspace, &seen) {
            Ok(passed) => passed,
            Err(failure) => {
                self.is_broken = true;
                turn.open.push(format!("{name}: {}", failure));
                return Ok(PassOutcome::default());
            }
        };
        self.pushed.extend(passed.pushed.iter().cloned());
        self.overlay.extend(passed.pushed.iter().map(|path| (path.clone(), None)));
        outcome.conflicts += passed.conflicts;
        outcome.events.extend(passed.events.iter().cloned());
        turn.failed.extend(passed.failed.iter().cloned());
        Ok(passed)
    }

    /// Asks what is to be asked; `true` when there are answers to go on with.
    fn ask<G: Ground>(
        &mut self,
        ground: &mut G,
        workspaces: &mut Vec<Workspace>,
        turns: &mut BTreeMap<Digest, Turn>,
        outcome: &mut SyncOutcome,
    ) -> Result<bool> {
        let mut any = false;
        for workspace in workspaces.iter() {
            let Some(turn) = turns.get_mut(&workspace.id) else { continue };
            for (path, question) in std::mem::take(&mut turn.questions) {
                any = true;
                turn.again.insert(path.clone());
                let (base, overlay, here) = question.asked();
                match ground.ask(&path, &question)? {
                    Err(why) => {
                        outcome.warnings.push(format!("{path}: the merge command {why}; the rule decides"));
                        self.known.refused.insert((base, overlay, here));
                    }
                    Ok(bytes) => {
                        // So that it is not asked twice, whatever happens from here on.
                        let (result, rule) = (ground.keep(&bytes)?, SyncRule::Command);
                        let workspace = workspace.id;
                        let intent = Intent { v: 1, workspace, path: path.clone(), base, overlay, here, result, rule };
                        ground.intend(&intent)?;
                        self.known.intents.insert((workspace, path), (intent, bytes));
                    }
                }
            }
        }
        if any {
            // No lock was held meanwhile.
            self.overlay = ground.overlay()?;
            self.known.removed = ground.removed()?;
            let mut now = Vec::new();
            for workspace in workspaces.iter() {
                now.extend(ground.reload(workspace)?);
            }
            *workspaces = now;
        }
        Ok(any)
    }
}

fn tell_barred(name: &str, seen: &[SeenFile], outcome: &mut SyncOutcome) {
    for (file, bar) in seen.iter().filter_map(|s| Some((s, s.barred.as_ref()?))) {
        let path = &file.path;
        match bar {
            Bar::NotIgnored => {
                outcome.warnings.push(format!("{name}: {path} is not ignored by git there and stays untouched"));
            }
            Bar::Tracked => outcome.details.push(format!("{name}: {path} is tracked there and stays untouched")),
            // GitAnswer with what is open.
            Bar::Unreadable(_) | Bar::Alias => {}
            Bar::Strange(why) => outcome.warnings.push(format!("{name}: {path} stays untouched: {why}")),
        }
    }
}
