//! Texts that were written from an old view: what arrived is remembered, and the difference waits for a person.

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use super::converge::SyncRun;
use super::user_edits;
use crate::facts::file_view::SeenFile;
use crate::merge::{FileType, MergeInput, Rule, merge};
use crate::plan::WriteStep;
use crate::storage::{Ground, Side};
use crate::workspace::{HeldText, Workspace};

impl<G: Ground> SyncRun<'_, G> {
    /// Records what a text shows of an old view, before the text is replaced: after a kill nobody could tell it any
    /// more. A later text that knows everything closes the part.
    pub fn record_stale(&mut self, workspace: &mut Workspace, seen: &SeenFile, write: &WriteStep) -> Result<()> {
        let path = &seen.path;
        let Some(stale) = &write.stale else {
            if seen.here.as_ref().is_some_and(|here| Some(here.sha256) != seen.base) {
                workspace.stale.remove(path);
            }
            return Ok(());
        };
        let places: Vec<String> = stale.places.iter().map(ToString::to_string).collect();
        let [here, overlay] = [self.ground.keep(&stale.here)?, self.ground.keep(&stale.fresh)?].map(Some);
        let mut contents: Vec<String> = stale.places.iter().map(|at| format!("{:?} {}", at.view, at.content)).collect();
        contents.sort_unstable();
        let text = Digest::of(contents.join("\n").as_bytes());
        let known = workspace.stale.get(path).filter(|known| known.text == text);
        let (is_new, since) = (known.is_none(), known.map_or(self.now, |known| &known.since).to_owned());
        let part = HeldText { why: String::new(), text, since, part: false, here, overlay, places };
        if is_new {
            self.outcome.notes.push(format!(
                "{}: {path} was written from an old view: it {}; what arrived stays, and `overlay-sync accept {}` lets the difference through",
                workspace.root.display(),
                part.places.join(", "),
                part.id(path)
            ));
        }
        if workspace.stale.get(path) != Some(&part) {
            workspace.stale.insert(path.clone(), part);
            self.ground.save(workspace)?;
        }
        Ok(())
    }

    /// Remembers what a pass has written in place of another text, and closes a part that the new text makes pointless.
    pub fn settle_stale(&self, workspace: &mut Workspace, seen: &SeenFile, write: &WriteStep) -> Result<()> {
        let path = &seen.path;
        let Some(after) = &write.here else { return Ok(()) };
        // What the text only gets back has arrived before. A file that was gone is filled again in place of the text
        // that was there last: a program that saves by removing and creating still writes from that.
        let own = write.own.as_deref().map(Digest::of);
        let Some(before) = own.or(seen.here.as_ref().map(|here| here.sha256)).or(seen.base) else { return Ok(()) };
        if before != Digest::of(after) {
            if let Some(own) = &write.own {
                self.ground.keep(own)?;
            }
            workspace.note_arrival(path, self.now, before, Digest::of(after));
        }
        if write.stale.is_none()
            && let Some(part) = workspace.stale.get(path)
            && applied(self.ground, path, part, after)?.is_none_or(|bytes| bytes == *after)
        {
            workspace.stale.remove(path);
        }
        Ok(())
    }
}

/// The overlay's text with a part let through; `None` when the store has lost the texts of the part.
fn applied(ground: &impl Ground, path: &RelPath, part: &HeldText, overlay: &[u8]) -> Result<Option<Vec<u8>>> {
    let content = |digest: Option<Digest>| digest.map_or(Ok(None), |digest| ground.content(&digest));
    let (Some(fresh), Some(here)) = (content(part.overlay)?, content(part.here)?) else {
        return Ok(None);
    };
    let kind = FileType::from_path(path.as_path());
    let input = MergeInput { base: Some(&fresh), overlay, workspace: &here, kind, rule: Rule::Person };
    Ok(Some(merge(&input).bytes))
}

/// Lets a part through: the overlay changes as the stale text would have changed it, and no gate holds that.
pub fn accept(ground: &impl Ground, workspaces: &mut [Workspace], path: &RelPath, part: &HeldText) -> Result<()> {
    if let Ok(Some(file)) = ground.read(Side::Overlay, path)?
        && let Some(bytes) = applied(ground, path, part, &file.bytes)?
        && bytes != *file.bytes
    {
        user_edits::edit(ground, path, &file, &bytes)?;
        user_edits::accept_in_all(ground, workspaces, path, Digest::of(&bytes))?;
    }
    close(ground, workspaces, path, &part.id(path))
}

/// Forgets a part in every workspace that has it.
pub fn close(ground: &impl Ground, workspaces: &mut [Workspace], path: &RelPath, id: &str) -> Result<()> {
    for workspace in workspaces {
        if workspace.stale.get(path).is_some_and(|part| part.id(path) == id) {
            workspace.stale.remove(path);
            ground.save(workspace)?;
        }
    }
    Ok(())
}
