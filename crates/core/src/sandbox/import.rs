//! How an agent's commits come in: as from a stranger. Inside a sandbox of its own, git tells the agent's commit by its id
//! and packs what is new; outside, everything is looked at in quarantine before a ref moves.

use std::collections::HashMap;
use std::fs::File;
use std::io::Seek;
use std::path::Path;
use std::time::Duration;

use super::{REFUSED, Sandbox, bytes, objects};
use crate::error::{Failure, Result};
use crate::fs;
use crate::git::{Git, nul_fields, run_git};
use crate::proc::Cmd;
use crate::text::printable;

/// What an import takes at most, beside what the settings say: bytes of the pack if all objects have no more than four times
/// that, bytes of directories, files of a commit.
const MOST_OF_PACK: usize = 512 << 20;
const MOST_OF_TREES: u64 = 200_000_000;
const MOST_FILES: usize = 1_000_000;
const DEEPEST: usize = 1_000;
/// The memory that git may use for it.
const MEMORY: u64 = 4 << 30;
/// Of their names.
const MOST_OF_NAMES: usize = 200_000_000;
const NAMES_LIMIT: Duration = Duration::from_secs(10);

/// How long git may look for the agent's commit.
const GLANCE: Duration = Duration::from_secs(10);

/// git in a sandbox of its own, in a git directory of ours that has the agent's refs and objects.
const LOOK: &str = "cd /g && mkdir objects && printf '%s\\n' '[core]' 'repositoryformatversion = 1' 'bare = true' '[extensions]' \
    \"objectformat = $FORMAT\" > config && cp /box/git/worktrees/\"$NAME\"/HEAD HEAD && ln -s /box/git/refs refs && \
    { [ ! -e /box/git/packed-refs ] || cp /box/git/packed-refs packed-refs; } && \
    export GIT_DIR=/g GIT_OBJECT_DIRECTORY=/box/git/objects GIT_ALTERNATE_OBJECT_DIRECTORIES=\"$ALTERNATES\" && ";

