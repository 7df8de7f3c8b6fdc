//! Which overlay a command is about, its settings, and its workspaces.

use std::path::{Path, PathBuf};

use indexmap::IndexSet;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::{self, Root};
use shopfloor_core::git::{Git, Repo, common_dir_of};
use shopfloor_core::lock::Lock;
use shopfloor_core::text::shell_word;
use shopfloor_core::ui::Ui;

use crate::failure;
use crate::include_patterns::{self, Declared};
use crate::settings::{OverlayFlags, Settings, load_config};
use crate::store::{OverlayStore, RESERVED};
use crate::tool::TOOL;
use crate::workspace::Workspace;

/// The overlay of the current repository.
#[derive(Clone, Debug)]
pub struct Overlay {
    pub env: Env,
    pub git: Git,
    pub repo: Repo,
    pub dir: PathBuf,
    pub store: OverlayStore,
    pub settings: Settings,
}

impl Overlay {
    /// Finds it; exit 2 when it belongs to another repository.
    pub fn find(ui: &Ui, env: &Env, flags: &OverlayFlags) -> Result<Overlay> {
        let (git, repo) = Git::here(env)?;
        Overlay::of(ui, env, flags, git, repo)
    }

    /// The same for a command that only looks; none, which is said, where no worktree is attached, no setting names an
    /// overlay and the usual place is the overlay of another repository, which has the same name.
    pub fn find_own(ui: &Ui, env: &Env, flags: &OverlayFlags) -> Result<Option<Overlay>> {
        let (git, repo) = Git::here(env)?;
        let is_named = load_config(env, &repo, flags)?.value("overlay").is_some();
        let is_unused = !is_named && Workspace::overlays_of(&repo.common_dir).next().is_none();
        match Overlay::of(ui, env, flags, git, repo) {
            Err(failure) if is_unused && failure::OTHER_REPOSITORY.is_kind_of(&failure) => {
                let hint = failure.hints.join("; ");
                ui.note(format!("this repository has no overlay, and its usual place is taken: {failure}; {hint}"));
                Ok(None)
            }
            found => found.map(Some),
        }
    }

    /// The same for a command that mostly finds nothing to do: git is asked only if its answer may have changed.
    pub fn find_again(ui: &Ui, env: &Env, flags: &OverlayFlags) -> Result<Overlay> {
        let mut git = Git::find(env)?;
        // A dry run leaves no file behind.
        let repo = if ui.is_dry() { git.discover()? } else { git.discover_again(&format!("{TOOL}/repository"))? };
        Overlay::of(ui, env, flags, git, repo)
    }

    /// The same in a repository that was found already.
    pub fn of(ui: &Ui, env: &Env, flags: &OverlayFlags, git: Git, repo: Repo) -> Result<Overlay> {
        let config = load_config(env, &repo, flags)?;
        config.all_warnings().iter().for_each(|warning| ui.warn(warning));
        // A directory has one spelling, even when a link leads to it.
        let dir = match config.value("overlay") {
            Some(value) => real(Path::new(&value.text)),
            None => real(&default_dir(env, &repo)?),
        };
        if config.value("overlay").is_some() {
            refuse_around(&git, &repo, &dir)?;
        }
        let settings = Settings::from_config(&config)?;
        let store = OverlayStore::in_overlay(&dir);
        fs::refuse_link(&dir.join(RESERVED))?;
        store.check_owner(&repo.home.common_dir)?;
        Ok(Overlay { env: env.clone(), git, repo, dir, store, settings })
    }

    /// The directories that a running watch polls.
    pub fn polled(&self) -> Result<Vec<PathBuf>> {
        let is_watched = Lock::is_held(&self.store.watch_lock_path())?;
        Ok(if is_watched { self.store.polled() } else { Vec::new() })
    }

    /// Exit 1 in a worktree that is attached to another overlay of this repository, where nobody has named one: an older
    /// version gave it another name while it did not know the main checkout of a separate git directory.
    pub fn refuse_other_name(&self) -> Result<()> {
        let Some(own) = Workspace::overlay_of(&self.repo.git_dir)?.filter(|own| *own != self.dir) else {
            return Ok(());
        };
        let is_usual = default_dir(&self.env, &self.repo).is_ok_and(|dir| real(&dir) == self.dir);
        // An agent may have written what the worktree says. What is in the user's data counts.
        let store = OverlayStore::in_overlay(&own);
        let is_ours = store.is_claimed() && store.check_owner(&self.repo.home.common_dir).is_ok();
        if !is_usual || own.parent() != self.dir.parent() || !is_ours {
            return Ok(());
        }
        let (root, own) = (self.repo.require_worktree()?, own.as_path());
        let what = format!("{} is attached to {}", root.display(), own.display());
        let (name, path) = (shell_word(own), shell_word(root));
        Err(failure::UNKNOWN.failure(format!("{what}, and the overlay here is {}", self.dir.display())).hint(format!(
            "use that one with `--overlay {name}`, or change to the one here: `overlay-sync --overlay {name} detach {path} && \
             overlay-sync -C {path} attach`"
        )))
    }

