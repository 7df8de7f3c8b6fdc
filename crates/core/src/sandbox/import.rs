//! How an agent's commits come in: as from a stranger. Inside a sandbox of its own, git tells the agent's commit by its id
//! and packs what is new; outside, everything is looked at in quarantine before a ref moves.

use std::time::Duration;

use super::incoming::{Incoming, MEMORY, NOT_PACKED, allow, refused};
use super::{REFUSED, Sandbox, objects, require_available};
use crate::error::{Failure, Result};
use crate::fs;
use crate::git::{Git, OPERATION_HEADS, run_git, tips_of};
use crate::proc::Cmd;
use crate::text::printable;

/// How long git may look for the agent's commit.
const GLANCE: Duration = Duration::from_secs(10);

/// How many commits are kept that only a log inside names. An agent can write it.
const MOST_DROPPED: usize = 100;

/// How much of what git complains of is read.
const MOST_OF_WORDS: u64 = 4 << 10;

/// What follows the stamp of an import that was refused.
const WAS_REFUSED: &[u8] = b" refused";

/// git in a sandbox of its own, in a git directory of ours that has the agent's refs and objects.
const LOOK: &str = "cd /g && mkdir objects && printf '%s\\n' '[core]' 'repositoryformatversion = 1' 'bare = true' '[extensions]' \
    \"objectformat = $FORMAT\" > config && cp /box/git/worktrees/\"$NAME\"/HEAD HEAD && ln -s /box/git/refs refs && \
    { [ ! -e /box/git/packed-refs ] || cp /box/git/packed-refs packed-refs; } && \
    export GIT_DIR=/g GIT_OBJECT_DIRECTORY=/box/git/objects GIT_ALTERNATE_OBJECT_DIRECTORIES=\"$ALTERNATES\" && ";

/// What an agent has made besides: its refs, the stashes that only a log names, and what only a worktree inside names.
fn own() -> String {
    let named = named_in(&[&OPERATION_HEADS[..], &["HEAD", "sequencer/todo", "refs"]].concat());
    format!(
        "echo HEAD; git for-each-ref --format='%(objectname)'; \
        [ ! -e /box/git/logs/refs/stash ] || cut -d ' ' -f 2 /box/git/logs/refs/stash; {named}"
    )
}

/// What these files of the worktrees inside name; of a log, where it was before each step.
fn named_in(files: &[&str]) -> String {
    let files: String = files.iter().map(|name| format!(" /box/git/worktrees/*/{name}")).collect();
    format!("find{files} -type f -exec sed -nE 's/^([a-z]+ )?([0-9a-f]{{4,64}})( .*)?$/\\2/p' {{}} + 2> /dev/null")
}

fn is_id(id: &str) -> bool {
    [40, 64].contains(&id.len()) && id.bytes().all(|b| b.is_ascii_hexdigit())
}

/// What came of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Imported {
    /// The agent has made nothing since the last one.
    Nothing,
    /// The branch is at this commit now; the agent's HEAD was on another branch, if one is named.
    Commit(String, Option<String>),
}

impl Sandbox {
    /// Brings the agent's commit onto the worktree's branch. Exit 1, kind `import_refused`, for what nobody should take, and
    /// where somebody else has moved the branch meanwhile; nothing has changed then.
    pub fn import(&self) -> Result<Imported> {
        if !self.is_made() {
            return Ok(Imported::Nothing);
        }
        let _lock = self.lock()?;
        if !self.is_made() {
            return Ok(Imported::Nothing);
        }
        let seen = self.moved_stamp();
        let imported = self.import_head();
        // What was refused is looked at again when something has happened there.
        let end = match &imported {
            Ok(_) => &b""[..],
            Err(failure) if REFUSED.is_kind_of(failure) => WAS_REFUSED,
            Err(_) => return imported,
        };
        fs::replace(&self.dir.join("seen"), &[&seen[..], end].concat(), Some(fs::PRIVATE))?;
        imported
    }

