//! The decision: what the sweatfiles say and what is there, in; every step to take, out. Pure: apply
//! executes a plan, `--dry-run` and `check` print the same one.

mod env;
mod files;
pub mod removal;
pub mod review;

use std::collections::BTreeMap;
use std::path::PathBuf;

use shopfloor_core::fs::Content;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::env_file;
use crate::excludes;
use crate::facts::{Facts, Tracked};
use crate::layer::{Layer, Merged, Name};
use crate::record::Placed;
use crate::report::{Action, EnvLine, ExcludeLine, FileLine, LayerLine, Report, SetupLine};
use crate::template::Reservation;

pub use self::env::{EnvStep, EnvWork};

/// Every step of one apply, in the order they are taken.
#[derive(Debug)]
pub struct Plan {
    pub excludes: Vec<ExcludeStep>,
    pub files: Vec<FileStep>,
    pub env: EnvStep,
    pub setup: SetupPlan,
    /// Ports to be written down before anything that names them.
    pub ports: Option<Reservation>,
    /// The layers applied, for the record.
    pub layers: BTreeMap<Name, Digest>,
    pub warnings: Vec<String>,
    /// Each difference between the worktree and its sweatfiles, in words.
    pub drift: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct ExcludeStep {
    pub pattern: String,
    pub add: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub struct FileStep {
    pub path: RelPath,
    pub action: Action,
    pub why: String,
    pub work: Work,
    /// What the record says of it afterwards; none: nothing of ours lies there.
    pub placed: Option<Placed>,
    pub drifts: bool,
}

/// What apply does at one destination.
#[derive(Debug, PartialEq, Eq)]
pub enum Work {
    Nothing,
    /// Where nothing is.
    Create(Make),
    /// In place of exactly this, which apply had placed.
    Swap(Content, Make),
    /// Take exactly this away, which apply had placed.
    Take(Content),
    /// It is gone already; forget it and the directories made for it.
    Forget,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Make {
    Link(PathBuf),
    Write(Vec<u8>),
    Copy(PathBuf),
}

#[derive(Debug, PartialEq, Eq)]
pub struct SetupPlan {
    pub commands: Vec<String>,
    /// Identifies the list; recorded once it has run to its end.
    pub digest: Digest,
    pub run: Run,
    /// Tracked files that hold it back: a branch brought them, and nobody approved them.
    pub held: Vec<Held>,
    /// The true `[env]` values the commands see.
    pub env: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    Now,
    /// `--setup-again`: also when it ran to its end before.
    Again,
    /// It ran to its end before.
    Finished,
    /// `--no-setup`.
    LeftOut,
    /// A person must read tracked files first.
    Held,
}

/// A tracked file that the area's setup would use, and that is not what the area places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub path: RelPath,
    pub seen: String,
}

/// What the command line says about setup.
#[derive(Clone, Copy, Debug, Default)]
pub struct SetupWish {
    pub no: bool,
    pub again: bool,
}

/// Decides. `layers` are those that count.
pub fn plan(layers: &[Layer], merged: &Merged, facts: &Facts, wish: SetupWish) -> Plan {
    let patterns = excludes::wanted(merged, facts.needs_reserved);
    let missing = excludes::missing(&facts.exclude, &patterns);
    let excludes =
        patterns.into_iter().map(|pattern| ExcludeStep { add: missing.contains(&pattern), pattern }).collect();
    let wanted = env::wanted(merged, facts);
    let digests = layers.iter().filter_map(|l| Some((l.name, l.digest()?))).collect();
    let mut plan = Plan {
        excludes,
        files: files::plan(merged, facts),
        env: env::plan(&wanted, merged.left_out, facts),
        setup: setup(merged, facts, wish, wanted),
        ports: facts.ports.clone(),
        layers: digests,
        warnings: Vec::new(),
        drift: Vec::new(),
    };
    plan.warnings = warnings(&plan, merged, facts);
    plan.drift = drift(&plan, layers, facts);
    plan
}

fn setup(merged: &Merged, facts: &Facts, wish: SetupWish, env: BTreeMap<String, String>) -> SetupPlan {
    let digest = merged.setup_digest();
    let held = held(merged, facts);
    let run = if wish.no {
        Run::LeftOut
    } else if wish.again {
        Run::Again
    } else if facts.record.setup == Some(digest) || merged.left_out && facts.record.setup.is_some() {
        // With a layer left out this is not the list that will be asked for; what ran has run.
        Run::Finished
    } else {
        Run::Now
    };
    let run = if matches!(run, Run::Now | Run::Again) && !held.is_empty() { Run::Held } else { run };
    SetupPlan { commands: merged.setup.clone(), digest, run, held, env }
}

/// The tracked files that nobody approved and that are not what the area places there. The area's commands are trusted
/// and what a branch brings is not: `direnv allow` would make an `.envrc` run that nobody has read.
pub fn held(merged: &Merged, facts: &Facts) -> Vec<Held> {
    let is_areas = |path: &RelPath, tracked: &Tracked| {
        let wish = merged.files.get(path).filter(|wish| wish.layer == Name::Area);
        let says = wish.and_then(|wish| files::says(path, wish, facts));
        says.is_some() && says == tracked.content
    };
    let unread = facts.tracked_here.iter().filter(|(path, tracked)| !tracked.is_approved && !is_areas(path, tracked));
    unread.map(|(path, tracked)| Held { path: path.clone(), seen: tracked.seen.clone() }).collect()
}

fn warnings(plan: &Plan, merged: &Merged, facts: &Facts) -> Vec<String> {
    let mut warnings = facts.warnings.clone();
    for (pattern, example) in &facts.tracked {
        warnings.push(format!(
            "the exclude pattern `{pattern}` matches tracked files (`{example}`); new files there would be left out of commits"
        ));
    }
    for step in &plan.files {
        if matches!(step.work, Work::Create(_)) && !facts.ignored.contains(&step.path) {
            warnings.push(format!(
                "{} is not ignored by git: it makes the worktree dirty and blocks `git worktree remove`; add {} to git_excludes",
                step.path,
                excludes::pattern_for(&step.path)
            ));
        }
    }
    if facts.env_exposed {
        warnings.push(format!(
            "git does not ignore {}: it is tracked, or a pattern with `!` takes it back; `git add -A` would commit its values",
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
            (None, _) => drift.push(format!("{} is not applied here", layer.path.display())),
            (_, None) => drift.push(format!("{} is gone since it was applied", layer.path.display())),
            _ => drift.push(format!("older sweatfile: {} changed since it was applied", layer.path.display())),
        }
    }
    drift.extend(plan.excludes.iter().filter(|e| e.add).map(|e| format!("missing exclude: {}", e.pattern)));
    drift.extend(plan.files.iter().filter(|f| f.drifts).map(|f| match f.work {
        Work::Create(_) => format!("missing file: {}", f.path),
        _ => format!("{}: {}", f.path, f.why),
    }));
    drift.extend(plan.env.drift.iter().cloned());
    if facts.env_exposed {
        drift.push(format!("{} is not ignored by git", env_file::FILE));
    }
    for held in plan.setup.held.iter().filter(|_| plan.setup.run == Run::Held) {
        drift.push(format!("setup is held back by {}: it is tracked and not approved", held.path));
    }
    if !plan.setup.commands.is_empty() && plan.setup.run != Run::Finished {
        drift.push("setup never finished with these commands".to_owned());
    }
    drift
}

impl Plan {
    /// Whether anything below the worktree is written.
    pub fn writes(&self) -> bool {
        self.env.work != EnvWork::Nothing || self.files.iter().any(|step| step.work != Work::Nothing)
    }

    /// The plan as an answer: what apply would do, or with `check` how the worktree differs.
    pub fn report(&self, worktree: &std::path::Path, layers: &[Layer], check: bool) -> Report {
        let differs = |action: Action, drifts: bool| match (check, drifts) {
            (true, true) => Action::Drifted,
            (true, false) if action == Action::Created => Action::Unchanged,
            _ => action,
        };
        let blocked = self.env.action == Action::Failed || self.files.iter().any(|f| f.action == Action::Failed);
        let setup_action = match self.setup.run {
            Run::Now | Run::Again if blocked && !check => Action::Skipped,
            Run::Now if check => Action::Drifted,
            Run::Now | Run::Again => Action::Created,
            Run::Finished => Action::Unchanged,
            Run::LeftOut | Run::Held => Action::Skipped,
        };
        Report {
            worktree: worktree.display().to_string(),
            layers: layers.iter().map(LayerLine::of).collect(),
            excludes: self
                .excludes
                .iter()
                .map(|e| ExcludeLine {
                    pattern: e.pattern.clone(),
                    action: differs(if e.add { Action::Created } else { Action::Unchanged }, e.add),
                })
                .collect(),
            files: self
                .files
                .iter()
                .map(|f| FileLine {
                    path: f.path.to_string(),
                    action: differs(f.action, f.drifts && f.action != Action::Failed),
                    why: f.why.clone(),
                })
                .collect(),
            env: EnvLine {
                action: differs(self.env.action, !self.env.drift.is_empty() && self.env.action != Action::Failed),
                keys: self.env.keys.clone(),
                why: self.env.why.clone(),
            },
            setup: self
                .setup
                .commands
                .iter()
                .map(|command| SetupLine {
                    command: command.clone(),
                    action: setup_action,
                    status: None,
                    seconds: None,
                })
                .collect(),
            warnings: self.warnings.clone(),
            drift: check.then(|| self.drift.clone()),
            error: None,
        }
    }
}
