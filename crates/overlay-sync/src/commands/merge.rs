//! `merge`: the three-way merge alone, for pipelines and as git's merge driver.

use std::path::Path;

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::ui::Ui;

use crate::cli::{ConflictChoice, MergeArgs, OverlayFlags};
use crate::merge::{FileType, MergeInput, Rule, merge};

/// git takes any other status than 0 and 1 for a reason to abort, so every failure is a 1 here.
pub fn run(ui: &Ui, env: &Env, place: &OverlayFlags, args: &MergeArgs) -> Result<Exit> {
    work(ui, env, place, args).map_err(|failure| Failure { exit: Exit::No, ..failure })
}

fn work(ui: &Ui, env: &Env, place: &OverlayFlags, args: &MergeArgs) -> Result<Exit> {
    let files = [&args.base, &args.overlay, &args.workspace];
    if files.iter().filter(|file| is_stdin(file)).count() > 1 {
        return Err(Failure::usage("`-` can stand for one of the three files only"));
    }
    if args.write && is_stdin(&args.overlay) {
        return Err(Failure::usage("there is no file to write: OVERLAY is stdin").hint("leave out `--write`"));
    }
    let [base, overlay, workspace] =
        [read(ui, env, &args.base)?, read(ui, env, &args.overlay)?, read(ui, env, &args.workspace)?];
    let merged = merge(&MergeInput {
        base: (!base.is_empty()).then_some(&base),
        overlay: &overlay,
        workspace: &workspace,
        kind: FileType::from_path(args.path.as_deref().unwrap_or(&args.overlay)),
        rule: match place.on_conflict {
            // There is nothing to hold three files in.
            None | Some(ConflictChoice::Workspace | ConflictChoice::Hold) => Rule::Workspace,
            Some(ConflictChoice::Overlay) => Rule::Overlay,
        },
    });
    if args.write {
        if merged.bytes != overlay && !place.dry_run {
            fs::replace(&env.cwd.join(&args.overlay), &merged.bytes, None)?;
        }
        if ui.is_json() {
            let places: Vec<&str> = merged.conflicts.iter().map(|c| c.place.as_str()).collect();
            ui.json(&json!({ "path": args.overlay.to_string_lossy(), "conflicts": places }));
        }
    } else if ui.is_json() {
        let places: Vec<&str> = merged.conflicts.iter().map(|c| c.place.as_str()).collect();
        ui.json(&json!({ "text": String::from_utf8_lossy(&merged.bytes), "conflicts": places }));
    } else {
        ui.answer(&merged.bytes);
    }
    for conflict in &merged.conflicts {
        ui.warn(format!("both sides changed {}", conflict.place));
    }
    Ok(if merged.conflicts.is_empty() { Exit::Done } else { Exit::No })
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn read(ui: &Ui, env: &Env, path: &Path) -> Result<Vec<u8>> {
    if is_stdin(path) {
        return ui.input();
    }
    fs::read_text(&env.cwd.join(path))?
        .ok_or_else(|| Failure::not_found(format!("there is no file {}", path.display())))
}
