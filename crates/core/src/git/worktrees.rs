//! The worktrees of a repository, as git lists them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::main_checkout::is_bare;
use super::sanitized_common_dir::Owner;
use super::{Git, LOOK_LIMIT, Repo, answer, common_dir_of, private_dir, recorded_path, run_git};
use crate::error::{Failure, Result};
use crate::fs;
use crate::text::shell_word;

/// The files of a worktree's git directory that name commits which only a merge, rebase, cherry-pick or revert under way
/// may hold.
pub const OPERATION_HEADS: [&str; 8] = [
    "MERGE_HEAD",
    "MERGE_AUTOSTASH",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "rebase-merge/autostash",
    "rebase-merge/orig-head",
    "rebase-apply/autostash",
    "rebase-apply/orig-head",
];

/// No merge has more parents. Each costs a removal several git processes, and an agent can write these files.
const MOST_HEADS: usize = 100;

/// The commits that these files of a git directory name, one a line. Names of refs are left out. Exit 2 when a file cannot
/// be read, or names more commits than a merge has.
pub fn named_commits(git_dir: &Path, files: &[&str]) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for file in files {
        let path = git_dir.join(file);
        let text = fs::read(&path)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let is_sha = |line: &&str| line.len() >= 40 && line.bytes().all(|b| b.is_ascii_hexdigit());
        let named: Vec<String> = text.lines().map(str::trim).filter(is_sha).map(str::to_owned).collect();
        if named.len() > MOST_HEADS {
            return Err(Failure::malformed(format!("{} names {} commits", path.display(), named.len()))
                .hint(format!("look at it and move it away: `ls -l {}`", shell_word(&path))));
        }
        found.extend(named);
    }
    Ok(found)
}

/// The last entries of a log that count. Each names a commit or two, and agents can write the file.
const MOST_LOGGED: usize = 300;

/// What names the HEAD of a linked worktree in every other one of the repository, by its record. The record's own file
/// says nothing where refs are in tables.
pub fn head_of(record: &Path) -> String {
    format!("worktrees/{}/HEAD", record.file_name().unwrap_or_default().to_string_lossy())
}

/// Whether a worktree has nothing but its `.git`, which git makes first, or is not there.
pub fn has_no_files(worktree: &Path) -> bool {
    fs::list(worktree).is_ok_and(|names| names.iter().all(|name| name == ".git"))
}

/// The commits that a cherry-pick or revert of several is still to take, as git abbreviates them; of a list that no person
/// made, the first ones.
pub fn commits_to_pick(git_dir: &Path) -> Result<Vec<String>> {
    let text = fs::read(&git_dir.join("sequencer/todo"))?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let named = text.lines().filter_map(|line| line.split(' ').nth(1));
    let is_sha = |word: &&str| word.len() >= 4 && word.bytes().all(|b| b.is_ascii_hexdigit());
    Ok(named.filter(is_sha).take(MOST_HEADS).map(str::to_owned).collect())
}

/// A worktree as `git worktree list` has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedWorktree {
    /// Where it is.
    pub path: PathBuf,
    /// The commit it is at; empty in a bare repository, zeros on an unborn branch.
    pub head: String,
    /// The checked-out branch without `refs/heads/`; none when detached.
    pub branch: Option<String>,
    /// Whether git keeps its record also where its directory is away.
    pub is_locked: bool,
}

/// How many bytes the mails of a `git am` may have that are kept.
const MOST_OF_MAILS: u64 = 64 << 20;

impl Git {
    /// All worktrees of the repository that `dir` belongs to, the main one first. One process. Worktrees whose records
    /// git cannot read are left out: it would wait for ever on a pipe.
    pub fn list_worktrees(&self, dir: &Path) -> Result<Vec<ListedWorktree>> {
        let mut cmd = self.cmd_alone(dir);
        let common_dir = common_dir_of(dir).unwrap_or_else(|| dir.to_path_buf());
        let is_sound = self.require_sound_records(&common_dir).is_ok();
        if !is_sound {
            let stand_in = self.stand_in(&common_dir, &Owner::Person)?;
            cmd = cmd.var("GIT_DIR", &common_dir).var("GIT_COMMON_DIR", stand_in);
        }
        let mut listed = parse(&run_git("worktree list", cmd.args(["worktree", "list", "--porcelain", "-z"]))?);
        // git takes the main one's path from the name of the common directory.
        if let Some(main) = listed.first_mut().filter(|_| !is_sound) {
            main.path = if common_dir.ends_with(".git") { common_dir.with_file_name("") } else { common_dir };
            main.path = main.path.components().collect();
        }
        Ok(listed)
    }

