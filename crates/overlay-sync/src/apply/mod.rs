//! Executes what was decided for one workspace: the only room that writes into overlays and workspaces.
//!
//! Contents go into the store before anything is displaced, then what is intended, then the overlay is
//! written, then the workspace, then the manifest; each replacement is compare-and-swap. Killed anywhere,
//! the next pass sees texts that both sides held or still hold, and goes on the same way.

mod bars;
pub mod converge;
pub mod disk;
pub mod ground;
#[cfg(test)]
mod machine;
#[cfg(test)]
mod memory;

use std::collections::BTreeSet;
use std::path::Path;

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::{Root, Staging};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use self::ground::{Ground, ReadFile, Side};
use crate::look::{RunContext, SeenFile};
use crate::manifest::{BaseFile, HeldText, Workspace};
use crate::merge::{FileType, Grow, Rule, entries};
use crate::plan::{Question, Step, WriteStep};
use crate::store::{ConflictRecord, Intent, LogRecord, PlannedWrite, SyncRule};

/// What a pass over one workspace came to.
#[derive(Debug, Default)]
pub struct PassOutcome {
    pub events: Vec<LogRecord>,
    /// How many were decided by rule.
    pub conflicts: usize,
    /// What could not be written, and why; the next pass tries again.
    pub failed: Vec<(RelPath, String)>,
    /// The overlay's files that were written.
    pub pushed: BTreeSet<RelPath>,
    /// Where somebody else was faster.
    pub lost: BTreeSet<RelPath>,
    pub questions: Vec<(RelPath, Question)>,
}

/// One pass: on what, when, and what the run has pushed before.
#[derive(Debug)]
pub struct Pass<'a, G> {
    pub ground: &'a G,
    pub now: String,
    pub known: &'a mut RunContext,
    pub pushed: &'a BTreeSet<RelPath>,
}

