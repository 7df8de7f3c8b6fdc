//! The repository through gix, in this process. It is used only where its result is the same as git's: a test over
//! generated repositories compares checkouts, and everything that could differ is left to git.

mod history;
mod patch;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use gix::bstr::{BStr, ByteSlice};
use gix::config::file::SectionRef;
use gix::config::source::Kind;
use gix::refs::transaction::PreviousValue;
use shopfloor_core::env::Env;
use shopfloor_core::fs;
use shopfloor_core::git::LOCAL_VARS;

use crate::place::Worktree;

pub use history::Containment;

/// Attributes that do not change the files of a worktree, or that gix treats as git does.
const PLAIN_ATTRIBUTES: [&str; 9] =
    ["text", "eol", "binary", "diff", "merge", "whitespace", "conflict-marker-size", "delta", "encoding"];

/// The beginnings of further such attributes.
const PLAIN_PREFIXES: [&str; 2] = ["linguist-", "export-"];

/// Settings that change what a checkout does, or what an index contains.
const UNUSUAL: [&str; 15] = [
    "core.sparseCheckout",
    "core.autocrlf",
    "core.eol",
    "core.ignoreCase",
    "core.precomposeUnicode",
    "core.checkStat",
    "core.trustctime",
    "core.splitIndex",
    "core.fsmonitor",
    "core.untrackedCache",
    "core.bigFileThreshold",
    "core.sharedRepository",
    "index.sparse",
    "index.version",
    "feature.manyFiles",
];

/// The number of files below which a second thread costs more than it saves.
const FEW: usize = 200;

/// A repository that gix can read as well as git.
pub struct Native {
    repo: gix::Repository,
    /// The user's file of attributes, which git reads if the configuration names no other.
    attributes: Option<PathBuf>,
}

/// The system's file of attributes, where most builds of git have it.
const SYSTEM_ATTRIBUTES: &str = "/etc/gitattributes";

/// A result of gix. Where it is an error, git does the work instead.
pub type Attempt<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

impl Native {
    /// Opens the repository of a worktree; none if anything about it is unusual.
    pub fn open(env: &Env, worktree: &Worktree) -> Option<Native> {
        Native::open_at(env, &worktree.path)
    }

    /// Opens the repository in a directory; none if anything about it is unusual.
    pub fn open_at(env: &Env, dir: &Path) -> Option<Native> {
        // Variables that git sets for a hook name another repository, and gix would obey them.
        if LOCAL_VARS.iter().any(|name| env.var(name).is_some()) {
            return None;
        }
        let repo = gix::open(dir).ok()?;
        let config = env.var("XDG_CONFIG_HOME").map(PathBuf::from).or(env.home().map(|home| home.join(".config")));
        let attributes = config.map(|dir| dir.join("git/attributes"));
        (!has_extensions(&repo)).then_some(Native { repo, attributes })
    }

    /// The commit that HEAD points at.
    pub fn head(&self) -> Option<String> {
        Some(self.repo.head_id().ok()?.to_string())
    }

    /// Whether a worktree has changes or untracked files, not counting ignored ones; none if only git can tell. The
    /// caller has checked that the worktree is the one that the repository has recorded. Changes in submodules do not
    /// count.
    pub fn is_changed(&self) -> Option<bool> {
        let has = |name: &str| has_section(&self.repo, name, |_| true);
        // A filter runs a program. Where no attribute names one, a user's own is not run, such as that of git-lfs.
        let has_filter = has_section(&self.repo, "filter", |section| section.meta().source.kind() == Kind::Repository);
        // gix reads a condition as git does if it names a directory and everything below.
        let is_known = |name: &BStr| {
            let dir = name.strip_prefix(b"gitdir:").unwrap_or_default();
            (dir.starts_with(b"/") || dir.starts_with(b"~/")) && dir.ends_with(b"/") && !dir.contains(&b'*')
        };
        let has_unknown = has_section(&self.repo, "includeIf", |section| {
            section.header().subsection_name().is_none_or(|condition| !is_known(condition))
        });
        // Submodules need a look of their own.
        let is_plain = !has_unusual_keys(&self.repo) && !has_filter && !has_unknown && !has("submodule");
        if !is_plain || has("status") || self.repo.git_dir().join("config.worktree").exists() {
            return None;
        }
        let index = self.repo.index_or_empty().ok()?;
        if !entries_are_plain(&self.repo, self.attributes.as_deref(), &index).ok()? {
            return None;
        }
        let platform = self.repo.status(gix::progress::Discard).ok()?;
        let platform = platform.untracked_files(gix::status::UntrackedFiles::Files);
        let mut changes = platform.into_iter(None).ok()?;
        match changes.next() {
            None => Some(false),
            Some(change) => change.ok().map(|_| true),
        }
    }

