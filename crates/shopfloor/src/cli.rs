//! The command line: the global flags and the list of commands. Each command's arguments are above the function that
//! obeys them; doc comments are the help text.

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand};
use shopfloor_core::args::{self, CommandLine, Common, CompletedArgument, EXIT_CODES};
use shopfloor_core::config::agent_programs;
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;

use crate::commands::worker_commands::{COMMON, Words};
use crate::commands::{
    PASSED_ON, desk, doctor, go, jump, new, rm, setup, shell_init, skills, status, teardown, worker_commands,
};

/// Set up a repository for coding agents, and see at one glance what they do
///
/// Runs the five tools by name: sweatfile-apply, overlay-sync, ledger-synth, worktree-spawn and worker-ctl. Everything it
/// does can also be done with them. Without a command it shows the table, in a repository that is set up.
#[derive(Debug, Parser)]
#[command(
    name = "shopfloor",
    version,
    max_term_width = 100,
    after_help = format!("Example:\n  shopfloor setup\n  shopfloor new feature-a 'Write the parser'\n  shopfloor status\n  shopfloor review feature-a\n  shopfloor land feature-a\n\n{EXIT_CODES}")
)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    New(Box<new::Args>),
    /// Make an agent of a worktree that is there already: PATH
    ///
    /// --target BRANCH is where its work lands, and --land squash or commits says whether as one commit or as its own.
    /// --agent NAME and --model NAME say what works there; --ask lets that ask before it does something, which is the
    /// default, and --yolo lets it ask nobody. --yes accepts the settings of the worktree by which git runs something.
    /// Exits with 1 if it is an agent's already, and with 3 if such settings wait for --yes.
    #[command(after_help = "Example:\n  shopfloor adopt ../app-fix")]
    Adopt(Words),
    #[command(visible_alias = "ls")]
    Status(status::Args),
    Desk(desk::Args),
    Jump(jump::Args),
    #[command(alias = "open")]
    Go(go::Args),
    /// Attach your terminal to an agent's: NAME
    ///
    /// Exits with 1 if there is no such agent, or its program does not run.
    #[command(after_help = "Example:\n  shopfloor attach feature-a")]
    Attach(Words),
    /// Give a task to an agent that has none: NAME TASK
    ///
    /// An agent whose program does not run is started first; `-` reads the task from stdin. With --task TEXT or
    /// --task-file FILE instead, it has to run already. `--resume NAME` alone sends an agent its task again. --force
    /// sends even if a text may be in its input line, somebody types in its terminal, its program asks a question, or
    /// its set-up still runs. Exits with 1 if the agent cannot get a task.
    #[command(after_help = "Example:\n  shopfloor start feature-a 'Write the tests, too'")]
    Start(Words),
    /// Send a message to an agent: NAME TEXT, or `-` for stdin
    ///
    /// Exits with 1 if the agent has no task, somebody types in its terminal, or its program asks a question; --force
    /// sends all the same. An agent may send to its parent and its children; then the text begins with who it is.
    #[command(alias = "message", after_help = "Example:\n  shopfloor send feature-a 'Use the helper in auth.rs'")]
    Send(Words),
    /// Answer what an agent's program asks in a menu: NAME [LINE]
    ///
    /// Without LINE, prints the lines of the menu. --force answers even if somebody types in the agent's terminal, or
    /// its program has hit a usage limit. Exits with 1 if the program asks nothing, and with 2 if LINE is no line of
    /// the menu, or several.
    #[command(after_help = "Example:\n  shopfloor answer feature-a\n  shopfloor answer feature-a 1")]
    Answer(Words),
    /// Print the screen of an agent's terminal: NAME [--lines N]
    ///
    /// Exits with 1 if there is no such agent, or its program does not run.
    #[command(after_help = "Example:\n  shopfloor peek feature-a")]
    Peek(Words),
    /// Wait until an agent needs you, or is in a state: [NAME...] [--any] [--for STATE] [--timeout TIME]
    ///
    /// Without NAME, or with --all, it is about all agents. It waits for all of them, with --any for one. STATE is
    /// idle, working, needs_review, rejected, rebasing, error, offline or queued; busy, asks, rests, fresh or limited,
    /// which its program is; or `you`, the default: then one that needs you is enough. --timeout gives up after 90s,
    /// 30m or 2h; without it that is after 300s, and for `you` never. Exits with 124 when the time is up, and with 1 if
    /// none can get there.
    #[command(after_help = "Example:\n  shopfloor wait feature-a && shopfloor review feature-a")]
    Wait(Words),
    /// Show an agent's work and, on a terminal, record that it was reviewed: [NAME] [--interface PROGRAM] [--pin]
    ///
    /// --interface shows the diff with git, difftastic or vscode. With --pin it counts as reviewed without a terminal,
    /// too; with --no-pin it never does. Exits with 1 if nothing waits for review.
    #[command(alias = "diff", after_help = "Example:\n  shopfloor review feature-a")]
    Review(Words),
    /// Send reviewed work back with the changes you want: [NAME] TEXT, or NAME with --edit, --comments FILE or
    /// --from-request
    ///
    /// Without NAME it goes to the agent that was reviewed last. With --edit it is what you add to the diff in your editor, in
    /// lines that begin with `#:`; with --comments, comments at lines, in a file of JSON. With --from-request it is what
    /// reviewers of its request say in threads that are not resolved: those who may write to the repository, with
    /// --all-authors others, too. --yes does not ask about that, and --force sends even if somebody types in the agent's
    /// terminal, or its program asks a question. Exits with 1 if nothing was reviewed, and with 3 if nobody can be asked.
    #[command(alias = "reject", after_help = "Example:\n  shopfloor back feature-a 'Handle errors of the API call'")]
    Back(Words),
    /// Land an agent's work: [NAME] [--message TEXT] [--land squash|commits] [--force] [--no-check] [--push]
    /// [--yes]
    ///
    /// Without NAME it is the work that was reviewed last. A worktree that is no agent's yet becomes one first. --message is
    /// the message of the commit, and --land says whether the work of an adopted worktree lands as one commit or as its own.
    /// --force lands work that has changed since its review or has conflict markers, --no-check work that the check has not
    /// found good, and --yes work that nobody has reviewed. --push pushes the branch afterwards. Exits with 1 if the work
    /// cannot land as it is, and with 3 if you are asked about work that nobody has reviewed, and say no.
    #[command(aliases = ["accept", "merge"], after_help = "Example:\n  shopfloor land feature-a")]
    Land(Words),
    /// Push an agent's work and make a request for it on the forge: NAME [--draft] [--title TEXT] [--yes]
    ///
    /// Shows what goes where, and asks once. Your own `gh` or `glab` makes the request. Exits with 1 if the work cannot be
    /// pushed as it is, and with 3 if nobody can be asked.
    #[command(after_help = "Example:\n  shopfloor request feature-a")]
    Request(Words),
    #[command(aliases = ["done", "remove"])]
    Rm(rm::Args),
    /// End agents' programs and keep their tasks: [NAME...] [--force]
    ///
    /// Without NAME those of all agents. --force kills programs at once, without waiting for them to end. Exits with 1 if
    /// there is no such agent.
    #[command(alias = "down", after_help = "Example:\n  shopfloor stop feature-a")]
    Stop(Words),
    /// Make agents go on with their tasks after a stop, a crash or a reboot: [NAME...] [--force]
    ///
    /// Without NAME, or with --all, all agents. --force sends even if somebody types in the agent's terminal, or its
    /// program asks a question. Exits with 1 if a program does not take input or cannot be told.
    #[command(alias = "up", after_help = "Example:\n  shopfloor resume")]
    Resume(Words),
    Setup(setup::Args),
    Teardown(teardown::Args),
    Doctor(doctor::Args),
    Skills(skills::Args),
    ShellInit(shell_init::Args),
    /// A command of worker-ctl, as it is
    #[command(hide = true, name = PASSED_ON[0], aliases = &PASSED_ON[1..], disable_help_flag = true)]
    PassedOn(Words),
}

