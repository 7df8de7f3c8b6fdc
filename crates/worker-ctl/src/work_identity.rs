//! What makes two pieces of work the same: digests of their patches and messages.

use std::time::Duration;

use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git::failed;
use shopfloor_core::hash::Digest;
use shopfloor_core::proc::{Cmd, Output};
use shopfloor_core::text::shell_word;

use crate::failure;
use crate::work_repo::{LOGGED, MergeResult, WorkRepo};

/// How long a diff may take, and how many bytes it may have.
const DIFF_LIMIT: (Duration, usize) = (Duration::from_secs(60), 256 << 20);

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

impl WorkRepo {
    /// A digest of the work on `sha`: its patch, byte for byte, its messages and their authors. It does not depend on the base.
    pub fn work_digest(&self, sha: &str) -> Result<String> {
        self.work_digest_from(&self.begin(sha)?, sha)
    }

    /// Like [`work_digest`](Self::work_digest), of work that is known to branch off at `from`.
    pub fn work_digest_from(&self, from: &str, sha: &str) -> Result<String> {
        self.digest(self.cmd(&self.top)?, &[from, sha], &format!("{from}..{sha}"))
    }

    /// The commit of the default branch that the work on `sha` is compared with.
    pub fn begin(&self, sha: &str) -> Result<String> {
        let base = self.base();
        Ok(self.merge_base(sha, &base)?.unwrap_or(base))
    }

    /// The digest of a diff that `cmd` makes, with the messages of a range.
    pub fn digest(&self, cmd: Cmd, commits: &[&str], range: &str) -> Result<String> {
        self.digest_of(cmd, commits, range, false)
    }

    /// The same, on request without the names of the files.
    fn digest_of(&self, cmd: Cmd, commits: &[&str], range: &str, is_nameless: bool) -> Result<String> {
        let diff = self.bounded(cmd.arg("diff").args(PLAIN).args(commits), commits)?;
        // Line numbers and blob ids depend on the base, so they are left out. A diff prefixes every line of a file, so
        // no content begins like these lines. Of a binary file there is only the blob's id.
        let mut work = Vec::with_capacity(diff.stdout.len());
        let mut lines = diff.stdout.split_inclusive(|b| *b == b'\n').peekable();
        let mut is_head = false;
        while let Some(line) = lines.next() {
            is_head = (is_head || line.starts_with(b"diff --git ")) && !line.starts_with(b"@@ ");
            let is_binary = lines.peek().is_some_and(|next| next.starts_with(b"Binary files "));
            let is_name = is_nameless && is_head && !line.starts_with(b"index ") && !line.starts_with(b"Binary ");
            if !(is_name || line.starts_with(b"@@ ") || line.starts_with(b"index ") && !is_binary) {
                work.extend_from_slice(line);
            }
        }
        let messages = self
            .ask(&self.top, &[&["log", "--reverse", "--format=%an <%ae>%n%B%x00"], &LOGGED[..], &[range]].concat())?;
        work.extend(messages.into_bytes());
        Ok(Digest::of(&work).to_string())
    }

    /// The output of a command that shows a diff of these commits. Exit 1 if it is endless: an agent can commit a file of
    /// any length in a few bytes.
    pub fn bounded(&self, cmd: Cmd, commits: &[&str]) -> Result<Output> {
        let scratch = fs::scratch(&self.root.join("locks"))?;
        match cmd.capture_within(scratch, DIFF_LIMIT.0, DIFF_LIMIT.1)? {
            Some(diff) if diff.status.success() => Ok(diff),
            Some(diff) => Err(failed("diff", &diff)),
            None => Err(failure::TOO_LARGE
                .failure("the diff of the work is larger than 256 MB, or takes longer than a minute")
                .hint(format!("look at it: `git -C {} diff --stat {}`", shell_word(&self.top), commits.join(" ")))),
        }
    }

    /// Whether `after` is the work of `before` on another commit, `base`. What is around a change may be another there,
    /// and where in a file the change is, only a merge tells.
    pub fn is_same_work(&self, before: &str, after: &str, base: &str) -> Result<bool> {
        let change = |sha: &str| {
            let from = self.begin(sha)?;
            let options = ["--unified=0", "--find-renames", &from, sha];
            self.digest_of(self.cmd(&self.top)?, &options, &format!("{from}..{sha}"), true)
        };
        if change(before)? != change(after)? {
            return Ok(false);
        }
        let (after, base_tree) = self.tree_ids(after, base)?;
        Ok(match self.merge(base, before)? {
            MergeResult::Nothing => after == base_tree,
            MergeResult::Tree(merged) => after == merged,
            MergeResult::Conflict => false,
        })
    }

    /// The digest of the work on `sha` as the commit `new` lands it on `base`, once that has arrived in the source.
    pub fn landed_digest(&self, base: &str, new: &str, sha: &str) -> Result<String> {
        self.digest(self.by_source()?, &[base, new], &format!("{}..{sha}", self.begin(sha)?))
    }
}
