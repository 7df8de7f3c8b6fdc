//! The command line. Doc comments are the help text.

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use shopfloor_core::args::{CommandLine, Common, EXIT_CODES};
use shopfloor_core::hook_command::HookCommand;

/// Merge the events of parallel agents into one deterministic ledger
///
/// Each agent leaves small files in `events/`; this reads all of them and writes `current.md`: the same
/// bytes for everyone who has the same events. Without a subcommand it does that once.
#[derive(Debug, Parser)]
#[command(
    name = "ledger-synth",
    version,
    max_term_width = 100,
    after_help = format!("Example:\n  ledger-synth add --now 'Review the parser' --done 'Wrote the parser' --decision lexer='by hand'\n  ledger-synth --no-confirm --commit\n  ledger-synth --check\n\n{EXIT_CODES}")
)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub synth: SynthArgs,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Which ledger, and how it is kept.
#[derive(Args, Clone, Debug, Default)]
pub struct Place {
    /// The ledger's directory: `worktree` (thoughts/shared/handoffs in this one), `main` (in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]
    #[arg(long, value_name = "PLACE", global = true, help_heading = "Ledger")]
    pub root: Option<PathBuf>,
    /// How long `prune` keeps archived events, such as 7d, or never to delete none [env: LEDGER_SYNTH_RETENTION] [default: 7d]
    #[arg(long, value_name = "TIME", global = true, help_heading = "Ledger")]
    pub retention: Option<String>,
    /// Leave things said in earlier sessions out: how far This Session reaches back from the newest event [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]
    #[arg(long, value_name = "TIME", global = true, help_heading = "Ledger")]
    pub session_window: Option<String>,
    /// With --commit: how long after the ledger's last commit the next one may come [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]
    #[arg(long, value_name = "TIME", global = true, help_heading = "Ledger")]
    pub min_interval: Option<String>,
    /// Show what would be done and change nothing
    #[arg(short = 'n', long, global = true)]
    pub dry_run: bool,
}

/// What to synthesise, and what to do with it.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct SynthArgs {
    /// Never ask; for scripts and hooks
    #[arg(long)]
    pub no_confirm: bool,
    /// Read these files instead of `events/`; printed unless --output is given
    #[arg(long, value_name = "GLOB")]
    pub input: Vec<String>,
    /// Fold all events into one snapshot and move them to `archive/`; `current.md` stays as it is
    #[arg(long)]
    pub archive: bool,
    /// Commit the ledger's files, and nothing else
    #[arg(long)]
    pub commit: bool,
    /// Write nothing: 0 when `current.md` is what the events come to, 1 when not, 2 when events are malformed
    #[arg(long)]
    pub check: bool,
    /// With --check: of this commit, read from git's objects
    #[arg(long, value_name = "REV")]
    pub tree: Option<String>,
    /// Malformed events and such from the future are an error (exit 2), not a warning
    #[arg(long)]
    pub strict: bool,
    /// Put the wall clock into `generated_at`
    #[arg(long)]
    pub stamp: bool,
    /// Write to this file instead of `current.md`; `-` prints
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Only events of this branch; printed
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
    /// Only events of this agent; printed
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// The events of all worktrees together; printed
    #[arg(long)]
    pub all_worktrees: bool,
    /// Replace a `current.md` that a person wrote
    #[arg(long, conflicts_with = "adopt")]
    pub force: bool,
    /// Turn a `current.md` that a person wrote into an event first
    #[arg(long)]
    pub adopt: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write an event and print its path
    ///
    /// With no section given its body is read from stdin. Values may begin with a dash.
    #[command(
        after_help = "Example:\n  ledger-synth add --now 'Review' --done 'Wrote the parser' --done '- handled dashes' --decision lexer='by hand' --checkpoint 5:validated\n  printf 'now: Review\\nthis_session:\\n- Wrote the parser\\n' | ledger-synth add --agent toast --synth"
    )]
    Add(AddArgs),
    /// Synthesise, then print what a session needs to know at its start
    #[command(after_help = "Example:\n  ledger-synth banner --max-bytes 2000")]
    Banner(BannerArgs),
    /// Fold events into one snapshot and move them to `archive/`; `current.md` stays as it is
    #[command(after_help = "Example:\n  ledger-synth archive --older-than 7d && ledger-synth --no-confirm --commit")]
    Archive {
        /// Only events older than this, such as 7d
        #[arg(long, value_name = "TIME")]
        older_than: Option<String>,
    },
    /// Delete archived events that a snapshot covers and that are older than --retention
    ///
    /// Age is that of the event. Prune on one branch only: a file that one branch deletes and another one
    /// moves is a conflict to git.
    #[command(after_help = "Example:\n  ledger-synth prune --retention 30d")]
    Prune,
    /// Tell who said something, when, and what it replaced, newest first: 1 when nobody did
    #[command(
        after_help = "Example:\n  ledger-synth explain lexer\n  ledger-synth explain now --json | jq -r 'select(.beaten).value'"
    )]
    Explain {
        /// A section (`now`), a key (`lexer`, `decisions.lexer`), or the text of an item
        key: String,
    },
    /// List what agents disagreed on, and what counts
    #[command(after_help = "Example:\n  ledger-synth conflicts --json | jq -r 'select(.beaten | not).key'")]
    Conflicts,
    /// Disown one event, by writing another that says so: 1 when it is folded into a snapshot already
    #[command(after_help = "Example:\n  ledger-synth retract 3f2a9c01")]
    Retract {
        /// The event's id, its beginning (four characters or more), or its file
        event: String,
        /// Who says so [env: LEDGER_SYNTH_AGENT] [default: the worktree's name]
        #[arg(long)]
        agent: Option<String>,
    },
    /// Check event files: 0 all well-formed, 2 not
    #[command(after_help = "Example:\n  ledger-synth lint thoughts/shared/handoffs/events/*.md")]
    Lint {
        /// Event files; by default all of the ledger
        files: Vec<PathBuf>,
    },
    /// Turn handoff files of other shapes into events, which are left where they are
    #[command(after_help = "Example:\n  ledger-synth migrate thoughts/shared/handoffs/*/*.md")]
    Migrate(MigrateArgs),
    /// What git calls to merge `current.md`: both sides' events come to one file
    #[command(
        after_help = "Example:\n  git config merge.ledger-synth.driver 'ledger-synth merge-driver %O %A %B --path %P --label %Y'     # as `install` does"
    )]
    MergeDriver(MergeDriverArgs),
    /// Set up git in this repository: merge driver, attributes, hooks
    #[command(after_help = "Example:\n  ledger-synth install --claude")]
    Install {
        /// Also Claude Code: hooks in .claude/settings.json and the skill `synthesize-ledgers`
        #[arg(long)]
        claude: bool,
    },
    /// Tell what is missing or wrong, and what mends it: 0 nothing, 1 something
    #[command(after_help = "Example:\n  ledger-synth doctor --json | jq -r 'select(.ok | not).fix'")]
    Doctor,
    /// Synthesise after merges and rebases, check before a push
    #[command(subcommand, after_help = "Example:\n  ledger-synth hook install")]
    Hook(HookCommand),
    /// Print the settings in force, each with its source
    #[command(after_help = "Example:\n  ledger-synth config --json")]
    Config,
}

