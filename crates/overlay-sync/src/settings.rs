//! The settings of this tool, for the overlay and for each path.

use std::path::Path;
use std::time::Duration;

use glob::{MatchOptions, Pattern};
use shopfloor_core::args::{SettingFlags, SettingTable};
use shopfloor_core::config::{self, Config, Line, Row, Setting, SettingSource, SettingType, Trust, Users, Value};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::git::Repo;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::is_like;
use shopfloor_core::time::Unit;

use crate::execution_risk;
use crate::merge::{EntryPath, FileType, Grow, Rule};
use crate::tool::TOOL;

/// The subcommands that merge, and those that sync.
const MERGING: Users = Users::AllBut(&["add", "manifest", "conflicts", "show", "log", "doctor"]);
const SYNCING: Users = Users::AllBut(&["merge", "manifest", "conflicts", "show", "log", "doctor"]);
const WATCHING: Users = Users::Only(&["watch", "config"]);

/// The settings there are, in the order in which `config` prints them.
pub const SETTINGS: &[Setting] = &[
    Setting::new("overlay", "OVERLAY_SYNC_OVERLAY", SettingType::Path, Trust::Approved).flag(
        "DIR",
        "Use the overlay in DIR, not the one of this repository in the user's data",
        Users::AllBut(&["merge"]),
    ),
    Setting::new("enabled", "OVERLAY_SYNC_ENABLED", SettingType::Truth, Trust::Open).or("true").flag(
        "BOOL",
        "Whether the hook and `watch` do anything",
        Users::Only(&["watch", "hook", "config"]),
    ),
    Setting::new("debounce_ms", "OVERLAY_SYNC_DEBOUNCE_MS", MILLISECONDS, Trust::Open).or("2000").flag(
        "TIME",
        "How long files must be quiet before `watch` syncs; a number alone is milliseconds",
        WATCHING,
    ),
    Setting::new("max_wait_ms", "OVERLAY_SYNC_MAX_WAIT_MS", MILLISECONDS, Trust::Open).or("10000").flag(
        "TIME",
        "How long `watch` waits for quiet at most; a number alone is milliseconds",
        WATCHING,
    ),
    Setting::new("on_conflict", "OVERLAY_SYNC_ON_CONFLICT", SIDES, Trust::Open).or("workspace").flag(
        "SIDE",
        "Let the workspace (last write wins) or the overlay decide a conflict, or hold the file",
        MERGING,
    ),
    Setting::new("merge_command", "OVERLAY_SYNC_MERGE_COMMAND", SettingType::Command, Trust::Approved).flag(
        "COMMAND",
        "A program to ask about conflicts, run by `sh -c`",
        MERGING,
    ),
    Setting::new("merge_timeout_ms", "OVERLAY_SYNC_MERGE_TIMEOUT_MS", MILLISECONDS, Trust::Open).or("30000").flag(
        "TIME",
        "How long the merge command may take; a number alone is milliseconds",
        MERGING,
    ),
    Setting::new("paths", "OVERLAY_SYNC_PATHS", SettingType::List, Trust::Open).flag(
        "GLOBS",
        "Globs, separated by commas, of files that a workspace may bring into the overlay",
        SYNCING,
    ),
    Setting::new("paths_max_bytes", "OVERLAY_SYNC_PATHS_MAX_BYTES", SettingType::Number, Trust::Open)
        .or("1048576")
        .flag("BYTES", "Let a workspace bring in no larger file", SYNCING),
    Setting::new("paths_except", "OVERLAY_SYNC_PATHS_EXCEPT", SettingType::List, Trust::Open).or(NEVER_TAKEN).flag(
        "GLOBS",
        "Globs, separated by commas, of files that a workspace does not bring in unless `--paths` spells them out",
        SYNCING,
    ),
    Setting::new("review", "OVERLAY_SYNC_REVIEW", SettingType::List, Trust::Approved).or(DEFAULT_REVIEW).flag(
        "KEYS",
        "Keys, separated by commas, below which additions wait for `accept`",
        SYNCING,
    ),
    Setting::new("path", "", SettingType::Tables(PER_PATH), Trust::Open),
];

const MILLISECONDS: SettingType = SettingType::Duration(Unit::Milliseconds);

/// What can decide a conflict.
const SIDES: SettingType = SettingType::Choice(&["workspace", "overlay", "hold"]);

/// The table of the flags.
#[derive(Clone, Copy, Debug, Default)]
pub struct OverlaySettings;

