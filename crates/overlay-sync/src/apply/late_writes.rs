//! Late texts: a program that holds a file open while it is replaced goes on writing into the displaced file. That text
//! is merged into the present file on the same side (workspace or overlay), and the next pass treats it as an edit.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use shopfloor_core::error::Result;
use shopfloor_core::fs::{DisplacedFile, Root, Staging, Writers};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use super::converge::SyncRun;
use super::outcome::WorkspaceTodo;
use crate::conflict::ConflictRecord;
use crate::facts::file_view::Scope;
use crate::merge::{FileType, MergeInput, MergedText, Rule, WHOLE, merge_growing, strip};
use crate::plan::{FileView, Step, decide};
use crate::settings::{Policy, Settings};
use crate::storage::{Ground, LateText, ReadFile, Side};
use crate::store::RESERVED;
use crate::workspace::Workspace;

/// Every displaced file below `root`: in the directory for temporary files, or beside its target in one of `dirs`.
pub fn displaced(
    staging: &Path,
    root: &Root,
    dirs: impl FnOnce() -> Result<BTreeSet<PathBuf>>,
) -> Result<Vec<DisplacedFile>> {
    let mut all = DisplacedFile::list(staging)?;
    if Staging::is_beside(staging, root)? {
        for dir in dirs()?.iter().filter(|dir| dir.is_dir()) {
            all.extend(DisplacedFile::list(dir)?);
        }
    }
    Ok(all)
}

/// The texts of those displaced files that no program can write to any more; with `is_last`, of all. `known` are the
/// paths that they may have had. Files of a run that was killed before it displaced anything are removed.
pub fn released<'p>(
    known: impl Iterator<Item = &'p RelPath> + Clone,
    displaced: Vec<DisplacedFile>,
    now: jiff::Timestamp,
    is_last: bool,
) -> Result<Vec<LateText>> {
    let mut all = Vec::new();
    for displaced in displaced {
        let is_open = !displaced.is_released(now);
        if is_open && !is_last {
            continue;
        }
        let Some(bytes) = displaced.read()? else {
            displaced.remove()?;
            continue;
        };
        let is_overdue = is_last || displaced.is_old(now);
        let path = known.clone().find(|path| displaced.was(path)).cloned();
        let before = displaced.before;
        all.push(LateText { path, before, bytes, is_open, is_overdue, file: displaced.file });
    }
    Ok(all)
}

/// Like [`released`], for the overlay's own files. The path of a file that is missing now may still be known to a
/// workspace.
pub fn released_in_overlay(
    ground: &impl Ground,
    displaced: Vec<DisplacedFile>,
    now: jiff::Timestamp,
) -> Result<Vec<LateText>> {
    if displaced.is_empty() {
        return Ok(Vec::new());
    }
    let (overlay, workspaces) = (ground.overlay()?, ground.workspaces()?);
    let paths: BTreeSet<&RelPath> = overlay.keys().chain(workspaces.iter().flat_map(known)).collect();
    released(paths.iter().copied(), displaced, now, false)
}

/// What a displaced file waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LateState {
    /// For a program that can still write to it.
    Open,
    /// For a day to pass, because the system does not tell who can write to it.
    Untold,
    /// For the next sync, which brings back what a program wrote to it.
    Written,
}

/// What the displaced files of this path wait for. If there are several, the most important state is returned.
pub fn state(displaced: &[DisplacedFile], path: &RelPath) -> Option<LateState> {
    let state = |displaced: &DisplacedFile| match displaced.writers() {
        Writers::Some => Some(LateState::Open),
        Writers::Unknown => Some(LateState::Untold),
        Writers::None => {
            displaced.read().ok()?.is_some_and(|b| Digest::of(&b) != displaced.before).then_some(LateState::Written)
        }
    };
    displaced.iter().filter(|displaced| displaced.was(path)).filter_map(state).max()
}

/// The paths that a displaced file of a workspace may have had.
pub fn known(workspace: &Workspace) -> impl Iterator<Item = &RelPath> + Clone {
    let past = workspace.deleted.keys().chain(workspace.retired.keys());
    workspace.files.keys().chain(past).chain(workspace.held.keys())
}

/// The directories in which they were.
pub fn known_dirs(workspace: &Workspace, root: &Root) -> BTreeSet<PathBuf> {
    known(workspace).filter_map(|path| root.join(path).parent().map(Path::to_path_buf)).collect()
}

