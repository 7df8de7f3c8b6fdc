//! Looks at files below a git directory before git does: an agent can write there.

use std::ffi::OsStr;
use std::fs::FileType;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};

use crate::error::{Exit, Failure, Result};
use crate::fs;

/// The files of a worktree's record that git reads before anything else, and the most bytes they have.
const READ_FIRST: ([&str; 5], u64) = (["HEAD", "gitdir", "commondir", "config.worktree", "locked"], 1 << 20);

/// The directories there that git reads as it starts.
const READ_DIRS: [&str; 2] = ["logs", "refs"];

/// What git reads of the record of every worktree to make another one, beside the refs whose names are in capitals. An
/// operation under way may hold the branch.
const READ_FOR_OTHERS: [&str; 7] =
    ["commondir", "gitdir", "locked", "rebase-apply", "rebase-merge", "refs", "reftable"];

/// What people and programs have links for in a git directory. git would write through any other, and git-lfs empties
/// the `tmp` of its directory.
const KNOWN_LINKS: [&str; 9] =
    ["annex", "config", "description", "hooks", "info", "modules", "objects", "rr-cache", "svn"];

/// Files further down that git reads as it starts, with the most bytes that those have which git reads whole: any can be
/// made to seem endless.
const READ_BELOW: [(&str, u64); 7] = [
    ("info/attributes", 64 << 20),
    ("info/exclude", 64 << 20),
    ("info/grafts", u64::MAX),
    ("info/sparse-checkout", 64 << 20),
    ("objects/info/alternates", 1 << 20),
    ("objects/info/commit-graph", u64::MAX),
    ("packed-refs", 1 << 30),
];

/// A loose ref is a name.
const LARGEST_REF: u64 = 64 << 10;

pub(super) fn odd<T>(path: &Path, why: &str) -> Result<T> {
    Err(tampered(format!("{} {why}", path.display()))
        .hint(format!("look at it and move it away: `ls -l {}`", crate::text::shell_word(path))))
}

fn is_special(kind: FileType) -> bool {
    kind.is_fifo() || kind.is_block_device() || kind.is_char_device()
}

/// Fails with the kind `tampered` unless everything in a worktree's private git directory is a plain file or directory,
/// or a link that programs are known to make. git would wait for ever on a pipe, and write through a link.
pub(super) fn require_plain(git_dir: &Path) -> Result<()> {
    require_plain_where(git_dir, |_| true)
}

/// Whether what a symbolic ref names is no ref.
fn leads_away(name: &[u8]) -> bool {
    !name.trim_ascii().starts_with(b"refs/") || name.windows(2).any(|pair| pair == b"..")
}

/// The same of what git reads there to make another worktree.
pub(super) fn require_plain_for_others(git_dir: &Path) -> Result<()> {
    // git follows HEAD to any file.
    let head = fs::read_no_follow(&git_dir.join("HEAD")).ok().flatten().unwrap_or_default();
    let leads_on = match head.strip_prefix(b"ref:") {
        None => !head.trim_ascii().iter().all(u8::is_ascii_hexdigit),
        Some(name) => leads_away(name),
    };
    if leads_on {
        return require_plain(git_dir);
    }
    let is_ref = |name: &OsStr| name.as_bytes().first().is_some_and(u8::is_ascii_uppercase);
    require_plain_where(git_dir, |name| is_ref(name) || READ_FOR_OTHERS.iter().any(|read| name == *read))
}

