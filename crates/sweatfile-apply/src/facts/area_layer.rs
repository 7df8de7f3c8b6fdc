//! Finds the directory of the area layer.

use std::path::{Path, PathBuf};

use shopfloor_core::config::{self, Config, SettingSource};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::git::{self, Repo};
use shopfloor_core::path::real;

use crate::layer::{self, FILE};

/// The directory of the area layer: the one that a setting names, or the first directory below home on the way to
/// the main checkout.
pub fn find(env: &Env, repo: &Repo, config: &Config, notices: &mut Vec<String>) -> Result<Option<PathBuf>> {
    let checkout = real(&repo.home.checkout);
    let default = env.home().and_then(|home| layer::area(&real(home), &checkout));
    // The sweatfile of an area in a worktree would belong to a repository, and yet be trusted.
    let top = default.iter().flat_map(|area| area.ancestors()).find(|dir| is_worktree(dir)).map(Path::to_path_buf);
    if let Some(named) = config.value("area") {
        let dir = PathBuf::from(&named.text);
        let is_default = top.is_none() && default.is_some_and(|default| real(&default) == real(&dir));
        if matches!(named.source, SettingSource::Variable(_)) && !is_default {
            require_user_names(env, config, &dir)?;
        }
        refuse_inside_repository(repo, &dir, &named.source)?;
        return Ok(Some(dir));
    }
    let (Some(area), Some(top)) = (&default, top) else { return Ok(default) };
    let file = area.join(FILE);
    if top != checkout && file.exists() {
        let (file, top) = (file.display(), top.display());
        let way = format!("to trust it, set `area = {:?}` in {}", area.display().to_string(), users_file(env));
        notices.push(format!("{file} is left out: it lies in the git worktree {top}; {way}"));
    }
    Ok(None)
}

/// Refuses an area inside the repository: an area's sweatfile is trusted, and a repository's is not.
fn refuse_inside_repository(repo: &Repo, dir: &Path, named_by: &SettingSource) -> Result<()> {
    let real = real(dir);
    let belongs = |top: &&Path| belongs_to(top, &repo.common_dir) || belongs_to(top, &repo.home.common_dir);
    let Some(top) = real.ancestors().find(belongs) else { return Ok(()) };
    Err(Failure::usage(format!("the area {} ({named_by}) lies in {}", dir.display(), top.display()))
        .hint("name a directory outside the repository: the area's sweatfile is trusted, a repository's is not"))
}

/// Exit 2 unless the user's own configuration names this area: a variable only chooses among the areas named there.
fn require_user_names(env: &Env, config: &Config, dir: &Path) -> Result<()> {
    let base = env.config_home().unwrap_or_default();
    let further = config.users("areas").into_iter().flat_map(|areas| &areas.items);
    let further = further.map(|area| base.join(config::expand_home(env, area)));
    let mut named = config.users("area").map(|area| PathBuf::from(&area.text)).into_iter().chain(further);
    if named.any(|area| real(&area) == real(dir)) {
        return Ok(());
    }
    let (shown, file) = (dir.display(), users_file(env));
    Err(Failure::usage(format!("SWEATFILE_AREA names {shown}, which your own configuration does not name"))
        .hint(format!("to trust it, set `area = {:?}`, or list it in `areas`, in {file}", shown.to_string()))
        .hint("for one run, pass `--area DIR`"))
}

fn users_file(env: &Env) -> String {
    let dir = env.config_home().map(|dir| dir.join("config.toml").display().to_string());
    format!("`[sweatfile-apply]` of {}", dir.unwrap_or_else(|| "your config.toml".into()))
}

/// Whether git takes this directory for the top of a worktree.
fn is_worktree(dir: &Path) -> bool {
    let git = dir.join(".git");
    git.is_file() || git.join("HEAD").symlink_metadata().is_ok()
}

/// Whether this directory is the top of a worktree of this repository, the main one or a linked one.
fn belongs_to(dir: &Path, common_dir: &Path) -> bool {
    git::private_dir(dir).is_some_and(|git_dir| git_dir.starts_with(real(common_dir)))
}
