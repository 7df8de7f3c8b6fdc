//! git in the repository that a worker works in, which is the root's clone or, for an adopted worktree, the person's
//! own: questions about that repository, its worktrees and the source.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{
    Git, LOOK_LIMIT, ListedWorktree, answer, common_dir_of, failed, private_dir, recorded_dir, ref_failure,
    require_plain_ref,
};
use shopfloor_core::git_hook;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc::{Cmd, Output};

use crate::failure;
use crate::layout::{self, RootLock};
use crate::root::{WorkerRoot, require_source};
use crate::worker::{Checkout, LandedTip, Worker};
use crate::worker_notes::target_hint;

/// git in a repository that workers work in.
#[derive(Clone, Debug)]
pub struct WorkRepo {
    pub git: Git,
    /// git that obeys the clone's own configuration.
    plain: Git,
    /// Whether it is the person's own repository. Otherwise it is the root's clone of that.
    pub is_own: bool,
    /// Where git is asked about commits and refs: the top of the clone, or the common directory.
    pub top: PathBuf,
    /// Its common directory.
    pub common: PathBuf,
    /// The root, which has the locks and journals.
    pub root: PathBuf,
    /// Where the source's objects are.
    pub objects: PathBuf,
    /// The branch that work lands on, without `refs/`.
    pub branch: String,
    /// What of the worker's branch has landed as another commit.
    pub landed: Option<LandedTip>,
    /// The settings of the worker's worktree by which git runs something, as a person has accepted them.
    pub accepted: Vec<(String, String)>,
    /// Whether the worker's own commits land, each of which a person reviews.
    pub lands_each: bool,
    /// Whether nothing may be fetched.
    pub is_dry: bool,
}

/// How long a question about commits may take: an agent may have put a pipe in the place of an object.
const ASK_LIMIT: Duration = Duration::from_secs(60);

/// The worktrees of a clone, by path.
pub type ListedWorktrees = BTreeMap<PathBuf, ListedWorktree>;

impl WorkRepo {
    /// The clone of a root, or in a root without a clone the person's own repository. `source` is that, and its
    /// configuration counts.
    pub fn new(git: &Git, root: &WorkerRoot, source: &Path, is_dry: bool) -> Result<WorkRepo> {
        let branch = root.branch(git, source, &common_dir(source))?;
        let (top, branch) = (&root.path, branch.as_str());
        if !has_clone(top) {
            return WorkRepo::own(git, top, source, branch, is_dry);
        }
        let theirs = if source.is_dir() { source } else { Path::new("/") };
        let in_clone = git.in_clone(top, &layout::host_git(top), theirs)?;
        let repo = WorkRepo::with((git, in_clone), top, common_dir(source), branch, is_dry);
        Ok(WorkRepo { is_own: false, top: top.clone(), common: top.join(".git"), ..repo })
    }

    /// The person's own repository, for a worker whose work lands on `branch`.
    pub fn own(git: &Git, root: &Path, source: &Path, branch: &str, is_dry: bool) -> Result<WorkRepo> {
        let common = common_dir(source);
        Ok(WorkRepo::with((git, git.common(&common)?), root, common, branch, is_dry))
    }

    fn with((plain, git): (&Git, Git), root: &Path, common: PathBuf, branch: &str, is_dry: bool) -> WorkRepo {
        WorkRepo {
            git,
            plain: plain.clone(),
            is_own: true,
            top: common.clone(),
            objects: common.join("objects"),
            common,
            root: root.to_path_buf(),
            branch: branch.to_owned(),
            landed: None,
            accepted: Vec::new(),
            lands_each: false,
            is_dry,
        }
    }

    /// The ref of the branch that work lands on, in a clone as of the last fetch.
    pub fn base(&self) -> String {
        let below = if self.is_own { "refs/heads" } else { "refs/remotes/origin" };
        format!("{below}/{}", self.branch)
    }

    /// git without hooks. An agent can write to its worktree, so there git uses what the repository has recorded about that
    /// worktree; a worktree that differs from the record fails with the kind `tampered`.
    pub fn cmd(&self, dir: &Path) -> Result<Cmd> {
        Ok(self.git_for(dir)?.cmd_alone(dir))
    }

    /// The initialised submodules of a worktree.
    pub fn inner(&self, worktree: &Path) -> Result<Vec<PathBuf>> {
        let found = self.git_for(worktree)?.inner(worktree)?;
        found.iter().try_for_each(|path| self.path_in(worktree, path.as_os_str().as_bytes()).map(drop))?;
        Ok(found)
    }

