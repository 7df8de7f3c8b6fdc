//! Removes agents as planned.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::farewell;
use shopfloor_core::fs;
use shopfloor_core::git::Git;
use shopfloor_core::lock::Lock;

use super::records::release_excludes;
use super::{files, post, runs, trash};
use crate::agent_run::{self, Deaths};
use crate::facts::agents;
use crate::facts::removal::{Inspection, condition};
use crate::facts::repository;
use crate::failure::SpawnFailure;
use crate::identity::{Agent, AgentKind, new_uid};
use crate::journal::{self, Journaled, OpenJournal, RemovalJournal, VERSION};
use crate::known_agent::KnownAgent;
use crate::layout;
use crate::place::Place;
use crate::plan::removal::AgentRemoval;
use crate::spool::Spool;

/// The result of a removal.
#[derive(Clone, Debug, Default)]
pub struct RemovalOutcome {
    /// The ref that keeps what the removal destroyed.
    pub trash: Option<String>,
    pub deleted_branch: Option<String>,
    pub notes: Vec<String>,
}

/// Lets the other tools save what exists only in this worktree, and returns their messages. Fails with exit 1 if a tool
/// refuses, unless the removal is forced. The caller must not hold the repository's lock meanwhile, because other
/// processes wait for that lock.
pub fn take_leave(env: &Env, place: &Place, removal: &AgentRemoval) -> Result<Vec<String>> {
    let known = &removal.condition.known;
    if known.agent.kind == AgentKind::Worker || known.worktree.is_lost {
        return Ok(Vec::new());
    }
    let scratch = layout::temporary_dir(&place.shared());
    let farewell = farewell::before_removal(env, &known.worktree.path, farewell::TOOLS, &scratch)?;
    farewell.require(&known.worktree.path, removal.is_forced)?;
    Ok([farewell.notes, farewell.refused].concat())
}

/// Removes one agent. `_lock` is the repository's lock.
pub fn remove(env: &Env, place: &Place, git: &Git, removal: &AgentRemoval, _lock: &Lock) -> Result<RemovalOutcome> {
    let known = &removal.condition.known;
    let mut done = RemovalOutcome { notes: removal.note.clone().into_iter().collect(), ..RemovalOutcome::default() };
    if known.agent.kind == AgentKind::Worker {
        unseat(place, known)?;
        return Ok(done);
    }
    if known.worktree.is_lost {
        // Only git's record is left. A detached HEAD may be the only reference to its commit.
        done.trash = trash::keep_head(env, git, place, known)?;
    } else if removal.keeps_trash {
        done.trash = Some(trash::keep(env, git, place, known)?);
    }
    let open = journal::begin(&place.shared(), journal_entry(place, removal, &done)?)?;
    if let Err(failure) = move_aside(env, place, git, &open.entry) {
        return Err(match failure.exit {
            // After a signal the next command finishes the removal.
            Exit::Signal(_) => failure,
            _ => put_back(place, &open.entry).and_then(|()| open.close()).err().unwrap_or(failure),
        });
    }
    finish(place, git, open, &mut done).map_err(|failure| match &done.trash {
        Some(kept) => failure.hint(format!("its work is kept as {kept}; `worktree-spawn repair` finishes the removal")),
        None => failure.hint("`worktree-spawn repair` finishes the removal"),
    })?;
    Ok(done)
}

/// The journal of a removal that is about to begin.
fn journal_entry(place: &Place, removal: &AgentRemoval, done: &RemovalOutcome) -> Result<RemovalJournal> {
    let worktree = &removal.condition.known.worktree;
    // A submodule names its repository by a relative path, which is no longer valid when the worktree has been moved.
    let has_modules = worktree.git_dir.join("modules").is_dir();
    let gone = layout::gone_dir(&place.shared());
    fs::create_private_dir(&gone)?;
    let gitdir = fs::read(&worktree.git_dir.join("gitdir"))?.unwrap_or_default();
    Ok(RemovalJournal {
        v: VERSION,
        agents: agents::in_tree(place, worktree).into_iter().map(|known| known.agent).collect(),
        path: worktree.path.clone(),
        git_dir: worktree.git_dir.clone(),
        gitdir: String::from_utf8(gitdir).map_err(|_| Failure::failed("git's record of the worktree is not text"))?,
        aside: if worktree.is_lost { None } else { Some(aside_for(&gone, &worktree.path)?) },
        record_aside: gone.join(format!("{}.git", new_uid())),
        is_final: false,
        deletes: removal.deletes.clone(),
        is_forced: done.trash.is_some() || has_modules,
    })
}

