//! `merge`: the three-way merge alone, for pipelines and as git's merge driver.

use std::path::{Path, PathBuf};

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::merge::{FileType, MergeInput, Rule, merge};
use crate::settings::OverlayFlags;

/// Merge three files by what they mean: 0 clean, 1 conflicts or any failure
///
/// JSON, TOML and YAML are merged by structure (arrays of distinct elements as sets), JSON Lines as
/// records, `.env` by variable, anything else by lines. --on-conflict decides each conflict, leaf by
/// leaf. Every change that only one side made is kept.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Example:\n  # as git's merge driver, with `*.json merge=overlay-sync` in .gitattributes:\n  git config merge.overlay-sync.driver \\\n    'overlay-sync merge --write %O %A %B --path %P'"
)]
pub struct Args {
    /// The base that both sides started from; empty when they have none
    base: PathBuf,
    /// The overlay's side; one of the three files may be `-` for stdin
    overlay: PathBuf,
    /// The workspace's side
    workspace: PathBuf,
    /// Tell the file's type by this name instead of OVERLAY's
    #[arg(long, allow_hyphen_values = true)]
    path: Option<PathBuf>,
    /// Replace OVERLAY with the result instead of printing it
    #[arg(long)]
    write: bool,
}

/// git aborts on any status other than 0 and 1, so every failure exits 1.
pub fn run(ui: &Ui, env: &Env, flags: &OverlayFlags, args: &Args) -> Result<Exit> {
    merge_files(ui, env, flags, args).map_err(|failure| Failure { exit: Exit::No, ..failure })
}

fn merge_files(ui: &Ui, env: &Env, flags: &OverlayFlags, args: &Args) -> Result<Exit> {
    let files = [&args.base, &args.overlay, &args.workspace];
    if files.iter().filter(|file| is_stdin(file)).count() > 1 {
        return Err(Failure::usage("only one of the three files can be `-`"));
    }
    if args.write && is_stdin(&args.overlay) {
        return Err(Failure::usage("there is no file to write: OVERLAY is stdin").hint("leave out `--write`"));
    }
    // For `git merge-file` this is an empty base.
    let base = if args.base == Path::new("/dev/null") { Vec::new() } else { read(ui, env, &args.base)? };
    let [overlay, workspace] = [read(ui, env, &args.overlay)?, read(ui, env, &args.workspace)?];
    let merged = merge(&MergeInput {
        base: (!base.is_empty()).then_some(&base),
        overlay: &overlay,
        workspace: &workspace,
        kind: FileType::from_path(args.path.as_deref().unwrap_or(&args.overlay)),
        // Three files cannot be held.
        rule: if flags.text("on_conflict").as_deref() == Some("overlay") { Rule::Overlay } else { Rule::Workspace },
    });
    let conflicts: Vec<&str> = merged.conflicts.iter().map(|conflict| conflict.place.as_str()).collect();
    let is_written = args.write && merged.bytes != overlay;
    if is_written && !ui.is_dry() {
        fs::replace(&env.cwd.join(&args.overlay), &merged.bytes, None)?;
    }
    if ui.is_json() {
        // The merged text, or with `--write` the file that has it.
        let (key, value) = match args.write {
            true => ("path", args.overlay.to_string_lossy()),
            false => ("text", String::from_utf8_lossy(&merged.bytes)),
        };
        ui.json(&json!({ (key): value, "conflicts": conflicts }));
    } else if !args.write {
        ui.answer(&merged.bytes);
    } else if is_written && ui.is_dry() {
        ui.line(format!("would write {}", printable(&args.overlay.to_string_lossy())));
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
