//! The root: a directory with the configuration, the state, the clone and the worktrees.

use std::path::{Path, PathBuf};

use shopfloor_core::config::expand_home;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::Git;

use crate::TOOL;
use crate::agent::AgentTable;
use crate::settings::{Config, WorkerTable};
use crate::worker::Worker;

/// Where a root is looked for last.
const DEFAULT: &str = "~/workers";

/// A root and what its configuration says.
#[derive(Debug)]
pub struct Root {
    pub path: PathBuf,
    pub config: Config,
}

impl Root {
    /// Finds it: named, by the variable, above the current directory, recorded in the source, or the default place.
    pub fn find(env: &Env, named: Option<&Path>, flags: &[(&str, Option<&Path>)]) -> Result<Root> {
        let path = match named.map(Path::to_path_buf).or_else(|| env.var("WORKER_CTL_ROOT").map(PathBuf::from)) {
            Some(named) => env.cwd.join(expand_home(env, &named.to_string_lossy())),
            None => search(env)?,
        };
        if !is_root(&path) {
            return Err(Failure::new(
                Exit::Failed,
                "not_initialised",
                format!("{} is no root of worker-ctl", path.display()),
            )
            .hint("make one with `worker-ctl init --source REPOSITORY`, or name one with `--root`"));
        }
        let path = path.canonicalize().unwrap_or(path);
        let config = Config::load(env, &path, flags)?;
        Ok(Root { path, config })
    }

    pub fn worktree(&self, name: &str) -> PathBuf {
        self.path.join(".worktrees").join(name)
    }

    pub fn worker(&self, name: &str) -> WorkerTable {
        self.config.workers.get(name).cloned().unwrap_or_default()
    }

    /// Which program a worker's agent is. Exit 2 when nobody said.
    pub fn agent(&self, name: &str) -> Result<AgentTable> {
        let agent = self.config.agents.get(name).cloned().or_else(|| AgentTable::preset(name));
        let agent = agent.filter(|agent| !agent.command.is_empty()).ok_or_else(|| {
            Failure::malformed(format!("nothing says how the agent `{name}` is started"))
                .hint(format!("set `command` in `[agents.{name}]` of {}", self.path.join("config.toml").display()))
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

fn is_root(path: &Path) -> bool {
    path.join("config.toml").is_file() && path.join(".worktrees").is_dir()
}

fn search(env: &Env) -> Result<PathBuf> {
    if let Some(above) = env.cwd.ancestors().find(|dir| is_root(dir)) {
        return Ok(above.to_path_buf());
    }
    let recorded = || -> Option<PathBuf> {
        let repo = Git::find(env).ok()?.discover().ok()?;
        let bytes = fs::read(&record(&repo.common_dir)).ok()??;
        Some(PathBuf::from(String::from_utf8_lossy(&bytes).trim_end()))
    };
    Ok(recorded().filter(|path| is_root(path)).unwrap_or_else(|| expand_home(env, DEFAULT)))
}

/// Where a source's own git directory says which root was cloned from it.
pub fn record(common_dir: &Path) -> PathBuf {
    common_dir.join("shopfloor").join(TOOL).join("root")
}