/// What an agent has made besides: its refs, and the stashes that only a log names.
const OWN: &str = "echo HEAD; git for-each-ref --format='%(objectname)'; \
    [ ! -e /box/git/logs/refs/stash ] || cut -d ' ' -f 2 /box/git/logs/refs/stash";

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
        let seen = self.moved_stamp();
        let imported = self.import_head();
        // What was refused is looked at again when something has happened there.
        if imported.as_ref().map_or_else(|failure| REFUSED.is_kind_of(failure), |_| true) {
            fs::replace(&self.dir.join("seen"), &seen, Some(fs::PRIVATE))?;
        }
        imported
    }

    fn import_head(&self) -> Result<Imported> {
        let _lock = self.lock()?;
        if !self.is_made() {
            return Ok(Imported::Nothing);
        }
        self.finish_move()?;
        let git = Git::find(&self.env)?.common(&self.common_dir)?;
        let ask = |args: &[&str]| -> Result<String> {
            Ok(git.cmd(&self.common_dir).args(args.iter().copied()).capture()?.text())
        };
        let old = ask(&["rev-parse", "-q", "--verify", &self.own_ref("in")])?;
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
            return Err(refused("its HEAD names no commit"));
        }
        let now = ask(&["rev-parse", "-q", "--verify", &branch])?;
        if tip == old {
            // Somebody has committed in the worktree outside, or landed work on its branch.
            if now != old && is_id(&now) {
                self.move_branch(&branch, &old, &now)?;
            }
            let at = ask(&["rev-parse", "-q", "--verify", &self.own_ref("in")])?;
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
        self.follow(&tip);
        Ok(Imported::Commit(tip, other))
    }

    /// The branch of the worktree outside, in full.
    fn branch(&self) -> Result<String> {
        let head = fs::read_no_follow(&self.record.join("HEAD"))?.unwrap_or_default();
        let named = String::from_utf8_lossy(&head).trim().strip_prefix("ref: ").unwrap_or_default().to_owned();
        // Where refs are in tables, the file says nothing.
        if named != "refs/heads/.invalid" {
            return Ok(named);
        }
        let git = Git::find(&self.env)?.guarded(&self.common_dir, &self.worktree)?;
        Ok(git.cmd(&self.worktree).args(["symbolic-ref", "-q", "HEAD"]).capture()?.text())
    }

    /// What would go with the sandbox: commits on branches, tags and stashes of the agent's own, and what was refused.
    pub fn losses(&self) -> Result<Option<String>> {
        let git = Git::find(&self.env)?.common(&self.common_dir)?;
        let refs = ["for-each-ref", "--format=^%(objectname)", "refs/heads", "refs/shopfloor"];
        let known = run_git("for-each-ref", git.cmd(&self.common_dir).args(refs))?;
        let line = format!("{{ {OWN}; cat; }} | git rev-list --count --ignore-missing --stdin");
        let output = self.look(self.format()?, &line)?.input(known).within(GLANCE).capture();
        Ok(match output.map(|output| (output.status.success(), output.text())) {
            Ok((true, count)) if count == "0" => None,
            Ok((true, count)) if count.bytes().all(|b| b.is_ascii_digit()) => {
                Some(format!("{count} commits that are nowhere else"))
            }
            _ => Some("a repository that cannot be read".into()),
        })
    }

    /// Keeps all that the agent has committed below this ref outside.
    pub fn keep(&self, below: &str) -> Result<()> {
        let _lock = self.lock()?;
        let git = Git::find(&self.env)?.common(&self.common_dir)?;
        let format = self.format()?;
        let listed = self.look(format, &format!("{{ {OWN}; }} | git rev-list --no-walk=unsorted --stdin"))?;
        let listed = listed.within(GLANCE).capture()?.text();
        let mut tips: Vec<&str> = listed.lines().filter(|id| is_id(id)).collect();
        tips.sort_unstable();
        tips.dedup();
        if tips.is_empty() || tips.len() > self.settings.limits.commits {
            return Err(refused(&format!("it has {} branches, tags and stashes", tips.len())));
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
        self.moved_stamp() != fs::read_no_follow(&self.dir.join("seen")).ok().flatten().unwrap_or_default()
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

    /// Packs what is new, looks at it in quarantine, and puts it among the objects outside.
    fn take(&self, git: &Git, format: &str, tips: &[&str]) -> Result<()> {
        let quarantine = self.dir.join("incoming");
        // What a killed import left.
        fs::remove_tree(&quarantine)?;
        fs::create_private_dir(&quarantine)?;
        let taken = self.take_through(&quarantine, git, format, tips);
        fs::remove_tree(&quarantine)?;
        taken
    }

    fn take_through(&self, quarantine: &Path, git: &Git, format: &str, tips: &[&str]) -> Result<()> {
        let line = "git -c pack.threads=1 -c pack.windowMemory=64m pack-objects -q --revs --stdout";
        let known = ["for-each-ref", "--format=^%(objectname)", "refs/heads", &self.own_ref("box")];
        let known = run_git("for-each-ref", git.cmd(&self.common_dir).args(known))?;
        let revisions = [tips.join("\n").as_bytes(), b"\n", &known].concat();
        let packing = self.look(format, line)?.input(revisions);
        let limit = Duration::from_secs(self.settings.limits.seconds.max(1));
        let most = usize::try_from(self.most_of_all() / 4).unwrap_or(usize::MAX).max(MOST_OF_PACK);
        let packed = packing.into_file(fs::scratch(quarantine)?, limit, most)?;
        let Some((status, pack)) = packed else {
            let why = format!("what is new takes longer than {} s or more than {most} bytes to pack", limit.as_secs());
            return Err(refused(&why).hint(ALLOW));
        };
        if !status.success() {
            return Err(refused("objects of its commits are missing or damaged"));
        }
        fs::create_dir(&quarantine.join("pack"))?;
        let objects = self.common_dir.join("objects");
        let there = |cmd: Cmd| {
            let cmd = cmd.var("GIT_OBJECT_DIRECTORY", quarantine).var("GIT_ALTERNATE_OBJECT_DIRECTORIES", &objects);
            cmd.within(limit).with_memory(MEMORY)
        };
        let index = ["index-pack", "--stdin", "--strict", &format!("--max-input-size={most}")];
        let checked = there(git.cmd_alone(&self.common_dir)).args(index).input_file(again(&pack)?).capture()?;
        if !checked.status.success() {
            let why = String::from_utf8_lossy(&checked.stderr);
            return Err(refused("git finds fault with its objects").because(anyhow::anyhow!(printable(why.trim()))));
        }
        self.judge(&there(git.cmd_alone(&self.common_dir)), tips)?;
        let index = git.cmd_alone(&self.common_dir).args(["index-pack", "--stdin"]);
        run_git("index-pack", index.input_file(again(&pack)?).within(limit)).map(drop)
    }

    fn most_of_all(&self) -> u64 {
        bytes(&self.settings.limits.total).unwrap_or(0)
    }

    /// Refuses what would be too much for whoever looks at the work, and what git outside would follow elsewhere.
    fn judge(&self, git: &Cmd, tips: &[&str]) -> Result<()> {
        let listing = ["rev-list", "--objects", "--no-object-names", "--stdin", "--not", "--all"];
        let new = run_git("rev-list", git.clone().args(listing).input(tips.join("\n").into_bytes()))?;
        let sizes = ["cat-file", "--batch-check=%(objecttype) %(objectsize) %(objectname)"];
        let sizes = run_git("cat-file", git.clone().args(sizes).input(new))?;
        let (mut all, mut shown, mut tops, mut trees) = (0, 0, Vec::new(), Vec::new());
        let most_of_object = bytes(&self.settings.limits.object).unwrap_or(0);
        for line in String::from_utf8_lossy(&sizes).lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [kind, size, id] = words[..] else { return Err(refused("objects of its commits are missing")) };
            let size: u64 = size.parse().map_err(|_| refused("objects of its commits are missing"))?;
            all += size;
            if size > most_of_object {
                return Err(
                    refused(&format!("an object has {size} bytes, and {most_of_object} are allowed")).hint(ALLOW)
                );
            }
            match kind {
                "commit" => tops.push(id.to_owned()),
                "tree" => trees.push(id.to_owned()),
                _ => continue,
            }
            shown += size;
        }
        if shown > MOST_OF_TREES {
            return Err(refused(&format!("its commits and directories have more than {MOST_OF_TREES} bytes")));
        }
        let commits = tops.len();
        let (most_commits, most_of_all) = (self.settings.limits.commits, self.most_of_all());
        if commits > most_commits || all > most_of_all {
            let most = format!("{most_commits} commits and {most_of_all} bytes are allowed");
            return Err(refused(&format!("there are {commits} new commits with {all} bytes, and {most}")).hint(ALLOW));
        }
        let trees = Trees::read(git, &trees, tips[0].len() / 2, self.settings.gitlinks)?;
        let tops = tops.iter().flat_map(|top| format!("{top}^{{tree}}\n").into_bytes()).collect();
        let roots = git.clone().args(["cat-file", "--batch-check=%(objectname)"]).input(tops);
        let mut counts = HashMap::new();
        for root in String::from_utf8_lossy(&run_git("cat-file", roots)?).lines() {
            trees.count(root, 0, &mut counts)?;
        }
        for tip in tips {
            let names = git.clone().args(["ls-tree", "-r", "-z", "--name-only", *tip]);
            let listed = names.capture_within(fs::scratch(&self.dir)?, NAMES_LIMIT, MOST_OF_NAMES)?;
            let listed = listed.filter(|listed| listed.status.success());
            if listed.is_none_or(|listed| nul_fields(&listed.stdout).count() > MOST_FILES) {
                return Err(too_many_files());
            }
        }
        Ok(())
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
        let way = format!("let the agent take that in: `git rebase --onto {} {}`", short(now), short(old));
        refused(&format!("{name} was moved outside of the sandbox; {way}"))
    }
}

