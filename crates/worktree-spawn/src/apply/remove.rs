//! Takes agents away, as planned.

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
    if removal.keeps_trash {
        done.trash = Some(trash::keep(env, git, known)?);
    }
    let seated: Vec<Known> = agents::in_tree(place, &known.tree).into_iter().skip(1).collect();
    if known.tree.is_lost {
        // Only git's record is left of it.
        fs::remove_tree(&known.tree.git_dir)?;
    } else {
        let has_modules = known.tree.git_dir.join("modules").is_dir();
        let is_forced = done.trash.is_some() || has_modules;
        let mut cmd = git.cmd(&place.common_dir).args(["worktree", "remove"]);
        if is_forced {
            cmd = cmd.arg("--force");
        }
        let output = cmd.arg(&known.tree.path).capture()?;
        if !output.status.success() {
            return Err(git_failed("worktree remove", &output).hint("nothing else of it was touched"));
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
    release_mcp(place)?;
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
    Spool::of(&shared, &known.agent.id).bury(&shared, &heir)?;
    life::forget(&shared, &known.agent.id)
}

/// The line for `.mcp.json` goes with the last child.
fn release_mcp(place: &Place) -> Result<()> {
    let all = agents::all(place)?;
    if all.iter().any(|known| known.agent.kind == Kind::Subtree || known.error.is_some()) {
        return Ok(());
    }
    let repo = place.repo();
    if excludes::without(&repo.read_exclude()?, excludes::MCP) == repo.read_exclude()? {
        return Ok(());
    }
    repo.rewrite_exclude(|text| Ok(excludes::without(text, excludes::MCP)))
}

/// Writes the lines again that keep children out of their parents' status.
pub fn hide_again(place: &Place) -> Result<()> {
    spawn::exclude(&place.repo(), &spawn::state_lines().collect::<Vec<_>>())
}