    /// The git directory that the clone has recorded for a worktree, for our own files in it. What the worktree's `.git`
    /// says does not count, because its agent can write that.
    pub fn git_dir(&self, worktree: &Path) -> Result<PathBuf> {
        let dir = recorded_dir(&self.common, worktree)?;
        let dir = dir.ok_or_else(|| Failure::failed(format!("{} is not a worktree", worktree.display())))?;
        fs::refuse_link(&dir).map(|()| dir)
    }

    /// Whether a directory can be the main checkout. The `.git` of any worktree may lead to the common directory.
    fn is_main(&self, dir: &Path) -> Result<bool> {
        let common = self.common.canonicalize().ok();
        let is_elsewhere = common.as_ref().is_some_and(|own| own.ends_with(".git") && own.parent() != Some(dir));
        Ok(private_dir(dir) == common && !is_elsewhere && recorded_dir(&self.common, dir)?.is_none())
    }

    /// git for a worktree, a checkout of the source or the top.
    pub fn git_for(&self, dir: &Path) -> Result<Git> {
        // Worktrees may lie in a common directory, too.
        match if self.is_own { dir == self.top } else { dir.starts_with(&self.top) } {
            true if dir.starts_with(layout::worktrees(&self.root)) && dir.is_dir() => {
                self.git.guarded(&self.common, dir)
            }
            true => Ok(self.git.clone()),
            false if self.is_own && !self.is_main(dir)? => {
                Ok(self.git.guarded(&self.common, dir)?.with_settings(&self.accepted))
            }
            // An agent of the source may be able to write its `config.worktree`.
            false => self.git.guarded_main(&common_dir(dir), dir),
        }
    }

    /// git in a checkout of the source. In a linked one an agent may work, so what counts is the source's record of it.
    pub fn git_in_source(&self, source: &Path, at: &Path, is_linked: bool) -> Result<Git> {
        let common_dir = common_dir(source);
        if is_linked { self.git.guarded(&common_dir, at) } else { self.git.guarded_main(&common_dir, at) }
    }

    /// A command there with its hooks, as when a person gives it.
    pub fn cmd_in_source(&self, source: &Path, at: &Path, is_linked: bool) -> Result<Cmd> {
        Ok(self.git.typed(&common_dir(source), at, is_linked)?.cmd(at))
    }

    pub fn run(&self, dir: &Path, args: &[&str]) -> Result<Output> {
        self.cmd(dir)?.args(args.iter().copied()).within(ASK_LIMIT).capture()
    }

    /// Makes a worktree without files at `path` for a branch, which is made first if `new` names a commit for it. This
    /// git obeys the clone's own configuration, which names nothing that runs before a file is written.
    pub fn add_worktree(&self, path: &Path, branch: &str, new: Option<&str>) -> Result<()> {
        self.plain.require_records_for_another(&self.common)?;
        let cmd = self.plain.cmd_alone(&self.top).args(["worktree", "add", "--quiet", "--no-checkout"]);
        let cmd = match new {
            Some(at) => cmd.args(["--no-track", "-b", branch]).arg(path).arg(at),
            None => cmd.arg(path).arg(branch),
        };
        answer("worktree add", &cmd.within(ASK_LIMIT).capture()?)?;
        self.git.look_again()
    }

    /// Makes a worktree without files at `path`, which is on no branch.
    pub fn add_detached(&self, path: &Path, at: &str) -> Result<()> {
        self.plain.require_records_for_another(&self.common)?;
        let cmd = self.plain.cmd_alone(&self.top).args(["worktree", "add", "--quiet", "--no-checkout", "--detach"]);
        answer("worktree add", &cmd.arg(path).arg(at).within(ASK_LIMIT).capture()?)?;
        self.git.look_again()
    }

