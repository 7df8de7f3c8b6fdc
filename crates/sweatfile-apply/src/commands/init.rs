//! `init`: writes a commented starter sweatfile.

use std::path::Path;

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{Git, Repo};
use shopfloor_core::lock::Lock;
use shopfloor_core::text::{printable, shell_word};
use shopfloor_core::ui::Ui;

use crate::apply;
use crate::failure;
use crate::flags::LayerFlags;
use crate::layer::FILE;
use crate::layout;

const STARTER: &str = include_str!("../starter.toml");

/// Write a commented starter sweatfile into the main checkout
///
/// Exits with 1 if there is one already.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  $EDITOR \"$(sweatfile-apply init)\"")]
pub struct Args {
    /// Remove the sweatfile instead, if nobody has edited it; exits with 1 if it stays
    #[arg(long)]
    pub undo: bool,
}

pub fn run(ui: &Ui, env: &Env, dirs: &LayerFlags, args: &Args) -> Result<Exit> {
    let repo = Git::find(env)?.discover()?;
    let dir = dirs.repo_root(env, &repo);
    let path = dir.join(FILE);
    if args.undo {
        return undo(ui, &repo, &dir);
    }
    if path.symlink_metadata().is_ok() {
        return Err(failure::EXISTS
            .failure(format!("{} exists already", path.display()))
            .hint(format!("edit it: `$EDITOR {}`", shell_word(&path))));
    }
    let dry_run = ui.is_dry();
    if !dry_run {
        let _lock = Lock::take(&layout::worktree_lock(&repo))?;
        apply::write_sweatfile(&repo, &dir, None, STARTER)?;
    }
    let shown = path.to_string_lossy();
    ui.json_or_line(&json!({ "path": shown, "created": !dry_run }), printable(&shown));
    ui.note(format!("edit the file, then run `{} approve`", dirs.call(env, None)));
    Ok(Exit::Done)
}

fn undo(ui: &Ui, repo: &Repo, dir: &Path) -> Result<Exit> {
    let path = dir.join(FILE);
    let _lock = if ui.is_dry() { None } else { Some(Lock::take(&layout::worktree_lock(repo))?) };
    let Some(text) = fs::read_no_follow(&path)? else { return Ok(Exit::Done) };
    if text != STARTER.as_bytes() || !ui.is_dry() && !apply::remove_sweatfile(repo, dir, STARTER)? {
        return Err(failure::EXISTS
            .failure(format!("{} is not as `init` wrote it", path.display()))
            .hint("delete it yourself if nobody needs it"));
    }
    let did = if ui.is_dry() { "would have removed" } else { "removed" };
    ui.json_or_line(&json!({ "path": path.to_string_lossy(), "created": false }), format!("{did} {FILE}"));
    Ok(Exit::Done)
}