/// New directories, each with the directories in it and the number of its files.
struct Trees(HashMap<String, (Vec<String>, usize)>);

impl Trees {
    /// Reads these trees, whose ids have so many bytes. Refuses what is neither a file, a link nor a directory: git takes any
    /// other mode for that of a submodule, and looks for a repository there.
    fn read(git: &Cmd, ids: &[String], id_length: usize, has_gitlinks: bool) -> Result<Trees> {
        let input = ids.iter().flat_map(|tree| [tree.as_bytes(), b"\n"].concat()).collect();
        let all = run_git("cat-file", git.clone().args(["cat-file", "--batch=%(objectsize)"]).input(input))?;
        let (mut rest, mut trees) = (&all[..], HashMap::new());
        for id in ids {
            let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            let size = std::str::from_utf8(&rest[..end]).ok().and_then(|size| size.parse::<usize>().ok());
            let tree = size.and_then(|size| rest.get(end + 1..)?.get(..size));
            let mut tree = tree.ok_or_else(|| refused("a tree of its commits cannot be read"))?;
            rest = rest.get(end + 2 + tree.len()..).unwrap_or_default();
            let (mut dirs, mut files) = (Vec::new(), 0);
            while let Some(name_end) = tree.iter().position(|byte| *byte == 0) {
                let blank = tree.iter().position(|byte| *byte == b' ').unwrap_or(name_end);
                let child = tree.get(name_end + 1..name_end + 1 + id_length).unwrap_or_default();
                match &tree[..blank] {
                    b"40000" => dirs.push(child.iter().map(|byte| format!("{byte:02x}")).collect()),
                    b"120000" => files += 1,
                    b"160000" if has_gitlinks => files += 1,
                    [b'1', b'0', b'0', _, _, _] => files += 1,
                    _ => {
                        let name =
                            printable(&String::from_utf8_lossy(tree.get(blank + 1..name_end).unwrap_or_default()));
                        let way = "`gitlinks = true` in [runners.sandbox] allows submodules";
                        return Err(refused(&format!("a commit has the submodule {name}; {way}")));
                    }
                }
                tree = tree.get(name_end + 1 + id_length..).unwrap_or_default();
            }
            trees.insert(id.clone(), (dirs, files));
        }
        Ok(Trees(trees))
    }

