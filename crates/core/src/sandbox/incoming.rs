//! Commits from where nobody is trusted: looked at in quarantine before they are among our objects.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::time::Duration;

use super::{REFUSED, SandboxSettings, bytes};
use crate::error::{Failure, Result};
use crate::fs;
use crate::git::{Git, as_alternate, nul_fields, run_git};
use crate::proc::{Cmd, Status};
use crate::ssh::SHELL_PRINTS;
use crate::text::printable;

/// What an import takes at most, beside what the settings say: bytes of the pack if all objects have no more than four times
/// that, bytes of directories, files of a commit.
const MOST_OF_PACK: usize = 512 << 20;
const MOST_OF_TREES: u64 = 200_000_000;
const MOST_FILES: usize = 1_000_000;
const DEEPEST: usize = 1_000;
/// The memory that git may use for it.
pub(super) const MEMORY: u64 = 4 << 30;
/// Of their names.
const MOST_OF_NAMES: usize = 200_000_000;
const NAMES_LIMIT: Duration = Duration::from_secs(10);

/// Where commits come in, and how much of them.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// A directory of ours, in which the quarantine is made. One import at a time.
    pub dir: &'a Path,
    /// The common directory of the repository that gets them.
    pub common_dir: &'a Path,
    /// What a person allows.
    pub settings: &'a SandboxSettings,
}