    /// The directory of hooks, which is relative to a worktree if the configuration says so.
    pub fn hooks(&self) -> Option<PathBuf> {
        match self.repo.config_snapshot().trusted_path("core.hooksPath") {
            Ok(Some(path)) => Some(path),
            Ok(None) => Some(self.repo.common_dir().canonicalize().ok()?.join("hooks")),
            Err(_) => None,
        }
    }

    /// The local branches with this prefix, and the commits they point at.
    pub fn branches(&self, prefix: &str) -> Attempt<Vec<(String, String)>> {
        let mut found = Vec::new();
        let platform = self.repo.references()?;
        for reference in platform.prefixed(format!("refs/heads/{prefix}").as_str())? {
            let reference = reference?;
            let name = reference.name().shorten().to_str()?.to_owned();
            found.push((name, reference.into_fully_peeled_id()?.to_string()));
        }
        Ok(found)
    }

    /// Makes a new branch with its reflog. `false` if git has to do it, because a hook wants to know of it or gix
    /// cannot.
    pub fn make_branch(&self, name: &str, sha: &str) -> bool {
        // In a shared repository git gives directories other modes.
        if self.repo.config_snapshot().string("core.sharedRepository").is_some() {
            return false;
        }
        let Some(hook) = self.hooks().map(|hooks| hooks.join("reference-transaction")) else { return false };
        if hook.is_relative() || hook.symlink_metadata().is_ok() {
            return false;
        }
        let Ok(id) = gix::ObjectId::from_hex(sha.as_bytes()) else { return false };
        let message = format!("branch: Created from {sha}");
        self.repo.reference(format!("refs/heads/{name}"), id, PreviousValue::MustNotExist, message).is_ok()
    }

    /// Writes the files and the index of a worktree that was made with `--no-checkout`. After `false` git can write
    /// them all again.
    pub fn checkout(&self, worktree: &Worktree, sha: &str, interrupted: &AtomicBool) -> Attempt<bool> {
        let repo = &self.repo;
        if is_unusual(repo) || worktree.git_dir.join("config.worktree").exists() {
            return Ok(false);
        }
        let commit = repo.find_commit(gix::ObjectId::from_hex(sha.as_bytes())?)?;
        let state = repo.index_from_tree(&commit.tree_id()?)?.into_parts().0;
        let mut index = gix::index::File::from_state(state, worktree.git_dir.join("index"));
        if !entries_are_plain(repo, self.attributes.as_deref(), &index)? {
            return Ok(false);
        }
        let mut options = repo.checkout_options(gix::worktree::stack::state::attributes::Source::IdMapping)?;
        options.destination_is_initially_empty = true;
        if index.entries().len() < FEW {
            options.thread_limit = Some(1);
        }
        let (files, bytes) = (gix::progress::Discard, gix::progress::Discard);
        let objects = repo.objects.clone().into_arc()?;
        let outcome =
            gix::worktree::state::checkout(&mut index, &worktree.path, objects, &files, &bytes, interrupted, options)?;
        let is_whole = outcome.errors.is_empty()
            && outcome.collisions.is_empty()
            && outcome.delayed_paths_unknown.is_empty()
            && outcome.delayed_paths_unprocessed.is_empty();
        if !is_whole || interrupted.load(Ordering::SeqCst) {
            return Ok(false);
        }
        write_index(repo, &index, commit.tree_id()?.detach(), &worktree.git_dir.join("index"))?;
        Ok(true)
    }
}

/// Writes an index as git does after a checkout, with the ids of the trees it came from (the `TREE` extension of git's
/// Documentation/gitformat-index.txt). gix does not write these, and without them each `git commit` and `git status`
/// would compute them again.
fn write_index(repo: &gix::Repository, index: &gix::index::File, top: gix::ObjectId, path: &Path) -> Attempt<()> {
    let extensions = gix::index::write::Extensions::None;
    let mut bytes = Vec::new();
    index.write_to(&mut bytes, gix::index::write::Options { extensions, skip_hash: false })?;
    let hash = repo.object_hash();
    bytes.truncate(bytes.len() - hash.len_in_bytes());
    let (_, trees) = cached_tree(repo, top, b"")?;
    bytes.extend(b"TREE");
    bytes.extend(u32::try_from(trees.len())?.to_be_bytes());
    bytes.extend(trees);
    let mut hasher = gix::hash::hasher(hash);
    hasher.update(&bytes);
    bytes.extend(hasher.try_finalize()?.as_slice());
    fs::replace(path, &bytes, None).map_err(|failure| failure.to_string().into())
}

