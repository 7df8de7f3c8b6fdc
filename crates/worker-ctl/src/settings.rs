//! A root's `config.toml`: settings with their flags and variables, and the tables of agents and workers.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use shopfloor_core::args::SettingTable;
use shopfloor_core::config::{self, Line, OwnTable, Setting, SettingType, Trust, Users};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::sandbox::{Runners, SandboxSettings};
use shopfloor_core::text::{Position, did_you_mean, nearest, of_unknown_key};
use shopfloor_core::time::Unit;
use toml_edit::{Document, Item};

use crate::layout;
use crate::names::{checked_host_name, checked_name};
use crate::program_config::AgentTable;
use crate::runner::{self, RunnerTable};

/// The subcommands that change what a worker does, so that there is an event.
const CHANGING: Users = Users::Only(&[
    "add", "up", "down", "start", "message", "wait", "review", "reject", "accept", "rebase", "doctor", "reset", "nuke",
    "patrol", "config",
]);

/// The subcommands that look at the source.
const LANDING: Users = Users::Only(&[
    "init", "up", "start", "wait", "review", "accept", "rebase", "doctor", "reset", "nuke", "patrol", "config",
]);

/// The subcommands that check work, or show whether it was.
const CHECKING: Users = Users::Only(&["up", "check", "accept", "status", "wait", "doctor", "config"]);

/// The settings of `[defaults]`.
pub const DEFAULTS: &[Setting] = &[
    Setting::new("agent", "WORKER_CTL_AGENT", SettingType::Text, Trust::User).or("claude").flag(
        "NAME",
        "Run this agent: a preset, or a table of config.toml",
        Users::Only(&["add", "up", "start", "message", "reject", "accept", "rebase", "reset", "config"]),
    ),
    Setting::new("model", "WORKER_CTL_MODEL", SettingType::Text, Trust::User).flag(
        "NAME",
        "Use this model for the agent",
        Users::Only(&["add", "up", "reset", "config"]),
    ),
    Setting::new("runner", "WORKER_CTL_RUNNER", SettingType::Text, Trust::User).or("none").flag(
        "RUNNER",
        "Run the agent in a sandbox that holds its worktree and a private copy of the repository (`sandbox`), by the \
             runner of this name in config.toml, or as it is (`none`)",
        Users::Only(&["add", "up", "start", "reset", "resume", "config"]),
    ),
    Setting::new("skip_permissions", "WORKER_CTL_SKIP_PERMISSIONS", SettingType::Truth, Trust::User).or("true").flag(
        "BOOL",
        "Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions}",
        Users::Only(&["up", "reset", "config"]),
    ),
    Setting::new("allowed_tools", "WORKER_CTL_ALLOWED_TOOLS", SettingType::List, Trust::User).or(TOOLS).flag(
        "TOOLS",
        "Allow the agent these tools, separated by commas",
        Users::Only(&["up", "reset", "config"]),
    ),
    Setting::new(
        "patrol_interval_secs",
        "WORKER_CTL_PATROL_INTERVAL_SECS",
        SettingType::Duration(Unit::Seconds),
        Trust::User,
    )
    .or("60")
    .flag(
        "TIME",
        "Let `up` patrol at this interval, such as 30s; a number alone is seconds",
        Users::Only(&["up", "config"]),
    ),
    Setting::new("sound_on_review", "WORKER_CTL_SOUND_ON_REVIEW", SettingType::Truth, Trust::User).or("true").flag(
        "BOOL",
        "Ring the bell when a worker needs review",
        Users::Only(&["up", "status", "config"]),
    ),
    Setting::new("silent_after", "WORKER_CTL_SILENT_AFTER", SettingType::Duration(Unit::Seconds), Trust::User)
        .or("15m")
        .flag(
            "TIME",
            "Say that a working program needs you if it has shown no sign for this time; 0: never",
            Users::Only(&["status", "wait", "config"]),
        ),
    Setting::new("max_working", "WORKER_CTL_MAX_WORKING", SettingType::Number, Trust::User).or("0").flag(
        "N",
        "Let at most N workers work on tasks of the queue or of `start` without a name; 0: any number",
        Users::Only(&["up", "start", "config"]),
    ),
    Setting::new("limit_hold", "WORKER_CTL_LIMIT_HOLD", SettingType::Truth, Trust::User).or("true").flag(
        "BOOL",
        "Start no task without a worker's name for an agent one of whose workers has hit a usage limit",
        Users::Only(&["up", "start", "config"]),
    ),
    Setting::new("limit_retry", "WORKER_CTL_LIMIT_RETRY", SettingType::Duration(Unit::Seconds), Trust::User)
        .or("0")
        .flag(
            "TIME",
            "Try again after this time where nobody knows when a usage limit ends; 0: a person decides",
            Users::Only(&["up", "status", "wait", "config"]),
        ),
    Setting::new("branch_prefix", "WORKER_CTL_BRANCH_PREFIX", SettingType::Text, Trust::User).or("worker/").flag(
        "PREFIX",
        "Prefix the branches of new workers with PREFIX",
        Users::Only(&["add", "up", "doctor", "config"]),
    ),
    Setting::new("on_event", "WORKER_CTL_ON_EVENT", SettingType::Command, Trust::User).flag(
        "COMMAND",
        "Run COMMAND at every event",
        CHANGING,
    ),
    Setting::new("before_attach", "WORKER_CTL_BEFORE_ATTACH", SettingType::Command, Trust::User).flag(
        "COMMAND",
        "Run COMMAND in the worktree before `attach` starts",
        Users::Only(&["attach", "config"]),
    ),
    Setting::new("after_attach", "WORKER_CTL_AFTER_ATTACH", SettingType::Command, Trust::User).flag(
        "COMMAND",
        "Run COMMAND in the worktree after `attach` ends",
        Users::Only(&["attach", "config"]),
    ),
];

