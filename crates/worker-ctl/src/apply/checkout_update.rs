//! Moves a checkout from one commit to another: what would be in the way, and how it is put back if that fails half
//! way.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use shopfloor_core::error::{Failure, FailureKind, Result};
use shopfloor_core::fs::{self, Content, Found, Root, Staging};
use shopfloor_core::git::{FreshIndex, Git, answer, failed, nul_fields, private_dir, run_git};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::proc::Cmd;
use shopfloor_core::text::{printable, shell_word};

use crate::failure;

/// The files that a step from one commit to another changes, as entries of an index before and after it.
#[derive(Default)]
pub struct ChangedFiles {
    pub before: BTreeMap<Vec<u8>, Vec<u8>>,
    after: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The submodules that are none any more.
    modules: Vec<Vec<u8>>,
}

impl ChangedFiles {
    pub fn between(git: &Git, at: &Path, old: &str, new: &str) -> Result<ChangedFiles> {
        let changes = git.cmd_alone(at).args(["diff-tree", "-r", "-z", "--no-renames", old, new]).capture()?;
        if !changes.status.success() {
            return Err(failed("diff-tree", &changes));
        }
        let mut fields = changes.stdout.split(|byte| *byte == 0);
        let mut files = ChangedFiles::default();
        while let (Some(about), Some(path)) = (fields.next(), fields.next()) {
            // Modes and blobs of both commits. Nothing writes in submodules that stay.
            let about: Vec<&[u8]> = about.strip_prefix(b":").unwrap_or(about).split(|byte| *byte == b' ').collect();
            let [old_mode, new_mode, old, new, _] = about[..] else { continue };
            if old_mode == b"160000" && new_mode != b"160000" {
                files.modules.push(path.to_vec());
            }
            for (entries, mode, blob) in [(&mut files.before, old_mode, old), (&mut files.after, new_mode, new)] {
                if mode != b"000000" && mode != b"160000" {
                    entries.insert(path.to_vec(), [mode, b" ", blob, b"\t", path, b"\0"].concat());
                }
            }
        }
        Ok(files)
    }

    /// Exit 1 if a file comes in the place of a directory in which somebody else has one, or a directory in the place of
    /// somebody's file or link, or in an agent's worktree a file in the place of one that git ignores: git takes them away.
    /// What its index says of them does not count.
    pub fn require_nothing_lost(&self, at: &Path, kind: FailureKind, is_agents: bool) -> Result<()> {
        self.require_no_emptied(at, kind, is_agents)?;
        for path in self.after.keys() {
            let there = at.join(OsStr::from_bytes(path));
            let is_known = |below: &Path| {
                let below = below.strip_prefix(at).unwrap_or(below).as_os_str().as_bytes();
                self.before.contains_key(below)
            };
            let is_file = |dir: &&Path| dir.symlink_metadata().is_ok_and(|meta| !meta.is_dir()) && !is_known(dir);
            let above = there.ancestors().skip(1).take_while(|dir| *dir != at);
            if let Some(file) = above.filter(is_file).last() {
                let shown = printable(&file.to_string_lossy());
                let failure = kind.failure(format!("{shown} would be lost: a directory comes in its place"));
                return Err(failure.hint(move_away(at, file, is_agents)));
            }
            let Ok(meta) = there.symlink_metadata() else { continue };
            let lost = match meta.is_dir() {
                true => {
                    let all = walkdir::WalkDir::new(&there).into_iter().filter_map(std::result::Result::ok);
                    let files = all.filter(|entry| !entry.file_type().is_dir()).map(walkdir::DirEntry::into_path);
                    files.into_iter().find(|file| !is_known(file))
                }
                false => Some(there.clone()).filter(|there| is_agents && !is_known(there)),
            };
            if let Some(lost) = lost {
                let shown = printable(&lost.to_string_lossy());
                // Of a directory all of it has to go.
                let failure = kind.failure(format!("{shown} would be lost: a file comes in its place"));
                return Err(failure.hint(move_away(at, &there, is_agents)));
            }
        }
        Ok(())
    }

