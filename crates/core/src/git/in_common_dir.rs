//! git in the directory that all worktrees share. Agents can write most of it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::guard::{NO_REPLACED, Pinned, needs_stand_in, no_hooks, reads_own_settings};
use super::integrity::{odd, require_plain_common, require_sound, tampered};
use super::sanitized_common_dir::{Owner, runs_nothing, written};
use super::{Git, Repo};
use crate::error::{Exit, Failure, Result};
use crate::fs;
use crate::proc::{Cmd, Output};
use crate::text::shell_word;

impl Git {
    /// git for commands in the common directory of a repository. It obeys the file `config` there and no other
    /// configuration, reads no file `commondir`, and runs no hooks. Exit 4, kind `tampered`, where something is not as
    /// git makes it.
    pub fn common(&self, common_dir: &Path) -> Result<Git> {
        require_plain_common(common_dir)?;
        let stand_in = match needs_stand_in(common_dir)? {
            true => self.stand_in_of(common_dir, common_dir)?,
            false => None,
        };
        let common = stand_in.unwrap_or_else(|| common_dir.to_path_buf());
        let settings = no_hooks().map(Into::into).collect();
        let vars = NO_REPLACED;
        let pinned = Pinned { settings, vars, ..Pinned::new(common_dir, common_dir.to_path_buf(), Some(common)) };
        Ok(Git { pinned: Some(pinned), ..self.clone() })
    }

    /// git for what nobody typed, in a repository that an agent may have made or led us to: no hooks, and of its
    /// configuration only who commits, what runs nothing, and what the person's own configuration says too. Where the
    /// user's state cannot be written, as in an agent's sandbox, it is the same git. Exit 4, kind `tampered`, where
    /// something is not as git makes it.
    pub fn unattended(&self, repo: &Repo) -> Result<Git> {
        require_sound(&repo.git_dir)?;
        let dir = self.own_place(&repo.common_dir)?.with_extension("unattended");
        let common = match self.stand_in(&repo.common_dir, &Owner::Agents { dir, theirs: PathBuf::from("/") }) {
            Err(failure) if failure.is_write_refused() => return Ok(self.clone()),
            made => made?,
        };
        let mut settings = self.own_settings(&repo.git_dir)?;
        settings.extend(self.identity(&repo.common_dir.join("config"))?);
        settings.extend(no_hooks().map(OsString::from));
        let worktree = repo.require_worktree()?;
        if repo.is_linked() {
            settings.extend(self.away_from(worktree, &repo.main_checkout)?);
        }
        let pinned = Pinned { settings, ..Pinned::new(worktree, repo.git_dir.clone(), Some(common)) };
        Ok(Git { pinned: Some(pinned), ..self.clone() })
    }

    /// Refuses a worktree's own configuration by which git could run something while it makes another worktree there:
    /// hooks, and files that it includes, which may have some. Exit 4, kind `tampered`.
    pub fn refuse_own_hooks(&self, common_dir: &Path, git_dir: &Path) -> Result<()> {
        if !reads_own_settings(common_dir)? {
            return Ok(());
        }
        self.refuse_own_settings(git_dir, |(key, _)| ["hook.", "include"].iter().any(|start| key.starts_with(start)))
    }

    /// Takes out of a new worktree's configuration what could run something: git copied it from the worktree in which
    /// it was called. Returns the settings' names.
    pub fn leave_out_programs(&self, git_dir: &Path) -> Result<Vec<String>> {
        let file = git_dir.join("config.worktree");
        let (kept, left_out): (Vec<_>, Vec<_>) = self.settings(&file)?.into_iter().partition(runs_nothing);
        if !left_out.is_empty() {
            fs::replace(&file, &written(&kept), None)?;
        }
        Ok(left_out.into_iter().map(|(key, _)| key).collect())
    }
}

