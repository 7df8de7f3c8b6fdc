//! Indexes of our own, because an agent can write git's: that can say that a changed file is none, that a directory
//! need not be looked at, and name files elsewhere.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Git, nul_fields, run_git};
use crate::error::{Failure, Result};
use crate::fs;
use crate::text::shell_word;

/// A path for an index, below the user's own state, where no agent's sandbox lets it write: git follows a link that has
/// the name of the index. Where we cannot write there either, as in an agent's sandbox, it is a temporary file.
#[derive(Debug)]
pub struct OwnIndex(PathBuf);

impl Git {
    /// A path that nothing has yet: for a clone of ours beside its stand-in.
    pub fn own_index(&self) -> Result<OwnIndex> {
        if let Some(dir) = self.clones_stand_in() {
            return Ok(OwnIndex(dir.join(fs::unique_name())));
        }
        let temporary = self.env().temp_dir();
        let own = self.env().state_home().map(|state| state.join("git"));
        let own = own.filter(|dir| fs::create_private_dir(dir).is_ok() && fs::can_write(dir));
        if let Some(dir) = &own {
            // What killed commands have left there.
            let _ = fs::sweep_old_temporaries(dir);
        }
        Ok(OwnIndex(own.unwrap_or(temporary).join(fs::unique_name())))
    }
}

impl OwnIndex {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for OwnIndex {
    fn drop(&mut self) {
        for file in [self.0.with_extension("lock"), self.0.clone()] {
            // What stays has a random name and is read by nobody.
            let _ = fs::remove(&file);
        }
    }
}

/// The entries of an index, without all else that stands in one.
#[derive(Clone, Debug, Default)]
pub struct IndexEntries {
    /// As `git update-index --index-info` takes them.
    pub text: Vec<u8>,
    /// The paths that are not to be in the worktree.
    sparse: HashSet<Vec<u8>>,
}

impl IndexEntries {
    /// Each entry's path, with what stands before it.
    pub fn each(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        nul_fields(&self.text).filter_map(|entry| {
            let tab = entry.iter().position(|byte| *byte == b'\t')?;
            Some((&entry[..tab], &entry[tab + 1..]))
        })
    }

    /// The paths that git does not look at, as they are not to be in the worktree.
    pub fn left_out(&self) -> impl Iterator<Item = &[u8]> {
        self.sparse.iter().map(Vec::as_slice)
    }
}

/// The directories of submodules in which there are files and no repository. git never looks into them.
pub fn filled_links(worktree: &Path, entries: &IndexEntries) -> Result<Vec<PathBuf>> {
    let links = entries.each().filter(|(about, _)| about.starts_with(b"160000 "));
    let is_filled = |link: &PathBuf| -> Result<bool> {
        let dir = worktree.join(link);
        let is_dir = dir.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        Ok(is_dir && dir.join(".git").symlink_metadata().is_err() && !fs::list(&dir)?.is_empty())
    };
    let links = links.map(|(_, path)| PathBuf::from(OsStr::from_bytes(path)));
    links.map(|link| Ok(is_filled(&link)?.then_some(link))).filter_map(Result::transpose).collect()
}

/// An index that knows the names and contents of files, and nothing of the files that are there.
pub struct FreshIndex {
    git: Git,
    at: PathBuf,
    index: OwnIndex,
}

impl FreshIndex {
    /// With these entries. git refuses a name that leads out of the worktree.
    pub fn with(git: &Git, at: &Path, entries: Vec<u8>) -> Result<FreshIndex> {
        let fresh = FreshIndex { git: git.clone(), at: at.to_path_buf(), index: git.own_index()? };
        fresh.ask(&["update-index", "-z", "--index-info"], entries).map(|_| fresh)
    }

    /// Puts all files into it, as [`Git::add_all`].
    pub fn add_all(&self, but: impl Iterator<Item = String>) -> Result<()> {
        self.git.add_all(&self.at, &self.index, but)
    }

    /// The output of a git command that uses it.
    pub fn ask(&self, args: &[&str], input: Vec<u8>) -> Result<Vec<u8>> {
        self.ask_within(args, input, super::DEADLINE)
    }

    /// What `git status` shows of these entries and of the files that are there beside them, if there is no commit.
    fn all_as_new(&self, entries: &IndexEntries) -> Result<Vec<u8>> {
        let others = self.ask(&["ls-files", "-z", "--others", "--exclude-standard"], Vec::new())?;
        let staged = entries.each().map(|(_, path)| [&b"A  "[..], path, b"\0"].concat());
        Ok(staged.chain(nul_fields(&others).map(|path| [&b"?? "[..], path, b"\0"].concat())).flatten().collect())
    }

    fn ask_within(&self, args: &[&str], input: Vec<u8>, limit: Duration) -> Result<Vec<u8>> {
        let cmd = self.git.cmd_alone(&self.at).var("GIT_INDEX_FILE", self.index.path()).within(limit);
        run_git(args[0], cmd.args(args.iter().copied()).input(input))
    }