/// The settings of `[repo]`.
pub const REPO: &[Setting] = &[
    Setting::new("source", "WORKER_CTL_SOURCE", SettingType::Text, Trust::User).flag(
        "REPOSITORY",
        "Land accepted work on this repository",
        LANDING,
    ),
    Setting::new("branch", "WORKER_CTL_BRANCH", SettingType::Text, Trust::User).flag(
        "BRANCH",
        "Land accepted work on this branch of the source",
        LANDING,
    ),
    Setting::new("check", "WORKER_CTL_CHECK", SettingType::Command, Trust::User).flag(
        "COMMAND",
        "Check work with COMMAND before a person reviews it and before it lands",
        CHECKING,
    ),
    Setting::new("check_in", "WORKER_CTL_CHECK_IN", SettingType::Choice(&["work", "merge"]), Trust::User)
        .or("work")
        .flag("PLACE", "Check the work as it is, or merged into the branch that it lands on", CHECKING),
    Setting::new("check_timeout", "WORKER_CTL_CHECK_TIMEOUT", SettingType::Duration(Unit::Seconds), Trust::User)
        .or("15m")
        .flag("TIME", "Let a check take at most this time", CHECKING),
    Setting::new("check_tries", "WORKER_CTL_CHECK_TRIES", SettingType::Number, Trust::User).or("2").flag(
        "N",
        "Tell a worker N times in a task that its check failed; then it is a person's",
        CHECKING,
    ),
    Setting::new("check_jobs", "WORKER_CTL_CHECK_JOBS", SettingType::Number, Trust::User).or("1").flag(
        "N",
        "Run N checks at the same time",
        Users::Only(&["up", "config"]),
    ),
    Setting::new("check_on_host", "WORKER_CTL_CHECK_ON_HOST", SettingType::Truth, Trust::User).or("false").flag(
        "BOOL",
        "Let checks run the code of workers without a sandbox with your rights",
        CHECKING,
    ),
    Setting::new("validate", "WORKER_CTL_VALIDATE", SettingType::Text, Trust::User).flag(
        "COMMAND",
        "Ask workers to run COMMAND before they commit",
        Users::Only(&["start", "reject", "accept", "rebase", "config"]),
    ),
];

/// The settings that are flags.
#[derive(Clone, Copy, Debug, Default)]
pub struct RootSettings;

impl SettingTable for RootSettings {
    const SETTINGS: &'static [&'static [Setting]] = &[DEFAULTS, REPO];
    const HEADING: &'static str = "Settings";
    const IS_LONG_HELP: bool = true;
}

/// The tables that hold settings. `copy` has keys of its own, so it is read separately.
const OWN_TABLES: [OwnTable; 2] = [
    OwnTable { name: "defaults", settings: DEFAULTS, others: &[] },
    OwnTable { name: "repo", settings: REPO, others: &["copy"] },
];

/// What an agent may do unasked, where the program is told.
pub const TOOLS: &str = "Bash,Edit,Read,Write,Glob,Grep";

