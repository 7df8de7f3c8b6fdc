//! Which commits are a worker's work, what they give on another commit, and the digest by which two pieces of work are
//! the same.

use std::time::Duration;

use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git::{answer, failed};
use shopfloor_core::hash::Digest;
use shopfloor_core::proc::{Cmd, Output};
use shopfloor_core::text::shell_word;

use crate::failure;
use crate::work_repo::{MergeResult, WorkRepo};
use crate::worker::{Adopted, LandAs, LandedTip, Worker};

/// How long a diff may take, and how many bytes it may have.
const DIFF_LIMIT: (Duration, usize) = (Duration::from_secs(60), 256 << 20);

/// The exit code of a git that does not know an option.
const USAGE: i32 = 129;

/// Options for a diff that no setting and no attribute changes.
pub const PLAIN: [&str; 14] = [
    "--no-color",
    "--no-textconv",
    "--no-ext-diff",
    "--no-renames",
    "--no-indent-heuristic",
    "--no-relative",
    "--full-index",
    "--unified=3",
    "--diff-algorithm=myers",
    "--ignore-submodules=none",
    "--submodule=short",
    "--inter-hunk-context=0",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// For what a person is shown: attributes of a file that the configuration names, and the configuration for files without
/// one, could say that a text is none.
pub const NO_ATTRIBUTES: [&str; 4] = ["-c", "core.attributesFile=/dev/null", "-c", "diff.default.binary=auto"];

/// Options for a log in topological order that no setting changes.
const LOGGED: [&str; 3] = ["--topo-order", "--no-show-signature", "--encoding=UTF-8"];

impl WorkRepo {
    /// The same for one adopted worker, of whose branch something may have landed while it stayed where it was.
    pub fn after(mut self, Adopted { landed, land, accepted, .. }: &Adopted) -> Result<WorkRepo> {
        self.lands_each = *land == LandAs::Commits;
        self.accepted.clone_from(accepted);
        let Some(landed) = landed else { return Ok(self) };
        let is_there = self.commits(&[landed.tip.clone(), landed.commit.clone()])?.iter().all(Option::is_some);
        self.landed = is_there.then(|| landed.clone());
        Ok(self)
    }

    /// Where the work on a commit begins, as seen from a commit of the branch that it lands on, if they have a history in
    /// common.
    pub fn work_base(&self, base: &str, sha: &str) -> Result<Option<String>> {
        let shared = self.merge_base(base, sha)?;
        let Some(LandedTip { tip, commit }) = &self.landed else { return Ok(shared) };
        // Once the worker has merged what landed, that is the later one.
        let is_merged = shared.as_ref().map(|shared| self.has(shared, commit)).transpose()?.unwrap_or_default();
        let is_on_top = !is_merged && self.has(base, commit)? && self.has(sha, tip)?;
        Ok(if is_on_top { Some(tip.clone()) } else { shared })
    }

    /// The commits of the work on `sha`, which begins at `from`, for `git log`: without those that have landed as another.
    pub fn range(&self, from: &str, sha: &str) -> Vec<String> {
        let landed = self.landed.iter().map(|landed| format!("^{}", landed.tip));
        std::iter::once(format!("{from}..{sha}")).chain(landed).collect()
    }

    /// What `git log` says of these commits.
    pub fn log(&self, options: &[&str], range: &[String]) -> Result<String> {
        let range = range.iter().map(String::as_str);
        let args = ["log"].into_iter().chain(options.iter().copied()).chain(LOGGED).chain(range);
        self.ask(&self.top, &args.collect::<Vec<_>>())
    }

    /// The tree of a commit.
    pub fn tree_of(&self, commit: &str) -> Result<String> {
        self.ask(&self.top, &["rev-parse", &format!("{commit}^{{tree}}")])
    }

    /// The result of merging a commit into the default branch, which it has in its history.
    pub fn merge_ahead(&self, base: &str, sha: &str) -> Result<MergeResult> {
        let after = self.tree_of(sha)?;
        Ok(if self.tree_of(base)? == after { MergeResult::Nothing } else { MergeResult::Tree(after) })
    }

    /// The merge of the work on `sha`, from where it begins, if that is not where the histories part.
    pub fn merge_tree(&self, base: &str, from: Option<&str>, sha: &str, options: &[&str]) -> Result<Output> {
        let merge = |from: Option<String>, sides: [&str; 2]| {
            // The clone has no checkout that could tell git which attributes files have.
            let cmd = self.cmd(&self.top)?.var("GIT_ATTR_SOURCE", base);
            // A merge driver gets its files where git is called: not in `/`.
            let scratch = self.git.env().temp_dir().join(fs::unique_name());
            let cmd = if self.is_own && fs::create_private_dir(&scratch).is_ok() { cmd.dir(&scratch) } else { cmd };
            let cmd = cmd.args(["merge-tree", "--write-tree", "--no-messages"]).args(options).args(from).args(sides);
            let merged = cmd.capture();
            let _ = fs::remove_tree(&scratch);
            merged
        };
        let merged = merge(from.map(|from| format!("--merge-base={from}")), [base, sha])?;
        let Some(from) = from.filter(|_| merged.status.code() == USAGE) else { return Ok(merged) };
        // git before 2.40 takes no such option: histories that part there.
        merge(None, [&self.on_top_of(from, base)?, &self.on_top_of(from, sha)?])
    }

    /// A commit with the tree of `sha` and no parent but `parent`, the same at each call.
    fn on_top_of(&self, parent: &str, sha: &str) -> Result<String> {
        let who = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
        let cmd = who.iter().fold(self.cmd(&self.top)?, |cmd, name| cmd.var(*name, "worker-ctl"));
        let cmd = cmd.var("GIT_AUTHOR_DATE", "@1 +0000").var("GIT_COMMITTER_DATE", "@1 +0000");
        answer(
            "commit-tree",
            &cmd.args(["commit-tree", &format!("{sha}^{{tree}}"), "-p", parent, "-m", "side"]).capture()?,
        )
    }

    fn landed_tip(&self, base: &str, sha: &str) -> Result<Option<String>> {
        if self.landed.is_some() { self.work_base(base, sha) } else { Ok(None) }
    }

    /// The result of merging a commit into the default branch.
    pub fn merge(&self, base: &str, sha: &str) -> Result<MergeResult> {
        self.merge_from(base, self.landed_tip(base, sha)?, sha)
    }

    fn merge_from(&self, base: &str, from: Option<String>, sha: &str) -> Result<MergeResult> {
        let merged = self.merge_tree(base, from.as_deref(), sha, &[])?;
        let tree = merged.text().lines().next().unwrap_or_default().to_owned();
        match merged.status.code() {
            0 if tree == self.tree_of(base)? => Ok(MergeResult::Nothing),
            0 => Ok(MergeResult::Tree(tree)),
            1 => Ok(MergeResult::Conflict),
            // git does not merge histories that have no commit in common.
            _ if self.merge_base(base, sha).is_ok_and(|shared| shared.is_none()) => Ok(MergeResult::Conflict),
            _ => Err(failed("merge-tree", &merged)),
        }
    }

    /// The files in which a commit conflicts with the default branch, as git quotes them.
    pub fn conflicting_files(&self, base: &str, sha: &str) -> Result<Vec<String>> {
        let merged = self.merge_tree(base, self.landed_tip(base, sha)?.as_deref(), sha, &["--name-only"])?;
        match merged.status.code() {
            0 | 1 => Ok(merged.text().lines().skip(1).map(in_its_place).collect()),
            _ => Err(failed("merge-tree", &merged)),
        }
    }

    /// A digest of the work on `sha`: its patch, byte for byte, its messages and their authors. It does not depend on the base.
    pub fn work_digest(&self, sha: &str) -> Result<String> {
        self.work_digest_from(&self.begin(sha)?, sha)
    }

    /// Like [`work_digest`](Self::work_digest), of work that is known to branch off at `from`.
    pub fn work_digest_from(&self, from: &str, sha: &str) -> Result<String> {
        self.digest(self.cmd(&self.top)?, &[from, sha], &self.range(from, sha), false)
    }

    /// The commit of the default branch that the work on `sha` is compared with.
    pub fn begin(&self, sha: &str) -> Result<String> {
        let base = self.base();
        Ok(self.work_base(&base, sha)?.unwrap_or(base))
    }

    /// The digest of a diff that `cmd` makes, on request without the names of the files, with the messages of a range.
    fn digest(&self, cmd: Cmd, commits: &[&str], range: &[String], is_nameless: bool) -> Result<String> {
        let mut work =
            without_places(&self.bounded(cmd.arg("diff").args(PLAIN).args(commits), commits)?.stdout, is_nameless);
        if self.lands_each {
            let (options, ends) = commits.split_at(commits.len().saturating_sub(2));
            let log = self.cmd(&self.top)?.args(["log", "--reverse", "--format=%x00", "--patch"]).args(LOGGED);
            let each = self.bounded(log.args(PLAIN).args(options).args(range), ends)?;
            // A commit in between is not compared with what the merge gives, which tells the names.
            work.extend(without_places(&each.stdout, false));
        }
        // Bytes that are no letters count, too.
        let texts = self.cmd(&self.top)?.args(["log", "--reverse", "--format=%an <%ae>%n%B%x00"]).args(LOGGED);
        let texts = self.bounded(texts.args(range), commits)?.stdout;
        work.extend(texts.strip_suffix(b"\n").unwrap_or(&texts));
        Ok(Digest::of(&work).to_string())
    }

    /// The output of a command that shows a diff of these commits. Exit 1 if it is endless: an agent can commit a file of
    /// any length in a few bytes.
    pub fn bounded(&self, cmd: Cmd, commits: &[&str]) -> Result<Output> {
        let (scratch, said) = (fs::scratch(&self.root.join("locks"))?, fs::in_memory());
        let errors = said.as_ref().and_then(|said| said.try_clone().ok());
        let cmd = errors.into_iter().fold(cmd, Cmd::error_file);
        match cmd.capture_within(scratch, DIFF_LIMIT.0, DIFF_LIMIT.1)? {
            Some(diff) if diff.status.success() => Ok(diff),
            Some(diff) => {
                let stderr = said.and_then(|said| fs::read_tail(&said, 1 << 16).ok()).unwrap_or_default();
                Err(failed("diff", &Output { stderr, ..diff }))
            }
            None => Err(failure::TOO_LARGE
                .failure("the diff of the work is larger than 256 MB, or takes longer than a minute")
                .hint(format!("look at it: `git -C {} diff --stat {}`", shell_word(&self.top), commits.join(" ")))),
        }
    }

    /// Where the work of a worker on `sha` begins: its parent's commits, which its branch was made from, are not its own,
    /// also once they have landed as others.
    pub fn begin_of(&self, worker: &Worker, sha: &str) -> Result<String> {
        let fork = self.fork(worker, sha)?;
        match self.work_base(&self.base(), sha)? {
            Some(begin) if !self.has(&fork, &begin)? => Ok(begin),
            _ => Ok(fork),
        }
    }

    /// Whether `after` is the work of `before`, which begins at `from`, on another commit, `base`. What is around a change
    /// may be another there, and where in a file the change is, only a merge tells.
    pub fn is_same_work(&self, (from, before): (&str, &str), after: &str, base: &str) -> Result<bool> {
        let change = |from: &str, sha: &str| {
            let options = ["--unified=0", "--find-renames", from, sha];
            self.digest(self.cmd(&self.top)?, &options, &self.range(from, sha), true)
        };
        if change(from, before)? != change(&self.begin(after)?, after)? {
            return Ok(false);
        }
        match self.merge_from(base, Some(from.to_owned()), before)? {
            MergeResult::Nothing => Ok(self.tree_of(after)? == self.tree_of(base)?),
            MergeResult::Tree(merged) => Ok(self.tree_of(after)? == merged),
            MergeResult::Conflict => Ok(false),
        }
    }

    /// The digest of the work on `sha` as the commit `new` lands it on `base`, once that has arrived in the source.
    pub fn landed_digest(&self, base: &str, new: &str, sha: &str) -> Result<String> {
        self.digest(self.by_source()?, &[base, new], &self.range(&self.begin(sha)?, sha), false)
    }
}

/// A path with conflicts as its file is called: `git merge-tree` moves one that is in the way of a directory to `FILE~COMMIT`.
pub fn in_its_place(path: &str) -> String {
    let Some((file, commit)) = path.rsplit_once('~') else { return path.to_owned() };
    // Of a path that git quotes, the quotation mark stays.
    let id = commit.trim_end_matches('"');
    match [40, 64].contains(&id.len()) && id.bytes().all(|b| b.is_ascii_hexdigit()) {
        true => format!("{file}{}", &commit[id.len()..]),
        false => path.to_owned(),
    }
}

/// A diff without what depends on where the changes are, and on request without the names of the files.
fn without_places(diff: &[u8], is_nameless: bool) -> Vec<u8> {
    // Line numbers and blob ids depend on the base, so they are left out. A diff prefixes every line of a file, so
    // no content begins like these lines. Of a binary file there is only the blob's id.
    let mut work = Vec::with_capacity(diff.len());
    let mut lines = diff.split_inclusive(|b| *b == b'\n').peekable();
    let mut is_head = false;
    while let Some(line) = lines.next() {
        is_head = (is_head || line.starts_with(b"diff --git ")) && !line.starts_with(b"@@ ");
        let is_binary = lines.peek().is_some_and(|next| next.starts_with(b"Binary files "));
        let is_name = is_nameless && is_head && !line.starts_with(b"index ") && !line.starts_with(b"Binary ");
        if !(is_name || line.starts_with(b"@@ ") || line.starts_with(b"index ") && !is_binary) {
            work.extend_from_slice(line);
        }
    }
    work
}
