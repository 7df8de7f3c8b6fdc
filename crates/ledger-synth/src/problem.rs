//! What is wrong with an event file.

use std::path::Path;

use serde::Serialize;

/// How wrong an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Level {
    /// It does not count.
    #[serde(rename = "error")]
    Malformed,
    /// Its time is more than a day ahead.
    #[serde(rename = "error")]
    Future,
    /// It probably means something else.
    #[serde(rename = "warning")]
    Doubtful,
}

/// One thing that is wrong with an event file.
#[derive(Clone, Debug, Serialize)]
pub struct Problem {
    pub path: String,
    line: usize,
    pub why: String,
    pub level: Level,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = if self.level == Level::Doubtful { "warning: " } else { "" };
        write!(f, "{}:{}: {word}{}", self.path, self.line, self.why)
    }
}

impl Problem {
    pub fn new(path: &Path, line: usize, why: String, level: Level) -> Problem {
        Problem { path: path.to_string_lossy().into_owned(), line, why, level }
    }
}