/// The keys of `[workers.NAME]`, `[agents.NAME]` and others, and the names of the tables.
const WORKER_KEYS: &str = "agent model runner role_prompt skip_permissions excluded_from_pool host adopted";
const AGENT_KEYS: &str = "command env skip_permissions ask_permissions model task resume resume_conversation hooks \
    ready startup_keys dialogs clear submit_key paste delivery end ok_exits strip";
const RUNNER_KEYS: &str = "command slurm env";
const SLURM_KEYS: &str = "partition cpus mem time gres extra";
const HOST_KEYS: &str = "ssh root source";
const HUB_KEYS: &str = "id name";
const TABLES: &str = "defaults repo agents workers hosts hub runners";

/// The configuration that results from the file, flags and variables.
#[derive(Debug, Default)]
pub struct RootConfig {
    pub copy: Vec<CopiedFile>,
    pub agents: BTreeMap<String, AgentTable>,
    pub workers: BTreeMap<String, WorkerTable>,
    pub hosts: BTreeMap<String, HostTable>,
    /// The hub of a root on a host, which alone lands its work.
    pub hub: Option<HubTable>,
    pub sandbox: SandboxSettings,
    pub runners: BTreeMap<String, RunnerTable>,
    /// Every setting with its source, and the warnings about them.
    pub settings: config::Config,
}

/// A file of the source that git does not track and that every worktree gets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopiedFile {
    pub from: String,
    /// The path in the worktree [default: the same path].
    pub to: Option<String>,
    #[serde(default)]
    pub mode: CopyMode,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CopyMode {
    #[default]
    Copy,
    /// A symbolic link to the file in the source.
    Link,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct WorkerTable {
    pub agent: Option<String>,
    pub model: Option<String>,
    /// `sandbox`, `none` or the name of one [default: as `[defaults]` says].
    pub runner: Option<String>,
    pub role_prompt: String,
    /// Whether its program asks nobody [default: as `[defaults]` says].
    pub skip_permissions: Option<bool>,
    pub excluded_from_pool: bool,
    pub host: Option<String>,
    /// Whether it is a worktree of the person's own repository, which nothing but `add --worktree` makes a worker's.
    pub adopted: bool,
}

/// A host, as `[hosts.NAME]` of `config.toml` says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct HostTable {
    /// What ssh calls it: `me@box`, or a name in the person's own configuration of ssh.
    pub ssh: String,
    /// Its root there.
    pub root: String,
    /// The bare repository there that its root is of, which gets the default branch.
    pub source: String,
}

/// The parts of the file that are not settings.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Tables {
    repo: CopyTable,
    agents: BTreeMap<String, AgentTable>,
    workers: BTreeMap<String, WorkerTable>,
    hosts: BTreeMap<String, HostTable>,
    hub: Option<HubTable>,
    runners: Runners<RunnerTable>,
}

/// `[hub]`, which a hub has written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct HubTable {
    pub id: String,
    /// What the hub calls this host.
    pub name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CopyTable {
    copy: Vec<CopiedFile>,
}

impl RootConfig {
    /// Loads a root's file. Exit 2 with file, line and column when it is invalid.
    pub fn load(env: &Env, root: &Path, flags: &[(&str, Option<&Path>)]) -> Result<RootConfig> {
        let path = layout::config(root);
        let mut settings = config::load_own(env, &path, &OWN_TABLES, flags)?;
        let (text, tables) = read::<Tables>(&path)?;
        check(&path, &text, &tables)?;
        settings.warnings.extend(find_unknown_keys(&path, &text));
        let Tables { repo: CopyTable { copy }, mut agents, workers, hosts, hub, runners } = tables;
        let (users, warnings) = users_agents(env)?;
        let sandbox = SandboxSettings::of_root(env, &text)?;
        settings.warnings.extend(warnings);
        for (name, table) in users {
            agents.entry(name).or_insert(table);
        }
        let runners = runners.others;
        require_runner(&runners, settings.value("runner").map(|value| value.text.as_str()), "`runner`")?;
        Ok(RootConfig { copy, agents, workers, hosts, hub, sandbox, runners, settings })
    }

    /// The text of a setting, or its default; empty without one.
    pub fn text(&self, name: &str) -> &str {
        self.settings.text(name)
    }

    /// The text of a setting that something sets.
    pub fn given(&self, name: &str) -> Option<&str> {
        Some(self.text(name)).filter(|text| !text.trim().is_empty())
    }

