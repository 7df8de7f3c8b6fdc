//! Reads from git's objects: the ledger of any commit, and the files that a sparse checkout leaves out of a work tree,
//! which count all the same, as the index has them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use shopfloor_core::config::REPOSITORY_FILE;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::{Found, Root};
use shopfloor_core::git::{Git, Repo, nul_fields, private_dir, run_git};
use shopfloor_core::path::RelPath;

use super::below::below;
use super::event_dir::{content, is_event_name};
use super::{CURRENT, Current, EVENTS, Events};
use crate::failure;
use crate::settings::{self, DEFAULT_ROOT, LedgerRoot, PageSettings, Settings};

/// A ledger's directory in git's objects.
pub struct Objects<'g> {
    git: &'g Git,
    dir: &'g Path,
    /// The ledger's directory in the tree.
    pub prefix: RelPath,
}

/// The blobs of a ledger in a commit, by their path below its directory.
pub type Blobs = BTreeMap<PathBuf, String>;

/// The ledger of a commit.
#[derive(Debug, Default)]
pub struct CommitTree {
    pub events: Events,
    pub current: Option<Current>,
}

/// The path of a ledger's directory below a work tree. Exit 2 if git can have no directory there.
pub fn tree_path(path: &Path) -> Result<RelPath> {
    RelPath::parse_os(path.as_os_str()).map_err(|why| {
        Failure::usage(format!("the ledger cannot be in `{}`: {why}", path.display()))
            .hint("name a directory below the work tree with `--root`")
    })
}

impl<'g> Objects<'g> {
    pub fn new(env: &Env, git: &'g Git, repo: &'g Repo, settings: &Settings) -> Result<Objects<'g>> {
        let path = match &settings.root {
            LedgerRoot::Worktree | LedgerRoot::Main => PathBuf::from(DEFAULT_ROOT),
            LedgerRoot::At(path) => {
                let base = repo.worktree.as_deref().unwrap_or(&env.cwd);
                below(base, path).ok_or_else(|| {
                    Failure::usage(format!("{} is not in the repository's tree", path.display()))
                        .hint("name a directory below the work tree with `--root`")
                })?
            }
        };
        Ok(Objects::at(git, repo, tree_path(&path)?))
    }

    /// The ledger in a directory of the tree.
    pub fn at(git: &'g Git, repo: &'g Repo, prefix: RelPath) -> Objects<'g> {
        Objects { git, dir: repo.worktree.as_deref().unwrap_or(&repo.common_dir), prefix }
    }

    /// Resolves a name to a commit.
    pub fn commit(&self, rev: &str) -> Result<String> {
        self.object(&format!("{rev}^{{commit}}"))?.ok_or_else(|| {
            failure::NOT_FOUND.with(Exit::Bad, format!("`{rev}` is not a commit")).hint("see `git log --oneline --all`")
        })
    }

    /// The object that a name means, if there is one.
    fn object(&self, name: &str) -> Result<Option<String>> {
        self.answer(&["rev-parse", "--quiet", "--verify", "--end-of-options", name])
    }

    /// What a git command answers, if it does.
    pub fn answer(&self, args: &[&str]) -> Result<Option<String>> {
        let output = self.git.cmd(self.dir).args(args).capture()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok((output.status.success() && !text.is_empty()).then_some(text))
    }

    /// The regular files of the ledger in a commit: `current.md` and what is in `events/`.
    pub fn blobs(&self, commit: &str) -> Result<Blobs> {
        let prefix = self.prefix.to_string();
        let cmd = self.git.cmd(self.dir).args(["ls-tree", "-r", "-z", "--full-tree", commit, "--"]);
        let cmd = cmd.args([format!("{prefix}/{EVENTS}/"), format!("{prefix}/{CURRENT}")]);
        let listed = run_git("ls-tree", cmd).map_err(|failure| missing(self.git, self.dir, failure))?;
        let mut blobs = Blobs::new();
        for (words, path) in nul_fields(&listed).filter_map(listed_file) {
            if let ([mode, "blob", sha], Ok(below)) = (words.as_slice(), path.strip_prefix(self.prefix.as_path()))
                && mode.starts_with("100")
                && is_ours(below)
            {
                blobs.insert(below.to_path_buf(), (*sha).to_owned());
            }
        }
        Ok(blobs)
    }

    /// Reads the blobs of a ledger.
    pub fn read(&self, blobs: &Blobs) -> Result<CommitTree> {
        let mut tree = CommitTree::default();
        let shas: Vec<&String> = blobs.values().collect();
        for (path, bytes) in blobs.keys().zip(read_blobs(self.git, self.dir, &shas)?) {
            if path == Path::new(CURRENT) {
                tree.current = Some(Current { bytes, mode: 0o644 });
            } else {
                let content = content(path.file_name().unwrap_or_default(), &bytes);
                tree.events.add_file(self.prefix.as_path().join(path), content);
            }
        }
        Ok(tree)
    }

    /// The settings of the page in a commit; none: those without a commit.
    pub fn page_settings(&self, commit: Option<&str>) -> Result<PageSettings> {
        let blob = commit.map(|commit| self.object(&format!("{commit}:{REPOSITORY_FILE}"))).transpose()?.flatten();
        let bytes = blob.map(|sha| read_blobs(self.git, self.dir, &[&sha])).transpose()?;
        settings::page_of_tree(Path::new(REPOSITORY_FILE), bytes.and_then(|mut all| all.pop()))
    }
}

