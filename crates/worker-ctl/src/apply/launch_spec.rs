//! What a worker's program is started with: its words and its variables.

use shopfloor_core::error::Result;

use crate::apply::agent_hooks::{self, Launch, Wired};
use crate::apply::sandbox;
use crate::context::Context;
use crate::program_config::{AgentTable, Variables};
use crate::work_repo::PUSH_URL;
use crate::worker::Worker;

/// Where `gh` finds a person's login, besides their home.
const FORGE_VARS: [&str; 3] = ["GH_TOKEN", "GITHUB_TOKEN", "GH_CONFIG_DIR"];

/// Wires the program's hooks, and returns the argv and the variables to start it with. `resume` are the words that make
/// it continue a conversation.
pub fn launch(ctx: &Context<'_>, worker: &Worker, agent: &AgentTable, resume: Vec<String>) -> Result<Launch> {
    // An agent can have led its worktree to somewhere else, where worktree-spawn would run the program.
    if worker.adopted.is_some() {
        worker.require_tree(&ctx.source())?;
        ctx.of(worker)?.repo.git_for(worker.tree())?;
    }
    let continued = worker.work.conversation.as_deref().filter(|_| !resume.is_empty());
    let is_contained = sandbox::is_wanted(ctx, worker);
    let Wired { words, variables: wired, files } = agent_hooks::wire(ctx, worker, agent, continued, is_contained)?;
    let mut argv = ctx.root.command(worker, agent, &words, &ctx.of(worker)?.repo.common);
    let after_program = argv.len().min(1);
    argv.splice(after_program..after_program, resume);
    // The person's login at a forge is not an agent's, unless the configuration says so.
    let own = FORGE_VARS.map(|name| (name.to_owned(), String::new()));
    let mut variables: Variables = own.into_iter().filter(|(name, _)| !agent.env.contains_key(name)).collect();
    variables.extend(agent.env.clone());
    variables.extend(of_worker(ctx, worker).map(|(name, value)| (name.to_owned(), value)));
    variables.extend(wired);
    if is_contained {
        argv = sandbox::wrapped(ctx, worker, argv, &variables, &files)?;
        return Ok((argv, variables));
    }
    sandbox::leave(ctx, worker)?;
    if worker.adopted.is_some() {
        variables.extend(git_settings(ctx, worker)?);
    }
    Ok((argv, variables))
}

/// The variables that tell a worker's programs about the worker.
pub fn of_worker(ctx: &Context<'_>, worker: &Worker) -> [(&'static str, String); 3] {
    [
        ("WORKER_CTL_WORKER", worker.name.clone()),
        ("WORKER_CTL_ROOT", ctx.root.path.to_string_lossy().into_owned()),
        ("WORKER_CTL_WORKTREE", worker.worktree_path.clone()),
    ]
}

/// The variables by which git knows who commits in an adopted worktree, and pushes nowhere from it, as its remotes are the
/// person's. The empty value takes back those of their configuration, from git 2.46 on.
fn git_settings(ctx: &Context<'_>, worker: &Worker) -> Result<Variables> {
    let repo = ctx.of(worker)?.repo;
    let remotes = repo.ask(&repo.top, &["remote"])?;
    // Some programs hide the person's own configuration from git, which then does not know who commits.
    let who = ["user.name", "user.email"].into_iter().filter_map(|key| {
        let value = repo.git.cmd(&repo.top).args(["config", "--get", key]).capture().ok()?.text();
        Some((key.to_owned(), value)).filter(|(_, value)| !value.is_empty())
    });
    let urls = |remote: &str| ["", PUSH_URL].map(|url| (format!("remote.{remote}.pushurl"), url.to_owned()));
    let settings = remotes.lines().flat_map(urls).chain(who);
    // The person's own variables of this kind stay.
    let first = ctx.env.var("GIT_CONFIG_COUNT").and_then(|count| count.to_str()?.parse().ok()).unwrap_or(0_usize);
    let mut variables = Variables::new();
    let mut count = first;
    for (key, value) in settings {
        variables.push((format!("GIT_CONFIG_KEY_{count}"), key));
        variables.push((format!("GIT_CONFIG_VALUE_{count}"), value));
        count += 1;
    }
    if count > first {
        variables.push(("GIT_CONFIG_COUNT".to_owned(), count.to_string()));
    }
    Ok(variables)
}
