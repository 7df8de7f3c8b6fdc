//! Which files are left alone in a workspace because git tracks them or does not ignore them.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs::{self, Root};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::proc;

use crate::facts::overlay::Overlay;
use crate::facts::twins;
use crate::ground::{Bar, Lookup, ReadFile};
use crate::manifest::Workspace;
use crate::quiet::{self, QuietCache};

/// What git was asked about in a workspace, and its answer.
struct GitAnswer {
    asked: BTreeSet<RelPath>,
    barred: BTreeMap<RelPath, Bar>,
    /// The fingerprints of the files that are not barred, as far as they are known.
    open: BTreeMap<RelPath, u64>,
}

/// What git says in one run, asked as seldom as possible.
pub struct GitBars<'a> {
    env: &'a Env,
    overlay: &'a Overlay,
    /// git's file of patterns for all worktrees.
    excludes: OnceCell<Option<PathBuf>>,
    /// The fingerprint of what holds in all worktrees of a repository, by its common directory.
    everywhere: RefCell<HashMap<PathBuf, Option<u64>>>,
    /// What git answered about new workspaces.
    first_answers: RefCell<HashMap<Digest, GitAnswer>>,
}

impl<'a> GitBars<'a> {
    pub fn new(env: &'a Env, overlay: &'a Overlay) -> GitBars<'a> {
        let (everywhere, first_answers) = Default::default();
        GitBars { env, overlay, excludes: OnceCell::new(), everywhere, first_answers }
    }

    fn excludes(&self) -> Result<Option<&Path>> {
        if self.excludes.get().is_none() {
            let file = self.overlay.git.excludes_file(&self.overlay.repo)?;
            self.excludes.get_or_init(|| file);
        }
        Ok(self.excludes.get().and_then(Option::as_deref))
    }

    /// Forgets what may have changed while another program ran.
    pub fn forget(&self) {
        self.everywhere.borrow_mut().clear();
    }

    /// Asks git at once about all new workspaces, each of which gets all these files.
    pub fn ask_about_new(&self, workspaces: &[&Workspace], files: &BTreeSet<RelPath>) {
        if !workspaces.is_empty() {
            let excludes = self.excludes().ok().flatten();
            *self.first_answers.borrow_mut() = first_answers(self.env, self.overlay, excludes, workspaces, files);
        }
    }

    /// Which of these paths git shows or tracks in a workspace.
    pub fn barred(
        &self,
        quiet: &RefCell<QuietCache>,
        workspace: &Workspace,
        paths: &BTreeSet<RelPath>,
    ) -> Result<BTreeMap<RelPath, Bar>> {
        if paths.is_empty() {
            return Ok(BTreeMap::new());
        }
        if let Some(answer) = self.first_answers.borrow_mut().remove(&workspace.id)
            && paths.is_subset(&answer.asked)
        {
            quiet.borrow_mut().set_git(&workspace.id, &answer.open);
            return Ok(answer.barred.into_iter().filter(|(path, _)| paths.contains(path)).collect());
        }
        let excludes = self.excludes()?;
        let common_dir = workspace.common_dir_like(&self.overlay.repo.common_dir);
        // This fingerprint can be used for the whole run: if something changes, the old fingerprint does not match the
        // new one.
        let everywhere = *(self.everywhere.borrow_mut().entry(common_dir))
            .or_insert_with_key(|common_dir| quiet::git_everywhere(self.env, common_dir, excludes));
        let prints = git_prints(self.env, everywhere, workspace, paths);
        let asked: BTreeSet<RelPath> = {
            let quiet = quiet.borrow();
            let known = quiet.files(&workspace.id);
            let is_known = |path: &RelPath| {
                prints.get(path).is_some_and(|print| known.is_some_and(|known| known.git_is(path, *print)))
            };
            paths.iter().filter(|path| !is_known(path)).cloned().collect()
        };
        if asked.is_empty() {
            return Ok(BTreeMap::new());
        }
        let answer = ask_git(self.env, self.overlay, excludes, workspace, asked)?;
        quiet.borrow_mut().set_git(&workspace.id, &answer.open);
        Ok(answer.barred)
    }
}

/// A workspace, and the files about which git is to be asked there.
type Asked<'w> = (&'w Workspace, BTreeSet<RelPath>);

/// git's answers about the overlay's files in workspaces that have none of them yet, where git can be asked now. Files
/// below a link are left out. Workspaces in which the same patterns hold, and that track none of the files, get the
/// answer of the first of them.
fn first_answers(
    env: &Env,
    overlay: &Overlay,
    excludes: Option<&Path>,
    workspaces: &[&Workspace],
    files: &BTreeSet<RelPath>,
) -> HashMap<Digest, GitAnswer> {
    let config = twins::config(env, &overlay.repo.common_dir);
    let looked = proc::map_parallel(workspaces, |workspace| {
        let here = Root::open(&workspace.root).ok()?;
        let is_reached = |path: &&RelPath| !matches!(here.look(path), Ok(fs::Found::Blocked(_)) | Err(_));
        let asked: BTreeSet<RelPath> = files.iter().filter(is_reached).cloned().collect();
        let print = config.and_then(|config| twins::print(config, workspace, &asked));
        Some((*workspace, asked, print))
    });
    let mut groups: BTreeMap<(u64, Option<Digest>), Vec<Asked<'_>>> = BTreeMap::new();
    for (workspace, asked, print) in looked.into_iter().flatten() {
        let alone = print.is_none().then_some(workspace.id);
        groups.entry((print.unwrap_or_default(), alone)).or_default().push((workspace, asked));
    }
    let groups: Vec<_> = groups.into_values().collect();
    let answers = proc::map_parallel(&groups, |twins| {
        let ((first, asked), others) = twins.split_first()?;
        let everywhere = git_everywhere(env, overlay, excludes, first);
        let answer = ask_git(env, overlay, excludes, first, asked.clone()).ok()?;
        let of_other = |(other, asked): &Asked<'_>| {
            let mut open = git_prints(env, everywhere, other, asked);
            open.retain(|path, _| !answer.barred.contains_key(path));
            (other.id, GitAnswer { asked: asked.clone(), barred: answer.barred.clone(), open })
        };
        let others: Vec<_> = others.iter().map(of_other).collect();
        Some(others.into_iter().chain([(first.id, answer)]).collect::<Vec<_>>())
    });
    answers.into_iter().flatten().flatten().collect()
}

