//! A plan as the answer of `apply` or `check`.

use std::path::Path;

use super::apply::Plan;
use super::setup::SetupRun;
use crate::layer::Layer;
use crate::report::{EnvLine, ExcludeLine, FileLine, ItemAction, LayerLine, Report, ReportFor, SetupLine};

impl Plan {
    /// What apply would do, or for `check`, how the worktree differs.
    pub fn report(&self, worktree: &Path, layers: &[Layer], report_for: ReportFor) -> Report {
        let differs = |action: ItemAction, drifts: bool| match (report_for, drifts) {
            (ReportFor::Check, true) => ItemAction::Drifted,
            (ReportFor::Check, false) if action == ItemAction::Created => ItemAction::Unchanged,
            _ => action,
        };
        let setup_action = self.setup_action(report_for);
        let excludes = self.excludes.iter().map(|e| ExcludeLine {
            pattern: e.pattern.clone(),
            action: differs(e.action, e.action == ItemAction::Created),
        });
        let files = self.files.iter().map(|f| FileLine {
            path: f.path.to_string(),
            action: differs(f.action, f.drifts && f.action != ItemAction::Failed),
            why: f.why.clone(),
        });
        let line =
            |command: &String| SetupLine { command: command.clone(), action: setup_action, ..SetupLine::default() };
        Report {
            worktree: worktree.display().to_string(),
            layers: layers.iter().map(LayerLine::new).collect(),
            excludes: excludes.collect(),
            files: files.collect(),
            env: EnvLine {
                action: differs(self.env.action, !self.env.drift.is_empty() && self.env.action != ItemAction::Failed),
                keys: self.env.keys.clone(),
                why: self.env.why.clone(),
            },
            setup: self.setup.commands.iter().map(line).collect(),
            warnings: self.warnings.clone(),
            drift: (report_for == ReportFor::Check).then(|| self.drift.clone()),
            error: None,
        }
    }

    fn setup_action(&self, report_for: ReportFor) -> ItemAction {
        let has_failed = |action| action == ItemAction::Failed;
        let is_blocked = has_failed(self.env.action) || self.files.iter().any(|f| has_failed(f.action));
        match (self.setup.run, report_for) {
            (SetupRun::Now | SetupRun::Again, ReportFor::Apply) if is_blocked => ItemAction::Skipped,
            (SetupRun::Now, ReportFor::Check) => ItemAction::Drifted,
            (SetupRun::Now | SetupRun::Again, _) => ItemAction::Created,
            (SetupRun::Finished, _) => ItemAction::Unchanged,
            (SetupRun::LeftOut | SetupRun::Held, _) => ItemAction::Skipped,
        }
    }
}
