//! Files of the repository that setup commands would use, and that neither the area nor a person has approved.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::thread;

use shopfloor_core::approval::{ApprovalStatus, Approvals};
use shopfloor_core::error::Result;
use shopfloor_core::fs::{self, Content, Found, PARSE_LIMIT, Root};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::{RelPath, real};
use shopfloor_core::proc;

use super::files::{CurrentFile, content_of, read_original};
use crate::approvable;
use crate::env_file;
use crate::layer::{LayerName, MergedLayers};
use crate::setup_inputs::{self, PROGRAM_DIRS};
use crate::worktree::OpenWorktree;

/// The files from which direnv runs commands or loads variables after `direnv allow`. For the area a tracked one counts
/// wherever it lies, whatever the commands are.
const LOADED: [&str; 2] = [".envrc", env_file::FILE];

/// Such a file as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackedFile {
    pub content: Option<Content>,
    /// What a person reads and approves: the file's text, or a description where it has none.
    pub shown: String,
    /// What the record of what set-up made knows it by.
    pub digest: Digest,
    /// Whether a person has read it: this content is approved, or the main checkout's. What set-up made counts, too.
    pub is_approved: bool,
    /// Whether git tracks it, in the worktree or in the main checkout.
    pub is_tracked: bool,
    /// Whether a layer places it from the main checkout, in which a branch that nobody has read is checked out.
    pub is_placed_unread: bool,
}

/// Reads the files that the setup commands would use. What a person has in the main checkout counts as read, but for
/// tracked files that the area's commands use, and so does what set-up has `made`. This takes up to five git processes.
pub fn read(
    worktree: &OpenWorktree,
    merged: &MergedLayers,
    current: &BTreeMap<RelPath, CurrentFile>,
    made: &BTreeMap<RelPath, Digest>,
) -> Result<BTreeMap<RelPath, TrackedFile>> {
    let mut found = list(worktree)?;
    let mut placed = placed_from_checkout(worktree, merged, &found.tracked);
    found.listed.extend(placed.keys().cloned());
    let is_tracked = |path: &RelPath| found.tracked.contains(path);
    let mut users = users(merged, current, &found.listed);
    users.extend(found.whole.iter().map(|path| (path, LayerName::Repo)));
    let mut tracked = BTreeMap::new();
    if users.is_empty() {
        return Ok(tracked);
    }
    let (approvals, main) = (Approvals::load(&worktree.env)?, checkout_that_was_read(worktree)?);
    if main.is_some() {
        placed.clear();
    }
    // Nobody can tell which of their files a program reads.
    let dirs = placed.iter().filter(|(_, (original, _))| original.is_dir());
    users.extend(dirs.map(|(path, _)| (path, LayerName::Repo)));
    // What lies behind links has to be the same too.
    let shown_in_main = |main: &Root, path: &RelPath| shown(main, path, main.content(path).ok().flatten().as_ref());
    let main_has = |path: &RelPath, as_shown: &str| main.as_ref().is_some_and(|m| shown_in_main(m, path) == as_shown);
    for (&path, &user) in &users {
        let found = worktree.root.look(path);
        let is_missing = matches!(found, Ok(Found::Missing));
        match found {
            // Nothing can use a file that was deleted in the worktree, or a submodule that is not checked out.
            Ok(Found::Missing) if !placed.contains_key(path) => continue,
            Ok(Found::Dir) if is_tracked(path) && !merged.files.contains_key(path) && is_empty(worktree, path) => {
                continue;
            }
            _ => {}
        }
        let (content, shown) = match placed.get(path).filter(|_| is_missing) {
            Some((original, content)) => {
                (Some(content.clone()), shown_at(original, Some(content), || fs::read(original).ok().flatten()))
            }
            None => {
                let content = worktree.root.content(path).ok().flatten();
                (content.clone(), shown(&worktree.root, path, content.as_ref()))
            }
        };
        let is_main = (user == LayerName::Repo || !is_tracked(path)) && main_has(path, &shown);
        let name = approvable::tracked_name(path);
        let status = approvals.status(&worktree.repo.home.common_dir, &name, shown.as_bytes())?;
        let digest = match &content {
            // What it leads to is looked at by itself, also if it is another text by now.
            Some(Content::Link(to)) if behind(worktree, path).is_some_and(|behind| users.contains_key(&behind)) => {
                Digest::of(to.as_os_str().as_encoded_bytes())
            }
            _ => Digest::of(shown.as_bytes()),
        };
        let is_known = is_main || status == ApprovalStatus::Approved || made.get(path) == Some(&digest);
        // The description of what cannot be read is no approval of what it may become.
        let is_approved = is_known && content.is_some();
        let (is_tracked, is_placed_unread) = (is_tracked(path), placed.contains_key(path));
        tracked.insert(path.clone(), TrackedFile { content, shown, digest, is_approved, is_tracked, is_placed_unread });
    }
    Ok(tracked)
}