/// A path to which the worktree can be moved in one step, and at which its `.git` file still leads to its git
/// directory.
fn aside_for(gone: &Path, path: &Path) -> Result<PathBuf> {
    let device = |path: &Path| path.metadata().map(|meta| meta.dev()).ok();
    let above = path.parent().unwrap_or(path);
    let is_near = device(gone) == device(path) && device(above) == device(path);
    let dot_git = fs::read(&path.join(".git"))?.unwrap_or_default();
    let is_absolute = dot_git.starts_with(b"gitdir: /");
    // Otherwise the worktree is moved to a name in the same directory, which git ignores.
    let beside = above.join(format!("{}{}", fs::RESERVED, new_uid()));
    Ok(if is_near && is_absolute { gone.join(new_uid()) } else { beside })
}

/// Moves the worktree to a path that nobody else uses, and then looks for changes that were made in the meantime.
fn move_aside(env: &Env, place: &Place, git: &Git, work: &RemovalJournal) -> Result<()> {
    let Some(aside) = work.aside.as_ref() else { return Ok(()) };
    if !fs::rename_new(&work.path, aside)? {
        return Err(Failure::failed(format!("cannot move {} to {}", work.path.display(), aside.display())));
    }
    look_again(env, place, git, work, aside)
}

/// Refuses a worktree that has changed since its removal was decided (exit 1).
fn look_again(env: &Env, place: &Place, git: &Git, work: &RemovalJournal, aside: &Path) -> Result<()> {
    fs::replace(&work.git_dir.join("gitdir"), &gitdir_text(aside), None)?;
    if work.is_forced {
        return Ok(());
    }
    let worktree = repository::worktrees(place)?.into_iter().find(|worktree| worktree.git_dir == work.git_dir);
    let worktree = worktree.ok_or_else(|| Failure::failed(format!("git no longer knows {}", work.path.display())))?;
    // The journal names the agent, because some of the records may be gone.
    let agent = work.agents.first().ok_or_else(|| Failure::failed("the journal names no agent"))?.clone();
    let known = KnownAgent::spawned(agent, worktree);
    let all = std::slice::from_ref(&known);
    let inspection = Inspection { env, place, git, probe: None, deaths: Deaths::Reported };
    let found = condition(&inspection, &known, all, runs::worktree_liveness(&inspection, &known, all)?)?;
    if found.changes.is_empty() && found.submodule.is_none() && found.loose_commits == 0 {
        return Ok(());
    }
    let what = found.changes.iter().chain(&found.submodule).map(|what| format!("  {what}"));
    Err(SpawnFailure::Changed
        .refuse(format!("{} changed while it was being removed", work.path.display()))
        .details(what)
        .hint("the worktree is back in its place; look at it and run the command again"))
}

/// The text by which git's record names a worktree.
fn gitdir_text(path: &Path) -> Vec<u8> {
    [path.join(".git").as_os_str().as_bytes(), b"\n"].concat()
}

/// Moves the worktree back and restores everything.
fn put_back(place: &Place, work: &RemovalJournal) -> Result<()> {
    let Some(aside) = work.aside.as_ref().filter(|aside| aside.symlink_metadata().is_ok()) else { return Ok(()) };
    if !fs::rename_new(aside, &work.path)? {
        return Err(Failure::failed(format!("{} cannot go back to {}", aside.display(), work.path.display())));
    }
    fs::replace(&work.git_dir.join("gitdir"), work.gitdir.as_bytes(), None)?;
    work.agents.iter().try_for_each(|agent| Spool::new(&place.shared(), &agent.id).unbury())
}

/// Does all steps from the first one that cannot be undone. After a kill at any point, these steps can be repeated.
fn finish(place: &Place, git: &Git, mut open: OpenJournal<RemovalJournal>, done: &mut RemovalOutcome) -> Result<()> {
    let work = &open.entry;
    if !work.is_final {
        for agent in work.agents.iter().rev() {
            bury(place, agent)?;
        }
        // Move the record away in one step. A record that is only half deleted would look like a damaged worktree, and
        // another worktree may soon get its name.
        fs::rename_new(&work.git_dir, &work.record_aside)?;
        open.mark_final()?;
    }
    let work = &open.entry;
    fs::remove_tree(&work.record_aside)?;
    fs::remove_empty_dir(&place.common_dir.join("worktrees"));
    if let Some((name, tip)) = &work.deletes {
        delete_branch(place, git, name, tip, done)?;
    }
    if let Some(Err(failure)) = work.aside.as_deref().map(fs::remove_tree) {
        done.notes.push(format!("{failure}; remove what is left there by hand"));
    }
    release_excludes(place, &work.path)?;
    open.close()
}

