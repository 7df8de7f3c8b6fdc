//! Everything a pass rests on: which overlay, which workspaces, and what lies at each path.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use shopfloor_core::config::{self, Config, Setting};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::{Found, Listing, Root};
use shopfloor_core::git::{Git, Repo};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::ui::Ui;

use crate::TOOL;
use crate::cli::{Place, Side, Workspaces};
use crate::manifest::Workspace;
use crate::merge::{Kind, Rule};
use crate::plan::{Look, Step, decide};
use crate::store::{RESERVED, Store};

/// The settings of this tool.
pub const SETTINGS: &[Setting] = &[
    Setting::new("overlay", "OVERLAY_SYNC_OVERLAY", config::Kind::Path),
    Setting::new("enabled", "OVERLAY_SYNC_ENABLED", config::Kind::Truth),
    Setting::new("debounce_ms", "OVERLAY_SYNC_DEBOUNCE_MS", config::Kind::Number),
    Setting::new("max_wait_ms", "OVERLAY_SYNC_MAX_WAIT_MS", config::Kind::Number),
    Setting::new("on_conflict", "OVERLAY_SYNC_ON_CONFLICT", config::Kind::Text),
];

/// The overlay of the repository we stand in.
pub struct Overlay {
    pub git: Git,
    pub repo: Repo,
    pub dir: PathBuf,
    pub store: Store,
    pub rule: Rule,
    /// False: the hook and `watch` do nothing.
    pub enabled: bool,
    /// How long it must be quiet before `watch` syncs, and how long it waits for that at most.
    pub debounce: Duration,
    pub max_wait: Duration,
}

/// The settings in force.
pub fn load_config(env: &Env, repo: &Repo, place: &Place) -> Result<Config> {
    let side = place.on_conflict.map(|side| match side {
        Side::Workspace => Path::new("workspace"),
        Side::Overlay => Path::new("overlay"),
    });
    let flags = [
        ("overlay", place.overlay.as_deref()),
        ("on_conflict", side),
        ("debounce_ms", place.debounce_ms.as_deref().map(Path::new)),
        ("max_wait_ms", place.max_wait_ms.as_deref().map(Path::new)),
    ];
    config::load(env, &repo.home, TOOL, SETTINGS, &flags, false)
}

impl Overlay {
    /// Finds it; exit 2 when it belongs to another repository.
    pub fn find(ui: &Ui, env: &Env, place: &Place) -> Result<Overlay> {
        Overlay::of(ui, env, place, Git::find(env)?)
    }

    /// The same with a git that was found already.
    pub fn of(ui: &Ui, env: &Env, place: &Place, mut git: Git) -> Result<Overlay> {
        let repo = git.discover()?;
        let config = load_config(env, &repo, place)?;
        config.warnings.iter().for_each(|warning| ui.warn(warning));
        if config.unapproved {
            ui.warn(format!("{} names an overlay and is not approved, so that is left out", config::REPOSITORY_FILE));
        }
        let dir = match config.value("overlay") {
            Some(value) => PathBuf::from(&value.text),
            None => default_dir(env, &repo)?,
        };
        let rule = match config.value("on_conflict").map(|v| v.text.as_str()) {
            None | Some("workspace") => Rule::Workspace,
            Some("overlay") => Rule::Overlay,
            Some(other) => {
                return Err(Failure::malformed(format!("on_conflict cannot be `{other}`"))
                    .hint("it is `workspace` or `overlay`"));
            }
        };
        let store = Store::of(&dir);
        store.check_owner(&repo.home.common_dir)?;
        let millis = |name, default| Duration::from_millis(config.number(name, default));
        let (debounce, max_wait) = (millis("debounce_ms", 2_000), millis("max_wait_ms", 10_000));
        let enabled = config.truth("enabled", true);
        Ok(Overlay { git, repo, dir, store, rule, enabled, debounce, max_wait })
    }

    /// The overlay's directory, opened; none when it is not there.
    pub fn root(&self) -> Result<Option<Root>> {
        if self.dir.is_dir() { Root::open(&self.dir).map(Some) } else { Ok(None) }
    }