impl Incoming<'_> {
    /// Looks at what `packing` writes in quarantine, and puts it among the objects if everything that these commits lead to
    /// is there, and nobody is to refuse it. `packing` gets what it needs on stdin, and `ended` says whether how it ended is no
    /// fault of the commits.
    pub fn take(&self, git: &Git, tips: &[&str], packing: Cmd, ended: &dyn Fn(Status) -> Result<()>) -> Result<()> {
        let quarantine = self.dir.join("incoming");
        // What a killed import left.
        fs::remove_tree(&quarantine)?;
        fs::create_private_dir(&quarantine)?;
        let taken = self.take_through(&quarantine, git, tips, (packing, ended));
        fs::remove_tree(&quarantine)?;
        taken
    }

    fn take_through(
        &self,
        quarantine: &Path,
        git: &Git,
        tips: &[&str],
        (packing, ended): (Cmd, &dyn Fn(Status) -> Result<()>),
    ) -> Result<()> {
        let limit = Duration::from_secs(self.settings.limits.seconds.max(1));
        let most = usize::try_from(self.most_of_all() / 4).unwrap_or(usize::MAX).max(MOST_OF_PACK);
        let packed = packing.into_file(fs::scratch(quarantine)?, limit, most)?;
        let Some((status, pack)) = packed else {
            let why = format!("what is new takes longer than {} s or more than {most} bytes to pack", limit.as_secs());
            return Err(refused(&why).hint(allow(self.settings)));
        };
        ended(status)?;
        if !status.success() {
            return Err(refused(NOT_PACKED));
        }
        let mut first = [0; 4];
        if again(&pack)?.read_exact(&mut first).is_err() || first != *b"PACK" {
            return Err(refused("what was sent is no pack of git").hint(SHELL_PRINTS));
        }
        fs::create_dir(&quarantine.join("pack"))?;
        let objects = as_alternate(&self.common_dir.join("objects"));
        let there = |cmd: Cmd| {
            let cmd = cmd.var("GIT_OBJECT_DIRECTORY", quarantine).var("GIT_ALTERNATE_OBJECT_DIRECTORIES", &objects);
            cmd.within(limit).with_memory(MEMORY)
        };
        let index = ["index-pack", "--stdin", "--strict", &format!("--max-input-size={most}")];
        let checked = there(git.cmd_alone(self.common_dir)).args(index).input_file(again(&pack)?).capture()?;
        if !checked.status.success() {
            let why = String::from_utf8_lossy(&checked.stderr);
            return Err(refused("git finds fault with its objects").because(anyhow::anyhow!(printable(why.trim()))));
        }
        self.judge(&there(git.cmd_alone(self.common_dir)), tips)?;
        self.put(git, &pack, limit)
    }

    /// Puts a pack that was found sound among the objects, whole or not at all: git leaves what it has written where the disk
    /// is full.
    fn put(&self, git: &Git, pack: &File, limit: Duration) -> Result<()> {
        let objects = self.common_dir.join("objects");
        // By such a name `git prune` knows what a kill leaves.
        let own = objects.join(format!("tmp_objdir-{}", fs::unique_name()));
        let place = || -> Result<()> {
            fs::create_private_dir(&own.join("pack"))?;
            let index = git.cmd_alone(self.common_dir).args(["index-pack", "--stdin"]);
            run_git("index-pack", index.var("GIT_OBJECT_DIRECTORY", &own).input_file(again(pack)?).within(limit))?;
            fs::create_dir(&objects.join("pack"))?;
            let mut names = fs::list(&own.join("pack"))?;
            // By its index a pack is found.
            names.sort_by_key(|name| name.as_encoded_bytes().ends_with(b".idx"));
            let (from, to) = (own.join("pack"), objects.join("pack"));
            names.iter().try_for_each(|name| fs::rename_new(&from.join(name), &to.join(name)).map(drop))
        };
        let placed = place();
        fs::remove_tree(&own)?;
        placed
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
                return Err(refused(&format!("an object has {size} bytes, and {most_of_object} are allowed"))
                    .hint(allow(self.settings)));
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
            return Err(refused(&format!("there are {commits} new commits with {all} bytes, and {most}"))
                .hint(allow(self.settings)));
        }
        let trees = Trees::read(git, &trees, tips[0].len() / 2, self.settings)?;
        let tops = tops.iter().flat_map(|top| format!("{top}^{{tree}}\n").into_bytes()).collect();
        let roots = git.clone().args(["cat-file", "--batch-check=%(objectname)"]).input(tops);
        let mut counts = HashMap::new();
        for root in String::from_utf8_lossy(&run_git("cat-file", roots)?).lines() {
            trees.count(root, 0, &mut counts)?;
        }
        for tip in tips {
            let names = git.clone().args(["ls-tree", "-r", "-z", "--name-only", *tip]);
            let listed = names.capture_within(fs::scratch(self.dir)?, NAMES_LIMIT, MOST_OF_NAMES)?;
            let listed = listed.filter(|listed| listed.status.success());
            if listed.is_none_or(|listed| nul_fields(&listed.stdout).count() > MOST_FILES) {
                return Err(too_many_files());
            }
        }
        Ok(())
    }
}

/// New directories, each with the directories in it and the number of its files.
struct Trees(HashMap<String, (Vec<String>, usize)>);

impl Trees {
    /// Reads these trees, whose ids have so many bytes. Refuses what is neither a file, a link nor a directory: git takes any
    /// other mode for that of a submodule, and looks for a repository there.
    fn read(git: &Cmd, ids: &[String], id_length: usize, settings: &SandboxSettings) -> Result<Trees> {
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
                    b"160000" if settings.gitlinks => files += 1,
                    [b'1', b'0', b'0', _, _, _] => files += 1,
                    _ => {
                        let name =
                            printable(&String::from_utf8_lossy(tree.get(blank + 1..name_end).unwrap_or_default()));
                        let way = format!("`gitlinks = true` in {} allows submodules", settings.table);
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

/// What may have kept git from packing.
pub(super) const NOT_PACKED: &str = "objects of its commits are missing or damaged, or there is no room to pack them";

/// What lets more come in.
pub(super) fn allow(settings: &SandboxSettings) -> String {
    format!("look at it in its worktree; `limits` of {} takes more", settings.table)
}

pub(super) fn refused(why: &str) -> Failure {
    REFUSED.failure(format!("import refused: {why}"))
}
