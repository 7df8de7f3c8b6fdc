//! The command line. Doc comments are the help text.

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand};
use shopfloor_core::args::{CommandLine, Common, EXIT_CODES};

/// Run coding agents in tmux, one per git worktree, from task to reviewed commit
///
/// A person gives a worker a task, goes away, comes back to a commit to review, and accepts or rejects it. Only what can be
/// observed counts: commits, exit codes, and what a person says.
#[derive(Debug, Parser)]
#[command(
    name = "worker-ctl",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = format!("Example:\n  worker-ctl init --source ~/src/app && cd ~/workers\n  worker-ctl add adam && worker-ctl up --detach\n  worker-ctl start --worker adam --prompt 'Write the parser'\n  worker-ctl wait adam --for needs_review && worker-ctl review adam && worker-ctl accept adam\n\n{EXIT_CODES}")
)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    /// The root [env: WORKER_CTL_ROOT] [default: above the current directory, or ~/workers]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Common options")]
    pub root: Option<PathBuf>,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a root for a repository: a clone without a checkout, a configuration, a state
    #[command(after_help = "Example:\n  worker-ctl init --source ~/src/app --target ~/workers")]
    Init {
        /// The repository work goes to
        #[arg(long, value_name = "REPOSITORY")]
        source: Option<PathBuf>,
        /// The root to make [default: ~/workers]
        #[arg(long, value_name = "DIR")]
        target: Option<PathBuf>,
        /// The branch work goes to [default: the source's default branch]
        #[arg(long)]
        branch: Option<String>,
    },
    /// Make a worker: a branch, a worktree, a place in the state
    #[command(after_help = "Example:\n  worker-ctl add adam --role-prompt 'You write tests first.'")]
    Add {
        /// 1 to 32 lower-case letters, digits, `_` and `-`
        #[arg(allow_hyphen_values = true)]
        name: String,
        /// The program, by its table in config.toml
        #[arg(long)]
        agent: Option<String>,
        /// The model it uses
        #[arg(long)]
        model: Option<String>,
        /// What it should know of itself
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        role_prompt: Option<String>,
    },
    /// Keep all sessions up and look after them, until interrupted; with names, start those sessions and end
    #[command(after_help = "Example:\n  worker-ctl up --detach\n  worker-ctl up adam")]
    Up(UpArgs),
    /// End all sessions; tasks stay as they are
    #[command(after_help = "Example:\n  worker-ctl down")]
    Down {
        /// Do not wait for programs to end by themselves
        #[arg(long)]
        force: bool,
    },
    /// Show all workers
    #[command(
        after_help = "Example:\n  worker-ctl status --json | jq -r '.workers[] | select(.status==\"needs_review\").name'"
    )]
    Status,
    /// Give a task to an idle worker
    #[command(after_help = "Example:\n  worker-ctl start --worker adam --prompt-file task.md")]
    Start(StartArgs),
    /// Tell a worker something
    #[command(after_help = "Example:\n  worker-ctl message adam 'Use the helper in auth.rs'")]
    Message {
        /// The worker
        worker: String,
        /// What there is to say; `-` reads it from stdin
        #[arg(allow_hyphen_values = true)]
        message: String,
        /// Also when it has no task
        #[arg(long)]
        force: bool,
    },
    /// Sit down at a worker's terminal
    #[command(after_help = "Example:\n  worker-ctl attach adam")]
    Attach {
        /// The worker
        worker: String,
    },
    /// Print what a worker's terminal shows
    #[command(after_help = "Example:\n  worker-ctl peek adam -n 50")]
    Peek {
        /// The worker
        worker: String,
        /// So many lines above the screen too
        #[arg(short, default_value_t = 0)]
        n: usize,
    },
    /// Wait until workers are at something: 124 when they are not in time
    #[command(
        after_help = "Example:\n  worker-ctl wait adam --for needs_review --timeout 30m && worker-ctl review adam"
    )]
    Wait {
        /// The workers
        #[arg(required = true)]
        workers: Vec<String>,
        /// idle, working, needs_review, rejected, rebasing, error or offline
        #[arg(long = "for", value_name = "STATE")]
        state: String,
        /// Give up after this time: 90s, 30m, 2h
        #[arg(long, value_name = "TIME", default_value = "300s")]
        timeout: String,
    },
    /// Put a worker's commit onto what the default branch is by now; on a conflict the worker is told
    #[command(after_help = "Example:\n  worker-ctl rebase adam")]
    Rebase {
        /// The worker
        worker: String,
    },
    /// Tell what is wrong, and what mends it: 0 nothing, 1 something
    #[command(after_help = "Example:\n  worker-ctl doctor --json | jq -r 'select(.ok | not).fix'")]
    Doctor {
        /// Mend what can be mended without losing anything
        #[arg(long)]
        repair: bool,
        /// Write the state anew from the worktrees
        #[arg(long, conflicts_with = "repair")]
        rebuild: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Take a worker's task away: idle again, on the default branch
    #[command(after_help = "Example:\n  worker-ctl reset adam")]
    Reset {
        /// The worker
        worker: String,
        /// Also where work would be lost, which is kept under refs/shopfloor/trash/
        #[arg(long)]
        force: bool,
    },
    /// Remove a worker: session, worktree, branch
    #[command(after_help = "Example:\n  worker-ctl nuke adam --yes")]
    Nuke {
        /// The worker
        worker: Option<String>,
        /// All of them
        #[arg(long)]
        all: bool,
        /// Also where work would be lost, which is kept under refs/shopfloor/trash/
        #[arg(long)]
        force: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Look once: who committed, whose program ended
    #[command(after_help = "Example:\n  worker-ctl patrol")]
    Patrol,
    /// Show what a worker did, and remember that it was shown
    #[command(after_help = "Example:\n  worker-ctl review adam")]
    Review {
        /// The worker [default: who has waited longest]
        worker: Option<String>,
    },
    /// Send the reviewed worker back with what should change
    #[command(after_help = "Example:\n  worker-ctl reject 'Please handle errors of the API call'")]
    Reject {
        /// What should change
        #[arg(allow_hyphen_values = true)]
        message: String,
    },
    /// Put a worker's work on the default branch of the source, as one commit
    #[command(after_help = "Example:\n  worker-ctl accept adam")]
    Accept {
        /// The worker [default: the one reviewed last]
        worker: Option<String>,
        /// Also when it changed since it was reviewed
        #[arg(long)]
        force: bool,
        /// The commit's message [default: the work's own]
        #[arg(long, value_name = "TEXT")]
        message: Option<String>,
    },
}

#[derive(Args, Clone, Debug, Default)]
pub struct UpArgs {
    /// The workers
    pub names: Vec<String>,
    /// Do not look who committed or ended
    #[arg(long)]
    pub no_patrol: bool,
    /// In the background
    #[arg(long, conflicts_with = "names")]
    pub detach: bool,
}

#[derive(Args, Clone, Debug, Default)]
pub struct StartArgs {
    /// What is to be done
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "prompt_file")]
    pub prompt: Option<String>,
    /// The same from a file, or from stdin (`-`)
    #[arg(long, value_name = "FILE")]
    pub prompt_file: Option<PathBuf>,
    /// The worker [default: the one that has been idle longest]
    #[arg(long)]
    pub worker: Option<String>,
}

impl CommandLine for Cli {
    fn common(&self) -> &Common {
        &self.common
    }
}

/// The command line as a value, for man pages, completions and the reference.
pub fn command() -> clap::Command {
    Cli::command()
}