    /// The attached workspaces; of those, the ones named (all, without a name).
    pub fn workspaces(&self, ui: &Ui, env: &Env, named: &Workspaces) -> Result<Vec<Workspace>> {
        let all = Workspace::load_all(&self.store.workspaces())?;
        let paths = paths(ui, env, named)?;
        if paths.is_empty() {
            return Ok(all);
        }
        let find = |path: &PathBuf| {
            let real = path.canonicalize().unwrap_or_else(|_| path.clone());
            all.iter().find(|w| w.root == real).cloned().ok_or_else(|| {
                Failure::not_found(format!("{} is not attached", path.display()))
                    .hint("run `overlay-sync attach` for it")
            })
        };
        paths.iter().map(find).collect()
    }
}

/// `$XDG_DATA_HOME/shopfloor/overlays/<name of the main checkout's directory>`.
fn default_dir(env: &Env, repo: &Repo) -> Result<PathBuf> {
    let data = env.data_home().ok_or_else(|| {
        Failure::usage("there is no place for an overlay: neither XDG_DATA_HOME nor HOME is set")
            .hint("name one with `--overlay DIR`")
    })?;
    let name = repo.home.checkout.file_name().unwrap_or_default();
    Ok(data.join("overlays").join(name))
}

/// The paths named, those on stdin (`-`) included, absolute.
pub fn paths(ui: &Ui, env: &Env, named: &Workspaces) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for path in &named.paths {
        if path.as_os_str() != "-" {
            paths.push(env.cwd.join(path));
            continue;
        }
        let end = if named.nul { 0 } else { b'\n' };
        let input = ui.input()?;
        let listed = input.split(|b| *b == end).filter(|p| !p.is_empty());
        paths.extend(listed.map(|p| env.cwd.join(OsString::from_vec(p.to_vec()))));
    }
    Ok(paths)
}

/// The worktree a path lies in, if it is one of this repository.
pub fn worktree_at(env: &Env, overlay: &Overlay, path: &Path) -> Result<(PathBuf, PathBuf)> {
    let there = env.at(path)?;
    let repo = Git::find(&there)?.discover()?;
    let root = repo.require_worktree()?.to_path_buf();
    if repo.home.common_dir != overlay.repo.home.common_dir {
        return Err(Failure::new(
            Exit::Bad,
            "other_repository",
            format!("{} belongs to another repository", root.display()),
        )
        .hint(format!("run the command there, or with `-C {}`", root.display())));
    }
    Ok((root, repo.git_dir))
}

/// One file of one workspace as a pass sees it.
pub struct Seen {
    pub path: RelPath,
    pub base: Option<Digest>,
    pub overlay: Option<(Vec<u8>, u32)>,
    pub here: Option<(Vec<u8>, u32)>,
    pub step: Step,
    /// Why nothing may be done here, whatever the step.
    pub barred: Option<Bar>,
}

/// Why a path is left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bar {
    /// git would show it as untracked.
    NotIgnored,
    /// git tracks it.
    Tracked,
    /// A link, a directory, something unreadable: why.
    Strange(String),
}

/// Looks at every managed file of a workspace and decides about each. One `git check-ignore`.
pub fn look(overlay: &Overlay, overlay_root: &Root, workspace: &Workspace) -> Result<Vec<Seen>> {
    let Listing { files, odd } = overlay_root.files(&[RESERVED])?;
    let here = Root::open(&workspace.root)?;
    let known = workspace.files.keys().chain(workspace.deleted.keys()).chain(workspace.held.keys());
    let managed = files.iter().chain(known);
    let mut all: BTreeMap<RelPath, Option<Bar>> = managed.map(|path| (path.clone(), None)).collect();
    for (path, why) in odd {
        if let Ok(path) = RelPath::parse_os(path.as_os_str()) {
            all.insert(path, Some(Bar::Strange(format!("in the overlay {why}"))));
        }
    }
    for (path, bar) in &mut all {
        if bar.is_none() {
            *bar = match here.look(path)? {
                Found::Missing | Found::File(_) => None,
                Found::Link(target) if points_to(&workspace.root, path, &target, &overlay.dir) => {
                    Some(Bar::Strange("it is a link to the overlay's own file".into()))
                }
                Found::Link(_) => Some(Bar::Strange("it is a link, which is not followed".into())),
                Found::Blocked(at) => Some(Bar::Strange(format!("{at} is a link or no directory"))),
                Found::Dir | Found::Special => Some(Bar::Strange("it is no regular file".into())),
            };
        }
    }
    bar_what_git_sees(overlay, workspace, &mut all)?;
    all.into_iter().map(|(path, barred)| see(overlay, overlay_root, &here, workspace, path, barred)).collect()
}