    /// Takes the lock under which everything in the overlay is read and written. Exit 1 when the overlay is gone,
    /// because taking the lock would create it.
    pub fn lock(&self) -> Result<Lock> {
        self.require()?;
        self.repo.remember_main_checkout(&self.env)?;
        Lock::take(&self.store.lock_path())
    }

    /// Whether the overlay has never existed.
    pub fn is_unmade(&self) -> bool {
        !self.dir.is_dir() && self.lost().is_none()
    }

    /// Exit 1 when the overlay does not exist, or existed and is an empty directory now (a disk that is not mounted,
    /// for example). That is an accident and must not delete every workspace's files.
    pub fn require(&self) -> Result<()> {
        match self.lost() {
            Some(lost) => Err(lost),
            None if self.dir.is_dir() => Ok(()),
            None => Err(Failure::not_found("there is no overlay yet").hint("`overlay-sync add FILE` makes one")),
        }
    }

    /// The failure if worktrees are attached to the overlay, and it or its state is gone, or it was the overlay of this
    /// repository when that had another name.
    fn lost(&self) -> Option<Failure> {
        if self.store.is_claimed() {
            return None;
        }
        if Workspace::overlays_of(&self.repo.common_dir).any(|named| named == self.dir) {
            return Some(self.gone(if self.dir.is_dir() { "has lost its state" } else { "is not there" }));
        }
        // An agent may have written what the worktrees say. What is in the user's data counts.
        let overlays = real(&self.env.data_home()?.join("overlays"));
        let mut own =
            Workspace::overlays_of(&self.repo.common_dir).filter(|dir| dir.parent() == Some(overlays.as_path()));
        let find = |dir: PathBuf| Some((OverlayStore::in_overlay(&dir).lost_owner()?, dir));
        let (owner, overlay) = own.find_map(find)?;
        let (overlay, owner) = (overlay.display(), owner.display());
        let message = format!("the overlay {overlay} belongs to {owner}, which is gone: was this repository renamed?");
        Some(failure::OTHER_REPOSITORY.with(Exit::No, message).hint(format!(
            "move it back to where its git directory is {owner}, and run `overlay-sync detach` before you rename it"
        )))
    }

    /// Creates the overlay if it has never existed, and locks it.
    pub fn create(&self) -> Result<Lock> {
        if let Some(lost) = self.lost() {
            return Err(lost.hint(
                "or start again: remove `shopfloor/overlay-sync` from the git directories of the repository's worktrees",
            ));
        }
        self.repo.remember_main_checkout(&self.env)?;
        fs::create_private_dir(&self.dir)?;
        let lock = Lock::take(&self.store.lock_path())?;
        self.store.claim(&self.repo.home.common_dir)?;
        Ok(lock)
    }

    /// The failure of every command that finds the overlay missing or emptied.
    pub fn gone(&self, what: &str) -> Failure {
        let message = format!("the overlay {} {what}; nothing was touched", self.dir.display());
        let hint = "put its files back, or name another overlay with `overlay-sync --overlay DIR`";
        let kind = if self.dir.is_dir() { failure::OVERLAY_EMPTIED } else { failure::OVERLAY_GONE };
        kind.failure(message).hint(hint)
    }

    /// The overlay's directory, opened; `None` when it does not exist.
    pub fn root(&self) -> Result<Option<Root>> {
        if self.dir.is_dir() { Root::open(&self.dir).map(Some) } else { Ok(None) }
    }

    /// The files that are declared by the settings and by the main checkout's `.worktreeinclude`.
    pub fn declared(&self) -> Result<Declared> {
        let file = self.repo.home.checkout.join(include_patterns::FILE);
        let include = if file.is_symlink() { None } else { fs::read(&file)? };
        Ok(Declared::parse(&self.settings, &include.unwrap_or_default()))
    }

    /// The attached workspaces that contain these paths, in the order of the paths; without a path all of them.
    pub fn workspaces(&self, paths: &[PathBuf]) -> Result<Vec<Workspace>> {
        let all = Workspace::load_all(&self.store.workspaces())?;
        if paths.is_empty() {
            return Ok(all);
        }
        paths.iter().map(|path| self.workspace_at(&all, path)).collect()
    }

    /// The one of these workspaces that contains a path; exit 1 if none does.
    pub fn workspace_at(&self, all: &[Workspace], path: &Path) -> Result<Workspace> {
        // That of another machine is no path here.
        if let Some(far) = all.iter().find(|workspace| workspace.far.is_some() && path.ends_with(&workspace.root)) {
            return Ok(far.clone());
        }
        let real = real(path);
        // A path that is not there is a slip of the fingers, unless it is where a workspace was.
        let is_there = path.symlink_metadata().is_ok();
        let contains = |root: &PathBuf| real == *root || is_there && real.starts_with(root) && is_of(root, &real);
        let around = all.iter().filter(|w| contains(&w.root));
        around.max_by_key(|w| w.root.components().count()).cloned().ok_or_else(|| {
            let is_ours = real.is_dir() && common_dir_of(&real).as_ref() == Some(&self.repo.common_dir);
            Failure::not_found(format!("{} is not attached", real.display())).hint(match is_ours {
                true => format!("run `overlay-sync attach {}`", shell_word(&real)),
                false => "`overlay-sync status` shows what is".to_owned(),
            })
        })
    }
}

