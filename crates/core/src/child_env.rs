//! What people's commands in a worktree inherit: the environment that they would have in a terminal there.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::env::Env;
use crate::path::real;
use crate::proc::{self, Cmd};

/// Variables that name a place in one checkout, or several with colons between them. Behind some are those that say more of
/// that place, and go with them.
const PLACES: &str = "PATH,VIRTUAL_ENV VIRTUAL_ENV_PROMPT,UV_PROJECT_ENVIRONMENT,PIPENV_PIPFILE,PYTHONPATH,\
    CONDA_PREFIX CONDA_DEFAULT_ENV CONDA_PROMPT_MODIFIER CONDA_SHLVL,NODE_PATH,INIT_CWD,PNPM_SCRIPT_SRC_DIR,PROJECT_CWD,\
    BUNDLE_GEMFILE,GEM_HOME,GEM_PATH,RUBYLIB,DIRENV_FILE,CARGO_MANIFEST_DIR,CARGO_MANIFEST_PATH,\
    MISE_PROJECT_ROOT __MISE_DIFF __MISE_SESSION,GOWORK,PERL5LIB,CLASSPATH,LD_LIBRARY_PATH,DEVENV_ROOT DEVENV_STATE \
    DEVENV_DOTFILE DEVENV_PROFILE,HERMIT_ENV,FLOX_ENV,PIXI_PROJECT_ROOT,JULIA_PROJECT,MIX_DEPS_PATH,MIX_BUILD_PATH,\
    BUNDLE_PATH,STACK_YAML,TF_DATA_DIR,COMPOSE_FILE COMPOSE_PROJECT_NAME";

/// Where direnv remembers what it loaded, and from which directory.
const DIRENV: [&str; 4] = ["DIRENV_DIR", "DIRENV_FILE", "DIRENV_DIFF", "DIRENV_WATCHES"];

type Vars = BTreeMap<OsString, OsString>;

/// The environment for a person's command in the worktree `own`: theirs, less what leads into another one of `all`, the
/// worktrees of the repository. Those are an active virtual environment, entries of `PATH` and other variables that name a
/// place, and what direnv loaded there. A worktree that holds the person's home, as with dotfiles, takes nothing away.
/// Drop [`LOCAL_VARS`](crate::git::LOCAL_VARS) as well where git could be called.
pub fn for_worktree(env: &Env, own: &Path, all: &[PathBuf]) -> Env {
    let own = real(own);
    // An agent's record can name any directory, but only a worktree has a `.git`.
    let all = all.iter().filter(|root| root.join(".git").symlink_metadata().is_ok());
    let named = all.cloned().chain([own.clone()]).filter(|root| env.home().is_none_or(|home| !home.starts_with(root)));
    let roots: Vec<(PathBuf, bool)> =
        named.flat_map(|root| [(real(&root), real(&root) == own), (root.clone(), real(&root) == own)]).collect();
    // Worktrees lie in each other: the innermost one counts.
    let is_own = |path: &Path| {
        let inside = roots.iter().filter(|(root, _)| path.starts_with(root));
        inside.max_by_key(|(root, _)| root.components().count()).map(|(_, is_own)| *is_own)
    };
    let leads_away = |path: &Path| path.is_absolute() && is_own(path).or_else(|| is_own(&real(path))) == Some(false);
    let mut vars = without_places(env.vars.clone(), &leads_away);
    // It is about one worktree.
    vars.remove(OsStr::new("SHOPFLOOR_SETUP"));
    let loaded = env.var("DIRENV_DIR").and_then(|dir| dir.as_bytes().strip_prefix(b"-"));
    if loaded.is_some_and(|dir| leads_away(Path::new(OsStr::from_bytes(dir)))) {
        let undone = undo_direnv(env, &Env { vars, ..env.clone() });
        vars = without_places(undone, &leads_away);
        vars.retain(|name, _| !DIRENV.iter().any(|own| name == own));
    }
    Env { vars, ..env.clone() }
}

/// The variables without the places that lead away.
fn without_places(mut vars: Vars, leads_away: &dyn Fn(&Path) -> bool) -> Vars {
    for names in PLACES.split(',') {
        let names: Vec<OsString> = names.split(' ').map(OsString::from).collect();
        let places: Vec<PathBuf> = vars.get(&names[0]).map(std::env::split_paths).into_iter().flatten().collect();
        let kept: Vec<&PathBuf> = places.iter().filter(|place| !leads_away(place)).collect();
        match std::env::join_paths(&kept) {
            _ if kept.len() == places.len() => {}
            Ok(value) if !kept.is_empty() => drop(vars.insert(names[0].clone(), value)),
            _ => vars.retain(|name, _| !names.contains(name)),
        }
    }
    vars
}

/// The variables as they were before direnv loaded a directory. direnv itself says which: outside of that directory it
/// takes back what it loaded. It is looked for in `kept`, because a worktree's own program of that name is not direnv.
fn undo_direnv(env: &Env, kept: &Env) -> Vars {
    let asked = proc::find(kept, "direnv").and_then(|direnv| {
        let cmd = Cmd::new(&direnv, env).args(["export", "json"]).dir(Path::new("/"));
        cmd.within(Duration::from_secs(10)).capture().ok().filter(|output| output.status.success())
    });
    let changes = asked.and_then(|out| serde_json::from_slice::<BTreeMap<String, Option<String>>>(&out.stdout).ok());
    let mut vars = env.vars.clone();
    for (name, value) in changes.unwrap_or_default() {
        let name = OsString::from(name);
        vars.remove(&name);
        vars.extend(value.map(|value| (name, value.into())));
    }
    vars
}
