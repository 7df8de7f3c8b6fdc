//! The root: a directory with the configuration, the state, the clone and the worktrees.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use shopfloor_core::config::expand_home;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{Git, Repo, common_dir_of};

use crate::agent::AgentTable;
use crate::layout;
use crate::settings::{Config, WorkerTable};
use crate::worker::Worker;

/// Where a root is looked for last, outside of any repository.
pub const DEFAULT: &str = "~/workers";

/// A root and what its configuration says.
#[derive(Debug)]
pub struct Root {
    pub path: PathBuf,
    pub config: Config,
}

impl Root {
    /// Finds it: named, by the variable, above the current directory, or recorded in the repository we stand in; outside
    /// of any repository the default place. Exit 2 where none of them is a root.
    pub fn find(env: &Env, named: Option<&Path>, flags: &[(&str, Option<&Path>)]) -> Result<Root> {
        let path = match named.map(Path::to_path_buf).or_else(|| env.var("WORKER_CTL_ROOT").map(PathBuf::from)) {
            Some(named) => proven(env, &env.cwd.join(expand_home(env, &named.to_string_lossy())))?,
            None => search(env)?,
        };
        Root::load(env, path.canonicalize().unwrap_or(path), flags)
    }

    /// The root at `path`, which is known to be one, with its configuration as it is now.
    pub fn load(env: &Env, path: PathBuf, flags: &[(&str, Option<&Path>)]) -> Result<Root> {
        let config = Config::load(env, &path, flags)?;
        Ok(Root { path, config })
    }

    pub fn worker(&self, name: &str) -> WorkerTable {
        self.config.workers.get(name).cloned().unwrap_or_default()
    }

    /// What the configuration says of a worker's role; empty where it says nothing.
    pub fn role_of(&self, name: &str) -> &str {
        self.config.workers.get(name).map(|table| table.role_prompt.as_str()).unwrap_or_default()
    }

    /// Which program a worker's agent is. Exit 2 when nobody said.
    pub fn agent(&self, name: &str) -> Result<AgentTable> {
        let agent = self.config.agents.get(name).cloned().or_else(|| AgentTable::preset(name));
        let agent = agent.filter(|agent| !agent.command.is_empty()).ok_or_else(|| {
            Failure::malformed(format!("nothing says how the agent `{name}` is started"))
                .hint(format!("set `command` in `[agents.{name}]` of {}", layout::config(&self.path).display()))
        })?;
        agent.check()?;
        Ok(agent)
    }

    /// Which program a worker's agent is: as config.toml says by now, else as it was made.
    pub fn agent_of(&self, worker: &Worker) -> Result<AgentTable> {
        self.agent(self.worker(&worker.name).agent.as_ref().unwrap_or(&worker.agent))
    }

    /// The argv of a worker's agent.
    pub fn command(&self, worker: &Worker, agent: &AgentTable) -> Vec<String> {
        let defaults = &self.config.defaults;
        let model = self.worker(&worker.name).model.unwrap_or_else(|| defaults.model.clone());
        let mut argv = Vec::new();
        for word in &agent.command {
            match word.as_str() {
                "{skip_permissions}" if defaults.skip_permissions => {
                    argv.push("--dangerously-skip-permissions".to_owned())
                }
                "{skip_permissions}" => {}
                "{allowed_tools}" => argv.push(defaults.allowed_tools.join(",")),
                word => argv.push(word.replace("{model}", &model)),
            }
        }
        argv
    }

    pub fn source(&self, env: &Env) -> PathBuf {
        self.path.join(expand_home(env, &self.config.repo.source))
    }
}

/// Whether a directory is a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// It is, and this is its source.
    Root(PathBuf),
    /// It is not, and this is why.
    None(String),
}

/// Whether `dir` is a root: only what no clone of a repository can carry proves it, because a root's configuration runs
/// commands. Its `.git` is a real directory whose own configuration names a source, and it, `dir` and `config.toml`
/// belong to the user.
pub fn prove(env: &Env, dir: &Path) -> Result<Proof> {
    let none = |why: &str| Ok(Proof::None(why.to_owned()));
    let (config, git_dir) = (layout::config(dir), dir.join(".git"));
    if !dir.is_dir() {
        return none("there is no such directory");
    }
    if !config.is_file() {
        return none("it has no config.toml");
    }
    if !git_dir.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        return none("it has no .git directory");
    }
    if let Some(foreign) = [dir, &git_dir, &config].into_iter().find(|path| !fs::is_ours(path)) {
        return none(&format!("{} belongs to another user", foreign.display()));
    }
    let is_open = |path: &&Path| path.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o002 != 0);
    if let Some(open) = [dir, &git_dir, &config].into_iter().find(is_open) {
        return none(&format!("anybody can write to {}: `chmod o-w` it", open.display()));
    }
    match Git::find(env)?.recorded_source(&git_dir)? {
        Some(source) => Ok(Proof::Root(source)),
        None => none("its .git/config does not set shopfloor.source"),
    }
}