/// The names of the agents and worktrees.
fn names(env: &Env) -> Result<Vec<String>> {
    let rows = worker_commands::here(env)?.into_iter().filter(|row| !row.is_main);
    Ok(rows.map(|row| row.worker.unwrap_or(row.name)).collect())
}

/// What an agent can be waited for to be, as the help of `worker-ctl wait` tells.
const STATES: &str =
    "idle working needs_review rejected rebasing error offline queued busy asks rests fresh limited you";

/// What can stand behind a verb.
fn words(env: &Env) -> Result<Vec<String>> {
    let line: Vec<&str> = env.args.iter().filter_map(|word| word.to_str()).collect();
    match &line[..] {
        [.., "--for", _] => Ok(STATES.split(' ').map(str::to_owned).collect()),
        [.., "--land", _] => Ok(["squash", "commits"].map(str::to_owned).into()),
        [.., "--agent", _] => agent_programs(env),
        [.., word] if word.starts_with('-') => {
            let options = line.iter().find_map(|verb| worker_commands::options(verb));
            Ok(options.into_iter().flatten().map(str::to_owned).collect())
        }
        _ => names(env),
    }
}

/// Options whose value may begin with a dash.
const TEXTS: [&str; 3] = ["--message", "--title", "--task"];

/// Whether a word is an option that all commands have.
fn is_common(word: &str) -> bool {
    let of_letters = word.strip_prefix('-').filter(|letters| !letters.is_empty());
    word == "-C"
        || COMMON.contains(&word)
        || word.starts_with("--color=")
        || of_letters.is_some_and(|letters| letters.chars().all(|letter| "nqv".contains(letter)))
}

