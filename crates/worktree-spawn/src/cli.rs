//! The command line. Doc comments are the help text.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use shopfloor_core::args::{CommandLine, Common, EXIT_CODES};

use crate::event::Status;
use crate::identity::Kind;

/// Isolated worktrees that know their parents, and messages that arrive
///
/// Gives each agent a git worktree on a branch of its own, or a seat in its parent's, with an identity that never
/// changes; and carries what it reports to its parent, whether that listens or not.
#[derive(Debug, Parser)]
#[command(
    name = "worktree-spawn",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = format!("Example:\n  cd \"$(worktree-spawn subtree 'Feature A' --task-file plan.md)\"\n  worktree-spawn run main.feature-a -- claude\n  worktree-spawn wait --type subtree_complete\n\n{EXIT_CODES}")
)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a worktree on a branch of its own for an agent, and print its path
    ///
    /// The branch is the spawner's birth-branch, a dot and the name's slug, and starts at the spawner's HEAD.
    /// git's post-checkout hooks run in it. Nothing that exists is ever overwritten.
    #[command(
        after_help = "Example:\n  worktree-spawn subtree 'Feature A' --task 'Write the parser' -- claude\n  jq -r '.[].name' plan.json | xargs -d '\\n' -P8 -n1 worktree-spawn subtree"
    )]
    Subtree(SubtreeArgs),
    /// Give an agent a seat in this worktree, and print its id
    #[command(after_help = "Example:\n  worktree-spawn worker rust-impl --agent gemini --task-file task.md")]
    Worker(WorkerArgs),
    /// Run an agent's command in its place, and tell its parent how it ended
    ///
    /// Exits as the command does; 75 when the agent runs already. The command finds SHOPFLOOR_AGENT_ID, _SESSION_ID, _PARENT,
    /// _ROLE and, where there is one, _TASK_FILE.
    #[command(after_help = "Example:\n  worktree-spawn run main.feature-a -- claude")]
    Run {
        /// The agent
        id: String,
        /// The command and its arguments
        #[arg(last = true, required = true, value_name = "CMD")]
        command: Vec<OsString>,
        #[command(flatten)]
        dry_run: DryRun,
    },
    /// Print an agent's environment, for `eval`
    #[command(after_help = "Example:\n  eval \"$(worktree-spawn env main.feature-a)\"")]
    Env {
        /// The agent
        id: String,
    },
    /// Print where an agent works
    #[command(after_help = "Example:\n  cd \"$(worktree-spawn path feature-a)\"")]
    Path {
        /// The agent
        id: String,
    },
    /// Print who calls: by `--as`, else the environment, else the worktree
    #[command(after_help = "Example:\n  worktree-spawn whoami --json | jq -r .session")]
    Whoami {
        #[command(flatten)]
        identity: Identity,
    },
    /// Tell the parent something; it is kept until the parent took it
    #[command(
        after_help = "Example:\n  worktree-spawn notify success 'All tests pass'\n  git log --oneline -3 | worktree-spawn notify info -"
    )]
    Notify(NotifyArgs),
    /// What agent programs call from their hooks, with JSON on stdin
    #[command(subcommand, after_help = "Example:\n  worktree-spawn hook worker-exit < hook.json")]
    Hook(HookCommand),
    /// Wait for events of one's session and print them as they come
    ///
    /// An event is gone once it is printed and taken; with --lease, once it is acknowledged.
    #[command(
        after_help = "Example:\n  worktree-spawn wait --type worker_complete --type worker_died --count 3 | jq -r 'select(.status==\"failure\").from.id'"
    )]
    Wait(WaitArgs),
    /// Acknowledge events that were delivered with a lease: 1 when one is not there
    #[command(
        after_help = "Example:\n  worktree-spawn wait --lease 5m | jq -r .uid | xargs -d '\\n' worktree-spawn ack"
    )]
    Ack {
        /// What `uid` says in the event
        #[arg(required = true, value_name = "UID")]
        uids: Vec<String>,
        #[command(flatten)]
        dry_run: DryRun,
        #[command(flatten)]
        session: Session,
    },
    /// Print events that nobody took yet, and leave them where they are
    #[command(after_help = "Example:\n  worktree-spawn events --all | jq -r '[.to, .type, .message] | @tsv'")]
    Events {
        #[command(flatten)]
        session: Session,
        /// Go on with what comes, until interrupted
        #[arg(long)]
        follow: bool,
        /// Of every session
        #[arg(long, conflicts_with_all = ["session", "follow"])]
        all: bool,
    },
    /// List the agents
    #[command(
        after_help = "Example:\n  worktree-spawn list --tree\n  worktree-spawn list -z | overlay-sync attach -z -"
    )]
    List(ListArgs),
    /// Take an agent's worktree or seat away, and its branch where everything on it is merged
    #[command(after_help = "Example:\n  worktree-spawn remove main.feature-a")]
    Remove(RemoveArgs),
    /// Remove agents that have ended and left nothing, and say why the others stay
    ///
    /// Nothing left: no change, no commit that is not in the parent's branch, nobody seated or nested in it, no event waiting.
    #[command(after_help = "Example:\n  worktree-spawn gc --dry-run")]
    Gc {
        #[command(flatten)]
        dry_run: DryRun,
    },
    /// Finish what killed commands began, find moved worktrees again, restore exclude lines
    #[command(after_help = "Example:\n  mv project project2 && cd project2 && worktree-spawn repair")]
    Repair {
        #[command(flatten)]
        dry_run: DryRun,
    },
    /// Serve an agent's tools over MCP on stdin and stdout
    #[command(after_help = "Example:\n  claude mcp add shopfloor -- worktree-spawn mcp --as main.feature-a")]
    Mcp {
        #[command(flatten)]
        identity: Identity,
    },
    /// Print the settings in force, each with its source
    #[command(after_help = "Example:\n  worktree-spawn config --json")]
    Config,
}

