//! Removes agents as planned.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{Git, WorktreeDir, recorded_path};
use shopfloor_core::known_dirs::forget_gone;
use shopfloor_core::lock::Lock;
use shopfloor_core::pre_remove::{self, How};
use shopfloor_core::proc::processes::{self, Process};
use shopfloor_core::sandbox::Sandbox;
use shopfloor_core::written_files;

use super::lock_and_excludes::release_excludes;
use super::undo::{self, Decided};
use super::{agent_config_files, sandboxes, send_event, trash};
use crate::agent_in_worktree::KnownAgent;
use crate::agent_run;
use crate::facts::agents;
use crate::facts::merged_commits::loose_commits;
use crate::facts::removal::{Branch, changes};
use crate::facts::repository;
use crate::failure;
use crate::identity::{Agent, AgentKind};
use crate::journal::{self, OpenJournal, RemovalJournal};
use crate::layout;
use crate::plan::removal::AgentRemoval;
use crate::repository_view::{Place, Worktree};
use crate::spool::Spool;

/// The result of a removal.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RemovalOutcome {
    pub deleted_branch: Option<String>,
    /// The ref that keeps what the removal destroyed.
    pub trash: Option<String>,
    pub notes: Vec<String>,
}

/// Runs the other tools' hook before a removal, which saves what exists only in this worktree, and returns their
/// messages; in a dry run, what they would say. Fails with exit 1 if a tool refuses, unless the removal is forced. The caller must not hold the repository's lock meanwhile, because other
/// processes wait for that lock.
pub fn run_pre_remove(
    env: &Env,
    place: &Place,
    removal: &AgentRemoval,
    (is_dry, reaps): (bool, bool),
) -> Result<Vec<String>> {
    let known = &removal.condition.known;
    if known.agent.kind == AgentKind::Worker || known.worktree.is_lost {
        return Ok(Vec::new());
    }
    let scratch = layout::temporary_dir(&place.shared());
    // A forced `shopfloor rm` has ended the worker, and has worker-ctl forget it once its worktree is gone.
    let is_told = removal.is_forced && env.is_behind_front;
    let tools = if is_told { pre_remove::TOOLS } else { pre_remove::WITH_WORKERS };
    let reports = pre_remove::run(
        env,
        &known.worktree.path,
        tools,
        &scratch,
        How { is_forced: removal.is_forced, is_dry, reaps },
    )?;
    reports.require(&known.worktree.path, removal.is_forced)?;
    Ok([reports.notes, reports.refused].concat())
}

/// Runs those hooks, then ends what the agent left running in its worktree, and those of others to which a person agreed.
pub fn prepare(env: &Env, place: &Place, removal: &AgentRemoval, agreed: &BTreeSet<Process>) -> Result<Vec<String>> {
    let known = &removal.condition.known;
    let path = &known.worktree.path;
    let is_worktree = known.agent.kind != AgentKind::Worker && !known.worktree.is_lost;
    // What tmux runs there when a session has just ended is no program of anybody's, and soon over.
    let mut working = if is_worktree { processes::working_in(env, path) } else { BTreeSet::new() };
    let mut notes = run_pre_remove(env, place, removal, (false, !agreed.is_empty()))?;
    working.retain(|process| processes::directory(process.pid).is_some_and(|dir| dir.starts_with(path)));
    notes.extend(
        processes::reap_these(env, working, |process| agreed.contains(process) || is_of(known, process.pid))
            .notes(path),
    );
    Ok(notes)
}

/// Whether a process that works in the agent's worktree was started by it, or by the set-up.
pub fn is_of(known: &KnownAgent, pid: i32) -> bool {
    let path = known.worktree.path.as_os_str().as_encoded_bytes();
    let has = |name: &str, wanted: &[u8]| processes::variable(pid, name).is_some_and(|value| value == wanted);
    has("SHOPFLOOR_AGENT_ID", known.agent.id.as_bytes()) || has("SWEATFILE_WORKTREE", path)
}

