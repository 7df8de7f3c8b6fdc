//! `init`: writes a commented starter sweatfile.

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::git::Git;
use shopfloor_core::lock::Lock;
use shopfloor_core::text::{printable, shell_word};
use shopfloor_core::ui::Ui;

use crate::apply;
use crate::failure::FailureKind;
use crate::flags::LayerFlags;
use crate::layer::FILE;
use crate::state;

const STARTER: &str = include_str!("../starter.toml");

/// Write a commented starter sweatfile into the main checkout
///
/// Exits with 1 if there is one already.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  $EDITOR \"$(sweatfile-apply init)\"")]
pub struct Args {}

#[derive(Serialize)]
struct InitAnswer {
    path: String,
    created: bool,
}

pub fn run(ui: &Ui, env: &Env, dirs: &LayerFlags, _args: &Args) -> Result<Exit> {
    let repo = Git::find(env)?.discover()?;
    let dir = dirs.repo_root(env, &repo);
    let path = dir.join(FILE);
    if path.symlink_metadata().is_ok() {
        return Err(FailureKind::Exists
            .failure(format!("{} exists already", path.display()))
            .hint(format!("edit it: `$EDITOR {}`", shell_word(&path))));
    }
    let dry_run = ui.is_dry();
    if !dry_run {
        let _lock = Lock::take(&state::worktree_lock(&repo))?;
        apply::write_sweatfile(&repo, &dir, None, STARTER)?;
    }
    if ui.is_json() {
        ui.json(&InitAnswer { path: path.to_string_lossy().into_owned(), created: !dry_run });
    } else {
        ui.line(printable(&path.to_string_lossy()));
    }
    ui.note("edit the file, then run `sweatfile-apply approve`");
    Ok(Exit::Done)
}