#[derive(Args, Clone, Debug, Default)]
pub struct AddArgs {
    /// What is going on now
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, help_heading = "Sections")]
    pub now: Option<String>,
    /// What it is all for
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, help_heading = "Sections")]
    pub goal: Option<String>,
    /// Something that was done
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, help_heading = "Sections")]
    pub done: Vec<String>,
    /// Something that was decided; `K=` says that nothing is any more
    #[arg(long, value_name = "K=V", allow_hyphen_values = true, help_heading = "Sections")]
    pub decision: Vec<String>,
    /// A question that is open
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, help_heading = "Sections")]
    pub question: Vec<String>,
    /// A question that is answered, in its words
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, help_heading = "Sections")]
    pub resolve: Vec<String>,
    /// How far a phase is
    #[arg(long, value_name = "PHASE:STATUS", allow_hyphen_values = true, help_heading = "Sections")]
    pub checkpoint: Vec<String>,
    /// Who says so [env: LEDGER_SYNTH_AGENT] [default: the worktree's name]
    #[arg(long, allow_hyphen_values = true)]
    pub agent: Option<String>,
    /// What kind of event, such as session_end or checkpoint
    #[arg(long = "type", value_name = "TYPE", allow_hyphen_values = true)]
    pub kind: Option<String>,
    /// Why there is one
    #[arg(long, allow_hyphen_values = true)]
    pub reason: Option<String>,
    /// What it is about, in a few words
    #[arg(long, allow_hyphen_values = true)]
    pub title: Option<String>,
    /// Keep the sections for the session's end instead of writing an event; a file in git's private directory
    #[arg(long, conflicts_with_all = ["synth", "from_hook", "agent", "kind", "reason", "title"])]
    pub draft: bool,
    /// Synthesise afterwards
    #[arg(long)]
    pub synth: bool,
    /// With --synth: commit the ledger's files
    #[arg(long, requires = "synth")]
    pub commit: bool,
    /// Take agent, reason and place from the JSON this agent program gives its SessionEnd hooks on stdin
    #[arg(long, value_name = "PROGRAM")]
    pub from_hook: Option<HookOf>,
}

/// Agent programs whose hooks are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HookOf {
    /// Claude Code
    Claude,
}

#[derive(Args, Clone, Debug)]
pub struct BannerArgs {
    /// How much is printed at most; the rest is counted
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub max_bytes: usize,
    /// Answer a SessionStart hook of this agent program, with the ledger as its context
    #[arg(long, value_name = "PROGRAM")]
    pub for_hook: Option<HookOf>,
}

#[derive(Args, Clone, Debug)]
pub struct MigrateArgs {
    /// Files to read
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// When they were written, where neither the file nor its name says it (RFC 3339)
    #[arg(long)]
    pub ts: Option<String>,
    /// Who wrote them, where the file does not say [env: LEDGER_SYNTH_AGENT] [default: the worktree's name]
    #[arg(long)]
    pub agent: Option<String>,
}

#[derive(Args, Clone, Debug)]
pub struct MergeDriverArgs {
    /// The common ancestor's file
    pub base: PathBuf,
    /// Our file, which becomes the result
    pub ours: PathBuf,
    /// Their file
    pub theirs: PathBuf,
    /// Where it lies in the repository
    #[arg(long)]
    pub path: Option<PathBuf>,
    /// What git calls their side
    #[arg(long, allow_hyphen_values = true)]
    pub label: Option<String>,
}

impl CommandLine for Cli {
    fn common(&self) -> &Common {
        &self.common
    }
}

/// The command line as clap knows it, for man pages, completions and the reference.
pub fn command() -> clap::Command {
    Cli::command()
}
