//! What a worker's program is started with: its words and its variables.

use shopfloor_core::error::Result;

use crate::agent::AgentTable;
use crate::apply::hooks;
use crate::site::Site;
use crate::worker::Worker;

/// What a worker's program is started with.
pub struct Launch {
    pub argv: Vec<String>,
    pub variables: Vec<(String, String)>,
}

/// Wires the program's hooks and returns what to start it with. `resume` are the words that make it continue a
/// conversation.
pub fn launch(site: &Site<'_>, worker: &Worker, agent: &AgentTable, resume: Vec<String>) -> Result<Launch> {
    let continued = worker.work.conversation.as_deref().filter(|_| !resume.is_empty());
    let wires = hooks::wires(site, agent, continued)?;
    wires.place(site, worker)?;
    let mut argv = site.root.command(worker, agent, &wires.words);
    let after_program = argv.len().min(1);
    argv.splice(after_program..after_program, resume);
    let mut variables: Vec<(String, String)> = agent.env.clone().into_iter().collect();
    let ours = of_worker(site, worker).into_iter().chain(wires.variables);
    variables.extend(ours.map(|(name, value)| (name.to_owned(), value)));
    Ok(Launch { argv, variables })
}

/// The variables that tell a worker's programs about the worker.
pub fn of_worker(site: &Site<'_>, worker: &Worker) -> [(&'static str, String); 3] {
    [
        ("WORKER_CTL_WORKER", worker.name.clone()),
        ("WORKER_CTL_ROOT", site.root.path.to_string_lossy().into_owned()),
        ("WORKER_CTL_WORKTREE", worker.worktree_path.clone()),
    ]
}