    /// The caller has the lock.
    fn import_head(&self) -> Result<Imported> {
        self.finish_move()?;
        let git = Git::find(&self.env)?.common(&self.common_dir)?;
        let old = git.text(&self.common_dir, &["rev-parse", "-q", "--verify", &self.own_ref("in")])?;
        let branch = self.branch()?;
        if !is_id(&old) || !branch.starts_with("refs/heads/") {
            let why = format!("{} is on no branch any more", self.worktree.display());
            return Err(REFUSED.failure(why).hint("check its branch out again outside of the sandbox"));
        }
        let format = if old.len() == 40 { "sha1" } else { "sha256" };
        let (tip, other) = self.tip(format, &branch)?;
        if tip == "busy" {
            return Ok(Imported::Nothing);
        }
        if !is_id(&tip) {
            require_available(&self.env)?;
            return Err(refused("its HEAD names no commit that git can read"));
        }
        let now = git.text(&self.common_dir, &["rev-parse", "-q", "--verify", &branch])?;
        if tip == old {
            // Somebody has committed in the worktree outside, or landed work on its branch.
            if now != old && is_id(&now) {
                self.move_branch(&branch, &old, &now)?;
            }
            let at = git.text(&self.common_dir, &["rev-parse", "-q", "--verify", &self.own_ref("in")])?;
            self.follow(&at);
            return Ok(Imported::Nothing);
        }
        if now != tip {
            self.take(&git, format, &[&tip])?;
        }
        // What a person has committed there meanwhile may be in it.
        let is_above = |now: &str| -> Result<bool> {
            let cmd = git.cmd(&self.common_dir).args(["merge-base", "--is-ancestor", now, &tip]);
            Ok(is_id(now) && cmd.capture()?.status.success())
        };
        if now != old && !is_above(&now)? {
            return Err(self.moved_outside(&branch, &old, &now));
        }
        let (own, pin) = (self.own_ref("in"), self.own_ref("box"));
        self.update_refs(
            &git,
            format!("update {branch} {tip} {now}\nupdate {own} {tip} {old}\nupdate {pin}/{tip} {tip}\n"),
        )?;
        if now != old {
            // Whoever has moved the branch in the worktree has moved the index as well.
            self.follow(&now);
        }
        self.follow(&tip);
        Ok(Imported::Commit(tip, other))
    }

    /// The branch of the worktree outside, in full.
    pub(super) fn branch(&self) -> Result<String> {
        let head = fs::read_no_follow(&self.record.join("HEAD"))?.unwrap_or_default();
        let named = String::from_utf8_lossy(&head).trim().strip_prefix("ref: ").unwrap_or_default().to_owned();
        // Where refs are in tables, the file says nothing.
        if named != "refs/heads/.invalid" {
            return Ok(named);
        }
        let git = Git::find(&self.env)?.guarded(&self.common_dir, &self.worktree)?;
        Ok(git.cmd(&self.worktree).args(["symbolic-ref", "-q", "HEAD"]).capture()?.text())
    }

    /// What would go with the sandbox: commits that only branches, tags, stashes and worktrees of the agent's own name, and
    /// what was refused.
    pub fn losses(&self) -> Result<Option<String>> {
        let output = self.look_for_new("--count", &own())?.capture();
        Ok(match output.map(|output| (output.status.success(), output.text())) {
            Ok((true, count)) if count == "0" => None,
            Ok((true, count)) if count.bytes().all(|b| b.is_ascii_digit()) => {
                Some(format!("{count} commits that are nowhere else"))
            }
            _ => Some("a repository that cannot be read".into()),
        })
    }

    /// The commits that would go with the sandbox too, and nobody counts: those that were imported and that the branch
    /// has left, and those that only a log of HEAD inside still names. A failure says that they cannot all be taken.
    pub fn dropped(&self) -> Result<Vec<String>> {
        let _lock = self.lock()?;
        let (git, format) = (Git::find(&self.env)?.common(&self.common_dir)?, self.format()?);
        let logged = self.look_for_new("--parents", &named_in(&["logs/HEAD"]))?.capture()?;
        let mut tips = tips_of(&logged.text());
        if !logged.status.success() || tips.len() > MOST_DROPPED {
            return Err(refused("the log of its HEAD cannot be taken in"));
        }
        if !tips.is_empty() {
            self.take(&git, format, &tips.iter().map(String::as_str).collect::<Vec<_>>())?;
        }
        tips.push(format!("--glob={}/*", self.own_ref("box")));
        git.only_named(&self.common_dir, tips)
    }

