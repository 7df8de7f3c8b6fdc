//! The plan of one apply, and what `apply` and `check` report of it.

use std::collections::BTreeMap;
use std::path::Path;

use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use super::env::{self, EnvOperation, EnvStep};
use super::files::{self, FileOperation, FileStep, FileToPlace};
use super::setup::{self, PlannedStep, SetupPlan, SetupRun};
use crate::applied::Record;
use crate::env_file;
use crate::excludes;
use crate::facts::{Facts, SetupRequest};
use crate::layer::{Layer, LayerName, MergedLayers};
use crate::report::{EnvLine, ExcludeLine, FileLine, ItemAction, LayerLine, Report, ReportFor, SetupLine};

/// Every step of one apply, in the order in which they are taken.
#[derive(Debug)]
pub struct Plan {
    pub excludes: Vec<ExcludeLine>,
    pub files: Vec<FileStep>,
    pub env: EnvStep,
    pub setup: SetupPlan,
    /// The applied layers, for the record.
    pub layers: BTreeMap<LayerName, Digest>,
    pub warnings: Vec<String>,
    /// Each difference between the worktree and its sweatfiles, in words.
    pub drift: Vec<String>,
}

/// Makes the plan. `layers` are the layers that count; the record in `facts` is what `known_record` leaves of it.
pub fn plan(layers: &[Layer], merged: &MergedLayers, facts: &Facts, request: SetupRequest) -> Plan {
    let patterns = excludes::wanted(merged, facts.needs_reserved);
    let missing = excludes::missing(&facts.exclude, &patterns);
    let action = |pattern: &String| if missing.contains(pattern) { ItemAction::Created } else { ItemAction::Unchanged };
    let excludes = patterns.into_iter().map(|pattern| ExcludeLine { action: action(&pattern), pattern }).collect();
    let wanted = env::wanted(merged, facts);
    let digests = layers.iter().filter_map(|l| Some((l.name, l.digest()?))).collect();
    let mut plan = Plan {
        excludes,
        files: files::plan(merged, facts),
        env: env::plan(merged, &wanted, facts),
        setup: setup::plan(merged, facts, request, wanted),
        layers: digests,
        warnings: Vec::new(),
        drift: Vec::new(),
    };
    plan.warnings = warnings(&plan, merged, facts);
    plan.drift = drift(&plan, layers, facts);
    plan
}

/// The part of the record that is known to be ours. An agent can write one that is not in the user's own list; of that,
/// only what today's sweatfiles would write counts.
pub fn known_record(merged: &MergedLayers, facts: &Facts) -> Record {
    let mut record = facts.record.clone();
    if record.is_listed {
        return record;
    }
    let desired = |path: &RelPath| files::desired_content(path, merged.files.get(path)?, facts);
    record.files.retain(|path, placed| {
        placed.replaces = None;
        desired(path).as_ref() == Some(&placed.content)
    });
    let known = &record.files;
    record.dirs.retain(|dir| known.keys().any(|path| dir.is_parent_of(path)));
    let wanted = env::wanted(merged, facts);
    record.env.retain(|key, value| wanted.get(key) == Some(value));
    record.env_pending.clear();
    record
}

fn warnings(plan: &Plan, merged: &MergedLayers, facts: &Facts) -> Vec<String> {
    let mut warnings = facts.warnings.clone();
    for (pattern, example) in &facts.patterns_matching_tracked {
        warnings.push(format!(
            "the exclude pattern `{pattern}` matches tracked files (`{example}`); new files there would be left out of commits"
        ));
    }
    for step in &plan.files {
        if matches!(step.operation, FileOperation::Place(None, _)) && !facts.ignored.contains(&step.path) {
            warnings.push(format!(
                "{} is not ignored by git: it makes the worktree dirty and blocks `git worktree remove`; add {} to git_excludes",
                step.path,
                excludes::pattern_for(&step.path)
            ));
        }
    }
    for step in plan.setup.steps.iter().filter(|step| step.is_running) {
        let of = |(key, now): &(String, BTreeMap<String, String>)| facts.record.steps.get(key)?.changed(now);
        if let Some(input) = step.state.as_ref().and_then(of) {
            warnings.push(format!(
                "the step `{}` runs for an older content of {input}; when it has ended, run `sweatfile-apply` again",
                step.step.name()
            ));
        }
    }
    if facts.is_env_exposed {
        warnings.push(format!(
            "git does not ignore {}: it is tracked, or a `!` pattern brings it back; `git add -A` would commit its values",
            env_file::FILE
        ));
    }
    warnings.extend(plan.env.warnings.iter().cloned());
    let has_env = !merged.env.is_empty();
    if facts.envrc.as_ref().is_some_and(|text| has_env && !text.contains(env_file::FILE)) {
        warnings.push(format!(".envrc does not load {0}; add the line `dotenv_if_exists {0}` to it", env_file::FILE));
    }
    warnings
}

