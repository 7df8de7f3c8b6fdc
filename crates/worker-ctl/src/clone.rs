//! git in the root's clone: questions about the clone, its worktrees and the source.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{Git, ListedWorktree, common_dir_of, failed, private_dir, recorded_dir};
use shopfloor_core::hash::Digest;
use shopfloor_core::hook;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc::{Cmd, Output};

use crate::failure::{Kind, fail};
use crate::layout::{self, RootLock};
use crate::root::WorkerRoot;
use crate::worker::{Checkout, Worker};

/// git in the root's clone.
#[derive(Clone, Debug)]
pub struct SourceClone {
    pub git: Git,
    /// git that obeys the clone's own configuration.
    plain: Git,
    pub root: PathBuf,
    /// The default branch, without `refs/`.
    pub branch: String,
    /// Whether nothing may be fetched.
    pub is_dry: bool,
}

/// How long a look at an agent's files may take: git waits at a pipe in the place of `.gitignore` or `.gitattributes`.
const LOOK_LIMIT: Duration = Duration::from_secs(20);

/// The worktrees of a clone, by path.
pub type ListedWorktrees = BTreeMap<PathBuf, ListedWorktree>;

impl SourceClone {
    /// `source` is the person's repository, whose configuration counts.
    pub fn new(git: &Git, root: &WorkerRoot, source: &Path, is_dry: bool) -> Result<SourceClone> {
        let branch = root.config.text("branch").to_owned();
        let theirs = if source.is_dir() { source } else { Path::new("/") };
        let (plain, git) = (git.clone(), git.in_clone(&root.path, &layout::host_git(&root.path), theirs)?);
        Ok(SourceClone { git, plain, root: root.path.clone(), branch, is_dry })
    }

    /// The ref of the default branch as of the last fetch.
    pub fn base(&self) -> String {
        format!("refs/remotes/origin/{}", self.branch)
    }

    /// git without hooks. An agent can write to its worktree, so there git uses what the clone has recorded about that
    /// worktree; a worktree that differs from the record fails with the kind `tampered`.
    pub fn cmd(&self, dir: &Path) -> Result<Cmd> {
        Ok(self.git_for(dir)?.cmd_alone(dir))
    }

    /// The initialised submodules of a worktree.
    pub fn inner(&self, worktree: &Path) -> Result<Vec<PathBuf>> {
        self.git_for(worktree)?.inner(worktree)
    }

    /// The git directory that the clone has recorded for a worktree, for our own files in it. What the worktree's `.git`
    /// says does not count, because its agent can write that.
    pub fn git_dir(&self, worktree: &Path) -> Result<PathBuf> {
        let dir = recorded_dir(&self.root.join(".git"), worktree)?;
        let dir = dir.ok_or_else(|| Failure::failed(format!("{} is not a worktree", worktree.display())))?;
        fs::refuse_link(&dir).map(|()| dir)
    }

    fn git_for(&self, dir: &Path) -> Result<Git> {
        match dir.starts_with(&self.root) {
            true if dir.starts_with(layout::worktrees(&self.root)) && dir.is_dir() => {
                self.git.guarded(&self.root.join(".git"), dir)
            }
            true => Ok(self.git.clone()),
            // An agent of the source may be able to write its `config.worktree`.
            false => self.git.guarded_main(&common_dir(dir), dir),
        }
    }

    /// git in a checkout of the source. In a linked one an agent may work, so what counts is the source's record of it.
    pub fn git_in_source(&self, source: &Path, at: &Path, is_linked: bool) -> Result<Git> {
        let common_dir = common_dir(source);
        if is_linked { self.git.guarded(&common_dir, at) } else { self.git.guarded_main(&common_dir, at) }
    }