    /// The tree of its files.
    pub fn write_tree(&self) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.ask(&["write-tree"], Vec::new())?).trim().to_owned())
    }

    /// Whether a file was changed or made since [`add_all`](Self::add_all).
    pub fn is_outdated(&self) -> Result<bool> {
        // This sets the time by which [`is_before`](Self::is_before) tells what comes after this look, and not git's.
        let path = self.index.path();
        let touched = path.symlink_metadata().and_then(|meta| std::fs::set_permissions(path, meta.permissions()));
        touched.map_err(|e| Failure::failed("cannot write an index of ours").because(e))?;
        // HEAD, which may name a tree that git cannot read, has no part in this.
        self.ask(&["update-index", "-q", "--ignore-submodules", "--refresh"], Vec::new())?;
        let changed = ["diff-files", "--name-only", "--diff-filter=d", "--ignore-submodules=all"];
        // A repository has a slash at its end.
        let new = self.ask(&["ls-files", "--others", "--exclude-standard", "-z"], Vec::new())?;
        Ok(nul_fields(&new).any(|path| !path.ends_with(b"/")) || !self.ask(&changed, Vec::new())?.is_empty())
    }

    /// Whether a file was changed, made or moved there since this was written, by the clock of the file system.
    pub fn is_before(&self, file: &Path) -> bool {
        let time = |path: &Path| path.symlink_metadata().ok().map(|meta| (meta.ctime(), meta.ctime_nsec()));
        time(file).is_some_and(|time_of_file| Some(time_of_file) >= time(self.index.path()))
    }

    /// The files that are there with another content, separated by NUL. Contents are hashed, because an object that an
    /// agent wrote may not be what its name says.
    pub fn changed(&self) -> Result<Vec<u8>> {
        self.ask(&["update-index", "-q", "--unmerged", "--refresh"], Vec::new())?;
        self.ask(&["diff-files", "--name-only", "-z", "--diff-filter=d", "--ignore-submodules=dirty"], Vec::new())
    }
}

/// With the first of these files, which git could not put into an index, and what helps.
fn with_way_out(failure: Failure, worktree: &Path, left: &[u8]) -> Failure {
    let Some(path) = nul_fields(left).next().map(|path| Path::new(OsStr::from_bytes(path))) else { return failure };
    let file = worktree.join(path);
    let is_file = file.symlink_metadata().is_ok_and(|meta| meta.is_file());
    if is_file && std::fs::File::open(&file).is_err_and(|e| e.kind() == std::io::ErrorKind::PermissionDenied) {
        return failure.hint(format!("make it readable: `chmod u+r {}`", shell_word(&file)));
    }
    // Some systems read such a name as `.git`.
    let is_odd = |name: &OsStr| {
        let name: String = name.to_string_lossy().to_lowercase().chars().filter(char::is_ascii).collect();
        matches!(name.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']), ".git" | "git~1")
    };
    let Some(odd) = path.ancestors().filter(|dir| dir.file_name().is_some_and(is_odd)).last() else { return failure };
    let odd = worktree.join(odd);
    let away = shell_word(&odd.with_file_name("moved-away"));
    failure.hint(format!("give it a name that git takes: `mv {} {away}`", shell_word(&odd)))
}

impl Git {
    /// Puts all files of a worktree that are not ignored into an index of our own, also what sparse patterns leave out; but
    /// for these paths. Fails with what helps where git cannot take a file.
    pub fn add_all(&self, worktree: &Path, index: &OwnIndex, but: impl Iterator<Item = String>) -> Result<()> {
        let not: Vec<String> = but.map(|path| format!(":(top,exclude,literal){path}")).collect();
        let ask = |args: &[&str]| {
            let cmd = self.cmd_alone(worktree).var("GIT_INDEX_FILE", index.path()).args(args.iter().copied());
            run_git(args[0], cmd.args(["--", ":/"]).args(not.iter().cloned()))
        };
        let Err(failure) = ask(&["add", "-A", "--sparse"]) else { return Ok(()) };
        // Once all others are in it, those that are left are the ones.
        let _ = ask(&["add", "-A", "--sparse", "--ignore-errors"]);
        let left = ask(&["ls-files", "-z", "--others", "--modified", "--exclude-standard"]).unwrap_or_default();
        Err(with_way_out(failure, worktree, &left))
    }

    /// The entries of a worktree's index.
    pub fn index_entries(&self, worktree: &Path, limit: Duration) -> Result<IndexEntries> {
        let cmd = self.cmd_alone(worktree).args(["ls-files", "-t", "--stage", "-z"]).within(limit);
        let listed = run_git("ls-files", cmd)?;
        let mut entries = IndexEntries::default();
        // A letter and a blank before each say what is to be in the worktree.
        for entry in nul_fields(&listed).filter(|entry| entry.len() > 2) {
            entries.text.extend_from_slice(&entry[2..]);
            entries.text.push(0);
            if entry[0] == b'S' {
                entries.sparse.extend(entry.splitn(2, |byte| *byte == b'\t').nth(1).map(<[u8]>::to_vec));
            }
        }
        Ok(entries)
    }

    /// What `git status` shows of a worktree with these entries in its index, two letters and a path each, if nothing else
    /// in the index counts: all contents are hashed. All files are new if git cannot read the tree of the commit.
    pub fn status_of(
        &self,
        worktree: &Path,
        entries: &IndexEntries,
        limit: Duration,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let index = FreshIndex::with(self, worktree, entries.text.clone())?;
        let how = ["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty"];
        // It hashes each file.
        let files = u64::try_from(entries.each().count()).unwrap_or_default();
        let status = match index.ask_within(&how, Vec::new(), limit + Duration::from_millis(2 * files)) {
            // An agent can make a commit whose tree git does not read. Any other cause is told.
            Err(failure) if failure.kind == "git" => {
                let (git, at) = (self.clone(), worktree.to_path_buf());
                let committed = FreshIndex { git, at, index: self.own_index()? };
                match committed.ask(&["read-tree", "HEAD"], Vec::new()) {
                    Err(unread) if unread.kind == "git" => index.all_as_new(entries)?,
                    _ => return Err(failure),
                }
            }
            asked => asked?,
        };
        let listed =
            nul_fields(&status).filter(|line| line.len() > 3).map(|line| (line[..2].to_vec(), line[3..].to_vec()));
        let is_left_out = |(code, path): &(Vec<u8>, Vec<u8>)| code == b" D" && entries.sparse.contains(path);
        Ok(listed.filter(|line| !is_left_out(line)).collect())
    }
}