/// Do it, or only show it.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct DryRun {
    /// Show what would be done and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

/// Who calls.
#[derive(Args, Clone, Debug, Default)]
pub struct Identity {
    /// Speak as this agent
    #[arg(long = "as", value_name = "ID")]
    pub id: Option<String>,
}

/// Whose events.
#[derive(Args, Clone, Debug, Default)]
pub struct Session {
    /// The session [default: one's own]
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    #[command(flatten)]
    pub identity: Identity,
}

/// What an agent is to do.
#[derive(Args, Clone, Debug, Default)]
pub struct Task {
    /// What the agent is to do; kept in a file
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "task_file")]
    pub task: Option<String>,
    /// The same from a file, or from stdin (`-`)
    #[arg(long, value_name = "FILE")]
    pub task_file: Option<PathBuf>,
}

/// What to do about one that exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum IfExists {
    /// Refuse: 1
    #[default]
    Error,
    /// Give it back as it is
    Return,
}

#[derive(Args, Clone, Debug, Default)]
pub struct SubtreeArgs {
    /// What it is called; its slug names branch and directory
    pub name: String,
    #[command(flatten)]
    pub task: Task,
    /// The program that will work there [env: WORKTREE_SPAWN_AGENT] [default: claude]
    #[arg(long, value_name = "PROGRAM")]
    pub agent: Option<String>,
    /// Start at this commit instead of HEAD
    #[arg(long, value_name = "REF")]
    pub from: Option<String>,
    /// Make it below this directory [env: WORKTREE_SPAWN_WORKTREE_BASE] [default: .shopfloor/worktrees]
    #[arg(long, visible_alias = "worktree-base", value_name = "DIR")]
    pub base_dir: Option<PathBuf>,
    /// What the branch is named after where HEAD is detached
    #[arg(long, value_name = "NAME")]
    pub base_name: Option<String>,
    /// The role it is told it has [default: tl]
    #[arg(long)]
    pub role: Option<String>,
    /// What to do when it is there already
    #[arg(long, value_name = "WHAT", default_value = "error")]
    pub if_exists: IfExists,
    /// Number the name where it is taken
    #[arg(long)]
    pub unique: bool,
    /// Check out the branch of that name if it is there and free
    #[arg(long)]
    pub reuse_branch: bool,
    /// Refuse while this worktree has uncommitted changes, which the new one would not have
    #[arg(long)]
    pub require_clean: bool,
    /// Fetch and check out submodules too
    #[arg(long)]
    pub submodules: bool,
    /// Leave git's post-checkout hooks out
    #[arg(long)]
    pub no_git_hooks: bool,
    /// How deep subtrees may be nested; the root is 1 [env: WORKTREE_SPAWN_MAX_DEPTH] [default: 2]
    #[arg(long, value_name = "N")]
    pub max_depth: Option<String>,
    #[command(flatten)]
    pub launch: Launch,
    #[command(flatten)]
    pub identity: Identity,
    #[command(flatten)]
    pub dry_run: DryRun,
    /// Run this command there, as `run` does: its output is the answer, and its end ours
    #[arg(last = true, value_name = "CMD", conflicts_with_all = ["launch", "launcher"])]
    pub command: Vec<OsString>,
}

/// Whether and how the agent is started.
#[derive(Args, Clone, Debug, Default)]
pub struct Launch {
    /// Start the agent with the configured launcher
    #[arg(long)]
    pub launch: bool,
    /// Start the agent with this: tmux, zellij, none, or a command line with {id} {slug} {path} {cmd} [env: WORKTREE_SPAWN_LAUNCHER] [default: none]
    #[arg(long, value_name = "TEMPLATE")]
    pub launcher: Option<String>,
}

#[derive(Args, Clone, Debug, Default)]
pub struct WorkerArgs {
    /// What it is called; its slug names its settings
    pub name: String,
    #[command(flatten)]
    pub task: Task,
    /// The program that will work there [env: WORKTREE_SPAWN_AGENT] [default: claude]
    #[arg(long, value_name = "PROGRAM")]
    pub agent: Option<String>,
    #[command(flatten)]
    pub launch: Launch,
    #[command(flatten)]
    pub identity: Identity,
    #[command(flatten)]
    pub dry_run: DryRun,
}