    /// A command there with its hooks, as when a person gives it. The hooks of a linked checkout are the repository's,
    /// and never files of its own.
    pub fn cmd_in_source(&self, source: &Path, at: &Path, is_linked: bool) -> Result<Cmd> {
        let git = self.git_in_source(source, at, is_linked)?;
        let ask = |args: &[&str]| -> Result<PathBuf> {
            let asked = git.cmd(at).args(args.iter().copied()).capture()?;
            Ok(String::from_utf8_lossy(&asked.stdout).trim_end_matches('\n').into())
        };
        let used = ask(&["rev-parse", "--path-format=absolute", "--git-path", "hooks"])?;
        let usual = common_dir(source).join("hooks");
        let hooks = match () {
            () if is_linked && used.starts_with(at) => PathBuf::from("/dev/null"),
            // git that reads no configuration of a worktree looks for them elsewhere.
            () if used != usual && ask(&["config", "--get", "core.hooksPath"])?.as_os_str().is_empty() => usual,
            () => return Ok(git.cmd(at)),
        };
        Ok(git.cmd(at).arg("-c").arg(format!("core.hooksPath={}", hooks.display())))
    }

    pub fn run(&self, dir: &Path, args: &[&str]) -> Result<Output> {
        self.cmd(dir)?.args(args.iter().copied()).capture()
    }

    /// Makes a worktree without files at `path` for a branch, which is made first if `new` names a commit for it. This
    /// git obeys the clone's own configuration, which names nothing that runs before a file is written.
    pub fn add_worktree(&self, path: &Path, branch: &str, new: Option<&str>) -> Result<()> {
        self.plain.require_sound_records(&self.root.join(".git"))?;
        let cmd = self.plain.cmd_alone(&self.root).args(["worktree", "add", "--quiet", "--no-checkout"]);
        let cmd = match new {
            Some(at) => cmd.args(["--no-track", "-b", branch]).arg(path).arg(at),
            None => cmd.arg(path).arg(branch),
        };
        let made = cmd.capture()?;
        if made.status.success() { self.git.look_again() } else { Err(failed("worktree add", &made)) }
    }

    /// A person's own directory for the hooks of all repositories. What the clone names does not count.
    pub fn shared_hooks(&self) -> Result<Option<PathBuf>> {
        let asked = self.git.cmd(&self.root).args(["config", "--type=path", "--get", "core.hooksPath"]).capture()?;
        let named = String::from_utf8_lossy(&asked.stdout).trim_end().to_owned();
        Ok(Some(named).filter(|named| !named.is_empty()).map(PathBuf::from))
    }

    /// Writes the files of a new worktree. Then runs the clone's hook if it is the one that we installed; returns what a
    /// person should know about that.
    pub fn fill_worktree(&self, path: &Path) -> Result<Option<String>> {
        let written = self.git_for(path)?.fetching(path).args(["reset", "--quiet", "--hard"]).capture()?;
        if !written.status.success() {
            return Err(failed("reset", &written));
        }
        let shared = self.shared_hooks()?;
        let own = self.root.join(".git/hooks");
        let hook = shared.as_ref().map_or(own, |shared| path.join(shared)).join("post-checkout");
        if shared.is_none()
            && let Err(failure) = hook::refuse_foreign("post-checkout", &hook)
        {
            return Ok(Some(format!("left out the hook: {failure}; {}", failure.hints.join("; "))));
        }
        let sha = self.ask(path, &["rev-parse", "HEAD"])?;
        let scratch = fs::scratch(&self.root.join("locks"))?;
        let configured = self.git.configured_hooks(&self.root, "post-checkout")?;
        let ended = hook::run_post_checkout(&self.plain, (&hook, &configured, path, &sha), scratch, |_| {})?;
        let failed = ended.filter(|status| !status.success());
        Ok(failed.map(|status| format!("a hook failed with {status} while {} was created", path.display())))
    }

    /// Removes a worktree whose content is kept elsewhere, and git's record of it. git itself would read all records.
    pub fn remove_worktree(&self, path: &Path) -> Result<()> {
        let record = recorded_dir(&self.root.join(".git"), path)?;
        fs::remove_tree(path)?;
        record.map_or(Ok(()), |record| fs::remove_tree(&record))?;
        self.git.look_again()
    }

    /// The output of a command; fails when git fails.
    pub fn ask(&self, dir: &Path, args: &[&str]) -> Result<String> {
        let output = self.run(dir, args)?;
        if !output.status.success() {
            return Err(failed(args[0], &output));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned())
    }

