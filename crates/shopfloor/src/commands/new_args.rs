//! The arguments of `new`.

use std::path::{Path, PathBuf};

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::slug::slug;
use shopfloor_core::text::{printable, shell_word};

use crate::commands::is_main_name;
use crate::facts::overview;
use crate::facts::repository::{self, Repository};
use crate::facts::run_tool::require_root;
use crate::plan::rows::{Row, rows};

/// Make a worktree for an agent, start the agent there, and give it its task
///
/// Prints the path of the worktree. Without a task, or with a command after `--`, no agent is started: `shopfloor start
/// NAME TASK` does that. If it was killed half way, the same command with the same task goes on. Exits with 1 if the name is
/// taken or the agent cannot get the task, and with 3 if nobody can be asked about what others wrote.
#[derive(clap::Args, Clone, Debug)]
#[command(
    after_help = "Example:\n  shopfloor new feature-a 'Write the parser'\n  shopfloor new feature-b -- make test\n  shopfloor new pr:12 'Make its tests pass'"
)]
pub struct Args {
    /// The name of the agent; or `pr:12`, `mr:12`, `issue:34` or the address of one, which your own `gh` or `glab` reads
    pub name: String,
    /// The task of the agent
    #[arg(value_name = "TASK", allow_hyphen_values = true, conflicts_with_all = ["task", "task_file"])]
    pub text: Option<String>,
    /// The task of the agent; `-` reads it from stdin
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = no_option, conflicts_with = "task_file")]
    pub task: Option<String>,
    /// A file with the task, or `-` for stdin
    #[arg(long, value_name = "FILE")]
    pub task_file: Option<PathBuf>,
    /// Start at this commit instead of HEAD
    #[arg(long, value_name = "REF")]
    pub from: Option<String>,
    /// Work on this branch: a new one, or one that exists here or at a remote
    #[arg(long, value_name = "BRANCH", conflicts_with_all = ["unique", "reuse_branch"])]
    pub branch: Option<String>,
    /// Make a worker in the root's clone instead of a worktree of this repository
    #[arg(
        long,
        conflicts_with_all = ["from", "branch", "if_exists", "unique", "reuse_branch", "submodules", "launch", "cmd"]
    )]
    pub clone: bool,
    /// Make a worker on this host of `worker-ctl host` instead; it is called `HOST:NAME`
    #[arg(
        long,
        conflicts_with_all = ["from", "branch", "if_exists", "unique", "reuse_branch", "submodules", "launch", "cmd"]
    )]
    pub host: Option<String>,
    /// What to do if the name is taken: fail, or print the path of what is there
    #[arg(long, value_name = "ACTION", value_parser = ["fail", "return"])]
    pub if_exists: Option<String>,
    /// Append a number if the name is taken
    #[arg(long)]
    pub unique: bool,
    /// Check out the branch that an earlier agent of this name left
    #[arg(long)]
    pub reuse_branch: bool,
    /// The agent program that will work there
    #[arg(long, value_name = "PROGRAM")]
    pub agent: Option<String>,
    /// Run it in a sandbox that holds its worktree and a private copy of the repository: its commits come out, and nothing
    /// else is reached
    #[arg(long, conflicts_with = "launch")]
    pub sandbox: bool,
    /// Let the program ask before it does something: the default, but in a sandbox
    #[arg(long, conflicts_with = "yolo")]
    pub ask: bool,
    /// Let the program ask nobody
    #[arg(long)]
    pub yolo: bool,
    /// Run the set-up commands also for a request from a fork, once you have seen what it changes, and for an issue
    #[arg(long)]
    pub setup: bool,
    /// Do not ask about what others wrote: an issue, or with --setup the changes of a fork
    #[arg(long)]
    pub yes: bool,
    /// The branch that the work lands on, the repository with the request, and whether others wrote what it begins with.
    #[arg(skip)]
    pub target: Option<String>,
    #[arg(skip)]
    pub request: Option<String>,
    #[arg(skip)]
    pub is_untrusted: bool,
    /// The id of the worktree that a person made, and that is on the branch already.
    #[arg(skip)]
    pub taken: Option<String>,
    /// Fill the submodules as well
    #[arg(long)]
    pub submodules: bool,
    /// Start the agent program in a window of the tmux or zellij that you are in, or with the configured launcher
    #[arg(long, conflicts_with = "cmd")]
    pub launch: bool,
    /// Run this command in the worktree; its output and exit code are the answer
    #[arg(last = true)]
    pub cmd: Vec<String>,
}

/// A task may begin with a dash; but one word that does is the next option, of which the text was forgotten.
fn no_option(text: &str) -> Result<String, &'static str> {
    match text.starts_with("--") && !text.contains(char::is_whitespace) {
        true => Err("a task is expected before the next option"),
        false => Ok(text.to_owned()),
    }
}

/// Exit 2 if a name means the main checkout, or the first agent could not make a root, and 1 if a worker has the name in a
/// worktree that `new` has not made.
pub fn require_free_name(env: &Env, repository: &Repository, args: &Args, has_agent: bool) -> Result<()> {
    if is_main_name(repository, &args.name)? {
        return Err(Failure::usage(format!("`{}` means the main checkout or its commit", printable(&args.name)))
            .hint("choose another name, such as `feature-a`"));
    }
    if args.clone || args.host.is_some() || args.unique || args.taken.is_some() {
        return Ok(());
    }
    let overview = overview::worktrees(&repository::near(env)?)?;
    if has_agent && overview.floor.is_none() && overview.unread.is_none() {
        require_root(env)?;
    }
    let (rows, own) = (rows(&overview), slug(&args.name));
    let is_its = |row: &&Row| row.kind != "subtree" && row.worker.is_some() && row.worker == own;
    let Some(other) = rows.iter().filter(is_its).find(|row| Path::new(&row.worktree).exists()) else {
        return Ok(());
    };
    let what = format!("{} already exists, as a worker in {}", printable(&other.name), printable(&other.worktree));
    let name = shell_word(other.name.as_ref());
    Err(Failure::new(Exit::No, "exists", what)
        .hint(format!("choose another name; `shopfloor start {name} TASK` gives that one a task")))
}