/// Keeps what was amended or reset in an agent's sandbox. Where that cannot be taken out, a note says that the sandbox stays.
fn keep_dropped(
    env: &Env,
    git: &Git,
    place: &Place,
    (known, sandbox): (&KnownAgent, &Sandbox),
    done: &mut RemovalOutcome,
) -> Result<bool> {
    match sandbox.dropped() {
        Ok(dropped) => trash::keep_commits(env, git, place, known, &dropped).map(|()| true),
        Err(failure) => {
            done.notes.push(format!("its sandbox stays in {}: {failure}", sandbox.git_dir().display()));
            Ok(false)
        }
    }
}

/// Removes one agent. `_lock` is the repository's lock.
pub fn remove(env: &Env, place: &Place, git: &Git, removal: &AgentRemoval, _lock: &Lock) -> Result<RemovalOutcome> {
    let known = &removal.condition.known;
    let mut done = RemovalOutcome { notes: removal.note.clone().into_iter().collect(), ..RemovalOutcome::default() };
    if known.agent.kind == AgentKind::Worker {
        done.notes.extend(unseat(place, known)?);
        return Ok(done);
    }
    let sandbox = sandboxes::of(env, place, known);
    let is_empty = sandbox.as_ref().map_or(Ok(()), |sandbox| sandboxes::require_empty(sandbox, known));
    let mut is_kept_elsewhere = is_empty.is_ok();
    if !removal.is_forced {
        is_empty?;
    } else if let (false, Some(sandbox)) = (is_kept_elsewhere, &sandbox) {
        let below = format!("refs/shopfloor/trash/{}/sandbox", known.agent.id);
        let kept = sandbox.keep(&below);
        is_kept_elsewhere = kept.is_ok();
        done.notes.push(match kept {
            Ok(()) => format!("what it had in its sandbox is below {below}"),
            Err(failure) => format!("its sandbox stays in {}: {failure}", sandbox.git_dir().display()),
        });
    }
    if known.worktree.is_lost {
        // Only git's record is left.
        done.trash = trash::keep_lost(env, git, place, known)?;
    } else if removal.keeps_trash {
        done.trash = Some(trash::keep(env, git, place, known)?);
    }
    if let (Branch::Contained { tip, .. }, true) = (&removal.condition.branch, removal.deletes.is_some())
        && known.agent.base_sha.as_ref() != Some(tip)
    {
        // The same change may stand elsewhere in a file, and `git cherry` calls it the same. An agent can move the branch
        // that has it for a moment.
        trash::keep_commit(env, git, place, known, tip)?;
    }
    // What was amended or reset in its sandbox goes with that.
    if let Some(sandbox) = sandbox.as_ref().filter(|_| is_kept_elsewhere) {
        is_kept_elsewhere = keep_dropped(env, git, place, (known, sandbox), &mut done)?;
    }
    // The log of its HEAD goes, and what was amended or reset is in nothing else. An agent can write it: what of it cannot be
    // kept is in nobody's way.
    let logged = git.common(&place.common_dir)?.only_logged(&place.common_dir, &known.worktree.git_dir);
    let _ = trash::keep_commits(env, git, place, known, &logged);
    let open = journal::begin(&place.shared(), &known.agent.id, journal_entry(removal)?)?;
    let moves = Moves::of(place, &open, &known.worktree.path);
    // Only what the record leads to, and what leads back to it, is moved and removed, wherever its path leads by then.
    let mut worktree = match known.worktree.is_lost {
        true => None,
        false => Some(WorktreeDir::require(&moves.path, &moves.record)?),
    };
    if let Some(worktree) = &mut worktree
        && let Err(failure) = move_aside(place, git, (&moves, worktree), done.trash.as_deref())
    {
        return Err(match failure.exit {
            // After a signal the next command finishes the removal.
            Exit::Signal(_) => failure,
            _ => put_back(place, &moves, worktree).and_then(|()| open.close()).err().map_or(failure, |why| {
                why.hint("`worktree-spawn repair` puts the worktree back, or finishes the removal")
            }),
        });
    }
    finish(place, git, open, (&moves, worktree), Decided::Here, &mut done).map_err(|failure| match &done.trash {
        Some(kept) => failure.hint(format!("its work is kept as {kept}; `worktree-spawn repair` finishes the removal")),
        None => failure.hint("`worktree-spawn repair` finishes the removal"),
    })?;
    if let Some(sandbox) = sandbox.filter(|_| is_kept_elsewhere) {
        sandbox.remove()?;
    }
    Ok(done)
}

