//! What the tools do before a worktree is removed, so that nothing is lost that exists only there.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::env::Env;
use crate::error::{Exit, Failure, Result};
use crate::fs;
use crate::proc::{self, Cmd};
use crate::text::shell_word;

/// The hook that runs before a worktree is removed, as `TOOL hook run pre-remove PATH`. git has no such hook, so there
/// is no hook file: the tools are called by name.
pub const PRE_REMOVE: &str = "pre-remove";

/// The variable by which that hook knows that programs which work there are ended afterwards.
pub const REAPS: &str = "SHOPFLOOR_REAPS";

/// The tools that have this hook.
pub const TOOLS: &[&str] = &["overlay-sync", "sweatfile-apply"];

/// The tools that are asked before a worktree is removed in which a worker may work. The last one ends programs and takes down
/// what they use, so it runs only if nobody refuses.
pub const WITH_WORKERS: &[&str] = &["overlay-sync", "worker-ctl", "sweatfile-apply"];

/// How long one tool may take, and how many bytes it may print. The commands of a teardown have a minute each.
const PRE_REMOVE_LIMIT: (Duration, usize) = (Duration::from_secs(30), 1 << 20);
const TEARDOWN_LIMIT: Duration = Duration::from_secs(600);

/// What the tools reported before a worktree is removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreRemoveReport {
    /// What a person should know.
    pub notes: Vec<String>,
    /// Why the worktree should stay, one reason a line; empty when it may be removed.
    pub refused: Vec<String>,
}

impl PreRemoveReport {
    /// Exit 1, kind `pre_remove`, when a tool refuses and the removal is not forced. Nothing was removed then.
    pub fn require(&self, path: &Path, force: bool) -> Result<()> {
        if self.refused.is_empty() || force {
            return Ok(());
        }
        let what = format!("{} is not removed, because a hook before the removal failed", path.display());
        Err(Failure::new(Exit::No, PRE_REMOVE_KIND, what)
            .details(self.refused.iter().map(|line| format!("  {line}")))
            .hint("settle that first; `--force` removes it all the same"))
    }
}

const PRE_REMOVE_KIND: &str = "pre_remove";

/// How a worktree is to be removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct How {
    /// Although a tool refuses.
    pub is_forced: bool,
    /// Not at all: the tools tell what they would do.
    pub is_dry: bool,
    /// A person has agreed that programs which work there are ended.
    pub reaps: bool,
}

/// Runs the `pre-remove` hook of those of these tools that are on the PATH, for the worktree at `path`. Their output
/// goes through nameless files in `scratch`. A tool that fails, takes too long or cannot be run counts as refusing; then, unless
/// it is forced, nothing is taken down.
pub fn run(env: &Env, path: &Path, tools: &[&str], scratch: &Path, how: How) -> Result<PreRemoveReport> {
    let mut report = PreRemoveReport::default();
    for tool in tools {
        if *tool == "sweatfile-apply" && !report.refused.is_empty() && !how.is_forced {
            break;
        }
        let Some(program) = proc::find(env, tool) else { continue };
        let cmd = Cmd::new(&program, env)
            .args(how.is_dry.then_some("--dry-run"))
            .args(["--json", "hook", "run", PRE_REMOVE])
            .arg(path);
        let cmd = if how.reaps { cmd.var(REAPS, "1") } else { cmd };
        let (limit, most) = PRE_REMOVE_LIMIT;
        let limit = if *tool == "sweatfile-apply" { TEARDOWN_LIMIT } else { limit };
        // A dry run leaves no directory.
        let aside = env.temp_dir().join(fs::unique_name());
        let streams = fs::scratch(if how.is_dry { &aside } else { scratch })?;
        fs::remove_empty_dir(&aside);
        let Some(output) = cmd.capture_within(streams, limit, most)? else {
            report.refused.push(format!("{tool}: its pre-remove took longer than {} s", limit.as_secs()));
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
        report.notes.extend(lines("/notes"));
        if !output.status.success() {
            let told = [lines("/error/message"), lines("/error/hints")].concat();
            if told.is_empty() {
                let asked = format!("`{tool} hook run {PRE_REMOVE} {}`", shell_word(path));
                let silent = format!("{tool}: its pre-remove ended with {}", output.status);
                report.refused.push(format!("{silent} and no reason, as on a full disk; {asked} may tell one"));
            }
            report.refused.extend(told);
        }
    }
    Ok(report)
}
