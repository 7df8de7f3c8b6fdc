//! `sync`: passes over all workspaces until nothing more is to be done.

use std::path::PathBuf;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::{Found, Root};
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::{self, Sides};
use crate::cli::{Place, Workspaces};
use crate::facts::{self, Bar, Overlay, Seen};
use crate::manifest::Workspace;
use crate::plan::Step;
use crate::store::{Did, Event};

/// More rounds than this would mean that somebody writes all the time; the next sync goes on.
const ROUNDS: usize = 4;

pub fn run(ui: &Ui, env: &Env, place: &Place, named: &Workspaces, dry_run: bool, restore: &[PathBuf]) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    if dry_run {
        let workspaces = overlay.workspaces(ui, env, named)?;
        return preview(ui, &overlay, &workspaces);
    }
    // Before the lock, whose file would bring the directory back.
    if !overlay.dir.is_dir() {
        if Workspace::is_any_marked(&overlay.repo.common_dir) {
            return Err(gone(&overlay, "is not there"));
        }
        ui.note("there is no overlay yet; `overlay-sync add FILE` makes one");
        return Ok(Exit::Done);
    }
    let _lock = Lock::take(&overlay.store.lock_path())?;
    let mut workspaces = overlay.workspaces(ui, env, named)?;
    let restored = overlay.workspaces(ui, env, &Workspaces { paths: restore.to_vec(), nul: false })?;
    if !restore.is_empty() {
        for workspace in workspaces.iter_mut().filter(|w| restored.iter().any(|r| r.id == w.id)) {
            // Only what is gone: an edit of what is there still has its past.
            let here = Root::open(&workspace.root)?;
            let gone = |path: &RelPath| here.look(path).is_ok_and(|found| found == Found::Missing);
            workspace.files.retain(|path, _| !gone(path));
            workspace.deleted.retain(|path, _| !gone(path));
        }
    }
    let outcome = converge(ui, env, &overlay, &mut workspaces)?;
    outcome.print(ui);
    Ok(outcome.exit())
}

/// What passes until quiet came to.
#[derive(Default)]
pub struct Outcome {
    pub events: Vec<Event>,
    /// Conflicts decided in this run.
    pub conflicts: usize,
    /// Files that wait, workspaces that were left alone, writes that failed: each in words.
    pub open: Vec<String>,
    /// The workspaces these are in.
    pub troubled: Vec<Digest>,
}

impl Outcome {
    pub fn print(&self, ui: &Ui) {
        for event in &self.events {
            if ui.is_json() {
                ui.json(event);
            } else {
                ui.line(format!(
                    "{} {} ({})",
                    event.rule,
                    printable(&event.path.to_string()),
                    printable(&event.workspace)
                ));
            }
        }
        for open in &self.open {
            ui.warn(open);
        }
        if self.conflicts > 0 {
            let what = if self.conflicts == 1 {
                "a conflict was".into()
            } else {
                format!("{} conflicts were", self.conflicts)
            };
            ui.warn(format!("{what} decided by rule; see `overlay-sync conflicts`"));
        }
    }

    pub fn exit(&self) -> Exit {
        if self.conflicts == 0 && self.open.is_empty() { Exit::Done } else { Exit::No }
    }
}

/// Passes over the workspaces until a round writes nothing. The caller holds the overlay's lock.
pub fn converge(ui: &Ui, env: &Env, overlay: &Overlay, workspaces: &mut [Workspace]) -> Result<Outcome> {
    let root = require_overlay(overlay, workspaces)?;
    let mut outcome = Outcome::default();
    for round in 0..ROUNDS {
        outcome.open.clear();
        outcome.troubled.clear();
        let mut wrote = false;
        for workspace in workspaces.iter_mut() {
            let name = workspace.root.display().to_string();
            if !workspace.is_present()? {
                ui.note(format!("{name} is not there; it is caught up when it comes back"));
                continue;
            }
            // One workspace that cannot be written must not keep the others out of step.
            let open = outcome.open.len();
            match one(ui, env, overlay, &root, workspace, &mut outcome, round == 0) {
                Ok(more) => wrote |= more,
                Err(failure) => outcome.open.push(format!("{name}: {failure}")),
            }
            if outcome.open.len() > open {
                outcome.troubled.push(workspace.id);
            }
        }
        if !wrote {
            break;
        }
    }
    Ok(outcome)
}

