//! What each program needs to run against the model on loopback: its package, its variables, and what a person has done
//! once before, such as a login and the first-run choices.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::table::{self as agents, AgentProgram};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::registry;
use crate::run::target_dir;

/// How many seconds a registry may take: always, and where others wait.
const LIMITS: [&str; 2] = ["600", "120"];

/// A program with everything that is needed to try it.
pub struct Trial {
    pub program: &'static AgentProgram,
    package: Package,
    /// The model that its worker is given.
    pub model: Option<&'static str>,
    variables: fn(&str) -> Vec<(&'static str, String)>,
    home: fn(&str) -> Vec<(&'static str, String)>,
}

/// Where a program comes from.
#[derive(Clone, Copy)]
enum Package {
    Npm(&'static str),
    PyPi(&'static str),
}

/// The programs that are known, each with how it is tried.
pub fn trials() -> Vec<Trial> {
    agents::PROGRAMS.iter().filter_map(trial).collect()
}

fn trial(program: &'static AgentProgram) -> Option<Trial> {
    let make = |package, model, variables, home| Some(Trial { program, package, model, variables, home });
    match program.name {
        "claude" => make(Package::Npm("@anthropic-ai/claude-code"), None, claude, claude_home),
        "codex" => make(Package::Npm("@openai/codex"), Some("gpt-5.1-codex"), codex, codex_home),
        "gemini" => make(Package::Npm("@google/gemini-cli"), Some("gemini-3-pro"), gemini, gemini_home),
        "aider" => make(Package::PyPi("aider-chat"), Some("openai/gpt-4o"), aider, |_| Vec::new()),
        "opencode" => make(Package::Npm("opencode-ai"), Some("stub/stub-model"), opencode, opencode_home),
        _ => None,
    }
}

impl Trial {
    pub fn name(&self) -> &'static str {
        self.program.name
    }

    /// The variables for a model at `url`.
    pub fn variables(&self, url: &str) -> Vec<(&'static str, String)> {
        (self.variables)(url)
    }

    /// The files in its home: paths and texts.
    pub fn home(&self, url: &str) -> Vec<(&'static str, String)> {
        (self.home)(url)
    }

    /// Whether only the user who installed it can run it, because its Python is in that user's home.
    pub fn is_private(&self, bin: &Path) -> bool {
        let python = bin.join("python").canonicalize();
        let is_closed = |dir: &Path| dir.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o001 == 0);
        python.is_ok_and(|python| python.ancestors().any(is_closed))
    }

    /// Whether it works by writing texts instead of calling tools.
    pub fn has_no_tools(&self) -> bool {
        self.name() == "aider"
    }

    /// What makes the model do some work that ends with a commit.
    pub fn work(&self, number: &str) -> String {
        match self.has_no_tools() {
            true => format!("MODEL write file{number}.txt line {number}"),
            false => {
                format!("MODEL run echo {number} > file{number}.txt && git add -A && git commit -qm 'work {number}'")
            }
        }
    }

    /// What makes the model do some work that a person must allow first.
    pub fn questionable_work(&self, number: &str) -> String {
        if self.name() != "codex" {
            return self.work(number);
        }
        // It asks only if the model wants to leave its sandbox.
        let cmd = format!("echo {number} > file{number}.txt && git add -A && git commit -qm 'work {number}'");
        let call = json!({ "cmd": cmd, "sandbox_permissions": "require_escalated", "justification": "May I?" });
        format!("MODEL call exec_command {call}")
    }

    /// Installs the version that was tried last, or the latest one. Returns the directory of its program, or none if no
    /// registry can be reached.
    pub fn install(&self, is_latest: bool, is_short: bool) -> Result<Option<PathBuf>> {
        let limit = LIMITS[usize::from(is_short)];
        let version = if is_latest { "latest" } else { self.program.versions[0] };
        let dir = target_dir().join("agents").join(format!("{}-{version}", self.name()));
        let bin = match self.package {
            Package::Npm(_) => dir.join("node_modules/.bin"),
            Package::PyPi(_) => dir.join("bin"),
        };
        if bin.join(self.name()).exists() && !is_latest {
            return Ok(Some(bin));
        }
        let installed = match self.package {
            Package::Npm(package) => registry::npm(&dir, &[&format!("{package}@{version}")], limit)?,
            Package::PyPi(package) if is_latest => registry::pypi(&dir, &[package], limit)?,
            Package::PyPi(package) => registry::pypi(&dir, &[&format!("{package}=={version}")], limit)?,
        };
        Ok(installed.filter(|bin| bin.join(self.name()).exists()))
    }

    /// The version that the installed program prints.
    pub fn version(&self, bin: &Path) -> Result<String> {
        let mut command = Command::new("timeout");
        let home = tempfile::tempdir()?;
        command.arg("60").arg(bin.join(self.name())).arg("--version").env("HOME", home.path());
        let output = command.output();
        let output = output.with_context(|| format!("cannot run {}", self.name()))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let number = text.split_whitespace().find(|word| word.contains('.') && word.starts_with(char::is_numeric));
        match number {
            Some(number) => Ok(number.to_owned()),
            None => bail!("{} prints no version: {text}", self.name()),
        }
    }
}

/// The last characters of this key are in claude's list of keys that a person has approved.
fn claude_key() -> String {
    format!("sk-ant-api03-{}-AAAA", "dummy".repeat(20))
}

fn claude(url: &str) -> Vec<(&'static str, String)> {
    vec![
        ("ANTHROPIC_BASE_URL", url.to_owned()),
        ("ANTHROPIC_API_KEY", claude_key()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
    ]
}

fn claude_home(_: &str) -> Vec<(&'static str, String)> {
    let key = claude_key();
    let approved = json!({ "approved": [key[key.len() - 20..]], "rejected": [] });
    let settings = json!({ "hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": approved });
    vec![(".claude.json", settings.to_string())]
}

fn codex(_: &str) -> Vec<(&'static str, String)> {
    vec![("STUB_KEY", "dummy".to_owned())]
}

fn codex_home(url: &str) -> Vec<(&'static str, String)> {
    let config = format!(
        "model = \"gpt-5.1-codex\"\nmodel_provider = \"stub\"\ncheck_for_update_on_startup = false\n\n\
         [model_providers.stub]\nname = \"stub\"\nbase_url = \"{url}/v1\"\nwire_api = \"responses\"\n\
         env_key = \"STUB_KEY\"\n\n[analytics]\nenabled = false\n"
    );
    vec![(".codex/config.toml", config)]
}

fn gemini(url: &str) -> Vec<(&'static str, String)> {
    vec![
        ("GOOGLE_GEMINI_BASE_URL", url.to_owned()),
        ("GEMINI_API_KEY", "dummy".to_owned()),
        ("GEMINI_TELEMETRY_ENABLED", "false".to_owned()),
    ]
}

fn gemini_home(_: &str) -> Vec<(&'static str, String)> {
    let settings = json!({
        "security": { "auth": { "selectedType": "gemini-api-key" } },
        "privacy": { "usageStatisticsEnabled": false },
        "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
    });
    vec![(".gemini/settings.json", settings.to_string())]
}

fn aider(url: &str) -> Vec<(&'static str, String)> {
    vec![
        ("OPENAI_API_BASE", format!("{url}/v1")),
        ("OPENAI_API_KEY", "dummy".to_owned()),
        ("AIDER_ANALYTICS_DISABLE", "true".to_owned()),
    ]
}

fn opencode(_: &str) -> Vec<(&'static str, String)> {
    let on = || "1".to_owned();
    vec![
        ("OPENCODE_DISABLE_MODELS_FETCH", on()),
        ("OPENCODE_DISABLE_AUTOUPDATE", on()),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", on()),
    ]
}

fn opencode_home(url: &str) -> Vec<(&'static str, String)> {
    let options = json!({ "baseURL": format!("{url}/v1"), "apiKey": "dummy" });
    let provider: Value = json!({ "npm": "@ai-sdk/openai-compatible", "name": "stub", "options": options,
        "models": { "stub-model": { "name": "stub" } } });
    let config = json!({ "autoupdate": false, "share": "disabled", "model": "stub/stub-model",
        "small_model": "stub/stub-model", "permission": { "bash": "ask" }, "provider": { "stub": provider } });
    vec![(".config/opencode/opencode.json", config.to_string())]
}