impl<G: Ground> Pass<'_, G> {
    /// Takes every step and saves the manifest. One file that fails does not stop the others.
    pub fn run(&mut self, workspace: &mut Workspace, seen: &[SeenFile]) -> Result<PassOutcome> {
        let before = workspace.clone();
        let removed = self.known.removed.clone();
        let mut passed = PassOutcome::default();
        let doing: Vec<PlannedWrite> = seen.iter().filter_map(|file| doing(workspace, file)).collect();
        if !doing.is_empty() {
            self.ground.announce(&doing)?;
        }
        for file in seen {
            if let Err(failure) = self.step(workspace, file, &mut passed) {
                passed.failed.push((file.path.clone(), failure.to_string()));
            }
        }
        // Before the manifest: once that has moved on, nobody can tell what was taken away.
        if self.known.removed != removed {
            self.ground.save_removed(&self.known.removed)?;
        }
        if *workspace != before {
            self.ground.save(workspace)?;
        }
        self.ground.log(&passed.events)?;
        for file in seen {
            let is_open = passed.failed.iter().any(|(path, _)| *path == file.path) || passed.lost.contains(&file.path);
            let key = (workspace.id, file.path.clone());
            if !is_open && !matches!(file.decision.step, Step::Ask(_)) && self.known.intents.contains_key(&key) {
                self.ground.fulfil(workspace, &file.path)?;
                self.known.intents.remove(&key);
            }
        }
        Ok(passed)
    }

    fn step(&mut self, workspace: &mut Workspace, file: &SeenFile, passed: &mut PassOutcome) -> Result<()> {
        let path = &file.path;
        if file.barred.is_some() {
            workspace.held.remove(path);
            return Ok(());
        }
        let step = &file.decision.step;
        self.hold(workspace, file, passed)?;
        // A person's word is for one text; once both sides are in step it has done its work.
        if matches!(step, Step::Nothing | Step::Adopt(_)) && file.decision.part.is_none() {
            workspace.accepted.remove(path);
        }
        if file.overlay.is_some() {
            self.known.removed.files.remove(path);
        }
        match step {
            Step::Nothing | Step::Hold(..) | Step::Dispute(_) => {}
            Step::Ask(question) => passed.questions.push((path.clone(), question.clone())),
            Step::Adopt(bytes) => {
                let sha256 = self.ground.keep(bytes)?;
                let mode = file.here.as_ref().map_or(0o600, |here| here.mode);
                let now = file.overlay.as_ref().map(|theirs| theirs.bytes.clone());
                self.remember(file, now.as_deref().unwrap_or(bytes))?;
                settle(workspace, path, BaseFile { sha256, mode });
                workspace.refilled.remove(path);
            }
            Step::Delete => {
                workspace.files.remove(path);
                workspace.refilled.remove(path);
                let then = file.overlay.as_ref().map(|theirs| self.ground.keep(&theirs.bytes)).transpose()?;
                workspace.deleted.extend(then.map(|then| (path.clone(), then)));
            }
            Step::Forget => self.retire(workspace, path, None),
            Step::Retire => self.retire(workspace, path, file.base),
            Step::Remove => {
                if let Some(here) = &file.here {
                    self.ground.keep(&here.bytes)?;
                    if !self.ground.remove(workspace, path, here.sha256)? {
                        passed.lost.insert(path.clone());
                        return Ok(());
                    }
                    passed.events.push(self.event(workspace, path, SyncRule::Pull, Some(here.sha256), None));
                }
                self.retire(workspace, path, None);
            }
            Step::Write(write) => self.write(workspace, file, write, passed)?,
        }
        Ok(())
    }

    fn retire(&mut self, workspace: &mut Workspace, path: &RelPath, base: Option<Digest>) {
        workspace.files.remove(path);
        workspace.deleted.remove(path);
        workspace.retired.remove(path);
        workspace.refilled.remove(path);
        workspace.retired.extend(base.map(|base| (path.clone(), base)));
        self.known.removed.files.insert(path.clone());
    }

    /// Notes what waits, whole or in part, and forgets what does not any more.
    fn hold(&self, workspace: &mut Workspace, file: &SeenFile, passed: &mut PassOutcome) -> Result<()> {
        let path = &file.path;
        let (why, text, part) = match (&file.decision.step, &file.decision.part) {
            (Step::Hold(why, text), _) => (why, *text, false),
            (_, Some(part)) => (&part.why, part.digest, true),
            (Step::Ask(_), None) => return Ok(()),
            _ => {
                workspace.held.remove(path);
                return Ok(());
            }
        };
        let here = file.here.as_ref().map(|here| here.sha256);
        let old = workspace.held.get(path);
        let is_new = old.is_none_or(|held| held.text != text);
        let since = old.filter(|_| !is_new).map_or_else(|| self.now.clone(), |held| held.since.clone());
        let overlay = file.overlay.as_ref().map(|overlay| overlay.sha256);
        workspace.held.insert(path.clone(), HeldText { why: why.clone(), text, since, part, here, overlay });
        if is_new {
            passed.events.push(self.event(workspace, path, SyncRule::Hold, here, None));
        }
        Ok(())
    }

    fn write(
        &mut self,
        workspace: &mut Workspace,
        file: &SeenFile,
        write: &WriteStep,
        passed: &mut PassOutcome,
    ) -> Result<()> {
        let (path, ground) = (&file.path, self.ground);
        let (theirs, ours) = (file.overlay.as_ref().map(|f| f.sha256), file.here.as_ref().map(|f| f.sha256));
        let (theirs_mode, ours_mode) = (file.overlay.as_ref().map(|f| f.mode), file.here.as_ref().map(|f| f.mode));
        // Also a base: from here on nothing may speak of it but time.
        for (file, _) in
            [(&file.overlay, &write.overlay), (&file.here, &write.here)].iter().filter(|(_, w)| w.is_some())
        {
            file.as_ref().map(|file| ground.keep(&file.bytes)).transpose()?;
        }
        let base = ground.keep(&write.base)?;
        let result = match write.overlay.as_ref().or(write.here.as_ref()) {
            Some(bytes) => ground.keep(bytes)?,
            None => base,
        };
        if let (false, Some(theirs), Some(ours)) = (write.conflicts.is_empty(), theirs, ours) {
            // Before anything is displaced. Its id follows from the contents: decided again after a kill, it
            // is the same conflict.
            ground.record(&self.conflict(workspace, file, write, theirs, ours, result))?;
            passed.conflicts += 1;
        }
        if let Some(((base, overlay, here), bytes)) = &write.intent {
            let result = ground.keep(bytes)?;
            let (workspace, path) = (workspace.id, path.clone());
            let intent =
                Intent { v: 1, workspace, path, base: *base, overlay: *overlay, here: *here, result, rule: write.did };
            let key = (intent.workspace, intent.path.clone());
            if self.known.intents.get(&key).is_none_or(|(known, _)| *known != intent) {
                ground.intend(&intent)?;
                self.known.intents.insert(key, (intent, bytes.clone()));
            }
        }
        if let Some(bytes) = &write.overlay {
            if !ground.put(Side::Overlay, path, theirs, bytes, narrowed(theirs_mode, ours_mode))? {
                // What is there now is for the next pass.
                passed.lost.insert(path.clone());
                return Ok(());
            }
            passed.pushed.insert(path.clone());
            if workspace.accepted.contains_key(path) {
                self.known.accepted.entry(path.clone()).or_default().insert(Digest::of(bytes));
            }
        }
        let mut mode = ours_mode.or(theirs_mode).unwrap_or(0o600);
        if let Some(bytes) = &write.here {
            mode = narrowed(ours_mode, theirs_mode);
            if !ground.put(Side::Here(workspace), path, ours, bytes, mode)? {
                passed.lost.insert(path.clone());
                return Ok(());
            }
        }
        let now = write.overlay.as_deref().or(file.overlay.as_ref().map(|f| &*f.bytes));
        self.remember(file, now.unwrap_or(&write.base))?;
        match (file.base, write.did) {
            (Some(base), _) if file.here.is_none() && write.overlay.is_none() => {
                workspace.refilled.entry(path.clone()).or_insert(base);
            }
            // What came from the overlay meanwhile is not what a stale writer knows.
            (_, SyncRule::Pull) if ours == workspace.files.get(path).map(|base| base.sha256) => {}
            _ => drop(workspace.refilled.remove(path)),
        }
        settle(workspace, path, BaseFile { sha256: base, mode });
        if let Some(held) = workspace.held.get_mut(path) {
            // A part waits in texts that are others now.
            let now = |written: &Option<Vec<u8>>, before| match written {
                Some(bytes) => ground.keep(bytes).map(Some),
                None => Ok(before),
            };
            (held.here, held.overlay) = (now(&write.here, ours)?, now(&write.overlay, theirs)?);
        }
        let did =
            if write.did == SyncRule::Pull && self.pushed.contains(path) { SyncRule::Propagate } else { write.did };
        let from = if write.did == SyncRule::Pull { ours } else { theirs };
        let event = self.event(workspace, path, did, from, Some(result));
        passed.events.push(LogRecord { kept: write.grown, ..event });
        Ok(())
    }

    /// Remembers what the overlay lost of what only grows, and forgets what it has again.
    fn remember(&mut self, file: &SeenFile, overlay: &[u8]) -> Result<()> {
        let kind = FileType::from_path(file.path.as_path());
        let Some(base) = file.base.filter(|base| *base != Digest::of(overlay) && !file.policy.is_down) else {
            return Ok(());
        };
        let Some(base) = self.ground.content(&base)? else { return Ok(()) };
        let now: BTreeSet<String> = entries(kind, Grow::All, overlay).into_iter().collect();
        let gone = entries(kind, file.policy.grow, &base).into_iter().filter(|entry| !now.contains(entry));
        let gone: BTreeSet<String> = gone.collect();
        let all = &mut self.known.removed.entries;
        let mut known = all.remove(&file.path).unwrap_or_default();
        known.retain(|entry| !now.contains(entry));
        known.extend(gone);
        if !known.is_empty() {
            all.insert(file.path.clone(), known);
        }
        Ok(())
    }

    fn conflict(
        &self,
        workspace: &Workspace,
        file: &SeenFile,
        write: &WriteStep,
        overlay: Digest,
        here: Digest,
        result: Digest,
    ) -> ConflictRecord {
        let base = file.base.map(|base| base.to_string()).unwrap_or_default();
        let path = &file.path;
        let id = Digest::of(format!("{}\0{path}\0{base}\0{overlay}\0{here}", workspace.id).as_bytes()).to_string();
        ConflictRecord {
            v: 1,
            id: id[..12].to_owned(),
            time: self.now.clone(),
            path: path.clone(),
            workspace: workspace.root.to_string_lossy().into_owned(),
            base: file.base,
            overlay,
            here,
            result,
            rule: write.did.to_string(),
            winner: match write.winner {
                Rule::Workspace | Rule::Person => "workspace".into(),
                Rule::Overlay => "overlay".into(),
            },
            state: "recorded".into(),
            places: write.conflicts.iter().map(|c| c.place.clone()).collect(),
        }
    }

    fn event(
        &self,
        workspace: &Workspace,
        path: &RelPath,
        rule: SyncRule,
        from: Option<Digest>,
        to: Option<Digest>,
    ) -> LogRecord {
        let workspace = workspace.root.to_string_lossy().into_owned();
        LogRecord { v: 1, time: self.now.clone(), workspace, path: path.clone(), rule, from, to, kept: 0 }
    }
}