/// Deletes the branch if it has not moved and is not checked out anywhere.
fn delete_branch(place: &Place, git: &Git, name: &str, tip: &str, done: &mut RemovalOutcome) -> Result<()> {
    let branch = format!("refs/heads/{name}");
    let asked = git.cmd(&place.common_dir).args(["rev-parse", "--verify", "--quiet", &branch]).capture()?;
    if !asked.status.success() {
        return Ok(());
    }
    if repository::worktrees(place)?.iter().any(|worktree| worktree.branch.as_deref() == Some(name)) {
        done.notes.push(format!("the branch {name} stays: it is checked out"));
        return Ok(());
    }
    let deleted = git.cmd(&place.common_dir).args(["update-ref", "-d", &branch, tip]).capture()?;
    match deleted.status.success() {
        true => done.deleted_branch = Some(name.to_owned()),
        false => done.notes.push(format!("the branch {name} stays: it has moved since")),
    }
    Ok(())
}

/// Finishes removals that were killed, and returns a message about each. The caller holds the repository's lock.
pub fn recover(place: &Place, git: &Git) -> Result<Vec<String>> {
    let (abandoned, mut notes) = journal::abandoned::<RemovalJournal>(&place.shared())?;
    for open in abandoned {
        let (id, path) = (open.entry.id().to_owned(), open.entry.path.clone());
        let mut done = RemovalOutcome::default();
        notes.push(match recover_one(place, git, open, &mut done) {
            Ok(RecoveredRemoval::Finished) => {
                let notes: String = done.notes.iter().map(|note| format!("; {note}")).collect();
                format!("finished the removal of {id}, which was killed{notes}")
            }
            Ok(RecoveredRemoval::NotBegun) => {
                format!("the removal of {id} was killed before it began; {} is unchanged", path.display())
            }
            Ok(RecoveredRemoval::Orphaned(aside)) => format!(
                "the removal of {id} was killed, and git no longer knows {}; its files are kept in {}",
                path.display(),
                aside.display()
            ),
            Err(failure) => format!("cannot finish the removal of {id}, which was killed: {failure}"),
        });
    }
    Ok(notes)
}

/// The result of finishing a killed removal.
enum RecoveredRemoval {
    Finished,
    NotBegun,
    /// git no longer knows the worktree; its files are kept here.
    Orphaned(PathBuf),
}

fn recover_one(
    place: &Place,
    git: &Git,
    open: OpenJournal<RemovalJournal>,
    done: &mut RemovalOutcome,
) -> Result<RecoveredRemoval> {
    let work = &open.entry;
    if work.is_final || work.record_aside.exists() {
        let mut open = open;
        open.mark_final()?;
        return finish(place, git, open, done).map(|()| RecoveredRemoval::Finished);
    }
    // Another worktree may have the record's name now.
    let gitdir = fs::read(&work.git_dir.join("gitdir"))?.unwrap_or_default();
    let is_ours = |aside: &Path| gitdir == work.gitdir.as_bytes() || gitdir == gitdir_text(aside);
    match work.aside.clone() {
        Some(aside) if aside.symlink_metadata().is_err() => open.close().map(|()| RecoveredRemoval::NotBegun),
        Some(aside) if !is_ours(&aside) => open.close().map(|()| RecoveredRemoval::Orphaned(aside)),
        Some(aside) => {
            if let Err(failure) = look_again(&place.env, place, git, work, &aside) {
                put_back(place, work)?;
                open.close()?;
                return Err(failure);
            }
            finish(place, git, open, done).map(|()| RecoveredRemoval::Finished)
        }
        None => {
            let agent = Agent::load(&layout::identity_file(&work.git_dir))?;
            let is_same = agent.is_some_and(|agent| work.agents.first().is_some_and(|own| *own == agent));
            if !is_same || work.path.symlink_metadata().is_ok() {
                return open.close().map(|()| RecoveredRemoval::NotBegun);
            }
            finish(place, git, open, done).map(|()| RecoveredRemoval::Finished)
        }
    }
}

/// Removes a seat.
fn unseat(place: &Place, known: &KnownAgent) -> Result<()> {
    if !known.worktree.is_lost {
        files::unseat(known)?;
    }
    fs::remove_tree(&layout::seats_dir(&known.worktree.git_dir).join(&known.agent.slug))?;
    bury(place, &known.agent)
}

/// Forwards the agent's events to the nearest ancestor that is left, and deletes the records of its runs.
fn bury(place: &Place, agent: &Agent) -> Result<()> {
    let shared = place.shared();
    let heir = post::heir(place, agent)?;
    Spool::new(&shared, &agent.id).below(&agent.parents).bury(&shared, &heir, Some(agent))?;
    agent_run::forget(&shared, &agent.id)
}