fn require_plain_where(git_dir: &Path, counts: impl Fn(&OsStr) -> bool) -> Result<()> {
    if !git_dir.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        return odd(git_dir, "is not a directory");
    }
    // Submodules have repositories of their own there, and the tools their state, which has a look of its own.
    let is_gits = |entry: &walkdir::DirEntry| {
        entry.depth() > 1
            || counts(entry.file_name())
                && entry.file_name() != "shopfloor"
                && !(entry.file_name() == "modules" && entry.file_type().is_dir())
    };
    for entry in walkdir::WalkDir::new(git_dir).min_depth(1).into_iter().filter_entry(is_gits).filter_map(Result::ok) {
        let kind = entry.file_type();
        let is_read = entry.depth() == 1 && READ_FIRST.0.iter().any(|name| entry.file_name() == *name);
        // git empties a directory of a rebase and writes an index through a link.
        let is_odd = is_special(kind) || (kind.is_symlink() && !is_others(git_dir, &entry));
        let is_dir = entry.depth() == 1 && READ_DIRS.iter().any(|name| entry.file_name() == *name);
        if is_odd || is_read && !kind.is_file() || is_dir && !kind.is_dir() {
            return odd(entry.path(), if is_dir { "is not a directory" } else { "is not a file" });
        }
        if is_read && kind.is_file() && entry.metadata().is_ok_and(|meta| meta.len() > READ_FIRST.1) {
            return odd(entry.path(), "is too large");
        }
    }
    // `git worktree list` follows it, wherever git was told that the common directory is.
    let (names, all) = (git_dir.join("commondir"), git_dir.parent().filter(|all| all.ends_with("worktrees")));
    if let (Some(common), Some(text)) = (all.and_then(Path::parent), fs::read_no_follow(&names)?) {
        let named = git_dir.join(OsStr::from_bytes(text.trim_ascii_end()));
        if named.canonicalize().ok() != common.canonicalize().ok() {
            return odd(&names, "leads elsewhere");
        }
    }
    Ok(())
}

/// Fails with the kind `tampered` where the configuration of a repository is a link: git writes through it, and an agent may
/// have led it to any file. For what is about to write there.
pub fn require_own_config(common_dir: &Path) -> Result<()> {
    let file = common_dir.join("config");
    if file.is_symlink() { odd(&file, "is a symbolic link, which is not followed") } else { Ok(()) }
}

/// The same of what lies directly in a common directory. git itself puts no `commondir` there, and one would lead it
/// to another configuration.
pub(super) fn require_plain_common(common_dir: &Path) -> Result<()> {
    let Ok(entries) = std::fs::read_dir(common_dir) else { return Ok(()) };
    for entry in entries.filter_map(std::io::Result::ok) {
        if entry.file_name() == "commondir" {
            return odd(&entry.path(), "is nothing that git puts there");
        }
        let name = entry.file_name();
        // Links in our own state are told by a look of its own.
        let is_known =
            name == "shopfloor" || KNOWN_LINKS.iter().any(|known| name == *known) || name.as_bytes().starts_with(b".#");
        if entry.file_type().is_ok_and(|kind| is_special(kind) || (kind.is_symlink() && !is_known)) {
            let odd = odd(&entry.path(), "is not a file");
            let moved = "if git-lfs keeps its objects elsewhere: `git config lfs.storage DIR` in place of the link";
            return if name == "lfs" { odd.map_err(|failure| failure.hint(moved)) } else { odd };
        }
    }
    for (file, most) in READ_BELOW {
        let path = common_dir.join(file);
        match path.metadata() {
            Ok(meta) if is_special(meta.file_type()) => return odd(&path, "is not a file"),
            Ok(meta) if meta.len() > most => return odd(&path, "is too large"),
            _ => {}
        }
    }
    if let Some(path) = special_objects(common_dir).next() {
        return odd(&path, "is not a file");
    }
    for entry in walkdir::WalkDir::new(common_dir.join("refs")).into_iter().filter_map(Result::ok) {
        let kind = entry.file_type();
        if is_special(kind) {
            return odd(entry.path(), "is not a file");
        }
        if kind.is_file() && entry.metadata().is_ok_and(|meta| meta.len() > LARGEST_REF) {
            return odd(entry.path(), "is too large");
        }
        // A symbolic ref of any length: git would open any file that it names. What we cannot read, git cannot, either.
        let text = if kind.is_file() { fs::read_no_follow(entry.path()).ok().flatten() } else { None };
        if text.is_some_and(|text| text.strip_prefix(b"ref:").is_some_and(leads_away)) {
            return odd(entry.path(), "names what is no ref");
        }
    }
    // git-lfs deletes old files in its `tmp`, and takes the text of an object from wherever a link leads.
    match links_below(&["lfs"], common_dir) {
        Some(link) => odd(&link, "is not a file"),
        None => Ok(()),
    }
}

