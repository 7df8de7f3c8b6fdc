//! Places files in a ledger: `current.md`, events, the archive.

use std::path::{Path, PathBuf};

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{self, Content, Root, Staging};
use shopfloor_core::git::{self, Repo};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::facts::{ARCHIVE, CURRENT, Current, EVENTS, Ledger};
use crate::tool::TOOL;

/// The most events with one time and agent.
const NAMES: usize = 100_000;

/// The place of files that are not complete yet. Others may write there too, because writers of events take no lock.
fn staging(ledger: &Ledger, targets: &[RelPath]) -> Result<Staging> {
    ledger.repo.remember_main_checkout(ledger.git.env())?;
    let private = ledger.state().join("tmp");
    let open = || {
        if Staging::is_beside(&private, &ledger.top)? {
            ledger.repo.exclude_reserved()?;
        }
        Staging::shared(&private, &ledger.top)
    };
    // A sandbox may let an agent write in its worktree alone. A temporary file is there for a moment only.
    let staging = open().or_else(|failure| match failure.is_write_refused() {
        true => Ok(Staging::beside()),
        false => Err(failure),
    })?;
    staging.sweep_beside(&ledger.top, targets.iter())?;
    Ok(staging)
}

/// Replaces the `current.md` that was read. `false`: the file has changed since.
pub fn write_current(ledger: &Ledger, before: Option<&Current>, text: &str) -> Result<bool> {
    let target = ledger.rel(CURRENT)?;
    let staging = staging(ledger, std::slice::from_ref(&target))?;
    let staged = staging.file(&ledger.top, &target, text.as_bytes(), before.map(|read| read.mode))?;
    let expected = before.map(|read| Content::File(Digest::of(&read.bytes)));
    staged.place_over(&ledger.top, &target, expected.as_ref())
}

/// Creates the file of an event under a free name, and returns its path below the ledger.
pub fn create_event(ledger: &Ledger, stem: &str, bytes: &[u8]) -> Result<String> {
    let below = |n: usize| match n {
        0 => format!("{EVENTS}/{stem}.md"),
        n => format!("{EVENTS}/{stem}-{}.md", n + 1),
    };
    let first = ledger.rel(&below(0))?;
    let staging = staging(ledger, std::slice::from_ref(&first))?;
    let staged = staging.file(&ledger.top, &first, bytes, None).or_else(|failure| {
        if !failure.is_write_refused() || staging.lies_beside() {
            return Err(failure);
        }
        Staging::beside().file(&ledger.top, &first, bytes, None)
    })?;
    let names = (0..NAMES).map_while(|n| ledger.rel(&below(n)).ok());
    staged.place_first(&ledger.top, names)?.map(below).ok_or_else(|| {
        Failure::failed(format!("every name for {stem}.md in {} is taken", ledger.dir.join(EVENTS).display()))
            .hint("run `ledger-synth archive`, or name another agent with `--agent`")
    })
}

/// Creates the file of a snapshot and syncs it to disk. An existing file must have the same content, because its name
/// is a hash of it.
pub fn create_snapshot(ledger: &Ledger, name: &str, text: &str) -> Result<()> {
    let target = ledger.rel(&format!("{EVENTS}/{name}"))?;
    let staging = staging(ledger, std::slice::from_ref(&target))?;
    let staged = staging.file(&ledger.top, &target, text.as_bytes(), None)?;
    if !staged.place(&ledger.top, &target)? {
        if ledger.top.content(&target)? != Some(Content::File(Digest::of(text.as_bytes()))) {
            let path = ledger.top.join(&target);
            let why = format!("{} exists with another content, so the snapshot cannot be written", path.display());
            return Err(Failure::failed(why).hint("move it away and run the command again"));
        }
        ledger.top.sync(&ledger.rel(EVENTS)?)?;
    }
    Ok(())
}

/// Moves a file of `archive/DAY/` back into `events/` under a free name.
pub fn restore(ledger: &Ledger, day: &str, name: &str) -> Result<()> {
    move_file(ledger, &format!("{ARCHIVE}/{day}"), EVENTS, name)?;
    remove_empty_day(ledger, day)?;
    ledger.top.sync(&ledger.rel(EVENTS)?)
}

