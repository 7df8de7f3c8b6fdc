//! Takes agents away, as planned.

use std::path::Path;

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git::Git;
use shopfloor_core::lock::Lock;

use super::{files, spawn, trash};
use crate::excludes;
use crate::facts::agents::{self, Known};
use crate::facts::place::Place;
use crate::facts::spawn::git_failed;
use crate::identity::{self, Kind};
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

/// Removes one. To be called under the repository's lock.
pub fn remove(env: &Env, place: &Place, git: &Git, removal: &Removal, lock: &Lock) -> Result<Removed> {
    let known = &removal.condition.known;
    let mut done = Removed { notes: removal.says.clone().into_iter().collect(), ..Removed::default() };
    if known.agent.kind == Kind::Worker {
        unseat(place, known)?;
        return Ok(done);
    }
    if removal.keeps_trash && !known.tree.is_lost {
        done.trash = Some(trash::keep(env, git, place, known)?);
    }
    let seated: Vec<Known> = agents::in_tree(place, &known.tree).into_iter().skip(1).collect();
    if known.tree.is_lost {
        // Only git's record is left of it; a detached HEAD may be all that knows its commit.
        done.trash = trash::keep_head(env, git, place, known)?;
        fs::remove_tree(&known.tree.git_dir)?;
    } else {
        let has_modules = known.tree.git_dir.join("modules").is_dir();
        // What is inside was looked at: it has nothing that is nowhere else.
        let has_inner = !known.tree.git(git, place)?.inner(&known.tree.path)?.is_empty();
        let is_forced = done.trash.is_some() || has_modules || has_inner;
        let mut cmd = git.cmd_alone(&place.common_dir).args(["worktree", "remove"]);
        if is_forced {
            cmd = cmd.arg("--force");
        }
        let output = cmd.arg(&known.tree.path).capture()?;
        if !output.status.success() {
            let failure = git_failed("worktree remove", &output);
            return Err(match &done.trash {
                Some(kept) => failure.hint(format!("what it had is kept as {kept}; git may have removed a part of it")),
                None => {
                    failure.hint("its record and its events are as they were; git may have removed a part of its files")
                }
            });
        }
    }
    for seated in &seated {
        bury(place, seated)?;
    }
    bury(place, known)?;
    if let Some((name, tip)) = &removal.deletes {
        let output =
            git.cmd(&place.common_dir).args(["update-ref", "-d", &format!("refs/heads/{name}"), tip]).capture()?;
        match output.status.success() {
            true => done.deleted_branch = Some(name.clone()),
            false => done.notes.push(format!("the branch {name} stays: it has moved meanwhile")),
        }
    }
    let _ = lock;
    release(place, &known.tree.path)?;
    Ok(done)
}

fn unseat(place: &Place, known: &Known) -> Result<()> {
    if !known.tree.is_lost {
        files::unseat(known)?;
    }
    fs::remove_tree(&identity::seats(&known.tree.git_dir).join(&known.agent.slug))?;
    bury(place, known)
}

/// What was for it goes to the nearest one above that is left; its lives are forgotten.
fn bury(place: &Place, known: &Known) -> Result<()> {
    let shared = place.shared();
    let heir = post::heir(place, &known.agent)?;
    Spool::of(&shared, &known.agent.id).below(&known.agent.parents).bury(&shared, &heir)?;
    life::forget(&shared, &known.agent.id)
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