    /// Fetches the source's branches, one process at a time.
    pub fn fetch(&self, source: &Path) -> Result<()> {
        let _lock = Lock::take(&layout::lock(&self.root, RootLock::Fetch))?;
        let options =
            ["--quiet", "--no-tags", "--prune", "--no-recurse-submodules", "--update-shallow", "--no-write-fetch-head"];
        // Where the source is, the root says, and not the clone, in which agents can write.
        let cmd = self.git.fetching(&self.root).arg("fetch").args(options).arg("--no-auto-maintenance");
        let fetched = cmd.arg(source).arg("+refs/heads/*:refs/remotes/origin/*").capture()?;
        if fetched.status.success() { Ok(()) } else { Err(failed("fetch", &fetched)) }
    }

    /// The default branch's commit. Fetches only when the source has moved on, so an unchanged source is cheap.
    pub fn fetched(&self, source: &Path) -> Result<String> {
        require_source(source)?;
        let there = self.commit(source, &format!("refs/heads/{}", self.branch))?;
        let here = self.commit(&self.root, &self.base())?;
        // A dry run judges by the commits that the root has.
        match there.is_some() && there == here || self.is_dry && here.is_some() {
            true => Ok(here.unwrap_or_default()),
            false => self.fetch(source).and_then(|()| self.require_base()),
        }
    }

