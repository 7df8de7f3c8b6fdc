//! Files of the repository that stand where the area's setup commands would use them: what a branch brought, not what
//! the area placed.

use std::path::PathBuf;

use shopfloor_core::approval::{Approvals, Status};
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs::{self, Content, Found, PARSE_LIMIT};
use shopfloor_core::path::RelPath;

use super::{Facts, Place, content_of};
use crate::env_file;
use crate::layer::{Merged, Name};

/// The files by which direnv runs commands, or sets what others run by, once `direnv allow` was said: tracked ones count
/// wherever they lie.
const LOADED: [&str; 2] = [".envrc", env_file::FILE];

/// A tracked file as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracked {
    pub content: Option<Content>,
    /// What a person reads and approves: its text, or what is known of it where it is none.
    pub seen: String,
    pub is_approved: bool,
}

/// The name under which such a file is approved. No other file that is approved begins like that.
pub fn approval_name(path: &RelPath) -> String {
    format!("worktree:{path}")
}

/// Reads every tracked `.envrc`, and every tracked file at a destination of the area's. One git process.
pub fn read(env: &Env, place: &Place, merged: &Merged, facts: &mut Facts) -> Result<()> {
    let is_there = |path: &RelPath| !matches!(facts.here[path].found, Found::Missing | Found::Blocked(_));
    let wished = merged.files.iter().filter(|(path, wish)| wish.layer == Name::Area && is_there(path));
    let wished: Vec<&RelPath> = wished.map(|(path, _)| path).collect();
    let literal = wished.iter().map(|path| format!(":(top,literal){path}").into());
    // In submodules as well: a branch says which commit of which repository they are.
    let args = ["--recurse-submodules", "--"].map(Into::into).into_iter();
    let args = args.chain(LOADED.map(|name| format!(":(top,glob)**/{name}").into())).chain(literal);
    let listed = place.git.ls_files(&place.worktree, &args.collect::<Vec<_>>())?;
    let is_below = |path: &RelPath| listed.iter().any(|file| file.starts_with(path.as_path()));
    let envrcs = listed
        .iter()
        .filter(|file| LOADED.iter().any(|name| file.ends_with(name)))
        .filter_map(|f| RelPath::parse_os(f.as_os_str()).ok());
    let paths: Vec<RelPath> = envrcs.chain(wished.into_iter().filter(|path| is_below(path)).cloned()).collect();
    if paths.is_empty() {
        return Ok(());
    }
    let approvals = Approvals::load(env)?;
    for path in paths {
        let content = place.root.content(&path).ok().flatten();
        // Deleted in the worktree: nothing can use it.
        if matches!(place.root.look(&path), Ok(Found::Missing)) {
            continue;
        }
        let seen = seen(place, &path, content.as_ref());
        let status = approvals.status(&place.repo.home.common_dir, &approval_name(&path), seen.as_bytes())?;
        let is_approved = status == Status::Approved;
        facts.tracked_here.insert(path, Tracked { content, seen, is_approved });
    }
    Ok(())
}

/// The text of a file; of anything else what tells it apart from everything else.
fn seen(place: &Place, path: &RelPath, content: Option<&Content>) -> String {
    let whole: PathBuf = place.root.join(path);
    let text = || {
        let is_small = whole.metadata().is_ok_and(|meta| meta.len() <= PARSE_LIMIT);
        let bytes = is_small.then(|| place.root.read(path).ok().flatten()).flatten()?;
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
