//! The command line. Doc comments are the help text.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};
use shopfloor_core::args::{self, CommandLine, Common, CompletedArgument, EXIT_CODES, FlagUse, SettingFlags};
use shopfloor_core::config::agent_programs;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};

use crate::apply::{host_status, sandbox};
use crate::commands::{
    accept, add, answer, attach, check, clashes, comment, deinit, doctor, down, events, hook, host, hosted, init,
    login, message, nuke, patrol, peek, queue, rebase, reject, request, reset, resume, review, root, run_in_sandbox,
    start, status, up, wait,
};
use crate::root::WorkerRoot;
use crate::settings::RootSettings;
use crate::store;

/// Run coding agents in tmux, one per git worktree, from task to reviewed commit
///
/// A person gives a worker a task, leaves, comes back to a commit to review, and accepts or rejects it. worker-ctl
/// relies only on facts that it can observe: commits, exit codes, and a person's commands.
#[derive(Debug, Parser)]
#[command(
    name = "worker-ctl",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = format!("Example:\n  worker-ctl init --source ~/src/app && cd ~/workers\n  worker-ctl add adam && worker-ctl up --detach\n  worker-ctl start adam --task 'Write the parser'\n  worker-ctl wait adam --for needs_review\n  worker-ctl review adam && worker-ctl accept adam\n\n{EXIT_CODES}")
)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    /// Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded
    /// in this repository; outside of any repository ~/workers]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Common options")]
    pub root: Option<PathBuf>,
    /// Run the command on this host; `HOST:NAME` for a worker does the same
    #[arg(long, global = true, value_name = "NAME", help_heading = "Common options")]
    pub host: Option<String>,
    #[command(flatten)]
    pub settings: SettingFlags<RootSettings>,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Create a root for a repository: a clone without a checkout, a configuration and a state
    ///
    /// `--source` names the repository [default: the current one]. `--branch` names the branch that accepted work lands
    /// on [default: the repository's default branch, whichever branch is checked out]. Exits with 1 if there is a root
    /// already.
    #[command(after_help = "Example:\n  worker-ctl init --source ~/src/app --target ~/workers")]
    Init(init::Args),
    /// Remove a root whose workers have no task and no work
    ///
    /// Exits with 1 if a worker has a task or work, if the root holds anything else that would be lost, or if its
    /// config.toml was edited; and with 3 if nobody can be asked.
    #[command(after_help = "Example:\n  worker-ctl deinit --yes")]
    Deinit(deinit::Args),
    /// Decide which roots are used: those on your own list, which `init` and `deinit` keep
    #[command(subcommand, after_help = "Example:\n  worker-ctl root trust ~/workers")]
    Root(root::RootCommand),
    /// Create a worker with a branch, a worktree and a record in the state
    ///
    /// Exits with 1 if there is a worker, a branch or a directory of this name, and with 3 if settings of the worktree by which
    /// git runs something wait for --yes.
    #[command(after_help = "Example:\n  worker-ctl add adam --role-prompt 'You write tests first.'")]
    Add(add::Args),
    /// Keep all sessions up and patrol until interrupted; with names, only start those sessions
    ///
    /// With names, exits with 1 if a program does not take input; without names, exits with 75 if another `up` runs.
    #[command(after_help = "Example:\n  worker-ctl up --detach\n  worker-ctl up adam")]
    Up(up::Args),
    /// Make workers go on with their tasks after a restart, a crash or a reboot
    ///
    /// Starts the sessions that are down. A program that went on with the conversation that knows its task is told to
    /// continue, one that was started anew gets its task again, and one that works already gets nothing. Exits with 1
    /// if a program does not take input or cannot be told.
    #[command(after_help = "Example:\n  worker-ctl resume --all")]
    Resume(resume::Args),
    /// End all sessions and keep their tasks
    ///
    /// Exits with 75 if a running `up` does not end.
    #[command(after_help = "Example:\n  worker-ctl down")]
    Down(down::Args),
    /// Show all workers
    ///
    /// This command takes no lock, and writes nothing but what hosts say of their workers: one that does not answer within 2 s
    /// is shown as it was then.
    #[command(
        after_help = "Example:\n  worker-ctl status --json |\n    jq -r '.workers[] | select(.status==\"needs_review\").name'"
    )]
    Status(status::Args),
    /// Give a task to an idle worker
    ///
    /// Exits with 1 if no worker, or not this one, can get a task.
    #[command(after_help = "Example:\n  worker-ctl start adam --task-file task.md")]
    Start(start::Args),
    /// Show or change the tasks that wait for a worker; `start --queue` adds some, and `up` gives them out
    ///
    /// `move` and `drop` exit with 1 if no such task waits.
    #[command(after_help = "Example:\n  worker-ctl start --queue tasks.jsonl\n  worker-ctl queue move t7 1")]
    Queue(queue::Args),
    /// Check a worker's work with the command of config.toml, as a running `up` does by itself
    ///
    /// Exits with 1 if the check fails, if there is no work, or if that changes meanwhile; and with 2 if the check would
    /// run the worker's code with your rights and `check_on_host` does not allow it.
    #[command(after_help = "Example:\n  worker-ctl check adam")]
    Check(check::Args),
    /// Show which workers' work would conflict with each other's, or with the branch that it lands on
    ///
    /// With a name, exits with 1 if there is no such worker.
    #[command(after_help = "Example:\n  worker-ctl clashes --json | jq -r '[.a, .b] | @tsv'")]
    Clashes(clashes::Args),
    /// Show how many tokens workers' sessions took, and what they cost where their programs count it
    ///
    /// The input includes what came from a cache. Programs without a file about their sessions show 0.
    #[command(after_help = "Example:\n  worker-ctl cost --json | tail -n 1")]
    Cost,
    /// Log in for a worker in a sandbox, which has a home of its own
    ///
    /// Runs the login command of claude, codex or opencode there. Exits as that does, with 1 if the worker runs in no
    /// sandbox, and with 2 if its program has no such command.
    #[command(after_help = "Example:\n  worker-ctl login adam")]
    Login(login::Args),
    /// Send a message to a worker
    ///
    /// Exits with 1 if the worker is idle, somebody types in its terminal, or its program asks a question.
    #[command(after_help = "Example:\n  worker-ctl message adam 'Use the helper in auth.rs'")]
    Message(message::Args),
    /// Answer a question that a worker's program asks in a menu
    ///
    /// Without LINE, prints the lines of the menu. Exits with 1 unless the program asks, and with 2 if LINE is no line
    /// of the menu, or several.
    #[command(after_help = "Example:\n  worker-ctl answer adam\n  worker-ctl answer adam 1")]
    Answer(answer::Args),
    /// Attach your terminal to a worker's session
    ///
    /// Exits with 1 if there is no such worker, or it has no session.
    #[command(after_help = "Example:\n  worker-ctl attach adam")]
    Attach(attach::Args),
    /// Print the screen of a worker's terminal
    ///
    /// Exits with 1 if there is no such worker, or it has no session.
    #[command(after_help = "Example:\n  worker-ctl peek adam --lines 50")]
    Peek(peek::Args),
    /// Wait until a worker needs you or is in a state: exit 124 when the time is up, 1 when none can
    #[command(
        after_help = "Example:\n  worker-ctl wait adam --for needs_review --timeout 30m &&\n    worker-ctl review adam"
    )]
    Wait(wait::Args),
    /// Show a worker's work and record that it was reviewed
    ///
    /// Above the diff stand the task, the message with which the work lands, and the files; and first of all what has
    /// changed since an earlier review. Exits with 1 if nothing waits for review.
    #[command(after_help = "Example:\n  worker-ctl review adam")]
    Review(review::Args),
    /// Send the reviewed work back to its worker with the changes you want
    ///
    /// Exits with 1 if nothing was reviewed.
    #[command(after_help = "Example:\n  worker-ctl reject 'Please handle errors of the API call'")]
    Reject(reject::Args),
    /// Keep a comment at a line of a worker's work until `reject --comments` sends it
    ///
    /// Comments are kept in `comments/NAME.json` of the root. When the work changes, each goes to where its line and the
    /// neighbours of that are; one whose line is gone is sent with the name of the old commit. Exits with 2 if the work has
    /// no such line.
    #[command(
        after_help = "Example:\n  worker-ctl comment adam src/a.rs:12 'Return an error here'\n  worker-ctl comment adam"
    )]
    Comment(comment::Args),
    /// Land a worker's work on the source's default branch as one commit
    ///
    /// Exits with 1 if the work cannot land as it is. If it conflicts, that is also 1, and the worker is asked to resolve
    /// the conflict.
    #[command(after_help = "Example:\n  worker-ctl accept adam")]
    Accept(accept::Args),
    /// Push a worker's work to your remote and make a request for it on the forge, by your own `gh` or `glab`
    ///
    /// Shows what goes where, and asks once. With a request that is open already, it only pushes. Exits with 1 if the work
    /// cannot be pushed as it is, with 3 if nobody can be asked, and with 4 if it was pushed and no request was made; then
    /// the same command goes on.
    #[command(after_help = "Example:\n  worker-ctl request adam --draft")]
    Request(request::Args),
    /// Have workers on other machines, which ssh reaches; they are called `HOST:NAME`
    ///
    /// A host works on while nobody looks at it. Its worker-ctl is asked over ssh, its work comes by git, and only what was
    /// accepted here lands.
    #[command(
        after_help = "Example:\n  worker-ctl host add big --ssh me@big.example.org\n  worker-ctl add eve --host big"
    )]
    Host(host::Args),
    /// Rebase a worker's work onto the default branch; on a conflict, ask the worker to resolve it
    ///
    /// Exits with 1 if the work conflicts, or cannot be rebased as it is.
    #[command(after_help = "Example:\n  worker-ctl rebase adam")]
    Rebase(rebase::Args),
    /// Check for problems and show how to repair them: exit 0 without problems, 1 with problems
    #[command(after_help = "Example:\n  worker-ctl doctor --json | jq -r 'select(.ok | not).fix'")]
    Doctor(doctor::Args),
    /// Take a worker's task away and put its worktree on the default branch
    ///
    /// Exits with 1 if work would be lost, and with 3 if adopted worktrees would be cleaned and nobody can be asked.
    #[command(after_help = "Example:\n  worker-ctl reset adam")]
    Reset(reset::Args),
    /// Remove a worker with its session, worktree and branch
    ///
    /// Exits with 1 if work would be lost, and with 3 if nobody can be asked.
    #[command(after_help = "Example:\n  worker-ctl nuke adam --yes")]
    Nuke(nuke::Args),
    /// Look once for workers that committed and programs that ended
    #[command(after_help = "Example:\n  worker-ctl patrol")]
    Patrol(patrol::Args),
    /// Print the events of workers
    #[command(
        after_help = "Example:\n  worker-ctl events --follow --json | jq -r 'select(.to==\"needs_review\").worker'"
    )]
    Events(events::Args),
    /// Record what an agent's own hook tells; always exits 0 with an empty stdout, except before a removal
    ///
    /// The programs of the presets call this in a worker's session: that is how `status` knows what they do, and how a
    /// text that was sent is known to have arrived. Outside of a worker's session it does nothing.
    ///
    /// `hook run pre-remove PATH` exits with 1 if a worker works in the worktree PATH.
    #[command(
        after_help = "Example (in settings of Claude Code):\n  \"UserPromptSubmit\": [\n    {\"hooks\": [{\"type\": \"command\", \"command\": \"worker-ctl hook claude\"}]}\n  ]"
    )]
    Hook(hook::Args),
    /// Have a repository and a root for a hub
    #[command(hide = true, name = hosted::HOSTED)]
    Hosted(hosted::Args),
    /// Know what has landed
    #[command(hide = true)]
    Landed(hosted::LandedArgs),
    /// Run a worker's program in its sandbox
    #[command(hide = true, name = sandbox::COMMAND)]
    RunInSandbox(run_in_sandbox::Args),
    /// The first program in a sandbox
    #[command(hide = true, name = shopfloor_core::sandbox::INSIDE)]
    InsideSandbox(InsideSandbox),
    /// Show every setting with its source
    #[command(after_help = "Example:\n  worker-ctl config --json")]
    Config,
}