    /// How many files there are, counting a directory that was here before as a hundred. Refuses too many, and too deep ones.
    fn count(&self, id: &str, depth: usize, counts: &mut HashMap<String, usize>) -> Result<usize> {
        let Some((dirs, files)) = self.0.get(id) else { return Ok(100) };
        if let Some(count) = counts.get(id) {
            return Ok(*count);
        }
        let mut count = *files;
        for dir in dirs {
            count = count.saturating_add(self.count(dir, depth + 1, counts)?);
        }
        if count > MOST_FILES || depth > DEEPEST {
            return Err(too_many_files());
        }
        counts.insert(id.to_owned(), count);
        Ok(count)
    }
}

fn too_many_files() -> Failure {
    refused(&format!("a commit has more than {MOST_FILES} files, or {DEEPEST} directories in each other"))
}

/// The same file, from its beginning.
fn again(file: &File) -> Result<File> {
    let cannot = |e| Failure::failed("cannot read a pack").because(e);
    let mut again = file.try_clone().map_err(cannot)?;
    again.rewind().map_err(cannot)?;
    Ok(again)
}

/// What lets more come in.
const ALLOW: &str = "look at it in its worktree; `limits` of [runners.sandbox] takes more";

fn refused(why: &str) -> Failure {
    REFUSED.failure(format!("import refused: {why}"))
}