fn points_to(root: &Path, path: &RelPath, target: &Path, overlay: &Path) -> bool {
    let link = root.join(path.as_path());
    let resolved = link.parent().unwrap_or(root).join(target).canonicalize();
    resolved.is_ok_and(|real| overlay.join(path.as_path()).canonicalize().is_ok_and(|own| own == real))
}

fn bar_what_git_sees(overlay: &Overlay, workspace: &Workspace, all: &mut BTreeMap<RelPath, Option<Bar>>) -> Result<()> {
    let open: Vec<PathBuf> =
        all.iter().filter(|(_, bar)| bar.is_none()).map(|(p, _)| p.as_path().to_path_buf()).collect();
    let ignored: BTreeSet<PathBuf> = overlay.git.ignored(&workspace.root, &open, None)?.into_iter().collect();
    let seen: Vec<OsString> =
        open.iter().filter(|p| !ignored.contains(*p)).map(|p| p.clone().into_os_string()).collect();
    if seen.is_empty() {
        return Ok(());
    }
    let literal = |path: &OsString| {
        let mut pathspec = OsString::from(":(literal)");
        pathspec.push(path);
        pathspec
    };
    let args: Vec<OsString> = std::iter::once(OsString::from("--")).chain(seen.iter().map(literal)).collect();
    let tracked: BTreeSet<PathBuf> = overlay.git.ls_files(&workspace.root, &args)?.into_iter().collect();
    for path in seen.iter().map(PathBuf::from) {
        if let Ok(rel) = RelPath::parse_os(path.as_os_str()) {
            all.insert(rel, Some(if tracked.contains(&path) { Bar::Tracked } else { Bar::NotIgnored }));
        }
    }
    Ok(())
}

fn see(
    overlay: &Overlay,
    overlay_root: &Root,
    here: &Root,
    workspace: &Workspace,
    path: RelPath,
    barred: Option<Bar>,
) -> Result<Seen> {
    // A file that was deleted here and is back (an editor that saves so) still has its past.
    let base = workspace.files.get(&path).map(|base| base.sha256).or(workspace.deleted.get(&path).copied());
    if barred.is_some() {
        return Ok(Seen { path, base, overlay: None, here: None, step: Step::Nothing, barred });
    }
    let theirs = overlay_root.read_whole(&path)?;
    let ours = here.read_whole(&path)?;
    let base_bytes = match base {
        // Read only where the two sides differ from it.
        Some(digest) if !both_are(digest, &theirs, &ours) => overlay.store.content(&digest)?,
        _ => None,
    };
    let step = decide(&Look {
        base: base.map(|digest| (digest, base_bytes.as_deref())),
        overlay: theirs.as_ref().map(|(bytes, _)| bytes.as_slice()),
        here: ours.as_ref().map(|(bytes, _)| bytes.as_slice()),
        accepted: workspace.accepted.get(&path).copied(),
        deleted: workspace.deleted.get(&path).copied(),
        kind: Kind::of(path.as_path()),
        rule: overlay.rule,
    });
    Ok(Seen { path, base, overlay: theirs, here: ours, step, barred })
}

fn both_are(base: Digest, overlay: &Option<(Vec<u8>, u32)>, here: &Option<(Vec<u8>, u32)>) -> bool {
    let is = |side: &Option<(Vec<u8>, u32)>| side.as_ref().is_some_and(|(bytes, _)| Digest::of(bytes) == base);
    is(overlay) && is(here)
}

/// Whether everything a workspace had is gone at once: a clean-up, not a decision about each file.
pub fn is_emptied(workspace: &Workspace, seen: &[Seen]) -> bool {
    let known: Vec<&Seen> = seen.iter().filter(|s| s.base.is_some() && s.barred.is_none()).collect();
    workspace.files.len() >= 2 && known.len() >= 2 && known.iter().all(|s| s.here.is_none())
}
