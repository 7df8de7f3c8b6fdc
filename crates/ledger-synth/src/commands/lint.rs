//! `lint`: whether event files are well-formed.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::synth;
use crate::cli::Place;
use crate::facts::gather::everything;
use crate::facts::{CURRENT, Events, Ledger, directory};
use crate::plan::Filter;
use crate::scalar;

pub fn run(ui: &Ui, env: &Env, place: &Place, files: &[PathBuf]) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, place)?;
    let events = if files.is_empty() { everything(&ledger)? } else { named(env, files)? };
    let snapshots = events.snapshots()?;
    let join = events.join(&snapshots, &Filter::default());
    let future: BTreeSet<_> = synth::futures(env, &join).map(|source| source.id).collect();
    let is_bad = !events.skipped.is_empty() || !future.is_empty();
    let tell = |path: &std::path::Path, line: usize, why: &str, is_error: bool| {
        if ui.is_json() {
            let level = if is_error { "error" } else { "warning" };
            ui.json(&json!({ "path": path.to_string_lossy(), "line": line, "why": why, "level": level }));
        } else {
            let word = if is_error { "" } else { "warning: " };
            ui.line(printable(&format!("{}:{line}: {word}{why}", path.display())));
        }
    };
    for skipped in &events.skipped {
        tell(&skipped.path, skipped.problem.line, &skipped.problem.why, true);
    }
    for (record, file) in events.records.iter().zip(&events.files) {
        let path = &file.path();
        let Some(event) = record.event() else { continue };
        let meta = &event.meta;
        if future.contains(&record.id) {
            tell(path, 1, &format!("its time is in the future: {}", meta.ts), true);
        }
        let name = file.name.to_string_lossy();
        let stem = format!("{}_{}", meta.ts.to_string().replace(':', "-"), scalar::safe(&meta.agent));
        if !name.starts_with(&stem) {
            tell(
                path,
                1,
                &format!("the name does not tell its time and agent ({stem}.md would); nothing depends on it"),
                false,
            );
        }
        if event.entries.is_empty() {
            tell(path, 1, "it says nothing", false);
        }
    }
    Ok(if is_bad { Exit::Bad } else { Exit::Done })
}

fn named(env: &Env, files: &[PathBuf]) -> Result<Events> {
    let mut paths = Vec::new();
    for file in files {
        let path = env.cwd.join(file);
        if path.symlink_metadata().is_err() {
            return Err(Failure::not_found(format!("there is no file {}", path.display()))
                .hint("run `ledger-synth lint` without a name to check all events"));
        }
        // A glob over the whole ledger means its events.
        if path.file_name().is_some_and(|name| name != CURRENT) {
            paths.push(path);
        }
    }
    directory::files(&paths)
}