/// The paths that a removal works on. They are computed from names and from git's record, and never read from a journal.
struct Moves {
    /// git's record of the worktree.
    record: PathBuf,
    /// Where the record is moved in one step. After that step there is no way back.
    record_aside: PathBuf,
    /// The worktree.
    path: PathBuf,
    /// Where the worktree is moved before it is deleted: a name in the same directory, which git ignores, so that a
    /// relative `.git` file still leads to the record.
    aside: PathBuf,
}

impl Moves {
    fn of(place: &Place, open: &OpenJournal<RemovalJournal>, path: &Path) -> Moves {
        Moves {
            record: place.common_dir.join("worktrees").join(&open.entry.record),
            record_aside: layout::gone_dir(&place.shared()).join(format!("{}.git", open.uid())),
            path: path.to_path_buf(),
            aside: path.with_file_name(format!("{}{}", fs::RESERVED, open.uid())),
        }
    }

    /// The worktree, where it lies now.
    fn worktree(&self) -> Worktree {
        let (path, git_dir) = (self.aside.clone(), self.record.clone());
        Worktree { path, git_dir, branch: None, is_main: false, is_lost: false }
    }
}

/// The journal of a removal that is about to begin.
fn journal_entry(removal: &AgentRemoval) -> Result<RemovalJournal> {
    let known = &removal.condition.known;
    let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let names = name(&known.worktree.git_dir).zip(name(&known.worktree.path));
    let (record, name) = names.ok_or_else(|| {
        Failure::failed(format!("{} has a name that is not UTF-8", known.worktree.path.display()))
            .hint("remove it with `git worktree remove`")
    })?;
    let deletes = removal.deletes.as_ref().map(|(_, tip)| tip.clone());
    Ok(RemovalJournal { record, name, deletes, is_tried: false })
}

/// Moves the worktree to a path that nobody else uses, and then looks for changes that were made in the meantime.
fn move_aside(
    place: &Place,
    git: &Git,
    (moves, worktree): (&Moves, &mut WorktreeDir),
    kept: Option<&str>,
) -> Result<()> {
    worktree.require_at(&moves.path)?;
    if !worktree.rename(moves.aside.file_name().unwrap_or_default())? {
        return Err(Failure::failed(format!("cannot move {} to {}", moves.path.display(), moves.aside.display())));
    }
    place.record_path(&moves.record, &moves.aside)?;
    match kept {
        Some(kept) => require_kept(place, git, moves, kept)?,
        None => look_again(place, git, moves)?,
    }
    worktree.require_at(&moves.aside)
}

/// Refuses a worktree that has changed since it was kept under a ref (exit 1).
fn require_kept(place: &Place, git: &Git, moves: &Moves, kept: &str) -> Result<()> {
    let worktree = moves.worktree();
    if trash::is_as_kept(&worktree.git(git, place)?, &worktree.path, kept)? {
        return Ok(());
    }
    Err(failure::CHANGED
        .failure(format!("{} is still changing", moves.path.display()))
        .hint("the worktree is back in its place; end what works there and run the command again"))
}

/// Refuses a worktree that has changed since its removal was decided (exit 1).
fn look_again(place: &Place, git: &Git, moves: &Moves) -> Result<()> {
    let worktree = repository::worktrees(place)?.into_iter().find(|worktree| worktree.git_dir == moves.record);
    let worktree = worktree.ok_or_else(|| Failure::failed(format!("git no longer knows {}", moves.path.display())))?;
    let git = &worktree.git(git, place)?;
    let found = changes(place, git, &worktree)?;
    if found.paths.is_empty() && found.submodule.is_none() && loose_commits(git, &worktree)? == 0 {
        return Ok(());
    }
    let what = found.paths.iter().chain(&found.submodule).map(|what| format!("  {what}"));
    Err(failure::CHANGED
        .failure(format!("{} has changes that would be lost", moves.path.display()))
        .details(what)
        .hint("the worktree is back in its place; look at it and run the command again"))
}

