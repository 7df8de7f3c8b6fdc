//! The settings of this tool, and the flags that set them.

use std::path::{Path, PathBuf};

use jiff::SignedDuration;
use shopfloor_core::args::{SettingFlags, SettingTable};
use shopfloor_core::config::{self, Config, REPOSITORY_FILE, Setting, SettingSource, SettingType, Trust, Users};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::Root;
use shopfloor_core::git::Repo;
use shopfloor_core::path::RelPath;
use shopfloor_core::time::{self, Unit};

use crate::tool::TOOL;

/// The settings, in the order of `config`.
pub const SETTINGS: &[Setting] = &[
    Setting::new("root", "LEDGER_SYNTH_ROOT", SettingType::Text, Trust::Approved).or("worktree").flag(
        "PLACE",
        "The directory of the ledger: `worktree` (thoughts/shared/handoffs in this worktree), \
`main` (the same in the main checkout) or a path",
        Users::Only(&[]),
    ),
    Setting::new("retention", "LEDGER_SYNTH_RETENTION", SettingType::DurationOrNever, Trust::Open).or("7d").flag(
        "TIME",
        "How long `prune` keeps archived events, such as 7d; `never` keeps all",
        Users::Only(&["prune", "config"]),
    ),
    Setting::new("min_interval", "LEDGER_SYNTH_MIN_INTERVAL", SettingType::DurationOrNever, Trust::Open)
        .or("30m, for checkpoints")
        .flag(
            "TIME",
            "The shortest time between two commits of the ledger by --commit, such as 30m",
            Users::Only(&["add", "config"]),
        ),
    Setting::new("session_window", "LEDGER_SYNTH_SESSION_WINDOW", SettingType::DurationOrNever, Trust::Open).flag(
        "TIME",
        "How far This Session reaches back from the newest event in what is printed, such as 1d, \
without which there is no limit; `current.md` goes by the repository's config.toml alone",
        Users::Only(&["add", "banner", "archive", "doctor", "hook", "config"]),
    ),
    Setting::new("tracked", "", SettingType::Choice(&Tracked::WORDS), Trust::Open).or("page"),
];

/// Where the ledger is, below a work tree.
pub const DEFAULT_ROOT: &str = "thoughts/shared/handoffs";

/// The table of the flags.
#[derive(Clone, Copy, Debug, Default)]
pub struct LedgerSettings;

impl SettingTable for LedgerSettings {
    const SETTINGS: &'static [&'static [Setting]] = &[SETTINGS];
    const HEADING: &'static str = "Ledger";
}

/// Which ledger, and how it is kept.
pub type LedgerArgs = SettingFlags<LedgerSettings>;

/// Which directory the ledger is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LedgerRoot {
    /// The default directory of the current worktree.
    Worktree,
    /// The default directory of the main checkout.
    Main,
    At(PathBuf),
}

/// The settings in force.
#[derive(Debug)]
pub struct Settings {
    pub root: LedgerRoot,
    /// None: archived events are never deleted.
    pub retention: Option<SignedDuration>,
    /// The shortest time between any two commits, if somebody set one.
    pub min_interval: Option<SignedDuration>,
    /// The shortest time between two commits that bring only checkpoints.
    pub checkpoint_interval: SignedDuration,
    /// What decides how a page looks that is only printed.
    pub printed: PageSettings,
    pub warnings: Vec<String>,
}

/// What decides how `current.md` looks, besides its events: settings of the tree that it is in, so that everyone who
/// has the tree gets the same page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSettings {
    /// How far back from the newest event This Session reaches. None: no limit.
    pub session_window: Option<SignedDuration>,
    pub tracked: Tracked,
}

/// What of the ledger is in git.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tracked {
    /// The events and `current.md`.
    #[default]
    Page,
    /// The events alone: git ignores `current.md`, so that hosts which know no merge drivers merge without conflicts.
    Events,
}

impl Tracked {
    /// The words of the setting.
    pub const WORDS: [&'static str; 2] = ["page", "events"];

    pub fn word(self) -> &'static str {
        match self {
            Tracked::Page => "page",
            Tracked::Events => "events",
        }
    }

    pub fn of(word: &str) -> Option<Tracked> {
        [Tracked::Page, Tracked::Events].into_iter().find(|tracked| tracked.word() == word)
    }
}