/// The fingerprint of what makes git ignore files in this workspace and in all others of its repository.
fn git_everywhere(env: &Env, overlay: &Overlay, excludes: Option<&Path>, workspace: &Workspace) -> Option<u64> {
    quiet::git_everywhere(env, &workspace.common_dir_like(&overlay.repo.common_dir), excludes)
}

/// The fingerprints of what makes git ignore or track these paths, where they can be computed.
fn git_prints(
    env: &Env,
    everywhere: Option<u64>,
    workspace: &Workspace,
    paths: &BTreeSet<RelPath>,
) -> BTreeMap<RelPath, u64> {
    let Some(here) = everywhere.and_then(|everywhere| quiet::git_here(env, everywhere, &workspace.git_dir)) else {
        return BTreeMap::new();
    };
    let mut dirs: HashMap<&Path, Option<u64>> = HashMap::new();
    let mut prints = BTreeMap::new();
    for path in paths {
        let dir = path.dir().unwrap_or(Path::new(""));
        let print = *dirs.entry(dir).or_insert_with(|| quiet::git_dir(env, here, &workspace.root, dir));
        prints.extend(print.map(|print| (path.clone(), print)));
    }
    prints
}

/// Asks git about these paths. Runs two processes at most, the second only when something is not ignored.
fn ask_git(
    env: &Env,
    overlay: &Overlay,
    excludes: Option<&Path>,
    workspace: &Workspace,
    asked: BTreeSet<RelPath>,
) -> Result<GitAnswer> {
    let prints = || git_prints(env, git_everywhere(env, overlay, excludes, workspace), workspace, &asked);
    let before = prints();
    let list: Vec<PathBuf> = asked.iter().map(|path| path.as_path().to_path_buf()).collect();
    let ignored: BTreeSet<PathBuf> = overlay.git.ignored(&workspace.root, &list, None)?.into_iter().collect();
    let seen: Vec<&RelPath> = asked.iter().filter(|path| !ignored.contains(path.as_path())).collect();
    let mut barred = BTreeMap::new();
    if !seen.is_empty() {
        let literal = |path: &&RelPath| {
            let mut pathspec = std::ffi::OsString::from(":(literal)");
            pathspec.push(path.as_path());
            pathspec
        };
        let args: Vec<_> = std::iter::once("--".into()).chain(seen.iter().map(literal)).collect();
        let tracked: BTreeSet<PathBuf> = overlay.git.ls_files(&workspace.root, &args)?.into_iter().collect();
        let bar = |path: &RelPath| if tracked.contains(path.as_path()) { Bar::Tracked } else { Bar::NotIgnored };
        barred = seen.into_iter().map(|path| (path.clone(), bar(path))).collect();
    }
    // Computed again after git looked: a change in between must not count as known.
    let mut open = prints();
    open.retain(|path, print| before.get(path) == Some(print) && !barred.contains_key(path));
    Ok(GitAnswer { asked, barred, open })
}

/// Reads a file below `root`, or says why it is left alone.
pub fn read_at(root: &Root, path: &RelPath, overlay: &Path) -> Result<Lookup> {
    use shopfloor_core::fs::Found as Is;
    let read = match root.read_whole(path) {
        Ok(Some((bytes, mode))) => return Ok(Ok(Some(ReadFile::new(bytes, mode)))),
        read => read,
    };
    let looked = match root.look(path) {
        Ok(looked) => looked,
        Err(failure) => return Ok(Err(Bar::Unreadable(failure.to_string()))),
    };
    Ok(match looked {
        Is::Missing => Ok(None),
        // It may have come just now.
        Is::File(_) => match read.and_then(|_| root.read_whole(path)) {
            Ok(read) => Ok(read.map(|(bytes, mode)| ReadFile::new(bytes, mode))),
            Err(failure) => Err(Bar::Unreadable(failure.to_string())),
        },
        Is::Link(target) if points_to(root.path(), path, &target, overlay) => Err(Bar::Alias),
        Is::Link(_) => Err(Bar::Strange("it is a link, which is not followed".into())),
        Is::Blocked(at) => Err(Bar::Strange(format!("{at} is a link or not a directory"))),
        Is::Dir | Is::Special => Err(Bar::Strange("it is not a regular file".into())),
    })
}

/// Whether a link in `root` leads to the overlay's file of the same path.
fn points_to(root: &Path, path: &RelPath, target: &Path, overlay: &Path) -> bool {
    let link = root.join(path.as_path());
    let resolved = link.parent().unwrap_or(root).join(target).canonicalize();
    resolved.is_ok_and(|real| overlay.join(path.as_path()).canonicalize().is_ok_and(|own| own == real))
}
