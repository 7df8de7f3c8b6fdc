//! Where an overlay of another machine is.

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::text::printable;

/// What ssh calls the machine, and where its overlay is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FarPlace {
    /// As ssh takes it.
    pub dest: String,
    /// A directory there: a worktree of a repository, whose overlay is meant.
    pub path: String,
    /// Whether files that look private travel, too.
    pub takes_private: bool,
}

impl FarPlace {
    /// Reads `DEST:PATH`, as scp has it.
    pub fn parse(text: &str) -> Result<FarPlace> {
        let parts = text.split_once(':').filter(|(dest, path)| {
            !dest.is_empty()
                && !dest.starts_with('-')
                && !path.is_empty()
                && !path.starts_with("//")
                && !text.chars().any(char::is_control)
        });
        let (dest, path) = parts.ok_or_else(|| {
            Failure::usage(format!("`{}` names no directory of another machine", printable(text)))
                .hint("write it as for scp, `big:workers/app`: what ssh calls the machine, and a worktree there")
        })?;
        // ssh begins in the home directory.
        let path = path.strip_prefix("~/").unwrap_or(path);
        Ok(FarPlace { dest: dest.to_owned(), path: path.to_owned(), takes_private: false })
    }

    /// Its name.
    pub fn name(&self) -> String {
        format!("{}:{}", self.dest, self.path)
    }
}
