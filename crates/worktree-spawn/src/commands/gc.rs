//! `gc`: take away what has ended and left nothing, and say why the rest stays.

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::git::Git;
use shopfloor_core::ui::{Ui, printable};

use crate::apply::{remove, spawn};
use crate::facts::agents;
use crate::facts::place::Place;
use crate::facts::removal::condition;
use crate::identity::Kind;
use crate::plan::removal::{Wish, collectable, removal};

pub fn run(ui: &Ui, env: &Env, is_dry: bool) -> Result<Exit> {
    let place = Place::find(env)?;
    let git = Git::find(env)?;
    let lock = spawn::lock(&place)?;
    if !is_dry {
        spawn::recover(&place, &git)?.iter().for_each(|said| ui.note(said));
    }
    // Seats before the worktrees they are in, inner worktrees before outer ones.
    let mut all = agents::all(&place)?;
    all.retain(|known| known.agent.kind != Kind::Root || known.error.is_some());
    all.sort_by_key(|known| {
        (known.agent.kind != Kind::Worker, std::cmp::Reverse(known.tree.path.components().count()))
    });
    for known in &all {
        let id = &known.agent.id;
        let here = place.here.as_ref().is_some_and(|here| here.path == known.tree.path);
        let everyone = agents::all(&place)?;
        let verdict = match &known.error {
            Some(why) => Err(why.clone()),
            None if here && known.agent.kind == Kind::Subtree => Err("this command runs in it".into()),
            None => match condition(env, &place, &git, known, &everyone) {
                Ok(condition) => collectable(&condition).map(|()| condition),
                Err(failure) => Err(failure.to_string()),
            },
        };
        let verdict = verdict.and_then(|condition| removal(condition, Wish::default()).map_err(|f| f.to_string()));
        let done = match (&verdict, is_dry) {
            (Ok(plan), false) => remove::remove(env, &place, &git, plan, &lock).map(Some).map_err(|f| f.to_string()),
            (Ok(_), true) => Ok(None),
            (Err(why), _) => Err(why.clone()),
        };
        let (action, why) = match &done {
            Ok(Some(_)) => ("removed", None),
            Ok(None) => ("would_remove", None),
            Err(why) => ("kept", Some(why.clone())),
        };
        if ui.is_json() {
            ui.json(&json!({ "id": id, "path": known.tree.path, "action": action, "why": why }));
        } else {
            let why = why.map(|why| format!(": {}", printable(&why))).unwrap_or_default();
            ui.line(format!("{} {}{why}", action.replace('_', " "), printable(id)));
        }
    }
    Ok(Exit::Done)
}
