//! Which files are left alone in a workspace because git tracks them or does not ignore them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::Found;
use shopfloor_core::git::{bare_by_mistake, common_dir_of, require_sound};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::proc;

use super::fingerprint::Fingerprint;
use super::overlay::Overlay;
use crate::storage::LeftAlone;
use crate::workspace::Workspace;

/// What git says of the overlay's files in the workspaces of a run.
pub struct GitAnswers<'a> {
    overlay: &'a Overlay,
    /// The workspaces that this run is about. git is asked about all of them at once.
    pub workspaces: Vec<Workspace>,
    answers: RefCell<HashMap<Digest, BTreeMap<RelPath, LeftAlone>>>,
    /// The workspaces in which git did not answer in time. It would not the next time either.
    silent: RefCell<HashMap<Digest, String>>,
}

impl<'a> GitAnswers<'a> {
    pub fn new(overlay: &'a Overlay) -> GitAnswers<'a> {
        GitAnswers { overlay, workspaces: Vec::new(), answers: RefCell::default(), silent: RefCell::default() }
    }

    /// Forgets what may have changed.
    pub fn forget(&self) {
        self.answers.borrow_mut().clear();
    }

    /// Which of these paths git shows or tracks in a workspace. `files` are those of the overlay. Where git has ignored
    /// all of them before, it is asked again only if its answer may be another now.
    pub fn left_alone(
        &self,
        fingerprint: &RefCell<Fingerprint<'_>>,
        workspace: &Workspace,
        paths: &BTreeSet<RelPath>,
        files: &BTreeSet<RelPath>,
    ) -> Result<BTreeMap<RelPath, LeftAlone>> {
        if let Some(why) = self.silent.borrow().get(&workspace.id) {
            return Err(Failure::failed(why.clone())
                .hint("look for pipes in the place of `.gitignore` and `.gitattributes` there"));
        }
        if !paths.is_subset(files) {
            return ask(self.overlay, workspace, paths).inspect_err(|failure| self.remember(workspace, failure));
        }
        if !self.answers.borrow().contains_key(&workspace.id) {
            self.ask_all(fingerprint, workspace, files)?;
        }
        let answers = self.answers.borrow();
        let left_alone = answers.get(&workspace.id).into_iter().flatten().filter(|(path, _)| paths.contains(*path));
        Ok(left_alone.map(|(path, why)| (path.clone(), why.clone())).collect())
    }

    fn remember(&self, workspace: &Workspace, failure: &Failure) {
        if failure.kind == "deadline" {
            self.silent.borrow_mut().insert(workspace.id, failure.to_string());
        }
    }

    /// Asks git about the overlay's files in a workspace, and in all others of the run: what is synced in one is mostly
    /// synced in the others too. Where git fails, only `first` is a failure now.
    fn ask_all(
        &self,
        fingerprint: &RefCell<Fingerprint<'_>>,
        first: &Workspace,
        files: &BTreeSet<RelPath>,
    ) -> Result<()> {
        let excludes = self.overlay.git.excludes_file(&self.overlay.repo)?;
        let excludes = excludes.as_deref();
        let is_unknown = |other: &&Workspace| other.id != first.id && !self.answers.borrow().contains_key(&other.id);
        let asked: Vec<&Workspace> = [first].into_iter().chain(self.workspaces.iter().filter(is_unknown)).collect();
        let answers = {
            let (fingerprint, overlay) = (&*fingerprint.borrow(), self.overlay);
            proc::map_parallel(&asked, |workspace| {
                let before = fingerprint.git(workspace, excludes, files);
                if fingerprint.knows_git(workspace, before) {
                    return Ok::<_, Failure>((BTreeMap::new(), before));
                }
                let left_alone = ask(overlay, workspace, files)?;
                // Computed again after git looked: a change in between must not count as known.
                let is_whole = left_alone.is_empty() && fingerprint.git(workspace, excludes, files) == before;
                Ok((left_alone, before.filter(|_| is_whole)))
            })
        };
        for (workspace, answer) in asked.into_iter().zip(answers) {
            match answer {
                Ok((left_alone, before)) => {
                    fingerprint.borrow_mut().set_git(workspace, before);
                    self.answers.borrow_mut().insert(workspace.id, left_alone);
                }
                Err(failure) => {
                    self.remember(workspace, &failure);
                    if workspace.id == first.id {
                        return Err(failure);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Asks git which of these paths it shows or tracks. Runs two processes at most, the second only when something is not
/// ignored.
fn ask(overlay: &Overlay, workspace: &Workspace, paths: &BTreeSet<RelPath>) -> Result<BTreeMap<RelPath, LeftAlone>> {
    let here = workspace.open()?;
    // git would wait for ever on a pipe there.
    require_sound(&workspace.git_dir)?;
    // git answers nothing about the others if one of them is behind a link.
    let is_reached = |path: &&RelPath| !matches!(here.look(path), Ok(Found::Blocked(_)) | Err(_));
    let asked: Vec<&RelPath> = paths.iter().filter(is_reached).collect();
    let list: Vec<PathBuf> = asked.iter().map(|path| path.as_path().to_path_buf()).collect();
    let ignored = overlay.git.ignored(&workspace.root, &list, None).map_err(|failure| {
        let bare = common_dir_of(&workspace.root).and_then(|common| bare_by_mistake(&common));
        // A warning about a workspace shows no hints.
        let named = bare.map(|bare| Failure::failed(format!("{}; {}", bare.message, bare.hints.join("; "))));
        named.filter(|_| failure.kind == "git").unwrap_or(failure)
    })?;
    let ignored: BTreeSet<PathBuf> = ignored.into_iter().collect();
    let shown: Vec<&RelPath> = asked.into_iter().filter(|path| !ignored.contains(path.as_path())).collect();
    if shown.is_empty() {
        return Ok(BTreeMap::new());
    }
    let literal = |path: &&RelPath| {
        let mut pathspec = OsString::from(":(literal)");
        pathspec.push(path.as_path());
        pathspec
    };
    let args: Vec<_> = std::iter::once("--".into()).chain(shown.iter().map(literal)).collect();
    let tracked: BTreeSet<PathBuf> = overlay.git.ls_files(&workspace.root, &args)?.into_iter().collect();
    let why = |path: &Path| if tracked.contains(path) { LeftAlone::Tracked } else { LeftAlone::NotIgnored };
    Ok(shown.into_iter().map(|path| (path.clone(), why(path.as_path()))).collect())
}
