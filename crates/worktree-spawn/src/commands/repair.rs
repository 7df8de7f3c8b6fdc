//! `repair`: finish what killed commands began, find moved worktrees, restore exclude lines.

use std::path::{Path, PathBuf};

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::git::{Git, private_dir};
use shopfloor_core::ui::{Ui, printable};
use shopfloor_core::{fs, lock::Lock};

use crate::apply::{files, remove, spawn};
use crate::facts::agents;
use crate::facts::place::{Place, Tree};
use crate::facts::spawn::git_failed;
use crate::identity::{Agent, Kind, ROOT};
use crate::journal::{self, Removing, Spawn};
use crate::settings::{Flags, Settings};
use crate::spool::{self, Spool};
use crate::{life, post};

pub fn run(ui: &Ui, env: &Env, is_dry: bool) -> Result<Exit> {
    let place = Place::find(env)?;
    let git = Git::find(env)?;
    let lock = spawn::lock(&place)?;
    let tell = |what: &str, text: String| match ui.is_json() {
        true => ui.json(&json!({ "what": what, "detail": text, "done": !is_dry })),
        false => ui.line(printable(&text)),
    };
    let settings = Settings::load(env, &place, Flags::default())?;
    let moved = moved(&place, &settings.worktree_base)?;
    if !moved.is_empty() && !is_dry {
        reconnect(&place, &git, &moved)?;
    }
    let verb = if is_dry { "would reconnect" } else { "reconnected" };
    moved.iter().for_each(|(_, path)| tell("moved", format!("{verb} {}", path.display())));
    if is_dry {
        for id in journal::left_behind::<Removing>(&place.shared())? {
            tell("removal", format!("would finish the removal of {id}, which was killed"));
        }
        for id in journal::left_behind::<Spawn>(&place.shared())? {
            tell("spawn", format!("would undo the spawn of {id}, which was killed"));
        }
    } else {
        spawn::recover(&place, &git, true)?.into_iter().for_each(|said| tell("spawn", said));
    }
    let is_found = |tree: &Tree| moved.iter().any(|(found, _)| found.git_dir == tree.git_dir);
    for tree in place.trees()?.iter().filter(|tree| tree.is_lost && !is_found(tree)) {
        let path = tree.path.display();
        tell(
            "lost",
            format!(
                "{path} is not there; move it back, or take git's record of it away with `worktree-spawn remove --force`"
            ),
        );
    }
    if !is_dry {
        remove::hide_again(&place)?;
        furnish_again(env, &place, &tell)?;
        bury_orphans(env, &place, &lock, &tell)?;
        for life in life::all(&place.shared())?.into_iter().filter(|life| life.ended.is_none()) {
            life::tell_death(env, &place, &life.agent.id)?;
        }
    }
    Ok(Exit::Done)
}

/// Tells git where they are now, and them where git is.
fn reconnect(place: &Place, git: &Git, moved: &[(Tree, PathBuf)]) -> Result<()> {
    // In a copied repository git's own repair would lead the original's worktrees here.
    if place.trees()?.iter().any(|tree| is_anothers(&tree.path, tree)) {
        for (tree, path) in moved {
            let dot_git = path.join(".git");
            fs::replace(&tree.git_dir.join("gitdir"), format!("{}\n", dot_git.display()).as_bytes(), None)?;
            fs::replace(&dot_git, format!("gitdir: {}\n", tree.git_dir.display()).as_bytes(), None)?;
        }
        return Ok(());
    }
    let paths = moved.iter().map(|(_, path)| path);
    let output = git.cmd(&place.common_dir).args(["worktree", "repair"]).args(paths).capture()?;
    if !output.status.success() {
        return Err(git_failed("worktree repair", &output));
    }
    Ok(())
}

