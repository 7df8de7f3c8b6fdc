//! Indexes of our own. git's index is an agent's to write: it can say that a changed file is none, and name files
//! elsewhere.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use shopfloor_core::error::Result;
use shopfloor_core::git::{Git, OwnIndex, failed};
use shopfloor_core::path::RelPath;
use shopfloor_core::text::{printable, shell_word};

use crate::failure;
use crate::work_repo::WorkRepo;

/// An index that knows the names and contents of files, and nothing of the files that are there.
pub struct FreshIndex<'a> {
    git: &'a Git,
    at: &'a Path,
    index: OwnIndex,
}

impl<'a> FreshIndex<'a> {
    /// With these entries, as `git update-index --index-info` takes them. git refuses a name that leads out of the
    /// worktree.
    pub fn with(git: &'a Git, at: &'a Path, entries: Vec<u8>) -> Result<FreshIndex<'a>> {
        let fresh = FreshIndex { git, at, index: git.own_index()? };
        fresh.ask(&["update-index", "-z", "--index-info"], entries).map(|_| fresh)
    }

    /// The output of a git command that uses it.
    pub fn ask(&self, args: &[&str], input: Vec<u8>) -> Result<Vec<u8>> {
        let cmd = self.git.cmd_alone(self.at).var("GIT_INDEX_FILE", self.index.path());
        let output = cmd.args(args.iter().copied()).input(input).capture()?;
        if output.status.success() { Ok(output.stdout) } else { Err(failed(args[0], &output)) }
    }

    /// The files that are there with another content, separated by NUL. Contents are hashed, because an object that an
    /// agent wrote may not be what its name says.
    pub fn changed(&self) -> Result<Vec<u8>> {
        self.ask(&["update-index", "-q", "--unmerged", "--refresh"], Vec::new())?;
        self.ask(&["diff-files", "--name-only", "-z", "--diff-filter=d", "--ignore-submodules=dirty"], Vec::new())
    }
}

impl WorkRepo {
    /// A path that git lists in a worktree, without its last `/`. It may come from an index that an agent wrote: exit 4,
    /// kind `tampered`, if it leads out of the worktree.
    pub fn path_in(&self, worktree: &Path, path: &[u8]) -> Result<RelPath> {
        RelPath::parse_os(OsStr::from_bytes(path.strip_suffix(b"/").unwrap_or(path))).map_err(|e| {
            let shown = printable(&String::from_utf8_lossy(path));
            let why = format!("git lists {shown} in {}, and {}", worktree.display(), e.0);
            let index = self.git_dir(worktree).map(|dir| shell_word(&dir.join("index"))).unwrap_or_default();
            failure::TAMPERED
                .failure(why)
                .hint(format!("if there is no such file, move the index away: `mv {index} {index}.bad`"))
        })
    }

    /// git in a worktree, and the entries of its index as `git update-index --index-info` takes them.
    pub fn index_entries(&self, worktree: &Path) -> Result<(Git, Vec<u8>)> {
        let listed = self.run(worktree, &["ls-files", "--stage", "-z"])?;
        if !listed.status.success() {
            return Err(failed("ls-files", &listed));
        }
        let mut paths = listed.stdout.split(|b| *b == 0).filter_map(|entry| entry.splitn(2, |b| *b == b'\t').nth(1));
        paths.try_for_each(|path| self.path_in(worktree, path).map(drop))?;
        Ok((self.git_for(worktree)?, listed.stdout))
    }

    /// The files whose content is not that of their entry in the index, whatever the index says of them.
    pub fn changed(&self, worktree: &Path) -> Result<Vec<String>> {
        let (git, entries) = self.index_entries(worktree)?;
        let changed = FreshIndex::with(&git, worktree, entries)?.changed()?;
        Ok(String::from_utf8_lossy(&changed).split_terminator('\0').map(str::to_owned).collect())
    }
}
