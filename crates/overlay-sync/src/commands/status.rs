//! `status`: the state of every file in every workspace. Hashes and reasons, never contents.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::DisplacedFile;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::{printable, word};
use shopfloor_core::ui::Ui;

use super::workspace_args::WorkspaceArgs;
use crate::apply::disk_storage::Disk;
use crate::apply::late_writes::{self, LateState};
use crate::apply::workspace_plan::{PlannedFile, RunContext, is_rejected, plan_files};
use crate::facts::file_view::Scope;
use crate::facts::overlay::Overlay;
use crate::plan::Step;
use crate::storage::{Ground, LeftAlone, ReadFile, Side};
use crate::sync_action::SyncRule;
use crate::workspace::Workspace;

/// Where Claude Code keeps a person's permissions for a project. From 2.1.330 on, what is granted in a linked worktree
/// goes into the file of the main checkout.
const CLAUDE: &str = ".claude/settings.local.json";

#[derive(Serialize)]
pub struct StatusAnswer<'a> {
    workspace: Cow<'a, str>,
    /// The same, by the name that all tools use.
    worktree: Cow<'a, str>,
    path: String,
    state: FileState,
    base: Option<Digest>,
    overlay: Option<Digest>,
    here: Option<Digest>,
    size: Option<usize>,
    why: String,
}

impl<'a> StatusAnswer<'a> {
    /// A state without texts.
    fn of(workspace: &'a Workspace, path: &RelPath, state: FileState, why: String) -> StatusAnswer<'a> {
        let (workspace, path) = (workspace.root.to_string_lossy(), path.to_string());
        let (base, overlay, here, size) = (None, None, None, None);
        StatusAnswer { worktree: workspace.clone(), workspace, path, state, base, overlay, here, size, why }
    }

    /// Whether there is nothing to sync: the file is the same here and in the overlay, whether or not its directory is
    /// polled, or it is too large for the overlay.
    pub fn is_in_step(&self) -> bool {
        matches!(self.state, FileState::Clean | FileState::Degraded | FileState::TooLarge)
    }
}

/// The state of a file in a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum FileState {
    Changed,
    Clean,
    Degraded,
    Held,
    Missing,
    NotIgnored,
    Pulled,
    TooLarge,
    Tracked,
    Unreachable,
}

/// The state of a file that was replaced, here or in the overlay, while a program may have held it open.
fn late_state(here: Option<LateState>, overlay: Option<LateState>) -> Option<(FileState, String)> {
    let (late, side) = if here >= overlay { (here?, "") } else { (overlay?, "overlay's ") };
    let (state, doing, rest) = match late {
        LateState::Open => {
            (FileState::Clean, "a program holds the", " open; what it writes is synced once it closes the file")
        }
        LateState::Untold => {
            let doing = "the system does not tell who writes to the";
            (FileState::Degraded, doing, ", so it is kept for a day and then synced")
        }
        LateState::Written => {
            let state = if side.is_empty() { FileState::Changed } else { FileState::Pulled };
            (state, "a program wrote to the", "; the next sync brings that back")
        }
    };
    Some((state, format!("{doing} {side}replaced file{rest}")))
}

pub fn run(ui: &Ui, overlay: Option<Overlay>, args: &WorkspaceArgs) -> Result<Exit> {
    let Some(overlay) = overlay else { return Ok(Exit::Done) };
    let workspaces = chosen(ui, &overlay, args)?;
    for_each_file(ui, &overlay, &workspaces, &mut |answer| print(ui, answer))?;
    Ok(Exit::Done)
}

/// The workspaces to tell of; none where there is no overlay yet, which is said.
pub fn chosen(ui: &Ui, overlay: &Overlay, args: &WorkspaceArgs) -> Result<Vec<Workspace>> {
    if overlay.is_unmade() {
        ui.note("there is no overlay yet; `overlay-sync add FILE` makes one");
        return Ok(Vec::new());
    }
    overlay.require()?;
    let workspaces = args.workspaces(ui, overlay)?;
    if workspaces.is_empty() && args.paths.is_empty() {
        ui.note("nothing is attached; run `overlay-sync attach`");
    }
    Ok(workspaces)
}