impl SettingTable for OverlaySettings {
    const SETTINGS: &'static [&'static [Setting]] = &[SETTINGS];
    const HEADING: &'static str = "Overlay";
}

/// Which overlay to use, and settings for one run.
pub type OverlayFlags = SettingFlags<OverlaySettings>;

/// What git ignores because it is large or can be made again, and no glob takes.
const NEVER_TAKEN: &str = "node_modules,target,dist,build,out,.venv,venv,__pycache__,.cache,.gradle,.next,.nuxt,.tox,\
    .mypy_cache,.pytest_cache,.ruff_cache,.terraform,.direnv,vendor,*.pyc,*.o,*.so,*.log,*.pid,*.sock,*.swp,*~,.DS_Store";

const DEFAULT_REVIEW: &str = "hooks,mcpServers";

/// The file in which worktree-spawn names the server of one worktree's agent, and the entry that does. In another worktree
/// it would be a wrong identity.
const AGENTS_SERVER: (&str, &str) = (".mcp.json", "mcpServers.shopfloor");

/// The names of files that look private.
const PRIVATE: &str =
    ".env* .sweatshop-env* *.env *.pem *.key *.p12 *.pfx id_* .npmrc .netrc .pypirc .dev.vars credentials*";

/// Whether the name of a file looks private.
pub fn looks_private(path: &RelPath) -> bool {
    is_like(&path.name().to_string_lossy().to_lowercase(), PRIVATE)
}

const PER_PATH: &[Setting] = &[
    Setting::new("policy", "", SettingType::Choice(&["three-way", "grow"]), Trust::Open),
    Setting::new("direction", "", SettingType::Choice(&["both", "down"]), Trust::Open),
    Setting::new("delete", "", SettingType::Choice(&["keep", "propagate"]), Trust::Open),
    Setting::new("local", "", SettingType::List, Trust::Open),
    Setting::new("send", "", SettingType::Truth, Trust::Approved),
    Setting::new("review", "", SettingType::Truth, Trust::Approved),
    Setting::new("remote", "", SettingType::Truth, Trust::Open),
];

/// The settings in force.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// With `false` the hook and `watch` do nothing.
    pub enabled: bool,
    /// How long files must be quiet before `watch` syncs, and how long it waits for that at most.
    pub debounce: Duration,
    pub max_wait: Duration,
    /// What decides a conflict, and whether it waits for a person instead.
    pub rule: Rule,
    pub holds: bool,
    /// The program that is asked about conflicts, and how long it may take.
    pub merge_command: Option<Line>,
    pub merge_timeout: Duration,
    /// The files that a workspace may bring into the overlay without `add`.
    pub paths: Vec<Glob>,
    /// The size up to which a glob takes a file, and what it does not take.
    pub paths_max: u64,
    pub paths_except: Vec<Glob>,
    /// The keys below which additions wait for a person. If there are none, nothing waits because of what programs do.
    pub review: Vec<String>,
    /// The tables of the setting `path` that set anything, each with the pattern that is its name.
    pub per_path: Vec<(Glob, Row)>,
}

/// How the file at one path is handled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    pub grow: Grow,
    /// Changes travel from the overlay to the workspace only.
    pub is_down: bool,
    /// A file that is deleted in the overlay is deleted in workspaces that have not changed it.
    pub spreads_deletions: bool,
    /// Entries that stay in their workspace: they neither leave it nor enter another.
    pub local: Vec<EntryPath>,
    /// Whether the merge command may see the file although it looks private.
    pub is_sent: bool,
    pub review: Vec<EntryPath>,
    /// The path by which programs know the file; `None` if what they do with the file makes nothing wait.
    pub reviewed: Option<RelPath>,
    /// The permissions that any side gives.
    pub mode: u32,
    /// As in [`Settings`].
    pub rule: Rule,
    pub holds: bool,
}

impl Policy {
    /// Leaves an agent's server in its worktree, if one of these texts of the file has one.
    pub fn keep_agents_server<'t>(&mut self, path: &RelPath, texts: impl IntoIterator<Item = &'t [u8]>) {
        let (file, key) = AGENTS_SERVER;
        if path.as_path() == Path::new(file) {
            let kind = FileType::from_path(path.as_path());
            let is_agents = |text: &[u8], entry: &EntryPath| names_an_agent(&entry.value_in(kind, text));
            let entry = EntryPath::parse(kind, key);
            self.local.extend(entry.filter(|entry| texts.into_iter().any(|text| is_agents(text, entry))));
        }
    }
}

