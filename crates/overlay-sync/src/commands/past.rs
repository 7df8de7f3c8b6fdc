//! `conflicts`, `show`, `restore`, `log`: what was decided, and every displaced text.

use std::path::Path;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::Root;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply;
use crate::cli::Place;
use crate::facts::Overlay;

pub fn conflicts(ui: &Ui, env: &Env, place: &Place) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    for conflict in overlay.store.conflicts()? {
        if ui.is_json() {
            ui.json(&conflict);
        } else {
            let places = conflict.places.join(", ");
            ui.line(format!(
                "{} {} {} ({}) at {}",
                conflict.id,
                conflict.time,
                printable(&conflict.path.to_string()),
                printable(&conflict.workspace),
                printable(&places)
            ));
        }
    }
    Ok(Exit::Done)
}

pub fn show(ui: &Ui, env: &Env, place: &Place, id: &str) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    ui.answer(&content(&overlay, id)?);
    Ok(Exit::Done)
}

pub fn restore(ui: &Ui, env: &Env, place: &Place, id: &str, to: &Path) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    let bytes = content(&overlay, id)?;
    let path = env.cwd.join(to);
    let refuse = || Failure::usage(format!("cannot restore to {}", path.display()));
    let root = Root::open(path.parent().ok_or_else(refuse)?)?;
    let name =
        RelPath::parse_os(path.file_name().ok_or_else(refuse)?).map_err(|e| refuse().details([e.to_string()]))?;
    if !apply::restore(&overlay, &root, &name, &bytes)? {
        return Err(Failure::new(Exit::No, "exists", format!("{} exists already", path.display()))
            .hint("name a file that is not there with `--to`"));
    }
    if ui.is_json() {
        ui.json(&serde_json::json!({ "path": path.to_string_lossy(), "sha256": Digest::of(&bytes) }));
    } else {
        ui.line(format!("restored {}", printable(&path.to_string_lossy())));
    }
    Ok(Exit::Done)
}

/// A kept content by the beginning of its hash, or of a conflict's id: then the side that lost.
fn content(overlay: &Overlay, id: &str) -> Result<Vec<u8>> {
    let unknown = || {
        Failure::not_found(format!("nothing is kept under `{id}`"))
            .hint("see `overlay-sync conflicts` and `overlay-sync log --json`")
    };
    let conflicts = overlay.store.conflicts()?;
    let named: Vec<_> = conflicts.iter().filter(|c| !id.is_empty() && c.id.starts_with(id)).collect();
    let digest = match named.as_slice() {
        [conflict] => {
            if conflict.result == conflict.here {
                conflict.overlay
            } else {
                conflict.here
            }
        }
        [] => match overlay
            .store
            .objects()?
            .iter()
            .filter(|d| !id.is_empty() && d.to_string().starts_with(id))
            .collect::<Vec<_>>()
            .as_slice()
        {
            [digest] => **digest,
            [] => return Err(unknown()),
            _ => return Err(Failure::usage(format!("`{id}` is the beginning of several")).hint("write more of it")),
        },
        _ => return Err(Failure::usage(format!("`{id}` is the beginning of several")).hint("write more of it")),
    };
    overlay.store.content(&digest)?.ok_or_else(unknown)
}

pub fn log(ui: &Ui, env: &Env, place: &Place) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    for event in overlay.store.events()? {
        if ui.is_json() {
            ui.json(&event);
        } else {
            ui.line(format!(
                "{} {} {} ({})",
                event.time,
                event.rule,
                printable(&event.path.to_string()),
                printable(&event.workspace)
            ));
        }
    }
    Ok(Exit::Done)
}
