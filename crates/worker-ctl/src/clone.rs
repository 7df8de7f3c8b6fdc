//! git in the root's clone: what it says of the clone, its worktrees and the source.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{Git, ListedWorktree, failed, private_dir};
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc::{Cmd, Output};

use crate::layout::{self, RootLock};
use crate::root::Root;
use crate::worker::Worker;

/// git in the root's clone.
#[derive(Clone, Debug)]
pub struct SourceClone {
    pub git: Git,
    pub root: PathBuf,
    /// The default branch, without `refs/`.
    pub branch: String,
}

/// The worktrees of a clone, by where they are.
pub type ListedWorktrees = BTreeMap<PathBuf, ListedWorktree>;

impl SourceClone {
    pub fn new(git: &Git, root: &Root) -> SourceClone {
        SourceClone { git: git.clone(), root: root.path.clone(), branch: root.config.repo.branch.clone() }
    }

    /// The default branch as it was fetched last.
    pub fn base(&self) -> String {
        format!("refs/remotes/origin/{}", self.branch)
    }

    /// git without hooks. In a worker's worktree, which its agent writes to, it works on what the clone has recorded of
    /// it (kind `tampered` where that is not what lies there).
    pub fn cmd(&self, dir: &Path) -> Result<Cmd> {
        Ok(self.git_for(dir)?.cmd_alone(dir))
    }

    /// The repositories inside a worktree that count as submodules, and are filled.
    pub fn inner(&self, worktree: &Path) -> Result<Vec<PathBuf>> {
        self.git_for(worktree)?.inner(worktree)
    }

    fn git_for(&self, dir: &Path) -> Result<Git> {
        let is_workers = dir.starts_with(layout::worktrees(&self.root)) && dir.is_dir();
        if is_workers { self.git.guarded(&self.root.join(".git"), dir) } else { Ok(self.git.clone()) }
    }

    pub fn run(&self, dir: &Path, args: &[&str]) -> Result<Output> {
        self.cmd(dir)?.args(args.iter().copied()).capture()
    }

    /// The same with the hooks that git runs, for what a person would run them for too.
    pub fn run_with_hooks(&self, dir: &Path, args: &[&str]) -> Result<Output> {
        self.git.cmd(dir).args(args.iter().copied()).capture()
    }

    /// The same, which must succeed.
    pub fn must_with_hooks(&self, dir: &Path, args: &[&str]) -> Result<()> {
        let output = self.run_with_hooks(dir, args)?;
        if output.status.success() { Ok(()) } else { Err(failed(args[0], &output)) }
    }

    /// What a command that must succeed prints.
    pub fn ask(&self, dir: &Path, args: &[&str]) -> Result<String> {
        let output = self.run(dir, args)?;
        if !output.status.success() {
            return Err(failed(args[0], &output));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned())
    }

    /// Brings the source's branches here, one process at a time.
    pub fn fetch(&self) -> Result<()> {
        let _lock = Lock::take(&layout::lock(&self.root, RootLock::Fetch))?;
        let how = ["--quiet", "--no-tags", "--prune", "--no-recurse-submodules", "--update-shallow"];
        self.ask(&self.root, &[&["fetch"], &how[..], &["origin"]].concat()).map(drop)
    }

    /// The default branch's commit, fetched where the source has moved on: a source that rests costs one look.
    pub fn fetched(&self, source: &Path) -> Result<String> {
        require_source(source)?;
        let there = self.commit(source, &format!("refs/heads/{}", self.branch))?;
        let here = self.commit(&self.root, &self.base())?;
        match there.is_some() && there == here {
            true => Ok(here.unwrap_or_default()),
            false => self.fetch().and_then(|()| self.require_base()),
        }
    }

