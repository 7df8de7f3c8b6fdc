//! What a worker's program is started with: its words and its variables.

use shopfloor_core::error::Result;

use crate::apply::hooks::{self, Launch, Variables};
use crate::context::Context;
use crate::program_config::AgentTable;
use crate::worker::Worker;

/// Wires the program's hooks, and returns the argv and the variables to start it with. `resume` are the words that make
/// it continue a conversation.
pub fn launch(ctx: &Context<'_>, worker: &Worker, agent: &AgentTable, resume: Vec<String>) -> Result<Launch> {
    let continued = worker.work.conversation.as_deref().filter(|_| !resume.is_empty());
    let (words, wired) = hooks::wire(ctx, worker, agent, continued)?;
    let mut argv = ctx.root.command(worker, agent, &words);
    let after_program = argv.len().min(1);
    argv.splice(after_program..after_program, resume);
    let mut variables: Variables = agent.env.clone().into_iter().collect();
    variables.extend(of_worker(ctx, worker).map(|(name, value)| (name.to_owned(), value)));
    variables.extend(wired);
    Ok((argv, variables))
}

/// The variables that tell a worker's programs about the worker.
pub fn of_worker(ctx: &Context<'_>, worker: &Worker) -> [(&'static str, String); 3] {
    [
        ("WORKER_CTL_WORKER", worker.name.clone()),
        ("WORKER_CTL_ROOT", ctx.root.path.to_string_lossy().into_owned()),
        ("WORKER_CTL_WORKTREE", worker.worktree_path.clone()),
    ]
}