/// All directories of the overlay.
pub fn all_dirs(overlay: &Root) -> Result<BTreeSet<PathBuf>> {
    let below = overlay.files(&[RESERVED])?.dirs;
    Ok(below.iter().map(|dir| overlay.path().join(dir)).chain([overlay.path().to_path_buf()]).collect())
}

/// What was done about a late text.
struct LateOutcome {
    /// What a person should know of it.
    note: Option<String>,
    /// The text that is at its path now, if that has everything that it says, or the rest is recorded as a conflict.
    present: Option<Digest>,
    /// The text that this one replaced, if any.
    before: Option<Digest>,
}

impl<G: Ground> SyncRun<'_, G> {
    /// Brings back what programs wrote into files that were replaced meanwhile, as far as the pass looks at these
    /// files. It then finds that as an edit.
    pub fn take_late(&mut self, workspace: &mut Workspace, scope: Scope<'_>, todo: &mut WorkspaceTodo) -> Result<()> {
        for text in self.ground.late_texts(Side::Here(workspace))? {
            if text.path.as_ref().is_some_and(|path| !scope.covers(path)) {
                continue;
            }
            let settings = self.settings;
            let waits = |path: &RelPath, file: &ReadFile, text: &[u8]| waits(settings, workspace, path, file, text);
            let taken = self.merge_back(Side::Here(workspace), &text, waits)?;
            let Some(LateOutcome { note, present, before }) = taken else { continue };
            if let (Some(path), Some(before), Some(after)) = (&text.path, before, present) {
                // Other programs there do not know of it yet.
                workspace.note_arrival(path, self.now, before, after);
                self.ground.save(workspace)?;
            }
            // If the overlay does not get it now (`direction = "down"`, or the file is held), the file counts as it is.
            let base = base_of(workspace, &text);
            if present.is_none() || present == base || self.stays_here(workspace, &text) {
                self.ground.forget_late_text(&text)?;
            } else {
                todo.late.push((text, base));
            }
            self.outcome.notes.extend(note.filter(|note| !self.outcome.notes.contains(note)));
        }
        Ok(())
    }

    /// Does the same for the overlay's own files. The passes then find an edit of the overlay.
    pub fn take_late_in_overlay(&mut self) {
        let all = self.ground.late_texts(Side::Overlay);
        if let Err(failure) = &all {
            self.outcome.fail(format!("{}: {failure}", self.ground.root(Side::Overlay).display()));
        }
        for text in all.into_iter().flatten() {
            let taken = self.merge_back(Side::Overlay, &text, |_, _, _| false).and_then(|taken| match taken {
                Some(LateOutcome { note, .. }) => self.ground.forget_late_text(&text).map(|()| note),
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
        let stays = |path: &RelPath| self.settings.policy(path, false).is_down || workspace.held.contains_key(path);
        text.path.as_ref().is_some_and(stays)
    }

    /// Forgets the late texts that the pass has synced. A text is synced if the file's base has changed.
    pub fn forget_late(&self, workspace: &Workspace, todo: &mut WorkspaceTodo) -> Result<()> {
        for (text, before) in std::mem::take(&mut todo.late) {
            if base_of(workspace, &text) != before {
                self.ground.forget_late_text(&text)?;
            }
        }
        Ok(())
    }

    /// Merges a late text into the present one. A text that conflicts with the present one, or that `waits` for a
    /// person, is recorded as a conflict. So is, after a day, a text whose file is missing. `None` if it has to be
    /// looked at again.
    fn merge_back(
        &self,
        side: Side<'_>,
        late: &LateText,
        waits: impl Fn(&RelPath, &ReadFile, &[u8]) -> bool,
    ) -> Result<Option<LateOutcome>> {
        let here = self.ground.keep(&late.bytes)?;
        if here == late.before || late.path.is_none() && late.is_overdue {
            return Ok(Some(LateOutcome { note: None, present: None, before: None }));
        }
        // The path is unknown now, but may be known again later.
        let Some(path) = &late.path else { return Ok(None) };
        let file = self.ground.read(side, path)?.ok().flatten();
        if file.is_none() && !late.is_overdue {
            return Ok(None);
        }
        let present = file.as_ref().map(|file| file.sha256);
        let base = self.ground.content(&late.before)?;
        let merged = file.as_ref().and_then(|file| merged(path, base.as_deref(), &file.bytes, &late.bytes));
        let both = file.as_ref().zip(merged.as_ref());
        let must_wait = both.is_some_and(|(file, merged)| waits(path, file, &merged.bytes));
        let note = match &merged {
            Some(merged) if merged.conflicts.is_empty() && !must_wait => None,
            _ => Some(self.record(side, late, path, file.as_ref(), merged.as_ref())?),
        };
        if let Some((file, merged)) = file.zip(merged)
            && merged.bytes != *file.bytes
            && !must_wait
        {
            let (before, after) = (self.ground.keep(&file.bytes)?, self.ground.keep(&merged.bytes)?);
            let is_put = self.ground.put(side, path, Some(before), &merged.bytes, file.mode)?;
            // If not, somebody else was faster.
            return Ok(is_put.then_some(LateOutcome { note, present: Some(after), before: Some(before) }));
        }
        Ok(Some(LateOutcome { note, present, before: None }))
    }

    /// Records that the present text won over a late one, and returns a message that says so.
    fn record(
        &self,
        side: Side<'_>,
        late: &LateText,
        path: &RelPath,
        file: Option<&ReadFile>,
        merged: Option<&MergedText>,
    ) -> Result<String> {
        let root = self.ground.root(side);
        let overlay = file.map_or(Ok(late.before), |file| self.ground.keep(&file.bytes))?;
        let result = merged.map_or(Ok(overlay), |merged| self.ground.keep(&merged.bytes))?;
        let of = if let Side::Here(workspace) = side { Some(workspace.id) } else { None };
        let texts = (Some(late.before), overlay, Digest::of(&late.bytes));
        let conflict = ConflictRecord::between(of, &root, path, texts, self.now);
        let note = format!(
            "{}: a program wrote to {path} after the file was replaced, and not all of its text could be merged; `overlay-sync show {}` prints it",
            root.display(),
            conflict.id
        );
        let places: Vec<String> = merged.iter().flat_map(|merged| &merged.conflicts).map(|c| c.place.clone()).collect();
        let places = if places.is_empty() { vec![WHOLE.to_owned()] } else { places };
        self.ground.record(&ConflictRecord { result, places, ..conflict })?;
        Ok(note)
    }
}

/// The base of a late text's file.
fn base_of(workspace: &Workspace, late: &LateText) -> Option<Digest> {
    workspace.files.get(late.path.as_ref()?).map(|base| base.sha256)
}

/// Whether a text differs in what a workspace has of its own, or would wait for a person if it were an edit. Late texts
/// of a workspace are in git's directory, where an agent of another workspace may be able to write one, and nobody looks
/// at what comes back here.
fn waits(settings: &Settings, workspace: &Workspace, path: &RelPath, file: &ReadFile, text: &[u8]) -> bool {
    let (kind, present) = (FileType::from_path(path.as_path()), &*file.bytes);
    let mut policy = Policy { mode: file.mode, ..settings.policy(path, false) };
    policy.keep_agents_server(path, [present, text]);
    let own = |text: &[u8]| -> Option<BTreeSet<String>> {
        let shared = kind.leaves(&strip(kind, text, &policy.local)?)?;
        Some(kind.leaves(text)?.into_iter().filter(|leaf| !shared.contains(leaf)).collect())
    };
    let is_own = policy.is_down || !policy.local.is_empty() && (own(text).is_none() || own(text) != own(present));
    if is_own && text != present {
        return true;
    }
    let decision = decide(&FileView {
        base: Some((Digest::of(present), Some(present))),
        overlay: Some(present),
        here: Some(text),
        accepted: workspace.accepted.get(path).unwrap_or(&BTreeSet::new()),
        deleted: None,
        kind,
        policy: &policy,
        arrivals: &[],
        is_whole: true,
        removed: &BTreeSet::new(),
        is_declared: false,
        is_retired: false,
        command: None,
        intent: None,
    });
    decision.part.is_some() || matches!(decision.step, Step::Hold(..))
}

/// The present text with what the late one adds and changes; `None` when the late one may be half written. Lines that
/// both sides added are no conflict: programs write late into logs.
fn merged(path: &RelPath, base: Option<&[u8]>, present: &[u8], late: &[u8]) -> Option<MergedText> {
    let kind = FileType::from_path(path.as_path());
    let is_whole = !late.is_empty() && (kind.parses(late) || !base.is_some_and(|base| kind.parses(base)));
    let input = MergeInput { base, overlay: present, workspace: late, kind, rule: Rule::Overlay };
    is_whole.then(|| merge_growing(&input))
}