/// A path with its links resolved, as far as it exists.
fn real(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
    let Some((part, real)) = found else { return path.to_path_buf() };
    match path.strip_prefix(part) {
        Ok(below) if !below.as_os_str().is_empty() => real.join(below),
        _ => real,
    }
}

/// Exit 2 for a directory that is a worktree of the repository, or has one or the git directory in it.
fn refuse_around(git: &Git, repo: &Repo, dir: &Path) -> Result<()> {
    let roots = git.worktrees(repo)?.into_iter().map(|(root, _)| root);
    match roots.chain([repo.home.common_dir.clone()]).find(|place| place.starts_with(dir)) {
        None => Ok(()),
        Some(place) => {
            let (dir, place) = (dir.display(), place.display());
            Err(Failure::usage(format!("the overlay cannot be {dir}: the files of {place} would be shared"))
                .hint("name a directory of its own with `--overlay DIR`; it is made if it does not exist"))
        }
    }
}

/// `$XDG_DATA_HOME/shopfloor/overlays/<name of the main checkout's directory>`.
fn default_dir(env: &Env, repo: &Repo) -> Result<PathBuf> {
    let data = env.data_home().ok_or_else(|| {
        Failure::usage("there is no place for an overlay: neither XDG_DATA_HOME nor HOME is set to an absolute path")
            .hint("name an overlay with `--overlay DIR`")
    })?;
    let name = repo.home.checkout.file_name().unwrap_or_default();
    Ok(data.join("overlays").join(name))
}

/// The worktrees that contain these paths, each with its private git directory. Runs two git processes, however many
/// paths there are. Exit 2 for a path that is in no worktree of this repository.
pub fn worktrees_at(overlay: &Overlay, paths: &[PathBuf]) -> Result<Vec<(PathBuf, PathBuf)>> {
    let all = overlay.git.worktrees(&overlay.repo)?;
    let all: Vec<_> = all.into_iter().filter_map(|(root, git)| Some((root.canonicalize().ok()?, git))).collect();
    let find = |path: &PathBuf| {
        let real = real(path);
        // Worktrees may be nested: the innermost counts.
        let around = all.iter().filter(|(root, _)| real.starts_with(root));
        match around.max_by_key(|(root, _)| root.components().count()) {
            Some((root, git_dir)) if real.is_dir() && is_of(root, &real) => Ok((root.clone(), git_dir.clone())),
            _ => worktree_at(overlay, path),
        }
    };
    let found = paths.iter().map(find).collect::<Result<IndexSet<_>>>()?;
    Ok(found.into_iter().collect())
}

/// Exit 2 for a worktree whose path no manifest can name, or in which no command runs.
pub fn require_nameable(worktrees: &[(PathBuf, PathBuf)]) -> Result<()> {
    let why = |path: &Path| match path.to_str() {
        None => Some("is not UTF-8"),
        Some(path) => path.contains('\n').then_some("contains a newline"),
    };
    let mut paths = worktrees.iter().flat_map(|(root, git_dir)| [root, git_dir]);
    match paths.find_map(|path| Some((path, why(path)?))) {
        None => Ok(()),
        Some((path, why)) => Err(Failure::usage(format!("{} cannot be attached: its path {why}", path.display()))
            .hint("give it another path with `git worktree move`, or leave it out")),
    }
}

/// Whether there is no other repository between a worktree's root and a path in it.
fn is_of(root: &Path, path: &Path) -> bool {
    path.ancestors().take_while(|dir| *dir != root).all(|dir| !dir.join(".git").exists())
}

/// The same for one path, with git's help: a worker's clone, a repository inside another one, or an error.
fn worktree_at(overlay: &Overlay, path: &Path) -> Result<(PathBuf, PathBuf)> {
    let list = "`git worktree list` shows the worktrees";
    if !path.is_dir() {
        return Err(Failure::not_found(format!("there is no directory {}", path.display())).hint(list));
    }
    let path = real(path);
    let there = overlay.env.at(&path)?;
    let repo = Git::find(&there)?.discover().map_err(|failure| {
        // A repository that was made there would be another one.
        let is_outside = !path.ancestors().any(|dir| dir.join(".git").symlink_metadata().is_ok());
        if is_outside { Failure { hints: vec![list.to_owned()], ..failure } } else { failure }
    })?;
    let root = repo.require_worktree()?.to_path_buf();
    if repo.home.common_dir != overlay.repo.home.common_dir {
        return Err(failure::OTHER_REPOSITORY
            .failure(format!("{} belongs to another repository", root.display()))
            .hint(format!("run the command there, or with `-C {}`", shell_word(&root))));
    }
    Ok((root, repo.git_dir))
}