/// Calls `each` with the state of every file in these workspaces.
pub fn for_each_file(
    ui: &Ui,
    overlay: &Overlay,
    workspaces: &[Workspace],
    each: &mut dyn FnMut(&StatusAnswer<'_>),
) -> Result<()> {
    if overlay.is_unmade() {
        return Ok(());
    }
    let disk = Disk::open(overlay, None)?;
    let context = RunContext::read(&disk)?;
    let managed = &context.overlay;
    let (polled, in_overlay) = (overlay.polled()?, disk.displaced(Side::Overlay)?);
    if managed.is_empty() && workspaces.iter().any(|workspace| !workspace.files.is_empty()) {
        return Err(overlay.gone("was emptied"));
    }
    let main = &overlay.repo.home.checkout;
    if managed.keys().any(|path| path.as_path() == Path::new(CLAUDE)) && workspaces.iter().all(|w| w.root != *main) {
        ui.note(format!(
            "{} is not attached; Claude Code writes permissions that are granted for ever in a worktree into the {CLAUDE} of this main checkout",
            main.display()
        ));
    }
    let mut unreadable = 0;
    for workspace in workspaces.iter().filter(|workspace| !workspace.is_gone()) {
        if workspace.far.is_some() {
            tell_last(&disk, workspace, each)?;
            continue;
        }
        let is_there = workspace.is_present();
        if matches!(is_there, Ok(false)) {
            let (why, what_helps) = workspace.absence();
            for (path, base) in &workspace.files {
                let why = format!("the workspace {why}; {what_helps}");
                let answer = StatusAnswer::of(workspace, path, FileState::Unreachable, why);
                each(&StatusAnswer { base: Some(base.sha256), ..answer });
            }
            continue;
        }
        let planned = is_there.and_then(|_| plan_files(&disk, &overlay.settings, &context, workspace, Scope::All));
        let (files, declared) = match planned.and_then(|files| Ok((files, disk.declared(workspace)?))) {
            Ok(read) => read,
            Err(failure) => {
                ui.warn(format!("{}: {failure}", workspace.root.display()));
                unreadable += 1;
                continue;
            }
        };
        let late = [disk.displaced(Side::Here(workspace))?, in_overlay.clone()];
        for file in files {
            each(&answer(workspace, &file, &polled, &late));
        }
        for path in declared.large.iter().filter(|path| !managed.contains_key(*path)) {
            let max = overlay.settings.paths_max;
            let why =
                format!("it has more than {max} bytes (`paths_max_bytes`); `overlay-sync add` takes it all the same");
            each(&StatusAnswer::of(workspace, path, FileState::TooLarge, why));
        }
    }
    match unreadable {
        0 => Ok(()),
        n => Err(Failure::failed(format!("{n} workspaces cannot be read")).hint("look at what the warnings name")),
    }
}

/// Calls `each` with the state of the files of a workspace on another machine, as it was when that was asked last.
fn tell_last(disk: &Disk<'_>, workspace: &Workspace, each: &mut dyn FnMut(&StatusAnswer<'_>)) -> Result<()> {
    let all: BTreeSet<&RelPath> = workspace.files.keys().chain(workspace.held.keys()).collect();
    for path in all {
        let overlay = disk.read(Side::Overlay, path)?.ok().flatten().map(|file| file.sha256);
        let base = workspace.files.get(path).map(|base| base.sha256);
        let (state, why) = match workspace.held.get(path) {
            Some(held) => (FileState::Held, held.why.clone()),
            None if overlay != base => (FileState::Pulled, "the overlay has another text".to_owned()),
            None => (FileState::Clean, "when its machine was asked last".to_owned()),
        };
        each(&StatusAnswer { base, overlay, ..StatusAnswer::of(workspace, path, state, why) });
    }
    Ok(())
}

