//! Runs the agent of an adopted worktree under worktree-spawn, and tells the agent's parent how it goes.

use serde_json::{Value, json};
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::proc;
use shopfloor_core::text::shell_word;

use crate::context::Context;
use crate::layout;
use crate::program_config::Variables;
use crate::worker::Worker;

/// The tool that made the worktree.
const TOOL: &str = "worktree-spawn";

/// The id of the agent of a worker's worktree, if worktree-spawn has a record of it. An agent can write the record; what is
/// done with the id is done in the agent's own worktree or in its own name.
pub fn id(ctx: &Context<'_>, worker: &Worker) -> Option<String> {
    let adopted = worker.adopted.as_ref()?;
    let record = ctx.of(worker).ok()?.repo.common.join("worktrees").join(&adopted.record);
    let text = fs::read_no_follow(&record.join("shopfloor").join(TOOL).join("identity.json")).ok()??;
    let record: serde_json::Value = serde_json::from_slice(&text).ok()?;
    record["id"].as_str().filter(|id| !id.contains(char::is_control)).map(str::to_owned)
}

/// The name of the MCP server that worktree-spawn gives to agents.
pub const SERVER: &str = "shopfloor";

/// The argv of that server for a worker's agent, if worktree-spawn has a record of it.
pub fn server(ctx: &Context<'_>, worker: &Worker) -> Option<[String; 4]> {
    proc::find(ctx.env, TOOL)?;
    Some([TOOL.to_owned(), "mcp".to_owned(), "--as".to_owned(), id(ctx, worker)?])
}

/// Whether a worktree's `.mcp.json` names that server as worktree-spawn writes it, for this agent. An agent can write the
/// file, and its program starts what it names outside of the agent's sandbox.
pub fn names_own_server(ctx: &Context<'_>, worker: &Worker) -> bool {
    let (Some(program), Some(id)) = (proc::find(ctx.env, TOOL), id(ctx, worker)) else { return false };
    let text = fs::read_no_follow(&worker.tree().join(".mcp.json")).ok().flatten();
    let named: Option<Value> = text.and_then(|text| serde_json::from_slice(&text).ok());
    // By its name alone, if a person has called it so.
    let own =
        [&program.to_string_lossy(), TOOL].map(|program| json!({ "command": program, "args": ["mcp", "--as", id] }));
    named.is_some_and(|named| own.contains(&named["mcpServers"][SERVER]))
}

/// The argv of a program as worktree-spawn runs it, for an agent that it knows, so that everybody sees that it runs. It
/// reports nothing: what a start or an end of ours means, [`tell_parent`] says. It runs in the worker's worktree and in no
/// other, whatever the record says.
pub fn wrapped(ctx: &Context<'_>, worker: &Worker, argv: Vec<String>, variables: &Variables) -> Vec<String> {
    let (Some(program), Some(id)) = (proc::find(ctx.env, TOOL), id(ctx, worker)) else { return argv };
    let run = [&*program.to_string_lossy(), "-C", &worker.worktree_path, "--quiet", "run", "--here", &id, "--", "env"];
    // It takes this one away, as it would lead git elsewhere.
    let count = variables
        .iter()
        .rev()
        .find(|(name, _)| name == "GIT_CONFIG_COUNT")
        .map(|(name, count)| format!("{name}={count}"));
    run.into_iter().map(str::to_owned).chain(count).chain(argv).collect()
}

/// What the parent of a worker's agent is told.
pub struct ParentReport<'a> {
    pub status: &'static str,
    /// The type of the event, if it is not the usual one.
    pub kind: Option<&'static str>,
    pub message: String,
    pub paths: &'a [String],
    /// What is told once.
    pub key: String,
}

/// Tells it in the background.
pub fn tell_parent(ctx: &Context<'_>, worker: &Worker, told: &ParentReport<'_>) {
    let command = command(ctx, worker, told);
    ctx.warn_on_failure(&worker.name, || command.map_or(Ok(()), |line| in_background(ctx, &line, &[])));
}

/// The shell command that tells it; none if worktree-spawn does not know the worktree or is not there.
fn command(ctx: &Context<'_>, worker: &Worker, report: &ParentReport<'_>) -> Option<String> {
    let (program, id) = (proc::find(ctx.env, TOOL)?, id(ctx, worker)?);
    // The worktree may be what is missing.
    let (program, source) = (program.to_string_lossy(), ctx.source());
    let words = [&program, "-C", &source.to_string_lossy(), "--quiet", "notify", "--as", &id, "--dedupe", &report.key];
    let kind = report.kind.into_iter().flat_map(|kind| ["--type", kind]);
    let paths = report.paths.iter().map(|path| format!("--path={path}"));
    let words = words.into_iter().chain(kind).map(str::to_owned).chain(paths);
    let words = words.chain(["--", report.status, &report.message].map(str::to_owned));
    Some(words.map(|word| shell_word(word.as_ref())).collect::<Vec<_>>().join(" "))
}

/// Runs a shell command in the background, with its output in the log of `on_event`. Nothing waits for it, and its exit
/// status is ignored.
pub fn in_background(ctx: &Context<'_>, line: &str, vars: &[(String, String)]) -> Result<()> {
    let root = &ctx.root.path;
    let log = layout::on_event_log(root);
    crate::log::rotate(&log)?;
    let line = format!("{{ {line}\n}} >> {} 2>&1 < /dev/null &", shell_word(&log));
    let cmd = proc::shell(ctx.env, &line)?.dir(root).var("WORKER_CTL_ROOT", root.as_os_str());
    let cmd = vars.iter().fold(cmd, |cmd, (name, value)| cmd.var(name, value));
    // With `WORKER_CTL_WORKER` the command would count as the worker's process, and would be ended with the worker.
    if !cmd.without_vars(&["WORKER_CTL_WORKER"]).capture()?.status.success() {
        ctx.ui.warn("`on_event` cannot be run");
    }
    Ok(())
}
