//! What the tools do before a worktree is removed, so that nothing that only it has is lost.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::env::Env;
use crate::error::{Exit, Failure, Result};
use crate::fs;
use crate::proc::{self, Cmd};

/// What a remover of worktrees runs before one goes, as `TOOL hook run pre-remove PATH`. git has no such hook, so it
/// is never a file: the tools are called by name.
pub const PRE_REMOVE: &str = "pre-remove";

/// The tools that have one.
pub const TOOLS: &[&str] = &["overlay-sync", "sweatfile-apply"];

/// How long one tool may take over it, and how much it may say.
const PRE_REMOVE_LIMIT: (Duration, usize) = (Duration::from_secs(30), 1 << 20);

/// What the tools said before a worktree goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Farewell {
    /// What a person should know.
    pub notes: Vec<String>,
    /// Why it should not go, a line each; nothing where it may.
    pub refused: Vec<String>,
}

impl Farewell {
    /// Exit 1, kind `pre_remove`, where a tool refuses and nobody insists. Then nothing was removed.
    pub fn require(&self, path: &Path, force: bool) -> Result<()> {
        if self.refused.is_empty() || force {
            return Ok(());
        }
        Err(Failure::new(Exit::No, PRE_REMOVE_KIND, format!("{} has something that is nowhere else", path.display()))
            .details(self.refused.iter().map(|line| format!("  {line}")))
            .hint("settle that first; `--force` removes it all the same"))
    }
}

const PRE_REMOVE_KIND: &str = "pre_remove";

/// Runs the `pre-remove` of these tools for the worktree at `path`, those that are on the PATH. Their output goes through
/// nameless files in `scratch`. A tool that fails, takes too long or cannot be run refuses.
pub fn before_removal(env: &Env, path: &Path, tools: &[&str], scratch: &Path) -> Result<Farewell> {
    let mut farewell = Farewell::default();
    for tool in tools {
        let Some(program) = proc::find(env, tool) else { continue };
        let cmd = Cmd::new(&program, env).args(["--json", "hook", "run", PRE_REMOVE]).arg(path);
        let (limit, most) = PRE_REMOVE_LIMIT;
        let Some(output) = cmd.capture_within(fs::scratch(scratch)?, limit, most)? else {
            farewell.refused.push(format!("{tool}: its pre-remove took longer than {} s", limit.as_secs()));
            continue;
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let answers: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let lines = |key: &str| -> Vec<String> {
            let lists = answers.iter().filter_map(|answer| answer.pointer(key));
            let texts = lists.flat_map(|list| list.as_array().cloned().unwrap_or_else(|| vec![list.clone()]));
            let texts: Vec<String> = texts.filter_map(|text| text.as_str().map(str::to_owned)).collect();
            texts.iter().flat_map(|text| text.lines()).map(|line| format!("{tool}: {line}")).collect()
        };
        farewell.notes.extend(lines("/notes"));
        if !output.status.success() {
            let told = [lines("/error/message"), lines("/error/hints")].concat();
            let silent = vec![format!("{tool}: its pre-remove ended with {}", output.status)];
            farewell.refused.extend(if told.is_empty() { silent } else { told });
        }
    }
    Ok(farewell)
}