fn answer<'a>(
    workspace: &'a Workspace,
    file: &PlannedFile,
    polled: &[PathBuf],
    late: &[Vec<DisplacedFile>; 2],
) -> StatusAnswer<'a> {
    let seen = &file.seen;
    let (mut state, mut why) = state(workspace, file);
    let path = workspace.root.join(seen.path.as_path());
    if state == FileState::Clean && path.parent().is_some_and(|dir| polled.iter().any(|polled| polled == dir)) {
        (state, why) = (FileState::Degraded, "its directory cannot be watched, so it is polled".into());
    }
    let [late_here, late_in_overlay] = late.each_ref().map(|late| late_writes::state(late, &seen.path));
    if state == FileState::Clean
        && let Some(late) = late_state(late_here, late_in_overlay)
    {
        (state, why) = late;
    }
    let digest = |side: &Option<ReadFile>| side.as_ref().map(|file| file.sha256);
    StatusAnswer {
        base: seen.base,
        overlay: digest(&seen.overlay),
        here: digest(&seen.here),
        size: seen.here.as_ref().map(|here| here.bytes.len()),
        ..StatusAnswer::of(workspace, &seen.path, state, why)
    }
}

/// The state of a file, and why it is in that state.
fn state(workspace: &Workspace, file: &PlannedFile) -> (FileState, String) {
    let (seen, decision) = (&file.seen, &file.decision);
    let (state, why) = match (&seen.left_alone, &decision.step) {
        (Some(LeftAlone::NotIgnored), _) => (FileState::NotIgnored, "git would show it as untracked"),
        (Some(LeftAlone::Tracked), _) => (FileState::Tracked, "git tracks it"),
        (Some(LeftAlone::Alias), _) => (FileState::Clean, "a link to the overlay's own file"),
        (Some(LeftAlone::Strange(why) | LeftAlone::Unreadable(why)), _) => (FileState::Unreachable, why.as_str()),
        (None, Step::Hold(why, _)) => (FileState::Held, why.as_str()),
        (None, step) => match (&decision.part, step) {
            (Some(part), _) => (FileState::Held, part.why.as_str()),
            (None, Step::Delete) => (FileState::Missing, "deleted here"),
            (None, Step::Nothing) if workspace.deleted.contains_key(&seen.path) => (FileState::Missing, "deleted here"),
            (None, Step::Nothing) if seen.here != seen.overlay && seen.policy.is_down && seen.here.is_some() => {
                (FileState::Changed, "changed here, and stays here")
            }
            (None, Step::Write(write)) if write.rule == SyncRule::Pull => {
                (FileState::Pulled, "the overlay has another text")
            }
            (None, Step::Remove) => (FileState::Pulled, "deleted in the overlay"),
            (None, Step::Write(_) | Step::Ask(_) | Step::Dispute(_)) => (FileState::Changed, "changed here"),
            (None, Step::Nothing) if seen.overlay.is_none() && is_rejected(workspace, seen) => {
                (FileState::Clean, "rejected, and kept here")
            }
            (None, Step::Nothing | Step::Retire) if seen.overlay.is_none() && seen.here.is_some() => {
                (FileState::Clean, "not in the overlay any more, kept here")
            }
            (None, _) => (FileState::Clean, ""),
        },
    };
    (state, why.to_owned())
}

pub fn print(ui: &Ui, answer: &StatusAnswer<'_>) {
    if ui.is_json() {
        return ui.json(answer);
    }
    let why = if answer.why.is_empty() { String::new() } else { format!(": {}", printable(&answer.why)) };
    let (state, path) = (word(&answer.state), printable(&answer.path));
    ui.line(format!("{state} {path} ({}){why}", printable(&answer.workspace)));
}
