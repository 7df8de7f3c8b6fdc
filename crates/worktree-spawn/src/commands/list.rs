//! `list`: the agents, whether they run, and how many events wait for them.

use std::collections::BTreeSet;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::proc::Status;
use shopfloor_core::text::word;
use shopfloor_core::ui::{Ui, printable};

use crate::agent_in_worktree::KnownAgent;
use crate::apply::list_agents::{ListedAgent, ListingRequest, list};
use crate::facts::repository;
use crate::identity::AgentKind;

/// List the agents
#[derive(clap::Args, Clone, Debug, Default)]
#[command(after_help = "Example:\n  worktree-spawn list --tree\n  worktree-spawn list -z | overlay-sync attach -z -")]
pub struct Args {
    /// Draw the agents as a tree, with state, branch and number of waiting events
    #[arg(long)]
    pub tree: bool,
    /// Print only the paths of worktrees, each followed by NUL
    #[arg(short, conflicts_with_all = ["tree", "json"])]
    pub z: bool,
    #[command(flatten)]
    pub request: ListingRequest,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let place = repository::find(env)?;
    let all = list(ui, env, &place, &args.request)?;
    if args.z {
        print_paths(ui, &all);
    } else if ui.is_json() {
        ui.json_lines(all.iter().map(ListedAgent::answer));
    } else if args.tree {
        draw(ui, &all);
    } else {
        let width = all.iter().map(|listed| listed.known.agent.id.chars().count()).max().unwrap_or(0);
        for listed in &all {
            let KnownAgent { agent, worktree, error, .. } = &listed.known;
            let kind = if error.is_some() { "error".to_owned() } else { word(&agent.kind) };
            let path = printable(&worktree.path.to_string_lossy());
            ui.line(format!("{:width$}  {kind:7}  {}  {path}", printable(&agent.id), text(listed)));
        }
    }
    Ok(Exit::Done)
}

/// The paths of worktrees, each once.
fn print_paths(ui: &Ui, all: &[ListedAgent]) {
    let mut paths = Vec::new();
    for listed in all.iter().filter(|listed| !listed.known.worktree.is_lost) {
        let path = listed.known.worktree.path.as_os_str().as_encoded_bytes();
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    ui.answer(&paths.into_iter().flat_map(|path| [path, b"\0"].concat()).collect::<Vec<u8>>());
}

/// An agent's state as text.
fn text(listed: &ListedAgent) -> String {
    let KnownAgent { agent, worktree, is_managed, error, .. } = &listed.known;
    if let Some(error) = error {
        return format!("{}: {}", printable(&agent.id), printable(error));
    }
    let mut words = vec![listed.liveness.word().to_owned()];
    words.extend(listed.exit.map(|exit| match exit {
        Status::Exited(code) => format!("code {code}"),
        Status::Signalled(signal) => format!("signal {signal}"),
    }));
    let branch = worktree.branch.as_deref().unwrap_or("(detached)");
    if agent.kind != AgentKind::Worker {
        words.push(if listed.has_drifted() { format!("on {branch}") } else { branch.to_owned() });
    }
    if listed.pending > 0 {
        words.push(format!("{} pending", listed.pending));
    }
    if listed.is_dirty == Some(true) {
        words.push("changed".to_owned());
    }
    words.extend(listed.stat.map(|stat| format!("+{} -{}", stat.insertions, stat.deletions)));
    words.extend(listed.trouble().map(str::to_owned));
    if !is_managed {
        words.push("made by hand".into());
    }
    if worktree.is_lost {
        words.push("not there: `worktree-spawn repair` finds it or says how it comes back".into());
    }
    words.iter().map(|word| printable(word)).collect::<Vec<_>>().join(", ")
}

/// Draws the tree of parents. Children come in the order of the list.
fn draw(ui: &Ui, all: &[ListedAgent]) {
    let ids: Vec<&str> = all.iter().map(|listed| listed.known.agent.id.as_str()).collect();
    let is_top =
        |listed: &&ListedAgent| listed.known.agent.parent.as_deref().is_none_or(|parent| !ids.contains(&parent));
    let mut seen = BTreeSet::new();
    for listed in all.iter().filter(is_top) {
        draw_branch(ui, all, listed, ("", ""), &mut seen);
    }
    // What is left are agents whose records name each other as parents.
    for listed in all {
        if !seen.contains(listed.known.agent.id.as_str()) {
            draw_branch(ui, all, listed, ("", ""), &mut seen);
        }
    }
}

/// Draws an agent and those below it, with the prefixes of the first line and of the others.
fn draw_branch<'r>(
    ui: &Ui,
    all: &'r [ListedAgent],
    listed: &'r ListedAgent,
    (first, rest): (&str, &str),
    seen: &mut BTreeSet<&'r str>,
) {
    let agent = &listed.known.agent;
    if !seen.insert(&agent.id) {
        return;
    }
    let name = if agent.kind == AgentKind::Worker { &agent.slug } else { &agent.id };
    ui.line(format!("{first}{}  {}", printable(name), text(listed)));
    let is_child = |other: &&ListedAgent| other.known.agent.parent.as_ref() == Some(&agent.id);
    let below: Vec<&ListedAgent> = all.iter().filter(is_child).collect();
    for (n, child) in below.iter().enumerate() {
        let (fork, line) = if n + 1 == below.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        draw_branch(ui, all, child, (&format!("{rest}{fork}"), &format!("{rest}{line}")), seen);
    }
}
