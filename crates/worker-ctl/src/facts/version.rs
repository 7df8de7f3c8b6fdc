//! The versions of programs that are installed: of agents', and of git where it matters.

use std::time::Duration;

use regex_lite::Regex;
use shopfloor_core::agents::AgentProgram;
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git::Git;
use shopfloor_core::proc::{self, Cmd};

use crate::context::Context;
use crate::work_repo::common_dir;

/// How many bytes it may print.
const MOST: usize = 64 * 1024;

/// The version that a program prints, or none if it prints none within `limit`. aider takes several seconds.
pub fn installed(ctx: &Context<'_>, program: &AgentProgram, limit: Duration) -> Option<String> {
    let cmd = Cmd::new(&proc::find(ctx.env, program.name)?, ctx.env).arg("--version").dir(&ctx.root.path);
    // The directory is there already, so that nothing is written but a file without a name.
    let scratch = fs::scratch(&ctx.root.path.join("locks")).ok()?;
    let output = cmd.capture_within(scratch, limit, MOST).ok()??;
    let number = Regex::new(r"[0-9]+(\.[0-9]+)+").ok()?;
    Some(number.find(&String::from_utf8_lossy(&output.stdout))?.as_str().to_owned())
}

/// Why programs in adopted worktrees can push, as far as git can tell: before 2.46 an empty address takes back none of the
/// person's own.
pub fn keeps_push_urls(ctx: &Context<'_>) -> Result<Option<String>> {
    let common = common_dir(&ctx.source());
    let git = Git::find(ctx.env)?.common(&common)?;
    let said = git.cmd(&common).arg("version").capture()?.text();
    let mut numbers = said.trim_start_matches("git version ").split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    if (numbers.next(), numbers.next()) >= (Some(2), Some(46)) {
        return Ok(None);
    }
    let urls =
        git.cmd(&common).args(["config", "--name-only", "--get-regexp", r"^remote\..*\.pushurl$"]).capture()?.text();
    let keys: Vec<&str> = urls.lines().collect();
    let why = format!("{said} pushes to {} from adopted worktrees, too; git 2.46 would not", keys.join(", "));
    Ok((!keys.is_empty()).then_some(why))
}