/// Moves a file to another directory of the ledger under a free name, unless it is gone.
pub fn move_file(ledger: &Ledger, from: &str, to: &str, name: &str) -> Result<()> {
    let file = ledger.rel(&format!("{from}/{name}"))?;
    let stem = name.strip_suffix(".md").unwrap_or(name);
    for n in 1..NAMES {
        let suffix = if n == 1 { String::new() } else { format!("-{n}") };
        let target = ledger.rel(&format!("{to}/{stem}{suffix}.md"))?;
        if ledger.top.move_new(&file, &target)? || ledger.top.content(&file)?.is_none() {
            return Ok(());
        }
        // The file was moved before and came back as a copy, so one of the two is enough.
        if ledger.top.content(&target)? == ledger.top.content(&file)? {
            return ledger.top.unlink(&file).map(drop);
        }
    }
    Err(Failure::failed(format!("every name for {name} in {} is taken", ledger.dir.join(to).display()))
        .hint("run `ledger-synth prune`"))
}

/// Removes `archive/DAY/` if it is empty.
pub fn remove_empty_day(ledger: &Ledger, day: &str) -> Result<()> {
    ledger.top.remove_empty_dir(&ledger.rel(&format!("{ARCHIVE}/{day}"))?).map(drop)
}

/// Writes the answer to a file that the user named.
pub fn write_output(path: &Path, text: &str) -> Result<()> {
    fs::replace(path, text.as_bytes(), None)
}

/// Keeps a copy of a `current.md` that a person changed, and returns its path. It stays when the worktree is removed.
pub fn keep_edited(repo: &Repo, bytes: &[u8]) -> Result<PathBuf> {
    let dir = repo.shared_state(TOOL).join("edited");
    fs::create_private_dir(&dir)?;
    let path = dir.join(format!("{}.md", &Digest::of(bytes).to_string()[..16]));
    fs::replace(&path, bytes, Some(fs::PRIVATE))?;
    Ok(path)
}

/// Replaces or creates a file of the work tree if it still holds what was read. A text that is empty afterwards is no
/// file, and the directories that are empty then go with it.
pub fn edit(ledger: &Ledger, worktree: &Root, name: &str, before: &str, after: &str) -> Result<()> {
    let target = RelPath::parse(name).map_err(|why| Failure::failed(why.to_string()))?;
    let staging = staging(ledger, &[])?;
    let expected = Content::File(Digest::of(before.as_bytes()));
    let write = |mode| staging.file(worktree, &target, after.as_bytes(), mode);
    let is_done = match worktree.read_whole(&target)? {
        Some(_) if after.is_empty() => staging.remove(worktree, &target, &expected)?,
        Some((_, mode)) => write(Some(mode))?.swap(worktree, &target, &expected)?,
        None => write(None)?.place(worktree, &target)?,
    };
    if is_done {
        let mut above = target.parent().filter(|_| after.is_empty());
        while let Some(empty) = above.filter(|dir| worktree.remove_empty_dir(dir).unwrap_or(false)) {
            above = empty.parent();
        }
        return Ok(());
    }
    Err(Failure::failed(format!("{} changed in the meantime", worktree.join(&target).display()))
        .hint("run the same command again"))
}

/// Takes `current.md` out of git's index. The file stays.
pub fn untrack_current(ledger: &Ledger) -> Result<()> {
    let Some(prefix) = ledger.in_tree() else { return Ok(()) };
    let page = prefix.as_path().join(CURRENT);
    let args = ["--literal-pathspecs", "rm", "--cached", "--quiet", "--force", "--ignore-unmatch", "--"];
    git::run_git("rm", ledger.git.cmd(ledger.top.path()).args(args).arg(page)).map(drop)
}

/// Takes a setting out of the clone's configuration. `false`: it is set elsewhere.
pub fn unset_git_setting(ledger: &Ledger, name: &str) -> Result<bool> {
    git::require_own_config(&ledger.repo.common_dir)?;
    let output = ledger.git.cmd(ledger.top.path()).args(["config", "--local", "--unset", name]).capture()?;
    match output.status.code() {
        0 => Ok(true),
        5 => Ok(false),
        _ => Err(git::failed("config", &output)),
    }
}

/// Sets a setting in the clone's configuration.
pub fn set_git_setting(ledger: &Ledger, name: &str, value: &str) -> Result<()> {
    git::require_own_config(&ledger.repo.common_dir)?;
    git::run_git("config", ledger.git.cmd(ledger.top.path()).args(["config", "--local", name, value])).map(drop)
}
