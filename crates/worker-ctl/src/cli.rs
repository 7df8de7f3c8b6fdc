//! The command line. Doc comments are the help text.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory, Parser, Subcommand};
use shopfloor_core::args::{CommandLine, Common, EXIT_CODES};

use crate::commands::{
    accept, add, attach, doctor, down, events, hook, init, message, nuke, patrol, peek, rebase, reject, reset, review,
    start, status, up, wait,
};

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
    /// The root [env: WORKER_CTL_ROOT] [default: above the current directory, else the one recorded in this repository; outside of any repository ~/workers]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Common options")]
    pub root: Option<PathBuf>,
    #[command(flatten)]
    pub settings: SettingFlags,
    #[command(subcommand)]
    pub command: Command,
}

/// Every setting of `config.toml`, for one command. Each has a variable too: WORKER_CTL_PATROL_INTERVAL_SECS.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Settings")]
pub struct SettingFlags {
    /// The program, by its table in config.toml
    #[arg(long, global = true, hide_short_help = true, value_name = "NAME")]
    pub agent: Option<PathBuf>,
    /// The model it uses
    #[arg(long, global = true, hide_short_help = true, value_name = "NAME")]
    pub model: Option<PathBuf>,
    /// Start it with --dangerously-skip-permissions where its command says so
    #[arg(long, global = true, hide_short_help = true, value_name = "TRUTH")]
    pub skip_permissions: Option<PathBuf>,
    /// The tools it may use, separated by commas
    #[arg(long, global = true, hide_short_help = true, value_name = "TOOLS")]
    pub allowed_tools: Option<PathBuf>,
    /// Seconds between two looks of `up` at everything
    #[arg(long, global = true, hide_short_help = true, value_name = "SECONDS")]
    pub patrol_interval_secs: Option<PathBuf>,
    /// Ring the bell when a commit waits for review
    #[arg(long, global = true, hide_short_help = true, value_name = "TRUTH")]
    pub sound_on_review: Option<PathBuf>,
    /// What a worker's branch begins with
    #[arg(long, global = true, hide_short_help = true, value_name = "PREFIX")]
    pub branch_prefix: Option<PathBuf>,
    /// A command to run at every event
    #[arg(long, global = true, hide_short_help = true, value_name = "COMMAND")]
    pub on_event: Option<PathBuf>,
    /// A command to run before `attach`, in the worktree
    #[arg(long, global = true, hide_short_help = true, value_name = "COMMAND")]
    pub before_attach: Option<PathBuf>,
    /// The same afterwards
    #[arg(long, global = true, hide_short_help = true, value_name = "COMMAND")]
    pub after_attach: Option<PathBuf>,
    /// The repository work goes to
    #[arg(long, global = true, hide_short_help = true, value_name = "REPOSITORY")]
    pub source: Option<PathBuf>,
    /// The branch of it
    #[arg(long, global = true, hide_short_help = true, value_name = "BRANCH")]
    pub branch: Option<PathBuf>,
    /// What workers are to run before they commit
    #[arg(long, global = true, hide_short_help = true, value_name = "COMMAND")]
    pub validate: Option<PathBuf>,
}

