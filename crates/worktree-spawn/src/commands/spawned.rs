//! What `subtree` and `worker` share: the task, the launch, and the answer.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::proc;
use shopfloor_core::text::both;
use shopfloor_core::ui::Ui;

use crate::agent_in_worktree::KnownAgent;
use crate::apply::launch;
use crate::failure;
use crate::repository_view::Place;
use crate::settings::Settings;

/// The task of an agent.
#[derive(Args, Clone, Debug, Default)]
pub struct TaskArgs {
    /// The task of the agent, which is kept in a file; `-` reads it from stdin
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "task_file")]
    pub task: Option<String>,
    /// A file with the task, or `-` for stdin
    #[arg(long, value_name = "FILE")]
    pub task_file: Option<PathBuf>,
}

impl TaskArgs {
    /// Reads the task. Exit 2 for one that is empty, not UTF-8, or has a NUL byte.
    pub fn read(&self, ui: &Ui, env: &Env) -> Result<Option<Vec<u8>>> {
        let task = match (&self.task, &self.task_file) {
            (None, None) => return Ok(None),
            (Some(text), _) if text == "-" => ui.input_up_to(fs::STATE_LIMIT)?,
            (Some(text), _) => text.clone().into_bytes(),
            (None, Some(file)) if file.as_os_str() == "-" => ui.input_up_to(fs::STATE_LIMIT)?,
            (None, Some(file)) => {
                let path = env.cwd.join(file);
                fs::read_text(&path)?.ok_or_else(|| {
                    failure::NOT_FOUND
                        .with(Exit::Bad, format!("there is no task file {}", path.display()))
                        .hint("name a file that is there, `-` for stdin, or give the text with `--task`")
                })?
            }
        };
        let text = std::str::from_utf8(&task).map_err(|_| Failure::malformed("the task is not UTF-8"))?;
        if text.contains('\0') {
            return Err(Failure::malformed("the task contains a NUL byte"));
        }
        if text.trim().is_empty() {
            return Err(Failure::usage("the task is empty").hint("leave `--task` out, or say what is to be done"));
        }
        Ok(Some(task))
    }
}

/// Whether and how the agent is started.
#[derive(Args, Clone, Debug, Default)]
pub struct LaunchArgs {
    /// Start the agent with the configured launcher
    #[arg(long)]
    pub launch: bool,
    /// Start the agent with this launcher: tmux, zellij, none, or a command line with {id} {slug} {path} {cmd} [env:
    /// WORKTREE_SPAWN_LAUNCHER] [default: none]
    #[arg(long, value_name = "TEMPLATE")]
    pub launcher: Option<String>,
}

impl LaunchArgs {
    /// Whether the agent is to be started.
    pub fn is_wanted(&self) -> bool {
        self.launch || self.launcher.is_some()
    }
}

/// An agent that was made, or existed.
#[derive(Debug)]
pub struct Spawned {
    pub known: KnownAgent,
    pub created: bool,
    pub mcp_config: PathBuf,
    pub warnings: Vec<String>,
    /// What failed after the agent was made.
    pub failure: Option<Failure>,
}

impl Spawned {
    /// A spawned agent as scripts read it.
    pub fn answer(&self) -> Value {
        let (agent, task) = (&self.known.agent, self.known.task_file());
        let more = json!({
            "slug": agent.slug,
            "base_sha": agent.base_sha,
            "commit": agent.base_sha,
            "created": self.created,
            "task_file": task.exists().then(|| task.to_string_lossy()),
            "config": self.known.config_file().to_string_lossy(),
            "mcp_config": Some(self.mcp_config.to_string_lossy()).filter(|path| !path.is_empty()),
            "warnings": self.warnings,
        });
        let error = self.failure.as_ref().map_or(json!({}), |failure| json!({ "error": failure.to_json() }));
        both(both(self.known.keys(), more), error)
    }

    /// Starts the agent. If there is no launcher, warns with the command that starts it, so that nobody waits for an
    /// agent that does not run.
    pub fn launch(&mut self, ui: &Ui, env: &Env, place: &Place, settings: &Settings) {
        let (id, agent) = (&self.known.agent.id, settings.agent.as_str());
        let warning = match launch::launch(env, place, settings, &self.known) {
            Ok(true) if settings.is_preset(agent) && proc::find(env, agent).is_none() => {
                format!("{agent} is not on the PATH here, so it may not start; `worktree-spawn list` shows how it ends")
            }
            Ok(true) => return,
            Ok(false) => {
                let line = launch::run_line(env, place, settings, &self.known).unwrap_or_default();
                format!("no launcher is set, so {id} is not started; start it with `{line}`")
            }
            Err(failure) => return self.failure = Some(failure),
        };
        ui.warn(&warning);
        self.warnings.push(warning);
    }

    /// The exit of the command, once the answer is printed. A JSON answer holds the failure already.
    pub fn exit(self, ui: &Ui) -> Result<Exit> {
        match self.failure {
            Some(failure) if ui.is_json() => Ok(failure.exit),
            Some(failure) => Err(failure),
            None => Ok(Exit::Done),
        }
    }
}
