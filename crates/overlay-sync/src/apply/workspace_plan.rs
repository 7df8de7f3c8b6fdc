//! Looks at a workspace: reads its files, decides about each, and asks git only about those that would be touched.

use std::collections::{BTreeMap, BTreeSet};

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::facts::file_view::{self, Scope, SeenFile};
use crate::far::LARGEST;
use crate::merge::FileType;
use crate::plan::{Decision, FileView, QuestionId, Step, decide};
use crate::settings::Settings;
use crate::storage::{Ground, LeftAlone};
use crate::store::{RemovedEntries, WriteIntent};
use crate::sync_action::SyncRule;
use crate::workspace::Workspace;

/// What a run knows besides the two sides, for all its workspaces.
#[derive(Debug, Default)]
pub struct RunContext {
    /// The overlay's files, with the reason why one is left alone.
    pub overlay: BTreeMap<RelPath, Option<LeftAlone>>,
    pub intents: BTreeMap<(Digest, RelPath), (WriteIntent, Vec<u8>)>,
    pub removed: RemovedEntries,
    /// Texts of the overlay that this run wrote because a person accepted them in a workspace.
    pub accepted: BTreeMap<RelPath, BTreeSet<Digest>>,
    /// The questions that the merge command has answered in vain.
    pub refused: BTreeSet<QuestionId>,
}

impl RunContext {
    pub fn read(ground: &impl Ground) -> Result<RunContext> {
        let (overlay, removed) = (ground.overlay()?, ground.removed()?);
        let mut context = RunContext { overlay, removed, ..RunContext::default() };
        for intent in ground.intents()? {
            // Without its result an intent cannot be resumed.
            if let Some(result) = ground.content(&intent.result)? {
                context.intents.insert((intent.workspace, intent.path.clone()), (intent, result));
            }
        }
        Ok(context)
    }

    fn decide(&self, workspace: &Workspace, seen: &SeenFile, is_declared: bool) -> Decision {
        if seen.left_alone.is_some() {
            return Decision::nothing();
        }
        let path = &seen.path;
        let accepted = [workspace.accepted.get(path), self.accepted.get(path)];
        let intent = self.intents.get(&(workspace.id, path.clone()));
        let is_kept_out = self.removed.files.contains(path) || is_rejected(workspace, seen);
        decide(&FileView {
            base: seen.base.map(|digest| (digest, seen.base_bytes.as_deref())),
            overlay: seen.overlay.as_ref().map(|file| &*file.bytes),
            here: seen.here.as_ref().map(|file| &*file.bytes),
            accepted: &accepted.into_iter().flatten().flatten().copied().collect(),
            deleted: workspace.deleted.get(path).copied(),
            kind: FileType::from_path(path.as_path()),
            policy: &seen.policy,
            arrivals: &seen.arrivals,
            is_whole: true,
            removed: self.removed.entries.get(path).unwrap_or(&BTreeSet::new()),
            is_declared: is_declared && !is_kept_out,
            is_retired: workspace.retired.contains_key(path),
            command: seen.may_ask.then_some(&self.refused),
            intent: intent.map(|(intent, result)| (intent, result.as_slice())),
        })
    }
}

/// Whether a person has rejected this text of a file that is new.
pub fn is_rejected(workspace: &Workspace, seen: &SeenFile) -> bool {
    let here = seen.here.as_ref().map(|here| &here.sha256);
    here.is_some() && workspace.rejected.get(&seen.path) == here
}

/// A file and what is to be done about it.
#[derive(Clone, Debug)]
pub struct PlannedFile {
    pub seen: SeenFile,
    pub decision: Decision,
}

impl PlannedFile {
    /// Whether the workspace does not have it.
    pub fn is_gone(&self) -> bool {
        self.seen.left_alone.is_none() && self.seen.here.is_none()
    }

    /// Whether the workspace has not edited it and gets the overlay's text.
    pub fn is_pull(&self) -> bool {
        let Decision { step, part } = &self.decision;
        part.is_none() && matches!(step, Step::Write(write) if write.rule == SyncRule::Pull)
    }
}

/// Looks at the files of a workspace and decides about each.
pub fn plan_files(
    ground: &impl Ground,
    settings: &Settings,
    context: &RunContext,
    workspace: &Workspace,
    scope: Scope<'_>,
) -> Result<Vec<PlannedFile>> {
    let declared = ground.declared(workspace)?.files;
    let mut files = Vec::new();
    for path in file_view::paths(ground, &context.overlay, workspace, &declared, scope)? {
        let stays = |mode| workspace.far.as_ref().is_some_and(|far| !settings.travels(&path, mode, far.takes_private));
        if stays(None) {
            continue;
        }
        let left_alone = context.overlay.get(&path).cloned().flatten();
        let mut seen = file_view::read(ground, settings, workspace, &path, left_alone)?;
        if stays(seen.overlay.as_ref().map(|file| file.mode)) {
            continue;
        }
        if workspace.far.is_some() && seen.overlay.as_ref().is_some_and(|file| file.bytes.len() as u64 > LARGEST) {
            let why = format!("it has more than {} MB here, which does not travel", LARGEST >> 20);
            seen.left_alone = Some(LeftAlone::Strange(why));
        }
        let decision = context.decide(workspace, &seen, declared.contains(&path));
        let is_on_both_sides = seen.overlay.is_some() && seen.here.is_some();
        if decision.step == Step::Nothing && is_on_both_sides && workspace.files.contains_key(&path) {
            ground.note_in_step(workspace, &path);
        }
        files.push(PlannedFile { seen, decision });
    }
    let is_all = matches!(scope, Scope::All);
    let is_touched =
        |file: &&PlannedFile| file.seen.left_alone.is_none() && (is_all || file.decision != Decision::nothing());
    let touched: BTreeSet<RelPath> = files.iter().filter(is_touched).map(|file| file.seen.path.clone()).collect();
    let mut left_alone = ground.left_alone(workspace, &touched)?;
    for file in &mut files {
        if let Some(why) = left_alone.remove(&file.seen.path) {
            file.seen.left_alone = Some(why);
            file.decision = Decision::nothing();
        }
    }
    Ok(files)
}

/// Whether all files of a workspace are gone at once. That is a clean-up, and no decision about each file.
pub fn is_emptied(workspace: &Workspace, files: &[PlannedFile]) -> bool {
    let known = || files.iter().filter(|file| workspace.files.contains_key(&file.seen.path));
    let gone = known().filter(|file| file.is_gone()).count();
    let left_alone = known().filter(|file| file.seen.left_alone.is_some()).count();
    let is_back = |file: &PlannedFile| file.seen.here.is_some() && workspace.deleted.contains_key(&file.seen.path);
    workspace.files.len() >= 2 && gone >= 1 && gone + left_alone == workspace.files.len() && !files.iter().any(is_back)
}