    /// `git rev-list` inside, of what these commands name and nothing outside has.
    fn look_for_new(&self, how: &str, names: &str) -> Result<Cmd> {
        let git = Git::find(&self.env)?.common(&self.common_dir)?;
        let refs = ["for-each-ref", "--format=^%(objectname)", "refs/heads", "refs/shopfloor"];
        let known = run_git("for-each-ref", git.cmd(&self.common_dir).args(refs))?;
        let line = format!("{{ {names}; cat; }} | git rev-list {how} --ignore-missing --stdin");
        Ok(self.look(self.format()?, &line)?.input(known).within(GLANCE))
    }

    /// Keeps all that the agent has committed below this ref outside.
    pub fn keep(&self, below: &str) -> Result<()> {
        let _lock = self.lock()?;
        let git = Git::find(&self.env)?.common(&self.common_dir)?;
        let format = self.format()?;
        // What it names and does not have is no work.
        let line = format!("{{ {}; }} | git rev-list --no-walk=unsorted --ignore-missing --stdin", own());
        let listed = self.look(format, &line)?;
        let listed = listed.within(GLANCE).capture()?;
        let text = listed.text();
        let mut tips: Vec<&str> = text.lines().filter(|id| is_id(id)).collect();
        tips.sort_unstable();
        tips.dedup();
        if !listed.status.success() || tips.is_empty() {
            let why = String::from_utf8_lossy(&listed.stderr);
            return Err(refused("git cannot read what it has made").because(anyhow::anyhow!(printable(why.trim()))));
        }
        let most = self.settings.limits.commits;
        if tips.len() > most {
            let why = format!("it has {} branches, tags and stashes, and {most} are allowed", tips.len());
            return Err(refused(&why).hint(allow(&self.settings)));
        }
        self.take(&git, format, &tips)?;
        self.update_refs(&git, tips.iter().map(|tip| format!("update {below}/{tip} {tip}\n")).collect())
    }