    /// The commit that a name resolves to, if it does.
    pub fn commit(&self, dir: &Path, name: &str) -> Result<Option<String>> {
        let asked = self.run(dir, &["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")])?;
        let sha = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
        Ok((asked.status.success() && !sha.is_empty()).then_some(sha))
    }

    /// The commits that these names resolve to, from one process.
    pub fn commits(&self, names: &[String]) -> Result<Vec<String>> {
        let asked: String = names.iter().map(|name| format!("{name}^{{commit}}\n")).collect();
        let cmd = self.cmd(&self.root)?.args(["cat-file", "--batch-check=%(objectname)"]);
        let listed = cmd.input(asked.into_bytes()).capture()?;
        if !listed.status.success() {
            return Err(failed("cat-file", &listed));
        }
        // A name that resolves to nothing is told with a reason.
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        Ok(text.lines().filter(|line| !line.contains(' ')).map(str::to_owned).collect())
    }

    pub fn require_base(&self) -> Result<String> {
        self.commit(&self.root, &self.base())?.ok_or_else(|| {
            Failure::failed(format!("the source has no branch {}", self.branch))
                .hint("set `branch` in `[repo]` of config.toml to the branch that work goes to")
        })
    }

    /// All worktrees that git can read, in one process. A worktree with a pipe or a link where git reads a file is left
    /// out: [`cmd`](Self::cmd) there says so.
    pub fn trees(&self) -> Result<ListedWorktrees> {
        self.git.look_again()?;
        let listed = self.git.list_worktrees(&self.root)?;
        Ok(listed.into_iter().map(|listed| (listed.path.clone(), listed)).collect())
    }

    /// How many commits of `sha` are not on the default branch.
    pub fn ahead(&self, sha: &str) -> Result<usize> {
        let count = self.ask(&self.root, &["rev-list", "--count", sha, &format!("^{}", self.base())])?;
        Ok(count.parse().unwrap_or(0))
    }

    /// Where a worker's work begins: the latest commit of the default branch that the work is known to sit on, even if
    /// the default branch has since dropped that commit.
    pub fn fork(&self, worker: &Worker, sha: &str) -> Result<String> {
        let now = self.merge_base(&self.base(), sha)?;
        let recorded = match &worker.work.onto_sha {
            Some(onto) => self.merge_base(onto, sha)?,
            None => None,
        };
        match (now, recorded) {
            (Some(now), Some(recorded)) => Ok(if self.has(&now, &recorded)? { now } else { recorded }),
            (Some(only), None) | (None, Some(only)) => Ok(only),
            (None, None) => {
                let why = format!("the work of {} has no history in common with {}", worker.name, self.branch);
                let reset = format!("worker-ctl reset {} --force", worker.name);
                Err(fail(Kind::Unrelated, why)
                    .hint(format!("ask the worker to put its work on {}, or discard it with `{reset}`", self.branch)))
            }
        }
    }

    /// The best common ancestor of two commits, if they have one.
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

    /// Whether the default branch was ever at this commit. A source's branch may have been moved back since.
    pub fn was_base(&self, sha: &str) -> Result<bool> {
        let past = self.run(&self.root, &["reflog", "show", "--format=%H", &self.base()])?;
        Ok(String::from_utf8_lossy(&past.stdout).lines().any(|was| was == sha))
    }

    /// A digest of the work on `sha`: its patch, byte for byte, and its messages. It does not depend on the base.
    pub fn work_digest(&self, sha: &str) -> Result<String> {
        let base = self.base();
        let merge_base = self.merge_base(sha, &base)?.unwrap_or(base);
        let diff = self.run(&self.root, &[&["diff"], &PLAIN[..], &[&merge_base, sha]].concat())?;
        if !diff.status.success() {
            return Err(failed("diff", &diff));
        }
        // Line numbers and blob ids depend on the base, so they are left out. A diff prefixes every line of a file, so
        // no content begins like these lines.
        let is_place = |line: &&[u8]| line.starts_with(b"@@ ") || line.starts_with(b"index ");
        let mut work: Vec<u8> =
            diff.stdout.split_inclusive(|b| *b == b'\n').filter(|l| !is_place(l)).flatten().copied().collect();
        let range = format!("{merge_base}..{sha}");
        let messages =
            self.ask(&self.root, &[&["log", "--reverse", "--format=%B%x00"], &LOGGED[..], &[&range]].concat())?;
        work.extend(messages.into_bytes());
        Ok(Digest::of(&work).to_string())
    }

    /// Whether `after` is the work of `before` on another commit, `base`. A digest alone does not say where in a file a
    /// change is.
    pub fn is_same_work(&self, before: &str, after: &str, base: &str) -> Result<bool> {
        if self.work_digest(before)? != self.work_digest(after)? {
            return Ok(false);
        }
        let tree = |name: &str| self.ask(&self.root, &["rev-parse", &format!("{name}^{{tree}}")]);
        match self.merge(base, before)? {
            MergeResult::Nothing => Ok(tree(after)? == tree(base)?),
            MergeResult::Tree(merged) => Ok(tree(after)? == merged),
            MergeResult::Conflict => Ok(false),
        }
    }

    /// The result of merging a commit into the default branch.
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

    /// The files with changes that git was told not to look at.
    pub fn hidden(&self, worktree: &Path) -> Result<Vec<String>> {
        let hidden = self.git_for(worktree)?.hidden_changes(worktree)?;
        Ok(hidden.into_iter().map(|path| path.to_string_lossy().into_owned()).collect())
    }

    /// Paths with uncommitted changes, and untracked files. A nested repository ends in `/`.
    pub fn dirty(&self, worktree: &Path) -> Result<Vec<String>> {
        // git must not enter nested repositories, whose configuration an agent can write. They are kept as a whole.
        let options = ["--porcelain", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty"];
        let asked = self.cmd(worktree)?.arg("status").args(options).within(LOOK_LIMIT).capture()?;
        if !asked.status.success() {
            return Err(failed("status", &asked));
        }
        let text = String::from_utf8_lossy(&asked.stdout);
        Ok(text.split('\0').filter(|line| line.len() > 3).filter_map(|line| line.get(3..)).map(str::to_owned).collect())
    }

    /// Whether the worktree is on the worker's branch, at this commit, with no rebase under way.
    pub fn is_at(&self, Checkout { branch, tree, .. }: Checkout<'_>, sha: &str) -> Result<bool> {
        Ok(!is_rebasing(tree)
            && self.branch_of(tree)?.as_deref() == Some(branch)
            && self.ask(tree, &["rev-parse", "HEAD"])? == sha)
    }

    /// The branch that is checked out, if any.
    pub fn branch_of(&self, worktree: &Path) -> Result<Option<String>> {
        let asked = self.run(worktree, &["symbolic-ref", "--quiet", "HEAD"])?;
        let name = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
        Ok(name.strip_prefix("refs/heads/").filter(|_| asked.status.success()).map(str::to_owned))
    }

    /// Whether one commit is in the history of another.
    pub fn has(&self, sha: &str, older: &str) -> Result<bool> {
        Ok(sha == older || self.run(&self.root, &["merge-base", "--is-ancestor", older, sha])?.status.success())
    }
}