#[derive(clap::Args, Debug)]
pub struct InsideSandbox {
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
}

/// The root that a line means.
fn root_of(env: &Env) -> Result<WorkerRoot> {
    let named = env.args.windows(2).find(|pair| pair[0] == "--root").map(|pair| Path::new(&pair[1]));
    WorkerRoot::find(env, named, &[])
}

/// The names of the workers.
fn names(env: &Env) -> Result<Vec<String>> {
    let root = root_of(env)?;
    let mut names: Vec<String> = store::load(&root.path)?.workers.into_keys().collect();
    names.extend(host_status::last_ids(&root));
    Ok(names)
}

/// The names of the hosts.
fn hosts(env: &Env) -> Result<Vec<String>> {
    Ok(root_of(env)?.config.hosts.into_keys().collect())
}

impl CommandLine for Cli {
    fn completed() -> &'static [CompletedArgument] {
        &[
            (&[], "worker", names),
            (&[], "workers", names),
            (&[], "names", names),
            (&[], "named_worker", names),
            (&["start"], "resume", names),
            (&[], "agent", agent_programs),
            (&[], "host", hosts),
            (&["wait"], "states", |_| Ok(wait::STATES.map(str::to_owned).to_vec())),
        ]
    }

    fn slips() -> &'static [(&'static [&'static str], &'static str)] {
        &[
            (&["remove", "rm", "delete", "done"], "nuke"),
            (&["stop", "kill"], "down"),
            (&["continue"], "resume"),
            (&["list", "ls"], "status"),
        ]
    }

    fn common(&self) -> &Common {
        &self.common
    }

    fn uses() -> Vec<FlagUse> {
        SettingFlags::<RootSettings>::uses()
    }

    // An agent's hook must not stop the agent. What is asked before a removal may.
    fn exit_of_failure(line: &[OsString]) -> Option<Exit> {
        let words = args::plain_words(line, &["-C", "--color", "--root", "--host"]);
        let is_hook = words.first().is_some_and(|word| *word == "hook");
        (is_hook && words.get(1).is_none_or(|word| *word != "run")).then_some(Exit::Done)
    }
}

/// The command line as a value, for man pages, completions and the reference.
pub fn command() -> clap::Command {
    args::command::<Cli>()
}