/// This is what both sides hold from now on.
pub fn settle(workspace: &mut Workspace, path: &RelPath, base: BaseFile) {
    workspace.files.insert(path.clone(), base);
    workspace.deleted.remove(path);
    workspace.retired.remove(path);
    // A person's word is for one text; it has done its work.
    workspace.accepted.remove(path);
}

/// What is about to be done to a file, if anything is written.
fn doing(workspace: &Workspace, file: &SeenFile) -> Option<PlannedWrite> {
    let Step::Write(write) = &file.decision.step else { return None };
    let digest = |written: &Option<Vec<u8>>, stands: &Option<ReadFile>| match written {
        Some(bytes) => Some(Digest::of(bytes)),
        None => stands.as_ref().map(|file| file.sha256),
    };
    Some(PlannedWrite {
        v: 1,
        // What writes no workspace is about this one alone.
        workspace: (write.overlay.is_some() || write.here.is_none()).then_some(workspace.id),
        path: file.path.clone(),
        overlay: digest(&write.overlay, &file.overlay)?,
        here: digest(&write.here, &file.here)?,
        base: Digest::of(&write.base),
        writes_here: write.here.is_some(),
    })
}

/// Whatever was read can be had back, also when somebody overwrites it a moment later.
pub fn keep_read(ground: &impl Ground, seen: &[SeenFile]) -> Result<()> {
    for file in seen {
        let sides = [&file.here, &file.overlay].into_iter().flatten();
        // The base is kept since it was one.
        for side in sides.filter(|side| Some(side.sha256) != file.base) {
            ground.keep(&side.bytes)?;
        }
    }
    Ok(())
}

