//! Takes agents away, as planned.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::farewell;
use shopfloor_core::fs;
use shopfloor_core::git::Git;
use shopfloor_core::lock::Lock;

use super::{files, spawn, trash};
use crate::excludes;
use crate::facts::agents::{self, Known};
use crate::facts::place::Place;
use crate::facts::removal::{Look, condition};
use crate::identity::{self, Agent, Kind, new_uid};
use crate::journal::{self, Open, Removing, VERSION, Work};
use crate::plan::removal::Removal;
use crate::plan::spawn::exclude;
use crate::spool::Spool;
use crate::{life, post};

/// What a removal came to.
#[derive(Clone, Debug, Default)]
pub struct Removed {
    /// The ref that keeps what it destroyed.
    pub trash: Option<String>,
    pub deleted_branch: Option<String>,
    pub notes: Vec<String>,
}

/// Lets the other tools take in what only this worktree has; gives back what they say of it. Exit 1 where one of them
/// refuses, unless that is forced. Not to be called under the repository's lock, for which others wait.
pub fn take_leave(env: &Env, place: &Place, removal: &Removal, force: bool) -> Result<Vec<String>> {
    let known = &removal.condition.known;
    if known.agent.kind == Kind::Worker || known.tree.is_lost {
        return Ok(Vec::new());
    }
    let scratch = place.shared().join("tmp");
    let farewell = farewell::before_removal(env, &known.tree.path, farewell::TOOLS, &scratch)?;
    farewell.require(&known.tree.path, force)?;
    Ok([farewell.notes, farewell.refused].concat())
}

/// Removes one. To be called under the repository's lock.
pub fn remove(env: &Env, place: &Place, git: &Git, removal: &Removal, lock: &Lock) -> Result<Removed> {
    let known = &removal.condition.known;
    let mut done = Removed { notes: removal.says.clone().into_iter().collect(), ..Removed::default() };
    if known.agent.kind == Kind::Worker {
        unseat(place, known)?;
        return Ok(done);
    }
    if known.tree.is_lost {
        // Only git's record is left of it; a detached HEAD may be all that knows its commit.
        done.trash = trash::keep_head(env, git, place, known)?;
    } else if removal.keeps_trash {
        done.trash = Some(trash::keep(env, git, place, known)?);
    }
    // A submodule's way to its repository is a relative one.
    let has_modules = known.tree.git_dir.join("modules").is_dir();
    let gone = place.shared().join("gone");
    fs::create_private_dir(&gone)?;
    let gitdir = fs::read(&known.tree.git_dir.join("gitdir"))?.unwrap_or_default();
    let work = Removing {
        v: VERSION,
        agents: agents::in_tree(place, &known.tree).into_iter().map(|known| known.agent).collect(),
        path: known.tree.path.clone(),
        git_dir: known.tree.git_dir.clone(),
        gitdir: String::from_utf8(gitdir).map_err(|_| Failure::failed("git's record of it is no text"))?,
        aside: if known.tree.is_lost { None } else { Some(aside_for(&gone, &known.tree.path)?) },
        record_aside: gone.join(format!("{}.git", new_uid())),
        is_final: false,
        deletes: removal.deletes.clone(),
        is_forced: done.trash.is_some() || has_modules,
    };
    let open = journal::begin(&place.shared(), work)?;
    if let Err(failure) = move_aside(env, place, git, &open.work) {
        return Err(match failure.exit {
            // What was begun is finished by whoever comes next.
            Exit::Signal(_) => failure,
            _ => put_back(place, &open.work).and_then(|()| open.close()).err().unwrap_or(failure),
        });
    }
    finish(place, git, open, &mut done).map_err(|failure| match &done.trash {
        Some(kept) => failure.hint(format!("what it had is kept as {kept}; `worktree-spawn repair` goes on")),
        None => failure.hint("`worktree-spawn repair` goes on"),
    })?;
    let _ = lock;
    Ok(done)
}

/// Where a worktree can be moved to in one step, and what it says of its git directory still leads there.
fn aside_for(gone: &Path, path: &Path) -> Result<PathBuf> {
    let device = |path: &Path| path.metadata().map(|meta| meta.dev()).ok();
    let above = path.parent().unwrap_or(path);
    let is_near = device(gone) == device(path) && device(above) == device(path);
    let dot_git = fs::read(&path.join(".git"))?.unwrap_or_default();
    let is_absolute = dot_git.starts_with(b"gitdir: /");
    // Else beside it, under a name that git ignores.
    let beside = above.join(format!("{}{}", fs::RESERVED, new_uid()));
    Ok(if is_near && is_absolute { gone.join(new_uid()) } else { beside })
}