/// Moves the worktree back, and restores everything.
fn put_back(place: &Place, moves: &Moves, worktree: &mut WorktreeDir) -> Result<()> {
    if worktree.path().file_name() != moves.aside.file_name() {
        return Ok(());
    }
    if !worktree.rename(moves.path.file_name().unwrap_or_default())? {
        return Err(Failure::failed(format!("{} cannot go back to {}", moves.aside.display(), moves.path.display())));
    }
    restore(place, moves)
}

/// Restores everything of a worktree that is back.
fn restore(place: &Place, moves: &Moves) -> Result<()> {
    place.record_path(&moves.record, &moves.path)?;
    let agents = agents::in_tree(place, &moves.worktree());
    agents.iter().try_for_each(|known| Spool::new(&place.shared(), &known.agent.id).unbury())
}

/// Does all steps from the first one that cannot be undone. After a kill at any point, these steps can be repeated.
fn finish(
    place: &Place,
    git: &Git,
    mut open: OpenJournal<RemovalJournal>,
    (moves, worktree): (&Moves, Option<WorktreeDir>),
    decided: Decided,
    done: &mut RemovalOutcome,
) -> Result<()> {
    if moves.record_aside.symlink_metadata().is_err() {
        for known in agents::in_tree(place, &moves.worktree()).iter().rev().filter(|known| known.error.is_none()) {
            bury(place, &known.agent)?;
        }
        // Move the record away in one step. A record that is only half deleted would look like a damaged worktree, and
        // another worktree may soon get its name.
        fs::create_private_dir(&layout::gone_dir(&place.shared()))?;
        place.move_state(&moves.record, &moves.record_aside)?;
    }
    // First the files, which the record tells where they are.
    let removed = worktree.map_or(Ok(()), WorktreeDir::remove);
    // Its `.git` file, which goes last, may be gone.
    fs::remove_empty_dir(&moves.aside);
    let stays = moves.aside.symlink_metadata().is_ok();
    if stays {
        let why = removed.err().map_or_else(|| "something wrote into it".into(), |failure| failure.to_string());
        let (at, size) = (moves.aside.display(), fs::size_of(&moves.aside));
        done.notes.push(format!("{at} ({size}) stays: {why}; `worktree-spawn gc` tries again"));
    }
    if let Some(tip) = &open.entry.deletes {
        let id = &open.id;
        match undo::delete_branch(place, git, id, tip, decided)? {
            None => {}
            Some(Ok(())) => done.deleted_branch = Some(id.clone()),
            Some(Err(note)) => done.notes.push(note),
        }
    }
    if stays {
        // A later removal tries again to delete the files. All the rest is done, and an agent that gets this id meanwhile
        // keeps its branch.
        (open.entry.deletes, open.entry.is_tried) = (None, true);
        return open.save();
    }
    // While the record is there, the next command finds what is left to be done.
    release_excludes(place, &moves.path)?;
    place.remove_state(&moves.record_aside)?;
    fs::remove_empty_dir(&place.common_dir.join("worktrees"));
    done.notes.extend(open.close().err().map(|failure| format!("{failure}; the next command tries again")));
    done.notes.extend(free_places(place));
    Ok(())
}

/// Lets another repository have the places of worktrees that are gone. Nothing is undone where that fails, so it is a note.
pub fn free_places(place: &Place) -> Option<String> {
    let failure = forget_gone(&place.env).err()?;
    Some(format!(
        "the places of worktrees that are gone are not free for other repositories: {failure}; `worktree-spawn repair` tries \
         again"
    ))
}

/// The files of a removal that could not be deleted and that only a journal of this name remembers.
pub fn leftover(place: &Place, uid: &str) -> Option<PathBuf> {
    let record = layout::gone_dir(&place.shared()).join(format!("{uid}.git"));
    let at = recorded_path(&record).ok()??.with_file_name(format!("{}{uid}", fs::RESERVED));
    at.symlink_metadata().is_ok().then_some(at)
}

/// Finishes removals that were killed, and returns a message about each. The caller holds the repository's lock.
pub fn recover(place: &Place, git: &Git) -> Result<Vec<String>> {
    let (abandoned, mut notes) = journal::abandoned::<RemovalJournal>(&place.shared())?;
    for open in abandoned {
        let id = open.id.clone();
        notes.push(
            recover_one(place, git, open)
                .and_then(|note| Ok(note + &trash::last_of(git, place, &id)?))
                .unwrap_or_else(|failure| format!("cannot finish the removal of {id}, which was killed: {failure}")),
        );
    }
    Ok(notes)
}