    /// Of each branch, how many commits it has that `base`, a ref, lacks, and the other way round. Nothing from a git before
    /// 2.41, or where there is no such ref.
    pub fn ahead_behind(&self, common_dir: &Path, base: &str) -> Result<BTreeMap<String, (u64, u64)>> {
        if base.contains(['%', ')']) {
            return Ok(BTreeMap::new());
        }
        let format = format!("--format=%(ahead-behind:{base}) %(refname)");
        let cmd = self.common(common_dir)?.cmd(common_dir).args(["for-each-ref", &format, "refs/heads"]);
        let listed = cmd.within(LOOK_LIMIT).capture()?;
        let of = |line: &str| {
            let mut fields = line.splitn(3, ' ');
            let (ahead, behind) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
            Some((fields.next()?.strip_prefix("refs/heads/")?.to_owned(), (ahead, behind)))
        };
        Ok(String::from_utf8_lossy(&listed.stdout).lines().filter_map(of).collect())
    }

    /// The commits of the refs that only one worktree has, as those of a bisection, and where refs are in tables those of
    /// an operation under way. `git_dir` is its record. Exit 2 when they are more than a person makes.
    pub fn own_refs(&self, worktree: &Path, git_dir: &Path) -> Result<Vec<String>> {
        let has_some = |dir: &&str| fs::list(&git_dir.join(dir)).is_ok_and(|names| !names.is_empty());
        if !["refs", "reftable"].iter().any(has_some) {
            return Ok(Vec::new());
        }
        let list = |how: &[&str]| {
            let all = ["for-each-ref", "--format=%(objectname) %(refname)"];
            let listed = run_git("for-each-ref", self.cmd_alone(worktree).args(all).args(how.iter().copied()))?;
            Ok::<_, Failure>(String::from_utf8_lossy(&listed).into_owned())
        };
        let mut listed = list(&["refs/bisect", "refs/rewritten", "refs/worktree"])?;
        if git_dir.join("reftable").exists() {
            let roots = list(&["--include-root-refs"])?;
            let of_operation = |name: &str| OPERATION_HEADS.contains(&name);
            listed.extend(
                roots
                    .split_inclusive('\n')
                    .filter(|line| line.trim_end().split(' ').next_back().is_some_and(of_operation)),
            );
        }
        let found = listed.lines().filter_map(|line| line.split(' ').next());
        let found: BTreeSet<String> = found.map(str::to_owned).collect();
        match found.len() > MOST_HEADS {
            true => Err(Failure::malformed(format!("{} has {} refs of its own", worktree.display(), found.len()))
                .hint(format!("look at them: `git -C {} for-each-ref refs/worktree`", shell_word(worktree)))),
            false => Ok(found.into_iter().collect()),
        }
    }

    /// A commit with the mails of a `git am` under way, or of a rebase that works with mails, in one file, `patches`, if there
    /// are any: nothing else may have them. The same mails make the same commit. git is asked in `dir`; `record` is git's
    /// record of the worktree.
    pub fn patches(&self, dir: &Path, record: &Path) -> Result<Option<String>> {
        let apply = record.join("rebase-apply");
        let names = if apply.is_dir() { fs::list(&apply)? } else { Vec::new() };
        let mut mails = Vec::new();
        let names = || names.iter().filter(|name| name.as_bytes().iter().all(u8::is_ascii_digit));
        let sizes = names().filter_map(|name| apply.join(name).symlink_metadata().ok()).map(|meta| meta.len());
        if sizes.fold(0, u64::saturating_add) > MOST_OF_MAILS {
            return Err(Failure::malformed(format!("{} has mails of more than 64 MiB", apply.display()))
                .hint("move that directory to another place"));
        }
        for name in names() {
            mails.extend(fs::read_own(&apply.join(name))?.unwrap_or_default());
        }
        if mails.is_empty() {
            return Ok(None);
        }
        let ask = |args: &[&str], input: Vec<u8>| {
            let who = ["-c", "user.name=shopfloor", "-c", "user.email=shopfloor@localhost"];
            let dates = ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"];
            let cmd = dates.into_iter().fold(self.cmd_alone(dir), |cmd, date| cmd.var(date, "@0 +0000"));
            answer(args[0], &cmd.args(who).args(args.iter().copied()).input(input).capture()?)
        };
        let blob = ask(&["hash-object", "-w", "--stdin"], mails)?;
        let tree = ask(&["mktree"], format!("100644 blob {blob}\tpatches\n").into_bytes())?;
        ask(&["commit-tree", &tree, "-m", "the patches of a `git am` under way"], Vec::new()).map(Some)
    }

