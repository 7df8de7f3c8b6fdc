//! What a worker's program is started with: its words and its variables.

use std::path::PathBuf;

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;

use crate::agent::AgentTable;
use crate::apply::hooks::{self, Wires};
use crate::site::Site;
use crate::worker::Worker;

/// What a worker's program is started with.
pub struct Launch {
    pub argv: Vec<String>,
    pub variables: Vec<(String, String)>,
}

/// A socket at which a program takes texts.
pub struct TextSocket {
    pub path: PathBuf,
    /// The hash of what the program has to have been started with. A program that was started with something else does
    /// not take a task, so that a task always meets the settings of `config.toml`.
    pub settings: String,
}

/// Wires the program's hooks and returns what to start it with. `conversation` are the words that make it continue one.
pub fn launch(
    site: &Site<'_>,
    worker: &Worker,
    agent: &AgentTable,
    conversation: impl IntoIterator<Item = String>,
) -> Result<Launch> {
    let wires = hooks::wires(site, agent)?;
    wires.place(site, worker)?;
    let (mut launch, texts) = launch_with(site, worker, agent, &wires)?;
    if let Some(TextSocket { path, settings }) = texts {
        launch.variables.push(("WORKER_CTL_SOCKET".to_owned(), path.to_string_lossy().into_owned()));
        launch.variables.push(("WORKER_CTL_SETTINGS".to_owned(), settings));
    }
    let after_program = launch.argv.len().min(1);
    let before = launch.argv.len();
    launch.argv.splice(after_program..after_program, conversation);
    if let Some(conversation) = worker.conversation.clone().filter(|_| launch.argv.len() > before) {
        launch.variables.push(("WORKER_CTL_CONVERSATION".to_owned(), conversation));
    }
    Ok(launch)
}

/// Where a worker's program takes texts once it runs, if it does that. This writes nothing.
pub fn text_socket(site: &Site<'_>, worker: &Worker, agent: &AgentTable) -> Result<Option<TextSocket>> {
    let wires = hooks::wires(site, agent)?;
    Ok(launch_with(site, worker, agent, &wires)?.1)
}

fn launch_with(
    site: &Site<'_>,
    worker: &Worker,
    agent: &AgentTable,
    wires: &Wires,
) -> Result<(Launch, Option<TextSocket>)> {
    let argv = site.root.command(worker, agent, &wires.words);
    let mut variables: Vec<(String, String)> = agent.env.clone().into_iter().collect();
    variables.extend(of_worker(site, worker).map(|(name, value)| (name.to_owned(), value)));
    variables.extend(wires.variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    let mut texts = None;
    if wires.takes_texts {
        let settings = Digest::of(format!("{argv:?} {variables:?} {:?}", wires.file).as_bytes()).to_string();
        texts = Some(TextSocket { path: site.text_socket(&worker.name)?, settings });
    }
    Ok((Launch { argv, variables }, texts))
}

/// The variables that tell a worker's programs about the worker.
pub fn of_worker<'w>(site: &'w Site<'_>, worker: &'w Worker) -> [(&'static str, String); 3] {
    [
        ("WORKER_CTL_WORKER", worker.name.clone()),
        ("WORKER_CTL_ROOT", site.root.path.to_string_lossy().into_owned()),
        ("WORKER_CTL_WORKTREE", worker.worktree_path.clone()),
    ]
}