    /// The commit a name stands for; none where it stands for nothing.
    pub fn commit(&self, dir: &Path, name: &str) -> Result<Option<String>> {
        let asked = self.run(dir, &["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")])?;
        let sha = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
        Ok((asked.status.success() && !sha.is_empty()).then_some(sha))
    }

    pub fn require_base(&self) -> Result<String> {
        self.commit(&self.root, &self.base())?.ok_or_else(|| {
            Failure::failed(format!("the source has no branch {}", self.branch))
                .hint("set `branch` in `[repo]` of config.toml to the branch that work goes to")
        })
    }

    /// All worktrees, in one process.
    pub fn trees(&self) -> Result<ListedWorktrees> {
        self.require_files()?;
        let listed = self.git.list_worktrees(&self.root)?;
        Ok(listed.into_iter().map(|listed| (listed.path.clone(), listed)).collect())
    }

    /// Exit 4 where something that is no file lies where git would read one, and might wait for ever: agents write there.
    fn require_files(&self) -> Result<()> {
        let all = self.root.join(".git/worktrees");
        for name in fs::list(&all)? {
            for file in ["HEAD", "gitdir", "commondir", "config.worktree"].map(|file| all.join(&name).join(file)) {
                if file.symlink_metadata().is_ok_and(|meta| !meta.is_file()) {
                    return Err(Failure::new(Exit::Failed, "tampered", format!("{} is no file", file.display()))
                        .hint("move it away; `worker-ctl doctor` then tells what is missing"));
                }
            }
        }
        Ok(())
    }

    /// How many commits `sha` has that the default branch has not.
    pub fn ahead(&self, sha: &str) -> Result<usize> {
        let count = self.ask(&self.root, &["rev-list", "--count", sha, &format!("^{}", self.base())])?;
        Ok(count.parse().unwrap_or(0))
    }

    /// Where a worker's work begins: at the latest commit of the default branch that it is known to sit on, also where that
    /// was dropped since.
    pub fn fork(&self, worker: &Worker, sha: &str) -> Result<String> {
        let now = self.merge_base(&self.base(), sha)?;
        let known = match &worker.onto_sha {
            Some(onto) => self.merge_base(onto, sha)?,
            None => None,
        };
        match (now, known) {
            (Some(now), Some(known)) => Ok(if self.has(&now, &known)? { now } else { known }),
            (Some(only), None) | (None, Some(only)) => Ok(only),
            (None, None) => {
                let why = format!("the work of {} has no history in common with {}", worker.name, self.branch);
                let reset = format!("worker-ctl reset {} --force", worker.name);
                Err(Failure::new(Exit::No, "unrelated", why)
                    .hint(format!("have it put on {}, or give it up with `{reset}`", self.branch)))
            }
        }
    }

    /// Where two histories part; none where they have nothing in common.
    pub fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>> {
        let asked = self.run(&self.root, &["merge-base", one, other])?;
        let sha = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
        match asked.status.code() {
            0 => Ok(Some(sha)),
            1 => Ok(None),
            _ => Err(failed("merge-base", &asked)),
        }
    }

    /// Whether the default branch has dropped commits that this work sits on.
    pub fn was_moved_back(&self, worker: &Worker, base: &str, sha: &str) -> Result<bool> {
        Ok(!self.has(base, &self.fork(worker, sha)?)?)
    }

    /// Whether this was the default branch's commit at some time: a source may be moved back.
    pub fn was_base(&self, sha: &str) -> Result<bool> {
        let past = self.run(&self.root, &["reflog", "show", "--format=%H", &self.base()])?;
        Ok(String::from_utf8_lossy(&past.stdout).lines().any(|was| was == sha))
    }

    /// What the work on `sha` is, wherever it sits: its patch, byte for byte, and its messages.
    pub fn work_of(&self, sha: &str) -> Result<String> {
        let base = self.base();
        let merge_base = self.merge_base(sha, &base)?.unwrap_or(base);
        let diff = self.run(&self.root, &[&["diff"], &PLAIN[..], &[&merge_base, sha]].concat())?;
        if !diff.status.success() {
            return Err(failed("diff", &diff));
        }
        // Where it sits is told by line numbers and the ids of whole files. No line of a file begins like that.
        let is_place = |line: &&[u8]| line.starts_with(b"@@ ") || line.starts_with(b"index ");
        let mut work: Vec<u8> =
            diff.stdout.split_inclusive(|b| *b == b'\n').filter(|l| !is_place(l)).flatten().copied().collect();
        let range = format!("{merge_base}..{sha}");
        let messages =
            self.ask(&self.root, &[&["log", "--reverse", "--format=%B%x00"], &LOGGED[..], &[&range]].concat())?;
        work.extend(messages.into_bytes());
        Ok(Digest::of(&work).to_string())
    }

    /// What merging a commit into the default branch comes to.
    pub fn merge(&self, base: &str, sha: &str) -> Result<MergeResult> {
        let merged = self.run(&self.root, &["merge-tree", "--write-tree", "--no-messages", base, sha])?;
        let tree = String::from_utf8_lossy(&merged.stdout).lines().next().unwrap_or_default().to_owned();
        match merged.status.code() {
            0 if tree == self.ask(&self.root, &["rev-parse", &format!("{base}^{{tree}}")])? => Ok(MergeResult::Nothing),
            0 => Ok(MergeResult::Tree(tree)),
            1 => Ok(MergeResult::Conflict),
            _ => Err(failed("merge-tree", &merged)),
        }
    }

    /// Uncommitted changes, untracked files too; a repository within ends in `/`.
    pub fn dirty(&self, worktree: &Path) -> Result<Vec<String>> {
        // Not into repositories inside, whose configuration is their agent's: what they have is kept with them.
        let how = ["--porcelain", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty"];
        let text = self.ask(worktree, &[&["status"], &how[..]].concat())?;
        Ok(text.split('\0').filter(|line| line.len() > 3).filter_map(|line| line.get(3..)).map(str::to_owned).collect())
    }

    /// Fails unless a worktree is on this branch, at this commit, and nothing is under way in it.
    pub fn require_at(&self, worker: &Worker, sha: &str) -> Result<()> {
        let tree = Path::new(&worker.worktree_path);
        let is_there = !is_rebasing(tree)
            && self.branch_of(tree)?.as_ref() == Some(&worker.branch)
            && self.ask(tree, &["rev-parse", "HEAD"])? == sha;
        if is_there {
            return Ok(());
        }
        let short: String = sha.chars().take(12).collect();
        let name = &worker.name;
        Err(Failure::new(Exit::No, "wrong_state", format!("{name} is not on {} at {short}", worker.branch))
            .hint(format!("see what it is at: `worker-ctl attach {name}`")))
    }

    /// The branch that is checked out.
    pub fn branch_of(&self, worktree: &Path) -> Result<Option<String>> {
        let asked = self.run(worktree, &["symbolic-ref", "--quiet", "HEAD"])?;
        let name = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
        Ok(name.strip_prefix("refs/heads/").filter(|_| asked.status.success()).map(str::to_owned))
    }

    /// Whether one commit is in the history of another.
    pub fn has(&self, sha: &str, older: &str) -> Result<bool> {
        Ok(self.run(&self.root, &["merge-base", "--is-ancestor", older, sha])?.status.success())
    }
}

