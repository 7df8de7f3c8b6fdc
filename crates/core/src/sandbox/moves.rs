//! Moves of ours over the repository outside and the private one: after a landing, onto what has landed meanwhile, and after a
//! branch that somebody has moved outside. Each is written down first, and settled before the next import.

use serde::{Deserialize, Serialize};

use super::{Sandbox, require_available};
use crate::error::{Failure, Result};
use crate::fs;
use crate::git::{Git, failed};
use crate::lock::Lock;
use crate::proc::Status;
use crate::text::shell_word;

/// A move that is under way.
#[derive(Serialize, Deserialize)]
struct Move {
    what: What,
    /// The agent's branch, in full.
    branch: String,
    from: String,
    to: String,
    /// The branch where work lands.
    base: String,
}

/// What is moved.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum What {
    /// The agent's branch and worktree, to another commit.
    Worktree,
    /// The agent's branch, to a commit whose files are in the worktree.
    Branch,
    /// The agent's work, which begins at `from`, onto `to`.
    Work,
}

/// `$1` to `$4`: the fields of a [`Move`]. What a script cannot do, it leaves.
const BEGIN: &str = r#"
git() { command git -c core.fsmonitor=false -c core.hooksPath=/dev/null "$@"; }
branch=$1 from=$2 to=$3 base=$4
at() { test "$(git rev-parse -q --verify HEAD)" = "$1"; }
is_own() { test "$(git symbolic-ref -q HEAD)" = "$branch"; }
is_clean() { test -z "$(git status --porcelain)"; }
in_rebase() { for dir in merge apply; do test -e "$(git rev-parse --git-path rebase-$dir)" && return; done; false; }
# The branch where work lands, unless the agent has put something of its own on it.
tell() {
    git update-ref "refs/remotes/origin/$base" "$to" || exit 9
    test "$(git symbolic-ref -q HEAD)" = "refs/heads/$base" && return
    if git rev-parse -q --verify "refs/heads/$base" > /dev/null; then
        git merge-base --is-ancestor "refs/heads/$base" "$to" || return 0
    fi
    git update-ref "refs/heads/$base" "$to"
}
put_onto() {
    git -c rebase.autoStash=false -c rebase.updateRefs=false -c rebase.autoSquash=false rebase -q --onto "$to" "$from" && exit 0
    in_rebase || exit 1
    git rebase --abort
    exit 9
}
# Of the files that differ from those of HEAD, puts back those that are as in the commit `to`, or gone.
put_back() {
    git diff-tree -r -z --no-renames --name-only HEAD "$to" > /tmp/differ
    (
        export GIT_INDEX_FILE=/tmp/written
        git read-tree "$to"
        git ls-files -z -m | git update-index -z --force-remove --stdin
        git diff-index -z --cached --no-renames --name-only --diff-filter=MT HEAD > /tmp/changed
        git diff-index -z --cached --no-renames --name-only --diff-filter=A HEAD |
            xargs -0 sh -c 'for file; do rm -f -- "$file"; rmdir -p -- "${file%/*}"; done' sh
    )
    git checkout-index -q -f -z --stdin < /tmp/changed
    git checkout-index -q -z --stdin < /tmp/differ
}
"#;

const WORKTREE: &str = r#"
at "$to" || { at "$from" && is_clean; } || exit 9
tell
# `checkout` would go on where it cannot write a file.
is_own || git checkout -q -B "${branch#refs/heads/}" HEAD || exit 1
at "$to" || git reset -q --keep "$to" || exit 1
"#;

const BRANCH: &str = r#"
at "$to" || { at "$from" && is_own && git reset -q "$to"; } || exit 9
"#;

const WORK: &str = r#"
tell
is_clean && ! in_rebase || exit 9
put_onto
"#;

/// The files of what was committed outside are in the worktree already. What differs both from them and from the agent's own
/// commit is a change.
const OUTSIDE: &str = r#"
changes() { git ls-files -m -o "$@" | sort -u; }
git diff-index --cached --quiet HEAD && ! in_rebase || exit 9
changes > /tmp/own
( export GIT_INDEX_FILE=/tmp/theirs; git read-tree "$to"; changes --exclude-standard ) | sort - /tmp/own | uniq -d | grep -q . && exit 9
put_back
is_clean || exit 9
put_onto
"#;

/// Takes back a move of ours over the worktree that failed or was killed on its way.
const UNDO: &str = r#"
if in_rebase; then
    test "$(cat "$(git rev-parse --git-path rebase-merge)/onto")" = "$to" && git rebase --abort
else
    put_back
fi
exit 9
"#;

impl Sandbox {
    /// Moves the agent's branch and worktree from one commit to another, where `base` is the branch on which work lands,
    /// which is there too. Returns `false`, and leaves everything, if the agent has gone on or has changes. Fails with the
    /// words of git, and everything is as it was, where git cannot do it.
    pub fn move_to(&self, branch: &str, (from, to): (&str, &str), base: &str) -> Result<bool> {
        let _lock = self.lock()?;
        self.begin(What::Worktree, &format!("refs/heads/{branch}"), (from, to), base)?;
        self.finish_move()
    }

    /// Follows a branch that was moved outside, with its files. The caller has the lock.
    pub(super) fn move_branch(&self, branch: &str, from: &str, to: &str) -> Result<bool> {
        self.begin(What::Branch, branch, (from, to), "")?;
        self.finish_move()
    }

    /// Puts the agent's work, which begins at `fork`, onto this commit of the branch on which it lands. Returns `false`, with
    /// the work as it was, if it conflicts or there are changes. Fails with the words of git, and everything is as it was,
    /// where git cannot do it.
    pub fn rebase(&self, base: &str, commit: &str, fork: &str) -> Result<bool> {
        let _lock = self.lock()?;
        self.finish_move()?;
        self.put_onto(WORK, (fork, commit), base)
    }

