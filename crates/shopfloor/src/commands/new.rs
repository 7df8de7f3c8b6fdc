//! `new`: a worktree for an agent.

use std::path::PathBuf;

use shopfloor_core::args::Common;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::Ui;

use crate::commands::pass_on;
use crate::facts::answers::ask;
use crate::facts::repository;

/// Make a worktree for an agent, and print its path or run a command there
///
/// Runs `worktree-spawn subtree`. Without a command, `shopfloor go NAME` takes you there.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  shopfloor new feature-a --task 'Write the parser' -- claude")]
pub struct Args {
    /// The name of the agent
    pub name: String,
    /// The task of the agent; `-` reads it from stdin
    #[arg(long, value_name = "TEXT", conflicts_with = "task_file")]
    pub task: Option<String>,
    /// A file with the task, or `-` for stdin
    #[arg(long, value_name = "FILE")]
    pub task_file: Option<PathBuf>,
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
    /// Fill the submodules as well
    #[arg(long)]
    pub submodules: bool,
    /// Start the agent program there with its task, in a window of tmux or zellij or with the configured launcher
    #[arg(long, conflicts_with = "cmd")]
    pub launch: bool,
    /// Run this command in the worktree; its output and exit code are the answer
    #[arg(last = true)]
    pub cmd: Vec<String>,
}

/// The launcher for the terminal we are in; none if a person has configured one. Exit 2 if there is none.
fn launcher(env: &Env) -> Result<Option<&'static str>> {
    let settings = ask(env, &["worktree-spawn", "config"])?.records;
    let own = settings.iter().find(|setting| setting["name"] == "launcher");
    if own.is_some_and(|setting| setting["source"] != "default") {
        return Ok(None);
    }
    let known = [("TMUX", "tmux"), ("ZELLIJ", "zellij")];
    let here = known.iter().find(|(variable, _)| env.var(variable).is_some()).map(|(_, name)| *name);
    here.map(Some).ok_or_else(|| {
        Failure::usage("there is no tmux or zellij here to start the agent program in")
            .hint("start tmux first, or give the command after `--`")
    })
}

pub fn run(ui: &Ui, env: &Env, common: &Common, args: &Args) -> Result<Exit> {
    repository::find(env)?;
    let mut words = vec!["subtree".to_owned()];
    let file = args.task_file.as_ref().map(|file| file.to_string_lossy().into_owned());
    for (flag, value) in
        [("--task", &args.task), ("--task-file", &file), ("--agent", &args.agent), ("--if-exists", &args.if_exists)]
    {
        words.extend(value.iter().map(|value| format!("{flag}={value}")));
    }
    let flags = [
        (args.unique, "--unique"),
        (args.reuse_branch, "--reuse-branch"),
        (args.submodules, "--submodules"),
        (args.launch, "--launch"),
    ];
    words.extend(flags.iter().filter(|(is_given, _)| *is_given).map(|(_, flag)| (*flag).to_owned()));
    if args.launch {
        words.extend(launcher(env)?.map(|name| ["--launcher".to_owned(), name.to_owned()]).into_iter().flatten());
    }
    words.push(args.name.clone());
    if !args.cmd.is_empty() {
        words.push("--".to_owned());
        words.extend(args.cmd.iter().cloned());
    }
    pass_on(ui, env, common, "worktree-spawn", words)
}
