//! The command line. Doc comments are the help text.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
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
    Init {
        /// The root to make [default: ~/workers, or ~/workers/NAME where that is another repository's root]
        #[arg(long, value_name = "DIR")]
        target: Option<PathBuf>,
        #[command(flatten)]
        dry: DryRun,
    },
    /// Make a worker: a branch, a worktree, a place in the state
    #[command(after_help = "Example:\n  worker-ctl add adam --role-prompt 'You write tests first.'")]
    Add {
        /// 1 to 32 lower-case letters, digits, `_` and `-`
        #[arg(allow_hyphen_values = true)]
        name: String,
        /// What it should know of itself
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        role_prompt: Option<String>,
        #[command(flatten)]
        dry: DryRun,
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
        #[command(flatten)]
        dry: DryRun,
    },
    /// Show all workers
    ///
    /// It takes no lock and writes nothing.
    #[command(
        after_help = "Example:\n  worker-ctl status --json | jq -r '.workers[] | select(.status==\"needs_review\").name'"
    )]
    Status {
        /// Go on showing them, until interrupted
        #[arg(long)]
        watch: bool,
    },
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
        /// Also when it has no task, a text may stand in its input line, or somebody types there
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        dry: DryRun,
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
        #[arg(short, long = "lines", value_name = "N", default_value_t = 0)]
        n: usize,
    },
    /// Wait until workers are at something: 124 when they are not in time, 1 when they cannot come to it
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
        /// Until one of them is, not all
        #[arg(long)]
        any: bool,
        /// Give up after this time: 90s, 30m, 2h
        #[arg(long, value_name = "TIME", default_value = "300s")]
        timeout: String,
    },
    /// Show what a worker did, and remember that it was shown
    #[command(after_help = "Example:\n  worker-ctl review adam")]
    Review {
        /// The worker [default: who has waited longest]
        worker: Option<String>,
        /// What shows it [default: difftastic where it is installed, else git]
        #[arg(long, value_name = "PROGRAM")]
        interface: Option<Interface>,
        #[command(flatten)]
        dry: DryRun,
    },
    /// Send the reviewed worker back with what should change
    #[command(after_help = "Example:\n  worker-ctl reject 'Please handle errors of the API call'")]
    Reject {
        /// What should change
        #[arg(allow_hyphen_values = true)]
        message: String,
        /// Also when a text may stand in its input line, or somebody types there
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        dry: DryRun,
    },
    /// Put a worker's work on the default branch of the source, as one commit
    #[command(after_help = "Example:\n  worker-ctl accept adam")]
    Accept {
        /// The worker [default: the one reviewed last]
        worker: Option<String>,
        /// Also when it changed since it was reviewed, conflict markers are left in its files, or somebody types there
        #[arg(long)]
        force: bool,
        /// The commit's message [default: the work's own]
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        message: Option<String>,
        #[command(flatten)]
        dry: DryRun,
    },
    /// Put a worker's commit onto what the default branch is by now; on a conflict the worker is told
    #[command(after_help = "Example:\n  worker-ctl rebase adam")]
    Rebase {
        /// The worker
        worker: String,
        /// Also when a text may stand in its input line, or somebody types there
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        dry: DryRun,
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
        #[command(flatten)]
        dry: DryRun,
    },
    /// Take a worker's task away: idle again, on the default branch
    #[command(after_help = "Example:\n  worker-ctl reset adam")]
    Reset {
        /// The worker
        worker: String,
        /// Also where work would be lost, which is kept under refs/shopfloor/trash/
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        dry: DryRun,
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
        #[command(flatten)]
        dry: DryRun,
    },
    /// Look once: who committed, whose program ended
    #[command(after_help = "Example:\n  worker-ctl patrol")]
    Patrol {
        #[command(flatten)]
        dry: DryRun,
    },
    /// Tell what happened to workers
    #[command(
        after_help = "Example:\n  worker-ctl events --follow --json | jq -r 'select(.to==\"needs_review\").worker'"
    )]
    Events {
        /// Tell what happens from now on, until interrupted
        #[arg(long)]
        follow: bool,
        /// Begin there: a time, `30m` ago, after the record with this `seq`, or `all`
        #[arg(long, value_name = "TIME|SEQ|all")]
        since: Option<String>,
    },
    /// For an agent's own hooks: says that a text has arrived. Exits 0 with an empty stdout whatever happens
    ///
    /// With it a send is known as delivered. Nothing calls it unless you put it into the agent's settings.
    #[command(
        after_help = "Example (Claude Code's settings.json):\n  \"UserPromptSubmit\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"worker-ctl hook claude\"}]}]"
    )]
    Hook {
        /// Whose hook it is
        #[arg(value_name = "AGENT")]
        of: HookAgent,
    },
    /// Show every setting with where it comes from
    #[command(after_help = "Example:\n  worker-ctl config --json")]
    Config,
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
    #[command(flatten)]
    pub dry: DryRun,
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
    /// Send the task it has once more, after a restart
    #[arg(long, value_name = "WORKER", conflicts_with_all = ["prompt", "prompt_file", "worker"])]
    pub resume: Option<String>,
    /// Also when a text may stand in its input line, or somebody types there
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub dry: DryRun,
}

/// Do it, or only show it.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct DryRun {
    /// Show what would be done and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

/// What shows a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Interface {
    Git,
    Difftastic,
    Vscode,
}

/// Programs whose hooks we understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HookAgent {
    Claude,
    Gemini,
}

impl Command {
    /// Whether it is only to show what would be done.
    pub fn is_dry(&self) -> bool {
        match self {
            Command::Up(UpArgs { dry, .. }) | Command::Start(StartArgs { dry, .. }) => dry.dry_run,
            Command::Init { dry, .. }
            | Command::Add { dry, .. }
            | Command::Down { dry, .. }
            | Command::Message { dry, .. }
            | Command::Rebase { dry, .. }
            | Command::Doctor { dry, .. }
            | Command::Reset { dry, .. }
            | Command::Nuke { dry, .. }
            | Command::Patrol { dry }
            | Command::Review { dry, .. }
            | Command::Reject { dry, .. }
            | Command::Accept { dry, .. } => dry.dry_run,
            Command::Status { .. }
            | Command::Attach { .. }
            | Command::Peek { .. }
            | Command::Wait { .. }
            | Command::Events { .. }
            | Command::Hook { .. }
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