impl PageSettings {
    /// Merges three ways, setting by setting, as git merges the lines of the file.
    pub fn merged(self, base: &PageSettings, theirs: &PageSettings) -> PageSettings {
        let is_same_window = self.session_window == base.session_window;
        let window = if is_same_window { theirs.session_window } else { self.session_window };
        let tracked = if self.tracked == base.tracked { theirs.tracked } else { self.tracked };
        PageSettings { session_window: window, tracked }
    }
}

/// Reads a setting from every place that can set it.
pub fn load_config(env: &Env, repo: &Repo, args: &LedgerArgs) -> Result<Config> {
    let mut config = config::load(env, &repo.home, TOOL, SETTINGS, &args.all(), false)?;
    if let Some(worktree) = &repo.worktree {
        let path = worktree.join(REPOSITORY_FILE);
        let rel = RelPath::parse(REPOSITORY_FILE).map_err(|why| Failure::failed(why.to_string()))?;
        let bytes = Root::open(worktree)?.read(&rel)?;
        config.follow(&config::load_alone(&path, bytes, TOOL, SETTINGS)?, &OF_PAGE);
    }
    Ok(config)
}

/// The settings that belong to the tree of a page.
const OF_PAGE: [&str; 2] = ["session_window", "tracked"];

impl Settings {
    /// Reads and checks the settings.
    pub fn load(env: &Env, repo: &Repo, args: &LedgerArgs) -> Result<Settings> {
        let config = load_config(env, repo, args)?;
        let min_interval = time(&config, "min_interval");
        Ok(Settings {
            root: root(env, repo, &config)?,
            retention: time(&config, "retention").unwrap_or_else(|| default_time(&config, "retention")),
            checkpoint_interval: min_interval
                .unwrap_or_else(|| default_time(&config, "min_interval"))
                .unwrap_or_default(),
            // `never` sets no throttle, like `0`.
            min_interval: min_interval.map(Option::unwrap_or_default),
            printed: page(&config),
            warnings: config.all_warnings(),
        })
    }
}

fn root(env: &Env, repo: &Repo, config: &Config) -> Result<LedgerRoot> {
    match config.text("root") {
        "worktree" => Ok(LedgerRoot::Worktree),
        "main" => Ok(LedgerRoot::Main),
        "" => Err(Failure::usage("`root` is empty").hint("name a directory, `worktree` or `main`")),
        text => {
            // A flag is relative to the current directory; other values apply everywhere in the worktree.
            let base = match (config.value("root").map(|value| &value.source), &repo.worktree) {
                (Some(SettingSource::Flag), _) | (_, None) => &env.cwd,
                (_, Some(worktree)) => worktree,
            };
            Ok(LedgerRoot::At(base.join(config::expand_home(env, text))))
        }
    }
}

/// The settings of `current.md` in the tree whose `.shopfloor/config.toml` has these bytes. `path` is for messages.
pub fn page_of_tree(path: &Path, bytes: Option<Vec<u8>>) -> Result<PageSettings> {
    Ok(page(&config::load_alone(path, bytes, TOOL, SETTINGS)?))
}

/// The settings of a page.
fn page(config: &Config) -> PageSettings {
    let tracked = config.value("tracked").and_then(|value| Tracked::of(&value.text)).unwrap_or_default();
    PageSettings { session_window: time(config, "session_window").flatten(), tracked }
}

/// A setting that is a time. The outer `None`: nobody set it. The inner `None`: `never`.
fn time(config: &Config, name: &str) -> Option<Option<SignedDuration>> {
    config.value(name).map(|value| parse_time(&value.text))
}

/// The time in a setting's default, which may have a remark after a comma.
fn default_time(config: &Config, name: &str) -> Option<SignedDuration> {
    parse_time(config.default_of(name)?.split(',').next()?)
}

/// The length of a time that [`config::load`] has checked: `7d`, `30m`, `0`. None: `never`, which is as good as more than
/// a clock can count.
fn parse_time(text: &str) -> Option<SignedDuration> {
    SignedDuration::try_from(time::parse_duration(text, Unit::Seconds)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_number_and_a_unit() {
        let hours = |text: &str| parse_time(text).map(|time| time.as_hours());
        assert_eq!(
            (hours("7d"), hours("2w"), hours("1.5h"), hours("0"), hours("3600")),
            (Some(168), Some(336), Some(1), Some(0), Some(1))
        );
        for none in ["", "d", "-1d", "7 d", "99999999999999999999d", "9223372036854775807w", "never"] {
            assert_eq!(parse_time(none), None, "{none}");
        }
    }
}