    /// Writes the files of a new worktree. Then runs the clone's hook if it is the one that we installed, or the one in
    /// `shared`, a person's directory for all repositories, and the `missing` tools, whose hooks git does not run.
    /// Returns what a person should know about that.
    pub fn fill_worktree(&self, path: &Path, shared: Option<&Path>, missing: &[&str]) -> Result<Option<String>> {
        let sha = self.ask(path, &["rev-parse", "HEAD"])?;
        let cmd = self.reading_source(self.git_for(path)?.fetching(path), &[&sha])?;
        answer("reset", &cmd.args(["reset", "--quiet", "--hard"]).capture()?)?;
        let own = self.common.join("hooks");
        let hook = shared.map_or(own, |shared| path.join(shared)).join("post-checkout");
        if shared.is_none()
            && let Err(failure) = git_hook::refuse_foreign(self.git.env(), "post-checkout", &hook)
        {
            return Ok(Some(format!("left out the hook: {failure}; {}", failure.hints.join("; "))));
        }
        // A relative one is in the worktree itself, where it may be an agent's.
        if shared.is_some_and(Path::is_relative) && self.base_commit()?.as_ref() != Some(&sha) {
            let why = format!(
                "left out the hook {}: the branch in {} is not the default branch's",
                hook.display(),
                path.display()
            );
            return Ok(Some(why));
        }
        let configured = self.git.configured_hooks(&self.top, "post-checkout")?;
        let scratch = fs::scratch(&self.root.join("locks"))?;
        let ended =
            git_hook::run_post_checkout(&self.plain, (&hook, &configured, path, &sha), missing, scratch, |_| {})?;
        let failed = ended.filter(|status| !status.success());
        Ok(failed.map(|status| format!("a hook failed with {status} while {} was created", path.display())))
    }

    /// Removes a worktree whose content is kept elsewhere, and git's record of it. git itself would read all records. It gets
    /// another name first: a kill leaves no half of it, and the next call removes what is left.
    pub fn remove_worktree(&self, path: &Path) -> Result<()> {
        let record = recorded_dir(&self.common, path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let aside = path.with_file_name(format!("{}{name}", fs::RESERVED));
        fs::remove_tree(&aside)?;
        // Some file systems cannot move a directory to a name that has to be free: there it goes in its place.
        let _ = fs::rename_new(path, &aside);
        fs::remove_tree(if aside.is_dir() { aside.as_path() } else { path })?;
        record.map_or(Ok(()), |record| fs::remove_tree(&record))?;
        self.git.look_again()
    }

    /// The output of a command; fails when git fails.
    pub fn ask(&self, dir: &Path, args: &[&str]) -> Result<String> {
        answer(args[0], &self.run(dir, args)?)
    }

    /// Fetches the source's branches into the clone, one process at a time.
    pub fn fetch(&self, source: &Path) -> Result<()> {
        if self.is_own {
            return Ok(());
        }
        let _lock = Lock::take(&layout::lock(&self.root, RootLock::Fetch))?;
        // git fetches nothing over a ref that it cannot read. This one it writes anew.
        let file = self.common.join(self.base());
        if fs::read_no_follow(&file)?.is_some_and(|text| sha_in(&text).is_none()) {
            fs::remove(&file)?;
        }
        let options =
            ["--quiet", "--no-tags", "--prune", "--no-recurse-submodules", "--update-shallow", "--no-write-fetch-head"];
        // Where the source is, the root says, and not the clone, in which agents can write.
        let cmd = self.git.fetching(&self.top).arg("fetch").args(options).arg("--no-auto-maintenance");
        answer("fetch", &cmd.arg(source).arg("+refs/heads/*:refs/remotes/origin/*").capture()?).map(drop)
    }

    /// The default branch's commit. Fetches only when the source has moved on, so an unchanged source is cheap.
    pub fn fetched(&self, source: &Path) -> Result<String> {
        require_source(&self.root, source)?;
        if self.is_own {
            return self.require_base();
        }
        let there = self.commit(source, &format!("refs/heads/{}", self.branch))?;
        let here = self.base_commit()?;
        // A dry run judges by the commits that the root has.
        match there.is_some() && there == here || self.is_dry && here.is_some() {
            true => Ok(here.unwrap_or_default()),
            false => self.fetch(source).and_then(|()| self.require_base()),
        }
    }

    /// The commit that a name resolves to, if it does.
    pub fn commit(&self, dir: &Path, name: &str) -> Result<Option<String>> {
        let asked = self.run(dir, &["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")])?;
        Ok(Some(asked.text()).filter(|sha| asked.status.success() && !sha.is_empty()))
    }

    /// The commit that each of these names resolves to, if it does, from one process.
    pub fn commits(&self, names: &[String]) -> Result<Vec<Option<String>>> {
        let asked: String = names.iter().map(|name| format!("{name}^{{commit}}\n")).collect();
        let cmd = self.cmd(&self.top)?.args(["cat-file", "--batch-check=%(objectname)"]);
        let text = answer("cat-file", &cmd.input(asked.into_bytes()).capture()?)?;
        // A name that resolves to nothing is told with a reason.
        Ok(text.lines().map(|line| Some(line.to_owned()).filter(|line| !line.contains(' '))).collect())
    }