/// Moves the worktree away, where nobody finds it to write into; then looks once more whether anything came meanwhile.
fn move_aside(env: &Env, place: &Place, git: &Git, work: &Removing) -> Result<()> {
    let Some(aside) = work.aside.as_ref() else { return Ok(()) };
    if !fs::rename_new(&work.path, aside)? {
        return Err(Failure::failed(format!("cannot move {} to {}", work.path.display(), aside.display())));
    }
    look_again(env, place, git, work, aside)
}

/// Exit 1 where it has what it had not when its removal was decided.
fn look_again(env: &Env, place: &Place, git: &Git, work: &Removing, aside: &Path) -> Result<()> {
    fs::replace(&work.git_dir.join("gitdir"), &named(aside), None)?;
    if work.is_forced {
        return Ok(());
    }
    let tree = place.trees()?.into_iter().find(|tree| tree.git_dir == work.git_dir);
    let tree = tree.ok_or_else(|| Failure::failed(format!("git does not know {} any more", work.path.display())))?;
    // Whose it is was read before; of the records here a part may be gone.
    let agent = work.agents.first().ok_or_else(|| Failure::failed("the journal names no agent"))?.clone();
    let known = Known { agent, tree, is_managed: true, error: None };
    let look = Look { env, place, git, probe: None };
    let found = condition(&look, &known, std::slice::from_ref(&known))?;
    if found.changes.is_empty() && found.submodule.is_none() && found.loose_commits == 0 {
        return Ok(());
    }
    let what = found.changes.iter().chain(&found.submodule).map(|what| format!("  {what}"));
    Err(Failure::new(Exit::No, "changed", format!("{} changed while it was removed", work.path.display()))
        .details(what)
        .hint("it is as it was; look at it and run the command again"))
}

/// How git's record names a worktree.
fn named(path: &Path) -> Vec<u8> {
    [path.join(".git").as_os_str().as_bytes(), b"\n"].concat()
}

/// The worktree is where it was, and everything as it was.
fn put_back(place: &Place, work: &Removing) -> Result<()> {
    let Some(aside) = work.aside.as_ref().filter(|aside| aside.symlink_metadata().is_ok()) else { return Ok(()) };
    if !fs::rename_new(aside, &work.path)? {
        return Err(Failure::failed(format!("{} cannot go back to {}", aside.display(), work.path.display())));
    }
    fs::replace(&work.git_dir.join("gitdir"), work.gitdir.as_bytes(), None)?;
    work.agents.iter().try_for_each(|agent| Spool::of(&place.shared(), &agent.id).unbury())
}

/// Everything after the point from which there is no way back; may be run again after a kill at any place.
fn finish(place: &Place, git: &Git, mut open: Open<Removing>, done: &mut Removed) -> Result<()> {
    let work = &open.work;
    if !work.is_final {
        for agent in work.agents.iter().rev() {
            bury(place, agent)?;
        }
        // In one step: half a record would look like half a worktree, and its name may be another's soon.
        fs::rename_new(&work.git_dir, &work.record_aside)?;
        open.is_final()?;
    }
    let work = &open.work;
    fs::remove_tree(&work.record_aside)?;
    fs::remove_empty_dir(&place.common_dir.join("worktrees"));
    if let Some((name, tip)) = &work.deletes {
        delete_branch(place, git, name, tip, done)?;
    }
    if let Some(Err(failure)) = work.aside.as_deref().map(fs::remove_tree) {
        done.notes.push(format!("{failure}; what is left there is nobody's, remove it by hand"));
    }
    release(place, &work.path)?;
    open.close()
}

/// Only as it was, and where nobody has it checked out by now.
fn delete_branch(place: &Place, git: &Git, name: &str, tip: &str, done: &mut Removed) -> Result<()> {
    let branch = format!("refs/heads/{name}");
    let asked = git.cmd(&place.common_dir).args(["rev-parse", "--verify", "--quiet", &branch]).capture()?;
    if !asked.status.success() {
        return Ok(());
    }
    if place.trees()?.iter().any(|tree| tree.branch.as_deref() == Some(name)) {
        done.notes.push(format!("the branch {name} stays: it is checked out"));
        return Ok(());
    }
    let deleted = git.cmd(&place.common_dir).args(["update-ref", "-d", &branch, tip]).capture()?;
    match deleted.status.success() {
        true => done.deleted_branch = Some(name.to_owned()),
        false => done.notes.push(format!("the branch {name} stays: it has moved meanwhile")),
    }
    Ok(())
}

