//! The settings of this tool.

use std::path::{Path, PathBuf};

use jiff::SignedDuration;
use shopfloor_core::config::{self, Config, Kind, Setting, Source, Trust, Value};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::git::Repo;

use crate::TOOL;
use crate::cli::Place;

/// What may be set, in this order.
pub const SETTINGS: &[Setting] = &[
    Setting::new("root", "LEDGER_SYNTH_ROOT", Kind::Text, Trust::Approved).or("worktree"),
    Setting::new("retention", "LEDGER_SYNTH_RETENTION", Kind::Text, Trust::Open).or("7d"),
    Setting::new("min_interval", "LEDGER_SYNTH_MIN_INTERVAL", Kind::Text, Trust::Open).or("30m, for checkpoints"),
    Setting::new("session_window", "LEDGER_SYNTH_SESSION_WINDOW", Kind::Text, Trust::Open),
];

/// Where the ledger lies, below a work tree.
pub const DEFAULT_ROOT: &str = "thoughts/shared/handoffs";

/// A week, for how long archived events are kept.
const RETENTION: SignedDuration = SignedDuration::from_hours(7 * 24);

/// How often checkpoints are committed at most.
const MIN_INTERVAL: SignedDuration = SignedDuration::from_mins(30);

/// Which directory the ledger is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Where {
    /// The default one of the current worktree.
    Worktree,
    /// The default one of the main checkout.
    Main,
    /// This one.
    At(PathBuf),
}

/// What is in force.
#[derive(Debug)]
pub struct Settings {
    pub root: Where,
    /// None: archived events are never deleted.
    pub retention: Option<SignedDuration>,
    /// The throttle of every commit, where somebody set one; else that of checkpoints.
    pub min_interval: Option<SignedDuration>,
    pub session_window: Option<SignedDuration>,
    pub warnings: Vec<String>,
}

impl Settings {
    pub fn checkpoint_interval(&self) -> SignedDuration {
        self.min_interval.unwrap_or(MIN_INTERVAL)
    }
}

/// Reads all places a setting can stand in.
pub fn load_config(env: &Env, repo: &Repo, place: &Place) -> Result<Config> {
    let flags = [
        ("root", place.root.as_deref()),
        ("retention", place.retention.as_deref().map(Path::new)),
        ("min_interval", place.min_interval.as_deref().map(Path::new)),
        ("session_window", place.session_window.as_deref().map(Path::new)),
    ];
    config::load(env, &repo.home, TOOL, SETTINGS, &flags, false)
}

impl Settings {
    /// Reads and checks them.
    pub fn load(env: &Env, repo: &Repo, place: &Place) -> Result<Settings> {
        let config = load_config(env, repo, place)?;
        let root = match config.value("root") {
            None => Where::Worktree,
            Some(value) if value.text == "worktree" => Where::Worktree,
            Some(value) if value.text == "main" => Where::Main,
            Some(Value { text, .. }) if text.is_empty() => {
                return Err(Failure::usage("`root` is empty").hint("name a directory, `worktree` or `main`"));
            }
            Some(value) => {
                let path = config::expand_home(env, &value.text);
                // A flag is typed where one stands; anything else is meant for every place in the worktree.
                let base = match (&value.source, &repo.worktree) {
                    (Source::Flag, _) | (_, None) => env.cwd.clone(),
                    (_, Some(worktree)) => worktree.clone(),
                };
                Where::At(base.join(path))
            }
        };
        let time = |name: &str| {
            config.value(name).map(|value| (value, parse_time(&value.text))).map(checked(name)).transpose()
        };
        Ok(Settings {
            root,
            retention: time("retention")?.unwrap_or(Some(RETENTION)),
            // `never` has no throttle, as `0` has none.
            min_interval: time("min_interval")?.map(Option::unwrap_or_default),
            session_window: time("session_window")?.flatten(),
            warnings: config.said(),
        })
    }
}

type Time = Option<Option<SignedDuration>>;

fn checked(name: &str) -> impl Fn((&Value, Time)) -> Result<Option<SignedDuration>> {
    let name = name.to_owned();
    move |(value, time)| {
        time.ok_or_else(|| {
            Failure::malformed(format!("{name} must be a time, not `{}` ({})", value.text, value.source))
                .hint("write a number and a unit: 90s, 30m, 12h, 7d, 2w; `0` or `never`")
        })
    }
}

/// A length of time: `7d`, `30m`, `0`; `never` is none.
pub fn parse_time(text: &str) -> Time {
    if text == "never" {
        return Some(None);
    }
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let seconds = match unit {
        "" if text == "0" => 1,
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return None,
    };
    let number: i64 = text[..text.len() - unit.len()].parse().ok()?;
    // A thousand years are for ever, and no arithmetic with instants overflows.
    number.checked_mul(seconds).filter(|s| *s < 365 * 86_400 * 1_000).map(SignedDuration::from_secs).map(Some)
}

/// The same for a flag of one command.
pub fn flag_time(name: &str, text: &str) -> Result<SignedDuration> {
    parse_time(text).flatten().ok_or_else(|| {
        Failure::usage(format!("{name} must be a time, not `{text}`"))
            .hint("write a number and a unit: 90s, 30m, 12h, 7d, 2w")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_number_and_a_unit() {
        let hours = |text: &str| parse_time(text).flatten().map(|time| time.as_hours());
        assert_eq!(
            (hours("7d"), hours("2w"), hours("90m"), hours("0"), hours("0d")),
            (Some(168), Some(336), Some(1), Some(0), Some(0))
        );
        assert_eq!(parse_time("never"), Some(None));
        for bad in ["", "7", "d", "-1d", "1.5h", "7 d", "99999999999999999999d", "9223372036854775807w", "never ever"] {
            assert_eq!(parse_time(bad), None, "{bad}");
        }
    }
}