    /// `git update-ref` with these arguments, which begin with the name of the ref, or with `-d` and its name. Fails with
    /// the kind `tampered` if that would write somewhere else. Another ref that this one names stays as it is.
    pub fn update_ref(&self, args: &[&str]) -> Result<()> {
        let name = args.iter().copied().find(|arg| *arg != "-d").unwrap_or_default();
        require_plain_ref(&self.common, name)?;
        let updated = self.ask(&self.top, &[&["update-ref", "--no-deref"], args].concat());
        updated.map(drop).map_err(|failure| ref_failure(&self.common, name, failure))
    }

    /// Deletes refs of ours, in one process. One that stays only keeps a commit alive, so that is no failure.
    pub fn drop_refs(&self, names: &[String]) -> Result<()> {
        names.iter().try_for_each(|name| require_plain_ref(&self.common, name))?;
        let lines: String = names.iter().map(|name| format!("delete {name}\n")).collect();
        match names {
            [] => Ok(()),
            _ => self
                .cmd(&self.top)?
                .args(["update-ref", "--no-deref", "--stdin"])
                .input(lines.into())
                .capture()
                .map(drop),
        }
    }

    /// That branch's commit, in a clone as of the last fetch, from the file that the fetch has written: `init` makes the
    /// clone with files for refs.
    fn base_commit(&self) -> Result<Option<String>> {
        let file = if self.is_own { None } else { fs::read_no_follow(&self.common.join(self.base()))? };
        match file.and_then(|text| sha_in(&text)) {
            Some(sha) => Ok(Some(sha)),
            None => self.commit(&self.top, &self.base()),
        }
    }

    pub fn require_base(&self) -> Result<String> {
        self.require_own()?;
        self.base_commit()?.ok_or_else(|| {
            let failure = Failure::failed(format!("the source has no branch {}", self.branch));
            match self.is_own {
                true => failure.hint(target_hint(&self.branch)),
                false => failure.hint("set `branch` in `[repo]` of config.toml to the branch that work goes to"),
            }
        })
    }

    /// Exit 4 when the person's own repository is missing.
    fn require_own(&self) -> Result<()> {
        if self.is_own { require_source(&self.root, &self.common) } else { Ok(()) }
    }

    /// All worktrees that git can read, in one process. A worktree with a pipe or a link where git reads a file is left
    /// out: [`cmd`](Self::cmd) there says so.
    pub fn trees(&self) -> Result<ListedWorktrees> {
        self.require_own()?;
        self.git.look_again()?;
        let listed = self.git.list_worktrees(&self.top)?;
        Ok(listed.into_iter().map(|listed| (listed.path.clone(), listed)).collect())
    }

    /// How many commits of `sha` are not on the default branch.
    pub fn ahead(&self, sha: &str) -> Result<usize> {
        let range = self.range(&self.base(), sha);
        let args: Vec<&str> = ["rev-list", "--count"].into_iter().chain(range.iter().map(String::as_str)).collect();
        // If the branch is gone, that is the reason.
        let count = self.ask(&self.top, &args).or_else(|failure| self.require_base().and(Err(failure)))?;
        Ok(count.parse().unwrap_or(0))
    }

    /// Where a worker's work begins: the latest commit of the default branch that the work is known to sit on, even if
    /// the default branch has since dropped that commit.
    pub fn fork(&self, worker: &Worker, sha: &str) -> Result<String> {
        let now = self.merge_base(&self.base(), sha)?;
        let recorded = match &worker.work.onto_sha {
            Some(onto) if now.as_ref() != Some(onto) => self.merge_base(onto, sha)?,
            _ => None,
        };
        match (now, recorded) {
            (Some(now), Some(recorded)) => Ok(if self.has(&now, &recorded)? { now } else { recorded }),
            (Some(only), None) | (None, Some(only)) => Ok(only),
            (None, None) => {
                let firsts = self.ask(&self.top, &["rev-list", "--max-parents=0", sha, &self.base()])?;
                Err(failure::unrelated(&worker.name, &self.branch, &firsts, &self.common.join("shallow")))
            }
        }
    }

    /// The best common ancestor of two commits, if they have one.
    pub fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>> {
        let asked = self.run(&self.top, &["merge-base", one, other])?;
        match asked.status.code() {
            0 => Ok(Some(asked.text())),
            1 => Ok(None),
            // If the branch is gone, that is the reason.
            _ => self.require_base().and(Err(failed("merge-base", &asked))),
        }
    }

    /// Whether the default branch has dropped commits that this work sits on.
    pub fn was_moved_back(&self, worker: &Worker, base: &str, sha: &str) -> Result<bool> {
        Ok(!self.has(base, &self.fork(worker, sha)?)?)
    }

