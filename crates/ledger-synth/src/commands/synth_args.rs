//! The flags of the plain command, which a printed view has too.

use std::path::PathBuf;

use clap::ArgGroup;

use crate::plan::Filter;

/// What to synthesise, and what to do with it.
#[derive(clap::Args, Clone, Debug)]
#[command(
    group(ArgGroup::new("printed").args(["input", "output", "branch", "agent", "all_worktrees"]).multiple(true)),
    group(
        ArgGroup::new("writes")
            .args(["archive", "commit", "force", "adopt"])
            .multiple(true)
            .conflicts_with_all(["printed", "check"])
    ),
)]
pub struct Args {
    /// Do not ask for confirmation
    #[arg(long, visible_alias = "no-confirm")]
    pub yes: bool,
    /// Read these files instead of `events/`, and print the result unless --output is given
    #[arg(long, value_name = "GLOB")]
    pub input: Vec<String>,
    /// Fold all events into one snapshot and move them to `archive/`; `current.md` stays as it is
    #[arg(long)]
    pub archive: bool,
    /// Commit the ledger's files, and nothing else
    #[arg(long)]
    pub commit: bool,
    /// Check whether `current.md` matches its events, and write nothing: 0 if it does, 1 if not, 2 if events are
    /// malformed
    #[arg(long, conflicts_with = "printed")]
    pub check: bool,
    /// With --check: look at this commit, in git's objects
    #[arg(long, value_name = "REV")]
    pub tree: Option<String>,
    /// Fail (exit 2) on malformed events and events from the future, instead of warning of them
    #[arg(long)]
    pub strict: bool,
    /// Write the current time into `generated_at`
    #[arg(long)]
    pub stamp: bool,
    /// Write to this file instead of `current.md`; `-` prints
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Print the ledger of this branch's events only
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
    /// Print the ledger of this agent's events only
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// Print the ledger of the events of all worktrees together
    #[arg(long, conflicts_with = "input")]
    pub all_worktrees: bool,
    /// Replace a `current.md` that a person wrote
    #[arg(long, conflicts_with = "adopt")]
    pub force: bool,
    /// Turn a `current.md` that a person wrote into an event first
    #[arg(long)]
    pub adopt: bool,
}

impl Args {
    /// The first flag that is given.
    pub fn first_flag(&self) -> Option<&'static str> {
        let flags = [
            ("--yes", self.yes),
            ("--input", !self.input.is_empty()),
            ("--archive", self.archive),
            ("--commit", self.commit),
            ("--check", self.check),
            ("--tree", self.tree.is_some()),
            ("--strict", self.strict),
            ("--stamp", self.stamp),
            ("--output", self.output.is_some()),
            ("--branch", self.branch.is_some()),
            ("--agent", self.agent.is_some()),
            ("--all-worktrees", self.all_worktrees),
            ("--force", self.force),
            ("--adopt", self.adopt),
        ];
        flags.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
    }

    pub fn filter(&self) -> Filter {
        Filter { branch: self.branch.clone(), agent: self.agent.clone() }
    }

    /// Whether the answer is a view that is not the whole ledger in its own file.
    pub fn is_partial(&self) -> bool {
        !self.input.is_empty() || self.all_worktrees || !self.filter().is_all() || self.output.is_some()
    }
}
