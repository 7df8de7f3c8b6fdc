//! Tracked files that setup commands would use: content that a branch brings, and that neither the area nor a person
//! vouches for.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use shopfloor_core::approval::{ApprovalStatus, Approvals};
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs::{self, Content, Found, PARSE_LIMIT, Root};
use shopfloor_core::path::RelPath;

use super::files::{CurrentFile, content_of};
use crate::approvable;
use crate::env_file;
use crate::layer::{LayerName, MergedLayers};
use crate::reads;
use crate::worktree::OpenWorktree;

/// The files from which direnv runs commands or loads variables after `direnv allow`. For the area a tracked one counts
/// wherever it lies, whatever the commands are.
const LOADED: [&str; 2] = [".envrc", env_file::FILE];

/// A tracked file as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackedFile {
    pub content: Option<Content>,
    /// What a person reads and approves: the file's text, or a description where it has none.
    pub shown: String,
    pub is_approved: bool,
}

/// Reads the tracked files that the setup commands would use: any that the area's commands use, and those for the
/// repository's that differ from the main checkout's. This takes two git processes, in the main checkout up to four.
pub fn read(
    env: &Env,
    worktree: &OpenWorktree,
    merged: &MergedLayers,
    current: &BTreeMap<RelPath, CurrentFile>,
) -> Result<BTreeMap<RelPath, TrackedFile>> {
    // Submodules count too: a branch chooses the commit they are at.
    let args = [OsString::from("--recurse-submodules")];
    let mut listed = worktree.git.ls_files(&worktree.path, &args)?;
    let checkout = &worktree.repo.home.checkout;
    if *checkout != worktree.path {
        // An agent can take a file out of its own index. A bare repository has none.
        listed.extend(worktree.git.ls_files(checkout, &args).unwrap_or_default());
    }
    let listed: Vec<RelPath> = listed.iter().filter_map(|file| RelPath::parse_os(file.as_os_str()).ok()).collect();
    let users = users(merged, current, &listed);
    let mut tracked = BTreeMap::new();
    if users.is_empty() {
        return Ok(tracked);
    }
    let (approvals, main) = (Approvals::load(env)?, MainCheckout::read(worktree)?);
    for (path, user) in users {
        match worktree.root.look(path) {
            // Nothing can use a file that was deleted in the worktree, or a submodule that is not checked out.
            Ok(Found::Missing) => continue,
            Ok(Found::Dir) if !merged.files.contains_key(path) => continue,
            _ => {}
        }
        let content = worktree.root.content(path).ok().flatten();
        let shown = shown(&worktree.root, path, content.as_ref());
        if user == LayerName::Repo && content.is_some() && main.has(&worktree.root, path, &shown) {
            continue;
        }
        let name = approvable::tracked_name(path);
        let status = approvals.status(&worktree.repo.home.common_dir, &name, shown.as_bytes())?;
        // The description of what cannot be read is no approval of what it may become.
        let is_approved = content.is_some() && status == ApprovalStatus::Approved;
        tracked.insert(path.clone(), TrackedFile { content, shown, is_approved });
    }
    Ok(tracked)
}

/// The tracked files that setup commands use, each with the layer of the commands. The area's layer comes first: its
/// commands also use what lies where the area places files.
fn users<'p>(
    merged: &'p MergedLayers,
    current: &BTreeMap<RelPath, CurrentFile>,
    listed: &'p [RelPath],
) -> BTreeMap<&'p RelPath, LayerName> {
    let (area, repo) = merged.setup.split_at(merged.area_setup);
    let mut users: BTreeMap<_, _> = reads::used(repo, listed).into_iter().map(|path| (path, LayerName::Repo)).collect();
    if area.is_empty() {
        return users;
    }
    let is_there = |path: &RelPath| !matches!(current[path].found, Found::Missing | Found::Blocked(_));
    let is_below = |path: &RelPath| listed.iter().any(|file| file == path || path.is_parent_of(file));
    let places = merged.files.iter().filter(|(path, entry)| entry.layer == LayerName::Area && is_there(path));
    let places = places.map(|(path, _)| path).filter(|path| is_below(path));
    let loaded = listed.iter().filter(|path| LOADED.iter().any(|name| path.name() == OsStr::new(name)));
    let used = reads::used(area, listed).into_iter().chain(places).chain(loaded);
    users.extend(used.map(|path| (path, LayerName::Area)));
    users
}

/// What a person has in hand of the repository.
struct MainCheckout {
    /// The main checkout, in which no agent writes, if it is not this worktree.
    elsewhere: Option<Root>,
    /// If it is: the files in which no default branch is the same.
    changed: BTreeSet<PathBuf>,
}

impl MainCheckout {
    fn read(worktree: &OpenWorktree) -> Result<MainCheckout> {
        let checkout = &worktree.repo.home.checkout;
        if *checkout != worktree.path {
            return Ok(MainCheckout { elsewhere: Some(Root::open(checkout)?), changed: BTreeSet::new() });
        }
        let mut changed: Option<BTreeSet<PathBuf>> = None;
        for branch in ["refs/heads/main", "refs/heads/master", "refs/remotes/origin/HEAD"] {
            let args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", branch, "HEAD"];
            let output = worktree.git.cmd(&worktree.path).args(args).capture()?;
            let names = output.stdout.split(|byte| *byte == 0).map(|name| checkout.join(OsStr::from_bytes(name)));
            if output.status.success() {
                changed = Some(names.filter(|name| changed.as_ref().is_none_or(|all| all.contains(name))).collect());
            }
        }
        Ok(MainCheckout { elsewhere: None, changed: changed.unwrap_or_default() })
    }

    /// Whether the file is the same there, and what lies behind links too.
    fn has(&self, root: &Root, path: &RelPath, as_shown: &str) -> bool {
        let (here, behind) = (root.join(path), root.join(path).canonicalize().unwrap_or_default());
        match &self.elsewhere {
            Some(main) => shown(main, path, main.content(path).ok().flatten().as_ref()) == as_shown,
            None => !self.changed.contains(&here) && !self.changed.contains(&behind),
        }
    }
}

/// The text of a file; for anything else a description that identifies it. Approvals contain a hash of this text, so
/// its wording must not change.
fn shown(root: &Root, path: &RelPath, content: Option<&Content>) -> String {
    let whole: PathBuf = root.join(path);
    let text = || {
        let is_small = whole.metadata().is_ok_and(|meta| meta.len() <= PARSE_LIMIT);
        let bytes = is_small.then(|| root.read(path).ok().flatten()).flatten()?;
        String::from_utf8(bytes).ok()
    };
    match content {
        Some(Content::File(digest)) => text().unwrap_or_else(|| format!("a file with the SHA-256 {digest}\n")),
        Some(Content::Tree(digest)) => format!("a directory with the SHA-256 {digest}\n"),
        Some(Content::Link(target)) => {
            let is_small = whole.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= PARSE_LIMIT);
            let bytes = is_small.then(|| fs::read(&whole).ok().flatten()).flatten();
            let behind = match (bytes.map(String::from_utf8), content_of(&whole)) {
                (Some(Ok(text)), _) => format!("this lies:\n{text}"),
                (_, Ok(Content::File(digest) | Content::Tree(digest))) => {
                    format!("lies what has the SHA-256 {digest}\n")
                }
                (_, Ok(Content::Link(_))) => "lies another link\n".to_owned(),
                (_, Err(why)) => format!("nothing can be read: {why}\n"),
            };
            format!("a link to {}, where {behind}", target.display())
        }
        None => "something that cannot be read\n".to_owned(),
    }
}