/// A tree and its subtrees in the form of that extension, and the number of files in them.
fn cached_tree(repo: &gix::Repository, id: gix::ObjectId, name: &[u8]) -> Attempt<(usize, Vec<u8>)> {
    let tree = repo.find_tree(id)?;
    let (mut files, mut inner) = (0, Vec::new());
    for entry in tree.iter() {
        let entry = entry?;
        match entry.mode().is_tree() {
            true => inner.push((entry.filename().to_vec(), entry.object_id())),
            false => files += 1,
        }
    }
    // git puts shorter names first.
    inner.sort_by(|(a, _), (b, _)| (a.len(), a).cmp(&(b.len(), b)));
    let mut below = Vec::new();
    for (name, id) in &inner {
        let (more, bytes) = cached_tree(repo, *id, name)?;
        files += more;
        below.extend(bytes);
    }
    let head = [name, format!("\0{files} {}\n", inner.len()).as_bytes(), id.as_slice()].concat();
    Ok((files, [head, below].concat()))
}

fn is_unusual(repo: &gix::Repository) -> bool {
    // A conditional include may depend on the worktree or its branch, and this process is in the spawner's worktree.
    has_section(repo, "includeIf", |_| true) || has_unusual_keys(repo)
}

fn has_section(repo: &gix::Repository, name: &str, is_like: impl FnMut(SectionRef<'_>) -> bool) -> bool {
    repo.config_snapshot().plumbing().sections_by_name(name).is_some_and(|mut sections| sections.any(is_like))
}

fn has_unusual_keys(repo: &gix::Repository) -> bool {
    let config = repo.config_snapshot();
    let is_set = |key: &str| config.string(key).is_some_and(|value| value != "false");
    let is_off = |key: &str| config.boolean(key) == Some(false);
    UNUSUAL.iter().any(|key| is_set(key)) || is_off("core.symlinks") || is_off("core.fileMode")
}

/// Whether the repository uses extensions that gix may not know.
fn has_extensions(repo: &gix::Repository) -> bool {
    let config = repo.config_snapshot();
    config.plumbing().sections_by_name("extensions").is_some_and(|mut sections| {
        sections.any(|section| section.value_names().any(|name| !name.eq_ignore_ascii_case("worktreeconfig")))
    })
}

/// Whether every entry is a file or a link, and none is changed on checkout.
fn entries_are_plain(repo: &gix::Repository, own_attributes: Option<&Path>, index: &gix::index::File) -> Attempt<bool> {
    use gix::index::entry::Mode;
    for entry in index.entries() {
        if !(entry.mode == Mode::FILE || entry.mode == Mode::FILE_EXECUTABLE || entry.mode == Mode::SYMLINK) {
            return Ok(false);
        }
        let path = entry.path(index);
        if (path == ".gitattributes" || path.ends_with(b"/.gitattributes"))
            && (entry.mode == Mode::SYMLINK || !attributes_are_plain(&repo.find_object(entry.id)?.data))
        {
            return Ok(false);
        }
    }
    let config = repo.config_snapshot();
    let named = config.trusted_path("core.attributesFile")?;
    let info = repo.common_dir().join("info/attributes");
    let named = named.or_else(|| own_attributes.map(Path::to_path_buf));
    for path in named.into_iter().chain([info, SYSTEM_ATTRIBUTES.into()]) {
        if fs::read_text(&path)?.is_some_and(|text| !attributes_are_plain(&text)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether all attributes in a file are plain ones.
fn attributes_are_plain(text: &[u8]) -> bool {
    text.lines().all(|line| {
        let line = line.trim();
        if line.is_empty() || line.starts_with(b"#") {
            return true;
        }
        // A macro can stand for any attribute, and after a quoted pattern the attributes are hard to find.
        if line.starts_with(b"[") || line.starts_with(b"\"") {
            return false;
        }
        let words = line.fields().skip(1);
        words.map(|word| word.trim_start_with(|c| c == '-' || c == '!')).all(|word| {
            let name = word.split(|b| *b == b'=').next().unwrap_or(word);
            PLAIN_ATTRIBUTES.iter().any(|plain| name == plain.as_bytes())
                || PLAIN_PREFIXES.iter().any(|prefix| name.starts_with(prefix.as_bytes()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_that_smudge_are_left_to_git() {
        for plain in
            ["", "# x\n", "* text=auto\n*.bat eol=crlf\n*.png binary -diff\n", "docs/** linguist-documentation\n"]
        {
            assert!(attributes_are_plain(plain.as_bytes()), "{plain}");
        }
        for odd in [
            "*.bin filter=lfs",
            "* ident",
            "*.txt working-tree-encoding=UTF-16",
            "[attr]x filter=y",
            "\"a b\" filter=lfs",
            "* crlf",
        ] {
            assert!(!attributes_are_plain(odd.as_bytes()), "{odd}");
        }
    }
}