#[derive(Args, Clone, Debug)]
pub struct NotifyArgs {
    /// How it went
    pub status: Status,
    /// What there is to say; `-`, or nothing, reads it from stdin
    #[arg(value_name = "MSG", allow_hyphen_values = true)]
    pub message: Option<String>,
    #[command(flatten)]
    pub identity: Identity,
    /// What kind of event [default: worker_complete or subtree_complete; agent_message for info]
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Say it once however often this is run with the same key
    #[arg(long, value_name = "KEY")]
    pub dedupe: Option<String>,
    #[command(flatten)]
    pub dry_run: DryRun,
}

#[derive(Debug, Subcommand)]
pub enum HookCommand {
    /// A turn or a session of an agent ended: Claude Code's Stop and SubagentStop, Gemini CLI's AfterAgent
    ///
    /// Always exits 0 and prints nothing.
    WorkerExit {
        #[command(flatten)]
        identity: Identity,
    },
    /// Claude Code's WorktreeCreate: makes a subtree and prints its path
    WorktreeCreate,
    /// Claude Code's WorktreeRemove: removes it where nothing is lost
    WorktreeRemove,
}

#[derive(Args, Clone, Debug, Default)]
pub struct WaitArgs {
    #[command(flatten)]
    pub session: Session,
    /// Only events of this type; may be repeated
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Vec<String>,
    /// Only events from this agent; may be repeated
    #[arg(long, value_name = "ID")]
    pub from: Vec<String>,
    /// Only events with a higher number
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub after: u64,
    /// End after so many
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub count: u64,
    /// Give up after this time, with 124: 90s, 30m, 2h
    #[arg(long, value_name = "TIME", default_value = "300s")]
    pub timeout: String,
    /// Deliver again what is not acknowledged by `ack` within this time
    #[arg(long, value_name = "TIME")]
    pub lease: Option<String>,
}

#[derive(Args, Clone, Debug, Default)]
pub struct ListArgs {
    /// Draw the tree of parents, with state, branch and waiting events
    #[arg(long)]
    pub tree: bool,
    /// Paths of worktrees, each ended by NUL
    #[arg(short, conflicts_with_all = ["tree", "json"])]
    pub z: bool,
    /// Only this agent and those below it
    #[arg(long, value_name = "ID")]
    pub under: Option<String>,
    /// Only agents of this kind
    #[arg(long)]
    pub kind: Option<KindArg>,
    /// Only agents whose command runs
    #[arg(long, conflicts_with = "dead")]
    pub live: bool,
    /// Only agents whose command has ended
    #[arg(long)]
    pub dead: bool,
    /// Also whether there are uncommitted changes; slower
    #[arg(long)]
    pub status: bool,
    /// Ask this command whether an agent lives that was not started by `run`: {id} {slug} {path} are filled in, 0 is yes, 1 no [env: WORKTREE_SPAWN_PROBE]
    #[arg(long, value_name = "CMD")]
    pub probe: Option<String>,
}

/// A kind of agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KindArg {
    Root,
    Subtree,
    Worker,
}

impl KindArg {
    pub fn kind(self) -> Kind {
        match self {
            KindArg::Root => Kind::Root,
            KindArg::Subtree => Kind::Subtree,
            KindArg::Worker => Kind::Worker,
        }
    }
}

#[derive(Args, Clone, Debug, Default)]
pub struct RemoveArgs {
    /// The agent
    pub id: String,
    /// Also the worktrees inside it, deepest first; all are checked before any is touched
    #[arg(long)]
    pub recursive: bool,
    /// Remove it with its changes, which are kept under `refs/shopfloor/trash/`
    #[arg(long)]
    pub force: bool,
    /// Refuse when the branch could not be deleted
    #[arg(long, conflicts_with = "keep_branch")]
    pub delete_branch: bool,
    /// Leave the branch
    #[arg(long)]
    pub keep_branch: bool,
    #[command(flatten)]
    pub dry_run: DryRun,
}

impl CommandLine for Cli {
    fn common(&self) -> &Common {
        &self.common
    }

    fn needs_no_directory(&self) -> bool {
        // An agent whose worktree was removed may have something left to say.
        let is_turn_end = |hook: &HookCommand| matches!(hook, HookCommand::WorkerExit { .. });
        match &self.command {
            Command::Notify(_) | Command::Mcp { .. } => true,
            Command::Hook(hook) => is_turn_end(hook),
            _ => false,
        }
    }

    fn must_not_fail(args: &[OsString]) -> bool {
        let hooks = ["worker-exit", "worktree-remove"];
        let mut words = args.iter().skip(1).take_while(|arg| *arg != "--");
        let mut plain = Vec::new();
        while let Some(word) = words.next() {
            match word.to_str() {
                // These take a value.
                Some("-C" | "--color" | "--as") => drop(words.next()),
                Some(flag) if flag.starts_with('-') => {}
                _ => plain.push(word),
            }
        }
        plain.first().is_some_and(|word| *word == "hook")
            && plain.get(1).is_some_and(|word| hooks.iter().any(|h| *word == h))
    }
}

/// The command line as a value, for man pages, completions and the reference.
pub fn command() -> clap::Command {
    Cli::command()
}