    /// The items of a list, separated by commas.
    pub fn items(&self, name: &str) -> String {
        self.settings.value(name).map_or_else(|| self.text(name).to_owned(), |value| value.items.join(","))
    }

    /// The command that a setting holds.
    pub fn command(&self, name: &str) -> Option<Line> {
        self.settings.command(name)
    }

    /// The branch of the worker with this name, when it is added.
    pub fn branch_of(&self, worker: &str) -> String {
        format!("{}{worker}", self.text("branch_prefix"))
    }
}

/// The user's own configuration, as far as it is about agents of workers.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsersFile {
    #[serde(rename = "worker-ctl")]
    own: UsersTables,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsersTables {
    agents: BTreeMap<String, AgentTable>,
}

/// The tables `[worker-ctl.agents.NAME]` of the user's own configuration, for all roots, and warnings about unknown keys.
/// Exit 2 if one is invalid.
pub fn users_agents(env: &Env) -> Result<(BTreeMap<String, AgentTable>, Vec<String>)> {
    let Some(path) = env.config_home().map(|dir| dir.join("config.toml")) else { return Ok(Default::default()) };
    let (text, UsersFile { own: UsersTables { agents } }) = read(&path)?;
    let at = |name: &str| format!("{}: [worker-ctl.agents.{name}]", path.display());
    agents.iter().try_for_each(|(name, agent)| check_agent(agent, || at(name)))?;
    let document = Document::parse(&*text).ok();
    let tables = document.as_ref().and_then(|document| document.get("worker-ctl")?.get("agents"));
    let warnings = tables.map(|tables| unknown_in_each(&path, &text, tables, AGENT_KEYS)).unwrap_or_default();
    Ok((agents, [config::users_unknown_tables(env)?, warnings].concat()))
}

/// A file's text and what it says. Exit 2 with file, line and column where it is invalid.
fn read<T: DeserializeOwned>(path: &Path) -> Result<(String, T)> {
    let text = String::from_utf8_lossy(&fs::read(path)?.unwrap_or_default()).into_owned();
    let read = toml::from_str(&text).map_err(|e| {
        let at = Position::of(&text, e.span().map_or(0, |span| span.start));
        Failure::malformed(format!("{}:{at}: {}", path.display(), of_unknown_key(e.message())))
    })?;
    Ok((text, read))
}

/// Exit 2 for an agent that cannot be run. A table takes the place of the program of that name that we know, so it needs a
/// command.
fn check_agent(agent: &AgentTable, place: impl Fn() -> String) -> Result<()> {
    let refuse = |why: &str| Failure::malformed(format!("{}: {why}", place()));
    agent.check().map_err(|failure| refuse(&failure.message).details(failure.causes()))?;
    match agent.command.is_empty() {
        true => Err(refuse("`command` is missing")
            .hint("set the command that starts it: `command = [\"PROGRAM\", \"ARGUMENT\"]`")),
        false => Ok(()),
    }
}

/// Exit 2 for a runner that nobody has.
fn require_runner(known: &BTreeMap<String, RunnerTable>, named: Option<&str>, place: &str) -> Result<()> {
    let built_in = [runner::NONE, runner::SANDBOX];
    let Some(named) = named.filter(|named| !built_in.contains(named) && !known.contains_key(*named)) else {
        return Ok(());
    };
    let all: Vec<&str> = known.keys().map(String::as_str).chain(built_in).collect();
    Err(Failure::malformed(format!("{place}: no runner is called `{named}`"))
        .details(nearest(named, &all).map(|near| format!("tip: did you mean `{near}`?")))
        .hint("name `sandbox`, `none` or a table `[runners.NAME]` of config.toml"))
}

