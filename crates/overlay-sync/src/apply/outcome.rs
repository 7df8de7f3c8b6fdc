//! What a run found out: the outcome of a sync, and what is open in each workspace.

use std::collections::{BTreeMap, BTreeSet};

use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use super::workspace_plan::PlannedFile;
use crate::facts::file_view::Scope;
use crate::plan::Question;
use crate::storage::{LateText, LeftAlone};
use crate::store::LogRecord;
use crate::workspace::Workspace;

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
    /// The file that a message in `failures` is about, if it is about one.
    pub failed: BTreeMap<String, RelPath>,
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
    pub questions: BTreeMap<RelPath, Question>,
    /// The late texts that are about to be synced, each with the base from before the pass.
    pub late: Vec<(LateText, Option<Digest>)>,
    /// The workspace is left alone for the rest of this run.
    pub is_halted: bool,
}

impl WorkspaceTodo {
    /// Forgets what was found about the files that a pass looks at now.
    pub fn begin_pass(&mut self, scope: Scope<'_>) {
        self.failed.retain(|path, _| !scope.covers(path));
        self.again.retain(|path| !scope.covers(path));
        if !matches!(scope, Scope::Only(_)) {
            self.open.clear();
        }
    }

    /// Whether something is wrong, or left to do.
    pub fn is_open(&self) -> bool {
        !(self.again.is_empty() && self.open.is_empty() && self.failed.is_empty())
    }
}

impl SyncOutcome {
    pub fn fail(&mut self, why: String) {
        self.failures.push(why.clone());
        self.open.push(why);
    }

    /// Adds what a later sync of the same workspaces has found out.
    pub fn absorb(&mut self, later: SyncOutcome) {
        self.events.extend(later.events);
        self.conflicts += later.conflicts;
        self.open_paths.extend(later.open_paths);
        self.failed.extend(later.failed);
        let lists = [
            (&mut self.open, later.open),
            (&mut self.failures, later.failures),
            (&mut self.warnings, later.warnings),
            (&mut self.notes, later.notes),
            (&mut self.details, later.details),
        ];
        for (lines, more) in lists {
            more.into_iter().for_each(|line| add_once(lines, line));
        }
    }

    /// Leaves out what was said of an earlier sync of the same command. Exit codes are taken before that.
    pub fn leave_out(&mut self, said: &SyncOutcome) {
        let lists = [
            (&mut self.open, &said.open),
            (&mut self.failures, &said.failures),
            (&mut self.warnings, &said.warnings),
            (&mut self.notes, &said.notes),
            (&mut self.details, &said.details),
        ];
        for (lines, said) in lists {
            lines.retain(|line| !said.contains(line));
        }
    }

    /// Whether nothing was done, and there is nothing to say.
    pub fn is_silent(&self) -> bool {
        let lines = [&self.open, &self.warnings, &self.notes, &self.details];
        self.events.is_empty() && self.conflicts == 0 && lines.iter().all(|lines| lines.is_empty())
    }

    pub fn report_left_alone(&mut self, name: &str, files: &[PlannedFile]) {
        for (seen, why) in files.iter().filter_map(|file| Some((&file.seen, file.seen.left_alone.as_ref()?))) {
            let (lines, what) = match why {
                LeftAlone::NotIgnored => (&mut self.warnings, "is not ignored by git there and stays untouched".into()),
                LeftAlone::Tracked => (&mut self.details, "is tracked there and stays untouched".into()),
                LeftAlone::Strange(why) => (&mut self.warnings, format!("stays untouched: {why}")),
                // `report_open` reports unreadable files.
                LeftAlone::Unreadable(_) | LeftAlone::Alias => continue,
            };
            // Several passes of a run find the same.
            add_once(lines, format!("{name}: {} {what}", seen.path));
        }
    }

    pub fn report_open(&mut self, workspace: &Workspace, todo: &WorkspaceTodo) {
        let name = workspace.root.display();
        let failed = todo.failed.iter().map(|(path, why)| (format!("{name}: {path}: {why}"), path.clone()));
        let failed: BTreeMap<String, RelPath> = failed.collect();
        self.failed.extend(failed.clone());
        let failed: Vec<String> = failed.into_keys().collect();
        let failures: Vec<String> = todo.open.iter().filter(|_| !todo.is_halted).chain(&failed).cloned().collect();
        let held = workspace.held.iter().filter(|_| !todo.is_halted).map(|(path, held)| {
            let what = if held.part { "a part of " } else { "" };
            let (id, why) = (held.id(path), &held.why);
            let other = match held.is_overlays() {
                true => "fix the overlay's file".to_owned(),
                false => format!("`overlay-sync reject {id}`"),
            };
            format!("{name}: {what}{path} is held: {why}; run `overlay-sync accept {id}` or {other}")
        });
        let moving: Vec<&RelPath> = todo.again.iter().filter(|_| !todo.is_halted).collect();
        self.open_paths.extend(todo.failed.keys().chain(workspace.held.keys()).chain(moving.iter().copied()).cloned());
        let moving =
            moving.iter().map(|path| format!("{name}: {path} keeps changing; the next sync continues with it"));
        let asked = todo.questions.keys().map(|path| {
            format!("{name}: {path} changed while the merge command was running; the next sync asks again")
        });
        let unsettled: Vec<String> = moving.chain(asked).collect();
        if !failures.is_empty() || !unsettled.is_empty() {
            self.unread.push(workspace.id);
        }
        // A machine that does not answer is away, which is no failure of this one.
        if workspace.far.is_none() {
            self.failures.extend(failures);
        }
        let open: Vec<String> = todo.open.iter().cloned().chain(failed).chain(held).chain(unsettled).collect();
        if !open.is_empty() {
            self.troubled.push(workspace.id);
            self.open.extend(open);
        }
    }
}

/// Several passes of a run find the same.
pub fn add_once(lines: &mut Vec<String>, line: String) {
    if !lines.contains(&line) {
        lines.push(line);
    }
}