/// Finishes the removals that were killed, under the repository's lock; says what became of each.
pub fn recover(place: &Place, git: &Git) -> Result<Vec<String>> {
    let (abandoned, mut said) = journal::abandoned::<Removing>(&place.shared())?;
    for open in abandoned {
        let (id, path) = (open.work.id().to_owned(), open.work.path.clone());
        let mut done = Removed::default();
        said.push(match recover_one(place, git, open, &mut done) {
            Ok(Recovered::Finished) => {
                let notes: String = done.notes.iter().map(|note| format!("; {note}")).collect();
                format!("finished the removal of {id}, which was killed{notes}")
            }
            Ok(Recovered::NotBegun) => {
                format!("the removal of {id} was killed before it began; {} is as it was", path.display())
            }
            Ok(Recovered::Orphaned(aside)) => format!(
                "the removal of {id} was killed, and git has let go of {} since; its files are kept in {}",
                path.display(),
                aside.display()
            ),
            Err(failure) => format!("cannot finish the removal of {id}, which was killed: {failure}"),
        });
    }
    Ok(said)
}

/// What became of a killed removal.
enum Recovered {
    Finished,
    NotBegun,
    /// Its files are here, and nobody can say any more what they are worth.
    Orphaned(PathBuf),
}

fn recover_one(place: &Place, git: &Git, open: Open<Removing>, done: &mut Removed) -> Result<Recovered> {
    let work = &open.work;
    if work.is_final || work.record_aside.exists() {
        let mut open = open;
        open.is_final()?;
        return finish(place, git, open, done).map(|()| Recovered::Finished);
    }
    // The name may be another worktree's by now.
    let gitdir = fs::read(&work.git_dir.join("gitdir"))?.unwrap_or_default();
    let is_ours = |aside: &Path| gitdir == work.gitdir.as_bytes() || gitdir == named(aside);
    match work.aside.clone() {
        Some(aside) if aside.symlink_metadata().is_err() => open.close().map(|()| Recovered::NotBegun),
        Some(aside) if !is_ours(&aside) => open.close().map(|()| Recovered::Orphaned(aside)),
        Some(aside) => {
            if let Err(failure) = look_again(&place.env, place, git, work, &aside) {
                put_back(place, work)?;
                open.close()?;
                return Err(failure);
            }
            finish(place, git, open, done).map(|()| Recovered::Finished)
        }
        None => {
            let agent = Agent::load(&identity::record(&work.git_dir))?;
            let is_same = agent.is_some_and(|agent| work.agents.first().is_some_and(|own| *own == agent));
            if !is_same || work.path.symlink_metadata().is_ok() {
                return open.close().map(|()| Recovered::NotBegun);
            }
            finish(place, git, open, done).map(|()| Recovered::Finished)
        }
    }
}

fn unseat(place: &Place, known: &Known) -> Result<()> {
    if !known.tree.is_lost {
        files::unseat(known)?;
    }
    fs::remove_tree(&identity::seats(&known.tree.git_dir).join(&known.agent.slug))?;
    bury(place, &known.agent)
}

/// What was for it goes to the nearest one above that is left; its lives are forgotten.
fn bury(place: &Place, agent: &Agent) -> Result<()> {
    let shared = place.shared();
    let heir = post::heir(place, agent)?;
    Spool::of(&shared, &agent.id).below(&agent.parents).bury(&shared, &heir, Some(agent))?;
    life::forget(&shared, &agent.id)
}

/// Lines that hide what is there no more: the worktree's own, and with the last child that for `.mcp.json`.
pub fn release(place: &Place, path: &Path) -> Result<()> {
    let all = agents::all(place)?;
    let own = exclude(&all, path);
    let is_last = !all.iter().any(|known| known.agent.kind == Kind::Subtree || known.error.is_some());
    let mcp = is_last.then(|| excludes::MCP.to_owned());
    let lines: Vec<String> = own.into_iter().chain(mcp).collect();
    let without = |text: &[u8]| lines.iter().fold(text.to_vec(), |text, line| excludes::without(&text, line));
    let repo = place.repo();
    let before = repo.read_exclude()?;
    if without(&before) == before {
        return Ok(());
    }
    repo.rewrite_exclude(|text| Ok(without(text)))
}

/// Writes the lines again that keep children out of their parents' status.
pub fn hide_again(place: &Place) -> Result<()> {
    spawn::exclude(&place.repo(), &spawn::state_lines().collect::<Vec<_>>())
}