/// Tells what runs before have done from what somebody changed since: where a side holds what such a run
/// was writing, that is what both sides hold in common, though the manifest was not saved.
/// What concerns workspaces that are away is given back.
pub fn heal(ground: &impl Ground) -> Result<Vec<PlannedWrite>> {
    let announced = ground.announced()?;
    let mut left = Vec::new();
    for mut workspace in ground.workspaces()? {
        let before = workspace.clone();
        let id = workspace.id;
        let own = announced.iter().filter(|doing| doing.workspace.is_none_or(|of| of == id));
        let own: Vec<PlannedWrite> = own.map(|doing| PlannedWrite { workspace: Some(id), ..doing.clone() }).collect();
        // One that is away, or cannot be read, keeps nobody back; it is told apart once it is there.
        if heal_one(ground, &mut workspace, &own).is_err() {
            left.extend(own);
        } else if workspace != before {
            ground.save(&workspace)?;
        }
    }
    Ok(left)
}

fn heal_one(ground: &impl Ground, workspace: &mut Workspace, own: &[PlannedWrite]) -> Result<()> {
    if !ground.is_present(workspace)? {
        return Err(Failure::failed("it is not there"));
    }
    for doing in own {
        let path = &doing.path;
        let Ok(Some(here)) = ground.read(Side::Here(workspace), path)? else { continue };
        ground.keep(&here.bytes)?;
        // The overlay is written first: a workspace that was written held the same.
        let is_done = if doing.writes_here {
            here.sha256 == doing.here
        } else {
            ground.read(Side::Overlay, path)?.ok().flatten().is_some_and(|file| file.sha256 == doing.overlay)
        };
        if is_done {
            settle(workspace, path, BaseFile { sha256: doing.base, mode: here.mode });
        }
    }
    Ok(())
}