impl CommandLine for Cli {
    /// clap leaves the words after a verb as they are, also those that are options of all commands.
    fn arranged(args: &[OsString]) -> Vec<OsString> {
        let word = |at: usize| args.get(at).and_then(|word| word.to_str()).unwrap_or_default();
        let len = |at: usize| if ["-C", "--color"].contains(&word(at)) { 2 } else { 1 };
        let mut verb = 1;
        while word(verb).starts_with('-') {
            verb += len(verb);
        }
        // clap knows nothing of what is passed on.
        if word(verb) == "help" && PASSED_ON.contains(&word(verb + 1)) {
            return [&args[..verb], &args[verb + 1..], &[OsString::from("--help")]].concat();
        }
        let command = Cli::command();
        let Some(found) = command.find_subcommand(word(verb)) else { return args.to_vec() };
        if found.get_arguments().all(|argument| argument.get_id() != "words") {
            return args.to_vec();
        }
        let is_passed_on = found.get_name() == PASSED_ON[0];
        let end = args.iter().position(|word| word == "--").unwrap_or(args.len());
        let (mut before, mut after) = (args[..verb].to_vec(), vec![args[verb].clone()]);
        let mut at = verb + 1;
        while at < end {
            let next = (at + len(at)).min(end);
            let is_text = TEXTS.contains(&word(at - 1));
            match word(at) {
                // Of what is passed on, only the form of the answer counts here.
                option if is_passed_on && option != "--json" => after.extend_from_slice(&args[at..next]),
                "--help" | "-h" => after.insert(1, args[at].clone()),
                option if is_common(option) && !is_text => {
                    let is_there = next == at + 1 && before.contains(&args[at]);
                    before.extend(args[at..next].iter().filter(|_| !is_there).cloned());
                }
                _ => after.extend_from_slice(&args[at..next]),
            }
            at = next;
        }
        [before, after, args[end..].to_vec()].concat()
    }

    fn completed() -> &'static [CompletedArgument] {
        const VERBS: &[&str] = &[
            "adopt", "attach", "send", "answer", "peek", "wait", "review", "back", "land", "stop", "resume", "start",
            "request",
        ];
        &[
            (&["go"], "name", names),
            (&["rm"], "names", names),
            (VERBS, "words", words),
            (&["new"], "agent", agent_programs),
        ]
    }

    fn slips() -> &'static [(&'static [&'static str], &'static str)] {
        &[
            (&["delete"], "rm"),
            (&["list"], "status"),
            (&["create"], "new"),
            (&["kill"], "stop"),
            (&["continue"], "resume"),
        ]
    }

    fn common(&self) -> &Common {
        &self.common
    }
}

/// The command line as clap knows it, for man pages, completions and the reference.
pub fn command() -> clap::Command {
    args::command::<Cli>()
}