/// Finishes a removal whose process is gone, and says what became of it. Everything is looked at again: an agent may have
/// written the journal.
fn recover_one(place: &Place, git: &Git, open: OpenJournal<RemovalJournal>) -> Result<String> {
    let id = open.id.clone();
    let not_begun = format!("the removal of {id} was killed before it began; its worktree is unchanged");
    let unplaced = Moves::of(place, &open, Path::new(""));
    let is_final = unplaced.record_aside.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    let at = match recorded_path(if is_final { &unplaced.record_aside } else { &unplaced.record })? {
        // Half of the record may be deleted already; then the files are gone, too.
        None if is_final => unplaced.record_aside.clone(),
        None => {
            let gone = format!("the removal of {id} was killed, and git has no record of its worktree any more");
            return open.close().map(|()| gone);
        }
        Some(at) => at,
    };
    let moves = Moves::of(place, &open, &at.with_file_name(&open.entry.name));
    let mut worktree = WorktreeDir::open(&moves.aside, &moves.record)?;
    if !is_final {
        if (at != moves.path && at != moves.aside) || moves.aside.symlink_metadata().is_err() {
            // It ended while it put the worktree back.
            if at == moves.aside && WorktreeDir::open(&moves.path, &moves.record)?.is_some() {
                restore(place, &moves)?;
            }
            return open.close().map(|()| not_begun);
        }
        let Some(found) = worktree.as_mut().filter(|_| moves.path.symlink_metadata().is_err()) else {
            let aside = moves.aside.display();
            let orphaned = format!("git no longer knows its worktree; its files are kept in {aside}");
            return open.close().map(|()| format!("the removal of {id} was killed, and {orphaned}"));
        };
        let looked = match Agent::load(&layout::identity_file(&moves.record))? {
            Some(agent) if agent.id == id => {
                place.record_path(&moves.record, &moves.aside)?;
                look_again(place, git, &moves).and_then(|()| found.require_at(&moves.aside))
            }
            _ => Err(Failure::failed(format!("{} has another agent", moves.path.display()))),
        };
        if let Err(failure) = looked {
            put_back(place, &moves, found)?;
            let back =
                format!("its worktree is back in its place; look at it and run `worktree-spawn remove {id}` again");
            return open.close().map(|()| format!("the removal of {id} was killed, and {back}: {failure}"));
        }
    }
    let mut done = RemovalOutcome::default();
    finish(place, git, open, (&moves, worktree), Decided::ByJournal, &mut done)?;
    let notes: String = done.notes.iter().map(|note| format!("; {note}")).collect();
    Ok(match moves.aside.symlink_metadata().is_ok() {
        true => format!("the removal of {id} could not delete all files{notes}"),
        false => format!("finished the removal of {id}{notes}"),
    })
}

/// Removes a seat, and says what stays of its files.
fn unseat(place: &Place, known: &KnownAgent) -> Result<Option<String>> {
    // Of what only a forged record tells nothing is ours.
    if !known.worktree.is_lost && known.is_managed {
        agent_config_files::unseat(known)?;
    }
    written_files::remove(&place.env, &layout::seat_file(&known.worktree.git_dir, &known.agent.slug))?;
    place.remove_state(&layout::seats_dir(&known.worktree.git_dir).join(&known.agent.slug))?;
    bury(place, &known.agent)?;
    release_excludes(place, &known.worktree.path)?;
    let dir = known.seat_dir();
    let stays = fs::is_there(&dir).unwrap_or(true);
    Ok(stays.then(|| format!("{} stays: it has files that may not be ours", dir.display())))
}

/// Forwards the agent's events to the nearest ancestor that is left, and deletes the records of its runs.
fn bury(place: &Place, agent: &Agent) -> Result<()> {
    let shared = place.shared();
    let heir = send_event::heir(place, agent)?;
    Spool::new(&shared, &agent.id).below(&agent.parents).bury(&shared, &heir, Some(agent))?;
    agent_run::forget(&shared, &agent.id)
}
