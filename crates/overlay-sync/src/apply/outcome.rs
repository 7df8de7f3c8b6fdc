//! What a run found out: the outcome of a sync, and what is open in each workspace.

use std::collections::{BTreeMap, BTreeSet};

use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use super::pass::PassOutcome;
use super::planned::PlannedFile;
use crate::ground::{LateText, LeftAlone};
use crate::manifest::Workspace;
use crate::plan::Question;
use crate::store::LogRecord;

/// The result of all passes of a sync.
#[derive(Debug, Default)]
pub struct SyncOutcome {
    pub events: Vec<LogRecord>,
    /// How many conflicts the rule decided.
    pub conflicts: usize,
    /// Messages about files that wait, workspaces that were left alone, and writes that failed.
    pub open: Vec<String>,
    /// The messages in `open` that are about failures of the disk or of git.
    pub failures: Vec<String>,
    /// The files that `open` is about.
    pub open_paths: BTreeSet<RelPath>,
    /// The workspaces that `open` is about.
    pub troubled: Vec<Digest>,
    /// The workspaces in `troubled` that have changes which no pass has synced.
    pub unread: Vec<Digest>,
    pub warnings: Vec<String>,
    pub notes: Vec<String>,
    /// Messages that are printed with `--verbose` only.
    pub details: Vec<String>,
}

/// What a run knows about one workspace.
#[derive(Debug, Default)]
pub struct WorkspaceTodo {
    /// The files that another pass must look at.
    pub again: BTreeSet<RelPath>,
    /// What is wrong with the workspace as a whole; `failed` has what is wrong with single files.
    pub open: Vec<String>,
    pub failed: BTreeMap<RelPath, String>,
    pub questions: Vec<(RelPath, Question)>,
    /// The late texts that are about to be synced, each with the base from before the pass.
    pub late: Vec<(LateText, Option<Digest>)>,
    /// The workspace is left alone for the rest of this run.
    pub is_halted: bool,
}

impl WorkspaceTodo {
    /// Adds what a pass left to do.
    pub fn follow_up(&mut self, passed: &PassOutcome) {
        self.again.extend(passed.lost.iter().cloned());
        // Keep one question for each file: the last one, which is about the present texts.
        self.questions.retain(|(path, _)| passed.questions.iter().all(|(other, _)| other != path));
        self.questions.extend(passed.questions.iter().cloned());
    }
}

impl SyncOutcome {
    pub fn fail(&mut self, why: String) {
        self.failures.push(why.clone());
        self.open.push(why);
    }

    /// Whether nothing was done, and there is nothing to say.
    pub fn is_silent(&self) -> bool {
        let said = [&self.open, &self.warnings, &self.notes, &self.details];
        self.events.is_empty() && self.conflicts == 0 && said.iter().all(|lines| lines.is_empty())
    }

    pub fn report_left_alone(&mut self, name: &str, files: &[PlannedFile]) {
        for (seen, why) in files.iter().filter_map(|file| Some((&file.seen, file.seen.left_alone.as_ref()?))) {
            let path = &seen.path;
            match why {
                LeftAlone::NotIgnored => {
                    let why = format!("{name}: {path} is not ignored by git there and stays untouched");
                    add_once(&mut self.warnings, why);
                }
                LeftAlone::Tracked => {
                    add_once(&mut self.details, format!("{name}: {path} is tracked there and stays untouched"));
                }
                // `report_open` reports unreadable files.
                LeftAlone::Unreadable(_) | LeftAlone::Alias => {}
                LeftAlone::Strange(why) => {
                    add_once(&mut self.warnings, format!("{name}: {path} stays untouched: {why}"))
                }
            }
        }
    }

    pub fn report_open(&mut self, workspace: &Workspace, todo: WorkspaceTodo) {
        let name = workspace.root.display();
        self.open_paths.extend(todo.failed.keys().chain(workspace.held.keys()).chain(&todo.again).cloned());
        let mut seen = BTreeSet::new();
        let general: Vec<String> = todo.open.into_iter().filter(|open| seen.insert(open.clone())).collect();
        let failed: Vec<String> = todo.failed.iter().map(|(path, why)| format!("{name}: {path}: {why}")).collect();
        let held = workspace.held.iter().filter(|_| !todo.is_halted).map(|(path, held)| {
            let what = if held.part { "a part of " } else { "" };
            let id = held.id(path);
            format!(
                "{name}: {what}{path} is held: {}; run `overlay-sync accept {id}` or `overlay-sync reject {id}`",
                held.why
            )
        });
        let moving = todo.again.iter().filter(|_| !todo.is_halted);
        let moving: Vec<String> =
            moving.map(|path| format!("{name}: {path} keeps changing; the next sync continues with it")).collect();
        let late: Vec<String> = todo
            .questions
            .iter()
            .map(|(path, _)| {
                format!("{name}: {path} changed while the merge command was running; the next sync asks again")
            })
            .collect();
        self.failures.extend(general.iter().filter(|_| !todo.is_halted).chain(&failed).cloned());
        let has_failed = !todo.is_halted && !general.is_empty() || !failed.is_empty();
        if has_failed || !moving.is_empty() || !late.is_empty() {
            self.unread.push(workspace.id);
        }
        let open: Vec<String> = general.into_iter().chain(failed).chain(held).chain(moving).chain(late).collect();
        if !open.is_empty() {
            self.troubled.push(workspace.id);
            self.open.extend(open);
        }
    }
}

/// Several passes of a run find the same.
fn add_once(lines: &mut Vec<String>, line: String) {
    if !lines.contains(&line) {
        lines.push(line);
    }
}
