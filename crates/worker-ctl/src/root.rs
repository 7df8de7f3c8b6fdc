//! The root: a directory with the configuration, the state, the clone and the worktrees.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use regex_lite::Regex;
use serde::Deserialize;
use shopfloor_core::config::expand_home;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::Git;

use crate::TOOL;

/// Where a root is looked for last.
const DEFAULT: &str = "~/workers";

/// A root and what its configuration says.
#[derive(Clone, Debug)]
pub struct Root {
    pub path: PathBuf,
    pub config: Config,
}

/// `config.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Config {
    #[serde(default)]
    pub defaults: Defaults,
    #[serde(default)]
    pub repo: RepoTable,
    #[serde(default)]
    pub agents: BTreeMap<String, AgentTable>,
    #[serde(default)]
    pub workers: BTreeMap<String, WorkerTable>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Defaults {
    pub agent: String,
    pub model: String,
    pub skip_permissions: bool,
    pub allowed_tools: Vec<String>,
    pub patrol_interval_secs: u64,
    pub sound_on_review: bool,
    pub branch_prefix: String,
    pub on_event: Option<String>,
}

impl Default for Defaults {
    fn default() -> Defaults {
        Defaults {
            agent: "claude".into(),
            model: "opus".into(),
            skip_permissions: true,
            allowed_tools: ["Bash", "Edit", "Read", "Write", "Glob", "Grep"].map(str::to_owned).into(),
            patrol_interval_secs: 60,
            sound_on_review: true,
            branch_prefix: "worker/".into(),
            on_event: None,
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct RepoTable {
    pub source: String,
    pub branch: String,
    pub validate: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct WorkerTable {
    pub agent: Option<String>,
    pub model: Option<String>,
    pub role_prompt: String,
    pub excluded_from_pool: bool,
}

/// How a program is run and spoken to. What is missing is off.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AgentTable {
    pub command: Vec<String>,
    pub ready: Ready,
    pub startup_keys: Vec<String>,
    pub clear: Option<String>,
    pub submit_key: Option<String>,
    pub paste: Paste,
    pub ok_exits: Option<Vec<i32>>,
    pub strip: Vec<String>,
}

/// When it takes input.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Ready {
    pub pattern: Option<String>,
    pub timeout_secs: Option<u64>,
    pub delay_ms: Option<u64>,
}

/// How a text gets into it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Paste {
    /// As one paste, whose line ends submit nothing.
    #[default]
    Bracketed,
    /// Each line is submitted.
    Lines,
    /// In a file, of which one line tells.
    File,
}

impl AgentTable {
    fn preset(name: &str) -> Option<AgentTable> {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect();
        let pattern = |pattern: &str| Ready { pattern: Some(pattern.into()), timeout_secs: Some(30), delay_ms: None };
        match name {
            "claude" => Some(AgentTable {
                command: words("claude --model {model} {skip_permissions} --allowedTools {allowed_tools}"),
                ready: pattern("^[│|]? ?[>❯]"),
                clear: Some("/clear".into()),
                strip: vec![r"(?i)^.*Generated with .*Claude.*$".into(), r"(?i)^co-authored-by: claude.*$".into()],
                ..AgentTable::default()
            }),
            "codex" => Some(AgentTable {
                command: words("codex --model {model}"),
                ready: pattern("^›"),
                clear: Some("/new".into()),
                strip: vec![r"(?i)^co-authored-by: codex.*$".into()],
                ..AgentTable::default()
            }),
            "gemini" => Some(AgentTable {
                command: words("gemini --model {model}"),
                ready: pattern(">"),
                ..AgentTable::default()
            }),
            "aider" => Some(AgentTable {
                command: words("aider --model {model}"),
                ready: pattern("^>"),
                ..AgentTable::default()
            }),
            _ => None,
        }
    }

    /// Whether this is how it ends when all is well.
    pub fn is_ok_exit(&self, code: i32) -> bool {
        self.ok_exits.as_deref().unwrap_or(&[0, 130]).contains(&code)
    }
}

impl Root {
    /// Finds it: named, by the variable, above the current directory, recorded in the source, or the default place.
    pub fn find(env: &Env, named: Option<&Path>) -> Result<Root> {
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
        let config = Config::load(&path)?;
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
        for pattern in agent.strip.iter().chain(&agent.ready.pattern) {
            regex(pattern)?;
        }
        Ok(agent)
    }

    /// The argv of a worker's agent.
    pub fn command(&self, name: &str, agent: &AgentTable) -> Vec<String> {
        let defaults = &self.config.defaults;
        let model = self.worker(name).model.unwrap_or_else(|| defaults.model.clone());
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

/// A pattern of the configuration, one line at a time.
pub fn regex(pattern: &str) -> Result<Regex> {
    Regex::new(&format!("(?m){pattern}"))
        .map_err(|e| Failure::malformed(format!("`{pattern}` is no regular expression")).because(e))
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

impl Config {
    fn load(root: &Path) -> Result<Config> {
        let path = root.join("config.toml");
        let bytes = fs::read(&path)?.unwrap_or_default();
        let text =
            String::from_utf8(bytes).map_err(|_| Failure::malformed(format!("{}: not UTF-8", path.display())))?;
        toml::from_str(&text).map_err(|e| {
            let at = e.span().map_or(0, |span| span.start);
            let at = shopfloor_core::text::Position::of(&text, at);
            Failure::malformed(format!("{}:{at}: {}", path.display(), e.message()))
        })
    }
}