    fn format(&self) -> Result<&'static str> {
        let git = Git::find(&self.env)?.common(&self.common_dir)?;
        let ask = git.cmd(&self.common_dir).args(["rev-parse", "-q", "--verify", &self.own_ref("in")]);
        Ok(if ask.capture()?.text().len() == 64 { "sha256" } else { "sha1" })
    }

    /// Whether the agent has done something with its HEAD since the last import, as far as the times of files tell.
    pub fn has_moved(&self) -> bool {
        let seen = self.seen();
        self.moved_stamp() != seen.strip_suffix(WAS_REFUSED).unwrap_or(&seen)
    }

    /// Whether an import, whoever began it, has taken all that the agent has committed, as far as the times of files tell.
    pub fn is_taken_in(&self) -> bool {
        self.moved_stamp() == self.seen()
    }

    fn seen(&self) -> Vec<u8> {
        fs::read_no_follow(&self.dir.join("seen")).ok().flatten().unwrap_or_default()
    }

    fn moved_stamp(&self) -> Vec<u8> {
        let record = self.git_dir().join("worktrees").join(self.name());
        let files = ["HEAD", "logs/HEAD", "rebase-merge"].map(|name| record.join(name));
        let times = files.map(|file| file.symlink_metadata().and_then(|meta| meta.modified()).ok());
        // What was refused may be taken by other settings.
        format!("{times:?} {} {:?}", self.settings.gitlinks, self.settings.limits).into_bytes()
    }

    /// The commit that the agent's HEAD names, and the branch that it is on, if that is another one.
    fn tip(&self, format: &str, branch: &str) -> Result<(String, Option<String>)> {
        let line = "cd /box/git/worktrees/\"$NAME\"; [ -e rebase-merge ] || [ -e rebase-apply ] || [ -e BISECT_LOG ] && echo busy; cd /g; \
            git rev-parse -q --verify 'HEAD^{commit}'; git symbolic-ref -q HEAD";
        let output = self.look(format, line)?.within(GLANCE).capture();
        let text = output.map_err(|_| refused("its HEAD cannot be read")).map(|output| output.text())?;
        let mut lines = text.lines();
        let tip = lines.next().unwrap_or_default().to_owned();
        let named = lines
            .next()
            .filter(|name| *name != branch)
            .map(|name| printable(&name.chars().take(100).collect::<String>()));
        Ok((tip, named))
    }

    fn look(&self, format: &str, line: &str) -> Result<Cmd> {
        let alternates: Vec<String> =
            objects::inside(&self.common_dir, "/objects").into_iter().map(|(_, inside)| inside).collect();
        let cmd = self.contained_cmd(true, &format!("{LOOK}{{ {line}; }}"))?;
        let cmd = cmd.var("NAME", self.name()).var("FORMAT", format).var("ALTERNATES", alternates.join(":"));
        let cmd = cmd
            .var("GIT_CONFIG_NOSYSTEM", "1")
            .var("GIT_CONFIG_GLOBAL", "/dev/null")
            .var("GIT_NO_REPLACE_OBJECTS", "1");
        let cmd =
            cmd.var("GIT_NO_LAZY_FETCH", "1").var("GIT_GRAFT_FILE", "/dev/null").var("GIT_SHALLOW_FILE", "/shallow");
        Ok(cmd.with_memory(MEMORY))
    }

    /// Brings in these commits with all that they lead to.
    fn take(&self, git: &Git, format: &str, tips: &[&str]) -> Result<()> {
        let line = "git -c pack.threads=1 -c pack.windowMemory=64m pack-objects -q --revs --stdout";
        let known = ["for-each-ref", "--format=^%(objectname)", "refs/heads", &self.own_ref("box")];
        let known = run_git("for-each-ref", git.cmd(&self.common_dir).args(known))?;
        let revisions = [tips.join("\n").as_bytes(), b"\n", &known].concat();
        let incoming = Incoming { dir: &self.dir, common_dir: &self.common_dir, settings: &self.settings };
        let said = fs::in_memory();
        let packing = self.look(format, line)?.input(revisions);
        let packing = said.iter().filter_map(|said| said.try_clone().ok()).fold(packing, Cmd::error_file);
        incoming.take(git, tips, packing, &|status| {
            if !status.success() {
                require_available(&self.env)?;
            }
            let words = said.as_ref().and_then(|said| fs::read_tail(said, MOST_OF_WORDS).ok()).unwrap_or_default();
            let words = printable(String::from_utf8_lossy(&words).trim().lines().last().unwrap_or_default());
            match status.success() || words.is_empty() {
                true => Ok(()),
                false => Err(refused(NOT_PACKED).because(anyhow::anyhow!(words))),
            }
        })
    }

    /// Brings the index outside on to what the branch is at. Where somebody has staged something else there, it stays. It is
    /// tried again at each import until it is done, as a kill may come in between.
    pub(super) fn follow(&self, tip: &str) {
        let is_at = self.dir.join("index-at");
        let follow = || -> Result<()> {
            let old = fs::read_no_follow(&is_at)?.unwrap_or_default();
            let old = String::from_utf8_lossy(&old).into_owned();
            if old != tip && is_id(&old) {
                let git = Git::find(&self.env)?.guarded(&self.common_dir, &self.worktree)?;
                run_git("read-tree", git.cmd_alone(&self.worktree).args(["read-tree", "-i", "-m", &old, tip]))?;
            }
            self.index_is_at(tip)
        };
        let _ = follow();
    }

    pub(super) fn index_is_at(&self, tip: &str) -> Result<()> {
        fs::replace(&self.dir.join("index-at"), tip.as_bytes(), Some(fs::PRIVATE))
    }

    fn moved_outside(&self, branch: &str, old: &str, now: &str) -> Failure {
        let name = branch.strip_prefix("refs/heads/").unwrap_or(branch);
        let short = |id: &str| id[..id.len().min(12)].to_owned();
        let way = format!("`git rebase --onto {} {}`", short(now), short(old));
        refused(&format!(
            "{name} was moved outside of the sandbox; let the agent commit all that is there and take that in: {way}, as \
             `worker-ctl rebase NAME` does for a worker"
        ))
    }
}