/// The words that git writes before the path of a file that it lists, and the path.
fn listed_file(line: &[u8]) -> Option<(Vec<&str>, &Path)> {
    let tab = line.iter().position(|b| *b == b'\t')?;
    let words = std::str::from_utf8(&line[..tab]).ok()?.split(' ').collect();
    Some((words, Path::new(OsStr::from_bytes(&line[tab + 1..]))))
}

/// Reads blobs with one process, in their order.
fn read_blobs(git: &Git, dir: &Path, shas: &[&String]) -> Result<Vec<Vec<u8>>> {
    let input: String = shas.iter().map(|sha| format!("{sha}\n")).collect();
    let output = git.cmd(dir).args(["cat-file", "--batch"]).input(input.into_bytes()).capture()?;
    let mut rest = output.stdout.as_slice();
    let mut blobs = Vec::with_capacity(shas.len());
    for sha in shas {
        let missing = || missing(git, dir, Failure::failed(format!("git cannot read the object {sha}")));
        let end = rest.iter().position(|b| *b == b'\n').ok_or_else(missing)?;
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        let size: usize = head.rsplit(' ').next().and_then(|size| size.parse().ok()).ok_or_else(missing)?;
        blobs.push(rest.get(end + 1..end + 1 + size).ok_or_else(missing)?.to_vec());
        rest = rest.get(end + 2 + size..).unwrap_or_default();
    }
    Ok(blobs)
}

/// The failure to read an object, with what helps.
fn missing(git: &Git, dir: &Path, failure: Failure) -> Failure {
    // A repository with such a setting may leave objects to another one.
    let settings = r"^(extensions\.partialclone|remote\..*\.promisor)$";
    let asked = git.cmd(dir).args(["config", "--get-regexp", settings]).capture();
    match asked.is_ok_and(|output| output.status.success()) {
        true => failure.hint("this is a partial clone; fetch what it left out with `git fetch --refetch --filter=blob:limit=1g`, and run the same command again"),
        false => failure.hint("run `git fsck`"),
    }
}

/// Whether a path is `current.md` or an event. Hidden files and directories below `events/` are not events.
pub fn is_ours(below: &Path) -> bool {
    let is_event = below.parent() == Some(Path::new(EVENTS)) && below.file_name().is_some_and(is_event_name);
    is_event || below == Path::new(CURRENT)
}

/// Whether a work tree may leave files out.
pub fn is_sparse(worktree: &Path) -> bool {
    private_dir(worktree).is_some_and(|dir| dir.join("info/sparse-checkout").exists())
}

/// The files below `prefix` that git leaves out of a work tree, by their path below it.
pub fn left_out(git: &Git, worktree: &Root, prefix: &RelPath) -> Result<Blobs> {
    let mut blobs = Blobs::new();
    if !is_sparse(worktree.path()) {
        return Ok(blobs);
    }
    let cmd = git.cmd(worktree.path()).args(["--literal-pathspecs", "ls-files", "-z", "-t", "-s", "--"]);
    let listed = run_git("ls-files", cmd.arg(prefix.as_path().as_os_str()))?;
    for (words, path) in nul_fields(&listed).filter_map(listed_file) {
        let (["S", mode, sha, _], Ok(rel)) = (words.as_slice(), RelPath::parse_os(path.as_os_str())) else { continue };
        if mode.starts_with("100") && matches!(worktree.look(&rel)?, Found::Missing) {
            let below = path.strip_prefix(prefix.as_path()).unwrap_or(path);
            blobs.insert(below.to_path_buf(), (*sha).to_owned());
        }
    }
    Ok(blobs)
}

/// The settings of the page in this tree: those of its own `.shopfloor/config.toml`.
pub fn page_settings(git: &Git, repo: &Repo, top: &Root) -> Result<PageSettings> {
    let rel = RelPath::parse(REPOSITORY_FILE).map_err(|why| Failure::failed(why.to_string()))?;
    let tree: PathBuf = match private_dir(top.path()) {
        Some(_) => top.path().to_path_buf(),
        // A ledger outside of every tree goes by the tree of the caller.
        None => repo.worktree.clone().unwrap_or_else(|| repo.main_checkout.clone()),
    };
    let tree = Root::open(&tree)?;
    let mut bytes = tree.read(&rel)?;
    if bytes.is_none()
        && let Some(sha) = left_out(git, &tree, &rel)?.values().next()
    {
        bytes = read_blobs(git, tree.path(), &[sha])?.pop();
    }
    settings::page_of_tree(&tree.join(&rel), bytes)
}