/// Checks names and patterns. Exit 2 with the line of the table that has an invalid one.
fn check(path: &Path, text: &str, tables: &Tables) -> Result<()> {
    let at = |kind: &str, name: &str| {
        let document = Document::parse(text).ok();
        let item = document.as_ref().and_then(|document| document.get(kind)?.get(name)?.span());
        let at = item.map_or(Position { line: 1, column: 1 }, |span| Position::of(text, span.start));
        format!("{}:{at}: [{kind}.{name}]", path.display())
    };
    tables.agents.iter().try_for_each(|(name, agent)| check_agent(agent, || at("agents", name)))?;
    tables.runners.others.iter().try_for_each(|(name, table)| table.check(name))?;
    for (name, table) in &tables.workers {
        require_runner(&tables.runners.others, table.runner.as_deref(), &at("workers", name))?;
    }
    let names = tables.workers.keys().map(|name| ("workers", name));
    names.chain(tables.hosts.keys().map(|name| ("hosts", name))).try_for_each(|(kind, name)| {
        let checked = if kind == "hosts" { checked_host_name(name) } else { checked_name(name) };
        checked.map(drop).map_err(|failure| {
            let refused = Failure::malformed(format!("{}: {}", at(kind, name), failure.message));
            failure.hints.iter().fold(refused, |refused, hint| refused.hint(hint.clone()))
        })
    })
}

/// Warnings about unknown keys outside the tables of settings.
fn find_unknown_keys(path: &Path, text: &str) -> Vec<String> {
    let Ok(document) = Document::parse(text) else { return Vec::new() };
    let mut warnings = Vec::new();
    for (key, item) in document.iter() {
        warnings.extend(unknown(path, text, (key, item), TABLES, "table"));
        warnings.extend(match key {
            "agents" => unknown_in_each(path, text, item, AGENT_KEYS),
            "workers" => unknown_in_each(path, text, item, WORKER_KEYS),
            "hosts" => unknown_in_each(path, text, item, HOST_KEYS),
            "hub" => unknown_in(path, text, item, HUB_KEYS),
            "runners" => {
                // Who reads the table of the built-in one refuses what it does not know.
                let own = named(item).filter(|(name, _)| *name != runner::SANDBOX);
                let slurm = |table: &Item| table.get("slurm").map(|slurm| unknown_in(path, text, slurm, SLURM_KEYS));
                let of = |table: &Item| {
                    [unknown_in(path, text, table, RUNNER_KEYS), slurm(table).unwrap_or_default()].concat()
                };
                own.flat_map(|(_, table)| of(table)).collect()
            }
            _ => Vec::new(),
        });
    }
    warnings
}

/// The same about the keys in each of these tables.
fn unknown_in_each(path: &Path, text: &str, tables: &Item, known: &str) -> Vec<String> {
    named(tables).flat_map(|(_, table)| unknown_in(path, text, table, known)).collect()
}

/// The same about the keys of one table.
fn unknown_in(path: &Path, text: &str, table: &Item, known: &str) -> Vec<String> {
    named(table).filter_map(|key| unknown(path, text, key, known, "setting")).collect()
}

/// The keys of a table with what they stand for.
fn named(table: &Item) -> impl Iterator<Item = (&str, &Item)> {
    table.as_table_like().into_iter().flat_map(|table| table.iter())
}

fn unknown(path: &Path, text: &str, (key, item): (&str, &Item), known: &str, noun: &str) -> Option<String> {
    let known: Vec<&str> = known.split_whitespace().collect();
    let line = Position::of(text, item.span().map_or(0, |span| span.start)).line;
    // In a person's own file, what is for all roots is below this name.
    let near = match key == layout::TOOL {
        true => "; a root's own tables stand alone, as `[runners.sandbox]`".to_owned(),
        false => did_you_mean(key, &known),
    };
    (!known.contains(&key)).then(|| format!("{}:{line}: unknown {noun} `{key}`{near}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_reported_with_the_nearest_known_one() {
        let text = "[default]\n[agents.a]\ncommand = [\"x\"]\nsubmitkey = \"y\"\n[workers.b]\nmodel = \"m\"\nrole = \"\"\n\
             [runners.sandbox]\nprocs = 9\n[runners.c]\nslurm = { partitoin = \"p\" }\nenvs = []\n[hosts.d]\nsshh = \"d\"\n\
             [hub]\nnam = \"e\"\n";
        let warnings = find_unknown_keys(Path::new("config.toml"), text);
        assert_eq!(
            warnings,
            [
                "config.toml:1: unknown table `default`; did you mean `defaults`?",
                "config.toml:4: unknown setting `submitkey`; did you mean `submit_key`?",
                "config.toml:7: unknown setting `role`; did you mean `role_prompt`?",
                "config.toml:12: unknown setting `envs`; did you mean `env`?",
                "config.toml:11: unknown setting `partitoin`; did you mean `partition`?",
                "config.toml:14: unknown setting `sshh`; did you mean `ssh`?",
                "config.toml:16: unknown setting `nam`; did you mean `name`?",
            ]
        );
    }
}