/// A new file gets the source's bits; one that is there keeps its own, less what others could do with it
/// that they cannot with the source. Never setuid, never wider.
fn narrowed(own: Option<u32>, source: Option<u32>) -> u32 {
    let source = source.unwrap_or(0o600) & 0o777;
    own.map_or(source, |own| own & 0o777 & (source | 0o700))
}

/// Gives a workspace the overlay's text instead of the one that waits, which is kept; `false` when it is
/// another by now.
pub fn reject(ground: &impl Ground, workspace: &mut Workspace, file: &SeenFile, text: &[u8]) -> Result<bool> {
    let (Some(here), Some(overlay)) = (&file.here, &file.overlay) else { return Ok(false) };
    ground.keep(&here.bytes)?;
    let mode = narrowed(Some(here.mode), Some(overlay.mode));
    if !ground.put(Side::Here(workspace), &file.path, Some(here.sha256), text, mode)? {
        return Ok(false);
    }
    let sha256 = ground.keep(&overlay.bytes)?;
    settle(workspace, &file.path, BaseFile { sha256, mode });
    workspace.held.remove(&file.path);
    Ok(true)
}

/// Replaces the overlay's text of a file by a person's wish; exit 1 when it changed meanwhile.
pub fn edit(ground: &impl Ground, path: &RelPath, file: &ReadFile, bytes: &[u8]) -> Result<()> {
    ground.keep(&file.bytes)?;
    ground.keep(bytes)?;
    if !ground.put(Side::Overlay, path, Some(file.sha256), bytes, file.mode)? {
        let changed = format!("{path} in the overlay was changed by somebody else just now");
        return Err(Failure::new(Exit::No, "changed", changed).hint("run the same command again"));
    }
    Ok(())
}

/// A person's word has done its work where its workspace was looked at; what comes later is another matter,
/// though it be the same text.
pub fn forget_accepted(ground: &impl Ground, path: &RelPath) -> Result<()> {
    for mut workspace in ground.workspaces()? {
        // Something else may wait there still, for which a second word is needed.
        let is_open = workspace.held.contains_key(path) || !ground.is_present(&workspace)?;
        if !is_open && workspace.accepted.remove(path).is_some() {
            ground.save(&workspace)?;
        }
    }
    Ok(())
}

/// Copies a file into the overlay, where nothing is yet; `false` when something is.
pub fn add(ground: &impl Ground, path: &RelPath, bytes: &[u8], mode: u32) -> Result<bool> {
    ground.keep(bytes)?;
    ground.put(Side::Overlay, path, None, bytes, mode)
}

/// Puts a text back into a workspace, what stands there being kept; `false` when that is no file, or changed.
pub fn put_back(ground: &impl Ground, workspace: &Workspace, path: &RelPath, bytes: &[u8]) -> Result<bool> {
    let Ok(here) = ground.read(Side::Here(workspace), path)? else { return Ok(false) };
    let (expected, mode) = match &here {
        Some(file) => (Some(ground.keep(&file.bytes)?), file.mode),
        None => (None, 0o600),
    };
    Ok(expected == Some(Digest::of(bytes)) || ground.put(Side::Here(workspace), path, expected, bytes, mode)?)
}

/// Writes a kept content to a file that is not there yet; `false` when something is.
pub fn restore(staging: &Path, root: &Root, path: &RelPath, bytes: &[u8]) -> Result<bool> {
    let staging = Staging::open(staging, root)?;
    staging.file(root, path, bytes, Some(0o600))?.place(root, path)
}