impl SettingFlags {
    /// Each with the name of its setting.
    pub fn all(&self) -> [(&'static str, Option<&Path>); 13] {
        [
            ("agent", self.agent.as_deref()),
            ("model", self.model.as_deref()),
            ("skip_permissions", self.skip_permissions.as_deref()),
            ("allowed_tools", self.allowed_tools.as_deref()),
            ("patrol_interval_secs", self.patrol_interval_secs.as_deref()),
            ("sound_on_review", self.sound_on_review.as_deref()),
            ("branch_prefix", self.branch_prefix.as_deref()),
            ("on_event", self.on_event.as_deref()),
            ("before_attach", self.before_attach.as_deref()),
            ("after_attach", self.after_attach.as_deref()),
            ("source", self.source.as_deref()),
            ("branch", self.branch.as_deref()),
            ("validate", self.validate.as_deref()),
        ]
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a root for a repository: a clone without a checkout, a configuration, a state
    ///
    /// The repository is `--source` [default: the current one], the branch work goes to `--branch` [default: its default
    /// branch, never what happens to be checked out].
    #[command(after_help = "Example:\n  worker-ctl init --source ~/src/app --target ~/workers")]
    Init(init::Args),
    /// Make a worker: a branch, a worktree, a place in the state
    #[command(after_help = "Example:\n  worker-ctl add adam --role-prompt 'You write tests first.'")]
    Add(add::Args),
    /// Keep all sessions up and look after them, until interrupted; with names, start those sessions and end
    #[command(after_help = "Example:\n  worker-ctl up --detach\n  worker-ctl up adam")]
    Up(up::Args),
    /// End all sessions; tasks stay as they are
    #[command(after_help = "Example:\n  worker-ctl down")]
    Down(down::Args),
    /// Show all workers
    ///
    /// It takes no lock and writes nothing.
    #[command(
        after_help = "Example:\n  worker-ctl status --json | jq -r '.workers[] | select(.status==\"needs_review\").name'"
    )]
    Status(status::Args),
    /// Give a task to an idle worker
    #[command(after_help = "Example:\n  worker-ctl start --worker adam --prompt-file task.md")]
    Start(start::Args),
    /// Tell a worker something
    #[command(after_help = "Example:\n  worker-ctl message adam 'Use the helper in auth.rs'")]
    Message(message::Args),
    /// Sit down at a worker's terminal
    #[command(after_help = "Example:\n  worker-ctl attach adam")]
    Attach(attach::Args),
    /// Print what a worker's terminal shows
    #[command(after_help = "Example:\n  worker-ctl peek adam -n 50")]
    Peek(peek::Args),
    /// Wait until workers are at something: 124 when they are not in time, 1 when they cannot come to it
    #[command(
        after_help = "Example:\n  worker-ctl wait adam --for needs_review --timeout 30m && worker-ctl review adam"
    )]
    Wait(wait::Args),
    /// Show what a worker did, and remember that it was shown
    #[command(after_help = "Example:\n  worker-ctl review adam")]
    Review(review::Args),
    /// Send the reviewed worker back with what should change
    #[command(after_help = "Example:\n  worker-ctl reject 'Please handle errors of the API call'")]
    Reject(reject::Args),
    /// Put a worker's work on the default branch of the source, as one commit
    #[command(after_help = "Example:\n  worker-ctl accept adam")]
    Accept(accept::Args),
    /// Put a worker's commit onto what the default branch is by now; on a conflict the worker is told
    #[command(after_help = "Example:\n  worker-ctl rebase adam")]
    Rebase(rebase::Args),
    /// Tell what is wrong, and what mends it: 0 nothing, 1 something
    #[command(after_help = "Example:\n  worker-ctl doctor --json | jq -r 'select(.ok | not).fix'")]
    Doctor(doctor::Args),
    /// Take a worker's task away: idle again, on the default branch
    #[command(after_help = "Example:\n  worker-ctl reset adam")]
    Reset(reset::Args),
    /// Remove a worker: session, worktree, branch
    #[command(after_help = "Example:\n  worker-ctl nuke adam --yes")]
    Nuke(nuke::Args),
    /// Look once: who committed, whose program ended
    #[command(after_help = "Example:\n  worker-ctl patrol")]
    Patrol(patrol::Args),
    /// Tell what happened to workers
    #[command(
        after_help = "Example:\n  worker-ctl events --follow --json | jq -r 'select(.to==\"needs_review\").worker'"
    )]
    Events(events::Args),
    /// For an agent's own hooks: says that a text has arrived. Exits 0 with an empty stdout whatever happens
    ///
    /// With it a send is known as delivered. Nothing calls it unless you put it into the agent's settings.
    #[command(
        after_help = "Example (Claude Code's settings.json):\n  \"UserPromptSubmit\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"worker-ctl hook claude\"}]}]"
    )]
    Hook(hook::Args),
    /// Show every setting with where it comes from
    #[command(after_help = "Example:\n  worker-ctl config --json")]
    Config,
}

impl Command {
    /// Whether to show only what would be done.
    pub fn is_dry(&self) -> bool {
        match self {
            Command::Init(args) => args.dry.dry_run,
            Command::Add(args) => args.dry.dry_run,
            Command::Up(args) => args.dry.dry_run,
            Command::Down(args) => args.dry.dry_run,
            Command::Start(args) => args.dry.dry_run,
            Command::Message(args) => args.dry.dry_run,
            Command::Rebase(args) => args.dry.dry_run,
            Command::Doctor(args) => args.dry.dry_run,
            Command::Reset(args) => args.dry.dry_run,
            Command::Nuke(args) => args.dry.dry_run,
            Command::Patrol(args) => args.dry.dry_run,
            Command::Review(args) => args.dry.dry_run,
            Command::Reject(args) => args.dry.dry_run,
            Command::Accept(args) => args.dry.dry_run,
            Command::Status(_)
            | Command::Attach(_)
            | Command::Peek(_)
            | Command::Wait(_)
            | Command::Events(_)
            | Command::Hook(_)
            | Command::Config => false,
        }
    }
}

impl CommandLine for Cli {
    fn common(&self) -> &Common {
        &self.common
    }

    // What agents call must not stop them.
    fn must_not_fail(args: &[OsString]) -> bool {
        args.iter().skip(1).find(|arg| !arg.as_encoded_bytes().starts_with(b"-")).is_some_and(|arg| arg == "hook")
    }
}

/// The command line as a value, for man pages, completions and the reference.
pub fn command() -> clap::Command {
    Cli::command()
}