/// A directory that somebody named as the root.
fn proven(env: &Env, dir: &Path) -> Result<PathBuf> {
    match prove(env, dir)? {
        Proof::Root(_) => Ok(dir.to_path_buf()),
        Proof::None(why) => Err(no_root(format!("{} is no root of worker-ctl: {why}", dir.display()))
            .hint("make one with `worker-ctl init --source REPOSITORY`, or name one with `--root DIR`")),
    }
}

fn no_root(what: String) -> Failure {
    Failure::new(Exit::Bad, "not_initialised", what)
}

fn search(env: &Env) -> Result<PathBuf> {
    if let Some(around) = around(env)? {
        return Ok(around);
    }
    let default = expand_home(env, DEFAULT);
    match Git::find(env)?.discover() {
        Ok(repo) => recorded(env, &repo, &default),
        // A repository that git cannot use is a repository: work must not go to another one's source.
        Err(failure) if env.cwd.ancestors().any(|dir| dir.join(".git").symlink_metadata().is_ok()) => Err(failure),
        Err(failure) if failure.kind != "not_a_repository" => Err(failure),
        Err(_) => proven(env, &default),
    }
}

/// The root that the current directory is a part of. Another repository that happens to lie below a root is none of its
/// business; but what lies in a worker's worktree is its agent's, whatever it claims to be.
fn around(env: &Env) -> Result<Option<PathBuf>> {
    let own = common_dir_of(&env.cwd);
    let mut found: Option<&Path> = None;
    for above in env.cwd.ancestors() {
        let is_part = found.map_or_else(
            || env.cwd.starts_with(layout::worktrees(above)) || own == above.join(".git").canonicalize().ok(),
            |inner| inner.starts_with(layout::worktrees(above)),
        );
        if is_part && matches!(prove(env, above)?, Proof::Root(_)) {
            found = Some(above);
        }
    }
    Ok(found.map(Path::to_path_buf))
}

/// The root recorded in a repository. Never another repository's: its workers' commits would land there.
fn recorded(env: &Env, repo: &Repo, default: &Path) -> Result<PathBuf> {
    let here = repo.home.checkout.display();
    let Some(root) = read_record(&repo.home.common_dir)? else {
        let failure = no_root(format!("no root of worker-ctl is recorded in the repository {here}"));
        let failure = match prove(env, default)? {
            Proof::Root(source) => {
                failure.details([format!("{} is the root of {}", default.display(), source.display())])
            }
            Proof::None(_) => failure,
        };
        return Err(failure.hint("make one with `worker-ctl init`, or name one with `--root DIR`"));
    };
    match prove(env, &root)? {
        // One that was copied records the root of the one it was copied from.
        Proof::Root(source) if is_another(&source, repo) => {
            let (root, source) = (root.display(), source.display());
            Err(no_root(format!("{root}, the root recorded in the repository {here}, is that of {source}")).hint(
                "make one for this repository with `worker-ctl init --target DIR`, or name that one with `--root DIR`",
            ))
        }
        Proof::Root(_) => Ok(root),
        Proof::None(why) => {
            Err(no_root(format!("{}, the root recorded in the repository {here}, is none: {why}", root.display()))
                .hint("bring it back, name another with `--root DIR`, or make one with `worker-ctl init`"))
        }
    }
}

/// Whether a source that is there is another repository than this one.
fn is_another(source: &Path, repo: &Repo) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    let common = common_dir_of(source).or_else(|| real(source));
    source.is_dir() && common != real(&repo.home.common_dir) && real(source) != real(&repo.home.common_dir)
}

/// The root that a repository's common directory records; none where it records nothing.
pub fn read_record(common_dir: &Path) -> Result<Option<PathBuf>> {
    let bytes = fs::read(&record(common_dir))?;
    Ok(bytes.map(|bytes| PathBuf::from(OsStr::from_bytes(bytes.trim_ascii_end()))).filter(|path| path.is_absolute()))
}

/// Where a source's own git directory says which root was cloned from it.
pub fn record(common_dir: &Path) -> PathBuf {
    layout::private(common_dir).join("root")
}
