//! One pass over one workspace: executes what was decided for each of its files.
//!
//! Contents go into the store before anything is displaced, then the intent, then the overlay is written, then the
//! workspace, then the manifest. Each replacement is compare-and-swap. If a pass is killed at any point, each side has
//! a text that one of them had before or that the pass was about to write, so the next pass can continue from there.

use std::collections::BTreeSet;

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use super::converge::SyncRun;
use super::outcome::WorkspaceTodo;
use super::recovery::{after, planned_write};
use super::user_edits::narrowed;
use super::workspace_plan::PlannedFile;
use crate::conflict::{ConflictRecord, ConflictWinner};
use crate::facts::file_view::SeenFile;
use crate::merge::{Changes, FileType, Grow, Grown, Rule, changes, entries, grown};
use crate::plan::{QuestionId, Step, WriteStep};
use crate::storage::{Ground, ReadFile, Side};
use crate::store::{LogRecord, PlannedWrite, WriteIntent};
use crate::sync_action::SyncRule;
use crate::workspace::{BaseFile, HeldText, Workspace};

impl<G: Ground> SyncRun<'_, G> {
    /// Takes every step and saves the manifest. One file that fails does not stop the others.
    pub fn apply(&mut self, workspace: &mut Workspace, files: &[PlannedFile], todo: &mut WorkspaceTodo) -> Result<()> {
        let before = workspace.clone();
        let removed = self.context.removed.clone();
        let events_before = self.outcome.events.len();
        let planned: Vec<PlannedWrite> = files.iter().filter_map(|file| planned_write(workspace, file)).collect();
        self.ground.announce(&planned)?;
        for file in files {
            if let Err(failure) = self.step(workspace, file, todo) {
                let path = &file.seen.path;
                todo.failed.insert(path.clone(), failure.to_string());
                // Only a write releases what waits.
                if let Some(held) = before.held.get(path) {
                    workspace.held.entry(path.clone()).or_insert_with(|| held.clone());
                }
            }
        }
        // Save this before the manifest, because a later pass can find the removed entries only by comparing with the
        // manifest's old base.
        if self.context.removed != removed {
            self.ground.save_removed(&self.context.removed)?;
        }
        if *workspace != before {
            self.ground.save(workspace)?;
        }
        self.ground.log(&self.outcome.events[events_before..])?;
        for file in files {
            let path = &file.seen.path;
            let is_open = todo.failed.contains_key(path) || todo.again.contains(path);
            let key = (workspace.id, path.clone());
            if !is_open && !matches!(file.decision.step, Step::Ask(_)) && self.context.intents.contains_key(&key) {
                self.ground.forget_intent(workspace, path)?;
                self.context.intents.remove(&key);
            }
        }
        Ok(())
    }

    fn step(&mut self, workspace: &mut Workspace, file: &PlannedFile, todo: &mut WorkspaceTodo) -> Result<()> {
        let (seen, step, path) = (&file.seen, &file.decision.step, &file.seen.path);
        if seen.left_alone.is_some() {
            workspace.held.remove(path);
            return Ok(());
        }
        self.hold(workspace, file);
        // An accept is for one text only. It is used up as soon as both sides have the same text.
        if matches!(step, Step::Nothing | Step::Adopt(_)) && file.decision.part.is_none() {
            workspace.accepted.remove(path);
        }
        if seen.overlay.is_some() {
            self.context.removed.files.remove(path);
        }
        match step {
            Step::Nothing | Step::Hold(..) | Step::Dispute(_) => {}
            Step::Ask(question) => drop(todo.questions.insert(path.clone(), question.clone())),
            Step::Adopt(bytes) => {
                let sha256 = self.ground.keep(bytes)?;
                let mode = seen.here.as_ref().map_or(0o600, |here| here.mode);
                let now = seen.overlay.as_ref().map(|overlay| overlay.bytes.clone());
                self.remember(seen, now.as_deref().unwrap_or(bytes))?;
                workspace.set_base(path, BaseFile { sha256, mode });
                workspace.refilled.remove(path);
                workspace.stale.remove(path);
            }
            Step::Delete => {
                workspace.files.remove(path);
                workspace.refilled.remove(path);
                let then = seen.overlay.as_ref().map(|overlay| self.ground.keep(&overlay.bytes)).transpose()?;
                workspace.deleted.extend(then.map(|then| (path.clone(), then)));
            }
            Step::Forget => self.retire(workspace, path, None),
            Step::Retire => self.retire(workspace, path, seen.base),
            Step::Remove => {
                if let Some(here) = &seen.here {
                    self.ground.keep(&here.bytes)?;
                    if !self.ground.remove(workspace, path, here.sha256)? {
                        todo.again.insert(path.clone());
                        return Ok(());
                    }
                    let event = self.event(workspace, path, SyncRule::Pull);
                    self.outcome.events.push(LogRecord { from: Some(here.sha256), ..event });
                }
                self.retire(workspace, path, None);
            }
            Step::Write(write) => {
                if !self.write(workspace, seen, write)? {
                    // Somebody else was faster.
                    todo.again.insert(path.clone());
                }
            }
        }
        Ok(())
    }

    fn retire(&mut self, workspace: &mut Workspace, path: &RelPath, base: Option<Digest>) {
        workspace.files.remove(path);
        workspace.deleted.remove(path);
        workspace.retired.remove(path);
        workspace.refilled.remove(path);
        // What arrived in a file that is no longer synced does not matter any more.
        workspace.arrived.remove(path);
        workspace.stale.remove(path);
        workspace.retired.extend(base.map(|base| (path.clone(), base)));
        self.context.removed.files.insert(path.clone());
    }

    /// Records that the whole file or a part of it waits, and removes that record when nothing waits any more.
    fn hold(&mut self, workspace: &mut Workspace, file: &PlannedFile) {
        let path = &file.seen.path;
        let (why, text, part) = match (&file.decision.step, &file.decision.part) {
            (Step::Hold(why, text), _) => (why, *text, false),
            (Step::Ask(_), None) => return,
            // Nothing waits in a file that is no longer managed.
            (Step::Forget | Step::Retire | Step::Remove, _) | (_, None) => {
                workspace.held.remove(path);
                return;
            }
            (_, Some(part)) => (&part.why, part.digest, true),
        };
        let here = file.seen.here.as_ref().map(|here| here.sha256);
        let overlay = file.seen.overlay.as_ref().map(|overlay| overlay.sha256);
        let old = workspace.held.get(path);
        let is_new = old.is_none_or(|held| held.text != text);
        let since = old.filter(|_| !is_new).map_or_else(|| self.now.to_owned(), |held| held.since.clone());
        let held = HeldText { why: why.clone(), text, since, part, here, overlay, places: Vec::new() };
        workspace.held.insert(path.clone(), held);
        if is_new {
            let event = self.event(workspace, path, SyncRule::Hold);
            self.outcome.events.push(LogRecord { from: here, ..event });
        }
    }

    /// Writes a file on both sides; `false` if one of its texts has changed since it was read.
    fn write(&mut self, workspace: &mut Workspace, seen: &SeenFile, write: &WriteStep) -> Result<bool> {
        let path = &seen.path;
        let (overlay, here) = (seen.overlay.as_ref().map(|f| f.sha256), seen.here.as_ref().map(|f| f.sha256));
        let (base, result) = self.keep_displaced(seen, write)?;
        if let (false, Some(overlay), Some(here)) = (write.conflicts.is_empty(), overlay, here) {
            // Record the conflict before anything is displaced. Its id is derived from the contents, so if this run is
            // killed and a later run decides again, that run records the same conflict.
            let (texts, rule) = ((seen.base, overlay, here), write.rule);
            let is_overlays = write.conflicts.iter().all(|conflict| conflict.kept == Rule::Overlay);
            let winner = if is_overlays { ConflictWinner::Overlay } else { ConflictWinner::Workspace };
            let places = write.conflicts.iter().map(|conflict| conflict.place.clone()).collect();
            let conflict = ConflictRecord::between(Some(workspace.id), &workspace.root, path, texts, self.now);
            self.ground.record(&ConflictRecord { result, rule, winner, places, ..conflict })?;
            self.outcome.conflicts += 1;
        }
        self.record_stale(workspace, seen, write)?;
        if let Some((id, bytes)) = &write.intent {
            self.save_intent((workspace.id, path.clone()), *id, bytes, write.rule)?;
        }
        let Some(mode) = self.put(workspace, seen, write)? else { return Ok(false) };
        let now = write.overlay.as_deref().or(seen.overlay.as_ref().map(|f| &*f.bytes));
        self.remember(seen, now.unwrap_or(&write.base))?;
        match (seen.base, write.rule) {
            (Some(base), _) if seen.here.is_none() && write.overlay.is_none() => {
                workspace.refilled.entry(path.clone()).or_insert(base);
            }
            // Keep the refilled base here: a program that writes from an old text does not know what the overlay has
            // changed meanwhile.
            (_, SyncRule::Pull) if here == workspace.files.get(path).map(|base| base.sha256) => {}
            _ => drop(workspace.refilled.remove(path)),
        }
        workspace.set_base(path, BaseFile { sha256: base, mode });
        self.settle_stale(workspace, seen, write)?;
        refresh_held(workspace, seen, write);
        let is_pull = write.rule == SyncRule::Pull;
        let rule = if is_pull && self.pushed.contains(path) { SyncRule::Propagate } else { write.rule };
        self.outcome.events.push(LogRecord {
            from: if is_pull { here } else { overlay },
            to: Some(result),
            kept: write.grown,
            what: what_changed(seen, write, is_pull),
            ..self.event(workspace, path, rule)
        });
        Ok(true)
    }

    /// Keeps every text that is about to be replaced, the new base, and the text that is written. Returns the digests
    /// of the last two.
    fn keep_displaced(&self, seen: &SeenFile, write: &WriteStep) -> Result<(Digest, Digest)> {
        // Keep a text even if it is the old base, because after this pass nothing else may refer to it.
        let sides = [(&seen.overlay, &write.overlay), (&seen.here, &write.here)];
        for (file, _) in sides.iter().filter(|(_, written)| written.is_some()) {
            file.as_ref().map(|file| self.ground.keep(&file.bytes)).transpose()?;
        }
        let base = self.ground.keep(&write.base)?;
        // With entries of its own a workspace's text is neither the base nor the overlay's.
        if let Some(own) = write.here.as_ref().filter(|here| **here != write.base) {
            self.ground.keep(own)?;
        }
        let result = match write.overlay.as_ref().or(write.here.as_ref()) {
            Some(bytes) => self.ground.keep(bytes)?,
            None => base,
        };
        Ok((base, result))
    }

    /// Saves the text that is about to be written in place of these: a run after a kill might decide differently.
    pub fn save_intent(&mut self, of: (Digest, RelPath), id: QuestionId, text: &[u8], rule: SyncRule) -> Result<()> {
        let ((workspace, path), (base, overlay, here), result) = (of.clone(), id, self.ground.keep(text)?);
        let intent = WriteIntent { v: 1, workspace, path, base, overlay, here, result, rule };
        if self.context.intents.get(&of).is_none_or(|(known, _)| *known != intent) {
            self.ground.save_intent(&intent)?;
            self.context.intents.insert(of, (intent, text.to_vec()));
        }
        Ok(())
    }

    /// Replaces the overlay's text and then the workspace's text, and returns the mode of the workspace's file. Returns
    /// `None` if one of the texts has changed since it was read.
    fn put(&mut self, workspace: &mut Workspace, seen: &SeenFile, write: &WriteStep) -> Result<Option<u32>> {
        let path = &seen.path;
        let digest = |file: &Option<ReadFile>| file.as_ref().map(|file| file.sha256);
        let mode = |file: &Option<ReadFile>| file.as_ref().map(|file| file.mode);
        let (overlay_mode, here_mode) = (mode(&seen.overlay), mode(&seen.here));
        if let Some(bytes) = &write.overlay {
            let mode = narrowed(overlay_mode, here_mode);
            if !self.ground.put(Side::Overlay, path, digest(&seen.overlay), bytes, mode)? {
                return Ok(None);
            }
            self.note_pushed(path);
            if workspace.accepted.contains_key(path) {
                self.context.accepted.entry(path.clone()).or_default().insert(Digest::of(bytes));
            }
        }
        let Some(bytes) = &write.here else { return Ok(Some(here_mode.or(overlay_mode).unwrap_or(0o600))) };
        if let (Some(overlay), Some(mode)) = (&write.overlay, here_mode) {
            // The overlay has what was read here by now. If the text has changed meanwhile, or cannot be replaced, what
            // is here is an edit of that: of the old base, what it has again would count as removed in the overlay.
            self.remember(seen, overlay)?;
            workspace.note_read(path, BaseFile { sha256: self.ground.keep(&write.read)?, mode });
        }
        let mode = narrowed(here_mode, overlay_mode);
        let is_put = self.ground.put(Side::Here(workspace), path, digest(&seen.here), bytes, mode)?;
        Ok(is_put.then_some(mode))
    }

    /// Remembers the entries that the overlay has lost from lists that only grow, and forgets the entries that it has
    /// again.
    fn remember(&mut self, seen: &SeenFile, overlay: &[u8]) -> Result<()> {
        let kind = FileType::from_path(seen.path.as_path());
        let Some(base) = seen.base.filter(|base| *base != Digest::of(overlay) && !seen.policy.is_down) else {
            return Ok(());
        };
        let Some(base) = self.ground.content(&base)? else { return Ok(()) };
        let all = &mut self.context.removed.entries;
        // An entry that has only another value is not lost.
        let before = match grown(kind, seen.policy.grow, &base, overlay) {
            Grown::Same => Vec::new(),
            Grown::Back(text, _) => entries(kind, Grow::All, &text),
            Grown::Cannot => entries(kind, seen.policy.grow, &base),
        };
        if before.is_empty() && !all.contains_key(&seen.path) {
            return Ok(());
        }
        let now: BTreeSet<String> = entries(kind, Grow::All, overlay).into_iter().collect();
        let mut known = all.remove(&seen.path).unwrap_or_default();
        known.extend(before);
        known.retain(|entry| !now.contains(entry));
        if !known.is_empty() {
            all.insert(seen.path.clone(), known);
        }
        Ok(())
    }

    fn event(&self, workspace: &Workspace, path: &RelPath, rule: SyncRule) -> LogRecord {
        LogRecord::new(self.now, &workspace.root, path, rule)
    }
}

/// Tells a part that waits which texts it waits in now; both were kept when they were read or written. Where both sides
/// have the same text, no part of it waits.
fn refresh_held(workspace: &mut Workspace, seen: &SeenFile, write: &WriteStep) {
    let Some(held) = workspace.held.get_mut(&seen.path) else { return };
    held.here = after(write.here.as_ref(), seen.here.as_ref());
    held.overlay = after(write.overlay.as_ref(), seen.overlay.as_ref());
    if let Some(same) = held.here.filter(|here| held.overlay == Some(*here)) {
        workspace.held.remove(&seen.path);
        workspace.files.entry(seen.path.clone()).and_modify(|base| base.sha256 = same);
    }
}

/// What a write does to the text that its record names first.
fn what_changed(seen: &SeenFile, write: &WriteStep, is_pull: bool) -> Changes {
    let before = if is_pull { &seen.here } else { &seen.overlay };
    let before = before.as_ref().map_or(&[][..], |file| &file.bytes);
    let after = write.overlay.as_ref().or(write.here.as_ref()).unwrap_or(&write.base);
    changes(FileType::from_path(seen.path.as_path()), before, after)
}
