//! Moves of ours over the repository outside and the private one: after a landing, and onto what has landed meanwhile. Each
//! is written down first, and repeated before the next import.

use serde::{Deserialize, Serialize};

use super::Sandbox;
use crate::error::{Failure, Result};
use crate::fs;
use crate::git::{Git, failed};
use crate::lock::Lock;

/// A move that is under way: the branch, where it was and where it goes, and where the work lands, with its commit.
#[derive(Serialize, Deserialize)]
struct Move {
    branch: String,
    from: String,
    to: String,
    base: String,
}

/// `$1`: the branch, `$2`: from, `$3`: to, `$4`: the branch where work lands. Exits with 9 where the agent has gone on.
const MOVE: &str = r#"
git() { command git -c core.fsmonitor=false -c core.hooksPath=/dev/null "$@"; }
here() { test "$(git rev-parse -q --verify HEAD)" = "$1" && test "$(git symbolic-ref -q HEAD)" = "$branch"; }
branch=$1
here "$3" || { here "$2" && test -z "$(git status --porcelain)"; } || exit 9
for ref in "refs/remotes/origin/$4" "refs/heads/$4"; do
    test "$ref" = "$branch" || git update-ref "$ref" "$3" || exit 1
done
here "$3" || git reset -q --keep "$3" || exit 9
"#;

/// `$1`: the branch where work lands, `$2`: its commit, `$3`: where the agent's work begins. Exits with 9 on a conflict.
const REBASE: &str = r#"
git() { command git -c core.fsmonitor=false -c core.hooksPath=/dev/null "$@"; }
git update-ref "refs/remotes/origin/$1" "$2" && git update-ref "refs/heads/$1" "$2" || exit 1
test -z "$3" && exit 0
test -z "$(git status --porcelain)" || exit 9
git -c rebase.autoStash=false -c rebase.updateRefs=false -c rebase.autoSquash=false rebase -q --onto "$2" "$3" && exit 0
git rebase --abort
exit 9
"#;

impl Sandbox {
    /// Moves the agent's branch and worktree from one commit to another, where `base` is the branch on which work lands,
    /// which is there too. Returns `false`, and leaves everything, if the agent has gone on or has changes.
    pub fn move_to(&self, branch: &str, (from, to): (&str, &str), base: &str) -> Result<bool> {
        let [branch, from, to, base] = [format!("refs/heads/{branch}"), from.into(), to.into(), base.into()];
        let open = Move { branch, from, to, base };
        let _lock = Lock::take(&self.dir.join("import.lock"))?;
        let text = serde_json::to_vec(&open).map_err(|e| Failure::failed("cannot write a journal").because(e))?;
        fs::replace(&self.dir.join("move"), &text, Some(fs::PRIVATE))?;
        self.finish_move()
    }

    /// Finishes a move that a kill interrupted. Returns whether the last one was carried out.
    pub(super) fn finish_move(&self) -> Result<bool> {
        let journal = self.dir.join("move");
        let Some(text) = fs::read_no_follow(&journal)? else { return Ok(true) };
        let open: Move =
            serde_json::from_slice(&text).map_err(|e| Failure::failed("a journal is damaged").because(e))?;
        let Move { branch, from, to, base } = &open;
        let output = match self.inside(MOVE, &[branch, from, to, base]) {
            // The agent's own programs do not let it end, and would not the next time.
            Err(failure) if failure.kind == "deadline" => return fs::remove(&journal).map(|()| false),
            output => output?,
        };
        let is_moved = match output.status.code() {
            0 => true,
            9 => false,
            _ => return Err(failed("reset", &output)),
        };
        if is_moved {
            let git = Git::find(&self.env)?.common(&self.common_dir)?;
            let (own, pin) = (self.own_ref("in"), self.own_ref("box"));
            let now = git.cmd(&self.common_dir).args(["rev-parse", "-q", "--verify", branch]).capture()?.text();
            let both = if now == *from { format!("update {branch} {to} {from}\n") } else { String::new() };
            self.update_refs(&git, format!("{both}update {own} {to}\nupdate {pin}/{to} {to}\n"))?;
            self.follow(to);
        }
        fs::remove(&journal)?;
        Ok(is_moved)
    }

    /// Puts the agent's work, which begins at `fork`, onto this commit of the branch on which it lands, or only tells the
    /// private repository of that. Returns `false`, with the work as it was, if it conflicts or there are changes.
    pub fn rebase(&self, base: &str, commit: &str, fork: Option<&str>) -> Result<bool> {
        let output = self.inside(REBASE, &[base, commit, fork.unwrap_or_default()])?;
        match output.status.code() {
            0 => Ok(true),
            9 => Ok(false),
            _ => Err(failed("rebase", &output)),
        }
    }
}