/// Fails with the kind `tampered` if the way to a ref or to its log leads through a link, or ends at something that is
/// no file, or at the name of another ref: git would write there.
pub fn require_plain_ref(common_dir: &Path, name: &str) -> Result<()> {
    for way in [name.to_owned(), format!("logs/{name}")] {
        let mut at = common_dir.to_path_buf();
        for part in Path::new(&way) {
            at.push(part);
            match at.symlink_metadata() {
                Err(_) => break,
                Ok(meta) if meta.is_dir() || meta.is_file() => {}
                Ok(_) => return odd(&at, "is not a file"),
            }
        }
    }
    let file = common_dir.join(name);
    // git makes a file of a directory that is empty.
    let text = if file.is_dir() { None } else { fs::read_no_follow(&file)? };
    match text {
        Some(text) if name.starts_with("refs/") && text.starts_with(b"ref:") => {
            Err(tampered(format!("{} names another ref", file.display()))
                .hint(format!("look at it: `cat {}`; if you did not make it, move it away", shell_word(&file))))
        }
        _ => Ok(()),
    }
}

/// The failure to write a ref of ours, with what an agent may have put in its way and how that goes. Of the kind `tampered`
/// for a ref above or below it, where git makes no other and no command of ours makes one.
pub fn ref_failure(common_dir: &Path, name: &str, failure: Failure) -> Failure {
    let lock = common_dir.join(format!("{name}.lock"));
    if lock.symlink_metadata().is_ok() {
        return failure.hint(format!("once no git works there, remove its lock: `rm {}`", shell_word(&lock)));
    }
    let loose = walkdir::WalkDir::new(common_dir.join("refs/shopfloor")).into_iter().filter_map(Result::ok);
    let loose = loose.filter(|entry| !entry.file_type().is_dir());
    let loose = loose.filter_map(|entry| entry.path().strip_prefix(common_dir).ok().map(Path::to_path_buf));
    // `OBJECT NAME`
    let packed = fs::read_no_follow(&common_dir.join("packed-refs")).ok().flatten().unwrap_or_default();
    let packed = packed.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').nth(1));
    let packed = packed.map(|name| PathBuf::from(OsStr::from_bytes(name)));
    let is_in_the_way = |other: &PathBuf| {
        let is_ours = other.starts_with("refs/shopfloor") && other != Path::new(name);
        is_ours && (Path::new(name).starts_with(other) || other.starts_with(name))
    };
    let Some(other) = loose.chain(packed).find(is_in_the_way) else { return failure };
    let (dir, word, file) = (shell_word(common_dir), shell_word(&other), common_dir.join(&other));
    let why = format!("{} is in the way of {name}, and no command of ours makes it", other.display());
    let tampered = tampered(why).hint(format!("remove it: `git -C {dir} update-ref --no-deref -d {word}`"));
    if file.is_file() { tampered.hint(format!("if git cannot read it: `rm {}`", shell_word(&file))) } else { tampered }
}

/// How often a file that another git has locked is tried again, and how long after.
const LOCK_TRIES: usize = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// The output of a command that writes the index of a checkout, or the configuration, once no other git does so. Exit 75,
/// kind `busy`, if one always does, or was killed. Then nothing has happened, unless it is a ref that is locked: git writes
/// files and the index before that.
pub fn when_unlocked(cmd: &Cmd, at: &Path) -> Result<Output> {
    let mut tries = 0;
    loop {
        let output = cmd.clone().capture()?;
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let is_config = said.contains("could not lock config file") && said.contains(": File exists");
        if output.status.success() || !(is_config || said.contains(".lock': File exists")) {
            return Ok(output);
        }
        if tries == LOCK_TRIES {
            return Err(Failure::new(Exit::Busy, "busy", format!("another git works in {}", at.display()))
                .because(std::io::Error::other(said))
                .hint("wait for it, then run the same command again; a git that was killed leaves that file behind"));
        }
        tries += 1;
        thread::sleep(LOCK_PAUSE);
    }
}
