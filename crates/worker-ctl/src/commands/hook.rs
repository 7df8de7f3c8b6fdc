//! `hook`: an agent's own hook says that a text has arrived.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;
use shopfloor_core::ui::Ui;

use crate::cli::HookAgent;
use crate::worker::checked_name;

/// How long an agent whose hook has spoken before has to speak again.
const PATIENCE: Duration = Duration::from_secs(3);

/// What a worker's agent said last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    pub v: u64,
    pub event: String,
    /// The hash of the text it was given, if it tells one.
    pub text: Option<String>,
}

/// Only within a worker's session; elsewhere there is nothing to say.
pub fn run(ui: &Ui, env: &Env, agent: HookAgent) -> Result<Exit> {
    let payload: Value = serde_json::from_slice(&ui.input()?)
        .map_err(|e| Failure::malformed("the hook's input is no JSON").because(e))?;
    let (Some(root), Some(worker)) = (env.var("WORKER_CTL_ROOT"), env.var("WORKER_CTL_WORKER")) else {
        return Ok(Exit::Done);
    };
    let worker = worker.to_string_lossy().into_owned();
    let dir = PathBuf::from(root).join("hooks");
    let path = place(Path::new(root), checked_name(&worker)?);
    let event = payload["hook_event_name"].as_str().unwrap_or_default();
    let is_prompt = match agent {
        HookAgent::Claude => event == "UserPromptSubmit",
        HookAgent::Gemini => event == "BeforeAgent",
    };
    let text = payload["prompt"].as_str().filter(|_| is_prompt).map(digest);
    let said = Said { v: 1, event: event.to_owned(), text };
    // What it said of a text stays until it says something of another.
    if said.text.is_none() && path.exists() {
        return Ok(Exit::Done);
    }
    let text = serde_json::to_string(&said).map_err(|e| Failure::failed("cannot write it down").because(e))?;
    fs::create_private_dir(&dir)?;
    fs::replace(&path, format!("{text}\n").as_bytes(), Some(fs::PRIVATE))?;
    Ok(Exit::Done)
}

fn place(root: &Path, worker: &str) -> PathBuf {
    root.join("hooks").join(format!("{worker}.json"))
}

/// Blanks around a text are nobody's business.
fn digest(text: &str) -> String {
    Digest::of(text.trim().as_bytes()).to_string()
}

/// What its hook said last; none where no hook ever spoke.
pub fn last(root: &Path, worker: &str) -> Option<Said> {
    let bytes = fs::read_no_follow(&place(root, worker)).ok()??;
    serde_json::from_slice(&bytes).ok()
}

/// Forgets it, so that what is said afterwards is about what comes now.
pub fn forget(root: &Path, worker: &str) -> Result<()> {
    let path = place(root, worker);
    if path.exists() {
        let none = Said { v: 1, event: String::new(), text: None };
        let text = serde_json::to_string(&none).map_err(|e| Failure::failed("cannot write it down").because(e))?;
        fs::replace(&path, format!("{text}\n").as_bytes(), Some(fs::PRIVATE))?;
    }
    Ok(())
}

/// Nothing it said is known any more.
pub fn remove(root: &Path, worker: &str) -> Result<()> {
    fs::remove(&place(root, worker))
}

/// Whether its hook says, within a while, that this text has arrived.
pub fn confirms(root: &Path, worker: &str, text: &str) -> bool {
    let (start, wanted) = (Instant::now(), digest(text));
    loop {
        if last(root, worker).is_some_and(|said| said.text.as_ref() == Some(&wanted)) {
            return true;
        }
        if start.elapsed() >= PATIENCE {
            return false;
        }
        thread::sleep(Duration::from_millis(20));
    }
}
