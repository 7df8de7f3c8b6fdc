//! The steps of a worktree's set-up that still run in the background, as sweatfile-apply tells.

use std::time::Duration;

use serde_json::Value;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::fs;
use shopfloor_core::git::private_dir;
use shopfloor_core::proc::{self, Cmd};

use crate::context::Context;
use crate::worker::Worker;

/// How long it may take, and how much it may print.
const LIMIT: (Duration, usize) = (Duration::from_secs(10), 1 << 20);

/// The name of such a step in a worker's worktree, if there is one.
pub fn running(ctx: &Context<'_>, worker: &Worker) -> Result<Option<String>> {
    let tree = worker.tree();
    let has_steps = private_dir(tree).is_some_and(|dir| dir.join("shopfloor/sweatfile-apply").is_dir());
    let Some(program) = proc::find(ctx.env, "sweatfile-apply").filter(|_| has_steps) else { return Ok(None) };
    let cmd = Cmd::new(&program, &ctx.env.at(tree)?).args(["--json", "wait", "--timeout", "0"]);
    let output = cmd.capture_within(fs::scratch(&ctx.root.path.join("locks"))?, LIMIT.0, LIMIT.1)?;
    let Some(output) = output.filter(|output| output.status.code() == i32::from(Exit::Timeout.code())) else {
        return Ok(None);
    };
    let text = output.text();
    let steps = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let running =
        steps.filter(|step| step["state"] == "running").find_map(|step| Some(step["name"].as_str()?.to_owned()));
    Ok(Some(running.unwrap_or_else(|| "setup".to_owned())))
}