/// Whether a server, in JSON, is one that worktree-spawn writes. A person may have another one of the same name.
fn names_an_agent(server: &str) -> bool {
    let server: serde_json::Value = serde_json::from_str(server).unwrap_or_default();
    let word = |pointer| server.pointer(pointer).and_then(serde_json::Value::as_str);
    let program = word("/command").and_then(|command| Path::new(command).file_name());
    program.is_some_and(|program| program == "worktree-spawn") && word("/args/0") == Some("mcp")
}

/// A pattern for paths. As in `.gitignore`, a pattern without a slash matches a name in any directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glob {
    pattern: Pattern,
}

impl Glob {
    /// Reads a pattern; the error says why it is refused. `./x` matches only `x` at the top.
    pub fn parse(text: &str) -> std::result::Result<Glob, String> {
        let below = text.trim_start_matches("./");
        let is_refused = below.is_empty() || below.split('/').any(|part| matches!(part, "" | "." | ".."));
        if is_refused {
            return Err("it must name files below the workspace".into());
        }
        let pattern = if text.contains('/') { below.to_owned() } else { format!("**/{below}") };
        let pattern = Pattern::new(&pattern).map_err(|e| e.to_string())?;
        Ok(Glob { pattern })
    }

    pub fn matches(&self, path: &Path) -> bool {
        let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
        self.pattern.matches_path_with(path, options)
    }

    /// The directory that contains everything it matches, as far as it is spelled out; empty when that is any
    /// directory.
    pub fn dir(&self) -> &str {
        let literal = self.pattern.as_str().split(['*', '?', '[']).next().unwrap_or_default();
        literal.rsplit_once('/').map_or("", |(dir, _)| dir)
    }

    /// The only path it matches, when it has no wildcard.
    pub fn path(&self) -> Option<RelPath> {
        let text = self.pattern.as_str();
        (!text.contains(['*', '?', '['])).then(|| RelPath::parse(text).ok()).flatten()
    }
}

/// Loads the settings, each with its source.
pub fn load_config(env: &Env, repo: &Repo, flags: &OverlayFlags) -> Result<Config> {
    config::load(env, &repo.home, TOOL, SETTINGS, &flags.all(), false)
}

impl Settings {
    /// The settings that a configuration results in. Exit 2 for a glob or key that cannot be read, naming its source.
    pub fn from_config(config: &Config) -> Result<Settings> {
        let millis = |name| config.duration(name, Unit::Milliseconds);
        let items = |name| match config.value(name) {
            Some(value) => value.items.clone(),
            None => config.text(name).split(',').filter(|text| !text.is_empty()).map(str::to_owned).collect(),
        };
        let globs = |name| {
            let source = config.value(name).map_or_else(String::new, |value| format!(" ({})", value.source));
            items(name).iter().map(|text| glob(text, name, &source)).collect::<Result<Vec<Glob>>>()
        };
        let mut per_path = Vec::new();
        for row in config.rows() {
            let Some(said) = PER_PATH.iter().find_map(|setting| row.value(setting.name)) else { continue };
            row.value("local").map_or(Ok(()), |value| readable("local", value))?;
            per_path.push((glob(&row.name, "path", &format!(" ({})", said.source))?, row.clone()));
        }
        config.value("review").map_or(Ok(()), |value| readable("review", value))?;
        let (rule, holds) = match config.text("on_conflict") {
            "overlay" => (Rule::Overlay, false),
            word => (Rule::Workspace, word == "hold"),
        };
        Ok(Settings {
            enabled: config.truth("enabled"),
            debounce: millis("debounce_ms"),
            max_wait: millis("max_wait_ms"),
            rule,
            holds,
            merge_command: config.command("merge_command"),
            merge_timeout: millis("merge_timeout_ms"),
            paths: globs("paths")?,
            paths_max: config.number("paths_max_bytes"),
            paths_except: globs("paths_except")?,
            review: items("review"),
            per_path,
        })
    }

    /// Whether a file travels to another machine and back: as the last table says that does, else if it does not look
    /// private, by its name or by the mode that it has here, or the person has agreed to that.
    pub fn travels(&self, path: &RelPath, mode: Option<u32>, takes_private: bool) -> bool {
        // What is said of a directory holds below it.
        let is_meant = |(glob, _): &&(Glob, Row)| path.as_path().ancestors().any(|part| glob.matches(part));
        let said = self.per_path.iter().filter(is_meant).filter_map(|(_, row)| row.value("remote"));
        // A repository can keep its files here, but sends none away.
        let said = said.rev().find(|value| value.text != "true" || !is_strangers(value));
        let is_private = looks_private(path) || mode.is_some_and(|mode| mode & 0o077 == 0);
        said.map_or(takes_private || !is_private, |value| value.text == "true")
    }