/// What is no file or directory where git opens all that it finds: among the packs of objects.
pub(super) fn special_objects(common_dir: &Path) -> impl Iterator<Item = PathBuf> {
    let dirs = ["objects/pack", "objects/info"].map(|dir| std::fs::read_dir(common_dir.join(dir)));
    let entries = dirs.into_iter().flatten().flatten().filter_map(Result::ok);
    entries.filter(|entry| entry.file_type().is_ok_and(is_special)).map(|entry| entry.path())
}

/// Fails with the kind `tampered` if a clone of ours takes objects from elsewhere, where a pipe may lie: it is made
/// without.
pub(super) fn refuse_other_objects(common_dir: &Path) -> Result<()> {
    let path = common_dir.join("objects/info/alternates");
    if path.symlink_metadata().is_ok() {
        odd(&path, "names objects elsewhere, which this clone does not")
    } else {
        Ok(())
    }
}

/// What is no file or directory below these.
pub(super) fn links_below(dirs: &[&str], common_dir: &Path) -> Option<PathBuf> {
    let all = dirs.iter().flat_map(|dir| walkdir::WalkDir::new(common_dir.join(dir))).filter_map(Result::ok);
    let mut links = all.filter(|entry| !entry.file_type().is_dir() && !entry.file_type().is_file());
    links.next().map(walkdir::DirEntry::into_path)
}

/// Looks at the git directory of a work tree before git does. Fails with the kind `tampered` if it is not as git makes
/// it: a linked worktree's is in `worktrees/` of the common directory that it names.
pub fn require_sound(git_dir: &Path) -> Result<()> {
    let names = git_dir.join("commondir");
    let Some(text) = fs::read_no_follow(&names)? else { return require_plain_common(git_dir) };
    let Ok(common_dir) = git_dir.join(OsStr::from_bytes(text.trim_ascii_end())).canonicalize() else { return Ok(()) };
    let all = git_dir.parent().and_then(|all| all.canonicalize().ok());
    if all != Some(common_dir.join("worktrees")) {
        return odd(&names, &format!("leads to {}, which has no such worktree", common_dir.display()));
    }
    require_plain(git_dir)?;
    require_plain_common(&common_dir)
}

/// Whether it is below what other programs link to and no command of ours opens: git-annex's directory, hooks, and what
/// Emacs puts beside a file that it edits.
fn is_others(git_dir: &Path, entry: &walkdir::DirEntry) -> bool {
    let within = |name: &str| entry.path().starts_with(git_dir.join(name));
    within("annex") || within("hooks") || entry.file_name().as_bytes().starts_with(b".#")
}

/// Fails with the kind `tampered` if a link is among the directories of our state below a git directory, where an agent
/// can write: state that is read, written or removed there would be somebody else's files.
pub fn refuse_linked_state(git_dir: &Path) -> Result<()> {
    // What is to be deleted there was somebody's worktree, which may have links.
    let is_ours = |entry: &walkdir::DirEntry| {
        entry.depth() < 3
            || !["gone", "undone"]
                .iter()
                .any(|name| entry.path().ancestors().nth(entry.depth() - 2).is_some_and(|dir| dir.ends_with(name)))
    };
    let state = walkdir::WalkDir::new(git_dir.join("shopfloor")).max_depth(4);
    // A link that a tool is about to place in a worktree is not followed.
    let is_staged = |entry: &walkdir::DirEntry| entry.file_name().as_bytes().starts_with(fs::RESERVED.as_bytes());
    match state
        .into_iter()
        .filter_entry(is_ours)
        .filter_map(Result::ok)
        .find(|entry| entry.path_is_symlink() && !is_staged(entry))
    {
        None => Ok(()),
        Some(link) => Err(tampered(format!("{} is a symbolic link, and our state has none", link.path().display()))
            .hint(format!("ask what made it, then remove it: `rm {}`", crate::text::shell_word(link.path())))),
    }
}

pub(super) fn tampered(why: String) -> Failure {
    Failure::new(Exit::Failed, "tampered", why)
}

/// The path without `.` and `..`, resolved as text.
pub fn clean(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut out, component| {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            component => out.push(component),
        }
        out
    })
}
