//! The version of an agent program that is installed.

use std::time::Duration;

use regex_lite::Regex;
use shopfloor_core::agents::AgentProgram;
use shopfloor_core::fs;
use shopfloor_core::proc::{self, Cmd};

use crate::context::Context;

/// How many bytes it may print.
const MOST: usize = 64 * 1024;

/// The version that a program prints, or none if it prints none within `limit`. aider takes several seconds.
pub fn installed(ctx: &Context<'_>, program: &AgentProgram, limit: Duration) -> Option<String> {
    let cmd = Cmd::new(&proc::find(ctx.env, program.worker_command[0])?, ctx.env).arg("--version").dir(&ctx.root.path);
    // The directory is there already, so that nothing is written but a file without a name.
    let scratch = fs::scratch(&ctx.root.path.join("locks")).ok()?;
    let output = cmd.capture_within(scratch, limit, MOST).ok()??;
    let number = Regex::new(r"[0-9]+(\.[0-9]+)+").ok()?;
    Some(number.find(&String::from_utf8_lossy(&output.stdout))?.as_str().to_owned())
}