    /// How this path is handled. Where several tables match and set the same thing, the last one counts. In a workspace
    /// of another machine (`is_far`) what starts programs waits, whatever is said of those here.
    pub fn policy(&self, path: &RelPath, is_far: bool) -> Policy {
        let kind = FileType::from_path(path.as_path());
        let mut policy = Policy { rule: self.rule, holds: self.holds, ..Policy::default() };
        let entry = |text: &String| EntryPath::parse(kind, text);
        let default: Vec<String> = DEFAULT_REVIEW.split(',').map(str::to_owned).collect();
        let review = if is_far && self.review.is_empty() { &default } else { &self.review };
        let mut is_reviewed = !review.is_empty();
        for (_, row) in self.per_path.iter().filter(|(glob, _)| glob.matches(path.as_path())) {
            let is = |name, word: &str| row.value(name).map(|value| value.text == word);
            policy.grow = is("policy", "grow").map_or(policy.grow, |all| if all { Grow::All } else { Grow::Deny });
            policy.is_down = is("direction", "down").unwrap_or(policy.is_down);
            policy.spreads_deletions = is("delete", "propagate").unwrap_or(policy.spreads_deletions);
            policy.is_sent = is("send", "true").unwrap_or(policy.is_sent);
            is_reviewed = is_far || is("review", "true").unwrap_or(is_reviewed);
            if let Some(local) = row.value("local") {
                // Without these an agent in a new worktree would be free of what restricts it.
                let is_free = |entry: &EntryPath| !execution_risk::restricts(&entry.to_string());
                let holds = is_strangers(local) && execution_risk::holds_settings(path.as_path());
                policy.local = local.items.iter().filter_map(entry).filter(|entry| !holds || is_free(entry)).collect();
            }
        }
        if is_reviewed {
            policy.review = review.iter().filter_map(entry).collect();
            policy.reviewed = Some(path.clone());
        }
        policy
    }
}

/// Whether the repository's file says that, which a stranger may have written.
fn is_strangers(value: &Value) -> bool {
    matches!(value.source, SettingSource::Repository(..))
}

/// Refuses entries that cannot be read: they would protect nothing.
fn readable(setting: &str, value: &Value) -> Result<()> {
    match value.items.iter().find(|text| EntryPath::parse(FileType::Json, text).is_none()) {
        None => Ok(()),
        Some(text) => Err(Failure::malformed(format!("`{setting}` cannot hold `{text}` ({})", value.source))
            .hint("write a key path such as \"env.PORT\", with quotes around a part that contains dots")),
    }
}

/// Reads a pattern of a setting; `source` follows the reason why it is refused.
fn glob(text: &str, setting: &str, source: &str) -> Result<Glob> {
    Glob::parse(text).map_err(|why| {
        Failure::malformed(format!("`{setting}` cannot be `{text}`: {why}{source}"))
            .hint("write a glob such as \".env*\", \"./.env\" or \".claude/*.json\"")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_as_in_gitignore() {
        let matches = |glob: &str, path: &str| Glob::parse(glob).unwrap().matches(Path::new(path));
        assert!(matches(".env*", ".env.local") && matches(".env*", "a/b/.env"));
        assert!(matches("./.env", ".env") && !matches("./.env", "a/.env"));
        assert!(matches(".claude/*.json", ".claude/a.json") && !matches(".claude/*.json", ".claude/b/a.json"));
        assert!(matches(".claude/**/*.json", ".claude/b/a.json"));
        for bad in ["", "/", "/etc/x", "../x", "a/../b", "a/", "[", "./"] {
            assert!(Glob::parse(bad).is_err(), "{bad}");
        }
        let dir = |glob: &str| Glob::parse(glob).unwrap().dir().to_owned();
        assert_eq!(
            (dir("a/b/*.x"), dir("*.x"), dir("a/b"), dir("a/b?/c")),
            ("a/b".into(), "".into(), "a".into(), "a".into())
        );
        assert_eq!(Glob::parse("./a/b").unwrap().path(), RelPath::parse("a/b").ok());
    }
}
