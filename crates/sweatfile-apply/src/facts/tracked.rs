//! Tracked files that the area's setup commands would use: content that a branch brings, not the area.

use std::collections::BTreeMap;
use std::path::PathBuf;

use shopfloor_core::approval::{ApprovalStatus, Approvals};
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs::{self, Content, Found, PARSE_LIMIT};
use shopfloor_core::path::RelPath;

use super::files::{CurrentFile, content_of};
use crate::approvable;
use crate::env_file;
use crate::layer::{LayerName, MergedLayers};
use crate::worktree::OpenWorktree;

/// The files from which direnv runs commands or loads variables after `direnv allow`. A tracked one counts wherever
/// it lies.
const LOADED: [&str; 2] = [".envrc", env_file::FILE];

/// A tracked file as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackedFile {
    pub content: Option<Content>,
    /// What a person reads and approves: the file's text, or a description where it has none.
    pub shown: String,
    pub is_approved: bool,
}

/// Reads every tracked `.envrc`, and every tracked file at a destination of the area. This takes one git process.
pub fn read(
    env: &Env,
    worktree: &OpenWorktree,
    merged: &MergedLayers,
    current: &BTreeMap<RelPath, CurrentFile>,
) -> Result<BTreeMap<RelPath, TrackedFile>> {
    let mut tracked = BTreeMap::new();
    let paths = paths(worktree, merged, current)?;
    if paths.is_empty() {
        return Ok(tracked);
    }
    let approvals = Approvals::load(env)?;
    for path in paths {
        let content = worktree.root.content(&path).ok().flatten();
        // Nothing can use a file that was deleted in the worktree.
        if matches!(worktree.root.look(&path), Ok(Found::Missing)) {
            continue;
        }
        let shown = shown(worktree, &path, content.as_ref());
        let name = approvable::tracked_name(&path);
        let status = approvals.status(&worktree.repo.home.common_dir, &name, shown.as_bytes())?;
        let is_approved = status == ApprovalStatus::Approved;
        tracked.insert(path, TrackedFile { content, shown, is_approved });
    }
    Ok(tracked)
}

fn paths(
    worktree: &OpenWorktree,
    merged: &MergedLayers,
    current: &BTreeMap<RelPath, CurrentFile>,
) -> Result<Vec<RelPath>> {
    let is_there = |path: &RelPath| !matches!(current[path].found, Found::Missing | Found::Blocked(_));
    let wanted = merged.files.iter().filter(|(path, entry)| entry.layer == LayerName::Area && is_there(path));
    let wanted: Vec<&RelPath> = wanted.map(|(path, _)| path).collect();
    let literal = wanted.iter().map(|path| format!(":(top,literal){path}").into());
    // Submodules count too: a branch chooses the commit they are at.
    let args = ["--recurse-submodules", "--"].map(Into::into).into_iter();
    let args = args.chain(LOADED.map(|name| format!(":(top,glob)**/{name}").into())).chain(literal);
    let listed = worktree.git.ls_files(&worktree.path, &args.collect::<Vec<_>>())?;
    let is_below = |path: &RelPath| listed.iter().any(|file| file.starts_with(path.as_path()));
    let loaded = listed
        .iter()
        .filter(|file| LOADED.iter().any(|name| file.ends_with(name)))
        .filter_map(|f| RelPath::parse_os(f.as_os_str()).ok());
    Ok(loaded.chain(wanted.into_iter().filter(|path| is_below(path)).cloned()).collect())
}

/// The text of a file; for anything else a description that identifies it. Approvals contain a hash of this text, so
/// its wording must not change.
fn shown(worktree: &OpenWorktree, path: &RelPath, content: Option<&Content>) -> String {
    let whole: PathBuf = worktree.root.join(path);
    let text = || {
        let is_small = whole.metadata().is_ok_and(|meta| meta.len() <= PARSE_LIMIT);
        let bytes = is_small.then(|| worktree.root.read(path).ok().flatten()).flatten()?;
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