/// What a link in the worktree leads to, if that lies there too.
fn behind(worktree: &OpenWorktree, link: &RelPath) -> Option<RelPath> {
    let target = real(&worktree.root.join(link));
    RelPath::parse_os(target.strip_prefix(real(&worktree.path)).ok()?.as_os_str()).ok()
}

/// Whether nothing is in a directory: an agent's index can call any directory a submodule.
fn is_empty(worktree: &OpenWorktree, path: &RelPath) -> bool {
    worktree.root.join(path).read_dir().is_ok_and(|mut entries| entries.next().is_none())
}

/// What may be a branch's or an agent's.
struct WorktreeFiles {
    listed: Vec<RelPath>,
    /// Directories of which nobody can tell what is in them.
    whole: Vec<RelPath>,
    /// Those of the files that git tracks.
    tracked: BTreeSet<RelPath>,
}

/// Lists the files of a worktree. In the main checkout what is not
/// tracked is the user's own; elsewhere an agent may have made it, and a directory without tracked files counts whole.
fn list(worktree: &OpenWorktree) -> Result<WorktreeFiles> {
    let git_lists = |dir: &Path, how: &[&str]| -> Result<Vec<PathBuf>> {
        worktree.git.ls_files(dir, &how.iter().map(OsString::from).collect::<Vec<_>>())
    };
    // Submodules count too: a branch chooses the commit they are at.
    let index = ["--recurse-submodules"];
    let checkout = &worktree.repo.home.checkout;
    // A directory ends in a slash.
    let parse = |file: &PathBuf| RelPath::parse_os(file.components().as_path().as_os_str()).ok();
    let (mut tracked, mut others, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    if *checkout == worktree.path {
        tracked = git_lists(checkout, &index)?;
    } else {
        // An agent can take a file out of its own index. A bare repository has none.
        let has_index = checkout.join(".git").symlink_metadata().is_ok();
        thread::scope(|scope| -> Result<()> {
            let main = proc::begin(scope, || if has_index { git_lists(checkout, &index) } else { Ok(Vec::new()) });
            let own = proc::begin(scope, || git_lists(&worktree.path, &index));
            others = git_lists(&worktree.path, &["--others", "--directory"])?;
            for listed in [main, own] {
                tracked.extend(proc::ended(listed)?);
            }
            Ok(())
        })?;
        others.retain(|path| path != Path::new(env_file::FILE));
        let (below, too_large) = files_below(&worktree.path, &others);
        others.extend(below);
        whole.extend(too_large.iter().filter_map(parse));
        // The programs in these directories are looked at alone: the rest changes with every installation.
        let programs = PROGRAM_DIRS.iter().filter_map(|dir| dir.split_once('/'));
        let found =
            programs.flat_map(|(dir, name)| others.iter().filter(move |p| p.ends_with(dir)).map(move |p| p.join(name)));
        let found: Vec<PathBuf> = found.filter(|path| worktree.path.join(path).exists()).collect();
        others.extend(found);
    }
    let tracked: BTreeSet<RelPath> = tracked.iter().filter_map(parse).collect();
    let listed = tracked.iter().cloned().chain(others.iter().filter_map(parse)).collect();
    Ok(WorktreeFiles { listed, whole, tracked })
}

/// Directories that tools fill with very many files.
const FILLED: [&str; 7] = ["node_modules", "target", ".venv", "venv", ".direnv", "__pycache__", ".shopfloor"];

/// How deep a look into a directory without tracked files goes, and how many files there may be in all of them.
const DEPTH: usize = 8;
const MOST_FILES: usize = 200_000;

/// The files below these directories, of which an agent's index or ignore file tells no more; and those directories that
/// have too many. Links are followed, each directory once.
fn files_below(worktree: &Path, dirs: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut files, mut too_large, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
    let mut left = MOST_FILES;
    for dir in dirs {
        let mut places = vec![(dir.clone(), 0)];
        while let Some((place, depth)) = places.pop() {
            let is_filled = place.file_name().is_some_and(|name| FILLED.iter().any(|filled| name == *filled));
            let real = worktree.join(&place).canonicalize().ok().filter(|real| real.is_dir());
            let Some(real) = real.filter(|real| !is_filled && seen.insert(real.clone())) else { continue };
            for entry in real.read_dir().into_iter().flatten().flatten() {
                let path = place.join(entry.file_name());
                left = left.saturating_sub(1);
                match entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink() && entry.path().is_dir()) {
                    true if depth < DEPTH => places.push((path, depth + 1)),
                    true => {}
                    false => files.push(path),
                }
            }
            if left == 0 {
                too_large.push(dir.clone());
                break;
            }
        }
    }
    (files, too_large)
}