/// The common directory of a repository, which may be bare.
pub fn common_dir(source: &Path) -> PathBuf {
    let named = source.join(".git").exists().then(|| common_dir_of(source)).flatten();
    named.unwrap_or_else(|| source.to_path_buf())
}

/// The push URL of the clone: it leads nowhere, so that no agent can push.
pub const PUSH_URL: &str = "/dev/null/worker-ctl-agents-do-not-push";

/// Options for a diff that no setting and no attribute changes.
pub const PLAIN: [&str; 15] = [
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

/// Options for a log in topological order that no setting changes.
pub const LOGGED: [&str; 3] = ["--topo-order", "--no-show-signature", "--encoding=UTF-8"];

/// Exit 4 when the source is missing.
pub fn require_source(source: &Path) -> Result<()> {
    match source.is_dir() {
        true => Ok(()),
        false => Err(Failure::failed(format!("the source {} is missing", source.display()))
            .hint("bring it back, or set `source` in `[repo]` of config.toml")),
    }
}

/// The result of a merge that was computed without touching a checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeResult {
    /// The default branch already has all of the work.
    Nothing,
    /// It merges cleanly, and this is the merged tree.
    Tree(String),
    Conflict,
}

/// Whether a rebase is under way in a worktree.
pub fn is_rebasing(worktree: &Path) -> bool {
    let Some(dir) = private_dir(worktree) else { return false };
    ["rebase-merge", "rebase-apply"].iter().any(|name| dir.join(name).symlink_metadata().is_ok())
}

/// Exit 4 unless the rebase under way in a worker's worktree rebases its own branch. An agent can write to git's record
/// of the rebase, and ending a rebase moves the branch named in that record.
pub fn require_own_rebase(Checkout { worker, branch, tree }: Checkout<'_>) -> Result<()> {
    let Some(dir) = private_dir(tree) else { return Ok(()) };
    for name in ["rebase-merge/head-name", "rebase-apply/head-name"] {
        let file = dir.join(name);
        let Some(text) = fs::read(&file)? else { continue };
        let text = String::from_utf8_lossy(&text).trim().to_owned();
        if text != format!("refs/heads/{branch}") && text != "detached HEAD" {
            let why = format!("the rebase in {} is recorded for {text}, not for {branch}", tree.display());
            return Err(fail(Kind::Tampered, why)
                .hint(format!("the rebase was left as it is; look at it with `worker-ctl attach {worker}`")));
        }
    }
    Ok(())
}

/// The files, out of `files`, that still have conflict markers in a commit.
pub fn left_markers(clone: &SourceClone, sha: &str, files: &[String]) -> Result<Vec<String>> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let mut args = vec!["--literal-pathspecs", "grep", "-l", "-z", "-E", "^(<<<<<<<|>>>>>>>) ", sha, "--"];
    args.extend(files.iter().map(String::as_str));
    let grep = clone.run(&clone.root, &args)?;
    // git grep exits with 1 when nothing matches.
    if grep.status.code() > 1 {
        return Err(failed("grep", &grep));
    }
    let text = String::from_utf8_lossy(&grep.stdout).into_owned();
    let prefix = format!("{sha}:");
    Ok(text.split('\0').filter_map(|name| name.strip_prefix(&prefix)).map(str::to_owned).collect())
}

/// A commit that may be new: the worker's branch is checked out, no rebase is under way, and the commit is ahead of the
/// default branch and not one that the record already has. The caller checks whether the work itself is new.
pub fn new_commit(clone: &SourceClone, worker: &Worker, tree: &ListedWorktree) -> Result<Option<String>> {
    let sha = &tree.head;
    let is_at = |recorded: &Option<String>| recorded.as_ref() == Some(sha);
    if tree.branch.as_ref() != Some(&worker.branch)
        || is_at(&worker.work.baseline_sha)
        || is_at(&worker.work.commit_sha)
    {
        return Ok(None);
    }
    if is_rebasing(Path::new(&worker.worktree_path)) || clone.ahead(sha)? == 0 {
        return Ok(None);
    }
    Ok(Some(sha.clone()))
}