fn drift(plan: &Plan, layers: &[Layer], facts: &Facts) -> Vec<String> {
    let mut drift = Vec::new();
    for layer in layers {
        match (facts.record.layers.get(&layer.name), layer.digest()) {
            (before, now) if before.copied() == now => {}
            (None, _) => drift.push(format!("{} has not been applied here", layer.path.display())),
            (_, None) => drift.push(format!("{} was deleted since it was applied", layer.path.display())),
            _ => drift.push(format!("older sweatfile: {} changed since it was applied", layer.path.display())),
        }
    }
    let missing = plan.excludes.iter().filter(|e| e.action == ItemAction::Created);
    drift.extend(missing.map(|e| format!("missing exclude: {}", e.pattern)));
    drift.extend(plan.files.iter().filter(|f| f.drifts).map(|f| match f.operation {
        FileOperation::Place(None, _) => format!("missing file: {}", f.path),
        _ => format!("{}: {}", f.path, f.why),
    }));
    drift.extend(plan.env.drift.iter().cloned());
    if facts.is_env_exposed {
        drift.push(format!("{} is not ignored by git", env_file::FILE));
    }
    for held in plan.setup.held.iter().filter(|_| plan.setup.run == SetupRun::Held) {
        drift.push(format!("setup is held back by {held}: nobody has approved it"));
    }
    let steps = &plan.setup.steps;
    let list = steps.iter().find(|step| step.state.is_none()).and_then(|step| step.due.as_ref());
    drift.extend(list.map(|due| format!("setup {due}")));
    drift.extend(steps.iter().filter(|step| step.state.is_some()).filter_map(|step| {
        let how = match (step.is_running, step.step.background) {
            (true, true) => Some("runs in the background"),
            (true, false) => Some("runs"),
            (false, _) => step.due.as_deref(),
        };
        let log = step.log.iter().map(|log| format!("; its log is {}", log.display())).collect::<String>();
        Some(format!("setup step `{}` {}{log}", step.step.name(), how?))
    }));
    drift
}

impl Plan {
    /// Whether anything in the worktree is written.
    pub fn writes(&self) -> bool {
        self.env.operation != EnvOperation::Nothing
            || self.files.iter().any(|step| step.operation != FileOperation::Nothing)
    }

    /// The caches that are copied.
    pub fn caches(&self) -> impl Iterator<Item = &RelPath> {
        let is_cache = |step: &&FileStep| matches!(step.operation, FileOperation::Place(_, FileToPlace::Cache(_)));
        self.files.iter().filter(is_cache).map(|step| &step.path)
    }

    /// What apply would do, or for `check`, how the worktree differs.
    pub fn report(&self, worktree: &Path, layers: &[Layer], report_for: ReportFor) -> Report {
        let differs = |action: ItemAction, drifts: bool| match (report_for, drifts) {
            (ReportFor::Check, true) => ItemAction::Drifted,
            (ReportFor::Check, false) if action == ItemAction::Created => ItemAction::Unchanged,
            _ => action,
        };
        let (setup_action, env) = (self.setup_action(report_for), self.env.line.clone());
        let excludes = self.excludes.iter().map(|e| ExcludeLine {
            pattern: e.pattern.clone(),
            action: differs(e.action, e.action == ItemAction::Created),
        });
        let files = self.files.iter().map(|f| FileLine {
            path: f.path.to_string(),
            action: differs(f.action, f.drifts && f.action != ItemAction::Failed),
            why: f.why.clone(),
        });
        let line = |step: &PlannedStep| SetupLine {
            command: step.command.clone(),
            name: step.step.name.clone(),
            log: step.log.as_ref().map(|log| log.display().to_string()),
            action: match (&step.due, step.is_running) {
                (_, true) => ItemAction::Running,
                // Nobody waits for its end.
                (Some(_), _) if step.step.background && setup_action == ItemAction::Created => ItemAction::Running,
                (Some(_), _) => setup_action,
                (None, _) => ItemAction::Unchanged,
            },
            ..SetupLine::default()
        };
        Report {
            worktree: worktree.display().to_string(),
            layers: layers.iter().map(LayerLine::new).collect(),
            excludes: excludes.collect(),
            files: files.collect(),
            env: EnvLine {
                action: differs(env.action, !self.env.drift.is_empty() && env.action != ItemAction::Failed),
                ..env
            },
            setup: self.setup.steps.iter().map(line).collect(),
            warnings: self.warnings.clone(),
            disk: None,
            drift: (report_for == ReportFor::Check).then(|| self.drift.clone()),
        }
    }

    fn setup_action(&self, report_for: ReportFor) -> ItemAction {
        let has_failed = |action| action == ItemAction::Failed;
        let is_blocked = has_failed(self.env.line.action) || self.files.iter().any(|f| has_failed(f.action));
        match (self.setup.run, report_for) {
            (SetupRun::Now | SetupRun::Again, ReportFor::Apply) if is_blocked => ItemAction::Skipped,
            (SetupRun::Now, ReportFor::Check) => ItemAction::Drifted,
            (SetupRun::Now | SetupRun::Again, _) => ItemAction::Created,
            (SetupRun::Finished, _) => ItemAction::Unchanged,
            (SetupRun::LeftOut | SetupRun::Held, _) => ItemAction::Skipped,
        }
    }
}