    /// Exit 1 if a file comes in the place of a submodule, or of a directory above, and something is in the directory. git
    /// empties it without a look: any gitlink counts as a submodule, and what is there may be a person's.
    fn require_no_emptied(&self, at: &Path, kind: FailureKind, is_agents: bool) -> Result<()> {
        let is_replaced = |module: &&Vec<u8>| {
            let is_at_or_above = |path: &Vec<u8>| {
                module.strip_prefix(path.as_slice()).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
            };
            self.after.keys().any(is_at_or_above)
        };
        let mut dirs = self.modules.iter().filter(is_replaced).map(|module| at.join(OsStr::from_bytes(module)));
        let filled = dirs.find(|dir| fs::list(dir).is_ok_and(|names| !names.is_empty()));
        let Some(dir) = filled else { return Ok(()) };
        let shown = printable(&dir.to_string_lossy());
        Err(kind
            .failure(format!("{shown} would be emptied: a file comes in the place of a submodule"))
            .hint(move_away(at, &dir, is_agents)))
    }

    /// The files of one side that are there with another content, by an index of our own: an agent of the source can
    /// write in git's that they are unchanged. A file that is not there has none.
    pub fn others(git: &Git, at: &Path, side: &BTreeMap<Vec<u8>, Vec<u8>>) -> Result<HashSet<Vec<u8>>> {
        let changed = FreshIndex::with(git, at, side.values().flatten().copied().collect())?.changed()?;
        Ok(changed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec).collect())
    }

    /// The files that are not as they were before the step: with another content, or, if they stay, gone or behind something
    /// in the place of a directory. git would write them anew, and take a link there away. What sparse patterns leave out
    /// is not gone.
    pub fn changed(&self, git: &Git, root: &Root) -> Result<HashSet<Vec<u8>>> {
        let mut changed = ChangedFiles::others(git, root.path(), &self.before)?;
        let mut gone = HashSet::new();
        for path in self.before.keys().filter(|path| self.after.contains_key(*path)) {
            match root.look(&rel(path)?)? {
                Found::Blocked(_) => _ = changed.insert(path.clone()),
                Found::Missing => _ = gone.insert(path.clone()),
                Found::File(_) | Found::Link(_) | Found::Dir | Found::Special => {}
            }
        }
        if !gone.is_empty() {
            let deleted = run_git("ls-files", git.cmd_alone(root.path()).args(["ls-files", "-z", "--deleted"]))?;
            changed.extend(nul_fields(&deleted).map(<[u8]>::to_vec).filter(|path| gone.contains(path)));
        }
        Ok(changed)
    }

    /// Those of the files that are there: not as a directory, nor below one that is a file now.
    pub fn present(&self, root: &Root) -> Result<HashSet<Vec<u8>>> {
        let is_there = |path: &&Vec<u8>| Ok(matches!(root.look(&rel(path)?)?, Found::File(_) | Found::Link(_)));
        let all = self.before.keys().chain(self.after.keys());
        let there = all.map(|path| Ok(is_there(&path)?.then(|| path.clone())));
        Ok(there.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// Those of the files that are `present` and come new.
    pub fn displaced(&self, present: &HashSet<Vec<u8>>) -> Vec<String> {
        let is_displaced = |path: &&Vec<u8>| present.contains(*path) && !self.before.contains_key(*path);
        self.after.keys().filter(is_displaced).map(|path| String::from_utf8_lossy(path).into_owned()).collect()
    }

    /// Puts back what a step has written that failed half way: `present` was there before it. What is not as the step
    /// writes it is a person's.
    pub fn put_back(
        &self,
        git: &Git,
        (at, root): (&Path, &Root),
        present: &HashSet<Vec<u8>>,
        (checkout, old): (Cmd, &str),
    ) -> Result<()> {
        let (others, now) = (ChangedFiles::others(git, at, &self.after)?, self.present(root)?);
        let changed = ChangedFiles::others(git, at, &self.before)?;
        let is_gone = |path: &Vec<u8>| present.contains(path) && !now.contains(path);
        let is_written = |path: &Vec<u8>| {
            // One that only grows is the beginning of what comes, before anything is written.
            let is_as_before = self.before.contains_key(path) && !changed.contains(path);
            now.contains(path)
                && !is_as_before
                && self
                    .after
                    .get(path)
                    .is_some_and(|entry| !others.contains(path) || is_cut_off(git, root, path, entry))
        };
        if !self.after.keys().any(is_written) && !self.before.keys().any(is_gone) {
            return Ok(());
        }
        // git would not write the index, and half of it is worse than nothing.
        if private_dir(at).is_some_and(|git_dir| git_dir.join("index.lock").exists()) {
            return Err(failure::NOT_PUT_BACK
                .failure(format!("another git works in {}, and files there are not put back yet", at.display()))
                .hint("wait for it, or remove `index.lock` if it was killed; then `worker-ctl patrol` puts it back"));
        }
        let mut added = Vec::new();
        for path in self.after.keys().filter(|path| !present.contains(*path) && is_written(path)) {
            added.extend([path, b"\0".as_slice()].concat());
            let (rel, staging) =
                (rel(path)?, Staging::open(&private_dir(at).unwrap_or_else(|| at.join(".git")), root)?);
            if let Some(content) = root.content(&rel)? {
                staging.remove(root, &rel, &content)?;
            }
            // Empty directories in the place of a file that was there.
            let above = path.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/').map(|(end, _)| &path[..end]);
            for dir in above.filter(|dir| self.before.keys().any(|file| dir.starts_with(file))) {
                let _ = std::fs::remove_dir(at.join(OsStr::from_bytes(dir)));
            }
        }
        let is_lost = |path: &&Vec<u8>| {
            let is_gone = !now.contains(*path) || is_written(path);
            // What somebody has put there meanwhile stays, and git would empty it.
            let is_free = || rel(path).and_then(|path| root.look(&path)).is_ok_and(|found| found != Found::Dir);
            present.contains(*path) && is_gone && is_free()
        };
        let lost: Vec<u8> =
            self.before.keys().filter(is_lost).flat_map(|path| [path, b"\0".as_slice()].concat()).collect();
        // From the commit, because an agent can write the index; without hooks, because nobody switches a branch. git may
        // have written the index before it failed.
        let settings = ["--literal-pathspecs", "-c", "core.hooksPath=/dev/null", "-c", "core.sparseCheckout=false"];
        let from = ["--quiet", "--pathspec-from-file=-", "--pathspec-file-nul", old];
        for (name, paths) in [("reset", added), ("checkout", lost)] {
            if !paths.is_empty() {
                let cmd = checkout.clone().args(settings).arg(name).args(from);
                answer(name, &cmd.input(paths).capture()?)?;
            }
        }
        Ok(())
    }
}

/// The hint to move what is in the way. In an agent's worktree it would be a change there under any other name.
fn move_away(at: &Path, there: &Path, is_agents: bool) -> String {
    let mut to = if is_agents { at } else { there }.as_os_str().to_owned();
    if is_agents {
        to.push("-");
        to.push(there.file_name().unwrap_or_default());
    }
    to.push(".kept");
    let (from, to) = (shell_word(there), shell_word(Path::new(&to)));
    format!("move what is there away, then run the same command again: `mv {from} {to}`")
}

/// Whether a file has only the beginning of what this entry has, as git leaves it on a full disk.
fn is_cut_off(git: &Git, root: &Root, path: &[u8], entry: &[u8]) -> bool {
    let blob = entry.split(|byte| b" \t".contains(byte)).nth(1).map(|id| String::from_utf8_lossy(id).into_owned());
    let asked = blob.and_then(|blob| git.cmd_alone(root.path()).args(["cat-file", "blob", &blob]).capture().ok());
    let (Some(whole), Ok(rel)) = (asked.filter(|output| output.status.success()), rel(path)) else { return false };
    let length =
        root.join(&rel).symlink_metadata().map_or(usize::MAX, |meta| usize::try_from(meta.len()).unwrap_or(usize::MAX));
    let there = root.content(&rel).ok().flatten();
    whole.stdout.get(..length).is_some_and(|begun| there == Some(Content::File(Digest::of(begun))))
}

fn rel(path: &[u8]) -> Result<RelPath> {
    RelPath::parse_os(OsStr::from_bytes(path)).map_err(|e| Failure::failed(format!("git lists a path, and {}", e.0)))
}
