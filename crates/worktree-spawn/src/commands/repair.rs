//! `repair`: finish what killed commands began, find moved worktrees, restore exclude lines.

use std::path::{Path, PathBuf};

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::git::{Git, private_dir};
use shopfloor_core::ui::{Ui, printable};
use shopfloor_core::{fs, lock::Lock};

use crate::apply::{remove, spawn};
use crate::facts::agents;
use crate::facts::place::{Place, Tree};
use crate::facts::spawn::git_failed;
use crate::identity::{Agent, ROOT};
use crate::settings::{Flags, Settings};
use crate::spool::{self, Spool};
use crate::{journal, life, post};

pub fn run(ui: &Ui, env: &Env, is_dry: bool) -> Result<Exit> {
    let place = Place::find(env)?;
    let git = Git::find(env)?;
    let lock = spawn::lock(&place)?;
    let tell = |what: &str, text: String| match ui.is_json() {
        true => ui.json(&json!({ "what": what, "detail": text, "done": !is_dry })),
        false => ui.line(printable(&text)),
    };
    if is_dry {
        for open in journal::abandoned(&place.shared())? {
            tell("spawn", format!("would undo the spawn of {}, which was killed", open.spawn.id));
        }
    } else {
        spawn::recover(&place, &git)?.into_iter().for_each(|said| tell("spawn", said));
    }
    let settings = Settings::load(env, &place, Flags::default())?;
    let moved = moved(&place, &settings.worktree_base)?;
    if !moved.is_empty() {
        if !is_dry {
            let output = git.cmd(&place.common_dir).args(["worktree", "repair"]).args(&moved).capture()?;
            if !output.status.success() {
                return Err(git_failed("worktree repair", &output));
            }
        }
        let verb = if is_dry { "would reconnect" } else { "reconnected" };
        moved.iter().for_each(|path| tell("moved", format!("{verb} {}", path.display())));
    }
    for tree in place.trees()?.iter().filter(|tree| tree.is_lost) {
        let path = tree.path.display();
        tell("lost", format!("{path} is not there; move it back, or take it away with `worktree-spawn remove`"));
    }
    if !is_dry {
        remove::hide_again(&place)?;
        bury_orphans(env, &place, &lock, &tell)?;
        for life in life::all(&place.shared())?.into_iter().filter(|life| life.ended.is_none()) {
            life::tell_death(env, &place.shared(), &life.agent.id)?;
        }
    }
    Ok(Exit::Done)
}

/// Worktrees that are elsewhere than git thinks, or that think git elsewhere: where they are now.
fn moved(place: &Place, base: &Path) -> Result<Vec<PathBuf>> {
    let mut trees = place.trees()?;
    trees.sort_by_key(|tree| tree.path.components().count());
    let mut found: Vec<PathBuf> = Vec::new();
    let mut tops = vec![place.main_checkout.clone()];
    for tree in trees.iter().filter(|tree| !tree.is_main) {
        let is_whole = private_dir(&tree.path).is_some_and(|dir| is_same(&dir, &tree.git_dir));
        if is_whole {
            tops.push(tree.path.clone());
            continue;
        }
        if let Some(path) = candidates(tree, &tops, base).into_iter().find(|path| names(path, tree)) {
            tops.push(path.clone());
            found.push(path);
        }
    }
    Ok(found)
}

/// Where a worktree may be: where it was, or below one of `tops` with an end of the path it had.
fn candidates(tree: &Tree, tops: &[PathBuf], base: &Path) -> Vec<PathBuf> {
    let parts: Vec<_> = tree.path.components().collect();
    let ends = (1..parts.len()).map(|n| parts[parts.len() - n..].iter().collect::<PathBuf>());
    let name = tree.path.file_name().unwrap_or_default().to_owned();
    let below = ends.chain([base.join(name)]).flat_map(|end| tops.iter().map(move |top| top.join(&end)));
    std::iter::once(tree.path.clone()).chain(below).collect()
}

/// Whether the `.git` file there names this worktree's record, by its name: the directory above it may be another.
fn names(path: &Path, tree: &Tree) -> bool {
    let Ok(Some(text)) = fs::read(&path.join(".git")) else { return false };
    let text = String::from_utf8_lossy(&text).into_owned();
    let Some(named) = text.strip_prefix("gitdir: ").map(|named| Path::new(named.trim_end())) else { return false };
    named.file_name() == tree.git_dir.file_name() && named.parent().is_some_and(|p| p.ends_with("worktrees"))
}

fn is_same(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// Sessions whose agents were taken away by hand: what waits there goes to the nearest one above.
fn bury_orphans(env: &Env, place: &Place, _lock: &Lock, tell: &dyn Fn(&str, String)) -> Result<()> {
    let all = agents::all(place)?;
    for spool in spool::all(&place.shared())? {
        let is_there = spool.session == ROOT || all.iter().any(|known| known.agent.id == spool.session);
        let parents = spool.parents()?;
        if is_there || parents.is_empty() || spool.forwards_to()?.is_some() {
            continue;
        }
        let mut gone = Agent::root(&spool.session, None, env.now);
        gone.parents = parents;
        let heir = post::heir(place, &gone)?;
        let waiting = spool.pending()?;
        Spool::of(&place.shared(), &spool.session).bury(&place.shared(), &heir)?;
        tell("session", format!("{} is gone; {waiting} events for it go to {heir}", spool.session));
    }
    Ok(())
}