/// The files that setup commands use, each with the layer of the commands. The area's layer comes first: its
/// commands also use what lies where the area places files.
fn users<'p>(
    merged: &'p MergedLayers,
    current: &BTreeMap<RelPath, CurrentFile>,
    listed: &'p [RelPath],
) -> BTreeMap<&'p RelPath, LayerName> {
    let of = |is_area: bool| -> Vec<String> {
        merged.setup.iter().filter(|step| step.is_area == is_area).map(|step| step.run.clone()).collect()
    };
    let (area, repo) = (of(true), of(false));
    let variables = merged.env.iter().map(|(name, value)| (name.as_str(), value.text.as_str()));
    let named = setup_inputs::named_by(variables, listed);
    let of_repo = setup_inputs::used(&repo, listed).into_iter().chain(named);
    let mut users: BTreeMap<_, _> = of_repo.map(|path| (path, LayerName::Repo)).collect();
    if area.is_empty() {
        return users;
    }
    let is_there = |path: &RelPath| !matches!(current[path].found, Found::Missing | Found::Blocked(_));
    let is_below = |path: &RelPath| listed.iter().any(|file| file == path || path.is_parent_of(file));
    let places = merged.files.iter().filter(|(path, entry)| entry.layer == LayerName::Area && is_there(path));
    let places = places.map(|(path, _)| path).filter(|path| is_below(path));
    let loaded = listed.iter().filter(|path| LOADED.iter().any(|name| path.name() == OsStr::new(name)));
    let used = setup_inputs::used(&area, listed).into_iter().chain(places).chain(loaded);
    users.extend(used.map(|path| (path, LayerName::Area)));
    users
}

/// The checkout whose files a person has read: the main one, in which no agent writes. It must be at the default branch: at
/// another one a person may be about to read what an agent wrote.
fn checkout_that_was_read(worktree: &OpenWorktree) -> Result<Option<Root>> {
    let checkout = &worktree.repo.home.checkout;
    is_at_default_branch(worktree, checkout)?.then(|| Root::open(checkout)).transpose()
}

/// Whether the branch is the default one. Only names are compared, because an agent can move branches and make new ones.
fn is_at_default_branch(worktree: &OpenWorktree, checkout: &Path) -> Result<bool> {
    let current = worktree.git.cmd(checkout).args(["symbolic-ref", "--quiet", "HEAD"]).capture()?.text();
    let default = default_branch(worktree, checkout)?;
    Ok(default.is_some() && default.as_deref() == current.strip_prefix("refs/heads/"))
}

/// The branch that `origin` calls its default one, else `main` or `master`, whichever there is.
pub fn default_branch(worktree: &OpenWorktree, dir: &Path) -> Result<Option<String>> {
    let names = ["refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"];
    let list = ["for-each-ref", "--format=%(refname) %(symref:lstrip=3)"];
    let text = worktree.git.cmd(dir).args(list.iter().chain(&names).copied()).capture()?.text();
    let named = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let own = || ["main", "master"].into_iter().find(|name| named(&format!("refs/heads/{name}")).is_some());
    Ok(named(names[0]).or_else(own).map(str::to_owned))
}

/// What the layers place of files that git tracks in the main checkout: their destinations, with the original and what
/// lies there then.
fn placed_from_checkout(
    worktree: &OpenWorktree,
    merged: &MergedLayers,
    tracked: &BTreeSet<RelPath>,
) -> BTreeMap<RelPath, (PathBuf, Content)> {
    let checkout = real(&worktree.repo.home.checkout);
    let placed = merged.files.iter().filter(|(_, entry)| entry.counts).filter_map(|(path, entry)| {
        let (original, content) = read_original(worktree, entry, true)?.ok()?;
        let real = real(&original);
        let below = real.strip_prefix(&checkout).ok()?;
        let is_tracked = tracked.iter().any(|file| file.as_path().starts_with(below));
        is_tracked.then(|| (path.clone(), (original, content)))
    });
    placed.collect()
}

/// The text of a file; for anything else a description that identifies it. Approvals contain a hash of this text, so
/// its wording must not change.
fn shown(root: &Root, path: &RelPath, content: Option<&Content>) -> String {
    shown_at(&root.join(path), content, || root.read(path).ok().flatten())
}

fn shown_at(whole: &Path, content: Option<&Content>, read: impl Fn() -> Option<Vec<u8>>) -> String {
    let text = || {
        let is_small = whole.metadata().is_ok_and(|meta| meta.len() <= PARSE_LIMIT);
        String::from_utf8(is_small.then(&read).flatten()?).ok()
    };
    match content {
        Some(Content::File(digest)) => text().unwrap_or_else(|| format!("a file with the SHA-256 {digest}\n")),
        Some(Content::Tree(digest)) => format!("a directory with the SHA-256 {digest}\n"),
        Some(Content::Link(target)) => {
            let is_small = whole.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= PARSE_LIMIT);
            let bytes = is_small.then(|| fs::read(whole).ok().flatten()).flatten();
            let behind = match (bytes.map(String::from_utf8), content_of(whole)) {
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