    /// The commits that only the log of a worktree's HEAD still names, as an amended one; not those that lead to another of
    /// them. git is asked in `dir`. `record` is git's record of the worktree; where refs are in tables, the log is in none of
    /// its files. None where git cannot tell: an agent can write the log, and name a commit in it that lacks its parents.
    pub fn only_logged(&self, dir: &Path, record: &Path) -> Vec<String> {
        let log = fs::read_no_follow(&record.join("logs/HEAD")).ok().flatten().unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let is_sha = |word: &&str| word.len() >= 40 && word.bytes().all(|b| b.is_ascii_hexdigit());
        // Before and after. No commit is all zeros.
        let words = log.lines().rev().take(MOST_LOGGED).flat_map(|line| line.split(' ').take(2));
        let named: BTreeSet<&str> = words.filter(is_sha).filter(|sha| sha.bytes().any(|b| b != b'0')).collect();
        if named.is_empty() {
            return Vec::new();
        }
        self.only_named(dir, named).unwrap_or_default()
    }

    /// The commits of these revisions that are on no ref which stays when a worktree goes; not those that lead to another
    /// of them. git is asked in `dir`.
    pub fn only_named(&self, dir: &Path, revisions: impl IntoIterator<Item: Into<OsString>>) -> Result<Vec<String>> {
        // The HEAD of the worktree goes too, and of our own refs most end with a task.
        let asked = ["rev-list", "--parents", "--ignore-missing", "--single-worktree"];
        let stay = ["--not", "--exclude=refs/shopfloor/*", "--all"];
        let ours = ["--glob=refs/shopfloor/trash/*", "--glob=refs/shopfloor/accepted/*"];
        let cmd = self.cmd_alone(dir).args(asked).args(revisions).args(stay).args(ours);
        let listed = run_git("rev-list", cmd.within(LOOK_LIMIT))?;
        Ok(tips_of(&String::from_utf8_lossy(&listed)))
    }

    /// The worktrees of a repository that are there, each with its private git directory. No process, and two small
    /// files read for each.
    pub fn worktrees(&self, repo: &Repo) -> Result<Vec<(PathBuf, PathBuf)>> {
        let is_main = |main: &PathBuf| private_dir(main) == repo.common_dir.canonicalize().ok();
        let main = Some(repo.main_checkout.clone()).filter(|main| is_main(main) && !is_bare(&repo.common_dir));
        let linked = |dir: PathBuf| Some((recorded_path(&dir).ok()??, dir.canonicalize().ok()?));
        let all = repo.all_git_dirs()?.into_iter().skip(1).filter_map(linked);
        let all = all.filter(|(root, dir)| private_dir(root).as_ref() == Some(dir));
        Ok(main.map(|main| (main, repo.common_dir.clone())).into_iter().chain(all).collect())
    }
}

/// The commits that are no parents of others, of those that `git rev-list --parents` lists.
pub fn tips_of(listed: &str) -> Vec<String> {
    let parents: BTreeSet<&str> = listed.lines().flat_map(|line| line.split(' ').skip(1)).collect();
    let found = listed.lines().filter_map(|line| line.split(' ').next());
    found.filter(|sha| !parents.contains(sha)).map(str::to_owned).collect()
}

fn parse(porcelain: &[u8]) -> Vec<ListedWorktree> {
    let mut found: Vec<ListedWorktree> = Vec::new();
    for field in porcelain.split(|b| *b == 0) {
        if let Some(path) = field.strip_prefix(b"worktree ") {
            let path = PathBuf::from(OsStr::from_bytes(path));
            found.push(ListedWorktree { path, ..ListedWorktree::default() });
        } else if let Some(last) = found.last_mut() {
            let text =
                |prefix: &[u8]| field.strip_prefix(prefix).map(|text| String::from_utf8_lossy(text).into_owned());
            last.head = text(b"HEAD ").unwrap_or(std::mem::take(&mut last.head));
            last.branch = text(b"branch refs/heads/").or(last.branch.take());
            last.is_locked |= field.starts_with(b"locked");
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_worktree_has_its_own_head_and_branch() {
        let listed = parse(b"worktree /a b\0HEAD 1111\0branch refs/heads/x/y\0\0worktree /bare\0bare\0\0worktree /c\0HEAD 2222\0detached\0locked on a disk\0\0");
        let of = |path: &str, head: &str, branch: Option<&str>| ListedWorktree {
            path: path.into(),
            head: head.into(),
            branch: branch.map(str::to_owned),
            is_locked: path == "/c",
        };
        assert_eq!(listed, [of("/a b", "1111", Some("x/y")), of("/bare", "", None), of("/c", "2222", None)]);
        assert_eq!(parse(b""), []);
    }
}