/// Where an agent's push in the clone goes: nowhere.
pub const PUSH_URL: &str = "/dev/null/worker-ctl-agents-do-not-push";

/// A diff that no setting and no attribute changes.
const PLAIN: [&str; 15] = [
    "--no-color",
    "--no-textconv",
    "--no-ext-diff",
    "--no-renames",
    "--no-indent-heuristic",
    "--no-relative",
    "--binary",
    "--full-index",
    "--unified=3",
    "--diff-algorithm=myers",
    "--ignore-submodules=none",
    "--submodule=short",
    "--inter-hunk-context=0",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// Commits in their order, as they are.
pub const LOGGED: [&str; 3] = ["--topo-order", "--no-show-signature", "--encoding=UTF-8"];

/// Exit 4 where the source is not there.
pub fn require_source(source: &Path) -> Result<()> {
    match source.is_dir() {
        true => Ok(()),
        false => Err(Failure::failed(format!("the source {} is not there", source.display()))
            .hint("bring it back, or set `source` in `[repo]` of config.toml")),
    }
}

/// What merging comes to, without touching anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeResult {
    /// The default branch has all of it.
    Nothing,
    Tree(String),
    Conflict,
}

/// Whether a rebase is under way in a worktree.
pub fn is_rebasing(worktree: &Path) -> bool {
    let Some(dir) = private_dir(worktree) else { return false };
    ["rebase-merge", "rebase-apply"].iter().any(|name| dir.join(name).exists())
}

/// Exit 4 unless the rebase under way in a worker's worktree is one of its own branch: git's record of it lies where the
/// agent writes, and ending a rebase moves the branch that is named there.
pub fn require_own_rebase(worker: &Worker) -> Result<()> {
    let tree = Path::new(&worker.worktree_path);
    let Some(dir) = private_dir(tree) else { return Ok(()) };
    for name in ["rebase-merge/head-name", "rebase-apply/head-name"] {
        let file = dir.join(name);
        let Some(text) = fs::read(&file)? else { continue };
        let text = String::from_utf8_lossy(&text).trim().to_owned();
        if text != format!("refs/heads/{}", worker.branch) && text != "detached HEAD" {
            let why = format!("the rebase in {} says it is of {text}, not of {}", tree.display(), worker.branch);
            return Err(Failure::new(Exit::Failed, "tampered", why)
                .hint(format!("look at it: `worker-ctl attach {}`; nothing of it was ended", worker.name)));
        }
    }
    Ok(())
}

/// Which of these files still have conflict markers in a commit.
pub fn left_markers(clone: &SourceClone, sha: &str, files: &[String]) -> Result<Vec<String>> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let mut args = vec!["--literal-pathspecs", "grep", "-l", "-z", "-E", "^(<<<<<<<|>>>>>>>) ", sha, "--"];
    args.extend(files.iter().map(String::as_str));
    let found = clone.run(&clone.root, &args)?;
    // 1 when there is none.
    if found.status.code() > 1 {
        return Err(failed("grep", &found));
    }
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    let prefix = format!("{sha}:");
    Ok(text.split('\0').filter_map(|name| name.strip_prefix(&prefix)).map(str::to_owned).collect())
}

/// A commit that may be new: its branch is checked out, no rebase is under way, it is ahead of the default branch, and not
/// where the worker stood. Whether its work is new the caller asks.
pub fn new_commit(clone: &SourceClone, worker: &Worker, tree: &ListedWorktree) -> Result<Option<String>> {
    let sha = &tree.head;
    let is_at = |known: &Option<String>| known.as_ref() == Some(sha);
    if tree.branch.as_ref() != Some(&worker.branch) || is_at(&worker.baseline_sha) || is_at(&worker.commit_sha) {
        return Ok(None);
    }
    if is_rebasing(Path::new(&worker.worktree_path)) || clone.ahead(sha)? == 0 {
        return Ok(None);
    }
    Ok(Some(sha.clone()))
}