    /// Puts what the agent has committed onto what somebody has committed on its branch outside meanwhile, which the next
    /// import takes. Returns whether that is done, if somebody has: not if it conflicts or there are changes. Then nothing of
    /// what was committed outside is in the worktree, or all is as it was.
    pub fn rebase_onto_outside(&self) -> Result<Option<bool>> {
        let _lock = self.lock()?;
        self.finish_move()?;
        let Some((old, now)) = self.outside_move()? else { return Ok(None) };
        self.put_onto(OUTSIDE, (&old, &now), "").map(Some)
    }

    /// Where the last import has left the worktree's branch, and where it is now, if somebody has moved it outside.
    pub fn outside_move(&self) -> Result<Option<(String, String)>> {
        let git = Git::find(&self.env)?.common(&self.common_dir)?;
        let commit = |name: &str| git.text(&self.common_dir, &["rev-parse", "-q", "--verify", name]);
        let (old, now) = (commit(&self.own_ref("in"))?, commit(&self.branch()?)?);
        Ok((!old.is_empty() && !now.is_empty() && old != now).then_some((old, now)))
    }

    fn put_onto(&self, script: &str, (from, to): (&str, &str), base: &str) -> Result<bool> {
        let open = self.begin(What::Work, "", (from, to), base)?;
        match self.run_script(script, &open) {
            Err(failure) => self.finish_move().and(Err(failure)),
            done => fs::remove(&self.dir.join("move")).and(done),
        }
    }

    /// Tells the private repository where the branch is on which work lands.
    pub fn tell_base(&self, base: &str, commit: &str) -> bool {
        let [branch, from, to, base] = [String::new(), String::new(), commit.into(), base.into()];
        matches!(self.run_script("\ntell\n", &Move { what: What::Work, branch, from, to, base }), Ok(true))
    }

    pub(super) fn lock(&self) -> Result<Lock> {
        Lock::take(&self.dir.join("import.lock"))
    }

    fn begin(&self, what: What, branch: &str, (from, to): (&str, &str), base: &str) -> Result<Move> {
        let [branch, from, to, base] = [branch, from, to, base].map(str::to_owned);
        let open = Move { what, branch, from, to, base };
        let text = serde_json::to_vec(&open).map_err(|e| Failure::failed("cannot write a journal").because(e))?;
        fs::replace(&self.dir.join("move"), &text, Some(fs::PRIVATE)).map(|()| open)
    }

    /// Whether a script of ours did what it is for, and was not to leave it. What the agent's own programs do to it is the
    /// agent's affair: it is not tried again.
    fn run_script(&self, script: &str, open: &Move) -> Result<bool> {
        let Move { what, branch, from, to, base } = open;
        let output = self.inside(&format!("{BEGIN}{script}"), &[branch, from, to, base])?;
        let way = match what {
            What::Work => format!("rebase --onto {to} {from}"),
            What::Worktree | What::Branch => format!("reset --keep {to}"),
        };
        let failure = || failed("in the sandbox", &output);
        match output.status {
            Status::Exited(0) => Ok(true),
            Status::Exited(9) => Ok(false),
            // How a program inside ended is an exit code here.
            Status::Signalled(_) => Err(Failure::failed(format!("the sandbox ended with {}", output.status))
                .hint("run the same command again, which goes on from there")),
            // What was committed outside is there already.
            _ if base.is_empty() => Err(failure()),
            // Hooks in the worktree are the agent's, and nobody has looked at them.
            _ => Err(failure().hint(format!(
                "the files are as they were; what cannot be written inside, as hooks in the worktree, can be outside: \
                 `git -C {} -c core.hooksPath=/dev/null {way}`",
                shell_word(&self.worktree)
            ))),
        }
    }

    /// Finishes a move that a kill interrupted. Returns whether the last one was carried out. One of which nobody knows how far
    /// it got stays open.
    pub(super) fn finish_move(&self) -> Result<bool> {
        let journal = self.dir.join("move");
        let Some(text) = fs::read_no_follow(&journal)? else { return Ok(true) };
        let open =
            serde_json::from_slice::<Move>(&text).map_err(|e| Failure::failed("a journal is damaged").because(e));
        let open @ Move { branch, from, to, .. } = &open?;
        let script = match open.what {
            What::Worktree => WORKTREE,
            What::Branch => BRANCH,
            What::Work => UNDO,
        };
        let moved = self.run_script(script, open);
        if moved.is_err() {
            // Where no sandbox can be made now, nothing was tried.
            require_available(&self.env)?;
        }
        if open.what == What::Worktree && moved.is_err() {
            // Why the move failed is told.
            let _ = self.run_script(UNDO, open);
        }
        // It may have been done. Then what is recorded outside has to follow.
        if moved.as_ref().is_err_and(|failure| ["failed", "interrupted"].contains(&failure.kind)) {
            return moved;
        }
        if matches!(moved, Ok(true)) {
            let git = Git::find(&self.env)?.common(&self.common_dir)?;
            let (own, pin) = (self.own_ref("in"), self.own_ref("box"));
            let now = git.cmd(&self.common_dir).args(["rev-parse", "-q", "--verify", branch]).capture()?.text();
            let both = if now == *from { format!("update {branch} {to} {from}\n") } else { String::new() };
            self.update_refs(&git, format!("{both}update {own} {to}\nupdate {pin}/{to} {to}\n"))?;
            if open.what == What::Branch {
                // Whoever has moved it has moved the index as well.
                self.index_is_at(to)?;
            }
            self.follow(to);
        }
        fs::remove(&journal).and(moved)
    }
}
