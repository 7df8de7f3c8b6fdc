//! What a worker's program is started with: its words and its variables.

use std::path::PathBuf;

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;

use crate::agent::AgentTable;
use crate::apply::hooks;
use crate::layout;
use crate::site::Site;
use crate::worker::Worker;

/// What a worker's program is started with.
pub struct Launch {
    pub argv: Vec<String>,
    pub variables: Vec<(String, String)>,
    /// Where the program takes texts once it runs, if it does that.
    pub texts: Option<TextSocket>,
}

/// A socket at which a program takes texts.
pub struct TextSocket {
    pub path: PathBuf,
    /// The hash of what the program has to have been started with. A program that was started with something else does
    /// not take the text, so that a task always meets the settings of `config.toml`.
    pub settings: String,
}

/// Wires the program's hooks and returns what to start it with. `conversation` are the words that make it continue one.
pub fn launch(
    site: &Site<'_>,
    worker: &Worker,
    agent: &AgentTable,
    conversation: impl IntoIterator<Item = String>,
) -> Result<Launch> {
    let wires = hooks::wire(site, worker, agent)?;
    let mut argv = site.root.command(worker, agent, &wires.words);
    let mut variables: Vec<(String, String)> = agent.env.clone().into_iter().collect();
    variables.extend(of_worker(site, worker).map(|(name, value)| (name.to_owned(), value)));
    variables.extend(wires.variables.into_iter().map(|(name, value)| (name.to_owned(), value)));
    let texts = wires.takes_texts.then(|| {
        let settings = Digest::of(format!("{argv:?} {variables:?}").as_bytes()).to_string();
        TextSocket { path: layout::text_socket(&site.root.path, &worker.name), settings }
    });
    if let Some(TextSocket { path, settings }) = &texts {
        variables.push(("WORKER_CTL_SOCKET".to_owned(), path.to_string_lossy().into_owned()));
        variables.push(("WORKER_CTL_SETTINGS".to_owned(), settings.clone()));
    }
    let after_program = argv.len().min(1);
    argv.splice(after_program..after_program, conversation);
    Ok(Launch { argv, variables, texts })
}

/// The variables that tell a worker's programs about the worker.
pub fn of_worker<'w>(site: &'w Site<'_>, worker: &'w Worker) -> [(&'static str, String); 3] {
    [
        ("WORKER_CTL_WORKER", worker.name.clone()),
        ("WORKER_CTL_ROOT", site.root.path.to_string_lossy().into_owned()),
        ("WORKER_CTL_WORKTREE", worker.worktree_path.clone()),
    ]
}