    /// Whether the default branch was ever at this commit. A source's branch may have been moved back since. The clone's
    /// own log of that is an agent's to write.
    pub fn was_base(&self, source: &Path, sha: &str) -> Result<bool> {
        let past = self.run(source, &["reflog", "show", "--format=%H", &format!("refs/heads/{}", self.branch)])?;
        Ok(past.text().lines().any(|was| was == sha))
    }

    /// Paths with uncommitted changes, and untracked files. A nested repository ends in `/`, also one that git does not
    /// take for one, of which it would keep the files alone.
    pub fn dirty(&self, worktree: &Path) -> Result<Vec<String>> {
        Ok(self.changes(worktree)?.into_iter().map(|(_, path)| path).collect())
    }

    /// The same, each with whether it is untracked.
    pub fn changes(&self, worktree: &Path) -> Result<Vec<(bool, String)>> {
        // git must not enter nested repositories, whose configuration an agent can write. They are kept as a whole.
        let (git, entries) = self.index_entries(worktree)?;
        let mut changes: Vec<(bool, String)> = Vec::new();
        for (code, path) in &git.status_of(worktree, &entries, LOOK_LIMIT)? {
            // What only its commit has is a name that nothing opens, and that stops no removal.
            let is_committed = code.starts_with(b"D");
            if !is_committed {
                self.path_in(worktree, path)?;
            }
            let (is_untracked, mut path) = (code == b"??", String::from_utf8_lossy(path).into_owned());
            if is_committed {
                path.truncate(path.trim_end_matches('/').len());
            }
            let outermost = Git::repository_above(worktree, Path::new(&path)).filter(|_| is_untracked);
            let path = outermost.map_or(path, |dir| format!("{}/", dir.display()));
            if changes.last().is_none_or(|(_, last)| *last != path) {
                changes.push((is_untracked, path));
            }
        }
        Ok(changes)
    }

    /// Whether the worktree is on the worker's branch, at this commit, with no rebase under way.
    pub fn is_at(&self, Checkout { branch, tree, .. }: Checkout<'_>, sha: &str) -> Result<bool> {
        let (on, head) = self.head(tree)?;
        Ok(!is_rebasing(tree) && on.as_deref() == Some(branch) && head.as_deref() == Some(sha))
    }

    /// The branch that is checked out, if any, and its commit, if it has one.
    pub fn head(&self, worktree: &Path) -> Result<(Option<String>, Option<String>)> {
        let asked = self.run(worktree, &["rev-parse", "--quiet", "HEAD", "--symbolic-full-name", "HEAD"])?;
        let (name, sha) = match (asked.status.success(), asked.text().split_once('\n')) {
            (true, Some((sha, name))) => (name.to_owned(), Some(sha.to_owned())),
            // The branch has no commit, or another ref is called HEAD too.
            _ => (self.run(worktree, &["symbolic-ref", "--quiet", "HEAD"])?.text(), self.commit(worktree, "HEAD")?),
        };
        Ok((name.strip_prefix("refs/heads/").map(str::to_owned), sha))
    }

    /// Whether one commit is in the history of another.
    pub fn has(&self, sha: &str, older: &str) -> Result<bool> {
        Ok(sha == older || self.run(&self.top, &["merge-base", "--is-ancestor", older, sha])?.status.success())
    }
}

/// The commit in the file of a ref.
fn sha_in(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text.strip_suffix(b"\n").unwrap_or(text)).into_owned();
    let is_sha = [40, 64].contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit());
    is_sha.then_some(text)
}

/// Whether a root has a clone. One that was made for an adopted worktree gets it with its first other worker.
pub fn has_clone(root: &Path) -> bool {
    // While the clone is made, the record of the root without one stays.
    root.join(".git").symlink_metadata().is_ok() && layout::owner(root).symlink_metadata().is_err()
}

/// The common directory of a repository, which may be bare.
pub fn common_dir(source: &Path) -> PathBuf {
    let named = source.join(".git").exists().then(|| common_dir_of(source)).flatten();
    named.unwrap_or_else(|| source.to_path_buf())
}

/// The push URL of the clone: it leads nowhere, so that no agent can push.
pub const PUSH_URL: &str = "/dev/null/worker-ctl-agents-do-not-push";

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
            return Err(failure::TAMPERED
                .failure(why)
                .hint(format!("the rebase was left as it is; look at it with `worker-ctl attach {worker}`")));
        }
    }
    Ok(())
}
