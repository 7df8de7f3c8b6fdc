//! `gc`: take away what has ended and left nothing, and say why the rest stays.

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::git::Git;
use shopfloor_core::ui::{Ui, printable};

use crate::apply::{remove, spawn};
use crate::facts::agents::{self, Known};
use crate::facts::place::Place;
use crate::facts::removal::{Look, glance, state};
use crate::identity::Kind;
use crate::plan::removal::{Removal, Wish, collectable, has_ended, removal};
use crate::settings::{Flags, Settings};

pub fn run(ui: &Ui, env: &Env, is_dry: bool) -> Result<Exit> {
    let place = Place::find(env)?;
    let git = Git::find(env)?;
    let settings = Settings::load(env, &place, Flags::default())?;
    let look = Look { env, place: &place, git: &git, probe: settings.probe.as_ref() };
    if !is_dry {
        let _lock = spawn::lock(&place)?;
        spawn::recover(&place, &git, false)?.iter().for_each(|said| ui.note(said));
    }
    // Seats before the worktrees they are in, inner worktrees before outer ones.
    let mut left = agents::all(&place)?;
    let mut order: Vec<Known> = left.clone();
    order.retain(|known| known.agent.kind != Kind::Root || known.error.is_some());
    order.sort_by_key(|known| {
        (known.agent.kind != Kind::Worker, std::cmp::Reverse(known.tree.path.components().count()))
    });
    for known in &order {
        // Looked at without the lock, which others wait for; what is to go is looked at again under it.
        let done = match (verdict(&look, known, &left), is_dry) {
            (Err(why), _) => Err(why),
            (Ok(_), true) => Ok("would_remove"),
            (Ok(plan), false) => collect(ui, &look, known, &plan).map(|()| "removed"),
        };
        if done.is_ok() {
            left.retain(|other| other.agent.id != known.agent.id);
        }
        let (action, why) = match done {
            Ok(action) => (action, None),
            Err(why) => ("kept", Some(why)),
        };
        let id = &known.agent.id;
        if ui.is_json() {
            ui.json(&json!({ "id": id, "path": known.tree.path, "action": action, "why": why }));
        } else {
            let why = why.map(|why| format!(": {}", printable(&why))).unwrap_or_default();
            ui.line(format!("{} {}{why}", action.replace('_', " "), printable(id)));
        }
    }
    Ok(Exit::Done)
}

/// Whether it may go, as one of `all`; else why it stays.
fn verdict(look: &Look<'_>, known: &Known, all: &[Known]) -> std::result::Result<Removal, String> {
    if let Some(why) = &known.error {
        return Err(why.clone());
    }
    let here = look.place.here.as_ref().is_some_and(|here| here.path == known.tree.path);
    if here && known.agent.kind == Kind::Subtree {
        return Err("this command runs in it".into());
    }
    // git is asked only about those that may go.
    has_ended(state(look, known, all).map_err(|failure| failure.to_string())?)?;
    let condition = glance(look, known, all).map_err(|failure| failure.to_string())?;
    collectable(&condition)?;
    removal(condition, Wish::default()).map_err(|failure| failure.to_string())
}

fn collect(ui: &Ui, look: &Look<'_>, known: &Known, plan: &Removal) -> std::result::Result<(), String> {
    let remove = || -> Result<std::result::Result<(), String>> {
        remove::take_leave(look.env, look.place, plan, false)?.iter().for_each(|note| ui.note(note));
        let lock = spawn::lock(look.place)?;
        Ok(match verdict(look, known, &agents::all(look.place)?) {
            Ok(plan) => {
                remove::remove(look.env, look.place, look.git, &plan, &lock).map(drop).map_err(|f| f.to_string())
            }
            Err(why) => Err(why),
        })
    };
    remove().unwrap_or_else(|failure| Err(failure.to_string()))
}