fn one(
    ui: &Ui,
    env: &Env,
    overlay: &Overlay,
    root: &Root,
    workspace: &mut Workspace,
    outcome: &mut Outcome,
    first: bool,
) -> Result<bool> {
    let name = workspace.root.display().to_string();
    let seen = facts::look(overlay, root, workspace)?;
    warn_barred(ui, &name, &seen, first);
    if facts::is_emptied(workspace, &seen) {
        outcome.open.push(format!(
            "all files are gone from {name}; it is left alone, `overlay-sync sync --restore {name}` fills it again"
        ));
        return Ok(false);
    }
    let sides = Sides::open(overlay, root, workspace)?;
    let passed = apply::pass(env, overlay, &sides, workspace, &seen)?;
    let wrote = passed.events.iter().any(|event| event.rule != Did::Hold);
    outcome.conflicts += passed.conflicts;
    outcome.events.extend(passed.events);
    outcome.open.extend(passed.failed.iter().map(|(path, why)| format!("{name}: {path}: {why}")));
    outcome.open.extend(workspace.held.iter().map(|(path, held)| {
        format!("{name}: {path} is held: {}; `overlay-sync accept {1}` or `reject {1}`", held.why, held.id())
    }));
    Ok(wrote)
}

fn warn_barred(ui: &Ui, name: &str, seen: &[Seen], first: bool) {
    for (file, bar) in seen.iter().filter_map(|s| Some((s, s.barred.as_ref()?))).filter(|_| first) {
        match bar {
            Bar::NotIgnored => {
                ui.warn(format!("{name}: {} is not ignored by git there and stays untouched", file.path))
            }
            Bar::Tracked => ui.detail(format!("{name}: {} is tracked there and stays untouched", file.path)),
            Bar::Strange(why) => ui.warn(format!("{name}: {} stays untouched: {why}", file.path)),
        }
    }
}

/// The overlay, unless it is gone or was emptied while workspaces still know files of it: then nothing is
/// touched, for that is an accident and no decision.
fn require_overlay(overlay: &Overlay, workspaces: &[Workspace]) -> Result<Root> {
    let known = workspaces.iter().map(|w| w.files.len()).max().unwrap_or(0);
    let Some(root) = overlay.root()? else {
        return Err(gone(overlay, "is not there"));
    };
    if known >= 2 && root.files(&[crate::store::RESERVED])?.files.is_empty() {
        return Err(gone(overlay, "was emptied"));
    }
    Ok(root)
}

/// The refusal to read a missing overlay as the decision to delete everything.
pub fn gone(overlay: &Overlay, what: &str) -> Failure {
    let message = format!("the overlay {} {what}; nothing was touched", overlay.dir.display());
    Failure::new(Exit::No, "overlay_gone", message)
        .hint("put its files back, or name the right one with `--overlay DIR`")
}

fn preview(ui: &Ui, overlay: &Overlay, workspaces: &[Workspace]) -> Result<Exit> {
    let root = require_overlay(overlay, workspaces)?;
    let mut quiet = true;
    for workspace in workspaces {
        if !workspace.is_present()? {
            continue;
        }
        for file in facts::look(overlay, &root, workspace)?.iter().filter(|s| s.barred.is_none()) {
            let what = match &file.step {
                Step::Write(write) => format!("would {}", write.did),
                Step::Hold(why, _) => format!("would hold ({why})"),
                _ => continue,
            };
            quiet = false;
            if ui.is_json() {
                ui.json(&serde_json::json!({
                    "workspace": workspace.root.to_string_lossy(), "path": file.path, "rule": match &file.step {
                        Step::Write(write) => write.did,
                        _ => Did::Hold,
                    }
                }));
            } else {
                ui.line(format!(
                    "{what} {} ({})",
                    printable(&file.path.to_string()),
                    printable(&workspace.root.to_string_lossy())
                ));
            }
        }
    }
    if quiet {
        ui.note("everything is in step");
    }
    Ok(Exit::Done)
}