/// Worktrees that are elsewhere than git thinks, or that think git elsewhere; and where they are now.
fn moved(place: &Place, base: &Path) -> Result<Vec<(Tree, PathBuf)>> {
    let mut trees = place.trees()?;
    trees.sort_by_key(|tree| tree.path.components().count());
    let mut found: Vec<(Tree, PathBuf)> = Vec::new();
    let mut tops = vec![place.main_checkout.clone()];
    for tree in trees.into_iter().filter(|tree| !tree.is_main) {
        let is_whole = private_dir(&tree.path).is_some_and(|dir| is_same(&dir, &tree.git_dir));
        if is_whole {
            tops.push(tree.path.clone());
            continue;
        }
        let mut candidates = candidates(&tree, &tops, base).into_iter();
        if let Some(path) = candidates.find(|path| names(path, &tree) && !is_anothers(path, &tree)) {
            tops.push(path.clone());
            found.push((tree, path));
        }
    }
    Ok(found)
}

/// Whether the worktree there belongs to a record that knows of it, and is not ours: the original of a copy.
fn is_anothers(path: &Path, tree: &Tree) -> bool {
    let Some(dir) = private_dir(path).filter(|dir| !is_same(dir, &tree.git_dir)) else { return false };
    let gitdir = fs::read(&dir.join("gitdir")).unwrap_or_default().unwrap_or_default();
    is_same(Path::new(String::from_utf8_lossy(&gitdir).trim()), &path.join(".git"))
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

/// The ways to their tools, for agents whose files were cleaned away. Tasks cannot be had back.
fn furnish_again(env: &Env, place: &Place, tell: &dyn Fn(&str, String)) -> Result<()> {
    for known in agents::all(place)?.iter().filter(|known| known.is_managed && !known.tree.is_lost) {
        let tree = &known.tree.path;
        // Only into what the repository has recorded, not through what was put in its place.
        let git = Git::find(env)?;
        if let Err(failure) = known.tree.git(&git, place) {
            tell("files", format!("left {} alone: {failure}", known.agent.id));
            continue;
        }
        let written = match known.agent.kind {
            Kind::Subtree if !tree.join(".mcp.json").exists() && !tree.join(".shopfloor/mcp.json").exists() => {
                files::connect(env, &known.tree, &known.agent, false).map(|_| true)
            }
            Kind::Worker if !agents::settings_dir(known).join("settings.json").exists() => {
                files::seat(env, known, None).map(|_| true)
            }
            _ => Ok(false),
        };
        match written {
            Ok(true) => tell("files", format!("restored the configuration of {}", known.agent.id)),
            Ok(false) => {}
            Err(failure) => tell("files", format!("cannot restore the configuration of {}: {failure}", known.agent.id)),
        }
    }
    Ok(())
}

/// Sessions whose agents were taken away by hand: what waits there goes to the nearest one above.
fn bury_orphans(env: &Env, place: &Place, _lock: &Lock, tell: &dyn Fn(&str, String)) -> Result<()> {
    let all = agents::all(place)?;
    for spool in spool::all(&place.shared())? {
        let is_there = spool.session == ROOT || all.iter().any(|known| known.agent.id == spool.session);
        let parents = spool.parents()?;
        // A removal that was killed may have left some behind its tombstone.
        if let Some(heir) = spool.forwards_to()? {
            let waiting = spool.pending()?;
            if waiting > 0 && !is_there {
                spool.bury(&place.shared(), &heir, None)?;
                tell("session", format!("{} is gone; {waiting} events for it go to {heir}", spool.session));
            }
            continue;
        }
        if is_there || parents.is_empty() {
            continue;
        }
        let mut gone = Agent::root(&spool.session, None, env.now);
        gone.parents = parents;
        let heir = post::heir(place, &gone)?;
        let waiting = spool.pending()?;
        Spool::of(&place.shared(), &spool.session).bury(&place.shared(), &heir, None)?;
        tell("session", format!("{} is gone; {waiting} events for it go to {heir}", spool.session));
    }
    Ok(())
}
