//! `init`: a commented starter sweatfile.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::Git;
use shopfloor_core::lock::Lock;
use shopfloor_core::text::{printable, shell_word};
use shopfloor_core::ui::Ui;

use crate::TOOL;
use crate::apply;
use crate::cli::Places;
use crate::layer::FILE;

const STARTER: &str = r#"# How a fresh worktree of this repository is set up: `sweatfile-apply --help`.
# Keep the arrays above the first [table]: below one, TOML takes them for a part of it.

# Patterns for .git/info/exclude, which all worktrees share.
# git_excludes = [".claude/", ".direnv/"]

# Commands run once in a new worktree, in order.
# setup = ["direnv allow", "cargo fetch"]

# Variables for .sweatshop-env; load them with `dotenv_if_exists .sweatshop-env` in .envrc.
# [env]
# RUST_LOG = "debug"

# Files placed into the worktree; a dot is put before the name. `source` links, `copy` copies,
# `content` writes (once: a file that is there is never overwritten).
# [files.envrc]
# content = """
# dotenv_if_exists .sweatshop-env
# """
# [files."claude/settings.local.json"]
# source = "~/.config/claude/worktree-settings.json"
"#;

pub fn run(ui: &Ui, env: &Env, places: &Places, dry_run: bool) -> Result<Exit> {
    let repo = Git::find(env)?.discover()?;
    let dir = places.repo_root.as_ref().map_or_else(|| repo.home.checkout.clone(), |dir| env.cwd.join(dir));
    let path = dir.join(FILE);
    if path.symlink_metadata().is_ok() {
        return Err(Failure::new(Exit::No, "exists", format!("{} exists already", path.display()))
            .hint(format!("edit it: `$EDITOR {}`", shell_word(&path))));
    }
    if !dry_run {
        let state = repo.worktree_state(TOOL);
        let _lock = Lock::take(&state.join("lock"))?;
        apply::sweatfile(&state, &dir, None, STARTER)?;
    }
    if ui.is_json() {
        ui.json(&serde_json::json!({ "path": path.to_string_lossy(), "created": !dry_run }));
    } else {
        ui.line(printable(&path.to_string_lossy()));
    }
    ui.note("edit the file, then run `sweatfile-apply approve`");
    Ok(Exit::Done)
}
